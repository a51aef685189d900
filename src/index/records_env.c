/* records_env.c - the environment of LMDB: made, opened, opened again, and given up.
 *
 * On a disk each commit is synced by LMDB before it counts: first the pages, then the page that
 * leads to them. If the pages fail, the commit has not been, and the next one writes its own. If
 * that one page fails, nobody knows what is on the disk, and LMDB refuses all further work, looks
 * too. Then the environment is closed and opened again, and what it shows then is synced before
 * anything is written over pages that the other state of the disk may lead to.
 *
 * LMDB keeps its locks, and who reads what, in a mapped file beside the data, and each look writes
 * there: on a disk that does not answer it would wait for that page. Nobody but this process has
 * the folder (its lock), so that file is in memory: LMDB finds it by a link, which is there while
 * it opens.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "locks.h"
#include "records_part.h"
#include "sys.h"

#include "banned.h"

#define VERSION     1u
#define READERS_MAX 512u /* looks at once */
#define MAP_LEAST   (UINT64_C(1) << 26)
#define PAUSE_NS    (200 * WEIR_NS_PER_US)

static const char *const table_names[WEIR__TABLES] = {
    "names", "seen", "providers", "expiry", "pins", "about",
};
static const char about_key[] = "records";
static const char lock_file[] = "lock.mdb";

/* LMDB has found that what it reads cannot be, and would end the process. */
static void on_assert(MDB_env *env, const char *what)
{
    (void)env, (void)what;
    weir__mapped_give_up();
}

/* --- an environment --- */

/* The largest map, up to that size, that the address space has room for. */
static int open_at(MDB_env **ret_env, const char *path, unsigned flags, uint64_t size)
{
    int rc = ENOMEM;
    MDB_env *env = NULL;
    for (; rc == ENOMEM && size > 0; size = size > MAP_LEAST ? size / 2 : 0) {
        if ((rc = mdb_env_create(&env)))
            return weir__records_error(rc);
        if (!(rc = mdb_env_set_mapsize(env, size)) &&
            !(rc = mdb_env_set_maxdbs(env, WEIR__TABLES)) &&
            !(rc = mdb_env_set_maxreaders(env, READERS_MAX)) &&
            !(rc = mdb_env_set_assert(env, on_assert)))
            rc = mdb_env_open(env, path, flags | MDB_NOTLS | MDB_NORDAHEAD, 0600);
        if (rc)
            mdb_env_close(env);
    }
    if (!rc)
        *ret_env = env;
    return weir__records_error(rc);
}

/* Tables that are not there are made where flags say so; they are when the transaction ends. */
static int open_tables(MDB_txn *txn, unsigned flags, MDB_dbi tables[WEIR__TABLES])
{
    int rc = 0;
    for (size_t i = 0; !rc && i < WEIR__TABLES; i++)
        rc = mdb_dbi_open(txn, table_names[i], flags, &tables[i]);
    return rc == MDB_NOTFOUND ? -WEIR_E_CORRUPT : weir__records_error(rc);
}

static int fill_in(MDB_env *env)
{
    unsigned char version[4] = {0, 0, 0, VERSION};
    MDB_dbi tables[WEIR__TABLES];
    MDB_txn *txn;
    int error = weir__records_error(mdb_txn_begin(env, NULL, 0, &txn));
    if (error)
        return error;
    error = open_tables(txn, MDB_CREATE, tables);
    MDB_val key = {sizeof(about_key) - 1, (void *)(uintptr_t)about_key}, value = {4, version};
    if (!error)
        error = weir__records_error(mdb_put(txn, tables[WEIR__TABLE_ABOUT], &key, &value, 0));
    if (!error)
        return weir__records_error(mdb_txn_commit(txn));
    mdb_txn_abort(txn);
    return error;
}

struct making {
    struct weir__records *records;
    const char *path;
};

static int make_in(void *arg)
{
    struct making *self = arg;
    MDB_env *env;
    int error = open_at(&env, self->path, MDB_NOSUBDIR | MDB_NOLOCK, self->records->map_bytes);
    if (error)
        return error;
    error = fill_in(env);
    mdb_env_close(env);
    return error;
}

int weir__records_env_make(struct weir__records *records, const char *path)
{
    struct making making = {records, path};
    return weir__mapped_read(&records->map, make_in, &making);
}

/* --- what is there --- */

struct opening {
    struct weir__records *records;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi tables[WEIR__TABLES];
    uint32_t page_size;
    const char *fault;
};

