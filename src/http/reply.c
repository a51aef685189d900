/* reply.c - answers, put together in the exchange's own memory: the head as the text that leaves,
 * the body as a list of pieces.
 */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "require.h"
#include "server_part.h"
#include "text.h"

#include "banned.h"

#define TAIL_ROOM    128u /* of the head, for what send() adds */
#define MESSAGE_SIZE 640u
#define CANNED_SIZE  256u

/* --- the head --- */

static void put(struct weir__exchange *x, const char *bytes, size_t length)
{
    if (x->out_length + length > sizeof(x->out) - TAIL_ROOM) {
        x->reply_error = x->reply_error ? x->reply_error : -WEIR_E_OVERFLOW;
        return;
    }
    memcpy(x->out + x->out_length, bytes, length);
    x->out_length += (uint32_t)length;
}

/* There is always room for these. */
static void put_last(struct weir__exchange *x, const char *bytes, size_t length)
{
    memcpy(x->out + x->out_length, bytes, length);
    x->out_length += (uint32_t)length;
}

#define PUT(x, text)      put(x, text, sizeof(text) - 1)
#define PUT_LAST(x, text) put_last(x, text, sizeof(text) - 1)

static size_t write_number(char digits[20], uint64_t value)
{
    char turned[20];
    size_t count = 0;
    do
        turned[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (size_t i = 0; i < count; i++)
        digits[i] = turned[count - 1 - i];
    return count;
}

static void put_status(struct weir__exchange *x, unsigned status)
{
    const char *text = weir__status_text(status);
    char digits[20];
    PUT(x, "HTTP/1.1 ");
    put(x, digits, write_number(digits, status));
    PUT(x, " ");
    put(x, text, strlen(text));
    PUT(x, "\r\n");
}

void weir__reply_begin(struct weir__exchange *x, unsigned status)
{
    const struct weir__server_loop *loop = x->conn->loop;
    WEIR__REQUIRE(!x->is_sent, "exchange", x->corr_id, "it was answered already");
    WEIR__REQUIRE(status >= 200 && status <= 599, "exchange", x->corr_id, "no such status");
    weir__send_release(x);
    x->status = status;
    x->out_length = x->small_length = 0;
    x->queued = 0;
    x->reply_error = 0;
    x->streams = false;
    if (status == 200)
        PUT(x, "HTTP/1.1 200 OK\r\n");
    else
        put_status(x, status);
    put(x, loop->stamp, loop->stamp_length);
    PUT(x, "X-Corr-ID: ");
    put(x, x->corr_id, strlen(x->corr_id));
    PUT(x, "\r\n");
}

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 ? *text != '\t' : *text == 0x7f)
            return false;
    return true;
}

void weir__reply_header(struct weir__exchange *x, const char *name, const char *value)
{
    WEIR__REQUIRE(is_clean(name) && is_clean(value), "header", name, "it has a control character");
    put(x, name, strlen(name));
    PUT(x, ": ");
    put(x, value, strlen(value));
    PUT(x, "\r\n");
}

void weir__reply_lines(struct weir__exchange *x, const char *lines, size_t length)
{
    put(x, lines, length);
}

void weir__reply_header_u64(struct weir__exchange *x, const char *name, uint64_t value)
{
    char digits[20];
    put(x, name, strlen(name));
    PUT(x, ": ");
    put(x, digits, write_number(digits, value));
    PUT(x, "\r\n");
}

/* --- the body --- */

static struct weir__piece *add_piece(struct weir__exchange *x)
{
    if (x->pieces_count == x->pieces_size) {
        uint32_t size = x->pieces_size * 4;
        struct weir__piece *more = NULL;
        if (x->pieces_count >= WEIR__SERVER_PIECES_MAX)
            x->reply_error = -WEIR_E_OVERFLOW;
        else
            more = weir__base_realloc(x->pieces == x->few ? NULL : x->pieces, size, sizeof(*more));
        if (!more) {
            x->reply_error = x->reply_error ? x->reply_error : -WEIR_E_NO_MEMORY;
            return NULL;
        }
        if (x->pieces == x->few)
            memcpy(more, x->few, sizeof(x->few));
        x->pieces = more;
        x->pieces_size = size;
    }
    return &x->pieces[x->pieces_count++];
}

