/* refs_log.c - what logs remember, and the refs that git leaves beside HEAD for a while. */
#include "refs_part.h"

#include <stdio.h>

#include "alloc.h"
#include "refs_file.h"
#include "text.h"

#include "banned.h"

#define STASH_LOG "logs/refs/stash"

static int add_log(struct weir__git_refs *refs, const struct weir__git_id *id, bool is_stash)
{
    uint32_t ignored;
    if (weir__git_id_is_zero(id))
        return 0;
    if (refs->logs_count == refs->_options.logs_max)
        return -WEIR_E_TOO_LARGE;
    if (refs->logs_count == refs->_logs_room) {
        size_t room = weir__git_refs_room(refs, refs->_logs_room, sizeof(*refs->logs),
                                          refs->_options.logs_max);
        if (room <= refs->_logs_room)
            return -WEIR_E_TOO_LARGE;
        struct weir__git_refs_log *logs = weir__base_realloc(refs->logs, room, sizeof(*logs));
        if (!logs)
            return -WEIR_E_NO_MEMORY;
        refs->logs = logs;
        refs->_logs_room = room;
    }
    int result = weir__git_set_add(&refs->_logged[is_stash], id, &ignored);
    if (result > 0)
        refs->logs[refs->logs_count++] = (struct weir__git_refs_log){*id, is_stash};
    return result < 0 ? result : 0;
}

/* What is made of the lines of one file. */
struct lines {
    struct weir__git_refs *refs;
    const char *name;
    bool is_stash;
    size_t broken;
    int error; /* of the refs, not of the file */
};

static int take_line(void *arg, const char *head, size_t length)
{
    struct lines *lines = arg;
    struct weir__git_id old, new;
    size_t at = 0;
    int result = weir__git_log_next(head, length, lines->refs->_options.id_size, &at, &old, &new);
    lines->broken += result < 0;
    if (result <= 0)
        return 0;
    lines->error = add_log(lines->refs, &old, lines->is_stash);
    if (!lines->error)
        lines->error = add_log(lines->refs, &new, lines->is_stash);
    return lines->error;
}

static int read_log(struct weir__git_refs *refs, int dir, const char *path, bool is_stash)
{
    struct lines lines = {.refs = refs, .is_stash = is_stash};
    int result = weir__git_file_heads(dir, path, take_line, &lines);
    if (result && !lines.error && result != -WEIR_E_NOT_FOUND)
        weir__git_refs_tell(refs, "log '%s': %s", WEIR__CLIPPED(path), weir__git_file_why(result));
    if (lines.broken > 0)
        weir__git_refs_tell(refs, "log '%s': %zu lines do not begin with two ids",
                            WEIR__CLIPPED(path), lines.broken);
    return lines.error;
}

int weir__git_refs_read_stash(struct weir__git_refs *refs, int common_fd)
{
    return read_log(refs, common_fd, STASH_LOG, true);
}

int weir__git_refs_take_log(struct weir__git_refs *refs, int dir, const char *prefix,
                            const char *path, const char *entry)
{
    char below[WEIR__GIT_REF_NAME_MAX];
    int length = snprintf(below, sizeof(below), "%s/%s", path, entry + 1);
    if (length < 0 || (size_t)length >= sizeof(below)) {
        weir__git_refs_tell(refs, "log '%s': its name is too long", WEIR__CLIPPED(below));
        return 0;
    }
    if (entry[0] == 'd') {
        int error = weir__buffer_reserve(&refs->_folders, (size_t)length + 1);
        if (!error)
            error = weir__buffer_append(&refs->_folders, below, (size_t)length + 1);
        return error == -WEIR_E_OVERFLOW ? -WEIR_E_TOO_LARGE : error;
    }
    if (entry[0] != 'f') {
        weir__git_refs_tell(refs, "log '%s': not a file", WEIR__CLIPPED(below));
        return 0;
    }
    return read_log(refs, dir, below, prefix[0] == '\0' && strcmp(below, STASH_LOG) == 0);
}

/* Ids at the beginnings of lines, as FETCH_HEAD and MERGE_HEAD have them. */
static int take_id(void *arg, const char *head, size_t length)
{
    struct lines *lines = arg;
    struct weir__git_refs *refs = lines->refs;
    struct weir__git_ref ref = {.kind = WEIR__GIT_REF_PSEUDO, .is_loose = true};
    size_t id_size = refs->_options.id_size, end = length - (head[length - 1] == '\n');
    if (end >= 2 * id_size && weir__git_id_from_hex(&ref.id, head, id_size) == 0)
        lines->error = weir__git_refs_add(refs, lines->name, strlen(lines->name), &ref, NULL);
    else if (end > 0 && (end < 4 || memcmp(head, "ref:", 4) != 0))
        lines->broken++;
    return lines->error;
}

static int read_pseudo(struct weir__git_refs *refs, int git_fd, const char *prefix,
                       const char *file_name)
{
    char name[WEIR__GIT_REF_NAME_MAX];
    struct lines lines = {.refs = refs, .name = name};
    snprintf(name, sizeof(name), "%s%s", prefix, file_name);
    int result = weir__git_file_heads(git_fd, file_name, take_id, &lines);
    if (result && !lines.error && result != -WEIR_E_NOT_FOUND)
        weir__git_refs_tell(refs, "%s: %s", WEIR__CLIPPED(name), weir__git_file_why(result));
    if (lines.broken > 0)
        weir__git_refs_tell(refs, "%s: %zu lines do not begin with an id", WEIR__CLIPPED(name),
                            lines.broken);
    return lines.error;
}

int weir__git_refs_read_pseudo(struct weir__git_refs *refs, int git_fd, const char *prefix)
{
    static const char *const names[] = {"FETCH_HEAD",       "ORIG_HEAD",   "MERGE_HEAD",
                                        "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
                                        "BISECT_HEAD",      "AUTO_MERGE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int error = read_pseudo(refs, git_fd, prefix, names[i]);
        if (error)
            return error;
    }
    return 0;
}
