/* scan_repo_missing.c - what objects name and nobody has.
 *
 * The first look sees every tree, commit and tag, so what they name is looked for there and no
 * history is walked for it: of a tree that git has as a delta only what was not copied, since the
 * rest was looked for with its base. Nearly all of it is in the same pack, whose index is asked for
 * many ids at once. What is elsewhere is put into a set of the repository, and the leader looks for
 * it when all shards are done: in all packs, those that came meanwhile too, and loose.
 *
 * What is missing is a suspect. Whether a ref leads to it is found out as with others, by the walk
 * to their origins, which is made for this alone if need be: an object that nothing leads to may
 * have been pruned in part, and nobody misses the rest. Git has an empty tree and an empty blob
 * even where no file has them.
 *
 * Of a partial clone, what an object of a promisor's pack names is promised: that is counted, and
 * told in one line. A commit at which a shallow clone ends names no parents.
 */
#include "scan_repo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "git/tag_object.h"
#include "git/tree_entry.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

/* Ids that are looked for at once. */
#define BATCH 512u
/* Ids that were named not long ago, by one thread. */
#define RECENT 2048u /* a power of 2 */

/* How long an index may be without its pack. */
#define PACKLESS_TRIES 5u
#define PACKLESS_NS    (20 * WEIR_NS_PER_MS)

#define KINDS          (WEIR__SUSPECT_BLOB | WEIR__SUSPECT_COMMIT | WEIR__SUSPECT_TAG | WEIR__SUSPECT_TREE)

struct weir__scan_mentions {
    uint64_t repo; /* its number: what is recent is of this one, and of packs of this kind */
    bool is_promisor;
    const struct weir__scan_pack *pack; /* of the shard; NULL: loose ones */
    struct weir__git_store *(*store)(void *arg);
    void *arg;
    size_t count;
    struct weir__git_id ids[BATCH];
    uint32_t marks[BATCH];
    bool lacks[BATCH];
    struct weir__git_id recent[RECENT];
};

void weir__scan_mentions_free(struct weir__scan_mentions *mentions)
{
    weir__base_free(mentions);
}

int weir__scan_mentions_begin(struct weir__scan_mentions **mentions,
                              const struct weir__scan_repo *repo,
                              const struct weir__scan_pack *pack,
                              struct weir__git_store *(*store)(void *arg), void *arg)
{
    bool is_promisor = pack && pack->is_promisor;
    if (!*mentions)
        *mentions = weir__base_alloc(1, sizeof(**mentions));
    struct weir__scan_mentions *m = *mentions;
    if (!m)
        return -WEIR_E_NO_MEMORY;
    if (m->repo != repo->number || m->is_promisor != is_promisor)
        memset(m->recent, 0, sizeof(m->recent));
    m->repo = repo->number;
    m->is_promisor = is_promisor;
    m->pack = pack;
    m->store = store;
    m->arg = arg;
    m->count = 0;
    return 0;
}

/* --- by a thread that scans --- */

/* Into the set, to be looked for later. Under the lock. */
static int put(struct weir__scan_repo *repo, const struct weir__git_id *id, uint32_t marks)
{
    uint32_t number;
    int result = weir__git_set_add(&repo->named, id, &number);
    if (result < 0)
        return result;
    uint32_t *all = weir__git_set_extra(&repo->named, number);
    *all |= marks;
    return 0;
}

static void suspect_missing(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                            const struct weir__git_id *id, uint32_t marks)
{
    uint32_t kind = marks & KINDS ? marks : marks | WEIR__SUSPECT_BLOB;
    weir__scan_suspect(w, repo, id, kind | WEIR__SUSPECT_MISSING | WEIR__SUSPECT_DONE);
}

