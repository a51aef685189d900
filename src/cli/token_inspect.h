/* token_inspect.h - weir token inspect: what can be read of a token.
 *
 * Ownership: everything stays the caller's.
 */
#ifndef WEIR_CLI_TOKEN_INSPECT_H
#define WEIR_CLI_TOKEN_INSPECT_H

#include "token_given.h"

/* Prints it; a signature that is wrong is an error. The library is loaded. */
WEIR_MUST_USE int weir__token_inspect(const struct weir__call *call, const char *token,
                                      size_t length);

/* Appends the fields id, key and caveats to an object. */
struct weir__json;
void weir__token_put(struct weir__json *json, const struct weir__token_view *view);

#endif
