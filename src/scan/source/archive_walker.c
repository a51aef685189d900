/* archive_walker.c - walks through archives by a child that may die at any time.
 *
 * Happy path: a command, messages, DONE; the child stays for the next walk. Failure modes: the
 * child dies, says nothing for too long, or breaks a rule. Then it is ended, the member that it had
 * announced last is told as unscanned, and a new child passes over everything up to that member and
 * goes on behind it. A child that dies before it announced anything new may have been killed by
 * somebody (a system that is short of memory): TRIES_MAX of them in a row, and the rest is told and
 * left, as it is after RESTARTS_MAX members. If not even the first member was reached, the file's
 * bytes are given as they are. What died of a page that was not there any more has mapped a file
 * that shrank, or whose disk fails: from then on it is read plainly, up to the size that it has
 * now.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "archive_walker.h"
#include "sys.h"

#include <weir/error.h>

#include "banned.h"

void weir__archive_options_init(struct weir__archive_options *options)
{
    *options = (struct weir__archive_options){
        .depth_max = 8,
        .entries_max = 1000000,
        .entry_bytes_max = UINT64_C(1) << 30,
        .archive_bytes_max = UINT64_C(10) << 30,
        .ratio_max = 1000,
        .memory_max = WEIR__ARCHIVE_MEMORY_DEFAULT,
        .spill_bytes_max = UINT64_C(10) << 30,
        .map_from = WEIR__ARCHIVE_MAP_FROM,
        .silence_ns_max = 60 * WEIR_NS_PER_S,
    };
}

int weir__archive_walker_new(struct weir__archive_walker **ret_walker,
                             const struct weir__archive_options *options)
{
    if (options->depth_max == 0 || options->depth_max > WEIR__ARCHIVE_DEPTH_MAX ||
        options->entries_max == 0 || options->entry_bytes_max == 0 ||
        options->archive_bytes_max == 0 || options->ratio_max == 0 ||
        options->memory_max < WEIR__ARCHIVE_MEMORY_MIN || options->silence_ns_max == 0)
        return -WEIR_E_INVALID;
    struct weir__archive_walker *walker = weir__base_alloc(1, sizeof(*walker));
    if (!walker)
        return -WEIR_E_NO_MEMORY;
    walker->options = *options;
    walker->spill = -1;
    int error = weir__archive_process_init(&walker->process);
    if (error) {
        weir__archive_walker_free(walker);
        return error;
    }
    *ret_walker = walker;
    return 0;
}

void weir__archive_walker_free(struct weir__archive_walker *walker)
{
    if (!walker)
        return;
    weir__archive_process_fini(&walker->process);
    weir__base_free(walker);
}

void weir__archive_walker_spill(struct weir__archive_walker *walker, int fd)
{
    walker->spill = fd;
}

const char *weir__archive_walker_why(const struct weir__archive_walker *walker, int error)
{
    bool is_start = error != -WEIR_E_TIMEOUT && error != -WEIR_E_CANCELED;
    return walker && is_start && walker->process.why[0] ? walker->process.why
                                                        : weir_error_text(error);
}

/* One walk. */
struct run {
    struct weir__archive_walker *walker;
    struct weir__archive_taker taker;
    struct weir__archive_command command;
    const struct weir_deadline *deadline;
    int fd;
    bool is_fresh;  /* the child was started for this walk */
    bool is_short;  /* of memory, the last child was */
    bool is_killed; /* or it died of something that may not come again */
    unsigned tries; /* of children that did not get to where they were to go on */
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
};

/* Is it the child's fault, or the end of the walk? */
enum outcome {
    OUTCOME_DONE,
    OUTCOME_ENDED, /* the error says why */
    OUTCOME_DIED,  /* the reason says of what */
};

/* A page of the file was not there: what there is of it now is read without a mapping. */
static void say_lost_page(struct run *run)
{
    struct stat st;
    bool is_short = weir__sys_fstat(run->fd, &st) == 0 && (uint64_t)st.st_size < run->command.size;
    if (is_short)
        run->command.size = (uint64_t)st.st_size;
    run->command.is_unmapped = 1;
    snprintf(run->reason, sizeof(run->reason), "%s",
             is_short ? "broken: the file was cut off while it was read"
                      : "broken: the file cannot be read");
}

static void say_death(struct run *run)
{
    int died_of = weir__archive_process_stop(&run->walker->process);
    run->walker->died_of = died_of;
    run->is_short = died_of == -WEIR__ARCHIVE_EXIT_MEMORY && run->command.may_grow;
    run->is_killed = died_of != SIGBUS;
    if (died_of == SIGBUS)
        say_lost_page(run);
    else
        snprintf(run->reason, sizeof(run->reason), "its decoder died (%s %d)",
                 died_of > 0 ? "signal" : "exit", died_of > 0 ? died_of : -died_of);
}

