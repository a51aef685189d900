/* Tests of what is made of the lines of a DHT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "dht_reply.h"
#include "source_dht.h"
#include "tap.h"

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];

/* Cut into pieces of so many bytes. */
static struct weir__dht_reader feed(const char *text, size_t length, size_t piece,
                                    struct weir__reply *reply)
{
    struct weir__dht_reader reader;
    *reply = (struct weir__reply){.records = room};
    weir__dht_reader_init(&reader, reply);
    for (size_t at = 0; at < length; at += piece)
        CHECK_EQ(
            weir__dht_reader_take(&reader, text + at, length - at < piece ? length - at : piece),
            0);
    weir__dht_reader_end(&reader);
    return reader;
}

TEST(values_in_pieces)
{
    static const char text[] =
        "{\"data\":\"aGVsbG8gd29ybGQ=\",\"id\":\"1135\",\"type\":0}\n"
        "{\"data\":\"c2Vjb25k\",\"id\":\"18354751128408596272\",\"type\":0}\n"
        "{\"data\":\"c2Vjb25k\",\"id\":\"2\",\"type\":0}\n";
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        struct weir__reply reply;
        struct weir__dht_reader reader = feed(text, sizeof(text) - 1, piece, &reply);
        CHECK_EQ(reader.values, 3);
        CHECK_EQ(reply.count, 2); /* the same bytes count once */
        CHECK_EQ(reply.dropped, 0);
        CHECK_EQ(reply.records[0].length, 11);
        CHECK(memcmp(reply.records[0].bytes, "hello world", 11) == 0);
        CHECK(memcmp(reply.records[1].bytes, "second", 6) == 0);
    }
}

TEST(what_is_none)
{
    static const char *const lines[] = {
        "{}\n",
        "[]\n",
        "{\"data\":7}\n",
        "{\"data\":\"\",\"id\":\"1\"}\n",
        "{\"data\":\"AAA\"}\n",
        "{\"err\":\"Put failed\"}\n",
        "not json\n",
        "{\"data\":\"c2Vjb25k\"", /* cut */
        "{\"cypher\":\"c2Vjb25k\",\"id\":\"1\"}\n",
        "{\"data\":\"c2Vjb25k\",\"data\":\"c2Vjb25k\"}\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct weir__reply reply;
        struct weir__dht_reader reader = feed(lines[i], strlen(lines[i]), 7, &reply);
        CHECK_EQ(reader.values, 1);
        CHECK_EQ(reply.count, 0);
        CHECK_EQ(reply.dropped, 1);
        CHECK_EQ(reply.oversized, 0);
    }
    struct weir__reply reply;
    CHECK_EQ(feed("\n\n\n", 3, 1, &reply).values, 0);
    CHECK_EQ(reply.dropped, 0);
}

TEST(what_is_long)
{
    size_t size = 100000;
    char *text = malloc(size);
    struct weir__reply reply;
    CHECK(text);
    memset(text, 'A', size);
    memcpy(text, "{\"data\":\"", 9);
    memcpy(text + size - 32, "\"}\n{\"data\":\"c2Vjb25k\"}\n", 24);
    struct weir__dht_reader reader = feed(text, size - 9, 1000, &reply);
    CHECK_EQ(reader.values, 2);
    CHECK_EQ(reply.dropped, 1);
    CHECK_EQ(reply.oversized, 1);
    CHECK_EQ(reply.count, 1);
    free(text);
    /* Exactly as much as a record may have, and one byte more. */
    for (size_t extra = 0; extra < 2; extra++) {
        char line[2048];
        size_t digits = (600 + extra * 3) / 3 * 4;
        memcpy(line, "{\"data\":\"", 9);
        memset(line + 9, 'A', digits);
        memcpy(line + 9 + digits, "\"}\n", 4);
        feed(line, strlen(line), 100, &reply);
        CHECK_EQ(reply.count, 1 - extra);
        CHECK_EQ(reply.dropped, extra);
        CHECK_EQ(reply.oversized, extra);
    }
}

TEST(no_more_than_there_is_room_for)
{
    char text[64];
    struct weir__reply reply = {.records = room};
    struct weir__dht_reader reader;
    weir__dht_reader_init(&reader, &reply);
    for (unsigned i = 0; i < WEIR__REPLY_RECORDS_MAX + 10; i++) {
        int length = snprintf(text, sizeof(text), "{\"data\":\"%04u\"}\n", i);
        CHECK_EQ(weir__dht_reader_take(&reader, text, (size_t)length), 0);
    }
    CHECK_EQ(reply.count, WEIR__REPLY_RECORDS_MAX);
    CHECK_EQ(reply.dropped, 10);
}

TEST(parts_have_keys_of_their_own)
{
    struct weir__question name = {.kind = WEIR__ASK_NAME}, address = {.kind = WEIR__ASK_PROVIDERS};
    struct weir__question_key key;
    unsigned char keys[2 * WEIR__DHT_PARTS][WEIR__DHT_KEY_SIZE];
    CHECK_EQ(weir__name_parse("a@7drpdakdno4vakcqueqmpmamzedxea6x", 34, &name.name), 0);
    weir__question_key_of(&name, &key);
    for (unsigned i = 0; i < WEIR__DHT_PARTS; i++) {
        weir__dht_key(&name, i, keys[2 * i]);
        weir__dht_key(&address, i, keys[2 * i + 1]);
    }
    CHECK(memcmp(keys[0], key.bytes, WEIR__DHT_KEY_SIZE) == 0);
    for (unsigned i = 0; i < 2 * WEIR__DHT_PARTS; i++)
        for (unsigned k = 0; k < i; k++)
            CHECK(memcmp(keys[i], keys[k], WEIR__DHT_KEY_SIZE) != 0);
}

TAP_MAIN()
