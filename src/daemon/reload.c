/* reload.c - the configuration in force, another one in its place, and the thread that reads it.
 *
 * Files are read by a member of the crew, since a disk may keep who reads it waiting, and the
 * supervisor has signals and a watchdog to see to. It works off a short line, of signals and of
 * requests: a reload at a time, and all who ask meanwhile get one more behind it, which reads what
 * is there then. A request waits for its end and is told how it went; a signal that finds no room
 * in line needs none. One that hangs is left behind at the end like anybody else who waits for a
 * disk.
 */
#include "daemon.h"

#include <weir/error.h>

#include "alloc.h"
#include "daemon_part.h"

#include "banned.h"

/* How long a request waits for a reload, unless its client says otherwise. */
#define RELOAD_NS (10 * WEIR_NS_PER_S)

/* --- rules --- */

static void free_rules(struct weir_snapshot *snapshot)
{
    struct weir__daemon_rules *rules = (struct weir__daemon_rules *)snapshot;
    weir__keyring_free(rules->ring);
    weir__config_unref(rules->config);
    weir__base_free(rules);
}

struct weir__daemon_rules *weir__daemon_rules(struct weir__daemon *daemon)
{
    return (struct weir__daemon_rules *)weir_watch_borrow(&daemon->config, NULL);
}

void weir__daemon_rules_give(struct weir__daemon_rules *rules)
{
    weir_snapshot_unref(&rules->snapshot);
}

int weir__daemon_rules_new(struct weir__daemon_rules **ret_rules,
                           const struct weir__daemon_service *service, struct weir__config *config,
                           char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__daemon_rules *rules = weir__base_alloc(1, sizeof(*rules));
    if (!rules)
        return weir__daemon_fail(why, -WEIR_E_NO_MEMORY, "out of memory");
    weir_snapshot_init(&rules->snapshot, free_rules);
    weir_snapshot_ref(weir__config_snapshot(config));
    rules->config = config;
    rules->service = weir__config_values(config, &weir__service_table);
    rules->own = weir__config_values(config, service->table);
    *ret_rules = rules;
    return 0;
}

/* --- another one --- */

/* Certificates first, which can fail by themselves and leave the old ones; then numbers, which go
 * back to what they were when one of them cannot be had. */
static int update_all(struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                      char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__service_config *service = rules->service;
    const char *reason = "";
    int error = 0;
    if (service->tls.cert && service->tls.cert[0] &&
        (error = weir__server_tls(daemon->server, service->tls.cert, service->tls.key, &reason)))
        return weir__daemon_fail(why, error, "%s", reason);
    error = weir__daemon_update_limits(daemon, rules, why);
    if (error) {
        char room[WEIR__DAEMON_WHY_MAX];
        struct weir__daemon_rules *old = weir__daemon_rules(daemon);
        (void)!weir__daemon_update_limits(daemon, old, room);
        weir__daemon_rules_give(old);
    }
    return error;
}

/* What needs a restart is not taken over now, but whoever reloads is to learn now that the next
 * start would fail, and not then. Looks at files and changes nothing. */
static int check_start(const struct weir__daemon *daemon, struct weir__config *config,
                       char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__daemon_service *service = daemon->service;
    struct weir__daemon_rules *rules = NULL;
    const char *reason = "";
    int error = weir__daemon_rules_new(&rules, service, config, why);
    if (error)
        return error;
    const char *cert = rules->service->tls.cert, *key = rules->service->tls.key;
    if (cert && cert[0] && (error = weir__server_check_tls(cert, key, &reason)))
        weir__daemon_fail(why, error, "%s", reason);
    if (!error)
        error = weir__daemon_check_keys(rules, why);
    if (!error && service->check)
        error = service->check(rules, why);
    if (!error)
        error = weir__daemon_probe_audit(rules, why);
    weir__daemon_rules_give(rules);
    return error;
}

int weir__daemon_reload(struct weir__daemon *daemon, struct weir__config *config,
                        char why[WEIR__DAEMON_WHY_MAX])
{
    const struct weir__daemon_service *service = daemon->service;
    struct weir__daemon_event event = {.name = "reload"};
    struct weir__daemon_rules *rules = NULL;
    int error = check_start(daemon, weir__config_as_read(config), why);
    if (!error)
        error = weir__daemon_rules_new(&rules, service, config, why);
    if (!error && ((service->check && (error = service->check(rules, why))) ||
                   (error = weir__daemon_load_keys(daemon, rules, false, why)) ||
                   (error = weir__daemon_check_audit(rules, why)) ||
                   (error = update_all(daemon, rules, why))))
        weir__daemon_rules_give(rules);
    if (!error && (error = weir_watch_swap(&daemon->config, &rules->snapshot))) {
        weir__daemon_rules_give(rules);
        weir__daemon_fail(why, error, "%s", weir_error_text(error));
    }
    event.result = error;
    weir__daemon_event(daemon, &event);
    return error;
}

