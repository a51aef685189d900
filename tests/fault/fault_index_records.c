/* fault_index_records.c - records, keys and bindings while an allocation, a system call or the
 * start of a thread fails.
 *
 * Whatever fails: it is refused with a reason, or done. What was acknowledged is there when nothing
 * fails any more, nothing is left open, and no other file is left in the folder.
 */
#include "../unit/index/index_help.h"
#include "sweep.h"
#include "sys.h"

static char folder[HELP_PATH];
static struct weir__key key;
static bool is_memory;

static void check_why(int error, const char *why)
{
    if (error)
        CHECK(strlen(why) > 3 && !strchr(why, '\n'));
}

/* The sequences of three names that were acknowledged. */
static uint64_t acknowledged[3], tried;

static void put_some(struct help_records *help)
{
    for (unsigned n = 0; n < 3; n++) {
        struct weir__name name = help_name_of(n, &key);
        uint64_t sequence = ++tried;
        if (help_put_name(help, &name, sequence, &key) == 0)
            acknowledged[n] = sequence;
    }
}

static void look(struct help_records *help)
{
    for (unsigned n = 0; n < 3; n++) {
        struct weir__name name = help_name_of(n, &key);
        long long got = help_get(help, &name, HELP_NOW);
        CHECK(got < 0 || (uint64_t)got >= acknowledged[n]);
    }
}

static void life(void)
{
    struct help_records help;
    int error = help_try_open(&help, is_memory ? NULL : folder, UINT64_C(8) << 20);
    check_why(error, help.why);
    if (error)
        return;
    if (is_memory)
        memset(acknowledged, 0, sizeof(acknowledged));
    look(&help);
    if (weir_crew_new(&help.crew, "test", NULL) == 0 &&
        weir__records_start(help.records, help.crew) == 0)
        put_some(&help);
    look(&help);
    struct weir__records_stats stats = help_stats(&help);
    CHECK(!stats.is_full);
    if (!help.crew) {
        weir__records_close(help.records);
        return;
    }
    help_close(&help);
}

/* With nothing to fail: all that was acknowledged is there. */
static void check_all(void)
{
    struct help_records help = help_open(folder, UINT64_C(8) << 20);
    for (unsigned n = 0; n < 3; n++) {
        struct weir__name name = help_name_of(n, &key);
        long long got = help_get(&help, &name, HELP_NOW);
        CHECK(acknowledged[n] == 0 || (uint64_t)got >= acknowledged[n]);
    }
    help_close(&help);
}

static void once_more(void)
{
    life();
}

static void from_nothing(void)
{
    char path[HELP_PATH + 32];
    snprintf(path, sizeof(path), "%s/records/data.mdb", folder);
    unlink(path);
    memset(acknowledged, 0, sizeof(acknowledged));
    life();
}

static void sweep_all(void (*scenario)(void), bool with_memory)
{
    static const enum weir_fault kinds[] = {WEIR_FAULT_ALLOC, WEIR_FAULT_IO, WEIR_FAULT_THREAD};
    static const int errors[] = {EIO, ENOSPC, EACCES, ENOMEM, EINTR};
    key = help_key(1);
    help_make_folder(folder);
    is_memory = with_memory;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < (kinds[i] == WEIR_FAULT_IO ? 5u : 1u); j++) {
            memset(acknowledged, 0, sizeof(acknowledged));
            if (!with_memory && scenario == once_more) {
                from_nothing();
                tried += 10;
            }
            weir__sys_fault_errno(errors[j]);
            sweep_cleanly(kinds[i], scenario, 1);
            weir__sys_fault_errno(EIO);
            if (!with_memory)
                check_all();
        }
    help_remove(folder);
}

TEST(records_are_opened_and_written)
{
    sweep_all(once_more, false);
}

TEST(records_begin)
{
    sweep_all(from_nothing, false);
}

TEST(records_in_memory)
{
    sweep_all(once_more, true);
}

/* --- keys --- */

static void make_key(void)
{
    struct weir__key made, read;
    char file[HELP_PATH + 8], why[WEIR__SIGN_KEY_WHY] = "";
    snprintf(file, sizeof(file), "%s/key", folder);
    int error = weir__key_make(&made, file, why);
    check_why(error, why);
    bool is_there = access(file, F_OK) == 0;
    CHECK_EQ(is_there, error == 0);
    if (!error) {
        error = weir__key_read(&read, file, why);
        check_why(error, why);
        CHECK(error || memcmp(&made, &read, sizeof(made)) == 0);
    }
    unlink(file);
    /* Nothing else is left. */
    CHECK_EQ(rmdir(folder), 0);
    CHECK_EQ(mkdir(folder, 0700), 0);
    (void)!weir__key_new(&made);
}

TEST(keys_are_made_whole_or_not_at_all)
{
    CHECK(!weir__key_load_library());
    help_make_folder(folder);
    sweep_cleanly(WEIR_FAULT_IO, make_key, 8);
    help_remove(folder);
}

/* --- bindings --- */

static void bind_one(void)
{
    static const char *const texts[] = {"a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct weir__bindings *bindings = NULL;
    const char *why = "";
    int error = weir__bindings_new(&bindings, texts, 1, &why);
    CHECK(error == 0 || error == -WEIR_E_NO_MEMORY);
    check_why(error, why);
    weir__bindings_free(bindings);
}

TEST(bindings_are_made_or_not)
{
    sweep_cleanly(WEIR_FAULT_ALLOC, bind_one, 1);
}

TAP_MAIN()
