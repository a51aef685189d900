/* test_git_attribute.c - which commit brought a blob, against git. */
#include "git_meta_help.h"

#include "alloc.h"
#include "attribute.h"
#include "refs_file.h"
#include "refs_resolve.h"

static char why[WEIR__GIT_FLAW_MAX];

/* A repository that was walked. */
struct attributed {
    char dir[64], gitdir[80];
    size_t id_size;
    struct cat cat;
    struct told told;
    struct weir__git_refs refs;
    struct weir__git_graph *graph;
    struct weir__git_history history;
    uint32_t *order, order_count;
    struct weir__git_attribute *attribute;
    struct weir__git_attribute_options options;
};

static int no_other(void *arg, const char *ref, const struct weir__git_id *id,
                    enum weir__git_type type)
{
    struct attributed *t = arg;
    return t->attribute ? weir__git_attribute_ref(t->attribute, ref, id, type) : 0;
}

static void begin(struct attributed *t, const char *dir, bool is_bare, size_t id_size,
                  bool has_graph, const char *range)
{
    *t = (struct attributed){.id_size = id_size};
    snprintf(t->dir, sizeof(t->dir), "%s", dir);
    snprintf(t->gitdir, sizeof(t->gitdir), "%s%s", dir, is_bare ? "" : "/.git");
    cat_begin(&t->cat, dir, id_size);
    struct weir__git_refs_options refs = {
        .gitdir = t->gitdir, .commondir = t->gitdir, .id_size = id_size};
    weir__git_refs_init(&t->refs, &refs);
    CHECK_EQ(weir__git_refs_read(&t->refs, why), 0);
    if (has_graph) {
        char path[128];
        int fd;
        snprintf(path, sizeof(path), "%s/objects", t->gitdir);
        CHECK_EQ(weir__git_folder_open(path, &fd), 0);
        CHECK_EQ(weir__git_graph_open(&t->graph, fd, id_size, 1u << 30, why), 0);
        close(fd);
        CHECK(t->graph);
    }
    struct weir__git_history_options history = {.id_size = id_size,
                                                .get = cat_get,
                                                .get_arg = &t->cat,
                                                .graph = t->graph,
                                                .has_trees = true};
    CHECK_EQ(weir__git_history_init(&t->history, &history), 0);
    if (range) {
        struct weir__git_names names = {&t->refs, id_size, cat_get, &t->cat, NULL, NULL};
        struct weir__git_rev_range parsed;
        CHECK_EQ(weir__git_resolve_range(&names, range, &parsed, why), 0);
        CHECK_EQ(weir__git_history_start_range(&t->history, &parsed), 0);
    } else {
        CHECK_EQ(weir__git_history_start_refs(&t->history, &t->refs, no_other, t), 0);
    }
    CHECK_EQ(weir__git_history_walk(&t->history, WEIR__GIT_SINCE_EVER), 0);
    CHECK_EQ(t->history.problems, 0);
    CHECK_EQ(weir__git_history_order(&t->history, &t->order, &t->order_count), 0);
    t->options = (struct weir__git_attribute_options){.id_size = id_size,
                                                      .get = cat_get,
                                                      .get_arg = &t->cat,
                                                      .history = &t->history,
                                                      .order = t->order,
                                                      .order_count = t->order_count,
                                                      .paths_max = 100,
                                                      .problem = tell,
                                                      .problem_arg = &t->told};
}

static void end(struct attributed *t)
{
    weir__git_attribute_free(t->attribute);
    weir__base_free(t->order);
    weir__git_history_fini(&t->history);
    weir__git_graph_free(t->graph);
    weir__git_refs_fini(&t->refs);
    cat_end(&t->cat);
}

/* In so many slices, each on a fork of its own but the first. */
static void run(struct attributed *t, const struct lines *blobs, unsigned slices)
{
    weir__git_attribute_free(t->attribute);
    CHECK_EQ(weir__git_attribute_new(&t->attribute, &t->options), 0);
    for (size_t i = 0; i < blobs->count; i++) {
        struct weir__git_id id = id_of(blobs->list[i], t->id_size);
        uint32_t number;
        CHECK_EQ(weir__git_attribute_want(t->attribute, &id, &number), 0);
        CHECK_EQ(number, i);
    }
    for (unsigned i = 0; i < slices; i++) {
        uint32_t from = (uint32_t)((uint64_t)t->order_count * i / slices);
        uint32_t until = (uint32_t)((uint64_t)t->order_count * (i + 1) / slices);
        struct weir__git_attribute *fork = t->attribute;
        if (i > 0)
            CHECK_EQ(weir__git_attribute_fork(&fork, t->attribute, &t->cat, &t->told), 0);
        CHECK_EQ(weir__git_attribute_run(fork, from, until), 0);
        if (i > 0) {
            CHECK_EQ(weir__git_attribute_merge(t->attribute, fork), 0);
            weir__git_attribute_free(fork);
        }
    }
}

