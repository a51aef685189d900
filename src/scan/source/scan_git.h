/* scan_git.h - git as a child: what it says, and what it complains of.
 *
 *     static const char *const words[] = {"diff", "--cached", NULL};
 *     weir__git_new(&git, words, false, WEIR__GIT_SILENCE_NS);
 *     weir__git_read(git, bytes, size, &stop) ...      0 at its end
 *     weir__git_end(git, &stop, why)                   Incomplete: it failed, and why says how
 *     weir__git_free(git)
 *
 * Waits: for output, until the token fires; one who says nothing for silence_ns is given up. For
 * its end, once its output has ended, for WEIR__GIT_END_NS. It runs in the current directory with
 * the environment as it is, so that a hook sees the index that git made for it; but for refs that
 * replace objects, through which it never reads. Of what it complains the first 64 KiB are kept.
 *
 * Ownership: whoever made one frees it, which ends the child if it is still there.
 */
#ifndef WEIR_SCAN_SOURCE_SCAN_GIT_H
#define WEIR_SCAN_SOURCE_SCAN_GIT_H

#include <sys/types.h>

#include <weir/deadline.h>

#include "buffer.h"

#define WEIR__GIT_SILENCE_NS (30 * WEIR_NS_PER_S)
#define WEIR__GIT_END_NS     (5 * WEIR_NS_PER_S)
#define WEIR__GIT_WHY_MAX    256u
#define WEIR__GIT_WORDS_MAX  24u

struct weir__git;

/* words: behind "git", up to NULL. has_input: it reads what weir__git_send() sends. NoMemory,
 * NotFound when there is no git, or what starting it failed with. */
WEIR_MUST_USE int weir__git_new(struct weir__git **ret_git, const char *const *words,
                                bool has_input, uint64_t silence_ns);
/* Accepts NULL. */
void weir__git_free(struct weir__git *git);

/* The descriptor, for who reads it himself before anything else was read; a read on it fails with
 * EAGAIN when nothing has come for a tenth of a second. */
int weir__git_descriptor(struct weir__git *git);

WEIR_MUST_USE int weir__git_send(struct weir__git *git, const char *bytes, size_t count);

/* At least one byte, 0 at the end; TimeoutRead after a silence, Canceled, or what reading failed
 * with. */
WEIR_MUST_USE ssize_t weir__git_read(struct weir__git *git, char *bytes, size_t size,
                                     struct weir_cancel *stop);
/* Everything up to the byte `end`, which is taken and not given: 1, or 0 when there is no more;
 * Closed when the output ends before it, Overflow when it is too long for the text; and as above.
 */
WEIR_MUST_USE int weir__git_read_to(struct weir__git *git, char end, struct weir__buffer *text,
                                    struct weir_cancel *stop);

/* Waits for its end and says how it went: 0; Incomplete and the first line that it complained with,
 * or how else it went wrong; Canceled. */
WEIR_MUST_USE int weir__git_end(struct weir__git *git, struct weir_cancel *stop,
                                char why[WEIR__GIT_WHY_MAX]);

#endif
