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

#include "alloc.h"
#include "parts.h"

#include "banned.h"

#define USES_MAX       48u
#define LOOKBEHIND_MAX 1024u
#define CHARACTER      4u   /* bytes: an edge of a word asks for the next one */
#define USES_LATE      512u /* before it is worth a millisecond to know more */
#define WIDE_OPTIONS   (PCRE2_UTF | PCRE2_MATCH_INVALID_UTF)
#define OPTIONS        (PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT)

bool weir__matcher_has_any_byte(const char *text)
{
    if (strstr(text, "\\C"))
        return true;
    for (; (text = strstr(text, "(?")); text += 2)
        if (memchr(text + 2, 's', strspn(text + 2, "^-aDimnrsUxJST")))
            return true;
    return false;
}

/* PCRE2 10.42 takes any byte, so many times, in one step. If nothing was matched before it and the
 * text has fewer, it says that there is no match, and not that there may be one when more has come;
 * but it does in expressions that look behind. So one is put before it that is there no times. */
static pcre2_code *compile_any(const char *text, uint32_t options)
{
    static const char looks[] = "(?<=x){0}";
    static const char verbs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=";
    int error;
    PCRE2_SIZE at;
    size_t first = 0, length = strlen(text);
    while (strncmp(text + first, "(*", 2) == 0) { /* these must come first */
        size_t verb = 2 + strspn(text + first + 2, verbs);
        if (text[first + verb] != ')')
            break;
        first += verb + 1;
    }
    char *longer = weir__base_alloc(1, length + sizeof(looks));
    if (!longer)
        return NULL;
    memcpy(longer, text, first);
    memcpy(longer + first, looks, sizeof(looks) - 1);
    memcpy(longer + first + sizeof(looks) - 1, text + first, length - first);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)longer, length + sizeof(looks) - 1, options, &error, &at, NULL);
    weir__base_free(longer);
    return code;
}

static pcre2_code *compile(const char *text, int *ret_error, PCRE2_SIZE *ret_at)
{
    bool is_wide = weir__expression_is_wide(text); /* where each character is a step */
    uint32_t lookbehind = 0, options = OPTIONS | (is_wide ? WIDE_OPTIONS : 0);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, ret_error, ret_at, NULL);
    if (!code || is_wide || !weir__matcher_has_any_byte(text) ||
        pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &lookbehind) != 0 || lookbehind > 0)
        return code;
    pcre2_code_free(code);
    code = compile_any(text, options);
    *ret_error = code ? 0 : PCRE2_ERROR_NOMEMORY; /* the expression is right */
    *ret_at = 0;
    return code;
}

static pcre2_code *compile_rule(const char *text)
{
    int error;
    PCRE2_SIZE at;
    char *longer = NULL;
    if (weir__edge_widen(text, true, &longer) < 0)
        return NULL;
    pcre2_code *code = compile(longer ? longer : text, &error, &at);
    weir__base_free(longer);
    return code;
}

static uint32_t lookbehind_of(const pcre2_code *code)
{
    uint32_t characters = 0, options = 0;
    if (!code || pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options) != 0 ||
        pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &characters) != 0 ||
        characters > LOOKBEHIND_MAX)
        return UINT32_MAX;
    /* Where characters are meant, the one that the search begins in the middle of is looked at, and
     * one before it that may be cut. */
    return options & PCRE2_UTF ? 4 * (characters + 2) : characters;
}

/* The machine code of PCRE2 10.42 never lets \D, \S and \W match a character beyond ASCII in a text
 * that need not be valid. */
static bool can_be_machine_code(const char *text)
{
    if (!weir__expression_is_wide(text))
        return true;
    for (; (text = strchr(text, '\\')) && text[1]; text += 2)
        if (strchr("DSW", text[1]))
            return false;
    return true;
}

/* In ASCII nothing is cut or damaged: so it is matched faster, and by machine code in any case. */
static pcre2_code *compile_plain(const char *text)
{
    int error;
    PCRE2_SIZE at;
    if (!weir__expression_is_wide(text))
        return NULL;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, OPTIONS | PCRE2_UTF,
                                     &error, &at, NULL);
    if (code && pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0)
        return code;
    pcre2_code_free(code);
    return NULL;
}

