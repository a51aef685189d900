/* put_run.c - how a file is put.
 *
 *     reader     file -> chunker -> a copy of each chunk -> batch -> line
 *     senders    batch -> asks which are there -> the others, one by one -> line
 *                chunk -> sends it
 *
 * A chunk holds its share of `room` from the copy to its end, whatever that is; so the reader waits
 * when too much is on its way, and has all of the room when nothing is. The line has a place for
 * all chunks that can be alive, once alone and once at the head of a batch, so that putting
 * something in never waits.
 */
#include "put_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/error.h>
#include <weir/lock.h>
#include <weir/queue.h>

#include "alloc.h"
#include "log.h"
#include "stream_in.h"
#include "sys.h"

#include "banned.h"

#define UNIT_LEAST  (16u << 10) /* that a chunk counts for: it bounds how many there are */
#define CHUNKS_MAX  (WEIR__PUT_ROOM / UNIT_LEAST)
#define BATCH_BYTES (2u << 20)
#define RESULTS     4u
#define DRAIN_NS    (2 * WEIR_NS_PER_S)

static const struct weir_lock_class put_class = {"put", 644};

struct chunk {
    struct chunk *next; /* in its batch */
    struct weir__address address;
    struct weir_permit room;
    size_t length;
    unsigned char bytes[];
};

struct item {
    struct chunk *first;
    bool is_batch;
};

struct weir__put {
    struct weir__put_options options;
    struct weir_crew *crew;
    struct weir_cancel stop;
    struct weir_cancel file_stop; /* of the file under way, made anew when no chunk is left */
    struct weir_queue line, results;
    struct weir_budget room;
    bool has_line, has_results, has_room;

    struct weir_lock lock; /* guards what follows, up to the blank line */
    struct weir__put_file file;
    uint64_t files, bytes;

    /* The reader's: */
    struct chunk *batch, **batch_end;
    size_t batch_count, batch_bytes;
    struct chunk *last; /* not yet in a batch: the root, when nothing follows */
};

/* --- the file under way --- */

static void fail(struct weir__put *put, int error, const char *problem)
{
    weir_lock_acquire(&put->lock);
    bool is_first = put->file.error == 0;
    if (is_first) {
        put->file.error = error;
        snprintf(put->file.problem, sizeof(put->file.problem), "%s", problem);
    }
    weir_lock_release(&put->lock);
    if (is_first)
        weir_cancel_fire(&put->file_stop);
}

static int file_error(struct weir__put *put)
{
    weir_lock_acquire(&put->lock);
    int error = put->file.error;
    weir_lock_release(&put->lock);
    return error;
}

static void count_chunk(struct weir__put *put, size_t length, bool was_sent)
{
    weir_lock_acquire(&put->lock);
    put->file.chunks++;
    put->file.chunk_bytes += length;
    put->file.sent += was_sent;
    put->file.sent_bytes += was_sent ? length : 0;
    put->bytes += length;
    weir_lock_release(&put->lock);
}

/* --- chunks --- */

static void chunk_free(struct chunk *chunk)
{
    struct weir_permit room = WEIR_PERMIT_NONE;
    weir_permit_move(&room, &chunk->room);
    weir__base_free(chunk);
    weir_permit_release(&room);
}

static void chunks_free(struct chunk *chunk)
{
    while (chunk) {
        struct chunk *next = chunk->next;
        chunk_free(chunk);
        chunk = next;
    }
}

static void into_line(struct weir__put *put, struct chunk *first, bool is_batch)
{
    struct item item = {first, is_batch};
    int error = weir_queue_try_send(&put->line, &item);
    if (error) { /* only when all is over */
        fail(put, error, weir_error_text(error));
        is_batch ? chunks_free(first) : chunk_free(first);
    }
}

/* --- senders --- */

