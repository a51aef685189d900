/* scenarios_store.c - a store: no lookup misses what is on its way to the index, and what was
 * deleted does not come back by who read it.
 *
 * Lookup, indexer, tails, the index in memory and the table of chunks that were read are the real
 * ones. The thread that writes is played here, and segments are not there at all.
 */
#include "xp.h"

#include <string.h>

#include "store_part.h"

static struct {
    struct weir__store store;
    struct weir_cancel stop, abort;
    struct weir__address address;
    struct weir__entry entry;
    bool is_there;   /* what a lookup would say */
    bool is_deleted; /* its deletion was answered */
    uint64_t newest; /* sequence that was answered last */
    size_t pieces;
} s;

static const struct weir_lock_class store_class = {"store-tails", 710};

/* --- what lookups and the indexer lean on, and what is not looked at here --- */

int weir__segments_pin(struct weir__segments *segments, uint32_t id,
                       struct weir__segment **ret_segment)
{
    (void)segments, (void)id, (void)ret_segment;
    return -WEIR_E_NOT_FOUND;
}

int weir__segments_pin_open(struct weir__segments *segments, uint32_t id,
                            struct weir__segment **ret_segment)
{
    return weir__segments_pin(segments, id, ret_segment);
}

void weir__segments_unpin(struct weir__segments *segments, struct weir__segment *segment)
{
    (void)segments, (void)segment;
}

void weir__segments_update(struct weir__segments *segments, const struct weir__segment_facts *facts)
{
    (void)segments, (void)facts;
}

void weir__store_undoom(struct weir__store *store, const struct weir__tail *tail)
{
    (void)store, (void)tail;
}

int weir__segment_load(struct weir__segment_content *ret_content, int fd, uint32_t id,
                       const struct weir__record_key *key)
{
    (void)ret_content, (void)fd, (void)id, (void)key;
    return -WEIR_E_IO;
}

void weir__segment_forget(struct weir__segment_content *content)
{
    (void)content;
}

bool weir__store_has_segment(struct weir__store *store, uint32_t id)
{
    (void)store, (void)id;
    return true;
}

void weir__store_quarantine(struct weir__store *store, const struct weir__entry *entry,
                            const char *what)
{
    (void)store, (void)entry, (void)what;
}

int weir__store_reindex(struct weir__store *store, struct weir_crew_self *self)
{
    (void)store, (void)self;
    return 0;
}

/* --- beginning and end --- */

static void begin(void)
{
    struct weir_queue_options options = {sizeof(void *), WEIR__STORE_TAILS + 1};
    s.pieces = xp_pieces();
    memset(&s.address, 7, sizeof(s.address));
    s.entry = (struct weir__entry){.address = s.address,
                                   .sequence = 1,
                                   .place = {1, 128},
                                   .size = WEIR__RECORD_HEAD,
                                   .type = WEIR__RECORD_CHUNK};
    weir_lock_init(&s.store.lock, &store_class);
    weir_cancel_init(&s.stop, NULL);
    weir_cancel_init(&s.abort, NULL);
    XP_ASSERT_EQ(weir_queue_init(&s.store.tails, "tails", &options), 0);
    XP_ASSERT_EQ(weir__index_new(&s.store.index, 100), 0);
    XP_ASSERT_EQ(weir__hot_init(&s.store.hot, 1), 0);
    s.store.hot._secret = 1; /* the same stripe in each execution */
}

static void end(void)
{
    weir__hot_fini(&s.store.hot);
    weir__index_free(s.store.index);
    weir_queue_fini(&s.store.tails);
    weir_cancel_fini(&s.stop);
    weir_cancel_fini(&s.abort);
    weir_lock_fini(&s.store.lock);
    XP_ASSERT_EQ(xp_pieces(), s.pieces);
}

/* --- the way to the index --- */

static struct weir__tail *make_tail(uint32_t segment, uint64_t sequence)
{
    struct weir__tail *tail;
    struct weir__entry entry = s.entry;
    entry.sequence = sequence;
    entry.place.segment = segment;
    XP_ASSERT_EQ(weir__tail_new(&tail, segment), 0);
    XP_ASSERT_EQ(weir__tail_reserve(tail, 1, NULL), 0);
    weir__tail_add(tail, &entry, &entry);
    tail->end = 192;
    return tail;
}

/* As commit.c does it when a segment is full. */
static void retire(void)
{
    struct weir__tail *tail = s.store.active;
    weir_lock_acquire(&s.store.lock);
    s.store.waiting[s.store.waiting_count++] = tail;
    s.store.active = NULL;
    weir_lock_release(&s.store.lock);
    XP_ASSERT_EQ(weir_queue_try_send(&s.store.tails, &tail), 0);
}

