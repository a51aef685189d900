/* fault_scan_git_state.c - what is remembered of a repository, when the n-th allocation or system
 * call fails.
 *
 * Whatever fails: there is a reason; what was there before is still there, whole, or what was to be
 * saved is; nothing leaks, no descriptor stays open.
 */
#include "git/state_help.h"
#include "sweep.h"
#include "sys.h"

#define OLD_COUNT 300u
#define NEW_COUNT 700u
#define SUSPECTS  20u

static struct weir__git_states states;
static struct weir__git_state_about about;
static unsigned saved, failed;

static int add_all(struct weir__git_state_ids *ids)
{
    int error = 0;
    weir__git_state_ids_init(ids, 20, 0);
    for (uint64_t i = OLD_COUNT; error == 0 && i < NEW_COUNT; i++) {
        struct weir__git_id id = help_id(i, 20);
        error = weir__git_state_ids_add(ids, &id, 1);
    }
    return error;
}

/* All ids of it. */
static int find_all(struct weir__git_there *there, const struct weir__git_state *old)
{
    int error = weir__git_there_init(there, old);
    for (uint64_t i = 0; error == 0 && i < OLD_COUNT; i++) {
        struct weir__git_id id = help_id(i, 20);
        weir__git_there_add(there, &id);
    }
    return error;
}

/* Loads what is there and saves more over it. 0, or what failed. */
static int save_over(void)
{
    struct weir__git_there there;
    struct weir__git_suspect list[SUSPECTS];
    struct weir__git_state_ids ids;
    struct weir__git_state *old = NULL;
    why[0] = '\0';
    int error = weir__git_state_load(&old, &states, &about, why);
    CHECK(error == 0 ? old != NULL : !old && why[0]);
    if (error < 0)
        return error;
    for (size_t i = 0; i < SUSPECTS; i++)
        list[i] = help_suspect(i, 20);
    int added = add_all(&ids);
    int found = find_all(&there, old); /* without memory, all are kept */
    struct weir__git_state_new made = {.old = old,
                                       .there = found == 0 ? &there : NULL,
                                       .ids = &ids,
                                       .suspects = list,
                                       .suspects_count = SUSPECTS};
    error = weir__git_state_save(&states, &about, &made, why);
    CHECK(added == 0 || error == added);
    CHECK(error == 0 || why[0]);
    weir__git_state_ids_fini(&ids);
    weir__git_there_fini(&there);
    weir__git_state_free(old);
    return error;
}

/* One or the other, and nothing else: only one call fails, so whatever was begun can be removed. */
static void check_what_is_there(bool must_be_new)
{
    DIR *dir = opendir("weir/scan");
    unsigned entries = 0;
    CHECK(dir);
    while (readdir(dir))
        entries++;
    closedir(dir);
    CHECK_EQ(entries, 3);
    struct weir__git_state *state = help_load(&states, &about);
    bool is_new = weir__git_state_count(state) != OLD_COUNT;
    help_check(state, 20, is_new ? NEW_COUNT : OLD_COUNT, is_new ? SUSPECTS : 0);
    CHECK(is_new || !must_be_new);
    weir__git_state_free(state);
}

static void sweep_saving(enum weir_fault kind, long least)
{
    bool was_hit = true;
    long n = 0;
    int before = count_descriptors();
    saved = failed = 0;
    while (was_hit) {
        CHECK_EQ(help_save(&states, &about, NULL, OLD_COUNT, 0), 0);
        weir_fault_arm(kind, (uint64_t)++n);
        int error = save_over();
        was_hit = weir_fault_was_hit(kind);
        weir_fault_arm(kind, 0);
        check_what_is_there(error == 0);
        saved += error == 0;
        failed += error < 0;
        CHECK(was_hit || error == 0);
    }
    if (n <= least)
        tap_fail(__FILE__, __LINE__, "only %ld calls could fail", n - 1);
    CHECK_EQ(count_descriptors(), before);
}

static void set_up(void)
{
    if (!help_folder[0]) {
        states = help_states(0);
        about = help_about("r", 20);
    }
}

TEST(nothing_fails)
{
    set_up();
    CHECK_EQ(help_save(&states, &about, NULL, OLD_COUNT, 0), 0);
    CHECK_EQ(save_over(), 0);
    check_what_is_there(true);
}

TEST(allocations)
{
    set_up();
    sweep_saving(WEIR_FAULT_ALLOC, 5);
    CHECK(failed >= 5);
}

TEST(system_calls)
{
    static const int errors[] = {EIO, EMFILE, EACCES, ENOSPC, EOPNOTSUPP};
    set_up();
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        weir__sys_fault_errno(errors[i]);
        sweep_saving(WEIR_FAULT_IO, 12);
        CHECK(failed >= 8);
    }
    /* Made again: nothing fails. */
    weir__sys_fault_errno(EINTR);
    sweep_saving(WEIR_FAULT_IO, 12);
    CHECK_EQ(failed, 0);
    weir__sys_fault_errno(EIO);
}

/* The folder, when it is counted and the oldest must go. */
static void scenario_room(void)
{
    static unsigned number;
    struct weir__git_states small;
    char name[20], base[300];
    CHECK(getcwd(base, sizeof(base)));
    if (weir__git_states_open(&small, base, NULL, 3000, why) < 0)
        return;
    for (unsigned i = 0; i < 3; i++) {
        struct weir__git_state_new made = {.suspects_count = 0};
        snprintf(name, sizeof(name), "%u", number++);
        struct weir__git_state_about other = help_about(name, 20);
        why[0] = '\0';
        CHECK(weir__git_state_save(&small, &other, &made, why) == 0 || why[0]);
    }
    weir__git_states_close(&small);
}

/* The folder, from the first one on that must be made. */
static void scenario_open(void)
{
    static unsigned number;
    struct weir__git_states other;
    char base[300];
    snprintf(base, sizeof(base), "%s/open-%u", help_folder, number++);
    CHECK_EQ(mkdir(base, 0700), 0);
    why[0] = '\0';
    int error = weir__git_states_open(&other, NULL, base, 0, why);
    CHECK(error == 0 || why[0]);
    if (error == 0)
        weir__git_states_close(&other);
    /* Only one call fails. */
    error = weir__git_states_open(&other, NULL, base, 0, why);
    if (error < 0)
        error = weir__git_states_open(&other, NULL, base, 0, why);
    CHECK_EQ(error, 0);
    weir__git_states_close(&other);
}

TEST(the_folder)
{
    set_up();
    sweep_cleanly(WEIR_FAULT_IO, scenario_open, 10);
    for (unsigned i = 0; i < 40; i++)
        scenario_room();
    sweep_cleanly(WEIR_FAULT_IO, scenario_room, 30);
    sweep_cleanly(WEIR_FAULT_ALLOC, scenario_room, 5);
}

TAP_MAIN()
