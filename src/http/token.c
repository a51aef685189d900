/* token.c - capabilities: minted, narrowed and verified by libmacaroons. */
#include "token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "macaroon_lib.h"
#include "require.h"
#include "sys.h"

#include "banned.h"

#define LOCATION "weir"
#define NONCE    16u
#define ID       ((WEIR__TOKEN_ID_SIZE - 1) / 2)

static const struct weir__macaroons *library;

const char *weir__token_load(void)
{
    const char *why = NULL;
    if (!library)
        library = weir__macaroons_load(&why);
    return why;
}

static const unsigned char *bytes_of(const char *text)
{
    return (const unsigned char *)text;
}

static int error_of(enum macaroon_returncode code)
{
    switch (code) {
    case MACAROON_OUT_OF_MEMORY:
        return -WEIR_E_NO_MEMORY;
    case MACAROON_TOO_MANY_CAVEATS:
    case MACAROON_BUF_TOO_SMALL:
        return -WEIR_E_TOO_LARGE;
    case MACAROON_INVALID:
    case MACAROON_NOT_AUTHORIZED:
        return -WEIR_E_UNAUTHORIZED;
    default:
        return -WEIR_E_INTERNAL;
    }
}

/* --- making --- */

static int check_caveats(const char *const *caveats, size_t count, size_t already)
{
    struct weir__caveat caveat;
    size_t total = 0;
    if (count > WEIR__TOKEN_CAVEATS_MAX - already)
        return -WEIR_E_TOO_LARGE;
    for (size_t i = 0; i < count; i++) {
        size_t length = strnlen(caveats[i], WEIR__TOKEN_MAX);
        total += length;
        if (total >= WEIR__TOKEN_MAX)
            return -WEIR_E_TOO_LARGE;
        if (weir__caveat_parse(&caveat, caveats[i], length) < 0)
            return -WEIR_E_INVALID;
    }
    return 0;
}

/* Takes the macaroon, in any case. */
static int finish(char ret_text[WEIR__TOKEN_SIZE], struct macaroon *macaroon,
                  const char *const *caveats, size_t count)
{
    enum macaroon_returncode code = MACAROON_SUCCESS;
    struct weir__token_view view;
    char text[2 * WEIR__TOKEN_SIZE]; /* the library asks for more than it writes */
    for (size_t i = 0; i < count && macaroon; i++) {
        struct macaroon *more = library->add_first_party_caveat(macaroon, bytes_of(caveats[i]),
                                                                strlen(caveats[i]), &code);
        library->destroy(macaroon);
        macaroon = more;
    }
    if (!macaroon)
        return error_of(code);
    int result = 0;
    if (library->serialize_size_hint(macaroon) > sizeof(text))
        result = -WEIR_E_TOO_LARGE;
    else if (library->serialize(macaroon, text, sizeof(text), &code) != 0)
        result = error_of(code);
    library->destroy(macaroon);
    if (result < 0)
        return result;
    size_t length = strnlen(text, sizeof(text));
    if (length > WEIR__TOKEN_MAX)
        return -WEIR_E_TOO_LARGE;
    /* What we could not read ourselves must not be given away. */
    if (weir__token_read(&view, text, length) < 0)
        return -WEIR_E_INTERNAL;
    memcpy(ret_text, text, length + 1);
    return 0;
}

