/* tls_lib.c - OpenSSL 3, found at run time. */
#include "tls_lib.h"

#include <dlfcn.h>
#include <string.h>

#include "banned.h"

static struct weir__ssl functions;
static bool is_loaded;

static bool find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

const struct weir__ssl *weir__ssl_load(const char **ret_why)
{
    struct weir__ssl table = {0};
    bool has_all = true;
    if (is_loaded)
        return &functions;
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    void *crypto = ssl ? dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!crypto) {
        *ret_why = "OpenSSL is not there: install the package libssl3";
        return NULL; /* a library that was loaded stays: it may have registered its end */
    }
#define FIND_SSL(name) has_all = find(ssl, #name, &table.name) && has_all;
    WEIR__SSL_FUNCTIONS(FIND_SSL)
#undef FIND_SSL
#define FIND_CRYPTO(name) has_all = find(crypto, #name, &table.name) && has_all;
    WEIR__CRYPTO_FUNCTIONS(FIND_CRYPTO)
#undef FIND_CRYPTO
    if (!has_all) {
        *ret_why = "OpenSSL is not a version 3 that is known here";
        return NULL;
    }
    functions = table;
    is_loaded = true;
    return &functions;
}
