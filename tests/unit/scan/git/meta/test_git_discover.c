/* test_git_discover.c - is it a repository, which are below, which are its submodules; lists. */
#include "git_meta_help.h"

#include <errno.h>
#include <sys/resource.h>

#include "discover.h"
#include "scan_names.h"
#include "store.h"

static char why[WEIR__GIT_FIND_WHY_MAX];

static int look_at(const char *path, struct weir__git_discovered *found)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    int error = weir__git_discover(fd, found, why);
    close(fd);
    return error;
}

static enum weir__git_found kind_of(const char *path)
{
    struct weir__git_discovered found;
    int error = look_at(path, &found);
    if (error)
        tap_fail(__FILE__, __LINE__, "'%s': %d %s", path, error, why);
    CHECK((found.found == WEIR__GIT_FOUND_NONE) == (found.inode == 0));
    return found.found;
}

static bool are_same(const char *a, const char *b)
{
    struct weir__git_discovered left, right;
    CHECK(look_at(a, &left) == 0 && look_at(b, &right) == 0);
    return left.device == right.device && left.inode == right.inode;
}

TEST(kinds_of_folders)
{
    struct weir__git_discovered found;
    meta_begin();
    sh("git init -q k; cd k; echo a >a; git add a; git commit -q -m a; git init -q ../sub\n"
       "cd ../sub; echo s >s; git add s; git commit -q -m s; cd ../k\n"
       "git -c protocol.file.allow=always submodule add -q ../sub dir/sub 2>/dev/null\n"
       "git commit -q -m sub; git worktree add -q ../kw HEAD 2>/dev/null\n"
       "git init -q --bare ../kb; git init -q --separate-git-dir ../kdir ../ksep\n"
       "git init -q --object-format=sha256 ../k256; mkdir ../plain ../hollow ../hollow/.git\n"
       "ln -s ../k/.git ../plain/link; mkdir ../linked; ln -s ../k/.git ../linked/.git\n"
       "mkdir -p ../fake/objects ../fake/refs; echo 'release 12' >../fake/HEAD\n"
       "mkdir -p ../half/.git/objects; mkdir ../gone; echo 'gitdir: ../nowhere' >../gone/.git\n"
       "mkdir ../odd; echo nonsense >../odd/.git; mkdir ../fifo; mkfifo ../fifo/.git\n"
       "git -C ../kb symbolic-ref HEAD refs/heads/none");
    CHECK_EQ(kind_of("k"), WEIR__GIT_FOUND_TREE);
    CHECK_EQ(kind_of("k256"), WEIR__GIT_FOUND_TREE);
    CHECK_EQ(kind_of("linked"), WEIR__GIT_FOUND_TREE);
    CHECK_EQ(kind_of("k/.git"), WEIR__GIT_FOUND_GITDIR);
    CHECK_EQ(kind_of("kw"), WEIR__GIT_FOUND_LINKED);
    CHECK_EQ(kind_of("k/dir/sub"), WEIR__GIT_FOUND_LINKED);
    CHECK_EQ(kind_of("k/.git/modules/dir/sub"), WEIR__GIT_FOUND_GITDIR);
    CHECK_EQ(kind_of("ksep"), WEIR__GIT_FOUND_LINKED);
    CHECK_EQ(kind_of("kb"), WEIR__GIT_FOUND_BARE);
    CHECK_EQ(kind_of("plain"), WEIR__GIT_FOUND_NONE);
    CHECK_EQ(kind_of("k/dir"), WEIR__GIT_FOUND_NONE);
    CHECK_EQ(kind_of("hollow"), WEIR__GIT_FOUND_NONE);
    CHECK_EQ(kind_of("fake"), WEIR__GIT_FOUND_NONE);
    CHECK_EQ(kind_of("fifo"), WEIR__GIT_FOUND_NONE);
    CHECK(are_same("k", "kw") && are_same("k", "k/.git") && are_same("k", "linked"));
    CHECK(are_same("k/dir/sub", "k/.git/modules/dir/sub") && !are_same("k", "k/dir/sub"));
    CHECK(!are_same("k", "kb") && are_same("ksep", "kdir"));
    CHECK_EQ(look_at("half", &found), -WEIR_E_NOT_FOUND);
    CHECK(strstr(why, "no HEAD"));
    CHECK_EQ(look_at("gone", &found), -WEIR_E_NOT_FOUND);
    CHECK(strstr(why, "'../nowhere'"));
    CHECK_EQ(look_at("odd", &found), -WEIR_E_CORRUPT);
    CHECK(strstr(why, "'.git'"));
    sh("rm -rf k/.git/objects");
    CHECK_EQ(look_at("kw", &found), -WEIR_E_NOT_FOUND);
    CHECK(strstr(why, "that it belongs to"));
}

