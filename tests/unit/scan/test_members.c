/* Tests of members of an archive that are handed to other threads, from inside: a run without
 * threads, whose part this test plays. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scan_part.h"
#include "tap.h"

#define TOKEN "tok_abcdef0123456789"

static const char rules_text[] = "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n";
static const struct weir_lock_class lock_class = {"test", 200};
static struct weir__rules *rules;
static struct weir__engine *engine;
static struct weir__scan_options options;
static struct weir__scan run;
static struct weir__scan_worker *walker, *helper;
static char found[128][32];
static size_t found_count;

static void on_finding(void *arg, const struct weir__finding *finding)
{
    struct weir__scan_worker *w = arg;
    (void)finding;
    CHECK(found_count < 128);
    snprintf(found[found_count++], sizeof(found[0]), "%s", weir__buffer_text(&w->path));
}

static struct weir__scan_worker *new_worker(void)
{
    struct weir__scan_worker *w;
    CHECK_EQ(weir__scan_worker_new(&w, &run), 0);
    struct weir__sink sink = {.finding = on_finding, .arg = w};
    CHECK_EQ(weir__scanner_new(&w->scanner, engine, &sink), 0);
    return w;
}

static void start(uint32_t idle)
{
    struct weir__rules_error error;
    struct weir__engine_options none = {0};
    struct weir_queue_options queue = {.item_size = sizeof(struct weir__job *), .capacity = 4};
    found_count = 0;
    memset(&run, 0, sizeof(run));
    CHECK_EQ(weir__rules_load(&rules, "rules", rules_text, strlen(rules_text), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &none, &error), 0);
    weir__scan_options_init(&options);
    options.engine = engine;
    run.options = &options;
    run.threads = 1; /* room in the pool for one archive */
    run.open = 1;
    run.idle = idle;
    weir_cancel_init(&run.stop, NULL);
    weir_lock_init(&run.lock, &lock_class);
    CHECK_EQ(weir_queue_init(&run.jobs, "jobs", &queue), 0);
    CHECK_EQ(weir__scan_archives_init(&run), 0);
    walker = new_worker();
    helper = new_worker();
}

static void free_job(void *arg, void *item)
{
    (void)arg;
    weir__job_free(*(struct weir__job **)item);
}

/* Asserts that every permit is home. */
static void stop(void)
{
    weir__scan_worker_free(walker);
    weir__scan_worker_free(helper);
    weir_queue_drain(&run.jobs, free_job, NULL);
    weir_queue_fini(&run.jobs);
    weir__scan_archives_fini(&run);
    weir_lock_fini(&run.lock);
    weir_cancel_fini(&run.stop);
    weir__engine_free(engine);
    weir__rules_free(rules);
}

static bool hand_over_named(struct weir__scan_archive *archive, unsigned number, size_t padding,
                            size_t path_padding)
{
    static char spaces[WEIR__SCAN_HANDED_BYTES];
    struct weir__buffer path, bytes;
    memset(spaces, ' ', sizeof(spaces));
    weir__buffer_init(&path, 100 + WEIR__SCAN_HANDED_BYTES);
    weir__buffer_init(&bytes, WEIR__SCAN_HANDED_BYTES);
    CHECK_EQ(weir__buffer_printf(&path, "a!%u", number), 0);
    CHECK_EQ(weir__buffer_append(&path, spaces, path_padding), 0);
    CHECK_EQ(weir__buffer_puts(&bytes, TOKEN), 0);
    CHECK_EQ(weir__buffer_append(&bytes, spaces, padding), 0);
    bool is_taken = weir__scan_archive_hand_over(archive, &path, &bytes);
    weir__buffer_fini(&path);
    weir__buffer_fini(&bytes);
    return is_taken;
}

static bool hand_over(struct weir__scan_archive *archive, unsigned number, size_t padding)
{
    return hand_over_named(archive, number, padding, 0);
}

static struct weir__job *take_job(void)
{
    struct weir__job *job = NULL;
    return weir_queue_try_recv(&run.jobs, &job) == 0 ? job : NULL;
}

TEST(what_nobody_takes_is_scanned_at_the_end)
{
    struct weir__scan_archive *archive;
    start(0);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    CHECK(!weir__scan_archive_has_help(archive));
    for (unsigned i = 0; i < 3; i++)
        CHECK(hand_over(archive, i, 10));
    CHECK(!take_job());
    CHECK_EQ(found_count, 0);
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(found_count, 3);
    CHECK_STR(found[0], "a!0");
    CHECK_STR(found[2], "a!2");
    CHECK_EQ(walker->counts.members, 3);
    stop();
}

TEST(a_helper_takes_what_is_there)
{
    struct weir__scan_archive *archive;
    start(1);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    CHECK(weir__scan_archive_has_help(archive));
    CHECK(hand_over(archive, 0, 0) && hand_over(archive, 1, 0));
    struct weir__job *job = take_job();
    CHECK(job && job->kind == WEIR__JOB_HELP);
    run.idle = 0;
    CHECK(weir__scan_archive_has_help(archive)); /* somebody is at it */
    weir__scan_help(helper, job);
    CHECK_EQ(helper->counts.members, 2);
    CHECK_EQ(helper->counts.bytes, 2 * (sizeof(TOKEN) - 1));
    weir__job_free(job);
    weir__job_done(&run);
    CHECK(!weir__scan_archive_has_help(archive));
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(walker->counts.members, 0);
    CHECK_EQ(found_count, 2);
    stop();
}

