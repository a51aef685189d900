/* curl_lib.c - the library of that name, found at run time. */
#include "curl_lib.h"

#include <dlfcn.h>
#include <string.h>

#include "alloc.h"

#include "banned.h"

/* Headers of an answer can be looked up, protocols are given by name, a slow resolver need not be
 * waited for: the first version that can do all of that. */
#define VERSION_MIN 0x075700u

static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

static struct weir__curl functions;
static bool is_loaded;

/* --- its memory --- */

static void *get(size_t size)
{
    return weir__base_alloc(1, size);
}

static void *get_many(size_t count, size_t size)
{
    return weir__base_alloc(count, size);
}

static void *resize(void *memory, size_t size)
{
    return weir__base_realloc(memory, 1, size);
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *memory = weir__base_alloc(1, size);
    return memory ? memcpy(memory, text, size) : NULL;
}

/* --- loading --- */

static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *library, struct weir__curl *table)
{
    bool has_all = true;
#define FIND(name) has_all = find(library, "curl_" #name, &table->name) && has_all;
    WEIR__CURL_FUNCTIONS(FIND)
#undef FIND
    return has_all;
}

const struct weir__curl *weir__curl_load(const char **ret_why)
{
    void *library = NULL;
    struct weir__curl table = {0};
    if (is_loaded)
        return &functions;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *ret_why = "libcurl is not there: install the package libcurl4";
        return NULL;
    }
    if (!find_all(library, &table) ||
        table.version_info(CURLVERSION_NOW)->version_num < VERSION_MIN) {
        dlclose(library);
        *ret_why = "libcurl is too old: 7.87 or later is needed";
        return NULL;
    }
    /* What fails here may be tried again. The library stays: others that it has loaded and started
     * may point into it. */
    if (table.global_init_mem(CURL_GLOBAL_DEFAULT, get, weir__base_free, resize, copy, get_many) !=
        CURLE_OK) {
        *ret_why = "libcurl does not start: there is too little memory";
        return NULL;
    }
    functions = table;
    is_loaded = true;
    return &functions;
}
