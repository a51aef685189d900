/* find.c - where a chunk is, and whether its bytes are those of its address. */
#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_mutants.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

/* A segment may be compacted between the lookup and the pin; the next lookup finds where the chunk
 * went. Each time another one has to be moved for that, so this is enough. */
#define TRIES 8

/* With the lock held. */
static bool find_in_tails(const struct weir__store *store, const struct weir__address *address,
                          struct weir__entry *ret_entry)
{
    bool is_found = store->active && weir__tail_get(store->active, address, ret_entry);
    for (size_t i = store->waiting_count; !is_found && i-- > 0;) {
        size_t at = WEIR__STORE_MUTANT(LOOKUP_OLDEST_FIRST) ? store->waiting_count - 1 - i : i;
        is_found = weir__tail_get(store->waiting[at], address, ret_entry);
    }
    return is_found;
}

/* The index cannot be relied on. It is made anew, so what was asked may be asked again; but not by
 * who only reads. */
static int doubt(struct weir__store *store)
{
    weir__store_doubt_index(store);
    return store->is_read_only ? -WEIR_E_IO : -WEIR_E_TRANSIENT;
}

/* Whatever else it is, it is said of the index, and nothing of the chunk. */
int weir__store_index_failed(struct weir__store *store, int error)
{
    bool is_passing =
        error == -WEIR_E_BUSY || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_TRANSIENT;
    return is_passing ? error : doubt(store);
}

int weir__store_lookup(struct weir__store *store, const struct weir__address *address,
                       struct weir__entry *ret_entry, bool *ret_is_tail)
{
    if (WEIR__STORE_MUTANT(LOOKUP_INDEX_FIRST) &&
        weir__index_get(store->index, address, ret_entry) == 0)
        return 0;
    weir_lock_acquire(&store->lock);
    bool is_found = find_in_tails(store, address, ret_entry), is_broken = store->index_is_broken;
    weir_lock_release(&store->lock);
    if (ret_is_tail)
        *ret_is_tail = is_found;
    if (is_found)
        return 0;
    if (WEIR__STORE_MUTANT(LOOKUP_INDEX_FIRST))
        return -WEIR_E_NOT_FOUND;
    if (is_broken && !store->is_read_only)
        return -WEIR_E_TRANSIENT;
    struct weir__index *index = weir__store_index_use(store);
    int error = weir__index_get(index, address, ret_entry);
    weir__store_index_leave(store, index);
    return !error || error == -WEIR_E_NOT_FOUND ? error : weir__store_index_failed(store, error);
}

