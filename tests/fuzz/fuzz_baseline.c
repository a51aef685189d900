/* fuzz_baseline.c - any bytes as a baseline and as an ignore file, and as what is then reported.
 *
 * The input is a byte of choices and a text. What must hold whatever it is: the text is accepted or
 * refused, with a reason of one line or the number of a line; a finding whose path, line and secret
 * are made of the text can be written in every format; its secret is not in its record; and our own
 * reports of it are baselines that know it.
 */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "report.h"
#include "require.h"

#include "banned.h"

#define TEXT_MAX         16384
#define CHOICE_IGNORE    1u
#define CHOICE_SHOW      2u
#define CHOICE_LENGTH    2 /* the bits above it are a length */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "baseline", #condition)

static char any_expression[] = ".";
static char rule_id[64];
static struct weir__rule rule = {.id = rule_id,
                                 .description = (char[]){"found"},
                                 .provider = (char[]){""},
                                 .regex = any_expression};

static struct weir__findings *new_findings(bool is_shown)
{
    struct weir__findings *findings = NULL;
    HOLDS(weir__findings_new(&findings,
                             &(struct weir__findings_options){.show_secrets = is_shown}) == 0);
    return findings;
}

static void read_text(struct weir__findings *findings, unsigned choices, const char *text,
                      size_t length)
{
    char reason[128] = "";
    unsigned line = 0;
    int error;
    if (choices & CHOICE_IGNORE) {
        error = weir__findings_ignore(findings, text, length, &line);
        HOLDS((error == 0) == (line == 0));
    } else {
        error = weir__findings_baseline_text(findings, text, length, reason, sizeof(reason));
        HOLDS((error == 0) == (reason[0] == '\0'));
        HOLDS(!strchr(reason, '\n'));
    }
    HOLDS(error == 0 || error == -WEIR_E_INVALID);
}

struct output {
    char *bytes;
    size_t length;
};

static int collect(void *arg, const char *bytes, size_t length)
{
    struct output *output = arg;
    char *more = realloc(output->bytes, output->length + length);
    HOLDS(more && length > 0);
    memcpy(more + output->length, bytes, length);
    output->bytes = more;
    output->length += length;
    return 0;
}

/* The finding of all the text, whose secret is a part of it. */
static struct weir__finding finding_in(const char *text, size_t length, size_t secret_length)
{
    struct weir__finding finding = {.rule = &rule, .line = text, .match = text};
    size_t from = (length - secret_length) / 2;
    finding.line_length = finding.match_length = length;
    finding.secret = text + from;
    finding.secret_length = secret_length;
    finding.line_from = from;
    finding.line_until = from + secret_length;
    finding.place =
        (struct weir__place){from, secret_length, 1, from + 1, 1, from + secret_length + 1};
    return finding;
}

static void check_hidden(const struct weir__found *found, const struct weir__finding *finding)
{
    const struct weir__found_place *place = &found->places[0];
    const char *secret = finding->secret;
    size_t length = finding->secret_length;
    bool is_telling = false;
    for (size_t i = 4; i + 4 < length; i++)
        is_telling |= secret[i] != '\n' && secret[i] != '\r';
    /* Asterisks of the secret's own would look like hidden ones, ends of lines stay. */
    if (!is_telling || memchr(secret, '*', length))
        return;
    HOLDS(!memmem(place->line, place->line_length, secret, length));
    HOLDS(!memmem(found->match, found->match_length, secret, length));
    HOLDS(!memmem(found->secret, found->secret_length, secret, length));
}

static void check_reports(const struct weir__findings *findings, const char *path,
                          const struct weir__finding *finding)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        struct output output = {0};
        struct weir__report_options options = {.format = (enum weir__report_format)format,
                                               .columns = 60};
        HOLDS(weir__report(findings, &(struct weir__summary){.version = "1", .is_complete = true},
                           &options, &(struct weir__report_out){collect, &output}) == 0);
        if (format == WEIR__REPORT_JSON || format == WEIR__REPORT_JSONL ||
            format == WEIR__REPORT_SARIF) {
            char reason[128];
            struct weir__findings *again = new_findings(false);
            HOLDS(weir__findings_baseline_text(again, output.bytes, output.length, reason,
                                               sizeof(reason)) == 0);
            HOLDS(weir__findings_add(again, path, NULL, finding) == WEIR__ADDED_IGNORED);
            weir__findings_free(again);
        }
        free(output.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > TEXT_MAX)
        return 0;
    unsigned choices = data[0];
    size_t length = size - 1, secret_length = choices >> CHOICE_LENGTH;
    char *text = malloc(length + 1);
    HOLDS(text != NULL);
    memcpy(text, data + 1, length);
    text[length] = '\0';
    struct weir__findings *findings = new_findings(choices & CHOICE_SHOW);
    read_text(findings, choices, text, length);
    size_t id_length = strnlen(text, sizeof(rule_id) - 1);
    memcpy(rule_id, text, id_length);
    rule_id[id_length] = '\0';
    secret_length = secret_length < length ? secret_length : length;
    struct weir__finding finding = finding_in(text, length, secret_length);
    int added = weir__findings_add(findings, text, NULL, &finding);
    HOLDS(added == WEIR__ADDED_SECRET || added == WEIR__ADDED_IGNORED);
    weir__findings_finish(findings);
    if (added == WEIR__ADDED_SECRET) {
        if (!(choices & CHOICE_SHOW))
            check_hidden(weir__findings_at(findings, 0), &finding);
        check_reports(findings, text, &finding);
    }
    weir__findings_free(findings);
    free(text);
    return 0;
}
