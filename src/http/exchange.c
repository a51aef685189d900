/* exchange.c - one try: a request goes out on a line, an answer comes.
 *
 *     set up --> perform, wait, perform, wait ... --> end --> what it means
 *                  |
 *                  +-- head: a redirect, something to try again after (both dropped), or handed out
 *                  +-- body: dropped, or piece by piece to the hook
 *
 * All waiting is one call of libcurl's, bounded by the deadline and the pause that is allowed, and
 * woken by the cancel token. Callbacks run inside of it, on the same thread.
 */
#include "http_part.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "inflate.h"
#include "log.h"
#include "sys.h"
#include "values.h"

#include "banned.h"

#define WAIT_MS_MAX    1000 /* then the clock is looked at again */
#define HEADER_MAX     8192u
#define RECEIVE_BUFFER (128L << 10)

struct exchange {
    struct weir__http_call *call;
    struct weir__http_line *line;
    const struct weir__curl *curl;
    struct curl_slist *headers;
    uint64_t active_ns; /* when something last came */
    size_t head_bytes, dropped_bytes;
    unsigned status;
    bool has_head;
    bool drops;   /* nobody wants the body */
    bool was_cut; /* we have ended it, having seen enough */
    bool redirects;
    bool is_packed;
    unsigned connects, refused; /* addresses that were tried, and those out of reach */
    char far[INET6_ADDRSTRLEN]; /* the last of these */
    struct weir__inflater inflater;
    int error; /* why we have ended it */
};

/* --- what goes out --- */

static bool is_plain(const char *text, bool is_name)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f || (is_name && (*p == ' ' || *p == ':')))
            return false;
    return !is_name || *text != '\0';
}

static int add_header(struct exchange *x, const char *name, const char *value)
{
    char text[HEADER_MAX];
    int length = snprintf(text, sizeof(text), "%s:%s%s", name, *value ? " " : "", value);
    if (length < 0 || (size_t)length >= sizeof(text) || !is_plain(name, true) ||
        !is_plain(value, false))
        return weir__http_fail(x->call, -WEIR_E_INVALID, "a header of the request is not valid");
    struct curl_slist *list = x->curl->slist_append(x->headers, text);
    if (!list)
        return -WEIR_E_NO_MEMORY;
    x->headers = list;
    return 0;
}

static int add_headers(struct exchange *x)
{
    const struct weir__http_request *request = x->call->request;
    bool has_body = request->method == WEIR__HTTP_PUT || request->method == WEIR__HTTP_POST ||
                    (request->method == WEIR__HTTP_DELETE && request->body_length > 0);
    bool has_type = !has_body;
    int result = 0;
    if (weir__url_is_same_origin(&x->call->url, &x->call->first))
        for (size_t i = 0; i < request->headers_count && result == 0; i++) {
            result = add_header(x, request->headers[i].name, request->headers[i].value);
            has_type = has_type || strcasecmp(request->headers[i].name, "Content-Type") == 0;
        }
    if (result == 0 && request->accepts_encoded)
        result = add_header(x, "Accept-Encoding", "gzip");
    if (result == 0 && !has_type)
        result = add_header(x, "Content-Type", "application/octet-stream");
    /* Without it a body waits a second for a go-ahead that few servers give. */
    return result < 0 || !has_body ? result : add_header(x, "Expect", "");
}

#define SET(option, value)                                                                         \
    do {                                                                                           \
        if (x->curl->easy_setopt(x->line->easy, option, value) != CURLE_OK)                        \
            return -WEIR_E_NO_MEMORY;                                                              \
    } while (0)

