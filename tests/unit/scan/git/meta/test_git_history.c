/* test_git_history.c - which commits are reachable, with and without a commit-graph, against git.
 */
#include "git_meta_help.h"

#include "alloc.h"
#include "refs_file.h"
#include "refs_resolve.h"

static char why[WEIR__GIT_FLAW_MAX];

/* A repository, and how it is to be walked. */
struct walked {
    char dir[64], gitdir[80];
    size_t id_size;
    struct cat cat;
    struct told told;
    struct weir__git_refs refs;
    struct weir__git_graph *graph;
    struct weir__git_history history;
};

static void open_graph(struct walked *w)
{
    char path[128];
    int fd;
    snprintf(path, sizeof(path), "%s/objects", w->gitdir);
    CHECK_EQ(weir__git_folder_open(path, &fd), 0);
    int error = weir__git_graph_open(&w->graph, fd, w->id_size, 1u << 30, why);
    close(fd);
    if (error)
        tap_fail(__FILE__, __LINE__, "graph: %d %s", error, why);
}

static void begin(struct walked *w, const char *dir, bool is_bare, size_t id_size, bool has_graph)
{
    *w = (struct walked){.id_size = id_size};
    snprintf(w->dir, sizeof(w->dir), "%s", dir);
    snprintf(w->gitdir, sizeof(w->gitdir), "%s%s", dir, is_bare ? "" : "/.git");
    cat_begin(&w->cat, dir, id_size);
    struct weir__git_refs_options options = {.gitdir = w->gitdir,
                                             .commondir = w->gitdir,
                                             .id_size = id_size,
                                             .problem = tell,
                                             .problem_arg = &w->told};
    weir__git_refs_init(&w->refs, &options);
    CHECK_EQ(weir__git_refs_read(&w->refs, why), 0);
    if (has_graph) {
        open_graph(w);
        CHECK(w->graph);
    }
}

static void begin_history(struct walked *w, uint64_t bytes_max)
{
    struct weir__git_history_options options = {.id_size = w->id_size,
                                                .get = cat_get,
                                                .get_arg = &w->cat,
                                                .graph = w->graph,
                                                .bytes_max = bytes_max,
                                                .has_trees = true,
                                                .problem = tell,
                                                .problem_arg = &w->told};
    CHECK_EQ(weir__git_history_init(&w->history, &options), 0);
}

static void end(struct walked *w)
{
    weir__git_refs_fini(&w->refs);
    weir__git_graph_free(w->graph);
    cat_end(&w->cat);
}

static struct lines set_lines(const struct walked *w)
{
    struct lines lines = {0};
    char hex[WEIR__GIT_HEX_SIZE];
    for (uint32_t i = 0; i < weir__git_history_count(&w->history); i++) {
        struct weir__git_id id = weir__git_history_id(&w->history, i);
        CHECK_EQ(weir__git_history_find(&w->history, &id), i);
        if (weir__git_history_has(&w->history, i))
            lines_add(&lines, weir__git_id_hex(&id, w->id_size, hex));
    }
    return lines;
}

/* The order has each commit of the set once, by time, and parents first among equals. */
static void check_order(const struct walked *w, size_t wanted)
{
    const struct weir__git_history *h = &w->history;
    uint32_t *order, count, parent;
    CHECK_EQ(weir__git_history_order(h, &order, &count), 0);
    CHECK_EQ(count, wanted);
    uint32_t *place = calloc(weir__git_history_count(h) + 1, sizeof(*place));
    for (uint32_t i = 0; i < count; i++) {
        CHECK(weir__git_history_has(h, order[i]) && place[order[i]] == 0);
        place[order[i]] = i + 1;
        CHECK(i == 0 ||
              weir__git_history_time(h, order[i - 1]) <= weir__git_history_time(h, order[i]));
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t at = WEIR__GIT_PARENTS; weir__git_history_parent(h, order[i], &at, &parent);)
            if (place[parent] &&
                weir__git_history_time(h, parent) == weir__git_history_time(h, order[i]))
                CHECK(place[parent] < place[order[i]]);
    free(place);
    weir__base_free(order);
}

