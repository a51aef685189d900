/* archive_read.h - the decoder's side of a walk: libarchive, levels and limits.
 *
 * A level is one archive that is being read: that in the file, or one that is a member of the level
 * around it. A level reads through an input: the file by its offset, a member's bytes as the outer
 * level unpacks them, or a member that was read into memory or into the file to spill to, since its
 * format needs to seek.
 *
 * Runs in the confined child; for fuzzing, in the fuzzer.
 *
 * Ownership: the walk borrows the command, the descriptor and the giver; levels and members live on
 * the stack of the functions that walk them.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_READ_H
#define WEIR_SCAN_SOURCE_ARCHIVE_READ_H

#include <sys/types.h>

#include "archive_lib.h"

#include "archive_format.h"
#include "archive_frames.h"
#include "archive_hidden.h"
#include "archive_own.h"

#define WEIR__ARCHIVE_BLOCK 65536u

struct weir__archive_trip {
    const struct weir__archive_command *command;
    struct weir__archive_giver *giver;
    int fd;
    int spill;           /* or -1 */
    uint64_t spill_used; /* by the members that are being walked; used as a stack */
    const char *window;  /* of the file, mapped; or NULL */
    uint64_t window_at;
    size_t window_length;
    bool is_unmapped;         /* the file is read plainly */
    struct weir__buffer path; /* inside of the file, joined by '!' */
    uint64_t number;          /* of the member that comes next */
    uint64_t bytes;           /* of plain members, and of those passed over by unpacking them */
    uint64_t own_bytes;       /* of containers, beside their members */
    uint64_t quiet_bytes;     /* unpacked since the last sign of life */
    size_t memory_left;       /* for members that must be in memory */
    bool is_muted;            /* among members that an earlier child has told of */
    bool is_stopped;          /* by a limit of the whole, or by a giver that failed */
    bool is_in_member;        /* one has begun for the parent, and not ended */
    char block[WEIR__ARCHIVE_BLOCK]; /* of the file */
    size_t tail_length;
    char tail[WEIR__ARCHIVE_TAIL_MAX]; /* of a member that is given as it is */
    size_t search_length;
    char search[WEIR__ARCHIVE_BLOCK + WEIR__ARCHIVE_SEARCH_OVERLAP]; /* likewise: what comes */
};

enum weir__archive_failure {
    WEIR__ARCHIVE_FINE,
    WEIR__ARCHIVE_BROKEN,
    WEIR__ARCHIVE_BOMB, /* it unpacks more than the ratio allows */
};

struct weir__archive_member;

/* Where a level's bytes come from: a member of the outer level, else memory, else what was spilled
 * of a member, else the file. */
struct weir__archive_input {
    struct weir__archive_trip *trip;
    struct weir__archive_level *level;
    struct weir__archive_member *member;
    const char *memory;
    struct weir__archive_member *spilled;
    uint64_t base; /* where it begins in what was spilled, or in the file */
    uint64_t size; /* of memory, of what was spilled, or of the file */
    uint64_t at;
    size_t zeros;      /* at its end, as far as it was read; at most a tar's block is counted */
    const char *given; /* the last block */
    uint64_t given_at;
    size_t given_length;
};

/* Of a cpio archive of one of the forms in letters: where in it the next byte is. */
#define WEIR__ARCHIVE_CPIO_HEAD 110u
struct weir__archive_cpio {
    enum {
        WEIR__ARCHIVE_CPIO_OVER, /* or it is of another form */
        WEIR__ARCHIVE_CPIO_IN_HEAD,
        WEIR__ARCHIVE_CPIO_IN_NAME,
        WEIR__ARCHIVE_CPIO_IN_DATA,
        WEIR__ARCHIVE_CPIO_IN_PADDING,
    } part;
    size_t head_length;
    uint64_t left; /* of the part */
    uint64_t size; /* of the member */
    uint64_t wrong;
    uint32_t sum, wanted;
    unsigned align;
    bool has_form; /* a header was whole */
    bool has_sum;
    bool is_lost;                       /* one was not */
    bool is_jumped;                     /* not all of the member was seen */
    char head[WEIR__ARCHIVE_CPIO_HEAD]; /* or the first bytes of the name */
};

