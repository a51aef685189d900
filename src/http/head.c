/* head.c - llhttp's callbacks note where things are; when the head is whole we look at it all once
 * more with our own eyes.
 */
#include "head.h"

#include <string.h>
#include <strings.h>

#include <llhttp.h>

#include "banned.h"

#define LENGTH_DIGITS_MAX 18

_Static_assert(sizeof(llhttp_t) <= sizeof(((struct weir__head *)0)->_parser), "llhttp has grown");

/* Found by llhttp or by us, whoever comes to it first. */
static const char bad_length[] = "the Content-Length is not one",
                  two_lengths[] = "there are two Content-Lengths",
                  both_lengths[] = "there are Content-Length and Transfer-Encoding",
                  bad_coding[] = "this Transfer-Encoding is not understood";

static llhttp_t *parser_of(struct weir__head *head)
{
    return (llhttp_t *)head->_parser;
}

static int refuse(struct weir__head *head, unsigned status, const char *why)
{
    if (head->status == 0) {
        head->status = status;
        head->why = why;
    }
    return -1;
}

/* --- what llhttp tells --- */

static uint16_t place_of(const struct weir__head *head, const char *at)
{
    return (uint16_t)(at - head->base);
}

static int on_method(llhttp_t *parser, const char *at, size_t length)
{
    struct weir__head *head = parser->data;
    if (head->method_length == 0)
        head->method_at = place_of(head, at);
    head->method_length = (uint16_t)(head->method_length + length);
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t length)
{
    struct weir__head *head = parser->data;
    if (head->url_length == 0)
        head->url_at = place_of(head, at);
    head->url_length = (uint16_t)(head->url_length + length);
    return 0;
}

/* Limits are looked at where a thing ends: pieces come earlier when the input is cut. */
static int on_url_end(llhttp_t *parser)
{
    struct weir__head *head = parser->data;
    return head->url_length > head->limits->url_max ? refuse(head, 414, "the URL is too long") : 0;
}

/* Name and value come in pieces that lie one behind the other, and pieces of no bytes come or do
 * not come, as the input was cut: they are passed over. */
static int on_field(llhttp_t *parser, const char *at, size_t length)
{
    struct weir__head *head = parser->data;
    bool is_new = head->count == 0 || head->is_ended;
    head->is_over =
        head->is_over || (length > 0 && is_new && head->count >= head->limits->headers_max);
    if (length == 0 || head->is_over)
        return 0;
    if (is_new) {
        head->fields[head->count++] = (struct weir__head_field){.name = place_of(head, at)};
        head->is_ended = false;
    }
    struct weir__head_field *field = &head->fields[head->count - 1];
    field->name_length = (uint16_t)(field->name_length + length);
    return 0;
}

static int on_field_end(llhttp_t *parser)
{
    struct weir__head *head = parser->data;
    if (head->is_over)
        return refuse(head, 431, "there are too many headers");
    return head->count == 0 || head->is_ended ? refuse(head, 400, "a header has no name") : 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t length)
{
    struct weir__head *head = parser->data;
    if (head->count == 0 || head->is_ended)
        return length == 0 ? 0 : refuse(head, 400, "a header has no name");
    struct weir__head_field *field = &head->fields[head->count - 1];
    if (field->value_length == 0)
        field->value = place_of(head, at);
    field->value_length = (uint16_t)(field->value_length + length);
    return 0;
}

static int on_value_end(llhttp_t *parser)
{
    struct weir__head *head = parser->data;
    head->is_ended = true;
    return 0;
}

static int on_end(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_method = on_method,
    .on_url = on_url,
    .on_url_complete = on_url_end,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_end,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_end,
};

void weir__head_init(struct weir__head *head, const struct weir__head_limits *limits)
{
    memset(head, 0, offsetof(struct weir__head, fields));
    llhttp_init(parser_of(head), HTTP_REQUEST, &settings);
    parser_of(head)->data = head;
    head->limits = limits;
    head->host = head->corr = head->forwarded = WEIR__HEAD_NONE;
}

/* --- our own look --- */

static bool has_special(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t is_del = word ^ (ones * 0x7f);
    return (((word - ones * 0x20) & ~word) | ((is_del - ones) & ~is_del)) & highs;
}

