/* tls.c - TLS on the connections of a server: OpenSSL on the loop's own descriptor, without
 * waiting.
 *
 * A certificate is a context of OpenSSL's, which counts its users: connections keep the one that
 * they began with. What OpenSSL wants (to read while it writes, to write while it reads) is not
 * told apart: every edge of epoll has whatever waits tried again.
 */
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "log.h"
#include "server_part.h"
#include "sys.h"
#include "tls_lib.h"

#include "banned.h"

#define WHY_SIZE 512

struct weir__tls {
    const struct weir__ssl *ssl;
    SSL_CTX *context;
};

/* For who asked last on this thread. */
static __thread char why_text[WHY_SIZE];

static int choose_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_length,
                           const unsigned char *list, unsigned length, void *arg)
{
    static const unsigned char known[] = "\x08http/1.1";
    (void)ssl, (void)arg;
    for (unsigned at = 0; at < length; at += list[at] + 1u)
        if (length - at >= sizeof(known) - 1 && memcmp(list + at, known, sizeof(known) - 1) == 0) {
            *ret_name = list + at + 1;
            *ret_length = list[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

/* --- files --- */

/* One of the two files, and whether it wanted a password. */
struct file {
    const char *what, *name, *key; /* "certificate", its path, the key of the configuration */
    bool is_encrypted;
};

/* Nobody is there to be asked: without this OpenSSL would ask on the terminal. */
static int note_encrypted(char *password, int size, int is_writing, void *arg)
{
    struct file *file = arg;
    (void)password, (void)size, (void)is_writing;
    file->is_encrypted = true;
    return -1;
}

static int fail(const struct weir__ssl *ssl, const struct file *file, const char **ret_why,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static int fail(const struct weir__ssl *ssl, const struct file *file, const char **ret_why,
                const char *format, ...)
{
    va_list args;
    int used = snprintf(why_text, sizeof(why_text), "cannot use the %s '%.160s': ", file->what,
                        file->name);
    va_start(args, format);
    vsnprintf(why_text + used, sizeof(why_text) - (size_t)used, format, args);
    va_end(args);
    ssl->ERR_clear_error();
    *ret_why = why_text;
    return -WEIR_E_INVALID;
}

static int fail_system(const struct weir__ssl *ssl, const struct file *file, int error,
                       const char **ret_why)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return fail(ssl, file, ret_why, "there is no such file: set %s to one that is there",
                    file->key);
    case EACCES:
    case EPERM:
        return fail(ssl, file, ret_why,
                    "it may not be read: give the user of the service the right to");
    case EISDIR:
        return fail(ssl, file, ret_why, "it is a directory: set %s to a file in it", file->key);
    default:
        return fail(ssl, file, ret_why, "%s", weir__log_reason(error));
    }
}

/* The first error is the cause; what follows says which functions it went through. */
static int fail_load(const struct weir__ssl *ssl, const struct file *file, const char **ret_why)
{
    unsigned long error = ssl->ERR_peek_error();
    int library = ERR_GET_LIB(error), reason = ERR_GET_REASON(error);
    if (file->is_encrypted)
        return fail(ssl, file, ret_why,
                    "it is encrypted, and nobody can be asked for its password: decrypt it, as "
                    "with 'openssl pkey'");
    if (ERR_SYSTEM_ERROR(error))
        return fail_system(ssl, file, reason, ret_why);
    if ((library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE) ||
        (library == ERR_LIB_X509 && reason == X509_R_NO_CERTIFICATE_OR_CRL_FOUND) ||
        library == ERR_LIB_OSSL_DECODER)
        return fail(
            ssl, file, ret_why,
            "no %s as PEM is in it: set %s to a file that has one, or convert this one with "
            "'openssl'",
            file->what, file->key);
    const char *text = ssl->ERR_reason_error_string(error);
    return fail(ssl, file, ret_why, "it is damaged, or of a kind that OpenSSL does not take: %s",
                text ? text : "no reason is given");
}

/* OpenSSL takes a directory for an empty file, and waits for who writes to a pipe. */
static int check_kind(const struct weir__ssl *ssl, const struct file *file, const char **ret_why)
{
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, file->name, &st, 0) < 0)
        return fail_system(ssl, file, errno, ret_why);
    if (S_ISDIR(st.st_mode))
        return fail_system(ssl, file, EISDIR, ret_why);
    return S_ISREG(st.st_mode)
               ? 0
               : fail(ssl, file, ret_why, "it is not a regular file: set %s to one", file->key);
}

