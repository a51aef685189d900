/* cmd_scan.c - weir scan: the command line of a scan, and the thread that watches it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "commands.h"
#include "log.h"
#include "progress.h"
#include "resources.h"
#include "scan_fetch.h"
#include "scan_hush.h"
#include "scan_output.h"
#include "scan_print.h"
#include "scan_setup.h"
#include "term.h"
#include "text.h"

#include "banned.h"

COMMAND(scan);

/* How often signals and progress are looked at while the run is waited for. */
#define WATCH_EVERY_NS (100 * WEIR_NS_PER_MS)
/* For what is in flight when the user has had enough. */
#define STOP_NS (2 * WEIR_NS_PER_S)
/* After so long of it the user is told why nothing happens. */
#define TELL_NS    (300 * WEIR_NS_PER_MS)
#define LAST_WORDS "weir scan: stopped before anything was scanned: there is no report\n"

/* Memory: what there is of once, what a thread has at most (a segment, what is decoded from it,
 * candidates, compiled expressions), and the least that findings need. */
#define FIXED_BYTES    (UINT64_C(48) << 20)
#define THREAD_BYTES   (UINT64_C(44) << 20)
#define FINDINGS_BYTES (UINT64_C(8) << 20)
#define MEMORY_MIN     (FIXED_BYTES + THREAD_BYTES + FINDINGS_BYTES)
/* What an archive takes: its decoder, and members of it in work. */
#define DECODER_MIN (WEIR__ARCHIVE_MEMORY_MIN + WEIR__SCAN_MEMBERS_BYTES)
#define DECODER_MAX (WEIR__ARCHIVE_MEMORY_DEFAULT + WEIR__SCAN_MEMBERS_BYTES)
/* What one that has nothing to do may hold. */
#define DECODER_IDLE (UINT64_C(8) << 20)
/* As the help says; findings take an eighth. */
#define FINDINGS_SHARE 8u
#define MEMORY_OPENS   (UINT64_C(200) << 20)
_Static_assert((MEMORY_OPENS - FIXED_BYTES) / FINDINGS_SHARE * (FINDINGS_SHARE - 1) >=
                   THREAD_BYTES + DECODER_MIN,
               "it fits");
#define MEMORY_MAX (UINT64_C(1) << 40)

enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct values {
    unsigned format, progress;
    const char *output, *config, *baseline, *ignore_file, *files_from;
    struct weir__list rules;
    uint64_t decode_depth, memory, threads, files;
    const char *store;
    uint64_t fetch_bytes, fetch_ns;
    uint64_t archive_depth, archive_entries, entry_bytes, archive_bytes, archive_ratio, spills;
    bool show_secrets, from0, exit_zero, summary, allow_comments, trust_config;
    bool json, verbose, quiet, one_file_system;
    bool staged, respect_gitignore;
};

#define V struct values

/* In the order of enum weir__report_format. */
static const char *const formats[] = {"human", "json",   "jsonl",    "sarif", "csv",
                                      "junit", "github", "gitleaks", "html",  NULL};
