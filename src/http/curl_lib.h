/* curl_lib.h - libcurl, loaded when it is first needed.
 *
 * The headers of libcurl are needed to compile, the library only where something is fetched: its
 * start and that of its thirty libraries would cost every command several milliseconds.
 *
 * Its memory comes from base's allocator, so that the fault sweep reaches it.
 *
 * Ownership: the table is static and stays for the life of the process.
 */
#ifndef WEIR_HTTP_CURL_LIB_H
#define WEIR_HTTP_CURL_LIB_H

#include <curl/curl.h>

#include <weir/defs.h>

#define WEIR__CURL_FUNCTIONS(X)                                                                    \
    X(easy_cleanup)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_header)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_strerror)                                                                               \
    X(global_init_mem)                                                                             \
    X(multi_add_handle)                                                                            \
    X(multi_cleanup)                                                                               \
    X(multi_info_read)                                                                             \
    X(multi_init)                                                                                  \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_remove_handle)                                                                         \
    X(multi_setopt)                                                                                \
    X(multi_strerror)                                                                              \
    X(multi_wakeup)                                                                                \
    X(slist_append)                                                                                \
    X(slist_free_all)                                                                              \
    X(version_info)

struct weir__curl {
#define WEIR__CURL_FIELD(name) __typeof__(curl_##name) *name;
    WEIR__CURL_FUNCTIONS(WEIR__CURL_FIELD)
#undef WEIR__CURL_FIELD
};

/* The functions, or NULL and why not: a sentence with its cure. Loads them the first time: not by
 * two threads at once. */
const struct weir__curl *weir__curl_load(const char **ret_why);

#endif
