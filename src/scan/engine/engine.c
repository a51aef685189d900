/* engine.c - rules made ready: how wide, by what they are found, what must hold besides.
 *
 * A rule is looked for in one of two ways. If every match of it has one of a few literals in it,
 * the database looks for those, which is several times faster than for whole expressions, and each
 * that is found is the occasion to run the expression around it. Otherwise the database has the
 * expression itself, and each end of a match is the occasion. Literals are shared by all rules that
 * need them.
 *
 * If besides every match is narrow and has a stretch of token bytes in it, it is looked for only
 * near such stretches (stretch.h), in a database of its own; and in another one if it is long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "parts.h"
#include "stretch.h"

#include "banned.h"

/* Occasions in a megabyte up to which literals cost less than the expression in the database: one
 * run of an expression takes a third of a microsecond, an expression more in the database about a
 * tenth of a millisecond for a megabyte. */
#define RATE_MAX 300.0
/* For those that the database does not take. */
#define RATE_LAST 20000.0
/* A match is near a stretch that it has, with all that its pattern has before it. */
#define NEAR_WIDTH (WEIR__STRETCH_NEAR - WEIR__EDGE_MAX)

/* Hyperscan looks for literals at every second byte where the shortest has three or more, and with
 * many of them that takes twice as long as to look at every byte (1.4 and 0.7 ns for a byte, with
 * 1,768). From so many patterns on, one of two bytes that text does not have is added, for nothing
 * but that. */
#define MANY_PATTERNS 400u
#define SHORT_PATTERN "\\xff\\xfe"

struct wish {
    uint32_t rule;
    bool is_keyword; /* only whether it is there */
    bool is_cased;
    uint8_t look;
    uint8_t length;
    char text[WEIR__EXPRESSION_LITERAL];
};

struct making {
    struct weir__engine *engine;
    const struct weir__engine_options *options;
    struct weir__rules_error *error;
    struct wish *wishes;
    size_t wishes_count, wishes_capacity;
    struct weir__patterns patterns[WEIR__LOOKS];
    uint32_t expressions_count; /* among them */
};

static int grow(void **memory, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return 0;
    size_t more = *capacity ? *capacity * 2 : 256;
    void *grown = weir__base_realloc(*memory, more, size);
    if (!grown)
        return -WEIR_E_NO_MEMORY;
    *memory = grown;
    *capacity = more;
    return 0;
}

static int add_wish(struct making *making, uint32_t rule, bool is_keyword, const char *text,
                    size_t length, bool is_cased)
{
    void *wishes = making->wishes;
    if (grow(&wishes, making->wishes_count, &making->wishes_capacity, sizeof(struct wish)) < 0)
        return -WEIR_E_NO_MEMORY;
    making->wishes = wishes;
    struct wish *wish = &making->wishes[making->wishes_count++];
    memset(wish, 0, sizeof(*wish));
    wish->rule = rule;
    wish->is_keyword = is_keyword;
    wish->is_cased = is_cased;
    wish->look = is_keyword ? WEIR__LOOK_EVERYWHERE : making->engine->prepared[rule].look;
    /* The beginning of a long one says as much. */
    wish->length = (uint8_t)(length < WEIR__EXPRESSION_LITERAL ? length : WEIR__EXPRESSION_LITERAL);
    for (unsigned i = 0; i < wish->length; i++)
        wish->text[i] = is_cased ? text[i] : weir__lower(text[i]);
    return 0;
}

/* --- one rule --- */

/* \3511 is a byte and a digit; Hyperscan takes it for a reference to a group of that number. */
static bool has_long_number(const char *regex)
{
    for (; (regex = strchr(regex, '\\')) && regex[1]; regex += 2)
        if (regex[1] != '0' && strspn(regex + 1, "0123456789") > 3)
            return true;
    return false;
}

/* 1, 0 or NoMemory. */
static int hyperscan_takes(const char *regex, unsigned flags)
{
    if (has_long_number(regex))
        return 0;
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *error = NULL;
    bool takes = hs_expression_info(regex, flags, &info, &error) == HS_SUCCESS;
    int result = takes ? 1 : weir__database_lacks_memory(error) ? -WEIR_E_NO_MEMORY : 0;
    hs_free_compile_error(error);
    if (info)
        weir__base_free(info); /* of the same malloc */
    return result;
}

static int add_literals(struct making *making, uint32_t rule, const struct weir__literals *literals)
{
    making->engine->prepared[rule].is_by_literals = true;
    for (unsigned i = 0; i < literals->count; i++)
        if (add_wish(making, rule, false, literals->text[i], literals->length[i],
                     literals->is_cased[i]) < 0)
            return -WEIR_E_NO_MEMORY;
    return 0;
}

