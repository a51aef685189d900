/* cmd_get.c - weir get: a file out of a storage service. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "cannot_start.h"
#include "commands.h"
#include "cover.h"
#include "get_run.h"
#include "log.h"
#include "print_json.h"
#include "progress.h"
#include "sys.h"
#include "term.h"
#include "whole_file.h"

#include "banned.h"

COMMAND(get);

#define LOOK_NS  (100 * WEIR_NS_PER_MS)
#define JSON_MAX (16u << 10)

struct values {
    const char *server;
    const char *token_file;
    const char *output;
    const char *range;
    uint64_t parallel;
    uint64_t timeout;
    bool json;
    bool quiet;
};

static const struct weir__option options[] = {
    {WEIR__OPTION_FILE(struct values, output), .name = "output", .letter = 'o',
     .value_name = "FILE", .help = "write to this file; - is standard output, as without it",
     .detail = "It appears under its name when it is whole, in place of what is there. A link "
               "stays, and the file that it leads to is replaced. A device is written to as it is, "
               "and so is a pipe, when it has a reader."},
    {WEIR__OPTION_STRING(struct values, range), .name = "range", .letter = 'r', .value_name = "A-B",
     .help = "bytes A to B alone, counted from 0",
     .detail = "A- is from A to the end, and -N the last N bytes."},
    WEIR__STORAGE_CLIENT_WHERE(struct values),
    {WEIR__OPTION_COUNT(struct values, parallel), .name = "parallel", .letter = 'j', .min = 1,
     .max = WEIR__GET_PARALLEL_MAX, .preset = "8", .help = "chunks that are fetched at once"},
    WEIR__STORAGE_CLIENT_TIMEOUT(struct values),
    {WEIR__OPTION_FLAG(struct values, json), .name = "json",
     .help = "with --output: print an object of JSON about it"},
    {WEIR__OPTION_FLAG(struct values, quiet), .name = "quiet", .letter = 'q',
     .help = "show no progress"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ADDRESS", .min = 1, .max = 1, .help = "as 'weir put' has printed it"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir get b3:f1a2... -o disk.img", "bring a file back"},
    {"weir get b3:f1a2... | tar x", "hand it to a program"},
    {"weir get b3:f1a2... --range 0-511 | xxd", "look at its first bytes"},
    {NULL, NULL},
};

const struct weir__usage usage_get = {
    .description =
        "Gets a file out of a storage service, chunk by chunk as its manifest says; chunks are "
        "fetched ahead, and each is compared with its address before it is written. In a file "
        "holes are holes again; elsewhere they are zeros. An address of a chunk that is no "
        "manifest gives the bytes of that chunk.\n\n"
        "Memory is bounded, whatever the size of the file: 16 MiB of chunks were fetched and not "
        "yet written, at most. When it fails, --output has left nothing behind; on standard output "
        "what was written so far is right, and the exit status is 3.",
    .examples = examples,
    .variables = weir__storage_client_variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* --- what was given --- */

static bool parse_number(const char **at, uint64_t *ret_number)
{
    const char *begin = *at;
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(**at - '0'), &number))
            return false;
    *ret_number = number;
    return *at > begin;
}

/* "A-B", "A-", "-N". */
static bool parse_range(const char *text, struct weir__get_options *get)
{
    bool has_first = parse_number(&text, &get->first);
    if (*text++ != '-')
        return false;
    bool has_last = parse_number(&text, &get->last);
    get->part = has_first && has_last ? WEIR__GET_BETWEEN
                : has_first           ? WEIR__GET_FROM
                                      : WEIR__GET_LAST;
    return *text == '\0' && (has_first || (has_last && get->last > 0)) &&
           !(has_first && has_last && get->first > get->last);
}

static bool is_stream(const struct values *values)
{
    return !values->output || strcmp(values->output, "-") == 0;
}

static int check(const struct weir__call *call, struct weir__get_options *get)
{
    const struct values *values = call->values;
    const char *address = call->operands[0];
    if (weir__address_parse(address, strlen(address), &get->address)) {
        weir__log(WEIR__LOG_ERROR,
                  "'%s' is no address: that is 'b3:' and 64 digits 0 to 9 and a "
                  "to f",
                  WEIR__TYPED(address));
        return -WEIR_E_USAGE;
    }
    if (values->range && !parse_range(values->range, get)) {
        weir__log(WEIR__LOG_ERROR, "'%s' is no range: that is A-B, A- or -N, in bytes from 0",
                  WEIR__TYPED(values->range));
        return -WEIR_E_USAGE;
    }
    if (values->json && is_stream(values)) {
        weir__log(WEIR__LOG_ERROR, "--json needs --output: standard output has the file");
        return -WEIR_E_USAGE;
    }
    return 0;
}

/* --- the run --- */

