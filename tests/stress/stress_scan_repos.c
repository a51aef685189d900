/* Scans of several repositories by many threads: with few slots and small pools, so that they wait
 * for one another and spill; stopped at random moments and begun again from what was remembered;
 * and without descriptors or room for files. */
#include "stress.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <weir/cancel.h>
#include <weir/slots.h>

#include "atomic.h"
#include "scan.h"
#include "token_help.h"

#define REPOS       5u
#define TOKENS_EACH 3u  /* in a file that is gone, in a message, in a loose blob */
#define PACKED      48u /* in the one with many tokens */
#define LOOSE       200u
#define SMALL       24u
#define TOKENS      (REPOS * TOKENS_EACH + PACKED + LOOSE + SMALL + 3u) /* 3 are in large objects */
#define HUGE        4u /* repositories with an object each that is larger than any job's memory */
#define NOISE       32768u
#define WHY_MAX     300

static struct {
    struct weir__scan_options options;
    struct weir_slots_config slots;
    uint64_t random;
    uint64_t found, told;
    uint64_t large; /* that were admitted once more */
    char last[WHY_MAX];
} s;

static void run(const char *command)
{
    /* NOLINTNEXTLINE: the commands are those below */
    CHECK_EQ(system(command), 0);
}

/* The last path leads to the same objects as that of r0. */
static const char *const paths[] = {"large", "many", "r0", "r1", "r2", "r3", "r4", "other"};
#define PATHS (sizeof(paths) / sizeof(paths[0]))
static char small_paths[SMALL][16];
static const char *all_paths[PATHS + SMALL];
static const char *const huge_paths[HUGE] = {"h0", "h1", "h2", "h3"};

/* A token behind so many bytes that cannot be packed. */
static void make_file(const char *path, unsigned number, size_t noise)
{
    struct stress_thread random = {.random = number + 1};
    FILE *file = fopen(path, "w");
    CHECK(file);
    for (size_t i = 0; i < noise; i++)
        fputc(i % 64 ? "0123456789abcdef"[stress_random(&random) >> 60] : '\n', file);
    fprintf(file, "%u " TOKEN "\n", number);
    CHECK_EQ(fclose(file), 0);
}

/* All threads are at one of its packs, and at its loose objects, and find something all the time.
 */
static void make_many(void)
{
    char path[64];
    run("git init -q many && cd many && git config gc.auto 0 && mkdir ../loose");
    for (unsigned i = 0; i < PACKED; i++) {
        snprintf(path, sizeof(path), "many/%u", i);
        make_file(path, i, NOISE);
    }
    for (unsigned i = 0; i < LOOSE; i++) {
        snprintf(path, sizeof(path), "loose/%u", i);
        make_file(path, PACKED + i, 0);
    }
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "cd many && git add . && git commit -qm 1 && git repack -adq && "
        "git commit -q --allow-empty -m 2 && git repack -aq && "
        "ls ../loose/* | git hash-object -w --stdin-paths >/dev/null");
}

/* So many that threads find them at the same time. */
static void make_small(void)
{
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "git init -q small && cd small && echo ' " TOKEN "' >f && git add f && git commit -qm 1");
    for (unsigned i = 0; i < PATHS; i++)
        all_paths[i] = paths[i];
    for (unsigned i = 0; i < SMALL; i++) {
        char command[64];
        snprintf(small_paths[i], sizeof(small_paths[i]), "s%u", i);
        snprintf(command, sizeof(command), "cp -r small %s", small_paths[i]);
        run(command);
        all_paths[PATHS + i] = small_paths[i];
    }
}

static void make_huge(void)
{
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "git init -q h0 && cd h0 && (yes 'a line' | head -c 10000000; echo ' " TOKEN "') >f && "
        "git add f && git commit -qm 1 && rm f && cd .. && for i in 1 2 3; do cp -r h0 h$i; done");
}

/* Families of deltas, loose objects beside packs, several packs in one; and one whose objects are
 * larger than the smallest memory. */
