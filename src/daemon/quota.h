/* quota.h - how much was stored with each token, and how much may be.
 *
 *     weir__quota_open(&quota, "/data", why)
 *     weir__quota_reserve(quota, id, &limits, bytes, &hold)     before anything is taken in
 *     weir__quota_keep(&hold, bytes)   or   weir__quota_give(&hold)
 *     weir__quota_save(quota)                                   now and then, and at the end
 *
 * What counts is what was newly stored with a token, by its id, which all tokens that were made
 * from one share. What was there already costs nothing, and what is deleted later stays counted: it
 * is not known who had stored it.
 *
 * Promises
 * - Kept and held together never exceed the limits that a reservation was made with, however many
 *   are made at once. A hold is given back or kept once.
 * - Usage outlives the process: it is in the file `quotas` of the folder, which is replaced as a
 *   whole. What was kept since the last save is forgotten in a crash, in favour of the client.
 * - At most WEIR__QUOTA_TOKENS_MAX tokens are known; those beyond are refused. Tokens with which
 *   nothing was stored make room.
 *
 * Cost: a short lock and a look into a hash table; 56 bytes for each token. Only open and save do
 * any I/O, without the lock. Saving is for one thread at a time.
 *
 * Ownership: a hold is a value that borrows the quota, and must be emptied before that is freed.
 */
#ifndef WEIR_DAEMON_QUOTA_H
#define WEIR_DAEMON_QUOTA_H

#include <weir/defs.h>
#include <weir/lock.h>

#include "token.h"

#define WEIR__QUOTA_TOKENS_MAX 65536u
#define WEIR__QUOTA_FILE       "quotas"
#define WEIR__QUOTA_WHY        256u

/* Its lock, for the order of locks. */
extern const struct weir_lock_class weir__quota_class;

struct weir__quota;

/* 0: no limit. */
struct weir__quota_limits {
    uint64_t bytes, objects;
};

/* All zero is an empty one. */
struct weir__quota_hold {
    struct weir__quota *_quota;
    uint64_t _bytes;
    char _id[WEIR__TOKEN_ID_SIZE];
};

struct weir__quota_usage {
    uint64_t bytes, objects;           /* stored */
    uint64_t held_bytes, held_objects; /* on their way */
};

enum weir__quota_reason {
    WEIR__QUOTA_BYTES,
    WEIR__QUOTA_OBJECTS,
    WEIR__QUOTA_TOKENS, /* the table is full */
    WEIR__QUOTA_REASONS
};

/* folder NULL: nothing outlives the process. Corrupt: the file is none of ours, and why says what
 * to do; NoMemory, or what the system said. */
WEIR_MUST_USE int weir__quota_open(struct weir__quota **ret_quota, const char *folder,
                                   char why[WEIR__QUOTA_WHY]);
/* Accepts NULL. Saves nothing. */
void weir__quota_free(struct weir__quota *quota);

/* Takes one object of so many bytes. Forbidden and the reason, with a message for people; NoMemory.
 * On success the hold, which must be empty, is held. */
WEIR_MUST_USE int weir__quota_reserve(struct weir__quota *quota, const char *id,
                                      const struct weir__quota_limits *limits, uint64_t bytes,
                                      struct weir__quota_hold *hold,
                                      enum weir__quota_reason *ret_reason,
                                      char why[WEIR__QUOTA_WHY]);
/* The object was stored, with no more bytes than were reserved. An empty hold is left alone. */
void weir__quota_keep(struct weir__quota_hold *hold, uint64_t bytes);
/* It was not, or was there already. An empty hold is left alone. */
void weir__quota_give(struct weir__quota_hold *hold);
/* *to must be empty; *from becomes empty. */
void weir__quota_move(struct weir__quota_hold *to, struct weir__quota_hold *from);

/* Writes what has changed; 0 also when nothing has. After an error it is tried again next time. */
WEIR_MUST_USE int weir__quota_save(struct weir__quota *quota);

/* False: nothing is known of it. */
bool weir__quota_read(struct weir__quota *quota, const char *id,
                      struct weir__quota_usage *ret_usage);
/* Tokens that are known. */
uint64_t weir__quota_tokens(struct weir__quota *quota);

#endif
