/* cmd_put.c - weir put: files into a storage service. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "cannot_start.h"
#include "chunker.h"
#include "commands.h"
#include "cover.h"
#include "log.h"
#include "print_json.h"
#include "progress.h"
#include "put_run.h"
#include "sys.h"
#include "term.h"

#include "banned.h"

COMMAND(put);

#define LOOK_NS  (100 * WEIR_NS_PER_MS)
#define JSON_MAX (64u << 10)

struct values {
    const char *server;
    const char *token_file;
    uint64_t fixed;
    uint64_t parallel;
    uint64_t timeout;
    bool json;
    bool verbose;
    bool quiet;
};

static const struct weir__option options[] = {
    WEIR__STORAGE_CLIENT_WHERE(struct values),
    {WEIR__OPTION_SIZE(struct values, fixed), .name = "fixed", .max = WEIR__CHUNK_MAX,
     .help = "cut chunks of this size, 16 KiB to 1 MiB",
     .detail = "Without it they are cut by content, so that a byte put in at the front leaves most "
               "chunks what they were. The same file cut otherwise has another address."},
    {WEIR__OPTION_COUNT(struct values, parallel), .name = "parallel", .letter = 'j', .min = 1,
     .max = WEIR__PUT_PARALLEL_MAX, .preset = "8", .help = "chunks that are sent at once"},
    WEIR__STORAGE_CLIENT_TIMEOUT(struct values),
    {WEIR__OPTION_FLAG(struct values, json), .name = "json",
     .help = "print an object of JSON for each file"},
    {WEIR__OPTION_FLAG(struct values, verbose), .name = "verbose", .letter = 'v',
     .help = "say at the end how much was sent"},
    {WEIR__OPTION_FLAG(struct values, quiet), .name = "quiet", .letter = 'q',
     .help = "show no progress"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "FILE", .min = 1, .hint = WEIR__HINT_FILE, .help = "what to put; - is standard input"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir put disk.img", "print the address of the file, and its name"},
    {"tar c photos | weir put -", "put what a program prints"},
    {"weir put --server https://store.example --token-file token *.iso",
     "several files, to a server that asks for a token"},
    {NULL, NULL},
};

const struct weir__usage usage_put = {
    .description =
        "Puts files of any size into a storage service, cut into chunks of at most 1 MiB and with "
        "a manifest that lists them. Prints the address of the manifest: 'weir get ADDRESS' brings "
        "the file back, and so does GET /f/ADDRESS. What the service has already is not sent "
        "again. Holes stay holes, and cost nothing.\n\n"
        "The address is there only when the whole file is, so a run that failed is simply run "
        "again. Memory is bounded, whatever the size of the file: 16 MiB of chunks are on their "
        "way at most. A file that is written to meanwhile fails; through standard input it gives "
        "what was there when each part was read. The exit status is 0 when all files are stored "
        "and 3 when some are not.",
    .examples = examples,
    .variables = weir__storage_client_variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* --- what is told --- */

struct totals {
    uint64_t files, failed, bytes, chunks, sent, sent_bytes;
};

static void put_number(struct weir__json *json, const char *key, uint64_t value)
{
    weir__json_key(json, key);
    weir__json_u64(json, value);
}

static int print_file_json(struct weir__out *out, const struct weir__put_file *file)
{
    char address[WEIR__ADDRESS_TEXT];
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "name");
    weir__json_string(&json, file->name);
    if (file->error) {
        weir__json_key(&json, "error");
        weir__json_string(&json, weir_error_name(file->error));
        weir__json_key(&json, "message");
        weir__json_string(&json, file->problem);
    } else {
        weir__address_print(&file->address, address);
        weir__json_key(&json, "address");
        weir__json_string(&json, address);
        put_number(&json, "bytes", file->bytes);
    }
    put_number(&json, "chunks", file->chunks);
    put_number(&json, "chunk_bytes", file->chunk_bytes);
    put_number(&json, "sent", file->sent);
    put_number(&json, "sent_bytes", file->sent_bytes);
    weir__json_end(&json);
    return weir__print_json(out, &json, &buffer);
}

static int tell_file(const struct weir__call *call, const struct weir__put_file *file)
{
    const struct values *values = call->values;
    char address[WEIR__ADDRESS_TEXT];
    int result = 0;
    if (file->error && weir__program_signal() == 0)
        weir__log(WEIR__LOG_ERROR, "cannot put '%s': %s", WEIR__TYPED(file->name), file->problem);
    if (values->json) {
        result = print_file_json(call->out, file);
    } else if (!file->error) {
        weir__address_print(&file->address, address);
        weir__out_printf(call->out, "%s  ", address);
        weir__out_escaped(call->out, file->name);
        weir__out_puts(call->out, "\n");
    }
    weir__out_flush(call->out);
    return result;
}

static void tell_totals(const struct totals *totals)
{
    char bytes[WEIR__VALUE_TEXT_MAX], sent[WEIR__VALUE_TEXT_MAX];
    weir__value_human_size(totals->bytes, bytes);
    weir__value_human_size(totals->sent_bytes, sent);
    weir__log(WEIR__LOG_INFO, "%llu %s, %s; sent %s in %llu of %llu chunks",
              (unsigned long long)totals->files, totals->files == 1 ? "file" : "files", bytes, sent,
              (unsigned long long)totals->sent, (unsigned long long)totals->chunks);
}

