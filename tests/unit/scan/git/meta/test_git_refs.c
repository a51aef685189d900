/* test_git_refs.c - refs, logs and names, against git. */
#include "git_meta_help.h"

#include "refs_file.h"
#include "refs_resolve.h"

static char why[WEIR__GIT_FLAW_MAX];

static void read_refs(struct weir__git_refs *refs, const char *gitdir, const char *commondir,
                      size_t id_size, struct told *told, bool has_logs)
{
    struct weir__git_refs_options options = {.gitdir = gitdir,
                                             .commondir = commondir,
                                             .id_size = id_size,
                                             .has_logs = has_logs,
                                             .has_pseudo = true,
                                             .problem = tell,
                                             .problem_arg = told};
    *told = (struct told){0};
    weir__git_refs_init(refs, &options);
    int error = weir__git_refs_read(refs, why);
    if (error)
        tap_fail(__FILE__, __LINE__, "refs: %d %s", error, why);
}

/* "ID NAME" of each that git for-each-ref would show. */
static struct lines refs_lines(const struct weir__git_refs *refs, size_t id_size)
{
    struct lines lines = {0};
    char hex[WEIR__GIT_HEX_SIZE], line[8192];
    for (size_t i = 0; i < refs->count; i++) {
        if (strncmp(weir__git_refs_name(refs, i), "refs/", 5) != 0)
            continue;
        snprintf(line, sizeof(line), "%s %s", weir__git_id_hex(&refs->list[i].id, id_size, hex),
                 weir__git_refs_name(refs, i));
        lines_add(&lines, line);
    }
    return lines;
}

static void compare_with_git(const char *dir, const struct weir__git_refs *refs, size_t id_size)
{
    struct lines ours = refs_lines(refs, id_size);
    struct lines theirs =
        lines_of(heard("git -C %s for-each-ref --format='%%(objectname) %%(refname)'", dir));
    CHECK(theirs.count > 5);
    same_lines("refs", &ours, &theirs);
}

static void check_ref(const struct weir__git_refs *refs, const char *dir, const char *name,
                      const char *rev_name, enum weir__git_ref_kind kind, size_t id_size)
{
    const struct weir__git_ref *ref = weir__git_refs_find(refs, name);
    if (!ref)
        tap_fail(__FILE__, __LINE__, "no ref '%s'", name);
    struct weir__git_id id = rev(dir, rev_name, id_size);
    CHECK(weir__git_id_is_equal(&ref->id, &id));
    CHECK_EQ(ref->kind, kind);
}

#define MAKE                                                                                       \
    "git init -q --object-format=%s %s && cd %s && echo 1 >f && git add f && git commit -q -m 1 "  \
    "&& git commit -q --allow-empty -m 2 && git branch old HEAD~1 && git tag light && "            \
    "git tag -a -m x heavy && git tag -a -m y heavier heavy && git notes add -m note && "          \
    "git update-ref refs/custom/deep/er/ref HEAD && git update-ref refs/remotes/o/main HEAD~1 && " \
    "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main && "                                 \
    "echo 2 >f && git stash -q && echo 3 >f && git stash -q && git branch packed && "              \
    "git pack-refs --all && git branch loose && git branch -f packed HEAD~1 && "                   \
    "git replace HEAD HEAD~1 && git worktree add -q ../%s-wt old 2>/dev/null && "                  \
    "git worktree add -q --detach ../%s-wt2 2>/dev/null"

static void make_repository(const char *format, const char *name)
{
    meta_begin();
    sh(MAKE, format, name, name, name, name);
}

