/* archive_process.h - the decoder's process as its parent sees it.
 *
 * Waits: those of child.h.
 *
 * Ownership: a process owns its child and its socket; fini kills the one and closes the other.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_PROCESS_H
#define WEIR_SCAN_SOURCE_ARCHIVE_PROCESS_H

#include <sys/types.h>

#include "archive_frames.h"
#include "child.h"

/* Letters of the child's last argument. */
#define WEIR__ARCHIVE_CONFINED   '-'
#define WEIR__ARCHIVE_MAY_RUN    'u'
#define WEIR__ARCHIVE_NO_SECCOMP 'n' /* for tests: as if the kernel had none */

struct weir__archive_process {
    struct weir__child child;
    pid_t maker;                            /* the thread that started it, with which it dies */
    char *message;                          /* WEIR__ARCHIVE_MESSAGE_MAX bytes */
    char why[WEIR__ARCHIVE_REASON_MAX + 1]; /* it did not start the last time, if it did not */
    int died_of;                            /* as it started; else 0 */
};

WEIR_MUST_USE int weir__archive_process_init(struct weir__archive_process *process);
void weir__archive_process_fini(struct weir__archive_process *process);

/* Makes sure that there is a child that greets. NotFound: there is no weir-unpack. Unsupported: it
 * could not confine itself. Exhausted: it died, or was not one that greets. `why` has the words for
 * it whatever it is, but for the deadline. One that another thread has started is ended, unless it
 * is passed on among threads that all outlive the walks. */
WEIR_MUST_USE int weir__archive_process_start(struct weir__archive_process *process,
                                              const struct weir__archive_options *options,
                                              bool has_no_seccomp, bool is_passed_on,
                                              const struct weir_deadline *deadline);

/* The descriptors of the archive and, with has_spill, of the file to spill to go with it. */
WEIR_MUST_USE int weir__archive_process_send(struct weir__archive_process *process,
                                             const struct weir__archive_command *command, int fd,
                                             int spill);

/* The next message's length; 0 when the child is gone; Timeout, Canceled, or TimeoutRead when it
 * said nothing for silence_ns. */
WEIR_MUST_USE ssize_t weir__archive_process_hear(struct weir__archive_process *process,
                                                 uint64_t silence_ns,
                                                 const struct weir_deadline *deadline);

/* Ends the child, if need be, and says what it died of: a signal's number, or minus its exit
 * status. */
int weir__archive_process_stop(struct weir__archive_process *process);

#endif
