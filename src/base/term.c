/* term.c - isatty, the window size and the environment. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "banned.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN     20
#define WIDTH_MAX     1000

bool weir__term_is_terminal(int fd)
{
    return isatty(fd) == 1;
}

bool weir__term_color_rule(const char *no_color, const char *force, const char *term,
                           bool is_terminal)
{
    if (no_color && *no_color)
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return is_terminal && term && *term && strcmp(term, "dumb") != 0;
}

bool weir__term_wants_color(int fd)
{
    return weir__term_color_rule(getenv("NO_COLOR"), getenv("CLICOLOR_FORCE"), getenv("TERM"),
                                 weir__term_is_terminal(fd));
}

/* What the terminal says; 0: nothing. */
static unsigned ask(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned weir__term_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    if (columns && *columns >= '1' && *columns <= '9') {
        char *end;
        unsigned long width = strtoul(columns, &end, 10);
        if (*end == '\0' && width >= WIDTH_MIN && width <= WIDTH_MAX)
            return (unsigned)width;
    }
    unsigned width = ask(fd);
    return width >= WIDTH_MIN ? width : WIDTH_DEFAULT;
}

unsigned weir__term_line(int fd)
{
    unsigned width = weir__term_width(fd), has = ask(fd);
    return has > 0 && has < width ? has : width;
}

const char *weir__term_style(bool color, enum weir__style style)
{
    static const char *const sequences[] = {
        [WEIR__STYLE_RESET] = "\033[0m", [WEIR__STYLE_BOLD] = "\033[1m",
        [WEIR__STYLE_RED] = "\033[31m",  [WEIR__STYLE_YELLOW] = "\033[33m",
        [WEIR__STYLE_DIM] = "\033[2m",
    };
    return color ? sequences[style] : "";
}
