/* test_log.c - how lines look, and when color is wanted. */
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "term.h"

static char line[WEIR__LOG_LINE_MAX];

TEST(lines_begin_with_program_and_command)
{
    weir__log_subject("weir", "copy");
    CHECK_EQ(weir__log_format(line, WEIR__LOG_ERROR, "cannot open '%s': %s", "a/b",
                              weir__log_reason(EACCES)),
             strlen(line));
    CHECK_STR(line, "weir copy: cannot open 'a/b': permission denied\n");
    weir__log_format(line, WEIR__LOG_WARNING, "slow");
    CHECK_STR(line, "weir copy: warning: slow\n");
    weir__log_subject("weir", NULL);
    weir__log_format(line, WEIR__LOG_INFO, "done");
    CHECK_STR(line, "weir: done\n");
}

TEST(control_characters_cannot_drive_the_terminal)
{
    weir__log_subject("weir", NULL);
    weir__log_format(line, WEIR__LOG_ERROR, "'%s'", "a\n\t\033[31m\x7f\xc2\x9b\xc3\xa4");
    CHECK_STR(line, "weir: 'a\\n\\t\\x1b[31m\\x7f\\x9b\xc3\xa4'\n");
}

TEST(long_lines_are_cut_and_say_so)
{
    char text[2 * WEIR__LOG_LINE_MAX];
    memset(text, '\033', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    size_t length = weir__log_format(line, WEIR__LOG_ERROR, "%s", text);
    CHECK(length < WEIR__LOG_LINE_MAX);
    CHECK_STR(line + length - 4, "...\n");
}

TEST(lines_of_json_are_whole)
{
    char text[WEIR__LOG_LINE_MAX], many[WEIR__LOG_LINE_MAX];
    weir__log_subject("weir", "storage");
    weir__log_as_json(true);
    weir__log_format(text, WEIR__LOG_WARNING, "a \"b\" \\ \n \xff");
    const char *behind = strstr(text, "\",\"level\":");
    CHECK(strncmp(text, "{\"time\":\"", 9) == 0 && behind);
    CHECK(behind && strcmp(behind, "\",\"level\":\"warning\",\"subject\":\"weir storage\","
                                   "\"message\":\"a \\\"b\\\" \\\\ \\\\n \\\\xff\"}\n") == 0);
    memset(many, '"', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    size_t length = weir__log_format(text, WEIR__LOG_INFO, "%s", many);
    CHECK(length < sizeof(text) && length == strlen(text));
    CHECK(strcmp(text + length - 8, "\\\"...\"}\n") == 0);
    weir__log_as_json(false);
}

TEST(reasons_are_lower_case)
{
    CHECK_STR(weir__log_reason(ENOSPC), "no space left on device");
    CHECK_STR(weir__log_reason(EIO), "input/output error");
    CHECK_HAS(weir__log_reason(99999), "99999");
}

TEST(color_rule)
{
    CHECK(weir__term_color_rule(NULL, NULL, "xterm", true));
    CHECK(!weir__term_color_rule(NULL, NULL, "xterm", false));
    CHECK(!weir__term_color_rule(NULL, NULL, "dumb", true));
    CHECK(!weir__term_color_rule(NULL, NULL, NULL, true));
    CHECK(!weir__term_color_rule(NULL, NULL, "", true));
    CHECK(!weir__term_color_rule("1", NULL, "xterm", true));
    CHECK(weir__term_color_rule("", NULL, "xterm", true));
    CHECK(weir__term_color_rule(NULL, "1", "dumb", false));
    CHECK(!weir__term_color_rule(NULL, "0", "xterm", false));
    CHECK(!weir__term_color_rule("1", "1", "xterm", true));
}

TEST(width_comes_from_columns_when_sane)
{
    setenv("COLUMNS", "132", 1);
    CHECK_EQ(weir__term_width(-1), 132);
    CHECK_EQ(weir__term_line(-1), 132); /* what is no terminal has no say */
    static const char *const silly[] = {"", "0", "-5", "abc", "80x", "19", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(silly) / sizeof(silly[0]); i++) {
        setenv("COLUMNS", silly[i], 1);
        CHECK_EQ(weir__term_width(-1), 80);
    }
    unsetenv("COLUMNS");
    CHECK_EQ(weir__term_width(-1), 80);
}

static void hide_b(char *message)
{
    for (char *at = message; (at = strchr(at, 'b')) != NULL;)
        *at = '*';
}

TEST(a_filter_sees_every_message_before_it_is_shown)
{
    int fds[2], saved = dup(STDERR_FILENO);
    CHECK_EQ(pipe(fds), 0);
    dup2(fds[1], STDERR_FILENO);
    weir__log_subject("abc", NULL);
    weir__log_filter(hide_b);
    weir__log(WEIR__LOG_ERROR, "a '%s'", "bab\n");
    weir__log_filter(NULL);
    weir__log(WEIR__LOG_ERROR, "b");
    dup2(saved, STDERR_FILENO);
    ssize_t length = read(fds[0], line, sizeof(line) - 1);
    CHECK(length > 0);
    line[length > 0 ? length : 0] = '\0';
    CHECK_STR(line, "abc: a '*a*\\n'\nabc: b\n");
    close(fds[0]);
    close(fds[1]);
    close(saved);
}

TEST(styles_are_empty_without_color)
{
    CHECK_STR(weir__term_style(false, WEIR__STYLE_BOLD), "");
    CHECK_STR(weir__term_style(true, WEIR__STYLE_BOLD), "\033[1m");
}

TAP_MAIN()
