/* route.c - a request finds its way: by path and method, then through the checks, then to its code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "log.h"
#include "storage_part.h"

#include "banned.h"

#define METHOD(name) (1u << WEIR__HTTP_##name)
#define READS        (METHOD(GET) | METHOD(HEAD))

struct way {
    const char *path;
    bool has_address; /* behind the path */
    enum weir__route route;
    unsigned methods;
    const char *allow; /* the same in words */
};

static const struct way ways[] = {
    {"/o/", true, WEIR__ROUTE_OBJECT, READS | METHOD(PUT) | METHOD(DELETE),
     "GET, HEAD, PUT, DELETE, OPTIONS"},
    {"/o", false, WEIR__ROUTE_OBJECTS, METHOD(POST), "POST, OPTIONS"},
    {"/f/", true, WEIR__ROUTE_FILE, READS, "GET, HEAD, OPTIONS"},
    {"/have", false, WEIR__ROUTE_HAVE, METHOD(POST), "POST, OPTIONS"},
    {"/inventory", false, WEIR__ROUTE_INVENTORY, READS, "GET, HEAD, OPTIONS"},
    {"/admin/scrub", false, WEIR__ROUTE_SCRUB, METHOD(POST), "POST, OPTIONS"},
    {"/admin/repair", false, WEIR__ROUTE_REPAIR, METHOD(POST), "POST, OPTIONS"},
    {"/healthz", false, WEIR__ROUTE_HEALTH, READS, "GET, HEAD, OPTIONS"},
    {"/readyz", false, WEIR__ROUTE_READY, READS, "GET, HEAD, OPTIONS"},
    {"/version", false, WEIR__ROUTE_VERSION, READS, "GET, HEAD, OPTIONS"},
    {"/metrics", false, WEIR__ROUTE_METRICS, READS, "GET, HEAD, OPTIONS"},
};

static struct weir__storage *storage_of(const struct weir__exchange *exchange)
{
    return weir__exchange_arg(exchange);
}

enum weir__endpoint weir__endpoint_of(const struct weir__exchange *exchange)
{
    switch (weir__exchange_method(exchange)) {
    case WEIR__HTTP_GET:
    case WEIR__HTTP_HEAD:
        return WEIR__ENDPOINT_GET;
    case WEIR__HTTP_PUT:
    case WEIR__HTTP_POST:
        return WEIR__ENDPOINT_PUT;
    default:
        return WEIR__ENDPOINT_OTHER;
    }
}

static bool is_in_memory(struct weir__storage *storage)
{
    struct weir__rules *rules = weir__storage_rules(storage);
    bool is_so = rules->own->amnesia.is_enabled;
    weir__storage_rules_give(rules);
    return is_so;
}

/* Where the table of errors speaks of something that is not here. */
static const char *reason_of(struct weir__storage *storage, int error)
{
    return error == -WEIR_E_NO_SPACE && is_in_memory(storage)
               ? "the memory of amnesia.max_bytes is used up"
               : weir_error_text(error);
}

/* What failed here, and is not the client's doing. A loop must not wait for who reads the log. */
bool weir__storage_tell_failure(const struct weir__exchange *exchange, int error,
                                const struct weir__address *chunk)
{
    struct weir__storage *storage = storage_of(exchange);
    char text[WEIR__LOG_LINE_MAX], address[WEIR__ADDRESS_TEXT] = "";
    if (!chunk && error != -WEIR_E_IO && error != -WEIR_E_CORRUPT && error != -WEIR_E_NO_SPACE &&
        error != -WEIR_E_NO_MEMORY && error != -WEIR_E_NO_DESCRIPTORS && error != -WEIR_E_INTERNAL)
        return true;
    if (weir_rate_try(&storage->complaints, 1, WEIR_RATE_HIGH)) {
        weir_counter_add(&storage->counts.untold, 1);
        return false;
    }
    uint64_t untold = weir_counter_value(&storage->counts.untold);
    if (chunk)
        weir__address_print(chunk, address);
    const char *reason =
        error == -WEIR_E_INVALID ? "the manifest is wrong there" : reason_of(storage, error);
    size_t length =
        weir__log_format(text, WEIR__LOG_WARNING,
                         "%s %s failed%s%s: %s (request %s; %llu others were not told so far)",
                         weir__http_method_name(weir__exchange_method(exchange)),
                         weir__exchange_path(exchange), chunk ? " at " : "", address, reason,
                         weir__exchange_corr_id(exchange), (unsigned long long)untold);
    weir__log_courtesy(text, length);
    return true;
}

