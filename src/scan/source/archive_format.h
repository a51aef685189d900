/* archive_format.h - the formats that are known by their first bytes, and how each can be read.
 *
 * Ownership: formats are static; the bytes stay the caller's.
 */
#ifndef WEIR_SCAN_SOURCE_ARCHIVE_FORMAT_H
#define WEIR_SCAN_SOURCE_ARCHIVE_FORMAT_H

#include "archive.h"

/* As many bytes as the format that shows itself last needs: an ISO image. */
#define WEIR__ARCHIVE_PEEK WEIR__ARCHIVE_PROBE_ALL

enum weir__archive_way {
    WEIR__ARCHIVE_PACKED, /* one compressed stream, of anything */
    WEIR__ARCHIVE_STREAM, /* member behind member */
    WEIR__ARCHIVE_EITHER, /* better where one can seek, possible without */
    WEIR__ARCHIVE_SEEK,   /* only where one can seek */
    WEIR__ARCHIVE_OPAQUE, /* known, but there is no decoder */
};

enum weir__archive_id {
    WEIR__ARCHIVE_7Z,
    WEIR__ARCHIVE_AR,
    WEIR__ARCHIVE_BZIP2,
    WEIR__ARCHIVE_CAB,
    WEIR__ARCHIVE_COMPRESS,
    WEIR__ARCHIVE_CPIO,
    WEIR__ARCHIVE_GZIP,
    WEIR__ARCHIVE_ISO,
    WEIR__ARCHIVE_LHA,
    WEIR__ARCHIVE_LRZIP,
    WEIR__ARCHIVE_LZ4,
    WEIR__ARCHIVE_LZIP,
    WEIR__ARCHIVE_LZMA,
    WEIR__ARCHIVE_LZOP,
    WEIR__ARCHIVE_RAR,
    WEIR__ARCHIVE_RAR5,
    WEIR__ARCHIVE_RPM,
    WEIR__ARCHIVE_SQUASHFS,
    WEIR__ARCHIVE_TAR,
    WEIR__ARCHIVE_WIM,
    WEIR__ARCHIVE_XAR,
    WEIR__ARCHIVE_XZ,
    WEIR__ARCHIVE_ZIP,
    WEIR__ARCHIVE_ZSTD,
};

struct weir__archive_format {
    const char *name;
    enum weir__archive_id id;
    enum weir__archive_way way;
};

/* NULL: none. */
const struct weir__archive_format *weir__archive_format_of(const char *bytes, size_t length);

/* Whether they begin with the header of a member of a tar that is whole. */
bool weir__archive_has_tar_sum(const char *bytes, size_t length);

/* Whether they begin with a frame of zstd or lz4 that readers skip. */
bool weir__archive_begins_skipped(const char *bytes, size_t length);

/* The memory that unpacking what begins with these bytes needs, where they say so; else 0. */
uint64_t weir__archive_format_need(const struct weir__archive_format *format, const char *bytes,
                                   size_t length);

#endif
