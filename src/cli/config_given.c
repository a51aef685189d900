/* config_given.c - words of the command line as values of the configuration. */
#include "config_given.h"

#include <string.h>

#include <weir/error.h>

#include "cover.h"
#include "log.h"
#include "require.h"

#include "banned.h"

void weir__config_words_add(struct weir__config_words *words, const char *key, const char *value,
                            const char *flag)
{
    WEIR__REQUIRE(words->count < WEIR__CONFIG_GIVEN_MAX, "flag", flag, "there are too many");
    words->items[words->count++] = (struct weir__config_given){key, value, flag};
}

int weir__config_words_set(struct weir__config_words *words, const struct weir__list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->items[i], '=');
        size_t length = equals ? (size_t)(equals - list->items[i]) : 0;
        if (length == 0 || length > WEIR__CONFIG_NAME_MAX) {
            weir__log(WEIR__LOG_ERROR,
                      "'%s' is not a key with its value, as in server.max_inflight=64",
                      WEIR__TYPED(list->items[i]));
            return -WEIR_E_USAGE;
        }
        memcpy(words->keys[i], list->items[i], length);
        words->keys[i][length] = '\0';
        weir__config_words_add(words, words->keys[i], equals + 1, "--set");
    }
    return 0;
}

void weir__config_tell_problem(void *arg, bool is_warning, const char *line)
{
    (void)arg;
    weir__log(is_warning ? WEIR__LOG_WARNING : WEIR__LOG_ERROR, "%s", line);
}
