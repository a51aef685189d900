/* server.c - the server: its parts, its limits, its end.
 *
 * Who waits, waits on watches: the loops tell there how many connections are open (while draining)
 * and how many loops run.
 */
#include "server.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "require.h"
#include "resources.h"
#include "server_part.h"

#include "banned.h"

#define TIME_MAX_NS (86400 * WEIR_NS_PER_S) /* more is a mistake in units */

static const struct weir_lock_class server_class = {"http-server", 655};

/* --- limits --- */

static void fill(uint64_t *value, uint64_t standard)
{
    *value = *value ? *value : standard;
}

static void fill32(uint32_t *value, uint32_t standard)
{
    *value = *value ? *value : standard;
}

static void fill_limits(struct weir__server_limits *limits)
{
    fill(&limits->read_ns, 5 * WEIR_NS_PER_S);
    fill(&limits->write_ns, 5 * WEIR_NS_PER_S);
    fill(&limits->idle_ns, 60 * WEIR_NS_PER_S);
    fill(&limits->rate_min, 1024);
    fill(&limits->rate_grace_ns, 5 * WEIR_NS_PER_S);
    fill(&limits->body_max, UINT64_C(1) << 20);
    fill(&limits->body_memory, UINT64_C(256) << 20);
    fill32(&limits->head_max, 16u << 10);
    fill32(&limits->headers_max, WEIR__SERVER_HEADERS_MAX);
    fill32(&limits->url_max, 4u << 10);
    fill32(&limits->connections_max, 16384);
    fill32(&limits->per_address_max, WEIR_ADMIT_CAP_DEFAULT);
}

static const char *check_limits(const struct weir__server_limits *limits)
{
    if (limits->read_ns > TIME_MAX_NS || limits->write_ns > TIME_MAX_NS ||
        limits->idle_ns > TIME_MAX_NS || limits->rate_grace_ns > TIME_MAX_NS)
        return "times of a server are a day at most";
    if (limits->head_max < WEIR__SERVER_HEAD_LEAST || limits->head_max > WEIR__SERVER_HEAD_MOST)
        return "heads of requests have 1024 to 65535 bytes";
    if (limits->url_max > limits->head_max)
        return "a URL cannot be longer than a head";
    if (limits->headers_max > WEIR__SERVER_HEADERS_MAX)
        return "a request has 64 headers at most";
    if (limits->body_memory > WEIR_BUDGET_MAX || limits->body_max > limits->body_memory)
        return "one body must fit into the memory for all";
    return NULL;
}

int weir__server_update(struct weir__server *server, const struct weir__server_limits *given)
{
    struct weir__server_limits limits = *given;
    fill_limits(&limits);
    if (check_limits(&limits))
        return -WEIR_E_INVALID;
    int result = weir_budget_resize(&server->bodies, limits.body_memory);
    if (result == 0)
        result = weir_admit_set(&server->admit, limits.per_address_max, 0, 0);
    if (result == 0)
        result = weir_watch_set(&server->limits, &limits);
    for (unsigned i = 0; i < server->loops_count; i++)
        weir__loop_wake(server->loops[i]);
    return result;
}

/* --- life cycle --- */

static int register_locks(void)
{
    static const struct weir_lock_class *const order[] = {&server_class, &weir__mail_class};
    return weir_lock_register(order, sizeof(order) / sizeof(order[0]));
}

