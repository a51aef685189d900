/* test_git_wanted.c - which objects a narrowed scan looks at. */
#include "git_wanted_help.h"

/* --- what commits brought, by ls-tree --- */

struct content {
    char id[WEIR__GIT_HEX_SIZE];
    struct lines lines; /* "ID PATH", sorted */
    struct lines parents;
};

static struct content contents[600];
static size_t contents_count;

static void contents_forget(void)
{
    for (size_t i = 0; i < contents_count; i++) {
        lines_free(&contents[i].lines);
        lines_free(&contents[i].parents);
    }
    contents_count = 0;
}

/* Of all commits of a repository, whoever reaches them. */
static void contents_read(const char *dir)
{
    struct lines commits = lines_of(
        heard("cd %s; export GIT_NO_REPLACE_OBJECTS=1; git cat-file --batch-all-objects "
              "--batch-check='%%(objectname) "
              "%%(objecttype)' | sed -n 's/ commit$//p' | while read c; do echo \"c $c\"; git "
              "cat-file -p $c | sed -n '/^$/q; s/^parent /p /p'; git ls-tree -r $c | sed -n "
              "'s/^[0-9]* blob \\([0-9a-f]*\\)\\t/b \\1 /p'; done",
              dir));
    contents_forget();
    for (size_t i = 0; i < commits.count; i++) {
        const char *line = commits.list[i];
        if (line[0] == 'c') {
            CHECK(contents_count < sizeof(contents) / sizeof(contents[0]));
            snprintf(contents[contents_count++].id, WEIR__GIT_HEX_SIZE, "%s", line + 2);
        } else {
            struct content *content = &contents[contents_count - 1];
            lines_add(line[0] == 'p' ? &content->parents : &content->lines, line + 2);
        }
    }
    lines_free(&commits);
    for (size_t i = 0; i < contents_count; i++)
        lines_sort(&contents[i].lines);
}

static const struct content *content_of(const char *id)
{
    for (size_t i = 0; i < contents_count; i++)
        if (strncmp(contents[i].id, id, strlen(contents[i].id)) == 0)
            return &contents[i];
    return NULL;
}

static bool content_has(const struct content *content, const char *line)
{
    return content && content->lines.count > 0 &&
           bsearch(&line, content->lines.list, content->lines.count, sizeof(char *), lines_order);
}

/* Blobs that one of these commits has where no parent has them. */
static struct lines brought(const struct lines *commits)
{
    struct lines all = {0}, once = {0};
    for (size_t i = 0; i < commits->count; i++) {
        const struct content *content = content_of(commits->list[i]);
        CHECK(content);
        for (size_t j = 0; j < content->lines.count; j++) {
            bool is_new = true;
            for (size_t p = 0; p < content->parents.count; p++)
                is_new &=
                    !content_has(content_of(content->parents.list[p]), content->lines.list[j]);
            if (!is_new)
                continue;
            char line[128];
            snprintf(line, sizeof(line), "%.*s blob", (int)strcspn(content->lines.list[j], " "),
                     content->lines.list[j]);
            lines_add(&all, line);
        }
    }
    lines_sort(&all);
    for (size_t i = 0; i < all.count; i++)
        if (i == 0 || strcmp(all.list[i], all.list[i - 1]) != 0)
            lines_add(&once, all.list[i]);
    lines_free(&all);
    return once;
}

