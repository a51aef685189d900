/* topology.c - what the service is made of, as tables of its page of documentation.
 *
 * Names, numbers and ranks are asked of the objects themselves, and of the configuration in force;
 * what they are for is said here. Each table is made by walking through what is there and then
 * through what is said: one without the other is an error, so that neither can be forgotten.
 */
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "buffer.h"
#include "storage_part.h"

#include "banned.h"

#define PARTS_MAX 16u

/* One row of what is said: about the thing of that kind and name. */
struct said {
    const char *kind, *name;
    const char *text[3];
    bool is_optional; /* it may be missing */
};

/* One thing that is there. */
struct there {
    const char *kind, *name;
    uint64_t number;
};

/* --- what is said --- */

static const struct said thread_texts[] = {
    {"storage",
     "loop",
     {"`server.acceptors`, or one for each core",
      "accepts, reads and writes its connections, judges requests, answers what is in memory"},
     0},
    {"storage",
     "get",
     {"`server.get_workers`, or two for each core and four at least",
      "finds chunks, verifies them, brings them into memory"},
     0},
    {"storage",
     "put",
     {"`server.put_workers`, or one for each core and two at least",
      "unpacks and hashes uploads and hands them to the store; deletes; answers `/have`"},
     0},
    {"storage", "stream", {"two", "the next pieces of answers that have begun"}, 0},
    {"storage", "health", {"one", "`/readyz`, `/metrics`"}, 0},
    {"storage", "clock", {"one", "answers requests whose deadline has passed (504)"}, 0},
    {"storage", "quota", {"one", "writes down how much was stored with each token"}, 0},
    {"storage",
     "repair",
     {"two", "looks for another good record of a damaged chunk; reads what could not be sent"},
     0},
    {"storage",
     "reload",
     {"one", "reads configuration, keys and certificates anew, for the supervisor"},
     0},
    {"storage", "audit", {"one with `audit.enabled`, else none", "writes events down"}, true},
    {"store-writers", "commit", {"one", "writes and syncs all that waits, in batches"}, 0},
    {"store-writers",
     "index",
     {"one", "brings the index up to date, a segment at a time; makes it anew if it broke"},
     0},
    {"store-keepers", "compact", {"one", "moves the living out of segments with many dead"}, 0},
    {"store-keepers", "scrub", {"one", "reads everything at its pace and verifies it"}, 0},
};

static const struct said channel_texts[] = {
    {"queue",
     "work-get",
     {"loop → get", "reject new: 429 with `Retry-After`",
      "`busy_rejections_total{endpoint}`, `queue_dropped_total{queue=\"work\"}`"},
     0},
    {"queue",
     "work-put",
     {"loop → put", "reject new: 429 with `Retry-After`",
      "`busy_rejections_total{endpoint}`, `queue_dropped_total{queue=\"work\"}`"},
     0},
    {"queue",
     "streams",
     {"loop → stream", "never full: a request has one step under way at most",
      "`weir_queue_dropped_total{queue=\"streams\"}`"},
     0},
    {"queue",
     "health",
     {"loop → health", "reject new: 429 with `Retry-After`", "`busy_rejections_total{endpoint}`"},
     0},
    {"queue",
     "repair",
     {"get, put, repair, scrub, compact, loop → repair",
      "skip, and remember it for `POST /admin/repair`: 256 at most",
      "`repair_skipped_total{reason=\"full\"}`, `queue_dropped_total{queue=\"repair\"}`"},
     0},
    {"queue",
     "reloads",
     {"supervisor → reload",
      "nothing more is asked for: the one that waits reads what is there then",
      "`weir_queue_dropped_total{queue=\"reloads\"}`"},
     0},
    {"bus",
     "events",
     {"all → audit", "drop oldest; the subscriber learns how many",
      "`bus_lagged_total{topic=\"events\"}`, and a warning"},
     0},
    {"watch", "shutdown", {"supervisor → health", "last write wins", "none"}, 0},
    {"watch", "config", {"reload → loop, get, put, stream, audit", "last write wins", "none"}, 0},
    {"queue",
     "store-writes",
     {"put, repair, compact, scrub, get → commit",
      "reject new: 429 for a client, later for the rest",
      "`busy_rejections_total{endpoint=\"PUT\"}`"},
     0},
    {"queue",
     "store-tails",
     {"commit → index",
      "commit waits for a permit of `store-tails` first; one place is for a nudge",
      "none: it is never full"},
     0},
    {"watch", "http-limits", {"reload → loop", "last write wins", "none"}, 0},
    {"watch", "http-phase", {"supervisor → loop", "last write wins", "none"}, 0},
    {"watch", "http-progress", {"loop → supervisor", "last write wins", "none"}, 0},
};