/* --- the thread --- */

void weir__daemon_ask_to_reload(struct weir__daemon *daemon)
{
    struct weir__errand *nobody = NULL;
    (void)!weir_queue_try_send(&daemon->reloads, &nobody); /* Busy: one is to come already */
}

static void note_begin(struct weir__daemon *daemon, uint64_t began_ns)
{
    weir_lock_acquire(&daemon->reload_lock);
    daemon->reload_began_ns = began_ns;
    weir_lock_release(&daemon->reload_lock);
}

uint64_t weir__daemon_reloading_ns(struct weir__daemon *daemon)
{
    weir_lock_acquire(&daemon->reload_lock);
    uint64_t began_ns = daemon->reload_began_ns;
    weir_lock_release(&daemon->reload_lock);
    return began_ns ? weir_now_ns() - began_ns : 0;
}

/* Whom nobody waits for any more is left out. How many are left. */
static size_t begin_jobs(struct weir__errand **jobs, size_t count)
{
    size_t begun = 0;
    for (size_t i = 0; i < count; i++)
        if (jobs[i] && weir__errand_begin(jobs[i]))
            jobs[begun++] = jobs[i];
        else if (jobs[i])
            weir__errand_drop(jobs[i]);
    return begun;
}

static void reload_for(struct weir__daemon *daemon, struct weir__errand **jobs, size_t count)
{
    char why[WEIR__DAEMON_WHY_MAX] = "";
    note_begin(daemon, weir_now_ns());
    int error = daemon->reload ? daemon->reload(daemon->arg, why) : 0;
    note_begin(daemon, 0);
    for (size_t i = 0; i < count; i++) {
        (void)!weir__buffer_puts(&jobs[i]->bytes, why);
        weir__errand_finish(jobs[i], error, NULL);
    }
}

int weir__daemon_reload_main(struct weir_crew_self *self, void *arg)
{
    struct weir__daemon *daemon = arg;
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    struct weir__errand *jobs[WEIR__DAEMON_RELOADS];
    size_t count;
    while (weir_queue_recv_many(&daemon->reloads, jobs, WEIR__DAEMON_RELOADS, &count,
                                &until_stop) == 0)
        reload_for(daemon, jobs, begin_jobs(jobs, count));
    return 0;
}

/* --- POST /admin/reload --- */

void weir__daemon_reload_begin(struct weir__exchange *exchange)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    if (!daemon->reload) {
        weir__daemon_refuse(exchange, -WEIR_E_UNSUPPORTED, "nobody can reload this service");
        return;
    }
    bool has_body = weir__exchange_body_length(exchange) > 0;
    if (has_body || weir__exchange_query(exchange)[0]) {
        weir__daemon_refuse(exchange, -WEIR_E_INVALID,
                            has_body ? "this request has no body" : "this request has no query");
        return;
    }
    /* It waits for a disk, where other requests would have given up. */
    if (weir__exchange_end_ns(exchange) == WEIR_NEVER)
        weir__exchange_set_deadline(exchange, weir_time_add(weir_now_ns(), RELOAD_NS));
    struct weir__errand *job = weir__errand_new(exchange, NULL);
    if (job)
        weir__errand_send(job, &daemon->reloads);
}

/* What is wrong with the files is no fault of the request, nor is a file that is missing a path
 * that is: so whatever the error, it is told as what the service cannot process. */
void weir__daemon_reload_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask)
{
    static const char done[] = "{\"status\": \"reloaded\"}\n";
    const struct weir__errand *job = ask->job;
    const char *why = weir__buffer_text(&job->bytes);
    weir__daemon_event_of(exchange, "admin", NULL, job->result, "reload");
    if (job->result == -WEIR_E_CANCELED || job->result == -WEIR_E_NO_MEMORY) {
        weir__daemon_refuse(exchange, job->result, NULL);
        return;
    }
    if (job->result) {
        weir__daemon_answer_begin(exchange, 422);
        weir__reply_error_as(exchange, 422, -WEIR_E_INVALID, why[0] ? why : NULL, 0);
        return;
    }
    weir__daemon_answer_begin(exchange, 200);
    weir__reply_header(exchange, "Content-Type", "application/json");
    weir__reply_header(exchange, "Cache-Control", "no-store");
    weir__reply_copy(exchange, done, sizeof(done) - 1);
    weir__reply_send(exchange);
}
