/* archive_cpio.c - what libarchive passes over in a cpio archive: sums, and damaged headers.
 *
 * Where a header should be and is none, libarchive looks for the next one, and says nothing if that
 * is the mark at the end; sums it does not look at. So the bytes are looked at on their way to it,
 * which costs no reading. A member's sum is that of all its bytes; what was jumped over is not
 * judged. The binary form is left to libarchive, which stops at a header that is damaged. Behind
 * the mark at the end may be anything.
 */
#include <stdlib.h>
#include <string.h>

#include "archive_read.h"

#include "banned.h"

#define HEAD_BYTES WEIR__ARCHIVE_CPIO_HEAD
#define MAGIC      6u
#define DIGITS_MAX 11u
#define SUM_AT     102u
#define SUM_DIGITS 8u

static const struct form {
    char magic[MAGIC + 1];
    size_t head;
    size_t name_at, name_digits, size_at, size_digits;
    int base;
    unsigned align;
    bool has_sum;
} forms[] = {
    {"070701", 110, 94, 8, 54, 8, 16, 4, false},
    {"070702", 110, 94, 8, 54, 8, 16, 4, true},
    {"070707", 76, 59, 6, 65, 11, 8, 1, false},
};
static const char last_name[] = "TRAILER!!!";

void weir__archive_cpio_start(struct weir__archive_cpio *cpio)
{
    *cpio = (struct weir__archive_cpio){.part = WEIR__ARCHIVE_CPIO_IN_HEAD};
}

static uint64_t number_at(const struct weir__archive_cpio *cpio, size_t at, size_t count, int base)
{
    char digits[DIGITS_MAX + 1] = {0};
    memcpy(digits, cpio->head + at, count);
    return strtoull(digits, NULL, base);
}

static uint64_t padding(uint64_t length, unsigned align)
{
    return -length & (align - 1);
}

static bool has_digits(const struct weir__archive_cpio *cpio, const struct form *form)
{
    const char *digits = form->base == 16 ? "0123456789abcdefABCDEF" : "01234567";
    for (size_t i = 0; i < form->head; i++)
        if (!cpio->head[i] || !strchr(digits, cpio->head[i]))
            return false;
    return true;
}

static const struct form *form_of(const struct weir__archive_cpio *cpio)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (memcmp(cpio->head, forms[i].magic, MAGIC) == 0)
            return &forms[i];
    return NULL;
}

/* The first bytes of a header are there, or all of it. */
static void read_head(struct weir__archive_cpio *cpio)
{
    const struct form *form = form_of(cpio);
    if (form && cpio->head_length < form->head)
        return;
    if (!form || !has_digits(cpio, form)) {
        /* One that does not begin like this is of another form. */
        cpio->is_lost = form || cpio->has_form;
        cpio->part = WEIR__ARCHIVE_CPIO_OVER;
        return;
    }
    uint64_t name = number_at(cpio, form->name_at, form->name_digits, form->base);
    cpio->head_length = 0;
    cpio->has_form = true;
    cpio->has_sum = form->has_sum;
    cpio->align = form->align;
    cpio->part = WEIR__ARCHIVE_CPIO_IN_NAME;
    cpio->left = name + padding(form->head + name, form->align);
    cpio->size = number_at(cpio, form->size_at, form->size_digits, form->base);
    cpio->wanted = form->has_sum ? (uint32_t)number_at(cpio, SUM_AT, SUM_DIGITS, 16) : 0;
}

/* So many bytes of a part are done, of which all were seen or not. */
static void advance(struct weir__archive_cpio *cpio, uint64_t length)
{
    cpio->left -= length;
    while (cpio->left == 0 && cpio->part > WEIR__ARCHIVE_CPIO_IN_HEAD) {
        if (cpio->part == WEIR__ARCHIVE_CPIO_IN_NAME) {
            bool is_last = cpio->head_length >= sizeof(last_name) &&
                           memcmp(cpio->head, last_name, sizeof(last_name)) == 0;
            cpio->part = is_last ? WEIR__ARCHIVE_CPIO_OVER : WEIR__ARCHIVE_CPIO_IN_DATA;
            cpio->left = cpio->size;
            cpio->head_length = 0;
            cpio->sum = 0;
            cpio->is_jumped = false;
        } else if (cpio->part == WEIR__ARCHIVE_CPIO_IN_DATA) {
            if (cpio->has_sum && cpio->size > 0 && !cpio->is_jumped && cpio->sum != cpio->wanted)
                cpio->wrong++;
            cpio->part = WEIR__ARCHIVE_CPIO_IN_PADDING;
            cpio->left = padding(cpio->size, cpio->align);
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

/* Of a header, or of a name as much as there is room for. */
static size_t take(struct weir__archive_cpio *cpio, const char *bytes, size_t length, size_t most)
{
    size_t room = most - cpio->head_length;
    size_t taken = length < room ? length : room;
    memcpy(cpio->head + cpio->head_length, bytes, taken);
    cpio->head_length += taken;
    return taken;
}

void weir__archive_cpio_see(struct weir__archive_cpio *cpio, const char *bytes, size_t length)
{
    while (length > 0 && cpio->part != WEIR__ARCHIVE_CPIO_OVER) {
        size_t taken;
        if (cpio->part == WEIR__ARCHIVE_CPIO_IN_HEAD) {
            const struct form *form = cpio->head_length < MAGIC ? NULL : form_of(cpio);
            taken = take(cpio, bytes, length, form ? form->head : MAGIC);
            if (cpio->head_length >= MAGIC)
                read_head(cpio);
        } else {
            taken = length < cpio->left ? length : (size_t)cpio->left;
            if (cpio->part == WEIR__ARCHIVE_CPIO_IN_NAME)
                take(cpio, bytes, taken, HEAD_BYTES);
            else if (cpio->part == WEIR__ARCHIVE_CPIO_IN_DATA && cpio->has_sum)
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
