/* finding.c - what is told of at the start, a line each: how the folder was found, and what others
 * may get at. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon_part.h"
#include "sys.h"

#include "banned.h"

void weir__daemon_find(struct weir__daemon *daemon, const char *format, ...)
{
    size_t size = sizeof(daemon->findings), length = strlen(daemon->findings);
    va_list args;
    /* A line that does not fit is cut, and the rest is left out. */
    if (length + 2 >= size)
        return;
    va_start(args, format);
    vsnprintf(daemon->findings + length, size - length - 1, format, args);
    va_end(args);
    length = strlen(daemon->findings);
    snprintf(daemon->findings + length, size - length, "\n");
}

/* --- what others may get at --- */

static bool is_open(const char *path, mode_t to)
{
    struct stat st;
    return path && path[0] && weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 &&
           (st.st_mode & to) != 0;
}

void weir__daemon_find_rights(struct weir__daemon *daemon, const struct weir__daemon_rules *rules)
{
    const char *data = daemon->service->folder(rules), *key = rules->service->tls.key;
    if (is_open(data, S_IWOTH))
        weir__daemon_find(daemon,
                          "everybody on this machine can write to '%.200s': chmod o-w it, or "
                          "anybody may replace what is in it",
                          data);
    if (is_open(key, S_IROTH | S_IWOTH))
        weir__daemon_find(daemon,
                          "everybody on this machine can read the private key '%.200s': chmod "
                          "o-rwx it, and since somebody may have done so, replace it",
                          key);
}

const char *weir__daemon_findings(const struct weir__daemon *daemon)
{
    return daemon->findings;
}
