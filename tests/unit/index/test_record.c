/* Records: every bound of every field, every bit, every length, and the text. */
#include "index_help.h"

static struct weir__key key, other;
static struct weir__name name;
static struct weir__address address;

static void begin(void)
{
    key = help_key(1);
    other = help_key(2);
    name = help_name_of(7, &key);
    address = help_address(5);
}

static enum weir__record_verdict judge_at(const struct weir__record_bytes *bytes, int64_t now_s)
{
    struct weir__record record;
    return weir__record_judge(&record, bytes->bytes, bytes->length, NULL, now_s);
}

static void sign(struct weir__record_bytes *bytes, const struct weir__record *record)
{
    CHECK_EQ(weir__record_sign(bytes, record, &key), 0);
}

/* --- there and back --- */

TEST(a_name_there_and_back)
{
    begin();
    struct weir__record record = help_name_record(&name, 42), read = {.sequence = 0};
    struct weir__record_bytes bytes;
    sign(&bytes, &record);
    CHECK_EQ(bytes.length, 60 + 1 + 32 + 1 + name.length + 64);
    CHECK_EQ(memcmp(bytes.bytes, "wr\1\1", 4), 0);
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, NULL, HELP_NOW),
             WEIR__RECORD_GOOD);
    CHECK_EQ(read.kind, WEIR__RECORD_NAME);
    CHECK_EQ(read.sequence, 42);
    CHECK_EQ(read.issued_s, HELP_NOW);
    CHECK_EQ(read.expires_s, HELP_NOW + HELP_LIFE);
    CHECK_STR(read.name.text, name.text);
    CHECK(!read.is_removal && weir__address_is_equal(&read.address, &record.address));
    CHECK_EQ(memcmp(read.public_key, key.public_key, 32), 0);
    CHECK_EQ(weir__record_unpack(&read, bytes.bytes, bytes.length), 0);
    record = help_removal(&name, 43);
    sign(&bytes, &record);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_GOOD);
    CHECK_EQ(weir__record_unpack(&read, bytes.bytes, bytes.length), 0);
    CHECK(read.is_removal);
}

TEST(a_provider_there_and_back)
{
    begin();
    struct weir__record record = help_provider(&address, INT64_MAX), read;
    struct weir__record_bytes bytes;
    sign(&bytes, &record);
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, NULL, HELP_NOW),
             WEIR__RECORD_GOOD);
    CHECK_EQ(read.kind, WEIR__RECORD_PROVIDER);
    CHECK_EQ(read.sequence, INT64_MAX);
    CHECK_STR(read.url, record.url);
    CHECK_STR(read.region, "eu-1");
    CHECK(weir__address_is_equal(&read.address, &address));
    /* Without a region, and with the longest of all. */
    record.region[0] = '\0';
    sign(&bytes, &record);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_GOOD);
    memset(record.region, 'z', WEIR__REGION_MAX);
    record.region[WEIR__REGION_MAX] = '\0';
    memset(record.url + strlen(record.url), 'u', WEIR__PROVIDER_URL_MAX - strlen(record.url));
    record.url[WEIR__PROVIDER_URL_MAX] = '\0';
    sign(&bytes, &record);
    CHECK(bytes.length <= WEIR__RECORD_MAX);
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, NULL, HELP_NOW),
             WEIR__RECORD_GOOD);
    CHECK_STR(read.url, record.url);
    CHECK_STR(read.region, record.region);
}

/* --- bounds --- */

static int try(struct weir__record record)
{
    struct weir__record_bytes bytes;
    int error = weir__record_sign(&bytes, &record, &key);
    if (!error)
        CHECK_EQ(judge_at(&bytes, record.issued_s), WEIR__RECORD_GOOD);
    return error;
}

