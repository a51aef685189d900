/* config: reloading, and the texts that are made from a schema. */
#include "tap.h"

#include "config.h"

#include <stdlib.h>

#include <weir/error.h>

#include "config_toy.h"

static struct toy_heard heard;

static struct weir__config *load(const char *text)
{
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {0};
    int result = toy_load_all(&config, &heard, &sources, text);
    if (result < 0)
        tap_fail(__FILE__, __LINE__, "%d: %s", result, heard.text);
    return config;
}

static const struct toy *toy_of(const struct weir__config *config)
{
    return weir__config_values(config, &toy_table);
}

static int reload(struct weir__config **ret_config, const struct weir__config *old,
                  const char *text, size_t *ret_changed)
{
    heard = (struct toy_heard){0};
    struct weir__config_sink sink = {.problem = toy_problem, .changed = toy_changed, .arg = &heard};
    struct weir__config_sources sources = {
        .file = "new.toml", .text = text, .text_length = strlen(text)};
    return weir__config_reload(ret_config, old, &sources, &sink, ret_changed);
}

TEST(a_reload_that_changes_nothing)
{
    struct weir__config *old = load("name = 'a'\n"), *fresh = NULL;
    size_t changed = 99;
    CHECK_EQ(reload(&fresh, old, "name = 'a'\nwait = '5s'\n", &changed), 0);
    CHECK_EQ(changed, 0);
    CHECK_EQ(heard.changes, 0);
    CHECK(fresh && fresh != old);
    weir__config_unref(old);
    CHECK_STR(toy_of(fresh)->name, "a");
    weir__config_unref(fresh);
}

static int refuse(void *arg, struct weir__config *fresh)
{
    (void)arg;
    CHECK_STR(toy_of(fresh)->name, "b");
    CHECK_EQ(heard.changes, 0);
    return -WEIR_E_DENIED;
}

TEST(a_reload_that_cannot_be_put_into_force_tells_of_no_change)
{
    struct weir__config *old = load("name = 'a'\n"), *fresh = NULL;
    const char text[] = "name = 'b'\n";
    const struct weir__config_sink sink = {
        .problem = toy_problem, .changed = toy_changed, .arg = &heard, .apply = refuse};
    const struct weir__config_sources sources = {
        .file = "new.toml", .text = text, .text_length = sizeof(text) - 1};
    heard = (struct toy_heard){0};
    CHECK_EQ(weir__config_reload(&fresh, old, &sources, &sink, NULL), -WEIR_E_DENIED);
    CHECK(!fresh);
    CHECK_EQ(heard.changes, 0);
    weir__config_unref(old);
}

TEST(a_reload_takes_what_it_can_and_names_the_rest)
{
    struct weir__config *old = load("name = 'a'\nlisten = ['old:1']\nserver.body = 2048\n");
    struct weir__config *fresh = NULL;
    size_t changed = 0;
    CHECK_EQ(reload(&fresh, old,
                    "name = 'b'\nlisten = ['new:1', 'new:2']\nserver.max_rps = 7\n"
                    "repair.level = 'high'\n",
                    &changed),
             0);
    weir__config_unref(old); /* nothing of it is needed any more */
    CHECK_EQ(changed, 3);
    CHECK_EQ(heard.changes, 5);
    CHECK_HAS(heard.text, "name: \"a\" to \"b\"\n");
    CHECK_HAS(heard.text, "listen: [\"old:1\"] to [\"new:1\", \"new:2\"] at restart\n");
    CHECK_HAS(heard.text, "server.body: \"2KiB\" to \"64KiB\" at restart\n");
    CHECK_HAS(heard.text, "server.max_rps: 0 to 7\n");
    CHECK_HAS(heard.text, "repair.level: \"low\" to \"high\"\n");
    CHECK_STR(toy_of(fresh)->name, "b");
    CHECK_EQ(toy_of(fresh)->listen.count, 1);
    CHECK_STR(toy_of(fresh)->listen.items[0], "old:1");
    CHECK_EQ(toy_of(fresh)->body, 2048);
    CHECK_EQ(toy_of(fresh)->rps, 7);
    char origin[64];
    weir__config_origin(fresh, 1, origin, sizeof(origin));
    CHECK_STR(origin, "toy.toml:2");
    weir__config_origin(fresh, 0, origin, sizeof(origin));
    CHECK_STR(origin, "new.toml:1");
    /* What waits for a restart is named each time. */
    struct weir__config *again = NULL;
    CHECK_EQ(
        reload(&again, fresh, "name = 'b'\nserver.max_rps = 7\nrepair.level = 'high'\n", &changed),
        0);
    CHECK_EQ(changed, 0);
    CHECK_EQ(heard.changes, 2);
    weir__config_unref(again);
    weir__config_unref(fresh);
}

