/* archive_begin.c - the beginnings of archives among other bytes, in forms that chance does not
 * make.
 *
 * What is asked beyond a magic is what every writer of the format keeps to: a sum where there is
 * one (7z, rar, tar, the older lha), fields that make sense (an entry of a zip, the first block of
 * a zstd), reserved bits and versions.
 */
#include <libdeflate.h>
#include <string.h>

#include "archive_begin.h"

#include "banned.h"

#define ZIP_ENTRY_BYTES 30u
#define ZIP_NAME_MAX    1024u
#define SEVEN_HEAD      32u
#define RAR_HEAD        20u
#define RAR_FIRST_MAX   1024u /* of the first header, with a comment in it */
#define TAR_MAGIC_AT    257u
#define ISO_MAGIC_AT    32768u

static uint64_t little(const unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    while (length-- > 0)
        value = value << 8 | bytes[length];
    return value;
}

bool weir__archive_is_entry(const unsigned char *bytes, size_t length)
{
    static const unsigned char methods[] = {0, 1, 6, 8, 9, 12, 14, 19, 93, 95, 96, 97, 98, 99};
    if (length < ZIP_ENTRY_BYTES)
        return false;
    size_t name = (size_t)little(bytes + 26, 2), extra = (size_t)little(bytes + 28, 2);
    unsigned method = (unsigned)little(bytes + 8, 2), date = (unsigned)little(bytes + 12, 2);
    bool has_later_sizes = bytes[6] & 8;
    if (bytes[4] < 10 || bytes[4] >= 100 || bytes[7] & 0xd0 || method > 99 ||
        !memchr(methods, (int)method, sizeof(methods)) || name == 0 || name > ZIP_NAME_MAX ||
        name > length - ZIP_ENTRY_BYTES)
        return false;
    if (date != 0 && ((date >> 5 & 15) > 12 || (date & 31) > 31))
        return false;
    /* What is stored has one size. */
    if (method == 0 && !has_later_sizes && !(bytes[6] & 1) &&
        little(bytes + 18, 4) != little(bytes + 22, 4))
        return false;
    for (size_t i = 0; i < name; i++)
        if (bytes[ZIP_ENTRY_BYTES + i] < ' ' || bytes[ZIP_ENTRY_BYTES + i] == 0x7f)
            return false;
    return extra < 4 ? extra == 0 || has_later_sizes
                     : ZIP_ENTRY_BYTES + name + 4 > length ||
                           little(bytes + ZIP_ENTRY_BYTES + name + 2, 2) <= extra - 4;
}

static bool is_7z(const unsigned char *bytes, size_t length)
{
    return length >= SEVEN_HEAD &&
           libdeflate_crc32(0, bytes + 12, 20) == (uint32_t)little(bytes + 8, 4);
}

/* By the sum of its first header, whose length is in it. */
static bool is_rar(const unsigned char *bytes, size_t length)
{
    if (length < RAR_HEAD)
        return false;
    if (bytes[6] == 0) {
        size_t size = (size_t)little(bytes + 12, 2);
        return size >= 7 && size <= RAR_FIRST_MAX && size <= length - 7 &&
               (libdeflate_crc32(0, bytes + 9, size - 2) & 0xffff) == little(bytes + 7, 2);
    }
    size_t size = bytes[12]; /* a first header is short: its length is one byte */
    return bytes[6] == 1 && size < 0x80 && size + 1 <= length - 12 &&
           libdeflate_crc32(0, bytes + 12, size + 1) == (uint32_t)little(bytes + 8, 4);
}

static bool is_any(const unsigned char *bytes, size_t length)
{
    return weir__archive_format_of((const char *)bytes, length) != NULL;
}

/* Of formats with a short magic, among any bytes: what no writer of them leaves open is asked for,
 * so that chance makes one in a hundred GB. */

static bool is_strict_gzip(const unsigned char *bytes, size_t length)
{
    return length >= 18 && (bytes[3] & 0xe0) == 0 && (bytes[8] & ~6u) == 0 && bytes[8] != 6 &&
           (bytes[9] <= 13 || bytes[9] == 255);
}

/* The head of its first block makes sense, which stands behind fields of a length that is known. */
static bool is_strict_zstd(const unsigned char *bytes, size_t length)
{
    static const size_t dictionary[] = {0, 1, 2, 4}, size[] = {0, 2, 4, 8};
    if (length < 24 || bytes[4] & 8)
        return false;
    bool is_single = bytes[4] & 0x20;
    size_t size_bytes = bytes[4] >> 6 ? size[bytes[4] >> 6] : is_single;
    size_t at = 5 + (is_single ? 0u : 1u) + dictionary[bytes[4] & 3] + size_bytes;
    uint64_t block = little(bytes + at, 3);
    return (block >> 1 & 3) != 3 && block >> 3 <= (128u << 10);
}

