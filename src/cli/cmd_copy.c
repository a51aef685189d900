/* cmd_copy.c - weir copy: the command line of a copy, and the thread that watches it.
 *
 * The table is long because the options are those that people know from rsync and cp; what they
 * mean together is checked in copy_check.c, and what is printed is the business of copy_report.c.
 */
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "cannot_start.h"
#include "commands.h"
#include "copy_check.h"
#include "copy_report.h"
#include "log.h"
#include "term.h"

#include "banned.h"

COMMAND(copy);

/* How often signals and progress are looked at while the run is waited for. */
#define WATCH_EVERY_NS (100 * WEIR_NS_PER_MS)

#define V              struct weir__copy_values
#define RULES_MAX      4096
#define WINDOW_MAX_NS  (86400 * WEIR_NS_PER_S)
#define BYTES_MIN      (1u << 20)
#define BYTES_MAX      (UINT64_C(1) << 40)
#define TABLE_MIN      (64u << 10)

static const char *const archive_parts[] = {"recursive", "links",   "perms",    "times", "group",
                                            "owner",     "devices", "specials", NULL};
static const char *const device_parts[] = {"devices", "specials", NULL};
static const char *const acl_parts[] = {"perms", NULL};

/* In the order of the enums of copy.h. */
static const char *const sparse_words[] = {"keep", "make", "never", NULL};
static const char *const reflink_words[] = {"auto", "always", "never", NULL};
static const char *const fsync_words[] = {"never", "end", "file", NULL};
static const char *const data_words[] = {"auto", "range", "ring", "plain", NULL};
static const char *const progress_words[] = {"auto", "always", "never", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_GROUP(archive_parts), .name = "archive", .letter = 'a', .section = "what is kept",
     .help = "all of -rlptgoD, which is the default",
     .detail = "Any part can be taken away again, by name (--no-owner) or by letter (--no-o); of "
               "options that contradict each other the last one wins. -H, -A, -X and -U are not "
               "part of it."},
    {WEIR__OPTION_TOGGLE(V, copy.recursive), WEIR__GIVEN(V, has_recursive), .name = "recursive",
     .letter = 'r', .preset = "yes", .help = "go into directories"},
    {WEIR__OPTION_TOGGLE(V, copy.links), .name = "links", .letter = 'l', .preset = "yes",
     .help = "copy symlinks as symlinks; without it they are left out"},
    {WEIR__OPTION_TOGGLE(V, copy.perms), .name = "perms", .letter = 'p', .preset = "yes",
     .help = "keep permissions",
     .detail = "Without it new files get the source's bits less the umask, and those that exist "
               "keep theirs."},
    {WEIR__OPTION_TOGGLE(V, copy.times), .name = "times", .letter = 't', .preset = "yes",
     .help = "keep modification times, to the nanosecond"},
    {WEIR__OPTION_TOGGLE(V, copy.group), .name = "group", .letter = 'g', .preset = "yes",
     .help = "keep groups, where permitted"},
    {WEIR__OPTION_TOGGLE(V, copy.owner), .name = "owner", .letter = 'o', .preset = "yes",
     .help = "keep owners, where permitted (as root)"},
    {WEIR__OPTION_GROUP(device_parts), .name = "special-files", .letter = 'D',
     .help = "the same as --devices --specials"},
    {WEIR__OPTION_TOGGLE(V, copy.devices), .name = "devices", .preset = "yes",
     .help = "copy device files (as root)"},
    {WEIR__OPTION_TOGGLE(V, copy.specials), .name = "specials", .preset = "yes",
     .help = "copy fifos and sockets"},
    {WEIR__OPTION_TOGGLE(V, copy.hard_links), .name = "hard-links", .letter = 'H',
     .help = "keep hard links, also between the sources given"},
    {WEIR__OPTION_TOGGLE(V, copy.acls), .name = "acls", .letter = 'A', .members = acl_parts,
     .help = "keep ACLs; implies --perms"},
    {WEIR__OPTION_TOGGLE(V, copy.xattrs), .name = "xattrs", .letter = 'X',
     .help = "keep extended attributes, of every namespace that you may read"},
    {WEIR__OPTION_TOGGLE(V, copy.atimes), .name = "atimes", .letter = 'U',
     .help = "keep access times"},
    {WEIR__OPTION_TOGGLE(V, copy.omit_dir_times), .name = "omit-dir-times", .letter = 'O',
     .help = "leave the times of directories alone"},
    {WEIR__OPTION_TOGGLE(V, copy.omit_link_times), .name = "omit-link-times", .letter = 'J',
     .help = "leave the times of symlinks alone"},
    {WEIR__OPTION_WORD(V, sparse), .name = "sparse", .letter = 'S', .words = sparse_words,
     .preset = "keep", .implied = "keep", .negated = "never",
     .help = "holes: kept where the source has them, made of all zeros, or filled in"},
    {WEIR__OPTION_LIST(V, chmod), .name = "chmod", .value_name = "CHANGES",
     .help = "change permissions on the way, as in Dg+s,ug+w,Fo-w or D755,F644",
     .detail = "Changes are separated by commas; one that begins with D is for directories, with F "
               "for files. They come on top of what --perms says."},
    {WEIR__OPTION_STRING(V, chown), .name = "chown", .value_name = "USER:GROUP",
     .help = "give everything to USER, to GROUP (:GROUP), or to both; names or numbers"},

    {WEIR__OPTION_FLAG(V, copy.checksum), .name = "checksum", .letter = 'c',
     .section = "what is brought up to date",
     .help = "compare the content (BLAKE3) of files of the same size, not their times"},
    {WEIR__OPTION_FLAG(V, copy.size_only), .name = "size-only",
     .help = "take files of the same size for equal"},
    {WEIR__OPTION_FLAG(V, copy.ignore_times), .name = "ignore-times", .letter = 'I',
     .help = "copy files also when size and time agree"},
    {WEIR__OPTION_DURATION(V, copy.modify_window_ns), .name = "modify-window", .max = WINDOW_MAX_NS,
     .help = "take times that differ by no more than this for equal",
     .detail = "A number and a unit, as in 2s or 500ms. Without it times must agree to the "
               "nanosecond; a file system with coarser times may need 1s or 2s."},
    {WEIR__OPTION_FLAG(V, copy.ignore_existing), .name = "ignore-existing",
     .help = "leave files alone that exist at the destination"},
    {WEIR__OPTION_FLAG(V, copy.existing), .name = "existing",
     .help = "make nothing new, only bring up to date what exists"},
    {WEIR__OPTION_FLAG(V, copy.update), .name = "update", .letter = 'u',
     .help = "leave files alone that are newer at the destination"},

    {WEIR__OPTION_FLAG(V, delete_any), .name = "delete", .section = "what is deleted",
     .help = "delete what the source does not have, after the copying",
     .detail = "Looks only into directories that were copied. When something could not be read "
               "or written, nothing is deleted, unless --ignore-errors."},
    {WEIR__OPTION_FLAG(V, delete_before), .name = "delete-before",
     .help = "delete it before the copying, to make room",
     .detail = "The source is read through once more, before anything is deleted."},
    {WEIR__OPTION_FLAG(V, delete_after), .name = "delete-after", .help = "the same as --delete"},
    {WEIR__OPTION_FLAG(V, copy.delete_excluded), .name = "delete-excluded",
     .help = "delete also what the rules exclude; implies --delete"},
    {WEIR__OPTION_COUNT(V, copy.delete_max), .name = "max-delete", .initial = UINT64_MAX,
     .help = "delete at most so many files and directories",
     .detail = "When there were more, the rest is kept, this is said, and the exit status is 3."},
    {WEIR__OPTION_FLAG(V, copy.delete_despite_errors), .name = "ignore-errors",
     .help = "delete also when something could not be read or written"},

    {WEIR__OPTION_LIST(V, rules), .name = "exclude", .value_name = "PATTERN", .max = RULES_MAX,
     .section = "what is copied", .help = "leave out what matches",
     .detail = "Patterns are those of rsync: the first that matches decides, in the order of the "
               "command line; a leading / anchors at the top of the source, a trailing / means "
               "directories, * stops at a slash and ** does not, dir/*** is dir and all below it. "
               "\"+ \" or \"- \" in front of a pattern overrides which kind it is."},
    {WEIR__OPTION_LIST(V, rules), .name = "include", .value_name = "PATTERN", .max = RULES_MAX,
     .help = "do not leave out what matches"},
    {WEIR__OPTION_LIST(V, rules), .name = "exclude-from", .value_name = "FILE",
     .hint = WEIR__HINT_FILE, .max = RULES_MAX,
     .help = "read patterns from a file, one on a line; - is standard input",
     .detail = "Lines that are empty or begin with ; or # are left out."},
    {WEIR__OPTION_LIST(V, rules), .name = "include-from", .value_name = "FILE",
     .hint = WEIR__HINT_FILE, .max = RULES_MAX, .help = "the same for --include"},
    {WEIR__OPTION_FILE(V, copy.files_from), .name = "files-from", .value_name = "FILE",
     .help = "copy only the names in a file, one on a line; - is standard input",
     .detail = "Names are relative to the one source, which must be a directory, and keep their "
               "directories at the destination. A directory in the list stands for itself: what is "
               "in it is copied if it is listed too, or if -r is given. Lines that begin with ; or "
               "# are left out."},
    {WEIR__OPTION_FLAG(V, copy.from0), .name = "from0", .letter = '0',
     .help = "names and patterns in files end with NUL, not with a newline"},
    {WEIR__OPTION_FLAG(V, copy.gitignore), .name = "gitignore",
     .help = "leave out what the .gitignore files in the source ignore"},
    {WEIR__OPTION_FLAG(V, copy.one_file_system), .name = "one-file-system", .letter = 'x',
     .help = "do not go into other file systems; their mount points are made"},
    {WEIR__OPTION_SIZE(V, copy.size_max), .name = "max-size", .initial = UINT64_MAX,
     .help = "leave out larger files"},
    {WEIR__OPTION_SIZE(V, copy.size_min), .name = "min-size", .help = "leave out smaller files"},

    {WEIR__OPTION_COUNT(V, copy.files_max), .name = "max-files-in-flight", .min = 1,
     .max = WEIR__COPY_FILES_MAX, .section = "limits",
     .help = "entries worked on at once; by default 1024, on a rotational disk 128",
     .detail = "NVMe does well with 512 to 2048, a hard disk with 64 to 256. Lowered, with a note, "
               "where fewer descriptors may be open, and for a while when the system runs out of "
               "descriptors or memory."},
    {WEIR__OPTION_SIZE(V, copy.bytes_max), .name = "max-bytes-in-flight", .min = BYTES_MIN,
     .initial = WEIR__COPY_BYTES_DEFAULT, .max = BYTES_MAX,
     .help = "bytes of files worked on at once",
     .detail = "A file counts with its size, a very large one takes all there is; so many small "
               "files run side by side and few large ones."},
    {WEIR__OPTION_COUNT(V, copy.dirs_max), .name = "max-dirs-in-flight", .min = 1,
     .max = WEIR__COPY_FILES_MAX, .initial = WEIR__COPY_DIRS_DEFAULT,
     .help = "directories read at once"},
    {WEIR__OPTION_COUNT(V, copy.large_max), .name = "max-large-in-flight", .min = 1,
     .max = WEIR__COPY_FILES_MAX, .initial = WEIR__COPY_LARGE_DEFAULT,
     .help = "files of 64M and more copied at once"},
    {WEIR__OPTION_RATE(V, copy.rate_per_s), .name = "bwlimit",
     .help = "bytes moved in a second, over all files; 0 is no limit",
     .detail = "A size, as in 50M or 500k/s; a bare number is bytes, not the KiB of rsync."},
    {WEIR__OPTION_COUNT(V, threads), .name = "threads", .min = 1, .max = WEIR__COPY_THREADS_MAX,
     .help = "threads that copy; by default two for each core, 4 to 16"},
    {WEIR__OPTION_SIZE(V, copy.table_bytes), .name = "table-memory", .min = TABLE_MIN,
     .initial = WEIR__COPY_TABLE_BYTES,
     .help = "memory for the table of -H; more goes to a temporary file"},

    {WEIR__OPTION_WORD(V, reflink), .name = "reflink", .words = reflink_words, .preset = "auto",
     .implied = "always", .negated = "never", .section = "how it is copied",
     .help = "share the blocks of whole files where the file system can",
     .detail = "always: a file that cannot be shared is an error."},
    {WEIR__OPTION_WORD(V, data_path), .name = "data-path", .words = data_words, .preset = "auto",
     .help = "move data by copy_file_range, by io_uring or by plain reads and writes",
     .detail = "auto measures which one is fastest for large files, and -v tells which it was. "
               "Small files are read and written in one go."},
    {WEIR__OPTION_FLAG(V, copy.in_place), .name = "inplace",
     .help = "write into files that exist, instead of replacing them when they are complete",
     .detail = "Half-written files can then be seen, also after a crash."},
    {WEIR__OPTION_FLAG(V, copy.keep_dst_links), .name = "keep-links",
     .help = "with --inplace: write also into files with several links, instead of breaking them"},
    {WEIR__OPTION_FLAG(V, copy.partial), .name = "partial",
     .help = "keep the beginning of large files that were cut off, and go on from there"},
    {WEIR__OPTION_WORD(V, fsync), .name = "fsync", .words = fsync_words, .preset = "never",
     .implied = "end", .negated = "never",
     .help = "have everything on disk: once at the end, or each file before it gets its name"},
    {WEIR__OPTION_FLAG(V, copy.verify), .name = "verify",
     .help = "read every file that was written again and compare its hash"},
    {WEIR__OPTION_FLAG(V, copy.fail_fast), .name = "fail-fast", .help = "stop at the first error"},
    {WEIR__OPTION_FLAG(V, copy.dry_run), .name = "dry-run", .letter = 'n',
     .help = "change nothing, show what would be done (as -i unless -v, -q or --json)"},

    {WEIR__OPTION_FLAG(V, itemize), WEIR__AGAIN(V, itemize_all), .name = "itemize-changes",
     .letter = 'i', .section = "what is printed",
     .help = "one line for each change, as rsync has them; -ii also for what stays as it is",
     .detail = "\">f.st......\" is a file (f) that was copied (>) since size (s) and time (t) "
               "differed; plus signs mark what is new, blanks what stays as it is. A third -i "
               "adds nothing."},
    {WEIR__OPTION_FLAG(V, verbose), WEIR__AGAIN(V, verbose_all), .name = "verbose", .letter = 'v',
     .help = "print the names of what is copied, how data were moved, and a summary; -vv also "
             "what stays as it is and what is left out, and why",
     .detail = "With --json one -v is enough for that. A third one adds nothing."},
    {WEIR__OPTION_FLAG(V, quiet), .name = "quiet", .letter = 'q', .help = "print errors alone"},
    {WEIR__OPTION_FLAG(V, json), .name = "json",
     .help = "print one JSON object on a line for each change and error, and a summary",
     .detail = "Names that are not UTF-8 come a second time in hexadecimal, as path_hex."},
    {WEIR__OPTION_WORD(V, progress), .name = "progress", .words = progress_words, .preset = "auto",
     .implied = "always", .negated = "never",
     .help = "show files, bytes, rate, time left and what is in flight",
     .detail = "auto: when standard error is a terminal. Elsewhere a line every five seconds."},
    {WEIR__OPTION_FLAG(V, stats), .name = "stats", .help = "print all counts at the end"},
    WEIR__OPTIONS_END,
};

