/* sems.c - the contenders among the semaphores. */
#include "sems.h"

#include "bench.h"

/* Longer than any run: a wait in Weir has an end. */
#define LONG_NS (600 * WEIR_NS_PER_S)

/* ---- a pthread mutex and a condition variable ---- */

void posix_sem_init(struct posix_sem *sem, uint64_t capacity)
{
    pthread_mutex_init(&sem->mutex, NULL);
    pthread_cond_init(&sem->cond, NULL);
    sem->available = capacity;
}

void posix_sem_fini(struct posix_sem *sem)
{
    pthread_cond_destroy(&sem->cond);
    pthread_mutex_destroy(&sem->mutex);
}

void posix_sem_acquire(struct posix_sem *sem)
{
    pthread_mutex_lock(&sem->mutex);
    while (sem->available == 0)
        pthread_cond_wait(&sem->cond, &sem->mutex);
    sem->available--;
    pthread_mutex_unlock(&sem->mutex);
}

void posix_sem_release(struct posix_sem *sem)
{
    pthread_mutex_lock(&sem->mutex);
    sem->available++;
    pthread_cond_signal(&sem->cond);
    pthread_mutex_unlock(&sem->mutex);
}

/* ---- the same, of GLib ---- */

#ifdef BENCH_GLIB
void glib_sem_init(struct glib_sem *sem, uint64_t capacity)
{
    g_mutex_init(&sem->mutex);
    g_cond_init(&sem->cond);
    sem->available = capacity;
}

void glib_sem_fini(struct glib_sem *sem)
{
    g_cond_clear(&sem->cond);
    g_mutex_clear(&sem->mutex);
}

void glib_sem_acquire(struct glib_sem *sem)
{
    g_mutex_lock(&sem->mutex);
    while (sem->available == 0)
        g_cond_wait(&sem->cond, &sem->mutex);
    sem->available--;
    g_mutex_unlock(&sem->mutex);
}

void glib_sem_release(struct glib_sem *sem)
{
    g_mutex_lock(&sem->mutex);
    sem->available++;
    g_cond_signal(&sem->cond);
    g_mutex_unlock(&sem->mutex);
}
#endif

/* ---- one face ---- */

static void weir_init(union sem *sem, unsigned capacity)
{
    if (weir_budget_init(&sem->budget, "bench", capacity) != 0)
        bench_die("weir_budget_init");
}

static void weir_fini(union sem *sem)
{
    weir_budget_fini(&sem->budget);
}

static void weir_acquire(union sem *sem, struct weir_permit *permit)
{
    struct weir_deadline deadline = weir_deadline_in(LONG_NS, NULL);
    if (weir_budget_acquire(&sem->budget, 1, permit, &deadline) != 0)
        bench_die("weir_budget_acquire");
}

static void weir_release(union sem *sem, struct weir_permit *permit)
{
    (void)sem;
    weir_permit_release(permit);
}

const struct sem_ops sem_weir = {"weir_budget", weir_init, weir_fini, weir_acquire, weir_release};

static void posix_init(union sem *sem, unsigned capacity)
{
    if (sem_init(&sem->posix, 0, capacity) != 0)
        bench_die("sem_init");
}

static void posix_fini(union sem *sem)
{
    sem_destroy(&sem->posix);
}

static void posix_acquire(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    while (sem_wait(&sem->posix) != 0) {}
}

static void posix_release(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    sem_post(&sem->posix);
}

const struct sem_ops sem_posix = {"sem_t", posix_init, posix_fini, posix_acquire, posix_release};

static void cond_init(union sem *sem, unsigned capacity)
{
    posix_sem_init(&sem->cond, capacity);
}

static void cond_fini(union sem *sem)
{
    posix_sem_fini(&sem->cond);
}

static void cond_acquire(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    posix_sem_acquire(&sem->cond);
}

static void cond_release(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    posix_sem_release(&sem->cond);
}

const struct sem_ops sem_cond = {"pthread mutex+cond", cond_init, cond_fini, cond_acquire,
                                 cond_release};

#ifdef BENCH_GLIB
static void glib_init(union sem *sem, unsigned capacity)
{
    glib_sem_init(&sem->glib, capacity);
}

static void glib_fini(union sem *sem)
{
    glib_sem_fini(&sem->glib);
}

static void glib_acquire(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    glib_sem_acquire(&sem->glib);
}

static void glib_release(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    glib_sem_release(&sem->glib);
}

const struct sem_ops sem_glib = {"GLib GMutex+GCond", glib_init, glib_fini, glib_acquire,
                                 glib_release};
#else
const struct sem_ops sem_glib = {"GLib GMutex+GCond", NULL, NULL, NULL, NULL};
#endif

#ifdef BENCH_DISPATCH
static void dispatch_init(union sem *sem, unsigned capacity)
{
    sem->dispatch = dispatch_semaphore_create((intptr_t)capacity);
    if (!sem->dispatch)
        bench_die("dispatch_semaphore_create");
}

static void dispatch_fini(union sem *sem)
{
    dispatch_release(sem->dispatch);
}

static void dispatch_acquire(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    dispatch_semaphore_wait(sem->dispatch, DISPATCH_TIME_FOREVER);
}

static void dispatch_release_one(union sem *sem, struct weir_permit *permit)
{
    (void)permit;
    dispatch_semaphore_signal(sem->dispatch);
}

const struct sem_ops sem_dispatch = {"libdispatch semaphore", dispatch_init, dispatch_fini,
                                     dispatch_acquire, dispatch_release_one};
#else
const struct sem_ops sem_dispatch = {"libdispatch semaphore", NULL, NULL, NULL, NULL};
#endif
