/* Slots: the nine groups of the paper that they come from, the limits of the table, pruning. */
#include "tap.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/slots.h>

#include "atomic.h"
#include "clock.h"
#include "thread.h"

static struct weir_device disk(uint64_t raw)
{
    return weir_device_from_raw(raw);
}

static void make_uniform(struct weir_slots *slots, uint64_t count)
{
    struct weir_slots_config config = {0};
    CHECK_EQ(weir_slots_config_uniform(&config, count), 0);
    CHECK_EQ(weir_slots_init(slots, "disks", &config), 0);
}

static uint64_t available(struct weir_slots *slots, struct weir_device device)
{
    uint64_t count = 99;
    CHECK_EQ(weir_slots_available(slots, device, &count), 0);
    return count;
}

TEST(basic_slot_lifecycle)
{
    struct weir_slots slots;
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE,
                             c = WEIR_SLOTS_PERMIT_NONE;
    uint64_t count = 7;
    make_uniform(&slots, 2);
    CHECK_STR(weir_slots_name(&slots), "disks");
    CHECK_EQ(weir_slots_active(&slots), 0);
    CHECK_EQ(weir_slots_total(&slots, disk(1)), 2);
    CHECK_EQ(weir_slots_available(&slots, disk(1), &count), -WEIR_E_NOT_FOUND);
    CHECK_EQ(count, 7);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &a), 0);
    CHECK_EQ(weir_device_raw(weir_slots_permit_device(&a)), 1);
    CHECK_EQ(weir_slots_active(&slots), 1);
    CHECK_EQ(available(&slots, disk(1)), 1);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &b), 0);
    CHECK_EQ(available(&slots, disk(1)), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &c), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "budget 'disks/0:1': 1 asked for, 0 free, 0 waiting");
    CHECK(!weir_slots_permit_is_held(&c));
    weir_slots_release(&a);
    CHECK(!weir_slots_permit_is_held(&a));
    weir_slots_release(&a); /* empty: left alone */
    CHECK_EQ(weir_slots_try(&slots, disk(1), &c), 0);
    weir_slots_permit_move(&a, &c);
    weir_slots_release(&c);
    weir_slots_release(&a);
    weir_slots_release(&b);
    CHECK_EQ(available(&slots, disk(1)), 2);
    struct weir_slots_stats stats;
    weir_slots_read(&slots, &stats);
    CHECK_EQ(stats.acquired, 3);
    CHECK_EQ(stats.released, 3);
    CHECK_EQ(stats.busy, 1);
    CHECK_EQ(stats.in_use, 0);
    weir_slots_fini(&slots);
}

TEST(multi_device_isolation)
{
    struct weir_slots slots;
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE,
                             c = WEIR_SLOTS_PERMIT_NONE;
    struct weir_slots_device list[2];
    make_uniform(&slots, 1);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &a), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(2), &b), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &c), -WEIR_E_BUSY);
    CHECK_EQ(weir_slots_active(&slots), 2);
    CHECK_EQ(weir_slots_list(&slots, list, 2), 2);
    CHECK_EQ(weir_device_raw(list[0].device) + weir_device_raw(list[1].device), 3);
    CHECK_EQ(list[0].total, 1);
    CHECK_EQ(list[1].in_use, 1);
    CHECK_EQ(list[0].busy, weir_device_raw(list[0].device) == 1);
    CHECK_EQ(list[1].busy, weir_device_raw(list[1].device) == 1);
    CHECK_EQ(list[0].enqueued + list[1].enqueued, 0);
    CHECK_EQ(weir_slots_list(&slots, list, 0), 2);
    weir_slots_release(&b);
    CHECK_EQ(available(&slots, disk(2)), 1);
    CHECK_EQ(available(&slots, disk(1)), 0);
    weir_slots_release(&a);
    weir_slots_fini(&slots);
}