/* What people know from rsync and cp. A nearest name would mislead them: most are not spelled
 * wrongly, but meant. */
static const struct weir__refused refused[] = {
    {"-h", "asks for help here, and stands alone; sizes are printed for people anyway: leave it "
           "out"},
    {"--human-readable --no-h", "is not needed: sizes are printed for people anyway"},
    {"-b --backup --backup-dir --suffix", "is not offered: what is replaced is not kept"},
    {"-R",
     "is not offered: directories are gone into anyway, which is -R of cp; instead of rsync's "
     "use '--files-from', which keeps the directories of names"},
    {"--relative --no-implied-dirs --parents",
     "is not offered: use '--files-from', which keeps directories"},
    {"-L --copy-links --dereference -k --copy-dirlinks --copy-unsafe-links --safe-links "
     "--munge-links",
     "is not offered: symlinks are copied as they are, or left out by '--no-links'"},
    {"-K --keep-dirlinks", "is not offered: a symlink where a directory belongs is replaced"},
    {"-d --no-dereference", "is not needed: symlinks are copied as they are; for hard links use "
                            "'-H'"},
    {"--dirs", "is not offered: use '--files-from', where a directory stands for itself"},
    {"--link-dest --copy-dest --compare-dest", "is not offered: there is one destination"},
    {"-F --filter -C --cvs-exclude",
     "is not offered: use '--include' and '--exclude', or '--gitignore'"},
    {"-f",
     "is not offered: use '--include' and '--exclude'; what is in the way is replaced anyway, "
     "which is -f of cp"},
    {"--force", "is not needed: what is in the way is replaced, a full directory with '--delete'"},
    {"--remove-source-files", "is not offered: the source is never changed"},
    {"--info --out-format --log-format",
     "is not offered: use '--progress' or '--stats' for how far it is, '-i' or '--json' for what "
     "is done"},
    {"--log-file", "is not offered: redirect what '-v' or '--json' prints"},
    {"--debug --msgs2stderr --stderr", "is not offered: '-v' tells how files were moved"},
    {"--append --append-verify",
     "is not offered: use '--partial', which goes on with what was cut off"},
    {"--list-only", "is not offered: use '-n -i', which shows what would be copied"},
    {"-m --prune-empty-dirs", "is not offered: use '--files-from' with the files to be copied"},
    {"-E --executability", "is not offered: use '--chmod', or keep modes, which is the default"},
    {"-N --crtimes", "is not offered: Linux lets nobody set the time at which a file was made"},
    {"--usermap --groupmap", "is not offered: use '--chown'"},
    {"--fake-super --super --copy-as", "is not offered: run it as the user who may"},
    {"--ignore-non-existing", "is not offered: use '--existing', which is the same"},
    {"--copy-devices --write-devices",
     "is not offered: devices are copied as devices; for their content use 'dd'"},
    {"--ignore-missing-args --delete-missing-args",
     "is not offered: a source that is missing is an error, and the rest is copied"},
    {"--timeout --contimeout --stop-after --stop-at",
     "is not offered: put 'timeout --signal=INT TIME' before the command; what was cut off is gone "
     "on with"},
    {"-y --fuzzy -B --block-size --checksum-choice --cc --checksum-seed --compress-level "
     "--compress-choice --zc --skip-compress --no-whole-file --no-W",
     "is not needed: local files are copied whole"},
    {"--preallocate", "is not needed: space is reserved where that helps"},
    {"--open-noatime", "is not needed: files are opened so where that is allowed"},
    {"--write-batch --only-write-batch --read-batch", "is not offered: copies are made at once"},
    {"--iconv", "is not offered: names are bytes, and stay as they are"},
    {"-s --protect-args --secluded-args --old-args --trust-sender",
     "is not needed: no shell and no other machine sees the names"},
    {"--interactive", "is not offered: use '-n' to see what would happen"},
    {"--attributes-only", "is not offered: use '--existing --size-only'"},
    {"--symbolic-link --link", "is not offered: copies hold data"},
    {"--remove-destination", "is not needed: a file is replaced, not written over"},
    {"-Z --context", "is not offered: '-X' keeps the security context of the source"},
    {"-T", "is not offered: temporary names are made beside the final ones; instead of -T of cp "
           "end the source with a slash"},
    {"--temp-dir --partial-dir --delay-updates",
     "is not offered: temporary names are made beside the final ones"},
    {"--no-target-directory", "is not offered: end the source with a slash, as in 'SOURCE/'"},
    {"--target-directory", "is not offered: the destination comes last"},
    {"--mkpath", "is not offered: make the directory first, with 'mkdir -p'"},
    {"-e --rsh --rsync-path", "is not offered: copies are local"},
    {"-W --whole-file -z --compress --numeric-ids",
     "is not needed: local copies are whole, uncompressed and by number anyway: leave it out"},
    {"--inc-recursive --i-r", "is not needed: directories are read while others are copied"},
    {"--del --delete-during --delete-delay",
     "is not offered: use '--delete', which deletes after the copying, or '--delete-before'"},
    {"-P", "is not offered: use '--partial --progress'"},
    {"--no-preserve",
     "is not offered: use '--no-perms', '--no-owner', '--no-group' or '--no-times'"},
    {"--preserve", "is not needed: all of -a is kept anyway; more is kept by '-H', '-A' and '-X'"},
    {"--no-clobber", "is not offered: use '--ignore-existing'"},
    {NULL, NULL},
};

