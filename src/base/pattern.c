/* pattern.c - wildcards without backtracking.
 *
 * A pattern becomes a row of tokens, one for each thing that it can match. While a text is read,
 * a set of places in the row is kept: bit i says that the tokens before i can match what was read
 * so far. A byte moves every place of the set to the next one, leaves it (stars), or drops it; the
 * text matches when the place behind the last token is in the set at its end. That is slower than
 * backtracking on easy patterns by a few nanoseconds and has no hard ones.
 *
 * A place in front of a star is never alone: the star may match nothing, so the place behind it is
 * put in along with it (enter()).
 */
#include "pattern.h"

#include <string.h>

#include "alloc.h"
#include "require.h"

#include "banned.h"

/* Tokens below 256 are that byte. From TOKEN_CLASS on it is the number of a class. */
enum {
    TOKEN_ANY = 256, /* one byte, not a slash */
    TOKEN_STAR,      /* any number of bytes, no slash */
    TOKEN_STARS,     /* any number of bytes */
    TOKEN_MAYBE,     /* the two tokens behind it, TOKEN_STARS and a slash, or nothing */
    TOKEN_CLASS
};

#define CLASS_WORDS  4
#define PLACES_WORDS (WEIR__PATTERN_MAX / 64 + 1)

_Static_assert(TOKEN_CLASS + WEIR__PATTERN_MAX <= UINT16_MAX, "a token is 16 bits");

struct compiler {
    const unsigned char *text;
    size_t length;
    size_t at;
    size_t first_wild; /* where the first byte stands that is not just itself */
    enum weir__dialect dialect;
    uint64_t (*classes)[CLASS_WORDS];
    uint16_t *tokens;
    struct weir__pattern *pattern;
};

/* Classes. */

static void class_add(uint64_t *class, unsigned first, unsigned last)
{
    for (unsigned byte = first; byte <= last; byte++)
        class[byte / 64] |= UINT64_C(1) << (byte % 64);
}

static const struct {
    const char *name;
    struct {
        unsigned char first, last;
    } ranges[4]; /* up to one that ends with 0 */
} named_classes[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {0, 0}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}, {0, 0}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}, {0, 0}}},
    {"cntrl", {{1, 31}, {127, 127}, {0, 0}}},
    {"digit", {{'0', '9'}, {0, 0}}},
    {"graph", {{'!', '~'}, {0, 0}}},
    {"lower", {{'a', 'z'}, {0, 0}}},
    {"print", {{' ', '~'}, {0, 0}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}, {0, 0}}},
    {"upper", {{'A', 'Z'}, {0, 0}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}, {0, 0}}},
};

/* git's own isspace() knows neither the vertical tab nor the form feed. */
static void class_add_git_space(uint64_t *class)
{
    class_add(class, '\t', '\n');
    class_add(class, '\r', '\r');
    class_add(class, ' ', ' ');
}

static bool class_add_named(uint64_t *class, enum weir__dialect dialect, const unsigned char *name,
                            size_t length)
{
    for (size_t i = 0; i < sizeof(named_classes) / sizeof(named_classes[0]); i++) {
        const char *known = named_classes[i].name;
        if (strlen(known) != length || memcmp(known, name, length) != 0)
            continue;
        if (dialect == WEIR__DIALECT_GIT && strcmp(known, "space") == 0) {
            class_add_git_space(class);
            return true;
        }
        for (int k = 0; k < 4 && named_classes[i].ranges[k].last > 0; k++)
            class_add(class, named_classes[i].ranges[k].first, named_classes[i].ranges[k].last);
        return true;
    }
    return false;
}

/* The byte at the place, or the one behind it if it is a backslash; -1 at the end of the text. The
 * place moves behind it. */
static int take_escaped(struct compiler *c)
{
    if (c->at < c->length && c->text[c->at] == '\\')
        c->at++;
    return c->at < c->length ? c->text[c->at++] : -1;
}