static void add(struct weir__exchange *x, const struct weir__piece *given)
{
    struct weir__piece *piece = x->reply_error || given->length == 0 ? NULL : add_piece(x);
    if (piece) {
        *piece = *given;
        x->queued += given->length;
    } else if (given->release)
        given->release(given->arg);
}

void weir__reply_bytes(struct weir__exchange *x, const void *bytes, size_t length,
                       void (*release)(void *arg), void *arg)
{
    const struct weir__piece piece = {
        .bytes = bytes, .fd = -1, .length = length, .release = release, .arg = arg};
    add(x, &piece);
}

void weir__reply_copy(struct weir__exchange *x, const void *bytes, size_t length)
{
    struct weir__piece piece = {.fd = -1, .length = length};
    char *copy;
    if (length == 0)
        return;
    if (length <= sizeof(x->small) - x->small_length) {
        copy = x->small + x->small_length;
        x->small_length += (uint32_t)length;
    } else {
        copy = weir__base_realloc(NULL, 1, length);
        piece.release = weir__base_free;
        piece.arg = copy;
    }
    if (!copy) {
        x->reply_error = x->reply_error ? x->reply_error : -WEIR_E_NO_MEMORY;
        return;
    }
    memcpy(copy, bytes, length);
    piece.bytes = copy;
    add(x, &piece);
}

void weir__reply_file(struct weir__exchange *x, const struct weir__reply_file *file)
{
    const struct weir__piece piece = {.fd = file->fd,
                                      .is_resident = file->is_resident,
                                      .offset = file->offset,
                                      .length = file->length,
                                      .release = file->release,
                                      .arg = file->arg};
    add(x, &piece);
}

void weir__reply_stream(struct weir__exchange *x, uint64_t length)
{
    WEIR__REQUIRE(x->server->options.handler->more, "exchange", x->corr_id, "there is no more()");
    x->streams = true;
    x->length = length;
}

void weir__reply_close(struct weir__exchange *x)
{
    x->closes = true;
}

/* --- the end of the head --- */

/* The body that the handler did not take lies in the input as a whole, or there is none. */
static bool has_no_rest(const struct weir__exchange *x)
{
    return x->head.body_length == 0 || x->takes_body ||
           x->input_length - x->head.length >= x->head.body_length;
}

void weir__reply_frame(struct weir__exchange *x)
{
    uint64_t length = 0;
    char digits[20];
    for (uint32_t i = x->pieces_first; i < x->pieces_count; i++)
        length += x->pieces[i].length;
    if (length == 0)
        return;
    int count = snprintf(digits, sizeof(digits), "%llx\r\n", (unsigned long long)length);
    put_last(x, digits, (size_t)count);
    x->tail = "\r\n";
    x->tail_length = 2;
}

static void end_head(struct weir__exchange *x)
{
    char digits[20];
    uint64_t length = x->streams ? x->length : x->queued;
    bool has_length = x->status != 204 && x->status != 304;
    if (x->streams && length == UINT64_MAX) {
        has_length = false;
        x->is_chunked = !x->head.is_http10;
        x->closes = x->closes || x->head.is_http10;
        if (x->is_chunked)
            PUT_LAST(x, "Transfer-Encoding: chunked\r\n");
    }
    if (has_length) {
        PUT_LAST(x, "Content-Length: ");
        put_last(x, digits, write_number(digits, length));
        PUT_LAST(x, "\r\n");
    }
    if (x->closes)
        PUT_LAST(x, "Connection: close\r\n");
    else if (x->head.is_http10)
        PUT_LAST(x, "Connection: keep-alive\r\n");
    PUT_LAST(x, "\r\n");
}

void weir__reply_send(struct weir__exchange *x)
{
    WEIR__REQUIRE(!x->is_sent && x->out_length > 0, "exchange", x->corr_id, "no answer was begun");
    if (x->reply_error) {
        weir__reply_error(x, x->reply_error, NULL, 0);
        return;
    }
    x->is_bare = x->head.method == WEIR__HTTP_HEAD || x->status == 204 || x->status == 304;
    x->closes = x->closes || !x->head.keeps_alive || !has_no_rest(x) || x->conn->refusal ||
                weir__exchange_is_draining(x);
    end_head(x);
    if (x->is_bare) {
        weir__send_release(x);
        x->streams = false;
    } else if (x->is_chunked)
        weir__reply_frame(x);
    x->is_sent = true;
}

