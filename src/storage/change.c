/* change.c - DELETE, and what nodes and administrators ask: /have, /inventory, /admin/. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "json.h"
#include "storage_part.h"

#include "banned.h"

/* A yes renews a chunk's time if that is older than this: it is for days, not for seconds. */
#define RENEW_S         3600u
#define INVENTORY_LIMIT 1000u
#define INVENTORY_MOST  10000u
#define HAVE_BODY_MAX   (1u << 20)
#define TOUCHES_AT_ONCE 256u

/* --- DELETE --- */

static void write_done(struct weir__store_write *write)
{
    struct weir__job *job = write->arg;
    if (write->result == 0)
        weir__repair_forget(weir__job_storage(job), &job->address);
    weir__errand_finish(&job->head, write->result, NULL);
}

static void work_delete(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__store *store = weir__job_storage(job)->store;
    (void)worker;
    uint32_t length, time_s;
    job->write = (struct weir__store_write){
        .action = WEIR__STORE_DELETE, .address = job->address, .done = write_done, .arg = job};
    /* Before the request can be answered with 504: who puts the chunk behind that has it stored
     * behind the deletion. One that was answered already is none. */
    bool is_wanted = weir__errand_begin_reading(&job->head) != NULL;
    if (is_wanted)
        weir__store_announce(store, &job->write);
    weir__errand_end_reading(&job->head);
    if (!is_wanted) {
        weir__errand_finish(&job->head, -WEIR_E_CANCELED, NULL);
        return;
    }
    if (job->fails_there || job->fails_absent) {
        bool is_there = weir__store_find(store, &job->address, &length, &time_s) == 0;
        job->is_unmet = is_there ? job->fails_there : job->fails_absent;
    }
    bool is_unmet = job->is_unmet;
    int error = is_unmet ? 0 : weir__store_submit(store, &job->write);
    if (!is_unmet && !error)
        return; /* the job may be gone */
    weir__store_withdraw(store, &job->write);
    weir__errand_finish(&job->head, error == -WEIR_E_CLOSED ? -WEIR_E_DRAINING : error, NULL);
}

/* --- /have --- */

struct touches {
    struct weir__store *store;
    struct weir_budget gate;
    int error; /* written while a permit is out */
};

struct touch {
    struct weir__store_write write;
    struct touches *touches;
    struct weir_permit permit;
};

static void touch_done(struct weir__store_write *write)
{
    struct touch *touch = write->arg;
    if (write->result < 0 && write->result != -WEIR_E_NOT_FOUND)
        touch->touches->error = write->result;
    weir_permit_release(&touch->permit);
}

/* All that were handed in are done: they use our memory, so nothing else ends this. */
static int touches_wait(struct touches *touches)
{
    struct weir_permit all = WEIR_PERMIT_NONE;
    struct weir_deadline patient = weir_deadline_in(WEIR_CREW_TIME_MAX_NS, NULL);
    int error = weir_budget_acquire(&touches->gate, TOUCHES_AT_ONCE, &all, &patient);
    weir_permit_release(&all);
    return error ? error : touches->error;
}

static int touch_one(struct touches *touches, struct touch *touch,
                     const struct weir__address *address)
{
    *touch = (struct touch){
        .touches = touches,
        .write = {
            .action = WEIR__STORE_TOUCH, .address = *address, .done = touch_done, .arg = touch}};
    int error = weir_budget_try(&touches->gate, 1, &touch->permit);
    if (!error)
        error = weir__store_submit(touches->store, &touch->write);
    if (error)
        weir_permit_release(&touch->permit);
    return error;
}

static int parse_address(const json_t *item, struct weir__address *ret_address)
{
    const char *text = json_string_value(item);
    return text ? weir__address_parse(text, strlen(text), ret_address) : -WEIR_E_INVALID;
}

/* A yes has people throw their own copy away: one that is known to be damaged is none, also if
 * there was no room to write that down; nor is one that may not last. Where more were found than
 * can be remembered, it is read. */
static int vouch(struct weir__storage *storage, struct weir__store_reader *reader,
                 const struct weir__address *address, uint32_t *ret_time_s)
{
    uint32_t length;
    int found = weir__store_vouch(storage->store, address, &length, ret_time_s);
    bool is_none = found > 0 || (!found && weir__repair_has(storage, address));
    if (!found && !is_none && weir__repair_may_have(storage, address))
        is_none = !weir__store_is_settled(storage->store, reader, address);
    return is_none ? -WEIR_E_NOT_FOUND : found;
}

