/* binding_words.c - lists of words, and of names that are no secret's. */
#include "binding_words.h"

#include <string.h>
#include <strings.h>

#include "binding.h"

#include "banned.h"

#define LENGTH_OF(list) (sizeof(list) / sizeof((list)[0]))
#define NAME_MAX_BYTES  64u

static bool is_any(const char *text, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && strncasecmp(text, list[i], length) == 0)
            return true;
    return false;
}

static bool begins_with_any(const char *text, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) <= length && strncasecmp(text, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

bool weir__binding_is_stand_in(const char *text, size_t length)
{
    static const char *const words[] = {"null",    "nil", "none", "undefined", "nullptr",
                                        "nothing", "~",   "true", "false",     "changeme",
                                        "todo",    "tbd", "n/a",  "unset",     "empty"};
    static const char *const beginnings[] = {
        "your-",   "your_",   "yourtoken", "yourkey",  "xxxx",    "****",    "...",
        "change-", "change_", "replace-",  "replace_", "insert-", "insert_", "<"};
    return is_any(text, length, words, LENGTH_OF(words)) ||
           begins_with_any(text, length, beginnings, LENGTH_OF(beginnings));
}

bool weir__binding_is_root(const char *text, size_t length)
{
    static const char *const roots[] = {"process",  "secrets", "var",    "local",  "env",
                                        "environ",  "os",      "vars",   "import", "config",
                                        "settings", "data",    "module", "self",   "this",
                                        "params",   "args",    "inputs", "steps",  "values"};
    return is_any(text, length, roots, LENGTH_OF(roots));
}

bool weir__binding_is_opening(const char *text, size_t length)
{
    static const char *const words[] = {"match", "switch", "when",     "if",   "unless", "case",
                                        "async", "await",  "function", "func", "fn",     "fun",
                                        "new",   "lambda", "cond",     "try",  "do",     "begin"};
    return is_any(text, length, words, LENGTH_OF(words));
}

bool weir__binding_is_namer(const char *text, size_t length)
{
    static const char *const fields[] = {"name", "key", "parameterkey", "variable", "env_name"};
    return is_any(text, length, fields, LENGTH_OF(fields));
}

bool weir__binding_is_value(const char *text, size_t length)
{
    static const char *const beginnings[] = {"val",   "default", "parametervalue", "content",
                                             "plain", "string",  "text",           "data"};
    return begins_with_any(text, length, beginnings, LENGTH_OF(beginnings));
}

bool weir__binding_is_child(const char *text, size_t length)
{
    static const char *const elements[] = {"value", "val", "constructor-arg", "param-value"};
    return is_any(text, length, elements, LENGTH_OF(elements));
}

bool weir__binding_is_source(const char *text, size_t length)
{
    static const char *const beginnings[] = {"valueFrom",       "value_from",    "secretKeyRef",
                                             "configMapKeyRef", "fromSecret",    "from_secret",
                                             "secretRef",       "existingSecret"};
    return begins_with_any(text, length, beginnings, LENGTH_OF(beginnings));
}

bool weir__binding_is_kind(const char *text, size_t length)
{
    static const char *const kinds[] = {"key", "token", "secret", "passw", "pwd", "apikey"};
    for (; length >= 3; text++, length--)
        if (begins_with_any(text, length, kinds, LENGTH_OF(kinds)))
            return true;
    return false;
}

bool weir__binding_is_plain(const char *text, size_t length)
{
    static const char *const beginnings[] = {"val",    "default", "data", "plain", "text",
                                             "string", "prod",    "live", "dev",   "stag",
                                             "test",   "pass",    "api",  "auth",  "id"};
    return begins_with_any(text, length, beginnings, LENGTH_OF(beginnings)) ||
           weir__binding_is_kind(text, length);
}

/* The word before a name. */
static size_t word_before(const char *first, const char *name, const char **ret_word)
{
    const char *from = name;
    while (from > first &&
           (from[-1] == ' ' || from[-1] == '\t' || from[-1] == '"' || from[-1] == '\''))
        from--;
    const char *until = from;
    while (from > first && from[-1] != ' ' && from[-1] != '\t' && from[-1] != '\n' &&
           from[-1] != '\r')
        from--;
    *ret_word = from;
    return (size_t)(until - from);
}

bool weir__binding_is_defined(const char *first, const char *name)
{
    static const char *const words[] = {"#define", "define"};
    const char *word;
    size_t length = word_before(first, name, &word);
    return is_any(word, length, words, LENGTH_OF(words));
}

bool weir__binding_is_declared(const char *first, const char *name)
{
    static const char *const words[] = {"arg", "export", "env",         "readonly", "unset",  "-",
                                        "-e",  "--env",  "--build-arg", "local",    "declare"};
    const char *word;
    size_t length = word_before(first, name, &word);
    return is_any(word, length, words, LENGTH_OF(words)) || weir__binding_is_defined(first, name);
}

/* --- names of what may be seen --- */

#define PUBLIC_WORDS 3u /* of the list: the first */
#define JOINED_MIN   6u /* letters of a word that may have others before it: rsapublickey */
#define SECRET_MIN   24u
#define UUID_BYTES   36u
#define DIGEST_MAX   40u
#define HEX_WORDS    8u /* of the doubtful ones: the first */

/* What stands before the kind in the name of a key that is none: it is public, or finds something
 * in a table. */
static const char *const open_words[] = {
    "public",    "pub",    "publishable", "site",        "cache",  "websocket",   "host",
    "partition", "object", "pinned",      "idempotency", "rowid",  "translation", "i18n",
    "trusted",   "dedupe", "dedup",       "bib",         "bibtex", "cite",        "citation"};

/* The same, but secrets are called so as well: the value decides. Of the first ones digits to F are
 * a secret, too, as of anything else that is called a key. */
static const char *const doubtful_words[] = {
    "primary",   "message", "group", "hash",   "node",    "registry", "project",
    "signature", "foreign", "sort",  "lookup", "row",     "col",      "uniq",
    "column",    "unique",  "index", "locale", "issue",   "digest",   "etag",
    "checksum",  "commit",  "md5",   "sha1",   "revision"};

/* The same of tokens: where a list goes on, or which request it was. */
static const char *const passing_words[] = {
    "next",         "page",    "nextpage", "paging", "pagination", "continuation", "cursor",
    "starting",     "sync",    "lock",     "change", "cancel",     "sequence",     "dkim",
    "cancellation", "forward", "dedupe",   "dedup",  "backward",   "marker",       "idempotency"};

/* Secrets are called so as well. */
static const char *const request_words[] = {"client", "request", "clientrequest"};

static char fold(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

static bool is_word_byte(char byte)
{
    byte = fold(byte);
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

static bool is_joint(char byte)
{
    return byte == '_' || byte == '.' || byte == '-';
}

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

/* Takes the last word off a name: SITE_KEY, siteKey, site.key. */
static size_t take_word(const char *from, const char **until)
{
    const char *at = *until;
    while (at > from && !is_word_byte(at[-1]))
        at--;
    const char *end = at;
    while (at > from && is_word_byte(at[-1]) && !(at < end && is_upper(*at) && !is_upper(at[-1])))
        at--;
    *until = at;
    return (size_t)(end - at);
}

enum { KIND_KEY, KIND_TOKEN, KIND_NONE };

/* "sitekey": what is left of a word without the kind at its end. */
static size_t without_kind(const char *word, size_t length, size_t *kind)
{
    static const char *const kinds[] = {[KIND_KEY] = "key", [KIND_TOKEN] = "token"};
    for (size_t i = 0; i < LENGTH_OF(kinds); i++) {
        size_t size = strlen(kinds[i]);
        size_t plural = length > size && fold(word[length - 1]) == 's';
        if (length >= size + plural &&
            strncasecmp(word + length - plural - size, kinds[i], size) == 0) {
            *kind = i;
            return length - plural - size;
        }
    }
    return length;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* A number of a thing, the digest of one, or words: what is found in tables. Keys are often as long
 * as an MD5: is_digest says whether that is what it is then. */
static bool is_of_table(const char *value, size_t length, bool is_digest)
{
    size_t digits = 0, hex = 0, dashes = 0;
    for (size_t i = 0; i < length; i++) {
        digits += is_digit(value[i]);
        hex += is_digit(value[i]) || (fold(value[i]) >= 'a' && fold(value[i]) <= 'f');
        dashes += value[i] == '-';
    }
    if (length < SECRET_MIN || digits == 0)
        return true;
    if (length == UUID_BYTES && dashes == 4 && hex + dashes == length)
        return true;
    return is_digest && hex == length && length <= DIGEST_MAX;
}

/* A word of a key that is none, or with other words before it and no mark between. A token is
 * public or secret, and finds nothing in a table; but it may be one of a list or a request, which
 * only a whole word says: exchange is none. */
static bool is_open(const char *word, size_t length, size_t kind)
{
    if (kind == KIND_TOKEN && is_any(word, length, passing_words, LENGTH_OF(passing_words)))
        return true;
    size_t count = kind == KIND_KEY ? LENGTH_OF(open_words) : kind == KIND_TOKEN ? PUBLIC_WORDS : 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(open_words[i]);
        if (size <= length && (size == length || size >= JOINED_MIN) &&
            strncasecmp(word + length - size, open_words[i], size) == 0)
            return !(length == size + 2 && strncasecmp(word, "re", 2) == 0); /* republic */
    }
    return false;
}

/* EXT-X-KEY of a list to play, which says where the key is. */
static bool is_playlist(const char *from, const char *word, size_t length)
{
    if (length != 1 || fold(*word) != 'x')
        return false;
    size_t size = take_word(from, &word);
    return size == 3 && strncasecmp(word, "ext", size) == 0;
}

bool weir__binding_is_public(const char *text, size_t mark, size_t end, size_t value,
                             size_t value_end)
{
    const char *from = text + mark, *until = from;
    const char *first = mark > NAME_MAX_BYTES ? from - NAME_MAX_BYTES : text;
    while (from > first && (is_word_byte(from[-1]) || is_joint(from[-1])))
        from--;
    while (until < text + end && (is_word_byte(*until) || is_joint(*until)))
        until++;
    /* Words from the last one back, as long as they say no more than the kind. */
    for (size_t kind = KIND_NONE;;) {
        size_t size = take_word(from, &until);
        size_t stem = without_kind(until, size, &kind);
        if (size == 0)
            return false;
        if (stem == 0)
            continue;
        const char *joined = until; /* rowID, webSocket */
        size_t more = take_word(from, &joined);
        bool is_joined = joined + more == until;
        if (is_open(until, stem, kind) || (is_joined && is_open(joined, more + stem, kind)) ||
            is_playlist(from, until, stem))
            return true;
        if (kind == KIND_TOKEN)
            return is_any(until, stem, request_words, LENGTH_OF(request_words)) &&
                   is_of_table(text + value, value_end - value, true);
        return kind == KIND_KEY && is_any(until, stem, doubtful_words, LENGTH_OF(doubtful_words)) &&
               is_of_table(text + value, value_end - value,
                           !is_any(until, stem, doubtful_words, HEX_WORDS));
    }
}
