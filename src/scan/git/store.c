/* store.c - opening and closing, and what is known of a repository. */
#include "store.h"

#include <stdarg.h>
#include <stdio.h>

#include "alloc.h"
#include "require.h"
#include "store_part.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

/* Of all lines: few are told one by one. */
#define FLAWS_MAX (64u * 1024)

void weir__git_store_options_init(struct weir__git_store_options *options)
{
    *options = (struct weir__git_store_options){
        .cache_bytes = UINT64_C(16) << 20,
        .lookup_bytes = UINT64_C(64) << 20,
        .open_max = 32,
        .object_max = UINT64_C(1) << 30,
        .build_max = UINT64_C(3) << 30,
        .chain_max = 1000000,
        .packs_max = 64,
        .work_max = UINT64_C(4) << 30,
    };
}

int weir__git_store_fail(struct weir__git_store *store, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(store->problem, sizeof(store->problem), format, args);
    va_end(args);
    return -code;
}

int weir__git_store_add_flaw(struct weir__git_store *store, const char *format, ...)
{
    char text[WEIR__GIT_PROBLEM_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    store->has_unknown = true;
    return weir__buffer_append(&store->flaws, text, strlen(text) + 1);
}

void weir__git_store_doubt(struct weir__git_store *store)
{
    store->has_unknown = true;
}

static int begin(struct weir__git_store *store, const char *path)
{
    int result = weir__git_store_find(store, path);
    if (result == 0)
        result = weir__git_store_config(store);
    if (result == 0)
        result = weir__git_store_folders(store);
    if (result < 0)
        return result;
    result = weir__git_inflater_init(&store->inflater);
    if (result == 0)
        result = weir__git_cache_init(&store->cache, store->options.cache_bytes);
    store->opened = weir__base_alloc(store->options.open_max, sizeof(*store->opened));
    if (result < 0 || !store->opened)
        return weir__git_store_fail(store, WEIR_E_NO_MEMORY, "out of memory");
    for (unsigned i = 0; i < store->options.open_max; i++)
        store->opened[i].row = WEIR__GIT_NONE;
    return store->options.is_listed_late ? 0 : weir__git_store_relist(store);
}

int weir__git_store_open(struct weir__git_store **ret_store, const char *path,
                         const struct weir__git_store_options *options,
                         char problem[WEIR__GIT_PROBLEM_SIZE])
{
    struct weir__git_store *store = weir__base_alloc(1, sizeof(*store));
    if (!store) {
        snprintf(problem, WEIR__GIT_PROBLEM_SIZE, "out of memory");
        return -WEIR_E_NO_MEMORY;
    }
    if (options)
        store->options = *options;
    else
        weir__git_store_options_init(&store->options);
    weir__buffer_init(&store->flaws, FLAWS_MAX);
    WEIR__REQUIRE(store->options.open_max > 0, "git store", path, "open_max must be above zero");
    int result = begin(store, path);
    if (result < 0) {
        memcpy(problem, store->problem, WEIR__GIT_PROBLEM_SIZE);
        weir__git_store_close(store);
        return result;
    }
    *ret_store = store;
    return 0;
}

void weir__git_store_close(struct weir__git_store *store)
{
    if (!store)
        return;
    weir__git_store_close_packs(store);
    weir__git_store_forget(store);
    weir__git_list_fini(&store->list);
    for (unsigned i = 0; i < store->folders_count; i++) {
        weir__sys_close(store->folders[i].fd);
        weir__base_free(store->folders[i].path);
    }
    weir__buffer_fini(&store->flaws);
    weir__git_cache_fini(&store->cache);
    weir__git_inflater_fini(&store->inflater);
    weir__base_free(store->opened);
    weir__base_free(store->links);
    weir__base_free(store->gitdir);
    weir__base_free(store->commondir);
    weir__base_free(store);
}

size_t weir__git_store_id_size(const struct weir__git_store *store)
{
    return store->id_size;
}

const char *weir__git_store_gitdir(const struct weir__git_store *store)
{
    return store->gitdir;
}

const char *weir__git_store_commondir(const struct weir__git_store *store)
{
    return store->commondir;
}

const char *weir__git_store_problem(const struct weir__git_store *store)
{
    return store->problem;
}

void weir__git_store_facts(const struct weir__git_store *store,
                           struct weir__git_store_facts *ret_facts)
{
    struct weir__git_store_facts facts = {
        .is_shallow = store->is_shallow,
        .is_partial = store->is_partial,
        .alternates = store->folders_count - 1,
        .alternates_unusable = store->folders_unusable,
        .packs = store->list.rows_count,
        .has_unknown = store->has_unknown,
        .has_wrong_midx = store->has_wrong_midx,
        .packs_unindexed = store->list.packs.count,
        .packs_unread = store->list.unread,
    };
    for (uint32_t i = 0; i < store->list.rows_count; i++)
        facts.packs_promisor += store->list.rows[i].is_promisor;
    for (unsigned i = 0; i < store->folders_count; i++)
        facts.has_midx = facts.has_midx || store->folders[i].midx_rows;
    *ret_facts = facts;
}

void weir__git_store_each_flaw(const struct weir__git_store *store,
                               void (*fn)(void *arg, const char *text), void *arg)
{
    char text[WEIR__GIT_PROBLEM_SIZE], path[WEIR__GIT_FLAW_PATH];
    for (size_t at = 0; at < weir__buffer_length(&store->flaws);) {
        const char *line = weir__buffer_text(&store->flaws) + at;
        fn(arg, line);
        at += strlen(line) + 1;
    }
    for (unsigned i = 0; i < store->folders_count; i++) {
        const struct weir__git_folder *folder = &store->folders[i];
        if (folder->list_error == 0)
            continue;
        snprintf(text, sizeof(text), "cannot list '%s/pack': %s",
                 weir__text_clip(path, sizeof(path), folder->path, SIZE_MAX),
                 weir_error_text(folder->list_error));
        fn(arg, text);
    }
}
