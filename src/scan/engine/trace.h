/* trace.h - what is remembered of a text that was scanned, for the texts that are made from it.
 *
 * A text that is another one with some bytes replaced has the same matches in the bytes that are
 * the same, unless a match depends on what changed. So this is kept of a text:
 *
 *     hits    of what is looked for everywhere, each with how far before and behind it bytes make a
 *             difference to what is searched there
 *     loud    spans in which an expression matched, and what follows as far as that match keeps
 *             another one of its rule from being found
 *     units   what was looked at for something encoded, and the spans of those runs in which
 *             something matched
 *
 * Of the next text everything is looked at that a change could have to do with (weir__look_find()):
 *
 *     places     hits that end there are looked for: where a pattern has new bytes in it, and what
 *                is loud
 *     near       the same for what is looked for near stretches of token bytes (stretch.h), whose
 *                hits are not kept: a stretch that comes makes old literals count. Their rules are
 *                narrow, so it is a few hundred bytes around a change, and what is loud
 *     hits       those of before, in what was copied: searched again if a change is as near as
 *                makes a difference; the others give nothing, as before
 *     encodings  the survey sets in again: WEIR__SURVEY_NEAR bytes around a change, units that a
 *                change touches, and those in which something matched
 *
 * All else is quiet: it was searched, gave nothing, and gives nothing again. Why that is so, step
 * by step, is in docs/scan-engine.md ("Texts made from others").
 *
 * Limits: WEIR__SPANS_MAX spans of each kind, WEIR__TRACE_HITS_MAX hits; a text with more is not
 * known, and what is made from it is scanned in full.
 *
 * Ownership: a trace, and a look list, own their lists; zeros are empty ones, fini frees them.
 */
#ifndef WEIR_SCAN_ENGINE_TRACE_H
#define WEIR_SCAN_ENGINE_TRACE_H

#include "spans.h"

#define WEIR__TRACE_BEHIND   128u /* bytes before it that a match near a stretch looks at */
#define WEIR__TRACE_HITS_MAX 16384u
#define WEIR__TRACE_ANY      UINT16_MAX /* bytes as far as the text goes */

/* A hit of an anchor (parts.h) that ends at `to`. */
struct weir__trace_hit {
    uint32_t to, anchor;
    uint16_t before, behind; /* bytes that make a difference, from `to` */
};

struct weir__trace_hits {
    struct weir__trace_hit *items;
    uint32_t count, capacity;
    bool is_short; /* some are not there */
};

struct weir__trace {
    bool is_known; /* complete, so that other texts may be scanned by it */
    uint32_t length;
    struct weir__trace_hits hits; /* in the order of their ends */
    struct weir__spans loud, loud_near;
    struct weir__spans units, loud_runs;
};

/* `length` bytes at `to` that are those at `from` of another text. */
struct weir__copied {
    uint32_t to, from, length;
};

/* How a text was made: copies in the order of `to`, which do not overlap there; all other bytes are
 * new. */
struct weir__edit {
    const struct weir__trace *base;
    const struct weir__copied *copies;
    size_t count;
};

/* --- a text's own --- */

void weir__trace_init(struct weir__trace *trace);
void weir__trace_fini(struct weir__trace *trace);
/* Empties it for a text of that length. */
void weir__trace_begin(struct weir__trace *trace, size_t length);
void weir__trace_hit_more(struct weir__trace_hits *hits, struct weir__trace_hit hit);
static inline void weir__trace_hit(struct weir__trace *trace, struct weir__trace_hit hit)
{
    struct weir__trace_hits *hits = &trace->hits;
    if (hits->count < hits->capacity)
        hits->items[hits->count++] = hit;
    else
        weir__trace_hit_more(hits, hit); /* makes room */
}
/* The text has been scanned: puts all in order. is_complete: nothing was left out. */
void weir__trace_end(struct weir__trace *trace, bool is_complete);
/* Bytes that it holds. */
size_t weir__trace_bytes(const struct weir__trace *trace);

/* --- from one text to the next --- */

/* A hit of before. */
struct weir__look_hit {
    struct weir__trace_hit hit;
    bool is_again; /* it must be searched; else nothing comes of it, as before */
};

/* Where a text must be looked at, all of it in order. */
struct weir__look_list {
    struct weir__spans changes;      /* what is new; or [x, x): what did not stand side by side */
    struct weir__spans places, near; /* for hits that end in (from, until] */
    struct weir__spans encodings;
    struct weir__spans units;    /* that are the same as before, outside of those */
    struct weir__look_hit *hits; /* outside of places */
    uint32_t hits_count, hits_capacity;
};

/* Bytes at most. */
struct weir__look_widths {
    uint32_t pattern;    /* that is looked for everywhere */
    uint32_t near;       /* of a match near a stretch, with what it looks ahead */
    uint32_t near_reach; /* from the beginning of such a match to the end of its hit */
};

void weir__look_fini(struct weir__look_list *look);
/* False: it is too much to be worth it, or the edit makes no sense; the text is scanned in full. */
bool weir__look_find(struct weir__look_list *look, const struct weir__edit *edit, size_t length,
                     const struct weir__look_widths *widths);

#endif