TEST(configuration_overrides)
{
    struct weir_slots slots;
    struct weir_slots_config config = {0};
    struct weir_device fast = disk(5), slow = disk(6);
    CHECK_EQ(weir_slots_config_uniform(&config, 4), 0);
    CHECK_EQ(weir_slots_config_device(&config, fast, 8), 0);
    CHECK_EQ(weir_slots_config_device(&config, slow, 3), 0);
    CHECK_EQ(weir_slots_config_device(&config, slow, 2), 0); /* the last one counts */
    CHECK_EQ(weir_slots_config_path(&config, "/", 1), 0);
    CHECK_EQ(config.overrides_count, 3);
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), 0);
    CHECK_EQ(weir_slots_total(&slots, fast), 8);
    CHECK_EQ(weir_slots_total(&slots, slow), 2);
    CHECK_EQ(weir_slots_total(&slots, disk(7)), 4);
    CHECK_EQ(weir_slots_total(&slots, weir_device_from_path("/")), 1);
    weir_slots_fini(&slots);
    /* By kind of disk where nothing is said. */
    CHECK_EQ(weir_slots_init(&slots, "disks", NULL), 0);
    struct weir_device nvme = {9, WEIR_DISK_NVME}, spinning = {10, WEIR_DISK_ROTATIONAL};
    struct weir_device solid = {11, WEIR_DISK_SOLID}, virtio = {12, WEIR_DISK_VIRTUAL};
    CHECK_EQ(weir_slots_total(&slots, nvme), 8);
    CHECK_EQ(weir_slots_total(&slots, spinning), 2);
    CHECK_EQ(weir_slots_total(&slots, solid), 4);
    CHECK_EQ(weir_slots_total(&slots, virtio), 4);
    CHECK_EQ(weir_slots_total(&slots, disk(13)), 4);
    weir_slots_fini(&slots);
}

TEST(unknown_device_handling)
{
    struct weir_slots slots;
    struct weir_slots_permit held[4] = {WEIR_SLOTS_PERMIT_NONE}, more = WEIR_SLOTS_PERMIT_NONE;
    CHECK(weir_device_raw(WEIR_DEVICE_UNKNOWN) == UINT64_MAX);
    CHECK(weir_device_is_unknown(WEIR_DEVICE_UNKNOWN));
    CHECK(weir_device_is_unknown(disk(UINT64_MAX)));
    CHECK(!weir_device_is_unknown(disk(0)));
    CHECK(weir_device_is_unknown(weir_device_from_path("/no/such/path")));
    CHECK(weir_device_is_unknown(weir_device_from_path(NULL)));
    CHECK_EQ(weir_slots_init(&slots, "disks", NULL), 0);
    CHECK_EQ(weir_slots_active(&slots), 0);
    uint64_t count;
    CHECK_EQ(weir_slots_available(&slots, WEIR_DEVICE_UNKNOWN, &count), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir_slots_total(&slots, WEIR_DEVICE_UNKNOWN), 4);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(weir_slots_try_for_path(&slots, i % 2 ? "/no/such" : "/nor/this", &held[i]), 0);
    CHECK(weir_device_is_unknown(weir_slots_permit_device(&held[0])));
    CHECK_EQ(weir_slots_try(&slots, WEIR_DEVICE_UNKNOWN, &more), -WEIR_E_BUSY);
    CHECK_HAS(weir_error_detail(), "'disks/unknown'");
    CHECK_EQ(weir_slots_active(&slots), 1);
    for (int i = 0; i < 4; i++)
        weir_slots_release(&held[i]);
    CHECK_EQ(weir_slots_prune(&slots, 0), 0); /* the shared pool stays */
    CHECK_EQ(available(&slots, WEIR_DEVICE_UNKNOWN), 4);
    weir_slots_fini(&slots);
    struct weir_slots_config config = {0};
    CHECK_EQ(weir_slots_config_device(&config, WEIR_DEVICE_UNKNOWN, 1), 0);
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), 0);
    CHECK_EQ(weir_slots_total(&slots, WEIR_DEVICE_UNKNOWN), 1);
    weir_slots_fini(&slots);
}

