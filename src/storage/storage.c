/* storage.c - life cycle of the service: what it is made of, in the order in which it is made. */
#include "storage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "log.h"
#include "resources.h"
#include "storage_part.h"
#include "sys.h"

#include "banned.h"

/* The order of locks, outermost first. */
static const struct weir_lock_class config_class = {"config_snapshot", 310};
static const struct weir_lock_class meta_class = {"manifest_index_meta", 320};
static const struct weir_lock_class counters_class = {"io_counters", 330};

#define HEALTH_LINE 256u
#define URL_MOST    4096u
#define ADMIT_KEEP  (60 * WEIR_NS_PER_S)
#define COMPLAINTS  5u

int weir__storage_fail(char why[WEIR__STORAGE_WHY_MAX], int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WEIR__STORAGE_WHY_MAX, format, args);
    va_end(args);
    return error;
}

/* --- what the configuration means for the parts --- */

void weir__storage_fill_store(const struct weir__rules *rules, struct weir__store_options *options)
{
    static const enum weir__store_verify policies[] = {
        [WEIR__STORAGE_VERIFY_FIRST] = WEIR__STORE_VERIFY_FIRST,
        [WEIR__STORAGE_VERIFY_ALWAYS] = WEIR__STORE_VERIFY_ALWAYS,
        [WEIR__STORAGE_VERIFY_SCRUB] = WEIR__STORE_VERIFY_SCRUB,
    };
    const struct weir__storage_config *own = rules->own;
    /* 0 is no limit there, and the default here. */
    const uint64_t unlimited = UINT64_C(1) << 40, never_s = UINT64_C(1) << 40;
    *options = (struct weir__store_options){
        .folder = own->amnesia.is_enabled ? NULL : own->data,
        .memory_max = own->amnesia.max_bytes,
        .segment_bytes = (uint32_t)own->store.segment_size,
        .pending_bytes = own->store.pending_bytes,
        .hot_entries = (uint32_t)own->store.hot_entries,
        .verify = policies[own->storage.verify],
        .compact_percent = (uint32_t)own->store.compact_percent,
        .compact_per_s = own->store.compact_rate ? own->store.compact_rate : unlimited,
        .scrub_per_s = own->store.scrub_rate ? own->store.scrub_rate : unlimited,
        .scrub_interval_s =
            own->store.scrub_interval_ns ? own->store.scrub_interval_ns / WEIR_NS_PER_S : never_s,
        .close_ns = WEIR__STORAGE_CLOSE_NS,
    };
    /* Small memories have small segments, so that there are some. */
    while (!options->folder && options->segment_bytes > WEIR__STORE_SEGMENT_LEAST &&
           options->segment_bytes > options->memory_max / 8)
        options->segment_bytes /= 2;
}

void weir__storage_fill_limits(const struct weir__storage *storage, const struct weir__rules *rules,
                               struct weir__server_limits *limits)
{
    const struct weir__service_config *service = rules->service;
    *limits = (struct weir__server_limits){
        .read_ns = service->read_ns,
        .write_ns = service->write_ns,
        .idle_ns = service->idle_ns,
        .rate_min = service->server.min_rate ? service->server.min_rate : WEIR__SERVER_NO_RATE,
        .body_max = service->server.body_max,
        .body_memory = service->server.body_memory,
        .head_max = (uint32_t)service->server.head_max,
        .url_max = URL_MOST,
        .connections_max = (uint32_t)storage->shares.connections,
        .per_address_max = (uint32_t)service->server.conns_per_ip,
    };
    if (limits->head_max > WEIR__SERVER_HEAD_MOST)
        limits->head_max = WEIR__SERVER_HEAD_MOST;
    if (limits->head_max < URL_MOST)
        limits->url_max = limits->head_max; /* which it is a part of */
}

/* --- the store --- */

/* Why there cannot be such a folder, whoever makes it; NULL: there can. */
static const char *misplaced(const char *folder)
{
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, folder, &st, 0) == 0)
        return S_ISDIR(st.st_mode) ? NULL : "it is not a folder";
    return errno == ENOTDIR ? "a part of its path is not a folder" : NULL;
}

static bool is_there(const char *folder)
{
    struct stat st;
    return weir__sys_fstatat(AT_FDCWD, folder, &st, 0) == 0;
}

/* Each of its segments has a descriptor, of those that are for segments. */
static void bound_memory(struct weir__storage *storage, struct weir__store_options *options)
{
    uint64_t most = (uint64_t)storage->shares.segments * options->segment_bytes;
    if (options->memory_max <= most || storage->shares.segments < 2)
        return;
    weir__finding_add(storage,
                      "%llu MiB in memory at most, since %u file descriptors are left for its "
                      "segments: raise the limit (ulimit -n) or store.segment_size",
                      (unsigned long long)(most >> 20), storage->shares.segments);
    options->memory_max = most;
}

