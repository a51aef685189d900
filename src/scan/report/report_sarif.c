/* report_sarif.c - SARIF 2.1.0.
 *
 * One result for each secret: its first place is the location, the others are related locations.
 * What could not be scanned are notifications of the invocation. Rules are those that found
 * something, by id.
 *
 * SARIF knows columns in characters, not in bytes; bytes are given as byteOffset and byteLength. In
 * its messages "[text](address)" is a link and "{0}" a blank to be filled in, so both are escaped
 * in what others wrote. Paths are URIs: relative ones below %SRCROOT%, absolute ones with file://.
 */
#include "paths.h"
#include "report_parts.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "known.h"

#include "banned.h"

#define SCHEMA                                                                                     \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define TEXT_MAX (1u << 20)

/* A report under way. The text is for values that are put together. */
struct sarif {
    struct weir__writer *writer;
    struct weir__json json;
    struct weir__buffer text;
    const struct weir__rule **rules; /* by id, each once */
    size_t rules_count;
};

static void put_text(struct sarif *sarif, const char *key, const char *text)
{
    weir__json_key(&sarif->json, key);
    weir__json_string(&sarif->json, text);
}

static void put_u64(struct sarif *sarif, const char *key, uint64_t value)
{
    weir__json_key(&sarif->json, key);
    weir__json_u64(&sarif->json, value);
}

static void add(struct sarif *sarif, const char *bytes, size_t length)
{
    weir__write_note(sarif->writer, weir__buffer_append(&sarif->text, bytes, length));
}

/* Appends a text of others to a message. */
static void add_message(struct sarif *sarif, const char *text, size_t length)
{
    struct weir__piece piece;
    for (size_t at = 0; at < length; at += piece.used) {
        weir__piece(&piece, text + at, length - at);
        /* Also the signs of an escape: \u{2028} would be a blank. */
        for (size_t i = 0; i < piece.length; i++) {
            const char *sign = &piece.text[i];
            if (*sign == '{' || *sign == '}')
                add(sarif, sign, 1);
            else if (*sign == '[' || *sign == ']' || *sign == '\\')
                add(sarif, "\\", 1);
            add(sarif, sign, 1);
        }
    }
}

/* {"text": what was put together} */
static void put_message(struct sarif *sarif, const char *key)
{
    weir__json_key(&sarif->json, key);
    weir__json_object(&sarif->json);
    put_text(sarif, "text", weir__buffer_text(&sarif->text));
    weir__json_end(&sarif->json);
    weir__buffer_truncate(&sarif->text, 0);
}

/* Where. */

static bool is_url(const char *path)
{
    return strncmp(path, "https://", 8) == 0 || strncmp(path, "http://", 7) == 0;
}

