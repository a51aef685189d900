/* test_findings.c - one record for each secret, nothing of it in plain text, and what was told
 * before is not told again. */
#include "findings.h"

#include "found_help.h"
#include "redact.h"
#include "report.h"
#include "secrets.h"
#include "tap.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>
#include <weir/fault.h>

#define TOKEN "tok_0123456789abcdefghijklmnopqrWXYZ"
#define OTHER "key-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
#define SHORT "hunter2pw"
#define STARS "****************************" /* the middle of TOKEN and OTHER */

static char any_expression[] = ".";
static char *token_keywords[] = {(char[]){"tok_"}}, *other_keywords[] = {(char[]){"key-"}};
static struct weir__rule token_rule = {.id = (char[]){"some-token"},
                                       .description = (char[]){"A token"},
                                       .provider = (char[]){""},
                                       .keywords = {token_keywords, 1},
                                       .regex = any_expression};
static struct weir__rule other_rule = {.id = (char[]){"other-key"},
                                       .description = (char[]){"A key"},
                                       .provider = (char[]){""},
                                       .keywords = {other_keywords, 1},
                                       .regex = any_expression};
static struct weir__rule path_rule = {.id = (char[]){"key-file"}, .path = any_expression};

static struct weir__findings *findings;

static void start_with(uint64_t bytes_max, bool show_secrets)
{
    weir__findings_free(findings);
    findings = NULL;
    CHECK_EQ(weir__findings_new(&findings,
                                &(struct weir__findings_options){.bytes_max = bytes_max,
                                                                 .show_secrets = show_secrets}),
             0);
}

static void start(void)
{
    start_with(0, false);
}

static int add(const char *path, const char *commit, const struct weir__rule *rule,
               const char *text, const char *secret)
{
    struct weir__finding finding = found_in(rule, text, secret);
    return weir__findings_add(findings, path, commit, &finding);
}

static const struct weir__found *at(size_t index)
{
    return weir__findings_at(findings, index);
}

static void end(void)
{
    weir__findings_free(findings);
    findings = NULL;
}

TEST(a_secret_is_one_record_with_all_places)
{
    start();
    CHECK_EQ(add("b.c", NULL, &token_rule, "x = " TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("a.c", NULL, &token_rule, "\n\n y = " TOKEN, TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add("b.c", NULL, &token_rule, "      z = " TOKEN, TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add("b.c", NULL, &other_rule, "x = " TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("b.c", NULL, &token_rule, "x = " OTHER, OTHER), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), 3);
    const struct weir__found *found = at(0);
    CHECK_EQ(found->places_count, 3);
    CHECK_EQ(found->places_total, 3);
    CHECK_STR(found->places[0].path, "a.c");
    CHECK_EQ(found->places[0].place.line, 3);
    CHECK_EQ(found->places[0].place.column, 6);
    CHECK_STR(found->places[1].path, "b.c");
    CHECK_EQ(found->places[1].place.offset, 4);
    CHECK_EQ(found->places[2].place.offset, 10);
    /* Whichever came first, the match is that of the first place. */
    CHECK_STR(found->match, "tok_" STARS "WXYZ");
    CHECK_STR(at(1)->rule->id, "other-key");
    CHECK_STR(at(2)->rule->id, "some-token");
    CHECK_EQ(weir__findings_unlisted(findings), 0);
    end();
}

TEST(fingerprints_know_rule_secret_and_path_alone)
{
    char first[WEIR__FINGERPRINT_SIZE], second[WEIR__FINGERPRINT_SIZE];
    weir__fingerprint("r", "secret", 6, "a/b", first);
    CHECK_EQ(strlen(first), 32);
    CHECK_EQ(strspn(first, "0123456789abcdef"), 32);
    weir__fingerprint("r", "secret", 6, "./a/b", second);
    CHECK_STR(first, second);
    weir__fingerprint("r", "secre", 5, "ta/b", second);
    CHECK(strcmp(first, second) != 0);
    weir__fingerprint("rs", "ecret", 5, "a/b", second);
    CHECK(strcmp(first, second) != 0);
    for (size_t i = 0; i < 2; i++) {
        static const char *const kinds[] = {"commit", "blob"};
        char one[80], other[80], file[80], third[WEIR__FINGERPRINT_SIZE];
        snprintf(one, sizeof(one), "r/%s:%040d", kinds[i], 1);
        snprintf(other, sizeof(other), "r/%s:%040d", kinds[i], 2);
        snprintf(file, sizeof(file), "r/%s:%039d", kinds[i], 2);
        weir__fingerprint("r", "secret", 6, one, second);
        weir__fingerprint("r", "secret", 6, other, third);
        CHECK_STR(second, third); /* a commit that was made anew */
        weir__fingerprint("r", "secret", 6, file, third);
        CHECK(strcmp(second, third) != 0);
    }
    weir__fingerprint("r", "secret", 6, "a/c", second);
    CHECK(strcmp(first, second) != 0);
    start();
    add("a", "c0ffee", &token_rule, "\n\n " TOKEN, TOKEN);
    add("a", NULL, &token_rule, TOKEN, TOKEN);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].fingerprint, at(0)->places[1].fingerprint);
    weir__fingerprint("some-token", TOKEN, strlen(TOKEN), "a", second);
    CHECK_STR(at(0)->places[0].fingerprint, second);
    end();
}

TEST(redaction_shows_so_many_bytes_of_the_ends)
{
    const struct weir__ends ends = {4, 4}, none = {0, 0};
    char text[64];
    CHECK_EQ(weir__redact(TOKEN, strlen(TOKEN), ends, text, sizeof(text)), 28);
    CHECK_STR(text, "tok_********************WXYZ");
    CHECK_EQ(weir__redact(TOKEN, strlen(TOKEN), none, text, sizeof(text)), 8);
    CHECK_STR(text, "********");
    CHECK_EQ(weir__redact("a", 1, none, text, sizeof(text)), 8);
    CHECK_EQ(weir__redact("", 0, none, text, sizeof(text)), 0);
    CHECK_STR(text, "");
    CHECK_EQ(weir__redact(TOKEN, strlen(TOKEN), ends, text, 3), 2);
    CHECK_STR(text, "to");
    CHECK_EQ(weir__redact(TOKEN, strlen(TOKEN), ends, text, 1), 0);
    CHECK_STR(text, "");
}

static struct weir__ends ends_of(char *keyword, const char *match, const char *secret)
{
    char *keywords[] = {(char[]){"other"}, keyword};
    struct weir__rule rule = {.id = (char[]){"r"}, .keywords = {keywords, 2}};
    struct weir__finding finding = {.rule = &rule,
                                    .secret = secret,
                                    .secret_length = strlen(secret),
                                    .match = match,
                                    .match_length = strlen(match)};
    return weir__ends_of(&finding);
}

TEST(only_what_a_rule_says_and_a_little_more_is_shown)
{
    static const struct {
        char keyword[24];
        const char *match, *secret;
        unsigned first, last;
    } table[] = {
        {"tok_", TOKEN, TOKEN, 4, 4},
        {"TOK_", TOKEN, TOKEN, 4, 4},
        {"tok_", "." TOKEN, TOKEN, 4, 4},
        /* A name before it: whatever somebody wrote there. */
        {"tok_", "key=" TOKEN, TOKEN, 0, 0},
        {"pass", "password = passwordPassword12345678", "passwordPassword12345678", 0, 0},
        {"pass", "correct-horse-battery-staple", "correct-horse-battery-staple", 0, 0},
        {"ab_", "ab_45678901234567890123", "ab_45678901234567890123", 0, 0}, /* 23 */
        {"ab_", "ab_456789012345678901234", "ab_456789012345678901234", 3, 4},
        /* 16 stay hidden. */
        {"abcdefgh_", "abcdefgh_012345678901234", "abcdefgh_012345678901234", 4, 4},
        {"abcdefghijklmnopqrst", "abcdefghijklmnopqrst01234567890123456789",
         "abcdefghijklmnopqrst01234567890123456789", 12, 4},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char keyword[24];
        memcpy(keyword, table[i].keyword, sizeof(keyword));
        struct weir__ends ends = ends_of(keyword, table[i].match, table[i].secret);
        CHECK_EQ(ends.first, table[i].first);
        CHECK_EQ(ends.last, table[i].last);
    }
}

TEST(a_path_that_begins_as_a_secret_ends_is_shown)
{
    start();
    add("WXYZ/f", NULL, &token_rule, "x = " TOKEN, TOKEN);
    add("f/tok_", NULL, &token_rule, "x = " TOKEN, TOKEN);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].path, "WXYZ/f");
    CHECK_STR(at(0)->places[1].path, "f/tok_");
    end();
}

