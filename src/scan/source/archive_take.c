/* archive_take.c - the parent's side of the frames: nothing is believed.
 *
 * The order of frames is the table `moves`. Beyond it: numbers of members grow, names have no NUL
 * and a bounded length, the bytes of a member and of all members keep to the limits of the options,
 * and what is not bytes has a limit of its own, so that a child cannot keep its parent busy for
 * ever with frames that say nothing.
 */
#include <string.h>

#include "archive_frames.h"

#include <weir/error.h>

#include "banned.h"

/* A member has at most an AT, a BEGIN, an END, and something that is told of it. Archives tell
 * something of themselves; long work gives signs of life. */
#define FRAMES_PER_MEMBER 4u
#define FRAMES_BESIDES    (UINT64_C(1) << 20)

#define NO                WEIR__ARCHIVE_REFUSED

static const enum weir__archive_state moves[WEIR__ARCHIVE_REFUSED + 1][WEIR__ARCHIVE_KINDS] = {
    [WEIR__ARCHIVE_BETWEEN] =
        {
            [WEIR__ARCHIVE_HELLO] = NO,
            [WEIR__ARCHIVE_AT] = WEIR__ARCHIVE_BETWEEN,
            [WEIR__ARCHIVE_BEGIN] = WEIR__ARCHIVE_MEMBER,
            [WEIR__ARCHIVE_BYTES] = NO,
            [WEIR__ARCHIVE_END] = NO,
            [WEIR__ARCHIVE_UNSCANNED] = WEIR__ARCHIVE_BETWEEN,
            [WEIR__ARCHIVE_ALIVE] = WEIR__ARCHIVE_BETWEEN,
            [WEIR__ARCHIVE_DONE] = WEIR__ARCHIVE_FINISHED,
            [WEIR__ARCHIVE_OWN] = WEIR__ARCHIVE_MEMBER,
            [WEIR__ARCHIVE_SKIP] = NO,
        },
    [WEIR__ARCHIVE_MEMBER] =
        {
            [WEIR__ARCHIVE_HELLO] = NO,
            [WEIR__ARCHIVE_AT] = NO,
            [WEIR__ARCHIVE_BEGIN] = NO,
            [WEIR__ARCHIVE_BYTES] = WEIR__ARCHIVE_MEMBER,
            [WEIR__ARCHIVE_END] = WEIR__ARCHIVE_BETWEEN,
            [WEIR__ARCHIVE_UNSCANNED] = NO,
            [WEIR__ARCHIVE_ALIVE] = WEIR__ARCHIVE_MEMBER,
            [WEIR__ARCHIVE_DONE] = NO,
            [WEIR__ARCHIVE_OWN] = NO,
            [WEIR__ARCHIVE_SKIP] = WEIR__ARCHIVE_MEMBER,
        },
    [WEIR__ARCHIVE_FINISHED] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [WEIR__ARCHIVE_REFUSED] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
};
_Static_assert(WEIR__ARCHIVE_KINDS == 10, "each kind has a move in every state");

int weir__archive_taker_init(struct weir__archive_taker *taker, const char *path,
                             const struct weir__archive_options *options,
                             const struct weir__archive_hooks *hooks)
{
    size_t length = strlen(path);
    *taker = (struct weir__archive_taker){
        .hooks = hooks,
        .options = options,
        .file_length = length,
    };
    weir__buffer_init(&taker->path, length + 1 + WEIR__ARCHIVE_FRAME_MAX);
    return weir__buffer_append(&taker->path, path, length);
}

void weir__archive_taker_fini(struct weir__archive_taker *taker)
{
    if (taker)
        weir__buffer_fini(&taker->path);
}

void weir__archive_taker_start(struct weir__archive_taker *taker, uint32_t walk, uint64_t from)
{
    taker->state = WEIR__ARCHIVE_BETWEEN;
    taker->walk = walk;
    taker->from = from;
    taker->has_at = false;
    taker->messages_count = 0;
    taker->own_bytes = 0;
}

/* The file's path and, behind '!', the one in it. */
static int set_path(struct weir__archive_taker *taker, const char *inner, size_t length)
{
    if (length > WEIR__ARCHIVE_PATH_MAX || memchr(inner, '\0', length))
        return -WEIR_E_CORRUPT;
    weir__buffer_truncate(&taker->path, taker->file_length);
    if (length == 0)
        return 0;
    int error = weir__buffer_putc(&taker->path, '!');
    return error ? error : weir__buffer_append(&taker->path, inner, length);
}

