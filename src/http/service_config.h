/* service_config.h - what all services can be told: addresses, limits, deadlines, TLS, tokens, log.
 *
 * One table of keys (config.h), to be put beside those of the service itself in one schema. Times
 * are nanoseconds, rates are bytes a second, and 0 means what the key says in its help.
 *
 * Promises: what fits together was checked: TLS has both of its files, and a service that others
 * can reach asks for tokens and has TLS unless it is said to be open. Limits that were given and
 * can never be reached, or change nothing, are warned of.
 *
 * Ownership: the struct belongs to its configuration, and lives as long as that.
 */
#ifndef WEIR_HTTP_SERVICE_CONFIG_H
#define WEIR_HTTP_SERVICE_CONFIG_H

#include "config.h"

enum weir__tokens_required { WEIR__TOKENS_AUTO, WEIR__TOKENS_ALWAYS, WEIR__TOKENS_NEVER };
enum weir__log_form { WEIR__LOG_FORM_TEXT, WEIR__LOG_FORM_JSON };

struct weir__service_config {
    struct weir__config_list listen;
    uint64_t drain_ns;
    uint64_t read_ns;
    uint64_t write_ns;
    uint64_t idle_ns;

    struct {
        uint64_t max_inflight;
        uint64_t max_rps;
        uint64_t max_conns;
        uint64_t conns_per_ip;
        uint64_t acceptors;
        uint64_t backlog;
        uint64_t body_max;
        uint64_t body_memory;
        uint64_t head_max;
        uint64_t min_rate;
        struct weir__config_list trusted_proxies;
        struct weir__config_list hosts;
        struct weir__config_list origins;
        const char *unix_mode; /* weir__service_unix_mode() */
        bool is_open;
    } server;

    struct {
        const char *cert;
        const char *key;
    } tls;

    struct {
        unsigned required; /* enum weir__tokens_required */
        const char *keys;
    } tokens;

    struct {
        uint64_t work;
        uint64_t events;
    } queues;

    struct {
        uint64_t rps_per_ip;
        uint64_t burst_per_ip;
        uint64_t table;
    } ratelimit;

    struct {
        uint64_t bytes_per_token;
        uint64_t objects_per_token;
    } quotas;

    struct {
        bool requests;
        unsigned format; /* enum weir__log_form */
        unsigned level;  /* enum weir__log_level */
    } log;

    struct {
        bool is_enabled;
        const char *file;
    } audit;
};

extern const struct weir__config_table weir__service_table;

/* Variables WEIR_... of the program that are no keys, for a schema; ended by NULL. */
extern const char *const weir__service_variables[];

/* Of a table's check: warns of a limit that another one keeps from ever being reached. */
void weir__service_check_reached(struct weir__config_judge *judge, const char *key, uint64_t value,
                                 const char *other, uint64_t least);

/* The mode that a Unix socket gets. */
unsigned weir__service_unix_mode(const struct weir__service_config *config);

/* Whether clients have to show a token. */
bool weir__service_wants_tokens(const struct weir__service_config *config);

/* Whether it may listen there: nobody else can reach it, or it asks for tokens and has TLS, so that
 * nobody reads them on their way, or it is said to be open. What to say if not is in the text. */
bool weir__service_may_listen(const struct weir__service_config *config, const char *address);
#define WEIR__SERVICE_REACHED                                                                      \
    "others can reach '%s': set tokens.keys, tls.cert and tls.key, or server.open (--open) if "    \
    "everybody may come without them"

/* Whether an entry of .listen can be reached from this machine alone: a Unix socket, 127.0.0.0/8 or
 * ::1. */
bool weir__service_is_local(const char *address);

#endif
