/* fault_scan_git_meta.c - refs, the index, the commit-graph, histories and attribution, when the
 * n-th allocation or system call fails.
 *
 * Whatever fails: it is an error or it is told, and what is neither is complete; nothing leaks, no
 * descriptor stays open.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "attribute.h"
#include "git_sweep.h"
#include "index_file.h"
#include "refs_file.h"
#include "refs_resolve.h"
#include "tap.h"

static char base[] = "/tmp/weir-fault-XXXXXX";
static unsigned told;
static char why[WEIR__GIT_FLAW_MAX];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* --- objects, all in memory --- */

static struct object {
    struct weir__git_id id;
    enum weir__git_type type;
    char *bytes;
    size_t length;
} objects[200];
static size_t objects_count;

static void clean_up(void)
{
    if (chdir("/") == 0)
        nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < objects_count; i++)
        free(objects[i].bytes);
}

static int get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
               struct weir__buffer *bytes)
{
    (void)arg;
    for (size_t i = 0; i < objects_count; i++) {
        if (!weir__git_id_is_equal(&objects[i].id, id))
            continue;
        weir__buffer_truncate(bytes, 0);
        int error = weir__buffer_append(bytes, objects[i].bytes, objects[i].length);
        if (!error)
            *ret_type = objects[i].type;
        return error;
    }
    return -WEIR_E_NOT_FOUND;
}

static void load_objects(void)
{
    FILE *in = popen("git -C r cat-file --batch-all-objects --batch", "r");
    char hex[128], type[16];
    size_t size;
    CHECK(in);
    while (fscanf(in, "%100s %15s %zu", hex, type, &size) == 3) {
        struct object *object = &objects[objects_count++];
        CHECK(objects_count < sizeof(objects) / sizeof(objects[0]));
        CHECK_EQ(weir__git_id_from_hex(&object->id, hex, 20), 0);
        object->type = weir__git_type_of(type, strlen(type));
        object->length = size;
        object->bytes = malloc(size + 1);
        CHECK(fgetc(in) == '\n' && fread(object->bytes, 1, size, in) == size && fgetc(in) == '\n');
    }
    CHECK_EQ(pclose(in), 0);
}

static void make_repository(void)
{
    static bool is_made;
    if (is_made)
        return;
    is_made = true;
    CHECK(mkdtemp(base) && chdir(base) == 0);
    CHECK_EQ(atexit(clean_up), 0);
    CHECK_EQ(
        system(
            "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b "
            "GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@d && git init -q r && cd r && mkdir d && "
            "for i in 1 2 3 4 5 6; do echo $i >d/f$i; echo $i >e$i; git add .; git commit -q -m "
            "$i; done && git tag -a -m t v1 && git branch b1 && git pack-refs --all && "
            "git branch b2 HEAD~2 && echo s >d/f1 && git stash -q && "
            "git symbolic-ref refs/remotes/o/HEAD refs/heads/b2 && "
            "git worktree add -q ../w HEAD~3 2>/dev/null && git commit-graph write --reachable "
            "2>/dev/null && git config splitIndex.maxPercentChange 100 && "
            "git update-index --split-index && echo n >n && git add n && git rm -q --cached e2"),
        0);
    load_objects();
}

static void tell(void *arg, const char *text)
{
    (void)arg, (void)text;
    told++;
}

/* --- what is swept --- */

static size_t refs_wanted, logs_wanted;

static int read_refs(struct weir__git_refs *refs)
{
    struct weir__git_refs_options options = {.gitdir = "r/.git",
                                             .commondir = "r/.git",
                                             .id_size = 20,
                                             .has_logs = true,
                                             .has_pseudo = true,
                                             .problem = tell};
    weir__git_refs_init(refs, &options);
    return weir__git_refs_read(refs, why);
}

static void scenario_refs(void)
{
    struct weir__git_refs refs;
    told = 0;
    int error = read_refs(&refs);
    CHECK(error == 0 || why[0]);
    if (error == 0 && told == 0 && refs_wanted > 0)
        CHECK(refs.count == refs_wanted && refs.logs_count == logs_wanted);
    weir__git_refs_fini(&refs);
}

static int count_entry(void *arg, const struct weir__git_index_entry *entry)
{
    CHECK(entry->path_length > 0);
    ++*(unsigned *)arg;
    return 0;
}