/* With what may stand before a match and is a part of the pattern. */
static uint32_t pattern_width(const struct weir__prepared *prepared)
{
    uint32_t width = prepared->width + WEIR__EDGE_MAX;
    return width < WEIR__WIDTH_MAX ? width : WEIR__WIDTH_MAX;
}

static int add_expression(struct making *making, uint32_t rule, const char *regex,
                          const struct weir__literals *literals)
{
    unsigned flags = HS_FLAG_ALLOWEMPTY;
    int takes = regex ? hyperscan_takes(regex, flags) : 0;
    if (takes == 0) {
        if (weir__literals_rate(literals) <= RATE_LAST)
            return add_literals(making, rule, literals);
        flags |= HS_FLAG_PREFILTER;
        takes = regex ? hyperscan_takes(regex, flags) : 0;
    }
    if (takes < 0)
        return takes;
    if (takes == 0) {
        const struct weir__rule *one = making->engine->prepared[rule].rule;
        snprintf(making->error->text, sizeof(making->error->text),
                 "%s:%u: rule '%s': nothing in its expression can be looked for; give it a "
                 "literal of at least 3 characters",
                 one->file ? one->file : "rules", one->line, WEIR__TYPED(one->id));
        return -WEIR_E_INVALID;
    }
    const struct weir__prepared *prepared = &making->engine->prepared[rule];
    unsigned id = making->expressions_count++;
    int result = weir__patterns_add(&making->patterns[prepared->look], regex, flags, id);
    if (result == 0)
        result = weir__patterns_add(&making->patterns[WEIR__LOOK_RUNS], regex, flags, id);
    if (result < 0)
        return result;
    if (pattern_width(prepared) > making->engine->pattern_width)
        making->engine->pattern_width = pattern_width(prepared);
    return add_wish(making, rule, false, "", 0,
                    false); /* takes its place in the order of patterns */
}

/* The same for one about characters, since the database looks at bytes. */
static int add_wide_expression(struct making *making, uint32_t rule, const char *regex,
                               const struct weir__literals *literals)
{
    char *widened = NULL;
    if (weir__literals_rate(literals) <= RATE_LAST)
        return add_literals(making, rule, literals);
    int result = weir__expression_widen(regex, &widened);
    if (result == 0 || result == -WEIR_E_INVALID)
        result = add_expression(making, rule, widened, literals);
    weir__base_free(widened);
    return result;
}

/* Where a match begins behind an escape, the pattern has that in it. */
static int add_edged_expression(struct making *making, uint32_t rule, const char *regex,
                                const struct weir__literals *literals)
{
    char *edged = NULL;
    int result = weir__edge_widen(regex, false, &edged);
    if (result < 0)
        return result;
    if (weir__expression_is_wide(regex))
        result = add_wide_expression(making, rule, edged ? edged : regex, literals);
    else
        result = add_expression(making, rule, edged ? edged : regex, literals);
    weir__base_free(edged);
    return result;
}

static int prepare_keywords(struct making *making, uint32_t index,
                            const struct weir__literals *literals)
{
    const struct weir__strings *keywords = &making->engine->prepared[index].rule->keywords;
    /* A match that always has one of them in it needs nobody to look for them. */
    if (keywords->count == 0 || weir__literals_imply(literals, keywords->items, keywords->count) ||
        weir__expression_implies(making->engine->prepared[index].rule->regex, keywords->items,
                                 keywords->count))
        return 0;
    making->engine->prepared[index].keywords_count = (uint32_t)keywords->count;
    for (size_t i = 0; i < keywords->count; i++) {
        if (keywords->items[i][0] == '\0') {
            making->engine->prepared[index].keywords_count = 0; /* is everywhere */
            return 0;
        }
        int result =
            add_wish(making, index, true, keywords->items[i], strlen(keywords->items[i]), false);
        if (result < 0)
            return result;
    }
    return 0;
}

static enum weir__rank rank_of(const struct weir__rule *rule)
{
    if (strncmp(rule->id, "generic", 7) == 0)
        return WEIR__RANK_GENERIC;
    if (rule->gives_way)
        return WEIR__RANK_AROUND;
    return rule->is_bound ? WEIR__RANK_CONTEXT : WEIR__RANK_FORM;
}

