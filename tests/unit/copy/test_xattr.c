/* test_xattr.c - extended attributes and ACLs: what is brought, removed, left alone and refused. */
#include "xattr.h"

#include <sys/mount.h>
#include <sys/xattr.h>

#include "meta_help.h"
#include "tap.h"

static struct weir__meta_rules rules_of(void)
{
    struct weir__meta_rules rules = {.perms = true, .owner = true, .group = true};
    mode_t before = umask(022);
    rules.acls = rules.xattrs = true;
    weir__meta_rules_init(&rules);
    umask(before);
    return rules;
}

static struct weir__meta_scratch scratch;
static struct weir__meta_failure failure;

static int apply(const struct weir__meta_rules *rules, const char *from, const char *to)
{
    failure = (struct weir__meta_failure){0};
    return bring(rules, from, to, false, &scratch, &failure);
}

static int differs(const struct weir__meta_rules *rules, const char *from, const char *to)
{
    return bring(rules, from, to, false, &scratch, NULL);
}

/* The value as text, "-" for none. */
static const char *value_of(const char *path, const char *name)
{
    static char value[256];
    ssize_t length = lgetxattr(path, name, value, sizeof(value) - 1);
    if (length < 0)
        return errno == ENODATA ? "-" : strerror(errno);
    value[length] = '\0';
    return value;
}

static bool set(const char *path, const char *name, const char *value)
{
    return lsetxattr(path, name, value, strlen(value), 0) == 0;
}

/* A fresh folder with two files. */
static void start(void)
{
    enter_folder();
    shell("rm -rf t && mkdir t && touch t/a t/b && chmod 640 t/a t/b");
}

/* Whether the file system of the folder has what this is about. */
static bool can(bool condition, const char *what)
{
    if (!condition)
        printf("# no %s here: skipped\n", what);
    return condition;
}

