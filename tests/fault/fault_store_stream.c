/* fault_store_stream.c - files into chunks and out again when the n-th allocation or system call
 * fails.
 *
 * Whatever fails: it is an error that is told, or it did not matter; a root that was given is that
 * of the file, a file that was said to be written is right, and neither memory nor descriptors are
 * lost.
 */
#include "stream_in.h"
#include "stream_out.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_help.h"
#include "random_help.h"
#include "sweep.h"
#include "sys.h"
#include "tree_manifest.h"

/* An island, a hole, and some chunks. */
#define DATA_AT   300000u
#define DATA_SIZE 700000u
#define FILE_SIZE (DATA_AT + DATA_SIZE)

static unsigned char content[FILE_SIZE], found[FILE_SIZE + 1];
static struct weir__address right;
static int source_fd = -1;
static long told;

static int new_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof(path), "%s/weir-fault-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    unlink(path);
    return fd;
}

static int take_all(struct weir__address *ret_root)
{
    struct weir__stream_in stream;
    const struct weir__stream_in_options options = {0};
    uint64_t length;
    int result = weir__stream_in_init(&stream, &options, &memory_sink);
    if (result != 0)
        return result;
    lseek(source_fd, 0, SEEK_SET);
    result = weir__stream_in_fd(&stream, source_fd, NULL);
    if (result == 0)
        result = weir__stream_in_finish(&stream, ret_root, &length);
    weir__stream_in_fini(&stream);
    return result;
}

static void make_source(void)
{
    if (source_fd >= 0)
        return;
    random_fixed(3);
    random_fill(content, 100);
    random_fill(content + DATA_AT, DATA_SIZE);
    source_fd = new_file();
    CHECK_EQ(pwrite(source_fd, content, 100, 0), 100);
    CHECK_EQ(pwrite(source_fd, content + DATA_AT, DATA_SIZE, DATA_AT), DATA_SIZE);
    CHECK_EQ(take_all(&right), 0);
}

static void in(void)
{
    struct weir__address root;
    int result = take_all(&root);
    told += result != 0;
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_IO);
    CHECK(result != 0 || weir__address_is_equal(&root, &right));
}

static void write_out(size_t old_size)
{
    int fd = new_file();
    memset(found, 'z', old_size);
    CHECK_EQ(write(fd, found, old_size), old_size);
    lseek(fd, 0, SEEK_SET);
    int result = weir__stream_out(&memory_source, &right, NULL, fd, NULL);
    told += result != 0;
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_IO);
    if (result == 0) {
        CHECK_EQ(pread(fd, found, sizeof(found), 0), FILE_SIZE);
        CHECK(memcmp(found, content, FILE_SIZE) == 0);
    }
    close(fd);
}

static void out(void)
{
    write_out(0);
}

static void out_over_old_bytes(void)
{
    write_out(FILE_SIZE);
}

static int drop(void *arg, const void *bytes, size_t length, const struct weir__address *address)
{
    (void)arg, (void)bytes, (void)length, (void)address;
    return 0;
}

/* Two levels, so that nodes are made on the way. */
static void levels(void)
{
    const struct weir__chunk_sink sink = {.put = drop};
    struct weir__file_writer writer;
    struct weir__address root, chunk = {{1}};
    int result = 0;
    weir__file_writer_init(&writer, &sink);
    for (int i = 0; i < 4100 && result == 0; i++)
        result = weir__file_writer_add_chunk(&writer, &chunk, 1);
    if (result == 0)
        result = weir__file_writer_finish(&writer, &root);
    told += result != 0;
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
    weir__file_writer_fini(&writer);
}

/* Two nodes of names, written and read. */
static void trees(void)
{
    static struct weir__tree_entry entry;
    struct weir__tree_writer writer;
    struct weir__tree_reader reader;
    struct weir__address root;
    int result = 0;
    weir__tree_writer_init(&writer, &memory_sink);
    for (int i = 0; i < 4100 && result == 0; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "%08d", i);
        entry.name = (struct weir__tree_bytes){(const unsigned char *)name, (size_t)length};
        result = weir__tree_writer_add(&writer, &entry);
    }
    if (result == 0)
        result = weir__tree_writer_finish(&writer, &root);
    weir__tree_writer_fini(&writer);
    if (result == 0)
        result = weir__tree_reader_open(&reader, &memory_source, &root);
    if (result == 0) {
        while ((result = weir__tree_reader_next(&reader, &entry)) > 0)
            CHECK_EQ(entry.name.length, 8);
        weir__tree_reader_close(&reader);
    }
    told += result != 0;
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
}

/* Every failure is told: none of these calls may be done without. */
static void sweep_told(enum weir_fault kind, void (*scenario)(void), long least)
{
    make_source();
    told = 0;
    int before = count_descriptors();
    long runs = sweep(kind, scenario);
    CHECK(runs >= least);
    CHECK_EQ(told, runs);
    check_descriptors(before, runs);
}

TEST(allocations_in)
{
    sweep_told(WEIR_FAULT_ALLOC, in, 4);
}

TEST(allocations_out)
{
    sweep_told(WEIR_FAULT_ALLOC, out, 3);
}

TEST(allocations_of_levels)
{
    sweep_told(WEIR_FAULT_ALLOC, levels, 3);
}

TEST(allocations_of_trees)
{
    sweep_told(WEIR_FAULT_ALLOC, trees, 6);
}

TEST(calls_in)
{
    sweep_told(WEIR_FAULT_IO, in, 6);
}

TEST(calls_out)
{
    sweep_told(WEIR_FAULT_IO, out, 6);
}

TEST(calls_out_over_old_bytes)
{
    sweep_told(WEIR_FAULT_IO, out_over_old_bytes, 6);
}

static void check_content(int fd)
{
    CHECK_EQ(pread(fd, found, sizeof(found), 0), FILE_SIZE);
    CHECK(memcmp(found, content, FILE_SIZE) == 0);
}

/* Where holes cannot be asked about, they are data. */
TEST(a_file_system_that_knows_no_holes)
{
    long survived = 0;
    make_source();
    weir__sys_fault_errno(EOPNOTSUPP);
    for (uint64_t n = 1; n < 30; n++) {
        struct weir__address root;
        weir_fault_arm(WEIR_FAULT_IO, n);
        int result = take_all(&root);
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (result != 0)
            continue;
        survived += was_hit;
        int fd = new_file();
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL), 0);
        check_content(fd);
        close(fd);
    }
    weir__sys_fault_errno(EIO);
    CHECK(survived >= 2);
}

/* Where they cannot be punched, zeros are written. */
TEST(a_file_system_that_cannot_punch)
{
    long survived = 0;
    make_source();
    weir__sys_fault_errno(EOPNOTSUPP);
    for (uint64_t n = 1; n < 30; n++) {
        int fd = new_file();
        memset(found, 'z', FILE_SIZE);
        CHECK_EQ(pwrite(fd, found, FILE_SIZE, 0), FILE_SIZE);
        weir_fault_arm(WEIR_FAULT_IO, n);
        int result = weir__stream_out(&memory_source, &right, NULL, fd, NULL);
        survived += result == 0 && weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (result == 0)
            check_content(fd);
        close(fd);
    }
    weir__sys_fault_errno(EIO);
    CHECK_EQ(survived, 1);
}

TAP_MAIN()
