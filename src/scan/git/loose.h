/* loose.h - objects that have a file each: objects/ab/cdef...
 *
 * The file is one zlib stream of "TYPE LENGTH\0" and the object. Files of other names are not
 * objects and are passed over.
 *
 * Ownership: what is read belongs to the caller, who frees memory with weir__base_free(); visitors
 * are given it until they return.
 */
#ifndef WEIR_SCAN_GIT_LOOSE_H
#define WEIR_SCAN_GIT_LOOSE_H

#include "store.h"
#include "walk.h"

struct weir__git_loose {
    uint8_t *memory;
    const uint8_t *bytes; /* in memory, behind the head */
    size_t length;
    enum weir__git_type type;
};

/* NotFound; Denied, Io: its folder cannot be searched, so nobody knows. */
WEIR_MUST_USE int weir__git_loose_is_there(int objects, const struct weir__git_id *id,
                                           size_t id_size);

/* Of an objects folder. NotFound, Corrupt, TooLarge above max, or above memory_max with its packed
 * bytes (ret_loose then has its type, and its length), Io, NoMemory; ret_why is a text. The memory
 * has room for a byte behind the object. */
WEIR_MUST_USE int weir__git_loose_read(int objects, const struct weir__git_id *id, size_t id_size,
                                       uint64_t max, uint64_t memory_max,
                                       struct weir__git_inflater *inflater,
                                       struct weir__git_loose *ret_loose, const char **ret_why);

/* The same with the bytes of such a file. */
WEIR_MUST_USE int weir__git_loose_of_bytes(const uint8_t *packed, size_t length, uint64_t max,
                                           struct weir__git_inflater *inflater,
                                           struct weir__git_loose *ret_loose, const char **ret_why);

/* The object in pieces, without its head. Anything but 0 from `piece` ends it with that answer. */
WEIR_MUST_USE int weir__git_loose_stream(int objects, const struct weir__git_id *id, size_t id_size,
                                         struct weir__git_inflater *inflater,
                                         int (*piece)(void *arg, const void *bytes, size_t length),
                                         void *arg, const char **ret_why);

/* Every loose object of the store, those of alternates included, at depth 0. The wish is asked
 * before the file is opened, with a type of 0; types are looked at afterwards. What takes more than
 * memory_max with its packed bytes is handed out as a file, if there is a spill and it fits there,
 * else told as too large. With parts, it is every so manieth of their folders, from that one on; a
 * part that a walk before this one has given as `next` goes on where that one ended.
 * Trouble names the file's folder in place of a pack. A file that is gone
 * when it is opened is trouble (NotFound): it was packed or pruned, so list the packs anew.
 */
WEIR_MUST_USE int weir__git_loose_each(struct weir__git_store *store,
                                       const struct weir__git_wish *wish,
                                       const struct weir__git_visitor *visitor, uint64_t memory_max,
                                       const struct weir__git_spill *spill,
                                       struct weir__git_walk_totals *ret_totals,
                                       const struct weir_deadline *deadline);

/* How many there are, about; no more than max are counted, and what cannot be listed is not. */
uint64_t weir__git_loose_about(const struct weir__git_store *store, uint64_t max);

#endif
