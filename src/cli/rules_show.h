/* rules_show.h - what the actions of weir rules share, and the largest of them.
 *
 * Ownership: nothing here owns anything but the engine that weir__rules_engine() makes, which the
 * caller frees.
 */
#ifndef WEIR_CLI_RULES_SHOW_H
#define WEIR_CLI_RULES_SHOW_H

#include "buffer.h"
#include "commands.h"
#include "engine/engine.h"
#include "json.h"

#define WEIR__RULES_JSON_MAX (16u << 20)
#define WEIR__RULES_WITH_MAX (4 * WEIR__REQUIRED_MAX + 1)

/* weir rules show: the rules for which the operands stand, in full. */
WEIR_MUST_USE int weir__rules_show(const struct weir__call *call, const struct weir__rules *rules,
                                   bool is_json);

/* The rule and those that it requires, as a set that borrows everything, with the allow lists for
 * all rules. is_pathless: without the condition of its path. */
struct weir__rules *weir__rules_alone(const struct weir__rules *rules,
                                      const struct weir__rule *rule,
                                      struct weir__rule with[WEIR__RULES_WITH_MAX],
                                      struct weir__rules *set, bool is_pathless);
/* An engine without a cache; what is wrong is logged. */
WEIR_MUST_USE int weir__rules_engine(struct weir__engine **ret_engine,
                                     const struct weir__rules *rules);

void weir__rules_put_text(struct weir__json *json, const char *key, const char *text);
void weir__rules_put_number(struct weir__json *json, const char *key, uint64_t number);
/* The members of the rule's object. */
#define WEIR__RULE_ID_SHOWN (WEIR__RULE_ID_MAX + 1)
/* An id as it is shown: without what looks like a secret. */
const char *weir__rules_id(char shown[WEIR__RULE_ID_SHOWN], const char *id);
/* What a text of a rule is. Of an expression words of machines alone are hidden: what it names are
 * patterns. */
enum weir__rules_text { WEIR__RULES_EXPRESSION, WEIR__RULES_EXAMPLE, WEIR__RULES_SENTENCE };

/* A text of a rule of the file as it is shown; the caller's, or NULL without memory. Of a rule that
 * is built in all is shown. */
char *weir__rules_covered(const char *text, const char *file, enum weir__rules_text kind);
void weir__rules_put_covered(struct weir__json *json, const char *key, const char *text,
                             const char *file, enum weir__rules_text kind);
void weir__rules_put(struct weir__json *json, const struct weir__rule *rule);

#endif
