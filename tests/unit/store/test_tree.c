/* test_tree.c - manifests of directories: golden bytes, round trips, and what must be refused. */
#include "tree_manifest.h"

#include <string.h>

#include "memory_help.h"
#include "random_help.h"

static struct weir__tree_writer writer;
static struct weir__tree_reader reader;
static struct weir__tree_entry entry, found;
static unsigned char bytes[WEIR__TREE_ENTRY_MAX], values[WEIR__TREE_VALUE_MAX + 1];

static struct weir__tree_bytes text(const char *string)
{
    return (struct weir__tree_bytes){(const unsigned char *)string, strlen(string)};
}

static void new_entry(const char *name, enum weir__tree_kind kind)
{
    memset(&entry, 0, sizeof(entry));
    entry.name = text(name);
    entry.kind = kind;
    entry.mode = 0644;
    if (kind == WEIR__TREE_LINK)
        entry.target = text("to");
    entry.has_manifest = kind == WEIR__TREE_DIRECTORY;
}

static void is_golden(const char *hex)
{
    size_t length, count = 0;
    CHECK_EQ(weir__tree_encode(&entry, bytes, &length), 0);
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        char pair[3] = {hex[0], hex[1], '\0'};
        CHECK(count < length);
        CHECK_EQ(bytes[count++], strtoul(pair, NULL, 16));
        hex++;
    }
    CHECK_EQ(count, length);
}

/* Put together by hand from the RFC. */
TEST(golden_entries)
{
    new_entry("a", WEIR__TREE_FILE);
    entry.uid = 1000, entry.gid = 5;
    entry.mtime_s = -2, entry.mtime_ns = 24;
    entry.part_count = 2;
    entry.parts[0].length = 12;
    memset(entry.parts[0].address.bytes, 0x11, 32);
    entry.parts[1] = (struct weir__tree_part){.length = 256, .is_hole = true};
    is_golden("a7 00 4161 01 00 02 1901a4 03 1903e8 04 05 05 82 21 1818"
              "0a 82 82 0c 5820 1111111111111111111111111111111111111111111111111111111111111111"
              "190100");
    new_entry("l", WEIR__TREE_LINK);
    entry.link_group = 7;
    is_golden("a8 00 416c 01 02 02 1901a4 03 00 04 00 05 82 00 00 08 07 09 42746f");
    new_entry("d", WEIR__TREE_CHARACTER);
    entry.major = 1, entry.minor = 300;
    entry.xattr_count = 1;
    entry.xattrs[0] = (struct weir__tree_xattr){text("u.x"), text("")};
    is_golden("a8 00 4164 01 05 02 1901a4 03 00 04 00 05 82 00 00 06 a1 43752e78 40"
              "07 82 01 19012c");
}

static void refused(int error)
{
    size_t length;
    CHECK_EQ(weir__tree_encode(&entry, bytes, &length), error);
}

TEST(what_no_entry_may_be)
{
    static const char *const names[] = {"", ".", "..", "a/b", "/"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        new_entry(names[i], WEIR__TREE_FILE);
        refused(-WEIR_E_INVALID);
    }
    new_entry("ab", WEIR__TREE_FILE);
    entry.name = (struct weir__tree_bytes){(const unsigned char *)"a\0b", 3};
    refused(-WEIR_E_INVALID);
    entry.name = (struct weir__tree_bytes){values, 256};
    memset(values, 'n', sizeof(values));
    refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE), entry.mode = 010000, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE), entry.mtime_ns = 1000000000, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE), entry.target = text("x"), refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE), entry.minor = 1, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FIFO), entry.has_manifest = true, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FIFO), entry.part_count = 1, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE), entry.part_count = 1, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_LINK), entry.target.length = 0, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_DIRECTORY), entry.has_manifest = false, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_DIRECTORY), entry.link_group = 1, refused(-WEIR_E_INVALID);
    new_entry("a", WEIR__TREE_FILE);
    entry.xattr_count = 2;
    entry.xattrs[0].name = text("bb"), entry.xattrs[1].name = text("a");
    refused(-WEIR_E_INVALID);
    entry.xattrs[0].name = text("a");
    refused(-WEIR_E_INVALID);
    entry.xattrs[1].name = text("b");
    refused(0);
    entry.xattrs[0].value = entry.xattrs[1].value = (struct weir__tree_bytes){values, 65536};
    refused(-WEIR_E_TOO_LARGE);
    entry.xattrs[1].value.length++;
    refused(-WEIR_E_INVALID);
}

