/* worker.c - one thread of a copy: takes what is to do, in an order that suits the disk.
 *
 * A directory is read a window at a time. Its directories go onto the stack, its other entries are
 * done by this thread in order of their inodes, or offered to threads that are idle. In that order
 * inode tables are read front to back.
 *
 * A file whose data are not in memory is not waited for: its reading is started, it is put off, and
 * when the thread has put off as many as it may, it completes the oldest, which has arrived by
 * then. So a cold disk always has work queued, and a warm one never sees any of this.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "sys.h"

#include "banned.h"

/* Between two tries of something that met EMFILE or ENOMEM. */
#define RELIEF_NS (5 * WEIR_NS_PER_MS)

int weir__worker_new(struct weir__worker **ret_worker, struct weir__copy *run)
{
    struct weir__worker *w = weir__base_alloc(1, sizeof(*w));
    if (!w)
        return -WEIR_E_NO_MEMORY;
    w->run = run;
    w->tree = &run->tree;
    w->stop = &run->stop;
    w->made_uid = geteuid();
    w->made_gid = getegid();
    weir__meta_scratch_init(&w->scratch);
    weir__buffer_init(&w->path, WEIR__PATH_BYTES);
    weir__buffer_init(&w->other_path, WEIR__PATH_BYTES);
    weir__buffer_init(&w->text, WEIR__IGNORE_FILE_MAX);
    w->window = weir__base_alloc(1, WEIR__WINDOW_SIZE);
    w->items = weir__base_alloc(WEIR__WINDOW_MAX, sizeof(*w->items));
    w->late = weir__base_alloc(WEIR__LATE_MAX, sizeof(struct weir__job *));
    const struct weir__copy_options *options = run->options;
    int result = !w->window || !w->items || !w->late
                     ? -WEIR_E_NO_MEMORY
                     : weir__mover_init(&w->mover, run->choice, options->reflink, options->sparse,
                                        run->has_rate ? &run->rate : NULL);
    if (result < 0) {
        weir__worker_free(w);
        return result;
    }
    weir__mover_watch(&w->mover, weir__large_tick, w);
    *ret_worker = w;
    return 0;
}

void weir__worker_free(struct weir__worker *w)
{
    if (!w)
        return;
    weir__ahead_fini(&w->ahead);
    weir__mover_fini(&w->mover);
    weir__meta_scratch_fini(&w->scratch);
    weir__buffer_fini(&w->path);
    weir__buffer_fini(&w->other_path);
    weir__buffer_fini(&w->text);
    weir__base_free(w->window);
    weir__base_free(w->items);
    weir__base_free(w->late);
    weir__base_free(w);
}

bool weir__is_stopped(const struct weir__worker *w)
{
    return weir_cancel_is_fired(w->stop);
}

struct weir_deadline weir__stop_deadline(const struct weir__worker *w)
{
    return weir_deadline_until(w->stop);
}

int weir__worker_admit(struct weir__worker *w, struct weir_budget *budget, uint64_t n,
                       struct weir_permit *permit)
{
    if (weir__is_stopped(w))
        return -WEIR_E_CANCELED;
    int result = weir_budget_try(budget, n, permit);
    while (result == -WEIR_E_BUSY && w->late_count + w->ahead.count > 0) {
        weir__worker_complete_late(w, w->late_count + w->ahead.count - 1);
        result = weir_budget_try(budget, n, permit);
    }
    if (result == -WEIR_E_BUSY) {
        struct weir_deadline deadline = weir__stop_deadline(w);
        result = weir_budget_acquire(budget, n, permit, &deadline);
    }
    return result;
}

bool weir__is_overload(int errno_value)
{
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM;
}

void weir__worker_relieve(struct weir__worker *w, struct weir__job *job, int errno_value)
{
    struct weir__copy *run = w->run;
    weir_adapt_report(&run->adapt, job->epoch, weir_error_from_errno(errno_value));
    job->epoch = weir_adapt_epoch(&run->adapt);
    weir__dir_close_idle(w);
    if (!w->is_relieving) {
        w->is_relieving = true;
        weir__worker_complete_late(w, 0);
        w->is_relieving = false;
    }
    struct weir_deadline pause = weir_deadline_in(RELIEF_NS, w->stop);
    weir_deadline_sleep(&pause);
}

