/* sems.h - the contenders: counting semaphores as people make them.
 *
 * Each is written as its own documentation or the textbook has it: sem_t as it is; a pthread mutex
 * with a condition variable that is signaled at every release; the same of GLib; a dispatch
 * semaphore where libdispatch is installed.
 *
 * Ownership: a semaphore lives in the caller's memory.
 */
#ifndef WEIR_BENCH_SEMS_H
#define WEIR_BENCH_SEMS_H

#include <pthread.h>
#include <semaphore.h>
#include <weir/budget.h>

#ifdef BENCH_GLIB
#include <glib.h>
#endif
#ifdef BENCH_DISPATCH
#include <dispatch/dispatch.h>
#endif

struct posix_sem {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint64_t available;
};

void posix_sem_init(struct posix_sem *sem, uint64_t capacity);
void posix_sem_fini(struct posix_sem *sem);
void posix_sem_acquire(struct posix_sem *sem);
void posix_sem_release(struct posix_sem *sem);

#ifdef BENCH_GLIB
struct glib_sem {
    GMutex mutex;
    GCond cond;
    uint64_t available;
};

void glib_sem_init(struct glib_sem *sem, uint64_t capacity);
void glib_sem_fini(struct glib_sem *sem);
void glib_sem_acquire(struct glib_sem *sem);
void glib_sem_release(struct glib_sem *sem);
#endif

/* All of them behind one face, where a call more or less does not matter. */
union sem {
    struct weir_budget budget;
    sem_t posix;
    struct posix_sem cond;
#ifdef BENCH_GLIB
    struct glib_sem glib;
#endif
#ifdef BENCH_DISPATCH
    dispatch_semaphore_t dispatch;
#endif
};

struct sem_ops {
    const char *name;
    void (*init)(union sem *sem, unsigned capacity);
    void (*fini)(union sem *sem);
    /* The permit is for those who have one. */
    void (*acquire)(union sem *sem, struct weir_permit *permit);
    void (*release)(union sem *sem, struct weir_permit *permit);
};

/* Those that were not built have only their names. */
extern const struct sem_ops sem_weir, sem_posix, sem_cond, sem_glib, sem_dispatch;

#endif
