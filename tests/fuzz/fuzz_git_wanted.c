/* fuzz_git_wanted.c - trees, commits and tags of any shape, and what of them is wanted.
 *
 * The input makes up a store: trees, commits and tags have the entries, parents and targets that
 * their bytes say; what these name may not exist, may be of another kind or lie in itself. What
 * must hold: a range wants no more than all that is reachable, and no less than what its commits
 * brought, path by path; with little memory it is the same or TooLarge. Beside that, patterns of
 * refs and what is shown of a commit, of any bytes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "commit_about.h"
#include "refs_part.h"
#include "require.h"
#include "tree_entry.h"
#include "wanted.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "git_wanted", #condition)
#define OBJECTS          20u
#define TREES            9u /* the first ones; then commits, then tags */
#define COMMITS          8u
#define BLOBS            8u
#define DEEP             4u
#define PATHS            400u

/* Object n owns the bytes from n * size / OBJECTS on. */
struct store {
    const uint8_t *data;
    size_t size;
};

static char why[WEIR__GIT_FLAW_MAX];

static struct weir__git_id id_of(uint32_t number)
{
    struct weir__git_id id = {{0}};
    id.bytes[0] = (uint8_t)number;
    id.bytes[19] = 1;
    return id;
}

static int put_tree(const uint8_t *data, size_t size, uint32_t number, struct weir__buffer *bytes)
{
    static const char *const modes[] = {"100644", "40000", "100644", "40000", "120000", "160000"};
    int error = 0;
    for (size_t i = 0; !error && i + 1 < size; i += 2) {
        /* Trees lead to later ones, else most of them would lie in themselves. */
        const char *mode = modes[data[i] % 6];
        bool is_tree = mode[0] == '4';
        struct weir__git_id id =
            id_of(is_tree ? number + 1 + data[i + 1] % 4 : 100 + data[i + 1] % BLOBS);
        error = weir__buffer_printf(bytes, "%s %c", mode, 'a' + (data[i] >> 4));
        if (!error)
            error = weir__buffer_putc(bytes, '\0');
        if (!error)
            error = weir__buffer_append(bytes, id.bytes, 20);
    }
    /* Broken behind the last one. */
    return !error && size % 2 && data[size - 1] == 0xff ? weir__buffer_putc(bytes, '1') : error;
}

static int put_commit(const uint8_t *data, size_t size, uint32_t number, struct weir__buffer *bytes)
{
    char hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_id tree = id_of(size > 0 ? data[0] % (TREES + 1) : 0);
    int error = weir__buffer_printf(bytes, "tree %s\n", weir__git_id_hex(&tree, 20, hex));
    for (size_t i = 2; !error && i < size && i < 5; i++) {
        struct weir__git_id parent = id_of(number + 1 + data[i] % 3);
        error = weir__buffer_printf(bytes, "parent %s\n", weir__git_id_hex(&parent, 20, hex));
    }
    if (!error)
        error = weir__buffer_printf(bytes, "author a\ncommitter b <c> %u +0000\n",
                                    size > 1 ? data[1] % 16u : 0);
    return error;
}

static int put_tag(const uint8_t *data, size_t size, struct weir__buffer *bytes)
{
    char hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_id target = id_of(size > 0 ? data[0] % (OBJECTS + 2) : 0);
    return weir__buffer_printf(bytes, "object %s\ntype commit\ntag t\ntagger a <b> %u +0000\n\nm\n",
                               weir__git_id_hex(&target, 20, hex), size > 1 ? data[1] % 16u : 0);
}

