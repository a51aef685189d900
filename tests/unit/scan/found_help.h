/* found_help.h - findings made by hand, for the tests of findings and reports.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_TESTS_FOUND_HELP_H
#define WEIR_TESTS_FOUND_HELP_H

#include "findings.h"

#include "tap.h"

/* A finding of the secret in a text: the place is counted, the line is the whole line. The match is
 * that line, too, or begins with a secret that begins with a keyword of the rule. */
static inline struct weir__finding found_in(const struct weir__rule *rule, const char *text,
                                            const char *secret)
{
    const char *at = strstr(text, secret), *line = text;
    CHECK(at != NULL);
    struct weir__finding finding = {.rule = rule, .secret = secret, .entropy = 4.25};
    finding.secret_length = strlen(secret);
    finding.place = (struct weir__place){
        .offset = (uint64_t)(at - text), .length = finding.secret_length, .line = 1, .end_line = 1};
    for (const char *p = text; p < at; p++)
        if (*p == '\n') {
            finding.place.line++;
            line = p + 1;
        }
    finding.place.end_line = finding.place.line;
    finding.place.column = (uint64_t)(at - line) + 1;
    finding.place.end_column = finding.place.column + finding.secret_length;
    finding.line = line;
    finding.line_length = strcspn(line, "\n");
    finding.line_from = (size_t)(at - line);
    finding.line_until = finding.line_from + finding.secret_length;
    finding.match = line;
    for (size_t i = 0; i < rule->keywords.count; i++)
        if (strncmp(secret, rule->keywords.items[i], strlen(rule->keywords.items[i])) == 0)
            finding.match = at;
    finding.match_length = finding.line_length - (size_t)(finding.match - line);
    return finding;
}

#endif
