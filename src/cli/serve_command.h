/* serve_command.h - what every command that runs a service does: configuration, signals, reloads,
 * the watchdog of its manager, draining, and the tables of --topology.
 *
 *     static const struct weir__option options[] = {
 *         WEIR__SERVE_OPTIONS("keep everything there", "It is made ...", "listen there", "..."),
 *         WEIR__OPTIONS_END,
 *     };
 *     static const struct weir__serve serve = {.service = &weir__storage_service, ...};
 *
 *     int cmd_storage(const struct weir__call *call)
 *     {
 *         return weir__serve(call, &serve);
 *     }
 *
 * A command with options of its own begins its struct with a struct weir__serve_values.
 *
 * The thread that calls weir__serve() is the supervisor. Everything else has threads of its own.
 *
 * Ownership: nothing outlives the call, but for what a reload or a disk that hangs holds on to; the
 * process is about to leave then.
 */
#ifndef WEIR_CLI_SERVE_COMMAND_H
#define WEIR_CLI_SERVE_COMMAND_H

#include "daemon.h"
#include "data_folder.h"
#include "options.h"
#include "program.h"

/* The head of the values of such a command. */
struct weir__serve_values {
    const char *data;
    struct weir__list listen;
    const char *config;
    struct weir__list set;
    bool open;
    bool amnesia;
    bool topology;
};

/* Rows of its table of options. */
#define WEIR__SERVE_OPTIONS(data_help, data_detail, listen_help, open_help)                        \
    {WEIR__OPTION_DIRECTORY(struct weir__serve_values, data),                                      \
     .name = "data",                                                                               \
     .letter = 'd',                                                                                \
     .value_name = "DIR",                                                                          \
     .help = data_help,                                                                            \
     .detail = data_detail},                                                                       \
        {WEIR__OPTION_LIST(struct weir__serve_values, listen),                                     \
         .name = "listen",                                                                         \
         .letter = 'l',                                                                            \
         .value_name = "ADDRESS",                                                                  \
         .help = listen_help,                                                                      \
         .detail = "An address with a port, or 'unix:PATH'. May be given several times."},         \
        {WEIR__OPTION_FILE(struct weir__serve_values, config),                                     \
         .name = "config",                                                                         \
         .letter = 'c',                                                                            \
         .value_name = "FILE",                                                                     \
         .help = "read this configuration",                                                        \
         .detail = "See 'weir config sample' for what can stand in it."},                          \
        {WEIR__OPTION_LIST(struct weir__serve_values, set), .name = "set",                         \
         .value_name = "KEY=VALUE",                                                                \
         .help = "a value above file and environment; may be given several times"},                \
        {WEIR__OPTION_FLAG(struct weir__serve_values, open), .name = "open", .help = open_help},   \
        {WEIR__OPTION_FLAG(struct weir__serve_values, amnesia), .name = "amnesia",                 \
         .help = "keep everything in memory, and nothing after the end"},                          \
    {                                                                                              \
        WEIR__OPTION_FLAG(struct weir__serve_values, topology),                                    \
            .name = "topology",                                                                    \
            .help = "print tables of threads, channels, limits, locks and times, and exit",        \
            .detail = "Of a service with this configuration that keeps everything in memory and "  \
                      "listens on a free port. The tables are Markdown."                           \
    }

/* What differs between services. */
struct weir__serve {
    const struct weir__daemon_service *service;
    /* Whether it needs a folder and the configuration names none. */
    bool (*lacks_folder)(const struct weir__config *config);
    /* The one that it has then, as weir__data_default(). */
    int (*default_folder)(char path[WEIR__DATA_PATH_SIZE]);
    /* Now and then, by the supervisor, while it serves: NULL, or that something hangs, in words
     * that are told once for each time. Or NULL. */
    const char *(*hangs)(struct weir__daemon *daemon);
    /* What is told of work that the next start does not know of, behind its number. */
    const char *left;
    /* Of what weir__daemon_free() says; or NULL. */
    void (*tell_closed)(int closed);
};

/* Serves until a signal. 0; Usage: another start would not help; Timeout: something had to be
 * aborted. All has been told. */
int weir__serve(const struct weir__call *call, const struct weir__serve *serve);

#endif
