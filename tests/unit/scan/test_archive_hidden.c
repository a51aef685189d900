/* test_archive_hidden.c - archives behind other bytes: what is known by beginnings, by ends, and by
 * the headers of programs; and what only looks like one.
 */
#include <stdio.h>
#include <string.h>

#include "archive_hidden.h"
#include "tap.h"

#define ROOM (3u << 20)

static unsigned char bytes[ROOM];
static uint64_t reads;
static uint64_t size;

static size_t read_some(void *arg, uint64_t at, char *to, size_t length)
{
    (void)arg;
    reads++;
    size_t part = length < 1000 ? length : 1000; /* a short read is none of the end */
    if (at >= size)
        return 0;
    part = size - at < part ? (size_t)(size - at) : part;
    memcpy(to, bytes + at, part);
    return part;
}

/* With so many bytes at hand, and the others to be read. */
static const char *hidden(size_t head, uint64_t *ret_at)
{
    const struct weir__archive_source source = {.head = (const char *)bytes,
                                                .head_length = head < size ? head : (size_t)size,
                                                .size = size,
                                                .read = read_some};
    *ret_at = UINT64_MAX;
    const struct weir__archive_format *format = weir__archive_hidden(&source, ret_at);
    return format ? format->name : "none";
}

static void put(uint64_t at, size_t length, uint64_t value, bool is_big)
{
    for (size_t i = 0; i < length; i++)
        bytes[at + (is_big ? length - 1 - i : i)] = (unsigned char)(value >> (8 * i));
}

static void fill(uint64_t from, uint64_t until, char with)
{
    memset(bytes + from, with, (size_t)(until - from));
    size = until;
}

/* One entry of a zip, stored; returns where it ends. */
static uint64_t put_entry(uint64_t at)
{
    static const char entry[] = "PK\3\4\12\0\0\0\0\0\0\0\x21\x59ssss\5\0\0\0\5\0\0\0\1\0\0\0nhello";
    memcpy(bytes + at, entry, sizeof(entry) - 1);
    return at + sizeof(entry) - 1;
}

/* The directory of one entry, and the end; with a comment of so many bytes. */
static uint64_t put_directory(uint64_t at, uint64_t entry_at, size_t comment)
{
    fill(at, at + 47 + 22 + comment, '\0');
    memcpy(bytes + at, "PK\1\2", 4);
    put(at + 28, 2, 1, false);
    put(at + 42, 4, entry_at, false);
    bytes[at + 46] = 'n';
    memcpy(bytes + at + 47, "PK\5\6", 4);
    put(at + 47 + 8, 2, 1, false);
    put(at + 47 + 10, 2, 1, false);
    put(at + 47 + 12, 4, 47, false);
    put(at + 47 + 16, 4, at, false);
    put(at + 47 + 20, 2, comment, false);
    memset(bytes + at + 69, 'c', comment);
    return at + 69 + comment;
}

/* A program of that class and order, with a part of so many bytes and a table of sections. */
static void put_elf(bool is_wide, bool is_big, uint64_t part_end, uint64_t sections)
{
    size_t word = is_wide ? 8 : 4;
    fill(0, part_end > sections + 128 ? part_end : sections + 128, '\1');
    memset(bytes, 0, 256);
    memcpy(bytes,
           "\x7f"
           "ELF",
           4);
    bytes[4] = is_wide ? 2 : 1;
    bytes[5] = is_big ? 2 : 1;
    put(is_wide ? 32 : 28, word, 64, is_big); /* the table of parts */
    put(is_wide ? 40 : 32, word, sections, is_big);
    uint64_t counts = is_wide ? 54 : 42;
    put(counts, 2, is_wide ? 56 : 32, is_big);
    put(counts + 2, 2, 1, is_big);
    put(counts + 4, 2, 64, is_big);
    put(counts + 6, 2, sections ? 2 : 0, is_big);
    put(64 + (is_wide ? 8 : 4), word, 100, is_big);
    put(64 + (is_wide ? 32 : 16), word, part_end - 100, is_big);
}

