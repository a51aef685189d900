/* git_meta_help.h - repositories made by git itself, and git as the one who knows.
 *
 * Ownership: the folder of a test program is removed when it ends; texts that are returned are
 * freed by the caller.
 */
#ifndef WEIR_TESTS_GIT_META_HELP_H
#define WEIR_TESTS_GIT_META_HELP_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "commit_history.h"
#include "object_id.h"
#include "refs.h"
#include "scan_git.h"
#include "tap.h"

static char meta_base[] = "/tmp/weir-gitmeta-XXXXXX";

static inline int meta_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void meta_clean(void)
{
    if (chdir("/") == 0)
        nftw(meta_base, meta_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new folder to work in, and nothing of the user's settings. */
static inline void meta_begin(void)
{
    static bool has_begun;
    if (has_begun)
        return;
    has_begun = true;
    CHECK(mkdtemp(meta_base) && chdir(meta_base) == 0);
    CHECK_EQ(atexit(meta_clean), 0);
    static const char *const settings[][2] = {
        {"GIT_CONFIG_GLOBAL", "/dev/null"},
        {"GIT_CONFIG_SYSTEM", "/dev/null"},
        {"GIT_AUTHOR_NAME", "A U Thor"},
        {"GIT_AUTHOR_EMAIL", "author@example.com"},
        {"GIT_COMMITTER_NAME", "C O Mitter"},
        {"GIT_COMMITTER_EMAIL", "committer@example.com"},
        {"GIT_AUTHOR_DATE", "1700000000 +0100"},
        {"GIT_COMMITTER_DATE", "1700000000 +0100"},
        {"GIT_CONFIG_COUNT", "1"},
        {"GIT_CONFIG_KEY_0", "advice.nestedTag"},
        {"GIT_CONFIG_VALUE_0", "false"},
        {"LC_ALL", "C"},
        {"TZ", "UTC"},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        setenv(settings[i][0], settings[i][1], 1);
}

/* A script that must succeed. */
__attribute__((format(printf, 1, 2))) static inline void sh(const char *format, ...)
{
    char *script;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&script, format, args);
    va_end(args);
    FILE *pipe = length < 0 ? NULL : popen("bash -e", "w");
    if (!pipe)
        tap_fail(__FILE__, __LINE__, "no shell");
    fputs(script, pipe);
    int status = pclose(pipe);
    if (status != 0)
        tap_fail(__FILE__, __LINE__, "status %d of: %s", status, script);
    free(script);
}

/* What a script prints. */
__attribute__((format(printf, 1, 2))) static inline char *heard(const char *format, ...)
{
    char *script, *text = NULL;
    size_t size = 0, length = 0;
    va_list args;
    va_start(args, format);
    CHECK(vasprintf(&script, format, args) >= 0);
    va_end(args);
    FILE *pipe = popen(script, "r");
    CHECK(pipe);
    do {
        size += 65536;
        text = realloc(text, size + 1);
        CHECK(text);
        length += fread(text + length, 1, size - length, pipe);
    } while (length == size);
    text[length] = '\0';
    if (pclose(pipe) != 0)
        tap_fail(__FILE__, __LINE__, "failed: %s", script);
    free(script);
    return text;
}

/* --- objects, by git --- */

struct cat {
    struct weir__git *git;
    size_t id_size;
    uint64_t asked;
    int fails_with; /* for what the store might say */
};

static inline void cat_begin(struct cat *cat, const char *dir, size_t id_size)
{
    const char *words[] = {"-C", dir, "--no-replace-objects", "cat-file", "--batch", NULL};
    *cat = (struct cat){.id_size = id_size};
    CHECK_EQ(weir__git_new(&cat->git, words, true, WEIR__GIT_SILENCE_NS), 0);
}

static inline void cat_end(struct cat *cat)
{
    weir__git_free(cat->git);
}

static inline int cat_get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                          struct weir__buffer *bytes)
{
    struct cat *cat = arg;
    char line[WEIR__GIT_HEX_SIZE + 1], block[4096];
    struct weir__buffer head;
    cat->asked++;
    if (cat->fails_with)
        return cat->fails_with;
    weir__git_id_hex(id, cat->id_size, line);
    line[2 * cat->id_size] = '\n';
    weir__buffer_init(&head, 4096);
    CHECK_EQ(weir__git_send(cat->git, line, 2 * cat->id_size + 1), 0);
    CHECK_EQ(weir__git_read_to(cat->git, '\n', &head, NULL), 1);
    const char *text = weir__buffer_text(&head) + 2 * cat->id_size + 1;
    if (strcmp(text, "missing") == 0) {
        weir__buffer_fini(&head);
        return -WEIR_E_NOT_FOUND;
    }
    const char *space = strchr(text, ' ');
    CHECK(space);
    *ret_type = weir__git_type_of(text, (size_t)(space - text));
    size_t left = strtoul(space, NULL, 10) + 1;
    weir__buffer_fini(&head);
    weir__buffer_truncate(bytes, 0);
    while (left > 0) {
        ssize_t n =
            weir__git_read(cat->git, block, left < sizeof(block) ? left : sizeof(block), NULL);
        CHECK(n > 0);
        CHECK_EQ(weir__buffer_append(bytes, block, (size_t)n), 0);
        left -= (size_t)n;
    }
    weir__buffer_truncate(bytes, weir__buffer_length(bytes) - 1); /* the line's end behind it */
    return 0;
}

static inline struct weir__git_id id_of(const char *hex, size_t id_size)
{
    struct weir__git_id id;
    CHECK_EQ(weir__git_id_from_hex(&id, hex, id_size), 0);
    return id;
}

/* The id that git gives for a name. */
static inline struct weir__git_id rev(const char *dir, const char *name, size_t id_size)
{
    char *text = heard("git -C %s --no-replace-objects rev-parse --verify -q '%s'", dir, name);
    struct weir__git_id id = id_of(text, id_size);
    free(text);
    return id;
}

/* --- lines --- */

struct lines {
    char **list;
    size_t count;
};

static inline int lines_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void lines_add(struct lines *lines, const char *line)
{
    lines->list = realloc(lines->list, (lines->count + 1) * sizeof(char *));
    CHECK(lines->list);
    lines->list[lines->count++] = strdup(line);
}

/* Takes the text. */
static inline struct lines lines_of(char *text)
{
    struct lines lines = {0};
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        if (*line)
            lines_add(&lines, line);
    free(text);
    return lines;
}

static inline void lines_free(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->list[i]);
    free(lines->list);
    *lines = (struct lines){0};
}

