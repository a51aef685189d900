/* scan_total.c - how much there is to do, for those who watch.
 *
 * The thread that hands out paths does this when it has nothing else to do any more. Files have a
 * size, a list that is a file has so many lines, and trees are walked a second time, ahead of those
 * who scan them, by the same walk that counts instead of reading. Who scans for a moment only never
 * comes to that. It ends with the run, and what it meets that is in its way is for those who scan
 * to tell.
 */
#include "scan_part.h"

#include <string.h>

#include "lines.h"
#include "sys.h"

#include "banned.h"

/* Before anything is counted, in naps so short that nobody waits for one. */
#define PATIENCE_NAPS 50u
#define NAP_NS        (10 * WEIR_NS_PER_MS)

bool weir__scan_is_over(struct weir__scan_worker *w)
{
    weir_lock_acquire(&w->run->lock);
    bool has_ended = w->run->open == 0;
    weir_lock_release(&w->run->lock);
    return has_ended || weir__scan_is_stopped(w);
}

static bool has_patience(struct weir__scan_worker *w)
{
    for (unsigned i = 0; i < PATIENCE_NAPS; i++) {
        struct weir_deadline nap = weir_deadline_in(NAP_NS, &w->run->stop);
        if (weir__scan_is_over(w) || weir_deadline_sleep(&nap) == -WEIR_E_CANCELED)
            return false;
    }
    return true;
}

/* Names in the list, if it is a file that can be read twice. */
static uint64_t count_names(struct weir__scan_worker *w, const char *name, enum weir__lines_end end)
{
    struct weir__lines lines;
    uint64_t at, size, count = 0;
    const char *line;
    size_t length;
    struct stat st;
    /* A pipe with a name would be waited for: who wrote to it has gone. */
    if (strcmp(name, "-") == 0 || weir__sys_fstatat(AT_FDCWD, name, &st, 0) < 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    if (weir__lines_open(&lines, name, end, WEIR__SCAN_PATH_MAX) == 0 &&
        weir__lines_place(&lines, &at, &size))
        while (weir__lines_next(&lines, &line, &length) > 0 && !weir__scan_is_stopped(w))
            count += length > 0;
    weir__lines_fini(&lines);
    return count;
}

void weir__scan_count_file(struct weir__scan_worker *w, int dir, const char *name)
{
    struct stat st;
    if (weir__sys_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        w->counting->files++;
        w->counting->bytes += (uint64_t)st.st_size;
    }
}

static bool count_path(struct weir__scan_worker *w, const char *path)
{
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, path, &st, 0) < 0)
        return false;
    if (S_ISDIR(st.st_mode)) {
        weir__scan_tree(w, path);
    } else if (S_ISREG(st.st_mode)) {
        w->counting->files++;
        w->counting->bytes += (uint64_t)st.st_size;
    }
    return (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) && !w->counting->is_over;
}

void weir__scan_find_totals(struct weir__scan_worker *w)
{
    const struct weir__scan_options *options = w->run->options;
    struct weir__scan_counting counting = {0};
    bool is_known = !options->staged && has_patience(w);
    w->counting = &counting;
    for (size_t i = 0; i < options->paths_count && is_known; i++)
        is_known = weir__scan_given_again(w->run->given, i) || count_path(w, options->paths[i]);
    if (options->files_from && is_known) {
        uint64_t names =
            count_names(w, options->files_from, options->from0 ? WEIR__LINES_NUL : WEIR__LINES_LF);
        is_known = names > 0;
        counting.files += names;
        counting.bytes = 0; /* what is behind the names is not known */
    }
    w->counting = NULL;
    if (!is_known)
        return;
    weir_lock_acquire(&w->run->lock);
    w->run->files_total = counting.files;
    w->run->bytes_total = counting.bytes;
    weir_lock_release(&w->run->lock);
}
