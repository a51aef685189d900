/* daemon_part.h - what the files of the room share; nobody else includes this, but tests.
 *
 *   daemon.c       life cycle
 *   descriptors.c  who may have how many of them
 *   finding.c      what is told of at the start
 *   limits.c       what the configuration means for lines, limits and the server
 *   listening.c    the server and its sockets
 *   keys.c         keys of tokens: found, made, kept
 *   reload.c       the configuration in force, another one in its place, POST /admin/reload
 *   drain.c        its end
 *   threads.c      the posts, and what members of pools do
 *   route.c        a request finds its way, and the server's calls
 *   answer.c       refusals, and lines of the log about what failed
 *   access.c       host, origin, capability, limits: whether it is let in
 *   body.c         bodies: what their head must say, and unpacking
 *   health.c       /healthz, /readyz, /version, /metrics
 *   errand.c       what is done for a request by other threads, and its deadline
 *   audit.c        events and who hears them
 *   log.c          a line for each request
 *   numbers.c      metrics
 *   parts.c        what it is made of
 *   topology.c     the same, as tables
 *
 * Ownership: as in daemon.h.
 */
#ifndef WEIR_DAEMON_DAEMON_PART_H
#define WEIR_DAEMON_DAEMON_PART_H

#include "daemon.h"

#define WEIR__DAEMON_PARTS_MAX 64u

/* Of what the daemon itself answers. */
enum weir__daemon_own_route {
    WEIR__ROUTE_HEALTH = WEIR__DAEMON_ROUTES,
    WEIR__ROUTE_READY,
    WEIR__ROUTE_VERSION,
    WEIR__ROUTE_METRICS,
    WEIR__ROUTE_RELOAD,
};

/* --- descriptors.c --- */
/* sockets: that were handed over, in place of those that the rules name. Invalid: there are too
 * few. */
WEIR_MUST_USE int weir__daemon_share_descriptors(struct weir__daemon *daemon,
                                                 const struct weir__daemon_rules *rules,
                                                 size_t sockets, char why[WEIR__DAEMON_WHY_MAX]);

/* --- finding.c --- */
/* Files that others should not get at. */
void weir__daemon_find_rights(struct weir__daemon *daemon, const struct weir__daemon_rules *rules);

/* --- limits.c --- */
WEIR_MUST_USE int weir__daemon_make_lines(struct weir__daemon *daemon,
                                          const struct weir__daemon_rules *rules);
WEIR_MUST_USE int weir__daemon_make_limits(struct weir__daemon *daemon,
                                           const struct weir__daemon_rules *rules);
/* Brings all of them up to date, and those of the server and the service. */
WEIR_MUST_USE int weir__daemon_update_limits(struct weir__daemon *daemon,
                                             const struct weir__daemon_rules *rules,
                                             char why[WEIR__DAEMON_WHY_MAX]);
void weir__daemon_fini_limits(struct weir__daemon *daemon);
void weir__daemon_fill_limits(const struct weir__daemon *daemon,
                              const struct weir__daemon_rules *rules,
                              struct weir__server_limits *limits);
size_t weir__daemon_lines_count(const struct weir__daemon_service *service);
size_t weir__daemon_caps_count(const struct weir__daemon_service *service);

/* --- listening.c --- */
WEIR_MUST_USE int weir__daemon_make_server(struct weir__daemon *daemon,
                                           const struct weir__daemon_rules *rules,
                                           const struct weir__daemon_options *given,
                                           char why[WEIR__DAEMON_WHY_MAX]);

/* --- keys.c --- */
/* is_start: nobody relies on keys yet, and the first is made where there never was one. */
WEIR_MUST_USE int weir__daemon_load_keys(struct weir__daemon *daemon,
                                         struct weir__daemon_rules *rules, bool is_start,
                                         char why[WEIR__DAEMON_WHY_MAX]);

/* Whether a start would find those that the rules name. */
WEIR_MUST_USE int weir__daemon_check_keys(const struct weir__daemon_rules *rules,
                                          char why[WEIR__DAEMON_WHY_MAX]);

/* --- reload.c --- */
WEIR_MUST_USE int weir__daemon_rules_new(struct weir__daemon_rules **ret_rules,
                                         const struct weir__daemon_service *service,
                                         struct weir__config *config,
                                         char why[WEIR__DAEMON_WHY_MAX]);
void weir__daemon_reload_begin(struct weir__exchange *exchange);
void weir__daemon_reload_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask);

/* --- route.c --- */
extern const struct weir__handler weir__daemon_handler;
/* How long a step may take, by the rules of now. */
uint64_t weir__daemon_deadline_ns(struct weir__daemon *daemon);

