/* wanted_refs.c - from what people ask for to commits and tags. */
#include "wanted_part.h"

#include <stdio.h>

#include "alloc.h"
#include "commit_part.h"
#include "cover.h"
#include "pattern.h"
#include "refs_resolve.h"
#include "tag_object.h"

#include "banned.h"

/* --- patterns --- */

/* Stars match slashes, as in `git log --glob`: of two stars rsync's dialect says so. */
static int make_pattern(struct weir__pattern *pattern, const char *text)
{
    char doubled[WEIR__PATTERN_MAX];
    size_t length = 0;
    for (const char *at = text; *at; at++) {
        bool is_star = *at == '*' && (at == text || at[-1] != '\\');
        if (length + 2 > sizeof(doubled))
            return -WEIR_E_TOO_LARGE;
        doubled[length++] = *at;
        if (is_star)
            doubled[length++] = '*';
    }
    while (length > 1 && doubled[length - 1] == '/')
        length--;
    return weir__pattern_init(pattern, WEIR__DIALECT_RSYNC, doubled, length);
}

/* The name, or a folder that it is in. */
static bool matches_form(const struct weir__pattern *pattern, const char *name)
{
    for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/'))
        if (end > name &&
            weir__pattern_match(pattern, WEIR__PATTERN_WHOLE, name, (size_t)(end - name)))
            return true;
    return weir__pattern_match(pattern, WEIR__PATTERN_WHOLE, name, strlen(name));
}

static bool matches_name(const struct weir__pattern *pattern, const char *name)
{
    static const char *const before[] = {"refs/", "refs/heads/", "refs/tags/", "refs/remotes/"};
    if (matches_form(pattern, name))
        return true;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t length = strlen(before[i]);
        if (strncmp(name, before[i], length) == 0 && matches_form(pattern, name + length))
            return true;
    }
    return false;
}

int weir__git_ref_matches(const char *text, const char *name)
{
    struct weir__pattern pattern;
    int error = make_pattern(&pattern, text);
    if (error)
        return error;
    bool is_match = matches_name(&pattern, name);
    weir__pattern_fini(&pattern);
    return is_match;
}

/* --- from an id through tags --- */

struct chain {
    struct link {
        struct weir__git_id id;
        int64_t time;
        bool has_time;
    } tags[WEIR__GIT_TAG_DEPTH_MAX + 1];
    unsigned count;
    struct weir__git_id target;
    enum weir__git_type type;
};

/* It is known to be a commit, without a look at it. */
static bool is_commit(const struct weir__git_wanted *wanted, const struct weir__git_id *id)
{
    const struct weir__git_history *history = &wanted->history;
    uint32_t known = weir__git_history_find(history, id);
    if (known != WEIR__GIT_SET_NONE &&
        (weir__git_history_node(history, known)->_flags & WEIR__NODE_THERE))
        return true;
    return history->_has_graph &&
           weir__git_graph_find(wanted->_options.graph, id) != WEIR__GIT_GRAPH_NONE;
}

/* The tags that were read are in the chain also when it fails. Whatever get says, Corrupt,
 * TooLarge; and why. */
static int follow(struct weir__git_wanted *wanted, const struct weir__git_id *id,
                  struct chain *chain, char why[WEIR__GIT_FLAW_MAX])
{
    const struct weir__git_names *names = wanted->_options.names;
    char hex[WEIR__GIT_HEX_SIZE], reason[WEIR__GIT_FLAW_MAX];
    chain->target = *id;
    chain->type = WEIR__GIT_COMMIT;
    for (chain->count = 0; !is_commit(wanted, &chain->target);) {
        struct weir__git_tag tag;
        weir__git_id_hex(&chain->target, names->id_size, hex);
        int error = names->get(names->get_arg, &chain->target, &chain->type, &wanted->_bytes);
        if (error) {
            snprintf(why, WEIR__GIT_FLAW_MAX, "object %s: %s", hex, weir__git_get_problem(error));
            return error;
        }
        if (chain->type != WEIR__GIT_TAG)
            return 0;
        if (chain->count > WEIR__GIT_TAG_DEPTH_MAX) {
            snprintf(why, WEIR__GIT_FLAW_MAX, "more than %u tags of tags", WEIR__GIT_TAG_DEPTH_MAX);
            return -WEIR_E_TOO_LARGE;
        }
        struct link *link = &chain->tags[chain->count++];
        *link = (struct link){.id = chain->target};
        error = weir__git_tag_parse(&tag, weir__buffer_text(&wanted->_bytes),
                                    weir__buffer_length(&wanted->_bytes), names->id_size, reason);
        if (error) {
            snprintf(why, WEIR__GIT_FLAW_MAX, "tag %s: %.80s", hex, reason);
            return error;
        }
        link->time = tag.tagger.time;
        link->has_time = tag.tagger.has_time;
        chain->target = tag.target;
        chain->type = WEIR__GIT_COMMIT;
    }
    return 0;
}

