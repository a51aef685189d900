/* scan_hush.h - what a scan says has no secrets in it, whatever the report shows.
 *
 * Messages name files, and quote what stands in files of configuration that others wrote. So every
 * line on standard error is looked at as a text before it is shown: by its shape, which hides what
 * is named as a secret whatever its length (cover.h), by the rules of the run once there are any,
 * before that by the built-in ones, which are made ready for the first line that has something like
 * a token in it, and by what was found so far. A line that cannot be looked at, for want of memory,
 * shows no long word at all, nor does the end of a text that was cut there.
 *
 * Thread-safe between begin and end, once the run's engine is there.
 *
 * Ownership: engine and findings are borrowed until the end.
 */
#ifndef WEIR_CLI_SCAN_HUSH_H
#define WEIR_CLI_SCAN_HUSH_H

#include "report/findings.h"

/* Once in a program. */
void weir__hush_begin(void);
/* The rules of the run, from here on. */
void weir__hush_use(const struct weir__engine *engine, unsigned decode_depth);
/* What they have by then is hidden, from here on. */
void weir__hush_know(struct weir__findings *findings);
/* Hides the secrets in a text; its length stays. */
void weir__hush_text(char *text);
void weir__hush_end(void);

#endif
