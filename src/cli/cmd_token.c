/* cmd_token.c - weir token: capabilities, made, narrowed and looked at; and the keys for them. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "commands.h"
#include "cover.h"
#include "log.h"
#include "print_json.h"
#include "token_inspect.h"

#include "banned.h"

COMMAND(token);

#define JSON_MAX (64u << 10)

static const char *const actions[] = {"mint", "narrow", "inspect", "rotate", "keys", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_STRING(struct weir__token_values, expires), .name = "expires", .letter = 'e',
     .value_name = "WHEN", .section = "What a token allows",
     .help = "until when: 90s, 1h, 30d, 2026-12-01, 2026-12-01T12:00:00Z, or never",
     .detail = "A new token ends in 1h unless this says otherwise."},
    {WEIR__OPTION_STRING(struct weir__token_values, scope), .name = "scope", .letter = 's',
     .value_name = "LIST",
     .help = "what for: read, write, delete, admin, peer; several with commas between",
     .detail = "A new token has read alone unless this says otherwise. None has another in it."},
    {WEIR__OPTION_STRING(struct weir__token_values, method), .name = "method", .letter = 'm',
     .value_name = "LIST", .help = "by which methods: GET, HEAD, PUT, POST, DELETE"},
    {WEIR__OPTION_STRING(struct weir__token_values, path), .name = "path", .letter = 'p',
     .value_name = "PATH", .help = "below which path, as /o/"},
    {WEIR__OPTION_STRING(struct weir__token_values, client), .name = "client", .letter = 'c',
     .value_name = "NETWORKS", .help = "from which addresses, as 10.0.0.0/8,::1"},
    {WEIR__OPTION_SIZE(struct weir__token_values, body), .name = "body", .letter = 'b',
     WEIR__GIVEN(struct weir__token_values, has_body), .help = "bodies up to this size"},
    {WEIR__OPTION_DIRECTORY(struct weir__token_values, data), .name = "data", .letter = 'd',
     .section = "Where things are", .value_name = "DIR",
     .help = "the folder of the storage, which has the keys in its folder keys",
     .detail = "By default weir/storage in XDG_DATA_HOME, or in ~/.local/share; for root "
               "/var/lib/weir/storage, as in the unit of systemd. mint and rotate make it if it is "
               "not there. Root may use the keys of a service that runs as somebody else, and what "
               "root makes in its folder belongs to that user."},
    {WEIR__OPTION_DIRECTORY(struct weir__token_values, keys), .name = "keys", .letter = 'k',
     .value_name = "DIR", .help = "the folder of the keys itself"},
    {WEIR__OPTION_FILE(struct weir__token_values, from), .name = "from", .letter = 'f',
     .value_name = "FILE", .help = "the file that the token is in; - is standard input"},
    {WEIR__OPTION_FLAG(struct weir__token_values, json), .name = "json", .help = "print JSON"},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "ACTION",
     .min = 1,
     .max = 1,
     .words = actions,
     .help = "mint a token, narrow or inspect one, rotate the keys, or list the keys"},
    {.name = "TOKEN",
     .min = 0,
     .max = 1,
     .help = "of narrow and inspect: the token, or - for standard input; an operand can be seen by "
             "others on this machine, standard input cannot"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir token mint --scope read,write --path /o/ --expires 1d",
     "print a token for uploads and downloads of objects, for a day"},
    {"weir token narrow - --method GET --client 192.0.2.7 <token",
     "print what may be given to somebody else: reading alone, from one address"},
    {"weir token inspect - <token", "see what a token allows, and whether it is genuine"},
    {"weir token rotate && systemctl reload weir-storage",
     "make a new key, which mints from now on, and have the service know it; old ones still "
     "verify"},
    {NULL, NULL},
};

static const struct weir__example variables[] = {
    {"XDG_DATA_HOME", "where the folder weir/storage is; by default ~/.local/share"},
    {NULL, NULL},
};

const struct weir__usage usage_token = {
    .description =
        "Makes capabilities: texts that a request shows (Authorization: Bearer TOKEN) and that say "
        "what it may do. Whoever has one can use it, so keep it as you keep a password.\n\n"
        "mint makes a new token with the newest key, and the first key if there is none. narrow "
        "adds limits to a token and needs no key and no service: what comes out allows less, and "
        "nobody can take the limits away again. inspect prints what a token says; where the keys "
        "are at hand, also whether its signature is right. rotate adds a key: it mints from then "
        "on, and the old ones verify until their files are removed. A service that runs has to be "
        "told (SIGHUP, or systemctl reload weir-storage) before it accepts tokens of the new key. "
        "keys lists them.",
    .examples = examples,
    .variables = variables,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct weir__token_values),
};

static int refuse(const char *why)
{
    weir__log(WEIR__LOG_ERROR, "%s", why);
    return -WEIR_E_USAGE;
}

/* --- keys --- */

static int load_keys(const struct weir__token_values *values, struct weir__keyring **ret_ring,
                     bool is_made)
{
    char folder[WEIR__TOKEN_FOLDER_SIZE], why[WEIR__KEY_WHY], id[WEIR__KEY_ID_SIZE];
    int result = weir__token_folder(folder, values, is_made);
    if (result < 0)
        return result;
    result = weir__keyring_load(ret_ring, folder, why);
    if (result == -WEIR_E_NOT_FOUND && is_made) {
        result = weir__keyring_add(folder, id, why);
        if (result == 0)
            weir__log(WEIR__LOG_INFO, "made the first key in '%s'", WEIR__TYPED(folder));
        if (result == 0)
            result = weir__keyring_load(ret_ring, folder, why);
    }
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "%s", why);
    return result;
}

