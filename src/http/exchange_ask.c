/* exchange_ask.c - what handlers ask of a request, and how they give it back. */
#include <string.h>
#include <strings.h>

#include "server_part.h"

#include "banned.h"

void *weir__exchange_arg(const struct weir__exchange *x)
{
    return x->server->options.arg;
}

void *weir__exchange_private(struct weir__exchange *x)
{
    return x->private_block;
}

enum weir__http_method weir__exchange_method(const struct weir__exchange *x)
{
    return x->head.method;
}

const char *weir__exchange_path(const struct weir__exchange *x)
{
    return x->input + x->head.path;
}

const char *weir__exchange_query(const struct weir__exchange *x)
{
    return x->input + x->head.query;
}

const char *weir__exchange_host(const struct weir__exchange *x)
{
    return x->head.host == WEIR__HEAD_NONE ? "" : x->input + x->head.host;
}

const char *weir__exchange_header(const struct weir__exchange *x, const char *name)
{
    uint16_t number = weir__head_find(&x->head, x->input, name);
    return number == WEIR__HEAD_NONE ? NULL : x->input + x->head.fields[number].value;
}

const char *weir__exchange_list(const struct weir__exchange *x, const char *name,
                                char room[WEIR__SERVER_LIST_SIZE])
{
    static const char broken[] = "?";
    const char *first = weir__exchange_header(x, name);
    struct weir__http_header header;
    size_t used = 0, count = 0;
    for (size_t i = 0; first && weir__exchange_header_at(x, i, &header); i++) {
        if (strcasecmp(header.name, name) != 0)
            continue;
        size_t length = strlen(header.value), glue = count++ > 0 ? 2 : 0;
        if (length + glue + 1 > WEIR__SERVER_LIST_SIZE - used)
            return count == 1 ? first : broken;
        memcpy(room + used, ", ", glue);
        memcpy(room + used + glue, header.value, length + 1);
        used += glue + length;
    }
    return count > 1 ? room : first;
}

bool weir__exchange_header_at(const struct weir__exchange *x, size_t n,
                              struct weir__http_header *ret_header)
{
    if (n >= x->head.count)
        return false;
    ret_header->name = x->input + x->head.fields[n].name;
    ret_header->value = x->input + x->head.fields[n].value;
    return true;
}

const char *weir__exchange_corr_id(const struct weir__exchange *x)
{
    return x->corr_id;
}

bool weir__exchange_is_http10(const struct weir__exchange *x)
{
    return x->head.is_http10;
}

uint64_t weir__exchange_body_length(const struct weir__exchange *x)
{
    return x->head.body_length;
}

bool weir__exchange_has_length(const struct weir__exchange *x)
{
    return x->head.has_length;
}

const void *weir__exchange_body(const struct weir__exchange *x, size_t *ret_length)
{
    *ret_length = x->body_length;
    return x->body ? x->body : "";
}

const struct sockaddr_storage *weir__exchange_peer(const struct weir__exchange *x)
{
    return &x->conn->peer;
}

const struct sockaddr_storage *weir__exchange_client(const struct weir__exchange *x)
{
    return x->has_client ? &x->client : &x->conn->peer;
}

bool weir__exchange_is_tls(const struct weir__exchange *x)
{
    return x->conn->is_tls;
}

bool weir__exchange_is_draining(const struct weir__exchange *x)
{
    return x->conn->loop->is_draining;
}

unsigned weir__exchange_listener(const struct weir__exchange *x)
{
    return x->conn->listener;
}

uint64_t weir__exchange_connection(const struct weir__exchange *x)
{
    return x->conn->id;
}

uint64_t weir__exchange_arrived_ns(const struct weir__exchange *x)
{
    return x->arrived_ns;
}

void weir__exchange_set_end(struct weir__exchange *x, uint64_t at_ns)
{
    x->end_ns = at_ns;
}

uint64_t weir__exchange_end_ns(const struct weir__exchange *x)
{
    return x->end_ns;
}

bool weir__exchange_is_answered(const struct weir__exchange *x)
{
    return x->is_sent;
}

void weir__exchange_cut(struct weir__exchange *x)
{
    x->is_cut = true;
}

void weir__exchange_set_deadline(struct weir__exchange *x, uint64_t at_ns)
{
    x->deadline_ns = at_ns;
}

struct weir_deadline weir__exchange_deadline(struct weir__exchange *x)
{
    struct weir_deadline deadline = {x->deadline_ns, &x->token};
    if (!x->has_token) {
        weir_cancel_init(&x->token, NULL);
        x->has_token = true;
        if (x->is_gone)
            weir_cancel_fire(&x->token);
    }
    return deadline;
}

bool weir__exchange_is_gone(const struct weir__exchange *x)
{
    return x->is_gone;
}

void weir__exchange_call(struct weir__exchange *x,
                         void (*fn)(struct weir__exchange *exchange, void *arg), void *arg)
{
    struct weir__server_loop *loop = x->conn->loop;
    bool wakes = false;
    weir_lock_acquire(&loop->lock);
    if (!x->is_posted) {
        x->is_posted = true;
        x->call = fn;
        x->call_arg = arg;
        x->mail_next = NULL;
        *loop->mail_end = x;
        loop->mail_end = &x->mail_next;
        wakes = loop->is_asleep;
        loop->is_asleep = false;
    }
    weir_lock_release(&loop->lock);
    if (wakes)
        weir__loop_wake(loop);
}

void weir__exchange_post(struct weir__exchange *x)
{
    weir__exchange_call(x, NULL, NULL);
}