static int open_store(struct weir__storage *storage, const struct weir__rules *rules,
                      char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir__store_options options;
    struct weir__store_report report;
    weir__storage_fill_store(rules, &options);
    if (!rules->own->amnesia.is_enabled && (!options.folder || !options.folder[0]))
        return weir__storage_fail(
            why, -WEIR_E_INVALID,
            "no folder is given: name one with --data, or set amnesia.enabled");
    if (rules->own->amnesia.is_enabled)
        bound_memory(storage, &options);
    options.descriptors_max = storage->shares.segments;
    options.descriptor_top = storage->shares.top;
    int error = weir__store_open(&storage->store, &options, &report);
    const char *place = error && options.folder ? misplaced(options.folder) : NULL;
    if (place)
        return weir__storage_fail(why, -WEIR_E_INVALID, "cannot open '%s': %s: name another one",
                                  options.folder, place);
    if (error == -WEIR_E_NOT_FOUND && options.folder && !is_there(options.folder))
        return weir__storage_fail(why, -WEIR_E_DENIED,
                                  "cannot make the folder '%s': permission denied: make it and "
                                  "give it to the user of the service, or name another one with "
                                  "--data",
                                  options.folder);
    if (error)
        return weir__storage_fail(why, error, "cannot open '%s': %s",
                                  options.folder ? options.folder : "memory", weir__store_why());
    weir__store_on_damage(storage->store, weir__repair_damage, storage);
    weir__finding_note(storage, &report);
    storage->is_new = report.is_new;
    return 0;
}

/* --- lines, limits --- */

static int make_queue(struct weir_queue *queue, const char *name, size_t size, uint64_t capacity)
{
    return weir_queue_init(queue, name, &(struct weir_queue_options){size, capacity});
}

static int make_lines(struct weir__storage *storage, const struct weir__rules *rules)
{
    const struct weir__service_config *service = rules->service;
    const size_t pointer = sizeof(struct weir__errand *);
    bool is_draining = false;
    int error = make_queue(&storage->reads, "work-get", pointer, service->queues.work);
    if (!error)
        error = make_queue(&storage->writes, "work-put", pointer, service->queues.work);
    /* A request has one step under way at most, so this line is never full. */
    if (!error)
        error = make_queue(&storage->streams, "streams", pointer, WEIR_QUEUE_CAPACITY_MAX);
    if (!error)
        error = make_queue(&storage->health, "health", pointer, HEALTH_LINE);
    if (!error)
        error = make_queue(&storage->repairs, "repair", sizeof(struct weir__repair),
                           service->queues.repair);
    /* What is asked for while one is to come is that one. */
    if (!error)
        error = make_queue(&storage->reloads, "reloads", sizeof(bool), 1);
    if (!error)
        error = weir_bus_init(
            &storage->events, "events",
            &(struct weir_bus_options){sizeof(struct weir__event), service->queues.events, 0});
    if (!error)
        error = weir_watch_init(&storage->shutdown, "shutdown", sizeof(bool), &is_draining);
    return error;
}

static int make_limits(struct weir__storage *storage, const struct weir__rules *rules)
{
    const struct weir__service_config *service = rules->service;
    uint64_t rps = service->server.max_rps ? service->server.max_rps : 1;
    uint64_t pacing = rules->own->durability.repair_pacing;
    uint64_t burst = pacing > 2 * WEIR__CHUNK_MAX ? pacing : 2 * WEIR__CHUNK_MAX;
    int error = weir_budget_init(&storage->inflight, "inflight", service->server.max_inflight);
    if (!error)
        error = weir_budget_init(&storage->scrapes, "scrapes", WEIR__STORAGE_SCRAPES);
    if (!error)
        error =
            weir_rate_init(&storage->rps, "requests", &(struct weir_rate_options){.per_s = rps});
    if (!error)
        error = weir_rate_init(&storage->pacing, "repair",
                               &(struct weir_rate_options){.per_s = pacing, .burst = burst});
    if (!error)
        error = weir_rate_init(&storage->complaints, "complaints",
                               &(struct weir_rate_options){.per_s = 1, .burst = COMPLAINTS});
    if (!error)
        error = weir_admit_init(
            &storage->per_address, "addresses",
            &(struct weir_admit_options){
                .cap = UINT32_MAX,
                .per_s = service->ratelimit.rps_per_ip,
                .burst = service->ratelimit.rps_per_ip ? service->ratelimit.burst_per_ip : 0,
                .keys_max = (uint32_t)service->ratelimit.table,
                .keep_ns = ADMIT_KEEP});
    return error;
}

