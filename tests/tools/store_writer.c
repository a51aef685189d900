/* store_writer.c - writes chunks with known content and tells what was asked for and answered; and
 * looks whether a store holds what it should.
 *
 *     store-writer write FOLDER SEED FIRST    until it is killed, or ends well by SIGTERM
 *     store-writer check FOLDER               reads lines "N in", "N out", "N any"; prints what is
 *
 * write: chunks with numbers from FIRST on are put, put again, touched and deleted by several
 * threads, while segments fill up, are sealed and compacted. Lines on standard output, each written
 * at once: "p N" and "d N" before a put or a deletion of chunk N is asked for, "P N" and "D N" when
 * it was answered. What was answered lasts.
 *
 * check: one line "N in" or "N out" for each that was asked about; status 1 and a line on standard
 * error if one is not as it should be, or its bytes are wrong.
 *
 * Links the store, which is what it judges; what it knows of contents is its own.
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "store.h"

#include "banned.h"

#define THREADS    4
#define OWN        64 /* chunks that a thread has at a time */
#define LENGTH_MAX 65536u

static uint32_t length_of(uint64_t n)
{
    uint64_t x = n * UINT64_C(0x9E3779B97F4A7C15);
    /* Many small ones, some large ones. */
    return (uint32_t)(x >> 40) % (n % 4 == 0 ? LENGTH_MAX : 2000) + 9;
}

/* Eight bytes at a time; there is room for seven more than the length. */
static void fill(unsigned char *bytes, uint32_t length, uint64_t n)
{
    uint64_t x = n * UINT64_C(0xD1342543DE82EF95) + 1;
    for (uint32_t i = 0; i < length; i += 8) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memcpy(bytes + i, &x, sizeof(x));
    }
    memcpy(bytes, &n, sizeof(n));
}

/* --- writing --- */

struct writer {
    struct weir__store *store;
    uint64_t random, next, own[OWN];
    unsigned char bytes[LENGTH_MAX + 16];
};

static atomic_bool is_ended;

static void on_term(int number)
{
    (void)number;
    is_ended = true;
}

static void say(char what, uint64_t n)
{
    char line[32];
    int length = snprintf(line, sizeof(line), "%c %llu\n", what, (unsigned long long)n);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(2);
}

static uint64_t below(struct writer *writer, uint64_t limit)
{
    writer->random ^= writer->random << 13, writer->random ^= writer->random >> 7;
    writer->random ^= writer->random << 17;
    return writer->random % limit;
}

static void put(struct writer *writer, uint64_t n)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__address address;
    uint32_t length = length_of(n);
    fill(writer->bytes, length, n);
    weir__address_of(writer->bytes, length, &address);
    say('p', n);
    int error = weir__store_put(writer->store, &address, writer->bytes, length, &deadline);
    if (error < 0 && !is_ended)
        errx(2, "put %llu: %s", (unsigned long long)n, weir_error_name(error));
    if (error >= 0)
        say('P', n);
}

static void delete (struct writer *writer, uint64_t n)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__address address;
    fill(writer->bytes, length_of(n), n);
    weir__address_of(writer->bytes, length_of(n), &address);
    say('d', n);
    int error = weir__store_delete(writer->store, &address, &deadline);
    if (error && error != -WEIR_E_NOT_FOUND && !is_ended)
        errx(2, "delete %llu: %s", (unsigned long long)n, weir_error_name(error));
    if (!error || error == -WEIR_E_NOT_FOUND)
        say('D', n);
}

/* Nothing is said of it: what is there, is there after it as well. */
static void touch(struct writer *writer, uint64_t n)
{
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    struct weir__address address;
    fill(writer->bytes, length_of(n), n);
    weir__address_of(writer->bytes, length_of(n), &address);
    int error = weir__store_touch(writer->store, &address, &deadline);
    if (error && error != -WEIR_E_NOT_FOUND && !is_ended)
        errx(2, "touch %llu: %s", (unsigned long long)n, weir_error_name(error));
}

static void *write_on(void *arg)
{
    struct writer *writer = arg;
    while (!is_ended) {
        uint64_t *own = &writer->own[below(writer, OWN)];
        uint64_t dice = below(writer, 100);
        if (*own && dice < 40)
            delete (writer, *own);
        if (*own == 0 || dice < 35) {
            *own = writer->next;
            writer->next += THREADS;
        }
        if (dice < 90)
            put(writer, *own);
        else
            touch(writer, *own);
    }
    return NULL;
}

static void *compact_on(void *arg)
{
    struct weir__store *store = arg;
    while (!is_ended) {
        struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
        if (weir__store_compact(store, 10, &deadline))
            usleep(2000);
    }
    return NULL;
}

static int write_until_the_end(const char *folder, uint64_t seed, uint64_t first)
{
    static struct writer writers[THREADS];
    struct weir__store_options options = {.folder = folder,
                                          .segment_bytes = WEIR__STORE_SEGMENT_LEAST,
                                          .compact_per_s = UINT64_C(1) << 30};
    struct weir__store *store;
    pthread_t threads[THREADS + 1];
    signal(SIGTERM, on_term);
    if (weir__store_open(&store, &options, NULL))
        errx(2, "cannot open: %s", weir__store_why());
    say('o', 0);
    for (uint64_t i = 0; i < THREADS; i++) {
        writers[i] =
            (struct writer){.store = store, .random = seed * 977 + i * 31 + 1, .next = first + i};
        if (pthread_create(&threads[i], NULL, write_on, &writers[i]))
            errx(2, "no thread");
    }
    if (pthread_create(&threads[THREADS], NULL, compact_on, store))
        errx(2, "no thread");
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    weir__store_close(store);
    say('e', 0);
    return 0;
}

/* --- checking --- */

static int check(const char *folder)
{
    static unsigned char wanted[LENGTH_MAX + 16];
    struct weir__store_options options = {
        .folder = folder, .segment_bytes = WEIR__STORE_SEGMENT_LEAST, .is_offline = true};
    struct weir__store_reader reader;
    struct weir__store *store;
    char line[64], *word;
    int status = 0;
    if (weir__store_open(&store, &options, NULL) || weir__store_reader_init(&reader))
        errx(2, "cannot open: %s", weir__store_why());
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long long n = strtoull(line, &word, 10);
        word += *word == ' ';
        word[strcspn(word, "\n")] = '\0';
        struct weir__address address;
        const unsigned char *bytes;
        uint32_t length = length_of(n), got;
        fill(wanted, length, n);
        weir__address_of(wanted, length, &address);
        int error = weir__store_read_chunk(store, &reader, &address, &bytes, &got);
        bool is_in = error == 0 && got == length && memcmp(bytes, wanted, length) == 0;
        bool is_fine = is_in ? strcmp(word, "out") != 0
                             : error == -WEIR_E_NOT_FOUND && strcmp(word, "in") != 0;
        if (!is_fine) {
            warnx("%llu should be %s: %s", n, word, error ? weir_error_name(error) : "it is not");
            status = 1;
        }
        printf("%llu %s\n", n, is_in ? "in" : "out");
    }
    weir__store_reader_fini(&reader);
    weir__store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "write") == 0)
        return write_until_the_end(argv[2], strtoull(argv[3], NULL, 10),
                                   strtoull(argv[4], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check(argv[2]);
    errx(2, "usage: store-writer write FOLDER SEED FIRST | check FOLDER");
}
