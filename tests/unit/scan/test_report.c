/* test_report.c - every format against a file that was read by a person, and against hostile bytes.
 *
 * With WEIR_GOLDEN_WRITE set the files in golden/ are written instead of compared: look at the
 * difference before you keep it.
 */
#include "report.h"

#include "found_help.h"
#include "report_html_page.h"
#include "report_parts.h"
#include "tap.h"
#include "text_help.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#define TOKEN "tok_0123456789abcdefghijklmnopqrWXYZ"
#define OTHER "key-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"

/* Everything at once that some format or terminal obeys. */
#define NASTY                                                                                      \
    "a\n::error::b\r\n\"',;:%0A=<!--</script><script>alert(1)</script>]]>&amp;\x1b[31m\x07\x7f\\"  \
    "[l](http://x){0}\xff\xc0\xaf\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xef\xbf\xbf\t~"

static char any_expression[] = ".";
static char *token_tags[] = {(char[]){"cloud"}, (char[]){"secret"}, (char[]){"cloud"}};
static char *token_keywords[] = {(char[]){"tok_"}}, *other_keywords[] = {(char[]){"key-"}};
static struct weir__rule token_rule = {.id = (char[]){"some-token"},
                                       .description = (char[]){"A token of Some Provider"},
                                       .provider = (char[]){"Some"},
                                       .regex = any_expression,
                                       .keywords = {token_keywords, 1},
                                       .tags = {token_tags, 3}};
static struct weir__rule other_rule = {.id = (char[]){"other-key"},
                                       .description = (char[]){""},
                                       .provider = (char[]){""},
                                       .keywords = {other_keywords, 1},
                                       .regex = any_expression};
static char *nasty_tags[] = {(char[]){NASTY}};
static struct weir__rule nasty_rule = {.id = (char[]){NASTY},
                                       .description = (char[]){NASTY},
                                       .provider = (char[]){NASTY},
                                       .regex = any_expression,
                                       .keywords = {other_keywords, 1},
                                       .tags = {nasty_tags, 1}};

static const struct weir__unscanned missing[] = {
    {(char[]){"disk.img"}, (char[]){"cannot read: Permission denied"}, false},
    {(char[]){"a.zip!b/c.7z"}, (char[]){"encrypted"}, true},
};
static const char *const configs[] = {"rules/weir.toml", ".weirignore", NULL};
static const struct weir__summary clean_summary = {.files = 12,
                                                   .bytes = 34567,
                                                   .configs = configs,
                                                   .engine = "0123456789abcdef0123456789abcdef",
                                                   .version = "1.2.3",
                                                   .rules = 400,
                                                   .seconds = 0.25,
                                                   .is_complete = true};
static const struct weir__summary full_summary = {.files = 12,
                                                  .bytes = 34567,
                                                  .archives = 1,
                                                  .members = 3,
                                                  .special = 1,
                                                  .symlinks = 2,
                                                  .allowed_paths = 4,
                                                  .failed = 1,
                                                  .truncated = 1,
                                                  .unscanned = missing,
                                                  .unscanned_count = 2,
                                                  .allowed = 5,
                                                  .ignored = 6,
                                                  .configs = configs,
                                                  .engine = "0123456789abcdef0123456789abcdef",
                                                  .version = "1.2.3",
                                                  .rules = 400,
                                                  .seconds = 1.5};

static struct weir__findings *findings;

static void start(bool show_secrets)
{
    weir__findings_free(findings);
    findings = NULL;
    CHECK_EQ(weir__findings_new(&findings,
                                &(struct weir__findings_options){.show_secrets = show_secrets}),
             0);
}

static void add(const char *path, const char *commit, const struct weir__rule *rule,
                const char *file, const char *secret)
{
    struct weir__finding finding = found_in(rule, file, secret);
    CHECK(weir__findings_add(findings, path, commit, &finding) >= 0);
}

static void report_at(enum weir__report_format format, const struct weir__summary *summary,
                      bool has_colour, unsigned columns)
{
    struct weir__report_options options = {format, has_colour, columns};
    text_clear();
    weir__findings_finish(findings);
    CHECK_EQ(weir__report(findings, summary, &options, &(struct weir__report_out){collect, NULL}),
             0);
}

static void report(enum weir__report_format format, const struct weir__summary *summary)
{
    report_at(format, summary, false, 100);
}

static void end(void)
{
    weir__findings_free(findings);
    findings = NULL;
}

