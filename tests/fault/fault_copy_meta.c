/* fault_copy_meta.c - metadata when memory or a system call fails: the failure is told, the rest is
 * put back, and a second try ends as if nothing had happened. */
#include "meta.h"

#include <sys/xattr.h>

#include "../unit/copy/meta_help.h"
#include "sweep.h"
#include "sys.h"
#include "tap.h"

static struct weir__meta_rules rules;
static const char *from_name, *to_name; /* of the scenario */
static int fault_errno;

/* Two of each kind, different in everything that this user may set. */
static void start(void)
{
    enter_folder();
    rules = (struct weir__meta_rules){.perms = true, .times = true, .owner = true, .group = true};
    rules.acls = rules.xattrs = rules.atimes = true;
    mode_t before = umask(0);
    weir__meta_rules_init(&rules);
    umask(before);
    shell("chmod 755 . && rm -rf s && mkdir s s/d && touch s/f && mkfifo s/p && ln -s x s/l && "
          "chmod 4751 s/f && chmod 750 s/d && touch -d 1999-09-09 s/* && "
          "{ [ $(id -u) -ne 0 ] || chown -h 1:2 s/f s/p s/l s/d; }");
    static const char large[2000];
    /* version 2; user::rwx, user:1:rwx, group::r-x, mask::rwx, other::--- */
    static const unsigned char acl[] = {2,   0,   0,   0,   1,   0,   7,  0,   255, 255, 255,
                                        255, 2,   0,   7,   0,   1,   0,  0,   0,   4,   0,
                                        5,   0,   255, 255, 255, 255, 16, 0,   7,   0,   255,
                                        255, 255, 255, 32,  0,   0,   0,  255, 255, 255, 255};
    int ignored = setxattr("s/f", "user.small", "1", 1, 0);
    ignored |= setxattr("s/f", "user.large", large, sizeof(large), 0);
    ignored |= setxattr("s/d", "user.d", "1", 1, 0);
    ignored |= lsetxattr("s/l", "trusted.l", "1", 1, 0);
    ignored |= setxattr("s/f", "system.posix_acl_access", acl, sizeof(acl), 0);
    ignored |= setxattr("s/p", "system.posix_acl_access", acl, sizeof(acl), 0);
    ignored |= setxattr("s/d", "system.posix_acl_default", acl, sizeof(acl), 0);
    (void)ignored; /* what this file system does not have is not tested here */
}

static void make_destination(void)
{
    unlink("f");
    unlink("p");
    unlink("l");
    rmdir("d");
    int fd = open("f", O_CREAT | O_WRONLY | O_CLOEXEC, 0400);
    int ignored = fsetxattr(fd, "user.other", "1", 1, 0);
    close(fd);
    ignored |= mkdir("d", 0500) | mkfifo("p", 0600) | symlink("x", "l");
    (void)ignored;
}

/* failure NULL: only looks. */
static int run(struct weir__meta_scratch *scratch, struct weir__meta_failure *failure)
{
    return bring(&rules, from_name, to_name, false, scratch, failure);
}

