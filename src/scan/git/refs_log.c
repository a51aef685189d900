/* refs_log.c - what logs remember, and the refs that git leaves beside HEAD for a while. */
#include "refs_part.h"

#include <stdio.h>

#include "alloc.h"
#include "refs_file.h"
#include "text.h"

#include "banned.h"

#define LOG_MAX   (256u << 20)
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

static int read_log(struct weir__git_refs *refs, int dir, const char *path, bool is_stash)
{
    struct weir__buffer file;
    struct weir__git_id old, new;
    size_t at = 0, broken = 0;
    weir__buffer_init(&file, weir__git_refs_part(refs, LOG_MAX));
    int result = weir__git_file_read(dir, path, &file), error = 0;
    if (result == -WEIR_E_NO_MEMORY)
        error = result;
    else if (result && result != -WEIR_E_NOT_FOUND)
        weir__git_refs_tell(refs, "log '%s': %s", WEIR__CLIPPED(path), weir__git_file_why(result));
    while (!error && result >= 0 &&
           (result = weir__git_log_next(weir__buffer_text(&file), weir__buffer_length(&file),
                                        refs->_options.id_size, &at, &old, &new)) != 0) {
        broken += result < 0;
        if (result > 0) {
            error = add_log(refs, &old, is_stash);
            if (!error)
                error = add_log(refs, &new, is_stash);
        }
        result = 0;
    }
    if (broken > 0)
        weir__git_refs_tell(refs, "log '%s': %zu lines do not begin with two ids",
                            WEIR__CLIPPED(path), broken);
    weir__buffer_fini(&file);
    return error;
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
static int read_pseudo(struct weir__git_refs *refs, int git_fd, const char *prefix,
                       const char *file_name)
{
    struct weir__buffer file;
    char name[WEIR__GIT_REF_NAME_MAX];
    size_t digits = 2 * refs->_options.id_size, broken = 0;
    weir__buffer_init(&file, weir__git_refs_part(refs, LOG_MAX));
    snprintf(name, sizeof(name), "%s%s", prefix, file_name);
    int error = weir__git_file_read(git_fd, file_name, &file);
    if (error && error != -WEIR_E_NOT_FOUND && error != -WEIR_E_NO_MEMORY)
        weir__git_refs_tell(refs, "%s: %s", WEIR__CLIPPED(name), weir__git_file_why(error));
    if (error) {
        weir__buffer_fini(&file);
        return error == -WEIR_E_NO_MEMORY ? error : 0;
    }
    const char *text = weir__buffer_text(&file), *end = text + weir__buffer_length(&file);
    for (const char *line = text; !error && line < end;) {
        struct weir__git_ref ref = {.kind = WEIR__GIT_REF_PSEUDO, .is_loose = true};
        const char *found = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((found ? found : end) - line);
        if (length >= digits && weir__git_id_from_hex(&ref.id, line, refs->_options.id_size) == 0)
            error = weir__git_refs_add(refs, name, strlen(name), &ref, NULL);
        else if (length > 0 && strncmp(line, "ref:", 4) != 0)
            broken++;
        line += length + (found != NULL);
    }
    if (broken > 0)
        weir__git_refs_tell(refs, "%s: %zu lines do not begin with an id", WEIR__CLIPPED(name),
                            broken);
    weir__buffer_fini(&file);
    return error;
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
