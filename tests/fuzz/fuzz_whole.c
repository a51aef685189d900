/* fuzz_whole.c - any text, made into any other by any edits: what is found by what is known of the
 * one before is what is found in full.
 *
 * The input is a byte that says which rules, two with the length of the first text, that text, and
 * a program of edits. Each edit makes a text from the one before: of copies from anywhere in it, of
 * bytes, and of the pieces of whole_help.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scanners.h"
#include "whole_help.h"

#include "banned.h"

#define HEAD             3u
#define EDITS_MAX        6u
#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "whole", #condition)

static const char *const wide_rules[] = {"wide", "block", "line", "behind", "cut", NULL};
static const char *const tied_rules[] = {"needs", "pair", "other", "yields", "own", "rare", NULL};
#define ENGINES 3u
static const struct choice choice = {WHOLE_RULES, {NULL, wide_rules, tied_rules}};

static struct hits full, part;
static struct text texts[2];
static const struct weir__object object = {.path = "a", .decode_depth = 3};

/* --- edits --- */

struct program {
    const uint8_t *bytes;
    size_t length;
};

static size_t next_byte(struct program *program)
{
    if (program->length == 0)
        return 0;
    program->length--;
    return *program->bytes++;
}

static size_t next_number(struct program *program)
{
    size_t high = next_byte(program);
    return high << 8 | next_byte(program);
}

/* One text: until the program says that the next one begins, or ends. */
static void make_next(struct text *text, const struct text *from, struct program *program)
{
    size_t at = 0, length;
    text_clear(text);
    while (program->length > 0) {
        size_t step = next_byte(program);
        switch (step % 8) {
        case 0: /* another text */
            return;
        case 1: /* what is left */
            text_copy(text, from, at, from->length);
            at = from->length;
            break;
        case 2: /* from anywhere */
            at = next_number(program);
            length = next_number(program);
            text_copy(text, from, at, length);
            at += length;
            break;
        case 3: /* goes */
            at += step / 8;
            break;
        case 4: /* bytes come */
            length = step / 8 < program->length ? step / 8 : program->length;
            text_put(text, (const char *)program->bytes, length);
            program->bytes += length;
            program->length -= length;
            break;
        case 5: /* a piece comes */
            length = next_byte(program) % WHOLE_PIECES;
            text_put(text, whole_pieces[length], strlen(whole_pieces[length]));
            break;
        default: /* goes on, a little or far */
            length = step % 8 == 6 ? 1 + step / 8 : next_number(program);
            text_copy(text, from, at, length);
            at += length;
        }
    }
}

/* --- both ways --- */

static void scan_text(struct weir__scanner *scanner, const struct text *text,
                      const struct weir__trace *base, struct weir__trace *trace, bool is_any)
{
    struct weir__edit edit = {base, text->copies, text->count};
    struct weir__text whole = {.bytes = text->bytes,
                               .length = text->length,
                               .edit = base ? &edit : NULL,
                               .trace = trace,
                               .is_any_enough = is_any};
    taking = &part;
    part.count = 0;
    part.problem = NULL;
    part.bytes = text->bytes;
    part.length = text->length;
    hits_find_lines(&part);
    HOLDS(weir__scanner_text(scanner, &object, &whole, &part.result) == 0);
    WEIR__REQUIRE(!part.problem, "fuzz", "whole", part.problem);
    hits_sort(&part);
}

static void check_same(struct weir__scanner *scanner, const struct text *text)
{
    taking = &full;
    HOLDS(hits_scan(&full, scanner, &object, 0, text->bytes, text->length, NULL, NULL) == 0);
    hits_sort(&full);
    for (size_t i = 0; !hits_are_same(&full, &part) && (i < full.count || i < part.count); i++) {
        const struct hits *ways[] = {&full, &part};
        for (unsigned way = 0; way < 2; way++)
            if (i < ways[way]->count) {
                const struct hit *hit = &ways[way]->items[i];
                fprintf(stderr, "%s: %s at %llu, %llu bytes, %zu times encoded (%d)\n",
                        way ? "in part" : "in full", hit->rule->id,
                        (unsigned long long)hit->place.offset,
                        (unsigned long long)hit->place.length, hit->encodings_count,
                        hit->encodings_count ? (int)hit->encodings[0] : -1);
            }
    }
    HOLDS(hits_are_same(&full, &part));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__trace traces[2], other;
    if (size < HEAD)
        return 0;
    struct weir__scanner *scanner = scanner_of(&choice, data[0] % ENGINES);
    struct program program = {data + 1, size - 1};
    size_t length = next_number(&program);
    length = length < program.length ? length : program.length;
    text_clear(&texts[0]);
    text_put(&texts[0], (const char *)program.bytes, length);
    program.bytes += length;
    program.length -= length;
    weir__trace_init(&traces[0]);
    weir__trace_init(&traces[1]);
    weir__trace_init(&other);
    scan_text(scanner, &texts[0], NULL, &traces[0], false);
    check_same(scanner, &texts[0]);
    for (unsigned i = 1; i <= EDITS_MAX && program.length > 0; i++) {
        const struct text *from = &texts[(i - 1) % 2];
        struct text *to = &texts[i % 2];
        make_next(to, from, &program);
        scan_text(scanner, to, &traces[(i - 1) % 2], &other, true);
        size_t any = part.result.findings;
        scan_text(scanner, to, &traces[(i - 1) % 2], &traces[i % 2], false);
        HOLDS(any == (part.result.findings > 0));
        check_same(scanner, to);
    }
    weir__trace_fini(&traces[0]);
    weir__trace_fini(&traces[1]);
    weir__trace_fini(&other);
    return 0;
}
