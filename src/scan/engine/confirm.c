/* confirm.c - from a hit of the database to a candidate.
 *
 * A hit says that a match may be near: it holds this literal, or ends here. The rule's expression
 * runs from where no match of it has been ruled out yet, at most its reach before the hit, and may
 * start no later than the hit. So each byte is a possible start once for each rule, however many
 * hits there are, and a match is found whole although it goes beyond the hit.
 *
 * A search that fails may have looked through a whole width behind the hit, for the end of a key
 * whose beginning stands there a thousand times. So for wide rules it is remembered where the last
 * literal that a match must have (expression.h) is not: without it there is no search.
 *
 * The gates, cheapest first: the rule's path, entropy, the check, comments that allow, allow lists.
 */
#include <string.h>

#include "binding.h"
#include "classes.h"
#include "parts.h"

#include "banned.h"

#define NARROWER_MAX 64u   /* times that too wide a match is looked for in a narrower form */
#define LATE_WIDTH   1024u /* of rules for which it is remembered where no match can end */
#define LATE_AHEAD   4096u
#define LINES_FAR    256u /* bytes in which line ends are counted at once */

/* What the path says about a rule, found out when first needed. */
enum { UNKNOWN, WANTED, UNWANTED };

bool weir__is_path_wanted(struct weir__scanner *scanner, uint32_t rule)
{
    uint8_t *state = &scanner->rule_state[rule];
    if (*state == UNKNOWN) {
        const char *path = weir__buffer_text(&scanner->path);
        struct weir__matcher *wanted = &scanner->paths[rule];
        bool has = !wanted->text || !scanner->is_path_known ||
                   weir__matcher_has(wanted, scanner->data, path, strlen(path));
        if (!has && (path = weir__origin_path(scanner->engine->origin, path, &scanner->inside)))
            has = weir__matcher_has(wanted, scanner->data, path, strlen(path));
        *state = has ? WANTED : UNWANTED;
    }
    return *state == WANTED;
}

/* --- lines --- */

static const char *line_before(const char *from, const char *at)
{
    const char *least =
        at - from > (ptrdiff_t)WEIR__CONTEXT_BYTES ? at - WEIR__CONTEXT_BYTES : from;
    const char *before = memrchr(least, '\n', (size_t)(at - least));
    return before ? before + 1 : least;
}

/* What ends with the end of a line goes no further. */
static const char *line_behind(const char *from, const char *at, const char *end)
{
    if (at > from && at[-1] == '\n')
        return at;
    const char *most = end - at > (ptrdiff_t)WEIR__CONTEXT_BYTES ? at + WEIR__CONTEXT_BYTES : end;
    const char *stop = memchr(at, '\n', (size_t)(most - at));
    return stop ? stop : most;
}

/* --- comments that allow --- */

#define COMMENT_MAX 16u /* bytes of the longest one, with what is beside it */

static bool is_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* The first comment in [from, until) of the view, words of their own: weir:allowed says nothing.
 * What they have in common is looked for once. NULL: none. */
static const char *find_comment(const struct weir__view *view, const char *from, const char *until)
{
    static const char allow[] = ":allow", *const whose[] = {"weir", "gitleaks"};
    const size_t size = sizeof(allow) - 1;
    const char *at = from, *end = view->bytes + view->length;
    for (; (at = memmem(at, (size_t)(until - at), allow, size)) != NULL; at++) {
        if (at + size < end && is_word(at[size]))
            continue;
        for (size_t i = 0; i < sizeof(whose) / sizeof(*whose); i++) {
            size_t length = strlen(whose[i]);
            const char *start = at - length;
            if ((size_t)(at - from) >= length && memcmp(start, whose[i], length) == 0 &&
                (start == view->bytes || !is_word(start[-1])))
                return start;
        }
    }
    return NULL;
}

/* Whether there is one. A line that is full of matches is asked about for each of them: so it is
 * remembered where none is. */
static bool has_comment(struct weir__uncommented *none, uint64_t generation,
                        const struct weir__view *view, const char *from, const char *until)
{
    uint64_t base = view->offset, start = base + (uint64_t)(from - view->bytes),
             end = base + (uint64_t)(until - view->bytes);
    uint64_t known = none->from > base ? none->from : base;
    bool is_near = none->generation == generation && start >= known && start <= none->until;
    if (is_near && end <= none->until)
        return false;
    uint64_t set_in = start;
    if (is_near) /* one across the edge begins before it */
        set_in = none->until - known > COMMENT_MAX ? none->until - COMMENT_MAX : known;
    const char *found = find_comment(view, view->bytes + (size_t)(set_in - base), until);
    if (!found) {
        *none = (struct weir__uncommented){generation, is_near ? known : start, end};
        return false;
    }
    return found >= from || find_comment(view, from, until);
}