static int load(const struct weir__ssl *ssl, SSL_CTX *context, const char *cert_file,
                const char *key_file, const char **ret_why)
{
    struct file cert = {.what = "certificate", .name = cert_file, .key = "tls.cert"};
    struct file key = {.what = "private key", .name = key_file, .key = "tls.key"};
    int error = check_kind(ssl, &cert, ret_why);
    if (!error)
        error = check_kind(ssl, &key, ret_why);
    if (error)
        return error;
    ssl->ERR_clear_error();
    ssl->SSL_CTX_set_default_passwd_cb(context, note_encrypted);
    ssl->SSL_CTX_set_default_passwd_cb_userdata(context, &cert);
    if (ssl->SSL_CTX_use_certificate_chain_file(context, cert_file) != 1)
        return fail_load(ssl, &cert, ret_why);
    ssl->SSL_CTX_set_default_passwd_cb_userdata(context, &key);
    bool is_used = ssl->SSL_CTX_use_PrivateKey_file(context, key_file, SSL_FILETYPE_PEM) == 1;
    ssl->SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    /* A key of the same kind is compared at once, one of another kind is missing its certificate.
     */
    if (!is_used && ERR_GET_LIB(ssl->ERR_peek_error()) != ERR_LIB_X509)
        return fail_load(ssl, &key, ret_why);
    if (!is_used || ssl->SSL_CTX_check_private_key(context) != 1)
        return fail(ssl, &key, ret_why,
                    "it does not belong to the certificate '%.160s': set %s to the key that this "
                    "was made for",
                    cert_file, key.key);
    return 0;
}

int weir__http_check_trusted(const char *ca_file, const char *key, const char **ret_why)
{
    const struct weir__ssl *ssl = weir__ssl_load(ret_why);
    if (!ssl)
        return -WEIR_E_UNSUPPORTED;
    struct file file = {.what = "certificate", .name = ca_file, .key = key};
    int error = check_kind(ssl, &file, ret_why);
    if (error)
        return error;
    SSL_CTX *context = ssl->SSL_CTX_new(ssl->TLS_client_method());
    if (!context) {
        *ret_why = weir_error_text(WEIR_E_NO_MEMORY);
        return -WEIR_E_NO_MEMORY;
    }
    ssl->ERR_clear_error();
    if (ssl->SSL_CTX_load_verify_file(context, ca_file) != 1)
        error = fail_load(ssl, &file, ret_why);
    ssl->SSL_CTX_free(context);
    return error;
}

static int make(struct weir__tls **ret_tls, const char *cert_file, const char *key_file,
                const char **ret_why)
{
    const struct weir__ssl *ssl = weir__ssl_load(ret_why);
    if (!ssl)
        return -WEIR_E_UNSUPPORTED;
    struct weir__tls *tls = weir__base_alloc(1, sizeof(*tls));
    SSL_CTX *context = tls ? ssl->SSL_CTX_new(ssl->TLS_server_method()) : NULL;
    if (!context) {
        weir__base_free(tls);
        *ret_why = weir_error_text(WEIR_E_NO_MEMORY);
        return -WEIR_E_NO_MEMORY;
    }
    tls->ssl = ssl;
    tls->context = context;
    ssl->SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl->SSL_CTX_ctrl(context, SSL_CTRL_MODE,
                      SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                          SSL_MODE_RELEASE_BUFFERS,
                      NULL);
    ssl->SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                          SSL_OP_NO_COMPRESSION);
    ssl->SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    int result = load(ssl, context, cert_file, key_file, ret_why);
    if (result < 0) {
        weir__tls_free(tls);
        return result;
    }
    *ret_tls = tls;
    return 0;
}

