/* scan_repo_state.c - what is remembered of a repository, and what of it still holds.
 *
 * An object that was looked at to its end need not be looked at again under the same rules. What
 * was suspect is still, and is told again: a scan says what is in a repository, not what is new in
 * it. Where suspects come from is remembered too, and holds as long as refs, their logs and
 * indexes are as they were; if it does, and nothing else is suspect, only those are scanned again
 * in which something was found, or that could not be scanned in full.
 *
 * Objects that could not be read or scanned are not remembered, so they are tried again and told
 * again, also those of which there is another copy that could be. Ids that do not fit into memory
 * are not either: each scan remembers as many as fit beside those that are in the file. A scan that
 * was stopped, failed or narrowed remembers nothing.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"

#include "banned.h"

/* Goes into the key: to be changed when what is looked at in a repository changes. */
#define LOOKS "looks 7"

static void put(struct weir__hash *hash, const void *bytes, size_t length)
{
    uint64_t size = length;
    weir__hash_update(hash, &size, sizeof(size));
    weir__hash_update(hash, bytes, length);
}

/* All that decides what is found in an object. */
static void make_key(const struct weir__scan_options *options, uint8_t key[WEIR__HASH_SIZE])
{
    const char *identity = weir__engine_identity(options->engine);
    const struct weir__archive_options *a = &options->archives;
    const uint64_t numbers[] = {
        options->decode_depth, a->depth_max,          a->entries_max,
        a->entry_bytes_max,    a->archive_bytes_max,  a->ratio_max,
        a->memory_max,         options->has_no_spill, weir__engine_heeds_comments(options->engine)};
    struct weir__hash hash;
    weir__hash_init(&hash);
    put(&hash, LOOKS, sizeof(LOOKS));
    put(&hash, identity, strlen(identity));
    put(&hash, numbers, sizeof(numbers));
    weir__hash_final(&hash, key);
}

/* All that decides where it comes from, and at which of its paths it has to be looked at: rules may
 * ask for a path as it is shown. */
static void make_digest(const struct weir__scan_repo *repo, uint8_t digest[WEIR__HASH_SIZE])
{
    const struct weir__git_refs *refs = &repo->refs->refs;
    struct weir__hash hash;
    weir__hash_init(&hash);
    for (size_t i = 0; i < refs->count; i++) {
        const char *name = weir__git_refs_name(refs, i);
        put(&hash, name, strlen(name));
        put(&hash, refs->list[i].id.bytes, repo->id_size);
    }
    for (size_t i = 0; i < refs->logs_count; i++)
        put(&hash, refs->logs[i].id.bytes, repo->id_size);
    put(&hash, repo->path, repo->path_length);
    weir__engine_hash_origin(repo->run->options->engine, repo->path, &hash);
    put(&hash, repo->refs->shallow, repo->refs->shallow_count * sizeof(*repo->refs->shallow));
    weir__scan_staged_hash(repo, &hash);
    weir__hash_final(&hash, digest);
}

static void describe(struct weir__scan_repo *repo, struct weir__git_state_about *about)
{
    *about = (struct weir__git_state_about){
        .id_size = repo->id_size, .repository = repo->identity, .memory_max = repo->share.recalled};
    make_key(repo->run->options, about->key);
}

/* Once in a run: what is wrong with the folder is wrong for all. It is no fault of this scan. */
static void tell_unsaved(struct weir__scan *run, const char *why)
{
    char text[WEIR__SCAN_WHY_MAX];
    weir_lock_acquire(&run->lock);
    bool is_first = !run->repos.is_unsaved_told;
    run->repos.is_unsaved_told = true;
    weir_lock_release(&run->lock);
    if (!is_first || !run->hooks.warning)
        return;
    snprintf(text, sizeof(text),
             "nothing is remembered of histories, all will be scanned again: %s", why);
    run->hooks.warning(run->hooks.arg, text);
}

/* --- at the beginning --- */

void weir__scan_state_load(struct weir__scan_repo *repo)
{
    struct weir__git_state_about about;
    char why[WEIR__GIT_FLAW_MAX];
    if (repo->run->options->has_state && !repo->run->repos.has_states && !repo->wanted)
        tell_unsaved(repo->run, repo->run->repos.why_stateless);
    if (!repo->run->repos.has_states || repo->wanted)
        return;
    repo->has_state = true;
    weir__git_state_ids_init(&repo->seen, repo->id_size, repo->share.seen);
    make_digest(repo, repo->digest);
    describe(repo, &about);
    /* A scan in full relies on no other. Whatever is wrong with the file, all is scanned, and it is
     * replaced. */
    if (repo->run->options->is_full ||
        weir__git_state_load(&repo->state, &repo->run->repos.states, &about, why) < 0)
        repo->state = NULL;
}

