/* Other names of the built-in rules: what gitleaks finds under each of its ids is found by a rule
 * that answers to that id.
 *
 * rules/gitleaks.txt has texts, each below a line "== id". All values are invented. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "engine.h"
#include "rules_pack.h"
#include "tap.h"

#define TEXT_MAX  (1u << 20)
#define IDS_MIN   222u          /* that gitleaks has */
#define PATH_RULE "pkcs12-file" /* whose text is a path */

static const char *wanted;
static bool is_found;

static bool is_in(const struct weir__strings *names, const char *name)
{
    bool is = false;
    for (size_t i = 0; i < names->count && !is; i++)
        is = strcmp(names->items[i], name) == 0;
    return is;
}

static void take(void *arg, const struct weir__finding *finding)
{
    (void)arg;
    is_found = is_found || weir__rule_is_named(finding->rule, wanted) ||
               is_in(&finding->rule->known, wanted);
}

static bool is_known(const struct weir__rules *rules, const char *name)
{
    bool is = weir__rules_next(rules, name, NULL) != NULL;
    for (size_t i = 0; i < rules->rules_count && !is; i++)
        is = is_in(&rules->rules[i].known, name);
    return is;
}

static void try_text(struct weir__scanner *scanner, const char *text, size_t length)
{
    bool is_path = strcmp(wanted, PATH_RULE) == 0;
    char path[256] = "example";
    if (is_path)
        snprintf(path, sizeof(path), "%.*s", (int)length - 1, text);
    struct weir__object object = {.path = path, .decode_depth = 0};
    is_found = false;
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, text, is_path ? 0 : length), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    if (!is_found)
        tap_fail(__FILE__, __LINE__, "not found as '%s': %.*s", wanted, (int)length, text);
}

/* Every text of the file; the number of different ids, which are in order. */
static size_t try_all(const struct weir__rules *rules, struct weir__scanner *scanner, char *text)
{
    static char last[256];
    size_t ids = 0;
    for (char *at = strstr(text, "\n== "); at;) {
        char *id = at + 4, *end = strchr(id, '\n');
        char *next = strstr(end, "\n== ");
        *end = '\0';
        wanted = id;
        if (!is_known(rules, id))
            tap_fail(__FILE__, __LINE__, "no rule answers to '%s'", id);
        try_text(scanner, end + 1, next ? (size_t)(next - end) : strlen(end + 1));
        ids += strcmp(last, id) != 0;
        snprintf(last, sizeof(last), "%s", id);
        at = next;
    }
    return ids;
}

TEST(what_gitleaks_finds_is_found_under_its_name)
{
    struct weir__rules *rules = NULL;
    struct weir__engine *engine = NULL;
    struct weir__scanner *scanner = NULL;
    struct weir__rules_error error;
    struct weir__engine_options options = {.cache = NULL};
    struct weir__sink sink = {.finding = take};
    char *text = weir__base_alloc(1, TEXT_MAX);
    FILE *file = fopen(TEXTS_FILE, "re");
    CHECK(text && file);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    fclose(file);
    CHECK_EQ(weir__rules_builtin(&rules), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &options, &error), 0);
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    CHECK(try_all(rules, scanner, text) >= IDS_MIN);
    weir__scanner_free(scanner);
    weir__engine_free(engine);
    weir__rules_free(rules);
    weir__base_free(text);
}

/* A name that stands for a rule that is not there would be noted. */
TEST(every_name_stands_for_rules_that_are_there)
{
    size_t length;
    const char *text = weir__rules_builtin_text(&length);
    struct weir__rules *rules = NULL;
    struct weir__rules_error error;
    CHECK_EQ(weir__rules_load(&rules, "built-in", text, length, NULL, &error), 0);
    for (size_t i = 0; i < rules->notes.count; i++)
        tap_fail(__FILE__, __LINE__, "%s", rules->notes.items[i]);
    weir__rules_free(rules);
}

/* What the build packs is what was written. */
TEST(the_packed_rules_are_those_of_the_file)
{
    size_t length, giving_way = 0, aliases = 0, known = 0;
    const char *text = weir__rules_builtin_text(&length);
    struct weir__rules *written = NULL, *packed = NULL;
    struct weir__rules_error error;
    CHECK_EQ(weir__rules_load(&written, "built-in", text, length, NULL, &error), 0);
    CHECK_EQ(weir__rules_builtin(&packed), 0);
    CHECK_EQ(packed->rules_count, written->rules_count);
    for (size_t i = 0; i < packed->rules_count; i++) {
        const struct weir__rule *one = &packed->rules[i], *other = &written->rules[i];
        if (strcmp(one->id, other->id) != 0 || one->gives_way != other->gives_way ||
            one->is_hidden != other->is_hidden || one->max_width != other->max_width ||
            one->aliases.count != other->aliases.count || one->known.count != other->known.count ||
            one->keywords.count != other->keywords.count)
            tap_fail(__FILE__, __LINE__, "'%s' is packed otherwise", other->id);
        giving_way += one->gives_way;
        aliases += one->aliases.count;
        known += one->known.count;
    }
    CHECK(giving_way > 0 && giving_way < packed->rules_count);
    CHECK(aliases > 0 && known > 0);
    weir__rules_free(packed);
    weir__rules_free(written);
}

TAP_MAIN()
