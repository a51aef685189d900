/* keyring.h - the keys that capabilities are made with, in a folder with one file for each.
 *
 *     DIR/20261117T150652Z-9f3c21     64 hexadecimal digits and a line end
 *
 * The name is the key's id, and begins with the moment when it was made. The newest mints; all of
 * them verify. So a rotation is: add a key, wait until what the old one made has expired, remove
 * its file. At no moment does a capability fail that should not.
 *
 * Promises
 * - A ring that was loaded does not change: any number of threads may use it. Who wants to see new
 *   keys loads another one and puts it in its place.
 * - A folder or a file that others than its owner could write or read is refused (Denied), and so
 *   is anything in the folder that is no key (Corrupt), but for names that begin with a dot. Links
 *   are not followed, neither that of a key nor that of the folder. Each with a sentence that says
 *   what to do.
 * - Keys belong to who uses them, or to root. Root may also use those of another user whose is the
 *   folder above theirs as well, as that of a service that runs as that user; what root makes there
 *   gets that owner, so that the service can read it.
 * - A key that was added is on the disk when the call returns, whole or not at all.
 * - Keys are wiped from memory before it is given back.
 *
 * Limits: WEIR__KEYS_MAX keys; one more cannot be added, and a folder with more is TooLarge.
 *
 * Ownership: a ring is freed by weir__keyring_free(); ids belong to it.
 */
#ifndef WEIR_HTTP_KEYRING_H
#define WEIR_HTTP_KEYRING_H

#include <weir/defs.h>

#define WEIR__KEYS_MAX    64u
#define WEIR__KEY_SIZE    32u
#define WEIR__KEY_ID_SIZE 24u /* with NUL */
#define WEIR__KEY_WHY     640u

struct weir__keyring;

/* 0, and a ring with one key or more; NotFound: there is no folder or no key; Invalid: it is no
 * folder, or a link to one; else as above, or what the system said. On failure why is one sentence,
 * which names the file. */
WEIR_MUST_USE int weir__keyring_load(struct weir__keyring **ret_ring, const char *folder,
                                     char why[WEIR__KEY_WHY]);

/* A ring of one key that is in no file. Its id must be well formed, else Invalid. */
WEIR_MUST_USE int weir__keyring_new(struct weir__keyring **ret_ring, const char *id,
                                    const unsigned char key[WEIR__KEY_SIZE]);

void weir__keyring_free(struct weir__keyring *ring);

/* Makes a new key in the folder, which is made if it is not there; its id is behind those of all
 * others, even where the clock was moved back. */
WEIR_MUST_USE int weir__keyring_add(const char *folder, char ret_id[WEIR__KEY_ID_SIZE],
                                    char why[WEIR__KEY_WHY]);

size_t weir__keyring_count(const struct weir__keyring *ring);
/* In the order in which they were made; the last one mints. */
const char *weir__keyring_id(const struct weir__keyring *ring, size_t which);
/* The key of that id, or NULL. */
const unsigned char *weir__keyring_find(const struct weir__keyring *ring, const char *id);

/* Whether a text could be the id of a key. */
bool weir__key_id_is_one(const char *text, size_t length);

#endif
