/* folder.c - the folder of a store: who has it, whose it is, and how it was left.
 *
 *     lock         locked by the process that has the store
 *     store        its id and its key (64 bytes), which each segment has as well
 *     mark         there after a clean end: next numbers, the newest segment, digest of the index
 *     scrub        when all was last looked at
 *     segments/    the segments
 *     index/       the index, which can be removed at any time that the store is closed
 *     index.bad    what had its name and was no folder
 *     quarantine/  what was found damaged
 *     keys/        those of capabilities, which are not the store's
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include <weir/error.h>

#include "alloc.h"
#include "log.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

/* Files of one name that lie aside. */
#define ASIDE_MAX 100u

static const char lock_name[] = "lock";
static const char identity_name[] = "store";
static const char mark_name[] = "mark";
static const char segments_name[] = WEIR__STORE_SEGMENTS;
static const char index_name[] = "index", index_aside[] = "index.bad";
static const char index_file[] = "index/data.mdb";

static _Thread_local char why[WEIR__STORE_WHY_MAX];

const char *weir__store_why(void)
{
    return why;
}

int weir__store_fail(int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return error;
}

static int fail_by_errno(const char *what)
{
    int error = weir_error_from_errno(errno);
    return weir__store_fail(error, "%s: %s", what, weir__log_reason(errno));
}

/* --- the folder and its lock --- */

/* Calls fn() with the path of each folder on the way to this one, and of itself. */
static int each_part(const char *path, int (*fn)(const char *part))
{
    char part[4096];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(part))
        return weir__store_fail(-WEIR_E_INVALID, "its name is %s", length ? "too long" : "empty");
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        int error = fn(part);
        if (error)
            return error;
    }
    return 0;
}

static int make_folder(const char *path)
{
    if (weir__sys_mkdirat(AT_FDCWD, path, 0700) < 0 && errno != EEXIST && errno != EROFS &&
        errno != EACCES)
        return fail_by_errno("cannot make it");
    return 0;
}

/* The name of a folder that was just made is to last: what lies in it is lost with it. One that
 * cannot be opened was there before. */
static int sync_parent(const char *path)
{
    char parent[4096] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(parent, sizeof(parent), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = weir__sys_openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == EACCES ? 0 : fail_by_errno("cannot make its name last");
    int error = weir__disk_sync_names(fd) && errno != EROFS && errno != EINVAL
                    ? fail_by_errno("cannot make its name last")
                    : 0;
    weir__sys_close(fd);
    return error;
}

struct search {
    struct weir__store *store;
    struct weir__identity identity;
    const unsigned char *own; /* only a segment with this id is looked for; NULL: any */
    bool is_found;
    bool has_segments, has_others;
};

/* What may be there before there is a store. */
static int is_foreign(void *arg, const char *name)
{
    static const char *const known[] = {"lock",       "keys",       "segments",  "index",
                                        "lost+found", "quarantine", "weir.toml", "store",
                                        "store.new",  "probe",      "reserve"};
    struct search *search = arg;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i]) == 0)
            return 0;
    search->is_found = true;
    return weir__store_fail(-WEIR_E_INVALID,
                            "it is not empty and holds no store ('%s' is there): name an empty "
                            "folder",
                            name);
}

