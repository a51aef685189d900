/* test_lines.c - lines of any bytes, of any length up to the limit, with either end. */
#include "lines.h"

#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/error.h>

static char path[] = "/tmp/weir-lines-XXXXXX";

static void drop_file(void)
{
    unlink(path);
}

static void put(const char *bytes, size_t length)
{
    static bool is_made;
    if (!is_made) {
        int fd = mkstemp(path);
        CHECK(fd >= 0 && close(fd) == 0 && atexit(drop_file) == 0);
        is_made = true;
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static void next_is(struct weir__lines *lines, const char *wanted, size_t wanted_length)
{
    const char *line = NULL;
    size_t length = 0;
    CHECK_EQ(weir__lines_next(lines, &line, &length), 1);
    CHECK_EQ(length, wanted_length);
    CHECK(memcmp(line, wanted, length) == 0 && line[length] == '\0');
}

static void next_is_the_end(struct weir__lines *lines)
{
    const char *line = NULL;
    size_t length = 7;
    CHECK_EQ(weir__lines_next(lines, &line, &length), 0);
    CHECK(!line && length == 7);
}

TEST(newlines)
{
    struct weir__lines lines;
    put("a\n\nb\r\nc\0d\n\xff", 11);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 100), 0);
    next_is(&lines, "a", 1);
    next_is(&lines, "", 0);
    next_is(&lines, "b\r", 2);
    next_is(&lines, "c\0d", 3);
    next_is(&lines, "\xff", 1);
    next_is_the_end(&lines);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
}

TEST(carriage_returns)
{
    struct weir__lines lines;
    put("a\r\n\r\nb\rc\nd\r", 11);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_CRLF, 100), 0);
    next_is(&lines, "a", 1);
    next_is(&lines, "", 0);
    next_is(&lines, "b\rc", 3);
    next_is(&lines, "d", 1);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
}

TEST(nul)
{
    struct weir__lines lines;
    put("a\nb\0c\0", 6);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_NUL, 100), 0);
    next_is(&lines, "a\nb", 3);
    next_is(&lines, "c", 1);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
}

TEST(nothing_in_it)
{
    struct weir__lines lines;
    put("", 0);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 100), 0);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
}

/* Around the edges of the blocks in which the file is read. */
TEST(long_lines)
{
    enum { SIZE = 200000 };
    static char text[SIZE];
    struct weir__lines lines;
    memset(text, 'x', sizeof(text));
    text[65535] = text[65536] = text[131073] = '\n';
    put(text, sizeof(text));
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 70000), 0);
    next_is(&lines, text, 65535);
    next_is(&lines, text, 0);
    next_is(&lines, text + 65537, 131073 - 65537);
    next_is(&lines, text + 131074, SIZE - 131074);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
    const char *line;
    size_t length;
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 65534), 0);
    CHECK_EQ(weir__lines_next(&lines, &line, &length), -WEIR_E_OVERFLOW);
    weir__lines_fini(&lines);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 65535), 0);
    next_is(&lines, text, 65535);
    weir__lines_fini(&lines);
}

TEST(its_place)
{
    struct weir__lines lines;
    uint64_t at, size;
    put("one\ntwo\n", 8);
    CHECK_EQ(weir__lines_open(&lines, path, WEIR__LINES_LF, 100), 0);
    CHECK(weir__lines_place(&lines, &at, &size));
    CHECK(at == 0 && size == 8);
    next_is(&lines, "one", 3);
    CHECK(weir__lines_place(&lines, &at, &size));
    CHECK(at == 4 && size == 8);
    weir__lines_fini(&lines);
    int fds[2], input = dup(STDIN_FILENO);
    CHECK(pipe(fds) == 0 && dup2(fds[0], STDIN_FILENO) == STDIN_FILENO);
    CHECK(write(fds[1], "x\n", 2) == 2 && close(fds[1]) == 0 && close(fds[0]) == 0);
    CHECK_EQ(weir__lines_open(&lines, "-", WEIR__LINES_LF, 100), 0);
    CHECK(!weir__lines_place(&lines, &at, &size));
    next_is(&lines, "x", 1);
    next_is_the_end(&lines);
    weir__lines_fini(&lines);
    char byte;
    CHECK_EQ(read(STDIN_FILENO, &byte, 1), 0); /* it is still open */
    if (input >= 0)
        dup2(input, STDIN_FILENO);
}

TEST(what_cannot_be_read)
{
    struct weir__lines lines;
    const char *line;
    size_t length;
    CHECK_EQ(weir__lines_open(&lines, "/nonexistent/list", WEIR__LINES_LF, 100), -WEIR_E_NOT_FOUND);
    CHECK_EQ(errno, ENOENT);
    weir__lines_fini(&lines);
    CHECK_EQ(weir__lines_open(&lines, "/tmp", WEIR__LINES_LF, 100), 0);
    CHECK(weir__lines_next(&lines, &line, &length) < 0);
    CHECK_EQ(errno, EISDIR);
    weir__lines_fini(&lines);
}

TAP_MAIN()
