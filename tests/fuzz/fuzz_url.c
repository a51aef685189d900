/* fuzz_url.c - any bytes as a URL: taking it apart ends, stays in bounds and means one thing.
 *
 * What must hold: a refusal has a reason; what is put together from the parts is a URL of its own
 * with the same parts and no user, made of bytes that can stand in a request line; what is shown of
 * a URL is one, has no user, the same origin and no value in its query, and is shown as itself;
 * what is shown of anything else has no '@' and nothing behind a '?'.
 */
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_url: does not hold: %s\n", #condition);                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static bool is_sendable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

/* Every value of the query is hidden or empty. */
static bool has_no_values(const char *shown)
{
    const char *at = strchr(shown, '?');
    while (at) {
        const char *item = at + 1;
        size_t length = strcspn(item, "&");
        const char *sign = memchr(item, '=', length);
        const char *value = sign ? sign + 1 : item;
        size_t rest = length - (size_t)(value - item);
        if (rest != 0 && !(rest == 3 && memcmp(value, "***", 3) == 0))
            return false;
        at = strchr(item, '&');
    }
    return true;
}

static void try_put(const struct weir__url *url)
{
    struct weir__buffer text;
    struct weir__url again;
    const char *why;
    weir__buffer_init(&text, 4u * WEIR__URL_MAX);
    HOLDS(weir__url_put(url, &text) == 0);
    HOLDS(is_sendable(weir__buffer_text(&text)));
    if (weir__buffer_length(&text) <= WEIR__URL_MAX) {
        HOLDS(weir__url_parse(&again, weir__buffer_text(&text), &why) == 0);
        HOLDS(!again.has_user && weir__url_is_same_origin(url, &again));
        HOLDS(again.target_length >= url->target_length && again.target[0] == '/');
    }
    weir__buffer_fini(&text);
}

static void try_show(const char *text, const struct weir__url *url)
{
    struct weir__buffer shown, twice;
    struct weir__url again;
    const char *why;
    weir__buffer_init(&shown, 4u * WEIR__URL_MAX);
    weir__buffer_init(&twice, 4u * WEIR__URL_MAX);
    HOLDS(weir__url_show(text, &shown) == 0);
    const char *seen = weir__buffer_text(&shown);
    if (url) {
        HOLDS(has_no_values(seen) && !strchr(seen, '#'));
        if (weir__buffer_length(&shown) <= WEIR__URL_MAX) {
            HOLDS(weir__url_parse(&again, seen, &why) == 0);
            HOLDS(!again.has_user && weir__url_is_same_origin(url, &again));
            HOLDS(weir__url_show(seen, &twice) == 0);
            HOLDS(strcmp(seen, weir__buffer_text(&twice)) == 0);
        }
    } else {
        const char *mark = strchr(seen, '?');
        HOLDS(!strchr(seen, '@') && !strchr(seen, '#'));
        HOLDS(!mark || strcmp(mark, "?***") == 0);
    }
    weir__buffer_fini(&shown);
    weir__buffer_fini(&twice);
}

static void try_user(const struct weir__url *url)
{
    char user[WEIR__URL_USER_MAX], password[WEIR__URL_USER_MAX];
    weir__url_user(url, user, password);
    HOLDS(strlen(user) + strlen(password) <= url->user_length);
    HOLDS(url->user_length == 0 || user[0] || password[0] || url->user[0] == ':');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[WEIR__URL_MAX + 16];
    struct weir__url url;
    const char *why = NULL;
    if (size >= sizeof(text))
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int result = weir__url_parse(&url, text, &why);
    HOLDS(result == 0 || result == -WEIR_E_INVALID);
    HOLDS((result < 0) == (why != NULL));
    if (result == 0) {
        HOLDS(weir__url_is_one(text) && url.port > 0 && url.host[0]);
        try_put(&url);
        try_user(&url);
    }
    try_show(text, result == 0 ? &url : NULL);
    return 0;
}