struct weir__archive_level {
    struct weir__archive_trip *trip;
    const struct weir__archive_format *format;
    struct archive *archive;
    struct weir__archive_input input;
    struct weir__archive_gzip *gzip; /* stands between the input and libarchive; or NULL */
    struct weir__archive_xz *xz;     /* likewise */
    struct weir__archive_cpio cpio;
    uint64_t wrong_sums; /* that libarchive does not look at */
    uint64_t lost_bytes; /* of a tar: where a header should be and is none */
    bool is_header_lost; /* the same of a cpio */
    unsigned depth;      /* 1: that in the file */
    size_t path_length;
    uint64_t entries_count;
    uint64_t entries_before; /* those of archives before it in the same input */
    uint64_t start;          /* in the input */
    uint64_t frames_end;     /* of zstd and lz4 that are read from a place: behind the last one */
    struct weir__archive_blocks frames; /* of those that pass by */
    unsigned char begun[4];   /* the last bytes of a block, with which one of these may begin */
    size_t waiting;           /* of the block behind them, until they are given */
    struct weir__buffer tail; /* of a zip: the directory that its reader gets, if another one */
    uint64_t tail_from;       /* in the input, of which `size` is that with the tail then */
    uint64_t zip_from; /* a zip that is known by its end begins there; 0: none, or this is it */
    uint64_t consumed; /* of the input, when it was closed */
    uint64_t bytes;    /* unpacked, without members that were cut */
    unsigned parts;    /* of archives, that this one is a part of another one of */
    struct weir__archive_own own;
    bool is_open;
    bool is_part; /* of another level, which looks at its bytes */
    bool is_raw;  /* one stream that is no archive */
    bool is_given_up;
    bool is_end_lost;     /* a compressed stream that is broken: it may have been read too far */
    bool is_streamed;     /* a zip without its directory, which is broken */
    bool is_listed_empty; /* a zip whose directory has no entry */
    char reason[WEIR__ARCHIVE_REASON_MAX + 1]; /* why it could not be read to its end */
};

/* The bytes of one member, in order. What was read to know it is held, so that it can be read from
 * its beginning again: for a decoder that then fails, for one that needs it in memory. */
struct weir__archive_member {
    struct weir__archive_level *level;
    struct weir__buffer held;
    size_t held_at;
    const char *rest; /* of the last block, not held */
    size_t rest_length;
    uint64_t zeros;  /* of a hole, before rest */
    uint64_t offset; /* behind rest */
    uint64_t size;   /* as the archive says; 0: it does not */
    uint64_t packed_before;
    uint64_t bytes;        /* unpacked so far */
    uint64_t spilled;      /* bytes; they stand before all others, and nothing is held */
    uint64_t spilled_from; /* in the file */
    uint64_t spilled_at;   /* what is pulled next */
    char *spill_block;     /* WEIR__ARCHIVE_BLOCK, with the first spilled byte */
    bool is_holding;
    bool is_ended;
    bool is_sparse;                 /* it may end with a hole */
    bool is_replayable;             /* everything given so far is held */
    bool is_unseen;                 /* too large to be looked into before it is given */
    enum weir__archive_front front; /* of one that is unseen */
    uint64_t program_end;           /* likewise; 0: it does not say */
    const char *hidden;             /* the format of an archive whose beginning came by; or NULL */
    enum weir__archive_failure failure;
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
};

/* The whole walk. What it has to say goes to the giver, DONE at last. 0, or what the giver's send
 * answered. */
int weir__archive_trip_run(const struct weir__archive_command *command, int fd, int spill,
                           struct weir__archive_giver *giver);

/* archive_member.c */
void weir__archive_member_init(struct weir__archive_member *member,
                               struct weir__archive_level *level);
void weir__archive_member_fini(struct weir__archive_member *member);
/* The next bytes, valid until the next call; 0 of them at the end or after a failure. */
size_t weir__archive_member_pull(struct weir__archive_member *member, const char **ret_bytes);
/* The next ones of those that are neither held nor spilled, at most `most`. */
size_t weir__archive_member_next(struct weir__archive_member *member, size_t most,
                                 const char **ret_bytes);
/* The bytes of a hole that comes next and is worth it, which is passed over; else 0. */
uint64_t weir__archive_member_hole(struct weir__archive_member *member);
/* The last of these were not used after all. */
void weir__archive_member_put_back(struct weir__archive_member *member, const char *bytes,
                                   size_t length);
