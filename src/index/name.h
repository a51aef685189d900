/* name.h - what a name looks like, and which keys may speak for it.
 *
 *     photos/2024@mfrggzdfmztwq2lknnwg23tpobyxe43u     label, '@', id of a key: that key alone
 *     team/site                                        label alone: keys of its prefix, by
 * configuration
 *
 * A label has 1 to 128 bytes: parts of a-z 0-9 '.' '_' '-', each beginning with a letter or digit,
 * joined by '/'. The id of a key is 160 bits of the BLAKE3 of its public half, as 32 digits of
 * base32 in lower case. There is one text for each name, so that texts may be compared.
 *
 * Promises: nothing here allocates or waits. A name that nobody's key is bound to is bound to none:
 * no signature means anything for it.
 *
 * Ownership: names and bindings are values; a table of bindings owns its copies.
 */
#ifndef WEIR_INDEX_NAME_H
#define WEIR_INDEX_NAME_H

#include <weir/defs.h>

#define WEIR__LABEL_MAX       128u
#define WEIR__KEYID_BYTES     20u
#define WEIR__KEYID_DIGITS    32u
#define WEIR__KEYID_TEXT      (WEIR__KEYID_DIGITS + 1) /* with NUL */
#define WEIR__NAME_MAX        (WEIR__LABEL_MAX + 1 + WEIR__KEYID_DIGITS)
#define WEIR__PUBLIC_KEY_SIZE 32u

struct weir__key_id {
    unsigned char bytes[WEIR__KEYID_BYTES];
};

/* The id of a public key. */
void weir__key_id_of(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE],
                     struct weir__key_id *ret_id);
WEIR_MUST_USE int weir__key_id_parse(const char *text, size_t length, struct weir__key_id *ret_id);
void weir__key_id_print(const struct weir__key_id *id, char text[WEIR__KEYID_TEXT]);

struct weir__name {
    char text[WEIR__NAME_MAX + 1]; /* with NUL */
    uint16_t length;
    uint16_t label_length;
    bool has_key; /* of the form label@keyid */
    struct weir__key_id key;
};

/* Invalid: it is none. No NUL is needed. */
WEIR_MUST_USE int weir__name_parse(const char *text, size_t length, struct weir__name *ret_name);
/* Whether a text could be the beginning of a name, for who lists them; "" is. */
bool weir__name_is_prefix(const char *text, size_t length);

/* --- which keys may speak for a label without one --- */

#define WEIR__BINDINGS_MAX     256u
#define WEIR__BINDING_KEYS_MAX 16u

struct weir__bindings;

/* From texts of the configuration, "PREFIX=KEYID[+KEYID...]": a prefix is a label with or without
 * a '/' behind it, and holds for itself and for all below it; the longest one that fits decides.
 * Invalid and why; NoMemory. */
WEIR_MUST_USE int weir__bindings_new(struct weir__bindings **ret_bindings, const char *const *texts,
                                     size_t count, const char **ret_why);
/* Accepts NULL. */
void weir__bindings_free(struct weir__bindings *bindings);
/* One text: NULL, or what is wrong with it, or what it should be. */
const char *weir__binding_check(const char *text);
/* The form alone, for the check of a key of the configuration: NULL, or what it should be. */
const char *weir__binding_form_check(const char *text);

/* Whether that key may speak for the name. bindings may be NULL: only names with a key have one. */
bool weir__name_is_bound(const struct weir__name *name, const struct weir__bindings *bindings,
                         const struct weir__key_id *key);
/* Whether any key may. */
bool weir__name_has_keys(const struct weir__name *name, const struct weir__bindings *bindings);

#endif
