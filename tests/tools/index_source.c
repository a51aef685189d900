/* index_source.c - one source of the index at work, for tests that have the real thing at its end.
 *
 *     index-source dht URL
 *     index-source sibling URL [TOKEN]
 *     index-source etcd PREFIX URL...
 *
 * Commands are lines of standard input, and each is answered by one line of standard output:
 *
 *     id SEED                                the id of the key that this number stands for
 *     key PART WHAT                          the key in the DHT of a name or an address
 *     record name LABEL SEED SEQUENCE LIFE            base64 of a signed record of LABEL@ID
 *     record provider ADDRESS SEED SEQUENCE LIFE URL  likewise
 *     record removal|bare LABEL SEED SEQUENCE LIFE    of a name that is removed, or has no key in
 *                                            it; with LIFE "max" it expires with the last second
 *     tell MS name ... | tell MS provider ...         tells it: the error's name and milliseconds
 *     ask MS WHAT            error, milliseconds, dropped, and of each record verdict:sequence:url
 *     watch [COUNT]          tells from now on what changes: lines "changed WHAT" or "changed *";
 *                            so often the latter is refused, by a line "changed refused"
 *     publish COUNT PER_S EVERY_MS                    tells so many providers, again and again
 *     offer ADDRESS SEED SEQUENCE LIFE URL            and one that is new
 *     tend MS                upkeep: the error's name and milliseconds
 *     stats                  name=number, ...
 *
 * It ends with its input.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/crew.h>
#include <weir/error.h>

#include "publish.h"
#include "source_dht.h"
#include "source_etcd.h"
#include "source_sibling.h"

#define WORDS_MAX 8
#define CROWD_MAX 4096

static struct weir__source *source;
static struct weir_crew *crew;
static struct weir__etcd_watch *watch;
static struct weir__publisher *publisher;
static struct weir__record_bytes *crowd;
static size_t crowd_count, crowd_at;
static const char *const *etcd_urls;
static size_t etcd_count;
static const char *etcd_prefix;

static void die(const char *why)
{
    fprintf(stderr, "index-source: %s\n", why);
    exit(2);
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static void make_key(struct weir__key *key, const char *seed)
{
    unsigned char bytes[32] = {0};
    snprintf((char *)bytes, sizeof(bytes), "seed %s", seed);
    weir__key_from_seed(key, bytes);
}

static void parse_question(struct weir__question *question, const char *text)
{
    memset(question, 0, sizeof(*question));
    if (weir__address_parse(text, strlen(text), &question->address) == 0)
        question->kind = WEIR__ASK_PROVIDERS;
    else if (weir__name_parse(text, strlen(text), &question->name) == 0)
        question->kind = WEIR__ASK_NAME;
    else
        die("that is neither a name nor an address");
}

/* Nobody signs that it lives so long but by hand. */
static void make_last(struct weir__record_bytes *bytes, const struct weir__key *key)
{
    static const char domain[] = "weir-record-v1";
    unsigned char message[sizeof(domain) + WEIR__RECORD_MAX];
    size_t end = bytes->length - WEIR__SIGNATURE_SIZE;
    memset(bytes->bytes + 52, 0xff, 8);
    bytes->bytes[52] = 0x7f;
    memcpy(message, domain, sizeof(domain));
    memcpy(message + sizeof(domain), bytes->bytes, end);
    weir__key_sign(key, message, sizeof(domain) + end, bytes->bytes + end);
}

