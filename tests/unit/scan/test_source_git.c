/* Tests of --staged against stand-ins for git that are silent, talk nonsense, or die: each is told
 * in one line, and nothing waits for them. What git itself says is tested by
 * tests/e2e/test_scan_tree.sh. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/error.h>

#include "scan.h"
#include "tap.h"
#include "token_help.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
/* What `git diff --raw -z` says of one file, for printf of the shell. */
#define CHANGE(path) ":000000 100644 " ID " " ID " A\\0" path "\\0"
/* By what git is asked for; the other cases go on in the script. */
#define LISTS(script) "case \"$*\" in *--raw*) " script ";; esac\n"
#define WHY(script)   "case \"$*\" in *rev-parse*) " script ";; esac\n"
#define LISTS_ONE     LISTS("printf '" CHANGE("a") "'; exit 0")
#define GIVES         "while read id; do printf '%s blob 21\\n" TOKEN "\\n\\n' $id; done\n"
#define SAYS_LARGE    "case \"$*\" in *--batch*) read id; echo " ID " blob 9000000;; esac\n"
#define HALF_A_BLOB   "printf '" ID " blob 100\\n" TOKEN "'\n"
#define HALF_A_CHANGE "printf '" CHANGE("a") "' | head -c 100\n"

static struct weir_lock lock;
static const struct weir_lock_class lock_class = {"test", 5};
static unsigned found;
static char told[1024];
static struct weir__scan_stats stats;

static void prepare(void)
{
    char path[4096];
    if (!help_enter("git"))
        return;
    const char *before = getenv("PATH");
    snprintf(path, sizeof(path), "%s:%s", base, before ? before : "/usr/bin:/bin");
    CHECK_EQ(setenv("PATH", path, 1), 0);
    weir_lock_init(&lock, &lock_class);
}

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    (void)arg, (void)path, (void)finding;
    weir_lock_acquire(&lock);
    found++;
    weir_lock_release(&lock);
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    (void)arg;
    weir_lock_acquire(&lock);
    size_t length = strlen(told);
    snprintf(told + length, sizeof(told) - length, "%s %s: %s\n", gap->what, gap->path, gap->why);
    weir_lock_release(&lock);
}

/* With a script of the shell as git; what it is told of is in told, a line each. */
static int scan_staged(const char *script, uint64_t silence_ns)
{
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap};
    struct weir__scan_options options;
    struct weir__scan *run;
    prepare();
    FILE *file = fopen("git", "w");
    CHECK(file && fprintf(file, "#!/bin/sh\n%s\n", script) > 0 && fclose(file) == 0);
    CHECK_EQ(chmod("git", 0700), 0);
    weir__scan_options_init(&options);
    options.engine = engine;
    options.staged = true;
    options.threads = 1;
    options.git_silence_ns = silence_ns;
    found = 0;
    told[0] = '\0';
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir__scan_start(&run, &options, &hooks), 0);
    CHECK_EQ(weir__scan_wait(run, &deadline), 0);
    return weir__scan_finish(run, &stats);
}

#define SILENCE_NS_MAX (30 * WEIR_NS_PER_S)

/* The shell may be so slow that its start is taken for silence: then it is waited longer. */
static void is_told_late(const char *script, const char *wanted)
{
    for (uint64_t ns = 200 * WEIR_NS_PER_MS; ns < SILENCE_NS_MAX; ns *= 4) {
        CHECK_EQ(scan_staged(script, ns), -WEIR_E_INCOMPLETE);
        if (strcmp(told, wanted) == 0)
            break;
    }
    CHECK_STR(told, wanted);
    CHECK_EQ(stats.failed + stats.partial, 1);
}

static void is_told(const char *script, const char *wanted)
{
    CHECK_EQ(scan_staged(script, 0), -WEIR_E_INCOMPLETE);
    CHECK_STR(told, wanted);
    CHECK_EQ(stats.failed + stats.partial, 1);
}

#define LIST "cannot list what is staged in .: "

TEST(one_that_works)
{
    CHECK_EQ(scan_staged(LISTS("printf '" CHANGE("a") CHANGE("b") "'; exit 0") GIVES, 0), 0);
    CHECK_STR(told, "");
    CHECK_EQ(found, 2);
    CHECK_EQ(stats.files, 2);
}

TEST(silence)
{
    is_told_late("exec sleep 600", LIST "git does not answer\n");
    /* One whose child has the output. */
    is_told_late("sleep 600", LIST "git does not answer\n");
    is_told_late(LISTS_ONE "exec sleep 600", "cannot read a: git does not answer\n");
    /* In the middle of a blob, of a small one and of one that comes as a stream. */
    is_told_late(LISTS_ONE HALF_A_BLOB "exec sleep 600", "cannot read a: git does not answer\n");
    is_told_late(LISTS_ONE SAYS_LARGE "echo " TOKEN "; exec sleep 600",
                 "cannot read all of a: nothing came for too long\n");
    CHECK_EQ(found, 1); /* in what had come */
    CHECK_EQ(stats.partial, 1);
}

TEST(nonsense)
{
    static const char *const lists[] = {
        "echo hello",
        "printf ':000000 100644 x y A\\0a\\0'",
        "printf ':000000 100644 " ID " " ID "\\0a\\0'",
        "printf ':000000 100644 " ID " ../" ID " A\\0a\\0'",
        HALF_A_CHANGE, /* and it says that all is well */
        "exec yes",
        "exec cat /dev/zero",
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        is_told(lists[i], LIST "git said something that is not understood\n");
    static const char *const heads[] = {
        "echo hello",
        "echo " ID " tree 5",
        "echo " ID " blob -5",
        "echo " ID " blob 99999999999999999999999",
        "echo " ID,
        "printf '" ID " blob 2\\nabcde'",
        "exec yes",
        "exec cat /dev/zero",
    };
    char script[512];
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        snprintf(script, sizeof(script), LISTS_ONE "%s", heads[i]);
        is_told(script, "cannot read a: git said something that is not understood\n");
    }
}

TEST(death)
{
    is_told("kill -9 $$", LIST "git was ended by signal 9\n");
    is_told(HALF_A_CHANGE "kill -9 $$", LIST "git was ended by signal 9\n");
    is_told("echo 'error: it is raining' >&2; exit 9", LIST "git: it is raining\n");
    is_told("exit 9", LIST "git failed with status 9\n");
    /* What it has listed by then is scanned. */
    is_told(LISTS("printf '" CHANGE("a") "'; kill -9 $$") WHY("exit 0") GIVES,
            LIST "git was ended by signal 9\n");
    CHECK_EQ(found, 1);
    is_told(LISTS_ONE HALF_A_BLOB "kill -9 $$", "cannot read a: git was ended by signal 9\n");
    is_told(LISTS_ONE SAYS_LARGE "echo " TOKEN "; kill -9 $$",
            "cannot read all of a: git was ended by signal 9\n");
    CHECK_EQ(found, 1);
}

TEST(complaints_are_bounded)
{
    /* What does not fit is refused; that it was not is an answer, too. */
    is_told("head -c 200000 /dev/zero >&2 && exit 0; exit 3", LIST "git failed with status 3\n");
    is_told("yes 'error: it is raining' >&2; exit 3", LIST "git: it is raining\n");
    /* When all fails it is asked why, and what it says then is bounded, too. */
    is_told(LISTS("echo 'error: it is raining' >&2; exit 1") "exec yes",
            LIST "git: it is raining\n");
}

TAP_MAIN()
