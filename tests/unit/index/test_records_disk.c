/* The records on a disk that fails: writes that share a sync, and syncs and writes that fail.
 *
 * The calls by which LMDB writes are those of this program, so that each can be made to fail.
 */
#include <errno.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <weir/clock.h>

#include "atomic.h"
#include "index_help.h"

/* --- the calls --- */

#define META_BYTES 8192

static uint32_t syncs, data_writes;
static uint32_t syncs_good = UINT32_MAX;            /* that succeed before the others fail */
static uint32_t sync_errno, data_errno, meta_errno; /* 0: none */
static uint32_t is_short;                           /* half of what is to be written is */
static uint32_t is_no_room;                         /* what the file system says of itself */

int fstatvfs(int fd, struct statvfs *ret_room)
{
    (void)fd;
    *ret_room = (struct statvfs){.f_frsize = 4096, .f_blocks = 1000000};
    ret_room->f_bfree = ret_room->f_bavail = weir__load32(&is_no_room) ? 1 : 100000;
    return 0;
}

static bool fails(const uint32_t *with)
{
    uint32_t value = weir__load32(with);
    if (value)
        errno = (int)value;
    return value != 0;
}

int fdatasync(int fd)
{
    if (weir__add32(&syncs, 1) >= weir__load32(&syncs_good)) {
        errno = EIO;
        return -1;
    }
    return fails(&sync_errno) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* By the name that LMDB knows it by: in here it may be another one, of larger files. */
ssize_t own_pwrite(int fd, const void *bytes, size_t count, off_t at) __asm__("pwrite");
ssize_t own_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    if (at >= META_BYTES)
        weir__add32(&data_writes, 1);
    if (fails(at < META_BYTES && count < META_BYTES ? &meta_errno : &data_errno))
        return -1;
    bool is_cut = at >= META_BYTES && weir__load32(&is_short);
    return syscall(SYS_pwrite64, fd, bytes, is_cut ? count / 2 : count, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    weir__add32(&data_writes, 1);
    if (weir__load32(&is_short))
        return syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
    return fails(&data_errno) ? -1 : syscall(SYS_writev, fd, parts, count);
}

/* --- writes of which several are under way --- */

#define MANY 600

static struct weir__records_write writes[MANY];
static struct weir_queue done;
static struct weir__key key;
static char folder[HELP_PATH];
static struct help_records help;

static void begin(uint64_t map_bytes)
{
    const struct weir_queue_options options = {sizeof(struct weir__records_write *), MANY};
    key = help_key(1);
    help_make_folder(folder);
    CHECK_EQ(weir_queue_init(&done, "done", &options), 0);
    CHECK_EQ(help_try_open(&help, folder, map_bytes), 0);
}

static void end(void)
{
    help_close(&help);
    weir_queue_fini(&done);
    help_remove(folder);
}

static void on_done(struct weir__records_write *write)
{
    CHECK_EQ(weir_queue_try_send(&done, &write), 0);
}

static int submit(unsigned n, uint64_t sequence)
{
    struct weir__name name = help_name_of(n, &key);
    struct weir__record record = help_name_record(&name, sequence);
    writes[n] = (struct weir__records_write){
        .action = WEIR__RECORDS_PUT, .now_s = HELP_NOW + 1, .done = on_done};
    CHECK_EQ(weir__record_sign(&writes[n].bytes, &record, &key), 0);
    CHECK_EQ(weir__record_unpack(&writes[n].record, writes[n].bytes.bytes, writes[n].bytes.length),
             0);
    return weir__records_submit(help.records, &writes[n]);
}

/* Waits for so many, each with that result. */
static void await(unsigned count, int result)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    for (unsigned i = 0; i < count; i++) {
        struct weir__records_write *write;
        CHECK_EQ(weir_queue_recv(&done, &write, &deadline), 0);
        CHECK_EQ(write->result, result);
    }
}

static long long get(unsigned n)
{
    struct weir__name name = help_name_of(n, &key);
    return help_get(&help, &name, HELP_NOW);
}

static void fail_with(uint32_t *which, int with)
{
    weir__store32(which, (uint32_t)with);
}

/* --- one sync for many --- */

