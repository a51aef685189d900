/* chunks.c - a machine that goes by bytes between the runs of body, and by runs within. */
#include "chunks.h"

#include <string.h>

#include "banned.h"

enum state {
    SIZE,         /* digits, or what follows them */
    EXTENSION,    /* up to CR */
    SIZE_LF,      /* the LF of that line */
    BODY,         /* left bytes */
    BODY_CR,      /* behind it */
    BODY_LF,      /* */
    TRAILER,      /* the first byte of a line behind the last chunk */
    TRAILER_NAME, /* up to the colon */
    TRAILER_TEXT, /* up to CR */
    TRAILER_LF,   /* the LF of such a line */
    LAST_LF,      /* of the empty line */
    WHOLE,
    REFUSED,
};

static int refuse(struct weir__chunks *chunks, const char *why)
{
    chunks->state = REFUSED;
    chunks->why = why;
    return -1;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c)
{
    return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

static int on_size(struct weir__chunks *chunks, char c)
{
    int digit = digit_of(c);
    if (digit >= 0 && chunks->digits < 8) {
        chunks->left = chunks->left * 16 + (uint32_t)digit;
        chunks->digits++;
        return 0;
    }
    if (chunks->digits == 0 || digit >= 0)
        return refuse(chunks, "the size of a chunk is not one");
    if (c == '\r')
        chunks->state = SIZE_LF;
    else if (c == ';')
        chunks->state = EXTENSION;
    else
        return refuse(chunks, "the size of a chunk is not one");
    return 0;
}

/* A byte that is passed over. */
static int pass(struct weir__chunks *chunks, char c, enum state at_cr)
{
    if (c == '\r') {
        chunks->state = (uint8_t)at_cr;
        return 0;
    }
    if (!is_text(c))
        return refuse(chunks, "there is a control character between chunks");
    return ++chunks->extra > WEIR__CHUNKS_EXTRA ? refuse(chunks, "there is too much between chunks")
                                                : 0;
}

static int on_trailer(struct weir__chunks *chunks, char c)
{
    if (c == '\r') {
        chunks->state = LAST_LF;
        return 0;
    }
    if (++chunks->trailers > WEIR__CHUNKS_TRAILERS || c == ':' || c <= ' ' || c >= 0x7f)
        return refuse(chunks, "a trailer is not a header");
    chunks->state = TRAILER_NAME;
    return pass(chunks, c, TRAILER_NAME);
}

static int on_trailer_name(struct weir__chunks *chunks, char c)
{
    if (c == ':')
        chunks->state = TRAILER_TEXT;
    else if (c <= ' ' || c >= 0x7f)
        return refuse(chunks, "a trailer is not a header");
    return pass(chunks, c, TRAILER_NAME);
}

static int expect(struct weir__chunks *chunks, char c, char wanted, enum state next)
{
    if (c != wanted)
        return refuse(chunks, "a chunk does not end with CR LF");
    chunks->state = (uint8_t)next;
    return 0;
}

static int on_byte(struct weir__chunks *chunks, char c)
{
    switch ((enum state)chunks->state) {
    case SIZE:
        return on_size(chunks, c);
    case EXTENSION:
        return pass(chunks, c, SIZE_LF);
    case SIZE_LF:
        chunks->digits = 0;
        return expect(chunks, c, '\n', chunks->left > 0 ? BODY : TRAILER);
    case BODY_CR:
        return expect(chunks, c, '\r', BODY_LF);
    case BODY_LF:
        return expect(chunks, c, '\n', SIZE);
    case TRAILER:
        return on_trailer(chunks, c);
    case TRAILER_NAME:
        return on_trailer_name(chunks, c);
    case TRAILER_TEXT:
        return pass(chunks, c, TRAILER_LF);
    case TRAILER_LF:
        return expect(chunks, c, '\n', TRAILER);
    case LAST_LF:
        return expect(chunks, c, '\n', WHOLE);
    case BODY:
    case WHOLE:
    case REFUSED:
        break;
    }
    return -1;
}

int weir__chunks_next(struct weir__chunks *chunks, const char **at, const char *end, size_t max,
                      const char **ret_run, size_t *ret_length)
{
    *ret_length = 0;
    while (*at < end && chunks->state != BODY && chunks->state != WHOLE)
        if (on_byte(chunks, *(*at)++) < 0)
            return -1;
    if (chunks->state == WHOLE)
        return 1;
    size_t length = (size_t)(end - *at);
    if (length == 0 || chunks->state != BODY)
        return 0;
    length = length < chunks->left ? length : chunks->left;
    length = length < max ? length : max;
    *ret_run = *at;
    *ret_length = length;
    *at += length;
    chunks->left -= (uint32_t)length;
    if (chunks->left == 0)
        chunks->state = BODY_CR;
    return 0;
}
