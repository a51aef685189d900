/* test_copy_lines.c - lines as rsync prints them, JSON that loses nothing, summaries. */
#include "copy_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weir/error.h>

#include "log.h"

#include "tap.h"

static char said[65536];

static void read_back(int fd)
{
    ssize_t length = pread(fd, said, sizeof(said) - 1, 0);
    said[length > 0 ? length : 0] = '\0';
    close(fd);
}

static const char *line(enum weir__copy_lines style, struct weir__copy_event event)
{
    int fd = memfd_create("lines", 0);
    struct weir__out out;
    weir__out_init(&out, fd);
    weir__copy_print(&out, &event, style);
    int errno_value;
    CHECK_EQ(weir__out_finish(&out, &errno_value), 0);
    read_back(fd);
    return said;
}

#define NAMES(...)     line(WEIR__LINES_NAMES, (struct weir__copy_event){__VA_ARGS__})
#define ALL_NAMES(...) line(WEIR__LINES_ALL_NAMES, (struct weir__copy_event){__VA_ARGS__})
#define ITEMS(...)     line(WEIR__LINES_ITEMIZED, (struct weir__copy_event){__VA_ARGS__})

TEST(names_as_rsync_v_prints_them)
{
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "a/b"), "a/b\n");
    CHECK_STR(NAMES(.update = 'c', .type = 'd', .path = "a"), "a/\n");
    CHECK_STR(NAMES(.update = '.', .type = 'd', .path = "."), "./\n");
    CHECK_STR(NAMES(.update = 'c', .type = 'L', .path = "l", .target = "../x"), "l -> ../x\n");
    CHECK_STR(NAMES(.update = 'h', .type = 'f', .path = "h", .target = "a/b"), "h => a/b\n");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_DELETED, .type = 'd', .path = "old"), "deleting old/\n");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_DELETED, .type = 'f', .path = "old"), "deleting old\n");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_METHOD, .path = "small", .detail = "read+write",
                    .bytes = 256 << 10),
              "");
    CHECK_STR(
        NAMES(.kind = WEIR__EVENT_METHOD, .path = "big", .detail = "io_uring", .bytes = 1 << 20),
        "moved by io_uring: big\n");
    /* New metadata of a file alone is for -i. */
    CHECK_STR(NAMES(.update = '.', .type = 'f', .changes = WEIR__CHANGE_MODE, .path = "m"), "");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_SAME, .type = 'f', .path = "s"), "");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_SKIPPED, .path = "s", .detail = "newer"), "");
    CHECK_STR(NAMES(.kind = WEIR__EVENT_ERROR, .path = "s", .what = "cannot"), "");
}

TEST(names_of_what_stays_as_it_is_or_is_left_out)
{
    CHECK_STR(ALL_NAMES(.update = '>', .type = 'f', .path = "a/b"), "a/b\n");
    CHECK_STR(ALL_NAMES(.update = '.', .type = 'f', .changes = WEIR__CHANGE_MODE, .path = "m"),
              "m\n");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_SAME, .type = 'f', .path = "s\n"),
              "s\\#012 is uptodate\n");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_SAME, .type = 'L', .path = "l", .target = "t"),
              "l is uptodate\n");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_SAME, .type = 'd', .path = "d"), "");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_SKIPPED, .path = "s\n", .detail = "newer"),
              "skipping s\\#012: newer\n");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_METHOD, .path = "big", .detail = "io_uring",
                        .bytes = 1 << 20),
              "moved by io_uring: big\n");
    CHECK_STR(ALL_NAMES(.kind = WEIR__EVENT_ERROR, .path = "s", .what = "cannot"), "");
}

TEST(items_as_rsync_i_prints_them)
{
    CHECK_STR(ITEMS(.update = '>', .type = 'f', .is_new = true, .path = "a b"),
              ">f+++++++++ a b\n");
    CHECK_STR(ITEMS(.update = '.', .type = 'd', .changes = WEIR__CHANGE_TIME, .path = "a"),
              ".d..t...... a/\n");
    CHECK_STR(ITEMS(.update = 'c', .type = 'L', .is_new = true, .path = "l", .target = "t"),
              "cL+++++++++ l -> t\n");
    CHECK_STR(ITEMS(.update = 'h', .type = 'f', .is_new = true, .path = "h", .target = "a"),
              "hf+++++++++ h => a\n");
    CHECK_STR(ITEMS(.update = 'h', .type = 'L', .is_new = true, .path = "h", .target = "a"),
              "hL+++++++++ h => a\n");
    CHECK_STR(ITEMS(.kind = WEIR__EVENT_DELETED, .type = 'd', .path = "old"), "*deleting   old/\n");
    CHECK_STR(
        ITEMS(.kind = WEIR__EVENT_METHOD, .path = "big", .detail = "reflink", .bytes = 1 << 20),
        "*moved      big: reflink\n");
    CHECK_STR(ITEMS(.kind = WEIR__EVENT_SAME, .update = '.', .type = 'f', .path = "s"),
              ".f          s\n");
    CHECK_STR(ITEMS(.kind = WEIR__EVENT_SAME, .update = '.', .type = 'd', .path = "d"),
              ".d          d/\n");
    CHECK_STR(ITEMS(.kind = WEIR__EVENT_SAME, .type = 'L', .path = "l", .target = "t"),
              ".L          l -> t\n");
    CHECK_STR(ITEMS(.kind = WEIR__EVENT_SKIPPED, .path = "s", .detail = "newer"),
              "*skipped    s: newer\n");
}

