/* test_git_about.c - author, dates and subject of a commit, as they are shown. */
#include "git_meta_help.h"

#include "commit_about.h"

static char why[WEIR__GIT_FLAW_MAX];

static void about(struct weir__git_about *ret_about, const char *dir, const char *name, bool is_tag)
{
    struct cat cat;
    struct weir__buffer bytes;
    enum weir__git_type type;
    struct weir__git_id id = rev(dir, name, 20);
    cat_begin(&cat, dir, 20);
    weir__buffer_init(&bytes, 1 << 20);
    CHECK_EQ(cat_get(&cat, &id, &type, &bytes), 0);
    const char *text = weir__buffer_text(&bytes);
    size_t length = weir__buffer_length(&bytes);
    memset(ret_about, 'x', sizeof(*ret_about));
    CHECK_EQ(is_tag ? weir__git_about_tag(ret_about, text, length, 20, why)
                    : weir__git_about_commit(ret_about, text, length, 20, why),
             0);
    weir__buffer_fini(&bytes);
    cat_end(&cat);
}

/* What git prints in that format, without its line's end. */
static void same_as_git(const char *name, const char *format, const char *ours)
{
    char *text =
        heard("git -C r log -1 --date=iso-strict --encoding=UTF-8 --format='%s' %s", format, name);
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, ours) != 0)
        tap_fail(__FILE__, __LINE__, "%s of %s: ours '%s', git's '%s'", format, name, ours, text);
    free(text);
}

TEST(as_git_says_it)
{
    static const char *const names[] = {"one", "two", "three", "latin", "empty"};
    struct weir__git_about it;
    meta_begin();
    sh("git init -q r; cd r; git commit -q --allow-empty -m 'Subject here\n\nBody'; git tag one\n"
       "GIT_AUTHOR_NAME='Zo\xc3\xab M\xc3\xbcller' GIT_AUTHOR_EMAIL='zoe@example.org' "
       "GIT_AUTHOR_DATE='1650000000 -0330' git commit -q --allow-empty --cleanup=verbatim -m '\n\n"
       "  Two lines  \nof a subject\t\n\nAnd more'; git tag two\n"
       "git commit -q --allow-empty -m 'One line \xe2\x82\xac'; git tag three\n"
       "git -c i18n.commitEncoding=ISO-8859-1 commit -q --allow-empty -m $'Gr\\xfc\\xdfe' "
       "--author=$'J\\xf6rg <j@example.org>'; git tag latin\n"
       "git commit -q --allow-empty --allow-empty-message -m ''; git tag empty\n"
       "git tag -a -m 'Release one\n\ntext' release");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        about(&it, "r", names[i], false);
        same_as_git(names[i], "%an", it.author);
        same_as_git(names[i], "%ae", it.mail);
        same_as_git(names[i], "%ad", it.date);
        same_as_git(names[i], "%cd", it.committed);
        same_as_git(names[i], "%s", it.subject);
    }
    about(&it, "r", "release", true);
    CHECK(strcmp(it.subject, "Release one") == 0 && strcmp(it.author, "C O Mitter") == 0);
    CHECK(strcmp(it.date, "2023-11-14T23:13:20+01:00") == 0 && it.time == 1700000000);
}

static int parse(struct weir__git_about *it, const char *author, const char *rest)
{
    char text[4096];
    snprintf(text, sizeof(text), "tree %040d\nauthor %s\ncommitter C <c@d> 1700000000 +0000\n%s", 1,
             author, rest);
    return weir__git_about_commit(it, text, strlen(text), 20, why);
}

TEST(any_bytes_are_made_fit_to_be_shown)
{
    struct weir__git_about it;
    char longer[1000];
    CHECK_EQ(parse(&it, "\x1b[31mE\x07vil <a\x7f@b> 1 +0000", "\nx\x1b]0;t\x07y\tz"), 0);
    CHECK(strcmp(it.author, "\\x1b[31mE\\x07vil") == 0 && strcmp(it.mail, "a\\x7f@b") == 0);
    CHECK(strcmp(it.subject, "x\\x1b]0;t\\x07y\\tz") == 0);
    /* Bytes that are no UTF-8, and C1 controls that are. */
    CHECK_EQ(parse(&it, "J\xf6rg \xc2\x9b <a@b> 1 +0000", "\ncut \xe2\x82"), 0);
    CHECK(strcmp(it.author, "J\\xf6rg \\x9b") == 0 && strcmp(it.subject, "cut \\xe2\\x82") == 0);
    /* Nothing at all. */
    CHECK_EQ(parse(&it, "", ""), 0);
    CHECK(!it.author[0] && !it.mail[0] && !it.date[0] && !it.subject[0] && it.time == 0);
    CHECK_EQ(weir__git_about_commit(&it, "tree", 4, 20, why), -WEIR_E_CORRUPT);
    CHECK(why[0]);
    /* A NUL in the middle. */
    struct weir__git_range range = {1, 3};
    char text[8];
    weir__git_about_text(text, sizeof(text), "xa\0b", &range, false);
    CHECK(strcmp(text, "a\\x00b") == 0);
    /* Cut, and never in the middle of a character. */
    for (size_t length = 1; length < 300; length++) {
        size_t used = 0;
        while (used < length)
            used += (size_t)snprintf(longer + used, 8, "%s", used % 3 ? "\xe2\x82\xac" : "ab");
        range = (struct weir__git_range){0, used};
        char shown[WEIR__GIT_ABOUT_NAME];
        weir__git_about_text(shown, sizeof(shown), longer, &range, false);
        size_t size = strlen(shown);
        CHECK(size < sizeof(shown));
        if (used < sizeof(shown)) {
            CHECK(size == used && memcmp(shown, longer, size) == 0);
            continue;
        }
        CHECK(size > sizeof(shown) - 10 && strcmp(shown + size - 3, "...") == 0);
        CHECK(memcmp(shown, longer, size - 3) == 0);
        CHECK(((unsigned char)longer[size - 3] & 0xc0) != 0x80);
    }
    /* A subject that has no end. */
    memset(longer, 's', sizeof(longer) - 1);
    longer[0] = '\n';
    longer[sizeof(longer) - 1] = '\0';
    CHECK_EQ(parse(&it, "A <b> 1 +0000", longer), 0);
    CHECK(strlen(it.subject) == WEIR__GIT_ABOUT_SUBJECT - 1);
    CHECK(strcmp(it.subject + WEIR__GIT_ABOUT_SUBJECT - 4, "...") == 0);
}

TAP_MAIN()
