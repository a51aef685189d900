/* service_config.c - the keys that all services have. */
#include "service_config.h"

#include <stdlib.h>
#include <string.h>

#include "address_text.h"
#include "server.h"

#include "banned.h"

#define S   struct weir__service_config
#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static const char *const tokens_words[] = {"auto", "always", "never", NULL};
static const char *const format_words[] = {"text", "json", NULL};
static const char *const level_words[] = {"error", "warning", "info", "debug", NULL};

const char *const weir__service_variables[] = {"WEIR_INDEX", "WEIR_LIBEXEC", "WEIR_SERVER",
                                               "WEIR_STORE", "WEIR_TOKEN",   NULL};

static const char *check_mode(const char *text)
{
    size_t length = strlen(text);
    bool is_octal = strspn(text, "01234567") == length && length >= 3 && length <= 4;
    return is_octal && strtoul(text, NULL, 8) <= 0777 ? NULL : "an octal mode, as 0660";
}

static const struct weir__config_key keys[] = {
    {WEIR__CONFIG_LIST(S, listen), .name = "listen", .preset = "127.0.0.1:8470", .min = 1,
     .max = 16, .check = weir__address_check, .help = "addresses to listen on",
     .detail =
         "Each is 'ADDRESS:PORT', '[ADDRESS]:PORT' for IPv6, or 'unix:PATH'. Port 0 is any "
         "that is free. An address that others can reach needs tokens.keys and TLS (tls.cert, "
         "tls.key), or server.open."},
    {WEIR__CONFIG_DURATION(S, drain_ns), .name = "drain_deadline", .preset = "5s",
     .min = WEIR_NS_PER_S, .max = 60 * WEIR_NS_PER_S, .is_live = true,
     .help = "how long work in progress may take to end at shutdown",
     .detail = "What is left then is aborted and counted."},
    {WEIR__CONFIG_DURATION(S, read_ns), .name = "read_timeout", .preset = "5s",
     .min = 100 * WEIR_NS_PER_MS, .max = 600 * WEIR_NS_PER_S, .is_live = true,
     .help = "longest wait for the next bytes of a request"},
    {WEIR__CONFIG_DURATION(S, write_ns), .name = "write_timeout", .preset = "5s",
     .min = 100 * WEIR_NS_PER_MS, .max = 600 * WEIR_NS_PER_S, .is_live = true,
     .help = "longest wait for a client to take the next bytes of an answer"},
    {WEIR__CONFIG_DURATION(S, idle_ns), .name = "idle_timeout", .preset = "60s",
     .min = WEIR_NS_PER_S, .max = 3600 * WEIR_NS_PER_S, .is_live = true,
     .help = "how long a connection may stand idle between requests"},

    {WEIR__CONFIG_COUNT(S, server.max_inflight), .name = "server.max_inflight", .preset = "1024",
     .min = 1, .max = 1u << 20, .is_live = true, .help = "requests in progress at once",
     .detail = "One more is answered with 429 and Retry-After."},
    {WEIR__CONFIG_COUNT(S, server.max_rps), .name = "server.max_rps", .preset = "0", .min = 1,
     .max = 100000000, .nothing = "no limit", .is_live = true,
     .help = "requests a second, of all clients together"},
    {WEIR__CONFIG_COUNT(S, server.max_conns), .name = "server.max_conns", .preset = "10240",
     .min = 1, .max = 1u << 20, .help = "connections at once",
     .detail = "The process needs about twice as many descriptors (ulimit -n)."},
    {WEIR__CONFIG_COUNT(S, server.conns_per_ip), .name = "server.connection_limit_per_ip",
     .preset = "256", .min = 1, .max = 1u << 20, .is_live = true,
     .help = "connections at once from one address",
     .detail = "Those of server.trusted_proxies and of Unix sockets are not counted."},
    {WEIR__CONFIG_COUNT(S, server.acceptors), .name = "server.acceptors", .preset = "0", .min = 1,
     .max = WEIR__SERVER_LOOPS_MAX, .nothing = "one for each core",
     .help = "threads that accept and serve connections"},
    {WEIR__CONFIG_COUNT(S, server.backlog), .name = "server.backlog", .preset = "4096", .min = 4096,
     .max = 65535, .help = "connections that the kernel keeps until they are accepted"},
    {WEIR__CONFIG_SIZE(S, server.body_max), .name = "server.body_max", .preset = "1MiB", .min = 1,
     .max = MIB, .help = "largest body of a request",
     .detail = "A larger one is answered with 413."},
    {WEIR__CONFIG_SIZE(S, server.body_memory), .name = "server.body_memory", .preset = "64MiB",
     .min = 2 * MIB, .max = TIB, .help = "memory for the bodies of all requests in progress",
     .detail = "One that comes in chunks grows, and may need twice its size for a moment."},
    {WEIR__CONFIG_SIZE(S, server.head_max), .name = "server.head_max", .preset = "16KiB",
     .min = KIB, .max = 64 * KIB, .help = "largest head of a request: its line and its fields"},
    {WEIR__CONFIG_RATE(S, server.min_rate), .name = "server.min_rate", .preset = "1KiB/s", .min = 1,
     .max = GIB, .nothing = "no limit", .is_live = true,
     .help = "slowest pace at which a client may send or take a body"},
    {WEIR__CONFIG_LIST(S, server.trusted_proxies), .name = "server.trusted_proxies", .preset = "",
     .check = weir__network_check,
     .help = "networks whose word about the address of a client is taken",
     .detail = "As '10.0.0.0/8' or '::1'. Others may send such headers, and they are ignored."},
    {WEIR__CONFIG_LIST(S, server.hosts), .name = "server.hosts", .preset = "",
     .check = weir__host_check, .is_live = true,
     .help = "names that a request may ask for, besides the addresses listened on",
     .detail = "A request for another host is refused, so that a page of somebody else cannot "
               "lead a browser here under its own name."},
    {WEIR__CONFIG_LIST(S, server.origins), .name = "server.origins", .preset = "",
     .check = weir__origin_check, .is_live = true,
     .help = "origins of web pages that may use the service, as 'https://example.org'"},
    {WEIR__CONFIG_TEXT(S, server.unix_mode), .name = "server.unix_mode", .preset = "0660",
     .check = check_mode, .help = "mode of Unix sockets, in octal"},
    {WEIR__CONFIG_BOOL(S, server.is_open), .name = "server.open", .preset = "false",
     .help = "others may reach the service although it asks for no tokens, or has no TLS"},

    {WEIR__CONFIG_PATH(S, tls.cert), .name = "tls.cert", .preset = "", .nothing = "no TLS",
     .help = "file of the certificate and its chain, as PEM"},
    {WEIR__CONFIG_PATH(S, tls.key), .name = "tls.key", .preset = "", .nothing = "no TLS",
     .help = "file of the private key, as PEM"},

    {WEIR__CONFIG_WORD(S, tokens.required), .name = "tokens.required", .preset = "auto",
     .words = tokens_words, .help = "whether clients have to show a token",
     .detail = "auto asks for them when tokens.keys names a folder; always does not start without "
               "keys. Deleting, administration and peers want a token in any case."},
    {WEIR__CONFIG_PATH(S, tokens.keys), .name = "tokens.keys", .preset = "",
     .nothing = "'keys' in the data folder",
     .help = "folder of the keys that tokens are checked with",
     .detail = "See 'weir token'. Read anew by a reload."},

    {WEIR__CONFIG_COUNT(S, queues.work), .name = "queues.work", .preset = "512", .min = 1,
     .max = 1u << 20, .help = "requests that wait for a worker",
     .detail = "One more is answered with 429 and Retry-After."},
    {WEIR__CONFIG_COUNT(S, queues.events), .name = "queues.events", .preset = "1024", .min = 2,
     .max = 1u << 20, .help = "events that a slow subscriber may be behind before it loses some"},

    {WEIR__CONFIG_COUNT(S, ratelimit.rps_per_ip), .name = "ratelimit.rps_per_ip", .preset = "0",
     .min = 1, .max = 100000000, .nothing = "no limit", .is_live = true,
     .help = "requests a second from one address"},
    {WEIR__CONFIG_COUNT(S, ratelimit.burst_per_ip), .name = "ratelimit.burst_per_ip",
     .preset = "64", .min = 1, .max = 1u << 20, .is_live = true,
     .help = "requests from one address at once before its rate counts"},
    {WEIR__CONFIG_COUNT(S, ratelimit.table), .name = "ratelimit.table", .preset = "65536",
     .min = 256, .max = WEIR_ADMIT_KEYS_MAX, .help = "addresses that are remembered at once",
     .detail =
         "Beyond it, the one that was idle for longest is forgotten. When none is idle, a new "
         "address is refused with 429."},

    {WEIR__CONFIG_SIZE(S, quotas.bytes_per_token), .name = "quotas.bytes_per_token", .preset = "0",
     .min = 1, .nothing = "no limit", .is_live = true,
     .help = "bytes that may be stored with one token"},
    {WEIR__CONFIG_COUNT(S, quotas.objects_per_token), .name = "quotas.objects_per_token",
     .preset = "0", .min = 1, .nothing = "no limit", .is_live = true,
     .help = "objects that may be stored with one token"},

    {WEIR__CONFIG_BOOL(S, log.requests), .name = "log.requests", .preset = "false", .is_live = true,
     .help = "write a line for each request"},
    {WEIR__CONFIG_WORD(S, log.format), .name = "log.format", .preset = "text",
     .words = format_words, .is_live = true, .help = "form of the log on standard error"},
    {WEIR__CONFIG_WORD(S, log.level), .name = "log.level", .preset = "info", .words = level_words,
     .is_live = true, .help = "the least serious lines that are written"},

    {WEIR__CONFIG_BOOL(S, audit.is_enabled), .name = "audit.enabled", .preset = "false",
     .help = "keep a record of who changed what"},
    {WEIR__CONFIG_PATH(S, audit.file), .name = "audit.file", .preset = "",
     .nothing = "standard error", .help = "file that the record is appended to"},
    WEIR__CONFIG_END,
};

