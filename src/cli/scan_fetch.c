/* scan_fetch.c - a fetch from its URL to its pipe.
 *
 *     thread of the scan                     thread of the fetch
 *     open: pipe, thread, wait for the head  asks; the head comes, or nothing does: says so
 *     reads the pipe                         writes each piece of the body into the pipe
 *     end of the pipe                        closes the pipe, ends
 *     close: joins, looks at what came of it
 *
 * Who stops reading early fires the fetch's token; the run's own token fires it, too. A writer that
 * waits for the reader wakes when the other end is closed.
 */
#include "scan_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/crew.h>
#include <weir/error.h>
#include <weir/queue.h>

#include "alloc.h"
#include "client.h"
#include "cover.h"
#include "hash.h"
#include "log.h"
#include "sys.h"
#include "url.h"

#include "banned.h"

#define OBJECT_PREFIX "b3:"
#define OBJECT_LENGTH (sizeof(OBJECT_PREFIX) - 1 + 2 * WEIR__HASH_SIZE)

struct weir__scan_web {
    struct weir__scan_web_options options;
    struct weir__scan_fetcher fetcher;
    struct weir__http_client *client;
    struct weir_lock lock; /* guards open */
    uint64_t open;         /* fetches under way */
};

struct fetch {
    struct weir__scan_web *web;
    struct weir__buffer url;
    struct weir_crew *crew;
    struct weir_cancel cancel;
    struct weir_cancel_hook stop_hook;
    struct weir_queue heads; /* one item, when it is known whether bytes will come */
    bool has_heads;
    int in, out;        /* the pipe: read there, written here */
    const char *object; /* its address; NULL: a URL */
    struct weir__hash hash;
    /* The thread's until it has ended: */
    bool has_head;
    unsigned refused; /* the status that was not 200; 0: none */
    int result;
    struct weir__http_outcome outcome;
};

static const struct weir_lock_class web_class = {"scan-web", 640};

/* --- paths --- */

static bool is_object(const char *path)
{
    return strncmp(path, OBJECT_PREFIX, strlen(OBJECT_PREFIX)) == 0;
}

static bool is_address(const char *path)
{
    size_t digits = strspn(path + strlen(OBJECT_PREFIX), "0123456789abcdef");
    return digits == 2 * WEIR__HASH_SIZE && path[OBJECT_LENGTH] == '\0';
}

static bool is_mine(void *arg, const char *path)
{
    (void)arg;
    return weir__url_is_one(path) || is_object(path);
}

static int show(void *arg, const char *path, struct weir__buffer *name)
{
    (void)arg;
    return is_object(path) ? weir__buffer_puts(name, path) : weir__url_show(path, name);
}

static int refuse_url(const char *what, const char *url, const char *why)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer shown;
    weir__buffer_init(&shown, 4u * WEIR__URL_MAX);
    if (weir__url_show(url, &shown) < 0)
        weir__buffer_truncate(&shown, 0);
    weir__log(WEIR__LOG_ERROR, "%s '%s' cannot be used: it %s", what,
              WEIR__TYPED(weir__buffer_text(&shown)), why);
    return -WEIR_E_USAGE;
}

static int check_object(const char *path, const char *store)
{
    if (!is_address(path)) {
        weir__log(WEIR__LOG_ERROR,
                  "'%s' is not an address: that is '" OBJECT_PREFIX
                  "' and 64 digits 0 to 9 and a to f; for a file of that name write './%s'",
                  WEIR__TYPED(path), WEIR__TYPED(path));
        return -WEIR_E_USAGE;
    }
    if (store)
        return 0;
    weir__log(WEIR__LOG_ERROR,
              "'%s' is in a store: say in which one by '--store=URL' or WEIR_STORE",
              WEIR__CLIPPED(path));
    return -WEIR_E_USAGE;
}

static int check_store(const char *store)
{
    struct weir__url url;
    const char *why;
    if (weir__url_parse(&url, store, &why) < 0)
        return refuse_url("the store", store, why);
    if (strpbrk(store, "?#"))
        return refuse_url("the store", store, "has a query or a fragment");
    return 0;
}

static int check_paths(const struct weir__scan_web_options *options, size_t *ret_count)
{
    int result = 0;
    size_t count = 0, objects = 0;
    for (size_t i = 0; i < options->paths_count && result == 0; i++) {
        const char *path = options->paths[i], *why;
        struct weir__url url;
        if (!is_mine(NULL, path))
            continue;
        count++;
        objects += is_object(path);
        if (is_object(path))
            result = check_object(path, options->store);
        else if (weir__url_parse(&url, path, &why) < 0)
            result = refuse_url("the URL", path, why);
    }
    if (result == 0 && objects > 0)
        result = check_store(options->store);
    *ret_count = count;
    return result;
}

/* --- the thread of a fetch --- */

static void tell_head(struct fetch *f, bool has_head)
{
    f->has_head = has_head;
    (void)!weir_queue_try_send(&f->heads, &has_head); /* there is room: it is told once */
}

