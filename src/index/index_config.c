/* index_config.c - the keys of the index service. */
#include "index_config.h"

#include <string.h>

#include <weir/error.h>

#include "address.h"
#include "address_text.h"
#include "name.h"
#include "plan.h"
#include "record.h"
#include "source_etcd.h"
#include "source_http.h"

#include "banned.h"

#define S       struct weir__index_config
#define MIB     (UINT64_C(1) << 20)
#define GIB     (UINT64_C(1) << 30)
#define TIB     (UINT64_C(1) << 40)
#define HOUR_NS (3600 * WEIR_NS_PER_S)

static const char *check_node(const char *text)
{
    return weir__provider_url_check(text) ? "the address of a node, as http://10.0.0.7:8471" : NULL;
}

static const char *check_region(const char *text)
{
    size_t length = strlen(text);
    bool is_good = length <= WEIR__REGION_MAX &&
                   strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
    return is_good ? NULL : "up to 31 of a-z, 0-9 and '-'";
}

static const char *check_prefix(const char *text)
{
    return weir__etcd_prefix_check(text) ? "1 to 64 printable bytes without blanks" : NULL;
}

/* What is looked up at the start: as it stands behind /resolve/. */
static const char *check_warmup(const char *text)
{
    struct weir__name name;
    struct weir__address address;
    bool is_good = weir__address_parse(text, strlen(text), &address) == 0 ||
                   weir__name_parse(text, strlen(text), &name) == 0;
    return is_good ? NULL : "a name or an address, as team/site or b3:...";
}

