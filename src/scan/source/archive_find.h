/* archive_find.h - where the program is in which decoders run.
 *
 * Looked for in the folder that the environment names in WEIR_LIBEXEC (then nowhere else), beside
 * the running program, in ../libexec/weir from there, and where this build is installed to.
 *
 * Ownership: the buffer is the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_FIND_H
#define WEIR_SCAN_SOURCE_ARCHIVE_FIND_H

#include "buffer.h"

#define WEIR__ARCHIVE_PROGRAM "weir-unpack"
#define WEIR__ARCHIVE_FOLDER  "WEIR_LIBEXEC"

/* Initialises the buffer in any case and puts the path into it. NotFound, NoMemory, or what else
 * kept it from being looked for. */
WEIR_MUST_USE int weir__archive_find(struct weir__buffer *ret_path);

#endif
