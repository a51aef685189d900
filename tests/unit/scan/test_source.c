/* Tests of the tree source from inside: holes, packed rules, limits, stopping. What people see of
 * it is tested by tests/e2e/test_scan.sh. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "rules_pack.h"
#include "scan_part.h"
#include "tap.h"

#define TOKEN "tok_abcdef0123456789"

static const char rules_text[] = "[[rules]]\nid = 'token'\nregex = '\\btok_[a-z0-9]{16}\\b'\n"
                                 "[[rules]]\nid = 'last'\nregex = 'end_[a-z]{4}$'\n"
                                 "[[rules]]\nid = 'zeros'\nregex = 'zero_\\x00{8}'\n";
static struct weir__rules *rules;
static struct weir__engine *engine;

static char base[] = "/tmp/weir-source-XXXXXX";
static struct weir_lock lock;
static const struct weir_lock_class lock_class = {"test", 5};
static struct weir__place places[64];
static char paths[64][64];
static size_t places_count;
static unsigned gaps;
static char gap_text[256];
static const char *cut_path; /* cut off when something is found */
static uint64_t nap_ns;      /* that is taken then */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_base(void)
{
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg;
    weir_lock_acquire(&lock);
    if (places_count < 64) {
        snprintf(paths[places_count], sizeof(paths[0]), "%s", path);
        places[places_count++] = finding->place;
    }
    weir_lock_release(&lock);
    if (cut_path)
        CHECK_EQ(truncate(cut_path, 4096), 0);
    struct weir_deadline nap = weir_deadline_in(nap_ns, NULL);
    if (nap_ns > 0)
        weir_deadline_sleep(&nap);
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    weir_lock_acquire(&lock);
    gaps++;
    snprintf(gap_text, sizeof(gap_text), "%s %s", gap->what, gap->why);
    weir_lock_release(&lock);
}

static void start(void)
{
    struct weir__rules_error error;
    struct weir__engine_options none = {0};
    static bool is_made; /* the name says nothing: what mkdtemp() chooses may end like that, too */
    if (!is_made) {
        CHECK(mkdtemp(base) && atexit(remove_base) == 0 && chdir(base) == 0);
        weir_lock_init(&lock, &lock_class);
        is_made = true;
    }
    CHECK_EQ(weir__rules_load(&rules, "rules", rules_text, strlen(rules_text), NULL, &error), 0);
    CHECK_EQ(weir__engine_new(&engine, rules, &none, &error), 0);
    places_count = gaps = 0;
}

static void stop(void)
{
    weir__engine_free(engine);
    weir__rules_free(rules);
}

static int scan(const char *path, struct weir__scan_options *options,
                struct weir__scan_stats *stats)
{
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan *run;
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    options->engine = engine;
    options->paths = &path;
    options->paths_count = 1;
    places_count = gaps = 0;
    CHECK_EQ(weir__scan_start(&run, options, &hooks), 0);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    return weir__scan_finish(run, stats);
}

static void write_at(const char *path, off_t at, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(pwrite(fd, text, strlen(text), at), (ssize_t)strlen(text));
    close(fd);
}

static void on_place(void *arg, const struct weir__finding *finding)
{
    on_finding(arg, "", finding);
}

TEST(skipping_keeps_places)
{
    start();
    struct weir__sink sink = {.finding = on_place};
    struct weir__scanner *scanner;
    struct weir__object object = {.path = "x"};
    CHECK_EQ(weir__scanner_new(&scanner, engine, &sink), 0);
    CHECK_EQ(weir__scanner_skip(scanner, 1), -WEIR_E_INVALID);
    CHECK_EQ(weir__scanner_begin(scanner, &object), 0);
    CHECK_EQ(weir__scanner_feed(scanner, "a\nb " TOKEN, 24), 0);
    CHECK_EQ(weir__scanner_skip(scanner, 0), 0);
    CHECK_EQ(weir__scanner_skip(scanner, UINT64_C(1) << 40), 0);
    CHECK_EQ(weir__scanner_feed(scanner, TOKEN "\n" TOKEN, 41), 0);
    CHECK_EQ(weir__scanner_skip(scanner, 5), 0);
    CHECK_EQ(weir__scanner_skip(scanner, 5), 0);
    CHECK_EQ(weir__scanner_feed(scanner, "end_abcd", 8), 0);
    CHECK_EQ(weir__scanner_end(scanner, NULL), 0);
    CHECK_EQ(places_count, 4);
    uint64_t base_offset = (UINT64_C(1) << 40) + 24;
    CHECK_EQ(places[0].offset, 4);
    CHECK_EQ(places[0].column, 3);
    CHECK_EQ(places[1].offset, base_offset);
    CHECK_EQ(places[1].line, 2);
    CHECK_EQ(places[1].column, base_offset - 1);
    CHECK_EQ(places[2].line, 3);
    CHECK_EQ(places[2].column, 1);
    CHECK_EQ(places[3].offset, base_offset + 41 + 10);
    CHECK_EQ(places[3].line, 3);
    CHECK_EQ(places[3].column, 31);
    weir__scanner_free(scanner);
    stop();
}

