/* lint.h - what is wrong with rules that load.
 *
 * Told are: two rules with one id, a missing description, expressions that PCRE2 does not take or
 * that can match the empty text or more than WEIR__WIDTH_MAX, a group that the expression does not
 * have, examples without a match and negatives with one, keywords that are nowhere and examples
 * without any, checks that there are none of, rules that require themselves, and all notes of the
 * loader, required rules that are not there among them. Told are also expressions of rules and
 * allow lists that match nearly everything: a few texts that have little in common. Examples and
 * negatives are put to the rule's expression, its entropy, its check, and the expressions and stop
 * words of allow lists; requirements, paths and commits are not asked.
 *
 * Cost: each expression is compiled once and run on its examples within limits of the matcher; one
 * that reaches them is told.
 *
 * Ownership: a problem is valid during the call that tells it; the rule belongs to the set.
 */
#ifndef WEIR_SCAN_ENGINE_LINT_H
#define WEIR_SCAN_ENGINE_LINT_H

#include "rule.h"

struct weir__lint_sink {
    /* One line, with file and line first. rule is NULL when it is not about one rule. */
    void (*problem)(void *arg, const struct weir__rule *rule, const char *text);
    void *arg;
};

/* 0 or NoMemory. */
WEIR_MUST_USE int weir__rules_lint(const struct weir__rules *rules,
                                   const struct weir__lint_sink *sink, size_t *ret_problems);

#endif