/* words: name LABEL SEED SEQUENCE LIFE, or provider ADDRESS SEED SEQUENCE LIFE URL. */
static void make_record(char **words, struct weir__record *record, struct weir__record_bytes *bytes)
{
    struct weir__key key;
    char name[256], id[WEIR__KEYID_TEXT];
    memset(record, 0, sizeof(*record));
    make_key(&key, words[2]);
    record->sequence = number(words[3]);
    record->issued_s = weir_wall_s() - 10000;
    bool is_last = strcmp(words[4], "max") == 0;
    record->expires_s = weir_wall_s() + (is_last ? 60 : (int64_t)strtoll(words[4], NULL, 10));
    if (strcmp(words[0], "provider") != 0) {
        bool is_bare = strcmp(words[0], "bare") == 0;
        record->kind = WEIR__RECORD_NAME;
        record->is_removal = strcmp(words[0], "removal") == 0;
        weir__key_id_print(&key.id, id);
        snprintf(name, sizeof(name), "%s%s%s", words[1], is_bare ? "" : "@", is_bare ? "" : id);
        if (weir__name_parse(name, strlen(name), &record->name) < 0)
            die("that is no label");
        if (!record->is_removal)
            weir__address_of(words[3], strlen(words[3]), &record->address);
    } else {
        record->kind = WEIR__RECORD_PROVIDER;
        if (weir__address_parse(words[1], strlen(words[1]), &record->address) < 0)
            die("that is no address");
        snprintf(record->url, sizeof(record->url), "%s", words[5]);
    }
    if (weir__record_sign(bytes, record, &key) < 0)
        die("that is no record");
    if (is_last)
        make_last(bytes, &key);
    memcpy(record->public_key, key.public_key, sizeof(record->public_key));
}

static double since_ms(uint64_t began_ns)
{
    return (double)(weir_now_ns() - began_ns) / 1e6;
}

/* --- commands --- */

static void print_base64(const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned bits = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0u) |
                        (left > 2 ? bytes[i + 2] : 0u);
        printf("%c%c%c%c", digits[bits >> 18], digits[bits >> 12 & 63],
               left > 1 ? digits[bits >> 6 & 63] : '=', left > 2 ? digits[bits & 63] : '=');
    }
    printf("\n");
}

static void do_key(char **words)
{
    unsigned char key[WEIR__DHT_KEY_SIZE];
    struct weir__question question;
    parse_question(&question, words[2]);
    weir__dht_key(&question, (unsigned)number(words[1]), key);
    for (size_t i = 0; i < sizeof(key); i++)
        printf("%02x", key[i]);
    printf("\n");
}

static void do_tell(char **words)
{
    struct weir__record record;
    struct weir__record_bytes bytes;
    make_record(words + 2, &record, &bytes);
    uint64_t began_ns = weir_now_ns();
    struct weir_deadline deadline = weir_deadline_in(number(words[1]) * WEIR_NS_PER_MS, NULL);
    int result = source->ops->tell(source, &record, &bytes, &deadline);
    printf("%s %.1f\n", weir_error_name(result), since_ms(began_ns));
}

static void do_ask(char **words)
{
    struct weir__question question;
    struct weir__reply reply = {.records = calloc(WEIR__REPLY_RECORDS_MAX, sizeof(*reply.records))};
    if (!reply.records)
        die("no memory");
    parse_question(&question, words[2]);
    uint64_t began_ns = weir_now_ns();
    struct weir_deadline deadline = weir_deadline_in(number(words[1]) * WEIR_NS_PER_MS, NULL);
    int result = source->ops->ask(source, &question, &reply, &deadline);
    printf("%s %.1f %" PRIu64, weir_error_name(result), since_ms(began_ns), reply.dropped);
    for (size_t i = 0; i < reply.count; i++) {
        struct weir__record record = {0};
        enum weir__record_verdict verdict = weir__record_judge(
            &record, reply.records[i].bytes, reply.records[i].length, NULL, weir_wall_s());
        if (verdict == WEIR__RECORD_GOOD && !weir__question_fits(&question, &record))
            verdict = WEIR__RECORD_FOREIGN;
        printf(" %s:%" PRIu64 ":%s", weir__record_verdict_name(verdict), record.sequence,
               record.url);
    }
    printf("\n");
    free(reply.records);
}

static int on_change(void *arg, const struct weir__question *question)
{
    static uint64_t refused;
    uint64_t *refuses = arg;
    char address[WEIR__ADDRESS_TEXT];
    if (!question && refused < *refuses) {
        refused++;
        printf("changed refused\n");
        return -WEIR_E_BUSY;
    }
    if (question && question->kind == WEIR__ASK_PROVIDERS)
        weir__address_print(&question->address, address);
    printf("changed %s\n", !question                               ? "*"
                           : question->kind == WEIR__ASK_PROVIDERS ? address
                                                                   : question->name.text);
    return 0;
}

