/* versions.h - a secret that stays in a file while that changes is in as many blobs of the history
 * as the file had versions: one place is told for all of them, the oldest.
 *
 * Ownership: places that go are freed.
 */
#ifndef WEIR_SCAN_REPORT_VERSIONS_H
#define WEIR_SCAN_REPORT_VERSIONS_H

#include "findings.h"

/* The places are in order. */
void weir__versions_join(struct weir__found *found);

#endif