static void check_repository(const char *format, const char *dir, size_t id_size)
{
    struct weir__git_refs refs;
    struct told told;
    char gitdir[256], linked[256], worktree[256];
    make_repository(format, dir);
    snprintf(gitdir, sizeof(gitdir), "%s/.git", dir);
    read_refs(&refs, gitdir, gitdir, id_size, &told, false);
    CHECK_STR(told.all, "");
    compare_with_git(dir, &refs, id_size);
    check_ref(&refs, dir, "HEAD", "HEAD", WEIR__GIT_REF_HEAD, id_size);
    check_ref(&refs, dir, "refs/stash", "refs/stash", WEIR__GIT_REF_STASH, id_size);
    check_ref(&refs, dir, "refs/notes/commits", "refs/notes/commits", WEIR__GIT_REF_NOTES, id_size);
    check_ref(&refs, dir, "refs/heads/packed", "packed", WEIR__GIT_REF_BRANCH, id_size);
    check_ref(&refs, dir, "refs/tags/light", "light", WEIR__GIT_REF_TAG, id_size);
    check_ref(&refs, dir, "refs/remotes/o/HEAD", "refs/remotes/o/main", WEIR__GIT_REF_REMOTE,
              id_size);
    check_ref(&refs, dir, "refs/custom/deep/er/ref", "refs/custom/deep/er/ref", WEIR__GIT_REF_OTHER,
              id_size);
    snprintf(worktree, sizeof(worktree), "worktrees/%s-wt/HEAD", dir);
    check_ref(&refs, dir, worktree, "old", WEIR__GIT_REF_HEAD, id_size);
    snprintf(worktree, sizeof(worktree), "worktrees/%s-wt2/HEAD", dir);
    check_ref(&refs, dir, worktree, worktree, WEIR__GIT_REF_HEAD, id_size);
    /* What packed-refs says of a tag's end is what git says. */
    const struct weir__git_ref *heavy = weir__git_refs_find(&refs, "refs/tags/heavier");
    struct weir__git_id end = rev(dir, "heavier^{}", id_size);
    CHECK(heavy && heavy->has_peeled && weir__git_id_is_equal(&heavy->peeled, &end));
    /* Both stashes, of which only the log knows the older. */
    struct weir__git_id older = rev(dir, "stash@{1}", id_size);
    bool has_older = false;
    for (size_t i = 0; i < refs.logs_count; i++)
        has_older |= refs.logs[i].is_stash && weir__git_id_is_equal(&refs.logs[i].id, &older);
    CHECK(has_older && refs.logs_count == 2);
    weir__git_refs_fini(&refs);
    /* From the linked worktree. */
    snprintf(linked, sizeof(linked), "%s/.git/worktrees/%s-wt", dir, dir);
    read_refs(&refs, linked, gitdir, id_size, &told, false);
    CHECK_STR(told.all, "");
    snprintf(worktree, sizeof(worktree), "%s-wt", dir);
    compare_with_git(worktree, &refs, id_size);
    check_ref(&refs, dir, "HEAD", "old", WEIR__GIT_REF_HEAD, id_size);
    check_ref(&refs, dir, "main-worktree/HEAD", "HEAD", WEIR__GIT_REF_HEAD, id_size);
    weir__git_refs_fini(&refs);
    /* What each of them has for a while: of the one at hand without a folder before it. */
    sh("cd %s/.git; git rev-parse old >ORIG_HEAD; cd worktrees; rm -f %s-wt/ORIG_HEAD; "
       "git rev-parse HEAD >%s-wt/MERGE_HEAD; git rev-parse stash >%s-wt2/MERGE_HEAD",
       dir, dir, dir, dir);
    read_refs(&refs, linked, gitdir, id_size, &told, false);
    check_ref(&refs, dir, "MERGE_HEAD", "HEAD", WEIR__GIT_REF_PSEUDO, id_size);
    check_ref(&refs, dir, "main-worktree/ORIG_HEAD", "old", WEIR__GIT_REF_PSEUDO, id_size);
    snprintf(worktree, sizeof(worktree), "worktrees/%s-wt2/MERGE_HEAD", dir);
    check_ref(&refs, dir, worktree, "stash", WEIR__GIT_REF_PSEUDO, id_size);
    CHECK(!weir__git_refs_find(&refs, "ORIG_HEAD"));
    weir__git_refs_fini(&refs);
}

TEST(refs_are_those_of_git)
{
    check_repository("sha1", "r1", 20);
}

TEST(refs_are_those_of_git_with_sha256)
{
    check_repository("sha256", "r256", 32);
}

TEST(logs_are_read)
{
    struct weir__git_refs refs;
    struct told told;
    meta_begin();
    sh("git init -q logs && cd logs && for i in 1 2 3; do git commit -q --allow-empty -m $i; done; "
       "git reset -q --hard HEAD~2; git checkout -q -b side; git commit -q --allow-empty -m 4; "
       "git worktree add -q ../logs-wt HEAD~1 2>/dev/null; "
       "git -C ../logs-wt commit -q --allow-empty -m 5");
    read_refs(&refs, "logs/.git", "logs/.git", 20, &told, true);
    struct lines ours = {0};
    struct lines theirs = lines_of(
        heard("cd logs && { git reflog --all --format=%%H; git -C ../logs-wt reflog --format=%%H; "
              "git rev-parse ORIG_HEAD; } | sort -u"));
    for (size_t i = 0; i < refs.logs_count; i++) {
        char hex[WEIR__GIT_HEX_SIZE];
        lines_add(&ours, weir__git_id_hex(&refs.logs[i].id, 20, hex));
    }
    CHECK_STR(told.all, "");
    CHECK(weir__git_refs_find(&refs, "ORIG_HEAD")->kind == WEIR__GIT_REF_PSEUDO);
    same_lines("logs", &ours, &theirs);
    weir__git_refs_fini(&refs);
}

