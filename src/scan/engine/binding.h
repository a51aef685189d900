/* binding.h - whose value it is that stands behind a name.
 *
 * Rules that know a secret by the name before it take the first text of the right form. Settings
 * that are to be filled in have name after name without a value, and what comes first then is the
 * value of somebody else:
 *
 *     SNYK_TOKEN=                        - name: SNYK_TOKEN          <snykToken></snykToken>
 *     CACHE_VERSION=6f1c…                  value: ""                 <cacheId>6f1c…</cacheId>
 *                                        - name: CACHE_ID
 *                                          value: 6f1c…
 *
 * A value is another's if it has a name of its own, and that behind which it was looked for has
 * none: nothing, empty quotes, null, a reference to a variable, a call, a word that stands for a
 * value. Names that say no more than what kind of thing it is ("token", "value") do not count as
 * another's where they stand in the section of the first one (`snyk:`, and below it `token: …`).
 *
 * A value without a name of its own (alone on the next line, an argument, a fallback) is never
 * another's: in doubt it is told.
 *
 * Everything here is pure and linear in the distance of name and value; up to WEIR__BINDING_BEFORE
 * bytes before the name are looked at, and nothing behind the value.
 *
 * Ownership: borrows the text for the call.
 */
#ifndef WEIR_SCAN_ENGINE_BINDING_H
#define WEIR_SCAN_ENGINE_BINDING_H

#include "rule.h"

#define WEIR__BINDING_BEFORE 96u

/* The value at [value, value_end) of the text was looked for behind a name in which `mark` is. */
bool weir__binding_is_other(const char *text, size_t mark, size_t value, size_t value_end);

/* Whether a match of the rule is no value, such a value, or that of a public name. Names are where
 * the expression of a context has empty groups; in that of a rule that says that it is `named`,
 * where the first empty group is, or else where the match begins. `ends`: of the groups, as PCRE2
 * has them. */
bool weir__binding_rejects(const struct weir__rule *rule, const char *text, const size_t *ends,
                           unsigned groups, size_t secret, size_t secret_end);

/* Whether a name says that its value may be seen: of public keys, of keys of tables and caches.
 * `mark` is in the name, which goes on to `end` at most. Where secrets are called so as well
 * (primary key), the value at [value, value_end) has to look like a number or a digest. */
bool weir__binding_is_public(const char *text, size_t mark, size_t end, size_t value,
                             size_t value_end);

#endif
