/* config_schema.c - the tables themselves: finding keys and sections, the nearest name, soundness.
 */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "config_part.h"
#include "require.h"
#include "suggest.h"

#include "banned.h"

/* A name this near to a key is a slip of the hand, whatever else has the same last part. */
#define SLIP_MAX 1

/* Where the key is: its table, and its place there. False beyond the last. */
static bool locate(const struct weir__config_schema *schema, size_t index, size_t *ret_table,
                   size_t *ret_key)
{
    for (size_t t = 0; schema->tables[t]; t++) {
        const struct weir__config_key *keys = schema->tables[t]->keys;
        for (size_t k = 0; keys[k].name; k++, index--) {
            if (index > 0)
                continue;
            *ret_table = t;
            *ret_key = k;
            return true;
        }
    }
    return false;
}

const struct weir__config_key *weir__config_key(const struct weir__config_schema *schema,
                                                size_t index)
{
    size_t table, at;
    if (!locate(schema, index, &table, &at))
        return NULL;
    const struct weir__config_key *key = &schema->tables[table]->keys[at];
    for (const struct weir__config_key *other = schema->instead; other && other->name; other++)
        if (strcmp(other->name, key->name) == 0)
            return other;
    return key;
}

const struct weir__config_table *weir__config_table_of(const struct weir__config_schema *schema,
                                                       size_t index)
{
    size_t table, key;
    return locate(schema, index, &table, &key) ? schema->tables[table] : NULL;
}

void *weir__config_field(const struct weir__config *config, size_t index)
{
    size_t table = 0, key = 0;
    bool is_there = locate(config->schema, index, &table, &key);
    WEIR__REQUIRE(is_there, "configuration", "field", "there is no such key");
    return (char *)config->values[table] + config->schema->tables[table]->keys[key].offset;
}

size_t weir__config_find(const struct weir__config_schema *schema, const char *name)
{
    const struct weir__config_key *key;
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++)
        if (strcmp(key->name, name) == 0)
            return i;
    return SIZE_MAX;
}