/* Both ids of a line count, and what is no line is told. */
TEST(logs_may_have_gaps)
{
    struct weir__git_refs refs;
    struct told told;
    meta_begin();
    sh("git init -q gaps && cd gaps/.git && mkdir -p logs/refs/heads && "
       "printf '%%040d %%040d A <a> 1 +0000\tx\nnonsense\n%%040d %%040d A <a> 1 +0000\n' 1 2 3 4 "
       ">logs/refs/heads/m");
    read_refs(&refs, "gaps/.git", "gaps/.git", 20, &told, true);
    CHECK_EQ(refs.logs_count, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(refs.logs[i].id.bytes[19], i + 1);
    CHECK_EQ(told.count, 1);
    CHECK_HAS(told.last, "log 'logs/refs/heads/m': 1 lines");
    weir__git_refs_fini(&refs);
}

TEST(only_files_are_read)
{
    struct weir__buffer bytes;
    int fd;
    meta_begin();
    sh("mkdir files && cd files && mkfifo pipe && mkdir folder && ln -s ../../etc/passwd out && "
       "ln -s in link && echo hello >in && ln -s self self");
    weir__buffer_init(&bytes, 100);
    CHECK_EQ(weir__git_folder_open("files", &fd), 0);
    CHECK_EQ(weir__git_file_read(fd, "pipe", &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__git_file_read(fd, "folder", &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__git_file_read(fd, "out", &bytes), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(weir__git_file_read(fd, "../files/in", &bytes), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(weir__git_file_read(fd, "self", &bytes), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(weir__git_file_read(fd, "none", &bytes), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__git_file_read(fd, "link", &bytes), 0);
    CHECK_STR(weir__buffer_text(&bytes), "hello\n");
    sh("head -c 101 /dev/zero >files/large");
    CHECK_EQ(weir__git_file_read(fd, "large", &bytes), -WEIR_E_TOO_LARGE);
    close(fd);
    weir__buffer_fini(&bytes);
}

/* What is broken is told by name, and the rest is there. */
TEST(broken_refs_are_told)
{
    struct weir__git_refs refs;
    struct told told;
    meta_begin();
    sh("git init -q bad && cd bad && git commit -q --allow-empty -m 1 && git pack-refs --all && "
       "cd .git && printf 'nonsense\\n' >refs/heads/one && : >refs/heads/empty && "
       "printf '%040d\\n' 0 >refs/heads/zero && printf 'ref: ../../etc/passwd\\n' "
       ">refs/heads/out && "
       "ln -s /etc/passwd refs/heads/link && ln -s refs/heads/master refs/heads/old-style && "
       "mkfifo refs/heads/pipe && cp refs/heads/master refs/heads/good 2>/dev/null || "
       "git rev-parse HEAD >refs/heads/good; printf 'ref: refs/heads/none' >refs/heads/dangling; "
       "printf 'ref: refs/heads/loop2' >refs/heads/loop1; "
       "printf 'ref: refs/heads/loop1' >refs/heads/loop2; : >refs/heads/busy.lock; "
       "git rev-parse HEAD >'refs/heads/bad~name'; head -c 70000 /dev/zero >refs/heads/large; "
       "ln -s /tmp refs/heads/folder; printf 'garbage line\\n' >>packed-refs",
       0);
    read_refs(&refs, "bad/.git", "bad/.git", 20, &told, false);
    static const char *const names[] = {
        "heads/one'",  "heads/empty'", "heads/zero'",  "heads/out'",    "heads/link'",
        "heads/pipe'", "bad~name'",    "heads/large'", "heads/folder'", "packed-refs: line 3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK_HAS(told.all, names[i]);
    CHECK_EQ(told.count, sizeof(names) / sizeof(names[0]));
    CHECK_EQ(refs.problems, told.count);
    CHECK_EQ(refs.dangling, 3);
    struct lines nowhere = {0};
    for (size_t i = 0; i < refs.nowhere_count; i++)
        lines_add(&nowhere, weir__git_refs_nowhere(&refs, i));
    struct lines wanted = lines_of(
        strdup("../../etc/passwd\n/etc/passwd\n/tmp\ngarbage line\nrefs/heads/bad~name\n"
               "refs/heads/dangling\nrefs/heads/empty\nrefs/heads/folder\nrefs/heads/large\n"
               "refs/heads/link\nrefs/heads/loop1\nrefs/heads/loop2\nrefs/heads/none\n"
               "refs/heads/one\nrefs/heads/out\nrefs/heads/pipe\nrefs/heads/zero"));
    same_lines("names that lead nowhere", &nowhere, &wanted);
    sh("sed -i /garbage/d bad/.git/packed-refs");
    check_ref(&refs, "bad", "refs/heads/master", "master", WEIR__GIT_REF_BRANCH, 20);
    check_ref(&refs, "bad", "refs/heads/good", "master", WEIR__GIT_REF_BRANCH, 20);
    check_ref(&refs, "bad", "refs/heads/old-style", "master", WEIR__GIT_REF_BRANCH, 20);
    CHECK_EQ(refs.count, 4); /* and HEAD */
    weir__git_refs_fini(&refs);
}

TEST(an_unborn_branch_is_no_error)
{
    struct weir__git_refs refs;
    struct told told;
    meta_begin();
    sh("git init -q unborn");
    read_refs(&refs, "unborn/.git", "unborn/.git", 20, &told, true);
    CHECK(refs.count == 0 && told.count == 0 && refs.dangling == 1 && refs.nowhere_count == 2);
    CHECK_STR(weir__git_refs_nowhere(&refs, 0), "HEAD");
    CHECK_STR(weir__git_refs_nowhere(&refs, 1), "refs/heads/master");
    weir__git_refs_fini(&refs);
}

TEST(reftable_is_refused)
{
    struct weir__git_refs refs;
    struct weir__git_refs_options options = {"table/.git", "table/.git", .id_size = 20};
    meta_begin();
    sh("git init -q table && mkdir table/.git/reftable");
    weir__git_refs_init(&refs, &options);
    CHECK_EQ(weir__git_refs_read(&refs, why), -WEIR_E_UNSUPPORTED);
    CHECK_HAS(why, "reftable");
    weir__git_refs_fini(&refs);
    options.gitdir = options.commondir = "nowhere";
    weir__git_refs_init(&refs, &options);
    CHECK_EQ(weir__git_refs_read(&refs, why), -WEIR_E_NOT_FOUND);
    weir__git_refs_fini(&refs);
}

TEST(limits_are_kept)
{
    struct weir__git_refs refs;
    struct weir__git_refs_options options = {"many/.git", "many/.git", .id_size = 20,
                                             .refs_max = 100};
    struct told told;
    meta_begin();
    sh("git init -q many && cd many && git commit -q --allow-empty -m 1 && h=$(git rev-parse HEAD) "
       "&& for i in $(seq 200); do echo \"create refs/heads/b$i $h\"; done | git update-ref "
       "--stdin && d=.git/refs/heads/deep; for i in $(seq 200); do d=$d/d; done; mkdir -p $d; "
       "echo $h >$d/x");
    weir__git_refs_init(&refs, &options);
    CHECK_EQ(weir__git_refs_read(&refs, why), -WEIR_E_TOO_LARGE);
    weir__git_refs_fini(&refs);
    /* Names that lead nowhere have the same limit. */
    sh("git init -q nowhere && cd nowhere/.git/refs/heads && for i in $(seq 200); do : >b$i; done");
    options.gitdir = options.commondir = "nowhere/.git";
    weir__git_refs_init(&refs, &options);
    CHECK_EQ(weir__git_refs_read(&refs, why), -WEIR_E_TOO_LARGE);
    CHECK_EQ(refs.nowhere_count, 100);
    weir__git_refs_fini(&refs);
    read_refs(&refs, "many/.git", "many/.git", 20, &told, false);
    CHECK_EQ(told.count, 0);
    compare_with_git("many", &refs, 20);
    weir__git_refs_fini(&refs);
}

TEST(names_follow_the_rules_of_git)
{
    static const char *const names[] = {"refs/heads/a",
                                        "refs/a",
                                        "refs/",
                                        "refs",
                                        "heads/a",
                                        "refs/heads/.a",
                                        "refs/heads/a.",
                                        "refs/heads/a..b",
                                        "refs/heads/a.lock",
                                        "refs/heads/a b",
                                        "refs/heads/a~b",
                                        "refs/heads/a^b",
                                        "refs/heads/a:b",
                                        "refs/heads/a?",
                                        "refs/heads/a*",
                                        "refs/heads/a[",
                                        "refs/heads/a\\b",
                                        "refs/heads/a@{b",
                                        "refs/heads/@",
                                        "refs/heads//a",
                                        "refs/heads/a/",
                                        "refs/heads/a\177b",
                                        "refs/heads/a.b",
                                        "refs/heads/-a",
                                        "refs/heads/a.lock/b",
                                        "refs/heads/\xc3\xa4",
                                        "refs/heads/a@b",
                                        "refs/heads/a{b",
                                        "refs/tags/a.lockx",
                                        "refs/heads/a./b"};
    meta_begin();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *said = heard("git check-ref-format \"$(printf '%%b' '%s')\" && echo yes || echo no",
                           strchr(names[i], '\\') ? "refs/heads/a\\\\b" : names[i]);
        bool ours = weir__git_ref_name_is_valid(names[i], strlen(names[i]));
        /* git allows a part to end with a dot, unless it is the last. */
        if (strncmp(names[i], "refs", 4) == 0 && strcmp(names[i], "refs/heads/a./b") != 0 &&
            ours != (said[0] == 'y'))
            tap_fail(__FILE__, __LINE__, "'%s': ours %d, git's %s", names[i], ours, said);
        free(said);
    }
}

/* --- names of commits --- */

static size_t begin_with(void *arg, const char *digits, size_t count, struct weir__git_id *ids,
                         size_t max)
{
    const char *dir = arg;
    struct lines lines =
        lines_of(heard("git -C %s rev-parse --disambiguate=%.*s", dir, (int)count, digits));
    size_t found = 0;
    for (size_t i = 0; i < lines.count && found < max; i++)
        ids[found++] = id_of(lines.list[i], strlen(lines.list[i]) / 2);
    lines_free(&lines);
    return found;
}

static void check_resolved(const struct weir__git_names *names, const char *dir, const char *text)
{
    struct weir__git_id ours, theirs;
    char form[256];
    snprintf(form, sizeof(form), "%s^{commit}", text);
    theirs = rev(dir, form, names->id_size);
    int error = weir__git_resolve(names, text, &ours, why);
    if (error || !weir__git_id_is_equal(&ours, &theirs))
        tap_fail(__FILE__, __LINE__, "'%s': %d %s", text, error, error ? why : "another commit");
}

TEST(commits_are_found_as_git_finds_them)
{
    static const char *const texts[] = {"HEAD",
                                        "@",
                                        "master",
                                        "refs/heads/master",
                                        "heads/master",
                                        "light",
                                        "heavy",
                                        "heavier",
                                        "tags/heavy",
                                        "o/main",
                                        "o",
                                        "HEAD~1",
                                        "HEAD^",
                                        "HEAD^1",
                                        "HEAD~0",
                                        "HEAD^0",
                                        "heavier^{}",
                                        "heavy~1",
                                        "stash^2",
                                        "stash^1~1",
                                        "heavy^{commit}",
                                        "refs/stash",
                                        "custom/deep/er/ref",
                                        "heavier^{commit}~1^0"};
    struct weir__git_refs refs;
    struct told told;
    struct cat cat;
    char short_id[16];
    make_repository("sha1", "res");
    read_refs(&refs, "res/.git", "res/.git", 20, &told, false);
    cat_begin(&cat, "res", 20);
    static char dir[] = "res";
    struct weir__git_names names = {&refs, 20, cat_get, &cat, begin_with, dir};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_resolved(&names, "res", texts[i]);
    char *head = heard("git -C res rev-parse HEAD");
    head[40] = '\0';
    check_resolved(&names, "res", head);
    for (int digits = 7; digits < 12; digits++) {
        snprintf(short_id, sizeof(short_id), "%.*s", digits, head);
        check_resolved(&names, "res", short_id);
    }
    free(head);
    static const struct {
        const char *text;
        int code;
        const char *why;
    } bad[] = {
        {"nowhere", -WEIR_E_NOT_FOUND, "'nowhere'"},
        {"abc", -WEIR_E_NOT_FOUND, "'abc'"},
        {"HEAD@{1}", -WEIR_E_INVALID, "logs"},
        {"HEAD:f", -WEIR_E_INVALID, "paths"},
        {":/x", -WEIR_E_INVALID, "searches"},
        {"HEAD~99", -WEIR_E_NOT_FOUND, "0 parents"},
        {"HEAD^2", -WEIR_E_NOT_FOUND, "1 parents"},
        {"HEAD~99999999999", -WEIR_E_INVALID, "not understood"},
        {"HEAD^{tree}", -WEIR_E_INVALID, "not understood"},
        {"", -WEIR_E_INVALID, "empty"},
        {"~1", -WEIR_E_INVALID, "empty"},
        {"1111111111111111111111111111111111111111", -WEIR_E_NOT_FOUND, "11111"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir__git_id id;
        CHECK_EQ(weir__git_resolve(&names, bad[i].text, &id, why), bad[i].code);
        CHECK_HAS(why, bad[i].why);
    }
    cat_end(&cat);
    weir__git_refs_fini(&refs);
}

static size_t many_begin_with(void *arg, const char *digits, size_t count, struct weir__git_id *ids,
                              size_t max)
{
    (void)digits, (void)count, (void)max;
    memcpy(ids, arg, 2 * sizeof(*ids));
    return 2;
}

TEST(what_is_ambiguous_is_told)
{
    struct weir__git_refs refs;
    struct told told;
    struct cat cat;
    struct weir__git_id ids[2], found;
    meta_begin();
    sh("git init -q amb && cd amb && echo x >f && git add f && git commit -q -m 1 && "
       "git commit -q --allow-empty -m 2");
    read_refs(&refs, "amb/.git", "amb/.git", 20, &told, false);
    cat_begin(&cat, "amb", 20);
    struct weir__git_names names = {&refs, 20, cat_get, &cat, many_begin_with, ids};
    ids[0] = rev("amb", "HEAD", 20);
    ids[1] = rev("amb", "HEAD~1", 20);
    CHECK_EQ(weir__git_resolve(&names, "abcd", &found, why), -WEIR_E_INVALID);
    CHECK_HAS(why, "ambiguous");
    ids[1] = rev("amb", "HEAD:f", 20); /* a blob cannot be meant */
    CHECK_EQ(weir__git_resolve(&names, "abcd", &found, why), 0);
    CHECK(weir__git_id_is_equal(&found, &ids[0]));
    ids[0] = ids[1];
    CHECK_EQ(weir__git_resolve(&names, "abcd", &found, why), -WEIR_E_INVALID);
    names.begin_with = NULL;
    CHECK_EQ(weir__git_resolve(&names, "abcd", &found, why), -WEIR_E_NOT_FOUND);
    cat_end(&cat);
    weir__git_refs_fini(&refs);
}

TEST(dates_are_understood)
{
    const int64_t now = 1709294400; /* 2024-03-01 12:00 */
    static const struct {
        const char *text;
        int64_t time; /* -1: refused */
    } dates[] = {
        {"2024-02-29", 1709164800},
        {"2024-02-29 12:30", 1709209800},
        {"2024-02-29T12:30:15", 1709209815},
        {"2024-02-29T12:30:15Z", 1709209815},
        {"2024-02-29T12:30:15.5+02:00", 1709202615},
        {"2024-02-29 12:30:15 -0130", 1709215215},
        {"@1700000000", 1700000000},
        {"now", 1709294400},
        {"today", 1709251200},
        {"yesterday", 1709164800},
        {"2 weeks ago", 1708084800},
        {"2.weeks.ago", 1708084800},
        {"1 day", 1709208000},
        {"90 seconds ago", 1709294310},
        {"1 month ago", 1706788800},
        {"1 year ago", 1677672000},
        {"2023-02-29", -1},
        {"2024-13-01", -1},
        {"2024-01-01 25:00", -1},
        {"2024-01-01x", -1},
        {"2024-01-01 12:00+99:00", -1},
        {"last tuesday", -1},
        {"", -1},
        {"@", -1},
        {"@12x", -1},
        {"5", -1},
        {"5 parsecs ago", -1},
        {"2 weeks hence", -1},
        {"99999999999999999999 days ago", -1},
        {"999999999 years ago", -1},
    };
    meta_begin(); /* the zone is UTC */
    for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
        int64_t time = -1;
        int error = weir__git_date_parse(dates[i].text, now, &time, why);
        if (time != dates[i].time || (error == 0) != (dates[i].time != -1))
            tap_fail(__FILE__, __LINE__, "'%s' is %lld", dates[i].text, (long long)time);
        if (error)
            CHECK_HAS(why, "is not a date");
    }
}

TAP_MAIN()
