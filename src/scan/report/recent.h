/* recent.h - the secrets and objects of the findings that came last.
 *
 * A file may have one secret a million times. What tells that two findings are of one record is a
 * digest, which takes longer than to look at the bytes: so the last few secrets are kept as they
 * are, with their records, and the digests of the last few objects. What is not here is looked up
 * the long way; nothing depends on it but time.
 *
 * Limits: WEIR__RECENT_SECRETS secrets of at most WEIR__RECENT_LENGTH bytes, each of which takes
 * the place of another, and WEIR__RECENT_OBJECTS objects whose names are as short.
 *
 * Ownership: borrows rules and records, which outlive it; copies the rest. Whoever is done with it
 * calls weir__recent_forget(), which leaves no byte of a secret.
 */
#ifndef WEIR_SCAN_REPORT_RECENT_H
#define WEIR_SCAN_REPORT_RECENT_H

#include "record.h"

#define WEIR__RECENT_SECRETS 128u
#define WEIR__RECENT_OBJECTS 8u
#define WEIR__RECENT_LENGTH  128u

struct weir__recent_object {
    char path[WEIR__RECENT_LENGTH], commit[WEIR__RECENT_LENGTH]; /* "": there is none */
    struct weir__digest digest;
    bool is_set;
};

struct weir__recent_secret {
    const struct weir__rule *rule; /* NULL: nothing is here */
    struct weir__record *record;
    size_t length;
    struct weir__ends ends; /* that were noted of it */
    char bytes[WEIR__RECENT_LENGTH];
};

struct weir__recent {
    struct weir__recent_object _objects[WEIR__RECENT_OBJECTS];
    struct weir__recent_secret _secrets[WEIR__RECENT_SECRETS];
};

/* The digest of an object, computed if it is not one of the last. */
void weir__recent_object(struct weir__recent *recent, const char *path, const char *commit,
                         struct weir__digest *ret_digest);
/* The record of its rule and secret, if it is one of the last and was noted with the same ends. */
struct weir__record *weir__recent_find(const struct weir__recent *recent,
                                       const struct weir__finding *finding, struct weir__ends ends);
void weir__recent_keep(struct weir__recent *recent, const struct weir__finding *finding,
                       struct weir__ends ends, struct weir__record *record);
void weir__recent_forget(struct weir__recent *recent);

#endif