static int set_method(struct exchange *x)
{
    const struct weir__http_request *request = x->call->request;
    switch (request->method) {
    case WEIR__HTTP_GET:
        SET(CURLOPT_HTTPGET, 1L);
        break;
    case WEIR__HTTP_HEAD:
        SET(CURLOPT_NOBODY, 1L);
        break;
    case WEIR__HTTP_OPTIONS:
        SET(CURLOPT_CUSTOMREQUEST, "OPTIONS");
        break;
    case WEIR__HTTP_DELETE:
    case WEIR__HTTP_PUT:
        SET(CURLOPT_CUSTOMREQUEST, weir__http_method_name(request->method));
        if (request->method == WEIR__HTTP_DELETE && request->body_length == 0)
            break;
        /* fall through */
    case WEIR__HTTP_POST:
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        SET(CURLOPT_POSTFIELDS, request->body_length > 0 ? request->body : "");
        break;
    case WEIR__HTTP_METHODS:
        return -WEIR_E_INVALID;
    }
    return 0;
}

/* The user of the URL, and after a redirect to the same origin that of the first one. */
static int set_user(struct exchange *x)
{
    const struct weir__url *url = &x->call->url, *first = &x->call->first;
    const struct weir__url *from =
        !url->has_user && weir__url_is_same_origin(url, first) ? first : url;
    char user[WEIR__URL_USER_MAX], password[WEIR__URL_USER_MAX];
    if (!from->has_user)
        return 0;
    weir__url_user(from, user, password);
    CURLcode codes[] = {
        x->curl->easy_setopt(x->line->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC),
        x->curl->easy_setopt(x->line->easy, CURLOPT_USERNAME, user),
        x->curl->easy_setopt(x->line->easy, CURLOPT_PASSWORD, password),
    };
    explicit_bzero(user, sizeof(user));
    explicit_bzero(password, sizeof(password));
    return codes[0] == CURLE_OK && codes[1] == CURLE_OK && codes[2] == CURLE_OK ? 0
                                                                                : -WEIR_E_NO_MEMORY;
}

static int set_url(struct exchange *x)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, 4u * WEIR__URL_MAX);
    int result = weir__url_put(&x->call->url, &text);
    if (result < 0)
        return result;
    SET(CURLOPT_URL, weir__buffer_text(&text));
    return 0;
}

/* --- what comes in --- */

static const char *header_of(const struct weir__curl *curl, CURL *easy, const char *name)
{
    struct curl_header *header;
    return curl->easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
                                                                                    : NULL;
}

const char *weir__http_head_get(const struct weir__http_head *head, const char *name)
{
    return header_of(head->_curl, head->_easy, name);
}

