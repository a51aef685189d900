/* test_store.c - repositories of every shape that git makes: the objects that we find are those
 * that git finds, byte by byte, by walking and by asking for each. */
#include "git_help.h"

#include "store_part.h"

/* A history with deltas, tags, a branch, empty files, a large file and names of all kinds. */
#define HISTORY                                                                                    \
    "for i in $(seq 1 25); do "                                                                    \
    "  seq $((i * 7)) $((i * 7 + 900)) >numbers; mkdir -p d$((i % 4)); echo $i >d$((i % 4))/f; "   \
    "  seq 1 $((400 + i * 13)) | sed \"s/1/$i/\" >text; : >empty; "                                \
    "  git add -A; git commit -qm \"change $i\"; "                                                 \
    "done; git tag -a -m 'a tag' v1; git branch other HEAD~9; "

/* Each object that git has named, asked for by its id. */
static void get_each(struct weir__git_store *store)
{
    struct weir__buffer bytes;
    weir__buffer_init(&bytes, (size_t)1 << 26);
    forget(&from_us);
    for (size_t i = 0; i < from_git.count; i++) {
        enum weir__git_type type;
        int result = weir__git_store_get(store, &from_git.rows[i].id, &type, &bytes);
        if (result < 0)
            tap_fail(__FILE__, __LINE__, "%s", weir__git_store_problem(store));
        add_object(&from_us, &from_git.rows[i].id, type, weir__buffer_text(&bytes),
                   weir__buffer_length(&bytes));
    }
    settle(&from_us);
    same_objects();
    weir__buffer_fini(&bytes);
}

/* Compares all objects, found by walking in several ways, and got one by one, with what git has
 * said. */
static void compare_again(const char *path)
{
    struct weir__git_store *store = open_store(path);
    CHECK_EQ(weir__git_store_id_size(store), id_size);
    weir__git_walk_options_init(&help_options);
    help_options.get = weir__git_store_get;
    help_options.get_arg = store;
    walk_store(store);
    same_objects();
    help_shards = 3;
    walk_store(store);
    same_objects();
    help_shards = 1;
    /* With memory for a few objects. */
    help_options.delta_bytes = 20000;
    walk_store(store);
    same_objects();
    get_each(store);
    weir__git_store_close(store);
}

static void compare(const char *path)
{
    ask_git(path);
    compare_again(path);
}

static void make_once(void)
{
    static bool is_made;
    help_start();
    if (!is_made)
        CHECK(help_run("git init -q base && cd base && " HISTORY));
    is_made = true;
}

/* A copy of the first repository, changed by a script that runs in it. */
static void make(const char *name, const char *script)
{
    char all[4096];
    make_once();
    snprintf(all, sizeof(all), "cp -r base '%s' && cd '%s' && %s", name, name, script);
    CHECK(help_run(all));
}

/* A folder that holds nothing but odd files is none of ours. */
TEST(only_loose)
{
    make("loose",
         "test -z \"$(ls .git/objects/pack)\"; echo odd >.git/objects/odd; "
         "mkdir .git/objects/zz; echo x >.git/objects/zz/abc; "
         "for d in .git/objects/??; do echo tmp >$d/tmp_obj_x; done; rm -r .git/objects/zz");
    compare("loose");
}

TEST(one_pack)
{
    make("packed", "git gc -q");
    compare("packed");
}

TEST(deep_deltas)
{
    make("deep", "git repack -adfq --depth=200 --window=50");
    compare("deep");
    CHECK(totals.objects > 0);
}

TEST(no_deltas)
{
    make("flat", "git -c pack.depth=0 repack -adfq --depth=0");
    compare("flat");
}

TEST(deltas_by_reference)
{
    make("ref", "git -c repack.useDeltaBaseOffset=false repack -adfq");
    compare("ref");
}

TEST(index_of_version_1)
{
    make("v1", "git -c pack.indexVersion=1 repack -adfq");
    compare("v1");
}

TEST(sha256)
{
    make_once();
    CHECK(help_run("git init -q --object-format=sha256 s256 && cd s256 && " HISTORY));
    compare("s256");
    CHECK(help_run("cd s256 && git gc -q && git multi-pack-index write && echo x >y && git add y"));
    compare("s256");
    CHECK_EQ(id_size, 32);
}

