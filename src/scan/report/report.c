/* report.c - names of the formats, and what their writers share. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "paths.h"
#include "report_parts.h"
#include "require.h"
#include "text.h"
#include "values.h"

#include "banned.h"

/* The longest value is a path of an archive in archives, each byte written as six. */
#define BUFFER_MAX (8u << 20)
/* Of the other paths of a place, in a sentence. */
#define PATHS_SHOWN 8u

static const struct {
    const char *name;
    void (*write)(struct weir__writer *writer);
} formats[WEIR__REPORT_FORMATS] = {
    [WEIR__REPORT_HUMAN] = {"human", weir__report_human},
    [WEIR__REPORT_JSON] = {"json", weir__report_json},
    [WEIR__REPORT_JSONL] = {"jsonl", weir__report_jsonl},
    [WEIR__REPORT_SARIF] = {"sarif", weir__report_sarif},
    [WEIR__REPORT_CSV] = {"csv", weir__report_csv},
    [WEIR__REPORT_JUNIT] = {"junit", weir__report_junit},
    [WEIR__REPORT_GITHUB] = {"github", weir__report_github},
    [WEIR__REPORT_GITLEAKS] = {"gitleaks", weir__report_gitleaks},
    [WEIR__REPORT_HTML] = {"html", weir__report_html},
};

const char *weir__report_name(enum weir__report_format format)
{
    WEIR__REQUIRE((unsigned)format < WEIR__REPORT_FORMATS, "report", "", "no such format");
    return formats[format].name;
}

int weir__report_find(const char *name)
{
    for (int i = 0; i < WEIR__REPORT_FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return i;
    return -WEIR_E_INVALID;
}

/* Writing. */

void weir__write_note(struct weir__writer *writer, int error)
{
    if (writer->_error == 0)
        writer->_error = error;
}

static void flush(struct weir__writer *writer)
{
    size_t length = weir__buffer_length(&writer->buffer);
    if (length > 0 && writer->_error == 0)
        writer->_error =
            writer->_out->write(writer->_out->arg, weir__buffer_text(&writer->buffer), length);
    weir__buffer_truncate(&writer->buffer, 0);
}

void weir__write_step(struct weir__writer *writer)
{
    if (weir__buffer_length(&writer->buffer) >= WEIR__REPORT_PIECE)
        flush(writer);
}

void weir__write_bytes(struct weir__writer *writer, const char *bytes, size_t length)
{
    if (writer->_error != 0)
        return;
    weir__write_note(writer, weir__buffer_append(&writer->buffer, bytes, length));
    weir__write_step(writer);
}

void weir__write(struct weir__writer *writer, const char *text)
{
    weir__write_bytes(writer, text, strlen(text));
}

void weir__writef(struct weir__writer *writer, const char *format, ...)
{
    va_list args;
    if (writer->_error != 0)
        return;
    va_start(args, format);
    weir__write_note(writer, weir__buffer_vprintf(&writer->buffer, format, args));
    va_end(args);
    weir__write_step(writer);
}

int weir__report(const struct weir__findings *findings, const struct weir__summary *summary,
                 const struct weir__report_options *options, const struct weir__report_out *out)
{
    struct weir__writer writer = {
        .findings = findings, .summary = summary, .options = options, ._out = out};
    WEIR__REQUIRE((unsigned)options->format < WEIR__REPORT_FORMATS, "report", "", "no such format");
    WEIR__REQUIRE(weir__findings_is_finished(findings), "report", "", "findings are not in order");
    weir__buffer_init(&writer.buffer, BUFFER_MAX);
    formats[options->format].write(&writer);
    flush(&writer);
    weir__buffer_fini(&writer.buffer);
    return writer._error;
}

int weir__report_found(struct weir__findings *findings, const struct weir__report_out *out)
{
    struct weir__writer writer = {.findings = findings, ._out = out};
    bool has_more = true;
    weir__buffer_init(&writer.buffer, BUFFER_MAX);
    while (has_more && writer._error == 0) {
        has_more = weir__findings_fresh(findings, weir__report_put_found, &writer);
        flush(&writer);
    }
    weir__buffer_fini(&writer.buffer);
    return writer._error;
}

/* Characters. */

static uint32_t code_point(const unsigned char *p, size_t length)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t value = p[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        value = value << 6 | (p[i] & 0x3f);
    return value;
}

/* Format characters that a reader does not see, or that move what stands beside them; and what XML
 * cannot hold. */
static bool is_invisible(uint32_t c)
{
    return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           c == 0xfffe || c == 0xffff || (c >= 0xe0000 && c <= 0xe0fff);
}

static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
           (c >= 0x20000 && c <= 0x3fffd);
}

