/* discover.h - finding repositories: is this folder one, which are below it, which are its
 * submodules.
 *
 *     seen |= weir__git_seen(name);                  for each name of a listing
 *     weir__git_discover_seen(fd, seen, &found, why)
 *
 * What is a repository: a folder that has ".git", which is the folder of a repository, or a file
 * that names one ("gitdir: ..."); and such a folder itself: it has HEAD, which says what HEAD says,
 * and the folders objects and refs. A ".git" that is empty or has nothing of the kind is none, as
 * git sees it. One that has objects and no HEAD, or names what is not there, is an error: somebody
 * has lost something, and it is not passed over in silence.
 *
 * The identity of a repository is that of its folder of objects: all working trees of one have the
 * same.
 *
 * Cost: for a folder that is none, nothing when its names are known, else two system calls.
 *
 * Finding: a tree is walked with one descriptor at a time, folders by paths from the top, through
 * which no symlink leads. Working trees of repositories are entered, since others may be nested
 * there; what belongs to git is not. Each repository is given once, by the first path that leads to
 * it. What cannot be read is told and counted, and the rest goes on; what vanished meanwhile is no
 * error.
 *
 * Limits: paths of WEIR__GIT_FIND_PATH_MAX bytes and depth_max levels below the top, deeper ones
 * are told; WEIR__GIT_FIND_BYTES of names that wait (TooLarge); WEIR__GIT_MODULES_MAX submodules.
 *
 * Ownership: nothing is kept; paths and texts are valid during a call.
 */
#ifndef WEIR_SCAN_GIT_DISCOVER_H
#define WEIR_SCAN_GIT_DISCOVER_H

#include <sys/types.h>

#include <weir/cancel.h>

#include "commit_set.h"

#define WEIR__GIT_FIND_DEPTH    256u
#define WEIR__GIT_FIND_PATH_MAX 4096u
#define WEIR__GIT_FIND_BYTES    ((size_t)64 << 20)
#define WEIR__GIT_FIND_WHY_MAX  320u
#define WEIR__GIT_MODULES_MAX   65536u

enum weir__git_found {
    WEIR__GIT_FOUND_NONE,
    WEIR__GIT_FOUND_TREE,   /* a working tree with a folder .git */
    WEIR__GIT_FOUND_LINKED, /* with a file .git: a linked working tree, a submodule */
    WEIR__GIT_FOUND_BARE,   /* a repository without a working tree */
    WEIR__GIT_FOUND_GITDIR, /* the folder of one that has one */
};

struct weir__git_discovered {
    enum weir__git_found found;
    dev_t device; /* of its objects; both 0 for none */
    ino_t inode;
};

/* Names that say something. */
#define WEIR__GIT_SEEN_GIT     1u
#define WEIR__GIT_SEEN_HEAD    2u
#define WEIR__GIT_SEEN_OBJECTS 4u
#define WEIR__GIT_SEEN_REFS    8u
#define WEIR__GIT_SEEN_GITDIR  (WEIR__GIT_SEEN_HEAD | WEIR__GIT_SEEN_OBJECTS | WEIR__GIT_SEEN_REFS)

/* What an entry of a folder says, whatever kind it is of; mostly 0. */
static inline unsigned weir__git_seen(const char *name)
{
    switch (name[0]) {
    case '.':
        return strcmp(name, ".git") == 0 ? WEIR__GIT_SEEN_GIT : 0;
    case 'H':
        return strcmp(name, "HEAD") == 0 ? WEIR__GIT_SEEN_HEAD : 0;
    case 'o':
        return strcmp(name, "objects") == 0 ? WEIR__GIT_SEEN_OBJECTS : 0;
    case 'r':
        return strcmp(name, "refs") == 0 ? WEIR__GIT_SEEN_REFS : 0;
    default:
        return 0;
    }
}

/* Whether such names are worth a look; if not, the folder is none. */
static inline bool weir__git_seen_is_any(unsigned seen)
{
    return (seen & WEIR__GIT_SEEN_GIT) || (seen & WEIR__GIT_SEEN_GITDIR) == WEIR__GIT_SEEN_GITDIR;
}

