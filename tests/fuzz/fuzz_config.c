/* Any bytes as a configuration: up to the first NUL a file, behind it variables of the environment,
 * each ended by NUL.
 *
 * What loads is within its bounds and is shown as a file that loads to the same values; what does
 * not is told, in a bounded number of lines. A reload of it over the defaults leaves what needs a
 * restart alone. The same bytes choose keys of the sample. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "../unit/base/config_toy.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define VARIABLES_MAX 16

static struct toy_heard heard;
static const struct weir__config_sink sink = {
    .problem = toy_problem, .changed = toy_changed, .arg = &heard};

static int load(struct weir__config **ret_config, const char *text, size_t length,
                const char *const *environment)
{
    heard = (struct toy_heard){0};
    struct weir__config_sources sources = {
        .file = "f", .text = text, .text_length = length, .environment = environment};
    return weir__config_load(ret_config, &toy_schema, &sources, &sink);
}

static void check_told(int result)
{
    HOLDS(result == 0 || result == -WEIR_E_INVALID || result == -WEIR_E_OVERFLOW);
    HOLDS((result == 0) == (heard.problems == 0));
    HOLDS(heard.problems <= WEIR__CONFIG_PROBLEMS_MAX + 1);
}

static void check_values(const struct weir__config *config)
{
    const struct toy *toy = weir__config_values(config, &toy_table);
    const struct toy_more *more = weir__config_values(config, &toy_more_table);
    HOLDS(toy->inflight >= 1 && toy->inflight <= 65536 && toy->rps <= 1000);
    HOLDS(toy->rps == 0 || toy->rps <= toy->inflight);
    HOLDS(toy->wait_ns >= WEIR_NS_PER_S && toy->wait_ns <= 60 * WEIR_NS_PER_S);
    HOLDS(toy->body >= 1024 && toy->body <= 1 << 20 && more->level <= TOY_HIGH);
    HOLDS(toy->listen.count >= 1 && toy->listen.count <= 4);
    for (size_t i = 0; i < toy->listen.count; i++)
        HOLDS(strchr(toy->listen.items[i], ':'));
    HOLDS(*toy->name && strlen(toy->name) <= WEIR__CONFIG_TEXT_MAX);
}

static void check_shown(const struct weir__config *config, bool with_origin)
{
    struct weir__config *again = NULL;
    struct weir__buffer shown, second;
    weir__buffer_init(&shown, WEIR__CONFIG_PRINTED_MAX);
    weir__buffer_init(&second, WEIR__CONFIG_PRINTED_MAX);
    HOLDS(weir__config_show(&shown, config, with_origin) == 0);
    HOLDS(load(&again, weir__buffer_text(&shown), weir__buffer_length(&shown), NULL) == 0);
    weir__buffer_truncate(&shown, 0);
    HOLDS(weir__config_show(&shown, config, false) == 0);
    HOLDS(weir__config_show(&second, again, false) == 0);
    HOLDS(strcmp(weir__buffer_text(&shown), weir__buffer_text(&second)) == 0);
    weir__config_unref(again);
    weir__buffer_fini(&second);
    weir__buffer_fini(&shown);
}

static void check_reload(const char *text, size_t length, const char *const *environment)
{
    struct weir__config *plain = NULL, *fresh = NULL;
    HOLDS(load(&plain, "", 0, NULL) == 0);
    struct weir__config_sources sources = {
        .file = "f", .text = text, .text_length = length, .environment = environment};
    int result = weir__config_reload(&fresh, plain, &sources, &sink, NULL);
    check_told(result);
    weir__config_unref(plain);
    if (result < 0)
        return;
    const struct toy *toy = weir__config_values(fresh, &toy_table);
    HOLDS(toy->listen.count == 2 && strcmp(toy->listen.items[0], "a:1") == 0);
    HOLDS(toy->body == 65536);
    check_values(fresh);
    weir__config_unref(fresh);
}

/* The sample with any of its keys uncommented is the defaults. */
static void check_sample(const uint8_t *data, size_t size)
{
    struct weir__config *config = NULL, *plain = NULL;
    struct weir__buffer sample, shown, defaults;
    weir__buffer_init(&sample, WEIR__CONFIG_PRINTED_MAX);
    weir__buffer_init(&shown, WEIR__CONFIG_PRINTED_MAX);
    weir__buffer_init(&defaults, WEIR__CONFIG_PRINTED_MAX);
    HOLDS(weir__config_sample(&sample, &toy_schema) == 0);
    char *text = strdup(weir__buffer_text(&sample));
    HOLDS(text);
    size_t key = 0;
    for (char *p = text; (p = strstr(p, "\n#")); p += 2)
        if (p[2] != ' ' && ++key / 8 < size && (data[key / 8] & (1 << key % 8)))
            p[1] = ' ';
    HOLDS(load(&config, text, strlen(text), NULL) == 0 && load(&plain, "", 0, NULL) == 0);
    HOLDS(weir__config_show(&shown, config, false) == 0);
    HOLDS(weir__config_show(&defaults, plain, false) == 0);
    HOLDS(strcmp(weir__buffer_text(&shown), weir__buffer_text(&defaults)) == 0);
    weir__config_unref(plain);
    weir__config_unref(config);
    weir__buffer_fini(&defaults);
    weir__buffer_fini(&shown);
    weir__buffer_fini(&sample);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    size_t length = strlen(copy), count = 0;
    const char *environment[VARIABLES_MAX + 1] = {NULL};
    for (size_t at = length + 1; at < size && count < VARIABLES_MAX; at += strlen(copy + at) + 1)
        environment[count++] = copy + at;
    struct weir__config *config = NULL;
    int result = load(&config, copy, length, environment);
    check_told(result);
    HOLDS((result == 0) == (config != NULL));
    check_sample(data, size);
    if (config) {
        check_values(config);
        check_shown(config, false);
        check_shown(config, true);
        check_reload(copy, length, environment);
    }
    weir__config_unref(config);
    free(copy);
    return 0;
}