void weir__storage_refuse(struct weir__exchange *exchange, int error, const char *message)
{
    struct weir__storage *storage = storage_of(exchange);
    unsigned retry_s = weir_error_is_retryable(error) ? 1 : 0;
    (void)weir__storage_tell_failure(exchange, error, NULL);
    if (!message)
        message = reason_of(storage, error);
    if (error == -WEIR_E_BUSY)
        weir_counter_add(&storage->counts.busy[weir__endpoint_of(exchange)], 1);
    if (error == -WEIR_E_UNAUTHORIZED) {
        weir__answer_begin(exchange, 401);
        weir__reply_header(exchange, "WWW-Authenticate", "Bearer");
        weir__reply_error_as(exchange, 401, error, message, 0);
        return;
    }
    weir__answer_begin(exchange, (unsigned)weir_error_http(error));
    weir__reply_error_as(exchange, (unsigned)weir_error_http(error), error, message, retry_s);
}

/* --- finding the way --- */

static const struct way *find_way(const char *path)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        size_t length = strlen(ways[i].path);
        if (ways[i].has_address ? strncmp(path, ways[i].path, length) == 0
                                : strcmp(path, ways[i].path) == 0)
            return &ways[i];
    }
    return NULL;
}

static bool is_about_health(enum weir__route route)
{
    return route >= WEIR__ROUTE_HEALTH;
}

/* X-Deadline-Ms: how long the client waits. */
static bool set_deadline(struct weir__exchange *exchange)
{
    const char *text = weir__exchange_header(exchange, "X-Deadline-Ms");
    uint64_t arrived = weir__exchange_arrived_ns(exchange), ms = 0;
    if (!text) {
        weir__exchange_set_deadline(exchange, weir_time_add(arrived, WEIR__STORAGE_DEADLINE_NS));
        return true;
    }
    for (const char *at = text; *at && ms <= WEIR__STORAGE_DEADLINE_MOST_MS; at++) {
        if (*at < '0' || *at > '9')
            return false;
        ms = 10 * ms + (uint64_t)(*at - '0');
    }
    if (ms == 0 || ms > WEIR__STORAGE_DEADLINE_MOST_MS)
        return false;
    weir__exchange_set_deadline(exchange, weir_time_add(arrived, ms * WEIR_NS_PER_MS));
    weir__exchange_set_end(exchange, weir_time_add(arrived, ms * WEIR_NS_PER_MS));
    return true;
}

/* What may be done there; a browser asks before a page of another origin may. */
static void answer_options(struct weir__exchange *exchange, const struct way *way)
{
    struct weir__storage *storage = storage_of(exchange);
    struct weir__rules *rules = weir__storage_rules(storage);
    if (weir__access_allows_question(storage, exchange, rules)) {
        weir__answer_begin(exchange, 204);
        weir__reply_header(exchange, "Allow", way->allow);
        if (weir__exchange_header(exchange, "Origin")) {
            weir__reply_header(exchange, "Access-Control-Allow-Methods", way->allow);
            weir__reply_header(exchange, "Access-Control-Allow-Headers",
                               "Authorization, Content-Encoding, Content-Type, If-Match, "
                               "If-None-Match, If-Range, Range, X-Corr-ID, X-Deadline-Ms");
            weir__reply_header(exchange, "Access-Control-Max-Age", "600");
        }
        weir__reply_send(exchange);
    }
    weir__storage_rules_give(rules);
}

