/* token_given.c - see token_given.h. */
#include "token_given.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "cover.h"
#include "data_folder.h"
#include "log.h"
#include "sys.h"
#include "utc.h"
#include "values.h"

#include "banned.h"

#define EXPIRES_DEFAULT "1h"
#define SCOPE_DEFAULT   "read"
#define NEVER           "never"
#define CAVEAT_MAX      WEIR__TOKEN_MAX

/* --- the folder --- */

/* Each folder of the path that is not there. One that may not be looked into is left to who opens
 * the keys: it may be there. */
static int make_above(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        int result = weir__sys_mkdirat(AT_FDCWD, path, 0700);
        int saved = errno;
        if (slash)
            *slash = '/';
        if (result < 0 && saved == EACCES)
            return 0;
        if (result < 0 && saved != EEXIST) {
            weir__log(WEIR__LOG_ERROR, "cannot make the folder '%s': %s", WEIR__TYPED(path),
                      weir__log_reason(saved));
            return weir_error_from_errno(saved);
        }
        if (!slash)
            return 0;
    }
}

int weir__token_folder(char folder[WEIR__TOKEN_FOLDER_SIZE],
                       const struct weir__token_values *values, bool is_made)
{
    char data[WEIR__DATA_PATH_SIZE];
    if (values->keys && values->data) {
        weir__log(WEIR__LOG_ERROR, "--keys and --data say the same thing: leave one out");
        return -WEIR_E_USAGE;
    }
    const char *given = values->keys ? values->keys : values->data;
    if (given && strlen(given) >= sizeof(data)) {
        weir__log(WEIR__LOG_ERROR, "the path of the folder is too long");
        return -WEIR_E_USAGE;
    }
    if (!given && weir__data_default(data) < 0) {
        weir__log(WEIR__LOG_ERROR, "nobody knows where the keys are: set HOME, or give --data");
        return -WEIR_E_NOT_FOUND;
    }
    if (given)
        snprintf(data, sizeof(data), "%s", given);
    snprintf(folder, WEIR__TOKEN_FOLDER_SIZE, "%s%s", data, values->keys ? "" : "/keys");
    /* Of the keys' own folder that above it; who makes keys makes theirs. */
    char *last = values->keys ? strrchr(data, '/') : NULL;
    if (last)
        *last = '\0';
    return is_made && data[0] && (last || !values->keys) ? make_above(data) : 0;
}

/* --- the token --- */

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

/* What is on the descriptor, without what is white at its end. */
static int read_token(char text[WEIR__TOKEN_SIZE], int fd)
{
    char bytes[WEIR__TOKEN_SIZE + 2];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(bytes) &&
           (got = weir__sys_read(fd, bytes + length, sizeof(bytes) - length)) != 0) {
        if (got < 0) {
            weir__log(WEIR__LOG_ERROR, "cannot read the token: %s", weir__log_reason(errno));
            return weir_error_from_errno(errno);
        }
        length += (size_t)got;
    }
    while (length > 0 && strchr(" \t\r\n", bytes[length - 1]))
        length--;
    if (length == 0 || length > WEIR__TOKEN_MAX || memchr(bytes, '\0', length)) {
        weir__log(WEIR__LOG_ERROR,
                  length == 0 ? "there is no token in what was given" : "that is no token");
        return -WEIR_E_UNAUTHORIZED;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    return (int)length;
}

int weir__token_from_file(char text[WEIR__TOKEN_SIZE], const char *path)
{
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0) {
        weir__log(WEIR__LOG_ERROR, "cannot open '%s': %s", WEIR__TYPED(path),
                  weir__log_reason(errno));
        return weir_error_from_errno(errno);
    }
    int result = read_token(text, fd);
    weir__sys_close(fd);
    return result;
}

int weir__token_given(char text[WEIR__TOKEN_SIZE], const struct weir__call *call)
{
    const struct weir__token_values *values = call->values;
    const char *operand = call->operands_count > 1 ? call->operands[1] : NULL;
    if (operand && values->from)
        return refuse("one token at a time: give it as an operand or by --from");
    if (!operand && !values->from)
        return refuse("which token? give it, or - for standard input, or a file by --from");
    if (strcmp(operand ? operand : values->from, "-") == 0)
        return read_token(text, STDIN_FILENO);
    if (operand) {
        size_t length = strlen(operand);
        if (length == 0 || length > WEIR__TOKEN_MAX) {
            weir__log(WEIR__LOG_ERROR, "that is no token");
            return -WEIR_E_UNAUTHORIZED;
        }
        memcpy(text, operand, length + 1);
        return (int)length;
    }
    return weir__token_from_file(text, values->from);
}

/* --- caveats --- */

static int add(struct weir__token_given *given, const char *head, const char *value)
{
    struct weir__buffer *buffer = &given->buffer[given->count];
    int result = weir__buffer_printf(buffer, "%s%s", head, value);
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(result));
    else
        given->texts[given->count++] = weir__buffer_text(buffer);
    return result;
}

