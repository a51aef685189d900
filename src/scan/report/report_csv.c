/* report_csv.c - RFC 4180: one row for each place.
 *
 * Every text is quoted. A text that a spreadsheet would take for a formula gets an apostrophe in
 * front, and controls are written as \n, \x1b: each row is one line.
 */
#include "paths.h"
#include "report_parts.h"

#include <inttypes.h>
#include <string.h>

#include "banned.h"

static void put_piece(struct weir__writer *writer, const struct weir__piece *piece)
{
    if (piece->text[0] == '"')
        weir__write(writer, "\"");
    weir__write_bytes(writer, piece->text, piece->length);
}

/* A spreadsheet takes the wide forms of these marks for them. */
static bool begins_formula(const char *text, size_t length)
{
    static const char *const marks[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (length >= strlen(marks[i]) && memcmp(text, marks[i], strlen(marks[i])) == 0)
            return true;
    return false;
}

static void put_bytes(struct weir__writer *writer, const char *text, size_t length)
{
    weir__write(writer, ",\"");
    if (begins_formula(text, length))
        weir__write(writer, "'");
    weir__write_pieces(writer, text, length, put_piece);
    weir__write(writer, "\"");
}

static void put_text(struct weir__writer *writer, const char *text)
{
    put_bytes(writer, text ? text : "", text ? strlen(text) : 0);
}

/* An apostrophe at its beginning is one of its own only behind another. */
static void put_name_open(struct weir__writer *writer, const char *path)
{
    weir__write(writer, ",\"");
    if (path[0] == '\'' || begins_formula(path, strlen(path)))
        weir__write(writer, "'");
}

static void put_name(struct weir__writer *writer, const char *path)
{
    put_name_open(writer, path);
    weir__write_name(writer, path, put_piece);
    weir__write(writer, "\"");
}

/* "b | c". */
static void put_paths(struct weir__writer *writer, const struct weir__found_place *place)
{
    if (!place->paths) {
        put_text(writer, NULL);
        return;
    }
    for (const char *path = place->paths; *path; path = weir__paths_next(path)) {
        if (path == place->paths)
            put_name_open(writer, path);
        else
            weir__write(writer, " | ");
        weir__write_name(writer, path, put_piece);
    }
    weir__write(writer, "\"");
}

static void put_row(struct weir__writer *writer, const struct weir__found *found,
                    const struct weir__found_place *place)
{
    weir__write(writer, place->fingerprint);
    put_text(writer, found->rule->id);
    put_text(writer, found->rule->description);
    put_name(writer, place->path);
    weir__writef(writer, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
                 place->place.line, place->place.column, place->place.end_line,
                 place->place.end_column, place->place.offset, place->place.length);
    put_text(writer, place->commit);
    put_bytes(writer, found->secret, found->secret_length);
    put_bytes(writer, place->line, place->line_length);
    put_text(writer, place->encodings);
    weir__writef(writer, ",%.3f,%s,%" PRIu64, found->entropy, found->is_checked ? "true" : "false",
                 found->places_total);
    put_text(writer, place->author);
    put_text(writer, place->mail);
    put_text(writer, place->date);
    put_paths(writer, place);
    put_text(writer, place->by);
    weir__write(writer, "\r\n");
}

void weir__report_csv(struct weir__writer *writer)
{
    weir__write(
        writer,
        "fingerprint,rule,description,path,line,column,end_line,end_column,offset,length,"
        "commit,secret,text,encodings,entropy,checked,places,author,email,date,other_paths,by\r\n");
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        const struct weir__found *found = weir__findings_at(writer->findings, i);
        for (size_t k = 0; k < found->places_count; k++)
            put_row(writer, found, &found->places[k]);
    }
}
