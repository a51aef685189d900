/* cover.h - hides what looks like a secret by its shape alone, before it is shown.
 *
 * Whoever types a command may put a secret where none belongs: a token for the name of a command, a
 * URL with its password for that of a file. A message that quotes it would keep it in the logs of
 * others. These need no rules and no memory, so that they serve before there is anything else.
 *
 * What is named as a secret is hidden whatever its length: who asks in a URL, with the password,
 * the password of user:password@host and of options, and what stands behind the name of a secret.
 * In which forms that is, and how far it reaches, is in cover_named.c, for all texts alike. A name
 * is one if a word of it, as '_', '-', '.' and capitals part them, ends with pass, pwd, token, key,
 * cred or auth, or has passw, secret, credential or another that says so in it: PGPASSWORD,
 * api_key, authToken, but not author, nor monkey, nor token_count, whose last word is a measure.
 * None, null, false and the like stay.
 *
 * Words as machines make them are hidden by how they look: 16 bytes and more of letters, digits and
 * "_-+=" of which ten are in parts that nobody could have put together of words and numbers, as
 * maxMemory, sha256sum and README_2026 are; and with one, what stands beside it behind a '/' or a
 * '.' and looks like that, however short it is. Words in small letters that could be spoken stay.
 *
 * A hidden byte becomes '*'; lengths do not change. For lines: the time is linear but for those
 * that are full of URLs.
 *
 * Ownership: texts are the caller's.
 */
#ifndef WEIR_BASE_COVER_H
#define WEIR_BASE_COVER_H

#include <weir/defs.h>

#include "text.h"

/* A message: what is named, in what it quotes as in what it says itself. */
void weir__cover_line(char *line);

/* What people wrote about something: a description, a subject. What is named, and words of
 * machines.
 */
void weir__cover_written(char *text);

/* A path of something that is there: what is named, in each part of it. False: nothing is. */
bool weir__cover_path(char *path);

/* A line of a file. */
void weir__cover_source(char *line);

/* Words of machines in any text. */
void weir__cover_words(char *text);

/* The same in an id of words with '-' between them, each for itself. */
void weir__cover_id(char *id);

/* One argument as it was typed: what is named, up to its end, and words of machines. */
void weir__cover_typed(char *text);

/* The first length bytes of what was typed, covered, and then clipped as weir__text_clip() does. */
const char *weir__cover_clip(char *text, size_t size, const char *given, size_t length);

/* An argument, or a part of one, as a message quotes it. Every message does it by this alone. */
#define WEIR__TYPED(given)                                                                         \
    weir__cover_clip((char[WEIR__CLIP_SIZE]){0}, WEIR__CLIP_SIZE, given, SIZE_MAX)

#endif
