/* fault_storage_quota.c - quotas when the n-th allocation or system call fails.
 *
 * Whatever fails: what is on the disk is what was saved last or what was saved now, nothing else is
 * left there, and a save that failed is made up for by the next one.
 */
#include "quota.h"

#include <fcntl.h>
#include <stdlib.h>

#include <weir/error.h>

#include "sweep.h"

#define A "00000000000000aa"

static char folder[64];
static long told;

static const struct weir__quota_limits limits = {.bytes = 1u << 20};

static bool store(struct weir__quota *quota, const char *id, uint64_t bytes)
{
    struct weir__quota_hold hold = {0};
    enum weir__quota_reason reason;
    char why[WEIR__QUOTA_WHY];
    int error = weir__quota_reserve(quota, id, &limits, bytes, &hold, &reason, why);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    if (!error)
        weir__quota_keep(&hold, bytes);
    told += error != 0;
    return !error;
}

/* What the file says without faults. */
static uint64_t bytes_on_disk(void)
{
    struct weir__quota *quota;
    struct weir__quota_usage usage = {0};
    char why[WEIR__QUOTA_WHY];
    CHECK_EQ(weir__quota_open(&quota, folder, why), 0);
    weir__quota_read(quota, A, &usage);
    weir__quota_free(quota);
    return usage.bytes;
}

static void everything(void)
{
    struct weir__quota *quota;
    char why[WEIR__QUOTA_WHY] = "", id[WEIR__TOKEN_ID_SIZE];
    bool is_saved = false, was_stored = false;
    int error = weir__quota_open(&quota, folder, why);
    if (error) {
        CHECK(error == -WEIR_E_NO_MEMORY || error == -WEIR_E_IO);
        CHECK(why[0] != '\0');
        told++;
        return;
    }
    struct weir__quota_usage before = {0};
    weir__quota_read(quota, A, &before);
    was_stored = store(quota, A, 10);
    for (unsigned i = 1; i <= 100; i++) { /* it grows meanwhile */
        snprintf(id, sizeof(id), "%016x", i);
        store(quota, id, 1);
    }
    error = weir__quota_save(quota);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY || error == -WEIR_E_IO);
    told += error != 0;
    is_saved = error == 0;
    if (!is_saved)
        is_saved = weir__quota_save(quota) == 0; /* only one call fails */
    CHECK(is_saved);
    weir__quota_free(quota);
    uint64_t after = before.bytes + (was_stored ? 10 : 0);
    /* A look that fails is none: the one fault is still to come. */
    if (weir_fault_was_hit(WEIR_FAULT_ALLOC) || weir_fault_was_hit(WEIR_FAULT_IO))
        CHECK_EQ(bytes_on_disk(), after);
}

static void sweep_all(enum weir_fault kind, long least)
{
    char path[128];
    snprintf(folder, sizeof(folder), "/tmp/weir-quota-XXXXXX");
    CHECK(mkdtemp(folder));
    everything();
    told = 0;
    sweep_cleanly(kind, everything, least);
    CHECK(told >= least - 2);
    snprintf(path, sizeof(path), "%s/quotas", folder);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(allocations)
{
    sweep_all(WEIR_FAULT_ALLOC, 4);
}

TEST(system_calls)
{
    sweep_all(WEIR_FAULT_IO, 6);
}

TAP_MAIN()
