/* outside.c - a program of somebody else's, against the installed library: C and C++ alike. */
#include <stdio.h>
#include <weir/weir.h>

static int count_to_three(struct weir_crew_self *self, void *arg)
{
    struct weir_budget *budget = (struct weir_budget *)arg;
    for (int i = 0; i < 3; i++) {
        struct weir_permit permit = WEIR_PERMIT_NONE;
        struct weir_deadline deadline = weir_deadline_until(self->abort);
        int error = weir_budget_acquire(budget, 1, &permit, &deadline);
        if (error)
            return error;
        weir_permit_release(&permit);
    }
    return 0;
}

int main(void)
{
    struct weir_budget budget;
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (weir_budget_init(&budget, "files", 2) != 0)
        return 1;
    if (weir_budget_try(&budget, 3, &permit) != -WEIR_E_TOO_LARGE)
        return 2;
    printf("%s: %s\n", weir_error_name(WEIR_E_TOO_LARGE), weir_error_detail());

    struct weir_crew *crew;
    if (weir_crew_new(&crew, "crew", NULL) != 0)
        return 3;
    for (int i = 0; i < 4; i++)
        if (weir_crew_start(crew, "counter", count_to_three, &budget) != 0)
            return 4;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    if (weir_crew_wait(crew, &deadline) != 0 || weir_crew_drain(crew, NULL) != 0)
        return 5;
    weir_crew_free(crew);

    struct weir_budget_stats stats;
    weir_budget_read(&budget, &stats);
    printf("acquired %llu, released %llu\n", (unsigned long long)stats.acquired,
           (unsigned long long)stats.released);
    weir_budget_fini(&budget);
    return stats.acquired == 12 && stats.released == 12 ? 0 : 6;
}
