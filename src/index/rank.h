/* rank.h - which provider first: near, quick, alive lately.
 *
 * Pure: the same set gives the same order, whatever the order that it came in. First those of our
 * own region, then by latency in steps of a factor of two (not known counts as the median of those
 * that are), then those issued later, then by url and key.
 *
 * Ownership: works in the caller's array.
 */
#ifndef WEIR_INDEX_RANK_H
#define WEIR_INDEX_RANK_H

#include "answer.h"

/* What a record says of its provider; latency_ns: measured, or 0. */
void weir__rank_provider(struct weir__provider *provider, const struct weir__record *record,
                         uint64_t latency_ns);
/* region: "" for none. */
void weir__rank(struct weir__provider *providers, size_t count, const char *region);

#endif
