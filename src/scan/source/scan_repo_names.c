/* scan_repo_names.c - the names in the trees of a repository: which of them are findings.
 *
 * A file may be found by its name alone, and a name may have a secret in it. Trees are many and say
 * nearly the same, so of one that git has as a delta only entries are looked at that are not
 * copied, and each name is judged once; the last NAMES of them are remembered.
 *
 * A folder has no bytes of its own that the second look could be at: the first file in it is
 * suspect in its place, since the folder is in its path. Which one that is, the leader finds out.
 * He also looks at the names of what is staged, which may be in no tree.
 *
 * As all trees come by here, what leads to what is noted on the way (git/lineage.h), of some trees
 * at once.
 */
#include "scan_repo.h"

#include <string.h>

#include "alloc.h"
#include "git/lineage_later.h"

#include "banned.h"

#define NAMES 32768u /* a power of 2 */
/* Trees that are read to find a file in a folder. */
#define READ_MAX 4096u
/* Depths whose trees are remembered; below them one whose base was overwritten is read as a whole.
 */
#define DEPTHS 64u
/* Steps of a delta that copy; with more of them the tree is read as a whole. */
#define COPIES 1024u
/* With a limit of memory: entries of a tree that is remembered, and new ones that there is room
 * kept for. */
#define STARTS_KEPT 512u
#define ADDED_KEPT  1024u

/* The last tree that was looked at in that depth. */
struct kept_tree {
    struct weir__git_tree_starts starts;
    uint32_t depth;
    uint32_t number; /* in the lineage; or its place among those that wait for that */
    size_t length;
    bool is_whole; /* all of it could be read */
    bool is_later; /* it waits */
};

struct weir__scan_judged {
    uint64_t names[NAMES]; /* a hash; its last bit says what was found out. 0: none */
    struct kept_tree trees[DEPTHS];
    struct weir__git_split split;
    struct weir__git_tree_part copies[COPIES];
    struct weir__git_lineage_new *added;
    size_t added_count, added_room;
    struct weir__git_later later;
};

/* Whoever chooses names cannot choose which of them meet in one place: that costs time alone, since
 * a hash of 63 bits that is not the name's own would have to be made as well. */
static uint64_t hash_of(const struct weir__scan_worker *w, const char *name, size_t length)
{
    uint64_t hash = (uint64_t)(uintptr_t)w * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 32;
    }
    return hash & ~UINT64_C(1);
}

/* Whether the name is one that a file, or a folder, is to be looked at for. */
static bool is_telling(struct weir__scan_worker *w, struct weir__scan_judged *judged,
                       const struct weir__git_tree_entry *entry)
{
    bool is_tree = weir__git_mode_is_tree(entry->mode);
    uint64_t hash = hash_of(w, entry->name, entry->name_length) ^ (is_tree ? 2 : 0);
    uint64_t *kept = &judged->names[(hash >> 16) & (NAMES - 1)];
    if (hash != 0 && (*kept & ~UINT64_C(1)) == hash)
        return *kept & 1;
    weir__buffer_truncate(&w->rule_path, 0);
    bool is_it =
        weir__buffer_append(&w->rule_path, entry->name, entry->name_length) < 0 ||
        (!is_tree && weir__scanner_may_name(w->scanner, weir__buffer_text(&w->rule_path))) ||
        weir__scan_name_has(w, weir__buffer_text(&w->rule_path));
    *kept = hash | is_it;
    return is_it;
}

#define NAMED (WEIR__SUSPECT_BLOB | WEIR__SUSPECT_FOUND | WEIR__SUSPECT_NAMED)

static void note_folder(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        const struct weir__git_id *id)
{
    uint32_t number;
    weir_lock_acquire(&repo->lock);
    int result = weir__git_set_add(&repo->folders, id, &number);
    weir_lock_release(&repo->lock);
    if (result < 0)
        weir__scan_repo_tell(w, repo, id, "cannot judge all of the history of",
                             "something may be in the name of this folder, and in too many others");
}

static bool is_wanted(const struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    return !repo->wanted || weir__git_wanted_is(repo->wanted, id, WEIR__GIT_BLOB);
}