/* Where a line ends every few bytes it takes longer to look for each than to look at all bytes. */
static uint64_t count_lines(const char *bytes, size_t length)
{
    uint64_t lines = 0;
    if (length >= LINES_FAR)
        return weir__classifier()->count_lines(bytes, length);
    for (const char *next = bytes, *end = bytes + length;
         (next = memchr(next, '\n', (size_t)(end - next))); next++)
        lines++;
    return lines;
}

/* The number and the start of the line of a byte of the segment. */
static void find_line(struct weir__scanner *scanner, size_t at, uint64_t *ret_line,
                      uint64_t *ret_start)
{
    const char *bytes = scanner->bytes, *last = NULL;
    size_t cursor = scanner->cursor, least = at < cursor ? 0 : cursor;
    uint64_t lines = at < cursor ? count_lines(bytes + at, cursor - at)
                                 : count_lines(bytes + cursor, at - cursor);
    scanner->cursor_line =
        at < cursor ? scanner->cursor_line - lines : scanner->cursor_line + lines;
    /* In the same line nothing before it is looked at: it may be the whole segment. */
    if (lines > 0)
        last = memrchr(bytes + least, '\n', at - least);
    if (last)
        scanner->cursor_start = scanner->offset + (uint64_t)(last + 1 - bytes);
    else if (lines > 0)
        scanner->cursor_start = scanner->line_start;
    scanner->cursor = at;
    *ret_line = scanner->cursor_line;
    *ret_start = scanner->cursor_start;
}

/* Where a range of a view is in the segment. */
static void find_origin(const struct weir__view *view, size_t *from, size_t *until)
{
    for (; view->parent; view = view->parent) {
        size_t start, end;
        weir__decoded_place(view->source, view->run, *from, *until, &start, &end);
        *from = start - view->parent->start;
        *until = end - view->parent->start;
    }
}

/* Whether an escape was undone in what is not encoded as a whole. */
static bool is_misread(const struct weir__view *view, size_t from, size_t until)
{
    for (; view->parent; view = view->parent) {
        size_t start, end;
        weir__decoded_place(view->source, view->run, from, until, &start, &end);
        if (view->run->encoding == WEIR__PERCENT &&
            !weir__decode_is_percent(view->source, start, end))
            return true;
        from = start - view->parent->start;
        until = end - view->parent->start;
    }
    return false;
}

static void place_of(struct weir__scanner *scanner, size_t from, size_t until,
                     struct weir__place *ret_place)
{
    uint64_t start;
    ret_place->offset = scanner->offset + from;
    ret_place->length = until - from;
    find_line(scanner, from, &ret_place->line, &start);
    ret_place->column = ret_place->offset - start + 1;
    find_line(scanner, until, &ret_place->end_line, &start);
    ret_place->end_column = scanner->offset + until - start + 1;
}

/* --- a match --- */

static void find_secret(const struct weir__rule *rule, const PCRE2_SIZE *ends, int groups,
                        struct weir__match *match)
{
    int group = 0;
    if (rule->has_secret_group) {
        group = (int)rule->secret_group;
    } else {
        for (int i = 1; i < groups && group == 0; i++)
            if (ends[2 * i] != PCRE2_UNSET && ends[2 * i + 1] > ends[2 * i])
                group = i;
    }
    if (group >= groups || ends[2 * group] == PCRE2_UNSET)
        group = 0;
    match->secret_from = ends[2 * group];
    match->secret_until = ends[2 * group + 1];
}

