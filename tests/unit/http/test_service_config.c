/* The keys of the services: texts of addresses, what must fit together, the names that were
 * promised. */
#include "tap.h"

#include "storage_config.h"

#include <stdio.h>

#include <weir/error.h>

#include "address_text.h"

static char told[8192];

static void hear(void *arg, bool is_warning, const char *line)
{
    (void)arg, (void)is_warning;
    size_t used = strlen(told);
    snprintf(told + used, sizeof(told) - used, "%s\n", line);
}

static int load(struct weir__config **ret_config, const char *text)
{
    told[0] = '\0';
    struct weir__config_sink sink = {.problem = hear};
    struct weir__config_sources sources = {.file = "f", .text = text, .text_length = strlen(text)};
    return weir__config_load(ret_config, &weir__storage_schema, &sources, &sink);
}

static void refused(const char *text, const char *part)
{
    struct weir__config *config = NULL;
    CHECK_EQ(load(&config, text), -WEIR_E_INVALID);
    CHECK_HAS(told, part);
}

/* It can be had, and something is said about it. */
static void doubted(const char *text, const char *part)
{
    struct weir__config *config = NULL;
    CHECK_EQ(load(&config, text), 0);
    CHECK_HAS(told, part);
    weir__config_unref(config);
}

/* Without a word. */
static void accepted(const char *text)
{
    struct weir__config *config = NULL;
    if (load(&config, text) != 0)
        tap_fail(__FILE__, __LINE__, "%s: %s", text, told);
    CHECK_STR(told, "");
    weir__config_unref(config);
}

TEST(the_schema_is_sound)
{
    weir__config_check_schema(&weir__storage_schema);
}

/* Others build on these names and values; a change of them is a change of the product. */
TEST(promised_keys_and_defaults)
{
    static const char *const promised[][2] = {
        {"server.max_inflight", "1024"}, {"server.max_rps", "0"},
        {"server.max_conns", "10240"},   {"server.connection_limit_per_ip", "256"},
        {"read_timeout", "5s"},          {"write_timeout", "5s"},
        {"idle_timeout", "60s"},         {"drain_deadline", "5s"},
        {"storage.chunk_size", "64KiB"}, {"durability.repair_pacing", "50MiB/s"},
        {"queues.work", "512"},          {"queues.repair", "256"},
        {"queues.events", "1024"},       {"ratelimit.rps_per_ip", "0"},
        {"quotas.bytes_per_token", "0"}, {"quotas.objects_per_token", "0"},
    };
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        const struct weir__config_key *key = NULL;
        for (size_t k = 0; (key = weir__config_key(&weir__storage_schema, k)); k++)
            if (strcmp(key->name, promised[i][0]) == 0)
                break;
        if (!key)
            tap_fail(__FILE__, __LINE__, "there is no %s", promised[i][0]);
        CHECK_STR(key->preset, promised[i][1]);
    }
}

TEST(values_arrive_in_their_fields)
{
    struct weir__config *config = NULL;
    CHECK_EQ(load(&config, "data = '/d'\nread_timeout = '7s'\n"
                           "server.connection_limit_per_ip = 9\nserver.unix_mode = '600'\n"
                           "durability.repair_pacing = '1MiB/s'\nstorage.verify = 'scrub'\n"
                           "log.level = 'debug'\nstore.compact_ratio = 60\n"),
             0);
    const struct weir__service_config *service = weir__config_values(config, &weir__service_table);
    const struct weir__storage_config *storage = weir__config_values(config, &weir__storage_table);
    CHECK_EQ(service->read_ns, 7 * WEIR_NS_PER_S);
    CHECK_EQ(service->write_ns, 5 * WEIR_NS_PER_S);
    CHECK_EQ(service->server.conns_per_ip, 9);
    CHECK_EQ(weir__service_unix_mode(service), 0600);
    CHECK_EQ(service->log.level, 3);
    CHECK_STR(storage->data, "/d");
    CHECK_EQ(storage->durability.repair_pacing, 1 << 20);
    CHECK_EQ(storage->storage.verify, WEIR__STORAGE_VERIFY_SCRUB);
    CHECK_EQ(storage->store.compact_percent, 60);
    CHECK_STR(service->listen.items[0], "127.0.0.1:8470");
    weir__config_unref(config);
}

