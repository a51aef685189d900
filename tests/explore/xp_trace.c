/* xp_trace.c - what a replay prints: who did what to which address, in words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "xp_engine.h"

#define NAMES_MAX 32
static struct {
    const char *memory;
    size_t size;
    const char *name;
} names[NAMES_MAX];
static unsigned names_count;

void xp__names_reset(void)
{
    names_count = 0;
}

void xp_name(const void *memory, size_t size, const char *name)
{
    if (names_count == NAMES_MAX)
        return;
    names[names_count].memory = memory;
    names[names_count].size = size;
    names[names_count++].name = name;
}

/* A few texts can be in use at once, in one line of output. */
static char *next_text(size_t *ret_size)
{
    static char text[4][64];
    static unsigned next;
    *ret_size = sizeof(text[0]);
    return text[next++ % 4];
}

const char *xp__who(unsigned thread)
{
    size_t size;
    char *text = next_text(&size);
    if (thread == XP_MAIN)
        snprintf(text, size, "main");
    else
        snprintf(text, size, "thread %u", thread);
    return text;
}

static bool is_within(const void *p, const void *memory, size_t size)
{
    return (uintptr_t)p >= (uintptr_t)memory && (uintptr_t)p - (uintptr_t)memory < size;
}

const char *xp__where(const void *p)
{
    size_t size;
    char *text = next_text(&size);
    uintptr_t at = (uintptr_t)p;
    for (unsigned i = 0; i < names_count; i++) {
        if (is_within(p, names[i].memory, names[i].size)) {
            snprintf(text, size, "%s+%" PRIuPTR, names[i].name, at - (uintptr_t)names[i].memory);
            return text;
        }
    }
    if (is_within(p, xp.scenario->state, xp.scenario->state_size)) {
        snprintf(text, size, "state+%" PRIuPTR, at - (uintptr_t)xp.scenario->state);
        return text;
    }
    for (unsigned i = 0; i < XP_FIBRES_MAX; i++) {
        const char *stack = xp.thread[i].fibre.stack;
        if (is_within(p, stack, XP_STACK_SIZE)) {
            uintptr_t below_top = (uintptr_t)stack + XP_STACK_SIZE - at;
            if (i == XP_MAIN)
                snprintf(text, size, "main's stack-%" PRIuPTR, below_top);
            else
                snprintf(text, size, "stack %u-%" PRIuPTR, i, below_top);
            return text;
        }
    }
    snprintf(text, size, "%p", p);
    return text;
}

void xp__trace(const char *format, ...)
{
    printf("# %4u  %-9s ", xp.steps, xp__who(xp.current));
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

/* What one thread waits for; an empty text for one that does not wait. */
static void describe_wait(const struct xp_thread *thread, char *text, size_t size)
{
    const struct weir_lock *lock = thread->waits_for;
    text[0] = '\0';
    if (thread->state == XP_LOCK && lock->_class)
        snprintf(text, size, "wants the lock '%s', held by %s", lock->_class->name,
                 xp__who(lock->_word - 1));
    else if (thread->state == XP_LOCK)
        snprintf(text, size, "wants the lock at %s, which is gone", xp__where(lock));
    else if (thread->state == XP_FUTEX)
        snprintf(text, size, "sleeps on %s", xp__where(thread->waits_for));
    else if (thread->state == XP_JOIN)
        snprintf(text, size, "joins %s", xp__who(thread->joins));
    else if (thread->state == XP_AWAIT)
        snprintf(text, size, "awaits its condition");
}

void xp__describe_waits(char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < xp.threads; i++) {
        char wait[128];
        describe_wait(&xp.thread[i], wait, sizeof(wait));
        if (wait[0] && at + 192 < size)
            at +=
                (size_t)snprintf(text + at, size - at, "%s%s %s", at ? "; " : "", xp__who(i), wait);
    }
}