/* --- access.c --- */
/* Whether the request is let in; otherwise it has been answered. */
bool weir__daemon_allows(struct weir__daemon *daemon, struct weir__exchange *exchange,
                         const struct weir__daemon_rules *rules);
/* The same of what everybody may read who has the right name, and no page of others. */
bool weir__daemon_allows_public(struct weir__daemon *daemon, struct weir__exchange *exchange,
                                const struct weir__daemon_rules *rules);
/* The same of OPTIONS, which shows no capability. */
bool weir__daemon_allows_question(struct weir__daemon *daemon, struct weir__exchange *exchange,
                                  const struct weir__daemon_rules *rules);
/* One of the requests at once, of all and of its route, or it has been refused. */
bool weir__daemon_enters(struct weir__daemon *daemon, struct weir__exchange *exchange);
void weir__daemon_leaves(struct weir__exchange *exchange);

/* --- answer.c --- */
/* Counts a refusal at a limit. */
void weir__daemon_count_busy(struct weir__exchange *exchange);

/* --- errand.c --- */
/* By a worker that has taken it out of its line: whether it is to be done. False: nobody waits any
 * more, or it is too late for all, and it is to be dropped. */
bool weir__errand_begin(struct weir__errand *job);
/* The time of a drain is up: no job is begun any more. How many are under way. */
uint64_t weir__errands_end(struct weir__daemon *daemon);
/* By a worker that ends in the middle of it: the request is answered, or its answer cut, and the
 * job freed with all that it has. */
void weir__errand_give_up(struct weir__errand *job);
/* By the loop, while a job has the request: its client sends no more, or is gone. */
void weir__errand_left(struct weir__exchange *exchange, bool is_gone);
/* The request has ended. */
void weir__errand_leave(struct weir__errand *job);
/* Answers what is too late. */
void weir__errands_tick(struct weir__daemon *daemon, uint64_t now_ns);

/* --- health.c --- */
void weir__daemon_health_begin(struct weir__exchange *exchange, struct weir__daemon_ask *ask);
void weir__daemon_health_resume(struct weir__exchange *exchange, struct weir__daemon_ask *ask);

/* --- threads.c --- */
WEIR_MUST_USE int weir__daemon_start_threads(struct weir__daemon *daemon,
                                             const struct weir__daemon_rules *rules);
/* Of the posts: how many members are missing, and whether one has nobody at all. */
struct weir__daemon_roll {
    uint64_t missing;
    bool has_all_kinds;
};
void weir__daemon_call_roll(struct weir__daemon *daemon, struct weir__daemon_roll *ret_roll);

/* --- audit.c --- */
/* Whether the file of the audit log can be written; it is there then. */
WEIR_MUST_USE int weir__daemon_check_audit(const struct weir__daemon_rules *rules,
                                           char why[WEIR__DAEMON_WHY_MAX]);
/* Whether a start could write it, as far as can be told without making it. */
WEIR_MUST_USE int weir__daemon_probe_audit(const struct weir__daemon_rules *rules,
                                           char why[WEIR__DAEMON_WHY_MAX]);

/* --- log.c --- */
void weir__daemon_log_request(struct weir__exchange *exchange, const struct weir__daemon_ask *ask,
                              const struct weir__exchange_end *end);
/* Of a request that the server has refused: it may have neither a method nor a path. */
void weir__daemon_log_refused(struct weir__exchange *exchange,
                              const struct weir__exchange_end *end);

/* --- numbers.c --- */
WEIR_MUST_USE int weir__daemon_numbers_new(struct weir__daemon *daemon);
void weir__daemon_numbers_free(struct weir__daemon *daemon);
/* Brings what is sampled up to date. */
void weir__daemon_numbers_sample(struct weir__daemon *daemon);

/* --- parts.c --- */
enum weir__daemon_part_kind {
    WEIR__PART_QUEUE,
    WEIR__PART_BUS,
    WEIR__PART_WATCH,
    WEIR__PART_BUDGET,
    WEIR__PART_RATE,
    WEIR__PART_ADMIT,
    WEIR__PART_BREAKER,
    WEIR__PART_HEDGE,
    WEIR__PART_CREW,
};
struct weir__daemon_part {
    enum weir__daemon_part_kind kind;
    void *object;
};
struct weir__daemon_parts {
    struct weir__daemon_part items[WEIR__DAEMON_PARTS_MAX];
    size_t count;
};
void weir__daemon_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *ret_parts);
/* All of them tell of themselves. */
WEIR_MUST_USE int weir__daemon_add_parts(struct weir__daemon *daemon);

#endif
