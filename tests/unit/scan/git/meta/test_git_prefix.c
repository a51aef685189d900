/* test_git_prefix.c - ids cut short, and where shallow clones end: what the store knows besides its
 * objects. */
#include "git_wanted_help.h"

static void same_prefixes(const char *dir)
{
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE], hex[WEIR__GIT_HEX_SIZE];
    struct weir__git_id ids[64], few[1];
    CHECK_EQ(weir__git_store_open(&store, dir, NULL, problem), 0);
    size_t id_size = weir__git_store_id_size(store);
    struct lines all = lines_of(
        heard("git -C %s cat-file --batch-all-objects --batch-check='%%(objectname)'", dir));
    lines_sort(&all);
    for (size_t i = 0; i < all.count; i++)
        for (size_t digits = 1; digits <= 8; digits++) {
            size_t expected = 0;
            for (size_t j = 0; j < all.count; j++)
                expected += strncmp(all.list[j], all.list[i], digits) == 0;
            size_t found = weir__git_store_begin_with(store, all.list[i], digits, ids, 64);
            CHECK_EQ(found, expected < 64 ? expected : 64);
            for (size_t j = 0; j < found; j++) {
                weir__git_id_hex(&ids[j], id_size, hex);
                CHECK(strncmp(hex, all.list[i], digits) == 0);
                CHECK(bsearch(&(const char *){hex}, all.list, all.count, sizeof(char *),
                              lines_order));
                for (size_t k = 0; k < j; k++)
                    CHECK(!weir__git_id_is_equal(&ids[j], &ids[k]));
            }
            CHECK_EQ(weir__git_store_begin_with(store, all.list[i], digits, few, 1), 1);
        }
    CHECK_EQ(weir__git_store_begin_with(store, all.list[0], 2 * id_size, ids, 64), 1);
    CHECK_EQ(weir__git_store_begin_with(store, all.list[0], 2 * id_size + 1, ids, 64), 0);
    CHECK_EQ(weir__git_store_begin_with(store, "zz", 2, ids, 64), 0);
    lines_free(&all);
    weir__git_store_close(store);
}

TEST(ids_cut_short)
{
    meta_begin();
    make_all("short", "sha1", 4, false);
    same_prefixes("short"); /* one pack, and loose ones */
    sh("cd short; git repack -q; git repack -q -a -k; git notes add -f -m again c7 2>/dev/null");
    same_prefixes("short");
    sh("cd short; git repack -q; git notes add -f -m more c8; git repack -q; "
       "git multi-pack-index write; git notes add -f -m loose c9; git repack -q; "
       "git notes add -f -m last c9 2>/dev/null");
    same_prefixes("short");
    sh("git clone -q -s --bare short borrowed; cd borrowed; git notes add -m here c3");
    same_prefixes("borrowed");
    make_all("short256", "sha256", 4, false);
    same_prefixes("short256");
}

/* Packs that are gone since they were listed. */
TEST(ids_cut_short_while_packs_move)
{
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__git_id ids[64];
    meta_begin();
    make_history("moving", "sha1", 4, 30, false, false);
    CHECK_EQ(weir__git_store_open(&store, "moving", NULL, problem), 0);
    sh("cd moving; git commit-graph write --reachable; git notes add -m x c3; git repack -q -a -d");
    char *id = heard("git -C moving rev-parse c3 refs/notes/commits");
    CHECK_EQ(weir__git_store_begin_with(store, id, 12, ids, 64), 1);
    CHECK_EQ(weir__git_store_begin_with(store, id + 41, 12, ids, 64), 1);
    free(id);
    weir__git_store_close(store);
}

TEST(shallow_clones)
{
    struct asked a;
    static const struct form forms[] = {{.git = "--all"}, {.refs = {"HEAD"}, .git = "HEAD"}};
    meta_begin();
    make_history("deep", "sha1", 6, 60, false, false);
    sh("git -C deep symbolic-ref HEAD refs/heads/c60; git -C deep commit-graph write --reachable\n"
       "git clone -q --bare --single-branch --depth 3 file://$PWD/deep shallow");
    ask_begin(&a, "shallow", false);
    CHECK(a.shallow_count > 0);
    struct lines we = {0}, git = lines_of(heard("cat shallow/shallow"));
    char hex[WEIR__GIT_HEX_SIZE];
    for (size_t i = 0; i < a.shallow_count; i++)
        lines_add(&we, weir__git_id_hex(&a.shallow[i], 20, hex));
    same_lines("shallow", &we, &git);
    same_form(&a, "shallow", &forms[0]);
    same_form(&a, "shallow", &forms[1]);
    ask_end(&a);
    /* What is no id is told, and the rest is taken. */
    sh("cd shallow; cp shallow s; { echo nonsense; cat s; echo; head -c 30 s; } >shallow");
    ask_begin(&a, "shallow", false);
    CHECK(a.told.count == 1 && strstr(a.told.last, "2 lines") && strstr(a.told.last, "line 1"));
    size_t count = a.shallow_count;
    CHECK(count > 0);
    ask_end(&a);
    sh("cd shallow; rm shallow; truncate -s 65M shallow");
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__git_store *store;
    struct weir__git_id *ids;
    CHECK_EQ(weir__git_store_open(&store, "shallow", NULL, problem), 0);
    CHECK_EQ(weir__git_store_shallow(store, NULL, NULL, &ids, &count), -WEIR_E_TOO_LARGE);
    CHECK(strstr(weir__git_store_problem(store), "shallow/shallow"));
    weir__git_store_close(store);
    ask_begin(&a, "deep", false);
    CHECK(a.shallow_count == 0 && !a.shallow);
    ask_end(&a);
}

TAP_MAIN()