static void make_repos(void)
{
    if (!help_enter("stress"))
        return;
    setenv("XDG_STATE_HOME", base, 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    run("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A "
        "GIT_COMMITTER_EMAIL=a@b;"
        "for r in 0 1 2 3 4; do git init -q r$r && (cd r$r && git config gc.auto 0 && mkdir d && "
        "echo \"$r " TOKEN "\" >d/f && git add . && git commit -qm 1 && "
        "for i in 2 3 4 5 6 7 8; do seq $i$r 400 >d/f; seq $i >d/$i; git add .; "
        "git commit -qm $i; [ $i != 5 ] || git repack -dq; done && "
        "git commit -q --allow-empty -m \"x $r " TOKEN " y\" && git repack -dq && "
        "echo \"  $r " TOKEN "\" | git hash-object -w --stdin >/dev/null) || exit 1; done;"
        "git -C r0 worktree add -q ../other && "
        "git init -q large && cd large && git config gc.auto 0 && seq 36000 >f && echo ' " TOKEN
        "' >>f && git add . && git commit -qm 1 && echo more >>f && git commit -qam 2 && "
        "git repack -adq && (seq 30000; echo ' " TOKEN "') >g && git add g && git commit -qm 3");
    make_many();
    make_small();
    make_huge();
}

/* ---- what is told ---- */

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path, (void)finding;
    weir__add64(&s.found, 1);
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    if (weir__add64(&s.told, 1) == 0)
        snprintf(s.last, sizeof(s.last), "%s '%s': %s", gap->what, gap->path, gap->why);
}

/* ---- runs ---- */

static uint64_t next_random(void)
{
    struct stress_thread random = {.random = s.random};
    s.random = stress_random(&random);
    return s.random;
}

static void configure(void)
{
    memset(&s, 0, sizeof(s));
    s.random = stress_seed();
    weir__scan_options_init(&s.options);
    make_repos();
    run("rm -rf weir"); /* what was remembered */
    s.options.engine = engine;
    s.options.paths = all_paths;
    s.options.paths_count = PATHS + SMALL;
    s.options.history = WEIR__SCAN_HISTORY_ONLY;
}

/* From one of everything to plenty. */
static void next_limits(void)
{
    s.slots = (struct weir_slots_config){.default_slots = 1 + next_random() % 3};
    s.options.slots = &s.slots;
    s.options.threads = 1 + (unsigned)(next_random() % 8);
    s.options.repos_max = 1 + (unsigned)(next_random() % 6);
    s.options.has_state = next_random() % 2;
    s.options.ring_bytes = UINT64_C(1) << (18 + next_random() % 6);
    s.options.spill_slots = 1 + next_random() % 2;
    s.options.history_bytes = next_random() % 3 ? 0 : (12 + next_random() % 32) << 20;
    s.options.delta_bytes =
        s.options.history_bytes ? 0 : (UINT64_C(128) << 10) << next_random() % 10;
}

/* Looks at it now and then until the time is over, and then stops it. */
static int scan(uint64_t stop_ns, struct weir__scan_stats *stats)
{
    const struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan *scan_run = NULL;
    struct weir__scan_limits limits;
    s.found = s.told = 0;
    s.last[0] = '\0';
    int result = weir__scan_start(&scan_run, &s.options, &hooks);
    if (result < 0)
        return result;
    uint64_t until_ns = weir_now_ns() + stop_ns;
    result = -WEIR_E_TIMEOUT;
    while (result == -WEIR_E_TIMEOUT && weir_now_ns() < until_ns) {
        struct weir_deadline deadline =
            weir_deadline_in(next_random() % (5 * WEIR_NS_PER_MS), NULL);
        result = weir__scan_wait(scan_run, &deadline);
        weir__scan_read(scan_run, stats);
        weir__scan_read_limits(scan_run, &limits);
        s.large = limits.large;
        CHECK(limits.repos.pool.delta_cache_in_use <= limits.repos.pool.delta_cache_total);
    }
    if (result == -WEIR_E_TIMEOUT)
        weir__scan_stop(scan_run);
    result = weir__scan_finish(scan_run, stats);
    CHECK_EQ(stats->abandoned, 0);
    CHECK_EQ(stats->failed + stats->partial, s.told);
    return result;
}