_Static_assert(sizeof(formats) / sizeof(formats[0]) == WEIR__REPORT_FORMATS + 1, "all formats");
static const char *const progress_words[] = {"auto", "always", "never", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_WORD(V, format), .name = "format", .letter = 'f', .words = formats,
     .preset = "human", .section = "what is printed", .help = "the form of the report"},
    {WEIR__OPTION_FLAG(V, json), .name = "json", .help = "the same as --format=json"},
    {WEIR__OPTION_FILE(V, output), .name = "output", .letter = 'o', .value_name = "FILE",
     .help = "write the report to a file, which appears when it is complete; - is standard output"},
    {WEIR__OPTION_FLAG(V, show_secrets), .name = "show-secrets",
     .help = "do not redact secrets in the report",
     .detail = "They are never in messages. A file of --output is then readable for its owner "
               "alone."},
    {WEIR__OPTION_FLAG(V, summary), .name = "summary",
     .help = "say on standard error what was scanned, left out and used"},
    {WEIR__OPTION_WORD(V, progress), .name = "progress", .words = progress_words, .preset = "auto",
     .implied = "always", .negated = "never",
     .help = "show files, bytes, rate, secrets, time left and what is in flight",
     .detail =
         "auto: when standard error is a terminal. Elsewhere a line every five seconds. The "
         "time left is shown when it is known how much there is to do: for files and lists of "
         "files, and for trees once they have been counted beside the scan."},
    {WEIR__OPTION_FLAG(V, verbose), .name = "verbose", .letter = 'v',
     .help = "print every message, also those that the report has, and the summary"},
    {WEIR__OPTION_FLAG(V, quiet), .name = "quiet", .letter = 'q',
     .help = "print the report and errors alone"},
    {WEIR__OPTION_FLAG(V, exit_zero), .name = "exit-zero",
     .help = "findings do not change the exit status",
     .detail = "It is still 3 when something could not be scanned or the report not be written."},

    {WEIR__OPTION_FILE(V, config), .name = "config", .letter = 'c', .value_name = "FILE",
     .section = "what is looked for", .help = "rules of a file (TOML, as gitleaks has it)",
     .detail = "They take the place of the built-in rules unless the file extends them. Here, and "
               "for --ignore-file and --baseline, - is standard input."},
    {WEIR__OPTION_LIST(V, rules), .name = "rule", .value_name = "ID", .offered_by = "rules list",
     .help = "use this rule alone"},
    {WEIR__OPTION_FLAG(V, trust_config), .name = "trust-config",
     .help = "use configuration found in what is scanned",
     .detail = "Without it .weir.toml, .gitleaks.toml, .weirignore and .gitleaksignore are used "
               "only from the current directory, and only if what is scanned lies in it."},
    {WEIR__OPTION_TOGGLE(V, allow_comments), .name = "allow-comments", .preset = "yes",
     .help = "leave out lines with weir:allow or gitleaks:allow in them"},
    {WEIR__OPTION_FILE(V, ignore_file), .name = "ignore-file", .value_name = "FILE",
     .help = "fingerprints that are known, one on a line; instead of .weirignore and "
             ".gitleaksignore"},
    {WEIR__OPTION_FILE(V, baseline), .name = "baseline", .letter = 'b', .value_name = "FILE",
     .help = "an earlier report (JSON, JSON Lines or of gitleaks): what is in it is known"},
    {WEIR__OPTION_COUNT(V, decode_depth), .name = "decode-depth", .max = WEIR__DECODE_DEPTH_MAX,
     .initial = WEIR__DECODE_DEPTH_DEFAULT,
     .help = "how many encodings, one in another, are undone; 0: none"},

    {WEIR__OPTION_FILE(V, files_from), .name = "files-from", .value_name = "FILE",
     .section = "what is scanned", .help = "scan the names in a file; - is standard input",
     .detail = "Names that are symlinks are not followed."},
    {WEIR__OPTION_FLAG(V, from0), .name = "from0", .letter = '0',
     .help = "names in that file end with NUL, not with a newline"},
    {WEIR__OPTION_FLAG(V, staged), .name = "staged", .help = "scan what git is about to commit",
     .detail =
         "The content that is staged and differs from the last commit, whatever lies in the "
         "work tree, of the repository that the current directory is in. Paths are those from "
         "its top. Needs git."},
    {WEIR__OPTION_FLAG(V, respect_gitignore), .name = "respect-gitignore",
     .help = "leave out what .gitignore files name, and .git",
     .detail =
         "Paths that are given are scanned even so. Rules outside of .gitignore files are not "
         "read."},
    {WEIR__OPTION_FLAG(V, one_file_system), .name = "one-file-system", .letter = 'x',
     .help = "do not go into other file systems"},

    {WEIR__OPTION_COUNT(V, archive_depth), .name = "archive-depth", .section = "archives",
     .max = WEIR__ARCHIVE_DEPTH_MAX, .initial = 8,
     .help = "how deep archives in archives are opened; 0: none is",
     .detail = "Archives are known by their content. One that is not opened, or too deep, is told "
               "and scanned as plain bytes."},
    {WEIR__OPTION_COUNT(V, archive_entries), .name = "max-archive-entries", .min = 1,
     .max = UINT64_C(1) << 40, .initial = 1000000,
     .help = "members of one archive, those of archives in it included"},
    {WEIR__OPTION_SIZE(V, entry_bytes), .name = "max-entry-bytes", .min = 1,
     .max = UINT64_C(1) << 50, .initial = UINT64_C(1) << 30,
     .help = "bytes of one member; the rest of a larger one is told"},
    {WEIR__OPTION_SIZE(V, archive_bytes), .name = "max-archive-bytes", .min = 1,
     .max = UINT64_C(1) << 50, .initial = UINT64_C(10) << 30,
     .help = "bytes of all members of one archive, and of what is kept of it on disk"},
    {WEIR__OPTION_COUNT(V, archive_ratio), .name = "max-archive-ratio", .min = 1, .max = 1000000000,
     .initial = 1000, .help = "how many times its size an archive may unpack to, from 1 MiB on"},
    {WEIR__OPTION_COUNT(V, spills), .name = "max-spills", .max = WEIR__SCAN_SPILLS_MAX,
     .initial = WEIR__SCAN_SPILLS_DEFAULT,
     .help = "archives at once that may use temporary files; 0: none may",
     .detail = "They are needed for archives that come as a stream, and for large zip, 7z and ISO "
               "files in other archives. They have no name, and lie in TMPDIR, else in /var/tmp."},

    {WEIR__OPTION_STRING(V, store), .name = "store", .value_name = "URL",
     .section = "URLs and stored objects",
     .help = "where objects (b3:...) are; by default what WEIR_STORE says"},
    {WEIR__OPTION_SIZE(V, fetch_bytes), .name = "max-fetch-size", .min = 1,
     .max = UINT64_C(1) << 50, .initial = WEIR__FETCH_BYTES,
     .help = "bytes of one URL or object, after decoding",
     .detail = "What is larger is scanned so far, or not at all if it says how large it is, and "
               "told."},
    {WEIR__OPTION_DURATION(V, fetch_ns), .name = "fetch-timeout", .min = WEIR_NS_PER_MS,
     .max = 86400 * WEIR_NS_PER_S, .initial = WEIR__FETCH_TIME_NS,
     .help = "time for one URL or object, all tries included"},

    {WEIR__OPTION_COUNT(V, threads), .name = "threads", .min = 1, .max = WEIR__SCAN_THREADS_MAX,
     .section = "limits", .help = "threads that scan; by default one for each core"},
    {WEIR__OPTION_COUNT(V, files), .name = "max-files-in-flight", .min = 1,
     .max = WEIR__SCAN_READS_MAX, .initial = WEIR__SCAN_READS_DEFAULT,
     .help = "files read at once"},
    {WEIR__OPTION_SIZE(V, memory), .name = "max-memory", .min = MEMORY_MIN, .max = MEMORY_MAX,
     .help = "memory for threads, findings and decoders of archives together",
     .detail = "Fewer threads and decoders are started if need be. Secrets beyond their share are "
               "counted, not listed, and the scan is then incomplete. Archives are opened from 200 "
               "MiB on."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "PATH",
     .hint = WEIR__HINT_FILE,
     .help = "a file, a directory, a URL (http, https) or a stored object (b3:...); - is standard "
             "input; by default the current directory"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir scan", "look for secrets in the current directory and all below it"},
    {"weir scan --format=sarif --output=secrets.sarif src/ config/",
     "write a report for a code hosting service"},
    {"weir scan --staged", "look at what is about to be committed"},
    {"weir scan https://example.com/app.js", "look at what a server gives to everybody"},
    {"weir scan --json --output=known.json . ; weir scan --baseline=known.json",
     "accept what is there, and from then on hear only of what is new"},
    {NULL, NULL},
};

