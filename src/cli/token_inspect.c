/* token_inspect.c - see token_inspect.h. */
#include "token_inspect.h"

#include <stdio.h>
#include <string.h>

#include <weir/clock.h>
#include <weir/error.h>

#include "log.h"
#include "print_json.h"

#include "banned.h"

#define JSON_MAX (64u << 10)

/* What the keys of this machine say about it. */
enum verdict { UNKNOWN, GENUINE, WRONG };

struct look {
    struct weir__token_view view;
    enum verdict verdict;
    const char *reason; /* of UNKNOWN */
    bool is_expired;
};

static bool read_caveat(const struct weir__token_caveat *caveat, struct weir__caveat *ret_caveat)
{
    return weir__caveat_parse(ret_caveat, caveat->text, caveat->length) == 0;
}

static bool is_expired(const struct weir__token_view *view)
{
    struct weir__token_request now = {.now_s = weir_wall_s()};
    struct weir__caveat caveat;
    for (size_t i = 0; i < view->caveats_count; i++)
        if (read_caveat(&view->caveats[i], &caveat) && caveat.kind == WEIR__CAVEAT_EXPIRES &&
            weir__caveat_refusal(&caveat, &now))
            return true;
    return false;
}

/* Without keys it is not known; that is no error unless somebody said where they are. */
static int ask_keys(struct look *look, const struct weir__token_values *values, const char *token,
                    size_t length)
{
    char folder[WEIR__TOKEN_FOLDER_SIZE], why[WEIR__KEY_WHY];
    struct weir__keyring *ring;
    int result = weir__token_folder(folder, values, false);
    if (result < 0)
        return result;
    result = weir__keyring_load(&ring, folder, why);
    if (result == -WEIR_E_NOT_FOUND && !values->keys && !values->data) {
        look->reason = "there are no keys here";
        return 0;
    }
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "%s", why);
        return result;
    }
    if (!weir__keyring_find(ring, look->view.key_id)) {
        look->reason = "its key is not among those that were looked at: see --data and --keys";
    } else {
        result = weir__token_is_genuine(ring, token, length);
        look->verdict = result == 0 ? GENUINE : WRONG;
    }
    weir__keyring_free(ring);
    if (result < 0 && result != -WEIR_E_UNAUTHORIZED) {
        weir__log(WEIR__LOG_ERROR, "cannot verify the token: %s", weir_error_text(result));
        return result;
    }
    return 0;
}

static void print_text(struct weir__out *out, const struct look *look)
{
    struct weir__caveat caveat;
    char text[WEIR__TOKEN_SIZE];
    weir__out_printf(out, "token      %s%s\n", look->view.id, look->is_expired ? ", expired" : "");
    weir__out_printf(out, "key        %s\n", look->view.key_id);
    weir__out_printf(out, "signature  %s%s\n",
                     look->verdict == GENUINE ? "right"
                     : look->verdict == WRONG ? "wrong"
                                              : "not verified: ",
                     look->verdict == UNKNOWN ? look->reason : "");
    for (size_t i = 0; i < look->view.caveats_count; i++) {
        const struct weir__token_caveat *one = &look->view.caveats[i];
        snprintf(text, sizeof(text), "%.*s", (int)one->length, one->text);
        weir__out_puts(out, "caveat     ");
        weir__out_escaped(out, text);
        weir__out_puts(out, read_caveat(one, &caveat) ? "\n" : "  (not known: allows nothing)\n");
    }
}

void weir__token_put(struct weir__json *json, const struct weir__token_view *view)
{
    weir__json_key(json, "id");
    weir__json_string(json, view->id);
    weir__json_key(json, "key");
    weir__json_string(json, view->key_id);
    weir__json_key(json, "caveats");
    weir__json_array(json);
    for (size_t i = 0; i < view->caveats_count; i++)
        weir__json_bytes(json, view->caveats[i].text, view->caveats[i].length);
    weir__json_end(json);
}

static int print_json(struct weir__out *out, const struct look *look)
{
    struct weir__caveat caveat;
    bool are_known = true;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    struct weir__json json;
    for (size_t i = 0; i < look->view.caveats_count; i++)
        are_known = are_known && read_caveat(&look->view.caveats[i], &caveat);
    weir__buffer_init(&buffer, JSON_MAX);
    weir__json_init(&json, &buffer);
    weir__json_object(&json);
    weir__token_put(&json, &look->view);
    weir__json_key(&json, "caveats_known");
    weir__json_bool(&json, are_known);
    weir__json_key(&json, "expired");
    weir__json_bool(&json, look->is_expired);
    weir__json_key(&json, "verified");
    if (look->verdict == UNKNOWN)
        weir__json_null(&json);
    else
        weir__json_bool(&json, look->verdict == GENUINE);
    weir__json_end(&json);
    return weir__print_json(out, &json, &buffer);
}

int weir__token_inspect(const struct weir__call *call, const char *token, size_t length)
{
    const struct weir__token_values *values = call->values;
    struct look look = {.reason = ""};
    int result = weir__token_read(&look.view, token, length);
    if (result < 0) {
        weir__log(WEIR__LOG_ERROR, "that is no token of weir, or it is damaged");
        return result;
    }
    result = ask_keys(&look, values, token, length);
    if (result < 0)
        return result;
    look.is_expired = is_expired(&look.view);
    if (values->json)
        result = print_json(call->out, &look);
    else
        print_text(call->out, &look);
    if (result == 0 && look.verdict == WRONG) {
        weir__log(WEIR__LOG_ERROR, "the signature is wrong: the token was changed, or made "
                                   "with another key of the same name");
        return -WEIR_E_UNAUTHORIZED;
    }
    return result;
}
