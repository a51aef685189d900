/* refs.c - the list of refs: packed ones, loose ones, HEADs; sorted, and symbolic ones resolved.
 *
 * Folders still to be read lie as paths in one buffer; each is opened from the top, so that one
 * descriptor is enough however deep they go.
 */
#include "refs_part.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "refs_file.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

#define PACKED_MAX  (1u << 30)
#define NAMES_MAX   (1u << 30)
#define ENTRIES_MAX (256u << 20)
#define ROOM_FIRST  64u
/* Of reading_max: two texts, the file at hand, two sets. */
#define PARTS 5u

static size_t lesser(uint64_t limit, size_t most)
{
    return limit > 0 && limit < most ? (size_t)limit : most;
}

size_t weir__git_refs_part(const struct weir__git_refs *refs, size_t most)
{
    return lesser(refs->_options.reading_max / PARTS, most);
}

/* What is left for a list that has so much room. */
static uint64_t left_of(const struct weir__git_refs *refs, uint64_t has)
{
    uint64_t kept = refs->_room * sizeof(*refs->list) + refs->_logs_room * sizeof(*refs->logs) +
                    refs->_nowhere_room * sizeof(*refs->_nowhere) + refs->_names._capacity - has;
    uint64_t most = refs->_options.bytes_max > 0 ? refs->_options.bytes_max : UINT64_MAX;
    return kept < most ? most - kept : 0;
}

size_t weir__git_refs_room(const struct weir__git_refs *refs, size_t room, size_t size, size_t most)
{
    uint64_t fits = left_of(refs, room * size) / size;
    size_t more = room ? room * 2 : ROOM_FIRST;
    if (more > most)
        more = most;
    return more < fits ? more : (size_t)fits;
}

void weir__git_refs_init(struct weir__git_refs *refs, const struct weir__git_refs_options *options)
{
    *refs = (struct weir__git_refs){._options = *options};
    if (refs->_options.refs_max == 0)
        refs->_options.refs_max = WEIR__GIT_REFS_DEFAULT;
    if (refs->_options.logs_max == 0)
        refs->_options.logs_max = WEIR__GIT_REFS_DEFAULT;
    uint64_t part = options->reading_max / PARTS;
    weir__buffer_init(&refs->_names, lesser(options->bytes_max, NAMES_MAX));
    weir__buffer_init(&refs->_folders, weir__git_refs_part(refs, NAMES_MAX));
    weir__buffer_init(&refs->_entries, weir__git_refs_part(refs, ENTRIES_MAX));
    weir__buffer_init(&refs->_file, weir__git_refs_part(refs, PACKED_MAX));
    weir__git_set_init(&refs->_logged[0], options->id_size, 0, part);
    weir__git_set_init(&refs->_logged[1], options->id_size, 0, part);
}

/* What is needed to read them, and no longer. */
static void let_go(struct weir__git_refs *refs)
{
    weir__buffer_fini(&refs->_folders);
    weir__buffer_fini(&refs->_entries);
    weir__buffer_fini(&refs->_file);
    weir__git_set_fini(&refs->_logged[0]);
    weir__git_set_fini(&refs->_logged[1]);
}

void weir__git_refs_fini(struct weir__git_refs *refs)
{
    if (!refs)
        return;
    let_go(refs);
    weir__base_free(refs->list);
    weir__base_free(refs->logs);
    weir__base_free(refs->_nowhere);
    weir__buffer_fini(&refs->_names);
    *refs = (struct weir__git_refs){0};
}

void weir__git_refs_tell(struct weir__git_refs *refs, const char *format, ...)
{
    char text[WEIR__GIT_REFS_PROBLEM_MAX];
    va_list args;
    refs->problems++;
    if (!refs->_options.problem)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    refs->_options.problem(refs->_options.problem_arg, text);
}

const char *weir__git_refs_name(const struct weir__git_refs *refs, size_t index)
{
    return weir__buffer_text(&refs->_names) + refs->list[index]._name;
}

const char *weir__git_refs_target(const struct weir__git_refs *refs, size_t index)
{
    return refs->list[index].is_symbolic
               ? weir__buffer_text(&refs->_names) + refs->list[index]._target
               : "";
}

/* --- adding --- */

