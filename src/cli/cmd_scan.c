/* cmd_scan.c - weir scan: the command line of a scan, and the thread that watches it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "brought.h"
#include "cannot_start.h"
#include "commands.h"
#include "log.h"
#include "progress.h"
#include "scan_explain.h"
#include "scan_fetch.h"
#include "scan_history.h"
#include "scan_hush.h"
#include "scan_memory.h"
#include "scan_metrics.h"
#include "scan_output.h"
#include "scan_print.h"
#include "scan_setup.h"
#include "scan_values.h"
#include "term.h"
#include "text.h"

#include "banned.h"

COMMAND(scan);

/* How often signals and progress are looked at while the run is waited for. */
#define WATCH_EVERY_NS (100 * WEIR_NS_PER_MS)
/* When the user has had enough: for what is in flight, and for a reader that takes nothing. */
#define STOP_NS   (2 * WEIR_NS_PER_S)
#define READER_NS (WEIR_NS_PER_S / 2)
/* After so long of it the user is told why nothing happens. */
#define TELL_NS    (300 * WEIR_NS_PER_MS)
#define LAST_WORDS "weir scan: stopped before anything was scanned: there is no report\n"

#define V          struct weir__scan_values

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

/* What limits archives, where none is opened. */
static int check_archives(const V *v)
{
    const char *about = v->archive_depth > 0 ? NULL
                        : v->has_entries     ? "max-archive-entries"
                        : v->has_entry_bytes ? "max-entry-bytes"
                        : v->has_ratio       ? "max-archive-ratio"
                                             : NULL;
    if (!about)
        return 0;
    weir__log(WEIR__LOG_ERROR,
              "'--%s' is about archives, and '--archive-depth=0' opens none: leave out one of the "
              "two",
              about);
    return -WEIR_E_USAGE;
}

static int check(const struct weir__call *call)
{
    const V *v = call->values;
    int readers = is_standard(v->files_from) + is_standard(v->git.repos_from) +
                  is_standard(v->config) + is_standard(v->ignore_file) + is_standard(v->baseline);
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
    if (v->quiet && (v->verbose || v->summary || v->progress == WEIR__SCAN_PROGRESS_ALWAYS))
        return refuse("'--quiet' prints the report and errors alone: leave out '--verbose', "
                      "'--summary' and '--progress'");
    if (v->staged && (call->operands_count > 0 || v->files_from))
        return refuse("'--staged' scans what git is about to commit: leave out paths and "
                      "'--files-from'");
    if (v->staged && (v->respect_gitignore || v->one_file_system))
        return refuse("'--staged' reads no tree: leave out '--respect-gitignore' and "
                      "'--one-file-system'");
    if (v->from0 && !v->files_from && !v->git.repos_from)
        return refuse(
            "'-0' is about '--files-from' and '--repos-from': name a list by one of them, or "
            "leave it out");
    if (v->store && !has_object)
        return refuse("'--store' is about objects: name one (b3:...), or leave it out");
    return check_archives(v);
}