/* What is known of the tree that it was made from; NULL: nothing. */
static const struct kept_tree *base_of(const struct weir__scan_judged *judged,
                                       const struct weir__git_object *object,
                                       const struct weir__edit *edit)
{
    const struct kept_tree *base = &judged->trees[(object->depth + DEPTHS - 1) % DEPTHS];
    return edit && edit->count <= COPIES && base->is_whole && base->depth + 1 == object->depth &&
                   base->length == object->base_length
               ? base
               : NULL;
}

static void begin(struct weir__scan_judged *judged, const struct weir__git_object *object,
                  const struct kept_tree *base, const struct weir__edit *edit, size_t id_size,
                  struct kept_tree *own)
{
    size_t count = base ? edit->count : 0;
    for (size_t i = 0; i < count; i++)
        judged->copies[i] = (struct weir__git_tree_part){.to = edit->copies[i].to,
                                                         .from = edit->copies[i].from,
                                                         .length = edit->copies[i].length};
    weir__git_split_begin(&judged->split, (const char *)object->bytes, object->length, id_size,
                          base ? &base->starts : NULL, judged->copies, count, &own->starts);
    judged->added_count = 0;
    own->depth = object->depth;
    own->length = object->length;
    own->is_whole = own->is_later = false;
    own->number = WEIR__GIT_SET_NONE;
}

/* For the lineage. False: there is no memory for it. */
static bool add(struct weir__scan_judged *judged, const struct weir__git_tree_entry *entry,
                uint32_t at)
{
    if (judged->added_count == judged->added_room) {
        size_t room = judged->added_room ? 2 * judged->added_room : 64;
        struct weir__git_lineage_new *added =
            weir__base_realloc(judged->added, room, sizeof(*added));
        if (!added)
            return false;
        judged->added = added;
        judged->added_room = room;
    }
    judged->added[judged->added_count++] =
        (struct weir__git_lineage_new){.name = entry->name,
                                       .name_length = (uint32_t)entry->name_length,
                                       .at = at,
                                       .length = weir__git_split_end(&judged->split) - at,
                                       .is_tree = weir__git_mode_is_tree(entry->mode),
                                       .id = entry->id};
    return true;
}

void weir__scan_judged_flush(struct weir__scan_judged *judged, struct weir__scan_repo *repo)
{
    if (!judged || weir__git_later_is_empty(&judged->later))
        return;
    weir_lock_acquire(&repo->lock);
    weir__git_later_note(&judged->later, &repo->lineage);
    weir_lock_release(&repo->lock);
    for (size_t i = 0; i < DEPTHS; i++) {
        struct kept_tree *kept = &judged->trees[i];
        if (kept->is_later)
            kept->number = judged->later.numbers[kept->number];
        kept->is_later = false;
    }
}

/* All of the tree was read. */
static void note(struct weir__scan_judged *judged, struct weir__scan_repo *repo,
                 const struct weir__git_object *object, const struct kept_tree *base,
                 struct kept_tree *own)
{
    struct weir__git_later_tree tree = {.id = object->id,
                                        .base = base ? base->number : WEIR__GIT_SET_NONE,
                                        .is_base_later = base && base->is_later,
                                        .parts = judged->split.parts,
                                        .parts_count = judged->split.parts_count,
                                        .entries = judged->added,
                                        .entries_count = judged->added_count};
    own->is_whole = true;
    own->is_later = weir__git_later_add(&judged->later, &tree, &own->number);
    if (own->is_later)
        return;
    weir__scan_judged_flush(judged, repo);
    tree.base = base ? base->number : WEIR__GIT_SET_NONE;
    tree.is_base_later = false;
    own->is_later = weir__git_later_add(&judged->later, &tree, &own->number);
    if (own->is_later)
        return;
    weir_lock_acquire(&repo->lock);
    own->number = weir__git_lineage_note(&repo->lineage, &object->id, tree.base, tree.parts,
                                         tree.parts_count, tree.entries, tree.entries_count);
    weir_lock_release(&repo->lock);
}

/* With a limit of memory what is kept for the next tree is little. */
static void trim(struct weir__scan_judged *judged, struct kept_tree *own)
{
    if (own->starts.room > STARTS_KEPT) {
        weir__git_tree_starts_fini(&own->starts);
        own->is_whole = false;
    }
    if (judged->added_room > ADDED_KEPT) {
        weir__base_free(judged->added);
        judged->added = NULL;
        judged->added_room = 0;
    }
}

