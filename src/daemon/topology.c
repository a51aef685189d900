/* topology.c - what a service is made of, as tables of its page of documentation.
 *
 * Names, numbers and ranks are asked of the objects themselves (parts.c), and of the configuration
 * in force; what they are for is said by the service, or here for what every service has. Each
 * table is made by walking through what is said, in its order, and then through what is there: one
 * without the other is an error, so that neither can be forgotten.
 */
#include <stdio.h>
#include <string.h>

#include <weir/breaker.h>
#include <weir/error.h>
#include <weir/hedge.h>
#include <weir/lock.h>

#include "daemon_part.h"

#include "banned.h"

#define THERE_MAX 160u

/* One thing that is there. */
struct there {
    const char *kind;
    char name[WEIR__CONFIG_NAME_MAX + 1];
    uint64_t number;
    bool is_said;
};

/* --- what is said of every service --- */

/* Of threads the kind is that of the daemon's own crew, whatever that is called. */
static const struct weir__daemon_said own_threads[] = {
    {NULL, "health", {"one", "`/readyz`, `/metrics`"}, 0},
    {NULL, "clock", {"one", "answers requests whose deadline has passed (504)"}, 0},
    {NULL,
     "reload",
     {"one", "reads configuration, keys and certificates anew, for signals and requests"},
     0},
    {NULL, "audit", {"one with `audit.enabled`, else none", "writes events down"}, 0},
    {NULL, NULL, {NULL}, 0},
};

static const struct weir__daemon_said own_texts[] = {
    {"queue",
     "reloads",
     {"supervisor, loop → reload",
      "429 for a client; of a signal nothing more is asked for: the one that waits reads what is "
      "there then",
      "`weir_queue_dropped_total{queue=\"reloads\"}`"},
     0},
    {"bus",
     "events",
     {"all → audit", "drop oldest; the subscriber learns how many",
      "`bus_lagged_total{topic=\"events\"}`, and a warning"},
     0},
    {"watch", "shutdown", {"supervisor → health", "last write wins", "none"}, 0},
    {"watch", "http-limits", {"reload → loop", "last write wins", "none"}, 0},
    {"watch", "http-phase", {"supervisor → loop", "last write wins", "none"}, 0},
    {"watch", "http-progress", {"loop → supervisor", "last write wins", "none"}, 0},
    {"budget", "inflight", {"requests", "refuse: 429"}, 0},
    {"budget", "scrapes", {"requests for `/metrics`, in line or at work", "refuse: 429"}, 0},
    {"rate",
     "requests",
     {"requests a second, of all clients together; 0 is no limit", "refuse: 429"},
     0},
    {"admit",
     "addresses",
     {"clients that are remembered for their rate", "who is idle makes room; else refuse"},
     0},
    {"rate",
     "complaints",
     {"lines of the log about answers that failed, a second", "not written, counted"},
     0},
    {"budget", "http-bodies", {"bytes of request bodies in memory", "refuse: 429"}, 0},
    {"admit",
     "http-address",
     {"addresses whose connections are counted", "who is idle makes room; else refuse"},
     0},
    {"admit",
     "http-refused",
     {"addresses of connections that are kept until they are told 429", "told at once"},
     0},
    {"lock",
     "config_snapshot",
     {"since when a reload is under way; the configuration itself is a watch"},
     0},
    {"lock", "http-server", {"numbers of connections, of loops that run, the certificate"}, 0},
    {"lock", "http-mail", {"the mailbox of a loop, and its published counts"}, 0},
    {"key", "drain_deadline", {"from the signal: what is at work is cut, then aborted"}, 0},
    {"key", "read_timeout", {"a head from its first byte, a pause in a body, a handshake: 408"}, 0},
    {"key", "write_timeout", {"an answer without progress: the connection is cut"}, 0},
    {"key", "idle_timeout", {"between two requests: the connection is closed"}, 0},
    {NULL, NULL, {NULL}, 0},
};

/* --- walking --- */

struct table {
    struct weir__buffer *buffer;
    const char *crew; /* of the daemon */
    struct there there[THERE_MAX];
    size_t count;
    int error;
};

__attribute__((format(printf, 2, 3))) static void print(struct table *table, const char *format,
                                                        ...)
{
    va_list args;
    va_start(args, format);
    if (!table->error)
        table->error = weir__buffer_vprintf(table->buffer, format, args);
    va_end(args);
}

/* In place of all that was printed. */
static void mismatch(struct table *table, const char *what, const char *kind, const char *name)
{
    if (table->error)
        return;
    weir__buffer_truncate(table->buffer, 0);
    print(table, "'%s' (%s) %s", name, kind, what);
    table->error = table->error ? table->error : -WEIR_E_MISMATCH;
}

