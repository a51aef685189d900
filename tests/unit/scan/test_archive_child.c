/* Tests of what archive.h promises beyond formats: the child is confined, limits hold, bombs are
 * harmless, a child that dies costs a member, waits end, frames that break a rule are refused. */
#include "archive_help.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

#include <weir/cancel.h>

#include "archive_confine.h"

#include "banned.h"

#define MIB (UINT64_C(1) << 20)

static int open_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

/* Confinement. */

TEST(forbidden_calls_kill)
{
    static const char *const names[WEIR__ARCHIVE_TRIALS] = {
        [WEIR__ARCHIVE_TRY_OPEN] = "open",
        [WEIR__ARCHIVE_TRY_STAT] = "stat",
        [WEIR__ARCHIVE_TRY_UNLINK] = "unlink",
        [WEIR__ARCHIVE_TRY_SOCKET] = "socket",
        [WEIR__ARCHIVE_TRY_FORK] = "fork",
        [WEIR__ARCHIVE_TRY_EXEC] = "exec",
        [WEIR__ARCHIVE_TRY_KILL] = "kill",
        [WEIR__ARCHIVE_TRY_WRITE_ELSEWHERE] = "write to the archive",
        [WEIR__ARCHIVE_TRY_WRITE_AT] = "write into the archive",
        [WEIR__ARCHIVE_TRY_MAP_FILE] = "map the archive to write",
        [WEIR__ARCHIVE_TRY_MAP_EXEC] = "map to run",
        [WEIR__ARCHIVE_TRY_PROTECT_EXEC] = "protect to run",
        [WEIR__ARCHIVE_TRY_PTRACE] = "ptrace",
        [WEIR__ARCHIVE_TRY_LIMIT] = "limit",
        [WEIR__ARCHIVE_TRY_MEMORY] = "memory",
    };
    struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    help_start();
    CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    int fd = open_file("a");
    for (int what = 0; what < WEIR__ARCHIVE_TRIALS; what++) {
        int wanted = what == WEIR__ARCHIVE_TRY_MEMORY ? 0 : SIGSYS;
        int got =
            weir__archive_walker_try(help_walker, (enum weir__archive_trial)what, fd, &deadline);
        if (got != wanted)
            printf("# %s: %d\n", names[what], got);
        CHECK_EQ(got, wanted);
    }
    close(fd);
}

/* A line of /proc/PID/status of the child, as a number. */
static unsigned long long status_of_child(const char *key, int base)
{
    char path[64], line[256];
    unsigned long long value = ULLONG_MAX;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)help_walker->process.child.pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoull(line + strlen(key), NULL, base);
    fclose(file);
    return value;
}