TEST(multi_pack_index)
{
    struct weir__git_store_facts facts;
    make("midx",
         "git config gc.auto 0; git repack -dq; "
         "for i in 1 2 3 4 5; do echo $i >m$i; git add .; git commit -qm $i; git repack -dq; "
         "done; git multi-pack-index write; echo last >z; git add z; git commit -qm z; "
         "git repack -dq");
    compare("midx");
    struct weir__git_store *store = open_store("midx");
    weir__git_store_facts(store, &facts);
    CHECK(facts.has_midx);
    CHECK_EQ(facts.packs, 7);
    weir__git_store_close(store);
    /* One that is damaged is done without. */
    CHECK(help_run("cd midx/.git/objects/pack && chmod u+w multi-pack-index && "
                   "printf x | dd of=multi-pack-index bs=1 seek=20 conv=notrunc"));
    compare_again("midx");
}

TEST(reverse_index)
{
    make("rev", "git -c pack.writeReverseIndex=true repack -adfq && ls .git/objects/pack/*.rev");
    compare("rev");
    /* One that lies is done without; git believes it, so it is not asked again. */
    CHECK(help_run("cd rev/.git/objects/pack && chmod u+w *.rev && "
                   "printf '\\0\\0\\0\\0' | dd of=$(ls *.rev) bs=1 seek=16 conv=notrunc"));
    compare_again("rev");
}

TEST(bare_and_mirror)
{
    make_once();
    CHECK(help_run("git clone -q --mirror base bare.git && git -C bare.git repack -adq"));
    compare("bare.git");
}

TEST(alternates)
{
    struct weir__git_store_facts facts;
    make("lender", "git gc -q");
    CHECK(help_run("git clone -q --shared lender borrower && cd borrower && echo own >own && "
                   "git add own && git commit -qm own"));
    compare("borrower");
    struct weir__git_store *store = open_store("borrower");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.alternates, 1);
    CHECK_EQ(facts.alternates_unusable, 0);
    weir__git_store_close(store);
    /* Relative, in quotes, nested, a cycle, and one that is not there. */
    CHECK(help_run(
        "echo '../../../borrower/.git/objects' >lender/.git/objects/info/alternates; "
        "git init -q third; printf '# comment\\n\"../../../borrower/.git/ob\\\\152ects\"\\n"
        "/nowhere/at/all\\n' >third/.git/objects/info/alternates"));
    store = open_store("third");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.alternates, 2);
    CHECK_EQ(facts.alternates_unusable, 1);
    weir__git_store_close(store);
    compare("third");
}

TEST(alternates_have_an_end)
{
    struct weir__git_store_facts facts;
    help_start();
    CHECK(
        help_run("for i in 0 1 2 3 4 5 6 7 8; do git init -q n$i; "
                 "echo ../../../n$((i + 1))/.git/objects >n$i/.git/objects/info/alternates; done; "
                 "git init -q many; for i in $(seq 100); do mkdir -p o/$i; "
                 "echo $PWD/o/$i >>many/.git/objects/info/alternates; done"));
    struct weir__git_store *store = open_store("n0");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.alternates, WEIR__GIT_ALTERNATES_DEEP);
    CHECK_EQ(facts.alternates_unusable, 1);
    weir__git_store_close(store);
    store = open_store("many");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.alternates, WEIR__GIT_ALTERNATES_MAX);
    CHECK_EQ(facts.alternates_unusable, 36);
    weir__git_store_close(store);
}

TEST(linked_working_tree)
{
    make("main", "git gc -q; git worktree add -q ../linked other; cd ../linked; echo w >w; "
                 "git add w; git commit -qm w");
    compare("linked");
    struct weir__git_store *store = open_store("linked/");
    CHECK_HAS(weir__git_store_gitdir(store), "main/.git/worktrees/linked");
    CHECK(strstr(weir__git_store_commondir(store), "main/.git"));
    weir__git_store_close(store);
    store = open_store("linked/.git");
    weir__git_store_close(store);
    store = open_store("main/.git");
    CHECK_STR(weir__git_store_gitdir(store), "main/.git");
    CHECK_STR(weir__git_store_commondir(store), "main/.git");
    weir__git_store_close(store);
}

