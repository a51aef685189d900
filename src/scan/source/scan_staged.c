/* scan_staged.c - what git is about to commit: blobs of its index that differ from HEAD.
 *
 * git itself says which, and gives their content: it knows about alternates, promisors, packs,
 * hashes of either kind and the index that a hook is to look at. One child lists them for the
 * thread that hands out paths; each thread that scans has one child that gives it one blob after
 * the other. What lies in the work tree is not looked at.
 *
 * A blob is put into a file in memory and goes the way of files. One that is larger than
 * BLOB_BYTES_MAX comes through a child of its own as a stream.
 *
 * Paths are those of the repository, from its top. Of a symlink the text of its target is scanned.
 * Submodules are counted. A path that is in conflict has no content that would be committed, and is
 * told.
 */
#include "scan_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alloc.h"
#include "log.h"
#include "scan_git.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

#define BLOB_BYTES_MAX (4u << 20)
#define ID_MAX         64u
#define HEAD_MAX       256u
#define ANSWER_MAX     4096u
#define MODE_SUBMODULE "160000"

static uint64_t silence_of(const struct weir__scan_worker *w)
{
    uint64_t wanted = w->run->options->git_silence_ns;
    return wanted ? wanted : WEIR__GIT_SILENCE_NS;
}

/* --- listing --- */

/* A line of `git diff --raw`, up to the path: ":100644 100755 ID ID M". */
struct change {
    char mode[7]; /* that is staged */
    char id[ID_MAX + 1];
    char kind;
};

static bool take_word(const char **text, char *word, size_t size)
{
    size_t length = strcspn(*text, " ");
    if (length == 0 || length >= size || (*text)[length] != ' ')
        return false;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length + 1;
    return true;
}

static bool parse_change(struct change *change, const char *text)
{
    char old_mode[8], old_id[ID_MAX + 1];
    if (*text++ != ':' || !take_word(&text, old_mode, sizeof(old_mode)) ||
        !take_word(&text, change->mode, sizeof(change->mode)) ||
        !take_word(&text, old_id, sizeof(old_id)) ||
        !take_word(&text, change->id, sizeof(change->id)))
        return false;
    change->kind = *text;
    return *text != '\0' && strspn(change->id, "0123456789abcdef") == strlen(change->id);
}

static bool send_blob(struct weir__scan_worker *w, const char *path, const char *id)
{
    size_t length = strlen(id) + 1;
    struct weir__job *job = weir__job_new(WEIR__JOB_STAGED, path, strlen(path), length);
    if (!job) {
        weir__scan_tell(w, path, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return true;
    }
    memcpy(job->text + job->path_length + 1, id, length);
    job->names_length = length;
    if (weir__job_send(w->run, job) == 0)
        return true;
    weir__job_free(job);
    return false;
}

static bool take_change(struct weir__scan_worker *w, const struct change *change, const char *path)
{
    if (change->kind == 'U') {
        weir__scan_tell(w, path, "cannot scan", "it is in conflict: resolve it and stage it again");
    } else if (strcmp(change->mode, MODE_SUBMODULE) == 0) {
        w->counts.submodules++;
    } else {
        return send_blob(w, path, change->id);
    }
    return true;
}

/* 0 when all was heard, or was called off; and whether there was anything. */
static int take_changes(struct weir__scan_worker *w, struct weir__git *git, bool *ret_has_any)
{
    struct weir_cancel *stop = &w->run->stop;
    struct change change;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__SCAN_PATH_MAX);
    for (;;) {
        int result = weir__git_read_to(git, '\0', &text, stop);
        if (result <= 0)
            return result;
        if (!parse_change(&change, weir__buffer_text(&text)))
            return -WEIR_E_CORRUPT;
        result = weir__git_read_to(git, '\0', &text, stop);
        if (result <= 0)
            return result < 0 ? result : -WEIR_E_CLOSED;
        *ret_has_any = true;
        if (!take_change(w, &change, weir__buffer_text(&text)))
            return -WEIR_E_CANCELED;
    }
}

static int start_git(const struct weir__scan_worker *w, struct weir__git **ret_git,
                     const char *const *words, bool has_input)
{
    return weir__git_new(ret_git, words, has_input, silence_of(w));
}

/* git diff, asked outside of a repository, speaks of its options. */
static void ask_why(struct weir__scan_worker *w, char why[WEIR__GIT_WHY_MAX])
{
    static const char *const words[] = {"rev-parse", "--git-dir", NULL};
    struct weir__git *git = NULL;
    char bytes[ANSWER_MAX];
    if (start_git(w, &git, words, false) < 0)
        return;
    ssize_t n = 1;
    for (size_t heard = 0; n > 0 && heard < ANSWER_MAX; heard += (size_t)n)
        n = weir__git_read(git, bytes, sizeof(bytes), &w->run->stop);
    if (n == 0)
        (void)!weir__git_end(git, &w->run->stop, why);
    weir__git_free(git);
}

