/* test_idx.c - indexes written by hand: both versions, large offsets, many packs at once, and what
 * is wrong with them; object ids; deltas; inflating. */
#include "git_help.h"
#include "pack_help.h"

#include "idx.h"
#include "pack_delta.h"

static void write_some(struct writer *writer, size_t size, uint32_t count, unsigned version)
{
    writer_start(writer, size);
    for (uint32_t i = 0; i < count; i++)
        put_whole(writer, WEIR__GIT_BLOB, &i, sizeof(i));
    writer_end(writer, version);
}

TEST(ids)
{
    struct weir__git_id a, b;
    char hex[WEIR__GIT_HEX_SIZE];
    const char *text = "00112233445566778899aabbccddeeff00112233";
    CHECK_EQ(weir__git_id_from_hex(&a, text, 20), 0);
    CHECK_STR(weir__git_id_hex(&a, 20, hex), text);
    CHECK_EQ(a.bytes[20], 0);
    CHECK_EQ(weir__git_id_from_hex(&b, "00112233445566778899AABBCCDDEEFF00112233", 20), 0);
    CHECK(weir__git_id_is_equal(&a, &b) && !weir__git_id_is_zero(&a));
    b.bytes[19]++;
    CHECK(weir__git_id_compare(&a, &b) < 0);
    CHECK_EQ(weir__git_id_from_hex(&b, "0011223344556677889g", 10), -WEIR_E_INVALID);
    CHECK_EQ(weir__git_type_of("tree", 4), WEIR__GIT_TREE);
    CHECK_EQ(weir__git_type_of("trees", 5), 0);
    CHECK_EQ(weir__git_type_of("tre", 3), 0);
    CHECK_STR(weir__git_type_name(WEIR__GIT_TAG), "tag");
}

TEST(finds_each)
{
    for (unsigned version = 1; version <= 2; version++)
        for (size_t size = 20; size <= 32; size += 12) {
            struct writer writer;
            struct weir__git_idx idx;
            write_some(&writer, size, 1000, version);
            CHECK_EQ(weir__git_idx_init(&idx, writer.idx.at, writer.idx.length, size), 0);
            CHECK_EQ(idx.count, 1000);
            CHECK(weir__git_idx_count_max(writer.idx.length, size) >= 1000);
            for (uint32_t i = 0; i < 1000; i++) {
                uint32_t at;
                uint64_t offset;
                CHECK_EQ(weir__git_idx_find(&idx, &writer.objects[i].id, &at), 0);
                CHECK_EQ(at, i);
                CHECK_EQ(weir__git_idx_offset(&idx, at, &offset), 0);
                CHECK_EQ(offset, writer.objects[i].offset);
                CHECK(weir__git_idx_is_sorted_at(&idx, at));
            }
            struct weir__git_id other = id_of(5000);
            uint32_t at = 7;
            CHECK_EQ(weir__git_idx_find(&idx, &other, &at), -WEIR_E_NOT_FOUND);
            CHECK_EQ(at, 7);
            writer_free(&writer);
        }
}

TEST(an_empty_one)
{
    struct writer writer;
    struct weir__git_idx idx;
    struct weir__git_id id = id_of(0);
    uint32_t at;
    write_some(&writer, 20, 0, 2);
    CHECK_EQ(weir__git_idx_init(&idx, writer.idx.at, writer.idx.length, 20), 0);
    CHECK_EQ(weir__git_idx_find(&idx, &id, &at), -WEIR_E_NOT_FOUND);
    weir__git_walk_options_init(&help_options);
    struct weir__git_pack pack;
    const char *why;
    CHECK_EQ(weir__git_pack_of_bytes(&pack, writer.pack.at, writer.pack.length, writer.idx.at,
                                     writer.idx.length, 20, &why),
             0);
    begin_walks();
    CHECK_EQ(walk_pack(&pack), 0);
    CHECK_EQ(totals.objects, 0);
    writer_free(&writer);
}

/* Any length that is cut off, in memory that ends there: an address sanitizer sees more. */
TEST(cut_off)
{
    for (unsigned version = 1; version <= 2; version++) {
        struct writer writer;
        write_some(&writer, 20, 20, version);
        for (size_t length = 0; length < writer.idx.length; length++) {
            struct weir__git_idx idx;
            uint8_t *copy = malloc(length ? length : 1);
            memcpy(copy, writer.idx.at, length);
            int result = weir__git_idx_init(&idx, copy, length, 20);
            CHECK(result == -WEIR_E_CORRUPT || result == -WEIR_E_UNSUPPORTED);
            free(copy);
        }
        writer_free(&writer);
    }
}

