/* scan_archive.c - files that are archives: what is in them goes through the scanner.
 *
 * An archive is admitted as one job, behind the tokens of its file, in this order, each step in its
 * line and none twice: the pool (the memory that its decoder may take and that its members in work
 * take, and leave to spill, all or nothing), then, if it is large enough to be mapped, a slot of
 * the disk that it lies on. What holds these waits for nothing but its decoder, so nobody can wait
 * for himself. The permit of the pool goes home when the archive's last member is done.
 *
 * There are as many decoders as archives are in work at once. Behind an archive its decoder is put
 * aside, and whoever is admitted next takes it. That is for the threads of the run's crew, which
 * all live until the last archive is done: the kernel ends a decoder with the thread that started
 * it. Others keep one of their own if there is memory for that, else it is ended with the archive.
 *
 * Members come one after the other. A small one is handed over (scan_members.c) when another thread
 * has nothing to do; the frontier of the archive says how many may be out at once, and how many
 * bytes of them. When it says no, the thread that walks scans the member itself.
 */
#include "scan_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive_walker.h"
#include "job_mutants.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

/* --- the run --- */

#define MiB (UINT64_C(1) << 20)

static uint64_t mebibytes(uint64_t bytes)
{
    return (bytes + MiB - 1) / MiB;
}

/* What a decoder that has nothing to do may still hold. */
#define IDLE_BYTES (UINT64_C(8) << 20)
_Static_assert(WEIR__ARCHIVE_MEMORY_MIN > IDLE_BYTES, "the largest share is larger than another");

/* What keeps all of them from being opened: one takes so much, and there is so much. */
static void say_why_not(const struct weir__scan_options *options, uint64_t one, uint64_t all,
                        char why[WEIR__SCAN_WHY_MAX])
{
    bool is_ring = options->ring_bytes > 0 && options->ring_bytes == options->archives_bytes;
    uint64_t least = is_ring ? one : options->archives_least;
    why[0] = '\0';
    if (options->archives.depth_max == 0) {
        snprintf(why, WEIR__SCAN_WHY_MAX, "the depth of archives is 0");
    } else if (all < one) {
        int length = snprintf(
            why, WEIR__SCAN_WHY_MAX, "what reads it takes %" PRIu64 " MiB, and %s %" PRIu64,
            mebibytes(one), is_ring ? "the scan ring has" : "there are", all / MiB);
        if (least > 0)
            snprintf(why + length, WEIR__SCAN_WHY_MAX - (size_t)length,
                     ": set --%s=%" PRIu64 "M or more", is_ring ? "scan-ring" : "max-memory",
                     mebibytes(least));
    }
}

int weir__scan_archives_init(struct weir__scan *run)
{
    const struct weir__scan_options *options = run->options;
    struct weir__scan_archives *archives = &run->archives;
    uint64_t one = options->archives.memory_max + WEIR__SCAN_MEMBERS_BYTES;
    uint64_t all = options->archives_bytes ? options->archives_bytes : one * run->threads;
    say_why_not(options, one, all, archives->why);
    if (archives->why[0])
        return 0; /* told at each archive */
    struct weir_pool_config config = {
        .scan_ring_bytes = all,
        .delta_cache_bytes = 1,
        .spill_slots = options->spill_slots ? options->spill_slots : WEIR_POOL_SPILL_SLOTS_DEFAULT,
    };
    archives->bytes = one;
    archives->members_max = WEIR__SCAN_MEMBERS_MAX;
    archives->is_child_kept = all / one >= run->threads;
    uint64_t decoders = archives->is_child_kept ? run->threads : all / one;
    archives->bytes_most = all - (decoders - 1) * IDLE_BYTES;
    int result = weir_pool_init(&archives->pool, "scan-archives", &config);
    archives->has_pool = result == 0;
    if (result == 0) {
        result = weir_slots_init(&archives->slots, "scan-disks", options->slots);
        archives->has_slots = result == 0;
    }
    return result;
}

/* --- decoders that are put aside --- */

static void put_aside(struct weir__scan_worker *w)
{
    struct weir__scan_archives *archives = &w->run->archives;
    weir_lock_acquire(&w->run->lock);
    w->walker->next = archives->aside;
    archives->aside = w->walker;
    weir_lock_release(&w->run->lock);
    w->walker = NULL;
}

static struct weir__archive_walker *take_aside(struct weir__scan *run)
{
    weir_lock_acquire(&run->lock);
    struct weir__archive_walker *walker = run->archives.aside;
    if (walker)
        run->archives.aside = walker->next;
    weir_lock_release(&run->lock);
    return walker;
}

