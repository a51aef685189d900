/* stretch.h - stretches: bytes in a row that tokens are made of.
 *
 * Most secrets are long and have no blank in them, and ordinary text has such stretches of
 * WEIR__STRETCH_MIN bytes rarely, and those of WEIR__STRETCH_LONG more rarely still. A rule whose
 * matches cannot be without one, and are narrow, needs to be looked for only near them: in an
 * eighth of source code, and in a thirtieth.
 *
 * The first half is about expressions: how long a stretch every match has at least. All numbers end
 * at WEIR__STRETCH_LONG, which is all that is asked. The second half is about texts.
 *
 * Pure.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_SCAN_ENGINE_STRETCH_H
#define WEIR_SCAN_ENGINE_STRETCH_H

#include <weir/defs.h>

/* Bytes; at most 64, two blocks of bits being looked at at once. 31 and not more, since as many
 * rules have that and no more as have all lengths down to 20 together. */
#define WEIR__STRETCH_MIN  31u
#define WEIR__STRETCH_LONG 40u
#define WEIR__STRETCH_NEAR 256u /* bytes from one: as wide may a match be that is near it */

static inline bool weir__is_token_byte(unsigned char byte)
{
    unsigned char lower = byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '-' && byte <= '9') || byte == '+' ||
           byte == '=' || byte == '_';
}

/* --- in expressions --- */

/* What a part of an expression matches: token bytes in a row. */
struct weir__row {
    unsigned least;               /* bytes of the shortest match */
    unsigned head, tail, longest; /* at its beginning, at its end, anywhere */
    bool is_all;                  /* it has no other bytes */
};

struct weir__row weir__row_nothing(void); /* matches the empty text */
struct weir__row weir__row_any(void);     /* nothing is known */
struct weir__row weir__row_byte(bool is_token);
/* a, then b. */
struct weir__row weir__row_join(struct weir__row a, struct weir__row b);
/* a or b. */
struct weir__row weir__row_either(struct weir__row a, struct weir__row b);
struct weir__row weir__row_repeat(struct weir__row a, unsigned least, unsigned most);

/* --- in texts --- */

#define WEIR__GRAIN         64u /* bytes: texts are divided into so many */
#define WEIR__GRAINS_AROUND (WEIR__STRETCH_NEAR / WEIR__GRAIN)
#define WEIR__NEAR_TEXT     ((128u << 10) + (32u << 10)) /* bytes that are looked at at once */
#define WEIR__NEAR_WORDS    (WEIR__NEAR_TEXT / WEIR__GRAIN / 64 + 2)

enum weir__near_kind { WEIR__NEAR_ANY, WEIR__NEAR_LONG, WEIR__NEAR_KINDS };

/* The parts of a text that are near a stretch. */
struct weir__near {
    size_t first; /* grain of the text that the first bit is about */
    size_t from, until;
    size_t words; /* of those below that are about this text */
    uint64_t grains[WEIR__NEAR_KINDS][WEIR__NEAR_WORDS];
};

/* Of text[from, until), which is at most WEIR__NEAR_TEXT long; what is around it counts as well. */
void weir__near_find(struct weir__near *near, const char *text, size_t length, size_t from,
                     size_t until);
/* The first part that begins at `at` or behind it. False: there is none. */
bool weir__near_next(const struct weir__near *near, enum weir__near_kind kind, size_t at,
                     size_t *ret_from, size_t *ret_until);

#endif
