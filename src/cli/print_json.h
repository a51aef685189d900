/* print_json.h - the end of a command that prints JSON, good or bad.
 *
 * Ownership: everything stays the caller's.
 */
#ifndef WEIR_CLI_PRINT_JSON_H
#define WEIR_CLI_PRINT_JSON_H

#include "json.h"
#include "out.h"

/* Finishes the text, and prints what is in its buffer; what keeps it from that is told. */
WEIR_MUST_USE int weir__print_json(struct weir__out *out, struct weir__json *json,
                                   const struct weir__buffer *buffer);

/* Of a command that fails: {"error": name, "message": text}. message NULL: what the error means. */
void weir__print_json_failure(struct weir__out *out, int error, const char *message);

#endif
