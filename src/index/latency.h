/* latency.h - how fast providers answer, measured now and then, in a bounded table.
 *
 * Promises
 * - At most WEIR__LATENCY_ENTRIES urls; the one that was heard of longest ago makes room. All
 *   memory is taken at birth (about 1.3 MiB), so noting cannot fail.
 * - A new measure counts for a quarter, so that one slow answer does not move a provider far, and
 *   one that did not answer counts as WEIR__LATENCY_SILENT_NS.
 * - Any number of threads at once; a short lock for each call, and nothing waits.
 *
 * Ownership: the table owns its entries; urls are copied.
 */
#ifndef WEIR_INDEX_LATENCY_H
#define WEIR_INDEX_LATENCY_H

#include <weir/lock.h>

#include "record.h"

#define WEIR__LATENCY_ENTRIES   4096u
#define WEIR__LATENCY_SILENT_NS (UINT64_C(2) * 1000 * 1000 * 1000)

struct weir__latency;
WEIR_MUST_USE int weir__latency_new(struct weir__latency **ret_latency);
/* Accepts NULL. */
void weir__latency_free(struct weir__latency *latency);
/* Smoothed; 0: not known. */
uint64_t weir__latency_get(struct weir__latency *latency, const char *url);
/* took_ns 0: it did not answer. A url longer than WEIR__PROVIDER_URL_MAX is left alone. */
void weir__latency_note(struct weir__latency *latency, const char *url, uint64_t took_ns);
/* How many are known. */
uint32_t weir__latency_count(struct weir__latency *latency);

#endif