static bool is_there(const struct weir__store *store, const char *name)
{
    int fd = weir__sys_openat(store->folder, name, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno != ENOENT;
    weir__sys_close(fd);
    return true;
}

/* Nothing is made in a folder that is somebody else's. */
static int make_lock(struct weir__store *store)
{
    struct search search = {.store = store};
    int error = is_there(store, identity_name) || is_there(store, segments_name)
                    ? 0
                    : weir__disk_each(store->folder, is_foreign, &search);
    if (error)
        return search.is_found ? error : weir__store_fail(error, "cannot list it");
    store->lock_fd =
        weir__sys_openat(store->folder, lock_name, O_NOFOLLOW | O_RDWR | O_CREAT, 0600);
    return 0;
}

/* A copy, which may be without the file, is locked by its folder alone when it is only read. */
static bool is_copy(const struct weir__store *store)
{
    return store->is_read_only && errno == ENOENT &&
           (is_there(store, identity_name) || is_there(store, segments_name));
}

static int open_lock(struct weir__store *store)
{
    int flags = O_NOFOLLOW | (store->is_read_only ? O_RDONLY : O_RDWR), error;
    store->lock_fd = weir__sys_openat(store->folder, lock_name, flags, 0600);
    if (store->lock_fd < 0 && errno == ENOENT && !store->is_read_only && (error = make_lock(store)))
        return error;
    if (store->lock_fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        store->is_read_only = true;
        store->lock_fd = weir__sys_openat(store->folder, lock_name, O_RDONLY | O_NOFOLLOW, 0);
    }
    bool has_file = store->lock_fd >= 0;
    if (!has_file && !is_copy(store))
        return errno == ENOENT ? weir__store_fail(-WEIR_E_NOT_FOUND, "it holds no store")
                               : fail_by_errno("cannot open its lock");
    /* The folder as well: who removes the file of the lock does not open the door. */
    int how = (store->is_read_only ? LOCK_SH : LOCK_EX) | LOCK_NB;
    if ((has_file && weir__sys_flock(store->lock_fd, how) < 0) ||
        weir__sys_flock(store->folder, how) < 0)
        return errno == EWOULDBLOCK ? weir__store_fail(-WEIR_E_BUSY, "another process has it open")
                                    : fail_by_errno("cannot lock it");
    return 0;
}

/* Read-only folders are found by trying: rights, mounts and immutable flags all tell the same. */
static int can_write(struct weir__store *store)
{
    static const char probe[] = "probe";
    struct weir__disk_file file;
    if (store->is_read_only)
        return 0;
    int error = weir__disk_create(&file, store->folder, probe);
    if (error == -WEIR_E_EXISTS)
        error = weir__disk_open(&file, store->folder, probe);
    if (error == -WEIR_E_DENIED || error == -WEIR_E_READ_ONLY) {
        store->is_read_only = true;
        return 0;
    }
    /* A full disk is no reason not to open. */
    if (error)
        return error == -WEIR_E_NO_SPACE ? 0 : fail_by_errno("cannot write in it");
    weir__sys_close(file.fd);
    return weir__disk_remove(store->folder, probe) ? fail_by_errno("cannot write in it") : 0;
}

static int open_folders(struct weir__store *store)
{
    int error = store->is_read_only ? 0 : each_part(store->folder_name, make_folder);
    if (error)
        return error;
    store->folder = weir__sys_openat(AT_FDCWD, store->folder_name, O_RDONLY | O_DIRECTORY, 0);
    if (store->folder < 0)
        return fail_by_errno("cannot open it");
    error = open_lock(store);
    return error ? error : can_write(store);
}

/* --- identity --- */

static int search_one(void *arg, const char *name)
{
    struct search *search = arg;
    uint32_t id = weir__segment_id(name);
    if (id == 0 || search->is_found)
        return 0;
    search->has_segments = true;
    int fd = weir__sys_openat(search->store->segments_folder, name, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return 0;
    if (weir__segment_identity(&search->identity, fd, id) == 0) {
        const unsigned char *found = search->identity.id;
        search->is_found =
            !search->own || memcmp(found, search->own, sizeof(search->identity.id)) == 0;
        search->has_others = search->has_others || !search->is_found;
    }
    weir__sys_close(fd);
    return 0;
}

/* A file that came from another store, with a backup perhaps, would disown all that is there: each
 * segment would be put aside as none of ours. Nothing is touched then, since only people know which
 * of the two is wrong. One segment of ours is enough. */
static int check_identity(struct weir__store *store)
{
    struct search search = {.store = store, .own = store->identity.id};
    int error = store->segments_folder < 0
                    ? 0
                    : weir__disk_each(store->segments_folder, search_one, &search);
    if (error)
        return weir__store_fail(error, "cannot list its segments");
    if (!search.has_others || search.is_found)
        return 0;
    return weir__store_fail(-WEIR_E_CORRUPT,
                            "its file 'store' is of another store than all of its segments: if "
                            "these are right remove that file, which is made anew from them; if "
                            "not, restore them from a copy");
}

static int save_identity(struct weir__store *store)
{
    unsigned char bytes[WEIR__IDENTITY_SIZE];
    weir__identity_encode(&store->identity, bytes);
    return weir__disk_replace(store->folder, identity_name, bytes, sizeof(bytes))
               ? fail_by_errno("cannot write its identity")
               : 0;
}

static int make_identity(struct weir__store *store)
{
    struct weir__identity *identity = &store->identity;
    if (getrandom(identity->id, sizeof(identity->id), 0) != sizeof(identity->id) ||
        getrandom(identity->key.bytes, sizeof(identity->key.bytes), 0) !=
            sizeof(identity->key.bytes))
        return fail_by_errno("no random numbers");
    return store->folder >= 0 ? save_identity(store) : 0;
}

static int find_identity(struct weir__store *store, struct weir__store_report *report)
{
    unsigned char bytes[WEIR__IDENTITY_SIZE];
    struct search search = {.store = store};
    size_t length = 0;
    int error = weir__disk_read(store->folder, identity_name, bytes, sizeof(bytes), &length);
    if (!error && length == sizeof(bytes) && weir__identity_decode(&store->identity, bytes) == 0)
        return check_identity(store);
    /* Segments have it too, so a disk that does not give this one file costs nothing. */
    bool is_unreadable = error == -WEIR_E_IO;
    if (error && error != -WEIR_E_NOT_FOUND && !is_unreadable)
        return fail_by_errno("cannot read its identity");
    if (store->segments_folder >= 0)
        error = weir__disk_each(store->segments_folder, search_one, &search);
    else
        error = 0;
    if (error)
        return weir__store_fail(error, "cannot list its segments");
    if (search.is_found) {
        store->identity = search.identity;
        report->identity_was_repaired = true;
        return store->is_read_only ? 0 : save_identity(store);
    }
    if (is_unreadable)
        return weir__store_fail(-WEIR_E_IO, "cannot read its identity, and no segment has it");
    if (search.has_segments)
        return weir__store_fail(
            -WEIR_E_CORRUPT,
            "its identity is lost and no segment has a whole beginning: restore the "
            "file 'store' from a copy");
    if (store->is_read_only)
        return weir__store_fail(-WEIR_E_NOT_FOUND, "it holds no store and cannot be written");
    error = weir__disk_each(store->folder, is_foreign, &search);
    if (error)
        return search.is_found ? error : weir__store_fail(error, "cannot list it");
    report->is_new = true;
    return make_identity(store);
}

static int make_segments_folder(struct weir__store *store)
{
    if (weir__sys_mkdirat(store->folder, segments_name, 0700) < 0)
        return fail_by_errno("cannot make its folder 'segments'");
    store->segments_folder =
        weir__sys_openat(store->folder, segments_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return store->segments_folder < 0 ? fail_by_errno("cannot open its folder 'segments'") : 0;
}

/* Who had it before may have been killed between making a name and making it last; then it is there
 * now, and gone after the next loss of power with all that was written under it since. */
static int make_names_last(struct weir__store *store, bool is_new)
{
    int error = is_new ? each_part(store->folder_name, sync_parent) : 0;
    if (error)
        return error;
    return weir__disk_sync_names(store->folder) || weir__disk_sync_names(store->segments_folder)
               ? fail_by_errno("cannot make the names in it last")
               : 0;
}

int weir__store_folder_open(struct weir__store *store, struct weir__store_report *report)
{
    if (!store->folder_name) {
        report->is_new = true;
        return make_identity(store);
    }
    int error = open_folders(store);
    if (error)
        return error;
    store->segments_folder =
        weir__sys_openat(store->folder, segments_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    /* Not taken for missing when it only cannot be opened now: a new identity would disown all that
     * is in it. */
    if (store->segments_folder < 0 && errno != ENOENT)
        return fail_by_errno("cannot open its folder 'segments'");
    error = find_identity(store, report);
    if (!error && store->segments_folder < 0)
        error = make_segments_folder(store);
    return error || store->is_read_only ? error : make_names_last(store, report->is_new);
}

void weir__store_folder_close(struct weir__store *store)
{
    weir__sys_close_at(&store->segments_folder);
    weir__sys_close_at(&store->folder);
    weir__sys_close_at(&store->lock_fd);
}

int weir__store_index_make_way(struct weir__store *store, bool *ret_is_aside)
{
    struct stat st, target;
    *ret_is_aside = false;
    if (store->is_read_only ||
        weir__sys_fstatat(store->folder, index_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISDIR(st.st_mode))
        return 0;
    if (weir__sys_fstatat(store->folder, index_name, &target, 0) == 0 && S_ISDIR(target.st_mode))
        return weir__store_fail(-WEIR_E_INVALID,
                                "its 'index' is a link to a folder: remove the link, and it is "
                                "made anew; to have it on another disk, mount that there");
    if (weir__sys_renameat2(store->folder, index_name, store->folder, index_aside, 0) < 0 ||
        weir__disk_sync_names(store->folder))
        return fail_by_errno("cannot put aside what is called 'index' and is no folder");
    *ret_is_aside = true;
    return 0;
}

int weir__store_segment_make_way(struct weir__store *store, uint32_t id, uint64_t *left)
{
    char name[WEIR__SEGMENT_NAME], aside[WEIR__SEGMENT_NAME + 16];
    weir__segment_name(id, name);
    snprintf(aside, sizeof(aside), "%s.bad", name);
    for (unsigned i = 1; !store->is_read_only && i <= ASIDE_MAX; i++) {
        if (weir__sys_rename_new(store->segments_folder, name, aside) == 0)
            return weir__disk_sync_names(store->segments_folder);
        if (errno != EEXIST)
            return weir_error_from_errno(errno);
        snprintf(aside, sizeof(aside), "%s.%u.bad", name, i);
    }
    ++*left;
    return 0;
}

/* --- the mark --- */

/* The first version says nothing of segments, and ends with its sum where they stand. */
static const unsigned char mark_magic[8] = "weirmrk2", old_magic[8] = "weirmrk1";

enum {
    MARK_CLEAN = 8,
    MARK_KEEPS = 9,
    MARK_FINISHED = 10,
    MARK_ID = 12,
    MARK_SEQUENCE = 16,
    MARK_DIGEST = 24
};
enum { MARK_OLD_SUM = 56 };
enum { MARK_SEGMENTS = 56, MARK_NEWEST = 60, MARK_NEWEST_SIZE = 64, MARK_SUM = 72 };
enum { MARK_SUM_SIZE = 8, MARK_SIZE = WEIR__STORE_MARK_SIZE };

static void mark_sum(const unsigned char *bytes, size_t length, unsigned char sum[MARK_SUM_SIZE])
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, length);
    weir__hash_final(&hash, digest);
    memcpy(sum, digest, MARK_SUM_SIZE);
}

bool weir__store_mark_decode(struct weir__store_mark *ret_mark, const unsigned char *bytes,
                             size_t length)
{
    unsigned char sum[MARK_SUM_SIZE];
    struct weir__store_mark mark = {.is_clean = true};
    bool is_old = length == MARK_OLD_SUM + MARK_SUM_SIZE;
    size_t end = is_old ? MARK_OLD_SUM : MARK_SUM;
    if (length != end + MARK_SUM_SIZE ||
        memcmp(bytes, is_old ? old_magic : mark_magic, sizeof(mark_magic)) != 0)
        return false;
    mark_sum(bytes, end, sum);
    if (memcmp(sum, bytes + end, sizeof(sum)) != 0 || bytes[MARK_CLEAN] != 1)
        return false;
    memcpy(&mark.next_id, bytes + MARK_ID, sizeof(mark.next_id));
    memcpy(&mark.next_sequence, bytes + MARK_SEQUENCE, sizeof(mark.next_sequence));
    memcpy(mark.index_digest, bytes + MARK_DIGEST, sizeof(mark.index_digest));
    if (!is_old) {
        memcpy(&mark.segments, bytes + MARK_SEGMENTS, sizeof(mark.segments));
        memcpy(&mark.newest_id, bytes + MARK_NEWEST, sizeof(mark.newest_id));
        memcpy(&mark.newest_size, bytes + MARK_NEWEST_SIZE, sizeof(mark.newest_size));
    }
    mark.keeps_deletions = bytes[MARK_KEEPS];
    mark.newest_is_finished = bytes[MARK_FINISHED];
    *ret_mark = mark;
    return true;
}

void weir__store_mark_encode(const struct weir__store_mark *mark, unsigned char bytes[MARK_SIZE])
{
    memset(bytes, 0, MARK_SIZE);
    memcpy(bytes, mark_magic, sizeof(mark_magic));
    bytes[MARK_CLEAN] = mark->is_clean;
    bytes[MARK_KEEPS] = mark->keeps_deletions;
    bytes[MARK_FINISHED] = mark->newest_is_finished;
    memcpy(bytes + MARK_ID, &mark->next_id, sizeof(mark->next_id));
    memcpy(bytes + MARK_SEQUENCE, &mark->next_sequence, sizeof(mark->next_sequence));
    memcpy(bytes + MARK_DIGEST, mark->index_digest, sizeof(mark->index_digest));
    memcpy(bytes + MARK_SEGMENTS, &mark->segments, sizeof(mark->segments));
    memcpy(bytes + MARK_NEWEST, &mark->newest_id, sizeof(mark->newest_id));
    memcpy(bytes + MARK_NEWEST_SIZE, &mark->newest_size, sizeof(mark->newest_size));
    mark_sum(bytes, MARK_SUM, bytes + MARK_SUM);
}

void weir__store_mark_read(struct weir__store *store, struct weir__store_mark *ret_mark)
{
    unsigned char bytes[MARK_SIZE + 1];
    size_t length = 0;
    *ret_mark = (struct weir__store_mark){.is_clean = false};
    if (weir__disk_read(store->folder, mark_name, bytes, sizeof(bytes), &length) == 0)
        (void)!weir__store_mark_decode(ret_mark, bytes, length);
}

int weir__store_mark_write(struct weir__store *store, const struct weir__store_mark *mark)
{
    unsigned char bytes[MARK_SIZE];
    weir__store_mark_encode(mark, bytes);
    return weir__disk_replace(store->folder, mark_name, bytes, sizeof(bytes));
}

int weir__store_mark_remove(struct weir__store *store)
{
    int error = weir__disk_remove(store->folder, mark_name);
    if (error == -WEIR_E_NOT_FOUND)
        return 0;
    return error ? error : weir__disk_sync_names(store->folder);
}

#define PIECE (1u << 20)

int weir__store_index_digest(struct weir__store *store, unsigned char digest[WEIR__HASH_SIZE])
{
    struct weir__hash hash;
    unsigned char *piece = weir__base_alloc(1, PIECE);
    int fd = weir__sys_openat(store->folder, index_file, O_RDONLY | O_NOFOLLOW, 0);
    int error = fd < 0 ? weir_error_from_errno(errno) : piece ? 0 : -WEIR_E_NO_MEMORY;
    ssize_t got = 1;
    weir__hash_init(&hash);
    while (!error && got > 0) {
        got = weir__sys_read(fd, piece, PIECE);
        if (got < 0)
            error = weir_error_from_errno(errno);
        else
            weir__hash_update(&hash, piece, (size_t)got);
    }
    weir__base_free(piece);
    weir__sys_close(fd);
    if (!error)
        weir__hash_final(&hash, digest);
    return error;
}
