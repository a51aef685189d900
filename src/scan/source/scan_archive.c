/* scan_archive.c - files that are archives: what is in them goes through the scanner.
 *
 * An archive is admitted as one job, behind the tokens of its file, in this order, each step in its
 * line and none twice: the pool (the memory that its decoder may take and that its members in work
 * take, and leave to spill, all or nothing), then, if it is large enough to be mapped, a slot of
 * the disk that it lies on. What holds these waits for nothing but its decoder, so nobody can wait
 * for himself. The permit of the pool goes home when the archive's last member is done.
 *
 * Each thread has a decoder of its own, started with its first archive. Where --max-memory has not
 * enough for all of them at once, it is ended with the archive.
 *
 * Members come one after the other. A small one is handed over (scan_members.c) when another thread
 * has nothing to do; the frontier of the archive says how many may be out at once, and how many
 * bytes of them. When it says no, the thread that walks scans the member itself.
 */
#include "scan_part.h"

#include <stdio.h>
#include <string.h>

#include "archive_find.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

/* --- the run --- */

int weir__scan_archives_init(struct weir__scan *run)
{
    const struct weir__scan_options *options = run->options;
    struct weir__scan_archives *archives = &run->archives;
    uint64_t one = options->archives.memory_max + WEIR__SCAN_MEMBERS_BYTES;
    uint64_t all = options->archives_bytes ? options->archives_bytes : one * run->threads;
    if (options->archives.depth_max == 0 || all < one)
        return 0; /* told at each archive */
    struct weir_pool_config config = {
        .scan_ring_bytes = all,
        .delta_cache_bytes = 1,
        .spill_slots = options->spills_max ? options->spills_max : 1,
    };
    archives->bytes = one;
    archives->is_child_kept = all / one >= run->threads;
    int result = weir_pool_init(&archives->pool, "scan-archives", &config);
    archives->has_pool = result == 0;
    if (result == 0) {
        result = weir_slots_init(&archives->slots, "scan-disks", NULL);
        archives->has_slots = result == 0;
    }
    return result;
}

void weir__scan_archives_fini(struct weir__scan *run)
{
    if (run->archives.has_slots)
        weir_slots_fini(&run->archives.slots);
    if (run->archives.has_pool)
        weir_pool_fini(&run->archives.pool);
}

/* --- members --- */

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
    weir__scan_object_count(walk->w, walk->at);
}

static void open_held(struct walk *walk)
{
    struct weir__buffer *held = &walk->w->member;
    open_member(walk);
    feed_member(walk, weir__buffer_text(held), weir__buffer_length(held));
}

static int on_begin(void *arg, const char *path)
{
    struct walk *walk = arg;
    struct weir__scan_worker *w = walk->w;
    walk->has_begun = true;
    walk->state = MEMBER_LEFT;
    weir__buffer_truncate(&w->path, walk->path_length);
    if (weir__buffer_puts(&w->path, path + walk->path_length) < 0) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
    } else if (weir__scanner_skips(w->scanner, path)) {
        w->counts.allowed_paths++;
    } else if (weir__scan_archive_has_help(walk->archive)) {
        weir__buffer_truncate(&w->member, 0);
        walk->state = MEMBER_HELD;
    } else {
        open_member(walk);
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
    if (walk->state == MEMBER_OPEN && weir__scan_object_end(w))
        w->counts.members++;
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

static void tell_unopened(struct weir__scan_worker *w, const char *format, const char *why)
{
    char text[384];
    snprintf(text, sizeof(text), "archive not opened (%.40s): %.300s", format, why);
    w->counts.archives_unopened++;
    weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot look into", text);
}

static const char *reason_of(int error)
{
    switch (error) {
    case -WEIR_E_NOT_FOUND:
        return "'" WEIR__ARCHIVE_PROGRAM
               "' was not found: put it beside 'weir', or name its folder in " WEIR__ARCHIVE_FOLDER;
    case -WEIR_E_UNSUPPORTED:
        return "'" WEIR__ARCHIVE_PROGRAM
               "' cannot confine itself: the kernel needs seccomp filters";
    default:
        return weir_error_text(error);
    }
}

/* Whether archives are opened at all; if not, it is told. */
static bool are_opened(struct weir__scan_worker *w, const char *format)
{
    const struct weir__scan *run = w->run;
    if (run->archives.has_pool)
        return true;
    tell_unopened(w, format,
                  run->options->archives.depth_max == 0
                      ? "the depth of archives is 0"
                      : "there is too little memory for what reads it: raise the limit");
    return false;
}

/* What the thread needs for every archive. */
static int equip(struct weir__scan_worker *w)
{
    const struct weir__scan_options *options = w->run->options;
    int result = w->walker ? 0 : weir__archive_walker_new(&w->walker, &options->archives);
    if (result < 0 || options->spills_max == 0)
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
    return weir_slots_acquire(&w->run->archives.slots, w->disk, ret_slot, &deadline);
}

/* Gives back what the archive needed beyond the next one's need. */
static void tidy(struct weir__scan_worker *w)
{
    struct stat st;
    if (w->has_spill && (weir__sys_fstat(w->spill, &st) != 0 || st.st_size > 0) &&
        weir__sys_ftruncate(w->spill, 0) != 0) {
        weir__sys_close_at(&w->spill);
        w->has_spill = false;
    }
    if (!w->run->archives.is_child_kept) {
        weir__archive_walker_free(w->walker);
        w->walker = NULL;
    }
}

static int walk_file(struct walk *walk, int fd, const struct stat *st)
{
    struct weir__scan_worker *w = walk->w;
    const struct weir__archive_hooks hooks = {on_begin, on_bytes, on_end, on_unscanned, walk};
    struct weir_deadline deadline = weir_deadline_until(&w->run->stop);
    WEIR_CLEANUP(weir_slots_release)
    struct weir_slots_permit slot = WEIR_SLOTS_PERMIT_NONE;
    int result = take_slot(w, st, &slot);
    if (result == 0)
        result = equip(w);
    if (result == 0)
        result = weir__archive_walk(w->walker, fd, weir__buffer_text(&w->path), &hooks, &deadline);
    tidy(w);
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
                         const struct stat *st, const char *format)
{
    struct walk walk = {
        .w = w,
        .archive = archive,
        .path_length = weir__buffer_length(&w->path),
    };
    int result = walk_file(&walk, fd, st);
    leave(&walk);
    if (weir__scan_is_stopped(w))
        return true;
    if (result < 0 && !walk.has_begun && !walk.has_told) {
        tell_unopened(w, format, reason_of(result));
        return false;
    }
    if (result < 0 && !walk.has_told)
        weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot unpack all of",
                                reason_of(result));
    w->counts.archives++;
    w->counts.files++;
    return true;
}