/* What needs no study. */
static int choose(struct making *making, uint32_t index)
{
    struct weir__prepared *prepared = &making->engine->prepared[index];
    const struct weir__rule *rule = prepared->rule;
    if (rule->check && !(prepared->check = weir__check_find(rule->check))) {
        snprintf(making->error->text, sizeof(making->error->text),
                 "%s:%u: rule '%s': there is no check '%s'; see weir rules lint",
                 rule->file ? rule->file : "rules", rule->line, WEIR__TYPED(rule->id),
                 WEIR__TYPED(rule->check));
        return -WEIR_E_INVALID;
    }
    prepared->is_gate = rule->check && weir__check_is_gate(rule->check);
    prepared->is_proof = rule->check && weir__check_is_proof(rule->check);
    prepared->rank = (uint8_t)rank_of(rule);
    prepared->is_doubtful = prepared->rank > WEIR__RANK_FORM;
    prepared->has_expression = rule->regex && rule->regex[0] != '\0';
    return 0;
}

/* What others require has to be known even where it gives way. */
static void trust_required(struct weir__engine *engine)
{
    for (uint32_t i = 0; i < engine->count; i++)
        for (size_t k = 0; k < engine->prepared[i].rule->required_count; k++)
            for (uint32_t r = 0; r < engine->count; r++)
                if (weir__rule_is_named(engine->prepared[r].rule,
                                        engine->prepared[i].rule->required[k].rule))
                    engine->prepared[r].is_doubtful = false;
}

static int prepare(struct making *making, uint32_t index)
{
    struct weir__prepared *prepared = &making->engine->prepared[index];
    const struct weir__rule *rule = prepared->rule;
    struct weir__expression study;
    if (!prepared->has_expression)
        return 0;
    if (weir__expression_study(rule->regex, &study) < 0)
        study =
            (struct weir__expression){.width_max = WEIR__WIDTH_ANY, .extent_max = WEIR__WIDTH_ANY};
    uint64_t width = rule->max_width ? rule->max_width : study.width_max, seen = study.extent_max;
    if (rule->max_width) /* what is looked at behind a match does not count */
        seen = width + (study.ahead_max < WEIR__WIDTH_MAX ? study.ahead_max : 0);
    prepared->width = (uint32_t)(seen < WEIR__WIDTH_MAX ? seen : WEIR__WIDTH_MAX);
    prepared->reach = prepared->width;
    if (width <= NEAR_WIDTH && study.width_max <= NEAR_WIDTH)
        prepared->look = study.stretch_min >= WEIR__STRETCH_LONG  ? WEIR__LOOK_NEAR_LONG
                         : study.stretch_min >= WEIR__STRETCH_MIN ? WEIR__LOOK_NEAR
                                                                  : WEIR__LOOK_EVERYWHERE;
    if (prepared->width > making->engine->width)
        making->engine->width = prepared->width;
    int result;
    if (weir__literals_rate(&study.required) <= RATE_MAX)
        result = add_literals(making, index, &study.required);
    else
        result = add_edged_expression(making, index, rule->regex, &study.required);
    if (result < 0)
        return result;
    if (prepared->is_by_literals && study.reach_max < prepared->reach)
        prepared->reach = (uint32_t)study.reach_max;
    return prepare_keywords(making, index, &study.required);
}

/* --- patterns from wishes --- */

static int compare_wishes(const void *a, const void *b)
{
    const struct wish *left = a, *right = b;
    int order = memcmp(left->text, right->text, sizeof(left->text));
    if (order == 0)
        order = (int)left->length - (int)right->length;
    if (order == 0)
        order = (int)left->is_keyword - (int)right->is_keyword;
    if (order == 0)
        order = (int)left->is_cased - (int)right->is_cased;
    if (order == 0 && left->length > 0)
        order = (int)left->look - (int)right->look;
    return order != 0 ? order : (left->rule < right->rule ? -1 : left->rule > right->rule);
}

#define ANY_OTHER_CASE "[\\x80-\\xff]{1,4}"

/* Whether a character beyond ASCII may have other cases. Those of the larger scripts that have none
 * begin with these bytes. */
static bool may_be_cased(unsigned char first)
{
    return first > 0x7f && !((first >= 0xd7 && first <= 0xe0) || (first >= 0xe3 && first <= 0xe9) ||
                             (first >= 0xeb && first <= 0xed));
}