void weir__tls_free(struct weir__tls *tls)
{
    if (!tls)
        return;
    tls->ssl->SSL_CTX_free(tls->context);
    weir__base_free(tls);
}

int weir__server_tls(struct weir__server *server, const char *cert_file, const char *key_file,
                     const char **ret_why)
{
    struct weir__tls *tls = NULL;
    int result = make(&tls, cert_file, key_file, ret_why);
    if (result < 0)
        return result;
    weir_lock_acquire(&server->lock);
    struct weir__tls *old = server->tls;
    server->tls = tls;
    weir_lock_release(&server->lock);
    weir__tls_free(old);
    return 0;
}

int weir__server_check_tls(const char *cert_file, const char *key_file, const char **ret_why)
{
    struct weir__tls *tls = NULL;
    int result = make(&tls, cert_file, key_file, ret_why);
    weir__tls_free(tls);
    return result;
}

/* --- connections --- */

/* Loaded before any connection is there. */
static const struct weir__ssl *table(void)
{
    const char *why;
    return weir__ssl_load(&why);
}

int weir__tls_open(struct weir__conn *conn)
{
    struct weir__server *server = conn->loop->server;
    const struct weir__ssl *ssl = table();
    weir_lock_acquire(&server->lock);
    SSL_CTX *context = server->tls->context;
    ssl->SSL_CTX_up_ref(context);
    weir_lock_release(&server->lock);
    SSL *tls = ssl->SSL_new(context);
    ssl->SSL_CTX_free(context); /* the connection has its own reference */
    if (tls && ssl->SSL_set_fd(tls, conn->fd) != 1) {
        ssl->SSL_free(tls);
        tls = NULL;
    }
    conn->tls = tls;
    return tls ? 0 : -WEIR_E_NO_MEMORY;
}

/* Between two requests the end is told. An answer that is cut must not look as if it were whole. */
void weir__tls_close(struct weir__conn *conn)
{
    if (!conn->tls)
        return;
    if (conn->state == WEIR__CONN_IDLE)
        weir__tls_end(conn);
    table()->SSL_free(conn->tls);
    conn->tls = NULL;
}

void weir__tls_end(struct weir__conn *conn)
{
    const struct weir__ssl *ssl = conn->tls ? table() : NULL;
    if (!ssl)
        return;
    ssl->ERR_clear_error();
    (void)ssl->SSL_shutdown(conn->tls); /* tells; the answer to that is not waited for */
    ssl->ERR_clear_error();
}

/* What became of a call that did not do anything: -EAGAIN, 0 for an end, or another errno. */
static ssize_t outcome(struct weir__conn *conn, int result)
{
    const struct weir__ssl *ssl = table();
    int error = ssl->SSL_get_error(conn->tls, result);
    ssl->ERR_clear_error();
    switch (error) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        return -EPROTO;
    }
}

int weir__tls_handshake(struct weir__conn *conn)
{
    const struct weir__ssl *ssl = table();
    ssl->ERR_clear_error();
    int result = ssl->SSL_accept(conn->tls);
    return result == 1 ? 1 : outcome(conn, result) == -EAGAIN ? 0 : -1;
}

ssize_t weir__tls_read(struct weir__conn *conn, char *bytes, size_t size)
{
    const struct weir__ssl *ssl = table();
    ssl->ERR_clear_error();
    int got = ssl->SSL_read(conn->tls, bytes, size < INT32_MAX ? (int)size : INT32_MAX);
    return got > 0 ? got : outcome(conn, got);
}

ssize_t weir__tls_write(struct weir__conn *conn, const char *bytes, size_t size)
{
    const struct weir__ssl *ssl = table();
    ssl->ERR_clear_error();
    int sent = ssl->SSL_write(conn->tls, bytes, (int)size);
    if (sent > 0) {
        conn->tls_pending = 0;
        return sent;
    }
    ssize_t error = outcome(conn, sent);
    conn->tls_pending = error == -EAGAIN ? (uint32_t)size : 0;
    return error == 0 ? -EPIPE : error;
}
