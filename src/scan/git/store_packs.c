/* store_packs.c - which packs there are, and the few that are open. */
#include "store_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/clock.h>

#include "alloc.h"
#include "pack_plan.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define NAMES_MAX ((size_t)64 << 20)
/* The clock of a file system may stand still for so long. */
#define SETTLED_S   2
#define KNOWN_BYTES sizeof(struct weir__git_known)
#define PREFIX      (sizeof("pack/") - 1)

/* --- listing --- */

enum suffix { SUFFIX_IDX, SUFFIX_PACK, SUFFIX_PROMISOR, SUFFIXES };

struct seen { /* a file of a pack */
    const char *names;
    size_t stem_at;
    enum suffix suffix;
};

struct listing {
    struct weir__git_list *list;
    struct seen *seen;
    size_t count, room;
    uint32_t unread;
};

/* Room for one more of a list that has so many. */
static int grow(void **list, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return 0;
    size_t more = *room ? *room * 2 : 16;
    void *grown = weir__base_realloc(*list, more, size);
    if (!grown)
        return -WEIR_E_NO_MEMORY;
    *list = grown;
    *room = more;
    return 0;
}

static int see(void *arg, const char *name)
{
    static const char *const suffixes[SUFFIXES] = {".idx", ".pack", ".promisor"};
    struct listing *listing = arg;
    size_t length = strlen(name);
    int suffix = 0;
    for (; suffix < SUFFIXES; suffix++) {
        size_t tail = strlen(suffixes[suffix]);
        if (length > tail && strcmp(name + length - tail, suffixes[suffix]) == 0) {
            length -= tail;
            break;
        }
    }
    /* Room for "pack/" and any suffix. */
    if (suffix == SUFFIXES || length + 16 > WEIR__GIT_PACK_NAME_SIZE)
        return 0;
    /* Three files of a pack at most; the rest of a limit that nobody should meet. */
    if (listing->count >= 3 * (size_t)WEIR__GIT_PACKS_MAX) {
        listing->unread++;
        return 0;
    }
    int result =
        grow((void **)&listing->seen, &listing->room, listing->count, sizeof(*listing->seen));
    if (result < 0)
        return result;
    struct weir__buffer *names = &listing->list->names;
    size_t at = weir__buffer_length(names);
    result = weir__buffer_append(names, "pack/", 5);
    if (result == 0)
        result = weir__buffer_append(names, name, length);
    if (result == 0)
        result = weir__buffer_append(names, "", 1);
    if (result == 0)
        listing->seen[listing->count++] = (struct seen){NULL, at, (enum suffix)suffix};
    return result;
}

static int compare_seen(const void *a, const void *b)
{
    const struct seen *one = a, *other = b;
    int order = strcmp(one->names + one->stem_at, other->names + other->stem_at);
    return order ? order : (int)one->suffix - (int)other->suffix;
}

static int add_row(struct weir__git_list *list, const struct weir__git_row *row)
{
    if (list->rows_count == WEIR__GIT_PACKS_MAX) {
        list->unread++;
        return 0;
    }
    int result =
        grow((void **)&list->rows, &list->rows_room, list->rows_count, sizeof(*list->rows));
    if (result < 0)
        return result;
    list->rows[list->rows_count++] = *row;
    return 0;
}

static int add_bare(struct weir__git_bares *bares, size_t stem_at, unsigned folder)
{
    int result = grow((void **)&bares->list, &bares->room, bares->count, sizeof(*bares->list));
    if (result < 0)
        return result;
    bares->list[bares->count++] = (struct weir__git_bare){stem_at, folder};
    return 0;
}

/* Leaves those that the list before this one has, too: others came meanwhile, and the other half
 * of them comes. Both are in order. */
static void keep_bare(struct weir__git_bares *bares, const char *names,
                      const struct weir__git_bares *before, const char *names_before)
{
    uint32_t kept = 0, j = 0;
    for (uint32_t i = 0; i < bares->count; i++) {
        const struct weir__git_bare *bare = &bares->list[i];
        int order = -1;
        for (; j < before->count && order < 0; j += order < 0) {
            const struct weir__git_bare *other = &before->list[j];
            order = (int)other->folder - (int)bare->folder;
            if (order == 0)
                order = strcmp(names_before + other->stem_at, names + bare->stem_at);
        }
        if (order == 0)
            bares->list[kept++] = *bare;
    }
    bares->count = kept;
}

