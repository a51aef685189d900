/* route.c - what there is at which path, and what is done for its requests. */
#include <string.h>

#include <weir/error.h>

#include "storage_part.h"

#include "banned.h"

#define METHOD(name) WEIR__DAEMON_METHOD(name)
#define READS        WEIR__DAEMON_READS
#define READS_TEXT   "GET, HEAD, OPTIONS"

const struct weir__daemon_route weir__storage_routes[] = {
    {.path = "/o/",
     .is_prefix = true,
     .number = WEIR__ROUTE_OBJECT,
     .methods = READS | METHOD(PUT) | METHOD(DELETE),
     .allow = "GET, HEAD, PUT, DELETE, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_USUAL},
    {.path = "/o",
     .number = WEIR__ROUTE_OBJECTS,
     .methods = METHOD(POST),
     .allow = "POST, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_USUAL},
    {.path = "/f/",
     .is_prefix = true,
     .number = WEIR__ROUTE_FILE,
     .methods = READS,
     .allow = READS_TEXT,
     .scopes = WEIR__DAEMON_SCOPES_USUAL},
    {.path = "/have",
     .number = WEIR__ROUTE_HAVE,
     .methods = METHOD(POST),
     .allow = "POST, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_USUAL},
    {.path = "/inventory",
     .number = WEIR__ROUTE_INVENTORY,
     .methods = READS,
     .allow = READS_TEXT,
     .scopes = WEIR__DAEMON_SCOPES_ALL(WEIR__SCOPE_PEER)},
    {.path = "/admin/scrub",
     .number = WEIR__ROUTE_SCRUB,
     .methods = METHOD(POST),
     .allow = "POST, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_ALL(WEIR__SCOPE_ADMIN)},
    {.path = "/admin/repair",
     .number = WEIR__ROUTE_REPAIR,
     .methods = METHOD(POST),
     .allow = "POST, OPTIONS",
     .scopes = WEIR__DAEMON_SCOPES_ALL(WEIR__SCOPE_ADMIN)},
    {.path = NULL},
};

unsigned weir__storage_endpoint_of(const struct weir__exchange *exchange,
                                   const struct weir__daemon_ask *ask)
{
    (void)ask;
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

/* Where the table of errors speaks of something that is not here. */
const char *weir__storage_reason_of(struct weir__daemon *daemon, int error)
{
    if (error != -WEIR_E_NO_SPACE)
        return NULL;
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    bool is_in_memory = weir__storage_own(rules)->amnesia.is_enabled;
    weir__daemon_rules_give(rules);
    return is_in_memory ? "the memory of amnesia.max_bytes is used up" : NULL;
}

bool weir__storage_tell_failure(const struct weir__exchange *exchange, int error,
                                const struct weir__address *chunk)
{
    char address[WEIR__ADDRESS_TEXT] = "";
    if (chunk)
        weir__address_print(chunk, address);
    return weir__daemon_tell_failure(exchange, error, chunk ? address : NULL,
                                     error == -WEIR_E_INVALID ? "the manifest is wrong there"
                                                              : NULL);
}

/* --- the daemon's calls --- */

static struct weir__ask *of(struct weir__daemon_ask *head)
{
    return (struct weir__ask *)head;
}

void weir__storage_init_ask(struct weir__daemon_ask *head)
{
    of(head)->chunk.fd = -1;
}

bool weir__storage_parse(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                         const char *rest)
{
    if (weir__address_parse(rest, strlen(rest), &of(head)->address) == 0)
        return true;
    weir__daemon_refuse(exchange, -WEIR_E_INVALID, "an address is 'b3:' and 64 digits of 0-9a-f");
    return false;
}

static bool is_upload(const struct weir__exchange *exchange, const struct weir__daemon_ask *head)
{
    return head->way->number == WEIR__ROUTE_OBJECTS ||
           (head->way->number == WEIR__ROUTE_OBJECT &&
            weir__exchange_method(exchange) == WEIR__HTTP_PUT);
}

void weir__storage_begin(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                         const struct weir__daemon_rules *rules)
{
    struct weir__ask *ask = of(head);
    if (head->way->number == WEIR__ROUTE_FILE)
        weir__file_begin(exchange, ask);
    else if (head->way->number == WEIR__ROUTE_OBJECT && weir__daemon_is_read(exchange))
        weir__object_begin(exchange, ask);
    else if (is_upload(exchange, head))
        weir__upload_begin(exchange, ask, rules);
    else
        weir__change_begin(exchange, ask);
}

void weir__storage_whole(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    if (is_upload(exchange, head))
        weir__upload_whole(exchange, of(head));
    else
        weir__change_whole(exchange, of(head));
}

void weir__storage_resume(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    struct weir__ask *ask = of(head);
    if (head->way->number == WEIR__ROUTE_FILE)
        weir__file_resume(exchange, ask);
    else if (is_upload(exchange, head))
        weir__upload_resume(exchange, ask);
    else if (head->way->number == WEIR__ROUTE_OBJECT && weir__daemon_is_read(exchange))
        weir__object_resume(exchange, ask);
    else
        weir__change_resume(exchange, ask);
}

int weir__storage_more(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    return weir__file_more(exchange, of(head));
}

/* Of a chunk whose bytes the loop could not send, nobody has said yet what is wrong with it. */
void weir__storage_broke(struct weir__exchange *exchange, int error, int fd, uint64_t offset)
{
    struct weir__ask *ask = weir__exchange_private(exchange);
    const struct weir__address *chunk = NULL;
    bool is_known = error == -WEIR_E_CORRUPT || error == -WEIR_E_NO_MEMORY;
    bool is_file = ask->head.way && ask->head.way->number == WEIR__ROUTE_FILE;
    bool is_object = ask->head.way && ask->head.way->number == WEIR__ROUTE_OBJECT;
    if (fd >= 0 && is_file)
        chunk = weir__file_chunk_at(ask->file, fd, offset);
    bool is_told = weir__storage_tell_failure(exchange, is_known ? error : -WEIR_E_IO, chunk);
    if (fd >= 0 && is_object)
        chunk = &ask->address;
    /* Who asks for it again and again does not fill the line. */
    if (chunk && is_told)
        weir__repair_suspect(weir__exchange_arg(exchange), chunk);
}

void weir__storage_gone(struct weir__exchange *exchange, struct weir__daemon_ask *head)
{
    struct weir__storage *storage = weir__exchange_arg(exchange);
    struct weir__ask *ask = of(head);
    weir__chunk_release(storage->store, &ask->chunk);
    weir__file_gone(ask);
    weir__quota_give(&ask->hold);
}
