/* scan_file.c - one file through the scanner.
 *
 * A file is read up to the size that it had when it was opened, so that one that grows comes to an
 * end. A small file costs an open, a stat, a read and a close.
 *
 * Holes: a long one is stepped over. The scanner gets zeros for the two ends of it, more than any
 * match is wide, so that it finds what it would find if it had all of them.
 */
#include "scan_part.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "brought.h"
#include "log.h"
#include "sys.h"

#include "banned.h"

#define HOLE_MIN  (1u << 20)
#define HOLE_EDGE (64u << 10)
_Static_assert(HOLE_EDGE > WEIR__WIDTH_MAX + (8u << 10), "no match reaches over an edge");
_Static_assert(HOLE_EDGE <= WEIR__SCAN_READ_SIZE && 2 * HOLE_EDGE < HOLE_MIN, "edges fit");

struct file {
    int fd;
    uint64_t size, at;
    bool is_sparse;
    bool is_plain;     /* not to be opened, whatever it is */
    uint64_t data_end; /* of a sparse one: no hole before */
    bool is_pseudo;    /* the kernel makes it up; if is_asked */
    bool is_asked;
};

/* --- the scanner --- */

struct weir__object weir__scan_object_of(struct weir__scan_worker *w)
{
    const char *path = weir__buffer_text(&w->path);
    (void)weir__scan_name(w, path);
    return (struct weir__object){.path = path,
                                 .commit = w->brought ? w->brought->commit : NULL,
                                 .decode_depth = w->run->options->decode_depth};
}

bool weir__scan_object_begin(struct weir__scan_worker *w)
{
    struct weir__object object = weir__scan_object_of(w);
    w->bytes_told = 0;
    int result = weir__scanner_begin(w->scanner, &object);
    if (result < 0)
        weir__scan_tell(w, object.path, "cannot scan", weir_error_text(result));
    return result == 0;
}

bool weir__scan_object_feed(struct weir__scan_worker *w, const char *bytes, size_t length)
{
    int result = weir__scanner_feed(w->scanner, bytes, length);
    if (result < 0)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan", weir_error_text(result));
    return result == 0;
}

/* Large files are seen to make progress. */
void weir__scan_object_count(struct weir__scan_worker *w, uint64_t at)
{
    w->counts.bytes += at - w->bytes_told;
    w->bytes_told = at;
    if (at >= 4 * WEIR__SCAN_READ_SIZE)
        weir__scan_count(w);
}

void weir__scan_object_tell(struct weir__scan_worker *w, const struct weir__scan_result *result)
{
    const char *path = weir__buffer_text(&w->path);
    w->counts.findings += result->findings;
    w->counts.allowed += result->allowed;
    w->counts.rejected += result->rejected;
    w->counts.decoded_bytes += result->decoded_bytes;
    if (result->is_decode_truncated)
        weir__scan_tell_partial(w, path, "cannot decode all of", "there is too much encoded text");
    if (result->gave_up > 0)
        weir__scan_tell_partial(w, path, "cannot judge all of",
                                "matches reached a limit of the matcher");
    if (result->is_judged_early)
        weir__scan_tell_partial(w, path, "cannot judge all of",
                                "too many matches wait for what comes behind them");
}

bool weir__scan_object_end(struct weir__scan_worker *w)
{
    struct weir__scan_result result;
    int error = weir__scanner_end(w->scanner, &result);
    if (error < 0)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan", weir_error_text(error));
    else
        weir__scan_object_tell(w, &result);
    return error == 0;
}

static void end(struct weir__scan_worker *w)
{
    if (weir__scan_object_end(w))
        w->counts.files += !w->brought; /* an object of a history is counted as one */
}

/* --- holes --- */

