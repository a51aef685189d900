/* report_parts.h - what the writers of the formats share.
 *
 * Whatever comes from the things that were scanned is hostile: paths, lines, secrets, and the texts
 * of rules that came with them. A writer passes such bytes on only through weir__piece() or through
 * the JSON writer, and then through the escapes of its format.
 *
 * Ownership: a writer owns its buffer and borrows the rest for the call.
 */
#ifndef WEIR_SCAN_REPORT_REPORT_PARTS_H
#define WEIR_SCAN_REPORT_REPORT_PARTS_H

#include "json.h"
#include "report.h"

#define WEIR__REPORT_PIECE (32u << 10) /* what is handed on at once, or a little more */

bool weir__findings_is_shown(const struct weir__findings *findings);
bool weir__findings_is_finished(const struct weir__findings *findings);

/* Collects a report and hands it on in pieces. The first error stays, and ends all writing. */
struct weir__writer {
    const struct weir__findings *findings;
    const struct weir__summary *summary;
    const struct weir__report_options *options;
    const struct weir__report_out *_out;
    struct weir__buffer buffer; /* the JSON writer appends here by itself */
    int _error;
};

void weir__write_bytes(struct weir__writer *writer, const char *bytes, size_t length);
void weir__write(struct weir__writer *writer, const char *text);
__attribute__((format(printf, 2, 3))) void weir__writef(struct weir__writer *writer,
                                                        const char *format, ...);
/* Hands on what there is if it is much. Between values. */
void weir__write_step(struct weir__writer *writer);
void weir__write_note(struct weir__writer *writer, int error);

/* One character as it may be shown: controls, bytes that are not UTF-8 and characters that turn the
 * direction of writing around or have no width become \n, \x1b, \u{202e}. */
#define WEIR__PIECE_SIZE 12

struct weir__piece {
    char text[WEIR__PIECE_SIZE];
    size_t length;  /* of text */
    size_t used;    /* bytes of the source */
    unsigned cells; /* on a terminal */
    bool is_escaped;
};

void weir__piece(struct weir__piece *ret_piece, const char *text, size_t left);

/* All characters, each through weir__piece() and then as the function likes it; NULL: as it is. */
typedef void weir__put_piece(struct weir__writer *writer, const struct weir__piece *piece);
void weir__write_pieces(struct weir__writer *writer, const char *text, size_t length,
                        weir__put_piece *put);
void weir__write_shown(struct weir__writer *writer, const char *text);
/* Of a reason for people what was not done, if it needs an object ("cannot read all of"): with
 * "it". Returns what is left to be written. */
const char *weir__write_what(struct weir__writer *writer, const char *reason);

/* The same for the name of a file, of which the reader can get back each byte: where something is
 * escaped, or looks as if it were, a backslash is \\. */
bool weir__name_is_escaped(const char *path);
void weir__name_piece(struct weir__piece *ret_piece, const char *path, size_t left,
                      bool is_escaped);
void weir__write_name(struct weir__writer *writer, const char *path, weir__put_piece *put);

/* A name as our JSON and that of gitleaks have it: as it is, unless it is not UTF-8 or has
 * something like \xff in it; then bytes that are not UTF-8 are \xff and backslashes \\, so that two
 * names never look the same. The path itself, or what it is in the buffer; NULL: no memory. */
#define WEIR__NAME_MAX (8u << 20)
const char *weir__name_written(const char *path, struct weir__buffer *buffer);
bool weir__name_is_text(const char *path);

/* ", commit C by A, DATE, stash", as far as it is known, or nothing; and of its other paths the
 * first ones, " b, c and 4 more paths", if there are any (false: there are none). */
void weir__write_brought(struct weir__writer *writer, const struct weir__found_place *place,
                         weir__put_piece *put);
bool weir__write_paths(struct weir__writer *writer, const struct weir__found_place *place,
                       const char *before, weir__put_piece *put);

/* "1 secret", "2 secrets". */
void weir__write_count(struct weir__writer *writer, uint64_t count, const char *one,
                       const char *many);

/* Columns of the place in characters, where the line tells; else in bytes. */
void weir__place_columns(const struct weir__found_place *place, uint64_t *ret_column,
                         uint64_t *ret_end_column);
uint64_t weir__places_total(const struct weir__findings *findings);
/* "base64, hex" as an array. */
void weir__json_encodings(struct weir__json *json, const char *encodings);
void weir__json_strings(struct weir__json *json, const struct weir__strings *strings);
const char *weir__rule_description(const struct weir__rule *rule);

/* One sentence each, without an end of line: what was found, what was scanned, and what not (false
 * when nothing is missing). */
void weir__write_found(struct weir__writer *writer);
void weir__write_scanned(struct weir__writer *writer);
bool weir__write_missing(struct weir__writer *writer);
bool weir__is_incomplete(const struct weir__writer *writer);
/* Then there is nothing that could be said about secrets. */
bool weir__is_nothing_scanned(const struct weir__summary *summary);

void weir__report_human(struct weir__writer *writer);
void weir__report_json(struct weir__writer *writer);
/* Appends a line to the buffer of the writer, and nothing else. False: the buffer has a good piece.
 */
bool weir__report_put_found(void *writer, const struct weir__fresh *fresh);
void weir__report_jsonl(struct weir__writer *writer);
void weir__report_sarif(struct weir__writer *writer);
void weir__report_csv(struct weir__writer *writer);
void weir__report_junit(struct weir__writer *writer);
void weir__report_github(struct weir__writer *writer);
void weir__report_gitleaks(struct weir__writer *writer);
void weir__report_html(struct weir__writer *writer);

#endif
