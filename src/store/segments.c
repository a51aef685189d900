/* segments.c - the list of segments, sorted by id, with their descriptors. */
#include "segments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <weir/error.h>

#include "alloc.h"
#include "require.h"
#include "store_locks.h"
#include "sys.h"

#include "banned.h"

static const char suffix[] = ".seg";

#define FUSE_MAGIC 0x65735546

void weir__segments_init(struct weir__segments *segments, int folder,
                         const struct weir__segments_limits *limits)
{
    struct statfs fs;
    *segments = (struct weir__segments){._folder = folder, ._limits = *limits};
    /* Many that are made by a program give a file another number each time that it is looked up. */
    segments->_has_numbers = folder >= 0 && fstatfs(folder, &fs) == 0 && fs.f_type != FUSE_MAGIC;
    weir_lock_init(&segments->_lock, &weir__store_segments_class);
}

static void free_segment(struct weir__segment *segment)
{
    weir__sys_close(segment->fd);
    weir__base_free(segment);
}

void weir__segments_fini(struct weir__segments *segments)
{
    for (size_t i = 0; i < segments->_count; i++) {
        WEIR__REQUIRE(segments->_list[i]->_pins == 0, "segments", "store", "one is still pinned");
        free_segment(segments->_list[i]);
    }
    weir__base_free(segments->_list);
    segments->_list = NULL;
    segments->_count = 0;
    weir_lock_fini(&segments->_lock);
}

/* --- names --- */

void weir__segment_name(uint32_t id, char name[WEIR__SEGMENT_NAME])
{
    snprintf(name, WEIR__SEGMENT_NAME, "%08x%s", id, suffix);
}

uint32_t weir__segment_id(const char *name)
{
    uint32_t id = 0;
    for (int i = 0; i < 8; i++, name++) {
        bool is_digit = *name >= '0' && *name <= '9', is_letter = *name >= 'a' && *name <= 'f';
        if (!is_digit && !is_letter)
            return 0;
        id = id << 4 | (uint32_t)(is_digit ? *name - '0' : *name - 'a' + 10);
    }
    return strcmp(name, suffix) == 0 && id <= WEIR__SEGMENT_ID_MAX ? id : 0;
}

/* --- files --- */

/* Of the file under that name, or of the descriptor if that is empty. Not among the calls that
 * tests let fail: what cannot be looked at says nothing. */
static int look_at(int folder, const char *name, struct weir__segment_file *ret_file)
{
    struct statx st;
    *ret_file = (struct weir__segment_file){0};
    if (statx(folder, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
              STATX_INO | STATX_BTIME, &st) < 0)
        return errno;
    ret_file->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    ret_file->inode = st.stx_ino;
    if (st.stx_mask & STATX_BTIME) {
        ret_file->born_s = st.stx_btime.tv_sec;
        ret_file->born_ns = st.stx_btime.tv_nsec;
    }
    return 0;
}

static bool is_same(const struct weir__segment_file *a, const struct weir__segment_file *b)
{
    /* Some file systems know births only now and then. */
    bool knows_births = a->born_s != 0 && b->born_s != 0;
    return a->inode == 0 || b->inode == 0 ||
           (a->inode == b->inode && a->device == b->device &&
            (!knows_births || (a->born_s == b->born_s && a->born_ns == b->born_ns)));
}

/* --- the list; with the lock held --- */

