/* wanted.c - the order of things: starts, commits, tags, trees, what is staged. */
#include "wanted_part.h"

#include <inttypes.h>
#include <stdio.h>

#include "alloc.h"
#include "attribute.h"
#include "index_file.h"
#include "text.h"
#include "tree_entry.h"
#include "worktrees.h"

#include "banned.h"

#define ROOM_FIRST 64u

void weir__git_wanted_options_init(struct weir__git_wanted_options *options)
{
    *options = (struct weir__git_wanted_options){.since = WEIR__GIT_SINCE_EVER};
}

void weir__git_wanted_tell(struct weir__git_wanted *wanted, const char *format, ...)
{
    char text[WEIR__GIT_PROBLEM_MAX];
    va_list args;
    wanted->problems++;
    if (!wanted->_options.problem)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    wanted->_options.problem(wanted->_options.problem_arg, text);
}

/* --- within the limit --- */

static uint64_t bytes_taken(const struct weir__git_wanted *wanted)
{
    const struct weir__git_history *history = &wanted->history;
    return weir__git_set_bytes(&history->_set) + history->_edges_bytes +
           history->_heap_room * sizeof(*history->_heap) + weir__git_set_bytes(&wanted->objects) +
           weir__git_set_bytes(&wanted->_whole) + weir__git_set_bytes(&wanted->_compared) +
           wanted->_tags_room * sizeof(*wanted->_tags) +
           wanted->_pairs_room * sizeof(*wanted->_pairs) +
           wanted->_ids_room * sizeof(*wanted->_ids) + wanted->_subs_room * sizeof(*wanted->_subs);
}

int weir__git_wanted_put(struct weir__git_wanted *wanted, struct weir__git_set *set,
                         const struct weir__git_id *id, uint32_t *ret_number)
{
    uint64_t taken = bytes_taken(wanted), most = wanted->_options.bytes_max;
    set->_bytes_max = weir__git_set_bytes(set) + (most > taken ? most - taken : 0);
    return weir__git_set_add(set, id, ret_number);
}

int weir__git_wanted_add(struct weir__git_wanted *wanted, const struct weir__git_id *id,
                         enum weir__git_type type)
{
    uint32_t number, record = (uint32_t)type;
    int result = weir__git_wanted_put(wanted, &wanted->objects, id, &number);
    if (result > 0)
        memcpy(weir__git_set_extra(&wanted->objects, number), &record, sizeof(record));
    return result < 0 ? result : 0;
}

int weir__git_wanted_room(struct weir__git_wanted *wanted, void **array, size_t *room, size_t count,
                          size_t size)
{
    if (count < *room)
        return 0;
    size_t more = *room ? *room * 2 : ROOM_FIRST;
    if (bytes_taken(wanted) + (more - *room) * size > wanted->_options.bytes_max)
        return -WEIR_E_TOO_LARGE;
    void *grown = weir__base_realloc(*array, more, size);
    if (!grown)
        return -WEIR_E_NO_MEMORY;
    *array = grown;
    *room = more;
    return 0;
}

/* --- what is staged --- */

static int take_entry(void *arg, const struct weir__git_index_entry *entry)
{
    struct weir__git_wanted *wanted = arg;
    if (entry->is_intent_to_add || weir__git_mode_is_submodule(entry->mode))
        return 0;
    if (weir__git_mode_is_tree(entry->mode))
        return weir__git_wanted_take(wanted, &entry->id);
    return weir__git_wanted_add(wanted, &entry->id, WEIR__GIT_BLOB);
}

/* Of the folder of a working tree. */
static int take_index(void *arg, int dir, const char *said)
{
    struct weir__git_wanted *wanted = arg;
    char why[WEIR__GIT_FLAW_MAX] = "";
    int error = weir__git_index_read(dir, "index", wanted->_options.names->id_size,
                                     wanted->_options.index_max, take_entry, wanted, why);
    if (error == 0 || error == -WEIR_E_NOT_FOUND)
        return 0;
    /* TooLarge without a reason is the limit of what is wanted. */
    if (weir__git_wanted_is_fatal(error) || (error == -WEIR_E_TOO_LARGE && !why[0]))
        return error;
    weir__git_wanted_tell(wanted, "the index of '%s': %s", WEIR__CLIPPED(said),
                          why[0] ? why : weir_error_text(error));
    return 0;
}

static void on_problem(void *arg, const char *text)
{
    weir__git_wanted_tell(arg, "%s", text);
}