/* Ranges (NULL: all refs) and a date, against what git says for the same. */
static void check_walk(struct walked *w, const char *const *ranges, int64_t since)
{
    struct weir__git_names names = {&w->refs, w->id_size, cat_get, &w->cat, NULL, NULL};
    char arguments[1024] = "", filter[64] = "";
    begin_history(w, 0);
    for (size_t i = 0; ranges && ranges[i]; i++) {
        struct weir__git_rev_range range;
        size_t used = strlen(arguments);
        snprintf(arguments + used, sizeof(arguments) - used, " '%s'", ranges[i]);
        CHECK_EQ(weir__git_resolve_range(&names, ranges[i], &range, why), 0);
        CHECK_EQ(weir__git_history_start_range(&w->history, &range), 0);
    }
    if (!ranges)
        CHECK_EQ(weir__git_history_start_refs(&w->history, &w->refs, NULL, NULL), 0);
    CHECK_EQ(weir__git_history_walk(&w->history, since), 0);
    if (since != WEIR__GIT_SINCE_EVER)
        snprintf(filter, sizeof(filter), "--since-as-filter=@%lld", (long long)since);
    struct lines ours = set_lines(w);
    struct lines theirs = lines_of(heard("git -C %s --no-replace-objects rev-list %s %s %s", w->dir,
                                         filter, ranges ? "" : "--all", arguments));
    size_t count = theirs.count;
    same_lines(ranges ? arguments : "all", &ours, &theirs);
    check_order(w, count);
    CHECK_STR(w->told.all, "");
    weir__git_history_fini(&w->history);
}

static void check_ranges(struct walked *w, struct made_random *random, unsigned commits,
                         unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        char one[64], two[64];
        unsigned a = 1 + made_below(random, commits), b = 1 + made_below(random, commits);
        unsigned c = 1 + made_below(random, commits), d = 1 + made_below(random, commits);
        const char *ranges[3] = {one, NULL, NULL};
        int64_t since = made_below(random, 3) ? WEIR__GIT_SINCE_EVER
                                              : 1600000000 + (int64_t)made_below(random, 12000);
        snprintf(one, sizeof(one), "c%u%sc%u", a, made_below(random, 2) ? ".." : "...", b);
        unsigned which = made_below(random, 8);
        if (which < 2)
            snprintf(two, sizeof(two), "%sc%u", which ? "^" : "", c);
        else
            snprintf(two, sizeof(two), "c%u%sc%u", c, which % 2 ? ".." : "...", d);
        if (which < 5)
            ranges[1] = two;
        check_walk(w, ranges, since);
    }
}

static void check_made(const char *dir, const char *format, size_t id_size, uint64_t seed,
                       bool skew, const char *graph)
{
    struct walked w;
    struct made_random random = {seed};
    const unsigned commits = 150;
    meta_begin();
    make_history(dir, format, seed, commits, skew, false);
    for (unsigned has_graph = 0; has_graph <= (graph != NULL); has_graph++) {
        if (has_graph)
            sh("cd %s && %s", dir, graph);
        begin(&w, dir, true, id_size, has_graph);
        check_walk(&w, NULL, WEIR__GIT_SINCE_EVER);
        check_walk(&w, NULL, 1600004000);
        check_ranges(&w, &random, commits, 25);
        end(&w);
    }
}

#define GRAPH "git commit-graph write --reachable"
/* Three files, and some commits that none of them has. */
#define CHAIN                                                                                      \
    "for i in 40 80 120; do git rev-parse c$i | git commit-graph write --split=no-merge "          \
    "--stdin-commits; done; test $(wc -l <objects/info/commit-graphs/commit-graph-chain) -gt 1"

TEST(what_is_reachable)
{
    check_made("h1", "sha1", 20, 11, false, GRAPH);
}

TEST(what_is_reachable_with_wrong_clocks)
{
    check_made("h2", "sha1", 20, 12, true, GRAPH);
}

TEST(what_is_reachable_with_a_chain)
{
    check_made("h3", "sha1", 20, 13, true, CHAIN);
}

