/* findings.c - the table of secrets.
 *
 * A finding is copied and redacted before the lock is taken; under it are a look-up, and a move of
 * pointers. What is left over is freed after it.
 *
 * Which places of a secret are listed, whose match is shown and in which order all of it stands
 * does not depend on the order in which threads came: places are compared, and the first ones win.
 * Only what the limit of memory cuts off does.
 */
#include "findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "alloc.h"
#include "record.h"
#include "report_parts.h"
#include "require.h"
#include "secrets.h"

#include "banned.h"

#define CAPACITY_FIRST 64u

static const struct weir_lock_class findings_class = {"scan-findings", 700};

struct weir__findings {
    struct weir_lock lock; /* guards all below but what is fixed before the first finding */
    struct weir__known known;
    bool is_shown, is_finished;
    uint64_t bytes_max;
    uint64_t bytes, veil_bytes;
    struct weir__record **records; /* a table, by key; when finished a list */
    size_t capacity, count;
    struct weir__record *fresh, *fresh_last; /* not handed out yet, in the order of their coming */
    uint64_t numbers;                        /* that were given */
    uint64_t unlisted, ignored;
    struct weir__veil veil;
    struct weir__secrets secrets;
};

int weir__findings_new(struct weir__findings **ret_findings,
                       const struct weir__findings_options *options)
{
    struct weir__findings *findings = weir__base_alloc(1, sizeof(*findings));
    if (!findings)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&findings->lock, &findings_class);
    findings->bytes_max = options->bytes_max ? options->bytes_max : WEIR__FINDINGS_BYTES;
    findings->is_shown = options->show_secrets;
    *ret_findings = findings;
    return 0;
}

void weir__findings_free(struct weir__findings *findings)
{
    if (!findings)
        return;
    size_t slots = findings->is_finished ? findings->count : findings->capacity;
    for (size_t i = 0; i < slots; i++)
        weir__record_free(findings->records[i]);
    weir__base_free(findings->records);
    weir__veil_fini(&findings->veil);
    weir__secrets_fini(&findings->secrets);
    weir__known_fini(&findings->known);
    weir_lock_fini(&findings->lock);
    weir__base_free(findings);
}

int weir__findings_ignore(struct weir__findings *findings, const char *text, size_t length,
                          unsigned *ret_line)
{
    return weir__known_read(&findings->known, text, length, ret_line);
}

int weir__findings_baseline(struct weir__findings *findings, const char *text, size_t length,
                            char *ret_reason, size_t reason_size)
{
    return weir__known_read_report(&findings->known, text, length, ret_reason, reason_size);
}