/* Says of each address whether it is there; a yes is for one whose time is new, and lasts. */
static int tell_all(struct weir__job *job, struct weir__store_reader *reader, const json_t *list,
                    struct touches *touches, struct touch *room)
{
    uint32_t now = (uint32_t)weir_wall_s(), time_s;
    size_t used = 0;
    int error = weir__buffer_puts(&job->head.bytes, "{\"have\": [");
    for (size_t i = 0; !error && i < json_array_size(list); i++) {
        struct weir__address address;
        error = parse_address(json_array_get(list, i), &address);
        if (error)
            break;
        int found = vouch(weir__job_storage(job), reader, &address, &time_s);
        if (found && found != -WEIR_E_NOT_FOUND)
            error = found;
        if (!found && time_s + RENEW_S < now) {
            if (used == TOUCHES_AT_ONCE && !(error = touches_wait(touches)))
                used = 0;
            if (!error)
                error = touch_one(touches, &room[used++], &address);
        }
        if (!error)
            error = weir__buffer_printf(&job->head.bytes, "%s%s", i ? ", " : "",
                                        found ? "false" : "true");
    }
    int waited = touches_wait(touches);
    if (!error)
        error = waited;
    return error ? error : weir__buffer_puts(&job->head.bytes, "]}\n");
}

static int have(struct weir__job *job, struct weir__store_reader *reader, const json_t *root)
{
    const json_t *list = json_object_get(root, "addresses");
    struct touches touches = {.store = weir__job_storage(job)->store};
    if (!json_is_array(list) || json_object_size(root) != 1)
        return -WEIR_E_INVALID;
    struct touch *room = weir__base_alloc(TOUCHES_AT_ONCE, sizeof(*room));
    int error =
        room ? weir_budget_init(&touches.gate, "have-touches", TOUCHES_AT_ONCE) : -WEIR_E_NO_MEMORY;
    if (!error) {
        error = tell_all(job, reader, list, &touches, room);
        weir_budget_fini(&touches.gate);
    }
    weir__base_free(room);
    return error;
}

/* The question, in memory of its own: NULL, and why. */
static json_t *load(const struct weir__exchange *exchange, struct weir__worker *worker,
                    int *ret_error, const char **ret_message)
{
    json_error_t problem;
    json_t *root = NULL;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, HAVE_BODY_MAX);
    *ret_error =
        exchange ? weir__daemon_body_unpack(exchange, weir__decoder_of(worker), &body, ret_message)
                 : -WEIR_E_CANCELED;
    if (!*ret_error) {
        root = json_loadb(weir__buffer_text(&body), weir__buffer_length(&body),
                          JSON_REJECT_DUPLICATES, &problem);
        *ret_error = root ? 0 : -WEIR_E_INVALID;
    }
    return root;
}

static void work_have(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    const char *message = NULL;
    int error;
    json_t *root = load(weir__errand_begin_reading(&job->head), worker, &error, &message);
    weir__errand_end_reading(&job->head);
    if (root)
        error = have(job, weir__reader_of(worker), root);
    json_decref(root);
    if (error == -WEIR_E_INVALID && !message)
        message = "the body is {\"addresses\": [\"b3:...\", ...]}";
    weir__errand_finish(&job->head, error, message);
}

/* --- /inventory --- */

struct listing {
    struct weir__job *job;
    const struct weir__address *after;
    uint64_t left;
};

static int list_one(void *arg, const struct weir__address *address, uint32_t length,
                    uint32_t time_s)
{
    struct listing *listing = arg;
    char text[WEIR__ADDRESS_TEXT];
    if (listing->after && weir__address_is_equal(listing->after, address))
        return 0;
    if (listing->left-- == 0)
        return 1;
    weir__address_print(address, text);
    return weir__buffer_printf(&listing->job->head.bytes,
                               "{\"address\": \"%s\", \"length\": %u, \"time\": %u}\n", text,
                               length, time_s);
}

static bool parse_limit(const char *text, uint64_t *ret_limit)
{
    char *end;
    *ret_limit = strtoull(text, &end, 10);
    return *end == '\0' && text[0] >= '0' && text[0] <= '9' && *ret_limit > 0 &&
           *ret_limit <= INVENTORY_MOST;
}

/* "after=b3:...&limit=100", in any order, each once; false for anything else. */
static bool parse_query(const char *query, struct weir__address *after, bool *ret_has_after,
                        uint64_t *ret_limit)
{
    char text[WEIR__ADDRESS_TEXT];
    bool has_limit = false;
    while (*query) {
        size_t length = strcspn(query, "&");
        bool is_after = strncmp(query, "after=", 6) == 0;
        bool *has_it = is_after ? ret_has_after : &has_limit;
        if ((!is_after && strncmp(query, "limit=", 6) != 0) || *has_it ||
            weir__query_decode(text, sizeof(text), query + 6, length - 6))
            return false;
        *has_it = true;
        if (is_after ? weir__address_parse(text, strlen(text), after) != 0
                     : !parse_limit(text, ret_limit))
            return false;
        query += length + (query[length] == '&');
    }
    return true;
}