/* folder: that of packs. Zeros for one that is gone. */
static void look_at(int folder, const char *stem, const char *suffix, uint64_t *ret_bytes,
                    uint64_t *ret_time_ns, uint64_t *ret_inode)
{
    char name[WEIR__GIT_PACK_NAME_SIZE];
    struct stat st;
    size_t length = strlen(stem);
    memcpy(name, stem, length); /* see() has left room */
    memcpy(name + length, suffix, strlen(suffix) + 1);
    if (weir__sys_fstatat(folder, name, &st, 0) < 0)
        return;
    *ret_bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    /* Who writes to it, takes the right to read it away or sets its time back changes this one. */
    *ret_time_ns = (uint64_t)st.st_ctim.tv_sec * WEIR_NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
    *ret_inode = st.st_ino;
}

static bool is_there(const struct weir__git_folder *folder, const char *stem, const char *suffix)
{
    char name[WEIR__GIT_PACK_NAME_SIZE];
    struct stat st;
    snprintf(name, sizeof(name), "%s%s", stem, suffix);
    return weir__sys_fstatat(folder->fd, name, &st, 0) == 0;
}

uint32_t weir__git_store_unindexed(const struct weir__git_store *store, const char **ret_stem)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->list.packs.count; i++) {
        const struct weir__git_bare *bare = &store->list.packs.list[i];
        const struct weir__git_folder *folder = &store->folders[bare->folder];
        const char *stem = weir__buffer_text(&store->list.names) + bare->stem_at;
        if (!is_there(folder, stem, ".pack") || is_there(folder, stem, ".idx"))
            continue;
        if (count++ == 0)
            *ret_stem = stem;
    }
    return count;
}

uint32_t weir__git_store_packless(const struct weir__git_store *store)
{
    return store->list.indexes.count;
}

int weir__git_store_packless_open(const struct weir__git_store *store, uint32_t i,
                                  const char **ret_stem, struct weir__git_pack *ret_ids)
{
    const struct weir__git_bare *bare = &store->list.indexes.list[i];
    const struct weir__git_folder *folder = &store->folders[bare->folder];
    const char *why;
    *ret_stem = weir__buffer_text(&store->list.names) + bare->stem_at;
    if (is_there(folder, *ret_stem, ".pack"))
        return -WEIR_E_NOT_FOUND;
    return weir__git_pack_open_ids(ret_ids, folder->fd, *ret_stem, store->id_size, &why);
}

/* Files of one stem stand together: .idx, .pack, .promisor. */
static int add_rows(struct listing *listing, int folder, unsigned number)
{
    const char *names = weir__buffer_text(&listing->list->names);
    for (size_t i = 0; i < listing->count; i++)
        listing->seen[i].names = names;
    if (listing->count > 1)
        qsort(listing->seen, listing->count, sizeof(*listing->seen), compare_seen);
    for (size_t i = 0; i < listing->count;) {
        const char *stem = names + listing->seen[i].stem_at;
        struct weir__git_row row = {.stem_at = listing->seen[i].stem_at, .folder = (uint8_t)number};
        bool has[SUFFIXES] = {false};
        for (; i < listing->count && strcmp(names + listing->seen[i].stem_at, stem) == 0; i++)
            has[listing->seen[i].suffix] = true;
        int result = 0;
        if (has[SUFFIX_PACK] && has[SUFFIX_IDX]) {
            row.is_promisor = has[SUFFIX_PROMISOR];
            look_at(folder, stem + PREFIX, ".idx", &row.idx_bytes, &row.idx_time_ns,
                    &row.idx_inode);
            look_at(folder, stem + PREFIX, ".pack", &row.pack_bytes, &row.pack_time_ns,
                    &row.pack_inode);
            result = add_row(listing->list, &row);
        } else if (has[SUFFIX_PACK]) {
            result = add_bare(&listing->list->packs, row.stem_at, number);
        } else if (has[SUFFIX_IDX]) {
            result = add_bare(&listing->list->indexes, row.stem_at, number);
        }
        if (result < 0)
            return result;
    }
    return 0;
}

