/* baseline.c - earlier reports: ours (JSON, JSON Lines) and gitleaks' (a JSON array).
 *
 * A report may be large, so it is not parsed as a whole: the outer object or array is walked here,
 * and the parser gets one finding at a time. What is kept of it are digests.
 *
 * Ours are matched by fingerprint; a finding of which not all places are listed has one that knows
 * the secret everywhere. Those of gitleaks by rule, path and secret; if the secret was
 * redacted, by rule, path and line.
 */
#include "known.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "buffer.h"

#include "banned.h"

#define FINGERPRINT_LENGTH 32u

struct cursor {
    struct weir__known *known;
    const char *start, *at, *end;
    char *reason;
    size_t reason_size;
    uint64_t findings; /* understood */
};

static unsigned line_of(const struct cursor *cursor, const char *at)
{
    unsigned line = 1;
    for (const char *p = cursor->start; p < at; p++)
        line += *p == '\n';
    return line;
}

static int refuse(struct cursor *cursor, const char *what)
{
    if (cursor->reason_size > 0)
        snprintf(cursor->reason, cursor->reason_size, "line %u: %s", line_of(cursor, cursor->at),
                 what);
    return -WEIR_E_INVALID;
}

static char next(struct cursor *cursor)
{
    while (cursor->at < cursor->end && memchr(" \t\r\n", *cursor->at, 4))
        cursor->at++;
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

/* Steps over the sign, if it is the next one. */
static bool skip(struct cursor *cursor, char sign)
{
    if (next(cursor) != sign)
        return false;
    cursor->at++;
    return true;
}

/* One value, whatever comes behind it. */
static int parse(struct cursor *cursor, json_t **ret_value)
{
    json_error_t error;
    next(cursor);
    json_t *value = json_loadb(cursor->at, (size_t)(cursor->end - cursor->at),
                               JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value) {
        if (json_error_code(&error) == json_error_out_of_memory)
            return -WEIR_E_NO_MEMORY;
        size_t left = (size_t)(cursor->end - cursor->at);
        if (error.position > 0)
            cursor->at += (size_t)error.position < left ? (size_t)error.position : left;
        return refuse(cursor, "not JSON, or cut off");
    }
    cursor->at += error.position;
    *ret_value = value;
    return 0;
}

static bool get_text(const json_t *object, const char *key, struct weir__known_part *ret_part)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return false;
    *ret_part = (struct weir__known_part){json_string_value(value), json_string_length(value)};
    return true;
}

/* Ours. */

static int take_fingerprint(struct cursor *cursor, const json_t *object, const char *key)
{
    struct weir__known_part part;
    if (!get_text(object, key, &part) || part.length != FINGERPRINT_LENGTH)
        return refuse(cursor, "a finding without its fingerprint");
    return weir__known_add(cursor->known, WEIR__KNOWN_FINGERPRINT, &part, 1);
}

static int take_ours(struct cursor *cursor, const json_t *finding)
{
    const json_t *places = json_object_get(finding, "places");
    int error = 0;
    if (!json_is_array(places) || json_array_size(places) == 0)
        return refuse(cursor, "a finding without its places");
    for (size_t i = 0; i < json_array_size(places) && error == 0; i++)
        error = take_fingerprint(cursor, json_array_get(places, i), "fingerprint");
    /* Not all of its places are listed. */
    if (error == 0 && json_object_get(finding, "everywhere"))
        error = take_fingerprint(cursor, finding, "everywhere");
    cursor->findings++;
    return error;
}

/* Of gitleaks. */

/* "REDACTED", "abc..." (a part of it was asked for), or what we write in its place. */
static bool is_redacted(const struct weir__known_part *secret)
{
    const char *text = secret->text;
    size_t length = secret->length;
    return length == 0 || (length == 8 && memcmp(text, "REDACTED", 8) == 0) ||
           (length >= 3 && memcmp(text + length - 3, "...", 3) == 0) ||
           memmem(text, length, "********", 8);
}

/* The path is one of our own reports, with something hidden in it. */
static int add_mask(struct cursor *cursor, const struct weir__known_part parts[3])
{
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__MASKS_BYTES);
    int error = weir__buffer_append(&text, parts[1].text, parts[1].length);
    if (error == 0)
        error = weir__buffer_printf(&text, ":%s:%s", parts[0].text, parts[2].text);
    if (error == 0)
        error = weir__masks_add(&cursor->known->masks, weir__buffer_text(&text),
                                weir__buffer_length(&text));
    weir__buffer_fini(&text);
    return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
}