/* Beside the secret, or beside what it was encoded in. */
static bool is_allowed_by_comment(struct weir__scanner *scanner, const struct weir__match *match,
                                  const struct weir__facts *facts)
{
    size_t from = match->secret_from, until = match->secret_until;
    const struct weir__view *view = scanner->view, *segment = &scanner->views[0];
    struct weir__uncommented *none = &scanner->uncommented[view->parent ? 1 : 0];
    if (scanner->engine->ignore_allow_comments)
        return false;
    if (has_comment(none, view->parent ? scanner->generation : 0, view, facts->line,
                    facts->line_end))
        return true;
    if (!view->parent)
        return false;
    find_origin(view, &from, &until);
    const char *start = segment->bytes, *end = start + segment->length;
    return has_comment(&scanner->uncommented[0], 0, segment, line_before(start, start + from),
                       line_behind(start + from, start + until, end));
}

static bool is_allowed_by_list(struct weir__scanner *scanner, const struct weir__match *match,
                               const struct weir__facts *facts)
{
    const char *bytes = scanner->view->bytes;
    struct weir__allow_subject subject = {
        .rule = match->rule,
        .path = scanner->is_path_known ? weir__buffer_text(&scanner->path) : NULL,
        .commit = scanner->commit,
        .secret = bytes + match->secret_from,
        .secret_length = match->secret_until - match->secret_from,
        .match = bytes + match->from,
        .match_length = match->until - match->from,
        .line = facts->line,
        .line_length = (size_t)(facts->line_end - facts->line),
    };
    return weir__allow_match(scanner, &subject);
}

void weir__show(struct weir__scanner *scanner, const struct weir__match *match,
                const struct weir__facts *facts, struct weir__finding *ret_finding)
{
    const struct weir__view *view = scanner->view;
    /* The line that is shown is that of the original. */
    size_t from = match->secret_from, until = match->secret_until;
    find_origin(view, &from, &until);
    const char *start = scanner->bytes, *end = start + scanner->length;
    const char *line = line_before(start, start + from),
               *line_end = line_behind(start + from, start + until, end);
    size_t room =
        WEIR__LINE_SHOWN_MAX > until - from ? (WEIR__LINE_SHOWN_MAX - (until - from)) / 2 : 0;
    if ((size_t)(start + from - line) > room)
        line = start + from - room;
    if ((size_t)(line_end - (start + until)) > room)
        line_end = start + until + room;
    *ret_finding = (struct weir__finding){
        .rule = scanner->engine->prepared[match->rule].rule,
        .secret = view->bytes + match->secret_from,
        .secret_length = match->secret_until - match->secret_from,
        .match = view->bytes + match->from,
        .match_length = match->until - match->from,
        .line = line,
        .line_length = (size_t)(line_end - line),
        .line_from = (size_t)(start + from - line),
        .line_until = (size_t)(start + until - line),
        .entropy = facts->entropy,
        .is_checked = facts->is_checked,
    };
    place_of(scanner, from, until, &ret_finding->place);
}

static void keep(struct weir__scanner *scanner, const struct weir__match *match,
                 const struct weir__facts *facts, enum weir__verdict verdict)
{
    const struct weir__view *view = scanner->view;
    struct weir__finding shown;
    weir__show(scanner, match, facts, &shown);
    bool is_allowed = verdict != WEIR__ACCEPTED;
    if (is_allowed) /* its place alone is asked for */
        shown.secret_length = shown.match_length = shown.line_length = 0;
    struct weir__candidate *candidate = weir__pending_new(
        scanner, match->rule, shown.secret_length + shown.match_length + shown.line_length + 3);
    if (!candidate)
        return;
    candidate->is_allowed = is_allowed;
    candidate->is_commented = verdict == WEIR__COMMENTED;
    candidate->place = shown.place;
    size_t match_from = match->from, match_until = match->until;
    struct weir__place of_match;
    find_origin(view, &match_from, &match_until);
    place_of(scanner, match_from, match_until, &of_match);
    candidate->match_line = of_match.line;
    candidate->match_column = of_match.column;
    weir__required_place(scanner, match, candidate);
    candidate->secret_length = (uint32_t)shown.secret_length;
    candidate->secret_at = weir__pending_text(&scanner->pending, shown.secret, shown.secret_length);
    candidate->match_length = (uint32_t)shown.match_length;
    candidate->match_at = weir__pending_text(&scanner->pending, shown.match, shown.match_length);
    candidate->line_length = (uint32_t)shown.line_length;
    candidate->line_at = weir__pending_text(&scanner->pending, shown.line, shown.line_length);
    candidate->line_from = (uint32_t)shown.line_from;
    candidate->line_until = (uint32_t)shown.line_until;
    candidate->entropy = facts->entropy;
    candidate->is_checked = facts->is_checked;
    candidate->encodings_count = (uint8_t)view->depth;
    candidate->is_misread = is_misread(view, match->secret_from, match->secret_until);
    scanner->pending.has_decoded |= view->depth > 0;
    for (const struct weir__view *at = view; at->parent; at = at->parent)
        candidate->encodings[at->depth - 1] = at->run->encoding;
}

