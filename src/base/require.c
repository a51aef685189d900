/* require.c - the last words of a program that broke a rule. */
#include "require.h"

#include <stdio.h>
#include <stdlib.h>

#include "banned.h"

void weir__require_failed(const char *file, int line, const char *what, const char *name,
                          const char *message)
{
    fprintf(stderr, "weir: %s:%d: %s '%s': %s\n", file, line, what, name ? name : "", message);
    abort();
}