static const struct weir__example variables[] = {
    {"XDG_CACHE_HOME", "where the folder weir is, in which compiled rules are kept; by default "
                       "~/.cache"},
    {"TMPDIR", "where temporary files of archives are made; by default /var/tmp"},
    {"WEIR_STORE", "the store of objects (b3:...), if --store does not name one"},
    {"WEIR_LIBEXEC", "the folder of weir-unpack, which reads archives"},
    {"SSL_CERT_FILE", "a file of certificates that are trusted instead of those of the system"},
    {"http_proxy, https_proxy, all_proxy, no_proxy",
     "through which servers URLs are fetched, and which are not"},
    {NULL, NULL},
};

const struct weir__usage usage_scan = {
    .description =
        "Finds secrets (keys, tokens, passwords) in files, trees and streams, also where they are "
        "encoded in base64, hexadecimal or decimal numbers, percent or unicode escapes, UTF-16 or "
        "UTF-32. Each secret is told once, with all of its places, and redacted.\n\n"
        "Every regular file is read, binary or not, ignored by git or not. Symlinks are not "
        "followed, special files not read; both are counted. Whatever could not be scanned, or not "
        "completely, is named.\n\n"
        "The exit status is 0 when all was scanned and nothing found; 1 when there are findings, "
        "whether all was scanned or not; 3 when there are none but something could not be scanned "
        "or the report not be written.",
    .examples = examples,
    .variables = variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(V),
    .has_findings = true,
};