void weir__scan_archives_fini(struct weir__scan *run)
{
    for (struct weir__archive_walker *one = run->archives.aside, *next; one; one = next) {
        next = one->next;
        weir__archive_walker_free(one);
    }
    run->archives.aside = NULL;
    if (run->archives.has_slots)
        weir_slots_fini(&run->archives.slots);
    if (run->archives.has_pool)
        weir_pool_fini(&run->archives.pool);
}

/* --- members --- */

#define SKIP_MIN 4096u

enum member_state {
    MEMBER_NONE,
    MEMBER_HELD, /* in w->member, perhaps for somebody else */
    MEMBER_OPEN, /* in the scanner */
    MEMBER_LEFT, /* by an allow list, or after a failure that was told */
};

struct walk {
    struct weir__scan_worker *w;
    struct weir__scan_archive *archive;
    size_t path_length; /* of the file */
    uint64_t at;        /* in the member */
    enum member_state state;
    bool has_begun, has_told;
    bool is_scanned; /* the file's own bytes were, as they came */
    bool has_grown;  /* its decoder is larger than others */
    const struct stat *st;
    struct weir_slots_permit slot; /* of the disk, if it is mapped */
    char why[WEIR__SCAN_WHY_MAX];  /* it failed, if it did */
};

static void open_member(struct walk *walk)
{
    walk->at = 0;
    walk->state = weir__scan_object_begin(walk->w) ? MEMBER_OPEN : MEMBER_LEFT;
}

static void feed_member(struct walk *walk, const char *bytes, size_t length)
{
    if (walk->state != MEMBER_OPEN || length == 0)
        return;
    if (!weir__scan_object_feed(walk->w, bytes, length)) {
        walk->state = MEMBER_LEFT;
        return;
    }
    walk->at += length;
    if (!walk->w->is_beside)
        weir__scan_object_count(walk->w, walk->at);
}

static void open_held(struct walk *walk)
{
    struct weir__buffer *held = &walk->w->member;
    open_member(walk);
    feed_member(walk, weir__buffer_text(held), weir__buffer_length(held));
}

/* Whether it is the file itself, whose bytes are known. */
static bool was_scanned(const struct walk *walk, const char *path)
{
    return walk->is_scanned && path[walk->path_length] == '\0';
}

/* False: it is left, as it was scanned before or cannot be, which is told. */
static bool set_member_path(struct walk *walk, const char *path)
{
    struct weir__scan_worker *w = walk->w;
    walk->state = MEMBER_LEFT;
    if (was_scanned(walk, path))
        return false;
    weir__buffer_truncate(&w->path, walk->path_length);
    if (weir__buffer_puts(&w->path, path + walk->path_length) == 0)
        return true;
    weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
    return false;
}

static int on_begin(void *arg, const char *path)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    walk->has_begun = true;
    if (!set_member_path(walk, path))
        return 0;
    if (weir__scanner_skips(w->scanner, path)) {
        w->counts.allowed_paths++;
    } else if (!w->brought && weir__scan_archive_has_help(walk->archive)) {
        weir__buffer_truncate(&w->member, 0);
        walk->state = MEMBER_HELD;
    } else {
        open_member(walk);
    }
    return 0;
}

/* Of a container, beside its members: looked at by this thread, and no member. */
static int on_own(void *arg, const char *path)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    if (set_member_path(walk, path) && !weir__scanner_skips(w->scanner, path)) {
        w->is_beside = true;
        open_member(walk);
    }
    return 0;
}

/* What is short is zeros for the scanner, which is faster than to begin again behind it. Lines end
 * where they do as far as that is known. */
static bool feed_zeros(struct weir__scan_worker *w, const struct weir__archive_skip *skip)
{
    char zeros[SKIP_MIN];
    size_t length = (size_t)skip->length, lines = (size_t)skip->lines;
    memset(zeros, 0, length);
    if (lines > 0) {
        memset(zeros, '\n', lines - 1);
        zeros[length - (size_t)skip->behind - 1] = '\n';
    }
    return weir__scan_object_feed(w, zeros, length);
}

static int on_skip(void *arg, const struct weir__archive_skip *skip)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    if (walk->state == MEMBER_HELD)
        open_held(walk);
    if (walk->state != MEMBER_OPEN)
        return 0;
    if (skip->length < SKIP_MIN) {
        if (!feed_zeros(w, skip))
            walk->state = MEMBER_LEFT;
        return 0;
    }
    int result = weir__scanner_skip(w->scanner, skip->length);
    if (result == 0)
        weir__scanner_skipped_lines(w->scanner, skip->lines, skip->behind);
    if (result < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan", weir_error_text(result));
        walk->state = MEMBER_LEFT;
    }
    return 0;
}