TEST(names_say_enough)
{
    CHECK_EQ(weir__git_seen(".git"), WEIR__GIT_SEEN_GIT);
    CHECK_EQ(weir__git_seen("HEAD"), WEIR__GIT_SEEN_HEAD);
    CHECK_EQ(weir__git_seen("objects"), WEIR__GIT_SEEN_OBJECTS);
    CHECK_EQ(weir__git_seen("refs"), WEIR__GIT_SEEN_REFS);
    CHECK(!weir__git_seen(".gitignore") && !weir__git_seen("HEADS") && !weir__git_seen(""));
    CHECK(weir__git_seen_is_any(WEIR__GIT_SEEN_GIT));
    CHECK(weir__git_seen_is_any(WEIR__GIT_SEEN_GITDIR));
    CHECK(!weir__git_seen_is_any(WEIR__GIT_SEEN_HEAD | WEIR__GIT_SEEN_REFS));
    /* Then no descriptor is needed. */
    struct weir__git_discovered found;
    CHECK_EQ(weir__git_discover_seen(-1, WEIR__GIT_SEEN_HEAD, &found, why), 0);
    CHECK_EQ(found.found, WEIR__GIT_FOUND_NONE);
}

/* --- trees --- */

static struct lines given;
static int answer;

static int give(void *arg, const char *path, const struct weir__git_discovered *found)
{
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    (void)arg;
    CHECK(found->found != WEIR__GIT_FOUND_NONE && found->inode != 0);
    lines_add(&given, path);
    CHECK_EQ(weir__git_store_open(&store, path, NULL, problem), 0);
    weir__git_store_close(store);
    return answer;
}

static struct told told;
static struct weir__git_find_stats stats;

static int find(const char *root, unsigned depth_max, struct weir_cancel *stop)
{
    struct weir__git_find_options options = {depth_max, tell, &told, stop};
    told = (struct told){0};
    lines_free(&given);
    return weir__git_find_repos(root, &options, give, NULL, &stats);
}

static void gave(const char *expected)
{
    struct lines lines = lines_of(strdup(expected));
    CHECK_EQ(stats.repos, given.count);
    same_lines("given", &given, &lines);
}

static void make_tree(void)
{
    static bool is_made;
    meta_begin();
    if (is_made)
        return;
    is_made = true;
    sh("mkdir t t/plain t/deep t/deep/er; cd t; git init -q a; git init -q a/nested\n"
       "git init -q --bare b.git; git init -q deep/er/c; mkdir b.git/hooks/x b.git/own\n"
       "git init -q b.git/own/inner; git init -q b.git/objects/never\n"
       "(cd a; echo a >a; git add a; git commit -q -m a; git worktree add -q ../aw 2>/dev/null)\n"
       "ln -s ../../t plain/loop; ln -s ../a plain/alias; git init -q a/.git/modules/hidden\n"
       "mkdir -p node_modules/x/.git; mkdir broken; echo 'gitdir: /nowhere' >broken/.git");
}

TEST(all_below_a_folder)
{
    make_tree();
    CHECK_EQ(find("t", 0, NULL), 0);
    CHECK_EQ(stats.again, 1); /* the working tree, or the repository that it is one of */
    for (size_t i = 0; i < given.count; i++)
        if (strcmp(given.list[i], "t/aw") == 0)
            strcpy(given.list[i], "t/a"); /* the first of both */
    gave("t/a\nt/a/nested\nt/b.git\nt/b.git/own/inner\nt/deep/er/c");
    CHECK(told.count == 1 && stats.problems == 1);
    CHECK(strstr(told.last, "'t/broken'") && strstr(told.last, "'/nowhere'"));
    /* The top itself, in some ways. */
    CHECK_EQ(find("t/a", 0, NULL), 0);
    gave("t/a\nt/a/nested");
    CHECK_EQ(find("t/a/", 0, NULL), 0);
    gave("t/a/\nt/a/nested");
    CHECK_EQ(find("t/a/.git", 0, NULL), 0);
    gave("t/a/.git");
    CHECK_EQ(find("t/plain", 0, NULL), 0);
    gave("");
    CHECK_EQ(find("t/plain/alias", 0, NULL), 0); /* given by hand, it is followed */
    gave("t/plain/alias\nt/plain/alias/nested");
    CHECK_EQ(find("t/nothing", 0, NULL), -WEIR_E_NOT_FOUND);
    CHECK(told.count == 1 && strstr(told.last, "'t/nothing'") && stats.repos == 0);
}

