/* error.c - the error table looked up, and the detail of the last failure.
 *
 * A refusal must be cheap, since refusing is what a full server does all day. So a failure stores
 * a template and its numbers, and the text is put together only if someone asks for it.
 */
#include "error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct entry {
    int code;
    int http;
    int exit;
    bool retryable;
    const char *name;
    const char *text;
};

static const struct entry table[] = {{0, 200, 0, false, "Ok", "done"},
#define ROW(number, constant, name, text, http, retryable, exit)                                   \
    {number, http, exit, retryable, name, text},
                                     WEIR_ERRORS(ROW)
#undef ROW
};

static const struct entry *find(int code)
{
    /* -INT_MIN does not exist, so compare on the negative side. */
    int negative = code > 0 ? -code : code;
    const struct entry *internal = NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (-table[i].code == negative)
            return &table[i];
        if (table[i].code == WEIR_E_INTERNAL)
            internal = &table[i];
    }
    return internal;
}

const char *weir_error_name(int code)
{
    return find(code)->name;
}

const char *weir_error_text(int code)
{
    return find(code)->text;
}

int weir_error_http(int code)
{
    return find(code)->http;
}

bool weir_error_is_retryable(int code)
{
    return find(code)->retryable;
}

int weir_error_exit(int code)
{
    return find(code)->exit;
}

int weir_error_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return 0;
    case ENOMEM:
        return -WEIR_E_NO_MEMORY;
    case EMFILE:
    case ENFILE:
        return -WEIR_E_NO_DESCRIPTORS;
    case ENOSPC:
    case EDQUOT:
        return -WEIR_E_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return -WEIR_E_DENIED;
    case ENOENT:
    case ENOTDIR:
        return -WEIR_E_NOT_FOUND;
    case EEXIST:
        return -WEIR_E_EXISTS;
    case ETIMEDOUT:
        return -WEIR_E_TIMEOUT;
    case EINVAL:
    case ENAMETOOLONG:
        return -WEIR_E_INVALID;
    case ENOSYS:
    case EOPNOTSUPP:
        return -WEIR_E_UNSUPPORTED;
    case ECANCELED:
        return -WEIR_E_CANCELED;
    case EAGAIN:
    case EINTR:
        return -WEIR_E_TRANSIENT;
    default:
        return -WEIR_E_IO;
    }
}

static _Thread_local struct {
    const char *template;
    char name[WEIR_NAME_MAX];
    uint64_t number[3];
    char text[256];
} last;

int weir__fail(int code, const char *name, const char *template, uint64_t first, uint64_t second,
               uint64_t third)
{
    last.template = template;
    last.number[0] = first;
    last.number[1] = second;
    last.number[2] = third;
    size_t length = name ? strnlen(name, sizeof(last.name) - 1) : 0;
    if (length > 0)
        memcpy(last.name, name, length);
    last.name[length] = '\0';
    return -code;
}

/* "72.0 ms": a time as people read it. */
static int print_time(char *to, size_t room, uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{WEIR_NS_PER_S, "s"}, {WEIR_NS_PER_MS, "ms"}, {WEIR_NS_PER_US, "us"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ns >= units[i].ns)
            return snprintf(to, room, "%" PRIu64 ".%" PRIu64 " %s", ns / units[i].ns,
                            ns % units[i].ns * 10 / units[i].ns, units[i].name);
    return snprintf(to, room, "%" PRIu64 " ns", ns);
}

const char *weir_error_detail(void)
{
    size_t at = 0;
    for (const char *p = last.template; p && *p && at < sizeof(last.text) - 1; p++) {
        size_t room = sizeof(last.text) - at;
        int printed;
        if (p[0] == '$' && p[1] == 'n') {
            printed = snprintf(last.text + at, room, "%s", last.name);
            p++;
        } else if (p[0] == '$' && p[1] >= '1' && p[1] <= '3') {
            printed = snprintf(last.text + at, room, "%" PRIu64, last.number[p[1] - '1']);
            p++;
        } else if (p[0] == '$' && p[1] == 't' && p[2] >= '1' && p[2] <= '3') {
            printed = print_time(last.text + at, room, last.number[p[2] - '1']);
            p += 2;
        } else {
            printed = snprintf(last.text + at, room, "%c", *p);
        }
        at += (size_t)printed < room ? (size_t)printed : room - 1;
    }
    last.text[at] = '\0';
    return last.text;
}