TEST(what_is_reachable_with_sha256)
{
    check_made("h4", "sha256", 32, 14, true, GRAPH);
}

TEST(old_generations_are_understood)
{
    check_made("h5", "sha1", 20, 15, true,
               "git -c commitGraph.generationVersion=1 commit-graph write --reachable");
}

/* Each commit, from the graph as from its bytes. */
TEST(a_graph_says_what_commits_say)
{
    struct walked w;
    meta_begin();
    make_history("g1", "sha1", 21, 200, true, false);
    sh("cd g1 && " GRAPH);
    begin(&w, "g1", true, 20, true);
    struct lines ours = {0}, theirs = lines_of(heard("git -C g1 log --all --format='%%H %%T %%ct "
                                                     "%%P' | sed 's/ *$//'"));
    CHECK_EQ(weir__git_graph_count(w.graph), 200);
    for (uint32_t i = 0; i < 200; i++) {
        struct weir__git_graph_commit commit;
        struct weir__git_id id = weir__git_graph_id(w.graph, i);
        char hex[WEIR__GIT_HEX_SIZE], tree[WEIR__GIT_HEX_SIZE], line[1024];
        CHECK_EQ(weir__git_graph_find(w.graph, &id), i);
        CHECK_EQ(weir__git_graph_commit(w.graph, i, &commit), 0);
        CHECK(commit.newest >= (uint64_t)commit.time && commit.newest < 1700000000);
        int used = snprintf(line, sizeof(line), "%s %s %lld", weir__git_id_hex(&id, 20, hex),
                            weir__git_id_hex(&commit.tree, 20, tree), (long long)commit.time);
        for (uint32_t p = 0; p < commit.parents_count; p++) {
            struct weir__git_id parent =
                weir__git_graph_id(w.graph, weir__git_graph_parent(&commit, p));
            used += snprintf(line + used, sizeof(line) - (size_t)used, " %s",
                             weir__git_id_hex(&parent, 20, hex));
        }
        lines_add(&ours, line);
    }
    same_lines("graph", &ours, &theirs);
    end(&w);
}

/* With a graph, what is excluded is not followed to its roots, and nothing is inflated. */
TEST(a_graph_saves_work)
{
    struct walked w;
    uint64_t asked[2];
    meta_begin();
    sh("git init -q --bare save && cd save && { for i in $(seq 400); do echo \"commit "
       "refs/heads/m\"; echo \"committer C <c> $((1600000000 + i)) +0000\"; echo 'data 0'; done; } "
       "| "
       "git fast-import --quiet && " GRAPH " && git branch a m~3");
    for (unsigned has_graph = 0; has_graph < 2; has_graph++) {
        begin(&w, "save", true, 20, has_graph);
        begin_history(&w, 0);
        struct weir__git_id left = rev("save", "a", 20), right = rev("save", "m", 20);
        CHECK_EQ(weir__git_history_start(&w.history, &left, WEIR__GIT_START_EXCLUDE), 0);
        CHECK_EQ(weir__git_history_start(&w.history, &right, WEIR__GIT_START_REF), 0);
        CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
        struct lines ours = set_lines(&w);
        CHECK_EQ(ours.count, 3);
        lines_free(&ours);
        asked[has_graph] = w.cat.asked;
        CHECK(has_graph ? weir__git_history_count(&w.history) < 10
                        : weir__git_history_count(&w.history) == 400);
        weir__git_history_fini(&w.history);
        end(&w);
    }
    CHECK(asked[0] == 400 && asked[1] == 0);
}