/* Zeros up to there. */
static bool step_over(struct weir__scan_worker *w, struct file *file, uint64_t until, bool is_end)
{
    uint64_t length = until - file->at;
    memset(w->block, 0, HOLE_EDGE);
    if (!weir__scan_object_feed(w, w->block, HOLE_EDGE))
        return false;
    int result = weir__scanner_skip(w->scanner, length - (is_end ? 1u : 2u) * HOLE_EDGE);
    if (result < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan", weir_error_text(result));
        return false;
    }
    if (!is_end && !weir__scan_object_feed(w, w->block, HOLE_EDGE))
        return false;
    file->at = until;
    weir__scan_object_count(w, file->at);
    return true;
}

/* Whether it is shorter than it was when it was opened, or cannot be asked. */
static bool is_cut_off(const struct file *file)
{
    struct stat st;
    return weir__sys_fstat(file->fd, &st) < 0 || (uint64_t)st.st_size < file->size;
}

/* At the end of the data that are known: steps over a hole, and finds out how far the data reach
 * behind it. A file system that does not tell has no holes. Behind its end a file that was cut off
 * looks as if it had one; it is read, to find out. */
static bool find_data(struct weir__scan_worker *w, struct file *file)
{
    off_t data = weir__sys_lseek(file->fd, (off_t)file->at, SEEK_DATA);
    bool is_end = data < 0 && errno == ENXIO;
    if (data < 0 && (!is_end || is_cut_off(file))) {
        file->is_sparse = false;
        return true;
    }
    uint64_t until = is_end || (uint64_t)data > file->size ? file->size : (uint64_t)data;
    if (until - file->at >= HOLE_MIN && !step_over(w, file, until, is_end))
        return false;
    /* A hole that is short is read. */
    if (is_end) {
        file->data_end = file->size;
        return true;
    }
    off_t hole = weir__sys_lseek(file->fd, (off_t)until, SEEK_HOLE);
    file->data_end = hole > (off_t)file->at ? (uint64_t)hole : file->size;
    return true;
}

/* --- reading --- */

/* Whether it is an archive, by its first bytes or behind them, and was dealt with as one. */
static bool was_archive(struct weir__scan_worker *w, const struct file *file, size_t length)
{
    struct stat st;
    const char *format = file->is_plain ? NULL : weir__archive_probe(w->block, length);
    if (!format && !file->is_plain && file->size > 0)
        format = weir__scan_hidden(file->fd, file->size, w->block, length);
    if (!format)
        return false;
    /* What has no size can only be read on; the position is still at its beginning. */
    if (file->size == 0)
        return weir__scan_archive_stream(w, file->fd, 0, format) != WEIR__SCAN_NOT_TAKEN;
    if (weir__sys_fstat(file->fd, &st) == 0)
        return weir__scan_archive(w, file->fd, &st, format);
    weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", NULL);
    return true;
}

/* It ended before its size: cut off, or of a kind that has no true size. */
static void tell_short(struct weir__scan_worker *w, const struct file *file)
{
    if (is_cut_off(file))
        weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot read all of",
                                "it was cut off while it was read");
}

void weir__scan_tell_unread(struct weir__scan_worker *w, bool has_some, const char *why)
{
    const char *path = weir__buffer_text(&w->path);
    if (!why)
        why = weir__log_reason(errno);
    if (has_some)
        weir__scan_tell_partial(w, path, "cannot read all of", why);
    else
        weir__scan_tell(w, path, "cannot read", why);
}

/* Whether enough was read of what may have no end; then it is told. Asked only of a file that has
 * no size and gave a block, or has a size and no block on any disk. */
static bool is_enough(struct weir__scan_worker *w, struct file *file)
{
    if (file->size == 0 && file->at > 0 && !file->is_pseudo && !file->is_asked) {
        file->is_pseudo = weir__scan_is_pseudo(file->fd);
        file->is_asked = true;
    }
    if (!file->is_pseudo || file->at < WEIR__SCAN_PSEUDO_BYTES)
        return false;
    weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot read all of",
                            "the kernel makes it up, and it may have no end: 16 MiB were read");
    return true;
}

