/* cache.h - where compiled rules are kept between runs.
 *
 * One folder of the user, WEIR__CACHE_NAME in $XDG_CACHE_HOME or in ~/.cache, and one file for each
 * key. What is in there goes to a library that trusts it; so it is used only if folder and file
 * belong to the user, nobody else may write to them, and the file is a regular one. (That the bytes
 * are what was put there is for the engine to see, which has a hash of them.)
 *
 * Promises: a file appears whole or not at all, also when several processes put it at once. Nothing
 * is said about what fails: without a cache all works, only slower.
 *
 * Limits: WEIR__CACHE_FILES files, the least recently used go first; WEIR__CACHE_BYTES each.
 *
 * Ownership: a cache owns the descriptor of its folder.
 */
#ifndef WEIR_SCAN_SOURCE_CACHE_H
#define WEIR_SCAN_SOURCE_CACHE_H

#include "engine/engine.h"

#define WEIR__CACHE_NAME  "weir"
#define WEIR__CACHE_FILES 16u
#define WEIR__CACHE_BYTES (64u << 20)

struct weir__cache {
    int _fd;        /* -1: there is none */
    int _installed; /* -1: none is known */
    bool _is_shared;
    struct weir__engine_cache hooks;
};

/* base and home are what the environment has under XDG_CACHE_HOME and HOME, or NULL. The folder is
 * made if need be. Without one the cache holds nothing. */
void weir__cache_init(struct weir__cache *cache, const char *base, const char *home);
/* A folder for all users: made if need be, and what is put there others may read. Denied: it is not
 * the user's alone to write; or what opening it failed with. */
WEIR_MUST_USE int weir__cache_init_shared(struct weir__cache *cache, const char *path);
/* Such a folder, as whoever installed the program has left it, is looked in when the user's own has
 * nothing. It must be root's or the user's. */
void weir__cache_add_installed(struct weir__cache *cache, const char *path);
void weir__cache_fini(struct weir__cache *cache);
/* What the engine is given: NULL when there is no folder that may be used. */
const struct weir__engine_cache *weir__cache_hooks(const struct weir__cache *cache);

#endif
