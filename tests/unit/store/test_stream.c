/* test_stream.c - files in and out again: bytes, holes, ranges, pipes, and sources that fail. */
#include "stream_in.h"
#include "stream_out.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/cancel.h>

#include "memory_help.h"
#include "random_help.h"

#define BYTES_MAX (6u << 20)

static unsigned char input[BYTES_MAX], output[BYTES_MAX];
static struct weir__stream_in stream;
static const struct weir__stream_in_options by_content;

static int new_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof(path), "%s/weir-stream-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    unlink(path);
    return fd;
}

static void write_at(int fd, const void *bytes, size_t length, uint64_t at)
{
    CHECK_EQ(pwrite(fd, bytes, length, (off_t)at), length);
}

static uint64_t size_of(int fd)
{
    struct stat st;
    CHECK_EQ(fstat(fd, &st), 0);
    return (uint64_t)st.st_size;
}

static uint64_t space_of(int fd)
{
    struct stat st;
    CHECK_EQ(fstat(fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* All of the descriptor from its beginning; its length is returned. */
static struct weir__address take_fd(int fd, uint64_t *ret_length)
{
    struct weir__address root;
    lseek(fd, 0, SEEK_SET);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_fd(&stream, fd, NULL), 0);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, ret_length), 0);
    weir__stream_in_fini(&stream);
    return root;
}

static void check_same(int fd, const unsigned char *bytes, size_t length)
{
    CHECK_EQ(size_of(fd), length);
    CHECK_EQ(pread(fd, output, sizeof(output), 0), length);
    CHECK(length == 0 || memcmp(bytes, output, length) == 0);
}

TEST(round_trips)
{
    static const size_t lengths[] = {0, 1, 4096, 16384, 100000, 262144, 1u << 20, BYTES_MAX - 5};
    random_seed();
    random_fill(input, sizeof(input));
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int fd = new_file(), back = new_file();
        uint64_t length;
        write_at(fd, input, lengths[i], 0);
        struct weir__address root = take_fd(fd, &length);
        CHECK_EQ(length, lengths[i]);
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, back, NULL), 0);
        check_same(back, input, lengths[i]);
        CHECK_EQ(lseek(back, 0, SEEK_CUR), lengths[i]);
        close(fd);
        close(back);
    }
    memory_clear();
}

/* By pieces or by descriptor, the root is the same; and the chunks of a second time are there. */
TEST(pieces_and_descriptors_give_one_root)
{
    struct weir__address root;
    uint64_t length;
    int fd = new_file();
    random_seed();
    random_fill(input, 3u << 20);
    write_at(fd, input, 3u << 20, 0);
    struct weir__address right = take_fd(fd, &length);
    size_t chunks = memory.chunks;
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0; at < 3u << 20;) {
            size_t piece = 1 + (size_t)random_below(100000);
            if (piece > (3u << 20) - at)
                piece = (3u << 20) - at;
            CHECK_EQ(weir__stream_in_bytes(&stream, input + at, piece), 0);
            at += piece;
        }
        CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
        CHECK(weir__address_is_equal(&root, &right));
        CHECK_EQ(length, 3u << 20);
    }
    weir__stream_in_fini(&stream);
    CHECK_EQ(memory.chunks, chunks);
    close(fd);
    memory_clear();
}

/* Files of data and holes of all sizes, at the beginning, in the middle and at the end. */
TEST(sparse_files_stay_sparse)
{
    random_seed();
    for (int round = 0; round < 20; round++) {
        int fd = new_file(), back = new_file();
        uint64_t length, at = 0;
        memset(input, 0, sizeof(input));
        while (at < BYTES_MAX / 2) {
            size_t data = 1 + (size_t)random_below(200000);
            at += random_below(4) ? 4096 * random_below(100) : 0;
            random_fill(input + at, data);
            write_at(fd, input + at, data, at);
            at += data;
        }
        at += random_below(2) ? random_below(1u << 20) : 0;
        CHECK_EQ(ftruncate(fd, (off_t)at), 0);
        struct weir__address root = take_fd(fd, &length);
        CHECK_EQ(length, at);
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, back, NULL), 0);
        check_same(back, input, at);
        CHECK(space_of(back) <= space_of(fd) + (1u << 20));
        close(fd);
        close(back);
    }
    memory_clear();
}