static int take_gitleaks(struct cursor *cursor, const json_t *finding)
{
    struct weir__known_part parts[3] = {0}, secret = {0};
    char line[24];
    if (!get_text(finding, "RuleID", &parts[0]) || !get_text(finding, "File", &parts[1]))
        return refuse(cursor, "neither a report of weir (json, jsonl) nor of gitleaks (json)");
    const char *plain = weir__path_plain(parts[1].text);
    parts[1].length -= (size_t)(plain - parts[1].text);
    parts[1].text = plain;
    cursor->findings++;
    get_text(finding, "Secret", &secret);
    if (!is_redacted(&secret)) {
        parts[2] = secret;
        return weir__known_add(cursor->known, WEIR__KNOWN_SECRET, parts, 3);
    }
    const json_t *number = json_object_get(finding, "StartLine");
    if (!json_is_integer(number))
        return refuse(cursor, "a finding without secret and line");
    int digits = snprintf(line, sizeof(line), "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    parts[2] = (struct weir__known_part){line, (size_t)digits};
    int error = weir__mask_is_one(parts[1].text, parts[1].length) ? add_mask(cursor, parts) : 0;
    return error ? error : weir__known_add(cursor->known, WEIR__KNOWN_PLACE, parts, 3);
}

/* The outside. */

static int walk_array(struct cursor *cursor, int (*take)(struct cursor *, const json_t *))
{
    if (!skip(cursor, '['))
        return refuse(cursor, "an array is expected");
    if (skip(cursor, ']'))
        return 0;
    do {
        json_t *value = NULL;
        int error = parse(cursor, &value);
        if (error == 0)
            error = take(cursor, value);
        json_decref(value);
        if (error != 0)
            return error;
    } while (skip(cursor, ','));
    return skip(cursor, ']') ? 0 : refuse(cursor, "not JSON, or cut off");
}

static int walk_key(struct cursor *cursor, bool *ret_is_findings)
{
    json_t *key = NULL;
    if (next(cursor) != '"')
        return refuse(cursor, "not JSON, or cut off");
    int error = parse(cursor, &key);
    if (error != 0)
        return error;
    *ret_is_findings = strcmp(json_string_value(key), "findings") == 0;
    json_decref(key);
    return skip(cursor, ':') ? 0 : refuse(cursor, "not JSON, or cut off");
}

/* Our JSON: an object of which one member matters. */
static int walk_object(struct cursor *cursor)
{
    bool has_findings = false;
    if (!skip(cursor, '{'))
        return refuse(cursor, "an object is expected");
    if (skip(cursor, '}'))
        return refuse(cursor, "not a report of weir: it has no 'findings'");
    do {
        bool is_findings = false;
        json_t *value = NULL;
        int error = walk_key(cursor, &is_findings);
        if (error == 0)
            error = is_findings ? walk_array(cursor, take_ours) : parse(cursor, &value);
        json_decref(value);
        if (error != 0)
            return error;
        has_findings |= is_findings;
    } while (skip(cursor, ','));
    if (!skip(cursor, '}'))
        return refuse(cursor, "not JSON, or cut off");
    return has_findings ? 0 : refuse(cursor, "not a report of weir: it has no 'findings'");
}

/* Our JSON Lines: objects that say what they are; the last one is the summary. */
static int walk_lines(struct cursor *cursor)
{
    bool has_summary = false;
    while (next(cursor) != '\0') {
        struct weir__known_part type = {"", 0};
        json_t *value = NULL;
        int error = parse(cursor, &value);
        if (error == 0 && !get_text(value, "type", &type))
            error = refuse(cursor, "a line without its type");
        if (error == 0 && strcmp(type.text, "finding") == 0)
            error = take_ours(cursor, value);
        has_summary |= strcmp(type.text, "summary") == 0;
        json_decref(value);
        if (error != 0)
            return error;
    }
    return has_summary ? 0 : refuse(cursor, "cut off: the summary at the end is missing");
}

/* Whether the first member of the object is "type". */
static bool begins_with_type(const struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    static const char type[] = "\"type\"";
    return skip(&ahead, '{') && next(&ahead) == '"' &&
           (size_t)(ahead.end - ahead.at) >= sizeof(type) - 1 &&
           memcmp(ahead.at, type, sizeof(type) - 1) == 0;
}

int weir__known_read_report(struct weir__known *known, const char *text, size_t length,
                            char *ret_reason, size_t reason_size)
{
    struct cursor cursor = {.known = known,
                            .start = text,
                            .at = text,
                            .end = text + length,
                            .reason = ret_reason,
                            .reason_size = reason_size};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        cursor.at += 3;
    char first = next(&cursor);
    if (first == '[') {
        int error = walk_array(&cursor, take_gitleaks);
        if (error != 0)
            return error;
    } else if (first == '{') {
        int error = begins_with_type(&cursor) ? walk_lines(&cursor) : walk_object(&cursor);
        if (error != 0)
            return error;
    } else {
        return refuse(&cursor, first == '\0' ? "it is empty" : "not a report in JSON");
    }
    return next(&cursor) == '\0' && cursor.at == cursor.end
               ? 0
               : refuse(&cursor, "more than one report");
}
