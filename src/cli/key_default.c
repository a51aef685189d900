/* key_default.c - see key_default.h. */
#include "key_default.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "log.h"

#include "banned.h"

int weir__key_default(char path[WEIR__KEY_PATH_SIZE])
{
    const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    int length;
    if (config && config[0] == '/') {
        length = snprintf(path, WEIR__KEY_PATH_SIZE, "%s/weir/key", config);
    } else if (home && home[0] == '/') {
        length = snprintf(path, WEIR__KEY_PATH_SIZE, "%s/.config/weir/key", home);
    } else {
        weir__log(WEIR__LOG_ERROR, "nobody knows where the key is: set HOME, or name its file");
        return -WEIR_E_NOT_FOUND;
    }
    if (length > 0 && (size_t)length < WEIR__KEY_PATH_SIZE)
        return 0;
    weir__log(WEIR__LOG_ERROR, "the path of the key is too long: name its file");
    return -WEIR_E_TOO_LARGE;
}