int weir__scan_look_at_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                            const struct weir__git_object *object,
                            struct weir__scan_judged **ret_judged,
                            struct weir__scan_mentions *mentions, const struct weir__edit *edit)
{
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree_entry entry;
    uint32_t at;
    int result;
    if (!*ret_judged)
        *ret_judged = weir__base_alloc(1, sizeof(**ret_judged));
    struct weir__scan_judged *judged = *ret_judged;
    if (!judged)
        return -WEIR_E_NO_MEMORY;
    struct kept_tree *own = &judged->trees[object->depth % DEPTHS];
    const struct kept_tree *base = base_of(judged, object, edit);
    if (object->length > WEIR__GIT_SPLIT_MAX) {
        weir__scan_repo_tell(w, repo, &object->id, "cannot read all of the history of",
                             "a tree of more than 256 MiB");
        own->is_whole = false;
        return 0;
    }
    begin(judged, object, base, edit, repo->id_size, own);
    while ((result = weir__git_split_next(&judged->split, &entry, &at, why)) > 0) {
        bool is_tree = weir__git_mode_is_tree(entry.mode);
        if (weir__git_mode_is_submodule(entry.mode))
            continue;
        if (!add(judged, &entry, at))
            return -WEIR_E_NO_MEMORY;
        if (!is_tree && !is_wanted(repo, &entry.id))
            continue;
        /* Trees that a narrowed scan misses have been told by who found out what is wanted. */
        if (!is_tree || !repo->wanted)
            weir__scan_mention(w, repo, mentions, &entry.id,
                               is_tree ? WEIR__SUSPECT_TREE : WEIR__SUSPECT_BLOB);
        if (!is_telling(w, judged, &entry))
            continue;
        if (is_tree)
            note_folder(w, repo, &entry.id);
        else
            weir__scan_suspect(w, repo, &entry.id, NAMED);
    }
    if (result == -WEIR_E_NO_MEMORY)
        return result;
    if (result < 0)
        weir__scan_repo_tell(w, repo, &object->id, "cannot read all of the history of", why);
    else
        note(judged, repo, object, base, own);
    if (w->run->options->history_bytes > 0)
        trim(judged, own);
    return 0;
}

/* --- what is staged --- */

/* Entries are sorted, but for those of a split index: the folders of one are mostly those of the
 * one before it. */
struct staged_names {
    struct weir__scan_repo *repo;
    struct weir__scan_judged *judged;
    struct weir__buffer folder; /* the last one, with its slash */
    bool is_folder_telling;
};

static bool is_part_telling(struct staged_names *names, const char *name, size_t length,
                            uint32_t mode)
{
    const struct weir__git_tree_entry entry = {.name = name, .name_length = length, .mode = mode};
    return is_telling(names->repo->w, names->judged, &entry);
}

/* Whether one of the folders in a path is; length: up to and with its last slash. */
static int judge_folders(struct staged_names *names, const char *path, size_t length)
{
    const struct weir__buffer *last = &names->folder;
    if (weir__buffer_length(last) == length && memcmp(weir__buffer_text(last), path, length) == 0)
        return 0;
    names->is_folder_telling = false;
    for (size_t at = 0; at < length;) {
        size_t end = at + (size_t)((const char *)memchr(path + at, '/', length - at) - (path + at));
        names->is_folder_telling |=
            is_part_telling(names, path + at, end - at, WEIR__GIT_MODE_TREE);
        at = end + 1;
    }
    weir__buffer_truncate(&names->folder, 0);
    return weir__buffer_append(&names->folder, path, length);
}