/* Whoever has started it: root, as often as not. */
TEST(no_capabilities)
{
    static const char *const kinds[] = {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"};
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > f; tar -cf a f"));
    CHECK_EQ(help_walk("a"), 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        CHECK_EQ(status_of_child(kinds[i], 16), 0);
    if (geteuid() == 0)
        CHECK_EQ(status_of_child("CapBnd:", 16), 0);
    CHECK_EQ(status_of_child("NoNewPrivs:", 10), 1);
    CHECK_EQ(status_of_child("Seccomp:", 10), 2);
}

static unsigned long long limit_of_child(__rlimit_resource_t what)
{
    struct rlimit limit;
    CHECK_EQ(prlimit(help_walker->process.child.pid, what, NULL, &limit), 0);
    CHECK_EQ(limit.rlim_cur, limit.rlim_max);
    return limit.rlim_max;
}

/* What it may have stands even where its own checks would not. */
TEST(limits_of_the_system)
{
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > f; tar -cf a f"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_EQ(limit_of_child(RLIMIT_CORE), 0);
    CHECK_EQ(limit_of_child(RLIMIT_FSIZE), help_options.spill_bytes_max);
    if (!WEIR__ARCHIVE_IS_SANITIZED) {
        CHECK_EQ(limit_of_child(RLIMIT_DATA), help_options.memory_max);
        CHECK(limit_of_child(RLIMIT_AS) > help_options.memory_max);
    }
}

/* It keeps nothing of an archive that is done with, and takes the next. */
TEST(one_child_for_many_walks)
{
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > f; tar -cf a f"));
    CHECK_EQ(help_walk("a"), 0);
    pid_t first = help_walker->process.child.pid;
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(help_walk("a"), 0);
        CHECK_SHOW(seen_planted() && told_count == 0);
        CHECK_EQ(help_walker->process.child.pid, first);
    }
}

TEST(without_seccomp_only_when_asked)
{
    help_start();
    CHECK(help_run("rm -rf ./*; printf '" PLANTED "' > f; tar -cf a f"));
    CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    help_walker->has_no_seccomp = true;
    CHECK_EQ(help_walk("a"), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(members_count, 0);
    help_start();
    help_options.may_run_unconfined = true;
    CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
    help_walker->has_no_seccomp = true;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(seen_planted() && told_count == 0);
}

TEST(arguments)
{
    struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    struct weir_deadline endless = {WEIR_NEVER, NULL};
    struct weir__archive_walker *walker = NULL;
    int fds[2];
    help_start();
    help_options.depth_max = WEIR__ARCHIVE_DEPTH_MAX + 1;
    CHECK_EQ(weir__archive_walker_new(&walker, &help_options), -WEIR_E_INVALID);
    help_start();
    help_options.ratio_max = 0;
    CHECK_EQ(weir__archive_walker_new(&walker, &help_options), -WEIR_E_INVALID);
    help_start();
    help_options.memory_max = MIB;
    CHECK_EQ(weir__archive_walker_new(&walker, &help_options), -WEIR_E_INVALID);
    help_start();
    CHECK_EQ(weir__archive_walker_new(&walker, &help_options), 0);
    CHECK(pipe(fds) == 0);
    CHECK_EQ(weir__archive_walk(walker, fds[0], "p", &help_hooks, &deadline), -WEIR_E_INVALID);
    CHECK_EQ(weir__archive_walk(walker, -1, "p", &help_hooks, &deadline),
             weir_error_from_errno(EBADF));
    int fd = open_file("e");
    CHECK_EQ(weir__archive_walk(walker, fd, "p", &help_hooks, &endless), -WEIR_E_INVALID);
    CHECK_EQ(weir__archive_walk(walker, fd, "p", &help_hooks, NULL), -WEIR_E_INVALID);
    close(fd);
    close(fds[0]);
    close(fds[1]);
    weir__archive_walker_free(walker);
    weir__archive_walker_free(NULL);
}

/* Limits. */

TEST(entries_limit)
{
    help_start();
    help_options.entries_max = 5;
    CHECK(help_run("rm -rf ./*; mkdir d; for i in 1 2 3 4 5 6 7; do echo $i > d/$i; done; cd d; "
                   "tar -cf ../a 1 2 3 4 5; tar -cf ../b 1 2 3 4 5 6; cd ..; "
                   "mkdir e; cp b e; tar -cf c -C e b"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(members_count == 5 && told_count == 0);
    CHECK_EQ(help_walk("b"), 0);
    CHECK_SHOW(members_count == 5 && told_count == 1 && was_told("b", "more than 5 members"));
    CHECK_EQ(help_walk("c"), 0);
    CHECK_SHOW(members_count == 4 && told_count == 1 && was_told("c", "more than 5 members"));
}

TEST(bytes_limits)
{
    help_start();
    help_options.entry_bytes_max = MIB;
    help_options.archive_bytes_max = 3 * MIB;
    CHECK(help_run(
        "rm -rf ./*; head -c 1048576 /dev/urandom > 1; cp 1 2; echo x >> 2; cp 1 3; cp 1 5; "
        "echo end > 4; tar -cf a 1 2 4; tar -czf b 1 2 4; tar -cf c 1 3 2 4; "
        "tar -cf d 1 3 5 2; gzip -c 2 > e"));
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "b" : "a";
        char path[16];
        CHECK_EQ(help_walk(name), 0);
        CHECK_SHOW(members_count == 3 && told_count == 1);
        CHECK_SHOW(members[0].is_complete && members[0].length == MIB);
        CHECK_SHOW(!members[1].is_complete && members[1].length == MIB);
        CHECK_SHOW(members[2].is_complete && members[2].length == 4);
        snprintf(path, sizeof(path), "%s!2", name);
        CHECK_SHOW(was_told(path, "larger than 1048576 bytes"));
    }
    CHECK_EQ(help_walk("c"), 0);
    CHECK_SHOW(members_count == 4 && bytes_count == 3 * MIB && told_count == 2);
    CHECK_SHOW(was_told("c", "unpacks to more than 3145728 bytes"));
    CHECK_EQ(help_walk("d"), 0);
    CHECK_SHOW(bytes_count == 3 * MIB && was_told("d", "unpacks to more than 3145728 bytes"));
    CHECK_EQ(help_walk("e"), 0);
    CHECK_SHOW(was_told("e!data", "larger than 1048576 bytes"));
}

/* Ten gigabytes of zeros, in each way of being packed. */
TEST(bombs)
{
    help_start();
    CHECK(help_run(
        "rm -rf ./*; head -c 10000000000 /dev/zero | zstd -q -1 > a.zst; "
        "head -c 1000000000 /dev/zero | gzip -1 > b.gz; head -c 3000000 /dev/zero > z; "
        "tar -cf d.tar b.gz; head -c 100000000 /dev/zero | tee z >/dev/null; "
        "echo end > end; gzip -c z > z.gz; tar -czf e.tgz z end; cat a.zst | gzip > a.gz"));
    CHECK_EQ(help_walk("a.zst"), 0);
    CHECK_SHOW(was_told("a.zst!a", "unpacks more than 1000 times") && bytes_count < 64 * MIB);
    CHECK_EQ(help_walk("b.gz"), 0);
    CHECK_SHOW(bytes_count <= 1000000000);
    help_start();
    help_options.ratio_max = 100;
    CHECK_EQ(help_walk("b.gz"), 0);
    CHECK_SHOW(was_told("b.gz!b", "unpacks more than 100 times") && bytes_count < 64 * MIB);
    CHECK_EQ(help_walk("d.tar"), 0);
    CHECK_SHOW(was_told("d.tar!b.gz!b", "unpacks more than 100 times") && bytes_count < 64 * MIB);
    CHECK_EQ(help_walk("e.tgz"), 0);
    CHECK_SHOW(was_told(NULL, "unpacks more than 100 times") && bytes_count < 64 * MIB);
    CHECK_EQ(help_walk("a.gz"), 0);
    CHECK_SHOW(told_count > 0 && bytes_count < 64 * MIB);
    if (!help_has("zip"))
        return;
    /* The member behind the bomb is read. */
    CHECK(help_run("rm -f x.zip; zip -q x.zip z end"));
    CHECK_EQ(help_walk("x.zip"), 0);
    CHECK_SHOW(was_told("x.zip!z", "unpacks more than 100 times") && seen("x.zip!end"));
    CHECK_SHOW(seen("x.zip!end")->is_complete && bytes_count < 64 * MIB);
}

/* Sixteen in each of sixteen in each of sixteen, and at the bottom megabytes of zeros. */
TEST(nested_bomb)
{
    help_start();
    if (!help_has("zip"))
        return;
    CHECK(help_run("rm -rf ./*; head -c 900000 /dev/zero > 0; for level in 1 2 3 4; do "
                   "zip -q $level.zip 0; for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do "
                   "cp $level.zip $i.zip.part; done; rm -f 0; zip -q 0.zip ./*.zip.part; "
                   "rm -f ./*.part; mv 0.zip 0; done; mv 0 a"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(was_told("a", "unpacks more than 1000 times") && bytes_count < 64 * MIB);
}

/* One that needs to seek and does not fit into memory is given as bytes; one that does not need to,
 * is read as it comes. */
TEST(nested_and_too_large)
{
    help_start();
    help_options.memory_max = 128 * MIB;
    if (!help_has("7z zip tar"))
        return;
    CHECK(help_run("rm -rf ./*; head -c 40000000 /dev/urandom > r; printf '" PLANTED "' > f; "
                   "7z a -bd -mx=0 b.7z r f; zip -q0 c.zip r f; tar -cf a b.7z c.zip f"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(was_told("a!b.7z", "nested archive too large to look into") && told_count == 1);
    CHECK_SHOW(seen("a!b.7z") && seen("a!b.7z")->length > 40000000);
    CHECK_SHOW(seen("a!c.zip!f") && seen("a!c.zip!f")->has_planted && seen("a!f"));
}

/* A decoder that wants more memory than there is fails, and says so. */
TEST(memory_limit)
{
    help_start();
    help_options.memory_max = 128 * MIB;
    if (!help_has("xz tar"))
        return;
    CHECK(help_run("rm -rf ./*; head -c 1000000 /dev/urandom > r; xz --lzma2=dict=1GiB -k r; "
                   "printf '" PLANTED "' > f; tar -cf a r.xz f"));
    CHECK_EQ(help_walk("a"), 0);
    if (WEIR__ARCHIVE_IS_SANITIZED)
        return; /* there is no limit then */
    CHECK_SHOW(was_told("a!r.xz", "its decoder needs 1032 MiB of memory and may have 128"));
    CHECK_SHOW(told_count == 1 && seen("a!f") && seen("a!f")->is_complete);
    CHECK_EQ(help_walker->restarts_count, 0);
}

static unsigned growths;
static uint64_t growth;

static uint64_t on_grow(void *arg)
{
    (void)arg;
    growths++;
    CHECK(members_count == 0 || members[members_count - 1].is_ended);
    CHECK(help_walker->process.child.pid == 0);
    return growth;
}

/* One that asks for more, and gets it, goes on where it was: nothing is lost, and nothing given
 * twice. One that does not get it, or not enough, tells. */
TEST(memory_grows)
{
    struct weir_deadline deadline = weir_deadline_in(LIMIT_NS, NULL);
    struct weir__archive_hooks hooks = help_hooks;
    hooks.grow = on_grow;
    help_start();
    if (!help_has("xz tar") || WEIR__ARCHIVE_IS_SANITIZED)
        return;
    CHECK(help_run("rm -rf ./*; head -c 100000 /dev/urandom > r; "
                   "{ cat r; printf '" PLANTED "'; } | xz --lzma2=preset=0,dict=192MiB > w.xz; "
                   "cp r s; cp w.xz v.xz; tar -cf a r w.xz s v.xz"));
    static const uint64_t sizes[] = {64 * MIB, 100 * MIB, 256 * MIB};
    for (size_t i = 0; i < 3; i++) {
        weir__archive_walker_free(help_walker);
        help_walker = NULL;
        help_options.memory_max = 64 * MIB;
        CHECK_EQ(weir__archive_walker_new(&help_walker, &help_options), 0);
        growths = 0;
        growth = sizes[i];
        members_count = told_count = 0;
        int fd = open_file("a");
        CHECK_EQ(weir__archive_walk(help_walker, fd, "a", &hooks, &deadline), 0);
        close(fd);
        CHECK_EQ(growths, 1);
        CHECK_SHOW(members[0].is_complete && members[0].length == 100000);
        CHECK_SHOW(told_count == (i == 2 ? 0 : 2) && seen("a!s") && seen("a!s")->is_complete);
        CHECK_SHOW(i < 2 || (seen("a!w.xz!w") && seen("a!w.xz!w")->has_planted));
        CHECK_SHOW(members_count == 4);
        CHECK_EQ(help_walker->restarts_count, 0);
    }
}

/* Deaths. */

static unsigned kills_left;

static int kill_child(void)
{
    if (kills_left > 0) {
        kills_left--;
        kill(help_walker->process.child.pid, SIGKILL);
    }
    return 0;
}

static void make_many(const char *last)
{
    char script[1024];
    snprintf(script, sizeof(script),
             "rm -rf ./*; mkdir d; cd d; head -c 3000000 /dev/urandom > 0; "
             "for i in 1 2 3 4 5; do cp 0 $i; done; printf '" PLANTED "' > end; "
             "tar -cf n.tar 3 4 end; %s",
             last);
    CHECK(help_run(script));
}

static void check_one_death(const char *victim)
{
    on_bytes = NULL;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 0 && members_count == 4);
    kills_left = 1;
    on_bytes = kill_child;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_EQ(kills_left, 0);
    CHECK_SHOW(told_count == 1 && was_told(victim, "its decoder died (signal 9)"));
    const struct seen_member *member = seen(victim);
    CHECK_SHOW(member && !member->is_complete && member->length < 3000000);
    for (size_t i = 0; i < members_count; i++)
        CHECK_SHOW(&members[i] == member || members[i].is_complete);
    CHECK_SHOW(seen_planted() && seen_planted()->is_complete);
}

TEST(goes_on_behind_a_death)
{
    static const char *const makers[] = {"tar -cf ../a 0 1 2 end", "tar -czf ../a 0 1 2 end",
                                         "zip -q0 ../a.zip 0 1 2 end; mv ../a.zip ../a",
                                         "7z a -bd ../a.7z 0 1 2 end; mv ../a.7z ../a"};
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        help_start();
        make_many(makers[i]);
        check_one_death("a!0");
        CHECK_SHOW(members_count == 4);
        CHECK_SHOW(seen("a!1")->length == 3000000 && seen("a!2")->length == 3000000);
    }
}

static int kill_in_nested(void)
{
    if (strcmp(members[members_count - 1].path, "a!n.tar!3") == 0)
        kill_child();
    return 0;
}

TEST(goes_on_inside_of_a_nested_one)
{
    help_start();
    make_many("tar -cf ../a 0 n.tar 1");
    kills_left = 1;
    on_bytes = kill_in_nested;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 1 && was_told("a!n.tar!3", "its decoder died (signal 9)"));
    CHECK_SHOW(members_count == 5 && seen("a!0")->is_complete && !seen("a!n.tar!3")->is_complete);
    CHECK_SHOW(seen("a!n.tar!4")->is_complete && seen("a!n.tar!end")->has_planted);
    CHECK_SHOW(seen("a!1")->length == 3000000);
}

static int kill_in_second(void)
{
    if (strcmp(members[members_count - 1].path, "a!1") == 0)
        kill_child();
    return 0;
}

/* Children that are killed before they are back at their place are no reason to give up. */
TEST(tries_again_on_the_way_back)
{
    help_start();
    make_many("tar -czf ../a 0 1 2 end");
    CHECK_EQ(help_walk("a"), 0);
    kills_left = 1;
    help_walker->kills_left = WEIR__ARCHIVE_TRIES_MAX - 1;
    on_bytes = kill_in_second;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_EQ(help_walker->kills_left, 0);
    CHECK_SHOW(told_count == 1 && was_told("a!1", "its decoder died (signal 9)"));
    CHECK_SHOW(members_count == 4 && seen_planted() && seen("a!2")->is_complete);
    CHECK_EQ(help_walker->restarts_count, WEIR__ARCHIVE_TRIES_MAX);
    /* One more is one too many. */
    kills_left = 1;
    help_walker->kills_left = WEIR__ARCHIVE_TRIES_MAX;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 2 && was_told("a", "its decoder died (signal 9)"));
    CHECK_SHOW(members_count == 2 && !seen_planted());
}

TEST(gives_up_after_many_deaths)
{
    help_start();
    CHECK(help_run("rm -rf ./*; mkdir d; cd d; head -c 1000000 /dev/urandom > 00; "
                   "for i in $(seq 10 40); do cp 00 $i; done; tar -cf ../a *"));
    kills_left = 1000;
    on_bytes = kill_child;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_EQ(help_walker->restarts_count, WEIR__ARCHIVE_RESTARTS_MAX + 1);
    CHECK_SHOW(was_told("a", "its decoders died too often"));
    /* The walker is as good as new. */
    kills_left = 0;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 0 && members_count == 32);
}

/* A reader that wants to load a table of characters that is not there yet is killed for it, at
 * every try: what it is in must be left out by the next child. */
TEST(a_member_that_kills)
{
    help_start();
    if (!help_has("python3"))
        return;
    CHECK(
        help_run("rm -rf ./*; cat > lha.py << 'END'\n"
                 "import struct\n"
                 "data, name = b'hello', b'f.txt'\n"
                 "def extension(kind, body):\n"
                 "    return struct.pack('<HB', len(body) + 3, kind) + body\n"
                 "rest = extension(0x46, struct.pack('<I', 1026)) + extension(1, name)\n"
                 "rest += struct.pack('<H', 0)\n"
                 "head = b'-lh0-' + struct.pack('<IIIBBHB', 5, 5, 0, 0x20, 2, 0, 0x55) + rest\n"
                 "open('l', 'wb').write(struct.pack('<H', len(head) + 2) + head + data + b'\\0')\n"
                 "END\n"
                 "python3 lha.py; echo one > 1; printf '" PLANTED "' > 2; tar -cf a 1 l 2 l"));
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(was_told("a!l", "its decoder died (signal 31)"));
    CHECK_SHOW(seen("a!1")->is_complete && seen_planted() && seen_planted()->is_complete);
    /* Alone, its bytes are given as they are. */
    CHECK_EQ(help_walk("l"), 0);
    CHECK_SHOW(told_count == 1 && was_told("l", "its decoder died (signal 31)"));
    CHECK_SHOW(members_count == 1 && seen("l") && seen("l")->is_complete);
}

TEST(a_death_between_walks_is_not_told)
{
    help_start();
    make_many("tar -cf ../a 0 end");
    CHECK_EQ(help_walk("a"), 0);
    kill(help_walker->process.child.pid, SIGKILL);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 0 && members_count == 2);
    CHECK_EQ(help_walker->restarts_count, 0);
}

static int stop_child(void)
{
    if (kills_left > 0) {
        kills_left--;
        kill(help_walker->process.child.pid, SIGSTOP);
    }
    return 0;
}

TEST(silence_is_death)
{
    help_start();
    help_options.silence_ns_max = WEIR_NS_PER_S;
    make_many("tar -cf ../a 0 1 end");
    kills_left = 1;
    on_bytes = stop_child;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 1 && was_told("a!0", "its decoder was silent for 1000 ms"));
    CHECK_SHOW(seen("a!1")->is_complete && seen_planted());
}

