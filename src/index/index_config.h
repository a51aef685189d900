/* index_config.h - what the index service can be told, besides what all services can.
 *
 * Names of keys are those of the first design, also where they have their unit in them (hedge_ms,
 * cooldown_s): who knows it finds them here.
 *
 * Ownership: the struct belongs to its configuration, and lives as long as that.
 */
#ifndef WEIR_INDEX_INDEX_CONFIG_H
#define WEIR_INDEX_INDEX_CONFIG_H

#include "service_config.h"

struct weir__index_config {
    const char *data;

    struct {
        uint64_t workers;
        uint64_t resolve_max;
        uint64_t publish_max;
        uint64_t list_max;
        const char *region;
        uint64_t map_bytes;
    } index;

    struct {
        uint64_t alpha;
        uint64_t beta;
        uint64_t hedge_ms;
        uint64_t deadline_ms;
        uint64_t hedge_ratio; /* thousandths */
        uint64_t quorum;
        uint64_t tries;
        struct weir__config_list proxies;
        bool publishes;
        uint64_t republish_ns;
        uint64_t publish_rate;
    } dht;

    struct {
        struct weir__config_list nodes;
        const char *token_file;
        const char *ca_file;
    } siblings;

    struct {
        struct weir__config_list endpoints;
        const char *prefix;
        const char *ca_file;
    } etcd;

    struct {
        uint64_t error_window_s;
        uint64_t trip_threshold; /* thousandths */
        uint64_t cooldown_s;
        uint64_t half_open_probes;
        uint64_t calls_min;
    } breaker;

    struct {
        uint64_t max_entries;
        uint64_t max_bytes;
        uint64_t ttl_ns;
        uint64_t negative_ttl_ns;
        bool serves_stale;
        uint64_t stale_ns;
        bool prefetches;
        struct weir__config_list warmup_keys;
    } cache;

    struct {
        struct weir__config_list prefixes;
    } names;

    struct {
        struct weir__config_list networks;
        uint64_t max_life_ns;
        bool probes;
    } providers;

    struct {
        bool is_enabled;
        uint64_t max_bytes;
        uint64_t purge_interval_ms;
    } amnesia;
};

extern const struct weir__config_table weir__index_table;
extern const struct weir__config_schema weir__index_schema;

#endif