/* The nearest name, although tls.key has the same last part; and the other way round. */
TEST(unknown_keys_and_the_nearest)
{
    refused("tokens.key = 'x'\n", "unknown key 'tokens.key'; did you mean 'tokens.keys'?");
    refused("max_conns = 5\n", "unknown key 'max_conns'; did you mean 'server.max_conns'?");
    refused("server.read_timeout = 5\n", "did you mean 'read_timeout'?");
}

TEST(tls_needs_both_files)
{
    refused("tls.cert = 'c'\n", "f:1: tls.cert: TLS needs tls.key as well");
    refused("tls.key = 'k'\n", "f:1: tls.key: TLS needs tls.cert as well");
    accepted("tls.cert = 'c'\ntls.key = 'k'\n");
}

#define TLS "tls.cert = 'c'\ntls.key = 'k'\n"

TEST(who_can_be_reached_asks_for_tokens_and_has_tls)
{
    refused("listen = ['127.0.0.1:1', '0.0.0.0:80']\n", "others can reach '0.0.0.0:80'");
    refused("listen = ['[::]:80']\n", "others can reach '[::]:80'");
    refused("listen = ['[::]:80']\ntokens.keys = 'k'\ntokens.required = 'never'\n" TLS,
            "others can reach");
    refused("listen = ['0.0.0.0:80']\n" TLS,
            "set tokens.keys, tls.cert and tls.key, or server.open");
    refused("listen = ['0.0.0.0:80']\ntokens.keys = 'k'\n", "f:1: listen: others can reach");
    accepted("listen = ['0.0.0.0:80']\nserver.open = true\n");
    accepted("listen = ['0.0.0.0:80']\nserver.open = true\ntokens.keys = 'k'\n");
    accepted("listen = ['0.0.0.0:80']\ntokens.keys = 'k'\n" TLS);
    accepted("listen = ['127.9.9.9:80', '[::1]:80', 'unix:/run/weir']\n");
    accepted("tokens.required = 'always'\n");
}

TEST(limits_that_hold_each_other)
{
    accepted("server.max_conns = 100\n");
    refused("audit.file = '/a'\n", "nothing is written there without audit.enabled");
    accepted("audit.enabled = true\naudit.file = '/a'\n");
    refused("drain_deadline = '61s'\n", "expected 1s to 1m");
    refused("server.body_max = '2MiB'\n", "expected 1B to 1MiB");
    /* A body in chunks is moved while it grows: it may need twice its size for a moment. */
    refused("server.body_memory = '2047KiB'\n", "expected 2MiB to 1TiB");
    accepted("server.body_memory = '2MiB'\n");
    refused("server.backlog = 128\n", "expected 4096 to 65535");
    refused("server.acceptors = 65\n", "1 to 64");
    refused("ratelimit.table = 1048577\n", "expected 256 to 1048576");
    refused("amnesia.max_bytes = '7MiB'\n", "expected 8MiB to 1TiB");
    refused("server.unix_mode = '1777'\n", "expected an octal mode, as 0660");
    refused("server.unix_mode = '68'\n", "expected an octal mode, as 0660");
}

/* Defaults give way without a word; what somebody has asked for does not. */
TEST(limits_that_are_never_reached)
{
    doubted("server.connection_limit_per_ip = 101\nserver.max_conns = 100\n",
            "f:1: server.connection_limit_per_ip: 101 is never reached, since server.max_conns is "
            "100");
    doubted("server.connection_limit_per_ip = 10241\n", "since server.max_conns is 10240");
    accepted("server.connection_limit_per_ip = 100\nserver.max_conns = 100\n");
    accepted("server.max_conns = 100\n");
    accepted("server.max_conns = 100\nserver.connection_limit_per_ip = 256\n");
    doubted("queues.work = 11\nserver.max_inflight = 10\n",
            "f:1: queues.work: 11 is never reached, since server.max_inflight is 10");
    accepted("queues.work = 10\nserver.max_inflight = 10\n");
    accepted("server.max_inflight = 10\n");
    doubted("server.get_workers = 3\nserver.max_inflight = 2\n", "server.get_workers: 3 is never");
    doubted("server.put_workers = 3\nserver.max_inflight = 2\n", "server.put_workers: 3 is never");
    accepted("server.get_workers = 2\nserver.put_workers = 2\nserver.max_inflight = 2\n");
    doubted("ratelimit.rps_per_ip = 6\nserver.max_rps = 5\n", "ratelimit.rps_per_ip: 6 is never");
    accepted("ratelimit.rps_per_ip = 5\nserver.max_rps = 5\n");
    accepted("ratelimit.rps_per_ip = 6\n");
}