/* --- by the definition, from what git lists --- */

struct naive_commit {
    char hex[WEIR__GIT_HEX_SIZE];
    long long time;
    struct lines tree; /* "BLOB PATH", sorted */
    size_t parents[8], parents_count;
};

struct naive {
    struct naive_commit *commits;
    size_t count;
};

static size_t naive_find(const struct naive *naive, const char *hex)
{
    for (size_t i = 0; i < naive->count; i++)
        if (strcmp(naive->commits[i].hex, hex) == 0)
            return i;
    tap_fail(__FILE__, __LINE__, "no commit %s", hex);
}

static void naive_begin(struct naive *naive, const char *dir)
{
    struct lines list = lines_of(heard("git -C %s log --all --format='%%H %%ct %%P'", dir));
    naive->count = list.count;
    naive->commits = calloc(list.count, sizeof(*naive->commits));
    for (size_t i = 0; i < list.count; i++) {
        struct naive_commit *commit = &naive->commits[i];
        snprintf(commit->hex, sizeof(commit->hex), "%.*s", (int)strcspn(list.list[i], " "),
                 list.list[i]);
        commit->time = atoll(strchr(list.list[i], ' '));
        commit->tree = lines_of(heard("git -C %s ls-tree -r -z %s --format='%%(objectname) "
                                      "%%(path)' | tr '\\0' '\\n'",
                                      dir, commit->hex));
        lines_sort(&commit->tree);
    }
    for (size_t i = 0; i < list.count; i++) {
        char *rest = strchr(strchr(list.list[i], ' ') + 1, ' '), *parent;
        while ((parent = strsep(&rest, " ")))
            if (*parent)
                naive->commits[i].parents[naive->commits[i].parents_count++] =
                    naive_find(naive, parent);
    }
    lines_free(&list);
}

static void naive_end(struct naive *naive)
{
    for (size_t i = 0; i < naive->count; i++)
        lines_free(&naive->commits[i].tree);
    free(naive->commits);
}

static bool has_line(const struct lines *lines, const char *line)
{
    char *key = (char *)(uintptr_t)line;
    return lines->count > 0 &&
           bsearch(&key, lines->list, lines->count, sizeof(char *), lines_order);
}

/* The paths at which commits bring the blob; the time of the first. -1: nobody does. */
static long long naive_ask(const struct naive *naive, const char *blob, struct lines *paths,
                           struct lines *firsts)
{
    long long first = -1;
    size_t blob_length = strlen(blob);
    for (size_t i = 0; i < naive->count; i++) {
        const struct naive_commit *commit = &naive->commits[i];
        for (size_t k = 0; k < commit->tree.count; k++) {
            const char *line = commit->tree.list[k];
            bool is_new = strncmp(line, blob, blob_length) == 0;
            for (size_t p = 0; is_new && p < commit->parents_count; p++)
                is_new = !has_line(&naive->commits[commit->parents[p]].tree, line);
            if (!is_new)
                continue;
            const char *path = line + blob_length + 1;
            bool is_known = false;
            for (size_t n = 0; n < paths->count; n++)
                is_known |= strcmp(paths->list[n], path) == 0;
            if (!is_known)
                lines_add(paths, path);
            if (first < 0 || commit->time < first) {
                first = commit->time;
                lines_free(firsts);
            }
            if (commit->time == first) {
                char text[512];
                snprintf(text, sizeof(text), "%s %s", commit->hex, path);
                lines_add(firsts, text);
            }
        }
    }
    return first;
}