/* What may come once, and would mean one thing to us and another to who passed it on. */
static const char *find_twice(const struct weir__exchange *exchange)
{
    static const char *const names[] = {"Authorization", "If-Range", "Origin", "Range",
                                        "X-Deadline-Ms"};
    unsigned seen = 0;
    struct weir__http_header header;
    for (size_t i = 0; weir__exchange_header_at(exchange, i, &header); i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strcasecmp(header.name, names[k]) != 0)
                continue;
            if (seen & 1u << k)
                return names[k];
            seen |= 1u << k;
        }
    return NULL;
}

/* Where the request leads, or an answer that says why nowhere. */
static bool take_way(struct weir__exchange *exchange, struct weir__ask *ask)
{
    const char *path = weir__exchange_path(exchange);
    const struct way *way = find_way(path);
    if (!way) {
        weir__storage_refuse(exchange, -WEIR_E_NOT_FOUND, "there is nothing at this path");
        return false;
    }
    ask->route = way->route;
    if (weir__exchange_method(exchange) == WEIR__HTTP_OPTIONS) {
        answer_options(exchange, way);
        return false;
    }
    if (!(way->methods & 1u << weir__exchange_method(exchange))) {
        weir__answer_begin(exchange, 405);
        weir__reply_header(exchange, "Allow", way->allow);
        weir__reply_error_as(exchange, 405, -WEIR_E_INVALID, "this path has other methods", 0);
        return false;
    }
    const char *address = path + strlen(way->path);
    if (way->has_address && weir__address_parse(address, strlen(address), &ask->address)) {
        weir__storage_refuse(exchange, -WEIR_E_INVALID,
                             "an address is 'b3:' and 64 digits of 0-9a-f");
        return false;
    }
    const char *twice = find_twice(exchange);
    if (twice) {
        char message[64];
        snprintf(message, sizeof(message), "%s came twice", twice);
        weir__storage_refuse(exchange, -WEIR_E_INVALID, message);
        return false;
    }
    if (!set_deadline(exchange)) {
        weir__storage_refuse(exchange, -WEIR_E_INVALID, "X-Deadline-Ms has 1 to 600000");
        return false;
    }
    return true;
}

/* --- the server's calls --- */

static void begin(struct weir__exchange *exchange)
{
    struct weir__storage *storage = storage_of(exchange);
    struct weir__ask *ask = weir__exchange_private(exchange);
    ask->chunk.fd = -1;
    if (!take_way(exchange, ask))
        return;
    if (is_about_health(ask->route)) {
        if (ask->route != WEIR__ROUTE_METRICS || weir__access_allows_metrics(storage, exchange))
            weir__health_begin(exchange, ask);
        return;
    }
    if (weir__exchange_is_draining(exchange)) {
        weir__storage_refuse(exchange, -WEIR_E_DRAINING, NULL);
        return;
    }
    struct weir__rules *rules = weir__storage_rules(storage);
    if (weir__access_allows(storage, exchange, rules)) {
        bool is_read = weir__endpoint_of(exchange) == WEIR__ENDPOINT_GET;
        if (ask->route == WEIR__ROUTE_FILE)
            weir__file_begin(exchange, ask);
        else if (ask->route == WEIR__ROUTE_OBJECT && is_read)
            weir__object_begin(exchange, ask);
        else if (weir__exchange_method(exchange) == WEIR__HTTP_PUT ||
                 ask->route == WEIR__ROUTE_OBJECTS)
            weir__upload_begin(exchange, ask, rules);
        else
            weir__change_begin(exchange, ask);
    }
    weir__storage_rules_give(rules);
}

