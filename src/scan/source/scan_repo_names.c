/* scan_repo_names.c - the names in the trees of a repository: which of them are findings.
 *
 * A file may be found by its name alone, and a name may have a secret in it. Trees are many and say
 * nearly the same, so of one that git has as a delta only entries are looked at that are not
 * copied, and each name is judged once; the last NAMES of them are remembered.
 */
#include "scan_repo.h"

#include <string.h>

#include "alloc.h"
#include "git/tree_entry.h"

#include "banned.h"

#define NAMES 32768u /* a power of 2 */

struct weir__scan_judged {
    uint64_t names[NAMES]; /* a hash; its last bit says what was found out. 0: none */
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
    uint64_t hash = hash_of(w, entry->name, entry->name_length);
    uint64_t *kept = &judged->names[(hash >> 16) & (NAMES - 1)];
    if (hash != 0 && (*kept & ~UINT64_C(1)) == hash)
        return *kept & 1;
    weir__buffer_truncate(&w->rule_path, 0);
    bool is_it = weir__buffer_append(&w->rule_path, entry->name, entry->name_length) < 0 ||
                 weir__scanner_may_name(w->scanner, weir__buffer_text(&w->rule_path)) ||
                 weir__scan_name_has(w, weir__buffer_text(&w->rule_path));
    *kept = hash | is_it;
    return is_it;
}

/* Whether the bytes are copied, all of them by one step. The steps from *next on lie behind what
 * was asked about before. */
static bool is_copied(const struct weir__copied *copies, size_t count, size_t *next, size_t from,
                      size_t until)
{
    while (*next < count && (size_t)copies[*next].to + copies[*next].length <= from)
        ++*next;
    return *next < count && copies[*next].to <= from &&
           until <= (size_t)copies[*next].to + copies[*next].length;
}

int weir__scan_look_at_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                            const struct weir__git_object *object,
                            struct weir__scan_judged **judged, const struct weir__edit *edit)
{
    const char *bytes = (const char *)object->bytes;
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_tree_entry entry;
    struct weir__git_tree tree;
    size_t next = 0, at = 0;
    int result;
    if (!*judged)
        *judged = weir__base_alloc(1, sizeof(**judged));
    if (!*judged)
        return -WEIR_E_NO_MEMORY;
    weir__git_tree_init(&tree, bytes, object->length, repo->id_size);
    while ((result = weir__git_tree_next(&tree, &entry, why)) > 0) {
        size_t until = (size_t)(entry.name - bytes) + entry.name_length + 1 + repo->id_size;
        bool is_known = edit && is_copied(edit->copies, edit->count, &next, at, until);
        at = until;
        if (is_known || weir__git_mode_is_submodule(entry.mode) ||
            weir__git_mode_is_tree(entry.mode) ||
            (repo->wanted && !weir__git_wanted_is(repo->wanted, &entry.id, WEIR__GIT_BLOB)) ||
            !is_telling(w, *judged, &entry))
            continue;
        weir__scan_suspect(w, repo, &entry.id, WEIR__SUSPECT_BLOB | WEIR__SUSPECT_FOUND, 1);
    }
    if (result < 0)
        weir__scan_repo_tell(w, repo, &object->id, "cannot read all of the history of", why);
    return 0;
}

void weir__scan_judged_free(struct weir__scan_judged *judged)
{
    weir__base_free(judged);
}