/* Where git looks at no index at all, nothing differs, and that is no clean commit: in a repository
 * without a work tree, and with an index of the environment that is not there. NULL: there is none
 * yet, or nothing is staged. Asked only when git has listed nothing. */
static const char *why_nothing(struct weir__scan_worker *w)
{
    static const char *const words[] = {"rev-parse", "--is-bare-repository", "--git-path", "index",
                                        NULL};
    struct weir_cancel *stop = &w->run->stop;
    struct weir__git *git = NULL;
    struct stat st;
    const char *why = NULL;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer bare, index;
    weir__buffer_init(&bare, ANSWER_MAX);
    weir__buffer_init(&index, WEIR__SCAN_PATH_MAX);
    if (start_git(w, &git, words, false) < 0)
        return "git cannot say whether there is an index";
    if (weir__git_read_to(git, '\n', &bare, stop) <= 0 ||
        weir__git_read_to(git, '\n', &index, stop) <= 0)
        why = "git cannot say whether there is an index";
    else if (weir__sys_fstatat(AT_FDCWD, weir__buffer_text(&index), &st, 0) == 0)
        why = NULL;
    else if (getenv("GIT_INDEX_FILE"))
        why = "there is no such file as GIT_INDEX_FILE names: name an index, or unset it";
    else if (strcmp(weir__buffer_text(&bare), "true") == 0)
        why = "it is a bare repository, which has no index: run it where there is a work tree";
    weir__git_free(git);
    return why;
}

static const char *why_of(int error)
{
    switch (error) {
    case -WEIR_E_TIMEOUT_READ:
        return "git does not answer";
    case -WEIR_E_NOT_FOUND:
        return "git has no such object";
    case -WEIR_E_CORRUPT:
    case -WEIR_E_CLOSED:
    case -WEIR_E_OVERFLOW:
        return "git said something that is not understood";
    default:
        return weir_error_text(error);
    }
}

static void tell_list(struct weir__scan_worker *w, const char *why)
{
    weir__scan_tell(w, ".", "cannot list what is staged in", why);
}

static const char *why_not_started(int error)
{
    return error == -WEIR_E_NOT_FOUND
               ? "there is no git on the PATH: install it, or name paths without --staged"
               : weir_error_text(error);
}

void weir__scan_staged_list(struct weir__scan_worker *w)
{
    /* All that the user's configuration could change is said here. Without renames: a file that got
     * another name is one that is added. */
    static const char *const words[] = {"--no-pager",
                                        "-c",
                                        "core.fsmonitor=false",
                                        "diff",
                                        "--cached",
                                        "--raw",
                                        "-z",
                                        "--no-abbrev",
                                        "--no-renames",
                                        "--no-ext-diff",
                                        "--no-color",
                                        "--no-relative",
                                        "--ignore-submodules=none",
                                        "--diff-filter=ACMRTU",
                                        NULL};
    struct weir__git *git = NULL;
    char why[WEIR__GIT_WHY_MAX] = "";
    int result = start_git(w, &git, words, false);
    if (result < 0) {
        tell_list(w, why_not_started(result));
        return;
    }
    bool has_any = false;
    result = take_changes(w, git, &has_any);
    bool is_over = result == 0 || result == -WEIR_E_CLOSED;
    int ending = is_over ? weir__git_end(git, &w->run->stop, why) : 0;
    if (ending < 0) {
        ask_why(w, why);
        if (strstr(why, "not a git repository"))
            snprintf(why, sizeof(why),
                     "it is in no repository of git: go into one, or name paths "
                     "without --staged");
        if (!weir__scan_is_stopped(w))
            tell_list(w, why);
    } else if (result < 0 && !weir__scan_is_stopped(w)) {
        tell_list(w, why_of(result));
    } else if (!has_any && !weir__scan_is_stopped(w)) {
        const char *reason = why_nothing(w);
        if (reason)
            tell_list(w, reason);
    }
    weir__git_free(git);
}

/* --- blobs --- */

static void tell_blob(struct weir__scan_worker *w, int error)
{
    char why[WEIR__GIT_WHY_MAX] = "";
    const char *reason = why_of(error);
    if (weir__scan_is_stopped(w))
        return;
    /* Closed: it has gone, and may have said why. */
    if (error == -WEIR_E_CLOSED && w->git && weir__git_end(w->git, &w->run->stop, why) < 0)
        reason = why;
    weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", reason);
    weir__git_free(w->git);
    w->git = NULL;
}

