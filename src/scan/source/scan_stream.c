/* scan_stream.c - bytes until they end: standard input, a pipe, what is fetched.
 *
 * A stream that begins as an archive goes into a temporary file, since most formats are read from
 * their end. Everything else is scanned as it comes, so that what is in it is told soon, and stays
 * told when the scan is stopped.
 *
 * Behind such bytes there may still be an archive (archive_hidden.h), which is known at the end, or
 * on the way. So a copy is kept of what is no text, and at its end the archive in the copy is
 * walked as well; the bytes of the stream itself are not scanned again for that. Without a copy (it
 * is not allowed, has no room, would be too long, or the stream is text) an archive is noticed all
 * the same: by its beginning in the first MiB, by its end in the last 64 KiB, which are always in
 * the block, or since something follows where a program ends. Then it is told that it was not
 * opened.
 *
 * Limits: a copy of a program or a script, or of what is known to have an archive, may take what
 * one archive may in a temporary file; that of anything else COPY_MAX.
 */
#include "scan_part.h"

#include <errno.h>
#include <string.h>

#include "archive_hidden.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define NAP_NS   (10 * WEIR_NS_PER_MS)
#define LOOK_MS  100 /* whether the run is stopped, while nothing comes */
#define COPY_MAX (UINT64_C(64) << 20)
_Static_assert(WEIR__SCAN_READ_SIZE >= 2 * WEIR__ARCHIVE_TAIL_MAX, "the last bytes and new ones");
_Static_assert(WEIR__ARCHIVE_PROBE_ALL <= WEIR__SCAN_READ_SIZE / 2, "the first bytes and new ones");

struct stream {
    struct weir__scan_worker *w;
    int fd;
    uint64_t at; /* bytes that came */
    size_t end;  /* of those in the block, which are the last ones */
    enum weir__archive_front front;
    bool is_known;      /* whether it begins as an archive */
    bool is_told;       /* it does, and was told as not opened */
    int copy;           /* or -1 */
    uint64_t copy_max;  /* bytes */
    const char *why;    /* there is no copy, and archives in this stream are not opened; or NULL */
    const char *hidden; /* the format of an archive whose beginning was seen; or NULL */
    uint64_t program_end; /* 0: it does not say */
};

/* --- what is hidden --- */

static size_t read_at(void *arg, uint64_t at, char *bytes, size_t length)
{
    const int *fd = arg;
    ssize_t n = weir__sys_pread(*fd, bytes, length, (off_t)at);
    return n > 0 ? (size_t)n : 0;
}

const char *weir__scan_hidden(int fd, uint64_t size, const char *head, size_t length)
{
    const struct weir__archive_source source = {
        .head = head, .head_length = length, .size = size, .read = read_at, .arg = &fd};
    uint64_t at;
    const struct weir__archive_format *format = weir__archive_hidden(&source, &at);
    return format ? format->name : NULL;
}

/* --- the copy --- */

static void drop_copy(struct stream *s, const char *why)
{
    weir__sys_close_at(&s->copy);
    s->why = why;
}

static void open_copy(struct stream *s)
{
    s->why = weir__scan_archive_why_not(s->w->run, true);
    if (s->why)
        return;
    s->copy = weir__scan_spill_open();
    if (s->copy < 0)
        s->why = "no temporary file can be made: free space, or set TMPDIR";
}

/* The bytes are the last ones of the stream so far. */
static void write_copy(struct stream *s, const char *bytes, size_t length)
{
    if (s->copy < 0)
        return;
    if (s->at > s->copy_max)
        drop_copy(s, "it comes as a stream, behind more than is kept of one: scan it as a file");
    else if (weir__whole_write(s->copy, bytes, length) < 0)
        drop_copy(s, "its temporary file has no room: free space, or set TMPDIR");
}

