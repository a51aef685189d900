/* event.h - what a copy tells about each item, and how that looks to people.
 *
 * Ownership: an event and its strings are the sender's and valid during the call.
 */
#ifndef WEIR_COPY_EVENT_H
#define WEIR_COPY_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <weir/defs.h>

enum weir__copy_event_kind {
    WEIR__EVENT_ITEM,    /* something was (or, in a dry run, would be) made or changed */
    WEIR__EVENT_SAME,    /* found up to date */
    WEIR__EVENT_SKIPPED, /* left out by a rule; detail says which */
    WEIR__EVENT_DELETED,
    WEIR__EVENT_METHOD, /* detail: how the data of this file were moved */
    WEIR__EVENT_NOTE,   /* worth knowing, not an error; path may be "" */
    WEIR__EVENT_ERROR   /* errno_value may be 0; what: "cannot open" */
};

/* What about an item differs, as rsync -i shows it. */
enum weir__copy_change {
    WEIR__CHANGE_CONTENT = 1 << 0, /* with checksum: c */
    WEIR__CHANGE_SIZE = 1 << 1,
    WEIR__CHANGE_TIME = 1 << 2,
    WEIR__CHANGE_MODE = 1 << 3,
    WEIR__CHANGE_OWNER = 1 << 4,
    WEIR__CHANGE_GROUP = 1 << 5,
    WEIR__CHANGE_ATIME = 1 << 6,
    WEIR__CHANGE_ACL = 1 << 7,
    WEIR__CHANGE_XATTR = 1 << 8,
    WEIR__CHANGE_TIME_NOW = 1 << 9 /* T: the time becomes that of the transfer */
};

struct weir__copy_event {
    enum weir__copy_event_kind kind;
    /* '>' data moved, 'c' made without data, 'h' hard link, '.' metadata alone, '*' message */
    char update;
    char type; /* f d L D S, as rsync: file, directory, symlink, device, fifo or socket */
    bool is_new;
    unsigned changes;   /* weir__copy_change */
    const char *path;   /* relative, as rsync names it; a directory without its slash */
    const char *target; /* of a symlink or a hard link, else NULL */
    uint64_t bytes;     /* moved */
    const char *what;   /* of errors: what could not be done, "cannot open" */
    const char *detail; /* or NULL */
    int errno_value;
};

#define WEIR__ITEMIZED_SIZE 12

/* The eleven characters of rsync -i, for example ">f+++++++++" or ".d..t......". */
void weir__copy_itemize(const struct weir__copy_event *event, char text[WEIR__ITEMIZED_SIZE]);

#endif