TEST(bounds_of_a_name)
{
    begin();
    struct weir__record good = help_name_record(&name, 1), bad;
    CHECK_EQ(try(good), 0);
    bad = good, bad.sequence = 0;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.sequence = INT64_MAX;
    CHECK_EQ(try(bad), 0);
    bad.sequence++;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad.sequence = UINT64_MAX;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.issued_s = 0;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.issued_s = -1;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.expires_s = bad.issued_s;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.expires_s = bad.issued_s + 1;
    CHECK_EQ(try(bad), 0);
    bad = good, bad.expires_s = bad.issued_s + WEIR__RECORD_LIFE_MAX_S;
    CHECK_EQ(try(bad), 0);
    bad.expires_s++;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.is_removal = true;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = help_removal(&name, 2), bad.is_removal = false;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.name.length = 0;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.name.text[0] = 'A';
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.name.length = WEIR__NAME_MAX + 1;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.kind = (enum weir__record_kind)3;
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
}

TEST(bounds_of_a_provider)
{
    begin();
    struct weir__record good = help_provider(&address, 1), bad;
    CHECK_EQ(try(good), 0);
    bad = good, memset(&bad.address, 0, sizeof(bad.address));
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, bad.url[0] = '\0';
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    bad = good, memset(bad.url + 8, 'a', sizeof(bad.url) - 8); /* no NUL */
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
    static const char *const regions[] = {"EU", "e u", "e_u", "\xc3\xa4"};
    for (size_t i = 0; i < 4; i++) {
        bad = good;
        snprintf(bad.region, sizeof(bad.region), "%s", regions[i]);
        CHECK_EQ(try(bad), -WEIR_E_INVALID);
    }
    bad = good, memset(bad.region, 'a', sizeof(bad.region)); /* no NUL */
    CHECK_EQ(try(bad), -WEIR_E_INVALID);
}

/* --- damage --- */

static void flip_all(const struct weir__record *record)
{
    struct weir__record_bytes bytes;
    struct weir__record untouched, read;
    sign(&bytes, record);
    memset(&read, 0x5a, sizeof(read));
    untouched = read;
    for (unsigned bit = 0; bit < 8u * bytes.length; bit++) {
        bytes.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        enum weir__record_verdict verdict =
            weir__record_judge(&read, bytes.bytes, bytes.length, NULL, HELP_NOW);
        CHECK(verdict != WEIR__RECORD_GOOD && verdict != WEIR__RECORD_EXPIRED);
        CHECK_EQ(memcmp(&read, &untouched, sizeof(read)), 0);
        bytes.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_GOOD);
}

TEST(each_bit_counts)
{
    begin();
    struct weir__record records[] = {help_name_record(&name, 3), help_removal(&name, 4),
                                     help_provider(&address, 5)};
    for (size_t i = 0; i < 3; i++)
        flip_all(&records[i]);
}

TEST(each_length_counts)
{
    begin();
    struct weir__record records[] = {help_name_record(&name, 3), help_provider(&address, 5)};
    for (size_t i = 0; i < 2; i++) {
        struct weir__record_bytes bytes;
        struct weir__record read;
        sign(&bytes, &records[i]);
        for (size_t length = 0; length < bytes.length; length++) {
            /* Of its own size, so that a sanitizer sees a byte too many. */
            unsigned char *copy = malloc(length + 1);
            memcpy(copy, bytes.bytes, length);
            CHECK(weir__record_judge(&read, copy, length, NULL, HELP_NOW) != WEIR__RECORD_GOOD);
            free(copy);
        }
        unsigned char longer[WEIR__RECORD_MAX + 8] = {0};
        memcpy(longer, bytes.bytes, bytes.length);
        for (size_t length = bytes.length + 1u; length <= sizeof(longer); length++)
            CHECK_EQ(weir__record_judge(&read, longer, length, NULL, HELP_NOW),
                     length > WEIR__RECORD_MAX ? WEIR__RECORD_OVERSIZED : WEIR__RECORD_MALFORMED);
    }
}