/* The letter of \n and its like, or 0. */
static char letter_of(uint32_t c)
{
    return c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : '\0';
}

void weir__piece(struct weir__piece *ret_piece, const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = weir__text_utf8_length(p, left), size = sizeof(ret_piece->text);
    uint32_t c = length ? code_point(p, length) : p[0];
    int written;
    *ret_piece = (struct weir__piece){.used = length ? length : 1, .is_escaped = true};
    if (letter_of(c)) {
        written = snprintf(ret_piece->text, size, "\\%c", letter_of(c));
    } else if (length == 0 || c < ' ' || c == 0x7f) {
        written = snprintf(ret_piece->text, size, "\\x%02x", c);
    } else if (is_invisible(c)) {
        written = snprintf(ret_piece->text, size, "\\u{%x}", c);
    } else {
        memcpy(ret_piece->text, text, length);
        ret_piece->length = length;
        ret_piece->cells = c >= 0x300 && c <= 0x36f ? 0 : is_wide(c) ? 2 : 1;
        ret_piece->is_escaped = false;
        return;
    }
    ret_piece->length = (size_t)written;
    ret_piece->cells = (unsigned)written;
}

void weir__write_pieces(struct weir__writer *writer, const char *text, size_t length,
                        weir__put_piece *put)
{
    struct weir__piece piece;
    for (size_t at = 0; at < length; at += piece.used) {
        weir__piece(&piece, text + at, length - at);
        if (put)
            put(writer, &piece);
        else
            weir__write_bytes(writer, piece.text, piece.length);
    }
}

void weir__write_shown(struct weir__writer *writer, const char *text)
{
    weir__write_pieces(writer, text, strlen(text), NULL);
}

const char *weir__write_what(struct weir__writer *writer, const char *reason)
{
    static const char *const ends[] = {" of", " in", " into", " with"};
    const char *rest = strstr(reason, ": ");
    size_t length = rest ? (size_t)(rest - reason) : 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t end = strlen(ends[i]);
        if (length > end && memcmp(rest - end, ends[i], end) == 0) {
            weir__writef(writer, "%.*s it", (int)length, reason);
            return rest;
        }
    }
    return reason;
}

bool weir__name_is_escaped(const char *path)
{
    struct weir__piece piece;
    size_t length = strlen(path);
    for (size_t at = 0; at < length; at += piece.used) {
        weir__piece(&piece, path + at, length - at);
        if (piece.is_escaped ||
            (path[at] == '\\' && path[at + 1] && strchr("nrtxu\\", path[at + 1])))
            return true;
    }
    return false;
}

void weir__name_piece(struct weir__piece *ret_piece, const char *path, size_t left, bool is_escaped)
{
    weir__piece(ret_piece, path, left);
    if (is_escaped && path[0] == '\\')
        *ret_piece = (struct weir__piece){
            .text = "\\\\", .length = 2, .used = 1, .cells = 2, .is_escaped = true};
}

