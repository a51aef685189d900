/* scan_repo_origin.c - which commit brought what is suspect, who made it and when, and under which
 * paths it lay.
 *
 * Everything here is done by the leader, between the two looks, but for the long walk through all
 * trees (scan_repo_slice.c); the second look only reads it.
 */
#include "scan_repo_trace.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

#define OTHERS_MAX 4096u

/* What is said of a commit: where it begins among the texts. */
struct commit_texts {
    uint32_t hex, author, mail, date, subject;
    uint32_t time[2]; /* records are aligned to 4 bytes */
};

/* --- where --- */

/* Most have one, which is not kept by itself. */
static struct weir__git_look look_of(const struct weir__git_attribution *a, size_t at)
{
    if (at < a->looks_count)
        return a->looks[at];
    return (struct weir__git_look){.path = a->path,
                                   .has_commit = a->has_commit,
                                   .commit = a->commit,
                                   .time = a->time,
                                   .kind = a->kind};
}

/* What no commit is known to have is unreachable, or staged and no more, only if all that refs lead
 * to was read. What lies at a path of a lost commit is not staged there, even if it is elsewhere:
 * the index comes before such a commit. */
static const char *kind_of(const struct weir__scan_repo *repo,
                           const struct weir__git_attribution *a, const struct weir__git_look *look)
{
    if (!look->has_commit || look->kind == WEIR__GIT_START_LOST)
        return a->ref && !look->is_staged ? a->ref
               : repo->is_untraced        ? "unknown"
               : look->has_commit         ? "unreachable"
               : a->is_staged             ? "staged"
                                          : "unreachable";
    return look->kind == WEIR__GIT_START_STASH   ? "stash"
           : look->kind == WEIR__GIT_START_NOTES ? "notes"
           : look->kind == WEIR__GIT_START_LOG   ? "reflog"
                                                 : NULL;
}

/* Of a commit, which is its own origin. */
static void find_commit(const struct weir__scan_repo *repo, const struct weir__git_id *id,
                        struct weir__git_attribution *ret_where)
{
    const struct weir__git_history *history = repo->origins->history;
    uint32_t at = history ? weir__git_history_find(history, id) : WEIR__GIT_SET_NONE;
    bool is_there = at != WEIR__GIT_SET_NONE && weir__git_history_has(history, at);
    *ret_where = (struct weir__git_attribution){
        .has_commit = true,
        .commit = *id,
        .kind = is_there ? weir__git_history_kind(history, at) : WEIR__GIT_START_LOST,
    };
}

void weir__scan_origin_where(const struct weir__scan_repo *repo, uint32_t number,
                             const struct weir__suspect *suspect,
                             struct weir__git_attribution *ret_where)
{
    struct weir__git_id id = weir__git_set_id(&repo->suspects, number);
    const struct weir__git_suspect *known =
        repo->is_unchanged ? weir__git_state_suspect(repo->state, &id) : NULL;
    if (repo->is_unattributed || suspect->flags & WEIR__SUSPECT_PROMISED)
        *ret_where = (struct weir__git_attribution){.path = NULL}; /* nobody has asked, or could */
    else if (known)
        *ret_where = known->where;
    else if (suspect->flags & WEIR__SUSPECT_COMMIT)
        find_commit(repo, &id, ret_where);
    else
        weir__git_attribute_result(repo->origins->attribute, suspect->wanted, ret_where);
}

/* --- messages --- */

