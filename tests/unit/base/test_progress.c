/* test_progress.c - lines made from samples, with time passed in. */
#include "progress.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#define GIB   (UINT64_C(1) << 30)
#define MIB   (UINT64_C(1) << 20)
#define START (5 * WEIR_NS_PER_S)

static struct weir__progress progress;
static char line[WEIR__PROGRESS_LINE_MAX];

static struct weir__progress_sample at_s(uint64_t seconds, uint64_t done, uint64_t total,
                                         uint64_t in_flight)
{
    return (struct weir__progress_sample){.now_ns = START + seconds * WEIR_NS_PER_S,
                                          .done = done,
                                          .total = total,
                                          .in_flight = in_flight};
}

static void begin(enum weir__progress_mode mode, enum weir__unit unit)
{
    weir__progress_init(&progress, mode, unit, START);
}

static const char *text(struct weir__progress_sample sample, size_t width)
{
    weir__progress_format(&progress, &sample, width, line);
    return line;
}

static bool is_due(struct weir__progress_sample sample)
{
    return weir__progress_is_due(&progress, &sample);
}

TEST(all_parts_of_a_line)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    CHECK_STR(text(at_s(10, GIB, 4 * GIB, 12), 200),
              "1.00 GiB of 4.00 GiB  25%  102 MiB/s  0:30 left  12 in flight");
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_COUNT);
    CHECK_STR(text(at_s(10, 5, 20, 0), 200), "5 of 20  25%  0.5/s  0:30 left");
    CHECK_STR(text(at_s(1, 1000, 0, 3), 200), "1000  1000/s  3 in flight");
}

TEST(items_beside_bytes)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(10, GIB, 4 * GIB, 12);
    sample.items_name = "files";
    sample.items = 71;
    CHECK_STR(text(sample, 200),
              "71 files  1.00 GiB of 4.00 GiB  25%  102 MiB/s  0:30 left  12 in flight");
    sample.items_total = 95;
    CHECK_STR(text(sample, 200),
              "71 of 95 files  1.00 GiB of 4.00 GiB  25%  102 MiB/s  0:30 left  12 in flight");
    sample.items = 96;
    CHECK_HAS(text(sample, 200), "96 files  ");
    /* A tree of empty files moves, though its bytes do not. */
    sample.done = 0;
    CHECK_STR(text(sample, 200), "96 files  0 B of 4.00 GiB  0%  0 B/s  12 in flight");
    sample.items = 0;
    CHECK_STR(text(sample, 200),
              "0 of 95 files  0 B of 4.00 GiB  0%  0 B/s  stalled  12 in flight");
}

TEST(too_early_for_a_rate)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(0, MIB, 2 * MIB, 0);
    sample.now_ns += 100 * WEIR_NS_PER_MS;
    CHECK_STR(text(sample, 200), "1.00 MiB of 2.00 MiB  50%");
    CHECK_STR(text(at_s(0, 0, 0, 0), 200), "0 B");
}

TEST(done_stalled_and_hopeless)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    CHECK_STR(text(at_s(10, 0, GIB, 1), 200), "0 B of 1.00 GiB  0%  0 B/s  stalled  1 in flight");
    CHECK_STR(text(at_s(4, 4 * MIB, 4 * MIB, 0), 200), "4.00 MiB of 4.00 MiB  100%  1.00 MiB/s");
    CHECK_STR(text(at_s(10, 1, UINT64_MAX, 0), 200), "1 B of 16.0 EiB  0%  0 B/s");
    /* The tree grew: no percentage above 100. */
    CHECK_STR(text(at_s(5, 10 * MIB, 4 * MIB, 0), 200), "10.0 MiB  2.00 MiB/s");
}

TEST(a_narrow_terminal_gets_whole_parts)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(10, GIB, 4 * GIB, 12);
    CHECK_STR(text(sample, 36), "1.00 GiB of 4.00 GiB  25%  102 MiB/s");
    CHECK_STR(text(sample, 35), "1.00 GiB of 4.00 GiB  25%");
    CHECK_STR(text(sample, 3), "25%");
    CHECK_STR(text(sample, 0), "");
}

TEST(the_rate_follows_the_last_seconds)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    /* 100 MiB/s for a minute, then 1 MiB/s. */
    uint64_t done = 0;
    for (uint64_t s = 1; s <= 60; s++)
        is_due(at_s(s, done += 100 * MIB, 0, 0));
    CHECK_HAS(text(at_s(60, done, 0, 0), 200), "100 MiB/s");
    for (uint64_t s = 61; s <= 90; s++)
        is_due(at_s(s, done += MIB, 0, 0));
    CHECK_HAS(text(at_s(90, done, 0, 0), 200), "  1.00 MiB/s");
}