void weir__write_name(struct weir__writer *writer, const char *path, weir__put_piece *put)
{
    bool is_escaped = weir__name_is_escaped(path);
    struct weir__piece piece;
    size_t length = strlen(path);
    for (size_t at = 0; at < length; at += piece.used) {
        weir__name_piece(&piece, path + at, length - at, is_escaped);
        if (put)
            put(writer, &piece);
        else
            weir__write_bytes(writer, piece.text, piece.length);
    }
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_escape(const char *text)
{
    return text[0] == '\\' && text[1] == 'x' && is_hex(text[2]) && is_hex(text[3]);
}

bool weir__name_is_text(const char *path)
{
    size_t length = strlen(path), step;
    for (size_t at = 0; at < length; at += step) {
        step = weir__text_utf8_length((const unsigned char *)path + at, length - at);
        if (step == 0)
            return false;
    }
    return true;
}

static bool is_name_plain(const char *path)
{
    for (const char *at = strchr(path, '\\'); at; at = strchr(at + 1, '\\'))
        if (is_escape(at))
            return false;
    return weir__name_is_text(path);
}

const char *weir__name_written(const char *path, struct weir__buffer *buffer)
{
    size_t length = strlen(path);
    int error = 0;
    if (is_name_plain(path))
        return path;
    for (size_t at = 0; at < length && error == 0;) {
        size_t step = weir__text_utf8_length((const unsigned char *)path + at, length - at);
        if (step == 0)
            error = weir__buffer_printf(buffer, "\\x%02x", (unsigned char)path[at]);
        else if (path[at] == '\\')
            error = weir__buffer_puts(buffer, "\\\\");
        else
            error = weir__buffer_append(buffer, path + at, step);
        at += step ? step : 1;
    }
    return error == 0 ? weir__buffer_text(buffer) : NULL;
}

void weir__write_count(struct weir__writer *writer, uint64_t count, const char *one,
                       const char *many)
{
    weir__writef(writer, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

/* Places and rules. */

static uint64_t characters(const char *text, size_t length)
{
    uint64_t count = 0;
    for (size_t at = 0; at < length; count++) {
        size_t step = weir__text_utf8_length((const unsigned char *)text + at, length - at);
        at += step ? step : 1;
    }
    return count;
}

void weir__place_columns(const struct weir__found_place *place, uint64_t *ret_column,
                         uint64_t *ret_end_column)
{
    *ret_column = place->place.column;
    *ret_end_column = place->place.end_column;
    /* Only a line that is there from its beginning can be counted. */
    if (place->line_length == 0 || place->line_from + 1 != place->place.column)
        return;
    *ret_column = characters(place->line, place->line_from) + 1;
    if (place->place.end_line == place->place.line &&
        place->place.end_column == place->line_until + 1)
        *ret_end_column = *ret_column + characters(place->line + place->line_from,
                                                   place->line_until - place->line_from);
}

uint64_t weir__places_total(const struct weir__findings *findings)
{
    uint64_t total = 0;
    for (size_t i = 0; i < weir__findings_count(findings); i++)
        total += weir__findings_at(findings, i)->places_total;
    return total;
}

uint64_t weir__places_unlisted(const struct weir__findings *findings)
{
    uint64_t unlisted = 0;
    for (size_t i = 0; i < weir__findings_count(findings); i++) {
        const struct weir__found *found = weir__findings_at(findings, i);
        unlisted += found->places_total - found->places_count;
    }
    return unlisted;
}

void weir__json_encodings(struct weir__json *json, const char *encodings)
{
    weir__json_array(json);
    while (*encodings) {
        size_t length = strcspn(encodings, ",");
        weir__json_bytes(json, encodings, length);
        encodings += length;
        encodings += strspn(encodings, ", ");
    }
    weir__json_end(json);
}

void weir__json_strings(struct weir__json *json, const struct weir__strings *strings)
{
    weir__json_array(json);
    for (size_t i = 0; i < strings->count; i++)
        weir__json_string(json, strings->items[i]);
    weir__json_end(json);
}

const char *weir__rule_description(const struct weir__rule *rule)
{
    return rule->description && rule->description[0] ? rule->description : rule->id;
}

/* Sentences. */

static void write_known(struct weir__writer *writer, const char *before, const char *text,
                        weir__put_piece *put)
{
    if (!text || !*text)
        return;
    weir__write(writer, before);
    weir__write_pieces(writer, text, strlen(text), put);
}

void weir__write_brought(struct weir__writer *writer, const struct weir__found_place *place,
                         weir__put_piece *put)
{
    write_known(writer, ", commit ", place->commit, put);
    if (!place->object)
        return;
    write_known(writer, " by ", place->author, put);
    write_known(writer, ", ", place->date, put);
    write_known(writer, ", ", place->by, put);
}

bool weir__write_paths(struct weir__writer *writer, const struct weir__found_place *place,
                       const char *before, weir__put_piece *put)
{
    uint64_t shown = 0;
    for (const char *path = place->paths; path && *path && shown < PATHS_SHOWN;
         path = weir__paths_next(path)) {
        weir__write(writer, shown++ == 0 ? before : ", ");
        weir__write_name(writer, path, put);
    }
    if (shown > 0 && place->paths_total > shown) {
        weir__write(writer, " and ");
        weir__write_count(writer, place->paths_total - shown, "more path", "more paths");
    }
    return shown > 0;
}

bool weir__is_nothing_scanned(const struct weir__summary *summary)
{
    return summary->files == 0 && summary->archives == 0 && summary->objects == 0 &&
           summary->remembered == 0 && summary->ignored == 0 && summary->allowed == 0;
}

void weir__write_found(struct weir__writer *writer)
{
    size_t count = weir__findings_count(writer->findings);
    if (count == 0 && writer->summary->unlisted == 0) {
        weir__write(writer, weir__is_nothing_scanned(writer->summary) ? "nothing was scanned"
                                                                      : "no secrets found");
    } else {
        weir__write_count(writer, count, "secret", "secrets");
        weir__write(writer, " in ");
        weir__write_count(writer, weir__places_total(writer->findings), "place", "places");
        uint64_t unlisted = weir__places_unlisted(writer->findings);
        if (unlisted > 0)
            weir__writef(writer, ", %" PRIu64 " of them not listed", unlisted);
    }
    if (writer->summary->ignored > 0)
        weir__writef(writer, ", %" PRIu64 " known before", writer->summary->ignored);
    if (writer->summary->allowed > 0)
        weir__writef(writer, ", %" PRIu64 " allowed", writer->summary->allowed);
}

void weir__write_scanned(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    char size[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(summary->bytes, size);
    weir__write_count(writer, summary->files, "file", "files");
    weir__writef(writer, ", %s", size);
    if (summary->archives > 0) {
        weir__write(writer, ", ");
        weir__write_count(writer, summary->members, "member", "members");
        weir__write(writer, " of ");
        weir__write_count(writer, summary->archives, "archive", "archives");
    }
    if (summary->repositories > 0) {
        weir__write(writer,
                    summary->repositories == 1 ? ", the history of " : ", the histories of ");
        weir__write_count(writer, summary->repositories, "repository", "repositories");
    }
    weir__writef(writer, " scanned in %.2f s", summary->seconds);
}

bool weir__is_incomplete(const struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    return !summary->is_complete || summary->is_interrupted || summary->failed > 0 ||
           summary->truncated > 0 || summary->unlisted > 0;
}

bool weir__write_missing(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    const char *between = ": ";
    if (!weir__is_incomplete(writer))
        return false;
    weir__write(writer, "incomplete");
    if (summary->is_interrupted) {
        weir__writef(writer, "%sstopped before the end", between);
        between = ", ";
    }
    if (summary->failed > 0) {
        weir__writef(writer, "%s%" PRIu64 " could not be scanned", between, summary->failed);
        between = ", ";
    }
    if (summary->truncated > 0) {
        weir__writef(writer, "%s%" PRIu64 " only in part", between, summary->truncated);
        between = ", ";
    }
    if (summary->unlisted > 0)
        weir__writef(writer, "%s%" PRIu64 " found but not listed", between, summary->unlisted);
    return true;
}
