/* source_dht.c - asks and tells the DHT: GET and POST of keys.
 *
 *     ask:   GET part 0 --> busy? --> GET parts 1, 2, ... while there is time
 *     tell:  GET part 0 --> full of others? --> POST to part 0, or to that of the signing key
 *
 * The id of a value is made from the bytes of the record: to put it again, from any node, renews
 * the one value that is there instead of adding another. A value with an id that is taken stays
 * what it was, so other bytes never get the same id.
 *
 * One lock (rank 380) guards the counts.
 */
#include "source_dht.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>
#include <weir/rate.h>

#include "alloc.h"
#include "dht_reply.h"
#include "hash.h"
#include "locks.h"
#include "source_http.h"
#include "source_text.h"

#include "banned.h"

const struct weir_lock_class weir__source_dht_class = {"index-dht", 380};

struct dht {
    struct weir__source source; /* first */
    char base[WEIR__SOURCE_URL];
    struct weir__http_client *client;
    struct weir_rate rate;
    bool has_rate;
    struct weir_lock lock; /* guards the counts */
    struct weir__source_dht_stats stats;
};

static void count(struct dht *dht, uint64_t *counter, uint64_t number)
{
    weir_lock_acquire(&dht->lock);
    *counter += number;
    weir_lock_release(&dht->lock);
}

/* --- keys --- */

void weir__dht_key(const struct weir__question *question, unsigned part,
                   unsigned char ret_key[WEIR__DHT_KEY_SIZE])
{
    static const char domain[] = "weir-dht-part-v1";
    unsigned char digest[WEIR__HASH_SIZE], number = (unsigned char)part;
    struct weir__question_key key;
    struct weir__hash hash;
    weir__question_key_of(question, &key);
    memcpy(ret_key, key.bytes, WEIR__DHT_KEY_SIZE);
    if (part == 0)
        return;
    weir__hash_init(&hash);
    weir__hash_update(&hash, domain, sizeof(domain));
    weir__hash_update(&hash, key.bytes, sizeof(key.bytes));
    weir__hash_update(&hash, &number, 1);
    weir__hash_final(&hash, digest);
    memcpy(ret_key, digest, WEIR__DHT_KEY_SIZE);
}

static unsigned part_of(const struct weir__record *record)
{
    struct weir__key_id id;
    weir__key_id_of(record->public_key, &id);
    return 1u + id.bytes[0] % (WEIR__DHT_PARTS - 1u);
}

static void url_of(const struct dht *dht, const struct weir__question *question, unsigned part,
                   char url[WEIR__SOURCE_URL + 64])
{
    unsigned char key[WEIR__DHT_KEY_SIZE];
    size_t used = (size_t)snprintf(url, WEIR__SOURCE_URL + 64, "%s/key/", dht->base);
    weir__dht_key(question, part, key);
    for (size_t i = 0; i < sizeof(key); i++)
        used += (size_t)snprintf(url + used, WEIR__SOURCE_URL + 64 - used, "%02x", key[i]);
}

/* --- reading one part --- */

/* Enough of one part: a code that nobody else returns. */
#define ENOUGH (-WEIR_E_OVERFLOW)

static int on_body(void *arg, const char *bytes, size_t length)
{
    struct weir__dht_reader *reader = arg;
    int result = weir__dht_reader_take(reader, bytes, length);
    return result == 0 && reader->values >= WEIR__DHT_PART_MOST ? ENOUGH : result;
}

static int pace(struct dht *dht, enum weir_rate_priority priority,
                const struct weir_deadline *deadline)
{
    int result = weir_rate_acquire(&dht->rate, 1, priority, deadline);
    if (result < 0)
        count(dht, &dht->stats.paced, 1);
    return result;
}