TEST(all_kinds_of_starts)
{
    struct walked w;
    meta_begin();
    sh("git init -q kinds && cd kinds && echo 1 >f && git add f && git commit -q -m 1 && "
       "git commit -q --allow-empty -m 2 && git notes add -m n && echo 2 >f && git stash -q && "
       "git tag -a -m t v1 && git tag -a -m t2 v2 v1 && git tag blob $(git rev-parse HEAD:f) && "
       "git tag tree $(git rev-parse HEAD^{tree}) && git commit -q --allow-empty -m 3 && "
       "git reset -q --hard HEAD~1 && git replace HEAD HEAD~1");
    begin(&w, "kinds", false, 20, false);
    check_walk(&w, NULL, WEIR__GIT_SINCE_EVER);
    begin_history(&w, 0);
    CHECK_EQ(weir__git_history_start_refs(&w.history, &w.refs, NULL, NULL), 0);
    struct weir__git_id gone = {{1, 2, 3}};
    CHECK_EQ(weir__git_history_start(&w.history, &gone, WEIR__GIT_START_LOG), 0);
    struct weir__git_id third = rev("kinds", "HEAD@{1}", 20);
    CHECK_EQ(weir__git_history_start(&w.history, &third, WEIR__GIT_START_LOG), 0);
    CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
    static const struct {
        const char *name;
        enum weir__git_start kind;
    } kinds[] = {{"HEAD", WEIR__GIT_START_REF},
                 {"HEAD~1", WEIR__GIT_START_REF},
                 {"stash", WEIR__GIT_START_STASH},
                 {"stash^2", WEIR__GIT_START_STASH},
                 {"refs/notes/commits", WEIR__GIT_START_NOTES},
                 {"HEAD@{1}", WEIR__GIT_START_LOG}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct weir__git_id id = rev("kinds", kinds[i].name, 20);
        uint32_t number = weir__git_history_find(&w.history, &id);
        CHECK(number != WEIR__GIT_SET_NONE && weir__git_history_has(&w.history, number));
        CHECK_EQ(weir__git_history_kind(&w.history, number), kinds[i].kind);
    }
    CHECK_EQ(w.history.gone, 1);
    CHECK_EQ(w.history.problems, 0);
    /* The same that is not from a log is missed. */
    CHECK_EQ(weir__git_history_start(&w.history, &gone, WEIR__GIT_START_REF), 0);
    CHECK_EQ(w.history.problems, 1);
    CHECK_HAS(w.told.last, "object 010203");
    weir__git_history_fini(&w.history);
    end(&w);
}

TEST(what_is_missing_is_told)
{
    struct walked w;
    meta_begin();
    sh("git init -q miss && cd miss && for i in 1 2 3 4; do git commit -q --allow-empty -m $i; "
       "done "
       "&& h=$(git rev-parse HEAD~2) && git branch other HEAD~1 && git update-ref "
       "refs/heads/nowhere HEAD && rm -f .git/objects/${h:0:2}/${h:2} && "
       "printf '%%040d\\n' 7 >.git/refs/heads/nowhere");
    begin(&w, "miss", false, 20, false);
    begin_history(&w, 0);
    CHECK_EQ(weir__git_history_start_refs(&w.history, &w.refs, NULL, NULL), 0);
    CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
    struct lines ours = set_lines(&w);
    CHECK_EQ(ours.count, 2);
    lines_free(&ours);
    CHECK_EQ(w.history.problems, 2);
    CHECK_HAS(w.told.all, "ref 'refs/heads/nowhere'");
    CHECK_HAS(w.told.last, "it is missing; 'git fetch --refetch'");
    weir__git_history_fini(&w.history);
    end(&w);
}

TEST(a_shallow_clone_ends_where_it_ends)
{
    struct walked w;
    meta_begin();
    sh("git init -q deep && cd deep && for i in 1 2 3 4 5; do git commit -q --allow-empty -m $i; "
       "done && cd .. && git clone -q --depth 2 \"file://$PWD/deep\" shallow");
    begin(&w, "shallow", false, 20, false);
    struct weir__git_id boundary = rev("shallow", "HEAD~1", 20);
    struct weir__git_history_options options = {
        .id_size = 20, .get = cat_get, .get_arg = &w.cat, .shallow = &boundary, .shallow_count = 1};
    CHECK_EQ(weir__git_history_init(&w.history, &options), 0);
    CHECK_EQ(weir__git_history_start_refs(&w.history, &w.refs, NULL, NULL), 0);
    CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
    struct lines ours = set_lines(&w), theirs = lines_of(heard("git -C shallow rev-list --all"));
    CHECK_EQ(w.history.problems, 0);
    same_lines("shallow", &ours, &theirs);
    weir__git_history_fini(&w.history);
    end(&w);
}