/* Their folder is open for this: with thousands of packs each step of a path counts. One that may
 * be listed and not searched is told as a whole, and not pack by pack. */
static int look_at_rows(struct listing *listing, const struct weir__git_folder *folder,
                        unsigned number)
{
    if (listing->count == 0)
        return 0;
    int fd = weir__sys_openat(folder->fd, "pack", O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == ENOENT ? 0 : weir_error_from_errno(errno);
    struct stat st;
    bool is_closed = weir__sys_fstatat(fd, ".", &st, 0) < 0 && errno == EACCES;
    int result = is_closed ? -WEIR_E_DENIED : add_rows(listing, fd, number);
    weir__sys_close(fd);
    return result;
}

static struct timespec time_of(const struct weir__git_folder *folder)
{
    struct stat st;
    return weir__sys_fstatat(folder->fd, "pack", &st, 0) == 0 ? st.st_mtim : (struct timespec){0};
}

static int list_folder(struct weir__git_list *list, struct weir__git_folder *folder,
                       unsigned number, struct timespec *ret_time)
{
    struct listing listing = {.list = list};
    /* Before it is read: what comes meanwhile makes the list stale. */
    *ret_time = time_of(folder);
    int result = weir__git_list_folder(folder->fd, "pack", see, &listing);
    if (result == 0)
        result = look_at_rows(&listing, folder, number);
    list->unread += listing.unread / SUFFIXES;
    weir__base_free(listing.seen);
    return result;
}

void weir__git_list_fini(struct weir__git_list *list)
{
    weir__buffer_fini(&list->names);
    weir__base_free(list->rows);
    weir__base_free(list->packs.list);
    weir__base_free(list->indexes.list);
    *list = (struct weir__git_list){.rows = NULL};
}

/* What is wrong with the folder itself, and not with us: others are listed all the same. */
static bool is_flaw(int result)
{
    return result == -WEIR_E_DENIED || result == -WEIR_E_IO;
}

int weir__git_store_relist(struct weir__git_store *store)
{
    struct weir__git_list list = {.rows = NULL};
    struct timespec times[WEIR__GIT_FOLDERS_MAX] = {{0}};
    int errors[WEIR__GIT_FOLDERS_MAX] = {0}, result = 0;
    int64_t now_s = weir_wall_s();
    weir__buffer_init(&list.names, NAMES_MAX);
    for (unsigned i = 0; i < store->folders_count && result == 0; i++) {
        result = list_folder(&list, &store->folders[i], i, &times[i]);
        if (result < 0)
            weir__git_store_fail(store, -result, "cannot list '%s/pack': %s",
                                 WEIR__CLIPPED(store->folders[i].path), weir_error_text(result));
        errors[i] = is_flaw(result) ? result : 0;
        result = errors[i] ? 0 : result;
    }
    if (result < 0) {
        weir__git_list_fini(&list);
        return result;
    }
    if (store->lists_made > 0) {
        const char *names = weir__buffer_text(&list.names);
        const char *before = weir__buffer_text(&store->list.names);
        keep_bare(&list.packs, names, &store->list.packs, before);
        keep_bare(&list.indexes, names, &store->list.indexes, before);
    }
    weir__git_store_close_packs(store);
    weir__git_store_forget(store);
    weir__git_list_fini(&store->list);
    store->list = list;
    store->lists_made++;
    store->listed_s = now_s;
    for (unsigned i = 0; i < store->folders_count; i++) {
        store->folders[i].pack_time = times[i];
        store->folders[i].list_error = errors[i];
        store->has_unknown |= errors[i] != 0;
    }
    weir__git_store_open_midx(store);
    return 0;
}

bool weir__git_store_is_stale(const struct weir__git_store *store)
{
    for (unsigned i = 0; i < store->folders_count; i++) {
        struct timespec now = time_of(&store->folders[i]);
        if (now.tv_sec != store->folders[i].pack_time.tv_sec ||
            now.tv_nsec != store->folders[i].pack_time.tv_nsec)
            return true;
    }
    return false;
}

bool weir__git_store_is_settled(const struct weir__git_store *store)
{
    for (unsigned i = 0; i < store->folders_count; i++)
        if (store->folders[i].pack_time.tv_sec + SETTLED_S > store->listed_s ||
            store->folders[i].list_error)
            return false;
    return store->list.packs.count == 0 && store->list.indexes.count == 0 &&
           !weir__git_store_is_stale(store);
}

/* --- what is listed --- */

const char *weir__git_store_stem(const struct weir__git_store *store, uint32_t row)
{
    return weir__buffer_text(&store->list.names) + store->list.rows[row].stem_at;
}

uint32_t weir__git_store_packs(const struct weir__git_store *store)
{
    return store->list.rows_count;
}

void weir__git_store_pack(const struct weir__git_store *store, uint32_t i,
                          struct weir__git_store_pack *ret_pack)
{
    const struct weir__git_row *row = &store->list.rows[i];
    *ret_pack = (struct weir__git_store_pack){
        .stem = weir__git_store_stem(store, i),
        .pack_bytes = row->pack_bytes,
        .idx_bytes = row->idx_bytes,
        .pack_time_ns = row->pack_time_ns,
        .idx_time_ns = row->idx_time_ns,
        .pack_inode = row->pack_inode,
        .idx_inode = row->idx_inode,
        .objects_max = weir__git_idx_count_max(row->idx_bytes, store->id_size),
        .folder = row->folder,
        .is_promisor = row->is_promisor,
        .is_in_midx = row->is_in_midx,
    };
}

void weir__git_store_needs(const struct weir__git_store *store,
                           struct weir__git_store_needs *ret_needs)
{
    struct weir__git_store_needs needs = {.lookup_bytes = store->options.cache_bytes};
    uint64_t known = 0;
    for (uint32_t i = 0; i < store->list.rows_count; i++) {
        struct weir__git_store_pack pack;
        weir__git_store_pack(store, i, &pack);
        uint64_t plan = weir__git_plan_needs(pack.objects_max);
        needs.plan_bytes_all += plan;
        if (plan > needs.plan_bytes_max)
            needs.plan_bytes_max = plan;
        needs.pack_bytes_all += pack.pack_bytes;
        if (pack.pack_bytes > needs.pack_bytes_max)
            needs.pack_bytes_max = pack.pack_bytes;
        if (!store->list.rows[i].is_in_midx)
            known += pack.objects_max * KNOWN_BYTES;
    }
    if (store->list.rows_count > store->options.open_max)
        needs.lookup_bytes +=
            known < store->options.lookup_bytes ? known : store->options.lookup_bytes;
    *ret_needs = needs;
}

/* --- open packs --- */

int weir__git_store_pack_open(struct weir__git_store *store, uint32_t i,
                              struct weir__git_pack *ret_pack)
{
    const char *why = "";
    const struct weir__git_folder *folder = &store->folders[store->list.rows[i].folder];
    int result = weir__git_pack_open(ret_pack, folder->fd, weir__git_store_stem(store, i),
                                     store->id_size, &why);
    if (result < 0) {
        weir__git_store_note_unknown(store, i);
        return weir__git_store_fail(store, -result, "pack '%s/%s.pack': %s: %s",
                                    WEIR__CLIPPED(folder->path), weir__git_store_stem(store, i),
                                    why, weir_error_text(result));
    }
    return 0;
}

int weir__git_store_opened(struct weir__git_store *store, uint32_t row,
                           const struct weir__git_pack **ret_pack)
{
    struct weir__git_opened *oldest = &store->opened[0];
    for (unsigned i = 0; i < store->options.open_max; i++) {
        struct weir__git_opened *opened = &store->opened[i];
        if (opened->row == row) {
            opened->used = ++store->clock;
            *ret_pack = &opened->pack;
            return 0;
        }
        if (opened->used < oldest->used)
            oldest = opened;
    }
    struct weir__git_pack pack;
    int result = weir__git_store_pack_open(store, row, &pack);
    if (result < 0)
        return result;
    weir__git_pack_close(&oldest->pack);
    *oldest = (struct weir__git_opened){pack, row, ++store->clock};
    *ret_pack = &oldest->pack;
    return 0;
}

void weir__git_store_close_packs(struct weir__git_store *store)
{
    for (unsigned i = 0; store->opened && i < store->options.open_max; i++) {
        weir__git_pack_close(&store->opened[i].pack);
        store->opened[i] = (struct weir__git_opened){.row = WEIR__GIT_NONE};
    }
}
