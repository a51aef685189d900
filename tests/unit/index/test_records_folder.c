/* The folder of the records: taken, read-only, full, cut off, and of something else. */
#include <lmdb.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "index_help.h"

static struct weir__key key;
static char folder[HELP_PATH], file[HELP_PATH + 32];
static struct help_records help;

static void begin(void)
{
    key = help_key(1);
    help_make_folder(folder);
    snprintf(file, sizeof(file), "%s/records/data.mdb", folder);
}

/* With some names in it, and closed. */
static void fill(unsigned count)
{
    help = help_open(folder, 0);
    for (unsigned n = 0; n < count; n++) {
        struct weir__name name = help_name_of(n, &key);
        CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    }
    help_close(&help);
}

static void refuse(int wanted, const char *part)
{
    int error = help_try_open(&help, folder, 0);
    if (error != wanted)
        tap_fail(__FILE__, __LINE__, "%s, not %s: %s", weir_error_name(error),
                 weir_error_name(wanted), help.why);
    CHECK_HAS(help.why, part);
    CHECK_HAS(help.why, "records'");
    CHECK(!strchr(help.why, '\n') && help.why[strlen(help.why) - 1] != '.');
}

/* --- who has it --- */

TEST(one_process_has_it)
{
    begin();
    help = help_open(folder, 0);
    struct help_records second;
    CHECK_EQ(help_try_open(&second, folder, 0), -WEIR_E_EXISTS);
    CHECK_HAS(second.why, "another process has it open");
    pid_t child = fork();
    if (child == 0)
        _exit(help_try_open(&second, folder, 0) == -WEIR_E_EXISTS ? 0 : 1);
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    struct weir__name name = help_name_of(1, &key);
    CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    help_close(&help);
    CHECK_EQ(help_try_open(&second, folder, 0), 0);
    help_close(&second);
    help_remove(folder);
}

TEST(folders_are_made)
{
    begin();
    char deep[HELP_PATH + 32];
    snprintf(deep, sizeof(deep), "%s/a/b", folder);
    CHECK_EQ(help_try_open(&help, deep, 0), 0);
    CHECK(help.report.is_new);
    help_close(&help);
    struct stat st;
    snprintf(deep, sizeof(deep), "%s/a/b/records", folder);
    CHECK_EQ(stat(deep, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0700);
    snprintf(deep, sizeof(deep), "%s/a/b/records/data.mdb", folder);
    CHECK_EQ(stat(deep, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    help_remove(folder);
}

static unsigned count_files(void)
{
    char command[HELP_PATH + 64];
    snprintf(command, sizeof(command), "ls -A %s/records", folder);
    FILE *list = popen(command, "r");
    unsigned count = 0;
    for (int c; (c = fgetc(list)) != EOF;)
        count += c == '\n';
    pclose(list);
    return count;
}

TEST(nothing_else_is_left_in_it)
{
    begin();
    fill(3);
    CHECK_EQ(count_files(), 1);
    /* What somebody has left who was killed is cleared away. */
    char left[HELP_PATH + 32];
    snprintf(left, sizeof(left), "%s/records/lock.mdb", folder);
    CHECK_EQ(symlink("/proc/self/fd/1", left), 0);
    help = help_open(folder, 0);
    CHECK_EQ(count_files(), 1);
    CHECK_EQ(help.report.names, 3);
    help_close(&help);
    CHECK_EQ(unlink(file), 0);
    snprintf(left, sizeof(left), "%s/records/data.new", folder);
    CHECK_EQ(close(open(left, O_WRONLY | O_CREAT, 0600)), 0);
    help = help_open(folder, 0);
    CHECK(help.report.is_new);
    CHECK_EQ(count_files(), 1);
    help_close(&help);
    help_remove(folder);
}

/* --- what is no database of ours --- */

static void write_file(const void *bytes, size_t length)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, length), length);
    close(fd);
}