/* "ID blob SIZE", or "ID missing". */
static int parse_head(const char *text, const char *id, uint64_t *ret_size)
{
    size_t length = strlen(id);
    if (strncmp(text, id, length) != 0 || text[length] != ' ')
        return -WEIR_E_CORRUPT;
    text += length + 1;
    if (strcmp(text, "missing") == 0)
        return -WEIR_E_NOT_FOUND;
    if (strncmp(text, "blob ", 5) != 0)
        return -WEIR_E_CORRUPT;
    text += 5;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return -WEIR_E_CORRUPT;
    uint64_t size = 0;
    for (; *text; text++)
        size = size * 10 + (uint64_t)(*text - '0');
    *ret_size = size;
    return 0;
}

/* Asks for a blob and hears how large it is: 0, an error, or 1 when git could not be started, which
 * was told. */
static int ask(struct weir__scan_worker *w, const char *id, uint64_t *ret_size)
{
    static const char *const words[] = {"cat-file", "--batch", NULL};
    char line[ID_MAX + 2];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer head;
    weir__buffer_init(&head, HEAD_MAX);
    int result = w->git ? 0 : start_git(w, &w->git, words, true);
    if (result < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", why_not_started(result));
        return 1;
    }
    int length = snprintf(line, sizeof(line), "%s\n", id);
    if (length < 0 || length >= (int)sizeof(line))
        return -WEIR_E_CORRUPT;
    result = weir__git_send(w->git, line, (size_t)length);
    if (result == 0)
        result = weir__git_read_to(w->git, '\n', &head, &w->run->stop);
    if (result == 0)
        return -WEIR_E_CLOSED;
    return result < 0 ? result : parse_head(weir__buffer_text(&head), id, ret_size);
}

/* So many bytes from git into the file. */
static int take_bytes(struct weir__scan_worker *w, int fd, uint64_t left)
{
    while (left > 0) {
        size_t want = left < WEIR__SCAN_READ_SIZE ? (size_t)left : WEIR__SCAN_READ_SIZE;
        ssize_t n = weir__git_read(w->git, w->block, want, &w->run->stop);
        if (n <= 0)
            return n < 0 ? (int)n : -WEIR_E_CLOSED;
        left -= (uint64_t)n;
        int error = weir__whole_write(fd, w->block, (size_t)n);
        if (error < 0)
            return error;
    }
    char end;
    ssize_t n = weir__git_read(w->git, &end, 1, &w->run->stop);
    return n < 0 ? (int)n : n == 0 ? -WEIR_E_CLOSED : end == '\n' ? 0 : -WEIR_E_CORRUPT;
}

static void scan_whole(struct weir__scan_worker *w, uint64_t size)
{
    int fd = WEIR__SYS(int, memfd_create("staged", MFD_CLOEXEC));
    int result = fd < 0 ? weir_error_from_errno(errno) : take_bytes(w, fd, size);
    if (result < 0)
        tell_blob(w, result);
    else
        weir__scan_open(w, fd);
    weir__sys_close(fd);
}

static void scan_large(struct weir__scan_worker *w, const char *id)
{
    const char *const words[] = {"cat-file", "blob", id, NULL};
    struct weir_cancel_hook hook = {0};
    struct weir__git *git = NULL;
    char why[WEIR__GIT_WHY_MAX] = "";
    weir__git_free(w->git); /* it is about to say all of it */
    w->git = NULL;
    int result = start_git(w, &git, words, false);
    if (result < 0) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "cannot read", why_not_started(result));
        return;
    }
    int fd = weir__git_descriptor(git);
    weir_cancel_shuts_down(&w->run->stop, &hook, fd);
    w->silence_ns = silence_of(w);
    bool was_read = weir__scan_stream_admitted(w, fd);
    w->silence_ns = 0;
    weir_cancel_off(&hook);
    if (was_read && weir__git_end(git, &w->run->stop, why) < 0 && !weir__scan_is_stopped(w))
        weir__scan_tell_partial(w, weir__buffer_text(&w->path), "cannot read all of", why);
    weir__git_free(git);
}

void weir__scan_staged(struct weir__scan_worker *w, const char *id)
{
    const struct weir__scan_options *options = w->run->options;
    WEIR_CLEANUP(weir__scan_tokens_release)
    struct weir__scan_tokens tokens = WEIR__SCAN_TOKENS_NONE;
    uint64_t size = 0;
    if (weir__scanner_skips(w->scanner, weir__buffer_text(&w->path))) {
        w->counts.allowed_paths++;
        return;
    }
    if (!weir__scan_admit(w, &tokens))
        return;
    int result = ask(w, id, &size);
    if (result > 0)
        return;
    if (result < 0) {
        tell_blob(w, result);
    } else if (options->file_bytes_max > 0 && size > options->file_bytes_max) {
        weir__scan_tell(w, weir__buffer_text(&w->path), "does not scan",
                        "it is larger than files may be");
        weir__git_free(w->git);
        w->git = NULL;
    } else if (size > BLOB_BYTES_MAX) {
        scan_large(w, id);
    } else {
        scan_whole(w, size);
    }
}