void weir__scan_origin_of_message(const struct weir__scan_repo *repo,
                                  const struct weir__git_object *object, uint32_t number,
                                  const struct weir__suspect *suspect, struct weir__scan_origin *o)
{
    const char *bytes = (const char *)object->bytes;
    bool is_commit = object->type == WEIR__GIT_COMMIT;
    char why[WEIR__GIT_FLAW_MAX];
    struct weir__git_attribution where = {.has_commit = false};
    if (is_commit && number != WEIR__GIT_SET_NONE)
        weir__scan_origin_where(repo, number, suspect, &where);
    struct weir__git_look look = look_of(&where, 0);
    *o = (struct weir__scan_origin){.path = o->name};
    weir__git_message_name(object->type, &object->id, repo->id_size, bytes, object->length,
                           o->name);
    weir__git_id_hex(&object->id, repo->id_size, o->object);
    /* Of what cannot be read nothing is said but its id. */
    (void)!(is_commit ? weir__git_about_commit(&o->about, bytes, object->length, repo->id_size, why)
                      : weir__git_about_tag(&o->about, bytes, object->length, repo->id_size, why));
    o->brought = (struct weir__brought){
        .object = o->object,
        .commit = is_commit ? o->object : NULL,
        .author = o->about.author,
        .mail = o->about.mail,
        .date = o->about.date,
        .subject = o->about.subject,
        .time = o->about.time,
        .by = where.has_commit        ? kind_of(repo, &where, &look)
              : !is_commit && suspect ? weir__scan_tag_by(repo, suspect)
                                      : NULL,
    };
}

/* --- blobs --- */

static const char *text_at(const struct weir__scan_origins *origins, uint32_t at)
{
    return weir__buffer_text(&origins->texts) + at;
}

bool weir__scan_origin_is_hidden(const struct weir__scan_repo *repo, uint32_t number)
{
    const struct weir__git_history *history = repo->origins->history;
    struct weir__git_id id = weir__git_set_id(&repo->suspects, number), tree;
    uint32_t at = history ? weir__git_history_find(history, &id) : WEIR__GIT_SET_NONE;
    return at != WEIR__GIT_SET_NONE && weir__git_history_has(history, at) &&
           weir__git_history_kind(history, at) != WEIR__GIT_START_LOST &&
           weir__git_history_tree(history, at, &tree);
}

void weir__scan_origin_of_blob(const struct weir__scan_repo *repo, uint32_t number,
                               const struct weir__git_attribution *a, size_t at,
                               struct weir__scan_origin *o)
{
    const struct weir__scan_origins *origins = repo->origins;
    struct weir__git_id id = weir__git_set_id(&repo->suspects, number);
    struct weir__git_look look = look_of(a, at);
    *o = (struct weir__scan_origin){.path = look.path};
    weir__git_id_hex(&id, repo->id_size, o->object);
    if (!o->path) {
        snprintf(o->name, sizeof(o->name), "blob:%s", o->object);
        o->path = o->name;
    }
    const char *none = text_at(origins, 0);
    o->brought = (struct weir__brought){
        .object = o->object,
        .author = none,
        .mail = none,
        .date = none,
        .subject = none,
        .by = repo->is_unattributed ? "unknown" : kind_of(repo, a, &look),
        .root = repo->path,
        .paths = a->paths,
        .paths_count = a->paths_count,
        .paths_total = a->paths_total,
        .has_more_paths = a->has_more,
    };
    uint32_t commit =
        look.has_commit ? weir__git_set_find(&origins->commits, &look.commit) : WEIR__GIT_SET_NONE;
    if (commit == WEIR__GIT_SET_NONE)
        return;
    const struct commit_texts *texts = weir__git_set_extra(&origins->commits, commit);
    o->brought.commit = text_at(origins, texts->hex);
    o->brought.author = text_at(origins, texts->author);
    o->brought.mail = text_at(origins, texts->mail);
    o->brought.date = text_at(origins, texts->date);
    o->brought.subject = text_at(origins, texts->subject);
    memcpy(&o->brought.time, texts->time, sizeof(texts->time));
}

/* --- finding out --- */

static int keep_text(struct weir__scan_origins *origins, const char *text, uint32_t *ret_at)
{
    size_t at = weir__buffer_length(&origins->texts);
    int result = weir__buffer_append(&origins->texts, text, strlen(text) + 1);
    *ret_at = (uint32_t)at;
    return result;
}