TEST(files_of_something_else)
{
    static char text[20000];
    begin();
    fill(1);
    memset(text, 'x', sizeof(text));
    write_file("", 0);
    refuse(-WEIR_E_CORRUPT, "is empty");
    write_file(text, 10);
    refuse(-WEIR_E_CORRUPT, "restore it from a copy");
    write_file(text, sizeof(text));
    refuse(-WEIR_E_CORRUPT, "restore it from a copy");
    memset(text, 0, sizeof(text));
    write_file(text, sizeof(text));
    refuse(-WEIR_E_CORRUPT, "restore it from a copy");
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(mkdir(file, 0700), 0);
    refuse(-WEIR_E_CORRUPT, "is not a file");
    help_remove(folder);
    /* The folder is a file. */
    int fd = open(folder, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    close(fd);
    refuse(-WEIR_E_NOT_FOUND, "cannot open the folder");
    unlink(folder);
}

static void make_database(const char *table, const void *value, size_t length)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    static const char *const tables[] = {"names", "seen", "providers", "expiry", "pins", "about"};
    unlink(file);
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 8), 0);
    CHECK_EQ(mdb_env_open(env, file, MDB_NOSUBDIR | MDB_NOLOCK, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    for (size_t i = 0; !table && i < 6; i++)
        CHECK_EQ(mdb_dbi_open(txn, tables[i], MDB_CREATE, &dbi), 0);
    if (table)
        CHECK_EQ(mdb_dbi_open(txn, table, MDB_CREATE, &dbi), 0);
    MDB_val key_val = {7, (void *)(uintptr_t) "records"}, val = {length, (void *)(uintptr_t)value};
    if (value)
        CHECK_EQ(mdb_put(txn, dbi, &key_val, &val, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

TEST(databases_of_something_else)
{
    begin();
    fill(1);
    make_database("other", "x", 1);
    refuse(-WEIR_E_CORRUPT, "something else");
    make_database(NULL, NULL, 0);
    refuse(-WEIR_E_CORRUPT, "something else");
    make_database(NULL, "\1", 1);
    refuse(-WEIR_E_CORRUPT, "something else");
    make_database(NULL, "\0\0\0\2", 4);
    refuse(-WEIR_E_UNSUPPORTED, "another version of weir");
    make_database(NULL, "\0\0\0\1", 4);
    CHECK_EQ(help_try_open(&help, folder, 0), 0);
    help_close(&help);
    help_remove(folder);
}

/* Cut at each page and beside it: refused with a reason, each time, and whole again when it is. */
TEST(a_file_that_was_cut)
{
    begin();
    fill(300);
    int fd = open(file, O_RDONLY);
    struct stat st;
    CHECK_EQ(fstat(fd, &st), 0);
    size_t size = (size_t)st.st_size;
    unsigned char *bytes = malloc(size);
    CHECK_EQ(read(fd, bytes, size), size);
    close(fd);
    CHECK(size > 20 * 4096);
    for (size_t at = 1; at < size; at += at % 4096 == 1 ? 2000 : at % 4096 == 2001 ? 2094 : 2) {
        write_file(bytes, at);
        refuse(-WEIR_E_CORRUPT, "restore it from a copy");
    }
    write_file(bytes, size);
    help = help_open(folder, 0);
    CHECK_EQ(help.report.names, 300);
    help_close(&help);
    free(bytes);
    help_remove(folder);
}

/* --- a disk of its own --- */

static bool mount_disk(const char *size)
{
    begin();
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", folder, "tmpfs", 0, size) == 0)
        return true;
    printf("# SKIP needs to mount\n");
    help_remove(folder);
    return false;
}

static void unmount_disk(void)
{
    CHECK_EQ(umount(folder), 0);
    help_remove(folder);
}

TEST(a_folder_that_can_only_be_read)
{
    if (!mount_disk("size=16m"))
        return;
    CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m"), 0);
    refuse(-WEIR_E_NOT_FOUND, "");
    CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT, "size=16m"), 0);
    fill(5);
    CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m"), 0);
    help = help_open(folder, 0);
    CHECK(help.report.is_read_only && !help.report.is_new);
    CHECK_EQ(help.report.names, 5);
    struct weir__name name = help_name_of(1, &key);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), -WEIR_E_READ_ONLY);
    CHECK(help_stats(&help).is_read_only);
    /* Others may read it at the same time. */
    struct help_records second = help_open(folder, 0);
    CHECK_EQ(help_get(&second, &name, HELP_NOW), 1);
    help_close(&second);
    help_close(&help);
    CHECK_EQ(rmdir(folder), -1);
    /* Without any records there is nothing to read. */
    CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT, "size=16m"), 0);
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m"), 0);
    refuse(-WEIR_E_NOT_FOUND, "holds no records and cannot be written");
    unmount_disk();
}