static int on_bytes(void *arg, const char *bytes, size_t length)
{
    struct walk *walk = arg;
    if (weir__scan_is_stopped(walk->w))
        return -WEIR_E_CANCELED;
    if (walk->state == MEMBER_HELD) {
        if (weir__buffer_append(&walk->w->member, bytes, length) == 0)
            return 0;
        open_held(walk);
    }
    feed_member(walk, bytes, length);
    return 0;
}

static int on_end(void *arg, bool is_complete)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    (void)is_complete; /* what is missing is told by itself */
    if (walk->state == MEMBER_HELD &&
        !weir__scan_archive_hand_over(walk->archive, &w->path, &w->member))
        open_held(walk);
    if (walk->state == MEMBER_OPEN && weir__scan_object_end(w) && !w->is_beside)
        w->counts.members++;
    w->is_beside = false;
    walk->state = MEMBER_NONE;
    if (w->counts.bytes >= 4 * WEIR__SCAN_READ_SIZE)
        weir__scan_count(w);
    return weir__scan_is_stopped(w) ? -WEIR_E_CANCELED : 0;
}

static void on_unscanned(void *arg, const char *path, const char *reason)
{
    struct walk *walk = arg;
    if (weir__scan_is_stopped(walk->w))
        return;
    walk->has_told = true;
    if (strcmp(reason, "encrypted") == 0)
        weir__scan_tell(walk->w, path, "cannot unpack", reason);
    else
        weir__scan_tell_partial(walk->w, path, "cannot unpack all of", reason);
}

/* --- the walk --- */

static const char no_leave[] =
    "it takes a temporary file, and none is allowed: raise --spill-slots";

void weir__scan_archive_unopened(struct weir__scan_worker *w, const char *format, const char *why)
{
    char text[384];
    snprintf(text, sizeof(text), "archive not opened (%.40s): %.300s",
             format ? format : "if one is behind the program", why);
    w->counts.archives_unopened++;
    weir_lock_acquire(&w->run->lock);
    w->run->archives.refused += !w->run->archives.has_pool || why == no_leave;
    weir_lock_release(&w->run->lock);
    weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot look into", text);
}

const char *weir__scan_archive_why_not(const struct weir__scan *run, bool is_stream)
{
    if (!run->archives.has_pool)
        return run->archives.why;
    return is_stream && run->options->has_no_spill ? no_leave : NULL;
}

/* What the thread needs for every archive. */
static int equip(struct weir__scan_worker *w)
{
    const struct weir__scan_options *options = w->run->options;
    int result = 0;
    if (!w->walker && w->is_of_crew)
        w->walker = take_aside(w->run);
    if (!w->walker)
        result = weir__archive_walker_new(&w->walker, &options->archives);
    if (result == 0)
        w->walker->is_passed_on = w->is_of_crew;
    if (result < 0 || options->has_no_spill)
        return result;
    /* Without one, members that would need it are told. */
    if (!w->has_spill) {
        w->spill = weir__scan_spill_open();
        w->has_spill = w->spill >= 0;
    }
    weir__archive_walker_spill(w->walker, w->has_spill ? w->spill : -1);
    return 0;
}

static int take_slot(struct weir__scan_worker *w, const struct stat *st,
                     struct weir_slots_permit *ret_slot)
{
    struct weir__scan_archives *archives = &w->run->archives;
    struct weir_deadline deadline = weir_deadline_until(&w->run->stop);
    struct weir_device_info info;
    if ((uint64_t)st->st_size < w->run->options->archives.map_from)
        return 0;
    if (!w->has_disk || w->disk_of != st->st_dev) {
        weir_device_find_number(st->st_dev, NULL, &info);
        w->disk = info.device;
        w->disk_of = st->st_dev;
        w->has_disk = true;
    }
    int result = weir_slots_acquire(&archives->slots, w->disk, ret_slot, &deadline);
    if (result == 0)
        weir__scan_held_note(w->run, &archives->held, &archives->pool, &archives->slots);
    return result;
}

/* The decoder needs more memory than its share: it is given all that there is, in its turn. What is
 * held of the disk goes first, since whoever has the pool may wait for it. */