/* Holds the first `want` bytes, or all. */
void weir__archive_member_fill(struct weir__archive_member *member, size_t want);
/* The same, up to a hole at most. False: there is one. */
bool weir__archive_member_fill_to_hole(struct weir__archive_member *member, size_t want);
void weir__archive_member_rewind(struct weir__archive_member *member);
/* To the end, unpacking what cannot be jumped over. False: the level cannot go on. */
bool weir__archive_member_pass(struct weir__archive_member *member);

/* archive_file.c */
/* At most a block at that place of the file, valid until the next call; 0 at its end, or -1 and
 * errno. */
ssize_t weir__archive_file_read(struct weir__archive_trip *trip, uint64_t at,
                                const char **ret_bytes);
void weir__archive_file_done(struct weir__archive_trip *trip);

/* archive_spill.c */
/* Puts what is held, and the rest of the member as far as the limit goes, into the file to spill
 * to. True when all of it is there. */
bool weir__archive_spill(struct weir__archive_member *member);
/* At most a block of what was spilled, from `at` on, valid until the next call; 0 at its end, or -1
 * and errno. */
ssize_t weir__archive_spill_read(struct weir__archive_member *member, uint64_t at,
                                 const char **ret_bytes);
/* What was spilled last is forgotten first. */
void weir__archive_spill_done(struct weir__archive_member *member);

/* archive_level.c */
/* 0, or -1: the reason is level's. On success level_close() is needed; harmless after failure. */
int weir__archive_level_open(struct weir__archive_level *level);
void weir__archive_level_close(struct weir__archive_level *level);
/* Why the last operation failed, as it is told. */
void weir__archive_level_reason(struct weir__archive_level *level,
                                char reason[WEIR__ARCHIVE_REASON_MAX + 1]);
bool weir__archive_level_is_encrypted(struct weir__archive_level *level);

/* Bytes of the input that were needed for what was unpacked so far. */
uint64_t weir__archive_level_packed(const struct weir__archive_level *level);
/* For libarchive: the next bytes of the input. */
la_ssize_t weir__archive_input_read(struct archive *archive, void *arg, const void **ret_bytes);

/* archive_reason.c */
/* Whether it is memory that was missing. Then it is said, or, if this child may ask for more, it
 * ends. */
bool weir__archive_reason_memory(struct weir__archive_level *level, const char *text,
                                 char reason[WEIR__ARCHIVE_REASON_MAX + 1]);
/* What libarchive has said (or NULL), in words that say what is wrong with the archive. */
void weir__archive_reason_words(const char *text, char reason[WEIR__ARCHIVE_REASON_MAX + 1]);

/* archive_trip.c, for those that stand beside or behind each other */
void weir__archive_trip_tell(struct weir__archive_trip *trip, const char *reason);
/* Walks it, unless it cannot even be opened, and puts the reason why not, or why not to its end,
 * into level->reason. True when it would be wrong to look at its bytes instead. */
bool weir__archive_trip_walk(struct weir__archive_level *level);
/* archive_parts.c: the same, with whatever stands behind it, and what it has beside its members. */
bool weir__archive_parts_walk(struct weir__archive_level *level);

/* archive_cpio.c */
void weir__archive_cpio_start(struct weir__archive_cpio *cpio);
/* The next bytes of the archive, and such that were jumped over. */
void weir__archive_cpio_see(struct weir__archive_cpio *cpio, const char *bytes, size_t length);
void weir__archive_cpio_jump(struct weir__archive_cpio *cpio, uint64_t length);

/* archive_gzip.c */
/* 0, or -1 without memory. */
int weir__archive_gzip_open(struct weir__archive_level *level);
/* Adds to wrong_sums. */
void weir__archive_gzip_close(struct weir__archive_level *level);
uint64_t weir__archive_gzip_taken(const struct weir__archive_gzip *gzip);
/* For libarchive, arg is the level: the next plain bytes. */
la_ssize_t weir__archive_gzip_read(struct archive *archive, void *arg, const void **ret_bytes);

/* archive_xz.c; the same for xz */
int weir__archive_xz_open(struct weir__archive_level *level);
void weir__archive_xz_close(struct weir__archive_level *level);
uint64_t weir__archive_xz_taken(const struct weir__archive_xz *xz);
la_ssize_t weir__archive_xz_read(struct archive *archive, void *arg, const void **ret_bytes);

/* archive_behind.c; all of a level that was read to its end and closed */
/* Bytes of a file, of memory or of what was spilled, at most a block; 0 at the end. */
size_t weir__archive_look(struct weir__archive_input *input, uint64_t at, const char **ret_bytes);
/* The archive in such an input that does not begin as one: archive_hidden.h. */
const struct weir__archive_format *weir__archive_find_hidden(struct weir__archive_input *input,
                                                             uint64_t *ret_at);
