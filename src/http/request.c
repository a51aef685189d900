/* request.c - a call: where it goes, how often, and how long it waits in between. */
#include "http_part.h"

#include <string.h>

#include <weir/backoff.h>

#include "banned.h"

int weir__http_status_error(unsigned status)
{
    switch (status) {
    case 401:
    case 407:
        return -WEIR_E_UNAUTHORIZED;
    case 403:
        return -WEIR_E_FORBIDDEN;
    case 404:
    case 410:
        return -WEIR_E_NOT_FOUND;
    case 408:
    case 504:
        return -WEIR_E_TIMEOUT;
    case 409:
        return -WEIR_E_MISMATCH;
    case 413:
        return -WEIR_E_TOO_LARGE;
    case 416:
        return -WEIR_E_RANGE;
    case 429:
        return -WEIR_E_BUSY;
    case 501:
        return -WEIR_E_UNSUPPORTED;
    case 502:
    case 503:
        return -WEIR_E_TRANSIENT;
    case 507:
        return -WEIR_E_NO_SPACE;
    default:
        return status < 400 ? 0 : status < 500 ? -WEIR_E_INVALID : -WEIR_E_INTERNAL;
    }
}

bool weir__http_may_pass(int error)
{
    return weir_error_is_retryable(error) && error != -WEIR_E_NO_SPACE;
}

/* --- one try --- */

static enum weir_breaker_outcome verdict(int result, unsigned status)
{
    if (result == -WEIR_E_CANCELED || result == -WEIR_E_NO_MEMORY || result == -WEIR_E_FORBIDDEN)
        return WEIR_BREAKER_CANCELED; /* says nothing about the host */
    if (result < 0 &&
        (status == 0 || result == -WEIR_E_TRANSIENT || result == -WEIR_E_TIMEOUT_READ))
        return WEIR_BREAKER_FAILURE;
    /* Who says that its disk is full answers well, and reads are served. */
    return status >= 500 && status != 507 ? WEIR_BREAKER_FAILURE : WEIR_BREAKER_SUCCESS;
}

/* host may be NULL: the client has no breakers. */
static int try_at(struct weir__http_call *call, struct weir__http_host *host)
{
    struct weir__http_client *client = call->client;
    struct weir__http_line *line;
    WEIR_CLEANUP(weir_permit_release)
    struct weir_permit permit = WEIR_PERMIT_NONE;
    WEIR_CLEANUP(weir_breaker_cancel)
    struct weir_breaker_ticket ticket = WEIR_BREAKER_TICKET_NONE;
    int result = weir_budget_acquire(&client->connections, 1, &permit, call->deadline);
    if (result < 0)
        return weir__http_fail(call, result, "no connection is free: %s", weir_error_text(result));
    result = host ? weir_breaker_allow(&host->breaker, &ticket) : 0;
    if (result < 0)
        return weir__http_fail(
            call, result, "'%.80s' fails too often and is left alone for %u s more", host->name,
            (unsigned)(weir_breaker_delay_ns(&host->breaker) / WEIR_NS_PER_S + 1));
    result = weir__http_line_take(client, &call->url, &line);
    if (result < 0)
        return result;
    result = weir__http_exchange(call, line);
    weir__http_line_give(client, line, result == 0 && !call->outcome->was_quiet);
    weir_breaker_report(&ticket, verdict(result, call->outcome->status));
    return result;
}

static int try_once(struct weir__http_call *call)
{
    struct weir__http_host *host = NULL;
    int result = call->client->options.has_no_breaker
                     ? 0
                     : weir__http_host_take(call->client, &call->url, &host);
    if (result == 0)
        result = try_at(call, host);
    if (host)
        weir__http_host_give(call->client, host);
    if (result < 0 && call->outcome->problem[0] == '\0')
        return weir__http_fail(call, result, "%s", weir_error_text(result));
    return result;
}

/* --- redirects --- */

static int follow(struct weir__http_call *call)
{
    struct weir__url url;
    const char *why;
    if (++call->outcome->redirects > WEIR__HTTP_REDIRECTS)
        return weir__http_fail(call, -WEIR_E_UNSUPPORTED, "it is redirected more than %u times",
                               WEIR__HTTP_REDIRECTS);
    if (weir__url_parse(&url, weir__buffer_text(&call->next), &why) < 0)
        return weir__http_fail(call, -WEIR_E_UNSUPPORTED,
                               "it is redirected to a URL that is not followed, which %s", why);
    if (call->url.is_https && !url.is_https)
        return weir__http_fail(call, -WEIR_E_UNSUPPORTED,
                               "it is redirected from https to http, which is not followed");
    struct weir__buffer text = call->text;
    call->text = call->next;
    call->next = text;
    call->url = url;
    return 0;
}