static void check_one(const struct attributed *t, const struct naive *naive, const char *blob,
                      uint32_t number)
{
    struct weir__git_attribution found;
    struct lines paths = {0}, firsts = {0}, ours = {0};
    char hex[WEIR__GIT_HEX_SIZE], text[1024];
    long long time = naive_ask(naive, blob, &paths, &firsts);
    weir__git_attribute_result(t->attribute, number, &found);
    CHECK_EQ(found.has_commit, time >= 0);
    if (time >= 0) {
        bool is_first = false;
        CHECK_EQ(found.time, time);
        snprintf(text, sizeof(text), "%s %s", weir__git_id_hex(&found.commit, t->id_size, hex),
                 found.path);
        for (size_t i = 0; i < firsts.count; i++)
            is_first |= strcmp(firsts.list[i], text) == 0;
        if (!is_first)
            tap_fail(__FILE__, __LINE__, "blob %s: ours '%s', not one of %zu like '%s'", blob, text,
                     firsts.count, firsts.list[0]);
    }
    if (!t->options.is_first_only) {
        CHECK_EQ(found.paths_total, paths.count);
        for (size_t i = 0; i < found.paths_count; i++)
            lines_add(&ours, found.paths[i]);
        same_lines("paths", &ours, &paths);
    }
    lines_free(&paths);
    lines_free(&firsts);
}

/* --- looks --- */

static int by_length(void *arg, uint32_t number, const char *path, uint64_t *ret_verdict)
{
    (void)arg;
    *ret_verdict = 100 + number + strlen(path) % 3;
    return 0;
}

/* Half of the commits have none. */
static uint64_t by_commit(void *arg, const struct weir__git_id *commit)
{
    (void)arg;
    return commit->bytes[0] & 1 ? 8192 : 0;
}

static uint64_t naive_verdict(uint32_t number, const struct naive_commit *commit, const char *path)
{
    bool is_odd = (strchr("0123456789abcdef", commit->hex[1]) - "0123456789abcdef") & 1;
    return (100 + number + strlen(path) % 3) ^ (is_odd ? 8192 : 0);
}

/* Of each verdict, the time of who brought it first; and whether the look is one of these. */
static void check_looks(const struct attributed *t, const struct naive *naive, const char *blob,
                        uint32_t number)
{
    struct {
        uint64_t verdict;
        long long time;
        bool is_seen;
    } wanted[6];
    struct weir__git_attribution found;
    size_t count = 0, blob_length = strlen(blob);
    weir__git_attribute_result(t->attribute, number, &found);
    for (size_t i = 0; i < naive->count; i++)
        for (size_t k = 0; k < naive->commits[i].tree.count; k++) {
            const struct naive_commit *commit = &naive->commits[i];
            const char *line = commit->tree.list[k];
            bool is_new = strncmp(line, blob, blob_length) == 0;
            for (size_t p = 0; is_new && p < commit->parents_count; p++)
                is_new = !has_line(&naive->commits[commit->parents[p]].tree, line);
            if (!is_new)
                continue;
            uint64_t verdict = naive_verdict(number, commit, line + blob_length + 1);
            size_t at = 0;
            while (at < count && wanted[at].verdict != verdict)
                at++;
            if (at == count) {
                wanted[count].time = commit->time;
                wanted[count].is_seen = false;
                wanted[count++].verdict = verdict;
            }
            if (commit->time < wanted[at].time)
                wanted[at].time = commit->time;
        }
    CHECK_EQ(found.looks_count, count > 1 ? count : 0);
    CHECK(!found.is_cut);
    for (size_t i = 0; i < found.looks_count; i++) {
        const struct weir__git_look *look = &found.looks[i];
        char hex[WEIR__GIT_HEX_SIZE], line[1024];
        const struct naive_commit *commit =
            &naive->commits[naive_find(naive, weir__git_id_hex(&look->commit, t->id_size, hex))];
        uint64_t verdict = naive_verdict(number, commit, look->path);
        size_t at = 0;
        while (at < count && wanted[at].verdict != verdict)
            at++;
        CHECK(at < count && !wanted[at].is_seen && look->time == wanted[at].time);
        wanted[at].is_seen = true;
        snprintf(line, sizeof(line), "%s %s", blob, look->path);
        CHECK(look->has_commit && commit->time == look->time && has_line(&commit->tree, line));
    }
}

/* git names the same commit. It compares no merges, so what merges bring is left to the check
 * above; and what only a merge brought can come before what git names. */
