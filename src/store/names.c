/* names.c - whether the files of the segments are where they were made.
 *
 * What somebody removes, moves or replaces while it is open can be read and written until it is
 * closed, and then it is gone. So nothing is acknowledged into such a file, nor because of what is
 * in one, and the scrubber looks for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store_part.h"

#include "banned.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* What cannot be looked at says nothing; so these calls are not among those that tests let fail. */
static bool leads_to(int folder, const char *name, int fd)
{
    struct stat named, open;
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return errno != ENOENT;
    return fstat(fd, &open) < 0 || is_same(&named, &open);
}

bool weir__store_has_folder(struct weir__store *store)
{
    return store->segments_folder < 0 ||
           leads_to(store->folder, WEIR__STORE_SEGMENTS, store->segments_folder);
}

/* Whether that is news. Who compacts a segment says so before its name goes, and until it is off
 * the list. */
static bool lose(struct weir__store *store, uint32_t id)
{
    weir_lock_acquire(&store->lock);
    bool is_removing = store->is_removing;
    weir_lock_release(&store->lock);
    if (is_removing || !weir__segments_lose(&store->segments, id))
        return false;
    weir_counter_add(&store->counts.gone, 1);
    return true;
}

static void tell(struct weir__store *store)
{
    weir__store_tell(store, NULL, "the file of a segment was removed, moved or replaced");
}

bool weir__store_has_segment(struct weir__store *store, uint32_t id)
{
    if (store->segments_folder < 0 ||
        (weir__store_has_folder(store) && weir__segments_has_file(&store->segments, id)))
        return true;
    if (lose(store, id))
        tell(store);
    return false;
}

void weir__store_look_at_names(struct weir__store *store)
{
    struct weir__segment_facts facts;
    bool has_lost = false, has_folder = weir__store_has_folder(store);
    if (store->segments_folder < 0)
        return;
    for (uint32_t id = 0; weir__segments_next(&store->segments, id, &facts); id = facts.id)
        if ((!has_folder || !weir__segments_has_file(&store->segments, facts.id)) &&
            lose(store, facts.id))
            has_lost = true;
    /* Once, however many there are. */
    if (has_lost)
        tell(store);
}
