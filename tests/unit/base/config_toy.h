/* config_toy.h - a small schema of two tables with a key of every kind, for tests of config.h.
 *
 * Ownership: nothing here owns anything; told lines lie in static memory.
 */
#ifndef WEIR_TESTS_CONFIG_TOY_H
#define WEIR_TESTS_CONFIG_TOY_H

#include <stdio.h>
#include <string.h>

#include "config.h"

enum { TOY_LOW, TOY_HIGH };

struct toy {
    const char *name;
    struct weir__config_list listen;
    uint64_t wait_ns;
    uint64_t inflight;
    uint64_t rps;
    uint64_t body;
    bool is_open;
};

struct toy_more {
    uint64_t pace;
    unsigned level;
    const char *folder;
    uint64_t any;
    uint64_t share;
};

static const char *toy_check(const char *text)
{
    return strchr(text, ':') ? NULL : "ADDRESS:PORT";
}

static const char *const toy_words[] = {"low", "high", NULL};

static const struct weir__config_key toy_keys[] = {
    {WEIR__CONFIG_TEXT(struct toy, name), .name = "name", .preset = "weir", .is_live = true,
     .help = "the name"},
    {WEIR__CONFIG_LIST(struct toy, listen), .name = "listen", .preset = "a:1,b:2", .min = 1,
     .max = 4, .check = toy_check, .help = "where to listen"},
    {WEIR__CONFIG_DURATION(struct toy, wait_ns), .name = "wait", .preset = "5s",
     .min = WEIR_NS_PER_S, .max = 60 * WEIR_NS_PER_S, .is_live = true, .help = "longest wait"},
    {WEIR__CONFIG_COUNT(struct toy, inflight), .name = "server.max_inflight", .preset = "1024",
     .min = 1, .max = 65536, .is_live = true, .help = "requests at once",
     .detail = "One more is refused."},
    {WEIR__CONFIG_COUNT(struct toy, rps), .name = "server.max_rps", .preset = "0", .min = 1,
     .max = 1000, .nothing = "no limit", .is_live = true, .help = "requests a second"},
    {WEIR__CONFIG_SIZE(struct toy, body), .name = "server.body", .preset = "64KiB", .min = 1024,
     .max = 1 << 20, .help = "largest body"},
    {WEIR__CONFIG_BOOL(struct toy, is_open), .name = "server.open", .preset = "false",
     .is_live = true, .help = "whether all may come"},
    WEIR__CONFIG_END,
};

static const struct weir__config_key toy_more_keys[] = {
    {WEIR__CONFIG_PATH(struct toy_more, folder), .name = "folder", .preset = "", .nothing = "none",
     .help = "where things lie"},
    {WEIR__CONFIG_RATE(struct toy_more, pace), .name = "repair.pace", .preset = "50MiB/s",
     .is_live = true, .help = "pace of repairs"},
    {WEIR__CONFIG_WORD(struct toy_more, level), .name = "repair.level", .preset = "low",
     .words = toy_words, .is_live = true, .help = "how much"},
    {WEIR__CONFIG_COUNT(struct toy_more, any), .name = "server.any", .preset = "7", .is_live = true,
     .help = "any number"},
    {WEIR__CONFIG_RATIO(struct toy_more, share), .name = "repair.share", .preset = "0.25",
     .max = 1000, .is_live = true, .help = "how much of all"},
    WEIR__CONFIG_END,
};

/* So that a reload has something to find in what it keeps. */
static void toy_together(const void *values, struct weir__config_judge *judge)
{
    const struct toy *toy = values;
    if (toy->rps > 0 && toy->rps > toy->inflight)
        weir__config_object(judge, "server.max_rps", "it is above server.max_inflight, %llu",
                            (unsigned long long)toy->inflight);
    if (toy->is_open && toy->listen.count > 2)
        weir__config_object(judge, "server.open", "not with %zu addresses", toy->listen.count);
}

static const struct weir__config_table toy_table = {
    .name = "all", .keys = toy_keys, .values_size = sizeof(struct toy), .check = toy_together};
static const struct weir__config_table toy_more_table = {
    .name = "more", .keys = toy_more_keys, .values_size = sizeof(struct toy_more)};
static const struct weir__config_table *const toy_tables[] = {&toy_table, &toy_more_table, NULL};
static const char *const toy_variables[] = {"WEIR_LISTE", NULL};
static const struct weir__config_schema toy_schema = {.tables = toy_tables,
                                                      .variables = toy_variables};

/* --- what was told --- */

struct toy_heard {
    size_t problems, warnings, changes;
    size_t used;
    char text[64 << 10]; /* lines, each with its newline */
};

static void toy_add(struct toy_heard *heard, const char *line)
{
    size_t length = strlen(line);
    if (heard->used + length + 2 > sizeof(heard->text))
        return;
    memcpy(heard->text + heard->used, line, length);
    heard->used += length;
    heard->text[heard->used++] = '\n';
    heard->text[heard->used] = '\0';
}

static void toy_problem(void *arg, bool is_warning, const char *line)
{
    struct toy_heard *heard = arg;
    *(is_warning ? &heard->warnings : &heard->problems) += 1;
    toy_add(heard, line);
}

static void toy_changed(void *arg, const struct weir__config_key *key, const char *before,
                        const char *after, bool needs_restart)
{
    struct toy_heard *heard = arg;
    char line[256];
    heard->changes++;
    snprintf(line, sizeof(line), "%s: %s to %s%s", key->name, before, after,
             needs_restart ? " at restart" : "");
    toy_add(heard, line);
}

/* Loads a text and what else is there; what is told lies in *heard. */
static inline int toy_load_all(struct weir__config **ret_config, struct toy_heard *heard,
                               struct weir__config_sources *sources, const char *text)
{
    *heard = (struct toy_heard){0};
    struct weir__config_sink sink = {.problem = toy_problem, .changed = toy_changed, .arg = heard};
    if (text) {
        sources->file = "toy.toml";
        sources->text = text;
        sources->text_length = strlen(text);
    }
    return weir__config_load(ret_config, &toy_schema, sources, &sink);
}

#endif
