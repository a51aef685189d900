/* file.c - GET and HEAD of /f/: a manifest is read as the file that it stands for.
 *
 * The manifest is opened by a reader. Then the answer is a stream: each time that the loop has sent
 * what it had, it asks for more, and a member of the streams finds, verifies and pins the next
 * chunks: storage.read_ahead pieces of storage.chunk_size bytes, 64 chunks at most. They are sent
 * from their segments. So a stream holds some descriptors' pins and the nodes of its manifest,
 * whatever the size of the file. With the policy `always` it is one chunk at a time, and the very
 * bytes that were verified are sent.
 *
 * Between the two threads the answer is handed to and fro: it belongs to the job of a step while
 * there is one, also when the step takes too long and the answer was cut, and to the request
 * otherwise.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "storage_part.h"

#include "banned.h"

#define SPANS_MAX 64u
#define ZEROS     (64u << 10)
#define HOLE_STEP 64u /* pieces of a hole that are given at once */

struct span {
    struct weir__address address; /* not of a hole, as the chunk */
    struct weir__chunk chunk;
    uint64_t skip, length;
    bool is_hole;
};

struct weir__file_answer {
    struct weir__storage *storage;
    struct weir__worker *worker; /* whose memory chunks are read into; of the job */
    struct weir__file_reader reader;
    bool is_open;
    struct weir__ranges ranges;
    char boundary[WEIR__RANGE_BOUNDARY_SIZE];
    size_t part;     /* the range in turn */
    bool is_in_part; /* its head was sent */
    bool is_closed;  /* all parts, and their end, were sent */
    bool is_at_end;  /* of the range in turn */
    uint64_t hole;   /* bytes of a hole that are still to be sent */
    struct span spans[SPANS_MAX];
    size_t count, next; /* of the spans: found, and given to the loop */
    bool has_bytes;     /* there is one span, and these are all bytes of its chunk */
    struct weir__buffer bytes;
    int error;
    int store_error;             /* of the last node that the store was asked for */
    struct weir__address wanted; /* the chunk that was asked for last, a node of the manifest too */
};

static const unsigned char zeros[ZEROS];

static int get_chunk(void *arg, const struct weir__address *address, void *bytes, size_t size,
                     size_t *ret_length)
{
    struct weir__file_answer *file = arg;
    const unsigned char *found;
    uint32_t length;
    file->wanted = *address;
    int error = weir__store_read_chunk(file->storage->store, weir__reader_of(file->worker), address,
                                       &found, &length);
    file->store_error = error;
    if (error)
        return error;
    if (length > size)
        return -WEIR_E_TOO_LARGE;
    memcpy(bytes, found, length);
    *ret_length = length;
    return 0;
}

/* A node that the store gave has its address. If no manifest can be read from it, that is how
 * somebody made it: nothing is damaged here, and the request is wrong. */
static int judge(const struct weir__file_answer *file, int error)
{
    bool is_made_so = error == -WEIR_E_CORRUPT || error == -WEIR_E_UNSUPPORTED;
    return is_made_so && !file->store_error ? -WEIR_E_INVALID : error;
}

/* --- by other threads --- */

static void work_open(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__file_answer *file = weir__base_alloc(1, sizeof(*file));
    struct weir__chunk_source source = {get_chunk, file};
    weir__errand_end_reading(&job->head);
    if (!file) {
        weir__errand_finish(&job->head, -WEIR_E_NO_MEMORY, NULL);
        return;
    }
    file->storage = weir__job_storage(job);
    file->worker = worker;
    weir__buffer_init(&file->bytes, WEIR__CHUNK_MAX);
    job->file = file;
    int error = weir__file_reader_open(&file->reader, &source, &job->address);
    file->is_open = error == 0;
    const char *message = error == -WEIR_E_UNSUPPORTED
                              ? "this manifest is not one of a file, or of a later version"
                              : "this chunk is not the manifest of a file";
    error = judge(file, error);
    weir__errand_finish(&job->head, error, error == -WEIR_E_INVALID ? message : NULL);
}

/* Its bytes, verified, into memory. */
static int read_span(struct weir__file_answer *file, struct weir__worker *worker,
                     const struct weir__address *address, struct weir__chunk *ret_chunk)
{
    const unsigned char *bytes;
    uint32_t length;
    int error = weir__store_read_chunk(file->storage->store, weir__reader_of(worker), address,
                                       &bytes, &length);
    if (!error)
        error = weir__buffer_append(&file->bytes, bytes, length);
    if (error)
        return error;
    file->has_bytes = true;
    *ret_chunk = (struct weir__chunk){.fd = -1, .length = length};
    return 0;
}