bool weir__scan_state_spares(const struct weir__scan_repo *repo, const struct weir__git_id *id,
                             enum weir__git_type type)
{
    return (!repo->is_wary || type == WEIR__GIT_BLOB) && weir__git_state_has(repo->state, id);
}

void weir__scan_state_seen(struct weir__scan_repo *repo, const struct weir__git_id *ids,
                           size_t count)
{
    if (!repo->has_state || count == 0)
        return;
    weir_lock_acquire(&repo->lock);
    /* Those that do not fit are looked at again next time, and may fit then. */
    (void)!weir__git_state_ids_add(&repo->seen, ids, count);
    weir_lock_release(&repo->lock);
}

void weir__scan_state_unread(struct weir__scan_repo *repo, const struct weir__git_id *id,
                             bool is_loose)
{
    uint32_t number;
    weir_lock_acquire(&repo->lock);
    repo->has_unread = true;
    repo->has_unread_loose |= is_loose;
    repo->has_hidden |= weir__git_id_is_zero(id);
    repo->has_damage |= repo->has_hidden || weir__git_state_has(repo->state, id);
    int result = weir__git_set_add(&repo->unread, id, &number);
    repo->is_forgetful |= result < 0;
    if (result >= 0) {
        uint32_t *copies = weir__git_set_extra(&repo->unread, number);
        (*copies)++;
    }
    weir_lock_release(&repo->lock);
}

bool weir__scan_state_is_unread(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    weir_lock_acquire(&repo->lock);
    bool is_it = weir__git_set_find(&repo->unread, id) != WEIR__GIT_SET_NONE;
    weir_lock_release(&repo->lock);
    return is_it;
}

/* --- between the looks --- */

static uint32_t flags_of(const struct weir__git_suspect *known)
{
    uint32_t kind =
        known->type == WEIR__GIT_TREE ? WEIR__SUSPECT_TREE : weir__scan_kind(known->type);
    return kind | WEIR__SUSPECT_KNOWN |
           (known->flags & WEIR__GIT_SUSPECT_ARCHIVE ? WEIR__SUSPECT_FILE : 0) |
           (known->flags & WEIR__GIT_SUSPECT_LARGE ? WEIR__SUSPECT_LARGE : 0) |
           (known->flags & WEIR__GIT_SUSPECT_TEXT ? WEIR__SUSPECT_FOUND : 0) |
           (known->flags & WEIR__GIT_SUSPECT_NAMED ? WEIR__SUSPECT_NAMED : 0) |
           (known->flags & WEIR__GIT_SUSPECT_PROMISED ? WEIR__SUSPECT_PROMISED : 0) |
           (known->flags & WEIR__GIT_SUSPECT_MISSING
                ? WEIR__SUSPECT_MISSING | WEIR__SUSPECT_LINKED | WEIR__SUSPECT_DONE
                : 0);
}

bool weir__scan_state_is_of_now(const struct weir__scan_repo *repo)
{
    return repo->state &&
           memcmp(weir__git_state_digest(repo->state), repo->digest, sizeof(repo->digest)) == 0;
}

/* Whether this scan has met one whose origin is to be found out. */
static bool has_fresh(const struct weir__scan_repo *repo)
{
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if (!(suspect->flags & WEIR__SUSPECT_PROMISED))
            return true;
    }
    return false;
}

/* Whether where it comes from may depend on commits that nothing leads to. */
static bool is_of_lost(const struct weir__git_suspect *known)
{
    bool is_it = !known->where.path || known->where.kind == WEIR__GIT_START_LOST;
    for (size_t i = 0; i < known->where.looks_count; i++)
        is_it |= known->where.looks[i].kind == WEIR__GIT_START_LOST;
    return is_it && known->type == WEIR__GIT_BLOB;
}

/* Whether where all of them come from is what it was, if refs and index are: unless one is there
 * again that was missing, or commits came that nothing leads to. */
static bool has_held(const struct weir__scan_repo *repo, const struct weir__git_suspect *known,
                     size_t count)
{
    bool holds = true;
    for (size_t i = 0; i < count && holds; i++)
        holds = known[i].flags & WEIR__GIT_SUSPECT_MISSING
                    ? weir__git_store_has(repo->store, &known[i].id) == -WEIR_E_NOT_FOUND
                    : repo->is_same || !repo->has_links || !is_of_lost(&known[i]);
    return holds;
}