struct job {
    const struct weir__call *call;
    const V *values;
    struct weir__scan_options options;
    struct weir__scan_setup setup;
    struct weir_slots_config slots;
    struct weir__scan_web *web;         /* NULL: nothing is fetched */
    struct weir__scan_metrics *metrics; /* NULL: nobody may ask */
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
    const char *commit = finding->brought ? finding->brought->commit : NULL;
    /* What there is no memory for is counted there. */
    if (weir__findings_add(job->setup.findings, path, commit, finding) != WEIR__ADDED_SECRET)
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

static void on_warning(void *arg, const char *text)
{
    (void)arg;
    weir__log(WEIR__LOG_WARNING, "%s", text);
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
static int try_output(const V *v, const char *path, const struct weir__scan_options *o)
{
    const char *const read[] = {v->config, v->baseline, v->ignore_file, v->files_from};
    weir__program_catch_signals();
    int result = weir__scan_try_output(path, o->paths, o->paths_count);
    if (result == 0)
        result = weir__scan_try_output(path, read, sizeof(read) / sizeof(read[0]));
    weir__program_end_by_signals(LAST_WORDS);
    return result;
}

/* When it is known how much is known. */
static int limit_memory(struct job *job)
{
    struct weir__findings *findings = job->setup.findings;
    uint64_t bytes;
    int result = weir__scan_share_memory(job->values->memory, weir__findings_known_bytes(findings),
                                         &job->options, &bytes);
    if (result == 0)
        weir__findings_limit(findings, bytes);
    return result;
}

/* What is scanned, and inside which limits. */
static int set_options(struct job *job)
{
    static const char *const here[] = {"."};
    const V *v = job->values;
    struct weir__scan_options *o = &job->options;
    weir__scan_options_init(o);
    o->paths = (const char *const *)job->call->operands;
    o->paths_count = (size_t)job->call->operands_count;
    if (o->paths_count == 0 && !v->files_from && !v->git.repos_from &&
        v->git.find_repos.count == 0) {
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
    o->staged = v->staged;
    o->respect_gitignore = v->respect_gitignore;
    int result = weir__scan_history_set(&v->git, &job->slots, o);
    bool has_history =
        o->history > WEIR__SCAN_HISTORY_GIVEN || o->repos_from || o->find_repos_count;
    if (result == 0 && v->staged && has_history)
        return refuse("'--staged' scans no history: leave out one of the two");
    if (v->staged)
        o->history = WEIR__SCAN_NO_HISTORY;
    return result;
}

static int prepare(struct job *job, const char *const **ret_only)
{
    const V *v = job->values;
    struct weir__scan_options *o = &job->options;
    int result = set_options(job);
    if (result == 0)
        result = open_web(job);
    if (result == 0)
        result = weir__scan_history_settle(&v->git, o);
    if (result == 0)
        result = weir__scan_metrics_open(&job->metrics, v->metrics_listen);
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
        .text_bytes = weir__scan_text_bytes(v->memory),
    };
    if (v->staged) /* the current directory was for its configuration alone */
        o->paths_count = 0;
    /* Files that options name may be pipes, and expressions take seconds to compile: until that is
     * done there is nothing to report. */
    weir__program_end_by_signals(LAST_WORDS);
    result = weir__scan_setup_init(&job->setup, &wishes);
    if (result == 0)
        result = limit_memory(job);
    if (result == 0 && output_of(v))
        result = try_output(v, output_of(v), o);
    if (result == 0)
        result = weir__scan_setup_engine(&job->setup, &wishes);
    /* From here on whoever wants it to stop gets a report of what there is. */
    weir__program_catch_signals();
    weir__out_hurry(job->call->out, weir__program_signal, READER_NS);
    weir__log_hurry(weir__program_signal);
    o->engine = job->setup.engine;
    if (result == 0) {
        weir__hush_use(o->engine, o->decode_depth);
        weir__hush_know(job->setup.findings);
    }
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
    bool is_on =
        values->progress == WEIR__SCAN_PROGRESS_ALWAYS ||
        (values->progress == WEIR__SCAN_PROGRESS_AUTO && weir__term_is_terminal(STDERR_FILENO));
    return weir__progress_mode(STDERR_FILENO, values->quiet || !is_on);
}

static int run_scan(struct job *job, struct weir__scan_stats *ret_stats)
{
    struct weir__scan_hooks hooks = {
        .finding = on_finding, .gap = on_gap, .warning = on_warning, .arg = job};
    struct weir__scan *run;
    struct weir__scan_limits limits;
    enum weir__progress_mode mode = progress_of(job->values);
    job->options.has_totals = mode != WEIR__PROGRESS_QUIET;
    weir__progress_init(&job->progress, mode, WEIR__UNIT_SIZE, job->start_ns);
    weir__log_over_progress(mode == WEIR__PROGRESS_LINE);
    int result = weir__scan_start(&run, &job->options, &hooks);
    if (result < 0)
        return weir__cannot_start(result, "--threads", job->values->threads);
    if (job->metrics && !job->values->quiet)
        weir__log(WEIR__LOG_INFO, "metrics: http://%s/metrics",
                  weir__scan_metrics_name(job->metrics));
    int shown = weir__scan_metrics_start(job->metrics, run);
    if (shown < 0)
        weir__scan_stop(run);
    watch(job, run);
    weir__log_over_progress(false);
    weir__scan_metrics_close(job->metrics);
    job->metrics = NULL;
    if (job->values->git.explain_limits) {
        weir__scan_read_limits(run, &limits);
        weir__scan_explain(&limits);
    }
    result = weir__scan_finish(run, ret_stats);
    return shown < 0 ? shown : result;
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
        .repositories = stats->repos,
        .objects = stats->objects,
        .shallow = stats->shallow,
        .histories_left = stats->histories_left,
        .remembered = stats->remembered,
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
    int streamed = is_streamed(v) ? weir__scan_print_found(setup->findings, job->call->out) : 0;
    if (streamed < 0)
        weir__log(WEIR__LOG_ERROR, "cannot print what was found: %s", weir_error_text(streamed));
    weir__findings_finish(setup->findings);
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
    job.tally.shows_secrets = v->show_secrets;
    weir__hush_begin();
    if (result == 0)
        result = prepare(&job, &only);
    if (result == 0) {
        result = run_scan(&job, &stats);
        if (result == 0 || result == -WEIR_E_INCOMPLETE || result == -WEIR_E_CANCELED)
            result = tell(&job, &stats);
    }
    weir__base_free((void *)(uintptr_t)only);
    weir__scan_metrics_close(job.metrics);
    if (stats.abandoned > 0)
        return result; /* somebody who waits for standard input may come back to all this */
    weir__hush_end();
    weir__scan_setup_fini(&job.setup);
    weir__scan_web_free(job.web);
    weir__tally_fini(&job.tally);
    weir_lock_fini(&job.lock);
    return result;
}