static uint64_t on_grow(void *arg)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    const struct weir__scan_archives *archives = &w->run->archives;
    if (archives->bytes_most <= archives->bytes)
        return 0;
    walk->has_grown = true;
    weir_slots_release(&walk->slot);
    int result = weir__scan_archive_grow(w, walk->archive);
    weir__buffer_truncate(&w->path, walk->path_length);
    if (result == 0)
        result = take_slot(w, walk->st, &walk->slot);
    return result == 0 ? archives->bytes_most - WEIR__SCAN_MEMBERS_BYTES : 0;
}

/* Gives back what the archive needed beyond the next one's need. */
static void tidy(struct weir__scan_worker *w, bool has_grown)
{
    struct stat st;
    if (w->has_spill && (weir__sys_fstat(w->spill, &st) != 0 || st.st_size > 0) &&
        weir__sys_ftruncate(w->spill, 0) != 0) {
        weir__sys_close_at(&w->spill);
        w->has_spill = false;
    }
    if (has_grown || (!w->is_of_crew && !w->run->archives.is_child_kept)) {
        weir__archive_walker_free(w->walker);
        w->walker = NULL;
    } else if (w->is_of_crew && w->walker) {
        put_aside(w);
    }
}

static int walk_file(struct walk *walk, int fd, const struct stat *st)
{
    struct weir__scan_worker *w = walk->w;
    const struct weir__archive_hooks hooks = {
        .begin = on_begin,
        .bytes = on_bytes,
        .end = on_end,
        .unscanned = on_unscanned,
        .grow = on_grow,
        .own = on_own,
        .skip = on_skip,
        .arg = walk,
    };
    struct weir_deadline deadline = weir_deadline_until(&w->run->stop);
    walk->st = st;
    int result = take_slot(w, st, &walk->slot);
    if (result == 0)
        result = equip(w);
    if (result == 0)
        result = weir__archive_walk(w->walker, fd, weir__buffer_text(&w->path), &hooks, &deadline);
    if (result < 0)
        snprintf(walk->why, sizeof(walk->why), "%s", weir__archive_walker_why(w->walker, result));
    w->is_beside = false;
    tidy(w, walk->has_grown);
    weir_slots_release(&walk->slot);
    return result;
}

/* Members that nobody has taken are scanned, and the worker's path is that of the file again. */
static void leave(struct walk *walk)
{
    struct weir__scan_worker *w = walk->w;
    weir__scan_archive_over(w, walk->archive); /* paths of members begin with that of the file */
    weir__buffer_truncate(&w->path, walk->path_length);
}

/* Walks it and lets go of it. False: nothing of it was seen, and that was told. */
static bool walk_archive(struct weir__scan_worker *w, struct weir__scan_archive *archive, int fd,
                         const struct stat *st, const char *format, bool is_scanned)
{
    struct walk walk = {
        .w = w,
        .archive = archive,
        .path_length = weir__buffer_length(&w->path),
        .is_scanned = is_scanned,
    };
    int result = walk_file(&walk, fd, st);
    if (result == 0 || !WEIR__JOB_MUTANT(ARCHIVE_BROKEN_IS_KEPT))
        leave(&walk);
    if (weir__scan_is_stopped(w))
        return true;
    if (result < 0 && !walk.has_begun && !walk.has_told) {
        weir__scan_archive_unopened(w, format, walk.why);
        return false;
    }
    if (result < 0 && !walk.has_told)
        weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot unpack all of", walk.why);
    w->counts.archives++;
    w->counts.files += !is_scanned && !w->brought;
    return true;
}

/* Admits it. False: told, or the run is stopped. */
static bool admit(struct weir__scan_worker *w, const char *format, bool is_stream,
                  struct weir__scan_archive **ret_archive)
{
    const char *why = weir__scan_archive_why_not(w->run, is_stream);
    int result = why ? 0 : weir__scan_archive_new(w->run, ret_archive);
    if (!why && result == 0)
        return true;
    if (!weir__scan_is_stopped(w))
        weir__scan_archive_unopened(w, format, why ? why : weir_error_text(result));
    return false;
}

bool weir__scan_archive(struct weir__scan_worker *w, int fd, const struct stat *st,
                        const char *format)
{
    struct weir__scan_archive *archive;
    if (admit(w, format, false, &archive))
        return walk_archive(w, archive, fd, st, format, false);
    return weir__scan_is_stopped(w);
}

/* --- streams --- */

enum kept {
    KEPT_ALL,
    KEPT_IN_PART, /* which was told */
    KEPT_NO_ROOM  /* nor read on: what there is no room for is in the block */
};

/* Keeps the stream, of which the first bytes are in the block, in the file. Of what is in the block
 * when there is no room, *length bytes; before it, *kept are in the file. */
