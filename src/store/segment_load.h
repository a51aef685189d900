/* segment_load.h - what a segment holds, as its footer tells, or as a scan finds.
 *
 * The footer of a sealed segment is taken at its word: it is under a checked address and a keyed
 * head. Without one, the segment is scanned: each record whose head and bytes are right counts,
 * what is not is skipped to the next head that is one. So neither a record that was cut off by a
 * crash nor one that a disk has damaged hides what stands behind it.
 *
 * Which of both it was is told by the records behind it: what lies before the place up to which
 * they say that all has lasted (record.h) is damaged, and is treated as in a segment that is
 * finished; the rest may be what a crash has left.
 *
 * What the disk does not give is stepped around, page by page (window.h): a footer that cannot be
 * read is as good as none, and of a segment without one everything counts that can be read. A chunk
 * whose head is right counts even if its bytes are not to be had: who asks for it is told so.
 *
 * Limits: WEIR__SEGMENT_COUNT records, and WEIR__SEGMENT_MAX bytes; what lies beyond is not looked
 * at and counts as bad. Memory: 80 bytes for each record and, for a scan, somewhat more than a
 * chunk.
 *
 * Ownership: the content belongs to the caller, who gives it back with weir__segment_forget().
 */
#ifndef WEIR_STORE_SEGMENT_LOAD_H
#define WEIR_STORE_SEGMENT_LOAD_H

#include "disk.h"
#include "record.h"

/* The largest that the options allow, and a footer behind it. */
#define WEIR__SEGMENT_MAX ((UINT64_C(1) << 30) + (UINT64_C(4) << 20))

struct weir__segment_content {
    struct weir__entry *records; /* in the order of their places */
    size_t count;
    uint32_t end; /* behind the last record that is not the footer; 0: not even its beginning */
    uint64_t file_size;
    bool is_sealed;
    uint64_t bad_records; /* whole heads with wrong bytes, and stretches that are no records */
    uint64_t bad_bytes;
    uint64_t torn_bytes;   /* the same behind the last record: what a crash leaves */
    uint64_t lost_bytes;   /* of what lasted once, and nobody knows what was there */
    uint64_t left_records; /* of the bad ones: that a crash may have left */
    uint64_t left_zeros;   /* stretches between records, of zeros, that a crash may have left */
    uint64_t hollow_bytes; /* zeros where a record could be */
    uint32_t synced;       /* all that lies before this has lasted; 0: not known */
    uint64_t sequence_max;
    uint64_t sequence_begin;   /* of its first record, which none before it has; 0: not known */
    uint64_t unreadable_bytes; /* that the disk did not give */
    uint64_t hidden_bytes;     /* of these: where records may lie that nobody knows of */
    bool is_frail;             /* the disk has failed: nothing of it is to be changed */
};

/* Whether a crash has left something between its records, as far as anybody can tell. */
static inline bool weir__segment_has_left(const struct weir__segment_content *content)
{
    return content->left_records + content->left_zeros > 0;
}

/* From its footer, or else by a scan. Io: nothing of it can be read. NoMemory and what else reading
 * fails with. Corrupt: its first record is not one of this store, in a file that is not empty and
 * not all zeros. */
WEIR_MUST_USE int weir__segment_load(struct weir__segment_content *ret_content, int fd, uint32_t id,
                                     const struct weir__record_key *key);
/* By a scan, in any case. bad() is told of each chunk whose bytes are not those of its address; may
 * be NULL. */
WEIR_MUST_USE int weir__segment_scan(struct weir__segment_content *ret_content, int fd, uint32_t id,
                                     const struct weir__record_key *key,
                                     void (*bad)(void *arg, const struct weir__entry *entry),
                                     void *arg);
/* What a scan tells; each may be NULL. */
struct weir__scan_hooks {
    /* A chunk whose bytes are not those of its address. */
    void (*bad)(void *arg, const struct weir__entry *entry);
    /* The same, of one that counts all the same, since it lasted once. */
    void (*wrong)(void *arg, const struct weir__entry *entry);
    /* Bytes that can be read, and are neither zeros nor a record; behind the last record as well.
     */
    void (*lost)(void *arg, uint64_t from, uint64_t to);
    /* Bytes that could not be read, in their order, when all was looked at; also when the answer is
     * Io. */
    void (*hole)(void *arg, uint64_t from, uint64_t to);
    void *arg;
};
WEIR_MUST_USE int weir__segment_scan_with(struct weir__segment_content *ret_content, int fd,
                                          uint32_t id, const struct weir__record_key *key,
                                          const struct weir__scan_hooks *hooks);
/* As weir__segment_load(); wrong() hears of each damaged chunk that counts, lost() of each stretch
 * that lasted once, is no record and can be read. is_finished: nothing was left unfinished, so that
 * all that is wrong is damaged. */
WEIR_MUST_USE int weir__segment_load_with(struct weir__segment_content *ret_content, int fd,
                                          uint32_t id, const struct weir__record_key *key,
                                          bool is_finished, const struct weir__scan_hooks *hooks);
void weir__segment_forget(struct weir__segment_content *content);

/* The identity in the first record; Corrupt: there is none. */
WEIR_MUST_USE int weir__segment_identity(struct weir__identity *ret_identity, int fd, uint32_t id);

/* Writes the first record of a new segment; its length is *ret_end. */
WEIR_MUST_USE int weir__segment_begin(const struct weir__disk_file *file, uint32_t id,
                                      const struct weir__identity *identity, uint64_t sequence,
                                      uint32_t *ret_end);
/* Writes footer and end behind these records, and waits until they last. synced: end, if all before
 * it has lasted and nothing there is what a crash has left; 0: nobody says so. */
WEIR_MUST_USE int weir__segment_seal(const struct weir__disk_file *file, uint32_t id,
                                     const struct weir__record_key *key,
                                     const struct weir__entry *records, size_t count, uint32_t end,
                                     uint32_t synced);

#endif
