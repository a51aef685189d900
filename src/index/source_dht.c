/* source_dht.c - asks and tells the DHT: GET and POST of keys.
 *
 *     ask:   GET part 0 --> busy? --> GET the others, that of the key first, while there is time
 *     tell:  GET part 0 --> full of others? --> GET that of the key --> cut? --> GET the next ...
 *            --> POST to the one that has room
 *
 * The id of a value is made from the bytes of the record: to put it again, from any node, renews
 * the one value that is there instead of adding another. A value with an id that is taken stays
 * what it was, so other bytes never get the same id.
 *
 * One lock (rank 380) guards the counts and whose turn it is.
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
    struct weir_lock lock; /* guards what follows */
    uint64_t turn;         /* of the parts that are asked first */
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

#define OTHERS (WEIR__DHT_PARTS - 1u)

static unsigned part_of(const struct weir__key_id *id)
{
    return 1u + id->bytes[0] % OTHERS;
}

/* The parts but the first are a ring. */
static unsigned part_behind(unsigned part, unsigned steps)
{
    return 1u + (part - 1u + steps) % OTHERS;
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

struct part {
    unsigned number;
    uint64_t values;
    bool has_long;
    bool is_cut; /* there is more than was read */
};

struct reading {
    struct weir__dht_reader reader;
    uint64_t values_max;
};

static int on_body(void *arg, const char *bytes, size_t length)
{
    struct reading *reading = arg;
    int result = weir__dht_reader_take(&reading->reader, bytes, length);
    bool is_enough = reading->reader.is_over || reading->reader.values >= reading->values_max;
    return result == 0 && is_enough ? ENOUGH : result;
}

static int pace(struct dht *dht, enum weir_rate_priority priority,
                const struct weir_deadline *deadline)
{
    int result = weir_rate_acquire(&dht->rate, 1, priority, deadline);
    if (result < 0)
        count(dht, &dht->stats.paced, 1);
    return result;
}

static void count_part(struct dht *dht, const struct part *part, bool was_quiet, uint64_t dropped)
{
    weir_lock_acquire(&dht->lock);
    dht->stats.parts_read++;
    dht->stats.quiet += was_quiet;
    dht->stats.values += part->values;
    dht->stats.dropped += dropped;
    weir_lock_release(&dht->lock);
}

/* What came counts, also when the rest of it did not. */
static int read_part(struct dht *dht, const struct weir__question *question, struct part *part,
                     struct weir__reply *reply, const struct weir_deadline *deadline)
{
    char url[WEIR__SOURCE_URL + 64];
    struct reading reading = {.values_max = part->number == 0 ? WEIR__DHT_FIRST_VALUES
                                                              : WEIR__DHT_OTHER_VALUES};
    struct weir__http_outcome outcome;
    struct weir__http_request request = {.method = WEIR__HTTP_GET,
                                         .url = url,
                                         .body_max = WEIR__DHT_BODY_MAX,
                                         .tries_max = 1,
                                         .quiet_ns = WEIR__DHT_QUIET_NS};
    struct weir__http_hooks hooks = {.body = on_body, .arg = &reading};
    uint64_t dropped = reply->dropped;
    url_of(dht, question, part->number, url);
    weir__dht_reader_init(&reading.reader, reply, question,
                          question->kind == WEIR__ASK_NAME ? WEIR__DHT_NAMES : WEIR__DHT_PROVIDERS);
    int result = weir__http_do(dht->client, &request, &hooks, &outcome, deadline);
    if (result == 0)
        result = weir__http_status_error(outcome.status);
    part->is_cut = result == ENOUGH || result == -WEIR_E_TOO_LARGE ||
                   (result < 0 && result != -WEIR_E_CANCELED && result != -WEIR_E_NO_MEMORY &&
                    reading.reader.values > 0);
    weir__dht_reader_end(&reading.reader);
    part->values = reading.reader.values;
    part->has_long = reading.reader.has_long;
    count_part(dht, part, outcome.was_quiet, reply->dropped - dropped);
    return part->is_cut ? 0 : result;
}

/* Of the first part: whether there are so many values, or what is as good as that many. */
static bool has_many(const struct part *part, uint64_t values)
{
    return part->is_cut || part->has_long || part->values >= values;
}

/* --- asking --- */

/* The part of the key, if the name has one: whoever signs what counts tells it there. Else
 * strangers could choose parts that are always read last, when the time is over. */
static unsigned first_of(struct dht *dht, const struct weir__question *question)
{
    if (question->kind == WEIR__ASK_NAME && question->name.has_key)
        return part_of(&question->name.key);
    weir_lock_acquire(&dht->lock);
    uint64_t turn = dht->turn++;
    weir_lock_release(&dht->lock);
    return 1u + (unsigned)(turn % OTHERS);
}

/* All parts but the first, in turn. One that does not answer in its time is passed over; when there
 * is something to show already, all of them have an end. */
static int read_parts(struct dht *dht, const struct weir__question *question,
                      struct weir__reply *reply, const struct weir_deadline *deadline)
{
    uint64_t began_ns = weir_now_ns();
    unsigned first = first_of(dht, question);
    int result = 0;
    for (unsigned steps = 0; steps < OTHERS; steps++) {
        struct part part = {.number = part_behind(first, steps)};
        struct weir_deadline limit = *deadline;
        if (reply->count > 0)
            limit = weir_deadline_min(deadline, weir_time_add(began_ns, WEIR__DHT_PARTS_NS));
        int ended = weir_deadline_check(&limit);
        if (ended < 0)
            return ended;
        limit = weir_deadline_min(&limit, weir_time_add(weir_now_ns(), WEIR__DHT_PART_NS));
        ended = pace(dht, WEIR_RATE_HIGH, &limit);
        if (ended == 0)
            ended = read_part(dht, question, &part, reply, &limit);
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
    struct part part = {.number = 0};
    count(dht, &dht->stats.asked, 1);
    int result = pace(dht, WEIR_RATE_HIGH, deadline);
    if (result == 0)
        result = read_part(dht, question, &part, reply, deadline);
    if (result == 0 && has_many(&part, WEIR__DHT_PART_BUSY))
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

struct choice {
    const struct weir__question *question;
    const struct weir__record *record;
    const struct weir__record_bytes *bytes;
    struct weir__reply reply;
};

/* Whether that part is one for it; a negative code of what ends the tell. */
static int has_room(struct dht *dht, struct choice *choice, unsigned number,
                    const struct weir_deadline *deadline)
{
    struct part part = {.number = number};
    struct weir_deadline limit = *deadline;
    choice->reply.count = 0;
    int result = pace(dht, WEIR_RATE_LOW, deadline);
    if (result < 0)
        return result;
    if (number > 0)
        limit = weir_deadline_min(deadline, weir_time_add(weir_now_ns(), WEIR__DHT_PART_NS));
    result = read_part(dht, choice->question, &part, &choice->reply, &limit);
    /* One of the others that says nothing in its time is not known to be full. */
    if (result < 0)
        return number > 0 && result != -WEIR_E_CANCELED && result != -WEIR_E_NO_MEMORY ? 1 : result;
    bool is_full = number == 0 ? has_many(&part, WEIR__DHT_PART_FULL) : part.is_cut;
    return !is_full || weir__reply_has(&choice->reply, choice->bytes->bytes, choice->bytes->length);
}

/* Which part has room for it. If none has, it is that of the key: values there expire, too. */
static int choose_part(struct dht *dht, struct choice *choice, unsigned *ret_part,
                       const struct weir_deadline *deadline)
{
    struct weir__key_id id;
    unsigned most = choice->question->kind == WEIR__ASK_NAME ? OTHERS : WEIR__DHT_TELL_PARTS;
    choice->reply.records =
        weir__base_alloc(WEIR__REPLY_RECORDS_MAX, sizeof(struct weir__record_bytes));
    if (!choice->reply.records)
        return -WEIR_E_NO_MEMORY;
    weir__key_id_of(choice->record->public_key, &id);
    unsigned own = part_of(&id), part = 0;
    int result = has_room(dht, choice, part, deadline);
    for (unsigned steps = 0; result == 0 && steps < most; steps++) {
        part = part_behind(own, steps);
        result = has_room(dht, choice, part, deadline);
    }
    weir__base_free(choice->reply.records);
    if (result < 0)
        return result;
    *ret_part = result > 0 ? part : own;
    return 0;
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
    struct choice choice = {.question = &question, .record = record, .bytes = bytes};
    int result = choose_part(dht, &choice, &part, deadline);
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
