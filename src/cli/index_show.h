/* index_show.h - what was found in an index, for people and for programs.
 *
 * Ownership: nothing is kept.
 */
#ifndef WEIR_CLI_INDEX_SHOW_H
#define WEIR_CLI_INDEX_SHOW_H

#include "index_client.h"
#include "out.h"

/* On standard error: that it is stale, that records were wrong; more if is_verbose. */
void weir__index_tell(const struct weir__index_found *found, bool is_verbose);
/* The address, then each provider; then the trace, if there is one. */
int weir__index_print(struct weir__out *out, const struct weir__index_found *found);
int weir__index_print_json(struct weir__out *out, const struct weir__question *question,
                           const struct weir__index_found *found);
/* Of a lookup that failed: the trace, if there is one; as JSON with error and message. Gives the
 * reference back; accepts NULL. */
void weir__index_print_refusal(struct weir__out *out, json_t *refusal, bool is_json);

#endif
