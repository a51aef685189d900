/* records_bench.c - what records cost: signing, judging, putting, opening, looking up.
 *
 *     records-bench FOLDER|- NAMES PROVIDERS
 *
 * "-" keeps them in memory. Twenty providers for each address. Prints one line for each figure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "records.h"

#define NOW       INT64_C(1800000000)
#define KEYS      20u
#define LOOKS     200000u
#define ADDRESSES 20u /* providers of each */

static struct weir__records *records;
static struct weir_crew *crew;
static struct weir__key keys[KEYS];
static struct weir_queue done;
static struct weir__records_write writes[WEIR__RECORDS_LINE];
static uint64_t dice = 88172645463325252u;
static uint64_t took[LOOKS];

static uint64_t roll(void)
{
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return dice;
}

static void need(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "records-bench: %s: %s\n", what, weir_error_name(error));
    exit(1);
}

static struct weir__name name_of(uint64_t number)
{
    char text[WEIR__NAME_MAX + 1], id[WEIR__KEYID_TEXT];
    struct weir__name name;
    weir__key_id_print(&keys[0].id, id);
    snprintf(text, sizeof(text), "site/%08" PRIu64 "@%s", number, id);
    need(weir__name_parse(text, strlen(text), &name), "name");
    return name;
}

static struct weir__address address_of(uint64_t number)
{
    struct weir__address address;
    weir__address_of(&number, sizeof(number), &address);
    return address;
}

static void make(struct weir__record *record, struct weir__record_bytes *bytes, bool is_name,
                 uint64_t number, uint64_t sequence)
{
    const struct weir__key *key = &keys[is_name ? 0 : number % KEYS];
    *record = (struct weir__record){.kind = is_name ? WEIR__RECORD_NAME : WEIR__RECORD_PROVIDER,
                                    .sequence = sequence,
                                    .issued_s = NOW,
                                    .expires_s = NOW + 86400 + (int64_t)(roll() % 3600)};
    record->address = address_of(is_name ? number : number / ADDRESSES);
    if (is_name)
        record->name = name_of(number);
    else
        snprintf(record->url, sizeof(record->url), "https://node-%03u.example.org:8443/",
                 (unsigned)(number % KEYS));
    need(weir__record_sign(bytes, record, key), "sign");
    memcpy(record->public_key, key->public_key, WEIR__PUBLIC_KEY_SIZE);
}

static double seconds_since(uint64_t from_ns)
{
    return (double)(weir_now_ns() - from_ns) / 1e9;
}

/* --- signatures --- */

static void measure_signatures(bool is_name)
{
    struct weir__record record, read;
    struct weir__record_bytes bytes;
    const unsigned count = 5000;
    uint64_t from = weir_now_ns();
    for (unsigned i = 0; i < count; i++)
        make(&record, &bytes, is_name, i, 1);
    printf("%s: %u bytes, signed in %.1f us", is_name ? "name" : "provider", bytes.length,
           seconds_since(from) / count * 1e6);
    from = weir_now_ns();
    for (unsigned i = 0; i < count; i++)
        if (weir__record_judge(&read, bytes.bytes, bytes.length, NULL, NOW) != WEIR__RECORD_GOOD)
            exit(1);
    printf(", judged in %.1f us\n", seconds_since(from) / count * 1e6);
}

/* --- puts --- */

static void on_done(struct weir__records_write *write)
{
    need(weir_queue_try_send(&done, &write), "done");
}

/* Puts count records with so many under way; the time that signing takes is not counted. */
static double put_all(bool is_name, uint64_t from, uint64_t count, uint64_t sequence,
                      unsigned depth)
{
    struct weir_deadline deadline = weir_deadline_in(3600 * WEIR_NS_PER_S, NULL);
    double total = 0;
    for (uint64_t at = 0; at < count; at += depth) {
        unsigned some = count - at < depth ? (unsigned)(count - at) : depth;
        for (unsigned i = 0; i < some; i++) {
            writes[i] = (struct weir__records_write){
                .action = WEIR__RECORDS_PUT, .now_s = NOW + 1, .done = on_done};
            make(&writes[i].record, &writes[i].bytes, is_name, from + at + i, sequence);
        }
        uint64_t begin = weir_now_ns();
        for (unsigned i = 0; i < some; i++)
            need(weir__records_submit(records, &writes[i]), "submit");
        for (unsigned i = 0; i < some; i++) {
            struct weir__records_write *write;
            need(weir_queue_recv(&done, &write, &deadline), "wait");
            need(write->result, "put");
        }
        total += seconds_since(begin);
    }
    return total;
}

