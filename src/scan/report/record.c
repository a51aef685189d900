/* record.c - copies of findings, redacted on the way in. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "brought.h"
#include "cover.h"
#include "paths.h"

#include "banned.h"

#define LINE_KEPT        1024u /* bytes of a line */
#define LINE_KEPT_BEFORE 512u  /* of those, before the secret */
#define MATCH_KEPT       512u
#define REDACTED_SIZE    40u

bool weir__finding_is_path(const struct weir__finding *finding)
{
    return !finding->rule->regex;
}

void weir__object_digest(const char *path, const char *commit, struct weir__digest *ret_digest)
{
    path = weir__path_plain(path);
    const struct weir__known_part parts[] = {{path, strlen(path)},
                                             {commit ? commit : "", commit ? strlen(commit) : 0}};
    weir__digest_parts('o', parts, 2, ret_digest);
}

/* Places. Their texts are in one piece of memory, with the digest of the object in front. */

static char *block_of(const struct weir__found_place *place)
{
    return place->path ? place->path - sizeof(struct weir__digest) : NULL;
}

const struct weir__digest *weir__place_object(const struct weir__found_place *place)
{
    return (const struct weir__digest *)block_of(place);
}

void weir__place_fini(struct weir__found_place *place)
{
    weir__base_free(place->_joined);
    weir__base_free(block_of(place));
    *place = (struct weir__found_place){0};
}

size_t weir__place_bytes(const struct weir__found_place *place)
{
    const char *const texts[] = {place->commit, place->object,  place->author, place->mail,
                                 place->date,   place->subject, place->by};
    size_t bytes = sizeof(struct weir__digest) + strlen(place->path) + 1 +
                   strlen(place->encodings) + 1 + place->line_length + 1 +
                   weir__paths_bytes(place->paths);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        bytes += texts[i] ? strlen(texts[i]) + 1 : 0;
    return bytes;
}