static enum outcome listen_to(struct run *run, int *ret_error)
{
    struct weir__archive_walker *walker = run->walker;
    struct weir__archive_taker *taker = &run->taker;
    while (taker->state != WEIR__ARCHIVE_FINISHED) {
        ssize_t length = weir__archive_process_hear(&walker->process,
                                                    walker->options.silence_ns_max, run->deadline);
        if (length == 0) {
            say_death(run);
            return OUTCOME_DIED;
        }
        if (length == -WEIR_E_TIMEOUT_READ) {
            weir__archive_process_stop(&walker->process);
            snprintf(run->reason, sizeof(run->reason), "its decoder was silent for %" PRIu64 " ms",
                     walker->options.silence_ns_max / WEIR_NS_PER_MS);
            return OUTCOME_DIED;
        }
        int error = length < 0 ? (int)length
                               : weir__archive_take(taker, walker->process.message, (size_t)length);
        if (error == -WEIR_E_CORRUPT && !taker->has_answered) {
            weir__archive_process_stop(&walker->process);
            snprintf(run->reason, sizeof(run->reason), "its decoder broke the rules");
            return OUTCOME_DIED;
        }
        if (error) {
            weir__archive_process_stop(&walker->process);
            *ret_error = error;
            return OUTCOME_ENDED;
        }
    }
    return OUTCOME_DONE;
}

/* Starts a child if there is none, and has it walk. */
static enum outcome attempt(struct run *run, int *ret_error)
{
    struct weir__archive_walker *walker = run->walker;
    pid_t before = walker->process.child.pid;
    do
        *ret_error =
            weir__archive_process_start(&walker->process, &walker->options, walker->has_no_seccomp,
                                        walker->is_passed_on, run->deadline);
    while (*ret_error && walker->process.died_of == SIGKILL &&
           ++run->tries < WEIR__ARCHIVE_TRIES_MAX);
    if (*ret_error)
        return OUTCOME_ENDED;
    run->is_fresh = walker->process.child.pid != before;
    run->is_killed = false;
    if (run->command.from > 0 && walker->kills_left > 0) {
        walker->kills_left--;
        kill(walker->process.child.pid, SIGKILL);
    }
    run->command.walk = ++walker->walks_count;
    run->command.bytes_before = run->taker.bytes;
    weir__archive_taker_start(&run->taker, run->command.walk, run->command.from);
    if (weir__archive_process_send(&walker->process, &run->command, run->fd, walker->spill) != 0) {
        say_death(run);
        return OUTCOME_DIED;
    }
    return listen_to(run, ret_error);
}

/* A child that has ended for want of memory has given nothing of what it announced last: that is
 * where the next one goes on, and it does not ask again. */
static void grow(struct run *run)
{
    const struct weir__archive_hooks *hooks = run->taker.hooks;
    uint64_t memory = hooks->grow ? hooks->grow(hooks->arg) : 0;
    if (memory > run->walker->options.memory_max) {
        run->walker->options.memory_max = memory;
        run->command.options.memory_max = memory;
    }
    run->command.may_grow = 0;
    run->is_short = false;
    if (run->taker.has_at)
        run->command.from = run->taker.at;
}

/* Whether the next child goes where this one was to go: it has not got there, or somebody has
 * killed it there before it gave anything, which need not be the fault of what it was at. */
static bool may_try_again(struct run *run)
{
    const struct weir__archive_taker *taker = &run->taker;
    bool has_moved = taker->has_at && taker->at > run->command.from;
    bool has_given = taker->is_at_over || (taker->is_in_member && !taker->is_own);
    run->tries = has_moved ? 0 : run->tries + 1;
    if (!run->is_killed || run->command.verb != WEIR__ARCHIVE_WALK ||
        run->tries >= WEIR__ARCHIVE_TRIES_MAX)
        return false;
    return !taker->has_at || (run->walker->died_of == SIGKILL && !has_given);
}

/* After a death: tells it, and prepares the next attempt. False: there is none. */
static bool prepare_again(struct run *run, int *ret_error)
{
    struct weir__archive_taker *taker = &run->taker;
    struct weir__archive_command *command = &run->command;
    /* One that died between two walks, of whatever, is not this archive's matter. */
    if (!run->is_fresh && taker->messages_count == 0)
        return true;
    if (run->is_short) {
        *ret_error = weir__archive_taker_cut(taker);
        if (*ret_error == 0)
            grow(run);
        return *ret_error == 0;
    }
    run->walker->restarts_count++;
    if (may_try_again(run)) {
        *ret_error = weir__archive_taker_cut(taker);
        if (taker->has_at)
            command->from = taker->at;
        return *ret_error == 0;
    }
    if (!taker->has_at) {
        bool is_first = command->from == 0 && command->verb == WEIR__ARCHIVE_WALK;
        *ret_error = weir__archive_taker_tell(taker, true, run->reason);
        command->verb = WEIR__ARCHIVE_RAW;
        return is_first && *ret_error == 0;
    }
    *ret_error = weir__archive_taker_tell(taker, taker->is_at_over, run->reason);
    if (*ret_error)
        return false;
    if (command->left_out_count == WEIR__ARCHIVE_RESTARTS_MAX) {
        *ret_error = weir__archive_taker_tell(taker, true, "its decoders died too often");
        return false;
    }
    command->left_out[command->left_out_count++] = taker->at;
    command->from = taker->at + 1;
    run->tries = 0;
    return true;
}

