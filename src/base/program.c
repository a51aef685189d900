/* program.c - dispatch, standard descriptors, signals, exit status. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "log.h"
#include "render.h"
#include "require.h"
#include "suggest.h"
#include "text.h"

#include "banned.h"

static volatile sig_atomic_t caught_signal;

/* The second one ends the program, also where it is another one than the first: nothing handles it
 * any more, and it comes again when this returns. */
static void remember(int number)
{
    if (caught_signal != 0)
        raise(number);
    else
        caught_signal = number;
}

static const char *last_words;

/* Only what a handler may call. The signal is not blocked in it, so it does not return. */
static void end_at_once(int number)
{
    (void)!write(STDERR_FILENO, last_words, strlen(last_words));
    raise(number);
}

/* SA_RESETHAND: whoever presses Ctrl-C twice is not asked again. */
static void set_handlers(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        /* A signal that our parent had us ignore (nohup, a background job) stays ignored. */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void weir__program_catch_signals(void)
{
    if (caught_signal == 0)
        set_handlers(remember, 0);
}

void weir__program_end_by_signals(const char *words)
{
    last_words = words;
    set_handlers(end_at_once, SA_NODEFER);
    if (caught_signal != 0)
        raise(caught_signal);
}

int weir__program_signal(void)
{
    return caught_signal;
}

static void die_of(int number)
{
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

/* A closed standard descriptor is replaced by one that fails when it is used the usual way: then a
 * file opened later cannot be taken for standard output, and output is still found to be lost. */
static void open_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

const struct weir__command *weir__program_find(const struct weir__program *program,
                                               const char *name)
{
    for (const struct weir__command *c = program->commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int weir__program_unknown(const struct weir__program *program, const char *name)
{
    struct weir__suggestion suggestion = {.word = ""};
    for (const struct weir__command *c = program->commands; c->name; c++)
        weir__suggest_offer(&suggestion, name, c->name);
    if (suggestion.word[0] != '\0')
        weir__log(WEIR__LOG_ERROR, "unknown command '%s': did you mean '%s'?", WEIR__TYPED(name),
                  suggestion.word);
    else
        weir__log(WEIR__LOG_ERROR, "unknown command '%s': '%s help' lists those there are",
                  WEIR__TYPED(name), program->name);
    return -WEIR_E_USAGE;
}

static int run_parsed(struct weir__call *call, int argc, char **argv, void *values)
{
    const struct weir__command *command = call->command;
    struct weir__parsed parsed = {.error = ""};
    int result = weir__options_parse(command->usage, argc, argv, values, &parsed);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "%s", parsed.error);
        return result;
    }
    if (parsed.help == WEIR__HELP_SHORT) {
        weir__help_short(call->out, call->program, command);
        return 0;
    }
    if (parsed.help == WEIR__HELP_LONG) {
        weir__help_long(call->out, call->program, command);
        return 0;
    }
    call->values = values;
    call->operands = parsed.operands;
    call->operands_count = parsed.operands_count;
    result = command->run(call);
    WEIR__REQUIRE(result != -WEIR_E_FINDINGS || command->usage->has_findings, "command",
                  command->name, "it has findings, and its table does not say so");
    return result;
}

static int run_command(struct weir__call *call, int argc, char **argv)
{
    const struct weir__usage *usage = call->command->usage;
    weir__log_subject(call->program->name, call->command->name);
    void *values = weir__base_alloc(1, usage->values_size);
    if (!values) {
        weir__log(WEIR__LOG_ERROR, "%s", weir_error_text(WEIR_E_NO_MEMORY));
        return -WEIR_E_NO_MEMORY;
    }
    int result = run_parsed(call, argc, argv, values);
    weir__options_fini(usage, values);
    weir__base_free(values);
    return result;
}

/* The program's own options stand before any command, and each is a command in disguise. */
static const char *command_of_option(const char *option)
{
    if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0)
        return "version";
    if (strcmp(option, "--help") == 0)
        return "help";
    return option;
}

static int unknown_option(const struct weir__program *program, const char *option)
{
    struct weir__suggestion suggestion = {.word = ""};
    if (option[1] == '-') {
        weir__suggest_offer(&suggestion, option + 2, "help");
        weir__suggest_offer(&suggestion, option + 2, "version");
    }
    /* Behind a letter stands its value, as in -pPASSWORD. */
    size_t shown = option[1] == '-' ? SIZE_MAX : 2;
    char text[WEIR__CLIP_SIZE];
    weir__cover_clip(text, sizeof(text), option, shown);
    if (suggestion.word[0] != '\0')
        weir__log(WEIR__LOG_ERROR, "unknown option '%s': did you mean '--%s'?", text,
                  suggestion.word);
    else
        weir__log(WEIR__LOG_ERROR, "unknown option '%s': options follow a command, see '%s help'",
                  text, program->name);
    return -WEIR_E_USAGE;
}

static int dispatch(const struct weir__program *program, struct weir__out *out, int argc,
                    char **argv)
{
    /* A -- ends the options of the program; those of the command are its own. */
    bool is_past_options = argc > 1 && strcmp(argv[1], "--") == 0;
    argc -= is_past_options;
    argv += is_past_options;
    if (argc < 2 || (!is_past_options && strcmp(argv[1], "-h") == 0)) {
        weir__help_list(out, program);
        return 0;
    }
    const char *name = is_past_options ? argv[1] : command_of_option(argv[1]);
    if (name[0] == '-' && !is_past_options)
        return unknown_option(program, name);
    struct weir__call call = {
        .program = program, .command = weir__program_find(program, name), .out = out};
    if (!call.command)
        return weir__program_unknown(program, name);
    return run_command(&call, argc - 2, argv + 2);
}

int weir__program_main(const struct weir__program *program, int argc, char **argv)
{
    open_standard_descriptors();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    weir__log_subject(program->name, NULL);
    struct weir__out out;
    weir__out_init(&out, STDOUT_FILENO);
    int result = dispatch(program, &out, argc, argv);
    int errno_value = 0;
    int written = weir__out_finish(&out, &errno_value);
    if (written < 0) {
        weir__log(WEIR__LOG_ERROR, "cannot write to standard output: %s",
                  errno_value ? weir__log_reason(errno_value) : weir_error_text(written));
        result = result == 0 ? -WEIR_E_INCOMPLETE : result;
    }
    if (caught_signal != 0)
        die_of(caught_signal);
    return weir_error_exit(result);
}
