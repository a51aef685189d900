/* config: every kind with its bounds, the order of sources, what is told, snapshots. */
#include "tap.h"

#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

static const struct toy_more *more_of(const struct weir__config *config)
{
    return weir__config_values(config, &toy_more_table);
}

/* The text is refused with one problem that has the part. */
static void refused(const char *text, const char *part)
{
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {0};
    CHECK_EQ(toy_load_all(&config, &heard, &sources, text), -WEIR_E_INVALID);
    CHECK(!config);
    CHECK_HAS(heard.text, part);
    if (heard.problems != 1)
        tap_fail(__FILE__, __LINE__, "%zu problems: %s", heard.problems, heard.text);
}

static void refused_variable(const char *variable, const char *part)
{
    struct weir__config *config = NULL;
    const char *environment[] = {variable, NULL};
    struct weir__config_sources sources = {.environment = environment};
    CHECK_EQ(toy_load_all(&config, &heard, &sources, NULL), -WEIR_E_INVALID);
    CHECK_HAS(heard.text, part);
    CHECK_EQ(heard.problems, 1);
}

TEST(the_schema_is_sound)
{
    weir__config_check_schema(&toy_schema);
}

TEST(defaults_without_any_source)
{
    struct weir__config *config = load(NULL);
    const struct toy *toy = toy_of(config);
    CHECK_STR(toy->name, "weir");
    CHECK_EQ(toy->listen.count, 2);
    CHECK_STR(toy->listen.items[1], "b:2");
    CHECK_EQ(toy->wait_ns, 5 * WEIR_NS_PER_S);
    CHECK_EQ(toy->inflight, 1024);
    CHECK_EQ(toy->rps, 0);
    CHECK_EQ(toy->body, 65536);
    CHECK(!toy->is_open);
    CHECK_EQ(more_of(config)->pace, 50 << 20);
    CHECK_EQ(more_of(config)->level, TOY_LOW);
    CHECK_STR(more_of(config)->folder, "");
    CHECK(weir__config_schema(config) == &toy_schema);
    weir__config_unref(config);
    CHECK_EQ(heard.problems + heard.warnings, 0);
}

TEST(a_file_with_every_kind)
{
    struct weir__config *config = load("name = 'node \"1\"'\n"
                                       "listen = ['c:3']\n"
                                       "wait = '1m'\n"
                                       "folder = '/data'\n"
                                       "server.max_inflight = 65536\n"
                                       "server.max_rps = 0\n"
                                       "server.body = 1024\n"
                                       "server.open = true\n"
                                       "[repair]\n"
                                       "pace = '1.5MiB'\n"
                                       "level = 'high'\n");
    const struct toy *toy = toy_of(config);
    CHECK_STR(toy->name, "node \"1\"");
    CHECK_EQ(toy->listen.count, 1);
    CHECK_STR(toy->listen.items[0], "c:3");
    CHECK_EQ(toy->wait_ns, 60 * WEIR_NS_PER_S);
    CHECK_EQ(toy->inflight, 65536);
    CHECK_EQ(toy->body, 1024);
    CHECK(toy->is_open);
    CHECK_EQ(more_of(config)->pace, 3 << 19);
    CHECK_EQ(more_of(config)->level, TOY_HIGH);
    CHECK_STR(more_of(config)->folder, "/data");
    weir__config_unref(config);
}

TEST(numbers_outside_of_their_bounds)
{
    refused("[server]\nmax_inflight = 0\n",
            "toy.toml:2: server.max_inflight: '0' is out of range: expected 1 to 65536\n");
    refused("server.max_inflight = 65537", "expected 1 to 65536");
    refused("server.max_inflight = -1", "'-1' is not a number");
    refused("server.max_rps = 1001", "'1001' is out of range: expected 0 (no limit) or 1 to 1000");
    refused("server.body = '2MiB'", "expected 1KiB to 1MiB");
    refused("server.body = 0", "'0' is out of range: expected 1KiB to 1MiB");
    refused("server.body = '99999999999999999999'", "out of range: expected 1KiB to 1MiB");
    refused("wait = '999ms'", "expected 1s to 1m");
    refused("wait = '99999999999999999999h'", "expected 1s to 1m");
    refused("repair.pace = '17EiB/s'", "out of range: at most 18446744073709551615");
    refused("server.max_inflight = 9223372036854775807", "expected 1 to 65536");
    refused("server.any = 9223372036854775808", "toy.toml:1: this is not TOML");
    struct weir__config *config = load("repair.pace = 0\nserver.any = 9223372036854775807\n");
    CHECK_EQ(more_of(config)->pace, 0);
    CHECK(more_of(config)->any == INT64_MAX);
    weir__config_unref(config);
}

