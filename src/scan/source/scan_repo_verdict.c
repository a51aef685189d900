/* scan_repo_verdict.c - at which of its paths, and as part of which of its commits, a blob has to
 * be looked at.
 *
 * What is found in it depends on the path by what rules and allow lists have to say about that, and
 * by what is found in the path itself; and on the commit by the allow lists that name it. Where all
 * of this is the same so is what is found, and one look is enough. With the rules that are built in
 * that is the first path of nearly every blob, and nothing else.
 */
#include "scan_repo_trace.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"

#include "banned.h"

/* Paths whose verdicts are kept, 128 KiB: versions of a file are many blobs at one path. */
#define KEPT 8192u

struct weir__scan_verdict {
    uint64_t path; /* a hash of it, and of what was asked; 0: none */
    uint64_t verdict;
};

static uint64_t hash_of(const void *bytes, size_t length, const char *path)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    uint64_t first;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_update(&hash, path, strlen(path));
    weir__hash_final(&hash, digest);
    memcpy(&first, digest, sizeof(first));
    return first;
}

void weir__scan_trace_fini(struct weir__scan_trace *trace)
{
    weir__base_free(trace->verdicts);
    trace->verdicts = NULL;
}

static int judge(const struct weir__scan_trace *trace, const char *path, bool is_opened,
                 uint64_t *ret_verdict)
{
    const struct weir__scan_repo *repo = trace->repo;
    struct weir__scan_worker *w = trace->w;
    uint64_t said[2] = {0, 0}; /* of the path, and in it */
    int result = weir__scan_worker_scanner(w);
    weir__buffer_truncate(&w->rule_path, 0);
    if (result == 0)
        result = weir__buffer_append(&w->rule_path, repo->path, repo->path_length);
    if (result == 0)
        result = weir__buffer_puts(&w->rule_path, path);
    if (result < 0)
        return -WEIR_E_NO_MEMORY;
    const char *shown = weir__buffer_text(&w->rule_path);
    result = weir__scan_name_sum(w, shown, &said[1]);
    /* A name that cannot be judged has a look of its own, which tells that. */
    const char *own = result == -WEIR_E_INCOMPLETE ? shown : "";
    if (result == 0 || result == -WEIR_E_INCOMPLETE)
        result = weir__scanner_verdict(w->scanner, shown, is_opened, &said[0]);
    if (result == 0)
        *ret_verdict = hash_of(said, sizeof(said), own);
    return result;
}

int weir__scan_trace_verdict(void *arg, uint32_t number, const char *path, uint64_t *ret_verdict)
{
    struct weir__scan_trace *trace = arg;
    bool is_opened = trace->repo->origins->is_opened[number];
    uint64_t key = hash_of(&is_opened, sizeof(is_opened), path) | 1;
    if (!trace->verdicts)
        trace->verdicts = weir__base_alloc(KEPT, sizeof(*trace->verdicts));
    if (!trace->verdicts)
        return -WEIR_E_NO_MEMORY;
    struct weir__scan_verdict *kept = &trace->verdicts[(key >> 16) % KEPT];
    if (kept->path != key) {
        int result = judge(trace, path, is_opened, &kept->verdict);
        kept->path = result == 0 ? key : 0;
        if (result < 0)
            return result;
    }
    *ret_verdict = kept->verdict;
    return 0;
}

uint64_t weir__scan_trace_mark(void *arg, const struct weir__git_id *commit)
{
    const struct weir__scan_trace *trace = arg;
    char hex[WEIR__GIT_HEX_SIZE];
    return weir__engine_commit_verdict(trace->repo->run->options->engine,
                                       weir__git_id_hex(commit, trace->repo->id_size, hex));
}

int weir__scan_verdicts_begin(struct weir__scan_origins *origins)
{
    const struct weir__scan_repo *repo = origins->repo;
    uint32_t count = weir__git_set_count(&repo->suspects);
    origins->is_opened = weir__base_alloc((size_t)count + 1, sizeof(*origins->is_opened));
    for (uint32_t i = 0; i < count && origins->is_opened; i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        if (suspect->flags & (WEIR__SUSPECT_FILE | WEIR__SUSPECT_LARGE))
            origins->is_opened[suspect->wanted] = true;
    }
    return origins->is_opened ? 0 : -WEIR_E_NO_MEMORY;
}

void weir__scan_verdicts_tell(struct weir__scan_origins *origins)
{
    struct weir__scan_repo *repo = origins->repo;
    for (uint32_t i = 0; i < weir__git_set_count(&repo->suspects); i++) {
        const struct weir__suspect *suspect = weir__git_set_extra(&repo->suspects, i);
        struct weir__git_id id = weir__git_set_id(&repo->suspects, i);
        struct weir__git_attribution where;
        if (!(suspect->flags & WEIR__SUSPECT_BLOB) || suspect->flags & WEIR__SUSPECT_PROMISED)
            continue;
        weir__git_attribute_result(origins->attribute, suspect->wanted, &where);
        if (where.is_cut)
            weir__scan_repo_tell(repo->w, repo, &id, "cannot scan all of the history of",
                                 "it lies at too many paths of which rules, or names, say "
                                 "different things");
    }
}
