/* test_file_manifest.c - manifests of whole files: written, read by ranges, and made to deceive. */
#include "file_reader.h"
#include "file_writer.h"

#include <string.h>

#include "memory_help.h"
#include "random_help.h"

#define PARTS_MAX 20000

/* What the file is made of, as a list; the other opinion on every range. */
static struct part {
    uint64_t end;
    struct weir__address address;
    bool is_hole;
} parts[PARTS_MAX];
static size_t part_count;

static struct weir__file_writer writer;
static struct weir__file_reader reader;

static struct weir__address random_address(void)
{
    struct weir__address address;
    random_fill(address.bytes, sizeof(address.bytes));
    return address;
}

static uint64_t parts_length(void)
{
    return part_count ? parts[part_count - 1].end : 0;
}

/* Holes in a row become one. */
static void add_part(bool is_hole, uint64_t length)
{
    struct weir__address address = random_address();
    uint64_t before = parts_length();
    if (is_hole)
        CHECK_EQ(weir__file_writer_add_hole(&writer, length), 0);
    else
        CHECK_EQ(weir__file_writer_add_chunk(&writer, &address, (size_t)length), 0);
    if (is_hole && part_count > 0 && parts[part_count - 1].is_hole) {
        parts[part_count - 1].end += length;
        return;
    }
    CHECK(part_count < PARTS_MAX);
    parts[part_count++] =
        (struct part){.end = before + length, .address = address, .is_hole = is_hole};
}

static struct weir__address write_file(size_t count, unsigned hole_in)
{
    struct weir__address root;
    part_count = 0;
    weir__file_writer_init(&writer, &memory_sink);
    for (size_t i = 0; i < count; i++) {
        bool is_hole = hole_in && random_below(hole_in) == 0;
        add_part(is_hole, 1 + random_below(is_hole ? UINT64_C(1) << 40 : 1u << 20));
    }
    CHECK_EQ(weir__file_writer_length(&writer), parts_length());
    CHECK_EQ(weir__file_writer_finish(&writer, &root), 0);
    weir__file_writer_fini(&writer);
    return root;
}

static size_t part_at(uint64_t offset)
{
    size_t i = 0;
    while (parts[i].end <= offset)
        i++;
    return i;
}

/* Each span of the range is what the list says. */
static void check_range(uint64_t offset, uint64_t length)
{
    uint64_t at = offset;
    struct weir__file_span span;
    int result;
    CHECK_EQ(weir__file_reader_seek(&reader, offset, length), 0);
    size_t i = length ? part_at(offset) : 0;
    while ((result = weir__file_reader_next(&reader, &span)) > 0) {
        uint64_t begin = i ? parts[i - 1].end : 0;
        uint64_t end = parts[i].end < offset + length ? parts[i].end : offset + length;
        CHECK_EQ(span.offset, at);
        CHECK_EQ(span.length, end - at);
        CHECK_EQ(span.is_hole, parts[i].is_hole);
        if (!span.is_hole) {
            CHECK(weir__address_is_equal(&span.address, &parts[i].address));
            CHECK_EQ(span.chunk_length, parts[i].end - begin);
            CHECK_EQ(span.skip, at - begin);
        }
        at = end;
        i++;
    }
    CHECK_EQ(result, 0);
    CHECK_EQ(at, offset + length);
}

static void check_file(const struct weir__address *root)
{
    uint64_t length = parts_length();
    CHECK_EQ(weir__file_reader_open(&reader, &memory_source, root), 0);
    CHECK_EQ(weir__file_reader_length(&reader), length);
    check_range(0, length);
    for (int i = 0; i < 50; i++) {
        uint64_t offset = random_below(length + 1);
        uint64_t most = length - offset;
        check_range(offset, random_below((most < 50u << 20 ? most : 50u << 20) + 1));
    }
    for (size_t i = 0; i < part_count; i += 1 + part_count / 7) {
        uint64_t end = parts[i].end;
        check_range(end - 1, 1);
        check_range(end, length > end ? 1 : 0);
        check_range(end - 1, length > end ? 2 : 1);
    }
    CHECK_EQ(weir__file_reader_seek(&reader, length, 1), -WEIR_E_RANGE);
    CHECK_EQ(weir__file_reader_seek(&reader, length + 1, 0), -WEIR_E_RANGE);
    CHECK_EQ(weir__file_reader_seek(&reader, 1, UINT64_MAX), -WEIR_E_RANGE);
    weir__file_reader_close(&reader);
}

