/* cover.c - asterisks for words as machines make them. */
#include "cover.h"

#include <string.h>

#include "cover_part.h"

#include "banned.h"

#define WORD_MIN     16u
#define ODD_MIN      10u /* with fewer it is the end of a name that is to be unique */
#define LETTERS_MIN  4u  /* with fewer it is a number and its unit */
#define SPOKEN_MIN   6u  /* shorter ones are abbreviations, which may be anything */
#define MUTE_MAX     6u  /* consonants in a row of a word that can be spoken */
#define CAPITALS_MAX 16u /* in a row; half of them beside a digit */
#define DIGITS_MAX   14u /* of a date and a time */
#define NUMBER_MIN   8u
#define SHORT_MAX    2u
/* How much of an argument is looked at: of what is longer, less is known and less is shown. */
#define LOOK_MAX 4096u

static void cover(char *text, size_t length)
{
    memset(text, '*', length);
}

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == '+' || c == '=';
}

static bool is_word_byte(char c)
{
    return weir__cover_is_letter(c) || weir__cover_is_digit(c) || is_joint(c);
}

static bool can_be_spoken(const char *letters, size_t length)
{
    size_t mute = 0, most = 0, vowels = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_vowel = strchr("aeiouyAEIOUY", letters[i]) != NULL;
        vowels += is_vowel;
        mute = is_vowel ? 0 : mute + (i == 0 || letters[i] != letters[i - 1]);
        most = mute > most ? mute : most;
    }
    return most <= MUTE_MAX && (length < SPOKEN_MIN || vowels > 0 || most == 1);
}

/* The length of the piece that begins a word: digits, capitals alone, or small letters with one
 * capital before them. */
static size_t piece_of(const char *word, size_t length)
{
    size_t n = 1;
    if (weir__cover_is_digit(word[0])) {
        while (n < length && weir__cover_is_digit(word[n]))
            n++;
        return n;
    }
    if (weir__cover_is_capital(word[0]) && n < length && weir__cover_is_capital(word[n])) {
        while (n < length && weir__cover_is_capital(word[n]))
            n++;
        return n < length && weir__cover_is_small(word[n]) ? n - 1
                                                           : n; /* the last one begins the next */
    }
    while (n < length && weir__cover_is_small(word[n]))
        n++;
    return n;
}

static bool is_piece_plain(const char *piece, size_t length, bool is_beside_digit)
{
    if (weir__cover_is_digit(*piece))
        return length <= DIGITS_MAX;
    if (length > 1 && weir__cover_is_capital(piece[1]) &&
        length >= (is_beside_digit ? CAPITALS_MAX / 2 : CAPITALS_MAX))
        return false;
    return can_be_spoken(piece, length);
}

/* Whether it may have been put together of words and numbers; there is no joint in it. Where digits
 * and letters touch, and pieces of one or two letters that touch others, are few in what people
 * write. */
static bool is_part_plain(const char *part, size_t length)
{
    size_t odd = 0;
    for (size_t at = 0, n; at < length; at += n) {
        n = piece_of(part + at, length - at);
        bool is_number = weir__cover_is_digit(part[at]), is_last = at + n == length;
        bool is_behind_digit = at > 0 && weir__cover_is_digit(part[at - 1]);
        bool is_before_digit = !is_last && weir__cover_is_digit(part[at + n]);
        if (!is_piece_plain(part + at, n, is_behind_digit || is_before_digit))
            return false;
        odd += is_number ? at > 0 : is_behind_digit;
        odd += !is_number && n < 3 && n < length;
    }
    return odd <= length / 8;
}

/* How many bytes of a word are in parts that are not plain, and how many of these are letters. */
static size_t odd_bytes(const char *word, size_t length, size_t *ret_letters)
{
    size_t bytes = 0, letters = 0;
    for (size_t from = 0, until; from < length; from = until + 1) {
        for (until = from; until < length && !is_joint(word[until]);)
            until++;
        if (is_part_plain(word + from, until - from))
            continue;
        bytes += until - from;
        for (size_t i = from; i < until; i++)
            letters += weir__cover_is_letter(word[i]);
    }
    *ret_letters = letters;
    return bytes;
}

static bool is_plain(const char *word, size_t length)
{
    size_t letters;
    return odd_bytes(word, length, &letters) == 0;
}

/* Whether a text was cut there. */
static bool is_cut(const char *end)
{
    return strncmp(end, "...", 3) == 0;
}

/* Of one that was cut, less is enough. */
static bool is_made_by_machine(const char *word, size_t length, bool is_part)
{
    size_t letters, part = is_part ? 2 : 1;
    return length >= WORD_MIN / part && odd_bytes(word, length, &letters) >= ODD_MIN / part &&
           letters >= LETTERS_MIN / part;
}

static size_t word_at(const char *text)
{
    size_t length = 0;
    while (is_word_byte(text[length]))
        length++;
    return length;
}

/* A token may have a '/' or a '.' in it: what stands beside, one after the other. One or two bytes
 * between them could be anything, and end nothing. */
static void cover_beside(char *text, char *word, size_t length)
{
    for (char *end = word; end - text > 1 && strchr("/.", end[-1]);) {
        char *from = --end;
        while (from > text && is_word_byte(from[-1]))
            from--;
        size_t n = (size_t)(end - from);
        bool stays = is_plain(from, n);
        if (n == 0 || (stays && n > SHORT_MAX))
            break;
        if (!stays)
            cover(from, n);
        end = from;
    }
    for (char *at = word + length; *at && strchr("/.", *at);) {
        size_t n = word_at(++at);
        bool stays = is_plain(at, n) && !is_cut(at + n);
        if (n == 0 || (stays && n > SHORT_MAX))
            break;
        if (!stays)
            cover(at, n);
        at += n;
    }
}

void weir__cover_words(char *text)
{
    for (char *at = text; *at;) {
        at += strspn(at, "-"); /* of an option */
        size_t length = word_at(at);
        if (is_made_by_machine(at, length, is_cut(at + length))) {
            cover_beside(text, at, length);
            cover(at, length);
        }
        at += length > 0 || !*at ? length : 1;
    }
}

/* With one, long numbers go: tokens have them as well. */
void weir__cover_id(char *id)
{
    bool is_hidden = false;
    for (char *at = id, *end; *at; at = end + (*end == '-')) {
        end = at + strcspn(at, "-");
        char mark = *end;
        *end = '\0';
        weir__cover_words(at);
        *end = mark;
        is_hidden = is_hidden || *at == '*';
    }
    for (char *at = id; is_hidden && *at; at += *at != '\0') {
        size_t digits = strspn(at, "0123456789");
        if (digits >= NUMBER_MIN)
            cover(at, digits);
        at += digits;
    }
}

const char *weir__cover_clip(char *text, size_t size, const char *given, size_t length)
{
    char look[LOOK_MAX];
    size_t known = strnlen(given, length < sizeof(look) ? length : sizeof(look) - 1);
    memcpy(look, given, known);
    look[known] = '\0';
    bool is_cut = known < length && given[known] != '\0';
    weir__cover_typed(look);
    /* Where a password ends that is longer than that nobody knows. */
    size_t sure = is_cut ? strcspn(look, "=:") : known;
    cover(look + sure, known - sure);
    return weir__text_clip(text, size, look, SIZE_MAX);
}