TEST(limits_of_finding)
{
    struct weir_cancel stop;
    make_tree();
    CHECK_EQ(find("t/deep", 1, NULL), 0);
    gave("");
    CHECK(told.count == 1 && strstr(told.last, "'t/deep/er'") && strstr(told.last, "too deep"));
    CHECK_EQ(find("t/deep", 2, NULL), 0);
    gave("t/deep/er/c");
    answer = 7;
    CHECK_EQ(find("t", 0, NULL), 7);
    CHECK_EQ(given.count, 1);
    answer = 0;
    weir_cancel_init(&stop, NULL);
    weir_cancel_fire(&stop);
    CHECK_EQ(find("t", 0, &stop), -WEIR_E_CANCELED);
    weir_cancel_fini(&stop);
    /* Deeper than a path can be. */
    sh("mkdir dd; cd dd; for i in $(seq 30); do n=$(printf '%%0200d' $i); mkdir $n; cd $n; done; "
       "git init -q . 2>/dev/null || true");
    CHECK_EQ(find("dd", 0, NULL), 0);
    gave("");
    bool is_told = told.count == 1 && strstr(told.last, "too deep");
    sh("rm -rf dd"); /* nftw() cannot */
    CHECK(is_told);
}

TEST(what_cannot_be_read_is_told)
{
    meta_begin();
    sh("mkdir -p shut/in shut/open; git init -q shut/in/r; git init -q shut/open/r; "
       "git init -q shut/other; chmod 0 shut/in shut/other/.git");
    if (geteuid() == 0 && setegid(65534) == 0 && seteuid(65534) == 0) {
        CHECK_EQ(find("shut", 0, NULL), -WEIR_E_DENIED); /* of the folder of this test */
        CHECK(seteuid(0) == 0 && setegid(0) == 0);
        sh("chmod 755 .");
        CHECK(setegid(65534) == 0 && seteuid(65534) == 0);
    }
    int error = find("shut", 0, NULL);
    if (getuid() == 0)
        CHECK(seteuid(0) == 0 && setegid(0) == 0);
    sh("chmod 755 shut/in shut/other/.git");
    CHECK_EQ(error, 0);
    CHECK_EQ(given.count, 1);
    CHECK(told.count == 2 && strstr(told.all, "'shut/in'") && strstr(told.all, "'shut/other'"));
    lines_free(&given);
}

/* --- submodules --- */

static void each_module_of(const char *dir, const char *worktree, const char *head)
{
    struct weir__git_id id;
    struct weir__git_store *store;
    char problem[WEIR__GIT_PROBLEM_SIZE];
    CHECK_EQ(weir__git_store_open(&store, dir, NULL, problem), 0);
    struct weir__git_modules_options options = {
        .gitdir = weir__git_store_gitdir(store),
        .commondir = weir__git_store_commondir(store),
        .worktree = worktree,
        .id_size = weir__git_store_id_size(store),
        .head = head ? &id : NULL,
        .get = weir__git_store_get,
        .get_arg = store,
        .find = {.problem = tell, .problem_arg = &told},
    };
    if (head)
        CHECK_EQ(weir__git_id_from_hex(&id, head, options.id_size), 0);
    told = (struct told){0};
    lines_free(&given);
    CHECK_EQ(weir__git_each_module(&options, give, NULL, &stats), 0);
    weir__git_store_close(store);
}

static void each_module(const char *dir, const char *worktree)
{
    each_module_of(dir, worktree, NULL);
}

