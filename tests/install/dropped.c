/* dropped.c - whoever drops what an acquiring function answers has lost a permit, or works without
 * one. With DROPS each call below must be refused by a compiler that is told to; without, none. */
#include <weir/weir.h>

#ifdef DROPS
#define ANSWER(call) call
#else
#define ANSWER(call) (void)!(call)
#endif

void take_of_budget(struct weir_budget *budget, struct weir_permit *permit,
                    struct weir_budget_waiter *waiter, const struct weir_deadline *deadline);
void take_of_slots(struct weir_slots *slots, struct weir_slots_permit *permit,
                   struct weir_slots_waiter *waiter, const struct weir_deadline *deadline);
void take_of_pool(struct weir_pool *pool, struct weir_pool_permit *permit,
                  struct weir_pool_waiter *waiter, const struct weir_deadline *deadline);

void take_of_budget(struct weir_budget *budget, struct weir_permit *permit,
                    struct weir_budget_waiter *waiter, const struct weir_deadline *deadline)
{
    ANSWER(weir_budget_try(budget, 1, permit));
    ANSWER(weir_budget_acquire(budget, 1, permit, deadline));
    ANSWER(weir_budget_acquire_async(budget, 1, permit, waiter, NULL));
}

void take_of_slots(struct weir_slots *slots, struct weir_slots_permit *permit,
                   struct weir_slots_waiter *waiter, const struct weir_deadline *deadline)
{
    struct weir_device device = WEIR_DEVICE_UNKNOWN;
    ANSWER(weir_slots_try(slots, device, permit));
    ANSWER(weir_slots_try_for_path(slots, "/", permit));
    ANSWER(weir_slots_acquire(slots, device, permit, deadline));
    ANSWER(weir_slots_acquire_async(slots, device, permit, waiter, NULL));
}

void take_of_pool(struct weir_pool *pool, struct weir_pool_permit *permit,
                  struct weir_pool_waiter *waiter, const struct weir_deadline *deadline)
{
    struct weir_pool_request request = weir_pool_request_archive(1, false);
    ANSWER(weir_pool_try(pool, &request, permit));
    ANSWER(weir_pool_acquire(pool, &request, permit, deadline));
    ANSWER(weir_pool_acquire_async(pool, &request, permit, waiter, NULL));
}
