/* Members of the pools that end before their time are replaced, and what was under way goes on. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "running.h"
#include "stream_in.h"

static void die(struct weir__errand *errand, struct weir__worker *worker)
{
    worker->must_end = true;
    weir__errand_finish(errand, -WEIR_E_INTERNAL, NULL);
}

/* A member of the line ends. */
static void end_one(struct weir_queue *line)
{
    struct weir__errand *errand = weir__base_alloc(1, sizeof(*errand));
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK(errand);
    errand->storage = storage;
    errand->work = die;
    errand->chunk.fd = -1;
    weir__buffer_init(&errand->bytes, 16);
    CHECK(weir_queue_send(line, &errand, &deadline) == 0);
}

TEST(who_ends_is_replaced)
{
    start(in_memory);
    CHECK_EQ(kind_of("get").spawned, 2);
    end_one(&storage->reads);
    AWAIT(kind_of("get").ended == 1);
    weir__storage_tend(storage);
    CHECK_EQ(kind_of("get").spawned, 3);
    CHECK_EQ(weir_counter_value(&storage->counts.replaced), 1);
    /* Not again at once: what ends again and again is not to keep anybody busy. */
    end_one(&storage->reads);
    AWAIT(kind_of("get").ended == 2);
    weir__storage_tend(storage);
    CHECK_EQ(kind_of("get").spawned, 3);
    AWAIT((weir__storage_tend(storage), kind_of("get").spawned == 4));
    weir__storage_tend(storage);
    CHECK_EQ(kind_of("get").spawned, 4);
    end();
}

/* --- a stream --- */

static int dial(void)
{
    const char *text = weir__storage_address(storage, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

static int put_chunk(void *arg, const void *bytes, size_t length,
                     const struct weir__address *address)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    (void)arg;
    int result = weir__store_put(storage->store, address, bytes, (uint32_t)length, &deadline);
    return result < 0 ? result : 0;
}

#define FILE_SIZE (8u << 20)

TEST(a_stream_goes_on_with_those_who_take_their_place)
{
    static unsigned char content[FILE_SIZE], got[FILE_SIZE + 4096];
    struct weir__stream_in stream;
    struct weir__stream_in_options options = {.fixed_size = 64u << 10};
    struct weir__chunk_sink sink = {put_chunk, NULL};
    struct weir__address root;
    uint64_t length;
    char text[WEIR__ADDRESS_TEXT], request[256];
    start(in_memory);
    for (size_t i = 0; i < FILE_SIZE; i++)
        content[i] = (unsigned char)(i * 2654435761u >> 24);
    CHECK(weir__stream_in_init(&stream, &options, &sink) == 0);
    CHECK(weir__stream_in_bytes(&stream, content, FILE_SIZE) == 0);
    CHECK(weir__stream_in_finish(&stream, &root, &length) == 0);
    weir__stream_in_fini(&stream);
    weir__address_print(&root, text);
    int fd = dial();
    int size = snprintf(request, sizeof(request),
                        "GET /f/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text);
    CHECK_EQ(write(fd, request, (size_t)size), size);
    size_t have = 0;
    ssize_t count = read(fd, got, sizeof(got));
    CHECK(count > 0);
    have = count > 0 ? (size_t)count : 0;
    uint64_t there = kind_of("stream").spawned;
    for (uint64_t i = 0; i < there; i++)
        end_one(&storage->streams);
    AWAIT(kind_of("stream").ended == there);
    weir__storage_tend(storage);
    CHECK_EQ(kind_of("stream").spawned, 2 * there);
    while ((count = read(fd, got + have, sizeof(got) - have)) > 0)
        have += (size_t)count;
    close(fd);
    char *body = strstr((char *)got, "\r\n\r\n");
    CHECK(body);
    CHECK_EQ((size_t)(got + have - (unsigned char *)body - 4), FILE_SIZE);
    CHECK(body && memcmp(body + 4, content, FILE_SIZE) == 0);
    end();
}

TAP_MAIN()