TEST(deadline_and_cancel)
{
    struct weir_cancel token;
    help_start();
    make_many("tar -cf ../a 0 1 end");
    kills_left = 1;
    on_bytes = stop_child;
    struct weir_deadline soon = weir_deadline_in(WEIR_NS_PER_S, NULL);
    CHECK_EQ(help_walk_until("a", &soon), -WEIR_E_TIMEOUT);
    CHECK_SHOW(told_count == 1 && members[0].is_ended && !members[0].is_complete);
    weir_cancel_init(&token, NULL);
    weir_cancel_fire(&token);
    struct weir_deadline fired = weir_deadline_until(&token);
    CHECK_EQ(help_walk_until("a", &fired), -WEIR_E_CANCELED);
    weir_cancel_fini(&token);
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count == 0 && members_count == 3);
}

static struct weir_cancel from_hook;

static int cancel_from_hook(void)
{
    weir_cancel_fire(&from_hook);
    return 0;
}

TEST(cancel_in_the_middle)
{
    help_start();
    make_many("tar -cf ../a 0 1 end");
    on_bytes = cancel_from_hook;
    weir_cancel_init(&from_hook, NULL);
    struct weir_deadline deadline = weir_deadline_until(&from_hook);
    CHECK_EQ(help_walk_until("a", &deadline), -WEIR_E_CANCELED);
    CHECK_SHOW(members_count == 1 && members[0].is_ended && !members[0].is_complete);
    weir_cancel_fini(&from_hook);
}