TEST(names_cannot_drive_the_terminal)
{
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "new\nline"), "new\\#012line\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "\x1b[31m"), "\\#033[31m\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "bad\xff"), "bad\\#377\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "\xc3\xbc"), "\xc3\xbc\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "tab\tx"), "tab\tx\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "del\x7f"), "del\\#177\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "c1\xc2\x85"), "c1\\#302\\#205\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "back\\#123x"), "back\\#134#123x\n");
    CHECK_STR(NAMES(.update = '>', .type = 'f', .path = "back\\#12"), "back\\#12\n");
    CHECK_STR(NAMES(.update = 'c', .type = 'L', .path = "l", .target = "a\rb"), "l -> a\\#015b\n");
}

/* What the log says about an event. */
static const char *logged(struct weir__copy_event event)
{
    int fd = memfd_create("log", 0), old = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fd, STDERR_FILENO);
    weir__copy_log(&event);
    dup2(old, STDERR_FILENO);
    close(old);
    read_back(fd);
    return said;
}

#define LOGGED(...) logged((struct weir__copy_event){__VA_ARGS__})

TEST(errors_end_with_their_reason)
{
    weir__log_subject("weir", "copy");
    CHECK_STR(LOGGED(.kind = WEIR__EVENT_ERROR, .what = "cannot open", .path = "a/b",
                     .errno_value = EACCES),
              "weir copy: cannot open 'a/b': permission denied\n");
    CHECK_STR(LOGGED(.kind = WEIR__EVENT_ERROR, .what = "cannot set an attribute of", .path = "a",
                     .detail = "user.x", .errno_value = ENOSPC),
              "weir copy: cannot set an attribute of 'a': user.x: no space left on device\n");
    CHECK_STR(LOGGED(.kind = WEIR__EVENT_ERROR, .what = "changed while it was read:", .path = "a"),
              "weir copy: changed while it was read: 'a'\n");
    CHECK_STR(LOGGED(.kind = WEIR__EVENT_NOTE, .path = "", .detail = "64 at once"),
              "weir copy: 64 at once\n");
    CHECK_STR(LOGGED(.kind = WEIR__EVENT_NOTE, .path = "a\n", .detail = "odd"),
              "weir copy: 'a\\#012': odd\n");
    static char deep[100000];
    memset(deep, '\n', sizeof(deep) - 1);
    LOGGED(.kind = WEIR__EVENT_ERROR, .what = "cannot open", .path = deep, .detail = deep,
           .errno_value = EACCES);
    CHECK_HAS(said, "\\#012...': \\#012");
    CHECK_HAS(said, "...: permission denied\n");
    CHECK(strlen(said) < WEIR__LOG_LINE_MAX);
}

static struct weir__buffer buffer;

static const char *json(struct weir__copy_event event, bool is_cut)
{
    weir__buffer_fini(&buffer);
    weir__buffer_init(&buffer, WEIR__COPY_JSON_MAX);
    CHECK_EQ(weir__copy_json(&buffer, &event, is_cut), 0);
    return weir__buffer_text(&buffer);
}

#define JSON(...) json((struct weir__copy_event){__VA_ARGS__}, false)

TEST(json_keeps_everything)
{
    CHECK_STR(JSON(.update = '>', .type = 'f', .is_new = true, .path = "a", .bytes = 7),
              "{\"event\":\"item\",\"path\":\"a\",\"itemized\":\">f+++++++++\",\"type\":\"file\","
              "\"new\":true,\"bytes\":7}\n");
    CHECK_STR(JSON(.update = '>', .type = 'f', .path = "n\n",
                   .changes = WEIR__CHANGE_SIZE | WEIR__CHANGE_XATTR),
              "{\"event\":\"item\",\"path\":\"n\\n\",\"itemized\":\">f.s......x\","
              "\"type\":\"file\",\"new\":false,\"changes\":[\"size\",\"xattr\"],\"bytes\":0}\n");
    CHECK_HAS(JSON(.update = 'c', .type = 'L', .is_new = true, .path = "\xff", .target = "\xfe"),
              "\"path\":\"\xef\xbf\xbd\",\"path_hex\":\"ff\",\"target\":\"\xef\xbf\xbd\","
              "\"target_hex\":\"fe\",");
    CHECK_STR(JSON(.kind = WEIR__EVENT_SKIPPED, .path = "s", .detail = "newer"),
              "{\"event\":\"skipped\",\"path\":\"s\",\"detail\":\"newer\"}\n");
    CHECK_STR(JSON(.kind = WEIR__EVENT_METHOD, .path = "s", .detail = "io_uring"),
              "{\"event\":\"method\",\"path\":\"s\",\"method\":\"io_uring\"}\n");
    CHECK_STR(JSON(.kind = WEIR__EVENT_NOTE, .path = "", .detail = "x"),
              "{\"event\":\"note\",\"detail\":\"x\"}\n");
    CHECK_STR(
        JSON(.kind = WEIR__EVENT_ERROR, .path = "s", .what = "cannot open", .errno_value = ENOENT),
        "{\"event\":\"error\",\"path\":\"s\",\"what\":\"cannot open\","
        "\"reason\":\"no such file or directory\",\"errno\":2}\n");
    CHECK_STR(json((struct weir__copy_event){.kind = WEIR__EVENT_DELETED, .type = 'd', .path = "o"},
                   true),
              "{\"event\":\"deleted\",\"path\":\"o\",\"itemized\":\"*deleting  \","
              "\"type\":\"directory\",\"cut\":true}\n");
}

