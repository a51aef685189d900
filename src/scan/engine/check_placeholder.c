/* check_placeholder.c - what was written by people, and not made by a generator.
 *
 * A placeholder, in any case of letters: a value that holds one of the words below as a part of
 * its own, something in angle brackets or a command of a shell; one that is made of a word for what
 * is tried out and of other words, or short numbers (test-db-1234); one that is a short unit again
 * and again for most of it; one that goes up through digits or letters for ROW_MAX bytes, or for
 * half of it; hexadecimal bytes that go up one by one; one of fewer than 3 different bytes.
 *
 * Letters alone are by chance where few of their pairs are those of words (see below).
 *
 * Not random is besides: what has no digit, and what reads like words. Of the pairs of letters in
 * English text four fifths are among those that are marked below; of those in random text one in
 * four. Where one word ends and the next begins (aB) is no pair. Digits and the letters to F are
 * hexadecimal and not judged by that.
 *
 * Linear in the length.
 */
#include "check_part.h"

#include <string.h>

#include "banned.h"

#define ROW_MAX       10u /* bytes that go up one by one; by accident once in 10^14 */
#define ROW_HALF      6u  /* at least so many, where half of the value is enough */
#define ROW_OF_BYTES  6u  /* in hexadecimal; by accident once in 10^11 */
#define COMMAND_MIN   5u  /* bytes of $(word) without the last, if it does not begin the value */
#define NUMBER_MAX    4u  /* digits that are none of a secret */
#define PART_MAX      12u /* letters of a word */
#define PERIOD_MAX    16u /* bytes of a unit that is repeated, at least twice behind the first */
#define REPEATED_MOST 70u /* of a hundred: so much of a value is repeated units, and it is none */

static const char *const words[] = {
    "example",   "xxxx",       "your-",      "your_",    "yourapi",  "yourkey",
    "yourtoken", "yoursecret", "${",         "{{",       "%{",       "****",
    "....",      "changeme",   "change-",    "change_",  "redacted", "placeholder",
    "dummy",     "insert-",    "insert_",    "replace-", "replace_", "replaceme",
    "notareal",  "not-a-real", "not_a_real", "sample-",  "sample_"};

