/* storage_config.c - the keys of the storage service. */
#include "storage_config.h"

#include "banned.h"

#define S       struct weir__storage_config
#define KIB     (UINT64_C(1) << 10)
#define MIB     (UINT64_C(1) << 20)
#define GIB     (UINT64_C(1) << 30)
#define TIB     (UINT64_C(1) << 40)

#define HOUR_NS (3600 * WEIR_NS_PER_S)

static const char *const verify_words[] = {"first", "always", "scrub", NULL};

static const struct weir__config_key keys[] = {
    {WEIR__CONFIG_PATH(S, data), .name = "data", .preset = "", .nothing = "the default folder",
     .help = "folder that everything is kept in",
     .detail = "It is made if it is not there. The default is weir/storage in $XDG_DATA_HOME "
               "(~/.local/share), for root /var/lib/weir/storage. With amnesia.enabled all is in "
               "memory instead."},

    {WEIR__CONFIG_COUNT(S, server.get_workers), .name = "server.get_workers", .preset = "0",
     .min = 1, .max = 1024, .nothing = "chosen from the cores", .help = "threads that read"},
    {WEIR__CONFIG_COUNT(S, server.put_workers), .name = "server.put_workers", .preset = "0",
     .min = 1, .max = 1024, .nothing = "chosen from the cores", .help = "threads that write"},
    {WEIR__CONFIG_COUNT(S, queues.repair), .name = "queues.repair", .preset = "256", .min = 1,
     .max = 1u << 20, .help = "repairs that wait for a worker"},

    {WEIR__CONFIG_SIZE(S, storage.chunk_size), .name = "storage.chunk_size", .preset = "64KiB",
     .min = 16 * KIB, .max = MIB, .is_live = true,
     .help = "piece in which files are streamed at /f/"},
    {WEIR__CONFIG_WORD(S, storage.verify), .name = "storage.verify", .preset = "first",
     .words = verify_words, .is_live = true, .help = "when bytes are held against their address",
     .detail = "first does so when an object is read for the first time since the start, always at "
               "each read, scrub only in the background."},
    {WEIR__CONFIG_COUNT(S, storage.read_ahead), .name = "storage.read_ahead", .preset = "4",
     .min = 1, .max = 64, .nothing = "one chunk", .is_live = true,
     .help = "pieces of a file that are read ahead of its reader",
     .detail = "Each has storage.chunk_size bytes; a chunk is read as a whole, at least one, and "
               "64 chunks "
               "at most."},

    {WEIR__CONFIG_SIZE(S, store.segment_size), .name = "store.segment_size", .preset = "64MiB",
     .min = 4 * MIB, .max = GIB, .help = "size at which a file of objects is closed"},
    {WEIR__CONFIG_COUNT(S, store.compact_percent), .name = "store.compact_ratio", .preset = "50",
     .min = 5, .max = 95, .is_live = true,
     .help = "percent of a closed file that must be dead before it is written anew"},
    {WEIR__CONFIG_RATE(S, store.compact_rate), .name = "store.compact_rate", .preset = "20MiB/s",
     .min = 64 * KIB, .max = 100 * GIB, .nothing = "no limit", .is_live = true,
     .help = "pace of writing files anew"},
    {WEIR__CONFIG_RATE(S, store.scrub_rate), .name = "store.scrub_rate", .preset = "10MiB/s",
     .min = 64 * KIB, .max = 100 * GIB, .nothing = "no limit", .is_live = true,
     .help = "pace of checking in the background"},
    {WEIR__CONFIG_DURATION(S, store.scrub_interval_ns), .name = "store.scrub_interval",
     .preset = "7d", .min = HOUR_NS, .max = 365 * 24 * HOUR_NS, .nothing = "never", .is_live = true,
     .help = "time from one check of everything to the next"},
    {WEIR__CONFIG_COUNT(S, store.hot_entries), .name = "store.hot_entries", .preset = "65536",
     .min = 1024, .max = 1u << 24, .help = "places of objects that are kept in memory"},
    {WEIR__CONFIG_SIZE(S, store.pending_bytes), .name = "store.pending_bytes", .preset = "64MiB",
     .min = 2 * MIB, .max = 16 * GIB, .help = "bytes that are written and not yet safe on disk",
     .detail = "Writers wait at this limit."},

    {WEIR__CONFIG_RATE(S, durability.repair_pacing), .name = "durability.repair_pacing",
     .preset = "50MiB/s", .min = 64 * KIB, .max = 100 * GIB, .is_live = true,
     .help = "pace of all repairs together"},

    {WEIR__CONFIG_BOOL(S, amnesia.is_enabled), .name = "amnesia.enabled", .preset = "false",
     .help = "keep everything in memory, and nothing after the end"},
    {WEIR__CONFIG_SIZE(S, amnesia.max_bytes), .name = "amnesia.max_bytes", .preset = "256MiB",
     .min = 8 * MIB, .max = TIB, .help = "memory for objects when amnesia.enabled is set",
     .detail = "An eighth of it, and at least 4 MiB, is kept free for deletions and for writing "
               "files anew, and some is lost at the end of each file: 8MiB hold some 4 MiB of "
               "objects, 256MiB some 210 MiB."},
    WEIR__CONFIG_END,
};

static void check_together(const void *values, struct weir__config_judge *judge)
{
    const struct weir__storage_config *config = values;
    const struct weir__service_config *service = weir__config_judged(judge, &weir__service_table);
    weir__service_check_reached(judge, "server.get_workers", config->server.get_workers,
                                "server.max_inflight", service->server.max_inflight);
    weir__service_check_reached(judge, "server.put_workers", config->server.put_workers,
                                "server.max_inflight", service->server.max_inflight);
    if (!config->amnesia.is_enabled)
        weir__config_warn(judge, "amnesia.max_bytes",
                          "it changes nothing without amnesia.enabled (--amnesia)");
}

const struct weir__config_table weir__storage_table = {
    .name = "storage",
    .keys = keys,
    .values_size = sizeof(struct weir__storage_config),
    .check = check_together,
};

static const struct weir__config_table *const tables[] = {&weir__service_table,
                                                          &weir__storage_table, NULL};

const struct weir__config_schema weir__storage_schema = {
    .tables = tables,
    .variables = weir__service_variables,
};
