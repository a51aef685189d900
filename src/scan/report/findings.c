/* findings.c - the table of secrets.
 *
 * A finding is copied and redacted before the lock is taken; under it are a look-up, and a move of
 * pointers. What is left over is freed after it. Nothing is copied of a place that is not listed
 * anyway, since a file may have a million of them: one more of a secret that has as many as may be
 * listed, all of them before it; or one of a new secret when all memory is used.
 *
 * When there is no memory for a new secret, places of others are given up, the last ones first,
 * down to one of each; then what is known about other secrets in their lines.
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
#include "beside.h"
#include "recall.h"
#include "recent.h"
#include "record.h"
#include "report_parts.h"
#include "require.h"
#include "secrets.h"
#include "shown.h"
#include "versions.h"

#include "banned.h"

#define CAPACITY_FIRST 64u

static const struct weir_lock_class findings_class = {"scan-findings", 700};

struct weir__findings {
    struct weir_lock lock;       /* guards all below but what is fixed before the first finding */
    struct weir__known known[2]; /* of files that were given, and that were found */
    const struct weir__origin *origins[2];
    bool is_shown, is_finished;
    uint64_t bytes_max;
    uint64_t bytes, veil_bytes;
    size_t places_max;             /* of one secret */
    bool is_exhausted;             /* no secret is added any more */
    struct weir__record **records; /* a table, by key; when finished a list */
    size_t capacity, count;
    struct weir__record *fresh, *fresh_last; /* not handed out yet, in the order of their coming */
    uint64_t numbers;                        /* that were given */
    uint64_t unlisted, ignored;
    struct weir__veil veil;
    struct weir__secrets secrets;
    struct weir__recent recent;
    struct weir__rule_seen *rules; /* as they are shown, once finished */
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
    findings->origins[0] = options->given_origin;
    findings->origins[1] = options->found_origin;
    findings->places_max = WEIR__FINDINGS_PLACES_MAX;
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
    weir__rules_forget(&findings->rules);
    weir__known_fini(&findings->known[0]);
    weir__known_fini(&findings->known[1]);
    weir__recent_forget(&findings->recent);
    weir_lock_fini(&findings->lock);
    weir__base_free(findings);
}

int weir__findings_ignore(struct weir__findings *findings, const char *text, size_t length,
                          unsigned *ret_line)
{
    return weir__known_read(&findings->known[0], text, length, ret_line);
}

int weir__findings_ignore_found(struct weir__findings *findings, const char *text, size_t length,
                                unsigned *ret_line)
{
    return weir__known_read(&findings->known[1], text, length, ret_line);
}

int weir__findings_baseline(struct weir__findings *findings, const struct weir__report_in *in,
                            char *ret_reason, size_t reason_size)
{
    return weir__known_read_report(&findings->known[0], in, ret_reason, reason_size);
}

static ssize_t read_text(void *arg, char *bytes, size_t size)
{
    struct weir__known_part *left = arg;
    size_t count = left->length < size ? left->length : size;
    if (count > 0)
        memcpy(bytes, left->text, count);
    left->text += count;
    left->length -= count;
    return (ssize_t)count;
}

int weir__findings_baseline_text(struct weir__findings *findings, const char *text, size_t length,
                                 char *ret_reason, size_t reason_size)
{
    struct weir__known_part left = {text, length};
    struct weir__report_in in = {.read = read_text, .arg = &left};
    return weir__findings_baseline(findings, &in, ret_reason, reason_size);
}

uint64_t weir__findings_known_bytes(const struct weir__findings *findings)
{
    return weir__known_bytes(&findings->known[0]) + weir__known_bytes(&findings->known[1]);
}

