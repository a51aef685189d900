/* audit.c - events of the service, and the log that is written from them.
 *
 * Whoever has something to tell puts it on the bus and goes on; a subscriber that is too slow loses
 * the oldest ones, is told how many, and says so at most once in five seconds, and at the end of
 * what was not said before. What cannot be written is counted, and told as rarely. Where events are
 * missing in the log a line of its own stands in their place, as soon as one can be written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/error.h>

#include "buffer.h"
#include "daemon_part.h"
#include "json.h"
#include "log.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define WARNING_NS  (5 * WEIR_NS_PER_S)
#define AUDIT_LINE  2048u
#define FOLDER_SIZE 4096u

/* The thread's own. */
struct audit {
    struct weir__daemon *daemon;
    struct weir__buffer line;
    int fd;
    uint64_t lost; /* that could not be written, and were not told yet */
    int reason;    /* errno of the last of them */
    uint64_t gap;  /* events missing at the end of the log, of which it has no line yet */
    int gap_error; /* why the last of them is */
    uint64_t missed, missed_told; /* events that the bus had no room for */
    bool has_told;
    uint64_t told_ns;
};

void weir__daemon_event(struct weir__daemon *daemon, const struct weir__daemon_event *event)
{
    struct weir__daemon_event dated = *event;
    dated.time_s = weir_wall_s();
    (void)!weir_bus_publish(&daemon->events, &dated);
}

void weir__daemon_event_of(struct weir__exchange *exchange, const char *name, const char *about,
                           int result, const char *what)
{
    const struct weir__daemon_ask *ask = weir__exchange_private(exchange);
    struct weir__daemon_event event = {.name = name, .result = result};
    char client[WEIR__SERVER_ADDRESS_SIZE];
    snprintf(event.about, sizeof(event.about), "%.*s", (int)sizeof(event.about) - 1,
             about ? about : "");
    weir__address_text(weir__exchange_client(exchange), client);
    snprintf(event.who, sizeof(event.who), "%.*s", (int)sizeof(event.who) - 1, client);
    snprintf(event.token, sizeof(event.token), "%s", ask->grant.id);
    snprintf(event.corr_id, sizeof(event.corr_id), "%s", weir__exchange_corr_id(exchange));
    snprintf(event.what, sizeof(event.what), "%.*s", (int)sizeof(event.what) - 1, what ? what : "");
    weir__daemon_event(weir__exchange_arg(exchange), &event);
}

/* --- the audit log --- */

static void add_text(struct weir__json *json, const char *key, const char *text)
{
    if (!text[0])
        return;
    weir__json_key(json, key);
    weir__json_string(json, text);
}

