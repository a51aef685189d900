/* shown.h - hides what was found in the texts that are shown beside a secret: names of files and
 * people, subjects of commits, and what rules are called.
 *
 * Ownership: the rules that weir__rule_shown() returns are the list's own, or those that came. The
 * texts of a weir__early are its own, the rest of it is the record's.
 */
#ifndef WEIR_SCAN_REPORT_SHOWN_H
#define WEIR_SCAN_REPORT_SHOWN_H

#include "record.h"
#include "secrets.h"

/* Rules that were looked at, the last one first: one entry for each rule that found something. */
struct weir__rule_seen;

/* The rule, or a copy whose id and description show no secret. Without memory: as it came. */
const struct weir__rule *weir__rule_shown(struct weir__rule_seen **list,
                                          const struct weir__secrets *secrets,
                                          const struct weir__rule *rule);
void weir__rules_forget(struct weir__rule_seen **list);

/* In the texts of a place but for its line. */
void weir__place_hide(const struct weir__secrets *secrets, struct weir__found_place *place);

/* What is told of a record before the end: what was found so far is hidden in it. */
struct weir__early {
    struct weir__found found;
    struct weir__found_place place;
    struct weir__rule_seen *_rules;
};

/* 0 or NoMemory. */
WEIR_MUST_USE int weir__early_init(struct weir__early *early, const struct weir__secrets *secrets,
                                   const struct weir__record *record);
void weir__early_fini(struct weir__early *early);

#endif