static int check_version(struct opening *self)
{
    static const unsigned char version[4] = {0, 0, 0, VERSION};
    MDB_val key = {sizeof(about_key) - 1, (void *)(uintptr_t)about_key}, value;
    int rc = mdb_get(self->txn, self->tables[WEIR__TABLE_ABOUT], &key, &value);
    if (rc && rc != MDB_NOTFOUND)
        return weir__records_error(rc);
    if (rc || value.mv_size != sizeof(version)) {
        self->fault = "it is a database of something else: name another folder";
        return -WEIR_E_CORRUPT;
    }
    if (memcmp(value.mv_data, version, sizeof(version)) == 0)
        return 0;
    self->fault = "its format is of another version of weir: use that one";
    return -WEIR_E_UNSUPPORTED;
}

/* LMDB looks at pages by their number, and does not ask whether the file has them. */
static int check_size(struct opening *self)
{
    struct stat st;
    MDB_envinfo info;
    MDB_stat stat;
    int fd, rc = mdb_env_info(self->env, &info);
    if (!rc && !(rc = mdb_env_stat(self->env, &stat)))
        rc = mdb_env_get_fd(self->env, &fd);
    if (rc)
        return weir__records_error(rc);
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    self->page_size = stat.ms_psize;
    if (((uint64_t)info.me_last_pgno + 1) * stat.ms_psize <= (uint64_t)st.st_size)
        return 0;
    self->fault = "it is cut off: restore it from a copy";
    return -WEIR_E_CORRUPT;
}

static int look_in(void *arg)
{
    struct opening *self = arg;
    int error = check_size(self);
    if (!error)
        error = weir__records_error(mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->txn));
    if (error)
        return error;
    error = open_tables(self->txn, 0, self->tables);
    if (error == -WEIR_E_CORRUPT)
        self->fault = "it is damaged, or a database of something else: restore it from a copy";
    if (!error)
        error = check_version(self);
    if (!error)
        error = weir__records_error(mdb_txn_commit(self->txn));
    else
        mdb_txn_abort(self->txn);
    self->txn = NULL;
    return error;
}

/* --- the lock of LMDB --- */

struct memory_lock {
    int fd;
};

/* NoSpace, Denied: there can be no link. */
static int lock_begin(struct memory_lock *lock, int dir)
{
    char target[32];
    /* A link that a sudden end has left leads to some other file by now: LMDB must not find it. */
    if (weir__sys_unlinkat(dir, lock_file, 0) < 0 && errno != ENOENT)
        return weir_error_from_errno(errno);
    lock->fd = memfd_create("weir-records-lock", MFD_CLOEXEC);
    if (lock->fd < 0)
        return weir_error_from_errno(errno);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", lock->fd);
    return weir__sys_symlinkat(target, dir, lock_file) < 0 ? weir_error_from_errno(errno) : 0;
}

/* LMDB has opened it, and needs its name no more. */
static void lock_end(struct memory_lock *lock, int dir)
{
    (void)!weir__sys_unlinkat(dir, lock_file, 0);
    weir__sys_close(lock->fd);
}

struct starting {
    const char *path;
    unsigned flags;
    uint64_t size;
    MDB_env *env;
};

static int start_in(void *arg)
{
    struct starting *self = arg;
    return open_at(&self->env, self->path, self->flags, self->size);
}

static int start_by(struct weir__records *records, unsigned flags, const char *path,
                    MDB_env **ret_env)
{
    struct starting self = {path, flags, records->map_bytes, NULL};
    int error = weir__mapped_read(&records->map, start_in, &self);
    if (!error)
        *ret_env = self.env;
    return error;
}

/* With locks in memory, or to be read alone: then nobody writes, and there is nothing to lock. A
 * disk without room for a link is read alone as well, until there is. */
static int start(struct weir__records *records, MDB_env **ret_env)
{
    char path[WEIR__RECORDS_PATH];
    records->is_stuck = false;
    if (records->is_memory) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", records->memory_fd);
        return start_by(records, MDB_NOSUBDIR | MDB_NOLOCK | MDB_WRITEMAP | MDB_NOSYNC, path,
                        ret_env);
    }
    if (!records->is_read_only) {
        struct memory_lock lock = {-1};
        int error = lock_begin(&lock, records->dir);
        if (!error)
            error = start_by(records, 0, records->path, ret_env);
        lock_end(&lock, records->dir);
        if (error != -WEIR_E_NO_SPACE)
            return error;
        records->is_stuck = true;
    }
    return start_by(records, MDB_RDONLY | MDB_NOLOCK, records->path, ret_env);
}

/* --- opening --- */

static const char *start_fault(int error)
{
    if (error == -WEIR_E_CORRUPT)
        return "it is no database of weir, or damaged: restore it from a copy, or take it away";
    if (error == -WEIR_E_IO)
        return "the disk cannot read it: restore it from a copy on another one";
    return weir_error_text(error);
}