/* --- tries --- */

static bool is_repeatable(const struct weir__http_request *request)
{
    return request->method != WEIR__HTTP_POST || request->is_repeatable;
}

/* Whether another try may go better. Who has been told to leave a host alone does so. */
static bool is_worth_a_try(const struct weir__http_call *call, int result)
{
    int error = result < 0 ? result : weir__http_status_error(call->outcome->status);
    return call->may_retry && !call->has_begun && weir__http_may_pass(error) &&
           error != -WEIR_E_BREAKER_OPEN && !(result == -WEIR_E_TIMEOUT);
}

static int wait_for_next(struct weir__http_call *call, struct weir_backoff *backoff)
{
    uint64_t delay_ns = 0;
    int result = weir_backoff_next(backoff, &delay_ns);
    if (result < 0)
        return result;
    if (call->retry_ns > delay_ns)
        delay_ns = call->retry_ns;
    struct weir_deadline until = weir_deadline_in(delay_ns, call->deadline->cancel);
    if (until.at_ns >= call->deadline->at_ns)
        return -WEIR_E_TIMEOUT;
    result = weir_deadline_sleep(&until);
    return result == -WEIR_E_TIMEOUT ? 0 : result;
}

/* Why there is no other try. */
static int give_up(struct weir__http_call *call, int result, int why)
{
    if (why == -WEIR_E_CANCELED)
        return weir__http_fail(call, why, "%s", weir_error_text(why));
    if (result < 0)
        return result;
    return weir__http_fail(call, weir__http_status_error(call->outcome->status),
                           "it answers with status %u, and the time for another try is not left",
                           call->outcome->status);
}

static int run(struct weir__http_call *call)
{
    uint32_t tries_max = call->request->tries_max ? call->request->tries_max : WEIR__HTTP_TRIES;
    struct weir_backoff_options options = {.tries_max = tries_max};
    struct weir_backoff backoff;
    int result = weir_backoff_init(&backoff, &options);
    if (result < 0)
        return result;
    for (;;) {
        call->may_retry = is_repeatable(call->request) && call->outcome->tries + 1 < tries_max;
        call->outcome->problem[0] = '\0';
        result = try_once(call);
        if (result == 0 && weir__buffer_length(&call->next) > 0) {
            result = follow(call);
            if (result < 0)
                return result;
            continue; /* the same try, elsewhere */
        }
        call->outcome->tries++;
        if (!is_worth_a_try(call, result))
            return result;
        int stop = wait_for_next(call, &backoff);
        if (stop < 0)
            return give_up(call, result, stop);
    }
}

static int check(struct weir__http_call *call)
{
    const struct weir__http_request *request = call->request;
    const struct weir_deadline *deadline = call->deadline;
    const char *why;
    if (!deadline || (deadline->at_ns == WEIR_NEVER && !deadline->cancel))
        return weir__http_fail(call, -WEIR_E_INVALID, "the deadline has no end");
    if (request->headers_count > WEIR__HTTP_HEADERS_MAX ||
        request->body_length > WEIR__HTTP_SENT_MAX)
        return weir__http_fail(call, -WEIR_E_TOO_LARGE, "the request is too large");
    int result = weir__url_parse(&call->first, request->url, &why);
    if (result < 0)
        return weir__http_fail(call, result, "it is not a URL that can be asked: it %s", why);
    call->url = call->first;
    return 0;
}

int weir__http_do(struct weir__http_client *client, const struct weir__http_request *request,
                  const struct weir__http_hooks *hooks, struct weir__http_outcome *outcome,
                  const struct weir_deadline *deadline)
{
    struct weir__http_call call = {.client = client,
                                   .request = request,
                                   .hooks = hooks,
                                   .outcome = outcome,
                                   .deadline = deadline};
    memset(outcome, 0, sizeof(*outcome));
    weir__buffer_init(&call.text, 4u * WEIR__URL_MAX);
    weir__buffer_init(&call.next, 4u * WEIR__URL_MAX);
    int result = check(&call);
    if (result == 0)
        result = run(&call);
    weir__buffer_fini(&call.text);
    weir__buffer_fini(&call.next);
    return result;
}
