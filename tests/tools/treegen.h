/* treegen.h - what the parts of the tree generator share.
 *
 * Ownership: paths are copied where they are kept; nothing is freed before the program ends.
 */
#ifndef WEIR_TESTS_TOOLS_TREEGEN_H
#define WEIR_TESTS_TOOLS_TREEGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* The settings of a run. */
struct knobs {
    uint64_t seed;
    uint64_t entries; /* of the random part */
    uint64_t depth;   /* of the chain */
    uint64_t links;   /* names in the largest group */
    uint64_t wide;    /* entries of the wide directory */
    uint64_t sparse;  /* apparent size of the largest sparse file */
    uint64_t large;   /* size of the largest file that is full of data; 0: none */
    bool is_readable; /* all that is made can be read by its owner */
    bool is_root;     /* owners, devices, trusted.* and security.* */
    bool wants_owners;
};
extern struct knobs knobs;

/* What an entry gets at last. */
struct meta {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec atime, mtime;
};

/* Random numbers: the same for a seed, everywhere. */
uint64_t random_next(void);
uint64_t random_below(uint64_t limit);
bool random_one_in(uint64_t count);
struct timespec random_time(void);
struct meta random_meta(mode_t type);

/* Metadata that is nothing special: owner as we are, times that depend on the seed. */
struct meta plain_meta(mode_t mode);

/* All paths are relative to the root of the tree, where the program stands; they are shorter than
 * PATH_MAX. Each of these makes an entry with all its metadata; a directory gets its metadata in
 * finish_directories(), after all that is put into it. */
void make_directory(const char *path, struct meta meta);
void make_file(const char *path, struct meta meta, const void *bytes, size_t size);
void make_random_file(const char *path, struct meta meta, uint64_t size);
void make_symlink(const char *path, struct meta meta, const char *target);
void make_node(const char *path, struct meta meta, mode_t type, dev_t device);
/* False when the file system or the kernel refuses. */
bool make_link(const char *from, const char *to);
void finish_directories(void);

/* Puts owner, mode and times on an entry that exists. */
void put_meta(const char *path, mode_t type, struct meta meta);
void put_times(const char *path, struct meta meta);

/* False, with one note for each kind of attribute, where the file system has none. */
bool put_attribute(const char *path, const char *name, const void *value, size_t size);
/* An ACL with one named user and group, as the kernel keeps it. is_default: of a directory. */
bool put_acl(const char *path, unsigned owner, unsigned named, unsigned mask, bool is_default);
bool put_capability(const char *path);
/* Takes the access and default ACL away; the mode stays what the owner bits say. */
void drop_acl(const char *path);

/* "a/b" in one of a few buffers that are used in turn. */
__attribute__((format(printf, 1, 2))) const char *path_of(const char *format, ...);
/* A path that stays, for those that are needed beyond the next few calls of path_of(). */
const char *keep(const char *path);
/* A name of 1 to 255 bytes of any value but the slash; never "." or "..". */
const char *random_name(void);
extern const char *const odd_names[];
size_t odd_names_count(void);

/* The parts of a tree, each in a directory of its own. */
void section_names(const char *dir);
void section_types(const char *dir);
void section_modes(const char *dir);
void section_times(const char *dir);
void section_sizes(const char *dir);
void section_sparse(const char *dir);
void section_links(const char *dir);
void section_xattrs(const char *dir);
void section_acls(const char *dir);
void section_symlinks(const char *dir);
void section_deep(const char *dir);
void section_wide(const char *dir);
void section_random(const char *dir);

#endif
