/* test_manifest.c - golden bytes, and that nothing but the one form of a node is accepted. */
#include "manifest.h"

#include <string.h>

#include <weir/error.h>

#include "random_help.h"
#include "tap.h"

static struct weir__manifest_node node, again;
static unsigned char bytes[WEIR__MANIFEST_SIZE_MAX + 64];

static struct weir__address address_of_byte(unsigned byte)
{
    struct weir__address address;
    memset(address.bytes, (int)byte, sizeof(address.bytes));
    return address;
}

static size_t from_hex(const char *hex, unsigned char *ret_bytes)
{
    size_t count = 0;
    for (; hex[0]; hex++) {
        if (*hex == ' ')
            continue;
        char pair[3] = {hex[0], hex[1], '\0'};
        ret_bytes[count++] = (unsigned char)strtoul(pair, NULL, 16);
        hex++;
    }
    return count;
}

#define ADDRESS(d) "5820" d d d d d d d d
#define A11        "11111111"
#define A22        "22222222"
/* Tag, array, version, kind. */
#define HEAD "da57656972 85 01 00 "

/* The bytes were put together by hand from the RFC. */
static void is_golden(const char *hex)
{
    unsigned char wanted[1024];
    size_t length = from_hex(hex, wanted);
    CHECK_EQ(weir__manifest_encode(&node, bytes), length);
    CHECK(memcmp(bytes, wanted, length) == 0);
    CHECK_EQ(weir__manifest_decode(wanted, length, &again), 0);
    CHECK(again.level == node.level && again.count == node.count);
    CHECK(memcmp(again.entries, node.entries, node.count * sizeof(node.entries[0])) == 0);
}

TEST(golden_empty_file)
{
    node.level = 0, node.count = 0;
    is_golden(HEAD "00 00 80");
    CHECK_EQ(weir__manifest_length(&again), 0);
}

TEST(golden_leaf)
{
    struct weir__address one = address_of_byte(0x11), two = address_of_byte(0x22);
    node.level = 0, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 65536, &one), 0);
    CHECK_EQ(weir__manifest_add(&node, UINT64_C(1) << 33, NULL), 0);
    CHECK_EQ(weir__manifest_add(&node, 23, &two), 0);
    CHECK_EQ(weir__manifest_add(&node, 24, &one), 0);
    CHECK_EQ(weir__manifest_add(&node, 255, NULL), 0);
    CHECK_EQ(weir__manifest_add(&node, 256, &one), 0);
    CHECK_EQ(weir__manifest_length(&node), 65536 + (1LL << 33) + 23 + 24 + 255 + 256);
    is_golden(HEAD "00 1b000000020001022e 86"
                   "82 1a00010000" ADDRESS(A11) "1b0000000200000000"
                                                "82 17" ADDRESS(A22) "82 1818" ADDRESS(
                                                    A11) "18ff"
                                                         "82 190100" ADDRESS(A11));
}

TEST(golden_inner)
{
    struct weir__address one = address_of_byte(0x11), two = address_of_byte(0x22);
    node.level = 5, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, (UINT64_C(1) << 63) - 2, &one), 0);
    CHECK_EQ(weir__manifest_add(&node, 1, &two), 0);
    is_golden(HEAD "05 1b7fffffffffffffff 82"
                   "82 1b7ffffffffffffffe" ADDRESS(A11) "82 01" ADDRESS(A22));
}

TEST(what_cannot_be_added)
{
    struct weir__address one = address_of_byte(1);
    node.level = 0, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 0, &one), -WEIR_E_INVALID);
    CHECK_EQ(weir__manifest_add(&node, 0, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir__manifest_add(&node, (1u << 20) + 1, &one), -WEIR_E_INVALID);
    CHECK_EQ(weir__manifest_add(&node, UINT64_C(1) << 63, NULL), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__manifest_add(&node, 1u << 20, &one), 0);
    CHECK_EQ(weir__manifest_add(&node, WEIR__FILE_LENGTH_MAX - (1u << 20) + 1, NULL),
             -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__manifest_add(&node, WEIR__FILE_LENGTH_MAX - (1u << 20), NULL), 0);
    CHECK_EQ(weir__manifest_add(&node, 1, &one), -WEIR_E_TOO_LARGE);
    node.count = 1;
    CHECK_EQ(weir__manifest_add(&node, 5, NULL), 0);
    CHECK_EQ(weir__manifest_add(&node, 5, NULL), -WEIR_E_INVALID);
    CHECK_EQ(node.count, 2);
    node.level = 1, node.count = 0;
    CHECK_EQ(weir__manifest_add(&node, 5, NULL), -WEIR_E_INVALID);
    CHECK_EQ(weir__manifest_add(&node, 5u << 20, &one), 0);
}

