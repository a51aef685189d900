/* demo_pool.c - jobs of both kinds of reading, under one limit on their memory.
 *
 * Every job reads the beginning of the program's own file, half of them with read(2), half through
 * a mapping, into a ring of the size that its permit allows. The rings are real memory and the jobs
 * count them, so the peak that is told is what was allocated, not what the pool believes.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/sched.h>

#include "alloc.h"

#include "banned.h"

#define PROGRAM     "/proc/self/exe"
#define JOBS        24
#define WORKERS     6
#define AT_ONCE     3
#define RING_BYTES  (UINT64_C(1) << 20)
#define POOL_BYTES  (AT_ONCE * RING_BYTES)
#define READ_TOKENS 4
#define PIECE_BYTES 16384
#define THINK_NS    (8 * WEIR_NS_PER_MS)
#define LIMIT_NS    (20 * WEIR_NS_PER_S)
#define FNV_BASIS   UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME   UINT64_C(0x100000001b3)

/* What the jobs of one kind counted. */
struct tally {
    uint64_t now;
    uint64_t most;
};

struct site {
    struct weir_pool pool;
    struct weir_slots slots;
    struct weir_budget reads;
    struct weir_device device;
    struct weir_lock lock; /* guards what follows */
    struct tally jobs, bytes, mapping, reading;
    uint64_t done, failed;
    uint64_t bytes_read;
};

struct task {
    struct weir_job job; /* first, so that the scheduler's calls find the rest */
    struct site *site;
    uint64_t hash;
    uint64_t bytes;
};

static void tally_add(struct tally *tally, uint64_t n)
{
    tally->now += n;
    if (tally->now > tally->most)
        tally->most = tally->now;
}

static struct tally *tally_of(struct site *site, const struct task *task)
{
    return task->job.io_model == WEIR_IO_MMAP_IMPLICIT ? &site->mapping : &site->reading;
}

static void enter(struct site *site, const struct task *task, uint64_t bytes)
{
    weir_lock_acquire(&site->lock);
    tally_add(&site->jobs, 1);
    tally_add(&site->bytes, bytes);
    tally_add(tally_of(site, task), 1);
    weir_lock_release(&site->lock);
}

static void leave(struct site *site, const struct task *task, uint64_t bytes)
{
    weir_lock_acquire(&site->lock);
    site->jobs.now--;
    site->bytes.now -= bytes;
    tally_of(site, task)->now--;
    weir_lock_release(&site->lock);
}

