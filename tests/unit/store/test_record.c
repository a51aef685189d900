/* test_record.c - records, entries and identities as bytes: the form is that of docs/store.md, to
 * the bit, since stores outlive programs. */
#include "record.h"

#include "store_rig.h"

static struct weir__record_key key;

static struct weir__record_key make_key(void)
{
    for (size_t i = 0; i < sizeof(key.bytes); i++)
        key.bytes[i] = (unsigned char)i;
    return key;
}

static void to_hex(const unsigned char *bytes, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static struct weir__record chunk_record(void)
{
    struct weir__record record = {.type = WEIR__RECORD_CHUNK,
                                  .sequence = UINT64_C(0x0123456789abcdef),
                                  .size = WEIR__RECORD_HEAD + 5,
                                  .time_s = 0x6720a1b2};
    weir__address_of("hello", 5, &record.address);
    return record;
}

static const struct weir__place place = {7, 128};

/* The check was made by b3sum --keyed over the 56 bytes before it, then 07000000 80000000. */
static const char golden_head[] = "f577523101010000"
                                  "efcdab8967452301"
                                  "45000000"
                                  "b2a12067"
                                  "ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f"
                                  "693907a534b6ed78";

TEST(head_is_as_documented)
{
    unsigned char head[WEIR__RECORD_HEAD];
    char text[2 * WEIR__RECORD_HEAD + 1];
    struct weir__record record = chunk_record(), got;
    make_key();
    weir__record_encode(&record, &key, place, head);
    to_hex(head, sizeof(head), text);
    CHECK_STR(text, golden_head);
    CHECK(weir__record_is_begun(head));
    CHECK_EQ(weir__record_decode(&got, head, &key, place), 0);
    CHECK(got.type == record.type && got.sequence == record.sequence && got.size == record.size &&
          got.time_s == record.time_s && weir__address_is_equal(&got.address, &record.address));
}

/* Each bit counts, and so do key and place. */
TEST(any_change_is_seen)
{
    unsigned char head[WEIR__RECORD_HEAD];
    struct weir__record record = chunk_record(), got = {.sequence = 42};
    make_key();
    weir__record_encode(&record, &key, place, head);
    for (size_t bit = 0; bit < 8 * sizeof(head); bit++) {
        head[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK_EQ(weir__record_decode(&got, head, &key, place), -WEIR_E_CORRUPT);
        head[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    struct weir__place next = {place.segment, place.offset + 16}, other = {8, place.offset};
    CHECK_EQ(weir__record_decode(&got, head, &key, next), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__record_decode(&got, head, &key, other), -WEIR_E_CORRUPT);
    struct weir__record_key another = key;
    another.bytes[31] ^= 1;
    CHECK_EQ(weir__record_decode(&got, head, &another, place), -WEIR_E_CORRUPT);
    CHECK_EQ(got.sequence, 42);
    CHECK_EQ(weir__record_decode(&got, head, &key, place), 0);
}

static bool is_taken(enum weir__record_type type, uint64_t sequence, uint32_t size)
{
    unsigned char head[WEIR__RECORD_HEAD];
    struct weir__record record = {.type = type, .sequence = sequence, .size = size}, got;
    weir__record_encode(&record, &key, place, head);
    return weir__record_decode(&got, head, &key, place) == 0;
}

/* With a right check, since a disk is not the only one that makes mistakes. */
TEST(numbers_that_no_record_has)
{
    make_key();
    CHECK(is_taken(WEIR__RECORD_CHUNK, 1, 64));
    CHECK(is_taken(WEIR__RECORD_CHUNK, UINT64_MAX, 64 + WEIR__CHUNK_MAX));
    CHECK(!is_taken(WEIR__RECORD_CHUNK, 1, 64 + WEIR__CHUNK_MAX + 1));
    CHECK(!is_taken(WEIR__RECORD_CHUNK, 1, 63));
    CHECK(!is_taken(WEIR__RECORD_CHUNK, 1, 0));
    CHECK(!is_taken(WEIR__RECORD_CHUNK, 0, 64));
    CHECK(!is_taken((enum weir__record_type)0, 1, 64));
    CHECK(!is_taken((enum weir__record_type)8, 1, 64));
    CHECK(!is_taken((enum weir__record_type)255, 1, 64));
    for (enum weir__record_type type = WEIR__RECORD_DELETED; type <= WEIR__RECORD_BAD; type++)
        CHECK(is_taken(type, 1, 64) && !is_taken(type, 1, 65));
    CHECK(is_taken(WEIR__RECORD_END, 1, 64) && !is_taken(WEIR__RECORD_END, 1, 80));
    CHECK(is_taken(WEIR__RECORD_BEGIN, 1, 128) && !is_taken(WEIR__RECORD_BEGIN, 1, 112));
    CHECK(is_taken(WEIR__RECORD_FOOTER, 1, 64));
    CHECK(is_taken(WEIR__RECORD_FOOTER, 1, 64 + 56 * WEIR__SEGMENT_COUNT));
    CHECK(!is_taken(WEIR__RECORD_FOOTER, 1, 64 + 56 * (WEIR__SEGMENT_COUNT + 1)));
    CHECK(!is_taken(WEIR__RECORD_FOOTER, 1, 64 + 55));
    CHECK(!is_taken(WEIR__RECORD_FOOTER, 1, UINT32_MAX));
    CHECK(!is_taken(WEIR__RECORD_BEGIN, 1, UINT32_MAX));
}

TEST(spans)
{
    CHECK_EQ(weir__record_span(64), 64);
    CHECK_EQ(weir__record_span(65), 80);
    CHECK_EQ(weir__record_span(80), 80);
    CHECK_EQ(weir__record_span(64 + WEIR__CHUNK_MAX), 64 + WEIR__CHUNK_MAX);
}

static struct weir__entry chunk_entry(void)
{
    struct weir__record record = chunk_record();
    return (struct weir__entry){record.address, record.sequence, {7, 0x1230},
                                record.size,    record.time_s,   record.type};
}

TEST(entry_is_as_documented)
{
    unsigned char bytes[WEIR__ENTRY_SIZE];
    char text[2 * WEIR__ENTRY_SIZE + 1];
    struct weir__entry entry = chunk_entry(), got;
    weir__entry_encode(&entry, bytes);
    to_hex(bytes, sizeof(bytes), text);
    CHECK_STR(text, "ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f"
                    "efcdab8967452301"
                    "30120000"
                    "45000000"
                    "b2a12067"
                    "01000000");
    CHECK_EQ(weir__entry_decode(&got, bytes, 7), 0);
    CHECK_EQ(memcmp(&got.address, &entry.address, sizeof(got.address)), 0);
    CHECK(got.sequence == entry.sequence && got.place.segment == 7 && got.place.offset == 0x1230 &&
          got.size == entry.size && got.time_s == entry.time_s && got.type == entry.type);
    CHECK_EQ(weir__entry_length(&got), 5);
}

static bool is_entry(struct weir__entry entry)
{
    unsigned char bytes[WEIR__ENTRY_SIZE];
    struct weir__entry got;
    weir__entry_encode(&entry, bytes);
    return weir__entry_decode(&got, bytes, 7) == 0;
}

TEST(entries_that_there_are_none_of)
{
    struct weir__entry entry = chunk_entry();
    CHECK(is_entry(entry));
    entry.sequence = 0;
    CHECK(!is_entry(entry));
    entry = chunk_entry();
    entry.place.offset = 0;
    CHECK(!is_entry(entry));
    entry.place.offset = 24;
    CHECK(!is_entry(entry));
    for (int type = 0; type < 256; type++) {
        entry = chunk_entry();
        entry.type = (enum weir__record_type)type;
        entry.size = WEIR__RECORD_HEAD;
        CHECK_EQ(is_entry(entry), type >= WEIR__RECORD_CHUNK && type <= WEIR__RECORD_BAD);
    }
    entry = chunk_entry();
    entry.size = WEIR__RECORD_HEAD + WEIR__CHUNK_MAX + 1;
    CHECK(!is_entry(entry));
}

TEST(which_is_newer)
{
    struct weir__entry a = chunk_entry(), b = a;
    CHECK(!weir__entry_is_newer(&a, &b));
    b.place.offset += 16;
    CHECK(weir__entry_is_newer(&b, &a) && !weir__entry_is_newer(&a, &b));
    a.place.segment = 8;
    CHECK(weir__entry_is_newer(&a, &b) && !weir__entry_is_newer(&b, &a));
    b.sequence++;
    CHECK(weir__entry_is_newer(&b, &a) && !weir__entry_is_newer(&a, &b));
}

TEST(identity_is_as_documented)
{
    unsigned char bytes[WEIR__IDENTITY_SIZE];
    char text[2 * WEIR__IDENTITY_SIZE + 1];
    struct weir__identity identity, got;
    memset(identity.id, 0xab, sizeof(identity.id));
    identity.key = make_key();
    weir__identity_encode(&identity, bytes);
    to_hex(bytes, sizeof(bytes), text);
    CHECK_STR(text, "7765697273656731"
                    "abababababababababababababababab"
                    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
                    "0e710b2896c09560");
    CHECK_EQ(weir__identity_decode(&got, bytes), 0);
    CHECK_EQ(memcmp(&got, &identity, sizeof(got)), 0);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK_EQ(weir__identity_decode(&got, bytes), -WEIR_E_CORRUPT);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

TAP_MAIN()
