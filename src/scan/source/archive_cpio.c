/* archive_cpio.c - the sums of a cpio archive that has them, which libarchive does not look at.
 *
 * Looks at the bytes on their way to libarchive, so it costs no reading. A member's sum is that of
 * all its bytes; what was jumped over is not judged. Forms without sums, and what makes no sense,
 * are left to libarchive. Behind the end mark are zeros, which are no header.
 */
#include <stdlib.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define HEAD_BYTES WEIR__ARCHIVE_CPIO_HEAD
#define NUMBER     8u /* digits */
#define SIZE_AT    54u
#define NAME_AT    94u
#define SUM_AT     102u

void weir__archive_cpio_start(struct weir__archive_cpio *cpio)
{
    *cpio = (struct weir__archive_cpio){.part = WEIR__ARCHIVE_CPIO_IN_HEAD};
}

static uint32_t number_at(const struct weir__archive_cpio *cpio, size_t at)
{
    char digits[NUMBER + 1] = {0};
    memcpy(digits, cpio->head + at, NUMBER);
    return (uint32_t)strtoul(digits, NULL, 16);
}

static uint64_t padding(uint64_t length)
{
    return -length & 3;
}

static void read_head(struct weir__archive_cpio *cpio)
{
    uint32_t name = number_at(cpio, NAME_AT), size = number_at(cpio, SIZE_AT);
    cpio->head_length = 0;
    if (memcmp(cpio->head, "070702", 6) != 0) {
        cpio->part = WEIR__ARCHIVE_CPIO_OVER;
        return;
    }
    cpio->part = WEIR__ARCHIVE_CPIO_IN_NAME;
    cpio->left = name + padding(HEAD_BYTES + (uint64_t)name);
    cpio->size = size;
    cpio->wanted = number_at(cpio, SUM_AT);
}

/* So many bytes of a part are done, of which all were seen or not. */
static void advance(struct weir__archive_cpio *cpio, uint64_t length)
{
    cpio->left -= length;
    while (cpio->left == 0 && cpio->part != WEIR__ARCHIVE_CPIO_IN_HEAD) {
        if (cpio->part == WEIR__ARCHIVE_CPIO_IN_NAME) {
            cpio->part = WEIR__ARCHIVE_CPIO_IN_DATA;
            cpio->left = cpio->size;
            cpio->sum = 0;
            cpio->is_jumped = false;
        } else if (cpio->part == WEIR__ARCHIVE_CPIO_IN_DATA) {
            if (cpio->size > 0 && !cpio->is_jumped && cpio->sum != cpio->wanted)
                cpio->wrong++;
            cpio->part = WEIR__ARCHIVE_CPIO_IN_PADDING;
            cpio->left = padding(cpio->size);
        } else {
            cpio->part = WEIR__ARCHIVE_CPIO_IN_HEAD;
        }
    }
}

static uint32_t sum_of(const char *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += (unsigned char)bytes[i];
    return sum;
}

void weir__archive_cpio_see(struct weir__archive_cpio *cpio, const char *bytes, size_t length)
{
    while (length > 0 && cpio->part != WEIR__ARCHIVE_CPIO_OVER) {
        size_t taken;
        if (cpio->part == WEIR__ARCHIVE_CPIO_IN_HEAD) {
            size_t room = HEAD_BYTES - cpio->head_length;
            taken = length < room ? length : room;
            memcpy(cpio->head + cpio->head_length, bytes, taken);
            cpio->head_length += taken;
            if (cpio->head_length == HEAD_BYTES)
                read_head(cpio);
        } else {
            taken = length < cpio->left ? length : (size_t)cpio->left;
            if (cpio->part == WEIR__ARCHIVE_CPIO_IN_DATA)
                cpio->sum += sum_of(bytes, taken);
            advance(cpio, taken);
        }
        bytes += taken;
        length -= taken;
    }
}

void weir__archive_cpio_jump(struct weir__archive_cpio *cpio, uint64_t length)
{
    while (length > 0 && cpio->part != WEIR__ARCHIVE_CPIO_OVER) {
        if (cpio->part == WEIR__ARCHIVE_CPIO_IN_HEAD) { /* nobody jumps there who knows the way */
            cpio->part = WEIR__ARCHIVE_CPIO_OVER;
            return;
        }
        uint64_t taken = length < cpio->left ? length : cpio->left;
        cpio->is_jumped = true;
        advance(cpio, taken);
        length -= taken;
    }
}
