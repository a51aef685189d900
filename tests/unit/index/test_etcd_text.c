/* Tests of what is said to etcd, and of what it says. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "etcd_text.h"
#include "source_etcd.h"
#include "tap.h"

#define NAME "team/site@7drpdakdno4vakcqueqmpmamzedxea6x"

static struct weir__record_bytes room[WEIR__REPLY_RECORDS_MAX];
static struct weir__reply reply;

static struct weir__record name_record(void)
{
    struct weir__record record = {.kind = WEIR__RECORD_NAME};
    CHECK_EQ(weir__name_parse(NAME, strlen(NAME), &record.name), 0);
    return record;
}

TEST(keys)
{
    struct weir__etcd_key key;
    struct weir__question question;
    struct weir__record record = name_record();
    weir__etcd_key_of(&key, "weir/", &record);
    CHECK_STR(key.text, "weir/n/" NAME);
    CHECK_EQ(key.length, strlen(key.text));
    CHECK(weir__etcd_question(&question, "weir/", key.text, key.length));
    CHECK_EQ(question.kind, WEIR__ASK_NAME);
    CHECK_STR(question.name.text, NAME);
    struct weir__record provider = {.kind = WEIR__RECORD_PROVIDER};
    provider.address.bytes[0] = 0xab;
    weir__etcd_key_of(&key, "weir/", &provider);
    CHECK_EQ(key.length, strlen("weir/p/") + 64 + 1 + 32);
    CHECK_EQ(key.length, strlen(key.text));
    CHECK(weir__etcd_question(&question, "weir/", key.text, key.length));
    CHECK_EQ(question.kind, WEIR__ASK_PROVIDERS);
    CHECK(weir__address_is_equal(&question.address, &provider.address));
    struct weir__etcd_key all;
    weir__etcd_keys_of(&all, "weir/", &question);
    CHECK(all.length == strlen("weir/p/") + 65 && memcmp(all.text, key.text, all.length) == 0);
}

TEST(keys_of_others)
{
    static const char *const bad[] = {
        "",         "weir/",     "weir/n",  "weir/n/",        "weir/n/A B",
        "weir/x/a", "other/n/a", "weir/p/", "weir/p/abcd/ef", "weirn/a"};
    struct weir__question question;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!weir__etcd_question(&question, "weir/", bad[i], strlen(bad[i])));
}

TEST(requests)
{
    struct weir__etcd_key key = {.text = "w/n/a", .length = 5};
    struct weir__record_bytes bytes = {.length = 2, .bytes = "hi"};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 4096);
    struct weir__etcd_range range = {.key = &key, .is_prefix = true, .limit = 9};
    CHECK_EQ(weir__etcd_put_range(&buffer, &range), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"key\":\"dy9uL2E=\",\"range_end\":\"dy9uL2I=\",\"limit\":\"9\"}");
    weir__buffer_truncate(&buffer, 0);
    range = (struct weir__etcd_range){.key = &key, .is_serializable = true};
    CHECK_EQ(weir__etcd_put_range(&buffer, &range), 0);
    CHECK_STR(weir__buffer_text(&buffer), "{\"key\":\"dy9uL2E=\",\"serializable\":true}");
    weir__buffer_truncate(&buffer, 0);
    CHECK_EQ(weir__etcd_put_swap(&buffer, &key, 12, &bytes), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"compare\":[{\"key\":\"dy9uL2E=\",\"target\":\"MOD\",\"result\":\"EQUAL\","
              "\"mod_revision\":\"12\"}],\"success\":[{\"request_put\":{\"key\":\"dy9uL2E=\","
              "\"value\":\"aGk=\"}}]}");
    weir__buffer_truncate(&buffer, 0);
    CHECK_EQ(weir__etcd_put_watch(&buffer, "w/", 7), 0);
    CHECK_STR(weir__buffer_text(&buffer), "{\"create_request\":{\"key\":\"dy8=\",\"range_end\":"
                                          "\"dzA=\",\"start_revision\":\"7\"}}");
    CHECK_EQ(weir__etcd_put_watch(&buffer, "", 7), -WEIR_E_INVALID);
}

static int read_range(const char *text, uint64_t *revision)
{
    reply = (struct weir__reply){.records = room};
    return weir__etcd_read_range(text, strlen(text), &reply, revision);
}

TEST(ranges)
{
    uint64_t revision = 77;
    CHECK_EQ(read_range("{\"header\":{\"cluster_id\":\"1\",\"revision\":\"2\"},\"kvs\":[{\"key\":"
                        "\"dy9uL2E=\",\"create_revision\":\"2\",\"mod_revision\":\"3\",\"version\":"
                        "\"1\",\"value\":\"aGVsbG8=\"}],\"count\":\"1\"}",
                        &revision),
             0);
    CHECK_EQ(revision, 3);
    CHECK_EQ(reply.count, 1);
    CHECK(memcmp(reply.records[0].bytes, "hello", 5) == 0);
    CHECK_EQ(read_range("{\"header\":{}}", &revision), 0);
    CHECK_EQ(revision, 0);
    CHECK_EQ(reply.count, 0);
    CHECK_EQ(read_range("{\"header\":{},\"kvs\":[{\"mod_revision\":\"3\"},7,{\"value\":8}]}", NULL),
             0);
    CHECK_EQ(reply.dropped, 3);
    revision = 77;
    CHECK_EQ(read_range("{\"header\":{},\"kvs\":[{\"value\":\"aGVsbG8=\"}]}", &revision),
             -WEIR_E_CORRUPT);
    CHECK_EQ(read_range("{\"error\":\"x\",\"code\":14}", &revision), -WEIR_E_CORRUPT);
    CHECK_EQ(read_range("{\"header\":{},\"kvs\":{}}", &revision), -WEIR_E_CORRUPT);
    CHECK_EQ(revision, 77);
    struct weir__reply one = {.records = room, .room = 1};
    static const char two[] = "{\"header\":{},\"kvs\":[{\"mod_revision\":\"3\",\"value\":\"AAAA\"},"
                              "{\"mod_revision\":\"3\",\"value\":\"AAAB\"}]}";
    CHECK_EQ(weir__etcd_read_range(two, strlen(two), &one, NULL), 0);
    CHECK(one.count == 1 && one.dropped == 1); /* it never has more than there is room for */
}

