/* records_open.c - the folder of the records: who has it, whether it can be written, and how the
 * first database gets there.
 *
 * A new one is made under another name and takes its own when it is whole and on the disk. So a
 * file of that name that is empty, or has no tables, is damage, and is told instead of being taken
 * for a beginning: whatever was in it is not silently forgotten.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "alloc.h"
#include "cover.h"
#include "locks.h"
#include "log.h"
#include "records_part.h"
#include "sys.h"

#include "banned.h"

#define MAP_DISK   (UINT64_C(16) << 30)
#define MAP_MEMORY (UINT64_C(64) << 20)
#define MAP_LEAST  (UINT64_C(1) << 20)
#define SHOWN      200u

const struct weir_lock_class weir__records_memory_class = {"index-records-memory", 750};
const struct weir_lock_class weir__records_readers_class = {"index-records", 751};

__attribute__((format(printf, 4, 5))) static int fail(const struct weir__records *records,
                                                      int error, char why[WEIR__RECORDS_WHY],
                                                      const char *format, ...)
{
    char shown[SHOWN], reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    weir__cover_clip(shown, sizeof(shown), records->path, SIZE_MAX);
    snprintf(why, WEIR__RECORDS_WHY, "'%s': %s", shown, reason);
    return error;
}

static int fail_errno(const struct weir__records *records, char why[WEIR__RECORDS_WHY],
                      const char *what)
{
    int error = weir_error_from_errno(errno);
    return fail(records, error, why, "%s: %s", what, weir__log_reason(errno));
}

/* --- the folder --- */

/* Each folder of the path that is not there; what cannot be made may be there, as opening tells. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        (void)!weir__sys_mkdirat(AT_FDCWD, path, 0700);
        if (!slash)
            return;
        *slash = '/';
    }
}

/* By trying: rights, mounts and immutable flags all tell the same. A full disk can be written. */
static int find_rights(struct weir__records *records, char why[WEIR__RECORDS_WHY])
{
    static const char probe[] = "probe";
    int fd = weir__sys_openat(records->dir, probe, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        records->is_read_only = true;
        return 0;
    }
    if (fd < 0)
        return errno == ENOSPC || errno == EDQUOT ? 0
                                                  : fail_errno(records, why, "cannot write in it");
    weir__sys_close(fd);
    return weir__sys_unlinkat(records->dir, probe, 0) < 0
               ? fail_errno(records, why, "cannot write in it")
               : 0;
}

