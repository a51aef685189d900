/* serve_command.c - a service from its configuration to its end.
 *
 * The supervisor waits for signals, reloads, drains, and tells the manager of the system.
 */
#include "serve_command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "config_given.h"
#include "log.h"
#include "resources.h"
#include "service.h"

#include "banned.h"

#define TURN_NS    (100 * WEIR_NS_PER_MS)
#define HANGS_NS   (5 * WEIR_NS_PER_S) /* a reload that takes longer is told of */
#define TABLES_MAX (1u << 20)

/* --- configuration --- */

struct given {
    const struct weir__serve *serve;
    struct weir__config_words words;
    const char *file;
    char data[WEIR__DATA_PATH_SIZE];
};

static int read_given(struct given *given, const struct weir__serve_values *values)
{
    struct weir__config_words *words = &given->words;
    words->count = 0;
    given->file = values->config;
    int error = weir__config_words_set(words, &values->set);
    if (values->topology)
        weir__config_words_add(words, "listen", "127.0.0.1:0", "--topology");
    for (size_t i = 0; !values->topology && i < values->listen.count; i++)
        weir__config_words_add(words, "listen", values->listen.items[i], "--listen");
    if (values->data)
        weir__config_words_add(words, "data", values->data, "--data");
    if (values->open)
        weir__config_words_add(words, "server.open", "true", "--open");
    if (values->amnesia || values->topology)
        weir__config_words_add(words, "amnesia.enabled", "true",
                               values->amnesia ? "--amnesia" : "--topology");
    return error;
}

static void tell_change(void *arg, const struct weir__config_key *key, const char *before,
                        const char *after, bool needs_restart)
{
    (void)arg;
    if (needs_restart)
        weir__log(WEIR__LOG_WARNING, "%s stays %s until a restart; the file says %s", key->name,
                  before, after);
    else
        weir__log(WEIR__LOG_INFO, "%s is %s now, and was %s", key->name, after, before);
}

static const struct weir__config_sink sink = {.problem = weir__config_tell_problem,
                                              .changed = tell_change};

static struct weir__config_sources sources_of(const struct given *given)
{
    return (struct weir__config_sources){
        .file = given->file,
        .environment = (const char *const *)environ,
        .given = given->words.items,
        .given_count = given->words.count,
    };
}

/* With the default folder where none is named. */
static int load_config(struct given *given, struct weir__config **ret_config)
{
    struct weir__config_sources sources = sources_of(given);
    int error = weir__config_load(ret_config, given->serve->service->schema, &sources, &sink);
    if (error)
        return error;
    if (!given->serve->lacks_folder(*ret_config))
        return 0;
    weir__config_unref(*ret_config);
    error = given->serve->default_folder(given->data);
    if (error) {
        weir__log(WEIR__LOG_ERROR, "there is no home for the data: name a folder with --data");
        return error;
    }
    weir__config_words_add(&given->words, "data", given->data, "the default folder");
    sources = sources_of(given);
    return weir__config_load(ret_config, given->serve->service->schema, &sources, &sink);
}

static void apply_log(const struct weir__config *config)
{
    const struct weir__service_config *service = weir__config_values(config, &weir__service_table);
    weir__log_threshold((enum weir__log_level)service->log.level);
    weir__log_as_json(service->log.format == WEIR__LOG_FORM_JSON);
}

/* --- the supervisor --- */

/* Not on the stack: a reload that hangs is left behind with it. */
struct supervisor {
    struct given given;
    struct weir__config *config; /* of the thread that reloads, once that is there */
    struct weir__daemon *daemon;
    char why[WEIR__DAEMON_WHY_MAX];     /* the last reload was refused by the service; or "" */
    char problem[WEIR__DAEMON_WHY_MAX]; /* the first that it found in the configuration; or "" */
    bool has_told;                      /* that a reload hangs */
    bool has_told_service;              /* that something of the service does */
};

/* A log that nobody reads holds nobody up: a line has half a second and is lost then. */
static int gives_way(void)
{
    return 1;
}

static int apply(void *arg, struct weir__config *fresh)
{
    struct supervisor *self = arg;
    return weir__daemon_reload(self->daemon, fresh, self->why);
}

/* All of them go to the log, and the first to who asked for the reload. */
static void hear_problem(void *arg, bool is_warning, const char *line)
{
    struct supervisor *self = arg;
    if (!is_warning && !self->problem[0])
        snprintf(self->problem, sizeof(self->problem), "%s", line);
    sink.problem(arg, is_warning, line);
}