static void put_hex(char *text, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

int weir__token_mint(char ret_text[WEIR__TOKEN_SIZE], const struct weir__keyring *ring,
                     const char *const *caveats, size_t count)
{
    WEIR__REQUIRE(library, "token", "mint", "weir__token_load() comes first");
    unsigned char random[ID + NONCE];
    char id[2 * ID + 1], nonce[2 * NONCE + 1], identifier[128];
    enum macaroon_returncode code = MACAROON_SUCCESS;
    const char *key_id = weir__keyring_id(ring, weir__keyring_count(ring) - 1);
    int result = check_caveats(caveats, count, 0);
    if (result < 0)
        return result;
    if (weir__sys_random(random, sizeof(random)) < 0)
        return weir_error_from_errno(errno);
    put_hex(id, random, ID);
    put_hex(nonce, random + ID, NONCE);
    int length = snprintf(identifier, sizeof(identifier), "v1:%s:%s:%s", key_id, id, nonce);
    struct macaroon *macaroon =
        library->create(bytes_of(LOCATION), strlen(LOCATION), weir__keyring_find(ring, key_id),
                        WEIR__KEY_SIZE, bytes_of(identifier), (size_t)length, &code);
    return macaroon ? finish(ret_text, macaroon, caveats, count) : error_of(code);
}

/* The library's own form of a token that was read, ended by NUL as it wants it. */
static struct macaroon *revive(const char *token, size_t length, int *ret_error)
{
    enum macaroon_returncode code = MACAROON_SUCCESS;
    char text[WEIR__TOKEN_SIZE];
    memcpy(text, token, length);
    text[length] = '\0';
    struct macaroon *macaroon = library->deserialize(text, &code);
    if (!macaroon)
        *ret_error = error_of(code);
    return macaroon;
}

int weir__token_narrow(char ret_text[WEIR__TOKEN_SIZE], const char *token, size_t length,
                       const char *const *caveats, size_t count)
{
    WEIR__REQUIRE(library, "token", "narrow", "weir__token_load() comes first");
    struct weir__token_view view;
    int result = weir__token_read(&view, token, length);
    if (result == 0)
        result = check_caveats(caveats, count, view.caveats_count);
    if (result < 0)
        return result;
    struct macaroon *macaroon = revive(token, length, &result);
    return macaroon ? finish(ret_text, macaroon, caveats, count) : result;
}

/* --- verifying --- */

struct judge {
    const struct weir__token_request *request; /* NULL: the signature alone is asked for */
    size_t seen;
    uint64_t body_max;
    const char *expired;
    const char *refused;
};

/* Each caveat, as the library has it. It always says yes: what is then verified is the signature,
 * and what the caveats say is known apart from it. */
static int judge_caveat(void *arg, const unsigned char *text, size_t length)
{
    struct judge *judge = arg;
    struct weir__caveat caveat;
    judge->seen++;
    if (!judge->request)
        return 0;
    if (weir__caveat_parse(&caveat, (const char *)text, length) < 0) {
        judge->refused = "has a caveat that is not known here";
        return 0;
    }
    if (caveat.kind == WEIR__CAVEAT_BODY && caveat.body_max < judge->body_max)
        judge->body_max = caveat.body_max;
    const char *why = weir__caveat_refusal(&caveat, judge->request);
    if (why && caveat.kind == WEIR__CAVEAT_EXPIRES)
        judge->expired = why;
    else if (why && !judge->refused)
        judge->refused = why;
    return 0;
}

static bool is_same_identifier(const struct weir__token_view *view, const struct macaroon *macaroon)
{
    const unsigned char *identifier = NULL;
    size_t length = 0;
    library->identifier(macaroon, &identifier, &length);
    return identifier && length == view->identifier.length &&
           memcmp(identifier, view->identifier.text, length) == 0;
}

static int verify_signature(const struct weir__token_view *view, const struct macaroon *macaroon,
                            const unsigned char *key, struct judge *judge)
{
    enum macaroon_returncode code = MACAROON_SUCCESS;
    struct macaroon_verifier *verifier = library->verifier_create();
    if (!verifier)
        return -WEIR_E_NO_MEMORY;
    int result = 0;
    if (library->verifier_satisfy_general(verifier, judge_caveat, judge, &code) != 0 ||
        library->verify(verifier, macaroon, key, WEIR__KEY_SIZE, NULL, 0, &code) != 0)
        result = error_of(code);
    else if (judge->seen != view->caveats_count || !is_same_identifier(view, macaroon))
        result = -WEIR_E_UNAUTHORIZED;
    library->verifier_destroy(verifier);
    return result;
}

static int verify(const struct weir__token_view *view, const struct weir__keyring *ring,
                  const char *token, size_t length, struct judge *judge, const char **ret_why)
{
    int result = 0;
    const unsigned char *key = weir__keyring_find(ring, view->key_id);
    if (!key) {
        *ret_why = "was made with a key that is not known here";
        return -WEIR_E_UNAUTHORIZED;
    }
    struct macaroon *macaroon = revive(token, length, &result);
    if (macaroon)
        result = verify_signature(view, macaroon, key, judge);
    if (macaroon)
        library->destroy(macaroon);
    if (result < 0)
        *ret_why = result == -WEIR_E_UNAUTHORIZED ? "has a signature that is wrong"
                                                  : "could not be verified";
    return result;
}

int weir__token_verify(struct weir__token_grant *ret_grant, const struct weir__keyring *ring,
                       const char *token, size_t length, const struct weir__token_request *request,
                       const char **ret_why)
{
    WEIR__REQUIRE(library, "token", "verify", "weir__token_load() comes first");
    struct weir__token_view view;
    struct judge judge = {.request = request, .body_max = WEIR__BODY_UNKNOWN};
    if (weir__token_read(&view, token, length) < 0) {
        *ret_why = "is none";
        return -WEIR_E_UNAUTHORIZED;
    }
    int result = verify(&view, ring, token, length, &judge, ret_why);
    if (result < 0)
        return result;
    if (judge.expired || judge.refused) {
        *ret_why = judge.expired ? judge.expired : judge.refused;
        return judge.expired ? -WEIR_E_UNAUTHORIZED : -WEIR_E_FORBIDDEN;
    }
    *ret_grant = (struct weir__token_grant){.body_max = judge.body_max};
    memcpy(ret_grant->id, view.id, sizeof(view.id));
    memcpy(ret_grant->key_id, view.key_id, sizeof(view.key_id));
    return 0;
}

int weir__token_is_genuine(const struct weir__keyring *ring, const char *token, size_t length)
{
    WEIR__REQUIRE(library, "token", "verify", "weir__token_load() comes first");
    struct weir__token_view view;
    struct judge judge = {.request = NULL};
    const char *why;
    int result = weir__token_read(&view, token, length);
    return result < 0 ? result : verify(&view, ring, token, length, &judge, &why);
}