TEST(large_offsets)
{
    struct writer writer;
    struct weir__git_idx idx;
    uint64_t offset = 5;
    write_some(&writer, 20, 3, 2);
    /* The second one's offset goes into a table of its own; two others are there and lie. */
    struct bytes longer = {0};
    size_t offsets = 8 + 1024 + 3 * 24;
    put_bytes(&longer, writer.idx.at, offsets);
    put_32(&longer, 12);
    put_32(&longer, 0x80000001);
    put_32(&longer, 0x80000002);
    put_64(&longer, 1);
    put_64(&longer, UINT64_C(0x123456789a));
    for (int i = 0; i < 40; i++)
        put_byte(&longer, 0); /* sums, which are no offsets */
    CHECK_EQ(weir__git_idx_init(&idx, longer.at, longer.length, 20), 0);
    CHECK_EQ(weir__git_idx_offset(&idx, 0, &offset), 0);
    CHECK_EQ(offset, 12);
    CHECK_EQ(weir__git_idx_offset(&idx, 1, &offset), 0);
    CHECK_EQ(offset, UINT64_C(0x123456789a));
    CHECK_EQ(weir__git_idx_offset(&idx, 2, &offset), -WEIR_E_CORRUPT);
    CHECK_EQ(offset, UINT64_C(0x123456789a));
    free(longer.at);
    writer_free(&writer);
}

TEST(not_an_index)
{
    struct writer writer;
    struct weir__git_idx idx;
    write_some(&writer, 20, 30, 2);
    CHECK_EQ(weir__git_idx_init(&idx, writer.idx.at, writer.idx.length, 32), -WEIR_E_CORRUPT);
    writer.idx.at[7] = 3;
    CHECK_EQ(weir__git_idx_init(&idx, writer.idx.at, writer.idx.length, 20), -WEIR_E_UNSUPPORTED);
    writer.idx.at[7] = 2;
    writer.idx.at[8 + 4 * 100] = 0xff; /* a fanout that falls */
    CHECK_EQ(weir__git_idx_init(&idx, writer.idx.at, writer.idx.length, 20), -WEIR_E_CORRUPT);
    writer_free(&writer);
}

/* --- many packs --- */

static void write_midx(struct bytes *out, const struct written *objects, uint32_t count,
                       size_t size, bool has_large)
{
    unsigned chunks = has_large ? 5 : 4;
    static const char names[] = "pack-a.idx\0pack-b.idx\0\0";
    uint64_t at = 12 + (chunks + 1) * 12;
    uint64_t lengths[5] = {24, 1024, (uint64_t)count * size, (uint64_t)count * 8, 8};
    static const char *const titles[] = {"PNAM", "OIDF", "OIDL", "OOFF", "LOFF"};
    out->length = 0;
    put_bytes(out, "MIDX\1", 5);
    put_byte(out, size == 20 ? 1 : 2);
    put_byte(out, chunks);
    put_byte(out, 0);
    put_32(out, 2);
    for (unsigned i = 0; i < chunks; i++) {
        put_bytes(out, titles[i], 4);
        put_64(out, at);
        at += lengths[i];
    }
    put_32(out, 0);
    put_64(out, at);
    put_bytes(out, names, 24);
    for (unsigned byte = 0, i = 0; byte < 256; byte++) {
        while (i < count && objects[i].id.bytes[0] <= byte)
            i++;
        put_32(out, i);
    }
    for (uint32_t i = 0; i < count; i++)
        put_bytes(out, objects[i].id.bytes, size);
    for (uint32_t i = 0; i < count; i++) {
        put_32(out, i % 2);
        put_32(out, has_large && i == 0 ? 0x80000000u : (uint32_t)objects[i].offset);
    }
    if (has_large)
        put_64(out, UINT64_C(0x987654321));
    for (size_t i = 0; i < size; i++)
        put_byte(out, 0);
}

TEST(multi_pack_index)
{
    for (size_t size = 20; size <= 32; size += 12) {
        struct writer writer;
        struct bytes midx_bytes = {0};
        struct weir__git_midx midx;
        size_t at = 0;
        uint32_t pack;
        uint64_t offset;
        write_some(&writer, size, 100, 2);
        write_midx(&midx_bytes, writer.objects, 100, size, true);
        CHECK_EQ(weir__git_midx_init(&midx, midx_bytes.at, midx_bytes.length, size), 0);
        CHECK_STR(weir__git_midx_name(&midx, &at), "pack-a.idx");
        CHECK_STR(weir__git_midx_name(&midx, &at), "pack-b.idx");
        CHECK(!weir__git_midx_name(&midx, &at));
        for (uint32_t i = 0; i < 100; i++) {
            CHECK_EQ(weir__git_midx_find(&midx, &writer.objects[i].id, &pack, &offset), 0);
            CHECK_EQ(pack, i % 2);
            CHECK_EQ(offset, i == 0 ? UINT64_C(0x987654321) : writer.objects[i].offset);
        }
        for (size_t length = 0; length < midx_bytes.length - size; length += 3) {
            uint8_t *copy = malloc(length ? length : 1);
            memcpy(copy, midx_bytes.at, length);
            CHECK(weir__git_midx_init(&midx, copy, length, size) < 0);
            free(copy);
        }
        CHECK_EQ(weir__git_midx_init(&midx, midx_bytes.at, midx_bytes.length, 52 - size),
                 -WEIR_E_CORRUPT);
        midx_bytes.at[4] = 2;
        CHECK_EQ(weir__git_midx_init(&midx, midx_bytes.at, midx_bytes.length, size),
                 -WEIR_E_UNSUPPORTED);
        free(midx_bytes.at);
        writer_free(&writer);
    }
}