TEST(who_comes_together_shares_a_sync)
{
    begin(0);
    for (unsigned n = 0; n < WEIR__RECORDS_LINE; n++)
        CHECK_EQ(submit(n, 1), 0);
    CHECK_EQ(submit(WEIR__RECORDS_LINE, 1), -WEIR_E_BUSY);
    uint32_t before = weir__load32(&syncs);
    help_start(&help);
    await(WEIR__RECORDS_LINE, 0);
    CHECK_EQ(weir__load32(&syncs) - before, WEIR__RECORDS_LINE / WEIR__RECORDS_BATCH);
    CHECK_EQ(help_stats(&help).commits, WEIR__RECORDS_LINE / WEIR__RECORDS_BATCH);
    CHECK_EQ(help_stats(&help).writes, WEIR__RECORDS_LINE);
    /* What changes nothing needs none. */
    before = weir__load32(&syncs);
    CHECK_EQ(submit(3, 1), 0);
    await(1, 0);
    CHECK(writes[3].was_there);
    struct weir__name name = help_name_of(3, &key);
    struct weir__record record = help_name_record(&name, 1);
    record.expires_s++;
    CHECK_EQ(help_put(&help, &record, &key, NULL), -WEIR_E_CONFLICT);
    CHECK_EQ(weir__load32(&syncs), before);
    CHECK_EQ(help_stats(&help).commits, WEIR__RECORDS_LINE / WEIR__RECORDS_BATCH);
    end();
}

TEST(in_a_batch_the_first_wins)
{
    begin(0);
    struct weir__name name = help_name_of(0, &key);
    for (unsigned n = 0; n < 3; n++) {
        struct weir__record record = help_name_record(&name, 1);
        record.expires_s += n;
        writes[n] = (struct weir__records_write){.action = WEIR__RECORDS_PUT,
                                                 .now_s = HELP_NOW + 1,
                                                 .done = on_done,
                                                 .has_previous = true};
        CHECK_EQ(weir__record_sign(&writes[n].bytes, &record, &key), 0);
        CHECK_EQ(
            weir__record_unpack(&writes[n].record, writes[n].bytes.bytes, writes[n].bytes.length),
            0);
        CHECK_EQ(weir__records_submit(help.records, &writes[n]), 0);
    }
    help_start(&help);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    for (unsigned n = 0; n < 3; n++) {
        struct weir__records_write *write;
        CHECK_EQ(weir_queue_recv(&done, &write, &deadline), 0);
        CHECK(write == &writes[n]);
        CHECK_EQ(write->result, n == 0 ? 0 : -WEIR_E_CONFLICT);
        CHECK_EQ(write->current, 1);
    }
    end();
}

TEST(what_was_in_line_is_written_at_the_end)
{
    begin(0);
    for (unsigned n = 0; n < 300; n++)
        CHECK_EQ(submit(n, 1), 0);
    help_start(&help);
    weir__records_stop(help.records);
    CHECK_EQ(submit(300, 1), -WEIR_E_CLOSED);
    help_close(&help);
    await(300, 0);
    CHECK_EQ(help_try_open(&help, folder, 0), 0);
    CHECK_EQ(help.report.names, 300);
    /* Nobody writes: whoever waits is told at the end. */
    CHECK_EQ(submit(0, 2), 0);
    help_close(&help);
    await(1, -WEIR_E_CLOSED);
    CHECK_EQ(help_try_open(&help, folder, 0), 0);
    end();
}

/* --- failures --- */

/* Whatever fails: who shared it is told, nothing of it is seen, looks go on, and the next one is
 * written when the disk is good again. */
static void fail_one(uint32_t *which, int with, int wanted)
{
    begin(0);
    for (unsigned n = 0; n < 10; n++)
        CHECK_EQ(submit(n, 1), 0);
    help_start(&help);
    await(10, 0);
    fail_with(which, with);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 5; n < 15; n++)
            CHECK_EQ(submit(n, 2), 0);
        await(10, wanted);
        CHECK_EQ(get(0), 1);
        CHECK_EQ(get(7), 1);
        CHECK_EQ(get(12), -WEIR_E_NOT_FOUND);
        CHECK_EQ(help_stats(&help).is_failing, wanted == -WEIR_E_IO);
        CHECK_EQ(help_stats(&help).is_full, wanted == -WEIR_E_NO_SPACE);
    }
    fail_with(which, 0);
    for (unsigned n = 5; n < 15; n++)
        CHECK_EQ(submit(n, 3), 0);
    await(10, 0);
    CHECK_EQ(get(0), 1);
    CHECK_EQ(get(7), 3);
    CHECK_EQ(get(12), 3);
    CHECK(!help_stats(&help).is_failing && !help_stats(&help).is_full);
    help_close(&help);
    CHECK_EQ(help_try_open(&help, folder, 0), 0);
    CHECK_EQ(help.report.names, 15);
    CHECK_EQ(get(7), 3);
    end();
}

