/* archive_frames.h - what the decoder's process and its parent say to each other.
 *
 * Over a socket that keeps messages apart. Parent to child: one command, with the descriptor of the
 * archive beside it, and perhaps that of a file to spill to. Child to parent: messages of one or
 * more frames. A message begins with the number of the walk and its own number in it, a frame with
 * its kind and length.
 *
 * The child is not trusted: its decoders read what anybody may have written. So the taking side
 * checks everything that it hears: lengths, numbers, the order of frames, the bytes of names, and
 * the limits that the child should have kept by itself. What breaks a rule is Corrupt, and nothing
 * behind it is looked at.
 *
 * Ownership: texts given to the giving side are copied; the taking side's path is valid until the
 * next message.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_FRAMES_H
#define WEIR_SCAN_SOURCE_ARCHIVE_FRAMES_H

#include "archive.h"
#include "buffer.h"

#define WEIR__ARCHIVE_FRAME_MAX    65536u
#define WEIR__ARCHIVE_MESSAGE_MAX  (2 * WEIR__ARCHIVE_FRAME_MAX)
#define WEIR__ARCHIVE_NAME_MAX     4096u /* of one member; what is longer is shown cut */
#define WEIR__ARCHIVE_PATH_MAX     (WEIR__ARCHIVE_FRAME_MAX - 1024u) /* joined, without the file's */
#define WEIR__ARCHIVE_REASON_MAX   255u
#define WEIR__ARCHIVE_RESTARTS_MAX 16u /* behind members at which a child died */
#define WEIR__ARCHIVE_TRIES_MAX    5u /* of children that die before they are back at their place */
#define WEIR__ARCHIVE_HINT_MAX     255u

enum weir__archive_kind {
    WEIR__ARCHIVE_HELLO,     /* a 32-bit errno value, 0: the child is ready and confined */
    WEIR__ARCHIVE_AT,        /* a 64-bit number, then a path: what is looked at from now on */
    WEIR__ARCHIVE_BEGIN,     /* a path */
    WEIR__ARCHIVE_BYTES,     /* at least one */
    WEIR__ARCHIVE_END,       /* one byte: 1 when complete */
    WEIR__ARCHIVE_UNSCANNED, /* a path, NUL, the reason */
    WEIR__ARCHIVE_ALIVE,     /* nothing: long work goes on */
    WEIR__ARCHIVE_DONE,      /* nothing */
    WEIR__ARCHIVE_OWN,       /* a path: bytes of a container that are no member's, as a member */
    WEIR__ARCHIVE_SKIP,      /* a weir__archive_skip: bytes of it, or of a member */
    WEIR__ARCHIVE_KINDS,
};

struct weir__archive_message_head {
    uint32_t magic;
    uint32_t walk;
    uint64_t number; /* 0, 1, 2, ... in its walk */
};

struct weir__archive_frame_head {
    uint32_t kind;
    uint32_t length;
};

/* Another one for each change of what stands here, so that a child of another version is noticed.
 */
#define WEIR__ARCHIVE_MAGIC 0x57616676u

/* The status with which a child ends that needs more memory than it may have, when it has given
 * nothing of the member that it has announced last. */
#define WEIR__ARCHIVE_EXIT_MEMORY 12

enum weir__archive_verb {
    WEIR__ARCHIVE_WALK,
    WEIR__ARCHIVE_RAW, /* the bytes of the file as they are */
    WEIR__ARCHIVE_TRY, /* for tests: does what is forbidden */
};

/* Members are numbered from 0 in the order in which they are met, nested ones and those without
 * bytes included; the order is the same each time. Those below `from` are passed over in silence,
 * and those in `left_out` are not decoded: a decoder died of them. */
struct weir__archive_command {
    uint32_t magic;
    uint32_t walk;
    uint32_t verb;
    uint32_t what;        /* to try */
    uint64_t size;        /* of the file */
    uint32_t has_spill;   /* a second descriptor comes with it */
    uint32_t is_unmapped; /* a mapping has killed a decoder */
    uint32_t may_grow;    /* more memory may be had by ending with WEIR__ARCHIVE_EXIT_MEMORY */
    uint64_t from;
    uint64_t bytes_before; /* that earlier children gave */
    uint64_t left_out[WEIR__ARCHIVE_RESTARTS_MAX];
    uint32_t left_out_count;
    struct weir__archive_options options;
    char hint[WEIR__ARCHIVE_HINT_MAX + 1]; /* the file's name, for what has none inside */
};