static void read_all(struct weir__scan_worker *w, struct file *file)
{
    bool has_no_size = file->size == 0; /* as in /proc */
    while ((has_no_size || file->at < file->size) && !is_enough(w, file)) {
        /* The beginning is read, hole or not: an archive may stand behind it, or around it. */
        bool is_stepped = file->is_sparse && file->at > 0;
        if (is_stepped && file->at >= file->data_end && !find_data(w, file))
            return;
        uint64_t limit = is_stepped && file->data_end > file->at && file->data_end < file->size
                             ? file->data_end
                             : file->size;
        uint64_t left = has_no_size ? WEIR__SCAN_READ_SIZE : limit - file->at;
        if (left == 0)
            break;
        /* The beginning may be that of an archive; the rest is read to where it is scanned. */
        size_t room = WEIR__SCAN_READ_SIZE;
        char *into = file->at == 0 ? w->block : weir__scanner_room(w->scanner, &room);
        room = room < WEIR__SCAN_READ_SIZE ? room : WEIR__SCAN_READ_SIZE;
        size_t want = left < room ? (size_t)left : room;
        ssize_t n = weir__sys_pread(file->fd, into, want, (off_t)file->at);
        if (weir__scan_is_stopped(w))
            return;
        if (n < 0) {
            weir__scan_tell_unread(w, file->at > 0, NULL);
            if (file->at == 0)
                return;
            break; /* what was read is scanned */
        }
        if (n == 0) {
            if (!has_no_size)
                tell_short(w, file);
            break;
        }
        if (file->at == 0 && was_archive(w, file, (size_t)n))
            return;
        if (!weir__scan_object_feed(w, into, (size_t)n))
            return;
        file->at += (uint64_t)n;
        weir__scan_object_count(w, file->at);
    }
    end(w);
}

/* --- files --- */

void weir__scan_open(struct weir__scan_worker *w, int fd)
{
    const struct weir__scan_options *options = w->run->options;
    const char *path = weir__buffer_text(&w->path);
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0) {
        weir__scan_tell(w, path, "cannot open", NULL);
        return;
    }
    if (!S_ISREG(st.st_mode)) { /* it was exchanged since its name was read */
        w->counts.special++;
        return;
    }
    if (options->file_bytes_max > 0 && (uint64_t)st.st_size > options->file_bytes_max) {
        weir__scan_tell(w, path, "does not scan", "it is larger than files may be");
        return;
    }
    struct file file = {
        .fd = fd,
        .size = (uint64_t)st.st_size,
        .is_sparse = st.st_size > HOLE_MIN && (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size,
    };
    if (file.is_sparse && st.st_blocks == 0) { /* /proc/kcore has 128 TB */
        file.is_pseudo = weir__scan_is_pseudo(fd);
        file.is_sparse = !file.is_pseudo;
    }
    if (weir__scan_object_begin(w))
        read_all(w, &file);
}

void weir__scan_file(struct weir__scan_worker *w, int dir, const char *name, bool is_given)
{
    const char *path = weir__buffer_text(&w->path);
    WEIR_CLEANUP(weir__scan_tokens_release)
    struct weir__scan_tokens tokens = WEIR__SCAN_TOKENS_NONE;
    if (weir__scanner_skips(w->scanner, path)) {
        w->counts.allowed_paths++;
        return;
    }
    if (!weir__scan_admit(w, &tokens))
        return;
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (is_given ? 0 : O_NOFOLLOW);
    int fd = weir__sys_openat(dir, name, flags, 0);
    if (fd >= 0)
        weir__scan_open(w, fd);
    else if (errno == ELOOP && !is_given)
        w->counts.symlinks++; /* it was a file when its name was read */
    else
        weir__scan_tell(w, path, "cannot open", NULL);
    weir__sys_close(fd);
}

void weir__scan_plain(struct weir__scan_worker *w, int fd, uint64_t size)
{
    struct file file = {.fd = fd, .size = size, .is_plain = true};
    if (size > 0 && weir__scan_object_begin(w))
        read_all(w, &file);
}
