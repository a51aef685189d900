/* rules_table.c - tables of TOML into structs.
 *
 * Which keys a table can have is a list of fields; everything that is the same for all of them is
 * done here: keys in any case, a value of the wrong kind, a key that nobody knows.
 */
#include "rules_part.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include <weir/error.h>

#include "cover.h"
#include "suggest.h"
#include "text.h"

#include "banned.h"

struct value {
    const struct weir__load *load;
    const struct weir__toml_node *node;
    const char *where; /* for messages */
    const struct weir__field *field;
    char *into; /* the member of the struct */
};

static const char *kind_name(enum weir__toml_kind kind)
{
    static const char *const names[] = {
        [WEIR__TOML_TABLE] = "a table",   [WEIR__TOML_ARRAY] = "a list",
        [WEIR__TOML_STRING] = "a string", [WEIR__TOML_INTEGER] = "a whole number",
        [WEIR__TOML_REAL] = "a number",   [WEIR__TOML_BOOL] = "true or false",
        [WEIR__TOML_TIME] = "a time",
    };
    return names[kind];
}

const struct weir__toml_node *weir__rules_get(const struct weir__toml_node *table, const char *key)
{
    for (size_t i = 0; i < weir__toml_count(table); i++) {
        const char *known = weir__toml_key(table, i);
        if (known && strcasecmp(known, key) == 0)
            return weir__toml_at(table, i);
    }
    return NULL;
}

static int wrong_kind(const struct value *value, const char *wanted)
{
    return weir__rules_refuse(value->load, weir__toml_line(value->node),
                              "%s'%s' is %s, and must be %s", value->where, value->field->name,
                              kind_name(weir__toml_kind(value->node)), wanted);
}

static int read_text(const struct value *value)
{
    const char *text = weir__toml_string(value->node);
    if (!text)
        return wrong_kind(value, "a string");
    char *copy = weir__rules_text(value->load->set, text, strlen(text));
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    memcpy(value->into, &copy, sizeof(copy));
    return 0;
}

/* Appends what is not empty; there is room for it. */
static int add_string(const struct value *value, struct weir__strings *strings, const char *text,
                      size_t length)
{
    if (length == 0)
        return weir__rules_note(value->load, value->load->file, weir__toml_line(value->node),
                                "%s'%s' has an empty string, which was passed over", value->where,
                                value->field->name);
    char *copy = weir__rules_text(value->load->set, text, length);
    if (!copy)
        return -WEIR_E_NO_MEMORY;
    strings->items[strings->count++] = copy;
    return 0;
}

static int split_string(const struct value *value, struct weir__strings *strings, const char *text)
{
    int error = 0;
    while (*text && !error) {
        size_t length = strcspn(text, ",");
        error = add_string(value, strings, text, length);
        text += length + (text[length] == ',');
    }
    return error;
}

static int read_strings(const struct value *value)
{
    const char *text = weir__toml_string(value->node);
    size_t count = weir__toml_count(value->node);
    bool is_split = text && value->field->kind == WEIR__FIELD_WORDS;
    if (!text && weir__toml_kind(value->node) != WEIR__TOML_ARRAY)
        return wrong_kind(value, "a list of strings");
    for (const char *p = text; p && *p; p++)
        count += *p == ',';
    struct weir__strings strings = {weir__rules_alloc(value->load->set, count + 1, sizeof(char *)),
                                    0};
    if (!strings.items)
        return -WEIR_E_NO_MEMORY;
    int error = 0;
    if (is_split)
        error = split_string(value, &strings, text);
    else if (text)
        error = add_string(value, &strings, text, strlen(text));
    for (size_t i = 0; !text && i < count && !error; i++) {
        const char *item = weir__toml_string(weir__toml_at(value->node, i));
        error = item ? add_string(value, &strings, item, strlen(item))
                     : wrong_kind(value, "a list of strings and nothing else");
    }
    if (!error)
        memcpy(value->into, &strings, sizeof(strings));
    return error;
}