/* It does not begin as an archive. */
static void begin_copy(struct stream *s)
{
    uint64_t most = s->w->run->options->archives.spill_bytes_max;
    if (s->front == WEIR__ARCHIVE_TEXT) {
        s->why = "it comes as a stream, behind text: scan it as a file";
        return;
    }
    if (s->front == WEIR__ARCHIVE_PROGRAM)
        s->program_end = weir__archive_program_end(s->w->block, s->end);
    bool is_run = weir__archive_is_run(s->w->block, s->end);
    s->copy_max = is_run || most < COPY_MAX ? most : COPY_MAX;
    open_copy(s);
}

/* Looks for the beginning of an archive in so many new bytes. */
static void look_at_new(struct stream *s, size_t length)
{
    size_t from = s->end - length;
    if (s->hidden || s->is_told || s->at - length >= weir__archive_search_max(s->front))
        return;
    from -= from < WEIR__ARCHIVE_SEARCH_OVERLAP ? from : WEIR__ARCHIVE_SEARCH_OVERLAP;
    const struct weir__archive_format *format =
        weir__archive_hidden_begins(s->front, s->w->block + from, s->end - from);
    if (!format)
        return;
    s->hidden = format->name;
    s->copy_max = s->w->run->options->archives.spill_bytes_max;
}

/* --- the end --- */

/* There is no copy: whether an archive was seen, of which one says what it is if that is known. */
static bool was_seen(const struct stream *s, const char **ret_format)
{
    size_t tail = s->end < WEIR__ARCHIVE_TAIL_MAX ? s->end : WEIR__ARCHIVE_TAIL_MAX;
    bool is_zip = weir__archive_hidden_ends(s->w->block + s->end - tail, tail);
    *ret_format = is_zip ? "zip" : s->hidden;
    return *ret_format || (s->program_end > 0 && s->program_end < s->at);
}

/* All of the stream was scanned, and has ended. */
static void look_behind(struct stream *s)
{
    struct weir__scan_worker *w = s->w;
    const char *format = NULL;
    if (s->at == s->end) {
        format = weir__scan_hidden(-1, s->at, w->block, s->end);
        if (format && s->copy < 0) {
            s->copy_max = w->run->options->archives.spill_bytes_max;
            open_copy(s);
            write_copy(s, w->block, s->end);
        }
        if (format && s->copy < 0)
            weir__scan_archive_unopened(w, format, s->why);
    } else if (s->copy >= 0) {
        ssize_t n = weir__sys_pread(s->copy, w->block, WEIR__SCAN_READ_SIZE, 0);
        if (n <= 0)
            weir__scan_archive_unopened(w, s->hidden, "its temporary file cannot be read");
        else
            format = weir__scan_hidden(s->copy, s->at, w->block, (size_t)n);
    } else if (was_seen(s, &format)) {
        weir__scan_archive_unopened(w, format, s->why);
    }
    if (format && s->copy >= 0)
        weir__scan_archive_copy(w, s->copy, format);
}

/* Ends what was scanned. */
static void end(struct stream *s)
{
    if (weir__scan_object_end(s->w))
        s->w->counts.files++;
    s->w->is_around = false;
}

/* --- reading --- */

/* Nothing can end a read that waits, so it is only made when there is something to read. Whoever
 * else has the other end of standard input may have made it one that does not wait, and taken what
 * there was: then we wait in naps so short that nobody notices. */
ssize_t weir__scan_stream_read(struct weir__scan_worker *w, int fd, char *bytes, size_t size,
                               bool has_some)
{
    uint64_t until_ns =
        w->silence_ns > 0 ? weir_time_add(weir_now_ns(), w->silence_ns) : WEIR_NEVER;
    for (;;) {
        bool is_silent = weir__sys_wait_readable(fd, LOOK_MS) == 0;
        ssize_t n = is_silent || weir__scan_is_stopped(w) ? -1 : weir__sys_read(fd, bytes, size);
        if (weir__scan_is_stopped(w))
            return -1;
        if (n >= 0)
            return n;
        is_silent = is_silent || errno == EAGAIN;
        if (!is_silent || weir_now_ns() >= until_ns) {
            weir__scan_tell_unread(w, has_some, is_silent ? "nothing came for too long" : NULL);
            return -1;
        }
        struct weir_deadline nap = weir_deadline_in(NAP_NS, &w->run->stop);
        weir_deadline_sleep(&nap);
    }
}

