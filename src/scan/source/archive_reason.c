/* archive_reason.c - why something could not be unpacked, in one line for people.
 *
 * libarchive speaks to programmers, and of the same thing in many ways. What it says is sorted by
 * words that are in it; its own text follows in brackets, since it may have a number that helps.
 *
 * Memory is a matter of its own: a child that has too little of it ends before it has said anything
 * about the member, and its parent may start one that has more.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive_lib.h"

#include "archive_read.h"

#include "banned.h"

#define MIB             (UINT64_C(1) << 20)
#define NEED_BESIDES    (8 * MIB) /* what a decoder and its process need beside a window */
#define ZIP_LZMA_AT     4u        /* behind a version and a length: the properties, the window */
#define ZIP_LZMA_BYTES  9u
#define LZMA_PROPERTIES 225u

struct words {
    const char *part; /* of what libarchive says, in small letters */
    const char *words;
};

#define NO_DECODER "not supported: it is packed in a way that has no decoder"

/* The first that fits counts. */
static const struct words table[] = {
    {"internal error", "broken: its decoder cannot go on"},
    {"too much memory",
     "broken: its window is larger than the 128 MiB that its decoder can remember"},
    {"crc", "broken: its checksum is wrong"},
    {"checksum", "broken: its checksum is wrong"},
    {"digest", "broken: its checksum is wrong"},
    {"truncat", "broken: it is cut off"},
    {"premature", "broken: it is cut off"},
    {"end of file", "broken: it is cut off"},
    {"unexpected eof", "broken: it is cut off"},
    {"passphrase", "broken: it is encrypted"},
    {"crypt", "broken: it is encrypted"},
    {"unsupported", NO_DECODER},
    {"unknown codec", NO_DECODER},
    {"unexpected codec", NO_DECODER}, /* a filter before the packing */
    {"not supported", NO_DECODER},
    {"no support", NO_DECODER},
    {"support unavailable", NO_DECODER},
    {"multivolume", "not supported: the rest of it is in another file"},
    {"unrecognized", "broken: nothing in it can be read"},
    {"translate", "broken: a name in it is in characters that are not known"},
    {"convert", "broken: a name in it is in characters that are not known"},
    {"", "broken: it is damaged"},
};

/* What was said on this side already reads well. */
static bool is_ours(const char *text)
{
    static const char *const beginnings[] = {"it is ", "its ", "the file ", "a place ",
                                             "there is "};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

void weir__archive_reason_words(const char *text, char reason[WEIR__ARCHIVE_REASON_MAX + 1])
{
    const size_t size = WEIR__ARCHIVE_REASON_MAX + 1;
    const struct words *row = table;
    if (!text || !*text) {
        snprintf(reason, size, "broken: it is damaged");
        return;
    }
    if (is_ours(text)) {
        snprintf(reason, size, "broken: %.200s", text);
        return;
    }
    while (!strcasestr(text, row->part))
        row++;
    if (row == table)
        snprintf(reason, size, "%s", row->words);
    else
        snprintf(reason, size, "%s (%.160s)", row->words, text);
}

/* Of an entry of a zip that is packed with LZMA, at whose data the reader stands: what it needs by
 * its properties, 0 when these make no sense, UINT64_MAX when they are not at hand. */
static uint64_t need_of_zip(struct weir__archive_level *level)
{
    struct weir__archive_input *input = &level->input;
    const char *bytes = NULL;
    uint64_t at = level->start + weir__archive_level_packed(level), window = 0;
    size_t length = 0;
    if (!input->member) {
        length = weir__archive_look(input, at, &bytes);
    } else if (at >= input->given_at && at - input->given_at < input->given_length) {
        bytes = input->given + (at - input->given_at);
        length = input->given_length - (size_t)(at - input->given_at);
    }
    if (length < ZIP_LZMA_BYTES)
        return UINT64_MAX;
    if ((unsigned char)bytes[ZIP_LZMA_AT] >= LZMA_PROPERTIES)
        return 0;
    for (unsigned i = 0; i < 4; i++)
        window |= (uint64_t)(unsigned char)bytes[ZIP_LZMA_AT + 1 + i] << (8 * i);
    return window + NEED_BESIDES;
}

/* libarchive has one sentence for whatever keeps a decoder of LZMA in a zip from beginning. */
static bool is_zip_memory(struct weir__archive_level *level, const char *text)
{
    return level->format->id == WEIR__ARCHIVE_ZIP && text &&
           strcasestr(text, "lzma stream initialization error") && need_of_zip(level) > 0;
}

/* What the archive says that it needs, by its first bytes; else 0. */
static uint64_t need_of(struct weir__archive_level *level)
{
    const struct weir__archive_member *member = level->input.member;
    const char *bytes = NULL;
    size_t length;
    if (member) {
        bytes = weir__buffer_text(&member->held);
        length = weir__buffer_length(&member->held);
    } else {
        length = weir__archive_look(&level->input, level->start, &bytes);
    }
    return length > 0 ? weir__archive_format_need(level->format, bytes, length) : 0;
}

static void say_memory(struct weir__archive_level *level, char reason[WEIR__ARCHIVE_REASON_MAX + 1])
{
    const struct weir__archive_options *options = &level->trip->command->options;
    const size_t size = WEIR__ARCHIVE_REASON_MAX + 1;
    bool is_zip = level->archive && is_zip_memory(level, archive_error_string(level->archive));
    uint64_t need = is_zip ? need_of_zip(level) : need_of(level), have = options->memory_max;
    bool is_known = need > have && need < UINT64_MAX;
    if (!is_known)
        need = 2 * have;
    int used = snprintf(reason, size, "its decoder needs %s%" PRIu64 " MiB of memory",
                        is_known ? "" : "more than the ", (is_known ? need : have) / MIB);
    if (is_known)
        used += snprintf(reason + used, size - (size_t)used, " and may have %" PRIu64, have / MIB);
    if (options->memory_ring > 0) {
        snprintf(reason + used, size - (size_t)used, ": %s --scan-ring=%" PRIu64 "M",
                 is_known ? "set" : "try", (options->memory_ring + need) / MIB + 1);
        return;
    }
    /* Of a limit, an eighth goes to what is found. */
    uint64_t limit = options->memory_besides + need / 7 * 8;
    if (options->memory_half > 0 && limit > options->memory_half)
        limit += limit - options->memory_half;
    if (options->memory_besides > 0)
        used += snprintf(reason + used, size - (size_t)used, ": %s --max-memory=%" PRIu64 "M",
                         is_known ? "set" : "try", limit / MIB + 1);
    if (options->memory_besides > 0 && options->memory_threads > 1)
        snprintf(reason + used, size - (size_t)used, " for %u threads, or less with --threads=1",
                 options->memory_threads);
}

bool weir__archive_reason_memory(struct weir__archive_level *level, const char *text,
                                 char reason[WEIR__ARCHIVE_REASON_MAX + 1])
{
    const struct weir__archive_trip *trip = level->trip;
    bool is_memory = !level->archive || archive_errno(level->archive) == ENOMEM ||
                     (text && strcasestr(text, "not enough memory")) || is_zip_memory(level, text);
    if (!is_memory)
        return false;
    if (trip->command->may_grow && !trip->is_muted && !trip->giver->has_begun)
        _exit(WEIR__ARCHIVE_EXIT_MEMORY);
    say_memory(level, reason);
    return true;
}
