/* chmod.c - what --chmod and --chown mean.
 *
 * --chmod follows rsync, which is chmod(1) with a few habits of its own, and people move their
 * command lines from there to here:
 * - D and F limit an item to directories or to all else; they stand among the classes.
 * - A number sets all twelve bits, and takes no class.
 * - An item has one operator: u+r-w is refused.
 * - X looks at the mode as it was before the first item, and makes every x of its item conditional.
 * - "s" without u, g or a means setuid. Special bits are cleared by "=" only if the item sets some.
 *   (There rsync forgets a "t" before such an "s"; that is not followed.)
 * - g=u copies one class; with "=" the special bits of the classes written to are cleared.
 * - Without a class all are meant, less the umask.
 *
 * An item is kept as bits to clear and bits to set, so that applying it to a mode costs nothing.
 *
 * --chown looks names up once, in buffers that stop growing at a stated size.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "meta.h"

#include "banned.h"

/* Items of all --chmod together; a longer list is a mistake, and more are refused. */
#define CHANGES_MAX   1024u
#define CHANGES_FIRST 4u

/* Longest name of a user or group that is looked up. */
#define NAME_BYTES_MAX 255u
/* What one entry of the user or group database may need: a group lists all of its members. */
#define ENTRY_BYTES_FIRST 1024u
#define ENTRY_BYTES_MAX   (1u << 20)

struct change {
    mode_t classes;      /* 0700, 0070 and 0007 for those named; all of them if none was */
    mode_t clear;        /* of "=" and numbers: what goes first */
    mode_t bits;         /* rwx in the classes, and special bits */
    unsigned char shift; /* is_copy: how far right the class stands that is copied */
    char sign;           /* + - = */
    char only;           /* D, F or 0 */
    bool is_copy;        /* g=u: the bits come from the mode */
    bool is_masked;      /* no class was named: the umask counts */
    bool is_if_x;        /* X */
};

struct weir__chmod {
    struct change *changes;
    size_t count, capacity;
};

/* One item while it is read. */
struct item {
    struct change change;
    mode_t special; /* what s means here: 04000 for u, 02000 for g */
    const char *at;
    const char *problem;
};

static bool refuse(struct item *item, const char *problem)
{
    item->problem = problem;
    return false;
}

static bool is_end(const char *at)
{
    return *at == '\0' || *at == ',';
}

/* The rwx of a class letter, 0 for what is none. */
static mode_t class_of(char letter)
{
    switch (letter) {
    case 'u':
        return S_IRWXU;
    case 'g':
        return S_IRWXG;
    case 'o':
        return S_IRWXO;
    case 'a':
        return S_IRWXU | S_IRWXG | S_IRWXO;
    default:
        return 0;
    }
}

/* D, F and the classes, in any order. */
static bool read_classes(struct item *item)
{
    struct change *change = &item->change;
    for (;; item->at++) {
        char letter = *item->at;
        mode_t class = class_of(letter);
        if (letter == 'D' || letter == 'F') {
            if (change->only && change->only != letter)
                return refuse(item, "D and F exclude each other");
            change->only = letter;
        } else if (class) {
            change->classes |= class;
            if (class & S_IRWXU)
                item->special |= S_ISUID;
            if (class & S_IRWXG)
                item->special |= S_ISGID;
        } else {
            return true;
        }
    }
}

static bool read_number(struct item *item)
{
    struct change *change = &item->change;
    if (change->classes)
        return refuse(item, "a number takes no u, g, o or a");
    for (; *item->at >= '0' && *item->at <= '7'; item->at++) {
        change->bits = change->bits * 8 + (mode_t)(*item->at - '0');
        if (change->bits > 07777)
            return refuse(item, "the largest number is 7777");
    }
    if (!is_end(item->at))
        return refuse(item, "a number has the digits 0 to 7 alone");
    change->sign = '=';
    change->clear = 07777;
    return true;
}

