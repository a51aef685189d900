/* scan_repo_tags.c - whether something leads to an annotated tag in which something was found.
 *
 * No commit has a tag: a ref leads to it, another tag does, or a log or ORIG_HEAD still knows it.
 * Its ref may be gone, while the object stays until git prunes it.
 */
#include "scan_repo_trace.h"

#include "git/tag_object.h"

#include "banned.h"

/* Whether it is one of those, and is marked now. */
static void mark(struct weir__scan_repo *repo, const struct weir__git_id *id, uint32_t flag)
{
    uint32_t number = weir__git_set_find(&repo->suspects, id);
    if (number == WEIR__GIT_SET_NONE)
        return;
    struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
    if (suspect->flags & WEIR__SUSPECT_TAG)
        suspect->flags |= flag;
}

/* Whether there is one that no ref is known to lead to. */
static bool has_unmarked(const struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if ((suspect->flags & (WEIR__SUSPECT_TAG | WEIR__SUSPECT_REACHED)) == WEIR__SUSPECT_TAG)
            return true;
    }
    return false;
}

/* Tags of tags. What cannot be read was told by who follows refs to commits. */
static int follow(struct weir__scan_origins *origins, const struct weir__git_id *from)
{
    struct weir__scan_repo *repo = origins->repo;
    struct weir__git_id id = *from;
    for (unsigned depth = 0; depth <= WEIR__GIT_TAG_DEPTH_MAX; depth++) {
        char why[WEIR__GIT_FLAW_MAX];
        enum weir__git_type type;
        struct weir__git_tag tag;
        int result = weir__git_store_get(repo->store, &id, &type, &origins->bytes);
        if (result < 0 || type != WEIR__GIT_TAG)
            return result == -WEIR_E_NO_MEMORY ? result : 0;
        if (weir__git_tag_parse(&tag, weir__buffer_text(&origins->bytes),
                                weir__buffer_length(&origins->bytes), repo->id_size, why) < 0)
            return 0;
        id = tag.target;
        mark(repo, &id, WEIR__SUSPECT_REACHED);
    }
    return 0;
}

int weir__scan_tags_find(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    const struct weir__git_refs *refs = &repo->refs->refs;
    int result = 0;
    if (repo->wanted || !has_unmarked(repo))
        return 0; /* those of a part are reached, or somebody has named them */
    for (size_t i = 0; i < refs->count; i++)
        mark(repo, &refs->list[i].id,
             refs->list[i].kind == WEIR__GIT_REF_PSEUDO ? WEIR__SUSPECT_LOGGED
                                                        : WEIR__SUSPECT_REACHED);
    for (size_t i = 0; i < refs->logs_count; i++)
        mark(repo, &refs->logs[i].id, WEIR__SUSPECT_LOGGED);
    bool has_rest = has_unmarked(repo);
    for (size_t i = 0; result == 0 && has_rest && i < refs->count; i++) {
        if ((i & 255) == 0 && weir_cancel_is_fired(&repo->run->stop))
            return -WEIR_E_CANCELED;
        /* Git lets no branch lead to a tag. */
        enum weir__git_ref_kind kind = refs->list[i].kind;
        if (kind == WEIR__GIT_REF_TAG || kind == WEIR__GIT_REF_OTHER ||
            kind == WEIR__GIT_REF_REPLACE)
            result = follow(origins, &refs->list[i].id);
    }
    return result;
}

const char *weir__scan_tag_by(const struct weir__scan_repo *repo,
                              const struct weir__suspect *suspect)
{
    if (repo->wanted || suspect->flags & WEIR__SUSPECT_REACHED)
        return NULL;
    return repo->is_untraced                       ? "unknown"
           : suspect->flags & WEIR__SUSPECT_LOGGED ? "reflog"
                                                   : "unreachable";
}
