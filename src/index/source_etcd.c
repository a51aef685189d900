/* source_etcd.c - records in etcd: read, and set by compare-and-set. */
#include "source_etcd.h"

#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "etcd_ends.h"
#include "etcd_text.h"
#include "locks.h"

#include "banned.h"

/* So often somebody else may be faster before it is told. */
#define ROUNDS      4u
#define REQUEST_MAX (8u << 10)

const struct weir_lock_class weir__source_etcd_class = {"index-etcd-counts", 381};

struct etcd {
    struct weir__source source; /* first */
    struct weir__etcd_ends ends;
    char prefix[WEIR__ETCD_PREFIX_MAX + 1];
    const struct weir__bindings *bindings;
    struct weir__etcd_key swept; /* where tend() goes on; it is called by one thread at a time */
    struct weir_lock lock;       /* guards the counts */
    struct weir__source_etcd_stats stats;
};

static void count(struct etcd *etcd, uint64_t *counter)
{
    weir_lock_acquire(&etcd->lock);
    ++*counter;
    weir_lock_release(&etcd->lock);
}

const char *weir__etcd_prefix_check(const char *prefix)
{
    size_t length = strlen(prefix);
    bool is_good = length > 0 && length <= WEIR__ETCD_PREFIX_MAX;
    for (size_t i = 0; i < length && is_good; i++)
        is_good = prefix[i] > ' ' && prefix[i] < 0x7f;
    return is_good ? NULL : "its prefix must have 1 to 64 printable bytes";
}

/* --- reading --- */

static int range(struct etcd *etcd, const struct weir__etcd_range *wanted,
                 struct weir__reply *reply, uint64_t *ret_mod_revision,
                 const struct weir_deadline *deadline)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&body, REQUEST_MAX);
    weir__buffer_init(&said, WEIR__ETCD_BODY_MAX);
    int result = weir__etcd_put_range(&body, wanted);
    if (result == 0)
        result = weir__etcd_ends_call(&etcd->ends, "/v3/kv/range", &body, &said, deadline);
    if (result < 0)
        return result;
    return weir__etcd_read_range(weir__buffer_text(&said), weir__buffer_length(&said), reply,
                                 ret_mod_revision);
}

static int ask(struct weir__source *source, const struct weir__question *question,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    struct etcd *etcd = (struct etcd *)source;
    struct weir__etcd_key key;
    struct weir__etcd_range wanted = {.key = &key,
                                      .is_prefix = question->kind == WEIR__ASK_PROVIDERS,
                                      .limit = WEIR__REPLY_RECORDS_MAX};
    uint64_t now_ns = weir_now_ns();
    uint64_t left_ns = deadline->at_ns > now_ns ? deadline->at_ns - now_ns : 0;
    struct weir_deadline most = weir_deadline_min(deadline, weir_time_add(now_ns, left_ns / 3 * 2));
    count(etcd, &etcd->stats.asked);
    weir__etcd_keys_of(&key, etcd->prefix, question);
    int result = range(etcd, &wanted, reply, NULL, &most);
    bool is_lost = result == -WEIR_E_TIMEOUT || result == -WEIR_E_TIMEOUT_READ ||
                   result == -WEIR_E_TRANSIENT || result == -WEIR_E_BUSY;
    if (is_lost && weir_deadline_check(deadline) == 0) {
        count(etcd, &etcd->stats.local);
        wanted.is_serializable = true;
        result = range(etcd, &wanted, reply, NULL, deadline);
    }
    return result < 0 ? result : reply->count > 0 ? 0 : -WEIR_E_NOT_FOUND;
}

/* --- telling --- */

/* 0: it may be set; 1: it is there; Conflict: something newer is. What is no good record counts for
 * nothing. */
static int compare(const struct etcd *etcd, const struct weir__record_bytes *there,
                   const struct weir__record *record, const struct weir__record_bytes *bytes)
{
    struct weir__record old;
    if (there->length == bytes->length && memcmp(there->bytes, bytes->bytes, bytes->length) == 0)
        return 1;
    enum weir__record_verdict verdict =
        weir__record_judge(&old, there->bytes, there->length, etcd->bindings, weir_wall_s());
    if (verdict != WEIR__RECORD_GOOD && verdict != WEIR__RECORD_EXPIRED)
        return 0;
    return weir__record_compare(&old, there, record, bytes) < 0 ? 0 : -WEIR_E_CONFLICT;
}

static int swap(struct etcd *etcd, const struct weir__etcd_key *key, uint64_t mod_revision,
                const struct weir__record_bytes *bytes, bool *ret_is_done,
                const struct weir_deadline *deadline)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&body, REQUEST_MAX);
    weir__buffer_init(&said, WEIR__ETCD_BODY_MAX);
    int result = weir__etcd_put_swap(&body, key, mod_revision, bytes);
    if (result == 0)
        result = weir__etcd_ends_call(&etcd->ends, "/v3/kv/txn", &body, &said, deadline);
    if (result < 0)
        return result;
    return weir__etcd_read_swap(weir__buffer_text(&said), weir__buffer_length(&said), ret_is_done);
}

