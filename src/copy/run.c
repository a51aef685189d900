/* run.c - a copy from its start to its end: limits, threads, passes.
 *
 * A pass is one walk over the tree by all threads: to check that the source can be listed (before
 * --delete-before), to delete, to copy. Sources that may bring the same path are copied one after
 * the other, so that the first one wins, as it does in rsync. The passes follow each other in
 * weir__copy_wait(), which is called by the thread that started the run; no thread of its own waits
 * for the others.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <weir/slots.h>

#include "alloc.h"
#include "cover.h"
#include "engine.h"
#include "operands.h"
#include "remove.h"
#include "resources.h"
#include "sys.h"

#include "banned.h"

static const struct weir_lock_class fds_class = {"copy-descriptors", 110};
static const struct weir_lock_class big_class = {"copy-big", 115};
static const struct weir_lock_class counts_class = {"copy-counts", 120};

/* Descriptors that are not for files in flight: the standard ones, spill files, operands; and for
 * each thread those that it needs for a moment. */
#define FDS_RESERVED   16u
#define FDS_PER_THREAD 6u
#define FDS_MIN        28u  /* with fewer, one thread could not copy one file */
#define FDS_DIRS_MAX   512u /* pairs of open directories */

/* For what is in flight when the user has had enough; he can leave at once by asking twice. */
#define DRAIN_NS    (60 * WEIR_NS_PER_S)

#define THREADS_MIN 4u
#define THREADS_MAX 16u

static void note(struct weir__copy *run, const char *text)
{
    struct weir__copy_event event = {.kind = WEIR__EVENT_NOTE, .path = "", .detail = text};
    if (run->hooks.event)
        run->hooks.event(run->hooks.arg, &event);
}

/* --- limits --- */

static unsigned threads_for(const struct weir__copy *run, uint64_t fds)
{
    unsigned threads = run->options->threads;
    if (threads == 0) {
        threads = weir__resources_cores() * 2;
        threads = threads < THREADS_MIN ? THREADS_MIN : threads;
        threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    }
    uint64_t most = fds > FDS_RESERVED ? (fds - FDS_RESERVED) / (FDS_PER_THREAD + 10) : 1;
    if (threads > most)
        threads = most < 1 ? 1 : (unsigned)most;
    return threads > WEIR__TREE_THREADS_MAX ? WEIR__TREE_THREADS_MAX : threads;
}

/* How many files a disk likes in flight. */
static uint64_t files_for_disk(struct weir__copy *run)
{
    struct weir_device_info info;
    for (size_t i = 0; i < run->options->sources_count; i++)
        if (weir_device_find(run->options->sources[i], NULL, &info) == 0 &&
            weir_device_kind(info.device) == WEIR_DISK_ROTATIONAL)
            return WEIR__COPY_FILES_ROTATIONAL;
    /* Of a destination that is not there yet it is the folder that counts. */
    const char *to =
        run->is_dst_made || run->is_dst_file ? run->base_path : run->options->destination;
    if (weir_device_find(to[0] != '\0' ? to : ".", NULL, &info) == 0 &&
        weir_device_kind(info.device) == WEIR_DISK_ROTATIONAL)
        return WEIR__COPY_FILES_ROTATIONAL;
    return WEIR__COPY_FILES_DEFAULT;
}

