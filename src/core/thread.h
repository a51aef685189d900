/* thread.h - starting and joining threads; used by the crew alone.
 *
 * Ownership: a started thread is joined exactly once by whoever started it, or given up for good
 * with weir__thread_abandon() when the process is about to leave without it.
 */
#ifndef WEIR_CORE_THREAD_H
#define WEIR_CORE_THREAD_H

#include <stdint.h>
#include <weir/defs.h>

struct weir__thread {
    uint64_t handle;
};

/* 0, or -WEIR_E_NO_MEMORY, -WEIR_E_BUSY when the system has no thread left. The name is cut to the
 * kernel's 15 bytes. In the new thread all signals are blocked but SIGURG, which only
 * interrupts, and those that its own faults raise.
 */
WEIR_MUST_USE int weir__thread_start(struct weir__thread *ret_thread, const char *name,
                                     void (*fn)(void *arg), void *arg);
/* The calling thread's own handle, which the one that start returns equals. */
void weir__thread_self(struct weir__thread *ret_thread);

void weir__thread_join(struct weir__thread *thread);
void weir__thread_abandon(struct weir__thread *thread);

/* Makes the thread's current system call return EINTR. */
void weir__thread_interrupt(struct weir__thread *thread);

#endif
