/* Tests of what is made of the lines of a DHT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "dht_reply.h"
#include "source_dht.h"
#include "source_text.h"
#include "tap.h"

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];
static struct weir__question question;

/* The question is about "a@" and the key of seed 1. */
static void make_name(unsigned seed, const char *label, uint64_t sequence,
                      struct weir__record_bytes *bytes)
{
    struct weir__record record = {
        .kind = WEIR__RECORD_NAME, .sequence = sequence, .issued_s = 1000, .expires_s = 2000};
    unsigned char secret[32] = {1};
    char id[WEIR__KEYID_TEXT], text[256];
    struct weir__key key;
    CHECK(!weir__key_load_library());
    weir__key_from_seed(&key, secret);
    weir__key_id_print(&key.id, id);
    snprintf(text, sizeof(text), "%s@%s", label, id);
    CHECK_EQ(weir__name_parse(text, strlen(text), &record.name), 0);
    weir__address_of("x", 1, &record.address);
    question.kind = WEIR__ASK_NAME;
    if (strcmp(label, "a") == 0)
        question.name = record.name;
    secret[0] = (unsigned char)seed;
    weir__key_from_seed(&key, secret);
    CHECK_EQ(weir__record_sign(bytes, &record, &key), 0);
}

static size_t put_line(char *text, const void *bytes, size_t length)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer line;
    weir__buffer_init(&line, 4096);
    CHECK_EQ(weir__buffer_puts(&line, "{\"data\":\""), 0);
    CHECK_EQ(weir__source_base64_put(&line, bytes, length), 0);
    CHECK_EQ(weir__buffer_puts(&line, "\",\"id\":\"18354751128408596272\",\"type\":0}\n"), 0);
    memcpy(text, weir__buffer_text(&line), weir__buffer_length(&line));
    return weir__buffer_length(&line);
}

/* Cut into pieces of so many bytes. */
static struct weir__dht_reader feed(const char *text, size_t length, size_t piece,
                                    struct weir__reply *reply)
{
    struct weir__dht_reader reader;
    *reply = (struct weir__reply){.records = room};
    weir__dht_reader_init(&reader, reply, &question, 16);
    for (size_t at = 0; at < length; at += piece)
        CHECK_EQ(
            weir__dht_reader_take(&reader, text + at, length - at < piece ? length - at : piece),
            0);
    weir__dht_reader_end(&reader);
    return reader;
}

TEST(values_in_pieces)
{
    struct weir__record_bytes one, two;
    char text[4096];
    make_name(1, "a", 1, &one);
    make_name(1, "a", 2, &two);
    size_t length = put_line(text, one.bytes, one.length);
    length += put_line(text + length, two.bytes, two.length);
    length += put_line(text + length, two.bytes, two.length);
    for (size_t piece = 1; piece <= length; piece++) {
        struct weir__reply reply;
        struct weir__dht_reader reader = feed(text, length, piece, &reply);
        CHECK_EQ(reader.values, 3);
        CHECK_EQ(reader.records, 2);
        CHECK_EQ(reply.count, 2); /* the same bytes count once */
        CHECK_EQ(reply.dropped, 0);
        CHECK_EQ(reply.records[0].length, one.length);
        CHECK(memcmp(reply.records[0].bytes, one.bytes, one.length) == 0);
        CHECK(memcmp(reply.records[1].bytes, two.bytes, two.length) == 0);
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
        "{\"data\":\"c2Vjb25k\"}\n",
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

/* What could not be the answer takes no room from what could. */
TEST(what_answers_something_else)
{
    struct weir__record_bytes right, wrong[4];
    struct weir__record provided = {.kind = WEIR__RECORD_PROVIDER,
                                    .sequence = 1,
                                    .issued_s = 1000,
                                    .expires_s = 2000,
                                    .url = "http://192.0.2.1/"};
    unsigned char secret[32] = {1};
    struct weir__key key;
    struct weir__reply reply;
    char text[2048];
    make_name(1, "a", 1, &right);
    make_name(1, "b", 1, &wrong[0]); /* another name */
    make_name(2, "a", 1, &wrong[1]); /* another key */
    wrong[2] = right;
    wrong[2].bytes[0] = 'x'; /* no record */
    weir__key_from_seed(&key, secret);
    weir__address_of("x", 1, &provided.address);
    CHECK_EQ(weir__record_sign(&wrong[3], &provided, &key), 0); /* another kind */
    for (size_t i = 0; i < 4; i++) {
        size_t length = put_line(text, wrong[i].bytes, wrong[i].length);
        struct weir__dht_reader reader = feed(text, length, 100, &reply);
        CHECK_EQ(reply.count, 0);
        CHECK_EQ(reply.dropped, 1);
        CHECK_EQ(reader.values, 1);
    }
    /* Whether it is signed as it says is for others to judge. */
    right.bytes[right.length - 1] ^= 1;
    size_t length = put_line(text, right.bytes, right.length);
    feed(text, length, 100, &reply);
    CHECK_EQ(reply.count, 1);
    /* Providers of that address, by anybody, and of no other. */
    question = (struct weir__question){.kind = WEIR__ASK_PROVIDERS, .address = provided.address};
    length = put_line(text, wrong[3].bytes, wrong[3].length);
    feed(text, length, 100, &reply);
    CHECK_EQ(reply.count, 1);
    weir__address_of("y", 1, &question.address);
    feed(text, length, 100, &reply);
    CHECK_EQ(reply.count, 0);
}

TEST(what_is_long)
{
    size_t size = 100000, tail;
    char *text = malloc(size + 2048);
    struct weir__record_bytes right;
    struct weir__reply reply;
    CHECK(text);
    make_name(1, "a", 1, &right);
    memset(text, 'A', size);
    memcpy(text, "{\"data\":\"", 9);
    memcpy(text + size - 3, "\"}\n", 3);
    tail = put_line(text + size, right.bytes, right.length);
    struct weir__dht_reader reader = feed(text, size + tail, 1000, &reply);
    CHECK_EQ(reader.values, 2);
    CHECK(reader.has_long);
    CHECK_EQ(reply.dropped, 1);
    CHECK_EQ(reply.oversized, 1);
    CHECK_EQ(reply.count, 1);
    /* One that has no end is as long. */
    reader = feed(text, size / 2, 1000, &reply);
    CHECK_EQ(reader.values, 1);
    CHECK(reader.has_long);
    CHECK(!feed(text + size, tail, 1000, &reply).has_long);
    free(text);
}

TEST(no_more_than_its_share)
{
    struct weir__record_bytes one;
    struct weir__dht_reader reader;
    struct weir__reply reply = {.records = room};
    char text[2048];
    weir__dht_reader_init(&reader, &reply, &question, 16);
    for (unsigned i = 0; i < 40; i++) { /* each of the first fifteen twice */
        make_name(1, "a", i < 30 ? 1 + i / 2 : i, &one);
        CHECK_EQ(weir__dht_reader_take(&reader, text, put_line(text, one.bytes, one.length)), 0);
        CHECK_EQ(reader.is_over, i > 30); /* copies of what is there are not counted */
    }
    CHECK_EQ(reply.count, 16);
    CHECK_EQ(reader.records, 16);
    CHECK_EQ(reply.dropped, 9);
    /* Another part has a share of its own. */
    weir__dht_reader_init(&reader, &reply, &question, 16);
    CHECK_EQ(weir__dht_reader_take(&reader, text, put_line(text, one.bytes, one.length)), 0);
    CHECK_EQ(reply.count, 17);
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
