/* fault_scan_git.c - reading git's objects when the n-th allocation or system call fails.
 *
 * Whatever fails: it is an error that is told, or it did not matter; what is handed out is right;
 * neither memory nor descriptors nor mappings are lost.
 */
#include "git/git_help.h"
#include "sweep.h"
#include "sys.h"

static size_t mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    size_t count = 0;
    CHECK(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, "/pack-") != NULL;
    fclose(file);
    return count;
}

/* Loose objects, two packs with deltas and an index over them, one pack outside of it, an
 * alternate. */
static void make_repository(void)
{
    static bool is_made;
    if (is_made)
        return;
    is_made = true;
    help_start();
    CHECK(help_run("git init -q lender && cd lender && seq 300 >f && git add f && "
                   "git commit -qm 1 && git repack -adq && cd .. && "
                   "git clone -q --shared lender r && cd r && git config gc.auto 0 && "
                   "for i in 2 3 4; do seq $i 300 >f; git commit -qam c$i; git repack -dq; "
                   "test $i != 3 || git multi-pack-index write; done; echo loose >l; git add l"));
    ask_git("r");
}

/* What was got is right, whether or not it was all. */
static void check_what_came(void)
{
    settle(&from_us);
    for (size_t i = 0; i < from_us.count; i++) {
        const struct known *right = find_object(&from_git, &from_us.rows[i].id);
        CHECK(right && memcmp(right->digest, from_us.rows[i].digest, WEIR__HASH_SIZE) == 0);
    }
}

static void count_flaw(void *arg, const char *text)
{
    CHECK(text[0]);
    (*(size_t *)arg)++;
}

static void walk_all(void)
{
    struct weir__git_store *store = NULL;
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    size_t refused = 0;
    begin_walks();
    weir__git_walk_options_init(&help_options);
    int result = weir__git_store_open(&store, "r", NULL, problem);
    if (result < 0) {
        CHECK(problem[0] && !store);
        return;
    }
    refused += weir__git_loose_each(store, &wish, &help_visitor, 1 << 20, NULL, &totals, NULL) < 0;
    for (uint32_t i = 0; i < weir__git_store_packs(store); i++) {
        struct weir__git_pack pack;
        result = weir__git_store_pack_open(store, i, &pack);
        if (result == 0) {
            result = walk_pack(&pack);
            weir__git_pack_close(&pack);
        } else {
            CHECK(weir__git_store_problem(store)[0]);
        }
        refused += result < 0;
    }
    struct weir__git_store_facts facts;
    size_t flaws = 0;
    weir__git_store_facts(store, &facts);
    weir__git_store_each_flaw(store, count_flaw, &flaws);
    check_what_came();
    /* Nothing is missing in silence. */
    CHECK(from_us.count == from_git.count || refused > 0 || told_count > 0 ||
          facts.alternates_unusable > 0 || flaws > 0);
    weir__git_store_close(store);
}

static void get_all(void)
{
    struct weir__git_store *store = NULL;
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    struct weir__buffer bytes;
    if (weir__git_store_open(&store, "r", NULL, problem) < 0) {
        CHECK(problem[0]);
        return;
    }
    forget(&from_us);
    weir__buffer_init(&bytes, 1 << 20);
    for (size_t i = 0; i < from_git.count; i++) {
        const struct weir__git_id *id = &from_git.rows[i].id;
        enum weir__git_type type;
        if (weir__git_store_get(store, id, &type, &bytes) == 0)
            add_object(&from_us, id, type, weir__buffer_text(&bytes), weir__buffer_length(&bytes));
        else
            CHECK(weir__git_store_problem(store)[0]);
    }
    check_what_came();
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}

static void swept(enum weir_fault kind, void (*scenario)(void), long least)
{
    make_repository();
    size_t before = mappings();
    sweep_cleanly(kind, scenario, least);
    CHECK_EQ(mappings(), before);
}

TEST(walk_without_memory)
{
    swept(WEIR_FAULT_ALLOC, walk_all, 20);
    CHECK_EQ(from_us.count, from_git.count); /* the last run had no fault */
}

TEST(walk_with_failing_calls)
{
    swept(WEIR_FAULT_IO, walk_all, 30);
    CHECK_EQ(from_us.count, from_git.count);
}

TEST(get_without_memory)
{
    swept(WEIR_FAULT_ALLOC, get_all, 20);
    CHECK_EQ(from_us.count, from_git.count);
}

TEST(get_with_failing_calls)
{
    swept(WEIR_FAULT_IO, get_all, 30);
    CHECK_EQ(from_us.count, from_git.count);
}

/* Gone or out of descriptors, in place of an error of the disk. */
TEST(get_with_calls_that_find_nothing)
{
    weir__sys_fault_errno(ENOENT);
    swept(WEIR_FAULT_IO, get_all, 30);
    weir__sys_fault_errno(EMFILE);
    swept(WEIR_FAULT_IO, walk_all, 30);
    swept(WEIR_FAULT_IO, get_all, 30);
    weir__sys_fault_errno(EIO);
}

int main(int argc, char **argv)
{
    int status = tap_main(argc, argv);
    help_done();
    return status;
}