TEST(swaps)
{
    bool is_done = false;
    static const char yes[] = "{\"header\":{},\"succeeded\":true,\"responses\":[]}";
    static const char no[] = "{\"header\":{}}", bad[] = "{\"succeeded\":true}";
    CHECK_EQ(weir__etcd_read_swap(yes, strlen(yes), &is_done), 0);
    CHECK(is_done);
    CHECK_EQ(weir__etcd_read_swap(bad, strlen(bad), &is_done), -WEIR_E_CORRUPT);
    CHECK(is_done);
    CHECK_EQ(weir__etcd_read_swap(no, strlen(no), &is_done), 0);
    CHECK(!is_done);
}

static unsigned entries;

static int on_entry(void *arg, const struct weir__etcd_entry *entry)
{
    CHECK_EQ(entry->key.length, strlen(entry->key.text));
    CHECK(entry->mod_revision > 0);
    entries++;
    return arg && entries == 2 ? -WEIR_E_CANCELED : 0;
}

TEST(pages)
{
    static const char text[] =
        "{\"header\":{},\"more\":true,\"kvs\":[{\"key\":\"dy9wLzE=\",\"mod_revision\":\"3\","
        "\"value\":\"AAAA\"},7,{\"key\":\"dy9wLzI=\",\"mod_revision\":\"3\"},{\"key\":"
        "\"dy9wLzM=\",\"mod_revision\":\"3\",\"value\":\"AAAB\"}]}";
    static const char end[] = "{\"header\":{},\"kvs\":[]}";
    struct weir__etcd_key last = {.length = 0};
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, 4096);
    CHECK_EQ(weir__etcd_put_page(&buffer, "w/", &last, 9), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"key\":\"dy9wLw==\",\"range_end\":\"dy9wMA==\",\"limit\":\"9\"}");
    CHECK_EQ(weir__etcd_read_page(text, strlen(text), &last, on_entry, NULL), 0);
    CHECK_EQ(entries, 3);
    CHECK_STR(last.text, "w/p/3");
    weir__buffer_truncate(&buffer, 0);
    CHECK_EQ(weir__etcd_put_page(&buffer, "w/", &last, 9), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"key\":\"dy9wLzMA\",\"range_end\":\"dy9wMA==\",\"limit\":\"9\"}");
    entries = 0;
    CHECK_EQ(weir__etcd_read_page(text, strlen(text), &last, on_entry, &entries), -WEIR_E_CANCELED);
    CHECK_EQ(entries, 2);
    CHECK_STR(last.text, "w/p/3"); /* as it was */
    CHECK_EQ(weir__etcd_read_page("7", 1, &last, on_entry, NULL), -WEIR_E_CORRUPT);
    CHECK_EQ(weir__etcd_read_page(end, strlen(end), &last, on_entry, NULL), 0);
    CHECK_EQ(last.length, 0);
    weir__buffer_truncate(&buffer, 0);
    CHECK_EQ(weir__etcd_put_drop(&buffer, "a", 1, 7), 0);
    CHECK_STR(weir__buffer_text(&buffer),
              "{\"compare\":[{\"key\":\"YQ==\",\"target\":\"MOD\",\"result\":\"EQUAL\","
              "\"mod_revision\":\"7\"}],\"success\":[{\"request_delete_range\":{\"key\":"
              "\"YQ==\"}}]}");
}