static int answer_from_hook(void)
{
    return -WEIR_E_CORRUPT;
}

TEST(hooks_end_the_walk)
{
    help_start();
    make_many("tar -cf ../a 0 1 end");
    on_bytes = answer_from_hook;
    CHECK_EQ(help_walk("a"), -WEIR_E_CORRUPT);
    CHECK_SHOW(members_count == 1 && told_count == 0);
    on_bytes = NULL;
    on_end = answer_from_hook;
    CHECK_EQ(help_walk("a"), -WEIR_E_CORRUPT);
    CHECK_SHOW(members_count == 1 && told_count == 0);
    on_end = NULL;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(members_count == 3 && told_count == 0);
}

static int truncate_file(void)
{
    if (kills_left > 0) {
        kills_left--;
        CHECK(truncate("a", 4000000) == 0);
    }
    return 0;
}

TEST(a_file_that_shrinks)
{
    help_start();
    help_options.map_from = UINT64_MAX;
    make_many("tar -cf ../a 0 1 2 end");
    kills_left = 1;
    on_bytes = truncate_file;
    CHECK_EQ(help_walk("a"), 0);
    CHECK_SHOW(told_count > 0 && was_told(NULL, "broken: ") && help_walker->restarts_count == 0);
}

/* Nothing is left behind: no process, no descriptor. */
TEST(leaves_nothing)
{
    help_start();
    make_many("tar -cf ../a end");
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(help_walk("a"), 0);
        if (i % 3 == 0)
            help_start();
    }
    pid_t pid = help_walker ? help_walker->process.child.pid : 0;
    help_start();
    int after = dup(0);
    close(after);
    CHECK_EQ(after, before);
    CHECK(pid == 0 || (kill(pid, 0) != 0 && errno == ESRCH));
}