static int make_shared(struct weir__server *server)
{
    const struct weir__server_limits *limits = &server->options.limits;
    /* Each connection may have an address of its own. */
    uint32_t keys = limits->connections_max > WEIR_ADMIT_KEYS_DEFAULT ? limits->connections_max
                                                                      : WEIR_ADMIT_KEYS_DEFAULT;
    const struct weir_admit_options admit = {
        .cap = limits->per_address_max,
        .keys_max = keys < WEIR_ADMIT_KEYS_MAX ? keys : WEIR_ADMIT_KEYS_MAX};
    const struct weir_admit_options refused = {
        .cap = (uint32_t)(server->refusing_max / WEIR__REFUSING_SHARE),
        .keys_max = WEIR__REFUSING_MAX};
    const struct weir__progress progress = {0};
    const uint64_t phase = WEIR__PHASE_SERVING;
    int result = weir_admit_init(&server->admit, "http-address", &admit);
    server->has_admit = result == 0;
    if (result == 0)
        result = weir_admit_init(&server->refused, "http-refused", &refused);
    server->has_refused = result == 0;
    if (result == 0)
        result = weir_budget_init(&server->bodies, "http-bodies", limits->body_memory);
    server->has_bodies = result == 0;
    if (result == 0)
        result = weir_watch_init(&server->limits, "http-limits", sizeof(*limits), limits);
    server->has_limits = result == 0;
    if (result == 0)
        result = weir_watch_init(&server->phase, "http-phase", sizeof(phase), &phase);
    server->has_phase = result == 0;
    if (result == 0)
        result = weir_watch_init(&server->progress, "http-progress", sizeof(progress), &progress);
    server->has_progress = result == 0;
    return result;
}

uint64_t weir__server_refused_most(uint64_t descriptors)
{
    uint64_t part = descriptors / WEIR__REFUSING_PART;
    if (part < WEIR__REFUSING_SHARE)
        part = WEIR__REFUSING_SHARE;
    return part < WEIR__REFUSING_MAX ? part : WEIR__REFUSING_MAX;
}

/* Who is refused must not take the descriptors of who is not. */
static void find_refusing(struct weir__server *server)
{
    uint64_t allowed = weir__resources_descriptors();
    server->refusing_max = weir__server_refused_most(allowed);
    server->refusing_fd_max = allowed - allowed / WEIR__REFUSING_PART;
}

static unsigned count_processors(void)
{
    unsigned count = weir__resources_cores();
    return count < WEIR__SERVER_LOOPS_MAX ? count : WEIR__SERVER_LOOPS_MAX;
}

static const char *check_options(struct weir__server *server)
{
    struct weir__server_options *options = &server->options;
    if (options->loops > WEIR__SERVER_LOOPS_MAX)
        return "there can be 64 loops at most";
    if (options->trusted_count > WEIR__SERVER_TRUSTED_MAX)
        return "there can be 64 trusted networks at most";
    for (size_t i = 0; i < options->trusted_count; i++)
        if (weir__network_parse(&server->trusted[i], options->trusted[i]) < 0)
            return "a trusted network is written 10.0.0.0/8 or fd00::/8";
    fill_limits(&options->limits);
    return check_limits(&options->limits);
}

int weir__server_new(struct weir__server **ret_server, const struct weir__server_options *options,
                     const char **ret_why)
{
    struct weir__server *server = weir__base_alloc(1, sizeof(*server));
    int result = server ? 0 : -WEIR_E_NO_MEMORY;
    if (server) {
        server->options = *options;
        weir_lock_init(&server->lock, &server_class);
        snprintf(server->name, sizeof(server->name), "%s", options->name ? options->name : "weir");
        *ret_why = check_options(server);
        if (*ret_why) {
            weir__server_free(server);
            return -WEIR_E_INVALID;
        }
        server->options.trusted = NULL; /* they were copied */
        find_refusing(server);
        result = register_locks();
        if (result == 0)
            result = make_shared(server);
    }
    unsigned count = result < 0 ? 0 : options->loops ? options->loops : count_processors();
    for (unsigned i = 0; i < count && result == 0; i++) {
        result = weir__loop_new(&server->loops[i], server, i);
        server->loops_count += result == 0;
    }
    if (result < 0) {
        *ret_why = weir_error_text(result);
        weir__server_free(server);
        return result;
    }
    *ret_server = server;
    return 0;
}

int weir__server_start(struct weir__server *server)
{
    int result = 0;
    for (unsigned i = 0; i < server->listeners_count; i++)
        if (server->listeners[i].is_tls && !server->tls)
            return -WEIR_E_INVALID;
    while (server->started < server->loops_count && result == 0) {
        struct weir__server_loop *loop = server->loops[server->started];
        weir_lock_acquire(&server->lock);
        server->running++;
        server->hearing++;
        weir_lock_release(&server->lock);
        result = weir_crew_start(server->options.crew, "loop", weir__loop_run, loop);
        if (result == 0)
            server->started++;
        else {
            weir__server_loop_deaf(server);
            weir__server_loop_ended(server);
        }
    }
    return result;
}