TEST(of_two_wishes_the_smaller_one_counts)
{
    struct weir__secrets secrets = {0};
    char text[] = "(" TOKEN ")";
    weir__secrets_add(&secrets, TOKEN, strlen(TOKEN), (struct weir__ends){4, 4});
    weir__secrets_add(&secrets, TOKEN, strlen(TOKEN), (struct weir__ends){0, 4});
    weir__secrets_add(&secrets, TOKEN, strlen(TOKEN), (struct weir__ends){4, 0});
    CHECK(weir__secrets_hide(&secrets, text, strlen(text)));
    CHECK_EQ(strspn(text + 1, "*"), strlen(TOKEN));
    weir__secrets_fini(&secrets);
}

TEST(the_secret_is_hidden_wherever_it_stands)
{
    start();
    add("x", NULL, &token_rule, "a " TOKEN " b " TOKEN " c", TOKEN);
    add("y", NULL, &other_rule, "p=" SHORT ";p=" SHORT, SHORT);
    add("dir-" OTHER "/f", NULL, &other_rule, OTHER, OTHER);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].path, "dir-key-" STARS "2345/f");
    CHECK_STR(at(1)->places[0].line, "a tok_" STARS "WXYZ b tok_" STARS "WXYZ c");
    /* Where the match was in the file cannot be told: nothing of it is shown. */
    CHECK_EQ(strspn(at(1)->match, "*"), at(1)->match_length);
    CHECK_STR(at(1)->secret, "tok_********************WXYZ");
    CHECK_STR(at(2)->places[0].line, "p=*********;p=*********");
    CHECK_STR(at(2)->secret, "********");
    CHECK_EQ(at(2)->places[0].line_from, 2);
    CHECK_EQ(at(2)->places[0].line_until, 2 + strlen(SHORT));
    end();
}

TEST(a_secret_that_overlaps_itself_is_hidden_as_one)
{
    static const char line[] = "<ababababababababababababababababababababab>";
    start();
    add("f", NULL, &token_rule, line, "ababababababababababababab");
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, "<******************************************>");
    end();
}

TEST(an_encoded_secret_is_hidden_in_both_forms)
{
    static const enum weir__encoding encodings[] = {WEIR__BASE64, WEIR__HEX};
    static const char encoded[] = "cGFzcy1pbi1iYXNlNjQtNDItYnl0ZXM=";
    static const char line[] =
        "a cGFzcy1pbi1iYXNlNjQtNDItYnl0ZXM= cGFzcy1pbi1iYXNlNjQtNDItYnl0ZXM= "
        "pass-in-base64-42-bytes z";
    struct weir__finding finding = found_in(&token_rule, line, encoded);
    finding.secret = "pass-in-base64-42-bytes"; /* too short for its ends to be shown */
    finding.secret_length = strlen(finding.secret);
    finding.match = finding.secret;
    finding.match_length = finding.secret_length;
    finding.encodings = encodings;
    finding.encodings_count = 2;
    start();
    CHECK_EQ(weir__findings_add(findings, "f", NULL, &finding), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, "a ******************************** "
                                     "******************************** *********************** z");
    CHECK_STR(at(0)->places[0].encodings, "base64, hex");
    CHECK_EQ(strspn(at(0)->match, "*"), at(0)->match_length);
    end();
}

TEST(what_was_cut_off_at_the_ends_of_a_line_is_hidden)
{
    /* The line was cut: it begins with the end of the secret and ends with its beginning. */
    static const char line[] = "mnopqrWXYZ, " TOKEN ", tok_012345678";
    start();
    add("f", NULL, &token_rule, line, TOKEN);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, "**********, tok_" STARS "WXYZ, *************");
    end();
}

/* Two bytes are there by chance too often; three are hidden. */
TEST(little_of_a_secret_at_an_end_is_hidden)
{
    start();
    add("f", NULL, &token_rule, "XYZ, " TOKEN ", tok", TOKEN);
    add("g", NULL, &token_rule, "YZ, " TOKEN ", to", TOKEN);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, "***, tok_" STARS "WXYZ, ***");
    CHECK_STR(at(0)->places[1].line, "YZ, tok_" STARS "WXYZ, to");
    end();
}

/* What is encoded over several lines is hidden in that of another secret, which begins in the
 * middle of it: by its place, since nobody knows those bytes as a secret. */
TEST(a_line_may_begin_in_what_is_hidden)
{
    static const enum weir__encoding encodings[] = {WEIR__HEX};
    static const char text[] = "0011223344556677889900112233445566778899\n"
                               "aabbccddeeff00112233 id=" TOKEN " end";
    static const struct {
        const char *secret;
        uint64_t offset, length;
    } table[] = {{OTHER, 0, 61}, {OTHER "x", 10, 10}, {OTHER "y", 12, 4}};
    start();
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct weir__finding finding = found_in(&other_rule, table[i].secret, table[i].secret);
        finding.place.offset = table[i].offset;
        finding.place.length = table[i].length;
        finding.line = text;
        finding.line_length = 61;
        finding.line_from = table[i].offset;
        finding.line_until = table[i].offset + table[i].length;
        finding.encodings = encodings;
        finding.encodings_count = 1;
        CHECK_EQ(weir__findings_add(findings, "f", NULL, &finding), WEIR__ADDED_SECRET);
    }
    CHECK_EQ(add("f", NULL, &token_rule, text, TOKEN), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    size_t seen = 0;
    for (size_t i = 0; i < weir__findings_count(findings); i++) {
        const char *line = at(i)->places[0].line;
        if (at(i)->rule == &token_rule && ++seen)
            CHECK_STR(line, "******************** id=tok_" STARS "WXYZ end");
        else
            CHECK_EQ(strcspn(line, "0123456789abcdef"), strlen(line));
    }
    CHECK_EQ(seen, 1);
    end();
}

