/* matcher.c - PCRE2, when first needed and within limits.
 *
 * Most of the rules never come near a match in a run, so that compiling them all would be most of
 * the time of a short one. Each thread compiles its own: no lock, no sharing. Those that are used
 * often are compiled again, to machine code, which takes as long as many uses.
 *
 * As in the expressions' own language (RE2): `$` is the very end, `^` the very beginning.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"

#include "banned.h"

#define USES_MAX 48u
#define OPTIONS  (PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT)

static pcre2_code *compile(const char *text, int *ret_error, PCRE2_SIZE *ret_at)
{
    uint32_t options =
        OPTIONS | (weir__expression_is_wide(text) ? PCRE2_UTF | PCRE2_MATCH_INVALID_UTF : 0);
    return pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, ret_error, ret_at, NULL);
}

pcre2_code *weir__matcher_code(struct weir__matcher *matcher)
{
    if (matcher->is_tried) {
        if (matcher->code && ++matcher->uses == USES_MAX)
            (void)pcre2_jit_compile(matcher->code, PCRE2_JIT_COMPLETE); /* slower without */
        return matcher->code;
    }
    int error;
    PCRE2_SIZE at;
    matcher->is_tried = true;
    matcher->code = compile(matcher->text, &error, &at);
    return matcher->code;
}

bool weir__matcher_check(const char *text, char *reason, size_t size)
{
    int error;
    PCRE2_SIZE at;
    pcre2_code *code = compile(text, &error, &at);
    if (code) {
        pcre2_code_free(code);
        return true;
    }
    unsigned char why[128] = "";
    pcre2_get_error_message(error, why, sizeof(why));
    snprintf(reason, size, "%s at character %zu", (const char *)why, (size_t)at + 1);
    return false;
}

void weir__matcher_fini(struct weir__matcher *matcher)
{
    pcre2_code_free(matcher->code);
    matcher->code = NULL;
}

bool weir__matcher_has(struct weir__matcher *matcher, pcre2_match_data *data, const char *subject,
                       size_t length)
{
    pcre2_code *code = weir__matcher_code(matcher);
    return code && pcre2_match(code, (PCRE2_SPTR)subject, length, 0, 0, data, NULL) > 0;
}