/* What is signed by somebody, and says what no record may. */
static enum weir__record_verdict judge_changed(const struct weir__record *record, size_t at,
                                               const void *with, size_t length)
{
    static const char domain[] = "weir-record-v1";
    unsigned char message[sizeof(domain) + WEIR__RECORD_MAX];
    struct weir__record_bytes bytes;
    sign(&bytes, record);
    size_t end = bytes.length - 64u;
    memcpy(bytes.bytes + at, with, length);
    memcpy(message, domain, sizeof(domain));
    memcpy(message + sizeof(domain), bytes.bytes, end);
    weir__key_sign(&key, message, sizeof(domain) + end, bytes.bytes + end);
    return judge_at(&bytes, HELP_NOW);
}

TEST(signed_and_malformed)
{
    begin();
    struct weir__record of_name = help_name_record(&name, 3), of_provider;
    of_provider = help_provider(&address, 3);
    static const unsigned char zeros[32], ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    CHECK_EQ(judge_changed(&of_name, 0, "w", 1), WEIR__RECORD_GOOD);
    CHECK_EQ(judge_changed(&of_name, 0, "x", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 2, "\2", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 3, "\3", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 3, "\2", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 36, zeros, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 36, ones, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 36, "\x80", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 36, "\x7f", 1), WEIR__RECORD_GOOD);
    CHECK_EQ(judge_changed(&of_name, 44, zeros, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 44, ones, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 52, zeros, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 52, ones, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 60, "\1", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 60, "\2", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 61, zeros, 32), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 93, zeros, 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 93, ones, 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 94, "N", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_name, 94, "o", 1), WEIR__RECORD_GOOD);
    CHECK_EQ(judge_changed(&of_provider, 36, ones, 8), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_provider, 60, zeros, 32), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_provider, 93, "H", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_provider, 110, zeros, 1), WEIR__RECORD_MALFORMED);
    size_t region = 93 + strlen(of_provider.url);
    CHECK_EQ(judge_changed(&of_provider, region, "\3", 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_provider, region + 1, zeros, 1), WEIR__RECORD_MALFORMED);
    CHECK_EQ(judge_changed(&of_provider, region + 1, "E", 1), WEIR__RECORD_MALFORMED);
}

/* --- who may say it, and when --- */

TEST(only_the_bound_key_speaks)
{
    begin();
    struct weir__record record = help_name_record(&name, 1), read;
    struct weir__record_bytes bytes;
    CHECK_EQ(weir__record_sign(&bytes, &record, &other), 0);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_UNBOUND);
    /* A label alone is nobody's, unless it is configured. */
    struct weir__name label = help_name("team/site");
    record = help_name_record(&label, 1);
    sign(&bytes, &record);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_UNBOUND);
    char text[128], id[WEIR__KEYID_TEXT];
    const char *texts[] = {text}, *why;
    struct weir__bindings *bindings;
    weir__key_id_print(&key.id, id);
    snprintf(text, sizeof(text), "team=%s", id);
    CHECK_EQ(weir__bindings_new(&bindings, texts, 1, &why), 0);
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, bindings, HELP_NOW),
             WEIR__RECORD_GOOD);
    CHECK_EQ(weir__record_sign(&bytes, &record, &other), 0);
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, bindings, HELP_NOW),
             WEIR__RECORD_UNBOUND);
    weir__bindings_free(bindings);
    /* Whoever provides something speaks for itself. */
    record = help_provider(&address, 1);
    CHECK_EQ(weir__record_sign(&bytes, &record, &other), 0);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_GOOD);
}

TEST(a_signature_for_something_else_is_none)
{
    begin();
    struct weir__record record = help_name_record(&name, 1);
    struct weir__record_bytes bytes;
    sign(&bytes, &record);
    size_t end = bytes.length - 64u;
    /* The same bytes, without what says that it is a record. */
    weir__key_sign(&key, bytes.bytes, end, bytes.bytes + end);
    CHECK_EQ(judge_at(&bytes, HELP_NOW), WEIR__RECORD_FORGED);
}