static pcre2_code *code_of(struct weir__matcher *matcher)
{
    int error;
    PCRE2_SIZE at;
    if (!matcher->code) { /* without memory it is tried again the next time */
        matcher->code =
            matcher->is_rule ? compile_rule(matcher->text) : compile(matcher->text, &error, &at);
        matcher->lookbehind = lookbehind_of(matcher->code);
    } else if (++matcher->uses == USES_MAX) {
        if (can_be_machine_code(matcher->text))
            matcher->is_machine_code = pcre2_jit_compile(matcher->code, PCRE2_JIT_COMPLETE) == 0;
        if (!matcher->is_rule)
            matcher->plain = compile_plain(matcher->text);
    }
    return matcher->code;
}

int weir__matcher_run(struct weir__matcher *matcher, const char *subject, size_t length,
                      size_t from, uint32_t options, pcre2_match_data *data,
                      pcre2_match_context *context)
{
    pcre2_code *code = code_of(matcher);
    if (!code)
        return PCRE2_ERROR_NOMEMORY;
    /* The same without checking again what is asked for, which takes longer than most matches. The
     * machine code knows complete matches alone. */
    return matcher->is_machine_code && !(options & PCRE2_PARTIAL_HARD)
               ? pcre2_jit_match(code, (PCRE2_SPTR)subject, length, from, options, data, context)
               : pcre2_match(code, (PCRE2_SPTR)subject, length, from, options, data, context);
}

bool weir__matcher_check(const char *text, uint32_t *ret_groups, char *reason, size_t size)
{
    int error;
    PCRE2_SIZE at;
    pcre2_code *code = compile(text, &error, &at);
    if (code) {
        (void)pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, ret_groups);
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
    pcre2_code_free(matcher->plain);
    matcher->code = matcher->plain = NULL;
    weir__base_free(matcher->late);
    matcher->late = NULL;
}

const char *weir__matcher_late(struct weir__matcher *matcher)
{
    struct weir__expression study;
    if (!matcher->is_studied && matcher->uses >= USES_LATE) {
        matcher->is_studied = true;
        if (weir__expression_study(matcher->text, &study) == 0 && study.late[0] &&
            (matcher->late = weir__base_alloc(1, sizeof(study.late)))) /* else it is slower */
            memcpy(matcher->late, study.late, sizeof(study.late));
    }
    return matcher->late ? matcher->late : "";
}

bool weir__matcher_may_begin(struct weir__matcher *matcher, pcre2_match_data *data,
                             const char *bytes, size_t length, size_t from)
{
    const pcre2_code *code = code_of(matcher);
    uint32_t options = PCRE2_ANCHORED | (from < length ? PCRE2_PARTIAL_HARD : 0);
    return !code || pcre2_match(code, (PCRE2_SPTR)bytes, length, from, options, data, NULL) !=
                        PCRE2_ERROR_NOMATCH;
}

bool weir__matcher_reach(struct weir__matcher *matcher, size_t *ret_before, size_t *ret_behind)
{
    struct weir__expression study;
    if (matcher->extent == 0) {
        matcher->extent = UINT32_MAX;
        if (weir__expression_study(matcher->text, &study) == 0 &&
            study.extent_max < WEIR__WIDTH_MAX)
            matcher->extent = (uint32_t)study.extent_max + CHARACTER;
    }
    if (matcher->extent == UINT32_MAX || !code_of(matcher) || matcher->lookbehind == UINT32_MAX)
        return false;
    *ret_before = matcher->lookbehind + CHARACTER;
    *ret_behind = matcher->extent;
    return true;
}

static bool is_ascii(const char *text, size_t length)
{
    uint8_t all = 0;
    for (size_t i = 0; i < length; i++)
        all |= (uint8_t)text[i];
    return all < 0x80;
}

bool weir__matcher_has(struct weir__matcher *matcher, pcre2_match_data *data, const char *subject,
                       size_t length)
{
    if (matcher->plain && is_ascii(subject, length))
        return pcre2_jit_match(matcher->plain, (PCRE2_SPTR)subject, length, 0, 0, data, NULL) > 0;
    return weir__matcher_run(matcher, subject, length, 0, 0, data, NULL) > 0;
}