TEST(round_trips)
{
    static const size_t counts[] = {0, 1, 2, 3, 100, 4095, 4096, 4097, 8191, 8192, 8193, 15000};
    random_seed();
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (unsigned hole_in = 0; hole_in <= 3; hole_in += 3) {
            struct weir__address root = write_file(counts[i], hole_in);
            check_file(&root);
        }
    memory_clear();
}

/* As many nodes as needed, and none twice while one goes along. */
TEST(nodes_are_got_once)
{
    random_seed();
    struct weir__address root = write_file(3 * 4096 + 1, 0);
    memory.gets = 0;
    CHECK_EQ(memory.puts, 5);
    check_file(&root);
    CHECK_EQ(weir__file_reader_open(&reader, &memory_source, &root), 0);
    memory.gets = 0;
    check_range(0, parts_length());
    CHECK_EQ(memory.gets, 4);
    memory.gets = 0;
    check_range(parts_length() / 2, 1);
    CHECK(memory.gets <= 1);
    weir__file_reader_close(&reader);
    memory_clear();
}

/* The same list has the same root, whether or not the writer was used before. */
TEST(one_list_has_one_root)
{
    struct weir__address first, second, chunk;
    weir__file_writer_init(&writer, &memory_sink);
    for (int round = 0; round < 2; round++) {
        random_fixed(5);
        for (int i = 0; i < 5000; i++) {
            chunk = random_address();
            CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, 100), 0);
            if (round == 0) {
                CHECK_EQ(weir__file_writer_add_hole(&writer, 7), 0);
            } else {
                CHECK_EQ(weir__file_writer_add_hole(&writer, 3), 0);
                CHECK_EQ(weir__file_writer_add_hole(&writer, 0), 0);
                CHECK_EQ(weir__file_writer_add_hole(&writer, 4), 0);
            }
        }
        CHECK_EQ(weir__file_writer_finish(&writer, round ? &second : &first), 0);
        CHECK_EQ(weir__file_writer_length(&writer), 0);
    }
    CHECK(weir__address_is_equal(&first, &second));
    weir__file_writer_fini(&writer);
    memory_clear();
}

/* Three levels: all chunks are the same, so that nodes are few. */
TEST(three_levels)
{
    struct weir__address root, chunk = {{1}};
    struct weir__file_span span;
    const uint64_t count = 4096 * 4096 + 1;
    weir__file_writer_init(&writer, &memory_sink);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, 3), 0);
    CHECK_EQ(weir__file_writer_finish(&writer, &root), 0);
    weir__file_writer_fini(&writer);
    CHECK_EQ(memory.chunks, 5);
    CHECK_EQ(weir__file_reader_open(&reader, &memory_source, &root), 0);
    CHECK_EQ(weir__file_reader_length(&reader), 3 * count);
    CHECK_EQ(weir__file_reader_seek(&reader, 3 * count - 5, 5), 0);
    CHECK_EQ(weir__file_reader_next(&reader, &span), 1);
    CHECK(span.offset == 3 * count - 5 && span.length == 2 && span.skip == 1);
    CHECK_EQ(weir__file_reader_next(&reader, &span), 1);
    CHECK(span.length == 3 && span.skip == 0 && span.chunk_length == 3);
    CHECK_EQ(weir__file_reader_next(&reader, &span), 0);
    weir__file_reader_close(&reader);
    memory_clear();
}

static struct weir__manifest_node node;

static struct weir__address put_node(void)
{
    static unsigned char bytes[WEIR__MANIFEST_SIZE_MAX];
    struct weir__address address;
    size_t length = weir__manifest_encode(&node, bytes);
    weir__address_of(bytes, length, &address);
    CHECK_EQ(memory_put(NULL, bytes, length, &address), 0);
    return address;
}

static struct weir__address put_same(unsigned level, size_t count, uint64_t length,
                                     const struct weir__address *child)
{
    node.level = level, node.count = 0;
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(weir__manifest_add(&node, length, child), 0);
    return put_node();
}