TEST(values_of_the_wrong_form)
{
    refused("server.max_inflight = '5'", "expected a whole number, without quotes: 1 to 65536");
    refused("server.max_inflight = 5.0", "expected a whole number");
    refused("server.open = 'true'", "expected true or false, without quotes");
    refused("server.open = 1", "expected true or false");
    refused("wait = 5", "'5' is not a duration: expected a number with its unit, as in \"250ms\"");
    refused("wait = true", "expected a text with a unit");
    refused("server.body = '64 KiB'", "'64 KiB' is not a size");
    refused("server.body = [1]", "expected a number of bytes, or a text");
    refused("repair.pace = '50MiB/m'", "is not a rate");
    refused("name = 5", "expected a text in quotes");
    refused("name = 1979-05-27", "expected a text in quotes");
    refused("name = ''", "name: it is empty, and must not be");
    refused("name = \"a\\nb\"", "has a control character");
    refused("name = \"\\u007f\"", "has a control character");
    refused("repair.level = 'hihg'", "expected low or high; did you mean 'high'?");
    refused("repair.level = 1", "expected a text in quotes: low or high");
    refused("listen = 'a:1'", "expected an array of texts");
    refused("listen = [1]", "expected an array of texts");
    refused("listen = []", "0 entries: expected 1 to 4");
    refused("listen = ['a:1', 'b:1', 'c:1', 'd:1', 'e:1']", "5 entries: expected 1 to 4");
    refused("listen = ['a']", "listen: 'a': expected ADDRESS:PORT");
    refused("listen = ['']", "an entry is empty");
}

TEST(ratios)
{
    static const char *const texts[] = {"0.25", "0", "1", "0.001", "1.0", "0.125"};
    static const uint64_t values[] = {250, 0, 1000, 1, 1000, 125};
    char line[64];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(line, sizeof(line), "repair.share = %s\n", texts[i]);
        struct weir__config *config = load(line);
        CHECK_EQ(more_of(config)->share, values[i]);
        weir__config_unref(config);
    }
    refused("repair.share = '0.5'", "expected a number as 0.5, without quotes: 0 to 1");
    refused("repair.share = 1.001", "out of range: expected 0 to 1");
    refused("repair.share = 0.0005", "is not a ratio");
    refused("repair.share = -0.5", "is not a ratio");
    refused("repair.share = nan", "is not a ratio");
    refused("repair.share = true", "expected a number as 0.5");
    refused_variable("WEIR_REPAIR_SHARE=half", "'half' is not a ratio");
}

/* A schema may have another default than the table that the key is of. */
TEST(a_key_that_is_described_otherwise)
{
    static const struct weir__config_key instead[] = {{WEIR__CONFIG_TEXT(struct toy, name),
                                                       .name = "name", .preset = "other",
                                                       .is_live = true, .help = "another name"},
                                                      WEIR__CONFIG_END};
    static const struct weir__config_schema schema = {.tables = toy_tables, .instead = instead};
    struct weir__config_sources sources = {.file = NULL};
    struct weir__config *config = NULL;
    weir__config_check_schema(&schema);
    CHECK_EQ(weir__config_load(&config, &schema, &sources, NULL), 0);
    CHECK_STR(toy_of(config)->name, "other");
    CHECK_EQ(toy_of(config)->inflight, 1024);
    weir__config_unref(config);
    CHECK_STR(weir__config_key(&schema, 0)->help, "another name");
}

TEST(a_text_has_a_longest_length)
{
    char text[WEIR__CONFIG_TEXT_MAX + 32];
    for (int more = 0; more <= 1; more++) {
        memset(text, 'x', sizeof(text));
        memcpy(text, "name = '", 8);
        memcpy(text + 8 + WEIR__CONFIG_TEXT_MAX + more, "'\n", 3);
        if (more)
            refused(text, "is too long: expected at most 4095 bytes");
        else
            weir__config_unref(load(text));
    }
}

