/* cannot_start.h - why a command that works with threads did not begin, and what helps.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CLI_CANNOT_START_H
#define WEIR_CLI_CANNOT_START_H

#include <stdint.h>

/* Tells it and returns the error. Busy is a system that gives no threads; option is the one that
 * says how many are wanted, and count what it said, 0 when it did not. */
int weir__cannot_start(int error, const char *option, uint64_t count);

#endif
