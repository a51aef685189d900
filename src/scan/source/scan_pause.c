/* scan_pause.c - streams that pause.
 *
 * A thread that reads a stream may wait for its next bytes for hours, while its scanner holds text
 * in which something was found. Whoever waits for the run has nothing else to do: it looks up now
 * and then, and lets the scanner of a thread that has waited for a while tell what is certain.
 *
 * The scanner belongs to its thread but for that: the thread says before a read that it lends it,
 * and after the read that it does not; both, and the other's work in between, are done by who has
 * the turn. So bytes that come in the middle of that wait for its end: a few milliseconds, since it
 * looks at a segment at most. The happy path costs two turns that nobody else wants for each read.
 */
#include "scan_part.h"

#include "job_mutants.h"

#include "banned.h"

#define PAUSE_NS (200 * WEIR_NS_PER_MS) /* after so long somebody wants to know */
#define LOOK_NS  (50 * WEIR_NS_PER_MS)

bool weir__scan_pause_begin(struct weir__scan_worker *w, bool is_lent)
{
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit turn = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_until(&w->run->stop);
    if (weir_budget_acquire(&w->turns, 1, &turn, &deadline) < 0)
        return false;
    w->is_lent = is_lent;
    w->lent_ns = weir_now_ns();
    return true;
}

bool weir__scan_pause_end(struct weir__scan_worker *w)
{
    return weir__scan_pause_begin(w, false);
}

static void settle(struct weir__scan_worker *w)
{
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit turn = WEIR_PERMIT_NONE;
    bool is_free =
        WEIR__JOB_MUTANT(PAUSE_WITHOUT_TURN) || weir_budget_try(&w->turns, 1, &turn) == 0;
    if (!is_free || !w->is_lent || weir_now_ns() < weir_time_add(w->lent_ns, PAUSE_NS))
        return;
    weir__scanner_settle(w->scanner);
    w->is_lent = false; /* once for each pause */
}

void weir__scan_pause_look(struct weir__scan *run)
{
    for (unsigned i = 0; i < run->threads && !weir_cancel_is_fired(&run->stop); i++)
        settle(run->workers[i]);
}

int weir__scan_pause_wait(struct weir__scan *run, const struct weir_deadline *deadline)
{
    for (;;) {
        struct weir_deadline soon =
            weir_deadline_min(deadline, weir_time_add(weir_now_ns(), LOOK_NS));
        int result = weir_crew_wait(run->crew, &soon);
        if (result != -WEIR_E_TIMEOUT)
            return result;
        weir__scan_pause_look(run);
        if (weir_now_ns() >= deadline->at_ns)
            return result;
    }
}