static int get(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
               struct weir__buffer *bytes)
{
    const struct store *store = arg;
    uint32_t number = id->bytes[0];
    weir__buffer_truncate(bytes, 0);
    if (number >= OBJECTS || id->bytes[19] != 1)
        return -WEIR_E_NOT_FOUND;
    size_t from = store->size * number / OBJECTS, until = store->size * (number + 1) / OBJECTS;
    const uint8_t *data = store->data + from;
    *ret_type = number < TREES             ? WEIR__GIT_TREE
                : number < TREES + COMMITS ? WEIR__GIT_COMMIT
                                           : WEIR__GIT_TAG;
    if (number < TREES)
        return put_tree(data, until - from, number, bytes);
    if (number < TREES + COMMITS)
        return put_commit(data, until - from, number, bytes);
    return put_tag(data, until - from, bytes);
}

/* --- path by path --- */

struct paths {
    struct path {
        char text[DEEP + 1];
        uint8_t blob;
    } list[PATHS];
    size_t count;
    bool is_cut;
};

static void walk(struct store *store, const struct weir__git_id *tree, const char *before,
                 struct paths *paths)
{
    struct weir__buffer bytes;
    struct weir__git_tree entries;
    struct weir__git_tree_entry entry;
    enum weir__git_type type;
    size_t deep = strlen(before);
    weir__buffer_init(&bytes, 1 << 20);
    if (deep < DEEP && get(store, tree, &type, &bytes) == 0 && type == WEIR__GIT_TREE) {
        weir__git_tree_init(&entries, weir__buffer_text(&bytes), weir__buffer_length(&bytes), 20);
        while (!paths->is_cut && weir__git_tree_next(&entries, &entry, why) > 0) {
            char path[DEEP + 1] = {0};
            memcpy(path, before, deep);
            path[deep] = entry.name[0];
            if (weir__git_mode_is_submodule(entry.mode))
                continue;
            if (weir__git_mode_is_tree(entry.mode)) {
                walk(store, &entry.id, path, paths);
                continue;
            }
            paths->is_cut = paths->count == PATHS;
            if (!paths->is_cut) {
                memcpy(paths->list[paths->count].text, path, sizeof(path));
                paths->list[paths->count++].blob = entry.id.bytes[0];
            }
        }
    }
    weir__buffer_fini(&bytes);
}

static bool has_path(const struct paths *paths, const struct path *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->list[i].blob == path->blob && strcmp(paths->list[i].text, path->text) == 0)
            return true;
    return false;
}

/* Everything that the commit brought is wanted. */
static void check_commit(struct store *store, struct weir__git_wanted *wanted, uint32_t number)
{
    static struct paths own, parents;
    struct weir__git_id tree;
    uint32_t parent;
    own.count = parents.count = 0;
    own.is_cut = parents.is_cut = false;
    if (!weir__git_history_tree(&wanted->history, number, &tree))
        return;
    walk(store, &tree, "", &own);
    for (uint64_t at = WEIR__GIT_PARENTS;
         weir__git_history_parent(&wanted->history, number, &at, &parent);)
        if (weir__git_history_tree(&wanted->history, parent, &tree))
            walk(store, &tree, "", &parents);
    for (size_t i = 0; i < own.count && !parents.is_cut; i++) {
        struct weir__git_id blob = id_of(own.list[i].blob);
        HOLDS(has_path(&parents, &own.list[i]) ||
              weir__git_wanted_is(wanted, &blob, WEIR__GIT_BLOB));
    }
}

/* --- ways to ask --- */

