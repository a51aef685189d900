/* Answers that have begun and cannot be sent on: told, counted, cut, and the chunk is looked at. */
#include "dial.h"
#include "file_writer.h"
#include "log.h"
#include "stream_in.h"
#include "sys.h"

#ifdef WEIR_FAULTS

#define CHUNK (256u << 10)
#define PIECE (64u << 10)

static unsigned char content[CHUNK];
static char answer[CHUNK + 4096];
static char told[64u << 10];
static int log_fd = -1, real_fd = -1;

/* What is told from here on is in a file. */
static void open_log(void)
{
    char name[] = "/tmp/weir-sending-XXXXXX";
    fflush(NULL);
    log_fd = mkstemp(name);
    real_fd = dup(STDERR_FILENO);
    CHECK(log_fd >= 0 && real_fd >= 0 && dup2(log_fd, STDERR_FILENO) == STDERR_FILENO);
    unlink(name);
}

static const char *log_text(void)
{
    ssize_t length = pread(log_fd, told, sizeof(told) - 1, 0);
    told[length > 0 ? length : 0] = '\0';
    return told;
}

static void close_log(void)
{
    CHECK(dup2(real_fd, STDERR_FILENO) == STDERR_FILENO);
    close(real_fd);
    close(log_fd);
}

/* How much of the body came, all of it right. */
static size_t ask(const char *place, const char *name)
{
    int fd = dial_for(place, name);
    size_t have = 0;
    ssize_t count;
    while ((count = read(fd, answer + have, sizeof(answer) - 1 - have)) > 0)
        have += (size_t)count;
    close(fd);
    answer[have] = '\0';
    char *body = strstr(answer, "\r\n\r\n");
    CHECK(body && strncmp(answer, "HTTP/1.1 200 ", 13) == 0);
    CHECK_HAS(answer, "Content-Length: 262144\r\n");
    size_t length = (size_t)(answer + have - body - 4);
    CHECK(length <= CHUNK && memcmp(body + 4, content, length) == 0);
    return length;
}

static int put_chunk(void *arg, const void *bytes, size_t length,
                     const struct weir__address *address)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    (void)arg;
    int result = weir__store_put(storage->store, address, bytes, (uint32_t)length, &deadline);
    return result < 0 ? result : 0;
}

static void fill(void)
{
    for (size_t i = 0; i < CHUNK; i++)
        content[i] = (unsigned char)(i * 2654435761u >> 24);
}

/* Some bytes of the chunk cannot be read from here on; the store has read it before. */
static void spoil(const struct weir__address *address, uint64_t from)
{
    struct weir__chunk chunk;
    CHECK_EQ(weir__store_get_now(storage->store, address, &chunk), 0);
    weir__sys_fault_stretch(chunk.fd, (off_t)(chunk.offset + from),
                            (off_t)(chunk.offset + from + 4096));
    weir__chunk_release(storage->store, &chunk);
}

static uint64_t truncated(void)
{
    struct weir__server_stats stats;
    weir__server_read(storage->daemon.server, &stats);
    return stats.truncated;
}

TEST(a_chunk_that_cannot_be_read)
{
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT], line[256];
    fill();
    start(in_memory);
    weir__address_of(content, CHUNK, &address);
    weir__address_print(&address, text);
    CHECK_EQ(put_chunk(NULL, content, CHUNK, &address), 0);
    CHECK_EQ(ask("/o/", text), CHUNK);
    open_log();
    spoil(&address, 100000);
    CHECK_EQ(ask("/o/", text), 100000);
    snprintf(line, sizeof(line), "GET /o/%s failed: an input or output error (request ", text);
    AWAIT(strstr(log_text(), line));
    snprintf(line, sizeof(line), "%s cannot be read: an input or output error; put it again", text);
    AWAIT(strstr(log_text(), line));
    AWAIT(truncated() == 1);
    /* From here on nobody begins what cannot be ended. */
    int fd = dial_for("/o/", text);
    CHECK(read(fd, answer, sizeof(answer)) > 0);
    close(fd);
    CHECK(strncmp(answer, "HTTP/1.1 500 ", 13) == 0);
    /* When it can be read again, whoever asks gets it, and nothing was put aside. */
    weir__sys_fault_stretch(-1, 0, 0);
    CHECK_EQ(ask("/o/", text), CHUNK);
    weir__repair_suspect(storage, &address);
    snprintf(line, sizeof(line), "%s could not be sent, and can be read now", text);
    AWAIT(strstr(log_text(), line));
    close_log();
    CHECK_EQ(truncated(), 1);
    end();
}

