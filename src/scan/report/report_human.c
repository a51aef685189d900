/* report_human.c - findings for a terminal, grouped by file.
 *
 *     config/settings.py
 *       12:18  github-pat  GitHub personal access token
 *              token = "ghp_********************************Wxyz"
 *                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 *              also at b/settings.py  (the same bytes, in the history)
 *              also a.py:3:9, b.py:7:1 and 4 more places
 *              3f1c9a...  (the fingerprint)
 *
 * The line is cut on both sides of the secret to what the terminal has. Nothing that was scanned
 * reaches the terminal as a control.
 */
#include "report_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "term.h"
#include "text.h"

#include "banned.h"

#define COLUMNS_UNKNOWN 200u
#define COLUMNS_MIN     40u
#define INDENT          9u
#define DOTS            3u  /* the width of "..." */
#define BEFORE_MIN      24u /* cells before the secret that are kept if the line has them */
#define ALSO_MAX        3u
#define COMMIT_SHOWN    12u

/* The part of a line that is shown. */
struct window {
    const char *text;
    size_t from, until;               /* bytes */
    size_t secret_from, secret_until; /* bytes, within */
    bool is_cut_before, is_cut_behind;
};

static const char *style(const struct weir__writer *writer, enum weir__style which)
{
    return weir__term_style(writer->options->has_colour, which);
}

static unsigned width_of(const struct weir__writer *writer)
{
    unsigned columns = writer->options->columns ? writer->options->columns : COLUMNS_UNKNOWN;
    return (columns > COLUMNS_MIN ? columns : COLUMNS_MIN) - INDENT;
}

/* Where the character before at begins. */
static size_t step_back(const char *text, size_t at)
{
    struct weir__piece piece;
    for (size_t back = 4; back > 1; back--)
        if (at >= back) {
            weir__piece(&piece, text + at - back, back);
            if (piece.used == back)
                return at - back;
        }
    return at - 1;
}

/* Steps to the right while there is room for what comes; returns where it ends. */
static size_t step_right(const char *text, size_t at, size_t end, unsigned *room)
{
    struct weir__piece piece;
    while (at < end) {
        weir__piece(&piece, text + at, end - at);
        if (piece.cells > *room)
            break;
        *room -= piece.cells;
        at += piece.used;
    }
    return at;
}

static size_t step_left(const char *text, size_t at, unsigned *room)
{
    struct weir__piece piece;
    while (at > 0) {
        size_t before = step_back(text, at);
        weir__piece(&piece, text + before, at - before);
        if (piece.cells > *room)
            break;
        *room -= piece.cells;
        at = before;
    }
    return at;
}

/* First a little before the secret, then the secret, what follows it, and with the room that is
 * left more of what is before. */
static struct window window_of(const struct weir__found_place *place, unsigned width)
{
    const char *text = place->line;
    const char *line_end =
        memchr(text + place->line_from, '\n', place->line_length - place->line_from);
    size_t end = line_end ? (size_t)(line_end - text) : place->line_length;
    const char *line_start = memrchr(text, '\n', place->line_from);
    size_t start = line_start ? (size_t)(line_start - text) + 1 : 0;
    while (end > place->line_from && text[end - 1] == '\r')
        end--;
    while (start < place->line_from && (text[start] == ' ' || text[start] == '\t'))
        start++;
    unsigned room = width - 2 * DOTS, first = room / 3 < BEFORE_MIN ? room / 3 : BEFORE_MIN;
    struct window window = {.text = text, .secret_from = place->line_from};
    window.secret_until = place->line_until < end ? place->line_until : end;
    room -= first;
    size_t from = step_left(text + start, place->line_from - start, &first) + start;
    room += first;
    window.until = step_right(text, place->line_from, end, &room);
    window.from = step_left(text + start, from - start, &room) + start;
    if (window.secret_until > window.until)
        window.secret_until = window.until;
    window.is_cut_before = window.from > start;
    window.is_cut_behind = window.until < end || line_end;
    return window;
}

static void put_repeated(struct weir__writer *writer, char c, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        weir__write_bytes(writer, &c, 1);
}

