/* main.c - the command line of the explorer.
 *
 * With no option: every scenario up to its bound, as TAP. Each scenario and each mutant runs in a
 * process of its own, so that one that crashes or leaves a lock held does not spoil the others.
 * With --deeper, or WEIR_LONG in the environment, each scenario then goes one preemption beyond its
 * bound for a limited time. --help lists the rest.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errand_mutants.h"
#include "index_mutants.h"
#include "job_mutants.h"
#include "mutants.h"
#include "store_mutants.h"
#include "tree_mutants.h"
#include "xp_engine.h"

#ifdef XP_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define DEEPER_SECONDS 60

static struct {
    const char *program;
    const char *scenario;
    const char *replay;
    const char *mutant;
    struct xp_options options;
    bool is_partial_allowed;
    bool is_deeper;
} arg;

static const struct {
    const char *name;
    const char *scenario;
    int number;
} mutants[] = {
#define ROW(name, scenario) {#name, scenario, WEIR__MUTANT_##name},
    WEIR__MUTANTS(ROW) WEIR__TREE_MUTANTS(ROW) WEIR__JOB_MUTANTS(ROW) WEIR__STORE_MUTANTS(ROW)
        WEIR__ERRAND_MUTANTS(ROW) WEIR__INDEX_MUTANTS(ROW)
#undef ROW
};
#define MUTANTS (sizeof(mutants) / sizeof(mutants[0]))

/* Scenarios of the lock itself need the real lock, all others its model; so each of the two
 * programs answers for its own mutants. */
static bool is_ours(const char *scenario)
{
    bool is_of_lock = strncmp(scenario, "lock_", 5) == 0;
#ifdef WEIR_EXPLORE_LOCK_MODEL
    return !is_of_lock;
#else
    return is_of_lock;
#endif
}

static const struct xp_scenario *find_scenario(const char *name)
{
    for (const struct xp_scenario *at = xp_scenarios(); at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

static void print_replay_command(const char *scenario, unsigned bound, const char *trail)
{
    printf("# trail: %s\n# replay: %s --scenario %s --bound %u%s%s%s --replay '%s'\n", trail,
           arg.program, scenario, bound, arg.options.is_tso ? " --tso" : "",
           arg.mutant ? " --mutant " : "", arg.mutant ? arg.mutant : "", trail);
}

static void print_trail(void)
{
    static char trail[8192];
    xp_trail_print(trail, sizeof(trail));
    print_replay_command(xp.scenario ? xp.scenario->name : "", xp.bound, trail);
    fflush(stdout);
}

/* A crash of core under some interleaving is a failure with a trail like any other. */
static void crashed(int number)
{
    printf("# %s: crashed by signal %d (%s)\n", xp.scenario ? xp.scenario->name : "", number,
           strsignal(number));
    print_trail();
    _exit(1);
}

static void catch_crashes(void)
{
    static char stack[64 * 1024];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&alternative, NULL);
    struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    sigemptyset(&action.sa_mask);
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
#ifdef XP_ASAN
    __sanitizer_set_death_callback(print_trail);
#endif
}

static void print_result(const struct xp_scenario *scenario, const struct xp_result *result)
{
    double rate = result->seconds > 0 ? (double)result->executions / result->seconds : 0;
    printf("# %s%s: %llu executions, %.0f per second, preemption bound %u, exhaustive %s\n",
           scenario->name, arg.options.is_tso ? " (tso)" : "",
           (unsigned long long)result->executions, rate, result->bound_reached,
           result->is_exhaustive ? "yes" : "no");
    if (result->has_failed) {
        printf("# %s\n", result->message);
        print_replay_command(scenario->name, result->bound_reached, result->trail);
    } else if (!result->is_exhaustive) {
        printf("# stopped by --seconds or --max-executions: the bound was NOT exhausted%s\n",
               arg.is_partial_allowed ? " (allowed)" : "");
    }
}

/* Explores in a child process: 0 when it holds, 1 when it fails, 2 when it was not finished, 3 when
 * the scenario cannot be explored. */
static int explore_apart(const struct xp_scenario *scenario, const struct xp_options *options)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        static struct xp_result result;
        xp_explore(scenario, options, &result);
        print_result(scenario, &result);
        fflush(stdout);
        /* A failed execution leaves its memory behind, so no exit handler shall look for leaks. */
        if (result.has_failed)
            _exit(result.is_invalid ? 3 : 1);
        exit(result.is_exhaustive ? 0 : 2);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (child < 0 || !WIFEXITED(status)) {
        printf("# %s: the process of the scenario ended badly (status %d)\n", scenario->name,
               status);
        return 3;
    }
    return WEXITSTATUS(status);
}

