/* usage_scan.c - weir scan: its options, and what its help says. */
#include "commands.h"
#include "report/report.h"
#include "scan_fetch.h"
#include "scan_memory.h"
#include "scan_values.h"

#include "banned.h"

COMMAND(scan);

#define V struct weir__scan_values

/* In the order of enum weir__report_format. */
static const char *const formats[] = {"human", "json",   "jsonl",    "sarif", "csv",
                                      "junit", "github", "gitleaks", "html",  NULL};
_Static_assert(sizeof(formats) / sizeof(formats[0]) == WEIR__REPORT_FORMATS + 1, "all formats");
/* In the order of enum weir__scan_history. */
static const char *const history_words[] = {"no", "auto", "also", "only", NULL};
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
               "only from the current directory, and only if what is scanned lies in it, "
               "as names in a list and standard input are taken to do."},
    {WEIR__OPTION_TOGGLE(V, allow_comments), .name = "allow-comments", .preset = "yes",
     .help = "leave out lines with weir:allow or gitleaks:allow in them"},
    {WEIR__OPTION_FILE(V, ignore_file), .name = "ignore-file", .value_name = "FILE",
     .help = "fingerprints that are known, one on a line; instead of .weirignore and "
             ".gitleaksignore"},
    {WEIR__OPTION_FILE(V, baseline), .name = "baseline", .letter = 'b', .value_name = "FILE",
     .help = "an earlier report (JSON, JSON Lines, SARIF or of gitleaks): what is in it is known"},
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
    {WEIR__OPTION_WORD(V, git.history), .name = "history", .words = history_words, .preset = "auto",
     .implied = "only", .negated = "no", .help = "what is done about git repositories",
     .detail = "auto: of a path that is a repository itself, all that is in its history, and the "
               "files beside it; of one that lies deeper, the files. also: the same for all that "
               "are met. only: the history alone. no: files alone, those in .git as well."},
    {WEIR__OPTION_FILE(V, git.repos_from), .name = "repos-from", .value_name = "FILE",
     .help = "scan the histories of the repositories in a file; - is standard input"},
    {WEIR__OPTION_LIST(V, git.find_repos), .name = "find-repos", .value_name = "DIR",
     .help = "scan the histories of all repositories below a directory"},
    {WEIR__OPTION_FLAG(V, git.submodules), .name = "submodules",
     .help = "scan the histories of submodules, too"},
    {WEIR__OPTION_FLAG(V, git.reachable), .name = "reachable",
     .help = "of a history only what refs, stashes and the index lead to"},
    {WEIR__OPTION_LIST(V, git.refs), .name = "refs", .value_name = "PATTERN",
     .help = "only what these branches, tags and other refs lead to"},
    {WEIR__OPTION_LIST(V, git.ranges), .name = "range", .value_name = "A..B",
     .help = "only what commits of this range brought"},
    {WEIR__OPTION_STRING(V, git.since), .name = "since", .value_name = "DATE",
     .help = "only what commits since then brought: 2024-05-01, '2 weeks ago'",
     .detail = "Each of these four means --history=only."},
    {WEIR__OPTION_TOGGLE(V, git.state), .name = "state", .preset = "yes",
     .help = "for histories only: remember which objects were scanned",
     .detail =
         "What was found is told again each time; what has not changed is not scanned again."},
    {WEIR__OPTION_FLAG(V, git.full_scan), .name = "full-scan",
     .help = "scan every version of a file in full, not by what it differs in from another",
     .detail = "It takes longer and finds the same. What is remembered is not used, and replaced."},
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
    {WEIR__OPTION_COUNT(V, archive_entries), WEIR__GIVEN(V, has_entries),
     .name = "max-archive-entries", .min = 1, .max = UINT64_C(1) << 40, .initial = 1000000,
     .help = "members of one archive, those of archives in it included"},
    {WEIR__OPTION_SIZE(V, entry_bytes), WEIR__GIVEN(V, has_entry_bytes), .name = "max-entry-bytes",
     .min = 1, .max = UINT64_C(1) << 50, .initial = UINT64_C(1) << 30,
     .help = "bytes of one member; the rest of a larger one is told"},
    {WEIR__OPTION_SIZE(V, archive_bytes), WEIR__GIVEN(V, git.has_archive_bytes),
     .name = "max-archive-bytes", .min = 1, .max = UINT64_C(1) << 50, .initial = UINT64_C(10) << 30,
     .help = "bytes of all members of one archive, and of what is kept on disk of it or of a "
             "history"},
    {WEIR__OPTION_COUNT(V, archive_ratio), WEIR__GIVEN(V, has_ratio), .name = "max-archive-ratio",
     .min = 1, .max = 1000000000, .initial = 1000,
     .help = "how many times its size an archive may unpack to, from 1 MiB on"},

    {WEIR__OPTION_STRING(V, store), .name = "store", .value_name = "URL",
     .section = "URLs and stored objects",
     .help = "where objects (b3:...) are; by default what WEIR_STORE says"},
    {WEIR__OPTION_SIZE(V, fetch_bytes), .name = "max-fetch-size", .min = 1,
     .max = UINT64_C(1) << 50, .initial = WEIR__FETCH_BYTES,
     .help = "for URLs and objects only: bytes of one, after decoding",
     .detail = "What is larger is scanned so far, or not at all if it says how large it is, and "
               "told."},
    {WEIR__OPTION_DURATION(V, fetch_ns), .name = "fetch-timeout", .min = WEIR_NS_PER_MS,
     .max = 86400 * WEIR_NS_PER_S, .initial = WEIR__FETCH_TIME_NS,
     .help = "for URLs and objects only: time for one, all tries included"},

    {WEIR__OPTION_WORD(V, git.profile), .name = "profile", .words = weir__scan_profiles,
     .preset = "default", .section = "repositories and archives at once",
     .help = "how much all repositories together, and all archives, may take",
     .detail = "default: 256 MiB of scan ring, 512 MiB of delta cache, 16 spill slots; ci: 100 "
               "MiB, 200 MiB, 4; bulk: 1 GiB, 2 GiB, 32. The next three change one of them. "
               "Repositories and archives are counted apart: each of the two may hold that much."},
    {WEIR__OPTION_SIZE(V, git.ring), .name = "scan-ring", .min = UINT64_C(1) << 20,
     .max = WEIR__SCAN_MEMORY_MAX, .help = "bytes that are being scanned",
     .detail = "Of repositories 1 MiB for each thread. Of archives the memory of what reads them, "
               "68 MiB at least: with less none is opened, which is told. By default that is 260 "
               "MiB for each thread."},
    {WEIR__OPTION_SIZE(V, git.delta), .name = "delta-cache", .min = 1, .max = WEIR__SCAN_MEMORY_MAX,
     .help = "bytes of objects of repositories that others are built from"},
    {WEIR__OPTION_STRING(V, git.spill_slots), .name = "spill-slots", .value_name = "N",
     .help = "repositories, and archives, at once that may use temporary files; or unlimited; 0: "
             "none may",
     .detail = "Repositories need them for objects that are larger than a quarter of the delta "
               "cache, or that git has built from such; archives, if they come as a stream, and "
               "for large zip, 7z and ISO files in others. They have no name, lie in TMPDIR, else "
               "in /var/tmp, and take at most --max-archive-bytes for each."},
    {WEIR__OPTION_LIST(V, git.device_slots), .name = "device-slots", .value_name = "PATH=N",
     .help = "repositories, and large archives, that are read at once from the disk of this path",
     .detail = "By default 2 of a rotational disk, 4 of a solid or virtual one, 8 of NVMe."},
    {WEIR__OPTION_FLAG(V, git.explain_limits), .name = "explain-limits",
     .help = "say on standard error what was held of each limit, waited for and refused"},
    {WEIR__OPTION_STRING(V, metrics_listen), .name = "metrics-listen", .value_name = "ADDR:PORT",
     .help = "show counts and limits while it runs, at http://ADDR:PORT/metrics",
     .detail = "For Prometheus. ADDR is a number (127.0.0.1, [::1]) or localhost; port 0 lets the "
               "system choose one, which is told. One asker is answered at a time."},

    {WEIR__OPTION_COUNT(V, threads), .name = "threads", .min = 1, .max = WEIR__SCAN_THREADS_MAX,
     .section = "limits", .help = "threads that scan; by default one for each core"},
    {WEIR__OPTION_COUNT(V, files), .name = "max-files-in-flight", .min = 1,
     .max = WEIR__SCAN_READS_MAX, .initial = WEIR__SCAN_READS_DEFAULT,
     .help = "files read at once"},
    {WEIR__OPTION_SIZE(V, memory), .name = "max-memory", .min = WEIR__SCAN_MEMORY_MIN,
     .max = WEIR__SCAN_MEMORY_MAX,
     .help = "memory for threads, findings, histories and decoders of archives together",
     .detail = "Fewer threads and decoders are started if need be. Secrets beyond their share are "
               "counted, not listed, and the scan is then incomplete. Archives are opened from 200 "
               "MiB on; with the history of a repository 123 MiB are the least."},
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
    {"weir scan --range=origin/main..HEAD", "look at what a branch has brought"},
    {"weir scan --find-repos=/srv/git --json", "look at the histories of many repositories"},
    {"weir scan https://example.com/app.js", "look at what a server gives to everybody"},
    {"weir scan --json --output=known.json . ; weir scan --baseline=known.json",
     "accept what is there, and from then on hear only of what is new"},
    {NULL, NULL},
};

