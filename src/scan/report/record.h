/* record.h - one finding as it is kept, made before the lock is taken and outside of it.
 *
 * Ownership: a record owns its texts and places; weir__record_free() takes all of it.
 */
#ifndef WEIR_SCAN_REPORT_RECORD_H
#define WEIR_SCAN_REPORT_RECORD_H

#include "redact.h"

/* There may be as many of these as there is memory for: flags stand where nothing is lost between
 * fields. */
struct weir__record {
    struct weir__found found; /* places: an array of _room */
    struct weir__digest key;  /* rule and secret */
    struct weir__record *next_fresh;
    size_t room; /* for places */
    /* Whose match it is: the first place, which is never given up. */
    struct weir__found_place owner;
    uint64_t match_offset;
    /* Of the first place that was not listed, or ""; and whether others of them are elsewhere. */
    char unlisted[WEIR__FINGERPRINT_SIZE];
    bool is_everywhere;
    bool is_heap;          /* the places are a heap with the last one on top */
    bool has_match_offset; /* the match is a stretch of the object */
    size_t came;           /* so many came before it */
};

/* A finding on its way in. */
struct weir__newcomer {
    const char *path, *commit;
    const struct weir__finding *finding;
    struct weir__digest key, object; /* of rule and secret; of path and commit */
    struct weir__ends ends;          /* of the secret, that may be shown */
    struct weir__stretch stretch;    /* that is hidden in all lines; may be empty */
    bool is_path;                    /* what was found is the path */
};

/* A record with one place. 0 or NoMemory. */
WEIR_MUST_USE int weir__record_new(struct weir__record **ret_record,
                                   const struct weir__newcomer *newcomer, bool is_shown);
/* Accepts NULL. */
void weir__record_free(struct weir__record *record);
size_t weir__record_bytes(const struct weir__record *record);
/* Of the texts of one place. */
size_t weir__place_bytes(const struct weir__found_place *place);
/* Of a place before the end, with texts of its own, which weir__place_fini() takes. 0 or NoMemory.
 */
WEIR_MUST_USE int weir__place_copy(const struct weir__found_place *place,
                                   struct weir__found_place *ret_copy);
void weir__place_fini(struct weir__found_place *place);
/* By path, offset and whatever else tells two of them apart. */
int weir__place_compare(const void *a, const void *b);
/* Whether it is in this object of a history, as brought by this commit; NULL: in none, by none. */
bool weir__place_is_of(const struct weir__found_place *place, const char *object,
                       const char *commit);
/* The object that the place is in. */
const struct weir__digest *weir__place_object(const struct weir__found_place *place);

/* What is never redacted: the path that a rule without an expression found. */
bool weir__finding_is_path(const struct weir__finding *finding);
/* The secret of the finding, in the path that it was found in. */
void weir__hide_in_path(char *path, const struct weir__finding *finding);
void weir__object_digest(const char *path, const char *commit, struct weir__digest *ret_digest);

/* Moves the one place of other into record, whose array has room, or which is full and gives up its
 * last place. False: the place of other would be the last; it stays where it is. */
bool weir__record_take(struct weir__record *record, struct weir__record *other);
/* Remembers what a baseline has to know about a place that is not listed. */
void weir__record_note_unlisted(struct weir__record *record, const char *fingerprint);
/* Gives up all places but so many, the first ones. Returns how much memory that gave back. */
size_t weir__record_trim(struct weir__record *record, size_t most);

#endif