/* By a thread of the service: files may lie on a disk that does not answer. */
static int reload(void *arg, char why[WEIR__DAEMON_WHY_MAX])
{
    struct supervisor *self = arg;
    struct weir__config_sources sources = sources_of(&self->given);
    const struct weir__config_sink hears = {
        .problem = hear_problem, .apply = apply, .changed = sink.changed, .arg = self};
    char notice[64];
    struct weir__config *fresh;
    size_t changed;
    /* The time tells the manager which reload it is that READY ends. */
    snprintf(notice, sizeof(notice), "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(weir_now_ns() / WEIR_NS_PER_US));
    weir__service_notify(notice);
    self->why[0] = self->problem[0] = '\0';
    int error = weir__config_reload(&fresh, self->config, &sources, &hears, &changed);
    if (error) {
        weir__log(WEIR__LOG_ERROR, "the configuration stays as it was%s%s",
                  self->why[0] ? ": " : "", self->why);
        snprintf(why, WEIR__DAEMON_WHY_MAX, "the configuration stays as it was: %.*s",
                 (int)(WEIR__DAEMON_WHY_MAX - 64),
                 self->why[0]       ? self->why
                 : self->problem[0] ? self->problem
                                    : weir_error_text(error));
    } else {
        weir__config_unref(self->config);
        self->config = fresh;
        apply_log(fresh);
        weir__log(WEIR__LOG_INFO, "reloaded: %zu keys changed", changed);
    }
    weir__service_notify("READY=1");
    return error;
}

static void watch_reload(struct supervisor *self)
{
    bool hangs = weir__daemon_reloading_ns(self->daemon) >= HANGS_NS;
    if (hangs && !self->has_told)
        weir__log(WEIR__LOG_WARNING,
                  "a reload takes more than %llu s: the disk with configuration, keys or "
                  "certificates does not answer; all stays as it was until it does",
                  (unsigned long long)(HANGS_NS / WEIR_NS_PER_S));
    self->has_told = hangs;
}

static void watch_service(struct supervisor *self)
{
    const struct weir__serve *serve = self->given.serve;
    const char *hangs = serve->hangs ? serve->hangs(self->daemon) : NULL;
    if (hangs && !self->has_told_service)
        weir__log(WEIR__LOG_WARNING, "%s", hangs);
    self->has_told_service = hangs != NULL;
}

/* Until somebody wants the end; why is that said in the log. */
static void supervise(struct supervisor *self)
{
    uint64_t watchdog_ns = weir__service_watchdog_ns(), told_ns = 0;
    for (;;) {
        int number = weir__service_signal(TURN_NS);
        if (number == SIGHUP)
            weir__daemon_ask_to_reload(self->daemon);
        if (number == SIGTERM || number == SIGINT) {
            weir__log(WEIR__LOG_INFO, "draining, for %s", number == SIGTERM ? "SIGTERM" : "SIGINT");
            return;
        }
        if (weir__daemon_wait(self->daemon, 0) == -WEIR_E_CANCELED) {
            weir__log(WEIR__LOG_INFO, "draining");
            return;
        }
        weir__daemon_tend(self->daemon);
        watch_reload(self);
        watch_service(self);
        uint64_t now_ns = weir_now_ns();
        if (watchdog_ns && now_ns - told_ns >= watchdog_ns) {
            weir__service_notify("WATCHDOG=1");
            told_ns = now_ns;
        }
    }
}

static bool is_hurried(void *arg)
{
    (void)arg;
    int number = weir__service_signal(0);
    if (number != SIGTERM && number != SIGINT)
        return false;
    weir__log(WEIR__LOG_INFO, "not waiting any more, for a second signal");
    return true;
}

static int drain(struct supervisor *self)
{
    struct weir__daemon_end end;
    uint64_t began_ns = weir_now_ns();
    weir__service_notify("STOPPING=1");
    int result = weir__daemon_drain(self->daemon, &end);
    double seconds = (double)(weir_now_ns() - began_ns) / (double)WEIR_NS_PER_S;
    if (end.left > 0)
        weir__log(WEIR__LOG_WARNING, "%llu %s", (unsigned long long)end.left,
                  self->given.serve->left);
    if (result)
        weir__log(WEIR__LOG_WARNING,
                  "not all was done in time: %llu connections cut, %llu requests stopped at work, "
                  "%llu in line never begun, %llu threads aborted, %llu of them left behind",
                  (unsigned long long)end.cut, (unsigned long long)end.stopped,
                  (unsigned long long)end.dropped, (unsigned long long)end.aborted,
                  (unsigned long long)end.abandoned);
    else
        weir__log(WEIR__LOG_INFO, "drained in %.2f s", seconds);
    return result;
}

static void tell_findings(const struct weir__daemon *daemon)
{
    const char *line = weir__daemon_findings(daemon);
    for (size_t length; line[0]; line += length + 1) {
        length = strcspn(line, "\n");
        weir__log(WEIR__LOG_WARNING, "%.*s", (int)length, line);
    }
}

static int run(const struct weir__call *call, struct supervisor *self)
{
    char why[WEIR__DAEMON_WHY_MAX];
    int sockets[WEIR__SERVICE_SOCKETS_MAX];
    struct weir__daemon_options given = {.config = self->config,
                                         .version = call->program->version,
                                         .sockets = sockets,
                                         .sockets_count = weir__service_sockets(sockets),
                                         .reload = reload,
                                         .is_hurried = is_hurried,
                                         .arg = self};
    int error = weir__daemon_new(&self->daemon, self->given.serve->service, &given, why);
    if (!error && (error = weir__daemon_start(self->daemon, why)))
        weir__daemon_drain(self->daemon, NULL);
    if (error) {
        bool is_memory = error == -WEIR_E_NO_MEMORY;
        weir__log(WEIR__LOG_ERROR, "%s%s", why, is_memory ? ": " WEIR__RESOURCES_NO_MEMORY : "");
        return error == -WEIR_E_INVALID ? -WEIR_E_USAGE : error;
    }
    tell_findings(self->daemon);
    const struct weir__service_config *service =
        weir__config_values(self->config, &weir__service_table);
    const char *scheme = service->tls.cert[0] ? "https://" : "http://", *address;
    for (unsigned i = 0; (address = weir__daemon_address(self->daemon, i)); i++)
        weir__out_printf(call->out, "listening on %s%s\n",
                         strncmp(address, "unix:", 5) == 0 ? "" : scheme, address);
    weir__out_flush(call->out);
    weir__service_notify("READY=1");
    supervise(self);
    return drain(self);
}

/* --- tables --- */

static int print_topology(const struct weir__call *call, struct supervisor *self)
{
    char why[WEIR__DAEMON_WHY_MAX];
    struct weir__daemon_options given = {.config = self->config, .version = call->program->version};
    struct weir__buffer tables;
    weir__buffer_init(&tables, TABLES_MAX);
    int error = weir__daemon_new(&self->daemon, self->given.serve->service, &given, why);
    if (!error && (error = weir__daemon_start(self->daemon, why)) == 0)
        error = weir__daemon_topology(self->daemon, &tables);
    if (error == -WEIR_E_MISMATCH)
        weir__log(WEIR__LOG_ERROR, "%s", weir__buffer_text(&tables));
    else if (error)
        weir__log(WEIR__LOG_ERROR, "%s", self->daemon ? weir_error_text(error) : why);
    else
        weir__out_write(call->out, weir__buffer_text(&tables), weir__buffer_length(&tables));
    if (self->daemon)
        weir__daemon_drain(self->daemon, NULL);
    weir__buffer_fini(&tables);
    return error;
}

/* What keeps a start from succeeding until somebody changes something: a manager that starts the
 * service again is told so by the status. */
static int judge(int error)
{
    return error == -WEIR_E_INVALID || error == -WEIR_E_NOT_FOUND || error == -WEIR_E_OVERFLOW
               ? -WEIR_E_USAGE
               : error;
}

static int serve_call(const struct weir__call *call, struct supervisor *self)
{
    const struct weir__serve_values *values = call->values;
    int error = read_given(&self->given, values);
    if (!error)
        error = judge(load_config(&self->given, &self->config));
    if (error)
        return error;
    weir__service_keep_signals();
    weir__log_hurry(gives_way);
    apply_log(self->config);
    return values->topology ? print_topology(call, self) : run(call, self);
}

int weir__serve(const struct weir__call *call, const struct weir__serve *serve)
{
    struct supervisor *self = weir__base_alloc(1, sizeof(*self));
    if (!self) {
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    self->given.serve = serve;
    int error = serve_call(call, self);
    int closed = weir__daemon_free(self->daemon);
    if (serve->tell_closed)
        serve->tell_closed(closed);
    if (closed == -WEIR_E_TIMEOUT)
        return error ? error : closed;
    weir__config_unref(self->config);
    weir__base_free(self);
    return error;
}