static void active_with_it(void)
{
    begin();
    s.store.active = make_tail(1, 1);
    s.newest = 1;
}

static void write_one(void)
{
    retire();
    weir_queue_close(&s.store.tails);
}

static void index_all(void)
{
    struct weir_crew_self self = {&s.stop, &s.abort, "index"};
    XP_ASSERT_EQ(weir__store_index_main(&self, &s.store), 0);
}

static void look_up(void)
{
    struct weir__entry entry;
    uint64_t newest = s.newest;
    XP_ASSERT(weir__store_lookup(&s.store, &s.address, &entry, NULL) == 0,
              "a lookup misses what is on its way to the index");
    XP_ASSERT(entry.sequence >= newest, "a lookup finds what was replaced already");
}

static void look_up_twice(void)
{
    look_up();
    look_up();
}

static void check_indexed(void)
{
    struct weir__entry entry;
    XP_ASSERT_EQ(s.store.waiting_count, 0);
    XP_ASSERT_EQ(weir__index_get(s.store.index, &s.address, &entry), 0);
    XP_ASSERT_EQ(entry.sequence, s.newest);
    end();
}

XP_SCENARIO(store_lookup_misses_nothing,
            .about = "a tail leaves its list when the index has it, so no lookup misses it",
            XP_STATE(s), .setup = active_with_it, .threads = {write_one, index_all, look_up},
            .check = check_indexed, .bound = 3)

/* --- another index in place of one that broke --- */

static void ignore(void *arg, const struct weir__segment_facts *facts)
{
    (void)arg, (void)facts;
}

static void index_it(struct weir__index *index)
{
    struct weir__segment_facts facts = {.id = 1, .size = 192};
    XP_ASSERT_EQ(weir__index_apply(index, &facts, &s.entry, 1, ignore, NULL), 0);
}

static void indexed(void)
{
    begin();
    index_it(s.store.index);
    s.newest = 1;
}

static void replace_index(void)
{
    struct weir__index *fresh;
    XP_ASSERT_EQ(weir__index_new(&fresh, 100), 0);
    index_it(fresh);
    XP_ASSERT_EQ(weir__store_index_replace(&s.store, fresh), 0);
}

static void check_replaced(void)
{
    for (size_t i = 0; i < WEIR__STORE_RETIRED; i++)
        XP_ASSERT(!s.store.retired[i].index, "an index that nobody uses is kept");
    XP_ASSERT_EQ(s.store.index_users, 0);
    end();
}

XP_SCENARIO(store_index_replaced,
            .about = "an index goes with its last user, when another has taken its place",
            XP_STATE(s), .setup = indexed, .threads = {look_up_twice, replace_index, look_up},
            .check = check_replaced, .bound = 2)

/* --- the newest of several --- */

/* Written once more: to a tail of its own, behind one that waits. */
static void write_two(void)
{
    retire();
    struct weir__tail *tail = make_tail(2, 2);
    weir_lock_acquire(&s.store.lock);
    s.store.active = tail;
    weir_lock_release(&s.store.lock);
    s.newest = 2; /* it is answered */
    retire();
    weir_queue_close(&s.store.tails);
}

XP_SCENARIO(store_lookup_newest, .about = "of several tails the newest is what a lookup finds",
            XP_STATE(s), .setup = active_with_it, .threads = {write_two, index_all, look_up_twice},
            .check = check_indexed, .bound = 2)

/* --- chunks that were read --- */

static void one_that_is_there(void)
{
    begin();
    s.is_there = true;
}

/* As find.c does it: the epoch is asked for before the address is looked up. */
static void read_it(void)
{
    uint64_t epoch = weir__hot_epoch(&s.store.hot, &s.address);
    xp_point();
    bool is_found = s.is_there;
    xp_point(); /* its bytes are compared */
    if (is_found)
        weir__hot_add(&s.store.hot, &s.entry, true, epoch);
}

static void delete_it(void)
{
    s.is_there = false;
    xp_point();
    weir__hot_forget(&s.store.hot, &s.address);
    s.is_deleted = true;
}

static void ask(void)
{
    struct weir__entry entry;
    bool is_verified, was_deleted = s.is_deleted;
    bool is_found = weir__hot_get(&s.store.hot, &s.address, &entry, &is_verified);
    XP_ASSERT(!is_found || !was_deleted, "a chunk is read after its deletion was answered");
}

static void check_deleted(void)
{
    ask();
    end();
}

XP_SCENARIO(store_hot_deleted,
            .about = "who read a chunk before its deletion does not bring it back", XP_STATE(s),
            .setup = one_that_is_there, .threads = {read_it, delete_it, ask},
            .check = check_deleted, .bound = 3)