static void send_chunk(struct weir__put *put, struct chunk *chunk)
{
    char problem[WEIR__STORAGE_PROBLEM_MAX];
    if (file_error(put) == 0) {
        int result = weir__storage_client_put(put->options.client, &chunk->address, chunk->bytes,
                                              chunk->length, &put->file_stop, problem);
        if (result < 0)
            fail(put, result, problem);
        else
            count_chunk(put, chunk->length, true);
    }
    chunk_free(chunk);
}

/* Who may put and not ask has to send everything. */
static bool is_unwilling(int error)
{
    return error == -WEIR_E_FORBIDDEN || error == -WEIR_E_NOT_FOUND || error == -WEIR_E_UNSUPPORTED;
}

static int ask_for(struct weir__put *put, const struct chunk *first, bool *have)
{
    char problem[WEIR__STORAGE_PROBLEM_MAX];
    struct weir__address addresses[WEIR__STORAGE_HAVE_MAX];
    size_t count = 0;
    for (const struct chunk *chunk = first; chunk; chunk = chunk->next)
        addresses[count++] = chunk->address;
    int error = weir__storage_client_have(put->options.client, addresses, count, have,
                                          &put->file_stop, problem);
    if (is_unwilling(error))
        return 0;
    if (error)
        fail(put, error, problem);
    return error;
}

static void send_batch(struct weir__put *put, struct chunk *first)
{
    bool have[WEIR__STORAGE_HAVE_MAX] = {false};
    if (file_error(put) || ask_for(put, first, have)) {
        chunks_free(first);
        return;
    }
    struct chunk *next;
    size_t number = 0;
    for (struct chunk *chunk = first; chunk; chunk = next) {
        next = chunk->next;
        if (have[number++]) {
            count_chunk(put, chunk->length, false);
            chunk_free(chunk);
        } else {
            into_line(put, chunk, false);
        }
    }
}

static int send_main(struct weir_crew_self *self, void *arg)
{
    struct weir__put *put = arg;
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    struct item item;
    int error;
    while ((error = weir_queue_recv(&put->line, &item, &until_abort)) == 0)
        item.is_batch ? send_batch(put, item.first) : send_chunk(put, item.first);
    return error == -WEIR_E_CANCELED ? error : 0;
}

/* --- the reader --- */

static void flush(struct weir__put *put)
{
    if (put->batch)
        into_line(put, put->batch, true);
    put->batch = NULL;
    put->batch_end = &put->batch;
    put->batch_count = put->batch_bytes = 0;
}

static void into_batch(struct weir__put *put, struct chunk *chunk)
{
    if (!chunk)
        return;
    *put->batch_end = chunk;
    put->batch_end = &chunk->next;
    put->batch_bytes += chunk->length;
    if (++put->batch_count == WEIR__STORAGE_HAVE_MAX || put->batch_bytes >= BATCH_BYTES)
        flush(put);
}

/* The sink of the stream. */
static int take(void *arg, const void *bytes, size_t length, const struct weir__address *address)
{
    struct weir__put *put = arg;
    struct weir_deadline until_stop = weir_deadline_until(&put->file_stop);
    struct weir_permit room = WEIR_PERMIT_NONE;
    int error = file_error(put);
    if (!error)
        error = weir_budget_acquire(&put->room, length > UNIT_LEAST ? length : UNIT_LEAST, &room,
                                    &until_stop);
    if (error)
        return error;
    struct chunk *chunk = weir__base_alloc(1, sizeof(*chunk) + length);
    if (!chunk) {
        weir_permit_release(&room);
        return -WEIR_E_NO_MEMORY;
    }
    chunk->address = *address;
    chunk->length = length;
    memcpy(chunk->bytes, bytes, length);
    weir_permit_move(&chunk->room, &room);
    into_batch(put, put->last);
    put->last = chunk;
    return 0;
}

/* Until nobody else has a chunk. Senders end by themselves: each call has its time and its token.
 */
