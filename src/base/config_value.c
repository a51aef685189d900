/* config_value.c - texts to fields and back, one function per kind. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "config_part.h"
#include "cover.h"
#include "option_value.h"
#include "suggest.h"
#include "text.h"
#include "values.h"

#include "banned.h"

/* How each kind is spoken of. Kinds that are no numbers have no noun. */
static const struct kind {
    const char *name;
    const char *noun;
    const char *form;
    enum weir__unit unit;
} kinds[] = {
    [WEIR__CONFIG_KIND_BOOL] = {"bool", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__CONFIG_KIND_COUNT] = {"count", "a number", "digits alone", WEIR__UNIT_COUNT},
    [WEIR__CONFIG_KIND_SIZE] = {"size", "a size", "bytes, as in 512, \"64KiB\" or \"1.5GiB\"",
                                WEIR__UNIT_SIZE},
    [WEIR__CONFIG_KIND_DURATION] = {"duration", "a duration",
                                    "a number with its unit, as in \"250ms\", \"5s\" or \"1h\"",
                                    WEIR__UNIT_DURATION},
    [WEIR__CONFIG_KIND_RATE] = {"rate", "a rate", "bytes a second, as in \"50MiB/s\"",
                                WEIR__UNIT_RATE},
    [WEIR__CONFIG_KIND_RATIO] = {"ratio", "a ratio", "a number as 0.5, with three decimals at most",
                                 WEIR__UNIT_RATIO},
    [WEIR__CONFIG_KIND_TEXT] = {"text", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__CONFIG_KIND_PATH] = {"path", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__CONFIG_KIND_WORD] = {"word", NULL, NULL, WEIR__UNIT_COUNT},
    [WEIR__CONFIG_KIND_LIST] = {"list", NULL, NULL, WEIR__UNIT_COUNT},
};

const char *weir__config_kind_name(enum weir__config_kind kind)
{
    return kinds[kind].name;
}

/* As weir__value_format(), but with KiB for k and B for bytes: a file is read by people who did not
 * write it. */
static void format_number(enum weir__config_kind kind, uint64_t value,
                          char text[WEIR__VALUE_TEXT_MAX])
{
    char plain[WEIR__VALUE_TEXT_MAX];
    weir__value_format(kinds[kind].unit, value, plain);
    int digits = (int)strspn(plain, "0123456789");
    bool is_size = kind == WEIR__CONFIG_KIND_SIZE || kind == WEIR__CONFIG_KIND_RATE;
    bool is_bare = plain[digits] == '/' || plain[digits] == '\0';
    char unit[] = {plain[digits] == 'k' ? 'K' : plain[digits], 'i', 'B', '\0'};
    if (value == 0)
        snprintf(text, WEIR__VALUE_TEXT_MAX, "0");
    else if (is_size)
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%.*s%s%s", digits, plain, is_bare ? "B" : unit,
                 kind == WEIR__CONFIG_KIND_RATE ? "/s" : "");
    else
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%s", plain);
}

static void range_of_number(const struct weir__config_key *key, char *text, size_t size)
{
    char min[WEIR__VALUE_TEXT_MAX], max[WEIR__VALUE_TEXT_MAX], zero[80] = "";
    format_number(key->kind, key->min, min);
    format_number(key->kind, key->max, max);
    if (key->nothing)
        snprintf(zero, sizeof(zero), "0 (%s)%s", key->nothing, key->min > 0 ? " or " : "");
    if (key->nothing && key->min == 0)
        snprintf(text, size, "%s %s%s", zero, key->max ? "to " : "or more", key->max ? max : "");
    else if (key->max != 0)
        snprintf(text, size, "%s%s to %s", zero, min, max);
    else if (key->min > 0)
        snprintf(text, size, "%sat least %s", zero, min);
}

static size_t entries_max(const struct weir__config_key *key)
{
    return key->max ? (size_t)key->max : WEIR__CONFIG_LIST_MAX;
}