static int rotate(const struct weir__call *call)
{
    const struct weir__token_values *values = call->values;
    char folder[WEIR__TOKEN_FOLDER_SIZE], why[WEIR__KEY_WHY], id[WEIR__KEY_ID_SIZE];
    int result = weir__token_folder(folder, values, true);
    if (result < 0)
        return result;
    result = weir__keyring_add(folder, id, why);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return result;
    }
    weir__out_printf(call->out, values->json ? "{\"key\":\"%s\"}\n" : "%s\n", id);
    weir__log(WEIR__LOG_INFO, "a service that runs refuses tokens of the new key until it is told "
                              "to read its keys anew: send it SIGHUP (systemctl reload "
                              "weir-storage)");
    return 0;
}

static int list_keys(const struct weir__call *call)
{
    const struct weir__token_values *values = call->values;
    struct weir__keyring *ring;
    int result = load_keys(values, &ring, false);
    if (result < 0)
        return result;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_array(&json);
    size_t count = weir__keyring_count(ring);
    for (size_t i = 0; i < count; i++) {
        const char *id = weir__keyring_id(ring, i);
        if (!values->json)
            weir__out_printf(call->out, "%s  %s\n", id,
                             i + 1 == count ? "mints and verifies" : "verifies");
        weir__json_object(&json);
        weir__json_key(&json, "key");
        weir__json_string(&json, id);
        weir__json_key(&json, "mints");
        weir__json_bool(&json, i + 1 == count);
        weir__json_end(&json);
    }
    weir__json_end(&json);
    weir__keyring_free(ring);
    return values->json ? weir__print_json(call->out, &json, &buffer) : 0;
}

/* --- tokens --- */

static int print_token(const struct weir__call *call, const char *token)
{
    const struct weir__token_values *values = call->values;
    struct weir__token_view view;
    if (!values->json) {
        weir__out_puts(call->out, token);
        weir__out_puts(call->out, "\n");
        return 0;
    }
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    int result = weir__token_read(&view, token, strlen(token));
    if (result < 0)
        return result;
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__json_key(&json, "token");
    weir__json_string(&json, token);
    weir__token_put(&json, &view);
    weir__json_end(&json);
    return weir__print_json(call->out, &json, &buffer);
}

static int tell(int result)
{
    if (result == -WEIR_E_TOO_LARGE)
        weir__log(WEIR__LOG_ERROR,
                  "the token would be too large: it may have 64 caveats and 4096 bytes");
    else if (result == -WEIR_E_UNAUTHORIZED)
        weir__log(WEIR__LOG_ERROR, "that is no token of weir, or it is damaged");
    else if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot make the token: %s", weir_error_text(result));
    return result;
}

static int mint(const struct weir__call *call)
{
    char token[WEIR__TOKEN_SIZE];
    struct weir__token_given given;
    struct weir__keyring *ring = NULL;
    int result = weir__token_caveats(&given, call->values, true);
    if (result == 0)
        result = load_keys(call->values, &ring, true);
    if (result == 0)
        result = tell(weir__token_mint(token, ring, given.texts, given.count));
    if (result == 0)
        result = print_token(call, token);
    weir__keyring_free(ring);
    weir__token_caveats_fini(&given);
    return result;
}

static int narrow(const struct weir__call *call)
{
    char token[WEIR__TOKEN_SIZE], narrowed[WEIR__TOKEN_SIZE];
    struct weir__token_given given;
    int length = 0, result = weir__token_caveats(&given, call->values, false);
    if (result == 0 && given.count == 0)
        result = refuse("narrow to what? give --expires, --scope, --method, --path, --client or "
                        "--body");
    if (result == 0)
        length = result = weir__token_given(token, call);
    if (result > 0)
        result =
            tell(weir__token_narrow(narrowed, token, (size_t)length, given.texts, given.count));
    if (result == 0)
        result = print_token(call, narrowed);
    weir__token_caveats_fini(&given);
    return result;
}

static int inspect(const struct weir__call *call)
{
    char token[WEIR__TOKEN_SIZE];
    int length = weir__token_given(token, call);
    return length < 0 ? length : weir__token_inspect(call, token, (size_t)length);
}

/* --- the command --- */

/* What an action has no use for is not accepted. */
static int check(const struct weir__call *call, bool takes_token, bool takes_caveats,
                 bool takes_keys)
{
    const struct weir__token_values *values = call->values;
    bool has_caveats = values->expires || values->scope || values->method || values->path ||
                       values->client || values->has_body;
    if (!takes_token && (call->operands_count > 1 || values->from))
        return refuse("this action takes no token: only narrow and inspect do");
    if (!takes_caveats && has_caveats)
        return refuse("what a token allows is said to mint and narrow alone");
    if (!takes_keys && (values->keys || values->data))
        return refuse("narrow needs no keys: leave --keys and --data out");
    return 0;
}

int cmd_token(const struct weir__call *call)
{
    static const struct {
        int (*run)(const struct weir__call *call);
        bool takes_token, takes_caveats, takes_keys;
    } rows[] = {
        {mint, false, true, true},    {narrow, true, true, false},     {inspect, true, false, true},
        {rotate, false, false, true}, {list_keys, false, false, true},
    };
    size_t which = 0;
    while (strcmp(actions[which], call->operands[0]) != 0)
        which++;
    int result =
        check(call, rows[which].takes_token, rows[which].takes_caveats, rows[which].takes_keys);
    if (result < 0)
        return result;
    const char *why = weir__token_load();
    if (why) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return -WEIR_E_UNSUPPORTED;
    }
    return rows[which].run(call);
}
