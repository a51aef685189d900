/* cmd_key.c - weir key: the keys that sign names and what is provided under them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "key.h"
#include "key_default.h"
#include "log.h"
#include "print_json.h"
#include "sys.h"

#include "banned.h"

COMMAND(key);

#define JSON_MAX (64u << 10)

struct values {
    bool json;
};

static const char *const actions[] = {"make", "show", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json", .help = "print a JSON object",
     .detail = "It has the keys file, id and public_key, which is in hexadecimal digits; when that "
               "fails, error and message."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION", .min = 1, .max = 1, .words = actions, .help = "make a key, or show one"},
    {.name = "FILE",
     .min = 0,
     .max = 1,
     .hint = WEIR__HINT_FILE,
     .help = "where the key is; by default weir/key in XDG_CONFIG_HOME, or in ~/.config"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir key make", "make a key of your own, and print its id"},
    {"weir key show --json | jq -r .id", "print the id, which stands behind the '@' of your names"},
    {"weir key make /etc/weir/team.key",
     "make a key for a prefix that a configuration binds to it"},
    {NULL, NULL},
};

static const struct weir__example variables[] = {
    {"XDG_CONFIG_HOME", "where the file weir/key is; by default ~/.config"},
    {NULL, NULL},
};

const struct weir__usage usage_key = {
    .description =
        "Makes and shows keys (Ed25519). A key signs what names mean and who provides something, "
        "so "
        "that nobody who carries a record has to be trusted. A name is label@id, with the id of "
        "the key that speaks for it, or a label under a prefix for which keys are configured.\n\n"
        "make writes a new key into a file that only its owner can read, and never over one that "
        "is there. Whoever has the file can speak for its names, and whoever loses it never can "
        "again, so keep a copy. show prints what may be known by everybody.",
    .examples = examples,
    .variables = variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

/* Of the default file, the folders that are not there; those of another one are not ours to make.
 */
static int make_folders(const char *file)
{
    char path[WEIR__KEY_PATH_SIZE];
    snprintf(path, sizeof(path), "%s", file);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (weir__sys_mkdirat(AT_FDCWD, path, 0700) < 0 && errno != EEXIST && errno != EACCES) {
            int error = weir_error_from_errno(errno);
            weir__log(WEIR__LOG_ERROR, "cannot make the folder '%s': %s", WEIR__TYPED(path),
                      weir__log_reason(errno));
            return error;
        }
        *slash = '/';
    }
    return 0;
}

static int print_key(const struct weir__call *call, const char *file, const struct weir__key *key)
{
    const struct values *values = call->values;
    char id[WEIR__KEYID_TEXT], digits[2 * WEIR__PUBLIC_KEY_SIZE + 1];
    weir__key_id_print(&key->id, id);
    for (size_t i = 0; i < WEIR__PUBLIC_KEY_SIZE; i++)
        snprintf(digits + 2 * i, 3, "%02x", key->public_key[i]);
    if (!values->json) {
        weir__out_printf(call->out, "id          %s\npublic key  %s\n", id, digits);
        return 0;
    }
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "file");
    weir__json_string(&json, file);
    weir__json_key(&json, "id");
    weir__json_string(&json, id);
    weir__json_key(&json, "public_key");
    weir__json_string(&json, digits);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

/* What is wrong was told to people; programs are told on standard output. */
static int fail(const struct weir__call *call, int error, const char *why)
{
    const struct values *values = call->values;
    if (values->json)
        weir__print_json_failure(call->out, error, why);
    return error;
}

static int run(const struct weir__call *call, const char *file, bool is_made)
{
    char why[WEIR__SIGN_KEY_WHY];
    struct weir__key key;
    int result = is_made ? weir__key_make(&key, file, why) : weir__key_read(&key, file, why);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return fail(call, result, why);
    }
    if (is_made)
        weir__log(WEIR__LOG_INFO, "made the key '%s': keep a copy of it where nobody else can read",
                  WEIR__TYPED(file));
    result = print_key(call, file, &key);
    weir__key_fini(&key);
    return result;
}

int cmd_key(const struct weir__call *call)
{
    char path[WEIR__KEY_PATH_SIZE];
    bool is_made = strcmp(call->operands[0], "make") == 0;
    const char *file = call->operands_count > 1 ? call->operands[1] : path;
    int result = file == path ? weir__key_default(path) : 0;
    if (result == 0 && file == path && is_made)
        result = make_folders(path);
    if (result < 0)
        return fail(call, result, NULL);
    const char *why = weir__key_load_library();
    if (why) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return fail(call, -WEIR_E_UNSUPPORTED, why);
    }
    return run(call, file, is_made);
}
