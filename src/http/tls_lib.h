/* tls_lib.h - OpenSSL, loaded when a server is first given a certificate.
 *
 * The headers are needed to compile, the library only where TLS is spoken.
 *
 * Ownership: the table is static and stays for the life of the process.
 */
#ifndef WEIR_HTTP_TLS_LIB_H
#define WEIR_HTTP_TLS_LIB_H

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <weir/defs.h>

/* Of libssl.so.3. */
#define WEIR__SSL_FUNCTIONS(X)                                                                     \
    X(SSL_CTX_check_private_key)                                                                   \
    X(SSL_CTX_ctrl)                                                                                \
    X(SSL_CTX_free)                                                                                \
    X(SSL_CTX_load_verify_file)                                                                    \
    X(SSL_CTX_new)                                                                                 \
    X(SSL_CTX_set_alpn_select_cb)                                                                  \
    X(SSL_CTX_set_default_passwd_cb)                                                               \
    X(SSL_CTX_set_default_passwd_cb_userdata)                                                      \
    X(SSL_CTX_set_options)                                                                         \
    X(SSL_CTX_up_ref)                                                                              \
    X(SSL_CTX_use_PrivateKey_file)                                                                 \
    X(SSL_CTX_use_certificate_chain_file)                                                          \
    X(SSL_accept)                                                                                  \
    X(SSL_free)                                                                                    \
    X(SSL_get_error)                                                                               \
    X(SSL_new)                                                                                     \
    X(SSL_read)                                                                                    \
    X(SSL_set_fd)                                                                                  \
    X(SSL_shutdown)                                                                                \
    X(SSL_write)                                                                                   \
    X(TLS_client_method)                                                                           \
    X(TLS_server_method)

/* Of libcrypto.so.3. */
#define WEIR__CRYPTO_FUNCTIONS(X)                                                                  \
    X(ERR_clear_error)                                                                             \
    X(ERR_peek_error)                                                                              \
    X(ERR_reason_error_string)

struct weir__ssl {
#define WEIR__SSL_FIELD(name) __typeof__(name) *name;
    WEIR__SSL_FUNCTIONS(WEIR__SSL_FIELD)
    WEIR__CRYPTO_FUNCTIONS(WEIR__SSL_FIELD)
#undef WEIR__SSL_FIELD
};

/* The functions, or NULL and why not. Loads them the first time: not by two threads at once. */
const struct weir__ssl *weir__ssl_load(const char **ret_why);

#endif