#define CROWD 8

struct crowd {
    struct weir_slots slots;
    uint32_t arrived;
    uint32_t inside;
    uint32_t most;
};

static void join_crowd(void *arg)
{
    struct crowd *crowd = arg;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    weir__add32(&crowd->arrived, 1);
    while (weir__load32(&crowd->arrived) < CROWD) {} /* the barrier */
    for (int i = 0; i < 200; i++) {
        struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
        if (weir_slots_acquire(&crowd->slots, disk(1), &permit, &deadline) != 0)
            return;
        uint32_t inside = weir__add32(&crowd->inside, 1) + 1;
        uint32_t most = weir__load32(&crowd->most);
        while (inside > most && !weir__cas32(&crowd->most, &most, inside)) {}
        weir__add32(&crowd->inside, -1u);
        weir_slots_release(&permit);
    }
}

TEST(concurrent_acquisition_with_barrier)
{
    static struct crowd crowd;
    struct weir__thread threads[CROWD];
    memset(&crowd, 0, sizeof(crowd));
    make_uniform(&crowd.slots, 3);
    for (int i = 0; i < CROWD; i++)
        CHECK_EQ(weir__thread_start(&threads[i], "crowd", join_crowd, &crowd), 0);
    for (int i = 0; i < CROWD; i++)
        weir__thread_join(&threads[i]);
    CHECK(weir__load32(&crowd.most) >= 1);
    CHECK(weir__load32(&crowd.most) <= 3);
    struct weir_slots_stats stats;
    weir_slots_read(&crowd.slots, &stats);
    CHECK_EQ(stats.acquired, CROWD * 200);
    CHECK_EQ(stats.released, CROWD * 200);
    weir_slots_fini(&crowd.slots);
}

struct blocked {
    struct weir_slots *slots;
    struct weir_deadline deadline;
    int result;
};

static void block(void *arg)
{
    struct blocked *blocked = arg;
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    blocked->result = weir_slots_acquire(blocked->slots, disk(1), &permit, &blocked->deadline);
    weir_slots_release(&permit);
}

static void until_waiting(struct weir_slots *slots, uint64_t wanted)
{
    struct weir_slots_stats stats;
    do {
        weir_slots_read(slots, &stats);
    } while (stats.waiting != wanted);
}

TEST(blocking_semantics)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_slots slots;
    struct weir_slots_permit held = WEIR_SLOTS_PERMIT_NONE;
    struct weir_cancel token;
    weir_cancel_init(&token, NULL);
    make_uniform(&slots, 1);
    CHECK_EQ(weir_slots_acquire(&slots, disk(1), &held, NULL), 0);
    struct blocked granted = {&slots, {WEIR_NEVER, &token}, 99};
    struct blocked late = {&slots, {2 * WEIR_NS_PER_S, NULL}, 99};
    struct blocked stopped = {&slots, {WEIR_NEVER, &token}, 99};
    struct weir__thread threads[3];
    CHECK_EQ(weir__thread_start(&threads[0], "granted", block, &granted), 0);
    CHECK_EQ(weir__thread_start(&threads[1], "late", block, &late), 0);
    until_waiting(&slots, 2);
    CHECK_EQ(weir_slots_prune(&slots, 0), 0); /* waited for: kept */
    weir__clock_advance(WEIR_NS_PER_S);
    weir__thread_join(&threads[1]);
    CHECK_EQ(late.result, -WEIR_E_TIMEOUT);
    weir_slots_release(&held);
    weir__thread_join(&threads[0]);
    CHECK_EQ(granted.result, 0);
    CHECK_EQ(weir_slots_acquire(&slots, disk(1), &held, NULL), 0);
    CHECK_EQ(weir__thread_start(&threads[2], "stopped", block, &stopped), 0);
    until_waiting(&slots, 1);
    weir_cancel_fire(&token);
    weir__thread_join(&threads[2]);
    CHECK_EQ(stopped.result, -WEIR_E_CANCELED);
    weir_slots_release(&held);
    weir_slots_fini(&slots);
    weir_cancel_fini(&token);
    weir__clock_unfake();
}

