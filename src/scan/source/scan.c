/* scan.c - a scan from its start to its end: limits, threads, counts. */
#include "scan_repo.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "alloc.h"
#include "cover.h"
#include "log.h"
#include "resources.h"

#include "banned.h"

static const struct weir_lock_class scan_class = {"scan-run", 200};

/* Descriptors that are not for directories and files: the standard ones, the list, the cache. */
#define FDS_RESERVED 16u
#define FDS_PER_THREAD                                                                             \
    8u /* beside the open directories: a file, a job, children, what is spilled */
#define FDS_DIRS_MAX 32u
#define FDS_DIRS_MIN 2u

#define END_MAX      10u /* of the name of a file, behind the last dot */

/* A thread looks whether to stop after each read; who then does not end waits for a device. */
#define DRAIN_NS WEIR_NS_PER_S
#define GRACE_NS (500 * WEIR_NS_PER_MS)

void weir__scan_options_init(struct weir__scan_options *options)
{
    *options = (struct weir__scan_options){
        .decode_depth = WEIR__DECODE_DEPTH_DEFAULT,
    };
    weir__archive_options_init(&options->archives);
}

/* --- telling --- */

void weir__scan_count(struct weir__scan_worker *w)
{
    struct weir__scan_stats *to = &w->run->counts;
    const struct weir__scan_stats *from = &w->counts;
    if (w->counting)
        memset(&w->counts, 0, sizeof(w->counts));
    weir_lock_acquire(&w->run->lock);
    to->files += from->files;
    to->dirs += from->dirs;
    to->bytes += from->bytes;
    to->special += from->special;
    to->symlinks += from->symlinks;
    to->allowed_paths += from->allowed_paths;
    to->ignored += from->ignored;
    to->submodules += from->submodules;
    to->failed += from->failed;
    to->partial += from->partial;
    to->archives += from->archives;
    to->members += from->members;
    to->archives_unopened += from->archives_unopened;
    to->repos += from->repos;
    to->objects += from->objects;
    to->shallow += from->shallow;
    to->histories_left += from->histories_left;
    to->remembered += from->remembered;
    to->unremembered += from->unremembered;
    to->findings += from->findings;
    to->allowed += from->allowed;
    to->rejected += from->rejected;
    to->decoded_bytes += from->decoded_bytes;
    weir_lock_release(&w->run->lock);
    memset(&w->counts, 0, sizeof(w->counts));
}

/* Its path is as it is shown. */
static void count_gap(struct weir__scan_worker *w, const struct weir__scan_gap *gap)
{
    if (w->counting)
        return;
    w->gaps++;
    if (gap->is_partial)
        w->counts.partial++;
    else
        w->counts.failed++;
    if (w->run->hooks.gap)
        w->run->hooks.gap(w->run->hooks.arg, gap);
}

static void tell(struct weir__scan_worker *w, const struct weir__scan_gap *gap)
{
    struct weir__scan_gap shown = *gap;
    shown.path = weir__scan_name(w, gap->path);
    count_gap(w, &shown);
}

void weir__scan_tell(struct weir__scan_worker *w, const char *path, const char *what,
                     const char *why)
{
    struct weir__scan_gap gap = {
        .path = path, .what = what, .why = why ? why : weir__log_reason(errno)};
    tell(w, &gap);
}

/* It ends like ".toml" or ".5". A '/' says nothing: keys in base64 have it. */
static bool looks_like_path(const char *typed)
{
    const char *dot = strrchr(typed, '.');
    size_t length = dot ? strlen(dot + 1) : 0;
    bool has_end = dot && dot > typed && length > 0 && length <= END_MAX;
    for (size_t i = 1; i <= length && has_end; i++)
        has_end = isalnum((unsigned char)dot[i]);
    return has_end;
}

void weir__scan_tell_typed(struct weir__scan_worker *w, const char *path, const char *what,
                           const char *why)
{
    char typed[PATH_MAX];
    struct weir__scan_gap gap = {.what = what, .why = why ? why : weir__log_reason(errno)};
    const char *shown = weir__scan_name(w, path);
    if (!w->run->options->show_secrets && !looks_like_path(path))
        shown = weir__cover_clip(typed, sizeof(typed), shown, SIZE_MAX);
    gap.path = shown;
    count_gap(w, &gap);
}