static const struct weir__operand operands[] = {
    {.name = "SOURCE",
     .min = 1,
     .hint = WEIR__HINT_FILE,
     .help = "what to copy; with a slash at its end the contents of a directory"},
    {.name = "DESTINATION",
     .min = 1,
     .max = 1,
     .hint = WEIR__HINT_FILE,
     .help = "where to; made if need be, in a directory that exists"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir copy -HAX photos/ backup/", "make or update a faithful copy of a tree"},
    {"weir copy -HAX --delete -n photos/ backup/",
     "show what would change, including what would be deleted"},
    {"weir copy --exclude=.git --exclude='*.o' src build.log disk/",
     "copy a directory and a file into another, without some names"},
    {"weir copy --bwlimit=50M --max-files-in-flight=64 --progress data/ disk/data/",
     "be gentle to a slow disk, and say how far it is"},
    {"weir copy --json -n data/ disk/data/ | jq -r 'select(.event == \"item\").path'",
     "the names that differ, for a script"},
    {NULL, NULL},
};

const struct weir__usage usage_copy = {
    .description =
        "Copies files and trees like 'cp -a' and local 'rsync -a': what exists at the destination "
        "is brought up to date, and what agrees in size and time is left alone. SOURCE/ with a "
        "slash means the contents of a directory, without one the directory itself.\n\n"
        "Nothing half-made is ever seen under its final name (unless --inplace): a new tree is "
        "built under one temporary name and renamed, a file in a directory that exists likewise. "
        "A run that was cut off is taken up again by the next one, which also removes what "
        "dead runs left.\n\n"
        "Work is admitted before it starts: never more entries, bytes, directories and large files "
        "are in flight than the limits say. Memory does not grow with the tree.\n\n"
        "An error is printed with its path and reason, and the rest goes on; the exit status is "
        "then 3. The first Ctrl-C stops new work, finishes what is small and stops what is large "
        "(--partial keeps it); a second one leaves at once. Either way the program ends as "
        "interrupted (130, or 143 of SIGTERM).",
    .examples = examples,
    .operands = operands,
    .options = options,
    .refused = refused,
    .values_size = sizeof(V),
};

static enum weir__progress_mode progress_of(const V *values)
{
    bool is_on =
        values->progress == WEIR__COPY_PROGRESS_ALWAYS ||
        (values->progress == WEIR__COPY_PROGRESS_AUTO && weir__term_is_terminal(STDERR_FILENO));
    return weir__progress_mode(STDERR_FILENO, values->quiet || !is_on);
}

static struct weir__report_options report_of(const V *values, struct weir__out *out)
{
    bool is_plain = !values->verbose && !values->quiet && !values->json;
    return (struct weir__report_options){
        .names = values->verbose,
        .items = values->itemize || (values->copy.dry_run && is_plain),
        .methods = values->verbose,
        .json = values->json,
        .same = values->itemize_all,
        .all = values->verbose && (values->verbose_all || values->json),
        .quiet = values->quiet,
        .stats = values->stats,
        .summary =
            values->verbose || values->stats || values->progress == WEIR__COPY_PROGRESS_ALWAYS,
        .is_dry_run = values->copy.dry_run,
        .progress = progress_of(values),
        .out = out,
    };
}

/* Until the run is over: how far it is, and whether somebody wants it to stop. */
static void watch(struct weir__copy *run, struct weir__report *report)
{
    bool was_stopped = false;
    for (;;) {
        struct weir_deadline deadline = weir_deadline_in(WATCH_EVERY_NS, NULL);
        if (weir__copy_wait(run, &deadline) != -WEIR_E_TIMEOUT)
            return;
        if (!was_stopped && weir__program_signal() != 0) {
            weir__copy_stop(run);
            weir__report_say(report, "interrupted: finishing what is in flight; once more to leave "
                                     "at once");
            was_stopped = true;
        }
        struct weir__copy_stats stats;
        weir__copy_read(run, &stats);
        weir__report_tick(report, &stats);
    }
}

/* Between the run and the report, whose hooks arg is: a directory that was named and is left out
 * does not pass without a word, while whatever else is left out was asked to be. */
static void hear(void *arg, const struct weir__copy_event *event)
{
    const struct weir__copy_hooks *report = arg;
    bool is_skipped = event->kind == WEIR__EVENT_SKIPPED;
    if (!is_skipped || (report->wanted & 1u << WEIR__EVENT_SKIPPED) != 0)
        report->event(report->arg, event);
    if (!is_skipped || !event->detail || strcmp(event->detail, "a directory") != 0)
        return;
    struct weir__copy_event note = {.kind = WEIR__EVENT_NOTE,
                                    .path = event->path,
                                    .detail = "a directory, and left out: give '-r'"};
    report->event(report->arg, &note);
}

static int run_copy(const struct weir__copy_options *copy, const struct weir__report_options *how,
                    uint64_t threads)
{
    struct weir__report *report;
    struct weir__copy_hooks told;
    struct weir__copy *run;
    uint64_t errors;
    int result = weir__report_start(&report, how, &told);
    if (result)
        return weir__cannot_start(result, "--threads", threads);
    struct weir__copy_hooks hooks = {
        .event = hear, .arg = &told, .wanted = told.wanted | 1u << WEIR__EVENT_SKIPPED};
    /* To hear of all that is left out has a price, and here nothing is for want of -r. */
    if (copy->recursive || copy->files_from)
        hooks = told;
    weir__program_catch_signals();
    result = weir__copy_start(&run, copy, &hooks);
    if (result) {
        result = weir__report_finish(report, NULL, result, &errors);
        return errors ? result : weir__cannot_start(result, "--threads", threads);
    }
    watch(run, report);
    struct weir__copy_stats stats;
    result = weir__copy_finish(run, &stats);
    if (weir__program_signal() != 0)
        result = -WEIR_E_INTERRUPTED;
    else if (result == -WEIR_E_CANCELED && stats.errors > 0)
        result = -WEIR_E_INCOMPLETE; /* --fail-fast: the error is what matters */
    return weir__report_finish(report, &stats, result, &errors);
}

int cmd_copy(const struct weir__call *call)
{
    const V *values = call->values;
    struct weir__report_options how = report_of(values, call->out);
    struct weir__copy_plan plan;
    int result = weir__copy_plan_init(&plan, values, call->operands, call->operands_count);
    plan.options.count = how.progress != WEIR__PROGRESS_QUIET;
    if (result == 0)
        result = run_copy(&plan.options, &how, values->threads);
    weir__copy_plan_fini(&plan);
    return result;
}