static void scan_for(uint64_t tokens, uint64_t repos)
{
    struct weir__scan_stats stats = {0};
    int result = scan(120 * WEIR_NS_PER_S, &stats);
    if (result != 0)
        tap_fail(__FILE__, __LINE__, "the scan failed: %d, %s", result, s.last);
    if (s.found != tokens)
        tap_fail(__FILE__, __LINE__, "%llu are found, not %llu", (unsigned long long)s.found,
                 (unsigned long long)tokens);
    CHECK_EQ(stats.repos, repos);
}

static void scan_exactly(void)
{
    scan_for(TOKENS, REPOS + SMALL + 2);
}

TEST(scans_are_exact_with_any_limit)
{
    configure();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (unsigned round = 0; round < 3 || weir_now_ns() < until_ns; round++) {
        next_limits();
        scan_exactly();
    }
}

/* Several are scanned at once, wait in line with what is too large for them, and spill. */
TEST(large_objects_of_several)
{
    configure();
    s.options.paths = huge_paths;
    s.options.paths_count = HUGE;
    s.options.threads = s.options.repos_max = HUGE;
    s.options.delta_bytes = UINT64_C(32) << 20;
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (unsigned round = 0; round < 2 || weir_now_ns() < until_ns; round++) {
        s.options.spill_slots = 1 + round % 2;
        scan_for(HUGE, HUGE);
        CHECK_EQ(s.large, HUGE);
    }
}

TEST(a_stopped_scan_is_begun_again)
{
    configure();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S, stopped = 0;
    for (unsigned round = 0; round < 6 || weir_now_ns() < until_ns; round++) {
        struct weir__scan_stats stats = {0};
        next_limits();
        s.options.has_state = true;
        int result = scan(next_random() % (100 * WEIR_NS_PER_MS), &stats);
        stopped += result == -WEIR_E_CANCELED;
        if (result != 0 && result != -WEIR_E_CANCELED)
            tap_fail(__FILE__, __LINE__, "the scan failed: %d, %s", result, s.last);
        CHECK(result != 0 || s.found == TOKENS);
        if (round % 3 == 2) {
            scan_exactly();
            run("rm -rf weir");
        }
    }
    printf("# %llu were stopped\n", (unsigned long long)stopped);
}

/* ---- too little of what the system gives ---- */

enum starved { FOUND_ALL, SAID_SO, SAID_NOTHING };

static void limit(int what, uint64_t most)
{
    struct rlimit limits = {most, most};
    if (setrlimit((enum __rlimit_resource)what, &limits) < 0)
        _exit(SAID_NOTHING);
}

/* In a process of its own, since a limit that a scan cannot raise can be raised by nobody. */
static enum starved scan_starved(int what, uint64_t most)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct weir__scan_stats stats = {0};
        signal(SIGXFSZ, SIG_IGN);
        limit(what, most);
        int result = scan(120 * WEIR_NS_PER_S, &stats);
        bool has_said = result != 0 && (s.told > 0 || stats.threads == 0); /* it did not begin */
        _exit(result == 0 && s.found == TOKENS ? FOUND_ALL : has_said ? SAID_SO : SAID_NOTHING);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return (enum starved)WEXITSTATUS(status);
}

/* Too few descriptors, or files that may have few bytes: it says so or finds all, and what it has
 * remembered is no less true. */
TEST(a_starved_scan_says_so)
{
    configure();
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S, starved[2] = {0};
    for (unsigned round = 0; round < 6 || weir_now_ns() < until_ns; round++) {
        bool is_files = round % 2;
        next_limits();
        s.options.has_state = true;
        s.options.history_bytes = 0;
        s.options.delta_bytes = 128 << 10;
        /* The first ones have too little for anything. */
        uint64_t files = round < 2 ? 4 : 4 + next_random() % 10;
        uint64_t bytes = round < 2 ? 4096 : next_random() % (256 << 10);
        enum starved result =
            is_files ? scan_starved(RLIMIT_NOFILE, files) : scan_starved(RLIMIT_FSIZE, bytes);
        CHECK(result != SAID_NOTHING);
        starved[is_files] += result == SAID_SO;
        scan_exactly();
        run("rm -rf weir");
    }
    printf("# %llu had too few descriptors, %llu too small files\n", (unsigned long long)starved[1],
           (unsigned long long)starved[0]);
    CHECK(starved[0] > 0 && starved[1] > 0);
}

TAP_MAIN()
