/* cbor_item.h - the few kinds of CBOR that manifests are made of, in their one allowed form.
 *
 * RFC 8949, 4.2.1: every number and length in its shortest form, every length definite. libcbor
 * reads and writes the items; what it would accept beyond that is refused here, so that bytes that
 * are read are those that writing gives.
 *
 * Errors are kept: after the first, nothing more is read or written, and one look at the end tells.
 * Nothing here allocates.
 *
 * Ownership: both sides borrow the caller's bytes.
 */
#ifndef WEIR_STORE_CBOR_ITEM_H
#define WEIR_STORE_CBOR_ITEM_H

#include <weir/defs.h>

enum weir__cbor_kind {
    WEIR__CBOR_BAD, /* damaged, at its end, or of another kind */
    WEIR__CBOR_UINT,
    WEIR__CBOR_NEGATIVE, /* value n stands for -1 - n */
    WEIR__CBOR_BYTES,
    WEIR__CBOR_ARRAY,
    WEIR__CBOR_MAP,
    WEIR__CBOR_TAG,
};

struct weir__cbor_item {
    enum weir__cbor_kind kind;
    uint64_t value;             /* the number, or the length: bytes, items, pairs */
    const unsigned char *bytes; /* of WEIR__CBOR_BYTES */
};

struct weir__cbor_in {
    const unsigned char *bytes;
    size_t length;
    size_t at;
    bool is_bad;
};

/* The next item. Behind an error it is bad, always. */
struct weir__cbor_item weir__cbor_next(struct weir__cbor_in *in);
/* The same, where only this kind may come: its value, or 0 and an error. */
uint64_t weir__cbor_take(struct weir__cbor_in *in, enum weir__cbor_kind kind);
/* A string of min to max bytes; NULL and an error otherwise. */
const unsigned char *weir__cbor_take_bytes(struct weir__cbor_in *in, size_t min, size_t max,
                                           size_t *ret_length);
/* Everything was read, and nothing was wrong. */
bool weir__cbor_is_done(const struct weir__cbor_in *in);

struct weir__cbor_out {
    unsigned char *bytes;
    size_t size;
    size_t at;
    bool is_full; /* something did not fit and was left out */
};

/* Of any kind but BYTES and BAD. */
void weir__cbor_put(struct weir__cbor_out *out, enum weir__cbor_kind kind, uint64_t value);
void weir__cbor_put_bytes(struct weir__cbor_out *out, const void *bytes, size_t length);

#endif
