/* index_lmdb.c - the index in a folder.
 *
 * Four tables: `live` has the entry that counts for each address, with the place of the touch that
 * makes it young, `dead` the place of every other record (address, segment, offset), `segments` the
 * facts about each segment, `about` the version and the store that all of it is of, and sums over
 * what was put into the others (index_lmdb_sum.c). A deletion that is spent stays in `live`,
 * marked, until its segment goes.
 *
 * Nothing is synced. A process that dies leaves the file as its last transaction made it, since the
 * pages go to the kernel before the page that leads to them; a machine that dies may leave
 * anything, and whoever opens the store then discards the file.
 */
#include "index_lmdb.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "alloc.h"
#include "store_locks.h"
#include "sys.h"

#include "banned.h"

#define VERSION     3u
#define READERS_MAX 256u                /* lookups at once */
#define MAP_LARGEST (UINT64_C(1) << 38) /* address space, not disk: room for 10^9 chunks */
#define MAP_LEAST   (UINT64_C(1) << 26)

int weir__lmdb_error(int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return -WEIR_E_NOT_FOUND;
    case MDB_MAP_FULL:
        return -WEIR_E_NO_SPACE;
    case MDB_READERS_FULL:
        return -WEIR_E_BUSY;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
    case MDB_PANIC:
    case MDB_BAD_VALSIZE:
    case MDB_INCOMPATIBLE:
    case MDB_DBS_FULL:
        return -WEIR_E_CORRUPT;
    default:
        /* Whatever else LMDB says of itself, it says of a file that is not what it wrote. */
        return rc > 0 ? weir_error_from_errno(rc) : -WEIR_E_CORRUPT;
    }
}

/* LMDB has found that what it reads cannot be, and would end the process. */
static void on_assert(MDB_env *env, const char *what)
{
    (void)env, (void)what;
    weir__mapped_give_up();
}

/* --- writing --- */

/* A transaction that writes runs where a page that the disk cannot give ends it and not the process
 * (mapped.h). It is left in the middle then, with LMDB's lock for writers: the index is not used
 * again, and what it had taken of memory is lost. It cannot be aborted: LMDB would free cursors
 * that lay on the stack. Writers take turns before they come to that lock, so that none waits for
 * it. */
struct work {
    int (*fn)(void *arg);
    void *arg;
    bool is_done;
};

static int work(void *arg)
{
    struct work *self = arg;
    int error = self->fn(self->arg);
    self->is_done = true;
    return error;
}

int weir__lmdb_turn(struct weir__lmdb *lmdb, struct weir_permit *turn)
{
    /* Whoever has it gives it back when its transactions end. */
    struct weir_deadline patient = weir_deadline_in(WEIR_CREW_TIME_MAX_NS, NULL);
    return weir_budget_acquire(&lmdb->turn, 1, turn, &patient);
}

int weir__lmdb_write(struct weir__lmdb *lmdb, int (*fn)(void *arg), void *arg)
{
    struct work self = {fn, arg, false};
    weir_lock_acquire(&lmdb->lock);
    bool is_broken = lmdb->is_broken;
    weir_lock_release(&lmdb->lock);
    int error = is_broken ? -WEIR_E_IO : weir__mapped_read(&lmdb->map, work, &self);
    if (!is_broken && !self.is_done)
        weir__lmdb_break(lmdb, true);
    return error;
}

int weir__lmdb_writing(struct weir__lmdb *lmdb, int (*fn)(void *arg), void *arg)
{
    struct weir_permit turn = WEIR_PERMIT_NONE;
    int error = weir__lmdb_turn(lmdb, &turn);
    if (!error)
        error = weir__lmdb_write(lmdb, fn, arg);
    weir_permit_release(&turn);
    return error;
}

static int sync_in(void *arg)
{
    struct weir__lmdb *lmdb = arg;
    MDB_txn *txn;
    int error = weir__lmdb_error(mdb_txn_begin(lmdb->env, NULL, 0, &txn));
    if (error)
        return error;
    error = weir__lmdb_commit(lmdb, txn, weir__lmdb_sums_save(lmdb, txn));
    return error ? error : weir__lmdb_error(mdb_env_sync(lmdb->env, 1));
}

/* Io for one that lost a page, so that nobody trusts it. */
static int sync_all(struct weir__index *index)
{
    return weir__lmdb_writing(weir__lmdb_of(index), sync_in, index);
}

/* --- life cycle --- */