static void start_crew(void)
{
    struct weir_crew_options options = {.drain_ns = 3 * WEIR_NS_PER_S};
    if (!crew && weir_crew_new(&crew, "index-source", &options) < 0)
        die("no crew");
}

static void do_watch(const char *refusals)
{
    static uint64_t refuses;
    refuses = refusals ? number(refusals) : 0;
    const char *why = "it is no etcd";
    struct weir__source_etcd_options options = {
        .urls = etcd_urls, .urls_count = etcd_count, .prefix = etcd_prefix};
    if (!etcd_urls || weir__etcd_watch_new(&watch, &options, on_change, &refuses, &why) < 0)
        die(why);
    start_crew();
    if (weir_crew_start(crew, "watch", weir__etcd_watch_main, watch) < 0)
        die("no thread");
    printf("watching\n");
}

static int walk(void *arg, bool is_first, int64_t now_s, struct weir__record_bytes *room,
                size_t room_count, size_t *ret_count)
{
    (void)arg, (void)now_s;
    crowd_at = is_first ? 0 : crowd_at;
    size_t left = crowd_count - crowd_at;
    *ret_count = left < room_count ? left : room_count;
    memcpy(room, crowd + crowd_at, *ret_count * sizeof(*room));
    crowd_at += *ret_count;
    return crowd_at < crowd_count;
}

static void do_publish(char **words)
{
    struct weir__publisher_options options = {.targets = &source,
                                              .targets_count = 1,
                                              .walk = walk,
                                              .per_s = (uint32_t)number(words[2]),
                                              .every_ns = number(words[3]) * WEIR_NS_PER_MS};
    crowd_count = number(words[1]);
    crowd = calloc(crowd_count + 1, sizeof(*crowd));
    if (!crowd || crowd_count > CROWD_MAX)
        die("too many");
    for (size_t i = 0; i < crowd_count; i++) {
        char text[WEIR__ADDRESS_TEXT], url[64];
        struct weir__address address;
        struct weir__record record;
        snprintf(url, sizeof(url), "http://10.0.0.1/%zu", i);
        weir__address_of(url, strlen(url), &address);
        weir__address_print(&address, text);
        char *made[] = {(char *)"provider", text, (char *)"7", (char *)"1", (char *)"3600", url};
        make_record(made, &record, &crowd[i]);
    }
    start_crew();
    if (weir__publisher_new(&publisher, &options) < 0 ||
        weir_crew_start(crew, "publish", weir__publisher_main, publisher) < 0)
        die("no publisher");
    printf("publishing\n");
}

static void do_offer(char **words)
{
    struct weir__record record;
    struct weir__record_bytes bytes;
    words[0] = (char *)"provider";
    make_record(words, &record, &bytes);
    printf("%s\n", weir_error_name(weir__publisher_offer(publisher, &bytes)));
}

static void do_tend(char **words)
{
    uint64_t began_ns = weir_now_ns();
    struct weir_deadline deadline = weir_deadline_in(number(words[1]) * WEIR_NS_PER_MS, NULL);
    int result =
        source->ops->tend ? source->ops->tend(source, weir_wall_s(), &deadline) : -WEIR_E_USAGE;
    printf("%s %.1f\n", weir_error_name(result), since_ms(began_ns));
}