static char fold(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

/* What the words begin with, and their second bytes, a bit for each by its last five bits: most
 * bytes of a secret need no more than a look here. */
#define S(byte) (UINT32_C(1) << ((byte)&31))
static const uint32_t seconds[256] = {
    ['e'] = S('x'), ['x'] = S('x'), ['y'] = S('o'), ['$'] = S('{'), ['{'] = S('{'),
    ['%'] = S('{'), ['*'] = S('*'), ['.'] = S('.'), ['c'] = S('h'), ['r'] = S('e'),
    ['p'] = S('l'), ['d'] = S('u'), ['i'] = S('n'), ['n'] = S('o'), ['s'] = S('a'),
};

static bool is_word_at(const char *text, size_t length, const char *word)
{
    size_t same = 0;
    while (same < length && word[same] && fold(text[same]) == word[same])
        same++;
    return word[same] == '\0';
}

/* <my token>, or cut off (<my): a password may have these signs in it, and begin with them. */
static bool has_angles(const char *text, size_t length)
{
    for (size_t at = 0; at + 1 < length; at++) {
        if (text[at] != '<')
            continue;
        size_t end = at + 1;
        while (end < length &&
               (weir__check_class(text[end]) & WEIR__BASE62 || memchr(" _-./:|,'", text[end], 9)))
            end++;
        if (end == length ? at == 0 : text[end] == '>' && end > at + 1)
            return true;
    }
    return false;
}

/* $(command), or cut off at its first blank. Keys of web frameworks may have these signs by chance,
 * too, and so there has to be a word between the brackets. */
static bool has_command(const char *text, size_t length)
{
    for (size_t at = 0; at + 2 < length; at++) {
        if (text[at] != '$' || text[at + 1] != '(' ||
            !(weir__check_class(text[at + 2]) & (WEIR__LOWER | WEIR__UPPER) || text[at + 2] == '_'))
            continue;
        size_t end = at + 2;
        while (end < length && (weir__check_class(text[end]) & WEIR__BASE62 || text[end] == '_' ||
                                text[end] == '-' || text[end] == '.' || text[end] == ' '))
            end++;
        if (end == length ? at == 0 : text[end] == ')' && (at == 0 || end - at > COMMAND_MIN))
            return true;
    }
    return false;
}

/* The length of the part that begins here: a word, or a number of a few digits. 0: neither. */
static size_t part_of(const char *text, size_t length)
{
    size_t digits = 0, letters = 0;
    while (digits < length && weir__check_class(text[digits]) & WEIR__DIGIT)
        digits++;
    if (digits > 0)
        return digits <= NUMBER_MAX ? digits : 0;
    letters += length > 0 && weir__check_class(text[0]) & WEIR__UPPER;
    while (letters < length && weir__check_class(text[letters]) & WEIR__LOWER)
        letters++;
    return letters <= PART_MAX ? letters : 0;
}

/* test-db-1234: a word for what is tried out, and other words and numbers, all with marks between.
 */
static bool is_tried_out(const char *text, size_t length)
{
    static const char *const trials[] = {"test", "testing", "fake", "sample", "demo", "mock"};
    size_t at = part_of(text, length);
    bool is_trial = false;
    for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
        is_trial |= strlen(trials[i]) == at && is_word_at(text, at, trials[i]);
    if (!is_trial || at == length)
        return false;
    while (at < length && (text[at] == '-' || text[at] == '_' || text[at] == '.')) {
        size_t part = part_of(text + at + 1, length - at - 1);
        if (part == 0)
            return false;
        at += 1 + part;
    }
    return at == length;
}

/* Whether a word ends where a part does, perhaps with another word and a short number behind it
 * (exampleKey1): what goes on with digits and letters is a secret that begins with that word. */
static bool is_whole(const char *text, size_t length, size_t at)
{
    size_t letters = at, digits = 0;
    if (!(weir__check_class(text[at - 1]) & WEIR__BASE62) || fold(text[0]) == 'x')
        return true; /* a mark has ended it, or it is xxxx */
    while (letters < length && weir__check_class(text[letters]) & (WEIR__LOWER | WEIR__UPPER))
        letters++;
    while (letters + digits < length && weir__check_class(text[letters + digits]) & WEIR__DIGIT)
        digits++;
    return digits <= NUMBER_MAX && (letters + digits == length ||
                                    !(weir__check_class(text[letters + digits]) & WEIR__BASE62));
}

static bool has_word(const char *text, size_t length)
{
    if (has_angles(text, length) || has_command(text, length) || is_tried_out(text, length))
        return true;
    for (size_t at = 0; at + 1 < length; at++) {
        if (!(seconds[(uint8_t)fold(text[at])] & S(text[at + 1])))
            continue;
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
            if (is_word_at(text + at, length - at, words[w]) &&
                is_whole(text + at, length - at, strlen(words[w])))
                return true;
    }
    return false;
}

/* One up in the digits and letters, with what people write behind 9. */
static bool is_next(char before, char byte)
{
    if (before == '9')
        return byte == '0' || byte == 'a';
    if (before == '0' && byte == 'a')
        return true;
    return byte == before + 1 && weir__check_class(byte) & WEIR__BASE62;
}

static bool has_row(const char *text, size_t length)
{
    size_t row = 1, needed = length / 2 > ROW_HALF ? length / 2 : ROW_HALF;
    needed = needed < ROW_MAX ? needed : ROW_MAX;
    for (size_t i = 1; i < length; i++) {
        row = is_next(fold(text[i - 1]), fold(text[i])) ? row + 1 : 1;
        if (row >= needed)
            return true;
        if (row + (length - 1 - i) < needed)
            return false; /* too little is left */
    }
    return false;
}

static unsigned nibble(char byte)
{
    return weir__check_class(byte) & WEIR__DIGIT ? (unsigned)(byte - '0')
                                                 : (unsigned)(fold(byte) - 'a') + 10;
}

/* Bytes in hexadecimal that go up one by one, as in published test vectors: 000102030405… */
static bool has_row_of_bytes(const char *text, size_t length)
{
    size_t row = 1;
    if (length % 2 != 0 || !weir__check_all(text, length, WEIR__XDIGIT))
        return false;
    for (size_t i = 2; i < length; i += 2) {
        unsigned before = nibble(text[i - 2]) << 4 | nibble(text[i - 1]);
        unsigned byte = nibble(text[i]) << 4 | nibble(text[i + 1]);
        row = byte == before + 1 ? row + 1 : 1;
        if (row >= ROW_OF_BYTES)
            return true;
    }
    return false;
}

/* A unit that comes again and again, at least three times, and fills most of the value: what people
 * put before or behind it, and the case of its letters, does not count. */
static bool is_repeated(const char *text, size_t length)
{
    for (size_t period = 1; period <= PERIOD_MAX && period * 3 <= length; period++) {
        size_t run = period;
        for (size_t i = period; i < length; i++) {
            run = fold(text[i]) == fold(text[i - period]) ? run + 1 : period;
            if (run >= period * 3 && run * 100 >= length * REPEATED_MOST)
                return true;
            if ((run + (length - 1 - i)) * 100 < length * REPEATED_MOST)
                break; /* too little is left */
        }
    }
    return false;
}

/* A value with a prefix is judged by what is behind it as well: dop_v1_0000… */
static const char *behind_prefix(const char *text, size_t length)
{
    for (size_t i = length < 16 ? length : 16; i > 0; i--) {
        if (text[i - 1] == '_' || text[i - 1] == '-' || text[i - 1] == '.')
            return text + i;
    }
    return text;
}

bool weir__check_not_placeholder(const char *secret, size_t length)
{
    bool seen[256] = {false};
    unsigned different = 0;
    if (length > WEIR__CHECK_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        different += !seen[(uint8_t)secret[i]];
        seen[(uint8_t)secret[i]] = true;
    }
    const char *rest = behind_prefix(secret, length);
    size_t rest_length = length - (size_t)(rest - secret);
    return different >= 3 && !has_word(secret, length) && !has_row(secret, length) &&
           !has_row_of_bytes(secret, length) && !is_repeated(secret, length) &&
           (rest == secret || !is_repeated(rest, rest_length));
}

/* Pairs of letters that English is full of: by the first, a bit for each second. */
#define P(a) (UINT32_C(1) << ((a) - 'a'))
static const uint32_t pairs[26] = {
    ['a' - 'a'] = P('b') | P('c') | P('d') | P('g') | P('i') | P('l') | P('m') | P('n') | P('p') |
                  P('r') | P('s') | P('t') | P('y'),
    ['b' - 'a'] = P('a') | P('e') | P('l') | P('o') | P('u'),
    ['c' - 'a'] = P('a') | P('e') | P('h') | P('i') | P('k') | P('o') | P('r') | P('t'),
    ['d' - 'a'] = P('a') | P('e') | P('i') | P('o') | P('s'),
    ['e' - 'a'] = P('a') | P('c') | P('d') | P('e') | P('l') | P('m') | P('n') | P('r') | P('s') |
                  P('t') | P('x') | P('y') | P('v'),
    ['f' - 'a'] = P('a') | P('e') | P('f') | P('i') | P('o') | P('r'),
    ['g' - 'a'] = P('a') | P('e') | P('h') | P('i') | P('r'),
    ['h' - 'a'] = P('a') | P('e') | P('i') | P('o'),
    ['i' - 'a'] = P('a') | P('c') | P('d') | P('e') | P('f') | P('g') | P('l') | P('m') | P('n') |
                  P('o') | P('s') | P('t') | P('v'),
    ['j' - 'a'] = P('o') | P('s') | P('u'),
    ['k' - 'a'] = P('e') | P('i'),
    ['l' - 'a'] = P('a') | P('d') | P('e') | P('i') | P('l') | P('o') | P('s') | P('u') | P('y'),
    ['m' - 'a'] = P('a') | P('e') | P('i') | P('m') | P('o') | P('p'),
    ['n' - 'a'] = P('a') | P('c') | P('d') | P('e') | P('g') | P('i') | P('o') | P('s') | P('t'),
    ['o' - 'a'] = P('b') | P('c') | P('d') | P('f') | P('l') | P('m') | P('n') | P('o') | P('p') |
                  P('r') | P('s') | P('t') | P('u') | P('w'),
    ['p' - 'a'] = P('a') | P('e') | P('i') | P('l') | P('o') | P('p') | P('r'),
    ['q' - 'a'] = P('u'),
    ['r' - 'a'] = P('a') | P('d') | P('e') | P('i') | P('m') | P('n') | P('o') | P('s') | P('t') |
                  P('v') | P('y'),
    ['s' - 'a'] =
        P('a') | P('c') | P('e') | P('h') | P('i') | P('o') | P('p') | P('s') | P('t') | P('u'),
    ['t' - 'a'] =
        P('a') | P('e') | P('h') | P('i') | P('o') | P('r') | P('s') | P('t') | P('u') | P('y'),
    ['u' - 'a'] =
        P('b') | P('c') | P('e') | P('l') | P('m') | P('n') | P('p') | P('r') | P('s') | P('t'),
    ['v' - 'a'] = P('a') | P('e') | P('i'),
    ['w' - 'a'] = P('a') | P('e') | P('h') | P('i') | P('o'),
    ['x' - 'a'] = P('p') | P('t'),
    ['y' - 'a'] = P('o') | P('p') | P('s'),
    ['z' - 'a'] = P('e'),
};

#define PAIRS_MIN    10u /* fewer say nothing */
#define PAIRS_COMMON 70u /* of a hundred: so many and more are words */
/* Where there is no digit more has to speak for chance: few such pairs, and letters of one case or
 * about as many of each. Names in code have a capital for each word. */
#define PAIRS_LETTERS 50u
#define CASE_LEAST    28u /* capitals, of a hundred */
#define CASE_MOST     72u
#define LETTERS_MIN   16u
#define LETTERS_MAX   200u

/* Of a hundred pairs those that words are full of; 0 where there are fewer than `least`. */
unsigned weir__check_pairs(const char *text, size_t length, size_t least)
{
    size_t seen = 0, common = 0;
    for (size_t i = 1; i < length; i++) {
        unsigned before = weir__check_class(text[i - 1]), class = weir__check_class(text[i]);
        bool is_pair = (before & (WEIR__LOWER | WEIR__UPPER)) &&
                       (class & (WEIR__LOWER | WEIR__UPPER)) &&
                       !(before & WEIR__LOWER && class & WEIR__UPPER);
        if (!is_pair)
            continue;
        seen++;
        common += pairs[fold(text[i - 1]) - 'a'] >> (fold(text[i]) - 'a') & 1;
    }
    return seen > 0 && seen >= least ? (unsigned)(common * 100 / seen) : 0;
}

static bool reads_like_words(const char *text, size_t length, unsigned most)
{
    return weir__check_pairs(text, length, PAIRS_MIN) >= most;
}

bool weir__check_random(const char *secret, size_t length)
{
    bool has_digit = false;
    for (size_t i = 0; i < length && !has_digit; i++)
        has_digit = weir__check_class(secret[i]) & WEIR__DIGIT;
    return has_digit && weir__check_not_placeholder(secret, length) &&
           (weir__check_all(secret, length, WEIR__XDIGIT) ||
            !reads_like_words(secret, length, PAIRS_COMMON));
}

bool weir__check_letters(const char *secret, size_t length)
{
    size_t upper = 0;
    if (!weir__check_is(secret, length, WEIR__LOWER | WEIR__UPPER, LETTERS_MIN, LETTERS_MAX))
        return false;
    for (size_t i = 0; i < length; i++)
        upper += (weir__check_class(secret[i]) & WEIR__UPPER) != 0;
    bool is_mixed = upper * 100 >= length * CASE_LEAST && upper * 100 <= length * CASE_MOST;
    return (is_mixed || upper == 0) && weir__check_not_placeholder(secret, length) &&
           !reads_like_words(secret, length, PAIRS_LETTERS);
}

#define HIDDEN_MAX 1024u /* bytes of what may be hidden: longer ones are keys with their lines */

bool weir__is_hidden(const char *secret, size_t length)
{
    /* The last three are not enough by themselves. */
    static const char *const marks[] = {"*", "&quot", "&apos", "&#39", "&#34", ";", "\\", "\""};
    const char *at = secret, *end = secret + length;
    bool has_mark = false;
    if (length > HIDDEN_MAX)
        return false;
    if (memmem(secret, length, WEIR__HIDDEN_MARK, sizeof(WEIR__HIDDEN_MARK) - 1))
        return true;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && at < end; i++) {
        size_t mark = strlen(marks[i]);
        if ((size_t)(end - at) < mark || memcmp(at, marks[i], mark) != 0)
            continue;
        at += mark;
        has_mark |= i < 5;
        i = SIZE_MAX; /* from the first one again */
    }
    return at == end && has_mark;
}