/* What the commits of git's set brought, and no less than git says. */
static void narrow_form(struct asked *a, const char *dir, const struct form *form)
{
    char args[256] = "";
    if (form->since)
        snprintf(args, sizeof(args), "--since-as-filter=%lld ", (long long)form->since);
    strncat(args, form->git, sizeof(args) - strlen(args) - 1);
    set_form(a, form);
    ask(a);
    struct lines git = theirs(dir, args), commits = only(&git, "commit"), tags = only(&git, "tag");
    struct lines we = ours(a, WEIR__GIT_COMMIT), expected = brought(&commits);
    same_lines(args, &we, &commits);
    we = ours(a, WEIR__GIT_BLOB);
    if (form->since) { /* refs that lead to blobs have no date */
        struct lines bare =
            lines_of(heard("cd %s; git rev-parse blobtag^{} refs/odd/blob | sed 's/$/ blob/'; "
                           "git ls-tree -r treetag | awk '{print $3, $2}'",
                           dir));
        for (size_t i = 0; i < bare.count && !form->refs[0] && !form->ranges[0]; i++)
            lines_add(&expected, bare.list[i]);
        lines_free(&bare);
        lines_sort(&expected);
        struct lines once = {0};
        for (size_t i = 0; i < expected.count; i++)
            if (i == 0 || strcmp(expected.list[i], expected.list[i - 1]) != 0)
                lines_add(&once, expected.list[i]);
        lines_free(&expected);
        expected = once;
    }
    same_lines(args, &we, &expected);
    if (!form->since) {
        we = ours(a, 0);
        within(args, &git, &we);
        we = ours(a, WEIR__GIT_TAG);
        within(args, &tags, &we);
    } else {
        lines_free(&git);
        lines_free(&tags);
    }
    CHECK_EQ(a->told.count, 0);
    weir__git_wanted_fini(&a->wanted);
}

static void all_forms(const char *dir, bool has_graph)
{
    static const struct form wide[] = {
        {.git = "--all $(git reflog show --format=%H refs/stash)"},
        {.refs = {"c20"}, .git = "c20"},
        {.refs = {"refs/heads/*"}, .git = "--glob=refs/heads/*"},
        {.refs = {"heads/c1*"}, .git = "--glob=refs/heads/c1*"},
        {.refs = {"v1.*"}, .git = "--glob=refs/tags/v1.*"},
        {.refs = {"feature"}, .git = "--glob=refs/heads/feature"},
        {.refs = {"feature/*x"}, .git = "feature/deep/x"},
        {.refs = {"refs/tags"}, .git = "--tags"},
        {.refs = {"origin/*", "deeper"}, .git = "refs/remotes/origin/main deeper"},
        {.refs = {"notes"}, .git = "--glob=refs/notes"},
        {.refs = {"HEAD"}, .git = "HEAD"},
        {.refs = {"stash"}, .git = "$(git reflog show --format=%H refs/stash)"},
        {.refs = {"odd/*"}, .git = "refs/odd/blob"},
        {.refs = {"c[3-4]"}, .git = "c3 c4"},
        {.ranges = {"c33"}, .git = "c33"},
        {.ranges = {"c33^0", "HEAD~0"}, .git = "c33^0 HEAD~0"},
        {.refs = {"c20"}, .ranges = {"c33"}, .git = "c20 c33"},
        {.refs = {"subm"}, .git = "subm"},
    };
    static const struct form narrow[] = {
        {.ranges = {"c20..c50"}, .git = "c20..c50"},
        {.ranges = {"c50..c20"}, .git = "c50..c20"},
        {.ranges = {"c20...c50"}, .git = "c20...c50"},
        {.ranges = {"c41...c42", "c50...c51"}, .git = "c41...c42 c50...c51"},
        {.ranges = {"c20.."}, .git = "c20.."},
        {.ranges = {"c58", "c59", "^c30", "^c31"}, .git = "c58 c59 ^c30 ^c31"},
        {.ranges = {"v1.0..v1.1"}, .git = "v1.0..v1.1"},
        {.ranges = {"v1.1..v1.0"}, .git = "v1.1..v1.0"},
        {.ranges = {"c1..deeper"}, .git = "c1..deeper"},
        {.ranges = {"c40..subm"}, .git = "c40..subm"},
        {.refs = {"c5*"}, .ranges = {"^c45"}, .git = "--glob=refs/heads/c5* ^c45"},
        {.refs = {"c20"}, .ranges = {"c30..c50"}, .git = "c20 c30..c50"},
        {.ranges = {"c20..c20"}, .git = "c20..c20"},
        {.since = 1600001500, .git = "--all $(git reflog show --format=%H refs/stash)"},
        {.since = 1600000100, .refs = {"c60"}, .git = "c60"},
        {.since = 1600002500, .ranges = {"c20..c60"}, .git = "c20..c60"},
        {.since = 1900000000, .ranges = {"c20..c60"}, .git = "c20..c60"},
    };
    struct asked a;
    ask_begin(&a, dir, has_graph);
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        same_form(&a, dir, &wide[i]);
    for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
        narrow_form(&a, dir, &narrow[i]);
    ask_end(&a);
}

