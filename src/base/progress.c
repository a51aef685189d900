/* progress.c - samples to a rate, a rate to a line. */
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "term.h"

#include <weir/lock.h>

#include "banned.h"

#define LINE_EVERY_NS   (100 * WEIR_NS_PER_MS)
#define PLAIN_EVERY_NS  (5 * WEIR_NS_PER_S)
#define SAMPLE_EVERY_NS WEIR_NS_PER_S
/* A rate over less than this is noise. */
#define RATE_OVER_NS_MIN (500 * WEIR_NS_PER_MS)
/* Nobody believes a time left of more than this. */
#define LEFT_MAX_S (UINT64_C(99) * 86400)

enum weir__progress_mode weir__progress_mode(int fd, bool quiet)
{
    if (quiet)
        return WEIR__PROGRESS_QUIET;
    const char *term = getenv("TERM");
    bool redraws = weir__term_is_terminal(fd) && term && *term && strcmp(term, "dumb") != 0;
    return redraws ? WEIR__PROGRESS_LINE : WEIR__PROGRESS_PLAIN;
}

void weir__progress_init(struct weir__progress *progress, enum weir__progress_mode mode,
                         enum weir__unit unit, uint64_t now_ns)
{
    *progress = (struct weir__progress){
        ._mode = mode, ._unit = unit, ._start_ns = now_ns, ._shown_ns = now_ns};
    progress->_past[0] = (struct weir__progress_sample){.now_ns = now_ns};
    progress->_past_count = 1;
    progress->_past_next = 1;
}

/* The oldest sample that is kept, and the newest. */
static const struct weir__progress_sample *oldest(const struct weir__progress *progress)
{
    bool is_full = progress->_past_count == WEIR__PROGRESS_SAMPLES;
    return &progress->_past[is_full ? progress->_past_next : 0];
}

static const struct weir__progress_sample *newest(const struct weir__progress *progress)
{
    size_t last = progress->_past_next + WEIR__PROGRESS_SAMPLES - 1;
    return &progress->_past[last % WEIR__PROGRESS_SAMPLES];
}

