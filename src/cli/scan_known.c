/* scan_known.c - ignore files line by line, and baselines as they come. */
#include "scan_known.h"

#include <errno.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "cover.h"
#include "log.h"
#include "report/known.h"
#include "report/masks.h"
#include "sys.h"

#include "banned.h"

#define IGNORE_BYTES   (UINT64_C(64) << 20)
#define BASELINE_BYTES (UINT64_C(1) << 30)
#define BAD_LINES_MAX  8u /* that are told of one ignore file */

/* --- ignore files --- */

/* The text behind so many lines. */
static const char *behind_lines(const char *text, size_t length, unsigned lines)
{
    const char *end = text + length;
    for (; lines > 0 && text < end; lines--) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        text = line_end ? line_end + 1 : end;
    }
    return text;
}

static const char *why_unknown(int result)
{
    _Static_assert(WEIR__KNOWN_MAX == 1048576 && WEIR__MASKS_MAX == 65536 &&
                       WEIR__MASKS_BYTES >> 20 == 16,
                   "as it says");
    return result == -WEIR_E_TOO_LARGE ? "all files together may name 1,048,576 findings, and "
                                         "65,536 or 16 MiB of them with "
                                         "asterisks in the path: take out what is mended, or keep "
                                         "what is known in an allow "
                                         "list of --config"
                                       : weir_error_text(result);
}

/* Adds what is good in it. A bad line hides nothing that should be seen: in a file that was found
 * it is told and passed over, in one that the user named it is a mistake to be mended. */
static int take_ignore(struct weir__findings *findings, const char *path,
                       enum weir__scan_source source, const char *text, size_t length)
{
    const char *end = text + length;
    unsigned line = 0, told = 0, bad = 0;
    int result;
    bool is_error = source == WEIR__SCAN_GIVEN;
    int (*ignore)(struct weir__findings *, const char *, size_t, unsigned *) =
        is_error ? weir__findings_ignore : weir__findings_ignore_found;
    while ((result = ignore(findings, text, (size_t)(end - text), &bad)) == -WEIR_E_INVALID) {
        line += bad;
        if (told++ == BAD_LINES_MAX) {
            weir__log(WEIR__LOG_WARNING, "%s: and more such lines from line %u on", path, line);
            return 0;
        }
        weir__log(is_error ? WEIR__LOG_ERROR : WEIR__LOG_WARNING,
                  "%s:%u: not a fingerprint: it is 32 hexadecimal digits or 'path:rule:line'%s",
                  path, line, is_error ? "" : "; the line was passed over");
        if (is_error)
            return -WEIR_E_USAGE;
        text = behind_lines(text, (size_t)(end - text), bad);
    }
    if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot use '%s': %s", WEIR__TYPED(path), why_unknown(result));
    return result;
}

int weir__scan_read_ignore(struct weir__findings *findings, const char *path,
                           enum weir__scan_source source, uint64_t bytes_max)
{
    char *text;
    size_t length;
    if (bytes_max == 0 || bytes_max > IGNORE_BYTES)
        bytes_max = IGNORE_BYTES;
    int result = weir__scan_read_text(path, (size_t)bytes_max, source, &text, &length);
    if (result < 0)
        return result;
    result = take_ignore(findings, path, source, text, length);
    weir__base_free(text);
    return result;
}

/* --- baselines --- */

struct source {
    int fd;
    uint64_t left;   /* that may come */
    const char *why; /* it could not be read; NULL: it could */
};

static const char too_large[] =
    "it is larger than a baseline may be (1 GiB): take out what is mended";
_Static_assert(BASELINE_BYTES == UINT64_C(1) << 30, "as it says");

static ssize_t read_piece(void *arg, char *bytes, size_t size)
{
    struct source *source = arg;
    ssize_t n = weir__sys_read(source->fd, bytes, size);
    source->why = n < 0 ? weir__log_reason(errno) : (uint64_t)n > source->left ? too_large : NULL;
    if (source->why)
        return -WEIR_E_INCOMPLETE;
    source->left -= (uint64_t)n;
    return n;
}

/* The size of what has one is known before it is read. */
static bool is_too_large(int fd)
{
    struct stat st;
    return weir__sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (uint64_t)st.st_size > BASELINE_BYTES;
}

int weir__scan_read_baseline(struct weir__findings *findings, const char *path)
{
    char reason[160] = "";
    struct source source = {.left = BASELINE_BYTES};
    struct weir__report_in in = {.read = read_piece, .arg = &source};
    source.fd = weir__scan_open_text(path, WEIR__SCAN_GIVEN, &source.why);
    int result = -WEIR_E_INCOMPLETE;
    if (source.fd >= 0 && is_too_large(source.fd))
        source.why = too_large;
    else if (source.fd >= 0)
        result = weir__findings_baseline(findings, &in, reason, sizeof(reason));
    if (source.fd != STDIN_FILENO)
        weir__sys_close(source.fd);
    if (source.why)
        weir__log(WEIR__LOG_ERROR, "cannot read '%s': %s", WEIR__TYPED(path), source.why);
    else if (result < 0)
        weir__log(WEIR__LOG_ERROR, "cannot use the baseline '%s': %s", WEIR__TYPED(path),
                  reason[0] ? reason : why_unknown(result));
    return result == -WEIR_E_INVALID ? -WEIR_E_USAGE : result;
}
