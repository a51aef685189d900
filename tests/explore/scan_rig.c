/* scan_rig.c - see scan_rig.h. */
#include "scan_rig.h"

#include <string.h>

#include "alloc.h"
#include "archive_walker.h"
#include "git/discover.h"
#include "log.h"
#include "scan_git.h"
#include "scan_repo.h"

#include "banned.h"

static struct scan_rig *rig;
static char block[1]; /* nobody reads into it */
static char scanner[1];

static const struct weir_lock_class run_class = {"scan-run", 200};

/* --- what brings the bytes --- */

static bool is_mine(void *arg, const char *path)
{
    (void)arg;
    (void)path;
    rig->taken++;
    return true;
}

static int show(void *arg, const char *path, struct weir__buffer *name)
{
    (void)arg;
    return weir__buffer_puts(name, path);
}

static int open_path(void *arg, const char *path, struct weir_cancel *stop,
                     struct weir__scan_fetch *fetch)
{
    (void)arg;
    (void)path;
    (void)stop;
    (void)fetch;
    return 0;
}

static int close_path(void *arg, struct weir__scan_fetch *fetch, bool was_read)
{
    (void)arg;
    (void)fetch;
    (void)was_read;
    return 0;
}

static void take_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    (void)gap;
    rig->gaps++;
}

/* --- beginning and end --- */

static void prepare(struct scan_rig *new_rig, const struct rig_limits *limits)
{
    rig = new_rig;
    rig->pieces = xp_pieces();
    rig->fetcher = (struct weir__scan_fetcher){is_mine, show, open_path, close_path, NULL};
    weir__scan_options_init(&rig->options);
    rig->options.fetcher = &rig->fetcher;
    rig->options.paths = rig->paths;
    while (rig->options.paths_count < RIG_PATHS && rig->paths[rig->options.paths_count])
        rig->options.paths_count++;
    rig->options.spill_slots = 1;
    rig->options.archives.memory_max = 1;
    rig->options.archives.depth_max = limits->archives > 0;
    rig->options.archives_bytes = limits->archives * (1 + WEIR__SCAN_MEMBERS_BYTES);
}

void rig_begin(struct scan_rig *new_rig, const struct rig_limits *limits)
{
    struct weir_queue_options queue = {.item_size = sizeof(struct weir__job *),
                                       .capacity = limits->queue};
    struct weir__scan *run = &new_rig->run;
    prepare(new_rig, limits);
    run->options = &rig->options;
    run->hooks.gap = take_gap;
    run->threads = RIG_WORKERS;
    run->workers = rig->workers;
    run->open = 1;
    weir_cancel_init(&run->stop, NULL);
    weir_lock_init(&run->lock, &run_class);
    XP_ASSERT_EQ(weir_budget_init(&run->reads, "scan-reads", limits->reads), 0);
    XP_ASSERT_EQ(
        weir_budget_init(&run->bytes, "scan-bytes", limits->buffers * WEIR__SCAN_READ_SIZE), 0);
    XP_ASSERT_EQ(weir_queue_init(&run->jobs, "scan-jobs", &queue), 0);
    XP_ASSERT_EQ(weir__scan_archives_init(run), 0);
    run->archives.members_max = limits->members;
    for (unsigned i = 0; i <= RIG_WORKERS; i++) {
        XP_ASSERT_EQ(weir__scan_worker_new(&rig->workers[i], run), 0);
        rig->workers[i]->block = rig->workers[i]->window = block;
        rig->workers[i]->scanner = (struct weir__scanner *)scanner;
        rig->workers[i]->has_disk = true; /* the one with the number 0 */
    }
}

static void free_left(void *arg, void *item)
{
    ++*(unsigned *)arg;
    weir__job_free(*(struct weir__job **)item);
}

void rig_end(struct scan_rig *old_rig)
{
    struct weir__scan *run = &old_rig->run;
    unsigned left = 0;
    weir_queue_drain(&run->jobs, free_left, &left);
    XP_ASSERT_EQ(run->open, left);
    XP_ASSERT(left == 0 || weir_cancel_is_fired(&run->stop), "the run has ended with jobs left");
    XP_ASSERT_EQ(run->idle, 0);
    XP_ASSERT_EQ(run->counts.failed + run->counts.partial, old_rig->gaps);
    for (unsigned i = 0; i <= RIG_WORKERS; i++) {
        old_rig->workers[i]->block = old_rig->workers[i]->window = NULL;
        weir__scan_worker_free(old_rig->workers[i]);
    }
    weir_queue_fini(&run->jobs);
    weir__scan_archives_fini(run);
    weir_budget_fini(&run->reads);
    weir_budget_fini(&run->bytes);
    weir_lock_fini(&run->lock);
    weir_cancel_fini(&run->stop);
    XP_ASSERT_EQ(xp_pieces(), old_rig->pieces);
}