TEST(a_full_node_fits)
{
    struct weir__address one = address_of_byte(0xfe);
    node.level = 3, node.count = 0;
    for (int i = 0; i < WEIR__MANIFEST_ENTRIES_MAX; i++)
        CHECK_EQ(weir__manifest_add(&node, UINT64_C(1) << 50, &one), 0);
    CHECK_EQ(weir__manifest_add(&node, 1, &one), -WEIR_E_OVERFLOW);
    size_t length = weir__manifest_encode(&node, bytes);
    CHECK_EQ(length, 21 + 4096 * 44);
    CHECK_EQ(weir__manifest_decode(bytes, length, &again), 0);
    CHECK(memcmp(&again, &node, sizeof(node)) == 0);
    /* One entry more, and nothing else wrong. */
    memmove(bytes + length, bytes + length - 44, 44);
    bytes[20]++;
    CHECK_EQ(weir__manifest_decode(bytes, length + 44, &again), -WEIR_E_CORRUPT);
}

static const struct {
    const char *what;
    const char *hex;
    int error;
} refused[] = {
    {"nothing", "", -WEIR_E_INVALID},
    {"text", "68656c6c6f20776f726c64", -WEIR_E_INVALID},
    {"a part of the tag", "da576569", -WEIR_E_INVALID},
    {"the tag in a longer form", "db0000000057656972 85 01 00 00 00 80", -WEIR_E_INVALID},
    {"no tag", "85 01 00 00 00 80", -WEIR_E_INVALID},
    {"the tag alone", "da57656972", -WEIR_E_CORRUPT},
    {"version 0", "da57656972 85 00 00 00 00 80", -WEIR_E_CORRUPT},
    {"version 2", "da57656972 85 02 00 00 00 80", -WEIR_E_UNSUPPORTED},
    {"version 2 of other items", "da57656972 82 02 00", -WEIR_E_UNSUPPORTED},
    {"version 1 in a longer form", "da57656972 85 1801 00 00 00 80", -WEIR_E_CORRUPT},
    {"a tree", "da57656972 84 01 01 00 80", -WEIR_E_UNSUPPORTED},
    {"an unknown kind", "da57656972 85 01 07 00 00 80", -WEIR_E_UNSUPPORTED},
    {"four items", "da57656972 84 01 00 00 00", -WEIR_E_CORRUPT},
    {"six items", "da57656972 86 01 00 00 00 80 00", -WEIR_E_CORRUPT},
    {"an indefinite array", "da57656972 9f 01 00 00 00 80 ff", -WEIR_E_CORRUPT},
    {"an indefinite list", HEAD "00 00 9fff", -WEIR_E_CORRUPT},
    {"level 6", HEAD "06 02 82 8201" ADDRESS(A11) "8201" ADDRESS(A22), -WEIR_E_CORRUPT},
    {"a negative level", HEAD "20 00 80", -WEIR_E_CORRUPT},
    {"an inner node without entries", HEAD "01 00 80", -WEIR_E_CORRUPT},
    {"a hole in an inner node", HEAD "01 05 81 05", -WEIR_E_CORRUPT},
    {"another sum", HEAD "00 02 81 8201" ADDRESS(A11), -WEIR_E_CORRUPT},
    {"a sum of nothing", HEAD "00 01 80", -WEIR_E_CORRUPT},
    {"an empty chunk", HEAD "00 00 81 8200" ADDRESS(A11), -WEIR_E_CORRUPT},
    {"an empty hole", HEAD "00 00 81 00", -WEIR_E_CORRUPT},
    {"two holes", HEAD "00 02 82 01 01", -WEIR_E_CORRUPT},
    {"a chunk above 1 MiB", HEAD "00 1a00100001 81 821a00100001" ADDRESS(A11), -WEIR_E_CORRUPT},
    {"a sum of 2^63", HEAD "00 1b8000000000000000 81 1b8000000000000000", -WEIR_E_CORRUPT},
    {"a sum that wraps", HEAD "01 00 82 821bffffffffffffffff" ADDRESS(A11) "8201" ADDRESS(A22),
     -WEIR_E_CORRUPT},
    {"a length in a longer form", HEAD "00 05 81 821805" ADDRESS(A11), -WEIR_E_CORRUPT},
    {"a sum in a longer form", HEAD "00 1805 81 05", -WEIR_E_CORRUPT},
    {"a list in a longer form", HEAD "00 05 9801 05", -WEIR_E_CORRUPT},
    {"an address in a longer form", HEAD "00 05 81 8205 590020" A11 A11 A11 A11 A11 A11 A11 A11,
     -WEIR_E_CORRUPT},
    {"an address of 31 bytes", HEAD "00 05 81 8205 581f" A11 A11 A11 A11 A11 A11 A11 "111111",
     -WEIR_E_CORRUPT},
    {"an address as text", HEAD "00 05 81 8205 7820" A11 A11 A11 A11 A11 A11 A11 A11,
     -WEIR_E_CORRUPT},
    {"an address in pieces", HEAD "00 05 81 8205 5f" ADDRESS(A11) "ff", -WEIR_E_CORRUPT},
    {"an entry of three", HEAD "00 05 81 8305" ADDRESS(A11) "00", -WEIR_E_CORRUPT},
    {"an entry of one", HEAD "00 05 81 8105", -WEIR_E_CORRUPT},
    {"a length as float", HEAD "00 05 81 f94500", -WEIR_E_CORRUPT},
    {"null for a hole", HEAD "00 05 81 f6", -WEIR_E_CORRUPT},
    {"a map for the list", HEAD "00 05 a0", -WEIR_E_CORRUPT},
    {"a byte behind it", HEAD "00 05 81 05 00", -WEIR_E_CORRUPT},
    {"fewer entries than said", HEAD "00 05 82 05", -WEIR_E_CORRUPT},
    {"more entries than can be", HEAD "00 05 9bffffffffffffffff 05", -WEIR_E_CORRUPT},
    {"an address that is too long for memory", HEAD "00 05 81 8205 5bffffffffffffffff 11",
     -WEIR_E_CORRUPT},
};

