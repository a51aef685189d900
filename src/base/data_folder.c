/* data_folder.c - see data_folder.h. */
#include "data_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/error.h>

#include "banned.h"

int weir__data_default_of(char path[WEIR__DATA_PATH_SIZE], const char *service, bool is_root,
                          const char *data_home, const char *home)
{
    int length;
    if (is_root)
        length = snprintf(path, WEIR__DATA_PATH_SIZE, "/var/lib/weir/%s", service);
    else if (data_home && data_home[0] == '/')
        length = snprintf(path, WEIR__DATA_PATH_SIZE, "%s/weir/%s", data_home, service);
    else if (home && home[0] == '/')
        length = snprintf(path, WEIR__DATA_PATH_SIZE, "%s/.local/share/weir/%s", home, service);
    else
        return -WEIR_E_NOT_FOUND;
    return length > 0 && length < WEIR__DATA_PATH_SIZE ? 0 : -WEIR_E_TOO_LARGE;
}

static int default_of(char path[WEIR__DATA_PATH_SIZE], const char *service)
{
    return weir__data_default_of(path, service, geteuid() == 0, secure_getenv("XDG_DATA_HOME"),
                                 secure_getenv("HOME"));
}

int weir__data_default(char path[WEIR__DATA_PATH_SIZE])
{
    return default_of(path, "storage");
}

int weir__data_default_index(char path[WEIR__DATA_PATH_SIZE])
{
    return default_of(path, "index");
}
