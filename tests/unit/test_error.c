/* The error table: every error that the seeds name, with its status and its exit code. */
#include "tap.h"

#include <errno.h>
#include <limits.h>

#include "error.h"

TEST(every_error_of_the_seeds_is_there)
{
    static const struct {
        int code;
        const char *name;
        int http;
        bool retryable;
        int exit;
    } wanted[] = {
        {WEIR_E_BUSY, "Busy", 429, true, 3},
        {WEIR_E_TIMEOUT, "Timeout", 504, true, 3},
        {WEIR_E_TIMEOUT_READ, "TimeoutRead", 408, true, 3},
        {WEIR_E_TIMEOUT_WRITE, "TimeoutWrite", 504, true, 3},
        {WEIR_E_CANCELED, "Canceled", 503, false, 3},
        {WEIR_E_LAGGING, "Lagging", 500, false, 3},
        {WEIR_E_PACED, "Paced", 429, true, 3},
        {WEIR_E_OVERFLOW, "Overflow", 429, true, 3},
        {WEIR_E_BREAKER_OPEN, "BreakerOpen", 503, true, 3},
        {WEIR_E_TRANSIENT, "Transient", 503, true, 3},
        {WEIR_E_NO_ROUTE, "NoRoute", 503, true, 3},
        {WEIR_E_TOO_LARGE, "TooLarge", 413, false, 2},
        {WEIR_E_INVALID, "Invalid", 400, false, 2},
        {WEIR_E_FINDINGS, "Findings", 409, false, 1},
        {WEIR_E_INTERRUPTED, "Interrupted", 503, false, 130},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int code = sign * wanted[i].code;
            CHECK_STR(weir_error_name(code), wanted[i].name);
            CHECK_EQ(weir_error_http(code), wanted[i].http);
            CHECK_EQ(weir_error_is_retryable(code), wanted[i].retryable);
            CHECK_EQ(weir_error_exit(code), wanted[i].exit);
            CHECK(strlen(weir_error_text(code)) > 0);
        }
    }
}

/* Others build on each of these: clients on names and statuses, scripts on exit codes. So a change
 * of the table has to be made here too. */
TEST(the_whole_table_is_as_published)
{
    static const struct {
        int number;
        const char *name;
        int http;
        bool retryable;
        int exit;
    } wanted[] = {
        {1, "Busy", 429, true, 3},          {2, "Timeout", 504, true, 3},
        {3, "TimeoutRead", 408, true, 3},   {4, "TimeoutWrite", 504, true, 3},
        {5, "Canceled", 503, false, 3},     {6, "Lagging", 500, false, 3},
        {7, "Paced", 429, true, 3},         {8, "Overflow", 429, true, 3},
        {9, "BreakerOpen", 503, true, 3},   {10, "Transient", 503, true, 3},
        {11, "NoRoute", 503, true, 3},      {12, "TooLarge", 413, false, 2},
        {13, "Closed", 503, false, 3},      {14, "Draining", 503, true, 3},
        {15, "Exhausted", 503, true, 3},    {20, "Invalid", 400, false, 2},
        {21, "Usage", 400, false, 2},       {22, "NotFound", 404, false, 3},
        {23, "Exists", 409, false, 3},      {24, "Mismatch", 409, false, 3},
        {25, "Range", 416, false, 2},       {26, "Corrupt", 500, false, 3},
        {27, "Unsupported", 501, false, 3}, {28, "Unauthorized", 401, false, 3},
        {29, "Forbidden", 403, false, 3},   {30, "Conflict", 409, false, 3},
        {40, "NoMemory", 503, true, 3},     {41, "NoDescriptors", 503, true, 3},
        {42, "NoSpace", 507, true, 3},      {43, "Io", 500, false, 3},
        {44, "Denied", 403, false, 3},      {45, "Internal", 500, false, 3},
        {46, "ReadOnly", 503, false, 3},    {60, "Findings", 409, false, 1},
        {61, "Incomplete", 500, false, 3},  {62, "Interrupted", 503, false, 130},
    };
    static const int numbers[] = {
#define NUMBER(number, constant, name, text, http, retryable, exit) WEIR_E_##constant,
        WEIR_ERRORS(NUMBER)
#undef NUMBER
    };
    CHECK_EQ(sizeof(numbers) / sizeof(numbers[0]), sizeof(wanted) / sizeof(wanted[0]));
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        CHECK_EQ(numbers[i], wanted[i].number);
        CHECK_STR(weir_error_name(wanted[i].number), wanted[i].name);
        CHECK_EQ(weir_error_http(wanted[i].number), wanted[i].http);
        CHECK_EQ(weir_error_is_retryable(wanted[i].number), wanted[i].retryable);
        CHECK_EQ(weir_error_exit(wanted[i].number), wanted[i].exit);
    }
    CHECK_EQ(weir_error_http(-WEIR_E_DRAINING), 503);
}

