/* tree.c - the stack of names and the references of directories.
 *
 * One lock, held for a few assignments: once for each directory and each segment, never for a file.
 * Idle threads sleep in a queue of wakes, which has a place for every thread: a push puts one wake
 * in for each name that an idle thread could take. A wake that finds nothing (somebody was faster)
 * is harmless, and one that finds the queue full is not needed, since as many threads as there are
 * will look again.
 */
#include "tree.h"

#include <string.h>

#include "alloc.h"
#include "require.h"
#include "spill_file.h"
#include "sys.h"
#include "tree_mutants.h"

#include "banned.h"

static const struct weir_lock_class tree_class = {"copy-tree", 100};

struct weir__segment *weir__segment_new(enum weir__segment_kind kind, struct weir__node *node,
                                        size_t room)
{
    struct weir__segment *segment = weir__base_alloc(1, sizeof(*segment));
    if (!segment)
        return NULL;
    segment->_bytes = weir__base_alloc(1, room ? room : 1);
    if (!segment->_bytes) {
        weir__base_free(segment);
        return NULL;
    }
    segment->kind = kind;
    segment->node = node;
    segment->_room = (uint32_t)room;
    return segment;
}

void weir__segment_free(struct weir__segment *segment)
{
    if (segment)
        weir__base_free(segment->_bytes);
    weir__base_free(segment);
}

bool weir__segment_add(struct weir__segment *segment, unsigned char type, const char *name,
                       size_t length)
{
    if (length > 255 || segment->_room - segment->used < length + 3)
        return false;
    unsigned char *to = segment->_bytes + segment->used;
    to[0] = type;
    to[1] = (unsigned char)length;
    memcpy(to + 2, name, length);
    to[2 + length] = '\0';
    segment->used += (uint32_t)length + 3;
    segment->count++;
    return true;
}

const char *weir__segment_next(struct weir__segment *segment, unsigned char *ret_type,
                               size_t *ret_length)
{
    if (segment->count == 0)
        return NULL;
    const unsigned char *from = segment->_bytes + segment->at;
    *ret_type = from[0];
    *ret_length = from[1];
    segment->at += (uint32_t)from[1] + 3;
    segment->count--;
    return (const char *)from + 2;
}

int weir__tree_init(struct weir__tree *tree, const struct weir__tree_options *options)
{
    memset(tree, 0, sizeof(*tree));
    tree->_spill_fd = -1;
    tree->_bytes_max = options->bytes_max ? options->bytes_max : WEIR__TREE_BYTES_MAX;
    weir_lock_init(&tree->_lock, &tree_class);
    struct weir_queue_options wakes = {.item_size = 1, .capacity = options->threads};
    return weir_queue_init(&tree->_wakes, "copy-wakes", &wakes);
}

void weir__tree_fini(struct weir__tree *tree)
{
    if (!tree->_bytes_max)
        return;
    WEIR__REQUIRE(!tree->_top && tree->_open == 0, "tree", "copy", "something is left to do");
    weir_queue_drain(&tree->_wakes, NULL, NULL);
    weir_queue_fini(&tree->_wakes);
    weir__sys_close(tree->_spill_fd);
    weir_lock_fini(&tree->_lock);
}

/* Wakes up to count idle threads. Called without the lock. */
static void wake(struct weir__tree *tree, uint32_t count)
{
    static const char token = 0;
    while (count-- > 0 && weir_queue_try_send(&tree->_wakes, &token) == 0)
        continue;
}

void weir__tree_root(struct weir__tree *tree, struct weir__node *node)
{
    node->parent = NULL;
    node->_open = 1;
    weir_lock_acquire(&tree->_lock);
    tree->_open++;
    weir_lock_release(&tree->_lock);
}

void weir__tree_hold(struct weir__tree *tree, struct weir__node *node)
{
    weir_lock_acquire(&tree->_lock);
    WEIR__REQUIRE(node->_open > 0, "node", "copy", "held after it was complete");
    node->_open++;
    weir_lock_release(&tree->_lock);
}

bool weir__tree_drop(struct weir__tree *tree, struct weir__node *node)
{
    weir_lock_acquire(&tree->_lock);
    WEIR__REQUIRE(node->_open > 0, "node", "copy", "dropped too often");
    if (WEIR__TREE_MUTANT(TREE_DROP_CHECKS_FIRST)) {
        bool was_last = node->_open == 1;
        weir_lock_release(&tree->_lock);
        weir_lock_acquire(&tree->_lock);
        node->_open--;
        weir_lock_release(&tree->_lock);
        return was_last;
    }
    bool is_complete = --node->_open == 0;
    weir_lock_release(&tree->_lock);
    return is_complete;
}

