/* gear.h - one 64-bit number for each byte, from which the chunker's rolling hash is made.
 *
 * The number of byte b is the first eight bytes, little end first, of the BLAKE3 of the twelve
 * characters "weir gear 1:" followed by b. The table decides where files are cut, and by that
 * whether two machines name the same content alike: it never changes.
 *
 * A run of one byte leads to the hash -weir__gear[b]; for none of the 256 is that a cut, so such
 * runs end at the largest size.
 *
 * Ownership: nothing here owns anything.
 */
#ifndef WEIR_STORE_GEAR_H
#define WEIR_STORE_GEAR_H

#include <weir/defs.h>

extern const uint64_t weir__gear[256];

#endif