static enum weir__git_ref_kind kind_of(const char *name)
{
    static const struct {
        const char *prefix;
        enum weir__git_ref_kind kind;
    } kinds[] = {
        {"refs/heads/", WEIR__GIT_REF_BRANCH},    {"refs/remotes/", WEIR__GIT_REF_REMOTE},
        {"refs/tags/", WEIR__GIT_REF_TAG},        {"refs/notes/", WEIR__GIT_REF_NOTES},
        {"refs/replace/", WEIR__GIT_REF_REPLACE}, {"refs/", WEIR__GIT_REF_OTHER},
    };
    size_t length = strlen(name);
    if (strcmp(name, "refs/stash") == 0)
        return WEIR__GIT_REF_STASH;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
            return kinds[i].kind;
    if (length >= 5 && strcmp(name + length - 5, "/HEAD") == 0)
        return WEIR__GIT_REF_HEAD;
    return strcmp(name, "HEAD") == 0 ? WEIR__GIT_REF_HEAD : WEIR__GIT_REF_OTHER;
}

int weir__git_refs_put(struct weir__git_refs *refs, const char *text, size_t length, size_t *ret_at)
{
    size_t at = weir__buffer_length(&refs->_names);
    if (at + length + 1 > left_of(refs, refs->_names._capacity))
        return -WEIR_E_TOO_LARGE;
    int error = weir__buffer_reserve(&refs->_names, length + 1);
    if (!error)
        error = weir__buffer_append(&refs->_names, text, length);
    if (!error)
        error = weir__buffer_putc(&refs->_names, '\0');
    if (error)
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    *ret_at = at;
    return 0;
}

int weir__git_refs_add(struct weir__git_refs *refs, const char *name, size_t name_length,
                       const struct weir__git_ref *given, const char *target)
{
    struct weir__git_ref ref = *given;
    if (refs->count == refs->_options.refs_max)
        return -WEIR_E_TOO_LARGE;
    if (refs->count == refs->_room) {
        size_t room =
            weir__git_refs_room(refs, refs->_room, sizeof(*refs->list), refs->_options.refs_max);
        if (room <= refs->_room)
            return -WEIR_E_TOO_LARGE;
        struct weir__git_ref *list = weir__base_realloc(refs->list, room, sizeof(*list));
        if (!list)
            return -WEIR_E_NO_MEMORY;
        refs->list = list;
        refs->_room = room;
    }
    int error = weir__git_refs_put(refs, name, name_length, &ref._name);
    if (!error && target)
        error = weir__git_refs_put(refs, target, strlen(target), &ref._target);
    if (error)
        return error;
    ref.is_symbolic = target != NULL;
    if (ref.kind != WEIR__GIT_REF_PSEUDO)
        ref.kind = kind_of(weir__buffer_text(&refs->_names) + ref._name);
    refs->list[refs->count++] = ref;
    return 0;
}

/* --- packed --- */

static int read_packed(struct weir__git_refs *refs, int common_fd, char why[WEIR__GIT_FLAW_MAX])
{
    struct weir__git_packed_ref packed;
    size_t at = 0, line = 0, id_size = refs->_options.id_size;
    int result = weir__git_file_read(common_fd, "packed-refs", &refs->_file);
    if (result == -WEIR_E_NOT_FOUND)
        return 0;
    if (result) {
        snprintf(why, WEIR__GIT_FLAW_MAX, "packed-refs: %s", weir__git_file_why(result));
        return result;
    }
    const char *bytes = weir__buffer_text(&refs->_file);
    size_t length = weir__buffer_length(&refs->_file);
    while ((result = weir__git_packed_ref_next(bytes, length, id_size, &at, &line, &packed, why)) !=
           0) {
        if (result < 0) {
            weir__git_refs_tell(refs, "packed-refs: %s", why);
            int error = weir__git_refs_note(refs, packed.name, packed.name_length);
            if (error)
                return error;
            continue;
        }
        struct weir__git_ref ref = {
            .id = packed.id, .peeled = packed.peeled, .has_peeled = packed.has_peeled};
        int error = weir__git_refs_add(refs, packed.name, packed.name_length, &ref, NULL);
        if (error)
            return error;
    }
    return 0;
}

/* --- loose --- */

static int note_both(struct weir__git_refs *refs, const char *name, const char *target)
{
    int error = weir__git_refs_note(refs, name, strlen(name));
    return error ? error : weir__git_refs_note(refs, target, strlen(target));
}