static int open_folder(struct weir__records *records, char why[WEIR__RECORDS_WHY])
{
    make_folders(records->path);
    records->dir = weir__sys_openat(AT_FDCWD, records->path, O_RDONLY | O_DIRECTORY, 0);
    if (records->dir < 0)
        return fail_errno(records, why, "cannot open the folder");
    int error = find_rights(records, why);
    if (error)
        return error;
    if (weir__sys_flock(records->dir, (records->is_read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
        return 0;
    return errno == EWOULDBLOCK
               ? fail(records, -WEIR_E_EXISTS, why,
                      "another process has it open: end that one, or name another folder")
               : fail_errno(records, why, "cannot lock it");
}

/* --- the first one --- */

/* The names of all folders on the way to it last: what lies in them is lost with them. */
static int sync_names(struct weir__records *records)
{
    int up = weir__sys_openat(records->dir, "..", O_RDONLY | O_DIRECTORY, 0);
    int result = weir__sys_fsync(records->dir);
    if (result == 0 && up >= 0)
        result = weir__sys_fsync(up);
    if (result == 0 && up >= 0) {
        int above = weir__sys_openat(up, "..", O_RDONLY | O_DIRECTORY, 0);
        /* One that cannot be opened was there before. */
        result = above < 0 ? 0 : weir__sys_fsync(above);
        weir__sys_close(above);
    }
    weir__sys_close(up);
    return result;
}

static int make_first(struct weir__records *records, char why[WEIR__RECORDS_WHY])
{
    char path[WEIR__RECORDS_PATH + 16];
    snprintf(path, sizeof(path), "%s/" WEIR__RECORDS_FRESH, records->path);
    if (weir__sys_unlinkat(records->dir, WEIR__RECORDS_FRESH, 0) < 0 && errno != ENOENT)
        return fail_errno(records, why, "cannot remove '" WEIR__RECORDS_FRESH "' in it");
    int error = weir__records_env_make(records, path);
    if (error) {
        (void)!weir__sys_unlinkat(records->dir, WEIR__RECORDS_FRESH, 0);
        return fail(records, error, why, "cannot make a database in it: %s",
                    weir_error_text(error));
    }
    if (weir__sys_renameat2(records->dir, WEIR__RECORDS_FRESH, records->dir, WEIR__RECORDS_FILE,
                            0) < 0 ||
        sync_names(records) < 0)
        return fail_errno(records, why, "cannot make a database in it");
    return 0;
}

/* What is there, or a first one. */
static int find_file(struct weir__records *records, bool *ret_is_new, char why[WEIR__RECORDS_WHY])
{
    struct stat st;
    *ret_is_new = false;
    int result = weir__sys_fstatat(records->dir, WEIR__RECORDS_FILE, &st, AT_SYMLINK_NOFOLLOW);
    if (result < 0 && errno != ENOENT)
        return fail_errno(records, why, "cannot look at '" WEIR__RECORDS_FILE "' in it");
    if (result < 0 && records->is_read_only)
        return fail(records, -WEIR_E_NOT_FOUND, why,
                    "it holds no records and cannot be written: give it to the user of the "
                    "service, or name another folder");
    if (result < 0) {
        *ret_is_new = true;
        return make_first(records, why);
    }
    if (!S_ISREG(st.st_mode))
        return fail(records, -WEIR_E_CORRUPT, why,
                    "'" WEIR__RECORDS_FILE "' in it is not a file: take it away");
    if (st.st_size == 0)
        return fail(records, -WEIR_E_CORRUPT, why,
                    "'" WEIR__RECORDS_FILE "' in it is empty: restore it from a copy, or take it "
                    "away to begin with none");
    /* Who may write in the folder may not write the file. */
    int fd = weir__sys_openat(records->dir, WEIR__RECORDS_FILE, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM))
        records->is_read_only = true;
    weir__sys_close(fd);
    return 0;
}

/* --- opening --- */

static int open_on_disk(struct weir__records *records, bool *ret_is_new,
                        char why[WEIR__RECORDS_WHY])
{
    char reason[WEIR__RECORDS_WHY];
    int error = open_folder(records, why);
    if (!error)
        error = find_file(records, ret_is_new, why);
    if (error)
        return error;
    error = weir__records_env_open(records, reason);
    if (error)
        return fail(records, error, why, "'" WEIR__RECORDS_FILE "' in it: %.160s", reason);
    if (records->is_stuck)
        records->is_full = true;
    return 0;
}

static int open_in_memory(struct weir__records *records, char why[WEIR__RECORDS_WHY])
{
    int error = weir__records_env_forget(records);
    if (error)
        snprintf(why, WEIR__RECORDS_WHY, "cannot keep records in memory: %s",
                 weir_error_text(error));
    return error;
}

static int prepare(struct weir__records *records, const struct weir__records_options *options,
                   char why[WEIR__RECORDS_WHY])
{
    const struct weir_queue_options line = {sizeof(struct weir__records_write *),
                                            WEIR__RECORDS_LINE};
    records->dir = records->memory_fd = -1;
    records->is_memory = !options->folder;
    records->bindings = options->bindings;
    records->map_bytes = options->map_bytes ? options->map_bytes
                         : options->folder  ? MAP_DISK
                                            : MAP_MEMORY;
    if (records->map_bytes < MAP_LEAST)
        records->map_bytes = MAP_LEAST;
    weir_lock_init(&records->lock, &weir__records_readers_class);
    weir_lock_init(&records->memory_lock, &weir__records_memory_class);
    if (options->folder && (size_t)snprintf(records->path, sizeof(records->path), "%s/records",
                                            options->folder) >= sizeof(records->path)) {
        snprintf(why, WEIR__RECORDS_WHY, "the path of the folder is too long: name another one");
        return -WEIR_E_INVALID;
    }
    int error = weir_queue_init(&records->line, "index-records", &line);
    if (!error)
        error = weir__mapped_anywhere(&records->map);
    if (error)
        snprintf(why, WEIR__RECORDS_WHY, "%s", weir_error_text(error));
    return error;
}

int weir__records_open(struct weir__records **ret_records,
                       const struct weir__records_options *options,
                       struct weir__records_report *ret_report, char why[WEIR__RECORDS_WHY])
{
    struct weir__records_stats stats;
    bool is_new = true;
    struct weir__records *records = weir__base_alloc(1, sizeof(*records));
    if (!records) {
        snprintf(why, WEIR__RECORDS_WHY, "out of memory");
        return -WEIR_E_NO_MEMORY;
    }
    int error = prepare(records, options, why);
    if (!error)
        error =
            records->is_memory ? open_in_memory(records, why) : open_on_disk(records, &is_new, why);
    if (error) {
        weir__records_close(records);
        return error;
    }
    weir__records_read(records, &stats);
    *ret_report = (struct weir__records_report){
        .is_new = is_new,
        .is_read_only = records->is_read_only,
        .names = stats.names,
        .providers = stats.providers,
        .pins = stats.pins,
    };
    *ret_records = records;
    return 0;
}

/* --- life --- */

int weir__records_start(struct weir__records *records, struct weir_crew *crew)
{
    int error = weir_crew_start(crew, "records", weir__records_main, records);
    records->is_started = !error;
    return error;
}

void weir__records_stop(struct weir__records *records)
{
    weir_queue_close(&records->line);
}

static void refuse_left(void *arg, void *item)
{
    struct weir__records_write *write;
    (void)arg;
    memcpy(&write, item, sizeof(write));
    weir__records_finish(write, -WEIR_E_CLOSED);
}

void weir__records_close(struct weir__records *records)
{
    if (!records)
        return;
    /* All zero where it could not be made. */
    if (weir_queue_capacity(&records->line) > 0)
        weir_queue_drain(&records->line, refuse_left, NULL);
    weir__records_env_close(records);
    weir_queue_fini(&records->line);
    weir__sys_close(records->memory_fd);
    weir__sys_close(records->dir);
    weir_lock_fini(&records->memory_lock);
    weir_lock_fini(&records->lock);
    weir__base_free(records);
}

int weir__records_submit(struct weir__records *records, struct weir__records_write *write)
{
    return weir_queue_try_send(&records->line, &write);
}

struct weir_queue *weir__records_line(struct weir__records *records)
{
    return &records->line;
}