static bool is_upload(const struct weir__exchange *exchange, const struct weir__ask *ask)
{
    return ask->route == WEIR__ROUTE_OBJECTS ||
           (ask->route == WEIR__ROUTE_OBJECT && weir__exchange_method(exchange) == WEIR__HTTP_PUT);
}

static void whole(struct weir__exchange *exchange)
{
    struct weir__ask *ask = weir__exchange_private(exchange);
    /* A body that comes at a good pace may take longer than its request. */
    if (weir__exchange_end_ns(exchange) == WEIR_NEVER)
        weir__exchange_set_deadline(exchange,
                                    weir_time_add(weir_now_ns(), WEIR__STORAGE_DEADLINE_NS));
    if (!weir__access_enters(storage_of(exchange), exchange))
        return;
    if (is_upload(exchange, ask))
        weir__upload_whole(exchange, ask);
    else
        weir__change_whole(exchange, ask);
}

static void resume(struct weir__exchange *exchange)
{
    struct weir__ask *ask = weir__exchange_private(exchange);
    if (is_about_health(ask->route))
        weir__health_resume(exchange, ask);
    else if (ask->route == WEIR__ROUTE_FILE)
        weir__file_resume(exchange, ask);
    else if (is_upload(exchange, ask))
        weir__upload_resume(exchange, ask);
    else if (ask->route == WEIR__ROUTE_OBJECT && weir__endpoint_of(exchange) == WEIR__ENDPOINT_GET)
        weir__object_resume(exchange, ask);
    else
        weir__change_resume(exchange, ask);
}

static int more(struct weir__exchange *exchange)
{
    struct weir__ask *ask = weir__exchange_private(exchange);
    weir__errand_take_back(ask);
    return weir__file_more(exchange, ask);
}

/* Of a chunk whose bytes the loop could not send, nobody has said yet what is wrong with it. */
static void broke(struct weir__exchange *exchange, int error, int fd, uint64_t offset)
{
    struct weir__ask *ask = weir__exchange_private(exchange);
    const struct weir__address *chunk = NULL;
    bool is_known = error == -WEIR_E_CORRUPT || error == -WEIR_E_NO_MEMORY;
    if (fd >= 0 && ask->route == WEIR__ROUTE_FILE)
        chunk = weir__file_chunk_at(ask->file, fd, offset);
    bool is_told = weir__storage_tell_failure(exchange, is_known ? error : -WEIR_E_IO, chunk);
    if (fd >= 0 && ask->route == WEIR__ROUTE_OBJECT)
        chunk = &ask->address;
    /* Who asks for it again and again does not fill the line. */
    if (chunk && is_told)
        weir__repair_suspect(storage_of(exchange), chunk);
}

static void gone(struct weir__exchange *exchange, const struct weir__exchange_end *end)
{
    struct weir__storage *storage = storage_of(exchange);
    struct weir__ask *ask = weir__exchange_private(exchange);
    if (end->status != 0 && ask->is_admitted)
        weir_histogram_observe(&storage->counts.latency[weir__endpoint_of(exchange)], end->took_ns);
    weir__storage_log_request(exchange, ask, end);
    weir__errand_take_back(ask);
    weir__chunk_release(storage->store, &ask->chunk);
    weir__file_gone(ask);
    weir__errand_leave(ask->job);
    ask->job = NULL;
    weir__quota_give(&ask->hold);
    weir_admit_release(&ask->ticket);
    weir_permit_release(&ask->inflight);
}

/* Health is told also to whom there is no room for. */
static bool is_urgent(const struct weir__exchange *exchange)
{
    const struct way *way = find_way(weir__exchange_path(exchange));
    return way && is_about_health(way->route);
}

const struct weir__handler weir__storage_handler = {
    .is_urgent = is_urgent,
    .begin = begin,
    .whole = whole,
    .resume = resume,
    .more = more,
    .warm = weir__object_warm,
    .broke = broke,
    .gone = gone,
    .refused = weir__storage_log_refused,
};