static void check_store(struct store *store, const struct weir__git_refs *refs, unsigned choice)
{
    struct weir__git_names names = {refs, 20, get, store, NULL, NULL};
    struct weir__git_wanted all, some, less;
    struct weir__git_wanted_options options;
    char hex[2][WEIR__GIT_HEX_SIZE], range[2 * WEIR__GIT_HEX_SIZE + 4];
    const char *ranges[] = {range};
    struct weir__git_id left = id_of(TREES + choice % COMMITS);
    struct weir__git_id right = id_of(TREES + choice / 8 % COMMITS);
    weir__git_wanted_options_init(&options);
    options.names = &names;
    HOLDS(weir__git_wanted_init(&all, &options, why) == 0);
    for (uint32_t i = 0; i < weir__git_history_count(&all.history); i++)
        if (weir__git_history_has(&all.history, i))
            check_commit(store, &all, i);
    snprintf(range, sizeof(range), "%s%s%s", weir__git_id_hex(&left, 20, hex[0]),
             choice & 128 ? "..." : "..", weir__git_id_hex(&right, 20, hex[1]));
    options.ranges = ranges;
    options.ranges_count = (choice & 64) != 0;
    options.since = choice & 256 ? choice % 16 : WEIR__GIT_SINCE_EVER;
    HOLDS(weir__git_wanted_init(&some, &options, why) == 0);
    for (uint32_t i = 0; i < weir__git_set_count(&some.objects); i++) {
        struct weir__git_id id = weir__git_set_id(&some.objects, i);
        /* Both commits of the range are refs. */
        HOLDS(weir__git_wanted_is(&all, &id, WEIR__GIT_BLOB));
    }
    for (uint32_t i = 0; i < weir__git_history_count(&some.history); i++)
        if (weir__git_history_has(&some.history, i))
            check_commit(store, &some, i);
    options.bytes_max = 300000 + 997 * (uint64_t)choice;
    int error = weir__git_wanted_init(&less, &options, why);
    HOLDS(error == -WEIR_E_TOO_LARGE ||
          (error == 0 && weir__git_set_count(&less.objects) == weir__git_set_count(&some.objects)));
    weir__git_wanted_fini(&less);
    weir__git_wanted_fini(&some);
    weir__git_wanted_fini(&all);
}

/* --- texts --- */

static void check_shown(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    HOLDS(length < size);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        HOLDS(c >= ' ' && c != 0x7f);
        HOLDS(c != 0xc2 || (unsigned char)text[i + 1] >= 0xa0);
    }
}

static void check_texts(const uint8_t *data, size_t size)
{
    struct weir__git_about about;
    struct weir__buffer bytes;
    weir__buffer_init(&bytes, 1 << 20);
    HOLDS(weir__buffer_printf(&bytes, "tree %040d\nauthor ", 1) == 0);
    HOLDS(weir__buffer_append(&bytes, data, size) == 0);
    HOLDS(weir__buffer_puts(&bytes, "\ncommitter ") == 0);
    HOLDS(weir__buffer_append(&bytes, data, size) == 0);
    if (weir__git_about_commit(&about, weir__buffer_text(&bytes), weir__buffer_length(&bytes), 20,
                               why) == 0) {
        check_shown(about.author, sizeof(about.author));
        check_shown(about.mail, sizeof(about.mail));
        check_shown(about.subject, sizeof(about.subject));
    }
    weir__buffer_truncate(&bytes, 0);
    HOLDS(weir__buffer_append(&bytes, data, size) == 0);
    /* The buffer ends with a NUL. */
    int result = weir__git_ref_matches(weir__buffer_text(&bytes), "refs/heads/a/b");
    HOLDS(result == 0 || result == 1 || result == -WEIR_E_TOO_LARGE);
    weir__buffer_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__git_refs refs;
    struct weir__git_refs_options options = {.gitdir = "", .commondir = "", .id_size = 20};
    char name[32];
    if (size < 2)
        return 0;
    unsigned choice = data[0] | (unsigned)data[1] << 8;
    struct store store = {data + 2, size - 2 < 600 ? size - 2 : 600};
    weir__git_refs_init(&refs, &options);
    for (uint32_t i = 0; i < OBJECTS; i++) {
        struct weir__git_ref ref = {.id = id_of(i)};
        snprintf(name, sizeof(name), "refs/heads/%02u", i);
        if (i >= TREES)
            HOLDS(weir__git_refs_add(&refs, name, strlen(name), &ref, NULL) == 0);
    }
    check_store(&store, &refs, choice);
    check_texts(store.data, store.size);
    weir__git_refs_fini(&refs);
    return 0;
}
