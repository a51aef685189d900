/* archive_help.h - archives made by the tools that people make them with, and what a walk through
 * one gave; for tests of archive.h. The decoders' program is that of the build folder.
 *
 * Ownership: everything is static; help_done() removes the folder and ends the walker.
 */
#ifndef WEIR_TESTS_ARCHIVE_HELP_H
#define WEIR_TESTS_ARCHIVE_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/error.h>

#include "archive_walker.h"
#include "tap.h"
#include "tool_help.h"

#define PLANTED  "token = weir-planted-0123456789\n"
#define SEEN_MAX 4096
#define LIMIT_NS (120 * WEIR_NS_PER_S) /* only to end a hang */

struct seen_member {
    char path[1024];
    char head[256]; /* the first bytes, ended with NUL */
    uint64_t length;
    bool has_planted;
    bool is_complete;
    bool is_ended;
};

struct seen_told {
    char path[1024];
    char reason[300];
};

static char help_folder[256];
static struct weir__archive_options help_options;
static struct weir__archive_walker *help_walker;

static struct seen_member members[SEEN_MAX];
static struct seen_told told[SEEN_MAX];
static size_t members_count, told_count;
static uint64_t bytes_count;
/* Called for every run of bytes and every end; an answer ends the walk. */
static int (*on_bytes)(void), (*on_end)(void);

static inline int seen_begin(void *arg, const char *path)
{
    (void)arg;
    CHECK(members_count < SEEN_MAX);
    CHECK(members_count == 0 || members[members_count - 1].is_ended);
    struct seen_member *member = &members[members_count++];
    memset(member, 0, sizeof(*member));
    snprintf(member->path, sizeof(member->path), "%s", path);
    return 0;
}

static inline int seen_bytes(void *arg, const char *bytes, size_t length)
{
    (void)arg;
    CHECK(members_count > 0 && !members[members_count - 1].is_ended && length > 0);
    struct seen_member *member = &members[members_count - 1];
    for (size_t i = 0; i < length && member->length + i < sizeof(member->head) - 1; i++)
        member->head[member->length + i] = bytes[i];
    if (memmem(bytes, length, PLANTED, sizeof(PLANTED) - 1))
        member->has_planted = true;
    member->length += length;
    bytes_count += length;
    return on_bytes ? on_bytes() : 0;
}

static inline int seen_end(void *arg, bool is_complete)
{
    (void)arg;
    CHECK(members_count > 0 && !members[members_count - 1].is_ended);
    members[members_count - 1].is_complete = is_complete;
    members[members_count - 1].is_ended = true;
    return on_end ? on_end() : 0;
}

static inline void seen_unscanned(void *arg, const char *path, const char *reason)
{
    (void)arg;
    CHECK(told_count < SEEN_MAX);
    snprintf(told[told_count].path, sizeof(told[0].path), "%s", path);
    snprintf(told[told_count++].reason, sizeof(told[0].reason), "%s", reason);
}

static const struct weir__archive_hooks help_hooks = {
    .begin = seen_begin,
    .bytes = seen_bytes,
    .end = seen_end,
    .unscanned = seen_unscanned,
};

/* An empty folder to work in, and default options. */
static inline void help_start(void)
{
    const char *root = getenv("TMPDIR");
    if (!help_folder[0]) {
        snprintf(help_folder, sizeof(help_folder), "%s/weir-archive-XXXXXX", root ? root : "/tmp");
        if (!mkdtemp(help_folder) || chdir(help_folder) != 0)
            abort();
    }
    weir__archive_walker_free(help_walker);
    help_walker = NULL;
    weir__archive_options_init(&help_options);
    on_bytes = on_end = NULL;
}

static inline bool help_has(const char *tools)
{
    char script[512];
    snprintf(script, sizeof(script), "for tool in %s; do command -v $tool; done", tools);
    bool has = help_run(script);
    if (!has)
        printf("# left out: not all of these are here: %s\n", tools);
    return has;
}

static inline void help_done(void)
{
    char script[600];
    weir__archive_walker_free(help_walker);
    if (help_folder[0]) {
        snprintf(script, sizeof(script), "cd / && rm -rf '%s'", help_folder);
        help_run(script);
    }
}

static inline int help_walk_until(const char *name, const struct weir_deadline *deadline)
{
    members_count = told_count = 0;
    bytes_count = 0;
    if (!help_walker)
        CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    int answer = weir__archive_walk(help_walker, fd, name, &help_hooks, deadline);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
    close(fd);
    return answer;
}

static inline int help_walk(const char *name)
{
    struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    return help_walk_until(name, &deadline);
}

static inline const struct seen_member *seen(const char *path)
{
    for (size_t i = 0; i < members_count; i++)
        if (strcmp(members[i].path, path) == 0)
            return &members[i];
    return NULL;
}

static inline const struct seen_member *seen_planted(void)
{
    for (size_t i = 0; i < members_count; i++)
        if (members[i].has_planted)
            return &members[i];
    return NULL;
}

/* A path of NULL is any; the reason need only begin so. */
static inline bool was_told(const char *path, const char *reason)
{
    for (size_t i = 0; i < told_count; i++)
        if ((!path || strcmp(told[i].path, path) == 0) &&
            strncmp(told[i].reason, reason, strlen(reason)) == 0)
            return true;
    return false;
}

static inline void show(void)
{
    for (size_t i = 0; i < members_count && i < 20; i++)
        printf("# member '%s' %llu%s\n", members[i].path, (unsigned long long)members[i].length,
               members[i].is_complete ? "" : " incomplete");
    for (size_t i = 0; i < told_count && i < 20; i++)
        printf("# told '%s': %s\n", told[i].path, told[i].reason);
}

#define CHECK_SHOW(condition)                                                                      \
    do {                                                                                           \
        bool is_so = (condition);                                                                  \
        if (!is_so)                                                                                \
            show();                                                                                \
        CHECK(is_so &&#condition);                                                                 \
    } while (0)

#define ARCHIVE_MAIN()                                                                             \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        if (setenv("WEIR_LIBEXEC", UNPACK_FOLDER, 0) != 0)                                         \
            return 1;                                                                              \
        int status = tap_main(argc, argv);                                                         \
        help_done();                                                                               \
        return status;                                                                             \
    }

#endif
