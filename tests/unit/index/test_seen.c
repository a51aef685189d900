/* What was seen of names, while it is on its way to the disk and when it cannot get there. */
#include "index_help.h"

#include <string.h>
#include <sys/stat.h>

#include "seen.h"

static struct weir__key key;
static struct help_records help;
static struct weir__seen *seen;

/* Records whose writer has not been started: what is handed in stays in line. */
static void begin(const char *folder, uint64_t map_bytes, bool has_writer)
{
    unsigned char seed[32] = {3};
    CHECK(!weir__key_load_library());
    weir__key_from_seed(&key, seed);
    CHECK_EQ(help_try_open(&help, folder, map_bytes), 0);
    if (has_writer)
        help_start(&help);
    CHECK_EQ(weir__seen_new(&seen, help.records), 0);
}

static void end(void)
{
    help_close(&help);
    weir__seen_free(seen);
}

static int note_until(unsigned n, uint64_t sequence, int64_t expires_s)
{
    struct weir__name name = help_name_of(n, &key);
    struct weir__record record = help_name_record(&name, sequence);
    struct weir__record_bytes bytes;
    record.expires_s = expires_s;
    CHECK_EQ(weir__record_sign(&bytes, &record, &key), 0);
    CHECK_EQ(weir__record_unpack(&record, bytes.bytes, bytes.length), 0);
    return weir__seen_note(seen, &record, &bytes);
}

static int note(unsigned n, uint64_t sequence)
{
    return note_until(n, sequence, HELP_NOW + HELP_LIFE);
}

static struct weir__record_mark mark_of(unsigned n)
{
    struct weir__name name = help_name_of(n, &key);
    struct weir__record_mark mark;
    weir__seen_mark(seen, &name, &mark);
    return mark;
}

static struct weir__seen_stats stats(void)
{
    struct weir__seen_stats now;
    weir__seen_read(seen, &now);
    return now;
}

/* The line is empty, and what was in it has come back. */
static void settle(void)
{
    uint64_t end_ns = weir_now_ns() + 30 * WEIR_NS_PER_S;
    int error = -WEIR_E_BUSY;
    while (error == -WEIR_E_BUSY && weir_now_ns() < end_ns)
        error = help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW, NULL);
    CHECK_EQ(error, 0);
}

TEST(it_counts_before_it_is_written)
{
    begin(NULL, 0, false);
    CHECK_EQ(mark_of(1).sequence, 0);
    CHECK_EQ(note(1, 5), 0);
    CHECK_EQ(mark_of(1).sequence, 5);
    CHECK_EQ(note(1, 4), 0);
    CHECK_EQ(mark_of(1).sequence, 5);
    CHECK_EQ(note_until(1, 5, HELP_NOW + HELP_LIFE + 1), 0);
    CHECK_EQ(mark_of(1).record.expires_s, HELP_NOW + HELP_LIFE + 1);
    CHECK_EQ(note(1, 6), 0);
    CHECK_EQ(mark_of(1).sequence, 6);
    CHECK_EQ(mark_of(2).sequence, 0);
    CHECK_EQ(stats().unwritten, 3);
    help_start(&help);
    settle();
    CHECK_EQ(stats().unwritten, 0);
    CHECK_EQ(mark_of(1).sequence, 6);
    CHECK(mark_of(1).has_record);
    end();
}

/* In a full map nothing is written, and what was seen counts all the same; when there is room again
 * it gets to the records. */
TEST(it_counts_where_there_is_no_room)
{
    struct weir__records_write write;
    unsigned n = 100;
    begin(NULL, UINT64_C(6) << 20, true);
    for (unsigned full = 0; full < 50;) {
        struct weir__name name = help_name_of(n++, &key);
        int error = help_put_name(&help, &name, 1, &key);
        CHECK(error == 0 || error == -WEIR_E_NO_SPACE);
        full += error != 0;
    }
    CHECK_EQ(note(1, 7), 0);
    settle();
    CHECK_EQ(stats().unwritten, 1);
    CHECK_EQ(mark_of(1).sequence, 7);
    CHECK_EQ(note(1, 8), 0); /* in the place of the one that could not be written */
    settle();
    CHECK_EQ(stats().unwritten, 1);
    CHECK_EQ(mark_of(1).sequence, 8);
    weir__seen_again(seen);
    settle();
    CHECK_EQ(stats().unwritten, 1);
    CHECK_EQ(mark_of(1).sequence, 8);
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_FORGET, HELP_NOW, &write), 0);
    weir__seen_again(seen);
    settle();
    CHECK_EQ(stats().unwritten, 0);
    CHECK_EQ(mark_of(1).sequence, 8);
    end();
}

TEST(it_counts_when_the_line_is_full)
{
    begin(NULL, 0, false);
    for (unsigned i = 0; i < WEIR__RECORDS_LINE + 40; i++)
        CHECK_EQ(note(i, 5), 0);
    CHECK_EQ(stats().unwritten, WEIR__RECORDS_LINE + 40);
    for (unsigned i = 0; i < WEIR__RECORDS_LINE + 40; i++)
        CHECK_EQ(mark_of(i).sequence, 5);
    help_start(&help);
    settle();
    CHECK_EQ(stats().unwritten, 40);
    /* One to see whether it goes, then all. */
    for (int i = 0; i < 2; i++) {
        weir__seen_again(seen);
        settle();
    }
    CHECK_EQ(stats().unwritten, 0);
    for (unsigned i = 0; i < WEIR__RECORDS_LINE + 40; i++)
        CHECK_EQ(mark_of(i).sequence, 5);
    end();
}

TEST(what_there_is_no_room_for_is_refused)
{
    begin(NULL, 0, false);
    for (unsigned i = 0; i < WEIR__SEEN_MAX; i++)
        CHECK_EQ(note(i, 5), 0);
    CHECK_EQ(note(WEIR__SEEN_MAX, 5), -WEIR_E_NO_SPACE);
    CHECK_EQ(stats().refused, 1);
    CHECK_EQ(mark_of(WEIR__SEEN_MAX).sequence, 0);
    CHECK_EQ(note(3, 5), 0); /* that is there already */
    /* Of a name that is there and not on its way, a newer one needs no more room. */
    CHECK_EQ(note(WEIR__SEEN_MAX - 1, 6), 0);
    CHECK_EQ(mark_of(WEIR__SEEN_MAX - 1).sequence, 6);
    CHECK_EQ(stats().unwritten, WEIR__SEEN_MAX);
    weir__seen_forget(seen);
    CHECK_EQ(stats().unwritten, WEIR__RECORDS_LINE); /* these are on their way */
    end();
}

TAP_MAIN()