static unsigned check_with_log(const struct attributed *t, const char *blob, uint32_t number)
{
    struct weir__git_attribution found;
    char hex[WEIR__GIT_HEX_SIZE];
    weir__git_attribute_result(t->attribute, number, &found);
    char *said = heard("git -C %s log --all --find-object=%s --format=%%H --reverse | head -1",
                       t->dir, blob);
    bool is_merge = false;
    if (!found.has_commit) {
        CHECK_STR(said, "");
    } else {
        weir__git_id_hex(&found.commit, t->id_size, hex);
        char *merge = heard("git -C %s log --no-walk --format=%%P %s", t->dir, hex);
        is_merge = strchr(merge, ' ') != NULL;
        free(merge);
        if (!is_merge && strncmp(said, hex, strlen(hex)) != 0)
            tap_fail(__FILE__, __LINE__, "blob %s: ours %s, git's %s", blob, hex, said);
    }
    free(said);
    return is_merge;
}

static struct lines blobs_of(const char *dir)
{
    return lines_of(heard("git -C %s cat-file --batch-all-objects "
                          "--batch-check='%%(objecttype) %%(objectname)' | sed -n 's/^blob //p'",
                          dir));
}

enum { WITH_LOG = 1, SAME_SECOND = 2, SKEW = 4, GRAPH = 8 };

static void check_made(const char *dir, const char *format, size_t id_size, uint64_t seed,
                       unsigned how)
{
    struct attributed t;
    struct naive naive;
    unsigned merges = 0;
    meta_begin();
    make_history(dir, format, seed, 80, (how & SKEW) != 0, (how & SAME_SECOND) != 0);
    if (how & GRAPH)
        sh("git -C %s commit-graph write --reachable", dir);
    struct lines blobs = blobs_of(dir);
    CHECK_EQ(blobs.count, 30);
    naive_begin(&naive, dir);
    for (unsigned first_only = 0; first_only < 2; first_only++) {
        begin(&t, dir, true, id_size, how & GRAPH, NULL);
        t.options.is_first_only = first_only;
        t.options.verdict = by_length;
        t.options.mark = by_commit;
        for (unsigned slices = 1; slices < 90; slices = slices * 4 + 1) {
            run(&t, &blobs, slices);
            for (size_t i = 0; i < blobs.count; i++) {
                check_one(&t, &naive, blobs.list[i], (uint32_t)i);
                if (!first_only)
                    check_looks(&t, &naive, blobs.list[i], (uint32_t)i);
            }
        }
        if (how & WITH_LOG)
            for (size_t i = 0; i < blobs.count; i++)
                merges += check_with_log(&t, blobs.list[i], (uint32_t)i);
        CHECK_EQ(t.told.count, 0);
        end(&t);
    }
    CHECK(merges < blobs.count / 2); /* of those that git was asked about */
    naive_end(&naive);
    lines_free(&blobs);
}

TEST(each_blob_has_its_first_commit)
{
    check_made("a1", "sha1", 20, 101, WITH_LOG);
    check_made("a2", "sha1", 20, 102, WITH_LOG | GRAPH);
}

TEST(many_commits_of_one_second)
{
    check_made("a3", "sha1", 20, 103, SAME_SECOND);
    check_made("a4", "sha1", 20, 104, SAME_SECOND | GRAPH);
}

TEST(clocks_may_go_wrong)
{
    check_made("a5", "sha1", 20, 105, SKEW);
    check_made("a6", "sha1", 20, 106, SKEW | GRAPH);
}

TEST(sha256)
{
    check_made("a7", "sha256", 32, 107, WITH_LOG | GRAPH);
}

TEST(little_memory_costs_time_alone)
{
    struct attributed t;
    struct naive naive;
    struct weir__git_attribute_stats all, little;
    meta_begin();
    make_history("mem", "sha1", 111, 80, false, false);
    struct lines blobs = blobs_of("mem");
    naive_begin(&naive, "mem");
    begin(&t, "mem", true, 20, false, NULL);
    run(&t, &blobs, 1);
    weir__git_attribute_read(t.attribute, &all);
    t.options.bytes_max = 40000;
    run(&t, &blobs, 1);
    weir__git_attribute_read(t.attribute, &little);
    for (size_t i = 0; i < blobs.count; i++)
        check_one(&t, &naive, blobs.list[i], (uint32_t)i);
    CHECK(all.forgotten == 0 && little.forgotten > 0 && little.trees > all.trees);
    CHECK_EQ(little.problems, 0);
    /* Each distinct tree was read once. */
    char *trees = heard("git -C mem cat-file --batch-all-objects --batch-check='%%(objecttype)' | "
                        "grep -c tree");
    CHECK(all.trees <= strtoul(trees, NULL, 10));
    free(trees);
    t.options.bytes_max = 1000;
    run(&t, &blobs, 1);
    weir__git_attribute_read(t.attribute, &little);
    CHECK(little.problems > 0);
    CHECK_HAS(t.told.last, "1000 bytes");
    end(&t);
    naive_end(&naive);
    lines_free(&blobs);
}

