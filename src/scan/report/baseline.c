/* baseline.c - earlier reports: ours (JSON, JSON Lines, SARIF) and gitleaks' (a JSON array).
 *
 * A report may be large, so it is neither read nor parsed as a whole: the outer object or array is
 * walked here, in a window that moves over the text, and the parser gets one finding at a time.
 * What is kept of it are digests.
 *
 * The parser asks for more as it goes on, and has taken more than it needed when it is done, at
 * most what it asks for at once (TAIL). So when the window moves on meanwhile, so much of what was
 * there stays in it, and the cursor can be put back to where the value ended.
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

#include "alloc.h"
#include "buffer.h"

#include "banned.h"

#define FINGERPRINT_LENGTH 32u
#define FORMAT_VERSION     1
/* Of what the parser was given, so much at most is behind the value; it asks for less at once. */
#define TAIL 4096u
/* What a value takes in memory, about: its text, and something for each sign that may begin one. */
#define SIGN_COST 96u

struct cursor {
    struct weir__known *known;
    const struct weir__report_in *in;
    char *window;
    size_t at, used;      /* in the window: what is next, and what there is */
    bool is_over;         /* there is no more than that */
    int error;            /* that reading failed with */
    uint64_t lines;       /* before the window */
    uint64_t cost, given; /* of the value that is parsed: memory, bytes of text */
    char *reason;
    size_t reason_size;
};

static uint64_t count_lines(const char *text, size_t length)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

static int refuse(struct cursor *cursor, const char *what)
{
    if (cursor->error)
        return cursor->error;
    if (cursor->reason_size > 0)
        snprintf(cursor->reason, cursor->reason_size, "line %" PRIu64 ": %s",
                 cursor->lines + count_lines(cursor->window, cursor->at) + 1, what);
    return -WEIR_E_INVALID;
}

/* Moves the window on, but for so many bytes before the cursor, and fills it. */
static void fill(struct cursor *cursor, size_t kept)
{
    size_t gone = cursor->at > kept ? cursor->at - kept : 0;
    cursor->lines += count_lines(cursor->window, gone);
    memmove(cursor->window, cursor->window + gone, cursor->used - gone);
    cursor->at -= gone;
    cursor->used -= gone;
    while (cursor->used < WEIR__REPORT_WINDOW && !cursor->is_over) {
        ssize_t n = cursor->in->read(cursor->in->arg, cursor->window + cursor->used,
                                     WEIR__REPORT_WINDOW - cursor->used);
        cursor->is_over = n <= 0;
        cursor->error = n < 0 ? (int)n : 0;
        cursor->used += n > 0 ? (size_t)n : 0;
    }
}

static char next(struct cursor *cursor)
{
    for (;;) {
        while (cursor->at < cursor->used && memchr(" \t\r\n", cursor->window[cursor->at], 4))
            cursor->at++;
        if (cursor->at < cursor->used)
            return cursor->window[cursor->at];
        if (cursor->is_over)
            return '\0';
        fill(cursor, 0);
    }
}

/* Steps over the sign, if it is the next one. */
static bool skip(struct cursor *cursor, char sign)
{
    if (next(cursor) != sign)
        return false;
    cursor->at++;
    return true;
}

/* What the parser gets next; none when the value costs too much. */
static size_t give(void *bytes, size_t size, void *arg)
{
    struct cursor *cursor = arg;
    if (cursor->at == cursor->used && !cursor->is_over)
        fill(cursor, TAIL);
    size_t left = cursor->used - cursor->at;
    size_t count = left < size ? left : size;
    if (count > TAIL)
        count = TAIL;
    const char *from = cursor->window + cursor->at;
    cursor->cost += count;
    for (size_t i = 0; i < count; i++)
        if (from[i] == ',' || from[i] == '[' || from[i] == '{')
            cursor->cost += SIGN_COST;
    if (cursor->cost > WEIR__REPORT_VALUE_COST)
        return 0;
    memcpy(bytes, from, count);
    cursor->at += count;
    cursor->given += count;
    return count;
}