/* --- draining --- */

/* With the lock held, so that what is told last is what was last. */
static void tell_progress(struct weir__server *server)
{
    const struct weir__progress progress = {server->running, server->open_all,
                                            server->open_all - server->open_late, server->hearing};
    (void)!weir_watch_set(&server->progress, &progress);
}

void weir__server_loop_ended(struct weir__server *server)
{
    weir_lock_acquire(&server->lock);
    server->running--;
    tell_progress(server);
    weir_lock_release(&server->lock);
}

void weir__server_loop_deaf(struct weir__server *server)
{
    weir_lock_acquire(&server->lock);
    bool is_last = --server->hearing == 0;
    weir_lock_release(&server->lock);
    if (is_last)
        weir__listeners_refuse(server); /* at once: who comes in between is reset */
    weir_lock_acquire(&server->lock);
    tell_progress(server);
    weir_lock_release(&server->lock);
}

static void begin_phase(struct weir__server *server, uint64_t phase)
{
    (void)!weir_watch_set(&server->phase, &phase);
    weir_lock_acquire(&server->lock);
    server->is_draining = true;
    tell_progress(server);
    weir_lock_release(&server->lock);
    for (unsigned i = 0; i < server->loops_count; i++)
        weir__loop_wake(server->loops[i]);
}

static bool is_done(const void *value, void *arg)
{
    const struct weir__progress *progress = value;
    (void)arg;
    return progress->old == 0;
}

static bool is_deaf(const void *value, void *arg)
{
    const struct weir__progress *progress = value;
    (void)arg;
    return progress->hearing == 0;
}

/* Those who came during the drain. */
static bool is_told(const void *value, void *arg)
{
    const struct weir__progress *progress = value;
    (void)arg;
    return progress->open == progress->old;
}

static bool is_over(const void *value, void *arg)
{
    const struct weir__progress *progress = value;
    (void)arg;
    return progress->running == 0;
}

int weir__server_quiesce(struct weir__server *server, const struct weir_deadline *deadline)
{
    struct weir__progress room;
    begin_phase(server, WEIR__PHASE_DRAINING);
    return weir_watch_wait_until(&server->progress, is_done, NULL, &room, NULL, deadline);
}

/* Somebody may always have just come. So nobody else is let in first, and then those who were are
 * told; who says nothing has WEIR__LATE_NS for that. */
static void close_doors(struct weir__server *server, const struct weir_deadline *grace)
{
    struct weir__progress room;
    begin_phase(server, WEIR__PHASE_CLOSING);
    if (weir_watch_wait_until(&server->progress, is_deaf, NULL, &room, NULL, grace) < 0)
        weir__listeners_refuse(server); /* a loop is held up */
    struct weir_deadline a_while = weir_deadline_min(grace, weir_now_ns() + WEIR__REFUSED_NS);
    (void)!weir_watch_wait_until(&server->progress, is_told, NULL, &room, NULL, &a_while);
}

int weir__server_end(struct weir__server *server)
{
    struct weir__progress room;
    struct weir__server_stats stats;
    const struct weir_deadline grace = weir_deadline_in(WEIR__SERVER_GRACE_NS, NULL);
    close_doors(server, &grace);
    begin_phase(server, WEIR__PHASE_ENDING);
    if (weir_watch_wait_until(&server->progress, is_over, NULL, &room, NULL, &grace) < 0)
        return -WEIR_E_BUSY;
    weir__listeners_close(server);
    weir__server_read(server, &stats);
    return stats.cut > 0 ? -WEIR_E_TIMEOUT : 0;
}

int weir__server_drain(struct weir__server *server, const struct weir_deadline *deadline)
{
    (void)weir__server_quiesce(server, deadline);
    return weir__server_end(server);
}