static bool passes(const struct xp_scenario *scenario, const struct xp_options *options)
{
    int outcome = explore_apart(scenario, options);
    return outcome == 0 || (outcome == 2 && arg.is_partial_allowed);
}

/* One preemption beyond the scenario's own bound. Few scenarios can be exhausted there, so the time
 * is limited, and the line about the scenario says whether it was enough. */
static bool passes_deeper(const struct xp_scenario *scenario)
{
    struct xp_options options = arg.options;
    unsigned bound = scenario->bound ? scenario->bound : XP_BOUND_DEFAULT;
    if (options.is_tso && scenario->tso_bound)
        bound = scenario->tso_bound;
    options.bound = bound + 1;
    options.is_bound_given = true;
    if (options.seconds_max <= 0)
        options.seconds_max = DEEPER_SECONDS;
    bool is_partial_allowed = arg.is_partial_allowed;
    arg.is_partial_allowed = true;
    bool is_ok = passes(scenario, &options);
    arg.is_partial_allowed = is_partial_allowed;
    return is_ok;
}

static bool report(bool is_ok, unsigned number, const char *name, const char *option)
{
    printf("%sok %u - %s%s%s\n", is_ok ? "" : "not ", number, name, *option ? " " : "", option);
    if (!is_ok)
        printf("# alone: %s --scenario %s%s%s%s\n", arg.program, name,
               arg.options.is_tso ? " --tso" : "", *option ? " " : "", option);
    return is_ok;
}

static int run_scenarios(void)
{
    unsigned number = 0, failures = 0;
    struct xp_options own = arg.options;
    if (arg.is_deeper)
        own.seconds_max = 0; /* the limit is for what lies beyond the bound */
    for (const struct xp_scenario *at = xp_scenarios(); at; at = at->next) {
        if (arg.scenario ? strcmp(at->name, arg.scenario) != 0 : arg.options.is_tso && !at->tso)
            continue;
        failures += !report(passes(at, &own), ++number, at->name, "");
        if (arg.is_deeper)
            failures += !report(passes_deeper(at), ++number, at->name, "--deeper");
    }
    printf("1..%u%s\n", number, number ? "" : " # skipped: no scenario for this mode");
    return failures > 0;
}

/* A mutant may be one that only store buffers show. */
static bool is_caught(const struct xp_scenario *scenario, int number)
{
    arg.options.mutant = number;
    arg.options.is_tso = false;
    bool is_failed = explore_apart(scenario, &arg.options) == 1;
    if (!is_failed && scenario->tso) {
        arg.options.is_tso = true;
        is_failed = explore_apart(scenario, &arg.options) == 1;
    }
    return is_failed;
}

static int run_mutants(void)
{
    unsigned number = 0, failures = 0;
    for (size_t i = 0; i < MUTANTS; i++) {
        if (!is_ours(mutants[i].scenario) ||
            (arg.scenario && strcmp(arg.scenario, mutants[i].scenario) != 0))
            continue;
        const struct xp_scenario *scenario = find_scenario(mutants[i].scenario);
        arg.mutant = mutants[i].name;
        if (!scenario)
            printf("# there is no scenario '%s'\n", mutants[i].scenario);
        bool is_ok = scenario && is_caught(scenario, mutants[i].number);
        failures += !is_ok;
        printf("%sok %u - %s is %s by %s\n", is_ok ? "" : "not ", ++number, mutants[i].name,
               is_ok ? "caught" : "not caught", mutants[i].scenario);
    }
    printf("1..%u%s\n", number, number ? "" : " # skipped: no mutant of this program");
    return failures > 0;
}

static int replay(void)
{
    const struct xp_scenario *scenario = arg.scenario ? find_scenario(arg.scenario) : NULL;
    if (!scenario || !arg.options.is_bound_given) {
        fprintf(stderr, "%s: --replay needs --scenario and --bound, as printed with the trail\n",
                arg.program);
        return 2;
    }
    static struct xp_result result;
    if (!xp_replay(scenario, &arg.options, arg.replay, true, &result)) {
        fprintf(stderr, "%s: '%s' is no trail\n", arg.program, arg.replay);
        return 2;
    }
    printf("# %s\n", result.has_failed ? result.message : "this execution does not fail");
    fflush(stdout);
    _exit(result.has_failed);
}

static int list_scenarios(void)
{
    for (const struct xp_scenario *at = xp_scenarios(); at; at = at->next)
        printf("%-32s bound %u%s  %s\n", at->name, at->bound ? at->bound : XP_BOUND_DEFAULT,
               at->tso ? ", tso" : "     ", at->about ? at->about : "");
    return 0;
}