TEST(all_forms_are_what_git_says)
{
    meta_begin();
    for (unsigned seed = 1; seed <= 3; seed++) {
        char dir[32];
        snprintf(dir, sizeof(dir), "all%u", seed);
        make_all(dir, "sha1", seed, seed == 2);
        contents_read(dir);
        all_forms(dir, false);
    }
    sh("cd all1; git gc -q --prune=never 2>/dev/null; git commit-graph write --reachable");
    contents_read("all1");
    all_forms("all1", true);
}

TEST(all_forms_with_sha256)
{
    meta_begin();
    make_all("all256", "sha256", 9, true);
    contents_read("all256");
    all_forms("all256", false);
}

/* Only exclusions: all refs are meant. */
TEST(only_exclusions)
{
    struct asked a;
    static const struct form form = {.ranges = {"^c40"}, .git = "--all ^c40"};
    meta_begin();
    make_all("excl", "sha1", 5, false);
    contents_read("excl");
    ask_begin(&a, "excl", false);
    set_form(&a, &form);
    ask(&a);
    struct lines git = theirs("excl", "--all $(git reflog show --format=%H refs/stash) ^c40");
    struct lines we = ours(&a, 0);
    within("^c40", &git, &we);
    weir__git_wanted_fini(&a.wanted);
    ask_end(&a);
}

TEST(tags_by_date_and_by_id)
{
    struct asked a;
    char *text = NULL, ranges[2][256];
    meta_begin();
    sh("git init -q tags; cd tags\n"
       "export GIT_COMMITTER_DATE='1600000000 +0000'\n"
       "echo a >a; git add a; git commit -q -m a; git tag -a -m old old\n"
       "export GIT_COMMITTER_DATE='1600000500 +0000'\n"
       "git tag -a -m young young\n"
       "export GIT_COMMITTER_DATE='1600001000 +0000'\n"
       "echo b >b; git add b; git commit -q -m b; git tag -a -m new new\n"
       "git tag -a -m gone gone; git rev-parse gone >gone; git tag -d gone >/dev/null\n"
       "git tag -a -m far far HEAD~1; git rev-parse far >far; git tag -d far >/dev/null");
    ask_begin(&a, "tags", false);
    a.options.since = 1600000400;
    ask(&a);
    struct lines we = ours(&a, WEIR__GIT_TAG);
    struct lines git = lines_of(heard("cd tags; git rev-parse young new | sed 's/$/ tag/'"));
    same_lines("since", &we, &git);
    weir__git_wanted_fini(&a.wanted);
    /* No ref has them any more; by all digits and by some. */
    text = heard("head -c 40 tags/gone");
    snprintf(ranges[0], sizeof(ranges[0]), "HEAD~1..%s", text);
    free(text);
    text = heard("head -c 12 tags/far");
    snprintf(ranges[1], sizeof(ranges[1]), "%s", text);
    free(text);
    const char *list[] = {ranges[0], ranges[1]};
    a.options.since = WEIR__GIT_SINCE_EVER;
    a.options.ranges = list;
    a.options.ranges_count = 2;
    ask(&a);
    we = ours(&a, WEIR__GIT_TAG);
    git = lines_of(heard("cd tags; for t in $(cat gone far; git rev-parse new); do echo $t tag; "
                         "done"));
    within("ids", &git, &we);
    weir__git_wanted_fini(&a.wanted);
    ask_end(&a);
}