/* --- deltas --- */

TEST(delta_steps)
{
    struct bytes delta = {0};
    struct weir__git_delta reader;
    struct weir__git_delta_step step;
    static uint8_t base[100000], result[100004];
    for (size_t i = 0; i < sizeof(base); i++)
        base[i] = (uint8_t)(i * 31 >> 3);
    delta_start(&delta, sizeof(base), sizeof(result));
    delta_copy(&delta, 34464, 65536);
    delta_insert(&delta, "weir", 4);
    delta_copy(&delta, 0, 34464);
    CHECK_EQ(weir__git_delta_init(&reader, delta.at, delta.length), 0);
    CHECK_EQ(reader.base_length, sizeof(base));
    CHECK_EQ(reader.result_length, sizeof(result));
    CHECK_EQ(weir__git_delta_apply(&reader, base, result), 0);
    CHECK(memcmp(result, base + 34464, 65536) == 0 && memcmp(result + 65536, "weir", 4) == 0 &&
          memcmp(result + 65540, base, 34464) == 0);
    CHECK_EQ(weir__git_delta_next(&reader, &step), 1);
    CHECK(step.is_copy && step.from == 34464 && step.length == 65536);
    CHECK_EQ(weir__git_delta_next(&reader, &step), 1);
    CHECK(!step.is_copy && step.length == 4 && memcmp(step.bytes, "weir", 4) == 0);
    CHECK_EQ(weir__git_delta_next(&reader, &step), 1);
    CHECK_EQ(weir__git_delta_next(&reader, &step), 0);
    free(delta.at);
    /* 65536 may be written as no length at all. */
    static const uint8_t shortest[] = {0xa0, 0x8d, 0x06, 0x80, 0x80, 0x04, 0x80};
    CHECK_EQ(weir__git_delta_init(&reader, shortest, sizeof(shortest)), 0);
    CHECK_EQ(weir__git_delta_apply(&reader, base, result), 0);
    CHECK(memcmp(result, base, 65536) == 0);
}

TEST(delta_cut_off)
{
    struct bytes delta = {0};
    static uint8_t base[5000], result[6000];
    delta_start(&delta, sizeof(base), 5204);
    delta_copy(&delta, 300, 4000);
    delta_insert(&delta, base, 204);
    delta_copy(&delta, 0, 1000);
    for (size_t length = 0; length <= delta.length; length++) {
        struct weir__git_delta reader;
        uint8_t *copy = malloc(length ? length : 1);
        memcpy(copy, delta.at, length);
        int made = weir__git_delta_init(&reader, copy, length);
        if (made == 0)
            made = weir__git_delta_apply(&reader, base, result);
        CHECK_EQ(made, length == delta.length ? 0 : -WEIR_E_CORRUPT);
        free(copy);
    }
    free(delta.at);
}

/* --- inflating --- */

TEST(inflating)
{
    struct weir__git_inflater inflater;
    struct writer writer;
    static uint8_t plain[70000], out[70001];
    size_t used, made, length = 0;
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (uint8_t)(i * i >> 7);
    CHECK_EQ(weir__git_inflater_init(&inflater), 0);
    writer_start(&writer, 20);
    put_packed(&writer, plain, sizeof(plain));
    const uint8_t *packed = writer.pack.at + 12;
    size_t size = writer.pack.length - 12;
    CHECK_EQ(weir__git_inflate(&inflater, packed, size, out, sizeof(plain)), 0);
    CHECK(memcmp(out, plain, sizeof(plain)) == 0);
    CHECK_EQ(weir__git_inflate(&inflater, packed, size, out, sizeof(plain) - 1), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__git_inflate(&inflater, packed, size, out, sizeof(plain) + 1), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__git_inflate(&inflater, packed, size - 1, out, sizeof(plain)), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__git_inflate_upto(&inflater, packed, size, out, sizeof(out), &length), 0);
    CHECK_EQ(length, sizeof(plain));
    CHECK_EQ(weir__git_inflate_upto(&inflater, packed, size, out, 100, &length), -WEIR_E_TOO_LARGE);
    /* In pieces of 1000 bytes in and 777 out. */
    for (int round = 0; round < 2; round++) {
        size_t in = 0;
        int is_over = 0;
        length = 0;
        memset(out, 0, sizeof(out));
        CHECK_EQ(weir__git_inflate_begin(&inflater), 0);
        while (!is_over) {
            size_t more = size - in < 1000 ? size - in : 1000;
            is_over = weir__git_inflate_more(
                &inflater, packed + in, more, &used, out + length,
                sizeof(out) - length < 777 ? sizeof(out) - length : 777, &made);
            CHECK(is_over >= 0 && (used > 0 || made > 0 || is_over));
            in += used;
            length += made;
        }
        CHECK(length == sizeof(plain) && memcmp(out, plain, length) == 0);
    }
    CHECK(weir__git_inflate_max(10) >= 10320 && weir__git_inflate_max(UINT64_MAX) == UINT64_MAX);
    writer_free(&writer);
    weir__git_inflater_fini(&inflater);
}

TAP_MAIN()