static void do_stats(void)
{
    if (strcmp(source->ops->kind, "dht") == 0) {
        struct weir__source_dht_stats s;
        weir__source_dht_read(source, &s);
        printf("asked=%" PRIu64 " told=%" PRIu64 " parts=%" PRIu64 " quiet=%" PRIu64
               " dropped=%" PRIu64 " split=%" PRIu64 " paced=%" PRIu64 " ",
               s.asked, s.told, s.parts_read, s.quiet, s.dropped, s.tells_split, s.paced);
    }
    if (strcmp(source->ops->kind, "etcd") == 0) {
        struct weir__source_etcd_stats s;
        weir__source_etcd_read(source, &s);
        printf("told=%" PRIu64 " there=%" PRIu64 " conflicts=%" PRIu64 " local=%" PRIu64
               " moves=%" PRIu64 " forgotten=%" PRIu64 " ",
               s.told, s.there, s.conflicts, s.local, s.moves, s.forgotten);
    }
    if (watch) {
        struct weir__etcd_watch_stats s;
        weir__etcd_watch_read(watch, &s);
        printf("streams=%" PRIu64 " compacted=%" PRIu64 " events=%" PRIu64 " others=%" PRIu64
               " watch_failed=%" PRIu64 " connected=%d ",
               s.streams, s.compacted, s.events, s.others, s.failed, s.is_connected);
    }
    if (publisher) {
        struct weir__publisher_stats s;
        weir__publisher_read(publisher, &s);
        printf("walked=%" PRIu64 " rounds=%" PRIu64 " fresh=%" PRIu64 " ptold=%" PRIu64
               " pfailed=%" PRIu64 " pskipped=%" PRIu64 " state=%s",
               s.walked, s.rounds, s.fresh, s.targets[0].told, s.targets[0].failed,
               s.targets[0].skipped, weir_breaker_state_name(s.targets[0].state));
    }
    printf("\n");
}

static void obey(char **words, int count)
{
    struct weir__key key;
    char id[WEIR__KEYID_TEXT];
    if (strcmp(words[0], "id") == 0 && count == 2) {
        make_key(&key, words[1]);
        weir__key_id_print(&key.id, id);
        printf("%s\n", id);
    } else if (strcmp(words[0], "key") == 0 && count == 3) {
        do_key(words);
    } else if (strcmp(words[0], "record") == 0 && count >= 6) {
        struct weir__record record;
        struct weir__record_bytes bytes;
        make_record(words + 1, &record, &bytes);
        print_base64(bytes.bytes, bytes.length);
    } else if (strcmp(words[0], "tell") == 0 && count >= 7) {
        do_tell(words);
    } else if (strcmp(words[0], "ask") == 0 && count == 3) {
        do_ask(words);
    } else if (strcmp(words[0], "watch") == 0) {
        do_watch(words[1]);
    } else if (strcmp(words[0], "publish") == 0 && count == 4) {
        do_publish(words);
    } else if (strcmp(words[0], "offer") == 0 && count == 6) {
        do_offer(words);
    } else if (strcmp(words[0], "tend") == 0 && count == 2) {
        do_tend(words);
    } else if (strcmp(words[0], "stats") == 0) {
        do_stats();
    } else {
        die("that is no command");
    }
}

static void open_source(int argc, char **argv)
{
    const char *why = "see the head of index_source.c";
    int result = -WEIR_E_USAGE;
    if (argc == 3 && strcmp(argv[1], "dht") == 0) {
        result = weir__source_dht_new(&source, argv[2], &why);
    } else if (argc >= 3 && strcmp(argv[1], "sibling") == 0) {
        struct weir__source_sibling_options options = {.url = argv[2],
                                                       .token = argc > 3 ? argv[3] : NULL};
        result = weir__source_sibling_new(&source, &options, &why);
    } else if (argc >= 4 && strcmp(argv[1], "etcd") == 0) {
        etcd_prefix = argv[2];
        etcd_urls = (const char *const *)argv + 3;
        etcd_count = (size_t)argc - 3;
        struct weir__source_etcd_options options = {
            .urls = etcd_urls, .urls_count = etcd_count, .prefix = etcd_prefix};
        result = weir__source_etcd_new(&source, &options, &why);
    }
    if (result < 0)
        die(why);
}

int main(int argc, char **argv)
{
    char line[2048];
    const char *why = weir__key_load_library();
    if (why)
        die(why);
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_source(argc, argv);
    while (fgets(line, sizeof(line), stdin)) {
        char *words[WORDS_MAX + 1], *rest = line;
        int count = 0;
        while (count < WORDS_MAX && (words[count] = strtok_r(rest, " \n", &rest)))
            count++;
        words[count] = NULL;
        if (count > 0)
            obey(words, count);
    }
    if (crew) {
        (void)weir_crew_drain(crew, NULL);
        weir_crew_free(crew);
    }
    weir__etcd_watch_free(watch);
    weir__publisher_free(publisher);
    weir__source_free(source);
    free(crowd);
    return 0;
}
