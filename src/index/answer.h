/* answer.h - what was found out about a question: whole, ranked, ready to be sent, never changed.
 *
 * The body for HTTP is made once: a cached answer is sent as it is, by a loop, without copying. It
 * has the signed records in it, so that who gets it can verify what it says:
 *
 *     {"name", "manifest", "sequence", "expires", "record",       of a name
 *      "address",                                                 of an address
 *      "providers": [{"url", "region", "key", "expires", "latency_ms", "record"}],
 *      "providers_known", "providers_complete", "source", then one of the ends: "stale"}
 *
 * latency_ms is left out when it is not known. Times are seconds since 1970.
 *
 * Promises
 * - At most WEIR__ANSWER_PROVIDERS_MAX providers are in it, the best ones; providers_known says how
 *   many there were. The body is at most WEIR__ANSWER_BODY_MAX bytes, the whole answer less than
 *   1 MiB.
 * - It is fresh and stale no longer than the record of its name lives, or the last of its
 * providers. One provider that goes before that shortens nothing: from then on the answer is told
 * without it (weir__answer_trim), so that no expired record is served.
 *
 * Ownership: counted references (weir_snapshot); all that it points to is its own.
 */
#ifndef WEIR_INDEX_ANSWER_H
#define WEIR_INDEX_ANSWER_H

#include <weir/watch.h>

#include "question.h"

#define WEIR__ANSWER_PROVIDERS_MAX 256u
#define WEIR__ANSWER_BODY_MAX      (512u << 10)
#define WEIR__ANSWER_ETAG          35u /* 32 digits in quotes, with NUL */

struct weir__provider {
    char url[WEIR__PROVIDER_URL_MAX + 1];
    char region[WEIR__REGION_MAX + 1];
    struct weir__key_id key;
    int64_t issued_s, expires_s;
    uint64_t latency_ns; /* measured; 0: not known */
    uint32_t record;     /* which of the records it was made of; carried along by the ranking */
};

struct weir__answer {
    struct weir_snapshot snapshot; /* first */
    struct weir__question_key key;
    struct weir__question question;
    int result;    /* 0, or -WEIR_E_NOT_FOUND: known not to be there, and there is no body */
    bool has_name; /* name_record is one, a removal if the result is NotFound */
    struct weir__record name_record;
    struct weir__record_bytes name_bytes;
    struct weir__address manifest;
    struct weir__question_key providers_key; /* of a name: of who provides what it means */
    struct weir__provider *providers;        /* best first */
    size_t providers_count;
    size_t providers_known;  /* at least providers_count */
    bool providers_complete; /* false: not every source that might know more could be asked */
    struct weir__record_bytes *provider_bytes; /* in the same order: siblings want them signed */
    uint64_t asked_ns; /* when the lookup began that found it; monotonic, as those below */
    uint64_t made_ns, fresh_until_ns, stale_until_ns;
    int64_t made_s;          /* made_ns by the wall clock */
    int64_t first_expires_s; /* the first of its providers; INT64_MAX: there are none */
    char source[32];         /* who gave it */
    char *body;              /* JSON up to the last member: behind it goes one of the ends */
    size_t body_length;
    char etag[WEIR__ANSWER_ETAG]; /* of the body while it is fresh */
    size_t bytes;                 /* that it takes in memory, all together */
};

/* What follows body: '"stale":false}' and a line end, or with true. */
extern const char weir__answer_end_fresh[], weir__answer_end_stale[];

/* What an answer is made of. All of it is copied. */
struct weir__answer_parts {
    const struct weir__question *question;
    int result;
    const struct weir__record *name; /* NULL: none; with its bytes */
    const struct weir__record_bytes *name_bytes;
    const struct weir__provider *providers; /* best first */
    size_t providers_count;                 /* the first WEIR__ANSWER_PROVIDERS_MAX are taken */
    size_t providers_known;                 /* how many there were; at least providers_count */
    bool providers_complete;
    const struct weir__record_bytes *const *provider_bytes; /* by their `record` */
    const char *source;
    uint64_t asked_ns, now_ns;
    int64_t now_s; /* the same moment by the wall clock, for what expires */
    uint64_t ttl_ns, stale_ns;
};

/* With one reference, the caller's. NoMemory. */
WEIR_MUST_USE int weir__answer_new(struct weir__answer **ret_answer,
                                   const struct weir__answer_parts *parts);

/* Whether none of its providers has expired. */
static inline bool weir__answer_is_whole(const struct weir__answer *answer, int64_t now_s)
{
    return now_s < answer->first_expires_s;
}
/* Another one, without the providers that have expired, takes the place of one that is not whole,
 * with its times. NotFound: none is left, and it was of nothing else; NoMemory; the reference is
 * given back then and the answer NULL. */
WEIR_MUST_USE int weir__answer_trim(struct weir__answer **answer, int64_t now_s);
/* For how long others may keep it as it is: until it is not fresh, or a provider in it expires. */
uint64_t weir__answer_left_ns(const struct weir__answer *answer, uint64_t now_ns, int64_t now_s);

static inline struct weir__answer *weir__answer_ref(struct weir__answer *answer)
{
    return (struct weir__answer *)weir_snapshot_ref(&answer->snapshot);
}
/* NULL is left alone. */
static inline void weir__answer_unref(struct weir__answer *answer)
{
    if (answer)
        weir_snapshot_unref(&answer->snapshot);
}

#endif
