/* report_github.c - commands that GitHub shows as annotations beside the code.
 *
 * In a property '%', line ends, ':' and ',' are written as %25, %0A, %0D, %3A and %2C, in the text
 * behind "::" only the first three; other controls are shown as \x1b. So nothing that was scanned
 * can begin a line, and thereby a command, of its own.
 */
#include "report_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "banned.h"

#define PLACES_SHOWN 10u

static void put_escaped(struct weir__writer *writer, const char *text, size_t length,
                        const char *special, bool is_escaped)
{
    struct weir__piece piece;
    for (size_t at = 0; at < length; at += piece.used) {
        weir__name_piece(&piece, text + at, length - at, is_escaped);
        if (piece.used == 1 && text[at] != '\0' && strchr(special, text[at]))
            weir__writef(writer, "%%%02X", (unsigned)(unsigned char)text[at]);
        else
            weir__write_bytes(writer, piece.text, piece.length);
    }
}

static void put_property(struct weir__writer *writer, const char *text)
{
    put_escaped(writer, text, strlen(text), "%\r\n:,", false);
}

static void put_name(struct weir__writer *writer, const char *path)
{
    put_escaped(writer, path, strlen(path), "%\r\n:,", weir__name_is_escaped(path));
}

static void put_data(struct weir__writer *writer, const char *text, size_t length)
{
    put_escaped(writer, text, length, "%\r\n", false);
}

/* Line ends are escaped by then. */
static void put_data_piece(struct weir__writer *writer, const struct weir__piece *piece)
{
    weir__write_bytes(writer, piece->text, piece->length);
    if (piece->text[0] == '%')
        weir__write(writer, "25");
}

/* The places behind the first: the first few by name, since one that is mended alone helps nobody.
 */
static void put_more(struct weir__writer *writer, const struct weir__found *found)
{
    uint64_t shown = 1;
    for (; shown < found->places_count && shown <= PLACES_SHOWN; shown++) {
        const struct weir__found_place *place = &found->places[shown];
        weir__write(writer, shown == 1 ? ", and in " : ", ");
        weir__write_name(writer, place->path, put_data_piece);
        if (place->place.line > 0)
            weir__writef(writer, ":%" PRIu64, place->place.line);
    }
    if (found->places_total > shown) {
        weir__write(writer, shown == 1 ? ", and in " : " and ");
        weir__write_count(writer, found->places_total - shown, "more place", "more places");
    }
}

static void put_finding(struct weir__writer *writer, const struct weir__found *found)
{
    const struct weir__found_place *place = &found->places[0];
    uint64_t column, end_column;
    weir__place_columns(place, &column, &end_column);
    weir__write(writer, "::error file=");
    put_name(writer, place->path);
    if (place->place.line > 0)
        weir__writef(writer, ",line=%" PRIu64 ",endLine=%" PRIu64, place->place.line,
                     place->place.end_line);
    if (place->place.line > 0 && column > 0) {
        weir__writef(writer, ",col=%" PRIu64, column);
        if (place->place.end_line == place->place.line && end_column > column)
            weir__writef(writer, ",endColumn=%" PRIu64, end_column);
    }
    const char *description = weir__rule_description(found->rule);
    weir__write(writer, ",title=");
    put_property(writer, found->rule->id);
    weir__write(writer, "::");
    put_data(writer, description, strlen(description));
    weir__write(writer, ": ");
    put_data(writer, found->secret, found->secret_length);
    weir__write_brought(writer, place, put_data_piece);
    weir__write_paths(writer, place, ", also at ", put_data_piece);
    put_more(writer, found);
    weir__writef(writer, " (fingerprint %s)\n", place->fingerprint);
}

void weir__report_github(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++)
        put_finding(writer, weir__findings_at(writer->findings, i));
    for (size_t i = 0; i < summary->unscanned_count; i++) {
        weir__write(writer, "::warning file=");
        put_name(writer, summary->unscanned[i].path);
        weir__write(writer, ",title=not scanned::");
        put_data(writer, summary->unscanned[i].reason, strlen(summary->unscanned[i].reason));
        weir__write(writer, "\n");
    }
    if (weir__is_incomplete(writer)) {
        weir__write(writer, "::warning title=weir scan::");
        weir__write_missing(writer);
        weir__write(writer, "\n");
    }
}