/* What was decoded near an edge comes up in both segments: it belongs to the one that its encoded
 * form ends in. Hits in the segment itself were looked at before. */
static bool is_of_segment(const struct weir__scanner *scanner, const struct weir__match *match)
{
    size_t from = match->secret_from, until = match->secret_until;
    if (!scanner->view->parent || from == until)
        return true;
    find_origin(scanner->view, &from, &until);
    uint64_t end = scanner->offset + until;
    return end > scanner->accept_from && end <= scanner->accept_until;
}

enum weir__verdict weir__weigh(struct weir__scanner *scanner, const struct weir__match *match,
                               struct weir__facts *ret_facts)
{
    const struct weir__view *view = scanner->view;
    const struct weir__prepared *prepared = &scanner->engine->prepared[match->rule];
    const char *secret = view->bytes + match->secret_from;
    size_t length = match->secret_until - match->secret_from;
    struct weir__facts facts = {.line = view->bytes + match->from,
                                .line_end = view->bytes + match->until,
                                .entropy = weir__lately_entropy(scanner, secret, length)};
    *ret_facts = facts;
    if (length == 0 || (prepared->rule->entropy > 0 && facts.entropy < prepared->rule->entropy) ||
        weir__is_hidden(secret, length))
        return WEIR__REJECTED;
    bool holds = prepared->check && weir__lately_check(scanner, prepared->check, secret, length);
    if (prepared->is_gate && !holds)
        return WEIR__REJECTED;
    facts.is_checked = holds && prepared->is_proof;
    facts.line = line_before(view->bytes, view->bytes + match->from);
    facts.line_end = line_behind(view->bytes + match->from, view->bytes + match->until,
                                 view->bytes + view->length);
    *ret_facts = facts;
    if (is_allowed_by_comment(scanner, match, &facts))
        return WEIR__COMMENTED;
    return is_allowed_by_list(scanner, match, &facts) ? WEIR__ALLOWED : WEIR__ACCEPTED;
}

/* Whether a match would be there, and have what it requires, whatever the path is. If not, others
 * must not give way to it without its being told. */
static bool is_there_anyway(const struct weir__scanner *scanner, uint32_t rule)
{
    const struct weir__rule *read = scanner->engine->prepared[rule].rule;
    return scanner->is_path_known || (!read->path && read->required_count == 0);
}

bool weir__judge(struct weir__scanner *scanner, const struct weir__match *match)
{
    struct weir__facts facts;
    if (scanner->has_any || !is_of_segment(scanner, match))
        return false;
    enum weir__verdict verdict;
    if (!weir__echo_judged(scanner, match, &verdict, &facts)) {
        verdict = weir__weigh(scanner, match, &facts);
        weir__echo_judge(scanner, match, verdict, &facts);
    }
    switch (verdict) {
    case WEIR__REJECTED:
        scanner->result.rejected++;
        break;
    case WEIR__ALLOWED:
    case WEIR__COMMENTED:
        scanner->result.allowed++;
        /* What gives way to it says nothing of the same bytes. */
        if (scanner->engine->prepared[match->rule].rank < WEIR__RANK_GENERIC &&
            is_there_anyway(scanner, match->rule))
            keep(scanner, match, &facts, verdict);
        break;
    case WEIR__ACCEPTED:
        if (scanner->is_any_enough && weir__pending_is_certain(scanner, match->rule)) {
            scanner->has_any = true; /* it stands whatever else is there */
            scanner->result.findings = 1;
            break;
        }
        if (!scanner->view->parent && weir__pending_is_certain(scanner, match->rule))
            weir__doubts_cover(scanner, match->secret_from, match->secret_until);
        keep(scanner, match, &facts, verdict);
        break;
    }
    return verdict == WEIR__ACCEPTED;
}

/* One run of the expression, whose match starts in [from, to] and ends at `end` at most: the number
 * of its groups, 0, or an error. */
