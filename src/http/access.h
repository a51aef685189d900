/* access.h - one line for one request: for people, or as JSON.
 *
 *     2026-11-17T15:06:52Z 9f3c21 10.1.2.3 GET "/o/x" 200 in=0 out=123 us=456
 * token=e5419821d58d7b8d
 *     {"time":"2026-11-17T15:06:52Z","corr_id":"9f3c21","client":"10.1.2.3","method":"GET",...}
 *
 * Promises
 * - One request is one line, whatever was sent: control characters, quotes, backslashes and bytes
 *   that are not UTF-8 are escaped (as JSON has it there: such bytes become U+FFFD). In the line
 * for people only the path is in quotes; a space or an oddity in another field is escaped, too, so
 *   that fields can be told apart by spaces.
 * - What is longer than its field is cut, not in the middle of a character, and ends with "...".
 * - The id of a token, and never a token. The path without its query, where secrets may be, and no
 *   more of it than routes need: "/o/" with an address has 70 bytes. A token has 200 and more, so
 *   one that was pasted into a path is never shown with its signature, which stands last.
 *
 * Limits: WEIR__ACCESS_PATH bytes of a path, WEIR__ACCESS_WORD of any other text; so a line is
 * never above WEIR__ACCESS_LINE. Nothing waits; only the buffer allocates, and one that is emptied
 * and used again does not do it twice.
 *
 * Ownership: texts are the caller's, and nothing is kept.
 */
#ifndef WEIR_HTTP_ACCESS_H
#define WEIR_HTTP_ACCESS_H

#include "buffer.h"

#define WEIR__ACCESS_PATH 80u
#define WEIR__ACCESS_WORD 64u
#define WEIR__ACCESS_LINE 4096u

struct weir__access {
    int64_t time_s; /* weir_wall_s() */
    const char *corr_id;
    const char *client; /* as text; NULL: it has no address */
    const char *method;
    const char *path; /* decoded or not, without query; may have any byte in it */
    size_t path_length;
    unsigned status;
    uint64_t bytes_in, bytes_out;
    uint64_t duration_us;
    const char *token_id; /* NULL: there was none, or it was not good */
};

enum weir__access_form { WEIR__ACCESS_TEXT, WEIR__ACCESS_JSON };

/* Appends the line, with its end: all of it or nothing. 0, NoMemory or Overflow. */
WEIR_MUST_USE int weir__access_put(struct weir__buffer *buffer, const struct weir__access *access,
                                   enum weir__access_form form);

#endif
