/* fuzz_toml.c - any bytes as TOML: refused with a place and a line of text, or a tree that hangs
 * together. What is accepted is also accepted with a comment behind it, and is the same tree. */
#include "toml.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "require.h"

#include "banned.h"

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "toml", #condition)

static void check_error(const struct weir__toml_error *error)
{
    size_t length = strnlen(error->reason, sizeof(error->reason));
    HOLDS(length > 0 && length < sizeof(error->reason));
    for (size_t i = 0; i < length; i++)
        HOLDS((unsigned char)error->reason[i] >= ' ' && error->reason[i] != 0x7f);
}

static void check_tree(const struct weir__toml_node *node, unsigned depth)
{
    enum weir__toml_kind kind = weir__toml_kind(node);
    size_t count = weir__toml_count(node);
    HOLDS(depth < 4096);
    HOLDS((kind == WEIR__TOML_STRING) == (weir__toml_string(node) != NULL));
    HOLDS(!weir__toml_at(node, count));
    for (size_t i = 0; i < count; i++) {
        const struct weir__toml_node *entry = weir__toml_at(node, i);
        if (kind == WEIR__TOML_TABLE)
            HOLDS(weir__toml_get(node, weir__toml_key(node, i)) == entry);
        check_tree(entry, depth + 1);
    }
}

static void check_same(const struct weir__toml_node *a, const struct weir__toml_node *b)
{
    HOLDS(weir__toml_kind(a) == weir__toml_kind(b) && weir__toml_count(a) == weir__toml_count(b));
    HOLDS(weir__toml_integer(a, 1) == weir__toml_integer(b, 1));
    HOLDS(weir__toml_bool(a, true) == weir__toml_bool(b, true));
    if (weir__toml_string(a))
        HOLDS(strcmp(weir__toml_string(a), weir__toml_string(b)) == 0);
    for (size_t i = 0; i < weir__toml_count(a); i++)
        check_same(weir__toml_at(a, i), weir__toml_at(b, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char comment[] = "\n# [a.b.c.d] = '''";
    struct weir__toml *document = NULL, *again = NULL;
    struct weir__toml_error error = {0};
    int result = weir__toml_parse(&document, (const char *)data, size, &error);
    HOLDS(result == 0 || result == -WEIR_E_INVALID || result == -WEIR_E_OVERFLOW);
    HOLDS((result == 0) == (document != NULL));
    if (result == -WEIR_E_INVALID)
        check_error(&error);
    if (result != 0)
        return 0;
    check_tree(weir__toml_root(document), 0);
    char *longer = malloc(size + sizeof(comment));
    if (longer) {
        if (size > 0)
            memcpy(longer, data, size);
        memcpy(longer + size, comment, sizeof(comment));
        HOLDS(weir__toml_parse(&again, longer, size + sizeof(comment) - 1, &error) == 0);
        check_same(weir__toml_root(document), weir__toml_root(again));
        weir__toml_free(again);
        free(longer);
    }
    weir__toml_free(document);
    return 0;
}