TEST(submodule)
{
    make_once();
    CHECK(help_run("git init -q super && cd super && "
                   "git -c protocol.file.allow=always submodule --quiet add ../base sub && "
                   "git commit -qm sub"));
    compare("super/sub");
    compare("super");
}

TEST(shallow)
{
    struct weir__git_store_facts facts;
    make_once();
    CHECK(help_run("git clone -q --depth 3 file://$PWD/base shallow"));
    compare("shallow");
    struct weir__git_store *store = open_store("shallow");
    weir__git_store_facts(store, &facts);
    CHECK(facts.is_shallow && !facts.is_partial);
    weir__git_store_close(store);
}

TEST(partial_clone)
{
    struct weir__git_store_facts facts;
    struct weir__git_id id;
    struct weir__buffer bytes;
    make_once();
    CHECK(help_run("git -C base config uploadpack.allowFilter true && "
                   "git clone -q --no-checkout --filter=blob:none file://$PWD/base partial"));
    compare("partial");
    struct weir__git_store *store = open_store("partial");
    weir__git_store_facts(store, &facts);
    CHECK(facts.is_partial && facts.packs_promisor == 1);
    /* The file 'empty' was not fetched: it is told as missing, and why. */
    CHECK_EQ(weir__git_id_from_hex(&id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", 20), 0);
    weir__buffer_init(&bytes, 100);
    CHECK_EQ(weir__git_store_get(store, &id, NULL, &bytes), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir__git_store_problem(store), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    CHECK_HAS(weir__git_store_problem(store), "partial clone");
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}

/* One pack each, written by pack-objects from a list of one. */
static void make_tiny(int count)
{
    char script[1200];
    help_start();
    snprintf(script, sizeof(script),
             "rm -rf tiny && git init -q tiny && cd tiny && for i in $(seq %d); do echo blob $i "
             ">f$i; done && "
             "ls | sort -V | git hash-object -w --stdin-paths >../ids && "
             "while read id; do echo $id | git pack-objects -q .git/objects/pack/pack >/dev/null; "
             "done <../ids && git prune-packed -q && rm f*",
             count);
    CHECK(help_run(script));
}

TEST(many_tiny_packs)
{
    struct weir__git_store_facts facts;
    struct weir__git_store_needs needs;
    bool is_long = getenv("WEIR_LONG");
    int count = is_long ? 10000 : 300;
    make_tiny(count);
    compare("tiny");
    struct weir__git_store *store = open_store("tiny");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.packs, count);
    weir__git_store_needs(store, &needs);
    CHECK(needs.plan_bytes_max > 0 && needs.plan_bytes_max < 100);
    CHECK(needs.plan_bytes_all >= (uint64_t)count * 24);
    weir__git_store_close(store);
    /* Without the memory for a table of them. */
    struct weir__git_store_options options;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    struct weir__buffer bytes;
    weir__git_store_options_init(&options);
    options.lookup_bytes = 0;
    options.open_max = 3;
    CHECK_EQ(weir__git_store_open(&store, "tiny", &options, problem), 0);
    weir__buffer_init(&bytes, 1000);
    for (size_t i = 0; i < 20; i++)
        CHECK_EQ(weir__git_store_get(store, &from_git.rows[i * 7].id, NULL, &bytes), 0);
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}

/* What one store has found, another one finds without a look at all indexes. */
TEST(places_are_asked_first)
{
    struct weir__buffer bytes;
    bool has_new;
    uint32_t row = 0;
    make_tiny(40);
    compare("tiny");
    struct weir__git_store *store = open_store("tiny"), *other = open_store("tiny");
    const struct weir__git_id *id = &from_git.rows[7].id;
    weir__buffer_init(&bytes, 1000);
    CHECK_EQ(weir__git_store_get(store, id, NULL, &bytes), 0);
    CHECK(store->is_known_tried);
    CHECK_EQ(weir__git_set_count(weir__git_store_places(store, &has_new)), 1);
    CHECK(has_new && weir__git_store_has_place(store, id, &row));
    weir__git_store_place(other, id, row);
    CHECK_EQ(weir__git_store_get(other, id, NULL, &bytes), 0);
    CHECK(!other->is_known_tried);
    weir__git_store_places(other, &has_new);
    CHECK(!has_new);
    /* A wrong one costs the search, and is put right. */
    id = &from_git.rows[9].id;
    weir__git_store_place(other, id, row);
    CHECK_EQ(weir__git_store_get(other, id, NULL, &bytes), 0);
    weir__git_store_places(other, &has_new);
    CHECK(has_new && weir__git_store_has_place(other, id, &row));
    CHECK_EQ(weir__git_store_get(store, id, NULL, &bytes), 0);
    CHECK_EQ(store->last_row, row);
    /* One that is not there is none; and none stays when packs are listed anew. */
    weir__git_store_place(other, &from_git.rows[11].id, weir__git_store_packs(other));
    CHECK(!weir__git_store_has_place(other, &from_git.rows[11].id, &row));
    CHECK_EQ(weir__git_store_relist(other), 0);
    CHECK_EQ(weir__git_set_count(weir__git_store_places(other, &has_new)), 0);
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
    weir__git_store_close(other);
}

static struct weir__git_store *open_late(const char *path)
{
    struct weir__git_store_options options;
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    weir__git_store_options_init(&options);
    options.is_listed_late = true;
    CHECK_EQ(weir__git_store_open(&store, path, &options, problem), 0);
    return store;
}

/* A list is another store's while it is that of now. */
TEST(lists_are_handed_on)
{
    struct weir__buffer bytes;
    make_tiny(5);
    compare("tiny");
    CHECK(
        help_run("rm -rf copy && cp -a tiny copy && touch -d '1 minute ago' */.git/objects/pack"));
    weir__buffer_init(&bytes, 1000);
    struct weir__git_store *store = open_store("tiny"), *late = open_late("tiny");
    struct weir__git_packs *packs = weir__git_packs_take(store);
    CHECK(packs && weir__git_packs_bytes(packs) > 5 * 40);
    CHECK_EQ(weir__git_store_packs(store), 0);
    CHECK(weir__git_packs_give(packs, late));
    CHECK_EQ(weir__git_store_packs(late), 5);
    /* Both have all: one makes its list anew. */
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ(weir__git_store_get(late, &from_git.rows[i].id, NULL, &bytes), 0);
        CHECK_EQ(weir__git_store_get(store, &from_git.rows[i].id, NULL, &bytes), 0);
    }
    weir__git_store_close(late);
    /* Not that of another repository, nor of a folder that was written to, nor an old one. */
    late = open_late("copy");
    CHECK(!weir__git_packs_give(weir__git_packs_take(store), late));
    CHECK_EQ(weir__git_store_packs(late), 0);
    weir__git_store_close(late);
    late = open_late("tiny");
    CHECK_EQ(weir__git_store_relist(store), 0);
    packs = weir__git_packs_take(store);
    CHECK(help_run("touch -d '30 seconds ago' tiny/.git/objects/pack"));
    CHECK(!weir__git_packs_give(packs, late));
    CHECK_EQ(weir__git_store_relist(store), 0);
    store->listed_s -= 11;
    CHECK(!weir__git_packs_give(weir__git_packs_take(store), late));
    CHECK(!weir__git_packs_give(NULL, late));
    CHECK_EQ(weir__git_store_relist(late), 0);
    CHECK_EQ(weir__git_store_packs(late), 5);
    weir__git_packs_free(NULL);
    weir__git_store_close(late);
    weir__git_store_close(store);
    weir__buffer_fini(&bytes);
}

TEST(missing_object)
{
    struct weir__git_id id;
    struct weir__buffer bytes;
    make("missing", "git gc -q");
    struct weir__git_store *store = open_store("missing");
    memset(&id, 7, 20);
    memset(id.bytes + 20, 0, 12);
    weir__buffer_init(&bytes, 100);
    CHECK_EQ(weir__git_store_get(store, &id, NULL, &bytes), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir__git_store_problem(store), "object '0707070707070707");
    CHECK_HAS(weir__git_store_problem(store), "is missing");
    CHECK_EQ(weir__git_store_has(store, &id), -WEIR_E_NOT_FOUND);
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}

/* The open store finds what has moved. */
TEST(repacked_while_it_is_read)
{
    make("moving", "git config gc.auto 0; git repack -dq");
    ask_git("moving");
    struct weir__git_store *store = open_store("moving");
    struct weir__git_pack pack;
    get_each(store);
    CHECK(help_run("cd moving && echo new >new && git add new && git commit -qm new && "
                   "git repack -adfq --depth=5 && git prune-packed"));
    /* A walk that begins now is told that its pack is gone. */
    CHECK(weir__git_store_is_stale(store));
    CHECK_EQ(weir__git_store_pack_open(store, 0, &pack), -WEIR_E_NOT_FOUND);
    CHECK_HAS(weir__git_store_problem(store), ".pack");
    ask_git("moving");
    get_each(store);
    CHECK(!weir__git_store_is_stale(store));
    /* And from packs to loose files. */
    CHECK(help_run("cd moving && mv .git/objects/pack/*.pack . && rm -f .git/objects/pack/* && "
                   "git unpack-objects -q <$(ls *.pack)"));
    get_each(store);
    weir__git_store_close(store);
}

static int on_any_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg;
    tap_fail(__FILE__, __LINE__, "told: %s", trouble->why);
    return 0;
}