static void put_digits(const struct weir__digest *digest, char ret_text[WEIR__FINGERPRINT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(digest->bytes); i++) {
        ret_text[2 * i] = digits[digest->bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    ret_text[2 * sizeof(digest->bytes)] = '\0';
}

/* Without a path it is the key of the record. */
void weir__fingerprint(const char *rule, const char *secret, size_t secret_length, const char *path,
                       char ret_text[WEIR__FINGERPRINT_SIZE])
{
    struct weir__hash hash;
    struct weir__digest digest;
    weir__digest_begin(&hash, path ? 'f' : 'k');
    weir__digest_field(&hash, rule, strlen(rule));
    weir__digest_field(&hash, secret, secret_length);
    if (path) {
        path = weir__path_plain(path);
        weir__digest_field(&hash, path, strlen(path));
    }
    weir__digest_end(&hash, &digest);
    put_digits(&digest, ret_text);
}

static bool has_fingerprint(const struct weir__known *known, const char *path,
                            const struct weir__finding *finding)
{
    char fingerprint[WEIR__FINGERPRINT_SIZE];
    weir__fingerprint(finding->rule->id, finding->secret, finding->secret_length, path,
                      fingerprint);
    const struct weir__known_part print = {fingerprint, sizeof(fingerprint) - 1};
    return weir__known_has(known, WEIR__KNOWN_FINGERPRINT, &print, 1);
}

static bool is_known_as(const struct weir__known *known, const char *path, const char *commit,
                        const struct weir__finding *finding)
{
    char line[24];
    const char *rule = finding->rule->id;
    path = weir__path_plain(path);
    int digits = snprintf(line, sizeof(line), "%" PRIu64, finding->place.line);
    const struct weir__known_part secret[] = {
        {rule, strlen(rule)}, {path, strlen(path)}, {finding->secret, finding->secret_length}};
    const struct weir__known_part place[] = {
        {rule, strlen(rule)}, {path, strlen(path)}, {line, (size_t)digits}};
    return weir__known_has(known, WEIR__KNOWN_SECRET, secret, 3) ||
           weir__known_has(known, WEIR__KNOWN_PLACE, place, 3) ||
           weir__known_has_line_name(known, NULL, path, rule, finding->place.line) ||
           (commit && weir__known_has_line_name(known, commit, path, rule, finding->place.line));
}

/* By the path as a report has it that hides what is in it. */
static bool is_known_hidden(const struct weir__known *known, const char *path, const char *commit,
                            const struct weir__finding *finding)
{
    const char *shown = finding->shown_path ? finding->shown_path : path;
    size_t length = strlen(shown);
    char *hidden = weir__base_alloc(length + 1, 1);
    if (!hidden)
        return false; /* it is told once more */
    memcpy(hidden, shown, length + 1);
    weir__hide_in_path(hidden, finding);
    bool is_it = strcmp(hidden, path) != 0 && is_known_as(known, hidden, commit, finding);
    weir__base_free(hidden);
    return is_it;
}

/* By its fingerprint, there or everywhere; or by what others call it, who got the path from a
 * report. */
static bool is_known(const struct weir__known *known, const char *path, const char *commit,
                     const struct weir__finding *finding)
{
    if (known->_kinds == 0)
        return false;
    if (has_fingerprint(known, path, finding) || has_fingerprint(known, NULL, finding))
        return true;
    struct weir__buffer written;
    weir__buffer_init(&written, WEIR__NAME_MAX);
    const char *name = weir__name_written(path, &written);
    bool is_it = name && is_known_as(known, name, commit, finding);
    /* Ignore files may have bytes as they are. Text that looks like \xff is another's name. */
    if (!is_it && name != path && !weir__name_is_text(path))
        is_it = is_known_as(known, path, commit, finding);
    weir__buffer_fini(&written);
    return is_it || is_known_hidden(known, path, commit, finding);
}

/* From here on to weir__findings_add(): under the lock. */

static size_t slot_of(struct weir__record *const *records, size_t capacity,
                      const struct weir__digest *key)
{
    uint64_t start;
    memcpy(&start, key->bytes, sizeof(start));
    size_t at = (size_t)start & (capacity - 1);
    while (records[at] && memcmp(&records[at]->key, key, sizeof(*key)) != 0)
        at = (at + 1) & (capacity - 1);
    return at;
}

static bool is_affordable(const struct weir__findings *findings, uint64_t bytes)
{
    return bytes <= findings->bytes_max && findings->bytes <= findings->bytes_max - bytes;
}

static int grow_table(struct weir__findings *findings)
{
    size_t capacity = findings->capacity ? findings->capacity * 2 : CAPACITY_FIRST;
    if (findings->count < findings->capacity / 2)
        return 0;
    if (!is_affordable(findings, capacity * sizeof(findings->records[0])))
        return -WEIR_E_OVERFLOW;
    struct weir__record **records = weir__base_alloc(capacity, sizeof(records[0]));
    if (!records)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < findings->capacity; i++)
        if (findings->records[i])
            records[slot_of(records, capacity, &findings->records[i]->key)] = findings->records[i];
    weir__base_free(findings->records);
    findings->bytes += (capacity - findings->capacity) * sizeof(records[0]);
    findings->records = records;
    findings->capacity = capacity;
    return 0;
}

static int add_secret(struct weir__findings *findings, struct weir__record **record)
{
    int error = grow_table(findings);
    if (error == 0 && !is_affordable(findings, weir__record_bytes(*record)))
        error = -WEIR_E_OVERFLOW;
    if (error != 0)
        return error;
    findings->bytes += weir__record_bytes(*record);
    findings->records[slot_of(findings->records, findings->capacity, &(*record)->key)] = *record;
    findings->count++;
    if (findings->fresh)
        findings->fresh_last->next_fresh = *record;
    else
        findings->fresh = *record;
    findings->fresh_last = *record;
    *record = NULL;
    return WEIR__ADDED_SECRET;
}

static int grow_places(struct weir__findings *findings, struct weir__record *record)
{
    struct weir__found *found = &record->found;
    if (found->places_count < record->room || record->room == WEIR__FINDINGS_PLACES_MAX)
        return 0;
    size_t room =
        record->room * 2 < WEIR__FINDINGS_PLACES_MAX ? record->room * 2 : WEIR__FINDINGS_PLACES_MAX;
    size_t bytes = (room - record->room) * sizeof(found->places[0]);
    if (!is_affordable(findings, bytes))
        return -WEIR_E_OVERFLOW;
    struct weir__found_place *places =
        weir__base_realloc(found->places, room, sizeof(found->places[0]));
    if (!places)
        return -WEIR_E_NO_MEMORY;
    findings->bytes += bytes;
    found->places = places;
    record->room = room;
    return 0;
}

/* What a baseline has to know about places that are not in it. */
static void note_unlisted(struct weir__record *record, const struct weir__found_place *place)
{
    if (record->unlisted[0] == '\0')
        memcpy(record->unlisted, place->fingerprint, sizeof(record->unlisted));
    else if (strcmp(record->unlisted, place->fingerprint) != 0)
        record->is_everywhere = true;
}

static int add_place(struct weir__findings *findings, struct weir__record *record,
                     struct weir__record *other)
{
    size_t bytes = weir__place_bytes(&other->found.places[0]) + other->found.match_length;
    record->found.places_total++;
    int error = grow_places(findings, record);
    if (error == 0 && !is_affordable(findings, bytes))
        error = -WEIR_E_OVERFLOW;
    if (error != 0)
        return error;
    bool was_full = record->found.places_count == WEIR__FINDINGS_PLACES_MAX;
    findings->bytes += bytes;
    if (!weir__record_take(record, other)) {
        findings->bytes -= bytes;
        return -WEIR_E_OVERFLOW;
    }
    /* What came back in exchange is not kept. */
    findings->bytes -= other->found.match_length;
    if (was_full) {
        findings->bytes -= weir__place_bytes(&other->found.places[0]);
        note_unlisted(record, &other->found.places[0]);
    }
    return WEIR__ADDED_PLACE;
}

static void add_stretch(struct weir__findings *findings, const struct weir__stretch *stretch)
{
    if (findings->is_shown || stretch->from == stretch->until)
        return;
    size_t cost = weir__veil_cost(&findings->veil);
    if (cost > 0 &&
        (findings->veil_bytes + cost > findings->bytes_max / 2 || !is_affordable(findings, cost))) {
        weir__veil_blind(&findings->veil);
        findings->bytes -= findings->veil_bytes;
        findings->veil_bytes = 0;
        return;
    }
    findings->bytes += cost;
    findings->veil_bytes += cost;
    weir__veil_add(&findings->veil, stretch);
}

/* For all lines, also those of other files. */
static void note_secret(struct weir__findings *findings, const struct weir__finding *finding)
{
    size_t cost = weir__secrets_cost(&findings->secrets);
    if (findings->is_shown)
        return;
    if (cost > findings->bytes_max / 4 || !is_affordable(findings, cost)) {
        weir__secrets_blind(&findings->secrets);
        return;
    }
    findings->bytes += cost;
    weir__secrets_add(&findings->secrets, finding->secret, finding->secret_length);
}

/* A name may be looked at more than once: when it is scanned, and when that is told to be
 * incomplete. */
static bool is_name_listed(const struct weir__found *found, const struct weir__found_place *place)
{
    for (size_t i = 0; i < found->places_count && place->is_in_name; i++)
        if (found->places[i].is_in_name &&
            strcmp(found->places[i].fingerprint, place->fingerprint) == 0)
            return true;
    return false;
}

static int add(struct weir__findings *findings, struct weir__record **record)
{
    struct weir__record *known = NULL;
    if (findings->capacity > 0)
        known = findings->records[slot_of(findings->records, findings->capacity, &(*record)->key)];
    if (known && is_name_listed(&known->found, &(*record)->found.places[0]))
        return WEIR__ADDED_PLACE;
    int result = known ? add_place(findings, known, *record) : add_secret(findings, record);
    if (result < 0 && known)
        note_unlisted(known, &(*record)->found.places[0]);
    else if (result < 0)
        findings->unlisted++;
    return result == -WEIR_E_OVERFLOW ? WEIR__ADDED_UNLISTED : result;
}

int weir__findings_add(struct weir__findings *findings, const char *path, const char *commit,
                       const struct weir__finding *finding)
{
    struct weir__record *record = NULL;
    struct weir__stretch stretch = {0};
    WEIR__REQUIRE(!findings->is_finished, "findings", path, "nothing is added after the end");
    bool is_ignored = is_known(&findings->known, path, commit, finding);
    int result = is_ignored ? WEIR__ADDED_IGNORED
                            : weir__record_new(&record, path, commit, finding, findings->is_shown);
    bool is_path = weir__finding_is_path(finding);
    if (!is_path && !finding->is_in_name) {
        weir__hidden_part(finding->place.length, finding->secret_length, &stretch.from,
                          &stretch.until);
        stretch.from += finding->place.offset;
        stretch.until += finding->place.offset;
        weir__object_digest(path, commit, &stretch.object);
    }
    weir_lock_acquire(&findings->lock);
    add_stretch(findings, &stretch);
    if (!is_path)
        note_secret(findings, finding);
    if (is_ignored)
        findings->ignored++;
    else if (result == 0)
        result = add(findings, &record);
    else
        findings->unlisted++;
    weir_lock_release(&findings->lock);
    weir__record_free(record);
    return result;
}

/* Meanwhile. */

bool weir__findings_fresh(struct weir__findings *findings,
                          bool (*take)(void *arg, const struct weir__fresh *fresh), void *arg)
{
    bool has_enough = false;
    weir_lock_acquire(&findings->lock);
    while (findings->fresh && !has_enough) {
        struct weir__record *record = findings->fresh;
        struct weir__fresh fresh = {.found = &record->found, .place = &record->owner};
        record->found.number = ++findings->numbers;
        findings->fresh = record->next_fresh;
        has_enough = !take(arg, &fresh);
    }
    bool has_more = findings->fresh != NULL;
    weir_lock_release(&findings->lock);
    return has_more;
}

bool weir__findings_has_fresh(struct weir__findings *findings)
{
    weir_lock_acquire(&findings->lock);
    bool has_fresh = findings->fresh != NULL;
    weir_lock_release(&findings->lock);
    return has_fresh;
}

/* The end. */

static int compare_records(const void *a, const void *b)
{
    const struct weir__record *left = *(struct weir__record *const *)a;
    const struct weir__record *right = *(struct weir__record *const *)b;
    const struct weir__found_place *first = &left->found.places[0],
                                   *second = &right->found.places[0];
    int order = strcmp(first->path, second->path);
    if (order == 0)
        order = (first->place.offset > second->place.offset) -
                (first->place.offset < second->place.offset);
    if (order == 0)
        order = strcmp(left->found.rule->id, right->found.rule->id);
    return order ? order : memcmp(&left->key, &right->key, sizeof(left->key));
}

/* All places of one file have one fingerprint: if what was left out has but one, a listed place may
 * have it as well. */
static void settle_unlisted(struct weir__record *record)
{
    struct weir__found *found = &record->found;
    bool is_listed = record->unlisted[0] == '\0';
    for (size_t i = 0; i < found->places_count && !is_listed; i++)
        is_listed = strcmp(found->places[i].fingerprint, record->unlisted) == 0;
    if (record->is_everywhere || !is_listed)
        put_digits(&record->key, found->everywhere);
}

/* Only what was hidden when it came is known: the rest of the line goes. */
static void cut_to_secret(struct weir__found_place *place)
{
    size_t length = place->line_until - place->line_from;
    memmove(place->line, place->line + place->line_from, length);
    place->line[length] = '\0';
    place->line_from = 0;
    place->line_length = place->line_until = length;
}

static void hide_others(const struct weir__veil *veil, struct weir__record *record)
{
    struct weir__found *found = &record->found;
    if (!found->rule->regex)
        return;
    for (size_t i = 0; i < found->places_count; i++) {
        struct weir__found_place *place = &found->places[i];
        uint64_t offset = place->place.offset - place->line_from;
        if (place->is_in_name)
            continue; /* all of it was looked at before */
        if (place->line_from > place->place.offset ||
            !weir__veil_apply(veil, weir__place_object(place), offset, place->line,
                              place->line_length))
            cut_to_secret(place);
    }
    if (record->has_match_offset &&
        !weir__veil_apply(veil, weir__place_object(&found->places[0]), record->match_offset,
                          found->match, found->match_length))
        weir__hide(found->match, 0, found->match_length);
}

/* What was found elsewhere, and not here. */
static void hide_elsewhere(const struct weir__secrets *secrets, struct weir__found *found)
{
    for (size_t i = 0; i < found->places_count; i++) {
        struct weir__found_place *place = &found->places[i];
        weir__secrets_hide(secrets, place->path, strlen(place->path));
        if (!weir__secrets_hide(secrets, place->line, place->line_length) && found->rule->regex)
            cut_to_secret(place);
    }
    if (!found->rule->regex)
        weir__secrets_hide(secrets, found->secret, found->secret_length);
    if (!weir__secrets_hide(secrets, found->match, found->match_length) && found->rule->regex)
        weir__hide(found->match, 0, found->match_length);
}

void weir__findings_hide(const struct weir__findings *findings, char *text)
{
    WEIR__REQUIRE(findings->is_finished, "findings", "", "all secrets are known");
    if (!findings->is_shown)
        weir__secrets_hide(&findings->secrets, text, strlen(text));
}

void weir__findings_finish(struct weir__findings *findings)
{
    size_t count = 0;
    if (findings->is_finished)
        return;
    for (size_t i = 0; i < findings->capacity; i++)
        if (findings->records[i])
            findings->records[count++] = findings->records[i];
    findings->is_finished = true;
    weir__veil_sort(&findings->veil);
    weir__secrets_sort(&findings->secrets);
    for (size_t i = 0; i < count; i++) {
        struct weir__found *found = &findings->records[i]->found;
        qsort(found->places, found->places_count, sizeof(found->places[0]), weir__place_compare);
        settle_unlisted(findings->records[i]);
        if (findings->is_shown)
            continue;
        hide_others(&findings->veil, findings->records[i]);
        hide_elsewhere(&findings->secrets, found);
    }
    if (count > 1)
        qsort(findings->records, count, sizeof(findings->records[0]), compare_records);
}

size_t weir__findings_count(const struct weir__findings *findings)
{
    return findings->count;
}

const struct weir__found *weir__findings_at(const struct weir__findings *findings, size_t index)
{
    WEIR__REQUIRE(findings->is_finished && index < findings->count, "findings", "",
                  "records are read when all of them are there");
    return &findings->records[index]->found;
}

uint64_t weir__findings_unlisted(const struct weir__findings *findings)
{
    return findings->unlisted;
}

uint64_t weir__findings_ignored(const struct weir__findings *findings)
{
    return findings->ignored;
}

bool weir__findings_is_shown(const struct weir__findings *findings)
{
    return findings->is_shown;
}

bool weir__findings_is_finished(const struct weir__findings *findings)
{
    return findings->is_finished;
}
