/* assert.h - assertions that stay on in release builds and name the object.
 *
 * They are for programming errors (a double release, a fini with permits out), never for input.
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_CORE_ASSERT_H
#define WEIR_CORE_ASSERT_H

/* Prints "weir: FILE:LINE: WHAT 'NAME': MESSAGE" on standard error and aborts. */
__attribute__((cold, noreturn)) void weir__panic(const char *file, int line, const char *what,
                                                 const char *name, const char *message);

#define WEIR__ASSERT(condition, what, name, message)                                               \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            weir__panic(__FILE__, __LINE__, what, name, message);                                  \
    } while (0)

/* Costlier checks, of debug builds only. */
#ifdef WEIR_CHECKS
#define WEIR__CHECK WEIR__ASSERT
#else
#define WEIR__CHECK(condition, what, name, message) ((void)0)
#endif

#endif