static unsigned cells_of(const char *text, size_t length)
{
    struct weir__piece piece;
    unsigned cells = 0;
    for (size_t at = 0; at < length; at += piece.used) {
        weir__piece(&piece, text + at, length - at);
        cells += piece.cells;
    }
    return cells;
}

static void put_line(struct weir__writer *writer, const struct weir__found_place *place)
{
    if (place->line_length == 0)
        return;
    struct window w = window_of(place, width_of(writer));
    put_repeated(writer, ' ', INDENT);
    weir__write(writer, w.is_cut_before ? "..." : "");
    weir__write_pieces(writer, w.text + w.from, w.secret_from - w.from, NULL);
    weir__write(writer, style(writer, WEIR__STYLE_RED));
    weir__write_pieces(writer, w.text + w.secret_from, w.secret_until - w.secret_from, NULL);
    weir__write(writer, style(writer, WEIR__STYLE_RESET));
    weir__write_pieces(writer, w.text + w.secret_until, w.until - w.secret_until, NULL);
    weir__write(writer, w.is_cut_behind ? "...\n" : "\n");
    put_repeated(writer, ' ',
                 INDENT + (w.is_cut_before ? DOTS : 0) +
                     cells_of(w.text + w.from, w.secret_from - w.from));
    unsigned carets = cells_of(w.text + w.secret_from, w.secret_until - w.secret_from);
    weir__write(writer, style(writer, WEIR__STYLE_RED));
    put_repeated(writer, '^', carets ? carets : 1);
    weir__writef(writer, "%s\n", style(writer, WEIR__STYLE_RESET));
}

static void put_place_name(struct weir__writer *writer, const struct weir__found_place *place)
{
    weir__write_name(writer, place->path, NULL);
    weir__writef(writer, ":%" PRIu64 ":%" PRIu64, place->place.line, place->place.column);
}

/* Enough of it to be found by. */
static void put_short_commit(struct weir__writer *writer, const char *commit)
{
    char text[COMMIT_SHOWN + 1];
    if (!commit)
        return;
    weir__text_clip(text, sizeof(text), commit, COMMIT_SHOWN);
    weir__write(writer, " in commit ");
    weir__write_shown(writer, text);
}

static void put_also(struct weir__writer *writer, const struct weir__found *found)
{
    uint64_t shown = 0;
    if (found->places_total < 2)
        return;
    put_repeated(writer, ' ', INDENT);
    for (size_t i = 1; i < found->places_count && i <= ALSO_MAX; i++) {
        weir__write(writer, i == 1 ? "also " : ", ");
        put_place_name(writer, &found->places[i]);
        put_short_commit(writer, found->places[i].commit);
        shown++;
    }
    if (found->places_total - 1 > shown) {
        weir__write(writer, shown ? " and " : "also ");
        weir__write_count(writer, found->places_total - 1 - shown, "more place", "more places");
    }
    weir__write(writer, "\n");
}

/* The same bytes under other names, in the history. */
static void put_paths(struct weir__writer *writer, const struct weir__found_place *place)
{
    if (!place->paths)
        return;
    put_repeated(writer, ' ', INDENT);
    weir__write_paths(writer, place, "also at ", NULL);
    weir__write(writer, "\n");
}

static void put_details(struct weir__writer *writer, const struct weir__found *found)
{
    const struct weir__found_place *place = &found->places[0];
    put_repeated(writer, ' ', INDENT);
    weir__writef(writer, "%s%s", style(writer, WEIR__STYLE_DIM), place->fingerprint);
    weir__write_brought(writer, place, NULL);
    if (place->encodings[0]) {
        weir__write(writer, ", encoded: ");
        weir__write_shown(writer, place->encodings);
    }
    if (place->encodings[0] && weir__findings_is_shown(writer->findings)) {
        weir__write(writer, ", which is ");
        weir__write_pieces(writer, found->secret, found->secret_length, NULL);
    }
    if (place->is_in_name)
        weir__write(writer, ", in the name");
    if (found->is_checked)
        weir__write(writer, ", checked");
    weir__writef(writer, "%s\n", style(writer, WEIR__STYLE_RESET));
}

