/* test_meta.c - owner, mode and times: each rule by itself, what it costs, and all of them at
 * random against rsync, as root and as an ordinary user. */
#include "meta.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <weir/fault.h>

#include "meta_help.h"
#include "tap.h"

static struct weir__meta_rules rules_of(void)
{
    struct weir__meta_rules rules = {.perms = true, .times = true, .owner = true, .group = true};
    mode_t before = umask(022);
    weir__meta_rules_init(&rules);
    umask(before);
    return rules;
}

static int apply_as(const struct weir__meta_rules *rules, const char *from, const char *to,
                    bool by_name, struct weir__meta_failure *failure)
{
    struct weir__meta_scratch scratch;
    weir__meta_scratch_init(&scratch);
    int result = bring(rules, from, to, by_name, &scratch, failure);
    int saved = errno;
    weir__meta_scratch_fini(&scratch);
    errno = saved;
    return result;
}

static int apply(const struct weir__meta_rules *rules, const char *from, const char *to)
{
    struct weir__meta_failure failure = {0};
    int result = apply_as(rules, from, to, false, &failure);
    if (result < 0)
        printf("# %s '%s': %s\n", failure.what, to, strerror(failure.errno_value));
    return result;
}

static int differs(const struct weir__meta_rules *rules, const char *from, const char *to)
{
    return apply_as(rules, from, to, false, NULL);
}

