/* commands.h - what main.c expects of a command file, declared so that the compiler compares them.
 *
 * A command file says COMMAND(name) once, then defines both.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CLI_COMMANDS_H
#define WEIR_CLI_COMMANDS_H

#include "program.h"

#define COMMAND(name)                                                                              \
    int cmd_##name(const struct weir__call *call);                                                 \
    extern const struct weir__usage usage_##name

#endif
