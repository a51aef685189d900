/* links.c - a hash table in memory with the oldest settled entries moving on to a file.
 *
 * States of an inode
 *
 *     (unknown) --enter: FIRST--> MAKING --done--> SETTLED --limit--> MOVING --> (in the file)
 *                                    |                |                              |
 *                                    +-- failed, or all names have come: (unknown) <-+
 *
 * An inode is in memory or in the file. While it is MOVING it is in both, and memory answers. Two
 * things guard this: the lock for all that is in memory, and the turn, a budget of one, for the
 * file. The turn may be held across input and output and while the lock is taken, never the other
 * way round. Only who has the turn moves entries from memory to the file or takes them out of it;
 * so who has it, has not found an inode in the file, and does not find it in memory either, knows
 * that it is new. Most new ones need no turn: a filter in memory, of two bits for each inode that
 * ever moved, has not seen them.
 *
 * Names that come while an entry is MOVING are counted in memory; the mover sees that when it is
 * back and corrects the count in the file. Should that fail, the count there is too high, which
 * keeps the entry longer than needed and harms nobody.
 *
 * Failure modes: memory that is not to be had, and a file that cannot be written or read. What was
 * remembered stays remembered; the caller is told about the one inode that it came with, and the
 * limit holds.
 */
#include "links.h"

#include <errno.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/lock.h>

#include "alloc.h"
#include "require.h"
#include "spill.h"

#include "banned.h"

#define BUCKETS_MIN      64u
#define BUCKETS_MAX      (1u << 20)
#define BYTES_PER_BUCKET 256u /* of the limit; about an entry with its path */
#define BATCH            256u /* entries that move in one go, with one write of their paths */
#define BUFFER_BYTES_MAX (64u << 10)
#define FILTER_SHARE     16u /* of the limit */
#define FILTER_BYTES_MIN 512u
#define FILTER_BYTES_MAX (16u << 20)
#define LARGE_SHARE      8u /* a path above this part of the limit goes to the file at once */

enum state { MAKING, SETTLED, MOVING };

struct entry {
    struct entry *next; /* in its bucket */
    struct weir__link_key key;
    uint64_t left; /* names that have not come yet */
    enum state state;
    uint32_t path_length;
    char *path;
    union {
        struct { /* MAKING */
            struct weir__link_waiter *first;
            struct weir__link_waiter *last;
        } waiters;
        struct { /* SETTLED: neighbours in age */
            struct entry *older;
            struct entry *newer;
        } age;
    };
    uint64_t device; /* SETTLED and MOVING: the place */
    uint64_t inode;
    uint64_t root;
};

struct weir__links {
    struct weir_lock lock; /* guards all up to the turn */
    struct entry **buckets;
    size_t buckets_count;
    struct entry *oldest; /* settled, in the order in which they were */
    struct entry *newest;
    uint64_t bytes; /* of memory */
    uint64_t bytes_max;
    uint64_t spilled; /* inodes in the file; changed with the turn and the lock */
    uint64_t spilled_bytes, spilled_most;
    uint64_t *filter; /* of those that are or were in the file */
    size_t filter_bits;

    struct weir_budget turn; /* guards all that follows */
    struct weir__spill *spill;
    size_t batch_bytes_max;
    struct entry *moving[BATCH];
    struct weir__spill_item items[BATCH];
};

static const struct weir_lock_class links_class = {"copy-links", 500};

/* --- memory; all of these under the lock unless they say otherwise --- */

/* What an allocation takes: rounded, and with the allocator's own word. */
static uint64_t allocated(size_t size)
{
    return (size + sizeof(size_t) + 15) / 16 * 16;
}

static uint64_t entry_bytes(const struct entry *entry)
{
    return allocated(sizeof(*entry)) + (entry->path ? allocated(entry->path_length) : 0);
}

