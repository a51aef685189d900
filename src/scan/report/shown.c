/* shown.c - copies of texts, with asterisks in them. */
#include "shown.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"

#include "banned.h"

struct weir__rule_seen {
    struct weir__rule_seen *next;
    const struct weir__rule *rule;
    struct weir__rule shown;
    char texts[];
};

static char *put_hidden(const struct weir__secrets *secrets, char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length + 1);
    weir__secrets_hide(secrets, at, length);
    return at;
}

const struct weir__rule *weir__rule_shown(struct weir__rule_seen **list,
                                          const struct weir__secrets *secrets,
                                          const struct weir__rule *rule)
{
    struct weir__rule_seen **at = list;
    while (*at && (*at)->rule != rule)
        at = &(*at)->next;
    struct weir__rule_seen *seen = *at;
    if (seen) {
        *at = seen->next; /* to the front: the next one is most often of the same rule */
    } else {
        const char *description = rule->description ? rule->description : "";
        size_t id_size = strlen(rule->id) + 1;
        seen = weir__base_alloc(1, sizeof(*seen) + id_size + strlen(description) + 1);
        if (!seen)
            return rule;
        seen->rule = rule;
        seen->shown = *rule;
        seen->shown.id = put_hidden(secrets, seen->texts, rule->id);
        weir__cover_id(seen->texts);
        if (rule->description)
            seen->shown.description = put_hidden(secrets, seen->texts + id_size, description);
    }
    seen->next = *list;
    *list = seen;
    bool is_hidden = strcmp(seen->shown.id, rule->id) != 0 ||
                     (rule->description && strcmp(seen->shown.description, rule->description) != 0);
    return is_hidden ? &seen->shown : rule;
}

void weir__rules_forget(struct weir__rule_seen **list)
{
    while (*list) {
        struct weir__rule_seen *next = (*list)->next;
        weir__base_free(*list);
        *list = next;
    }
}

void weir__place_hide(const struct weir__secrets *secrets, struct weir__found_place *place)
{
    char *const texts[] = {place->path, place->author, place->mail, place->subject, place->by};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i])
            weir__secrets_hide(secrets, texts[i], strlen(texts[i]));
    for (char *path = place->paths; path && *path; path += strlen(path) + 1)
        weir__secrets_hide(secrets, path, strlen(path));
}

int weir__early_init(struct weir__early *early, const struct weir__secrets *secrets,
                     const struct weir__record *record)
{
    *early = (struct weir__early){.found = record->found};
    if (weir__place_copy(&record->owner, &early->place) < 0)
        return -WEIR_E_NO_MEMORY;
    weir__place_hide(secrets, &early->place);
    early->found.rule = weir__rule_shown(&early->_rules, secrets, record->found.rule);
    if (!record->found.rule->regex) { /* what was found is the path */
        early->found.secret = early->place.path;
        early->found.secret_length = strlen(early->place.path);
    }
    return 0;
}

void weir__early_fini(struct weir__early *early)
{
    weir__place_fini(&early->place);
    weir__rules_forget(&early->_rules);
}
