/* scan_list.c - hands out the paths: those of the command line, those of a list, those staged.
 *
 * A list is read as a stream, and no faster than its names are taken.
 */
#include "scan_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job_mutants.h"
#include "lines.h"
#include "sys.h"

#include "banned.h"

static bool send_path(struct weir__scan_worker *w, enum weir__job_kind kind, const char *path)
{
    struct weir__job *job = weir__job_new(kind, path, strlen(path), 0);
    if (!job && WEIR__JOB_MUTANT(JOB_WITHOUT_MEMORY_IS_SILENT))
        return true;
    if (!job) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return true;
    }
    if (weir__job_send(w->run, job) == 0)
        return true;
    weir__job_free(job);
    return false;
}

/* Names that end with NUL are printed by programs, and one that is empty is a name that was lost.
 * All of them are told as one: a file of zeros has as many as it has bytes. */
struct empties {
    uint64_t entries, first, count;
};

static void tell_empties(struct weir__scan_worker *w, const char *name,
                         const struct empties *empties)
{
    char why[WEIR__SCAN_WHY_MAX], more[64] = "";
    if (empties->count == 0)
        return;
    if (empties->count > 1)
        snprintf(more, sizeof(more), " and %" PRIu64 " more are", empties->count - 1);
    snprintf(why, sizeof(why), "name %" PRIu64 "%s empty: what prints them has lost %s",
             empties->first, more[0] ? more : " is", more[0] ? "some" : "one");
    weir__scan_tell(w, name, "cannot scan all of", why);
}

static bool send_name(struct weir__scan_worker *w, const char *name, const char *line,
                      size_t length)
{
    if (length == 0)
        return true; /* an empty line */
    if (!memchr(line, '\0', length))
        return send_path(w, WEIR__JOB_LISTED, line);
    weir__scan_tell(w, name, "cannot read",
                    "a NUL byte in a line: names that end with NUL need --from0");
    return false;
}

static void send_list(struct weir__scan_worker *w, const char *name, bool from0)
{
    enum weir__lines_end end = from0 ? WEIR__LINES_NUL : WEIR__LINES_LF;
    struct weir__lines lines;
    struct empties empties = {0};
    const char *line;
    size_t length;
    int result = weir__lines_open(&lines, name, end, WEIR__SCAN_PATH_MAX);
    if (result < 0) {
        weir__scan_tell(w, name, "cannot open", NULL);
    } else {
        while (!weir__scan_is_stopped(w) &&
               (result = weir__lines_next(&lines, &line, &length)) > 0 &&
               send_name(w, name, line, length)) {
            empties.entries++;
            if (!from0 || length > 0)
                continue;
            if (empties.count++ == 0)
                empties.first = empties.entries;
        }
        tell_empties(w, name, &empties);
        if (result < 0 && !weir__scan_is_stopped(w))
            weir__scan_tell(w, name, "cannot read",
                            result == -WEIR_E_OVERFLOW ? "a line is longer than 1 MiB" : NULL);
    }
    weir__lines_fini(&lines);
}

int weir__scan_list_main(struct weir_crew_self *self, void *arg)
{
    (void)self;
    struct weir__scan_worker *w = arg;
    const struct weir__scan_options *options = w->run->options;
    bool goes_on = true;
    w->run->given = weir__scan_given_new(w);
    for (size_t i = 0; i < options->paths_count && goes_on; i++)
        if (!weir__scan_given_again(w->run->given, i))
            goes_on = send_path(w, WEIR__JOB_PATH, options->paths[i]);
    if (options->files_from && goes_on)
        send_list(w, options->files_from, options->from0);
    if (options->staged)
        weir__scan_staged_list(w);
    weir__scan_count(w);
    weir__job_done(w->run);
    if (options->has_totals)
        weir__scan_find_totals(w);
    return 0;
}
