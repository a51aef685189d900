/* report_html.c - one file to be read by people, without references to others.
 *
 * Everything is in the page itself and visible without JavaScript; a few lines of it add a filter
 * and an order. What was scanned appears as text only, never in a script or a style.
 */
#include "report_parts.h"

#include <inttypes.h>
#include <string.h>

#include "report_html_page.h"
#include "values.h"

#include "banned.h"

static void put_plain(struct weir__writer *writer, const char *text, size_t length)
{
    const char *name = NULL;
    if (length == 1)
        name = text[0] == '&'    ? "&amp;"
               : text[0] == '<'  ? "&lt;"
               : text[0] == '>'  ? "&gt;"
               : text[0] == '"'  ? "&quot;"
               : text[0] == '\'' ? "&#39;"
                                 : NULL;
    if (name)
        weir__write(writer, name);
    else
        weir__write_bytes(writer, text, length);
}

static void put_piece(struct weir__writer *writer, const struct weir__piece *piece)
{
    put_plain(writer, piece->text, piece->length);
}

/* In a <pre>, lines end where they end. */
static void put_code_piece(struct weir__writer *writer, const struct weir__piece *piece)
{
    if (piece->is_escaped && strcmp(piece->text, "\\n") == 0)
        weir__write(writer, "\n");
    else if (piece->is_escaped && strcmp(piece->text, "\\t") == 0)
        weir__write(writer, "    ");
    else
        put_piece(writer, piece);
}

static void put_text(struct weir__writer *writer, const char *text)
{
    weir__write_pieces(writer, text, strlen(text), put_piece);
}

static void put_name(struct weir__writer *writer, const char *path)
{
    weir__write_name(writer, path, put_piece);
}

static void put_code(struct weir__writer *writer, const char *text, size_t length)
{
    weir__write_pieces(writer, text, length, put_code_piece);
}

/* The head. */

static void put_title(struct weir__writer *writer)
{
    weir__write(writer, "weir scan: ");
    weir__write_found(writer);
}

