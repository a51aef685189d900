/* The scheduler when memory or threads run out: an error or a job that says so, nothing leaked. */
#include "tap.h"

#include <weir/sched.h>

#include "atomic.h"
#include "sweep.h"

static uint32_t done_count;

static int run(struct weir_job *job, const struct weir_deadline *deadline)
{
    (void)job;
    return weir_deadline_check(deadline);
}

static void done(struct weir_job *job, int result)
{
    (void)job;
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
    weir__add32(&done_count, 1);
}

/* Jobs on new devices allocate when they are admitted: in submit, or by a worker. */
static void submit_some(struct weir_sched *sched)
{
    static struct weir_job jobs[4];
    memset(jobs, 0, sizeof(jobs));
    weir__store32(&done_count, 0);
    for (unsigned i = 0; i < 4; i++) {
        jobs[i].io_model = i < 3 ? WEIR_IO_MMAP_IMPLICIT : WEIR_IO_EXPLICIT_READS;
        jobs[i].wait = i == 1 ? WEIR_SCHED_BACKOFF : WEIR_SCHED_IN_LINE;
        jobs[i].device = weir_device_from_raw(i);
        jobs[i].run = run;
        jobs[i].done = done;
        CHECK_EQ(weir_sched_submit(sched, &jobs[i]), 0);
    }
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_sched_wait(sched, &deadline), 0);
    CHECK_EQ(done_count, 4);
}

static void lives(void)
{
    struct weir_slots slots;
    int error = weir_slots_init(&slots, "disks", NULL);
    if (error)
        return; /* not ours to test */
    struct weir_sched *sched = NULL;
    struct weir_sched_options options = {.workers = 2, .slots = &slots};
    error = weir_sched_new(&sched, "jobs", &options);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_BUSY);
    CHECK_EQ(error == 0, sched != NULL);
    if (sched) {
        submit_some(sched);
        CHECK_EQ(weir_sched_drain(sched, NULL), 0);
        weir_sched_free(sched);
    } else {
        CHECK(weir_error_detail()[0] != 0);
    }
    weir_slots_fini(&slots);
}

/* The slots, the scheduler, its crew, a record and a start for each of two workers, three devices.
 */
TEST(survives_without_memory)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, lives), 1 + 1 + 1 + 2 * 2 + 3);
}

TEST(survives_without_threads)
{
    CHECK_EQ(sweep(WEIR_FAULT_THREAD, lives), 2);
}

TAP_MAIN()