static int tell(struct weir__source *source, const struct weir__record *record,
                const struct weir__record_bytes *bytes, const struct weir_deadline *deadline)
{
    struct etcd *etcd = (struct etcd *)source;
    struct weir__etcd_key key;
    struct weir__etcd_range wanted = {.key = &key, .limit = 1};
    weir__etcd_key_of(&key, etcd->prefix, record);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct weir__record_bytes there = {0};
        /* A key has one value, which is dropped where it is no record. */
        struct weir__reply reply = {.records = &there, .room = 1};
        uint64_t mod_revision = 0;
        bool is_done = false;
        int result = range(etcd, &wanted, &reply, &mod_revision, deadline);
        if (result == 0 && reply.count > 0)
            result = compare(etcd, &there, record, bytes);
        if (result == 1 || result == -WEIR_E_CONFLICT)
            count(etcd, result == 1 ? &etcd->stats.there : &etcd->stats.conflicts);
        if (result != 0)
            return result == 1 ? 0 : result;
        result = swap(etcd, &key, mod_revision, bytes, &is_done, deadline);
        if (result < 0)
            return result;
        count(etcd, is_done ? &etcd->stats.told : &etcd->stats.swaps_lost);
        if (is_done)
            return 0;
    }
    return -WEIR_E_TRANSIENT;
}

/* --- upkeep --- */

/* Clocks differ, and a provider may come back: what has just expired is left alone. */
#define GRACE_S    INT64_C(3600)
#define PAGE       128u
#define PAGES_ONCE 8u

struct sweep {
    struct etcd *etcd;
    int64_t now_s;
    const struct weir_deadline *deadline;
};

/* What is no record of ours is left alone, too: a later version may know better. Whoever signs says
 * when it expires, up to the last second there is: nothing can be added to that. */
static bool is_dead(const struct sweep *sweep, const struct weir__record_bytes *value)
{
    struct weir__record record;
    enum weir__record_verdict verdict = weir__record_judge(&record, value->bytes, value->length,
                                                           sweep->etcd->bindings, sweep->now_s);
    return verdict == WEIR__RECORD_EXPIRED && record.expires_s < sweep->now_s - GRACE_S;
}

static int drop_dead(void *arg, const struct weir__etcd_entry *entry)
{
    struct sweep *sweep = arg;
    struct etcd *etcd = sweep->etcd;
    bool is_done = false;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&body, REQUEST_MAX);
    weir__buffer_init(&said, WEIR__ETCD_BODY_MAX);
    if (!is_dead(sweep, &entry->value))
        return 0;
    int result =
        weir__etcd_put_drop(&body, entry->key.text, entry->key.length, entry->mod_revision);
    if (result == 0)
        result = weir__etcd_ends_call(&etcd->ends, "/v3/kv/txn", &body, &said, sweep->deadline);
    if (result == 0)
        result =
            weir__etcd_read_swap(weir__buffer_text(&said), weir__buffer_length(&said), &is_done);
    if (is_done)
        count(etcd, &etcd->stats.forgotten);
    return result;
}

static int tend_page(struct etcd *etcd, struct sweep *sweep)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&body, REQUEST_MAX);
    weir__buffer_init(&said, WEIR__ETCD_BODY_MAX);
    int result = weir__etcd_put_page(&body, etcd->prefix, &etcd->swept, PAGE);
    if (result == 0)
        result = weir__etcd_ends_call(&etcd->ends, "/v3/kv/range", &body, &said, sweep->deadline);
    if (result < 0)
        return result;
    return weir__etcd_read_page(weir__buffer_text(&said), weir__buffer_length(&said), &etcd->swept,
                                drop_dead, sweep);
}

/* Some pages behind those of the last time, and from the first one again behind the last. */
static int tend(struct weir__source *source, int64_t now_s, const struct weir_deadline *deadline)
{
    struct etcd *etcd = (struct etcd *)source;
    struct sweep sweep = {etcd, now_s, deadline};
    int result = 0;
    for (unsigned page = 0; page < PAGES_ONCE && result == 0; page++) {
        result = tend_page(etcd, &sweep);
        if (etcd->swept.length == 0)
            break;
    }
    return result;
}

/* --- life cycle --- */

static void etcd_free(struct weir__source *source)
{
    struct etcd *etcd = (struct etcd *)source;
    weir__etcd_ends_fini(&etcd->ends);
    weir_lock_fini(&etcd->lock);
    weir__base_free(etcd);
}

static const struct weir__source_ops etcd_ops = {
    .kind = "etcd", .ask = ask, .tell = tell, .tend = tend, .free = etcd_free};

int weir__source_etcd_new(struct weir__source **ret_source,
                          const struct weir__source_etcd_options *options, const char **ret_why)
{
    *ret_why = weir__etcd_prefix_check(options->prefix);
    if (*ret_why)
        return -WEIR_E_INVALID;
    struct etcd *etcd = weir__base_alloc(1, sizeof(*etcd));
    *ret_why = weir_error_text(-WEIR_E_NO_MEMORY);
    if (!etcd)
        return -WEIR_E_NO_MEMORY;
    etcd->source.ops = &etcd_ops;
    etcd->bindings = options->bindings;
    snprintf(etcd->source.name, sizeof(etcd->source.name), "etcd");
    snprintf(etcd->prefix, sizeof(etcd->prefix), "%s", options->prefix);
    weir_lock_init(&etcd->lock, &weir__source_etcd_class);
    int result = weir__etcd_ends_init(&etcd->ends, options->urls, options->urls_count,
                                      options->ca_file, ret_why);
    if (result < 0) {
        etcd_free(&etcd->source);
        return result;
    }
    *ret_source = &etcd->source;
    return 0;
}

void weir__source_etcd_read(struct weir__source *source, struct weir__source_etcd_stats *ret_stats)
{
    struct etcd *etcd = (struct etcd *)source;
    weir_lock_acquire(&etcd->ends.lock);
    uint64_t moves = etcd->ends.moves;
    weir_lock_release(&etcd->ends.lock);
    weir_lock_acquire(&etcd->lock);
    *ret_stats = etcd->stats;
    weir_lock_release(&etcd->lock);
    ret_stats->moves = moves;
}