static int take_at(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    uint64_t number;
    if (length < sizeof(number))
        return -WEIR_E_CORRUPT;
    memcpy(&number, bytes, sizeof(number));
    if (number < taker->from || number >= taker->options->entries_max)
        return -WEIR_E_CORRUPT;
    taker->at = number;
    taker->has_at = true;
    taker->is_at_over = false;
    taker->from = number + 1;
    return set_path(taker, bytes + sizeof(number), length - sizeof(number));
}

static int answered(struct weir__archive_taker *taker, int answer)
{
    taker->has_answered = answer != 0;
    return answer;
}

/* Whether nobody wants to see it. */
static bool is_dropped(const struct weir__archive_taker *taker)
{
    return taker->is_own && !taker->hooks->own;
}

static int end_member(struct weir__archive_taker *taker, bool is_complete)
{
    taker->is_in_member = false;
    if (is_dropped(taker))
        return 0;
    return answered(taker, taker->hooks->end(taker->hooks->arg, is_complete));
}

static int take_begin(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    int error = set_path(taker, bytes, length);
    if (error)
        return error;
    taker->member_bytes = taker->member_holes = 0;
    taker->is_in_member = true;
    taker->is_own = taker->has_skipped = false;
    return answered(taker, taker->hooks->begin(taker->hooks->arg, weir__buffer_text(&taker->path)));
}

static int take_own(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    int error = set_path(taker, bytes, length);
    if (error)
        return error;
    taker->member_bytes = taker->member_holes = 0;
    taker->is_in_member = taker->is_own = true;
    taker->has_skipped = false;
    if (is_dropped(taker))
        return 0;
    return answered(taker, taker->hooks->own(taker->hooks->arg, weir__buffer_text(&taker->path)));
}

/* Only before bytes: so there is an end to it. */
static int take_skip(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    struct weir__archive_skip skip;
    if (length != sizeof(skip) || taker->has_skipped)
        return -WEIR_E_CORRUPT;
    memcpy(&skip, bytes, sizeof(skip));
    if (skip.length == 0 || skip.length > INT64_MAX - taker->member_bytes - taker->member_holes ||
        skip.lines > skip.length || skip.behind > skip.length - skip.lines)
        return -WEIR_E_CORRUPT;
    taker->member_holes += skip.length;
    taker->has_skipped = true;
    if (is_dropped(taker) || !taker->hooks->skip)
        return 0;
    return answered(taker, taker->hooks->skip(taker->hooks->arg, &skip));
}

static int take_own_bytes(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    if (length == 0 || length > taker->options->archive_bytes_max - taker->own_bytes ||
        length > INT64_MAX - taker->member_bytes - taker->member_holes)
        return -WEIR_E_CORRUPT;
    taker->member_bytes += length;
    taker->own_bytes += length;
    taker->has_skipped = false;
    if (is_dropped(taker))
        return 0;
    return answered(taker, taker->hooks->bytes(taker->hooks->arg, bytes, length));
}

static int take_bytes(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    const struct weir__archive_options *options = taker->options;
    if (length == 0 || length > options->entry_bytes_max - taker->member_bytes ||
        length > options->archive_bytes_max - taker->bytes ||
        length > INT64_MAX - taker->member_bytes - taker->member_holes)
        return -WEIR_E_CORRUPT;
    taker->has_skipped = false;
    taker->member_bytes += length;
    taker->bytes += length;
    return answered(taker, taker->hooks->bytes(taker->hooks->arg, bytes, length));
}

static int take_end(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    if (length != 1 || (bytes[0] != 0 && bytes[0] != 1))
        return -WEIR_E_CORRUPT;
    /* Of what lies between members, none of them is over. */
    taker->is_at_over = taker->is_at_over || !taker->is_own;
    return end_member(taker, bytes[0] == 1);
}

/* A reason may quote what stands in the archive; it is to be one line of text whatever that is. */
static int take_unscanned(struct weir__archive_taker *taker, const char *bytes, size_t length)
{
    char reason[WEIR__ARCHIVE_REASON_MAX + 1];
    const char *nul = memchr(bytes, '\0', length);
    if (!nul)
        return -WEIR_E_CORRUPT;
    size_t path_length = (size_t)(nul - bytes), reason_length = length - path_length - 1;
    if (reason_length == 0 || reason_length > WEIR__ARCHIVE_REASON_MAX ||
        memchr(nul + 1, '\0', reason_length))
        return -WEIR_E_CORRUPT;
    for (size_t i = 0; i < reason_length; i++) {
        unsigned char c = (unsigned char)nul[1 + i];
        reason[i] = c < ' ' || c >= 0x7f ? '?' : (char)c;
    }
    reason[reason_length] = '\0';
    int error = set_path(taker, bytes, path_length);
    taker->is_at_over = true;
    if (!error)
        taker->hooks->unscanned(taker->hooks->arg, weir__buffer_text(&taker->path), reason);
    return error;
}