TEST(raii_correctness)
{
    struct weir_slots slots;
    make_uniform(&slots, 1);
    for (int i = 0; i < 3; i++) {
        WEIR_CLEANUP(weir_slots_release)
        struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
        CHECK_EQ(weir_slots_try(&slots, disk(1), &permit), 0);
        if (i == 1)
            continue; /* whatever way it is left */
        CHECK_EQ(available(&slots, disk(1)), 0);
    }
    CHECK_EQ(available(&slots, disk(1)), 1);
    weir_slots_fini(&slots);
}

TEST(device_detection_on_the_real_file_system)
{
    struct weir_device root, here;
    struct weir_device_info info;
    struct stat status;
    CHECK_EQ(weir_device_try_from_path("/", &root), 0);
    CHECK(!weir_device_is_unknown(root));
    CHECK_EQ(weir_device_try_from_path(".", &here), 0);
    CHECK_EQ(weir_device_raw(weir_device_from_path(".")), weir_device_raw(here));
    CHECK_EQ(stat("/", &status), 0);
    CHECK_EQ(weir_device_find("/", NULL, &info), 0);
    CHECK_EQ(info.number, status.st_dev);
    CHECK(info.disks_count >= 1);
    CHECK_EQ(weir_device_raw(info.device), weir_device_raw(root));
    /* Memory has no disk, and is not the disk of the root. */
    if (stat("/dev/shm", &status) == 0 && status.st_dev != info.number) {
        CHECK_EQ(weir_device_find("/dev/shm", NULL, &info), 0);
        CHECK(weir_device_raw(info.device) != weir_device_raw(root));
    }
}

TEST(error_cases)
{
    struct weir_slots slots;
    struct weir_slots_config config = {0};
    struct weir_device device = disk(77);
    char name_of_300[301];
    CHECK_EQ(weir_slots_config_uniform(&config, 0), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "0 slots for a device were asked for, it may be 1 to");
    CHECK_EQ(weir_slots_config_device(&config, disk(1), 0), -WEIR_E_INVALID);
    CHECK_EQ(weir_slots_config_device(&config, disk(1), WEIR_BUDGET_MAX + 1), -WEIR_E_INVALID);
    CHECK_EQ(weir_slots_config_path(&config, "/no/such", 1), -WEIR_E_NOT_FOUND);
    CHECK_EQ(config.overrides_count, 0);
    config.overrides_count = 1; /* by hand, with 0 slots */
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), -WEIR_E_INVALID);
    config = (struct weir_slots_config){.overrides_count = WEIR_SLOTS_OVERRIDES_MAX + 1};
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), -WEIR_E_INVALID);
    config = (struct weir_slots_config){.devices_max = WEIR_SLOTS_DEVICES_MAX + 1};
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), -WEIR_E_INVALID);
    CHECK_EQ(weir_slots_init(&slots, "", NULL), -WEIR_E_INVALID);
    config = (struct weir_slots_config){0};
    for (uint64_t i = 0; i < WEIR_SLOTS_OVERRIDES_MAX; i++)
        CHECK_EQ(weir_slots_config_device(&config, disk(i), 1), 0);
    CHECK_EQ(weir_slots_config_device(&config, disk(99), 1), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir_slots_config_device(&config, disk(3), 2), 0); /* a change of one that is there */
    CHECK_EQ(weir_device_try_from_path("/no/such/path", &device), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir_error_detail(), "device of '/no/such/path': there is no such path");
    CHECK_EQ(weir_device_try_from_path("", &device), -WEIR_E_INVALID);
    CHECK_EQ(weir_device_try_from_path(NULL, &device), -WEIR_E_INVALID);
    memset(name_of_300, 'x', 300);
    name_of_300[300] = '\0';
    CHECK_EQ(weir_device_try_from_path(name_of_300, &device), -WEIR_E_INVALID);
    CHECK_HAS(weir_error_detail(), "device of '...xxx");
    CHECK_EQ(weir_device_raw(device), 77); /* untouched */
    weir_slots_fini(NULL);
    struct weir_slots zero;
    memset(&zero, 0, sizeof(zero));
    weir_slots_fini(&zero);
}