TEST(attributes_are_brought_and_others_removed)
{
    struct weir__meta_rules rules = rules_of();
    start();
    if (!can(set("t/a", "user.one", "1"), "user.* attributes"))
        return;
    CHECK(set("t/a", "user.two", "2") && set("t/a", "user.empty", ""));
    CHECK(set("t/b", "user.two", "old") && set("t/b", "user.three", "3"));
    CHECK_EQ(differs(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/b", "user.two"), "old");
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/b", "user.one"), "1");
    CHECK_STR(value_of("t/b", "user.two"), "2");
    CHECK_STR(value_of("t/b", "user.three"), "-");
    CHECK_STR(value_of("t/b", "user.empty"), "");
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), 0);
    /* An empty value is not the same as none. */
    CHECK_EQ(removexattr("t/b", "user.empty"), 0);
    CHECK_EQ(differs(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    rules.xattrs = false;
    CHECK_EQ(apply(&rules, "t/a", "t/b"), 0);
    CHECK_STR(value_of("t/b", "user.empty"), "-");
}

TEST(room_is_made_before_it_is_needed)
{
    /* On ext4 all attributes of an inode share one block. */
    struct weir__meta_rules rules = rules_of();
    char value[3001];
    start();
    memset(value, 'v', 3000);
    value[3000] = '\0';
    if (!can(set("t/a", "user.new", value) && set("t/b", "user.old", value),
             "room for 3000 bytes of user.*"))
        return;
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/b", "user.old"), "-");
    CHECK_EQ(getxattr("t/b", "user.new", NULL, 0), 3000);
}

TEST(root_brings_all_namespaces)
{
    struct weir__meta_rules rules = rules_of();
    if (!is_root("see trusted.*"))
        return;
    start();
    if (!can(set("t/a", "trusted.t", "1") && set("t/a", "security.s", "2"), "trusted.*"))
        return;
    CHECK(set("t/b", "trusted.old", "1"));
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/b", "trusted.t"), "1");
    CHECK_STR(value_of("t/b", "security.s"), "2");
    CHECK_STR(value_of("t/b", "trusted.old"), "-");
    /* By name, too. */
    shell("ln -s x t/l && ln -s x t/m && mkfifo t/p t/q");
    CHECK(set("t/l", "trusted.l", "link") && set("t/p", "trusted.p", "pipe"));
    CHECK_EQ(apply(&rules, "t/l", "t/m"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/m", "trusted.l"), "link");
    CHECK_EQ(apply(&rules, "t/p", "t/q"), WEIR__CHANGE_XATTR);
    CHECK_STR(value_of("t/q", "trusted.p"), "pipe");
    /* Without the right to see it, trusted.* is nobody's business. */
    rules.may_trust = false;
    CHECK(set("t/b", "trusted.old", "1"));
    CHECK_EQ(apply(&rules, "t/a", "t/b"), 0);
    CHECK_STR(value_of("t/b", "trusted.old"), "1");
}

TEST(a_capability_outlives_the_change_of_owner)
{
    static const unsigned char capability[20] = {1, 0, 0, 2, 0, 32};
    struct weir__meta_rules rules = rules_of();
    unsigned char got[20];
    if (!is_root("set capabilities"))
        return;
    start();
    shell("chown 1:2 t/a && chmod 4755 t/a t/b");
    if (!can(!setxattr("t/a", "security.capability", capability, 20, 0), "security.capability"))
        return;
    CHECK_EQ(setxattr("t/b", "security.capability", capability, 20, 0), 0);
    CHECK(apply(&rules, "t/a", "t/b") > 0);
    CHECK_EQ(getxattr("t/b", "security.capability", got, sizeof(got)), 20);
    CHECK_EQ(memcmp(got, capability, 20), 0);
    struct stat st;
    CHECK_EQ(stat("t/b", &st), 0);
    CHECK(st.st_mode == (S_IFREG | 04755) && st.st_uid == 1 && st.st_gid == 2);
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
}

static int as_ordinary(void)
{
    struct weir__meta_rules rules = rules_of();
    NEED(!rules.may_chown && !rules.may_trust);
    NEED(!system("touch user/b && chmod 0444 user/b"));
    int result = apply(&rules, "user/a", "user/b");
    if (result < 0)
        printf("# %s '%s'\n", failure.what, failure.attribute);
    NEED(result == (WEIR__CHANGE_XATTR));
    NEED(strcmp(value_of("user/b", "user.u"), "u") == 0);
    NEED(strcmp(value_of("user/b", "security.s"), "-") == 0);
    struct stat st;
    NEED(!stat("user/b", &st) && st.st_mode == (S_IFREG | 0444) && st.st_uid == NOBODY);
    NEED(differs(&rules, "user/a", "user/b") == 0);
    /* What is removed needs the same right, and security.* of the destination stays. */
    NEED(apply(&rules, "user/a", "user/c") == WEIR__CHANGE_XATTR);
    NEED(strcmp(value_of("user/c", "user.old"), "-") == 0);
    NEED(strcmp(value_of("user/c", "security.old"), "old") == 0);
    NEED(!stat("user/c", &st) && st.st_mode == (S_IFREG | 0444));
    /* A directory that its owner may not write is no different. */
    NEED(!system("mkdir user/e && chmod 0555 user/e"));
    NEED(apply(&rules, "user/d", "user/e") == WEIR__CHANGE_XATTR);
    NEED(strcmp(value_of("user/e", "user.d"), "d") == 0);
    NEED(!stat("user/e", &st) && st.st_mode == (S_IFDIR | 0555));
    return 0;
}

TEST(an_ordinary_user_brings_what_rsync_would)
{
    if (!is_root("prepare the attributes"))
        return;
    enter_folder();
    shell("rm -rf user && mkdir user && chmod 777 user && touch user/a user/c && mkdir user/d && "
          "chmod 444 user/a user/c && chmod 555 user/d && chown 65534:65534 user/c");
    if (!can(set("user/a", "user.u", "u") && set("user/d", "user.d", "d"), "user.* attributes"))
        return;
    CHECK(set("user/a", "security.s", "s") && set("user/a", "trusted.t", "t"));
    CHECK(set("user/c", "user.old", "old") && set("user/c", "security.old", "old"));
    CHECK_EQ(as_user(as_ordinary, 2), 0);
}

/* An ACL with somebody in it. */
static struct acl acl_for(unsigned user_permissions)
{
    struct acl acl;
    acl_init(&acl);
    acl_add(&acl, ACL_USER_OBJ, 6, 0);
    acl_add(&acl, ACL_USER, user_permissions, 1);
    acl_add(&acl, ACL_GROUP_OBJ, 4, 0);
    acl_add(&acl, ACL_MASK, 7, 0);
    acl_add(&acl, ACL_OTHER, 0, 0);
    return acl;
}

static bool set_acl(const char *path, const char *name, const struct acl *acl)
{
    return lsetxattr(path, name, acl, acl_size(acl), 0) == 0;
}

static bool is_acl_same(const char *a, const char *b, const char *name)
{
    char x[512], y[512];
    ssize_t n = lgetxattr(a, name, x, sizeof(x)), m = lgetxattr(b, name, y, sizeof(y));
    return n == m && (n < 0 || memcmp(x, y, (size_t)n) == 0);
}

TEST(access_acls_are_brought_and_removed)
{
    struct weir__meta_rules rules = rules_of();
    struct acl acl = acl_for(7);
    start();
    if (!can(set_acl("t/a", WEIR__ACL_ACCESS, &acl), "ACLs"))
        return;
    CHECK_EQ(differs(&rules, "t/a", "t/b"), WEIR__CHANGE_ACL | WEIR__CHANGE_MODE);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_ACL | WEIR__CHANGE_MODE);
    CHECK(is_acl_same("t/a", "t/b", WEIR__ACL_ACCESS));
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
    /* The mask is the mode's business. */
    CHECK_EQ(chmod("t/b", 0640), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_MODE);
    CHECK(is_acl_same("t/a", "t/b", WEIR__ACL_ACCESS));
    /* Another entry is not. */
    acl = acl_for(6);
    CHECK(set_acl("t/a", WEIR__ACL_ACCESS, &acl));
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_ACL);
    CHECK(is_acl_same("t/a", "t/b", WEIR__ACL_ACCESS));
    /* Not asked for, not touched. */
    rules.acls = false;
    CHECK_EQ(removexattr("t/a", WEIR__ACL_ACCESS), 0);
    CHECK_EQ(apply(&rules, "t/a", "t/b"), 0);
    CHECK(!is_acl_same("t/a", "t/b", WEIR__ACL_ACCESS));
    rules.acls = true;
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_ACL);
    CHECK(is_acl_same("t/a", "t/b", WEIR__ACL_ACCESS));
    struct stat a, b;
    CHECK(!stat("t/a", &a) && !stat("t/b", &b));
    CHECK_EQ(a.st_mode, b.st_mode);
}

TEST(chmod_reaches_into_the_acl)
{
    struct weir__meta_rules rules = rules_of();
    struct acl acl = acl_for(7);
    struct weir__chmod *chmod;
    const char *problem;
    struct stat st;
    start();
    if (!can(set_acl("t/a", WEIR__ACL_ACCESS, &acl), "ACLs"))
        return;
    CHECK_EQ(weir__chmod_new(&chmod, "604", &problem), 0);
    rules.chmod = chmod;
    CHECK(apply(&rules, "t/a", "t/b") > 0);
    CHECK(!stat("t/b", &st) && st.st_mode == (S_IFREG | 0604));
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
    struct acl got = {0};
    CHECK_EQ(getxattr("t/b", WEIR__ACL_ACCESS, &got, sizeof(got)), (ssize_t)acl_size(&acl));
    CHECK_EQ(le16toh(got.entries[1].e_perm), 7); /* the user's, behind the mask */
    CHECK_EQ(le16toh(got.entries[3].e_perm), 0); /* the mask */
    weir__chmod_free(chmod);
}

TEST(an_acl_that_says_no_more_than_the_mode_is_none)
{
    struct acl acl, other;
    acl_init(&acl);
    acl_add(&acl, ACL_USER_OBJ, 7, 0);
    acl_add(&acl, ACL_GROUP_OBJ, 5, 0);
    acl_add(&acl, ACL_OTHER, 1, 0);
    struct weir__meta_bytes bytes = {(char *)&acl, acl_size(&acl), 0};
    weir__acl_shape(&bytes, 0640);
    CHECK_EQ(bytes._length, 0);
    /* With a mask, the group has a right of its own. */
    acl_init(&acl);
    acl_add(&acl, ACL_USER_OBJ, 7, 0);
    acl_add(&acl, ACL_GROUP_OBJ, 5, 0);
    acl_add(&acl, ACL_MASK, 7, 0);
    acl_add(&acl, ACL_OTHER, 1, 0);
    bytes._length = acl_size(&acl);
    weir__acl_shape(&bytes, S_IFREG | 04624);
    CHECK_EQ(bytes._length, acl_size(&acl));
    CHECK_EQ(le16toh(acl.entries[0].e_perm), 6);
    CHECK_EQ(le16toh(acl.entries[1].e_perm), 5);
    CHECK_EQ(le16toh(acl.entries[2].e_perm), 2);
    CHECK_EQ(le16toh(acl.entries[3].e_perm), 4);
    /* Of another version or length nothing is known. */
    acl.header.a_version = htole32(3);
    other = acl;
    weir__acl_shape(&bytes, 0);
    CHECK_EQ(bytes._length, acl_size(&acl));
    CHECK_EQ(memcmp(&acl, &other, sizeof(acl)), 0);
    acl.header.a_version = other.header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
    for (bytes._length = 0; bytes._length < acl_size(&acl); bytes._length++) {
        size_t length = bytes._length;
        if (length >= 4 && length % 8 == 4)
            continue;
        weir__acl_shape(&bytes, 0);
        CHECK_EQ(bytes._length, length);
        CHECK_EQ(memcmp(&acl, &other, sizeof(acl)), 0);
    }
}

TEST(default_acls_are_brought_even_if_they_say_little)
{
    struct weir__meta_rules rules = rules_of();
    struct acl acl;
    start();
    shell("mkdir t/d t/e");
    acl_init(&acl);
    acl_add(&acl, ACL_USER_OBJ, 7, 0);
    acl_add(&acl, ACL_GROUP_OBJ, 5, 0);
    acl_add(&acl, ACL_OTHER, 0, 0);
    if (!can(set_acl("t/d", WEIR__ACL_DEFAULT, &acl), "ACLs"))
        return;
    int d = open("t/d", O_RDONLY | O_CLOEXEC), e = open("t/e", O_RDONLY | O_CLOEXEC);
    CHECK(weir__meta_has_default_acl(d));
    CHECK(!weir__meta_has_default_acl(e));
    CHECK_EQ(differs(&rules, "t/d", "t/e"), WEIR__CHANGE_ACL);
    CHECK_EQ(apply(&rules, "t/d", "t/e"), WEIR__CHANGE_ACL);
    CHECK(weir__meta_has_default_acl(e));
    CHECK(is_acl_same("t/d", "t/e", WEIR__ACL_DEFAULT));
    CHECK_EQ(removexattr("t/d", WEIR__ACL_DEFAULT), 0);
    CHECK_EQ(apply(&rules, "t/d", "t/e"), WEIR__CHANGE_ACL);
    CHECK(!weir__meta_has_default_acl(e));
    CHECK(weir__meta_has_default_acl(-1)); /* cannot be found out: do not rely on it */
    close(d);
    close(e);
}

/* Mounts a file system on t/m; false, and said so, if that cannot be done. */
static bool mounts(const char *type, const char *options)
{
    start();
    CHECK_EQ(mkdir("t/m", 0755), 0);
    if (!is_root("mount") || !can(mount("none", "t/m", type, 0, options) == 0, type))
        return false;
    return true;
}

TEST(what_the_destination_cannot_hold_is_an_error)
{
    struct weir__meta_rules rules = rules_of();
    struct acl acl = acl_for(7);
    if (!mounts("ramfs", ""))
        return;
    shell("touch t/m/b && chmod 640 t/m/b && mkdir t/d t/m/e");
    CHECK_EQ(apply(&rules, "t/a", "t/m/b"), 0);
    CHECK_EQ(apply(&rules, "t/d", "t/m/e"), 0);
    bool has_acl = set_acl("t/a", WEIR__ACL_ACCESS, &acl);
    CHECK(!has_acl || differs(&rules, "t/a", "t/m/b") > 0);
    int result = apply(&rules, "t/a", "t/m/b");
    struct weir__meta_failure of_acl = failure;
    bool has_xattr = set("t/a", "user.x", "1");
    int result_both = apply(&rules, "t/a", "t/m/b");
    struct weir__meta_failure of_both = failure;
    struct stat st;
    CHECK_EQ(stat("t/m/b", &st), 0);
    CHECK_EQ(umount("t/m"), 0);
    if (can(has_acl, "ACLs")) {
        CHECK_EQ(result, -1);
        CHECK_STR(of_acl.what, "cannot set the ACL of");
        CHECK_STR(of_acl.attribute, WEIR__ACL_ACCESS);
        CHECK_EQ(of_acl.errno_value, ENOTSUP);
        CHECK_EQ(st.st_mode, S_IFREG | 0670); /* the mode is put back all the same */
    }
    if (can(has_xattr, "user.* attributes")) {
        CHECK_EQ(result_both, -1);
        CHECK_STR(of_both.what, "cannot write an extended attribute of");
        CHECK_STR(of_both.attribute, "user.x"); /* the first failure, and valid after the call */
        CHECK_EQ(of_both.errno_value, ENOTSUP);
    }
}

/* A number and then as much as a name may have. */
static void long_name(char name[256], int number)
{
    char start[32];
    int length = snprintf(start, sizeof(start), "trusted.%d.", number);
    memset(name, 'n', 255);
    memcpy(name, start, (size_t)length);
    name[255] = '\0';
}

TEST(values_and_lists_may_be_as_large_as_the_kernel_allows)
{
    static char value[WEIR__XATTR_MAX], got[WEIR__XATTR_MAX];
    struct weir__meta_rules rules = rules_of();
    char name[256];
    if (!mounts("tmpfs", "size=32m"))
        return;
    shell("touch t/m/a t/m/b");
    memset(value, 'v', sizeof(value));
    bool has = setxattr("t/m/a", "trusted.large", value, sizeof(value), 0) == 0;
    if (!can(has, "trusted.* of 65536 bytes")) {
        umount("t/m");
        return;
    }
    CHECK_EQ(apply(&rules, "t/m/a", "t/m/b"), WEIR__CHANGE_XATTR);
    CHECK_EQ(getxattr("t/m/b", "trusted.large", got, sizeof(got)), sizeof(got));
    CHECK_EQ(memcmp(value, got, sizeof(got)), 0);
    CHECK_EQ(differs(&rules, "t/m/a", "t/m/b"), 0);
    value[sizeof(value) - 1] = 'w';
    CHECK_EQ(setxattr("t/m/a", "trusted.large", value, sizeof(value), 0), 0);
    CHECK_EQ(differs(&rules, "t/m/a", "t/m/b"), WEIR__CHANGE_XATTR);
    /* Names of 255 bytes until the list is full. */
    int count = 0;
    while (listxattr("t/m/a", NULL, 0) <= (ssize_t)(WEIR__XATTR_MAX - 256)) {
        long_name(name, count++);
        CHECK_EQ(setxattr("t/m/a", name, "1", 1, 0), 0);
    }
    CHECK(count > 200);
    CHECK_EQ(apply(&rules, "t/m/a", "t/m/b"), WEIR__CHANGE_XATTR);
    CHECK_EQ(listxattr("t/m/b", NULL, 0), listxattr("t/m/a", NULL, 0));
    CHECK_EQ(differs(&rules, "t/m/a", "t/m/b"), 0);
    /* One more, and nobody can list them. */
    long_name(name, count);
    CHECK_EQ(setxattr("t/m/a", name, "1", 1, 0), 0);
    CHECK_EQ(apply(&rules, "t/m/a", "t/m/b"), -1);
    CHECK_STR(failure.what, "cannot list the extended attributes of");
    CHECK_EQ(failure.errno_value, E2BIG);
    errno = 0;
    CHECK(differs(&rules, "t/m/a", "t/m/b") < 0 && errno == E2BIG);
    CHECK(scratch._value._capacity <= WEIR__XATTR_MAX);
    CHECK(scratch._names._capacity <= WEIR__XATTR_MAX);
    CHECK_EQ(umount("t/m"), 0);
}

TEST(two_lists_in_any_order_are_compared)
{
    struct weir__meta_rules rules = rules_of();
    char name[32];
    start();
    if (!can(set("t/a", "user.00", ""), "user.* attributes"))
        return;
    for (int i = 1; i < 40; i++) {
        snprintf(name, sizeof(name), "user.%02d", i);
        CHECK(set("t/a", name, "x"));
    }
    for (int i = 39; i > 0; i -= 2) {
        snprintf(name, sizeof(name), "user.%02d", i);
        CHECK(set("t/b", name, "x"));
        snprintf(name, sizeof(name), "user.o%d", i);
        CHECK(set("t/b", name, "x"));
    }
    CHECK_EQ(apply(&rules, "t/a", "t/b"), WEIR__CHANGE_XATTR);
    CHECK_EQ(differs(&rules, "t/a", "t/b"), 0);
    CHECK_EQ(listxattr("t/a", NULL, 0), listxattr("t/b", NULL, 0));
}

TEST(a_name_that_is_too_long_to_reach_is_an_error)
{
    struct weir__meta_rules rules = rules_of();
    static char name[5000];
    struct stat st = {.st_mode = S_IFLNK | 0777};
    memset(name, 'x', sizeof(name) - 1);
    struct weir__meta_place place = {-1, 0, name};
    rules.owner = rules.group = false;
    CHECK_EQ(weir__meta_apply(&rules, &place, &st, &place, &st, &scratch, &failure), -1);
    CHECK_STR(failure.what, "cannot reach the attributes of");
    CHECK_EQ(failure.errno_value, ENAMETOOLONG);
}

TEST(a_scratch_is_freed_twice_and_never)
{
    weir__meta_scratch_fini(&scratch);
    weir__meta_scratch_fini(&scratch);
    weir__meta_scratch_fini(NULL);
    weir__meta_scratch_init(&scratch);
    CHECK(!scratch._names._data);
}

TAP_MAIN()
