/* text.h - texts that others wrote (arguments, file names), made fit to be shown to people.
 *
 * Promises: what is shown has no control characters, so it cannot drive the terminal, and it says
 * so where it was cut. Nothing here allocates, and no character of UTF-8 is cut in two.
 *
 * Ownership: results are written to the caller's memory; nothing is kept.
 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <string.h>

#include <weir/defs.h>

/* The length of the UTF-8 sequence at p, of which left bytes are there; 0 when it is not one (also
 * overlong ones, surrogates and what lies above U+10FFFF). left is above 0. */
size_t weir__text_utf8_length(const unsigned char *p, size_t left);

#define WEIR__TEXT_PIECE_MAX 5

/* Writes the first character of text as it is shown: controls and bytes that are not UTF-8 become
 * \n, \t and \x1b. Returns how many bytes of text that was, 0 at its end. */
size_t weir__text_escape(char piece[WEIR__TEXT_PIECE_MAX], const char *text);

/* Copies the first length bytes of given, or as many as fit in size with "..." behind them. size is
 * above 3. Returns text. */
static inline const char *weir__text_clip(char *text, size_t size, const char *given, size_t length)
{
    size_t known = strnlen(given, length < size ? length : size);
    if (known < size) {
        memcpy(text, given, known);
        text[known] = '\0';
        return text;
    }
    size_t kept = size - sizeof("...");
    for (int i = 0; i < 3 && kept > 0 && ((unsigned char)given[kept] & 0xc0) == 0x80; i++)
        kept--;
    memcpy(text, given, kept);
    memcpy(text + kept, "...", sizeof("..."));
    return text;
}

/* Which bytes of what follows the "://" of a URL must not be shown, since a user or a password may
 * be there: all before the last '@' of the first length bytes; without one, what stands behind a
 * ':' where a port would be, up to one of ends, if it is no number. For URLs that are not well
 * formed: nobody knows where a password would end. False: there is nothing of that kind. */
bool weir__text_find_user(const char *text, size_t length, const char *ends, size_t *ret_from,
                          size_t *ret_until);
/* The same for one that may be well formed: an '@' behind its host is a part of its path, unless
 * what stands in place of the port is no number, but maybe a password with a '/' in it. */
bool weir__text_find_user_before_path(const char *text, size_t length, size_t *ret_from,
                                      size_t *ret_until);

/* An argument in a message: a line must stay readable whatever is typed. */
#define WEIR__CLIP_SIZE 84

/* The argument clipped, in memory of the block that this stands in. */
#define WEIR__CLIPPED(given)                                                                       \
    weir__text_clip((char[WEIR__CLIP_SIZE]){0}, WEIR__CLIP_SIZE, given, SIZE_MAX)

#endif