static bool is_redirect(unsigned status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static uint64_t body_max(const struct weir__http_request *request)
{
    return request->body_max ? request->body_max : WEIR__HTTP_BODY_DEFAULT;
}

static int too_large(struct weir__http_call *call)
{
    char limit[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(body_max(call->request), limit);
    return weir__http_fail(call, -WEIR_E_TOO_LARGE, "it is larger than %s", limit);
}

/* False: in a way that is not known. */
static bool know_encoding(struct exchange *x)
{
    const char *encoding = header_of(x->curl, x->line->easy, "Content-Encoding");
    if (!x->call->request->accepts_encoded || !encoding || strcasecmp(encoding, "identity") == 0)
        return true;
    x->is_packed = strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0;
    if (!x->is_packed)
        x->error = weir__http_fail(x->call, -WEIR_E_UNSUPPORTED,
                                   "it is encoded as '%.40s', which was not asked for", encoding);
    return x->is_packed;
}

/* The answer is what the caller gets. */
static bool hand_out(struct exchange *x)
{
    struct weir__http_call *call = x->call;
    const struct weir__http_hooks *hooks = call->hooks;
    struct weir__http_head head = {
        .status = x->status, .length = UINT64_MAX, ._easy = x->line->easy, ._curl = x->curl};
    const char *length = header_of(x->curl, x->line->easy, "Content-Length");
    if (length && weir__value_parse(WEIR__UNIT_COUNT, length, &head.length) < 0) {
        /* Nobody could say whether the body was whole. */
        x->error = weir__http_fail(call, -WEIR_E_CORRUPT, "its length is given as '%.40s'", length);
        return false;
    }
    call->has_begun = true;
    x->drops = !hooks || !hooks->body || call->request->method == WEIR__HTTP_HEAD;
    if (!x->drops && x->status / 100 == 2 && head.length != UINT64_MAX &&
        head.length > body_max(call->request)) {
        x->error = too_large(call);
        return false;
    }
    if (!x->drops && x->status / 100 == 2 && !know_encoding(x))
        return false;
    int answer = hooks && hooks->head ? hooks->head(hooks->arg, &head) : 0;
    x->drops = x->drops || answer > 0;
    x->error = answer < 0 ? answer : 0;
    return answer >= 0;
}

static bool on_head(struct exchange *x)
{
    struct weir__http_call *call = x->call;
    enum weir__http_method method = call->request->method;
    bool is_read = method == WEIR__HTTP_GET || method == WEIR__HTTP_HEAD;
    x->has_head = true;
    call->outcome->status = x->status;
    x->redirects = call->request->follows && is_read && is_redirect(x->status) &&
                   header_of(x->curl, x->line->easy, "Location");
    x->drops = x->redirects ||
               (call->may_retry && weir__http_may_pass(weir__http_status_error(x->status)));
    return x->drops || hand_out(x);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    size_t length = size * count;
    long status = 0;
    x->active_ns = weir_now_ns();
    x->head_bytes += length;
    if (x->head_bytes > WEIR__HTTP_HEAD_BYTES) {
        x->error = weir__http_fail(x->call, -WEIR_E_CORRUPT, "its head is larger than 256 KiB");
        return 0;
    }
    bool is_last = length <= 2 && (bytes[0] == '\r' || bytes[0] == '\n');
    if (x->has_head || !is_last)
        return length;
    x->curl->easy_getinfo(x->line->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) /* more is to come */
        return length;
    x->status = (unsigned)status;
    return on_head(x) ? length : 0;
}

/* As much as may be. */
static int hand_on(void *arg, const char *bytes, size_t length)
{
    struct weir__http_call *call = arg;
    uint64_t room = body_max(call->request) - call->outcome->bytes;
    size_t taken = length < room ? length : (size_t)room;
    int result = taken > 0 ? call->hooks->body(call->hooks->arg, bytes, taken) : 0;
    if (result < 0)
        return result;
    call->outcome->bytes += taken;
    return taken < length ? too_large(call) : 0;
}

static int unpack(struct exchange *x, const char *bytes, size_t length)
{
    int result = weir__inflate(&x->inflater, bytes, length, hand_on, x->call);
    if (result == -WEIR_E_CORRUPT && x->call->outcome->problem[0] == '\0')
        return weir__http_fail(x->call, result, "its gzip is broken");
    return result;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct exchange *x = arg;
    size_t length = size * count;
    x->active_ns = weir_now_ns();
    if (x->drops) {
        x->dropped_bytes += length;
        x->was_cut = x->dropped_bytes > WEIR__HTTP_DROP_BYTES;
        return x->was_cut ? 0 : length;
    }
    x->error = x->is_packed ? unpack(x, bytes, length) : hand_on(x->call, bytes, length);
    x->active_ns = weir_now_ns(); /* the hook may have taken its time */
    return x->error < 0 ? 0 : length;
}

/* --- who is connected to --- */

/* With the address that the name means now. What is refused here is not connected to, and libcurl
 * goes on with the next address of the host. */
static curl_socket_t on_connect(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct exchange *x = arg;
    const struct weir__reach *reach = x->call->client->options.reach;
    (void)purpose;
    x->connects++;
    if (!weir__reach_has(reach, &address->addr, address->addrlen)) {
        const struct sockaddr *addr = &address->addr;
        const void *bytes =
            addr->sa_family == AF_INET6
                ? (const void *)&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr
                : (const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr;
        x->refused++;
        if (!inet_ntop(addr->sa_family, bytes, x->far, sizeof(x->far)))
            x->far[0] = '\0';
        return CURL_SOCKET_BAD;
    }
    int fd = WEIR__SYS(
        int, socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol));
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* --- the exchange --- */

static int set_up(struct exchange *x)
{
    const struct weir__http_client *client = x->call->client;
    x->line->error[0] = '\0';
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (client->ca_file)
        SET(CURLOPT_CAINFO, client->ca_file);
    if (client->unix_path) {
        SET(CURLOPT_UNIX_SOCKET_PATH, client->unix_path);
    }
    if (client->unix_path || client->options.has_no_proxy || client->options.reach)
        SET(CURLOPT_PROXY, "");
    if (client->options.reach) {
        SET(CURLOPT_OPENSOCKETFUNCTION, on_connect);
        SET(CURLOPT_OPENSOCKETDATA, x);
    }
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(client->options.connect_ns / WEIR_NS_PER_MS));
    SET(CURLOPT_QUICK_EXIT, 1L); /* a resolver that hangs is left to itself */
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_BUFFERSIZE, RECEIVE_BUFFER);
    SET(CURLOPT_USERAGENT, client->agent);
    SET(CURLOPT_ERRORBUFFER, x->line->error);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, x);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, x);
    int result = set_url(x);
    if (result == 0)
        result = set_user(x);
    if (result == 0)
        result = set_method(x);
    if (result == 0)
        result = add_headers(x);
    if (result == 0 && x->headers)
        SET(CURLOPT_HTTPHEADER, x->headers);
    return result;
}