static bool is_strict_lz4(const unsigned char *bytes, size_t length)
{
    return length >= 15 && (bytes[4] & 0xc2) == 0x40 && (bytes[5] & 0x8f) == 0 &&
           bytes[5] >> 4 >= 4;
}

static bool is_strict_tar(const unsigned char *bytes, size_t length)
{
    return weir__archive_has_tar_sum((const char *)bytes, length);
}

static bool is_strict_ar(const unsigned char *bytes, size_t length)
{
    return length >= 68 && memcmp(bytes + 66, "`\n", 2) == 0;
}

static bool is_strict_rpm(const unsigned char *bytes, size_t length)
{
    return is_any(bytes, length) && bytes[5] == 0 && bytes[6] == 0 && bytes[7] <= 1;
}

static bool is_strict_cab(const unsigned char *bytes, size_t length)
{
    return length >= 36 && bytes[24] == 3 && bytes[25] == 1;
}

static bool is_strict_xar(const unsigned char *bytes, size_t length)
{
    return length >= 28 && bytes[4] == 0 && bytes[5] >= 28 && bytes[6] == 0 && bytes[7] == 1;
}

static bool is_strict_lzip(const unsigned char *bytes, size_t length)
{
    return length >= 26 && (bytes[5] & 0x1f) >= 12 && (bytes[5] & 0x1f) <= 29;
}

/* The older levels have a sum of their head. */
static bool is_strict_lha(const unsigned char *bytes, size_t length)
{
    unsigned sum = 0;
    if (!is_any(bytes, length) || !memchr("01234567ds", bytes[5], 10))
        return false;
    if (bytes[20] >= 2)
        return true;
    size_t end = 2 + (size_t)bytes[0];
    for (size_t i = 2; i < end && i < length; i++)
        sum += bytes[i];
    return end >= 22 && end <= length && (sum & 0xff) == bytes[1];
}

static bool is_iso(const unsigned char *bytes, size_t length)
{
    (void)bytes; /* the magic is all that there is */
    return length >= WEIR__ARCHIVE_PROBE_ALL;
}

#define MAGIC(text) text, sizeof(text) - 1
#define ISO_MAGIC   MAGIC("\1CD001\1")

/* At the beginning of a line, where scripts have their data, less is asked for; that is for the
 * first rows. The others are looked for behind the end of another archive, with whatever lies
 * between them, behind scripts and in pictures: all that can be told from other bytes. */
#define LAX_ROWS 4u
static const struct weir__archive_beginning behind_script[] = {
    {MAGIC("\x1f\x8b\x08"), 0, true, is_any, 0},
    {MAGIC("\x28\xb5\x2f\xfd"), 0, true, is_any, 0},
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, true, is_any, 0},
    {MAGIC("PK\3\4"), 0, true, is_any, 0},
    {MAGIC("\x1f\x8b\x08"), 0, false, is_strict_gzip, 0},
    {MAGIC("\xfd"
           "7zXZ\0\0"),
     0, false, is_any, 0},
    {MAGIC("\x28\xb5\x2f\xfd"), 0, false, is_strict_zstd, 0},
    {MAGIC("\x04\x22\x4d\x18"), 0, false, is_strict_lz4, 0},
    {MAGIC("BZh"), 0, false, is_any, 0},
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z, 0},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar, 0},
    {MAGIC("ustar"), TAR_MAGIC_AT, false, is_strict_tar, 0},
    {MAGIC("PK\3\4"), 0, false, weir__archive_is_entry, 0},
    {MAGIC("0707"), 0, false, is_any, 0},
    {MAGIC("!<arch>\n"), 0, false, is_strict_ar, 0},
    {MAGIC("\xed\xab\xee\xdb"), 0, false, is_strict_rpm, 0},
    {MAGIC("MSCF\0\0\0\0"), 0, false, is_strict_cab, 0},
    {MAGIC("xar!"), 0, false, is_strict_xar, 0},
    {MAGIC("LZIP\1"), 0, false, is_strict_lzip, 0},
    {MAGIC("-lh"), 2, false, is_strict_lha, 0},
    {MAGIC("-lz"), 2, false, is_strict_lha, 0},
    {MAGIC("\x89LZO\0\r\n\x1a\n"), 0, false, is_any, 0},
    {ISO_MAGIC, ISO_MAGIC_AT, false, is_iso, 0},
    {NULL, 0, 0, false, NULL, 0},
};
const struct weir__archive_beginning *const weir__archive_begin_any = behind_script + LAX_ROWS;
/* The second is for programs that do not say where they end, and for other binaries. */
static const struct weir__archive_beginning behind_program[] = {
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z, 3},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar, 3},
    {NULL, 0, 0, false, NULL, 0},
};
const struct weir__archive_beginning weir__archive_begin_disk[] = {
    {ISO_MAGIC, ISO_MAGIC_AT, false, is_iso, 1},
    {NULL, 0, 0, false, NULL, 0},
};
static const struct weir__archive_beginning behind_binary[] = {
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, false, is_7z, 3},
    {MAGIC("Rar!\x1a\x07"), 0, false, is_rar, 3},
    {MAGIC("PK\3\4"), 0, false, weir__archive_is_entry, 1},
    {NULL, 0, 0, false, NULL, 0},
};

