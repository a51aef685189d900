/* log.c - lines on standard error, made in a fixed buffer and written at once. */
#include "log.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cover.h"
#include "now.h"
#include "term.h"

#include <weir/deadline.h>
#include <weir/lock.h>
#include <weir/metrics.h>

#include "banned.h"

static struct {
    const char *program;
    const char *command;
    /* Changed while others log; gauges are what changes and needs no lock. */
    struct weir_gauge above; /* the threshold, from WEIR__LOG_INFO on */
    struct weir_gauge is_json;
    bool over_progress;
    void (*filter)(char *message);
    int (*is_wanted)(void); /* an end of all this */
    struct weir__now now;   /* standard error */
} state = {.program = "weir", .now = WEIR__NOW(STDERR_FILENO)};

#define NAP_NS      (20 * WEIR_NS_PER_MS)
#define PATIENCE_NS (200 * WEIR_NS_PER_MS)

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
    weir_gauge_set(&state.above, (int64_t)level - WEIR__LOG_INFO);
}

void weir__log_as_json(bool is_json)
{
    weir_gauge_set(&state.is_json, is_json);
}

void weir__log_filter(void (*filter)(char *message))
{
    state.filter = filter;
}

void weir__log_hurry(int (*is_wanted)(void))
{
    state.is_wanted = is_wanted;
    weir__now_open(&state.now);
}

/* Pipes take a line of this length as a whole, or not at all. A thread that waits here is not the
 * one that hears of a signal, so that nobody waits within a write. */
static void write_line(const char *text, size_t length)
{
    static _Thread_local uint64_t until_ns; /* 0: this thread has all of its patience */
    while (length > 0) {
        ssize_t written = weir__now_write(&state.now, text, length);
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
            until_ns = 0;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return;
        if (state.is_wanted && state.is_wanted() != 0) {
            uint64_t now_ns = weir_now_ns();
            until_ns = until_ns ? until_ns : now_ns + PATIENCE_NS;
            if (now_ns >= until_ns)
                return;
        }
        struct weir_deadline nap = weir_deadline_in(NAP_NS, NULL);
        weir_deadline_sleep(&nap);
    }
}

bool weir__log_courtesy(const char *text, size_t length)
{
    ssize_t written;
    do
        written = weir__now_write(&state.now, text, length);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && (size_t)written < length)
        errno = EAGAIN; /* there was room for a part of it */
    return written >= 0 && (size_t)written == length;
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

/* Without control characters and broken UTF-8 already, which are shown as escapes. */
static void put_quoted(struct line *line, const char *text)
{
    char piece[WEIR__TEXT_PIECE_MAX], quoted[2 * WEIR__TEXT_PIECE_MAX];
    for (size_t step; !line->is_cut && (step = weir__text_escape(piece, text)) > 0; text += step) {
        size_t length = 0;
        for (const char *at = piece; *at; at++) {
            if (*at == '"' || *at == '\\')
                quoted[length++] = '\\';
            quoted[length++] = *at;
        }
        quoted[length] = '\0';
        put(line, quoted);
    }
}

static size_t compose_json(char text[WEIR__LOG_LINE_MAX], enum weir__log_level level,
                           const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    struct line line = {.text = text, .max = WEIR__LOG_LINE_MAX - 8};
    char moment[32];
    time_t seconds = (time_t)weir_wall_s();
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(moment, sizeof(moment), "%Y-%m-%dT%H:%M:%SZ", &parts);
    put(&line, "{\"time\":\"");
    put(&line, moment);
    put(&line, "\",\"level\":\"");
    put(&line, names[level]);
    put(&line, "\",\"subject\":\"");
    put(&line, state.program);
    put(&line, state.command ? " " : "");
    put(&line, state.command ? state.command : "");
    put(&line, "\",\"message\":\"");
    put_quoted(&line, message);
    line.max = WEIR__LOG_LINE_MAX - 1; /* there was room kept for this */
    put(&line, line.is_cut ? "...\"}\n" : "\"}\n");
    text[line.length] = '\0';
    return line.length;
}

static size_t compose(char text[WEIR__LOG_LINE_MAX], enum weir__log_level level, bool color,
                      bool wipe, const char *message)
{
    static const char *const labels[] = {"", "warning: ", "", "debug: "};
    static const enum weir__style styles[] = {WEIR__STYLE_RED, WEIR__STYLE_YELLOW,
                                              WEIR__STYLE_RESET, WEIR__STYLE_DIM};
    /* Room is kept for the mark of a cut line, the newline and the NUL. */
    struct line line = {.text = text, .max = WEIR__LOG_LINE_MAX - 8};
    if (weir_gauge_value(&state.is_json))
        return compose_json(text, level, message);
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
    if ((int64_t)level > WEIR__LOG_INFO + weir_gauge_value(&state.above))
        return;
    int saved_errno = errno;
    char message[WEIR__LOG_LINE_MAX], text[WEIR__LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    weir__cover_line(message);
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