TEST(unknown_keys_and_the_nearest)
{
    refused("[server]\nmax_inflght = 5\n",
            "toy.toml:2: unknown key 'server.max_inflght'; did you mean 'server.max_inflight'?\n");
    refused("max_inflight = 5\n", "unknown key 'max_inflight'; did you mean 'server.max_inflight'");
    refused("repair.wait = '5s'\n", "did you mean 'wait'?");
    refused("[sever]\nmax_rps = 5\n", "unknown key 'sever.max_rps'; did you mean 'server.max_rps'");
    refused("repair.body = 5\n", "did you mean 'server.body'?");
    refused("repair.pack = 5\n", "did you mean 'repair.pace'?");
    refused("server.nosy = 5\n", "unknown key 'server.nosy'\n");
    refused("[server]\nnosuch = 5\n", "unknown key 'server.nosuch'\n");
    refused("zzzzzz = 5\n", "toy.toml:1: unknown key 'zzzzzz'\n");
    refused("[zzzzzz]\n", "unknown key 'zzzzzz'\n");
    refused("server = 5\n", "'server' is a section: expected [server]");
    refused("[[server]]\nmax_rps = 5\n", "'server' is a section");
    refused("[name]\nx = 1\n", "name: expected a text in quotes");
    refused("'server.max_rps' = 5\n", "in quotes a dot is a part of the name");
    refused("server.'a.b' = 5\n", "in quotes a dot is a part of the name");
    refused("[server.max_rps]\nx = 5\n", "server.max_rps: expected a whole number");
}

TEST(what_is_not_toml)
{
    refused("name = \n", "toy.toml:1: this is not TOML");
    refused("name = 'a'\nname = 'b'\n", "toy.toml:2");
}

TEST(every_problem_is_told)
{
    struct weir__config *config = NULL;
    const char *environment[] = {"WEIR_WAIT=x", NULL};
    struct weir__config_given given[] = {{"nam", "x", "--set"}};
    struct weir__config_sources sources = {
        .environment = environment, .given = given, .given_count = 1};
    CHECK_EQ(
        toy_load_all(&config, &heard, &sources, "name = 5\nwiat = '1s'\n[server]\nmax_rps = -1\n"),
        -WEIR_E_INVALID);
    CHECK_EQ(heard.problems, 5);
    CHECK_HAS(heard.text, "toy.toml:1: name: ");
    CHECK_HAS(heard.text, "toy.toml:2: unknown key 'wiat'; did you mean 'wait'?");
    CHECK_HAS(heard.text, "toy.toml:4: server.max_rps: ");
    CHECK_HAS(heard.text, "WEIR_WAIT: wait: 'x' is not a duration");
    CHECK_HAS(heard.text, "--set: unknown key 'nam'; did you mean 'name'?");
}

TEST(problems_come_in_the_order_of_their_lines)
{
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {0};
    CHECK_EQ(toy_load_all(&config, &heard, &sources,
                          "zz = 1\nyy = 1\nname = 1\n[server]\nopen = 1\nmax_rps = 'x'\nany = 'y'\n"
                          "[repair]\npace = 'x'\nlevel = 'x'\n"),
             -WEIR_E_INVALID);
    unsigned before = 0, line = 0;
    for (const char *p = heard.text; *p; p = strchr(p, '\n') + 1, before = line) {
        CHECK_EQ(sscanf(p, "toy.toml:%u:", &line), 1);
        CHECK(line > before);
    }
    CHECK_EQ(heard.problems, 8);
}

TEST(problems_beyond_the_limit_are_counted)
{
    char text[2048] = "";
    size_t used = 0;
    for (int i = 0; i < WEIR__CONFIG_PROBLEMS_MAX + 5; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "qqq%02d = 1\n", i);
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {0};
    CHECK_EQ(toy_load_all(&config, &heard, &sources, text), -WEIR_E_INVALID);
    CHECK_EQ(heard.problems, WEIR__CONFIG_PROBLEMS_MAX + 1);
    CHECK_HAS(heard.text, "'qqq19'");
    CHECK(!strstr(heard.text, "'qqq20'"));
    CHECK_HAS(heard.text, "\nand 5 more\n");
}

