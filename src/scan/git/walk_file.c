/* walk_file.c - objects on the path that lie in files: what was let go for want of memory, and what
 * is too large for it from the beginning.
 *
 * The latter is made a piece at a time: a whole one is inflated into its file, a delta is read step
 * by step as it is inflated, and what it copies comes from the base, in memory or in its own file.
 * So it takes three windows of memory, however large it is.
 *
 * A file is one object and nothing else, so that whoever is given it can do with it what he does
 * with files, and closing it gives the room back. There are at most WEIR__GIT_SPILL_FILES_MAX of
 * them and spill.bytes_max bytes in them; when there is no room for another, those farthest from
 * the tip are let go, and made again when they are needed.
 */
#include "walk_part.h"

#include <string.h>

#include "alloc.h"
#include "pack_stream.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

/* The deadline is asked after so many bytes. */
#define ASK_BYTES (UINT64_C(4) << 20)
/* A byte in a file is so much more work than one in memory. */
#define FILE_WORK 4u
#define COPY      0x80u
#define COPY_ALL  0x10000u

struct weir__git_filing {
    struct weir__git_stream stream;
    const uint8_t *piece; /* of the stream, what is left of it */
    size_t piece_length;
    const struct weir__git_node *base; /* of a delta, if it is in a file; else these: */
    const uint8_t *base_bytes;
    uint64_t base_length;
    int file;
    uint64_t written, unasked;
    size_t filled;
    uint8_t out[WEIR__GIT_STREAM_PIECE];
};

static int fail(struct weir__git_walking *walk, int code, const char *why)
{
    walk->why = why;
    return -code;
}

/* --- room --- */

static bool is_in_file(const struct weir__git_node *node)
{
    return node->state == WEIR__GIT_NODE_SPILLED;
}

void weir__git_walk_close_file(struct weir__git_walking *walk, struct weir__git_node *node)
{
    weir__sys_close(node->file);
    walk->files--;
    walk->files_bytes -= node->length;
}

static bool drop_file(struct weir__git_walking *walk, uint32_t keep)
{
    for (uint32_t at = 0; at < keep; at++)
        if (is_in_file(&walk->nodes[at])) {
            weir__git_walk_close_file(walk, &walk->nodes[at]);
            walk->nodes[at].state = WEIR__GIT_NODE_DROPPED;
            return true;
        }
    return false;
}

static bool has_room(const struct weir__git_walking *walk, uint64_t length)
{
    uint64_t most = walk->options->spill->bytes_max;
    return walk->files < WEIR__GIT_SPILL_FILES_MAX && length <= most &&
           walk->files_bytes <= most - length;
}

/* Opens a file for so many bytes, which from now on has them. */
static int open_file(struct weir__git_walking *walk, uint64_t length, int *ret_file)
{
    const struct weir__git_spill *spill = walk->options->spill;
    int file = spill->open(spill->arg);
    if (file < 0)
        return fail(walk, -file, weir__git_spill_unopened);
    walk->files++;
    walk->files_bytes += length;
    *ret_file = file;
    return 0;
}

bool weir__git_walk_spill(struct weir__git_walking *walk, struct weir__git_node *node)
{
    int file;
    if (!walk->options->spill || !has_room(walk, node->length) ||
        open_file(walk, node->length, &file) < 0)
        return false;
    node->file = file;
    if (weir__git_spill_write(file, node->block.bytes, node->length, 0) < 0 ||
        weir__git_spill_end(file, node->length) < 0) {
        weir__git_walk_close_file(walk, node);
        return false;
    }
    walk->totals->spilled++;
    walk->totals->spilled_bytes += node->length;
    return true;
}

/* --- writing --- */

static int flush(struct weir__git_walking *walk)
{
    struct weir__git_filing *filing = walk->filing;
    int result = weir__git_spill_write(filing->file, filing->out, filing->filled, filing->written);
    if (result < 0)
        return fail(walk, -result, weir__git_spill_why());
    filing->written += filing->filled;
    filing->unasked += filing->filled;
    filing->filled = 0;
    if (filing->unasked < ASK_BYTES || !walk->deadline)
        return 0;
    filing->unasked = 0;
    walk->ended = weir_deadline_check(walk->deadline);
    return walk->ended;
}

/* Where at most *count bytes go next. */
static int room_for(struct weir__git_walking *walk, size_t *count, uint8_t **ret_to)
{
    struct weir__git_filing *filing = walk->filing;
    int result = filing->filled == sizeof(filing->out) ? flush(walk) : 0;
    size_t room = sizeof(filing->out) - filing->filled;
    *count = *count < room ? *count : room;
    *ret_to = filing->out + filing->filled;
    filing->filled += *count;
    return result;
}

