/* known.c - open addressing over digests, and the lines of ignore files. */
#include "known.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"

#include "banned.h"

#define CAPACITY_FIRST  64u
#define LINE_LENGTH_MAX 8192u
/* Digits of a commit that is written short. */
#define SHORT_MIN    7u
#define SHORT_END    64u
#define HEX_DIGITS   32u
#define SHORT_LENGTH 256u /* bytes of a digest's input that are put together first */
#define HEAD         "weir scan 1\n"

void weir__digest_begin(struct weir__hash *hash, char kind)
{
    weir__hash_init(hash);
    weir__hash_update(hash, HEAD, strlen(HEAD));
    weir__hash_update(hash, &kind, 1);
}

static void put_length(unsigned char prefix[8], size_t length)
{
    for (size_t i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)length >> (8 * i));
}

void weir__digest_field(struct weir__hash *hash, const void *bytes, size_t length)
{
    unsigned char prefix[8];
    put_length(prefix, length);
    weir__hash_update(hash, prefix, sizeof(prefix));
    weir__hash_update(hash, bytes, length);
}

void weir__digest_end(const struct weir__hash *hash, struct weir__digest *ret_digest)
{
    unsigned char whole[WEIR__HASH_SIZE];
    weir__hash_final(hash, whole);
    memcpy(ret_digest->bytes, whole, sizeof(ret_digest->bytes));
}

void weir__digest_parts(char kind, const struct weir__known_part *parts, size_t count,
                        struct weir__digest *ret_digest)
{
    struct weir__hash hash;
    unsigned char text[SHORT_LENGTH];
    size_t at = strlen(HEAD);
    memcpy(text, HEAD, at);
    text[at++] = (unsigned char)kind;
    size_t i = 0;
    for (; i < count && sizeof(text) - at >= 8 && parts[i].length <= sizeof(text) - at - 8; i++) {
        put_length(text + at, parts[i].length);
        if (parts[i].length > 0)
            memcpy(text + at + 8, parts[i].text, parts[i].length);
        at += 8 + parts[i].length;
    }
    weir__hash_init(&hash);
    weir__hash_update(&hash, text, at);
    for (; i < count; i++)
        weir__digest_field(&hash, parts[i].text, parts[i].length);
    weir__digest_end(&hash, ret_digest);
}

const char *weir__path_plain(const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2;
        while (*path == '/')
            path++;
    }
    return path;
}

size_t weir__path_lasting(const char *path)
{
    static const char *const kinds[] = {"commit:", "blob:", "commit-header:", "tag-header:"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        size_t kind = strlen(kinds[i]);
        if (strncmp(name, kinds[i], kind) != 0)
            continue;
        size_t digits = strspn(name + kind, "0123456789abcdef");
        if ((digits == 40 || digits == 64) && name[kind + digits] == '\0')
            return (size_t)(name - path) + kind;
    }
    return strlen(path);
}

void weir__known_fini(struct weir__known *known)
{
    if (!known)
        return;
    weir__base_free(known->_slots);
    weir__masks_fini(&known->masks);
    *known = (struct weir__known){0};
}

uint64_t weir__known_bytes(const struct weir__known *known)
{
    return (uint64_t)known->_capacity * sizeof(*known->_slots) + known->masks._bytes;
}

static bool is_empty(const struct weir__digest *digest)
{
    static const struct weir__digest nothing;
    return memcmp(digest, &nothing, sizeof(nothing)) == 0;
}

/* Where the digest is or would be. */
static size_t slot_of(const struct weir__digest *slots, size_t capacity,
                      const struct weir__digest *digest)
{
    uint64_t start;
    memcpy(&start, digest->bytes, sizeof(start));
    size_t at = (size_t)start & (capacity - 1);
    while (!is_empty(&slots[at]) && memcmp(&slots[at], digest, sizeof(*digest)) != 0)
        at = (at + 1) & (capacity - 1);
    return at;
}

static int make_room(struct weir__known *known)
{
    if (known->_count == WEIR__KNOWN_MAX)
        return -WEIR_E_TOO_LARGE;
    if (known->_count < known->_capacity / 2)
        return 0;
    size_t capacity = known->_capacity ? known->_capacity * 2 : CAPACITY_FIRST;
    struct weir__digest *slots = weir__base_alloc(capacity, sizeof(*slots));
    if (!slots)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < known->_capacity; i++)
        if (!is_empty(&known->_slots[i]))
            slots[slot_of(slots, capacity, &known->_slots[i])] = known->_slots[i];
    weir__base_free(known->_slots);
    known->_slots = slots;
    known->_capacity = capacity;
    return 0;
}