static int run(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to, size_t end,
               bool is_early, struct weir__match *ret_match)
{
    const struct weir__view *view = scanner->view;
    uint32_t options = view->is_begin ? 0 : PCRE2_NOTBOL;
    /* Whether the text ends here is not known: what would ask for it is told as partial. */
    if (is_early && end == view->length)
        options |= PCRE2_PARTIAL_HARD;
    else if (end < view->length || !view->is_end)
        options |= PCRE2_NOTEOL;
    pcre2_set_offset_limit(scanner->context, to);
    int groups = weir__matcher_run(&scanner->matchers[rule], view->bytes, end, from, options,
                                   scanner->data, scanner->context);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scanner->data);
    if (groups == PCRE2_ERROR_NOMATCH)
        return 0;
    if (groups == PCRE2_ERROR_PARTIAL)
        ret_match->from = ends[0];
    if (groups <= 0)
        return groups < 0 ? groups : PCRE2_ERROR_INTERNAL;
    *ret_match = (struct weir__match){.rule = rule, .from = ends[0], .until = ends[1]};
    if (ret_match->until < ret_match->from)
        return 0; /* \K behind the end */
    find_secret(scanner->engine->prepared[rule].rule, ends, groups, ret_match);
    return groups;
}

/* The expression of a rule may go on for longer than the rule is wide. Such a match is none: there
 * may be a narrower one from the same place, or else from a later one. */
static int search_narrow(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                         bool is_early, struct weir__match *ret_match)
{
    const struct weir__view *view = scanner->view;
    size_t width = scanner->engine->prepared[rule].width;
    size_t end = view->length - to > width ? to + width : view->length;
    for (unsigned tries = 0; tries < NARROWER_MAX; tries++) {
        int found = run(scanner, rule, from, to, end, is_early, ret_match);
        if (found <= 0)
            return found;
        size_t start = pcre2_get_startchar(scanner->data);
        if (ret_match->until - start <= width)
            return found;
        found = run(scanner, rule, start, start, start + width, is_early, ret_match);
        if (found != 0 || start == to)
            return found;
        from = start + 1;
    }
    return PCRE2_ERROR_MATCHLIMIT;
}

/* Behind a name without a value, or one of something public, the rule takes what belongs to
 * another. Its own name may come next, so the search goes on there, and not behind the match. */
int weir__search(struct weir__scanner *scanner, uint32_t rule, size_t from, size_t to,
                 bool is_early, struct weir__match *ret_match)
{
    const struct weir__rule *read = scanner->engine->prepared[rule].rule;
    for (;;) {
        int found = search_narrow(scanner, rule, from, to, is_early, ret_match);
        if (found <= 0 || !(read->is_bound || read->is_named))
            return found > 0 ? 1 : found;
        size_t start = pcre2_get_startchar(scanner->data);
        if (!weir__binding_rejects(read, scanner->view->bytes,
                                   pcre2_get_ovector_pointer(scanner->data), (unsigned)found,
                                   ret_match->secret_from, ret_match->secret_until))
            return 1;
        if (start >= to)
            return 0;
        from = start + 1;
    }
}

static void take_one(struct weir__scanner *scanner, const struct weir__match *match)
{
    if (scanner->trace)
        weir__text_match(scanner, match);
    if (scanner->engine->prepared[match->rule].is_doubtful && !scanner->view->parent)
        weir__doubts_add(scanner, match);
    else
        weir__judge(scanner, match);
}

static void take(struct weir__scanner *scanner, const struct weir__match *match)
{
    struct weir__match next = *match;
    take_one(scanner, match);
    while (weir__listed_next(scanner, match->from, &next))
        take_one(scanner, &next);
}

/* Whether there is what every match that starts in [from, to] has late in it. Each byte is looked
 * at once, as long as the starts go on from each other, and some of them ahead of time: to begin
 * with a few bytes takes longer than to go through them. */
static bool has_late(struct weir__scanner *scanner, uint32_t rule, struct weir__progress *progress,
                     size_t from, size_t to)
{
    const struct weir__view *view = scanner->view;
    size_t width = scanner->engine->prepared[rule].width;
    const char *late = width >= LATE_WIDTH ? weir__matcher_late(&scanner->matchers[rule]) : "";
    size_t length = strlen(late), end = view->length - to > width ? to + width : view->length;
    uint64_t base = view->offset, start = base + from;
    if (length == 0)
        return true;
    if (end - from < length)
        return false;
    if (start < progress->bare_from || start > progress->bare_until)
        progress->bare_from = progress->bare_until = start;
    size_t at = (size_t)(progress->bare_until - base);
    if (at > end - length)
        return false;
    size_t ahead = view->length - end > LATE_AHEAD ? end + LATE_AHEAD : view->length;
    const char *found = memmem(view->bytes + at, ahead - at, late, length);
    at = found ? (size_t)(found - view->bytes) : ahead - length + 1;
    progress->bare_until = base + at;
    return at <= end - length;
}

