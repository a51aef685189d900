/* thread.c - POSIX threads, as far as core needs them. */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "atomic.h"
#include "error.h"
#include "fault.h"
#include "memory.h"

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "a thread's handle fits");

struct start {
    void (*fn)(void *arg);
    void *arg;
    char name[16];
};

static void *run(void *arg)
{
    struct start start = *(struct start *)arg;
    weir__free(arg);
    pthread_setname_np(pthread_self(), start.name);
    start.fn(start.arg);
    return NULL;
}

static void nothing(int signal)
{
    (void)signal;
}

/* SIGURG is ignored by default; a handler without SA_RESTART makes it interrupt system calls. */
static void install_interrupt(void)
{
    struct sigaction old;
    if (sigaction(SIGURG, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        struct sigaction action = {.sa_handler = nothing};
        sigemptyset(&action.sa_mask);
        sigaction(SIGURG, &action, NULL);
    }
}

int weir__thread_start(struct weir__thread *ret_thread, const char *name, void (*fn)(void *arg),
                       void *arg)
{
    static uint32_t installed;
    if (!weir__xchg32(&installed, 1))
        install_interrupt();
    if (weir_fault_hit(WEIR_FAULT_THREAD))
        return weir__fail(WEIR_E_BUSY, name, "thread '$n': the system has no thread left", 0, 0, 0);
    struct start *start = weir__alloc(1, sizeof(*start));
    if (!start)
        return weir__fail(WEIR_E_NO_MEMORY, name, "thread '$n': out of memory", 0, 0, 0);
    start->fn = fn;
    start->arg = arg;
    memcpy(start->name, name, strnlen(name, sizeof(start->name) - 1));

    sigset_t blocked, before;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGURG);
    /* Faults of the thread itself: blocked, they would kill the process past any handler. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        weir__free(start);
        return weir__fail(error == ENOMEM ? WEIR_E_NO_MEMORY : WEIR_E_BUSY, name,
                          "thread '$n': cannot be started (errno $1)", (uint64_t)error, 0, 0);
    }
    ret_thread->handle = 0;
    memcpy(&ret_thread->handle, &thread, sizeof(thread));
    return 0;
}

void weir__thread_self(struct weir__thread *ret_thread)
{
    pthread_t self = pthread_self();
    ret_thread->handle = 0;
    memcpy(&ret_thread->handle, &self, sizeof(self));
}

static pthread_t pthread_of(const struct weir__thread *thread)
{
    pthread_t handle;
    memcpy(&handle, &thread->handle, sizeof(handle));
    return handle;
}

/* An interrupt does not end a join, and may wait for its end: there the C library gives memory
 * back, which ThreadSanitizer does not expect to be interrupted (it hangs in its own lock). */
void weir__thread_join(struct weir__thread *thread)
{
    sigset_t interrupts, before;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGURG);
    pthread_sigmask(SIG_BLOCK, &interrupts, &before);
    pthread_join(pthread_of(thread), NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void weir__thread_abandon(struct weir__thread *thread)
{
    pthread_detach(pthread_of(thread));
}

void weir__thread_interrupt(struct weir__thread *thread)
{
    pthread_kill(pthread_of(thread), SIGURG);
}