TEST(other_secrets_of_the_line_are_hidden_too)
{
    static const char line[] = "id=" TOKEN " key=" OTHER " pw=" SHORT " end";
    static const char hidden[] = "id=tok_" STARS "WXYZ key=key-" STARS "2345 pw=********* end";
    /* What the line itself calls a key shows no ends beside another. */
    static const char beside[] = "id=tok_" STARS "WXYZ key=****" STARS "**** pw=********* end";
    char ignored[128];
    weir__fingerprint("other-key", SHORT, strlen(SHORT), "f", ignored);
    unsigned bad = 0;
    start();
    CHECK_EQ(weir__findings_ignore(findings, ignored, strlen(ignored), &bad), 0);
    CHECK_EQ(add("f", NULL, &token_rule, line, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("f", NULL, &other_rule, line, OTHER), WEIR__ADDED_SECRET);
    CHECK_EQ(add("./f", NULL, &other_rule, line, SHORT), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("g", NULL, &token_rule, line, TOKEN), WEIR__ADDED_PLACE);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, beside);
    CHECK_STR(at(0)->match, strstr(hidden, "tok_"));
    CHECK_STR(at(1)->places[0].line, hidden);
    CHECK_STR(at(1)->match, strstr(hidden, "key-"));
    /* In the other file nobody found the rest, but it is known by then. */
    CHECK_STR(at(0)->places[1].line, beside);
    CHECK_EQ(weir__findings_ignored(findings), 1);
    end();
}

TEST(known_secrets_are_hidden_in_all_that_is_shown)
{
    char text[] = "see x" TOKEN "y", other[] = "see " OTHER, cut[] = "tok_ABC";
    start();
    CHECK_EQ(add("d/pre" TOKEN "post", NULL, &other_rule, "b=" OTHER " a" TOKEN "b", OTHER),
             WEIR__ADDED_SECRET);
    CHECK_EQ(add("z", NULL, &token_rule, "t=" TOKEN, TOKEN), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].path, "d/pretok_" STARS "WXYZpost");
    CHECK_STR(at(0)->places[0].line, "b=key-" STARS "2345 atok_" STARS "WXYZb");
    CHECK_STR(at(0)->match, "key-" STARS "2345 atok_" STARS "WXYZb");
    weir__findings_hide(findings, text);
    CHECK_STR(text, "see xtok_" STARS "WXYZy");
    weir__findings_hide(findings, other);
    CHECK_STR(other, "see key-" STARS "2345");
    weir__findings_hide(findings, cut);
    CHECK_STR(cut, "tok_ABC");
    end();
}

TEST(the_longest_of_known_secrets_is_hidden)
{
    struct weir__secrets secrets = {0};
    char text[] = "(abcdefghijkl) abcdefgh abcdefg abcdefghij ijklmnop";
    CHECK(weir__secrets_hide(&secrets, text, strlen(text)));
    weir__secrets_add(&secrets, "abcdefgh", 8, (struct weir__ends){0, 0});
    weir__secrets_add(&secrets, "abcdefghijkl", 12, (struct weir__ends){0, 0});
    weir__secrets_add(&secrets, "abcdefghijkl", 12, (struct weir__ends){0, 0});
    weir__secrets_add(&secrets, "abcdefg", 7, (struct weir__ends){0, 0}); /* too short */
    CHECK_EQ(secrets._count, 2);
    CHECK(weir__secrets_hide(&secrets, text, strlen(text)));
    CHECK_STR(text, "(************) ******** abcdefg ********ij ijklmnop");
    weir__secrets_blind(&secrets);
    weir__secrets_add(&secrets, "ijklmnop", 8, (struct weir__ends){0, 0});
    CHECK(!weir__secrets_hide(&secrets, text, strlen(text)));
    weir__secrets_fini(&secrets);
}

TEST(a_text_is_compared_so_often_and_then_hidden)
{
    static char text[4096], secret[64];
    struct weir__secrets secrets = {0};
    memset(text, 'a', sizeof(text));
    memset(secret, 'a', sizeof(secret));
    for (size_t length = 16; length < sizeof(secret); length++) {
        secret[length - 1] = 'b';
        weir__secrets_add(&secrets, secret, length, (struct weir__ends){0, 0});
        secret[length - 1] = 'a';
    }
    CHECK(weir__secrets_hide(&secrets, text, sizeof(text)));
    CHECK_EQ(text[0], 'a');
    CHECK_EQ(text[WEIR__SECRETS_TRIES], '*');
    CHECK_EQ(text[sizeof(text) - 1], '*');
    weir__secrets_fini(&secrets);
}

TEST(thousands_of_secrets_are_known)
{
    struct weir__secrets secrets = {0};
    char text[64], hidden[64];
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "eyJhbGciOiJI.%05u", i);
        weir__secrets_add(&secrets, text, strlen(text), (struct weir__ends){0, 0});
    }
    CHECK_EQ(secrets._count, 5000);
    for (unsigned i = 0; i < 5100; i += 50) {
        snprintf(text, sizeof(text), "<eyJhbGciOiJI.%05u>", i);
        memcpy(hidden, text, sizeof(hidden));
        CHECK(weir__secrets_hide(&secrets, hidden, strlen(hidden)));
        CHECK_STR(hidden, i < 5000 ? "<******************>" : text);
    }
    weir__secrets_fini(&secrets);
}

static struct weir__finding found_in_name(const char *path, const char *shown, const char *secret)
{
    struct weir__finding finding = found_in(&token_rule, path, secret);
    finding.place = (struct weir__place){.line = 1, .column = 1, .end_line = 1, .end_column = 1};
    finding.line = finding.shown_path = shown;
    finding.is_in_name = true;
    return finding;
}