/* Frames, as a child that was taken over might send them. */

static struct weir__archive_taker taker;
static char message[WEIR__ARCHIVE_MESSAGE_MAX + 64];
static size_t message_length;

static void start_message(uint32_t walk, uint64_t number)
{
    struct weir__archive_message_head head = {WEIR__ARCHIVE_MAGIC, walk, number};
    memcpy(message, &head, sizeof(head));
    message_length = sizeof(head);
}

static void add_frame(uint32_t kind, const char *bytes, uint32_t length)
{
    struct weir__archive_frame_head head = {kind, length};
    memcpy(message + message_length, &head, sizeof(head));
    message_length += sizeof(head);
    if (bytes)
        memcpy(message + message_length, bytes, length);
    message_length += length;
}

static void start_taker(void)
{
    members_count = told_count = 0;
    on_bytes = on_end = NULL;
    weir__archive_options_init(&help_options);
    help_options.entries_max = 3;
    help_options.entry_bytes_max = 4;
    help_options.archive_bytes_max = 6;
    CHECK_EQ(weir__archive_taker_init(&taker, "f", &help_options, &help_hooks), 0);
    weir__archive_taker_start(&taker, 7, 0);
    start_message(7, 0);
}

static int take(void)
{
    int answer = weir__archive_take(&taker, message, message_length);
    weir__archive_taker_fini(&taker);
    return answer;
}

