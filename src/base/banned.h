/* banned.h - functions that overrun, hide errors or keep hidden state do not compile.
 *
 * Include it last: a system header that comes after it would trip over the names. What to use
 * instead: struct weir__buffer for strings that grow, snprintf() for fixed ones,
 * weir__value_parse() for numbers, localtime_r() and friends for time, mkstemp() for temporary
 * files.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_BASE_BANNED_H
#define WEIR_BASE_BANNED_H

/* Macros in some C libraries and in fortified builds; a macro of that name must go first. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef stpcpy
#undef stpncpy
#undef sprintf
#undef vsprintf
#undef alloca

#pragma GCC poison strcpy strcat strncpy strncat stpcpy stpncpy
#pragma GCC poison sprintf vsprintf gets
#pragma GCC poison strtok alloca
#pragma GCC poison atoi atol atoll atof scanf sscanf vsscanf
#pragma GCC poison gmtime localtime ctime ctime_r asctime asctime_r
#pragma GCC poison tmpnam tempnam mktemp
#pragma GCC poison system

#endif
