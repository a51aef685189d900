/* json.h - a writer of JSON into a buffer; it cannot make text that does not parse.
 *
 * Commas, quotes and escapes are the writer's business. Bytes that are not UTF-8 (file names) are
 * written as U+FFFD. Nesting is at most WEIR__JSON_DEPTH_MAX deep, and the text at most as long as
 * the buffer's maximum: beyond either the first error is kept, later calls do nothing, and
 * weir__json_finish() returns it. A value without its key, or an end without its begin, is a
 * programming error and aborts.
 *
 *     weir__json_init(&json, &buffer);
 *     weir__json_object(&json);
 *     weir__json_key(&json, "name");
 *     weir__json_string(&json, "weir");
 *     weir__json_end(&json);
 *     result = weir__json_finish(&json);
 *
 * The writer only ever appends: whoever prints without knowing how much it will be takes what is in
 * the buffer and empties it after each value, also within an array.
 *
 * Ownership: the writer borrows the buffer until weir__json_finish().
 */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

#include "buffer.h"

#define WEIR__JSON_DEPTH_MAX 32

struct weir__json {
    struct weir__buffer *_buffer;
    int _error;
    unsigned _depth;
    bool _needs_comma;
    bool _has_key;
    char _closers[WEIR__JSON_DEPTH_MAX];
};

void weir__json_init(struct weir__json *json, struct weir__buffer *buffer);

void weir__json_object(struct weir__json *json);
void weir__json_array(struct weir__json *json);
/* Ends the innermost object or array. */
void weir__json_end(struct weir__json *json);

void weir__json_key(struct weir__json *json, const char *key);

void weir__json_string(struct weir__json *json, const char *text);
void weir__json_bytes(struct weir__json *json, const void *text, size_t length);
void weir__json_u64(struct weir__json *json, uint64_t value);
void weir__json_i64(struct weir__json *json, int64_t value);
/* What JSON has no number for (infinity, not-a-number) becomes null. */
void weir__json_real(struct weir__json *json, double value);
void weir__json_bool(struct weir__json *json, bool value);
void weir__json_null(struct weir__json *json);

/* Several values may follow each other at depth 0; each then stands on its own line. */
WEIR_MUST_USE int weir__json_finish(struct weir__json *json);

#endif
