/* test_buffer.c - growth, the maximum, and what a failure leaves behind. */
#include "buffer.h"

#include <weir/error.h>
#include <weir/fault.h>

#include "tap.h"

TEST(empty_buffer_is_an_empty_string)
{
    struct weir__buffer b;
    weir__buffer_init(&b, 10);
    CHECK_STR(weir__buffer_text(&b), "");
    CHECK_EQ(weir__buffer_length(&b), 0);
    CHECK_EQ(weir__buffer_max(&b), 10);
    CHECK_EQ(weir__buffer_append(&b, NULL, 0), 0);
    weir__buffer_fini(&b);
    weir__buffer_fini(&b);
    weir__buffer_fini(NULL);
}

TEST(appends_every_way)
{
    struct weir__buffer b;
    weir__buffer_init(&b, 100);
    CHECK_EQ(weir__buffer_puts(&b, "one"), 0);
    CHECK_EQ(weir__buffer_putc(&b, ' '), 0);
    CHECK_EQ(weir__buffer_printf(&b, "%d-%s", 2, "three"), 0);
    CHECK_STR(weir__buffer_text(&b), "one 2-three");
    weir__buffer_truncate(&b, 3);
    CHECK_STR(weir__buffer_text(&b), "one");
    weir__buffer_truncate(&b, 99);
    CHECK_EQ(weir__buffer_length(&b), 3);
    CHECK_EQ(weir__buffer_append(&b, "a\0b", 3), 0);
    CHECK_EQ(weir__buffer_length(&b), 6);
    weir__buffer_fini(&b);
}

TEST(is_full_at_its_maximum_and_unchanged_beyond)
{
    struct weir__buffer b;
    weir__buffer_init(&b, 5);
    CHECK_EQ(weir__buffer_puts(&b, "12345"), 0);
    CHECK_EQ(weir__buffer_putc(&b, '6'), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__buffer_printf(&b, "%s", "6"), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__buffer_reserve(&b, SIZE_MAX), -WEIR_E_OVERFLOW);
    CHECK_STR(weir__buffer_text(&b), "12345");
    CHECK_EQ(weir__buffer_printf(&b, "%s", ""), 0);
    weir__buffer_truncate(&b, 4);
    CHECK_EQ(weir__buffer_puts(&b, "67"), -WEIR_E_OVERFLOW);
    CHECK_STR(weir__buffer_text(&b), "1234");
    weir__buffer_fini(&b);
}

TEST(grows_to_a_large_maximum_by_single_bytes)
{
    struct weir__buffer b;
    weir__buffer_init(&b, 100000);
    for (int i = 0; i < 100000; i++)
        CHECK_EQ(weir__buffer_putc(&b, (char)('a' + i % 26)), 0);
    CHECK_EQ(weir__buffer_putc(&b, 'x'), -WEIR_E_OVERFLOW);
    for (int i = 0; i < 100000; i++)
        CHECK_EQ(weir__buffer_text(&b)[i], 'a' + i % 26);
    weir__buffer_fini(&b);
}

TEST(reserved_room_is_there)
{
    struct weir__buffer b;
    weir__buffer_init(&b, 1000);
    CHECK_EQ(weir__buffer_reserve(&b, 1000), 0);
    const char *before = weir__buffer_text(&b);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(weir__buffer_putc(&b, 'x'), 0);
    CHECK(weir__buffer_text(&b) == before);
    weir__buffer_fini(&b);
}

static void init_without_maximum(void *arg)
{
    weir__buffer_init(arg, 0);
}

TEST(a_maximum_of_zero_is_a_programming_error)
{
    struct weir__buffer b;
    CHECK(tap_dies(init_without_maximum, &b, "maximum must be above zero"));
}

#ifdef WEIR_FAULTS
TEST(every_allocation_may_fail)
{
    for (uint64_t n = 1;; n++) {
        struct weir__buffer b;
        weir__buffer_init(&b, 4096);
        int failures = 0;
        weir_fault_arm(WEIR_FAULT_ALLOC, n);
        for (int i = 0; i < 100; i++) {
            size_t length = weir__buffer_length(&b);
            int result = weir__buffer_puts(&b, "0123456789");
            CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
            CHECK_EQ(weir__buffer_length(&b), length + (result == 0 ? 10 : 0));
            failures += result != 0;
        }
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        CHECK_EQ(failures, was_hit ? 1 : 0);
        weir__buffer_fini(&b);
        if (!was_hit)
            break;
    }
}
#endif

TAP_MAIN()