/* At "[:": 1 if it is a named class, which was added and lies behind us now; 0 if it is just a
 * bracket; -1 if nothing can be made of it. */
static int take_named(struct compiler *c, uint64_t *class)
{
    const unsigned char *name = c->text + c->at + 2;
    size_t left = c->length - c->at - 2;
    const unsigned char *end = memchr(name, ']', left);
    if (!end)
        return -1;
    if (end == name || end[-1] != ':')
        return 0;
    if (!class_add_named(class, c->dialect, name, (size_t)(end - name) - 1))
        return -1;
    c->at = (size_t)(end - c->text) + 1;
    return 1;
}

/* One member of a class. begin is the byte that a range could start with, or 0. False when the
 * class has no sense. */
static bool take_member(struct compiler *c, uint64_t *class, int *begin)
{
    size_t left = c->length - c->at;
    const unsigned char *p = c->text + c->at;
    if (p[0] == '-' && *begin && left > 1 && p[1] != ']') {
        c->at++;
        int end = take_escaped(c);
        if (end < 0)
            return false;
        class_add(class, (unsigned)*begin, (unsigned)end);
        *begin = 0;
        return true;
    }
    if (p[0] == '[' && left > 1 && p[1] == ':') {
        int named = take_named(c, class);
        if (named != 0) {
            *begin = 0;
            return named > 0;
        }
    }
    *begin = take_escaped(c);
    if (*begin < 0)
        return false;
    class_add(class, (unsigned)*begin, (unsigned)*begin);
    return true;
}

/* The place is behind the opening bracket. */
static bool take_class(struct compiler *c)
{
    uint64_t *class = c->classes[c->pattern->_classes_count];
    bool is_negated = c->at < c->length && (c->text[c->at] == '!' || c->text[c->at] == '^');
    int begin = 0;
    c->at += is_negated;
    do {
        if (c->at == c->length || !take_member(c, class, &begin) || c->at == c->length)
            return false;
    } while (c->text[c->at] != ']');
    c->at++;
    for (int i = 0; is_negated && i < CLASS_WORDS; i++)
        class[i] = ~class[i];
    class['/' / 64] &= ~(UINT64_C(1) << ('/' % 64));
    c->tokens[c->pattern->_tokens_count++] = (uint16_t)(TOKEN_CLASS + c->pattern->_classes_count++);
    return true;
}

/* Stars. */

/* Whether a run of stars of git is a whole part of the path. Git compares the bytes before the
 * first wildcard by themselves and forgets them, so that stars right behind them stand at a
 * beginning: "a**" and "/b" behind it match "ab" and "a/c/b". Its manual says otherwise, but what
 * is ignored is what git ignores. */
static bool is_whole_part(const struct compiler *c, size_t begin, size_t end)
{
    if (begin != c->first_wild && c->text[begin - 1] != '/')
        return false;
    size_t left = c->length - end;
    const unsigned char *p = c->text + end;
    return left == 0 || p[0] == '/' || (left > 1 && p[0] == '\\' && p[1] == '/');
}

static void take_stars(struct compiler *c)
{
    size_t begin = c->at;
    uint16_t *token = c->tokens + c->pattern->_tokens_count;
    while (c->at < c->length && c->text[c->at] == '*')
        c->at++;
    bool is_wide = c->at - begin > 1;
    if (is_wide && c->dialect == WEIR__DIALECT_GIT) {
        is_wide = is_whole_part(c, begin, c->at);
        if (is_wide && c->at < c->length && c->text[c->at] == '/')
            *token++ = TOKEN_MAYBE; /* its slash follows as a byte */
    }
    *token++ = is_wide ? TOKEN_STARS : TOKEN_STAR;
    c->pattern->_tokens_count = (uint32_t)(token - c->tokens);
}

/* The whole. */

