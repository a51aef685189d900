/* name_bindings.c - which keys may speak for a label without one: a sorted table of prefixes.
 *
 * A lookup cuts the label at its slashes, from the whole of it on, and looks for each piece; the
 * first that is there decides. So it costs a few comparisons for each part of the label, however
 * many prefixes there are.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "name.h"

#include "banned.h"

struct binding {
    char prefix[WEIR__LABEL_MAX + 1]; /* a label, without a '/' behind it */
    size_t length;
    struct weir__key_id keys[WEIR__BINDING_KEYS_MAX];
    size_t keys_count;
};

struct weir__bindings {
    size_t count;
    struct binding rows[];
};

static const char form[] =
    "PREFIX=KEYID, or several ids with '+' between them: a prefix is a label as team/site, "
    "an id has 32 digits of base32 as 'weir key show' prints them";

/* --- one text --- */

static const char *read_prefix(const char *text, size_t length, struct binding *binding)
{
    struct weir__name name;
    if (length > 0 && text[length - 1] == '/')
        length--;
    if (weir__name_parse(text, length, &name) < 0 || name.has_key)
        return form;
    memcpy(binding->prefix, name.text, length + 1);
    binding->length = length;
    return NULL;
}

static const char *read_key(const char *text, size_t length, struct binding *binding)
{
    struct weir__key_id id;
    if (weir__key_id_parse(text, length, &id) < 0)
        return form;
    for (size_t i = 0; i < binding->keys_count; i++)
        if (memcmp(&binding->keys[i], &id, sizeof(id)) == 0)
            return "the same key stands there twice: name it once";
    if (binding->keys_count == WEIR__BINDING_KEYS_MAX)
        return "a prefix has at most 16 keys: leave some out";
    binding->keys[binding->keys_count++] = id;
    return NULL;
}

static const char *read_text(const char *text, struct binding *ret_binding)
{
    struct binding binding = {.keys_count = 0};
    const char *at = strchr(text, '=');
    if (!at)
        return form;
    const char *why = read_prefix(text, (size_t)(at - text), &binding);
    while (!why && *at) {
        const char *key = at + 1;
        at = strchrnul(key, '+');
        why = read_key(key, (size_t)(at - key), &binding);
    }
    if (!why)
        *ret_binding = binding;
    return why;
}

const char *weir__binding_check(const char *text)
{
    struct binding binding;
    return read_text(text, &binding);
}

const char *weir__binding_form_check(const char *text)
{
    return weir__binding_check(text) == form ? form : NULL;
}

/* --- the table --- */

static int compare(const void *a, const void *b)
{
    const struct binding *one = a, *other = b;
    return strcmp(one->prefix, other->prefix);
}

static const char *fill(struct weir__bindings *bindings, const char *const *texts)
{
    for (size_t i = 0; i < bindings->count; i++) {
        const char *why = read_text(texts[i], &bindings->rows[i]);
        if (why)
            return why;
    }
    qsort(bindings->rows, bindings->count, sizeof(bindings->rows[0]), compare);
    for (size_t i = 1; i < bindings->count; i++)
        if (compare(&bindings->rows[i - 1], &bindings->rows[i]) == 0)
            return "a prefix stands there twice: put its keys into one, with '+' between";
    return NULL;
}

int weir__bindings_new(struct weir__bindings **ret_bindings, const char *const *texts, size_t count,
                       const char **ret_why)
{
    if (count > WEIR__BINDINGS_MAX) {
        *ret_why = "there may be 256 prefixes: bind a shorter one that holds for several";
        return -WEIR_E_INVALID;
    }
    struct weir__bindings *bindings =
        weir__base_alloc(1, sizeof(*bindings) + count * sizeof(bindings->rows[0]));
    if (!bindings) {
        *ret_why = "out of memory";
        return -WEIR_E_NO_MEMORY;
    }
    bindings->count = count;
    const char *why = fill(bindings, texts);
    if (why) {
        weir__bindings_free(bindings);
        *ret_why = why;
        return -WEIR_E_INVALID;
    }
    *ret_bindings = bindings;
    return 0;
}

void weir__bindings_free(struct weir__bindings *bindings)
{
    weir__base_free(bindings);
}

static const struct binding *find_exactly(const struct weir__bindings *bindings, const char *label,
                                          size_t length)
{
    struct binding wanted;
    memcpy(wanted.prefix, label, length);
    wanted.prefix[length] = '\0';
    return bsearch(&wanted, bindings->rows, bindings->count, sizeof(bindings->rows[0]), compare);
}

/* The longest prefix of the label, or NULL. */
static const struct binding *find(const struct weir__bindings *bindings, const char *label,
                                  size_t length)
{
    if (!bindings || bindings->count == 0)
        return NULL;
    while (length > 0) {
        const struct binding *binding = find_exactly(bindings, label, length);
        if (binding)
            return binding;
        while (length > 0 && label[length - 1] != '/')
            length--;
        length -= length > 0;
    }
    return NULL;
}

bool weir__name_is_bound(const struct weir__name *name, const struct weir__bindings *bindings,
                         const struct weir__key_id *key)
{
    if (name->has_key)
        return memcmp(&name->key, key, sizeof(*key)) == 0;
    const struct binding *binding = find(bindings, name->text, name->label_length);
    for (size_t i = 0; binding && i < binding->keys_count; i++)
        if (memcmp(&binding->keys[i], key, sizeof(*key)) == 0)
            return true;
    return false;
}

bool weir__name_has_keys(const struct weir__name *name, const struct weir__bindings *bindings)
{
    return name->has_key || find(bindings, name->text, name->label_length) != NULL;
}