static void begin(struct table *table, const char *name, const char *head)
{
    table->count = 0;
    print(table, "<!-- generated: %s -->\n%s", name, head);
}

static void note(struct table *table, const char *kind, const char *name, uint64_t number)
{
    if (table->count == THERE_MAX) {
        table->error = table->error ? table->error : -WEIR_E_OVERFLOW;
        return;
    }
    struct there *there = &table->there[table->count++];
    *there = (struct there){.kind = kind, .number = number};
    snprintf(there->name, sizeof(there->name), "%s", name);
}

static const struct weir__daemon_said *find_said(const struct weir__daemon_said *said,
                                                 const char *kind, const char *name)
{
    for (; said->name; said++)
        if (strcmp(said->name, name) == 0 && (!said->kind || strcmp(said->kind, kind) == 0))
            return said;
    return NULL;
}

/* The texts of a row: its own, or those of every service. */
static const char *const *texts_of(struct table *table, const struct weir__daemon_said *said)
{
    if (said->text[0])
        return said->text;
    bool is_thread = strcmp(said->kind, table->crew) == 0;
    const struct weir__daemon_said *own =
        find_said(is_thread ? own_threads : own_texts, said->kind, said->name);
    if (!own)
        mismatch(table, "has no description", said->kind, said->name);
    return own ? own->text : said->text;
}

/* What a row is about; NULL, and an error unless it may be missing, when that is not there. */
static struct there *find_there(struct table *table, const struct weir__daemon_said *said)
{
    for (size_t i = 0; !table->error && i < table->count; i++) {
        struct there *there = &table->there[i];
        if (strcmp(there->name, said->name) == 0 && strcmp(there->kind, said->kind) == 0) {
            there->is_said = true;
            return there;
        }
    }
    if (!said->is_optional)
        mismatch(table, "is described and not there", said->kind, said->name);
    return NULL;
}

static void print_rows(struct table *table, const struct weir__daemon_said *said,
                       void (*print_row)(struct table *table, const struct there *there,
                                         const char *const *texts))
{
    for (; !table->error && said->name; said++) {
        const struct there *there = find_there(table, said);
        const char *const *texts = there ? texts_of(table, said) : NULL;
        if (texts && !table->error)
            print_row(table, there, texts);
    }
}

static void end(struct table *table)
{
    for (size_t i = 0; !table->error && i < table->count; i++)
        if (!table->there[i].is_said)
            mismatch(table, "has no description", table->there[i].kind, table->there[i].name);
    print(table, "<!-- end -->\n\n");
}

/* --- what is there --- */

static void note_crew(struct table *table, struct weir_crew *crew)
{
    struct weir_crew_report report;
    weir_crew_read(crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++) {
        const struct weir_crew_kind *kind = &report.kinds[i];
        uint64_t running = kind->spawned - kind->ended - kind->abandoned - kind->unstarted;
        note(table, weir_crew_name(crew), kind->name, running);
    }
}

static void note_channel(struct table *table, const struct weir__daemon_part *part)
{
    switch (part->kind) {
    case WEIR__PART_QUEUE:
        note(table, "queue", weir_queue_name(part->object), weir_queue_capacity(part->object));
        return;
    case WEIR__PART_BUS:
        note(table, "bus", weir_bus_name(part->object), weir_bus_capacity(part->object));
        return;
    case WEIR__PART_WATCH:
        note(table, "watch", weir_watch_name(part->object), 1);
        return;
    default:
        return;
    }
}

/* Of a breaker and a hedge the number says nothing: what they do is their configuration's. */
static void note_limit(struct table *table, const struct weir__daemon_part *part)
{
    struct weir_rate_stats rate;
    struct weir_admit_stats admit;
    switch (part->kind) {
    case WEIR__PART_BUDGET:
        note(table, "budget", weir_budget_name(part->object), weir_budget_capacity(part->object));
        return;
    case WEIR__PART_RATE:
        weir_rate_read(part->object, &rate);
        note(table, "rate", weir_rate_name(part->object), rate.per_s);
        return;
    case WEIR__PART_ADMIT:
        weir_admit_read(part->object, &admit);
        note(table, "admit", weir_admit_name(part->object), admit.keys_max);
        return;
    case WEIR__PART_BREAKER:
        note(table, "breaker", weir_breaker_name(part->object), 1);
        return;
    case WEIR__PART_HEDGE:
        note(table, "hedge", weir_hedge_name(part->object), 1);
        return;
    default:
        return;
    }
}

/* --- threads --- */

static void print_thread(struct table *table, const struct there *there, const char *const *texts)
{
    print(table, "| %s | `%s` | %llu | %s | %s |\n", there->kind, there->name,
          (unsigned long long)there->number, texts[0], texts[1]);
}