static const struct weir__config_key keys[] = {
    {WEIR__CONFIG_PATH(S, data), .name = "data", .preset = "", .nothing = "the default folder",
     .help = "folder that everything is kept in",
     .detail = "It is made if it is not there. The default is weir/index in $XDG_DATA_HOME "
               "(~/.local/share), for root /var/lib/weir/index. With amnesia.enabled all is in "
               "memory instead."},

    {WEIR__CONFIG_COUNT(S, index.workers), .name = "index.workers", .preset = "0", .min = 1,
     .max = WEIR__PLAN_WORKERS_MAX, .nothing = "half of the cores, and two at least",
     .help = "lookups of one address at once",
     .detail = "There are twice as many threads that look things up, so that as many are left to "
               "others. 'weir index plan' says how many are needed."},
    {WEIR__CONFIG_COUNT(S, index.resolve_max), .name = "index.resolve_max", .preset = "768",
     .min = 1, .max = 1u << 20, .is_live = true,
     .help = "requests that resolve or look for providers, at once",
     .detail = "One more is answered with 429 and Retry-After."},
    {WEIR__CONFIG_COUNT(S, index.publish_max), .name = "index.publish_max", .preset = "256",
     .min = 1, .max = 1u << 20, .is_live = true, .help = "requests that publish, at once"},
    {WEIR__CONFIG_COUNT(S, index.list_max), .name = "index.list_max", .preset = "16", .min = 1,
     .max = 1u << 20, .is_live = true, .help = "requests that list names, at once"},
    {WEIR__CONFIG_TEXT(S, index.region), .name = "index.region", .preset = "", .nothing = "none",
     .check = check_region, .is_live = true, .help = "region of this node",
     .detail = "Providers of the same region are told first."},
    {WEIR__CONFIG_SIZE(S, index.map_bytes), .name = "index.map_bytes", .preset = "16GiB",
     .min = 16 * MIB, .max = 64 * TIB, .help = "room for records",
     .detail = "Of addresses, not of memory or disk, which are taken as records come."},

    {WEIR__CONFIG_COUNT(S, dht.alpha), .name = "dht.alpha", .preset = "3", .min = 1, .max = 16,
     .is_live = true, .help = "sources that a lookup asks at once"},
    {WEIR__CONFIG_COUNT(S, dht.beta), .name = "dht.beta", .preset = "2", .min = 1, .max = 16,
     .nothing = "none", .is_live = true,
     .help = "further sources that it asks when these take too long"},
    {WEIR__CONFIG_COUNT(S, dht.hedge_ms), .name = "dht.hedge_ms", .preset = "150", .min = 1,
     .max = 60000, .is_live = true, .help = "milliseconds until that is too long"},
    {WEIR__CONFIG_COUNT(S, dht.deadline_ms), .name = "dht.deadline_ms", .preset = "1200", .min = 10,
     .max = 60000, .is_live = true, .help = "milliseconds that a lookup may take in all"},
    {WEIR__CONFIG_RATIO(S, dht.hedge_ratio), .name = "dht.hedge_ratio", .preset = "0.05", .min = 1,
     .max = 1000, .is_live = true, .help = "share of lookups that may ask further, on average",
     .detail = "A lookup beyond that goes on with the sources that it has asked."},
    {WEIR__CONFIG_COUNT(S, dht.quorum), .name = "dht.quorum", .preset = "1", .min = 1, .max = 16,
     .is_live = true, .help = "sources that must have a record of a name",
     .detail = "The one with the highest sequence is told."},
    {WEIR__CONFIG_COUNT(S, dht.tries), .name = "dht.tries", .preset = "3", .min = 1, .max = 10,
     .is_live = true, .help = "times that a source is asked before it has failed"},
    {WEIR__CONFIG_LIST(S, dht.proxies), .name = "dht.proxies", .preset = "", .max = 8,
     .check = check_node, .help = "nodes of OpenDHT that are asked through their REST proxy",
     .detail = "Each is started by 'dhtnode --proxyserver PORT'."},
    {WEIR__CONFIG_BOOL(S, dht.publishes), .name = "dht.publish", .preset = "true",
     .help = "put the records of this node into the DHT, again and again"},
    {WEIR__CONFIG_DURATION(S, dht.republish_ns), .name = "dht.republish_interval", .preset = "5m",
     .min = WEIR_NS_PER_S, .max = HOUR_NS, .is_live = true,
     .help = "time from one round of that to the next",
     .detail = "The DHT forgets a value after ten minutes. What could not be told, to etcd too, "
               "is told with the next round."},
    {WEIR__CONFIG_COUNT(S, dht.publish_rate), .name = "dht.publish_rate", .preset = "50", .min = 1,
     .max = 100000, .is_live = true, .help = "records a second, at most"},

    {WEIR__CONFIG_LIST(S, siblings.nodes), .name = "siblings.nodes", .preset = "", .max = 14,
     .check = check_node, .help = "other nodes of the index that are asked"},
    {WEIR__CONFIG_PATH(S, siblings.token_file), .name = "siblings.token_file", .preset = "",
     .nothing = "none", .help = "file with the token that is shown to them"},
    {WEIR__CONFIG_PATH(S, siblings.ca_file), .name = "siblings.ca_file", .preset = "",
     .nothing = "those of the system", .help = "certificates that are trusted of them"},

    {WEIR__CONFIG_LIST(S, etcd.endpoints), .name = "etcd.endpoints", .preset = "", .max = 8,
     .check = check_node, .help = "members of an etcd that keeps records, too"},
    {WEIR__CONFIG_TEXT(S, etcd.prefix), .name = "etcd.prefix", .preset = "weir/",
     .check = check_prefix, .help = "what the keys there begin with"},
    {WEIR__CONFIG_PATH(S, etcd.ca_file), .name = "etcd.ca_file", .preset = "",
     .nothing = "those of the system", .help = "certificates that are trusted of them"},

    {WEIR__CONFIG_COUNT(S, breaker.error_window_s), .name = "breaker.error_window_s",
     .preset = "30", .min = 1, .max = 3600,
     .help = "seconds over which failures of a source are counted"},
    {WEIR__CONFIG_RATIO(S, breaker.trip_threshold), .name = "breaker.trip_threshold",
     .preset = "0.5", .min = 1, .max = 999,
     .help = "share of failures above which a source is left alone"},
    {WEIR__CONFIG_COUNT(S, breaker.cooldown_s), .name = "breaker.cooldown_s", .preset = "10",
     .min = 1, .max = 3600, .help = "seconds that it is left alone before it is probed"},
    {WEIR__CONFIG_COUNT(S, breaker.half_open_probes), .name = "breaker.half_open_probes",
     .preset = "3", .min = 1, .max = 16, .help = "probes that decide then"},
    {WEIR__CONFIG_COUNT(S, breaker.calls_min), .name = "breaker.calls_min", .preset = "10",
     .min = 1, .max = 1000000, .help = "calls in the window below which nothing is decided"},

    {WEIR__CONFIG_COUNT(S, cache.max_entries), .name = "cache.max_entries", .preset = "100000",
     .min = 1, .max = 1u << 30, .is_live = true, .help = "answers that are kept"},
    {WEIR__CONFIG_SIZE(S, cache.max_bytes), .name = "cache.max_bytes", .preset = "256MiB",
     .min = MIB, .max = TIB, .is_live = true, .help = "memory for them"},
    {WEIR__CONFIG_DURATION(S, cache.ttl_ns), .name = "cache.ttl", .preset = "10s",
     .min = WEIR_NS_PER_MS, .max = 24 * HOUR_NS, .is_live = true,
     .help = "how long an answer is fresh",
     .detail = "And not longer than the record of its name, or the last of its providers."},
    {WEIR__CONFIG_DURATION(S, cache.negative_ttl_ns), .name = "cache.negative_ttl", .preset = "2s",
     .min = WEIR_NS_PER_MS, .max = HOUR_NS, .nothing = "not at all", .is_live = true,
     .help = "how long it is remembered that there is nothing"},
    {WEIR__CONFIG_BOOL(S, cache.serves_stale), .name = "cache.serve_stale", .preset = "true",
     .is_live = true, .help = "answer from before when no source answers, and say so"},
    {WEIR__CONFIG_DURATION(S, cache.stale_ns), .name = "cache.stale_ttl", .preset = "1h",
     .min = WEIR_NS_PER_S, .max = 7 * 24 * HOUR_NS, .is_live = true,
     .help = "for how long after it was fresh"},
    {WEIR__CONFIG_BOOL(S, cache.prefetches), .name = "cache.prefetch", .preset = "true",
     .is_live = true, .help = "look up again what is asked for near the end of its time"},
    {WEIR__CONFIG_LIST(S, cache.warmup_keys), .name = "cache.warmup_keys", .preset = "",
     .check = check_warmup, .help = "names and addresses that are looked up at the start"},

    {WEIR__CONFIG_LIST(S, names.prefixes), .name = "names.prefixes", .preset = "",
     .check = weir__binding_form_check, .help = "whose keys may speak for names without one",
     .detail = "Each is 'PREFIX=KEYID', or several ids with '+' between them. The longest prefix "
               "decides. Without it only names of the form label@keyid mean anything."},

    {WEIR__CONFIG_LIST(S, providers.networks), .name = "providers.networks", .preset = "",
     .check = weir__network_check, .is_live = true,
     .help = "private networks in which providers may be",
     .detail = "Others that are loopback, link-local or private are never connected to."},
    {WEIR__CONFIG_DURATION(S, providers.max_life_ns), .name = "providers.max_life", .preset = "7d",
     .min = 60 * WEIR_NS_PER_S, .max = 400 * 24 * HOUR_NS, .is_live = true,
     .help = "longest time that a provider may speak for"},
    {WEIR__CONFIG_BOOL(S, providers.probes), .name = "providers.probe", .preset = "true",
     .is_live = true, .help = "measure now and then how fast providers answer"},

    {WEIR__CONFIG_BOOL(S, amnesia.is_enabled), .name = "amnesia.enabled", .preset = "false",
     .help = "keep everything in memory, and nothing after the end"},
    {WEIR__CONFIG_SIZE(S, amnesia.max_bytes), .name = "amnesia.max_bytes", .preset = "64MiB",
     .min = MIB, .max = TIB, .help = "memory for records when amnesia.enabled is set"},
    {WEIR__CONFIG_COUNT(S, amnesia.purge_interval_ms), .name = "amnesia.purge_interval_ms",
     .preset = "0", .min = 100, .max = 7 * 24 * 3600 * UINT64_C(1000), .nothing = "never",
     .is_live = true,
     .help = "milliseconds after which everything is forgotten, when amnesia.enabled is set"},
    WEIR__CONFIG_END,
};