/* As add(), where the value must make a caveat; hint says what it may be. */
static int add_checked(struct weir__token_given *given, const char *head, const char *value,
                       const char *option, const char *hint)
{
    struct weir__caveat caveat;
    int result = add(given, head, value);
    if (result < 0)
        return result;
    const char *text = given->texts[given->count - 1];
    if (weir__caveat_parse(&caveat, text, strlen(text)) == 0)
        return 0;
    weir__log(WEIR__LOG_ERROR, "--%s '%s' is not %s", option, WEIR__TYPED(value), hint);
    return -WEIR_E_USAGE;
}

/* "1h" from now on, "2026-12-01", or a whole moment. */
static int add_expires(struct weir__token_given *given, const char *value)
{
    char text[WEIR__UTC_SIZE], day[WEIR__UTC_SIZE];
    uint64_t duration_ns;
    int64_t moment;
    int64_t now_s = weir_wall_s();
    snprintf(day, sizeof(day), "%.10sT00:00:00Z", value);
    if (weir__utc_parse(&moment, value, strlen(value)) < 0 &&
        (strlen(value) != 10 || weir__utc_parse(&moment, day, strlen(day)) < 0)) {
        if (weir__value_parse(WEIR__UNIT_DURATION, value, &duration_ns) < 0) {
            weir__log(WEIR__LOG_ERROR,
                      "--expires '%s' is not a duration (90s, 1h, 30d), a day (2026-12-01), a "
                      "moment (2026-12-01T12:00:00Z) or never",
                      WEIR__TYPED(value));
            return -WEIR_E_USAGE;
        }
        moment = now_s + (int64_t)(duration_ns / WEIR_NS_PER_S);
    }
    if (moment <= now_s)
        return refuse("that moment has passed: the token would be of no use");
    return add(given, "expires < ", weir__utc_format(text, moment));
}

/* Addresses become networks. */
static int add_client(struct weir__token_given *given, const char *value)
{
    struct weir__buffer *buffer = &given->buffer[given->count];
    int result = weir__buffer_puts(buffer, "client in ");
    for (const char *at = value; result == 0;) {
        char item[WEIR__NETWORK_TEXT_SIZE], network[WEIR__NETWORK_TEXT_SIZE];
        size_t length = strcspn(at, ",");
        snprintf(item, sizeof(item), "%.*s", (int)(length < sizeof(item) ? length : sizeof(item)),
                 at);
        if (length >= sizeof(item) || weir__network_write(network, item) < 0) {
            weir__log(WEIR__LOG_ERROR,
                      "--client '%s' is not an address or a network, as 10.0.0.0/8 or ::1, or "
                      "several with commas between",
                      WEIR__TYPED(value));
            return -WEIR_E_USAGE;
        }
        result = weir__buffer_printf(buffer, "%s%s", at == value ? "" : ",", network);
        at += length;
        if (*at++ == '\0')
            break;
    }
    struct weir__caveat caveat;
    const char *text = weir__buffer_text(buffer);
    if (result == 0 && weir__caveat_parse(&caveat, text, strlen(text)) < 0)
        return refuse("--client has one network twice, or more than 16");
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(result));
    else
        given->texts[given->count++] = text;
    return result;
}

int weir__token_caveats(struct weir__token_given *given, const struct weir__token_values *values,
                        bool is_new)
{
    const char *expires = values->expires ? values->expires : is_new ? EXPIRES_DEFAULT : NULL;
    const char *scope = values->scope ? values->scope : is_new ? SCOPE_DEFAULT : NULL;
    char body[WEIR__VALUE_TEXT_MAX];
    int result = 0;
    *given = (struct weir__token_given){.count = 0};
    for (size_t i = 0; i < WEIR__TOKEN_GIVEN_MAX; i++)
        weir__buffer_init(&given->buffer[i], CAVEAT_MAX);
    snprintf(body, sizeof(body), "%" PRIu64, values->body);
    if (expires && strcmp(expires, NEVER) == 0 && !is_new)
        return refuse("--expires never takes nothing away: leave it out");
    if (expires && strcmp(expires, NEVER) != 0)
        result = add_expires(given, expires);
    if (result == 0 && scope)
        result = add_checked(given, "scope in ", scope, "scope",
                             "one or more of read, write, delete, admin and peer, with commas "
                             "between");
    if (result == 0 && values->method)
        result = add_checked(given, "method in ", values->method, "method",
                             "one or more of GET, HEAD, PUT, POST and DELETE, with commas between");
    if (result == 0 && values->path)
        result = add_checked(given, "path under ", values->path, "path",
                             "a path from '/' on, without '.', '..' or empty parts");
    if (result == 0 && values->client)
        result = add_client(given, values->client);
    if (result == 0 && values->has_body)
        result = add_checked(given, "body <= ", body, "body", "a size");
    return result;
}

void weir__token_caveats_fini(struct weir__token_given *given)
{
    for (size_t i = 0; i < WEIR__TOKEN_GIVEN_MAX; i++)
        weir__buffer_fini(&given->buffer[i]);
}