static void free_index(struct weir__index *index)
{
    struct weir__lmdb *lmdb = weir__lmdb_of(index);
    while (lmdb->idle) {
        struct weir__lmdb_reader *reader = lmdb->idle;
        lmdb->idle = reader->next;
        mdb_txn_abort(reader->txn);
        weir__base_free(reader);
    }
    if (lmdb->env)
        mdb_env_close(lmdb->env);
    weir_budget_fini(&lmdb->turn);
    weir_lock_fini(&lmdb->lock);
    weir__base_free(lmdb);
}

static bool is_held(struct weir__index *index)
{
    struct weir__lmdb *lmdb = weir__lmdb_of(index);
    weir_lock_acquire(&lmdb->lock);
    bool is = lmdb->is_held;
    weir_lock_release(&lmdb->lock);
    return is;
}

static const struct weir__index_kind kind = {
    .end = free_index,
    .is_held = is_held,
    .get = weir__lmdb_get,
    .apply = weir__lmdb_apply,
    .drop = weir__lmdb_drop,
    .touch = weir__lmdb_touch,
    .has_older = weir__lmdb_has_older,
    .dead = weir__lmdb_dead,
    .segments = weir__lmdb_segments,
    .walk = weir__lmdb_walk,
    .append = weir__lmdb_append,
    .check = weir__lmdb_check,
    .sync = sync_all,
    .read = weir__lmdb_read,
};

/* What the file is about: checked, or written into a new one. */
static int agree(struct weir__lmdb *lmdb, MDB_txn *txn, const unsigned char store_id[16],
                 bool is_read_only)
{
    static char name[] = "store";
    unsigned char about[VALUE_ABOUT];
    weir__put_be32(about, VERSION);
    memcpy(about + 4, store_id, 16);
    MDB_val key = {sizeof(name) - 1, name}, value;
    int rc = mdb_get(txn, lmdb->about, &key, &value);
    if (rc == MDB_NOTFOUND && !is_read_only) {
        value = (MDB_val){sizeof(about), about};
        return weir__lmdb_error(mdb_put(txn, lmdb->about, &key, &value, 0));
    }
    if (rc)
        return rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    bool is_ours =
        value.mv_size == sizeof(about) && memcmp(value.mv_data, about, sizeof(about)) == 0;
    return is_ours ? weir__lmdb_sums_load(lmdb, txn) : -WEIR_E_CORRUPT;
}

struct opening {
    struct weir__lmdb *lmdb;
    const char *folder;
    const unsigned char *store_id;
    bool is_read_only;
    bool has_begun; /* a transaction */
};

static int open_tables(struct opening *self)
{
    struct weir__lmdb *lmdb = self->lmdb;
    unsigned create = self->is_read_only ? 0 : MDB_CREATE;
    MDB_txn *txn;
    self->has_begun = true;
    int rc = mdb_txn_begin(lmdb->env, NULL, self->is_read_only ? MDB_RDONLY : 0, &txn);
    if (rc)
        return weir__lmdb_error(rc);
    if (!(rc = mdb_dbi_open(txn, "live", create, &lmdb->live)) &&
        !(rc = mdb_dbi_open(txn, "dead", create, &lmdb->dead)) &&
        !(rc = mdb_dbi_open(txn, "segments", create, &lmdb->segments)))
        rc = mdb_dbi_open(txn, "about", create, &lmdb->about);
    int error = rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__lmdb_error(rc);
    if (!error)
        error = agree(lmdb, txn, self->store_id, self->is_read_only);
    return weir__lmdb_commit(lmdb, txn, error);
}

/* LMDB keeps its locks, and who reads what, in a mapped file beside the data, and each lookup
 * writes there: on a disk that does not answer, or is frozen, it would wait for that page. Nobody
 * but this process has the index open (folder.c), so that file is in memory: LMDB finds it by a
 * link, which is there while it opens. Where there can be no link, the file is on the disk. */
struct memory_lock {
    int folder, fd;
};

static const char lock_file[] = "lock.mdb";

static int lock_begin(struct memory_lock *lock, const char *folder)
{
    char target[32];
    lock->folder = weir__sys_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
    if (lock->folder < 0)
        return weir_error_from_errno(errno);
    /* A link that a crash has left leads to some other file by now: LMDB must not find it. */
    if (weir__sys_unlinkat(lock->folder, lock_file, 0) < 0 && errno != ENOENT)
        return weir_error_from_errno(errno);
    lock->fd = memfd_create("weir-index-lock", MFD_CLOEXEC);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", lock->fd);
    if (lock->fd >= 0)
        (void)!weir__sys_symlinkat(target, lock->folder, lock_file);
    return 0;
}

