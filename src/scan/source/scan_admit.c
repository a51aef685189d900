/* scan_admit.c - the tokens of one file: leave to read it, and room for its bytes.
 *
 * State: two budgets of the run, `reads` and `bytes`.
 *
 * Happy path: first the leave, then the room, and both before the descriptor; everybody in this
 * order. Whoever has the leave waits for room only, and who has that waits for neither.
 *
 * Failure modes: the run is stopped between the two: the first goes home with the other, by the
 * same release. No memory is needed, so nothing else can fail but a limit that is too small.
 */
#include "scan_part.h"

#include "job_mutants.h"

#include "banned.h"

static int take_leave(struct weir__scan *run, struct weir__scan_tokens *tokens)
{
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    if (WEIR__JOB_MUTANT(JOB_READS_WITHOUT_TOKEN))
        return 0;
    return weir_budget_acquire(&run->reads, 1, &tokens->read, &deadline);
}

static int take_room(struct weir__scan *run, struct weir__scan_tokens *tokens)
{
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    if (WEIR__JOB_MUTANT(JOB_READS_WITHOUT_ROOM))
        return 0;
    return weir_budget_acquire(&run->bytes, WEIR__SCAN_READ_SIZE, &tokens->bytes, &deadline);
}

bool weir__scan_admit(struct weir__scan_worker *w, struct weir__scan_tokens *tokens)
{
    bool is_turned = WEIR__JOB_MUTANT(JOB_TOKENS_IN_ANY_ORDER) && w != w->run->workers[0];
    int result = is_turned ? take_room(w->run, tokens) : take_leave(w->run, tokens);
    if (result == 0)
        result = is_turned ? take_leave(w->run, tokens) : take_room(w->run, tokens);
    if (result < 0 && result != -WEIR_E_CANCELED)
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot scan", weir_error_text(result));
    return result == 0;
}

void weir__scan_tokens_release(struct weir__scan_tokens *tokens)
{
    if (WEIR__JOB_MUTANT(JOB_TOKENS_KEPT))
        return;
    if (WEIR__JOB_MUTANT(JOB_FIRST_TOKEN_KEPT) && !weir_permit_is_held(&tokens->bytes))
        return;
    weir_permit_release(&tokens->bytes);
    weir_permit_release(&tokens->read);
}
