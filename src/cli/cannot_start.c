/* cannot_start.c - why a command that works with threads did not begin, and what helps. */
#include "cannot_start.h"

#include <stdio.h>

#include <weir/error.h>

#include "log.h"
#include "resources.h"

#include "banned.h"

int weir__cannot_start(int error, const char *option, uint64_t count)
{
    char whose[64] = "its threads", cure[64] = "raise the limit";
    if (error != -WEIR_E_BUSY) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(error));
        return error;
    }
    if (count > 0)
        snprintf(whose, sizeof(whose), "the threads for %s=%llu", option,
                 (unsigned long long)count);
    if (count != 1)
        snprintf(cure, sizeof(cure), "%s=1 needs fewest", option);
    weir__log(WEIR__LOG_ERROR, "cannot start: %s cannot be had: " WEIR__RESOURCES_NO_THREAD "; %s",
              whose, cure);
    return error;
}