static void print_threads(struct table *table, const struct weir__daemon_service *service,
                          const struct weir__daemon_parts *parts)
{
    begin(table, "threads",
          "| crew | kind | running | how many | what each does |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < parts->count; i++)
        if (parts->items[i].kind == WEIR__PART_CREW)
            note_crew(table, parts->items[i].object);
    print_rows(table, service->thread_texts, print_thread);
    end(table);
}

/* --- channels --- */

static void print_channel(struct table *table, const struct there *there, const char *const *texts)
{
    print(table, "| `%s` | %s | %llu | %s | %s | %s |\n", there->name, there->kind,
          (unsigned long long)there->number, texts[0], texts[1], texts[2]);
}

static void print_channels(struct table *table, const struct weir__daemon_service *service,
                           const struct weir__daemon_parts *parts)
{
    begin(table, "channels",
          "| name | kind | capacity | producers → consumers | when full | counted by |\n"
          "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < parts->count; i++)
        note_channel(table, &parts->items[i]);
    print_rows(table, service->channel_texts, print_channel);
    end(table);
}

/* --- limits --- */

static void print_limit(struct table *table, const struct there *there, const char *const *texts)
{
    print(table, "| `%s` | %s | %llu | %s | %s |\n", there->name, there->kind,
          (unsigned long long)there->number, texts[0], texts[1]);
}

static void print_limits(struct table *table, struct weir__daemon *daemon,
                         const struct weir__daemon_parts *parts)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    begin(table, "limits",
          "| name | kind | limit | of what | beyond it |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < parts->count; i++) {
        const struct weir__daemon_part *part = &parts->items[i];
        if (part->object == &daemon->rps) /* without a limit it has a pace */
            note(table, "rate", weir_rate_name(&daemon->rps), rules->service->server.max_rps);
        else
            note_limit(table, part);
    }
    weir__daemon_rules_give(rules);
    print_rows(table, daemon->service->limit_texts, print_limit);
    end(table);
}

/* --- locks --- */

static void print_lock(struct table *table, const struct there *there, const char *const *texts)
{
    print(table, "| %llu | `%s` | %s |\n", (unsigned long long)there->number, there->name,
          texts[0]);
}

static void print_locks(struct table *table, const struct weir__daemon_service *service)
{
    const struct weir_lock_class *classes[WEIR_LOCK_CLASSES_MAX];
    size_t count = weir_lock_list(classes, WEIR_LOCK_CLASSES_MAX);
    begin(table, "locks", "| rank | name | guards |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        note(table, "lock", classes[i]->name, classes[i]->rank);
    print_rows(table, service->lock_texts, print_lock);
    end(table);
}

/* --- times --- */

static void print_keys(struct table *table, struct weir__daemon *daemon)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    const struct weir__config_schema *schema = weir__config_schema(rules->config);
    const struct weir__config_key *key;
    for (size_t i = 0; !table->error && (key = weir__config_key(schema, i)); i++) {
        if (key->kind != WEIR__CONFIG_KIND_DURATION)
            continue;
        const struct weir__daemon_said *said =
            find_said(daemon->service->key_texts, "key", key->name);
        if (!said)
            mismatch(table, "has no description", "key", key->name);
        const char *const *texts = said ? texts_of(table, said) : NULL;
        note(table, "key", key->name, i);
        print(table, "| `%s` | ", key->name);
        if (!table->error)
            table->error = weir__config_put_value(table->buffer, rules->config, i);
        if (!table->error)
            print(table, " | %s | %s |\n", key->is_live ? "reload" : "restart", texts[0]);
    }
    weir__daemon_rules_give(rules);
}

static void print_times(struct table *table, struct weir__daemon *daemon)
{
    begin(table, "times", "| what | value | changed by | when it is over |\n|---|---|---|---|\n");
    print_keys(table, daemon);
    for (const struct weir__daemon_said *said = daemon->service->key_texts;
         !table->error && said->name; said++)
        (void)find_there(table, said);
    for (const struct weir__daemon_time *time = daemon->service->times; time->name; time++)
        print(table, "| %s | %llu ms | fixed | %s |\n", time->name,
              (unsigned long long)(time->ns / WEIR_NS_PER_MS), time->text);
    end(table);
}

int weir__daemon_topology(struct weir__daemon *daemon, struct weir__buffer *buffer)
{
    struct table table = {.buffer = buffer, .crew = weir_crew_name(daemon->crew)};
    struct weir__daemon_parts parts;
    weir__daemon_list_parts(daemon, &parts);
    print_threads(&table, daemon->service, &parts);
    print_channels(&table, daemon->service, &parts);
    print_limits(&table, daemon, &parts);
    print_locks(&table, daemon->service);
    print_times(&table, daemon);
    return table.error;
}