/* Each byte changed: an error, or an entry that is written so. */
TEST(every_changed_byte_is_seen)
{
    static unsigned char changed[1024], scratch[WEIR__TREE_ENTRY_MAX], back[WEIR__TREE_ENTRY_MAX];
    size_t length, again;
    new_entry("name", WEIR__TREE_FILE);
    entry.xattr_count = 2, entry.link_group = 300, entry.part_count = 1, entry.parts[0].length = 9;
    entry.xattrs[0] = (struct weir__tree_xattr){text("a"), text("value")};
    entry.xattrs[1] = (struct weir__tree_xattr){text("b"), text("")};
    CHECK_EQ(weir__tree_encode(&entry, bytes, &length), 0);
    for (size_t at = 0; at < length; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(changed, bytes, length);
            changed[at] = (unsigned char)byte;
            struct weir__cbor_in in = {.bytes = changed, .length = length};
            if (weir__tree_decode(&in, scratch, &found) != 0)
                continue;
            CHECK_EQ(weir__tree_encode(&found, back, &again), 0);
            CHECK(again == in.at && memcmp(back, changed, again) == 0);
        }
}

static void name_of(size_t i, char name[64])
{
    snprintf(name, 64, "name-%08zu", i);
}

/* Everything that the number i decides. */
static void make(size_t i, char name[64])
{
    static const enum weir__tree_kind kinds[] = {WEIR__TREE_FILE, WEIR__TREE_DIRECTORY,
                                                 WEIR__TREE_LINK, WEIR__TREE_BLOCK,
                                                 WEIR__TREE_SOCKET};
    name_of(i, name);
    new_entry(name, kinds[i % 5]);
    entry.uid = (uint32_t)i;
    entry.mtime_s = (int64_t)i - 100;
    entry.xattr_count = i % 7 == 0;
    entry.xattrs[0] = (struct weir__tree_xattr){text("user.x"), {values, i % 3000}};
    if (entry.kind == WEIR__TREE_BLOCK)
        entry.major = 8, entry.minor = (uint32_t)i;
}

static struct weir__address write_tree(size_t count)
{
    struct weir__address root;
    char name[64];
    memset(values, 'v', sizeof(values));
    weir__tree_writer_init(&writer, &memory_sink);
    for (size_t i = 0; i < count; i++) {
        make(i, name);
        CHECK_EQ(weir__tree_writer_add(&writer, &entry), 0);
    }
    CHECK_EQ(weir__tree_writer_finish(&writer, &root), 0);
    weir__tree_writer_fini(&writer);
    return root;
}

TEST(round_trips)
{
    static const size_t counts[] = {0, 1, 2, 500, 4096, 4097, 30000};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        struct weir__address root = write_tree(counts[k]);
        char name[64];
        size_t a, b;
        static unsigned char theirs[WEIR__TREE_ENTRY_MAX];
        CHECK_EQ(weir__tree_reader_open(&reader, &memory_source, &root), 0);
        CHECK_EQ(weir__tree_reader_count(&reader), counts[k]);
        for (size_t i = 0; i < counts[k]; i++) {
            CHECK_EQ(weir__tree_reader_next(&reader, &found), 1);
            make(i, name);
            CHECK_EQ(weir__tree_encode(&entry, bytes, &a), 0);
            CHECK_EQ(weir__tree_encode(&found, theirs, &b), 0);
            CHECK(a == b && memcmp(bytes, theirs, a) == 0);
        }
        CHECK_EQ(weir__tree_reader_next(&reader, &found), 0);
        CHECK_EQ(weir__tree_reader_next(&reader, &found), 0);
        weir__tree_reader_close(&reader);
    }
    memory_clear();
}

TEST(names_come_in_order)
{
    weir__tree_writer_init(&writer, &memory_sink);
    new_entry("b", WEIR__TREE_FILE);
    CHECK_EQ(weir__tree_writer_add(&writer, &entry), 0);
    CHECK_EQ(weir__tree_writer_add(&writer, &entry), -WEIR_E_INVALID);
    weir__tree_writer_reset(&writer);
    CHECK_EQ(weir__tree_writer_add(&writer, &entry), 0);
    new_entry("a", WEIR__TREE_FILE);
    CHECK_EQ(weir__tree_writer_add(&writer, &entry), -WEIR_E_INVALID);
    weir__tree_writer_fini(&writer);
    memory_clear();
}

/* All names of what these bytes are, or the error. */
static int read_all(const unsigned char *node, size_t length)
{
    struct weir__address address;
    weir__address_of(node, length, &address);
    CHECK_EQ(memory_put(NULL, node, length, &address), 0);
    int result = weir__tree_reader_open(&reader, &memory_source, &address);
    while (result == 0 && (result = weir__tree_reader_next(&reader, &found)) > 0)
        result = 0;
    weir__tree_reader_close(&reader);
    return result;
}

