/* scan_names.h - a list of names: one on a line, or each ended with NUL.
 *
 * Names are bytes: nothing in a line is a comment, and no space is taken away. Empty lines are
 * passed over. A NUL byte in a line ends the reading, since the names are then of the other kind;
 * an empty name among those that end with NUL is one that was lost, and told, all as one. A list
 * without a name is told: who made it may have failed, and nothing was asked for.
 *
 * Cost and limits: the list is read as a stream (lines.h), no faster than its names are taken; a
 * name has at most WEIR__SCAN_NAME_MAX bytes.
 *
 * Ownership: a name is valid until the hook returns.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_NAMES_H
#define WEIR_SCAN_SOURCE_SCAN_NAMES_H

#include <weir/defs.h>

#define WEIR__SCAN_NAME_MAX (1u << 20)

struct weir__scan_names {
    /* number: in the list, from 1, empty lines included. False: no more. */
    bool (*take)(void *arg, const char *name, uint64_t number);
    bool (*is_stopped)(void *arg); /* or NULL */
    /* What could not be read of the list; why is NULL where errno says it. */
    void (*tell)(void *arg, const char *list, const char *what, const char *why);
    void *arg;
    bool may_be_empty; /* else a list without a name is told */
};

/* list: a path, or "-" for standard input. False when something was told. */
bool weir__scan_names_each(const char *list, bool from0, const struct weir__scan_names *names);

#endif