static int wait_for_all(struct weir__put *put)
{
    uint64_t mine = put->last ? weir_permit_units(&put->last->room) : 0;
    struct weir_deadline patient = weir_deadline_in(WEIR_CREW_TIME_MAX_NS, NULL);
    struct weir_permit all = WEIR_PERMIT_NONE;
    flush(put);
    int error = weir_budget_acquire(&put->room, WEIR__PUT_ROOM - mine, &all, &patient);
    weir_permit_release(&all);
    return error ? error : file_error(put);
}

static int open_file(const char *name)
{
    struct stat st;
    if (strcmp(name, "-") == 0)
        return STDIN_FILENO;
    /* The writer of a pipe is waited for where that can be stopped. */
    int fd = weir__sys_openat(AT_FDCWD, name, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd >= 0 && weir__sys_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        weir__sys_close(fd);
        errno = EISDIR;
        return -1;
    }
    return fd;
}

/* A file is to be what it was at some time, not a mixture; of standard input nobody expects that.
 */
static int read_content(struct weir__put *put, struct weir__stream_in *stream, int fd)
{
    struct weir_deadline until_stop = weir_deadline_until(&put->file_stop);
    struct stat before, after;
    bool is_file =
        fd > STDIN_FILENO && weir__sys_fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    int error = weir__stream_in_fd(stream, fd, &until_stop);
    if (error || !is_file)
        return error;
    if (weir__sys_fstat(fd, &after) < 0)
        return weir_error_from_errno(errno);
    if (before.st_size == after.st_size && before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
        before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        return 0;
    fail(put, -WEIR_E_TRANSIENT, "it changed while it was read: put it again, or through '-'");
    return -WEIR_E_TRANSIENT;
}

/* All of the descriptor's content, and the root behind it. */
static int put_content(struct weir__put *put, struct weir__stream_in *stream, int fd,
                       struct weir__address *root, uint64_t *length)
{
    int error = read_content(put, stream, fd);
    if (!error)
        error = weir__stream_in_finish(stream, root, length);
    weir__stream_in_reset(stream);
    if (!error)
        error = wait_for_all(put);
    if (!error) {
        into_batch(put, put->last);
        put->last = NULL;
        error = wait_for_all(put);
    }
    return error;
}

static void put_file(struct weir__put *put, struct weir__stream_in *stream, const char *name)
{
    struct weir__address root = {{0}};
    struct weir__put_file file;
    uint64_t length = 0;
    weir_cancel_init(&put->file_stop, &put->stop);
    weir_lock_acquire(&put->lock);
    put->file = (struct weir__put_file){.name = name};
    weir_lock_release(&put->lock);
    int fd = open_file(name);
    int error = fd < 0 ? weir_error_from_errno(errno) : 0;
    if (fd < 0)
        fail(put, error, weir__log_reason(errno));
    else if ((error = put_content(put, stream, fd, &root, &length)))
        fail(put, error, weir_error_text(error));
    if (fd > STDIN_FILENO)
        weir__sys_close(fd);
    if (error) {
        chunks_free(put->batch);
        put->batch = NULL;
        if (put->last)
            chunk_free(put->last);
        put->last = NULL;
        (void)!wait_for_all(put);
    }
    weir_cancel_fini(&put->file_stop);
    weir_lock_acquire(&put->lock);
    put->file.address = root;
    put->file.bytes = length;
    put->files++;
    file = put->file;
    weir_lock_release(&put->lock);
    struct weir_deadline until_stop = weir_deadline_until(weir_crew_abort_token(put->crew));
    (void)!weir_queue_send(&put->results, &file, &until_stop);
}

static int read_main(struct weir_crew_self *self, void *arg)
{
    struct weir__put *put = arg;
    struct weir__stream_in stream;
    const struct weir__stream_in_options options = {.fixed_size = put->options.fixed_size};
    const struct weir__chunk_sink sink = {.put = take, .arg = put};
    (void)self;
    put->batch_end = &put->batch;
    int error = weir__stream_in_init(&stream, &options, &sink);
    if (error)
        stream = (struct weir__stream_in){0};
    for (size_t i = 0; i < put->options.names_count && !weir_cancel_is_fired(&put->stop); i++) {
        if (!error) {
            put_file(put, &stream, put->options.names[i]);
            continue;
        }
        struct weir__put_file file = {.name = put->options.names[i], .error = error};
        struct weir_deadline until_abort = weir_deadline_until(self->abort);
        snprintf(file.problem, sizeof(file.problem), "%s", weir_error_text(error));
        (void)!weir_queue_send(&put->results, &file, &until_abort);
    }
    weir__stream_in_fini(&stream);
    weir_queue_close(&put->line);
    weir_queue_close(&put->results);
    return 0;
}

/* --- life cycle --- */

static int init(struct weir__put *put)
{
    const struct weir_crew_options crew = {.threads_max = put->options.parallel + 1,
                                           .drain_ns = DRAIN_NS};
    const struct weir_queue_options line = {sizeof(struct item), 2 * CHUNKS_MAX};
    const struct weir_queue_options results = {sizeof(struct weir__put_file), RESULTS};
    int error = weir_queue_init(&put->line, "put-line", &line);
    put->has_line = error == 0;
    if (!error) {
        error = weir_queue_init(&put->results, "put-results", &results);
        put->has_results = error == 0;
    }
    if (!error) {
        error = weir_budget_init(&put->room, "put-room", WEIR__PUT_ROOM);
        put->has_room = error == 0;
    }
    if (!error)
        error = weir_crew_new(&put->crew, "put", &crew);
    for (uint32_t i = 0; !error && i < put->options.parallel; i++)
        error = weir_crew_start(put->crew, "send", send_main, put);
    return error ? error : weir_crew_start(put->crew, "read", read_main, put);
}

int weir__put_start(struct weir__put **ret_put, const struct weir__put_options *options)
{
    struct weir__put *put = weir__base_alloc(1, sizeof(*put));
    if (!put)
        return -WEIR_E_NO_MEMORY;
    put->options = *options;
    weir_cancel_init(&put->stop, NULL);
    weir_lock_init(&put->lock, &put_class);
    int error = init(put);
    if (error) {
        (void)!weir__put_free(put);
        return error;
    }
    *ret_put = put;
    return 0;
}

int weir__put_next(struct weir__put *put, struct weir__put_file *ret_file,
                   const struct weir_deadline *deadline)
{
    return weir_queue_recv(&put->results, ret_file, deadline);
}

void weir__put_stop(struct weir__put *put)
{
    weir_cancel_fire(&put->stop);
}

void weir__put_read(struct weir__put *put, struct weir__put_progress *ret_progress)
{
    weir_lock_acquire(&put->lock);
    *ret_progress = (struct weir__put_progress){.files = put->files, .bytes = put->bytes};
    weir_lock_release(&put->lock);
    ret_progress->in_flight = WEIR__PUT_ROOM - weir_budget_available(&put->room);
}

static void drop_item(void *arg, void *item)
{
    struct item *dropped = item;
    (void)arg;
    dropped->is_batch ? chunks_free(dropped->first) : chunk_free(dropped->first);
}

bool weir__put_free(struct weir__put *put)
{
    struct weir_crew_report report = {.kind_count = 0};
    if (!put)
        return true;
    weir_cancel_fire(&put->stop);
    if (put->has_line)
        weir_queue_close(&put->line);
    if (put->has_results)
        weir_queue_close(&put->results);
    if (put->crew)
        weir_crew_drain(put->crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        if (report.kinds[i].abandoned > 0)
            return false;
    weir_crew_free(put->crew);
    if (put->has_line) {
        weir_queue_drain(&put->line, drop_item, NULL);
        weir_queue_fini(&put->line);
    }
    if (put->has_results) {
        weir_queue_drain(&put->results, NULL, NULL);
        weir_queue_fini(&put->results);
    }
    if (put->has_room)
        weir_budget_fini(&put->room);
    weir_lock_fini(&put->lock);
    weir_cancel_fini(&put->stop);
    weir__base_free(put);
    return true;
}