/* g=u */
static bool read_copy(struct item *item)
{
    struct change *change = &item->change;
    change->is_copy = true;
    change->shift = *item->at == 'u' ? 6 : *item->at == 'g' ? 3 : 0;
    item->at++;
    if (!is_end(item->at))
        return refuse(item, "u, g or o behind the operator stands alone");
    if (change->sign == '=') {
        change->clear = change->classes;
        change->clear |= change->classes & S_IRWXU ? S_ISUID : 0;
        change->clear |= change->classes & S_IRWXG ? S_ISGID : 0;
        change->clear |= change->classes & S_IRWXO ? S_ISVTX : 0;
    }
    return true;
}

/* The letters behind the operator; there may be none. */
static bool read_letters(struct item *item)
{
    struct change *change = &item->change;
    mode_t rwx = 0, special = 0;
    for (; !is_end(item->at); item->at++) {
        switch (*item->at) {
        case 'r':
            rwx |= 0444;
            break;
        case 'w':
            rwx |= 0222;
            break;
        case 'X':
            change->is_if_x = true;
            rwx |= 0111;
            break;
        case 'x':
            rwx |= 0111;
            break;
        case 's':
            special |= item->special ? item->special : S_ISUID;
            break;
        case 't':
            special |= S_ISVTX;
            break;
        default:
            return refuse(item, "behind + - = stand the letters rwxXst, or one of u, g and o");
        }
    }
    change->bits = (rwx & change->classes) | special;
    if (change->sign == '=')
        change->clear = change->classes | (special ? item->special : 0);
    return true;
}

static bool read_item(struct item *item)
{
    struct change *change = &item->change;
    if (!read_classes(item))
        return false;
    char next = *item->at;
    if (next >= '0' && next <= '7')
        return read_number(item);
    if (is_end(item->at))
        return refuse(item, "an operator + - = or a number is missing");
    if (next != '+' && next != '-' && next != '=')
        return refuse(item, "before + - = stand the letters ugoa, D and F");
    change->sign = next;
    item->at++;
    if (!change->classes) {
        change->classes = 0777;
        change->is_masked = true;
    }
    if (class_of(*item->at) && *item->at != 'a')
        return read_copy(item);
    return read_letters(item);
}

/* Room for one more. */
static int grow(struct weir__chmod *chmod)
{
    if (chmod->count < chmod->capacity)
        return 0;
    size_t capacity = chmod->capacity ? chmod->capacity * 2 : CHANGES_FIRST;
    struct change *changes = weir__base_realloc(chmod->changes, capacity, sizeof(*changes));
    if (!changes)
        return -WEIR_E_NO_MEMORY;
    chmod->changes = changes;
    chmod->capacity = capacity;
    return 0;
}

int weir__chmod_add(struct weir__chmod *chmod, const char *text, const char **ret_problem)
{
    size_t count = chmod->count;
    struct item item = {.at = text};
    int error = 0;
    for (;;) {
        item = (struct item){.at = item.at};
        if (!read_item(&item)) {
            error = -WEIR_E_INVALID;
        } else if (chmod->count >= CHANGES_MAX) {
            item.problem = "more than 1024 changes";
            error = -WEIR_E_INVALID;
        } else if ((error = grow(chmod)) < 0) {
            item.problem = "out of memory";
        }
        if (error)
            break;
        chmod->changes[chmod->count++] = item.change;
        if (*item.at == '\0')
            return 0;
        item.at++;
    }
    chmod->count = count;
    *ret_problem = item.problem;
    return error;
}

int weir__chmod_new(struct weir__chmod **ret_chmod, const char *text, const char **ret_problem)
{
    struct weir__chmod *chmod = weir__base_alloc(1, sizeof(*chmod));
    if (!chmod) {
        *ret_problem = "out of memory";
        return -WEIR_E_NO_MEMORY;
    }
    int error = weir__chmod_add(chmod, text, ret_problem);
    if (error) {
        weir__chmod_free(chmod);
        return error;
    }
    *ret_chmod = chmod;
    return 0;
}

void weir__chmod_free(struct weir__chmod *chmod)
{
    if (!chmod)
        return;
    weir__base_free(chmod->changes);
    weir__base_free(chmod);
}