static inline void lines_sort(struct lines *lines)
{
    if (lines->count > 0)
        qsort(lines->list, lines->count, sizeof(char *), lines_order);
}

/* The same lines in any order; frees both. */
static inline void same_lines(const char *what, struct lines *ours, struct lines *theirs)
{
    lines_sort(ours);
    lines_sort(theirs);
    for (size_t i = 0; i < ours->count || i < theirs->count; i++) {
        const char *a = i < ours->count ? ours->list[i] : "(nothing)";
        const char *b = i < theirs->count ? theirs->list[i] : "(nothing)";
        if (strcmp(a, b) != 0)
            tap_fail(__FILE__, __LINE__, "%s: ours '%s', git's '%s' (%zu and %zu)", what, a, b,
                     ours->count, theirs->count);
    }
    lines_free(ours);
    lines_free(theirs);
}

/* --- what is told --- */

struct told {
    unsigned count;
    char last[WEIR__GIT_PROBLEM_MAX];
    char all[4096];
};

static inline void tell(void *arg, const char *text)
{
    struct told *told = arg;
    told->count++;
    snprintf(told->last, sizeof(told->last), "%s", text);
    size_t used = strlen(told->all);
    snprintf(told->all + used, sizeof(told->all) - used, "%s\n", text);
}

/* --- random histories --- */

#define MADE_PATHS 14