/* Puts the next bytes behind those in the block, of which the first stay until it is known what
 * they begin, and the last for what may be known by them. */
static ssize_t read_more(struct stream *s)
{
    struct weir__scan_worker *w = s->w;
    if (s->end > WEIR__SCAN_READ_SIZE / 2) {
        memmove(w->block, w->block + s->end - WEIR__ARCHIVE_TAIL_MAX, WEIR__ARCHIVE_TAIL_MAX);
        s->end = WEIR__ARCHIVE_TAIL_MAX;
    }
    /* What becomes an archive yet has the same places in its own bytes, and they are told once. */
    if (!weir__scan_pause_begin(w, s->at > 0))
        return -1;
    ssize_t n = weir__scan_stream_read(w, s->fd, w->block + s->end, WEIR__SCAN_READ_SIZE - s->end,
                                       s->at > 0);
    return weir__scan_pause_end(w) ? n : -1;
}

/* New bytes, before they are scanned. An archive by its first bytes is taken. */
static enum weir__scan_taken take(struct stream *s, size_t length)
{
    struct weir__scan_worker *w = s->w;
    const char *bytes = w->block + s->end;
    s->at += length;
    s->end += length;
    if (s->is_known) {
        write_copy(s, bytes, length);
        look_at_new(s, length);
        return WEIR__SCAN_NOT_TAKEN;
    }
    s->front = weir__archive_front(w->block, s->end);
    const char *format = weir__archive_probe(w->block, s->end);
    if (format) {
        bool is_around = w->is_around;
        w->is_around = false;
        enum weir__scan_taken taken = weir__scan_archive_stream(w, s->fd, s->end, format);
        w->is_around = is_around && taken == WEIR__SCAN_NOT_TAKEN;
        s->is_known = s->is_told = true;
        return taken;
    }
    if (s->at >= WEIR__ARCHIVE_PROBE_ALL) {
        s->is_known = true;
        begin_copy(s);
        write_copy(s, w->block, s->end);
        look_at_new(s, s->end);
    }
    return WEIR__SCAN_NOT_TAKEN;
}

/* True: it came to its end, and all of it was taken. */
static bool scan_stream(struct stream *s)
{
    struct weir__scan_worker *w = s->w;
    for (;;) {
        ssize_t n = read_more(s);
        if (n < 0 && s->at > 0 && !weir__scan_is_stopped(w))
            end(s); /* what was read is scanned */
        if (n < 0)
            return false;
        if (n == 0)
            break;
        const char *bytes = w->block + s->end;
        enum weir__scan_taken taken = take(s, (size_t)n);
        if (taken != WEIR__SCAN_NOT_TAKEN)
            return taken == WEIR__SCAN_TAKEN;
        if (!weir__scan_object_feed(w, bytes, (size_t)n))
            return false;
        weir__scan_object_count(w, s->at);
    }
    end(s);
    if (!s->is_told)
        look_behind(s);
    return true;
}

bool weir__scan_stream_admitted(struct weir__scan_worker *w, int fd)
{
    struct stream s = {.w = w, .fd = fd, .copy = -1};
    if (!weir__scan_object_begin(w))
        return false;
    w->is_around = true;
    bool is_all = scan_stream(&s);
    w->is_around = false;
    weir__sys_close(s.copy);
    return is_all;
}

void weir__scan_stream(struct weir__scan_worker *w, int fd)
{
    WEIR_CLEANUP(weir__scan_tokens_release)
    struct weir__scan_tokens tokens = WEIR__SCAN_TOKENS_NONE;
    if (weir__scan_admit(w, &tokens))
        (void)weir__scan_stream_admitted(w, fd);
}