/* "ref: NAME" or an id, and white space. */
static int add_content(struct weir__git_refs *refs, const char *name, char *text)
{
    struct weir__git_ref ref = {.is_loose = true};
    size_t length = strlen(text), digits = 2 * refs->_options.id_size;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    if (strncmp(text, "ref:", 4) == 0) {
        const char *target = text + 4 + strspn(text + 4, " \t");
        if (weir__git_ref_name_is_valid(target, strlen(target)))
            return weir__git_refs_add(refs, name, strlen(name), &ref, target);
        weir__git_refs_tell(refs, "ref '%s': it names '%s', which git does not allow",
                            WEIR__CLIPPED(name), WEIR__CLIPPED(target));
        return note_both(refs, name, target);
    }
    bool has_id = length >= digits &&
                  weir__git_id_from_hex(&ref.id, text, refs->_options.id_size) == 0 &&
                  (length == digits || strchr(" \t\r\n", text[digits]));
    if (has_id && !weir__git_id_is_zero(&ref.id))
        return weir__git_refs_add(refs, name, strlen(name), &ref, NULL);
    weir__git_refs_tell(refs, "ref '%s': its file holds neither an id nor 'ref:'",
                        WEIR__CLIPPED(name));
    return weir__git_refs_note(refs, name, strlen(name));
}

static int read_loose(struct weir__git_refs *refs, int dir, const char *path, const char *name)
{
    struct weir__buffer file;
    weir__buffer_init(&file, WEIR__GIT_REF_FILE_MAX);
    int error = weir__git_file_read(dir, path, &file);
    if (!error)
        error = weir__buffer_putc(&file, '\0');
    if (!error) {
        error = add_content(refs, name, file._data);
    } else if (error == -WEIR_E_NOT_FOUND) {
        error = 0; /* deleted or packed since the folder was read */
    } else if (error != -WEIR_E_NO_MEMORY) {
        weir__git_refs_tell(refs, "ref '%s': %s", WEIR__CLIPPED(name), weir__git_file_why(error));
        error = weir__git_refs_note(refs, name, strlen(name));
    }
    weir__buffer_fini(&file);
    return error;
}

/* Git of old made symbolic refs of symlinks. */
static int read_symlink(struct weir__git_refs *refs, int dir, const char *path, const char *name)
{
    char target[WEIR__GIT_REF_NAME_MAX];
    struct weir__git_ref ref = {.is_loose = true};
    ssize_t length = weir__sys_readlinkat(dir, path, target, sizeof(target) - 1);
    if (length < 0) {
        weir__git_refs_tell(refs, "ref '%s': %s", WEIR__CLIPPED(name),
                            weir_error_text(weir_error_from_errno(errno)));
        return weir__git_refs_note(refs, name, strlen(name));
    }
    target[length] = '\0';
    if (weir__git_ref_name_is_valid(target, (size_t)length))
        return weir__git_refs_add(refs, name, strlen(name), &ref, target);
    weir__git_refs_tell(refs, "ref '%s': a symlink that is not followed", WEIR__CLIPPED(name));
    return note_both(refs, name, target);
}

/* One entry of the folder `path`; prefix is what names begin with beside it. */
static int take_entry(struct weir__git_refs *refs, int dir, const char *prefix, const char *path,
                      const char *entry)
{
    char below[WEIR__GIT_REF_NAME_MAX], name[WEIR__GIT_REF_NAME_MAX];
    char kind = entry[0];
    size_t entry_length = strlen(entry + 1);
    if (entry_length > 5 && strcmp(entry + 1 + entry_length - 5, ".lock") == 0)
        return 0; /* somebody is writing it */
    int length = snprintf(below, sizeof(below), "%s/%s", path, entry + 1);
    int name_length = snprintf(name, sizeof(name), "%s%s", prefix, below);
    if (length < 0 || name_length < 0 || (size_t)name_length >= sizeof(name)) {
        weir__git_refs_tell(refs, "ref '%s': its name is too long", WEIR__CLIPPED(below));
        return weir__git_refs_note(refs, below, strlen(below));
    }
    if (kind == 'd') {
        int error = weir__buffer_reserve(&refs->_folders, (size_t)length + 1);
        if (!error)
            error = weir__buffer_append(&refs->_folders, below, (size_t)length + 1);
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    }
    if (!weir__git_ref_name_is_valid(below, (size_t)length)) {
        weir__git_refs_tell(refs, "ref '%s': not a name that git allows", WEIR__CLIPPED(name));
        return weir__git_refs_note(refs, name, (size_t)name_length);
    }
    if (kind == 'l')
        return read_symlink(refs, dir, below, name);
    if (kind == 'f')
        return read_loose(refs, dir, below, name);
    weir__git_refs_tell(refs, "ref '%s': not a file", WEIR__CLIPPED(name));
    return weir__git_refs_note(refs, name, (size_t)name_length);
}