/* With holes and without: the same findings at the same places. */
TEST(holes_make_no_difference)
{
    static const off_t offsets[] = {0, 3 << 20, (3 << 20) + 100, (9 << 20) + 5, (20 << 20) - 30};
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    struct weir__place dense[64];
    start();
    weir__scan_options_init(&options);
    for (size_t i = 0; i < 5; i++) {
        write_at("sparse", offsets[i], "\n " TOKEN "\n");
        write_at("dense", offsets[i], "\n " TOKEN "\n");
    }
    write_at("sparse", 12 << 20, "zero_");
    write_at("dense", 12 << 20, "zero_");
    /* Not found: it is not the end. */
    write_at("sparse", (14 << 20) - 8, "end_abcd");
    write_at("dense", (14 << 20) - 8, "end_abcd");
    CHECK_EQ(truncate("sparse", 30 << 20), 0);
    int fd = open("dense", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, 30 << 20) == 0);
    static char block[65536];
    for (off_t at = 0; at < 30 << 20; at += (off_t)sizeof(block)) {
        CHECK_EQ(pread(fd, block, sizeof(block), at), (ssize_t)sizeof(block));
        CHECK_EQ(pwrite(fd, block, sizeof(block), at), (ssize_t)sizeof(block));
    }
    close(fd);
    CHECK_EQ(scan("dense", &options, &stats), 0);
    size_t count = places_count;
    memcpy(dense, places, sizeof(places));
    CHECK_EQ(count, 6);
    CHECK_EQ(scan("sparse", &options, &stats), 0);
    CHECK_EQ(places_count, count);
    CHECK(memcmp(dense, places, count * sizeof(places[0])) == 0);
    CHECK_EQ(stats.bytes, 30 << 20);
    stop();
}

/* Behind the end of a file there is no data; that is not a hole. */
TEST(a_sparse_file_that_is_cut_off_is_told)
{
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    static char block[1 << 20];
    start();
    memset(block, '.', sizeof(block) - 1);
    memcpy(block, "\n" TOKEN "\n", sizeof(TOKEN) + 1);
    write_at("cut", 0, block);
    write_at("cut", sizeof(block) - 1, "\n"); /* what is found is told with the first MiB */
    CHECK_EQ(truncate("cut", 30 << 20), 0);
    weir__scan_options_init(&options);
    CHECK_EQ(scan("cut", &options, &stats), 0);
    CHECK_EQ(places_count, 1);
    CHECK_EQ(stats.bytes, 30 << 20);
    cut_path = "cut";
    int result = scan("cut", &options, &stats);
    cut_path = NULL;
    CHECK_EQ(result, -WEIR_E_INCOMPLETE);
    CHECK_STR(gap_text, "cannot read all of it was cut off while it was read");
    CHECK_EQ(stats.partial, 1);
    CHECK_EQ(places_count, 1);
    CHECK_EQ(stats.bytes, sizeof(block));
    stop();
}

/* Who wants to know how much there is to do does not read it a second time. */
TEST(a_list_that_comes_through_a_pipe_with_a_name)
{
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    struct weir__scan *run;
    start();
    write_at("listed", 0, TOKEN "\n");
    CHECK_EQ(mkfifo("list", 0600), 0);
    weir__scan_options_init(&options);
    options.engine = engine;
    options.files_from = "list";
    options.has_totals = true;
    nap_ns = WEIR_NS_PER_S; /* longer than it is waited with counting */
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
    int fd = open("list", O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, "listed\n", 7) == 7);
    close(fd);
    struct weir_deadline deadline = weir_deadline_in(20 * WEIR_NS_PER_S, NULL);
    int result = weir__scan_wait(run, &deadline);
    nap_ns = 0;
    CHECK_EQ(result, 0);
    CHECK_EQ(weir__scan_finish(run, &stats), 0);
    CHECK_EQ(places_count, 1);
    CHECK_EQ(stats.files_total, 0);
    stop();
}