static void wake(void *arg)
{
    struct exchange *x = arg;
    x->curl->multi_wakeup(x->line->multi);
}

/* How long nothing may come. Once something has, a body that is enough as it is may end there. */
static uint64_t pause_ns(const struct exchange *x)
{
    const struct weir__http_request *request = x->call->request;
    uint64_t stall_ns = request->stall_ns ? request->stall_ns : x->call->client->options.stall_ns;
    return request->quiet_ns && x->call->outcome->bytes > 0 ? request->quiet_ns : stall_ns;
}

/* Nothing came for that long. */
static int on_pause(struct exchange *x, uint64_t paused_ns)
{
    struct weir__http_call *call = x->call;
    call->outcome->was_quiet = call->request->quiet_ns == paused_ns && call->outcome->bytes > 0;
    if (call->outcome->was_quiet)
        return 0;
    return weir__http_fail(call, -WEIR_E_TIMEOUT_READ, "nothing came for %u s",
                           (unsigned)(paused_ns / WEIR_NS_PER_S));
}

static int wait_ms(const struct exchange *x, uint64_t now_ns)
{
    uint64_t until_ns = weir_time_add(x->active_ns, pause_ns(x));
    if (x->call->deadline->at_ns < until_ns)
        until_ns = x->call->deadline->at_ns;
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / WEIR_NS_PER_MS + 1 : 0;
    return ms < WAIT_MS_MAX ? (int)ms : WAIT_MS_MAX;
}

/* Until libcurl is done with it, or nobody waits any longer. */
static int drive(struct exchange *x, CURLcode *ret_code)
{
    const struct weir__curl *curl = x->curl;
    struct weir__http_call *call = x->call;
    int running = 1, left;
    weir_lock_assert_none("an exchange by HTTP");
    for (;;) {
        int result = weir_deadline_check(call->deadline);
        if (result < 0)
            return weir__http_fail(call, result, "%s", weir_error_text(result));
        if (curl->multi_perform(x->line->multi, &running) != CURLM_OK)
            return -WEIR_E_NO_MEMORY;
        CURLMsg *message = curl->multi_info_read(x->line->multi, &left);
        if (message) {
            *ret_code = message->data.result;
            return 0;
        }
        uint64_t now_ns = weir_now_ns();
        if (now_ns - x->active_ns > pause_ns(x))
            return on_pause(x, pause_ns(x));
        if (curl->multi_poll(x->line->multi, NULL, 0, wait_ms(x, now_ns), NULL) != CURLM_OK)
            return -WEIR_E_NO_MEMORY;
    }
}

static int error_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return -WEIR_E_NO_ROUTE;
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
        return -WEIR_E_TRANSIENT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return -WEIR_E_DENIED;
    case CURLE_OUT_OF_MEMORY:
        return -WEIR_E_NO_MEMORY;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_NOT_BUILT_IN:
        return -WEIR_E_UNSUPPORTED;
    default:
        return -WEIR_E_CORRUPT;
    }
}