static int on_other(void *arg, const char *ref, const struct weir__git_id *id,
                    enum weir__git_type type)
{
    struct weir__scan_origins *origins = arg;
    uint32_t at;
    if (origins->others_count == OTHERS_MAX)
        return 0; /* then it is told without a name */
    int result = keep_text(origins, ref, &at);
    if (result == 0)
        origins->others[origins->others_count++] =
            (struct weir__scan_other){.id = *id, .type = type, .name = at};
    return result;
}

/* A weir__git_get_fn that keeps what could not be had. */
static int get_for_history(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                           struct weir__buffer *bytes)
{
    struct weir__scan_origins *origins = arg;
    int result = weir__git_store_get(origins->repo->store, id, ret_type, bytes);
    origins->has_failed = result < 0;
    origins->failed_with = result;
    origins->failed = *id;
    return result;
}

/* Whether it is told elsewhere why an object cannot be had: it is damaged, or nobody knows whether
 * it is in a pack whose index is; or there is no right to read the pack or the folder that it is
 * in, which who walks it has told; or it is to be looked at with all the memory that there is, and
 * is told then if that is too little. */
static bool is_known_damage(const struct weir__scan_origins *origins)
{
    struct weir__git_store_facts facts;
    weir__git_store_facts(origins->repo->store, &facts);
    if (origins->failed_with == -WEIR_E_TOO_LARGE)
        return weir__scan_suspect_flags(origins->repo, &origins->failed) & WEIR__SUSPECT_LARGE;
    if (origins->failed_with == -WEIR_E_DENIED)
        return true;
    return origins->failed_with == -WEIR_E_CORRUPT &&
           (facts.has_unknown || weir__scan_state_is_unread(origins->repo, &origins->failed));
}

/* Several refs may lead to one object that cannot be had. */
static void on_history_problem(void *arg, const char *text)
{
    struct weir__scan_origins *origins = arg;
    struct weir__scan_repo *repo = origins->repo;
    weir__scan_untraced(repo);
    if (origins->has_failed &&
        (is_known_damage(origins) ||
         !weir__scan_repo_is_news(repo->w, repo, &origins->failed, sizeof(origins->failed))))
        return;
    weir__scan_repo_problem(repo, text);
}

/* Of a part of a history, whose commits are known, and told what is wrong with them: only which
 * refs lead to something else. */
static int walk_history(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    const struct weir__scan_refs *refs = repo->refs;
    const struct weir__git_history_options options = {
        .id_size = repo->id_size,
        .get = get_for_history,
        .get_arg = origins,
        .graph = refs->graph,
        .shallow = refs->shallow,
        .shallow_count = refs->shallow_count,
        .bytes_max = repo->share.history,
        .object_max = repo->share.led.object,
        .has_trees = true,
        .problem = repo->wanted ? NULL : on_history_problem,
        .problem_arg = origins,
        .stop = &repo->run->stop,
    };
    int result = weir__git_history_init(&origins->own, &options);
    if (result == 0)
        result = weir__git_history_start_refs(&origins->own, &refs->refs, on_other, origins);
    return result < 0 || repo->wanted ? result
                                      : weir__git_history_walk(&origins->own, WEIR__GIT_SINCE_EVER);
}

/* What is wrong with an index has been told, by who looked for what it names. */
static int on_staged(void *arg, const struct weir__git_index_entry *entry)
{
    return weir__git_attribute_staged(arg, entry);
}