/* False when the pattern can match nothing. */
static bool compile(struct compiler *c)
{
    while (c->at < c->length) {
        unsigned char byte = c->text[c->at];
        if (byte == '*') {
            take_stars(c);
        } else if (byte == '[') {
            c->at++;
            if (!take_class(c))
                return false;
        } else if (byte == '?') {
            c->at++;
            c->tokens[c->pattern->_tokens_count++] = TOKEN_ANY;
        } else {
            int taken = take_escaped(c);
            if (taken < 0)
                return false;
            c->tokens[c->pattern->_tokens_count++] = (uint16_t)taken;
        }
    }
    return true;
}

static bool has_wildcard(const char *text, size_t length)
{
    return memchr(text, '*', length) || memchr(text, '?', length) || memchr(text, '[', length);
}

static size_t first_wild_of(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && !strchr("*?[\\", text[at]))
        at++;
    return at;
}

/* No more classes than brackets, and no more tokens than bytes. */
int weir__pattern_init(struct weir__pattern *pattern, enum weir__dialect dialect, const char *text,
                       size_t length)
{
    size_t classes_max = 0;
    if (length > WEIR__PATTERN_MAX)
        return -WEIR_E_TOO_LARGE;
    for (size_t i = 0; i < length; i++)
        classes_max += text[i] == '[';
    size_t classes_size = classes_max * CLASS_WORDS * sizeof(uint64_t);
    char *memory = weir__base_alloc(1, classes_size + length * sizeof(uint16_t));
    if (!memory)
        return -WEIR_E_NO_MEMORY;
    *pattern = (struct weir__pattern){._memory = memory};
    struct compiler c = {
        .text = (const unsigned char *)text,
        .length = length,
        .first_wild = first_wild_of(text, length),
        .dialect = dialect,
        .classes = (uint64_t(*)[CLASS_WORDS])(void *)memory,
        .tokens = (uint16_t *)(void *)(memory + classes_size),
        .pattern = pattern,
    };
    if (dialect == WEIR__DIALECT_RSYNC && !has_wildcard(text, length)) {
        for (size_t i = 0; i < length; i++)
            c.tokens[i] = c.text[i];
        pattern->_tokens_count = (uint32_t)length;
        pattern->_is_literal = true;
        return 0;
    }
    pattern->_is_never = !compile(&c);
    /* What was reserved for brackets that began no class stays between the two. */
    pattern->_classes_count = (uint32_t)classes_max;
    pattern->_is_literal = !has_wildcard(text, length) && !pattern->_is_never;
    return 0;
}

void weir__pattern_fini(struct weir__pattern *pattern)
{
    if (!pattern)
        return;
    weir__base_free(pattern->_memory);
    *pattern = (struct weir__pattern){0};
}

size_t weir__pattern_bytes(const struct weir__pattern *pattern)
{
    const size_t kept_by_the_allocator = 16;
    return pattern->_classes_count * CLASS_WORDS * sizeof(uint64_t) +
           pattern->_tokens_count * sizeof(uint16_t) + kept_by_the_allocator;
}

/* Matching. */

struct matcher {
    const uint64_t (*classes)[CLASS_WORDS];
    const uint16_t *tokens;
    size_t count;
    size_t words; /* of a set of places */
};

/* Puts in a place and all places that are reached from it by matching nothing. One that is there
 * already has them with it: so no place is entered twice for one byte of the text. */
static void enter(const struct matcher *m, uint64_t *places, size_t at)
{
    for (;;) {
        uint64_t bit = UINT64_C(1) << (at % 64);
        if (places[at / 64] & bit)
            return;
        places[at / 64] |= bit;
        if (at == m->count)
            return;
        uint16_t token = m->tokens[at];
        if (token == TOKEN_MAYBE) {
            enter(m, places, at + 1); /* goes no deeper: stars and then a slash */
            at += 3;
        } else if (token == TOKEN_STAR || token == TOKEN_STARS) {
            at++;
        } else {
            return;
        }
    }
}

