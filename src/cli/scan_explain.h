/* scan_explain.h - --explain-limits: what was held of the limits, waited for and refused.
 *
 * Ownership: borrowed for the call.
 */
#ifndef WEIR_CLI_SCAN_EXPLAIN_H
#define WEIR_CLI_SCAN_EXPLAIN_H

#include "source/scan.h"

/* Lines on standard error. */
void weir__scan_explain(const struct weir__scan_limits *limits);

#endif