static int init_limits(struct weir__copy *run)
{
    const struct weir__copy_options *options = run->options;
    uint64_t fds = weir__resources_descriptors();
    if (fds < FDS_MIN) {
        struct weir__copy_event event = {
            .kind = WEIR__EVENT_ERROR,
            .path = options->destination,
            .what = "cannot copy to",
            .detail = "too few files may be open at once: allow at least 28 (ulimit -n)"};
        if (run->hooks.event)
            run->hooks.event(run->hooks.arg, &event);
        return -WEIR_E_TOO_LARGE;
    }
    run->threads = threads_for(run, fds);
    uint64_t used = FDS_RESERVED + (uint64_t)run->threads * FDS_PER_THREAD;
    uint64_t left = fds > used + 8 ? fds - used : 8;
    run->fds_max = left / 4 < FDS_DIRS_MAX ? left / 4 : FDS_DIRS_MAX;
    uint64_t most = left - 2 * run->fds_max;
    uint64_t files = options->files_max ? options->files_max : files_for_disk(run);
    if (files > most) {
        char text[160];
        snprintf(text, sizeof(text),
                 "at most %llu files in flight instead of %llu: the limit of open files is %llu "
                 "(ulimit -n)",
                 (unsigned long long)most, (unsigned long long)files, (unsigned long long)fds);
        note(run, text);
        files = most;
    }
    int result = weir_budget_init(&run->files, "copy-files", files);
    run->has_files = result == 0;
    if (result == 0 &&
        (result = weir_budget_init(&run->bytes, "copy-bytes", options->bytes_max)) == 0)
        run->has_bytes = true;
    if (result == 0 && (result = weir_budget_init(&run->dirs, "copy-dirs", options->dirs_max)) == 0)
        run->has_dirs = true;
    if (result == 0 &&
        (result = weir_budget_init(&run->large, "copy-large", options->large_max)) == 0)
        run->has_large = true;
    if (result == 0 &&
        (result = weir_adapt_init(&run->adapt, "copy-adapt", &run->files, NULL)) == 0)
        run->has_adapt = true;
    if (result == 0 && options->rate_per_s > 0) {
        struct weir_rate_options rate = {.per_s = options->rate_per_s};
        result = weir_rate_init(&run->rate, "copy-rate", &rate);
        run->has_rate = result == 0;
    }
    return result;
}

static void init_rules(struct weir__copy *run)
{
    const struct weir__copy_options *options = run->options;
    struct weir__meta_rules *rules = &run->rules;
    rules->perms = options->perms;
    rules->times = options->times;
    rules->owner = options->owner;
    rules->group = options->group;
    rules->acls = options->acls;
    rules->xattrs = options->xattrs;
    rules->atimes = options->atimes;
    rules->omit_dir_times = options->omit_dir_times;
    rules->modify_window_ns = options->modify_window_ns;
    rules->omit_link_times = options->omit_link_times;
    rules->chmod = options->chmod;
    rules->has_uid = options->has_uid;
    rules->has_gid = options->has_gid;
    rules->uid = options->uid;
    rules->gid = options->gid;
    weir__meta_rules_init(rules);
}

/* --- passes --- */

static bool is_in_pass(const struct weir__worker *w, size_t source)
{
    const struct weir__copy *run = w->run;
    return !run->has_overlap || run->pass == source || w->phase == WEIR__PHASE_COUNT;
}

/* A folder that a dead run had begun keeps what this run's operands bring, too. What is in those is
 * looked at when they are entered; what else it holds goes. */
