/* term.h - what the terminal is, and whether color is wanted on it.
 *
 * Promises: NO_COLOR (set and not empty) always wins; CLICOLOR_FORCE (set, not empty, not "0")
 * comes next; otherwise color is for terminals whose TERM is set and is not "dumb".
 *
 * Ownership: nothing here owns anything; the returned strings are static.
 */
#ifndef WEIR_BASE_TERM_H
#define WEIR_BASE_TERM_H

#include <weir/defs.h>

bool weir__term_is_terminal(int fd);
bool weir__term_wants_color(int fd);

/* The rule itself, for tests. The first three are values of environment variables or NULL. */
bool weir__term_color_rule(const char *no_color, const char *force, const char *term,
                           bool is_terminal);

/* Columns: COLUMNS when it is a sane number, else what the terminal says, else 80. */
unsigned weir__term_width(int fd);
/* The same for a line that is drawn again and again, and must not wrap whatever COLUMNS says, which
 * may be older than the size of the window: never more than the terminal has, down to 1. */
unsigned weir__term_line(int fd);

enum weir__style {
    WEIR__STYLE_RESET,
    WEIR__STYLE_BOLD,
    WEIR__STYLE_RED,
    WEIR__STYLE_YELLOW,
    WEIR__STYLE_DIM
};

/* The escape sequence, or "" when color is not wanted. */
const char *weir__term_style(bool color, enum weir__style style);

#endif
