/* demo_slots.c - the disk below the current directory, filled up. */
#include "demo.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#include <weir/slots.h>

#include "banned.h"

#define HERE      "."
#define TAKES_MAX 64

/* "sda, sdb and 3 more" */
static void list_disks(const struct weir_device_info *info, char *text, size_t size)
{
    size_t used = 0;
    uint32_t shown = info->disks_count < 4 ? info->disks_count : 4;
    for (uint32_t i = 0; i < shown && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 info->disks[i].name[0] ? info->disks[i].name : "?");
    if (shown < info->disks_count && used < size)
        snprintf(text + used, size - used, " and %u more", info->disks_count - shown);
}

static void tell_disk(struct demo *demo, const struct weir_device_info *info)
{
    char disks[DEMO_TEXT_MAX] = "none";
    char number[24];
    uint64_t raw = weir_device_raw(info->device);
    enum weir_disk kind = weir_device_kind(info->device);
    list_disks(info, disks, sizeof(disks));
    snprintf(number, sizeof(number), "%u:%u", major(raw), minor(raw));
    demo_say(demo,
             "Work that maps files reads by page faults, which nobody can count, so it is admitted "
             "by the disk below. Here that is %s (device %s, %u below the file system): of the "
             "kind '%s', which takes %llu at once.",
             disks, number, info->disks_count, weir_disk_name(kind),
             (unsigned long long)weir_disk_slots(kind));
    demo_text(demo, "device", number);
    demo_text(demo, "disks", disks);
    demo_text(demo, "kind", weir_disk_name(kind));
    demo_number(demo, "slots", weir_disk_slots(kind));
}

/* Takes slots until there are no more. */
static void fill(struct demo *demo, struct weir_slots *slots, struct weir_device device)
{
    struct weir_slots_permit permits[TAKES_MAX] = {WEIR_SLOTS_PERMIT_NONE};
    uint64_t total = weir_slots_total(slots, device);
    uint64_t taken = 0;
    int error = 0;
    while (taken < TAKES_MAX && !(error = weir_slots_try(slots, device, &permits[taken])))
        taken++;
    demo_say(demo, "%llu jobs took a slot; the next one was told:", (unsigned long long)taken);
    demo_quote(demo, error);
    demo_number(demo, "taken", taken);
    demo_refusal(demo, "busy", error);
    for (uint64_t i = 0; i < taken; i++)
        weir_slots_release(&permits[i]);
    demo_promise(demo, taken == total && error == -WEIR_E_BUSY,
                 "%llu of %llu slots could be taken, and no more", (unsigned long long)taken,
                 (unsigned long long)total);
}

int demo_slots(struct demo *demo)
{
    struct weir_device_info info;
    int error = weir_device_find(HERE, NULL, &info);
    if (error)
        return demo_failed("look at the current directory", error);
    tell_disk(demo, &info);

    struct weir_slots slots;
    error = weir_slots_init(&slots, "disks", NULL);
    if (error)
        return demo_failed("make the slots", error);
    fill(demo, &slots, info.device);
    struct weir_slots_stats stats;
    weir_slots_read(&slots, &stats);
    demo_object(demo, &(struct demo_object){"slots", "disks", weir_slots_total(&slots, info.device),
                                            stats.acquired, stats.released, stats.enqueued,
                                            stats.busy + stats.refused});
    weir_slots_fini(&slots);
    return 0;
}