TEST(limits_and_cancellation)
{
    struct walked w;
    struct weir_cancel stop;
    meta_begin();
    make_history("lim", "sha1", 31, 60, false, false);
    begin(&w, "lim", true, 20, false);
    begin_history(&w, 60000);
    int error = weir__git_history_start_refs(&w.history, &w.refs, NULL, NULL);
    CHECK_EQ(error ? error : weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER),
             -WEIR_E_TOO_LARGE);
    weir__git_history_fini(&w.history);
    weir_cancel_init(&stop, NULL);
    begin_history(&w, 0);
    w.history._options.stop = &stop;
    CHECK_EQ(weir__git_history_start_refs(&w.history, &w.refs, NULL, NULL), 0);
    weir_cancel_fire(&stop);
    CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), -WEIR_E_CANCELED);
    weir__git_history_fini(&w.history);
    weir_cancel_fini(&stop);
    end(&w);
}

/* --- hostile ones --- */

/* Commits whose ids are numbers: each has the next as parent, and the last one the first. */
static int get_numbered(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                        struct weir__buffer *bytes)
{
    const uint32_t *shape = arg; /* how many, how many parents each, whether they go round */
    char hex[WEIR__GIT_HEX_SIZE];
    uint32_t number;
    int error;
    memcpy(&number, id->bytes, sizeof(number));
    weir__buffer_truncate(bytes, 0);
    *ret_type = WEIR__GIT_COMMIT;
    error = weir__buffer_printf(bytes, "tree %040d\n", 1);
    for (uint32_t i = 0; !error && i < shape[1]; i++) {
        struct weir__git_id parent = {{0}};
        uint32_t next = number + i + 1;
        if (next >= shape[0] && !shape[2])
            break;
        next %= shape[0];
        memcpy(parent.bytes, &next, sizeof(next));
        error = weir__buffer_printf(bytes, "parent %s\n", weir__git_id_hex(&parent, 20, hex));
    }
    if (!error)
        error = weir__buffer_printf(bytes, "author a <b> 1 +0000\ncommitter c <d> 1 +0000\n\n");
    return error;
}

static void check_numbered(uint32_t count, uint32_t parents, bool is_ring)
{
    uint32_t shape[] = {count, parents, is_ring}, *order, order_count;
    struct weir__git_history_options options = {
        .id_size = 20, .get = get_numbered, .get_arg = shape};
    struct weir__git_history history;
    struct weir__git_id first = {{0}};
    CHECK_EQ(weir__git_history_init(&history, &options), 0);
    CHECK_EQ(weir__git_history_start(&history, &first, WEIR__GIT_START_REF), 0);
    CHECK_EQ(weir__git_history_walk(&history, WEIR__GIT_SINCE_EVER), 0);
    CHECK_EQ(weir__git_history_count(&history), count);
    CHECK_EQ(weir__git_history_order(&history, &order, &order_count), 0);
    CHECK_EQ(order_count, count);
    if (!is_ring)
        CHECK_EQ(order[count - 1], weir__git_history_find(&history, &first));
    weir__base_free(order);
    weir__git_history_fini(&history);
}

TEST(long_chains_many_parents_and_rings)
{
    check_numbered(200000, 1, false);
    check_numbered(2000, 1999, false);
    check_numbered(1000, 3, true);
    check_numbered(1, 1, true);
}