/* Giving. Frames are collected in a message, which goes when it is full, and at every AT: that must
 * be known before the decoder can die of it. */
struct weir__archive_giver {
    int (*_send)(void *arg, const char *message, size_t length);
    void *_arg;
    char *_message;
    size_t _length;
    uint32_t _walk;
    uint64_t _number;
    int _error;     /* of the first send that failed; then nothing is sent any more */
    bool has_begun; /* a member, since the last AT */
};

WEIR_MUST_USE int
weir__archive_giver_init(struct weir__archive_giver *giver,
                         int (*send)(void *arg, const char *message, size_t length), void *arg);
void weir__archive_giver_fini(struct weir__archive_giver *giver);
void weir__archive_giver_start(struct weir__archive_giver *giver, uint32_t walk);

/* These return 0, or the answer of the send that failed. Paths have at most
 * WEIR__ARCHIVE_PATH_MAX bytes; reasons are cut. */
int weir__archive_give_hello(struct weir__archive_giver *giver, int errno_value);
int weir__archive_give_at(struct weir__archive_giver *giver, uint64_t number, const char *path);
int weir__archive_give_begin(struct weir__archive_giver *giver, const char *path);
int weir__archive_give_bytes(struct weir__archive_giver *giver, const char *bytes, size_t length);
int weir__archive_give_end(struct weir__archive_giver *giver, bool is_complete);
int weir__archive_give_unscanned(struct weir__archive_giver *giver, const char *path,
                                 const char *reason);
int weir__archive_give_alive(struct weir__archive_giver *giver);
int weir__archive_give_done(struct weir__archive_giver *giver);
/* Of the path its first bytes. It goes on as a member does. */
int weir__archive_give_own(struct weir__archive_giver *giver, const char *path, size_t length);
int weir__archive_give_skip(struct weir__archive_giver *giver,
                            const struct weir__archive_skip *skip);

/* Taking. */
enum weir__archive_state {
    WEIR__ARCHIVE_BETWEEN, /* members */
    WEIR__ARCHIVE_MEMBER,
    WEIR__ARCHIVE_FINISHED,
    WEIR__ARCHIVE_REFUSED,
};

struct weir__archive_taker {
    enum weir__archive_state state;
    const struct weir__archive_hooks *hooks;
    const struct weir__archive_options *options;
    struct weir__buffer path; /* of what was spoken of last; begins with the file's */
    size_t file_length;
    uint64_t from;         /* the first number that may come, or come next */
    uint64_t at;           /* the last number, if has_at */
    uint64_t bytes;        /* of all members */
    uint64_t member_bytes; /* of this one */
    uint64_t member_holes; /* and what was skipped of it */
    uint64_t own_bytes;    /* of containers */
    uint64_t frames_count; /* other than bytes */
    uint64_t messages_count;
    uint32_t walk;
    bool has_at;       /* since the last restart */
    bool is_at_over;   /* and everything about it was said */
    bool is_in_member; /* begun for the hooks and not ended */
    bool is_own;       /* and it is of a container itself */
    bool has_skipped;  /* since the last bytes of it */
    bool has_answered; /* a hook wants no more: the error is its own */
};

WEIR_MUST_USE int weir__archive_taker_init(struct weir__archive_taker *taker, const char *path,
                                           const struct weir__archive_options *options,
                                           const struct weir__archive_hooks *hooks);
void weir__archive_taker_fini(struct weir__archive_taker *taker);

/* A new child, or the first one, will speak: of numbers from `from` on. */
void weir__archive_taker_start(struct weir__archive_taker *taker, uint32_t walk, uint64_t from);

/* 0, -WEIR_E_CORRUPT when a rule was broken, -WEIR_E_NO_MEMORY, or what a hook answered; then
 * has_answered is set. */
WEIR_MUST_USE int weir__archive_take(struct weir__archive_taker *taker, const char *message,
                                     size_t length);

/* Whether the message is a greeting; its errno value is put into ret_errno. */
bool weir__archive_take_hello(const char *message, size_t length, int *ret_errno);

/* Ends what has begun, if something has. Returns what the hook answered. */
WEIR_MUST_USE int weir__archive_taker_cut(struct weir__archive_taker *taker);

/* Tells that what was spoken of last was not read (a member that has begun is ended), or with
 * is_rest the file itself. Returns what the hook answered. */
WEIR_MUST_USE int weir__archive_taker_tell(struct weir__archive_taker *taker, bool is_rest,
                                           const char *reason);

#endif
