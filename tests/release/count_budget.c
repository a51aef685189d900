/* count_budget.c - acquires and releases so many times; callgrind counts the instructions.
 *
 *     count-budget acquire|try N
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/budget.h>

static int run(struct weir_budget *budget, bool waits, unsigned long pairs)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    for (unsigned long i = 0; i < pairs; i++) {
        int error = waits ? weir_budget_acquire(budget, 1, &permit, &deadline)
                          : weir_budget_try(budget, 1, &permit);
        if (error)
            return error;
        weir_permit_release(&permit);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "count-budget: 'acquire' or 'try' and a number are wanted\n");
        return 2;
    }
    struct weir_budget budget;
    int error = weir_budget_init(&budget, "count", 8);
    if (!error)
        error = run(&budget, strcmp(argv[1], "acquire") == 0, strtoul(argv[2], NULL, 10));
    if (error) {
        fprintf(stderr, "count-budget: %s\n", weir_error_text(error));
        return 1;
    }
    weir_budget_fini(&budget);
    return 0;
}