/* One value, whatever comes behind it. */
static int parse(struct cursor *cursor, json_t **ret_value)
{
    json_error_t error;
    next(cursor);
    cursor->cost = cursor->given = 0;
    json_t *value = json_load_callback(
        give, cursor, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    size_t ahead = (size_t)(cursor->given - (uint64_t)error.position);
    cursor->at -= ahead < cursor->at ? ahead : cursor->at;
    if (value) {
        *ret_value = value;
        return 0;
    }
    if (json_error_code(&error) == json_error_out_of_memory)
        return -WEIR_E_NO_MEMORY;
    const char *what = cursor->cost > WEIR__REPORT_VALUE_COST
                           ? "a single finding is too large: take it out of the report"
                           : "not JSON, or cut off";
    return refuse(cursor, what);
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
    return error;
}

static int take_locations(struct cursor *cursor, const json_t *locations)
{
    int error = 0;
    for (size_t i = 0; i < json_array_size(locations) && error == 0; i++) {
        const json_t *location = json_array_get(locations, i);
        error = take_fingerprint(cursor, json_object_get(location, "properties"), "fingerprint");
    }
    return error;
}

/* Of our SARIF: its places are locations. */
static int take_result(struct cursor *cursor, const json_t *result)
{
    const json_t *locations = json_object_get(result, "locations");
    const json_t *properties = json_object_get(result, "properties");
    if (json_array_size(locations) == 0)
        return refuse(cursor, "a finding without its places");
    int error = take_locations(cursor, locations);
    if (error == 0)
        error = take_locations(cursor, json_object_get(result, "relatedLocations"));
    if (error == 0 && json_object_get(properties, "everywhere"))
        error = take_fingerprint(cursor, properties, "everywhere");
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
        return refuse(cursor,
                      "neither a report of weir (json, jsonl, sarif) nor of gitleaks (json)");
    const char *plain = weir__path_plain(parts[1].text);
    parts[1].length -= (size_t)(plain - parts[1].text);
    parts[1].text = plain;
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

enum key { KEY_OTHER, KEY_FINDINGS, KEY_VERSION, KEY_RUNS, KEY_RESULTS };

static int walk_key(struct cursor *cursor, enum key *ret_key)
{
    static const char *const names[] = {[KEY_FINDINGS] = "findings",
                                        [KEY_VERSION] = "format_version",
                                        [KEY_RUNS] = "runs",
                                        [KEY_RESULTS] = "results"};
    json_t *key = NULL;
    if (next(cursor) != '"')
        return refuse(cursor, "not JSON, or cut off");
    int error = parse(cursor, &key);
    if (error != 0)
        return error;
    *ret_key = KEY_OTHER;
    for (enum key i = KEY_FINDINGS; i <= KEY_RESULTS; i++)
        if (strcmp(json_string_value(key), names[i]) == 0)
            *ret_key = i;
    json_decref(key);
    return skip(cursor, ':') ? 0 : refuse(cursor, "not JSON, or cut off");
}

/* In another version a finding may be named in other ways: what is not understood would be told
 * again, or worse. */
static int check_version(struct cursor *cursor, const json_t *version)
{
    return json_is_integer(version) && json_integer_value(version) == FORMAT_VERSION
               ? 0
               : refuse(cursor,
                        "a report of another version of weir (its format_version is not 1): "
                        "make it anew");
}

/* What an object is the whole of: a report, or a run in one of SARIF. */
enum whole { WHOLE_REPORT, WHOLE_RUN };

static int walk_runs(struct cursor *cursor);

static int walk_member(struct cursor *cursor, enum whole whole, bool *ret_has_findings)
{
    enum key key = KEY_OTHER;
    json_t *value = NULL;
    int error = walk_key(cursor, &key);
    if (error != 0)
        return error;
    bool is_run = whole == WHOLE_RUN;
    if (key == (is_run ? KEY_RESULTS : KEY_FINDINGS)) {
        *ret_has_findings = true;
        return walk_array(cursor, is_run ? take_result : take_ours);
    }
    if (key == KEY_RUNS && !is_run) {
        *ret_has_findings = true;
        return walk_runs(cursor);
    }
    error = parse(cursor, &value);
    if (error == 0 && key == KEY_VERSION && !is_run)
        error = check_version(cursor, value);
    json_decref(value);
    return error;
}

/* An object of which one member matters: our JSON, and SARIF and the runs in it. */
static int walk_object(struct cursor *cursor, enum whole whole)
{
    const char *none = whole == WHOLE_RUN ? "not a report of weir: a run has no 'results'"
                                          : "not a report of weir: it has no 'findings'";
    bool has_findings = false;
    if (!skip(cursor, '{'))
        return refuse(cursor, "an object is expected");
    if (skip(cursor, '}'))
        return refuse(cursor, none);
    do {
        int error = walk_member(cursor, whole, &has_findings);
        if (error != 0)
            return error;
    } while (skip(cursor, ','));
    if (!skip(cursor, '}'))
        return refuse(cursor, "not JSON, or cut off");
    return has_findings ? 0 : refuse(cursor, none);
}

static int walk_runs(struct cursor *cursor)
{
    if (!skip(cursor, '['))
        return refuse(cursor, "an array is expected");
    do {
        int error = walk_object(cursor, WHOLE_RUN);
        if (error != 0)
            return error;
    } while (skip(cursor, ','));
    return skip(cursor, ']') ? 0 : refuse(cursor, "not JSON, or cut off");
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
        bool is_summary = strcmp(type.text, "summary") == 0;
        const json_t *version = is_summary ? json_object_get(value, "format_version") : NULL;
        if (error == 0 && version)
            error = check_version(cursor, version);
        has_summary |= is_summary;
        json_decref(value);
        if (error != 0)
            return error;
    }
    return has_summary ? 0 : refuse(cursor, "cut off: the summary at the end is missing");
}

/* Whether the first member of the object is "type": a look into the window, which has just been
 * filled. */
static bool begins_with_type(const struct cursor *cursor)
{
    static const char type[] = "\"type\"";
    const char *text = cursor->window;
    size_t at = cursor->at + 1;
    while (at < cursor->used && memchr(" \t\r\n", text[at], 4))
        at++;
    return cursor->used - at >= sizeof(type) - 1 && memcmp(text + at, type, sizeof(type) - 1) == 0;
}

static int walk(struct cursor *cursor)
{
    fill(cursor, 0);
    if (cursor->used >= 3 && memcmp(cursor->window, "\xef\xbb\xbf", 3) == 0)
        cursor->at += 3;
    char first = next(cursor);
    fill(cursor, 0);
    int error = 0;
    if (first == '[')
        error = walk_array(cursor, take_gitleaks);
    else if (first == '{')
        error = begins_with_type(cursor) ? walk_lines(cursor) : walk_object(cursor, WHOLE_REPORT);
    else
        error =
            refuse(cursor, first == '\0' && cursor->at == cursor->used ? "it is empty"
                                                                       : "not a report in JSON");
    if (error != 0)
        return error;
    next(cursor);
    if (cursor->error)
        return cursor->error;
    return cursor->at == cursor->used ? 0 : refuse(cursor, "more than one report");
}

int weir__known_read_report(struct weir__known *known, const struct weir__report_in *in,
                            char *ret_reason, size_t reason_size)
{
    struct cursor cursor = {.known = known,
                            .in = in,
                            .window = weir__base_alloc(1, WEIR__REPORT_WINDOW),
                            .reason = ret_reason,
                            .reason_size = reason_size};
    if (!cursor.window)
        return -WEIR_E_NO_MEMORY;
    int error = walk(&cursor);
    weir__base_free(cursor.window);
    return error;
}
