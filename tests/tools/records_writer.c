/* records_writer.c - puts names into records until it is killed, and says what was acknowledged.
 *
 *     records-writer FOLDER SEED        writes; a line "open", then one for each answer
 *     records-writer FOLDER SEED calm   the same, and after each 48 answers it does nothing until a
 *                                       line comes
 *     records-writer FOLDER --check     reads "NAME SEQUENCE" lines and looks whether nothing is
 *                                       older than that, and each record that is there is whole;
 *                                       ends with 1 and a line if something is not so
 *     records-writer FOLDER --fill      puts names until there is no room in 16 MiB
 *
 * A line is "ack NAME SEQUENCE"; it is written by one write(2) after the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "records.h"

#define NOW     INT64_C(1800000000)
#define NAMES   64u
#define WRITERS 48u /* under way at once */

struct slot {
    struct weir__records_write write;
    unsigned number;
};

static struct weir__records *records;
static struct weir__key key;
static struct slot slots[WRITERS];
static struct weir_queue done;
static struct weir_crew *crew;
static uint64_t dice;

static int fail(const char *what)
{
    fprintf(stderr, "records-writer: %s\n", what);
    return 2;
}

static unsigned roll(unsigned sides)
{
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return (unsigned)(dice % sides);
}

static struct weir__name name_of(unsigned number)
{
    char text[WEIR__NAME_MAX + 1], id[WEIR__KEYID_TEXT];
    struct weir__name name = {.length = 0};
    weir__key_id_print(&key.id, id);
    snprintf(text, sizeof(text), "n%u@%s", number, id);
    (void)!weir__name_parse(text, strlen(text), &name);
    return name;
}

static void on_done(struct weir__records_write *write)
{
    struct slot *slot = write->arg;
    (void)!weir_queue_try_send(&done, &slot);
}

static int begin(struct slot *slot, uint64_t sequence)
{
    struct weir__record record = {.kind = WEIR__RECORD_NAME,
                                  .sequence = sequence,
                                  .issued_s = NOW,
                                  .expires_s = NOW + 86400,
                                  .name = name_of(slot->number)};
    record.is_removal = roll(8) == 0;
    if (!record.is_removal)
        weir__address_of(&record.sequence, 8, &record.address);
    slot->write = (struct weir__records_write){.action = WEIR__RECORDS_PUT,
                                               .record = record,
                                               .now_s = NOW + 1,
                                               .done = on_done,
                                               .arg = slot};
    if (weir__record_sign(&slot->write.bytes, &record, &key) < 0)
        return -1;
    memcpy(slot->write.record.public_key, key.public_key, WEIR__PUBLIC_KEY_SIZE);
    return weir__records_submit(records, &slot->write);
}

/* False: it cannot be read, or is not, as a whole, the record of the highest sequence. */
static bool is_whole(unsigned number, uint64_t *ret_highest)
{
    struct weir__name name = name_of(number);
    struct weir__record_bytes bytes;
    struct weir__record record;
    struct weir__records_seen seen = {.is_removed = false};
    int error = weir__records_name(records, &name, NOW + 1, &bytes, &seen);
    *ret_highest = seen.mark.sequence;
    if (error && error != -WEIR_E_NOT_FOUND)
        return false;
    if (seen.mark.sequence == 0)
        return error == -WEIR_E_NOT_FOUND;
    return (error == 0) == !seen.is_removed &&
           weir__record_judge(&record, bytes.bytes, bytes.length, NULL, NOW + 1) ==
               WEIR__RECORD_GOOD &&
           record.sequence == seen.mark.sequence && record.is_removal == seen.is_removed &&
           strcmp(record.name.text, name.text) == 0;
}

static int tell(const struct slot *slot)
{
    char line[64];
    if (slot->write.result)
        return fail(weir_error_name(slot->write.result));
    int length = snprintf(line, sizeof(line), "ack %u %llu\n", slot->number,
                          (unsigned long long)slot->write.record.sequence);
    return write(1, line, (size_t)length) == length ? 0 : 2;
}

