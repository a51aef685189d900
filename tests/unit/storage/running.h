/* running.h - a service in this process, from a text of its configuration.
 *
 * Ownership: the service belongs to the test, between start() and end().
 */
#ifndef WEIR_TESTS_RUNNING_H
#define WEIR_TESTS_RUNNING_H

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "storage_part.h"
#include "tap.h"

static struct weir__storage *storage;
static struct weir__config *config;

static inline void tell(void *arg, bool is_warning, const char *line)
{
    (void)arg;
    printf("# %s%s\n", is_warning ? "warning: " : "", line);
}

static inline void start(const char *text)
{
    struct weir__config_sources sources = {
        .file = "test", .text = text, .text_length = strlen(text)};
    struct weir__config_sink sink = {.problem = tell};
    char why[WEIR__DAEMON_WHY_MAX] = "";
    CHECK(weir__config_load(&config, &weir__storage_schema, &sources, &sink) == 0);
    struct weir__daemon_options options = {.config = config, .version = "test"};
    struct weir__daemon *daemon = NULL;
    int error = weir__daemon_new(&daemon, &weir__storage_service, &options, why);
    storage = (struct weir__storage *)daemon;
    if (!error)
        error = weir__daemon_start(daemon, why);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s", why);
}

static inline void end(void)
{
    CHECK_EQ(weir__daemon_drain(&storage->daemon, NULL), 0);
    weir__daemon_free(&storage->daemon);
    weir__config_unref(config);
}

static const char in_memory[] = "listen = [\"127.0.0.1:0\"]\n"
                                "[server]\nmax_conns = 64\nget_workers = 2\nput_workers = 2\n"
                                "[amnesia]\nenabled = true\nmax_bytes = \"64MiB\"\n";

static inline struct weir_crew_kind kind_of(const char *name)
{
    struct weir_crew_report report;
    weir_crew_read(storage->daemon.crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        if (strcmp(report.kinds[i].name, name) == 0)
            return report.kinds[i];
    return (struct weir_crew_kind){.spawned = 0};
}

/* Waits for a state, a minute at most. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        struct weir_deadline _limit = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);                  \
        while (!(condition) && weir_deadline_check(&_limit) == 0) {                                \
            struct weir_deadline _soon = weir_deadline_in(WEIR_NS_PER_MS, NULL);                   \
            weir_deadline_sleep(&_soon);                                                           \
        }                                                                                          \
        CHECK(condition);                                                                          \
    } while (0)

#endif