TEST(refuses_everything_else)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        size_t length = from_hex(refused[i].hex, bytes);
        int result = weir__manifest_decode(bytes, length, &again);
        if (result != refused[i].error)
            tap_fail(__FILE__, __LINE__, "%s: %d, not %d", refused[i].what, result,
                     refused[i].error);
    }
}

/* Any byte changed, and any cut: an error, or another node whose bytes are these. */
TEST(every_changed_byte_is_seen)
{
    struct weir__address one = address_of_byte(0x11);
    static unsigned char changed[1024];
    random_seed();
    node.level = 0, node.count = 0;
    for (uint64_t i = 1; i <= 6; i++)
        CHECK_EQ(weir__manifest_add(&node, i * i * i * 50, i % 3 ? &one : NULL), 0);
    size_t length = weir__manifest_encode(&node, bytes);
    for (size_t at = 0; at < length; at++) {
        CHECK(weir__manifest_decode(bytes, at, &again) != 0);
        for (unsigned byte = 0; byte < 256; byte++) {
            static unsigned char back[WEIR__MANIFEST_SIZE_MAX];
            memcpy(changed, bytes, length);
            changed[at] = (unsigned char)byte;
            if (weir__manifest_decode(changed, length, &again) == 0)
                CHECK(weir__manifest_encode(&again, back) == length &&
                      memcmp(back, changed, length) == 0);
        }
    }
}

TEST(tells_by_its_beginning)
{
    node.level = 0, node.count = 0;
    size_t length = weir__manifest_encode(&node, bytes);
    CHECK(weir__manifest_is_one(bytes, length));
    CHECK(!weir__manifest_is_one(bytes, 4));
    CHECK(!weir__manifest_is_one("hello", 5));
    CHECK(!weir__manifest_is_one(NULL, 0));
}

TAP_MAIN()
