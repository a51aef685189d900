/* finding.c - what is told of at the start, a line each: how the folder was found, and what others
 * may get at. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "storage_part.h"
#include "sys.h"

#include "banned.h"

void weir__finding_add(struct weir__storage *storage, const char *format, ...)
{
    size_t size = sizeof(storage->findings), length = strlen(storage->findings);
    va_list args;
    /* A line that does not fit is cut, and the rest is left out. */
    if (length + 2 >= size)
        return;
    va_start(args, format);
    vsnprintf(storage->findings + length, size - length - 1, format, args);
    va_end(args);
    length = strlen(storage->findings);
    snprintf(storage->findings + length, size - length, "\n");
}

static void add_line(void *arg, const char *line)
{
    weir__finding_add(arg, "%s", line);
}

void weir__finding_note(struct weir__storage *storage, const struct weir__store_report *report)
{
    if (report->is_read_only)
        weir__finding_add(storage, "the folder cannot be written: serving what is there");
    weir__store_report_tell(report, add_line, storage);
}

/* --- what others may get at --- */

static bool is_open(const char *path, mode_t to)
{
    struct stat st;
    return path && path[0] && weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0 &&
           (st.st_mode & to) != 0;
}

void weir__finding_rights(struct weir__storage *storage, const struct weir__rules *rules)
{
    const char *data = rules->own->data, *key = rules->service->tls.key;
    if (!rules->own->amnesia.is_enabled && is_open(data, S_IWOTH))
        weir__finding_add(storage,
                          "everybody on this machine can write to '%.200s': chmod o-w it, or "
                          "anybody may replace what is in it",
                          data);
    if (is_open(key, S_IROTH | S_IWOTH))
        weir__finding_add(storage,
                          "everybody on this machine can read the private key '%.200s': chmod "
                          "o-rwx it, and since somebody may have done so, replace it",
                          key);
}

const char *weir__storage_findings(const struct weir__storage *storage)
{
    return storage->findings;
}
