/* config_file.c - the file: opened with care, read as TOML, and each of its keys held against the
 * schema. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "config_part.h"
#include "cover.h"
#include "log.h"
#include "sys.h"
#include "toml.h"

#include "banned.h"

#define FULL_NAME_MAX 256

static int cannot_read(struct weir__config_judge *judge, const char *path, const char *why,
                       int error)
{
    weir__config_tell(judge, false, WEIR__TYPED(path), "cannot be read: %s", why);
    return error;
}

/* Opening waits for nobody: a pipe that has no writer is opened at once, and then refused. */
static int open_file(struct weir__config_judge *judge, const char *path, int *ret_fd)
{
    if (strcmp(path, "-") == 0)
        return cannot_read(judge, path,
                           "standard input is not read, since a reload could not read it again",
                           -WEIR_E_INVALID);
    int fd = weir__sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    struct stat st;
    if (fd < 0 || weir__sys_fstat(fd, &st) < 0) {
        int error = weir_error_from_errno(errno);
        const char *why = weir__log_reason(errno);
        weir__sys_close(fd);
        return cannot_read(judge, path, why, error);
    }
    if (!S_ISREG(st.st_mode)) {
        weir__sys_close(fd);
        return cannot_read(judge, path, "it is not a regular file", -WEIR_E_INVALID);
    }
    *ret_fd = fd;
    return 0;
}

/* All of it into text, which has room for one byte more than a file may have. */
static int read_all(struct weir__config_judge *judge, const char *path, int fd, char *text,
                    size_t *ret_length)
{
    size_t length = 0;
    while (length <= WEIR__CONFIG_FILE_MAX) {
        ssize_t count = weir__sys_read(fd, text + length, WEIR__CONFIG_FILE_MAX + 1 - length);
        if (count < 0)
            return cannot_read(judge, path, weir__log_reason(errno), weir_error_from_errno(errno));
        if (count == 0) {
            *ret_length = length;
            return 0;
        }
        length += (size_t)count;
    }
    char why[64];
    snprintf(why, sizeof(why), "it has more than %u bytes", WEIR__CONFIG_FILE_MAX);
    return cannot_read(judge, path, why, -WEIR_E_OVERFLOW);
}

/* --- what is in it --- */

struct reading {
    struct weir__config_judge *judge;
    const char *path; /* memory of the configuration */
};

static struct weir__config_origin origin_of(const struct reading *r,
                                            const struct weir__toml_node *node)
{
    return (struct weir__config_origin){
        .from = WEIR__CONFIG_FROM_FILE, .line = weir__toml_line(node), .name = r->path};
}

/* What a key of each kind is in TOML. */
static const char *form_of(enum weir__config_kind kind)
{
    switch (kind) {
    case WEIR__CONFIG_KIND_BOOL:
        return "true or false, without quotes";
    case WEIR__CONFIG_KIND_COUNT:
        return "a whole number, without quotes";
    case WEIR__CONFIG_KIND_SIZE:
        return "a number of bytes, or a text as \"64KiB\"";
    case WEIR__CONFIG_KIND_DURATION:
        return "a text with a unit, as \"5s\" or \"250ms\"";
    case WEIR__CONFIG_KIND_RATE:
        return "a text as \"50MiB/s\", or a number of bytes a second";
    case WEIR__CONFIG_KIND_RATIO:
        return "a number as 0.5, without quotes";
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
    case WEIR__CONFIG_KIND_WORD:
        break;
    case WEIR__CONFIG_KIND_LIST:
        return "an array of texts, as [\"one\", \"two\"]";
    }
    return "a text in quotes";
}

/* The value as it would stand in the environment, in number if it has to be made; NULL when it is
 * of the wrong kind. */
