/* Names, ids of keys, and which keys may speak for which names. */
#include "index_help.h"

#define ID_A "mfrggzdfmztwq2lknnwg23tpobyxe43u"
#define ID_B "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_C "77777777777777777777777777777777"

static bool is_name(const char *text)
{
    struct weir__name name;
    return weir__name_parse(text, strlen(text), &name) == 0;
}

static bool is_prefix(const char *text)
{
    return weir__name_is_prefix(text, strlen(text));
}

static struct weir__key_id id_of(const char *text)
{
    struct weir__key_id id;
    CHECK_EQ(weir__key_id_parse(text, strlen(text), &id), 0);
    return id;
}

TEST(labels_of_every_form)
{
    static const char *const good[] = {"a",       "0",     "a.b",  "a_b-c.",  "team/site",
                                       "a/b/c/d", "a-/b.", "9/0x", "a@" ID_A, "a/b@" ID_B};
    static const char *const bad[] = {"",
                                      "/",
                                      "a/",
                                      "/a",
                                      "a//b",
                                      ".a",
                                      "-a",
                                      "_a",
                                      "a/.b",
                                      "A",
                                      "a b",
                                      "a\n",
                                      "\xc3\xa4",
                                      "a@",
                                      "@" ID_A,
                                      "a@" ID_A "a",
                                      "a@@" ID_A,
                                      "a/@" ID_A,
                                      "a@" ID_A "/b",
                                      "a@MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U",
                                      "a@mfrggzdfmztwq2lknnwg23tpobyxe431"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!is_name(good[i]) || !is_prefix(good[i]))
            tap_fail(__FILE__, __LINE__, "'%s' is refused", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (is_name(bad[i]))
            tap_fail(__FILE__, __LINE__, "'%s' is taken", bad[i]);
    /* A NUL in the middle is a byte as any other. */
    struct weir__name name;
    CHECK_EQ(weir__name_parse("a\0b", 3, &name), -WEIR_E_INVALID);
}

TEST(parts_of_a_name)
{
    struct weir__name name = help_name("photos/2024@" ID_A);
    CHECK(name.has_key);
    CHECK_EQ(name.label_length, 11);
    CHECK_EQ(name.length, 11 + 1 + 32);
    CHECK_EQ(memcmp(name.key.bytes, "abcdefghijklmnopqrst", 20), 0);
    name = help_name("team/site");
    CHECK(!name.has_key);
    CHECK_EQ(name.label_length, 9);
    CHECK_STR(name.text, "team/site");
}

TEST(the_longest_label)
{
    char text[WEIR__NAME_MAX + 2];
    memset(text, 'a', sizeof(text));
    struct weir__name name;
    CHECK_EQ(weir__name_parse(text, WEIR__LABEL_MAX, &name), 0);
    CHECK_EQ(weir__name_parse(text, WEIR__LABEL_MAX + 1, &name), -WEIR_E_INVALID);
    CHECK(!weir__name_is_prefix(text, WEIR__LABEL_MAX + 1));
    text[WEIR__LABEL_MAX] = '@';
    CHECK_EQ(weir__name_parse(text, WEIR__NAME_MAX, &name), 0);
    CHECK_EQ(name.length, WEIR__NAME_MAX);
    CHECK_EQ(weir__name_parse(text, WEIR__NAME_MAX + 1, &name), -WEIR_E_INVALID);
    CHECK(!weir__name_is_prefix(text, WEIR__NAME_MAX + 1));
    /* A part that ends with the room, and would go on behind it. */
    text[WEIR__LABEL_MAX - 1] = '/';
    CHECK_EQ(weir__name_parse(text, WEIR__LABEL_MAX, &name), -WEIR_E_INVALID);
}

TEST(beginnings_of_names)
{
    CHECK(is_prefix("") && is_prefix("team/") && is_prefix("a@") && is_prefix("a@mfr"));
    CHECK(!is_prefix("/") && !is_prefix("a//") && !is_prefix("@") && !is_prefix("a/@"));
    CHECK(!is_prefix("A") && !is_prefix("a@1") && !is_prefix("a b"));
}

TEST(ids_there_and_back)
{
    char text[WEIR__KEYID_TEXT];
    struct weir__key_id id;
    for (unsigned n = 0; n < 2000; n++) {
        struct weir__address address = help_address(n);
        memcpy(id.bytes, address.bytes, sizeof(id.bytes));
        weir__key_id_print(&id, text);
        CHECK_EQ(strlen(text), WEIR__KEYID_DIGITS);
        struct weir__key_id again = id_of(text);
        CHECK_EQ(memcmp(&again, &id, sizeof(id)), 0);
    }
    CHECK_EQ(weir__key_id_parse(ID_A, 31, &id), -WEIR_E_INVALID);
    CHECK_EQ(weir__key_id_parse(ID_A "a", 33, &id), -WEIR_E_INVALID);
    CHECK_EQ(weir__key_id_parse("0frggzdfmztwq2lknnwg23tpobyxe43u", 32, &id), -WEIR_E_INVALID);
}

/* The key of RFC 8032's first test; b3sum and base32 say what its id is. */
TEST(the_id_of_a_key)
{
    static const unsigned char public_key[32] = {0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7,
                                                 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
                                                 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25,
                                                 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
    char text[WEIR__KEYID_TEXT];
    struct weir__key_id id;
    weir__key_id_of(public_key, &id);
    weir__key_id_print(&id, text);
    CHECK_STR(text, "nqyqieti6rywbhdz6xznxtby4sskwl2n");
}

static struct weir__bindings *bind_all(const char *const *texts, size_t count)
{
    struct weir__bindings *bindings = NULL;
    const char *why = "";
    int error = weir__bindings_new(&bindings, texts, count, &why);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s", why);
    return bindings;
}

static bool is_bound(const char *name_text, const struct weir__bindings *bindings, const char *id)
{
    struct weir__name name = help_name(name_text);
    struct weir__key_id key = id_of(id);
    bool is = weir__name_is_bound(&name, bindings, &key);
    CHECK(!is || weir__name_has_keys(&name, bindings));
    return is;
}

TEST(a_name_with_a_key_is_that_keys_alone)
{
    static const char *const texts[] = {"a=" ID_B};
    struct weir__bindings *bindings = bind_all(texts, 1);
    CHECK(is_bound("a/b@" ID_A, NULL, ID_A));
    CHECK(!is_bound("a/b@" ID_A, NULL, ID_B));
    CHECK(!is_bound("a/b@" ID_A, bindings, ID_B));
    CHECK(is_bound("a/b", bindings, ID_B));
    CHECK(!is_bound("a/b", NULL, ID_B));
    struct weir__name name = help_name("a/b");
    CHECK(!weir__name_has_keys(&name, NULL));
    weir__bindings_free(bindings);
    weir__bindings_free(NULL);
}

TEST(the_longest_prefix_decides)
{
    static const char *const texts[] = {"team=" ID_A, "team/site/=" ID_B "+" ID_C, "z=" ID_C};
    struct weir__bindings *bindings = bind_all(texts, 3);
    CHECK(is_bound("team", bindings, ID_A));
    CHECK(is_bound("team/other", bindings, ID_A));
    CHECK(is_bound("team/sites", bindings, ID_A));
    CHECK(is_bound("team/site", bindings, ID_B));
    CHECK(is_bound("team/site/x/y", bindings, ID_C));
    CHECK(!is_bound("team/site", bindings, ID_A));
    CHECK(!is_bound("teams", bindings, ID_A));
    CHECK(!is_bound("other", bindings, ID_A));
    CHECK(!is_bound("zz", bindings, ID_C));
    weir__bindings_free(bindings);
}

static void refuse(const char *const *texts, size_t count, const char *part)
{
    struct weir__bindings *bindings = NULL;
    const char *why = NULL;
    CHECK_EQ(weir__bindings_new(&bindings, texts, count, &why), -WEIR_E_INVALID);
    CHECK(!bindings);
    CHECK_HAS(why, part);
}

TEST(bindings_that_are_none)
{
    static const char *const bad[] = {"",
                                      "team",
                                      "team=",
                                      "=" ID_A,
                                      "/=" ID_A,
                                      "Team=" ID_A,
                                      "team=abc",
                                      "team=" ID_A "+",
                                      "team=+" ID_A,
                                      "team=" ID_A " ",
                                      "team@" ID_A "=" ID_A,
                                      "team//=" ID_A};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *why = weir__binding_check(bad[i]);
        if (!why)
            tap_fail(__FILE__, __LINE__, "'%s' is taken", bad[i]);
        CHECK_HAS(why, "PREFIX=KEYID");
        refuse(&bad[i], 1, "PREFIX=KEYID");
    }
    CHECK(!weir__binding_check("team/=" ID_A "+" ID_B));
    CHECK_HAS(weir__binding_check("a=" ID_A "+" ID_A), "twice");
    static const char *const twice[] = {"b=" ID_A, "a=" ID_A, "a/=" ID_B};
    refuse(twice, 3, "a prefix stands there twice");
}

TEST(limits_of_bindings)
{
    static char texts[WEIR__BINDINGS_MAX + 1][48];
    const char *all[WEIR__BINDINGS_MAX + 1];
    for (unsigned i = 0; i <= WEIR__BINDINGS_MAX; i++) {
        snprintf(texts[i], sizeof(texts[i]), "p%u=" ID_A, i);
        all[i] = texts[i];
    }
    struct weir__bindings *bindings = bind_all(all, WEIR__BINDINGS_MAX);
    CHECK(is_bound("p0/x", bindings, ID_A) && is_bound("p255", bindings, ID_A));
    CHECK(!is_bound("p256", bindings, ID_A));
    weir__bindings_free(bindings);
    refuse(all, WEIR__BINDINGS_MAX + 1, "256 prefixes");
    char keys[1024] = "a=";
    for (unsigned i = 0; i < WEIR__BINDING_KEYS_MAX; i++) {
        char id[WEIR__KEYID_TEXT];
        struct weir__key key = help_key(i);
        weir__key_id_print(&key.id, id);
        snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", i ? "+" : "", id);
    }
    CHECK(!weir__binding_check(keys));
    snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "+" ID_A);
    CHECK_HAS(weir__binding_check(keys), "at most 16 keys");
}

