/* message.h - what people wrote into commits and tags, as objects to be scanned.
 *
 * A commit is reported under "commit:" and its id, an annotated tag under "tag:" and the name that
 * it gives itself ("tag:v1.0"), as if these were paths: allow lists of paths see them, and a line
 * is a line of the part that was scanned. A tag without a name has its id instead. Names are cut at
 * WEIR__GIT_MESSAGE_NAME_MAX bytes.
 *
 * What is scanned of a commit: its message, and the text of each tag that a merge has taken in
 * ("mergetag"), which often is nowhere else in the repository. Of a tag: everything behind its
 * headers. The bytes are taken as they are, whatever encoding the commit names.
 *
 * The other headers (names and mail addresses, signatures, whatever else somebody put there) are an
 * object of their own, "commit-header:" or "tag-header:" and the id, in which lines are those of
 * the commit or tag. Left out are the lines at its beginning that are an id and nothing else.
 *
 * Ownership: parts borrow the bytes of the object.
 */
#ifndef WEIR_SCAN_GIT_MESSAGE_H
#define WEIR_SCAN_GIT_MESSAGE_H

#include "tag_object.h"

#define WEIR__GIT_MESSAGE_NAME_MAX 256u

struct weir__git_message {
    const char *_bytes;
    size_t _length, _at;
    size_t _header_at;
    bool _is_commit, _has_headers, _is_done, _is_header_done;
};

/* Always writes a name. Any bytes will do: what cannot be parsed has its id for a name. type is
 * that of a commit or a tag. */
void weir__git_message_name(enum weir__git_type type, const struct weir__git_id *id, size_t id_size,
                            const char *bytes, size_t length,
                            char name[WEIR__GIT_MESSAGE_NAME_MAX]);

/* The name for its headers, likewise. */
void weir__git_header_name(enum weir__git_type type, const struct weir__git_id *id, size_t id_size,
                           char name[WEIR__GIT_MESSAGE_NAME_MAX]);

void weir__git_message_init(struct weir__git_message *message, enum weir__git_type type,
                            const char *bytes, size_t length);

/* The next part that is to be scanned: 1, or 0 when there is no more. Works on any bytes: what has
 * no headers is message. */
int weir__git_message_next(struct weir__git_message *message, struct weir__git_range *ret_part);

/* The next row of headers, with their names, of which none is in such a part: 1, or 0 when there is
 * no more. Both can be asked in any order. */
int weir__git_message_header(struct weir__git_message *message, struct weir__git_range *ret_part);

#endif