static int count_one(void *arg, const struct weir__git_object *object)
{
    (void)object;
    ++*(unsigned *)arg;
    return 0;
}

static bool is_always_over(void *arg)
{
    (void)arg;
    return true;
}

/* Folder by folder, those of an alternate too: in three parts, each in many walks. */
TEST(loose_objects_that_others_interrupt)
{
    CHECK(help_run("git init -q lent && git init -q borrows && cd lent && for i in $(seq 300); do "
                   "echo $i >f$i; done && git hash-object -w f* >/dev/null && cd ../borrows && "
                   "for i in $(seq 301 400); do echo $i >f$i; done && git hash-object -w f* "
                   ">/dev/null && echo ../../../lent/.git/objects >.git/objects/info/alternates"));
    unsigned count = 0, walks = 0;
    struct weir__git_store *store = open_store("borrows");
    struct weir__git_visitor visitor = {
        .enter = count_one, .trouble = on_any_trouble, .is_over = is_always_over, .arg = &count};
    for (uint32_t part = 0; part < 3; part++) {
        struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES, .part = part, .parts = 3};
        struct weir__git_walk_totals last;
        do {
            last = (struct weir__git_walk_totals){0};
            CHECK_EQ(weir__git_loose_each(store, &wish, &visitor, 1 << 20, NULL, &last, NULL), 0);
            wish.part = last.next;
            walks++;
        } while (last.is_left && walks < 2000);
    }
    CHECK_EQ(count, 400);
    CHECK(walks > 100 && walks < 2000);
    weir__git_store_close(store);
}