TEST(where_a_program_ends)
{
    for (int i = 0; i < 4; i++) {
        put_elf(i & 1, i & 2, 70000, 80000);
        CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 80128);
        put_elf(i & 1, i & 2, 90000, 80000);
        CHECK_EQ(weir__archive_program_end((const char *)bytes, 4096), 90000);
        put_elf(i & 1, i & 2, 90000, 0);
        CHECK_EQ(weir__archive_program_end((const char *)bytes, 256), 90000);
        CHECK_EQ(weir__archive_program_end((const char *)bytes, 63), 0);
        /* The table of parts is not at hand. */
        put(i & 1 ? 32 : 28, i & 1 ? 8 : 4, 5000, i & 2);
        CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 0);
    }
    /* Numbers that go beyond all. */
    put_elf(true, false, 70000, 80000);
    put(40, 8, UINT64_MAX - 1, false);
    CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), UINT64_MAX);
    fill(0, 4096, '\0');
    memcpy(bytes, "MZ", 2);
    put(60, 4, 200, false);
    CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 0);
    memcpy(bytes + 200, "PE\0\0", 4);
    put(206, 2, 2, false);
    put(220, 2, 100, false);
    put(324 + 16, 4, 1000, false);
    put(324 + 20, 4, 6000, false);
    put(364 + 16, 4, 500, false);
    put(364 + 20, 4, 5000, false);
    CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 7000);
    put(206, 2, 1000, false); /* sections that are not at hand */
    CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 0);
    put(60, 4, 4090, false);
    CHECK_EQ(weir__archive_program_end((const char *)bytes, ROOM), 0);
}

TEST(what_begins_where_a_program_ends)
{
    uint64_t at;
    for (size_t head = 4096; head <= ROOM; head *= 8) {
        put_elf(true, false, 70000, 2000000);
        CHECK_STR(hidden(head, &at), "none");
        uint64_t end = size, until = put_entry(end);
        fill(until, until + 100, 'x'); /* cut off */
        CHECK_STR(hidden(head, &at), "zip");
        CHECK_EQ(at, end);
        fill(end, end + 500, '\0');
        put_entry(end + 300); /* behind padding */
        CHECK_STR(hidden(head, &at), "zip");
        CHECK_EQ(at, end + 300);
        fill(end, end + 500, 'x');
        put_entry(end + 300); /* behind something else */
        CHECK_STR(hidden(head, &at), "none");
        fill(end, end + 500, 'x');
        memcpy(bytes + end, "Rar!\x1a\x07\1\0", 8);
        CHECK_STR(hidden(head, &at), "rar5");
        memcpy(bytes + end, "\x1f\x8b\x08\0", 4);
        CHECK_STR(hidden(head, &at), "gzip");
        memcpy(bytes + end, "\x1f\x9d\x90xxxx", 7); /* which chance makes elsewhere */
        CHECK_STR(hidden(head, &at), "compress");
    }
}

TEST(ends_of_zips)
{
    static const size_t comments[] = {0, 1, 100, 65535};
    uint64_t at;
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++)
        for (size_t front = 2000; front < 1500000; front = front * 9 + 1) {
            fill(0, front, 'x');
            uint64_t end = put_directory(put_entry(front), front, comments[i]);
            size_t tail = end < WEIR__ARCHIVE_TAIL_MAX ? (size_t)end : WEIR__ARCHIVE_TAIL_MAX;
            CHECK_STR(hidden(4096, &at), "zip");
            CHECK_EQ(at, 0);
            CHECK(weir__archive_hidden_ends((const char *)bytes + end - tail, tail));
            CHECK(!weir__archive_hidden_ends((const char *)bytes + end - tail, tail - 1));
            size--; /* its comment, or itself, is cut off */
            CHECK_STR(hidden(4096, &at), "none");
        }
    /* An end in the comment of another one, and marks that are none. */
    fill(0, 500, 'x');
    uint64_t end = put_directory(put_entry(500), 500, 200);
    memcpy(bytes + end - 100, "PK\5\6aaaabbbbccccdddd\0\0", 22);
    CHECK_STR(hidden(ROOM, &at), "zip");
    fill(0, 5000, '\6');
    CHECK_STR(hidden(ROOM, &at), "none");
    CHECK(!weir__archive_hidden_ends((const char *)bytes, 5000));
    /* Ends upon ends are looked at up to a limit. */
    for (size_t i = 0; i + 22 <= 5000; i += 22)
        memcpy(bytes + i, "PK\5\6xxxxyyyyzzzzwwww\0\0", 22);
    CHECK_STR(hidden(ROOM, &at), "none");
    /* An end whose directory is not there, or has nothing in it. */
    fill(0, 2000, 'x');
    end = put_directory(put_entry(2000), 2000, 0);
    CHECK(weir__archive_hidden_ends((const char *)bytes, (size_t)end));
    bytes[end - 69] = 'Q';
    CHECK(!weir__archive_hidden_ends((const char *)bytes, (size_t)end));
    CHECK_STR(hidden(ROOM, &at), "none");
    put(end - 10, 4, 0, false);
    CHECK(!weir__archive_hidden_ends((const char *)bytes, (size_t)end));
    CHECK(!weir__archive_hidden_ends((const char *)bytes, 21));
    CHECK(!weir__archive_hidden_ends("", 0));
}