/* --- from the command line to a run --- */

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

static bool is_standard(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

static int check(const struct weir__call *call)
{
    const V *v = call->values;
    int readers = is_standard(v->files_from) + is_standard(v->config) +
                  is_standard(v->ignore_file) + is_standard(v->baseline);
    bool has_object = false;
    for (int i = 0; i < call->operands_count; i++) {
        if (call->operands[i][0] == '\0')
            return refuse("a path is empty: name a file or a directory; '.' is the current one");
        readers += is_standard(call->operands[i]);
        has_object |= strncmp(call->operands[i], "b3:", 3) == 0;
    }
    if (readers > 1)
        return refuse("standard input can be read once: '-' is one too many");
    if (v->json && v->format != WEIR__REPORT_HUMAN && v->format != WEIR__REPORT_JSON)
        return refuse("'--json' and another '--format' contradict each other: choose one");
    if (v->quiet && (v->verbose || v->summary || v->progress == PROGRESS_ALWAYS))
        return refuse("'--quiet' prints the report and errors alone: leave out '--verbose', "
                      "'--summary' and '--progress'");
    if (v->staged && (call->operands_count > 0 || v->files_from))
        return refuse("'--staged' scans what git is about to commit: leave out paths and "
                      "'--files-from'");
    if (v->staged && (v->respect_gitignore || v->one_file_system))
        return refuse("'--staged' reads no tree: leave out '--respect-gitignore' and "
                      "'--one-file-system'");
    if (v->from0 && !v->files_from)
        return refuse("'-0' is about '--files-from'");
    if (v->store && !has_object)
        return refuse("'--store' is about objects: name one (b3:...), or leave it out");
    return 0;
}

struct job {
    const struct weir__call *call;
    const V *values;
    struct weir__scan_options options;
    struct weir__scan_setup setup;
    struct weir__scan_web *web; /* NULL: nothing is fetched */
    struct weir__tally tally;
    struct weir__progress progress;
    struct weir_lock lock; /* guards secrets */
    uint64_t secrets;      /* that were found so far */
    uint64_t start_ns;
};

static const struct weir_lock_class job_class = {"scan-command", 610};

static void on_finding(void *arg, const char *path, const struct weir__finding *finding)
{
    struct job *job = arg;
    /* What there is no memory for is counted there. */
    if (weir__findings_add(job->setup.findings, path, NULL, finding) != WEIR__ADDED_SECRET)
        return;
    weir_lock_acquire(&job->lock);
    job->secrets++;
    weir_lock_release(&job->lock);
}

static void on_gap(void *arg, const struct weir__scan_gap *gap)
{
    struct job *job = arg;
    weir__tally_add(&job->tally, gap);
}

/* A decoder for each thread if that leaves each enough to work with, else fewer. */
static void limit_decoders(struct weir__scan_options *o, uint64_t bytes)
{
    uint64_t each = bytes / o->threads;
    if (each > DECODER_MAX)
        each = DECODER_MAX;
    if (each < DECODER_MIN)
        each = DECODER_MIN;
    o->archives.memory_max = each - WEIR__SCAN_MEMBERS_BYTES;
    o->archives_bytes = bytes > 0 ? bytes : 1; /* with too few, archives are told */
}

/* Shares the memory out. */
static void limit_memory(const V *v, struct weir__scan_options *o, uint64_t *ret_findings)
{
    uint64_t wanted = o->threads ? o->threads : weir__resources_cores();
    *ret_findings = 0;
    /* Enough for a decoder of a given size is that size, this, and the share of findings. */
    o->archives.memory_besides =
        FIXED_BYTES + (wanted * (THREAD_BYTES + DECODER_IDLE) + WEIR__SCAN_MEMBERS_BYTES) /
                          (FINDINGS_SHARE - 1) * FINDINGS_SHARE;
    if (v->memory == 0)
        return;
    uint64_t rest = v->memory - FIXED_BYTES; /* for one thread and findings at least */
    uint64_t findings = rest / FINDINGS_SHARE;
    if (findings < FINDINGS_BYTES)
        findings = FINDINGS_BYTES;
    if (findings > rest - THREAD_BYTES)
        findings = rest - THREAD_BYTES;
    *ret_findings = findings < WEIR__FINDINGS_BYTES ? findings : WEIR__FINDINGS_BYTES;
    rest -= *ret_findings;
    /* One decoder at least, where it fits beside one thread. */
    uint64_t decoder =
        o->archives.depth_max == 0 || rest < THREAD_BYTES + DECODER_MIN ? 0 : DECODER_MIN;
    uint64_t threads = (rest - decoder) / THREAD_BYTES;
    o->threads = (unsigned)(threads < wanted ? threads : wanted);
    o->bytes_max = (uint64_t)o->threads * WEIR__SCAN_READ_SIZE;
    limit_decoders(o, rest - o->threads * THREAD_BYTES);
}

/* For paths that are to be fetched, if there are any. */
static int open_web(struct job *job)
{
    struct weir__scan_options *o = &job->options;
    struct weir__scan_web_options web = {
        .paths = o->paths,
        .paths_count = o->paths_count,
        .store = job->values->store,
        .bytes_max = job->values->fetch_bytes,
        .timeout_ns = job->values->fetch_ns,
        .version = job->call->program->version,
    };
    int result = weir__scan_web_new(&job->web, &web);
    o->fetcher = weir__scan_web_fetcher(job->web);
    return result;
}

/* The file that gets the report; NULL: standard output does. */
static const char *output_of(const V *v)
{
    return is_standard(v->output) ? NULL : v->output;
}

/* Makes a file for a moment, which no signal may leave there. */
static int try_output(const char *path)
{
    weir__program_catch_signals();
    int result = weir__scan_try_output(path);
    weir__program_end_by_signals(LAST_WORDS);
    return result;
}

static int prepare(struct job *job, const char *const **ret_only)
{
    static const char *const here[] = {"."};
    const V *v = job->values;
    struct weir__scan_options *o = &job->options;
    weir__scan_options_init(o);
    o->paths = (const char *const *)job->call->operands;
    o->paths_count = (size_t)job->call->operands_count;
    if (o->paths_count == 0 && !v->files_from) {
        o->paths = here;
        o->paths_count = 1;
    }
    o->files_from = v->files_from;
    o->show_secrets = v->show_secrets;
    o->from0 = v->from0;
    o->threads = (unsigned)v->threads;
    o->reads_max = v->files;
    o->decode_depth = (unsigned)v->decode_depth;
    o->one_file_system = v->one_file_system;
    o->archives.depth_max = (unsigned)v->archive_depth;
    o->archives.entries_max = v->archive_entries;
    o->archives.entry_bytes_max = v->entry_bytes;
    o->archives.archive_bytes_max = o->archives.spill_bytes_max = v->archive_bytes;
    o->archives.ratio_max = (unsigned)v->archive_ratio;
    o->spills_max = v->spills;
    o->staged = v->staged;
    o->respect_gitignore = v->respect_gitignore;
    int result = open_web(job);
    if (result < 0)
        return result;
    const char **only = NULL;
    if (v->rules.count > 0) {
        only = weir__base_alloc(v->rules.count + 1, sizeof(*only));
        if (!only)
            return -WEIR_E_NO_MEMORY;
        memcpy(only, v->rules.items, v->rules.count * sizeof(*only));
    }
    *ret_only = only;
    struct weir__scan_wishes wishes = {
        .config = v->config,
        .ignore_file = v->ignore_file,
        .baseline = v->baseline,
        .only = only,
        .paths = o->paths,
        .paths_count = o->paths_count,
        .is_elsewhere = job->web != NULL,
        .trust_config = v->trust_config,
        .show_secrets = v->show_secrets,
        .ignore_allow_comments = !v->allow_comments,
    };
    if (v->staged) /* the current directory was for its configuration alone */
        o->paths_count = 0;
    limit_memory(v, o, &wishes.findings_bytes);
    /* Files that options name may be pipes, and expressions take seconds to compile: until that is
     * done there is nothing to report. */
    weir__program_end_by_signals(LAST_WORDS);
    result = weir__scan_setup_init(&job->setup, &wishes);
    if (result == 0 && output_of(v))
        result = try_output(output_of(v));
    if (result == 0)
        result = weir__scan_setup_engine(&job->setup, &wishes);
    /* From here on whoever wants it to stop gets a report of what there is. */
    weir__program_catch_signals();
    o->engine = job->setup.engine;
    if (result == 0)
        weir__hush_use(o->engine, o->decode_depth);
    return result;
}

/* --- the run --- */

static void show_progress(struct job *job, struct weir__scan *run, bool is_last)
{
    struct weir__scan_stats stats;
    weir__scan_read(run, &stats);
    weir_lock_acquire(&job->lock);
    uint64_t secrets = job->secrets;
    weir_lock_release(&job->lock);
    struct weir__progress_sample sample = {
        .now_ns = weir_now_ns(),
        .done = stats.bytes,
        .total = stats.bytes_total,
        .in_flight = stats.in_flight,
        .items_name = (stats.files_total ? stats.files_total : stats.files) == 1 ? "file" : "files",
        .items = stats.files,
        .items_total = stats.files_total,
        .found_name = secrets == 1 ? "secret" : "secrets",
        .found = secrets,
    };
    if (is_last)
        weir__progress_end(&job->progress, &sample, STDERR_FILENO);
    else
        weir__progress_show(&job->progress, &sample, STDERR_FILENO);
}

/* JSON Lines are told as they come; a file of --output appears when it is complete, so there it
 * would be of no use. */
static bool is_streamed(const V *v)
{
    return v->format == WEIR__REPORT_JSONL && !output_of(v);
}

/* Nobody reads on, or the disk is full: there is nothing to scan for. */
static bool stream(struct job *job)
{
    struct weir__out *out = job->call->out;
    if (!is_streamed(job->values) || !weir__findings_has_fresh(job->setup.findings))
        return true;
    if (weir__term_is_terminal(STDOUT_FILENO))
        weir__progress_hide(&job->progress, STDERR_FILENO);
    return weir__scan_print_found(job->setup.findings, out) == 0 && !weir__out_is_done(out);
}

/* A read that has begun cannot be ended by anybody but who is to write. */
static bool tell_stopping(const struct job *job, uint64_t stopped_ns)
{
    if (weir_now_ns() - stopped_ns < TELL_NS)
        return false;
    if (!job->values->quiet && weir__program_signal() != 0)
        weir__log(WEIR__LOG_INFO, "stopping: something that is read does not answer; the report "
                                  "comes within four seconds, a second signal ends it at once");
    return true;
}

/* Until the run is over: how far it is, and whether somebody wants it to stop. */
static void watch(struct job *job, struct weir__scan *run)
{
    uint64_t stopped_ns = 0;
    bool is_told = false;
    for (bool is_read = true;; is_read = stream(job)) {
        if (stopped_ns == 0 && (weir__program_signal() != 0 || !is_read)) {
            weir__scan_stop(run);
            stopped_ns = weir_now_ns();
        }
        struct weir_deadline deadline = weir_deadline_in(WATCH_EVERY_NS, NULL);
        if (weir__scan_wait(run, &deadline) != -WEIR_E_TIMEOUT)
            break;
        if (stopped_ns > 0 && weir_now_ns() - stopped_ns > STOP_NS)
            break;
        if (stopped_ns > 0 && !is_told)
            is_told = tell_stopping(job, stopped_ns);
        show_progress(job, run, false);
    }
    show_progress(job, run, true);
}

static enum weir__progress_mode progress_of(const V *values)
{
    bool is_on = values->progress == PROGRESS_ALWAYS ||
                 (values->progress == PROGRESS_AUTO && weir__term_is_terminal(STDERR_FILENO));
    return weir__progress_mode(STDERR_FILENO, values->quiet || !is_on);
}

static int run_scan(struct job *job, struct weir__scan_stats *ret_stats)
{
    struct weir__scan_hooks hooks = {.finding = on_finding, .gap = on_gap, .arg = job};
    struct weir__scan *run;
    enum weir__progress_mode mode = progress_of(job->values);
    job->options.has_totals = mode != WEIR__PROGRESS_QUIET;
    weir__progress_init(&job->progress, mode, WEIR__UNIT_SIZE, job->start_ns);
    weir__log_over_progress(mode == WEIR__PROGRESS_LINE);
    int result = weir__scan_start(&run, &job->options, &hooks);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "cannot start: %s", weir_error_text(result));
        return result;
    }
    watch(job, run);
    weir__log_over_progress(false);
    return weir__scan_finish(run, ret_stats);
}