int weir__git_refs_each(struct weir__git_refs *refs, int dir, const char *prefix, const char *top,
                        weir__git_refs_entry_fn *entry)
{
    char path[WEIR__GIT_REF_NAME_MAX];
    weir__buffer_truncate(&refs->_folders, 0);
    int error = weir__buffer_append(&refs->_folders, top, strlen(top) + 1);
    while (!error && weir__git_folder_take(&refs->_folders, path)) {
        error = weir__git_folder_read(dir, path, &refs->_entries);
        if (error == -WEIR_E_NO_MEMORY)
            return error;
        if (error == -WEIR_E_NOT_FOUND) {
            error = 0;
            continue;
        }
        if (error) {
            weir__git_refs_tell(refs, "folder '%s': %s", WEIR__CLIPPED(path),
                                weir__git_file_why(error));
            error = 0;
        }
        size_t length = weir__buffer_length(&refs->_entries);
        for (size_t at = 0; !error && at < length;) {
            const char *one = weir__buffer_text(&refs->_entries) + at;
            error = entry(refs, dir, prefix, path, one);
            at += strlen(one) + 1;
        }
    }
    return error;
}

/* --- HEADs --- */

static int read_head(struct weir__git_refs *refs, int dir, const char *path, const char *name)
{
    struct stat st;
    if (weir__sys_fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return read_symlink(refs, dir, path, name);
    return read_loose(refs, dir, path, name);
}

static int read_worktree(struct weir__git_refs *refs, int common_fd, const char *worktree)
{
    char path[WEIR__GIT_REF_NAME_MAX], name[WEIR__GIT_REF_NAME_MAX];
    struct stat st;
    snprintf(path, sizeof(path), "worktrees/%s", worktree);
    snprintf(name, sizeof(name), "worktrees/%s/HEAD", worktree);
    int dir = weir__sys_openat(common_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    /* One that may not be looked into is told as a whole, and not file by file. */
    if (dir < 0 || (weir__sys_fstatat(dir, ".", &st, 0) < 0 && errno == EACCES)) {
        if (errno != ENOENT)
            weir__git_refs_tell(refs, "folder '%s': %s", WEIR__CLIPPED(path),
                                weir_error_text(weir_error_from_errno(errno)));
        weir__sys_close(dir);
        return 0;
    }
    int error = read_head(refs, common_fd, name, name);
    if (error) {
        weir__sys_close(dir);
        return error;
    }
    snprintf(path, sizeof(path), "worktrees/%s/", worktree);
    error = weir__git_refs_each(refs, dir, path, "refs", take_entry);
    if (!error && refs->_options.has_pseudo)
        error = weir__git_refs_read_pseudo(refs, dir, path);
    if (!error && refs->_options.has_logs)
        error = weir__git_refs_each(refs, dir, path, "logs", weir__git_refs_take_log);
    weir__sys_close(dir);
    return error;
}

static int read_worktrees(struct weir__git_refs *refs, int common_fd)
{
    struct weir__buffer names;
    weir__buffer_init(&names, WEIR__GIT_WORKTREES_MAX * 256u);
    int error = weir__git_folder_read(common_fd, "worktrees", &names);
    if (error == -WEIR_E_NOT_FOUND) {
        error = 0;
    } else if (error && error != -WEIR_E_NO_MEMORY) {
        weir__git_refs_tell(refs, "folder 'worktrees': %s", weir__git_file_why(error));
        error = 0;
    }
    for (size_t at = 0; !error && at < weir__buffer_length(&names);) {
        const char *one = weir__buffer_text(&names) + at;
        if (one[0] == 'd')
            error = read_worktree(refs, common_fd, one + 1);
        else if (one[0] == 'l')
            weir__git_refs_tell(refs, "'worktrees/%s': a symlink that is not followed",
                                WEIR__CLIPPED(one + 1));
        at += strlen(one) + 1;
    }
    weir__buffer_fini(&names);
    return error;
}

/* --- the list --- */

static int compare(const void *a, const void *b, void *names)
{
    const struct weir__git_ref *left = a, *right = b;
    int order = strcmp((const char *)names + left->_name, (const char *)names + right->_name);
    if (order != 0)
        return order;
    return right->is_loose - left->is_loose; /* the loose one first */
}

static void sort_refs(struct weir__git_refs *refs)
{
    size_t kept = 0;
    if (refs->count == 0)
        return;
    qsort_r(refs->list, refs->count, sizeof(*refs->list), compare, refs->_names._data);
    for (size_t i = 0; i < refs->count; i++) {
        if (kept > 0 && refs->list[i].kind != WEIR__GIT_REF_PSEUDO &&
            strcmp(weir__git_refs_name(refs, i), weir__git_refs_name(refs, kept - 1)) == 0)
            continue;
        refs->list[kept++] = refs->list[i];
    }
    refs->count = kept;
}

const struct weir__git_ref *weir__git_refs_find(const struct weir__git_refs *refs, const char *name)
{
    size_t low = 0, high = refs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(weir__git_refs_name(refs, middle), name);
        if (order == 0)
            return &refs->list[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int resolve_refs(struct weir__git_refs *refs)
{
    size_t kept = 0;
    int error = 0;
    for (size_t i = 0; i < refs->count; i++) {
        const struct weir__git_ref *at = &refs->list[i];
        for (unsigned depth = 0; at && at->is_symbolic; depth++)
            at = depth < WEIR__GIT_SYMBOLIC_MAX
                     ? weir__git_refs_find(refs, weir__buffer_text(&refs->_names) + at->_target)
                     : NULL;
        if (at && at != &refs->list[i]) {
            refs->list[i].id = at->id;
            refs->list[i].peeled = at->peeled;
            refs->list[i].has_peeled = at->has_peeled;
        }
    }
    for (size_t i = 0; i < refs->count; i++) {
        const struct weir__git_ref *ref = &refs->list[i];
        if (!ref->is_symbolic || !weir__git_id_is_zero(&ref->id)) {
            refs->list[kept++] = *ref;
            continue;
        }
        refs->dangling++;
        if (!error)
            error = weir__git_refs_note_at(refs, ref->_name);
        if (!error)
            error = weir__git_refs_note_at(refs, ref->_target);
    }
    refs->count = kept;
    weir__git_refs_sort_nowhere(refs);
    return error;
}

static int read_all(struct weir__git_refs *refs, int git_fd, int common_fd,
                    char why[WEIR__GIT_FLAW_MAX])
{
    bool is_linked = strcmp(refs->_options.gitdir, refs->_options.commondir) != 0;
    int error = read_packed(refs, common_fd, why);
    if (!error)
        error = weir__git_refs_each(refs, common_fd, "", "refs", take_entry);
    if (!error)
        error = read_head(refs, git_fd, "HEAD", "HEAD");
    if (!error && is_linked)
        error = read_head(refs, common_fd, "HEAD", "main-worktree/HEAD");
    if (!error)
        error = read_worktrees(refs, common_fd);
    if (!error && refs->_options.has_pseudo)
        error = weir__git_refs_read_pseudo(refs, git_fd, "");
    if (!error && refs->_options.has_pseudo && is_linked)
        error = weir__git_refs_read_pseudo(refs, common_fd, "main-worktree/");
    if (!error)
        error = refs->_options.has_logs
                    ? weir__git_refs_each(refs, common_fd, "", "logs", weir__git_refs_take_log)
                    : weir__git_refs_read_stash(refs, common_fd);
    return error;
}

int weir__git_refs_read(struct weir__git_refs *refs, char why[WEIR__GIT_FLAW_MAX])
{
    struct stat st;
    int git_fd = -1, common_fd = -1;
    why[0] = '\0';
    int error = weir__git_folder_open(refs->_options.commondir, &common_fd);
    if (!error)
        error = weir__git_folder_open(refs->_options.gitdir, &git_fd);
    if (!error && weir__sys_fstatat(common_fd, "reftable", &st, 0) == 0 && S_ISDIR(st.st_mode)) {
        error = -WEIR_E_UNSUPPORTED;
        snprintf(why, WEIR__GIT_FLAW_MAX,
                 "its refs are kept in a reftable, which is not read; convert them by 'git refs "
                 "migrate --ref-format=files'");
    }
    if (!error)
        error = read_all(refs, git_fd, common_fd, why);
    let_go(refs);
    sort_refs(refs);
    int unresolved = resolve_refs(refs);
    error = error ? error : unresolved;
    weir__sys_close(git_fd);
    weir__sys_close(common_fd);
    if (error && !why[0])
        snprintf(why, WEIR__GIT_FLAW_MAX, "the refs cannot be read: %s", weir_error_text(error));
    return error;
}