/* Six nodes that say that they are seven times 2^60 bytes: only what is asked for is got. */
TEST(a_small_manifest_of_a_huge_file)
{
    struct weir__address address = {{1}};
    struct weir__file_span span;
    for (unsigned level = 0; level < 5; level++)
        address = put_same(level, 4096, UINT64_C(1) << (12 * level), &address);
    address = put_same(5, 7, UINT64_C(1) << 60, &address);
    CHECK_EQ(weir__file_reader_open(&reader, &memory_source, &address), 0);
    CHECK_EQ(weir__file_reader_length(&reader), 7 * (1LL << 60));
    random_seed();
    memory.gets = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t offset = random_below(7 * (UINT64_C(1) << 60) - 1);
        CHECK_EQ(weir__file_reader_seek(&reader, offset, 2), 0);
        CHECK_EQ(weir__file_reader_next(&reader, &span), 1);
        CHECK(span.offset == offset && span.length == 1 && span.chunk_length == 1);
        CHECK_EQ(weir__file_reader_next(&reader, &span), 1);
        CHECK_EQ(weir__file_reader_next(&reader, &span), 0);
    }
    CHECK_EQ(memory.gets, 5);
    weir__file_reader_close(&reader);
    memory_clear();
}

/* What the first byte behind the root leads to. */
static int read_first(const struct weir__address *root, uint64_t offset)
{
    struct weir__file_span span;
    int result = weir__file_reader_open(&reader, &memory_source, root);
    if (result != 0)
        return result;
    result = weir__file_reader_seek(&reader, offset, weir__file_reader_length(&reader) - offset);
    while (result == 0 && (result = weir__file_reader_next(&reader, &span)) > 0)
        result = 0;
    weir__file_reader_close(&reader);
    return result;
}

TEST(what_does_not_fit_together_is_corrupt)
{
    struct weir__address chunk = {{1}}, root, full, part, inner;
    full = put_same(0, 4096, 10, &chunk);
    part = put_same(0, 5, 10, &chunk);
    /* One below a root. */
    root = put_same(1, 1, 40960, &full);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    /* Right, for comparison. */
    node.level = 1, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 40960, &full), 0);
    CHECK_EQ(weir__manifest_add(&node, 50, &part), 0);
    root = inner = put_node();
    CHECK_EQ(read_first(&root, 0), 0);
    /* One that is not full and not the last. */
    node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 50, &part), 0);
    CHECK_EQ(weir__manifest_add(&node, 40960, &full), 0);
    root = put_node();
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    CHECK_EQ(read_first(&root, 60), 0);
    /* The last of one that is not the last. */
    root = put_same(2, 2, 41010, &inner);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    /* The same, where the one above it is full. */
    node.level = 1, node.count = 0;
    for (int i = 0; i < 4095; i++)
        CHECK_EQ(weir__manifest_add(&node, 40960, &full), 0);
    CHECK_EQ(weir__manifest_add(&node, 50, &part), 0);
    inner = put_node();
    root = put_same(2, 2, 4095 * 40960 + 50, &inner);
    CHECK_EQ(read_first(&root, 4095 * 40960 - 5), -WEIR_E_CORRUPT);
    CHECK_EQ(read_first(&root, 2 * 4095 * 40960 + 70), 0);
    /* Another length than the node above says: more, less. */
    root = put_same(1, 2, 40961, &full);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    root = put_same(1, 2, 40959, &full);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    /* Another level. */
    root = put_same(2, 2, 40960, &full);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    /* No manifest below, or none there. */
    weir__address_of("hello", 5, &chunk);
    CHECK_EQ(memory_put(NULL, "hello", 5, &chunk), 0);
    root = put_same(1, 2, 5, &chunk);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    chunk.bytes[0] ^= 1;
    root = put_same(1, 2, 5, &chunk);
    CHECK_EQ(read_first(&root, 0), -WEIR_E_NOT_FOUND);
    memory_clear();
}