static void set_mtime(const char *path, int64_t seconds, long ns)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = ns}};
    CHECK_EQ(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static struct stat look(const char *path)
{
    struct stat st;
    CHECK_EQ(lstat(path, &st), 0);
    return st;
}

TEST(times_keep_their_nanoseconds_before_1970_and_beyond_2038)
{
    static const struct timespec times[] = {
        {1, 123456789}, {0, 0}, {-1, 999999999}, {-1000000000, 1}, {4102444800, 5},
    };
    struct weir__meta_rules rules = rules_of();
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b && mkdir t/d t/e && ln -s x t/l && ln -s x t/m");
    static const char *const pairs[][2] = {{"t/a", "t/b"}, {"t/d", "t/e"}, {"t/l", "t/m"}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        for (size_t k = 0; k < 3; k++) {
            set_mtime(pairs[k][0], times[i].tv_sec, times[i].tv_nsec);
            struct stat before = look(pairs[k][1]);
            CHECK_EQ(differs(&rules, pairs[k][0], pairs[k][1]), WEIR__CHANGE_TIME);
            CHECK_EQ(apply(&rules, pairs[k][0], pairs[k][1]), WEIR__CHANGE_TIME);
            struct stat from = look(pairs[k][0]), to = look(pairs[k][1]);
            CHECK_EQ(to.st_mtim.tv_sec, from.st_mtim.tv_sec);
            CHECK_EQ(to.st_mtim.tv_nsec, from.st_mtim.tv_nsec);
            CHECK_EQ(to.st_atim.tv_nsec, before.st_atim.tv_nsec);
            CHECK_EQ(differs(&rules, pairs[k][0], pairs[k][1]), 0);
            CHECK_EQ(apply(&rules, pairs[k][0], pairs[k][1]), 0);
        }
}

TEST(times_within_the_window_agree)
{
    struct weir__meta_rules rules = rules_of();
    rules.modify_window_ns = 1000000000;
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b");
    set_mtime("t/a", 100, 900000000);
    set_mtime("t/b", 101, 900000000);
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
    CHECK_EQ(differs(&rules, "t/b", "t/a"), 0);
    set_mtime("t/b", 101, 900000001);
    CHECK_EQ(differs(&rules, "t/a", "t/b"), WEIR__CHANGE_TIME);
    CHECK_EQ(differs(&rules, "t/b", "t/a"), WEIR__CHANGE_TIME);
    rules.modify_window_ns = UINT64_MAX;
    set_mtime("t/b", 5000000000, 0);
    CHECK_EQ(differs(&rules, "t/b", "t/a"), 0);
    struct stat source = look("t/a"), existing = source;
    existing.st_mtim.tv_nsec = WEIR__META_TIME_UNKNOWN;
    struct weir__meta_place place = {-1, AT_FDCWD, "t/a"};
    CHECK_EQ(weir__meta_differs(&rules, &place, &source, &place, &existing, NULL),
             WEIR__CHANGE_TIME);
    existing.st_mtim = (struct timespec){INT64_MIN, 0};
    rules.modify_window_ns = 1;
    CHECK_EQ(weir__meta_differs(&rules, &place, &source, &place, &existing, NULL),
             WEIR__CHANGE_TIME);
}

TEST(access_times_are_kept_on_request)
{
    struct weir__meta_rules rules = rules_of();
    rules.atimes = true;
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b && mkdir t/d t/e");
    struct timespec times[2] = {{100, 1}, {200, 2}};
    CHECK_EQ(utimensat(AT_FDCWD, "t/a", times, 0), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_TIME | WEIR__CHANGE_ATIME);
    CHECK_EQ(look("t/b").st_atim.tv_sec, 100);
    CHECK_EQ(look("t/b").st_atim.tv_nsec, 1);
    times[0].tv_sec = 101;
    CHECK_EQ(utimensat(AT_FDCWD, "t/a", times, 0), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_ATIME);
    CHECK_EQ(look("t/b").st_atim.tv_sec, 101);
    CHECK_EQ(look("t/b").st_mtim.tv_sec, 200);
    /* Without times, the access time alone. */
    rules.times = false;
    times[0].tv_sec = 102;
    times[1].tv_sec = 201;
    CHECK_EQ(utimensat(AT_FDCWD, "t/a", times, 0), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_ATIME);
    CHECK_EQ(look("t/b").st_mtim.tv_sec, 200);
    /* Of a directory it goes along with the other and is never a difference. */
    rules.times = true;
    CHECK_EQ(utimensat(AT_FDCWD, "t/d", times, 0), 0);
    CHECK_EQ(apply(&rules, "t/d", "t/e"), WEIR__CHANGE_TIME);
    CHECK_EQ(look("t/e").st_atim.tv_sec, 102);
    times[0].tv_sec = 103;
    CHECK_EQ(utimensat(AT_FDCWD, "t/d", times, 0), 0);
    CHECK_EQ(differs(&rules, "t/d", "t/e"), 0);
}

TEST(times_are_omitted_where_told)
{
    struct weir__meta_rules rules = rules_of();
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b && mkdir t/d t/e && ln -s x t/l && ln -s x t/m");
    set_mtime("t/a", 1, 1);
    set_mtime("t/d", 1, 1);
    set_mtime("t/l", 1, 1);
    rules.atimes = true;
    rules.omit_dir_times = rules.omit_link_times = true;
    CHECK_EQ(differs(&rules, "t/d", "t/e"), 0);
    CHECK_EQ(apply(&rules, "t/l", "t/m"), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b") & WEIR__CHANGE_TIME, WEIR__CHANGE_TIME);
    rules.times = rules.atimes = false;
    set_mtime("t/a", 2, 2);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), 0);
}

TEST(modes_follow_the_rules)
{
    struct weir__meta_rules rules = rules_of();
    struct weir__chmod *chmod;
    const char *problem;
    struct stat source = {.st_mode = S_IFREG | 06775}, existing = {.st_mode = S_IFREG | 0600};
    struct stat dir = {.st_mode = S_IFDIR | 01777}, symlink = {.st_mode = S_IFLNK | 0777};
    rules.umask = 027;
    CHECK_EQ(weir__meta_mode(&rules, &source, NULL), 06775);
    CHECK_EQ(weir__meta_mode(&rules, &source, &existing), 06775);
    CHECK_EQ(weir__chmod_new(&chmod, "F=r,D+s", &problem), 0);
    rules.chmod = chmod;
    CHECK_EQ(weir__meta_mode(&rules, &source, &existing), 06440);
    CHECK_EQ(weir__meta_mode(&rules, &dir, NULL), 05777);
    CHECK_EQ(weir__meta_mode(&rules, &symlink, NULL), 0777);
    rules.perms = false;
    CHECK_EQ(weir__meta_mode(&rules, &source, &existing), 0600);
    CHECK_EQ(weir__meta_mode(&rules, &source, NULL), 0440);
    rules.chmod = NULL;
    CHECK_EQ(weir__meta_mode(&rules, &source, NULL), 0750);
    CHECK_EQ(weir__meta_mode(&rules, &dir, NULL), 0750);
    CHECK_EQ(weir__meta_mode_inherited(&rules, &source), 0775);
    CHECK_EQ(weir__meta_mode_inherited(&rules, &dir), 0777);
    weir__chmod_free(chmod);
}

TEST(owners_follow_the_rules)
{
    struct weir__meta_rules rules = rules_of();
    struct stat source = {.st_mode = S_IFREG, .st_uid = 7, .st_gid = 8};
    uid_t uid;
    gid_t gid;
    rules.may_chown = true;
    weir__meta_owner(&rules, &source, &uid, &gid);
    CHECK(uid == 7 && gid == 8);
    rules.has_uid = true;
    rules.uid = 9;
    rules.owner = rules.group = false;
    weir__meta_owner(&rules, &source, &uid, &gid);
    CHECK(uid == 9 && gid == (gid_t)-1);
    rules.has_gid = true;
    rules.gid = 10;
    rules.may_chown = false;
    rules.groups[0] = 3;
    rules.groups[1] = 10;
    rules.groups_count = 2;
    weir__meta_owner(&rules, &source, &uid, &gid);
    CHECK(uid == (uid_t)-1 && gid == 10);
    rules.gid = 11;
    weir__meta_owner(&rules, &source, &uid, &gid);
    CHECK(uid == (uid_t)-1 && gid == (gid_t)-1);
    rules.has_more_groups = true;
    weir__meta_owner(&rules, &source, &uid, &gid);
    CHECK_EQ(gid, 11);
}

TEST(privileges_are_found_out)
{
    struct weir__meta_rules rules = {.times = true};
    mode_t before = umask(0123);
    weir__meta_rules_init(&rules);
    CHECK_EQ(umask(before), 0);
    CHECK_EQ(rules.umask, 0123);
    CHECK(rules.times);
    CHECK(rules.groups_count >= 1);
    bool has_own = false;
    for (unsigned i = 0; i < rules.groups_count; i++) {
        CHECK(i == 0 || rules.groups[i - 1] <= rules.groups[i]);
        has_own = has_own || rules.groups[i] == getegid();
    }
    CHECK(has_own);
    if (geteuid() != 0)
        CHECK(!rules.may_chown && !rules.may_trust);
}

#ifdef WEIR_FAULTS
/* How many wrapped system calls a call makes. */
static int calls_of(const struct weir__meta_rules *rules, const struct stat *source, int fd,
                    const struct stat *existing)
{
    struct weir__meta_place place = {fd, -1, NULL};
    struct weir__meta_failure failure;
    for (int n = 1;; n++) {
        weir_fault_arm(WEIR_FAULT_IO, (uint64_t)n);
        weir__meta_apply(rules, &place, source, &place, existing, NULL, &failure);
        bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (!was_hit)
            return n - 1;
    }
}

TEST(a_new_file_costs_one_call)
{
    struct weir__meta_rules rules = rules_of();
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b && chmod 640 t/a t/b");
    int fd = open("t/b", O_RDWR | O_CLOEXEC);
    struct stat source = look("t/a"), existing = {.st_mode = S_IFREG | 0640};
    existing.st_uid = source.st_uid;
    existing.st_gid = source.st_gid;
    existing.st_mtim.tv_nsec = WEIR__META_TIME_UNKNOWN;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 1);
    rules.atimes = true;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 1);
    existing.st_mtim = source.st_mtim;
    existing.st_atim = source.st_atim;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 0);
    existing.st_mode = S_IFREG | 0600;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 1);
    /* setuid comes back after the owner, and only then. */
    existing.st_mode = source.st_mode = S_IFREG | 04755;
    rules.may_chown = true;
    existing.st_uid = source.st_uid + 1;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 2);
    existing.st_mode = source.st_mode = S_IFREG | 0755;
    CHECK_EQ(calls_of(&rules, &source, fd, &existing), 1);
    close(fd);
}
#endif