TEST(what_is_staged_and_worktrees)
{
    struct asked a;
    meta_begin();
    sh("git init -q st; cd st; echo a >a; git add a; git commit -q -m a\n"
       "git branch other; git worktree add -q ../st2 other 2>/dev/null\n"
       "echo staged >s; git add s; echo never >n; git add -N n\n"
       "cd ../st2; echo there >t; git add t; git checkout -q --detach; echo d >d; git add d\n"
       "git commit -q -m detached; echo more >m; git add m");
    for (unsigned i = 0; i < 2; i++) {
        ask_begin(&a, i ? "st2" : "st", false);
        ask(&a);
        struct lines we = ours(&a, 0), git = theirs("st", "--all --indexed-objects "
                                                          "$(git -C ../st2 rev-parse HEAD)");
        /* What is only intended has no content; git lists the empty blob for it. */
        for (size_t j = 0; j < git.count; j++)
            if (strncmp(git.list[j], "e69de29b", 8) == 0) {
                free(git.list[j]);
                git.list[j] = git.list[--git.count];
            }
        same_lines("staged", &we, &git);
        CHECK_EQ(a.told.count, 0);
        weir__git_wanted_fini(&a.wanted);
        /* Not what was asked for. */
        a.options.since = 1;
        ask(&a);
        char *staged = heard("git -C st rev-parse :s");
        struct weir__git_id id = id_of(staged, 20);
        free(staged);
        CHECK(!weir__git_wanted_is(&a.wanted, &id, WEIR__GIT_BLOB));
        weir__git_wanted_fini(&a.wanted);
        ask_end(&a);
    }
    sh("printf DIRCxxxx >st/.git/index");
    ask_begin(&a, "st", false);
    ask(&a);
    CHECK(a.told.count == 1 && strstr(a.told.last, "index"));
    CHECK_EQ(a.wanted.problems, 1);
    weir__git_wanted_fini(&a.wanted);
    ask_end(&a);
}

TEST(patterns)
{
    static const struct {
        const char *pattern, *name;
        int matches;
    } rows[] = {
        {"main", "refs/heads/main", 1},
        {"main", "refs/heads/main2", 0},
        {"main", "refs/tags/main", 1},
        {"main", "refs/remotes/origin/main", 0},
        {"main/", "refs/heads/main", 1},
        {"heads/main", "refs/heads/main", 1},
        {"refs/heads/main", "refs/heads/main", 1},
        {"refs/heads", "refs/heads/a/b", 1},
        {"refs/head", "refs/heads/a/b", 0},
        {"refs/heads/*", "refs/heads/a/b", 1},
        {"*", "HEAD", 1},
        {"*", "refs/heads/a", 1},
        {"*/main", "refs/remotes/origin/main", 1},
        {"origin", "refs/remotes/origin/main", 1},
        {"v1.*", "refs/tags/v1.0-rc/x", 1},
        {"v1.*", "refs/tags/v10", 0},
        {"v[12].0", "refs/tags/v2.0", 1},
        {"v[!12].0", "refs/tags/v2.0", 0},
        {"v?", "refs/tags/v2", 1},
        {"v?", "refs/tags/v22", 0},
        {"", "refs/heads/a", 0},
        {"/", "refs/heads/a", 0},
        {"worktrees/*/HEAD", "worktrees/x/HEAD", 1},
    };
    char long_one[5000];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (weir__git_ref_matches(rows[i].pattern, rows[i].name) != rows[i].matches)
            tap_fail(__FILE__, __LINE__, "'%s' and '%s'", rows[i].pattern, rows[i].name);
    memset(long_one, 'a', sizeof(long_one));
    long_one[sizeof(long_one) - 1] = '\0';
    CHECK_EQ(weir__git_ref_matches(long_one, "refs/heads/a"), -WEIR_E_TOO_LARGE);
}

static void refused(struct asked *a, const struct form *form, int code, const char *said)
{
    set_form(a, form);
    CHECK_EQ(weir__git_wanted_init(&a->wanted, &a->options, why), code);
    if (!strstr(why, said))
        tap_fail(__FILE__, __LINE__, "'%s' is not in: %s", said, why);
    weir__git_wanted_fini(&a->wanted);
}

TEST(what_is_not_understood_is_refused)
{
    static const struct form forms[] = {
        {.refs = {"c1", "nothing*"}}, {.ranges = {"c1..nothing"}}, {.ranges = {"HEAD@{1}"}},
        {.ranges = {"c1", ".."}},     {.ranges = {"blobtag"}},
    };
    struct asked a;
    meta_begin();
    make_all("bad", "sha1", 7, false);
    ask_begin(&a, "bad", false);
    refused(&a, &forms[0], -WEIR_E_NOT_FOUND, "'nothing*'");
    refused(&a, &forms[1], -WEIR_E_NOT_FOUND, "nothing");
    refused(&a, &forms[2], -WEIR_E_INVALID, "HEAD@");
    refused(&a, &forms[3], -WEIR_E_INVALID, "..");
    refused(&a, &forms[4], -WEIR_E_INVALID, "is a blob");
    ask_end(&a);
}

