/* limit.c - what Hyperscan alone takes: the least that a scan with its patterns can cost.
 *
 *     bench-scan-limit compile expressions|literals PATTERNS DATABASE
 *     bench-scan-limit scan DATABASE PATH...
 *
 * The first makes a database of a file of patterns, each with a NUL behind it; what Hyperscan does
 * not take is left out. The second reads every regular file below the paths in blocks, looks for
 * all patterns in each block, and counts; it decodes, confirms and tells nothing, and does not see
 * what lies across two blocks. One thread. Both print what they did as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hs/hs.h>

#define BLOCK_SIZE   (1u << 20)
#define PATTERNS_MAX 65536u

struct bytes {
    char *data;
    size_t length;
};

struct patterns {
    const char *texts[PATTERNS_MAX];
    size_t lengths[PATTERNS_MAX];
    unsigned flags[PATTERNS_MAX];
    unsigned ids[PATTERNS_MAX];
    unsigned count;
};

struct counts {
    uint64_t files, bytes, matches;
};

static _Noreturn void die(const char *what, const char *subject)
{
    fprintf(stderr, "bench-scan-limit: %s '%s'%s%s\n", what, subject, errno ? ": " : "",
            errno ? strerror(errno) : "");
    exit(1);
}

static _Noreturn void die_of(const char *what, const char *why)
{
    errno = 0;
    die(what, why);
}

static size_t read_fully(int fd, char *buffer, size_t size, const char *path)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, buffer + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            die("cannot read", path);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        die("cannot open", path);
    return fd;
}

/* A whole file, with a NUL behind it. */
static struct bytes load(const char *path)
{
    struct stat info;
    int fd = open_file(path);
    if (fstat(fd, &info) != 0)
        die("cannot look at", path);
    struct bytes bytes = {.data = malloc((size_t)info.st_size + 1)};
    if (!bytes.data)
        die("no memory for", path);
    bytes.length = read_fully(fd, bytes.data, (size_t)info.st_size, path);
    bytes.data[bytes.length] = '\0';
    close(fd);
    return bytes;
}

/* ---- compile ---- */

static bool is_taken(const char *text, unsigned flags)
{
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *error = NULL;
    bool taken = hs_expression_info(text, flags, &info, &error) == HS_SUCCESS;
    hs_free_compile_error(error);
    free(info);
    return taken;
}

static void add(struct patterns *patterns, const char *text, unsigned flags)
{
    if (patterns->count == PATTERNS_MAX)
        die_of("too many patterns before", text);
    unsigned at = patterns->count++;
    patterns->texts[at] = text;
    patterns->lengths[at] = strlen(text);
    patterns->flags[at] = flags;
    patterns->ids[at] = at;
}

static void drop(struct patterns *patterns, unsigned at)
{
    unsigned last = --patterns->count;
    patterns->texts[at] = patterns->texts[last];
    patterns->lengths[at] = patterns->lengths[last];
    patterns->flags[at] = patterns->flags[last];
}

/* Some that look good by themselves turn out to be too large: they go one by one. */
static hs_database_t *compile(struct patterns *patterns, bool are_literals)
{
    for (;;) {
        hs_database_t *database = NULL;
        hs_compile_error_t *error = NULL;
        hs_error_t result =
            are_literals
                ? hs_compile_lit_multi(patterns->texts, patterns->flags, patterns->ids,
                                       patterns->lengths, patterns->count, HS_MODE_BLOCK, NULL,
                                       &database, &error)
                : hs_compile_multi(patterns->texts, patterns->flags, patterns->ids, patterns->count,
                                   HS_MODE_BLOCK, NULL, &database, &error);
        if (result == HS_SUCCESS)
            return database;
        if (!error || error->expression < 0 || (unsigned)error->expression >= patterns->count)
            die_of("cannot compile", error ? error->message : "the patterns");
        drop(patterns, (unsigned)error->expression);
        hs_free_compile_error(error);
    }
}

