/* cmd_storage.c - weir storage: the service, from its configuration to its end.
 *
 * This thread is the supervisor: it waits for signals, reloads, drains, and tells the manager of
 * the system. Everything else has threads of its own.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "commands.h"
#include "config_given.h"
#include "cover.h"
#include "data_folder.h"
#include "log.h"
#include "resources.h"
#include "service.h"
#include "storage.h"
#include "storage_config.h"
#include "store_end.h"

#include "banned.h"

COMMAND(storage);

#define TURN_NS    (100 * WEIR_NS_PER_MS)
#define HANGS_NS   (5 * WEIR_NS_PER_S) /* a reload that takes longer is told of */
#define TABLES_MAX (1u << 20)

struct values {
    const char *data;
    struct weir__list listen;
    const char *config;
    struct weir__list set;
    bool open;
    bool amnesia;
    bool topology;
};

static const struct weir__option options[] = {
    {WEIR__OPTION_DIRECTORY(struct values, data), .name = "data", .letter = 'd',
     .value_name = "DIR", .help = "keep everything in this folder",
     .detail = "It is made if it is not there. Without this and the key 'data': the folder "
               "weir/storage of $XDG_DATA_HOME (~/.local/share), and for root "
               "/var/lib/weir/storage."},
    {WEIR__OPTION_LIST(struct values, listen), .name = "listen", .letter = 'l',
     .value_name = "ADDRESS", .help = "listen there; 127.0.0.1:8470 without it",
     .detail = "An address with a port, or 'unix:PATH'. May be given several times."},
    {WEIR__OPTION_FILE(struct values, config), .name = "config", .letter = 'c',
     .value_name = "FILE", .help = "read this configuration",
     .detail = "See 'weir config sample' for what can stand in it."},
    {WEIR__OPTION_LIST(struct values, set), .name = "set", .value_name = "KEY=VALUE",
     .help = "a value above file and environment; may be given several times"},
    {WEIR__OPTION_FLAG(struct values, open), .name = "open",
     .help = "let others read and write without tokens and TLS"},
    {WEIR__OPTION_FLAG(struct values, amnesia), .name = "amnesia",
     .help = "keep everything in memory, and nothing after the end"},
    {WEIR__OPTION_FLAG(struct values, topology), .name = "topology",
     .help = "print tables of threads, channels, limits, locks and times, and exit",
     .detail = "Of a service with this configuration that keeps everything in memory and listens "
               "on a free port. The tables are Markdown."},
    WEIR__OPTIONS_END,
};

static const struct weir__example examples[] = {
    {"weir storage", "serve on 127.0.0.1:8470, from the default folder"},
    {"weir storage --data /srv/chunks --listen unix:/run/weir.sock", "on a socket of this machine"},
    {"curl -T photo.jpg http://127.0.0.1:8470/o/$(b3sum photo.jpg | sed 's/ .*//;s/^/b3:/')",
     "store a file of up to 1 MiB under its address"},
    {"weir storage --amnesia --set amnesia.max_bytes=1GiB", "a cache that leaves no trace"},
    {NULL, NULL},
};

const struct weir__usage usage_storage = {
    .description =
        "Serves a store of chunks over HTTP. A chunk has at most 1 MiB and is named by the BLAKE3 "
        "of its bytes; what was acknowledged is on the disk. Larger files are put with 'weir put' "
        "and read at /f/ADDRESS.\n\n"
        "    PUT /o/ADDRESS      store bytes that have this address\n"
        "    POST /o             store bytes; the answer has their address\n"
        "    GET /o/ADDRESS      read them; ranges and conditions as in HTTP\n"
        "    DELETE /o/ADDRESS   needs a token: see 'weir token'\n"
        "    GET /f/ADDRESS      the file that a manifest stands for\n"
        "    GET /healthz, /readyz, /version, /metrics\n\n"
        "SIGTERM and SIGINT drain: who comes is told so, what is there is finished within "
        "drain_deadline; a second one does not wait for that. SIGHUP reads configuration, keys and "
        "certificates anew. The exit status is 0 after a clean end, 2 when the configuration is "
        "wrong, 3 when something had to be aborted.",
    .examples = examples,
    .options = options,
    .values_size = sizeof(struct values),
    .is_service = true,
};

