/* count_pairs.c - acquires and releases so many times; callgrind counts the instructions.
 *
 *     count-pairs CASE N
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/budget.h>
#include <weir/pool.h>
#include <weir/slots.h>

static int use_budget(bool waits, unsigned long pairs)
{
    struct weir_budget budget;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    int error = weir_budget_init(&budget, "count", 8);
    for (unsigned long i = 0; i < pairs && !error; i++) {
        error = waits ? weir_budget_acquire(&budget, 1, &permit, &deadline)
                      : weir_budget_try(&budget, 1, &permit);
        weir_permit_release(&permit);
    }
    weir_budget_fini(&budget);
    return error;
}

static int budget_acquire(unsigned long pairs)
{
    return use_budget(true, pairs);
}

static int budget_try(unsigned long pairs)
{
    return use_budget(false, pairs);
}

/* All devices are made known first; then one after the other is used. */
static int use_slots(uint64_t devices, unsigned long pairs)
{
    struct weir_slots slots;
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    int error = weir_slots_init(&slots, "count", NULL);
    for (uint64_t i = 0; i < devices && !error; i++) {
        error = weir_slots_try(&slots, weir_device_from_raw(0x800 + 16 * i), &permit);
        weir_slots_release(&permit);
    }
    for (unsigned long i = 0; i < pairs && !error; i++) {
        struct weir_device device = weir_device_from_raw(0x800 + 16 * (i % devices));
        error = weir_slots_try(&slots, device, &permit);
        weir_slots_release(&permit);
    }
    weir_slots_fini(&slots);
    return error;
}

static int slots_of_one(unsigned long pairs)
{
    return use_slots(1, pairs);
}

static int slots_of_many(unsigned long pairs)
{
    return use_slots(WEIR_SLOTS_DEVICES_DEFAULT, pairs);
}

static int use_pool(bool spills, unsigned long pairs)
{
    struct weir_pool pool;
    struct weir_pool_config config = weir_pool_config_default();
    struct weir_pool_request request = {1000, 1000, spills};
    struct weir_pool_permit permit = WEIR_POOL_PERMIT_NONE;
    int error = weir_pool_init(&pool, "count", &config);
    for (unsigned long i = 0; i < pairs && !error; i++) {
        error = weir_pool_try(&pool, &request, &permit);
        weir_pool_permit_release(&permit);
    }
    weir_pool_fini(&pool);
    return error;
}

static int pool_try(unsigned long pairs)
{
    return use_pool(false, pairs);
}

static int pool_try_to_spill(unsigned long pairs)
{
    return use_pool(true, pairs);
}

static const struct {
    const char *name;
    int (*run)(unsigned long pairs);
} cases[] = {
    {"budget_acquire", budget_acquire},
    {"budget_try", budget_try},
    {"slots_of_one", slots_of_one},
    {"slots_of_many", slots_of_many},
    {"pool_try", pool_try},
    {"pool_try_to_spill", pool_try_to_spill},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        int error = cases[i].run(strtoul(argv[2], NULL, 10));
        if (error)
            fprintf(stderr, "count-pairs: %s: %s\n", argv[1], weir_error_text(error));
        return error ? 1 : 0;
    }
    fprintf(stderr, "count-pairs: the name of a case and a number are wanted\n");
    return 2;
}