static int attribute(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    uint64_t walkers =
        weir__scan_share_has_slices(repo) ? repo->at_once + UINT64_C(1) : 1; /* and the leader */
    weir__scan_share_exceeded(repo, "its trees", repo->share.trees / walkers, origins->exceeded);
    origins->trace = (struct weir__scan_trace){.repo = repo, .w = repo->w, .store = repo->store};
    const struct weir__git_attribute_options options = {
        .id_size = repo->id_size,
        .get = weir__scan_trace_get,
        .get_arg = &origins->trace,
        .history = origins->history,
        .order = origins->order,
        .order_count = origins->order_count,
        .lineage = &repo->lineage,
        .bytes_max = repo->share.trees / walkers,
        .exceeded = origins->exceeded,
        .problem = weir__scan_trace_problem,
        .problem_arg = &origins->trace,
        .stop = &repo->run->stop,
        .verdict = weir__scan_trace_verdict,
        .mark = weir__engine_has_commits(repo->run->options->engine) ? weir__scan_trace_mark : NULL,
    };
    int result = weir__git_attribute_new(&origins->attribute, &options);
    uint32_t count = weir__git_set_count(&repo->suspects);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_id id = weir__git_set_id(&repo->suspects, i);
        bool is_missing_tree = suspect->flags & WEIR__SUSPECT_TREE; /* to be met by the walk */
        const uint32_t lacking = WEIR__SUSPECT_COMMIT | WEIR__SUSPECT_MISSING;
        origins->lacks_commit |= (suspect->flags & lacking) == lacking && repo->refs->graph;
        if ((suspect->flags & WEIR__SUSPECT_BLOB || is_missing_tree) &&
            !(suspect->flags & WEIR__SUSPECT_PROMISED))
            result = weir__git_attribute_want(origins->attribute, &id, &suspect->wanted);
    }
    if (result == 0)
        result = weir__scan_verdicts_begin(origins);
    if (result == 0)
        result = weir__git_lineage_find(&repo->lineage, &repo->suspects, &repo->run->stop);
    if (result == 0)
        result = weir__scan_trace_all(origins);
    for (size_t i = 0; i < origins->others_count && result == 0; i++)
        result = weir__git_attribute_ref(origins->attribute,
                                         text_at(origins, (uint32_t)origins->others[i].name),
                                         &origins->others[i].id, origins->others[i].type);
    if (result == 0)
        result = weir__scan_staged_each(repo, on_staged, origins->attribute, false);
    if (result == 0)
        result = weir__scan_lost_find(origins);
    weir__git_lineage_give_up(&repo->lineage); /* its memory is for others now */
    if (result == 0)
        weir__scan_verdicts_tell(origins);
    return result;
}

static int keep_commit(struct weir__scan_origins *origins, const struct weir__git_id *id)
{
    struct weir__scan_repo *repo = origins->repo;
    struct weir__scan_origin o;
    enum weir__git_type type = WEIR__GIT_COMMIT;
    uint32_t number;
    int result = weir__git_set_add(&origins->commits, id, &number);
    if (result <= 0)
        return result;
    struct commit_texts *texts = weir__git_set_extra(&origins->commits, number);
    struct weir__git_object object = {.id = *id, .type = type};
    int got = weir__git_store_get(repo->store, id, &type, &origins->bytes);
    if (got == 0) {
        object.bytes = (const uint8_t *)weir__buffer_text(&origins->bytes);
        object.length = weir__buffer_length(&origins->bytes);
    } else if (got == -WEIR_E_NOT_FOUND) {
        origins->has_ghost = true;
        origins->ghost = *id;
    }
    weir__scan_origin_of_message(repo, &object, WEIR__GIT_SET_NONE, NULL, &o);
    memcpy(texts->time, &o.brought.time, sizeof(texts->time));
    result = keep_text(origins, o.object, &texts->hex);
    if (result == 0)
        result = keep_text(origins, o.about.author, &texts->author);
    if (result == 0)
        result = keep_text(origins, o.about.mail, &texts->mail);
    if (result == 0)
        result = keep_text(origins, o.about.date, &texts->date);
    return result < 0 ? result : keep_text(origins, o.about.subject, &texts->subject);
}

/* Whether something will be told of it: of what is missing, the name that it had. */
static bool is_to_be_told(const struct weir__scan_repo *repo, const struct weir__suspect *suspect,
                          const struct weir__git_attribution *where)
{
    return !(suspect->flags & WEIR__SUSPECT_DONE) ||
           (suspect->flags & WEIR__SUSPECT_MISSING && where->path &&
            weir__scan_name_has(repo->w, where->path));
}