TEST(sources_in_their_order)
{
    struct weir__config *config = NULL;
    const char *environment[] = {"WEIR_NAME=env",        "WEIR_SERVER_MAX_INFLIGHT=22", "HOME=/x",
                                 "WEIR_LISTEN=x:1, y:2", "WEIR_SERVER_OPEN=true",       NULL};
    struct weir__config_given given[] = {{"name", "flag", "--name"},
                                         {"listen", "p:1", "--listen"},
                                         {"listen", "q:2,r:3", "--listen"}};
    struct weir__config_sources sources = {.environment = environment};
    const char *text = "name = 'file'\nwait = '2s'\n[server]\nmax_inflight = 11\n";
    CHECK_EQ(toy_load_all(&config, &heard, &sources, text), 0);
    CHECK_STR(toy_of(config)->name, "env");
    CHECK_EQ(toy_of(config)->inflight, 22);
    CHECK_EQ(toy_of(config)->wait_ns, 2 * WEIR_NS_PER_S);
    CHECK_EQ(toy_of(config)->listen.count, 2);
    CHECK_STR(toy_of(config)->listen.items[1], "y:2");
    weir__config_unref(config);
    config = NULL;
    environment[4] = NULL;
    sources.given = given;
    sources.given_count = 3;
    CHECK_EQ(toy_load_all(&config, &heard, &sources, text), 0);
    CHECK_STR(toy_of(config)->name, "flag");
    CHECK_EQ(toy_of(config)->listen.count, 3);
    CHECK_STR(toy_of(config)->listen.items[0], "p:1");
    CHECK_STR(toy_of(config)->listen.items[2], "r:3");
    char origin[64];
    CHECK_EQ(weir__config_origin(config, 0, origin, sizeof(origin)), WEIR__CONFIG_FROM_FLAG);
    CHECK_STR(origin, "--name");
    CHECK_EQ(weir__config_origin(config, 2, origin, sizeof(origin)), WEIR__CONFIG_FROM_FILE);
    CHECK_STR(origin, "toy.toml:2");
    CHECK_EQ(weir__config_origin(config, 3, origin, sizeof(origin)), WEIR__CONFIG_FROM_ENVIRONMENT);
    CHECK_STR(origin, "WEIR_SERVER_MAX_INFLIGHT");
    CHECK_EQ(weir__config_origin(config, 5, origin, sizeof(origin)), WEIR__CONFIG_FROM_DEFAULT);
    CHECK_STR(origin, "default");
    weir__config_unref(config);
}

TEST(variables_of_the_environment)
{
    refused_variable("WEIR_SERVER_MAX_INFLIHGT=5",
                     "environment: no key has the variable 'WEIR_SERVER_MAX_INFLIHGT'; did you "
                     "mean 'WEIR_SERVER_MAX_INFLIGHT'?");
    refused_variable("WEIR_SERVER_QQQQQQQQQQQQQQ=5", "no key has the variable");
    refused_variable("WEIR_SERVER_MAX_INFLIGHT=", "'' is not a number");
    refused_variable("WEIR_SERVER_OPEN=yes", "WEIR_SERVER_OPEN: server.open: 'yes' is neither");
    refused_variable("WEIR_LISTEN=", "0 entries: expected 1 to 4");
    refused_variable("WEIR_LISTEN=a:1,", "an entry is empty");
    refused_variable("WEIR_LISTEN=,", "an entry is empty"); /* both of them, in one line */
    refused_variable("WEIR_NAME=\xff", "is not UTF-8");
    const char *environment[] = {"WEIR_NAMES=x", "WEIR_LISTE=x", "WEIR_SEED=1",
                                 "WEIR_NOTHING", "WEIR_=",       NULL};
    struct weir__config_sources sources = {.environment = environment};
    struct weir__config *config = NULL;
    CHECK_EQ(toy_load_all(&config, &heard, &sources, NULL), 0);
    CHECK_EQ(heard.warnings, 1);
    CHECK_HAS(heard.text, "'WEIR_NAMES'; did you mean 'WEIR_NAME'?");
    weir__config_unref(config);
}

