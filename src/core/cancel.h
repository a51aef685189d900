/* cancel.h - the hook that waits use.
 *
 * Ownership: as in <weir/cancel.h>; the word must stay until weir_cancel_off() has returned.
 */
#ifndef WEIR_CORE_CANCEL_H
#define WEIR_CORE_CANCEL_H

#include <weir/cancel.h>

/* When the token fires, sets WEIR__PARK_CANCELED in *word and wakes one sleeper on it; sets it at
 * once if it has fired already. Undone by weir_cancel_off(). */
void weir__cancel_hook_word(struct weir_cancel *token, struct weir_cancel_hook *hook,
                            uint32_t *word);

#endif