/* now - then, 0 when time went back. */
static uint64_t since(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

bool weir__progress_is_due(struct weir__progress *progress,
                           const struct weir__progress_sample *sample)
{
    if (since(sample->now_ns, newest(progress)->now_ns) >= SAMPLE_EVERY_NS) {
        progress->_past[progress->_past_next] = *sample;
        progress->_past_next = (progress->_past_next + 1) % WEIR__PROGRESS_SAMPLES;
        if (progress->_past_count < WEIR__PROGRESS_SAMPLES)
            progress->_past_count++;
    }
    if (progress->_mode == WEIR__PROGRESS_QUIET)
        return false;
    uint64_t every = progress->_mode == WEIR__PROGRESS_LINE ? LINE_EVERY_NS : PLAIN_EVERY_NS;
    if (since(sample->now_ns, progress->_shown_ns) < every)
        return false;
    progress->_shown_ns = sample->now_ns;
    return true;
}

static double per_second(uint64_t from, uint64_t to, uint64_t span_ns)
{
    return span_ns == 0 || to <= from ? 0 : (double)(to - from) * 1e9 / (double)span_ns;
}

/* Units a second between two samples. */
static double rate_between(const struct weir__progress_sample *from,
                           const struct weir__progress_sample *to)
{
    return per_second(from->done, to->done, since(to->now_ns, from->now_ns));
}

static void amount(enum weir__unit unit, uint64_t value, char text[WEIR__VALUE_TEXT_MAX])
{
    if (unit == WEIR__UNIT_SIZE)
        weir__value_human_size(value, text);
    else
        snprintf(text, WEIR__VALUE_TEXT_MAX, "%" PRIu64, value);
}

static void speed(enum weir__unit unit, double rate, char text[WEIR__VALUE_TEXT_MAX + 4])
{
    char value[WEIR__VALUE_TEXT_MAX];
    bool is_slow_count = unit == WEIR__UNIT_COUNT && rate > 0 && rate < 9.95;
    if (is_slow_count)
        snprintf(value, sizeof(value), "%.1f", rate);
    else
        amount(unit, rate < 1e19 ? (uint64_t)(rate + 0.5) : UINT64_MAX, value);
    snprintf(text, WEIR__VALUE_TEXT_MAX + 4, "%s/s", value);
}

/* Appends a part to the line if it fits the width as a whole, with two spaces before it. */
__attribute__((format(printf, 3, 4))) static void add(char line[WEIR__PROGRESS_LINE_MAX],
                                                      size_t width, const char *format, ...)
{
    char part[WEIR__PROGRESS_LINE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(part, sizeof(part), format, args);
    va_end(args);
    size_t at = strlen(line), gap = at > 0 ? 2 : 0, length = strlen(part);
    size_t limit = width < WEIR__PROGRESS_LINE_MAX - 1 ? width : WEIR__PROGRESS_LINE_MAX - 1;
    if (at + gap + length > limit)
        return;
    memset(line + at, ' ', gap);
    memcpy(line + at + gap, part, length + 1);
}

static void add_items(char line[WEIR__PROGRESS_LINE_MAX], size_t width,
                      const struct weir__progress_sample *sample)
{
    if (!sample->items_name)
        return;
    if (sample->items_total > 0 && sample->items <= sample->items_total)
        add(line, width, "%" PRIu64 " of %" PRIu64 " %s", sample->items, sample->items_total,
            sample->items_name);
    else
        add(line, width, "%" PRIu64 " %s", sample->items, sample->items_name);
}

static void add_found(char line[WEIR__PROGRESS_LINE_MAX], size_t width,
                      const struct weir__progress_sample *sample)
{
    if (sample->found_name)
        add(line, width, "%" PRIu64 " %s", sample->found, sample->found_name);
}

static double items_rate(const struct weir__progress_sample *from,
                         const struct weir__progress_sample *to)
{
    return per_second(from->items, to->items, since(to->now_ns, from->now_ns));
}

static void add_time_left(char line[WEIR__PROGRESS_LINE_MAX], size_t width, double rate,
                          uint64_t left, bool moves)
{
    if (rate <= 0) {
        if (!moves)
            add(line, width, "stalled");
        return;
    }
    double seconds = (double)left / rate;
    if (seconds > (double)LEFT_MAX_S)
        return;
    char text[WEIR__VALUE_TEXT_MAX];
    /* Rounded up: "0:00 left" would be a promise that is broken at once. */
    uint64_t whole = (uint64_t)seconds;
    weir__value_human_time(whole + (seconds > (double)whole ? 1 : 0), text);
    add(line, width, "%s left", text);
}

void weir__progress_format(const struct weir__progress *progress,
                           const struct weir__progress_sample *sample, size_t width,
                           char line[WEIR__PROGRESS_LINE_MAX])
{
    char done[WEIR__VALUE_TEXT_MAX], total[WEIR__VALUE_TEXT_MAX], per_s[WEIR__VALUE_TEXT_MAX + 4];
    line[0] = '\0';
    amount(progress->_unit, sample->done, done);
    amount(progress->_unit, sample->total, total);
    /* More done than was planned: the tree grew meanwhile, and the total means nothing any more. */
    bool has_total = sample->total > 0 && sample->done <= sample->total;
    add_items(line, width, sample);
    if (has_total) {
        add(line, width, "%s of %s", done, total);
        add(line, width, "%u%%", (unsigned)((double)sample->done * 100 / (double)sample->total));
    } else {
        add(line, width, "%s", done);
    }
    if (since(sample->now_ns, oldest(progress)->now_ns) >= RATE_OVER_NS_MIN) {
        double rate = rate_between(oldest(progress), sample);
        speed(progress->_unit, rate, per_s);
        add(line, width, "%s", per_s);
        add_found(line, width, sample);
        if (has_total && sample->done < sample->total)
            add_time_left(line, width, rate, sample->total - sample->done,
                          sample->items > oldest(progress)->items);
        else if (!has_total && sample->items < sample->items_total)
            add_time_left(line, width, items_rate(oldest(progress), sample),
                          sample->items_total - sample->items, rate > 0);
    } else {
        add_found(line, width, sample);
    }
    if (sample->in_flight > 0)
        add(line, width, "%" PRIu64 " in flight", sample->in_flight);
}

/* Progress is a courtesy: what cannot be shown is dropped. */
static void say(int fd, const char *before, const char *line, const char *after)
{
    char text[WEIR__PROGRESS_LINE_MAX + 16];
    int length = snprintf(text, sizeof(text), "%s%s%s", before, line, after);
    weir_lock_assert_none("held while progress is shown");
    if (fd == STDERR_FILENO) {
        (void)weir__log_courtesy(text, (size_t)length);
        return;
    }
    ssize_t written;
    do
        written = write(fd, text, (size_t)length);
    while (written < 0 && errno == EINTR);
}

static void draw(struct weir__progress *progress, const struct weir__progress_sample *sample,
                 int fd)
{
    char line[WEIR__PROGRESS_LINE_MAX];
    if (progress->_mode == WEIR__PROGRESS_LINE) {
        /* The last column stays free: some terminals wrap as soon as it is written. */
        weir__progress_format(progress, sample, weir__term_line(fd) - 1, line);
        say(fd, "\r", line, "\033[K");
    } else {
        weir__progress_format(progress, sample, WEIR__PROGRESS_LINE_MAX, line);
        say(fd, "", line, "\n");
    }
    progress->_has_line = true;
    progress->_was_shown = true;
    progress->_is_hidden = false;
}

void weir__progress_show(struct weir__progress *progress,
                         const struct weir__progress_sample *sample, int fd)
{
    if (weir__progress_is_due(progress, sample))
        draw(progress, sample, fd);
}

void weir__progress_hide(struct weir__progress *progress, int fd)
{
    if (progress->_mode != WEIR__PROGRESS_LINE || !progress->_has_line)
        return;
    say(fd, "\r\033[K", "", "");
    progress->_has_line = false;
    progress->_is_hidden = true;
}

void weir__progress_unhide(struct weir__progress *progress,
                           const struct weir__progress_sample *sample, int fd)
{
    if (progress->_is_hidden)
        draw(progress, sample, fd);
}

bool weir__progress_was_shown(const struct weir__progress *progress)
{
    return progress->_was_shown;
}

void weir__progress_end(struct weir__progress *progress, const struct weir__progress_sample *sample,
                        int fd)
{
    if (!progress->_has_line)
        return;
    progress->_has_line = false;
    if (progress->_mode == WEIR__PROGRESS_LINE) {
        say(fd, "\r\033[K", "", "");
        return;
    }
    struct weir__progress_sample start = {.now_ns = progress->_start_ns};
    char done[WEIR__VALUE_TEXT_MAX], time[WEIR__VALUE_TEXT_MAX], per_s[WEIR__VALUE_TEXT_MAX + 4];
    char line[WEIR__PROGRESS_LINE_MAX] = "";
    amount(progress->_unit, sample->done, done);
    weir__value_human_time(since(sample->now_ns, progress->_start_ns) / WEIR_NS_PER_S, time);
    speed(progress->_unit, rate_between(&start, sample), per_s);
    add(line, WEIR__PROGRESS_LINE_MAX, "%s", done);
    add(line, WEIR__PROGRESS_LINE_MAX, "%s", time);
    add(line, WEIR__PROGRESS_LINE_MAX, "%s", per_s);
    say(fd, "", line, "\n");
}