/* --- files that were put off --- */

static void complete_oldest(struct weir__worker *w)
{
    struct weir__job *job = w->late[w->late_first];
    w->late_first = (w->late_first + 1) % WEIR__LATE_MAX;
    w->late_count--;
    weir__file_late(w, job);
}

bool weir__worker_put_off(struct weir__worker *w, struct weir__job *job)
{
    if (w->is_relieving)
        return false;
    struct weir__job *kept = weir__entry_keep(w, job);
    if (!kept)
        return false;
    if (w->late_count == WEIR__LATE_MAX)
        complete_oldest(w);
    w->late[(w->late_first + w->late_count++) % WEIR__LATE_MAX] = kept;
    return true;
}

void weir__worker_complete_late(struct weir__worker *w, unsigned leave)
{
    while (w->late_count > 0 && w->late_count + w->ahead.count > leave)
        complete_oldest(w);
    weir__ahead_complete(w, leave);
}

/* --- reading a directory --- */

static int by_inode(const void *a, const void *b)
{
    uint64_t left = ((const struct weir__item *)a)->inode;
    uint64_t right = ((const struct weir__item *)b)->inode;
    return left < right ? -1 : left > right;
}

bool weir__worker_is_excluded(struct weir__worker *w, struct weir__dir *dir, const char *name,
                              bool is_dir)
{
    const struct weir__filter *filter = w->run->options->filter;
    const char *path = NULL;
    if ((filter && weir__filter_needs_path(filter)) || dir->ignore_in_use)
        path = weir__tell_path_whole(w, WEIR__PATH_SHOWN, dir, name);
    if (!path && ((filter && weir__filter_needs_path(filter)) || dir->ignore_in_use)) {
        weir__tell_source_error(w, dir, name, "cannot apply the rules to", ENOMEM);
        return true;
    }
    if (filter && weir__filter_match(filter, path, name, is_dir) == WEIR__FILTER_EXCLUDE)
        return true;
    return dir->ignore_in_use && weir__ignore_is_ignored(dir->ignore_in_use, path, is_dir);
}

/* The type of an entry where the file system does not say. DT_UNKNOWN: it is gone. */
static unsigned char type_of(int dir_fd, const struct weir__dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (weir__sys_fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_REG; /* whoever opens it will tell why that fails */
    return (unsigned char)IFTODT(st.st_mode);
}

bool weir__worker_is_wanted(struct weir__worker *w, struct weir__dir *dir, const char *name,
                            unsigned char type)
{
    if ((w->run->options->filter || dir->ignore_in_use) &&
        weir__worker_is_excluded(w, dir, name, type == DT_DIR)) {
        weir__tell_skipped(w, dir, name, "excluded");
        return false;
    }
    if (type == DT_DIR && !w->run->options->recursive && !w->run->options->files_from) {
        weir__tell_skipped(w, dir, name, "a directory");
        return false;
    }
    return true;
}

/* Names of a run of items, as a segment. */
static struct weir__segment *pack(struct weir__dir *dir, enum weir__segment_kind kind,
                                  const struct weir__item *items, size_t count)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += strlen(items[i].entry->d_name) + 3;
    struct weir__segment *segment = weir__segment_new(kind, &dir->node, room);
    for (size_t i = 0; segment && i < count; i++)
        if (!weir__segment_add(segment, items[i].entry->d_type, items[i].entry->d_name,
                               strlen(items[i].entry->d_name))) {
            weir__segment_free(segment);
            return NULL;
        }
    return segment;
}