void weir__config_range(const struct weir__config_key *key, char *text, size_t size)
{
    text[0] = '\0';
    switch (key->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        snprintf(text, size, "true or false");
        break;
    case WEIR__CONFIG_KIND_WORD:
        weir__words_join(key->words, text, size);
        break;
    case WEIR__CONFIG_KIND_LIST:
        snprintf(text, size, "%llu to %zu entries", (unsigned long long)key->min, entries_max(key));
        break;
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
        if (key->nothing)
            snprintf(text, size, "empty (%s) or a %s", key->nothing, kinds[key->kind].name);
        break;
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
    case WEIR__CONFIG_KIND_RATIO:
        range_of_number(key, text, size);
        break;
    }
}

/* --- texts to fields --- */

/* One text on its way into a field. */
struct entry {
    struct weir__config_judge *judge;
    const struct weir__config_key *key;
    const char *where;
    const char *text;
    void *field;
};

static void store_bool(const struct entry *e)
{
    bool value = strcmp(e->text, "true") == 0;
    if (!value && strcmp(e->text, "false") != 0)
        weir__config_tell(e->judge, false, e->where, "%s: '%s' is neither true nor false",
                          e->key->name, WEIR__TYPED(e->text));
    else
        memcpy(e->field, &value, sizeof(value));
}

static void store_number(const struct entry *e)
{
    const struct kind *kind = &kinds[e->key->kind];
    char range[WEIR__CONFIG_RANGE_MAX];
    weir__config_range(e->key, range, sizeof(range));
    uint64_t value = 0, max = e->key->max ? e->key->max : UINT64_MAX;
    int result = weir__value_parse(kind->unit, e->text, &value);
    bool is_nothing = value == 0 && e->key->nothing;
    if (result == -WEIR_E_INVALID)
        weir__config_tell(e->judge, false, e->where, "%s: '%s' is not %s: expected %s%s%s",
                          e->key->name, WEIR__TYPED(e->text), kind->noun, kind->form,
                          range[0] != '\0' ? ", " : "", range);
    else if (result < 0 && e->key->max == 0)
        /* Without a limit of its own, a number can still be more than 64 bits hold. */
        weir__config_tell(e->judge, false, e->where, "%s: '%s' is out of range: at most %llu",
                          e->key->name, WEIR__TYPED(e->text), (unsigned long long)UINT64_MAX);
    else if (result < 0 || (!is_nothing && (value < e->key->min || value > max)))
        weir__config_tell(e->judge, false, e->where, "%s: '%s' is out of range: expected %s",
                          e->key->name, WEIR__TYPED(e->text), range);
    else
        memcpy(e->field, &value, sizeof(value));
}

static void store_word(const struct entry *e)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (unsigned i = 0; e->key->words[i]; i++) {
        if (strcmp(e->key->words[i], e->text) == 0) {
            memcpy(e->field, &i, sizeof(i));
            return;
        }
        weir__suggest_offer(&suggestion, e->text, e->key->words[i]);
    }
    char list[WEIR__CONFIG_RANGE_MAX];
    weir__words_join(e->key->words, list, sizeof(list));
    bool is_near = suggestion.word[0] != '\0';
    weir__config_tell(e->judge, false, e->where, "%s: '%s' is not known: expected %s%s%s%s",
                      e->key->name, WEIR__TYPED(e->text), list, is_near ? "; did you mean '" : "",
                      suggestion.word, is_near ? "'?" : "");
}

/* Controls could drive a terminal that shows them, and TOML must be able to hold what is shown. */
static bool is_clean(const char *text)
{
    size_t left = strlen(text);
    for (const unsigned char *p = (const unsigned char *)text; left > 0;) {
        size_t length = weir__text_utf8_length(p, left);
        if (length == 0 || *p < 0x20 || *p == 0x7f)
            return false;
        p += length;
        left -= length;
    }
    return true;
}

