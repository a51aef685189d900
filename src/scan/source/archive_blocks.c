/* archive_blocks.c - the frames of zstd and lz4, as far as to know what is packed in them.
 *
 * Both leave pieces of what they pack as they were: a part of a secret would be taken for another
 * one. What stands in their heads, in frames that readers skip, and behind the last frame is not
 * packed. A stream that does not keep to its format is all packed no more.
 */
#include "archive_own.h"

#include "banned.h"

enum state {
    MAGIC,
    ZSTD_HEAD,
    ZSTD_BLOCK,
    LZ4_HEAD,
    LZ4_BLOCK,
    SKIPPED_LENGTH,
    PACKED, /* so many bytes */
    PLAIN,  /* so many bytes */
    UNKNOWN,
};

#define ZSTD_MAGIC    0xfd2fb528u
#define LZ4_MAGIC     0x184d2204u
#define LEGACY_MAGIC  0x184c2102u
#define SKIPPED_MAGIC 0x184d2a50u /* the last four bits are anything */
#define SUM_BYTES     4u

static uint32_t value_of(const struct weir__archive_blocks *blocks)
{
    uint32_t value = 0;
    for (size_t i = blocks->few_length; i-- > 0;)
        value = value << 8 | blocks->few[i];
    return value;
}

static void go_on(struct weir__archive_blocks *blocks, enum state state, uint64_t left)
{
    blocks->state = state;
    blocks->left = left;
}

static void take_magic(struct weir__archive_blocks *blocks, uint32_t magic)
{
    blocks->is_legacy = magic == LEGACY_MAGIC;
    blocks->is_zstd = magic == ZSTD_MAGIC;
    blocks->has_block_sum = blocks->has_sum = blocks->is_last = false;
    blocks->has_zstd = blocks->has_zstd || magic == ZSTD_MAGIC;
    blocks->has_lz4 = blocks->has_lz4 || magic == LZ4_MAGIC || magic == LEGACY_MAGIC;
    if (blocks->is_one_kind && blocks->has_zstd && blocks->has_lz4)
        go_on(blocks, UNKNOWN, 0);
    else if (magic == ZSTD_MAGIC)
        go_on(blocks, ZSTD_HEAD, 0);
    else if (magic == LZ4_MAGIC)
        go_on(blocks, LZ4_HEAD, 0);
    else if (magic == LEGACY_MAGIC)
        go_on(blocks, LZ4_BLOCK, 0);
    else if ((magic & ~0xfu) == SKIPPED_MAGIC)
        go_on(blocks, SKIPPED_LENGTH, 0);
    else
        go_on(blocks, UNKNOWN, 0);
}

static void take_zstd_head(struct weir__archive_blocks *blocks, unsigned flags)
{
    static const unsigned dictionary[] = {0, 1, 2, 4}, size[] = {0, 2, 4, 8};
    bool is_single = flags & 0x20;
    unsigned size_bytes = flags >> 6 ? size[flags >> 6] : is_single;
    blocks->has_sum = flags & 4;
    go_on(blocks, PLAIN, (is_single ? 0u : 1u) + dictionary[flags & 3] + size_bytes);
}

static void take_zstd_block(struct weir__archive_blocks *blocks, uint32_t head)
{
    bool is_repeated = (head >> 1 & 3) == 1;
    blocks->is_last = head & 1;
    go_on(blocks, PACKED, is_repeated ? 1 : head >> 3);
}

static void take_lz4_block(struct weir__archive_blocks *blocks, uint32_t head)
{
    uint32_t length = head & 0x7fffffffu;
    bool is_magic = head == LZ4_MAGIC || head == LEGACY_MAGIC || (head & ~0xfu) == SKIPPED_MAGIC;
    if (blocks->is_legacy && is_magic) {
        take_magic(blocks, head);
    } else if (head == 0) {
        blocks->is_last = true;
        go_on(blocks, PLAIN, 0);
    } else {
        go_on(blocks, PACKED, (uint64_t)length + (blocks->has_block_sum ? SUM_BYTES : 0));
    }
}

/* A part of known length is over. */
static void begin_next(struct weir__archive_blocks *blocks)
{
    if (blocks->is_last && blocks->has_sum) {
        blocks->has_sum = false;
        go_on(blocks, PLAIN, SUM_BYTES);
    } else if (blocks->is_last) {
        go_on(blocks, MAGIC, 0);
    } else {
        go_on(blocks, blocks->is_zstd ? ZSTD_BLOCK : LZ4_BLOCK, 0);
    }
}

static void take_field(struct weir__archive_blocks *blocks)
{
    uint32_t value = value_of(blocks);
    blocks->few_length = 0;
    switch ((enum state)blocks->state) {
    case MAGIC:
        take_magic(blocks, value);
        break;
    case ZSTD_HEAD:
        take_zstd_head(blocks, value);
        break;
    case ZSTD_BLOCK:
        take_zstd_block(blocks, value);
        break;
    case LZ4_HEAD: {
        unsigned flags = value & 0xff;
        blocks->has_block_sum = flags & 0x10;
        blocks->has_sum = flags & 4;
        go_on(blocks, PLAIN, 1u + (flags & 8 ? 8u : 0u) + (flags & 1 ? 4u : 0u));
        break;
    }
    case LZ4_BLOCK:
        take_lz4_block(blocks, value);
        break;
    case SKIPPED_LENGTH:
        blocks->is_last = true;
        go_on(blocks, PLAIN, value);
        break;
    case PACKED:
    case PLAIN:
    case UNKNOWN:
        break;
    }
}

size_t weir__archive_blocks_next(struct weir__archive_blocks *blocks, const char *bytes,
                                 size_t length, bool *ret_packed)
{
    static const size_t fields[] = {
        [MAGIC] = 4,     [ZSTD_HEAD] = 1,      [ZSTD_BLOCK] = 3, [LZ4_HEAD] = 2,
        [LZ4_BLOCK] = 4, [SKIPPED_LENGTH] = 4, [PACKED] = 0,     [PLAIN] = 0,
    };
    while ((blocks->state == PACKED || blocks->state == PLAIN) && blocks->left == 0)
        begin_next(blocks);
    *ret_packed = blocks->state == PACKED;
    if (blocks->state == UNKNOWN)
        return length;
    if (blocks->state == PACKED || blocks->state == PLAIN) {
        size_t part = blocks->left < length ? (size_t)blocks->left : length;
        blocks->left -= part;
        return part;
    }
    size_t wanted = fields[blocks->state], part = 0;
    while (part < length && blocks->few_length < wanted)
        blocks->few[blocks->few_length++] = (unsigned char)bytes[part++];
    if (blocks->few_length == wanted)
        take_field(blocks);
    return part;
}

bool weir__archive_blocks_is_between(const struct weir__archive_blocks *blocks)
{
    bool is_ended = (blocks->state == PACKED || blocks->state == PLAIN) && blocks->left == 0 &&
                    blocks->is_last && !blocks->has_sum;
    return is_ended || (blocks->state == MAGIC && blocks->few_length == 0);
}

bool weir__archive_blocks_has_rest(const struct weir__archive_blocks *blocks)
{
    return blocks->state == UNKNOWN || (blocks->state == MAGIC && blocks->few_length > 0);
}

bool weir__archive_blocks_is_over(const struct weir__archive_blocks *blocks)
{
    return blocks->state == UNKNOWN;
}
