/* archive_text.c - the texts in bytes that are mostly none.
 *
 * A secret is a text, also when it is encoded; packed bytes are not. Of random bytes one in a
 * hundred thousand begins a text of TEXT_MIN, so that looking for texts before the scanner does
 * costs next to nothing and leaves it nothing to do. Bytes of which every second is NUL are text,
 * too: that is UTF-16.
 */
#include <string.h>

#include "archive_own.h"

#include "banned.h"

#define STRANGE_MAX 4u

void weir__archive_lines_pass(struct weir__archive_lines *lines, uint64_t at, const char *bytes,
                              size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += bytes[i] == '\n';
    if (count == 0)
        return;
    const char *last = memrchr(bytes, '\n', length);
    lines->count += count;
    lines->start = at + (size_t)(last - bytes) + 1;
}

static bool is_text(char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

static size_t zeros_from(const char *bytes, size_t at, size_t length)
{
    static const char zeros[64];
    while (length - at >= sizeof(zeros) && memcmp(bytes + at, zeros, sizeof(zeros)) == 0)
        at += sizeof(zeros);
    while (at < length && bytes[at] == '\0')
        at++;
    return at;
}

bool weir__archive_is_plain(const char *bytes, size_t length)
{
    size_t i = 0;
    while (i < length && ((unsigned char)bytes[i] >= 0x80 || is_text(bytes[i])))
        i++;
    return zeros_from(bytes, i, length) == length;
}

/* Where the next text may begin: the last byte that it must have is looked at first, and what is
 * not one of it is stepped over. */
static size_t next_text(const char *bytes, size_t at, size_t length)
{
    at = zeros_from(bytes, at, length);
    while (length - at >= WEIR__ARCHIVE_TEXT_MIN) {
        size_t i = at + WEIR__ARCHIVE_TEXT_MIN;
        while (i > at && (is_text(bytes[i - 1]) || bytes[i - 1] == '\0'))
            i--;
        if (i == at)
            return at;
        at = i;
    }
    return at;
}

/* What is pending becomes no text, or was given; it ends at that place. */
static void pass_pending(struct weir__archive_text *text, uint64_t end)
{
    weir__archive_lines_pass(&text->lines, end - text->pending_length, text->pending,
                             text->pending_length);
    text->pending_length = text->strange = 0;
}

/* Gathers what may become a text. Returns where it stopped: the text is one, or is none. */
static size_t gather(struct weir__archive_text *text, const char *bytes, size_t at, size_t length)
{
    while (at < length && text->pending_length < WEIR__ARCHIVE_TEXT_MIN) {
        char c = bytes[at++];
        if (is_text(c)) {
            text->strange = 0;
        } else if (c != '\0' || text->pending_length == 0 || ++text->strange == STRANGE_MAX) {
            pass_pending(text, text->at + at - 1);
            return at;
        }
        text->pending[text->pending_length++] = c;
    }
    return at;
}

void weir__archive_text_feed(struct weir__archive_text *text, const char *bytes, size_t length,
                             const struct weir__archive_text_sink *sink)
{
    size_t at = 0;
    while (at < length) {
        if (!text->is_in_text) {
            if (text->pending_length == 0) {
                size_t next = next_text(bytes, at, length);
                weir__archive_lines_pass(&text->lines, text->at + at, bytes + at, next - at);
                at = next;
            }
            at = gather(text, bytes, at, length);
            if (text->pending_length < WEIR__ARCHIVE_TEXT_MIN)
                continue;
            unsigned strange = text->strange;
            sink->put(sink->arg, text->at + at - WEIR__ARCHIVE_TEXT_MIN, &text->lines,
                      text->pending, WEIR__ARCHIVE_TEXT_MIN);
            pass_pending(text, text->at + at);
            text->strange = strange;
            text->is_in_text = true;
        }
        size_t from = at;
        while (at < length && text->strange < STRANGE_MAX)
            text->strange = is_text(bytes[at++]) ? 0 : text->strange + 1;
        if (at > from)
            sink->put(sink->arg, text->at + from, &text->lines, bytes + from, at - from);
        weir__archive_lines_pass(&text->lines, text->at + from, bytes + from, at - from);
        if (text->strange == STRANGE_MAX) {
            text->is_in_text = false;
            text->strange = 0;
        }
    }
    text->at += length;
}

void weir__archive_text_jump(struct weir__archive_text *text, uint64_t at,
                             const struct weir__archive_lines *between)
{
    pass_pending(text, text->at);
    struct weir__archive_lines lines = text->lines;
    if (between->count > 0)
        lines = (struct weir__archive_lines){lines.count + between->count, between->start};
    *text = (struct weir__archive_text){.at = at, .lines = lines};
}

void weir__archive_text_pass(struct weir__archive_text *text, const char *bytes, size_t length)
{
    struct weir__archive_lines between = {0};
    weir__archive_lines_pass(&between, text->at, bytes, length);
    weir__archive_text_jump(text, text->at + length, &between);
}
