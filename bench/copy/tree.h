/* tree.h - what the benchmark of copy does with trees, outside of what is timed.
 *
 * It is C because a tree of 100,000 files is made, read, compared and thrown away a hundred times
 * in one run of the benchmark.
 *
 * Every function ends the program with one line when it cannot do its work: nothing here goes on
 * with half of a tree.
 *
 * Ownership: names belong to their list, which tree_names_free() empties; descriptors to whoever
 * opened them.
 */
#ifndef WEIR_BENCH_TREE_H
#define WEIR_BENCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define TREE_BUFFER_SIZE (1u << 20)

/* Directories of a tree: chains of them, each levels deep. Without chains all files are in the
 * root. */
struct tree_shape {
    uint64_t chains;
    uint64_t levels;
    uint64_t files; /* in each directory, or in the root */
    uint64_t size_min;
    uint64_t size_max;
    uint64_t seed;
};

struct tree_names {
    char **names; /* sorted */
    size_t count;
    size_t room;
};

/* The same shape makes the same tree, to the byte and to the nanosecond. dir must not exist. */
void tree_make(const char *dir, const struct tree_shape *shape);
/* The directories of a tree, with their modes and times, and nothing else. dst must not exist. */
void tree_skeleton(const char *src, const char *dst);
/* Reads every file once, so that what comes next finds it in the page cache. */
void tree_read(const char *dir);
/* Prints, as JSON, in how many entries dst differs from src, and by what. */
void tree_compare(const char *src, const char *dst);

/* ---- shared by the above ---- */

int tree_open_dir(int parent, const char *name);
int tree_open_file(int parent, const char *name);
/* All names but . and .. */
void tree_names_read(struct tree_names *ret_names, int dir);
void tree_names_free(struct tree_names *names);
/* At most size bytes; fewer only at the end of the file. */
size_t tree_read_fully(int fd, void *buffer, size_t size);
void tree_stat(int parent, const char *name, struct stat *ret_info);
/* Mode and times of a directory that is complete. */
void tree_finish_dir(int dir, mode_t mode, const struct timespec *time);

/* With errno, unless that is 0. */
_Noreturn void tree_die(const char *what, const char *subject);

#endif