/* --- reading --- */

/* 1 when there is more, 0 at the end. */
static int more(struct weir__git_walking *walk)
{
    struct weir__git_filing *filing = walk->filing;
    if (filing->piece_length > 0)
        return 1;
    int result = weir__git_stream_next(&filing->stream, &filing->piece, &filing->piece_length);
    if (result < 0)
        return fail(walk, -result,
                    result == -WEIR_E_IO ? "the file became shorter while it was read"
                                         : "it cannot be unpacked, or not to the size that it "
                                           "claims");
    return result;
}

static int take_byte(struct weir__git_walking *walk, uint8_t *ret_byte)
{
    int result = more(walk);
    if (result <= 0)
        return result < 0 ? result : fail(walk, WEIR_E_CORRUPT, "it is cut off");
    walk->filing->piece_length--;
    *ret_byte = *walk->filing->piece++;
    return 0;
}

/* 7 bits a byte, lowest first. */
static int take_number(struct weir__git_walking *walk, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint8_t byte;
        int result = take_byte(walk, &byte);
        if (result < 0)
            return result;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_number = number;
            return 0;
        }
    }
    return fail(walk, WEIR_E_CORRUPT, "its delta has no head");
}

/* --- the steps of a delta --- */

static int read_base(struct weir__git_walking *walk, uint64_t from, uint8_t *to, size_t count)
{
    const struct weir__git_filing *filing = walk->filing;
    if (filing->base_bytes) {
        memcpy(to, filing->base_bytes + from, count);
        return 0;
    }
    int result = weir__whole_pread(filing->base->file, to, count, from);
    return result < 0 ? fail(walk, -result, "its base cannot be read back from its temporary file")
                      : 0;
}

static int copy(struct weir__git_walking *walk, unsigned bits, uint64_t *left)
{
    uint32_t from = 0, length = 0;
    int result = 0;
    for (unsigned i = 0; i < 7 && result == 0; i++) {
        uint8_t byte = 0;
        if (bits >> i & 1)
            result = take_byte(walk, &byte);
        *(i < 4 ? &from : &length) |= (uint32_t)byte << 8 * (i < 4 ? i : i - 4);
    }
    length = length ? length : COPY_ALL;
    if (result < 0)
        return result;
    uint64_t base_length = walk->filing->base_length;
    if (from > base_length || length > base_length - from || length > *left)
        return fail(walk, WEIR_E_CORRUPT, "its delta does not fit its base");
    *left -= length;
    for (size_t at = 0; at < length && result == 0;) {
        uint8_t *to;
        size_t count = length - at;
        result = room_for(walk, &count, &to);
        if (result == 0)
            result = read_base(walk, from + at, to, count);
        at += count;
    }
    return result;
}

/* Bytes of the stream. */
static int insert(struct weir__git_walking *walk, uint64_t length)
{
    struct weir__git_filing *filing = walk->filing;
    while (length > 0) {
        uint8_t *to;
        int result = more(walk);
        if (result <= 0)
            return result < 0 ? result : fail(walk, WEIR_E_CORRUPT, "it is cut off");
        size_t count = length < filing->piece_length ? (size_t)length : filing->piece_length;
        result = room_for(walk, &count, &to);
        if (result < 0)
            return result;
        memcpy(to, filing->piece, count);
        filing->piece += count;
        filing->piece_length -= count;
        length -= count;
    }
    return 0;
}

static int apply(struct weir__git_walking *walk, uint64_t left)
{
    int result;
    while ((result = more(walk)) > 0) {
        uint8_t bits;
        result = take_byte(walk, &bits);
        if (result < 0)
            return result;
        if (bits == 0 || (bits < COPY && bits > left))
            return fail(walk, WEIR_E_CORRUPT, "its delta does not fit its base");
        if (bits < COPY)
            left -= bits;
        result = bits & COPY ? copy(walk, bits, &left) : insert(walk, bits);
        if (result < 0)
            return result;
    }
    if (result == 0 && left > 0)
        return fail(walk, WEIR_E_CORRUPT, "its delta does not fit its base");
    return result;
}

/* --- one object --- */

