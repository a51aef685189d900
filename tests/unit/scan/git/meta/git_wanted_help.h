/* git_wanted_help.h - what we say is wanted of a repository, and what git says; for tests of
 * wanted.h and of the parts of the store that it needs.
 *
 * Ownership: as in git_meta_help.h.
 */
#ifndef WEIR_TESTS_GIT_WANTED_HELP_H
#define WEIR_TESTS_GIT_WANTED_HELP_H

#include "git_meta_help.h"

#include "alloc.h"
#include "refs_file.h"
#include "store.h"
#include "wanted.h"

static char why[WEIR__GIT_FLAW_MAX];

/* --- a repository, and what we say is wanted of it --- */

struct asked {
    struct weir__git_store *store;
    struct weir__git_refs refs;
    struct weir__git_names names;
    struct weir__git_graph *graph;
    struct weir__git_id *shallow;
    size_t shallow_count;
    struct told told;
    struct weir__git_wanted wanted;
    struct weir__git_wanted_options options;
};

static inline void ask_begin(struct asked *a, const char *dir, bool has_graph)
{
    char problem[WEIR__GIT_PROBLEM_SIZE], path[256];
    int fd;
    *a = (struct asked){0};
    CHECK_EQ(weir__git_store_open(&a->store, dir, NULL, problem), 0);
    struct weir__git_refs_options options = {
        .gitdir = weir__git_store_gitdir(a->store),
        .commondir = weir__git_store_commondir(a->store),
        .id_size = weir__git_store_id_size(a->store),
    };
    weir__git_refs_init(&a->refs, &options);
    CHECK_EQ(weir__git_refs_read(&a->refs, why), 0);
    a->names = (struct weir__git_names){
        &a->refs, options.id_size, weir__git_store_get, a->store, weir__git_store_begin_with,
        a->store};
    CHECK_EQ(weir__git_store_shallow(a->store, tell, &a->told, &a->shallow, &a->shallow_count), 0);
    if (has_graph) {
        snprintf(path, sizeof(path), "%s/objects", options.commondir);
        CHECK_EQ(weir__git_folder_open(path, &fd), 0);
        CHECK_EQ(weir__git_graph_open(&a->graph, fd, options.id_size, 1u << 30, why), 0);
        CHECK(a->graph);
        close(fd);
    }
    weir__git_wanted_options_init(&a->options);
    a->options.names = &a->names;
    a->options.gitdir = options.gitdir;
    a->options.commondir = options.commondir;
    a->options.graph = a->graph;
    a->options.shallow = a->shallow;
    a->options.shallow_count = a->shallow_count;
    a->options.problem = tell;
    a->options.problem_arg = &a->told;
}

static inline void ask_end(struct asked *a)
{
    weir__git_refs_fini(&a->refs);
    weir__git_graph_free(a->graph);
    weir__base_free(a->shallow);
    weir__git_store_close(a->store);
}

static inline void ask(struct asked *a)
{
    int error = weir__git_wanted_init(&a->wanted, &a->options, why);
    if (error)
        tap_fail(__FILE__, __LINE__, "%d: %s", error, why);
}

/* "ID TYPE" of each, of one type or of all. */
static inline struct lines ours(const struct asked *a, enum weir__git_type type)
{
    struct lines lines = {0};
    char hex[WEIR__GIT_HEX_SIZE], line[128];
    for (uint32_t i = 0; i < weir__git_set_count(&a->wanted.objects); i++) {
        struct weir__git_id id = weir__git_set_id(&a->wanted.objects, i);
        enum weir__git_type is = weir__git_wanted_type(&a->wanted, i);
        snprintf(line, sizeof(line), "%s %s", weir__git_id_hex(&id, a->names.id_size, hex),
                 weir__git_type_name(is));
        CHECK(weir__git_wanted_is((void *)&a->wanted, &id, is));
        if (type == 0 || type == is)
            lines_add(&lines, line);
    }
    return lines;
}

/* The same by git; args are those of rev-list. */
static inline struct lines theirs(const char *dir, const char *args)
{
    return lines_of(heard("cd %s; git --no-replace-objects rev-list --objects %s | cut -d' ' -f1 | "
                          "sort -u | git cat-file --batch-check='%%(objectname) %%(objecttype)' | "
                          "{ grep -v ' tree$' || true; }",
                          dir, args));
}

