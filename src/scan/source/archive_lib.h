/* archive_lib.h - libarchive's headers.
 *
 * Its main header has the name of ours, and folders of this room come first where the compiler
 * looks; so it is asked for by the folder that system headers are in, too.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_LIB_H
#define WEIR_SCAN_SOURCE_ARCHIVE_LIB_H

#include <../include/archive.h>
#include <archive_entry.h>

#endif
