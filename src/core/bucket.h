/* bucket.h - the arithmetic of a token bucket, for the rate and for admission.
 *
 * Tokens are whole; what has accrued of the next one is kept in billionths of a token, so nothing
 * is ever rounded away: after any number of fills at any times the bucket holds exactly what one
 * fill at the last of them would have given. All products are 128 bits wide: the largest, time
 * times rate plus a fraction, is (2^64 - 1)^2 + 10^9 and fits.
 *
 * Ownership: the bucket belongs to the object that it lives in, whose lock guards it.
 */
#ifndef WEIR_CORE_BUCKET_H
#define WEIR_CORE_BUCKET_H

#include <weir/clock.h>
#include <weir/rate.h>

__extension__ typedef unsigned __int128 weir__u128;

static inline struct weir_rate_bucket weir__bucket_full(uint64_t burst, uint64_t now_ns)
{
    struct weir_rate_bucket bucket = {burst, 0, now_ns};
    return bucket;
}

/* Adds what has accrued since the last fill. A full bucket keeps no fraction. */
static inline void weir__bucket_fill(struct weir_rate_bucket *bucket, uint64_t per_s,
                                     uint64_t burst, uint64_t now_ns)
{
    if (now_ns <= bucket->_at_ns)
        return;
    weir__u128 accrued = (weir__u128)(now_ns - bucket->_at_ns) * per_s + bucket->_fraction;
    weir__u128 tokens = bucket->_tokens + accrued / WEIR_NS_PER_S;
    bucket->_at_ns = now_ns;
    bucket->_tokens = tokens < burst ? (uint64_t)tokens : burst;
    bucket->_fraction = tokens < burst ? (uint64_t)(accrued % WEIR_NS_PER_S) : 0;
}

/* When the bucket will hold n tokens, or n more than it can hold if others are served before;
 * WEIR_NEVER if that is further than the clock goes. The fill at that very time finds them. */
static inline uint64_t weir__bucket_due_ns(const struct weir_rate_bucket *bucket, uint64_t per_s,
                                           uint64_t n)
{
    if (n <= bucket->_tokens)
        return bucket->_at_ns;
    weir__u128 missing =
        (weir__u128)(n - bucket->_tokens) * WEIR_NS_PER_S - bucket->_fraction + (per_s - 1);
    weir__u128 delay_ns = missing / per_s;
    return delay_ns < WEIR_NEVER ? weir_time_add(bucket->_at_ns, (uint64_t)delay_ns) : WEIR_NEVER;
}

#endif