static int tell(const struct weir__call *call, const struct weir__get_result *result)
{
    const struct values *values = call->values;
    if (!values->json)
        return 0;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "address");
    weir__json_string(&json, call->operands[0]);
    weir__json_key(&json, "file");
    weir__json_string(&json, values->output);
    weir__json_key(&json, "is_chunk");
    weir__json_bool(&json, result->is_chunk);
    weir__json_key(&json, "bytes");
    weir__json_u64(&json, result->bytes);
    weir__json_key(&json, "whole");
    weir__json_u64(&json, result->whole);
    weir__json_key(&json, "fetched");
    weir__json_u64(&json, result->chunks);
    weir__json_key(&json, "fetched_bytes");
    weir__json_u64(&json, result->chunk_bytes);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

static void watch(struct weir__get *get, bool is_quiet, struct weir__get_result *result)
{
    struct weir__progress progress;
    struct weir__progress_sample now = {0};
    bool is_shown = !is_quiet && weir__term_is_terminal(STDERR_FILENO);
    weir__progress_init(&progress, weir__progress_mode(STDERR_FILENO, !is_shown), WEIR__UNIT_SIZE,
                        weir_now_ns());
    for (;;) {
        struct weir__get_progress done;
        struct weir_deadline look = weir_deadline_in(LOOK_NS, NULL);
        int error = weir__get_wait(get, result, &look);
        weir__get_read(get, &done);
        now = (struct weir__progress_sample){.now_ns = weir_now_ns(), .done = done.bytes};
        if (error == 0)
            break;
        if (weir__program_signal() != 0)
            weir__get_stop(get);
        weir__progress_show(&progress, &now, STDERR_FILENO);
    }
    weir__progress_end(&progress, &now, STDERR_FILENO);
}

static int run(const struct weir__call *call, const struct weir__get_options *wish,
               struct weir__get_result *result, bool *ret_is_over)
{
    const struct values *values = call->values;
    struct weir__get *get;
    int error = weir__get_start(&get, wish);
    if (error)
        return weir__cannot_start(error, "--parallel", wish->parallel);
    watch(get, values->quiet, result);
    *ret_is_over = weir__get_free(get);
    if (weir__program_signal() != 0)
        return -WEIR_E_INTERRUPTED;
    if (result->lacks_threads)
        return weir__cannot_start(result->error, "--parallel", wish->parallel);
    /* Who has seen enough of a stream is no error. */
    if (result->error && !(result->has_reader_left && is_stream(values))) {
        weir__log(WEIR__LOG_ERROR, "cannot get '%s': %s", call->operands[0], result->problem);
        return -WEIR_E_INCOMPLETE;
    }
    return 0;
}

static int cannot(const char *what, const char *path)
{
    weir__log(WEIR__LOG_ERROR, "cannot %s '%s': %s", what, WEIR__TYPED(path),
              weir__log_reason(errno));
    return -WEIR_E_INCOMPLETE;
}

/* Who wants a pipe may start its reader later. */
static int open_output(struct weir__whole_file *file, const char *path)
{
    int error;
    while ((error = weir__whole_open(file, path)) == -WEIR_E_BUSY && errno == ENXIO) {
        struct weir_deadline look = weir_deadline_in(LOOK_NS, NULL);
        if (weir__program_signal() != 0)
            return -WEIR_E_INTERRUPTED;
        (void)!weir_deadline_sleep(&look);
    }
    if (error == -WEIR_E_USAGE) {
        weir__log(WEIR__LOG_ERROR,
                  "cannot write '%s': it is a link to something that is no file; name that itself",
                  WEIR__TYPED(path));
        return -WEIR_E_INCOMPLETE;
    }
    return error ? cannot("write", path) : 0;
}

static int run_into(const struct weir__call *call, struct weir__get_options *wish,
                    bool *ret_is_over)
{
    const struct values *values = call->values;
    struct weir__get_result result;
    struct weir__whole_file file;
    wish->fd = STDOUT_FILENO;
    weir__program_catch_signals();
    if (is_stream(values))
        return run(call, wish, &result, ret_is_over);
    int error = open_output(&file, values->output);
    if (error)
        return error;
    wish->fd = file.fd;
    error = run(call, wish, &result, ret_is_over);
    if (error && *ret_is_over)
        weir__whole_drop(&file);
    if (error)
        return error;
    return weir__whole_finish(&file) ? cannot("finish", values->output) : tell(call, &result);
}

int cmd_get(const struct weir__call *call)
{
    const struct values *values = call->values;
    struct weir__get_options wish = {.parallel = (uint32_t)values->parallel};
    struct weir__storage_client *client = NULL;
    bool is_over = true;
    const struct weir__storage_client_options given = {
        .server = values->server,
        .token_file = values->token_file,
        .timeout_ns = values->timeout,
        /* One more for the writer, which gets nodes by itself, and one for the scout. */
        .connections_max = (uint32_t)values->parallel + 2,
        .version = call->program->version,
    };
    int result = check(call, &wish);
    if (result == 0)
        result = weir__storage_client_new(&client, &given);
    wish.client = client;
    if (result == 0)
        result = run_into(call, &wish, &is_over);
    if (is_over)
        weir__storage_client_free(client);
    return result;
}
