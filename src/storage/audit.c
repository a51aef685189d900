/* audit.c - events of the service, and the log that is written from them.
 *
 * Whoever has something to tell puts it on the bus and goes on; a subscriber that is too slow loses
 * the oldest ones, is told how many, and says so at most once in five seconds. What cannot be
 * written is counted, and told as rarely.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <weir/error.h>

#include "buffer.h"
#include "json.h"
#include "log.h"
#include "storage_part.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define WARNING_NS (5 * WEIR_NS_PER_S)
#define LINE_MAX   1024u

/* The thread's own. */
struct audit {
    struct weir__storage *storage;
    struct weir__buffer line;
    int fd;
    uint64_t lost; /* that could not be written, and were not told yet */
    int reason;    /* errno of the last of them */
    bool has_told;
    uint64_t told_ns;
};

static const char *const names[] = {
    [WEIR__EVENT_START] = "start",   [WEIR__EVENT_STOP] = "stop",
    [WEIR__EVENT_RELOAD] = "reload", [WEIR__EVENT_PUT] = "put",
    [WEIR__EVENT_DELETE] = "delete", [WEIR__EVENT_DENIED] = "denied",
    [WEIR__EVENT_DAMAGE] = "damage", [WEIR__EVENT_REPAIRED] = "repair",
    [WEIR__EVENT_ADMIN] = "admin",
};

void weir__storage_event(struct weir__storage *storage, const struct weir__event *event)
{
    struct weir__event dated = *event;
    dated.time_s = weir_wall_s();
    (void)!weir_bus_publish(&storage->events, &dated);
}

void weir__storage_event_of(struct weir__exchange *exchange, enum weir__event_kind kind,
                            const struct weir__address *address, int result, const char *what)
{
    const struct weir__ask *ask = weir__exchange_private(exchange);
    struct weir__event event = {.kind = kind, .result = result, .has_address = address != NULL};
    char client[WEIR__SERVER_ADDRESS_SIZE];
    if (address)
        event.address = *address;
    weir__address_text(weir__exchange_client(exchange), client);
    snprintf(event.who, sizeof(event.who), "%.*s", (int)sizeof(event.who) - 1, client);
    snprintf(event.token, sizeof(event.token), "%s", ask->grant.id);
    snprintf(event.corr_id, sizeof(event.corr_id), "%s", weir__exchange_corr_id(exchange));
    snprintf(event.what, sizeof(event.what), "%.*s", (int)sizeof(event.what) - 1, what ? what : "");
    weir__storage_event(weir__exchange_arg(exchange), &event);
}

/* --- the audit log --- */

static void add_text(struct weir__json *json, const char *key, const char *text)
{
    if (!text[0])
        return;
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static int print_event(struct weir__buffer *buffer, const struct weir__event *event)
{
    struct weir__json json;
    char time_text[32], address[WEIR__ADDRESS_TEXT];
    time_t seconds = (time_t)event->time_s;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    add_text(&json, "time", time_text);
    add_text(&json, "event", names[event->kind]);
    add_text(&json, "result", event->result < 0 ? weir_error_name(event->result) : "Ok");
    if (event->has_address) {
        weir__address_print(&event->address, address);
        add_text(&json, "address", address);
    }
    add_text(&json, "client", event->who);
    add_text(&json, "token", event->token);
    add_text(&json, "corr_id", event->corr_id);
    add_text(&json, "what", event->what);
    weir__json_end(&json);
    return weir__json_finish(&json);
}

/* is_last: nobody comes after this who would tell the rest. */
static void tell_lost(struct audit *audit, bool is_last)
{
    uint64_t now_ns = weir_now_ns();
    bool is_due = !audit->has_told || now_ns >= weir_time_add(audit->told_ns, WARNING_NS);
    if (audit->lost == 0 || (!is_due && !is_last))
        return;
    weir__log(WEIR__LOG_ERROR, "cannot write %llu events to the audit log: %s",
              (unsigned long long)audit->lost, weir__log_reason(audit->reason));
    audit->has_told = true;
    audit->told_ns = now_ns;
    audit->lost = 0;
}

static void write_event(struct audit *audit, const struct weir__event *event)
{
    struct weir__buffer *line = &audit->line;
    weir__buffer_truncate(line, 0);
    if (print_event(line, event))
        return;
    if (audit->fd < 0) {
        weir__log_courtesy(weir__buffer_text(line), weir__buffer_length(line));
    } else if (weir__whole_write(audit->fd, weir__buffer_text(line), weir__buffer_length(line))) {
        audit->reason = errno;
        audit->lost++;
        weir_counter_add(&audit->storage->counts.audit_lost, 1);
    }
    tell_lost(audit, false);
}

/* -1: none is named, or it cannot be opened, which errno tells. */
static int open_file(const struct weir__rules *rules)
{
    const char *name = rules->service->audit.file;
    errno = 0;
    /* A pipe that nobody reads is not waited for. */
    return name && name[0]
               ? weir__sys_openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0640)
               : -1;
}

int weir__audit_check(const struct weir__rules *rules, char why[WEIR__STORAGE_WHY_MAX])
{
    if (!rules->service->audit.is_enabled)
        return 0;
    int fd = open_file(rules);
    if (fd < 0 && errno != 0) {
        /* Another start would not help. */
        bool is_misplaced = errno == ENOENT || errno == ENOTDIR || errno == EISDIR;
        int error = is_misplaced ? -WEIR_E_INVALID : weir_error_from_errno(errno);
        snprintf(why, WEIR__STORAGE_WHY_MAX, "cannot open the audit log '%s': %s",
                 rules->service->audit.file, weir__log_reason(errno));
        return error;
    }
    weir__sys_close(fd);
    return 0;
}

/* By its name of now: who rotates logs has moved the old one, and then asks for a reload. One that
 * cannot be opened leaves what there is. */
static void open_log(struct audit *audit)
{
    struct weir__rules *rules = weir__storage_rules(audit->storage);
    int fresh = open_file(rules);
    if (fresh < 0 && errno != 0) {
        weir__log(WEIR__LOG_ERROR, "cannot open the audit log '%s': %s", rules->service->audit.file,
                  weir__log_reason(errno));
    } else {
        weir__sys_close(audit->fd);
        audit->fd = fresh;
    }
    weir__storage_rules_give(rules);
}

int weir__audit_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    struct audit audit = {.storage = storage, .fd = -1};
    struct weir__event event;
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    uint64_t missed;
    weir__buffer_init(&audit.line, LINE_MAX);
    open_log(&audit);
    for (;;) {
        int result = weir_bus_recv(&storage->audit, &event, &until_abort);
        if (result == 0 && event.kind == WEIR__EVENT_RELOAD)
            open_log(&audit);
        if (result == 0)
            write_event(&audit, &event);
        else if (result != -WEIR_E_LAGGING)
            break;
        if (weir_bus_lag_warning(&storage->audit, WARNING_NS, &missed))
            weir__log(WEIR__LOG_WARNING, "the audit log has missed %llu events",
                      (unsigned long long)missed);
    }
    tell_lost(&audit, true);
    weir__buffer_fini(&audit.line);
    weir__sys_close(audit.fd);
    return 0;
}