void weir__findings_limit(struct weir__findings *findings, uint64_t bytes_max)
{
    findings->bytes_max = bytes_max ? bytes_max : WEIR__FINDINGS_BYTES;
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
    struct weir__digest digest;
    path = path ? weir__path_plain(path) : NULL;
    const struct weir__known_part parts[] = {
        {rule, strlen(rule)}, {secret, secret_length}, {path, path ? weir__path_lasting(path) : 0}};
    weir__digest_parts(path ? 'f' : 'k', parts, path ? 3 : 2, &digest);
    put_digits(&digest, ret_text);
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

static void blind_veil(struct weir__findings *findings)
{
    weir__veil_blind(&findings->veil);
    findings->bytes -= findings->veil_bytes;
    findings->veil_bytes = 0;
}

/* Half of the places that a secret may have at most are given up: a few times, and not for each
 * secret. False: there is nothing left to give up. */
static bool make_room(struct weir__findings *findings)
{
    if (findings->places_max > 1) {
        findings->places_max /= 2;
        for (size_t i = 0; i < findings->capacity; i++)
            if (findings->records[i])
                findings->bytes -= weir__record_trim(findings->records[i], findings->places_max);
        return true;
    }
    if (findings->veil_bytes > 0) {
        blind_veil(findings);
        return true;
    }
    findings->is_exhausted = true;
    return false;
}

static int add_secret(struct weir__findings *findings, struct weir__record **record)
{
    int error;
    do {
        error = grow_table(findings);
        if (error == 0 && !is_affordable(findings, weir__record_bytes(*record)))
            error = -WEIR_E_OVERFLOW;
    } while (error == -WEIR_E_OVERFLOW && make_room(findings));
    if (error != 0)
        return error;
    findings->bytes += weir__record_bytes(*record);
    (*record)->came = findings->count;
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
    if (found->places_count < record->room || record->room >= findings->places_max)
        return 0;
    size_t room = record->room * 2 < findings->places_max ? record->room * 2 : findings->places_max;
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
    bool was_full = record->found.places_count == record->room;
    findings->bytes += bytes;
    if (!weir__record_take(record, other)) {
        findings->bytes -= bytes;
        return -WEIR_E_OVERFLOW;
    }
    /* What came back in exchange is not kept. */
    findings->bytes -= other->found.match_length;
    if (was_full) {
        findings->bytes -= weir__place_bytes(&other->found.places[0]);
        weir__record_note_unlisted(record, other->found.places[0].fingerprint);
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
        blind_veil(findings);
        return;
    }
    findings->bytes += cost;
    findings->veil_bytes += cost;
    weir__veil_add(&findings->veil, stretch);
}

/* For all lines, also those of other files. */
static void note_secret(struct weir__findings *findings, const struct weir__newcomer *newcomer)
{
    size_t cost = weir__secrets_cost(&findings->secrets);
    if (newcomer->is_path)
        return;
    if (cost > findings->bytes_max / 4 || !is_affordable(findings, cost)) {
        weir__secrets_blind(&findings->secrets);
        return;
    }
    findings->bytes += cost;
    weir__secrets_add(&findings->secrets, newcomer->finding->secret,
                      newcomer->finding->secret_length, newcomer->ends);
}

/* A name may be looked at more than once: when it is scanned, and when that is told to be
 * incomplete. In a history it is one of each object that had it. */
static bool is_name_listed(const struct weir__found *found, const struct weir__found_place *place)
{
    for (size_t i = 0; i < found->places_count && place->is_in_name; i++)
        if (found->places[i].is_in_name &&
            strcmp(found->places[i].fingerprint, place->fingerprint) == 0 &&
            weir__place_is_of(&found->places[i], place->object, place->commit))
            return true;
    return false;
}

static struct weir__record *find(const struct weir__findings *findings,
                                 const struct weir__digest *key)
{
    return findings->capacity > 0
               ? findings->records[slot_of(findings->records, findings->capacity, key)]
               : NULL;
}

/* Whether it would be the last of more places than are listed. Those of one object have one
 * fingerprint, and the first place, whose match is shown, is another. */
static bool is_beyond(const struct weir__findings *findings, const struct weir__record *record,
                      const struct weir__newcomer *newcomer)
{
    const struct weir__found *found = &record->found;
    if (!record->is_heap || found->places_count < findings->places_max ||
        newcomer->finding->is_in_name)
        return false;
    const struct weir__found_place *last = &found->places[0];
    return newcomer->finding->place.offset > last->place.offset &&
           memcmp(weir__place_object(last), &newcomer->object, sizeof(newcomer->object)) == 0;
}

static void count_beyond(struct weir__findings *findings, struct weir__record *record,
                         const struct weir__newcomer *newcomer)
{
    record->found.places_total++;
    weir__record_note_unlisted(record, record->found.places[0].fingerprint);
    add_stretch(findings, &newcomer->stretch);
}

/* One more place of a secret that came a moment ago: nothing has to be computed. */
static bool is_counted(struct weir__findings *findings, struct weir__newcomer *newcomer)
{
    weir__recent_object(&findings->recent, newcomer->path, newcomer->commit, &newcomer->object);
    newcomer->stretch.object = newcomer->object;
    struct weir__record *record =
        weir__recent_find(&findings->recent, newcomer->finding, newcomer->ends);
    if ((findings->known[0]._kinds | findings->known[1]._kinds) != 0 || !record ||
        !is_beyond(findings, record, newcomer))
        return false;
    count_beyond(findings, record, newcomer);
    return true;
}

/* The same by the key; or a new secret that there is no memory for. */
static bool is_counted_by_key(struct weir__findings *findings,
                              const struct weir__newcomer *newcomer)
{
    struct weir__record *record = find(findings, &newcomer->key);
    if (record ? !is_beyond(findings, record, newcomer) : !findings->is_exhausted)
        return false;
    if (record) {
        count_beyond(findings, record, newcomer);
        weir__recent_keep(&findings->recent, newcomer->finding, newcomer->ends, record);
    } else {
        findings->unlisted++;
        add_stretch(findings, &newcomer->stretch);
    }
    note_secret(findings, newcomer);
    return true;
}

static int add(struct weir__findings *findings, const struct weir__newcomer *newcomer,
               struct weir__record **record)
{
    struct weir__record *known = find(findings, &newcomer->key), *added = *record;
    if (known && (is_name_listed(&known->found, &(*record)->found.places[0]) ||
                  weir__beside_is_told(&known->found, &(*record)->found.places[0])))
        return WEIR__ADDED_PLACE;
    int result = known ? add_place(findings, known, *record) : add_secret(findings, record);
    if (result < 0 && known)
        weir__record_note_unlisted(known, (*record)->found.places[0].fingerprint);
    else if (result < 0)
        findings->unlisted++;
    if (known || result >= 0)
        weir__recent_keep(&findings->recent, newcomer->finding, newcomer->ends,
                          known ? known : added);
    return result == -WEIR_E_OVERFLOW ? WEIR__ADDED_UNLISTED : result;
}

/* Outside of the lock. */

static struct weir__newcomer newcomer_of(const char *path, const char *commit,
                                         const struct weir__finding *finding)
{
    struct weir__newcomer newcomer = {.path = path,
                                      .commit = commit,
                                      .finding = finding,
                                      .ends = weir__ends_of(finding),
                                      .is_path = weir__finding_is_path(finding)};
    if (!newcomer.is_path && !finding->is_in_name) {
        struct weir__ends shown =
            finding->encodings_count > 0 ? (struct weir__ends){0, 0} : newcomer.ends;
        weir__hidden_part(finding->place.length, shown, &newcomer.stretch.from,
                          &newcomer.stretch.until);
        newcomer.stretch.from += finding->place.offset;
        newcomer.stretch.until += finding->place.offset + weir__tail_of(finding);
    }
    return newcomer;
}

static void find_key(struct weir__newcomer *newcomer)
{
    const struct weir__finding *finding = newcomer->finding;
    const struct weir__known_part parts[] = {{finding->rule->id, strlen(finding->rule->id)},
                                             {finding->secret, finding->secret_length}};
    weir__digest_parts('k', parts, 2, &newcomer->key);
}

/* What is not counted in short. */
static int add_in_full(struct weir__findings *findings, const struct weir__newcomer *newcomer,
                       bool is_ignored)
{
    struct weir__record *record = NULL;
    int result =
        is_ignored ? WEIR__ADDED_IGNORED : weir__record_new(&record, newcomer, findings->is_shown);
    weir_lock_acquire(&findings->lock);
    add_stretch(findings, &newcomer->stretch);
    note_secret(findings, newcomer);
    if (is_ignored)
        findings->ignored++;
    else if (result == 0)
        result = add(findings, newcomer, &record);
    else
        findings->unlisted++;
    weir_lock_release(&findings->lock);
    weir__record_free(record);
    return result;
}

int weir__findings_add(struct weir__findings *findings, const char *path, const char *commit,
                       const struct weir__finding *finding)
{
    WEIR__REQUIRE(!findings->is_finished, "findings", path, "nothing is added after the end");
    struct weir__newcomer newcomer = newcomer_of(path, commit, finding);
    weir_lock_acquire(&findings->lock);
    bool is_done = is_counted(findings, &newcomer);
    weir_lock_release(&findings->lock);
    if (is_done)
        return WEIR__ADDED_UNLISTED;
    bool is_ignored = false;
    for (size_t i = 0; i < 2 && !is_ignored; i++)
        is_ignored = weir__recall(&findings->known[i], findings->origins[i], path, commit, finding);
    if (is_ignored)
        return add_in_full(findings, &newcomer, true);
    find_key(&newcomer);
    weir_lock_acquire(&findings->lock);
    is_done = is_counted_by_key(findings, &newcomer);
    weir_lock_release(&findings->lock);
    return is_done ? (int)WEIR__ADDED_UNLISTED : add_in_full(findings, &newcomer, false);
}

/* Meanwhile. */

/* False: it has enough, or there is no memory to tell it now. */
static bool tell_early(const struct weir__findings *findings, const struct weir__record *record,
                       bool (*take)(void *arg, const struct weir__fresh *fresh), void *arg)
{
    struct weir__early early;
    struct weir__fresh fresh = {.found = &record->found, .place = &record->owner};
    if (findings->is_shown)
        return take(arg, &fresh);
    fresh = (struct weir__fresh){.found = &early.found, .place = &early.place};
    bool goes_on = weir__early_init(&early, &findings->secrets, record) == 0 && take(arg, &fresh);
    weir__early_fini(&early);
    return goes_on;
}

bool weir__findings_fresh(struct weir__findings *findings,
                          bool (*take)(void *arg, const struct weir__fresh *fresh), void *arg)
{
    bool has_enough = false;
    weir_lock_acquire(&findings->lock);
    while (findings->fresh && !has_enough) {
        struct weir__record *record = findings->fresh;
        record->found.number = ++findings->numbers;
        findings->fresh = record->next_fresh;
        has_enough = !tell_early(findings, record, take, arg);
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
    place->line_length = place->line_until = (uint32_t)length;
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
        weir__place_hide(secrets, place);
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

void weir__findings_hide_said(struct weir__findings *findings, char *text)
{
    weir_lock_acquire(&findings->lock);
    weir__secrets_hide(&findings->secrets, text, strlen(text));
    weir_lock_release(&findings->lock);
}

/* The table becomes a list, in the order of coming, which is mostly that of the places. */
static void make_list(struct weir__findings *findings)
{
    struct weir__record **list = weir__base_alloc(findings->count + 1, sizeof(list[0]));
    size_t count = 0;
    for (size_t i = 0; i < findings->capacity; i++)
        if (findings->records[i] && list)
            list[findings->records[i]->came] = findings->records[i];
        else if (findings->records[i])
            findings->records[count++] = findings->records[i];
    if (list) {
        weir__base_free(findings->records);
        findings->records = list;
    }
    findings->is_finished = true;
}

static void put_in_order(struct weir__findings *findings)
{
    size_t in_order = 1;
    while (in_order < findings->count &&
           compare_records(&findings->records[in_order - 1], &findings->records[in_order]) <= 0)
        in_order++;
    if (in_order < findings->count)
        qsort(findings->records, findings->count, sizeof(findings->records[0]), compare_records);
}

void weir__findings_finish(struct weir__findings *findings)
{
    if (findings->is_finished)
        return;
    make_list(findings);
    weir__recent_forget(&findings->recent);
    weir__veil_sort(&findings->veil);
    for (size_t i = 0; i < findings->count; i++) {
        struct weir__found *found = &findings->records[i]->found;
        qsort(found->places, found->places_count, sizeof(found->places[0]), weir__place_compare);
        settle_unlisted(findings->records[i]);
        if (!findings->is_shown)
            hide_others(&findings->veil, findings->records[i]);
        weir__beside_settle(found); /* the match may be that of a place which goes */
        weir__versions_join(found);
        if (findings->is_shown)
            continue;
        hide_elsewhere(&findings->secrets, found);
        found->rule = weir__rule_shown(&findings->rules, &findings->secrets, found->rule);
    }
    put_in_order(findings);
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