TEST(unused_devices_are_forgotten)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_slots slots;
    struct weir_slots_stats stats;
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE, held = WEIR_SLOTS_PERMIT_NONE;
    struct weir_slots_config config = {.idle_ns = 100};
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &held), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(2), &permit), 0);
    weir_slots_release(&permit);
    weir__clock_advance(50);
    CHECK_EQ(weir_slots_prune(&slots, 51), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(3), &permit), 0); /* nothing is old enough yet */
    weir_slots_release(&permit);
    CHECK_EQ(weir_slots_active(&slots), 3);
    CHECK_EQ(weir_slots_prune(&slots, 50), 1);
    uint64_t count;
    CHECK_EQ(weir_slots_available(&slots, disk(2), &count), -WEIR_E_NOT_FOUND);
    weir__clock_advance(100);
    CHECK_EQ(weir_slots_try(&slots, disk(4), &permit), 0); /* a new one looks for old ones */
    weir_slots_release(&permit);
    CHECK_EQ(weir_slots_available(&slots, disk(3), &count), -WEIR_E_NOT_FOUND);
    CHECK_EQ(available(&slots, disk(1)), 3); /* held: kept however old */
    weir_slots_release(&held);
    weir_slots_read(&slots, &stats);
    CHECK_EQ(stats.created, 4);
    CHECK_EQ(stats.pruned, 2);
    CHECK_EQ(stats.acquired, 4); /* those of the forgotten ones included */
    CHECK_EQ(stats.released, 4);
    CHECK_EQ(weir_slots_prune(&slots, 0), 2);
    weir_slots_fini(&slots);
    weir__clock_unfake();
}

TEST(a_full_table_makes_room_or_shares)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_slots slots;
    struct weir_slots_stats stats;
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE,
                             c = WEIR_SLOTS_PERMIT_NONE;
    struct weir_slots_config config = {.default_slots = 1, .devices_max = 2};
    uint64_t count;
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(1), &a), 0);
    weir_slots_release(&a);
    weir__clock_advance(1);
    CHECK_EQ(weir_slots_try(&slots, disk(2), &a), 0);
    weir_slots_release(&a);
    weir__clock_advance(1);
    CHECK_EQ(weir_slots_try(&slots, disk(3), &a), 0); /* 1 was unused longest */
    CHECK_EQ(weir_slots_available(&slots, disk(1), &count), -WEIR_E_NOT_FOUND);
    CHECK_EQ(available(&slots, disk(2)), 1);
    CHECK_EQ(weir_slots_try(&slots, disk(2), &b), 0);
    CHECK_EQ(weir_slots_try(&slots, disk(4), &c), 0); /* all in use: the shared pool */
    CHECK_EQ(weir_device_raw(weir_slots_permit_device(&c)), 4);
    CHECK_EQ(available(&slots, WEIR_DEVICE_UNKNOWN), 0);
    struct weir_slots_permit d = WEIR_SLOTS_PERMIT_NONE;
    CHECK_EQ(weir_slots_try(&slots, disk(5), &d), -WEIR_E_BUSY);
    weir_slots_read(&slots, &stats);
    CHECK_EQ(stats.shared, 2);
    CHECK_EQ(stats.devices, 3);
    CHECK_EQ(stats.devices_max, 2);
    weir_slots_release(&a);
    weir_slots_release(&b);
    weir_slots_release(&c);
    weir_slots_fini(&slots);
    weir__clock_unfake();
}

