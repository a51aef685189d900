/* tree.h - what of a tree is left to do, and when a directory is complete.
 *
 * The protocol of the walk, without any input or output but the spilling, so that it can be
 * explored:
 *
 * - A directory is counted open from the moment that its name is pushed until weir__tree_drop()
 *   says that it is complete. It is complete when it has been read to its end and everything in it
 *   is complete; whoever drops the last reference finishes it (its metadata, its final name) and
 *   then drops its parent. So metadata is put back in post-order, by exactly one thread.
 * - Names of directories that were found and not entered yet lie on one stack of segments. Last in,
 *   first out: what is alive is at most the depth times the number of threads, whatever the width.
 *   Segments beyond the memory limit are written to a temporary file by the thread that pushes
 *   them, and read back by the thread that takes them.
 * - A thread that has found nothing sleeps until something is pushed, all is complete, or the run
 *   is stopped. It holds no permit meanwhile.
 *
 * Files that a thread found can be offered to others: taken only while somebody is idle, so that a
 * single large directory keeps everybody busy and nothing piles up.
 *
 * Memory order: what a thread did before dropping a reference happens before what the thread that
 * finishes the directory does.
 *
 * Ownership: a segment belongs to the tree from the push that accepted it until it is taken; nodes
 * belong to the caller, who embeds them.
 */
#ifndef WEIR_COPY_TREE_H
#define WEIR_COPY_TREE_H

#include <stdint.h>

#include <weir/deadline.h>
#include <weir/error.h>
#include <weir/lock.h>
#include <weir/queue.h>

#define WEIR__TREE_BYTES_MAX   (8u << 20) /* of segments in memory; more spills */
#define WEIR__TREE_THREADS_MAX 1024u

struct weir__node {
    struct weir__node *parent; /* NULL at the top */
    uint64_t _open;            /* references: one for reading it, one for each thing inside */
};

enum weir__segment_kind {
    WEIR__SEGMENT_DIRS,  /* names of directories, taken one at a time */
    WEIR__SEGMENT_FILES, /* names of other entries, taken together */
    WEIR__SEGMENT_HELP   /* no names: a hand is wanted with the thing below */
};

/* A run of names that all lie in one directory. Names are packed: type, length, bytes, NUL. */
struct weir__segment {
    struct weir__segment *_next;
    struct weir__node *node;
    void *help; /* what a hand is wanted with */
    enum weir__segment_kind kind;
    uint32_t count; /* names left */
    uint32_t used;  /* bytes */
    uint32_t at;    /* where the next name starts */
    uint32_t _room;
    uint64_t _spilled_at;  /* where it lies in the file, when it has no bytes */
    unsigned char *_bytes; /* NULL while it is spilled */
};

/* A segment with room for so many bytes of packed names. NULL without memory. */
struct weir__segment *weir__segment_new(enum weir__segment_kind kind, struct weir__node *node,
                                        size_t room);
void weir__segment_free(struct weir__segment *segment);
/* False when there is no room. */
bool weir__segment_add(struct weir__segment *segment, unsigned char type, const char *name,
                       size_t length);
/* The next name, which lies in the segment, or NULL. */
const char *weir__segment_next(struct weir__segment *segment, unsigned char *ret_type,
                               size_t *ret_length);

struct weir__tree {
    struct weir_lock _lock; /* guards all that follows but the queue and the file */
    struct weir__segment *_top;
    uint64_t _bytes; /* of segments in memory */
    uint64_t _bytes_max;
    uint64_t _open; /* nodes that are not complete */
    uint32_t _idle; /* threads that sleep, or are about to */
    uint32_t _offered;
    uint64_t _spill_end;
    uint64_t _spilled_total;
    uint64_t _spill_live; /* spilled segments not yet read back */
    bool _is_closed;
    int _spill_fd; /* -1 until needed; written with no lock held */
    struct weir_queue _wakes;
};

struct weir__tree_options {
    uint32_t threads;
    uint64_t bytes_max; /* 0: WEIR__TREE_BYTES_MAX */
};

WEIR_MUST_USE int weir__tree_init(struct weir__tree *tree,
                                  const struct weir__tree_options *options);
/* Accepts one that is all zero. Asserts that nothing is left. */
void weir__tree_fini(struct weir__tree *tree);

/* A top node: it is open, and so is the tree until it is complete. */
void weir__tree_root(struct weir__tree *tree, struct weir__node *node);

/* One more thing inside this open node that must be complete before it is. */
void weir__tree_hold(struct weir__tree *tree, struct weir__node *node);

/* Lets go of one reference. True: the node is complete, and the caller finishes it and then calls
 * weir__tree_leave(). */
WEIR_MUST_USE bool weir__tree_drop(struct weir__tree *tree, struct weir__node *node);

/* After a complete node has been finished: what remains is its parent's reference, which the caller
 * drops next (the result is the parent, or NULL; the node may be freed). */
struct weir__node *weir__tree_leave(struct weir__tree *tree, struct weir__node *node);

/* Pushes names of directories: each holds a reference of the segment's node. NoMemory and Io leave
 * the segment with the caller, and nothing is counted. */
WEIR_MUST_USE int weir__tree_push(struct weir__tree *tree, struct weir__segment *segment);

/* Offers names of files to threads that have nothing to do; the segment holds one reference of its
 * node, to be dropped by whoever has done all of them. False: nobody is idle, do it yourself. */
bool weir__tree_offer(struct weir__tree *tree, struct weir__segment *segment);

/* The same before the threads have started: it is taken by the first of them. The caller holds the
 * reference for it. */
void weir__tree_offer_anyway(struct weir__tree *tree, struct weir__segment *segment);

/* What a thread gets to do. */
struct weir__tree_item {
    struct weir__node *node;     /* the directory that the names lie in */
    struct weir__segment *offer; /* or NULL; the taker frees it and drops its reference */
    unsigned char type;
    size_t length;
    char name[256]; /* of a directory to enter: the reference goes to the taker, who turns it into
                       the parent reference of a new node (weir__tree_enter) or drops it */
};

/* 0; NotFound when there is nothing just now (try); Closed when all is complete; Canceled. NoMemory
 * and Io when a spilled segment could not be read back: its names are lost, and *ret_item tells the
 * node and, in length, how many. */
WEIR_MUST_USE int weir__tree_try(struct weir__tree *tree, struct weir__tree_item *ret_item);
WEIR_MUST_USE int weir__tree_take(struct weir__tree *tree, struct weir__tree_item *ret_item,
                                  const struct weir_deadline *deadline);

/* A directory has been entered: the reference that its name held is now that of the node. */
void weir__tree_enter(struct weir__tree *tree, struct weir__node *node, struct weir__node *parent);

/* Whether an offer would be accepted just now: asked before one is packed. */
bool weir__tree_is_idle_wanted(struct weir__tree *tree);

#endif