/* No control characters but CR LF at the end of lines and tabs; no line that goes on. */
static const char *check_bytes(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint64_t word;
        if (i + sizeof(word) <= length) {
            memcpy(&word, bytes + i, sizeof(word));
            if (!has_special(word)) {
                i += sizeof(word) - 1;
                continue;
            }
        }
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '\r') {
            if (i + 1 >= length || bytes[i + 1] != '\n')
                return "a line does not end with CR LF";
            i++;
            if (i + 1 < length && (bytes[i + 1] == ' ' || bytes[i + 1] == '\t'))
                return "a header is folded";
        } else if (byte == '\n')
            return "a line does not end with CR LF";
        else if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return "there is a control character";
    }
    return NULL;
}

/* "METHOD URL HTTP/1.x" with one space each. */
static bool is_plain_line(const struct weir__head *head, const char *base)
{
    size_t after = (size_t)head->url_at + head->url_length;
    return head->url_at == head->method_at + head->method_length + 1 &&
           base[head->url_at - 1] == ' ' && after + 11 <= head->length &&
           memcmp(base + after, " HTTP/1.", 8) == 0 && memcmp(base + after + 9, "\r\n", 2) == 0;
}

static bool find_method(struct weir__head *head)
{
    switch (parser_of(head)->method) {
    case HTTP_GET:
        head->method = WEIR__HTTP_GET;
        return true;
    case HTTP_HEAD:
        head->method = WEIR__HTTP_HEAD;
        return true;
    case HTTP_PUT:
        head->method = WEIR__HTTP_PUT;
        return true;
    case HTTP_POST:
        head->method = WEIR__HTTP_POST;
        return true;
    case HTTP_DELETE:
        head->method = WEIR__HTTP_DELETE;
        return true;
    case HTTP_OPTIONS:
        head->method = WEIR__HTTP_OPTIONS;
        return true;
    default:
        return false;
    }
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* Whether one of the words between commas is this one. */
static bool has_word(const char *list, size_t length, const char *word)
{
    while (length > 0) {
        const char *comma = memchr(list, ',', length);
        size_t left = comma ? (size_t)(comma - list) : length, used = left + (comma != NULL);
        const char *from = list;
        while (left > 0 && (*from == ' ' || *from == '\t'))
            from++, left--;
        while (left > 0 && (from[left - 1] == ' ' || from[left - 1] == '\t'))
            left--;
        if (is_word(from, left, word))
            return true;
        list += used;
        length -= used;
    }
    return false;
}

static bool read_length(struct weir__head *head, const char *digits, size_t length)
{
    uint64_t value = 0;
    if (length == 0 || length > LENGTH_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(digits[i] - '0');
    }
    head->body_length = value;
    return true;
}

static bool is_host(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_it = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                     c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']' ||
                     c == '~' || c == '%';
        if (!is_it)
            return false;
    }
    return true;
}

/* What fields that the server itself goes by have said so far. */
struct seen {
    bool length, coding, host, closes, keeps;
};

static const char *look_at(struct weir__head *head, const char *base, uint16_t number,
                           struct seen *seen)
{
    const struct weir__head_field *field = &head->fields[number];
    const char *name = base + field->name, *value = base + field->value;
    size_t length = field->value_length;
    switch (field->name_length) {
    case 0:
        return "a header has no name";
    case 4:
        if (!is_word(name, 4, "host"))
            return NULL;
        if (seen->host || !is_host(value, length))
            return seen->host ? "there are two Hosts" : "the Host is not one";
        seen->host = true;
        head->host = field->value;
        return NULL;
    case 6:
        if (!is_word(name, 6, "expect"))
            return NULL;
        head->expects_continue = is_word(value, length, "100-continue");
        return NULL;
    case 9:
        if (is_word(name, 9, "x-corr-id"))
            head->corr = head->corr == WEIR__HEAD_NONE ? number : head->corr;
        return NULL;
    case 10:
        if (!is_word(name, 10, "connection"))
            return NULL;
        seen->closes = seen->closes || has_word(value, length, "close");
        seen->keeps = seen->keeps || has_word(value, length, "keep-alive");
        return NULL;
    case 14:
        if (!is_word(name, 14, "content-length"))
            return NULL;
        if (seen->length || !read_length(head, value, length))
            return seen->length ? two_lengths : bad_length;
        seen->length = true;
        return NULL;
    case 15:
        if (!is_word(name, 15, "x-forwarded-for"))
            return NULL;
        head->forwarded = number;
        return NULL;
    case 17:
        if (!is_word(name, 17, "transfer-encoding"))
            return NULL;
        if (seen->coding || head->is_http10 || !is_word(value, length, "chunked"))
            return bad_coding;
        seen->coding = head->is_chunked = true;
        return NULL;
    default:
        return NULL;
    }
}