static void put_head(struct weir__writer *writer)
{
    weir__write(writer,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src '" WEIR__PAGE_STYLE_HASH "'; script-src '" WEIR__PAGE_SCRIPT_HASH
                "'; base-uri 'none'; form-action 'none'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    put_title(writer);
    weir__write(writer, "</title>\n<style>");
    weir__write(writer, weir__page_style);
    weir__write(writer, "</style>\n</head>\n<body>\n<header>\n<h1>");
    weir__write_found(writer);
    weir__write(writer, "</h1>\n<p class=\"soft\">");
    weir__write_scanned(writer);
    weir__write(writer, "</p>\n</header>\n<main>\n");
}

static void put_tile(struct weir__writer *writer, uint64_t value, const char *one, const char *many,
                     bool is_hot)
{
    weir__writef(writer, "<li%s><b>%" PRIu64 "</b> %s</li>\n",
                 is_hot && value > 0 ? " class=\"hot\"" : "", value, value == 1 ? one : many);
}

static void put_tiles(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    const struct weir__findings *findings = writer->findings;
    char size[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(summary->bytes, size);
    weir__write(writer, "<ul class=\"tiles\" aria-label=\"Summary\">\n");
    put_tile(writer, weir__findings_count(findings), "secret", "secrets", true);
    put_tile(writer, weir__places_total(findings), "place", "places", false);
    put_tile(writer, summary->files, "file scanned", "files scanned", false);
    weir__writef(writer, "<li><b>%s</b> scanned</li>\n", size);
    if (summary->ignored > 0)
        put_tile(writer, summary->ignored, "known before", "known before", false);
    put_tile(writer, summary->failed + summary->truncated, "not or partly scanned",
             "not or partly scanned", true);
    weir__write(writer, "</ul>\n");
    if (weir__is_incomplete(writer)) {
        weir__write(writer, "<p class=\"note\">");
        weir__write_missing(writer);
        weir__write(writer, "</p>\n");
    }
}

/* Findings. */

static void put_line(struct weir__writer *writer, const struct weir__found_place *place)
{
    size_t start = 0;
    if (place->line_length == 0)
        return;
    while (start < place->line_from && memchr(" \t", place->line[start], 2))
        start++;
    weir__write(writer, "<pre tabindex=\"0\"><code>");
    put_code(writer, place->line + start, place->line_from - start);
    weir__write(writer, "<mark>");
    put_code(writer, place->line + place->line_from, place->line_until - place->line_from);
    weir__write(writer, "</mark>");
    put_code(writer, place->line + place->line_until, place->line_length - place->line_until);
    weir__write(writer, "</code></pre>\n");
}

static void put_places(struct weir__writer *writer, const struct weir__found *found)
{
    if (found->places_total < 2)
        return;
    weir__write(writer, "<details><summary>");
    weir__write_count(writer, found->places_total, "place", "places");
    weir__write(writer, "</summary>\n<ol>\n");
    for (size_t i = 0; i < found->places_count; i++) {
        const struct weir__found_place *place = &found->places[i];
        weir__write(writer, "<li>");
        put_name(writer, place->path);
        weir__writef(writer, ":%" PRIu64 ":%" PRIu64, place->place.line, place->place.column);
        weir__write_brought(writer, place, put_piece);
        weir__write_paths(writer, place, ", also at ", put_piece);
        weir__write(writer, "</li>\n");
    }
    weir__write(writer, "</ol>\n");
    if (found->places_total > found->places_count) {
        weir__write(writer, "<p>and ");
        weir__write_count(writer, found->places_total - found->places_count, "more place",
                          "more places");
        weir__write(writer, "</p>\n");
    }
    weir__write(writer, "</details>\n");
}

static void put_finding(struct weir__writer *writer, const struct weir__found *found)
{
    const struct weir__found_place *place = &found->places[0];
    weir__write(writer, "<article>\n<h3><span class=\"rule\">");
    put_text(writer, found->rule->id);
    weir__write(writer, "</span>");
    if (found->rule->description && found->rule->description[0]) {
        weir__write(writer, " ");
        put_text(writer, found->rule->description);
    }
    weir__writef(writer, "</h3>\n<p class=\"where\">line %" PRIu64 ", column %" PRIu64,
                 place->place.line, place->place.column);
    weir__write_brought(writer, place, put_piece);
    weir__write_paths(writer, place, ", also at ", put_piece);
    if (place->encodings[0]) {
        weir__write(writer, ", encoded: ");
        put_text(writer, place->encodings);
    }
    if (found->is_checked)
        weir__write(writer, ", structure checked");
    weir__write(writer, "</p>\n");
    put_line(writer, place);
    if (place->encodings[0] && weir__findings_is_shown(writer->findings)) {
        weir__write(writer, "<p class=\"where\">decoded</p>\n<pre tabindex=\"0\"><code><mark>");
        put_code(writer, found->secret, found->secret_length);
        weir__write(writer, "</mark></code></pre>\n");
    }
    put_places(writer, found);
    weir__writef(writer, "<p class=\"where\">fingerprint <code>%s</code></p>\n</article>\n",
                 place->fingerprint);
}

static void put_findings(struct weir__writer *writer)
{
    const char *path = NULL;
    weir__write(writer,
                "<form id=\"tools\" role=\"search\" hidden>\n"
                "<label>Filter <input id=\"filter\" type=\"search\" autocomplete=\"off\" "
                "placeholder=\"rule, path or text\"></label>\n"
                "<label>Order of files <select id=\"order\"><option value=\"path\">by path</option>"
                "<option value=\"count\">most secrets first</option></select></label>\n"
                "<output id=\"shown\" class=\"soft\"></output>\n</form>\n<div id=\"files\">\n");
    for (size_t i = 0; i < weir__findings_count(writer->findings); i++) {
        const struct weir__found *found = weir__findings_at(writer->findings, i);
        if (!path || strcmp(path, found->places[0].path) != 0) {
            weir__write(writer, path ? "</section>\n<section>\n<h2>" : "<section>\n<h2>");
            path = found->places[0].path;
            put_name(writer, path);
            weir__write(writer, "</h2>\n");
        }
        put_finding(writer, found);
    }
    weir__write(writer, path ? "</section>\n</div>\n" : "</div>\n");
}

static void put_unscanned(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    if (summary->unscanned_count == 0)
        return;
    weir__write(writer, "<section>\n<h2>Not scanned, or only in part</h2>\n<ul>\n");
    for (size_t i = 0; i < summary->unscanned_count; i++) {
        weir__write(writer, "<li>");
        put_name(writer, summary->unscanned[i].path);
        weir__write(writer, ": ");
        put_text(writer, weir__write_what(writer, summary->unscanned[i].reason));
        weir__write(writer, "</li>\n");
    }
    weir__write(writer, "</ul>\n</section>\n");
}

static void put_foot(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    weir__write(writer, "</main>\n<footer>\n<p>weir ");
    put_text(writer, summary->version ? summary->version : "");
    weir__write(writer, ", ");
    weir__write_count(writer, summary->rules, "rule", "rules");
    weir__writef(writer,
                 "; skipped: %" PRIu64 " special files, %" PRIu64 " symbolic links, %" PRIu64
                 " allowed paths</p>\n",
                 summary->special, summary->symlinks, summary->allowed_paths);
    for (const char *const *config = summary->configs; config && *config; config++) {
        weir__write(writer, "<p>used ");
        put_text(writer, *config);
        weir__write(writer, "</p>\n");
    }
    weir__write(writer, "</footer>\n");
}

void weir__report_html(struct weir__writer *writer)
{
    put_head(writer);
    put_tiles(writer);
    put_findings(writer);
    put_unscanned(writer);
    put_foot(writer);
    weir__write(writer, "<script>");
    weir__write(writer, weir__page_script);
    weir__write(writer, "</script>\n</body>\n</html>\n");
}