int weir__store_reader_init(struct weir__store_reader *reader)
{
    reader->_bytes = weir__base_alloc(1, WEIR__RECORD_HEAD + WEIR__CHUNK_MAX);
    return reader->_bytes ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__store_reader_fini(struct weir__store_reader *reader)
{
    weir__base_free(reader->_bytes);
    reader->_bytes = NULL;
}

static bool is_entry(const struct weir__record *record, const struct weir__entry *entry)
{
    return record->type == entry->type && record->sequence == entry->sequence &&
           record->size == entry->size && weir__address_is_equal(&record->address, &entry->address);
}

/* A read that failed since there is nothing to be read. */
static bool ends_before(int fd, uint64_t end)
{
    struct stat st;
    return weir__sys_fstat(fd, &st) == 0 && st.st_size >= 0 && (uint64_t)st.st_size < end;
}

int weir__store_load(struct weir__store *store, struct weir__segment *segment,
                     const struct weir__entry *entry, bool with_bytes,
                     struct weir__store_reader *reader)
{
    struct weir__record record;
    struct weir__address address;
    size_t count = with_bytes ? entry->size : WEIR__RECORD_HEAD;
    if (entry->size > WEIR__RECORD_HEAD + WEIR__CHUNK_MAX)
        return -WEIR_E_MISMATCH; /* no record says so */
    int error = weir__disk_pread(segment->fd, reader->_bytes, count, entry->place.offset);
    if (error == -WEIR_E_IO && ends_before(segment->fd, entry->place.offset + (uint64_t)count))
        error = -WEIR_E_MISMATCH;
    if (!error)
        error = weir__record_decode(&record, reader->_bytes, &store->identity.key, entry->place);
    if (error == -WEIR_E_CORRUPT || (!error && !is_entry(&record, entry)))
        error = -WEIR_E_MISMATCH;
    if (error || !with_bytes)
        return error;
    weir__address_of(reader->_bytes + WEIR__RECORD_HEAD, weir__entry_length(entry), &address);
    weir_counter_add(&store->counts.verified, 1);
    return weir__address_is_equal(&address, &entry->address) ? 0 : -WEIR_E_CORRUPT;
}

static void fill_in(struct weir__chunk *chunk, const struct weir__entry *entry,
                    struct weir__segment *segment, bool is_verified)
{
    *chunk = (struct weir__chunk){
        .fd = segment->fd,
        .offset = (uint64_t)entry->place.offset + WEIR__RECORD_HEAD,
        .length = weir__entry_length(entry),
        .time_s = entry->time_s,
        .sequence = entry->sequence,
        .is_verified = is_verified,
        ._segment = segment,
    };
}

static enum weir__store_verify policy_of(struct weir__store *store)
{
    weir_lock_acquire(&store->lock);
    enum weir__store_verify verify = store->verify;
    weir_lock_release(&store->lock);
    return verify;
}

/* What counts for the address, and its segment pinned. */
static int find_and_pin(struct weir__store *store, const struct weir__address *address,
                        struct weir__entry *ret_entry, bool *ret_is_tail,
                        struct weir__segment **ret_segment)
{
    int error = 0;
    for (int i = 0; i < TRIES; i++) {
        error = weir__store_lookup(store, address, ret_entry, ret_is_tail);
        bool is_known = !error;
        if (is_known && ret_entry->type != WEIR__RECORD_CHUNK)
            error = -WEIR_E_NOT_FOUND;
        /* It may lie where nothing can be read. */
        if (error == -WEIR_E_NOT_FOUND &&
            !weir__store_is_certain(store, is_known ? ret_entry : NULL))
            error = -WEIR_E_IO;
        if (error)
            return error;
        error = weir__segments_pin(&store->segments, ret_entry->place.segment, ret_segment);
        if (error != -WEIR_E_NOT_FOUND)
            return weir__disk_read_fault(error);
    }
    /* The index knows it, and its segment is not there. */
    return doubt(store);
}

/* Whether the segment itself says that this record is at this place. All of it is compared: an
 * entry with a wrong size or sequence is one of an index that is wrong about a chunk that is
 * right. */
static bool is_listed(struct weir__store *store, struct weir__segment *segment,
                      const struct weir__entry *entry)
{
    struct weir__segment_content content;
    bool is_there = false;
    if (weir__segment_load(&content, segment->fd, segment->id, &store->identity.key))
        return false;
    for (size_t i = 0; i < content.count && !is_there; i++)
        is_there = content.records[i].place.offset == entry->place.offset &&
                   content.records[i].size == entry->size &&
                   content.records[i].sequence == entry->sequence &&
                   content.records[i].type == entry->type &&
                   weir__address_is_equal(&content.records[i].address, &entry->address);
    weir__segment_forget(&content);
    return is_there;
}

/* A head that is not that of the entry: damaged, or the index leads to a wrong place. Only the
 * former says anything about the chunk. */
static int judge_head(struct weir__store *store, struct weir__segment *segment,
                      const struct weir__entry *entry, bool is_tail)
{
    if (is_tail || is_listed(store, segment, entry))
        return -WEIR_E_CORRUPT;
    return doubt(store);
}

/* What counts for the address, read, and its segment pinned unless that fails. Corrupt: *ret_entry
 * is what is damaged. */
static int find_and_load(struct weir__store *store, struct weir__store_reader *reader,
                         const struct weir__address *address, bool with_bytes,
                         struct weir__entry *ret_entry, struct weir__segment **ret_segment)
{
    bool is_tail;
    int error = find_and_pin(store, address, ret_entry, &is_tail, ret_segment);
    if (error)
        return error;
    weir_counter_add(&store->counts.gets_cold, 1);
    error = weir__store_load(store, *ret_segment, ret_entry, with_bytes, reader);
    if (error == -WEIR_E_MISMATCH)
        error = judge_head(store, *ret_segment, ret_entry, is_tail);
    if (error) {
        weir__segments_unpin(&store->segments, *ret_segment);
        /* Who has it in memory would begin an answer that cannot be ended. */
        weir__hot_forget(&store->hot, address);
    }
    return error;
}

int weir__store_examine(struct weir__store *store, struct weir__store_reader *reader,
                        const struct weir__address *address, struct weir__entry *ret_entry)
{
    struct weir__segment *segment;
    int error = find_and_load(store, reader, address, true, ret_entry, &segment);
    if (!error)
        weir__segments_unpin(&store->segments, segment);
    return error;
}

static int get(struct weir__store *store, struct weir__store_reader *reader,
               const struct weir__address *address, bool with_bytes, struct weir__chunk *ret_chunk)
{
    struct weir__segment *segment;
    struct weir__entry entry;
    uint64_t epoch = weir__hot_epoch(&store->hot, address);
    int error = find_and_load(store, reader, address, with_bytes, &entry, &segment);
    if (error == -WEIR_E_CORRUPT)
        weir__store_quarantine(store, &entry, "its bytes are not those of its address");
    if (error)
        return error;
    weir__hot_add(&store->hot, &entry, with_bytes, epoch);
    fill_in(ret_chunk, &entry, segment, with_bytes);
    return 0;
}

int weir__store_get_now(struct weir__store *store, const struct weir__address *address,
                        struct weir__chunk *ret_chunk)
{
    struct weir__segment *segment;
    struct weir__entry entry;
    bool is_verified;
    enum weir__store_verify verify = policy_of(store);
    if (verify == WEIR__STORE_VERIFY_ALWAYS ||
        !weir__hot_get(&store->hot, address, &entry, &is_verified))
        return -WEIR_E_BUSY;
    /* Read before the policy was changed. */
    if (verify == WEIR__STORE_VERIFY_FIRST && !is_verified)
        return -WEIR_E_BUSY;
    if (weir__segments_pin_open(&store->segments, entry.place.segment, &segment))
        return -WEIR_E_BUSY;
    fill_in(ret_chunk, &entry, segment, is_verified);
    return 0;
}

int weir__store_get(struct weir__store *store, struct weir__store_reader *reader,
                    const struct weir__address *address, struct weir__chunk *ret_chunk)
{
    if (weir__store_get_now(store, address, ret_chunk) == 0)
        return 0;
    return get(store, reader, address, policy_of(store) != WEIR__STORE_VERIFY_SCRUB, ret_chunk);
}

int weir__store_read_chunk(struct weir__store *store, struct weir__store_reader *reader,
                           const struct weir__address *address, const unsigned char **ret_bytes,
                           uint32_t *ret_length)
{
    struct weir__chunk chunk;
    int error = get(store, reader, address, true, &chunk);
    if (error)
        return error;
    *ret_bytes = reader->_bytes + WEIR__RECORD_HEAD;
    *ret_length = chunk.length;
    weir__chunk_release(store, &chunk);
    return 0;
}

static struct weir__store_write **endings_of(struct weir__store *store,
                                             const struct weir__address *address)
{
    return &store->endings[address->bytes[0] % WEIR__STORE_ENDINGS];
}

/* What is moved is known already. */
static bool is_ending(const struct weir__store_write *write)
{
    return write->_kind == WEIR__WRITE_BAD ||
           (write->_kind == WEIR__WRITE_PLAIN && write->action == WEIR__STORE_DELETE);
}

void weir__store_announce(struct weir__store *store, struct weir__store_write *write)
{
    if (write->_is_announced || !is_ending(write))
        return;
    write->_is_announced = true;
    weir_lock_acquire(&store->lock);
    struct weir__store_write **first = endings_of(store, &write->address);
    write->_next = *first;
    *first = write;
    weir_lock_release(&store->lock);
}

void weir__store_withdraw(struct weir__store *store, struct weir__store_write *write)
{
    if (!write->_is_announced)
        return;
    weir_lock_acquire(&store->lock);
    struct weir__store_write **at = endings_of(store, &write->address);
    while (*at != write)
        at = &(*at)->_next;
    *at = write->_next;
    weir_lock_release(&store->lock);
    write->_is_announced = false;
}

/* Whether what is there may be gone by something that the lookup does not know yet. */
static bool may_go(struct weir__store *store, const struct weir__address *address)
{
    weir_lock_acquire(&store->lock);
    bool may = store->is_unsettled;
    for (const struct weir__store_write *write = *endings_of(store, address); write && !may;
         write = write->_next)
        may = weir__address_is_equal(&write->address, address);
    weir_lock_release(&store->lock);
    return may;
}

static int find(struct weir__store *store, const struct weir__address *address, bool for_certain,
                uint32_t *ret_length, uint32_t *ret_time_s)
{
    struct weir__entry entry;
    /* First: what is done by then is seen by the lookup. */
    bool goes = for_certain && may_go(store, address);
    int error = weir__store_lookup(store, address, &entry, NULL);
    if (!error && (entry.type != WEIR__RECORD_CHUNK ||
                   (for_certain && (store->is_doubtful || !weir__store_is_certain(store, &entry) ||
                                    !weir__store_has_segment(store, entry.place.segment)))))
        error = -WEIR_E_NOT_FOUND;
    if (error)
        return error;
    *ret_length = weir__entry_length(&entry);
    *ret_time_s = entry.time_s;
    return goes ? WEIR__STORE_PRESENT : 0;
}

int weir__store_find(struct weir__store *store, const struct weir__address *address,
                     uint32_t *ret_length, uint32_t *ret_time_s)
{
    return find(store, address, false, ret_length, ret_time_s);
}

int weir__store_vouch(struct weir__store *store, const struct weir__address *address,
                      uint32_t *ret_length, uint32_t *ret_time_s)
{
    return find(store, address, true, ret_length, ret_time_s);
}

void weir__chunk_release(struct weir__store *store, struct weir__chunk *chunk)
{
    if (chunk->_segment)
        weir__segments_unpin(&store->segments, chunk->_segment);
    *chunk = (struct weir__chunk){.fd = -1};
}