static bool has_magic(const struct weir__archive_beginning *one, const unsigned char *bytes,
                      size_t length, size_t at)
{
    return length - at >= one->length && at >= one->at &&
           memcmp(bytes + at, one->magic, one->length) == 0 &&
           (!one->begins_line || (at > one->at && bytes[at - one->at - 1] == '\n'));
}

static unsigned pair_of(const unsigned char *bytes)
{
    return bytes[0] | (unsigned)bytes[1] << 8;
}

#define FEW 3u

static bool are_few(const struct weir__archive_beginning *ones)
{
    size_t count = 0;
    while (count <= FEW && ones[count].magic)
        count++;
    return count <= FEW;
}

/* Each by a byte of its magic that is seldom, which is much faster than to look at every byte. */
static const unsigned char *first_of_few(const struct weir__archive_beginning *ones,
                                         const unsigned char *bytes, size_t length)
{
    size_t best = length;
    for (const struct weir__archive_beginning *one = ones; one->magic; one++) {
        size_t ahead = one->at + one->seldom;
        for (size_t at = ahead; at < length && at - ahead < best; at++) {
            const unsigned char *found =
                memchr(bytes + at, (unsigned char)one->magic[one->seldom], length - at);
            if (!found)
                break;
            at = (size_t)(found - bytes);
            size_t start = at - ahead;
            if (start < best && has_magic(one, bytes, length, start + one->at) &&
                one->is_it(bytes + start, length - start))
                best = start;
        }
    }
    return best < length ? bytes + best : NULL;
}

void weir__archive_marks_init(struct weir__archive_marks *ret_marks,
                              const struct weir__archive_beginning *ones)
{
    *ret_marks = (struct weir__archive_marks){.ones = ones};
    for (const struct weir__archive_beginning *one = ones; one->magic; one++) {
        unsigned pair = pair_of((const unsigned char *)one->magic);
        ret_marks->pairs[pair / 64] |= UINT64_C(1) << pair % 64;
        ret_marks->longest = one->length > ret_marks->longest ? one->length : ret_marks->longest;
    }
}

static bool has_pair(const struct weir__archive_marks *marks, const unsigned char *bytes)
{
    unsigned pair = pair_of(bytes);
    return marks->pairs[pair / 64] >> pair % 64 & 1;
}

bool weir__archive_marks_in(const struct weir__archive_marks *marks, const unsigned char *bytes,
                            size_t length)
{
    for (size_t at = 0; at + 1 < length; at++)
        for (const struct weir__archive_beginning *one = marks->ones;
             has_pair(marks, bytes + at) && one->magic; one++)
            if (length - at >= one->length && memcmp(bytes + at, one->magic, one->length) == 0)
                return true;
    return false;
}

/* In one pass, whatever their number is: bytes with which no magic begins are stepped over. */
const unsigned char *weir__archive_begin_first(const struct weir__archive_beginning *ones,
                                               const unsigned char *bytes, size_t length)
{
    if (are_few(ones))
        return first_of_few(ones, bytes, length);
    struct weir__archive_marks marks;
    const unsigned char *best = NULL;
    size_t reach = 0, until = length;
    weir__archive_marks_init(&marks, ones);
    for (const struct weir__archive_beginning *one = ones; one->magic; one++)
        reach = one->at > reach ? one->at : reach;
    for (size_t at = 0; at + 1 < until; at++) {
        if (!has_pair(&marks, bytes + at))
            continue;
        for (const struct weir__archive_beginning *one = ones; one->magic; one++) {
            const unsigned char *start = bytes + at - one->at;
            if (!has_magic(one, bytes, length, at) || (best && start >= best) ||
                !one->is_it(start, length - (size_t)(start - bytes)))
                continue;
            best = start;
            /* One that has its magic further on may have begun before it. */
            size_t last = (size_t)(start - bytes) + reach + 2;
            until = last < until ? last : until;
        }
    }
    return best;
}

const struct weir__archive_beginning *weir__archive_begin_of(enum weir__archive_front front)
{
    switch (front) {
    case WEIR__ARCHIVE_SCRIPT:
        return behind_script;
    case WEIR__ARCHIVE_PROGRAM:
        return behind_program;
    case WEIR__ARCHIVE_BINARY:
        return behind_binary;
    case WEIR__ARCHIVE_MEDIA:
        return weir__archive_begin_any;
    case WEIR__ARCHIVE_TEXT:
        break;
    }
    return NULL;
}