/* Callback waiters. */
struct turn {
    struct weir_slots_waiter waiter;
    struct weir_slots_permit permit;
    int result;
};

static void on_turn(struct weir_slots_waiter *waiter, int result, struct weir_slots_permit permit)
{
    struct turn *turn = (struct turn *)waiter;
    turn->result = result;
    turn->permit = permit;
}

TEST(callbacks_keep_the_device)
{
    struct weir_slots slots;
    struct turn a = {.result = 99}, b = {.result = 99}, c = {.result = 99};
    make_uniform(&slots, 1);
    CHECK_EQ(weir_slots_acquire_async(&slots, disk(1), &a.permit, &a.waiter, on_turn), 0);
    CHECK(weir_slots_permit_is_held(&a.permit));
    CHECK_EQ(weir_slots_acquire_async(&slots, disk(1), &b.permit, &b.waiter, on_turn),
             WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_slots_acquire_async(&slots, disk(1), &c.permit, &c.waiter, on_turn),
             WEIR_BUDGET_QUEUED);
    CHECK_EQ(weir_slots_prune(&slots, 0), 0);
    weir_slots_release(&a.permit);
    CHECK_EQ(b.result, 0);
    CHECK_EQ(weir_device_raw(weir_slots_permit_device(&b.permit)), 1);
    CHECK(!weir_slots_cancel_async(&slots, &b.waiter));
    CHECK(weir_slots_cancel_async(&slots, &c.waiter));
    CHECK_EQ(c.result, 99);
    weir_slots_release(&b.permit);
    CHECK_EQ(weir_slots_prune(&slots, 0), 1);
    CHECK(!weir_slots_cancel_async(&slots, &b.waiter)); /* the device itself is gone */
    weir_slots_fini(&slots);
}

