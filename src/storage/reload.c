/* reload.c - the configuration in force: its keys, another one in its place, and the thread that
 * reads it.
 *
 * Files are read by a member of the crew, since a disk may keep who reads it waiting, and the
 * supervisor has signals and a watchdog to see to. It works off a line with one place: a reload at
 * a time, and who asks meanwhile, however often, gets one more behind it. One that hangs is left
 * behind at the end like anybody else who waits for a disk.
 */
#include "storage.h"

#include <stdio.h>

#include <weir/error.h>

#include "alloc.h"
#include "storage_part.h"

#include "banned.h"

#define FOLDER_SIZE 4096

/* --- rules --- */

static void free_rules(struct weir_snapshot *snapshot)
{
    struct weir__rules *rules = (struct weir__rules *)snapshot;
    weir__keyring_free(rules->ring);
    weir__config_unref(rules->config);
    weir__base_free(rules);
}

struct weir__rules *weir__storage_rules(struct weir__storage *storage)
{
    return (struct weir__rules *)weir_watch_borrow(&storage->config, NULL);
}

void weir__storage_rules_give(struct weir__rules *rules)
{
    weir_snapshot_unref(&rules->snapshot);
}

/* --- keys --- */

/* Where they are; false: nowhere. */
static bool find_folder(const struct weir__rules *rules, char folder[FOLDER_SIZE])
{
    const char *named = rules->service->tokens.keys, *data = rules->own->data;
    bool is_named = named && named[0];
    if (!is_named && (!data || !data[0] || rules->own->amnesia.is_enabled))
        return false;
    snprintf(folder, FOLDER_SIZE, "%s%s", is_named ? named : data, is_named ? "" : "/keys");
    return true;
}

static bool is_named(const struct weir__rules *rules)
{
    return rules->service->tokens.keys && rules->service->tokens.keys[0];
}

static bool is_read_only(const struct weir__storage *storage)
{
    struct weir__store_stats stats;
    weir__store_read(storage->store, &stats);
    return stats.is_read_only;
}

/* Of the default place, so that minting a token is one command. In a folder that had its keys, what
 * they have made is refused from now on, and somebody may look for the reason. */
static int make_first(struct weir__storage *storage, struct weir__rules *rules, const char *folder,
                      char problem[WEIR__KEY_WHY])
{
    char id[WEIR__KEY_ID_SIZE];
    int error = weir__keyring_add(folder, id, problem);
    if (!error)
        error = weir__keyring_load(&rules->ring, folder, problem);
    if (!error && !storage->is_new)
        weir__finding_add(storage,
                          "there was no key in '%s', and one was made: tokens of earlier ones are "
                          "refused",
                          folder);
    return error == -WEIR_E_NO_SPACE ? 0 : error;
}

static bool has_keys(struct weir__storage *storage)
{
    struct weir__rules *rules = weir__storage_rules(storage);
    bool has = rules->ring != NULL;
    weir__storage_rules_give(rules);
    return has;
}

/* A folder that cannot be written can be read all the same, by who cannot see its keys, too: what
 * they are for cannot be done there. And who has none cannot lose them. */
static bool may_lack(struct weir__storage *storage, const struct weir__rules *rules, int error)
{
    return !is_named(rules) && !has_keys(storage) &&
           (error == -WEIR_E_NOT_FOUND || (error == -WEIR_E_DENIED && is_read_only(storage)));
}

/* is_start: nobody relies on keys yet. Later none is made: a folder that is gone or empty is a
 * mistake, or a disk that is not there, and every token would end with the old keys. */
static int load_keys(struct weir__storage *storage, struct weir__rules *rules, bool is_start,
                     char why[WEIR__STORAGE_WHY_MAX])
{
    char folder[FOLDER_SIZE], problem[WEIR__KEY_WHY];
    const char *missing;
    if (!find_folder(rules, folder))
        return 0;
    if ((missing = weir__token_load()))
        return weir__storage_fail(why, -WEIR_E_UNSUPPORTED, "%s", missing);
    int error = weir__keyring_load(&rules->ring, folder, problem);
    if (error == -WEIR_E_NOT_FOUND && is_start && is_named(rules))
        return weir__storage_fail(why, -WEIR_E_INVALID,
                                  "%s: make one with 'weir token rotate', or set tokens.keys to "
                                  "the folder that has some",
                                  problem);
    if (error == -WEIR_E_NOT_FOUND && is_start)
        error = make_first(storage, rules, folder, problem);
    if (!error || may_lack(storage, rules, error))
        return 0;
    return weir__storage_fail(why, error, "%s%s", problem,
                              error == -WEIR_E_NOT_FOUND ? ": the keys of before are kept" : "");
}

/* Whether what is asked for can be checked. */
static int check_keys(const struct weir__rules *rules, char why[WEIR__STORAGE_WHY_MAX])
{
    if (rules->ring || !weir__service_wants_tokens(rules->service))
        return 0;
    return weir__storage_fail(
        why, -WEIR_E_INVALID,
        "tokens are asked for and there are no keys: name their folder with tokens.keys");
}

