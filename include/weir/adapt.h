/* adapt.h - finds the size that a budget can have: cut it on overload, let it grow back slowly.
 *
 *     uint64_t epoch = weir_adapt_epoch(&adapt);
 *     ... acquire a permit of the budget, do the work, release ...
 *     weir_adapt_report(&adapt, epoch, error);
 *
 * Additive increase, multiplicative decrease, as TCP does it. Out of descriptors, out of memory and
 * time-outs are signs of overload and cut the limit; after enough good results it grows by a step,
 * up to the maximum.
 *
 * Promises
 * - One overload is one cut: calls that started before a cut carry an older epoch, and whatever
 * they report later is not counted. Beside that, cuts are at least cut_interval_ns apart.
 * - Canceled and rejected calls (Busy, Paced, BreakerOpen, ...) say nothing about the load and are
 *   not counted; neither is any other error that is not one of the three signs.
 * - The limit stays between min and max; it grows at most one step in grow_interval_ns.
 * - The budget gets the newest limit last: resizes are made one after the other, by one thread at a
 *   time, outside of the lock. A report may return while another thread is still about to apply
 *   what it decided.
 * - After a cut, permits that are out stay out (see budget.h); requests in line for more than the
 * new limit are failed with TooLarge. So min must be at least the largest single request.
 *
 * Memory order: none is promised beyond that of the budget.
 *
 * Cost: a short lock and a look at the clock per report. Never waits.
 *
 * Ownership: the object lives in the caller's memory and borrows the budget, which must outlive it
 * and must not be resized by anyone else meanwhile.
 */
#ifndef WEIR_ADAPT_H
#define WEIR_ADAPT_H

#include <weir/budget.h>
#include <weir/clock.h>
#include <weir/error.h>
#include <weir/lock.h>

WEIR_BEGIN_DECLS

#define WEIR_ADAPT_CUT_PERMILLE_DEFAULT     500u
#define WEIR_ADAPT_CUT_INTERVAL_DEFAULT_NS  WEIR_NS_PER_S
#define WEIR_ADAPT_GROW_AFTER_DEFAULT       32u
#define WEIR_ADAPT_GROW_INTERVAL_DEFAULT_NS WEIR_NS_PER_S

/* A zero stands for the default. */
struct weir_adapt_options {
    uint64_t min;              /* 1 */
    uint64_t max;              /* what the budget has at the start */
    uint32_t cut_permille;     /* what a cut leaves; 1 to 999 */
    uint32_t grow_after;       /* good results before a step */
    uint64_t grow_step;        /* 1/64 of max, at least 1 */
    uint64_t cut_interval_ns;  /* between two cuts */
    uint64_t grow_interval_ns; /* between two steps, and from a cut to the first step */
};

struct weir_adapt {
    struct weir_lock _lock; /* guards all that follows */
    struct weir_budget *_budget;
    struct weir_adapt_options _options; /* with the defaults filled in */
    uint64_t _limit;                    /* what the budget shall have */
    uint64_t _applied;                  /* what it was given last */
    bool _is_applying;                  /* a thread is giving it to the budget */
    uint64_t _epoch;                    /* number of cuts; also read without the lock */
    uint64_t _good;                     /* results since the last change */
    uint64_t _cut_ns;                   /* no cut before then */
    uint64_t _grow_ns;                  /* no step before then */
    uint64_t _steps;
    uint64_t _successes;
    uint64_t _overloads;
    uint64_t _stale;
    uint64_t _ignored;
    uint64_t _too_soon;
    uint64_t _resizes;
    char _name[WEIR_NAME_MAX];
};

/* Life cycle. The limit starts as the capacity that the budget has. Invalid: no budget, min above
 * max, the capacity outside of both, cut_permille above 999, a bad name. */
WEIR_API WEIR_MUST_USE int weir_adapt_init(struct weir_adapt *adapt, const char *name,
                                           struct weir_budget *budget,
                                           const struct weir_adapt_options *options);

/* Asserts that no resize is under way. The budget keeps its size. */
WEIR_API void weir_adapt_fini(struct weir_adapt *adapt);

/* To be taken when the work starts and handed to its report. */
WEIR_API uint64_t weir_adapt_epoch(const struct weir_adapt *adapt);

/* How the work ended: 0, or an error code of either sign (weir_error_from_errno() makes one of
 * EMFILE or ENOMEM). May resize the budget, and so run callbacks of its waiters. */
WEIR_API void weir_adapt_report(struct weir_adapt *adapt, uint64_t epoch, int error);

/* A consistent picture. The counts only grow; a step and a cut are one resize each at most. */
struct weir_adapt_stats {
    uint64_t limit;
    uint64_t min;
    uint64_t max;
    uint64_t epoch; /* cuts, those that found the limit at min included */
    uint64_t steps; /* upwards */
    uint64_t resizes;
    uint64_t successes; /* reports by what became of them */
    uint64_t overloads;
    uint64_t stale;
    uint64_t ignored;
    uint64_t too_soon; /* overloads that came within cut_interval_ns of a cut */
};

WEIR_API void weir_adapt_read(struct weir_adapt *adapt, struct weir_adapt_stats *ret_stats);
WEIR_API const char *weir_adapt_name(const struct weir_adapt *adapt);

WEIR_END_DECLS

#endif