static void digest_of(enum weir__known_kind kind, const struct weir__known_part *parts,
                      size_t count, struct weir__digest *ret_digest)
{
    weir__digest_parts((char)('0' + kind), parts, count, ret_digest);
}

int weir__known_add(struct weir__known *known, enum weir__known_kind kind,
                    const struct weir__known_part *parts, size_t count)
{
    struct weir__digest digest;
    digest_of(kind, parts, count, &digest);
    int error = make_room(known);
    if (error != 0)
        return error;
    size_t at = slot_of(known->_slots, known->_capacity, &digest);
    if (is_empty(&known->_slots[at]))
        known->_count++;
    known->_slots[at] = digest;
    known->_kinds |= 1u << kind;
    return 0;
}

static bool has(const struct weir__known *known, const struct weir__digest *digest)
{
    return !is_empty(&known->_slots[slot_of(known->_slots, known->_capacity, digest)]);
}

bool weir__known_has(const struct weir__known *known, enum weir__known_kind kind,
                     const struct weir__known_part *parts, size_t count)
{
    struct weir__digest digest;
    if (!(known->_kinds & 1u << kind))
        return false;
    digest_of(kind, parts, count, &digest);
    return has(known, &digest);
}

/* With the first so many digits of the commit; 0: without it. */
static bool has_line_name(const struct weir__known *known, const char *commit, size_t commit_length,
                          const char *path, const char *rule, uint64_t line)
{
    char digits[24];
    size_t digits_length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, line);
    const struct weir__known_part pieces[] = {
        {commit, commit_length}, {":", commit_length > 0},
        {path, strlen(path)},    {":", 1},
        {rule, strlen(rule)},    {":", 1},
        {digits, digits_length},
    };
    const size_t count = sizeof(pieces) / sizeof(pieces[0]);
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += pieces[i].length;
    /* The digest of one field, fed in pieces. */
    struct weir__hash hash;
    struct weir__digest digest;
    unsigned char prefix[8];
    weir__digest_begin(&hash, '0' + WEIR__KNOWN_LINE_NAME);
    put_length(prefix, length);
    weir__hash_update(&hash, prefix, sizeof(prefix));
    for (size_t i = 0; i < count; i++)
        weir__hash_update(&hash, pieces[i].text, pieces[i].length);
    weir__digest_end(&hash, &digest);
    return has(known, &digest);
}

bool weir__known_has_line_name(const struct weir__known *known, const char *commit,
                               const char *path, const char *rule, uint64_t line)
{
    size_t length = commit ? strlen(commit) : 0;
    if (!(known->_kinds & 1u << WEIR__KNOWN_LINE_NAME))
        return false;
    bool is_known = has_line_name(known, commit ? commit : "", length, path, rule, line);
    for (size_t i = SHORT_MIN; i < length && i < SHORT_END && !is_known; i++)
        is_known =
            known->_short_commits >> i & 1 && has_line_name(known, commit, i, path, rule, line);
    return is_known;
}

/* Ignore files. */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_fingerprint(const char *text, size_t length)
{
    if (length != HEX_DIGITS)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_hex(text[i]))
            return false;
    return true;
}

/* "path:rule:line", with or without a commit; none of the parts is empty. */
static bool is_line_name(const char *text, size_t length)
{
    size_t at = length, colons = 0;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at == length || at == 0 || text[at - 1] != ':')
        return false;
    for (size_t i = 1; i + 1 < at - 1; i++)
        colons += text[i] == ':' && text[i + 1] != ':';
    return colons > 0;
}

/* Commits may be written short, as git writes them. */
static void note_short(struct weir__known *known, const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && is_hex(text[digits]))
        digits++;
    if (digits >= SHORT_MIN && digits < SHORT_END && digits < length && text[digits] == ':')
        known->_short_commits |= UINT64_C(1) << digits;
}

