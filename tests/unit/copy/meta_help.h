/* meta_help.h - what the tests of metadata share: a temporary folder, rsync as the judge, and a
 * child without privileges.
 *
 * Ownership: the folder is removed when the program ends.
 */
#ifndef WEIR_TESTS_META_HELP_H
#define WEIR_TESTS_META_HELP_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meta.h"
#include "tap.h"

#define NOBODY ((uid_t)65534)

/* One shell command, which must succeed. */
__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
    char command[8192];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    CHECK(length > 0 && (size_t)length < sizeof(command));
    if (system(command) != 0)
        tap_fail(__FILE__, __LINE__, "failed: %s", command);
}

static char help_folder[256];

static void help_remove(void)
{
    char command[1024];
    /* A test that failed may have left a mount in its place, t/m. */
    snprintf(command, sizeof(command),
             "cd /; [ ! -d '%s/t/m' ] || umount -q '%s/t/m' 2>/dev/null; rm -rf '%s'", help_folder,
             help_folder, help_folder);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove '%s'\n", help_folder);
}

/* The program's own folder, made at the first call, and the current folder from then on. */
static inline void enter_folder(void)
{
    if (help_folder[0])
        return;
    const char *parent = getenv("TMPDIR");
    snprintf(help_folder, sizeof(help_folder), "%s/weir-meta-XXXXXX",
             parent && *parent ? parent : "/tmp");
    CHECK(mkdtemp(help_folder));
    atexit(help_remove);
    CHECK_EQ(chmod(help_folder, 0755), 0);
    CHECK_EQ(chdir(help_folder), 0);
}

/* Brings the metadata of one path to another, or, with failure NULL, tells what differs: by
 * descriptors for files and directories unless by_name, by names for the rest. -1000 where one of
 * them is missing, -2000 where it cannot be opened. */
static inline int bring(const struct weir__meta_rules *rules, const char *from_path,
                        const char *to_path, bool by_name, struct weir__meta_scratch *scratch,
                        struct weir__meta_failure *failure)
{
    struct stat source, existing;
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct weir__meta_place from = {-1, here, from_path}, to = {-1, here, to_path};
    int result = lstat(from_path, &source) || lstat(to_path, &existing) ? -1000 : 0;
    if (result == 0 && !by_name && (S_ISREG(source.st_mode) || S_ISDIR(source.st_mode))) {
        from.fd = open(from_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        to.fd = open(to_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        result = from.fd < 0 || to.fd < 0 ? -2000 : 0;
    }
    if (result == 0)
        result = failure ? weir__meta_apply(rules, &from, &source, &to, &existing, scratch, failure)
                         : weir__meta_differs(rules, &from, &source, &to, &existing, scratch);
    int saved = errno;
    close(from.fd);
    close(to.fd);
    close(here);
    errno = saved;
    return result;
}

/* rsync copies bits of classes (g=u) since 3.5, and what it does before differs in other corners.
 */
static inline bool has_rsync(void)
{
    bool has = system("v=$(rsync --version 2>/dev/null | sed -n 's/^rsync *version *\\([0-9]*\\)"
                      "\\.\\([0-9]*\\).*/\\1 \\2/p') && set -- $v && [ \"${1:-0}\" -gt 3 -o "
                      "\"${1:-0}\" -eq 3 -a \"${2:-0}\" -ge 5 ]") == 0;
    if (!has)
        printf("# no rsync 3.5 here: skipped\n");
    return has;
}

static inline bool is_root(const char *what)
{
    if (geteuid() == 0)
        return true;
    printf("# only root can %s: skipped\n", what);
    return false;
}

/* In a child a failed check cannot end the test, so functions that run there return the line. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/* Runs fn in a child process, as an ordinary user who is in the group nobody and in one more, if
 * we are root. The line of the NEED that failed, or 0. */
static inline int as_user(int (*fn)(void), gid_t group)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        gid_t groups[] = {NOBODY, group};
        if (geteuid() == 0 && (setgroups(2, groups) || setresgid(NOBODY, NOBODY, NOBODY) ||
                               setresuid(NOBODY, NOBODY, NOBODY)))
            _exit(255);
        int line = fn();
        if (line != 0)
            printf("# line %d of the child, errno %d\n", line, errno);
        fflush(stdout);
        _exit(line != 0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The value of an ACL. Entries must come in the kernel's order: by their tags. */
struct acl {
    struct posix_acl_xattr_header header;
    struct posix_acl_xattr_entry entries[16];
    size_t count;
};

static inline void acl_init(struct acl *acl)
{
    memset(acl, 0, sizeof(*acl));
    acl->header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
}

static inline void acl_add(struct acl *acl, unsigned tag, unsigned permissions, uint32_t id)
{
    struct posix_acl_xattr_entry *entry = &acl->entries[acl->count++];
    bool has_id = tag == ACL_USER || tag == ACL_GROUP;
    entry->e_tag = htole16((uint16_t)tag);
    entry->e_perm = htole16((uint16_t)permissions);
    entry->e_id = htole32(has_id ? id : UINT32_MAX);
}

static inline size_t acl_size(const struct acl *acl)
{
    return sizeof(acl->header) + acl->count * sizeof(acl->entries[0]);
}

#endif
