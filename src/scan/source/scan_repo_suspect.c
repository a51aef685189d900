/* scan_repo_suspect.c - what the threads of a repository share of its objects: who was looked at,
 * and who is suspect.
 *
 * All of it is under the repository's lock, and each question that somebody acts upon is one hold
 * of it: of two who meet an object only one looks at it first, and only one again.
 */
#include "scan_repo.h"

#include <stdio.h>

#include "job_mutants.h"

#include "banned.h"

bool weir__scan_look_is_first(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    uint32_t number;
    weir_lock_acquire(&repo->lock);
    bool is_it = repo->is_repeated
                     ? weir__git_set_add(&repo->looked, id, &number) != 0
                     : weir__git_set_count(&repo->looked) == 0 ||
                           weir__git_set_find(&repo->looked, id) == WEIR__GIT_SET_NONE;
    weir_lock_release(&repo->lock);
    return is_it;
}

/* --- suspects --- */

uint32_t weir__scan_kind(enum weir__git_type type)
{
    return type == WEIR__GIT_COMMIT ? WEIR__SUSPECT_COMMIT
           : type == WEIR__GIT_TAG  ? WEIR__SUSPECT_TAG
                                    : WEIR__SUSPECT_BLOB;
}

void weir__scan_suspect(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        const struct weir__git_id *id, uint32_t flags)
{
    uint32_t number;
    bool is_told = true;
    weir_lock_acquire(&repo->lock);
    int result = weir__git_set_add(&repo->suspects, id, &number);
    if (result >= 0) {
        struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
        suspect->flags |= flags;
    } else {
        is_told = repo->has_unlisted;
        repo->is_forgetful = repo->has_unlisted = true;
    }
    weir_lock_release(&repo->lock);
    if (is_told)
        return;
    char why[WEIR__SCAN_WHY_MAX], text[WEIR__SCAN_WHY_MAX];
    weir__scan_share_exceeded(repo, "ids of these", repo->share.suspects, why);
    snprintf(text, sizeof(text),
             "something may be in it and in others, which are not looked at again: %.200s", why);
    weir__scan_repo_tell(w, repo, id, "cannot judge all of the history of", text);
}

uint32_t weir__scan_suspect_flags(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    weir_lock_acquire(&repo->lock);
    uint32_t number = weir__git_set_find(&repo->suspects, id);
    const struct weir__suspect *suspect =
        number == WEIR__GIT_SET_NONE ? NULL : weir__git_set_extra(&repo->suspects, number);
    uint32_t flags = suspect && !(suspect->flags & WEIR__SUSPECT_DONE) ? suspect->flags : 0;
    weir_lock_release(&repo->lock);
    return flags;
}

void weir__scan_suspect_mark(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             uint32_t flags)
{
    weir_lock_acquire(&repo->lock);
    uint32_t number = weir__git_set_find(&repo->suspects, id);
    if (number != WEIR__GIT_SET_NONE) {
        struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
        suspect->flags |= flags;
    }
    weir_lock_release(&repo->lock);
}

bool weir__scan_suspect_take(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             uint32_t *ret_number, struct weir__suspect *ret_suspect)
{
    bool is_taken = false;
    if (WEIR__JOB_MUTANT(SUSPECT_ASKED_FIRST) && weir__scan_suspect_flags(repo, id) == 0)
        return false;
    weir_lock_acquire(&repo->lock);
    *ret_number = weir__git_set_find(&repo->suspects, id);
    if (*ret_number != WEIR__GIT_SET_NONE) {
        struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, *ret_number);
        is_taken = !(suspect->flags & WEIR__SUSPECT_DONE) || WEIR__JOB_MUTANT(SUSPECT_ASKED_FIRST);
        *ret_suspect = *suspect;
        suspect->flags |= WEIR__SUSPECT_DONE;
    }
    weir_lock_release(&repo->lock);
    return is_taken;
}
