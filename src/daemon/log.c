/* log.c - one line for each request, when that is asked for. */
#include <string.h>

#include "access.h"
#include "daemon_part.h"
#include "log.h"

#include "banned.h"

/* ask: NULL when the server has refused it. */
static void write_line(struct weir__exchange *exchange, const struct weir__daemon_ask *ask,
                       const struct weir__exchange_end *end, enum weir__access_form form)
{
    char client[WEIR__SERVER_ADDRESS_SIZE];
    const char *path = ask ? weir__exchange_path(exchange) : "-";
    struct weir__buffer line;
    struct weir__access access = {
        .time_s = weir_wall_s(),
        .corr_id = weir__exchange_corr_id(exchange),
        .client = client,
        .method = ask ? weir__http_method_name(weir__exchange_method(exchange)) : "-",
        .path = path,
        .path_length = strlen(path),
        .status = end->status,
        .bytes_in = end->bytes_in,
        .bytes_out = end->bytes_out,
        .duration_us = end->took_ns / WEIR_NS_PER_US,
        .token_id = ask && ask->grant.id[0] ? ask->grant.id : NULL,
    };
    weir__address_text(weir__exchange_client(exchange), client);
    weir__buffer_init(&line, WEIR__ACCESS_LINE);
    if (weir__access_put(&line, &access, form) == 0)
        (void)weir__log_courtesy(weir__buffer_text(&line), weir__buffer_length(&line));
    weir__buffer_fini(&line);
}

void weir__daemon_log_refused(struct weir__exchange *exchange, const struct weir__exchange_end *end)
{
    weir__daemon_log_request(exchange, NULL, end);
}

void weir__daemon_log_request(struct weir__exchange *exchange, const struct weir__daemon_ask *ask,
                              const struct weir__exchange_end *end)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(weir__exchange_arg(exchange));
    bool is_wanted = rules->service->log.requests;
    enum weir__access_form form =
        rules->service->log.format == WEIR__LOG_FORM_JSON ? WEIR__ACCESS_JSON : WEIR__ACCESS_TEXT;
    weir__daemon_rules_give(rules);
    if (is_wanted)
        write_line(exchange, ask, end, form);
}
