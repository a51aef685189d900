/* object.c - GET and HEAD of a chunk.
 *
 * What was verified and is in memory is answered by the loop at once, with sendfile from the
 * segment. Everything else is found, verified and brought into memory by a reader first. With the
 * policy `always` the very bytes that were verified are sent.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <weir/error.h>

#include "storage_part.h"
#include "sys.h"

#include "banned.h"

void weir__etag_print(const struct weir__address *address, char etag[WEIR__ETAG_SIZE])
{
    etag[0] = '"';
    weir__address_print(address, etag + 1);
    size_t length = strlen(etag);
    etag[length] = '"';
    etag[length + 1] = '\0';
}

void weir__content_headers(struct weir__exchange *exchange, const char *etag, bool is_file)
{
    static const char lines[] = "Accept-Ranges: bytes\r\n"
                                "Vary: Accept-Encoding\r\n"
                                "X-Content-Type-Options: nosniff\r\n"
                                "Content-Security-Policy: sandbox; default-src 'none'\r\n";
    /* What a token was shown for is not for others who have the same cache. */
    const struct weir__ask *ask = weir__exchange_private(exchange);
    weir__reply_header(exchange, "ETag", etag);
    weir__reply_header(exchange, "Cache-Control",
                       ask->head.grant.id[0] ? "private, max-age=31536000, immutable"
                                             : "public, max-age=31536000, immutable");
    weir__reply_lines(exchange, lines, sizeof(lines) - 1);
    if (is_file)
        weir__reply_header(exchange, "Content-Disposition", "attachment");
}

static struct weir__field field_of(struct weir__exchange *exchange, const char *name)
{
    const char *text = weir__exchange_header(exchange, name);
    return (struct weir__field){text, text ? strlen(text) : 0};
}

static struct weir__field list_of(struct weir__exchange *exchange, const char *name,
                                  char room[WEIR__SERVER_LIST_SIZE])
{
    const char *text = weir__exchange_list(exchange, name, room);
    return (struct weir__field){text, text ? strlen(text) : 0};
}

static struct weir__conditions conditions_of(struct weir__exchange *exchange,
                                             char rooms[2][WEIR__SERVER_LIST_SIZE])
{
    return (struct weir__conditions){list_of(exchange, "If-Match", rooms[0]),
                                     list_of(exchange, "If-None-Match", rooms[1])};
}

static void refuse_condition(struct weir__exchange *exchange)
{
    weir__daemon_answer_begin(exchange, 412);
    weir__reply_error_as(exchange, 412, -WEIR_E_MISMATCH,
                         "it is not what If-Match or If-None-Match wants", 0);
}

void weir__conditions_note(struct weir__exchange *exchange, const struct weir__address *address,
                           struct weir__job *job)
{
    char rooms[2][WEIR__SERVER_LIST_SIZE], etag[WEIR__ETAG_SIZE];
    struct weir__conditions conditions = conditions_of(exchange, rooms);
    weir__etag_print(address, etag);
    job->fails_there = weir__condition_check(&conditions, false, etag) != WEIR__CONDITION_PROCEED;
    job->fails_absent = weir__condition_check(&conditions, false, NULL) != WEIR__CONDITION_PROCEED;
}

bool weir__conditions_unmet(struct weir__exchange *exchange, const struct weir__job *job)
{
    if (job->is_unmet)
        refuse_condition(exchange);
    return job->is_unmet;
}

int weir__conditions_answer(struct weir__exchange *exchange, const char *etag, uint64_t size,
                            struct weir__ranges *ret_ranges)
{
    char rooms[2][WEIR__SERVER_LIST_SIZE];
    struct weir__conditions conditions = conditions_of(exchange, rooms);
    struct weir__field range = field_of(exchange, "Range"),
                       if_range = field_of(exchange, "If-Range");
    char text[WEIR__RANGE_TEXT_SIZE];
    ret_ranges->count = 0;
    switch (weir__condition_check(&conditions, true, etag)) {
    case WEIR__CONDITION_NOT_MODIFIED:
        weir__daemon_answer_begin(exchange, 304);
        weir__content_headers(exchange, etag, false);
        weir__reply_send(exchange);
        return 1;
    case WEIR__CONDITION_FAILED:
        refuse_condition(exchange);
        return 1;
    case WEIR__CONDITION_PROCEED:
        break;
    }
    if (!range.text || weir__exchange_method(exchange) != WEIR__HTTP_GET ||
        !weir__condition_if_range(&if_range, etag))
        return 0;
    if (weir__ranges_parse(ret_ranges, range.text, range.length, size) == 0)
        return 0;
    weir__daemon_answer_begin(exchange, 416);
    weir__reply_header(exchange, "Content-Range", weir__range_missed(text, size));
    weir__reply_error_as(exchange, 416, -WEIR_E_RANGE, "it has no such bytes", 0);
    return 1;
}

/* --- the answer --- */

static void add_bytes(struct weir__exchange *exchange, const struct weir__ask *ask, uint64_t from,
                      uint64_t length)
{
    const struct weir__job *job = weir__job_of(ask->head.job);
    if (job && job->wants_bytes) {
        weir__reply_bytes(exchange, weir__buffer_text(&job->head.bytes) + from, (size_t)length,
                          NULL, NULL);
        return;
    }
    struct weir__reply_file file = {
        .fd = ask->chunk.fd,
        .offset = ask->chunk.offset + from,
        .length = length,
        .is_resident = job != NULL && ask->chunk.is_verified, /* it was just read */
    };
    weir__reply_file(exchange, &file);
}