int weir__rules_find_keys(struct weir__storage *storage, struct weir__rules *rules,
                          char why[WEIR__STORAGE_WHY_MAX])
{
    int error = load_keys(storage, rules, true, why);
    return error ? error : check_keys(rules, why);
}

/* --- rules --- */

int weir__rules_new(struct weir__rules **ret_rules, struct weir__config *config,
                    char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir__rules *rules = weir__base_alloc(1, sizeof(*rules));
    if (!rules)
        return weir__storage_fail(why, -WEIR_E_NO_MEMORY, "out of memory");
    weir_snapshot_init(&rules->snapshot, free_rules);
    weir_snapshot_ref(weir__config_snapshot(config));
    rules->config = config;
    rules->service = weir__config_values(config, &weir__service_table);
    rules->own = weir__config_values(config, &weir__storage_table);
    *ret_rules = rules;
    return 0;
}

/* --- another one --- */

static int update_parts(struct weir__storage *storage, const struct weir__rules *rules,
                        char why[WEIR__STORAGE_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    uint64_t pacing = rules->own->durability.repair_pacing;
    uint64_t rate = service->ratelimit.rps_per_ip;
    struct weir__server_limits limits;
    struct weir__store_options store;
    int error;
    weir__storage_fill_limits(storage, rules, &limits);
    weir__storage_fill_store(rules, &store);
    error = weir__server_update(storage->server, &limits);
    if (!error)
        error = weir__store_update(storage->store, &store);
    if (!error)
        error = weir_budget_resize(&storage->inflight, service->server.max_inflight);
    if (!error && service->server.max_rps)
        error = weir_rate_set(&storage->rps, service->server.max_rps, 0);
    if (!error)
        error = weir_rate_set(&storage->pacing, pacing,
                              pacing > 2 * WEIR__CHUNK_MAX ? pacing : 2 * WEIR__CHUNK_MAX);
    if (!error)
        error = weir_admit_set(&storage->per_address, UINT32_MAX, rate,
                               rate ? service->ratelimit.burst_per_ip : 0);
    return error ? weir__storage_fail(why, error, "%s: %s", weir_error_text(error),
                                      weir_error_detail())
                 : 0;
}

/* Certificates first, which can fail by themselves and leave the old ones; then numbers, which go
 * back to what they were when one of them cannot be had. */
static int update_all(struct weir__storage *storage, const struct weir__rules *rules,
                      char why[WEIR__STORAGE_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    const char *reason = "";
    int error = 0;
    if (service->tls.cert && service->tls.cert[0] &&
        (error = weir__server_tls(storage->server, service->tls.cert, service->tls.key, &reason)))
        return weir__storage_fail(why, error, "%s", reason);
    error = update_parts(storage, rules, why);
    if (error) {
        char room[WEIR__STORAGE_WHY_MAX];
        struct weir__rules *old = weir__storage_rules(storage);
        (void)!update_parts(storage, old, room);
        weir__storage_rules_give(old);
    }
    return error;
}

int weir__storage_reload(struct weir__storage *storage, struct weir__config *config,
                         char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir__event event = {.kind = WEIR__EVENT_RELOAD};
    struct weir__rules *rules = NULL;
    int error = weir__rules_new(&rules, config, why);
    if (!error &&
        ((error = load_keys(storage, rules, false, why)) || (error = check_keys(rules, why)) ||
         (error = weir__audit_check(rules, why)) || (error = update_all(storage, rules, why))))
        weir__storage_rules_give(rules);
    if (!error && (error = weir_watch_swap(&storage->config, &rules->snapshot))) {
        weir__storage_rules_give(rules);
        weir__storage_fail(why, error, "%s", weir_error_text(error));
    }
    event.result = error;
    weir__storage_event(storage, &event);
    return error;
}

/* --- the thread --- */

void weir__storage_ask_to_reload(struct weir__storage *storage)
{
    bool is_asked = true;
    (void)!weir_queue_try_send(&storage->reloads, &is_asked); /* Busy: one is to come already */
}

static void note_begin(struct weir__storage *storage, uint64_t began_ns)
{
    weir_lock_acquire(&storage->reload_lock);
    storage->reload_began_ns = began_ns;
    weir_lock_release(&storage->reload_lock);
}

uint64_t weir__storage_reloading_ns(struct weir__storage *storage)
{
    weir_lock_acquire(&storage->reload_lock);
    uint64_t began_ns = storage->reload_began_ns;
    weir_lock_release(&storage->reload_lock);
    return began_ns ? weir_now_ns() - began_ns : 0;
}

int weir__reload_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    bool is_asked;
    while (weir_queue_recv(&storage->reloads, &is_asked, &until_stop) == 0) {
        note_begin(storage, weir_now_ns());
        if (storage->reload)
            storage->reload(storage->arg);
        note_begin(storage, 0);
    }
    return 0;
}