/* Golden files. */

static void check_golden(const char *name)
{
    static char wanted[sizeof(text)];
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
    if (getenv("WEIR_GOLDEN_WRITE")) {
        FILE *out = fopen(path, "wb");
        CHECK(out && fwrite(text, 1, text_length, out) == text_length && fclose(out) == 0);
        return;
    }
    FILE *in = fopen(path, "rb");
    if (!in)
        tap_fail(__FILE__, __LINE__, "cannot open '%s'", path);
    size_t length = fread(wanted, 1, sizeof(wanted), in);
    fclose(in);
    size_t line = 1, at = 0;
    while (at < length && at < text_length && wanted[at] == text[at])
        line += wanted[at++] == '\n';
    if (at < length || at < text_length)
        tap_fail(__FILE__, __LINE__, "%s differs in line %zu: '%.60s', not '%.60s'", name, line,
                 text + at, wanted + at);
}

/* Several files, places, encodings and commits, a wide line, and lines with controls. */
static void add_usual(void)
{
    static const enum weir__encoding encodings[] = {WEIR__BASE64, WEIR__PERCENT};
    static char wide[800];
    struct weir__finding encoded =
        found_in(&token_rule, "data: dG9rXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJTVFVW;",
                 "dG9rXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJTVFVW");
    encoded.secret = encoded.match = "tok_0123456789abcdefghijklmnopqrSTUV";
    encoded.secret_length = encoded.match_length = 36;
    encoded.encodings = encodings;
    encoded.encodings_count = 2;
    encoded.is_checked = true;
    snprintf(wide, sizeof(wide), "%0300d{\"k\":\"" OTHER "\"}%0300d", 1, 2);
    static const char config[] = "import os\n\n\ttoken = \"" TOKEN "\"  # t\xc3\xa4st\n"
                                 "\tk\x1b[1m = '" OTHER "'";
    add("src/config.py", NULL, &token_rule, config, TOKEN);
    add("src/config.py", NULL, &other_rule, config, OTHER);
    for (int i = 0; i < 6; i++) {
        char path[32];
        snprintf(path, sizeof(path), "tests/t%d.py", i);
        add(path, NULL, &token_rule, "T = '" TOKEN "'", TOKEN);
    }
    CHECK(weir__findings_add(findings, "data/b.txt", "00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee",
                             &encoded) >= 0);
    add("wide.min.js", NULL, &nasty_rule, wide, OTHER);
    add("a.zip!deep/f.txt", NULL, &other_rule,
        "\xe5\xaf\x86\xe9\x92\xa5 \xc3\xbc = '" TOKEN "' '" TOKEN "'", TOKEN);
}

TEST(golden_reports)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        char name[64];
        start(false);
        add_usual();
        report((enum weir__report_format)format, &full_summary);
        CHECK(!strstr(text, TOKEN) && !strstr(text, OTHER) && !strstr(text, "dG9rXzAxM"));
        snprintf(name, sizeof(name), "findings.%s", weir__report_name((unsigned)format));
        check_golden(name);
    }
    end();
}

TEST(golden_reports_without_findings)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        char name[64];
        start(false);
        report((enum weir__report_format)format, &clean_summary);
        snprintf(name, sizeof(name), "clean.%s", weir__report_name((unsigned)format));
        check_golden(name);
    }
    end();
}

TEST(golden_colours_and_narrow_terminals)
{
    start(false);
    add_usual();
    report_at(WEIR__REPORT_HUMAN, &full_summary, true, 60);
    check_golden("colour.human");
    report_at(WEIR__REPORT_HUMAN, &full_summary, false, 60);
    CHECK(!strchr(text, '\x1b'));
    end();
}

TEST(secrets_are_in_every_format_on_request)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        start(true);
        add("f", NULL, &token_rule, "x = " TOKEN, TOKEN);
        report((enum weir__report_format)format, &clean_summary);
        CHECK_HAS(text, TOKEN);
    }
    end();
}

/* The line has it as it is encoded. */
TEST(encoded_secrets_are_told_decoded_on_request)
{
    static const enum weir__encoding encodings[] = {WEIR__BASE64};
    for (int is_shown = 0; is_shown < 2; is_shown++)
        for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
            struct weir__finding finding = found_in(&token_rule, "x = " OTHER, OTHER);
            finding.encodings = encodings;
            finding.encodings_count = 1;
            finding.secret = finding.match = TOKEN;
            finding.secret_length = finding.match_length = strlen(TOKEN);
            start(is_shown);
            CHECK(weir__findings_add(findings, "f", NULL, &finding) >= 0);
            report((enum weir__report_format)format, &clean_summary);
            if (is_shown)
                CHECK_HAS(text, TOKEN);
            else
                CHECK(!strstr(text, TOKEN));
        }
    end();
}