unsigned weir__service_unix_mode(const struct weir__service_config *config)
{
    return (unsigned)strtoul(config->server.unix_mode, NULL, 8);
}

bool weir__service_wants_tokens(const struct weir__service_config *config)
{
    return config->tokens.required == WEIR__TOKENS_ALWAYS ||
           (config->tokens.required == WEIR__TOKENS_AUTO && config->tokens.keys[0] != '\0');
}

bool weir__service_is_local(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 || strncmp(address, "127.", 4) == 0 ||
           strncmp(address, "[::1]:", 6) == 0;
}

bool weir__service_may_listen(const struct weir__service_config *config, const char *address)
{
    bool has_tls = config->tls.cert && config->tls.cert[0];
    return weir__service_is_local(address) || config->server.is_open ||
           (weir__service_wants_tokens(config) && has_tls);
}

static void check_reach(const struct weir__service_config *config, struct weir__config_judge *judge)
{
    for (size_t i = 0; i < config->listen.count; i++)
        if (!weir__service_may_listen(config, config->listen.items[i]))
            weir__config_object(judge, "listen", WEIR__SERVICE_REACHED, config->listen.items[i]);
}

void weir__service_check_reached(struct weir__config_judge *judge, const char *key, uint64_t value,
                                 const char *other, uint64_t least)
{
    if (value > least)
        weir__config_warn(judge, key, "%llu is never reached, since %s is %llu",
                          (unsigned long long)value, other, (unsigned long long)least);
}