/* Whether the text may be one of the key's, or an entry of its list. */
static bool is_text_good(const struct entry *e)
{
    const char *name = e->key->name, *expected = NULL;
    bool is_entry = e->key->kind == WEIR__CONFIG_KIND_LIST;
    if (e->text[0] == '\0' && !is_entry && e->key->nothing)
        return true;
    if (e->text[0] == '\0')
        weir__config_tell(e->judge, false, e->where, "%s: %s", name,
                          is_entry ? "an entry is empty" : "it is empty, and must not be");
    else if (strnlen(e->text, WEIR__CONFIG_TEXT_MAX + 1) > WEIR__CONFIG_TEXT_MAX)
        weir__config_tell(e->judge, false, e->where,
                          "%s: '%s' is too long: expected at most %d bytes", name,
                          WEIR__TYPED(e->text), WEIR__CONFIG_TEXT_MAX);
    else if (!is_clean(e->text))
        weir__config_tell(e->judge, false, e->where,
                          "%s: '%s' has a control character or is not UTF-8", name,
                          WEIR__TYPED(e->text));
    else if (e->key->check && (expected = e->key->check(e->text)))
        weir__config_tell(e->judge, false, e->where, "%s: '%s': expected %s", name,
                          WEIR__TYPED(e->text), expected);
    else
        return true;
    return false;
}

static int store_string(const struct entry *e)
{
    if (!is_text_good(e))
        return 0;
    const char *kept = weir__config_keep_text(e->judge->config, e->text, strlen(e->text));
    if (!kept)
        return -WEIR_E_NO_MEMORY;
    memcpy(e->field, &kept, sizeof(kept));
    return 0;
}

static int store_list(struct entry *e, const char *const *texts, size_t count, bool is_more)
{
    struct weir__config *config = e->judge->config;
    struct weir__config_list *list = e->field;
    size_t before = is_more ? list->count : 0, max = entries_max(e->key);
    if (before + count > max || before + count < e->key->min) {
        weir__config_tell(e->judge, false, e->where, "%s: %zu entries: expected %llu to %zu",
                          e->key->name, before + count, (unsigned long long)e->key->min, max);
        return 0;
    }
    size_t problems = e->judge->problems;
    bool has_empty = false;
    const char **items = weir__config_keep(config, (before + count) * sizeof(*items));
    if (!items)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < before; i++)
        items[i] = list->items[i];
    for (size_t i = 0; i < count; i++) {
        e->text = texts[i];
        if (texts[i][0] == '\0' && has_empty) /* which was told */
            continue;
        if (!is_text_good(e)) {
            has_empty = has_empty || texts[i][0] == '\0';
            continue;
        }
        items[before + i] = weir__config_keep_text(config, texts[i], strlen(texts[i]));
        if (!items[before + i])
            return -WEIR_E_NO_MEMORY;
    }
    if (e->judge->problems == problems)
        *list = (struct weir__config_list){items, before + count};
    return 0;
}

int weir__config_store(struct weir__config_judge *judge, size_t index, const char *const *texts,
                       size_t count, bool is_more, const struct weir__config_origin *origin)
{
    struct weir__config *config = judge->config;
    char where[WEIR__CONFIG_LINE_MAX / 2];
    weir__config_where(origin, where, sizeof(where));
    struct entry entry = {.judge = judge,
                          .key = weir__config_key(config->schema, index),
                          .where = where,
                          .text = count > 0 ? texts[0] : "",
                          .field = weir__config_field(config, index)};
    int result = 0;
    switch (entry.key->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        store_bool(&entry);
        break;
    case WEIR__CONFIG_KIND_WORD:
        store_word(&entry);
        break;
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
        result = store_string(&entry);
        break;
    case WEIR__CONFIG_KIND_LIST:
        result = store_list(&entry, texts, count, is_more);
        break;
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
    case WEIR__CONFIG_KIND_RATIO:
        store_number(&entry);
        break;
    }
    config->origins[index] = *origin;
    return result;
}

