/* scenarios_scan_archive.c - archives in work: their share of the pool, members among threads, and
 * the end, whatever comes in between.
 *
 * A path is an archive, and each of its letters a member: "ab" has a and b. The path is admitted
 * and walked by the real code; only what unpacks and what matches stand for it (scan_rig.h).
 */
#include "scan_rig.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS_MAX 4

static struct {
    struct scan_rig rig;
    unsigned done[MEMBERS_MAX];
    unsigned breaks_at; /* the walk fails before this member; 0: not at all */
    unsigned plain;     /* archives that were not opened */
} s;

/* ---- archives ---- */

static bool is_pool_held(void)
{
    return s.rig.run.archives.pool._vector._in_use[0] > 0;
}

/* In the order of the hooks: begins, has a byte, ends. The path is the worker's, which changes. */
static int walk_letters(const char *its_path, const struct weir__archive_hooks *hooks)
{
    char path[MEMBERS_MAX + 1], member[sizeof(path) + 2];
    unsigned i = 0;
    snprintf(path, sizeof(path), "%s", its_path);
    XP_ASSERT(is_pool_held(), "an archive is walked, and has nothing of the pool");
    for (const char *at = path; *at; at++, i++) {
        if (s.breaks_at == i + 1)
            return -WEIR_E_IO;
        snprintf(member, sizeof(member), "%s!%c", path, *at);
        int result = hooks->begin(hooks->arg, member);
        if (result == 0)
            result = hooks->bytes(hooks->arg, at, 1);
        if (result == 0)
            result = hooks->end(hooks->arg, true);
        if (result < 0)
            return result;
    }
    return s.breaks_at == i + 1 ? -WEIR_E_IO : 0;
}

static bool open_archive(struct weir__scan_worker *w)
{
    struct stat st = {.st_size = 1};
    if (!weir__scan_archive(w, -1, &st, "zip"))
        s.plain++;
    return true;
}

static void scan_object(struct weir__scan_worker *w, const char *path)
{
    const char *letter = strchr(path, '!') + 1;
    (void)w;
    XP_ASSERT(is_pool_held(), "a member is scanned, and its archive has nothing of the pool");
    xp_point();
    s.done[*letter - 'a']++;
    XP_ASSERT(is_pool_held(), "the pool went home while a member was scanned");
}

static void start(const struct rig_limits *limits)
{
    s.rig.stream = open_archive;
    s.rig.walk = walk_letters;
    s.rig.object = scan_object;
    rig_begin(&s.rig, limits);
}

static unsigned done_in_all(void)
{
    unsigned all = 0;
    for (unsigned i = 0; i < MEMBERS_MAX; i++) {
        XP_ASSERT(s.done[i] <= 1, "a member is scanned twice");
        all += s.done[i];
    }
    XP_ASSERT_EQ(s.rig.run.counts.members, all);
    return all;
}

/* The pool asserts that all of it is home, and so does each frontier. */
static void check_end(void)
{
    (void)done_in_all();
    rig_end(&s.rig);
}

static void check_all(unsigned members)
{
    for (unsigned i = 0; i < MEMBERS_MAX; i++)
        XP_ASSERT_EQ(s.done[i], i < members);
    XP_ASSERT_EQ(s.rig.gaps, 0);
    check_end();
}

/* The one who walks is there already, as in the middle of a job. */
static void walk_path(const char *path)
{
    struct weir__scan_worker *w = rig_worker();
    weir__scan_fetched(w, path);
    weir__scan_count(w);
}

static void walks_two_members(void)
{
    walk_path("ab");
    weir__job_done(&s.rig.run);
}

static void walks_three_members(void)
{
    walk_path("abc");
    weir__job_done(&s.rig.run);
}

/* ---- members go to whoever is idle ---- */

static void one_archive(void)
{
    start(&(struct rig_limits){.reads = 1, .buffers = 1, .queue = 2, .archives = 1, .members = 4});
}

static void check_two(void)
{
    check_all(2);
}

static void check_three(void)
{
    check_all(3);
}

XP_SCENARIO(scan_members, .about = "a member is scanned once, and the pool goes home with the last",
            XP_STATE(s), .setup = one_archive, .threads = {walks_two_members, rig_works},
            .check = check_two, .bound = 3)

