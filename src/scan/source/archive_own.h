/* archive_own.h - what a container has beside the members in it, to be scanned as well.
 *
 * Comments, extended headers, scripts of packages, targets of links, names, padding, what stands in
 * front of, between or behind the members: whatever of a container's bytes did not come out of it
 * as a member's. All of these are given as an object of the container's own path, in which every
 * byte keeps its place. Left out are bytes that were given as stored members already (a member's
 * block that lies in the input's block is that), the packed blocks of zstd and lz4, which show
 * pieces of what is in them, and bytes that are no text (archive_text.c).
 *
 * An input that can be read again is looked at when its members are done. One that is a member of
 * another archive passes by once, while its own members are being given: its texts are kept until
 * the parent is at no member.
 *
 * Limits: KEPT bytes of texts at a time for a level, those of all levels together not more than
 * archive_bytes_max, EXTENTS stored members of which it is known where they lie (the others are
 * scanned twice and told once). What does not fit is told.
 *
 * Ownership: a level owns its own; bytes are borrowed for the call.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_OWN_H
#define WEIR_SCAN_SOURCE_ARCHIVE_OWN_H

#include "buffer.h"

struct weir__archive_level;
struct weir__archive_trip;

/* The lines before a place in an input: how many, and where the one at hand begins. */
struct weir__archive_lines {
    uint64_t count, start;
};
/* Goes on behind these bytes, which are at that place. */
void weir__archive_lines_pass(struct weir__archive_lines *lines, uint64_t at, const char *bytes,
                              size_t length);

/* A part of an input. */
struct weir__archive_extent {
    uint64_t from, until;
    struct weir__archive_lines lines; /* that end in it; behind the last of them, if any */
};
/* --- archive_text.c --- */

#define WEIR__ARCHIVE_TEXT_MIN 12u

/* Texts in bytes that come in pieces: TEXT_MIN of them that can be typed, with NULs between them at
 * most; then all up to several in a row that cannot be typed. */
struct weir__archive_text {
    uint64_t at;                          /* of the next byte */
    struct weir__archive_lines lines;     /* before what is pending */
    char pending[WEIR__ARCHIVE_TEXT_MIN]; /* that may become one */
    size_t pending_length;
    unsigned strange; /* bytes in a row that cannot be typed */
    bool is_in_text;
};

/* Whether they are text, in whatever encoding that has ASCII in it, and zeros behind it. */
bool weir__archive_is_plain(const char *bytes, size_t length);

struct weir__archive_text_sink {
    void (*put)(void *arg, uint64_t at, const struct weir__archive_lines *before, const char *bytes,
                size_t length);
    void *arg;
};
void weir__archive_text_feed(struct weir__archive_text *text, const char *bytes, size_t length,
                             const struct weir__archive_text_sink *sink);
/* Bytes follow that are not to be looked at. */
void weir__archive_text_pass(struct weir__archive_text *text, const char *bytes, size_t length);
/* The next bytes are at that place; so many lines end in what lies between. */
void weir__archive_text_jump(struct weir__archive_text *text, uint64_t at,
                             const struct weir__archive_lines *between);

/* --- archive_blocks.c --- */

/* Where in a stream of zstd or lz4 frames the packed blocks are. */
struct weir__archive_blocks {
    unsigned state;
    unsigned char few[4]; /* of the field that is being read */
    size_t few_length;
    uint64_t left; /* of a part that is passed over */
    bool has_block_sum, has_sum;
    bool is_legacy, is_zstd, is_last;
    bool is_one_kind; /* frames of the other format are none */
    bool has_zstd, has_lz4;
};
/* How many of the next bytes are of one kind, at least one; whether they are packed. */
size_t weir__archive_blocks_next(struct weir__archive_blocks *blocks, const char *bytes,
                                 size_t length, bool *ret_packed);

/* Whether the next byte begins a frame, or would if there were one. */
bool weir__archive_blocks_is_between(const struct weir__archive_blocks *blocks);
/* Whether something came behind the last frame that is none, as far as it came: fewer bytes than a
 * frame begins with are none if they are all. */
bool weir__archive_blocks_has_rest(const struct weir__archive_blocks *blocks);
/* Whether something came that is no frame, whatever follows. */
bool weir__archive_blocks_is_over(const struct weir__archive_blocks *blocks);

/* --- what a level keeps of all this --- */