static enum kept keep_stream(struct weir__scan_worker *w, int fd, int file, size_t *length,
                             uint64_t *kept)
{
    uint64_t most = w->run->options->archives.spill_bytes_max;
    for (;;) {
        if (*length > most - *kept) {
            weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot unpack all of",
                                    "it is longer than an archive from a stream may be");
            return KEPT_IN_PART;
        }
        if (weir__whole_write(file, w->block, *length) < 0)
            return KEPT_NO_ROOM;
        *kept += *length;
        ssize_t n = weir__scan_stream_read(w, fd, w->block, WEIR__SCAN_READ_SIZE, true);
        if (n <= 0)
            return n == 0 ? KEPT_ALL : KEPT_IN_PART;
        *length = (size_t)n;
    }
}

/* The kept beginning of a stream into the scanner. */
static bool feed_kept(struct weir__scan_worker *w, int file, uint64_t kept)
{
    char piece[8192];
    for (uint64_t at = 0; at < kept;) {
        size_t want = kept - at < sizeof(piece) ? (size_t)(kept - at) : sizeof(piece);
        ssize_t n = weir__sys_pread(file, piece, want, (off_t)at);
        if (n <= 0) {
            weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read",
                            n < 0 ? NULL : "its temporary file was cut off");
            return false;
        }
        if (weir__scan_is_stopped(w) || !weir__scan_object_feed(w, piece, (size_t)n))
            return false;
        at += (uint64_t)n;
        weir__scan_object_count(w, at);
    }
    return true;
}

/* All of a stream that could not be kept, as plain bytes: what was kept, what is in the block, and
 * what still comes. */
static void scan_unkept(struct weir__scan_worker *w, int fd, int file, size_t length, uint64_t kept)
{
    uint64_t at = kept;
    ssize_t n = (ssize_t)length;
    if (!weir__scan_object_begin(w) || !feed_kept(w, file, kept))
        return;
    while (n > 0) {
        if (!weir__scan_object_feed(w, w->block, (size_t)n))
            return;
        at += (uint64_t)n;
        weir__scan_object_count(w, at);
        n = weir__scan_stream_read(w, fd, w->block, WEIR__SCAN_READ_SIZE, true);
    }
    if (!weir__scan_is_stopped(w) && weir__scan_object_end(w))
        w->counts.files++;
}

enum weir__scan_taken weir__scan_archive_stream(struct weir__scan_worker *w, int fd, size_t length,
                                                const char *format)
{
    struct weir__scan_archive *archive;
    struct stat st;
    if (!admit(w, format, true, &archive))
        return weir__scan_is_stopped(w) ? WEIR__SCAN_TAKEN_IN_PART : WEIR__SCAN_NOT_TAKEN;
    int file = weir__scan_spill_open();
    if (file < 0) {
        weir__scan_archive_over(w, archive);
        weir__scan_archive_unopened(w, format,
                                    "no temporary file can be made: free space, or set TMPDIR");
        return WEIR__SCAN_NOT_TAKEN;
    }
    uint64_t kept = 0;
    enum kept how = keep_stream(w, fd, file, &length, &kept);
    if (how == KEPT_NO_ROOM) {
        weir__scan_archive_over(w, archive);
        weir__scan_archive_unopened(w, format,
                                    "its temporary file has no room: free space, or set TMPDIR");
        scan_unkept(w, fd, file, length, kept);
    } else if (weir__scan_is_stopped(w) || weir__sys_fstat(file, &st) != 0) {
        if (!weir__scan_is_stopped(w))
            weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", NULL);
        weir__scan_archive_over(w, archive);
        how = KEPT_IN_PART;
    } else if (!walk_archive(w, archive, file, &st, format, false)) {
        weir__scan_plain(w, file, (uint64_t)st.st_size);
    }
    weir__sys_close(file);
    return how == KEPT_ALL ? WEIR__SCAN_TAKEN : WEIR__SCAN_TAKEN_IN_PART;
}

void weir__scan_archive_copy(struct weir__scan_worker *w, int copy, const char *format)
{
    struct weir__scan_archive *archive;
    struct stat st;
    if (weir__sys_fstat(copy, &st) != 0)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", NULL);
    else if (admit(w, format, true, &archive))
        (void)walk_archive(w, archive, copy, &st, format, true);
}

void weir__scan_archives_leave(struct weir__scan_worker *w)
{
    weir__archive_walker_free(w->walker);
    w->walker = NULL;
    if (w->has_spill)
        weir__sys_close_at(&w->spill);
    w->has_spill = false;
}