static void step_place(const struct matcher *m, uint64_t *next, size_t at, unsigned char byte)
{
    uint16_t token = m->tokens[at];
    if (token < TOKEN_ANY) {
        if (token == byte)
            enter(m, next, at + 1);
    } else if (token >= TOKEN_CLASS) {
        if (m->classes[token - TOKEN_CLASS][byte / 64] >> (byte % 64) & 1)
            enter(m, next, at + 1);
    } else if (token == TOKEN_STARS) {
        enter(m, next, at);
    } else if (byte != '/' && token != TOKEN_MAYBE) {
        enter(m, next, token == TOKEN_STAR ? at : at + 1);
    }
}

/* False when no place is left. */
static bool step(const struct matcher *m, uint64_t **places, uint64_t **spare, unsigned char byte)
{
    uint64_t *now = *places, *next = *spare, left = 0;
    memset(next, 0, m->words * sizeof(*next));
    for (size_t word = 0; word < m->words; word++) {
        for (uint64_t bits = now[word]; bits; bits &= bits - 1) {
            size_t at = word * 64 + (size_t)__builtin_ctzll(bits);
            if (at < m->count)
                step_place(m, next, at, byte);
        }
    }
    for (size_t word = 0; word < m->words; word++)
        left |= next[word];
    *places = next;
    *spare = now;
    return left != 0;
}

static bool match_literal(const struct matcher *m, const char *text, size_t length)
{
    if (length != m->count)
        return false;
    for (size_t i = 0; i < length; i++)
        if (m->tokens[i] != (unsigned char)text[i])
            return false;
    return true;
}

/* Most names fail by their last byte ("*.o"), which costs nothing to look at. A slash says nothing:
 * it may be the end of something optional. */
static bool may_end_so(const struct matcher *m, unsigned how, const char *text, size_t length)
{
    uint16_t last = m->count > 0 ? m->tokens[m->count - 1] : '/';
    if (last >= TOKEN_ANY || last == '/')
        return true;
    if (how & WEIR__PATTERN_SLASH_BEHIND)
        return false;
    return length > 0 && last == (unsigned char)text[length - 1];
}

static bool match_wild(const struct matcher *m, unsigned how, const char *text, size_t length)
{
    uint64_t sets[2][PLACES_WORDS];
    uint64_t *places = sets[0], *spare = sets[1];
    bool floats = how & WEIR__PATTERN_FLOATING;
    memset(places, 0, m->words * sizeof(*places));
    enter(m, places, 0);
    if (how & WEIR__PATTERN_SLASH_BEFORE) {
        step(m, &places, &spare, '/');
        if (floats)
            enter(m, places, 0);
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (!step(m, &places, &spare, byte) && !floats)
            return false;
        if (floats && byte == '/')
            enter(m, places, 0);
    }
    if (how & WEIR__PATTERN_SLASH_BEHIND) {
        step(m, &places, &spare, '/');
        if (floats)
            enter(m, places, 0);
    }
    return places[m->count / 64] >> (m->count % 64) & 1;
}

bool weir__pattern_match(const struct weir__pattern *pattern, unsigned how, const char *text,
                         size_t length)
{
    WEIR__REQUIRE(pattern->_memory, "pattern", "", "not made");
    if (pattern->_is_never)
        return false;
    const char *memory = pattern->_memory;
    size_t classes_size = pattern->_classes_count * CLASS_WORDS * sizeof(uint64_t);
    struct matcher m = {
        .classes = (const uint64_t(*)[CLASS_WORDS])(const void *)memory,
        .tokens = (const uint16_t *)(const void *)(memory + classes_size),
        .count = pattern->_tokens_count,
        .words = pattern->_tokens_count / 64 + 1,
    };
    if (pattern->_is_literal && how == WEIR__PATTERN_WHOLE)
        return match_literal(&m, text, length);
    return may_end_so(&m, how, text, length) && match_wild(&m, how, text, length);
}
