/* check_password.c - what somebody may have for a password, where nothing but its name says so.
 *
 * In `password = …` without quotation marks there may stand anything: a word, a name, a reference,
 * a path, an expression of some language, or a password of any printable bytes. Told apart by
 *
 *     what it begins with    $NAME, ${…}, %(name)s, @NAME@, vault:…, file:/…, /a/path, a date
 *     signs of code          a->b, a::b, a&&b, a(), a name and a bracket that is closed, (?=, \d+
 *     words                  half of it and more is words
 *
 * What remains has to have a digit, or two signs that join no words, or letters of both cases in
 * an order that names do not have. Of passwords made by chance from all printable bytes about one
 * in forty is lost by that.
 *
 * Linear in the length.
 */
#include "check_part.h"

#include <string.h>

#include "banned.h"

#define PASSWORD_MIN   8u
#define LETTERS_LEAST  10u /* of a password that has nothing else */
#define CAPITALS_LEAST 25u /* of a hundred letters, where there are no digits and no signs */
#define CAPITALS_MOST  75u
#define PAIRS_MOST     50u /* of a hundred pairs of letters those that words are full of */
#define FIELDS_MIN     4u  /* colons, of a line with fields */
#define WORD_MIN       3u
#define WORD_PAIRS     60u
#define PART_LONG      2.4 /* letters of one case in a row; in names there are more */

#define LETTER         (WEIR__LOWER | WEIR__UPPER)

struct value {
    const char *text;
    size_t length;
};

static bool is_class(const struct value *value, size_t at, unsigned set)
{
    return at < value->length && weir__check_class(value->text[at]) & set;
}

static bool is_at(const struct value *value, size_t at, const char *text)
{
    size_t length = strlen(text);
    return at <= value->length && value->length - at >= length &&
           memcmp(value->text + at, text, length) == 0;
}

static bool is_one_of(const struct value *value, size_t at, const char *set)
{
    return at < value->length && memchr(set, value->text[at], strlen(set));
}

static bool is_named(const struct value *value, size_t at)
{
    return is_class(value, at, WEIR__BASE62) || is_at(value, at, "_");
}

/* Behind the name that begins here: letters, digits and '_', with dots between. */
static size_t skip_name(const struct value *value, size_t at)
{
    if (!is_class(value, at, LETTER) && !is_at(value, at, "_"))
        return at;
    while (is_named(value, at) || (is_at(value, at, ".") && is_class(value, at + 1, LETTER)))
        at++;
    return at;
}

static bool has_blank(const struct value *value)
{
    for (size_t i = 0; i < value->length; i++)
        if ((unsigned char)value->text[i] <= ' ')
            return true;
    return false;
}

/* --- what stands for something else --- */

/* vault:secret/db, op://…, file:/…, md5:… */
static bool has_scheme(const struct value *value)
{
    size_t at = 0;
    while (is_class(value, at, WEIR__LOWER | WEIR__DIGIT) || is_at(value, at, "-"))
        at++;
    return at >= 2 && is_class(value, 0, WEIR__LOWER) && is_at(value, at, ":") &&
           (is_at(value, at + 1, "/") || is_class(value, at + 1, WEIR__LOWER));
}

/* /a/b, ./a, ../a, ~/a with nothing in it that names of files do not have. */
static bool is_path(const struct value *value)
{
    size_t slashes = 0;
    if (!is_at(value, 0, "/") && !is_at(value, 0, "./") && !is_at(value, 0, "../") &&
        !is_at(value, 0, "~/"))
        return false;
    for (size_t i = 1; i < value->length; i++) {
        if (value->text[i] == '/')
            slashes++;
        else if (!is_class(value, i, WEIR__BASE64URL | WEIR__DOT))
            return false;
    }
    return slashes > 0;
}

/* 2024-01-02 and what follows, 1.2.3 */
static bool is_date_or_version(const struct value *value)
{
    size_t at = is_at(value, 0, "v");
    size_t digits = weir__check_span(value->text + at, value->length - at, WEIR__DIGIT);
    if (digits == 4 && is_at(value, 4, "-") && is_class(value, 5, WEIR__DIGIT) &&
        is_class(value, 6, WEIR__DIGIT) && is_at(value, 7, "-"))
        return true;
    at += digits;
    if (digits == 0 || !is_at(value, at, "."))
        return false;
    at++;
    digits = weir__check_span(value->text + at, value->length - at, WEIR__DIGIT | WEIR__DOT);
    return digits > 0 && (at + digits == value->length || is_at(value, at + digits, "-") ||
                          is_at(value, at + digits, "+"));
}

/* $NAME, ${NAME}, $(command), {{ … }}, #{…}, %NAME%, %(name)s, @NAME@, *anchor, &anchor. */
static bool is_reference(const struct value *value)
{
    static const char *const openings[] = {"${", "$(", "{{", "#{", "%{", "@{", "$[", "<%", "[%"};
    for (size_t i = 0; i < sizeof(openings) / sizeof(*openings); i++)
        if (is_at(value, 0, openings[i]))
            return true;
    size_t end = skip_name(value, 1);
    if (end == 1)
        return is_at(value, 0, "%(") && skip_name(value, 2) > 2;
    char first = value->text[0];
    if (first == '$')
        return end * 2 >= value->length || is_one_of(value, end, ".-/[($>");
    return ((first == '%' || first == '@') && end + 1 == value->length &&
            value->text[end] == first) ||
           (is_one_of(value, 0, "*&@!") && end == value->length);
}

/* --- code --- */