static void scenario_index(void)
{
    unsigned count = 0;
    int fd;
    if (weir__git_folder_open("r/.git", &fd) < 0)
        return;
    int error = weir__git_index_read(fd, "index", 20, 0, count_entry, &count, why);
    CHECK(error == 0 ? count == 12 : why[0] != '\0');
    close(fd);
}

static struct weir__git_graph *open_graph(void)
{
    struct weir__git_graph *graph = NULL;
    int fd;
    if (weir__git_folder_open("r/.git/objects", &fd) < 0)
        return NULL;
    int error = weir__git_graph_open(&graph, fd, 20, 1u << 20, why);
    CHECK(error == 0 || !graph);
    close(fd);
    return graph;
}

static void scenario_graph(void)
{
    struct weir__git_graph *graph = open_graph();
    CHECK(!graph || weir__git_graph_count(graph) == 8);
    weir__git_graph_free(graph);
}

/* The whole way, from refs to results; true when nothing went wrong. */
static bool whole(bool has_graph)
{
    struct weir__git_refs refs;
    struct weir__git_history history;
    struct weir__git_attribute *a = NULL, *fork = NULL;
    struct weir__git_graph *graph = has_graph ? open_graph() : NULL;
    struct weir__git_history_options options = {
        .id_size = 20, .get = get, .graph = graph, .has_trees = true, .problem = tell};
    uint32_t *order = NULL, count = 0, number;
    told = 0;
    int error = weir__git_history_init(&history, &options);
    int refs_error = read_refs(&refs);
    if (!error && !refs_error)
        error = weir__git_history_start_refs(&history, &refs, NULL, NULL);
    if (!error)
        error = weir__git_history_walk(&history, WEIR__GIT_SINCE_EVER);
    if (!error)
        error = weir__git_history_order(&history, &order, &count);
    struct weir__git_attribute_options how = {.id_size = 20,
                                              .get = get,
                                              .history = &history,
                                              .order = order,
                                              .order_count = count,
                                              .problem = tell};
    if (!error)
        error = weir__git_attribute_new(&a, &how);
    for (size_t i = 0; !error && i < objects_count; i++)
        if (objects[i].type == WEIR__GIT_BLOB)
            error = weir__git_attribute_want(a, &objects[i].id, &number);
    if (!error)
        error = weir__git_attribute_run(a, 0, count / 2);
    if (!error)
        error = weir__git_attribute_fork(&fork, a, NULL, NULL);
    if (!error)
        error = weir__git_attribute_run(fork, count / 2, count);
    if (!error)
        error = weir__git_attribute_merge(a, fork);
    bool is_good = !error && !refs_error && told == 0;
    if (is_good) {
        unsigned found = 0;
        for (uint32_t i = 0; i <= number; i++) {
            struct weir__git_attribution result;
            weir__git_attribute_result(a, i, &result);
            found += result.has_commit;
        }
        /* Six contents, what is stashed; n is only staged. */
        CHECK_EQ(found, 7);
    }
    weir__git_attribute_free(fork);
    weir__git_attribute_free(a);
    weir__base_free(order);
    weir__git_refs_fini(&refs);
    weir__git_history_fini(&history);
    weir__git_graph_free(graph);
    return is_good;
}

static void scenario_whole(void)
{
    (void)whole(false);
}

static void scenario_whole_with_graph(void)
{
    (void)whole(true);
}

/* --- sweeps --- */

TEST(nothing_fails)
{
    struct weir__git_refs refs;
    make_repository();
    CHECK_EQ(read_refs(&refs), 0);
    refs_wanted = refs.count;
    logs_wanted = refs.logs_count;
    CHECK(refs_wanted >= 8 && logs_wanted >= 7 && told == 0);
    weir__git_refs_fini(&refs);
    scenario_index();
    CHECK(whole(false) && whole(true));
}

static const struct git_sweep sweeps[] = {
    {scenario_refs, 10, 40},
    {scenario_index, 4, 5},
    {scenario_graph, 2, 4},
    {scenario_whole, 40, 0},
    {scenario_whole_with_graph, 40, 40},
};
#define SWEEPS (sizeof(sweeps) / sizeof(sweeps[0]))

TEST(allocations)
{
    make_repository();
    sweep_allocations(sweeps, SWEEPS);
}

TEST(system_calls)
{
    make_repository();
    sweep_calls(sweeps, SWEEPS);
}

TAP_MAIN()
