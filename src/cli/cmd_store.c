/* cmd_store.c - weir store: a store of chunks looked at, compacted and counted by hand. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "log.h"
#include "print_json.h"
#include "progress.h"
#include "store_end.h"
#include "store_show.h"
#include "sys.h"

#include "banned.h"

COMMAND(store);

/* Of a path in a message. */
#define PATH_SHOWN_MAX 200
/* Nobody else wants the disk. */
#define COMPACT_PER_S (UINT64_C(1) << 40)

struct values {
    bool json;
    bool quiet;
    uint64_t percent;
    bool has_percent;
};

enum action { CHECK, COMPACT, STATS };

static const char *const actions[] = {"check", "compact", "stats", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print a JSON object",
     .detail =
         "That of check has the array damage, whose elements have address (or null), segment, "
         "offset, size, counts, unreadable and what; sizes are bytes."},
    {WEIR__OPTION_COUNT(struct values, percent), WEIR__GIVEN(struct values, has_percent),
     .name = "percent", .min = 1, .max = 100, .initial = 1, .value_name = "N",
     .help = "of compact: segments of which so much is dead",
     .detail = "What is not dead is written once more, so that a small number costs more time and "
               "gains the most."},
    {WEIR__OPTION_FLAG(struct values, quiet), .name = "quiet", .letter = 'q',
     .help = "show no progress"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .min = 1,
     .max = 1,
     .words = actions,
     .help = "check every byte, compact what is dead, or print stats"},
    {.name = "DIR",
     .min = 1,
     .max = 1,
     .hint = WEIR__HINT_DIRECTORY,
     .help = "the folder of the store, which no other process has open"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir store check /var/lib/weir/storage",
     "read all of a store and compare it with its addresses"},
    {"weir store check --json /var/lib/weir/storage | jq -r '.damage[].address'",
     "the chunks that have to be put again"},
    {"weir store compact --percent 20 /var/lib/weir/storage",
     "give back the room of what was deleted, where it is a fifth of a segment or more"},
    {"weir store stats /var/lib/weir/storage", "how many chunks there are, how large and how old"},
    {NULL, NULL},
};

const struct weir__usage usage_store = {
    .description =
        "Looks after the folder of a store while no service has it open.\n\n"
        "check reads every segment from its first byte to its last. It trusts neither the lists of "
        "the segments nor the index: each chunk is compared with its address, and what is found "
        "with what the index says. It changes nothing. What is damaged is printed with its address "
        "and its place; whoever has the content puts it again. What a crash left behind the last "
        "record (torn) is no damage: it was never acknowledged, and is cut off when the store is "
        "opened next.\n\n"
        "compact moves what is wanted out of segments in which something is dead, and removes "
        "these. It can be ended at any time without harm. What is found lost or damaged when the "
        "store is opened is told, since it is not known any more afterwards; the work is done all "
        "the same. stats prints what the index and the newest segment know.\n\n"
        "The exit status of check and compact is 1 when something is damaged or lost, and else 3 "
        "when something could not be read, or a segment could not be compacted (left).",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
    .has_findings = true,
};

/* --- one run --- */

struct run {
    const struct weir__call *call;
    const struct values *values;
    const char *folder;
    struct weir__store *store;
    struct weir__store_report opened;
    struct weir__progress progress;
    struct weir__progress_sample sample;
    struct weir__buffer buffer;
    struct weir__json json;
};

static const char *shown(char text[PATH_SHOWN_MAX + 4], const char *path)
{
    weir__cover_clip(text, PATH_SHOWN_MAX + 4, path, SIZE_MAX);
    return text;
}

static int fail(const struct run *run, const char *verb, const char *reason, const char *cure,
                int error)
{
    char path[PATH_SHOWN_MAX + 4];
    weir__log(WEIR__LOG_ERROR, "cannot %s '%s': %s%s%s", verb, shown(path, run->folder), reason,
              cure ? ": " : "", cure ? cure : "");
    return error;
}

/* In the folder. ENOENT, if it is not there. */
static bool has(const struct run *run, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    errno = ENAMETOOLONG;
    return snprintf(path, sizeof(path), "%s/%s", run->folder, name) < (int)sizeof(path) &&
           weir__sys_fstatat(AT_FDCWD, path, &st, 0) == 0;
}

