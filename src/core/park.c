/* park.c - the one blocking wait of core, and waits on a deadline alone. */
#include "park.h"

#include "cancel.h"
#include "error.h"
#include "futex.h"
#include "lock.h"

bool weir__deadline_has_end(const struct weir_deadline *deadline)
{
    return deadline && (deadline->at_ns != WEIR_NEVER || deadline->cancel);
}

int weir__park_wait(struct weir__park *place, const struct weir_deadline *deadline)
{
    weir_lock_assert_none("held while a wait begins");
    if (!weir__deadline_has_end(deadline))
        return weir__fail(WEIR_E_INVALID, NULL,
                          "would have to wait for ever: give a deadline or a cancel token", 0, 0,
                          0);
    struct weir_cancel_hook hook = {0};
    if (deadline->cancel)
        weir__cancel_hook_word(deadline->cancel, &hook, &place->word);

    int error = 0;
    for (;;) {
        uint32_t word = weir__load32(&place->word);
        if (word & WEIR__PARK_SIGNALED)
            break;
        if (word & WEIR__PARK_CANCELED)
            error = -WEIR_E_CANCELED;
        if (error)
            break;
        error = weir__futex_wait(&place->word, word, deadline->at_ns);
    }
    if (deadline->cancel)
        weir_cancel_off(&hook);
    /* A signal that came with the time-out is for the caller to see, under its lock. */
    return error;
}

void weir__park_signal(struct weir__park *place, struct weir__wakes *wakes)
{
    weir__or32(&place->word, WEIR__PARK_SIGNALED);
    wakes->word[wakes->count++] = &place->word;
}

void weir__wakes_send(struct weir__wakes *wakes)
{
    for (unsigned i = 0; i < wakes->count; i++)
        weir__futex_wake(wakes->word[i], 1);
    wakes->count = 0;
}

static int ended(int error)
{
    if (error == -WEIR_E_TIMEOUT)
        return weir__fail(WEIR_E_TIMEOUT, NULL, "the deadline has passed", 0, 0, 0);
    if (error == -WEIR_E_CANCELED)
        return weir__fail(WEIR_E_CANCELED, NULL, "the cancel token has fired", 0, 0, 0);
    return error; /* explained where it was found */
}

int weir_deadline_check(const struct weir_deadline *deadline)
{
    if (!deadline)
        return 0;
    if (deadline->cancel && weir_cancel_is_fired(deadline->cancel))
        return ended(-WEIR_E_CANCELED);
    if (deadline->at_ns != WEIR_NEVER && weir_now_ns() >= deadline->at_ns)
        return ended(-WEIR_E_TIMEOUT);
    return 0;
}

int weir_deadline_sleep(const struct weir_deadline *deadline)
{
    struct weir__park place = {0};
    return ended(weir__park_wait(&place, deadline));
}