static const struct said limit_texts[] = {
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
    {"rate", "repair", {"bytes a second of repairs", "wait"}, 0},
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
    {"budget", "store-pending", {"bytes that wait to be written", "refuse: 429"}, 0},
    {"budget", "store-tails", {"segments that wait for the index", "commit waits"}, 0},
    {"budget", "store-compacting", {"compactions at once", "wait"}, 0},
    {"rate", "store-compact", {"bytes a second that compaction reads", "wait"}, 0},
    {"rate", "store-scrub", {"bytes a second that the scrubber reads", "wait"}, 0},
};

static const struct said lock_texts[] = {
    {"lock",
     "config_snapshot",
     {"since when a reload is under way; the configuration itself is a watch"},
     0},
    {"lock",
     "manifest_index_meta",
     {"the list of jobs, their states, and which request each has"},
     0},
    {"lock", "io_counters", {"the list of chunks that could not be repaired"}, 0},
    {"lock", "quota", {"how much was stored with each token"}, 0},
    {"lock", "http-server", {"numbers of connections, of loops that run, the certificate"}, 0},
    {"lock", "http-mail", {"the mailbox of a loop, and its published counts"}, 0},
    {"lock",
     "store-tails",
     {"tails, who uses the index, states of the store (full, failing, broken)"},
     0},
    {"lock", "store-segments", {"the list of segments, pins, descriptors"}, 0},
    {"lock", "store-hot", {"a stripe of the table of chunks that were read"}, 0},
    {"lock", "store-index-readers", {"idle transactions of LMDB"}, 0},
    {"lock", "store-index-memory", {"the index of a store in memory"}, 0},
    {"lock", "base-mapped", {"that the handler for lost pages is installed once"}, 0},
};

static const struct said key_texts[] = {
    {"key", "drain_deadline", {"from the signal: what is at work is cut, then aborted"}, 0},
    {"key", "read_timeout", {"a head from its first byte, a pause in a body, a handshake: 408"}, 0},
    {"key", "write_timeout", {"an answer without progress: the connection is cut"}, 0},
    {"key", "idle_timeout", {"between two requests: the connection is closed"}, 0},
    {"key", "store.scrub_interval", {"from the end of one walk of the scrubber to the next"}, 0},
};

/* --- walking --- */