static void fill_disk(const char *name, bool is_filled)
{
    static char zeros[65536];
    char path[HELP_PATH + 16];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!is_filled) {
        CHECK_EQ(unlink(path), 0);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (size_t size = sizeof(zeros); size > 0;)
        if (write(fd, zeros, size) <= 0)
            size /= 2;
    close(fd);
}

TEST(a_disk_without_room)
{
    if (!mount_disk("size=2m"))
        return;
    fill_disk("rest", true);
    int error = help_try_open(&help, folder, 0);
    CHECK_EQ(error, -WEIR_E_NO_SPACE);
    fill_disk("rest", false);
    fill(10);
    fill_disk("rest", true);
    help = help_open(folder, 0);
    unsigned refused = 0;
    for (unsigned n = 0; n < 400; n++) {
        struct weir__name name = help_name_of(n, &key);
        error = help_put_name(&help, &name, 2, &key);
        CHECK(error == 0 || error == -WEIR_E_NO_SPACE);
        refused += error != 0;
        CHECK_EQ(help_get(&help, &name, HELP_NOW), !error ? 2 : n < 10 ? 1 : -WEIR_E_NOT_FOUND);
    }
    CHECK(refused > 300);
    CHECK(help_stats(&help).is_full);
    fill_disk("rest", false);
    struct weir__name name = help_name_of(399, &key);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), 0);
    CHECK(!help_stats(&help).is_full);
    help_close(&help);
    unmount_disk();
}

TEST(a_disk_without_room_for_a_name)
{
    if (!mount_disk("size=2m,nr_inodes=5"))
        return;
    fill(10);
    /* The folder, records, data.mdb and these are all that there may be. */
    char path[HELP_PATH + 16];
    for (unsigned n = 0; n < 3; n++) {
        snprintf(path, sizeof(path), "%s/%u", folder, n);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    help = help_open(folder, 0);
    struct weir__name name = help_name_of(1, &key);
    CHECK(help_stats(&help).is_full);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), -WEIR_E_NO_SPACE);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
    /* When there is room it goes on by itself. */
    snprintf(path, sizeof(path), "%s/0", folder);
    CHECK_EQ(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/1", folder);
    unlink(path);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 2);
    help_close(&help);
    help = help_open(folder, 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 2);
    help_close(&help);
    CHECK_EQ(umount2(folder, MNT_DETACH), 0);
    help_remove(folder);
}

/* --- memory --- */

TEST(nothing_of_what_is_in_memory_is_on_a_disk)
{
    char target[256];
    unsigned of_memory = 0;
    key = help_key(1);
    help = help_open(NULL, 0);
    struct weir__name name = help_name_of(1, &key);
    CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
    for (int fd = 3; fd < 64; fd++) {
        char link[32];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (strstr(target, "/memfd:weir-records"))
            of_memory++;
        else
            CHECK(!strstr(target, ".mdb"));
    }
    CHECK(of_memory > 0);
    help_close(&help);
    help = help_open(NULL, 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_NOT_FOUND);
    help_close(&help);
}

TAP_MAIN()
