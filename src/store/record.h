/* record.h - what segments are made of: records with a head of 64 bytes, and the footer that lists
 * them.
 *
 *     offset  0  magic       4 bytes
 *             4  version     1
 *             5  type        1
 *             6  back        2   to where the disk had it all, in 16 bytes, and one; 0: not told
 *             8  sequence    8   of the store, rising; never 0
 *            16  size        4   of head and bytes together, without padding; never 0
 *            20  time        4   seconds since 1970
 *            24  address    32   BLAKE3 of the bytes, or the address that this is about
 *            56  check       8   of all before it, of the segment and of the place in it
 *            64  bytes, then zeros up to the next multiple of 16
 *
 * Numbers are little-endian. A segment begins with a record of its own (BEGIN), so that no other
 * has the offset 0; it ends, once it is sealed, with a FOOTER that lists all records and an END of
 * one head, which leads to the footer.
 *
 * Promises: the check is keyed with a secret of the store and covers the place, so that neither
 * bytes that somebody uploads nor a record that lies elsewhere can pass for a record when a scan
 * looks for the next one. It says that the head is whole; that the bytes are is said by the
 * address.
 *
 * Records that are made to last together say where the first of them was begun (synced): what lies
 * before that lasted already when they were written, so that damage there is told from a write that
 * was not finished. One that lies more than a MiB behind does not say it.
 *
 * Nothing here waits or allocates.
 *
 * Ownership: everything lies in the caller's memory.
 */
#ifndef WEIR_STORE_RECORD_H
#define WEIR_STORE_RECORD_H

#include "address.h"
#include "hash.h"

#define WEIR__RECORD_HEAD   64u
#define WEIR__RECORD_ALIGN  16u
#define WEIR__CHUNK_MAX     (1u << 20)
#define WEIR__SEGMENT_COUNT 65536u /* records of a segment */
/* Content of this size and more begins with a page, so that it is sent in whole pages. */
#define WEIR__RECORD_PAGE      4096u
#define WEIR__RECORD_PAGED_MIN (32u << 10)

enum weir__record_type {
    WEIR__RECORD_CHUNK = 1, /* bytes under their address */
    WEIR__RECORD_DELETED,   /* the address is no more, nor is anything older */
    WEIR__RECORD_TOUCHED,   /* the address was asked for, and is as young as this */
    WEIR__RECORD_BAD,       /* what is older under this address was found damaged */
    WEIR__RECORD_BEGIN,     /* identity of the store */
    WEIR__RECORD_FOOTER,
    WEIR__RECORD_END /* of a sealed segment; its sequence is the offset of the footer */
};

struct weir__record {
    enum weir__record_type type;
    uint64_t sequence;
    uint32_t size;
    uint32_t time_s;
    struct weir__address address;
    uint32_t synced; /* all of its segment that lies before this lasted; 0: not told */
};

/* Where a record lies. */
struct weir__place {
    uint32_t segment;
    uint32_t offset;
};

struct weir__record_key {
    unsigned char bytes[WEIR__HASH_KEY_SIZE];
};

/* What a record takes of its segment. */
static inline uint32_t weir__record_span(uint32_t size)
{
    return (size + WEIR__RECORD_ALIGN - 1) & ~(WEIR__RECORD_ALIGN - 1);
}

/* What is left free, as zeros, before content of this length that would have its head there. */
static inline uint32_t weir__record_gap(uint32_t at, uint32_t length)
{
    uint32_t page = WEIR__RECORD_PAGE, content = at + WEIR__RECORD_HEAD;
    return length < WEIR__RECORD_PAGED_MIN ? 0 : ((content + page - 1) & ~(page - 1)) - content;
}

void weir__record_encode(const struct weir__record *record, const struct weir__record_key *key,
                         struct weir__place place, unsigned char head[WEIR__RECORD_HEAD]);
/* Corrupt: not the head of a record at this place. */
WEIR_MUST_USE int weir__record_decode(struct weir__record *ret_record,
                                      const unsigned char head[WEIR__RECORD_HEAD],
                                      const struct weir__record_key *key, struct weir__place place);
/* Whether it begins as a record does: what a scan looks for before it asks for more. */
bool weir__record_is_begun(const unsigned char head[WEIR__RECORD_HEAD]);

/* --- one line of a footer, and of the index --- */

#define WEIR__ENTRY_SIZE 56u

struct weir__entry {
    struct weir__address address;
    uint64_t sequence;
    struct weir__place place;
    uint32_t size;
    uint32_t time_s;
    enum weir__record_type type;
};

/* Bytes of the content. */
static inline uint32_t weir__entry_length(const struct weir__entry *entry)
{
    return entry->size - WEIR__RECORD_HEAD;
}

/* Whether a is what counts where both are about one address: the later sequence, and of one record
 * that lies at two places the one that was written last. */
bool weir__entry_is_newer(const struct weir__entry *a, const struct weir__entry *b);

void weir__entry_encode(const struct weir__entry *entry, unsigned char bytes[WEIR__ENTRY_SIZE]);
/* Corrupt: a number that no entry can have. The segment is that of the footer. */
WEIR_MUST_USE int weir__entry_decode(struct weir__entry *ret_entry,
                                     const unsigned char bytes[WEIR__ENTRY_SIZE], uint32_t segment);

/* --- what stands in the first record of each segment --- */

#define WEIR__IDENTITY_SIZE 64u

/* The id tells stores apart, the key makes the checks. Both are in each segment, so that the loss
 * of the one file that has them loses nothing. */
struct weir__identity {
    unsigned char id[16];
    struct weir__record_key key;
};

void weir__identity_encode(const struct weir__identity *identity,
                           unsigned char bytes[WEIR__IDENTITY_SIZE]);
WEIR_MUST_USE int weir__identity_decode(struct weir__identity *ret_identity,
                                        const unsigned char bytes[WEIR__IDENTITY_SIZE]);

#endif