/* Git removes folders of loose objects that were packed. */
static int remove_folder(void *arg, const struct weir__git_object *object)
{
    (void)object;
    ++*(unsigned *)arg;
    CHECK(help_run("rm -r removed/.git/objects/[0-9a-f][0-9a-f]"));
    return 0;
}

TEST(folder_removed_while_it_is_listed)
{
    CHECK(help_run("git init -q removed && cd removed && echo x | git hash-object -w --stdin"));
    unsigned count = 0;
    struct weir__git_store *store = open_store("removed");
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    struct weir__git_visitor visitor = {
        .enter = remove_folder, .trouble = on_any_trouble, .arg = &count};
    CHECK_EQ(weir__git_loose_each(store, &wish, &visitor, 1 << 20, NULL, &totals, NULL), 0);
    CHECK_EQ(count, 1);
    weir__git_store_close(store);
}

TEST(packs_without_an_index)
{
    struct weir__git_store_facts facts;
    make("bare-packs", "git config gc.auto 0; git repack -dq; cd .git/objects/pack; "
                       "mv $(ls *.idx) ../kept; cp $(ls *.pack) a.pack; cp a.pack z.pack");
    struct weir__git_store *store = open_store("bare-packs");
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.packs_unindexed, 3);
    /* Its index came; another pack came, whose index is to come. */
    CHECK(help_run("cd bare-packs/.git/objects/pack && cp a.pack m.pack && "
                   "mv ../kept $(ls pack-*.pack | sed 's/pack$/idx/')"));
    CHECK_EQ(weir__git_store_relist(store), 0);
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.packs, 1);
    CHECK_EQ(facts.packs_unindexed, 2);
    CHECK(help_run("rm bare-packs/.git/objects/pack/a.pack"));
    CHECK_EQ(weir__git_store_relist(store), 0);
    weir__git_store_facts(store, &facts);
    CHECK_EQ(facts.packs_unindexed, 1);
    weir__git_store_close(store);
}

