/* store_show.h - what weir store prints: tables for people, JSON for programs.
 *
 * Ownership: everything stays the caller's.
 */
#ifndef WEIR_CLI_STORE_SHOW_H
#define WEIR_CLI_STORE_SHOW_H

#include "json.h"
#include "out.h"
#include "store_check.h"

/* Of one damage; what of a path or a reason it has is short. */
#define WEIR__STORE_JSON_MAX (1u << 20)

void weir__show_damage(struct weir__out *out, const struct weir__check_damage *damage);
void weir__json_damage(struct weir__json *json, const struct weir__check_damage *damage);

void weir__show_check(struct weir__out *out, const struct weir__check_report *check,
                      const struct weir__store_report *opened);
/* Keys and values, into an object that is begun. */
void weir__json_check(struct weir__json *json, const struct weir__check_report *check,
                      const struct weir__store_report *opened);

void weir__show_stats(struct weir__out *out, const struct weir__census *census,
                      const struct weir__store_stats *stats,
                      const struct weir__store_report *opened);
void weir__json_stats(struct weir__json *json, const struct weir__census *census,
                      const struct weir__store_stats *stats,
                      const struct weir__store_report *opened);

void weir__show_compacted(struct weir__out *out, const struct weir__compacted *compacted);
void weir__json_compacted(struct weir__json *json, const struct weir__compacted *compacted,
                          const struct weir__store_report *opened);

#endif