/* What came counts, also when the rest of it did not. */
static int read_part(struct dht *dht, const struct weir__question *question, unsigned part,
                     struct weir__reply *reply, uint64_t *ret_values,
                     const struct weir_deadline *deadline)
{
    char url[WEIR__SOURCE_URL + 64];
    struct weir__dht_reader reader;
    struct weir__http_outcome outcome;
    struct weir__http_request request = {.method = WEIR__HTTP_GET,
                                         .url = url,
                                         .body_max = WEIR__DHT_BODY_MAX,
                                         .tries_max = 1,
                                         .quiet_ns = WEIR__DHT_QUIET_NS};
    struct weir__http_hooks hooks = {.body = on_body, .arg = &reader};
    uint64_t dropped = reply->dropped;
    url_of(dht, question, part, url);
    weir__dht_reader_init(&reader, reply);
    int result = weir__http_do(dht->client, &request, &hooks, &outcome, deadline);
    if (result == 0)
        result = weir__http_status_error(outcome.status);
    bool is_enough = result == ENOUGH || result == -WEIR_E_TOO_LARGE ||
                     (result < 0 && result != -WEIR_E_CANCELED && result != -WEIR_E_NO_MEMORY &&
                      reader.values > 0);
    if (is_enough)
        result = 0;
    weir__dht_reader_end(&reader);
    *ret_values = reader.values;
    weir_lock_acquire(&dht->lock);
    dht->stats.parts_read++;
    dht->stats.quiet += outcome.was_quiet;
    dht->stats.values += reader.values;
    dht->stats.dropped += reply->dropped - dropped;
    weir_lock_release(&dht->lock);
    return result;
}

/* --- asking --- */

/* All parts but the first, in turn. One that does not answer in its time is passed over; when there
 * is something to show already, all of them have an end. */
static int read_parts(struct dht *dht, const struct weir__question *question,
                      struct weir__reply *reply, const struct weir_deadline *deadline)
{
    uint64_t began_ns = weir_now_ns(), values;
    int result = 0;
    for (unsigned part = 1; part < WEIR__DHT_PARTS; part++) {
        struct weir_deadline limit = *deadline;
        if (reply->count > 0)
            limit = weir_deadline_min(deadline, weir_time_add(began_ns, WEIR__DHT_PARTS_NS));
        int ended = weir_deadline_check(&limit);
        if (ended < 0)
            return ended;
        limit = weir_deadline_min(&limit, weir_time_add(weir_now_ns(), WEIR__DHT_PART_NS));
        ended = pace(dht, WEIR_RATE_HIGH, &limit);
        if (ended == 0)
            ended = read_part(dht, question, part, reply, &values, &limit);
        if (ended == -WEIR_E_CANCELED || ended == -WEIR_E_NO_MEMORY)
            return ended;
        if (ended < 0)
            result = ended;
    }
    return result;
}

static int ask(struct weir__source *source, const struct weir__question *question,
               struct weir__reply *reply, const struct weir_deadline *deadline)
{
    struct dht *dht = (struct dht *)source;
    uint64_t values = 0;
    count(dht, &dht->stats.asked, 1);
    int result = pace(dht, WEIR_RATE_HIGH, deadline);
    if (result == 0)
        result = read_part(dht, question, 0, reply, &values, deadline);
    if (result == 0 && values >= WEIR__DHT_PART_BUSY)
        result = read_parts(dht, question, reply, deadline);
    if (result == -WEIR_E_CANCELED || result == -WEIR_E_NO_MEMORY)
        return result;
    /* What is missing does not make wrong what was found. */
    return reply->count > 0 ? 0 : result < 0 ? result : -WEIR_E_NOT_FOUND;
}

/* --- telling --- */

static uint64_t id_of(const struct weir__record_bytes *bytes)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    uint64_t id = 0;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes->bytes, bytes->length);
    weir__hash_final(&hash, digest);
    for (int i = 0; i < 8; i++)
        id = id << 8 | digest[i];
    return id == 0 ? 1 : id;
}

static bool has_record(const struct weir__reply *reply, const struct weir__record_bytes *bytes)
{
    for (size_t i = 0; i < reply->count; i++)
        if (reply->records[i].length == bytes->length &&
            memcmp(reply->records[i].bytes, bytes->bytes, bytes->length) == 0)
            return true;
    return false;
}

