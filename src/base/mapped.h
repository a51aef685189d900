/* mapped.h - a file mapped for reading, whose bytes may be gone when they are looked at.
 *
 * A file that is cut while it is mapped, or a disk that fails, makes the next look at a lost page a
 * SIGBUS, which ends the process. Here it ends the look: whatever reads the bytes of a mapping runs
 * inside of weir__mapped_read(), which then returns Io.
 *
 *     static int sum(void *arg) { ... arg->mapped->bytes[i] ... return 0; }
 *     weir__mapped_read(&mapped, sum, &arg)
 *
 * How: a handler for SIGBUS is installed with the first mapping of the process. It knows by a list
 * of the thread's own which mappings are being read, and jumps out of the function that touched
 * one of them. Any other SIGBUS goes to who was there before, by default the end of the process.
 *
 * Rule: what runs inside is left in the middle, at any read of the mapping. So it takes no memory,
 * no lock and no descriptor, and what it writes to its argument may be half done when the answer is
 * Io. Looks may be nested, also into different mappings; that of the lost page is the one that
 * ends.
 *
 * Cost: opening, three system calls; a look, some ten nanoseconds.
 *
 * Ownership: the mapping belongs to the struct until weir__mapped_close(); the descriptor is closed
 * before weir__mapped_open() returns.
 */
#ifndef WEIR_BASE_MAPPED_H
#define WEIR_BASE_MAPPED_H

#include <weir/lock.h>

/* Of the lock that is taken when the handler is installed. */
extern const struct weir_lock_class weir__mapped_class;

struct weir__mapped {
    const unsigned char *bytes; /* NULL: nothing is mapped */
    size_t length;
};

/* Maps the regular file `name` in the open folder dir (or AT_FDCWD), all of it. Corrupt when it is
 * empty, Invalid when it is not a regular file, TooLarge above max bytes, or what the system says:
 * NotFound, Denied, NoMemory... */
WEIR_MUST_USE int weir__mapped_open(struct weir__mapped *ret_mapped, int dir, const char *name,
                                    size_t max);
/* Accepts NULL and what was never opened. */
void weir__mapped_close(struct weir__mapped *mapped);

/* Stands for all files that a library has mapped by itself: a look that fails at any address is
 * given up, also one at an address that is none (SIGSEGV), to which bytes that are not what they
 * should be may lead. Nothing to be closed. What the system says, if there can be no handler. */
WEIR_MUST_USE int weir__mapped_anywhere(struct weir__mapped *ret_mapped);

/* fn(arg), and its answer; Io when a byte of the mapping could not be read. Where nothing is mapped
 * (bytes from elsewhere), fn is called and that is all. */
WEIR_MUST_USE int weir__mapped_read(const struct weir__mapped *mapped, int (*fn)(void *arg),
                                    void *arg);

/* By what runs inside of a look, which finds that it cannot go on: the innermost look ends as if a
 * byte of its mapping were lost. Comes back only where there is no look. */
void weir__mapped_give_up(void);

#endif