/* --- the end --- */

static size_t rules_used(const V *v, const struct weir__rules *rules)
{
    return v->rules.count > 0 ? v->rules.count : rules->rules_count;
}

static struct weir__summary summarise(struct job *job, const struct weir__scan_stats *stats)
{
    struct weir__scan_setup *setup = &job->setup;
    bool was_interrupted = weir__program_signal() != 0;
    uint64_t unlisted = weir__findings_unlisted(setup->findings);
    struct weir__summary summary = {
        .files = stats->files,
        .bytes = stats->bytes,
        .archives = stats->archives,
        .members = stats->members,
        .special = stats->special,
        .symlinks = stats->symlinks,
        .allowed_paths = stats->allowed_paths,
        .ignored_paths = stats->ignored,
        .submodules = stats->submodules,
        .failed = stats->failed,
        .truncated = stats->partial,
        .allowed = stats->allowed,
        .ignored = weir__findings_ignored(setup->findings),
        .unlisted = unlisted,
        .unlisted_places = weir__places_unlisted(setup->findings),
        .configs = setup->configs,
        .engine = weir__engine_identity(setup->engine),
        .version = job->call->program->version,
        .rules = rules_used(job->values, setup->rules),
        .seconds = (double)(weir_now_ns() - job->start_ns) / 1e9,
        .is_complete = stats->failed == 0 && stats->partial == 0 && unlisted == 0 &&
                       !stats->is_stopped && !was_interrupted,
        .is_interrupted = was_interrupted,
    };
    weir__tally_list(&job->tally, job->setup.findings, &summary);
    if (!job->values->show_secrets)
        weir__scan_setup_hide(setup);
    return summary;
}

