/* Members of the pools that end before their time are replaced: between two jobs what was under way
 * goes on, and in the middle of one its client sees that it failed. */
#include <weir/fault.h>

#include "busy.h"
#include "dial.h"
#include "log.h"
#include "stream_in.h"

static void die(struct weir__errand *errand, struct weir__worker *worker)
{
    (void)errand;
    worker->must_end = true;
}

/* A member of the line ends. */
static void end_one(struct weir_queue *line)
{
    struct weir__job *job = weir__base_alloc(1, sizeof(*job));
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK(job);
    job->head.daemon = &storage->daemon;
    job->head.work = die;
    job->chunk.fd = -1;
    weir__buffer_init(&job->head.bytes, 16);
    CHECK(weir_queue_send(line, &job, &deadline) == 0);
}

TEST(who_ends_is_replaced)
{
    start(in_memory);
    CHECK_EQ(kind_of("get").spawned, 2);
    end_one(&storage->daemon.lines[WEIR__LINE_READS]);
    AWAIT(kind_of("get").ended == 1);
    weir__daemon_tend(&storage->daemon);
    CHECK_EQ(kind_of("get").spawned, 3);
    CHECK_EQ(weir_counter_value(&storage->daemon.counts.replaced), 1);
    /* Not again at once: what ends again and again is not to keep anybody busy. */
    end_one(&storage->daemon.lines[WEIR__LINE_READS]);
    AWAIT(kind_of("get").ended == 2);
    weir__daemon_tend(&storage->daemon);
    CHECK_EQ(kind_of("get").spawned, 3);
    AWAIT((weir__daemon_tend(&storage->daemon), kind_of("get").spawned == 4));
    weir__daemon_tend(&storage->daemon);
    CHECK_EQ(kind_of("get").spawned, 4);
    end();
}

/* --- a stream --- */

static int put_chunk(void *arg, const void *bytes, size_t length,
                     const struct weir__address *address)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    (void)arg;
    int result = weir__store_put(storage->store, address, bytes, (uint32_t)length, &deadline);
    return result < 0 ? result : 0;
}

#define FILE_SIZE (8u << 20)

static unsigned char content[FILE_SIZE];

/* The address of a file of that content, in a store that has it. */
static void put_file(char text[WEIR__ADDRESS_TEXT])
{
    struct weir__stream_in stream;
    struct weir__stream_in_options options = {.fixed_size = 64u << 10};
    struct weir__chunk_sink sink = {put_chunk, NULL};
    struct weir__address root;
    uint64_t length;
    for (size_t i = 0; i < FILE_SIZE; i++)
        content[i] = (unsigned char)(i * 2654435761u >> 24);
    CHECK(weir__stream_in_init(&stream, &options, &sink) == 0);
    CHECK(weir__stream_in_bytes(&stream, content, FILE_SIZE) == 0);
    CHECK(weir__stream_in_finish(&stream, &root, &length) == 0);
    weir__stream_in_fini(&stream);
    weir__address_print(&root, text);
}

struct heard {
    int fd;
    unsigned char got[FILE_SIZE + 4096];
    size_t have;
};

static void hear(struct heard *heard)
{
    ssize_t count = read(heard->fd, heard->got + heard->have, sizeof(heard->got) - heard->have);
    heard->have += count > 0 ? (size_t)count : 0;
    if (count <= 0) {
        close(heard->fd);
        heard->fd = -1;
    }
}

/* A request, and the first bytes of its answer. */
static void ask(struct heard *heard, const char *place, const char *name)
{
    heard->fd = dial_for(place, name);
    heard->have = 0;
    hear(heard);
    CHECK(heard->fd >= 0);
}

static void hear_all(struct heard *heard)
{
    while (heard->fd >= 0)
        hear(heard);
    heard->got[heard->have < sizeof(heard->got) ? heard->have : sizeof(heard->got) - 1] = '\0';
}

/* How much of the content has come, all of it right. */
static size_t body_of(const struct heard *heard)
{
    const char *body = strstr((const char *)heard->got, "\r\n\r\n");
    CHECK(strncmp((const char *)heard->got, "HTTP/1.1 200 ", 13) == 0 && body);
    size_t length = (size_t)(heard->got + heard->have - (const unsigned char *)body - 4);
    CHECK(length <= FILE_SIZE && memcmp(body + 4, content, length) == 0);
    return length;
}

static struct heard first;

TEST(a_stream_goes_on_with_those_who_take_their_place)
{
    char text[WEIR__ADDRESS_TEXT];
    start(in_memory);
    put_file(text);
    ask(&first, "/f/", text);
    uint64_t there = kind_of("stream").spawned;
    for (uint64_t i = 0; i < there; i++)
        end_one(&storage->daemon.lines[WEIR__LINE_STREAMS]);
    AWAIT(kind_of("stream").ended == there);
    weir__daemon_tend(&storage->daemon);
    CHECK_EQ(kind_of("stream").spawned, 2 * there);
    hear_all(&first);
    CHECK_EQ(body_of(&first), FILE_SIZE);
    end();
}

/* --- health --- */

#define SCRAPES (WEIR__DAEMON_SCRAPES + 4u)

