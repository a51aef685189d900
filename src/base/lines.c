/* lines.c - a block at a time, and lines out of it. */
#include "lines.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "sys.h"

#include "banned.h"

#define BLOCK   65536u
#define LOOK_MS 100 /* whether it is stopped, while nothing comes */

int weir__lines_open(struct weir__lines *lines, const char *path, enum weir__lines_end end,
                     size_t max)
{
    bool is_input = strcmp(path, "-") == 0;
    *lines = (struct weir__lines){
        ._fd = is_input ? STDIN_FILENO : -1,
        ._is_input = is_input,
        ._end = end,
    };
    weir__buffer_init(&lines->_line, max);
    if (!is_input)
        lines->_fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (lines->_fd < 0)
        return weir_error_from_errno(errno);
    lines->_block = weir__base_alloc(1, BLOCK);
    if (!lines->_block) {
        errno = ENOMEM;
        return -WEIR_E_NO_MEMORY;
    }
    return 0;
}

void weir__lines_fini(struct weir__lines *lines)
{
    if (!lines->_is_input)
        weir__sys_close(lines->_fd);
    weir__base_free(lines->_block);
    weir__buffer_fini(&lines->_line);
    *lines = (struct weir__lines){._fd = -1};
}

/* 1, 0 at the end, or what reading failed with. */
static int fill(struct weir__lines *lines)
{
    ssize_t n;
    do {
        while (weir__sys_wait_readable(lines->_fd, LOOK_MS) == 0)
            if (lines->is_stopped && lines->is_stopped(lines->arg)) {
                errno = ECANCELED;
                return -WEIR_E_CANCELED;
            }
        n = weir__sys_read(lines->_fd, lines->_block, BLOCK);
    } while (n < 0 && errno == EAGAIN);
    if (n < 0)
        return weir_error_from_errno(errno);
    lines->_used = (size_t)n;
    lines->_next = 0;
    lines->_read += (uint64_t)n;
    return n > 0;
}

int weir__lines_next(struct weir__lines *lines, const char **ret_line, size_t *ret_length)
{
    char end = lines->_end == WEIR__LINES_NUL ? '\0' : '\n';
    bool is_whole = false;
    int result = 1;
    weir__buffer_truncate(&lines->_line, 0);
    while (!is_whole) {
        if (lines->_next == lines->_used)
            result = fill(lines);
        if (result < 0)
            return result;
        if (result == 0) /* the end of the file ends a line, too, unless there is nothing of it */
            break;
        const char *from = lines->_block + lines->_next;
        size_t left = lines->_used - lines->_next;
        const char *stop = memchr(from, end, left);
        size_t length = stop ? (size_t)(stop - from) : left;
        is_whole = stop != NULL;
        lines->_next += length + is_whole;
        result = weir__buffer_append(&lines->_line, from, length);
        if (result < 0) {
            errno = result == -WEIR_E_NO_MEMORY ? ENOMEM : EOVERFLOW;
            return result;
        }
    }
    size_t length = weir__buffer_length(&lines->_line);
    if (!is_whole && length == 0)
        return 0;
    *ret_line = weir__buffer_text(&lines->_line);
    if (lines->_end == WEIR__LINES_CRLF && length > 0 && (*ret_line)[length - 1] == '\r')
        weir__buffer_truncate(&lines->_line, --length);
    *ret_length = length;
    return 1;
}

bool weir__lines_place(const struct weir__lines *lines, uint64_t *ret_at, uint64_t *ret_size)
{
    struct stat st;
    if (weir__sys_fstat(lines->_fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    *ret_at = lines->_read - (lines->_used - lines->_next);
    *ret_size = (uint64_t)st.st_size;
    return true;
}