TEST(indexes_without_a_pack)
{
    struct weir__git_pack ids;
    const char *stem = "";
    make("packless", "git config gc.auto 0; git repack -dq; cd .git/objects/pack; "
                     "cp $(ls *.idx) a.idx; mv $(ls *.pack) ../kept");
    struct weir__git_store *store = open_store("packless");
    CHECK_EQ(weir__git_store_packs(store), 0);
    CHECK_EQ(weir__git_store_packless(store), 2);
    CHECK(!weir__git_store_is_settled(store));
    CHECK_EQ(weir__git_store_packless_open(store, 0, &stem, &ids), 0);
    CHECK_STR(stem, "pack/a");
    CHECK(ids.idx.count > 0);
    weir__git_pack_close(&ids);
    /* The pack of one came; another index came, whose pack has not gone for long. */
    CHECK(help_run("cd packless/.git/objects/pack && cp a.idx m.idx && "
                   "mv ../kept $(ls pack-*.idx | sed 's/idx$/pack/')"));
    CHECK_EQ(weir__git_store_packless_open(store, 1, &stem, &ids), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__git_store_relist(store), 0);
    CHECK_EQ(weir__git_store_packs(store), 1);
    CHECK_EQ(weir__git_store_packless(store), 1);
    CHECK(help_run("rm packless/.git/objects/pack/a.idx"));
    CHECK_EQ(weir__git_store_packless_open(store, 0, &stem, &ids), -WEIR_E_NOT_FOUND);
    weir__git_store_close(store);
}

/* While another process repacks again and again, nothing is lost. */
TEST(repacked_all_the_time)
{
    struct weir__buffer bytes;
    make("busy", "git config gc.auto 0; git repack -dq");
    ask_git("busy");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c",
              "cd busy; for i in 1 2 3 4 5 6 7 8; do git repack -adfq --depth=$i; done", (char *)0);
        _exit(127);
    }
    struct weir__git_store *store = open_store("busy");
    weir__buffer_init(&bytes, (size_t)1 << 26);
    int status = 0;
    uint64_t rounds = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        const struct weir__git_id *id = &from_git.rows[rounds++ % from_git.count].id;
        int result = weir__git_store_get(store, id, NULL, &bytes);
        if (result < 0)
            tap_fail(__FILE__, __LINE__, "%s", weir__git_store_problem(store));
    }
    CHECK_EQ(status, 0);
    printf("# %llu objects\n", (unsigned long long)rounds);
    weir__buffer_fini(&bytes);
    weir__git_store_close(store);
}

TEST(what_is_larger_than_asked_for)
{
    struct weir__buffer bytes;
    help_start();
    CHECK(
        help_run("git init -q big && cd big && seq 1 400000 >f && git add f && git commit -qm f"));
    for (int round = 0; round < 2; round++) {
        ask_git("big");
        struct weir__git_store *store = open_store("big");
        weir__buffer_init(&bytes, (size_t)1 << 26);
        /* What is larger than asked for is told, with its size, packed or loose. */
        weir__git_walk_options_init(&help_options);
        help_options.object_max = 100000;
        walk_store(store);
        CHECK_EQ(told_count, 0);
        CHECK_EQ(large_count, 1);
        CHECK_EQ(large_bytes, 2688895);
        CHECK_EQ(from_us.count, 2);
        weir__buffer_fini(&bytes);
        weir__buffer_init(&bytes, 1000);
        size_t refused = 0;
        for (size_t i = 0; i < from_git.count; i++)
            refused +=
                weir__git_store_get(store, &from_git.rows[i].id, NULL, &bytes) == -WEIR_E_TOO_LARGE;
        CHECK_EQ(refused, 1);
        weir__buffer_fini(&bytes);
        weir__git_store_close(store);
        CHECK(help_run("cd big && git gc -q"));
    }
}