int weir__place_copy(const struct weir__found_place *place, struct weir__found_place *ret_copy)
{
    struct weir__found_place copy = *place;
    char **const texts[] = {&copy.path, &copy.commit,    &copy.object,  &copy.author,
                            &copy.mail, &copy.date,      &copy.subject, &copy.by,
                            &copy.line, &copy.encodings, &copy.paths};
    size_t bytes = weir__place_bytes(place);
    char *block = weir__base_alloc(1, bytes);
    if (!block)
        return -WEIR_E_NO_MEMORY;
    memcpy(block, block_of(place), bytes);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (*texts[i])
            *texts[i] = block + (*texts[i] - block_of(place));
    *ret_copy = copy;
    return 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool weir__place_is_of(const struct weir__found_place *place, const char *object,
                       const char *commit)
{
    return is_same(place->object, object) && is_same(place->commit, commit);
}

int weir__place_compare(const void *a, const void *b)
{
    const struct weir__found_place *left = a, *right = b;
    int order = strcmp(left->path, right->path);
    /* What lies there now, then what the history has, the oldest first. */
    if (order == 0)
        order = (left->object != NULL) - (right->object != NULL);
    if (order == 0)
        order = (left->time > right->time) - (left->time < right->time);
    if (order == 0)
        order = compare_u64(left->place.offset, right->place.offset);
    if (order == 0)
        order = compare_u64(left->place.length, right->place.length);
    if (order == 0)
        order = strcmp(left->commit ? left->commit : "", right->commit ? right->commit : "");
    if (order == 0)
        order = strcmp(left->encodings, right->encodings);
    /* Of versions that no commit is known to have, whoever came first: the same in every run. */
    return order ? order
                 : strcmp(left->object ? left->object : "", right->object ? right->object : "");
}

static size_t encodings_length(const struct weir__finding *finding)
{
    size_t length = 0;
    for (size_t i = 0; i < finding->encodings_count; i++)
        length += strlen(weir__encoding_name(finding->encodings[i])) + 2;
    return length;
}

static char *put(char **at, const char *bytes, size_t length)
{
    char *start = *at;
    if (length > 0)
        memcpy(start, bytes, length);
    start[length] = '\0';
    *at = start + length + 1;
    return start;
}

static void put_encodings(char *text, const struct weir__finding *finding)
{
    for (size_t i = 0; i < finding->encodings_count; i++) {
        const char *name = weir__encoding_name(finding->encodings[i]);
        size_t length = strlen(name);
        if (i > 0) {
            memcpy(text, ", ", 2);
            text += 2;
        }
        memcpy(text, name, length);
        text += length;
    }
    *text = '\0';
}

/* The rest of a word, or of a text in quotes, that begins before a line which was cut: it may be
 * that of a secret which is named there. */
static size_t rest_of_cut(const char *line)
{
    size_t word = strcspn(line, " \t\"'`,;&<>(){}[]"), quote = strcspn(line, "\"'`\n");
    bool is_closing = quote > 0 && line[quote] && line[quote] != '\n' &&
                      !strchr(" \t=:([{,+", line[quote - 1]) &&
                      (!line[quote + 1] || strchr(" \t\n\r,;:)]}>", line[quote + 1]));
    return is_closing ? quote : word;
}

/* What else a line calls a secret: there may be no rule for it. What was found is hidden already,
 * and keeps its ends. */
static void cover_beside(struct weir__found_place *place, bool is_cut)
{
    char text[LINE_KEPT + 1];
    size_t length = place->line_length;
    for (size_t i = 0; i < length; i++)
        text[i] = place->line[i] ? place->line[i] : ' ';
    text[length] = '\0';
    weir__cover_source(text);
    if (is_cut)
        weir__hide(text, 0, rest_of_cut(place->line));
    for (size_t i = 0; i < length; i++)
        if (text[i] == '*' && (i < place->line_from || i >= place->line_until))
            place->line[i] = '*';
}

/* The secret in its line: where the finding says, again elsewhere, and as it is encoded. */
static void hide_in_line(struct weir__found_place *place, const struct weir__finding *finding,
                         size_t cut)
{
    uint64_t from, until;
    size_t room = place->line_length - place->line_from;
    if (place->line_length == 0)
        return;
    size_t tail = weir__tail_of(finding), whole = place->line_until - place->line_from + tail;
    if (tail > 0)
        weir__hide_all(place->line, place->line_length, finding->line + cut + place->line_from,
                       whole, (struct weir__ends){0, 0});
    weir__hide_all(place->line, place->line_length, finding->secret, finding->secret_length,
                   weir__ends_of(finding));
    if (finding->encodings_count > 0)
        weir__hide_all(place->line, place->line_length, finding->line + cut + place->line_from,
                       place->line_until - place->line_from, (struct weir__ends){0, 0});
    weir__hidden_part(finding->place.length, weir__ends_at_place(finding), &from, &until);
    if (from < room)
        weir__hide(place->line, place->line_from + (size_t)from,
                   place->line_from + (until < room ? (size_t)until : room));
    cover_beside(place, finding->place.column > place->line_from + 1);
}

void weir__hide_in_path(char *path, const struct weir__finding *finding)
{
    /* A path with a token in it is still found by what is left of it; by less it would not be. */
    if (finding->secret_length >= WEIR__REDACT_LONG)
        weir__hide_inside(path, strlen(path), finding->secret, finding->secret_length,
                          weir__ends_of(finding));
}

static size_t brought_length(const struct weir__brought *b)
{
    return !b ? 0
              : strlen(b->object) + strlen(b->author) + strlen(b->mail) + strlen(b->date) +
                    strlen(b->subject) + (b->by ? strlen(b->by) : 0) + 6;
}

/* What people wrote into a commit has no place of its own to be looked at: it is hidden by its
 * shape, and in the end by what was found. */
static char *put_written(char **at, const char *text, bool is_shown)
{
    char *written = put(at, text, strlen(text));
    if (!is_shown)
        weir__cover_written(written);
    return written;
}

/* "refs/replace/ID": an id is no secret, and all that this name says. */
static bool is_replacement(const char *ref)
{
    static const char before[] = "refs/replace/";
    size_t from = sizeof(before) - 1;
    if (strncmp(ref, before, from) != 0)
        return false;
    size_t digits = strspn(ref + from, "0123456789abcdef");
    return ref[from + digits] == '\0' && (digits == 40 || digits == 64);
}

static void put_brought(struct weir__found_place *place, char **at, const struct weir__brought *b,
                        bool is_shown)
{
    if (!b)
        return;
    place->object = put(at, b->object, strlen(b->object));
    place->author = put_written(at, b->author, is_shown);
    place->mail = put_written(at, b->mail, is_shown);
    place->date = put(at, b->date, strlen(b->date));
    place->subject = put_written(at, b->subject, is_shown);
    place->by = b->by ? put_written(at, b->by, is_shown || is_replacement(b->by)) : NULL;
    place->time = b->time;
}

static int place_init(struct weir__found_place *place, const struct weir__newcomer *newcomer,
                      bool is_shown)
{
    const struct weir__finding *finding = newcomer->finding;
    const char *path = newcomer->path, *commit = newcomer->commit;
    size_t from = finding->line_from < finding->line_length ? finding->line_from : 0;
    size_t until = finding->line_until > finding->line_length ? finding->line_length
                   : finding->line_until < from               ? from
                                                              : finding->line_until;
    size_t cut = from > LINE_KEPT_BEFORE ? from - LINE_KEPT_BEFORE : 0;
    size_t kept = finding->line_length - cut < LINE_KEPT ? finding->line_length - cut : LINE_KEPT;
    const char *shown = is_shown || !finding->shown_path ? path : finding->shown_path;
    size_t path_length = strlen(shown), commit_length = commit ? strlen(commit) : 0;
    size_t encodings = encodings_length(finding), paths = weir__paths_size(newcomer);
    char *block =
        weir__base_alloc(1, sizeof(struct weir__digest) + path_length + commit_length + encodings +
                                kept + 4 + brought_length(finding->brought) + paths);
    if (!block)
        return -WEIR_E_NO_MEMORY;
    memcpy(block, &newcomer->object, sizeof(newcomer->object));
    char *at = block + sizeof(struct weir__digest);
    *place = (struct weir__found_place){.place = finding->place,
                                        .is_in_name = finding->is_in_name,
                                        .is_beside = finding->is_beside,
                                        .is_around = finding->is_around,
                                        .line_length = (uint32_t)kept,
                                        .line_from = (uint32_t)(from - cut),
                                        .line_until =
                                            (uint32_t)(until - cut < kept ? until - cut : kept)};
    place->path = put(&at, shown, path_length);
    place->commit = commit ? put(&at, commit, commit_length) : NULL;
    put_brought(place, &at, finding->brought, is_shown);
    place->line = put(&at, finding->line_length ? finding->line + cut : "", kept);
    place->encodings = at;
    put_encodings(at, finding);
    if (paths > 0) {
        place->paths = at + strlen(at) + 1;
        weir__paths_put(newcomer, place->paths, is_shown, &place->paths_total);
    }
    weir__fingerprint(finding->rule->id, finding->secret, finding->secret_length, path,
                      place->fingerprint);
    if (is_shown)
        return 0;
    hide_in_line(place, finding, cut);
    weir__hide_in_path(place->path, finding);
    return 0;
}

/* Matches. */

/* Where the only occurrence of the secret is, or SIZE_MAX. */
static size_t only_occurrence(const struct weir__finding *finding)
{
    if (finding->secret_length == 0 || finding->match_length < finding->secret_length)
        return SIZE_MAX;
    const char *end = finding->match + finding->match_length;
    const char *first =
        memmem(finding->match, finding->match_length, finding->secret, finding->secret_length);
    if (!first ||
        memmem(first + 1, (size_t)(end - first) - 1, finding->secret, finding->secret_length))
        return SIZE_MAX;
    return (size_t)(first - finding->match);
}

/* Other secrets in the match are hidden at the end, if it is known where in the object the match
 * was. If that is not known, all of it is hidden but the ends of this secret. */
static int match_init(struct weir__record *record, const struct weir__finding *finding,
                      bool is_shown)
{
    size_t at = only_occurrence(finding), length = finding->match_length, cut = 0;
    if (!is_shown && length > MATCH_KEPT) {
        cut = at == SIZE_MAX || at < MATCH_KEPT / 2 ? 0 : at - MATCH_KEPT / 2;
        length = length - cut < MATCH_KEPT ? length - cut : MATCH_KEPT;
    }
    char *match = weir__base_alloc(length + 1, 1);
    if (!match)
        return -WEIR_E_NO_MEMORY;
    if (length > 0)
        memcpy(match, finding->match + cut, length);
    record->found.match = match;
    record->found.match_length = length;
    if (is_shown || finding->secret_length == 0)
        return 0;
    if (at == SIZE_MAX || finding->is_in_name || finding->encodings_count > 0 ||
        finding->place.offset + cut < at) {
        weir__hide(match, 0, length);
        return 0;
    }
    record->has_match_offset = true;
    record->match_offset = finding->place.offset - at + cut;
    struct weir__ends ends = weir__ends_of(finding);
    weir__hide_all(match, length, finding->secret, finding->secret_length, ends);
    uint64_t from, until;
    weir__hidden_part(finding->secret_length, ends, &from, &until);
    from += at - cut;
    until += at - cut;
    weir__hide(match, (size_t)from, until < length ? (size_t)until : length);
    return 0;
}

static int secret_init(struct weir__found *found, const struct weir__finding *finding,
                       bool is_shown)
{
    size_t size = is_shown ? finding->secret_length + 1 : REDACTED_SIZE;
    found->secret = weir__base_alloc(size, 1);
    if (!found->secret)
        return -WEIR_E_NO_MEMORY;
    if (!is_shown) {
        found->secret_length = weir__redact(finding->secret, finding->secret_length,
                                            weir__ends_of(finding), found->secret, size);
        return 0;
    }
    if (finding->secret_length > 0)
        memcpy(found->secret, finding->secret, finding->secret_length);
    found->secret_length = finding->secret_length;
    return 0;
}

/* Records. */

int weir__record_new(struct weir__record **ret_record, const struct weir__newcomer *newcomer,
                     bool is_shown)
{
    const struct weir__finding *finding = newcomer->finding;
    struct weir__record *record = weir__base_alloc(1, sizeof(*record));
    if (!record)
        return -WEIR_E_NO_MEMORY;
    is_shown = is_shown || weir__finding_is_path(finding);
    record->key = newcomer->key;
    struct weir__found *found = &record->found;
    found->rule = finding->rule;
    found->entropy = finding->entropy;
    found->is_checked = finding->is_checked;
    found->places = weir__base_alloc(1, sizeof(found->places[0]));
    if (!found->places || place_init(found->places, newcomer, is_shown) != 0 ||
        secret_init(found, finding, is_shown) != 0 || match_init(record, finding, is_shown) != 0) {
        weir__record_free(record);
        return -WEIR_E_NO_MEMORY;
    }
    record->room = found->places_count = 1;
    found->places_total = 1;
    record->owner = found->places[0];
    *ret_record = record;
    return 0;
}

void weir__record_free(struct weir__record *record)
{
    if (!record)
        return;
    /* One place may be there before it is counted. */
    size_t count = record->room ? record->found.places_count : 1;
    for (size_t i = 0; record->found.places && i < count; i++)
        weir__place_fini(&record->found.places[i]);
    weir__base_free(record->found.places);
    weir__base_free(record->found.secret);
    weir__base_free(record->found.match);
    weir__base_free(record);
}

size_t weir__record_bytes(const struct weir__record *record)
{
    size_t secret = record->found.secret_length + 1;
    size_t bytes = sizeof(*record) + (secret < REDACTED_SIZE ? REDACTED_SIZE : secret) +
                   record->found.match_length + 1 + record->room * sizeof(record->found.places[0]);
    for (size_t i = 0; i < record->found.places_count; i++)
        bytes += weir__place_bytes(&record->found.places[i]);
    return bytes;
}

static void swap_places(struct weir__found_place *a, struct weir__found_place *b)
{
    struct weir__found_place kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(struct weir__found_place *places, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && weir__place_compare(&places[child + 1], &places[child]) > 0)
            child++;
        if (weir__place_compare(&places[child], &places[at]) <= 0)
            return;
        swap_places(&places[child], &places[at]);
    }
}

