/* verdict.c - what the rules have to say about a path, and about a commit, before anything is read.
 *
 * What is found in bytes depends on their path by nothing but the answers to these questions: which
 * rules want it, and which allow lists name it. So a blob that lay at a thousand paths need be
 * looked at once for each set of answers.
 *
 * Members of an archive have paths that begin with the archive's own. An expression that matches it
 * and does not ask for its end matches them as well. One that might match if more followed is told
 * apart by the part of the path that it would begin with: nothing before that is of any concern.
 */
#include <string.h>

#include "hash.h"
#include "parts.h"

#include "banned.h"

#define PATH_MAX_BYTES (1u << 20)

struct verdict {
    struct weir__scanner *scanner;
    const char *path, *inside;     /* as the folder of the rules has it, or NULL */
    struct weir__buffer opened[2]; /* both as those of an archive; empty: it is none */
    struct weir__hash hash;
};

static void put(struct verdict *verdict, uint64_t answer)
{
    weir__hash_update(&verdict->hash, &answer, sizeof(answer));
}

static bool has(struct verdict *verdict, struct weir__matcher *matcher, const char *path)
{
    return path && weir__matcher_has(matcher, verdict->scanner->data, path, strlen(path));
}

/* Of what begins with this path, an archive's, which ends with '!'. */
static void put_beginning(struct verdict *verdict, struct weir__matcher *matcher,
                          const struct weir__buffer *opened)
{
    pcre2_match_data *data = verdict->scanner->data;
    const char *text = weir__buffer_text(opened);
    size_t length = weir__buffer_length(opened), from = 0;
    if (length == 0)
        return;
    int result = weir__matcher_run(matcher, text, length, 0, PCRE2_PARTIAL_HARD, data, NULL);
    if (result == PCRE2_ERROR_PARTIAL)
        from = pcre2_get_ovector_pointer(data)[0];
    else if (result > 0 || result == PCRE2_ERROR_NOMATCH)
        from = length;
    put(verdict, result > 0);
    put(verdict, length - from);
    weir__hash_update(&verdict->hash, text + from, length - from);
}

static void ask(void *arg, struct weir__matcher *matchers, size_t count)
{
    struct verdict *verdict = arg;
    bool is_it = false;
    for (size_t i = 0; i < count && !is_it; i++)
        is_it = has(verdict, &matchers[i], verdict->path) ||
                has(verdict, &matchers[i], verdict->inside);
    put(verdict, is_it);
    for (size_t i = 0; i < count; i++) {
        put_beginning(verdict, &matchers[i], &verdict->opened[0]);
        put_beginning(verdict, &matchers[i], &verdict->opened[1]);
    }
}

/* Of a rule that asks for nothing else, the path is what is found: each is another finding. Of an
 * archive its members may be. */
static void put_itself(struct verdict *verdict, struct weir__matcher *matcher, bool is_opened)
{
    if (is_opened || has(verdict, matcher, verdict->path) || has(verdict, matcher, verdict->inside))
        weir__hash_update(&verdict->hash, verdict->path, strlen(verdict->path));
}

static uint64_t first_of(const struct weir__hash *hash)
{
    unsigned char digest[WEIR__HASH_SIZE];
    uint64_t first;
    weir__hash_final(hash, digest);
    memcpy(&first, digest, sizeof(first));
    return first;
}

static int open_path(struct weir__buffer *opened, const char *path)
{
    int result = path ? weir__buffer_puts(opened, path) : 0;
    return result < 0 || !path ? result : weir__buffer_putc(opened, '!');
}

int weir__scanner_verdict(struct weir__scanner *scanner, const char *path, bool is_opened,
                          uint64_t *ret_verdict)
{
    const struct weir__engine *engine = scanner->engine;
    struct verdict verdict = {.scanner = scanner, .path = path};
    int result = 0;
    verdict.inside = weir__origin_path(engine->origin, path, &scanner->inside);
    weir__hash_init(&verdict.hash);
    for (unsigned i = 0; i < 2; i++) {
        weir__buffer_init(&verdict.opened[i], PATH_MAX_BYTES);
        if (is_opened && result == 0)
            result = open_path(&verdict.opened[i], i == 0 ? path : verdict.inside);
    }
    for (uint32_t i = 0; i < engine->count && result == 0; i++)
        if (engine->prepared[i].rule->path) {
            ask(&verdict, &scanner->paths[i], 1);
            if (!engine->prepared[i].rule->regex)
                put_itself(&verdict, &scanner->paths[i], is_opened);
        }
    if (result == 0) {
        weir__allow_each_paths(scanner, &verdict, ask);
        *ret_verdict = first_of(&verdict.hash);
    }
    weir__buffer_fini(&verdict.opened[0]);
    weir__buffer_fini(&verdict.opened[1]);
    return result;
}

/* --- commits --- */

static bool put_commits(struct weir__hash *hash, const struct weir__allow *allows, size_t count,
                        const char *commit)
{
    bool is_any = false;
    for (size_t i = 0; i < count; i++) {
        bool has_it = weir__allow_has_commit(&allows[i], commit);
        weir__hash_update(hash, &has_it, sizeof(has_it));
        is_any |= has_it;
    }
    return is_any;
}

uint64_t weir__engine_commit_verdict(const struct weir__engine *engine, const char *commit)
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    bool is_any = put_commits(&hash, engine->rules->allows, engine->rules->allows_count, commit);
    for (uint32_t i = 0; i < engine->count; i++)
        is_any |= put_commits(&hash, engine->prepared[i].rule->allows,
                              engine->prepared[i].rule->allows_count, commit);
    return is_any ? first_of(&hash) | 1 : 0;
}

static bool names_any(const struct weir__allow *allows, size_t count)
{
    bool is_any = false;
    for (size_t i = 0; i < count; i++)
        is_any |= allows[i].commits.count > 0;
    return is_any;
}

bool weir__engine_has_commits(const struct weir__engine *engine)
{
    bool is_any = names_any(engine->rules->allows, engine->rules->allows_count);
    for (uint32_t i = 0; i < engine->count; i++)
        is_any |=
            names_any(engine->prepared[i].rule->allows, engine->prepared[i].rule->allows_count);
    return is_any;
}
