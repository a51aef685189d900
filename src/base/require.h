/* require.h - assertions of the programs; they stay on in release builds and name the object.
 *
 * They are for programming errors (a table with a default that it refuses itself), never for input.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_REQUIRE_H
#define WEIR_BASE_REQUIRE_H

/* Prints "weir: FILE:LINE: WHAT 'NAME': MESSAGE" on standard error and aborts. */
__attribute__((cold, noreturn)) void weir__require_failed(const char *file, int line,
                                                          const char *what, const char *name,
                                                          const char *message);

#define WEIR__REQUIRE(condition, what, name, message)                                              \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            weir__require_failed(__FILE__, __LINE__, what, name, message);                         \
    } while (0)

#endif
