/* archive_probe.c - which archive begins with these bytes.
 *
 * Stricter than the magic numbers alone where those are short: what is taken for an archive and is
 * none costs a "broken" in the report. What is asked beyond the magic is what every writer of the
 * format keeps to (a checksum, reserved bits, a version). An archive behind other
 * bytes (a program that unpacks itself) is none here: archive_hidden.c looks for it.
 */
#include <string.h>

#include "archive.h"
#include "archive_format.h"

#include "banned.h"

#define TAR_BLOCK     512u
#define TAR_SUM_AT    148u
#define TAR_MARK_AT   257u
#define TAR_SUM_BYTES 8u
#define ISO_AT        32769u

struct look {
    const unsigned char *bytes;
    size_t length;
};

static bool has(struct look look, size_t at, const char *magic, size_t magic_length)
{
    return look.length >= at + magic_length && memcmp(look.bytes + at, magic, magic_length) == 0;
}

static uint32_t le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

#define HAS(at, magic) has(look, at, magic, sizeof(magic) - 1)

static bool is_zip(struct look look)
{
    size_t at = HAS(0, "PK\7\10PK\3\4") || HAS(0, "PK00PK\3\4") ? 4 : 0;
    if (HAS(0, "PK\5\6"))
        return look.length >= 22;
    /* The version that is needed to unpack it is 10 times that of the specification, below 7. */
    return HAS(at, "PK\3\4") && look.length >= at + 30 && look.bytes[at + 4] < 100;
}

static bool is_gzip(struct look look)
{
    return HAS(0, "\x1f\x8b\x08") && look.length >= 10 && (look.bytes[3] & 0xe0) == 0;
}

/* One whose mark is damaged in one byte is still one, and told. */
static bool is_nearly(struct look look, size_t at, const char *magic, size_t length)
{
    size_t same = 0;
    for (size_t i = 0; i < length && at + i < look.length; i++)
        same += look.bytes[at + i] == (unsigned char)magic[i];
    return same + 1 >= length;
}

static bool is_bzip2(struct look look)
{
    return HAS(0, "BZh") && look.length >= 10 && look.bytes[3] >= '1' && look.bytes[3] <= '9' &&
           (is_nearly(look, 4, "\x31\x41\x59\x26\x53\x59", 6) ||
            is_nearly(look, 4, "\x17\x72\x45\x38\x50\x90", 6));
}

static bool is_xz(struct look look)
{
    return HAS(0, "\xfd"
                  "7zXZ\0");
}

/* No magic at all: the properties that every writer uses, a size of the dictionary that is a power
 * of two or one and a half, and a length that is unknown or below a terabyte. */
static bool is_lzma(struct look look)
{
    if (look.length < 14 || look.bytes[0] != 0x5d || look.bytes[13] != 0)
        return false;
    uint32_t dictionary = le32(look.bytes + 1);
    uint32_t low = dictionary & -dictionary;
    if (dictionary < 4096 || (dictionary != low && dictionary != low * 3))
        return false;
    return HAS(5, "\xff\xff\xff\xff\xff\xff\xff\xff") || HAS(10, "\0\0\0");
}

static bool is_lzip(struct look look)
{
    return HAS(0, "LZIP") && look.length >= 6 && look.bytes[4] <= 1;
}

static bool is_compress(struct look look)
{
    if (!HAS(0, "\x1f\x9d") || look.length < 4 || (look.bytes[2] & 0x60))
        return false;
    unsigned bits = look.bytes[2] & 0x1f;
    return bits >= 9 && bits <= 16;
}

static bool begins_skipped(struct look look)
{
    return look.length >= 8 && (look.bytes[0] & 0xf0) == 0x50 && HAS(1, "\x2a\x4d\x18");
}

/* Either may begin with frames that are to be skipped, more of them than there are bytes to look
 * at: nothing is left then. */
static struct look behind_skipped(struct look look)
{
    while (begins_skipped(look)) {
        uint64_t frame = UINT64_C(8) + le32(look.bytes + 4);
        size_t passed = frame < look.length ? (size_t)frame : look.length;
        look.bytes += passed;
        look.length -= passed;
    }
    return look;
}

bool weir__archive_begins_skipped(const char *bytes, size_t length)
{
    return begins_skipped((struct look){(const unsigned char *)bytes, length});
}

static bool is_lz4(struct look look)
{
    look = behind_skipped(look);
    return HAS(0, "\x04\x22\x4d\x18") || HAS(0, "\x02\x21\x4c\x18");
}

/* What shows nothing but frames to be skipped, whatever is behind them, may be lz4 as well: who
 * reads it finds out. */
static bool is_zstd(struct look look)
{
    bool is_open = begins_skipped(look) && !is_lz4(look);
    look = behind_skipped(look);
    return HAS(0, "\x28\xb5\x2f\xfd") || is_open;
}

static bool is_lzop(struct look look)
{
    return HAS(0, "\x89LZO\0\r\n\x1a\n");
}

