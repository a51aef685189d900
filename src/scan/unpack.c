/* unpack.c - weir-unpack: reads archives for weir scan, confined. No use by itself.
 *
 * The only program that loads libarchive and what that needs.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "source/archive_child.h"
#include "source/archive_confine.h"

#include "banned.h"

static bool has_parent(void)
{
    struct stat st;
    return fstat(WEIR__ARCHIVE_SOCKET, &st) == 0 && S_ISSOCK(st.st_mode);
}

int main(int argc, char **argv)
{
    if (argc == 4 && has_parent())
        return weir__archive_child_main(argc, argv);
    fputs("weir-unpack: started by 'weir scan', to read archives; does nothing by itself\n",
          stderr);
    return 2;
}