/* Opens the file of the node, which is to have so many bytes. */
static int begin(struct weir__git_walking *walk, uint32_t depth, uint64_t length)
{
    struct weir__git_node *node = &walk->nodes[depth];
    const struct weir__git_walk_options *options = walk->options;
    bool is_possible = length <= options->object_max;
    while (is_possible && !has_room(walk, length))
        is_possible = drop_file(walk, depth > 0 ? depth - 1 : 0);
    if (!is_possible) {
        walk->size = length + walk->files_bytes;
        walk->is_too_large = true;
        return fail(walk, WEIR_E_TOO_LARGE, "it is larger than its temporary file may be");
    }
    int result = weir__git_walk_add_work(walk, length);
    if (result == 0)
        result = open_file(walk, length, &walk->filing->file);
    if (result < 0)
        return result;
    node->file = walk->filing->file;
    node->length = (size_t)length;
    node->state = WEIR__GIT_NODE_SPILLED;
    return 0;
}

static int make_delta(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_filing *filing = walk->filing;
    uint64_t base_length, length;
    int result = take_number(walk, &base_length);
    if (result == 0)
        result = take_number(walk, &length);
    if (result < 0)
        return result;
    if (base_length != filing->base_length)
        return fail(walk, WEIR_E_CORRUPT, "its delta is for a base of another size");
    walk->unasked += (FILE_WORK - 1) * length;
    result = begin(walk, depth, length);
    return result < 0 ? result : apply(walk, length);
}

static int fill(struct weir__git_walking *walk, uint32_t depth, const struct weir__git_entry *entry)
{
    struct weir__git_filing *filing = walk->filing;
    int result = weir__git_stream_begin(&filing->stream, walk->plan->pack, &walk->inflater, entry);
    if (result < 0)
        return fail(walk, -result,
                    result == -WEIR_E_CORRUPT
                        ? "it claims a size that so few bytes cannot unpack to"
                        : "there is no memory for it");
    if (entry->kind != WEIR__GIT_KIND_WHOLE) {
        result = make_delta(walk, depth);
    } else {
        result = begin(walk, depth, entry->size);
        if (result == 0)
            result = insert(walk, entry->size);
        if (result == 0) /* up to its end, where its checksum is */
            result = more(walk);
    }
    if (result == 0)
        result = flush(walk);
    if (result < 0)
        return result;
    result = weir__git_spill_end(filing->file, filing->written);
    if (result < 0)
        return fail(walk, -result, weir__git_spill_why());
    return weir__git_pack_check(walk->plan->pack, entry, &walk->why);
}

/* What it is made from: the node before it, or an object that is not in the pack. */
static int find_base(struct weir__git_walking *walk, uint32_t depth,
                     const struct weir__git_entry *entry)
{
    struct weir__git_filing *filing = walk->filing;
    if (depth > 0 && entry->kind != WEIR__GIT_KIND_WHOLE) {
        const struct weir__git_node *base = &walk->nodes[depth - 1];
        filing->base = is_in_file(base) ? base : NULL;
        filing->base_bytes = is_in_file(base) ? NULL : base->block.bytes;
        filing->base_length = base->length;
        return 0;
    }
    if (depth > 0 || entry->kind == WEIR__GIT_KIND_OFFSET)
        return fail(walk, WEIR_E_CORRUPT, "the pack changed while it was read");
    filing->base = NULL;
    filing->base_bytes = NULL;
    if (entry->kind == WEIR__GIT_KIND_WHOLE)
        return 0;
    int result = weir__git_walk_get_external(walk, entry);
    filing->base_bytes = (const uint8_t *)weir__buffer_text(&walk->external);
    filing->base_length = weir__buffer_length(&walk->external);
    return result;
}

int weir__git_walk_make_file(struct weir__git_walking *walk, uint32_t depth)
{
    struct weir__git_node *node = &walk->nodes[depth];
    struct weir__git_entry entry;
    if (!walk->filing)
        walk->filing = weir__base_alloc(1, sizeof(*walk->filing));
    if (!walk->filing)
        return fail(walk, WEIR_E_NO_MEMORY, "there is no memory for it");
    walk->delta_length = 0;
    walk->filing->piece_length = walk->filing->filled = 0;
    walk->filing->written = walk->filing->unasked = 0;
    uint8_t before = node->state;
    int result = weir__git_walk_read_entry(walk, node->i, &entry);
    if (result == 0)
        result = find_base(walk, depth, &entry);
    if (result == 0)
        result = fill(walk, depth, &entry);
    if (result < 0 && is_in_file(node)) {
        weir__git_walk_close_file(walk, node);
        node->state = before;
    }
    if (result < 0)
        return result;
    walk->totals->made += node->length;
    walk->totals->spilled++;
    walk->totals->spilled_bytes += node->length;
    return 0;
}