static int look_at_staged(void *arg, const struct weir__git_index_entry *entry)
{
    struct staged_names *names = arg;
    struct weir__scan_repo *repo = names->repo;
    const char *slash = strrchr(entry->path, '/');
    size_t folders = slash ? (size_t)(slash - entry->path) + 1 : 0;
    bool is_tree = weir__git_mode_is_tree(entry->mode); /* of a sparse index */
    if (weir__git_mode_is_submodule(entry->mode) || entry->is_intent_to_add ||
        (!is_tree && !is_wanted(repo, &entry->id)))
        return 0;
    /* A leader has no scanner until he needs one. */
    int result = weir__scan_worker_scanner(repo->w);
    if (result == 0)
        result = judge_folders(names, entry->path, folders);
    if (result < 0)
        return -WEIR_E_NO_MEMORY;
    if (is_tree && names->is_folder_telling)
        note_folder(repo->w, repo, &entry->id);
    else if (!is_tree && (names->is_folder_telling ||
                          is_part_telling(names, entry->path + folders,
                                          entry->path_length - folders, entry->mode)))
        weir__scan_suspect(repo->w, repo, &entry->id, NAMED);
    return 0;
}

int weir__scan_staged_names(struct weir__scan_repo *repo)
{
    struct staged_names names = {.repo = repo,
                                 .judged = weir__base_alloc(1, sizeof(*names.judged))};
    weir__buffer_init(&names.folder, WEIR__GIT_INDEX_PATH_MAX);
    int result = names.judged ? weir__scan_staged_each(repo, look_at_staged, &names, false)
                              : -WEIR_E_NO_MEMORY;
    weir__buffer_fini(&names.folder);
    weir__scan_judged_free(names.judged);
    return result;
}

/* --- folders --- */

/* The first file of a tree becomes suspect: 1. Trees in it go into the set, to be read later. */
static int take_file(struct weir__scan_repo *repo, const struct weir__buffer *bytes,
                     struct weir__git_set *below)
{
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree_entry entry;
    struct weir__git_tree tree;
    uint32_t number;
    int result = 0;
    weir__git_tree_init(&tree, weir__buffer_text(bytes), weir__buffer_length(bytes), repo->id_size);
    while (result >= 0 && weir__git_tree_next(&tree, &entry, why) > 0) {
        if (weir__git_mode_is_tree(entry.mode)) {
            result = weir__git_set_add(below, &entry.id, &number);
        } else if (!weir__git_mode_is_submodule(entry.mode) && is_wanted(repo, &entry.id) &&
                   weir__git_store_has(repo->store, &entry.id) == 0) {
            weir__scan_suspect(repo->w, repo, &entry.id, NAMED);
            return 1;
        }
    }
    return result < 0 ? result : 0;
}

/* 1 when there is one, 0 when there is none among the trees that were read. */
static int find_file(struct weir__scan_repo *repo, const struct weir__git_id *folder,
                     struct weir__buffer *bytes)
{
    struct weir__git_set below;
    enum weir__git_type type;
    uint32_t number;
    weir__git_set_init(&below, repo->id_size, 0, repo->share.folders);
    int result = weir__git_set_add(&below, folder, &number);
    result = result < 0 ? result : 0;
    for (uint32_t i = 0; result == 0 && i < weir__git_set_count(&below) && i < READ_MAX; i++) {
        struct weir__git_id id = weir__git_set_id(&below, i);
        if (weir__git_store_get(repo->store, &id, &type, bytes) == 0 && type == WEIR__GIT_TREE)
            result = take_file(repo, bytes, &below);
    }
    weir__git_set_fini(&below);
    return result == -WEIR_E_TOO_LARGE ? 0 : result;
}

int weir__scan_folders_find(struct weir__scan_repo *repo)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer bytes;
    weir__buffer_init(&bytes, repo->share.led.object);
    for (uint32_t i = 0; i < weir__git_set_count(&repo->folders); i++) {
        struct weir__git_id id = weir__git_set_id(&repo->folders, i);
        if (weir_cancel_is_fired(&repo->run->stop))
            return -WEIR_E_CANCELED;
        int result = find_file(repo, &id, &bytes);
        if (result < 0)
            return result;
        if (result == 0 && !repo->wanted) {
            repo->is_forgetful = true;
            weir__scan_repo_tell(
                repo->w, repo, &id, "cannot judge all of the history of",
                "something may be in the name of this folder, in which no file was found");
        }
    }
    return 0;
}

void weir__scan_judged_free(struct weir__scan_judged *judged)
{
    if (!judged)
        return;
    for (size_t i = 0; i < DEPTHS; i++)
        weir__git_tree_starts_fini(&judged->trees[i].starts);
    weir__git_split_fini(&judged->split);
    weir__base_free(judged->added);
    weir__base_free(judged);
}