/* Whether it is one from the top of what is scanned. */
static bool add_uri(struct sarif *sarif, const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/!$&'()*+,;=@";
    bool is_address = is_url(path);
    if (!is_address)
        path = weir__path_plain(path);
    bool is_relative = !is_address && path[0] != '/';
    if (path[0] == '/')
        add(sarif, "file://", 7);
    for (; *path; path++) {
        unsigned char byte = (unsigned char)*path;
        if (strchr(plain, *path) || (is_address && strchr(":?", *path)))
            add(sarif, path, 1);
        else
            add(sarif, (char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3);
    }
    return is_relative;
}

static void put_uri(struct sarif *sarif, const char *path)
{
    bool is_relative = add_uri(sarif, path);
    put_text(sarif, "uri", weir__buffer_text(&sarif->text));
    weir__buffer_truncate(&sarif->text, 0);
    if (is_relative)
        put_text(sarif, "uriBaseId", "%SRCROOT%");
}

static void put_artifact(struct sarif *sarif, const char *path)
{
    weir__json_key(&sarif->json, "artifactLocation");
    weir__json_object(&sarif->json);
    put_uri(sarif, path);
    weir__json_end(&sarif->json);
}

static void put_region(struct sarif *sarif, const struct weir__found_place *place)
{
    uint64_t column, end_column;
    weir__place_columns(place, &column, &end_column);
    weir__json_key(&sarif->json, "region");
    weir__json_object(&sarif->json);
    put_u64(sarif, "startLine", place->place.line);
    if (column > 0)
        put_u64(sarif, "startColumn", column);
    if (place->place.end_line >= place->place.line) {
        put_u64(sarif, "endLine", place->place.end_line);
        if (end_column > 0)
            put_u64(sarif, "endColumn", end_column);
    }
    put_u64(sarif, "byteOffset", place->place.offset);
    put_u64(sarif, "byteLength", place->place.length);
    weir__json_end(&sarif->json);
}

/* The line, where it is one. */
static void put_context(struct sarif *sarif, const struct weir__found_place *place)
{
    if (place->line_length == 0 || place->place.end_line != place->place.line)
        return;
    weir__json_key(&sarif->json, "contextRegion");
    weir__json_object(&sarif->json);
    put_u64(sarif, "startLine", place->place.line);
    put_u64(sarif, "endLine", place->place.line);
    weir__json_key(&sarif->json, "snippet");
    weir__json_object(&sarif->json);
    weir__json_key(&sarif->json, "text");
    weir__json_bytes(&sarif->json, place->line, place->line_length);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
}

/* Who brought it into the history, how it is reached if no branch and no tag leads to it, and under
 * which other paths, as URIs are written. */
static void put_brought(struct sarif *sarif, const struct weir__found_place *place)
{
    put_text(sarif, "author", place->author);
    put_text(sarif, "email", place->mail);
    put_text(sarif, "date", place->date);
    if (place->by)
        put_text(sarif, "by", place->by);
    if (!place->paths)
        return;
    weir__json_key(&sarif->json, "paths");
    weir__json_array(&sarif->json);
    for (const char *path = place->paths; *path; path = weir__paths_next(path)) {
        add_uri(sarif, path);
        weir__json_string(&sarif->json, weir__buffer_text(&sarif->text));
        weir__buffer_truncate(&sarif->text, 0);
    }
    weir__json_end(&sarif->json);
}

/* Related locations must differ from each other: the id makes sure of it. */
static void put_location(struct sarif *sarif, const struct weir__found_place *place, size_t id)
{
    weir__json_object(&sarif->json);
    if (id > 0)
        put_u64(sarif, "id", id);
    weir__json_key(&sarif->json, "physicalLocation");
    weir__json_object(&sarif->json);
    put_artifact(sarif, place->path);
    if (place->place.line > 0) {
        put_region(sarif, place);
        if (id == 0)
            put_context(sarif, place);
    }
    weir__json_end(&sarif->json);
    weir__json_key(&sarif->json, "properties");
    weir__json_object(&sarif->json);
    put_text(sarif, "fingerprint", place->fingerprint);
    if (place->commit)
        put_text(sarif, "commit", place->commit);
    if (place->object)
        put_brought(sarif, place);
    weir__json_key(&sarif->json, "encodings");
    weir__json_encodings(&sarif->json, place->encodings);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
}

/* Rules. */

static int compare_rules(const void *a, const void *b)
{
    const struct weir__rule *left = *(const struct weir__rule *const *)a;
    const struct weir__rule *right = *(const struct weir__rule *const *)b;
    return strcmp(left->id, right->id);
}

static int collect_rules(struct sarif *sarif)
{
    size_t count = weir__findings_count(sarif->writer->findings);
    sarif->rules = weir__base_alloc(count, sizeof(sarif->rules[0]));
    if (!sarif->rules)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        sarif->rules[i] = weir__findings_at(sarif->writer->findings, i)->rule;
    qsort(sarif->rules, count, sizeof(sarif->rules[0]), compare_rules);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(sarif->rules[i]->id, sarif->rules[sarif->rules_count - 1]->id) != 0)
            sarif->rules[sarif->rules_count++] = sarif->rules[i];
    return 0;
}