static int add_literal(struct making *making, const struct wish *wish, uint32_t anchor)
{
    char text[WEIR__EXPRESSION_LITERAL * sizeof(ANY_OTHER_CASE) + 1];
    size_t length = 0;
    bool is_any = false; /* the character at hand */
    for (unsigned i = 0; i < wish->length; i++) {
        unsigned char byte = (unsigned char)wish->text[i];
        bool is_first = (byte & 0xc0) != 0x80;
        if (is_first)
            is_any = wish->is_keyword && may_be_cased(byte);
        if (!is_any)
            length +=
                (size_t)snprintf(text + length, sizeof(text) - length, "\\x%02x", (unsigned)byte);
        else if (is_first)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s", ANY_OTHER_CASE);
    }
    return weir__patterns_add(&making->patterns[wish->look], text,
                              (wish->is_cased ? 0 : HS_FLAG_CASELESS) |
                                  (wish->is_keyword ? HS_FLAG_SINGLEMATCH : 0),
                              anchor);
}

/* Which anchor a rule's keyword became. */
static void note_keyword(struct weir__engine *engine, uint32_t rule, uint32_t keyword)
{
    struct weir__prepared *prepared = &engine->prepared[rule];
    for (uint32_t i = 0; i < prepared->keywords_count; i++) {
        uint32_t *number = &engine->keyword_numbers[prepared->first_keyword + i];
        if (*number == UINT32_MAX) {
            *number = keyword;
            return;
        }
    }
}

static int allocate(struct making *making)
{
    struct weir__engine *engine = making->engine;
    uint32_t keywords = 0;
    for (uint32_t i = 0; i < engine->count; i++) {
        engine->prepared[i].first_keyword = keywords;
        keywords += engine->prepared[i].keywords_count;
    }
    engine->keyword_numbers_count = keywords;
    engine->anchors =
        weir__base_alloc(making->wishes_count + WEIR__LOOKS, sizeof(*engine->anchors));
    engine->anchor_rules = weir__base_alloc(making->wishes_count + 1, sizeof(uint32_t));
    engine->keyword_numbers = weir__base_alloc(keywords + 1, sizeof(uint32_t));
    if (!engine->anchors || !engine->anchor_rules || !engine->keyword_numbers)
        return -WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < keywords; i++)
        engine->keyword_numbers[i] = UINT32_MAX;
    return 0;
}

/* The expressions came first, one wish each without a text; then the literals in order. */
static int make_anchors(struct making *making)
{
    struct weir__engine *engine = making->engine;
    if (making->wishes_count > 0) /* rules of paths alone have none */
        qsort(making->wishes, making->wishes_count, sizeof(struct wish), compare_wishes);
    if (allocate(making) < 0)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < making->wishes_count; i++) {
        const struct wish *wish = &making->wishes[i];
        const struct wish *before = i > 0 ? &making->wishes[i - 1] : NULL;
        bool is_same = before && wish->length > 0 && before->length == wish->length &&
                       before->is_keyword == wish->is_keyword &&
                       before->is_cased == wish->is_cased && before->look == wish->look &&
                       memcmp(before->text, wish->text, wish->length) == 0;
        if (!is_same) {
            struct weir__anchor *anchor = &engine->anchors[engine->anchors_count];
            anchor->first_rule = engine->anchor_rules_count;
            anchor->is_keyword = wish->is_keyword;
            anchor->keyword = wish->is_keyword ? engine->keywords_count++ : 0;
            anchor->is_cased = wish->is_cased;
            anchor->length = wish->length;
            memcpy(anchor->literal, wish->text, wish->length);
            if (wish->length > 0 && add_literal(making, wish, engine->anchors_count) < 0)
                return -WEIR_E_NO_MEMORY;
            engine->anchors_count++;
        }
        struct weir__anchor *anchor = &engine->anchors[engine->anchors_count - 1];
        if (wish->is_keyword) {
            note_keyword(engine, wish->rule, anchor->keyword);
        } else {
            engine->anchor_rules[engine->anchor_rules_count++] = wish->rule;
            anchor->rules_count++;
        }
    }
    return 0;
}

static int add_short_pattern(struct making *making, struct weir__patterns *patterns)
{
    struct weir__engine *engine = making->engine;
    if (patterns->count < MANY_PATTERNS)
        return 0;
    engine->anchors[engine->anchors_count] =
        (struct weir__anchor){.first_rule = engine->anchor_rules_count}; /* of no rule */
    return weir__patterns_add(patterns, SHORT_PATTERN, 0, engine->anchors_count++);
}

/* --- the whole --- */

static bool is_wanted(const struct weir__engine_options *options, const struct weir__rule *rule)
{
    if (!options->only)
        return true;
    for (const char *const *id = options->only; *id; id++)
        if (weir__rule_is_named(rule, *id))
            return true;
    return false;
}