TEST(setuid_survives_a_change_of_owner)
{
    struct weir__meta_rules rules = rules_of();
    if (!is_root("change owners"))
        return;
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b t/c && chown 1:2 t/a && chmod 6755 t/a t/b");
    CHECK_EQ(apply(&rules, "t/a", "t/b") & ~WEIR__CHANGE_TIME,
             WEIR__CHANGE_OWNER | WEIR__CHANGE_GROUP);
    CHECK_EQ(look("t/b").st_mode, S_IFREG | 06755);
    CHECK(look("t/b").st_uid == 1 && look("t/b").st_gid == 2);
    apply(&rules, "t/a", "t/c");
    CHECK_EQ(look("t/c").st_mode, S_IFREG | 06755);
}

static int failed_owner(void)
{
    /* As if we had the right, which we do not: the owner fails, and so setuid must not be given. */
    struct weir__meta_rules rules = rules_of();
    struct weir__meta_failure failure = {0};
    rules.may_chown = true;
    NEED(!system("rm -rf user/b && touch user/b && chmod 600 user/b"));
    NEED(apply_as(&rules, "user/a", "user/b", false, &failure) == -1);
    NEED(strcmp(failure.what, "cannot change the owner of") == 0);
    NEED(failure.errno_value == EPERM && !failure.attribute);
    struct stat a, b;
    NEED(!stat("user/a", &a) && !stat("user/b", &b));
    NEED(b.st_mode == (S_IFREG | 0755));
    NEED(a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec);
    /* With more groups than are known one is tried, and refused without an error. */
    rules.may_chown = false;
    rules.has_more_groups = true;
    NEED(apply_as(&rules, "user/a", "user/b", false, &failure) == WEIR__CHANGE_MODE);
    NEED(!stat("user/b", &b) && b.st_mode == (S_IFREG | 06755) && b.st_gid == NOBODY);
    return 0;
}