static size_t index_of(const struct sarif *sarif, const struct weir__rule *rule)
{
    const struct weir__rule **found =
        bsearch(&rule, sarif->rules, sarif->rules_count, sizeof(sarif->rules[0]), compare_rules);
    return found ? (size_t)(found - sarif->rules) : 0;
}

static bool is_tag_new(const struct weir__strings *tags, size_t index)
{
    const char *tag = tags->items[index];
    if (strcmp(tag, "security") == 0 || strcmp(tag, "secret") == 0)
        return false;
    for (size_t i = 0; i < index; i++)
        if (strcmp(tags->items[i], tag) == 0)
            return false;
    return true;
}

static void put_rule(struct sarif *sarif, const struct weir__rule *rule)
{
    const char *description = weir__rule_description(rule);
    weir__json_object(&sarif->json);
    put_text(sarif, "id", rule->id);
    put_text(sarif, "name", rule->id);
    add_message(sarif, description, strlen(description));
    put_message(sarif, "shortDescription");
    weir__json_key(&sarif->json, "defaultConfiguration");
    weir__json_object(&sarif->json);
    put_text(sarif, "level", "error");
    weir__json_end(&sarif->json);
    weir__json_key(&sarif->json, "properties");
    weir__json_object(&sarif->json);
    weir__json_key(&sarif->json, "tags");
    weir__json_array(&sarif->json);
    weir__json_string(&sarif->json, "security");
    weir__json_string(&sarif->json, "secret");
    for (size_t i = 0; i < rule->tags.count; i++)
        if (is_tag_new(&rule->tags, i))
            weir__json_string(&sarif->json, rule->tags.items[i]);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
    weir__write_step(sarif->writer);
}

static void put_tool(struct sarif *sarif)
{
    const struct weir__summary *summary = sarif->writer->summary;
    weir__json_key(&sarif->json, "tool");
    weir__json_object(&sarif->json);
    weir__json_key(&sarif->json, "driver");
    weir__json_object(&sarif->json);
    put_text(sarif, "name", "weir");
    if (summary->version)
        put_text(sarif, "version", summary->version);
    weir__json_key(&sarif->json, "rules");
    weir__json_array(&sarif->json);
    for (size_t i = 0; i < sarif->rules_count; i++)
        put_rule(sarif, sarif->rules[i]);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
}

/* What was done. */

static void put_notification(struct sarif *sarif, const char *path, const char *reason)
{
    weir__json_object(&sarif->json);
    put_text(sarif, "level", "warning");
    add_message(sarif, reason, strlen(reason));
    put_message(sarif, "message");
    if (path) {
        weir__json_key(&sarif->json, "locations");
        weir__json_array(&sarif->json);
        weir__json_object(&sarif->json);
        weir__json_key(&sarif->json, "physicalLocation");
        weir__json_object(&sarif->json);
        put_artifact(sarif, path);
        weir__json_end(&sarif->json);
        weir__json_end(&sarif->json);
        weir__json_end(&sarif->json);
    }
    weir__json_end(&sarif->json);
    weir__write_step(sarif->writer);
}

static void put_counts(struct sarif *sarif)
{
    const struct weir__summary *summary = sarif->writer->summary;
    weir__json_key(&sarif->json, "properties");
    weir__json_object(&sarif->json);
    put_u64(sarif, "files", summary->files);
    put_u64(sarif, "bytes", summary->bytes);
    put_u64(sarif, "failed", summary->failed);
    put_u64(sarif, "truncated", summary->truncated);
    put_u64(sarif, "ignored", summary->ignored);
    put_u64(sarif, "unlisted", summary->unlisted);
    weir__json_end(&sarif->json);
}