static int on_head(void *arg, const struct weir__http_head *head)
{
    struct fetch *f = arg;
    if (head->status != 200) {
        f->refused = head->status;
        int error = weir__http_status_error(head->status);
        return error < 0 ? error : -WEIR_E_UNSUPPORTED;
    }
    tell_head(f, true);
    return 0;
}

static int on_body(void *arg, const char *bytes, size_t length)
{
    struct fetch *f = arg;
    if (f->object)
        weir__hash_update(&f->hash, bytes, length);
    for (size_t at = 0; at < length;) {
        ssize_t n = weir__sys_write(f->out, bytes + at, length - at);
        if (n < 0)
            return errno == EPIPE ? -WEIR_E_CANCELED : weir_error_from_errno(errno);
        at += (size_t)n;
    }
    return 0;
}

static int fetch_main(struct weir_crew_self *self, void *arg)
{
    (void)self; /* its own token ends it */
    struct fetch *f = arg;
    struct weir_deadline deadline = weir_deadline_in(f->web->options.timeout_ns, &f->cancel);
    struct weir__http_request request = {
        .method = WEIR__HTTP_GET,
        .url = weir__buffer_text(&f->url),
        .body_max = f->web->options.bytes_max,
        .follows = true,
        .accepts_encoded = true,
    };
    struct weir__http_hooks hooks = {.head = on_head, .body = on_body, .arg = f};
    f->result = weir__http_do(f->web->client, &request, &hooks, &f->outcome, &deadline);
    weir__sys_close_at(&f->out);
    if (!f->has_head)
        tell_head(f, false);
    return 0;
}

/* --- a fetch --- */

static void fire(void *arg)
{
    struct fetch *f = arg;
    weir_cancel_fire(&f->cancel);
}

static int make_url(struct fetch *f, const char *path)
{
    weir__buffer_init(&f->url, 2u * WEIR__URL_MAX);
    if (!is_object(path))
        return weir__buffer_puts(&f->url, path);
    const char *store = f->web->options.store;
    size_t length = strlen(store);
    while (length > 0 && store[length - 1] == '/')
        length--;
    f->object = path;
    weir__hash_init(&f->hash);
    int result = weir__buffer_append(&f->url, store, length);
    return result < 0 ? result : weir__buffer_printf(&f->url, "/o/%s", path);
}

static int make_pipe(struct fetch *f)
{
    int fds[2];
    if (weir__sys_pipe(fds) < 0)
        return weir_error_from_errno(errno);
    f->in = fds[0];
    f->out = fds[1];
    return 0;
}

static int fetch_init(struct fetch *f, const char *path)
{
    struct weir_queue_options heads = {.item_size = sizeof(bool), .capacity = 1};
    struct weir_crew_options crew = {.threads_max = 1};
    f->in = f->out = -1;
    weir_cancel_init(&f->cancel, NULL);
    int result = make_url(f, path);
    if (result == 0) {
        result = weir_queue_init(&f->heads, "fetch-heads", &heads);
        f->has_heads = result == 0;
    }
    if (result == 0)
        result = make_pipe(f);
    return result < 0 ? result : weir_crew_new(&f->crew, "fetch", &crew);
}

