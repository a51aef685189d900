/* report_json.c - our own JSON, as one object or line by line.
 *
 * json:   {"format": "weir-scan", "format_version": 1, "version": of the program,
 *          "summary": SUMMARY, "findings": [FINDING, ...]}
 * jsonl:  {"type": "finding", FINDING's members} for each, then {"type": "summary", SUMMARY's}
 *
 * JSON Lines that go to standard output begin while the scan goes on: each secret is told when it
 * is found, in short, and once more at the end, in full.
 *
 *   {"type": "found", FOUND}      at once, for each secret the first time that it is found
 *   {"type": "finding", FINDING}  at the end, for each secret, with all of its places
 *   {"type": "summary", SUMMARY}  the last line: without it the report was cut off
 *
 * FOUND
 *   id                 1, 2, 3, ... in the order of finding, which threads may change; the FINDING
 *                      of the same secret has the same id
 *   rule, description, provider, tags, secret, redacted, entropy, checked   as in FINDING
 *   place              the first PLACE that is known by then, without its text: what else is secret
 *                      in the line is known only at the end
 *
 * FINDING
 *   id                 only behind lines of type "found"
 *   rule, description, provider, tags   of the rule; provider and tags may be empty
 *   secret, match      as they may be shown
 *   redacted           whether secret, match and text have parts replaced by '*'
 *   entropy            bits for each byte of the secret
 *   checked            whether a check of its structure agreed
 *   places_total       how often it was found; places lists the first 1,000 of them
 *   everywhere         only if places that are not listed may be in other files than listed ones:
 *                      the fingerprint of rule and secret, by which a baseline knows all of them
 *   places             [PLACE, ...], by path and offset
 *
 * PLACE
 *   path               '!' stands between an archive and its member. One that is not UTF-8, or has
 *                      something like \xff in it, is written with such bytes as \xff and
 *                      backslashes as \\
 *   commit             only if it was found in one
 *   object, author, email, date, subject   only of what is in the history of a repository: the id
 *                      of the blob, commit or tag, and who made the commit, and when
 *   paths              only if it had several in the history: its own, and the others;
 *                      paths_total, only if there are more than are listed, says how many
 *   versions           of the file at this path that have the secret; the oldest is told
 *   by                 only if no branch or tag leads to it: "stash", "notes", "reflog", "staged",
 *                      "unreachable", or the name of a ref
 *   line, column, end_line, end_column   from 1, in bytes; the end is behind the last byte
 *   offset, length     bytes in the file
 *   encodings          ["base64", ...], outermost first
 *   fingerprint        of rule, secret and path: 32 hexadecimal digits
 *   in_name            only if it was found in the path: true; line and column are 1
 *   text               of the first place only: the line, cut around the secret
 *
 * SUMMARY
 *   complete, interrupted    complete: all was scanned, and every secret is listed
 *   secrets, places          listed ones, and all places of them
 *   unlisted_places          of those, the ones that are not listed
 *   allowed, ignored, unlisted   found and not told, the last ones for want of memory; of a history
 *                                what was allowed counts in each object, and those that were not
 *                                looked at in this scan do not count
 *   files, bytes, archives, members   scanned; bytes has those of files and of objects
 *   repositories, objects    histories, and the blobs, commits and tags that were looked at in them
 *   shallow                  of the histories, those of shallow clones, which end early
 *   histories_left           of repositories that were met and scanned as files
 *   special, symlinks, allowed_paths, ignored_paths, submodules   skipped
 *   failed, truncated        could not be scanned, or only in part
 *   unscanned                the first of those: [{path, reason}, ...]
 *   configs, rules, engine   files that were used, number of rules, identity of the engine
 *   seconds
 *
 * Elsewhere bytes that are not UTF-8 become U+FFFD. Members may be added; format_version changes
 * when one changes its meaning.
 */
#include "paths.h"
#include "report_parts.h"

#include <string.h>

#include <weir/error.h>

#include "banned.h"

static void put_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text ? text : "");
}

static void put_u64(struct weir__json *json, const char *key, uint64_t value)
{
    weir__json_key(json, key);
    weir__json_u64(json, value);
}

static void put_bool(struct weir__json *json, const char *key, bool value)
{
    weir__json_key(json, key);
    weir__json_bool(json, value);
}

