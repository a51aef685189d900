/* slots.h - how many jobs may lean on one disk at once.
 *
 * Work that maps files reads them by page faults, which nobody counts. So it is admitted by the
 * disk that it will fault on: every disk has a few slots, a job takes one for as long as it runs.
 *
 * A device is a disk, not a file system: a path's file system is followed through partitions,
 * device-mapper, md, loop files and overlays down to the disks below (see weir_device_find()), so
 * that two partitions of one disk share its slots. What lies on several disks counts as one of
 * them: the one whose kind has the fewest slots, the lowest number among equals. So all volumes of
 * one array or volume group meet in one pool, and it is the pool of their slowest disk.
 *
 * Promises
 * - Never more slots of a device are out than it has: by default 2 for a rotational disk, 4 for a
 *   solid or virtual one, 8 for NVMe, 4 for whatever cannot be told. Zero slots are refused.
 * - Devices do not share slots, except: all unknown devices share one pool, and so does a new
 *   device that finds the table full of devices in use (counted as `shared`).
 * - Within a device first in, first out, with the rules of <weir/budget.h> for deadlines, cancel
 *   and grant.
 * - The table of devices is bounded. A device that nobody holds or waits for is forgotten when it
 *   was unused for idle_ns, looked at whenever a new device appears, or earlier when the table is
 *   full (the one unused longest goes first), or by weir_slots_prune().
 * - It limits jobs. How the kernel orders their faults and what it evicts is the kernel's business.
 *
 * Memory order: as for a budget, per device.
 *
 * Cost: finding a device is one statx and a few reads of sysfs: do it once per job and keep the
 * answer. Taking or returning a slot is one short lock and one budget operation, no system call;
 * the first use of a device allocates its budget.
 *
 * Ownership: the slots live in the caller's memory and must outlive their permits and waiters; a
 * permit belongs to whoever holds the struct that acquire filled in, and is released there once.
 */
#ifndef WEIR_SLOTS_H
#define WEIR_SLOTS_H

#include <weir/budget.h>

WEIR_BEGIN_DECLS

/* ---- devices ---- */

enum weir_disk {
    WEIR_DISK_UNKNOWN = 0, /* no answer from sysfs */
    WEIR_DISK_ROTATIONAL,
    WEIR_DISK_SOLID,
    WEIR_DISK_VIRTUAL, /* virtio and Xen: says that it is rotational and is not */
    WEIR_DISK_NVME,
    WEIR_DISK_NONE /* no disk of this machine below: memory, network */
};

/* "unknown", "rotational", "solid", "virtual", "nvme", "none". */
WEIR_API const char *weir_disk_name(enum weir_disk kind);

/* How many slots a disk of this kind has by default. */
WEIR_API uint64_t weir_disk_slots(enum weir_disk kind);

struct weir_device {
    uint64_t _raw; /* device number of the disk, or of the file system when no disk is known */
    enum weir_disk _kind;
};

/* For numbers from elsewhere, and for tests: the kind is unknown. */
static inline struct weir_device weir_device_from_raw(uint64_t raw)
{
    struct weir_device device = {raw, WEIR_DISK_UNKNOWN};
    return device;
}

#define WEIR_DEVICE_UNKNOWN_RAW UINT64_MAX
#define WEIR_DEVICE_UNKNOWN     weir_device_from_raw(WEIR_DEVICE_UNKNOWN_RAW)

static inline uint64_t weir_device_raw(struct weir_device device)
{
    return device._raw;
}

static inline enum weir_disk weir_device_kind(struct weir_device device)
{
    return device._kind;
}

static inline bool weir_device_is_unknown(struct weir_device device)
{
    return device._raw == WEIR_DEVICE_UNKNOWN_RAW;
}

/* The device below a path; unknown when the path cannot be looked at. Symbolic links are followed.
 */
WEIR_API struct weir_device weir_device_from_path(const char *path);

/* The same, saying why not: NotFound, Denied, Invalid (NULL or empty), Io. */
WEIR_API WEIR_MUST_USE int weir_device_try_from_path(const char *path,
                                                     struct weir_device *ret_device);

/* Where to look; NULL stands for the real thing. */
struct weir_device_options {
    const char *sysfs;     /* "/sys" */
    const char *mountinfo; /* "/proc/self/mountinfo" */
};

#define WEIR_DEVICE_DISKS_MAX 16
#define WEIR_DEVICE_NAME_MAX  32

struct weir_device_disk {
    uint64_t number;
    enum weir_disk kind;
    char name[WEIR_DEVICE_NAME_MAX]; /* "sda"; of WEIR_DISK_NONE the type of the file system */
};