/* A name, a bracket behind it and one that closes it, or nothing behind it; a.b, or a name with
 * what ends a statement. */
static bool is_call(const struct value *value)
{
    size_t at = 0;
    while (is_one_of(value, at, "&*!(-"))
        at++;
    size_t end = skip_name(value, at);
    if (end < at + 2)
        return false;
    if (is_one_of(value, end, "([")) {
        char close = value->text[end] == '(' ? ')' : ']';
        return end + 1 == value->length ||
               memchr(value->text + end, close, value->length - end) != NULL;
    }
    return end + 1 == value->length && is_one_of(value, end, ",;{");
}

/* a||b, a->b, a::b, and what several parameters have between them: &b= */
static bool has_operator(const struct value *value, size_t at)
{
    static const char *const operators[] = {"->", "::", "&&", "||", "==", "=>"};
    if (!is_named(value, at - 1))
        return false;
    for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
        if (is_at(value, at, operators[i]) && is_named(value, at + 2))
            return true;
    if (is_at(value, at, "()") || is_at(value, at, "[]"))
        return true;
    size_t end = skip_name(value, at + 1);
    return is_one_of(value, at, "&;,") && end > at + 2 && is_at(value, end, "=");
}

/* What patterns and formats have: (?=, [^a, a-z], .*, \d+, %s, \u00e4 */
static bool has_pattern(const struct value *value, size_t at)
{
    static const char *const signs[] = {"(?=", "(?!", "(?:", "-z]", "-Z]", "-9]", ".*$", ".*)"};
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (is_at(value, at, signs[i]))
            return true;
    if (is_at(value, at, "%s") || is_at(value, at, "%d"))
        return !is_named(value, at + 2);
    if (!is_at(value, at, "\\"))
        return false;
    if (is_at(value, at + 1, "u"))
        return value->length - at > 5 && weir__check_all(value->text + at + 2, 4, WEIR__XDIGIT);
    return is_one_of(value, at + 1, "dws") && is_one_of(value, at + 2, "+*{?])|\\");
}

static bool has_code(const struct value *value)
{
    size_t colons = 0;
    for (size_t at = 0; at < value->length; at++) {
        if (weir__check_class(value->text[at]) & WEIR__BASE62)
            continue;
        colons += value->text[at] == ':';
        if (has_pattern(value, at) || (at > 0 && has_operator(value, at)))
            return true;
    }
    return colons >= FIELDS_MIN;
}

/* --- words --- */

/* The end of the letters from here on that may be one word: abc, Abc, ABC. */
static size_t skip_letters(const struct value *value, size_t at)
{
    size_t upper = weir__check_span(value->text + at, value->length - at, WEIR__UPPER);
    at += upper;
    if (upper < 2)
        at += weir__check_span(value->text + at, value->length - at, WEIR__LOWER);
    return at;
}

/* Whether half of it is words. A byte beyond ASCII is one of a word. */
static bool is_of_words(const struct value *value)
{
    size_t bytes = 0;
    for (size_t at = 0; at < value->length;) {
        size_t end = skip_letters(value, at);
        if (end - at >= WORD_MIN && weir__check_pairs(value->text + at, end - at, 1) >= WORD_PAIRS)
            bytes += end - at;
        bytes += (unsigned char)value->text[at] >= 0x80;
        at = end > at ? end : at + 1;
    }
    return bytes * 2 >= value->length;
}

/* Letters of both cases, as often one as the other, and in an order that names do not have: few
 * of their pairs are those of words, or the case changes all the time. */
static bool is_mixed(const struct value *value)
{
    size_t letters = 0, upper = 0, parts = 0;
    for (size_t at = 0; at < value->length;) {
        size_t end = skip_letters(value, at);
        letters += end - at;
        parts += end > at;
        upper += weir__check_span(value->text + at, end - at, WEIR__UPPER);
        at = end > at ? end : at + 1;
    }
    return letters >= LETTERS_LEAST && upper * 100 >= letters * CAPITALS_LEAST &&
           upper * 100 <= letters * CAPITALS_MOST &&
           (weir__check_pairs(value->text, value->length, 1) < PAIRS_MOST ||
            (double)parts * PART_LONG >= (double)letters);
}

bool weir__check_password(const char *secret, size_t length)
{
    const struct value value = {secret, length};
    if (length < PASSWORD_MIN || length > WEIR__CHECK_MAX || has_blank(&value) ||
        !weir__check_not_placeholder(secret, length) || is_reference(&value) ||
        has_scheme(&value) || is_path(&value) || is_date_or_version(&value) || is_call(&value) ||
        has_code(&value))
        return false;
    if (weir__check_all(secret, length, WEIR__BASE62))
        return weir__check_all(secret, length, LETTER) ? is_mixed(&value)
                                                       : weir__check_random(secret, length);
    size_t signs = 0, digits = 0, typed = 0;
    for (size_t i = 0; i < length; i++) {
        digits += is_class(&value, i, WEIR__DIGIT);
        signs += !is_class(&value, i, WEIR__BASE62 | WEIR__DASH | WEIR__DOT) &&
                 (unsigned char)secret[i] < 0x80 && secret[i] != ':' && secret[i] != '/';
        typed += is_class(&value, i, WEIR__BASE62) || is_one_of(&value, i, "!@#$%^&*?+~");
    }
    if (typed == length && digits >= 2) /* Summer2024! */
        return weir__check_random(secret, length);
    if (is_of_words(&value))
        return false;
    return digits > 0 ? digits + signs >= 2 : signs >= 2 || (signs > 0 && is_mixed(&value));
}
