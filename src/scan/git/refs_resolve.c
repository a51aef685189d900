/* refs_resolve.c - names of commits: refs, ids, and steps up from them. */
#include "refs_resolve.h"

#include <stdio.h>

#include "cover.h"
#include "tag_object.h"

#include "banned.h"

__attribute__((cold, format(printf, 3, 4))) static int flaw(char why[WEIR__GIT_FLAW_MAX], int code,
                                                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WEIR__GIT_FLAW_MAX, format, args);
    va_end(args);
    return -code;
}

/* --- objects --- */

/* The commit behind an id; the buffer has its bytes then. */
static int commit_of(const struct weir__git_names *names, const struct weir__git_id *id,
                     struct weir__git_id *ret_commit, struct weir__buffer *bytes,
                     char why[WEIR__GIT_FLAW_MAX])
{
    char hex[WEIR__GIT_HEX_SIZE];
    enum weir__git_type type;
    struct weir__git_id found;
    int error =
        weir__git_peel(names->get, names->get_arg, names->id_size, id, &found, &type, bytes, why);
    if (error)
        return error;
    if (type != WEIR__GIT_COMMIT)
        return flaw(why, WEIR_E_INVALID, "%s is a %s and not a commit",
                    weir__git_id_hex(id, names->id_size, hex), weir__git_type_name(type));
    *ret_commit = found;
    return 0;
}

/* The parent of a commit, from 1. */
static int parent_of(const struct weir__git_names *names, const struct weir__git_id *id,
                     uint64_t which, struct weir__git_id *ret_parent, struct weir__buffer *bytes,
                     char why[WEIR__GIT_FLAW_MAX])
{
    char hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_commit commit;
    struct weir__git_id same;
    int error = commit_of(names, id, &same, bytes, why);
    if (!error)
        error = weir__git_commit_parse(&commit, weir__buffer_text(bytes),
                                       weir__buffer_length(bytes), names->id_size, why);
    if (error)
        return error;
    if (which > commit.parents_count)
        return flaw(why, WEIR_E_NOT_FOUND, "commit %s has %zu parents",
                    weir__git_id_hex(&same, names->id_size, hex), commit.parents_count);
    *ret_parent = weir__git_commit_parent(&commit, (size_t)which - 1);
    return 0;
}

/* --- the name --- */

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && weir__git_hex_digit(text[count]) >= 0)
        count++;
    return count;
}

static const struct weir__git_ref *find_ref(const struct weir__git_refs *refs, const char *name)
{
    static const char *const forms[] = {"%s",
                                        "refs/%s",
                                        "refs/tags/%s",
                                        "refs/heads/%s",
                                        "refs/remotes/%s",
                                        "refs/remotes/%s/HEAD"};
    char full[WEIR__GIT_REV_MAX + 32];
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const char *put = strstr(forms[i], "%s");
        snprintf(full, sizeof(full), "%.*s%s%s", (int)(put - forms[i]), forms[i], name, put + 2);
        const struct weir__git_ref *ref = weir__git_refs_find(refs, full);
        if (ref)
            return ref;
    }
    return NULL;
}

/* One of those that begin so is a commit, or leads to one: that is meant. */
static int choose(const struct weir__git_names *names, const struct weir__git_id *ids, size_t count,
                  const char *text, struct weir__git_id *ret_id, struct weir__buffer *bytes,
                  char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id commit, chosen;
    size_t commits = 0;
    for (size_t i = 0; i < count; i++)
        if (commit_of(names, &ids[i], &commit, bytes, why) == 0) {
            chosen = ids[i];
            commits++;
        }
    if (commits == 1) {
        *ret_id = chosen;
        return 0;
    }
    if (commits == 0 && count == 1)
        return flaw(why, WEIR_E_INVALID, "'%s' is not a commit", text);
    return flaw(why, WEIR_E_INVALID, "'%s' is ambiguous: %zu%s objects begin so; give more digits",
                text, count, count == WEIR__GIT_ABBREV_MATCH ? " or more" : "");
}

static int find_abbreviated(const struct weir__git_names *names, const char *name, size_t length,
                            struct weir__git_id *ret_id, struct weir__buffer *bytes,
                            char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id ids[WEIR__GIT_ABBREV_MATCH];
    char digits[WEIR__GIT_HEX_SIZE];
    bool is_id = count_digits(name, length) == length; /* which is no secret */
    if (!names->begin_with || length < WEIR__GIT_ABBREV_MIN || length >= 2 * names->id_size ||
        !is_id)
        return flaw(why, WEIR_E_NOT_FOUND, "there is no branch, tag or commit '%s'",
                    is_id ? WEIR__CLIPPED(name) : WEIR__TYPED(name));
    for (size_t i = 0; i < length; i++)
        digits[i] = "0123456789abcdef"[weir__git_hex_digit(name[i])];
    digits[length] = '\0';
    size_t count = names->begin_with(names->begin_arg, digits, length, ids, WEIR__GIT_ABBREV_MATCH);
    if (count == 0)
        return flaw(why, WEIR_E_NOT_FOUND, "there is no branch, tag or commit '%s'", digits);
    return choose(names, ids, count, digits, ret_id, bytes, why);
}

