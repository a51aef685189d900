/* keys.c - the keys that tokens are checked with: found, made where there never were any, and kept.
 */
#include <stdio.h>

#include <weir/error.h>

#include "daemon_part.h"

#include "banned.h"

#define FOLDER_SIZE 4096

/* Where they are; false: nowhere. */
static bool find_folder(const struct weir__daemon *daemon, const struct weir__daemon_rules *rules,
                        char folder[FOLDER_SIZE])
{
    const char *named = rules->service->tokens.keys, *data = daemon->service->folder(rules);
    bool is_named = named && named[0];
    if (!is_named && (!data || !data[0]))
        return false;
    snprintf(folder, FOLDER_SIZE, "%s%s", is_named ? named : data, is_named ? "" : "/keys");
    return true;
}

static bool is_named(const struct weir__daemon_rules *rules)
{
    return rules->service->tokens.keys && rules->service->tokens.keys[0];
}

static bool is_read_only(struct weir__daemon *daemon)
{
    return daemon->service->is_read_only && daemon->service->is_read_only(daemon);
}

/* Of the default place, so that minting a token is one command. In a folder that had its keys, what
 * they have made is refused from now on, and somebody may look for the reason. */
static int make_first(struct weir__daemon *daemon, struct weir__daemon_rules *rules,
                      const char *folder, char problem[WEIR__KEY_WHY])
{
    char id[WEIR__KEY_ID_SIZE];
    int error = weir__keyring_add(folder, id, problem);
    if (!error)
        error = weir__keyring_load(&rules->ring, folder, problem);
    if (!error && !daemon->is_new)
        weir__daemon_find(daemon,
                          "there was no key in '%s', and one was made: tokens of earlier ones are "
                          "refused",
                          folder);
    return error == -WEIR_E_NO_SPACE ? 0 : error;
}

static bool has_keys(struct weir__daemon *daemon)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(daemon);
    bool has = rules->ring != NULL;
    weir__daemon_rules_give(rules);
    return has;
}

/* A folder that cannot be written can be read all the same, by who cannot see its keys, too: what
 * they are for cannot be done there. And who has none cannot lose them. */
static bool may_lack(struct weir__daemon *daemon, const struct weir__daemon_rules *rules, int error)
{
    return !is_named(rules) && !has_keys(daemon) &&
           (error == -WEIR_E_NOT_FOUND || (error == -WEIR_E_DENIED && is_read_only(daemon)));
}

/* is_start: nobody relies on keys yet. Later none is made: a folder that is gone or empty is a
 * mistake, or a disk that is not there, and every token would end with the old keys. */
static int load(struct weir__daemon *daemon, struct weir__daemon_rules *rules, bool is_start,
                char why[WEIR__DAEMON_WHY_MAX])
{
    char folder[FOLDER_SIZE], problem[WEIR__KEY_WHY];
    const char *missing;
    if (!find_folder(daemon, rules, folder))
        return 0;
    if ((missing = weir__token_load()))
        return weir__daemon_fail(why, -WEIR_E_UNSUPPORTED, "%s", missing);
    int error = weir__keyring_load(&rules->ring, folder, problem);
    if (error == -WEIR_E_NOT_FOUND && is_start && is_named(rules))
        return weir__daemon_fail(why, -WEIR_E_INVALID,
                                 "%s: make one with 'weir token rotate', or set tokens.keys to "
                                 "the folder that has some",
                                 problem);
    if (error == -WEIR_E_NOT_FOUND && is_start)
        error = make_first(daemon, rules, folder, problem);
    if (!error || may_lack(daemon, rules, error))
        return 0;
    return weir__daemon_fail(why, error, "%s%s", problem,
                             error == -WEIR_E_NOT_FOUND ? ": the keys of before are kept" : "");
}

/* Whether what is asked for can be checked. */
static int check_wanted(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    if (rules->ring || !weir__service_wants_tokens(rules->service))
        return 0;
    return weir__daemon_fail(
        why, -WEIR_E_INVALID,
        "tokens are asked for and there are no keys: name their folder with tokens.keys");
}

/* A folder that is not named is made by the start. */
int weir__daemon_check_keys(const struct weir__daemon_rules *rules, char why[WEIR__DAEMON_WHY_MAX])
{
    struct weir__keyring *ring = NULL;
    char problem[WEIR__KEY_WHY];
    const char *missing;
    if (!is_named(rules))
        return 0;
    if ((missing = weir__token_load()))
        return weir__daemon_fail(why, -WEIR_E_UNSUPPORTED, "%s", missing);
    int error = weir__keyring_load(&ring, rules->service->tokens.keys, problem);
    weir__keyring_free(ring);
    return error ? weir__daemon_fail(why, error, "tokens.keys: %s%s", problem,
                                     error == -WEIR_E_NOT_FOUND ? ": the keys of before are kept"
                                                                : "")
                 : 0;
}

int weir__daemon_load_keys(struct weir__daemon *daemon, struct weir__daemon_rules *rules,
                           bool is_start, char why[WEIR__DAEMON_WHY_MAX])
{
    int error = load(daemon, rules, is_start, why);
    return error ? error : check_wanted(rules, why);
}