mode_t weir__chmod_apply(const struct weir__chmod *chmod, mode_t mode, mode_t umask)
{
    bool is_dir = S_ISDIR(mode);
    bool had_x = is_dir || (mode & 0111);
    for (size_t i = 0; i < chmod->count; i++) {
        const struct change *change = &chmod->changes[i];
        if (change->only && (change->only == 'D') != is_dir)
            continue;
        mode_t bits = change->bits;
        if (change->is_copy)
            bits = (((mode >> change->shift) & 7) * 0111) & change->classes;
        if (change->is_masked)
            bits &= ~(umask & 0777);
        if (change->sign == '-') {
            mode &= ~bits;
            continue;
        }
        if (change->is_if_x && !had_x)
            bits &= ~(mode_t)0111;
        mode = (mode & ~change->clear) | bits;
    }
    return mode;
}

/* 0, NotFound, or what went wrong with the database itself. */
static int look_up(bool is_group, const char *name, uint32_t *ret_id)
{
    int error = -WEIR_E_NOT_FOUND;
    char *memory = NULL;
    for (size_t size = ENTRY_BYTES_FIRST; size <= ENTRY_BYTES_MAX; size *= 4) {
        char *larger = weir__base_realloc(memory, size, 1);
        if (!larger) {
            error = -WEIR_E_NO_MEMORY;
            break;
        }
        memory = larger;
        struct passwd user, *found_user = NULL;
        struct group group, *found_group = NULL;
        int problem;
        do
            problem = is_group ? getgrnam_r(name, &group, memory, size, &found_group)
                               : getpwnam_r(name, &user, memory, size, &found_user);
        while (problem == EINTR);
        if (found_user || found_group) {
            *ret_id = is_group ? group.gr_gid : user.pw_uid;
            error = 0;
            break;
        }
        if (problem != ERANGE) {
            /* The C library has many ways to say that there is no such name. */
            bool is_broken = problem == EIO || problem == EMFILE || problem == ENFILE;
            error = problem == ENOMEM ? -WEIR_E_NO_MEMORY
                    : is_broken       ? weir_error_from_errno(problem)
                                      : -WEIR_E_NOT_FOUND;
            break;
        }
    }
    weir__base_free(memory);
    return error;
}

/* A number, or else a name. What consists of digits is a number even if somebody is called so. */
static int find_id(bool is_group, const char *text, size_t length, uint32_t *ret_id,
                   const char **ret_problem)
{
    char name[NAME_BYTES_MAX + 1];
    uint64_t number = 0;
    size_t digits = 0;
    for (; digits < length && text[digits] >= '0' && text[digits] <= '9'; digits++)
        if (number <= UINT32_MAX)
            number = number * 10 + (uint64_t)(text[digits] - '0');
    if (digits == length) {
        /* The largest number means "as it is" to the kernel. */
        if (number >= UINT32_MAX) {
            *ret_problem = "the largest number is 4294967294";
            return -WEIR_E_INVALID;
        }
        *ret_id = (uint32_t)number;
        return 0;
    }
    if (length > NAME_BYTES_MAX) {
        *ret_problem = "the name is longer than 255 bytes";
        return -WEIR_E_INVALID;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    int error = look_up(is_group, name, ret_id);
    if (error == -WEIR_E_NOT_FOUND)
        *ret_problem = is_group ? "there is no such group" : "there is no such user";
    else if (error)
        *ret_problem = is_group ? "cannot look up the group" : "cannot look up the user";
    return error;
}

int weir__chown_parse(const char *text, bool *ret_has_uid, uid_t *ret_uid, bool *ret_has_gid,
                      gid_t *ret_gid, const char **ret_problem)
{
    size_t user_length = strcspn(text, ":");
    const char *group = text[user_length] == ':' ? text + user_length + 1 : text + user_length;
    bool has_uid = user_length > 0, has_gid = *group != '\0';
    uint32_t uid = 0, gid = 0;
    if (!has_uid && !has_gid) {
        *ret_problem = "neither a user nor a group is named";
        return -WEIR_E_INVALID;
    }
    int error = 0;
    if (has_uid)
        error = find_id(false, text, user_length, &uid, ret_problem);
    if (!error && has_gid)
        error = find_id(true, group, strlen(group), &gid, ret_problem);
    if (error)
        return error;
    *ret_has_uid = has_uid;
    *ret_has_gid = has_gid;
    if (has_uid)
        *ret_uid = uid;
    if (has_gid)
        *ret_gid = gid;
    return 0;
}
