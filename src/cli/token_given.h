/* token_given.h - what weir token was given: where the keys are, which token is meant, and what it
 * is to be narrowed to.
 *
 * All of these tell people what is wrong. No token is ever in a message.
 *
 * Ownership: caveats own their texts until their end; everything else is the caller's.
 */
#ifndef WEIR_CLI_TOKEN_GIVEN_H
#define WEIR_CLI_TOKEN_GIVEN_H

#include "buffer.h"
#include "program.h"
#include "token.h"

struct weir__token_values {
    const char *keys;
    const char *data;
    const char *expires;
    const char *method;
    const char *path;
    const char *client;
    uint64_t body;
    bool has_body;
    const char *scope;
    const char *from;
    bool json;
};

#define WEIR__TOKEN_FOLDER_SIZE 4128u

/* The folder with the keys; is_made: for one that nobody named, those above it are made. */
WEIR_MUST_USE int weir__token_folder(char folder[WEIR__TOKEN_FOLDER_SIZE],
                                     const struct weir__token_values *values, bool is_made);

/* The token that is an operand, or on standard input, or in a file; in text, its length returned,
 * or an error. */
WEIR_MUST_USE int weir__token_given(char text[WEIR__TOKEN_SIZE], const struct weir__call *call);

/* The token in a file; its length returned, or an error. */
WEIR_MUST_USE int weir__token_from_file(char text[WEIR__TOKEN_SIZE], const char *path);

#define WEIR__TOKEN_GIVEN_MAX 6u

struct weir__token_given {
    struct weir__buffer buffer[WEIR__TOKEN_GIVEN_MAX];
    const char *texts[WEIR__TOKEN_GIVEN_MAX];
    size_t count;
};

/* The caveats that the options ask for. is_new: with an end and a scope, even if none was asked
 * for. */
WEIR_MUST_USE int weir__token_caveats(struct weir__token_given *given,
                                      const struct weir__token_values *values, bool is_new);
void weir__token_caveats_fini(struct weir__token_given *given);

#endif