static int list_mutants(void)
{
    for (size_t i = 0; i < MUTANTS; i++)
        printf("%-36s %s\n", mutants[i].name, mutants[i].scenario);
    return 0;
}

static void set_mutant(const char *name)
{
    for (size_t i = 0; i < MUTANTS; i++)
        if (strcmp(mutants[i].name, name) == 0)
            arg.options.mutant = mutants[i].number;
    arg.mutant = name;
    if (!arg.options.mutant) {
        fprintf(stderr, "%s: no mutant '%s'; see --list-mutants\n", arg.program, name);
        exit(2);
    }
}

static unsigned long long number_of(const char *option, const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-') {
        fprintf(stderr, "%s: --%s '%s': not a number\n", arg.program, option, text);
        exit(2);
    }
    return number;
}

static int help(void)
{
    printf("usage: %s [option]...\n"
           "  --list               the scenarios\n"
           "  --scenario NAME      this one alone\n"
           "  --bound N            preemptions per execution, instead of the scenario's own\n"
           "  --deeper             then one preemption further, %d s per scenario or --seconds;\n"
           "                       so does WEIR_LONG in the environment, without --bound\n"
           "  --tso                with store buffers; without --scenario those marked for it\n"
           "  --mutant NAME        with this deliberate fault switched on\n"
           "  --mutants            each mutant on its scenario; ok when it is caught\n"
           "  --list-mutants       the mutants and the scenarios that catch them\n"
           "  --replay TRAIL       one execution, each step printed; needs --scenario, --bound\n"
           "  --max-executions N   stop after so many\n"
           "  --seconds S          stop after so long, per scenario\n"
           "  --allow-partial      a search that was stopped is no failure\n",
           arg.program, DEEPER_SECONDS);
    return 0;
}

enum option_id {
    LIST = 1,
    SCENARIO,
    BOUND,
    DEEPER,
    TSO,
    MUTANT,
    ALL_MUTANTS,
    LIST_MUTANTS,
    REPLAY,
    EXECUTIONS,
    SECONDS,
    PARTIAL,
    HELP
};

static const struct option option_table[] = {
    {"list", no_argument, NULL, LIST},
    {"scenario", required_argument, NULL, SCENARIO},
    {"bound", required_argument, NULL, BOUND},
    {"deeper", no_argument, NULL, DEEPER},
    {"tso", no_argument, NULL, TSO},
    {"mutant", required_argument, NULL, MUTANT},
    {"mutants", no_argument, NULL, ALL_MUTANTS},
    {"list-mutants", no_argument, NULL, LIST_MUTANTS},
    {"replay", required_argument, NULL, REPLAY},
    {"max-executions", required_argument, NULL, EXECUTIONS},
    {"seconds", required_argument, NULL, SECONDS},
    {"allow-partial", no_argument, NULL, PARTIAL},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static int (*parse(int argc, char **argv))(void)
{
    int (*action)(void) = run_scenarios;
    int id;
    while ((id = getopt_long(argc, argv, "", option_table, NULL)) != -1) {
        switch (id) {
        case LIST:
            action = list_scenarios;
            break;
        case SCENARIO:
            arg.scenario = optarg;
            break;
        case BOUND:
            arg.options.bound = (unsigned)number_of("bound", optarg);
            arg.options.is_bound_given = true;
            break;
        case DEEPER:
            arg.is_deeper = true;
            break;
        case TSO:
            arg.options.is_tso = true;
            break;
        case MUTANT:
            set_mutant(optarg);
            break;
        case ALL_MUTANTS:
            action = run_mutants;
            break;
        case LIST_MUTANTS:
            action = list_mutants;
            break;
        case REPLAY:
            arg.replay = optarg;
            action = replay;
            break;
        case EXECUTIONS:
            arg.options.executions_max = number_of("max-executions", optarg);
            break;
        case SECONDS:
            arg.options.seconds_max = (double)number_of("seconds", optarg);
            break;
        case PARTIAL:
            arg.is_partial_allowed = true;
            break;
        case HELP:
            action = help;
            break;
        default:
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s': no argument is expected\n", arg.program, argv[optind]);
        exit(2);
    }
    return action;
}

int main(int argc, char **argv)
{
    arg.program = argv[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    int (*action)(void) = parse(argc, argv);
    if (arg.options.is_bound_given)
        arg.is_deeper = false;
    else if (getenv("WEIR_LONG"))
        arg.is_deeper = true;
    if (arg.scenario && !find_scenario(arg.scenario)) {
        fprintf(stderr, "%s: no scenario '%s'; see --list\n", arg.program, arg.scenario);
        return 2;
    }
    catch_crashes();
    return action();
}