TEST(time_that_goes_back_does_no_harm)
{
    begin(WEIR__PROGRESS_PLAIN, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = {.now_ns = 0, .done = 10, .total = 20};
    CHECK(!is_due(sample));
    CHECK_STR(text(sample, 200), "10 B of 20 B  50%");
}

TEST(how_often)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_COUNT);
    unsigned shown = 0;
    for (uint64_t ms = 0; ms <= 1000; ms += 10) {
        struct weir__progress_sample sample = {.now_ns = START + ms * WEIR_NS_PER_MS};
        shown += is_due(sample);
    }
    CHECK_EQ(shown, 10);
    begin(WEIR__PROGRESS_PLAIN, WEIR__UNIT_COUNT);
    shown = 0;
    for (uint64_t s = 0; s <= 60; s++)
        shown += is_due(at_s(s, s, 0, 0));
    CHECK_EQ(shown, 12);
    begin(WEIR__PROGRESS_QUIET, WEIR__UNIT_COUNT);
    CHECK(!is_due(at_s(100, 1, 0, 0)));
}

/* What the samples make on a descriptor, shown and ended. */
static const char *shown(enum weir__progress_mode mode, uint64_t seconds)
{
    static char said[1024];
    int fd = memfd_create("progress", 0);
    begin(mode, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(seconds, seconds * MIB, 0, 0);
    weir__progress_show(&progress, &sample, fd);
    weir__progress_end(&progress, &sample, fd);
    ssize_t length = pread(fd, said, sizeof(said) - 1, 0);
    said[length > 0 ? length : 0] = '\0';
    close(fd);
    return said;
}

TEST(what_appears)
{
    setenv("COLUMNS", "80", 1);
    CHECK_STR(shown(WEIR__PROGRESS_LINE, 10), "\r10.0 MiB  1.00 MiB/s\033[K\r\033[K");
    CHECK_STR(shown(WEIR__PROGRESS_PLAIN, 10),
              "10.0 MiB  1.00 MiB/s\n10.0 MiB  0:10  1.00 MiB/s\n");
    CHECK_STR(shown(WEIR__PROGRESS_PLAIN, 1), "");
    CHECK_STR(shown(WEIR__PROGRESS_QUIET, 10), "");
}

/* What stands on a terminal when other lines come in between. */
static const char *interrupted(enum weir__progress_mode mode)
{
    static char said[1024];
    int fd = memfd_create("progress", 0);
    begin(mode, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(10, MIB, 0, 0);
    weir__progress_hide(&progress, fd);
    weir__progress_unhide(&progress, &sample, fd);
    CHECK(!weir__progress_was_shown(&progress));
    weir__progress_show(&progress, &sample, fd);
    weir__progress_hide(&progress, fd);
    weir__progress_hide(&progress, fd);
    CHECK_EQ(write(fd, "name\n", 5), 5);
    weir__progress_unhide(&progress, &sample, fd);
    weir__progress_unhide(&progress, &sample, fd);
    weir__progress_hide(&progress, fd);
    weir__progress_end(&progress, &sample, fd);
    ssize_t length = pread(fd, said, sizeof(said) - 1, 0);
    said[length > 0 ? length : 0] = '\0';
    close(fd);
    return said;
}

TEST(other_lines_in_between)
{
    setenv("COLUMNS", "80", 1);
    CHECK_STR(interrupted(WEIR__PROGRESS_LINE), "\r1.00 MiB  102 KiB/s\033[K\r\033[Kname\n"
                                                "\r1.00 MiB  102 KiB/s\033[K\r\033[K");
    CHECK(weir__progress_was_shown(&progress));
    CHECK_STR(interrupted(WEIR__PROGRESS_PLAIN),
              "1.00 MiB  102 KiB/s\nname\n1.00 MiB  0:10  102 KiB/s\n");
    CHECK_STR(interrupted(WEIR__PROGRESS_QUIET), "name\n");
    CHECK(!weir__progress_was_shown(&progress));
}

TEST(what_was_found_and_items_alone)
{
    begin(WEIR__PROGRESS_LINE, WEIR__UNIT_SIZE);
    struct weir__progress_sample sample = at_s(10, 10 * MIB, 0, 2);
    sample.items_name = "files";
    sample.items = 50;
    sample.found_name = "findings";
    sample.found = 3;
    CHECK_STR(text(sample, 200), "50 files  10.0 MiB  1.00 MiB/s  3 findings  2 in flight");
    sample.items_total = 200;
    CHECK_STR(text(sample, 200),
              "50 of 200 files  10.0 MiB  1.00 MiB/s  3 findings  0:30 left  2 in flight");
    /* Bytes are the better measure. */
    sample.total = 20 * MIB;
    CHECK_STR(text(sample, 200), "50 of 200 files  10.0 MiB of 20.0 MiB  50%  1.00 MiB/s  "
                                 "3 findings  0:10 left  2 in flight");
    sample.total = 0;
    sample.items = 200;
    CHECK_STR(text(sample, 200), "200 of 200 files  10.0 MiB  1.00 MiB/s  3 findings  2 in flight");
    sample.items = sample.found = 0;
    CHECK_STR(text(sample, 200), "0 of 200 files  10.0 MiB  1.00 MiB/s  0 findings  2 in flight");
    sample.now_ns = START; /* too early for a rate */
    CHECK_STR(text(sample, 200), "0 of 200 files  10.0 MiB  0 findings  2 in flight");
}

TEST(the_mode_fits_the_descriptor)
{
    CHECK_EQ(weir__progress_mode(-1, false), WEIR__PROGRESS_PLAIN);
    CHECK_EQ(weir__progress_mode(-1, true), WEIR__PROGRESS_QUIET);
}

TAP_MAIN()
