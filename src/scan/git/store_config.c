/* store_config.c - the few lines of a repository's config that say how to read its objects.
 *
 * Only that file, as git itself does for these: nothing that it includes, nothing of the user's.
 * Extensions count with version 1 of the repository's format; with version 0, git knows three and
 * refuses those that belong to version 1. What is not known is refused: it may change what the
 * objects mean. Where the file may not be read, which git refuses, the names of packs and loose
 * objects say enough to scan them, and that it was so is told.
 */
#include "store_part.h"

#include <fcntl.h>
#include <stdio.h>
#include <strings.h>

#include "sys.h"
#include "text.h"

#include "banned.h"

#define WORD_SIZE 256u

struct reader {
    const char *at;
    const char *end;
    char section[WORD_SIZE]; /* in lower case, without what stands in quotes */
    char key[WORD_SIZE];     /* in lower case */
    char value[WORD_SIZE];   /* cut when longer */
};

struct found {
    char version[WORD_SIZE];
    char format[WORD_SIZE];
    char refs[WORD_SIZE];
    char unknown[WORD_SIZE]; /* the first extension that is not known */
    char only_v1[WORD_SIZE]; /* the first that belongs to version 1 */
    bool is_partial;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static void put(char word[WORD_SIZE], size_t *length, char c)
{
    if (*length + 1 < WORD_SIZE)
        word[(*length)++] = c;
    word[*length] = '\0';
}

static void read_section(struct reader *reader)
{
    size_t length = 0;
    reader->section[0] = '\0';
    while (reader->at < reader->end && is_word(lower(*reader->at)))
        put(reader->section, &length, lower(*reader->at++));
    bool is_quoted = false;
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        if (*reader->at == '"')
            is_quoted = !is_quoted;
        else if (*reader->at == '\\' && reader->end - reader->at > 1)
            reader->at++;
        else if (*reader->at == ']' && !is_quoted) {
            reader->at++;
            return;
        }
    }
}

/* Up to the end of the line, over lines that end with a backslash. */
static void read_value(struct reader *reader)
{
    size_t length = 0, solid = 0;
    bool is_quoted = false, is_comment = false;
    reader->value[0] = '\0';
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (c == '\n')
            break;
        if (is_comment)
            continue;
        if (c == '\\' && reader->end - reader->at > 1) {
            c = *++reader->at;
            if (c == '\n')
                continue;
            put(reader->value, &length, c == 'n' ? '\n' : c == 't' ? '\t' : c);
            solid = length;
        } else if (c == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted && (c == '#' || c == ';')) {
            is_comment = true;
        } else if (length > 0 || is_quoted || !is_blank(c)) {
            put(reader->value, &length, c);
            if (is_quoted || !is_blank(c))
                solid = length;
        }
    }
    reader->value[solid] = '\0';
}

/* False at the end. */
static bool read_line(struct reader *reader)
{
    while (reader->at < reader->end) {
        char c = *reader->at;
        if (is_blank(c) || c == '\n') {
            reader->at++;
        } else if (c == '[') {
            reader->at++;
            read_section(reader);
        } else if (c == '#' || c == ';' || !is_word(lower(c))) {
            while (reader->at < reader->end && *reader->at != '\n')
                reader->at++;
        } else {
            size_t length = 0;
            while (reader->at < reader->end && is_word(lower(*reader->at)))
                put(reader->key, &length, lower(*reader->at++));
            while (reader->at < reader->end && is_blank(*reader->at))
                reader->at++;
            bool has_value = reader->at < reader->end && *reader->at == '=';
            reader->at += has_value ? 1 : 0;
            read_value(reader);
            if (!has_value)
                memcpy(reader->value, "true", sizeof("true"));
            return true;
        }
    }
    return false;
}

static void take_extension(struct found *found, const struct reader *reader)
{
    static const char *const either[] = {"noop", "preciousobjects", "worktreeconfig"};
    static const char *const v1[] = {"noop-v1", "compatobjectformat", "relativeworktrees"};
    const char *key = reader->key;
    for (size_t i = 0; i < sizeof(either) / sizeof(either[0]); i++)
        if (strcmp(key, either[i]) == 0)
            return;
    if (strcmp(key, "partialclone") == 0) {
        found->is_partial = true;
        return;
    }
    bool is_known = true;
    if (strcmp(key, "objectformat") == 0)
        memcpy(found->format, reader->value, WORD_SIZE);
    else if (strcmp(key, "refstorage") == 0)
        memcpy(found->refs, reader->value, WORD_SIZE);
    else
        is_known = strcmp(key, v1[0]) == 0 || strcmp(key, v1[1]) == 0 || strcmp(key, v1[2]) == 0;
    char *first = is_known ? found->only_v1 : found->unknown;
    if (!first[0])
        memcpy(first, key, WORD_SIZE);
}

static void take(struct found *found, const struct reader *reader)
{
    if (strcmp(reader->section, "core") == 0) {
        if (strcmp(reader->key, "repositoryformatversion") == 0)
            memcpy(found->version, reader->value, WORD_SIZE);
    } else if (strcmp(reader->section, "extensions") == 0) {
        take_extension(found, reader);
    } else if (strcmp(reader->section, "remote") == 0) {
        bool is_true = strcasecmp(reader->value, "true") == 0 ||
                       strcasecmp(reader->value, "yes") == 0 ||
                       strcasecmp(reader->value, "on") == 0 || strcmp(reader->value, "1") == 0;
        if (strcmp(reader->key, "promisor") == 0 && is_true)
            found->is_partial = true;
    }
}