static void fill_command(struct run *run, const char *path, uint64_t size)
{
    struct weir__archive_command *command = &run->command;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    command->magic = WEIR__ARCHIVE_MAGIC;
    command->verb = WEIR__ARCHIVE_WALK;
    command->size = size;
    command->has_spill = run->walker->spill >= 0;
    command->may_grow = 1;
    command->options = run->walker->options;
    if (length <= WEIR__ARCHIVE_HINT_MAX)
        memcpy(command->hint, name, length);
}

/* Tells what the deadline cut off, so that it is not silent. What a hook ended, it knows. */
static void tell_end(struct run *run, int error)
{
    if (!run->taker.has_answered && (run->taker.has_at || run->command.from > 0))
        (void)!weir__archive_taker_tell(&run->taker, true,
                                        weir__archive_walker_why(run->walker, error));
}

static int walk(struct run *run)
{
    int error = 0;
    for (;;) {
        switch (attempt(run, &error)) {
        case OUTCOME_DONE:
            return 0;
        case OUTCOME_ENDED:
            tell_end(run, error);
            return error;
        case OUTCOME_DIED:
            if (!prepare_again(run, &error))
                return error;
        }
    }
}

static bool is_endless(const struct weir_deadline *deadline)
{
    return !deadline || (deadline->at_ns == WEIR_NEVER && !deadline->cancel);
}

int weir__archive_walk(struct weir__archive_walker *walker, int fd, const char *path,
                       const struct weir__archive_hooks *hooks,
                       const struct weir_deadline *deadline)
{
    struct stat st;
    if (is_endless(deadline))
        return -WEIR_E_INVALID;
    if (weir__sys_fstat(fd, &st) != 0)
        return weir_error_from_errno(errno);
    if (!S_ISREG(st.st_mode))
        return -WEIR_E_INVALID;
    struct run *run = weir__base_alloc(1, sizeof(*run));
    if (!run)
        return -WEIR_E_NO_MEMORY;
    run->walker = walker;
    run->deadline = deadline;
    run->fd = fd;
    fill_command(run, path, (uint64_t)st.st_size);
    int error = weir__archive_taker_init(&run->taker, path, &walker->options, hooks);
    if (!error)
        error = walk(run);
    weir__archive_taker_fini(&run->taker);
    weir__base_free(run);
    return error;
}

static int ignore_begin(void *arg, const char *path)
{
    (void)arg, (void)path;
    return 0;
}

static int ignore_bytes(void *arg, const char *bytes, size_t length)
{
    (void)arg, (void)bytes, (void)length;
    return 0;
}

static int ignore_end(void *arg, bool is_complete)
{
    (void)arg, (void)is_complete;
    return 0;
}

static void note_answer(void *arg, const char *path, const char *reason)
{
    bool *is_refused = arg;
    (void)path;
    *is_refused = strcmp(reason, "0") == 0;
}

int weir__archive_walker_try(struct weir__archive_walker *walker, enum weir__archive_trial what,
                             int fd, const struct weir_deadline *deadline)
{
    bool is_refused = false;
    const struct weir__archive_hooks hooks = {
        .begin = ignore_begin,
        .bytes = ignore_bytes,
        .end = ignore_end,
        .unscanned = note_answer,
        .arg = &is_refused,
    };
    struct run run = {.walker = walker, .deadline = deadline, .fd = fd};
    int error = 0, result = -1;
    fill_command(&run, "", 0);
    run.command.verb = WEIR__ARCHIVE_TRY;
    run.command.what = (uint32_t)what;
    if (weir__archive_taker_init(&run.taker, "", &walker->options, &hooks) != 0)
        return -1;
    /* A child that is reused may be dying of the last trial. */
    weir__archive_process_stop(&walker->process);
    int outcome = (int)attempt(&run, &error);
    if (outcome == OUTCOME_DONE)
        result = is_refused ? 0 : -1;
    else if (outcome == OUTCOME_DIED)
        result = walker->died_of;
    weir__archive_taker_fini(&run.taker);
    return result;
}
