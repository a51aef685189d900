/* brought.h - who brought something into a repository: what reports say of it beside its place.
 *
 * Ownership: texts are borrowed by whoever is given one.
 */
#ifndef WEIR_SCAN_BROUGHT_H
#define WEIR_SCAN_BROUGHT_H

#include <weir/defs.h>

struct weir__brought {
    const char *object; /* the id of the blob, commit or tag */
    const char *commit; /* the first that has it, or NULL: none has */
    const char *author; /* of the commit, as are mail, date and subject; "" when it is not known */
    const char *mail;
    const char *date;    /* "2024-05-01T12:30:00+02:00" */
    int64_t time;        /* the same in seconds since 1970; 0 when it is not known */
    const char *subject; /* the first line of its message */
    /* How it is reached, unless it is by a branch or a tag: "stash", "notes", "reflog", "staged",
     * "unreachable", or the name of a ref that leads to it without a commit; or NULL. */
    const char *by;
    const char *root;         /* that stands before the paths in those of findings */
    const char *const *paths; /* all that it ever had, in order; the first of many */
    size_t paths_count;
    uint64_t paths_total;
    bool has_more_paths;
};

#endif