/* Which part has room for it. */
static int choose_part(struct dht *dht, const struct weir__question *question,
                       const struct weir__record *record, const struct weir__record_bytes *bytes,
                       unsigned *ret_part, const struct weir_deadline *deadline)
{
    struct weir__reply reply = {0};
    uint64_t values = 0;
    reply.records = weir__base_alloc(WEIR__REPLY_RECORDS_MAX, sizeof(*reply.records));
    if (!reply.records)
        return -WEIR_E_NO_MEMORY;
    int result = pace(dht, WEIR_RATE_LOW, deadline);
    if (result == 0)
        result = read_part(dht, question, 0, &reply, &values, deadline);
    if (result == 0)
        *ret_part =
            values >= WEIR__DHT_PART_FULL && !has_record(&reply, bytes) ? part_of(record) : 0;
    weir__base_free(reply.records);
    return result;
}

static int post(struct dht *dht, const char *url, const struct weir__record_bytes *bytes,
                const struct weir_deadline *deadline)
{
    static const struct weir__http_header headers[] = {{"Content-Type", "application/json"}};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer body;
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer said;
    weir__buffer_init(&body, 2048);
    weir__buffer_init(&said, 4096);
    int result = weir__buffer_puts(&body, "{\"data\":\"");
    if (result == 0)
        result = weir__source_base64_put(&body, bytes->bytes, bytes->length);
    if (result == 0)
        result = weir__buffer_printf(&body, "\",\"id\":\"%" PRIu64 "\"}", id_of(bytes));
    if (result < 0)
        return result;
    struct weir__fetch fetch = {.client = dht->client,
                                .method = WEIR__HTTP_POST,
                                .url = url,
                                .headers = headers,
                                .headers_count = 1,
                                .body = weir__buffer_text(&body),
                                .body_length = weir__buffer_length(&body)};
    return weir__source_fetch(&fetch, &said, deadline);
}

static int tell(struct weir__source *source, const struct weir__record *record,
                const struct weir__record_bytes *bytes, const struct weir_deadline *deadline)
{
    struct dht *dht = (struct dht *)source;
    char url[WEIR__SOURCE_URL + 64];
    struct weir__question question;
    unsigned part = 0;
    weir__record_question(record, &question);
    int result = choose_part(dht, &question, record, bytes, &part, deadline);
    if (result == 0)
        result = pace(dht, WEIR_RATE_LOW, deadline);
    if (result < 0)
        return result;
    url_of(dht, &question, part, url);
    result = post(dht, url, bytes, deadline);
    if (result == 0) {
        count(dht, &dht->stats.told, 1);
        count(dht, &dht->stats.tells_split, part > 0);
    }
    return result;
}

/* --- life cycle --- */

static void dht_free(struct weir__source *source)
{
    struct dht *dht = (struct dht *)source;
    weir__http_client_free(dht->client);
    if (dht->has_rate)
        weir_rate_fini(&dht->rate);
    weir_lock_fini(&dht->lock);
    weir__base_free(dht);
}

static const struct weir__source_ops dht_ops = {
    .kind = "dht", .ask = ask, .tell = tell, .free = dht_free};

int weir__source_dht_new(struct weir__source **ret_source, const char *url, const char **ret_why)
{
    struct weir_rate_options options = {.per_s = WEIR__DHT_PER_S, .burst = WEIR__DHT_BURST};
    struct dht *dht = weir__base_alloc(1, sizeof(*dht));
    *ret_why = weir_error_text(-WEIR_E_NO_MEMORY);
    if (!dht)
        return -WEIR_E_NO_MEMORY;
    dht->source.ops = &dht_ops;
    weir_lock_init(&dht->lock, &weir__source_dht_class);
    int result = weir__source_base(url, dht->base, sizeof(dht->base));
    if (result < 0)
        *ret_why = "it is not a URL of http or https without a query";
    if (result == 0) {
        weir__source_name(dht->source.name, "dht", dht->base);
        result = weir_rate_init(&dht->rate, dht->source.name, &options);
        dht->has_rate = result == 0;
    }
    if (result == 0)
        result = weir__source_client_new(&dht->client, NULL, ret_why);
    if (result < 0) {
        dht_free(&dht->source);
        return result;
    }
    *ret_source = &dht->source;
    return 0;
}

void weir__source_dht_read(struct weir__source *source, struct weir__source_dht_stats *ret_stats)
{
    struct dht *dht = (struct dht *)source;
    weir_lock_acquire(&dht->lock);
    *ret_stats = dht->stats;
    weir_lock_release(&dht->lock);
}