/* The chunk is not as long as the manifest says. Without verification at reads it may be that its
 * record is damaged. */
static int judge_length(struct weir__file_answer *file, struct weir__worker *worker,
                        const struct weir__address *address)
{
    const unsigned char *bytes;
    uint32_t length;
    int error = weir__store_read_chunk(file->storage->store, weir__reader_of(worker), address,
                                       &bytes, &length);
    return error ? error : -WEIR_E_INVALID;
}

static int find_span(struct weir__file_answer *file, struct weir__worker *worker, bool is_always)
{
    struct weir__file_span found;
    struct span *span = &file->spans[file->count];
    int result = weir__file_reader_next(&file->reader, &found);
    if (result <= 0) {
        file->is_at_end = result == 0;
        return judge(file, result);
    }
    *span = (struct span){.address = found.address,
                          .chunk = {.fd = -1},
                          .skip = found.skip,
                          .length = found.length,
                          .is_hole = found.is_hole};
    if (!found.is_hole)
        file->wanted = found.address;
    if (!found.is_hole && is_always)
        result = read_span(file, worker, &found.address, &span->chunk);
    else if (!found.is_hole)
        result = weir__store_get(file->storage->store, weir__reader_of(worker), &found.address,
                                 &span->chunk);
    if (result < 0)
        return result;
    file->count++;
    /* The manifest and the chunk must agree; what is sent is of the length that was promised. */
    bool is_right = found.is_hole || span->chunk.length == found.chunk_length;
    return is_right ? 1 : judge_length(file, worker, &found.address);
}

static void work_step(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__file_answer *file = job->file;
    struct weir__daemon_rules *rules = weir__daemon_rules(job->head.daemon);
    uint64_t pieces = weir__storage_own(rules)->storage.read_ahead
                          ? weir__storage_own(rules)->storage.read_ahead
                          : 1;
    uint64_t wanted = pieces * weir__storage_own(rules)->storage.chunk_size, found = 0;
    bool is_always = weir__storage_own(rules)->storage.verify == WEIR__STORAGE_VERIFY_ALWAYS;
    weir__daemon_rules_give(rules);
    weir__errand_end_reading(&job->head);
    file->worker = worker;
    int result = 1;
    while (result > 0 && found < wanted && file->count < SPANS_MAX && !file->has_bytes) {
        if (weir__worker_must_end(worker))
            return;
        result = find_span(file, worker, is_always);
        found += result > 0 ? file->spans[file->count - 1].length : 0;
    }
    file->error = result < 0 ? result : 0;
    weir__errand_finish(&job->head, 0, NULL);
}

/* --- on the loop's thread --- */

static void release_spans(struct weir__file_answer *file)
{
    for (size_t i = 0; i < file->count; i++)
        weir__chunk_release(file->storage->store, &file->spans[i].chunk);
    file->count = file->next = 0;
    file->has_bytes = false;
    weir__buffer_truncate(&file->bytes, 0);
}

void weir__file_answer_free(struct weir__file_answer *file)
{
    if (!file)
        return;
    release_spans(file);
    weir__buffer_fini(&file->bytes);
    if (file->is_open)
        weir__file_reader_close(&file->reader);
    weir__base_free(file);
}

void weir__file_gone(struct weir__ask *ask)
{
    weir__file_answer_free(ask->file);
    ask->file = NULL;
}

const struct weir__address *weir__file_chunk_at(const struct weir__file_answer *file, int fd,
                                                uint64_t offset)
{
    for (size_t i = 0; file && i < file->count; i++) {
        const struct weir__chunk *chunk = &file->spans[i].chunk;
        if (chunk->fd == fd && offset >= chunk->offset && offset - chunk->offset < chunk->length)
            return &file->spans[i].address;
    }
    return NULL;
}

void weir__file_begin(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__job *job = weir__job_of(weir__errand_new(exchange, work_open));
    (void)ask;
    if (job)
        weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_READS]);
}

/* All that is sent, heads of parts included. */
static uint64_t length_of(const struct weir__file_answer *file, uint64_t size)
{
    struct weir__range_parts parts = {&file->ranges, size, WEIR__CONTENT_TYPE, file->boundary};
    if (file->ranges.count > 1)
        return weir__range_total(&parts);
    return file->ranges.count == 1 ? file->ranges.items[0].length : size;
}