void weir__scan_tell_partial(struct weir__scan_worker *w, const char *path, const char *what,
                             const char *why)
{
    struct weir__scan_gap gap = {.path = path, .what = what, .why = why, .is_partial = true};
    tell(w, &gap);
}

/* --- limits --- */

static unsigned threads_for(const struct weir__scan_options *options, uint64_t bytes, uint64_t fds)
{
    uint64_t threads = options->threads ? options->threads : weir__resources_cores();
    uint64_t by_fds =
        fds > FDS_RESERVED ? (fds - FDS_RESERVED) / (FDS_PER_THREAD + FDS_DIRS_MIN) : 1;
    uint64_t by_bytes = bytes / WEIR__SCAN_READ_SIZE;
    threads = threads < by_fds ? threads : by_fds;
    threads = threads < by_bytes ? threads : by_bytes;
    threads = threads < WEIR__SCAN_THREADS_MAX ? threads : WEIR__SCAN_THREADS_MAX;
    return threads > 0 ? (unsigned)threads : 1;
}

static int init_limits(struct weir__scan *run)
{
    const struct weir__scan_options *options = run->options;
    uint64_t fds = weir__resources_descriptors();
    uint64_t bytes = options->bytes_max ? options->bytes_max : WEIR__SCAN_BYTES_DEFAULT;
    uint64_t reads = options->reads_max ? options->reads_max : WEIR__SCAN_READS_DEFAULT;
    if (bytes < WEIR__SCAN_READ_SIZE)
        return -WEIR_E_INVALID;
    run->threads = threads_for(options, bytes, fds);
    uint64_t used = FDS_RESERVED + (uint64_t)run->threads * FDS_PER_THREAD;
    uint64_t dirs = fds > used ? (fds - used) / 2 / run->threads : FDS_DIRS_MIN;
    run->frames_open_max = dirs > FDS_DIRS_MAX   ? FDS_DIRS_MAX
                           : dirs > FDS_DIRS_MIN ? (size_t)dirs
                                                 : FDS_DIRS_MIN;
    uint64_t most = fds > used + 4 ? (fds - used) / 2 : 2;
    int result = weir_budget_init(&run->reads, "scan-reads", reads < most ? reads : most);
    run->has_reads = result == 0;
    if (result == 0) {
        result = weir_budget_init(&run->bytes, "scan-bytes", bytes);
        run->has_bytes = result == 0;
    }
    struct weir_queue_options queue = {.item_size = sizeof(struct weir__job *),
                                       .capacity = run->threads + 1 + weir__scan_line_shards(run)};
    if (result == 0) {
        result = weir_queue_init(&run->jobs, "scan-jobs", &queue);
        run->has_queue = result == 0;
    }
    return result < 0 ? result : weir__scan_archives_init(run);
}

/* --- life cycle --- */

static void free_job(void *arg, void *item)
{
    (void)arg;
    weir__job_free(*(struct weir__job **)item);
}

static void run_free(struct weir__scan *run)
{
    for (unsigned i = 0; run->workers && i <= run->threads; i++)
        weir__scan_worker_free(run->workers[i]);
    weir__base_free(run->workers);
    if (run->has_queue) {
        weir_queue_drain(&run->jobs, free_job, NULL);
        weir_queue_fini(&run->jobs);
    }
    weir__scan_archives_fini(run);
    weir__scan_repos_fini(run);
    if (run->has_bytes)
        weir_budget_fini(&run->bytes);
    if (run->has_reads)
        weir_budget_fini(&run->reads);
    weir__scan_ignore_free_all(run);
    weir__scan_given_free(run->given);
    weir_crew_free(run->crew);
    weir_lock_fini(&run->lock);
    weir_cancel_fini(&run->stop);
    weir__base_free(run);
}

