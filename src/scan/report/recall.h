/* recall.h - whether a finding is one of those that are known.
 *
 * By its fingerprint, there or everywhere; or by what others call it. Its path is looked at as it
 * is shown, and as the folder has it from which the entries came (origin.h).
 *
 * Ownership: everything is borrowed for the call.
 */
#ifndef WEIR_SCAN_REPORT_RECALL_H
#define WEIR_SCAN_REPORT_RECALL_H

#include "engine/engine.h"
#include "known.h"

/* origin may be NULL. */
bool weir__recall(const struct weir__known *known, const struct weir__origin *origin,
                  const char *path, const char *commit, const struct weir__finding *finding);

#endif
