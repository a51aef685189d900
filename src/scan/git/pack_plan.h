/* pack_plan.h - the delta families of a pack: who is built from whom, and what is wanted of it.
 *
 *     weir__git_plan_init(&plan, &pack)
 *     weir__git_plan_mark(&plan, &wish)          which objects are wanted
 *     weir__git_plan_cut(&plan, 2, bounds)       for two threads
 *     weir__git_walk(...)                        walk.h
 *     weir__git_plan_fini(&plan)
 *
 * Objects are numbered in the order of their offsets. A family is an object that is whole (its
 * root) and all that are built from it, directly or not. What cannot be built (a head that makes no
 * sense, a base that is not there, bases that form a cycle) is kept as such, so that the walk can
 * tell.
 *
 * Cost: WEIR__GIT_PLAN_BYTES for each object, also while it is made; time linear in their number,
 * and a search among neighbours for each delta. The heads of all entries are read once; nothing is
 * inflated.
 *
 * Threads: init and mark by one; afterwards it is only read, so that walks may share it.
 *
 * Ownership: a plan owns its tables and borrows the pack, which must outlive it.
 */
#ifndef WEIR_SCAN_GIT_PACK_PLAN_H
#define WEIR_SCAN_GIT_PACK_PLAN_H

#include "commit_set.h"
#include "pack.h"

#define WEIR__GIT_PLAN_BYTES 24u

/* Bits of struct weir__git_plan's offsets, above the offset itself. */
#define WEIR__GIT_PLAN_TYPE_SHIFT 56u
#define WEIR__GIT_PLAN_TYPE       (UINT64_C(7) << 56) /* of the family; 0: not known yet */
#define WEIR__GIT_PLAN_BROKEN     (UINT64_C(1) << 59) /* its head, or where its base should be */
#define WEIR__GIT_PLAN_EXTERNAL   (UINT64_C(1) << 60) /* its base is not in this pack */
#define WEIR__GIT_PLAN_REACHED    (UINT64_C(1) << 61) /* from a root; else its bases are a cycle */
#define WEIR__GIT_PLAN_WANTED     (UINT64_C(1) << 62)
#define WEIR__GIT_PLAN_NEEDED     (UINT64_C(1) << 63) /* wanted, or a base of one that is */

struct weir__git_plan {
    const struct weir__git_pack *pack;
    uint32_t count;
    unsigned types;        /* of the wish: 1u << type */
    bool is_partial;       /* of weir__git_plan_init_few() */
    const char *has_doubt; /* the pack's, or that the ids of its index are not sorted; or NULL */
    uint64_t *_offsets;    /* with the bits above */
    uint32_t *_idx_at;     /* positions in the index */
    uint32_t *_parent;     /* its base, or WEIR__GIT_NONE */
    uint32_t *_child;      /* the first that is built from it */
    uint32_t *_next;       /* the next with the same base */
};

/* Bytes that a plan of so many objects takes. */
uint64_t weir__git_plan_needs(uint64_t count);

/* NoMemory, Io; Corrupt when the index leads nowhere. */
WEIR_MUST_USE int weir__git_plan_init(struct weir__git_plan *plan,
                                      const struct weir__git_pack *pack);
void weir__git_plan_fini(struct weir__git_plan *plan);

struct weir__git_wish {
    unsigned types; /* 1u << WEIR__GIT_BLOB | ... */
    /* Asked for each object of these types; NULL: all. Families in which nobody is wanted are not
     * inflated. */
    bool (*is_wanted)(void *arg, const struct weir__git_id *id, enum weir__git_type type);
    void *arg;
    /* Of loose objects: when the file was changed, before it is asked for; or NULL. 0: it is gone.
     */
    void (*on_file)(void *arg, const struct weir__git_id *id, uint64_t time_ns);
    /* Of these, too: one of so many parts. 0 parts: all of them. Packs have a plan for that. */
    uint32_t part, parts;
};
#define WEIR__GIT_ALL_TYPES 0x1eu

/* Whether all packed bytes are those that the index has the checksums of, and nothing leads out of
 * the pack. Corrupt, Io; Unsupported: nobody can say, as in an index of version 1. */
WEIR_MUST_USE int weir__git_plan_check(const struct weir__git_plan *plan);

/* May be done again, with another wish. Io. */
WEIR_MUST_USE int weir__git_plan_mark(struct weir__git_plan *plan,
                                      const struct weir__git_wish *wish);

/* A plan for some objects of the pack, marked: of those of the ids that are wanted only they and
 * their bases are looked at. It is not to be marked again. */
WEIR_MUST_USE int weir__git_plan_init_few(struct weir__git_plan *plan,
                                          const struct weir__git_pack *pack,
                                          const struct weir__git_set *ids,
                                          const struct weir__git_wish *wish);

/* Cuts the objects into n parts of about the same work, families kept together: part i is
 * [bounds[i], bounds[i + 1]) of weir__git_walk(). Parts may be empty. */
void weir__git_plan_cut(const struct weir__git_plan *plan, unsigned n, uint32_t *bounds);

/* The object after i among root and what is built from it, depth first; WEIR__GIT_NONE behind the
 * last one. Begins with i = root. */
uint32_t weir__git_plan_next(const struct weir__git_plan *plan, uint32_t root, uint32_t i);

static inline uint64_t weir__git_plan_offset(const struct weir__git_plan *plan, uint32_t i)
{
    return plan->_offsets[i] & ((UINT64_C(1) << 56) - 1);
}

static inline uint64_t weir__git_plan_end(const struct weir__git_plan *plan, uint32_t i)
{
    return i + 1 < plan->count ? weir__git_plan_offset(plan, i + 1) : plan->pack->length;
}

static inline bool weir__git_plan_is(const struct weir__git_plan *plan, uint32_t i, uint64_t bits)
{
    return plan->_offsets[i] & bits;
}

static inline enum weir__git_type weir__git_plan_type(const struct weir__git_plan *plan, uint32_t i)
{
    return (enum weir__git_type)(plan->_offsets[i] >> WEIR__GIT_PLAN_TYPE_SHIFT & 7);
}

#endif