static bool is_lrzip(struct look look)
{
    return HAS(0, "LRZI\0");
}

/* Of version 4, the only one that is made any more. */
static bool is_squashfs(struct look look)
{
    return HAS(0, "hsqs") && HAS(28, "\x04\0\0\0");
}

/* One that says that it is packed: plain bytes show all of any other. */
static bool is_wim(struct look look)
{
    return HAS(0, "MSWIM\0\0\0") && look.length > 16 && (look.bytes[16] & 0x02);
}

static bool is_7z(struct look look)
{
    return HAS(0, "7z\xbc\xaf\x27\x1c");
}

static bool is_rar(struct look look)
{
    return HAS(0, "Rar!\x1a\x07\0");
}

static bool is_rar5(struct look look)
{
    return HAS(0, "Rar!\x1a\x07\1\0");
}

static bool is_ar(struct look look)
{
    return HAS(0, "!<arch>\n");
}

static bool is_rpm(struct look look)
{
    return HAS(0, "\xed\xab\xee\xdb") && look.length >= 8 && look.bytes[4] >= 3 &&
           look.bytes[4] <= 4;
}

static bool is_cab(struct look look)
{
    return HAS(0, "MSCF\0\0\0\0");
}

static bool is_xar(struct look look)
{
    return HAS(0, "xar!\0");
}

static bool is_iso(struct look look)
{
    return HAS(ISO_AT, "CD001");
}

static bool is_lha(struct look look)
{
    return look.length >= 22 && look.bytes[2] == '-' && look.bytes[3] == 'l' &&
           (look.bytes[4] == 'h' || look.bytes[4] == 'z') && look.bytes[6] == '-' &&
           look.bytes[20] <= 3;
}

/* All of them, but for one that is damaged. */
static bool are_hex(const unsigned char *bytes, size_t length)
{
    size_t others = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = bytes[i];
        others += !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    }
    return others <= 1;
}

static bool is_cpio(struct look look)
{
    if (HAS(0, "070707") && look.length >= 76)
        return are_hex(look.bytes + 6, 70);
    if ((HAS(0, "070701") || HAS(0, "070702")) && look.length >= 110)
        return are_hex(look.bytes + 6, 104);
    /* The old binary form, in either order of bytes: a name of a credible length, and the type of
     * a file in the mode. */
    if (look.length < 26)
        return false;
    bool is_little = HAS(0, "\xc7\x71");
    if (!is_little && !HAS(0, "\x71\xc7"))
        return false;
    unsigned low = is_little ? 0 : 1;
    unsigned mode = (unsigned)look.bytes[6 + low] | (unsigned)look.bytes[7 - low] << 8;
    unsigned name = (unsigned)look.bytes[20 + low] | (unsigned)look.bytes[21 - low] << 8;
    return (mode & 0170000) != 0 && name > 1 && name <= 1024;
}

static bool has_tar_sum(struct look look)
{
    if (look.length < TAR_BLOCK)
        return false;
    unsigned wanted = 0, sum = TAR_SUM_BYTES * ' ', sum_signed = sum;
    bool has_digit = false;
    for (size_t i = TAR_SUM_AT; i < TAR_SUM_AT + TAR_SUM_BYTES; i++) {
        unsigned char c = look.bytes[i];
        if (c >= '0' && c <= '7') {
            wanted = wanted * 8 + (c - '0');
            has_digit = true;
        } else if (c != ' ' && c != '\0') {
            return false;
        } else if (has_digit) {
            break;
        }
    }
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        if (i - TAR_SUM_AT < TAR_SUM_BYTES)
            continue;
        sum += look.bytes[i];
        sum_signed += (unsigned)(signed char)look.bytes[i];
    }
    /* A name may be missing where there is a mark. */
    bool has_name = look.bytes[0] != '\0' || HAS(TAR_MARK_AT, "ustar");
    return has_digit && has_name && (wanted == sum || wanted == sum_signed);
}

bool weir__archive_has_tar_sum(const char *bytes, size_t length)
{
    return has_tar_sum((struct look){(const unsigned char *)bytes, length});
}

/* By its checksum, which the oldest tar had already; one whose first header is damaged, by the mark
 * that newer ones have in it. */
static bool is_tar(struct look look)
{
    return has_tar_sum(look) || (look.length >= TAR_BLOCK && look.bytes[0] != '\0' &&
                                 (HAS(TAR_MARK_AT, "ustar\0"
                                                   "00") ||
                                  HAS(TAR_MARK_AT, "ustar  \0")));
}