static void work_inventory(struct weir__errand *errand, struct weir__worker *worker)
{
    struct weir__job *job = weir__job_of(errand);
    struct weir__exchange *exchange = weir__errand_begin_reading(&job->head);
    struct weir__address after;
    struct listing listing = {.job = job, .left = INVENTORY_LIMIT};
    bool has_after = false;
    (void)worker;
    bool is_good =
        exchange && parse_query(weir__exchange_query(exchange), &after, &has_after, &listing.left);
    weir__errand_end_reading(&job->head);
    if (!is_good) {
        weir__errand_finish(&job->head, -WEIR_E_INVALID,
                            "the query is after=ADDRESS&limit=1..10000, each once at most");
        return;
    }
    listing.after = has_after ? &after : NULL;
    int result = weir__store_walk(weir__job_storage(job)->store, listing.after, list_one, &listing);
    weir__errand_finish(&job->head, result < 0 ? result : 0, NULL);
}

/* --- on the loop's thread --- */

static void give(struct weir__exchange *exchange, struct weir_queue *line,
                 void (*work)(struct weir__errand *errand, struct weir__worker *worker))
{
    struct weir__job *job = weir__job_of(weir__errand_new(exchange, work));
    if (job)
        weir__errand_send(&job->head, line);
}

static void accepted(struct weir__exchange *exchange, const char *what)
{
    static const char text[] = "{\"status\": \"accepted\"}\n";
    weir__daemon_event_of(exchange, "admin", NULL, 0, what);
    weir__daemon_answer_begin(exchange, 202);
    weir__reply_header(exchange, "Content-Type", "application/json");
    weir__reply_bytes(exchange, text, sizeof(text) - 1, NULL, NULL);
    weir__reply_send(exchange);
}

void weir__change_begin(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    enum weir__coding coding;
    switch (ask->head.way->number) {
    case WEIR__ROUTE_HAVE:
        if (weir__daemon_body_head(exchange, &coding))
            (void)weir__daemon_body_take(exchange, HAVE_BODY_MAX);
        return;
    case WEIR__ROUTE_INVENTORY:
        give(exchange, &storage->daemon.lines[WEIR__LINE_READS], work_inventory);
        return;
    case WEIR__ROUTE_SCRUB:
        weir__store_scrub_now(storage->store);
        accepted(exchange, "scrub");
        return;
    case WEIR__ROUTE_REPAIR:
        weir__repair_again(storage);
        accepted(exchange, "repair");
        return;
    default:
        break;
    }
    struct weir__job *job = weir__job_of(weir__errand_new(exchange, work_delete));
    if (!job)
        return;
    weir__conditions_note(exchange, &ask->address, job);
    weir__errand_send(&job->head, &storage->daemon.lines[WEIR__LINE_WRITES]);
}

void weir__change_whole(struct weir__exchange *exchange, struct weir__ask *ask)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    (void)ask;
    give(exchange, &storage->daemon.lines[WEIR__LINE_WRITES], work_have);
}

void weir__change_resume(struct weir__exchange *exchange, struct weir__ask *ask)
{
    const struct weir__job *job = weir__job_of(ask->head.job);
    if (weir__conditions_unmet(exchange, job))
        return;
    if (ask->head.way->number == WEIR__ROUTE_OBJECT) {
        char address[WEIR__ADDRESS_TEXT];
        weir__address_print(&ask->address, address);
        weir__daemon_event_of(exchange, "delete", address, job->head.result, NULL);
    }
    if (job->head.result) {
        weir__daemon_refuse(exchange, job->head.result,
                            job->head.result == -WEIR_E_NOT_FOUND ? "there is no such chunk"
                                                                  : job->head.message);
        return;
    }
    if (ask->head.way->number == WEIR__ROUTE_OBJECT) {
        weir__daemon_answer_begin(exchange, 204);
        weir__reply_send(exchange);
        return;
    }
    weir__daemon_answer_begin(exchange, 200);
    weir__reply_header(exchange, "Content-Type",
                       ask->head.way->number == WEIR__ROUTE_HAVE ? "application/json"
                                                                 : "application/x-ndjson");
    weir__reply_header(exchange, "Cache-Control", "no-store");
    weir__reply_bytes(exchange, weir__buffer_text(&job->head.bytes),
                      weir__buffer_length(&job->head.bytes), NULL, NULL);
    weir__reply_send(exchange);
}