/* Hostile bytes. */

static void add_nasty(void)
{
    add(NASTY "/f", NASTY, &nasty_rule, NASTY " " TOKEN " " NASTY, TOKEN);
    add("=cmd()", NULL, &nasty_rule, "-- " OTHER, OTHER);
}

static const struct weir__unscanned nasty_missing[] = {{(char[]){NASTY}, (char[]){NASTY}, false}};
static const char *const nasty_configs[] = {NASTY, NULL};
static const struct weir__summary nasty_summary = {.failed = 1,
                                                   .unscanned = nasty_missing,
                                                   .unscanned_count = 1,
                                                   .configs = nasty_configs,
                                                   .engine = NASTY,
                                                   .version = "1"};

static void report_nasty(enum weir__report_format format)
{
    start(false);
    add_nasty();
    report(format, &nasty_summary);
}

/* No control but ends of lines, and all of it UTF-8 without what turns text around. */
static void check_calm(const char *allowed)
{
    struct weir__piece piece;
    for (size_t at = 0; at < text_length; at += piece.used) {
        weir__piece(&piece, text + at, text_length - at);
        if (piece.is_escaped && !(piece.used == 1 && text[at] && strchr(allowed, text[at])))
            tap_fail(__FILE__, __LINE__, "%s at %zu", piece.text, at);
    }
}

static size_t count_of(const char *part)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        count++;
    return count;
}

TEST(golden_hostile_reports)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        char name[64];
        report_nasty((enum weir__report_format)format);
        snprintf(name, sizeof(name), "hostile.%s", weir__report_name((unsigned)format));
        check_golden(name);
    }
    end();
}

TEST(hostile_human)
{
    report_nasty(WEIR__REPORT_HUMAN);
    check_calm("\n");
    CHECK(!strstr(text, "\n::error"));
    CHECK_HAS(text, "\\x1b[31m\\x07\\x7f");
    CHECK_HAS(text, "\\u{202e}");
    CHECK_HAS(text, "\\xff\\xc0\\xaf\\u{9b}");
    end();
}

TEST(hostile_json)
{
    static const enum weir__report_format formats[] = {WEIR__REPORT_JSON, WEIR__REPORT_JSONL,
                                                       WEIR__REPORT_SARIF, WEIR__REPORT_GITLEAKS};
    static const size_t lines[] = {1, 3, 1, 1};
    for (size_t i = 0; i < 4; i++) {
        report_nasty(formats[i]);
        CHECK_EQ(count_of("\n"), lines[i]);
        for (size_t at = 0; at < text_length; at++)
            CHECK(text[at] == '\n' || ((unsigned char)text[at] >= ' ' && text[at] != 0x7f));
    }
    end();
}

TEST(hostile_sarif)
{
    report_nasty(WEIR__REPORT_SARIF);
    /* Neither links nor blanks in messages; a path is a URI and a relative one. */
    CHECK_HAS(text, "\\\\[l\\\\](http://x){{0}}");
    CHECK(!strstr(text, "\"text\":\"[l]"));
    CHECK_HAS(text, "\"uri\":\"a%0A%3A%3Aerror%3A%3Ab%0D%0A%22'");
    CHECK_HAS(text, "%FF%C0%AF");
    end();
}

TEST(hostile_csv)
{
    report_nasty(WEIR__REPORT_CSV);
    check_calm("\r\n");
    CHECK_EQ(count_of("\r\n"), 3);
    CHECK_EQ(count_of("\n"), 3);
    CHECK_HAS(text, "\\n\"\"',;:%0A=<!--");
    CHECK_HAS(text, ",\"'=cmd()\",");
    CHECK_HAS(text, ",\"'-- key-");
    /* Quotes are paired. */
    CHECK_EQ(count_of("\"") % 2, 0);
    end();
}

