/* fuzz_archive_frames.c - any messages from a child that cannot be trusted.
 *
 * The input is a list of messages: a byte of choices, two bytes of length, and so many bytes. By
 * choice a right head is put before them, and the bytes are taken as frames of small lengths, since
 * few random bytes are. What must hold: nothing is given out of order, no limit is passed, names
 * and reasons are whole, and after a refusal the member that had begun can be ended.
 */
#include <stdlib.h>
#include <string.h>

#include "archive_frames.h"
#include "require.h"

#include <weir/error.h>

#include "banned.h"

#define CHOICE_HEAD      1u
#define CHOICE_FRAMES    2u
#define CHOICE_RESTART   4u

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "frames", #condition)

static bool is_in_member, is_own;
static uint64_t bytes_count, member_bytes, members_count, own_bytes;
static const struct weir__archive_options options = {
    .entries_max = 8, .entry_bytes_max = 1000, .archive_bytes_max = 3000};

static int on_begin(void *arg, const char *path)
{
    (void)arg;
    HOLDS(!is_in_member && path[0] == 'f' && (path[1] == '\0' || path[1] == '!'));
    is_in_member = true;
    member_bytes = 0;
    members_count++;
    return 0;
}

static int on_bytes(void *arg, const char *bytes, size_t length)
{
    static volatile char sum;
    (void)arg;
    HOLDS(is_in_member && length > 0);
    for (size_t i = 0; i < length; i++)
        sum = (char)(sum ^ bytes[i]);
    if (is_own) {
        own_bytes += length;
        HOLDS(own_bytes <= options.archive_bytes_max);
        return 0;
    }
    bytes_count += length;
    member_bytes += length;
    HOLDS(member_bytes <= options.entry_bytes_max && bytes_count <= options.archive_bytes_max);
    return 0;
}

static int on_end(void *arg, bool is_complete)
{
    (void)arg, (void)is_complete;
    HOLDS(is_in_member);
    is_in_member = is_own = false;
    return 0;
}

static int on_own(void *arg, const char *path)
{
    (void)arg;
    HOLDS(!is_in_member && path[0] == 'f' && (path[1] == '\0' || path[1] == '!'));
    is_in_member = is_own = true;
    return 0;
}

static int on_skip(void *arg, const struct weir__archive_skip *skip)
{
    (void)arg;
    HOLDS(is_in_member && skip->length > 0 && skip->length <= INT64_MAX);
    HOLDS(skip->lines + skip->behind <= skip->length);
    return 0;
}

static void on_unscanned(void *arg, const char *path, const char *reason)
{
    (void)arg;
    HOLDS(!is_in_member && path[0] == 'f' && reason[0]);
    HOLDS(strlen(reason) <= WEIR__ARCHIVE_REASON_MAX);
    for (const char *p = reason; *p; p++)
        HOLDS((unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f);
}

/* Each frame: a byte of kind, a byte of length, the bytes. */
static size_t put_frames(char *message, size_t at, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 2 <= size && at + 300 < WEIR__ARCHIVE_MESSAGE_MAX;) {
        size_t length = data[i + 1] < size - i - 2 ? data[i + 1] : size - i - 2;
        struct weir__archive_frame_head head = {data[i] % (WEIR__ARCHIVE_KINDS + 1),
                                                (uint32_t)length};
        memcpy(message + at, &head, sizeof(head));
        memcpy(message + at + sizeof(head), data + i + 2, length);
        at += sizeof(head) + length;
        i += 2 + length;
    }
    return at;
}

static int take(struct weir__archive_taker *taker, unsigned choices, const uint8_t *data,
                size_t size)
{
    struct weir__archive_message_head head = {WEIR__ARCHIVE_MAGIC, taker->walk,
                                              taker->messages_count};
    int ignored;
    char *message = malloc(WEIR__ARCHIVE_MESSAGE_MAX);
    size_t length = 0;
    HOLDS(message);
    if (choices & CHOICE_HEAD) {
        memcpy(message, &head, sizeof(head));
        length = sizeof(head);
    }
    if (choices & CHOICE_FRAMES) {
        length = put_frames(message, length, data, size);
    } else {
        memcpy(message + length, data, size);
        length += size;
    }
    /* Of exactly its length, so that a byte too far is seen. */
    char *exact = malloc(length + 1);
    HOLDS(exact);
    memcpy(exact, message, length);
    free(message);
    message = realloc(exact, length ? length : 1);
    HOLDS(message);
    (void)weir__archive_take_hello(message, length, &ignored);
    int error = weir__archive_take(taker, message, length);
    free(message);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weir__archive_hooks hooks = {.begin = on_begin,
                                              .bytes = on_bytes,
                                              .end = on_end,
                                              .unscanned = on_unscanned,
                                              .own = on_own,
                                              .skip = on_skip};
    struct weir__archive_taker taker;
    is_in_member = is_own = false;
    bytes_count = members_count = own_bytes = 0;
    HOLDS(weir__archive_taker_init(&taker, "f", &options, &hooks) == 0);
    weir__archive_taker_start(&taker, 1, 0);
    while (size >= 3) {
        unsigned choices = data[0];
        size_t length = (size_t)data[1] | (size_t)data[2] << 8;
        length = length < size - 3 ? length : size - 3;
        int error = take(&taker, choices, data + 3, length);
        HOLDS(error == 0 || error == -WEIR_E_CORRUPT);
        HOLDS(is_in_member == taker.is_in_member);
        if (error) {
            HOLDS(weir__archive_taker_tell(&taker, false, "died") == 0 && !is_in_member);
            if (!(choices & CHOICE_RESTART))
                break;
            own_bytes = 0;
            weir__archive_taker_start(&taker, taker.walk + 1, taker.from);
        }
        data += 3 + length;
        size -= 3 + length;
    }
    weir__archive_taker_fini(&taker);
    return 0;
}