/* b3sum says what the key of a question is. */
TEST(keys_of_questions)
{
    struct weir__question name = {.kind = WEIR__ASK_NAME, .name = help_name("team/site")};
    struct weir__question other = {.kind = WEIR__ASK_NAME, .name = help_name("team/sitf")};
    struct weir__question providers = {.kind = WEIR__ASK_PROVIDERS, .address = help_address(1)};
    struct weir__question_key key, second;
    char hex[65];
    weir__question_key_of(&name, &key);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", key.bytes[i]);
    CHECK_STR(hex, "367caf1d80df10f3f5c8a59d4ebcba33b39f53494155151e36fdd228443ff42c");
    weir__question_key_of(&other, &second);
    CHECK(memcmp(&key, &second, sizeof(key)) != 0);
    weir__question_key_of(&providers, &second);
    CHECK(memcmp(&key, &second, sizeof(key)) != 0);
}

TEST(what_answers_a_question)
{
    struct weir__question name = {.kind = WEIR__ASK_NAME, .name = help_name("team/site")};
    struct weir__question providers = {.kind = WEIR__ASK_PROVIDERS, .address = help_address(1)};
    struct weir__name other = help_name("team/sit");
    struct weir__record of_name = help_name_record(&name.name, 1);
    struct weir__record of_other = help_name_record(&other, 1);
    struct weir__record provider = help_provider(&providers.address, 1);
    CHECK(weir__question_fits(&name, &of_name) && !weir__question_fits(&name, &of_other));
    CHECK(!weir__question_fits(&name, &provider));
    CHECK(weir__question_fits(&providers, &provider) && !weir__question_fits(&providers, &of_name));
    provider.address = help_address(2);
    CHECK(!weir__question_fits(&providers, &provider));
    /* A name that leads to the address provides nothing. */
    of_name.address = providers.address;
    CHECK(!weir__question_fits(&providers, &of_name));
}

TAP_MAIN()