/* Copies of it that the first look has told: one that is met twice counts twice. */
static uint32_t count_unread(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    uint32_t number = weir__git_set_find(&repo->unread, id);
    const uint32_t *copies =
        number == WEIR__GIT_SET_NONE ? NULL : weir__git_set_extra(&repo->unread, number);
    return copies ? *copies : 0;
}

/* Whether it cannot be read any more, which was told, and there is no other copy of it. Whoever
 * looks up one object checks less than who walks a pack, so what can be had is not asked. */
static bool is_lost_to_damage(struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    if (!repo->has_unread)
        return false;
    int result = weir__git_store_has(repo->store, id);
    uint32_t unread = count_unread(repo, id);
    if (result == 0)
        return unread > 0 && weir__git_store_copies(repo->store, id, unread + 1) <= unread;
    return result != -WEIR_E_NO_MEMORY;
}

bool weir__scan_state_has_missing(const struct weir__scan_repo *repo)
{
    size_t count = 0;
    const struct weir__git_suspect *known =
        repo->state ? weir__git_state_suspects(repo->state, &count) : NULL;
    for (size_t i = 0; known && i < count; i++)
        if (known[i].flags & WEIR__GIT_SUSPECT_MISSING)
            return true;
    return false;
}

/* Adds those that are remembered, but for what was missing and is there by now, since the first
 * look has seen it, or is named no more, and for what is gone. Whether all that is known of them
 * still holds: then who need not be scanned again is done. */
int weir__scan_state_recall(struct weir__scan_repo *repo)
{
    size_t count;
    const struct weir__git_suspect *known =
        repo->state ? weir__git_state_suspects(repo->state, &count) : NULL;
    if (!repo->state)
        return 0;
    /* What cannot be read any more may have led to something. */
    repo->is_unchanged = weir__scan_state_is_of_now(repo) && !has_fresh(repo) &&
                         !repo->has_damage && (!known || has_held(repo, known, count));
    for (size_t i = 0; known && i < count; i++) {
        uint32_t number;
        uint32_t flags = flags_of(&known[i]);
        bool is_missing = flags & WEIR__SUSPECT_MISSING;
        bool is_back =
            is_missing && weir__git_store_has(repo->store, &known[i].id) != -WEIR_E_NOT_FOUND;
        if (is_missing && !is_back && repo->is_wary)
            continue; /* if something still names it, that was met */
        if (is_back) {
            flags &=
                ~(uint32_t)(WEIR__SUSPECT_MISSING | WEIR__SUSPECT_PROMISED | WEIR__SUSPECT_DONE);
            if (!(flags & (WEIR__SUSPECT_FOUND | WEIR__SUSPECT_FILE | WEIR__SUSPECT_LARGE |
                           WEIR__SUSPECT_NAMED)))
                continue;
        }
        if (!(flags & WEIR__SUSPECT_MISSING) &&
            (weir__scan_gone_is(repo, &known[i].id) || is_lost_to_damage(repo, &known[i].id)))
            continue;
        int result = weir__git_set_add(&repo->suspects, &known[i].id, &number);
        if (result < 0)
            return result;
        bool has_more = known[i].flags & WEIR__GIT_SUSPECT_FINDINGS;
        struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
        suspect->flags |= flags;
        if (repo->is_unchanged && !has_more)
            suspect->flags |= WEIR__SUSPECT_DONE;
    }
    return 0;
}

/* --- at the end --- */

/* One that was not met at the second look may be met again: then it is scanned as any other. */
static unsigned kept_flags(uint32_t flags)
{
    bool has_more =
        flags & (WEIR__SUSPECT_TOLD | WEIR__SUSPECT_MISSING) || !(flags & WEIR__SUSPECT_DONE);
    return (flags & WEIR__SUSPECT_FOUND ? WEIR__GIT_SUSPECT_TEXT : 0u) |
           (flags & WEIR__SUSPECT_NAMED ? WEIR__GIT_SUSPECT_NAMED : 0u) |
           (flags & WEIR__SUSPECT_FILE ? WEIR__GIT_SUSPECT_ARCHIVE : 0u) |
           (flags & WEIR__SUSPECT_LARGE ? WEIR__GIT_SUSPECT_LARGE : 0u) |
           (flags & WEIR__SUSPECT_LINKED ? WEIR__GIT_SUSPECT_MISSING : 0u) |
           (flags & WEIR__SUSPECT_PROMISED ? WEIR__GIT_SUSPECT_PROMISED : 0u) |
           (has_more ? WEIR__GIT_SUSPECT_FINDINGS : 0u);
}

