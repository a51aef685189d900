/* assert.c - the last words of a program that broke a rule. */
#include "assert.h"

#include <stdio.h>
#include <stdlib.h>

void weir__panic(const char *file, int line, const char *what, const char *name,
                 const char *message)
{
    fprintf(stderr, "weir: %s:%d: %s '%s': %s\n", file, line, what, name ? name : "", message);
    abort();
}