/* A call for help that nobody has answered holds nothing of the pool: the next archive gets in. */
TEST(a_late_helper_holds_nothing)
{
    struct weir__scan_archive *archive, *next;
    struct weir_pool_stats stats;
    start(1);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    CHECK(hand_over(archive, 0, 0));
    weir_pool_read(&run.archives.pool, &stats);
    CHECK_EQ(stats.scan_ring_in_use, stats.scan_ring_total);
    CHECK_EQ(stats.spill_slots_in_use, 1);
    CHECK_EQ(run.archives.held.now, 1);
    CHECK_EQ(run.archives.held.ring_most, stats.scan_ring_total);
    CHECK_EQ(run.archives.held.spills_most, 1);
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(run.archives.held.now, 0);
    weir_pool_read(&run.archives.pool, &stats);
    CHECK_EQ(stats.scan_ring_in_use + stats.spill_slots_in_use, 0);
    CHECK_EQ(weir__scan_archive_new(&run, &next), 0);
    CHECK_EQ(run.archives.held.all, 2);
    CHECK_EQ(run.archives.held.most, 1);
    struct weir__job *job = take_job();
    CHECK(job);
    weir__scan_help(helper, job);
    weir__job_free(job);
    weir__job_done(&run);
    weir__scan_archive_over(walker, next);
    CHECK_EQ(found_count, 1);
    stop();
}

TEST(the_frontier_says_no)
{
    struct weir__scan_archive *archive;
    unsigned count = 0;
    start(0);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    size_t padding = WEIR__SCAN_HANDED_BYTES - (sizeof(TOKEN) - 1);
    while (hand_over(archive, count, padding))
        count++;
    /* The walk has its share, and paths take room as well. */
    CHECK_EQ(count, WEIR__SCAN_MEMBERS_BYTES / WEIR__SCAN_HANDED_BYTES - 2);
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(found_count, count);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    for (count = 0; hand_over_named(archive, count, 0, padding);)
        count++;
    CHECK_EQ(count, WEIR__SCAN_MEMBERS_BYTES / WEIR__SCAN_HANDED_BYTES - 2);
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    for (count = 0; hand_over(archive, count, 0);)
        count++;
    CHECK_EQ(count, 63);
    weir__scan_archive_over(walker, archive);
    stop();
}

TEST(a_stop_drops_them)
{
    struct weir__scan_archive *archive;
    start(1);
    CHECK_EQ(weir__scan_archive_new(&run, &archive), 0);
    CHECK(hand_over(archive, 0, 0) && hand_over(archive, 1, 0));
    weir_cancel_fire(&run.stop);
    weir__scan_archive_over(walker, archive);
    CHECK_EQ(found_count, 0);
    stop();
}

TEST(what_is_not_allowed)
{
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    start(0);
    weir__scan_archives_fini(&run);
    memset(&run.archives, 0, sizeof(run.archives));
    options.archives_bytes = options.archives.memory_max; /* and nothing for members */
    CHECK_EQ(weir__scan_archives_init(&run), 0);
    CHECK(!run.archives.has_pool);
    options.archives_bytes = 0;
    options.archives.depth_max = 0;
    CHECK_EQ(weir__scan_archives_init(&run), 0);
    CHECK(!run.archives.has_pool);
    options.archives.depth_max = 1;
    options.spill_slots = 2;
    run.threads = 4;
    CHECK_EQ(weir__scan_archives_init(&run), 0);
    CHECK(run.archives.has_pool && run.archives.is_child_kept);
    struct weir_pool_request request = {.needs_spill_slot = true};
    CHECK_EQ(weir_pool_try(&run.archives.pool, &request, &permit), 0);
    CHECK_EQ(weir_pool_spill_slots_available(&run.archives.pool), 1);
    weir_pool_permit_release(&permit);
    stop();
}

static void ignore_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path, (void)finding;
}

/* Scans the file by a whole run; how many slots of disks were taken. */
static uint64_t slots_taken(const char *path, uint64_t map_from)
{
    struct weir__scan_hooks hooks = {.finding = ignore_finding};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__scan_stats stats;
    struct weir_slots_stats slots;
    struct weir__scan *whole;
    options.paths = &path;
    options.paths_count = 1;
    options.threads = 1;
    options.archives.map_from = map_from;
    CHECK_EQ(weir__scan_start(&whole, &options, &hooks), 0);
    CHECK_EQ(weir__scan_wait(whole, &deadline), 0);
    weir_slots_read(&whole->archives.slots, &slots);
    CHECK_EQ(slots.in_use, 0);
    CHECK_EQ(weir__scan_finish(whole, &stats), -WEIR_E_INCOMPLETE);
    CHECK_EQ(stats.archives_unopened, 1);
    return slots.acquired;
}

/* Nobody reads them here, since there is no decoder; the slot comes before that. */
TEST(what_is_mapped_takes_a_slot_of_its_disk)
{
    static const char head[64] = "\x1f\x8b\x08\0\0\0\0\0\0\3";
    char path[] = "/tmp/weir-members-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, head, sizeof(head)) == (ssize_t)sizeof(head));
    close(fd);
    CHECK_EQ(setenv("WEIR_LIBEXEC", "/nonexistent", 1), 0);
    start(0);
    CHECK_EQ(slots_taken(path, sizeof(head)), 1);
    CHECK_EQ(slots_taken(path, sizeof(head) + 1), 0);
    stop();
    unlink(path);
}

TAP_MAIN()