static int add_name(struct weir__known *known, const char *text, size_t length)
{
    if (is_fingerprint(text, length)) {
        const struct weir__known_part part = {text, length};
        return weir__known_add(known, WEIR__KNOWN_FINGERPRINT, &part, 1);
    }
    if (!is_line_name(text, length))
        return -WEIR_E_INVALID;
    while (length > 2 && text[0] == '.' && text[1] == '/') {
        text += 2;
        length -= 2;
    }
    note_short(known, text, length);
    const struct weir__known_part part = {text, length};
    int error = weir__mask_is_one(text, length) ? weir__masks_add(&known->masks, text, length) : 0;
    return error ? error : weir__known_add(known, WEIR__KNOWN_LINE_NAME, &part, 1);
}

/* As gitleaks has it, '\\' in a path is the '/' of another system; here it may also be what it is.
 */
static int add_written(struct weir__known *known, const char *text, size_t length)
{
    char slashed[LINE_LENGTH_MAX];
    int error = add_name(known, text, length);
    if (error || is_fingerprint(text, length) || !memchr(text, '\\', length))
        return error;
    for (size_t i = 0; i < length; i++)
        slashed[i] = text[i] == '\\' ? '/' : text[i];
    return add_name(known, slashed, length);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t trimmed(const char *text, size_t length)
{
    while (length > 0 && is_space(text[length - 1]))
        length--;
    return length;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that an escape stands for, and how many bytes it has; 0: it is none. */
static size_t read_escape(const char *text, size_t length, char *ret_byte)
{
    static const char letters[] = "\\\"nrt", bytes[] = "\\\"\n\r\t";
    const char *letter = length > 1 && text[1] ? strchr(letters, text[1]) : NULL;
    if (letter) {
        *ret_byte = bytes[letter - letters];
        return 2;
    }
    int high = length > 3 && text[1] == 'x' ? hex_value(text[2]) : -1;
    int low = high >= 0 ? hex_value(text[3]) : -1;
    *ret_byte = (char)(high * 16 + low);
    return low >= 0 ? 4 : 0;
}

/* A whole name in quotation marks, with nothing but a comment behind it: the length of what they
 * hold. 0: the line is something else. */
static size_t unquote(const char *text, size_t length, char name[LINE_LENGTH_MAX])
{
    size_t at = 1, count = 0;
    while (at < length && text[at] != '"') {
        size_t size = text[at] == '\\' ? read_escape(text + at, length - at, &name[count]) : 1;
        if (size == 0)
            return 0;
        if (size == 1)
            name[count] = text[at];
        at += size;
        count++;
    }
    if (at >= length)
        return 0;
    size_t behind = at + 1;
    while (behind < length && is_space(text[behind]))
        behind++;
    bool is_whole = behind == length || (text[behind] == '#' && behind > at + 1);
    return is_whole ? count : 0;
}

/* A path may have " #" in it: a comment begins at the first one before which stands a whole name. A
 * name in quotation marks says where it ends. */
static int add_line(struct weir__known *known, const char *text, size_t length)
{
    char name[LINE_LENGTH_MAX];
    while (length > 0 && is_space(text[0])) {
        text++;
        length--;
    }
    length = trimmed(text, length);
    if (length == 0 || text[0] == '#')
        return 0;
    if (length > LINE_LENGTH_MAX)
        return -WEIR_E_INVALID;
    size_t quoted = text[0] == '"' ? unquote(text, length, name) : 0;
    if (quoted > 0)
        return add_name(known, name, quoted);
    int error = -WEIR_E_INVALID;
    for (size_t i = 1; i < length && error == -WEIR_E_INVALID; i++)
        if (text[i] == '#' && is_space(text[i - 1]))
            error = add_written(known, text, trimmed(text, i));
    return error == -WEIR_E_INVALID ? add_written(known, text, length) : error;
}

int weir__known_read(struct weir__known *known, const char *text, size_t length, unsigned *ret_line)
{
    unsigned number = 0, bad = 0;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t line_length = end ? (size_t)(end - text) : length;
        int error = add_line(known, text, line_length);
        number++;
        if (error == -WEIR_E_INVALID && bad == 0)
            bad = number;
        else if (error != 0 && error != -WEIR_E_INVALID)
            return error;
        size_t step = line_length + (end ? 1 : 0);
        text += step;
        length -= step;
    }
    if (bad == 0)
        return 0;
    *ret_line = bad;
    return -WEIR_E_INVALID;
}