bool weir__boundary_make(struct weir__exchange *exchange, char boundary[WEIR__RANGE_BOUNDARY_SIZE])
{
    unsigned char random[WEIR__RANGE_RANDOM];
    bool is_random = getrandom(random, sizeof(random), GRND_NONBLOCK) == sizeof(random);
    if (is_random)
        weir__range_boundary(boundary, random);
    else
        weir__daemon_refuse(exchange, -WEIR_E_INTERNAL, "no random numbers");
    return is_random;
}

static void send_parts(struct weir__exchange *exchange, const struct weir__ask *ask,
                       const struct weir__ranges *ranges, uint64_t size, const char *etag)
{
    char boundary[WEIR__RANGE_BOUNDARY_SIZE], head[WEIR__RANGE_HEAD_SIZE];
    char type[64 + WEIR__RANGE_BOUNDARY_SIZE];
    struct weir__range_parts parts = {ranges, size, WEIR__CONTENT_TYPE, boundary};
    if (!weir__boundary_make(exchange, boundary))
        return;
    weir__daemon_answer_begin(exchange, 206);
    weir__content_headers(exchange, etag, false);
    snprintf(type, sizeof(type), "multipart/byteranges; boundary=%s", boundary);
    weir__reply_header(exchange, "Content-Type", type);
    for (size_t i = 0; i <= ranges->count; i++) {
        size_t length = weir__range_head(&parts, i, head);
        weir__reply_copy(exchange, head, length);
        if (i < ranges->count)
            add_bytes(exchange, ask, ranges->items[i].first, ranges->items[i].length);
    }
    weir__reply_send(exchange);
}

static void answer(struct weir__exchange *exchange, struct weir__ask *ask)
{
    char etag[WEIR__ETAG_SIZE], content[WEIR__RANGE_TEXT_SIZE];
    struct weir__ranges ranges;
    uint64_t size = ask->chunk.length, first = 0, length = size;
    weir__etag_print(&ask->address, etag);
    if (weir__conditions_answer(exchange, etag, size, &ranges))
        return;
    if (ranges.count > 1) {
        send_parts(exchange, ask, &ranges, size, etag);
        return;
    }
    weir__daemon_answer_begin(exchange, ranges.count ? 206 : 200);
    weir__content_headers(exchange, etag, false);
    weir__reply_header(exchange, "Content-Type", WEIR__CONTENT_TYPE);
    if (ranges.count == 1) {
        first = ranges.items[0].first;
        length = ranges.items[0].length;
        weir__reply_header(exchange, "Content-Range",
                           weir__range_content(content, &ranges.items[0], size));
    }
    add_bytes(exchange, ask, first, length);
    weir__reply_send(exchange);
}

/* --- finding it --- */

static int read_bytes(struct weir__job *job, struct weir__worker *worker)
{
    const unsigned char *bytes;
    uint32_t length;
    int error = weir__store_read_chunk(weir__job_storage(job)->store, weir__reader_of(worker),
                                       &job->address, &bytes, &length);
    if (!error)
        error = weir__buffer_append(&job->head.bytes, bytes, length);
    if (error)
        return error;
    job->wants_bytes = true;
    job->chunk.length = length;
    return 0;
}

static void work(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__daemon_rules *rules = weir__daemon_rules(job->head.daemon);
    bool is_always = weir__storage_own(rules)->storage.verify == WEIR__STORAGE_VERIFY_ALWAYS;
    weir__daemon_rules_give(rules);
    weir__errand_end_reading(&job->head); /* nothing of the request is needed */
    int error = is_always ? read_bytes(job, worker)
                          : weir__store_get(weir__job_storage(job)->store, weir__reader_of(worker),
                                            &job->address, &job->chunk);
    weir__errand_finish(&job->head, error, NULL);
}

void weir__object_begin(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    if (weir__store_get_now(storage->store, &ask->address, &ask->chunk) == 0) {
        weir_counter_add(&storage->counts.answered_by_loop, 1);
        answer(exchange, ask);
        return;
    }
    struct weir__job *job = weir__job_of(weir__errand_new(exchange, work));
    if (job)
        weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_READS]);
}

void weir__object_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__job *job = weir__job_of(ask->head.job);
    if (job && job->head.result) {
        weir__daemon_refuse(exchange, job->head.result,
                            job->head.result == -WEIR_E_NOT_FOUND ? "there is no such chunk"
                                                                  : NULL);
        return;
    }
    if (job) {
        ask->chunk = job->chunk;
        job->chunk = (struct weir__chunk){.fd = -1};
    }
    answer(exchange, ask);
}

/* --- a file that is not in memory --- */

static void work_warm(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    uint64_t at = job->warm_offset, end = job->warm_offset + job->warm_length;
    ssize_t got = 1;
    weir__errand_end_reading(&job->head);
    while (at < end && got > 0) {
        size_t some = end - at < WEIR__CHUNK_MAX ? (size_t)(end - at) : WEIR__CHUNK_MAX;
        got = weir__sys_pread(job->warm_fd, weir__reader_of(worker)->_bytes, some, (off_t)at);
        at += got > 0 ? (uint64_t)got : 0;
    }
    weir__errand_finish(&job->head, 0, NULL);
}

/* The line of streams has room for all requests. */
void weir__object_warm(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__job *job = weir__job_of(weir__errand_new_step(exchange, work_warm));
    if (!job) {
        weir__exchange_post(exchange); /* the loop waits for the disk then */
        return;
    }
    job->warm_fd = fd;
    job->warm_offset = offset;
    job->warm_length = length;
    weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_STREAMS]);
}