static void add(struct totals *totals, const struct weir__put_file *file)
{
    totals->files += file->error == 0;
    totals->failed += file->error != 0;
    totals->bytes += file->bytes;
    totals->chunks += file->chunks;
    totals->sent += file->sent;
    totals->sent_bytes += file->sent_bytes;
}

/* What the files have on disk, or 0 when one does not say. */
static uint64_t measure(const struct weir__call *call)
{
    uint64_t total = 0;
    for (int i = 0; i < call->operands_count; i++) {
        struct stat st;
        const char *name = call->operands[i];
        int error = strcmp(name, "-") == 0 ? weir__sys_fstat(STDIN_FILENO, &st)
                                           : weir__sys_fstatat(AT_FDCWD, name, &st, 0);
        if (error || !S_ISREG(st.st_mode))
            return 0;
        uint64_t blocks = (uint64_t)st.st_blocks * 512, size = (uint64_t)st.st_size;
        total += blocks < size ? blocks : size;
    }
    return total;
}

/* --- the run --- */

struct watch {
    struct weir__put *put;
    struct weir__progress progress;
    uint64_t total;
    uint64_t files;
};

static struct weir__progress_sample sample(const struct watch *watch)
{
    struct weir__put_progress now;
    weir__put_read(watch->put, &now);
    return (struct weir__progress_sample){
        .now_ns = weir_now_ns(),
        .done = watch->total && now.bytes > watch->total ? watch->total : now.bytes,
        .total = watch->total,
        .items_name = watch->files > 1 ? "files" : NULL,
        .items = now.files,
        .items_total = watch->files,
    };
}

/* Until all files are done, or somebody wants the end. */
static int watch_all(const struct weir__call *call, struct watch *watch, struct totals *totals)
{
    struct weir__put_file file;
    struct weir__progress_sample now;
    int result, printed = 0;
    for (;;) {
        struct weir_deadline look = weir_deadline_in(LOOK_NS, NULL);
        result = weir__put_next(watch->put, &file, &look);
        if (weir__program_signal() != 0 || weir__out_is_done(call->out))
            weir__put_stop(watch->put);
        if (result == -WEIR_E_CLOSED)
            break;
        if (result == 0) {
            weir__progress_hide(&watch->progress, STDERR_FILENO);
            add(totals, &file);
            int error = tell_file(call, &file);
            printed = printed ? printed : error;
        }
        now = sample(watch);
        weir__progress_show(&watch->progress, &now, STDERR_FILENO);
    }
    now = sample(watch);
    weir__progress_end(&watch->progress, &now, STDERR_FILENO);
    return printed;
}

static int run(const struct weir__call *call, struct weir__storage_client *client,
               bool *ret_is_over)
{
    const struct values *values = call->values;
    const struct weir__put_options put = {
        .client = client,
        .names = call->operands,
        .names_count = (size_t)call->operands_count,
        .fixed_size = (size_t)values->fixed,
        .parallel = (uint32_t)values->parallel,
    };
    struct watch watch = {.total = measure(call), .files = (uint64_t)call->operands_count};
    struct totals totals = {0};
    weir__program_catch_signals();
    int result = weir__put_start(&watch.put, &put);
    if (result)
        return weir__cannot_start(result, "--parallel", put.parallel);
    enum weir__progress_mode mode =
        weir__progress_mode(STDERR_FILENO, values->quiet || !weir__term_is_terminal(STDERR_FILENO));
    weir__progress_init(&watch.progress, mode, WEIR__UNIT_SIZE, weir_now_ns());
    result = watch_all(call, &watch, &totals);
    *ret_is_over = weir__put_free(watch.put);
    if (weir__program_signal() != 0)
        return -WEIR_E_INTERRUPTED;
    if (values->verbose)
        tell_totals(&totals);
    return result ? result : totals.failed > 0 ? -WEIR_E_INCOMPLETE : 0;
}

static int check(const struct weir__call *call)
{
    const struct values *values = call->values;
    int streams = 0;
    for (int i = 0; i < call->operands_count; i++)
        streams += strcmp(call->operands[i], "-") == 0;
    if (streams > 1) {
        weir__log(WEIR__LOG_ERROR, "standard input can be read once: give - once");
        return -WEIR_E_USAGE;
    }
    if (values->fixed != 0 && values->fixed < WEIR__CHUNKER_FIXED_MIN) {
        weir__log(WEIR__LOG_ERROR, "--fixed takes 16 KiB to 1 MiB");
        return -WEIR_E_USAGE;
    }
    return 0;
}

int cmd_put(const struct weir__call *call)
{
    const struct values *values = call->values;
    const struct weir__storage_client_options given = {
        .server = values->server,
        .token_file = values->token_file,
        .timeout_ns = values->timeout,
        .connections_max = (uint32_t)values->parallel,
        .version = call->program->version,
    };
    struct weir__storage_client *client = NULL;
    bool is_over = true;
    int result = check(call);
    if (result == 0)
        result = weir__storage_client_new(&client, &given);
    if (result == 0)
        result = run(call, client, &is_over);
    if (is_over)
        weir__storage_client_free(client);
    return result;
}
