/* whole_file.h - a file that appears under its name when it is whole, and not before.
 *
 * It is written without a name, where the file system can do that, else under one of its own beside
 * its place (.weir-tmp.*). Then it replaces what is there, whose mode it keeps. A symbolic link
 * stays, and the file that it leads to is replaced. What is no regular file (a device, a pipe) is
 * written to as it is, without waiting: writes may say EAGAIN.
 *
 * Errors are negative codes, and errno says what the system said.
 *
 * Ownership: the struct owns its descriptors from a successful open to finish or drop.
 */
#ifndef WEIR_CLI_WHOLE_FILE_H
#define WEIR_CLI_WHOLE_FILE_H

#include <sys/types.h>

#include <weir/defs.h>

#define WEIR__WHOLE_NAME_MAX 64

struct weir__whole_file {
    int fd;      /* to be written to */
    int _folder; /* -1: it is written in place */
    char *_path; /* ours: the file, without links; its last part begins at _name */
    const char *_name;
    char _temp[WEIR__WHOLE_NAME_MAX]; /* "": it has no name yet */
};

/* Busy with ENXIO: a pipe that nobody reads yet. Usage: a link, not of /dev or /proc, that leads to
 * what is no file. */
WEIR_MUST_USE int weir__whole_open(struct weir__whole_file *ret_file, const char *path);
/* Gives it its name. Whatever comes of it, nothing is held afterwards. */
WEIR_MUST_USE int weir__whole_finish(struct weir__whole_file *file);
/* As if it had never been. */
void weir__whole_drop(struct weir__whole_file *file);

#endif