TEST(it_stops_when_all_are_found)
{
    struct attributed t;
    struct weir__git_attribute_stats stats;
    meta_begin();
    sh("git init -q --bare early && cd early && { for i in $(seq 300); do echo \"commit "
       "refs/heads/m\"; echo \"committer C <c> $((1600000000 + i)) +0000\"; echo 'data 0'; "
       "echo \"M 100644 inline f$((i %% 7))\"; echo 'data <<E'; echo $i; echo E; done; } | git "
       "fast-import --quiet");
    struct lines blobs = lines_of(heard("cd early && git rev-parse m~295:f5 m~290:f3"));
    begin(&t, "early", true, 20, false, NULL);
    t.options.is_first_only = true;
    run(&t, &blobs, 1);
    weir__git_attribute_read(t.attribute, &stats);
    CHECK(stats.commits == 10);
    /* What nobody has keeps it going. */
    lines_add(&blobs, "1111111111111111111111111111111111111111");
    run(&t, &blobs, 1);
    weir__git_attribute_read(t.attribute, &stats);
    CHECK_EQ(stats.commits, 300);
    struct weir__git_attribution found;
    weir__git_attribute_result(t.attribute, 2, &found);
    CHECK(!found.has_commit && !found.path && found.paths_count == 0);
    end(&t);
    lines_free(&blobs);
}

TEST(a_range_is_compared_with_what_lies_before_it)
{
    struct attributed t;
    struct weir__git_attribution found;
    meta_begin();
    sh("git init -q range && cd range && echo old >f && git add f && git commit -q -m 1 && "
       "git tag one && echo new >g && git add g && git commit -q -m 2 && git mv f moved && "
       "git commit -q -m 3");
    for (unsigned has_graph = 0; has_graph < 2; has_graph++) {
        struct lines blobs = lines_of(heard("cd range && git rev-parse one:f HEAD:g"));
        begin(&t, "range", false, 20, has_graph, "one..HEAD");
        run(&t, &blobs, 1);
        struct weir__git_id second = rev("range", "HEAD~1", 20), third = rev("range", "HEAD", 20);
        weir__git_attribute_result(t.attribute, 0, &found);
        CHECK(found.has_commit && weir__git_id_is_equal(&found.commit, &third));
        CHECK_STR(found.path, "moved");
        weir__git_attribute_result(t.attribute, 1, &found);
        CHECK(found.has_commit && weir__git_id_is_equal(&found.commit, &second));
        end(&t);
        lines_free(&blobs);
        sh("git -C range commit-graph write --reachable");
    }
}

static int on_staged(void *arg, const struct weir__git_index_entry *entry)
{
    return weir__git_attribute_staged(arg, entry);
}

