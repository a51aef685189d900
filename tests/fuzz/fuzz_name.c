/* fuzz_name.c - any text as a name, the beginning of one, the id of a key, a binding, and the URL
 * of a provider.
 *
 * What must hold: a name has one text, all beginnings of a name are beginnings, who is bound is
 * bound by a prefix, and a URL that is taken has nothing in it that could be read differently.
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "name", #condition)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_name(const char *text, size_t length)
{
    struct weir__name name, again;
    if (weir__name_parse(text, length, &name) < 0)
        return;
    HOLDS(length >= 1 && length <= WEIR__NAME_MAX && name.length == length);
    HOLDS(memcmp(name.text, text, length) == 0 && name.text[length] == '\0');
    HOLDS(name.label_length >= 1 && name.label_length <= WEIR__LABEL_MAX);
    HOLDS(name.has_key == (name.label_length < length));
    for (size_t i = 0; i <= length; i++)
        HOLDS(weir__name_is_prefix(text, i));
    HOLDS(weir__name_parse(name.text, name.length, &again) == 0);
    HOLDS(weir__name_has_keys(&name, NULL) == name.has_key);
    if (!name.has_key)
        return;
    char id[WEIR__KEYID_TEXT];
    weir__key_id_print(&name.key, id);
    HOLDS(strcmp(id, name.text + name.label_length + 1) == 0);
    HOLDS(weir__name_is_bound(&name, NULL, &name.key));
}

static void try_binding(const char *text)
{
    struct weir__bindings *bindings = NULL;
    struct weir__name name;
    const char *why = NULL, *refused = weir__binding_check(text);
    int error = weir__bindings_new(&bindings, &text, 1, &why);
    HOLDS((error != 0) == (refused != NULL));
    if (error) {
        HOLDS(why && !bindings);
        return;
    }
    size_t length = strcspn(text, "=");
    length -= text[length - 1] == '/';
    HOLDS(weir__name_parse(text, length, &name) == 0 && !name.has_key);
    HOLDS(weir__name_has_keys(&name, bindings));
    struct weir__key_id id;
    HOLDS(weir__key_id_parse(strchr(text, '=') + 1, WEIR__KEYID_DIGITS, &id) == 0);
    HOLDS(weir__name_is_bound(&name, bindings, &id));
    weir__bindings_free(bindings);
}

static void try_url(const char *text)
{
    if (weir__provider_url_check(text))
        return;
    HOLDS(strlen(text) <= WEIR__PROVIDER_URL_MAX);
    HOLDS(strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
    for (const char *at = text; *at; at++)
        HOLDS(*at > ' ' && *at < 0x7f && *at != '#' && *at != '\\');
    const char *host = strstr(text, "://") + 3;
    size_t length = strcspn(host, "/?");
    HOLDS(length > 0 && !memchr(host, '@', length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__key_id id;
    char *text;
    if (size > 2000 || !(text = malloc(size + 1)))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    try_name(text, size);
    if (weir__name_is_prefix(text, size) && size > 0)
        HOLDS(weir__name_is_prefix(text, size - 1));
    try_binding(text);
    try_url(text);
    (void)!weir__key_id_parse(text, size, &id);
    free(text);
    return 0;
}
