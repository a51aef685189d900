/* etcd_watch.c - listens to what changes in etcd, and goes on where it was.
 *
 *     POST /v3/watch from the next revision --> created --> events, events, ...
 *       ^                                                      |
 *       +-- next member, after a delay if it failed <-----------+
 *
 * next is the revision behind the last event that was told. It is not known at first and after a
 * compaction: then the stream begins at what the member has, and everything may have changed. A
 * member that has less than was told may only be late, so the next one is asked; if that has less
 * as well, the etcd was put back to an earlier state, and its news would not come before it has
 * caught up: next is not known any more.
 *
 * One lock (rank 383) guards the counts; the rest belongs to the thread.
 */
#include <stdio.h>
#include <string.h>

#include <weir/backoff.h>
#include <weir/error.h>

#include "alloc.h"
#include "etcd_ends.h"
#include "etcd_text.h"
#include "locks.h"
#include "source_etcd.h"

#include "banned.h"

#define BEHIND_MOST 2u

const struct weir_lock_class weir__etcd_watch_class = {"index-etcd-watch", 383};

struct weir__etcd_watch {
    struct weir__etcd_ends ends;
    char prefix[WEIR__ETCD_PREFIX_MAX + 1];
    int (*changed)(void *arg, const struct weir__question *question);
    void *arg;
    struct weir__buffer line; /* the one under way */
    uint64_t next;            /* revision; 0: not known */
    bool has_begun;           /* the stream under way was created */
    unsigned behind;          /* streams, one after the other, of members that had less than next */
    struct weir_lock lock;    /* guards the counts */
    struct weir__etcd_watch_stats stats;
};

/* --- a stream --- */

/* What was missed nobody can say. False: who should know could not be told, so that what is heard
 * from here on is not enough. Then it is told by the next stream, which begins after a delay. */
static bool start_over(struct weir__etcd_watch *watch, uint64_t next)
{
    bool is_told = watch->changed(watch->arg, NULL) == 0;
    watch->next = is_told ? next : 0;
    return is_told;
}

static void tell_change(void *arg, const struct weir__question *question)
{
    struct weir__etcd_watch *watch = arg;
    (void)!watch->changed(watch->arg, question);
}

/* Whether the stream that has just begun is of no use, since the member has less than was told. */
static bool is_behind(struct weir__etcd_watch *watch, uint64_t revision)
{
    watch->behind = revision > 0 && revision + 1 < watch->next ? watch->behind + 1 : 0;
    if (watch->behind < BEHIND_MOST)
        return watch->behind > 0;
    watch->behind = 0;
    watch->next = 0;
    return true;
}

static int take_news(struct weir__etcd_watch *watch, const struct weir__etcd_news *news)
{
    bool is_lost = news->is_canceled || news->compacted > 0, is_over = is_lost;
    if (news->is_created) {
        watch->has_begun = true;
        is_over = is_behind(watch, news->revision) || is_lost;
        if (watch->next == 0 && !is_over)
            is_over = !start_over(watch, news->revision + 1);
    }
    if (news->last >= watch->next && !is_over)
        watch->next = news->last + 1;
    if (is_lost)
        watch->next = 0;
    weir_lock_acquire(&watch->lock);
    watch->stats.streams += news->is_created;
    watch->stats.is_connected = watch->has_begun && !is_over;
    watch->stats.events += news->events;
    watch->stats.others += news->others;
    watch->stats.compacted += news->compacted > 0;
    watch->stats.next_revision = watch->next;
    weir_lock_release(&watch->lock);
    return is_over ? -WEIR_E_CLOSED : 0;
}

static int take_line(struct weir__etcd_watch *watch)
{
    struct weir__etcd_news news;
    int result =
        weir__etcd_read_watch(weir__buffer_text(&watch->line), weir__buffer_length(&watch->line),
                              watch->prefix, &news, tell_change, watch);
    weir__buffer_truncate(&watch->line, 0);
    return result < 0 ? result : take_news(watch, &news);
}

static int on_body(void *arg, const char *bytes, size_t length)
{
    struct weir__etcd_watch *watch = arg;
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t count = end ? (size_t)(end - bytes) : length;
        int result = weir__buffer_append(&watch->line, bytes, count);
        if (result == 0 && end && weir__buffer_length(&watch->line) > 0)
            result = take_line(watch);
        if (result == -WEIR_E_OVERFLOW)
            watch->next = 0; /* news that nobody can read are as good as missed */
        if (result < 0)
            return result;
        count += end ? 1 : 0;
        bytes += count;
        length -= count;
    }
    return 0;
}