/* Whether people see the report. */
static bool is_shown(const V *v)
{
    return !output_of(v) && !v->json && v->format == WEIR__REPORT_HUMAN;
}

/* Whether the form of the report has room for what was not scanned or is not listed. */
static bool has_gaps(const V *v)
{
    return v->format != WEIR__REPORT_CSV && v->format != WEIR__REPORT_GITLEAKS;
}

static const char *how_compiled(const struct weir__scan_setup *setup)
{
    return weir__engine_is_cached(setup->engine) ? "compiled before"
           : setup->is_kept                      ? "compiled now"
                            : "compiled now and, without a cache that can be written, each time";
}

static int tell(struct job *job, const struct weir__scan_stats *stats)
{
    const V *v = job->values;
    const struct weir__scan_setup *setup = &job->setup;
    const char *output = output_of(v);
    if (is_streamed(v) && weir__scan_print_found(setup->findings, job->call->out) < 0)
        weir__log(WEIR__LOG_ERROR, "cannot print what was found");
    weir__findings_finish(setup->findings);
    weir__hush_know(setup->findings);
    struct weir__summary summary = summarise(job, stats);
    struct weir__report_options how = {
        .format = v->json ? WEIR__REPORT_JSON : (enum weir__report_format)v->format,
        .has_colour = !output && weir__term_wants_color(STDOUT_FILENO),
        .columns =
            !output && weir__term_is_terminal(STDOUT_FILENO) ? weir__term_width(STDOUT_FILENO) : 0,
    };
    int result =
        weir__scan_print(setup->findings, &summary, &how, output, v->show_secrets, job->call->out);
    weir__out_flush(job->call->out);
    weir__tally_log(&job->tally);
    size_t secrets = weir__findings_count(setup->findings);
    if (v->summary || v->verbose)
        weir__scan_log_summary(&summary, stats, secrets, how_compiled(setup));
    else if (!is_shown(v) && !weir__out_is_done(job->call->out))
        weir__scan_log_missing(&summary, !has_gaps(v));
    if (summary.is_interrupted)
        return -WEIR_E_INTERRUPTED;
    if ((secrets > 0 || summary.unlisted > 0) && !v->exit_zero)
        return -WEIR_E_FINDINGS;
    return result < 0 ? result : summary.is_complete ? 0 : -WEIR_E_INCOMPLETE;
}