/* A text of several words, two blanks behind what ends at this cell, in as many lines as the
 * terminal needs for them. */
static void put_words(struct weir__writer *writer, const char *text, unsigned cell)
{
    unsigned columns = writer->options->columns ? width_of(writer) + INDENT : UINT_MAX;
    unsigned gap = 2;
    while (*text) {
        size_t length = strcspn(text, " ");
        unsigned cells = cells_of(text, length);
        if (cell > INDENT && (uint64_t)cell + gap + cells > columns) {
            weir__write(writer, "\n");
            put_repeated(writer, ' ', INDENT);
            cell = INDENT;
        } else if (cell > INDENT) {
            put_repeated(writer, ' ', gap);
            cell += gap;
        }
        weir__write_pieces(writer, text, length, NULL);
        cell += cells;
        gap = 1;
        text += length;
        text += strspn(text, " ");
    }
}

static void put_finding(struct weir__writer *writer, const struct weir__found *found)
{
    const struct weir__found_place *place = &found->places[0];
    char where[48];
    snprintf(where, sizeof(where), "%" PRIu64 ":%" PRIu64, place->place.line, place->place.column);
    weir__writef(writer, "  %-*s  %s", (int)INDENT - 4, where, style(writer, WEIR__STYLE_YELLOW));
    weir__write_shown(writer, found->rule->id);
    weir__write(writer, style(writer, WEIR__STYLE_RESET));
    if (found->rule->description)
        put_words(writer, found->rule->description,
                  INDENT + cells_of(found->rule->id, strlen(found->rule->id)));
    weir__write(writer, "\n");
    put_line(writer, place);
    put_paths(writer, place);
    put_also(writer, found);
    put_details(writer, found);
}

static void put_unscanned(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    for (size_t i = 0; i < summary->unscanned_count; i++) {
        weir__writef(writer, "%snot scanned:%s ", style(writer, WEIR__STYLE_YELLOW),
                     style(writer, WEIR__STYLE_RESET));
        weir__write_name(writer, summary->unscanned[i].path, NULL);
        weir__write(writer, ": ");
        weir__write_shown(writer, weir__write_what(writer, summary->unscanned[i].reason));
        weir__write(writer, "\n");
    }
}

/* Who scans a folder of many projects may think that all of them were. */
static void put_left(struct weir__writer *writer)
{
    uint64_t left = writer->summary->histories_left;
    if (left > 0)
        weir__writef(writer,
                     "histories left out: those of %" PRIu64
                     " %s, scanned as files; '--find-repos=DIR' scans them\n",
                     left, left == 1 ? "repository" : "repositories");
}

void weir__report_human(struct weir__writer *writer)
{
    const char *path = NULL;
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        const struct weir__found *found = weir__findings_at(writer->findings, i);
        if (!path || strcmp(path, found->places[0].path) != 0) {
            path = found->places[0].path;
            weir__write(writer, i == 0 ? "" : "\n");
            weir__write(writer, style(writer, WEIR__STYLE_BOLD));
            weir__write_name(writer, path, NULL);
            weir__writef(writer, "%s\n", style(writer, WEIR__STYLE_RESET));
        }
        put_finding(writer, found);
    }
    if (path)
        weir__write(writer, "\n");
    put_unscanned(writer);
    weir__write(writer, style(writer, WEIR__STYLE_BOLD));
    weir__write_found(writer);
    weir__writef(writer, "%s; ", style(writer, WEIR__STYLE_RESET));
    weir__write_scanned(writer);
    weir__write(writer, "\n");
    if (writer->summary->shallow > 0)
        weir__writef(writer, "shallow: %" PRIu64 " of the histories, which end early\n",
                     writer->summary->shallow);
    put_left(writer);
    if (weir__is_incomplete(writer)) {
        weir__write(writer, style(writer, WEIR__STYLE_RED));
        weir__write_missing(writer);
        weir__writef(writer, "%s\n", style(writer, WEIR__STYLE_RESET));
    }
}