static int judge(struct weir__git_store *store, const struct found *found)
{
    const char *path = WEIR__CLIPPED(store->commondir);
    bool is_v1 = strcmp(found->version, "1") == 0;
    if (found->version[0] && !is_v1 && strcmp(found->version, "0") != 0)
        return weir__git_store_fail(
            store, WEIR_E_UNSUPPORTED,
            "'%s/config': repository format version '%s' is not known; versions 0 and 1 are", path,
            WEIR__CLIPPED(found->version));
    if (strcasecmp(found->refs, "reftable") == 0)
        return weir__git_store_fail(
            store, WEIR_E_UNSUPPORTED,
            "'%s/config': refs in reftables cannot be read; 'git refs migrate --ref-format=files' "
            "makes files of them",
            path);
    if (is_v1 && found->unknown[0])
        return weir__git_store_fail(store, WEIR_E_UNSUPPORTED,
                                    "'%s/config': extension '%s' is not known", path,
                                    WEIR__CLIPPED(found->unknown));
    if (!is_v1 && found->only_v1[0])
        return weir__git_store_fail(
            store, WEIR_E_UNSUPPORTED,
            "'%s/config': extension '%s' needs repository format version 1, and it has version 0",
            path, WEIR__CLIPPED(found->only_v1));
    if (found->refs[0] && strcasecmp(found->refs, "files") != 0)
        return weir__git_store_fail(store, WEIR_E_UNSUPPORTED,
                                    "'%s/config': refs stored as '%s' cannot be read", path,
                                    WEIR__CLIPPED(found->refs));
    store->id_size =
        strcasecmp(found->format, "sha256") == 0 ? WEIR__GIT_SHA256_SIZE : WEIR__GIT_SHA1_SIZE;
    if (found->format[0] && store->id_size == WEIR__GIT_SHA1_SIZE &&
        strcasecmp(found->format, "sha1") != 0)
        return weir__git_store_fail(
            store, WEIR_E_UNSUPPORTED,
            "'%s/config': object format '%s' is not known; sha1 and sha256 are", path,
            WEIR__CLIPPED(found->format));
    store->is_partial = found->is_partial;
    return 0;
}

/* --- without it --- */

struct guess {
    bool has_promisor;
    bool is_sha256;
};

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

static int guess_by_pack(void *arg, const char *name)
{
    struct guess *guess = arg;
    size_t length = strlen(name), prefix = sizeof("pack-") - 1, tail = sizeof(".promisor") - 1;
    if (strncmp(name, "pack-", prefix) != 0)
        return 0;
    guess->is_sha256 |= digits_of(name + prefix) == 2 * (size_t)WEIR__GIT_SHA256_SIZE;
    guess->has_promisor |= length > tail && strcmp(name + length - tail, ".promisor") == 0;
    return 0;
}

static int guess_by_loose(void *arg, const char *name)
{
    struct guess *guess = arg;
    guess->is_sha256 |= digits_of(name) == 2 * (size_t)WEIR__GIT_SHA256_SIZE - 2;
    return guess->is_sha256;
}

/* The names of packs and loose objects say how long ids are. */
static void guess_format(int dir, struct found *found)
{
    struct guess guess = {.is_sha256 = false};
    struct stat st;
    char fan[sizeof("objects/00")];
    (void)!weir__git_list_folder(dir, "objects/pack", guess_by_pack, &guess);
    for (unsigned i = 0; i < 256 && !guess.is_sha256; i++) {
        snprintf(fan, sizeof(fan), "objects/%02x", i);
        (void)!weir__git_list_folder(dir, fan, guess_by_loose, &guess);
    }
    memcpy(found->version, "1", sizeof("1"));
    if (guess.is_sha256)
        memcpy(found->format, "sha256", sizeof("sha256"));
    if (weir__sys_fstatat(dir, "reftable", &st, 0) == 0)
        memcpy(found->refs, "reftable", sizeof("reftable"));
    found->is_partial = guess.has_promisor;
}

int weir__git_store_config(struct weir__git_store *store)
{
    struct weir__buffer text;
    struct found found = {.is_partial = false};
    char path[WEIR__GIT_FLAW_PATH];
    int dir = weir__sys_openat(AT_FDCWD, store->commondir, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return weir__git_store_fail(store, -weir_error_from_errno(errno), "cannot open '%s': %s",
                                    WEIR__CLIPPED(store->commondir),
                                    weir_error_text(weir_error_from_errno(errno)));
    int result = weir__git_read_file(dir, "config", &text);
    if (result == -WEIR_E_NOT_FOUND)
        result = 0; /* as git has it: version 0, and no extension */
    /* What may not be read is a flaw: the objects are there, and say themselves how they are named.
     */
    if (result == -WEIR_E_DENIED) {
        guess_format(dir, &found);
        result = weir__git_store_add_flaw(
            store, "what it says of its format is not known: cannot read '%s/config': %s",
            weir__text_clip(path, sizeof(path), store->commondir, SIZE_MAX),
            weir_error_text(-WEIR_E_DENIED));
    }
    if (result < 0)
        result = weir__git_store_fail(store, -result, "cannot read '%s/config': %s",
                                      WEIR__CLIPPED(store->commondir), weir_error_text(result));
    struct reader reader = {.at = weir__buffer_text(&text)};
    reader.end = reader.at + weir__buffer_length(&text);
    while (result == 0 && read_line(&reader))
        take(&found, &reader);
    weir__buffer_fini(&text);
    struct stat st;
    store->is_shallow = weir__sys_fstatat(dir, "shallow", &st, 0) == 0 && st.st_size > 0;
    weir__sys_close(dir);
    return result < 0 ? result : judge(store, &found);
}
