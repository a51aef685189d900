/* cid.h - addresses as the IPFS writes them, for who asks by /routing/v1/.
 *
 *     b3:...  =  CIDv1, codec raw (0x55), multihash blake3 (0x1e) of 32 bytes, in base32:
 * 'bafkr4...'
 *
 * The hash says which bytes are meant, the codec only how they would be read: a CID of another
 * codec with the same hash is the same address. One of another hash is a CID all the same, of which
 * nobody here can know anything.
 *
 * Promises: nothing allocates or waits; there is one text that is printed for each address. Read
 * are base32 and base16 in either case, base36, base58, base64 and base64url without padding, and
 * CIDs of version 0. Numbers in a CID are in their shortest form, and nothing stands behind the
 * hash.
 *
 * Ownership: texts are written to the caller's memory.
 */
#ifndef WEIR_INDEX_CID_H
#define WEIR_INDEX_CID_H

#include "address.h"
#include "name.h"

#define WEIR__CID_MAX  256u /* bytes of a text that is looked at */
#define WEIR__CID_TEXT 60u  /* of an address, with NUL */
/* The id of a peer in the words of libp2p, "12D3KooW...": its key as a multihash in base58, which
 * is the one form that all clients read; with NUL. */
#define WEIR__PEER_TEXT      54u
#define WEIR__MULTIADDR_TEXT 1024u

/* 0; NotFound: it is one, of a hash that no address has; Invalid: it is none. */
WEIR_MUST_USE int weir__cid_parse(const char *text, size_t length,
                                  struct weir__address *ret_address);
void weir__cid_print(const struct weir__address *address, char text[WEIR__CID_TEXT]);

void weir__peer_print(const unsigned char public_key[WEIR__PUBLIC_KEY_SIZE],
                      char text[WEIR__PEER_TEXT]);

/* The URL of a provider in the words of libp2p, "/dns/store.example/tcp/443/tls/http". Invalid: it
 * is no URL of a provider. */
WEIR_MUST_USE int weir__multiaddr_print(const char *url, char text[WEIR__MULTIADDR_TEXT]);

#endif