TEST(a_reload_that_fails_leaves_everything)
{
    struct weir__config *old = load("name = 'a'\n"), *fresh = NULL;
    size_t changed = 99;
    CHECK_EQ(reload(&fresh, old, "name = 'b'\nserver.max_rps = -1\n", &changed), -WEIR_E_INVALID);
    CHECK(!fresh);
    CHECK_EQ(changed, 99);
    CHECK_EQ(heard.changes, 0);
    CHECK_EQ(heard.problems, 1);
    CHECK_STR(toy_of(old)->name, "a");
    weir__config_unref(old);
}

TEST(what_is_kept_must_fit_with_what_is_new)
{
    /* With the three addresses of before, which stay until a restart, it may not be open. */
    struct weir__config *old = load("listen = ['a:1', 'b:1', 'c:1']\n"), *fresh = NULL;
    CHECK_EQ(reload(&fresh, old, "listen = ['a:1']\nserver.open = true\n", NULL), -WEIR_E_INVALID);
    CHECK_HAS(heard.text, "new.toml:2: server.open: not with 3 addresses\n");
    CHECK_EQ(heard.changes, 0);
    weir__config_unref(old);
    /* Nor what could not start, although what is kept would be fine. */
    old = load("listen = ['a:1']\n");
    CHECK_EQ(reload(&fresh, old, "listen = ['a:1', 'b:1', 'c:1']\nserver.open = true\n", NULL),
             -WEIR_E_INVALID);
    CHECK(!fresh);
    weir__config_unref(old);
}

/* --- texts --- */

static struct weir__buffer text;

static const char *show(const struct weir__config *config, bool with_origin)
{
    weir__buffer_fini(&text);
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    CHECK_EQ(weir__config_show(&text, config, with_origin), 0);
    return weir__buffer_text(&text);
}

TEST(what_is_shown_is_a_file)
{
    static const char shown[] = "name = \"q\\\"\\\\\"\n"
                                "listen = [\"a:1\", \"b:2\"]\n"
                                "wait = \"1500ms\"\n"
                                "folder = \"\"\n"
                                "\n"
                                "[server]\n"
                                "max_inflight = 1024\n"
                                "max_rps = 0\n"
                                "body = \"1025B\"\n"
                                "open = false\n"
                                "any = 7\n"
                                "\n"
                                "[repair]\n"
                                "pace = \"50MiB/s\"\n"
                                "level = \"high\"\n"
                                "share = 0.25\n";
    struct weir__config *config =
        load("name = 'q\"\\'\nwait = '1.5s'\nserver.body = 1025\nrepair.level = 'high'\n");
    CHECK_STR(show(config, false), shown);
    weir__config_unref(config);
    config = load(shown);
    CHECK_STR(show(config, false), shown);
    CHECK_HAS(show(config, true), "\nmax_inflight = 1024 # toy.toml:7\n");
    weir__config_unref(config);
    weir__buffer_fini(&text);
}

TEST(an_origin_cannot_leave_its_comment)
{
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {
        .file = "a\nname = 'b'\n#", .text = "name = 'x'", .text_length = 10};
    CHECK_EQ(weir__config_load(&config, &toy_schema, &sources, NULL), 0);
    char copy[4096];
    snprintf(copy, sizeof(copy), "%s", show(config, true));
    weir__config_unref(config);
    config = load(copy);
    CHECK_STR(toy_of(config)->name, "x");
    weir__config_unref(config);
    weir__buffer_fini(&text);
}

TEST(the_sample_explains_every_key)
{
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    CHECK_EQ(weir__config_sample(&text, &toy_schema), 0);
    CHECK_HAS(weir__buffer_text(&text), "\n[server]\n\n# Requests at once. One more is refused.\n"
                                        "# Allowed: 1 to 65536.\n#max_inflight = 1024\n");
    CHECK_HAS(weir__buffer_text(&text), "\n# Allowed: 1 to 4 entries. Needs a restart.\n"
                                        "#listen = [\"a:1\", \"b:2\"]\n");
    CHECK_HAS(weir__buffer_text(&text), "#folder = \"\"\n");
    weir__buffer_fini(&text);
}

