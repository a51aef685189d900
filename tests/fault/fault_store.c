/* fault_store.c - a store in which the n-th system call, allocation or thread fails.
 *
 * Whatever fails: what was acknowledged is there, what was deleted is not, in the store that goes
 * on, in the folder as a sudden end would leave it, and after it was closed; with the index that
 * it has and without. And the store can be written again.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "../unit/store/store_help.h"
#include "sweep.h"
#include "sys.h"

#define CHUNKS 24
#define FRESH  1000

enum { IN = 1, OUT = 2 };

static char folder[HELP_PATH];
static int may[CHUNKS];
static long number;
static enum weir_fault kind;
static unsigned refused, acknowledged;

static void put(struct weir__store *store, unsigned n)
{
    may[n] |= IN;
    int result = help_put(store, n);
    acknowledged += result >= 0;
    refused += result < 0;
    if (result >= 0)
        may[n] = IN;
}

static void delete (struct weir__store *store, unsigned n)
{
    may[n] |= OUT;
    int result = help_delete(store, n);
    acknowledged += result == 0;
    refused += result < 0 && result != -WEIR_E_NOT_FOUND;
    if (result == 0 || result == -WEIR_E_NOT_FOUND)
        may[n] = OUT;
}

static void seal(struct weir__store *store)
{
    struct weir__store_stats stats;
    struct weir_deadline deadline = help_soon();
    if (weir__store_seal(store, &deadline))
        return;
    do
        weir__store_read(store, &stats);
    while (stats.tail_records > 0 && !stats.index_is_broken && !stats.index_waits &&
           weir_deadline_check(&deadline) == 0);
}

static void look_at_all(struct weir__store *store, const char *when)
{
    for (unsigned n = 0; n < CHUNKS; n++) {
        int result = help_look(store, n);
        if (!(result == 0 && may[n] & IN) && !(result == -WEIR_E_NOT_FOUND && may[n] & OUT))
            tap_fail(__FILE__, __LINE__, "fault %ld, %s: chunk %u is %s, may be %s%s", number, when,
                     n,
                     result < 0 ? weir_error_name(result)
                     : result   ? "wrong"
                                : "there",
                     may[n] & IN ? "in " : "", may[n] & OUT ? "out" : "");
    }
}

static void copy_file(const char *from, const char *to)
{
    size_t length;
    unsigned char *bytes = help_read(from, &length);
    CHECK(bytes);
    help_write(to, bytes, length);
    free(bytes);
}

/* The folder as it would be found after a sudden end, without its index. */
static void copy_folder(const char *to)
{
    static const char *const names[] = {"store", "mark"};
    char from_path[HELP_PATH + 300], to_path[HELP_PATH + 300];
    snprintf(to_path, sizeof(to_path), "%s/segments", to);
    CHECK(mkdir(to, 0700) == 0 && mkdir(to_path, 0700) == 0);
    for (size_t i = 0; i < 2; i++) {
        snprintf(from_path, sizeof(from_path), "%s/%s", folder, names[i]);
        snprintf(to_path, sizeof(to_path), "%s/%s", to, names[i]);
        if (access(from_path, F_OK) == 0)
            copy_file(from_path, to_path);
    }
    snprintf(from_path, sizeof(from_path), "%s/segments", folder);
    DIR *dir = opendir(from_path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(from_path, sizeof(from_path), "%s/segments/%s", folder, entry->d_name);
        snprintf(to_path, sizeof(to_path), "%s/segments/%s", to, entry->d_name);
        copy_file(from_path, to_path);
    }
    if (dir)
        closedir(dir);
}

static void live(struct weir__store *store)
{
    for (unsigned n = 0; n < 6; n++)
        put(store, n);
    delete (store, 2);
    seal(store);
    /* A segment that goes first, with a deletion that hides what lies in another. */
    put(store, 18);
    delete (store, 18);
    delete (store, 5);
    seal(store);
    (void)help_compact(store);
    for (unsigned n = 6; n < 10; n++)
        put(store, n);
    for (unsigned n = 0; n < 4; n++)
        delete (store, n);
    put(store, 1);
    (void)!help_touch(store, 4);
    seal(store);
    (void)help_compact(store);
    put(store, 10);
    for (unsigned n = 6; n < 9; n++)
        delete (store, n);
    delete (store, 1);
    put(store, 1);
    seal(store);
    (void)help_compact(store);
    put(store, 11);
    put(store, 2);
    delete (store, 11);
}

