/* tap.h - the whole test framework: named test functions, checks that print where they failed, TAP.
 *
 *     TEST(refuses_zero)
 *     {
 *         CHECK_EQ(weir_budget_init(&b, "x", 0), -WEIR_E_INVALID);
 *     }
 *     TAP_MAIN()
 *
 * A program runs all of its tests, or those whose names are given as arguments. A failed check ends
 * its test, not the program.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_TAP_H
#define WEIR_TESTS_TAP_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*fn)(void);
    struct tap_test *next;
};

void tap_register(struct tap_test *test);
int tap_main(int argc, char **argv);

/* Ends the current test as failed; from any thread of it, the first message wins. */
__attribute__((format(printf, 3, 4), noreturn)) void tap_fail(const char *file, int line,
                                                              const char *format, ...);

/* True when fn(arg) aborts in a child process and its standard error contains the text. */
bool tap_dies(void (*fn)(void *arg), void *arg, const char *text);

#define TEST(test_name)                                                                            \
    static void test_##test_name(void);                                                            \
    __attribute__((constructor)) static void register_##test_name(void)                            \
    {                                                                                              \
        static struct tap_test test = {#test_name, test_##test_name, NULL};                        \
        tap_register(&test);                                                                       \
    }                                                                                              \
    static void test_##test_name(void)

#define TAP_MAIN()                                                                                 \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return tap_main(argc, argv);                                                               \
    }

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            tap_fail(__FILE__, __LINE__, "%s", #condition);                                        \
    } while (0)

#define CHECK_EQ(actual, wanted)                                                                   \
    do {                                                                                           \
        long long tap_a = (long long)(actual), tap_w = (long long)(wanted);                        \
        if (tap_a != tap_w)                                                                        \
            tap_fail(__FILE__, __LINE__, "%s is %lld, not %lld (%s)", #actual, tap_a, tap_w,       \
                     #wanted);                                                                     \
    } while (0)

#define CHECK_STR(actual, wanted)                                                                  \
    do {                                                                                           \
        const char *tap_a = (actual), *tap_w = (wanted);                                           \
        if (!tap_a || strcmp(tap_a, tap_w) != 0)                                                   \
            tap_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #actual,                      \
                     tap_a ? tap_a : "(null)", tap_w);                                             \
    } while (0)

/* The text occurs in the string. */
#define CHECK_HAS(actual, part)                                                                    \
    do {                                                                                           \
        const char *tap_a = (actual), *tap_p = (part);                                             \
        if (!tap_a || !strstr(tap_a, tap_p))                                                       \
            tap_fail(__FILE__, __LINE__, "%s is \"%s\", without \"%s\"", #actual,                  \
                     tap_a ? tap_a : "(null)", tap_p);                                             \
    } while (0)

#endif
