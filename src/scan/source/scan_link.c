/* scan_link.c - what is not opened: symlinks, special files, directories with nothing in them.
 *
 * Their names are looked at as those of files are. A symlink also has a target, which is a text
 * that somebody wrote, and which git keeps as the content of a file: it is scanned as such, under
 * the path of the link, at line 1. The kernel bounds it to PATH_MAX bytes.
 */
#include "scan_part.h"

#include "sys.h"

#include "banned.h"

void weir__scan_unopened(struct weir__scan_worker *w)
{
    const char *path = weir__buffer_text(&w->path);
    if (!w->counting && !weir__scanner_skips(w->scanner, path))
        (void)weir__scan_name(w, path);
}

void weir__scan_link(struct weir__scan_worker *w, int dir, const char *name)
{
    const char *path = weir__buffer_text(&w->path);
    w->counts.symlinks++;
    if (w->counting || weir__scanner_skips(w->scanner, path))
        return;
    ssize_t length = weir__sys_readlinkat(dir, name, w->block, WEIR__SCAN_READ_SIZE);
    if (length < 0) {
        weir__scan_tell(w, path, "cannot read the target of", NULL);
        return;
    }
    w->is_link = true;
    if (weir__scan_object_begin(w) && weir__scan_object_feed(w, w->block, (size_t)length))
        (void)weir__scan_object_end(w);
    w->is_link = false;
}