TEST(a_sync_that_failed_is_no_success)
{
    fail_one(&sync_errno, EIO, -WEIR_E_IO);
}

TEST(a_write_that_failed)
{
    fail_one(&data_errno, EIO, -WEIR_E_IO);
}

/* The page that leads to all others: LMDB would not even look any more. */
TEST(the_last_page_that_failed)
{
    fail_one(&meta_errno, EIO, -WEIR_E_IO);
}

TEST(a_full_disk)
{
    fail_one(&data_errno, ENOSPC, -WEIR_E_NO_SPACE);
}

TEST(a_full_disk_at_the_last_page)
{
    fail_one(&meta_errno, ENOSPC, -WEIR_E_NO_SPACE);
}

/* LMDB says Io of a write that is cut short, as the last one on a full disk is. */
TEST(a_full_disk_that_cuts_a_write_short)
{
    fail_with(&is_no_room, 1);
    fail_one(&is_short, 1, -WEIR_E_NO_SPACE);
    fail_with(&is_no_room, 0);
}

TEST(a_write_that_is_cut_short_with_room_left)
{
    fail_one(&is_short, 1, -WEIR_E_IO);
}

/* Where nobody knows which of two states the disk has, nothing is written over pages of the one or
 * the other before a sync has settled it. */
TEST(nothing_is_written_into_doubt)
{
    begin(0);
    help_start(&help);
    CHECK_EQ(submit(0, 1), 0);
    await(1, 0);
    fail_with(&meta_errno, EIO);
    weir__store32(&syncs_good, weir__load32(&syncs) + 1);
    CHECK_EQ(submit(0, 2), 0);
    await(1, -WEIR_E_IO);
    fail_with(&meta_errno, 0);
    uint32_t before = weir__load32(&data_writes);
    for (unsigned round = 0; round < 3; round++) {
        CHECK_EQ(submit(0, 3), 0);
        await(1, -WEIR_E_IO);
        CHECK_EQ(weir__load32(&data_writes), before);
        CHECK_EQ(get(0), 1);
        CHECK(help_stats(&help).is_failing);
    }
    weir__store32(&syncs_good, UINT32_MAX);
    CHECK_EQ(submit(0, 4), 0);
    await(1, 0);
    CHECK_EQ(get(0), 4);
    CHECK(!help_stats(&help).is_failing);
    end();
}

/* --- a full map --- */

/* Names are removed in what is kept for that; who removes what never was there adds. */
static void remove_from_full(unsigned unknown)
{
    for (unsigned i = 1; i < 40; i++) {
        struct weir__name name = help_name_of(i, &key);
        struct weir__record record = help_removal(&name, 2);
        CHECK_EQ(help_put(&help, &record, &key, NULL), 0);
        CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_NOT_FOUND);
    }
    struct weir__name name = help_name_of(unknown, &key);
    struct weir__record record = help_removal(&name, 1);
    CHECK_EQ(help_put(&help, &record, &key, NULL), -WEIR_E_NO_SPACE);
}

static void fill_map(const char *where)
{
    struct weir__records_write write = {.has_previous = false};
    unsigned n = 0, refused = 0;
    key = help_key(1);
    help = help_open(where, UINT64_C(6) << 20);
    for (; refused < 20; n++) {
        struct weir__name name = help_name_of(n, &key);
        struct weir__record record = help_name_record(&name, 1);
        int error = help_put(&help, &record, &key, NULL);
        CHECK(error == 0 || error == -WEIR_E_NO_SPACE);
        refused += error != 0;
        CHECK(n < 100000);
    }
    struct weir__records_stats stats = help_stats(&help);
    CHECK(stats.is_full && !stats.is_failing && stats.names > 1000);
    /* A sixteenth is kept, but for what the last of them needed. */
    CHECK(stats.used_bytes > stats.map_bytes * 3 / 4);
    CHECK(stats.used_bytes <= stats.map_bytes / 16 * 15 + 65536);
    struct weir__name name = help_name_of(0, &key);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
    remove_from_full(n);
    /* There is room to remove, and then to put. */
    do
        CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE, &write), 0);
    while (write.purged > 0);
    CHECK_EQ(help_stats(&help).names, 0);
    name = help_name_of(n, &key);
    CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    CHECK(!help_stats(&help).is_full);
    CHECK(help_stats(&help).used_bytes < stats.used_bytes);
    help_close(&help);
}

TEST(a_full_map)
{
    help_make_folder(folder);
    fill_map(folder);
    help_remove(folder);
}

TEST(a_full_memory)
{
    fill_map(NULL);
}

TAP_MAIN()