/* --- what is refused --- */

static void refuses(const char *path, int code, const char *text)
{
    struct weir__git_store *store = NULL;
    char problem[WEIR__GIT_PROBLEM_SIZE] = "";
    CHECK_EQ(weir__git_store_open(&store, path, NULL, problem), -code);
    CHECK(!store);
    CHECK_HAS(problem, text);
    CHECK(!strchr(problem, '\n'));
}

TEST(refuses_what_it_cannot_read)
{
    help_start();
    CHECK(help_run("mkdir none; git init -q v2; git -C v2 config core.repositoryformatversion 2; "
                   "git init -q ext; git -C ext config core.repositoryformatversion 1; "
                   "git -C ext config extensions.novel true; "
                   "git init -q table; git -C table config core.repositoryformatversion 1; "
                   "printf '[Extensions]\\n\\trefStorage = \"reftable\" ; comment\\n' "
                   ">>table/.git/config; git init -q hash; "
                   "printf '[core]\\nrepositoryformatversion=1\\n[extensions]objectformat=md5\\n' "
                   ">hash/.git/config; git init -q early; "
                   "printf '[core]\\n\\trepositoryformatversion = 0\\n[extensions]\\n"
                   "objectformat = sha256\\n' >early/.git/config; mkdir ptr; "
                   "echo 'gitdir: ../gone' >ptr/.git; mkdir odd; echo what >odd/.git"));
    refuses("none", WEIR_E_NOT_FOUND, "'none' is not a git repository");
    refuses("nowhere", WEIR_E_NOT_FOUND, "is not a git repository");
    refuses("", WEIR_E_INVALID, "empty");
    refuses("v2", WEIR_E_UNSUPPORTED, "version '2' is not known");
    refuses("ext", WEIR_E_UNSUPPORTED, "extension 'novel' is not known");
    refuses("table", WEIR_E_UNSUPPORTED, "reftables cannot be read");
    refuses("hash", WEIR_E_UNSUPPORTED, "object format 'md5'");
    refuses("early", WEIR_E_UNSUPPORTED, "needs repository format version 1");
    refuses("ptr", WEIR_E_NOT_FOUND, "../gone");
    CHECK(help_run("git init -q headless && rm headless/.git/HEAD && git init -q heady && "
                   "rm -r heady/.git/objects"));
    refuses("headless", WEIR_E_NOT_FOUND, "has no HEAD;");
    refuses("heady", WEIR_E_NOT_FOUND, "has no folder 'objects';");
    refuses("odd", WEIR_E_CORRUPT, "'odd/.git' does not name a folder");
}

TEST(accepts_odd_configs)
{
    help_start();
    CHECK(help_run("git init -q odd1; printf '; c\\n[core] repositoryFormatVersion = 1 # c\\n"
                   "[remote \"a]b\"]\\n\\turl = x\\\\\\n  y\\n\\tPROMISOR\\n[extensions]\\nnoop\\n"
                   "worktreeConfig = true\\nobjectFormat = \"sha256\"' >odd1/.git/config; "
                   "git init -q odd2; rm odd2/.git/config"));
    struct weir__git_store_facts facts;
    struct weir__git_store *store = open_store("odd1");
    weir__git_store_facts(store, &facts);
    CHECK(facts.is_partial);
    CHECK_EQ(weir__git_store_id_size(store), 32);
    weir__git_store_close(store);
    store = open_store("odd2");
    CHECK_EQ(weir__git_store_id_size(store), 20);
    weir__git_store_close(store);
}

int main(int argc, char **argv)
{
    int status = tap_main(argc, argv);
    help_done();
    return status;
}