/* Ten GiB with two little islands: few chunks, little memory, a file that is as sparse again. */
TEST(a_large_hole_costs_nothing)
{
    const uint64_t size = UINT64_C(10) << 30;
    int fd = new_file(), back = new_file();
    uint64_t length;
    struct rusage before, after;
    char found[8];
    CHECK_EQ(ftruncate(fd, (off_t)size), 0);
    write_at(fd, "island 1", 8, UINT64_C(3) << 30);
    write_at(fd, "island 2", 8, (UINT64_C(7) << 30) - 3);
    CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
    struct weir__address root = take_fd(fd, &length);
    CHECK_EQ(length, size);
    CHECK(memory.chunks <= 3 && memory.bytes < 64u << 10);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, back, NULL), 0);
    CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
    CHECK(after.ru_maxrss - before.ru_maxrss < 64l << 10);
    CHECK_EQ(size_of(back), size);
    CHECK(space_of(back) < 1u << 20);
    CHECK(pread(back, found, 8, 3l << 30) == 8 && memcmp(found, "island 1", 8) == 0);
    CHECK(pread(back, found, 8, (7l << 30) - 3) == 8 && memcmp(found, "island 2", 8) == 0);
    close(fd);
    close(back);
    memory_clear();
}

TEST(holes_below_the_least_size_are_data)
{
    int fd = new_file();
    uint64_t length;
    memset(input, 'x', 4096);
    write_at(fd, input, 4096, 0);
    write_at(fd, input, 4096, 12288);
    memory.puts = 0;
    take_fd(fd, &length);
    CHECK_EQ(length, 16384);
    CHECK_EQ(memory.puts, 2);
    close(fd);
    memory_clear();
}

TEST(ranges)
{
    int fd = new_file();
    uint64_t length;
    const size_t size = 2u << 20;
    random_seed();
    random_fill(input, size);
    memset(input + 500000, 0, 300000);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, input, 500000), 0);
    CHECK_EQ(weir__stream_in_hole(&stream, 300000), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, input + 800000, size - 800000), 0);
    struct weir__address root;
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
    weir__stream_in_fini(&stream);
    for (int i = 0; i < 100; i++) {
        struct weir__stream_range range = {.offset = random_below(size + 1)};
        range.length = i % 10 ? random_below(size - range.offset + 1) : WEIR__STREAM_ALL;
        CHECK_EQ(ftruncate(fd, 0), 0);
        lseek(fd, 0, SEEK_SET);
        CHECK_EQ(weir__stream_out(&memory_source, &root, &range, fd, NULL), 0);
        check_same(fd, input + range.offset,
                   i % 10 ? (size_t)range.length : size - (size_t)range.offset);
    }
    struct weir__stream_range wrong = {.offset = size, .length = 1};
    CHECK_EQ(weir__stream_out(&memory_source, &root, &wrong, fd, NULL), -WEIR_E_RANGE);
    wrong = (struct weir__stream_range){.offset = size + 1, .length = WEIR__STREAM_ALL};
    CHECK_EQ(weir__stream_out(&memory_source, &root, &wrong, fd, NULL), -WEIR_E_RANGE);
    close(fd);
    memory_clear();
}

/* Over a file that has bytes already, in the middle of it, and appended. */
TEST(old_bytes_do_not_show_through_holes)
{
    struct weir__address root;
    uint64_t length;
    memset(input, 0, 400000);
    memset(input, 'a', 50000);
    memset(input + 350000, 'b', 50000);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, input, 50000), 0);
    CHECK_EQ(weir__stream_in_hole(&stream, 300000), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, input + 350000, 50000), 0);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
    weir__stream_in_fini(&stream);
    for (uint64_t old = 0; old <= 500000; old += 100000) {
        int fd = new_file();
        memset(output, 'z', 600000);
        write_at(fd, output, old, 0);
        lseek(fd, 1000, SEEK_SET);
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL), 0);
        CHECK_EQ(size_of(fd), old > 401000 ? old : 401000);
        CHECK_EQ(pread(fd, output, 400000, 1000), 400000);
        CHECK(memcmp(output, input, 400000) == 0);
        CHECK_EQ(fcntl(fd, F_SETFL, O_APPEND), 0);
        uint64_t before = size_of(fd);
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL), 0);
        CHECK_EQ(pread(fd, output, 500000, (off_t)before), 400000);
        CHECK(memcmp(output, input, 400000) == 0);
        close(fd);
    }
    memory_clear();
}

