/* whole.h - a text that is all there, scanned at once; and one that was made from another, by what
 * is known of that.
 *
 *     weir__trace_init(&first), weir__trace_init(&second)
 *     weir__scanner_text(scanner, &object, &(struct weir__text){a, length, .trace = &first}, …)
 *     struct weir__edit edit = {&first, copies, count};
 *     weir__scanner_text(scanner, &object, &(struct weir__text){b, length, &edit, &second}, …)
 *
 * Promises: findings are those of a full scan, whatever the edit says, as long as what it says was
 * copied is the same, and the trace was made by the same engine for the same path (or for none).
 * What is looked at is what is new, what is around it, and where something matched before. Counts
 * of what was rejected or allowed, and of decoded bytes, are those of what was looked at.
 *
 * Limits: WEIR__TEXT_MAX bytes, else TooLarge: such a text is fed in segments.
 *
 * Ownership: borrows the text, the edit and the traces for the call.
 */
#ifndef WEIR_SCAN_ENGINE_WHOLE_H
#define WEIR_SCAN_ENGINE_WHOLE_H

#include "engine.h"
#include "trace.h"

#define WEIR__TEXT_MAX (1u << 20)

struct weir__text {
    const char *bytes;
    size_t length;
    const struct weir__edit *edit; /* or NULL: nothing is known */
    struct weir__trace *trace;     /* what is found out; not that of the edit. NULL: not wanted */
    /* It is enough to know whether there is any finding: none is told, and the result counts one,
     * or none. What is still to be judged when there is one is not. */
    bool is_any_enough;
};

/* 0, or an error, after which the trace is not known. The scanner has no object then. */
WEIR_MUST_USE int weir__scanner_text(struct weir__scanner *scanner,
                                     const struct weir__object *object,
                                     const struct weir__text *text,
                                     struct weir__scan_result *ret_result);

#endif
