/* fill.c - fills a store with many small chunks, or opens one, and says what that took.
 *
 *     bench-storage-fill fill FOLDER COUNT     chunks of 1 KiB, through the store's own line
 *     bench-storage-fill open FOLDER           as a service opens it
 *
 * Memory is that of this process after the store was opened: the whole of it, and what is not a
 * page of a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>
#include <weir/queue.h>

#include "store.h"

#define CHUNK_BYTES 1024u
#define AT_ONCE     2048u /* below what the store lets wait */
#define PATIENCE_NS (60 * WEIR_NS_PER_S)

struct chunk {
    struct weir__store_write write;
    uint64_t words[CHUNK_BYTES / 8];
};

static struct weir_queue idle; /* chunks that are not under way */

static _Noreturn void die(const char *what, int error)
{
    fprintf(stderr, "bench-storage-fill: %s: %s\n", what, weir_error_text(error));
    exit(1);
}

static void done(struct weir__store_write *write)
{
    struct chunk *chunk = write->arg;
    if (write->result != 0)
        die("a write failed", write->result);
    int error = weir_queue_try_send(&idle, &chunk);
    if (error)
        die("no room for a chunk that came back", error);
}

/* --- filling --- */

static struct chunk *take(void)
{
    struct weir_deadline patient = weir_deadline_in(PATIENCE_NS, NULL);
    struct chunk *chunk;
    int error = weir_queue_recv(&idle, &chunk, &patient);
    if (error)
        die("no write ends", error);
    return chunk;
}

/* SplitMix64, so that each number has bytes of its own. */
static void make(struct chunk *chunk, uint64_t number)
{
    uint64_t state = number << 16;
    for (size_t i = 0; i < CHUNK_BYTES / 8; i++) {
        uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);
        word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
        chunk->words[i] = word ^ (word >> 31);
    }
    chunk->write = (struct weir__store_write){.action = WEIR__STORE_PUT,
                                              .bytes = chunk->words,
                                              .length = CHUNK_BYTES,
                                              .done = done,
                                              .arg = chunk};
    weir__address_of(chunk->words, CHUNK_BYTES, &chunk->write.address);
}

/* The line of the store may be shorter for a moment than what we have. */
static void submit(struct weir__store *store, struct chunk *chunk)
{
    int error;
    while ((error = weir__store_submit(store, &chunk->write)) == -WEIR_E_BUSY) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        (void)!weir_deadline_sleep(&moment);
    }
    if (error)
        die("cannot hand in a write", error);
}

static void fill(struct weir__store *store, uint64_t count)
{
    struct chunk *chunks = calloc(AT_ONCE, sizeof(*chunks));
    struct weir_queue_options options = {sizeof(struct chunk *), AT_ONCE};
    int error = chunks ? weir_queue_init(&idle, "idle", &options) : -WEIR_E_NO_MEMORY;
    if (error)
        die("cannot begin", error);
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        struct chunk *chunk = &chunks[i];
        if ((error = weir_queue_try_send(&idle, &chunk)))
            die("cannot begin", error);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct chunk *chunk = take();
        make(chunk, i);
        submit(store, chunk);
    }
    for (uint32_t i = 0; i < AT_ONCE; i++)
        (void)take();
    weir_queue_fini(&idle);
    free(chunks);
}

/* --- telling --- */

static uint64_t status_kib(const char *key)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

static double seconds_since(uint64_t begin_ns)
{
    return (double)(weir_now_ns() - begin_ns) / 1e9;
}

int main(int argc, char **argv)
{
    bool is_fill = argc == 4 && strcmp(argv[1], "fill") == 0;
    if (!is_fill && (argc != 3 || strcmp(argv[1], "open") != 0))
        die("see the head of fill.c", -WEIR_E_USAGE);
    struct weir__store_options options = {.folder = argv[2]};
    struct weir__store_report report;
    struct weir__store_stats stats;
    struct weir__store *store;
    double open_s, fill_s = 0;
    uint64_t begin_ns = weir_now_ns();
    int error = weir__store_open(&store, &options, &report);
    if (error)
        die(weir__store_why(), error);
    open_s = seconds_since(begin_ns);
    if (is_fill) {
        begin_ns = weir_now_ns();
        fill(store, strtoull(argv[3], NULL, 10));
        fill_s = seconds_since(begin_ns);
    }
    weir__store_read(store, &stats);
    uint64_t rss = status_kib("VmRSS:"), anon = status_kib("RssAnon:"), peak = status_kib("VmHWM:");
    begin_ns = weir_now_ns();
    weir__store_close(store);
    printf("{\"open_s\": %.4f, \"fill_s\": %.3f, \"close_s\": %.3f, \"chunks\": %" PRIu64
           ", \"entries\": %" PRIu64 ", \"index_bytes\": %" PRIu64 ", \"segments\": %" PRIu64
           ", \"rss_kib\": %" PRIu64 ", \"anon_kib\": %" PRIu64 ", \"peak_kib\": %" PRIu64
           ", \"was_clean\": %s, \"was_rebuilt\": %s}\n",
           open_s, fill_s, seconds_since(begin_ns), report.chunks, stats.index_entries,
           stats.index_bytes, report.segments, rss, anon, peak, report.was_clean ? "true" : "false",
           report.index_was_rebuilt ? "true" : "false");
    return 0;
}