TEST(keys_that_change_nothing)
{
    doubted("ratelimit.burst_per_ip = 9\n", "ratelimit.burst_per_ip: it changes nothing");
    doubted("ratelimit.table = 300\n", "ratelimit.table: it changes nothing without");
    accepted("ratelimit.burst_per_ip = 9\nratelimit.table = 300\nratelimit.rps_per_ip = 1\n");
    doubted("amnesia.max_bytes = '9MiB'\n", "amnesia.max_bytes: it changes nothing without");
    accepted("amnesia.max_bytes = '9MiB'\namnesia.enabled = true\n");
    doubted("quotas.bytes_per_token = 9\n", "quotas.bytes_per_token: it holds for who shows");
    doubted("quotas.objects_per_token = 9\ntokens.keys = 'k'\ntokens.required = 'never'\n",
            "quotas.objects_per_token: it holds for who shows");
    accepted("quotas.bytes_per_token = 9\nquotas.objects_per_token = 9\ntokens.keys = 'k'\n");
}

static void each(const char *(*check)(const char *), const char *const *texts, bool is_good)
{
    for (; *texts; texts++)
        if ((check(*texts) == NULL) != is_good)
            tap_fail(__FILE__, __LINE__, "'%s' should be %s", *texts, is_good ? "good" : "bad");
}

#define EACH(check, is_good, ...) each(check, (const char *const[]){__VA_ARGS__, NULL}, is_good)

TEST(addresses_to_listen_on)
{
    char path[200];
    EACH(weir__address_check, true, "127.0.0.1:0", "0.0.0.0:65535", "[::]:80", "[fe80::1]:1",
         "unix:weir.sock", "unix:/run/weir.sock");
    EACH(weir__address_check, false, "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:080",
         "127.0.0.1:-1", "127.0.0.1:8a", "localhost:80", "::1:80", "[::1]", "[]:80",
         "[127.0.0.1]:80", ":80", "unix:", "256.0.0.1:1", "1.2.3:4", "[::1:80", " 127.0.0.1:1",
         "127.0.0.1:999999");
    snprintf(path, sizeof(path), "unix:%0107d", 0);
    CHECK(!weir__address_check(path));
    snprintf(path, sizeof(path), "unix:%0108d", 0);
    CHECK(weir__address_check(path));
}

TEST(networks)
{
    EACH(weir__network_check, true, "10.0.0.0/8", "0.0.0.0/0", "192.0.2.1", "192.0.2.1/32", "::/0",
         "fd00::/8", "::1", "::1/128", "192.0.2.128/25");
    EACH(weir__network_check, false, "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1",
         "10.0.0.0/08", "fd00::1/8", "::/129", "example.org", "/8", "192.0.2.129/25",
         "192.0.2.128/24", "fd80::/8", "1.2.3/8");
}

TEST(hosts_and_origins)
{
    EACH(weir__host_check, true, "weir", "weir.example.org", "a-b.c_d", "192.0.2.1", "[::1]");
    EACH(weir__host_check, false, "weir:80", "-a", "a-", "a..b", ".a", "a.", "a b", "http://a",
         "[::1", "a/b", "a-.b");
    EACH(weir__origin_check, true, "http://a", "https://weir.example.org:8443", "http://[::1]:80",
         "http://[::1]");
    EACH(weir__origin_check, false, "a", "ftp://a", "http://", "http://a/",
         "http://a:", "http://a:b", "http://:80", "https://a:70000", "http://u@a", "*", "null");
}

TAP_MAIN()