/* As it is, and with every key that it has uncommented. */
TEST(the_sample_loads_to_the_defaults)
{
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    CHECK_EQ(weir__config_sample(&text, &toy_schema), 0);
    char *sample = strdup(weir__buffer_text(&text)), *defaults;
    CHECK(sample);
    weir__config_unref(load(sample));
    size_t keys = 0;
    for (char *p = sample; (p = strstr(p, "\n#")); p += 2)
        if (p[2] != ' ') {
            p[1] = ' ';
            keys++;
        }
    CHECK_EQ(keys, 12);
    struct weir__config *plain = load(NULL), *config = load(sample);
    defaults = strdup(show(plain, false));
    CHECK(defaults);
    CHECK_STR(show(config, false), defaults);
    char origin[64];
    for (size_t i = 0; weir__config_key(&toy_schema, i); i++)
        CHECK_EQ(weir__config_origin(config, i, origin, sizeof(origin)), WEIR__CONFIG_FROM_FILE);
    weir__config_unref(config);
    weir__config_unref(plain);
    free(defaults);
    free(sample);
    weir__buffer_fini(&text);
}

TEST(the_documentation_has_every_key)
{
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    CHECK_EQ(weir__config_markdown(&text, &toy_schema), 0);
    CHECK_HAS(weir__buffer_text(&text), "### `[server]`\n");
    CHECK_HAS(weir__buffer_text(&text), "| `server.max_rps` | count | `0` | 0 (no limit) or 1 to "
                                        "1000 | yes | all | requests a second |\n");
    CHECK_HAS(weir__buffer_text(&text),
              "| `server.any` | count | `7` |  | yes | more | any number |\n");
    for (size_t i = 0; weir__config_key(&toy_schema, i); i++)
        CHECK_HAS(weir__buffer_text(&text), weir__config_key(&toy_schema, i)->name);
    weir__buffer_fini(&text);
}

/* --- schemas that are not sound --- */

struct bad {
    uint64_t number;
    const char *text;
};

static void check_keys(void *arg)
{
    const struct weir__config_table table = {
        .name = "bad", .keys = arg, .values_size = sizeof(struct bad)};
    const struct weir__config_table *const tables[] = {&table, NULL};
    weir__config_check_schema(&(struct weir__config_schema){.tables = tables});
}

#define DIES(part, ...)                                                                            \
    do {                                                                                           \
        struct weir__config_key keys[] = {__VA_ARGS__, WEIR__CONFIG_END};                          \
        CHECK(tap_dies(check_keys, keys, part));                                                   \
    } while (0)
#define NUMBER WEIR__CONFIG_COUNT(struct bad, number)
#define TEXT   WEIR__CONFIG_TEXT(struct bad, text)

TEST(bad_tables_are_found)
{
    DIES("a-z, 0-9", {NUMBER, .name = "A", .preset = "0", .help = "h"});
    DIES("a-z, 0-9", {NUMBER, .name = "a.b.c", .preset = "0", .help = "h"});
    DIES("a-z, 0-9", {NUMBER, .name = "a.", .preset = "0", .help = "h"});
    DIES("one line of help", {NUMBER, .name = "a", .preset = "0"});
    DIES("one line of help", {NUMBER, .name = "a", .preset = "0", .help = "h."});
    DIES("needs a default", {NUMBER, .name = "a", .help = "h"});
    DIES("its default is not", {NUMBER, .name = "a", .preset = "x", .help = "h"});
    DIES("its default is not", {NUMBER, .name = "a", .preset = "0", .min = 1, .help = "h"});
    DIES("its default is not", {TEXT, .name = "a", .preset = "", .help = "h"});
    DIES("minimum is above", {NUMBER, .name = "a", .preset = "5", .min = 9, .max = 2, .help = "h"});
    DIES("bounds are for", {TEXT, .name = "a", .preset = "x", .max = 5, .help = "h"});
    DIES("words belong", {TEXT, .name = "a", .preset = "low", .words = toy_words, .help = "h"});
    DIES("a check is for", {NUMBER, .name = "a", .preset = "1", .check = toy_check, .help = "h"});
    DIES("another has its name", {NUMBER, .name = "a.b_c", .preset = "0", .help = "h"},
         {TEXT, .name = "a_b.c", .preset = "x", .help = "h"});
    DIES("a section has its name", {NUMBER, .name = "a", .preset = "0", .help = "h"},
         {TEXT, .name = "a.b", .preset = "x", .help = "h"});
}

TAP_MAIN()
