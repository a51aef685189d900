/* fuzz_lines.c - any bytes as a list of names (--files-from, ignore files), read as a stream.
 *
 * The input is a byte of choices (how lines end, how long they may be) and the file. What must
 * hold: the lines are those that one gets by cutting the bytes at their ends, none is lost, changed
 * or made up; a line that is too long is refused where it stands, and no other is; and the place in
 * the file only grows.
 */
#include "lines.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weir/error.h>

#include "require.h"

#include "banned.h"

#define CHOICE_ENDS      3u /* which of them; the bits above are a length */

#define HOLDS(condition) WEIR__REQUIRE(condition, "fuzz", "lines", #condition)

struct file {
    const char *bytes;
    size_t length, at;
    enum weir__lines_end end;
};

/* The line at the place where we are, cut by hand; false at the end. */
static bool cut_next(struct file *file, size_t *ret_from, size_t *ret_length)
{
    if (file->at >= file->length)
        return false;
    const char *from = file->bytes + file->at;
    size_t left = file->length - file->at;
    const char *stop = memchr(from, file->end == WEIR__LINES_NUL ? '\0' : '\n', left);
    size_t length = stop ? (size_t)(stop - from) : left;
    *ret_from = file->at;
    file->at += length + (stop ? 1 : 0);
    if (file->end == WEIR__LINES_CRLF && length > 0 && from[length - 1] == '\r')
        length--;
    *ret_length = length;
    return true;
}

static void compare(struct file *file, struct weir__lines *lines, size_t max)
{
    const char *line;
    size_t length, from, wanted;
    uint64_t at = 0, last = 0, size = 0;
    int result;
    while ((result = weir__lines_next(lines, &line, &length)) > 0) {
        HOLDS(cut_next(file, &from, &wanted));
        HOLDS(length == wanted && memcmp(line, file->bytes + from, length) == 0);
        HOLDS(length <= max && line[length] == '\0');
        HOLDS(weir__lines_place(lines, &at, &size) && at >= last && size == file->length);
        last = at;
    }
    bool has_more = cut_next(file, &from, &wanted);
    HOLDS(result == 0 || result == -WEIR_E_OVERFLOW);
    HOLDS(has_more == (result < 0));
    /* The CR of an end counts until the LF is there. */
    HOLDS(!has_more || wanted + (file->end == WEIR__LINES_CRLF ? 1 : 0) > max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir__lines lines;
    char path[64];
    if (size < 1 || size > 300000)
        return 0;
    size_t max = (data[0] >> 2) == 63 ? 1u << 20 : 1 + (data[0] >> 2);
    struct file file = {
        .bytes = (const char *)data + 1,
        .length = size - 1,
        .end = (enum weir__lines_end)((data[0] & CHOICE_ENDS) % 3),
    };
    int fd = memfd_create("list", MFD_CLOEXEC);
    HOLDS(fd >= 0 && pwrite(fd, file.bytes, file.length, 0) == (ssize_t)file.length);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    HOLDS(weir__lines_open(&lines, path, file.end, max) == 0);
    compare(&file, &lines, max);
    weir__lines_fini(&lines);
    close(fd);
    return 0;
}