/* The bytes of the root are changed one by one: it is refused, or a tree with these bytes. */
TEST(every_changed_byte_of_a_root_is_seen)
{
    for (size_t count = 2; count <= 30000; count += 29998) {
        struct weir__address root = write_tree(count);
        const struct memory_chunk *chunk = memory_find(&root);
        static unsigned char changed[WEIR__MANIFEST_SIZE_MAX + 1];
        size_t length = chunk->length;
        memcpy(changed, chunk->bytes, length);
        CHECK_EQ(read_all(changed, length), 0);
        CHECK_EQ(read_all(changed, length - 1), -WEIR_E_CORRUPT);
        changed[length] = 0;
        CHECK_EQ(read_all(changed, length + 1), -WEIR_E_CORRUPT);
        /* Above level 0 all but the tag and the version is bound to what is below. */
        for (size_t at = 5; count > 2 && at < (length < 150 ? length : 150); at++) {
            changed[at] ^= 1;
            CHECK(read_all(changed, length) != 0);
            changed[at] ^= 1;
        }
        memory_clear();
    }
}

/* Small entries: it is their number that ends a node. */
TEST(a_node_has_4096_names)
{
    struct weir__address root;
    char name[64];
    for (size_t count = 4096; count <= 4097; count++) {
        weir__tree_writer_init(&writer, &memory_sink);
        for (size_t i = 0; i < count; i++) {
            name_of(i, name);
            new_entry(name, WEIR__TREE_FILE);
            CHECK_EQ(weir__tree_writer_add(&writer, &entry), 0);
        }
        CHECK_EQ(weir__tree_writer_finish(&writer, &root), 0);
        weir__tree_writer_fini(&writer);
        CHECK_EQ(memory.puts, count == 4096 ? 1 : 3);
        memory_clear();
    }
}

/* Two nodes of one name each, in both orders; and in the right one, said to be of two each. */
TEST(two_nodes_that_do_not_fit)
{
    struct weir__address child[2];
    unsigned char node[400];
    for (int round = 0; round < 3; round++) {
        int order = round == 1;
        uint64_t names = round == 2 ? 2 : 1;
        weir__tree_writer_init(&writer, &memory_sink);
        for (int i = 0; i < 2; i++) {
            new_entry(i == order ? "a" : "b", WEIR__TREE_FILE);
            CHECK_EQ(weir__tree_writer_add(&writer, &entry), 0);
            CHECK_EQ(weir__tree_writer_finish(&writer, &child[i]), 0);
        }
        weir__tree_writer_fini(&writer);
        struct weir__cbor_out out = {.bytes = node, .size = sizeof(node)};
        weir__cbor_put(&out, WEIR__CBOR_TAG, WEIR__MANIFEST_TAG);
        weir__cbor_put(&out, WEIR__CBOR_ARRAY, 5);
        weir__cbor_put(&out, WEIR__CBOR_UINT, 1);
        weir__cbor_put(&out, WEIR__CBOR_UINT, 1);
        weir__cbor_put(&out, WEIR__CBOR_UINT, 1);
        weir__cbor_put(&out, WEIR__CBOR_UINT, 2 * names);
        weir__cbor_put(&out, WEIR__CBOR_ARRAY, 2);
        for (int i = 0; i < 2; i++) {
            weir__cbor_put(&out, WEIR__CBOR_ARRAY, 3);
            weir__cbor_put_bytes(&out, i == order ? "a" : "b", 1);
            weir__cbor_put(&out, WEIR__CBOR_UINT, names);
            weir__cbor_put_bytes(&out, child[i].bytes, 32);
        }
        CHECK_EQ(read_all(node, out.at), round == 0 ? 0 : -WEIR_E_CORRUPT);
    }
    memory_clear();
}

TEST(files_and_strangers_are_told)
{
    static const unsigned char file[] = {0xda, 'W', 'e', 'i', 'r', 0x85, 1, 0, 0, 0, 0x80};
    CHECK_EQ(read_all(file, sizeof(file)), -WEIR_E_UNSUPPORTED);
    CHECK_EQ(read_all((const unsigned char *)"hello", 5), -WEIR_E_INVALID);
    memory_clear();
}

TEST(errors_of_sink_and_source_come_back)
{
    struct weir__address root = write_tree(30000), again;
    char name[64];
    int result = 0;
    memory.fail_at = 1;
    CHECK_EQ(weir__tree_reader_open(&reader, &memory_source, &root), 0);
    CHECK_EQ(weir__tree_reader_next(&reader, &found), -WEIR_E_TRANSIENT);
    CHECK_EQ(weir__tree_reader_next(&reader, &found), -WEIR_E_TRANSIENT);
    weir__tree_reader_close(&reader);
    weir__tree_writer_init(&writer, &memory_sink);
    memory.fail_at = 0;
    for (size_t i = 0; result == 0 && i < 30000; i++) {
        make(i, name);
        result = weir__tree_writer_add(&writer, &entry);
    }
    CHECK_EQ(result, -WEIR_E_TRANSIENT);
    CHECK_EQ(weir__tree_writer_finish(&writer, &again), -WEIR_E_TRANSIENT);
    weir__tree_writer_fini(&writer);
    memory_clear();
}

TAP_MAIN()
