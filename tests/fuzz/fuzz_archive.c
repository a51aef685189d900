/* fuzz_archive.c - any bytes as an archive, through the decoder's side and the parent's at once.
 *
 * Runs in this process, without the confinement that is there for what libarchive may do. What must
 * hold whatever the bytes are: the walk ends with DONE, every message that it gives is one that the
 * parent accepts, members begin and end in turn, and no limit is passed. A walk again, from behind
 * the member at which it was half way, gives what was left: the same members in the same order.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive_read.h"
#include "require.h"

#include <weir/error.h>

#include "banned.h"

#define INPUT_MAX        (256u << 10)

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "archive", #condition)

struct walked {
    uint64_t begun, ended, told, owned;
    uint64_t bytes, own_bytes;
    bool is_own;
    uint64_t names_hash; /* of the members from `from` on */
};

static int on_begin(void *arg, const char *path)
{
    struct walked *walked = arg;
    HOLDS(walked->begun == walked->ended);
    walked->begun++;
    for (const char *p = path; *p; p++)
        walked->names_hash = (walked->names_hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return 0;
}

static int on_bytes(void *arg, const char *bytes, size_t length)
{
    struct walked *walked = arg;
    HOLDS(walked->begun == walked->ended + 1 && length > 0);
    if (walked->is_own) {
        walked->own_bytes += length;
        return 0;
    }
    walked->bytes += length;
    walked->names_hash ^= (unsigned char)bytes[length - 1];
    return 0;
}

static int on_end(void *arg, bool is_complete)
{
    struct walked *walked = arg;
    (void)is_complete;
    HOLDS(walked->begun == walked->ended + 1);
    walked->ended++;
    walked->is_own = false;
    return 0;
}

/* Beside members: more of it may come again after a restart, so it is not compared. */
static int on_own(void *arg, const char *path)
{
    struct walked *walked = arg;
    HOLDS(walked->begun == walked->ended && path[0] == 'f');
    walked->begun++;
    walked->owned++;
    walked->is_own = true;
    return 0;
}

static int on_skip(void *arg, const struct weir__archive_skip *skip)
{
    struct walked *walked = arg;
    HOLDS(walked->begun > walked->ended && skip->length > 0);
    HOLDS(skip->lines <= skip->length && skip->behind <= skip->length - skip->lines);
    return 0;
}

static void on_unscanned(void *arg, const char *path, const char *reason)
{
    struct walked *walked = arg;
    HOLDS(walked->begun == walked->ended && path[0] && reason[0]);
    walked->told++;
}

static int on_send(void *arg, const char *message, size_t length)
{
    struct weir__archive_taker *taker = arg;
    int error = weir__archive_take(taker, message, length);
    HOLDS(error == 0);
    return 0;
}

static struct walked walk(int fd, int spill, const struct weir__archive_command *command,
                          uint64_t *ret_last)
{
    struct walked walked = {0};
    const struct weir__archive_hooks hooks = {.begin = on_begin,
                                              .bytes = on_bytes,
                                              .end = on_end,
                                              .unscanned = on_unscanned,
                                              .own = on_own,
                                              .skip = on_skip,
                                              .arg = &walked};
    struct weir__archive_taker taker;
    struct weir__archive_giver giver;
    HOLDS(weir__archive_taker_init(&taker, "f", &command->options, &hooks) == 0);
    weir__archive_taker_start(&taker, command->walk, command->from);
    HOLDS(weir__archive_giver_init(&giver, on_send, &taker) == 0);
    HOLDS(weir__archive_trip_run(command, fd, spill, &giver) == 0);
    HOLDS(taker.state == WEIR__ARCHIVE_FINISHED && walked.begun == walked.ended);
    HOLDS(walked.bytes <= command->options.archive_bytes_max &&
          walked.own_bytes <= command->options.archive_bytes_max);
    *ret_last = taker.has_at ? taker.at : 0;
    weir__archive_giver_fini(&giver);
    weir__archive_taker_fini(&taker);
    return walked;
}

/* The child has a limit of its memory, and decoders that ask for more are refused; so here. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=256:allocator_may_return_null=1";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__archive_command command = {
        .magic = WEIR__ARCHIVE_MAGIC,
        .walk = 1,
        .size = size,
        .options = {.depth_max = 5,
                    .entries_max = 200,
                    .entry_bytes_max = 1u << 20,
                    .archive_bytes_max = 4u << 20,
                    .ratio_max = 1000,
                    .memory_max = 1u << 16,
                    .spill_bytes_max = 2u << 20,
                    .map_from = size % 4 < 2 ? 0 : UINT64_MAX},
        .hint = "f.gz",
    };
    uint64_t last = 0, ignored;
    if (size > INPUT_MAX)
        return 0;
    int fd = memfd_create("archive", MFD_CLOEXEC);
    HOLDS(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    /* Half of the inputs are mapped, and half of them have a file to spill to. */
    int spill = size % 2 ? memfd_create("spill", MFD_CLOEXEC) : -1;
    struct walked whole = walk(fd, spill, &command, &last);
    if (last > 0) {
        command.from = last / 2 + 1;
        command.left_out[command.left_out_count++] = last / 2;
        struct walked rest = walk(fd, spill, &command, &ignored);
        /* Where damage hid what is behind an archive, the rest may find it once that archive is
         * left out. Then the whole was told to be incomplete: nothing is hidden in silence. */
        uint64_t more = whole.told > 0 ? command.options.entries_max : 0;
        HOLDS(rest.begun - rest.owned <= whole.begun - whole.owned + more);
    }
    close(fd);
    if (spill >= 0)
        close(spill);
    return 0;
}