size_t weir__config_section_length(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

bool weir__config_is_section(const struct weir__config_schema *schema, const char *name,
                             size_t length)
{
    const struct weir__config_key *key;
    for (size_t i = 0; length > 0 && (key = weir__config_key(schema, i)); i++)
        if (weir__config_section_length(key->name) == length &&
            strncmp(key->name, name, length) == 0)
            return true;
    return false;
}

/* Whether the key may be meant. Where the section is right it says nothing about the rest. */
static bool may_be_meant(const struct weir__config_key *key, const char *name, const char *last)
{
    struct weir__suggestion suggestion = {.word = ""};
    size_t section = weir__config_section_length(key->name);
    size_t given = last > name ? (size_t)(last - name) - 1 : 0;
    if (section == 0 || section != given || strncmp(key->name, name, section) != 0)
        return true;
    weir__suggest_offer(&suggestion, last, key->name + section + 1);
    return suggestion.word[0] != '\0';
}

void weir__config_nearest(const struct weir__config_schema *schema, const char *name, char *text,
                          size_t size)
{
    struct weir__suggestion suggestion = {.word = ""};
    const struct weir__config_key *key, *same = NULL;
    const char *last = strrchr(name, '.');
    last = last ? last + 1 : name;
    for (size_t i = 0; (key = weir__config_key(schema, i)); i++) {
        size_t section = weir__config_section_length(key->name);
        /* The right name in the wrong section, or in none. */
        if (strcmp(key->name + (section > 0 ? section + 1 : 0), last) == 0 && !same)
            same = key;
        if (may_be_meant(key, name, last))
            weir__suggest_offer(&suggestion, name, key->name);
    }
    bool is_slip = weir__suggest_distance(name, suggestion.word) <= SLIP_MAX;
    const char *near = same && !is_slip ? same->name : suggestion.word;
    text[0] = '\0';
    if (near[0] != '\0')
        snprintf(text, size, "; did you mean '%s'?", near);
}

void weir__config_variable(const struct weir__config_key *key, char text[WEIR__CONFIG_NAME_MAX + 8])
{
    snprintf(text, WEIR__CONFIG_NAME_MAX + 8, "WEIR_%s", key->name);
    for (char *p = text; *p; p++) {
        if (*p == '.')
            *p = '_';
        else if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    }
}

/* --- soundness --- */

/* small_letters, with one dot at most. */
static bool is_name(const char *name)
{
    size_t dots = 0;
    for (const char *p = name; *p; p++) {
        bool is_letter = *p >= 'a' && *p <= 'z', is_first = p == name || p[-1] == '.';
        dots += *p == '.';
        if (!is_letter && (is_first || (*p != '_' && *p != '.' && !(*p >= '0' && *p <= '9'))))
            return false;
    }
    size_t length = strlen(name);
    return dots <= 1 && length > 0 && length <= WEIR__CONFIG_NAME_MAX && name[length - 1] != '.';
}

static bool is_help_line(const char *text)
{
    return text && *text && !strchr(text, '\n') && !strchr(text, '|') &&
           text[strlen(text) - 1] != '.';
}

static void check_key(const struct weir__config_key *key)
{
    const char *name = key->name;
    bool is_word = key->kind == WEIR__CONFIG_KIND_WORD;
    bool is_text = key->kind == WEIR__CONFIG_KIND_TEXT || key->kind == WEIR__CONFIG_KIND_PATH;
    bool is_list = key->kind == WEIR__CONFIG_KIND_LIST;
    bool is_bounded =
        is_list || (key->kind >= WEIR__CONFIG_KIND_COUNT && key->kind <= WEIR__CONFIG_KIND_RATIO);
    WEIR__REQUIRE(is_name(name), "key", name, "its name is not of a-z, 0-9, _ and one dot");
    WEIR__REQUIRE(is_help_line(key->help), "key", name,
                  "it needs one line of help without a full stop");
    WEIR__REQUIRE(!key->detail || (*key->detail && !strpbrk(key->detail, "\n|")), "key", name,
                  "its detail is one paragraph without bars");
    WEIR__REQUIRE(key->preset, "key", name, "it needs a default");
    WEIR__REQUIRE(is_word == (key->words != NULL), "key", name,
                  "words belong to a word, and to nothing else");
    WEIR__REQUIRE(!key->check || is_text || is_list, "key", name, "a check is for texts");
    WEIR__REQUIRE(is_bounded || (key->min == 0 && key->max == 0), "key", name,
                  "bounds are for numbers and lists");
    WEIR__REQUIRE(key->max == 0 || key->min <= key->max, "key", name,
                  "its minimum is above its maximum");
    WEIR__REQUIRE(!is_list || (key->max <= WEIR__CONFIG_LIST_MAX && !key->nothing), "key", name,
                  "its list is too long, or has a word for nothing");
}

static void check_apart(const struct weir__config_schema *schema, size_t index)
{
    const struct weir__config_key *key = weir__config_key(schema, index), *other;
    char mine[WEIR__CONFIG_NAME_MAX + 8], theirs[WEIR__CONFIG_NAME_MAX + 8];
    weir__config_variable(key, mine);
    for (size_t i = 0; i < index && (other = weir__config_key(schema, i)); i++) {
        weir__config_variable(other, theirs);
        WEIR__REQUIRE(strcmp(mine, theirs) != 0, "key", key->name,
                      "another has its name or its variable");
    }
    WEIR__REQUIRE(!weir__config_is_section(schema, key->name, strlen(key->name)), "key", key->name,
                  "a section has its name");
    for (size_t i = 0; schema->variables && schema->variables[i]; i++)
        WEIR__REQUIRE(strcmp(mine, schema->variables[i]) != 0, "key", key->name,
                      "its variable is one that weir uses otherwise");
}

/* One that is described otherwise is still the same field. */
static void check_instead(const struct weir__config_schema *schema,
                          const struct weir__config_key *key)
{
    bool is_there = false;
    for (size_t t = 0; schema->tables[t]; t++)
        for (const struct weir__config_key *own = schema->tables[t]->keys; own->name; own++)
            is_there = is_there || (strcmp(own->name, key->name) == 0 && own->kind == key->kind &&
                                    own->offset == key->offset);
    WEIR__REQUIRE(is_there, "key", key->name, "it stands for none of the tables");
}

void weir__config_check_schema(const struct weir__config_schema *schema)
{
    for (const struct weir__config_key *key = schema->instead; key && key->name; key++)
        check_instead(schema, key);
    size_t count = 0;
    for (; schema->tables[count]; count++)
        WEIR__REQUIRE(count < WEIR__CONFIG_TABLES_MAX, "configuration", schema->tables[count]->name,
                      "there are more tables than a schema may have");
    const struct weir__config_key *key;
    for (count = 0; (key = weir__config_key(schema, count)); count++) {
        WEIR__REQUIRE(count < WEIR__CONFIG_KEYS_MAX, "key", key->name,
                      "there are more keys than a schema may have");
        check_key(key);
        check_apart(schema, count);
    }
    /* Loading nothing stores every default and asserts that it is allowed. */
    struct weir__config *config = NULL;
    int result = weir__config_load(&config, schema, &(struct weir__config_sources){0}, NULL);
    WEIR__REQUIRE(result != -WEIR_E_INVALID, "configuration", "defaults",
                  "they do not fit together");
    weir__config_unref(config);
}