/* True when the thread is gone. */
static bool fetch_join(struct fetch *f)
{
    struct weir_crew_report report;
    uint64_t abandoned = 0;
    if (!f->crew)
        return true;
    weir_crew_drain(f->crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        abandoned += report.kinds[i].abandoned;
    return abandoned == 0;
}

/* Ends it, and frees it unless its thread is left behind with it. True: its result is known. */
static bool fetch_end(struct fetch *f)
{
    weir_cancel_off(&f->stop_hook);
    weir__sys_close_at(&f->in);
    return fetch_join(f);
}

static void fetch_free(struct fetch *f)
{
    struct weir__scan_web *web = f->web;
    weir__sys_close(f->out);
    weir_crew_free(f->crew);
    if (f->has_heads) {
        weir_queue_drain(&f->heads, NULL, NULL);
        weir_queue_fini(&f->heads);
    }
    weir_cancel_fini(&f->cancel);
    weir__buffer_fini(&f->url);
    weir__base_free(f);
    weir_lock_acquire(&web->lock);
    web->open--;
    weir_lock_release(&web->lock);
}

/* --- what came of it --- */

static int explain(struct weir__scan_fetch *fetch, int error, const char *why, const char *cure)
{
    snprintf(fetch->why, sizeof(fetch->why), "%s%s", why, cure);
    return error;
}

static int judge_hash(const struct fetch *f, struct weir__scan_fetch *fetch)
{
    unsigned char digest[WEIR__HASH_SIZE];
    char address[OBJECT_LENGTH + 1] = OBJECT_PREFIX;
    weir__hash_final(&f->hash, digest);
    for (size_t i = 0; i < WEIR__HASH_SIZE; i++)
        snprintf(address + strlen(OBJECT_PREFIX) + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(address, f->object) == 0)
        return 0;
    fetch->what = "cannot verify";
    snprintf(fetch->why, sizeof(fetch->why),
             "the store gave other bytes, which were scanned and whose address is %s", address);
    return -WEIR_E_MISMATCH;
}

static int judge(const struct fetch *f, struct weir__scan_fetch *fetch)
{
    const char *problem = f->outcome.problem;
    if (f->result == 0)
        return f->object ? judge_hash(f, fetch) : 0;
    if (f->has_head) {
        fetch->what = "cannot fetch all of";
        fetch->is_partial = true;
    }
    if (f->refused) {
        snprintf(fetch->why, sizeof(fetch->why), "the %s answers with status %u",
                 f->object ? "store" : "server", f->refused);
        return f->result;
    }
    if (f->result == -WEIR_E_TIMEOUT && (f->has_head || f->outcome.status == 0))
        return explain(fetch, f->result,
                       f->has_head ? "the time was over" : "no answer came in time",
                       "; see --fetch-timeout");
    if (f->result == -WEIR_E_TOO_LARGE)
        return explain(fetch, f->result, problem, "; see --max-fetch-size");
    return explain(fetch, f->result, problem[0] ? problem : weir_error_text(f->result), "");
}

/* --- the hooks --- */

static int wait_for_head(struct fetch *f, struct weir_cancel *stop)
{
    bool has_head;
    struct weir_deadline deadline = weir_deadline_until(stop);
    int result = weir_crew_start(f->crew, "fetch", fetch_main, f);
    return result < 0 ? result : weir_queue_recv(&f->heads, &has_head, &deadline);
}

static int open_fetch(void *arg, const char *path, struct weir_cancel *stop,
                      struct weir__scan_fetch *fetch)
{
    struct weir__scan_web *web = arg;
    struct fetch *f = weir__base_alloc(1, sizeof(*f));
    if (!f)
        return explain(fetch, -WEIR_E_NO_MEMORY, weir_error_text(WEIR_E_NO_MEMORY), "");
    f->web = web;
    weir_lock_acquire(&web->lock);
    web->open++;
    weir_lock_release(&web->lock);
    int result = fetch_init(f, path);
    if (result == 0) {
        weir_cancel_on(stop, &f->stop_hook, fire, f);
        result = wait_for_head(f, stop);
    }
    if (result == 0 && f->has_head) {
        fetch->fd = f->in;
        fetch->state = f;
        return 0;
    }
    if (result < 0)
        weir_cancel_fire(&f->cancel);
    if (!fetch_end(f))
        return explain(fetch, -WEIR_E_TIMEOUT, "its thread does not end", "");
    const char *why = result == -WEIR_E_BUSY ? "no thread can be had (ulimit -u, pids.max)"
                                             : weir_error_text(result);
    result = result < 0 ? explain(fetch, result, why, "") : judge(f, fetch);
    fetch_free(f);
    return result;
}

static int close_fetch(void *arg, struct weir__scan_fetch *fetch, bool was_read)
{
    (void)arg;
    struct fetch *f = fetch->state;
    if (!was_read)
        weir_cancel_fire(&f->cancel);
    if (!fetch_end(f))
        return explain(fetch, -WEIR_E_TIMEOUT, "its thread does not end", "");
    int result = judge(f, fetch);
    fetch_free(f);
    return result;
}

/* --- the web --- */

static int web_init(struct weir__scan_web *web)
{
    char agent[64];
    const char *why = "", *ca_file = getenv("SSL_CERT_FILE");
    snprintf(agent, sizeof(agent), "weir/%.40s", web->options.version);
    struct weir__http_client_options options = {.agent = agent,
                                                .ca_file = ca_file && *ca_file ? ca_file : NULL};
    int result = weir__http_client_new(&web->client, &options, &why);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot fetch anything: %s", why);
    return result;
}

int weir__scan_web_new(struct weir__scan_web **ret_web,
                       const struct weir__scan_web_options *options)
{
    struct weir__scan_web_options o = *options;
    size_t count;
    if (!o.store)
        o.store = getenv("WEIR_STORE");
    if (o.store && !*o.store)
        o.store = NULL;
    int result = check_paths(&o, &count);
    if (result < 0)
        return result;
    struct weir__scan_web *web = NULL;
    if (count > 0) {
        web = weir__base_alloc(1, sizeof(*web));
        if (!web) {
            weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(WEIR_E_NO_MEMORY));
            return -WEIR_E_NO_MEMORY;
        }
        web->options = o;
        weir_lock_init(&web->lock, &web_class);
        web->fetcher = (struct weir__scan_fetcher){
            .is_mine = is_mine, .show = show, .open = open_fetch, .close = close_fetch, .arg = web};
        result = web_init(web);
        if (result < 0) {
            weir__scan_web_free(web);
            return result;
        }
    }
    *ret_web = web;
    return 0;
}

void weir__scan_web_free(struct weir__scan_web *web)
{
    if (!web)
        return;
    weir_lock_acquire(&web->lock);
    bool is_used = web->open > 0;
    weir_lock_release(&web->lock);
    if (is_used)
        return;
    weir__http_client_free(web->client);
    weir_lock_fini(&web->lock);
    weir__base_free(web);
}

const struct weir__scan_fetcher *weir__scan_web_fetcher(const struct weir__scan_web *web)
{
    return web ? &web->fetcher : NULL;
}