TEST(a_secret_in_a_name_is_one_place_and_hides_nothing_of_the_content)
{
    static const char path[] = "a/" TOKEN ".c", shown[] = "a/tok_" STARS "WXYZ.c";
    struct weir__finding finding = found_in_name(path, shown, TOKEN);
    start();
    CHECK_EQ(weir__findings_add(findings, path, NULL, &finding), WEIR__ADDED_SECRET);
    CHECK_EQ(weir__findings_add(findings, path, NULL, &finding), WEIR__ADDED_PLACE);
    struct weir__finding inside = found_in(&other_rule, "plain text, then " OTHER, OTHER);
    inside.shown_path = shown;
    CHECK_EQ(weir__findings_add(findings, path, NULL, &inside), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), 2);
    CHECK_EQ(at(0)->places_total, 1);
    CHECK(at(0)->places[0].is_in_name);
    CHECK_STR(at(0)->places[0].path, shown);
    CHECK_STR(at(0)->places[0].line, shown);
    CHECK_EQ(at(0)->places[0].line_from, 2);
    CHECK_STR(at(1)->places[0].path, shown);
    CHECK_STR(at(1)->places[0].line, "plain text, then key-" STARS "2345");
    end();
}

static int add_beside(const char *path, const char *text)
{
    struct weir__finding finding = found_in(&token_rule, text, TOKEN);
    finding.is_beside = true;
    return weir__findings_add(findings, path, NULL, &finding);
}