/* What refs or the index alone name, and is missing, is looked for whenever these have changed or
 * it was told: then they may name it no more. */
static bool is_kept(const struct weir__suspect *suspect)
{
    const uint32_t others = WEIR__SUSPECT_LINKED | WEIR__SUSPECT_FOUND | WEIR__SUSPECT_FILE |
                            WEIR__SUSPECT_LARGE | WEIR__SUSPECT_NAMED;
    return !(suspect->flags & WEIR__SUSPECT_MISSING) || suspect->flags & others;
}

/* Those that are remembered. */
static size_t list_kept(struct weir__scan_repo *repo, struct weir__git_suspect *list)
{
    size_t count = 0;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if (!is_kept(suspect))
            continue;
        struct weir__git_suspect *kept = &list[count++];
        *kept = (struct weir__git_suspect){
            .id = weir__git_set_id(&repo->suspects, i),
            .type = suspect->flags & WEIR__SUSPECT_COMMIT ? WEIR__GIT_COMMIT
                    : suspect->flags & WEIR__SUSPECT_TAG  ? WEIR__GIT_TAG
                    : suspect->flags & WEIR__SUSPECT_TREE ? WEIR__GIT_TREE
                                                          : WEIR__GIT_BLOB,
            .flags = kept_flags(suspect->flags),
        };
        if (kept->type == WEIR__GIT_BLOB || kept->type == WEIR__GIT_COMMIT)
            weir__scan_origin_where(repo, i, suspect, &kept->where);
    }
    return count;
}

/* held: NULL for none that ever fits. */
static void save(struct weir__scan_repo *repo, const uint8_t *held)
{
    struct weir__git_state_about about;
    char why[WEIR__GIT_FLAW_MAX];
    uint32_t count = weir__git_set_count(&repo->suspects);
    struct weir__git_suspect *list = weir__base_alloc((size_t)count + 1, sizeof(*list));
    struct weir__git_state_new made = {.old = repo->state,
                                       .there = repo->has_there ? &repo->there : NULL,
                                       .ids = &repo->seen,
                                       .without = &repo->unread,
                                       .suspects = list,
                                       .suspects_count = list ? list_kept(repo, list) : 0,
                                       .loose_time_ns = repo->loose_time_ns};
    if (held)
        memcpy(made.held, held, sizeof(made.held));
    memcpy(made.midx, repo->midx, sizeof(made.midx));
    /* What was told about origins is told until it is mended: no digest is the one of now then. */
    if (!repo->is_doubtful)
        memcpy(made.digest, repo->digest, sizeof(made.digest));
    describe(repo, &about);
    bool has_packs = !held || weir__scan_packs_keep(repo, &made);
    /* What could not be read was not missed, and nobody remembers it: if it goes, all that may name
     * it is looked at. Of packs their marks say so. */
    if (repo->has_unread_loose || (repo->has_unread && !held))
        memset(made.loose, WEIR__SCAN_LOOSE_UNREAD, sizeof(made.loose));
    /* What cannot be remembered is scanned again: that is no fault of this scan. */
    if (list && has_packs &&
        weir__git_state_save(&repo->run->repos.states, &about, &made, why) < 0) {
        repo->w->counts.unremembered++;
        tell_unsaved(repo->run, why);
    }
    weir__scan_packs_forget(&made);
    weir__base_free(list);
}

void weir__scan_state_keep(struct weir__scan_repo *repo)
{
    uint8_t held[WEIR__HASH_SIZE];
    if (!repo->has_state)
        return;
    bool is_all = weir__scan_gone_held(repo, held);
    bool is_of_now =
        repo->is_unchanged && repo->seen._count == 0 && !repo->is_wary && !repo->has_changed &&
        memcmp(repo->midx, weir__git_state_midx(repo->state), sizeof(repo->midx)) == 0 &&
        memcmp(held, weir__git_state_held(repo->state), sizeof(held)) == 0 &&
        !(is_all && weir__scan_packs_have_news(repo));
    if (repo->is_forgetful || weir__git_state_ids_is_full(&repo->seen))
        repo->w->counts.unremembered++;
    if (repo->is_forgetful)
        return;
    if (!is_of_now)
        save(repo, is_all ? held : NULL);
}

void weir__scan_state_drop(struct weir__scan_repo *repo)
{
    weir__scan_gone_drop(repo);
    weir__scan_packs_drop(repo);
    weir__git_state_free(repo->state);
    if (repo->has_state)
        weir__git_state_ids_fini(&repo->seen);
}