static int start(void)
{
    const struct weir_queue_options options = {sizeof(struct slot *), WRITERS};
    return weir_queue_init(&done, "done", &options) || weir_crew_new(&crew, "writer", NULL) ||
           weir__records_start(records, crew);
}

/* Names that are all new, until one finds no room. */
static int put_all(void)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    struct slot *slot;
    for (unsigned i = 0; i < WRITERS; i++) {
        slots[i].number = i;
        if (begin(&slots[i], 1))
            return fail("cannot write");
    }
    while (weir_queue_recv(&done, &slot, &deadline) == 0) {
        if (slot->write.result)
            return slot->write.result == -WEIR_E_NO_SPACE ? 0 : fail("a write failed");
        slot->number += WRITERS;
        if (begin(slot, 1))
            return fail("cannot write");
    }
    return fail("it is never full");
}

static int fill(void)
{
    if (start())
        return fail("cannot begin");
    int result = put_all();
    weir__records_stop(records);
    if (weir_crew_drain(crew, NULL))
        return fail("it does not end");
    weir_crew_free(crew);
    weir__records_close(records);
    return result;
}

static int begin_all(const uint64_t *next)
{
    int error = 0;
    for (unsigned i = 0; i < WRITERS && !error; i++) {
        slots[i].number = i;
        error = begin(&slots[i], next[i]);
    }
    return error;
}

/* Each slot has names of its own, so that sequences rise. is_calm: all of them wait for the last,
 * and then for a line. */
static int churn(bool is_calm)
{
    struct weir_deadline deadline = weir_deadline_in(600 * WEIR_NS_PER_S, NULL);
    static uint64_t next[NAMES];
    struct slot *slot;
    unsigned answers = 0;
    if (start())
        return fail("cannot begin");
    for (unsigned n = 0; n < NAMES; n++) {
        if (!is_whole(n, &next[n]))
            return fail("what is there is not whole");
        next[n]++;
    }
    if (write(1, "open\n", 5) != 5)
        return 2;
    if (begin_all(next))
        return fail("cannot write");
    while (weir_queue_recv(&done, &slot, &deadline) == 0) {
        int result = tell(slot);
        next[slot->number]++;
        if (result)
            return result;
        if (!is_calm && begin(slot, next[slot->number]))
            return fail("cannot write");
        if (is_calm && ++answers % WRITERS == 0 && (getchar() == EOF || begin_all(next)))
            return fail("cannot write");
    }
    return fail("nobody killed it");
}

static int check(void)
{
    unsigned number;
    unsigned long long sequence;
    uint64_t highest;
    for (number = 0; number < NAMES; number++)
        if (!is_whole(number, &highest)) {
            printf("name %u is not whole\n", number);
            return 1;
        }
    while (scanf("%u %llu", &number, &sequence) == 2)
        if (!is_whole(number, &highest) || highest < sequence) {
            printf("name %u is at %llu, and %llu was acknowledged\n", number,
                   (unsigned long long)highest, sequence);
            return 1;
        }
    weir__records_close(records);
    return 0;
}

int main(int argc, char **argv)
{
    static const unsigned char seed[32] = {1, 2, 3};
    char why[WEIR__RECORDS_WHY];
    struct weir__records_report report;
    if (argc != 3 && argc != 4)
        return fail("FOLDER SEED [calm], FOLDER --check, or FOLDER --fill");
    if (weir__key_load_library())
        return fail("no libsodium");
    weir__key_from_seed(&key, seed);
    bool fills = strcmp(argv[2], "--fill") == 0;
    struct weir__records_options options = {.folder = argv[1],
                                            .map_bytes = (uint64_t)(fills ? 16 : 64) << 20};
    if (weir__records_open(&records, &options, &report, why))
        return fail(why);
    if (strcmp(argv[2], "--check") == 0)
        return check();
    dice = strtoull(argv[2], NULL, 10) | 1;
    return fills ? fill() : churn(argc == 4);
}
