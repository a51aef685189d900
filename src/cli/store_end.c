/* store_end.c - what is told of a store that could not be closed as it should be. */
#include "store_end.h"

#include <weir/error.h>

#include "log.h"

#include "banned.h"

void weir__store_end_tell(int closed)
{
    if (closed == -WEIR_E_TIMEOUT)
        weir__log(WEIR__LOG_ERROR, "the disk does not answer: leaving without what waits for it");
    else if (closed == -WEIR_E_INCOMPLETE)
        weir__log(WEIR__LOG_WARNING,
                  "the store could not be marked as closed, and is not whole: segments are gone or "
                  "cannot be read; see the lines above, and restore them from a copy");
    else if (closed)
        weir__log(WEIR__LOG_WARNING, "the store could not be marked as closed: nothing that was "
                                     "acknowledged is lost, the next start makes the index anew");
}