TEST(warnings_beyond_the_limit_are_counted)
{
    static char names[WEIR__CONFIG_PROBLEMS_MAX + 3][32];
    const char *environment[WEIR__CONFIG_PROBLEMS_MAX + 4] = {NULL};
    for (int i = 0; i < WEIR__CONFIG_PROBLEMS_MAX + 3; i++) {
        snprintf(names[i], sizeof(names[i]), "WEIR_LISTEN%c=x", 'A' + i);
        environment[i] = names[i];
    }
    struct weir__config_sources sources = {.environment = environment};
    struct weir__config *config = NULL;
    CHECK_EQ(toy_load_all(&config, &heard, &sources, NULL), 0);
    CHECK_EQ(heard.warnings, WEIR__CONFIG_PROBLEMS_MAX + 1);
    CHECK_HAS(heard.text, "\nand 3 more\n");
    weir__config_unref(config);
}

TEST(a_list_of_too_many_in_a_variable)
{
    char variable[1024];
    size_t used = (size_t)snprintf(variable, sizeof(variable), "WEIR_LISTEN=a:1");
    for (int i = 0; i < 200; i++)
        used += (size_t)snprintf(variable + used, sizeof(variable) - used, ",a:1");
    refused_variable(variable, "65 entries: expected 1 to 4");
}

TEST(what_must_fit_together)
{
    refused("server.max_rps = 500\nserver.max_inflight = 100\n",
            "toy.toml:1: server.max_rps: it is above server.max_inflight, 100\n");
    /* Values that were refused are not held against others. */
    refused("server.max_rps = 500\nserver.max_inflight = -100\n", "'-100' is not a number");
}

TEST(a_snapshot_lives_as_long_as_somebody_holds_it)
{
    struct weir__config *config = load("name = 'first'\nlisten = ['z:9']\n");
    struct weir_watch watch;
    CHECK_EQ(weir_watch_init_snapshot(&watch, "config", weir__config_snapshot(config)), 0);
    struct weir__config *held = weir__config_of(weir_watch_borrow(&watch, NULL));
    CHECK(held == config);
    struct weir__config *next = load("name = 'second'\n");
    CHECK_EQ(weir_watch_swap(&watch, weir__config_snapshot(next)), 0);
    CHECK_STR(toy_of(held)->name, "first");
    CHECK_STR(toy_of(held)->listen.items[0], "z:9");
    weir__config_unref(held);
    weir_watch_fini(&watch);
    weir__config_unref(NULL);
}

/* --- files --- */

static char folder[] = "/tmp/weir-config-XXXXXX";
static char path[sizeof(folder) + 16];

static void write_file(const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static int load_file(const char *name)
{
    struct weir__config *config = NULL;
    struct weir__config_sources sources = {.file = name};
    int result = toy_load_all(&config, &heard, &sources, NULL);
    if (result == 0 && toy_of(config)->inflight != 9)
        result = 1;
    weir__config_unref(config);
    return result;
}

TEST(files_that_can_be_read_and_others)
{
    static char large[WEIR__CONFIG_FILE_MAX + 2];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f.toml", folder);
    CHECK_EQ(load_file(path), -WEIR_E_NOT_FOUND);
    CHECK_HAS(heard.text, "cannot be read: no such file or directory");
    CHECK_EQ(load_file(folder), -WEIR_E_INVALID);
    CHECK_HAS(heard.text, "it is not a regular file");
    CHECK_EQ(load_file("-"), -WEIR_E_INVALID);
    CHECK_HAS(heard.text, "standard input is not read");
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(load_file(path), -WEIR_E_INVALID); /* and does not wait for a writer */
    CHECK_EQ(unlink(path), 0);
    static const char good[] = "[server]\nmax_inflight = 9\n";
    write_file(good, strlen(good));
    CHECK_EQ(load_file(path), 0);
    memset(large, '\n', sizeof(large));
    memcpy(large, good, strlen(good));
    write_file(large, WEIR__CONFIG_FILE_MAX);
    CHECK_EQ(load_file(path), 0);
    write_file(large, WEIR__CONFIG_FILE_MAX + 1);
    CHECK_EQ(load_file(path), -WEIR_E_OVERFLOW);
    CHECK_HAS(heard.text, "it has more than 1048576 bytes");
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

TAP_MAIN()
