/* record.h - what the index knows is signed: "this name means that manifest", "I provide that
 * address".
 *
 * A record in bytes is at most WEIR__RECORD_MAX long, so that it fits into a value of the DHT:
 *
 *     magic "wr" | version 1 | kind | public key 32 | sequence 8 | issued 8 | expires 8 |
 *     kind name:     flags 1 | target 32 (zeros for a removal) | length 1 | name
 *     kind provider: address 32 | length 1 | url | length 1 | region
 *     | signature 64
 *
 * Numbers are big-endian, times are seconds since 1970. The signature covers "weir-record-v1" with
 * a NUL and all bytes before it. There is one encoding of each record; what is longer, shorter or
 * different is malformed. A sequence of 0, a time of 0, an expiry that is not behind the issue,
 * and an address of zeros are invalid.
 *
 * Promises
 * - Reading touches nothing beyond length, allocates nothing and waits for nothing; reading a
 *   record that was signed gives back what was signed, and nothing else verifies.
 * - A record does not have to be trusted for who carried it: whether it may be served is decided by
 *   weir__record_judge() from its own bytes, the name's bindings and the time.
 *
 * Ownership: all of these are values.
 */
#ifndef WEIR_INDEX_RECORD_H
#define WEIR_INDEX_RECORD_H

#include "address.h"
#include "key.h"
#include "name.h"

#define WEIR__RECORD_MAX       600u
#define WEIR__PROVIDER_URL_MAX 255u
#define WEIR__REGION_MAX       31u
/* A record lives this long at most, and may be issued this far in the future by a wrong clock. */
#define WEIR__RECORD_LIFE_MAX_S (INT64_C(400) * 24 * 3600)
#define WEIR__RECORD_SKEW_S     INT64_C(300)

enum weir__record_kind { WEIR__RECORD_NAME = 1, WEIR__RECORD_PROVIDER = 2 };

struct weir__record_bytes {
    uint16_t length;
    unsigned char bytes[WEIR__RECORD_MAX];
};

struct weir__record {
    enum weir__record_kind kind;
    unsigned char public_key[WEIR__PUBLIC_KEY_SIZE];
    uint64_t sequence;
    int64_t issued_s, expires_s;
    /* of a name */
    struct weir__name name;
    bool is_removal; /* the name means nothing from here on; it has no target */
    /* of a name: the manifest; of a provider: what it provides */
    struct weir__address address;
    /* of a provider */
    char url[WEIR__PROVIDER_URL_MAX + 1];
    char region[WEIR__REGION_MAX + 1]; /* "" or a-z 0-9 '-' */
};

/* Signs with the key, whose public half is put into the record. Invalid: a field is out of its
 * bounds. Records whose fields are within theirs always fit. */
WEIR_MUST_USE int weir__record_sign(struct weir__record_bytes *ret_bytes,
                                    const struct weir__record *record, const struct weir__key *key);

/* Why a record is not taken. */
enum weir__record_verdict {
    WEIR__RECORD_GOOD,
    WEIR__RECORD_OVERSIZED,
    WEIR__RECORD_MALFORMED,
    WEIR__RECORD_FORGED,   /* the signature is wrong */
    WEIR__RECORD_UNBOUND,  /* the key may not speak for that name */
    WEIR__RECORD_EXPIRED,  /* or issued in the future, or for too long */
    WEIR__RECORD_REPLAYED, /* a later one is known; who knows says so, not this */
    WEIR__RECORD_FOREIGN,  /* it is right, and about something else than was asked for */
    WEIR__RECORD_VERDICTS
};
/* "good", "oversized", ...: labels of a metric. */
const char *weir__record_verdict_name(enum weir__record_verdict verdict);

/* Reads and judges: form, binding, signature, time. On any other verdict than GOOD and EXPIRED
 * ret_record is untouched. */
enum weir__record_verdict weir__record_judge(struct weir__record *ret_record, const void *bytes,
                                             size_t length, const struct weir__bindings *bindings,
                                             int64_t now_s);

/* Which of its three causes EXPIRED has, as a sentence. */
const char *weir__record_time_problem(const struct weir__record *record, int64_t now_s);

/* The form alone, for bytes that were judged before; Invalid. */
WEIR_MUST_USE int weir__record_unpack(struct weir__record *ret_record, const void *bytes,
                                      size_t length);

/* Whether the URL of a provider is one that we would ever connect to: http or https, a host that is
 * a name of the DNS or an address, no user, no fragment, no control characters. NULL, or what is
 * wrong with it. */
const char *weir__provider_url_check(const char *url);

/* Which of two records of one name or provider counts: the higher sequence, then the later
 * expiry, then the greater bytes, so that all nodes choose alike. Below, equal to or above 0. */
int weir__record_compare(const struct weir__record *a, const struct weir__record_bytes *a_bytes,
                         const struct weir__record *b, const struct weir__record_bytes *b_bytes);

/* The most that was seen of a name, in that order. */
struct weir__record_mark {
    uint64_t sequence; /* 0: nothing was seen */
    bool has_record;   /* otherwise nothing but its sequence is known */
    struct weir__record record;
    struct weir__record_bytes bytes;
};
void weir__record_mark_set(struct weir__record_mark *mark, const struct weir__record *record,
                           const struct weir__record_bytes *bytes);
/* Below 0: a record of that name is older than what was seen; above 0: it is newer; 0: it is that
 * one, or of the same sequence, and no more than that is known. */
int weir__record_mark_compare(const struct weir__record *record,
                              const struct weir__record_bytes *bytes,
                              const struct weir__record_mark *mark);

/* As text, for JSON: base64url without padding. The size has room for the longest with NUL. */
#define WEIR__RECORD_TEXT 804u
void weir__record_print(const struct weir__record_bytes *bytes, char text[WEIR__RECORD_TEXT]);
WEIR_MUST_USE int weir__record_parse(const char *text, size_t length,
                                     struct weir__record_bytes *ret_bytes);

#endif
