/* whole.c - a text that is all there, by what is known of the one that it was made from.
 *
 * What is looked at is as trace.h says: around what is new, and where something matched before. The
 * rules see the whole text all the same, so a match is what it would be in a full scan, with its
 * lines and comments. What depends on the rest of the text (a keyword that has not been seen, a
 * limit that was reached) is not decided by half: then the text is scanned in full.
 */
#include "whole.h"

#include <weir/error.h>

#include "alloc.h"
#include "binding.h"
#include "parts.h"

#include "banned.h"

#define TOUCH_FROM 4096u /* bytes of a text that has more than a few hits */

/* --- what is found out --- */

/* The window of a hit: all that the searches of its rules depend on. What an expression looks
 * behind is known when it has been run, which it has: a path keeps it away from all texts. */
static struct weir__window find_window(struct weir__scanner *scanner, uint32_t id)
{
    const struct weir__engine *engine = scanner->engine;
    const struct weir__anchor *anchor = &engine->anchors[id];
    struct weir__window window = {.is_found = true, .is_everywhere = true};
    for (uint32_t i = 0; i < anchor->rules_count; i++) {
        uint32_t rule = engine->anchor_rules[anchor->first_rule + i];
        const struct weir__prepared *prepared = &engine->prepared[rule];
        uint64_t before = weir__echo_before(scanner, rule), behind = (uint64_t)prepared->width + 2;
        window.is_everywhere = prepared->look == WEIR__LOOK_EVERYWHERE;
        if (!window.is_everywhere && before > WEIR__TRACE_BEHIND)
            before = WEIR__TRACE_ANY; /* farther than it is looked for again */
        before += prepared->reach;
        before = before < WEIR__TRACE_ANY ? before : WEIR__TRACE_ANY;
        behind = behind < WEIR__TRACE_ANY ? behind : WEIR__TRACE_ANY;
        window.before = before > window.before ? (uint16_t)before : window.before;
        window.behind = behind > window.behind ? (uint16_t)behind : window.behind;
        window.is_found = window.is_found && scanner->matchers[rule].code;
    }
    scanner->windows[id] = window;
    return window;
}

void weir__text_hit(struct weir__scanner *scanner, uint32_t anchor, size_t to)
{
    struct weir__window window = scanner->windows[anchor];
    if (!window.is_found)
        window = find_window(scanner, anchor);
    if (window.is_everywhere)
        weir__trace_hit(scanner->trace, (struct weir__trace_hit){(uint32_t)to, anchor,
                                                                 window.before, window.behind});
    else if (window.before == WEIR__TRACE_ANY)
        scanner->trace->is_known = false;
}

void weir__text_match(struct weir__scanner *scanner, const struct weir__match *match)
{
    const struct weir__prepared *prepared = &scanner->engine->prepared[match->rule];
    const struct weir__view *view = scanner->view;
    struct weir__trace *trace = scanner->trace;
    if (view->parent) {
        while (view->parent->parent)
            view = view->parent;
        weir__spans_add(&trace->loud_runs, view->run->from, view->run->until);
        return;
    }
    /* Another match may begin in this one, if this one goes; its hit is in reach of that. */
    bool is_near = prepared->look != WEIR__LOOK_EVERYWHERE;
    size_t end = (match->until > match->from ? match->until : match->from) + prepared->reach + 1;
    weir__spans_add(is_near ? &trace->loud_near : &trace->loud,
                    match->from > 0 ? match->from - 1 : 0,
                    end < trace->length ? end : trace->length);
}

/* --- scanning --- */

/* Tables that are asked for each hit and written to then, as long as all of them are zeros. New
 * memory that is read first is one page of zeros for all of it, and when it is written to, all
 * threads are stopped for a moment: for each page that takes several times as long as to write to
 * it at once. */
static void touch_tables(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    weir__base_touch(scanner->echoes, engine->count * sizeof(*scanner->echoes));
    weir__base_touch(scanner->idle, engine->anchors_count * sizeof(*scanner->idle));
    weir__base_touch(scanner->windows, engine->anchors_count * sizeof(*scanner->windows));
    weir__flanks_touch(scanner);
}

static int scan(struct weir__scanner *scanner, const struct weir__object *object,
                const struct weir__text *text, const struct weir__edit *edit)
{
    int result = weir__scanner_begin(scanner, object);
    if (result < 0)
        return result;
    scanner->bytes = text->bytes;
    scanner->length = text->length;
    scanner->result.bytes = text->length;
    scanner->is_any_enough = text->is_any_enough;
    if (scanner->is_decode_by_size)
        scanner->decode_left += text->length * WEIR__DECODE_RATIO;
    scanner->trace = text->trace;
    if (text->trace)
        weir__trace_begin(text->trace, text->length);
    if (edit)
        scanner->only = &scanner->look;
    if (edit && text->trace)
        weir__spans_copy(&text->trace->units, &scanner->look.units);
    return scanner->is_path_allowed ? 0 : weir__scanner_process(scanner, true);
}

/* Whether all that was found out is what it would be in any other way. */
static bool is_complete(const struct weir__scanner *scanner)
{
    return scanner->result.gave_up == 0 && !scanner->result.is_decode_truncated &&
           !scanner->result.is_judged_early;
}

/* Scans by the edit if there is a way: whether that is all. Else *ret_result is 0 if the text is to
 * be scanned in full. */
static bool scan_in_part(struct weir__scanner *scanner, const struct weir__object *object,
                         const struct weir__text *text, int *ret_result)
{
    struct weir__look_widths widths = {.pattern =
                                           scanner->engine->look_widths[WEIR__LOOK_EVERYWHERE],
                                       .near = scanner->engine->near_width,
                                       .near_reach = scanner->engine->near_reach};
    *ret_result = 0;
    /* With less to decode than an object has by itself, what was not decoded again would be missed
     * in the count. */
    if (!text->edit || (object->decode_bytes != 0 && object->decode_bytes < WEIR__DECODE_BYTES) ||
        !weir__look_find(&scanner->look, text->edit, text->length, &widths))
        return false;
    int result = scan(scanner, object, text, text->edit);
    if (result == -WEIR_E_TOO_LARGE) /* more candidates than there is room for at once */
        return false;
    *ret_result = result;
    return result == 0 && is_complete(scanner) &&
           (scanner->has_any || !weir__pending_lacks_keyword(scanner));
}

int weir__scanner_text(struct weir__scanner *scanner, const struct weir__object *object,
                       const struct weir__text *text, struct weir__scan_result *ret_result)
{
    int result = 0;
    if (!scanner->is_begun && text->length >= TOUCH_FROM)
        touch_tables(scanner);
    if (text->trace)
        text->trace->is_known = false;
    if (text->length > WEIR__TEXT_MAX)
        return -WEIR_E_TOO_LARGE;
    bool is_in_part = scan_in_part(scanner, object, text, &result);
    if (!is_in_part && result == 0)
        result = scan(scanner, object, text, NULL);
    if (result == 0 && !scanner->is_path_allowed) {
        weir__confirm_path_rules(scanner);
        weir__pending_flush(scanner);
        weir__pending_end(scanner);
        result = scanner->error;
    }
    if (text->trace)
        weir__trace_end(text->trace,
                        result == 0 && is_complete(scanner) && !scanner->is_path_allowed);
    scanner->result.is_in_part = is_in_part;
    if (ret_result && result == 0)
        *ret_result = scanner->result;
    scanner->is_open = false;
    scanner->bytes = scanner->room;
    scanner->length = 0;
    return result;
}
