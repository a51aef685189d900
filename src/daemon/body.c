/* body.c - bodies of requests: what their head must say, how much is taken, and unpacking. */
#include <string.h>

#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

bool weir__daemon_body_head(struct weir__exchange *exchange, enum weir__coding *ret_coding)
{
    char room[WEIR__SERVER_LIST_SIZE];
    const char *text = weir__exchange_list(exchange, "Content-Encoding", room);
    if (!weir__exchange_has_length(exchange)) {
        weir__daemon_answer_begin(exchange, 411);
        weir__reply_close(exchange); /* what follows may be the body */
        weir__reply_error_as(exchange, 411, -WEIR_E_INVALID,
                             "send Content-Length, also of nothing, or Transfer-Encoding: chunked",
                             0);
        return false;
    }
    if (weir__coding_parse(ret_coding, text, text ? strlen(text) : 0) == 0)
        return true;
    weir__daemon_answer_begin(exchange, 415);
    weir__reply_header(exchange, "Accept-Encoding", "gzip, zstd");
    weir__reply_error_as(exchange, 415, -WEIR_E_UNSUPPORTED,
                         "bodies are sent as they are, in gzip or in zstd", 0);
    return false;
}

/* A capability may allow less, also of a body that comes in chunks. */
int weir__daemon_body_take(struct weir__exchange *exchange, uint64_t max)
{
    const struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    int error =
        weir__exchange_take_body(exchange, ask->grant.body_max < max ? ask->grant.body_max : max);
    if (error == -WEIR_E_BUSY)
        weir__daemon_count_busy(exchange);
    if (!error)
        weir__daemon_leaves(exchange);
    return error;
}

/* Which of the two limits it was. */
static const char *too_large(size_t length, size_t max)
{
    if (length < max / WEIR__CODING_RATIO)
        return "the body unpacks to more than ten times its size";
    return max == 8u << 10   ? "the body unpacks to more than 8 KiB"
           : max == 1u << 20 ? "the body unpacks to more than 1 MiB"
           : max == 4u << 20 ? "the body unpacks to more than 4 MiB"
                             : "the body unpacks to more than is taken here";
}

int weir__daemon_body_unpack(const struct weir__exchange *exchange, struct weir__decoder *decoder,
                             struct weir__buffer *bytes, const char **ret_message)
{
    size_t length;
    const void *body = weir__exchange_body(exchange, &length);
    const char *field = weir__exchange_header(exchange, "Content-Encoding");
    enum weir__coding coding;
    int error = weir__coding_parse(&coding, field, field ? strlen(field) : 0);
    if (!error && coding == WEIR__CODING_IDENTITY)
        error = weir__buffer_append(bytes, body, length);
    else if (!error)
        error = weir__unpack(decoder, coding, body, length, bytes);
    if (error == -WEIR_E_INVALID)
        *ret_message = "the body cannot be unpacked";
    if (error == -WEIR_E_TOO_LARGE)
        *ret_message = too_large(length, weir__buffer_max(bytes));
    return error;
}
