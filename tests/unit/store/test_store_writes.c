/* test_store_writes.c - writes: many at once, in batches, refused, and what becomes of one address
 * over its life. */
#include <errno.h>

#include <weir/crew.h>
#include <weir/fault.h>
#include <weir/metrics.h>
#include <weir/queue.h>

#include "store_rig.h"
#include "sys.h"

/* --- writes under way, in the test's hands --- */

#define JOBS 300u

struct job {
    struct weir__store_write write;
    unsigned char *bytes;
};

static struct job jobs[JOBS];
static struct weir_queue ended; /* struct job *, in the order of their ends */
/* A write whose end waits for the test holds up the thread that writes, so that what is handed in
 * meanwhile makes one batch. */
static struct weir_budget gate;
static struct weir_permit shut;

static void job_done(struct weir__store_write *write)
{
    struct job *job = write->arg;
    CHECK_EQ(weir_queue_try_send(&ended, &job), 0);
}

static void job_done_at_gate(struct weir__store_write *write)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(weir_budget_acquire(&gate, 1, &permit, &deadline), 0);
    weir_permit_release(&permit);
    job_done(write);
}

static void jobs_begin(void)
{
    CHECK_EQ(weir_queue_init(&ended, "ended", &(struct weir_queue_options){sizeof(void *), JOBS}),
             0);
    CHECK_EQ(weir_budget_init(&gate, "gate", 1), 0);
    CHECK_EQ(weir_budget_try(&gate, 1, &shut), 0);
    memset(jobs, 0, sizeof(jobs));
}

static void jobs_end(void)
{
    weir_permit_release(&shut);
    weir_budget_fini(&gate);
    weir_queue_fini(&ended);
    for (size_t i = 0; i < JOBS; i++)
        free(jobs[i].bytes);
}

static int submit(struct weir__store *store, struct job *job, enum weir__store_action action,
                  uint32_t length, uint64_t n)
{
    job->bytes = malloc(length + 1);
    rig_fill(job->bytes, length, n);
    job->write.action = action;
    weir__address_of(job->bytes, length, &job->write.address);
    if (action == WEIR__STORE_PUT) {
        job->write.bytes = job->bytes;
        job->write.length = length;
    }
    if (!job->write.done)
        job->write.done = job_done;
    job->write.arg = job;
    return weir__store_submit(store, &job->write);
}

/* The thread that writes waits from here on until open_gate(). */
static void close_gate(struct weir__store *store, struct job *job)
{
    job->write.done = job_done_at_gate;
    CHECK_EQ(submit(store, job, WEIR__STORE_PUT, 10, 999999), 0);
    struct weir__store_stats stats;
    do
        weir__store_read(store, &stats);
    while (stats.commits == 0);
}

static struct job *next_end(void)
{
    struct job *job;
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(weir_queue_recv(&ended, &job, &deadline), 0);
    return job;
}

static struct weir__store_stats stats_of(struct weir__store *store)
{
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    return stats;
}

/* --- one chunk, many threads --- */

#define THREADS 8
#define ROUNDS  60

struct racers {
    struct weir__store *store;
    struct weir_counter stored, present, other;
};

static int race(struct weir_crew_self *self, void *arg)
{
    struct racers *racers = arg;
    unsigned char bytes[500];
    (void)self;
    for (uint64_t n = 0; n < ROUNDS; n++) {
        struct weir__address address;
        struct weir_deadline deadline = rig_soon();
        rig_fill(bytes, sizeof(bytes), n);
        weir__address_of(bytes, sizeof(bytes), &address);
        int error = weir__store_put(racers->store, &address, bytes, sizeof(bytes), &deadline);
        weir_counter_add(error == 0                     ? &racers->stored
                         : error == WEIR__STORE_PRESENT ? &racers->present
                                                        : &racers->other,
                         1);
        /* Whatever the answer, it is there now. */
        if (rig_find(racers->store, &address) != 0)
            weir_counter_add(&racers->other, 1);
    }
    return 0;
}