static bool is_always_there(const struct weir__git_id *id, size_t id_size)
{
    static const char *const hex[2][2] = {
        {"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
        {"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
         "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}};
    for (size_t i = 0; i < 2; i++) {
        struct weir__git_id known;
        const char *text = hex[id_size == WEIR__GIT_SHA256_SIZE][i];
        if (weir__git_id_from_hex(&known, text, id_size) == 0 && weir__git_id_is_equal(&known, id))
            return true;
    }
    return false;
}

/* What cannot be asked is there: the pack that could not be read has been told. */
static bool is_missing(const struct weir__scan_repo *repo, struct weir__git_store *store,
                       const struct weir__git_id *id)
{
    return weir__git_store_has(store, id) == -WEIR_E_NOT_FOUND &&
           !is_always_there(id, repo->id_size);
}

/* For those there is no room in the set for: looked for at once. */
static void look_now(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                     struct weir__scan_mentions *m)
{
    struct weir__git_store *store = m->store(m->arg);
    for (size_t i = 0; i < m->count; i++) {
        if (!m->lacks[i])
            continue;
        if (!store)
            weir__scan_repo_tell(w, repo, &m->ids[i], "cannot read all of the history of",
                                 "it is named, and there is no memory to look for it");
        else if (is_missing(repo, store, &m->ids[i]))
            suspect_missing(w, repo, &m->ids[i], m->marks[i]);
    }
}

void weir__scan_mentions_flush(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                               struct weir__scan_mentions *m)
{
    bool has_rest = false;
    if (!m || m->count == 0)
        return;
    if (m->pack)
        weir__git_pack_lacks(&m->pack->pack, m->ids, m->count, m->lacks);
    else
        memset(m->lacks, true, m->count * sizeof(*m->lacks));
    weir_lock_acquire(&repo->lock);
    for (size_t i = 0; i < m->count; i++) {
        if (m->lacks[i])
            m->lacks[i] = put(repo, &m->ids[i], m->marks[i]) < 0;
        has_rest |= m->lacks[i];
    }
    weir_lock_release(&repo->lock);
    if (has_rest)
        look_now(w, repo, m);
    m->count = 0;
}

void weir__scan_mention(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        struct weir__scan_mentions *m, const struct weir__git_id *id,
                        uint32_t marks)
{
    struct weir__git_id *recent = &m->recent[weir__git_id_hash(id) & (RECENT - 1)];
    if (weir__git_id_is_equal(recent, id) && !weir__git_id_is_zero(id))
        return;
    *recent = *id;
    if (m->count == BATCH)
        weir__scan_mentions_flush(w, repo, m);
    m->ids[m->count] = *id;
    m->marks[m->count++] =
        marks | WEIR__SUSPECT_LINKED | (m->is_promisor ? WEIR__SUSPECT_PROMISED : 0);
}

static int compare_ids(const void *a, const void *b)
{
    return weir__git_id_compare(a, b);
}

static bool is_shallow(const struct weir__scan_repo *repo, const struct weir__git_id *id)
{
    const struct weir__scan_refs *refs = repo->refs;
    return refs->shallow_count > 0 &&
           bsearch(id, refs->shallow, refs->shallow_count, sizeof(*id), compare_ids);
}

bool weir__scan_mention_links(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                              struct weir__scan_mentions *m, const struct weir__git_object *object)
{
    const char *bytes = (const char *)object->bytes;
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_commit commit;
    struct weir__git_tag tag;
    if (repo->wanted)
        return true; /* who found out what is wanted has told what is missing of it */
    bool is_tag = object->type == WEIR__GIT_TAG;
    int result =
        is_tag ? weir__git_tag_parse(&tag, bytes, object->length, repo->id_size, why)
               : weir__git_commit_parse_links(&commit, bytes, object->length, repo->id_size, why);
    if (result < 0) {
        weir__scan_repo_tell(w, repo, &object->id, "cannot read all of the history of", why);
        return true;
    }
    if (is_tag) {
        uint32_t kind = tag.target_type == WEIR__GIT_TREE ? WEIR__SUSPECT_TREE
                                                          : weir__scan_kind(tag.target_type);
        weir__scan_mention(w, repo, m, &tag.target, kind);
        return true;
    }
    weir__scan_mention(w, repo, m, &commit.tree, WEIR__SUSPECT_TREE);
    if (is_shallow(repo, &object->id))
        return false;
    for (size_t i = 0; i < commit.parents_count; i++) {
        struct weir__git_id parent = weir__git_commit_parent(&commit, i);
        weir__scan_mention(w, repo, m, &parent, WEIR__SUSPECT_COMMIT);
    }
    return true;
}

void weir__scan_mention_gone(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                             const struct weir__git_id *id)
{
    weir_lock_acquire(&repo->lock);
    int result = put(repo, id, 0); /* it may have been pruned: who names it says what it is */
    weir_lock_release(&repo->lock);
    if (result < 0)
        weir__scan_repo_tell(w, repo, id, "cannot read all of the history of",
                             weir_error_text(result));
}

/* --- by the leader --- */

/* Shards are done: nobody else uses the set. */
static void look_for(struct weir__scan_repo *repo, const struct weir__git_id *id, uint32_t marks)
{
    if (put(repo, id, marks) < 0 && is_missing(repo, repo->store, id))
        suspect_missing(repo->w, repo, id, marks);
}

static int on_staged(void *arg, const struct weir__git_index_entry *entry)
{
    bool is_tree = weir__git_mode_is_tree(entry->mode);
    if (!weir__git_mode_is_submodule(entry->mode) && !entry->is_intent_to_add)
        look_for(arg, &entry->id, is_tree ? WEIR__SUSPECT_TREE : WEIR__SUSPECT_BLOB);
    return 0;
}

/* What refs and indexes name. */
static int look_for_named(struct weir__scan_repo *repo)
{
    const struct weir__git_refs *refs = &repo->refs->refs;
    for (size_t i = 0; i < refs->count; i++) {
        const struct weir__git_ref *ref = &refs->list[i];
        /* Who follows refs asks for no tag of which it is known what it leads to. */
        if (!weir__git_id_is_zero(&ref->id))
            look_for(repo, &ref->id,
                     ref->has_peeled ? WEIR__SUSPECT_TAG | WEIR__SUSPECT_REACHED
                                     : WEIR__SUSPECT_COMMIT);
    }
    int result = weir__scan_staged_each(repo, on_staged, repo, true);
    return result < 0 ? result : weir__scan_staged_names(repo);
}

int weir__scan_missing_find(struct weir__scan_repo *repo)
{
    int result = 0;
    if (!repo->wanted && (repo->is_wary || !weir__scan_state_is_of_now(repo)))
        result = look_for_named(repo);
    else if (repo->wanted && weir__git_wanted_has_staged(repo->wanted))
        result = weir__scan_staged_names(repo);
    for (uint32_t i = 0; result == 0 && i < weir__git_set_count(&repo->named); i++) {
        struct weir__git_id id = weir__git_set_id(&repo->named, i);
        const uint32_t *marks = weir__git_set_extra(&repo->named, i);
        if ((i & 255) == 0 && weir_cancel_is_fired(&repo->run->stop))
            return -WEIR_E_CANCELED;
        if (is_missing(repo, repo->store, &id))
            suspect_missing(repo->w, repo, &id,
                            *marks | (repo->wanted ? WEIR__SUSPECT_REACHED : 0));
    }
    return result;
}

/* A file that is missing has a name, which is looked at as those of others are. Returns its path
 * in the repository as it may be shown. */
static const char *name_of(struct weir__scan_repo *repo, uint32_t number,
                           const struct weir__git_attribution *where)
{
    struct weir__scan_worker *w = repo->w;
    struct weir__scan_origin origin;
    weir__scan_origin_of_blob(repo, number, where, 0, &origin);
    weir__buffer_truncate(&w->path, 0);
    if (weir__buffer_append(&w->path, repo->path, repo->path_length) < 0 ||
        weir__buffer_puts(&w->path, origin.path) < 0)
        return "(a name for which there was no memory)";
    w->brought = &origin.brought;
    const char *shown = weir__scan_name(w, weir__buffer_text(&w->path));
    w->brought = NULL;
    /* Its length stays, but where there was no memory to look at it. */
    bool is_path = strlen(shown) == weir__buffer_length(&w->path);
    return is_path ? shown + repo->path_length : shown;
}

/* Whether a ref leads to it; and where it should be. */
static bool is_reached(struct weir__scan_repo *repo, uint32_t number, char *ret_where, size_t size)
{
    const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
    struct weir__git_attribution where = {.path = NULL};
    char hex[WEIR__GIT_HEX_SIZE];
    *ret_where = '\0';
    if (repo->is_unattributed)
        return true; /* nobody knows: that was told, and so is this */
    if (suspect->flags & WEIR__SUSPECT_COMMIT)
        return suspect->flags & WEIR__SUSPECT_REACHED || weir__scan_origin_is_hidden(repo, number);
    if (suspect->flags & WEIR__SUSPECT_BLOB)
        weir__scan_origin_where(repo, number, suspect, &where);
    if (where.path && where.has_commit)
        snprintf(ret_where, size, ": '%s' of commit %s",
                 WEIR__CLIPPED(name_of(repo, number, &where)),
                 weir__git_id_hex(&where.commit, repo->id_size, hex));
    return suspect->flags & WEIR__SUSPECT_REACHED ||
           (where.has_commit && where.kind != WEIR__GIT_START_LOST) || where.ref || where.is_staged;
}

static bool is_marked(const struct weir__scan_repo *repo, uint32_t number, uint32_t marks)
{
    const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, number);
    return (suspect->flags & (WEIR__SUSPECT_MISSING | WEIR__SUSPECT_PROMISED)) == marks;
}

void weir__scan_missing_tell(struct weir__scan_repo *repo)
{
    char text[WEIR__SCAN_WHY_MAX], where[WEIR__SCAN_WHY_MAX - 80];
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        struct weir__git_id id = weir__git_set_id(&repo->suspects, i);
        if (!is_marked(repo, i, WEIR__SUSPECT_MISSING) ||
            !is_reached(repo, i, where, sizeof(where)))
            continue;
        snprintf(text, sizeof(text), WEIR__GIT_MISSING "%s" WEIR__GIT_MISSING_CURE, where);
        weir__scan_repo_tell(repo->w, repo, &id, "cannot read all of the history of", text);
    }
}

void weir__scan_promised_tell(struct weir__scan_repo *repo)
{
    char text[WEIR__SCAN_WHY_MAX];
    uint64_t promised = repo->wanted ? repo->wanted->promised : 0;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++)
        promised += is_marked(repo, i, WEIR__SUSPECT_MISSING | WEIR__SUSPECT_PROMISED);
    if (promised == 0)
        return;
    snprintf(text, sizeof(text),
             "objects that are not here: %" PRIu64 ", in a partial clone, whose remote is not "
             "asked; a clone without --filter has them",
             promised);
    weir__scan_repo_problem(repo, text);
}