static unsigned changes;
static struct weir__question last;

static void on_change(void *arg, const struct weir__question *question)
{
    (void)arg;
    changes++;
    last = *question;
}

static int read_watch(const char *text, struct weir__etcd_news *news)
{
    changes = 0;
    return weir__etcd_read_watch(text, strlen(text), "w/", news, on_change, NULL);
}

TEST(news)
{
    struct weir__etcd_news news;
    CHECK_EQ(read_watch("{\"result\":{\"header\":{\"revision\":\"4\"},\"created\":true}}", &news),
             0);
    CHECK(news.is_created && !news.is_canceled && news.revision == 4 && news.last == 0);
    CHECK_EQ(read_watch("{\"result\":{\"header\":{\"revision\":\"9\"},\"events\":[{\"kv\":{\"key\":"
                        "\"dy9uL2E=\",\"mod_revision\":\"2\",\"value\":\"aGVsbG8=\"}},{\"type\":"
                        "\"DELETE\",\"kv\":{\"key\":\"dy9uL2E=\",\"mod_revision\":\"4\"}},{\"kv\":{"
                        "\"key\":\"dy94\",\"mod_revision\":\"3\"}},7]}}",
                        &news),
             0);
    CHECK_EQ(changes, 2);
    CHECK_STR(last.name.text, "a");
    CHECK(news.events == 2 && news.others == 2);
    CHECK_EQ(news.last, 4); /* more of revisions up to 9 may follow */
    CHECK_EQ(read_watch("{\"result\":{\"header\":{},\"canceled\":true,\"compact_revision\":\"4\"}}",
                        &news),
             0);
    CHECK(news.is_canceled && news.compacted == 4);
    CHECK_EQ(read_watch("{\"error\":{\"grpc_code\":14}}", &news), -WEIR_E_CORRUPT);
    CHECK_EQ(read_watch("", &news), -WEIR_E_CORRUPT);
}

TEST(sources_that_cannot_be)
{
    const char *urls[] = {"http://127.0.0.1:2379", "nonsense"};
    struct weir__source_etcd_options options = {.urls = urls, .urls_count = 1, .prefix = "w/"};
    struct weir__source *source = NULL;
    struct weir__etcd_watch *watch = NULL;
    const char *why = NULL;
    CHECK_EQ(weir__source_etcd_new(&source, &options, &why), 0);
    weir__source_free(source);
    source = NULL;
    options.urls_count = 2;
    CHECK_EQ(weir__source_etcd_new(&source, &options, &why), -WEIR_E_INVALID);
    options.urls_count = 0;
    CHECK_EQ(weir__source_etcd_new(&source, &options, &why), -WEIR_E_INVALID);
    options.urls_count = 1;
    options.prefix = "";
    CHECK_EQ(weir__source_etcd_new(&source, &options, &why), -WEIR_E_INVALID);
    CHECK_EQ(weir__etcd_watch_new(&watch, &options, NULL, NULL, &why), -WEIR_E_INVALID);
    options.prefix = "a prefix/";
    CHECK_EQ(weir__source_etcd_new(&source, &options, &why), -WEIR_E_INVALID);
    CHECK(!source && !watch && why);
    weir__etcd_watch_free(NULL);
}

TAP_MAIN()
