/* exchange_life.c - exchanges come and go with requests: some are kept for the next one. */
#include "alloc.h"
#include "server_part.h"

#include "banned.h"

void weir__exchange_reset(struct weir__exchange *x, struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    weir__head_init(&x->head, &loop->head_limits);
    x->conn = conn;
    x->arrived_ns = loop->now_ns;
    x->corr_id[0] = '\0';
    x->chunks = (struct weir__chunks){0};
    x->bytes_in = x->sent = x->queued = 0;
    x->deadline_ns = x->end_ns = WEIR_NEVER;
    x->has_token = x->has_client = x->is_begun = x->takes_body = x->is_held = x->is_gone = false;
    x->is_sent = x->is_cut = x->has_wanted = x->closes = x->streams = x->is_chunked = x->is_bare =
        false;
    x->call = NULL;
    x->status = 0;
    x->reply_error = 0;
    x->length = UINT64_MAX;
    x->out_length = x->out_sent = x->tail_length = x->tail_sent = x->small_length = 0;
    x->tail = "";
    x->pieces_count = x->pieces_first = 0;
}

struct weir__exchange *weir__exchange_take(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    struct weir__exchange *x = loop->spare;
    if (x) {
        loop->spare = x->spare_next;
        loop->spare_count--;
    } else {
        x = weir__base_alloc(1, sizeof(*x) + loop->server->options.private_size);
        if (!x)
            return NULL;
        x->server = loop->server;
        x->pieces = x->few;
        x->pieces_size = WEIR__CONN_PIECES;
        x->input = x->first;
        x->input_size = sizeof(x->first);
    }
    x->input_length = 0;
    weir__exchange_reset(x, conn);
    conn->exchange = x;
    return x;
}

void weir__exchange_free(struct weir__exchange *x)
{
    if (x->input != x->first)
        weir__base_free(x->input);
    if (x->pieces != x->few)
        weir__base_free(x->pieces);
    weir__base_free(x);
}

void weir__exchange_give(struct weir__conn *conn)
{
    struct weir__server_loop *loop = conn->loop;
    struct weir__exchange *x = conn->exchange;
    conn->exchange = NULL;
    if (loop->spare_count >= WEIR__LOOP_SPARE || x->input != x->first || x->pieces != x->few) {
        weir__exchange_free(x);
        return;
    }
    x->spare_next = loop->spare;
    loop->spare = x;
    loop->spare_count++;
}