int weir__config_store_text(struct weir__config_judge *judge, size_t index, const char *text,
                            bool is_more, const struct weir__config_origin *origin)
{
    const struct weir__config_key *key = weir__config_key(judge->config->schema, index);
    if (key->kind != WEIR__CONFIG_KIND_LIST)
        return weir__config_store(judge, index, &text, 1, false, origin);
    /* One more than a list may have: whoever has more entries than that is refused just as well. */
    const char *items[WEIR__CONFIG_LIST_MAX + 1];
    size_t count = 0;
    const char *at = text + strspn(text, " ");
    while (*at && count < WEIR__CONFIG_LIST_MAX + 1) {
        size_t length = strcspn(at, ","), used = length;
        while (used > 0 && at[used - 1] == ' ')
            used--;
        items[count] = weir__config_keep_text(judge->config, at, used);
        if (!items[count++])
            return -WEIR_E_NO_MEMORY;
        at += length;
        if (*at != ',')
            break;
        at++;
        at += strspn(at, " ");
        /* A comma at the end has an empty entry behind it, which is refused. */
        if (*at == '\0' && count < WEIR__CONFIG_LIST_MAX + 1)
            items[count++] = "";
    }
    return weir__config_store(judge, index, items, count, is_more, origin);
}

/* --- fields to texts --- */

static int put_quoted(struct weir__buffer *buffer, const char *text, size_t length)
{
    int result = weir__buffer_putc(buffer, '"');
    for (size_t i = 0; i < length && result == 0; i++) {
        if (text[i] == '"' || text[i] == '\\')
            result = weir__buffer_putc(buffer, '\\');
        if (result == 0)
            result = weir__buffer_putc(buffer, text[i]);
    }
    return result < 0 ? result : weir__buffer_putc(buffer, '"');
}

static int put_list(struct weir__buffer *buffer, const struct weir__config_list *list)
{
    int result = weir__buffer_putc(buffer, '[');
    for (size_t i = 0; i < list->count && result == 0; i++) {
        if (i > 0)
            result = weir__buffer_puts(buffer, ", ");
        if (result == 0)
            result = put_quoted(buffer, list->items[i], strlen(list->items[i]));
    }
    return result < 0 ? result : weir__buffer_putc(buffer, ']');
}

/* Those that a file has without quotes. */
static bool is_plain_number(enum weir__config_kind kind)
{
    return kind == WEIR__CONFIG_KIND_COUNT || kind == WEIR__CONFIG_KIND_RATIO;
}

int weir__config_put_value(struct weir__buffer *buffer, const struct weir__config *config,
                           size_t index)
{
    const struct weir__config_key *key = weir__config_key(config->schema, index);
    const void *field = weir__config_field(config, index);
    char text[WEIR__VALUE_TEXT_MAX];
    switch (key->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        return weir__buffer_puts(buffer, *(const bool *)field ? "true" : "false");
    case WEIR__CONFIG_KIND_WORD: {
        const char *word = key->words[*(const unsigned *)field];
        return put_quoted(buffer, word, strlen(word));
    }
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH: {
        const char *value = *(const char *const *)field;
        return put_quoted(buffer, value, strlen(value));
    }
    case WEIR__CONFIG_KIND_LIST:
        return put_list(buffer, field);
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
    case WEIR__CONFIG_KIND_RATIO:
        break;
    }
    uint64_t value = *(const uint64_t *)field;
    format_number(key->kind, value, text);
    if (value == 0 || is_plain_number(key->kind))
        return weir__buffer_puts(buffer, text);
    return put_quoted(buffer, text, strlen(text));
}