/* --- indexes without a pack --- */

/* Whether one is still there and has none. */
static bool has_packless(const struct weir__scan_repo *repo)
{
    struct weir__git_pack ids;
    const char *stem;
    for (uint32_t i = 0; i < weir__git_store_packless(repo->store); i++) {
        int result = weir__git_store_packless_open(repo->store, i, &stem, &ids);
        if (result == 0)
            weir__git_pack_close(&ids);
        if (result != -WEIR_E_NOT_FOUND)
            return true;
    }
    return false;
}

/* The first object that it lists and nobody has; false: all are elsewhere. */
static bool find_lacking(const struct weir__scan_repo *repo, const struct weir__git_pack *ids,
                         struct weir__git_id *ret_id)
{
    for (uint32_t i = 0; i < ids->idx.count; i++) {
        if ((i & 255) == 0 && weir_cancel_is_fired(&repo->run->stop))
            return false;
        if (weir__git_pack_id(ids, i, ret_id) == 0 && is_missing(repo, repo->store, ret_id))
            return true;
    }
    return false;
}

static void tell_packless(struct weir__scan_repo *repo, uint32_t i)
{
    char text[WEIR__SCAN_WHY_MAX], name[WEIR__GIT_PACK_NAME_SIZE], hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_pack ids;
    struct weir__git_id id;
    const char *stem;
    int result = weir__git_store_packless_open(repo->store, i, &stem, &ids);
    if (result == -WEIR_E_NOT_FOUND)
        return;
    snprintf(name, sizeof(name), "%s", stem); /* packs may be listed anew */
    if (result < 0) {
        snprintf(text, sizeof(text), "%.120s.idx has no pack, and cannot be read: %s", name,
                 weir_error_text(result));
        weir__scan_repo_problem(repo, text);
        return;
    }
    if (find_lacking(repo, &ids, &id)) {
        snprintf(text, sizeof(text),
                 "%.120s.idx has no pack, and object %s that it lists is nowhere: "
                 "'git fetch --refetch' brings it if the remote has it, else remove the index",
                 name, weir__git_id_hex(&id, repo->id_size, hex));
        weir__scan_repo_problem(repo, text);
    }
    weir__git_pack_close(&ids);
}

void weir__scan_packless_tell(struct weir__scan_repo *repo)
{
    if (repo->wanted)
        return; /* what is missing of a part has been told */
    for (unsigned tries = 0; tries < PACKLESS_TRIES && has_packless(repo); tries++) {
        struct weir_deadline deadline = weir_deadline_in(PACKLESS_NS, &repo->run->stop);
        (void)weir_deadline_sleep(&deadline);
    }
    /* When packs are listed anew there are fewer of them: then from the first on. */
    for (uint32_t i = 0, count; i < (count = weir__git_store_packless(repo->store)); i++) {
        tell_packless(repo, i);
        if (weir__git_store_packless(repo->store) != count)
            i = UINT32_MAX;
    }
}