static int print_event(struct weir__buffer *buffer, const struct weir__daemon_service *service,
                       const struct weir__daemon_event *event)
{
    struct weir__json json;
    char time_text[32];
    time_t seconds = (time_t)event->time_s;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    add_text(&json, "time", time_text);
    add_text(&json, "event", event->name);
    add_text(&json, "result", event->result < 0 ? weir_error_name(event->result) : "Ok");
    add_text(&json, service->about_key, event->about);
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

/* False: it is not in the log, and errno says why. */
static bool put_line(struct audit *audit, const struct weir__daemon_event *event)
{
    struct weir__buffer *line = &audit->line;
    weir__buffer_truncate(line, 0);
    if (print_event(line, audit->daemon->service, event)) {
        errno = ENOMEM;
        return false;
    }
    if (audit->fd >= 0)
        return !weir__whole_write(audit->fd, weir__buffer_text(line), weir__buffer_length(line));
    return weir__log_courtesy(weir__buffer_text(line), weir__buffer_length(line));
}

static void add_gap(struct audit *audit, uint64_t count, int error)
{
    audit->gap += count;
    audit->gap_error = error;
}

/* What is missing is said where it is missing. False: that cannot be written either. */
static bool mark_gap(struct audit *audit)
{
    struct weir__daemon_event mark = {
        .name = "lost", .result = audit->gap_error, .time_s = weir_wall_s()};
    if (audit->gap == 0)
        return true;
    snprintf(mark.what, sizeof(mark.what), "%llu events", (unsigned long long)audit->gap);
    if (!put_line(audit, &mark))
        return false;
    audit->gap = 0;
    return true;
}

static void write_event(struct audit *audit, const struct weir__daemon_event *event)
{
    if (!mark_gap(audit) || !put_line(audit, event)) {
        audit->reason = errno;
        audit->lost++;
        add_gap(audit, 1, weir_error_from_errno(errno));
        weir_counter_add(&audit->daemon->counts.audit_lost, 1);
    }
    tell_lost(audit, false);
}

static void tell_missed(struct audit *audit, uint64_t count)
{
    if (count > 0)
        weir__log(WEIR__LOG_WARNING, "the audit log has missed %llu events",
                  (unsigned long long)count);
    audit->missed_told += count;
}

static void note_missed(struct audit *audit)
{
    struct weir_bus_subscriber *events = &audit->daemon->audit;
    uint64_t count = weir_bus_lost(events), untold = 0;
    audit->missed += count;
    add_gap(audit, count, -WEIR_E_LAGGING);
    (void)mark_gap(audit);
    if (weir_bus_lag_warning(events, WARNING_NS, &untold))
        tell_missed(audit, untold);
}

/* Nobody comes after this who would tell the rest: of events that were missed, also of those that
 * are in line when there is no time left for them, and of those that could not be written. */
static void end_log(struct audit *audit)
{
    struct weir_bus_subscriber_stats stats;
    weir_bus_subscriber_read(&audit->daemon->audit, &stats);
    if (stats.lost + stats.lag > audit->missed)
        add_gap(audit, stats.lost + stats.lag - audit->missed, -WEIR_E_LAGGING);
    (void)mark_gap(audit);
    tell_missed(audit, stats.lost + stats.lag - audit->missed_told);
    tell_lost(audit, true);
}

/* -1: none is named, or it cannot be opened, which errno tells. */
static int open_file(const struct weir__daemon_rules *rules, int flags)
{
    const char *name = rules->service->audit.file;
    errno = 0;
    /* A pipe that nobody reads is not waited for. */
    return name && name[0]
               ? weir__sys_openat(AT_FDCWD, name, O_WRONLY | O_APPEND | O_NONBLOCK | flags, 0640)
               : -1;
}

static int fail_open(const struct weir__daemon_rules *rules, int number,
                     char why[WEIR__DAEMON_WHY_MAX])
{
    /* Another start would not help. */
    bool is_misplaced = number == ENOENT || number == ENOTDIR || number == EISDIR;
    snprintf(why, WEIR__DAEMON_WHY_MAX, "audit.file: cannot open '%s': %s",
             rules->service->audit.file, weir__log_reason(number));
    return is_misplaced ? -WEIR_E_INVALID : weir_error_from_errno(number);
}

int weir__daemon_check_audit(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    if (!rules->service->audit.is_enabled)
        return 0;
    int fd = open_file(rules, O_CREAT);
    if (fd < 0 && errno != 0)
        return fail_open(rules, errno, why);
    weir__sys_close(fd);
    return 0;
}

/* errno, or 0: whether a file could be made under this name. */
static int probe_folder(const char *name)
{
    char folder[FOLDER_SIZE];
    const char *slash = strrchr(name, '/');
    size_t length = !slash ? 0 : slash == name ? 1 : (size_t)(slash - name);
    if (length >= sizeof(folder))
        return ENAMETOOLONG;
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)length : 1, slash ? name : ".");
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
}

int weir__daemon_probe_audit(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    if (!rules->service->audit.is_enabled)
        return 0;
    int fd = open_file(rules, 0);
    int number = fd < 0 ? errno : 0;
    weir__sys_close(fd);
    if (number == ENOENT)
        number = probe_folder(rules->service->audit.file);
    return number ? fail_open(rules, number, why) : 0;
}

/* By its name of now: who rotates logs has moved the old one, and then asks for a reload. One that
 * cannot be opened leaves what there is. */
static void open_log(struct audit *audit)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(audit->daemon);
    int fresh = open_file(rules, O_CREAT);
    if (fresh < 0 && errno != 0) {
        weir__log(WEIR__LOG_ERROR, "audit.file: cannot open '%s': %s", rules->service->audit.file,
                  weir__log_reason(errno));
    } else {
        weir__sys_close(audit->fd);
        audit->fd = fresh;
    }
    weir__daemon_rules_give(rules);
}

uint64_t weir__daemon_audit_count(const struct weir__daemon_rules *rules)
{
    return rules->service->audit.is_enabled;
}

int weir__daemon_audit_main(struct weir_crew_self *self, void *arg)
{
    struct weir__daemon *daemon = arg;
    struct audit audit = {.daemon = daemon, .fd = -1};
    struct weir__daemon_event event;
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    weir__buffer_init(&audit.line, AUDIT_LINE);
    open_log(&audit);
    for (;;) {
        int result = weir_bus_recv(&daemon->audit, &event, &until_abort);
        if (result == 0 && strcmp(event.name, "reload") == 0)
            open_log(&audit);
        if (result == 0)
            write_event(&audit, &event);
        else if (result == -WEIR_E_LAGGING)
            note_missed(&audit);
        else
            break;
    }
    end_log(&audit);
    weir__buffer_fini(&audit.line);
    weir__sys_close(audit.fd);
    return 0;
}
