/* Tests of what the keeper hands in: purges, and that everything is to be forgotten. */
#include <string.h>

#include <weir/error.h>

#include "index_help.h"
#include "index_part.h"

#define ROUNDS 200

/* One of each at a time, again and again; under ThreadSanitizer no write is used by two. */
TEST(one_of_each_again_and_again)
{
    static struct weir__index_keeping keeping;
    struct help_records help = help_open(NULL, 0);
    unsigned purges = 0, forgets = 0;
    while (purges < ROUNDS || forgets < ROUNDS) {
        purges += weir__keeping_submit(&keeping, help.records, WEIR__RECORDS_PURGE);
        forgets += weir__keeping_submit(&keeping, help.records, WEIR__RECORDS_FORGET);
    }
    help_close(&help);
    CHECK_EQ(weir_gauge_value(&keeping.purges), 0);
    CHECK_EQ(weir_gauge_value(&keeping.forgets), 0);
}

/* Nobody writes: what is in line is one of each, and comes home when the records are closed. */
TEST(no_more_than_one_of_each)
{
    static struct weir__index_keeping keeping;
    struct help_records help;
    CHECK_EQ(help_try_open(&help, NULL, 0), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weir__keeping_submit(&keeping, help.records, WEIR__RECORDS_PURGE), i == 0);
        CHECK_EQ(weir__keeping_submit(&keeping, help.records, WEIR__RECORDS_FORGET), i == 0);
    }
    CHECK_EQ(weir_gauge_value(&keeping.purges), 1);
    help_close(&help);
    CHECK_EQ(weir_gauge_value(&keeping.purges), 0);
    CHECK_EQ(weir_gauge_value(&keeping.forgets), 0);
    /* A line that takes nothing more. */
    CHECK_EQ(help_try_open(&help, NULL, 0), 0);
    weir__records_stop(help.records);
    CHECK(!weir__keeping_submit(&keeping, help.records, WEIR__RECORDS_PURGE));
    CHECK_EQ(weir_gauge_value(&keeping.purges), 0);
    help_close(&help);
}

TAP_MAIN()
