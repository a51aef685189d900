/* mapped.c - the handler of SIGBUS and SIGSEGV, and the jump out of a look at lost bytes.
 *
 * A look is a record on the stack of the thread that looks: the range, where to jump, and the look
 * around it. The thread's innermost is in a thread-local pointer, which only that thread and its
 * own signal handler touch, so nothing here is shared but the handler itself.
 */
#include "mapped.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "sys.h"

#include "banned.h"

struct look {
    const unsigned char *bytes;
    size_t length;
    struct look *around;
    sigjmp_buf back;
};

static _Thread_local struct look *innermost;

const struct weir_lock_class weir__mapped_class = {"base-mapped", 900};
static struct weir_lock handler_lock = WEIR_LOCK_INIT(&weir__mapped_class);
/* Of SIGBUS, and of SIGSEGV. */
static struct handler {
    int number;
    bool is_installed;
    struct sigaction before;
} handlers[] = {{.number = SIGBUS}, {.number = SIGSEGV}};

#define ANYWHERE (SIZE_MAX - 1)

/* A wild address may have no number at all. */
static bool is_in(const struct look *look, uintptr_t at)
{
    return look->length == ANYWHERE ||
           (at >= (uintptr_t)look->bytes && at - (uintptr_t)look->bytes < look->length);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
    uintptr_t at = (uintptr_t)info->si_addr;
    /* Sent by somebody, not by a read: it has no address. */
    bool is_fault = info->si_code > 0;
    for (struct look *look = innermost; is_fault && look; look = look->around)
        if (is_in(look, at)) {
            innermost = look->around;
            /* The jump does not restore it; saving it with every look would be a system call. */
            pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
            siglongjmp(look->back, 1);
        }
    /* Not ours: who was there before sees it when the instruction is run again. */
    sigaction(number, &handlers[number == SIGSEGV].before, NULL);
    if (!is_fault)
        raise(number);
}

static int install(struct handler *handler)
{
    int result = 0;
    weir_lock_acquire(&handler_lock);
    if (!handler->is_installed) {
        struct sigaction action = {.sa_sigaction = on_fault};
        sigemptyset(&action.sa_mask);
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        if (sigaction(handler->number, &action, &handler->before) < 0)
            result = weir_error_from_errno(errno);
        else
            handler->is_installed = true;
    }
    weir_lock_release(&handler_lock);
    return result;
}

static int map(struct weir__mapped *ret_mapped, int fd, size_t max)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    if (!S_ISREG(st.st_mode))
        return -WEIR_E_INVALID;
    if (st.st_size <= 0)
        return -WEIR_E_CORRUPT;
    if ((uint64_t)st.st_size > max)
        return -WEIR_E_TOO_LARGE;
    void *bytes = weir__sys_mmap((size_t)st.st_size, PROT_READ, MAP_SHARED, fd);
    if (bytes == MAP_FAILED)
        return weir_error_from_errno(errno);
    *ret_mapped = (struct weir__mapped){bytes, (size_t)st.st_size};
    return 0;
}

int weir__mapped_open(struct weir__mapped *ret_mapped, int dir, const char *name, size_t max)
{
    int result = install(&handlers[0]);
    if (result < 0)
        return result;
    /* Not blocked by a FIFO of that name. */
    int fd = weir__sys_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return weir_error_from_errno(errno);
    result = map(ret_mapped, fd, max);
    weir__sys_close(fd);
    return result;
}

void weir__mapped_close(struct weir__mapped *mapped)
{
    if (!mapped || !mapped->bytes)
        return;
    munmap((void *)(uintptr_t)mapped->bytes, mapped->length);
    *mapped = (struct weir__mapped){0};
}

int weir__mapped_anywhere(struct weir__mapped *ret_mapped)
{
    int result = install(&handlers[0]);
    if (result == 0)
        result = install(&handlers[1]);
    if (result == 0)
        *ret_mapped = (struct weir__mapped){(const unsigned char *)1, ANYWHERE};
    return result;
}

int weir__mapped_read(const struct weir__mapped *mapped, int (*fn)(void *arg), void *arg)
{
    if (!mapped->bytes)
        return fn(arg);
    struct look look = {.bytes = mapped->bytes, .length = mapped->length, .around = innermost};
    if (sigsetjmp(look.back, 0))
        return -WEIR_E_IO;
    innermost = &look;
    int result = fn(arg);
    innermost = look.around;
    return result;
}

void weir__mapped_give_up(void)
{
    struct look *look = innermost;
    if (!look)
        return;
    innermost = look->around;
    siglongjmp(look->back, 1);
}