static const char *const made_paths[MADE_PATHS] = {
    "a",     "b",       "a.c",     "d/a",     "d/b",   "d/e/a",
    "d/e/f", "d/e/g/h", "x/y/z/w", "x/y/z/v", "x/y/a", "longer name with spaces",
    "d.c/a", "zz"};

struct made_random {
    uint64_t state;
};

static inline unsigned made_below(struct made_random *random, unsigned n)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((random->state >> 33) % n);
}

struct made_commit {
    short blobs[MADE_PATHS]; /* -1: not there */
    long time;
};

/* A history of so many commits by git fast-import: several roots, merges of up to five, content
 * that only merges have, what was before again, renames, copies. skew: clocks go wrong. */
static inline void make_history(const char *dir, const char *format, uint64_t seed, unsigned count,
                                bool skew, bool same_second)
{
    struct made_random random = {seed * 2654435761u + 1};
    struct made_commit *commits = calloc(count + 1, sizeof(*commits));
    char command[256];
    CHECK(commits);
    sh("git init -q --bare --object-format=%s %s", format, dir);
    snprintf(command, sizeof(command), "git -C %s fast-import --quiet --force", dir);
    FILE *out = popen(command, "w");
    CHECK(out);
    for (unsigned i = 0; i < 30; i++)
        fprintf(out, "blob\nmark :%u\ndata <<E\nblob %u\nE\n", 1000 + i, i);
    long time = 1600000000;
    for (unsigned n = 1; n <= count; n++) {
        struct made_commit *commit = &commits[n];
        unsigned parents[5], parents_count = 0;
        unsigned kind = made_below(&random, 20);
        unsigned wanted = n == 1 || kind == 0 ? 0 : kind < 13 ? 1 : kind < 18 ? 2 : 2 + kind - 16;
        for (unsigned i = 0; i < wanted; i++) {
            unsigned back = made_below(&random, n - 1 < 6 ? n - 1 : 6);
            unsigned parent = n - 1 - back;
            bool is_new = true;
            for (unsigned j = 0; j < parents_count; j++)
                is_new &= parents[j] != parent;
            if (is_new)
                parents[parents_count++] = parent;
        }
        time += same_second ? made_below(&random, 2) : 1 + made_below(&random, 100);
        commit->time = skew ? time + (long)made_below(&random, 2000) - 1000 : time;
        for (unsigned p = 0; p < MADE_PATHS; p++)
            commit->blobs[p] = parents_count == 0
                                   ? -1
                                   : commits[parents[made_below(&random, parents_count)]].blobs[p];
        unsigned changes = parents_count > 1 ? made_below(&random, 2) : 1 + made_below(&random, 3);
        for (unsigned i = 0; i < changes; i++) {
            unsigned p = made_below(&random, MADE_PATHS);
            unsigned what = made_below(&random, 5);
            if (what == 0)
                commit->blobs[p] = -1;
            else if (what == 1)
                commit->blobs[p] = commit->blobs[made_below(&random, MADE_PATHS)];
            else
                commit->blobs[p] = (short)made_below(&random, 30);
        }
        /* The name of the branch is the commit's: each can be started from. */
        fprintf(out,
                "commit refs/heads/c%u\nmark :%u\nauthor A <a@b> %ld +0000\n"
                "committer C <c@d> %ld +0000\ndata <<E\ncommit %u\nE\n",
                n, n, commit->time, commit->time, n);
        for (unsigned i = 0; i < parents_count; i++)
            fprintf(out, "%s :%u\n", i == 0 ? "from" : "merge", parents[i]);
        fprintf(out, "deleteall\n");
        for (unsigned p = 0; p < MADE_PATHS; p++)
            if (commit->blobs[p] >= 0)
                fprintf(out, "M 100644 :%d \"%s\"\n", 1000 + commit->blobs[p], made_paths[p]);
        fprintf(out, "\n");
    }
    CHECK_EQ(pclose(out), 0);
    free(commits);
}

#endif
