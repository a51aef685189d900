/* etcd_text.h - what is said to etcd v3 and by it, in the words of its JSON gateway.
 *
 *     PREFIX n/NAME                     the record of a name
 *     PREFIX p/ADDRESS-IN-HEX/KEYID     the record of a provider, one for each key that signs
 *
 * Values are the bytes of records. Keys and values are base64, numbers are texts; what is zero,
 * false or empty is left out by etcd.
 *
 * Promises: reading is strict and bounded; what is no answer is Corrupt, what is no record of ours
 * among values is dropped and counted. Nothing waits.
 *
 * Ownership: texts are appended to the caller's buffer; what is read is values.
 */
#ifndef WEIR_INDEX_ETCD_TEXT_H
#define WEIR_INDEX_ETCD_TEXT_H

#include "buffer.h"
#include "source.h"

#define WEIR__ETCD_PREFIX_MAX 64u
#define WEIR__ETCD_KEY_MAX    (WEIR__ETCD_PREFIX_MAX + 3u + WEIR__NAME_MAX)
#define WEIR__ETCD_LINE_MAX   (4u << 20) /* of a watch: etcd sends 1.5 MiB of events at most */

/* A key with its NUL. */
struct weir__etcd_key {
    char text[WEIR__ETCD_KEY_MAX + 1];
    size_t length;
};

/* The key of a record, and what all keys of a question begin with (for a name that is its key). */
void weir__etcd_key_of(struct weir__etcd_key *ret_key, const char *prefix,
                       const struct weir__record *record);
void weir__etcd_keys_of(struct weir__etcd_key *ret_key, const char *prefix,
                        const struct weir__question *question);
/* The question that a key belongs to. False: none of ours. */
bool weir__etcd_question(struct weir__question *ret_question, const char *prefix, const char *key,
                         size_t length);

/* --- said to it --- */

struct weir__etcd_range {
    const struct weir__etcd_key *key;
    bool is_prefix;       /* all keys that begin with it */
    bool is_serializable; /* as the member has it, without asking the others */
    uint32_t limit;
};
WEIR_MUST_USE int weir__etcd_put_range(struct weir__buffer *buffer,
                                       const struct weir__etcd_range *range);
/* Sets the key if its mod_revision is still that; 0: it is not there. */
WEIR_MUST_USE int weir__etcd_put_swap(struct weir__buffer *buffer, const struct weir__etcd_key *key,
                                      uint64_t mod_revision,
                                      const struct weir__record_bytes *bytes);
/* Changes below prefix from that revision on; 0: from now on. */
WEIR_MUST_USE int weir__etcd_put_watch(struct weir__buffer *buffer, const char *prefix,
                                       uint64_t revision);

/* Forgets the key if its mod_revision is still that. */
WEIR_MUST_USE int weir__etcd_put_drop(struct weir__buffer *buffer, const void *key, size_t length,
                                      uint64_t mod_revision);
/* Providers behind `after`, or from the first one: a page of all that are there. */
WEIR_MUST_USE int weir__etcd_put_page(struct weir__buffer *buffer, const char *prefix,
                                      const struct weir__etcd_key *after, uint32_t limit);

/* --- said by it --- */

/* Values into the reply. mod_revision: of the first one, 0 without any. May be NULL. */
WEIR_MUST_USE int weir__etcd_read_range(const char *text, size_t length, struct weir__reply *reply,
                                        uint64_t *ret_mod_revision);
/* Each entry of a page; it ends with the first answer of one() that is not 0. The last key, for the
 * next page; empty: there is none. Entries with keys that are too long for one of ours are passed
 * over. */
struct weir__etcd_entry {
    struct weir__etcd_key key;
    uint64_t mod_revision;
    struct weir__record_bytes value; /* without bytes: it is no record */
};
WEIR_MUST_USE int weir__etcd_read_page(const char *text, size_t length,
                                       struct weir__etcd_key *ret_last,
                                       int (*one)(void *arg, const struct weir__etcd_entry *entry),
                                       void *arg);
WEIR_MUST_USE int weir__etcd_read_swap(const char *text, size_t length, bool *ret_is_done);

struct weir__etcd_news {
    bool is_created;
    bool is_canceled;        /* the watch has ended */
    uint64_t compacted;      /* revisions before this one are gone; 0: they are not */
    uint64_t revision;       /* that the member has; 0: not said */
    uint64_t last;           /* that an event here has; 0: none */
    uint64_t events, others; /* of ours, and those that were none */
};
/* One line of a watch. changed: for each event, with its question. */
WEIR_MUST_USE int
weir__etcd_read_watch(const char *text, size_t length, const char *prefix,
                      struct weir__etcd_news *ret_news,
                      void (*changed)(void *arg, const struct weir__question *question), void *arg);

#endif