static int find_name(const struct weir__git_names *names, const char *name, size_t length,
                     struct weir__git_id *ret_id, struct weir__buffer *bytes,
                     char why[WEIR__GIT_FLAW_MAX])
{
    char text[WEIR__GIT_REV_MAX];
    if (length == 0 || length >= sizeof(text))
        return flaw(why, WEIR_E_INVALID,
                    length ? "the name of a commit is too long" : "the name of a commit is empty");
    memcpy(text, name, length);
    text[length] = '\0';
    if (strpbrk(text, ":{"))
        return flaw(why, WEIR_E_INVALID,
                    "'%s': logs, searches and paths cannot be used here; name a branch, a tag or "
                    "an id",
                    WEIR__TYPED(text));
    if (length == 2 * names->id_size && count_digits(text, length) == length)
        return weir__git_id_from_hex(ret_id, text, names->id_size);
    const struct weir__git_ref *ref = find_ref(names->refs, strcmp(text, "@") ? text : "HEAD");
    if (!ref)
        return find_abbreviated(names, text, length, ret_id, bytes, why);
    *ret_id = ref->id;
    return 0;
}

/* --- steps --- */

/* Digits at *at; `none` when there are none. */
static bool take_number(const char *text, size_t *at, uint64_t none, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t from = *at;
    for (; text[*at] >= '0' && text[*at] <= '9'; ++*at) {
        number = number * 10 + (uint64_t)(text[*at] - '0');
        if (number > WEIR__GIT_STEPS_UP_MAX)
            return false;
    }
    *ret_number = *at == from ? none : number;
    return true;
}

static int step(const struct weir__git_names *names, const char *text, size_t *at,
                struct weir__git_id *id, struct weir__buffer *bytes, char why[WEIR__GIT_FLAW_MAX])
{
    char kind = text[(*at)++];
    uint64_t number;
    int error = 0;
    if (kind == '^' &&
        (strncmp(text + *at, "{}", 2) == 0 || strncmp(text + *at, "{commit}", 8) == 0)) {
        *at += text[*at + 1] == '}' ? 2 : 8;
        return commit_of(names, id, id, bytes, why);
    }
    if ((kind != '~' && kind != '^') || !take_number(text, at, 1, &number))
        return flaw(why, WEIR_E_INVALID, "'%s': not understood from '%s' on", WEIR__TYPED(text),
                    WEIR__TYPED(text + *at - 1));
    if (number == 0)
        return commit_of(names, id, id, bytes, why);
    if (kind == '^')
        return parent_of(names, id, number, id, bytes, why);
    for (; !error && number > 0; number--)
        error = parent_of(names, id, 1, id, bytes, why);
    return error;
}

int weir__git_resolve(const struct weir__git_names *names, const char *text,
                      struct weir__git_id *ret_commit, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_id id;
    struct weir__buffer bytes;
    size_t at = strcspn(text, "~^");
    weir__buffer_init(&bytes, WEIR__GIT_COMMIT_BYTES_MAX);
    int error = find_name(names, text, at, &id, &bytes, why);
    while (!error && text[at])
        error = step(names, text, &at, &id, &bytes, why);
    if (!error)
        error = commit_of(names, &id, &id, &bytes, why);
    weir__buffer_fini(&bytes);
    if (!error)
        *ret_commit = id;
    return error;
}

/* --- ranges --- */

static int resolve_part(const struct weir__git_names *names, const char *text, size_t length,
                        struct weir__git_id *ret_commit, char why[WEIR__GIT_FLAW_MAX])
{
    char part[WEIR__GIT_REV_MAX];
    if (length >= sizeof(part))
        return flaw(why, WEIR_E_INVALID, "the name of a commit is too long");
    memcpy(part, text, length);
    part[length] = '\0';
    return weir__git_resolve(names, length ? part : "HEAD", ret_commit, why);
}

int weir__git_resolve_range(const struct weir__git_names *names, const char *text,
                            struct weir__git_rev_range *ret_range, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_rev_range range = {.kind = WEIR__GIT_REV_FROM};
    const char *dots = strstr(text, "..");
    int error;
    if (dots) {
        bool is_symmetric = dots[2] == '.';
        const char *right = dots + 2 + is_symmetric;
        if (dots == text && *right == '\0')
            return flaw(why, WEIR_E_INVALID, "'%s': a range needs a commit on one side",
                        WEIR__TYPED(text));
        range.kind = is_symmetric ? WEIR__GIT_REV_SYMMETRIC : WEIR__GIT_REV_BETWEEN;
        error = resolve_part(names, text, (size_t)(dots - text), &range.left, why);
        if (!error)
            error = resolve_part(names, right, strlen(right), &range.right, why);
    } else if (text[0] == '^') {
        range.kind = WEIR__GIT_REV_NOT;
        error = weir__git_resolve(names, text + 1, &range.left, why);
    } else {
        error = weir__git_resolve(names, text, &range.right, why);
    }
    if (!error)
        *ret_range = range;
    return error;
}