TEST(holes_side_by_side_in_two_nodes_are_corrupt)
{
    struct weir__address chunk = {{1}}, first, second, root;
    node.level = 0, node.count = 0;
    for (int i = 0; i < 4095; i++)
        CHECK_EQ(weir__manifest_add(&node, 10, &chunk), 0);
    CHECK_EQ(weir__manifest_add(&node, 10, NULL), 0);
    first = put_node();
    node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 10, NULL), 0);
    second = put_node();
    node.level = 1, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 40960, &first), 0);
    CHECK_EQ(weir__manifest_add(&node, 10, &second), 0);
    root = put_node();
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    CHECK_EQ(read_first(&root, 40955), -WEIR_E_CORRUPT);
    memory_clear();
}

TEST(what_is_no_manifest_is_told)
{
    static unsigned char large[300000];
    struct weir__address address;
    weir__address_of(large, sizeof(large), &address);
    CHECK_EQ(memory_put(NULL, large, sizeof(large), &address), 0);
    CHECK_EQ(read_first(&address, 0), -WEIR_E_INVALID);
    weir__address_of("hello", 5, &address);
    CHECK_EQ(read_first(&address, 0), -WEIR_E_NOT_FOUND);
    CHECK_EQ(memory_put(NULL, "hello", 5, &address), 0);
    CHECK_EQ(read_first(&address, 0), -WEIR_E_INVALID);
    memory_clear();
}

TEST(a_source_that_lies_is_caught)
{
    random_seed();
    struct weir__address root = write_file(5000, 3);
    memory.is_lying = true;
    memory.lie = root;
    CHECK_EQ(read_first(&root, 0), -WEIR_E_CORRUPT);
    memory.is_lying = false;
    CHECK_EQ(weir__file_reader_open(&reader, &memory_source, &root), 0);
    struct weir__file_span span;
    memory.is_lying = true;
    memory.lie = reader._nodes[1]->entries[0].address;
    CHECK_EQ(weir__file_reader_next(&reader, &span), -WEIR_E_CORRUPT);
    /* And may be asked once more. */
    memory.is_lying = false;
    CHECK_EQ(weir__file_reader_next(&reader, &span), 1);
    weir__file_reader_close(&reader);
    memory_clear();
}

TEST(errors_of_sink_and_source_come_back)
{
    struct weir__address root, chunk = {{1}};
    random_seed();
    weir__file_writer_init(&writer, &memory_sink);
    memory.fail_at = 0;
    int result = 0, added = 0;
    for (; result == 0 && added < 5000; added++)
        result = weir__file_writer_add_chunk(&writer, &chunk, 1);
    CHECK_EQ(result, -WEIR_E_TRANSIENT);
    CHECK_EQ(added, 4097);
    CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, 1), -WEIR_E_TRANSIENT);
    CHECK_EQ(weir__file_writer_add_hole(&writer, 1), -WEIR_E_TRANSIENT);
    CHECK_EQ(weir__file_writer_finish(&writer, &root), -WEIR_E_TRANSIENT);
    weir__file_writer_reset(&writer);
    CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, 0), -WEIR_E_INVALID);
    weir__file_writer_reset(&writer);
    CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, (1u << 20) + 1), -WEIR_E_INVALID);
    weir__file_writer_reset(&writer);
    CHECK_EQ(weir__file_writer_add_hole(&writer, WEIR__FILE_LENGTH_MAX), 0);
    CHECK_EQ(weir__file_writer_add_hole(&writer, 1), -WEIR_E_TOO_LARGE);
    weir__file_writer_reset(&writer);
    CHECK_EQ(weir__file_writer_add_hole(&writer, WEIR__FILE_LENGTH_MAX), 0);
    CHECK_EQ(weir__file_writer_add_chunk(&writer, &chunk, 1), -WEIR_E_TOO_LARGE);
    weir__file_writer_reset(&writer);
    CHECK_EQ(weir__file_writer_add_hole(&writer, WEIR__FILE_LENGTH_MAX), 0);
    CHECK_EQ(weir__file_writer_finish(&writer, &root), 0);
    weir__file_writer_fini(&writer);
    memory.fail_at = 0;
    CHECK_EQ(read_first(&root, 0), -WEIR_E_TRANSIENT);
    CHECK_EQ(read_first(&root, 0), 0);
    memory_clear();
}

TAP_MAIN()