TEST(what_a_member_has_is_not_told_again_for_its_container)
{
    /* The member may come first, or the container. */
    for (int order = 0; order < 2; order++) {
        start();
        if (order == 0)
            CHECK_EQ(add("a.zip!b/c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
        CHECK_EQ(add_beside("a.zip", "a " TOKEN), order == 0 ? 1 : 0);
        CHECK_EQ(add_beside("a.zip", "far " TOKEN), WEIR__ADDED_PLACE);
        if (order == 1)
            CHECK_EQ(add("a.zip!b/c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_PLACE);
        CHECK_EQ(add("a.zip also", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_PLACE);
        weir__findings_finish(findings);
        CHECK_EQ(weir__findings_count(findings), 1);
        const struct weir__found *found = weir__findings_at(findings, 0);
        CHECK_EQ(found->places_count, 2);
        CHECK_EQ(found->places_total, 2);
        CHECK_STR(found->places[0].path, "a.zip also");
        CHECK_STR(found->places[1].path, "a.zip!b/c");
    }
}

TEST(what_only_a_container_has_is_told_once_for_each_place)
{
    start();
    CHECK_EQ(add("b.zip!c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("a.zip", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add_beside("a.zi", TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add_beside("b.zip!c.tar", TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add_beside("b.zip!c.tar", TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add_beside("b.zip!c.tar", "more " TOKEN), WEIR__ADDED_PLACE);
    /* Of what has the same name, one is in the other. */
    CHECK_EQ(add_beside("b.zip", TOKEN), WEIR__ADDED_PLACE);
    weir__findings_finish(findings);
    const struct weir__found *found = weir__findings_at(findings, 0);
    static const char *const paths[] = {"a.zi", "a.zip", "b.zip!c", "b.zip!c.tar", "b.zip!c.tar"};
    CHECK_EQ(found->places_count, 5);
    CHECK_EQ(found->places_total, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK_STR(found->places[i].path, paths[i]);
}

TEST(a_name_that_is_hidden_is_known_by_what_is_shown_of_it)
{
    static const char ignored[] = "a-tok_" STARS "WXYZ.c:other-key:1\n";
    unsigned bad = 0;
    start();
    CHECK_EQ(weir__findings_ignore(findings, ignored, strlen(ignored), &bad), 0);
    struct weir__finding finding = found_in(&other_rule, OTHER, OTHER);
    /* Whether it is known by now what is hidden there or not. */
    CHECK_EQ(weir__findings_add(findings, "a-" TOKEN ".c", NULL, &finding), WEIR__ADDED_IGNORED);
    finding.shown_path = "a-tok_" STARS "WXYZ.c";
    CHECK_EQ(weir__findings_add(findings, "a-" TOKEN ".c", NULL, &finding), WEIR__ADDED_IGNORED);
    finding.shown_path = NULL;
    static const char *const others[] = {"b-" TOKEN ".c", "a-" TOKEN ".cc", "a-" TOKEN "/c"};
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(weir__findings_add(findings, others[i], NULL, &finding),
                 i == 0 ? WEIR__ADDED_SECRET : WEIR__ADDED_PLACE);
    finding.place.line = 2;
    CHECK_EQ(weir__findings_add(findings, "a-" TOKEN ".c", NULL, &finding), WEIR__ADDED_PLACE);
    end();
}

TEST(masks_fit_names_of_their_length)
{
    struct weir__masks masks = {0};
    CHECK(!weir__mask_is_one("a*******b", 9));
    CHECK(weir__mask_is_one("a********b", 10));
    CHECK(!weir__masks_has(&masks, NULL, "abcdefghij", "r", 1));
    CHECK_EQ(weir__masks_add(&masks, "a********j:r:1", 14), 0);
    CHECK_EQ(weir__masks_add(&masks, "c0ffee:a********j:r:7", 21), 0);
    CHECK(weir__masks_has(&masks, NULL, "abcdefghij", "r", 1));
    CHECK(weir__masks_has(&masks, NULL, "a********j", "r", 1));
    CHECK(weir__masks_has(&masks, "c0ffee", "abcdefghij", "r", 7));
    CHECK(!weir__masks_has(&masks, "c0ffef", "abcdefghij", "r", 7));
    CHECK(!weir__masks_has(&masks, NULL, "abcdefghij", "r", 2));
    CHECK(!weir__masks_has(&masks, NULL, "abcdefghij", "q", 1));
    CHECK(!weir__masks_has(&masks, NULL, "abcdefghik", "r", 1));
    CHECK(!weir__masks_has(&masks, NULL, "abcdefghijj", "r", 1));
    for (size_t i = masks._count; i < WEIR__MASKS_MAX; i++)
        CHECK_EQ(weir__masks_add(&masks, "a********z:r:1", 14), 0);
    CHECK_EQ(weir__masks_add(&masks, "a********z:r:1", 14), -WEIR_E_TOO_LARGE);
    weir__masks_fini(&masks);
}

TEST(secrets_that_overlap_are_hidden_as_one)
{
    static const char line[] = "<0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST>";
    static const char hidden[] = "<********************************************************>";
    start();
    add("f", NULL, &token_rule, line, "0123456789abcdefghijklmnopqrst");
    add("f", NULL, &other_rule, line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST");
    add("f", NULL, &other_rule, line, "defghijklmnopqrstuvwxyzABCDE");
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(at(i)->places[0].line, hidden);
        CHECK_STR(at(i)->match, hidden);
    }
    end();
}

TEST(a_finding_may_have_no_line)
{
    static const enum weir__encoding encodings[] = {WEIR__HEX};
    struct weir__finding finding = {.rule = &token_rule,
                                    .place = {.offset = 7, .length = 30, .line = 1, .column = 8},
                                    .secret = TOKEN,
                                    .secret_length = strlen(TOKEN),
                                    .line_from = 9,
                                    .line_until = 3,
                                    .encodings = encodings,
                                    .encodings_count = 1};
    start();
    CHECK_EQ(weir__findings_add(findings, "f", NULL, &finding), WEIR__ADDED_SECRET);
    finding.line = "short";
    finding.line_length = 5;
    CHECK_EQ(weir__findings_add(findings, "g", NULL, &finding), WEIR__ADDED_PLACE);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].line, "");
    CHECK_EQ(at(0)->places[1].line_from, 0);
    CHECK(at(0)->places[1].line_until <= at(0)->places[1].line_length);
    end();
}

TEST(a_long_secret_over_many_lines_is_cut)
{
    static char text[20000];
    memset(text, 'k', sizeof(text) - 1);
    memcpy(text, "x = \"", 5);
    for (size_t i = 70; i < sizeof(text) - 1; i += 65)
        text[i] = '\n';
    text[sizeof(text) - 2] = '"';
    struct weir__finding finding = {.rule = &token_rule, .secret = text + 5, .line = text};
    finding.secret_length = sizeof(text) - 7;
    finding.place = (struct weir__place){5, finding.secret_length, 1, 6, 307, 10};
    finding.line_length = sizeof(text) - 1;
    finding.line_from = 5;
    finding.line_until = sizeof(text) - 2;
    finding.match = text;
    finding.match_length = sizeof(text) - 1;
    start();
    CHECK_EQ(weir__findings_add(findings, "f", NULL, &finding), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    const struct weir__found_place *place = &at(0)->places[0];
    CHECK(place->line_length <= 1024 && place->line_until == place->line_length);
    CHECK_EQ(strspn(place->line + 9, "*\n"), place->line_length - 9);
    CHECK_EQ(place->line[70], '\n');
    CHECK_EQ(strspn(at(0)->match + 9, "*\n"), at(0)->match_length - 9);
    end();
}

TEST(secrets_are_shown_on_request)
{
    static const char line[] = "id=" TOKEN " key=" OTHER;
    start_with(0, true);
    add(TOKEN, NULL, &token_rule, line, TOKEN);
    add(TOKEN, NULL, &other_rule, line, OTHER);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->secret, TOKEN);
    CHECK_STR(at(0)->match, line + 3);
    CHECK_STR(at(0)->places[0].line, line);
    CHECK_STR(at(0)->places[0].path, TOKEN);
    end();
}

TEST(a_path_that_is_the_finding_is_shown)
{
    struct weir__finding finding = {.rule = &path_rule,
                                    .place = {.line = 1, .column = 1, .end_line = 1},
                                    .secret = "keys/server-of-the-company.p12",
                                    .secret_length = 30,
                                    .match = "keys/server-of-the-company.p12",
                                    .match_length = 30};
    start();
    CHECK_EQ(weir__findings_add(findings, finding.secret, NULL, &finding), WEIR__ADDED_SECRET);
    weir__findings_finish(findings);
    CHECK_STR(at(0)->places[0].path, "keys/server-of-the-company.p12");
    CHECK_STR(at(0)->secret, "keys/server-of-the-company.p12");
    end();
}

/* Limits. */

TEST(places_beyond_the_limit_are_counted_and_the_first_are_kept)
{
    enum { COUNT = 1500 };
    char path[32];
    start();
    for (int i = 0; i < COUNT; i++) {
        snprintf(path, sizeof(path), "%04d", (i * 7919) % COUNT); /* each once, in no order */
        int result = add(path, NULL, &token_rule, "x " TOKEN, TOKEN);
        CHECK(result == (i == 0 ? WEIR__ADDED_SECRET : WEIR__ADDED_PLACE) ||
              (i >= 1000 && result == WEIR__ADDED_UNLISTED));
    }
    weir__findings_finish(findings);
    CHECK_EQ(at(0)->places_total, COUNT);
    CHECK_EQ(at(0)->places_count, WEIR__FINDINGS_PLACES_MAX);
    for (int i = 0; i < (int)WEIR__FINDINGS_PLACES_MAX; i++) {
        snprintf(path, sizeof(path), "%04d", i);
        CHECK_STR(at(0)->places[i].path, path);
    }
    /* All of it is known about, so nothing is missing; and a baseline has to know all of it. */
    CHECK_EQ(weir__findings_unlisted(findings), 0);
    char everywhere[WEIR__FINGERPRINT_SIZE];
    weir__fingerprint(token_rule.id, TOKEN, strlen(TOKEN), NULL, everywhere);
    CHECK_STR(at(0)->everywhere, everywhere);
    end();
}

TEST(places_that_are_not_listed_are_everywhere_only_when_their_file_is_not_listed)
{
    size_t copies = WEIR__FINDINGS_PLACES_MAX + 200;
    for (int other = 0; other < 4; other++) {
        start();
        /* Left out: nothing but more of the same file; one place of another file that comes at its
         * turn or before; or places of two files. */
        if (other == 2)
            (void)!add("b", NULL, &token_rule, "x " TOKEN, TOKEN);
        for (size_t i = 0; i < (other == 1 ? WEIR__FINDINGS_PLACES_MAX : copies); i++) {
            struct weir__finding finding = found_in(&token_rule, TOKEN, TOKEN);
            finding.place.offset = i;
            CHECK(weir__findings_add(findings, "a", NULL, &finding) >= 0);
        }
        if (other == 1 || other == 3)
            (void)!add("b", NULL, &token_rule, "x " TOKEN, TOKEN);
        weir__findings_finish(findings);
        CHECK_EQ(at(0)->everywhere[0] != '\0', other != 0);
        CHECK_EQ(at(0)->places_count, WEIR__FINDINGS_PLACES_MAX);
        CHECK_EQ(weir__findings_unlisted(findings), 0);
        end();
    }
}

static int add_at(const char *path, const struct weir__rule *rule, const char *secret,
                  uint64_t offset)
{
    struct weir__finding finding = found_in(rule, secret, secret);
    finding.place.offset = offset;
    return weir__findings_add(findings, path, NULL, &finding);
}

/* Places of a few secrets would fill the memory; those of others that come later are made room for.
 */
TEST(places_give_way_to_secrets)
{
    enum { OFTEN = 60, TIMES = 300, OTHERS = 200 };
    char secret[64];
    start_with(1u << 20, false);
    for (unsigned i = 0; i < OFTEN * TIMES; i++) {
        snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmnop%06u", i % OFTEN);
        CHECK(add_at(i % 7 ? "a" : "b", &token_rule, secret, i) >= 0);
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        snprintf(secret, sizeof(secret), "tok_zyxwvutsrqponmlkjihgfedcba%06u", i);
        CHECK_EQ(add_at("c", &token_rule, secret, i), WEIR__ADDED_SECRET);
    }
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), OFTEN + OTHERS);
    CHECK_EQ(weir__findings_unlisted(findings), 0);
    for (size_t i = 0; i < weir__findings_count(findings); i++) {
        const struct weir__found *found = at(i);
        bool is_often = strcmp(found->places[0].path, "c") != 0;
        CHECK_EQ(found->places_total, is_often ? TIMES : 1);
        CHECK(found->places_count >= 1 && found->places_count < TIMES);
        /* The first ones of those that there was memory for are left. */
        for (size_t k = 1; k < found->places_count; k++) {
            const struct weir__found_place *one = &found->places[k - 1], *next = one + 1;
            int order = strcmp(one->path, next->path);
            CHECK(order < 0 || (order == 0 && one->place.offset < next->place.offset));
        }
        if (is_often)
            CHECK(found->places[0].place.offset < 2 * OFTEN);
    }
    end();
}

/* What came a moment ago is known again: by all that tells two of them apart. */
TEST(a_secret_that_comes_often_is_told_apart)
{
    enum { TIMES = 3000 };
    static const struct {
        const struct weir__rule *rule;
        const char *path, *secret;
    } table[] = {
        {&token_rule, "a", TOKEN}, {&other_rule, "a", TOKEN},       {&token_rule, "b", TOKEN},
        {&token_rule, "a", OTHER}, {&token_rule, "a", TOKEN TOKEN}, {&token_rule, "a", SHORT},
        {&other_rule, "b", SHORT},
    };
    const size_t rows = sizeof(table) / sizeof(*table);
    start();
    for (unsigned i = 0; i < TIMES; i++)
        for (size_t k = 0; k < rows; k++) /* some come from their end */
            CHECK(add_at(table[k].path, table[k].rule, table[k].secret,
                         k % 2 ? 100 + i : 100 + TIMES - i) >= 0);
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), rows - 1);
    uint64_t total = 0;
    for (size_t i = 0; i < weir__findings_count(findings); i++) {
        const struct weir__found *found = at(i);
        total += found->places_total;
        CHECK_EQ(found->places_count, WEIR__FINDINGS_PLACES_MAX);
        for (size_t k = 0; k < found->places_count; k++)
            CHECK_EQ(found->places[k].place.offset, found->places[0].place.offset + k);
        /* One of them is in two files, of which the listed places have one. */
        CHECK_EQ(found->everywhere[0] != 0, found->places_total == 2 * TIMES);
    }
    CHECK_EQ(total, rows * TIMES);
    end();
}

TEST(memory_is_limited_and_nothing_is_shown_for_lack_of_it)
{
    enum { COUNT = 2000 };
    char secret[64], line[192];
    uint64_t listed = 0;
    start_with(100000, false);
    for (int i = 0; i < COUNT; i++) {
        snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmnop%06d", i);
        snprintf(line, sizeof(line), "a=%s b=" OTHER, secret);
        int result = add("f", NULL, &token_rule, line, secret);
        CHECK(result == WEIR__ADDED_SECRET || result == WEIR__ADDED_UNLISTED);
        listed += result == WEIR__ADDED_SECRET;
        CHECK(i > 50 || result == WEIR__ADDED_SECRET);
    }
    weir__findings_finish(findings);
    CHECK(listed > 50 && listed < 500);
    CHECK_EQ(weir__findings_count(findings), listed);
    CHECK_EQ(weir__findings_unlisted(findings), COUNT - listed);
    /* What else is in a line is no longer known: only the secret's own part is left of it. */
    for (size_t i = 0; i < weir__findings_count(findings); i++) {
        CHECK(!strstr(at(i)->places[0].line, OTHER));
        CHECK(!strstr(at(i)->match, OTHER));
        CHECK_EQ(at(i)->places[0].line_from, 0);
        CHECK_EQ(at(i)->places[0].line_length, 36);
    }
    end();
}

/* What is ignored. */

static int ignore(const char *text, unsigned *ret_line)
{
    return weir__findings_ignore(findings, text, strlen(text), ret_line);
}

TEST(ignore_files_have_three_forms)
{
    char print[WEIR__FINGERPRINT_SIZE], text[512];
    unsigned bad = 0;
    weir__fingerprint("some-token", TOKEN, strlen(TOKEN), "mine", print);
    snprintf(text, sizeof(text),
             "\xef\xbb\xbf# comment\r\n\r\n  %s   # why\r\n"
             "dir/a b.c:some-token:3\n"
             "0123456789abcdef0123456789abcdef01234567:x:y.c:some-token:1\n"
             "./dot.c:some-token:1 # because of that\n"
             "odd #1.c:some-token:1",
             print);
    start();
    CHECK_EQ(ignore(text, &bad), 0);
    CHECK_EQ(add("mine", "beef", &token_rule, "\n\n" TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("mine", NULL, &other_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("dir/a b.c", NULL, &token_rule, "\n\n" OTHER, OTHER), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("dir/a b.c", "beef", &token_rule, "\n\n" OTHER, OTHER), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("dir/a b.c", NULL, &token_rule, "\n" OTHER, OTHER), WEIR__ADDED_SECRET);
    CHECK_EQ(add("x:y.c", "0123456789abcdef0123456789abcdef01234567", &token_rule, OTHER, OTHER),
             WEIR__ADDED_IGNORED);
    CHECK_EQ(add("x:y.c", NULL, &token_rule, OTHER, OTHER), WEIR__ADDED_PLACE);
    CHECK_EQ(add("dot.c", NULL, &token_rule, OTHER, OTHER), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("odd #1.c", NULL, &token_rule, OTHER, OTHER), WEIR__ADDED_IGNORED);
    CHECK_EQ(weir__findings_ignored(findings), 6);
    end();
}

TEST(bad_lines_are_named_and_the_others_count)
{
    static const char *const bad_lines[] = {"nonsense",
                                            "a:b",
                                            "a:b:c",
                                            ":r:1",
                                            "a::1",
                                            "a:::1",
                                            "\"f:some-token:1\" and more",
                                            "\"f:some-token:1\"# no comment",
                                            "a:r:",
                                            "0123456789abcdef0123456789abcde",
                                            "0123456789ABCDEF0123456789ABCDEF",
                                            "a:r:1x"};
    unsigned bad = 7;
    for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "# one\n%s\nf:some-token:1\nworse\n", bad_lines[i]);
        start();
        if (ignore(text, &bad) != -WEIR_E_INVALID || bad != 2)
            tap_fail(__FILE__, __LINE__, "'%s' is not refused in line 2", bad_lines[i]);
        CHECK_EQ(add("f", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    }
    bad = 7;
    start();
    CHECK_EQ(ignore("", &bad), 0);
    CHECK_EQ(ignore("# only this", &bad), 0);
    CHECK_EQ(bad, 7);
    char *wide = malloc(9001);
    CHECK(wide != NULL);
    memset(wide, 'a', 9000);
    wide[9000] = '\0';
    CHECK_EQ(ignore(wide, &bad), -WEIR_E_INVALID);
    free(wide);
    end();
}

/* Baselines. */

static char reason[256];

static int baseline(const char *text)
{
    reason[0] = '\0';
    return weir__findings_baseline_text(findings, text, strlen(text), reason, sizeof(reason));
}

struct text {
    char bytes[1 << 16];
    size_t length;
};

static int collect(void *arg, const char *bytes, size_t length)
{
    struct text *text = arg;
    CHECK(length < sizeof(text->bytes) - text->length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return 0;
}

static void add_three(int result)
{
    int again = result == WEIR__ADDED_SECRET ? WEIR__ADDED_PLACE : result;
    CHECK_EQ(add("a", NULL, &token_rule, "x " TOKEN, TOKEN), result);
    CHECK_EQ(add("b/c", "beef", &token_rule, "\nx " TOKEN, TOKEN), again);
    CHECK_EQ(add("\xff\n\"", NULL, &other_rule, "x " OTHER, OTHER), result);
}

TEST(our_own_reports_are_baselines)
{
    static const enum weir__report_format formats[] = {WEIR__REPORT_JSON, WEIR__REPORT_JSONL};
    static struct text text;
    for (size_t i = 0; i < 2; i++) {
        text = (struct text){0};
        start();
        add_three(WEIR__ADDED_SECRET);
        weir__findings_finish(findings);
        CHECK_EQ(weir__report(findings, &(struct weir__summary){.version = "1"},
                              &(struct weir__report_options){.format = formats[i]},
                              &(struct weir__report_out){collect, &text}),
                 0);
        CHECK(!strstr(text.bytes, TOKEN) && !strstr(text.bytes, OTHER));
        start();
        CHECK_EQ(baseline(text.bytes), 0);
        CHECK_STR(reason, "");
        add_three(WEIR__ADDED_IGNORED);
        CHECK_EQ(add("a", NULL, &token_rule, "\n\n\n   moved " TOKEN, TOKEN), WEIR__ADDED_IGNORED);
        CHECK_EQ(add("new", NULL, &token_rule, "x " TOKEN, TOKEN), WEIR__ADDED_SECRET);
        CHECK_EQ(weir__findings_ignored(findings), 4);
    }
    end();
}

TEST(our_gitleaks_report_is_a_baseline_by_line)
{
    static struct text text;
    text.length = 0;
    start();
    add("a", NULL, &token_rule, "x " TOKEN, TOKEN);
    weir__findings_finish(findings);
    CHECK_EQ(weir__report(findings, &(struct weir__summary){.version = "1"},
                          &(struct weir__report_options){.format = WEIR__REPORT_GITLEAKS},
                          &(struct weir__report_out){collect, &text}),
             0);
    start();
    CHECK_EQ(baseline(text.bytes), 0);
    CHECK_EQ(add("a", NULL, &token_rule, "x " TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("a", NULL, &token_rule, "\nx " TOKEN, TOKEN), WEIR__ADDED_SECRET);
    end();
}

TEST(reports_of_gitleaks_are_baselines)
{
    start();
    CHECK_EQ(baseline("[\n {\"RuleID\": \"some-token\", \"File\": \"./p\", \"StartLine\": 9,"
                      " \"Secret\": \"" TOKEN "\", \"Tags\": []},\n"
                      " {\"RuleID\": \"some-token\", \"File\": \"q\", \"StartLine\": 2,"
                      " \"Secret\": \"REDACTED\"},\n"
                      " {\"RuleID\": \"other-key\", \"File\": \"q\", \"StartLine\": 1,"
                      " \"Secret\": \"key-A...\"}\n]\n"),
             0);
    CHECK_EQ(add("p", NULL, &token_rule, "x " TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("p", NULL, &other_rule, "x " TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("p", NULL, &token_rule, "x " OTHER, OTHER), WEIR__ADDED_SECRET);
    CHECK_EQ(add("q", NULL, &token_rule, "\n" TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("q", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("q", NULL, &other_rule, OTHER, OTHER), WEIR__ADDED_IGNORED);
    start();
    CHECK_EQ(baseline(" [] "), 0);
    end();
}

TEST(a_path_is_what_its_folder_calls_it)
{
    struct weir__origin origin = {0};
    struct weir__buffer scratch;
    weir__buffer_init(&scratch, 4096);
    CHECK(!weir__origin_path(NULL, "i/a", &scratch));
    CHECK(!weir__origin_path(&origin, "i/a", &scratch));
    CHECK_EQ(weir__origin_add(&origin, "i/", ""), 0);
    CHECK_EQ(weir__origin_add(&origin, "i/l", "sub"), 0);
    CHECK_EQ(weir__origin_add(&origin, "i", "not this"), 0); /* the first one stays */
    CHECK_STR(weir__origin_path(&origin, "i/a/b.c", &scratch), "a/b.c");
    CHECK_STR(weir__origin_path(&origin, "i//a", &scratch), "a");
    CHECK_STR(weir__origin_path(&origin, "i/l/x", &scratch), "sub/x");
    CHECK_STR(weir__origin_path(&origin, "i/l", &scratch), "sub");
    CHECK_STR(weir__origin_path(&origin, "i/l!m/n", &scratch), "sub!m/n");
    CHECK_STR(weir__origin_path(&origin, "i/ll", &scratch), "ll");
    CHECK(!weir__origin_path(&origin, "i", &scratch));
    CHECK(!weir__origin_path(&origin, "in/a", &scratch));
    CHECK(!weir__origin_path(&origin, "x/i/a", &scratch));
    weir__origin_fini(&origin);
    CHECK_EQ(weir__origin_add(&origin, "/", ""), 0); /* the root is a folder, too */
    CHECK_STR(weir__origin_path(&origin, "/a/b", &scratch), "a/b");
    CHECK(!weir__origin_path(&origin, "a/b", &scratch));
    weir__origin_fini(&origin);
    for (unsigned i = 0; i < WEIR__ORIGIN_MAX; i++)
        CHECK_EQ(weir__origin_add(&origin, (char[]){(char)('a' + i), '\0'}, ""), 0);
    CHECK_EQ(weir__origin_add(&origin, "a", ""), 0);
    CHECK_EQ(weir__origin_add(&origin, "zz", ""), -WEIR_E_TOO_LARGE);
    weir__origin_fini(&origin);
    weir__buffer_fini(&scratch);
}

TEST(what_was_found_and_what_was_given_have_folders_of_their_own)
{
    static const char found_line[] = "sub/a.c:some-token:1", given_line[] = "sub/b.c:some-token:1";
    struct weir__origin here = {0}, there = {0};
    char print[WEIR__FINGERPRINT_SIZE];
    unsigned line;
    CHECK_EQ(weir__origin_add(&here, "/x", ""), 0);
    CHECK_EQ(weir__origin_add(&there, "/x/i", ""), 0);
    weir__findings_free(findings);
    struct weir__findings_options options = {.given_origin = &here, .found_origin = &there};
    CHECK_EQ(weir__findings_new(&findings, &options), 0);
    CHECK_EQ(weir__findings_ignore_found(findings, found_line, strlen(found_line), &line), 0);
    CHECK_EQ(weir__findings_ignore(findings, given_line, strlen(given_line), &line), 0);
    weir__fingerprint("key-file", "sub/k.pem", 9, "sub/k.pem", print);
    CHECK_EQ(weir__findings_ignore_found(findings, print, strlen(print), &line), 0);
    CHECK_EQ(add("/x/i/sub/a.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("sub/a.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("/x/sub/b.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("/x/sub/a.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
    CHECK_EQ(add("/x/i/sub/b.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_PLACE);
    CHECK_EQ(add("/x/i/sub/k.pem", NULL, &path_rule, "/x/i/sub/k.pem", "/x/i/sub/k.pem"),
             WEIR__ADDED_IGNORED);
    CHECK_EQ(add("/x/sub/k.pem", NULL, &path_rule, "/x/sub/k.pem", "/x/sub/k.pem"),
             WEIR__ADDED_SECRET);
    end();
    weir__origin_fini(&here);
    weir__origin_fini(&there);
}

TEST(a_backslash_is_a_slash_or_itself)
{
    static const char lines[] = "sub\\a.c:some-token:1\n\"sub\\\\b.c:some-token:1\"\n";
    unsigned line;
    start();
    CHECK_EQ(weir__findings_ignore(findings, lines, strlen(lines), &line), 0);
    CHECK_EQ(add("sub/a.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("sub\\a.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("sub\\b.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_IGNORED);
    CHECK_EQ(add("sub/b.c", NULL, &token_rule, TOKEN, TOKEN), WEIR__ADDED_SECRET);
    end();
}

TEST(bad_baselines_are_refused_with_a_reason)
{
    static const struct {
        const char *text, *reason;
    } table[] = {
        {"", "line 1: it is empty"},
        {" \n ", "line 2: it is empty"},
        {"x", "line 1: not a report"},
        {"[", "line 1: not JSON"},
        {"[{}]", "neither a report of weir"},
        {"[1]", "neither a report of weir"},
        {"[{\"RuleID\":\"a\",\"File\":\"b\"}]", "without secret and line"},
        {"[{\"RuleID\":\"a\",\"File\":\"b\",\"Secret\":\"c\"}", "not JSON, or cut off"},
        {"[{\"RuleID\":\"a\",\"File\":\"b\",\"Secret\":\"c\"},]", "not JSON, or cut off"},
        {"[] []", "more than one report"},
        {"{}", "no 'findings'"},
        {"{,}", "not JSON"},
        {"{\"findings\":[{\"everywhere\":1,\"places\":[{\"fingerprint\":"
         "\"0123456789abcdef0123456789abcdef\"}]}]}",
         "without its fingerprint"},
        {"{\"a\":1}", "no 'findings'"},
        {"{\"a\":1", "cut off"},
        {"{\"findings\":1}", "an array is expected"},
        {"{\"findings\":[{}]}", "without its places"},
        {"{\"findings\":[{\"places\":[]}]}", "without its places"},
        {"{\n\"findings\":[{\"places\":\n[{\"fingerprint\":\"abc\"}]}]}", "line 3: a finding"},
        {"{\"type\":\"finding\",\"places\":[{}]}", "without its fingerprint"},
        {"{\"type\":\"other\"}", "the summary at the end is missing"},
        {"{\"type\":\"summary\"} {\"x\":1}", "a line without its type"},
        {"{\"type\":\"summary\"} 1", "a line without its type"},
        {"[\"\xff\"]", "not JSON"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start();
        CHECK_EQ(baseline(table[i].text), -WEIR_E_INVALID);
        CHECK_HAS(reason, table[i].reason);
    }
    start();
    CHECK_EQ(weir__findings_baseline_text(findings, "[1]", 3, NULL, 0), -WEIR_E_INVALID);
    CHECK_EQ(baseline("{\"type\":\"summary\"}"), 0);
    CHECK_EQ(baseline("{\"format_version\":2,\"findings\":[]}"), -WEIR_E_INVALID);
    CHECK(strstr(reason, "another version") != NULL);
    CHECK_EQ(baseline("{\"format_version\":1,\"findings\":[]}"), 0);
    CHECK_EQ(baseline("{\"findings\":[],\"more\":[{\"a\":null}]}"), 0);
    end();
}

/* Many threads. */

enum { THREADS = 4, ROUNDS = 600 };

static void *add_many(void *arg)
{
    char path[32], secret[64];
    unsigned number = *(unsigned *)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(path, sizeof(path), "t%u/%03u", number, i % 100);
        snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmnopq%03u", i % 50);
        if (add(path, NULL, &token_rule, secret, secret) < 0)
            return arg;
    }
    return NULL;
}

TEST(many_threads_add)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    start();
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_EQ(pthread_create(&threads[i], NULL, add_many, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        CHECK(!failed);
    }
    weir__findings_finish(findings);
    CHECK_EQ(weir__findings_count(findings), 50);
    for (size_t i = 0; i < 50; i++) {
        CHECK_EQ(at(i)->places_total, THREADS * ROUNDS / 50);
        CHECK_EQ(at(i)->places_count, THREADS * ROUNDS / 50);
    }
    end();
}

#ifdef WEIR_FAULTS
/* Whichever allocation fails: nothing leaks, nothing is lost without being counted. */
TEST(allocations_fail)
{
    static struct text text;
    for (uint64_t n = 1; n < 1000; n++) {
        weir_fault_arm(WEIR_FAULT_ALLOC, n);
        struct weir__findings *made = NULL;
        unsigned bad = 0;
        uint64_t told = 0;
        int error = weir__findings_new(&made, &(struct weir__findings_options){0});
        if (error == 0) {
            (void)!weir__findings_ignore(made, "a:b:1\n", 6, &bad);
            for (unsigned i = 0; i < 70; i++) {
                char secret[64];
                snprintf(secret, sizeof(secret), "tok_0123456789abcdefghijklmnopq%03u", i / 2);
                struct weir__finding finding = found_in(&token_rule, secret, secret);
                int result = weir__findings_add(made, i % 2 ? "a" : "b", NULL, &finding);
                CHECK(result >= 0 || result == -WEIR_E_NO_MEMORY);
                told += result == WEIR__ADDED_SECRET || result == WEIR__ADDED_PLACE;
            }
            weir__findings_finish(made);
            for (size_t i = 0; i < weir__findings_count(made); i++) {
                const struct weir__found *found = weir__findings_at(made, i);
                told += found->places_total - found->places_count;
                CHECK_EQ(found->places_total > found->places_count, found->everywhere[0] != '\0');
            }
            CHECK_EQ(told + weir__findings_unlisted(made), 70);
            for (int format = 0; format < WEIR__REPORT_FORMATS; format++) {
                text.length = 0;
                int result =
                    weir__report(made, &(struct weir__summary){.version = "1"},
                                 &(struct weir__report_options){.format = (unsigned)format},
                                 &(struct weir__report_out){collect, &text});
                CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
            }
        }
        weir__findings_free(made);
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_ALLOC);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
        if (!was_hit) {
            CHECK(n > 50);
            return;
        }
    }
    tap_fail(__FILE__, __LINE__, "the sweep does not end");
}
#endif

TAP_MAIN()
