/* check.h - what can be known about a secret from the secret alone.
 *
 * A check verifies a checksum or a structure offline (the CRC32 at the end of a GitHub token, the
 * header of a JWT, bech32 of an age key…). It never says that a secret is live, only that the text
 * was not made by accident.
 *
 * Everything here is pure: no memory is allocated, no state, no I/O.
 *
 * Ownership: borrows the text for the call.
 */
#ifndef WEIR_SCAN_ENGINE_CHECK_H
#define WEIR_SCAN_ENGINE_CHECK_H

#include <weir/defs.h>

/* True when the secret has the structure. */
typedef bool weir__check(const char *secret, size_t length);

/* NULL for a name that there is none of. */
weir__check *weir__check_find(const char *name);
/* Whether what fails the check of this name is no secret at all. Of others it may be one: people
 * alter a token before they commit it, and its sum is wrong then. */
bool weir__check_is_gate(const char *name);
/* Whether it verifies a sum or a structure. Others say only what a secret is not: that it was not
 * made up by people is no proof that it is one. */
bool weir__check_is_proof(const char *name);
/* The names, for messages and `weir rules lint`; NULL at the end. */
const char *weir__check_name(size_t index);

/* Shannon entropy in bits for each byte: 0 to 8. */
double weir__entropy(const char *text, size_t length);

/* Whether somebody has hidden it before: there are so many asterisks in it, or nothing but some and
 * what quotation marks become in XML. A report of secrets that are hidden has none in it. */
#define WEIR__HIDDEN_MARK "********"
bool weir__is_hidden(const char *secret, size_t length);

#endif