/* --- configuration --- */

struct given {
    struct weir__config_words words;
    const char *file;
    char data[WEIR__DATA_PATH_SIZE];
};

static int read_given(struct given *given, const struct values *values)
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
    int error = weir__config_load(ret_config, &weir__storage_schema, &sources, &sink);
    if (error)
        return error;
    const struct weir__storage_config *own = weir__config_values(*ret_config, &weir__storage_table);
    if ((own->data && own->data[0]) || own->amnesia.is_enabled)
        return 0;
    weir__config_unref(*ret_config);
    error = weir__data_default(given->data);
    if (error) {
        weir__log(WEIR__LOG_ERROR, "there is no home for the data: name a folder with --data");
        return error;
    }
    weir__config_words_add(&given->words, "data", given->data, "the default folder");
    sources = sources_of(given);
    return weir__config_load(ret_config, &weir__storage_schema, &sources, &sink);
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
    struct weir__storage *storage;
    char why[WEIR__STORAGE_WHY_MAX]; /* the last reload was refused by the service; or "" */
    bool has_told;                   /* that a reload hangs */
    bool has_told_disk;              /* that a write does */
};

/* A log that nobody reads holds nobody up: a line has half a second and is lost then. */
static int gives_way(void)
{
    return 1;
}

static int apply(void *arg, struct weir__config *fresh)
{
    struct supervisor *self = arg;
    return weir__storage_reload(self->storage, fresh, self->why);
}

