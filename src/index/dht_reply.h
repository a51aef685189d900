/* dht_reply.h - what the REST proxy of OpenDHT answers: one value a line, each an object of JSON.
 *
 *     {"data":"d3IBA...","id":"11355131591355465669","type":0}
 *
 * Anybody may put anything under any key there. A line is a record if it is an object whose "data"
 * is base64 of at most WEIR__RECORD_MAX bytes that have the form of a record, about what was asked
 * for, and by the key that the name has, if it has one. All else is dropped and counted, so that it
 * takes no room from what may be true, and nothing of a longer line is kept. Whether a record is
 * signed as it says is for others to judge: it costs a thousand times as much.
 *
 * Ownership: the reader is a value and borrows the reply and the question.
 */
#ifndef WEIR_INDEX_DHT_REPLY_H
#define WEIR_INDEX_DHT_REPLY_H

#include "source.h"

/* A record is 800 digits, and has some 60 bytes around it. Values that others made may have more
 * members (owner, signature), and are no records of ours then. */
#define WEIR__DHT_LINE_MAX 1024u

struct weir__dht_reader {
    struct weir__reply *reply;
    const struct weir__question *question;
    size_t records_max; /* that it adds to the reply */
    size_t records;     /* that it has added */
    uint64_t values;    /* lines, records or not */
    bool has_long;      /* a line was too long */
    bool is_over;       /* there was a record beyond records_max */
    char _line[WEIR__DHT_LINE_MAX];
    size_t _length;
    bool _is_long; /* the line under way is dropped */
};

void weir__dht_reader_init(struct weir__dht_reader *reader, struct weir__reply *reply,
                           const struct weir__question *question, size_t records_max);
/* A piece of the body, cut anywhere. NoMemory. */
WEIR_MUST_USE int weir__dht_reader_take(struct weir__dht_reader *reader, const char *bytes,
                                        size_t length);
/* What has no line end at the end of the body was cut, and is dropped. */
void weir__dht_reader_end(struct weir__dht_reader *reader);

#endif