TEST(good_frames)
{
    static const char at[] = "\0\0\0\0\0\0\0\0p";
    start_taker();
    add_frame(WEIR__ARCHIVE_AT, at, 9);
    add_frame(WEIR__ARCHIVE_BEGIN, "p", 1);
    add_frame(WEIR__ARCHIVE_BYTES, "1234", 4);
    add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
    add_frame(WEIR__ARCHIVE_END, "\1", 1);
    add_frame(WEIR__ARCHIVE_UNSCANNED, "q\0why\n", 6);
    add_frame(WEIR__ARCHIVE_DONE, "", 0);
    CHECK_EQ(take(), 0);
    CHECK_EQ(taker.state, WEIR__ARCHIVE_FINISHED);
    CHECK_SHOW(seen("f!p") && seen("f!p")->is_complete && was_told("f!q", "why?"));
}

TEST(bad_order)
{
    static const uint32_t orders[][3] = {
        {WEIR__ARCHIVE_HELLO, 99, 99},
        {WEIR__ARCHIVE_BYTES, 99, 99},
        {WEIR__ARCHIVE_END, 99, 99},
        {WEIR__ARCHIVE_BEGIN, WEIR__ARCHIVE_BEGIN, 99},
        {WEIR__ARCHIVE_BEGIN, WEIR__ARCHIVE_DONE, 99},
        {WEIR__ARCHIVE_BEGIN, WEIR__ARCHIVE_UNSCANNED, 99},
        {WEIR__ARCHIVE_BEGIN, WEIR__ARCHIVE_END, WEIR__ARCHIVE_END},
        {WEIR__ARCHIVE_DONE, WEIR__ARCHIVE_ALIVE, 99},
        {WEIR__ARCHIVE_DONE, WEIR__ARCHIVE_DONE, 99},
        {WEIR__ARCHIVE_KINDS, 99, 99},
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        start_taker();
        for (size_t j = 0; j < 3 && orders[i][j] != 99; j++)
            add_frame(orders[i][j], "\1", orders[i][j] == WEIR__ARCHIVE_DONE ? 0 : 1);
        CHECK_EQ(take(), -WEIR_E_CORRUPT);
    }
}