/* What a program for tables would take for a formula begins with an apostrophe. */
TEST(no_cell_is_a_formula)
{
    static const char *const signs[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
    char line[128], wanted[128];
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        start(false);
        snprintf(line, sizeof(line), "%sx " TOKEN, signs[i]);
        snprintf(wanted, sizeof(wanted), "%sname", signs[i]);
        add(wanted, NULL, &token_rule, line, TOKEN);
        report(WEIR__REPORT_CSV, &clean_summary);
        snprintf(wanted, sizeof(wanted), ",\"'%sx tok_", signs[i]);
        CHECK_HAS(text, wanted);
        snprintf(wanted, sizeof(wanted), ",\"'%sname\",", signs[i]);
        CHECK_HAS(text, wanted);
    }
    start(false);
    add("'=name", NULL, &token_rule, "'=x " TOKEN, TOKEN);
    report(WEIR__REPORT_CSV, &clean_summary);
    CHECK_HAS(text, ",\"''=name\","); /* a name can be had back */
    CHECK_HAS(text, ",\"'=x tok_");
    end();
}

TEST(hostile_junit)
{
    report_nasty(WEIR__REPORT_JUNIT);
    check_calm("\n");
    CHECK(!strstr(text, "<script") && !strstr(text, "<!--") && !strstr(text, "]]>"));
    CHECK_HAS(text, "&lt;/script&gt;");
    CHECK_HAS(text, "&amp;amp;");
    CHECK_EQ(count_of("<testcase"), 3);
    end();
}

TEST(hostile_github)
{
    report_nasty(WEIR__REPORT_GITHUB);
    check_calm("\n");
    size_t lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1, lines++)
        CHECK(strncmp(line, "::error file=", 13) == 0 || strncmp(line, "::warning ", 10) == 0);
    CHECK_EQ(lines, 4);
    CHECK_HAS(text, "file=a%0A%3A%3Aerror%3A%3Ab%0D%0A\"'%2C;%3A%250A=<");
    end();
}

TEST(hostile_html)
{
    report_nasty(WEIR__REPORT_HTML);
    check_calm("\n");
    CHECK_EQ(count_of("<script"), 1);
    CHECK_EQ(count_of("</script"), 1);
    CHECK(!strstr(text, "alert(1)<"));
    CHECK_EQ(count_of("<!"), 1);
    CHECK_HAS(text, "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    CHECK(!strstr(text, "http-equiv=\"refresh") && !strstr(text, "src="));
    end();
}

/* The hashes in the page's policy: SHA-256 by its definition, since nothing else here needs it. */

static uint32_t turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

/* The first 32 bits of the fractional part of a root of the n-th prime. */
static uint32_t root_bits(unsigned n, bool is_cube)
{
    unsigned prime = 2;
    for (unsigned found = 0;; prime++) {
        bool is_prime = true;
        for (unsigned d = 2; d * d <= prime; d++)
            is_prime = is_prime && prime % d != 0;
        if (is_prime && found++ == n)
            break;
    }
    /* The largest r with r^k <= prime * 2^(32 k); it has less than 36 bits. */
    unsigned __int128 low = 0, high = (unsigned __int128)32 << 32;
    while (high - low > 1) {
        unsigned __int128 r = (low + high) / 2;
        bool is_below = is_cube ? r * r * r <= (unsigned __int128)prime << 96
                                : r * r <= (unsigned __int128)prime << 64;
        if (is_below)
            low = r;
        else
            high = r;
    }
    return (uint32_t)low;
}

static void sha256_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, state, sizeof(s));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                         ((s[4] & s[5]) ^ (~s[4] & s[6])) + root_bits(i, true) + w[i];
        uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                          ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += first;
        s[0] = first + second;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

