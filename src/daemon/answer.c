/* answer.c - refusals, and lines of the log about what failed. */
#include <weir/error.h>

#include "daemon_part.h"
#include "log.h"

#include "banned.h"

bool weir__daemon_is_read(const struct weir__exchange *exchange)
{
    enum weir__http_method method = weir__exchange_method(exchange);
    return method == WEIR__HTTP_GET || method == WEIR__HTTP_HEAD;
}

void weir__daemon_count_busy(struct weir__exchange *exchange)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    unsigned endpoint = daemon->service->endpoint_of(exchange, weir__exchange_private(exchange));
    weir_counter_add(&daemon->counts.busy[endpoint], 1);
}

/* Where the table of errors speaks of something that is not here. */
static const char *reason_of(struct weir__daemon *daemon, int error)
{
    const char *own = daemon->service->reason_of ? daemon->service->reason_of(daemon, error) : NULL;
    return own ? own : weir_error_text(error);
}

/* What failed here, and is not the client's doing. A loop must not wait for who reads the log. */
bool weir__daemon_tell_failure(const struct weir__exchange *exchange, int error, const char *about,
                               const char *reason)
{
    struct weir__daemon *daemon = weir__exchange_arg(exchange);
    char text[WEIR__LOG_LINE_MAX];
    if (!about && error != -WEIR_E_IO && error != -WEIR_E_CORRUPT && error != -WEIR_E_NO_SPACE &&
        error != -WEIR_E_NO_MEMORY && error != -WEIR_E_NO_DESCRIPTORS && error != -WEIR_E_INTERNAL)
        return true;
    if (weir_rate_try(&daemon->complaints, 1, WEIR_RATE_HIGH)) {
        weir_counter_add(&daemon->counts.untold, 1);
        return false;
    }
    uint64_t untold = weir_counter_value(&daemon->counts.untold);
    size_t length = weir__log_format(
        text, WEIR__LOG_WARNING,
        "%s %s failed%s%s: %s (request %s; %llu others were not told so far)",
        weir__http_method_name(weir__exchange_method(exchange)), weir__exchange_path(exchange),
        about ? " at " : "", about ? about : "", reason ? reason : reason_of(daemon, error),
        weir__exchange_corr_id(exchange), (unsigned long long)untold);
    (void)weir__log_courtesy(text, length);
    return true;
}

void weir__daemon_refuse(struct weir__exchange *exchange, int error, const char *message)
{
    weir__daemon_refuse_with(exchange, error, &(struct weir__daemon_refusal){.message = message});
}

/* Whole seconds, so that who comes then is not too early; a second at least. */
static unsigned retry_s(int error, uint64_t ns)
{
    uint64_t seconds = ns / WEIR_NS_PER_S + (ns % WEIR_NS_PER_S > 0);
    if (!weir_error_is_retryable(error))
        return 0;
    return seconds < 1
               ? 1
               : (unsigned)(seconds < WEIR__DAEMON_RETRY_MOST_S ? seconds
                                                                : WEIR__DAEMON_RETRY_MOST_S);
}

void weir__daemon_refuse_with(struct weir__exchange *exchange, int error,
                              const struct weir__daemon_refusal *refusal)
{
    const char *message = refusal->message;
    (void)weir__daemon_tell_failure(exchange, error, NULL, NULL);
    if (!message)
        message = reason_of(weir__exchange_arg(exchange), error);
    if (error == -WEIR_E_BUSY)
        weir__daemon_count_busy(exchange);
    if (error == -WEIR_E_UNAUTHORIZED) {
        weir__daemon_answer_begin(exchange, 401);
        weir__reply_header(exchange, "WWW-Authenticate", "Bearer");
        weir__reply_error_as(exchange, 401, error, message, 0);
        return;
    }
    weir__daemon_answer_begin(exchange, (unsigned)weir_error_http(error));
    weir__reply_error_with(exchange, (unsigned)weir_error_http(error), error, message,
                           retry_s(error, refusal->retry_ns), refusal->members,
                           refusal->members_length);
}
