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
/* As JSON: what was announced. */
void weir__index_print_announced(struct weir__out *out, const struct weir__record *record);
/* Of what failed: its trace, if there is one; as JSON an object with error, message and that, in
 * the words of the service where it has sent any. client: whose last request it was; may be NULL.
 * problem: may be empty. */
void weir__index_print_failure(struct weir__out *out, const struct weir__index_client *client,
                               int error, const char *problem, bool is_json);

#endif