static const char *text_of(enum weir__config_kind kind, const struct weir__toml_node *node,
                           char number[32])
{
    enum weir__toml_kind given = weir__toml_kind(node);
    if (kind == WEIR__CONFIG_KIND_BOOL)
        return given != WEIR__TOML_BOOL ? NULL : weir__toml_bool(node, false) ? "true" : "false";
    if (kind == WEIR__CONFIG_KIND_RATIO) {
        if (given != WEIR__TOML_REAL && given != WEIR__TOML_INTEGER)
            return NULL;
        snprintf(number, 32, "%.15g", weir__toml_real(node, 0));
        return number;
    }
    if (kind == WEIR__CONFIG_KIND_COUNT || kind == WEIR__CONFIG_KIND_SIZE ||
        kind == WEIR__CONFIG_KIND_RATE || kind == WEIR__CONFIG_KIND_DURATION) {
        if (given == WEIR__TOML_INTEGER) {
            snprintf(number, 32, "%" PRId64, weir__toml_integer(node, 0));
            return number;
        }
        return kind == WEIR__CONFIG_KIND_COUNT ? NULL : weir__toml_string(node);
    }
    return kind == WEIR__CONFIG_KIND_LIST ? NULL : weir__toml_string(node);
}

static int take_list(const struct reading *r, size_t index, const struct weir__toml_node *node)
{
    const struct weir__config_key *key = weir__config_key(r->judge->config->schema, index);
    struct weir__config_origin origin = origin_of(r, node);
    char where[WEIR__CONFIG_LINE_MAX / 2];
    weir__config_where(&origin, where, sizeof(where));
    /* One more than a list may have: whoever has more is refused just as well. */
    const char *items[WEIR__CONFIG_LIST_MAX + 1];
    size_t count = weir__toml_count(node), taken = 0;
    bool is_array = weir__toml_kind(node) == WEIR__TOML_ARRAY;
    for (; is_array && taken < count && taken < WEIR__CONFIG_LIST_MAX + 1; taken++) {
        items[taken] = weir__toml_string(weir__toml_at(node, taken));
        is_array = items[taken] != NULL;
    }
    if (is_array)
        return weir__config_store(r->judge, index, items, taken, false, &origin);
    weir__config_tell(r->judge, false, where, "%s: expected %s", key->name, form_of(key->kind));
    return 0;
}

static int take_key(const struct reading *r, size_t index, const struct weir__toml_node *node)
{
    const struct weir__config_key *key = weir__config_key(r->judge->config->schema, index);
    if (key->kind == WEIR__CONFIG_KIND_LIST)
        return take_list(r, index, node);
    struct weir__config_origin origin = origin_of(r, node);
    char number[32], where[WEIR__CONFIG_LINE_MAX / 2], range[WEIR__CONFIG_RANGE_MAX];
    const char *text = text_of(key->kind, node, number);
    if (text)
        return weir__config_store(r->judge, index, &text, 1, false, &origin);
    weir__config_where(&origin, where, sizeof(where));
    weir__config_range(key, range, sizeof(range));
    weir__config_tell(r->judge, false, where, "%s: expected %s%s%s", key->name, form_of(key->kind),
                      range[0] != '\0' ? ": " : "", range);
    return 0;
}

/* The entries of a table in the order of their lines, as people read what is told of them. */
struct place {
    unsigned line;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct place *order(const struct weir__toml_node *table)
{
    size_t count = weir__toml_count(table);
    struct place *places = weir__base_alloc(count + 1, sizeof(*places));
    for (size_t i = 0; places && i < count; i++)
        places[i] = (struct place){weir__toml_line(weir__toml_at(table, i)), i};
    if (places && count > 1)
        qsort(places, count, sizeof(*places), compare_places);
    return places;
}

static void refuse_unknown(const struct reading *r, const char *name, const char *raw,
                           const struct weir__toml_node *node)
{
    const struct weir__config_schema *schema = r->judge->config->schema;
    struct weir__config_origin origin = origin_of(r, node);
    char where[WEIR__CONFIG_LINE_MAX / 2], nearest[WEIR__CONFIG_NAME_MAX + 32] = "";
    weir__config_where(&origin, where, sizeof(where));
    /* Dear, and of no use when it is only counted. */
    if (r->judge->problems < WEIR__CONFIG_PROBLEMS_MAX)
        weir__config_nearest(schema, name, nearest, sizeof(nearest));
    if (strchr(raw, '.'))
        weir__config_tell(r->judge, false, where,
                          "unknown key '\"%s\"': in quotes a dot is a part of the name",
                          WEIR__TYPED(raw));
    else
        weir__config_tell(r->judge, false, where, "unknown key '%s'%s", WEIR__TYPED(name), nearest);
}

static int take_entry(const struct reading *r, const char *section, const char *raw,
                      const struct weir__toml_node *node)
{
    char name[FULL_NAME_MAX];
    int length = snprintf(name, sizeof(name), "%s.%s", section, raw);
    bool is_whole = length > 0 && (size_t)length < sizeof(name) && !strchr(raw, '.');
    size_t index = is_whole ? weir__config_find(r->judge->config->schema, name) : SIZE_MAX;
    if (index != SIZE_MAX)
        return take_key(r, index, node);
    refuse_unknown(r, name, raw, node);
    return 0;
}

static int take_section(const struct reading *r, const char *section,
                        const struct weir__toml_node *table)
{
    struct place *places = order(table);
    int result = places ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < weir__toml_count(table) && result == 0; i++)
        result = take_entry(r, section, weir__toml_key(table, places[i].index),
                            weir__toml_at(table, places[i].index));
    weir__base_free(places);
    return result;
}