XP_SCENARIO(scan_members_two_helpers, .about = "however many help, each member is scanned once",
            XP_STATE(s), .setup = one_archive, .threads = {walks_two_members, rig_works, rig_works},
            .check = check_two, .bound = 2)

/* The offer finds somebody who is about to wait, and is still in the queue when the walk is over.
 */
XP_SCENARIO(scan_members_no_help, .about = "what nobody takes is scanned by who walks", XP_STATE(s),
            .setup = one_archive, .threads = {walks_three_members, rig_works}, .check = check_three,
            .bound = 2)

/* ---- the frontier is full ---- */

static void small_frontier(void)
{
    start(&(struct rig_limits){.reads = 1, .buffers = 1, .queue = 1, .archives = 1, .members = 2});
}

XP_SCENARIO(scan_members_frontier, .about = "where the frontier has no room, nobody waits for it",
            XP_STATE(s), .setup = small_frontier, .threads = {walks_three_members, rig_works},
            .check = check_three, .bound = 3)

/* ---- archives wait for each other, and never for themselves ---- */

static void walks_two_archives(void)
{
    walk_path("a");
    walk_path("b");
    weir__job_done(&s.rig.run);
}

static void one_at_a_time(void)
{
    s.rig.paths[0] = "c";
    start(&(struct rig_limits){.reads = 2, .buffers = 2, .queue = 2, .archives = 1, .members = 4});
    s.rig.run.open = 2;
}

XP_SCENARIO(scan_archives_in_turn, .about = "with a pool for one archive, all archives get it",
            XP_STATE(s), .setup = one_at_a_time,
            .threads = {walks_two_archives, rig_works, rig_hands_out}, .check = check_three,
            .bound = 2)

/* ---- stopped ---- */

XP_SCENARIO(scan_archive_stop, .about = "a stop at any moment, and nothing stays out", XP_STATE(s),
            .setup = one_archive, .threads = {walks_two_members, rig_works, rig_stops},
            .check = check_end, .bound = 2)

static void check_waiting(void)
{
    s.rig.run.open = 0;
    check_end();
}

static void walks_own(void)
{
    static const char *const paths[] = {"a", "b"};
    walk_path(paths[xp_thread_index()]);
}

XP_SCENARIO(scan_archive_stop_waiting, .about = "a stop also ends the wait for the pool",
            XP_STATE(s), .setup = one_at_a_time, .threads = {walks_own, walks_own, rig_stops},
            .check = check_waiting, .bound = 2)

/* ---- an error in the middle ---- */

static void breaks_somewhere(void)
{
    s.breaks_at = 1 + xp_choose(3);
    walks_two_members();
}

static void check_broken(void)
{
    unsigned whole = s.breaks_at - 1;
    for (unsigned i = 0; i < MEMBERS_MAX; i++)
        XP_ASSERT_EQ(s.done[i], i < whole);
    XP_ASSERT_EQ(s.rig.gaps, 1);
    XP_ASSERT_EQ(s.plain, whole == 0);
    XP_ASSERT_EQ(s.rig.run.counts.archives, whole > 0);
    XP_ASSERT_EQ(s.rig.run.counts.archives_unopened, whole == 0);
    check_end();
}

XP_SCENARIO(scan_archive_broken, .about = "what came before an error is scanned, the rest told",
            XP_STATE(s), .setup = one_archive, .threads = {breaks_somewhere, rig_works},
            .check = check_broken, .bound = 2)

/* ---- without memory ---- */

static void check_no_memory(void)
{
    unsigned done = done_in_all();
    XP_ASSERT(done == 2 || s.rig.gaps == 1, "something is missing, and nobody says so");
    XP_ASSERT(done < 2 || s.rig.gaps == 0, "nothing is missing, and somebody says so");
    check_end();
}

XP_SCENARIO(scan_archive_no_memory, .about = "a member that cannot be handed over is not lost",
            XP_STATE(s), .setup = one_archive, .threads = {walks_two_members, rig_works},
            .check = check_no_memory, .bound = 2, .faults = 1)
