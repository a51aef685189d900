/* refs_nowhere.c - names of refs that lead nowhere: of a branch that has no commit, of a file that
 * is broken, of a line that is none. Nothing is reached by them, but a name may say too much
 * whether it leads somewhere or not.
 */
#include "refs_part.h"

#include <stdlib.h>

#include "alloc.h"

#include "banned.h"

int weir__git_refs_note_at(struct weir__git_refs *refs, size_t at)
{
    if (refs->nowhere_count == refs->_options.refs_max)
        return -WEIR_E_TOO_LARGE;
    if (refs->nowhere_count == refs->_nowhere_room) {
        size_t room = weir__git_refs_room(refs, refs->_nowhere_room, sizeof(*refs->_nowhere),
                                          refs->_options.refs_max);
        if (room <= refs->_nowhere_room)
            return -WEIR_E_TOO_LARGE;
        size_t *list = weir__base_realloc(refs->_nowhere, room, sizeof(*list));
        if (!list)
            return -WEIR_E_NO_MEMORY;
        refs->_nowhere = list;
        refs->_nowhere_room = room;
    }
    refs->_nowhere[refs->nowhere_count++] = at;
    return 0;
}

int weir__git_refs_note(struct weir__git_refs *refs, const char *text, size_t length)
{
    size_t at, most = WEIR__GIT_REF_NAME_MAX - 1;
    int error = weir__git_refs_put(refs, text, length < most ? length : most, &at);
    return error ? error : weir__git_refs_note_at(refs, at);
}

const char *weir__git_refs_nowhere(const struct weir__git_refs *refs, size_t index)
{
    return weir__buffer_text(&refs->_names) + refs->_nowhere[index];
}

static int compare(const void *a, const void *b, void *names)
{
    return strcmp((const char *)names + *(const size_t *)a,
                  (const char *)names + *(const size_t *)b);
}

void weir__git_refs_sort_nowhere(struct weir__git_refs *refs)
{
    size_t kept = 0;
    if (refs->nowhere_count == 0)
        return;
    qsort_r(refs->_nowhere, refs->nowhere_count, sizeof(*refs->_nowhere), compare,
            refs->_names._data);
    for (size_t i = 0; i < refs->nowhere_count; i++) {
        const char *name = weir__git_refs_nowhere(refs, i);
        if ((kept > 0 && strcmp(name, weir__git_refs_nowhere(refs, kept - 1)) == 0) ||
            weir__git_refs_find(refs, name))
            continue;
        refs->_nowhere[kept++] = refs->_nowhere[i];
    }
    refs->nowhere_count = kept;
}
