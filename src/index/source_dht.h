/* source_dht.h - OpenDHT, through the REST proxy of a node of it (dhtnode --proxyserver).
 *
 * What is there is soft: it goes ten minutes after it was last put, so whoever wants it there puts
 * it again (publish.h). Anybody may put anything under our keys; what is no record is dropped.
 *
 * Which key: the first 160 bits of the question's (part 0). A key with more than some 24 values
 * takes a second to read instead of milliseconds, so large sets are split:
 * - who tells looks at part 0 first. With fewer than WEIR__DHT_PART_FULL values there, or with the
 *   record among them, that is where it goes; else into one of the parts 1 to WEIR__DHT_PARTS - 1,
 *   the first behind the one that the signing key stands for which is not read in part alone. Of
 *   providers WEIR__DHT_TELL_PARTS are looked at, since no reply has room for more of them.
 * - who asks reads part 0, and the other parts in turn if it has WEIR__DHT_PART_BUSY values or
 *   more. Half as many as would fill it: so nothing is overlooked while some of them expire. For a
 *   name with a key they begin with the part of that key, else with another one each time.
 * - a part 0 that was not read to its end, or has a line that is too long, is full, whatever its
 *   number of values.
 * So a small set costs one request, and who fills part 0 with rubbish makes lookups slower by some
 * milliseconds. To hide a name all parts have to be filled: a part adds at most an equal share of
 * the reply for it.
 *
 * How long: values come within milliseconds, the end of the answer only when the slowest node was
 * waited for, a second and more with a dead one. So an answer is taken for whole when nothing came
 * for WEIR__DHT_QUIET_NS after a value. Without any value the end is waited for, within the
 * deadline.
 *
 * How fast: WEIR__DHT_PER_S requests a second, asks before tells; Paced beyond that, if the
 * deadline is too near. Faster than some 200 a second, requests begin to take a second each.
 *
 * Ownership: new and free; the source owns its connections.
 */
#ifndef WEIR_INDEX_SOURCE_DHT_H
#define WEIR_INDEX_SOURCE_DHT_H

#include "source.h"

#define WEIR__DHT_KEY_SIZE   20u
#define WEIR__DHT_PARTS      16u
#define WEIR__DHT_PART_FULL  16u
#define WEIR__DHT_PART_BUSY  8u
#define WEIR__DHT_TELL_PARTS 4u
/* What is read of one part; of the first, which sends on who finds it full, fewer values. */
#define WEIR__DHT_BODY_MAX     (512u << 10)
#define WEIR__DHT_FIRST_VALUES 64u
#define WEIR__DHT_OTHER_VALUES 256u
#define WEIR__DHT_PROVIDERS    64u /* records of one part that are kept */
#define WEIR__DHT_NAMES        (WEIR__REPLY_RECORDS_MAX / WEIR__DHT_PARTS)
#define WEIR__DHT_QUIET_NS     (100 * WEIR_NS_PER_MS)
#define WEIR__DHT_PARTS_NS     (300 * WEIR_NS_PER_MS) /* for the other parts, with something found */
#define WEIR__DHT_PART_NS      (150 * WEIR_NS_PER_MS) /* for one of them */
#define WEIR__DHT_PER_S        150u
#define WEIR__DHT_BURST        32u
#define WEIR__DHT_LIFE_NS      (600 * WEIR_NS_PER_S) /* of a value that is not put again */

/* url: of the proxy, as "http://127.0.0.1:8000". Invalid; Unsupported and why; NoMemory. */
WEIR_MUST_USE int weir__source_dht_new(struct weir__source **ret_source, const char *url,
                                       const char **ret_why);

/* The key of one part of a question. */
void weir__dht_key(const struct weir__question *question, unsigned part,
                   unsigned char ret_key[WEIR__DHT_KEY_SIZE]);

struct weir__source_dht_stats {
    uint64_t asked, told, paced, parts_read, quiet;
    uint64_t values, dropped;
    uint64_t tells_split; /* that went into another part than the first */
};
void weir__source_dht_read(struct weir__source *source, struct weir__source_dht_stats *ret_stats);

#endif