struct weir_device_info {
    struct weir_device device;
    uint64_t number;      /* st_dev of the path */
    uint32_t disks_count; /* at most WEIR_DEVICE_DISKS_MAX are listed, by number; above that it is
                             an upper bound, since a disk may be met by several ways */
    struct weir_device_disk disks[WEIR_DEVICE_DISKS_MAX];
};

/* All that is known about what lies below a path. A file system without a device number of its own
 * (btrfs, overlay) is found through mountinfo: by its source, an overlay by its upper or else its
 * first lower directory. What cannot be followed further counts as a disk of its own. */
WEIR_API WEIR_MUST_USE int weir_device_find(const char *path,
                                            const struct weir_device_options *options,
                                            struct weir_device_info *ret_info);

/* The same for a device number, as st_dev has it. Never fails. */
WEIR_API void weir_device_find_number(uint64_t number, const struct weir_device_options *options,
                                      struct weir_device_info *ret_info);

/* ---- configuration ---- */

#define WEIR_SLOTS_OVERRIDES_MAX   32
#define WEIR_SLOTS_DEVICES_DEFAULT 64u
#define WEIR_SLOTS_DEVICES_MAX     4096u
#define WEIR_SLOTS_IDLE_DEFAULT_NS (UINT64_C(600) * WEIR_NS_PER_S)

/* All zero is a good configuration: by kind of disk. Copied by weir_slots_init(). */
struct weir_slots_config {
    uint64_t default_slots; /* for every device without an override; 0: by kind of disk */
    uint32_t devices_max;   /* 0: WEIR_SLOTS_DEVICES_DEFAULT */
    uint32_t waiters_max;   /* per device; 0: WEIR_BUDGET_WAITERS_DEFAULT */
    uint64_t idle_ns;       /* 0: WEIR_SLOTS_IDLE_DEFAULT_NS */
    uint32_t overrides_count;
    struct {
        struct weir_device device;
        uint64_t slots;
    } overrides[WEIR_SLOTS_OVERRIDES_MAX];
};

/* The same number of slots for every device. Invalid: 0 slots, or more than WEIR_BUDGET_MAX. */
WEIR_API WEIR_MUST_USE int weir_slots_config_uniform(struct weir_slots_config *config,
                                                     uint64_t slots);

/* Overrides one device (WEIR_DEVICE_UNKNOWN for the shared pool); a second one for the same device
 * replaces the first. Invalid: 0 slots or too many; Overflow: WEIR_SLOTS_OVERRIDES_MAX are there.
 */
WEIR_API WEIR_MUST_USE int weir_slots_config_device(struct weir_slots_config *config,
                                                    struct weir_device device, uint64_t slots);

/* Overrides the device that a path lies on now. Also what weir_device_try_from_path() answers. */
WEIR_API WEIR_MUST_USE int weir_slots_config_path(struct weir_slots_config *config,
                                                  const char *path, uint64_t slots);

/* ---- slots ---- */

struct weir__slots_entry;

#define WEIR__SLOTS_BUCKETS 64

struct weir_slots {
    struct weir_lock _lock; /* guards what follows, but the configuration, which stands still */
    struct weir__slots_entry *_buckets[WEIR__SLOTS_BUCKETS];
    struct weir__slots_entry *_unknown;
    uint32_t _count;
    uint64_t _created;
    uint64_t _pruned;
    uint64_t _shared;
    struct {
        uint64_t acquired, released, enqueued, granted, canceled, timed_out, refused, busy;
    } _past; /* of budgets that are gone */
    struct weir_slots_config _config;
    char _name[WEIR_NAME_MAX];
};

/* What acquire fills in. All zero is an empty permit. */
struct weir_slots_permit {
    struct weir_permit _permit;
    struct weir_slots *_slots;
    struct weir__slots_entry *_entry;
    struct weir_device _device;
};

#define WEIR_SLOTS_PERMIT_NONE                                                                     \
    {                                                                                              \
        WEIR_PERMIT_NONE, NULL, NULL,                                                              \
        {                                                                                          \
            0, WEIR_DISK_UNKNOWN                                                                   \
        }                                                                                          \
    }

/* Life cycle; config may be NULL. Invalid: a bad name, an override of 0 slots, more devices than
 * WEIR_SLOTS_DEVICES_MAX. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_slots_init(struct weir_slots *slots, const char *name,
                                           const struct weir_slots_config *config);

/* Asserts that every permit is home and nobody waits. Accepts NULL and an object that is all zero.
 */
WEIR_API void weir_slots_fini(struct weir_slots *slots);

/* Takes a slot if one is free and nobody waits; Busy otherwise. Never waits. NoMemory. */
WEIR_API WEIR_MUST_USE int weir_slots_try(struct weir_slots *slots, struct weir_device device,
                                          struct weir_slots_permit *ret_permit);

