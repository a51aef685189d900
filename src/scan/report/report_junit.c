/* report_junit.c - JUnit's XML: a secret is a failed test, what could not be scanned an error.
 *
 * Without either there is one test that passed, since an empty report is an error to many readers.
 * The schema is that of Jenkins, and "file", which it does not know: GitLab and others make a link
 * of it.
 */
#include "report_parts.h"

#include <inttypes.h>
#include <string.h>

#include "banned.h"

static void put_piece(struct weir__writer *writer, const struct weir__piece *piece)
{
    const char *name = NULL;
    if (piece->length == 1)
        name = piece->text[0] == '&'    ? "&amp;"
               : piece->text[0] == '<'  ? "&lt;"
               : piece->text[0] == '>'  ? "&gt;"
               : piece->text[0] == '"'  ? "&quot;"
               : piece->text[0] == '\'' ? "&apos;"
                                        : NULL;
    if (name)
        weir__write(writer, name);
    else
        weir__write_bytes(writer, piece->text, piece->length);
}

static void put_bytes(struct weir__writer *writer, const char *text, size_t length)
{
    weir__write_pieces(writer, text, length, put_piece);
}

static void put_text(struct weir__writer *writer, const char *text)
{
    put_bytes(writer, text, strlen(text));
}

static void put_name(struct weir__writer *writer, const char *path)
{
    weir__write_name(writer, path, put_piece);
}

static void put_place(struct weir__writer *writer, const struct weir__found_place *place)
{
    put_name(writer, place->path);
    weir__writef(writer, ":%" PRIu64 ":%" PRIu64, place->place.line, place->place.column);
    weir__write_brought(writer, place, put_piece);
    weir__write_paths(writer, place, ", also at ", put_piece);
    weir__write(writer, "\n");
}

static void put_finding(struct weir__writer *writer, const struct weir__found *found)
{
    const struct weir__found_place *place = &found->places[0];
    weir__write(writer, "    <testcase classname=\"");
    put_name(writer, place->path);
    weir__write(writer, "\" name=\"");
    put_text(writer, found->rule->id);
    weir__writef(writer, " at %" PRIu64 ":%" PRIu64 "\" file=\"", place->place.line,
                 place->place.column);
    put_name(writer, place->path);
    weir__write(writer, "\">\n      <failure type=\"");
    put_text(writer, found->rule->id);
    weir__write(writer, "\" message=\"");
    put_text(writer, weir__rule_description(found->rule));
    weir__write(writer, ": ");
    put_bytes(writer, found->secret, found->secret_length);
    weir__write(writer, "\">");
    if (place->line_length > 0) {
        put_bytes(writer, place->line, place->line_length);
        weir__write(writer, "\n");
    }
    for (size_t i = 0; i < found->places_count; i++)
        put_place(writer, &found->places[i]);
    if (found->places_total > found->places_count)
        weir__writef(writer, "and %" PRIu64 " more\n", found->places_total - found->places_count);
    weir__writef(writer, "fingerprint %s</failure>\n    </testcase>\n", place->fingerprint);
}

static void put_error(struct weir__writer *writer, const char *path, const char *reason)
{
    weir__write(writer, "    <testcase classname=\"");
    put_name(writer, path);
    weir__write(writer, "\" name=\"scanned completely\" file=\"");
    put_name(writer, path);
    weir__write(writer, "\">\n      <error type=\"unscanned\" message=\"");
    put_text(writer, reason);
    weir__write(writer, "\"/>\n    </testcase>\n");
}

static void put_totals(struct weir__writer *writer, uint64_t tests, uint64_t errors)
{
    weir__writef(
        writer,
        " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64 "\" time=\"%.3f\">\n",
        tests, (uint64_t)weir__findings_count(writer->findings), errors, writer->summary->seconds);
}

void weir__report_junit(struct weir__writer *writer)
{
    const struct weir__summary *summary = writer->summary;
    size_t count = weir__findings_count(writer->findings);
    /* What is missing without being named gets a test of its own. */
    bool has_more =
        weir__is_incomplete(writer) &&
        (summary->failed + summary->truncated != summary->unscanned_count ||
         summary->unscanned_count == 0 || summary->is_interrupted || summary->unlisted > 0);
    uint64_t errors = summary->unscanned_count + (has_more ? 1 : 0);
    uint64_t tests = count + errors > 0 ? count + errors : 1;
    weir__write(writer,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"weir scan\"");
    put_totals(writer, tests, errors);
    weir__write(writer, "  <testsuite name=\"weir scan\"");
    put_totals(writer, tests, errors);
    for (size_t i = 0; i < count; i++)
        put_finding(writer, weir__findings_at(writer->findings, i));
    for (size_t i = 0; i < summary->unscanned_count; i++)
        put_error(writer, summary->unscanned[i].path, summary->unscanned[i].reason);
    if (has_more) {
        weir__write(writer, "    <testcase classname=\"weir scan\" name=\"scanned completely\">\n"
                            "      <error type=\"unscanned\" message=\"");
        weir__write_missing(writer);
        weir__write(writer, "\"/>\n    </testcase>\n");
    }
    if (count + errors == 0)
        weir__writef(writer, "    <testcase classname=\"weir scan\" name=\"%s\"/>\n",
                     weir__is_nothing_scanned(writer->summary) ? "nothing was scanned"
                                                               : "no secrets");
    weir__write(writer, "  </testsuite>\n</testsuites>\n");
}