static int take_frame(struct weir__archive_taker *taker, enum weir__archive_kind kind,
                      const char *bytes, size_t length)
{
    const struct weir__archive_options *options = taker->options;
    taker->state = moves[taker->state][kind];
    if (taker->state == WEIR__ARCHIVE_REFUSED)
        return -WEIR_E_CORRUPT;
    if (kind != WEIR__ARCHIVE_BYTES && kind != WEIR__ARCHIVE_SKIP &&
        ++taker->frames_count / FRAMES_PER_MEMBER > options->entries_max + FRAMES_BESIDES)
        return -WEIR_E_CORRUPT;
    switch (kind) {
    case WEIR__ARCHIVE_AT:
        return take_at(taker, bytes, length);
    case WEIR__ARCHIVE_BEGIN:
        return take_begin(taker, bytes, length);
    case WEIR__ARCHIVE_BYTES:
        return taker->is_own ? take_own_bytes(taker, bytes, length)
                             : take_bytes(taker, bytes, length);
    case WEIR__ARCHIVE_OWN:
        return take_own(taker, bytes, length);
    case WEIR__ARCHIVE_SKIP:
        return take_skip(taker, bytes, length);
    case WEIR__ARCHIVE_END:
        return take_end(taker, bytes, length);
    case WEIR__ARCHIVE_UNSCANNED:
        return take_unscanned(taker, bytes, length);
    case WEIR__ARCHIVE_ALIVE:
    case WEIR__ARCHIVE_DONE:
        return length == 0 ? 0 : -WEIR_E_CORRUPT;
    case WEIR__ARCHIVE_HELLO:
    case WEIR__ARCHIVE_KINDS:
        break;
    }
    return -WEIR_E_CORRUPT;
}

int weir__archive_take(struct weir__archive_taker *taker, const char *message, size_t length)
{
    struct weir__archive_message_head head;
    struct weir__archive_frame_head frame;
    int error = 0;
    if (length < sizeof(head) + sizeof(frame) || length > WEIR__ARCHIVE_MESSAGE_MAX)
        return -WEIR_E_CORRUPT;
    memcpy(&head, message, sizeof(head));
    if (head.magic != WEIR__ARCHIVE_MAGIC || head.walk != taker->walk ||
        head.number != taker->messages_count++)
        return -WEIR_E_CORRUPT;
    for (size_t at = sizeof(head); !error && at < length;) {
        if (length - at < sizeof(frame))
            return -WEIR_E_CORRUPT;
        memcpy(&frame, message + at, sizeof(frame));
        at += sizeof(frame);
        if (frame.kind >= WEIR__ARCHIVE_KINDS || frame.length > WEIR__ARCHIVE_FRAME_MAX ||
            frame.length > length - at)
            return -WEIR_E_CORRUPT;
        error = take_frame(taker, (enum weir__archive_kind)frame.kind, message + at, frame.length);
        at += frame.length;
    }
    return error;
}

bool weir__archive_take_hello(const char *message, size_t length, int *ret_errno)
{
    struct weir__archive_message_head head;
    struct weir__archive_frame_head frame;
    uint32_t value;
    if (length != sizeof(head) + sizeof(frame) + sizeof(value))
        return false;
    memcpy(&head, message, sizeof(head));
    memcpy(&frame, message + sizeof(head), sizeof(frame));
    memcpy(&value, message + sizeof(head) + sizeof(frame), sizeof(value));
    if (head.magic != WEIR__ARCHIVE_MAGIC || head.walk != 0 || head.number != 0 ||
        frame.kind != WEIR__ARCHIVE_HELLO || frame.length != sizeof(value) || value > 4095)
        return false;
    *ret_errno = (int)value;
    return true;
}

int weir__archive_taker_cut(struct weir__archive_taker *taker)
{
    return taker->is_in_member ? end_member(taker, false) : 0;
}

int weir__archive_taker_tell(struct weir__archive_taker *taker, bool is_rest, const char *reason)
{
    int answer = taker->is_in_member ? end_member(taker, false) : 0;
    if (is_rest)
        weir__buffer_truncate(&taker->path, taker->file_length);
    taker->hooks->unscanned(taker->hooks->arg, weir__buffer_text(&taker->path), reason);
    return answer;
}