struct weir__scan_worker *rig_worker(void)
{
    return rig->workers[xp_thread_index()];
}

void rig_hands_out(void)
{
    XP_ASSERT_EQ(weir__scan_list_main(NULL, rig->workers[RIG_WORKERS]), 0);
}

void rig_works(void)
{
    int result = weir__scan_worker_main(NULL, rig_worker());
    if (result == -WEIR_E_CANCELED)
        XP_ASSERT(weir_cancel_is_fired(&rig->run.stop), "canceled, and nobody did");
    else
        XP_ASSERT_EQ(result, 0);
    if (result == 0)
        XP_ASSERT_EQ(rig->run.open, 0);
}

void rig_stops(void)
{
    weir__scan_stop(&rig->run);
}

/* --- in place of what reads --- */

bool weir__scan_stream_admitted(struct weir__scan_worker *w, int fd)
{
    (void)fd;
    return rig->stream(w);
}

bool weir__scan_object_begin(struct weir__scan_worker *w)
{
    (void)w;
    return true;
}

bool weir__scan_object_feed(struct weir__scan_worker *w, const char *bytes, size_t length)
{
    (void)w;
    (void)bytes;
    (void)length;
    return true;
}

void weir__scan_object_count(struct weir__scan_worker *w, uint64_t at)
{
    w->counts.bytes += at;
}

bool weir__scan_object_end(struct weir__scan_worker *w)
{
    rig->object(w, weir__buffer_text(&w->path));
    return true;
}

const char *weir__scan_name(struct weir__scan_worker *w, const char *path)
{
    (void)w;
    return path;
}

/* --- in place of what unpacks --- */

void weir__archive_options_init(struct weir__archive_options *options)
{
    *options = (struct weir__archive_options){0}; /* of no size: every archive is mapped */
}

int weir__archive_walker_new(struct weir__archive_walker **ret_walker,
                             const struct weir__archive_options *options)
{
    (void)options;
    *ret_walker = weir__base_alloc(1, sizeof(**ret_walker));
    return *ret_walker ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__archive_walker_free(struct weir__archive_walker *walker)
{
    weir__base_free(walker);
}

void weir__archive_walker_spill(struct weir__archive_walker *walker, int fd)
{
    (void)walker;
    (void)fd;
}

const char *weir__archive_walker_why(const struct weir__archive_walker *walker, int error)
{
    (void)walker;
    return weir_error_text(error);
}

int weir__archive_walk(struct weir__archive_walker *walker, int fd, const char *path,
                       const struct weir__archive_hooks *hooks,
                       const struct weir_deadline *deadline)
{
    (void)walker;
    (void)fd;
    (void)deadline;
    return rig->walk(path, hooks);
}

int weir__scan_spill_open(void)
{
    return -1;
}

/* --- in place of what matches --- */

int weir__scanner_new(struct weir__scanner **ret_scanner, const struct weir__engine *engine,
                      const struct weir__sink *sink)
{
    (void)engine;
    (void)sink;
    *ret_scanner = (struct weir__scanner *)scanner;
    return 0;
}

void weir__scanner_free(struct weir__scanner *old)
{
    (void)old;
}

bool weir__scanner_skips(struct weir__scanner *with, const char *path)
{
    (void)with;
    (void)path;
    return false;
}

int weir__scanner_skip(struct weir__scanner *with, uint64_t length)
{
    (void)with;
    (void)length;
    return 0;
}

void weir__scanner_skipped_lines(struct weir__scanner *with, uint64_t lines, uint64_t behind)
{
    (void)with;
    (void)lines;
    (void)behind;
}

void weir__scanner_settle(struct weir__scanner *with)
{
    (void)with;
    rig->settle();
}

/* --- what no scenario comes to --- */

#define NEVER() xp_fail("%s: there is no input and output here", __func__)

void weir__git_free(struct weir__git *git)
{
    if (git)
        NEVER();
}

const char *weir__log_reason(int errno_value)
{
    (void)errno_value;
    return "a reason";
}

struct weir__scan_given *weir__scan_given_new(struct weir__scan_worker *w)
{
    (void)w;
    return NULL;
}

bool weir__scan_given_again(const struct weir__scan_given *given, size_t index)
{
    (void)given;
    (void)index;
    return false;
}

void weir__scan_given_free(struct weir__scan_given *given)
{
    (void)given;
}

void weir__scan_ignore_drop(struct weir__scan *run, struct weir__scan_ignore *ignore)
{
    (void)run;
    if (ignore)
        NEVER();
}

void weir__scan_ignore_free_all(struct weir__scan *run)
{
    (void)run;
}

struct weir__scan_ignore *weir__scan_ignore_begin(struct weir__scan_worker *w, int fd)
{
    (void)w;
    (void)fd;
    NEVER();
}

void weir__scan_walk(struct weir__scan_worker *w, int fd, struct weir__scan_ignore *above)
{
    (void)w;
    (void)fd;
    (void)above;
    NEVER();
}

void weir__scan_names(struct weir__scan_worker *w, int fd, const char *names, size_t length)
{
    (void)w;
    (void)fd;
    (void)names;
    (void)length;
    NEVER();
}

void weir__scan_file(struct weir__scan_worker *w, int dir, const char *name, bool is_given)
{
    (void)w;
    (void)dir;
    (void)name;
    (void)is_given;
    NEVER();
}

void weir__scan_unopened(struct weir__scan_worker *w)
{
    (void)w;
    NEVER();
}

void weir__scan_link(struct weir__scan_worker *w, int dir, const char *name)
{
    (void)w;
    (void)dir;
    (void)name;
    NEVER();
}

void weir__scan_stream(struct weir__scan_worker *w, int fd)
{
    (void)w;
    (void)fd;
    NEVER();
}

ssize_t weir__scan_stream_read(struct weir__scan_worker *w, int fd, char *bytes, size_t size,
                               bool has_some)
{
    (void)w;
    (void)fd;
    (void)bytes;
    (void)size;
    (void)has_some;
    NEVER();
}

void weir__scan_plain(struct weir__scan_worker *w, int fd, uint64_t size)
{
    (void)w;
    (void)fd;
    (void)size;
    NEVER();
}

void weir__scan_staged(struct weir__scan_worker *w, const char *id)
{
    (void)w;
    (void)id;
    NEVER();
}

void weir__scan_staged_list(struct weir__scan_worker *w)
{
    (void)w;
    NEVER();
}

void weir__scan_find_totals(struct weir__scan_worker *w)
{
    (void)w;
    NEVER();
}

void weir__scan_hand_free(struct weir__scan_hand *hand)
{
    if (hand)
        NEVER();
}

bool weir__scan_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard)
{
    if (!rig->shard)
        NEVER();
    return rig->shard(w, shard);
}