static bool is_answered_with(int fd, const char *status)
{
    char got[9 + 3 + 1] = "";
    size_t have = 0;
    ssize_t count = 1;
    while (have < sizeof(got) - 1 && count > 0) {
        count = read(fd, got + have, sizeof(got) - 1 - have);
        have += count > 0 ? (size_t)count : 0;
    }
    close(fd);
    return strcmp(got + 9, status) == 0;
}

/* Whoever wants the numbers, however often, and however long they take. */
TEST(health_is_told_while_numbers_are_wanted)
{
    int scrapes[SCRAPES];
    start(in_memory);
    begin_busy(&storage->daemon.health);
    for (size_t i = 0; i < SCRAPES; i++) {
        scrapes[i] = dial_for("/metrics", "");
        if (i < WEIR__DAEMON_SCRAPES)
            AWAIT(weir_queue_depth(&storage->daemon.health) == i + 1);
    }
    CHECK(is_answered_with(dial_for("/healthz", ""), "200"));
    CHECK(is_answered_with(dial_for("/version", ""), "200"));
    for (size_t i = WEIR__DAEMON_SCRAPES; i < SCRAPES; i++)
        CHECK(is_answered_with(scrapes[i], "429"));
    int ready = dial_for("/readyz", "");
    AWAIT(weir_queue_depth(&storage->daemon.health) == WEIR__DAEMON_SCRAPES + 1);
    weir_cancel_fire(&let_go);
    CHECK(is_answered_with(ready, "200"));
    for (size_t i = 0; i < WEIR__DAEMON_SCRAPES; i++)
        CHECK(is_answered_with(scrapes[i], "200"));
    /* Their places are free again. */
    CHECK_EQ(weir_budget_available(&storage->daemon.scrapes), WEIR__DAEMON_SCRAPES);
    CHECK(is_answered_with(dial_for("/metrics", ""), "200"));
    weir_cancel_fini(&let_go);
    end();
}

#ifdef WEIR_FAULTS

static struct heard second, third;

static bool is_ready(const char *workers)
{
    static struct heard heard;
    char wanted[32];
    ask(&heard, "/readyz", "");
    hear_all(&heard);
    snprintf(wanted, sizeof(wanted), "\"workers\": %s}", workers);
    CHECK_HAS((const char *)heard.got, wanted);
    return strncmp((const char *)heard.got, "HTTP/1.1 200 ", 13) == 0;
}

/* Members look whether they may go on before each job and before each chunk that a step finds: once
 * for the manifest, and for each step of four chunks five times. This one ends in the middle of its
 * eleventh step, when it has found three chunks and holds them. */
#define MIDDLE (1 + 10 * 5 + 5)
static void cut_stream(struct heard *heard, const char *text)
{
    uint64_t ended = kind_of("stream").ended;
    weir_fault_arm(WEIR_FAULT_MEMBER, MIDDLE);
    ask(heard, "/f/", text);
    hear_all(heard);
    CHECK(weir_fault_was_hit(WEIR_FAULT_MEMBER));
    CHECK_HAS((const char *)heard->got, "Content-Length: 8388608\r\n");
    size_t length = body_of(heard);
    CHECK(length > 0 && length <= 10 * (256u << 10));
    AWAIT(kind_of("stream").ended == ended + 1);
}

TEST(a_stream_whose_worker_ends_is_cut)
{
    char text[WEIR__ADDRESS_TEXT];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(in_memory);
    put_file(text);
    CHECK(is_ready("true"));
    uint64_t free_before = weir_budget_available(&storage->daemon.inflight);
    cut_stream(&first, text);
    CHECK(is_ready("false"));
    cut_stream(&second, text);
    CHECK_EQ(kind_of("stream").ended, 2);
    /* Nobody is left to stream: what comes is not lost, and waits. */
    CHECK(!is_ready("false"));
    ask(&third, "/f/", text);
    weir__daemon_tend(&storage->daemon);
    CHECK_EQ(kind_of("stream").spawned, 4);
    CHECK_EQ(weir_counter_value(&storage->daemon.counts.replaced), 2);
    CHECK(is_ready("true"));
    hear_all(&third);
    CHECK_EQ(body_of(&third), FILE_SIZE);
    AWAIT(weir_budget_available(&storage->daemon.inflight) == free_before);
    CHECK_EQ(storage->daemon.jobs_count, 0);
    end(); /* which asserts that no chunk is pinned */
}

/* What has not begun is told. */
TEST(a_request_whose_worker_ends_is_told)
{
    char text[WEIR__ADDRESS_TEXT];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(in_memory);
    put_file(text);
    weir_fault_arm(WEIR_FAULT_MEMBER, 1);
    ask(&first, "/f/", text);
    hear_all(&first);
    CHECK(strncmp((const char *)first.got, "HTTP/1.1 500 ", 13) == 0);
    CHECK_HAS((const char *)first.got, "\"Internal\"");
    AWAIT(kind_of("get").ended == 1);
    CHECK(is_ready("false"));
    weir__daemon_tend(&storage->daemon);
    CHECK(is_ready("true"));
    end();
}

#endif

TAP_MAIN()
