/* fuzz_caveat.c - any bytes as a caveat, compared with a reader made of regular expressions and of
 * the C library's own conversions.
 *
 * The input is a caveat, or a caveat, a line end and the path of a request. What is taken must be
 * what the other reader takes; and whether a path is under another is compared segment by segment.
 */
#include "caveat.h"

#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/error.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_caveat: does not hold: %s\n", #condition);                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define TEXT_MAX 512
#define METHOD   "(GET|HEAD|PUT|POST|DELETE)"
#define SCOPE    "(read|write|delete|admin|peer)"

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    HOLDS(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    bool is_one = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_one;
}

static bool has_twice(const char *list)
{
    char copy[TEXT_MAX], *items[TEXT_MAX], *rest = copy, *item;
    size_t count = 0;
    snprintf(copy, sizeof(copy), "%s", list);
    while ((item = strsep(&rest, ",")) != NULL) {
        for (size_t i = 0; i < count; i++)
            if (strcmp(items[i], item) == 0)
                return true;
        items[count++] = item;
    }
    return false;
}

static bool is_moment(const char *text)
{
    struct tm parts = {0};
    char again[64];
    if (!matches(text, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"))
        return false;
    parts.tm_year = (int)strtol(text, NULL, 10) - 1900;
    parts.tm_mon = (int)strtol(text + 5, NULL, 10) - 1;
    parts.tm_mday = (int)strtol(text + 8, NULL, 10);
    parts.tm_hour = (int)strtol(text + 11, NULL, 10);
    parts.tm_min = (int)strtol(text + 14, NULL, 10);
    parts.tm_sec = (int)strtol(text + 17, NULL, 10);
    time_t moment = timegm(&parts); /* which makes a date of what is none */
    HOLDS(gmtime_r(&moment, &parts));
    strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return moment >= 0 && strcmp(text, again) == 0;
}

static bool is_body(const char *text)
{
    char again[32];
    snprintf(again, sizeof(again), "%llu", strtoull(text, NULL, 10));
    return matches(text, "^[0-9]+$") && strcmp(text, again) == 0 &&
           strcmp(text, "18446744073709551615") != 0;
}

static bool is_path(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return text[0] == '/' && !strstr(text, "//") && !strstr(text, "/./") && !strstr(text, "/../") &&
           !matches(text, "/\\.\\.?$");
}

/* Its bits as a string of digits. */
static bool read_network(const char *text, char *bits, size_t *ret_prefix, bool *ret_is_v4)
{
    char copy[TEXT_MAX];
    unsigned char bytes[16];
    snprintf(copy, sizeof(copy), "%s", text);
    char *slash = strchr(copy, '/');
    if (!slash || !matches(slash, "^/(0|[1-9][0-9]{0,2})$"))
        return false;
    *slash = '\0';
    bool is_v4 = inet_pton(AF_INET, copy, bytes) == 1;
    if (!is_v4 && inet_pton(AF_INET6, copy, bytes) != 1)
        return false;
    size_t size = is_v4 ? 4 : 16, prefix = (size_t)strtol(slash + 1, NULL, 10);
    for (size_t i = 0; i < 8 * size; i++)
        bits[i] = bytes[i / 8] >> (7 - i % 8) & 1 ? '1' : '0';
    bits[8 * size] = '\0';
    static const char mapped[] = "00000000000000000000000000000000000000000000000000000000000000"
                                 "0000000000000000001111111111111111";
    if (prefix > 8 * size || strchr(bits + prefix, '1') ||
        (!is_v4 && strncmp(bits, mapped, sizeof(mapped) - 1) == 0))
        return false;
    *ret_prefix = prefix;
    *ret_is_v4 = is_v4;
    return true;
}

static bool is_networks(const char *list)
{
    char copy[TEXT_MAX], *rest = copy, *item, seen[16][160];
    size_t count = 0;
    snprintf(copy, sizeof(copy), "%s", list);
    while ((item = strsep(&rest, ",")) != NULL) {
        char bits[160];
        size_t prefix;
        bool is_v4;
        if (count == 16 || !read_network(item, bits, &prefix, &is_v4))
            return false;
        bits[prefix] = is_v4 ? '4' : '6';
        bits[prefix + 1] = '\0';
        for (size_t i = 0; i < count; i++)
            if (strcmp(seen[i], bits) == 0)
                return false;
        memcpy(seen[count++], bits, sizeof(bits));
    }
    return true;
}

static bool is_caveat(const char *text)
{
    if (strncmp(text, "expires < ", 10) == 0)
        return is_moment(text + 10);
    if (strncmp(text, "body <= ", 8) == 0)
        return is_body(text + 8);
    if (strncmp(text, "path under ", 11) == 0)
        return is_path(text + 11);
    if (strncmp(text, "client in ", 10) == 0)
        return is_networks(text + 10);
    if (matches(text, "^method in " METHOD "(," METHOD ")*$"))
        return !has_twice(text + 10);
    if (matches(text, "^scope in " SCOPE "(," SCOPE ")*$"))
        return !has_twice(text + 9);
    return matches(text, "^scope = " SCOPE "$");
}

/* Every segment of the one is the same of the other. */
static bool is_under(const char *under, const char *path)
{
    char one[TEXT_MAX], other[TEXT_MAX], *one_rest = one, *other_rest = other, *segment;
    if (!is_path(path))
        return false;
    snprintf(one, sizeof(one), "%s", under + 1);
    snprintf(other, sizeof(other), "%s", path + 1);
    while ((segment = strsep(&one_rest, "/")) != NULL && *segment) {
        const char *mine = strsep(&other_rest, "/");
        if (!mine || strcmp(segment, mine) != 0)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX];
    struct weir__caveat caveat;
    if (size >= sizeof(text) || memchr(data, 0, size))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *path = strchr(text, '\n');
    if (path)
        *path++ = '\0';
    int result = weir__caveat_parse(&caveat, text, strlen(text));
    HOLDS(result == 0 || result == -WEIR_E_INVALID);
    HOLDS((result == 0) == is_caveat(text));
    if (result < 0)
        return 0;
    struct weir__token_request request = {.method = "GET",
                                          .path = path ? path : "/o",
                                          .scope = WEIR__SCOPE_READ,
                                          .now_s = 1794928012};
    request.path_length = strlen(request.path);
    bool is_allowed = weir__caveat_refusal(&caveat, &request) == NULL;
    if (caveat.kind == WEIR__CAVEAT_PATH)
        HOLDS(is_allowed == is_under(text + 11, request.path));
    if (caveat.kind == WEIR__CAVEAT_METHOD)
        HOLDS(is_allowed == (strstr(text, "GET") != NULL));
    if (caveat.kind == WEIR__CAVEAT_SCOPE)
        HOLDS(is_allowed == (strstr(text, "read") != NULL));
    if (caveat.kind == WEIR__CAVEAT_EXPIRES)
        HOLDS(is_allowed == (strcmp(text + 10, "2026-11-17T15:06:52Z") > 0));
    if (caveat.kind == WEIR__CAVEAT_CLIENT)
        HOLDS(!is_allowed);
    return 0;
}