static void push_dirs(struct weir__worker *w, struct weir__dir *dir, struct weir__item *items,
                      size_t count)
{
    if (count == 0)
        return;
    qsort(items, count, sizeof(*items), by_inode);
    struct weir__segment *segment = pack(dir, WEIR__SEGMENT_DIRS, items, count);
    int result = segment ? weir__tree_push(w->tree, segment) : -WEIR_E_NO_MEMORY;
    if (result == 0)
        return;
    weir__segment_free(segment);
    for (size_t i = 0; i < count; i++)
        weir__tell_source_error(w, dir, items[i].entry->d_name, "cannot remember",
                                result == -WEIR_E_NO_MEMORY ? ENOMEM : errno);
}

/* Directories in one that a list names with a slash: made, and not entered. */
static void make_dirs(struct weir__worker *w, struct weir__dir *dir, const struct weir__item *items,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir__dir *made = weir__enter_only(w, dir, items[i].entry->d_name);
        if (made)
            weir__dir_drop(w, made);
    }
}

/* Gives names to a thread that has nothing to do. */
static bool share(struct weir__worker *w, struct weir__dir *dir, const struct weir__item *items,
                  size_t count)
{
    if (count < 2 || !weir__tree_is_idle_wanted(w->tree))
        return false;
    struct weir__segment *segment = pack(dir, WEIR__SEGMENT_FILES, items, count);
    if (segment && weir__tree_offer(w->tree, segment))
        return true;
    weir__segment_free(segment);
    return false;
}

/* For the progress line. What cannot be looked at is told by the copy. */
static void count_files(struct weir__worker *w, struct weir__dir *dir,
                        const struct weir__item *items, size_t count)
{
    uint64_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < count && !weir__is_stopped(w); i++)
        if (items[i].entry->d_type == DT_REG &&
            weir__sys_fstatat(dir->src_fd, items[i].entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)st.st_size;
    weir_lock_acquire(&w->run->counts_lock);
    w->run->counted_bytes += bytes;
    w->run->counted_items += count;
    weir_lock_release(&w->run->counts_lock);
}