static int keep_tag(struct weir__git_wanted *wanted, const struct weir__git_id *tag,
                    const struct weir__git_id *commit)
{
    int error = weir__git_wanted_room(wanted, (void **)&wanted->_tags, &wanted->_tags_room,
                                      wanted->_tags_count, sizeof(*wanted->_tags));
    if (!error)
        wanted->_tags[wanted->_tags_count++] = (struct weir__git_wanted_tag){*tag, *commit};
    return error;
}

/* A tag that is older than what is asked for waits for what its commit is. */
static int add_tags(struct weir__git_wanted *wanted, const struct chain *chain, bool has_target)
{
    int error = 0;
    for (unsigned i = 0; i < chain->count && !error; i++) {
        const struct link *link = &chain->tags[i];
        bool is_old = link->has_time && link->time < wanted->_options.since;
        error = is_old && has_target && chain->type == WEIR__GIT_COMMIT
                    ? keep_tag(wanted, &link->id, &chain->target)
                    : weir__git_wanted_add(wanted, &link->id, WEIR__GIT_TAG);
    }
    return error;
}

static int start_at(struct weir__git_wanted *wanted, const char *name,
                    const struct weir__git_id *id, unsigned kinds)
{
    char why[WEIR__GIT_FLAW_MAX];
    struct chain chain;
    int failure = follow(wanted, id, &chain, why);
    if (weir__git_wanted_is_fatal(failure))
        return failure;
    int error = add_tags(wanted, &chain, failure == 0);
    if (error)
        return error;
    if (failure == -WEIR_E_NOT_FOUND && (kinds & WEIR__GIT_START_LOG)) {
        wanted->history.gone++;
        return 0;
    }
    if (failure) {
        weir__git_wanted_tell(wanted, "ref '%s': %s", WEIR__CLIPPED(name), why);
        return 0;
    }
    if (chain.type == WEIR__GIT_COMMIT)
        return weir__git_history_start(&wanted->history, &chain.target, kinds);
    if (chain.type == WEIR__GIT_TREE)
        return weir__git_wanted_take(wanted, &chain.target);
    return weir__git_wanted_add(wanted, &chain.target, WEIR__GIT_BLOB);
}

/* --- refs --- */

static int start_ref(struct weir__git_wanted *wanted, size_t index)
{
    const struct weir__git_refs *refs = wanted->_options.names->refs;
    const struct weir__git_ref *ref = &refs->list[index];
    return start_at(wanted, weir__git_refs_name(refs, index), &ref->id,
                    weir__git_ref_start(ref->kind));
}

/* Where all stashes but the newest are. */
static int start_stashes(struct weir__git_wanted *wanted)
{
    const struct weir__git_refs *refs = wanted->_options.names->refs;
    int error = 0;
    for (size_t i = 0; i < refs->logs_count && !error; i++)
        if (refs->logs[i].is_stash)
            error = start_at(wanted, "refs/stash", &refs->logs[i].id,
                             WEIR__GIT_START_LOG | WEIR__GIT_START_STASH);
    return error;
}

static int start_all(struct weir__git_wanted *wanted)
{
    const struct weir__git_refs *refs = wanted->_options.names->refs;
    int error = 0;
    /* Replacements first, as weir__git_history_start_refs() has them. */
    for (size_t i = 0; i < refs->count && !error; i++)
        if (refs->list[i].kind == WEIR__GIT_REF_REPLACE)
            error = start_ref(wanted, i);
    for (size_t i = 0; i < refs->count && !error; i++)
        if (refs->list[i].kind != WEIR__GIT_REF_PSEUDO &&
            refs->list[i].kind != WEIR__GIT_REF_REPLACE)
            error = start_ref(wanted, i);
    return error ? error : start_stashes(wanted);
}

static int start_matches(struct weir__git_wanted *wanted, const char *text,
                         char why[WEIR__GIT_FLAW_MAX])
{
    const struct weir__git_refs *refs = wanted->_options.names->refs;
    struct weir__pattern pattern;
    bool has_match = false;
    int error = make_pattern(&pattern, text);
    if (error == -WEIR_E_TOO_LARGE) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "the pattern of refs '%s' is longer than %u bytes",
                 WEIR__TYPED(text), WEIR__PATTERN_MAX / 2);
        return -WEIR_E_INVALID;
    }
    if (error)
        return error;
    for (size_t i = 0; i < refs->count && !error; i++) {
        if (!matches_name(&pattern, weir__git_refs_name(refs, i)))
            continue;
        has_match = true;
        error = start_ref(wanted, i);
        if (!error && refs->list[i].kind == WEIR__GIT_REF_STASH)
            error = start_stashes(wanted);
    }
    weir__pattern_fini(&pattern);
    if (!error && !has_match) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "no ref matches '%s'; there are %zu refs in all",
                 WEIR__TYPED(text), refs->count);
        return -WEIR_E_NOT_FOUND;
    }
    return error;
}

/* --- ranges --- */