/* What a walk that only counts meets when so many jobs are open. */
static uint64_t count_tree(uint64_t open)
{
    struct weir__scan_options options;
    struct weir__scan_counting counting = {0};
    struct weir__scan run = {.options = &options, .open = open, .frames_open_max = 4};
    struct weir__scan_worker *w;
    weir__scan_options_init(&options);
    weir_lock_init(&run.lock, &lock_class);
    weir_cancel_init(&run.stop, NULL);
    CHECK_EQ(weir__scan_worker_new(&w, &run), 0);
    w->counting = &counting;
    weir__scan_tree(w, "dirs");
    weir__scan_worker_free(w);
    weir_cancel_fini(&run.stop);
    weir_lock_fini(&run.lock);
    return counting.files;
}

/* Also where there are no files, nobody waits for those who count. */
TEST(counting_ends_with_the_run)
{
    char name[64];
    start();
    CHECK_EQ(mkdir("dirs", 0700), 0);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "dirs/%u", i);
        CHECK_EQ(mkdir(name, 0700), 0);
        snprintf(name, sizeof(name), "dirs/%u/f", i);
        write_at(name, 0, "x");
    }
    CHECK_EQ(count_tree(1), 20);
    CHECK_EQ(count_tree(0), 0);
    stop();
}

/* Begins to scan standard input, which is a pipe that does not wait; its other end. */
static struct weir__scan *scan_pipe(int *ret_fd)
{
    static const struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    static const char *const path = "-";
    static struct weir__scan_options options; /* the run has them until it ends */
    struct weir__scan *run = NULL;
    int fds[2];
    CHECK_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_EQ(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
    close(fds[0]);
    weir__scan_options_init(&options);
    options.engine = engine;
    options.paths = &path;
    options.paths_count = 1;
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
    *ret_fd = fds[1];
    return run;
}

/* As some programs leave the pipe that they share with us. */
TEST(standard_input_that_does_not_wait)
{
    struct weir__scan_stats stats;
    int fd, before = dup(STDIN_FILENO);
    start();
    struct weir__scan *run = scan_pipe(&fd);
    /* Nothing has come: it has not ended. */
    struct weir_deadline soon = weir_deadline_in(100 * WEIR_NS_PER_MS, NULL);
    CHECK_EQ(weir__scan_wait(run, &soon), -WEIR_E_TIMEOUT);
    CHECK_EQ(write(fd, TOKEN "\n", sizeof(TOKEN)), (ssize_t)sizeof(TOKEN));
    soon = weir_deadline_in(50 * WEIR_NS_PER_MS, NULL);
    CHECK_EQ(weir__scan_wait(run, &soon), -WEIR_E_TIMEOUT);
    CHECK_EQ(write(fd, TOKEN "\n", sizeof(TOKEN)), (ssize_t)sizeof(TOKEN));
    close(fd);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    CHECK_EQ(weir__scan_finish(run, &stats), 0);
    CHECK_EQ(places_count, 2);
    CHECK_EQ(stats.bytes, 2 * sizeof(TOKEN));
    CHECK(dup2(before, STDIN_FILENO) == STDIN_FILENO);
    close(before);
    stop();
}

/* An end can be put to it, too. */
TEST(a_wait_for_standard_input_can_be_stopped)
{
    struct weir__scan_stats stats;
    int fd, before = dup(STDIN_FILENO);
    start();
    struct weir__scan *run = scan_pipe(&fd);
    weir__scan_stop(run);
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    CHECK_EQ(weir__scan_finish(run, &stats), -WEIR_E_CANCELED);
    CHECK_EQ(gaps, 0);
    CHECK(dup2(before, STDIN_FILENO) == STDIN_FILENO);
    close(before);
    close(fd);
    stop();
}

TEST(limits_are_kept)
{
    struct weir__scan_options options;
    struct weir__scan_stats stats;
    start();
    CHECK_EQ(mkdir("many", 0700), 0);
    char name[64];
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "many/%u", i);
        write_at(name, 0, i % 10 == 0 ? TOKEN : "nothing");
    }
    weir__scan_options_init(&options);
    options.threads = 8;
    options.reads_max = 1;
    options.bytes_max = WEIR__SCAN_READ_SIZE;
    CHECK_EQ(scan("many", &options, &stats), 0);
    CHECK_EQ(places_count, 20);
    CHECK_EQ(stats.files, 200);
    CHECK_EQ(stats.threads, 1); /* the buffers of more would not fit */
    CHECK_EQ(stats.in_flight, 0);
    options.bytes_max = 0;
    CHECK_EQ(scan("many", &options, &stats), 0);
    CHECK_EQ(places_count, 20);
    CHECK_EQ(stats.threads, 8);
    options.file_bytes_max = 10;
    CHECK_EQ(scan("many", &options, &stats), -WEIR_E_INCOMPLETE);
    CHECK_EQ(stats.failed, 20);
    CHECK_EQ(gaps, 20);
    options.bytes_max = 1;
    struct weir__scan *run;
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), -WEIR_E_INVALID);
    stop();
}