/* How wide the patterns are in each database, and matches near stretches. */
static void measure_looks(struct weir__engine *engine)
{
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        engine->look_widths[i] = WEIR__EXPRESSION_LITERAL;
    for (uint32_t i = 0; i < engine->count; i++) {
        const struct weir__prepared *prepared = &engine->prepared[i];
        uint32_t *width = &engine->look_widths[prepared->look];
        if (prepared->has_expression && !prepared->is_by_literals &&
            pattern_width(prepared) > *width)
            *width = pattern_width(prepared);
        if (prepared->look == WEIR__LOOK_EVERYWHERE)
            continue;
        if (prepared->width > engine->near_width)
            engine->near_width = prepared->width;
        if (prepared->reach > engine->near_reach)
            engine->near_reach = prepared->reach;
    }
}

static int study_all(struct making *making)
{
    struct weir__engine *engine = making->engine;
    int result = weir__database_check(engine, making->error);
    engine->pattern_width = WEIR__EXPRESSION_LITERAL;
    for (uint32_t i = 0; i < engine->count && result == 0; i++)
        result = prepare(making, i);
    if (result == 0)
        result = make_anchors(making);
    for (unsigned i = 0; i < WEIR__LOOKS && result == 0; i++) {
        result = add_short_pattern(making, &making->patterns[i]);
        if (result == 0)
            result = weir__database_new(&engine->databases[i], &making->patterns[i], making->error);
    }
    if (result == 0)
        weir__kept_put(engine, making->options->cache);
    return result;
}

static int list_path_rules(struct weir__engine *engine)
{
    engine->path_rules = weir__base_alloc((size_t)engine->count + 1, sizeof(*engine->path_rules));
    if (!engine->path_rules)
        return -WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < engine->count; i++)
        if (!engine->prepared[i].has_expression && engine->prepared[i].rule->path)
            engine->path_rules[engine->path_rules_count++] = i;
    return 0;
}

static int make(struct making *making)
{
    struct weir__engine *engine = making->engine;
    int result = 0;
    engine->prepared = weir__base_alloc(engine->rules->rules_count + 1, sizeof(*engine->prepared));
    if (!engine->prepared)
        return -WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < engine->rules->rules_count; i++)
        if (is_wanted(making->options, &engine->rules->rules[i]))
            engine->prepared[engine->count++].rule = &engine->rules->rules[i];
    for (uint32_t i = 0; i < engine->count && result == 0; i++)
        result = choose(making, i);
    trust_required(engine);
    if (result == 0)
        result = list_path_rules(engine);
    if (result == 0)
        result = weir__kept_identify(engine);
    if (result < 0)
        return result;
    engine->is_cached = weir__kept_get(engine, making->options->cache);
    if (!engine->is_cached)
        result = study_all(making);
    measure_looks(engine);
    return result;
}

int weir__engine_new(struct weir__engine **ret_engine, const struct weir__rules *rules,
                     const struct weir__engine_options *options,
                     struct weir__rules_error *ret_error)
{
    struct weir__engine *engine = weir__base_alloc(1, sizeof(*engine));
    ret_error->text[0] = '\0';
    if (!engine)
        return -WEIR_E_NO_MEMORY;
    engine->rules = rules;
    engine->ignore_allow_comments = options->ignore_allow_comments;
    engine->origin = options->origin;
    struct making making = {.engine = engine, .options = options, .error = ret_error};
    int result = make(&making);
    weir__base_free(making.wishes);
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        weir__patterns_fini(&making.patterns[i]);
    if (result < 0) {
        weir__engine_free(engine);
        return result;
    }
    *ret_engine = engine;
    return 0;
}

void weir__engine_free(struct weir__engine *engine)
{
    if (!engine)
        return;
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        hs_free_database(engine->databases[i]);
    weir__base_free(engine->prepared);
    weir__base_free(engine->anchors);
    weir__base_free(engine->anchor_rules);
    weir__base_free(engine->keyword_numbers);
    weir__base_free(engine->path_rules);
    weir__base_free(engine);
}

size_t weir__engine_width(const struct weir__engine *engine)
{
    return engine->width;
}

const char *weir__engine_identity(const struct weir__engine *engine)
{
    return engine->identity;
}

bool weir__engine_heeds_comments(const struct weir__engine *engine)
{
    return !engine->ignore_allow_comments;
}

void weir__engine_hash_origin(const struct weir__engine *engine, const char *beginning,
                              struct weir__hash *hash)
{
    weir__origin_hash(engine->origin, beginning, hash);
}

bool weir__engine_is_cached(const struct weir__engine *engine)
{
    return engine->is_cached;
}
