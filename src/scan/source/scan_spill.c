/* scan_spill.c - temporary files that nobody else sees, and that are gone whatever happens.
 *
 * /var/tmp comes before /tmp, which is in memory on many systems.
 */
#include "scan_archive.h"

#include <stdlib.h>

#include "temporary.h"

#include "banned.h"

int weir__scan_spill_open(void)
{
    const char *wanted = secure_getenv("TMPDIR");
    if (wanted && *wanted)
        return weir__temporary_open(wanted);
    int fd = weir__temporary_open("/var/tmp");
    return fd >= 0 ? fd : weir__temporary_open("/tmp");
}