/* What is behind text is known by its end alone, and text is not read twice for it. */
TEST(text_costs_its_end)
{
    uint64_t at;
    fill(0, ROOM, 'x');
    put_entry(5000);
    reads = 0;
    CHECK_STR(hidden(4096, &at), "none");
    CHECK(reads <= WEIR__ARCHIVE_TAIL_MAX / 1000 + 1);
    reads = 0;
    size = 4096;
    CHECK_STR(hidden(4096, &at), "none");
    CHECK_EQ(reads, 0);
}

static const struct {
    const char *why;
    size_t at;
    unsigned char byte;
} bad_entries[] = {
    {"a version that is none", 4, 120},
    {"a version below the first", 4, 1},
    {"flags that nobody has", 7, 0x80},
    {"a method that is none", 8, 77},
    {"a month that is none", 12, 0xe1},
    {"two sizes of what is stored", 18, 6},
    {"no name", 26, 0},
    {"a name with a control", 30, 3},
};

TEST(beginnings_in_what_is_no_text)
{
    uint64_t at;
    /* Wherever it is in the first MiB, whatever is at hand. */
    for (size_t place = 2000; place < (1u << 20) - 64; place += 31013) {
        fill(0, ROOM, '\0');
        put_entry(place);
        CHECK_STR(hidden(place % 2 ? 4096 : 300000, &at), "zip");
        CHECK_EQ(at, place);
    }
    for (size_t i = 0; i < sizeof(bad_entries) / sizeof(bad_entries[0]); i++) {
        fill(0, 100000, '\0');
        put_entry(70000);
        CHECK_STR(hidden(4096, &at), "zip");
        bytes[70000 + bad_entries[i].at] = bad_entries[i].byte;
        printf("# %s\n", bad_entries[i].why);
        CHECK_STR(hidden(4096, &at), "none");
    }
    /* The sum over the header of a 7z is that of zlib. */
    static const char seven[] =
        "7z\xbc\xaf\x27\x1c\0\4\x8d\x9b\xd5\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0";
    fill(0, 100000, '\0');
    memcpy(bytes + 70000, seven, 32);
    CHECK_STR(hidden(4096, &at), "7z");
    CHECK_EQ(at, 70000);
    bytes[70008]++;
    CHECK_STR(hidden(4096, &at), "none");
}

/* The first headers of archives with nothing in them. */
TEST(beginnings_of_rar)
{
    static const struct {
        const char *name, *head;
        size_t length;
    } heads[] = {
        {"rar", "Rar!\x1a\x07\0\xcf\x90\x73\0\0\x0d\0\0\0\0\0\0\0", 20},
        {"rar5", "Rar!\x1a\x07\1\0\xf8\x11\x03\x3f\x0a\1\5\6\0\5\1\1\0\0\0", 23},
    };
    uint64_t at;
    for (size_t i = 0; i < 2; i++)
        for (size_t place = 30000; place < 900000; place += 211111) {
            fill(0, 1000000, '\0');
            memcpy(bytes + place, heads[i].head, heads[i].length);
            CHECK_STR(hidden(4096, &at), heads[i].name);
            CHECK_EQ(at, place);
            bytes[place + heads[i].length - 3] ^= 1; /* it only knows the mark */
            CHECK_STR(hidden(4096, &at), "none");
        }
}