TEST(the_same_chunk_by_many)
{
    static struct racers racers;
    struct weir_crew *crew;
    rig_make_folder();
    memset(&racers, 0, sizeof(racers));
    racers.store = rig_open(NULL);
    CHECK_EQ(
        weir_crew_new(&crew, "racers", &(struct weir_crew_options){.drain_ns = 50 * WEIR_NS_PER_S}),
        0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(weir_crew_start(crew, "racer", race, &racers), 0);
    CHECK_EQ(weir_crew_drain(crew, NULL), 0);
    weir_crew_free(crew);
    CHECK_EQ(weir_counter_value(&racers.stored), ROUNDS);
    CHECK_EQ(weir_counter_value(&racers.present), ROUNDS * (THREADS - 1));
    CHECK_EQ(weir_counter_value(&racers.other), 0);
    struct weir__store_stats stats = stats_of(racers.store);
    CHECK_EQ(stats.puts, ROUNDS);
    CHECK_EQ(stats.puts_present, ROUNDS * (THREADS - 1));
    CHECK_EQ(stats.tail_records, ROUNDS);
    CHECK_EQ(stats.pending_bytes + stats.pending_count, 0);
    weir__store_close(racers.store);
    rig_remove_folder();
}

/* --- batches --- */

/* One batch with everything: the same chunk twice, deleted, put again, touched, deleted twice. */
TEST(a_batch_is_judged_in_order)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    static const struct {
        enum weir__store_action action;
        uint64_t n;
        int wanted;
    } plan[] = {
        {WEIR__STORE_DELETE, 1, -WEIR_E_NOT_FOUND},
        {WEIR__STORE_TOUCH, 1, -WEIR_E_NOT_FOUND},
        {WEIR__STORE_PUT, 1, 0},
        {WEIR__STORE_PUT, 1, WEIR__STORE_PRESENT},
        {WEIR__STORE_TOUCH, 1, 0},
        {WEIR__STORE_PUT, 2, 0},
        {WEIR__STORE_DELETE, 1, 0},
        {WEIR__STORE_DELETE, 1, -WEIR_E_NOT_FOUND},
        {WEIR__STORE_TOUCH, 1, -WEIR_E_NOT_FOUND},
        {WEIR__STORE_PUT, 1, 0},
        {WEIR__STORE_DELETE, 2, 0},
        {WEIR__STORE_PUT, 1, WEIR__STORE_PRESENT},
    };
    const size_t count = sizeof(plan) / sizeof(plan[0]);
    close_gate(store, &jobs[JOBS - 1]);
    uint64_t commits = stats_of(store).commits;
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(submit(store, &jobs[i], plan[i].action, 300, plan[i].n), 0);
    CHECK_EQ(stats_of(store).pending_count, count);
    weir_permit_release(&shut);
    for (size_t i = 0; i <= count; i++)
        next_end();
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(jobs[i].write.result, plan[i].wanted);
    /* All of it was one sync. */
    CHECK_EQ(stats_of(store).commits, commits + 1);
    CHECK_EQ(rig_read(store, &jobs[2].write.address, 300, 1), 0);
    CHECK_EQ(rig_find(store, &jobs[5].write.address), -WEIR_E_NOT_FOUND);
    CHECK(jobs[9].write.sequence > jobs[6].write.sequence);
    for (int round = 0; round < 2; round++) {
        weir__store_close(store);
        if (round == 1)
            rig_remove("mark");
        store = rig_open(NULL);
        CHECK_EQ(rig_read(store, &jobs[2].write.address, 300, 1), 0);
        CHECK_EQ(rig_find(store, &jobs[5].write.address), -WEIR_E_NOT_FOUND);
    }
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

/* A batch that is larger than a segment: each write finds its place. */
TEST(a_batch_over_segments)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    close_gate(store, &jobs[JOBS - 1]);
    for (size_t i = 0; i < 20; i++)
        CHECK_EQ(submit(store, &jobs[i], WEIR__STORE_PUT, WEIR__CHUNK_MAX - (uint32_t)i, i), 0);
    /* Of what is in the first segment, when the run before it has ended. */
    CHECK_EQ(submit(store, &jobs[20], WEIR__STORE_DELETE, WEIR__CHUNK_MAX, 0), 0);
    CHECK_EQ(submit(store, &jobs[21], WEIR__STORE_PUT, WEIR__CHUNK_MAX - 1, 1), 0);
    weir_permit_release(&shut);
    for (size_t i = 0; i <= 22; i++)
        next_end();
    for (size_t i = 0; i < 21; i++)
        CHECK_EQ(jobs[i].write.result, 0);
    CHECK_EQ(jobs[21].write.result, WEIR__STORE_PRESENT);
    CHECK(stats_of(store).segments >= 6);
    weir__store_close(store);
    rig_remove("mark");
    store = rig_open(NULL);
    for (uint32_t i = 0; i < 20; i++)
        CHECK_EQ(rig_read(store, &jobs[i].write.address, WEIR__CHUNK_MAX - i, i),
                 i == 0 ? -WEIR_E_NOT_FOUND : 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

static int vouch(struct weir__store *store, const struct weir__address *address)
{
    uint32_t length, time_s;
    return weir__store_vouch(store, address, &length, &time_s);
}

/* Nobody is told that a chunk lasts whose deletion waits: it is put behind that. Others do. */
TEST(nothing_is_promised_before_a_deletion_that_waits)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    struct weir__address address, other;
    CHECK_EQ(rig_put(store, 100, 1, &address), 0);
    CHECK_EQ(rig_put(store, 100, 2, &other), 0);
    struct weir__store_write announced = {.action = WEIR__STORE_DELETE, .address = address};
    weir__store_announce(store, &announced);
    weir__store_announce(store, &announced);
    CHECK_EQ(vouch(store, &address), WEIR__STORE_PRESENT);
    weir__store_withdraw(store, &announced);
    weir__store_withdraw(store, &announced);
    CHECK_EQ(vouch(store, &address), 0);
    jobs[JOBS - 1].write.done = job_done_at_gate;
    CHECK_EQ(submit(store, &jobs[JOBS - 1], WEIR__STORE_PUT, 10, 999999), 0);
    while (stats_of(store).commits < 3)
        ;
    CHECK_EQ(submit(store, &jobs[0], WEIR__STORE_DELETE, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[1], WEIR__STORE_DELETE, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[2], WEIR__STORE_TOUCH, 100, 2), 0);
    CHECK_EQ(vouch(store, &address), WEIR__STORE_PRESENT);
    CHECK_EQ(vouch(store, &other), 0);
    CHECK_EQ(rig_read(store, &address, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[3], WEIR__STORE_PUT, 100, 1), 0);
    weir_permit_release(&shut);
    for (size_t i = 0; i < 5; i++)
        next_end();
    CHECK_EQ(jobs[0].write.result, 0);
    CHECK_EQ(jobs[1].write.result, -WEIR_E_NOT_FOUND);
    CHECK_EQ(jobs[3].write.result, 0);
    CHECK_EQ(vouch(store, &address), 0);
    CHECK_EQ(rig_read(store, &address, 100, 1), 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

#ifdef WEIR_FAULTS
#define PAGE 4096u

/* Fills the first segment, in which one small record is, so that nothing more fits, with a batch
 * that the disk then refuses. Large content begins with a page, for which room is kept. */
static void fill_segment(struct weir__store *store)
{
    uint32_t at = WEIR__RECORD_HEAD + WEIR__IDENTITY_SIZE + 80;
    for (size_t i = 0; i < 4; i++) {
        uint32_t left = WEIR__STORE_SEGMENT_LEAST - PAGE - at - WEIR__RECORD_HEAD;
        uint32_t length = left < WEIR__CHUNK_MAX ? left : WEIR__CHUNK_MAX;
        CHECK_EQ(submit(store, &jobs[i], WEIR__STORE_PUT, length, i), 0);
        at = ((at + WEIR__RECORD_HEAD + PAGE - 1) & ~(PAGE - 1)) + length;
    }
    CHECK(WEIR__STORE_SEGMENT_LEAST - at <= PAGE);
}

/* What rests on a run that failed has failed with it: a touch has no chunk, and a put of the same
 * bytes is not told that they are there. */
TEST(resting_on_what_failed)
{
    for (uint64_t call = 1; call <= 2; call++) { /* the write, the sync */
        rig_make_folder();
        jobs_begin();
        struct weir__store *store = rig_open(NULL);
        close_gate(store, &jobs[JOBS - 1]);
        fill_segment(store);
        CHECK_EQ(submit(store, &jobs[10], WEIR__STORE_PUT, WEIR__CHUNK_MAX, 0), 0);
        CHECK_EQ(submit(store, &jobs[11], WEIR__STORE_TOUCH, WEIR__CHUNK_MAX, 0), 0);
        weir_fault_arm(WEIR_FAULT_IO, call);
        weir_permit_release(&shut);
        for (size_t i = 0; i < 7; i++)
            next_end();
        CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
        weir_fault_arm(WEIR_FAULT_IO, 0);
        for (size_t i = 0; i < 4; i++)
            CHECK_EQ(jobs[i].write.result, -WEIR_E_IO);
        CHECK_EQ(jobs[10].write.result, -WEIR_E_IO);
        CHECK_EQ(jobs[11].write.result, -WEIR_E_NOT_FOUND);
        struct weir__address address;
        CHECK_EQ(rig_put(store, WEIR__CHUNK_MAX, 0, &address), 0);
        CHECK_EQ(rig_read(store, &address, WEIR__CHUNK_MAX, 0), 0);
        weir__store_close(store);
        store = rig_open(NULL);
        CHECK_EQ(rig_read(store, &address, WEIR__CHUNK_MAX, 0), 0);
        weir__store_close(store);
        jobs_end();
        rig_remove_folder();
    }
}

/* A run for which there is no room: its deletions are written all the same, and by what is there
 * then. */
TEST(deletions_of_a_run_without_room)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    struct weir__address deleted, touched, fresh;
    CHECK_EQ(rig_put(store, 100, 1, &deleted), 0);
    CHECK_EQ(rig_put(store, 100, 2, &touched), 0);
    jobs[JOBS - 1].write.done = job_done_at_gate;
    CHECK_EQ(submit(store, &jobs[JOBS - 1], WEIR__STORE_PUT, 10, 999999), 0);
    while (stats_of(store).commits < 3)
        ;
    CHECK_EQ(submit(store, &jobs[0], WEIR__STORE_PUT, 500, 3), 0);
    CHECK_EQ(submit(store, &jobs[1], WEIR__STORE_DELETE, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[2], WEIR__STORE_DELETE, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[3], WEIR__STORE_PUT, 500, 3), 0);
    CHECK_EQ(submit(store, &jobs[4], WEIR__STORE_TOUCH, 100, 2), 0);
    CHECK_EQ(submit(store, &jobs[5], WEIR__STORE_DELETE, 500, 3), 0);
    CHECK_EQ(submit(store, &jobs[6], WEIR__STORE_PUT, 100, 2), 0);
    weir__sys_fault_errno(ENOSPC);
    weir_fault_arm(WEIR_FAULT_IO, 1);
    weir_permit_release(&shut);
    for (size_t i = 0; i < 8; i++)
        next_end();
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_errno(EIO);
    static const int wanted[] = {-WEIR_E_NO_SPACE,  0,
                                 -WEIR_E_NOT_FOUND, -WEIR_E_NO_SPACE,
                                 -WEIR_E_NO_SPACE,  -WEIR_E_NOT_FOUND,
                                 -WEIR_E_NO_SPACE};
    for (size_t i = 0; i < 7; i++)
        CHECK_EQ(jobs[i].write.result, wanted[i]);
    struct weir__store_stats stats = stats_of(store);
    CHECK(stats.is_full && stats.deletes == 1);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(rig_read(store, &deleted, 100, 1), -WEIR_E_NOT_FOUND);
        CHECK_EQ(rig_read(store, &touched, 100, 2), 0);
        weir__store_close(store);
        store = rig_open(NULL);
    }
    CHECK_EQ(rig_put(store, 500, 3, &fresh), 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

/* A deletion that failed: nobody is told that there is nothing to delete. */
TEST(deleted_twice_by_what_failed)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    struct weir__address address;
    CHECK_EQ(rig_put(store, 100, 1, &address), 0);
    jobs[JOBS - 1].write.done = job_done_at_gate;
    CHECK_EQ(submit(store, &jobs[JOBS - 1], WEIR__STORE_PUT, 10, 999999), 0);
    while (stats_of(store).commits < 2)
        ;
    CHECK_EQ(submit(store, &jobs[0], WEIR__STORE_DELETE, 100, 1), 0);
    CHECK_EQ(submit(store, &jobs[1], WEIR__STORE_DELETE, 100, 1), 0);
    weir_fault_arm(WEIR_FAULT_IO, 1);
    weir_permit_release(&shut);
    for (size_t i = 0; i < 3; i++)
        next_end();
    weir_fault_arm(WEIR_FAULT_IO, 0);
    CHECK_EQ(jobs[0].write.result, -WEIR_E_IO);
    CHECK_EQ(jobs[1].write.result, -WEIR_E_IO);
    CHECK_EQ(rig_read(store, &address, 100, 1), 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}
/* A deletion whose sync fails, and which cannot be cut off either: it may count after the next
 * start. */
static struct weir__store *delete_in_vain(struct weir__address *ret_address)
{
    struct weir__store *store = rig_open(NULL);
    struct weir_deadline deadline = rig_soon();
    CHECK_EQ(rig_put(store, 100, 1, ret_address), 0);
    CHECK_EQ(vouch(store, ret_address), 0);
    weir__sys_fault_lasting(true);
    weir_fault_arm(WEIR_FAULT_IO, 2);
    CHECK_EQ(weir__store_delete(store, ret_address, &deadline), -WEIR_E_IO);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    return store;
}

static void disk_is_well(void)
{
    weir_fault_arm(WEIR_FAULT_IO, 0);
    weir__sys_fault_lasting(false);
}

/* Until then nobody is told that the chunk lasts, by a put or by who vouches. */
TEST(nothing_is_promised_before_a_failed_deletion_is_cut_off)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = delete_in_vain(&address);
    CHECK_EQ(vouch(store, &address), WEIR__STORE_PRESENT);
    CHECK_EQ(rig_put(store, 100, 1, &address), -WEIR_E_IO);
    CHECK_EQ(vouch(store, &address), WEIR__STORE_PRESENT);
    disk_is_well();
    CHECK_EQ(rig_put(store, 100, 1, &address), WEIR__STORE_PRESENT);
    CHECK_EQ(vouch(store, &address), 0);
    CHECK_EQ(weir__store_close(store), 0);
    store = rig_open(NULL);
    CHECK_EQ(rig_read(store, &address, 100, 1), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* Where nobody writes it is cut off all the same, when the disk is well. */
TEST(a_failed_deletion_is_cut_off_without_a_write)
{
    struct weir__address address;
    rig_make_folder();
    struct weir__store *store = delete_in_vain(&address);
    disk_is_well();
    struct weir_deadline deadline = rig_soon();
    while (vouch(store, &address) != 0)
        CHECK(weir_now_ns() < deadline.at_ns);
    CHECK_EQ(weir__store_close(store), 0);
    store = rig_open(NULL);
    CHECK_EQ(rig_read(store, &address, 100, 1), 0);
    weir__store_close(store);
    rig_remove_folder();
}

/* And so it is by the end. One that cannot is not clean. */
TEST(a_failed_deletion_at_the_end)
{
    for (int is_well = 0; is_well < 2; is_well++) {
        struct weir__address address;
        rig_make_folder();
        struct weir__store *store = delete_in_vain(&address);
        if (is_well)
            disk_is_well();
        CHECK_EQ(weir__store_close(store), is_well ? 0 : -WEIR_E_INCOMPLETE);
        disk_is_well();
        struct weir__store_report report;
        store = rig_open(&report);
        CHECK_EQ(report.was_clean, is_well);
        if (is_well)
            CHECK_EQ(rig_read(store, &address, 100, 1), 0);
        weir__store_close(store);
        rig_remove_folder();
    }
}
#endif

TEST(busy_when_too_much_waits)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store =
        rig_open_with((struct weir__store_options){.folder = rig_folder,
                                                   .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                                   .pending_bytes = 2 * WEIR__CHUNK_MAX,
                                                   .is_offline = true},
                      NULL);
    close_gate(store, &jobs[JOBS - 1]);
    size_t taken = 0;
    int error = 0;
    while (taken < 100 && !(error = submit(store, &jobs[taken], WEIR__STORE_PUT, 100000, taken)))
        taken++;
    CHECK_EQ(error, -WEIR_E_BUSY);
    CHECK_EQ(taken, 2 * WEIR__CHUNK_MAX / (100000 + WEIR__RECORD_HEAD));
    struct weir__store_stats stats = stats_of(store);
    CHECK_EQ(stats.pending_count, taken);
    CHECK(stats.pending_bytes >= taken * 100000 && stats.pending_bytes <= 2 * WEIR__CHUNK_MAX);
    weir_permit_release(&shut);
    for (size_t i = 0; i <= taken; i++)
        CHECK(next_end()->write.result == 0);
    /* All of it came home. */
    free(jobs[taken].bytes);
    CHECK_EQ(submit(store, &jobs[taken], WEIR__STORE_PUT, WEIR__CHUNK_MAX, 12345), 0);
    next_end();
    CHECK_EQ(stats_of(store).pending_bytes, 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

TEST(too_large)
{
    rig_make_folder();
    struct weir__store *store = rig_open(NULL);
    struct weir__address address = rig_address(1);
    struct weir_deadline deadline = rig_soon();
    unsigned char *bytes = calloc(1, WEIR__CHUNK_MAX + 1);
    CHECK_EQ(weir__store_put(store, &address, bytes, WEIR__CHUNK_MAX + 1, &deadline),
             -WEIR_E_TOO_LARGE);
    weir__address_of(bytes, WEIR__CHUNK_MAX, &address);
    CHECK_EQ(weir__store_put(store, &address, bytes, WEIR__CHUNK_MAX, &deadline), 0);
    free(bytes);
    weir__store_close(store);
    rig_remove_folder();
}

/* What waits when the store is closed is written. */
TEST(closed_with_writes_under_way)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    for (size_t i = 0; i < 50; i++)
        CHECK_EQ(submit(store, &jobs[i], WEIR__STORE_PUT, 5000, i), 0);
    weir__store_close(store);
    for (size_t i = 0; i < 50; i++)
        CHECK_EQ(next_end()->write.result, 0);
    struct weir__store_report report;
    store = rig_open(&report);
    CHECK(report.was_clean);
    for (size_t i = 0; i < 50; i++)
        CHECK_EQ(rig_read(store, &jobs[i].write.address, 5000, i), 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

/* A wait that is given up: the write still comes to its end, and nothing is left behind. */
TEST(given_up)
{
    rig_make_folder();
    jobs_begin();
    struct weir__store *store = rig_open(NULL);
    struct weir__address address;
    close_gate(store, &jobs[JOBS - 1]);
    struct weir_deadline passed = weir_deadline_in(0, NULL);
    rig_fill(rig_room, 100, 5);
    weir__address_of(rig_room, 100, &address);
    CHECK_EQ(weir__store_put(store, &address, rig_room, 100, &passed), -WEIR_E_TIMEOUT);
    memset(rig_room, 0, 100);
    weir_permit_release(&shut);
    next_end();
    weir__store_close(store);
    store = rig_open(NULL);
    CHECK_EQ(rig_read(store, &address, 100, 5), 0);
    weir__store_close(store);
    jobs_end();
    rig_remove_folder();
}

/* --- a life --- */

/* put, delete, put, delete, each in a segment of its own, with compaction in between and a rebuild
 * at the end: it stays deleted. */
TEST(deleted_stays_deleted)
{
    struct weir__address address, other;
    rig_make_folder();
    for (unsigned compact_at = 0; compact_at < 32; compact_at++) {
        struct weir__store *store = rig_open(NULL);
        for (unsigned step = 0; step < 4; step++) {
            if (step % 2 == 0)
                CHECK_EQ(rig_put(store, 20000, 1, &address), 0);
            else
                CHECK_EQ(rig_delete(store, &address), 0);
            CHECK(rig_put(store, 100, 1000 * compact_at + step + 10, &other) == 0);
            rig_seal(store);
            if (compact_at >> step & 1)
                rig_compact(store, 0);
            CHECK_EQ(rig_read(store, &address, 20000, 1), step % 2 ? -WEIR_E_NOT_FOUND : 0);
        }
        weir__store_close(store);
        if (compact_at & 16)
            rig_remove("mark");
        store = rig_open(NULL);
        CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
        rig_compact(store, 0);
        CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
        weir__store_close(store);
        rig_remove("mark");
        store = rig_open(NULL);
        CHECK_EQ(rig_find(store, &address), -WEIR_E_NOT_FOUND);
        weir__store_close(store);
    }
    rig_remove_folder();
}

TAP_MAIN()