struct weir__node *weir__tree_leave(struct weir__tree *tree, struct weir__node *node)
{
    struct weir__node *parent = node->parent;
    weir_lock_acquire(&tree->_lock);
    WEIR__REQUIRE(node->_open == 0 && tree->_open > 0, "node", "copy",
                  "left before it was complete");
    bool is_last = --tree->_open == 0;
    tree->_is_closed = tree->_is_closed || (is_last && !WEIR__TREE_MUTANT(TREE_CLOSED_UNMARKED));
    weir_lock_release(&tree->_lock);
    if (is_last && !WEIR__TREE_MUTANT(TREE_LAST_DOES_NOT_CLOSE))
        weir_queue_close(&tree->_wakes);
    return parent;
}

void weir__tree_enter(struct weir__tree *tree, struct weir__node *node, struct weir__node *parent)
{
    node->parent = parent;
    node->_open = 1;
    weir_lock_acquire(&tree->_lock);
    tree->_open++;
    weir_lock_release(&tree->_lock);
}

/* One segment less whose bytes in the file are needed. When none is left, the file is used from its
 * start again. */
static void unspilled(struct weir__tree *tree)
{
    weir_lock_acquire(&tree->_lock);
    if (--tree->_spill_live == 0)
        tree->_spill_end = 0;
    weir_lock_release(&tree->_lock);
}

/* Writes the bytes of a segment to the file. Called without the lock; the place is ours alone. */
static int spill(struct weir__tree *tree, struct weir__segment *segment)
{
    weir_lock_acquire(&tree->_lock);
    int fd = tree->_spill_fd;
    weir_lock_release(&tree->_lock);
    if (fd < 0) {
        int made = weir__spill_file_open(NULL);
        if (made < 0)
            return made;
        weir_lock_acquire(&tree->_lock);
        bool is_ours = tree->_spill_fd < 0;
        if (is_ours)
            tree->_spill_fd = made;
        fd = tree->_spill_fd;
        weir_lock_release(&tree->_lock);
        if (!is_ours)
            weir__sys_close(made);
    }
    weir_lock_acquire(&tree->_lock);
    uint64_t at = tree->_spill_end;
    tree->_spill_end += segment->used;
    tree->_spilled_total += segment->used;
    tree->_spill_live++;
    weir_lock_release(&tree->_lock);
    int result = weir__spill_file_write(fd, segment->_bytes, segment->used, at);
    if (result < 0) {
        unspilled(tree);
        return result;
    }
    weir__base_free(segment->_bytes);
    segment->_bytes = NULL;
    segment->_spilled_at = at;
    return 0;
}

static int unspill(struct weir__tree *tree, struct weir__segment *segment)
{
    segment->_bytes = weir__base_alloc(1, segment->_room);
    if (!segment->_bytes)
        return -WEIR_E_NO_MEMORY;
    return weir__spill_file_read(tree->_spill_fd, segment->_bytes, segment->used,
                                 segment->_spilled_at);
}

static void put(struct weir__tree *tree, struct weir__segment *segment)
{
    segment->_next = tree->_top;
    tree->_top = segment;
    if (segment->_bytes)
        tree->_bytes += segment->_room;
}

/* Puts a segment on the stack and wakes those who can take of it. */
static void put_back(struct weir__tree *tree, struct weir__segment *segment)
{
    weir_lock_acquire(&tree->_lock);
    put(tree, segment);
    uint32_t wakes = segment->count < tree->_idle ? segment->count : tree->_idle;
    weir_lock_release(&tree->_lock);
    if (!WEIR__TREE_MUTANT(TREE_PUT_BACK_WAKES_NOBODY))
        wake(tree, wakes);
}

int weir__tree_push(struct weir__tree *tree, struct weir__segment *segment)
{
    weir_lock_acquire(&tree->_lock);
    bool is_full = tree->_bytes + segment->_room > tree->_bytes_max;
    weir_lock_release(&tree->_lock);
    if (is_full) {
        int result = spill(tree, segment);
        if (result < 0)
            return result;
    }
    /* Before anybody can take a name: what it holds may be dropped as soon as it is seen. */
    struct weir__node *node = segment->node;
    uint32_t count = segment->count;
    if (WEIR__TREE_MUTANT(TREE_PUSH_COUNTS_LATE))
        put_back(tree, segment);
    weir_lock_acquire(&tree->_lock);
    node->_open += count;
    weir_lock_release(&tree->_lock);
    if (!WEIR__TREE_MUTANT(TREE_PUSH_COUNTS_LATE))
        put_back(tree, segment);
    return 0;
}