static int keep_commits(struct weir__scan_origins *origins)
{
    const struct weir__scan_repo *repo = origins->repo;
    int result = 0;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects) && result >= 0; i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_attribution a;
        if (!(suspect->flags & WEIR__SUSPECT_BLOB))
            continue;
        weir__scan_origin_where(repo, i, suspect, &a);
        if (!is_to_be_told(repo, suspect, &a))
            continue;
        for (size_t k = 0; result >= 0 && (k == 0 || k < a.looks_count); k++) {
            struct weir__git_look look = look_of(&a, k);
            if (look.has_commit)
                result = keep_commit(origins, &look.commit);
        }
    }
    return result < 0 ? result : 0;
}

static int find_out(struct weir__scan_origins *origins)
{
    const struct weir__scan_repo *repo = origins->repo;
    int result = walk_history(origins);
    origins->history = repo->wanted ? &repo->wanted->history : &origins->own;
    if (result == 0)
        result = weir__git_history_order(origins->history, &origins->order, &origins->order_count);
    return result < 0 ? result : attribute(origins);
}

/* What is suspect is told even so: by its id, and without a commit. */
static int do_without(struct weir__scan_repo *repo)
{
    char why[WEIR__SCAN_WHY_MAX], text[WEIR__SCAN_WHY_MAX];
    weir__scan_share_exceeded(repo, "its commits", repo->share.history, why);
    snprintf(text, sizeof(text), "which commit brought what is not known: %.250s", why);
    weir__scan_repo_problem(repo, text);
    repo->is_unattributed = true;
    return 0;
}

/* A commit-graph that is damaged, or older than a loss, names commits that nobody has: then all is
 * found out once more without it, which tells what is missing. */
static int do_without_graph(struct weir__scan_repo *repo)
{
    char text[WEIR__SCAN_WHY_MAX], hex[WEIR__GIT_HEX_SIZE];
    weir__git_id_hex(&repo->origins->ghost, repo->id_size, hex);
    if (repo->wanted || repo->is_unchanged || !repo->refs->graph) {
        snprintf(text, sizeof(text),
                 "object %s: " WEIR__GIT_MISSING
                 ": the commit that brought what was found" WEIR__GIT_MISSING_CURE,
                 hex);
        weir__scan_repo_problem(repo, text);
        return 0;
    }
    weir__git_graph_free(repo->refs->graph);
    repo->refs->graph = NULL;
    weir__scan_origins_free(repo->origins);
    repo->origins = NULL;
    return weir__scan_origins_find(repo);
}

int weir__scan_origins_find(struct weir__scan_repo *repo)
{
    struct weir__scan_origins *origins = weir__base_alloc(1, sizeof(*origins));
    if (!origins)
        return -WEIR_E_NO_MEMORY;
    repo->origins = origins;
    origins->repo = repo;
    weir__git_set_init(&origins->commits, repo->id_size, sizeof(struct commit_texts),
                       repo->share.texts / 2);
    weir__buffer_init(&origins->texts, repo->share.texts / 2);
    weir__buffer_init(&origins->bytes, repo->share.led.object);
    origins->others = weir__base_alloc(OTHERS_MAX, sizeof(*origins->others));
    uint32_t none;
    int result = origins->others ? keep_text(origins, "", &none) : -WEIR_E_NO_MEMORY;
    if (result == 0 && !repo->is_unchanged)
        result = find_out(origins);
    if (result == -WEIR_E_TOO_LARGE)
        result = do_without(repo);
    if (result == 0)
        result = keep_commits(origins);
    if (result == 0)
        result = weir__scan_tags_find(origins);
    return result == 0 && origins->has_ghost ? do_without_graph(repo) : result;
}

void weir__scan_origins_free(struct weir__scan_origins *origins)
{
    if (!origins)
        return;
    weir__git_attribute_free(origins->attribute);
    weir__base_free(origins->order);
    weir__git_history_fini(&origins->own);
    weir__git_set_fini(&origins->commits);
    weir__buffer_fini(&origins->texts);
    weir__buffer_fini(&origins->bytes);
    weir__base_free(origins->others);
    weir__base_free(origins->is_opened);
    weir__scan_trace_fini(&origins->trace);
    weir__base_free(origins);
}