static const struct weir__example variables[] = {
    {"XDG_CACHE_HOME", "where the folder weir is, in which compiled rules are kept; by default "
                       "~/.cache"},
    {"XDG_STATE_HOME", "where the folder weir/scan is, in which is kept what was scanned of "
                       "histories; by default ~/.local/state"},
    {"TMPDIR", "where temporary files of archives and large objects are made; by default /var/tmp"},
    {"WEIR_STORE", "the store of objects (b3:...), if --store does not name one"},
    {"WEIR_LIBEXEC", "the folder of weir-unpack, which reads archives"},
    {"SSL_CERT_FILE", "a file of certificates that are trusted instead of those of the system"},
    {"http_proxy, https_proxy, all_proxy, no_proxy",
     "through which servers URLs are fetched, and which are not"},
    {NULL, NULL},
};

const struct weir__usage usage_scan = {
    .description =
        "Finds secrets (keys, tokens, passwords) in files, trees, streams and the histories of git "
        "repositories, also where they are "
        "encoded in base64, hexadecimal or decimal numbers, percent or unicode escapes, UTF-16 or "
        "UTF-32. Each secret is told once, with all of its places, and redacted.\n\n"
        "Of a path that is a git repository the history is scanned, too: all objects, reachable "
        "or not, and the messages of commits and tags. Git itself is not needed, and what was "
        "scanned once is remembered. "
        "Every regular file is read, binary or not, ignored by git or not. Symlinks are not "
        "followed, special files not read; both are counted. A path that is a pipe or a device is "
        "read. Whatever could not be scanned, or not completely, is named.\n\n"
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
