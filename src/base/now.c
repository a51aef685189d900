/* now.c - writes that do not wait for who reads. */
#include "now.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys.h"

#include "banned.h"

void weir__now_open(struct weir__now *now)
{
    char path[sizeof("/proc/self/fd/") + 11];
    struct stat st;
    if (now->_again >= 0 || now->_is_socket || weir__sys_fstat(now->_fd, &st) < 0)
        return;
    now->_is_socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(now->_fd)))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", now->_fd);
    now->_again = weir__sys_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
}

void weir__now_close(struct weir__now *now)
{
    weir__sys_close_at(&now->_again);
}

ssize_t weir__now_write(const struct weir__now *now, const void *bytes, size_t count)
{
    if (now->_is_socket)
        return send(now->_fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(now->_again >= 0 ? now->_again : now->_fd, bytes, count);
}
