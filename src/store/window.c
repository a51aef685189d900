/* window.c - a file in large pieces, and page by page where that fails. */
#include "window.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "disk.h"
#include "sys.h"

#include "banned.h"

/* Each failure makes one at most, and the last of them another one: all that is not tried. */
#define HOLES_MAX (WEIR__WINDOW_FAILURES + 1)

int weir__window_open(struct weir__window *ret_window, int fd, uint64_t size_max)
{
    struct stat st;
    if (weir__sys_fstat(fd, &st) < 0)
        return weir_error_from_errno(errno);
    struct weir__window window = {._fd = fd, .file_size = (uint64_t)st.st_size};
    if (window.file_size > size_max)
        window.file_size = size_max;
    window._bytes = weir__base_alloc(1, WEIR__WINDOW_SIZE);
    if (!window._bytes)
        return -WEIR_E_NO_MEMORY;
    *ret_window = window;
    return 0;
}

void weir__window_close(struct weir__window *window)
{
    weir__base_free(window->_bytes);
    weir__base_free(window->holes);
    window->_bytes = NULL;
    window->holes = NULL;
    window->holes_count = 0;
}

/* --- holes --- */

/* The first one that ends behind that place. */
static size_t hole_after(const struct weir__window *window, uint64_t at)
{
    size_t low = 0, high = window->holes_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (window->holes[middle].to <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t weir__window_lost(const struct weir__window *window, uint64_t from, uint64_t to)
{
    uint64_t lost = 0;
    for (size_t i = hole_after(window, from); i < window->holes_count && window->holes[i].from < to;
         i++) {
        const struct weir__hole *hole = &window->holes[i];
        lost += (hole->to < to ? hole->to : to) - (hole->from > from ? hole->from : from);
    }
    return lost;
}

uint64_t weir__window_behind(const struct weir__window *window, uint64_t from, uint64_t to)
{
    uint64_t behind = from;
    for (size_t i = hole_after(window, from); i < window->holes_count && window->holes[i].from < to;
         i++)
        behind = window->holes[i].to;
    return behind;
}

static int note_hole(struct weir__window *window, uint64_t from, uint64_t to)
{
    if (!window->holes) {
        window->holes = weir__base_alloc(HOLES_MAX, sizeof(*window->holes));
        if (!window->holes)
            return -WEIR_E_NO_MEMORY;
    }
    struct weir__hole *holes = window->holes;
    size_t at = hole_after(window, from);
    /* What it touches becomes one with it. */
    if (at > 0 && holes[at - 1].to == from)
        from = holes[--at].from;
    size_t behind = at;
    while (behind < window->holes_count && holes[behind].from <= to) {
        if (holes[behind].to > to)
            to = holes[behind].to;
        behind++;
    }
    memmove(holes + at + 1, holes + behind, (window->holes_count - behind) * sizeof(*holes));
    holes[at] = (struct weir__hole){from, to};
    window->holes_count = window->holes_count - (behind - at) + 1;
    return 0;
}

/* --- reading --- */

static int read_page(struct weir__window *window, unsigned char *to, size_t count, uint64_t at)
{
    bool is_hole = weir__window_lost(window, at, at + count) > 0;
    int error = is_hole ? -WEIR_E_IO : weir__disk_pread(window->_fd, to, count, at);
    if (error != -WEIR_E_IO)
        return error;
    memset(to, 0, count);
    if (is_hole)
        return 0;
    window->_failures++;
    /* All of the page, since it is never asked for again; and all of the rest, when it is enough.
     */
    uint64_t from = at - at % WEIR__WINDOW_PAGE, behind = from + WEIR__WINDOW_PAGE;
    if (behind > window->file_size || window->_failures >= WEIR__WINDOW_FAILURES)
        behind = window->file_size;
    return note_hole(window, from, behind);
}

/* Pages are those of the file, wherever the piece begins. */
static int read_pages(struct weir__window *window, size_t count, uint64_t at)
{
    size_t done = 0;
    int error = 0;
    while (!error && done < count) {
        size_t some = WEIR__WINDOW_PAGE - (size_t)((at + done) % WEIR__WINDOW_PAGE);
        if (some > count - done)
            some = count - done;
        error = read_page(window, window->_bytes + done, some, at + done);
        done += some;
    }
    return error;
}

int weir__window_look(struct weir__window *window, uint64_t at, size_t length,
                      const unsigned char **ret_bytes)
{
    if (at > window->file_size || length > window->file_size - at || length > WEIR__WINDOW_SIZE)
        return -WEIR_E_RANGE;
    if (at < window->_at || at + length > window->_at + window->_length) {
        uint64_t rest = window->file_size - at;
        size_t count = rest < WEIR__WINDOW_SIZE ? (size_t)rest : WEIR__WINDOW_SIZE;
        window->_length = 0;
        int error = weir__window_lost(window, at, at + count) > 0
                        ? -WEIR_E_IO
                        : weir__disk_pread(window->_fd, window->_bytes, count, at);
        if (error == -WEIR_E_IO)
            error = read_pages(window, count, at);
        if (error)
            return error;
        window->_at = at;
        window->_length = count;
    }
    *ret_bytes = window->_bytes + (at - window->_at);
    return 0;
}