TEST(zeros_become_holes_when_asked_for)
{
    struct weir__stream_in_options options = {.makes_zeros_holes = true};
    struct weir__address root;
    uint64_t length;
    int fd = new_file();
    memset(input, 0, 4u << 20);
    memset(input + (4u << 20) - 10, 'e', 10);
    for (int round = 0; round < 2; round++) {
        options.makes_zeros_holes = round == 1;
        memory.puts = 0;
        CHECK_EQ(weir__stream_in_init(&stream, &options, &memory_sink), 0);
        CHECK_EQ(weir__stream_in_bytes(&stream, input, 4u << 20), 0);
        CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
        weir__stream_in_fini(&stream);
        CHECK_EQ(memory.puts, round ? 2 : 17);
    }
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL), 0);
    check_same(fd, input, 4u << 20);
    CHECK(space_of(fd) < 1u << 20);
    /* Fewer are not worth an entry of their own. */
    memory.puts = 0;
    CHECK_EQ(weir__stream_in_init(&stream, &options, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, input, 1000), 0);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
    weir__stream_in_fini(&stream);
    CHECK_EQ(memory.puts, 2);
    close(fd);
    memory_clear();
}

static struct weir__address piped_root;
static int pipe_ends[2], pipe_result;

static void *write_pipe(void *arg)
{
    (void)arg;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    pipe_result = weir__stream_out(&memory_source, &piped_root, NULL, pipe_ends[1], &deadline);
    close(pipe_ends[1]);
    return NULL;
}

/* Out into a pipe, with its holes as zeros, and in again from it. */
TEST(pipes)
{
    uint64_t length;
    struct weir__address root;
    pthread_t thread;
    int fd = new_file(), back = new_file();
    random_seed();
    random_fill(input, 1u << 20);
    memset(input + 300000, 0, 400000);
    write_at(fd, input, 300000, 0);
    write_at(fd, input + 700000, (1u << 20) - 700000, 700000);
    piped_root = take_fd(fd, &length);
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(pthread_create(&thread, NULL, write_pipe, NULL), 0);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    /* Not by memory_help, which the other thread is using: the bytes are gathered by hand. */
    size_t got = 0;
    ssize_t count;
    while ((count = read(pipe_ends[0], output + got, sizeof(output) - got)) > 0)
        got += (size_t)count;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pipe_result, 0);
    CHECK_EQ(got, 1u << 20);
    CHECK(memcmp(input, output, got) == 0);
    close(pipe_ends[0]);
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(write(pipe_ends[1], input, 50000), 50000);
    close(pipe_ends[1]);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_fd(&stream, pipe_ends[0], &deadline), 0);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
    weir__stream_in_fini(&stream);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, back, NULL), 0);
    check_same(back, input, 50000);
    close(pipe_ends[0]);
    close(fd);
    close(back);
    memory_clear();
}

/* A pipe that gives or takes nothing: the token ends it, and without a deadline it is refused. */
TEST(waits_end)
{
    struct weir_cancel cancel;
    struct weir__address root;
    uint64_t length;
    weir_cancel_init(&cancel, NULL);
    struct weir_deadline deadline = weir_deadline_until(&cancel);
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_fd(&stream, pipe_ends[0], NULL), -WEIR_E_INVALID);
    weir__stream_in_reset(&stream);
    random_fill(input, 200000);
    CHECK_EQ(weir__stream_in_bytes(&stream, input, 200000), 0);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), 0);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, pipe_ends[1], NULL), -WEIR_E_INVALID);
    struct weir_deadline soon = weir_deadline_in(1, NULL);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, pipe_ends[1], &soon), -WEIR_E_TIMEOUT);
    weir_cancel_fire(&cancel);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, pipe_ends[1], &deadline),
             -WEIR_E_CANCELED);
    CHECK_EQ(weir__stream_in_fd(&stream, pipe_ends[0], &deadline), -WEIR_E_CANCELED);
    /* Whoever has failed stays so until he is told to forget it. */
    CHECK_EQ(weir__stream_in_bytes(&stream, input, 1), -WEIR_E_CANCELED);
    CHECK_EQ(weir__stream_in_hole(&stream, 1), -WEIR_E_CANCELED);
    CHECK_EQ(weir__stream_in_finish(&stream, &root, &length), -WEIR_E_CANCELED);
    weir__stream_in_fini(&stream);
    weir__stream_in_fini(&stream);
    weir__stream_in_fini(NULL);
    weir_cancel_fini(&cancel);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    memory_clear();
}

