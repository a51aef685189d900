/* report.c - how a folder was found, in lines for people. */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"
#include "store_part.h"

#include "banned.h"

#define MIB (UINT64_C(1) << 20)

struct lines {
    void (*fn)(void *arg, const char *line);
    void *arg;
};

__attribute__((format(printf, 2, 3))) static void tell(const struct lines *lines,
                                                       const char *format, ...)
{
    char line[WEIR__STORE_WHY_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    lines->fn(lines->arg, line);
}

static void tell_gaps(const struct lines *lines, const struct weir__store_report *report)
{
    const struct weir__store_gaps *gaps = &report->gaps;
    if (gaps->missing_segments + gaps->unreadable_bytes > 0)
        tell(lines,
             "the disk does not give %llu segments and %llu bytes of others, the first in "
             "%08x.seg: %s",
             (unsigned long long)gaps->missing_segments, (unsigned long long)gaps->unreadable_bytes,
             report->missing_first,
             gaps->missing_segments + gaps->hidden_bytes > 0
                 ? "chunks may be there that are not found"
                 : "all that lies there is known");
    uint64_t gone = gaps->lost_bytes - report->lost_inside;
    if (gaps->lost_segments + gone > 0)
        tell(lines,
             "%llu segments and %llu bytes of others are gone since it was closed, the first of "
             "%08x.seg",
             (unsigned long long)gaps->lost_segments, (unsigned long long)gone,
             report->missing_first);
    if (report->lost_inside > 0)
        tell(lines,
             "%llu bytes are damaged, the first in %08x.seg, and nobody can tell what they were%s",
             (unsigned long long)report->lost_inside, report->missing_first,
             report->left_bytes < report->lost_inside ? ": see 'quarantine'" : "");
    if (report->left_bytes > 0)
        tell(lines, "%llu damaged bytes stay where they are, and are not kept in quarantine: %s",
             (unsigned long long)report->left_bytes, weir__store_unkept_text(report->unkept_why));
}

/* What was done about what does not belong there, and what was not. */
static void tell_scraps(const struct lines *lines, const struct weir__store_report *report)
{
    if (report->torn_bytes + report->bad_records + report->bad_segments > 0)
        tell(lines,
             "%llu bytes of unfinished writes cut off, %llu damaged records found, %llu files that "
             "are no segments put aside",
             (unsigned long long)report->torn_bytes, (unsigned long long)report->bad_records,
             (unsigned long long)(report->bad_segments - report->bad_left));
    if (report->bad_left > 0)
        tell(lines, "%llu files that are no segments stay where they are: %s",
             (unsigned long long)report->bad_left,
             report->is_read_only ? "the store is only read" : "many lie aside under their names");
}

void weir__store_report_tell(const struct weir__store_report *report,
                             void (*fn)(void *arg, const char *line), void *arg)
{
    struct lines lines = {fn, arg};
    tell_gaps(&lines, report);
    if (report->doubt_errno)
        tell(&lines,
             "what is there cannot be synced (%s): it is served, and nobody is told that it is "
             "safe",
             weir__log_reason(report->doubt_errno));
    if (report->reserve_missing > 0)
        tell(&lines,
             "the disk is full: %llu MiB are missing in the room that is kept for compaction and "
             "deletions: free that much, or delete chunks",
             (unsigned long long)((report->reserve_missing + MIB - 1) / MIB));
    if (report->reserve_why)
        tell(&lines, "no room is kept for compaction and deletions, 'reserve' cannot be used: %s",
             report->reserve_why);
    if (report->index_was_rebuilt)
        tell(&lines, "index made anew (%s)", report->index_why);
    tell_scraps(&lines, report);
}