bool weir__git_wanted_has_staged(const struct weir__git_wanted *wanted)
{
    const struct weir__git_wanted_options *options = &wanted->_options;
    return options->gitdir && options->since == WEIR__GIT_SINCE_EVER && options->refs_count == 0 &&
           options->ranges_count == 0;
}

static int take_staged(struct weir__git_wanted *wanted)
{
    const struct weir__git_wanted_options *options = &wanted->_options;
    return weir__git_worktrees_each(options->gitdir, options->commondir, take_index, wanted,
                                    on_problem, wanted);
}

/* --- life --- */

static int run(struct weir__git_wanted *wanted, char why[WEIR__GIT_FLAW_MAX])
{
    const struct weir__git_wanted_options *options = &wanted->_options;
    struct weir__git_history_options history = {
        .id_size = options->names->id_size,
        .get = options->names->get,
        .get_arg = options->names->get_arg,
        .graph = options->graph,
        .shallow = options->shallow,
        .shallow_count = options->shallow_count,
        .bytes_max = options->bytes_max,
        .has_trees = true,
        .problem = options->problem,
        .problem_arg = options->problem_arg,
        .stop = options->stop,
    };
    int error = weir__git_history_init(&wanted->history, &history);
    if (!error)
        error = weir__git_wanted_starts(wanted, why);
    if (!error)
        error = weir__git_history_walk(&wanted->history, options->since);
    if (!error)
        error = weir__git_wanted_tags(wanted);
    if (!error && weir__git_wanted_has_staged(wanted))
        error = take_staged(wanted);
    if (!error)
        error = weir__git_wanted_trees(wanted);
    wanted->problems += wanted->history.problems;
    return error;
}

int weir__git_wanted_init(struct weir__git_wanted *wanted,
                          const struct weir__git_wanted_options *options,
                          char why[WEIR__GIT_FLAW_MAX])
{
    *wanted = (struct weir__git_wanted){._options = *options};
    if (wanted->_options.bytes_max == 0)
        wanted->_options.bytes_max = WEIR__GIT_WANTED_BYTES;
    size_t id_size = options->names->id_size;
    weir__git_set_init(&wanted->objects, id_size, sizeof(uint32_t), 0);
    weir__git_set_init(&wanted->_whole, id_size, 0, 0);
    weir__git_set_init(&wanted->_compared, WEIR__GIT_ID_SIZE_MAX, 0, 0);
    weir__buffer_init(&wanted->_bytes, WEIR__GIT_TREE_BYTES_MAX);
    weir__buffer_init(&wanted->_others, WEIR__GIT_TREE_BYTES_MAX);
    weir__buffer_init(&wanted->_marks, WEIR__GIT_TREE_BYTES_MAX);
    why[0] = '\0';
    int error = run(wanted, why);
    if (error == -WEIR_E_TOO_LARGE && !why[0])
        snprintf(why, WEIR__GIT_FLAW_MAX,
                 "to know which objects are wanted takes more than the %" PRIu64
                 " MiB of memory that are allowed for it: narrow it further, or allow more",
                 wanted->_options.bytes_max >> 20);
    else if (error && !why[0])
        snprintf(why, WEIR__GIT_FLAW_MAX, "which objects are wanted cannot be said: %s",
                 weir_error_text(error));
    return error;
}

void weir__git_wanted_fini(struct weir__git_wanted *wanted)
{
    if (!wanted)
        return;
    weir__git_history_fini(&wanted->history);
    weir__git_set_fini(&wanted->objects);
    weir__git_set_fini(&wanted->_whole);
    weir__git_set_fini(&wanted->_compared);
    weir__base_free(wanted->_tags);
    weir__base_free(wanted->_pairs);
    weir__base_free(wanted->_ids);
    weir__base_free(wanted->_ends);
    weir__base_free(wanted->_subs);
    weir__buffer_fini(&wanted->_bytes);
    weir__buffer_fini(&wanted->_others);
    weir__buffer_fini(&wanted->_marks);
    *wanted = (struct weir__git_wanted){0};
}

bool weir__git_wanted_is(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    const struct weir__git_wanted *wanted = arg;
    (void)type;
    return weir__git_set_find(&wanted->objects, id) != WEIR__GIT_SET_NONE;
}

enum weir__git_type weir__git_wanted_type(const struct weir__git_wanted *wanted, uint32_t number)
{
    uint32_t record;
    memcpy(&record, weir__git_set_extra(&wanted->objects, number), sizeof(record));
    return (enum weir__git_type)record;
}