/* A folder that is none of a store is not made into one. */
static int find_store(const struct run *run)
{
    static const char cure[] = "name the folder of a store";
    struct stat st;
    if (weir__sys_fstatat(AT_FDCWD, run->folder, &st, 0) < 0)
        return fail(run, "open", weir__log_reason(errno), cure, weir_error_from_errno(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(run, "open", "it is no folder", cure, -WEIR_E_NOT_FOUND);
    if (has(run, "segments"))
        return 0;
    if (errno != ENOENT)
        return fail(run, "open", weir__log_reason(errno), NULL, weir_error_from_errno(errno));
    if (has(run, "store"))
        return fail(run, "open", "its folder 'segments' is missing", "restore it from a copy",
                    -WEIR_E_NOT_FOUND);
    return fail(run, "open", "it holds no store", cure, -WEIR_E_NOT_FOUND);
}

static const char *cure_of(int error)
{
    switch (error) {
    case -WEIR_E_BUSY:
        return "stop it first";
    case -WEIR_E_DENIED:
        return "run this as the owner of the store";
    case -WEIR_E_NO_SPACE:
        return "make room first";
    case -WEIR_E_CORRUPT:
        return "restore the folder from a copy";
    default:
        return NULL;
    }
}

/* Why a folder could only be opened to be read. */
static int refuse_to_write(const struct run *run)
{
    struct statfs fs;
    int fd = weir__sys_openat(AT_FDCWD, run->folder, O_RDONLY | O_DIRECTORY, 0);
    bool is_mount =
        fd >= 0 && weir__sys_fstatfs(fd, &fs) == 0 && ((unsigned long)fs.f_flags & ST_RDONLY) != 0;
    weir__sys_close(fd);
    if (is_mount)
        return fail(run, "write to", "its file system is mounted to be read alone",
                    "mount it to be written, with 'mount -o remount,rw'", -WEIR_E_READ_ONLY);
    return fail(run, "write to", "it can only be read", cure_of(-WEIR_E_DENIED), -WEIR_E_READ_ONLY);
}

static int open_store(struct run *run, bool is_read_only)
{
    struct weir__store_options store_options = {
        .folder = run->folder,
        .is_read_only = is_read_only,
        .is_offline = true,
        .compact_per_s = COMPACT_PER_S,
    };
    int error = find_store(run);
    if (error)
        return error;
    error = weir__store_open(&run->store, &store_options, &run->opened);
    if (!error && run->opened.is_read_only && !is_read_only)
        return refuse_to_write(run);
    /* What is wrong with the folder is told with what to do. */
    const char *cure = error == -WEIR_E_CORRUPT ? NULL : cure_of(error);
    return error ? fail(run, "open", weir__store_why(), cure, error) : 0;
}

static void warn(void *arg, const char *line)
{
    (void)arg;
    weir__log(WEIR__LOG_WARNING, "%s", line);
}

/* What was found wins over what could not be done: both are printed. */
static int judge(uint64_t findings, uint64_t failures)
{
    return findings > 0 ? -WEIR_E_FINDINGS : failures > 0 ? -WEIR_E_INCOMPLETE : 0;
}

/* Tells what ended the work, unless that was asked for. */
static int failed(const struct run *run, const char *verb, int error)
{
    if (weir__program_signal() != 0)
        return -WEIR_E_INTERRUPTED;
    return fail(run, verb, weir_error_text(error), cure_of(error), error);
}

static int note_progress(void *arg, uint64_t done, uint64_t total)
{
    struct run *run = arg;
    run->sample.now_ns = weir_now_ns();
    run->sample.done = done;
    run->sample.total = total;
    weir__progress_show(&run->progress, &run->sample, STDERR_FILENO);
    return weir__program_signal() != 0 || weir__out_is_done(run->call->out) ? -WEIR_E_CANCELED : 0;
}

static void begin_progress(struct run *run, enum weir__unit unit)
{
    weir__program_catch_signals();
    weir__log_over_progress(true);
    weir__progress_init(&run->progress, weir__progress_mode(STDERR_FILENO, run->values->quiet),
                        unit, weir_now_ns());
}

static void end_progress(struct run *run)
{
    run->sample.now_ns = weir_now_ns();
    weir__progress_end(&run->progress, &run->sample, STDERR_FILENO);
    weir__log_over_progress(false);
}

static void begin_json(struct run *run)
{
    weir__json_init(&run->json, &run->buffer);
    weir__json_object(&run->json);
    weir__json_key(&run->json, "folder");
    weir__json_string(&run->json, run->folder);
}

static int end_json(struct run *run)
{
    weir__json_end(&run->json);
    return weir__print_json(run->call->out, &run->json, &run->buffer);
}

/* --- check --- */

static void note_damage(void *arg, const struct weir__check_damage *damage)
{
    struct run *run = arg;
    if (run->values->json) {
        /* The buffer never holds more than one. */
        weir__json_damage(&run->json, damage);
        weir__out_write(run->call->out, weir__buffer_text(&run->buffer),
                        weir__buffer_length(&run->buffer));
        weir__buffer_truncate(&run->buffer, 0);
        return;
    }
    weir__progress_hide(&run->progress, STDERR_FILENO);
    weir__show_damage(run->call->out, damage);
    weir__out_flush(run->call->out);
    weir__progress_unhide(&run->progress, &run->sample, STDERR_FILENO);
}

static int check_store(struct run *run)
{
    struct weir__check_hooks hooks = {.damage = note_damage, .progress = note_progress, .arg = run};
    struct weir__check_report report;
    int error = open_store(run, true);
    if (error)
        return error;
    if (run->values->json) {
        begin_json(run);
        weir__json_key(&run->json, "damage");
        weir__json_array(&run->json);
    }
    begin_progress(run, WEIR__UNIT_SIZE);
    error = weir__store_check(run->store, run->opened.was_clean, &hooks, &report);
    end_progress(run);
    if (error)
        return failed(run, "check", error);
    if (run->values->json) {
        weir__json_end(&run->json);
        weir__json_check(&run->json, &report, &run->opened);
        error = end_json(run);
    } else {
        weir__show_check(run->call->out, &report, &run->opened);
    }
    if (error)
        return error;
    const struct weir__store_gaps *gaps = &run->opened.gaps;
    return judge(report.damaged + gaps->lost_segments + gaps->lost_bytes, report.unreadable);
}

/* --- compact and stats --- */

static void warn_of(void *arg, const struct weir__address *address, const char *what)
{
    const struct run *run = arg;
    char name[PATH_SHOWN_MAX + 4], text[WEIR__ADDRESS_TEXT];
    if (address)
        weir__address_print(address, text);
    weir__log(WEIR__LOG_WARNING, "%s: %s", address ? text : shown(name, run->folder), what);
}

/* What the opening found as well: who opens to write sees it for the last time, since the next mark
 * is made of what is there. */
static int judge_compacted(const struct weir__store_report *opened,
                           const struct weir__compacted *compacted)
{
    const struct weir__store_gaps *gaps = &opened->gaps;
    return judge(gaps->lost_segments + gaps->lost_bytes + compacted->damaged,
                 gaps->missing_segments + gaps->unreadable_bytes + compacted->left);
}

static int compact_store(struct run *run)
{
    struct weir__check_hooks hooks = {.progress = note_progress, .arg = run};
    struct weir__compacted compacted;
    /* Each segment ends by itself; between two of them a signal is looked for. */
    struct weir_deadline deadline = weir_deadline_in(UINT64_MAX / 4, NULL);
    int error = open_store(run, false);
    if (error)
        return error;
    weir__store_report_tell(&run->opened, warn, NULL);
    weir__store_on_damage(run->store, warn_of, run);
    run->sample.items_name = NULL;
    begin_progress(run, WEIR__UNIT_COUNT);
    error = weir__store_compact_all(run->store, (uint32_t)run->values->percent, &hooks, &deadline,
                                    &compacted);
    end_progress(run);
    if (error)
        return failed(run, "compact", error);
    compacted.damaged += run->opened.bad_records + run->opened.bad_segments;
    if (!run->values->json) {
        weir__show_compacted(run->call->out, &compacted);
    } else {
        begin_json(run);
        weir__json_compacted(&run->json, &compacted, &run->opened);
        error = end_json(run);
    }
    return error ? error : judge_compacted(&run->opened, &compacted);
}

static int count_store(struct run *run)
{
    struct weir__census census;
    struct weir__store_stats stats;
    int error = open_store(run, true);
    if (error)
        return error;
    error = weir__store_census(run->store, &census);
    if (error)
        return failed(run, "count", error);
    weir__store_read(run->store, &stats);
    if (!run->values->json) {
        weir__show_stats(run->call->out, &census, &stats, &run->opened);
        return 0;
    }
    begin_json(run);
    weir__json_stats(&run->json, &census, &stats, &run->opened);
    return end_json(run);
}

int cmd_store(const struct weir__call *call)
{
    static int (*const functions[])(struct run *) = {
        [CHECK] = check_store, [COMPACT] = compact_store, [STATS] = count_store};
    struct run run = {.call = call, .values = call->values, .folder = call->operands[1]};
    size_t action = 0;
    while (strcmp(actions[action], call->operands[0]) != 0)
        action++;
    if (run.values->has_percent && action != COMPACT) {
        weir__log(WEIR__LOG_ERROR, "option '--percent' is for compact alone");
        return -WEIR_E_USAGE;
    }
    weir__buffer_init(&run.buffer, WEIR__STORE_JSON_MAX);
    int result = functions[action](&run);
    int closed = weir__store_close(run.store);
    weir__store_end_tell(closed);
    weir__buffer_fini(&run.buffer);
    return closed == -WEIR_E_TIMEOUT && !result ? closed : result;
}