TEST(times)
{
    begin();
    struct weir__record record = help_name_record(&name, 1), read = {.sequence = 0};
    struct weir__record_bytes bytes;
    sign(&bytes, &record);
    CHECK_EQ(judge_at(&bytes, HELP_NOW + HELP_LIFE - 1), WEIR__RECORD_GOOD);
    CHECK_EQ(judge_at(&bytes, HELP_NOW + HELP_LIFE), WEIR__RECORD_EXPIRED);
    CHECK_EQ(judge_at(&bytes, INT64_MAX), WEIR__RECORD_EXPIRED);
    CHECK_EQ(judge_at(&bytes, HELP_NOW - WEIR__RECORD_SKEW_S), WEIR__RECORD_GOOD);
    CHECK_EQ(judge_at(&bytes, HELP_NOW - WEIR__RECORD_SKEW_S - 1), WEIR__RECORD_EXPIRED);
    CHECK_EQ(judge_at(&bytes, 0), WEIR__RECORD_EXPIRED);
    CHECK_EQ(judge_at(&bytes, INT64_MIN), WEIR__RECORD_EXPIRED);
    /* What has expired is told, with what it said. */
    CHECK_EQ(weir__record_judge(&read, bytes.bytes, bytes.length, NULL, INT64_MAX),
             WEIR__RECORD_EXPIRED);
    CHECK_EQ(read.sequence, 1);
    /* Nobody can sign for ever: what lives too long is not served at any time. */
    unsigned char expires[8] = {0};
    int64_t late = HELP_NOW + WEIR__RECORD_LIFE_MAX_S + 1;
    for (int i = 0; i < 8; i++)
        expires[i] = (unsigned char)((uint64_t)late >> (56 - 8 * i));
    CHECK_EQ(judge_changed(&record, 52, expires, 8), WEIR__RECORD_EXPIRED);
    expires[7]--;
    CHECK_EQ(judge_changed(&record, 52, expires, 8), WEIR__RECORD_GOOD);
}

TEST(names_of_verdicts)
{
    static const char *const names[] = {"good",    "oversized", "malformed", "forged",
                                        "unbound", "expired",   "replayed",  "foreign"};
    for (int i = 0; i < WEIR__RECORD_VERDICTS; i++)
        CHECK_STR(weir__record_verdict_name((enum weir__record_verdict)i), names[i]);
    CHECK_STR(weir__record_verdict_name((enum weir__record_verdict)99), "unknown");
}

TEST(which_one_counts)
{
    begin();
    struct weir__record a = help_name_record(&name, 2), b = help_name_record(&name, 3);
    struct weir__record_bytes a_bytes, b_bytes;
    sign(&a_bytes, &a), sign(&b_bytes, &b);
    CHECK(weir__record_compare(&a, &a_bytes, &b, &b_bytes) < 0);
    CHECK(weir__record_compare(&b, &b_bytes, &a, &a_bytes) > 0);
    CHECK_EQ(weir__record_compare(&a, &a_bytes, &a, &a_bytes), 0);
    b.sequence = 2, b.expires_s++;
    sign(&b_bytes, &b);
    CHECK(weir__record_compare(&a, &a_bytes, &b, &b_bytes) < 0);
    b.expires_s = a.expires_s, b.address = help_address(77);
    sign(&b_bytes, &b);
    int order = weir__record_compare(&a, &a_bytes, &b, &b_bytes);
    CHECK(order != 0 && (order < 0) == (memcmp(a_bytes.bytes, b_bytes.bytes, 120) < 0));
    CHECK((weir__record_compare(&b, &b_bytes, &a, &a_bytes) > 0) == (order < 0));
}

/* --- text --- */

TEST(text_there_and_back)
{
    for (unsigned length = 1; length <= WEIR__RECORD_MAX; length++) {
        struct weir__record_bytes bytes = {.length = (uint16_t)length}, again;
        char text[WEIR__RECORD_TEXT];
        for (unsigned i = 0; i < length; i++)
            bytes.bytes[i] = (unsigned char)(i * 131 + length);
        weir__record_print(&bytes, text);
        CHECK_EQ(weir__record_parse(text, strlen(text), &again), 0);
        CHECK_EQ(again.length, length);
        CHECK_EQ(memcmp(again.bytes, bytes.bytes, length), 0);
    }
}

