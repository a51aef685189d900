/* archive_child.h - what the decoder's process does.
 *
 * Ownership: everything is its own.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_CHILD_H
#define WEIR_SCAN_SOURCE_ARCHIVE_CHILD_H

/* Arguments: bytes of memory, bytes that may be spilled, and letters (archive_process.h). Ends the
 * process, but for wrong arguments, of which the exit status is returned. */
int weir__archive_child_main(int argc, char **argv);

#endif