TEST(what_is_not_in_commits)
{
    struct attributed t;
    struct weir__git_attribution found;
    int fd;
    meta_begin();
    sh("git init -q other && cd other && mkdir d && echo 1 >d/f && git add . && git commit -q -m 1 "
       "&& git notes add -m 'a note' && echo stashed >d/f && git stash -q && "
       "echo staged >s && git add s && git tag blob $(echo tagged | git hash-object -w --stdin) && "
       "b=$(echo intree | git hash-object -w --stdin) && git tag tree $(printf '100644 blob "
       "%%s\\tx/y' $b | tr / _ | git mktree) && echo lost | git hash-object -w --stdin >/dev/null");
    struct lines blobs = lines_of(
        heard("cd other && git rev-parse HEAD:d/f stash:d/f && "
              "for i in 'a note' staged tagged intree lost; do echo \"$i\" | git hash-object "
              "--stdin; done"));
    begin(&t, "other", false, 20, false, NULL);
    run(&t, &blobs, 1);
    CHECK_EQ(weir__git_history_start_refs(&t.history, &t.refs, no_other, &t), 0);
    CHECK_EQ(weir__git_folder_open("other/.git", &fd), 0);
    CHECK_EQ(weir__git_index_read(fd, "index", 20, 0, on_staged, t.attribute, why), 0);
    close(fd);
    static const struct {
        bool has_commit;
        enum weir__git_start kind;
        const char *path, *ref;
        bool is_staged;
    } wanted[] = {
        {true, WEIR__GIT_START_REF, "d/f", NULL, true},
        {true, WEIR__GIT_START_STASH, "d/f", NULL, false},
        {true, WEIR__GIT_START_NOTES, NULL, NULL, false},
        {false, 0, "s", NULL, true},
        {false, 0, NULL, "refs/tags/blob", false},
        {false, 0, "x_y", "refs/tags/tree", false},
        {false, 0, NULL, NULL, false},
    };
    for (uint32_t i = 0; i < 7; i++) {
        weir__git_attribute_result(t.attribute, i, &found);
        if (found.has_commit != wanted[i].has_commit || found.is_staged != wanted[i].is_staged)
            tap_fail(__FILE__, __LINE__, "blob %u: %d %d", i, found.has_commit, found.is_staged);
        CHECK_EQ(found.kind, wanted[i].kind);
        if (wanted[i].path)
            CHECK_STR(found.path, wanted[i].path);
        else if (!wanted[i].has_commit)
            CHECK(!found.path);
        if (wanted[i].ref)
            CHECK_STR(found.ref, wanted[i].ref);
        else
            CHECK(!found.ref);
    }
    end(&t);
    lines_free(&blobs);
}

TEST(missing_and_broken_trees_are_told)
{
    struct attributed t;
    struct weir__git_attribution found;
    meta_begin();
    sh("git init -q miss && cd miss && mkdir d e && echo 1 >d/f && echo 2 >e/g && git add . && "
       "git commit -q -m 1 && git rev-parse HEAD:d/f HEAD:e/g >../miss-blobs && "
       "h=$(git rev-parse HEAD:d) && rm -f .git/objects/${h:0:2}/${h:2}");
    struct lines blobs = lines_of(heard("cat miss-blobs"));
    begin(&t, "miss", false, 20, false, NULL);
    run(&t, &blobs, 1);
    CHECK_EQ(t.told.count, 1);
    CHECK_HAS(t.told.last, "it is missing; 'git fetch --refetch'");
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(!found.has_commit);
    weir__git_attribute_result(t.attribute, 1, &found);
    CHECK(found.has_commit);
    CHECK_STR(found.path, "e/g");
    end(&t);
    lines_free(&blobs);
}

/* --- hostile ones: a store that makes them up --- */

enum shape { DEEP, BOMB, BOMBS, RING, LONG_NAMES, OCTOPUS, ODD, TWINS, MANY };

struct made_up {
    enum shape shape;
    uint32_t size;
};

static struct weir__git_id numbered(char kind, uint32_t number)
{
    struct weir__git_id id = {{0}};
    id.bytes[0] = (uint8_t)kind;
    memcpy(id.bytes + 4, &number, sizeof(number));
    return id;
}

static int put_entry(struct weir__buffer *bytes, const char *mode_name, size_t pad,
                     struct weir__git_id id)
{
    int error = weir__buffer_puts(bytes, mode_name);
    for (size_t i = 0; !error && i < pad; i++)
        error = weir__buffer_putc(bytes, 'n');
    if (!error)
        error = weir__buffer_putc(bytes, '\0');
    return error ? error : weir__buffer_append(bytes, id.bytes, 20);
}

#define BOMBS_ROOT    1000u
#define BOMBS_COMMITS 50u

