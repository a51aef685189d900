/* macaroon_lib.c - the library of that name, found at run time. */
#include "macaroon_lib.h"

#include <dlfcn.h>
#include <string.h>

#include "banned.h"

static struct weir__macaroons functions;
static bool is_loaded;

static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *library, struct weir__macaroons *table)
{
    bool has_all = true;
#define FIND(name) has_all = find(library, "macaroon_" #name, &table->name) && has_all;
    WEIR__MACAROON_FUNCTIONS(FIND)
#undef FIND
    return has_all;
}

const struct weir__macaroons *weir__macaroons_load(const char **ret_why)
{
    struct weir__macaroons table = {0};
    if (is_loaded)
        return &functions;
    void *library = dlopen("libmacaroons.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *ret_why = "libmacaroons is not there: install the package libmacaroons0";
        return NULL;
    }
    if (!find_all(library, &table)) {
        dlclose(library);
        *ret_why = "libmacaroons is not the one that is needed: install libmacaroons0 0.3";
        return NULL;
    }
    functions = table;
    is_loaded = true;
    return &functions;
}