static uint64_t hash_of(struct weir__link_key key)
{
    uint64_t hash =
        (key.inode ^ key.device * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static struct entry **bucket_of(struct weir__links *links, struct weir__link_key key)
{
    return &links->buckets[(hash_of(key) >> 40) & (links->buckets_count - 1)];
}

/* Both bits of a key: true if they were set already. */
static bool filter_see(struct weir__links *links, struct weir__link_key key, bool is_set)
{
    uint64_t hash = hash_of(key);
    size_t one = hash & (links->filter_bits - 1), two = (hash >> 32) & (links->filter_bits - 1);
    uint64_t bit_one = UINT64_C(1) << one % 64, bit_two = UINT64_C(1) << two % 64;
    bool was_set = (links->filter[one / 64] & bit_one) && (links->filter[two / 64] & bit_two);
    if (is_set) {
        links->filter[one / 64] |= bit_one;
        links->filter[two / 64] |= bit_two;
    }
    return was_set;
}

/* Where the pointer to it is, or would be. */
static struct entry **find(struct weir__links *links, struct weir__link_key key)
{
    struct entry **at = bucket_of(links, key);
    while (*at && ((*at)->key.inode != key.inode || (*at)->key.device != key.device))
        at = &(*at)->next;
    return at;
}

static void insert(struct weir__links *links, struct entry *entry)
{
    struct entry **bucket = bucket_of(links, entry->key);
    entry->next = *bucket;
    *bucket = entry;
    links->bytes += entry_bytes(entry);
}

/* Out of the table; the caller frees it, without the lock. */
static void extract(struct weir__links *links, struct entry *entry)
{
    struct entry **at = find(links, entry->key);
    WEIR__REQUIRE(*at == entry, "links", "", "an entry is not in its bucket");
    *at = entry->next;
    links->bytes -= entry_bytes(entry);
}

/* Without the lock. */
static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    weir__base_free(entry->path);
    weir__base_free(entry);
}

static void settled_append(struct weir__links *links, struct entry *entry)
{
    entry->state = SETTLED;
    entry->age.older = links->newest;
    entry->age.newer = NULL;
    *(links->newest ? &links->newest->age.newer : &links->oldest) = entry;
    links->newest = entry;
}

/* For one that could not move: it is the oldest again. */
static void settled_prepend(struct weir__links *links, struct entry *entry)
{
    entry->state = SETTLED;
    entry->age.older = NULL;
    entry->age.newer = links->oldest;
    *(links->oldest ? &links->oldest->age.older : &links->newest) = entry;
    links->oldest = entry;
}

static void settled_leave(struct weir__links *links, struct entry *entry)
{
    struct entry *older = entry->age.older, *newer = entry->age.newer;
    *(older ? &older->age.newer : &links->oldest) = newer;
    *(newer ? &newer->age.older : &links->newest) = older;
}

static struct weir__link_waiter *take_waiters(struct entry *entry)
{
    struct weir__link_waiter *waiters = entry->waiters.first;
    entry->waiters.first = entry->waiters.last = NULL;
    return waiters;
}

/* What the file holds, for those who look with the lock alone. With the turn. */
static void publish(struct weir__links *links)
{
    uint64_t before = links->spilled;
    links->spilled = weir__spill_count(links->spill);
    if (before > 0 && links->spilled == 0)
        memset(links->filter, 0, links->filter_bits / 8);
    links->spilled_bytes = weir__spill_bytes(links->spill);
    if (links->spilled_bytes > links->spilled_most)
        links->spilled_most = links->spilled_bytes;
}

/* --- the turn --- */

static int turn_take(struct weir__links *links, struct weir_permit *turn,
                     const struct weir_deadline *deadline)
{
    return weir_budget_acquire(&links->turn, 1, turn, deadline);
}

static void turn_give(struct weir_permit *turn)
{
    int saved = errno;
    weir_permit_release(turn);
    errno = saved;
}

static struct weir_cancel *token_of(const struct weir_deadline *deadline)
{
    return deadline ? deadline->cancel : NULL;
}

/* --- moving to the file; with the turn and without the lock --- */

/* The entry is in the file with this count of names; some may have come since. Takes it out of
 * memory when both agree. waiters: of one that was MAKING, else NULL. */
static void finish_move(struct weir__links *links, struct entry *entry, uint64_t left_written,
                        struct weir__link_waiter **waiters)
{
    for (;;) {
        weir_lock_acquire(&links->lock);
        uint64_t left = entry->left;
        if (left == left_written) {
            if (waiters)
                *waiters = take_waiters(entry);
            extract(links, entry);
            publish(links);
            filter_see(links, entry->key, true);
        }
        weir_lock_release(&links->lock);
        if (left == left_written)
            break;
        /* If it cannot be written, the file keeps a count that is too high. */
        (void)!weir__spill_set_left(links->spill, entry->key, left);
        left_written = left;
    }
    entry_free(entry);
}

/* The oldest, as many as fit in one write. */
static size_t batch_begin(struct weir__links *links)
{
    size_t count = 0;
    uint64_t bytes = 0;
    weir_lock_acquire(&links->lock);
    while (links->oldest && count < BATCH) {
        struct entry *entry = links->oldest;
        bytes += entry->path_length;
        if (count > 0 && bytes > links->batch_bytes_max)
            break;
        settled_leave(links, entry);
        entry->state = MOVING;
        links->moving[count] = entry;
        links->items[count++] =
            (struct weir__spill_item){entry->key,  entry->left, entry->device,     entry->inode,
                                      entry->root, entry->path, entry->path_length};
    }
    weir_lock_release(&links->lock);
    return count;
}

/* Those that are in the file leave memory; the others are the oldest again. */
static void batch_end(struct weir__links *links, size_t count, size_t put)
{
    struct entry *gone = NULL;
    size_t changed = 0;
    weir_lock_acquire(&links->lock);
    publish(links);
    for (size_t i = count; i-- > 0;) {
        struct entry *entry = links->moving[i];
        bool is_done = i < put ? entry->left == links->items[i].left : entry->left == 0;
        if (is_done) {
            extract(links, entry);
            filter_see(links, entry->key, i < put);
            entry->next = gone;
            gone = entry;
        } else if (i >= put) {
            settled_prepend(links, entry);
        } else {
            /* From the end downwards, so the slot that this takes has been seen. */
            changed++;
            links->moving[put - changed] = entry;
            links->items[put - changed].left = links->items[i].left;
        }
    }
    weir_lock_release(&links->lock);
    for (size_t i = put - changed; i < put; i++)
        finish_move(links, links->moving[i], links->items[i].left, NULL);
    while (gone) {
        struct entry *next = gone->next;
        entry_free(gone);
        gone = next;
    }
}

/* 0 when at least one has moved (or none was there). */
static int spill_oldest(struct weir__links *links, struct weir_cancel *cancel)
{
    size_t count = batch_begin(links), put = 0;
    if (count == 0)
        return 0;
    int error = weir__spill_put(links->spill, links->items, count, &put, cancel);
    int saved = errno;
    batch_end(links, count, put);
    errno = saved;
    return put > 0 ? 0 : error;
}

/* --- entering --- */

static int give_place(const struct entry *entry, struct weir__link_place *place)
{
    weir__buffer_truncate(&place->path, 0);
    int error = weir__buffer_append(&place->path, entry->path, entry->path_length);
    if (error)
        return error;
    place->device = entry->device;
    place->inode = entry->inode;
    place->root = entry->root;
    return WEIR__LINK_KNOWN;
}

/* The answer if it is in memory, else 0. *ret_gone is to be freed. Under the lock. */
static int answer_from_memory(struct weir__links *links, struct weir__link_key key,
                              struct weir__link_waiter *waiter, struct weir__link_place *place,
                              struct entry **ret_gone)
{
    struct entry *entry = *find(links, key);
    if (!entry)
        return 0;
    int answer;
    if (entry->state != MAKING) {
        answer = give_place(entry, place);
    } else if (!waiter) {
        answer = -WEIR_E_BUSY;
    } else {
        waiter->next = NULL;
        *(entry->waiters.last ? &entry->waiters.last->next : &entry->waiters.first) = waiter;
        entry->waiters.last = waiter;
        answer = WEIR__LINK_WAIT;
    }
    if (answer > 0 && entry->left > 0)
        entry->left--;
    if (answer > 0 && entry->left == 0 && entry->state == SETTLED) {
        settled_leave(links, entry);
        extract(links, entry);
        *ret_gone = entry;
    }
    return answer;
}

/* The answer if it is in the file, else 0. With the turn. */
static int answer_from_file(struct weir__links *links, struct weir__link_key key,
                            struct weir__link_place *place)
{
    int found = weir__spill_take(links->spill, key, place);
    if (found <= 0)
        return found;
    weir_lock_acquire(&links->lock);
    publish(links);
    weir_lock_release(&links->lock);
    return WEIR__LINK_KNOWN;
}

int weir__links_enter(struct weir__links *links, struct weir__link_key key, uint64_t names,
                      struct weir__link_waiter *waiter, struct weir__link_place *place,
                      const struct weir_deadline *deadline)
{
    WEIR_CLEANUP(turn_give)
    struct weir_permit turn = WEIR_PERMIT_NONE;
    struct entry *fresh = NULL, *gone = NULL;
    int answer;
    for (;;) {
        weir_lock_acquire(&links->lock);
        answer = answer_from_memory(links, key, waiter, place, &gone);
        /* Who has the turn has looked into the file. */
        bool is_new = answer == 0 && (weir_permit_is_held(&turn) || !filter_see(links, key, false));
        if (is_new && fresh) {
            insert(links, fresh);
            fresh = NULL;
            answer = WEIR__LINK_FIRST;
        }
        weir_lock_release(&links->lock);
        if (answer != 0)
            break;
        if (!fresh) {
            fresh = weir__base_alloc(1, sizeof(*fresh));
            if (!fresh) {
                answer = -WEIR_E_NO_MEMORY;
                break;
            }
            fresh->key = key;
            fresh->left = names > 0 ? names - 1 : 0;
        }
        if (is_new)
            continue;
        answer = turn_take(links, &turn, deadline);
        if (answer == 0)
            answer = answer_from_file(links, key, place);
        if (answer != 0)
            break;
    }
    entry_free(fresh);
    entry_free(gone);
    return answer;
}

/* --- done --- */

/* Straight to the file, for what memory has no room for. */
static int write_through(struct weir__links *links, struct entry *entry, uint64_t left,
                         const struct weir__link_place *place, struct weir__link_waiter **waiters,
                         struct weir_cancel *cancel)
{
    struct weir__spill_item item = {entry->key,
                                    left,
                                    place->device,
                                    place->inode,
                                    place->root,
                                    weir__buffer_text(&place->path),
                                    weir__buffer_length(&place->path)};
    size_t put;
    int error = weir__spill_put(links->spill, &item, 1, &put, cancel);
    if (error)
        return error;
    finish_move(links, entry, left, waiters);
    return 0;
}

/* Settles it in memory if there is room (or forgets it if nobody is to come). *path becomes the
 * entry's. Returns false if there is no room. Under the lock. */
static bool settle(struct weir__links *links, struct entry *entry, char **path,
                   const struct weir__link_place *place, struct entry **ret_gone)
{
    if (entry->left == 0) {
        extract(links, entry);
        *ret_gone = entry;
        return true;
    }
    uint32_t length = (uint32_t)weir__buffer_length(&place->path);
    if (!*path || links->bytes + allocated(length) > links->bytes_max)
        return false;
    links->bytes += allocated(length);
    entry->path = *path;
    *path = NULL;
    entry->path_length = length;
    entry->device = place->device;
    entry->inode = place->inode;
    entry->root = place->root;
    settled_append(links, entry);
    return true;
}

/* 0: the entry is settled, in the file or forgotten, and its waiters are out. */
static int remember(struct weir__links *links, struct entry *entry,
                    const struct weir__link_place *place, char **path,
                    struct weir__link_waiter **waiters, const struct weir_deadline *deadline)
{
    WEIR_CLEANUP(turn_give)
    struct weir_permit turn = WEIR_PERMIT_NONE;
    for (;;) {
        struct entry *gone = NULL;
        weir_lock_acquire(&links->lock);
        struct weir__link_waiter *waiting = entry->waiters.first;
        uint64_t left = entry->left;
        bool is_settled = settle(links, entry, path, place, &gone);
        bool is_alone = links->oldest == NULL;
        weir_lock_release(&links->lock);
        entry_free(gone);
        if (is_settled) {
            *waiters = waiting;
            return 0;
        }
        int error = 0;
        if (!weir_permit_is_held(&turn))
            error = turn_take(links, &turn, deadline); /* then there may be room */
        else if (!*path || is_alone)
            return write_through(links, entry, left, place, waiters, token_of(deadline));
        else
            error = spill_oldest(links, token_of(deadline));
        if (error)
            return error;
    }
}

static struct entry *find_making(struct weir__links *links, struct weir__link_key key)
{
    weir_lock_acquire(&links->lock);
    struct entry *entry = *find(links, key);
    WEIR__REQUIRE(entry && entry->state == MAKING, "links", "", "done without being the first");
    weir_lock_release(&links->lock);
    return entry;
}

struct weir__link_waiter *weir__links_done(struct weir__links *links, struct weir__link_key key,
                                           const struct weir__link_place *place, int *ret_error,
                                           const struct weir_deadline *deadline)
{
    /* Only this caller can take it out. */
    struct entry *entry = find_making(links, key);
    struct weir__link_waiter *waiters = NULL;
    size_t length = place ? weir__buffer_length(&place->path) : 0;
    char *path = NULL;
    int error = 0;
    if (length > WEIR__LINK_PATH_MAX) {
        error = -WEIR_E_TOO_LARGE;
    } else if (place && length <= links->bytes_max / LARGE_SHARE) {
        path = weir__base_alloc(length, 1);
        if (path)
            memcpy(path, weir__buffer_text(&place->path), length);
        else
            error = -WEIR_E_NO_MEMORY;
    }
    if (place && !error)
        error = remember(links, entry, place, &path, &waiters, deadline);
    if (!place || error) {
        weir_lock_acquire(&links->lock);
        waiters = take_waiters(entry);
        extract(links, entry);
        weir_lock_release(&links->lock);
        entry_free(entry);
    }
    int saved = errno;
    weir__base_free(path);
    errno = saved;
    if (ret_error)
        *ret_error = error;
    return waiters;
}

/* --- life cycle --- */

int weir__links_new(struct weir__links **ret_links, const struct weir__links_options *options)
{
    struct weir__links *links = weir__base_alloc(1, sizeof(*links));
    if (!links)
        return -WEIR_E_NO_MEMORY;
    weir_lock_init(&links->lock, &links_class);
    int error = weir_budget_init(&links->turn, "links-file", 1);
    WEIR__REQUIRE(error == 0, "links", "", "the turn cannot be made");
    links->bytes_max = options->bytes_max;
    links->buckets_count = BUCKETS_MIN;
    while (links->buckets_count < BUCKETS_MAX &&
           links->buckets_count < links->bytes_max / BYTES_PER_BUCKET)
        links->buckets_count *= 2;
    links->buckets = weir__base_alloc(links->buckets_count, sizeof(*links->buckets));
    size_t filter_bytes = FILTER_BYTES_MIN;
    while (filter_bytes < FILTER_BYTES_MAX && filter_bytes < links->bytes_max / FILTER_SHARE)
        filter_bytes *= 2;
    links->filter_bits = filter_bytes * 8;
    links->filter = weir__base_alloc(filter_bytes, 1);
    uint64_t buffer = links->bytes_max / 16;
    links->batch_bytes_max = buffer < BUFFER_BYTES_MAX ? (size_t)buffer : BUFFER_BYTES_MAX;
    error = weir__spill_new(&links->spill, options->spill_dir, links->batch_bytes_max);
    if (!links->buckets || !links->filter || error) {
        weir__links_free(links);
        return -WEIR_E_NO_MEMORY;
    }
    links->bytes = allocated(sizeof(*links)) + allocated(filter_bytes) +
                   allocated(links->buckets_count * sizeof(*links->buckets)) +
                   weir__spill_memory(links->spill);
    *ret_links = links;
    return 0;
}

void weir__links_free(struct weir__links *links)
{
    if (!links)
        return;
    for (size_t i = 0; links->buckets && i < links->buckets_count; i++) {
        struct entry *entry = links->buckets[i];
        while (entry) {
            struct entry *next = entry->next;
            WEIR__REQUIRE(entry->state != MAKING || !entry->waiters.first, "links", "",
                          "freed while somebody waits for an inode");
            entry_free(entry);
            entry = next;
        }
    }
    weir__spill_free(links->spill);
    weir_budget_fini(&links->turn);
    weir_lock_fini(&links->lock);
    weir__base_free(links->buckets);
    weir__base_free(links->filter);
    weir__base_free(links);
}

void weir__links_read(struct weir__links *links, uint64_t *ret_memory, uint64_t *ret_spilled)
{
    weir_lock_acquire(&links->lock);
    *ret_memory = links->bytes;
    *ret_spilled = links->spilled_bytes;
    weir_lock_release(&links->lock);
}

uint64_t weir__links_spilled_most(struct weir__links *links)
{
    weir_lock_acquire(&links->lock);
    uint64_t bytes = links->spilled_most;
    weir_lock_release(&links->lock);
    return bytes;
}