#define ROW(constant, name, way)                                                                   \
    {                                                                                              \
        {#name, WEIR__ARCHIVE_##constant, WEIR__ARCHIVE_##way}, is_##name                          \
    }

/* Long magics first; those that are only probable, last. */
static const struct {
    struct weir__archive_format format;
    bool (*is_it)(struct look look);
} formats[] = {
    ROW(ZIP, zip, EITHER),
    ROW(GZIP, gzip, PACKED),
    ROW(XZ, xz, PACKED),
    ROW(ZSTD, zstd, PACKED),
    ROW(BZIP2, bzip2, PACKED),
    ROW(LZ4, lz4, PACKED),
    ROW(7Z, 7z, SEEK),
    ROW(RAR, rar, EITHER),
    ROW(RAR5, rar5, EITHER),
    ROW(AR, ar, STREAM),
    ROW(RPM, rpm, PACKED),
    ROW(CAB, cab, EITHER),
    ROW(XAR, xar, SEEK),
    ROW(LZIP, lzip, PACKED),
    ROW(LZOP, lzop, OPAQUE),
    ROW(SQUASHFS, squashfs, OPAQUE),
    ROW(WIM, wim, OPAQUE),
    ROW(LRZIP, lrzip, OPAQUE),
    ROW(CPIO, cpio, STREAM),
    ROW(TAR, tar, STREAM),
    ROW(ISO, iso, SEEK),
    ROW(LHA, lha, EITHER),
    ROW(COMPRESS, compress, PACKED),
    ROW(LZMA, lzma, PACKED),
};

const struct weir__archive_format *weir__archive_format_of(const char *bytes, size_t length)
{
    struct look look = {(const unsigned char *)bytes, length};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].is_it(look))
            return &formats[i].format;
    return NULL;
}

const char *weir__archive_probe(const char *bytes, size_t length)
{
    const struct weir__archive_format *format = weir__archive_format_of(bytes, length);
    return format ? format->name : NULL;
}

/* --- how much is remembered --- */

/* The number of seven bits in each byte at *at, which is moved behind it. */
static uint64_t take_number(struct look look, size_t *at)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < look.length && shift < 63; shift += 7) {
        unsigned char byte = look.bytes[(*at)++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
    *at = look.length;
    return 0;
}

#define XZ_BLOCK_AT     12u
#define XZ_HAS_PACKED   0x40u
#define XZ_HAS_UNPACKED 0x80u
#define XZ_LZMA2        0x21u

/* Of the first block, which all others are like as a rule. */
static uint64_t window_of_xz(struct look look)
{
    size_t at = XZ_BLOCK_AT + 2;
    if (look.length <= at)
        return 0;
    unsigned flags = look.bytes[XZ_BLOCK_AT + 1];
    if (flags & XZ_HAS_PACKED)
        take_number(look, &at);
    if (flags & XZ_HAS_UNPACKED)
        take_number(look, &at);
    for (unsigned i = 0; i <= (flags & 3); i++) {
        uint64_t filter = take_number(look, &at), size = take_number(look, &at);
        if (filter == XZ_LZMA2 && size == 1 && at < look.length && look.bytes[at] <= 40)
            return look.bytes[at] == 40
                       ? UINT32_MAX
                       : (UINT64_C(2) | (look.bytes[at] & 1)) << (look.bytes[at] / 2 + 11);
        if (size > look.length - at)
            return 0;
        at += (size_t)size;
    }
    return 0;
}

static uint64_t window_of_zstd(struct look look)
{
    static const unsigned id_bytes[] = {0, 1, 2, 4}, size_bytes[] = {1, 2, 4, 8};
    uint64_t size = 0;
    look = behind_skipped(look);
    if (look.length < 18)
        return 0;
    unsigned head = look.bytes[4];
    if (!(head & 0x20)) {
        uint64_t base = UINT64_C(1) << (10 + (look.bytes[5] >> 3));
        return base + base / 8 * (look.bytes[5] & 7);
    }
    /* All of it is one window, and its size follows. */
    const unsigned char *bytes = look.bytes + 5 + id_bytes[head & 3];
    for (unsigned i = 0; i < size_bytes[head >> 6]; i++)
        size |= (uint64_t)bytes[i] << (8 * i);
    return size;
}

static uint64_t window_of_lzip(struct look look)
{
    unsigned code = look.length > 5 ? look.bytes[5] : 0;
    uint64_t base = UINT64_C(1) << (code & 0x1f);
    return base - base / 16 * (code >> 5);
}

/* What a decoder and its process need besides. */
#define NEED_BESIDES (UINT64_C(8) << 20)

uint64_t weir__archive_format_need(const struct weir__archive_format *format, const char *bytes,
                                   size_t length)
{
    struct look look = {(const unsigned char *)bytes, length};
    uint64_t window = 0;
    if (format->id == WEIR__ARCHIVE_XZ)
        window = window_of_xz(look);
    else if (format->id == WEIR__ARCHIVE_ZSTD)
        window = window_of_zstd(look);
    else if (format->id == WEIR__ARCHIVE_LZIP)
        window = window_of_lzip(look);
    else if (format->id == WEIR__ARCHIVE_LZMA && length >= 5)
        window = le32(look.bytes + 1);
    return window > 0 && window <= (UINT64_C(1) << 40) ? window + NEED_BESIDES : 0;
}