TEST(beginnings_behind_a_script)
{
    uint64_t at;
    for (size_t place = 2000; place < (1u << 20) - 64; place += 31013) {
        fill(0, ROOM, 'x');
        memcpy(bytes, "#!/bin/sh\n", 10);
        memcpy(bytes + place, "\x1f\x8b\x08\0", 4);
        CHECK_STR(hidden(4096, &at), "none"); /* not at the beginning of a line */
        bytes[place - 1] = '\n';
        CHECK_STR(hidden(4096, &at), "gzip");
        CHECK_EQ(at, place);
    }
}

/* Anywhere, but in a form that chance does not make. */
TEST(beginnings_in_a_picture)
{
    static const char gzip[] = "\x1f\x8b\x08\0\0\0\0\0\2\3";
    uint64_t at;
    for (size_t place = 2000; place < (2u << 20); place += 91013) {
        fill(0, (2u << 20) + 64, 'x');
        memcpy(bytes, "\x89PNG", 4);
        memcpy(bytes + place, gzip, sizeof(gzip) - 1);
        CHECK_STR(hidden(4096, &at), "gzip");
        CHECK_EQ(at, place);
        CHECK(weir__archive_hidden_between((const char *)bytes, (size_t)size));
        bytes[place + 8] = 3; /* that no writer has there */
        CHECK_STR(hidden(4096, &at), "none");
        CHECK(!weir__archive_hidden_between((const char *)bytes, (size_t)size));
    }
    fill(0, 200000, '\0');
    memcpy(bytes, "\xff\xd8\xff", 3);
    memcpy(bytes + 50000 + 32768, "\1CD001\1", 7);
    CHECK_STR(hidden(4096, &at), "iso");
    CHECK_EQ(at, 50000);
    memcpy(bytes, "xxx", 3); /* nor in anything else */
    CHECK_STR(hidden(4096, &at), "none");
}

/* The same where bytes come in pieces: what is before the last ones is at hand. */
TEST(beginnings_in_pieces)
{
    for (size_t piece = 100; piece < 70000; piece = piece * 3 + 7) {
        size_t found_at = 0;
        fill(0, 200000, '\0');
        put_entry(65530);
        for (size_t end = piece; end < size && !found_at; end += piece) {
            size_t overlap = WEIR__ARCHIVE_SEARCH_OVERLAP;
            size_t from = end - piece < overlap ? 0 : end - piece - overlap;
            if (weir__archive_hidden_begins(WEIR__ARCHIVE_BINARY, (const char *)bytes + from,
                                            end - from))
                found_at = end;
        }
        CHECK(found_at >= 65530 + 31 && found_at < 65530 + 36 + piece);
    }
    CHECK(!weir__archive_hidden_begins(WEIR__ARCHIVE_TEXT, (const char *)bytes, 200000));
    CHECK(!weir__archive_hidden_begins(WEIR__ARCHIVE_PROGRAM, (const char *)bytes, 200000));
}

TEST(fronts)
{
    CHECK_EQ(weir__archive_front("", 0), WEIR__ARCHIVE_TEXT);
    CHECK_EQ(weir__archive_front("MZ", 2), WEIR__ARCHIVE_TEXT);
    CHECK_EQ(weir__archive_front("MZ\x90", 4), WEIR__ARCHIVE_BINARY);
    CHECK_EQ(weir__archive_front("#!/b", 4), WEIR__ARCHIVE_SCRIPT);
    CHECK_EQ(weir__archive_front("text", 5), WEIR__ARCHIVE_BINARY);
    CHECK_EQ(weir__archive_front("text", 4), WEIR__ARCHIVE_TEXT);
    CHECK_EQ(weir__archive_front("%PDF-1.7", 8), WEIR__ARCHIVE_MEDIA);
    CHECK_EQ(weir__archive_front("\0\0\0 ftyp", 8), WEIR__ARCHIVE_MEDIA);
    CHECK_EQ(weir__archive_front("%PDF", 4), WEIR__ARCHIVE_TEXT);
    put_elf(true, false, 70000, 80000);
    CHECK_EQ(weir__archive_front((const char *)bytes, 4096), WEIR__ARCHIVE_PROGRAM);
    CHECK(weir__archive_is_run((const char *)bytes, 4096));
    CHECK(weir__archive_is_run("#!/b", 4) && weir__archive_is_run("MZxx", 4));
    CHECK(!weir__archive_is_run("#!/", 3) && !weir__archive_is_run("text", 4));
    uint64_t at;
    size = 21;
    CHECK_STR(hidden(21, &at), "none");
}

TAP_MAIN()