static int put_tree(const struct made_up *m, uint32_t number, struct weir__buffer *bytes)
{
    int error = 0;
    char name[32];
    switch (m->shape) {
    case DEEP:
    case LONG_NAMES:
        error = put_entry(bytes, "40000 d", m->shape == DEEP ? 0 : 1u << 20,
                          numbered(number + 1 < m->size ? 't' : 'u', number + 1));
        return error;
    case BOMBS: /* each commit has it in another folder */
        if (number >= BOMBS_ROOT) {
            snprintf(name, sizeof(name), "40000 r%u", number);
            return put_entry(bytes, name, 0, numbered('t', 0));
        }
        __attribute__((fallthrough));
    case BOMB:
        for (uint32_t i = 0; !error && i < 10; i++) {
            snprintf(name, sizeof(name), "40000 %u", i);
            error =
                put_entry(bytes, name, 0, numbered(number + 1 < m->size ? 't' : 'u', number + 1));
        }
        return error;
    case RING:
        error = put_entry(bytes, "40000 x", 0, numbered('t', (number + 1) % m->size));
        return error ? error : put_entry(bytes, "100644 b", 0, numbered('b', 0));
    case OCTOPUS:
        return put_entry(bytes, "40000 a", 0, numbered('u', number));
    case TWINS: /* each level has the same name often, with a tree that differs each time */
        for (uint32_t i = 0; !error && i < 8; i++)
            error =
                put_entry(bytes, "40000 a", 0,
                          numbered(number + 8 < m->size ? 't' : 'u', number - number % 8 + 8 + i));
        if (!error && number > 0)
            error = put_entry(bytes, "100644 b", 0, numbered('b', number % 8));
        return error;
    case MANY: /* one name with every blob */
        for (uint32_t i = 0; !error && i < m->size; i++)
            error = put_entry(bytes, "100644 a", 0, numbered('b', i));
        return error ? error : put_entry(bytes, "40000 d", 0, numbered('u', number));
    case ODD:
        error = put_entry(bytes, "100644 z/../q", 0, numbered('b', 0));
        if (!error)
            error = put_entry(bytes, "100644 a", 0, numbered('b', 1));
        if (!error)
            error = put_entry(bytes, "40000 a", 0, numbered('u', 1));
        if (!error)
            error = put_entry(bytes, "100644 a", 0, numbered('b', 0));
        if (!error)
            error = put_entry(bytes, "100644 /abs", 0, numbered('b', 0));
        return error ? error : weir__buffer_puts(bytes, "100644 cut");
    }
    return -WEIR_E_INTERNAL;
}

static int get_made_up(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                       struct weir__buffer *bytes)
{
    const struct made_up *m = arg;
    char hex[WEIR__GIT_HEX_SIZE];
    uint32_t number;
    int error = 0;
    memcpy(&number, id->bytes + 4, sizeof(number));
    weir__buffer_truncate(bytes, 0);
    if (id->bytes[0] == 't' || id->bytes[0] == 'u') {
        *ret_type = WEIR__GIT_TREE;
        if (id->bytes[0] == 't')
            return put_tree(m, number, bytes);
        return put_entry(bytes, "100644 blob", 0, numbered('b', 0));
    }
    *ret_type = WEIR__GIT_COMMIT;
    bool is_bombs = m->shape == BOMBS;
    struct weir__git_id tree = numbered('t', number + (is_bombs ? BOMBS_ROOT : 0));
    error = weir__buffer_printf(bytes, "tree %s\n", weir__git_id_hex(&tree, 20, hex));
    bool has_parents = m->shape == OCTOPUS || m->shape == TWINS || m->shape == MANY;
    uint32_t parents = m->shape == OCTOPUS ? m->size : 1;
    for (uint32_t i = 0; has_parents && number == 0 && !error && i < parents; i++) {
        struct weir__git_id parent = numbered('c', i + 1);
        error = weir__buffer_printf(bytes, "parent %s\n", weir__git_id_hex(&parent, 20, hex));
    }
    if (is_bombs && !error && number + 1 < BOMBS_COMMITS) {
        struct weir__git_id parent = numbered('c', number + 1);
        error = weir__buffer_printf(bytes, "parent %s\n", weir__git_id_hex(&parent, 20, hex));
    }
    if (!error)
        error = weir__buffer_printf(bytes, "author a <b> 1 +0000\ncommitter c <d> %u +0000\n\n",
                                    100 - (number > 0));
    return error;
}