struct weir__archive_own {
    struct weir__archive_text text;
    struct weir__archive_blocks blocks;
    uint64_t blocks_from;        /* in the input */
    struct weir__buffer kept;    /* texts, each behind its place and length */
    struct weir__buffer extents; /* of members that are stored in the input, or in its block */
    size_t extents_at;           /* the first that is not behind */
    size_t last;                 /* of the texts */
    uint64_t end;                /* behind the last text that was kept or given */
    struct weir__archive_lines end_lines; /* before that, of those that were given */
    uint64_t tapped;                      /* bytes of an input that passes by */
    /* Of a package, whose content goes on in the same file: where that begins, which 0 is if it is
     * not known; how much of it came as a copy; and the lines before it, before the last block that
     * was read, and behind that. */
    uint64_t content_at, content_unmarked;
    struct weir__archive_lines content_lines, block_lines, read_lines;
    bool is_sorted;            /* the extents are */
    bool is_open;              /* texts are given as they come */
    bool is_lost;              /* some were not */
    struct weir__buffer after; /* what stands behind the end, but zeros before it: the last of it */
    size_t after_zeros;        /* the first of these */
    bool has_after;            /* there was something there */
    bool is_after_known;       /* its beginning was looked at */
    bool begins_archive;       /* which may be the beginning of one */
    bool has_archive;          /* there is one behind the end of an input that has passed by */
    bool has_behind;           /* or anything but zeros */
    bool has_packed;           /* behind a compressed stream, what is no text: a damaged part? */
};

/* --- archive_extents.c --- */

void weir__archive_extents_init(struct weir__archive_own *own);
/* By their beginnings. In place: the library's way to sort asks the system for its memory, which is
 * not allowed here. */
void weir__archive_extents_sort(struct weir__archive_extent *extents, size_t count);
/* Before the places that are asked for begin anew; then, for places that only grow: the extent that
 * one is in, or the next one; or NULL. */
void weir__archive_extents_start(struct weir__archive_own *own);
const struct weir__archive_extent *weir__archive_extents_at(struct weir__archive_own *own,
                                                            uint64_t at);
void weir__archive_extents_forget(struct weir__archive_own *own);

/* --- archive_kept.c --- */

void weir__archive_kept_init(struct weir__archive_own *own);
/* Whether the parent can take something now. What earlier children may have given is kept until it
 * is known: what is given twice is told once. */
bool weir__archive_kept_may_give(const struct weir__archive_trip *trip);
/* Texts are given as they come from here on, and no more. */
void weir__archive_kept_open(struct weir__archive_level *level);
void weir__archive_kept_close(struct weir__archive_level *level);
/* The sink of texts; arg is the level. */
void weir__archive_kept_put(void *arg, uint64_t at, const struct weir__archive_lines *before,
                            const char *bytes, size_t length);
/* Gives what was kept; or only if it is much and can be given. */
void weir__archive_kept_give(struct weir__archive_level *level);
void weir__archive_kept_give_much(struct weir__archive_level *level);

/* --- archive_after.c --- */

void weir__archive_after_init(struct weir__archive_own *own);
/* The next bytes behind the end. */
void weir__archive_after_add(struct weir__archive_own *own, const char *bytes, size_t length);
/* There are no more: has_archive and has_behind are known. */
void weir__archive_after_end(struct weir__archive_level *level);

/* --- archive_own.c --- */

void weir__archive_own_init(struct weir__archive_level *level);
void weir__archive_own_fini(struct weir__archive_level *level);
/* archive_extents.c: a block of the input, before it is read. */
void weir__archive_own_see(struct weir__archive_level *level, uint64_t at, const char *bytes,
                           size_t length);
/* The same: places are counted from where the outer one begins if its content is as it is in its
 * file. */
void weir__archive_own_follow(struct weir__archive_level *level,
                              const struct weir__archive_level *outer);
/* The same: a block of a member. */
void weir__archive_own_mark(struct weir__archive_level *level, const char *bytes, size_t length);
/* The same for the target of a link, which is given as a copy: if it is stored, it is what was read
 * last. */
void weir__archive_own_mark_target(struct weir__archive_level *level, const char *target,
                                   size_t length);
/* Before the next block of an input that passes by is read. */
void weir__archive_own_tap(struct weir__archive_level *level);
/* Between members: gives what has been kept of this level and those around it if it is much. */
void weir__archive_own_flush(struct weir__archive_level *level);
/* When the level was walked and closed: looks at the rest, and gives all that there is. */
void weir__archive_own_finish(struct weir__archive_level *level);

#endif