int cmd_scan(const struct weir__call *call)
{
    const V *v = call->values;
    struct job job = {.call = call,
                      .values = v,
                      .setup = {.cache = {._fd = -1, ._installed = -1}},
                      .start_ns = weir_now_ns()};
    struct weir__scan_stats stats = {0};
    const char *const *only = NULL;
    int result = check(call);
    if (result < 0)
        return result;
    weir_lock_init(&job.lock, &job_class);
    result = weir__tally_init(&job.tally);
    job.tally.is_shown = is_shown(v) && !v->verbose;
    job.tally.is_verbose = v->verbose || !has_gaps(v);
    weir__hush_begin();
    if (result == 0)
        result = prepare(&job, &only);
    if (result == 0) {
        result = run_scan(&job, &stats);
        if (result == 0 || result == -WEIR_E_INCOMPLETE || result == -WEIR_E_CANCELED)
            result = tell(&job, &stats);
    }
    weir__base_free((void *)(uintptr_t)only);
    if (stats.abandoned > 0)
        return result; /* somebody who waits for standard input may come back to all this */
    weir__hush_end();
    weir__scan_setup_fini(&job.setup);
    weir__scan_web_free(job.web);
    weir__tally_fini(&job.tally);
    weir_lock_fini(&job.lock);
    return result;
}