TEST(bad_frames)
{
    static const char at_5[] = "\5\0\0\0\0\0\0\0p", at_1[] = "\1\0\0\0\0\0\0\0p";
    start_taker(); /* a number beyond the limit */
    add_frame(WEIR__ARCHIVE_AT, at_5, 9);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* the same number again */
    add_frame(WEIR__ARCHIVE_AT, at_1, 9);
    add_frame(WEIR__ARCHIVE_AT, at_1, 9);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* a name with NUL */
    add_frame(WEIR__ARCHIVE_BEGIN, "a\0b", 3);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* a reason with NUL, and one without */
    add_frame(WEIR__ARCHIVE_UNSCANNED, "a\0b\0c", 5);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker();
    add_frame(WEIR__ARCHIVE_UNSCANNED, "a", 1);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* no bytes, and too many */
    add_frame(WEIR__ARCHIVE_BEGIN, "a", 1);
    add_frame(WEIR__ARCHIVE_BYTES, "", 0);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker();
    add_frame(WEIR__ARCHIVE_BEGIN, "a", 1);
    add_frame(WEIR__ARCHIVE_BYTES, "12345", 5);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker();
    for (int i = 0; i < 2; i++) {
        add_frame(WEIR__ARCHIVE_BEGIN, "a", 1);
        add_frame(WEIR__ARCHIVE_BYTES, "1234", 4);
        add_frame(WEIR__ARCHIVE_END, "\1", 1);
    }
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker();
    add_frame(WEIR__ARCHIVE_DONE, "x", 1);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
}