static void end_suddenly(const char *when)
{
    char crashed[HELP_PATH + 16];
    snprintf(crashed, sizeof(crashed), "%s-crashed", folder);
    copy_folder(crashed);
    struct weir__store *store = help_open(crashed, NULL);
    look_at_all(store, when);
    CHECK(help_put(store, FRESH) >= 0);
    weir__store_close(store);
    help_remove(crashed);
}

/* The sweep asks at the end whether anything failed. */
static void remember_hit(void)
{
    weir_fault_arm(kind, 1);
    CHECK(weir_fault_hit(kind));
}

static void scenario(void)
{
    struct weir__store *store = NULL;
    number++;
    help_make_folder(folder);
    for (unsigned n = 0; n < CHUNKS; n++)
        may[n] = OUT;
    int error = help_try_open(&store, folder, NULL);
    bool was_hit = weir_fault_was_hit(kind);
    CHECK(!error || was_hit);
    if (!error) {
        live(store);
        was_hit = weir_fault_was_hit(kind);
        if (was_hit) {
            weir_fault_arm(kind, 0);
            look_at_all(store, "as it goes on");
            end_suddenly("after a sudden end");
        }
        weir__store_close(store);
    }
    was_hit = was_hit || weir_fault_was_hit(kind);
    weir_fault_arm(kind, 0);
    store = help_open(folder, NULL);
    look_at_all(store, "opened again");
    CHECK_EQ(help_put(store, FRESH), 0);
    weir__store_close(store);
    end_suddenly("without the index");
    help_remove(folder);
    if (was_hit)
        remember_hit();
}

static void check(enum weir_fault what, int errno_value, long least)
{
    kind = what;
    number = refused = acknowledged = 0;
    weir__sys_fault_errno(errno_value);
    sweep_cleanly(what, scenario, least);
    printf("# %ld faults, %u answered, %u refused\n", number - 1, acknowledged, refused);
}

/* Not one call but many fail, for a while: how many is up to the scheduler. */
static atomic_bool is_dead, is_begun;

static void *kill_disk(void *arg)
{
    (void)arg;
    while (is_dead) {
        weir_fault_arm(WEIR_FAULT_IO, 1);
        is_begun = true;
    }
    weir_fault_arm(WEIR_FAULT_IO, 0);
    return NULL;
}

TEST(the_disk_is_dead_for_a_while)
{
    pthread_t killer;
    refused = acknowledged = 0;
    number = 0;
    weir__sys_fault_errno(EIO);
    for (int round = 0; round < 20 || (refused <= 100 && round < 400); round++) {
        help_make_folder(folder);
        for (unsigned n = 0; n < CHUNKS; n++)
            may[n] = OUT;
        struct weir__store *store = help_open(folder, NULL);
        for (unsigned n = 0; n < 6; n++)
            put(store, n);
        is_dead = true;
        is_begun = false;
        CHECK_EQ(pthread_create(&killer, NULL, kill_disk, NULL), 0);
        while (!is_begun)
            sched_yield();
        for (int i = 0; i < 3; i++)
            live(store);
        is_dead = false;
        pthread_join(killer, NULL);
        look_at_all(store, "as it goes on");
        end_suddenly("after a sudden end");
        live(store);
        look_at_all(store, "as it goes on further");
        CHECK_EQ(help_put(store, FRESH), 0);
        weir__store_close(store);
        end_suddenly("without the index");
        store = help_open(folder, NULL);
        look_at_all(store, "opened again");
        weir__store_close(store);
        help_remove(folder);
    }
    printf("# %u answered, %u refused\n", acknowledged, refused);
    CHECK(refused > 100);
}

TEST(system_calls_fail)
{
    check(WEIR_FAULT_IO, EIO, 100);
}

TEST(the_disk_is_full)
{
    check(WEIR_FAULT_IO, ENOSPC, 100);
}

TEST(there_are_no_descriptors)
{
    check(WEIR_FAULT_IO, EMFILE, 100);
}

TEST(memory_is_short)
{
    check(WEIR_FAULT_ALLOC, EIO, 50);
}

TEST(threads_cannot_be_started)
{
    check(WEIR_FAULT_THREAD, EIO, 2);
}

TAP_MAIN()