/* LMDB has opened it, and needs its name no more. One that is no link stays. */
static void lock_end(struct memory_lock *lock)
{
    char target[32];
    if (lock->fd >= 0 && weir__sys_readlinkat(lock->folder, lock_file, target, sizeof(target)) > 0)
        (void)!weir__sys_unlinkat(lock->folder, lock_file, 0);
    weir__sys_close(lock->fd);
    weir__sys_close(lock->folder);
}

/* The largest map that the address space has room for. */
static int open_env(struct weir__lmdb *lmdb, const char *folder, bool is_read_only)
{
    unsigned flags = MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
    int rc = ENOMEM;
    if (is_read_only)
        flags |= MDB_RDONLY | MDB_NOLOCK;
    for (uint64_t size = MAP_LARGEST; rc == ENOMEM && size >= MAP_LEAST; size /= 2) {
        if ((rc = mdb_env_create(&lmdb->env)))
            break;
        if (!(rc = mdb_env_set_mapsize(lmdb->env, size)) &&
            !(rc = mdb_env_set_maxdbs(lmdb->env, 4)) &&
            !(rc = mdb_env_set_maxreaders(lmdb->env, READERS_MAX)) &&
            !(rc = mdb_env_set_assert(lmdb->env, on_assert)))
            rc = mdb_env_open(lmdb->env, folder, flags, 0600);
        if (rc) {
            mdb_env_close(lmdb->env);
            lmdb->env = NULL;
        }
    }
    return weir__lmdb_error(rc);
}

static int open_in(void *arg)
{
    struct opening *self = arg;
    struct memory_lock lock = {-1, -1};
    int error = self->is_read_only ? 0 : lock_begin(&lock, self->folder);
    if (!error)
        error = open_env(self->lmdb, self->folder, self->is_read_only);
    lock_end(&lock);
    /* A mount that follows no links. On a full disk a lock file would be a hole, and the first look
     * at it the end of this opening. */
    if (error && error != -WEIR_E_CORRUPT && error != -WEIR_E_NO_SPACE && lock.fd >= 0)
        error = open_env(self->lmdb, self->folder, self->is_read_only);
    return error ? error : open_tables(self);
}

/* Those that were left in the middle while they were opened, with LMDB's lock for writers: it is in
 * a list of the thread that has it, so its memory must stay. There are few, and when there are as
 * many as may be, none is opened any more: whoever wants one makes it in memory. */
static struct weir_lock lost_lock = WEIR_LOCK_INIT(&weir__store_readers_class);
static struct weir__lmdb *lost;
static size_t lost_count;

#define LOST_MAX 8u

static bool are_too_many_lost(void)
{
    weir_lock_acquire(&lost_lock);
    bool are = lost_count >= LOST_MAX;
    weir_lock_release(&lost_lock);
    return are;
}

static void lose(struct weir__lmdb *lmdb)
{
    weir_lock_acquire(&lost_lock);
    lmdb->next_lost = lost;
    lost = lmdb;
    lost_count++;
    weir_lock_release(&lost_lock);
}

int weir__index_open(struct weir__index **ret_index, const char *folder,
                     const unsigned char store_id[16], bool is_read_only)
{
    if (are_too_many_lost())
        return -WEIR_E_IO;
    struct weir__lmdb *lmdb = weir__base_alloc(1, sizeof(*lmdb));
    if (!lmdb)
        return -WEIR_E_NO_MEMORY;
    lmdb->index.kind = &kind;
    weir_lock_init(&lmdb->lock, &weir__store_readers_class);
    struct opening opening = {lmdb, folder, store_id, is_read_only, false};
    int error = weir_budget_init(&lmdb->turn, "store-index-turn", 1);
    if (!error)
        error = weir__mapped_anywhere(&lmdb->map);
    if (!error)
        error = weir__lmdb_writing(lmdb, open_in, &opening);
    if (error && lmdb->is_held && opening.has_begun)
        lose(lmdb);
    else if (error)
        free_index(&lmdb->index);
    if (error)
        return error;
    *ret_index = &lmdb->index;
    return 0;
}

int weir__index_remove(int folder, const char *name)
{
    int dir = weir__sys_openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return errno == ENOENT ? 0 : weir_error_from_errno(errno);
    int error = 0;
    if ((weir__sys_unlinkat(dir, "data.mdb", 0) < 0 && errno != ENOENT) ||
        (weir__sys_unlinkat(dir, lock_file, 0) < 0 && errno != ENOENT))
        error = weir_error_from_errno(errno);
    weir__sys_close(dir);
    return error;
}