/* Takes a slot, waiting in line. Timeout, Canceled, Busy when too many wait, NoMemory. */
WEIR_API WEIR_MUST_USE int weir_slots_acquire(struct weir_slots *slots, struct weir_device device,
                                              struct weir_slots_permit *ret_permit,
                                              const struct weir_deadline *deadline);

/* Finds the device of the path (unknown when it cannot be looked at), then tries. */
WEIR_API WEIR_MUST_USE int weir_slots_try_for_path(struct weir_slots *slots, const char *path,
                                                   struct weir_slots_permit *ret_permit);

/* Gives the slot back and empties the permit. An empty permit is left alone, so this may be the
 * WEIR_CLEANUP of a variable whose permit was moved on. */
WEIR_API void weir_slots_release(struct weir_slots_permit *permit);

/* Hands the permit over: *to must be empty, *from becomes empty. */
WEIR_API void weir_slots_permit_move(struct weir_slots_permit *to, struct weir_slots_permit *from);

static inline bool weir_slots_permit_is_held(const struct weir_slots_permit *permit)
{
    return permit->_slots != NULL;
}

/* The device that was asked for. */
static inline struct weir_device weir_slots_permit_device(const struct weir_slots_permit *permit)
{
    return permit->_device;
}

/* Waiters with a callback, for schedulers and event loops; lifetime and rules as for struct
 * weir_budget_waiter: from WEIR_BUDGET_QUEUED on the waiter belongs to the slots until fn is called
 * or weir_slots_cancel_async() returns true; one of the two happens, never both. fn is called with
 * no lock held, may free the waiter, and must not wait. The device is kept while it is waited for.
 */
struct weir_slots_waiter {
    struct weir_budget_waiter _waiter; /* first, so that the budget's callback finds the rest */
    struct weir_slots *_slots;
    struct weir__slots_entry *_entry;
    struct weir_device _device;
    uint64_t _key;
    void (*_fn)(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit);
};

/* 0: *ret_permit is filled in and fn will not be called. WEIR_BUDGET_QUEUED: fn will be called with
 * result 0 and the permit. Negative: refused, fn will not be called. */
WEIR_API WEIR_MUST_USE int weir_slots_acquire_async(
    struct weir_slots *slots, struct weir_device device, struct weir_slots_permit *ret_permit,
    struct weir_slots_waiter *waiter,
    void (*fn)(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit));

/* True: the waiter left the line and is the caller's again. False: fn was called, is running, or is
 * about to be. Allowed after fn has been called only while the waiter's memory still exists. */
WEIR_API bool weir_slots_cancel_async(struct weir_slots *slots, struct weir_slots_waiter *waiter);

/* Forgets the devices that nobody holds or waits for and that were last used so long ago (0: all
 * such). Returns how many. */
WEIR_API uint64_t weir_slots_prune(struct weir_slots *slots, uint64_t older_than_ns);

/* ---- introspection ---- */

/* Free slots of a device. NotFound when it was never used, or is forgotten. */
WEIR_API WEIR_MUST_USE int weir_slots_available(struct weir_slots *slots, struct weir_device device,
                                                uint64_t *ret_available);

/* How many slots the device has, used or not. */
WEIR_API uint64_t weir_slots_total(const struct weir_slots *slots, struct weir_device device);

/* How many devices are in the table, the pool of the unknown included once it was used. */
WEIR_API uint64_t weir_slots_active(struct weir_slots *slots);

/* A picture over all devices. The counts only grow, whatever is pruned; acquired - released is the
 * number of slots out, created - pruned the number of devices in the table without the pool of the
 * unknown, and enqueued = granted + canceled + timed_out + refused + waiting. */
struct weir_slots_stats {
    uint64_t devices;
    uint64_t devices_max;
    uint64_t in_use;
    uint64_t waiting;
    uint64_t acquired;
    uint64_t released;
    uint64_t enqueued;
    uint64_t granted;
    uint64_t canceled;
    uint64_t timed_out;
    uint64_t refused;
    uint64_t busy;
    uint64_t created; /* devices entered into the table */
    uint64_t pruned;  /* and forgotten */
    uint64_t shared;  /* requests sent to the unknown pool because the table was full */
};

WEIR_API void weir_slots_read(struct weir_slots *slots, struct weir_slots_stats *ret_stats);

struct weir_slots_device {
    struct weir_device device;
    uint64_t total;
    uint64_t in_use;
    uint64_t waiting;
    /* Since the device was entered into the table: */
    uint64_t enqueued; /* requests that had to wait */
    uint64_t busy;     /* requests that were refused at once */
};

/* Fills in at most room devices, in no order; returns how many there are. */
WEIR_API size_t weir_slots_list(struct weir_slots *slots, struct weir_slots_device *ret_devices,
                                size_t room);
WEIR_API const char *weir_slots_name(const struct weir_slots *slots);

WEIR_END_DECLS

#endif