static void put_invocation(struct sarif *sarif)
{
    const struct weir__summary *summary = sarif->writer->summary;
    weir__json_key(&sarif->json, "invocations");
    weir__json_array(&sarif->json);
    weir__json_object(&sarif->json);
    weir__json_key(&sarif->json, "executionSuccessful");
    weir__json_bool(&sarif->json, !weir__is_incomplete(sarif->writer));
    weir__json_key(&sarif->json, "toolExecutionNotifications");
    weir__json_array(&sarif->json);
    for (size_t i = 0; i < summary->unscanned_count; i++)
        put_notification(sarif, summary->unscanned[i].path, summary->unscanned[i].reason);
    if (summary->is_interrupted)
        put_notification(sarif, NULL, "stopped before the end");
    if (summary->unlisted > 0)
        put_notification(sarif, NULL, "more was found than is listed");
    if (summary->failed + summary->truncated > summary->unscanned_count)
        put_notification(sarif, NULL, "more could not be scanned than is listed");
    weir__json_end(&sarif->json);
    put_counts(sarif);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
}

static void put_result(struct sarif *sarif, const struct weir__found *found)
{
    const char *description = weir__rule_description(found->rule);
    weir__json_object(&sarif->json);
    put_text(sarif, "ruleId", found->rule->id);
    put_u64(sarif, "ruleIndex", index_of(sarif, found->rule));
    put_text(sarif, "level", "error");
    add_message(sarif, description, strlen(description));
    add(sarif, ": ", 2);
    add_message(sarif, found->secret, found->secret_length);
    put_message(sarif, "message");
    weir__json_key(&sarif->json, "locations");
    weir__json_array(&sarif->json);
    put_location(sarif, &found->places[0], 0);
    weir__json_end(&sarif->json);
    if (found->places_count > 1) {
        weir__json_key(&sarif->json, "relatedLocations");
        weir__json_array(&sarif->json);
        for (size_t i = 1; i < found->places_count; i++) {
            put_location(sarif, &found->places[i], i);
            weir__write_step(sarif->writer);
        }
        weir__json_end(&sarif->json);
    }
    weir__json_key(&sarif->json, "partialFingerprints");
    weir__json_object(&sarif->json);
    put_text(sarif, "weir/v1", found->places[0].fingerprint);
    weir__json_end(&sarif->json);
    put_u64(sarif, "occurrenceCount", found->places_total);
    weir__json_key(&sarif->json, "properties");
    weir__json_object(&sarif->json);
    weir__json_key(&sarif->json, "entropy");
    weir__json_real(&sarif->json, found->entropy);
    weir__json_key(&sarif->json, "checked");
    weir__json_bool(&sarif->json, found->is_checked);
    if (found->everywhere[0])
        put_text(sarif, "everywhere", found->everywhere);
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
    weir__write_step(sarif->writer);
}

static void put_run(struct sarif *sarif)
{
    const struct weir__findings *findings = sarif->writer->findings;
    weir__json_object(&sarif->json);
    put_tool(sarif);
    put_invocation(sarif);
    put_text(sarif, "columnKind", "unicodeCodePoints");
    weir__json_key(&sarif->json, "results");
    weir__json_array(&sarif->json);
    for (size_t i = 0; i < weir__findings_count(findings); i++)
        put_result(sarif, weir__findings_at(findings, i));
    weir__json_end(&sarif->json);
    weir__json_end(&sarif->json);
}

void weir__report_sarif(struct weir__writer *writer)
{
    struct sarif sarif = {.writer = writer};
    int error = collect_rules(&sarif);
    if (error != 0) {
        weir__write_note(writer, error);
        return;
    }
    weir__buffer_init(&sarif.text, TEXT_MAX);
    weir__json_init(&sarif.json, &writer->buffer);
    weir__json_object(&sarif.json);
    put_text(&sarif, "$schema", SCHEMA);
    put_text(&sarif, "version", "2.1.0");
    weir__json_key(&sarif.json, "runs");
    weir__json_array(&sarif.json);
    put_run(&sarif);
    weir__json_end(&sarif.json);
    weir__json_end(&sarif.json);
    weir__write_note(writer, weir__json_finish(&sarif.json));
    weir__buffer_fini(&sarif.text);
    weir__base_free(sarif.rules);
}