/* The place of the first one whose id is not below. */
static size_t place_of(const struct weir__segments *segments, uint32_t id)
{
    size_t low = 0, high = segments->_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments->_list[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct weir__segment *find(const struct weir__segments *segments, uint32_t id)
{
    size_t at = place_of(segments, id);
    return at < segments->_count && segments->_list[at]->id == id ? segments->_list[at] : NULL;
}

static void line_leave(struct weir__segments *segments, struct weir__segment *segment)
{
    *(segment->_older ? &segment->_older->_newer : &segments->_oldest) = segment->_newer;
    *(segment->_newer ? &segment->_newer->_older : &segments->_newest) = segment->_older;
    segment->_older = segment->_newer = NULL;
}

static void line_join(struct weir__segments *segments, struct weir__segment *segment)
{
    segment->_older = segments->_newest;
    *(segments->_newest ? &segments->_newest->_newer : &segments->_oldest) = segment;
    segments->_newest = segment;
}

static bool is_in_line(const struct weir__segment *segment)
{
    return segment->fd >= 0 && segment->_pins == 0 && !segment->_is_kept && !segment->_is_removed;
}

/* The descriptor of the one that was let go of longest ago, which is to be closed; -1: all that are
 * open are pinned. */
static int take_oldest(struct weir__segments *segments)
{
    struct weir__segment *oldest = segments->_oldest;
    if (!oldest)
        return -1;
    line_leave(segments, oldest);
    int fd = oldest->fd;
    oldest->fd = -1;
    segments->_open--;
    return fd;
}

/* A descriptor that has to be closed for the limit, or -1. */
static int surplus(struct weir__segments *segments)
{
    return segments->_open > segments->_limits.open_max ? take_oldest(segments) : -1;
}

static void pin(struct weir__segments *segments, struct weir__segment *segment)
{
    if (is_in_line(segment))
        line_leave(segments, segment);
    segment->_pins++;
}

/* --- calls --- */

static int make_room(struct weir__segments *segments)
{
    if (segments->_count < segments->_room)
        return 0;
    size_t room = segments->_room ? 2 * segments->_room : 64;
    struct weir__segment **list = weir__base_realloc(segments->_list, room, sizeof(*list));
    if (!list)
        return -WEIR_E_NO_MEMORY;
    segments->_list = list;
    segments->_room = room;
    return 0;
}

int weir__segments_add(struct weir__segments *segments, const struct weir__segment_facts *facts,
                       int fd, bool is_kept)
{
    struct weir__segment *segment = weir__base_alloc(1, sizeof(*segment));
    int error = segment ? 0 : -WEIR_E_NO_MEMORY, closed = -1;
    char name[WEIR__SEGMENT_NAME];
    if (error)
        return error;
    *segment =
        (struct weir__segment){.fd = fd, .id = facts->id, ._is_kept = is_kept, ._facts = *facts};
    weir__segment_name(facts->id, name);
    if (!is_kept && segments->_has_numbers)
        (void)!look_at(fd < 0 ? segments->_folder : fd, fd < 0 ? name : "", &segment->_file);
    weir_lock_acquire(&segments->_lock);
    size_t at = place_of(segments, facts->id);
    if (at < segments->_count && segments->_list[at]->id == facts->id)
        error = -WEIR_E_EXISTS;
    else
        error = make_room(segments);
    if (!error) {
        memmove(segments->_list + at + 1, segments->_list + at,
                (segments->_count - at) * sizeof(*segments->_list));
        segments->_list[at] = segment;
        segments->_count++;
        segments->_open += fd >= 0 && !is_kept;
        closed = surplus(segments); /* not of this one, which is about to be pinned */
        if (is_in_line(segment))
            line_join(segments, segment);
    }
    weir_lock_release(&segments->_lock);
    weir__sys_close(closed);
    if (error)
        weir__base_free(segment);
    return error;
}

int weir__segments_pin_open(struct weir__segments *segments, uint32_t id,
                            struct weir__segment **ret_segment)
{
    int error = 0;
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    if (!segment)
        error = -WEIR_E_NOT_FOUND;
    else if (segment->fd < 0)
        error = -WEIR_E_BUSY;
    else
        pin(segments, segment);
    weir_lock_release(&segments->_lock);
    if (!error)
        *ret_segment = segment;
    return error;
}

/* Whether one more is too many: above the limit a descriptor must be of those that nobody else was
 * promised. */
static bool is_too_many(struct weir__segments *segments, int fd)
{
    weir_lock_acquire(&segments->_lock);
    bool is_above = segments->_open >= segments->_limits.open_max;
    weir_lock_release(&segments->_lock);
    return is_above && (uint64_t)fd >= segments->_limits.fd_max;
}

/* False: there is nothing to be closed. */
static bool close_oldest(struct weir__segments *segments)
{
    weir_lock_acquire(&segments->_lock);
    int fd = take_oldest(segments);
    weir_lock_release(&segments->_lock);
    weir__sys_close(fd);
    return fd >= 0;
}

/* Its descriptor, for which others give way that nobody reads; or why there is none. */
static int open_file(struct weir__segments *segments, uint32_t id)
{
    char name[WEIR__SEGMENT_NAME];
    int error = -WEIR_E_NO_DESCRIPTORS;
    weir__segment_name(id, name);
    /* What is closed is opened again by those who read it: that comes to an end here. */
    for (size_t i = 0; i <= segments->_limits.open_max; i++) {
        int fd = weir__sys_openat(segments->_folder, name, O_RDONLY | O_NOFOLLOW, 0);
        if (fd >= 0 && !is_too_many(segments, fd))
            return fd;
        if (fd < 0)
            error = weir_error_from_errno(errno);
        weir__sys_close(fd);
        if ((fd < 0 && error != -WEIR_E_NO_DESCRIPTORS) || !close_oldest(segments))
            break;
    }
    return error;
}

int weir__segments_pin(struct weir__segments *segments, uint32_t id,
                       struct weir__segment **ret_segment)
{
    struct weir__segment_file file;
    int error = weir__segments_pin_open(segments, id, ret_segment), closed = -1;
    if (error != -WEIR_E_BUSY)
        return error;
    int fd = open_file(segments, id);
    if (fd < 0)
        return fd;
    (void)!look_at(fd, "", &file);
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    error = segment && is_same(&segment->_file, &file) ? 0 : -WEIR_E_NOT_FOUND;
    if (!error) {
        if (segment->fd < 0) {
            segment->fd = fd;
            segments->_open++;
            segments->_opened++;
            segment->_pins++; /* so it does not join the line */
            closed = surplus(segments);
            fd = -1;
        } else {
            pin(segments, segment); /* somebody else was faster */
        }
    }
    weir_lock_release(&segments->_lock);
    weir__sys_close(closed);
    weir__sys_close(fd);
    if (!error)
        *ret_segment = segment;
    return error;
}

void weir__segments_unpin(struct weir__segments *segments, struct weir__segment *segment)
{
    int closed = -1;
    weir_lock_acquire(&segments->_lock);
    WEIR__REQUIRE(segment->_pins > 0, "segment", "store", "it is not pinned");
    segment->_pins--;
    bool is_last = segment->_is_removed && segment->_pins == 0;
    segments->_open -= is_last && segment->fd >= 0 && !segment->_is_kept;
    if (is_in_line(segment))
        line_join(segments, segment);
    closed = surplus(segments);
    weir_lock_release(&segments->_lock);
    weir__sys_close(closed);
    if (is_last)
        free_segment(segment);
}

int weir__segments_remove(struct weir__segments *segments, uint32_t id)
{
    struct weir__segment *last = NULL;
    weir_lock_acquire(&segments->_lock);
    size_t at = place_of(segments, id);
    bool is_there = at < segments->_count && segments->_list[at]->id == id;
    if (is_there) {
        struct weir__segment *segment = segments->_list[at];
        if (is_in_line(segment))
            line_leave(segments, segment);
        segment->_is_removed = true;
        last = segment->_pins == 0 ? segment : NULL;
        segments->_open -= last && last->fd >= 0 && !last->_is_kept;
        segments->_count--;
        memmove(segments->_list + at, segments->_list + at + 1,
                (segments->_count - at) * sizeof(*segments->_list));
    }
    weir_lock_release(&segments->_lock);
    if (last)
        free_segment(last);
    return is_there ? 0 : -WEIR_E_NOT_FOUND;
}

bool weir__segments_has_file(struct weir__segments *segments, uint32_t id)
{
    char name[WEIR__SEGMENT_NAME];
    struct weir__segment_file file;
    weir__segment_name(id, name);
    int error = look_at(segments->_folder, name, &file);
    if (error)
        return error != ENOENT;
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    bool has = !segment || is_same(&segment->_file, &file);
    weir_lock_release(&segments->_lock);
    return has;
}

bool weir__segments_lose(struct weir__segments *segments, uint32_t id)
{
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    bool is_news = segment && !segment->_is_lost;
    if (is_news)
        segment->_is_lost = true;
    weir_lock_release(&segments->_lock);
    return is_news;
}

void weir__segments_update(struct weir__segments *segments, const struct weir__segment_facts *facts)
{
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, facts->id);
    if (segment && facts->version >= segment->_facts.version)
        segment->_facts = *facts;
    if (segment)
        segment->_growth.bytes = 0;
    weir_lock_release(&segments->_lock);
}

void weir__segments_grow(struct weir__segments *segments, uint32_t id, uint64_t bytes)
{
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    if (segment)
        segment->_growth.bytes += bytes;
    weir_lock_release(&segments->_lock);
}

void weir__segments_doom(struct weir__segments *segments, uint32_t id, int64_t bytes)
{
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    if (segment)
        segment->_growth.doomed += (uint64_t)bytes;
    weir_lock_release(&segments->_lock);
}

struct weir__segment_growth weir__segments_growth(struct weir__segments *segments, uint32_t id)
{
    weir_lock_acquire(&segments->_lock);
    const struct weir__segment *segment = find(segments, id);
    struct weir__segment_growth growth =
        segment ? segment->_growth : (struct weir__segment_growth){0};
    weir_lock_release(&segments->_lock);
    return growth;
}

void weir__segments_doubt(struct weir__segments *segments)
{
    weir_lock_acquire(&segments->_lock);
    for (size_t i = 0; i < segments->_count; i++)
        segments->_list[i]->_facts.version = 0;
    weir_lock_release(&segments->_lock);
}

bool weir__segments_next(struct weir__segments *segments, uint32_t id,
                         struct weir__segment_facts *ret_facts)
{
    weir_lock_acquire(&segments->_lock);
    size_t at = id == UINT32_MAX ? segments->_count : place_of(segments, id + 1);
    bool is_there = at < segments->_count;
    if (is_there)
        *ret_facts = segments->_list[at]->_facts;
    weir_lock_release(&segments->_lock);
    return is_there;
}

void weir__segments_read(struct weir__segments *segments, struct weir__segments_stats *ret_stats)
{
    struct weir__segments_stats stats = {0};
    weir_lock_acquire(&segments->_lock);
    stats.count = segments->_count;
    stats.opened = segments->_opened;
    for (size_t i = 0; i < segments->_count; i++) {
        stats.open += segments->_list[i]->fd >= 0;
        stats.bytes += segments->_list[i]->_facts.bytes;
        stats.dead += segments->_list[i]->_facts.dead;
        stats.spent += segments->_list[i]->_facts.spent;
        stats.grown += segments->_list[i]->_growth.bytes;
        stats.doomed += segments->_list[i]->_growth.doomed;
    }
    weir_lock_release(&segments->_lock);
    *ret_stats = stats;
}

bool weir__segments_leave(struct weir__segments *segments, uint32_t id)
{
    weir_lock_acquire(&segments->_lock);
    struct weir__segment *segment = find(segments, id);
    bool is_news = segment && !segment->_is_left;
    if (is_news)
        segment->_is_left = true;
    weir_lock_release(&segments->_lock);
    return is_news;
}

bool weir__segments_is_left(struct weir__segments *segments, uint32_t id)
{
    weir_lock_acquire(&segments->_lock);
    const struct weir__segment *segment = find(segments, id);
    bool is = segment && (segment->_is_left || segment->_is_lost);
    weir_lock_release(&segments->_lock);
    return is;
}