/* Beside the one that is there, if there is one. */
static int open_beside(struct weir__records *records, struct opening *self,
                       char why[WEIR__RECORDS_WHY])
{
    int error = start(records, &self->env);
    if (error) {
        snprintf(why, WEIR__RECORDS_WHY, "%s", start_fault(error));
        return error;
    }
    error = weir__mapped_read(&records->map, look_in, self);
    if (error) {
        /* Left in the middle it has a transaction still, which ends with the environment. */
        if (self->txn)
            mdb_txn_abort(self->txn);
        mdb_env_close(self->env);
        snprintf(why, WEIR__RECORDS_WHY, "%s", self->fault ? self->fault : start_fault(error));
        /* What cannot be read where it is whole for the system is damaged. */
        return error == -WEIR_E_IO ? -WEIR_E_CORRUPT : error;
    }
    return 0;
}

/* An environment, and the transactions that were kept of it. */
struct whole {
    MDB_env *env;
    struct weir__records_reader *idle, *lost;
};

/* What was there; NULL: there is none from here on. Nobody looks. */
static struct whole replace(struct weir__records *records, const struct opening *opening)
{
    weir_lock_acquire(&records->lock);
    struct whole old = {records->env, records->idle, records->lost};
    records->idle = records->lost = NULL;
    records->env = opening ? opening->env : NULL;
    if (opening) {
        memcpy(records->tables, opening->tables, sizeof(records->tables));
        records->page_size = opening->page_size;
    }
    weir_lock_release(&records->lock);
    return old;
}

int weir__records_env_open(struct weir__records *records, char why[WEIR__RECORDS_WHY])
{
    struct opening self = {.records = records};
    int error = open_beside(records, &self, why);
    if (!error)
        (void)replace(records, &self);
    return error;
}

/* --- closing --- */

/* Those of which a writer has LMDB's lock for good, since it was left in the middle: the lock is in
 * a list of the thread that has it, so its memory must stay. */
const struct weir_lock_class weir__records_lost_class = {"index-records-lost", 752};
static struct weir_lock lost_lock = WEIR_LOCK_INIT(&weir__records_lost_class);
static struct lost {
    struct lost *next;
    struct whole whole;
} * all_lost;

static void lose(const struct whole *whole)
{
    struct lost *lost = weir__base_alloc(1, sizeof(*lost));
    if (!lost)
        return;
    lost->whole = *whole;
    weir_lock_acquire(&lost_lock);
    lost->next = all_lost;
    all_lost = lost;
    weir_lock_release(&lost_lock);
}

static void close_whole(struct weir__records *records, const struct whole *whole)
{
    if (whole->env && records->is_held) {
        lose(whole);
        return;
    }
    weir__records_free_readers(whole->idle);
    weir__records_free_readers(whole->lost);
    if (whole->env)
        mdb_env_close(whole->env);
}

void weir__records_env_close(struct weir__records *records)
{
    struct whole old = replace(records, NULL);
    close_whole(records, &old);
}

/* --- again --- */

/* Nobody looks from here on until the pause is over; looks are short. */
static void pause_looks(struct weir__records *records)
{
    uint64_t looking;
    do {
        weir_lock_acquire(&records->lock);
        records->is_paused = true;
        looking = records->looking;
        weir_lock_release(&records->lock);
        struct weir_deadline soon = weir_deadline_in(PAUSE_NS, NULL);
        if (looking > 0)
            (void)weir_deadline_sleep(&soon);
    } while (looking > 0);
}

static void end_pause(struct weir__records *records)
{
    weir_lock_acquire(&records->lock);
    records->is_paused = false;
    weir_lock_release(&records->lock);
}

int weir__records_env_again(struct weir__records *records)
{
    char why[WEIR__RECORDS_WHY];
    records->is_doubtful = true;
    pause_looks(records);
    weir__records_env_close(records);
    int error = weir__records_env_open(records, why);
    end_pause(records);
    if (!error)
        error = records->is_stuck ? -WEIR_E_NO_SPACE
                                  : weir__records_error(mdb_env_sync(records->env, 1));
    records->is_doubtful = error != 0;
    return error;
}

/* The empty one is opened beside what is there, and takes its place between two looks: so nobody
 * meets the moment in which there is none. */
int weir__records_env_forget(struct weir__records *records)
{
    char path[64], why[WEIR__RECORDS_WHY];
    struct opening self = {.records = records};
    int fd = memfd_create("weir-records", MFD_CLOEXEC), old_fd = records->memory_fd;
    if (fd < 0)
        return weir_error_from_errno(errno);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    records->memory_fd = fd;
    int error = weir__records_env_make(records, path);
    if (!error)
        error = open_beside(records, &self, why);
    if (error) {
        records->memory_fd = old_fd;
        weir__sys_close(fd);
        return error;
    }
    weir_lock_acquire(&records->memory_lock);
    struct whole old = replace(records, &self);
    weir_lock_release(&records->memory_lock);
    close_whole(records, &old);
    weir__sys_close(old_fd);
    return 0;
}