bool weir__scan_archive(struct weir__scan_worker *w, int fd, const struct stat *st,
                        const char *format)
{
    struct weir__scan_archive *archive;
    if (!are_opened(w, format))
        return false;
    int result = weir__scan_archive_new(w->run, &archive);
    if (result == 0)
        return walk_archive(w, archive, fd, st, format);
    if (weir__scan_is_stopped(w))
        return true;
    tell_unopened(w, format, reason_of(result));
    return false;
}

/* --- streams --- */

/* Keeps the stream, of which the first bytes are in the block, in the file. True: to its end. */
static bool keep_stream(struct weir__scan_worker *w, int fd, size_t length, int file)
{
    const char *path = weir__buffer_text(&w->path);
    uint64_t at = 0, most = w->run->options->archives.spill_bytes_max;
    ssize_t n = (ssize_t)length;
    for (;;) {
        if ((uint64_t)n > most - at) {
            weir__scan_tell_partial(w, path, "cannot unpack all of",
                                    "it is longer than an archive from a stream may be");
            return false;
        }
        if (weir__whole_write(file, w->block, (size_t)n) < 0) {
            weir__scan_tell(w, path, "cannot keep for a while", NULL);
            return false;
        }
        at += (uint64_t)n;
        n = weir__scan_stream_read(w, fd, w->block, WEIR__SCAN_READ_SIZE, true);
        if (n <= 0)
            return n == 0;
    }
}

enum weir__scan_taken weir__scan_archive_stream(struct weir__scan_worker *w, int fd, size_t length,
                                                const char *format)
{
    struct weir__scan_archive *archive;
    struct stat st;
    if (!are_opened(w, format))
        return WEIR__SCAN_NOT_TAKEN;
    if (w->run->options->spills_max == 0) {
        tell_unopened(w, format, "it comes as a stream, and no temporary file is allowed");
        return WEIR__SCAN_NOT_TAKEN;
    }
    int result = weir__scan_archive_new(w->run, &archive);
    if (result < 0) {
        if (weir__scan_is_stopped(w))
            return WEIR__SCAN_TAKEN_IN_PART;
        tell_unopened(w, format, reason_of(result));
        return WEIR__SCAN_NOT_TAKEN;
    }
    int file = weir__scan_spill_open();
    if (file < 0) {
        weir__scan_archive_over(w, archive);
        tell_unopened(w, format, "no temporary file can be made: free space, or set TMPDIR");
        return WEIR__SCAN_NOT_TAKEN;
    }
    bool is_whole = keep_stream(w, fd, length, file);
    if (weir__scan_is_stopped(w) || weir__sys_fstat(file, &st) != 0) {
        if (!weir__scan_is_stopped(w))
            weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", NULL);
        weir__scan_archive_over(w, archive);
        is_whole = false;
    } else if (!walk_archive(w, archive, file, &st, format)) {
        weir__scan_plain(w, file, (uint64_t)st.st_size);
    }
    weir__sys_close(file);
    return is_whole ? WEIR__SCAN_TAKEN : WEIR__SCAN_TAKEN_IN_PART;
}

void weir__scan_archives_leave(struct weir__scan_worker *w)
{
    weir__archive_walker_free(w->walker);
    w->walker = NULL;
    if (w->has_spill)
        weir__sys_close_at(&w->spill);
    w->has_spill = false;
}