/* What the open folder is, whose listing has said `seen`. Corrupt (its file .git makes no sense),
 * NotFound (what it needs is not there), Denied, Io, NoMemory; and why. */
WEIR_MUST_USE int weir__git_discover_seen(int dir, unsigned seen,
                                          struct weir__git_discovered *ret_found,
                                          char why[WEIR__GIT_FIND_WHY_MAX]);
/* The same without a listing. */
WEIR_MUST_USE int weir__git_discover(int dir, struct weir__git_discovered *ret_found,
                                     char why[WEIR__GIT_FIND_WHY_MAX]);

/* --- below a folder --- */

/* A repository, by a path that weir__git_store_open() takes. Anything but 0 ends it all with that
 * answer. */
typedef int weir__git_found_fn(void *arg, const char *path,
                               const struct weir__git_discovered *found);

struct weir__git_find_options {
    unsigned depth_max;                           /* 0: WEIR__GIT_FIND_DEPTH */
    void (*problem)(void *arg, const char *text); /* or NULL */
    void *problem_arg;
    struct weir_cancel *stop; /* or NULL */
};

struct weir__git_find_stats {
    uint64_t folders;  /* that were read */
    uint64_t repos;    /* that were given */
    uint64_t again;    /* further ways to these */
    uint64_t problems; /* told */
};

/* Every repository in the folder root and below it, root included. Errors are those of the root
 * (NotFound, Denied, ...; the problem is told), Canceled, TooLarge, NoMemory. The stats are written
 * in any case. */
WEIR_MUST_USE int weir__git_find_repos(const char *root,
                                       const struct weir__git_find_options *options,
                                       weir__git_found_fn *fn, void *arg,
                                       struct weir__git_find_stats *ret_stats);

/* --- submodules --- */

struct weir__git_modules_options {
    const char *gitdir, *commondir; /* of the store */
    const char *worktree;           /* the folder that has .git, or NULL: there is none */
    size_t id_size;
    /* Where there is no index (a bare repository, a clone without a checkout), the commit whose
     * tree says which submodules there should be, and how objects are had; or NULL. */
    const struct weir__git_id *head;
    weir__git_get_fn *get;
    void *get_arg;
    struct weir__git_find_options find;
};

/* Every submodule of a repository, and theirs, each once: those that git keeps below modules/,
 * checked out or not; and those whose repository is where the index says a submodule is. The
 * repository itself is not given. As above. */
WEIR_MUST_USE int weir__git_each_module(const struct weir__git_modules_options *options,
                                        weir__git_found_fn *fn, void *arg,
                                        struct weir__git_find_stats *ret_stats);

/* --- for the files of this part --- */

struct weir__git_finding {
    const struct weir__git_find_options *options;
    weir__git_found_fn *fn;
    void *arg;
    bool has_modules; /* folders "modules" of repositories are entered */
    struct weir__git_set known;
    struct weir__buffer folders; /* to be read: paths from the top, each ended with NUL */
    struct weir__git_find_stats stats;
};

void weir__git_finding_init(struct weir__git_finding *finding,
                            const struct weir__git_find_options *options, weir__git_found_fn *fn,
                            void *arg);
void weir__git_finding_fini(struct weir__git_finding *finding);
WEIR_MUST_USE int weir__git_finding_run(struct weir__git_finding *finding, const char *root);
/* Gives it, unless it is known. */
WEIR_MUST_USE int weir__git_finding_give(struct weir__git_finding *finding, const char *path,
                                         const struct weir__git_discovered *found);
/* 1 when it is new, 0; NoMemory. */
WEIR_MUST_USE int weir__git_finding_note(struct weir__git_set *set, dev_t device, ino_t inode);
__attribute__((cold, format(printf, 2, 3))) void
weir__git_finding_tell(struct weir__git_finding *finding, const char *format, ...);

/* The path that a file .git names, from the folder that it is in; ended by NUL. Corrupt, and what
 * reading it failed with; and why. */
WEIR_MUST_USE int weir__git_gitfile_read(int dir, struct weir__buffer *path,
                                         char why[WEIR__GIT_FIND_WHY_MAX]);
/* A folder below an open one, by no symlink. errno. */
int weir__git_open_inside(int dir, const char *path);

#endif