TEST(a_chunk_of_a_file_that_cannot_be_read)
{
    struct weir__stream_in stream;
    struct weir__stream_in_options options = {.fixed_size = PIECE};
    struct weir__chunk_sink sink = {put_chunk, NULL};
    struct weir__address root, third;
    uint64_t length;
    char text[WEIR__ADDRESS_TEXT], chunk[WEIR__ADDRESS_TEXT], line[512];
    fill();
    start(in_memory);
    CHECK(weir__stream_in_init(&stream, &options, &sink) == 0);
    CHECK(weir__stream_in_bytes(&stream, content, CHUNK) == 0);
    CHECK(weir__stream_in_finish(&stream, &root, &length) == 0);
    weir__stream_in_fini(&stream);
    weir__address_print(&root, text);
    weir__address_of(content + 2 * (size_t)PIECE, PIECE, &third);
    weir__address_print(&third, chunk);
    CHECK_EQ(ask("/f/", text), CHUNK);
    open_log();
    spoil(&third, 5000);
    CHECK_EQ(ask("/f/", text), 2 * PIECE + 5000);
    snprintf(line, sizeof(line), "GET /f/%s failed at %s: an input or output error", text, chunk);
    AWAIT(strstr(log_text(), line));
    snprintf(line, sizeof(line), "%s cannot be read: an input or output error", chunk);
    AWAIT(strstr(log_text(), line));
    weir__sys_fault_stretch(-1, 0, 0);
    /* The same of one that a worker looks for, and that is not there. */
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__store_delete(storage->store, &third, &deadline), 0);
    CHECK(ask("/f/", text) < 3 * PIECE);
    snprintf(line, sizeof(line), "GET /f/%s failed at %s: there is no such thing", text, chunk);
    AWAIT(strstr(log_text(), line));
    close_log();
    end();
}

/* A manifest says that its last chunk is twice as long as it is: nothing of that is sent. */
TEST(a_manifest_that_lies_about_a_chunk)
{
    struct weir__file_writer writer;
    struct weir__chunk_sink sink = {put_chunk, NULL};
    struct weir__address address, root;
    char text[WEIR__ADDRESS_TEXT];
    fill();
    weir__log_threshold(WEIR__LOG_ERROR);
    start(in_memory);
    weir__file_writer_init(&writer, &sink);
    for (size_t i = 0; i < 4; i++) {
        size_t length = i < 3 ? PIECE : PIECE / 2;
        weir__address_of(content + i * PIECE, length, &address);
        CHECK_EQ(put_chunk(NULL, content + i * PIECE, length, &address), 0);
        CHECK_EQ(weir__file_writer_add_chunk(&writer, &address, PIECE), 0);
    }
    CHECK_EQ(weir__file_writer_finish(&writer, &root), 0);
    weir__file_writer_fini(&writer);
    weir__address_print(&root, text);
    CHECK(ask("/f/", text) <= 3 * PIECE);
    weir__log_threshold(WEIR__LOG_INFO);
    end();
}

/* One that is copied with the head: nothing of the answer has left. */
TEST(a_small_chunk_that_cannot_be_read)
{
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT], line[256];
    fill();
    start(in_memory);
    weir__address_of(content, 1000, &address);
    weir__address_print(&address, text);
    CHECK_EQ(put_chunk(NULL, content, 1000, &address), 0);
    int fd = dial_for("/o/", text);
    CHECK(read(fd, answer, sizeof(answer)) > 1000);
    close(fd);
    open_log();
    spoil(&address, 0);
    fd = dial_for("/o/", text);
    ssize_t length = read(fd, answer, sizeof(answer) - 1);
    CHECK(length > 0);
    answer[length] = '\0';
    CHECK(strncmp((char *)answer, "HTTP/1.1 500 ", 13) == 0);
    CHECK_HAS((char *)answer, "{\"error\": \"Io\"");
    close(fd);
    snprintf(line, sizeof(line), "GET /o/%s failed: an input or output error", text);
    AWAIT(strstr(log_text(), line));
    weir__sys_fault_stretch(-1, 0, 0);
    close_log();
    AWAIT(truncated() == 1);
    end();
}

static uint64_t damaged(void)
{
    struct weir__store_stats stats;
    weir__store_read(storage->store, &stats);
    return stats.damaged;
}

/* Who could not send it did not know; who reads it finds out. */
TEST(a_suspect_that_is_damaged)
{
    struct weir__address address;
    struct weir__chunk chunk;
    char text[WEIR__ADDRESS_TEXT], line[256];
    fill();
    start(in_memory);
    weir__address_of(content, CHUNK, &address);
    weir__address_print(&address, text);
    CHECK_EQ(put_chunk(NULL, content, CHUNK, &address), 0);
    CHECK_EQ(ask("/o/", text), CHUNK);
    CHECK_EQ(weir__store_get_now(storage->store, &address, &chunk), 0);
    CHECK_EQ(pwrite(chunk.fd, "?", 1, (off_t)chunk.offset + 7), 1);
    weir__chunk_release(storage->store, &chunk);
    open_log();
    weir__repair_suspect(storage, &address);
    AWAIT(damaged() == 1);
    snprintf(line, sizeof(line), "%s could not be repaired: there is no other record of it", text);
    AWAIT(strstr(log_text(), line));
    close_log();
    end();
}

#else

TEST(nothing_can_be_made_to_fail_in_this_build)
{
}

#endif

TAP_MAIN()
