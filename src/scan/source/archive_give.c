/* archive_give.c - the decoder's side of the frames. */
#include <string.h>

#include "alloc.h"
#include "archive_frames.h"
#include "require.h"

#include <weir/error.h>

#include "banned.h"

int weir__archive_giver_init(struct weir__archive_giver *giver,
                             int (*send)(void *arg, const char *message, size_t length), void *arg)
{
    char *message = weir__base_alloc(WEIR__ARCHIVE_MESSAGE_MAX, 1);
    if (!message)
        return -WEIR_E_NO_MEMORY;
    *giver = (struct weir__archive_giver){._send = send, ._arg = arg, ._message = message};
    return 0;
}

void weir__archive_giver_fini(struct weir__archive_giver *giver)
{
    if (giver)
        weir__base_free(giver->_message);
}

void weir__archive_giver_start(struct weir__archive_giver *giver, uint32_t walk)
{
    giver->_walk = walk;
    giver->_number = 0;
    giver->_length = 0;
    giver->_error = 0;
    giver->has_begun = false;
}

static int flush(struct weir__archive_giver *giver)
{
    if (giver->_length > 0 && giver->_error == 0)
        giver->_error = giver->_send(giver->_arg, giver->_message, giver->_length);
    giver->_length = 0;
    return giver->_error;
}

static void put(struct weir__archive_giver *giver, const void *bytes, size_t length)
{
    if (length > 0)
        memcpy(giver->_message + giver->_length, bytes, length);
    giver->_length += length;
}

/* A frame of up to two parts. */
static int give(struct weir__archive_giver *giver, enum weir__archive_kind kind, const void *first,
                size_t first_length, const void *second, size_t second_length)
{
    size_t length = first_length + second_length;
    struct weir__archive_frame_head frame = {(uint32_t)kind, (uint32_t)length};
    WEIR__REQUIRE(length <= WEIR__ARCHIVE_FRAME_MAX, "archive", "frame", "too long");
    if (giver->_length + sizeof(frame) + length > WEIR__ARCHIVE_MESSAGE_MAX)
        flush(giver);
    if (giver->_length == 0) {
        struct weir__archive_message_head head = {WEIR__ARCHIVE_MAGIC, giver->_walk,
                                                  giver->_number++};
        put(giver, &head, sizeof(head));
    }
    if (kind == WEIR__ARCHIVE_AT || kind == WEIR__ARCHIVE_BEGIN)
        giver->has_begun = kind == WEIR__ARCHIVE_BEGIN;
    put(giver, &frame, sizeof(frame));
    put(giver, first, first_length);
    put(giver, second, second_length);
    return giver->_error;
}

static size_t path_length(const char *path)
{
    return strnlen(path, WEIR__ARCHIVE_PATH_MAX);
}

int weir__archive_give_hello(struct weir__archive_giver *giver, int errno_value)
{
    uint32_t value = (uint32_t)errno_value;
    give(giver, WEIR__ARCHIVE_HELLO, &value, sizeof(value), NULL, 0);
    return flush(giver);
}

int weir__archive_give_at(struct weir__archive_giver *giver, uint64_t number, const char *path)
{
    give(giver, WEIR__ARCHIVE_AT, &number, sizeof(number), path, path_length(path));
    return flush(giver);
}

int weir__archive_give_begin(struct weir__archive_giver *giver, const char *path)
{
    return give(giver, WEIR__ARCHIVE_BEGIN, path, path_length(path), NULL, 0);
}

int weir__archive_give_own(struct weir__archive_giver *giver, const char *path, size_t length)
{
    return give(giver, WEIR__ARCHIVE_OWN, path, length, NULL, 0);
}

int weir__archive_give_skip(struct weir__archive_giver *giver,
                            const struct weir__archive_skip *skip)
{
    return give(giver, WEIR__ARCHIVE_SKIP, skip, sizeof(*skip), NULL, 0);
}

int weir__archive_give_bytes(struct weir__archive_giver *giver, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t part = length < WEIR__ARCHIVE_FRAME_MAX ? length : WEIR__ARCHIVE_FRAME_MAX;
        give(giver, WEIR__ARCHIVE_BYTES, bytes, part, NULL, 0);
        bytes += part;
        length -= part;
    }
    return giver->_error;
}

int weir__archive_give_end(struct weir__archive_giver *giver, bool is_complete)
{
    char value = is_complete;
    return give(giver, WEIR__ARCHIVE_END, &value, 1, NULL, 0);
}

int weir__archive_give_unscanned(struct weir__archive_giver *giver, const char *path,
                                 const char *reason)
{
    char text[1 + WEIR__ARCHIVE_REASON_MAX] = {0};
    size_t length = strnlen(reason, WEIR__ARCHIVE_REASON_MAX);
    memcpy(text + 1, reason, length);
    return give(giver, WEIR__ARCHIVE_UNSCANNED, path, path_length(path), text, 1 + length);
}

int weir__archive_give_alive(struct weir__archive_giver *giver)
{
    give(giver, WEIR__ARCHIVE_ALIVE, NULL, 0, NULL, 0);
    return flush(giver);
}

int weir__archive_give_done(struct weir__archive_giver *giver)
{
    give(giver, WEIR__ARCHIVE_DONE, NULL, 0, NULL, 0);
    return flush(giver);
}