/* 0: it was silent, and is to be renewed. */
static int listen_once(struct weir__etcd_watch *watch, size_t end,
                       const struct weir_deadline *deadline)
{
    static const struct weir__http_header headers[] = {{"Content-Type", "application/json"}};
    char url[WEIR__SOURCE_URL + 32];
    struct weir__http_outcome outcome;
    struct weir__http_hooks hooks = {.body = on_body, .arg = watch};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    weir__buffer_init(&body, 4096);
    weir__buffer_truncate(&watch->line, 0);
    watch->has_begun = false;
    int result = weir__etcd_put_watch(&body, watch->prefix, watch->next);
    if (result < 0)
        return result;
    snprintf(url, sizeof(url), "%s/v3/watch", watch->ends.base[end]);
    struct weir__http_request request = {.method = WEIR__HTTP_POST,
                                         .url = url,
                                         .headers = headers,
                                         .headers_count = 1,
                                         .body = weir__buffer_text(&body),
                                         .body_length = weir__buffer_length(&body),
                                         .body_max = UINT64_MAX,
                                         .tries_max = 1,
                                         .stall_ns = WEIR__ETCD_FIRST_NS,
                                         .quiet_ns = WEIR__ETCD_RENEW_NS};
    result = weir__http_do(watch->ends.client, &request, &hooks, &outcome, deadline);
    if (result < 0)
        return result;
    return outcome.was_quiet && watch->has_begun ? 0 : -WEIR_E_TRANSIENT;
}

int weir__etcd_watch_main(struct weir_crew_self *self, void *arg)
{
    struct weir__etcd_watch *watch = arg;
    struct weir_deadline until = weir_deadline_until(self->stop);
    struct weir_backoff_options options = {.tries_max = UINT32_MAX};
    struct weir_backoff backoff;
    int result = weir_backoff_init(&backoff, &options);
    while (result == 0 && !weir_cancel_is_fired(self->stop)) {
        size_t end = weir__etcd_ends_first(&watch->ends);
        int ended = listen_once(watch, end, &until);
        weir__etcd_ends_move(&watch->ends, end);
        bool has_begun = watch->has_begun, was_stopped = ended == -WEIR_E_CANCELED;
        weir_lock_acquire(&watch->lock);
        watch->stats.is_connected = false;
        watch->stats.renewed += ended == 0;
        watch->stats.failed += ended < 0 && !was_stopped;
        weir_lock_release(&watch->lock);
        if (has_begun)
            weir_backoff_reset(&backoff);
        if (ended < 0 && !was_stopped && weir_backoff_wait(&backoff, &until) == -WEIR_E_EXHAUSTED)
            weir_backoff_reset(&backoff);
    }
    return result;
}

/* --- life cycle --- */

int weir__etcd_watch_new(struct weir__etcd_watch **ret_watch,
                         const struct weir__source_etcd_options *options,
                         int (*changed)(void *arg, const struct weir__question *question),
                         void *arg, const char **ret_why)
{
    *ret_why = weir__etcd_prefix_check(options->prefix);
    if (*ret_why)
        return -WEIR_E_INVALID;
    struct weir__etcd_watch *watch = weir__base_alloc(1, sizeof(*watch));
    *ret_why = weir_error_text(-WEIR_E_NO_MEMORY);
    if (!watch)
        return -WEIR_E_NO_MEMORY;
    watch->changed = changed;
    watch->arg = arg;
    snprintf(watch->prefix, sizeof(watch->prefix), "%s", options->prefix);
    weir__buffer_init(&watch->line, WEIR__ETCD_LINE_MAX);
    weir_lock_init(&watch->lock, &weir__etcd_watch_class);
    int result = weir__etcd_ends_init(&watch->ends, options->urls, options->urls_count,
                                      options->ca_file, ret_why);
    if (result < 0) {
        weir__etcd_watch_free(watch);
        return result;
    }
    *ret_watch = watch;
    return 0;
}

void weir__etcd_watch_free(struct weir__etcd_watch *watch)
{
    if (!watch)
        return;
    weir__etcd_ends_fini(&watch->ends);
    weir__buffer_fini(&watch->line);
    weir_lock_fini(&watch->lock);
    weir__base_free(watch);
}

void weir__etcd_watch_read(struct weir__etcd_watch *watch, struct weir__etcd_watch_stats *ret_stats)
{
    weir_lock_acquire(&watch->lock);
    *ret_stats = watch->stats;
    weir_lock_release(&watch->lock);
}