static void save(const hs_database_t *database, const char *path, size_t *ret_length)
{
    char *bytes = NULL;
    if (hs_serialize_database(database, &bytes, ret_length) != HS_SUCCESS)
        die_of("cannot serialise", path);
    FILE *file = fopen(path, "we");
    if (!file || fwrite(bytes, 1, *ret_length, file) != *ret_length || fclose(file) != 0)
        die("cannot write", path);
    free(bytes);
}

static void make(bool are_literals, const char *from, const char *to)
{
    static struct patterns patterns;
    struct bytes list = load(from);
    unsigned given = 0;
    unsigned flags = are_literals ? HS_FLAG_CASELESS : HS_FLAG_ALLOWEMPTY;
    for (size_t at = 0; at < list.length; at += strlen(list.data + at) + 1) {
        const char *text = list.data + at;
        given++;
        if (text[0] != '\0' && (are_literals || is_taken(text, flags)))
            add(&patterns, text, flags);
    }
    if (patterns.count == 0)
        die_of("no pattern in", from);
    hs_database_t *database = compile(&patterns, are_literals);
    size_t length = 0;
    save(database, to, &length);
    printf("{\"given\": %u, \"taken\": %u, \"bytes\": %zu}\n", given, patterns.count, length);
    hs_free_database(database);
    free(list.data);
}

/* ---- scan ---- */

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *arg)
{
    struct counts *counts = arg;
    (void)id, (void)from, (void)to, (void)flags;
    counts->matches++;
    return 0;
}

static void scan_file(const char *path, const hs_database_t *database, hs_scratch_t *scratch,
                      struct counts *counts)
{
    static char block[BLOCK_SIZE];
    int fd = open_file(path);
    size_t length;
    while ((length = read_fully(fd, block, sizeof(block), path)) > 0) {
        if (hs_scan(database, block, (unsigned)length, 0, scratch, on_match, counts) != HS_SUCCESS)
            die_of("cannot scan", path);
        counts->bytes += length;
    }
    counts->files++;
    close(fd);
}

static void scan_all(const char *from, char **paths)
{
    struct bytes bytes = load(from);
    hs_database_t *database = NULL;
    hs_scratch_t *scratch = NULL;
    if (hs_deserialize_database(bytes.data, bytes.length, &database) != HS_SUCCESS ||
        hs_alloc_scratch(database, &scratch) != HS_SUCCESS)
        die_of("cannot use", from);
    free(bytes.data);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    struct counts counts = {0};
    while (walk && (entry = fts_read(walk))) {
        errno = entry->fts_errno;
        if (errno)
            die("cannot look at", entry->fts_path);
        if (entry->fts_info == FTS_F)
            scan_file(entry->fts_accpath, database, scratch, &counts);
    }
    if (!walk || fts_close(walk) != 0)
        die("cannot walk", paths[0]);
    printf("{\"files\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"matches\": %" PRIu64 "}\n",
           counts.files, counts.bytes, counts.matches);
    hs_free_scratch(scratch);
    hs_free_database(database);
}

int main(int argc, char **argv)
{
    bool are_literals = argc == 5 && strcmp(argv[2], "literals") == 0;
    bool are_expressions = argc == 5 && strcmp(argv[2], "expressions") == 0;
    if ((are_literals || are_expressions) && strcmp(argv[1], "compile") == 0) {
        make(are_literals, argv[3], argv[4]);
    } else if (argc >= 4 && strcmp(argv[1], "scan") == 0) {
        scan_all(argv[2], argv + 3);
    } else {
        fputs("usage: bench-scan-limit compile expressions|literals PATTERNS DATABASE\n"
              "       bench-scan-limit scan DATABASE PATH...\n",
              stderr);
        return 2;
    }
    if (fflush(stdout) != 0)
        die("cannot write", "standard output");
    return 0;
}