TEST(names_and_numbers_are_unique)
{
    static const struct {
        int number;
        const char *name;
    } all[] = {
#define ROW(number, constant, name, text, http, retryable, exit) {number, name},
        WEIR_ERRORS(ROW)
#undef ROW
    };
    size_t count = sizeof(all) / sizeof(all[0]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            CHECK(all[i].number != all[j].number);
            CHECK(strcmp(all[i].name, all[j].name) != 0);
        }
}

TEST(unknown_numbers_are_internal)
{
    CHECK_STR(weir_error_name(0), "Ok");
    CHECK_EQ(weir_error_exit(0), 0);
    CHECK_EQ(weir_error_http(0), 200);
    CHECK_STR(weir_error_name(999), "Internal");
    CHECK_STR(weir_error_name(INT_MIN), "Internal");
    CHECK_STR(weir_error_name(INT_MAX), "Internal");
}

TEST(errno_is_translated)
{
    CHECK_EQ(weir_error_from_errno(0), 0);
    CHECK_EQ(weir_error_from_errno(EMFILE), -WEIR_E_NO_DESCRIPTORS);
    CHECK_EQ(weir_error_from_errno(ENOMEM), -WEIR_E_NO_MEMORY);
    CHECK_EQ(weir_error_from_errno(ENOSPC), -WEIR_E_NO_SPACE);
    CHECK_EQ(weir_error_from_errno(EDQUOT), -WEIR_E_NO_SPACE);
    CHECK_EQ(weir_error_from_errno(EACCES), -WEIR_E_DENIED);
    CHECK_EQ(weir_error_from_errno(ENOENT), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir_error_from_errno(EEXIST), -WEIR_E_EXISTS);
    CHECK_EQ(weir_error_from_errno(ENOSYS), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(weir_error_from_errno(EINTR), -WEIR_E_TRANSIENT);
    CHECK_EQ(weir_error_from_errno(EIO), -WEIR_E_IO);
}

TEST(details_are_put_together_on_demand)
{
    CHECK_EQ(weir__fail(WEIR_E_BUSY, "work", "queue '$n': $1 of $2 taken, $3 more", 5, 6, 7),
             -WEIR_E_BUSY);
    CHECK_STR(weir_error_detail(), "queue 'work': 5 of 6 taken, 7 more");
    (void)weir__fail(WEIR_E_BUSY, NULL, "100$ and $9 are no numbers of ours $", 0, 0, 0);
    CHECK_STR(weir_error_detail(), "100$ and $9 are no numbers of ours $");
}

TEST(times_are_for_people)
{
    (void)weir__fail(WEIR_E_PACED, NULL, "$t1, $t2, $t3", 999, 72015413, 61 * WEIR_NS_PER_S);
    CHECK_STR(weir_error_detail(), "999 ns, 72.0 ms, 61.0 s");
    (void)weir__fail(WEIR_E_PACED, NULL, "$t1, $t2 and $t", 1000, UINT64_MAX, 0);
    CHECK_STR(weir_error_detail(), "1.0 us, 18446744073.7 s and $t");
}

TEST(a_detail_never_overflows)
{
    static char template[1000];
    memset(template, 'x', sizeof(template) - 1);
    (void)weir__fail(WEIR_E_BUSY, "a name of more than thirty-one bytes", template, 0, 0, 0);
    CHECK_EQ(strlen(weir_error_detail()), 255);
    (void)weir__fail(WEIR_E_BUSY, "a name of more than thirty-one bytes", "$n", 0, 0, 0);
    CHECK_EQ(strlen(weir_error_detail()), WEIR_NAME_MAX - 1);
}

TAP_MAIN()
