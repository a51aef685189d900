/* commit.h - the bytes of a commit, taken apart where they lie.
 *
 *     weir__git_commit_parse(&commit, bytes, length, id_size, why)
 *     for (i = 0; i < commit.parents_count; i++)
 *         id = weir__git_commit_parent(&commit, i);
 *
 * Promises: nothing outside the bytes is read, whatever they say; nothing is copied but ids and
 * numbers; time is linear. What git itself needs of a commit must be there and well-formed: the
 * tree, the parents, an author and a committer line. What people got wrong in those lines over the
 * years (no mail, no date, a zone of nonsense) is no error: such a field is empty or zero, and
 * has_time says so.
 *
 * Ownership: a parsed commit borrows the bytes, which must stay as they are while it is used.
 */
#ifndef WEIR_SCAN_GIT_COMMIT_H
#define WEIR_SCAN_GIT_COMMIT_H

#include "object_id.h"

/* What was wrong, for people: "line 3: 'parent' without an id". */
#define WEIR__GIT_FLAW_MAX 160u

/* A part of the bytes; length 0 for what is not there. */
struct weir__git_range {
    size_t offset, length;
};

/* "Name <mail> 1700000000 +0100" */
struct weir__git_person {
    struct weir__git_range name, mail;
    int64_t time; /* seconds since 1970; 0 if it has none */
    int zone_minutes;
    bool has_time;
};

struct weir__git_commit {
    const char *bytes;
    size_t length;
    size_t id_size;
    struct weir__git_id tree;
    size_t parents_count;
    size_t parents_offset; /* of the first 'parent' line */
    struct weir__git_person author, committer;
    struct weir__git_range encoding; /* as the header says it; none: UTF-8 */
    struct weir__git_range message;
};

/* One header: a name, and a value that goes on over lines which begin with a space. */
struct weir__git_header {
    struct weir__git_range name, value;
};

/* Corrupt, and why. */
WEIR_MUST_USE int weir__git_commit_parse(struct weir__git_commit *ret_commit, const char *bytes,
                                         size_t length, size_t id_size,
                                         char why[WEIR__GIT_FLAW_MAX]);

/* index is below parents_count. */
struct weir__git_id weir__git_commit_parent(const struct weir__git_commit *commit, size_t index);

/* Only tree, parents and the committer's time, for those who go through whole histories. Corrupt as
 * above, but the author is not looked at. */
WEIR_MUST_USE int weir__git_commit_parse_links(struct weir__git_commit *ret_commit,
                                               const char *bytes, size_t length, size_t id_size,
                                               char why[WEIR__GIT_FLAW_MAX]);

/* The header at *at, which is moved behind it: 1, or 0 at the empty line that ends the headers (*at
 * is then behind that) or at the end of the bytes. A header without a value has an empty one. */
int weir__git_header_next(const char *bytes, size_t length, size_t *at,
                          struct weir__git_header *ret_header);

/* The same text as a header's name. */
bool weir__git_range_is(const char *bytes, const struct weir__git_range *range, const char *text);

/* Never fails: what cannot be understood is empty. */
void weir__git_person_parse(struct weir__git_person *ret_person, const char *bytes,
                            const struct weir__git_range *value);

/* "2024-05-01T12:30:00+02:00"; an empty text for who has no time. */
#define WEIR__GIT_DATE_SIZE 40u
const char *weir__git_person_date(const struct weir__git_person *person,
                                  char text[WEIR__GIT_DATE_SIZE]);

#endif