/* Without an index the tree of HEAD says what there should be. */
TEST(submodules_that_are_nowhere)
{
    meta_begin();
    sh("mkdir n; cd n; git init -q super; cd super; c=1111111111111111111111111111111111111111\n"
       "printf '160000 %%s 0\\t%%s\\n' $c one $c deep/er/two $c deep/three $c four | "
       "git update-index --index-info; git commit -q -m subs; git commit -q --allow-empty -m x\n"
       "cd ..; git clone -q --bare super b.git; git clone -q --no-checkout super late\n"
       "mkdir -p b.git/modules/one; cp -r super/.git/. b.git/modules/one\n"
       "git -C super rev-parse HEAD >../head; git -C super rev-parse HEAD: >../tree");
    char head[64] = "", tree[64] = "";
    FILE *file = fopen("head", "r");
    CHECK(file && fgets(head, sizeof(head), file));
    CHECK(fclose(file) == 0 && (file = fopen("tree", "r")) && fgets(tree, sizeof(tree), file));
    fclose(file);
    each_module_of("n/b.git", NULL, head);
    gave("n/b.git/modules/one");
    CHECK_EQ(told.count, 1);
    CHECK(strstr(told.all, "submodules are not initialised") && !strstr(told.all, "'one'") &&
          strstr(told.all, "'four'") && strstr(told.all, "'deep/er/two'") &&
          strstr(told.all, "'deep/three'"));
    each_module_of("n/late", "n/late", head);
    CHECK(told.count == 1 && strstr(told.all, "and 1 more"));
    /* Not twice, and not where there is an index. */
    sh("cd n/super; git rm -q --cached one four deep/er/two deep/three");
    each_module_of("n/super", "n/super", head);
    CHECK_EQ(told.count, 0);
    /* What cannot be read is told. */
    head[0] = head[0] == '0' ? '1' : '0';
    each_module_of("n/late", "n/late", head);
    CHECK(told.count == 1 && strstr(told.all, "the tree of HEAD"));
    /* Nothing follows from what is no commit. */
    each_module_of("n/late", "n/late", tree);
    CHECK_EQ(told.count, 0);
    lines_free(&given);
}

/* Whose submodule is nowhere is told once: by the one that should have it. */
TEST(submodules_that_lack_theirs)
{
    meta_begin();
    sh("mkdir lack; cd lack; export GIT_ALLOW_PROTOCOL=file; M=$PWD\n"
       "for r in two three; do git init -q $r; (cd $r; echo $r >f; git add f; git commit -q -m "
       "$r); "
       "done\n"
       "(cd two; git submodule add -q $M/three nested/three; git commit -q -m sub) 2>/dev/null\n"
       "git init -q super; cd super; git submodule add -q $M/two two 2>/dev/null");
    each_module("lack/super", "lack/super");
    gave("lack/super/two");
    CHECK_EQ(told.count, 0);
    each_module("lack/super/two", "lack/super/two");
    CHECK(told.count == 1 && strstr(told.all, "'nested/three'"));
    lines_free(&given);
}

TEST(submodules)
{
    meta_begin();
    sh("mkdir m; cd m; export GIT_ALLOW_PROTOCOL=file; M=$PWD\n"
       "for r in one two three; do git init -q $r; (cd $r; echo $r >f; git add f; git commit -q -m "
       "$r); done\n"
       "(cd two; git submodule add -q $M/three nested/three; git commit -q -m sub) 2>/dev/null\n"
       "git init -q super; cd super\n"
       "(git submodule add -q $M/one lib/one; git submodule add -q $M/two two; git submodule "
       "update -q --init --recursive; git commit -q -m subs) 2>/dev/null\n"
       /* As git of old has it, with another inside. */
       "git clone -q ../one old; git -C old submodule add -q $M/three inner 2>/dev/null; "
       "git clone -q ../three old/own; (cd old; git add own; git commit -q -m own) 2>/dev/null\n"
       "git add old 2>/dev/null; git commit -q -m old\n"
       /* Not checked out any more. */
       "git submodule deinit -q -f lib/one");
    each_module("m/super", "m/super");
    gave("m/super/.git/modules/lib/one\nm/super/two\nm/super/two/nested/three\nm/super/old\n"
         "m/super/old/inner\nm/super/old/own");
    CHECK_EQ(told.count, 0);
    /* Without its working tree. */
    each_module("m/super/.git", NULL);
    gave("m/super/.git/modules/lib/one\nm/super/.git/modules/two\n"
         "m/super/.git/modules/two/modules/nested/three");
    each_module("m/three", "m/three");
    gave("");
    /* Those of linked working trees have their own. */
    sh("cd m/super; git worktree add -q ../wt 2>/dev/null; cd ../wt; GIT_ALLOW_PROTOCOL=file git "
       "submodule update -q --init two 2>/dev/null");
    each_module("m/wt", "m/wt");
    /* The others by the path of the repository, which git has written as it likes. */
    CHECK(given.count == 4 && strcmp(given.list[0], "m/wt/two") == 0);
    for (size_t i = 0; i < given.count; i++)
        CHECK(!strstr(given.list[i], "/.."));
    each_module("m/super", "m/super");
    gave("m/super/.git/modules/lib/one\nm/super/two\nm/super/two/nested/three\nm/super/old\n"
         "m/super/old/inner\nm/super/old/own\nm/super/.git/worktrees/wt/modules/two");
}