TEST(texts_that_are_none)
{
    struct weir__record_bytes bytes;
    char text[WEIR__RECORD_TEXT + 8];
    memset(text, 'A', sizeof(text));
    CHECK_EQ(weir__record_parse("", 0, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse("A", 1, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse("-_", 2, &bytes), -WEIR_E_INVALID); /* bits are left */
    CHECK_EQ(weir__record_parse("-w", 2, &bytes), 0);
    CHECK_EQ(weir__record_parse("AA==", 4, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse("A+", 2, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse("A/", 2, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse("A\n", 2, &bytes), -WEIR_E_INVALID);
    CHECK_EQ(weir__record_parse(text, 800, &bytes), 0);
    CHECK_EQ(bytes.length, WEIR__RECORD_MAX);
    CHECK_EQ(weir__record_parse(text, 802, &bytes), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__record_parse(text, 801, &bytes), -WEIR_E_INVALID);
}

/* --- URLs --- */

TEST(urls_of_providers)
{
    static const char *const good[] = {"http://a",
                                       "https://a.example/",
                                       "http://127.0.0.1:80/x?y=z",
                                       "http://[::1]:8080",
                                       "https://a_b-c.example/%20",
                                       "http://a:65535",
                                       "http://a/@b",
                                       "http://a?b"};
    static const char *const bad[] = {
        "",
        "ftp://a",
        "http:/a",
        "http://",
        "HTTP://a",
        "http://A",
        "//a",
        "http://u@a",
        "http://u:p@a",
        "http://a#b",
        "http://a b",
        "http://a\n",
        "http://a\\b",
        "http://a:0",
        "http://a:",
        "http://a:65536",
        "http://a:080",
        "http://a:x",
        "http://[::1",
        "http://[]",
        "http://[g]",
        "http://-a",
        "http://.a",
        "http://a..b",
        "http://a..",
        "http://..",
        "http://.",
        "http://a.-b",
        "http://a-.b",
        "http://a-",
        "http://[:::]",
        "http://[::1::2]",
        "http://[1:2:3:4:5:6:7]",
        "http://[1:2:3:4:5:6:7:8:9]",
        "http://[12345::]",
        "http://[1.2.3.4]",
        "http://[::1.2.3]",
        "http://1.2.3",
        "http://1.2.3.4.5",
        "http://256.1.1.1",
        "http://a.1",
        "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b",
        "http://a/%2",
        "http://a/%zz",
        "http://\xc3\xa4",
        "http:///x",
        "http://?x",
        "http://:80",
        "http://a/\"",
        "http://a/<",
        "http://a/{"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (weir__provider_url_check(good[i]))
            tap_fail(__FILE__, __LINE__, "'%s' is refused: %s", good[i],
                     weir__provider_url_check(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!weir__provider_url_check(bad[i]))
            tap_fail(__FILE__, __LINE__, "'%s' is taken", bad[i]);
    CHECK_HAS(weir__provider_url_check("http://u:p@a"), "password");
    char text[WEIR__PROVIDER_URL_MAX + 2] = "http://a/";
    memset(text + 9, 'a', sizeof(text) - 10);
    text[WEIR__PROVIDER_URL_MAX + 1] = '\0';
    CHECK_HAS(weir__provider_url_check(text), "255");
    text[WEIR__PROVIDER_URL_MAX] = '\0';
    CHECK(!weir__provider_url_check(text));
}

TEST(what_is_wrong_with_its_time)
{
    struct weir__record record = {.issued_s = 1000, .expires_s = 2000};
    CHECK_HAS(weir__record_time_problem(&record, 1000 - WEIR__RECORD_SKEW_S - 1), "in the future");
    CHECK_HAS(weir__record_time_problem(&record, 2000), "has expired");
    record.expires_s = record.issued_s + WEIR__RECORD_LIFE_MAX_S + 1;
    CHECK_HAS(weir__record_time_problem(&record, 1000), "longer than 400 days");
}

TAP_MAIN()