TEST(a_path_that_is_there_counts_for_its_device)
{
    struct weir_slots slots;
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE;
    char folder[] = "/tmp/weir-slots-XXXXXX", file[sizeof(folder) + 8];
    CHECK(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/file", folder);
    int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
    struct weir_device device = weir_device_from_path(folder);
    CHECK(!weir_device_is_unknown(device));
    make_uniform(&slots, 1);
    CHECK_EQ(weir_slots_try_for_path(&slots, file, &a), 0);
    CHECK_EQ(weir_device_raw(weir_slots_permit_device(&a)), weir_device_raw(device));
    CHECK_EQ(weir_device_kind(weir_slots_permit_device(&a)), weir_device_kind(device));
    CHECK_EQ(available(&slots, device), 0);
    CHECK_EQ(weir_slots_try_for_path(&slots, folder, &b), -WEIR_E_BUSY); /* the same disk */
    CHECK(!weir_slots_permit_is_held(&b));
    CHECK_EQ(weir_slots_try(&slots, device, &b), -WEIR_E_BUSY);
    CHECK_EQ(weir_slots_try(&slots, WEIR_DEVICE_UNKNOWN, &b), 0); /* is not what it was taken for */
    weir_slots_release(&b);
    weir_slots_release(&a);
    CHECK_EQ(weir_slots_try_for_path(&slots, folder, &b), 0);
    weir_slots_release(&b);
    weir_slots_fini(&slots);
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(the_configuration_is_fixed_at_init)
{
    struct weir_slots slots;
    struct weir_slots_config config = {.devices_max = 2};
    struct weir_slots_permit permits[4] = {WEIR_SLOTS_PERMIT_NONE};
    CHECK_EQ(weir_slots_config_uniform(&config, 3), 0);
    CHECK_EQ(weir_slots_config_device(&config, disk(1), 5), 0);
    CHECK_EQ(weir_slots_init(&slots, "disks", &config), 0);
    CHECK_EQ(weir_slots_config_uniform(&config, 9), 0);
    CHECK_EQ(weir_slots_config_device(&config, disk(1), 9), 0);
    CHECK_EQ(weir_slots_config_device(&config, disk(2), 9), 0);
    memset(&config, 0xff, sizeof(config));
    CHECK_EQ(weir_slots_total(&slots, disk(1)), 5);
    CHECK_EQ(weir_slots_total(&slots, disk(2)), 3);
    for (uint64_t i = 1; i <= 2; i++) /* also of devices that come only now */
        CHECK_EQ(weir_slots_try(&slots, disk(i), &permits[i]), 0);
    CHECK_EQ(available(&slots, disk(1)), 4);
    CHECK_EQ(available(&slots, disk(2)), 2);
    struct weir_slots_stats stats;
    weir_slots_read(&slots, &stats);
    CHECK_EQ(stats.devices_max, 2);
    CHECK_EQ(weir_slots_try(&slots, disk(3), &permits[3]), 0);
    weir_slots_read(&slots, &stats);
    CHECK_EQ(stats.shared, 1);
    for (int i = 1; i <= 3; i++)
        weir_slots_release(&permits[i]);
    weir_slots_fini(&slots);
}

/* From here on the kernel kills the process when this thread makes a system call but to end it. */
static bool seal(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* Runs fn sealed, in a child. Returns how that ended, or -1 where the kernel cannot do it. */
static int run_sealed(int (*fn)(void *arg), void *arg)
{
    enum { CANNOT = 77 };
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!seal())
            _exit(CANNOT);
        syscall(SYS_exit_group, fn(arg) ? 1 : 0);
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == CANNOT ? -1 : status;
}

static int take_and_return(void *arg)
{
    for (int i = 0; i < 3000; i++) { /* past the folding of the budget's counts */
        struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
        int error = weir_slots_try(arg, disk(1), &permit);
        if (error)
            return error;
        weir_slots_release(&permit);
    }
    return 0;
}

static int look_it_up(void *arg)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    return weir_slots_try_for_path(arg, "/", &permit);
}

/* The clock is a fake one, since not every machine can read its own without a system call. */
TEST(a_known_device_costs_no_system_call)
{
    weir__clock_fake(WEIR_NS_PER_S);
    struct weir_slots slots;
    make_uniform(&slots, 1);
    CHECK_EQ(take_and_return(&slots), 0); /* makes it known */
    int status = run_sealed(take_and_return, &slots);
    if (status == -1)
        printf("# no seccomp here: skipped\n");
    else
        CHECK_EQ(status, 0);
    status = run_sealed(look_it_up, &slots);
    CHECK(status == -1 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS));
    weir_slots_fini(&slots);
    weir__clock_unfake();
}

static void fini_with_permit_out(void *arg)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE;
    if (weir_slots_try(arg, disk(0x801), &permit) == 0)
        weir_slots_fini(arg);
}

static void release_a_copy(void *arg)
{
    struct weir_slots_permit permit = WEIR_SLOTS_PERMIT_NONE, copy;
    if (weir_slots_try(arg, disk(1), &permit) == 0) {
        copy = permit;
        weir_slots_release(&permit);
        weir_slots_release(&copy);
    }
}

static void move_onto_a_held_one(void *arg)
{
    struct weir_slots_permit a = WEIR_SLOTS_PERMIT_NONE, b = WEIR_SLOTS_PERMIT_NONE;
    if (weir_slots_try(arg, disk(1), &a) == 0 && weir_slots_try(arg, disk(2), &b) == 0)
        weir_slots_permit_move(&a, &b);
}

TEST(misuse_is_named)
{
    struct weir_slots slots;
    make_uniform(&slots, 2);
    CHECK(tap_dies(fini_with_permit_out, &slots, "slots 'disks/8:1': destroyed with permits out"));
    CHECK(tap_dies(release_a_copy, &slots, "disks"));
    CHECK(tap_dies(move_onto_a_held_one, &slots, "slots 'disks': a permit was moved"));
    weir_slots_fini(&slots);
}

TAP_MAIN()
