/* meta.c - owner, mode and times, and the order of it all.
 *
 * The common case is a file that was just made with the right mode by its owner: all comparisons
 * are made on what is known, and one call sets the times. Everything else is paid for by those who
 * need it.
 */
#include "meta.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "sys.h"
#include "xattr.h"

#include "banned.h"

#define NS_PER_S INT64_C(1000000000)
#define SET_IDS  (S_ISUID | S_ISGID)

static bool has_capability(const struct __user_cap_data_struct data[2], unsigned capability)
{
    return (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

static int compare_groups(const void *a, const void *b)
{
    gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;
    return x < y ? -1 : x > y;
}

void weir__meta_rules_init(struct weir__meta_rules *rules)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    rules->may_chown = rules->may_trust = geteuid() == 0;
    if (syscall(SYS_capget, &header, data) == 0) {
        rules->may_chown = has_capability(data, CAP_CHOWN);
        rules->may_trust = has_capability(data, CAP_SYS_ADMIN);
    }
    int count = getgroups((int)WEIR__META_GROUPS_MAX - 1, rules->groups);
    rules->has_more_groups = count < 0;
    rules->groups_count = count < 0 ? 0 : (unsigned)count;
    rules->groups[rules->groups_count++] = getegid();
    qsort(rules->groups, rules->groups_count, sizeof(rules->groups[0]), compare_groups);
    rules->umask = umask(0);
}

void weir__meta_scratch_init(struct weir__meta_scratch *scratch)
{
    *scratch = (struct weir__meta_scratch){0};
}

void weir__meta_scratch_fini(struct weir__meta_scratch *scratch)
{
    if (!scratch)
        return;
    weir__base_free(scratch->_names._data);
    weir__base_free(scratch->_value._data);
    weir__base_free(scratch->_other_names._data);
    weir__base_free(scratch->_other_value._data);
    *scratch = (struct weir__meta_scratch){0};
}

/* The source's bits as far as --chmod lets them through. */
static mode_t source_bits(const struct weir__meta_rules *rules, const struct stat *source)
{
    mode_t mode = source->st_mode;
    if (rules->chmod && !S_ISLNK(mode))
        mode = weir__chmod_apply(rules->chmod, mode, rules->umask);
    return mode & 07777;
}

mode_t weir__meta_mode(const struct weir__meta_rules *rules, const struct stat *source,
                       const struct stat *existing)
{
    if (rules->perms || S_ISLNK(source->st_mode))
        return source_bits(rules, source);
    if (existing)
        return existing->st_mode & 07777;
    return weir__meta_mode_inherited(rules, source) & ~rules->umask;
}

mode_t weir__meta_mode_inherited(const struct weir__meta_rules *rules, const struct stat *source)
{
    mode_t bits = source_bits(rules, source);
    return rules->perms ? bits : bits & 0777;
}

static bool may_give(const struct weir__meta_rules *rules, gid_t gid)
{
    return rules->may_chown || rules->has_more_groups ||
           bsearch(&gid, rules->groups, rules->groups_count, sizeof(gid), compare_groups);
}

void weir__meta_owner(const struct weir__meta_rules *rules, const struct stat *source,
                      uid_t *ret_uid, gid_t *ret_gid)
{
    uid_t uid = rules->has_uid ? rules->uid : rules->owner ? source->st_uid : (uid_t)-1;
    gid_t gid = rules->has_gid ? rules->gid : rules->group ? source->st_gid : (gid_t)-1;
    *ret_uid = rules->may_chown ? uid : (uid_t)-1;
    *ret_gid = may_give(rules, gid) ? gid : (gid_t)-1;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b, uint64_t window_ns)
{
    if (a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec)
        return true;
    if (window_ns == 0 || b->tv_nsec == WEIR__META_TIME_UNKNOWN)
        return false;
    int64_t seconds, distance_ns;
    return !__builtin_sub_overflow((int64_t)a->tv_sec, (int64_t)b->tv_sec, &seconds) &&
           !__builtin_mul_overflow(seconds, NS_PER_S, &distance_ns) &&
           !__builtin_add_overflow(distance_ns, (int64_t)(a->tv_nsec - b->tv_nsec), &distance_ns) &&
           (distance_ns < 0 ? -(uint64_t)distance_ns : (uint64_t)distance_ns) <= window_ns;
}

/* All that an entry needs, found out without a call. */
struct plan {
    uid_t uid; /* -1: stays */
    gid_t gid;
    mode_t mode;
    struct timespec times[2]; /* UTIME_OMIT: stays */
    unsigned changes;
};

static void plan_times(struct plan *plan, const struct weir__meta_rules *rules,
                       const struct stat *source, const struct stat *existing)
{
    bool is_dir = S_ISDIR(source->st_mode), is_link = S_ISLNK(source->st_mode);
    plan->times[0] = plan->times[1] = (struct timespec){.tv_nsec = UTIME_OMIT};
    if ((is_dir && rules->omit_dir_times) || (is_link && rules->omit_link_times))
        return;
    if (rules->times &&
        !is_same_time(&source->st_mtim, &existing->st_mtim, rules->modify_window_ns)) {
        plan->times[1] = source->st_mtim;
        plan->changes |= WEIR__CHANGE_TIME;
    }
    if (!rules->atimes)
        return;
    if (is_dir || is_link) {
        /* Looking at them changes it, so that it is given along and never by itself. */
        if (plan->changes & WEIR__CHANGE_TIME)
            plan->times[0] = source->st_atim;
    } else if (!is_same_time(&source->st_atim, &existing->st_atim, rules->modify_window_ns)) {
        plan->times[0] = source->st_atim;
        plan->changes |= WEIR__CHANGE_ATIME;
    }
}

static void plan_init(struct plan *plan, const struct weir__meta_rules *rules,
                      const struct stat *source, const struct stat *existing)
{
    plan->changes = 0;
    weir__meta_owner(rules, source, &plan->uid, &plan->gid);
    if (plan->uid == existing->st_uid)
        plan->uid = (uid_t)-1;
    if (plan->gid == existing->st_gid)
        plan->gid = (gid_t)-1;
    if (plan->uid != (uid_t)-1)
        plan->changes |= WEIR__CHANGE_OWNER;
    if (plan->gid != (gid_t)-1)
        plan->changes |= WEIR__CHANGE_GROUP;
    plan->mode = weir__meta_mode(rules, source, existing);
    if (plan->mode != (existing->st_mode & 07777) && !S_ISLNK(source->st_mode))
        plan->changes |= WEIR__CHANGE_MODE;
    plan_times(plan, rules, source, existing);
}

/* A descriptor that stands for the entry alone; whatever its name leads to later does not matter.
 */
static int pin(const struct weir__meta_place *place, const struct stat *existing)
{
    struct stat st;
    int fd = weir__sys_openat(place->dir, place->name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return -1;
    if (weir__sys_fstat(fd, &st) < 0) {
        weir__sys_close(fd);
        return -1;
    }
    bool is_other =
        existing->st_ino != 0 && (st.st_ino != existing->st_ino || st.st_dev != existing->st_dev);
    if (is_other || (st.st_mode & S_IFMT) != (existing->st_mode & S_IFMT)) {
        weir__sys_close(fd);
        errno = ESTALE;
        return -1;
    }
    return fd;
}

int weir__meta_chmod(const struct weir__meta_place *place, const struct stat *existing, mode_t mode)
{
    if (place->fd >= 0)
        return weir__sys_fchmod(place->fd, mode);
    int fd = pin(place, existing);
    if (fd < 0)
        return -1;
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int result = weir__sys_fchmodat(AT_FDCWD, path, mode);
    if (result < 0 && errno == ENOENT)
        result = weir__sys_fchmod_path(fd, mode);
    weir__sys_close(fd);
    return result;
}

/* False if it failed. With more groups than we know, one that is not the user's is found out here
 * and left, as all others are. */
static bool put_owner(struct plan *plan, const struct weir__meta_rules *rules,
                      const struct weir__meta_place *to, struct weir__meta_failure *failure)
{
    if (!(plan->changes & (WEIR__CHANGE_OWNER | WEIR__CHANGE_GROUP)))
        return true;
    int result = to->fd >= 0 ? weir__sys_fchown(to->fd, plan->uid, plan->gid)
                             : weir__sys_fchownat(to->dir, to->name, plan->uid, plan->gid,
                                                  AT_SYMLINK_NOFOLLOW);
    if (result == 0)
        return true;
    if (errno == EPERM && !rules->may_chown && rules->has_more_groups) {
        plan->changes &= ~(unsigned)WEIR__CHANGE_GROUP;
        return true;
    }
    weir__meta_fail(failure, errno,
                    plan->changes & WEIR__CHANGE_OWNER ? "cannot change the owner of"
                                                       : "cannot change the group of",
                    NULL);
    return false;
}

static void put_times(const struct plan *plan, const struct weir__meta_place *to,
                      struct weir__meta_failure *failure)
{
    if (!(plan->changes & (WEIR__CHANGE_TIME | WEIR__CHANGE_ATIME)))
        return;
    int result = to->fd >= 0
                     ? weir__sys_futimens(to->fd, plan->times)
                     : weir__sys_utimensat(to->dir, to->name, plan->times, AT_SYMLINK_NOFOLLOW);
    if (result < 0)
        weir__meta_fail(failure, errno, "cannot change the times of", NULL);
}

/* The changes of what the rules ask for beyond the plan. */
static unsigned bring(struct weir__attributes *attributes)
{
    unsigned changes = 0;
    if (attributes->rules->xattrs)
        changes |= weir__attributes_bring_xattrs(attributes);
    if (attributes->rules->acls && !S_ISLNK(attributes->mode))
        changes |= weir__attributes_bring_acls(attributes);
    return changes;
}

int weir__meta_differs(const struct weir__meta_rules *rules, const struct weir__meta_place *from,
                       const struct stat *source, const struct weir__meta_place *to,
                       const struct stat *existing, struct weir__meta_scratch *scratch)
{
    struct plan plan;
    plan_init(&plan, rules, source, existing);
    struct weir__attributes attributes = {
        .rules = rules,
        .from = from,
        .to = to,
        .scratch = scratch,
        .existing = existing,
        .mode = (source->st_mode & S_IFMT) | plan.mode,
        .is_dry = true,
    };
    plan.changes |= bring(&attributes);
    if (attributes.failure.what) {
        errno = attributes.failure.errno_value;
        return -1;
    }
    return (int)plan.changes;
}

int weir__meta_apply(const struct weir__meta_rules *rules, const struct weir__meta_place *from,
                     const struct stat *source, const struct weir__meta_place *to,
                     const struct stat *existing, struct weir__meta_scratch *scratch,
                     struct weir__meta_failure *ret_failure)
{
    struct plan plan;
    plan_init(&plan, rules, source, existing);
    struct weir__attributes attributes = {
        .rules = rules,
        .from = from,
        .to = to,
        .scratch = scratch,
        .existing = existing,
    };
    mode_t had = existing->st_mode & 07777;
    if (!put_owner(&plan, rules, to, &attributes.failure))
        plan.mode &= ~(SET_IDS & ~had);
    else if (plan.changes & (WEIR__CHANGE_OWNER | WEIR__CHANGE_GROUP))
        attributes.needs_mode = (plan.mode & SET_IDS) != 0;
    attributes.mode = (source->st_mode & S_IFMT) | plan.mode;
    plan.changes |= bring(&attributes);
    if ((plan.mode != had || attributes.needs_mode) && !S_ISLNK(source->st_mode) &&
        weir__meta_chmod(to, existing, plan.mode) < 0)
        weir__meta_fail(&attributes.failure, errno, "cannot change the permissions of", NULL);
    put_times(&plan, to, &attributes.failure);
    if (attributes.failure.what) {
        *ret_failure = attributes.failure;
        return -1;
    }
    return (int)plan.changes;
}

bool weir__meta_has_default_acl(int dir_fd)
{
    ssize_t length = weir__sys_fgetxattr(dir_fd, WEIR__ACL_DEFAULT, NULL, 0);
    /* What cannot be found out must not be relied upon. */
    return length < 0 ? errno != ENODATA && errno != ENOTSUP : length > 0;
}