TEST(bad_messages)
{
    start_taker();
    CHECK_EQ(take(), -WEIR_E_CORRUPT); /* no frame */
    start_taker();
    start_message(8, 0); /* another walk */
    add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker();
    start_message(7, 1); /* out of turn */
    add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* a frame that is longer than its message */
    add_frame(WEIR__ARCHIVE_BEGIN, "abc", 3);
    message_length -= 2;
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* a frame's head that is cut */
    add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
    add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
    message_length -= 2;
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* longer than any message */
    add_frame(WEIR__ARCHIVE_BEGIN, NULL, WEIR__ARCHIVE_MESSAGE_MAX);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
    start_taker(); /* longer than any name */
    add_frame(WEIR__ARCHIVE_BEGIN, NULL, WEIR__ARCHIVE_FRAME_MAX);
    memset(message + message_length - WEIR__ARCHIVE_FRAME_MAX, 'n', WEIR__ARCHIVE_FRAME_MAX);
    CHECK_EQ(take(), -WEIR_E_CORRUPT);
}

TEST(endless_small_talk)
{
    start_taker();
    int answer = 0;
    uint64_t number = 0;
    for (; answer == 0 && number < 100000000; number++) {
        start_message(7, number);
        for (int i = 0; i < 1000; i++)
            add_frame(WEIR__ARCHIVE_ALIVE, "", 0);
        answer = weir__archive_take(&taker, message, message_length);
    }
    weir__archive_taker_fini(&taker);
    CHECK_EQ(answer, -WEIR_E_CORRUPT);
}

ARCHIVE_MAIN()