/* --- looks --- */

static int by_time(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static void print_looks(const char *what)
{
    qsort(took, LOOKS, sizeof(took[0]), by_time);
    printf("%s: p50 %.2f us, p99 %.2f us, p99.9 %.2f us\n", what, (double)took[LOOKS / 2] / 1e3,
           (double)took[LOOKS / 100 * 99] / 1e3, (double)took[LOOKS / 1000 * 999] / 1e3);
}

static void measure_looks(uint64_t names, uint64_t addresses)
{
    static struct weir__record_bytes room[64];
    struct weir__records_seen seen;
    size_t count;
    for (unsigned i = 0; names > 0 && i < LOOKS; i++) {
        struct weir__name name = name_of(roll() % names);
        uint64_t from = weir_now_ns();
        need(weir__records_name(records, &name, NOW, room, &seen), "name");
        took[i] = weir_now_ns() - from;
    }
    print_looks("look at a name");
    for (unsigned i = 0; addresses > 0 && i < LOOKS; i++) {
        struct weir__address address = address_of(roll() % addresses);
        uint64_t from = weir_now_ns();
        need(weir__records_providers(records, &address, NOW, room, 64, &count), "providers");
        took[i] = weir_now_ns() - from;
    }
    print_looks("look at 20 providers");
}

static void print_memory(const char *when)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "RssAnon", 7) == 0 || strncmp(line, "RssFile", 7) == 0 ||
            strncmp(line, "RssShmem", 8) == 0)
            printf("%s: %s", when, line);
    if (status)
        fclose(status);
}

/* --- all of it --- */

static void begin(const char *folder)
{
    char why[WEIR__RECORDS_WHY];
    struct weir__records_report report;
    struct weir__records_options options = {.folder = folder,
                                            .map_bytes = folder ? 0 : UINT64_C(4) << 30};
    uint64_t from = weir_now_ns();
    if (weir__records_open(&records, &options, &report, why)) {
        fprintf(stderr, "records-bench: %s\n", why);
        exit(1);
    }
    printf("opened in %.2f ms: %" PRIu64 " names, %" PRIu64 " providers\n",
           seconds_since(from) * 1e3, report.names, report.providers);
    need(weir_crew_new(&crew, "bench", NULL), "crew");
    need(weir__records_start(records, crew), "start");
}

static void end(void)
{
    weir__records_stop(records);
    weir_crew_drain(crew, NULL);
    weir__records_close(records);
    weir_crew_free(crew);
}

int main(int argc, char **argv)
{
    const struct weir_queue_options options = {sizeof(struct weir__records_write *),
                                               WEIR__RECORDS_LINE};
    if (argc != 4 || weir__key_load_library())
        return 2;
    const char *folder = strcmp(argv[1], "-") == 0 ? NULL : argv[1];
    uint64_t names = strtoull(argv[2], NULL, 10), providers = strtoull(argv[3], NULL, 10);
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned char seed[32] = {(unsigned char)i, 1};
        weir__key_from_seed(&keys[i], seed);
    }
    need(weir_queue_init(&done, "done", &options), "queue");
    measure_signatures(true);
    measure_signatures(false);
    begin(folder);
    printf("names: %.0f puts/s, 256 under way\n",
           (double)names / put_all(true, 0, names, 1, WEIR__RECORDS_BATCH));
    printf("providers: %.0f puts/s, 256 under way\n",
           (double)providers / put_all(false, 0, providers, 1, WEIR__RECORDS_BATCH));
    static const unsigned depths[] = {1, 16, 256};
    for (size_t i = 0; i < 3; i++)
        printf("renewals at random: %.0f puts/s, %u under way\n",
               40.0 * depths[i] / put_all(false, 0, 40 * depths[i], i + 2, depths[i]), depths[i]);
    if (folder) {
        end();
        begin(folder);
    }
    print_memory("before looks");
    measure_looks(names, providers / ADDRESSES);
    print_memory("after looks");
    struct weir__records_stats stats;
    weir__records_read(records, &stats);
    printf("in use: %.1f MB of the map\n", (double)stats.used_bytes / 1e6);
    end();
    weir_queue_fini(&done);
    return 0;
}
