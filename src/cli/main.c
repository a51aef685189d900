/* main.c - the commands of weir, and nothing else.
 *
 * A new command is a file cmd_NAME.c that defines cmd_NAME() and usage_NAME, one row here and its
 * name in meson.build; help, man page and completions follow by themselves.
 */
#include "commands.h"

#include "banned.h"

/* X(name, one line) */
#define COMMANDS(X)                                                                                \
    X(completion, "print a completion script for bash, zsh or fish")                               \
    X(config, "show, explain and check the configuration of a service")                            \
    X(copy, "copy trees faithfully, as cp -a and rsync -a do, inside limits")                      \
    X(demo, "show what weir promises, at work on this machine")                                    \
    X(devices, "show which disk a path lies on, and how many jobs it takes")                       \
    X(errors, "list every error with its code, HTTP status and exit status")                       \
    X(get, "get a file out of a storage service, by its address")                                  \
    X(help, "explain weir, or one of its commands")                                                \
    X(index, "serve what names mean and who provides it, over HTTP, from many sources")            \
    X(key, "make and show the keys that sign names and records")                                   \
    X(man, "print a manual page")                                                                  \
    X(name, "say what names mean, by records that your key signs")                                 \
    X(providers, "show who provides an address, or say that you do")                               \
    X(put, "put files of any size into a storage service")                                         \
    X(resolve, "ask an index service what a name means, and verify the answer")                    \
    X(rules, "show, test and check the rules of weir scan")                                        \
    X(scan, "find leaked secrets in files, archives and git histories")                            \
    X(storage, "serve chunks of bytes over HTTP, stored durably under their addresses")            \
    X(store, "check, compact or count a store of chunks")                                          \
    X(token, "make, narrow and inspect capabilities, and rotate their keys")                       \
    X(version, "print the version")

#define DECLARE(name, summary) COMMAND(name);
COMMANDS(DECLARE)
extern const struct weir__usage usage_weir;

#define ROW(name, summary) {#name, cmd_##name, summary, &usage_##name},
static const struct weir__command commands[] = {COMMANDS(ROW){.name = NULL}};

int main(int argc, char **argv)
{
    static const struct weir__program program = {
        .name = "weir",
        .version = WEIR_VERSION,
        .date = WEIR_DATE,
        .summary = "work under limits that hold: bounded, fair and observable",
        .usage = &usage_weir,
        .commands = commands,
    };
    return weir__program_main(&program, argc, argv);
}
