/* Tests of the names of what is not finished yet, and of who sweeps them up. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "copy_tree.h"
#include "engine.h"
#include "tap.h"

static struct weir__copy_options options;
static struct weir__copy run;
static struct weir__worker worker;
static struct weir_cancel stop;

static void start(void)
{
    tree_start();
    weir__copy_options_init(&options);
    memset(&run, 0, sizeof(run));
    memset(&worker, 0, sizeof(worker));
    weir_cancel_init(&stop, NULL);
    run.options = &options;
    run.id = 0x0123456789abcdef;
    run.boot = 0xfeedbeef;
    worker.run = &run;
    worker.stop = &stop;
    worker.temp_next = (uint64_t)3 << 48;
    tree_remove("d");
    CHECK_EQ(mkdir("d", 0755), 0);
}

static void sweep(bool is_end, bool *ret_has_leftovers)
{
    struct weir__dir dir = {.dst_fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    CHECK(dir.dst_fd >= 0);
    weir__name_sweep(&worker, &dir, is_end);
    close(dir.dst_fd);
    if (ret_has_leftovers)
        *ret_has_leftovers = dir.has_leftovers;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST(names_say_what_they_are)
{
    char text[WEIR__TEMP_SIZE];
    start();
    weir__name_file(&worker, text);
    CHECK_STR(text, ".weir-tmp.0123456789abcdef.0003000000000000");
    CHECK_EQ(weir__name_kind(text), WEIR__TEMP_FILE);
    weir__name_file(&worker, text);
    CHECK_STR(text, ".weir-tmp.0123456789abcdef.0003000000000001");
    weir__name_dir(&run, "a", 0, text);
    CHECK_STR(text, ".weir-dir.af63dc4c8601ec8c.feedbeef");
    CHECK_EQ(weir__name_kind(text), WEIR__TEMP_DIR);
    CHECK(weir__name_is_of_this_boot(&run, text));
    CHECK(!weir__name_is_of_this_boot(&run, ".weir-dir.af63dc4c8601ec8c.feedbee0"));
    weir__name_part("a", text);
    CHECK_STR(text, ".weir-part.af63dc4c8601ec8c");
    CHECK_EQ(weir__name_kind(text), WEIR__TEMP_PART);
    CHECK_EQ(weir__name_boot(), weir__name_boot());
}

TEST(what_looks_alike_is_not_ours)
{
    static const char *const others[] = {
        "",
        ".",
        "..",
        ".w",
        "weir-tmp.0123456789abcdef.0003000000000000",
        ".weir-tmp.",
        ".weir-tmp.0123456789abcdef.000300000000000",
        ".weir-tmp.0123456789abcdef.00030000000000000",
        ".weir-tmp.0123456789abcdeF.0003000000000000",
        ".weir-tmp.0123456789abcdef-0003000000000000",
        ".weir-tmp.0123456789abcdef.000300000000000g",
        ".weir-dir.af63dc4c8601ec8c.feedbee",
        ".weir-dir.af63dc4c8601ec8c.feedbeefs",
        ".weir-dir.af63dc4c8601ec8g.feedbeef",
        ".weir-part.af63dc4c8601ec8",
        ".weir-part.af63dc4c8601ec8cc",
        ".weir-port.af63dc4c8601ec8c",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CHECK_EQ(weir__name_kind(others[i]), WEIR__NOT_OURS);
}

TEST(a_file_that_is_written_is_locked)
{
    char text[WEIR__TEMP_SIZE], path[TREE_PATH_MAX];
    start();
    int dir_fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = weir__name_make_file(&worker, dir_fd, 0600, text);
    CHECK(fd >= 0);
    CHECK_EQ(weir__name_kind(text), WEIR__TEMP_FILE);
    tree_join(path, "d", text);
    sweep(false, NULL);
    sweep(true, NULL);
    CHECK(is_there(path)); /* its maker lives */
    close(fd);
    sweep(false, NULL);
    CHECK(!is_there(path));
    CHECK_EQ(worker.counts.leftovers_removed, 1);
    close(dir_fd);
}

TEST(a_name_that_is_taken_is_not_used)
{
    char text[WEIR__TEMP_SIZE], first[WEIR__TEMP_SIZE], path[TREE_PATH_MAX];
    start();
    weir__name_file(&worker, first);
    worker.temp_next--;
    tree_join(path, "d", first);
    tree_file(path, 3, 1);
    int dir_fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = weir__name_make_file(&worker, dir_fd, 0600, text);
    CHECK(fd >= 0 && strcmp(first, text) != 0);
    close(fd);
    close(dir_fd);
}

TEST(where_nothing_can_be_made_nothing_is)
{
    char text[WEIR__TEMP_SIZE] = "x";
    start();
    CHECK_EQ(weir__name_make_file(&worker, -1, 0600, text), -1);
    CHECK_EQ(errno, EBADF);
    CHECK_STR(text, "");
}

/* Those that cannot be locked go as well, and nothing that a link points to. */
TEST(leftovers_of_any_kind_are_removed)
{
    start();
    CHECK_EQ(symlink("../kept", "d/.weir-tmp.0123456789abcdee.0000000000000001"), 0);
    CHECK_EQ(mkfifo("d/.weir-tmp.0123456789abcdee.0000000000000002", 0600), 0);
    tree_file("d/.weir-tmp.0123456789abcdee.0000000000000003", 5, 1);
    tree_file("d/.weir-part.0123456789abcdee", 5, 1);
    CHECK_EQ(mkdir("d/.weir-dir.0123456789abcdee.00000000", 0700), 0);
    tree_file("d/.weir-dir.0123456789abcdee.00000000/f", 5, 1);
    tree_file("d/.weir-tmp.mine", 5, 1);
    tree_file("kept", 5, 1);
    if (geteuid() == 0)
        CHECK_EQ(mknod("d/.weir-tmp.0123456789abcdee.0000000000000004", S_IFCHR, makedev(1, 3)), 0);
    sweep(false, NULL);
    CHECK_EQ(tree_count("d", ".weir-"), 1);
    CHECK(is_there("d/.weir-tmp.mine") && is_there("kept"));
    unlink("kept");
}

TEST(what_is_to_be_gone_on_with_stays)
{
    char text[WEIR__TEMP_SIZE], path[TREE_PATH_MAX];
    bool has_leftovers = false;
    start();
    weir__name_dir(&run, "name", 0, text);
    tree_join(path, "d", text);
    CHECK_EQ(mkdir(path, 0700), 0);
    tree_file("d/.weir-part.0123456789abcdee", 5, 1);
    options.partial = true;
    sweep(false, &has_leftovers);
    CHECK(has_leftovers);
    CHECK(is_there(path) && is_there("d/.weir-part.0123456789abcdee"));
    /* In the end nobody has come for the folder. */
    sweep(true, NULL);
    CHECK(!is_there(path) && is_there("d/.weir-part.0123456789abcdee"));
}

TEST(a_folder_that_somebody_builds_stays)
{
    char text[WEIR__TEMP_SIZE], path[TREE_PATH_MAX];
    start();
    weir__name_dir(&run, "name", 0, text);
    tree_join(path, "d", text);
    CHECK_EQ(mkdir(path, 0700), 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
    sweep(true, NULL);
    CHECK(is_there(path));
    close(fd);
}

TEST(a_dry_run_sweeps_nothing)
{
    start();
    options.dry_run = true;
    tree_file("d/.weir-tmp.0123456789abcdee.0000000000000003", 5, 1);
    sweep(false, NULL);
    sweep(true, NULL);
    CHECK_EQ(tree_count("d", ".weir-tmp."), 1);
}

TAP_MAIN()
