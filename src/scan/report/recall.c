/* recall.c - all the names of a finding, one after the other. */
#include "recall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "findings.h"
#include "record.h"
#include "report_parts.h"

#include "banned.h"

static bool has_fingerprint(const struct weir__known *known, const char *path,
                            const struct weir__finding *finding)
{
    char fingerprint[WEIR__FINGERPRINT_SIZE];
    weir__fingerprint(finding->rule->id, finding->secret, finding->secret_length, path,
                      fingerprint);
    const struct weir__known_part print = {fingerprint, sizeof(fingerprint) - 1};
    return weir__known_has(known, WEIR__KNOWN_FINGERPRINT, &print, 1);
}

/* By the id of its rule, or another name of that. */
static bool is_known_by(const struct weir__known *known, const char *rule, const char *path,
                        const char *commit, const struct weir__finding *finding)
{
    char line[24];
    int digits = snprintf(line, sizeof(line), "%" PRIu64, finding->place.line);
    const struct weir__known_part secret[] = {
        {rule, strlen(rule)}, {path, strlen(path)}, {finding->secret, finding->secret_length}};
    const struct weir__known_part place[] = {
        {rule, strlen(rule)}, {path, strlen(path)}, {line, (size_t)digits}};
    return weir__known_has(known, WEIR__KNOWN_SECRET, secret, 3) ||
           weir__known_has(known, WEIR__KNOWN_PLACE, place, 3) ||
           weir__known_has_line_name(known, NULL, path, rule, finding->place.line) ||
           (commit && weir__known_has_line_name(known, commit, path, rule, finding->place.line)) ||
           weir__masks_has(&known->masks, NULL, path, rule, finding->place.line) ||
           (commit && weir__masks_has(&known->masks, commit, path, rule, finding->place.line));
}

static bool is_known_as(const struct weir__known *known, const char *path, const char *commit,
                        const struct weir__finding *finding)
{
    const struct weir__strings *names[] = {&finding->rule->aliases, &finding->rule->known};
    path = weir__path_plain(path);
    bool is_known = is_known_by(known, finding->rule->id, path, commit, finding);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < names[k]->count && !is_known; i++)
            is_known = is_known_by(known, names[k]->items[i], path, commit, finding);
    return is_known;
}

/* By the path as a report has it that hides what is in it. */
static bool is_known_hidden(const struct weir__known *known, const char *path, const char *commit,
                            const struct weir__finding *finding)
{
    const char *shown = finding->shown_path ? finding->shown_path : path;
    size_t length = strlen(shown);
    char *hidden = weir__base_alloc(length + 1, 1);
    if (!hidden)
        return false; /* it is told once more */
    memcpy(hidden, shown, length + 1);
    weir__hide_in_path(hidden, finding);
    bool is_it = strcmp(hidden, path) != 0 && is_known_as(known, hidden, commit, finding);
    weir__base_free(hidden);
    return is_it;
}

/* By its fingerprint, there or everywhere; or by what others call it, who got the path from a
 * report. */
static bool is_known(const struct weir__known *known, const char *path, const char *commit,
                     const struct weir__finding *finding)
{
    if (has_fingerprint(known, path, finding) || has_fingerprint(known, NULL, finding))
        return true;
    struct weir__buffer written;
    weir__buffer_init(&written, WEIR__NAME_MAX);
    const char *name = weir__name_written(path, &written);
    bool is_it = name && is_known_as(known, name, commit, finding);
    /* Ignore files may have bytes as they are. Text that looks like \xff is another's name. */
    if (!is_it && name != path && !weir__name_is_text(path))
        is_it = is_known_as(known, path, commit, finding);
    weir__buffer_fini(&written);
    return is_it || is_known_hidden(known, path, commit, finding);
}

bool weir__recall(const struct weir__known *known, const struct weir__origin *origin,
                  const char *path, const char *commit, const struct weir__finding *finding)
{
    if (known->_kinds == 0)
        return false;
    if (is_known(known, path, commit, finding))
        return true;
    struct weir__buffer scratch, shown;
    weir__buffer_init(&scratch, WEIR__NAME_MAX);
    weir__buffer_init(&shown, WEIR__NAME_MAX);
    struct weir__finding same = *finding;
    if (same.shown_path)
        same.shown_path = weir__origin_path(origin, same.shown_path, &shown);
    const char *inside = weir__origin_path(origin, path, &scratch);
    if (inside && weir__finding_is_path(finding)) { /* what was found is the path itself */
        same.secret = inside;
        same.secret_length = strlen(inside);
    }
    bool is_it = inside && is_known(known, inside, commit, &same);
    weir__buffer_fini(&scratch);
    weir__buffer_fini(&shown);
    return is_it;
}