bool weir__tree_offer(struct weir__tree *tree, struct weir__segment *segment)
{
    weir_lock_acquire(&tree->_lock);
    bool is_wanted = tree->_idle > tree->_offered && !tree->_is_closed;
    if (is_wanted) {
        segment->node->_open += !WEIR__TREE_MUTANT(TREE_OFFER_NOT_HELD);
        tree->_offered += !WEIR__TREE_MUTANT(TREE_OFFER_NOT_COUNTED);
        put(tree, segment);
    }
    weir_lock_release(&tree->_lock);
    if (is_wanted && !WEIR__TREE_MUTANT(TREE_OFFER_WAKES_NOBODY))
        wake(tree, 1);
    return is_wanted;
}

void weir__tree_offer_anyway(struct weir__tree *tree, struct weir__segment *segment)
{
    weir_lock_acquire(&tree->_lock);
    tree->_offered++;
    put(tree, segment);
    weir_lock_release(&tree->_lock);
}

bool weir__tree_is_idle_wanted(struct weir__tree *tree)
{
    weir_lock_acquire(&tree->_lock);
    bool is_wanted = tree->_idle > tree->_offered;
    weir_lock_release(&tree->_lock);
    return is_wanted;
}

/* Takes the top segment off, under the lock. */
static struct weir__segment *pop(struct weir__tree *tree)
{
    struct weir__segment *segment = tree->_top;
    tree->_top = segment->_next;
    if (segment->_bytes)
        tree->_bytes -= segment->_room;
    return segment;
}

/* The next name of the top segment, under the lock; a segment that is empty then is returned. */
static struct weir__segment *take_name(struct weir__tree *tree, struct weir__tree_item *item)
{
    struct weir__segment *segment = tree->_top;
    const char *name = weir__segment_next(segment, &item->type, &item->length);
    item->node = segment->node;
    item->offer = NULL;
    memcpy(item->name, name, item->length + 1);
    return segment->count == 0 ? pop(tree) : NULL;
}

int weir__tree_try(struct weir__tree *tree, struct weir__tree_item *ret_item)
{
    for (;;) {
        weir_lock_acquire(&tree->_lock);
        struct weir__segment *segment = tree->_top;
        if (!segment) {
            bool is_closed = tree->_is_closed;
            weir_lock_release(&tree->_lock);
            return is_closed ? -WEIR_E_CLOSED : -WEIR_E_NOT_FOUND;
        }
        if (segment->kind != WEIR__SEGMENT_DIRS) {
            pop(tree);
            tree->_offered -= !WEIR__TREE_MUTANT(TREE_OFFER_NOT_COUNTED);
            weir_lock_release(&tree->_lock);
            ret_item->node = segment->node;
            ret_item->offer = segment;
            return 0;
        }
        if (segment->_bytes) {
            struct weir__segment *empty = take_name(tree, ret_item);
            weir_lock_release(&tree->_lock);
            weir__segment_free(empty);
            return 0;
        }
        /* Read the names back with no lock held; meanwhile others see what lies below. */
        pop(tree);
        weir_lock_release(&tree->_lock);
        int result = unspill(tree, segment);
        unspilled(tree);
        if (result == 0) {
            put_back(tree, segment);
        } else {
            ret_item->node = segment->node;
            ret_item->offer = NULL;
            ret_item->length = segment->count;
            weir__segment_free(segment);
            return result;
        }
    }
}

int weir__tree_take(struct weir__tree *tree, struct weir__tree_item *ret_item,
                    const struct weir_deadline *deadline)
{
    for (;;) {
        /* Idle is counted before looking, so that a push that comes after the look sees us. */
        int result = -WEIR_E_NOT_FOUND;
        if (WEIR__TREE_MUTANT(TREE_IDLE_AFTER_LOOKING))
            result = weir__tree_try(tree, ret_item);
        weir_lock_acquire(&tree->_lock);
        tree->_idle++;
        weir_lock_release(&tree->_lock);
        if (!WEIR__TREE_MUTANT(TREE_IDLE_AFTER_LOOKING))
            result = weir__tree_try(tree, ret_item);
        char token;
        int woken = 0;
        if (result == -WEIR_E_NOT_FOUND)
            woken = weir_queue_recv(&tree->_wakes, &token, deadline);
        weir_lock_acquire(&tree->_lock);
        tree->_idle--;
        weir_lock_release(&tree->_lock);
        if (result != -WEIR_E_NOT_FOUND)
            return result;
        if (woken < 0 && woken != -WEIR_E_CLOSED)
            return woken;
    }
}
