/* Loading, reloading and printing a configuration when memory or the file fails: an error, nothing
 * left behind, and the configuration that was there still is. */
#include "tap.h"

#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include <weir/error.h>

#include "../unit/base/config_toy.h"
#include "sweep.h"

static struct toy_heard heard;
static char path[] = "/tmp/weir-config-XXXXXX";

static const char *const environment[] = {"WEIR_SERVER_MAX_RPS=5", "WEIR_LISTEN=q:1,r:2", NULL};
static const struct weir__config_given given[] = {{"listen", "s:3", "--listen"},
                                                  {"listen", "t:4", "--listen"},
                                                  {"repair.level", "high", "--level"}};

static int load_file(struct weir__config **ret_config)
{
    struct weir__config_sources sources = {
        .file = path, .environment = environment, .given = given, .given_count = 3};
    return toy_load_all(ret_config, &heard, &sources, NULL);
}

static void print_all(const struct weir__config *config)
{
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, WEIR__CONFIG_PRINTED_MAX);
    int results[] = {weir__config_show(&buffer, config, true),
                     weir__config_sample(&buffer, &toy_schema),
                     weir__config_markdown(&buffer, &toy_schema)};
    for (size_t i = 0; i < 3; i++)
        CHECK(results[i] == 0 || results[i] == -WEIR_E_NO_MEMORY);
    weir__buffer_fini(&buffer);
}

static void everything(void)
{
    struct weir__config *config = NULL, *fresh = NULL;
    int result = load_file(&config);
    if (result < 0) {
        CHECK(!config);
        CHECK(result == -WEIR_E_NO_MEMORY || (result == -WEIR_E_IO && heard.problems == 1));
        return;
    }
    print_all(config);
    struct weir__config_sink sink = {.problem = toy_problem, .changed = toy_changed, .arg = &heard};
    struct weir__config_sources sources = {.file = path};
    heard = (struct toy_heard){0};
    size_t changed = 99;
    result = weir__config_reload(&fresh, config, &sources, &sink, &changed);
    if (result < 0) {
        CHECK(result == -WEIR_E_NO_MEMORY || (result == -WEIR_E_IO && heard.problems == 1));
        CHECK(!fresh && changed == 99 && heard.changes == 0);
    } else {
        const struct toy *toy = weir__config_values(fresh, &toy_table);
        CHECK(changed == 2 && heard.changes == 3);
        CHECK_STR(toy->listen.items[1], "t:4");
    }
    weir__config_unref(fresh);
    const struct toy *toy = weir__config_values(config, &toy_table);
    CHECK_STR(toy->name, "file");
    CHECK_EQ(toy->rps, 5);
    weir__config_unref(config);
}

static void write_file(void)
{
    static const char text[] = "name = 'file'\nlisten = ['a:1', 'b:2', 'c:3']\n"
                               "[server]\nmax_inflight = 99\n";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

TEST(survives_every_fault)
{
    write_file();
    sweep_cleanly(WEIR_FAULT_ALLOC, everything, 60);
    sweep_cleanly(WEIR_FAULT_IO, everything, 6);
    CHECK_EQ(unlink(path), 0);
}

TAP_MAIN()
