/* fill.c - records for bench/index/run: into the folder of a node, or printed.
 *
 *     bench-index-fill store FOLDER NAMES PROVIDERS    as a node does; prints what it took
 *     bench-index-fill print NAMES                     a line each: name, key of the DHT, record
 *
 * Each name means an address of its own, and PROVIDERS / NAMES providers tell that they have it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>
#include <weir/queue.h>

#include "question.h"
#include "records.h"

#define AT_ONCE     400u /* below what the store lets wait */
#define PATIENCE_NS (60 * WEIR_NS_PER_S)
#define LIFE_S      INT64_C(86400)

static struct weir_queue idle; /* writes that are not under way */
static struct weir__key key;
static char key_id[WEIR__KEYID_TEXT];
static int64_t now_s;

static _Noreturn void die(const char *what, int error)
{
    fprintf(stderr, "bench-index-fill: %s: %s\n", what, weir_error_text(error));
    exit(1);
}

static void done(struct weir__records_write *write)
{
    if (write->result != 0)
        die("a write failed", write->result);
    int error = weir_queue_try_send(&idle, &write);
    if (error)
        die("no room for a write that came back", error);
}

static struct weir__records_write *take(void)
{
    struct weir_deadline patient = weir_deadline_in(PATIENCE_NS, NULL);
    struct weir__records_write *write;
    int error = weir_queue_recv(&idle, &write, &patient);
    if (error)
        die("no write ends", error);
    return write;
}

/* --- records --- */

static void sign(struct weir__record_bytes *bytes, struct weir__record *record)
{
    memcpy(record->public_key, key.public_key, sizeof(record->public_key));
    int error = weir__record_sign(bytes, record, &key);
    if (error)
        die("cannot sign", error);
}

static void make_name(struct weir__record *record, struct weir__record_bytes *bytes,
                      uint64_t number)
{
    char text[WEIR__NAME_MAX + 1];
    *record = (struct weir__record){
        .kind = WEIR__RECORD_NAME, .sequence = 1, .issued_s = now_s, .expires_s = now_s + LIFE_S};
    int length = snprintf(text, sizeof(text), "bench/%" PRIu64 "@%s", number, key_id);
    int error = weir__name_parse(text, (size_t)length, &record->name);
    if (error)
        die("cannot name", error);
    weir__address_of(&number, sizeof(number), &record->address);
    sign(bytes, record);
}

/* A key of its own for each, since one key provides an address once. */
static void make_provider(struct weir__record *record, struct weir__record_bytes *bytes,
                          uint64_t number, uint64_t which)
{
    unsigned char seed[32] = {2};
    memcpy(seed + 8, &which, sizeof(which));
    struct weir__key own;
    weir__key_from_seed(&own, seed);
    *record = (struct weir__record){.kind = WEIR__RECORD_PROVIDER,
                                    .sequence = 1,
                                    .issued_s = now_s,
                                    .expires_s = now_s + LIFE_S};
    weir__address_of(&number, sizeof(number), &record->address);
    snprintf(record->url, sizeof(record->url), "https://node%" PRIu64 ".example.org:8470", which);
    snprintf(record->region, sizeof(record->region), "eu-%" PRIu64, which % 4);
    memcpy(record->public_key, own.public_key, sizeof(record->public_key));
    int error = weir__record_sign(bytes, record, &own);
    if (error)
        die("cannot sign", error);
    weir__key_fini(&own);
}

/* --- into a folder --- */

static void put(struct weir__records *records, uint64_t number, uint64_t provider, bool is_name)
{
    struct weir__records_write *write = take();
    memset(write, 0, sizeof(*write));
    write->action = WEIR__RECORDS_PUT;
    write->now_s = now_s;
    write->done = done;
    if (is_name)
        make_name(&write->record, &write->bytes, number);
    else
        make_provider(&write->record, &write->bytes, number, provider);
    int error;
    while ((error = weir__records_submit(records, write)) == -WEIR_E_BUSY) {
        struct weir_deadline moment = weir_deadline_in(WEIR_NS_PER_MS, NULL);
        (void)!weir_deadline_sleep(&moment);
    }
    if (error)
        die("cannot hand in a write", error);
}

static void put_all(struct weir__records *records, uint64_t names, uint64_t providers)
{
    struct weir__records_write *writes = calloc(AT_ONCE, sizeof(*writes));
    struct weir_queue_options options = {sizeof(struct weir__records_write *), AT_ONCE};
    int error = writes ? weir_queue_init(&idle, "idle", &options) : -WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; !error && i < AT_ONCE; i++) {
        struct weir__records_write *write = &writes[i];
        error = weir_queue_try_send(&idle, &write);
    }
    if (error)
        die("cannot begin", error);
    for (uint64_t i = 0; i < names; i++) {
        put(records, i, 0, true);
        for (uint64_t k = 0; k < providers / names; k++)
            put(records, i, k, false);
    }
    for (uint32_t i = 0; i < AT_ONCE; i++)
        (void)take();
    weir_queue_fini(&idle);
    free(writes);
}

static void store(const char *folder, uint64_t names, uint64_t providers)
{
    struct weir__records_options options = {.folder = folder};
    struct weir__records_report report;
    struct weir__records *records;
    struct weir_crew *crew;
    char why[WEIR__RECORDS_WHY];
    uint64_t begin_ns = weir_now_ns();
    int error = weir__records_open(&records, &options, &report, why);
    if (error)
        die(why, error);
    if ((error = weir_crew_new(&crew, "fill", NULL)) ||
        (error = weir__records_start(records, crew)))
        die("cannot start", error);
    put_all(records, names, providers);
    weir__records_stop(records);
    if ((error = weir_crew_drain(crew, NULL)))
        die("cannot end", error);
    weir__records_close(records);
    weir_crew_free(crew);
    printf("{\"fill_s\": %.6f, \"key\": \"%s\"}\n",
           (double)(weir_now_ns() - begin_ns) / (double)WEIR_NS_PER_S, key_id);
}

/* --- printed --- */

static void print(uint64_t names)
{
    for (uint64_t i = 0; i < names; i++) {
        struct weir__record record;
        struct weir__record_bytes bytes;
        struct weir__question_key question_key;
        char text[WEIR__RECORD_TEXT];
        make_name(&record, &bytes, i);
        struct weir__question question = {.kind = WEIR__ASK_NAME, .name = record.name};
        weir__question_key_of(&question, &question_key);
        weir__record_print(&bytes, text);
        printf("%s ", record.name.text);
        for (size_t k = 0; k < 20; k++)
            printf("%02x", question_key.bytes[k]);
        printf(" %s\n", text);
    }
}

int main(int argc, char **argv)
{
    static const unsigned char seed[32] = {1};
    const char *missing = weir__key_load_library();
    if (missing)
        die(missing, -WEIR_E_UNSUPPORTED);
    weir__key_from_seed(&key, seed);
    weir__key_id_print(&key.id, key_id);
    now_s = weir_wall_s();
    if (argc == 5 && strcmp(argv[1], "store") == 0 && strtoull(argv[3], NULL, 10) > 0)
        store(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    else if (argc == 3 && strcmp(argv[1], "print") == 0)
        print(strtoull(argv[2], NULL, 10));
    else
        die("store FOLDER NAMES PROVIDERS, or print NAMES", -WEIR_E_USAGE);
    weir__key_fini(&key);
    return 0;
}