static uint64_t add_to_hash(uint64_t hash, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

/* With read(2), piece by piece. */
static int read_pieces(int fd, unsigned char *ring, size_t size,
                       const struct weir_deadline *deadline, size_t *ret_got)
{
    size_t got = 0;
    while (got < size) {
        int error = weir_deadline_check(deadline);
        if (error)
            return error;
        size_t most = size - got < PIECE_BYTES ? size - got : PIECE_BYTES;
        ssize_t n = pread(fd, ring + got, most, (off_t)got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return weir_error_from_errno(errno);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *ret_got = got;
    return 0;
}

/* Through a mapping: the kernel reads when a page is touched. */
static int read_mapped(int fd, unsigned char *ring, size_t size, size_t *ret_got)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return weir_error_from_errno(errno);
    size_t got = (size_t)status.st_size < size ? (size_t)status.st_size : size;
    void *map = mmap(NULL, got, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return weir_error_from_errno(errno);
    memcpy(ring, map, got);
    munmap(map, got);
    *ret_got = got;
    return 0;
}

static int scan(struct task *task, unsigned char *ring, size_t size,
                const struct weir_deadline *deadline)
{
    int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return weir_error_from_errno(errno);
    size_t got = 0;
    int error = task->job.io_model == WEIR_IO_MMAP_IMPLICIT
                    ? read_mapped(fd, ring, size, &got)
                    : read_pieces(fd, ring, size, deadline, &got);
    close(fd);
    task->bytes = got;
    task->hash = add_to_hash(FNV_BASIS, ring, got);
    return error;
}

static int run_task(struct weir_job *job, const struct weir_deadline *deadline)
{
    struct task *task = (struct task *)job;
    size_t size = weir_pool_permit_scan_ring_bytes(weir_job_pool_permit(job));
    unsigned char *ring = weir__base_alloc(size, 1);
    if (!ring)
        return -WEIR_E_NO_MEMORY;
    enter(task->site, task, size);
    int error = scan(task, ring, size, deadline);
    /* Thinking about what was read, so that jobs last long enough to meet. */
    demo_pause(THINK_NS, deadline->cancel);
    leave(task->site, task, size);
    weir__base_free(ring);
    return error;
}

static void on_done(struct weir_job *job, int result)
{
    struct task *task = (struct task *)job;
    struct site *site = task->site;
    weir_lock_acquire(&site->lock);
    site->done++;
    site->failed += result != 0;
    site->bytes_read += task->bytes;
    weir_lock_release(&site->lock);
}

static void prepare(struct task *task, struct site *site, enum weir_io_model model,
                    uint64_t ring_bytes)
{
    *task = (struct task){.site = site};
    task->job.io_model = model;
    task->job.device = site->device;
    task->job.read_tokens = weir_io_uses_read_tokens(model) ? 2 : 0;
    task->job.pool = weir_pool_request_archive(ring_bytes, false);
    task->job.run = run_task;
    task->job.done = on_done;
}

/* One job for more than the whole pool: refused by submit, so it takes nobody's place. */
static void submit_too_much(struct demo *demo, struct site *site, struct weir_sched *sched,
                            struct task *task)
{
    prepare(task, site, WEIR_IO_EXPLICIT_READS, POOL_BYTES + 1);
    int error = weir_sched_submit(sched, &task->job);
    demo_say(demo, "One more wants a ring of %llu bytes, one too many, and is not even queued:",
             (unsigned long long)POOL_BYTES + 1);
    demo_quote(demo, error);
    demo_refusal(demo, "too_large", error);
    demo_promise(demo, error == -WEIR_E_TOO_LARGE, "a job that can never run is refused at submit");
}

static void tell_jobs(struct demo *demo, struct site *site, const struct task *tasks)
{
    bool is_same = true;
    for (unsigned i = 1; i < JOBS; i++)
        is_same = is_same && tasks[i].hash == tasks[0].hash && tasks[i].bytes == tasks[0].bytes;
    uint64_t slots = weir_slots_total(&site->slots, site->device);
    demo_say(demo,
             "%d jobs, half of them reading and half of them mapping the program's own file, each "
             "with a ring of %llu KiB, on %d workers. The pool has %llu KiB: room for %d.",
             JOBS, (unsigned long long)RING_BYTES >> 10, WORKERS,
             (unsigned long long)POOL_BYTES >> 10, AT_ONCE);
    demo_say(demo,
             "%llu were done and read %llu KiB in all. At most %llu ran at once, with %llu KiB of "
             "rings; at most %llu mapped (the disk has %llu slots) and %llu read (%d tokens, 2 "
             "each).",
             (unsigned long long)site->done, (unsigned long long)site->bytes_read >> 10,
             (unsigned long long)site->jobs.most, (unsigned long long)site->bytes.most >> 10,
             (unsigned long long)site->mapping.most, (unsigned long long)slots,
             (unsigned long long)site->reading.most, READ_TOKENS);
    demo_number(demo, "jobs", JOBS);
    demo_number(demo, "jobs_done", site->done);
    demo_number(demo, "jobs_failed", site->failed);
    demo_number(demo, "jobs_at_once_limit", AT_ONCE);
    demo_number(demo, "jobs_at_once_most", site->jobs.most);
    demo_number(demo, "pool_bytes", POOL_BYTES);
    demo_number(demo, "bytes_in_use_most", site->bytes.most);
    demo_number(demo, "bytes_read", site->bytes_read);
    demo_number(demo, "slots", slots);
    demo_number(demo, "mapping_most", site->mapping.most);
    demo_number(demo, "reading_limit", READ_TOKENS / 2);
    demo_number(demo, "reading_most", site->reading.most);
    demo_promise(demo, site->bytes.most <= POOL_BYTES,
                 "never more than %llu KiB of rings existed: %llu at most, counted by the jobs",
                 (unsigned long long)POOL_BYTES >> 10, (unsigned long long)site->bytes.most >> 10);
    demo_promise(demo, site->mapping.most <= slots && site->reading.most <= READ_TOKENS / 2,
                 "disk slots and read tokens held as well");
    demo_promise(demo, site->done == JOBS && site->failed == 0 && is_same,
                 "every job was done once, and read and map saw the same bytes");
}

static void tell_objects(struct demo *demo, struct site *site, struct weir_sched *sched)
{
    struct weir_pool_stats pool;
    struct weir_slots_stats slots;
    struct weir_budget_stats reads;
    struct weir_sched_stats jobs;
    weir_pool_read(&site->pool, &pool);
    weir_slots_read(&site->slots, &slots);
    weir_budget_read(&site->reads, &reads);
    weir_sched_read(sched, &jobs);
    demo_object(demo, &(struct demo_object){"sched", "scans", WORKERS, jobs.submitted, jobs.done,
                                            jobs.wait_ns.count, jobs.refused + jobs.busy});
    demo_object(demo,
                &(struct demo_object){"pool", "memory", POOL_BYTES, pool.acquired, pool.released,
                                      pool.enqueued, pool.busy + pool.refused});
    demo_object(demo,
                &(struct demo_object){"slots", "scan disks",
                                      weir_slots_total(&site->slots, site->device), slots.acquired,
                                      slots.released, slots.enqueued, slots.busy + slots.refused});
    demo_object(demo,
                &(struct demo_object){"budget", "read tokens", READ_TOKENS, reads.acquired,
                                      reads.released, reads.enqueued, reads.busy + reads.refused});
}

static int show(struct demo *demo, struct site *site)
{
    struct task tasks[JOBS + 1];
    const struct weir_sched_options options = {
        .workers = WORKERS, .slots = &site->slots, .pool = &site->pool, .reads = &site->reads};
    struct weir_sched *sched = NULL;
    int error = weir_sched_new(&sched, "scans", &options);
    if (error)
        return demo_failed("make a scheduler", error);
    for (unsigned i = 0; i < JOBS && !error; i++) {
        prepare(&tasks[i], site, i % 2 ? WEIR_IO_MMAP_IMPLICIT : WEIR_IO_EXPLICIT_READS,
                RING_BYTES);
        error = weir_sched_submit(sched, &tasks[i].job);
    }
    const struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    if (error)
        demo_failed("submit a job", error);
    else if ((error = weir_sched_wait(sched, &deadline)))
        demo_failed("wait for the jobs", error);
    if (!error) {
        tell_jobs(demo, site, tasks);
        submit_too_much(demo, site, sched, &tasks[JOBS]);
        tell_objects(demo, site, sched);
    }
    weir_sched_drain(sched, NULL);
    weir_sched_free(sched);
    return error;
}

int demo_pool(struct demo *demo)
{
    static struct site site; /* outlives whatever the scheduler might have to leave behind */
    const struct weir_pool_config config = {POOL_BYTES, RING_BYTES, 1, 0};
    site = (struct site){.device = weir_device_from_path(PROGRAM)};
    weir_lock_init(&site.lock, &demo_lock_class);
    int error = weir_pool_init(&site.pool, "memory", &config);
    if (!error)
        error = weir_slots_init(&site.slots, "scan disks", NULL);
    if (!error)
        error = weir_budget_init(&site.reads, "read tokens", READ_TOKENS);
    error = error ? demo_failed("make the limits", error) : show(demo, &site);
    weir_budget_fini(&site.reads);
    weir_slots_fini(&site.slots);
    weir_pool_fini(&site.pool);
    weir_lock_fini(&site.lock);
    return error;
}