TEST(json_is_whole_or_not_there)
{
    weir__buffer_fini(&buffer);
    weir__buffer_init(&buffer, 200);
    struct weir__copy_event event = {.update = '>', .type = 'f', .is_new = true, .path = "a"};
    CHECK_EQ(weir__copy_json(&buffer, &event, false), 0);
    size_t length = weir__buffer_length(&buffer);
    static char name[300];
    memset(name, '\xff', sizeof(name) - 1);
    event.path = name;
    CHECK_EQ(weir__copy_json(&buffer, &event, false), -WEIR_E_OVERFLOW);
    CHECK_EQ(weir__buffer_length(&buffer), length);
}

static struct weir__copy_stats stats;
static char text[WEIR__COPY_SUMMARY_MAX];

static const char *summary(uint64_t elapsed_ns, bool is_dry_run)
{
    struct weir__copy_ending ending = {
        .stats = &stats, .elapsed_ns = elapsed_ns, .is_dry_run = is_dry_run};
    weir__copy_summary(&ending, text);
    return text;
}

TEST(one_line_at_the_end)
{
    stats = (struct weir__copy_stats){0};
    CHECK_STR(summary(0, false), "nothing done; 0 B moved in 0ms");
    stats.created = 12;
    stats.unchanged = 3;
    stats.bytes_written = 3 << 20;
    CHECK_STR(summary(1500 * WEIR_NS_PER_MS, false),
              "12 created, 3 unchanged; 3.00 MiB moved in 1.5s, 2.00 MiB/s");
    stats.errors = 1;
    stats.delete_held = true;
    CHECK_STR(summary(90 * WEIR_NS_PER_S, true),
              "12 created, 3 unchanged; 3.00 MiB moved in 1:30, 34.1 KiB/s; nothing deleted, since "
              "there were errors; 1 error (dry run)");
    stats.delete_held = false;
    stats.delete_limited = true;
    stats.errors = 2;
    stats.bytes_reflinked = 1024;
    CHECK_HAS(summary(1, false), " moved, 1.00 KiB shared in 0ms");
    CHECK_HAS(text, "; '--max-delete' kept the rest from being deleted; 2 errors");
    memset(&stats, 0xff, sizeof(stats));
    stats.is_discovered = stats.delete_limited = stats.delete_held = true;
    summary(UINT64_MAX, true);
    CHECK(strlen(text) < sizeof(text));
}

TEST(ways_of_the_data)
{
    stats = (struct weir__copy_stats){0};
    weir__copy_ways(&stats, text);
    CHECK_STR(text, "");
    stats.bytes_range = 1 << 30;
    stats.bytes_plain = 5;
    weir__copy_ways(&stats, text);
    CHECK_STR(text, "data: 1.00 GiB by copy_file_range, 5 B by read+write");
    stats.bytes_reflinked = stats.bytes_ring = 2048;
    weir__copy_ways(&stats, text);
    CHECK_STR(text, "data: 2.00 KiB by reflink, 1.00 GiB by copy_file_range, 2.00 KiB by io_uring, "
                    "5 B by read+write");
}

TEST(the_last_object)
{
    stats = (struct weir__copy_stats){.files = 3, .errors = 1, .delete_held = true};
    struct weir__copy_ending ending = {.stats = &stats,
                                       .result = -WEIR_E_INCOMPLETE,
                                       .elapsed_ns = 1500 * WEIR_NS_PER_MS,
                                       .is_dry_run = true};
    weir__buffer_fini(&buffer);
    weir__buffer_init(&buffer, WEIR__COPY_JSON_MAX);
    CHECK_EQ(weir__copy_summary_json(&buffer, &ending), 0);
    CHECK_HAS(weir__buffer_text(&buffer), "{\"event\":\"summary\",\"result\":\"Incomplete\","
                                          "\"dry_run\":true,\"seconds\":1.5,\"files\":3,");
    CHECK_HAS(weir__buffer_text(&buffer), "\"errors\":1,");
    CHECK_HAS(weir__buffer_text(&buffer), "\"delete_limited\":false,\"delete_held\":true}\n");
    weir__buffer_fini(&buffer);
}

TAP_MAIN()