static uint64_t bytes_of(const struct weir__git_wanted *w)
{
    return weir__git_set_bytes(&w->history._set) + w->history._edges_bytes +
           w->history._heap_room * sizeof(*w->history._heap) + weir__git_set_bytes(&w->objects) +
           weir__git_set_bytes(&w->_whole) + weir__git_set_bytes(&w->_compared) +
           w->_tags_room * sizeof(*w->_tags) + w->_pairs_room * sizeof(*w->_pairs) +
           w->_ids_room * sizeof(*w->_ids) + w->_subs_room * sizeof(*w->_subs);
}

/* However little it may take: refused, with the number, or right. */
TEST(the_limit_is_kept)
{
    static const struct form forms[] = {{.git = ""}, {.ranges = {"c10..c60"}}, {.since = 1}};
    struct asked a;
    bool was_refused = false, was_done = false;
    meta_begin();
    make_all("limit", "sha1", 8, false);
    ask_begin(&a, "limit", false);
    for (size_t f = 0; f < 3; f++) {
        uint32_t count = 0;
        set_form(&a, &forms[f]);
        /* About as much as it needs; the last ones are far less. */
        for (uint64_t most = 450000; most > 1000; most -= most > 250000 ? 1000 : most / 4) {
            a.options.bytes_max = most;
            int error = weir__git_wanted_init(&a.wanted, &a.options, why);
            CHECK(bytes_of(&a.wanted) <= most);
            if (error == 0) {
                was_done = true;
                CHECK(count == 0 || count <= weir__git_set_count(&a.wanted.objects));
                count = count ? count : weir__git_set_count(&a.wanted.objects);
            } else {
                was_refused = true;
                CHECK_EQ(error, -WEIR_E_TOO_LARGE);
                CHECK(strstr(why, "MiB"));
            }
            weir__git_wanted_fini(&a.wanted);
        }
    }
    CHECK(was_refused && was_done && a.told.count == 0);
    ask_end(&a);
}

TEST(missing_trees_are_told_and_the_rest_goes_on)
{
    struct asked a;
    static const struct form forms[] = {{.git = ""}, {.ranges = {"HEAD~2..HEAD"}}};
    meta_begin();
    sh("git init -q miss; cd miss; git config gc.auto 0\n"
       "for i in 1 2 3 4; do mkdir -p d e; echo $i >d/$i; echo $i >e/x$i; git add .; git commit -q "
       "-m $i; done\n"
       "t=$(git rev-parse HEAD:d); rm -f .git/objects/${t:0:2}/${t:2}; rm .git/index");
    char *blob = heard("git -C miss rev-parse HEAD:e/x4");
    struct weir__git_id id = id_of(blob, 20);
    free(blob);
    for (size_t i = 0; i < 2; i++) {
        ask_begin(&a, "miss", false);
        set_form(&a, &forms[i]);
        ask(&a);
        CHECK_EQ(a.wanted.missing, 1);
        CHECK_EQ(a.wanted.problems, 1);
        CHECK_EQ(a.told.count, 1);
        CHECK(strstr(a.told.last, "object "));
        CHECK(weir__git_wanted_is(&a.wanted, &id, WEIR__GIT_BLOB));
        weir__git_wanted_fini(&a.wanted);
        ask_end(&a);
    }
    /* A parent's tree that is not there makes more of it wanted, and is no loss. */
    sh("cd miss; t=$(git rev-parse HEAD~2:e); rm -f .git/objects/${t:0:2}/${t:2}");
    blob = heard("git -C miss rev-parse HEAD~1:e/x3");
    id = id_of(blob, 20);
    free(blob);
    ask_begin(&a, "miss", false);
    set_form(&a, &forms[1]);
    ask(&a);
    CHECK(weir__git_wanted_is(&a.wanted, &id, WEIR__GIT_BLOB));
    CHECK_EQ(a.wanted.missing, 1);
    weir__git_wanted_fini(&a.wanted);
    ask_end(&a);
}

