/* store_shallow.c - where the history of a shallow clone ends. */
#include "store_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "refs_file.h"
#include "sys.h"
#include "text.h"

#include "banned.h"

static int compare(const void *a, const void *b)
{
    return weir__git_id_compare(a, b);
}

/* The lines that are ids, sorted, each once. */
static size_t take_lines(const struct weir__git_store *store, const char *text, size_t length,
                         struct weir__git_id *ids, size_t *ret_broken, size_t *ret_first)
{
    size_t digits = 2 * store->id_size, count = 0, kept = 0, line = 0;
    *ret_broken = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        const char *next = at + size + (newline != NULL);
        line++;
        if (size > 0 && at[size - 1] == '\r')
            size--;
        if (size == digits && weir__git_id_from_hex(&ids[count], at, store->id_size) == 0)
            count++;
        else if (size > 0 && (*ret_broken)++ == 0)
            *ret_first = line;
        at = next;
    }
    if (count > 1)
        qsort(ids, count, sizeof(*ids), compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !weir__git_id_is_equal(&ids[kept - 1], &ids[i]))
            ids[kept++] = ids[i];
    return kept;
}

static int read_shallow(struct weir__git_store *store, struct weir__buffer *text)
{
    int folder = weir__sys_openat(AT_FDCWD, store->commondir, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return weir_error_from_errno(errno);
    int result = weir__git_file_read(folder, "shallow", text);
    weir__sys_close(folder);
    return result;
}

int weir__git_store_shallow(struct weir__git_store *store,
                            void (*problem)(void *arg, const char *text), void *problem_arg,
                            struct weir__git_id **ret_ids, size_t *ret_count)
{
    struct weir__buffer text;
    struct weir__git_id *ids = NULL;
    char line[WEIR__GIT_PROBLEM_SIZE];
    size_t count = 0, broken = 0, first = 0;
    weir__buffer_init(&text, WEIR__GIT_SHALLOW_BYTES_MAX);
    int result = read_shallow(store, &text);
    size_t length = weir__buffer_length(&text), room = length / (2 * store->id_size) + 1;
    if (result == 0 && length > 0) {
        ids = weir__base_alloc(room, sizeof(*ids));
        if (ids)
            count = take_lines(store, weir__buffer_text(&text), length, ids, &broken, &first);
        else
            result = -WEIR_E_NO_MEMORY;
    }
    weir__buffer_fini(&text);
    if (result < 0 && result != -WEIR_E_NOT_FOUND)
        return weir__git_store_fail(store, -result, "cannot read '%s/shallow': %s",
                                    WEIR__CLIPPED(store->commondir), weir_error_text(result));
    if (broken > 0 && problem) {
        snprintf(line, sizeof(line), "'%s/shallow': %zu lines are no ids, the first is line %zu",
                 WEIR__CLIPPED(store->commondir), broken, first);
        problem(problem_arg, line);
    }
    if (count == 0) {
        weir__base_free(ids);
        ids = NULL;
    }
    *ret_ids = ids;
    *ret_count = count;
    return 0;
}