static void put_bytes(struct weir__json *json, const char *key, const char *bytes, size_t length)
{
    weir__json_key(json, key);
    weir__json_bytes(json, bytes, length);
}

static void put_element(struct weir__writer *writer, struct weir__json *json, const char *path)
{
    struct weir__buffer written;
    weir__buffer_init(&written, WEIR__NAME_MAX);
    const char *name = weir__name_written(path, &written);
    if (!name)
        weir__write_note(writer, -WEIR_E_NO_MEMORY);
    weir__json_string(json, name ? name : "");
    weir__buffer_fini(&written);
}

static void put_name(struct weir__writer *writer, struct weir__json *json, const char *key,
                     const char *path)
{
    weir__json_key(json, key);
    put_element(writer, json, path);
}

static void put_paths(struct weir__writer *writer, struct weir__json *json,
                      const struct weir__found_place *place)
{
    weir__json_key(json, "paths");
    weir__json_array(json);
    put_element(writer, json, place->path);
    for (const char *path = place->paths; *path; path = weir__paths_next(path))
        put_element(writer, json, path);
    weir__json_end(json);
    if (place->paths_total > weir__paths_count(place->paths))
        put_u64(json, "paths_total", place->paths_total + 1);
}

static void put_brought(struct weir__writer *writer, struct weir__json *json,
                        const struct weir__found_place *place)
{
    put_text(json, "object", place->object);
    put_text(json, "author", place->author);
    put_text(json, "email", place->mail);
    put_text(json, "date", place->date);
    put_text(json, "subject", place->subject);
    if (place->paths)
        put_paths(writer, json, place);
    put_u64(json, "versions", place->versions);
    if (place->by)
        put_text(json, "by", place->by);
}

static void put_place(struct weir__writer *writer, struct weir__json *json,
                      const struct weir__found_place *place, bool is_first)
{
    weir__json_object(json);
    put_name(writer, json, "path", place->path);
    if (place->commit)
        put_text(json, "commit", place->commit);
    if (place->object)
        put_brought(writer, json, place);
    put_u64(json, "line", place->place.line);
    put_u64(json, "column", place->place.column);
    put_u64(json, "end_line", place->place.end_line);
    put_u64(json, "end_column", place->place.end_column);
    put_u64(json, "offset", place->place.offset);
    put_u64(json, "length", place->place.length);
    weir__json_key(json, "encodings");
    weir__json_encodings(json, place->encodings);
    put_text(json, "fingerprint", place->fingerprint);
    if (place->is_in_name)
        put_bool(json, "in_name", true);
    if (is_first)
        put_bytes(json, "text", place->line, place->line_length);
    weir__json_end(json);
}

static void put_rule(struct weir__json *json, const struct weir__rule *rule)
{
    put_text(json, "rule", rule->id);
    put_text(json, "description", rule->description);
    put_text(json, "provider", rule->provider);
    weir__json_key(json, "tags");
    weir__json_strings(json, &rule->tags);
}

static void put_redacted(struct weir__writer *writer, struct weir__json *json,
                         const struct weir__found *found)
{
    put_bool(json, "redacted", found->rule->regex && !weir__findings_is_shown(writer->findings));
}

static void put_finding(struct weir__writer *writer, struct weir__json *json,
                        const struct weir__found *found)
{
    put_rule(json, found->rule);
    put_bytes(json, "secret", found->secret, found->secret_length);
    put_bytes(json, "match", found->match, found->match_length);
    put_redacted(writer, json, found);
    weir__json_key(json, "entropy");
    weir__json_real(json, found->entropy);
    put_bool(json, "checked", found->is_checked);
    put_u64(json, "places_total", found->places_total);
    if (found->everywhere[0])
        put_text(json, "everywhere", found->everywhere);
    weir__json_key(json, "places");
    weir__json_array(json);
    for (size_t i = 0; i < found->places_count; i++) {
        put_place(writer, json, &found->places[i], i == 0);
        weir__write_step(writer);
    }
    weir__json_end(json);
}

