/* fuzz_token.c - any bytes as a token: as its text, as what is inside of its text, and as caveats
 * that somebody has added to a good one with another program.
 *
 * What must hold: nothing stops the process; what we read, libmacaroons reads, and as the same;
 * what was not made with the key never verifies; and of a good token with more caveats, what it
 * allows is what each of its caveats allows.
 */
#include "token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "macaroon_lib.h"

#include "banned.h"

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_token: does not hold: %s\n", #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define KEY_ID     "20261117T150652Z-9f3c21"
#define IDENTIFIER "v1:" KEY_ID ":0123456789abcdef:00000000000000000000000000000000"

static const struct weir__token_request request = {.method = "GET",
                                                   .path = "/o/x",
                                                   .path_length = 4,
                                                   .scope = WEIR__SCOPE_READ,
                                                   .now_s = 1794928012};
static const unsigned char key[WEIR__KEY_SIZE] = {1, 2, 3};
static const struct weir__macaroons *library;
static struct weir__keyring *ring;

static void start(void)
{
    const char *why;
    if (ring)
        return;
    HOLDS(weir__token_load() == NULL);
    library = weir__macaroons_load(&why);
    HOLDS(library && weir__keyring_new(&ring, KEY_ID, key) == 0);
}

static void try_text(const char *text, size_t length)
{
    struct weir__token_view view;
    struct weir__token_grant grant;
    enum macaroon_returncode code;
    const char *why = NULL;
    int read = weir__token_read(&view, text, length);
    int result = weir__token_verify(&grant, ring, text, length, &request, &why);
    HOLDS(result == -WEIR_E_UNAUTHORIZED && why);
    if (read < 0)
        return;
    char ended[WEIR__TOKEN_SIZE];
    memcpy(ended, text, length);
    ended[length] = '\0';
    struct macaroon *macaroon = library->deserialize(ended, &code);
    HOLDS(macaroon);
    const unsigned char *identifier;
    size_t identifier_length;
    library->identifier(macaroon, &identifier, &identifier_length);
    HOLDS(identifier_length == view.identifier.length &&
          memcmp(identifier, view.identifier.text, identifier_length) == 0);
    char again[2 * WEIR__TOKEN_SIZE];
    HOLDS(library->serialize(macaroon, again, sizeof(again), &code) == 0);
    HOLDS(strcmp(ended, again) == 0); /* one text for each token */
    library->destroy(macaroon);
}

static size_t encode(const uint8_t *bytes, size_t count, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t used = 0;
    for (size_t i = 0; i < count * 8; i += 6) {
        unsigned value = 0;
        for (size_t bit = i; bit < i + 6; bit++)
            value = value << 1 | (bit < count * 8 ? bytes[bit / 8] >> (7 - bit % 8) & 1u : 0u);
        text[used++] = digits[value];
    }
    return used;
}

/* Each line is a caveat. */
static void try_caveats(const char *lines, size_t size)
{
    enum macaroon_returncode code;
    struct weir__token_grant grant;
    struct weir__caveat caveat;
    const char *why = NULL;
    char text[4 * WEIR__TOKEN_SIZE];
    int wanted = 0;
    size_t count = 0;
    struct macaroon *macaroon =
        library->create((const unsigned char *)"weir", 4, key, sizeof(key),
                        (const unsigned char *)IDENTIFIER, strlen(IDENTIFIER), &code);
    HOLDS(macaroon);
    for (size_t at = 0; at < size && size < WEIR__TOKEN_MAX; count++) {
        const char *end = memchr(lines + at, '\n', size - at);
        size_t length = end ? (size_t)(end - lines) - at : size - at;
        struct macaroon *more = library->add_first_party_caveat(
            macaroon, (const unsigned char *)lines + at, length, &code);
        HOLDS(more);
        library->destroy(macaroon);
        macaroon = more;
        bool is_known = weir__caveat_parse(&caveat, lines + at, length) == 0;
        bool is_within = is_known && !weir__caveat_refusal(&caveat, &request);
        if (is_known && caveat.kind == WEIR__CAVEAT_EXPIRES && !is_within)
            wanted = -WEIR_E_UNAUTHORIZED;
        else if (!is_within && wanted == 0)
            wanted = -WEIR_E_FORBIDDEN;
        if (length == 0) /* we take none that is empty, and make none */
            count = WEIR__TOKEN_CAVEATS_MAX;
        at += length + 1;
    }
    bool is_written = library->serialize_size_hint(macaroon) <= sizeof(text) &&
                      library->serialize(macaroon, text, sizeof(text), &code) == 0;
    library->destroy(macaroon);
    if (!is_written)
        return;
    if (count > WEIR__TOKEN_CAVEATS_MAX || strlen(text) > WEIR__TOKEN_MAX)
        wanted = -WEIR_E_UNAUTHORIZED;
    HOLDS(weir__token_verify(&grant, ring, text, strlen(text), &request, &why) == wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[2 * WEIR__TOKEN_SIZE];
    const char *token, *why;
    size_t length;
    start();
    if (size < 1 || size > WEIR__TOKEN_MAX + 10)
        return 0;
    if (data[0] == 't')
        try_text((const char *)data + 1, size - 1);
    else if (data[0] == 'p')
        try_text(text, encode(data + 1, size - 1, text));
    else if (data[0] == 'c')
        try_caveats((const char *)data + 1, size - 1);
    else if (weir__token_from_header((const char *)data, size, &token, &length, &why) == 0)
        HOLDS(length > 0 && length <= WEIR__TOKEN_MAX && token > (const char *)data &&
              token + length <= (const char *)data + size);
    return 0;
}