static void run_made_up(struct attributed *t, struct made_up *m, unsigned wanted)
{
    struct weir__git_id start = numbered('c', 0);
    *t = (struct attributed){.id_size = 20};
    struct weir__git_history_options history = {
        .id_size = 20, .get = get_made_up, .get_arg = m, .has_trees = true};
    CHECK_EQ(weir__git_history_init(&t->history, &history), 0);
    CHECK_EQ(weir__git_history_start(&t->history, &start, WEIR__GIT_START_REF), 0);
    CHECK_EQ(weir__git_history_walk(&t->history, WEIR__GIT_SINCE_EVER), 0);
    CHECK_EQ(weir__git_history_order(&t->history, &t->order, &t->order_count), 0);
    t->options = (struct weir__git_attribute_options){.id_size = 20,
                                                      .get = get_made_up,
                                                      .get_arg = m,
                                                      .history = &t->history,
                                                      .order = t->order,
                                                      .order_count = t->order_count,
                                                      .again_max = 10000,
                                                      .problem = tell,
                                                      .problem_arg = &t->told};
    CHECK_EQ(weir__git_attribute_new(&t->attribute, &t->options), 0);
    for (unsigned i = 0; i < wanted; i++) {
        struct weir__git_id blob = numbered('b', i);
        uint32_t number;
        CHECK_EQ(weir__git_attribute_want(t->attribute, &blob, &number), 0);
    }
    CHECK_EQ(weir__git_attribute_run(t->attribute, 0, t->order_count), 0);
}

TEST(trees_may_be_deep)
{
    struct attributed t;
    struct made_up m = {DEEP, 20000};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && strlen(found.path) == 2 * 20000 + 4);
    end(&t);
    m.size = 40000; /* beyond what a path may have */
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && strlen(found.path) < WEIR__GIT_SHOWN_PATH_MAX);
    CHECK_HAS(found.path + strlen(found.path) - 3, "...");
    end(&t);
}

/* Ten billion paths: some of them, the commit, and the word that there are more. */
TEST(trees_may_be_bombs)
{
    struct attributed t;
    struct made_up m = {BOMB, 10};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && found.has_more && found.paths_count == WEIR__GIT_PATHS_DEFAULT);
    CHECK(found.paths_total > 16 && found.paths_total < 20000);
    end(&t);
}

/* The limit is one for all commits: beyond it each has its one path. */
TEST(bombs_may_be_many)
{
    struct attributed t;
    struct made_up m = {BOMBS, 10};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && found.has_more && found.is_cut);
    CHECK(found.paths_total > BOMBS_COMMITS && found.paths_total < 20000);
    end(&t);
}

TEST(trees_may_lie_in_themselves)
{
    struct attributed t;
    struct weir__git_attribution found;
    for (uint32_t size = 1; size < 4; size++) {
        struct made_up m = {RING, size};
        run_made_up(&t, &m, 1);
        weir__git_attribute_result(t.attribute, 0, &found);
        CHECK(found.has_commit && found.paths_total == size);
        CHECK_HAS(t.told.all, "it lies in itself");
        end(&t);
    }
}

TEST(names_may_be_long)
{
    struct attributed t;
    struct made_up m = {LONG_NAMES, 5};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && strlen(found.path) < WEIR__GIT_SHOWN_PATH_MAX &&
          found.paths_total == 1);
    end(&t);
    m.size = 400; /* more than the memory */
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(!found.has_commit);
    CHECK_HAS(t.told.all, "its trees need more than");
    end(&t);
}

TEST(commits_may_have_many_parents)
{
    struct attributed t;
    struct made_up m = {OCTOPUS, 20000};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 1);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && found.time == 99 && found.paths_total == 1);
    end(&t);
}

TEST(a_name_may_come_many_times)
{
    struct attributed t;
    struct made_up m = {TWINS, 160};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 8);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit);
    end(&t);
    m = (struct made_up){MANY, 100000};
    run_made_up(&t, &m, 100000);
    weir__git_attribute_result(t.attribute, 99999, &found);
    CHECK(found.has_commit && found.paths_total == 1 && found.time == 99);
    end(&t);
}

TEST(trees_may_be_odd)
{
    struct attributed t;
    struct made_up m = {ODD, 0};
    struct weir__git_attribution found;
    run_made_up(&t, &m, 2);
    weir__git_attribute_result(t.attribute, 0, &found);
    CHECK(found.has_commit && found.paths_total == 4);
    CHECK_STR(found.paths[0], "/abs");
    CHECK_STR(found.paths[1], "a");
    CHECK_STR(found.paths[2], "a/blob");
    CHECK_STR(found.paths[3], "z/../q");
    weir__git_attribute_result(t.attribute, 1, &found);
    CHECK(found.has_commit && found.paths_total == 1);
    CHECK_EQ(t.told.count, 1);
    CHECK_HAS(t.told.last, "entry 6");
    end(&t);
}

TAP_MAIN()
