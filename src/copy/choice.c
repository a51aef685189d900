/* choice.c - a small table of pairs of devices with what each way cost, under one lock.
 *
 * The cost of a way is nanoseconds for a MiB, averaged so that a new figure counts a quarter: a
 * disturbed stretch moves it a little, a lasting change within a few. Only a way that is used gets
 * new figures, so a way that looks good by old ones is used, found out, and left; what looks bad by
 * old ones waits for its turn among the retries. Trials are counted when they begin and not when
 * they end, so that several movers at the start try different ways.
 *
 * The lock is taken twice for a stretch of megabytes and held for a few comparisons.
 */
#include "choice.h"

#include <weir/error.h>
#include <weir/lock.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

static const struct weir_lock_class choice_class = {"copy-choice", 600};

struct pair {
    dev_t in, out;
    unsigned refused;           /* 1u << way */
    unsigned begun[WEIR__WAYS]; /* trials at the start */
    uint64_t cost[WEIR__WAYS];  /* ns for a MiB; 0: not known */
    uint64_t taken;             /* stretches that were to be measured */
    bool is_unshared;
};

struct weir__data_choice {
    enum weir__data_path path;
    struct weir_lock lock; /* guards what follows */
    unsigned pairs_count;
    struct pair pairs[WEIR__DATA_PAIRS_MAX];
};

int weir__data_choice_new(struct weir__data_choice **ret_choice, enum weir__data_path path)
{
    struct weir__data_choice *choice = weir__base_alloc(1, sizeof(*choice));
    if (!choice)
        return -WEIR_E_NO_MEMORY;
    choice->path = path;
    weir_lock_init(&choice->lock, &choice_class);
    *ret_choice = choice;
    return 0;
}

void weir__data_choice_free(struct weir__data_choice *choice)
{
    if (!choice)
        return;
    weir_lock_fini(&choice->lock);
    weir__base_free(choice);
}

enum weir__data_path weir__choice_path(const struct weir__data_choice *choice)
{
    return choice->path;
}

unsigned weir__choice_pair(struct weir__data_choice *choice, dev_t in, dev_t out)
{
    weir_lock_acquire(&choice->lock);
    unsigned i = 0;
    while (i < choice->pairs_count && (choice->pairs[i].in != in || choice->pairs[i].out != out))
        i++;
    if (i == WEIR__DATA_PAIRS_MAX) {
        i--;
    } else if (i == choice->pairs_count) {
        choice->pairs[i].in = in;
        choice->pairs[i].out = out;
        choice->pairs_count++;
    }
    weir_lock_release(&choice->lock);
    return i;
}

/* The allowed way with the lowest known cost; where none is known, copy_file_range, which is one
 * call and no worse than the others on the file systems that were measured. */
static enum weir__way best_of(const struct pair *pair, unsigned allowed)
{
    unsigned best = WEIR__WAYS;
    for (unsigned way = 0; way < WEIR__WAYS; way++) {
        bool is_known = (allowed & (1u << way)) && pair->cost[way] != 0;
        if (is_known && (best == WEIR__WAYS || pair->cost[way] < pair->cost[best]))
            best = way;
    }
    if (best != WEIR__WAYS)
        return (enum weir__way)best;
    return allowed & (1u << WEIR__WAY_RANGE) ? WEIR__WAY_RANGE : WEIR__WAY_PLAIN;
}

/* The allowed way that has begun the fewest trials, or WEIR__WAYS when all have had theirs. */
static unsigned untried_of(const struct pair *pair, unsigned allowed)
{
    unsigned fewest = WEIR__WAYS;
    for (unsigned way = 0; way < WEIR__WAYS; way++) {
        bool is_due = (allowed & (1u << way)) && pair->begun[way] < WEIR__CHOICE_TRIES;
        if (is_due && (fewest == WEIR__WAYS || pair->begun[way] < pair->begun[fewest]))
            fewest = way;
    }
    return fewest;
}

