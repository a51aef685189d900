/* storage_config.h - what the storage service can be told, besides what all services can.
 *
 * Its table, and the schema of a storage service: all services' keys and these. The index puts a
 * table of its own beside them in the same way.
 *
 * Ownership: the struct belongs to its configuration, and lives as long as that.
 */
#ifndef WEIR_HTTP_STORAGE_CONFIG_H
#define WEIR_HTTP_STORAGE_CONFIG_H

#include "service_config.h"

enum weir__storage_verify {
    WEIR__STORAGE_VERIFY_FIRST,
    WEIR__STORAGE_VERIFY_ALWAYS,
    WEIR__STORAGE_VERIFY_SCRUB
};

struct weir__storage_config {
    const char *data;

    struct {
        uint64_t get_workers;
        uint64_t put_workers;
    } server;

    struct {
        uint64_t repair;
    } queues;

    struct {
        uint64_t chunk_size;
        unsigned verify; /* enum weir__storage_verify */
        uint64_t read_ahead;
    } storage;

    struct {
        uint64_t segment_size;
        uint64_t compact_percent;
        uint64_t compact_rate;
        uint64_t scrub_rate;
        uint64_t scrub_interval_ns;
        uint64_t hot_entries;
        uint64_t pending_bytes;
    } store;

    struct {
        uint64_t repair_pacing;
    } durability;

    struct {
        bool is_enabled;
        uint64_t max_bytes;
    } amnesia;
};

extern const struct weir__config_table weir__storage_table;
extern const struct weir__config_schema weir__storage_schema;

#endif