static void check_limits(const struct weir__service_config *config,
                         struct weir__config_judge *judge)
{
    static const char inflight[] = "server.max_inflight";
    uint64_t most = config->server.max_inflight;
    weir__service_check_reached(judge, "server.connection_limit_per_ip",
                                config->server.conns_per_ip, "server.max_conns",
                                config->server.max_conns);
    weir__service_check_reached(judge, "queues.work", config->queues.work, inflight, most);
    if (config->server.max_rps > 0)
        weir__service_check_reached(judge, "ratelimit.rps_per_ip", config->ratelimit.rps_per_ip,
                                    "server.max_rps", config->server.max_rps);
}

static void check_idle(const struct weir__service_config *config, struct weir__config_judge *judge)
{
    static const char no_rate[] = "it changes nothing without ratelimit.rps_per_ip";
    static const char no_token[] =
        "it holds for who shows a token, and none is asked for: see tokens.required";
    bool asks = weir__service_wants_tokens(config);
    if (config->ratelimit.rps_per_ip == 0) {
        weir__config_warn(judge, "ratelimit.burst_per_ip", "%s", no_rate);
        weir__config_warn(judge, "ratelimit.table", "%s", no_rate);
    }
    if (!asks && config->quotas.bytes_per_token > 0)
        weir__config_warn(judge, "quotas.bytes_per_token", "%s", no_token);
    if (!asks && config->quotas.objects_per_token > 0)
        weir__config_warn(judge, "quotas.objects_per_token", "%s", no_token);
}

static void check_together(const void *values, struct weir__config_judge *judge)
{
    const struct weir__service_config *config = values;
    bool has_cert = config->tls.cert[0] != '\0', has_key = config->tls.key[0] != '\0';
    if (has_cert != has_key)
        weir__config_object(judge, has_cert ? "tls.cert" : "tls.key", "TLS needs %s as well",
                            has_cert ? "tls.key" : "tls.cert");
    if (!config->audit.is_enabled && config->audit.file[0] != '\0')
        weir__config_object(judge, "audit.file", "nothing is written there without audit.enabled");
    check_reach(config, judge);
    check_limits(config, judge);
    check_idle(config, judge);
}

const struct weir__config_table weir__service_table = {
    .name = "all services",
    .keys = keys,
    .values_size = sizeof(struct weir__service_config),
    .check = check_together,
};
