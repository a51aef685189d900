/* xp_fibre.h - stacks that take turns within one thread.
 *
 * A hand-written switch on x86-64 (six registers), ucontext elsewhere. Stacks have a guard page
 * below and are kept from one execution to the next; starting again simply forgets what was there.
 *
 * Ownership: a fibre's stack is mapped by xp_fibre_map() once and never given back.
 */
#ifndef WEIR_EXPLORE_XP_FIBRE_H
#define WEIR_EXPLORE_XP_FIBRE_H

#include <stddef.h>

/* XP_UCONTEXT asks for the portable switch where the fast one could be had. */
#if defined(__x86_64__) && !defined(XP_UCONTEXT)
#define XP_FAST_SWITCH 1
#endif
#ifndef XP_FAST_SWITCH
#include <ucontext.h>
#endif

/* The sanitizers make frames several times larger. */
#if defined(__SANITIZE_ADDRESS__)
#define XP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XP_ASAN 1
#endif
#endif
#ifdef XP_ASAN
#define XP_STACK_SIZE ((size_t)512 * 1024)
#else
#define XP_STACK_SIZE ((size_t)64 * 1024)
#endif

struct xp_fibre {
    char *stack; /* its lowest byte */
    size_t stack_size;
    void *sp; /* while it does not run; elsewhere than on x86-64 always the stack's start */
#ifndef XP_FAST_SWITCH
    ucontext_t context;
#endif
#ifdef XP_ASAN
    void *fake_stack;
#endif
};

void xp_fibre_map(struct xp_fibre *fibre);

/* Makes a fibre of the calling thread's own stack. */
void xp_fibre_adopt(struct xp_fibre *fibre);

/* The next switch to the fibre calls entry(), which must not return. */
void xp_fibre_reset(struct xp_fibre *fibre, void (*entry)(void));

/* Runs to until somebody switches to from. */
void xp_fibre_switch(struct xp_fibre *from, struct xp_fibre *to);

/* The first thing that entry() does. */
void xp_fibre_entered(struct xp_fibre *self);

#endif