static void take_match(struct weir__record *record, struct weir__record *other)
{
    char *match = record->found.match;
    size_t length = record->found.match_length;
    record->found.match = other->found.match;
    record->found.match_length = other->found.match_length;
    record->has_match_offset = other->has_match_offset;
    record->match_offset = other->match_offset;
    record->owner = other->owner;
    other->found.match = match;
    other->found.match_length = length;
}

bool weir__record_take(struct weir__record *record, struct weir__record *other)
{
    struct weir__found *found = &record->found;
    struct weir__found_place *place = &other->found.places[0];
    bool is_first = weir__place_compare(place, &record->owner) < 0;
    if (found->places_count < record->room) {
        found->places[found->places_count++] = *place;
        *place = (struct weir__found_place){0};
    } else {
        if (!record->is_heap)
            for (size_t i = found->places_count / 2; i-- > 0;)
                sift_down(found->places, found->places_count, i);
        record->is_heap = true;
        if (weir__place_compare(place, &found->places[0]) >= 0)
            return false;
        swap_places(place, &found->places[0]);
        sift_down(found->places, found->places_count, 0);
    }
    if (is_first)
        take_match(record, other);
    return true;
}

void weir__record_note_unlisted(struct weir__record *record, const char *fingerprint)
{
    if (record->unlisted[0] == '\0')
        memcpy(record->unlisted, fingerprint, sizeof(record->unlisted));
    else if (!record->is_everywhere && strcmp(record->unlisted, fingerprint) != 0)
        record->is_everywhere = true;
}

size_t weir__record_trim(struct weir__record *record, size_t most)
{
    struct weir__found *found = &record->found;
    size_t freed = 0;
    if (record->room <= most)
        return 0;
    qsort(found->places, found->places_count, sizeof(found->places[0]), weir__place_compare);
    record->is_heap = false;
    while (found->places_count > most) {
        struct weir__found_place *last = &found->places[--found->places_count];
        weir__record_note_unlisted(record, last->fingerprint);
        freed += weir__place_bytes(last);
        weir__place_fini(last);
    }
    struct weir__found_place *places =
        weir__base_realloc(found->places, most, sizeof(found->places[0]));
    if (places) /* else it takes longer until the memory comes back */
        found->places = places;
    freed += (record->room - most) * sizeof(found->places[0]);
    record->room = most;
    return freed;
}