void weir__server_free(struct weir__server *server)
{
    if (!server)
        return;
    WEIR__REQUIRE(server->running == 0, "server", server->name, "its loops run still");
    weir__listeners_close(server);
    for (unsigned i = 0; i < server->loops_count; i++)
        weir__loop_free(server->loops[i]);
    weir__tls_free(server->tls);
    if (server->has_progress)
        weir_watch_fini(&server->progress);
    if (server->has_phase)
        weir_watch_fini(&server->phase);
    if (server->has_limits)
        weir_watch_fini(&server->limits);
    if (server->has_bodies)
        weir_budget_fini(&server->bodies);
    if (server->has_refused)
        weir_admit_fini(&server->refused);
    if (server->has_admit)
        weir_admit_fini(&server->admit);
    weir_lock_fini(&server->lock);
    weir__base_free(server);
}

/* --- connections --- */

int weir__server_admit(struct weir__server *server, uint32_t connections_max,
                       struct weir__conn *conn, unsigned *ret_loop)
{
    unsigned best = 0;
    weir_lock_acquire(&server->lock);
    bool is_full = server->open_all >= connections_max;
    if (!is_full) {
        for (unsigned i = 1; i < server->loops_count; i++)
            if (server->open[i] < server->open[best])
                best = i;
        server->open[best]++;
        server->open_all++;
        server->open_late += server->is_draining;
        conn->is_late = server->is_draining;
        conn->id = ++server->next_id;
        *ret_loop = best;
    }
    weir_lock_release(&server->lock);
    return is_full ? -WEIR_E_BUSY : 0;
}

bool weir__server_admit_refused(struct weir__server *server, struct weir__conn *conn)
{
    uint8_t key[16];
    size_t key_size = conn->is_trusted ? 0 : weir__address_key(&conn->peer, key);
    /* The kernel gives the lowest number that is free: this one says how many are taken. */
    if ((uint64_t)conn->fd >= server->refusing_fd_max ||
        (key_size > 0 && weir_admit_try(&server->refused, key, key_size, &conn->ticket) < 0))
        return false;
    weir_lock_acquire(&server->lock);
    bool has_room = server->refusing < server->refusing_max;
    server->refusing += has_room;
    conn->id = ++server->next_id;
    weir_lock_release(&server->lock);
    if (!has_room)
        weir_admit_release(&conn->ticket);
    return has_room;
}

void weir__server_settled(struct weir__server *server, struct weir__conn *conn)
{
    weir_lock_acquire(&server->lock);
    if (conn->is_counted && !conn->is_late) {
        conn->is_late = true;
        server->open_late++;
        if (server->open_all == server->open_late)
            tell_progress(server);
    }
    weir_lock_release(&server->lock);
}

void weir__server_leave(struct weir__server *server, const struct weir__conn *conn)
{
    weir_lock_acquire(&server->lock);
    if (conn->is_counted) {
        server->open[conn->loop->number]--;
        server->open_all--;
        server->open_late -= conn->is_late;
        if (server->open_all == server->open_late ||
            (server->is_draining && server->open_late == 0))
            tell_progress(server);
    } else
        server->refusing--;
    weir_lock_release(&server->lock);
}

/* --- introspection --- */

static void sum(struct weir__server_stats *all, const struct weir__server_stats *one)
{
    uint64_t *to = (uint64_t *)all;
    const uint64_t *from = (const uint64_t *)one;
    for (size_t i = 0; i < sizeof(*all) / sizeof(*to); i++)
        to[i] += from[i];
}

void weir__server_read(struct weir__server *server, struct weir__server_stats *ret_stats)
{
    struct weir__server_stats all = {0};
    for (unsigned i = 0; i < server->loops_count; i++) {
        struct weir__server_stats one;
        weir_lock_acquire(&server->loops[i]->lock);
        one = server->loops[i]->published;
        weir_lock_release(&server->loops[i]->lock);
        sum(&all, &one);
    }
    all.open = all.accepted > all.closed ? all.accepted - all.closed : 0;
    *ret_stats = all;
}

void weir__server_parts(struct weir__server *server, struct weir__server_parts *ret_parts)
{
    *ret_parts = (struct weir__server_parts){
        .addresses = &server->admit,
        .refused = &server->refused,
        .bodies = &server->bodies,
        .limits = &server->limits,
        .phase = &server->phase,
        .progress = &server->progress,
    };
}

unsigned weir__server_loops(const struct weir__server *server)
{
    return server->loops_count;
}