TEST(a_run_can_be_stopped_at_once)
{
    struct weir__scan_options options;
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan_stats stats;
    struct weir__scan *run;
    const char *path = "many";
    start();
    for (unsigned i = 0; i < 20; i++) {
        weir__scan_options_init(&options);
        options.engine = engine;
        options.paths = &path;
        options.paths_count = 1;
        options.threads = 3;
        CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
        weir__scan_stop(run);
        CHECK_EQ(weir__scan_finish(run, &stats), -WEIR_E_CANCELED);
        CHECK(stats.is_stopped);
    }
    stop();
}

static const char packed_text[] =
    "title = 't'\n"
    "[allowlist]\ndescription = 'd'\nregexes = ['one', 'two']\n"
    "[[rules]]\nid = 'id'\nprovider = 'p'\nregex = 'a(b)+'\ncheck = 'uuid'\nsecretGroup = 1\n"
    "entropy = 3.25\nkeywords = ['one']\ntags = ['one', 'two']\nexamples = ['ab']\n"
    "skipReport = true\nmax-width = 99\n"
    "[[rules.allowlists]]\ncondition = 'AND'\nregexTarget = 'line'\nregexes = ['one']\n"
    "paths = ['p']\n"
    "[[rules.required]]\nid = 'other'\nwithinColumns = 12\n"
    "[[rules]]\nid = 'other'\npath = 'x'\n";

TEST(packed_rules_are_the_same)
{
    struct weir__rules_error error = {.text = ""};
    struct weir__rules *set = NULL;
    if (weir__rules_load(&set, "f", packed_text, strlen(packed_text), NULL, &error) < 0)
        tap_fail(__FILE__, __LINE__, "%s", error.text);
    struct weir__buffer buffer;
    struct weir__rules *back;
    weir__buffer_init(&buffer, 65536);
    CHECK_EQ(weir__rules_pack(set, &buffer), 0);
    size_t length = weir__buffer_length(&buffer);
    CHECK_EQ(weir__rules_unpack(&back, weir__buffer_text(&buffer), length), 0);
    const struct weir__rule *got = &back->rules[0], *was = &set->rules[0];
    CHECK_STR(back->title, "t");
    CHECK_EQ(back->rules_count, 2);
    CHECK_STR(got->id, "id");
    CHECK_STR(got->regex, "a(b)+");
    CHECK_STR(got->check, "uuid");
    CHECK(!got->path && got->has_secret_group && got->is_hidden);
    CHECK(!back->rules[1].regex && strcmp(back->rules[1].path, "x") == 0);
    CHECK_EQ(got->secret_group, 1);
    CHECK(got->entropy == 3.25);
    CHECK_EQ(got->keywords.count, 1);
    CHECK_STR(got->tags.items[1], "two");
    CHECK_EQ(was->examples.count, 1);
    CHECK_EQ(got->examples.count, 0);
    CHECK_EQ(got->max_width, 99);
    CHECK_EQ(got->line, was->line);
    CHECK_EQ(got->required_count, 1);
    CHECK_EQ(got->required[0].within_lines, was->required[0].within_lines);
    CHECK_EQ(got->required[0].within_columns, 12);
    CHECK_EQ(back->allows_count, 1);
    CHECK_STR(back->allows[0].regexes.items[1], "two");
    CHECK(got->allows[0].is_and && got->allows[0].target == WEIR__ALLOW_LINE);
    CHECK_EQ(got->allows[0].line, was->allows[0].line);
    CHECK_STR(got->allows[0].paths.items[0], "p");
    weir__rules_free(set);
    weir__rules_free(back);
    for (size_t i = 0; i < length; i++) { /* cut off anywhere */
        char *cut = weir__base_alloc(1, i + 1);
        CHECK(cut);
        memcpy(cut, weir__buffer_text(&buffer), i);
        CHECK_EQ(weir__rules_unpack(&back, cut, i), -WEIR_E_CORRUPT);
        weir__base_free(cut);
    }
    weir__buffer_fini(&buffer);
}

TEST(built_in_rules_unpack)
{
    struct weir__rules *builtin;
    CHECK_EQ(weir__rules_builtin(&builtin), 0);
    CHECK(builtin->rules_count >= 400);
    CHECK(weir__rules_find(builtin, "github-pat") != NULL);
    weir__rules_free(builtin);
}

TAP_MAIN()