/* Ends the texts with NULs, in place of the ':' and the CR behind them. */
static void end_texts(struct weir__head *head, char *base)
{
    for (uint16_t i = 0; i < head->count; i++) {
        const struct weir__head_field *field = &head->fields[i];
        base[field->name + field->name_length] = '\0';
        base[field->value + field->value_length] = '\0';
    }
}

static void trim(struct weir__head *head, const char *base)
{
    for (uint16_t i = 0; i < head->count; i++) {
        struct weir__head_field *field = &head->fields[i];
        const char *value = base + field->value;
        while (field->value_length > 0 &&
               (value[field->value_length - 1] == ' ' || value[field->value_length - 1] == '\t'))
            field->value_length--;
        if (field->value_length == 0) /* llhttp tells it at the next line */
            field->value = (uint16_t)(field->name + field->name_length + 1);
    }
}

static int judge(struct weir__head *head, char *base)
{
    struct seen seen = {0};
    const char *why = check_bytes(base, head->length);
    const llhttp_t *parser = parser_of(head);
    if (why)
        return refuse(head, 400, why);
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(head, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    if (!find_method(head))
        return refuse(head, 501, "this method is not known here");
    if (!is_plain_line(head, base))
        return refuse(head, 400, "the first line is not one of a request");
    head->is_http10 = parser->http_minor == 0;
    trim(head, base);
    for (uint16_t i = 0; i < head->count && !why; i++)
        why = look_at(head, base, i, &seen);
    if (!why && seen.length && seen.coding)
        why = both_lengths;
    if (!why && !seen.host && !head->is_http10)
        why = "there is no Host";
    if (why)
        return refuse(head, 400, why);
    if (head->is_chunked)
        head->body_length = UINT64_MAX;
    head->has_length = seen.length || seen.coding;
    head->expects_continue = head->expects_continue && !head->is_http10;
    head->keeps_alive = head->is_http10 ? seen.keeps && !seen.closes : !seen.closes;
    end_texts(head, base);
    why = weir__target_parse(head, base);
    return why ? refuse(head, 400, why) : 1;
}

/* --- feeding --- */

static bool is_token(char c)
{
    return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

/* A method that llhttp does not know fails at its first letter that differs. */
static int refuse_method(struct weir__head *head)
{
    const char *at = parser_of(head)->error_pos;
    return at && is_token(*at) ? refuse(head, 501, "this method is not known here")
                               : refuse(head, 400, "it does not begin with a method");
}

static int refuse_length(struct weir__head *head, llhttp_errno_t error)
{
    uint16_t flags = parser_of(head)->flags;
    bool is_coding = error == HPE_INVALID_TRANSFER_ENCODING;
    if (flags & (is_coding ? F_CONTENT_LENGTH : F_TRANSFER_ENCODING))
        return refuse(head, 400, both_lengths);
    return refuse(head, 400,
                  is_coding                                ? bad_coding
                  : error == HPE_UNEXPECTED_CONTENT_LENGTH ? two_lengths
                                                           : bad_length);
}

static int refuse_as(struct weir__head *head, llhttp_errno_t error)
{
    switch (error) {
    case HPE_INVALID_METHOD:
        return refuse_method(head);
    case HPE_INVALID_VERSION:
    case HPE_PAUSED_H2_UPGRADE:
        return refuse(head, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    case HPE_INVALID_URL:
        return refuse(head, 400, "the URL is not one");
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING:
        return refuse_length(head, error);
    default:
        return refuse(head, 400, "the head is not that of a request");
    }
}

int weir__head_feed(struct weir__head *head, char *base, size_t length)
{
    size_t until = length < head->limits->head_max ? length : head->limits->head_max;
    if (head->status != 0)
        return -1;
    head->base = base;
    if (until > head->fed) {
        llhttp_errno_t error = llhttp_execute(parser_of(head), base + head->fed, until - head->fed);
        if (error == HPE_PAUSED) {
            head->length = (uint32_t)(llhttp_get_error_pos(parser_of(head)) - base);
            return judge(head, base);
        }
        head->fed = (uint32_t)until;
        if (error != HPE_OK)
            return refuse_as(head, error);
    }
    return until < length || until == head->limits->head_max
               ? refuse(head, 431, "the head is too large")
               : 0;
}

uint16_t weir__head_find(const struct weir__head *head, const char *base, const char *name)
{
    size_t length = strlen(name);
    for (uint16_t i = 0; i < head->count; i++)
        if (head->fields[i].name_length == length &&
            strncasecmp(base + head->fields[i].name, name, length) == 0)
            return i;
    return WEIR__HEAD_NONE;
}