/* All searches of a rule for a hit. Returns where the next one starts. *ret_is_idle: they found
 * nothing, and would again in the same text. */
static size_t search(struct weir__scanner *scanner, uint32_t rule, struct weir__progress *progress,
                     size_t from, size_t to, bool *ret_is_idle)
{
    struct weir__match match, first = {.rule = rule};
    size_t start = from, count = 0;
    bool has_failed = false;
    int known = weir__echo_find(scanner, rule, from, to, &match, &from);
    if (known > 0) {
        take(scanner, &match);
        first = match;
        count = 1;
    }
    if (from <= to && !has_late(scanner, rule, progress, from, to))
        from = to + 1;
    while (from <= to) {
        int found = weir__search(scanner, rule, from, to, false, &match);
        if (found <= 0) {
            has_failed = found != 0;
            scanner->result.gave_up += found != 0;
            from = to + 1;
            break;
        }
        if (count++ == 0)
            first = match;
        take(scanner, &match);
        from = match.until > match.from ? match.until : match.from + 1;
    }
    if (count <= 1 && !has_failed)
        *ret_is_idle = weir__echo_keep(scanner, rule, start, to, count > 0 ? &first : NULL, from) &&
                       count == 0;
    return from;
}

static struct weir__progress *progress_of(struct weir__scanner *scanner, uint32_t rule)
{
    struct weir__progress *progress =
        &scanner->progress[rule + (scanner->level > 0 ? scanner->engine->count : 0)];
    if (progress->generation != scanner->generation)
        *progress = (struct weir__progress){.generation = scanner->generation};
    return progress;
}

size_t weir__confirm(struct weir__scanner *scanner, uint32_t rule, size_t to)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[rule];
    struct weir__progress *progress = progress_of(scanner, rule);
    uint64_t base = scanner->view->offset;
    size_t from = to > prepared->reach ? to - prepared->reach : 0;
    bool is_idle = false;
    if (progress->position > base + to || !weir__is_path_wanted(scanner, rule))
        return WEIR__NOT_IDLE;
    if (base + from < progress->position)
        from = (size_t)(progress->position - base);
    size_t back = to - from;
    if (from <= to)
        from = search(scanner, rule, progress, from, to, &is_idle);
    progress->position = base + from;
    return is_idle ? back : WEIR__NOT_IDLE;
}

void weir__confirm_none(struct weir__scanner *scanner, uint32_t rule, size_t to)
{
    struct weir__progress *progress = progress_of(scanner, rule);
    uint64_t next = scanner->view->offset + to + 1;
    if (progress->position < next)
        progress->position = next;
}

/* Rules without an expression: the path is the finding. */
void weir__confirm_path_rules(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    const char *path = weir__buffer_text(&scanner->path);
    for (uint32_t k = 0; k < engine->path_rules_count && scanner->is_path_known; k++) {
        uint32_t i = engine->path_rules[k];
        if (!weir__is_path_wanted(scanner, i))
            continue;
        struct weir__allow_subject subject = {.rule = i,
                                              .path = path,
                                              .commit = scanner->commit,
                                              .secret = path,
                                              .secret_length = strlen(path),
                                              .match = path,
                                              .match_length = strlen(path),
                                              .line = "",
                                              .line_length = 0};
        if (weir__allow_match(scanner, &subject)) {
            scanner->result.allowed++;
            continue;
        }
        struct weir__candidate *candidate = weir__pending_new(scanner, i, 2 * strlen(path) + 2);
        if (!candidate)
            return;
        candidate->place =
            (struct weir__place){.line = 1, .column = 1, .end_line = 1, .end_column = 1};
        candidate->secret_length = candidate->match_length = (uint32_t)strlen(path);
        candidate->secret_at = candidate->match_at =
            weir__pending_text(&scanner->pending, path, strlen(path));
    }
}