/* "sha256-..." as a policy wants it. */
static void policy_hash(const char *given, char ret_hash[64])
{
    static unsigned char padded[1 << 16];
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char digest[33] = {0};
    uint32_t state[8];
    size_t length = strlen(given), blocks = (length + 8) / 64 + 1;
    CHECK(blocks * 64 <= sizeof(padded));
    memset(padded, 0, sizeof(padded));
    memcpy(padded, given, length);
    padded[length] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        padded[blocks * 64 - 1 - i] = (unsigned char)((uint64_t)length * 8 >> (8 * i));
    for (unsigned i = 0; i < 8; i++)
        state[i] = root_bits(i, false);
    for (size_t i = 0; i < blocks; i++)
        sha256_block(state, padded + 64 * i);
    for (unsigned i = 0; i < 32; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    size_t at = (size_t)snprintf(ret_hash, 64, "sha256-");
    for (unsigned i = 0; i < 33; i += 3) {
        uint32_t bits = (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8 | digest[i + 2];
        for (unsigned k = 0; k < 4; k++)
            ret_hash[at++] = digits[bits >> (18 - 6 * k) & 63];
    }
    ret_hash[at - 1] = '='; /* 32 bytes: the last group has two */
    ret_hash[at] = '\0';
}

TEST(the_page_allows_its_own_style_and_script)
{
    char hash[64];
    policy_hash("abc", hash);
    CHECK_STR(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    policy_hash(weir__page_style, hash);
    CHECK_STR(WEIR__PAGE_STYLE_HASH, hash);
    policy_hash(weir__page_script, hash);
    CHECK_STR(WEIR__PAGE_SCRIPT_HASH, hash);
}

/* The rest. */

TEST(names_of_formats)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++)
        CHECK_EQ(weir__report_find(weir__report_name((unsigned)format)), format);
    CHECK_EQ(weir__report_find("xml"), -WEIR_E_INVALID);
    CHECK_EQ(weir__report_find(""), -WEIR_E_INVALID);
}

static int refuse_later(void *arg, const char *bytes, size_t length)
{
    int *left = arg;
    (void)bytes;
    CHECK(length > 0);
    CHECK(*left > -1); /* not called again */
    return --*left < 0 ? -WEIR_E_NO_SPACE : 0;
}

TEST(an_error_of_the_output_ends_the_report)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        struct weir__report_options options = {.format = (enum weir__report_format)format};
        start(false);
        for (int i = 0; i < 400; i++) {
            char path[64];
            snprintf(path, sizeof(path), "dir/%03d", i);
            char secret[64];
            snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmnopqr%04d", i);
            add(path, NULL, &token_rule, secret, secret);
        }
        weir__findings_finish(findings);
        for (int calls = 0; calls < 2; calls++) {
            int left = calls;
            CHECK_EQ(weir__report(findings, &clean_summary, &options,
                                  &(struct weir__report_out){refuse_later, &left}),
                     -WEIR_E_NO_SPACE);
        }
    }
    end();
}

static size_t largest;

static int measure(void *arg, const char *bytes, size_t length)
{
    (void)arg;
    (void)bytes;
    largest = length > largest ? length : largest;
    return 0;
}

TEST(a_report_is_written_in_pieces)
{
    for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
        struct weir__report_options options = {.format = (enum weir__report_format)format};
        start(false);
        for (int i = 0; i < 1000; i++) {
            char path[64];
            snprintf(path, sizeof(path), "directory/%04d", i);
            add(path, NULL, &token_rule, "x = " TOKEN, TOKEN);
        }
        weir__findings_finish(findings);
        largest = 0;
        CHECK_EQ(weir__report(findings, &clean_summary, &options,
                              &(struct weir__report_out){measure, NULL}),
                 0);
        CHECK(largest < 40000);
    }
    end();
}

TEST(lines_are_cut_around_the_secret)
{
    static char line[600];
    for (unsigned columns = 0; columns <= 130; columns += 13) {
        memset(line, 'x', sizeof(line) - 1);
        memcpy(line + 300, "\xe5\xaf\x86" TOKEN, 3 + strlen(TOKEN));
        start(false);
        add("f", NULL, &token_rule, line, TOKEN);
        report_at(WEIR__REPORT_HUMAN, &clean_summary, false, columns);
        unsigned limit = columns == 0 ? 200 : columns < 40 ? 40 : columns;
        const char *shown = strstr(text, "\n         ..."), *carets = shown;
        CHECK(shown != NULL);
        /* The description stands in as many lines as it needs. */
        for (const char *at = text; at && at < shown; at = strchr(at + 1, '\n'))
            CHECK(strcspn(at + 1, "\n") <= limit);
        carets = strstr(shown + 1, "\n         ");
        CHECK(carets != NULL);
        CHECK_HAS(shown, "tok_");
        CHECK((size_t)(carets - shown) <= limit + 2); /* the wide one has three bytes */
        /* The carets stand below the secret: one cell of the three-byte sign is not a byte. */
        size_t secret_at = (size_t)(strstr(shown, "tok_") - shown);
        CHECK_EQ(strcspn(carets, "^") + 1, secret_at);
        CHECK(!strstr(text, "xxx" TOKEN));
    }
    end();
}