/* The file with each byte changed and cut anywhere: refused, or commits that are checked. */
TEST(any_bytes_of_a_graph_will_do)
{
    struct weir__buffer file;
    int fd;
    meta_begin();
    make_history("any", "sha1", 41, 12, false, false);
    sh("cd any && " GRAPH);
    weir__buffer_init(&file, 1u << 20);
    CHECK_EQ(weir__git_folder_open("any/objects", &fd), 0);
    CHECK_EQ(weir__git_file_read(fd, "info/commit-graph", &file), 0);
    close(fd);
    size_t length = weir__buffer_length(&file), opened = 0;
    for (size_t i = 0; i < 2 * length; i++) {
        struct weir__buffer bytes;
        struct weir__git_graph *graph;
        weir__buffer_init(&bytes, 1u << 20);
        CHECK_EQ(weir__buffer_append(&bytes, weir__buffer_text(&file), i < length ? i : length), 0);
        if (i >= length)
            bytes._data[i - length] = (char)(bytes._data[i - length] ^ (1 << i % 8));
        if (weir__git_graph_of_bytes(&graph, &bytes, 20, why) == 0) {
            opened++;
            for (uint32_t p = 0; p < weir__git_graph_count(graph); p++) {
                struct weir__git_graph_commit commit;
                struct weir__git_id id = weir__git_graph_id(graph, p);
                if (weir__git_graph_commit(graph, p, &commit) < 0)
                    continue;
                CHECK_EQ(weir__git_graph_find(graph, &id), p);
                for (uint32_t k = 0; k < commit.parents_count; k++) {
                    struct weir__git_graph_commit parent;
                    uint32_t position = weir__git_graph_parent(&commit, k);
                    CHECK(position < weir__git_graph_count(graph));
                    if (commit.generation != WEIR__GIT_GENERATION_NONE &&
                        weir__git_graph_commit(graph, position, &parent) == 0)
                        CHECK(parent.generation < commit.generation);
                }
            }
            weir__git_graph_free(graph);
        } else {
            CHECK_HAS(why, "commit-graph: ");
        }
        weir__buffer_fini(&bytes);
    }
    CHECK(opened > 0 && opened < 2 * length);
    weir__buffer_fini(&file);
}

/* Changes the commit-graph: python with the bytes `b` and the offsets of chunks `o`. */
static void change_graph(const char *dir, const char *change)
{
    sh("cd %s && rm -f objects/info/commit-graph && git commit-graph write --reachable && chmod "
       "u+w objects/info/commit-graph && "
       "python3 - <<'E'\n"
       "p = 'objects/info/commit-graph'\n"
       "b = bytearray(open(p, 'rb').read())\n"
       "o = {bytes(b[8+12*i:12+12*i]): int.from_bytes(b[12+12*i:20+12*i], 'big') "
       "for i in range(b[6])}\n"
       "%s\n"
       "open(p, 'wb').write(b)\n"
       "E",
       dir, change);
}

static void check_refused(const char *dir, const char *change, const char *reason)
{
    struct weir__git_graph *graph = NULL;
    char path[128];
    int fd;
    change_graph(dir, change);
    snprintf(path, sizeof(path), "%s/objects", dir);
    CHECK_EQ(weir__git_folder_open(path, &fd), 0);
    CHECK(weir__git_graph_open(&graph, fd, 20, 1u << 20, why) < 0 && !graph);
    CHECK_HAS(why, reason);
    close(fd);
}

TEST(bad_graphs_are_refused)
{
    meta_begin();
    make_history("ref", "sha1", 61, 20, false, false);
    check_refused("ref", "b[0] = 0", "not such a file");
    check_refused("ref", "b[4] = 2", "version");
    check_refused("ref", "b[5] = 2", "another hash");
    check_refused("ref", "b[7] = 1", "do not fit together");
    check_refused("ref", "b[6] = 200", "cut short");
    check_refused("ref", "b[24] = 1", "outside of the file");
    check_refused("ref", "b[o[b'OIDF'] + 1020] = 1", "wrong size");
    check_refused("ref", "b[o[b'OIDF'] + 3] = 200", "not in order");
    check_refused("ref", "b[o[b'OIDL']] = 255", "ids are not in order");
    check_refused("ref", "b[8:12] = b'XXXX'", "missing");
    check_refused("ref", "b += bytes(1 << 20)", "memory");
}

