/* fault_scan_git_find.c - ids cut short, shallow clones, what is wanted, and finding repositories,
 * when the n-th allocation or system call fails.
 *
 * Whatever fails: it is an error or it is told, and what is neither is complete; nothing leaks, no
 * descriptor stays open.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "discover.h"
#include "git_sweep.h"
#include "store.h"
#include "tap.h"
#include "wanted.h"

static char base[] = "/tmp/weir-fault-XXXXXX";
static unsigned told;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void clean_up(void)
{
    if (chdir("/") == 0)
        nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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
        system("export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b "
               "GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@d GIT_ALLOW_PROTOCOL=file && mkdir t && "
               "git init -q t/sub && (cd t/sub && echo s >s && git add s && git commit -q -m s) && "
               "git init -q t/r && cd t/r && mkdir d && "
               "for i in 1 2 3 4 5 6; do echo $i >d/f$i; echo $i >e$i; git add .; git commit -q "
               "-m $i; done && git tag -a -m t v1 && git -c advice.nestedTag=false tag -a -m tt v2 "
               "v1 && git repack -q -a -d "
               "&& git multi-pack-index write && echo more >more && git add more && git commit -q "
               "-m more && git repack -q && echo x >x && git add x && git commit -q -m x && "
               "git submodule add -q ../sub sub 2>/dev/null && git commit -q -m sub && "
               "git clone -q ../sub old && git add old 2>/dev/null && git commit -q -m old && "
               "git rev-parse HEAD~2 >.git/shallow && git init -q --bare ../b"),
        0);
}

static void tell(void *arg, const char *text)
{
    (void)arg;
    CHECK(text[0]);
    told++;
}

/* --- what is swept --- */

static size_t ids_wanted, shallow_wanted;

static void scenario_store(void)
{
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__git_id ids[64], *shallow;
    size_t count;
    if (weir__git_store_open(&store, "t/r", NULL, problem) < 0)
        return;
    /* What cannot be read has none, and what is given is there. */
    size_t found = weir__git_store_begin_with(store, "1", 1, ids, 64);
    CHECK(found <= 64 && (ids_wanted == 0 || found <= ids_wanted));
    told = 0;
    int error = weir__git_store_shallow(store, tell, NULL, &shallow, &count);
    if (error == 0) {
        CHECK(told == 0 && (shallow_wanted == 0 || count == shallow_wanted));
        weir__base_free(shallow);
    } else {
        CHECK(weir__git_store_problem(store)[0]);
    }
    weir__git_store_close(store);
}

static uint32_t objects_wanted[3];

static bool is_right(struct weir__git_store *store, const struct weir__git_names *names,
                     unsigned way)
{
    static const char *const ranges[] = {"HEAD~3..v2", "HEAD"};
    struct weir__git_wanted wanted;
    struct weir__git_wanted_options options;
    char why[WEIR__GIT_FLAW_MAX];
    weir__git_wanted_options_init(&options);
    options.names = names;
    options.gitdir = weir__git_store_gitdir(store);
    options.commondir = weir__git_store_commondir(store);
    options.problem = tell;
    options.ranges = ranges;
    options.ranges_count = way == 1 ? 2 : 0;
    options.since = way == 2 ? 1 : WEIR__GIT_SINCE_EVER;
    told = 0;
    int error = weir__git_wanted_init(&wanted, &options, why);
    uint32_t count = weir__git_set_count(&wanted.objects);
    bool is_good = error == 0 && told == 0;
    CHECK(error == 0 || why[0]);
    CHECK_EQ(wanted.problems, told);
    /* More than that may be wanted, where something of a parent could not be read. */
    if (is_good)
        CHECK(count >= objects_wanted[way]);
    if (is_good && objects_wanted[way] == 0)
        objects_wanted[way] = count;
    weir__git_wanted_fini(&wanted);
    return is_good;
}

static void scenario_wanted(void)
{
    struct weir__git_store *store;
    struct weir__git_refs refs;
    char problem[WEIR__GIT_PROBLEM_SIZE], why[WEIR__GIT_FLAW_MAX];
    if (weir__git_store_open(&store, "t/r", NULL, problem) < 0)
        return;
    struct weir__git_refs_options options = {.gitdir = weir__git_store_gitdir(store),
                                             .commondir = weir__git_store_commondir(store),
                                             .id_size = 20,
                                             .problem = tell};
    struct weir__git_names names = {
        &refs, 20, weir__git_store_get, store, weir__git_store_begin_with, store};
    weir__git_refs_init(&refs, &options);
    told = 0;
    if (weir__git_refs_read(&refs, why) == 0 && told == 0)
        for (unsigned way = 0; way < 3; way++)
            (void)is_right(store, &names, way);
    weir__git_refs_fini(&refs);
    weir__git_store_close(store);
}

static uint64_t repos_wanted, modules_wanted;

static int count_one(void *arg, const char *path, const struct weir__git_discovered *found)
{
    CHECK(path[0] && found->inode != 0);
    ++*(uint64_t *)arg;
    return 0;
}

static void scenario_find(void)
{
    struct weir__git_find_options options = {.problem = tell};
    struct weir__git_find_stats stats;
    uint64_t count = 0;
    told = 0;
    int error = weir__git_find_repos("t", &options, count_one, &count, &stats);
    CHECK(stats.problems == told && stats.repos == count);
    CHECK(error || told > 0 || repos_wanted == 0 || count == repos_wanted);
    if (repos_wanted == 0)
        repos_wanted = count;
}

static void scenario_modules(void)
{
    struct weir__git_modules_options options = {.gitdir = "t/r/.git",
                                                .commondir = "t/r/.git",
                                                .worktree = "t/r",
                                                .id_size = 20,
                                                .find = {.problem = tell}};
    struct weir__git_find_stats stats;
    uint64_t count = 0;
    told = 0;
    int error = weir__git_each_module(&options, count_one, &count, &stats);
    CHECK_EQ(stats.problems, told);
    CHECK(error || told > 0 || modules_wanted == 0 || count >= modules_wanted);
    if (modules_wanted == 0)
        modules_wanted = count;
}

/* --- sweeps --- */

TEST(nothing_fails)
{
    struct weir__git_store *store;
    struct weir__git_id ids[64], *shallow;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    make_repository();
    CHECK_EQ(weir__git_store_open(&store, "t/r", NULL, problem), 0);
    ids_wanted = weir__git_store_begin_with(store, "1", 1, ids, 64);
    CHECK_EQ(weir__git_store_shallow(store, tell, NULL, &shallow, &shallow_wanted), 0);
    CHECK(shallow_wanted == 1 && told == 0);
    weir__base_free(shallow);
    weir__git_store_close(store);
    scenario_wanted();
    CHECK(objects_wanted[0] > 20 && objects_wanted[1] > 3 && objects_wanted[2] > 20);
    scenario_find();
    CHECK_EQ(repos_wanted, 5); /* sub and b, r and its two submodules */
    scenario_modules();
    CHECK(modules_wanted == 2 && told == 0);
}

static const struct git_sweep sweeps[] = {
    {scenario_store, 5, 20},
    {scenario_wanted, 40, 40},
    {scenario_find, 4, 20},
    {scenario_modules, 6, 20},
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