TEST(the_end_of_a_line_is_not_shown)
{
    start(false);
    add("f", NULL, &token_rule, "x = " TOKEN "\r\r\nnext\n", TOKEN);
    report(WEIR__REPORT_HUMAN, &clean_summary);
    CHECK(!strstr(text, "\\r") && !strstr(text, "\\x0d") && !strstr(text, "..."));
    CHECK_HAS(text, "WXYZ\n");
    /* A secret that begins with it has one caret all the same. */
    start(false);
    struct weir__finding finding = found_in(&token_rule, "x = " TOKEN, TOKEN);
    finding.line = "x =\n" TOKEN;
    finding.line_from = 3;
    CHECK(weir__findings_add(findings, "f", NULL, &finding) >= 0);
    report(WEIR__REPORT_HUMAN, &clean_summary);
    CHECK_HAS(text, " ^\n");
    end();
}

/* In JSON and in that of gitleaks, each name is another one, and leads back to its file. */
TEST(names_that_are_not_text_differ)
{
    static const struct {
        const char *path, *written;
    } table[] = {
        {"a\xff", "\"a\\\\xff\""},
        {"a\xfe", "\"a\\\\xfe\""},
        {"a\\xff", "\"a\\\\\\\\xff\""},
        {"a\\\xff", "\"a\\\\\\\\\\\\xff\""},
        {"a\\b", "\"a\\\\b\""},
        {"a\\xfg", "\"a\\\\xfg\""},
        {"\xd0\xba", "\"\xd0\xba\""},
        {"\xd0\xba\xd0", "\"\xd0\xba\\\\xd0\""},
        {"\xef\xbf\xbd", "\"\xef\xbf\xbd\""},
    };
    static const enum weir__report_format formats[] = {WEIR__REPORT_JSON, WEIR__REPORT_JSONL,
                                                       WEIR__REPORT_GITLEAKS};
    static char baseline[sizeof(text)];
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (size_t f = 0; f < 3; f++) {
            char reason[128] = "";
            start(false);
            add(table[i].path, NULL, &token_rule, "x " TOKEN, TOKEN);
            report(formats[f], &clean_summary);
            CHECK_HAS(text, table[i].written);
            CHECK_EQ(count_of(table[i].written), 1);
            memcpy(baseline, text, text_length + 1);
            start(false);
            CHECK_EQ(weir__findings_baseline_text(findings, baseline, strlen(baseline), reason,
                                                  sizeof(reason)),
                     0);
            for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
                struct weir__finding finding = found_in(&token_rule, "x " TOKEN, TOKEN);
                int result = weir__findings_add(findings, table[k].path, NULL, &finding);
                CHECK_EQ(result == WEIR__ADDED_IGNORED, i == k);
            }
        }
    end();
}

TEST(unlisted_places_are_told_and_known_to_a_baseline)
{
    static char baseline[sizeof(text)];
    char path[32], reason[128] = "";
    start(false);
    for (unsigned i = 0; i < WEIR__FINDINGS_PLACES_MAX + 500; i++) {
        snprintf(path, sizeof(path), "%u", i);
        add(path, NULL, &token_rule, "x " TOKEN, TOKEN);
    }
    report(WEIR__REPORT_HUMAN, &clean_summary);
    CHECK_HAS(text, "1 secret in 1500 places, 500 of them not listed;");
    CHECK(!strstr(text, "incomplete"));
    report(WEIR__REPORT_JSON, &clean_summary);
    CHECK_HAS(text, "\"complete\":true");
    CHECK_HAS(text, "\"places\":1500,\"unlisted_places\":500");
    memcpy(baseline, text, text_length + 1);
    start(false);
    CHECK_EQ(
        weir__findings_baseline_text(findings, baseline, strlen(baseline), reason, sizeof(reason)),
        0);
    for (unsigned i = 0; i < WEIR__FINDINGS_PLACES_MAX + 500; i++) {
        snprintf(path, sizeof(path), "%u", i);
        struct weir__finding finding = found_in(&token_rule, "x " TOKEN, TOKEN);
        CHECK_EQ(weir__findings_add(findings, path, NULL, &finding), WEIR__ADDED_IGNORED);
    }
    struct weir__finding finding = found_in(&token_rule, "x " OTHER, OTHER);
    CHECK_EQ(weir__findings_add(findings, "1", NULL, &finding), WEIR__ADDED_SECRET);
    end();
}

TEST(finishing_twice_is_finishing_once)
{
    start(false);
    add("f", NULL, &token_rule, TOKEN, TOKEN);
    weir__findings_finish(findings);
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), 1);
    end();
}

TAP_MAIN()
