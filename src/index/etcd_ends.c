/* etcd_ends.c - one request to the members of an etcd, one after the other. */
#include "etcd_ends.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

/* A member that works answers in a few milliseconds; an election takes a second or two. */
#define SHARE_MIN_NS (100 * WEIR_NS_PER_MS)

const struct weir_lock_class weir__etcd_ends_class = {"index-etcd", 382};

int weir__etcd_ends_init(struct weir__etcd_ends *ends, const char *const *urls, size_t count,
                         const char *ca_file, const char **ret_why)
{
    memset(ends, 0, sizeof(*ends));
    *ret_why = "there must be 1 to 8 endpoints";
    if (count == 0 || count > WEIR__ETCD_ENDS_MAX)
        return -WEIR_E_INVALID;
    weir_lock_init(&ends->lock, &weir__etcd_ends_class);
    ends->has_lock = true;
    *ret_why = weir_error_text(-WEIR_E_NO_MEMORY);
    ends->base = weir__base_alloc(count, sizeof(*ends->base));
    if (!ends->base)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        int result = weir__source_base(urls[i], ends->base[i], sizeof(ends->base[i]));
        if (result < 0) {
            *ret_why = "an endpoint is not a URL of http or https without a query";
            return result;
        }
    }
    ends->count = count;
    return weir__source_client_new(&ends->client, ca_file, ret_why);
}

void weir__etcd_ends_fini(struct weir__etcd_ends *ends)
{
    weir__http_client_free(ends->client);
    weir__base_free(ends->base);
    if (ends->has_lock)
        weir_lock_fini(&ends->lock);
    memset(ends, 0, sizeof(*ends));
}

size_t weir__etcd_ends_first(struct weir__etcd_ends *ends)
{
    weir_lock_acquire(&ends->lock);
    size_t first = ends->first;
    weir_lock_release(&ends->lock);
    return first;
}

void weir__etcd_ends_move(struct weir__etcd_ends *ends, size_t failed)
{
    weir_lock_acquire(&ends->lock);
    if (ends->first == failed) {
        ends->first = (failed + 1) % ends->count;
        ends->moves++;
    }
    weir_lock_release(&ends->lock);
}

static int call_one(struct weir__etcd_ends *ends, size_t end, const char *path,
                    const struct weir__buffer *body, struct weir__buffer *said,
                    const struct weir_deadline *deadline)
{
    static const struct weir__http_header headers[] = {{"Content-Type", "application/json"}};
    char url[WEIR__SOURCE_URL + 32];
    snprintf(url, sizeof(url), "%s%s", ends->base[end], path);
    struct weir__fetch fetch = {.client = ends->client,
                                .method = WEIR__HTTP_POST,
                                .url = url,
                                .headers = headers,
                                .headers_count = 1,
                                .body = weir__buffer_text(body),
                                .body_length = weir__buffer_length(body)};
    weir__buffer_truncate(said, 0);
    return weir__source_fetch(&fetch, said, deadline);
}

/* Whether another member may say something else. */
static bool is_its_own(int result)
{
    return result == -WEIR_E_CANCELED || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_INVALID ||
           result == -WEIR_E_UNAUTHORIZED || result == -WEIR_E_FORBIDDEN ||
           result == -WEIR_E_TOO_LARGE;
}

int weir__etcd_ends_call(struct weir__etcd_ends *ends, const char *path,
                         const struct weir__buffer *body, struct weir__buffer *said,
                         const struct weir_deadline *deadline)
{
    size_t first = weir__etcd_ends_first(ends);
    int result = -WEIR_E_TRANSIENT;
    for (size_t i = 0; i < ends->count; i++) {
        size_t end = (first + i) % ends->count;
        uint64_t now_ns = weir_now_ns();
        uint64_t left_ns = deadline->at_ns > now_ns ? deadline->at_ns - now_ns : 0;
        uint64_t share_ns = left_ns / (ends->count - i);
        struct weir_deadline until = weir_deadline_min(
            deadline, weir_time_add(now_ns, share_ns > SHARE_MIN_NS ? share_ns : SHARE_MIN_NS));
        result = call_one(ends, end, path, body, said, &until);
        if (result == 0 || is_its_own(result))
            return result;
        weir__etcd_ends_move(ends, end);
        int stop = weir_deadline_check(deadline);
        if (stop < 0)
            return stop;
    }
    return result;
}
