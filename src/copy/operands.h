/* operands.h - the sources and the destination as the user named them.
 *
 * Ownership: all that is opened belongs to the run and is closed by weir__operands_fini().
 */
#ifndef WEIR_COPY_OPERANDS_H
#define WEIR_COPY_OPERANDS_H

#include "engine.h"

/* Opens the sources. One that is not there is told and counted; only NoMemory and an empty name are
 * returned. */
WEIR_MUST_USE int weir__operands_sources(struct weir__copy *run);

/* Opens DST or its folder, anew on every call, and refuses what cannot work: told, negative. */
WEIR_MUST_USE int weir__operands_destination(struct weir__copy *run);

/* Opens a folder, to list it if that is allowed. -1 with errno. */
int weir__operands_open(int dir_fd, const char *path);

/* Opens the folder of a source, and again that of its target, for the directory that stands for the
 * operand. False: told. */
bool weir__operands_enter(struct weir__worker *w, struct weir__dir *dir, struct weir__dir *target);

/* The folder that DST lies in, opened, and its name there. -1 where that is of no interest. */
int weir__operands_beside(struct weir__copy *run, char name[WEIR__NAME_SIZE]);

void weir__operands_fini(struct weir__copy *run);

#endif