/* Each put and each get fails once: it is told, and the next try is right. */
TEST(errors_of_sink_and_source_come_back)
{
    struct weir__address root;
    uint64_t length;
    int fd = new_file();
    random_seed();
    random_fill(input, 600000);
    int failed = 0, result = -1;
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    for (int n = 0; result != 0; n++, failed++) {
        memory.fail_at = n;
        weir__stream_in_reset(&stream);
        result = weir__stream_in_bytes(&stream, input, 600000);
        if (result == 0)
            result = weir__stream_in_finish(&stream, &root, &length);
        CHECK(result == 0 || result == -WEIR_E_TRANSIENT);
    }
    CHECK(failed > 5);
    weir__stream_in_fini(&stream);
    failed = 0, result = -1;
    for (int n = 0; result != 0; n++, failed++) {
        memory.fail_at = n;
        CHECK_EQ(ftruncate(fd, 0), 0);
        lseek(fd, 0, SEEK_SET);
        result = weir__stream_out(&memory_source, &root, NULL, fd, NULL);
        CHECK(result == 0 || result == -WEIR_E_TRANSIENT);
        CHECK(memcmp(input, output, (size_t)pread(fd, output, sizeof(output), 0)) == 0);
    }
    CHECK(failed > 5);
    check_same(fd, input, 600000);
    close(fd);
    memory_clear();
}

/* A manifest that gives a chunk another length, and a chunk whose bytes are not its own. */
TEST(chunks_are_checked)
{
    struct weir__address root, chunk;
    struct weir__file_writer writer;
    int fd = new_file();
    weir__address_of("hello", 5, &chunk);
    CHECK_EQ(memory_put(NULL, "hello", 5, &chunk), 0);
    for (size_t length = 4; length <= 6; length++) {
        weir__file_writer_init(&writer, &memory_sink);
        CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, length), 0);
        CHECK_EQ(weir__file_writer_finish(&writer, &root), 0);
        weir__file_writer_fini(&writer);
        CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL),
                 length == 5 ? 0 : -WEIR_E_CORRUPT);
        CHECK_EQ(size_of(fd), length == 4 ? 0 : 5);
        if (length == 5) {
            memory.is_lying = true;
            memory.lie = chunk;
            CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, fd, NULL), -WEIR_E_CORRUPT);
            memory.is_lying = false;
        }
    }
    CHECK_EQ(weir__stream_out(&memory_source, &chunk, NULL, fd, NULL), -WEIR_E_INVALID);
    chunk.bytes[0] ^= 1;
    CHECK_EQ(weir__stream_out(&memory_source, &chunk, NULL, fd, NULL), -WEIR_E_NOT_FOUND);
    close(fd);
    memory_clear();
}

TEST(other_descriptors)
{
    struct weir__address root;
    uint64_t length;
    /* Its size is 0, and it is a hole if one asks; yet it has bytes. */
    int fd = open("/proc/self/cmdline", O_RDONLY), out = open("/dev/full", O_WRONLY);
    CHECK(fd >= 0 && out >= 0);
    root = take_fd(fd, &length);
    CHECK(length > 5);
    CHECK_EQ(weir__stream_out(&memory_source, &root, NULL, out, NULL), -WEIR_E_NO_SPACE);
    close(fd);
    close(out);
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK(weir__stream_in_fd(&stream, -1, NULL) < 0);
    weir__stream_in_fini(&stream);
    struct weir__stream_in_options wrong = {.fixed_size = 5};
    CHECK_EQ(weir__stream_in_init(&stream, &wrong, &memory_sink), -WEIR_E_INVALID);
    memory_clear();
}

TEST(no_more_than_a_file_can_have)
{
    CHECK_EQ(weir__stream_in_init(&stream, &by_content, &memory_sink), 0);
    CHECK_EQ(weir__stream_in_hole(&stream, WEIR__FILE_LENGTH_MAX), 0);
    CHECK_EQ(weir__stream_in_bytes(&stream, "x", 1), -WEIR_E_TOO_LARGE);
    weir__stream_in_reset(&stream);
    CHECK_EQ(weir__stream_in_bytes(&stream, "x", 1), 0);
    CHECK_EQ(weir__stream_in_hole(&stream, WEIR__FILE_LENGTH_MAX), -WEIR_E_TOO_LARGE);
    weir__stream_in_fini(&stream);
    memory_clear();
}

TAP_MAIN()
