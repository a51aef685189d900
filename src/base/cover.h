/* cover.h - hides in a line what looks like a secret by its shape alone, before it is shown.
 *
 * Whoever types a command may put a secret where none belongs: a token for the name of a command, a
 * URL with its password for that of a file. A message that quotes it would keep it in the logs of
 * others. These need no rules and no memory, so that they serve before there is anything else; they
 * hide rather too much than too little.
 *
 * A hidden byte becomes '*'; lengths do not change. For lines: the time is linear but for those
 * that are full of URLs.
 *
 * Ownership: texts are the caller's.
 */
#ifndef WEIR_BASE_COVER_H
#define WEIR_BASE_COVER_H

#include <weir/defs.h>

/* What is named as a secret, of any length: who asks in a URL, with the password, up to the '@';
 * and what follows the name of a secret and '=', which is one with pass, pwd, secret, token, key,
 * cred or auth in it. In quotes it reaches up to the closing one, elsewhere up to a space. */
void weir__cover_named(char *text);

/* The same, and words as machines make them: 16 bytes and more of letters, digits and "_-+=", of
 * which four are letters, with a digit or a capital among them. For what is said of a command line
 * that is not understood, where names are short or in small letters. */
void weir__cover_typed(char *text);

#endif
