/* fault_index_sources.c - sources of the index in which the n-th allocation fails, those of libcurl
 * included.
 *
 * Whatever fails: a call ends with NoMemory (or what libcurl makes of it) or with what it should,
 * and nothing is left behind. What they speak with says always the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weir/error.h>

#include "publish.h"
#include "server_help.h"
#include "source_dht.h"
#include "source_etcd.h"
#include "source_sibling.h"
#include "source_text.h"
#include "sweep.h"
#include "tap.h"

static unsigned port;
static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];
static struct weir__record record;
static struct weir__record_bytes bytes;
static char url[1024], dht_line[512];

/* The base of URLs at which the server says that text. */
static const char *saying(const char *text)
{
    struct weir__record_bytes said = {.length = (uint16_t)strlen(text)};
    char printed[WEIR__RECORD_TEXT];
    memcpy(said.bytes, text, said.length);
    weir__record_print(&said, printed);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/say/%s", port, printed);
    return url;
}

/* Of the record itself: what is none is dropped there. */
static void make_dht_line(void)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer line;
    weir__buffer_init(&line, sizeof(dht_line) - 1);
    CHECK_EQ(weir__source_base64_put(&line, bytes.bytes, bytes.length), 0);
    snprintf(dht_line, sizeof(dht_line), "{\"data\":\"%s\",\"id\":\"1\"}\n",
             weir__buffer_text(&line));
}

static void start(void)
{
    static const unsigned char seed[32] = {1};
    struct weir__key key;
    struct weir__source *source;
    const char *why;
    if (port > 0)
        return;
    CHECK(!weir__key_load_library());
    port = start_server();
    weir__key_from_seed(&key, seed);
    record = (struct weir__record){.kind = WEIR__RECORD_PROVIDER,
                                   .sequence = 1,
                                   .issued_s = weir_wall_s() - 1,
                                   .expires_s = weir_wall_s() + 3600,
                                   .url = "http://host/"};
    record.address.bytes[0] = 1;
    CHECK_EQ(weir__record_sign(&bytes, &record, &key), 0);
    memcpy(record.public_key, key.public_key, sizeof(record.public_key));
    make_dht_line();
    /* The library is loaded once, and stays. */
    CHECK_EQ(weir__source_dht_new(&source, saying(""), &why), 0);
    weir__source_free(source);
}

static void use(struct weir__source *source)
{
    struct weir__question question;
    struct weir__reply reply = {.records = room};
    struct weir_deadline deadline = weir_deadline_in(60 * WEIR_NS_PER_S, NULL);
    weir__record_question(&record, &question);
    int result = source->ops->ask(source, &question, &reply, &deadline);
    CHECK(result != -WEIR_E_TIMEOUT && result != -WEIR_E_NOT_FOUND);
    CHECK((result == 0) == (reply.count == 1) || result == -WEIR_E_NO_MEMORY);
    result = source->ops->tell(source, &record, &bytes, &deadline);
    CHECK(result != -WEIR_E_TIMEOUT && result != -WEIR_E_CONFLICT);
    weir__source_free(source);
}

static void ask_dht(void)
{
    struct weir__source *source;
    const char *why = NULL;
    int result = weir__source_dht_new(&source, saying(dht_line), &why);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && why));
    if (result == 0)
        use(source);
}

static void ask_sibling(void)
{
    struct weir__source_sibling_options options = {
        .url = saying("{\"providers\":[{\"record\":\"d29yZA\"}]}"), .token = "t"};
    struct weir__source *source;
    const char *why = NULL;
    int result = weir__source_sibling_new(&source, &options, &why);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && why));
    if (result == 0)
        use(source);
}

static void ask_etcd(void)
{
    const char *urls[] = {saying("{\"header\":{},\"kvs\":[{\"mod_revision\":\"3\",\"value\":"
                                 "\"aGVsbG8=\"}],\"succeeded\":true}")};
    struct weir__source_etcd_options options = {.urls = urls, .urls_count = 1, .prefix = "w/"};
    struct weir__source *source;
    struct weir__etcd_watch *watch;
    const char *why = NULL;
    int result = weir__etcd_watch_new(&watch, &options, NULL, NULL, &why);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && why));
    if (result == 0)
        weir__etcd_watch_free(watch);
    result = weir__source_etcd_new(&source, &options, &why);
    CHECK(result == 0 || (result == -WEIR_E_NO_MEMORY && why));
    if (result == 0)
        use(source);
}

static int walk(void *arg, bool is_first, int64_t now_s, struct weir__record_bytes *into,
                size_t room_count, size_t *ret_count)
{
    (void)arg, (void)is_first, (void)now_s, (void)into, (void)room_count;
    *ret_count = 0;
    return 0;
}

static void publish(void)
{
    struct weir__publisher_options options = {.walk = walk};
    struct weir__publisher *publisher;
    int result = weir__publisher_new(&publisher, &options);
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
    if (result < 0)
        return;
    CHECK_EQ(weir__publisher_offer(publisher, &bytes), 0);
    weir__publisher_free(publisher);
}

static void sweep_all(void (*scenario)(void))
{
    start();
    scenario();
    int before = count_descriptors();
    long runs = sweep(WEIR_FAULT_ALLOC, scenario);
    CHECK(runs > 0);
    check_descriptors(before, runs);
}

TEST(dht)
{
    sweep_all(ask_dht);
}

TEST(sibling)
{
    sweep_all(ask_sibling);
}

TEST(etcd)
{
    sweep_all(ask_etcd);
}

TEST(publisher)
{
    sweep_all(publish);
}

TAP_MAIN()
