/* scan_metrics.h - --metrics-listen: what a scan counts, and holds of its limits, for Prometheus.
 *
 *     weir__scan_metrics_open(&metrics, "127.0.0.1:9400")      before anything else is done
 *     weir__scan_metrics_start(metrics, run)
 *     weir__scan_metrics_close(metrics)                        before the run is finished
 *
 * Limits: those of http/serve.h.
 *
 * Ownership: borrows the run from start to close.
 */
#ifndef WEIR_CLI_SCAN_METRICS_H
#define WEIR_CLI_SCAN_METRICS_H

#include "source/scan.h"

struct weir__scan_metrics;

/* Usage when it cannot listen there, or what else it failed with; both are told. NULL, and 0, for
 * an address that is NULL. */
WEIR_MUST_USE int weir__scan_metrics_open(struct weir__scan_metrics **ret_metrics,
                                          const char *address);
/* Accepts NULL. An error is told. */
WEIR_MUST_USE int weir__scan_metrics_start(struct weir__scan_metrics *metrics,
                                           struct weir__scan *run);
/* Where it listens: "127.0.0.1:9400". */
const char *weir__scan_metrics_name(const struct weir__scan_metrics *metrics);
/* Accepts NULL. */
void weir__scan_metrics_close(struct weir__scan_metrics *metrics);

#endif