static inline struct lines only(struct lines *all, const char *type)
{
    struct lines some = {0};
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(strchr(all->list[i], ' ') + 1, type) == 0)
            lines_add(&some, all->list[i]);
    return some;
}

/* All of the first are in the second; frees both. */
static inline void within(const char *what, struct lines *some, struct lines *all)
{
    size_t at = 0;
    lines_sort(some);
    lines_sort(all);
    for (size_t i = 0; i < some->count; i++) {
        while (at < all->count && strcmp(all->list[at], some->list[i]) < 0)
            at++;
        if (at == all->count || strcmp(all->list[at], some->list[i]) != 0)
            tap_fail(__FILE__, __LINE__, "%s: '%s' is not wanted (%zu of %zu)", what, some->list[i],
                     some->count, all->count);
    }
    lines_free(some);
    lines_free(all);
}

/* --- forms --- */

struct form {
    const char *refs[4], *ranges[6];
    int64_t since;
    const char *git; /* the same for rev-list */
};

static inline void set_form(struct asked *a, const struct form *form)
{
    a->options.refs = form->refs;
    for (a->options.refs_count = 0; form->refs[a->options.refs_count];)
        a->options.refs_count++;
    a->options.ranges = form->ranges;
    for (a->options.ranges_count = 0; form->ranges[a->options.ranges_count];)
        a->options.ranges_count++;
    a->options.since = form->since ? form->since : WEIR__GIT_SINCE_EVER;
}

/* Nothing is excluded: the very same objects; of ranges all tags of commits, not only those named.
 */
static inline void same_form(struct asked *a, const char *dir, const struct form *form)
{
    static const enum weir__git_type types[] = {WEIR__GIT_COMMIT, WEIR__GIT_BLOB, WEIR__GIT_TAG};
    set_form(a, form);
    ask(a);
    struct lines git = theirs(dir, form->git);
    for (size_t i = 0; i < 3; i++) {
        struct lines we = ours(a, types[i]), some = only(&git, weir__git_type_name(types[i]));
        if (types[i] == WEIR__GIT_TAG && form->ranges[0])
            within(form->git, &some, &we);
        else
            same_lines(form->git, &we, &some);
    }
    lines_free(&git);
    CHECK_EQ(a->told.count, 0);
    CHECK(a->wanted.problems == 0 && a->wanted.missing == 0 && a->wanted.cut == 0);
    weir__git_wanted_fini(&a->wanted);
}

/* A random history, and all that may hang on it. */
static inline void make_all(const char *dir, const char *format, uint64_t seed, bool skew)
{
    make_history(dir, format, seed, 60, skew, false);
    sh("cd %s\n"
       "export GIT_COMMITTER_DATE='1600001500 +0000'\n"
       "git symbolic-ref HEAD refs/heads/c60\n"
       "git tag -a -m one v1.0 c20; git tag -a -m two v1.1 c30; git tag light c25\n"
       "git tag -a -m three nested v1.0; git tag -a -m four deeper nested\n"
       "b=$(echo only in a tag | git hash-object -w --stdin)\n"
       "t=$(printf '100644 blob %%s\\tonly\\n' $(echo only in a tree | git hash-object -w --stdin) "
       "| git mktree)\n"
       "git tag -a -m blob blobtag $b; git tag -a -m tree treetag $t\n"
       "git update-ref refs/odd/blob $(echo odd | git hash-object -w --stdin)\n"
       "git notes add -m note c3; git notes --ref=other add -m noted c4\n"
       "git branch feature/deep/x c10; git update-ref refs/remotes/origin/main c15\n"
       "for i in 1 2 3; do\n"
       "  blob=$(echo stash $i | git hash-object -w --stdin)\n"
       "  tree=$(printf '100644 blob %%s\\ts\\n' $blob | git mktree)\n"
       "  git update-ref --create-reflog -m s refs/stash $(git commit-tree -p c6 -m s$i $tree)\n"
       "done\n"
       "sub=$(git rev-parse c1)\n"
       "tree=$( (git ls-tree c40; printf '160000 commit %%s\\tsubm\\n' $sub) | git mktree)\n"
       "git update-ref refs/heads/subm $(git commit-tree -p c40 -m sub $tree)\n"
       "git update-ref refs/replace/$(git rev-parse c2) $(git commit-tree -m r "
       "$(printf '100644 blob %%s\\tr\\n' $(echo replaced | git hash-object -w --stdin) | "
       "git mktree))\n",
       dir);
}

#endif
