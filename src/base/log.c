/* log.c - lines on standard error, made in a fixed buffer and written at once. */
#include "log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term.h"
#include "text.h"

#include <weir/deadline.h>
#include <weir/lock.h>

#include "banned.h"

static struct {
    const char *program;
    const char *command;
    enum weir__log_level threshold;
    bool over_progress;
    void (*filter)(char *message);
    int (*is_wanted)(void); /* an end of all this */
    int now;                /* standard error, where a write does not wait; -1: as it is */
} state = {.program = "weir", .threshold = WEIR__LOG_INFO, .now = -1};

#define NAP_NS      (20 * WEIR_NS_PER_MS)
#define PATIENCE_NS (500 * WEIR_NS_PER_MS)

/* A line under construction. What does not fit is counted as cut. */
struct line {
    char *text;
    size_t length;
    size_t max;
    bool is_cut;
};

void weir__log_subject(const char *program, const char *command)
{
    state.program = program;
    state.command = command;
}

void weir__log_threshold(enum weir__log_level level)
{
    state.threshold = level;
}

void weir__log_filter(void (*filter)(char *message))
{
    state.filter = filter;
}

void weir__log_hurry(int (*is_wanted)(void))
{
    struct stat st;
    state.is_wanted = is_wanted;
    /* Opened anew, since whether a write waits is shared with all who have the same open file. */
    if (state.now < 0 && fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
        state.now = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* A line is written at once or not at all: pipes take one of this length as a whole. */
static void write_line(const char *text, size_t length)
{
    uint64_t until_ns = 0;
    for (;;) {
        bool is_late = state.now >= 0 && state.is_wanted() != 0;
        ssize_t written = write(is_late ? state.now : STDERR_FILENO, text, length);
        if (written >= 0 || (errno != EINTR && errno != EAGAIN))
            return;
        if (!is_late)
            continue;
        uint64_t now_ns = weir_now_ns();
        until_ns = until_ns ? until_ns : now_ns + PATIENCE_NS;
        if (now_ns >= until_ns)
            return;
        struct weir_deadline nap = weir_deadline_in(NAP_NS, NULL);
        weir_deadline_sleep(&nap);
    }
}

void weir__log_over_progress(bool progress)
{
    state.over_progress = progress;
}

static void put(struct line *line, const char *text)
{
    size_t length = strlen(text);
    if (length > line->max - line->length) {
        line->is_cut = true;
        return;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void put_message(struct line *line, const char *text)
{
    char piece[WEIR__TEXT_PIECE_MAX];
    for (size_t step; !line->is_cut && (step = weir__text_escape(piece, text)) > 0; text += step)
        put(line, piece);
}

static size_t compose(char text[WEIR__LOG_LINE_MAX], enum weir__log_level level, bool color,
                      bool wipe, const char *message)
{
    static const char *const labels[] = {"", "warning: ", "", "debug: "};
    static const enum weir__style styles[] = {WEIR__STYLE_RED, WEIR__STYLE_YELLOW,
                                              WEIR__STYLE_RESET, WEIR__STYLE_DIM};
    /* Room is kept for the mark of a cut line, the newline and the NUL. */
    struct line line = {.text = text, .max = WEIR__LOG_LINE_MAX - 8};
    if (wipe)
        put(&line, "\r\033[K");
    put(&line, weir__term_style(color, WEIR__STYLE_BOLD));
    put(&line, state.program);
    if (state.command) {
        put(&line, " ");
        put(&line, state.command);
    }
    put(&line, ":");
    put(&line, weir__term_style(color, WEIR__STYLE_RESET));
    put(&line, " ");
    if (labels[level][0] != '\0') {
        put(&line, weir__term_style(color, styles[level]));
        put(&line, labels[level]);
        put(&line, weir__term_style(color, WEIR__STYLE_RESET));
    }
    put_message(&line, message);
    if (line.is_cut) {
        memcpy(text + line.length, "...", 3);
        line.length += 3;
    }
    text[line.length++] = '\n';
    text[line.length] = '\0';
    return line.length;
}

size_t weir__log_format(char text[WEIR__LOG_LINE_MAX], enum weir__log_level level,
                        const char *format, ...)
{
    char message[WEIR__LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return compose(text, level, false, false, message);
}

void weir__log(enum weir__log_level level, const char *format, ...)
{
    if (level > state.threshold)
        return;
    int saved_errno = errno;
    char message[WEIR__LOG_LINE_MAX], text[WEIR__LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (state.filter)
        state.filter(message);
    size_t length = compose(text, level, weir__term_wants_color(STDERR_FILENO),
                            state.over_progress && weir__term_is_terminal(STDERR_FILENO), message);
    weir_lock_assert_none("held while a line is logged");
    write_line(text, length);
    errno = saved_errno;
}

const char *weir__log_reason(int errno_value)
{
    static _Thread_local char reason[128];
    char scratch[128];
    const char *text = strerror_r(errno_value, scratch, sizeof(scratch));
    snprintf(reason, sizeof(reason), "%s", text);
    /* "No space" but not "RPC": only a capital that begins an ordinary word. */
    if (islower((unsigned char)reason[1]) || reason[1] == ' ')
        reason[0] = (char)tolower((unsigned char)reason[0]);
    return reason;
}