/* --- the server --- */

/* Those of the configuration were judged with it; sockets that were handed over are judged here. */
static int check_reach(const struct weir__rules *rules, const char *address,
                       char why[WEIR__STORAGE_WHY_MAX])
{
    if (weir__service_may_listen(rules->service, address))
        return 0;
    return weir__storage_fail(why, -WEIR_E_INVALID, WEIR__SERVICE_REACHED, address);
}

/* As with a Unix socket of our own: who gets there is on this machine. */
static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static int open_sockets(struct weir__storage *storage, const struct weir__rules *rules,
                        const struct weir__storage_options *options,
                        char why[WEIR__STORAGE_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    bool has_tls = service->tls.cert && service->tls.cert[0];
    const char *reason = "";
    int error = 0;
    if (has_tls &&
        (error = weir__server_tls(storage->server, service->tls.cert, service->tls.key, &reason)))
        return weir__storage_fail(why, error, "%s", reason);
    for (size_t i = 0; i < options->sockets_count; i++) {
        bool is_tls = has_tls && !is_unix(options->sockets[i]);
        int listener = weir__server_adopt(storage->server, options->sockets[i], is_tls, &reason);
        if (listener < 0)
            return weir__storage_fail(why, listener, "cannot use the socket %d: %s",
                                      options->sockets[i], reason);
        const char *address = weir__server_address(storage->server, (unsigned)listener);
        if ((error = check_reach(rules, address, why)))
            return error;
    }
    for (size_t i = 0; options->sockets_count == 0 && i < service->listen.count; i++) {
        const char *address = service->listen.items[i];
        struct weir__listen listen = {
            .address = address,
            .mode = weir__service_unix_mode(service),
            .backlog = (uint32_t)service->server.backlog,
            .is_tls = has_tls && strncmp(address, "unix:", 5) != 0,
        };
        if ((error = weir__server_listen(storage->server, &listen, &reason)) < 0)
            return weir__storage_fail(why, error == -WEIR_E_NOT_FOUND ? -WEIR_E_INVALID : error,
                                      "cannot listen on '%s': %s", address, reason);
    }
    return 0;
}

static int make_server(struct weir__storage *storage, const struct weir__rules *rules,
                       const struct weir__storage_options *given, char why[WEIR__STORAGE_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    const char *reason = "";
    struct weir__server_options options = {
        .crew = storage->crew,
        .handler = &weir__storage_handler,
        .arg = storage,
        .private_size = sizeof(struct weir__ask),
        .loops = (uint32_t)service->server.acceptors,
        .name = "weir",
        .trusted = service->server.trusted_proxies.items,
        .trusted_count = service->server.trusted_proxies.count,
    };
    int error = 0;
    for (size_t i = 0; !error && given->sockets_count == 0 && i < service->listen.count; i++)
        error = check_reach(rules, service->listen.items[i], why);
    if (error)
        return error;
    weir__storage_fill_limits(storage, rules, &options.limits);
    error = weir__server_new(&storage->server, &options, &reason);
    if (error)
        return weir__storage_fail(why, error, "%s", reason);
    return open_sockets(storage, rules, given, why);
}

/* --- birth and death --- */

static int register_locks(void)
{
    static const struct weir_lock_class *const order[] = {&config_class, &meta_class,
                                                          &counters_class, &weir__quota_class};
    return weir_lock_register(order, sizeof(order) / sizeof(order[0]));
}

static int make_parts(struct weir__storage *storage, struct weir__rules *rules,
                      const struct weir__storage_options *options, char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir_crew_options crew = {.threads_max = 4096,
                                     .drain_ns = WEIR__STORAGE_THREADS_NS,
                                     .grace_ns = WEIR__STORAGE_GRACE_NS};
    int error = register_locks();
    if (!error)
        error = make_lines(storage, rules);
    if (!error)
        error = make_limits(storage, rules);
    if (!error)
        error = weir_crew_new(&storage->crew, "storage", &crew);
    if (error)
        return weir__storage_fail(why, error, "%s: %s", weir_error_text(error),
                                  weir_error_detail());
    error = weir__descriptors_share(storage, rules, options->sockets_count, why);
    if (!error)
        error = open_store(storage, rules, why);
    if (!error)
        error = weir__quota_open(&storage->quota,
                                 rules->own->amnesia.is_enabled ? NULL : rules->own->data, why);
    if (!error)
        error = weir__rules_find_keys(storage, rules, why); /* in the folder that the store made */
    if (!error)
        error = weir__audit_check(rules, why);
    if (!error)
        error = make_server(storage, rules, options, why);
    if (!error)
        weir__finding_rights(storage, rules);
    if (!error && (error = weir__numbers_new(storage)))
        weir__storage_fail(why, error, "cannot register its metrics: %s", weir_error_detail());
    return error;
}

int weir__storage_new(struct weir__storage **ret_storage,
                      const struct weir__storage_options *options, char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir__storage *storage = weir__base_alloc(1, sizeof(*storage));
    struct weir__rules *rules = NULL;
    int error = storage ? 0 : weir__storage_fail(why, -WEIR_E_NO_MEMORY, "out of memory");
    if (error)
        return error;
    storage->version = options->version;
    storage->reload = options->reload;
    storage->is_hurried = options->is_hurried;
    storage->arg = options->arg;
    weir_cancel_init(&storage->stop, NULL);
    weir_cancel_init(&storage->clock_stop, NULL);
    weir_lock_init(&storage->reload_lock, &config_class);
    weir_lock_init(&storage->jobs_lock, &meta_class);
    weir_lock_init(&storage->damage_lock, &counters_class);
    error = weir__rules_new(&rules, options->config, why);
    if (!error &&
        (error = weir_watch_init_snapshot(&storage->config, "config", &rules->snapshot))) {
        weir__storage_rules_give(rules);
        weir__storage_fail(why, error, "%s", weir_error_text(error));
    }
    if (!error)
        error = make_parts(storage, rules, options, why);
    if (error) {
        weir__storage_free(storage);
        return error;
    }
    *ret_storage = storage;
    return 0;
}

int weir__storage_free(struct weir__storage *storage)
{
    if (!storage)
        return 0;
    /* Somebody is still at it and the process is about to leave: nothing is taken from under him.
     */
    if (storage->is_stuck)
        return -WEIR_E_TIMEOUT;
    if (storage->crew && weir_crew_state(storage->crew) != WEIR_CREW_STOPPED)
        weir_crew_drain(storage->crew, NULL);
    weir__server_free(storage->server);
    if (storage->crew)
        weir_crew_free(storage->crew);
    int error = weir__store_close(storage->store);
    if (error == -WEIR_E_TIMEOUT)
        return error;
    weir__quota_free(storage->quota);
    weir__numbers_free(storage);
    weir_admit_fini(&storage->per_address);
    weir_rate_fini(&storage->complaints);
    weir_rate_fini(&storage->pacing);
    weir_rate_fini(&storage->rps);
    weir_budget_fini(&storage->scrapes);
    weir_budget_fini(&storage->inflight);
    weir_bus_unsubscribe(&storage->audit);
    weir_bus_fini(&storage->events);
    weir_queue_fini(&storage->reloads);
    weir_queue_fini(&storage->repairs);
    weir_queue_fini(&storage->health);
    weir_queue_fini(&storage->streams);
    weir_queue_fini(&storage->writes);
    weir_queue_fini(&storage->reads);
    weir_watch_fini(&storage->shutdown);
    weir_watch_fini(&storage->config);
    weir_lock_fini(&storage->reload_lock);
    weir_lock_fini(&storage->jobs_lock);
    weir_lock_fini(&storage->damage_lock);
    weir_cancel_fini(&storage->clock_stop);
    weir_cancel_fini(&storage->stop);
    weir__base_free(storage);
    return error;
}

int weir__storage_start(struct weir__storage *storage, char why[WEIR__STORAGE_WHY_MAX])
{
    struct weir__rules *rules = weir__storage_rules(storage);
    struct weir__event event = {.kind = WEIR__EVENT_START};
    int error = weir__storage_start_threads(storage, rules);
    if (!error)
        error = weir__server_start(storage->server);
    weir__storage_rules_give(rules);
    storage->is_started = true;
    if (error)
        return weir__storage_fail(why, error, "cannot start its threads: %s",
                                  error == -WEIR_E_BUSY ? WEIR__RESOURCES_NO_THREAD
                                                        : weir_error_text(error));
    weir__storage_event(storage, &event);
    return 0;
}

/* --- while it runs --- */

void weir__storage_ask_to_stop(struct weir__storage *storage)
{
    weir_cancel_fire(&storage->stop);
}

int weir__storage_wait(struct weir__storage *storage, uint64_t ns)
{
    struct weir_deadline deadline = weir_deadline_in(ns, &storage->stop);
    return weir_deadline_sleep(&deadline);
}

const char *weir__storage_address(const struct weir__storage *storage, unsigned listener)
{
    const char *address = weir__server_address(storage->server, listener);
    return address && address[0] ? address : NULL;
}