/* A graph that breaks in the middle: told once, and the sets are right all the same. */
TEST(a_broken_graph_is_told_and_left)
{
    struct weir__git_names names;
    struct made_random random = {7};
    struct walked w;
    unsigned broken = 0;
    meta_begin();
    make_history("brk", "sha1", 51, 80, true, false);
    change_graph("brk", "for i in (10, 20, 30, 40, 50, 60):\n"
                        "    at = o[b'CDAT'] + 36 * i + 20\n"
                        "    b[at:at+4] = (0x00ffffff).to_bytes(4, 'big')\n");
    begin(&w, "brk", true, 20, true);
    names = (struct weir__git_names){&w.refs, 20, cat_get, &w.cat, NULL, NULL};
    for (unsigned i = 0; i < 60; i++) {
        struct weir__git_rev_range range;
        char text[64];
        snprintf(text, sizeof(text), "c%u%sc%u", 1 + made_below(&random, 80), i % 2 ? ".." : "...",
                 1 + made_below(&random, 80));
        begin_history(&w, 0);
        w.told = (struct told){0};
        CHECK_EQ(weir__git_resolve_range(&names, text, &range, why), 0);
        CHECK_EQ(weir__git_history_start_range(&w.history, &range), 0);
        CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
        CHECK(w.history.problems <= 1);
        if (w.history.problems)
            CHECK_HAS(w.told.all, "commit-graph: broken at commit");
        broken += w.history.problems > 0;
        struct lines ours = set_lines(&w);
        struct lines theirs =
            lines_of(heard("git -C brk -c core.commitGraph=false rev-list %s", text));
        same_lines(text, &ours, &theirs);
        weir__git_history_fini(&w.history);
    }
    CHECK(broken > 20);
    end(&w);
}

/* What two have in common is out, even if neither is a start. */
TEST(what_two_have_in_common)
{
    struct walked w;
    struct made_random random = {9};
    meta_begin();
    make_history("com", "sha1", 71, 100, true, false);
    for (unsigned has_graph = 0; has_graph < 2; has_graph++) {
        begin(&w, "com", true, 20, has_graph);
        for (unsigned i = 0; i < 20; i++) {
            unsigned n[3];
            struct weir__git_id ids[3];
            for (unsigned k = 0; k < 3; k++) {
                char name[16];
                n[k] = 1 + made_below(&random, 100);
                snprintf(name, sizeof(name), "c%u", n[k]);
                ids[k] = rev("com", name, 20);
            }
            begin_history(&w, 0);
            CHECK_EQ(weir__git_history_exclude_common(&w.history, &ids[0], &ids[1]), 0);
            CHECK_EQ(weir__git_history_start(&w.history, &ids[2], WEIR__GIT_START_REF), 0);
            CHECK_EQ(weir__git_history_walk(&w.history, WEIR__GIT_SINCE_EVER), 0);
            struct lines ours = set_lines(&w);
            struct lines theirs =
                lines_of(heard("cd com && git rev-list c%u --not $(git merge-base "
                               "--all c%u c%u)",
                               n[2], n[0], n[1]));
            same_lines("common", &ours, &theirs);
            weir__git_history_fini(&w.history);
        }
        end(&w);
        sh("cd com && " GRAPH);
    }
}

/* The excluded one is older by its clock than its own parent, and neither is in the graph. */
TEST(what_is_not_in_the_graph_is_followed)
{
    struct walked w;
    static const char *const range[] = {"a..b", NULL};
    meta_begin();
    sh("git init -q --bare out && cd out && printf 'commit refs/heads/x\ncommitter C <c> 1 "
       "+0000\ndata 0\n' | git fast-import --quiet && git commit-graph write --reachable && "
       "printf 'commit refs/heads/b\nmark :1\ncommitter C <c> 2000 +0000\ndata 0\ncommit "
       "refs/heads/a\ncommitter C <c> 1000 +0000\ndata 0\nfrom :1\n' | git fast-import --quiet");
    begin(&w, "out", true, 20, true);
    CHECK_EQ(weir__git_graph_count(w.graph), 1);
    check_walk(&w, range, WEIR__GIT_SINCE_EVER);
    end(&w);
}

TAP_MAIN()