/* One look, one application that may fail, and one after it that may not. */
static void applies(void)
{
    struct weir__meta_scratch scratch;
    struct weir__meta_failure failure = {0};
    make_destination();
    int descriptors = count_descriptors();
    weir__meta_scratch_init(&scratch);
    int mask = run(&scratch, NULL);
    if (mask < 0)
        CHECK(errno == fault_errno);
    else
        CHECK(mask & WEIR__CHANGE_TIME);
    int changes = run(&scratch, &failure);
    bool was_hit = weir_fault_was_hit(WEIR_FAULT_IO) || weir_fault_was_hit(WEIR_FAULT_ALLOC);
    if (!was_hit) { /* and it shall not hit what follows */
        weir_fault_arm(WEIR_FAULT_IO, 0);
        weir_fault_arm(WEIR_FAULT_ALLOC, 0);
    }
    if (changes < 0 && !was_hit)
        tap_fail(__FILE__, __LINE__, "%s '%s' (%s): %s", failure.what, to_name, failure.attribute,
                 strerror(failure.errno_value));
    if (changes < 0) {
        /* Where the right to write could not be lent, that it is missing is what is told. */
        CHECK(failure.what &&
              (failure.errno_value == fault_errno || failure.errno_value == EACCES));
        CHECK(mask >= 0); /* one fault, one failure */
        struct stat source, copy;
        CHECK(!lstat(from_name, &source) && !lstat(to_name, &copy));
        bool is_about_times = strcmp(failure.what, "cannot change the times of") == 0;
        CHECK(is_about_times || source.st_mtim.tv_sec == copy.st_mtim.tv_sec);
        /* Never setuid for the wrong owner. */
        CHECK(source.st_uid == copy.st_uid || !rules.may_chown || !(copy.st_mode & 06000));
    } else if (mask >= 0) {
        CHECK(fault_errno == EINTR || !was_hit);
    }
    if (changes < 0)
        CHECK(run(&scratch, &failure) >= 0);
    CHECK_EQ(run(&scratch, NULL), 0);
    weir__meta_scratch_fini(&scratch);
    CHECK_EQ(count_descriptors(), descriptors);
}

static void sweep_all(void)
{
    static const char *const names[][2] = {{"s/f", "f"}, {"s/d", "d"}, {"s/p", "p"}, {"s/l", "l"}};
    static const int errors[] = {EIO, ENOSPC, EINTR};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        from_name = names[i][0];
        to_name = names[i][1];
        for (size_t k = 0; k < sizeof(errors) / sizeof(errors[0]); k++) {
            fault_errno = errors[k];
            weir__sys_fault_errno(fault_errno);
            CHECK(sweep(WEIR_FAULT_IO, applies) > 4);
        }
        fault_errno = ENOMEM;
        CHECK(sweep(WEIR_FAULT_ALLOC, applies) >= 1);
    }
}

TEST(survives_failing_calls)
{
    start();
    sweep_all();
}

TEST(survives_failing_calls_as_a_user)
{
    if (geteuid() != 0) {
        printf("# that is the test before: skipped\n");
        return;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        /* Its points are not ours. */
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        if (setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
            setresuid(65534, 65534, 65534) == 0)
            execl("/proc/self/exe", "fault-copy-meta", "survives_failing_calls", NULL);
        _exit(77);
    }
    int status = 1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        printf("# cannot run as another user here: skipped\n");
    else
        CHECK_EQ(status, 0);
}

static void looks_for_an_acl(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Not to be relied upon when it cannot be found out. */
    CHECK_EQ(weir__meta_has_default_acl(fd), weir_fault_was_hit(WEIR_FAULT_IO));
    close(fd);
}

TEST(an_unknown_default_acl_counts)
{
    start();
    weir__sys_fault_errno(EIO);
    CHECK_EQ(sweep(WEIR_FAULT_IO, looks_for_an_acl), 1);
}

static void parses(void)
{
    struct weir__chmod *chmod = NULL;
    const char *problem = NULL;
    bool has_uid, has_gid;
    uid_t uid;
    gid_t gid;
    int error = weir__chmod_new(&chmod, "a=r", &problem);
    CHECK(error == 0 || (error == -WEIR_E_NO_MEMORY && problem && !chmod));
    if (!error) {
        error = weir__chmod_add(chmod, "u+w,u+x,g+w,g+x,o+w,o+x,u-r", &problem);
        CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
        CHECK_EQ(weir__chmod_apply(chmod, S_IFREG, 0), S_IFREG | (error ? 0444 : 0377));
    }
    weir__chmod_free(chmod);
    problem = NULL;
    error = weir__chown_parse("root:root", &has_uid, &uid, &has_gid, &gid, &problem);
    CHECK(error == 0 || (error == -WEIR_E_NO_MEMORY && problem));
}

TEST(parses_without_memory)
{
    CHECK_EQ(sweep(WEIR_FAULT_ALLOC, parses), 5);
}

TAP_MAIN()