/* --- errors --- */

/* One character of a text as JSON has it. */
static size_t escape_one(char to[8], const char *at, size_t count)
{
    unsigned char byte = (unsigned char)*at;
    if (byte < 0x20 || byte == 0x7f)
        return (size_t)snprintf(to, 8, "\\u%04x", byte);
    if (byte == '"' || byte == '\\') {
        to[0] = '\\';
        to[1] = (char)byte;
        return 2;
    }
    if (count == 0) { /* not UTF-8 */
        to[0] = '?';
        return 1;
    }
    memcpy(to, at, count);
    return count;
}

/* As far as there is room. */
static void escape(char *to, size_t size, const char *text)
{
    size_t length = 0;
    for (const char *at = text; *at && length + 8 < size;) {
        size_t count = weir__text_utf8_length((const unsigned char *)at, strlen(at));
        length += escape_one(to + length, at, count);
        at += count > 0 ? count : 1;
    }
    to[length] = '\0';
}

/* Without its end. */
static size_t envelope(char *text, size_t size, int code, const char *message, const char *corr_id)
{
    char escaped[MESSAGE_SIZE];
    escape(escaped, sizeof(escaped), message ? message : weir_error_text(code));
    int length =
        snprintf(text, size, "{\"error\": \"%s\", \"message\": \"%s\", \"corr_id\": \"%s\"",
                 weir_error_name(code), escaped, corr_id);
    return (size_t)length;
}

/* What may be otherwise in a while, whoever refuses it and why. */
static bool may_pass(unsigned status)
{
    return status == 429 || status == 503 || status == 504 || status == 507;
}

void weir__reply_error_with(struct weir__exchange *x, unsigned status, int code,
                            const char *message, unsigned retry_s, const char *members,
                            size_t members_length)
{
    char text[WEIR__CONN_SMALL];
    if (retry_s == 0 && may_pass(status))
        retry_s = 1;
    if (x->out_length == 0 || x->status != status || x->reply_error)
        weir__reply_begin(x, status);
    PUT(x, "Content-Type: application/json\r\n");
    if (retry_s > 0)
        weir__reply_header_u64(x, "Retry-After", retry_s);
    x->small_length = 0;
    weir__reply_copy(x, text, envelope(text, sizeof(text), code, message, x->corr_id));
    if (members_length > 0) {
        weir__reply_copy(x, ", ", 2);
        weir__reply_copy(x, members, members_length);
    }
    weir__reply_copy(x, "}\n", 2);
    weir__reply_send(x);
}

void weir__reply_error_as(struct weir__exchange *x, unsigned status, int code, const char *message,
                          unsigned retry_s)
{
    weir__reply_error_with(x, status, code, message, retry_s, NULL, 0);
}

void weir__reply_error(struct weir__exchange *x, int code, const char *message, unsigned retry_s)
{
    x->out_length = 0;
    weir__reply_error_as(x, (unsigned)weir_error_http(code), code, message, retry_s);
}

void weir__reply_refusal(struct weir__exchange *x, unsigned status, int code, const char *message,
                         unsigned retry_s)
{
    x->closes = true;
    x->out_length = 0;
    weir__reply_error_as(x, status, code, message, retry_s);
}

size_t weir__reply_canned(int code, const char *corr_id, char *text, size_t size)
{
    char body[CANNED_SIZE];
    unsigned status = (unsigned)weir_error_http(code);
    const char *message = code == -WEIR_E_BUSY ? "there are too many connections" : NULL;
    size_t body_length = envelope(body, sizeof(body), code, message, corr_id);
    int length = snprintf(text, size,
                          "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nX-Corr-ID: %s\r\n"
                          "Retry-After: 1\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                          status, weir__status_text(status), corr_id, body_length, body);
    return (size_t)length;
}