int weir__config_put_default(struct weir__buffer *buffer, const struct weir__config_key *key)
{
    bool is_bare = kinds[key->kind].noun && strcmp(key->preset, "0") == 0;
    if (is_bare || key->kind == WEIR__CONFIG_KIND_BOOL || is_plain_number(key->kind))
        return weir__buffer_puts(buffer, key->preset);
    if (key->kind != WEIR__CONFIG_KIND_LIST)
        return put_quoted(buffer, key->preset, strlen(key->preset));
    int result = weir__buffer_putc(buffer, '[');
    for (const char *at = key->preset; *at && result == 0;) {
        size_t length = strcspn(at, ",");
        result = put_quoted(buffer, at, length);
        at += length;
        at += strspn(at, ", ");
        if (*at && result == 0)
            result = weir__buffer_puts(buffer, ", ");
    }
    return result < 0 ? result : weir__buffer_putc(buffer, ']');
}

/* --- two configurations --- */

static bool is_list_same(const struct weir__config_list *a, const struct weir__config_list *b)
{
    bool is_same = a->count == b->count;
    for (size_t i = 0; is_same && i < a->count; i++)
        is_same = strcmp(a->items[i], b->items[i]) == 0;
    return is_same;
}

bool weir__config_is_same(const struct weir__config *a, const struct weir__config *b, size_t index)
{
    const void *x = weir__config_field(a, index), *y = weir__config_field(b, index);
    switch (weir__config_key(a->schema, index)->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        return *(const bool *)x == *(const bool *)y;
    case WEIR__CONFIG_KIND_WORD:
        return *(const unsigned *)x == *(const unsigned *)y;
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
        return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case WEIR__CONFIG_KIND_LIST:
        return is_list_same(x, y);
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
    case WEIR__CONFIG_KIND_RATIO:
        break;
    }
    return *(const uint64_t *)x == *(const uint64_t *)y;
}

static int copy_text(struct weir__config *config, const char **field, const char *from)
{
    const char *kept = weir__config_keep_text(config, from, strlen(from));
    if (!kept)
        return -WEIR_E_NO_MEMORY;
    *field = kept;
    return 0;
}

static int copy_list(struct weir__config *config, struct weir__config_list *list,
                     const struct weir__config_list *from)
{
    const char **items = weir__config_keep(config, from->count * sizeof(*items));
    int result = items ? 0 : -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < from->count && result == 0; i++)
        result = copy_text(config, &items[i], from->items[i]);
    if (result == 0)
        *list = (struct weir__config_list){items, from->count};
    return result;
}

/* Names of files and variables lie in the memory of the one that is left. */
static int copy_origin(struct weir__config *config, const struct weir__config *from, size_t index)
{
    struct weir__config_origin origin = from->origins[index];
    int result = origin.name ? copy_text(config, &origin.name, origin.name) : 0;
    if (result == 0)
        config->origins[index] = origin;
    return result;
}

int weir__config_copy(struct weir__config *config, const struct weir__config *from, size_t index)
{
    void *to = weir__config_field(config, index);
    const void *field = weir__config_field(from, index);
    int result = 0;
    switch (weir__config_key(config->schema, index)->kind) {
    case WEIR__CONFIG_KIND_BOOL:
        memcpy(to, field, sizeof(bool));
        break;
    case WEIR__CONFIG_KIND_WORD:
        memcpy(to, field, sizeof(unsigned));
        break;
    case WEIR__CONFIG_KIND_TEXT:
    case WEIR__CONFIG_KIND_PATH:
        result = copy_text(config, to, *(const char *const *)field);
        break;
    case WEIR__CONFIG_KIND_LIST:
        result = copy_list(config, to, field);
        break;
    case WEIR__CONFIG_KIND_COUNT:
    case WEIR__CONFIG_KIND_SIZE:
    case WEIR__CONFIG_KIND_DURATION:
    case WEIR__CONFIG_KIND_RATE:
    case WEIR__CONFIG_KIND_RATIO:
        memcpy(to, field, sizeof(uint64_t));
        break;
    }
    return result < 0 ? result : copy_origin(config, from, index);
}
