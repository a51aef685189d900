/* text_help.h - a report as text, for the tests that read it.
 *
 * Ownership: the text is the test program's, until the next report.
 */
#ifndef WEIR_TESTS_SCAN_TEXT_HELP_H
#define WEIR_TESTS_SCAN_TEXT_HELP_H

#include <string.h>

#include "tap.h"

static char text[1 << 20];
static size_t text_length;

/* For struct weir__report_out. */
static inline int collect(void *arg, const char *bytes, size_t length)
{
    (void)arg;
    CHECK(length > 0 && length < sizeof(text) - text_length);
    memcpy(text + text_length, bytes, length);
    text_length += length;
    text[text_length] = '\0';
    return 0;
}

static inline void text_clear(void)
{
    text_length = 0;
    text[0] = '\0';
}

#endif