/* The allowed way after the best, going round with every retry. */
static enum weir__way other_of(const struct pair *pair, unsigned allowed, enum weir__way best)
{
    uint64_t turn = pair->taken / WEIR__CHOICE_RETRY;
    for (unsigned i = 0; i < WEIR__WAYS; i++) {
        unsigned way = (unsigned)((turn + i) % WEIR__WAYS);
        if (way != (unsigned)best && (allowed & (1u << way)))
            return (enum weir__way)way;
    }
    return best;
}

static void take_measured(struct pair *pair, unsigned allowed, uint64_t bytes,
                          struct weir__choice_stretch *stretch)
{
    uint64_t try_bytes = bytes < WEIR__CHOICE_BYTES_TRY ? bytes : WEIR__CHOICE_BYTES_TRY;
    stretch->is_measured = true;
    unsigned untried = untried_of(pair, allowed);
    if (untried != WEIR__WAYS) {
        pair->begun[untried]++;
        stretch->way = (enum weir__way)untried;
        stretch->bytes = try_bytes;
        return;
    }
    stretch->way = best_of(pair, allowed);
    if (++pair->taken % WEIR__CHOICE_RETRY != 0)
        return;
    enum weir__way other = other_of(pair, allowed, stretch->way);
    if (other != stretch->way) {
        stretch->way = other;
        stretch->bytes = try_bytes;
    }
}

/* The only way that a forced path allows. */
static unsigned forced(enum weir__data_path path)
{
    switch (path) {
    case WEIR__DATA_RANGE:
        return 1u << WEIR__WAY_RANGE;
    case WEIR__DATA_RING:
        return 1u << WEIR__WAY_RING;
    case WEIR__DATA_PLAIN:
        return 1u << WEIR__WAY_PLAIN;
    case WEIR__DATA_AUTO:
        break;
    }
    return ~0u;
}

void weir__choice_take(struct weir__data_choice *choice, unsigned pair_index, unsigned allowed,
                       uint64_t bytes, struct weir__choice_stretch *ret_stretch)
{
    weir_lock_acquire(&choice->lock);
    struct pair *pair = &choice->pairs[pair_index];
    allowed &= ~pair->refused & forced(choice->path);
    if (allowed == 0)
        allowed = 1u << WEIR__WAY_PLAIN;
    *ret_stretch = (struct weir__choice_stretch){
        .bytes = bytes < WEIR__DATA_PIECE ? bytes : WEIR__DATA_PIECE,
    };
    if ((allowed & (allowed - 1)) == 0) /* one way: nothing to measure */
        ret_stretch->way = (enum weir__way)__builtin_ctz(allowed);
    else if (bytes < WEIR__CHOICE_BYTES_MIN)
        ret_stretch->way = best_of(pair, allowed);
    else
        take_measured(pair, allowed, bytes, ret_stretch);
    weir_lock_release(&choice->lock);
}

void weir__choice_note(struct weir__data_choice *choice, unsigned pair_index, enum weir__way way,
                       uint64_t bytes, uint64_t ns)
{
    if (bytes < WEIR__CHOICE_BYTES_MIN)
        return;
    uint64_t cost = (ns << 10) / (bytes >> 10);
    cost = cost ? cost : 1;
    weir_lock_acquire(&choice->lock);
    uint64_t *known = &choice->pairs[pair_index].cost[way];
    *known = *known ? *known - *known / 4 + cost / 4 : cost;
    weir_lock_release(&choice->lock);
}

void weir__choice_refuse(struct weir__data_choice *choice, unsigned pair_index, enum weir__way way)
{
    WEIR__REQUIRE(way != WEIR__WAY_PLAIN, "choice", "", "plain reads and writes were refused");
    weir_lock_acquire(&choice->lock);
    choice->pairs[pair_index].refused |= 1u << way;
    weir_lock_release(&choice->lock);
}

bool weir__choice_is_unshared(struct weir__data_choice *choice, unsigned pair_index)
{
    weir_lock_acquire(&choice->lock);
    bool is_unshared = choice->pairs[pair_index].is_unshared;
    weir_lock_release(&choice->lock);
    return is_unshared;
}

void weir__choice_unshare(struct weir__data_choice *choice, unsigned pair_index)
{
    weir_lock_acquire(&choice->lock);
    choice->pairs[pair_index].is_unshared = true;
    weir_lock_release(&choice->lock);
}