TEST(no_setuid_for_the_wrong_owner)
{
    if (!is_root("make a file of somebody else's"))
        return;
    enter_folder();
    shell("rm -rf user && mkdir user && chmod 777 user && touch user/a && chown 1:3 user/a && "
          "chmod 6755 user/a");
    CHECK_EQ(as_user(failed_owner, 2), 0);
}

TEST(a_mode_never_goes_through_a_symlink)
{
    struct weir__meta_rules rules = rules_of();
    struct weir__meta_failure failure = {0};
    struct weir__meta_scratch scratch;
    enter_folder();
    shell("rm -rf t && mkdir t && mkfifo t/a t/b t/other && chmod 640 t/a && chmod 600 t/b && "
          "touch t/victim && chmod 604 t/victim");
    int dir = open("t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct weir__meta_place from = {-1, dir, "a"}, to = {-1, dir, "b"};
    struct stat source = look("t/a"), existing = look("t/b");
    weir__meta_scratch_init(&scratch);
    set_mtime("t/victim", 5, 5);
    shell("rm t/b && ln -s victim t/b");
    CHECK_EQ(weir__meta_apply(&rules, &from, &source, &to, &existing, &scratch, &failure), -1);
    CHECK_STR(failure.what, "cannot change the permissions of");
    CHECK_EQ(failure.errno_value, ESTALE);
    CHECK_EQ(look("t/victim").st_mode, S_IFREG | 0604);
    CHECK_EQ(look("t/victim").st_mtim.tv_sec, 5);
    /* Neither to another inode of the same kind. */
    shell("rm t/b && ln t/other t/b");
    CHECK_EQ(weir__meta_apply(&rules, &from, &source, &to, &existing, &scratch, &failure), -1);
    CHECK_EQ(failure.errno_value, ESTALE);
    existing.st_ino = 0;
    existing.st_mtim.tv_nsec = WEIR__META_TIME_UNKNOWN;
    CHECK_EQ(weir__meta_apply(&rules, &from, &source, &to, &existing, &scratch, &failure),
             WEIR__CHANGE_MODE | WEIR__CHANGE_TIME);
    CHECK_EQ(look("t/other").st_mode, S_IFIFO | 0640);
    weir__meta_scratch_fini(&scratch);
    close(dir);
}

static int without_proc(void)
{
    struct weir__meta_rules rules = rules_of();
    struct weir__meta_failure failure = {0};
    struct weir__meta_scratch scratch;
    int dir = open("t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct weir__meta_place from = {-1, dir, "a"}, to = {-1, dir, "b"};
    struct stat source, existing;
    NEED(!fstatat(dir, "a", &source, 0) && !fstatat(dir, "b", &existing, 0));
    weir__meta_scratch_init(&scratch);
    int result = weir__meta_apply(&rules, &from, &source, &to, &existing, &scratch, &failure);
    /* Before Linux 6.6 there is no way to do it. */
    NEED(result > 0 || failure.errno_value == ENOSYS);
    rules.xattrs = true;
    NEED(weir__meta_apply(&rules, &from, &source, &to, &existing, &scratch, &failure) == -1);
    NEED(strstr(failure.what, "/proc is not mounted"));
    NEED(failure.errno_value == ENOTSUP);
    errno = 0;
    NEED(weir__meta_differs(&rules, &from, &source, &to, &existing, &scratch) < 0);
    NEED(errno == ENOTSUP);
    weir__meta_scratch_fini(&scratch);
    return 0;
}

TEST(without_proc_there_is_a_clear_error)
{
    if (!is_root("hide /proc"))
        return;
    enter_folder();
    shell("rm -rf t && mkdir t && mkfifo t/a t/b && chmod 640 t/a && chmod 600 t/b");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int unshare(int);
        if (unshare(0x00020000 /* CLONE_NEWNS */) || mount("", "/", "", MS_REC | MS_PRIVATE, "") ||
            mount("none", "/proc", "tmpfs", 0, ""))
            _exit(77);
        int line = without_proc();
        if (line)
            printf("# line %d\n", line);
        fflush(stdout);
        _exit(line != 0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("# /proc cannot be hidden here: skipped\n");
    else
        CHECK_EQ(status, 0);
}

/* The rest: trees at random, and rsync as the judge. */

enum { ENTRIES = 40 };
static const char kinds[] = "fdlpc"; /* file, directory, symlink, fifo, character device */

static uint64_t random_state;

static unsigned dice(unsigned sides)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % sides;
}

/* Everybody may read: ordinary users, too, must be able to see what they copy. */
static void make_acl(struct acl *acl)
{
    unsigned which = dice(4);
    acl_init(acl);
    acl_add(acl, ACL_USER_OBJ, dice(8) | 5, 0);
    if (which & 1)
        acl_add(acl, ACL_USER, dice(8) | 5, 1);
    acl_add(acl, ACL_GROUP_OBJ, dice(8) | 5, 0);
    if (which & 2)
        acl_add(acl, ACL_GROUP, dice(8) | 5, 2);
    if (which)
        acl_add(acl, ACL_MASK, dice(8) | 5, 0);
    acl_add(acl, ACL_OTHER, dice(8) | 5, 0);
}

/* Some file systems show more than there is: XFS its ACLs as attributes, which rsync takes for
 * such, and btrfs to everybody the names of trusted.*, over which rsync fails. */
static bool is_file_system(long magic)
{
    struct statfs st;
    CHECK_EQ(statfs(".", &st), 0);
    return (long)st.f_type == magic;
}

/* What may not be set here is not: the test is about what is there. */
static void decorate(const char *path, char kind, bool for_user)
{
    static const char *const names[] = {"user.a", "user.b", "trusted.c", "security.d"};
    static const uid_t ids[] = {0, 1, 2, 3, NOBODY};
    static char value[3000];
    uid_t uid = ids[dice(5)];
    gid_t gid = ids[dice(5)];
    if (for_user)
        uid = NOBODY, gid = dice(2) ? NOBODY : 2;
    int ignored = lchown(path, uid, gid);
    for (size_t i = 0; i < 4; i++)
        if (dice(3) == 0 && !(i == 2 && is_file_system(BTRFS_SUPER_MAGIC))) {
            memset(value, 'a' + (int)dice(3), sizeof(value));
            ignored |= lsetxattr(path, names[i], value, dice(4) ? dice(5) : 700, 0);
        }
    /* cap_net_raw+ep */
    static const unsigned char capability[20] = {1, 0, 0, 2, 0, 32};
    if (kind == 'f' && dice(4) == 0)
        ignored |= lsetxattr(path, "security.capability", capability, 20, 0);
    if (kind != 'l') {
        mode_t mode = dice(2) ? dice(010000) : dice(01000);
        ignored |= chmod(path, mode | (for_user ? (kind == 'd' ? 0500 : 0400) : 0));
        struct acl acl;
        make_acl(&acl);
        if (dice(3) == 0)
            ignored |= lsetxattr(path, "system.posix_acl_access", &acl, acl_size(&acl), 0);
        make_acl(&acl);
        if (kind == 'd' && dice(3) == 0)
            ignored |= lsetxattr(path, "system.posix_acl_default", &acl, acl_size(&acl), 0);
    }
    set_mtime(path, 1000 + dice(2), (long)dice(2));
    (void)ignored;
}

static void make_entry(const char *folder, unsigned number, unsigned kinds_count, bool for_user,
                       unsigned how)
{
    char path[64];
    char kind = kinds[number % kinds_count];
    snprintf(path, sizeof(path), "%s/%c%u", folder, kind, number);
    uint64_t saved = random_state;
    random_state += how * UINT64_C(0x9e3779b97f4a7c15);
    if (kind == 'd')
        CHECK_EQ(mkdir(path, 0700), 0);
    else if (kind == 'l')
        CHECK_EQ(symlink("target", path), 0);
    else
        CHECK_EQ(mknod(path,
                       (kind == 'f'   ? S_IFREG
                        : kind == 'p' ? S_IFIFO
                                      : S_IFCHR) |
                           0600,
                       kind == 'c' ? makedev(1, 3) : 0),
                 0);
    decorate(path, kind, for_user);
    random_state = saved;
}

/* Source and destination differ in about half of everything; a fifth is the same on both sides. */
static void make_trees(unsigned seed, bool for_user)
{
    /* Root may write where the owner may not; others must first be let in to clean up. */
    shell("chmod -R u+rwx trees 2>/dev/null; rm -rf trees && mkdir -p trees/src trees/ours "
          "trees/theirs");
    if (for_user && geteuid() == 0)
        shell("chown 65534:65534 trees/ours trees/theirs");
    for (unsigned i = 0; i < ENTRIES; i++) {
        random_state = seed * 1000 + i;
        unsigned count = for_user ? 4 : 5; /* a user makes no devices */
        make_entry("trees/src", i, count, geteuid() != 0, 0);
        make_entry("trees/ours", i, count, for_user, i % 6 != 0);
        make_entry("trees/theirs", i, count, for_user, i % 6 != 0);
    }
    if (for_user) /* what an ordinary user can read at all */
        shell("find trees/src ! -type l -exec chmod a+rX {} +");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Everything that we keep, as text. */
static const char *describe(const char *path, char *text, size_t size)
{
    char list[4096], value[4096], *names[32];
    struct stat st = look(path);
    int length = snprintf(text, size, "%o %u:%u %lld.%09ld", st.st_mode, st.st_uid, st.st_gid,
                          (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    ssize_t listed = llistxattr(path, list, sizeof(list));
    size_t count = 0;
    for (char *name = list; name < list + listed && count < 32; name += strlen(name) + 1)
        names[count++] = name;
    qsort(names, count, sizeof(names[0]), compare_texts);
    for (size_t i = 0; i < count; i++) {
        ssize_t got = lgetxattr(path, names[i], value, sizeof(value));
        length += snprintf(text + length, size - (size_t)length, " %s=%zd:", names[i], got);
        for (ssize_t k = 0; k < got && k < 60; k++)
            length +=
                snprintf(text + length, size - (size_t)length, "%02x", (unsigned char)value[k]);
    }
    return text;
}

struct variant {
    const char *options; /* of rsync */
    bool acls, xattrs, no_perms, no_owner, omit, has_owner;
    const char *chmod;
};

static const struct variant *variant;
static unsigned masks[ENTRIES];

static struct weir__meta_rules rules_of_variant(void)
{
    struct weir__meta_rules rules = rules_of();
    const char *problem;
    struct weir__chmod *chmod = NULL;
    rules.acls = variant->acls;
    rules.xattrs = variant->xattrs;
    rules.perms = !variant->no_perms;
    rules.owner = rules.group = !variant->no_owner;
    rules.omit_dir_times = rules.omit_link_times = variant->omit;
    if (variant->has_owner) {
        rules.has_uid = rules.has_gid = true;
        rules.uid = 1;
        rules.gid = 2;
    }
    if (variant->chmod)
        CHECK_EQ(weir__chmod_new(&chmod, variant->chmod, &problem), 0);
    rules.chmod = chmod;
    return rules;
}

/* "t" in rsync's itemized line is the fifth, and so on. */
static unsigned mask_of_line(const char *line)
{
    static const unsigned bits[11] = {
        [4] = WEIR__CHANGE_TIME,  [5] = WEIR__CHANGE_MODE, [6] = WEIR__CHANGE_OWNER,
        [7] = WEIR__CHANGE_GROUP, [9] = WEIR__CHANGE_ACL,  [10] = WEIR__CHANGE_XATTR};
    unsigned mask = 0;
    for (int i = 2; i < 11; i++)
        if (line[i] != '.' && line[i] != ' ')
            mask |= bits[i];
    return mask;
}

/* What rsync would change, before it does. It looks at nanoseconds only if told. */
static int ask_rsync(const char *folder)
{
    char command[512], line[512];
    memset(masks, 0, sizeof(masks));
    snprintf(command, sizeof(command),
             "umask 022; rsync %s --size-only --modify-window=-1 -ni trees/src/ trees/%s/",
             variant->options, folder);
    FILE *pipe = popen(command, "r");
    NEED(pipe);
    while (fgets(line, sizeof(line), pipe)) {
        unsigned long number = strtoul(line + 13, NULL, 10);
        if (line[12] == '.')
            continue;
        NEED(number < ENTRIES && line[0] != '*');
        masks[number] = mask_of_line(line);
    }
    NEED(pclose(pipe) == 0);
    return 0;
}

/* Runs as whoever it is about. */
static int copy_both(void)
{
    struct weir__meta_rules rules = rules_of_variant();
    NEED(ask_rsync("theirs") == 0);
    char command[512];
    snprintf(command, sizeof(command),
             "umask 022; rsync %s --size-only --modify-window=-1 trees/src/ trees/theirs/",
             variant->options);
    NEED(system(command) == 0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        char from[64], to[64];
        struct weir__meta_failure failure = {0};
        for (const char *kind = kinds; *kind; kind++) {
            snprintf(from, sizeof(from), "trees/src/%c%u", *kind, i);
            snprintf(to, sizeof(to), "trees/ours/%c%u", *kind, i);
            if (access(from, F_OK) == 0 || *kind == 'l')
                if (faccessat(AT_FDCWD, from, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                    break;
        }
        int mask = apply_as(&rules, from, to, i % 7 == 0, NULL);
        if (mask != (int)masks[i])
            printf("# %s %s: differs in %#x, rsync says %#x\n", variant->options, from, mask,
                   masks[i]);
        NEED(mask == (int)masks[i]);
        int changes = apply_as(&rules, from, to, i % 7 == 0, &failure);
        if (changes < 0)
            printf("# %s %s: %s (%s): %s\n", variant->options, from, failure.what,
                   failure.attribute, strerror(failure.errno_value));
        /* A new owner takes the capability away, which may then be what had to be done. */
        int excused = mask & (WEIR__CHANGE_OWNER | WEIR__CHANGE_GROUP) ? WEIR__CHANGE_XATTR : 0;
        if ((changes & ~excused) != (mask & ~excused))
            printf("# %s %s: differs in %#x, changed %#x\n", variant->options, from, mask, changes);
        NEED((changes & ~excused) == (mask & ~excused));
    }
    weir__chmod_free((struct weir__chmod *)(uintptr_t)rules.chmod);
    return 0;
}

/* What is left to do for rsync in our tree, and what in its own: where it is not content with
 * itself (some ACLs it gets right in a second run only) it is no judge. Shared with the child. */
static unsigned *unsettled;

static int ask_both(void)
{
    NEED(ask_rsync("theirs") == 0);
    memcpy(unsettled, masks, sizeof(masks));
    NEED(ask_rsync("ours") == 0);
    for (unsigned i = 0; i < ENTRIES; i++) {
        unsigned excused = variant->acls ? unsettled[i] & WEIR__CHANGE_ACL : 0;
        if (masks[i] != (unsettled[i] & ~excused))
            printf("# %s: entry %u: %#x is left to do, by rsync itself %#x\n", variant->options, i,
                   masks[i], unsettled[i]);
        NEED(masks[i] == (unsettled[i] & ~excused));
        unsettled[i] = excused;
    }
    return 0;
}

static void judge(unsigned seed, bool for_user)
{
    char ours[8192], theirs[8192], a[64], b[64];
    make_trees(seed, for_user);
    CHECK_EQ(for_user ? as_user(copy_both, 2) : copy_both(), 0);
    CHECK_EQ(for_user ? as_user(ask_both, 2) : ask_both(), 0);
    for (unsigned i = 0; i < ENTRIES; i++)
        for (const char *kind = kinds; *kind; kind++) {
            snprintf(a, sizeof(a), "trees/ours/%c%u", *kind, i);
            snprintf(b, sizeof(b), "trees/theirs/%c%u", *kind, i);
            struct stat st;
            if (lstat(a, &st) != 0 || unsettled[i] ||
                (variant->omit && (*kind == 'd' || *kind == 'l')))
                continue;
            describe(a, ours, sizeof(ours));
            describe(b, theirs, sizeof(theirs));
            if (strcmp(ours, theirs) != 0)
                tap_fail(__FILE__, __LINE__, "%s, seed %u, %s is\n#   %s, rsync's\n#   %s",
                         variant->options, seed, a, ours, theirs);
        }
}

static const struct variant variants[] = {
    {.options = "-aAX", .acls = true, .xattrs = true},
    {.options = "-a"},
    {.options = "-aX", .xattrs = true},
    {.options = "-rltD", .no_perms = true, .no_owner = true},
    {.options = "-aOJ", .omit = true},
    {.options = "-a --chown=1:2", .has_owner = true},
    {.options = "-a --chmod=Dg+s,ug+w,Fo-w,+X", .chmod = "Dg+s,ug+w,Fo-w,+X"},
    {.options = "-aA --chmod=D750,F640", .acls = true, .chmod = "D750,F640"},
    {.options = "-rltD --chmod=777", .no_perms = true, .no_owner = true, .chmod = "777"},
};

static void judge_all(bool for_user)
{
    const char *more = getenv("WEIR_LONG");
    unsettled =
        mmap(NULL, sizeof(masks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(unsettled != MAP_FAILED);
    for (unsigned seed = 1; seed <= (more && *more ? 8u : 1u); seed++)
        for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
            variant = &variants[i];
            if (variant->xattrs && !for_user && is_file_system(XFS_SUPER_MAGIC))
                printf("# %s: rsync takes the ACLs of XFS for attributes: skipped\n",
                       variant->options);
            else
                judge(seed, for_user);
        }
    munmap(unsettled, sizeof(masks));
}

TEST(does_what_rsync_does)
{
    if (!has_rsync())
        return;
    enter_folder();
    judge_all(geteuid() != 0);
}

TEST(does_for_a_user_what_rsync_does)
{
    if (!has_rsync() || !is_root("make the files of others"))
        return;
    enter_folder();
    judge_all(true);
}

TAP_MAIN()