/* libcurl's words as they stand in a message: they begin in lower case, but for abbreviations. */
static int fail_as(struct exchange *x, CURLcode code)
{
    char text[WEIR__HTTP_PROBLEM_MAX];
    const char *path = x->call->client->unix_path;
    long reason = 0;
    if (path && code == CURLE_COULDNT_CONNECT) { /* libcurl would name a host and a port */
        x->curl->easy_getinfo(x->line->easy, CURLINFO_OS_ERRNO, &reason);
        return weir__http_fail(x->call, error_of(code), "cannot connect to the socket '%s': %s",
                               path, reason ? weir__log_reason((int)reason) : "it cannot be used");
    }
    if (x->refused > 0 && x->refused == x->connects)
        return weir__http_fail(x->call, -WEIR_E_FORBIDDEN,
                               "its address %s is not one that may be connected to", x->far);
    const char *said = x->line->error[0] ? x->line->error : x->curl->easy_strerror(code);
    snprintf(text, sizeof(text), "%s", said);
    if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = (char)(text[0] - 'A' + 'a');
    return weir__http_fail(x->call, error_of(code), "%s", text);
}

static int conclude(struct exchange *x, CURLcode code)
{
    struct weir__http_call *call = x->call;
    curl_off_t seconds = 0;
    char *target = NULL;
    long connects = 0;
    x->curl->easy_getinfo(x->line->easy, CURLINFO_NUM_CONNECTS, &connects);
    weir_lock_acquire(&call->client->lock);
    call->client->opened += connects > 0 ? (uint64_t)connects : 0;
    weir_lock_release(&call->client->lock);
    if (x->error < 0)
        return x->error;
    if (code != CURLE_OK && !(x->was_cut && !x->redirects))
        return fail_as(x, code);
    if (!x->has_head)
        return weir__http_fail(call, -WEIR_E_CORRUPT, "the answer has no head");
    if (!weir__inflate_is_whole(&x->inflater))
        return weir__http_fail(call, -WEIR_E_CORRUPT, "its gzip ends early");
    x->curl->easy_getinfo(x->line->easy, CURLINFO_RETRY_AFTER, &seconds);
    call->retry_ns = seconds > 0 && seconds < 86400 ? (uint64_t)seconds * WEIR_NS_PER_S
                     : seconds > 0                  ? WEIR_NEVER
                                                    : 0;
    if (!x->redirects)
        return 0;
    x->curl->easy_getinfo(x->line->easy, CURLINFO_REDIRECT_URL, &target);
    if (!target)
        return weir__http_fail(call, -WEIR_E_UNSUPPORTED, "it is redirected to nowhere");
    return weir__buffer_puts(&call->next, target);
}

int weir__http_exchange(struct weir__http_call *call, struct weir__http_line *line)
{
    struct exchange x = {
        .call = call, .line = line, .curl = call->client->curl, .active_ns = weir_now_ns()};
    struct weir_cancel_hook hook = {0};
    CURLcode code = CURLE_OK;
    bool is_added = false;
    call->outcome->status = 0;
    call->retry_ns = 0;
    weir__buffer_truncate(&call->next, 0);
    int result = set_up(&x);
    if (result == 0) {
        is_added = x.curl->multi_add_handle(line->multi, line->easy) == CURLM_OK;
        result = is_added ? 0 : -WEIR_E_NO_MEMORY;
    }
    if (result == 0) {
        if (call->deadline->cancel)
            weir_cancel_on(call->deadline->cancel, &hook, wake, &x);
        result = drive(&x, &code);
        weir_cancel_off(&hook);
        if (result == 0)
            result = conclude(&x, code);
    }
    if (is_added)
        x.curl->multi_remove_handle(line->multi, line->easy);
    x.curl->easy_reset(line->easy);
    x.curl->slist_free_all(x.headers);
    weir__inflate_fini(&x.inflater);
    return result;
}
