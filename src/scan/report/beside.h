/* beside.h - places in a container itself, beside the members of an archive.
 *
 * A container's own bytes may hold a member's once more: one that is stored as it is. A secret that
 * has a place in a member (or in a container within this one) is not told a second time for the
 * container. Members and containers are scanned by many threads, so that either may come first:
 * places are looked through when one of a container comes, and once more in the end.
 *
 * Limits: only listed places are known. A secret with more places than are listed may have one in a
 * container too many.
 *
 * Ownership: borrows records; places that are dropped are freed.
 */
#ifndef WEIR_SCAN_REPORT_BESIDE_H
#define WEIR_SCAN_REPORT_BESIDE_H

#include "record.h"

/* Whether the place, which is not one of them yet, need not be listed. */
bool weir__beside_is_told(const struct weir__found *found, const struct weir__found_place *place);
/* Drops such places; when no more come and all are in order. */
void weir__beside_settle(struct weir__found *found);

#endif