void weir__file_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__job *job = weir__job_of(ask->head.job);
    char etag[WEIR__ETAG_SIZE], content[WEIR__RANGE_TEXT_SIZE];
    char type[64 + WEIR__RANGE_BOUNDARY_SIZE];
    if (job->head.result) {
        weir__daemon_refuse(exchange, job->head.result, job->head.message);
        return;
    }
    struct weir__file_answer *file = ask->file = job->file;
    job->file = NULL;
    uint64_t size = weir__file_reader_length(&file->reader);
    weir__etag_print(&ask->address, etag);
    if (weir__conditions_answer(exchange, etag, size, &file->ranges))
        return;
    if (file->ranges.count > 1 && !weir__boundary_make(exchange, file->boundary))
        return;
    weir__daemon_answer_begin(exchange, file->ranges.count ? 206 : 200);
    weir__content_headers(exchange, etag, true);
    snprintf(type, sizeof(type), "multipart/byteranges; boundary=%s", file->boundary);
    weir__reply_header(exchange, "Content-Type",
                       file->ranges.count > 1 ? type : WEIR__CONTENT_TYPE);
    if (file->ranges.count == 1)
        weir__reply_header(exchange, "Content-Range",
                           weir__range_content(content, &file->ranges.items[0], size));
    weir__reply_stream(exchange, length_of(file, size));
    weir__reply_send(exchange);
}

/* The next range begins, or the end of all of them. */
static int begin_part(struct weir__exchange *exchange, struct weir__file_answer *file)
{
    uint64_t size = weir__file_reader_length(&file->reader);
    struct weir__range_parts parts = {&file->ranges, size, WEIR__CONTENT_TYPE, file->boundary};
    size_t parts_count = file->ranges.count ? file->ranges.count : 1;
    bool is_multiple = file->ranges.count > 1, is_end = file->part == parts_count;
    char head[WEIR__RANGE_HEAD_SIZE];
    struct weir__range all = {0, size};
    const struct weir__range *range = file->ranges.count ? &file->ranges.items[file->part] : &all;
    file->is_closed = is_end;
    if (is_multiple)
        weir__reply_copy(exchange, head, weir__range_head(&parts, file->part, head));
    if (is_end)
        return is_multiple ? WEIR__MORE_HERE : WEIR__MORE_END;
    int error = weir__file_reader_seek(&file->reader, range->first, range->length);
    if (error)
        return error;
    file->is_in_part = true;
    file->is_at_end = range->length == 0;
    return is_multiple ? WEIR__MORE_HERE : 0;
}

static int give_hole(struct weir__exchange *exchange, struct weir__file_answer *file)
{
    for (size_t i = 0; i < HOLE_STEP && file->hole > 0; i++) {
        size_t some = file->hole < ZEROS ? (size_t)file->hole : ZEROS;
        weir__reply_bytes(exchange, zeros, some, NULL, NULL);
        file->hole -= some;
    }
    return WEIR__MORE_HERE;
}

/* What was found and not yet given; 0: nothing. */
static int give_spans(struct weir__exchange *exchange, struct weir__file_answer *file)
{
    size_t given = 0;
    for (; file->next < file->count && file->hole == 0; file->next++, given++) {
        const struct span *span = &file->spans[file->next];
        if (span->is_hole) {
            file->hole = span->length;
            continue;
        }
        if (span->chunk.fd < 0) {
            weir__reply_bytes(exchange, weir__buffer_text(&file->bytes) + span->skip, span->length,
                              NULL, NULL);
            continue;
        }
        struct weir__reply_file piece = {
            .fd = span->chunk.fd,
            .offset = span->chunk.offset + span->skip,
            .length = span->length,
            .is_resident = span->chunk.is_verified,
        };
        weir__reply_file(exchange, &piece);
    }
    return given ? WEIR__MORE_HERE : 0;
}

static int start_step(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    release_spans(ask->file);
    struct weir__job *job = weir__job_of(weir__errand_new_step(exchange, work_step));
    if (!job)
        return -WEIR_E_NO_MEMORY;
    weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_STREAMS]);
    return WEIR__MORE_LATER;
}

int weir__file_more(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__file_answer *file = ask->file;
    int result = 0;
    if (file->error) {
        (void)weir__storage_tell_failure(exchange, file->error, &file->wanted);
        return file->error;
    }
    if (file->is_closed)
        return WEIR__MORE_END;
    if (file->hole > 0)
        return give_hole(exchange, file);
    if (!file->is_in_part && (result = begin_part(exchange, file)) != 0)
        return result;
    if ((result = give_spans(exchange, file)) != 0)
        return file->hole > 0 ? give_hole(exchange, file) : result;
    if (!file->is_at_end)
        return start_step(exchange, ask);
    file->is_in_part = false;
    file->part++;
    result = begin_part(exchange, file);
    return result == 0 ? start_step(exchange, ask) : result;
}