static void count_operand(struct weir__worker *w, struct weir__dir *dir, const char *name)
{
    struct stat st;
    bool is_file =
        weir__sys_fstatat(dir->src_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    weir_lock_acquire(&w->run->counts_lock);
    w->run->counted_bytes += is_file ? (uint64_t)st.st_size : 0;
    w->run->counted_items++;
    weir_lock_release(&w->run->counts_lock);
}

static void do_files(struct weir__worker *w, struct weir__dir *dir, struct weir__item *items,
                     size_t count)
{
    qsort(items, count, sizeof(*items), by_inode);
    if (w->phase == WEIR__PHASE_COUNT) {
        count_files(w, dir, items, count);
        return;
    }
    for (size_t at = 0; at < count && !weir__is_stopped(w);) {
        size_t part = count - at < WEIR__SHARE_COUNT ? count - at : WEIR__SHARE_COUNT;
        /* The first part is ours, so that offering never leaves us idle ourselves. */
        if (at == 0 || !share(w, dir, items + at, part))
            for (size_t i = at; i < at + part; i++)
                weir__entry(w, dir, items[i].entry->d_name, items[i].entry->d_type);
        at += part;
    }
}

/* Directories are gathered at the end of the items, other entries at their beginning. */
static void do_window(struct weir__worker *w, struct weir__dir *dir, int fd, size_t size)
{
    bool is_erasing = w->phase != WEIR__PHASE_COPY && w->phase != WEIR__PHASE_COUNT;
    size_t files = 0, dirs = 0;
    for (size_t at = 0; at < size;) {
        struct weir__dirent *entry = (struct weir__dirent *)(void *)(w->window + at);
        const char *name = entry->d_name;
        at += entry->d_reclen;
        if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
            continue;
        entry->d_type = type_of(fd, entry);
        bool is_dir = entry->d_type == DT_DIR;
        if (is_erasing)
            weir__erase_entry(w, dir, name, entry->d_type, &is_dir);
        if (is_erasing ? !is_dir : !weir__worker_is_wanted(w, dir, name, entry->d_type))
            continue;
        struct weir__item *item =
            is_dir ? &w->items[WEIR__WINDOW_MAX - ++dirs] : &w->items[files++];
        item->inode = entry->d_ino;
        item->entry = entry;
    }
    if (w->run->options->files_from && !w->run->options->recursive)
        make_dirs(w, dir, w->items + WEIR__WINDOW_MAX - dirs, dirs);
    else
        push_dirs(w, dir, w->items + WEIR__WINDOW_MAX - dirs, dirs);
    do_files(w, dir, w->items, files);
}

void weir__worker_list(struct weir__worker *w, struct weir__dir *dir)
{
    bool is_erasing = w->phase == WEIR__PHASE_ERASE_BEFORE || w->phase == WEIR__PHASE_ERASE_AFTER;
    int fd = is_erasing ? dir->dst_fd : dir->src_fd;
    while (fd >= 0 && !weir__is_stopped(w)) {
        ssize_t size = weir__sys_getdents(fd, w->window, WEIR__WINDOW_SIZE);
        if (size < 0 && is_erasing)
            weir__tell_error(w, dir, NULL, "cannot list", errno);
        else if (size < 0)
            weir__tell_source_error(w, dir, NULL, "cannot list", errno);
        if (size <= 0)
            return;
        do_window(w, dir, fd, (size_t)size);
    }
}

/* --- the loop --- */

static void do_offer(struct weir__worker *w, struct weir__segment *offer)
{
    struct weir__dir *dir = (struct weir__dir *)offer->node;
    if (offer->kind == WEIR__SEGMENT_HELP && !offer->help) {
        weir__list_main(w, dir);
    } else if (offer->kind == WEIR__SEGMENT_HELP) {
        weir__file_help(w, offer->help);
    } else if (weir__dir_pin(w, dir) < 0) {
        weir__tell_source_error(w, dir, NULL, "cannot open again", errno);
    } else {
        unsigned char type;
        size_t length;
        const char *name;
        while (!weir__is_stopped(w) && (name = weir__segment_next(offer, &type, &length)))
            weir__entry(w, dir, name, type);
        weir__dir_unpin(w, dir);
    }
    weir__segment_free(offer);
    weir__dir_drop(w, dir);
}

int weir__worker_main(struct weir_crew_self *self, void *arg)
{
    (void)self;
    struct weir__worker *w = arg;
    struct weir__tree *tree = w->tree;
    for (;;) {
        struct weir__tree_item item;
        int result = weir__is_stopped(w) ? -WEIR_E_CANCELED : weir__tree_try(tree, &item);
        if (result == -WEIR_E_NOT_FOUND) {
            weir__worker_complete_late(w, 0);
            weir__tell_counts(w);
            struct weir_deadline deadline = weir__stop_deadline(w);
            result = weir__tree_take(tree, &item, &deadline);
        }
        if (result == -WEIR_E_CLOSED || result == -WEIR_E_CANCELED)
            break;
        struct weir__dir *dir = (struct weir__dir *)item.node;
        if (result < 0) {
            weir__tell_source_error(w, dir, NULL, "cannot remember what is in",
                                    result == -WEIR_E_NO_MEMORY ? ENOMEM : EIO);
            while (item.length-- > 0)
                weir__dir_drop(w, dir);
        } else if (item.offer) {
            do_offer(w, item.offer);
        } else if (item.type == DT_DIR) {
            weir__enter(w, dir, item.name);
        } else if (w->phase == WEIR__PHASE_COUNT) {
            count_operand(w, dir, item.name);
            weir__dir_drop(w, dir);
        } else {
            /* An operand that is not a directory. Where it lies is never closed. */
            weir__entry(w, dir, item.name, item.type);
            weir__dir_drop(w, dir);
        }
    }
    weir__worker_complete_late(w, 0);
    weir__tell_counts(w);
    /* Nobody needs to know how much there is when all of it is done. */
    if (w->phase == WEIR__PHASE_COPY)
        weir_cancel_fire(&w->run->count_stop);
    return 0;
}