/* A tree that holds itself ten times over, ten levels deep. */
TEST(a_bomb_is_taken_apart_once)
{
    struct asked a;
    static const struct form forms[] = {{.git = ""}, {.ranges = {"HEAD~1..HEAD"}}, {.since = 1}};
    meta_begin();
    sh("git init -q bomb; cd bomb\n"
       "for n in 1 2; do\n"
       "  x=$(echo $n | git hash-object -w --stdin); kind='100644 blob'\n"
       "  for level in $(seq 10); do\n"
       "    x=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%%s %%s\\tf%%s\\n' \"$kind\" $x $i; "
       "done | git mktree); kind='040000 tree'\n"
       "  done\n"
       "  git update-ref HEAD $(git commit-tree $(git rev-parse -q --verify HEAD | sed 's/^/-p /') "
       "-m $n $x)\n"
       "done");
    ask_begin(&a, "bomb", false);
    for (size_t i = 0; i < 3; i++) {
        set_form(&a, &forms[i]);
        ask(&a);
        CHECK(a.wanted.trees <= 40 && a.wanted.cut == 0);
        struct lines blobs = ours(&a, WEIR__GIT_BLOB);
        CHECK_EQ(blobs.count, i == 1 ? 1 : 2);
        lines_free(&blobs);
        weir__git_wanted_fini(&a.wanted);
    }
    ask_end(&a);
}

static uint64_t gets;
static struct weir_cancel *stop_at;

static int get_and_stop(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                        struct weir__buffer *bytes)
{
    if (--gets == 0)
        weir_cancel_fire(stop_at);
    return weir__git_store_get(arg, id, ret_type, bytes);
}

TEST(it_can_be_stopped)
{
    struct asked a;
    struct weir_cancel stop;
    meta_begin();
    make_history("stop", "sha1", 3, 200, false, false);
    ask_begin(&a, "stop", false);
    weir_cancel_init(&stop, NULL);
    stop_at = &stop;
    gets = 300;
    a.names.get = get_and_stop;
    a.options.stop = &stop;
    CHECK_EQ(weir__git_wanted_init(&a.wanted, &a.options, why), -WEIR_E_CANCELED);
    CHECK(why[0]);
    weir__git_wanted_fini(&a.wanted);
    weir_cancel_fini(&stop);
    ask_end(&a);
}

/* Git makes no such trees; others might. */
TEST(names_with_slashes_are_names)
{
    struct asked a;
    static const struct form form = {.ranges = {"HEAD~1..HEAD"}};
    meta_begin();
    sh("git init -q --bare slash; cd slash; blob=$(echo b | git hash-object -w --stdin)\n"
       "sub=$(printf '100644 blob %%s\\tf\\n' $blob | git mktree)\n"
       "tree() { { printf '40000 %%s\\0' \"$1\"; printf \"$(echo $sub | sed 's/../\\\\x&/g')\"; } "
       "| "
       "git hash-object -w -t tree --literally --stdin; }\n"
       "one=$(git commit-tree -m one $(tree a/b)); git update-ref HEAD $(git commit-tree -p $one "
       "-m "
       "two $(tree a))");
    char *text = heard("echo b | git hash-object --stdin");
    struct weir__git_id id = id_of(text, 20);
    free(text);
    ask_begin(&a, "slash", false);
    set_form(&a, &form);
    ask(&a);
    CHECK(weir__git_wanted_is(&a.wanted, &id, WEIR__GIT_BLOB));
    weir__git_wanted_fini(&a.wanted);
    ask_end(&a);
}

TEST(the_empty_tree_need_not_be_there)
{
    struct asked a;
    static const struct form forms[] = {{.git = "--all"}, {.ranges = {"HEAD~1..HEAD"}}};
    meta_begin();
    sh("git init -q --bare empty; cd empty\n"
       "one=$(git commit-tree -m one 4b825dc642cb6eb9a060e54bf8d69288fbee4904)\n"
       "t=$(printf '100644 blob %%s\\tf\\n' $(echo f | git hash-object -w --stdin) | git mktree)\n"
       "git update-ref HEAD $(git commit-tree -p $one -m two $t)");
    ask_begin(&a, "empty", false);
    for (size_t i = 0; i < 2; i++) {
        set_form(&a, &forms[i]);
        ask(&a);
        CHECK(a.told.count == 0 && a.wanted.missing == 0);
        CHECK_EQ(weir__git_set_count(&a.wanted.objects), i == 0 ? 3 : 2);
        weir__git_wanted_fini(&a.wanted);
    }
    ask_end(&a);
}

TAP_MAIN()