static int read_count(const struct value *value)
{
    if (weir__toml_kind(value->node) != WEIR__TOML_INTEGER)
        return wrong_kind(value, "a whole number");
    int64_t number = weir__toml_integer(value->node, 0);
    if (number < 0 || number > value->field->max)
        return weir__rules_refuse(
            value->load, weir__toml_line(value->node), "%s'%s' is %lld, and must be from 0 to %lld",
            value->where, value->field->name, (long long)number, (long long)value->field->max);
    memcpy(value->into, &number, sizeof(number));
    return 0;
}

static int read_real(const struct value *value)
{
    enum weir__toml_kind kind = weir__toml_kind(value->node);
    if (kind != WEIR__TOML_INTEGER && kind != WEIR__TOML_REAL)
        return wrong_kind(value, "a number");
    double number = weir__toml_real(value->node, 0);
    if (!(number >= 0 && number <= (double)value->field->max))
        return weir__rules_refuse(value->load, weir__toml_line(value->node),
                                  "%s'%s' is %g, and must be from 0 to %lld", value->where,
                                  value->field->name, number, (long long)value->field->max);
    memcpy(value->into, &number, sizeof(number));
    return 0;
}

static int read_bool(const struct value *value)
{
    if (weir__toml_kind(value->node) != WEIR__TOML_BOOL)
        return wrong_kind(value, "true or false");
    bool is_true = weir__toml_bool(value->node, false);
    memcpy(value->into, &is_true, sizeof(is_true));
    return 0;
}

int weir__rules_read_words(const struct weir__load *load, const struct weir__toml_node *node,
                           const char *where, const char *name, struct weir__strings *into)
{
    const struct weir__field field = {name, WEIR__FIELD_WORDS, 0, 0};
    const struct value value = {load, node, where, &field, (char *)into};
    return read_strings(&value);
}

static int read_value(const struct value *value)
{
    switch (value->field->kind) {
    case WEIR__FIELD_TEXT:
        return read_text(value);
    case WEIR__FIELD_WORDS:
    case WEIR__FIELD_EXPRESSIONS:
        return read_strings(value);
    case WEIR__FIELD_COUNT:
        return read_count(value);
    case WEIR__FIELD_REAL:
        return read_real(value);
    case WEIR__FIELD_BOOL:
        return read_bool(value);
    case WEIR__FIELD_ELSEWHERE:
        break;
    }
    return 0;
}

static int note_unknown(const struct weir__load *load, const struct weir__toml_node *node,
                        const char *where, const char *key, const struct weir__field *fields,
                        size_t fields_count)
{
    struct weir__suggestion suggestion = {0};
    for (size_t i = 0; i < fields_count; i++)
        weir__suggest_offer(&suggestion, key, fields[i].name);
    bool has_one = suggestion.word[0] != '\0';
    return weir__rules_note(load, load->file, weir__toml_line(node),
                            "%s'%s' is not known and was passed over%s%s%s", where,
                            WEIR__TYPED(key), has_one ? "; did you mean '" : "", suggestion.word,
                            has_one ? "'?" : "");
}

int weir__rules_read_fields(const struct weir__load *load, const struct weir__toml_node *table,
                            const char *where, const struct weir__field *fields,
                            size_t fields_count, void *into)
{
    int error = 0;
    for (size_t i = 0; i < weir__toml_count(table) && !error; i++) {
        const char *key = weir__toml_key(table, i);
        const struct weir__field *field = fields, *end = fields + fields_count;
        while (field < end && strcasecmp(field->name, key) != 0)
            field++;
        if (field == end) {
            error = note_unknown(load, weir__toml_at(table, i), where, key, fields, fields_count);
            continue;
        }
        struct value value = {load, weir__toml_at(table, i), where, field,
                              (char *)into + field->offset};
        error = read_value(&value);
    }
    return error;
}