struct table {
    struct weir__buffer *buffer;
    const struct said *said;
    size_t said_count;
    bool is_seen[PARTS_MAX];
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

static struct table begin(struct weir__buffer *buffer, int error, const char *name,
                          const struct said *said, size_t count)
{
    struct table table = {.buffer = buffer, .said = said, .said_count = count, .error = error};
    if (count > PARTS_MAX && !error)
        table.error = -WEIR_E_OVERFLOW;
    print(&table, "<!-- generated: %s -->\n", name);
    return table;
}
#define BEGIN(buffer, error, name, texts)                                                          \
    begin(buffer, error, name, texts, sizeof(texts) / sizeof((texts)[0]))

/* What is said about it; NULL, and an error, when nothing is. */
static const struct said *about(struct table *table, const char *kind, const char *name)
{
    for (size_t i = 0; !table->error && i < table->said_count; i++)
        if (strcmp(table->said[i].name, name) == 0 && strcmp(table->said[i].kind, kind) == 0) {
            table->is_seen[i] = true;
            return &table->said[i];
        }
    mismatch(table, "has no description", kind, name);
    return NULL;
}

static int end(struct table *table)
{
    for (size_t i = 0; !table->error && i < table->said_count; i++)
        if (!table->is_seen[i] && !table->said[i].is_optional)
            mismatch(table, "is described and not there", table->said[i].kind, table->said[i].name);
    print(table, "<!-- end -->\n\n");
    return table->error;
}

/* --- threads --- */

static void print_crew(struct table *table, struct weir_crew *crew)
{
    struct weir_crew_report report;
    weir_crew_read(crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++) {
        const struct weir_crew_kind *kind = &report.kinds[i];
        const struct said *said = about(table, weir_crew_name(crew), kind->name);
        uint64_t running = kind->spawned - kind->ended - kind->abandoned - kind->unstarted;
        if (said)
            print(table, "| %s | `%s` | %llu | %s | %s |\n", said->kind, kind->name,
                  (unsigned long long)running, said->text[0], said->text[1]);
    }
}

static int print_threads(struct weir__storage *storage, struct weir__buffer *buffer)
{
    struct weir__store_parts store;
    struct table table = BEGIN(buffer, 0, "threads", thread_texts);
    weir__store_parts(storage->store, &store);
    print(&table, "| crew | kind | running | how many | what each does |\n|---|---|---|---|---|\n");
    print_crew(&table, storage->crew);
    print_crew(&table, store.writers);
    print_crew(&table, store.keepers);
    return end(&table);
}

/* --- channels --- */

static struct there of_queue(struct weir_queue *queue)
{
    return (struct there){"queue", weir_queue_name(queue), weir_queue_capacity(queue)};
}

static struct there of_watch(struct weir_watch *watch)
{
    return (struct there){"watch", weir_watch_name(watch), 1};
}

static size_t find_channels(struct weir__storage *storage, struct there there[PARTS_MAX])
{
    struct weir__store_parts store;
    struct weir__server_parts server;
    size_t count = 0;
    weir__store_parts(storage->store, &store);
    weir__server_parts(storage->server, &server);
    there[count++] = of_queue(&storage->reads);
    there[count++] = of_queue(&storage->writes);
    there[count++] = of_queue(&storage->streams);
    there[count++] = of_queue(&storage->health);
    there[count++] = of_queue(&storage->repairs);
    there[count++] = of_queue(&storage->reloads);
    there[count++] =
        (struct there){"bus", weir_bus_name(&storage->events), weir_bus_capacity(&storage->events)};
    there[count++] = of_watch(&storage->shutdown);
    there[count++] = of_watch(&storage->config);
    there[count++] = of_queue(store.writes);
    there[count++] = of_queue(store.tails);
    there[count++] = of_watch(server.limits);
    there[count++] = of_watch(server.phase);
    there[count++] = of_watch(server.progress);
    return count;
}

static int print_channels(struct weir__storage *storage, struct weir__buffer *buffer, int error)
{
    struct there there[PARTS_MAX];
    size_t count = find_channels(storage, there);
    struct table table = BEGIN(buffer, error, "channels", channel_texts);
    print(&table, "| name | kind | capacity | producers → consumers | when full | counted by |\n"
                  "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct said *said = about(&table, there[i].kind, there[i].name);
        if (said)
            print(&table, "| `%s` | %s | %llu | %s | %s | %s |\n", said->name, said->kind,
                  (unsigned long long)there[i].number, said->text[0], said->text[1], said->text[2]);
    }
    return end(&table);
}

/* --- limits --- */

static struct there of_budget(struct weir_budget *budget)
{
    return (struct there){"budget", weir_budget_name(budget), weir_budget_capacity(budget)};
}

static struct there of_rate(struct weir_rate *rate)
{
    struct weir_rate_stats stats;
    weir_rate_read(rate, &stats);
    return (struct there){"rate", weir_rate_name(rate), stats.per_s};
}

static struct there of_admit(struct weir_admit *admit)
{
    struct weir_admit_stats stats;
    weir_admit_read(admit, &stats);
    return (struct there){"admit", weir_admit_name(admit), stats.keys_max};
}

static size_t find_limits(struct weir__storage *storage, struct there there[PARTS_MAX])
{
    struct weir__store_parts store;
    struct weir__server_parts server;
    size_t count = 0;
    weir__store_parts(storage->store, &store);
    weir__server_parts(storage->server, &server);
    there[count++] = of_budget(&storage->inflight);
    there[count++] = of_budget(&storage->scrapes);
    there[count++] = of_rate(&storage->rps);
    struct weir__rules *rules = weir__storage_rules(storage);
    there[count - 1].number = rules->service->server.max_rps; /* without a limit it has a pace */
    weir__storage_rules_give(rules);
    there[count++] = of_admit(&storage->per_address);
    there[count++] = of_rate(&storage->pacing);
    there[count++] = of_rate(&storage->complaints);
    there[count++] = of_budget(server.bodies);
    there[count++] = of_admit(server.addresses);
    there[count++] = of_admit(server.refused);
    there[count++] = of_budget(store.pending);
    there[count++] = of_budget(store.unindexed);
    there[count++] = of_budget(store.compacting);
    there[count++] = of_rate(store.compact_rate);
    there[count++] = of_rate(store.scrub_rate);
    return count;
}

static int print_limits(struct weir__storage *storage, struct weir__buffer *buffer, int error)
{
    struct there there[PARTS_MAX];
    size_t count = find_limits(storage, there);
    struct table table = BEGIN(buffer, error, "limits", limit_texts);
    print(&table, "| name | kind | limit | of what | beyond it |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct said *said = about(&table, there[i].kind, there[i].name);
        if (said)
            print(&table, "| `%s` | %s | %llu | %s | %s |\n", said->name, said->kind,
                  (unsigned long long)there[i].number, said->text[0], said->text[1]);
    }
    return end(&table);
}

/* --- locks --- */

static int print_locks(struct weir__buffer *buffer, int error)
{
    const struct weir_lock_class *classes[WEIR_LOCK_CLASSES_MAX];
    size_t count = weir_lock_list(classes, WEIR_LOCK_CLASSES_MAX);
    struct table table = BEGIN(buffer, error, "locks", lock_texts);
    print(&table, "| rank | name | guards |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct said *said = about(&table, "lock", classes[i]->name);
        if (said)
            print(&table, "| %u | `%s` | %s |\n", classes[i]->rank, said->name, said->text[0]);
    }
    return end(&table);
}

/* --- times --- */

/* Those that no key changes. */
static void print_fixed(struct table *table)
{
    static const struct {
        const char *name;
        uint64_t ns;
        const char *text;
    } fixed[] = {
        {"a request, without `X-Deadline-Ms`", WEIR__STORAGE_DEADLINE_NS,
         "from its last byte to its answer: 504, whatever the disk does"},
        {"the most that `X-Deadline-Ms` may say", WEIR__STORAGE_DEADLINE_MOST_MS * WEIR_NS_PER_MS,
         "more is refused: 400"},
        {"the clock's look at deadlines", WEIR__STORAGE_TICK_NS, "how late a 504 may be"},
        {"grace of handlers", WEIR__SERVER_GRACE_NS,
         "after connections were cut: loops wait that long for jobs to come back"},
        {"the end of threads", WEIR__STORAGE_THREADS_NS,
         "when the requests have ended: who is still at something is aborted"},
        {"grace of threads", WEIR__STORAGE_GRACE_NS,
         "from abort on: who has not ended then is left behind, and counted"},
        {"closing the store", WEIR__STORAGE_CLOSE_NS,
         "what waits is written; a disk that does not answer is left, and the exit status is 3"},
    };
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        print(table, "| %s | %llu ms | fixed | %s |\n", fixed[i].name,
              (unsigned long long)(fixed[i].ns / WEIR_NS_PER_MS), fixed[i].text);
}

static int print_times(struct weir__storage *storage, struct weir__buffer *buffer, int error)
{
    struct weir__rules *rules = weir__storage_rules(storage);
    const struct weir__config_schema *schema = weir__config_schema(rules->config);
    const struct weir__config_key *key;
    struct table table = BEGIN(buffer, error, "times", key_texts);
    print(&table, "| what | value | changed by | when it is over |\n|---|---|---|---|\n");
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++) {
        if (key->kind != WEIR__CONFIG_KIND_DURATION)
            continue;
        const struct said *said = about(&table, "key", key->name);
        print(&table, "| `%s` | ", key->name);
        if (!table.error)
            table.error = weir__config_put_value(buffer, rules->config, i);
        if (said)
            print(&table, " | %s | %s |\n", key->is_live ? "reload" : "restart", said->text[0]);
    }
    print_fixed(&table);
    weir__storage_rules_give(rules);
    return end(&table);
}

int weir__storage_topology(struct weir__storage *storage, struct weir__buffer *buffer)
{
    int error = print_threads(storage, buffer);
    error = print_channels(storage, buffer, error);
    error = print_limits(storage, buffer, error);
    error = print_locks(buffer, error);
    return print_times(storage, buffer, error);
}