static void put_unscanned(struct weir__writer *writer, struct weir__json *json)
{
    const struct weir__summary *summary = writer->summary;
    weir__json_key(json, "unscanned");
    weir__json_array(json);
    for (size_t i = 0; i < summary->unscanned_count; i++) {
        weir__json_object(json);
        put_name(writer, json, "path", summary->unscanned[i].path);
        put_text(json, "reason", summary->unscanned[i].reason);
        weir__json_end(json);
        weir__write_step(writer);
    }
    weir__json_end(json);
    weir__json_key(json, "configs");
    weir__json_array(json);
    for (const char *const *config = summary->configs; config && *config; config++)
        weir__json_string(json, *config);
    weir__json_end(json);
}

static void put_summary(struct weir__writer *writer, struct weir__json *json)
{
    const struct weir__summary *summary = writer->summary;
    put_bool(json, "complete", !weir__is_incomplete(writer));
    put_bool(json, "interrupted", summary->is_interrupted);
    put_u64(json, "secrets", weir__findings_count(writer->findings));
    put_u64(json, "places", weir__places_total(writer->findings));
    put_u64(json, "unlisted_places", weir__places_unlisted(writer->findings));
    put_u64(json, "allowed", summary->allowed);
    put_u64(json, "ignored", summary->ignored);
    put_u64(json, "unlisted", summary->unlisted);
    put_u64(json, "files", summary->files);
    put_u64(json, "bytes", summary->bytes);
    put_u64(json, "archives", summary->archives);
    put_u64(json, "members", summary->members);
    put_u64(json, "repositories", summary->repositories);
    put_u64(json, "objects", summary->objects);
    put_u64(json, "shallow", summary->shallow);
    put_u64(json, "histories_left", summary->histories_left);
    put_u64(json, "special", summary->special);
    put_u64(json, "symlinks", summary->symlinks);
    put_u64(json, "allowed_paths", summary->allowed_paths);
    put_u64(json, "ignored_paths", summary->ignored_paths);
    put_u64(json, "submodules", summary->submodules);
    put_u64(json, "failed", summary->failed);
    put_u64(json, "truncated", summary->truncated);
    put_unscanned(writer, json);
    put_u64(json, "rules", summary->rules);
    put_text(json, "engine", summary->engine);
    weir__json_key(json, "seconds");
    weir__json_real(json, summary->seconds);
}

void weir__report_json(struct weir__writer *writer)
{
    struct weir__json json;
    weir__json_init(&json, &writer->buffer);
    weir__json_object(&json);
    put_text(&json, "format", "weir-scan");
    put_u64(&json, "format_version", 1);
    put_text(&json, "version", writer->summary->version);
    weir__json_key(&json, "summary");
    weir__json_object(&json);
    put_summary(writer, &json);
    weir__json_end(&json);
    weir__json_key(&json, "findings");
    weir__json_array(&json);
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        weir__json_object(&json);
        put_finding(writer, &json, weir__findings_at(writer->findings, i));
        weir__json_end(&json);
        weir__write_step(writer);
    }
    weir__json_end(&json);
    weir__json_end(&json);
    weir__write_note(writer, weir__json_finish(&json));
}

bool weir__report_put_found(void *arg, const struct weir__fresh *fresh)
{
    struct weir__writer *writer = arg;
    const struct weir__found *found = fresh->found;
    struct weir__json json;
    weir__json_init(&json, &writer->buffer);
    weir__json_object(&json);
    put_text(&json, "type", "found");
    put_u64(&json, "id", found->number);
    put_rule(&json, found->rule);
    put_bytes(&json, "secret", found->secret, found->secret_length);
    put_redacted(writer, &json, found);
    weir__json_key(&json, "entropy");
    weir__json_real(&json, found->entropy);
    put_bool(&json, "checked", found->is_checked);
    weir__json_key(&json, "place");
    put_place(writer, &json, fresh->place, false);
    weir__json_end(&json);
    weir__write_note(writer, weir__json_finish(&json));
    return weir__buffer_length(&writer->buffer) < WEIR__REPORT_PIECE;
}