/* Keys of sources that are not there. */
static void warn_of_idle(const struct weir__index_config *config, struct weir__config_judge *judge)
{
    static const char no_siblings[] = "it changes nothing without siblings.nodes",
                      no_etcd[] = "it changes nothing without etcd.endpoints",
                      nobody[] = "it changes nothing without etcd.endpoints, or dht.proxies and "
                                 "dht.publish";
    bool has_etcd = config->etcd.endpoints.count > 0, has_dht = config->dht.proxies.count > 0;
    if (config->siblings.nodes.count == 0) {
        weir__config_warn(judge, "siblings.token_file", no_siblings);
        weir__config_warn(judge, "siblings.ca_file", no_siblings);
    }
    if (!has_etcd) {
        weir__config_warn(judge, "etcd.prefix", no_etcd);
        weir__config_warn(judge, "etcd.ca_file", no_etcd);
    }
    if (!has_dht)
        weir__config_warn(judge, "dht.publish", "it changes nothing without dht.proxies");
    if (!has_etcd && !(has_dht && config->dht.publishes)) {
        weir__config_warn(judge, "dht.republish_interval", nobody);
        weir__config_warn(judge, "dht.publish_rate", nobody);
    }
}

/* One that is there twice would be asked twice and counted as two for the quorum. */
static void check_repeated(struct weir__config_judge *judge, const char *key,
                           const struct weir__config_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < i; j++)
            if (weir__source_is_same(list->items[j], list->items[i])) {
                weir__config_object(judge, key, "'%s' and '%s' are the same: name it once",
                                    list->items[j], list->items[i]);
                return;
            }
}