/* The last worker is that of the thread that hands out paths. */
static int make_workers(struct weir__scan *run)
{
    run->workers = weir__base_alloc((size_t)run->threads + 1, sizeof(*run->workers));
    if (!run->workers)
        return -WEIR_E_NO_MEMORY;
    int result = 0;
    for (unsigned i = 0; i <= run->threads && result == 0; i++)
        result = weir__scan_worker_new(&run->workers[i], run);
    struct weir_crew_options crew = {
        .threads_max = run->threads + 1, .drain_ns = DRAIN_NS, .grace_ns = GRACE_NS};
    return result < 0 ? result : weir_crew_new(&run->crew, "scan", &crew);
}

static int start_threads(struct weir__scan *run)
{
    int result = 0;
    unsigned started = 0;
    for (unsigned i = 0; i < run->threads; i++) {
        result = weir_crew_start(run->crew, "scan", weir__scan_worker_main, run->workers[i]);
        started += result == 0;
    }
    if (started == 0) /* fewer than wanted is slower, and nothing else */
        return result;
    return weir_crew_start(run->crew, "paths", weir__scan_list_main, run->workers[run->threads]);
}

int weir__scan_start(struct weir__scan **ret_run, const struct weir__scan_options *options,
                     const struct weir__scan_hooks *hooks)
{
    struct weir__scan *run = weir__base_alloc(1, sizeof(*run));
    if (!run)
        return -WEIR_E_NO_MEMORY;
    run->options = options;
    run->hooks = *hooks;
    run->open = 1;
    weir_cancel_init(&run->stop, NULL);
    weir_lock_init(&run->lock, &scan_class);
    int result = init_limits(run);
    if (result == 0)
        result = make_workers(run);
    if (result == 0)
        result = weir__scan_repos_init(run);
    if (result == 0) {
        result = start_threads(run);
        if (result < 0) {
            weir_cancel_fire(&run->stop);
            weir_crew_drain(run->crew, NULL);
        }
    }
    if (result < 0)
        weir__scan_repos_drain(run);
    if (result < 0) {
        run_free(run);
        return result;
    }
    *ret_run = run;
    return 0;
}

int weir__scan_wait(struct weir__scan *run, const struct weir_deadline *deadline)
{
    return weir__scan_pause_wait(run, deadline);
}

void weir__scan_stop(struct weir__scan *run)
{
    weir_cancel_fire(&run->stop);
}

void weir__scan_read(struct weir__scan *run, struct weir__scan_stats *ret_stats)
{
    struct weir_budget_stats reads;
    weir_budget_read(&run->reads, &reads);
    weir_lock_acquire(&run->lock);
    *ret_stats = run->counts;
    ret_stats->files_total = run->files_total;
    ret_stats->bytes_total = run->bytes_total;
    weir_lock_release(&run->lock);
    ret_stats->in_flight = reads.in_use;
    ret_stats->reads_limit = reads.capacity;
    ret_stats->threads = run->threads;
    ret_stats->is_stopped = weir_cancel_is_fired(&run->stop);
}

int weir__scan_finish(struct weir__scan *run, struct weir__scan_stats *ret_stats)
{
    struct weir_crew_report report;
    struct weir_deadline now = {.at_ns = 0};
    if (weir_crew_wait(run->crew, &now) != 0)
        weir_cancel_fire(&run->stop);
    weir_crew_drain(run->crew, &report);
    uint64_t leaders = weir__scan_repos_drain(run);
    weir__scan_read(run, ret_stats);
    ret_stats->abandoned += leaders;
    for (uint64_t i = 0; i < report.kind_count; i++)
        ret_stats->abandoned += report.kinds[i].abandoned;
    /* Somebody waits for standard input or a dead disk and still uses all this: it is left to him.
     * When he comes back, he sees that he is to stop and tells nothing any more. */
    if (ret_stats->abandoned == 0)
        run_free(run);
    if (ret_stats->is_stopped)
        return -WEIR_E_CANCELED;
    bool has_gaps = ret_stats->failed > 0 || ret_stats->partial > 0 || ret_stats->abandoned > 0;
    return has_gaps ? -WEIR_E_INCOMPLETE : 0;
}