/* Puts it into zip_from when a zip is known by its end behind the archive in the level's input that
 * was found like this. */
void weir__archive_find_zip(struct weir__archive_level *level);

/* archive_unseen.c; of a member that is given as it comes, and cannot be read again */
void weir__archive_unseen_start(struct weir__archive_member *member);
/* The next bytes, behind so many others. */
void weir__archive_unseen_add(struct weir__archive_member *member, uint64_t at, const char *bytes,
                              size_t length);
/* At the end of so many bytes: what is to be told of an archive in them; or NULL. Valid until the
 * next member. */
const char *weir__archive_unseen_why(struct weir__archive_member *member, uint64_t size,
                                     char reason[WEIR__ARCHIVE_REASON_MAX + 1]);

/* archive_behind.c, again */
/* Before a level of zstd or lz4 is opened: finds where its frames begin, behind those that are
 * skipped, of which of the two they are, and their end. False: all of them are skipped, and there
 * is nothing to open. */
bool weir__archive_find_frames(struct weir__archive_level *level);
/* Where the archive ends that was read and closed, by what it says or by what was read of it;
 * UINT64_MAX: nobody knows. */
uint64_t weir__archive_end_of(struct weir__archive_level *level);
/* Whether what stands there is text, or nothing: its first block. */
bool weir__archive_is_plain_between(struct weir__archive_level *level, uint64_t from,
                                    uint64_t until);
/* What begins at that place of the level's input, which only zeros are between and the end of what
 * is before it, or somewhere behind that; *ret_at is where. */
const struct weir__archive_format *weir__archive_find_at(struct weir__archive_level *level,
                                                         uint64_t end, uint64_t at,
                                                         uint64_t *ret_at);
/* Where the archive in such an input ends, and where something follows that is not zeros. False:
 * nobody knows, or nothing does. */
bool weir__archive_behind(struct weir__archive_level *level, uint64_t *ret_end, uint64_t *ret_at);
/* Whether the reader stopped where the archive does, so that what follows is something else. */
bool weir__archive_is_end_known(const struct weir__archive_level *level);
/* Of a level without members: whether there are none. */
bool weir__archive_is_empty(struct weir__archive_level *level);
/* Puts it into the reason when a zip lists more members than were met. */
void weir__archive_zip_count(struct weir__archive_level *level);

/* archive_xar.c */
/* Where a xar that was read from such an input ends, or UINT64_MAX. */
uint64_t weir__archive_xar_end(struct weir__archive_level *level);

/* archive_zip.c */
#define WEIR__ARCHIVE_GAPS 64u
/* Between, before and behind the entries that a zip's directory lists: where something stands that
 * begins as an archive does. Returns how many of these there are, of which the first
 * WEIR__ARCHIVE_GAPS are put into ret_gaps. */
size_t weir__archive_zip_gaps(struct weir__archive_level *level,
                              struct weir__archive_extent ret_gaps[WEIR__ARCHIVE_GAPS]);
/* Where its directory ends, or UINT64_MAX. */
uint64_t weir__archive_zip_end(struct weir__archive_input *input);
/* Whether a directory ends there, behind that place. */
bool weir__archive_zip_has_end(struct weir__archive_level *level, uint64_t at);
/* Passes over the entries from that place on, which no directory lists: to behind the last that is
 * whole; of one that is cut off, or of which nobody knows where it ends, behind its header; of what
 * makes no sense, behind its mark. False: not even the first makes sense. */
bool weir__archive_zip_pass(struct weir__archive_level *level, uint64_t at, uint64_t *ret_end);

/* archive_zip_mend.c */
/* Before a zip is opened: puts a directory of the members that can be read into level->tail, if
 * headers of others are damaged, and tells those. Else, and for other formats, there is no tail. */
void weir__archive_zip_mend(struct weir__archive_level *level);

/* archive_name.c */
/* Appends the member's name to the path. */
int weir__archive_name_add(struct weir__archive_level *level, const char *name);
/* The same for what a compressed stream holds, which has no name. */
int weir__archive_name_unpacked(struct weir__archive_level *level);
/* The path of a member that is a layer of an image becomes that of its digest. */
void weir__archive_name_layer(struct weir__archive_level *level);

#endif