static void keep_operands(struct weir__worker *w, struct weir__dir *dir)
{
    struct weir__copy *run = w->run;
    size_t count = run->options->sources_count;
    if (count == 1 && run->sources[0].is_contents)
        return;
    struct weir__remove_options options = {.cancel = w->stop};
    int fd = weir__sys_openat(dir->dst_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    ssize_t size = 0;
    while (fd >= 0 && (size = weir__sys_getdents(fd, w->window, WEIR__WINDOW_SIZE)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct weir__dirent *entry = (const void *)(w->window + at);
            at += entry->d_reclen;
            bool is_kept =
                weir__dirent_is_dots(entry->d_name) ||
                (run->options->partial && weir__name_kind(entry->d_name) == WEIR__TEMP_PART);
            for (size_t i = 0; i < count && !run->described_by; i++)
                is_kept = is_kept || strcmp(entry->d_name, run->sources[i].name) == 0;
            if (!is_kept && weir__remove_tree(dir->dst_fd, entry->d_name, &options, NULL) < 0)
                weir__tell_error(w, dir, entry->d_name, "cannot remove the leftover", EEXIST);
        }
    }
    if (fd < 0 || size < 0)
        weir__tell_error(w, dir, NULL, "cannot list", errno);
    weir__sys_close(fd);
}

/* DST as a folder that this run makes, under its temporary name. */
static struct weir__dir *make_destination(struct weir__worker *w)
{
    struct weir__copy *run = w->run;
    struct weir__dir *dir = weir__dir_new(run, WEIR__DIR_MADE, NULL, run->base_name);
    if (!dir)
        return NULL;
    weir__tree_enter(w->tree, &dir->node, &run->base->node);
    weir__tree_hold(w->tree, &run->base->node);
    dir->is_new = dir->is_made = run->options->dry_run;
    char temp[WEIR__TEMP_SIZE];
    const char *name = run->base_name;
    dir->is_temporary =
        !run->options->dry_run && !run->options->files_from && !run->options->in_place;
    if (dir->is_temporary) {
        weir__name_dir(run, run->base_name, 0, temp);
        name = temp;
    }
    if (!run->options->dry_run &&
        (!weir__dir_make(w, run->base, dir, name) || !weir__dir_know(w, run->base, dir)))
        dir->is_given_up = true;
    if (!dir->is_given_up && dir->has_dst) { /* a source may have it in it, by another mount */
        run->dst_device = dir->dst_device;
        run->dst_inode = dir->dst_inode;
    }
    if (dir->is_continued && !dir->is_given_up)
        keep_operands(w, dir);
    weir__dir_opened(w, dir);
    return dir;
}

/* What dead runs left in DST, and beside it when they were to make it. */
static void sweep_destination(struct weir__worker *w)
{
    struct weir__copy *run = w->run;
    char temp[WEIR__TEMP_SIZE];
    if (!run->described_by) /* else its contents are paired with a source, which has a say */
        weir__name_sweep(w, run->base, false);
    int fd = weir__operands_beside(run, run->beside_name);
    if (fd < 0)
        return;
    weir__name_dir(run, run->beside_name, 0, temp);
    weir__name_remove_dead(w, fd, temp);
    weir__sys_close(fd);
}

/* One operand: the folder that it lies in, paired with DST, and its name on the stack. */
static int start_operand(struct weir__worker *w, struct weir__dir *target, size_t i)
{
    struct weir__copy *run = w->run;
    const struct weir__source *source = &run->sources[i];
    if (source->is_missing || !is_in_pass(w, i))
        return 0;
    struct weir__dir *dir = weir__dir_new(run, WEIR__DIR_OPERAND, source, "");
    if (!dir)
        return -WEIR_E_NO_MEMORY;
    weir__tree_enter(w->tree, &dir->node, &target->node);
    weir__tree_hold(w->tree, &target->node);
    bool is_open = weir__operands_enter(w, dir, target);
    dir->has_dst = target->has_dst;
    dir->is_new = target->is_new;
    dir->is_made = target->is_made;
    dir->is_continued = target->is_continued;
    dir->inherits_acl = target->inherits_acl;
    dir->dst_device = target->dst_device;
    dir->dst_inode = target->dst_inode;
    weir__dir_opened(w, dir);
    const char *name = source->is_contents ? "." : source->name;
    struct weir__segment *segment =
        weir__segment_new(run->options->files_from ? WEIR__SEGMENT_HELP : WEIR__SEGMENT_DIRS,
                          &dir->node, strlen(name) + 3);
    int result = -WEIR_E_NO_MEMORY;
    bool is_wanted = is_open && (run->phase == WEIR__PHASE_COPY || source->is_dir);
    if (is_wanted && !source->is_contents && run->options->filter &&
        weir__worker_is_excluded(w, dir, source->name, source->is_dir)) {
        is_wanted = false;
        weir__tell_skipped(w, dir, source->name, "excluded");
    }
    if (source->is_dir && !run->options->recursive && !run->options->files_from) {
        is_wanted = false;
        weir__tell_skipped(w, dir, source->name, "a directory");
    }
    if (segment && is_wanted && !target->is_given_up) {
        if (run->options->files_from) {
            weir__tree_hold(w->tree, &dir->node);
            weir__tree_offer_anyway(w->tree, segment);
            result = 0;
        } else {
            unsigned char type =
                source->is_dir ? DT_DIR : (unsigned char)IFTODT(source->st.st_mode);
            if (weir__segment_add(segment, type, name, strlen(name)))
                result = weir__tree_push(w->tree, segment);
        }
    } else if (segment) {
        weir__segment_free(segment);
        segment = NULL;
        result = 0;
    }
    if (result < 0)
        weir__segment_free(segment);
    weir__dir_unpin(w, dir);
    weir__dir_drop(w, dir);
    return result;
}

static int start_threads(struct weir__copy *run)
{
    int result = 0;
    unsigned started = 0;
    for (unsigned i = 0; i < run->threads; i++) {
        run->workers[i]->phase = run->phase;
        result = weir_crew_start(run->crew, "copy", weir__worker_main, run->workers[i]);
        started += result == 0;
    }
    /* Fewer than wanted is slower, and nothing else. */
    return started > 0 ? 0 : result;
}

static int count_main(struct weir_crew_self *self, void *arg)
{
    struct weir__worker *w = arg;
    int result = weir__worker_main(self, w);
    bool is_whole = !weir_cancel_is_fired(w->stop);
    weir_lock_acquire(&w->run->counts_lock);
    w->run->is_counted = is_whole;
    weir_lock_release(&w->run->counts_lock);
    return result;
}

/* How much there is, found out by one more thread with a tree of its own. Without it the copy goes
 * on as well. */
static void start_count(struct weir__copy *run)
{
    struct weir__worker *w = run->counter;
    struct weir__tree_options options = {.threads = 1, .bytes_max = run->options->table_bytes / 4};
    if (!w || run->phase != WEIR__PHASE_COPY || run->pass > 0 ||
        weir__tree_init(&run->count_tree, &options) < 0)
        return;
    w->phase = WEIR__PHASE_COUNT;
    w->tree = &run->count_tree;
    w->stop = &run->count_stop;
    struct weir__dir *base = weir__dir_new(run, WEIR__DIR_BASE, NULL, "");
    if (!base)
        return;
    weir__tree_root(w->tree, &base->node);
    weir__dir_opened(w, base);
    for (size_t i = 0; i < run->options->sources_count; i++)
        if (start_operand(w, base, i) < 0)
            break;
    weir__dir_unpin(w, base);
    weir__dir_drop(w, base);
    if (weir_crew_start(run->crew, "count", count_main, w) < 0)
        weir_cancel_fire(&run->count_stop);
}

/* Lays the operands out and lets the threads loose. */
static int start_pass(struct weir__copy *run)
{
    struct weir__worker *w = run->workers[0];
    w->phase = run->phase;
    int result = weir__operands_destination(run);
    if (result < 0)
        return result;
    struct weir__tree_options options = {.threads = run->threads,
                                         .bytes_max = run->options->table_bytes / 2};
    result = weir__tree_init(&run->tree, &options);
    if (result < 0)
        return result;
    run->has_tree = true;
    run->base = weir__dir_new(run, WEIR__DIR_BASE, NULL, "");
    if (!run->base)
        return -WEIR_E_NO_MEMORY;
    weir__tree_root(&run->tree, &run->base->node);
    run->base->dst_fd = weir__operands_open(run->base_fd, ".");
    bool is_known = run->base->dst_fd >= 0 && weir__dir_know(w, run->base, run->base);
    if (!is_known)
        result = weir_error_from_errno(errno);
    weir__dir_opened(w, run->base);
    struct weir__dir *target = run->base;
    if (is_known && run->is_dst_made)
        target = run->phase == WEIR__PHASE_COPY ? make_destination(w) : NULL;
    else if (is_known && run->phase == WEIR__PHASE_COPY)
        sweep_destination(w);
    for (size_t i = 0; is_known && target && result == 0 && i < run->options->sources_count; i++)
        result = start_operand(w, target, i);
    if (target && target != run->base) {
        weir__dir_unpin(w, target);
        weir__dir_drop(w, target);
    }
    if (result == 0 && !target && run->phase == WEIR__PHASE_COPY)
        result = -WEIR_E_NO_MEMORY;
    weir__dir_unpin(w, run->base);
    weir__dir_drop(w, run->base);
    /* From here on the first worker belongs to its thread. */
    if (result == 0)
        result = start_threads(run);
    if (result == 0)
        start_count(run);
    return result;
}

/* What is left on the stack after a stop is let go of, by the thread that ends the pass. */
static void drain_tree(struct weir__worker *w)
{
    struct weir__tree_item item;
    for (;;) {
        int result = weir__tree_try(w->tree, &item);
        if (result == -WEIR_E_NOT_FOUND || result == -WEIR_E_CLOSED)
            break;
        struct weir__dir *dir = (struct weir__dir *)item.node;
        if (result == 0 && item.offer && item.offer->kind == WEIR__SEGMENT_HELP && item.offer->help)
            weir__file_help(w, item.offer->help);
        size_t drops = result < 0 ? item.length : 1;
        if (result == 0 && item.offer)
            weir__segment_free(item.offer);
        while (drops-- > 0)
            weir__dir_drop(w, dir);
    }
    weir__tell_counts(w);
    w->run->counts.spilled_bytes += w->tree->_spilled_total;
    weir__tree_fini(w->tree);
    memset(w->tree, 0, sizeof(*w->tree));
}

static void end_pass(struct weir__copy *run)
{
    if (run->count_tree._bytes_max)
        drain_tree(run->counter);
    if (run->has_tree)
        drain_tree(run->workers[0]);
    run->has_tree = false;
    run->base = NULL;
}

/* The pass after this one, or done. */
static void next_pass(struct weir__copy *run)
{
    const struct weir__copy_options *options = run->options;
    if (run->has_overlap && run->pass + 1 < options->sources_count) {
        run->pass++;
        return;
    }
    run->pass = 0;
    bool is_held = run->has_source_errors && !options->delete_despite_errors;
    switch (run->phase) {
    case WEIR__PHASE_COUNT: /* not of a run */
    case WEIR__PHASE_CHECK:
        run->phase = is_held ? WEIR__PHASE_COPY : WEIR__PHASE_ERASE_BEFORE;
        run->counts.delete_held = is_held;
        return;
    case WEIR__PHASE_ERASE_BEFORE:
        run->phase = WEIR__PHASE_COPY;
        return;
    case WEIR__PHASE_COPY:
        /* What could not be written may be about to replace what would be deleted. */
        is_held = is_held || (run->counts.errors > 0 && !options->delete_despite_errors);
        if (options->delete_when == WEIR__DELETE_AFTER) {
            run->counts.delete_held = is_held;
            run->phase = is_held ? WEIR__PHASE_DONE : WEIR__PHASE_ERASE_AFTER;
            return;
        }
        /* fall through */
    case WEIR__PHASE_ERASE_AFTER:
    case WEIR__PHASE_DONE:
        run->phase = WEIR__PHASE_DONE;
    }
}

/* --- life cycle --- */

static void run_free(struct weir__copy *run)
{
    if (!run)
        return;
    weir__name_unguard(run);
    for (unsigned i = 0; run->workers && i < run->threads; i++)
        weir__worker_free(run->workers[i]);
    weir__base_free(run->workers);
    weir__worker_free(run->counter);
    weir__operands_fini(run);
    weir__links_free(run->links);
    weir__data_choice_free(run->choice);
    if (run->has_rate)
        weir_rate_fini(&run->rate);
    if (run->has_adapt)
        weir_adapt_fini(&run->adapt);
    if (run->has_large)
        weir_budget_fini(&run->large);
    if (run->has_dirs)
        weir_budget_fini(&run->dirs);
    if (run->has_bytes)
        weir_budget_fini(&run->bytes);
    if (run->has_files)
        weir_budget_fini(&run->files);
    weir_crew_free(run->crew);
    weir_cancel_fini(&run->count_stop);
    weir_cancel_fini(&run->stop);
    weir__base_free(run);
}

static int init_parts(struct weir__copy *run)
{
    const struct weir__copy_options *options = run->options;
    int result = init_limits(run);
    if (result == 0)
        result = weir__data_choice_new(&run->choice, options->data_path);
    struct weir__links_options links = {.bytes_max = options->table_bytes};
    if (result == 0 && options->hard_links)
        result = weir__links_new(&run->links, &links);
    struct weir_crew_options crew = {.threads_max = run->threads + 1, .drain_ns = DRAIN_NS};
    if (result == 0)
        result = weir_crew_new(&run->crew, "copy", &crew);
    if (result < 0)
        return result;
    run->workers = weir__base_alloc(run->threads, sizeof(struct weir__worker *));
    if (!run->workers)
        return -WEIR_E_NO_MEMORY;
    for (unsigned i = 0; i < run->threads; i++) {
        result = weir__worker_new(&run->workers[i], run);
        if (result < 0)
            return result;
        run->workers[i]->temp_next = (uint64_t)i << 48;
    }
    if (options->count && !options->files_from)
        return weir__worker_new(&run->counter, run);
    return 0;
}

/* A list that cannot be read is found out before anything is made. */
static int check_list(struct weir__copy *run)
{
    const char *list = run->options->files_from;
    if (!list || strcmp(list, "-") == 0)
        return 0;
    int fd = weir__sys_openat(AT_FDCWD, list, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) {
        char shown[PATH_MAX];
        struct weir__copy_event event = {.kind = WEIR__EVENT_ERROR,
                                         .path =
                                             weir__cover_clip(shown, sizeof(shown), list, SIZE_MAX),
                                         .what = "cannot open",
                                         .errno_value = errno};
        int error = weir_error_from_errno(errno);
        if (run->hooks.event)
            run->hooks.event(run->hooks.arg, &event);
        return error;
    }
    weir__sys_close(fd);
    return 0;
}

int weir__copy_start(struct weir__copy **ret_run, const struct weir__copy_options *options,
                     const struct weir__copy_hooks *hooks)
{
    struct weir__copy *run = weir__base_alloc(1, sizeof(*run));
    if (!run)
        return -WEIR_E_NO_MEMORY;
    run->options = options;
    run->hooks = *hooks;
    run->base_fd = run->guard_fd = run->marker_fd = -1;
    weir_cancel_init(&run->stop, NULL);
    weir_cancel_init(&run->count_stop, &run->stop);
    weir_lock_init(&run->fds_lock, &fds_class);
    weir_lock_init(&run->big_lock, &big_class);
    weir_lock_init(&run->counts_lock, &counts_class);
    run->boot = weir__name_boot();
    if (getrandom(&run->id, sizeof(run->id), GRND_NONBLOCK) != sizeof(run->id))
        run->id = weir_now_ns() ^ ((uint64_t)getpid() << 40);
    init_rules(run);
    int result = check_list(run);
    if (result == 0)
        result = weir__operands_sources(run);
    if (result == 0)
        result = weir__operands_destination(run);
    if (result == 0)
        result = init_parts(run);
    run->phase = options->delete_when == WEIR__DELETE_BEFORE ? WEIR__PHASE_CHECK : WEIR__PHASE_COPY;
    if (result == 0 && options->fail_fast && run->counts.errors > 0) { /* a source is missing */
        run->is_stopped_by_error = true;
        weir_cancel_fire(&run->stop);
        run->phase = WEIR__PHASE_DONE;
    } else if (result == 0) {
        weir__name_guard(run);
        result = start_pass(run);
        if (result < 0) {
            weir_cancel_fire(&run->stop);
            end_pass(run);
        }
    }
    if (result < 0) {
        run_free(run);
        return result;
    }
    *ret_run = run;
    return 0;
}

int weir__copy_wait(struct weir__copy *run, const struct weir_deadline *deadline)
{
    while (run->phase != WEIR__PHASE_DONE) {
        int result = weir_crew_wait(run->crew, deadline);
        if (result < 0)
            return result;
        end_pass(run);
        next_pass(run);
        if (weir_cancel_is_fired(&run->stop))
            run->phase = WEIR__PHASE_DONE;
        if (run->phase == WEIR__PHASE_DONE)
            break;
        result = start_pass(run);
        if (result < 0) {
            /* What was laid out is let go of and not finished. */
            const char *why = result == -WEIR_E_BUSY ? "no thread can be had (ulimit -u, pids.max)"
                                                     : weir_error_text(result);
            struct weir__copy_event event = {.kind = WEIR__EVENT_ERROR,
                                             .path = run->options->destination,
                                             .what = "cannot go on with",
                                             .detail = why};
            if (run->hooks.event)
                run->hooks.event(run->hooks.arg, &event);
            run->counts.errors++;
            run->is_stopped_by_error = true;
            weir_cancel_fire(&run->stop);
            end_pass(run);
            run->phase = WEIR__PHASE_DONE;
        }
    }
    return 0;
}

void weir__copy_stop(struct weir__copy *run)
{
    weir_cancel_fire(&run->stop);
}

void weir__copy_read(struct weir__copy *run, struct weir__copy_stats *ret_stats)
{
    struct weir_adapt_stats adapt;
    weir_adapt_read(&run->adapt, &adapt);
    weir_lock_acquire(&run->counts_lock);
    *ret_stats = run->counts;
    ret_stats->is_discovered = run->is_counted;
    if (run->is_counted && run->counted_bytes > ret_stats->bytes_total)
        ret_stats->bytes_total = run->counted_bytes;
    ret_stats->items_total = run->is_counted ? run->counted_items : 0;
    weir_lock_release(&run->counts_lock);
    struct weir_budget_stats files;
    weir_budget_read(&run->files, &files);
    ret_stats->in_flight = files.in_use;
    ret_stats->files_limit = files.capacity;
    ret_stats->limit_cuts = adapt.epoch;
    if (run->links)
        ret_stats->spilled_bytes += weir__links_spilled_most(run->links);
    if (run->phase == WEIR__PHASE_DONE)
        ret_stats->is_discovered = true;
}

/* All that was written reaches the disk before the run says that it is done. */
static void sync_all(struct weir__copy *run)
{
    if (run->options->fsync == WEIR__FSYNC_NEVER || run->options->dry_run)
        return;
    if (run->base_fd >= 0 && weir__sys_syncfs(run->base_fd) < 0)
        weir__tell_error(run->workers[0], NULL, run->options->destination, "cannot sync", errno);
}

int weir__copy_finish(struct weir__copy *run, struct weir__copy_stats *ret_stats)
{
    if (run->phase != WEIR__PHASE_DONE)
        weir_cancel_fire(&run->stop);
    struct weir_crew_report report;
    weir_crew_drain(run->crew, &report);
    uint64_t abandoned = 0;
    for (uint64_t i = 0; i < report.kind_count; i++)
        abandoned += report.kinds[i].abandoned;
    if (abandoned > 0) {
        /* Somebody is stuck in the kernel and still uses all this: it is left to him. */
        weir__copy_read(run, ret_stats);
        return -WEIR_E_INCOMPLETE;
    }
    end_pass(run);
    bool is_stopped = weir_cancel_is_fired(&run->stop) && !run->is_stopped_by_error;
    sync_all(run);
    weir__copy_read(run, ret_stats);
    ret_stats->is_discovered = true;
    int result = is_stopped ? -WEIR_E_CANCELED
                 : ret_stats->errors > 0 || ret_stats->delete_limited || ret_stats->delete_held
                     ? -WEIR_E_INCOMPLETE
                     : 0;
    run_free(run);
    return result;
}
