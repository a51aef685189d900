/* scan_names.c - the names of a list, one after the other. */
#include "scan_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "lines.h"

#include "banned.h"

#define WHY_MAX 320u

/* Names that end with NUL are printed by programs, and one that is empty is a name that was lost.
 * All of them are told as one: a file of zeros has as many as it has bytes. */
struct empties {
    uint64_t entries, first, count;
};

struct reading {
    const char *list;
    const struct weir__scan_names *names;
    bool from0, is_good, has_names;
    struct empties empties;
};

static void tell(struct reading *reading, const char *what, const char *why)
{
    reading->is_good = false;
    reading->names->tell(reading->names->arg, reading->list, what, why);
}

static void tell_empties(struct reading *reading)
{
    const struct empties *empties = &reading->empties;
    char why[WHY_MAX], more[64] = "";
    if (empties->count == 0)
        return;
    if (empties->count > 1)
        snprintf(more, sizeof(more), " and %" PRIu64 " more are", empties->count - 1);
    snprintf(why, sizeof(why), "name %" PRIu64 "%s empty: what prints them has lost %s",
             empties->first, more[0] ? more : " is", more[0] ? "some" : "one");
    tell(reading, "cannot scan all of", why);
}

static bool take(struct reading *reading, const char *line, size_t length)
{
    if (length == 0)
        return true; /* an empty line */
    reading->has_names = true;
    if (!memchr(line, '\0', length))
        return reading->names->take(reading->names->arg, line, reading->empties.entries + 1);
    tell(reading, "cannot read", "a NUL byte in a line: names that end with NUL need --from0");
    return false;
}

static bool is_stopped(const struct reading *reading)
{
    return reading->names->is_stopped && reading->names->is_stopped(reading->names->arg);
}

static void read_all(struct reading *reading, struct weir__lines *lines)
{
    struct empties *empties = &reading->empties;
    const char *line;
    size_t length;
    int result = 0;
    while (!is_stopped(reading) && (result = weir__lines_next(lines, &line, &length)) > 0 &&
           take(reading, line, length)) {
        empties->entries++;
        if (!reading->from0 || length > 0)
            continue;
        if (empties->count++ == 0)
            empties->first = empties->entries;
    }
    tell_empties(reading);
    if (result < 0 && !is_stopped(reading))
        tell(reading, "cannot read",
             result == -WEIR_E_OVERFLOW ? "a line is longer than 1 MiB" : NULL);
    else if (result == 0 && !reading->has_names && !reading->names->may_be_empty &&
             reading->is_good && !is_stopped(reading))
        tell(reading, "cannot find a name in", "the list is empty, and nothing was scanned for it");
}

bool weir__scan_names_each(const char *list, bool from0, const struct weir__scan_names *names)
{
    enum weir__lines_end end = from0 ? WEIR__LINES_NUL : WEIR__LINES_LF;
    struct reading reading = {.list = list, .names = names, .from0 = from0, .is_good = true};
    struct weir__lines lines;
    if (weir__lines_open(&lines, list, end, WEIR__SCAN_NAME_MAX) < 0)
        tell(&reading, "cannot open", NULL);
    else {
        lines.is_stopped = names->is_stopped;
        lines.arg = names->arg;
        read_all(&reading, &lines);
    }
    weir__lines_fini(&lines);
    return reading.is_good;
}