/* A tag that is named by its id, which no ref may have. */
static int add_named(struct weir__git_wanted *wanted, const char *name, size_t length,
                     const struct weir__git_id *commit)
{
    const struct weir__git_names *names = wanted->_options.names;
    struct weir__git_id ids[WEIR__GIT_ABBREV_MATCH];
    char digits[WEIR__GIT_HEX_SIZE], why[WEIR__GIT_FLAW_MAX];
    struct chain chain;
    if (length < WEIR__GIT_ABBREV_MIN || length > 2 * names->id_size)
        return 0;
    for (size_t i = 0; i < length; i++) {
        int digit = weir__git_hex_digit(name[i]);
        if (digit < 0)
            return 0;
        digits[i] = "0123456789abcdef"[digit];
    }
    digits[length] = '\0';
    size_t count = 1;
    if (length < 2 * names->id_size)
        count = names->begin_with ? names->begin_with(names->begin_arg, digits, length, ids,
                                                      WEIR__GIT_ABBREV_MATCH)
                                  : 0;
    else if (weir__git_id_from_hex(&ids[0], digits, names->id_size) < 0)
        return 0;
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        /* That it leads there was seen when it was resolved; another one that cannot be read is
         * not what was named. */
        int failure = follow(wanted, &ids[i], &chain, why);
        if (weir__git_wanted_is_fatal(failure))
            error = failure;
        else if (failure == 0 && weir__git_id_is_equal(&chain.target, commit))
            error = add_tags(wanted, &chain, false);
    }
    return error;
}

static int start_range(struct weir__git_wanted *wanted, const char *text, bool *has_start,
                       char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_rev_range range;
    const char *dots = strstr(text, "..");
    const char *right = !dots ? text : dots + (dots[2] == '.' ? 3 : 2);
    int error = weir__git_resolve_range(wanted->_options.names, text, &range, why);
    if (error)
        return error;
    if (range.kind != WEIR__GIT_REV_FROM)
        wanted->_is_narrow = true;
    if (range.kind != WEIR__GIT_REV_NOT) {
        *has_start = true;
        wanted->_ends[wanted->_ends_count++] = range.right;
        error = add_named(wanted, right, strlen(right), &range.right);
    }
    if (range.kind == WEIR__GIT_REV_SYMMETRIC && !error) {
        wanted->_ends[wanted->_ends_count++] = range.left;
        error = add_named(wanted, text, (size_t)(dots - text), &range.left);
    }
    return error ? error : weir__git_history_start_range(&wanted->history, &range);
}

int weir__git_wanted_starts(struct weir__git_wanted *wanted, char why[WEIR__GIT_FLAW_MAX])
{
    const struct weir__git_wanted_options *options = &wanted->_options;
    bool has_start = options->refs_count > 0;
    int error = 0;
    wanted->_is_narrow = options->since != WEIR__GIT_SINCE_EVER;
    wanted->_ends = weir__base_alloc(2 * options->ranges_count + 1, sizeof(*wanted->_ends));
    if (!wanted->_ends)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < options->ranges_count && !error; i++)
        error = start_range(wanted, options->ranges[i], &has_start, why);
    for (size_t i = 0; i < options->refs_count && !error; i++)
        error = start_matches(wanted, options->refs[i], why);
    return error || has_start ? error : start_all(wanted);
}

/* --- tags, when commits are known --- */

static bool is_end(const struct weir__git_wanted *wanted, const struct weir__git_id *commit)
{
    for (size_t i = 0; i < wanted->_ends_count; i++)
        if (weir__git_id_is_equal(&wanted->_ends[i], commit))
            return true;
    return false;
}

static bool is_in_set(const struct weir__git_wanted *wanted, const struct weir__git_id *commit)
{
    uint32_t number = weir__git_history_find(&wanted->history, commit);
    return number != WEIR__GIT_SET_NONE && weir__git_history_has(&wanted->history, number);
}

/* Tags of refs that were no starts, and lead to what a range has. One that is missing or broken is
 * not what was asked for; one that cannot be read may be. */
static int add_others(struct weir__git_wanted *wanted)
{
    const struct weir__git_refs *refs = wanted->_options.names->refs;
    char why[WEIR__GIT_FLAW_MAX];
    struct chain chain;
    int error = 0;
    for (size_t i = 0; i < refs->count && !error; i++) {
        int failure = follow(wanted, &refs->list[i].id, &chain, why);
        if (weir__git_wanted_is_fatal(failure))
            return failure;
        if (failure && failure != -WEIR_E_NOT_FOUND && failure != -WEIR_E_CORRUPT)
            weir__git_wanted_tell(wanted, "ref '%s': %s",
                                  WEIR__CLIPPED(weir__git_refs_name(refs, i)), why);
        if (failure || chain.count == 0 || chain.type != WEIR__GIT_COMMIT)
            continue;
        if (is_in_set(wanted, &chain.target))
            error = add_tags(wanted, &chain, false);
        else if (is_end(wanted, &chain.target))
            error = add_tags(wanted, &chain, true);
    }
    return error;
}

int weir__git_wanted_tags(struct weir__git_wanted *wanted)
{
    int error = wanted->_options.ranges_count > 0 ? add_others(wanted) : 0;
    for (size_t i = 0; i < wanted->_tags_count && !error; i++)
        if (is_in_set(wanted, &wanted->_tags[i].commit))
            error = weir__git_wanted_add(wanted, &wanted->_tags[i].tag, WEIR__GIT_TAG);
    return error;
}