static int take_first(const struct reading *r, const char *name, const struct weir__toml_node *node)
{
    const struct weir__config_schema *schema = r->judge->config->schema;
    size_t index = strchr(name, '.') ? SIZE_MAX : weir__config_find(schema, name);
    bool is_section = weir__config_is_section(schema, name, strlen(name));
    bool is_table = weir__toml_kind(node) == WEIR__TOML_TABLE;
    /* Of a section that is not known, each key may be meant for another place. */
    bool is_searched = is_table && weir__toml_count(node) > 0 && !strchr(name, '.');
    if (index != SIZE_MAX)
        return take_key(r, index, node);
    if ((is_section && is_table) || (!is_section && is_searched))
        return take_section(r, name, node);
    if (!is_section) {
        refuse_unknown(r, name, name, node);
        return 0;
    }
    struct weir__config_origin origin = origin_of(r, node);
    char where[WEIR__CONFIG_LINE_MAX / 2];
    weir__config_where(&origin, where, sizeof(where));
    weir__config_tell(r->judge, false, where, "'%s' is a section: expected [%s]", name, name);
    return 0;
}

static int take_root(const struct reading *r, const struct weir__toml_node *root)
{
    struct place *places = order(root);
    int result = places ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < weir__toml_count(root) && result == 0; i++)
        result = take_first(r, weir__toml_key(root, places[i].index),
                            weir__toml_at(root, places[i].index));
    weir__base_free(places);
    return result;
}

static int take_text(const struct reading *r, const char *text, size_t length)
{
    struct weir__toml *document = NULL;
    struct weir__toml_error error = {0};
    int result = length > WEIR__CONFIG_FILE_MAX ? -WEIR_E_OVERFLOW
                                                : weir__toml_parse(&document, text, length, &error);
    if (result == -WEIR_E_NO_MEMORY)
        return result;
    if (result == -WEIR_E_OVERFLOW)
        return cannot_read(r->judge, r->path, "it has too many bytes or values", result);
    if (result < 0) {
        struct weir__config_origin origin = {
            .from = WEIR__CONFIG_FROM_FILE, .line = error.line, .name = r->path};
        char where[WEIR__CONFIG_LINE_MAX / 2];
        weir__config_where(&origin, where, sizeof(where));
        weir__config_tell(r->judge, false, where, "this is not TOML: %s", error.reason);
        return 0;
    }
    result = take_root(r, weir__toml_root(document));
    weir__toml_free(document);
    return result;
}

int weir__config_read_file(struct weir__config_judge *judge,
                           const struct weir__config_sources *sources)
{
    struct reading reading = {
        .judge = judge,
        .path = weir__config_keep_text(judge->config, sources->file, strlen(sources->file))};
    if (!reading.path)
        return -WEIR_E_NO_MEMORY;
    if (sources->text)
        return take_text(&reading, sources->text, sources->text_length);
    int fd = -1;
    int result = open_file(judge, reading.path, &fd);
    if (result < 0)
        return result;
    size_t length = 0;
    char *text = weir__base_alloc(1, WEIR__CONFIG_FILE_MAX + 1);
    result = text ? read_all(judge, reading.path, fd, text, &length) : -WEIR_E_NO_MEMORY;
    weir__sys_close(fd);
    if (result == 0)
        result = take_text(&reading, text, length);
    weir__base_free(text);
    return result;
}