/* By a thread of the service: files may lie on a disk that does not answer. */
static void reload(void *arg)
{
    struct supervisor *self = arg;
    struct weir__config_sources sources = sources_of(&self->given);
    const struct weir__config_sink hears = {
        .problem = sink.problem, .apply = apply, .changed = sink.changed, .arg = self};
    char notice[64];
    struct weir__config *fresh;
    size_t changed;
    /* The time tells the manager which reload it is that READY ends. */
    snprintf(notice, sizeof(notice), "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(weir_now_ns() / WEIR_NS_PER_US));
    weir__service_notify(notice);
    self->why[0] = '\0';
    if (weir__config_reload(&fresh, self->config, &sources, &hears, &changed)) {
        weir__log(WEIR__LOG_ERROR, "the configuration stays as it was%s%s",
                  self->why[0] ? ": " : "", self->why);
    } else {
        weir__config_unref(self->config);
        self->config = fresh;
        apply_log(fresh);
        weir__log(WEIR__LOG_INFO, "reloaded: %zu keys changed", changed);
    }
    weir__service_notify("READY=1");
}

static void watch_reload(struct supervisor *self)
{
    bool hangs = weir__storage_reloading_ns(self->storage) >= HANGS_NS;
    if (hangs && !self->has_told)
        weir__log(WEIR__LOG_WARNING,
                  "a reload takes more than %llu s: the disk with configuration, keys or "
                  "certificates does not answer; all stays as it was until it does",
                  (unsigned long long)(HANGS_NS / WEIR_NS_PER_S));
    self->has_told = hangs;
}

static void watch_disk(struct supervisor *self)
{
    bool hangs = weir__storage_disk_hangs(self->storage);
    if (hangs && !self->has_told_disk)
        weir__log(WEIR__LOG_WARNING,
                  "a write takes more than %llu s: the disk with the data does not answer; nothing "
                  "is written until it does, and /readyz is 503",
                  (unsigned long long)(WEIR__STORAGE_HANGS_NS / WEIR_NS_PER_S));
    self->has_told_disk = hangs;
}

/* Until somebody wants the end; why is that said in the log. */
static void supervise(struct supervisor *self)
{
    uint64_t watchdog_ns = weir__service_watchdog_ns(), told_ns = 0;
    for (;;) {
        int number = weir__service_signal(TURN_NS);
        if (number == SIGHUP)
            weir__storage_ask_to_reload(self->storage);
        if (number == SIGTERM || number == SIGINT) {
            weir__log(WEIR__LOG_INFO, "draining, for %s", number == SIGTERM ? "SIGTERM" : "SIGINT");
            return;
        }
        if (weir__storage_wait(self->storage, 0) == -WEIR_E_CANCELED) {
            weir__log(WEIR__LOG_INFO, "draining");
            return;
        }
        weir__storage_tend(self->storage);
        watch_reload(self);
        watch_disk(self);
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
    struct weir__storage_end end;
    uint64_t began_ns = weir_now_ns();
    weir__service_notify("STOPPING=1");
    int result = weir__storage_drain(self->storage, &end);
    double seconds = (double)(weir_now_ns() - began_ns) / (double)WEIR_NS_PER_S;
    if (end.unrepaired > 0)
        weir__log(
            WEIR__LOG_WARNING,
            "%llu damaged chunks were not repaired, and the next start does not know of them: "
            "see the lines above, and put them again",
            (unsigned long long)end.unrepaired);
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

static void tell_findings(const struct weir__storage *storage)
{
    const char *line = weir__storage_findings(storage);
    for (size_t length; line[0]; line += length + 1) {
        length = strcspn(line, "\n");
        weir__log(WEIR__LOG_WARNING, "%.*s", (int)length, line);
    }
}

static int run(const struct weir__call *call, struct supervisor *self)
{
    char why[WEIR__STORAGE_WHY_MAX];
    int sockets[WEIR__SERVICE_SOCKETS_MAX];
    struct weir__storage_options given = {.config = self->config,
                                          .version = call->program->version,
                                          .sockets = sockets,
                                          .sockets_count = weir__service_sockets(sockets),
                                          .reload = reload,
                                          .is_hurried = is_hurried,
                                          .arg = self};
    int error = weir__storage_new(&self->storage, &given, why);
    if (!error && (error = weir__storage_start(self->storage, why)))
        weir__storage_drain(self->storage, NULL);
    if (error) {
        bool is_memory = error == -WEIR_E_NO_MEMORY;
        weir__log(WEIR__LOG_ERROR, "%s%s", why, is_memory ? ": " WEIR__RESOURCES_NO_MEMORY : "");
        return error == -WEIR_E_INVALID ? -WEIR_E_USAGE : error;
    }
    tell_findings(self->storage);
    const struct weir__service_config *service =
        weir__config_values(self->config, &weir__service_table);
    const char *scheme = service->tls.cert[0] ? "https://" : "http://", *address;
    for (unsigned i = 0; (address = weir__storage_address(self->storage, i)); i++)
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
    char why[WEIR__STORAGE_WHY_MAX];
    struct weir__storage_options given = {.config = self->config,
                                          .version = call->program->version};
    struct weir__buffer tables;
    weir__buffer_init(&tables, TABLES_MAX);
    int error = weir__storage_new(&self->storage, &given, why);
    if (!error && (error = weir__storage_start(self->storage, why)) == 0)
        error = weir__storage_topology(self->storage, &tables);
    if (error == -WEIR_E_MISMATCH)
        weir__log(WEIR__LOG_ERROR, "%s", weir__buffer_text(&tables));
    else if (error)
        weir__log(WEIR__LOG_ERROR, "%s", self->storage ? weir_error_text(error) : why);
    else
        weir__out_write(call->out, weir__buffer_text(&tables), weir__buffer_length(&tables));
    if (self->storage)
        weir__storage_drain(self->storage, NULL);
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

static int serve(const struct weir__call *call, struct supervisor *self)
{
    const struct values *values = call->values;
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

int cmd_storage(const struct weir__call *call)
{
    struct supervisor *self = weir__base_alloc(1, sizeof(*self));
    if (!self) {
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    int error = serve(call, self);
    int closed = weir__storage_free(self->storage);
    weir__store_end_tell(closed);
    if (closed == -WEIR_E_TIMEOUT)
        return error ? error : closed;
    weir__config_unref(self->config);
    weir__base_free(self);
    return error;
}
