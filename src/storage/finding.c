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

static void note_gaps(struct weir__storage *storage, const struct weir__store_report *report)
{
    const struct weir__store_gaps *gaps = &report->gaps;
    if (gaps->missing_segments + gaps->unreadable_bytes > 0)
        weir__finding_add(
            storage,
            "the disk does not give %llu segments and %llu bytes of others, the first in "
            "%08x.seg: %s",
            (unsigned long long)gaps->missing_segments, (unsigned long long)gaps->unreadable_bytes,
            report->missing_first,
            gaps->missing_segments + gaps->hidden_bytes > 0
                ? "chunks may be there that are not found"
                : "all that lies there is known");
    if (gaps->lost_segments + gaps->lost_bytes > 0)
        weir__finding_add(
            storage,
            "%llu segments and %llu bytes of others are gone since it was closed, the "
            "first of %08x.seg",
            (unsigned long long)gaps->lost_segments, (unsigned long long)gaps->lost_bytes,
            report->missing_first);
}

void weir__finding_note(struct weir__storage *storage, const struct weir__store_report *report)
{
    if (report->is_read_only)
        weir__finding_add(storage, "the folder cannot be written: serving what is there");
    note_gaps(storage, report);
    if (report->index_was_rebuilt)
        weir__finding_add(storage, "index made anew (%s)", report->index_why);
    if (report->torn_bytes + report->bad_records + report->bad_segments > 0)
        weir__finding_add(
            storage,
            "%llu bytes of unfinished writes cut off, %llu damaged records and %llu files "
            "that are no segments put aside",
            (unsigned long long)report->torn_bytes, (unsigned long long)report->bad_records,
            (unsigned long long)report->bad_segments);
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