/* Of an entry its prefix is told: the ids behind it look like secrets, and would be covered. */
static void check_prefixes(struct weir__config_judge *judge, const struct weir__config_list *list)
{
    struct weir__bindings *bindings = NULL;
    const char *why = NULL;
    for (size_t i = 0; i < list->count && !why; i++) {
        why = weir__binding_check(list->items[i]);
        if (why)
            weir__config_object(judge, "names.prefixes", "'%.*s': %s",
                                (int)strcspn(list->items[i], "="), list->items[i], why);
    }
    if (why)
        return;
    if (weir__bindings_new(&bindings, list->items, list->count, &why) == -WEIR_E_INVALID)
        weir__config_object(judge, "names.prefixes", "%s", why);
    weir__bindings_free(bindings);
}

static void check_together(const void *values, struct weir__config_judge *judge)
{
    const struct weir__index_config *config = values;
    size_t sources = 1 + config->dht.proxies.count + config->siblings.nodes.count +
                     (config->etcd.endpoints.count > 0);
    check_repeated(judge, "siblings.nodes", &config->siblings.nodes);
    check_repeated(judge, "dht.proxies", &config->dht.proxies);
    check_repeated(judge, "etcd.endpoints", &config->etcd.endpoints);
    check_prefixes(judge, &config->names.prefixes);
    if (config->dht.quorum > sources)
        weir__config_object(judge, "dht.quorum", "there are %zu sources", sources);
    if (sources > 16)
        weir__config_object(judge, "siblings.nodes",
                            "there are %zu sources with the local one, and 16 can be asked",
                            sources);
    if (config->dht.hedge_ms >= config->dht.deadline_ms)
        weir__config_warn(judge, "dht.hedge_ms",
                          "no lookup takes that long: dht.deadline_ms is %llu",
                          (unsigned long long)config->dht.deadline_ms);
    if (!config->amnesia.is_enabled) {
        weir__config_warn(judge, "amnesia.max_bytes",
                          "it changes nothing without amnesia.enabled (--amnesia)");
        weir__config_warn(judge, "amnesia.purge_interval_ms",
                          "it changes nothing without amnesia.enabled (--amnesia)");
    }
    if (!config->cache.serves_stale)
        weir__config_warn(judge, "cache.stale_ttl", "it changes nothing without cache.serve_stale");
    const struct weir__service_config *service = weir__config_judged(judge, &weir__service_table);
    weir__service_check_reached(judge, "queues.work", service->queues.work, "index.resolve_max",
                                config->index.resolve_max);
    warn_of_idle(config, judge);
}

const struct weir__config_table weir__index_table = {
    .name = "index",
    .keys = keys,
    .values_size = sizeof(struct weir__index_config),
    .check = check_together,
};

/* Beside a storage on the same machine. */
static const struct weir__config_key instead[] = {
    {WEIR__CONFIG_LIST(struct weir__service_config, listen), .name = "listen",
     .preset = "127.0.0.1:8471", .min = 1, .max = 16, .check = weir__address_check,
     .help = "addresses to listen on",
     .detail =
         "Each is 'ADDRESS:PORT', '[ADDRESS]:PORT' for IPv6, or 'unix:PATH'. Port 0 is any "
         "that is free. An address that others can reach needs tokens.keys and TLS (tls.cert, "
         "tls.key), or server.open."},
    WEIR__CONFIG_END,
};

static const struct weir__config_table *const tables[] = {&weir__service_table, &weir__index_table,
                                                          NULL};

const struct weir__config_schema weir__index_schema = {
    .tables = tables,
    .variables = weir__service_variables,
    .instead = instead,
};