TEST(submodules_that_lead_elsewhere)
{
    meta_begin();
    sh("mkdir e; cd e; git init -q victim; (cd victim; echo v >v; git add v; git commit -q -m v)\n"
       "git init -q evil; cd evil; c=$(git -C ../victim rev-parse HEAD)\n"
       "ln -s ../victim link; mkdir dir; ln -s ../.. dir/up\n"
       "printf '160000 %%s 0\\t%%s\\n' $c link $c dir/up/victim $c fine $c broken | "
       "git update-index --index-info\n"
       "mkdir broken; echo 'gitdir: nowhere' >broken/.git\n"
       /* Git itself would not stage this one: the bytes of the path are changed afterwards. */
       "printf '160000 %%s 0\\txx/victim\\n' $c | git update-index --index-info\n"
       "python3 - <<'E'\n"
       "b=open('.git/index','rb').read()\n"
       "assert b.count(b'xx/victim')==1\n"
       "open('.git/index','wb').write(b.replace(b'xx/victim',b'../victim'))\n"
       "E\n");
    each_module("e/evil", "e/evil");
    gave("");
    /* Two through links, one out of the tree, one that is broken, one that is not there. */
    CHECK_EQ(told.count, 5);
    CHECK(strstr(told.all, "a submodule is not initialised") && strstr(told.all, "'fine'"));
    CHECK(strstr(told.all, "no path in it") && strstr(told.all, "'nowhere'"));
    CHECK(strstr(told.all, "a symlink leads there, which is not followed"));
    /* A symlink in which ".." means something else: no path is shortened. */
    sh("cd e; git init -q top; mkdir -p far/off; mv top/.git far/off/git; git init -q "
       "far/modules/x\n"
       "git init -q modules/y; ln -s far/off near\n"
       "printf 'gitdir: ../near/..\\n' >top/.git; mv far/off/git/* far/");
    each_module("e/top", "e/top");
    gave("e/top/../near/../modules/x");
}

/* --- lists --- */

static unsigned taken_max;

static bool take(void *arg, const char *name, uint64_t number)
{
    (void)arg;
    (void)number;
    lines_add(&given, name);
    return given.count < taken_max;
}

static bool is_stopped(void *arg)
{
    (void)arg;
    return answer != 0;
}

static void tell_list(void *arg, const char *list, const char *what, const char *reason)
{
    char text[WEIR__GIT_PROBLEM_MAX];
    (void)arg;
    snprintf(text, sizeof(text), "%s '%s': %s", what, list, reason ? reason : strerror(errno));
    tell(&told, text);
}

static bool read_list(const char *list, bool from0, bool can_stop)
{
    const struct weir__scan_names names = {take, can_stop ? is_stopped : NULL, tell_list, NULL,
                                           false};
    told = (struct told){0};
    lines_free(&given);
    return weir__scan_names_each(list, from0, &names);
}

static void listed(const char *expected)
{
    struct lines lines = lines_of(strdup(expected));
    same_lines("listed", &given, &lines);
}

TEST(lists_of_names)
{
    meta_begin();
    taken_max = 1000;
    sh("mkdir lists; cd lists; printf 'a\\n\\n# b\\n c \\nd' >l; printf 'a\\0b\\nc\\0' >z; printf "
       "'\\0a\\0\\0b\\0' >e\n"
       "printf 'a\\nb\\0c\\nd\\n' >m; head -c 1100000 /dev/zero | tr '\\0' x >long; : >empty");
    CHECK(read_list("lists/l", false, false) && told.count == 0);
    listed("a\n# b\n c \nd");
    CHECK(read_list("lists/z", true, true) && given.count == 2);
    CHECK(strcmp(given.list[1], "b\nc") == 0);
    CHECK(!read_list("lists/e", true, false));
    listed("a\nb");
    CHECK(told.count == 1 && strstr(told.last, "name 1 and 1 more are empty"));
    CHECK(!read_list("lists/m", false, false));
    listed("a");
    CHECK(strstr(told.last, "--from0"));
    CHECK(!read_list("lists/long", false, false) && strstr(told.last, "longer than 1 MiB"));
    CHECK(!read_list("lists/not there", false, false) && strstr(told.last, "No such file"));
    CHECK(!read_list("lists/empty", false, false) && given.count == 0);
    CHECK(strstr(told.last, "the list is empty"));
    taken_max = 2;
    CHECK(read_list("lists/l", false, false) && given.count == 2);
    answer = 1;
    CHECK(read_list("lists/l", false, true) && given.count == 0);
    answer = 0;
    lines_free(&given);
}

TAP_MAIN()
