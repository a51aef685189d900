/* commit_about.h - what a report says about a commit: who, when, and the first line.
 *
 * Texts are fit to be shown: no control character is in them (they stand there as \n or \x1b),
 * everything is UTF-8, and what is too long ends with "...". A commit that says that its encoding
 * is ISO-8859-1 is converted; bytes of other encodings that are no UTF-8 stand there as \xe9.
 *
 * The subject is what git shows as such: the first paragraph, its lines joined by spaces.
 *
 * Cost: linear in what is shown, whatever the length of the commit. Takes no memory.
 *
 * Ownership: the texts are copies, in the struct.
 */
#ifndef WEIR_SCAN_GIT_COMMIT_ABOUT_H
#define WEIR_SCAN_GIT_COMMIT_ABOUT_H

#include "commit.h"

#define WEIR__GIT_ABOUT_NAME    128u
#define WEIR__GIT_ABOUT_SUBJECT 256u

struct weir__git_about {
    char author[WEIR__GIT_ABOUT_NAME]; /* "" for what is not known */
    char mail[WEIR__GIT_ABOUT_NAME];
    char date[WEIR__GIT_DATE_SIZE]; /* of the author: "2024-05-01T12:30:00+02:00" */
    char committed[WEIR__GIT_DATE_SIZE];
    char subject[WEIR__GIT_ABOUT_SUBJECT];
    int64_t time, committed_time; /* the same as numbers; 0 where there is none */
};

/* Of the bytes of a commit. Corrupt, and why. */
WEIR_MUST_USE int weir__git_about_commit(struct weir__git_about *ret_about, const char *bytes,
                                         size_t length, size_t id_size,
                                         char why[WEIR__GIT_FLAW_MAX]);
/* Of an annotated tag: the tagger for both, who may be missing. */
WEIR_MUST_USE int weir__git_about_tag(struct weir__git_about *ret_about, const char *bytes,
                                      size_t length, size_t id_size, char why[WEIR__GIT_FLAW_MAX]);

/* A part of the bytes, as above; is_latin: of that encoding. */
void weir__git_about_text(char *text, size_t size, const char *bytes,
                          const struct weir__git_range *range, bool is_latin);

#endif