void weir__scan_repo_free(struct weir__scan_repo *repo)
{
    rig->repo_ended(repo);
}

void weir__scan_pack_free(struct weir__scan_pack *pack)
{
    rig->pack_ended(pack);
}

void weir__scan_repo_over(struct weir__scan_repo *repo, int result)
{
    rig->repo_over(repo, result);
}

int weir__scan_repo_pass(struct weir__scan_repo *repo)
{
    (void)repo;
    NEVER();
}

void weir__scan_share_exceeded(const struct weir__scan_repo *repo, const char *what, uint64_t had,
                               char why[WEIR__SCAN_WHY_MAX])
{
    (void)repo, (void)what, (void)had, (void)why;
    NEVER();
}

void weir__scan_share_cure(const struct weir__scan_repo *repo, uint64_t size, bool is_tree,
                           char cure[WEIR__SCAN_WHY_MAX])
{
    (void)repo, (void)size, (void)is_tree, (void)cure;
    NEVER();
}

void weir__scan_state_unread(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             bool is_loose)
{
    (void)repo, (void)id, (void)is_loose;
    NEVER();
}

void weir__scan_repo_tell(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_id *id, const char *what, const char *why)
{
    (void)repo;
    (void)id;
    weir__scan_tell_partial(w, "a repository", what, why);
}

void weir__scan_repo_doubt(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_store *store)
{
    (void)w;
    (void)repo;
    (void)store;
}

void weir__git_store_close(struct weir__git_store *store)
{
    if (store)
        NEVER();
}

bool weir__scan_repo_is(const char *path)
{
    (void)path;
    return false;
}

void weir__scan_repo_found(struct weir__scan_worker *w, const char *path)
{
    (void)w;
    (void)path;
    NEVER();
}

int weir__scan_repos_init(struct weir__scan *run)
{
    (void)run;
    NEVER();
}

uint64_t weir__scan_repos_drain(struct weir__scan *run)
{
    (void)run;
    NEVER();
}

void weir__scan_repos_fini(struct weir__scan *run)
{
    (void)run;
    NEVER();
}

int weir__git_find_repos(const char *root, const struct weir__git_find_options *options,
                         weir__git_found_fn *fn, void *arg, struct weir__git_find_stats *ret_stats)
{
    (void)root;
    (void)options;
    (void)fn;
    (void)arg;
    (void)ret_stats;
    NEVER();
}