void weir__report_jsonl(struct weir__writer *writer)
{
    struct weir__json json;
    weir__json_init(&json, &writer->buffer);
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        weir__json_object(&json);
        const struct weir__found *found = weir__findings_at(writer->findings, i);
        put_text(&json, "type", "finding");
        if (found->number > 0)
            put_u64(&json, "id", found->number);
        put_finding(writer, &json, found);
        weir__json_end(&json);
        weir__write_step(writer);
    }
    weir__json_object(&json);
    put_text(&json, "type", "summary");
    put_text(&json, "version", writer->summary->version);
    put_summary(writer, &json);
    weir__json_end(&json);
    weir__write_note(writer, weir__json_finish(&json));
}

/* Whether a line of an ignore file would be read as something else than the name that it is. */
static bool is_misread(const char *name)
{
    for (const char *p = name; *p; p++)
        if (*p == '\n' || *p == '\r' || ((*p == ' ' || *p == '\t') && p[1] == '#'))
            return true;
    return strchr("\"# \t", name[0]) != NULL;
}

/* In quotation marks and with escapes, as ignore files have it. */
static int quote(struct weir__buffer *quoted, const char *name)
{
    int error = weir__buffer_putc(quoted, '"');
    for (const char *p = name; *p && error == 0; p++)
        error = *p == '"' || *p == '\\'   ? weir__buffer_printf(quoted, "\\%c", *p)
                : (unsigned char)*p < ' ' ? weir__buffer_printf(quoted, "\\x%02x", (unsigned)*p)
                                          : weir__buffer_putc(quoted, *p);
    return error ? error : weir__buffer_putc(quoted, '"');
}

/* What may be put into an ignore file as it stands there. */
static void put_line_name(struct weir__writer *writer, struct weir__json *json, const char *name)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer written, quoted;
    weir__buffer_init(&written, WEIR__NAME_MAX);
    weir__buffer_init(&quoted, 4 * WEIR__NAME_MAX);
    const char *text = weir__name_written(name, &written);
    int error = text ? 0 : -WEIR_E_NO_MEMORY;
    if (text && is_misread(text)) {
        error = quote(&quoted, text);
        text = weir__buffer_text(&quoted);
    }
    weir__write_note(writer, error);
    put_text(json, "Fingerprint", text);
}

/* As gitleaks writes it: one object for each place; columns are from 1 and the last one counts. */
static void put_gitleaks(struct weir__writer *writer, struct weir__json *json,
                         const struct weir__found *found, const struct weir__found_place *place)
{
    uint64_t end_column = place->place.end_column;
    struct weir__buffer name;
    weir__json_object(json);
    put_text(json, "RuleID", found->rule->id);
    put_text(json, "Description", found->rule->description);
    put_u64(json, "StartLine", place->place.line);
    put_u64(json, "EndLine", place->place.end_line);
    put_u64(json, "StartColumn", place->place.column);
    put_u64(json, "EndColumn", end_column > 1 ? end_column - 1 : end_column);
    put_bytes(json, "Match", found->match, found->match_length);
    put_bytes(json, "Secret", found->secret, found->secret_length);
    put_name(writer, json, "File", place->path);
    put_text(json, "SymlinkFile", "");
    put_text(json, "Commit", place->commit);
    weir__json_key(json, "Entropy");
    weir__json_real(json, found->entropy);
    put_text(json, "Author", place->author);
    put_text(json, "Email", place->mail);
    put_text(json, "Date", place->date);
    put_text(json, "Message", place->subject);
    weir__json_key(json, "Tags");
    weir__json_strings(json, &found->rule->tags);
    weir__buffer_init(&name, 1u << 20);
    int error = weir__buffer_printf(&name, "%s%s%s:%s:%llu", place->commit ? place->commit : "",
                                    place->commit ? ":" : "", place->path, found->rule->id,
                                    (unsigned long long)place->place.line);
    put_line_name(writer, json, weir__buffer_text(&name));
    weir__buffer_fini(&name);
    weir__json_end(json);
    weir__write_note(writer, error);
}

void weir__report_gitleaks(struct weir__writer *writer)
{
    struct weir__json json;
    weir__json_init(&json, &writer->buffer);
    weir__json_array(&json);
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        const struct weir__found *found = weir__findings_at(writer->findings, i);
        for (size_t k = 0; k < found->places_count; k++) {
            put_gitleaks(writer, &json, found, &found->places[k]);
            weir__write_step(writer);
        }
    }
    weir__json_end(&json);
    weir__write_note(writer, weir__json_finish(&json));
}
