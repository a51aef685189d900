/* fuzz_condition.c - any bytes as If-Match, If-None-Match and If-Range, compared with a reader that
 * is slow and plain.
 *
 * The input is the tag of what is there, a line end, and the field. The reader tries every way to
 * cut the field into elements, by the grammar of RFC 9110 as it is written there.
 */
#include "condition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_condition: does not hold: %s\n", #condition);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define TEXT_MAX 256

/* entity-tag = [ %s"W/" ] DQUOTE *etagc DQUOTE */
static bool is_tag(const char *text, size_t length)
{
    if (length >= 2 && strncmp(text, "W/", 2) == 0)
        text += 2, length -= 2;
    if (length < 2 || text[0] != '"' || text[length - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == '"' || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_spaces(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    return true;
}

static bool is_equal(const char *a, size_t a_length, const char *b, bool is_strong)
{
    bool is_weak = false;
    if (a_length >= 2 && strncmp(a, "W/", 2) == 0)
        a += 2, a_length -= 2, is_weak = true;
    if (strncmp(b, "W/", 2) == 0)
        b += 2, is_weak = true;
    return !(is_weak && is_strong) && a_length == strlen(b) && memcmp(a, b, a_length) == 0;
}

struct seen {
    int tags, strong, weak; /* all; those that are the same */
};

/* OWS [ entity-tag ] OWS */
static bool read_element(const char *text, size_t length, const char *mine, struct seen *seen)
{
    while (length > 0 && is_spaces(text, 1))
        text++, length--;
    while (length > 0 && is_spaces(text + length - 1, 1))
        length--;
    if (length == 0)
        return true;
    if (!is_tag(text, length))
        return false;
    seen->tags++;
    seen->strong += mine && is_equal(text, length, mine, true);
    seen->weak += mine && is_equal(text, length, mine, false);
    return true;
}

/* element *( "," element ): at every comma, it is tried whether that is one between two. */
static bool read_list(const char *text, size_t length, const char *mine, struct seen *seen)
{
    for (size_t end = 0; end <= length; end++) {
        struct seen before = *seen;
        if (end < length && text[end] != ',')
            continue;
        if (read_element(text, end, mine, seen) &&
            (end == length || read_list(text + end + 1, length - end - 1, mine, seen)))
            return true;
        *seen = before;
    }
    return false;
}

static bool is_star(const char *text)
{
    size_t from = strspn(text, " \t");
    return text[from] == '*' && is_spaces(text + from + 1, strlen(text + from + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char etag[TEXT_MAX], text[TEXT_MAX];
    const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = line ? (size_t)(line - data) : 0;
    if (!line || size >= TEXT_MAX || memchr(data, 0, size))
        return 0;
    memcpy(etag, data, first);
    etag[first] = '\0';
    memcpy(text, line + 1, size - first - 1);
    text[size - first - 1] = '\0';
    const char *mine = is_tag(etag, first) ? etag : NULL;
    struct weir__field field = {text, strlen(text)};
    struct seen seen = {0, 0, 0};
    bool is_any = is_star(text), is_list = read_list(text, field.length, mine, &seen);
    is_list = is_list && seen.tags > 0;
    HOLDS(!(is_any && is_list));

    bool match = is_any ? mine != NULL : is_list && seen.strong > 0;
    struct weir__conditions conditions = {.if_match = field};
    enum weir__condition wanted = match ? WEIR__CONDITION_PROCEED : WEIR__CONDITION_FAILED;
    HOLDS(weir__condition_check(&conditions, true, mine) == wanted);
    HOLDS(weir__condition_check(&conditions, false, mine) == wanted);

    bool same = is_any ? mine != NULL : is_list && seen.weak > 0;
    conditions = (struct weir__conditions){.if_none_match = field};
    HOLDS(weir__condition_check(&conditions, true, mine) ==
          (same ? WEIR__CONDITION_NOT_MODIFIED : WEIR__CONDITION_PROCEED));
    HOLDS(weir__condition_check(&conditions, false, mine) ==
          (same || !(is_any || is_list) ? WEIR__CONDITION_FAILED : WEIR__CONDITION_PROCEED));

    bool is_one = seen.tags == 1 && is_list && !memchr(text, ',', field.length);
    if (weir__condition_if_range(&field, mine))
        HOLDS(seen.strong == 1 && seen.tags == 1);
    if (is_one)
        HOLDS(weir__condition_if_range(&field, mine) == (seen.strong == 1));
    return 0;
}
