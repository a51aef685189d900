/* Keys: the vectors of RFC 8032, forgeries, and files. */
#include "index_help.h"

static void unhex(unsigned char *bytes, const char *text)
{
    for (size_t i = 0; text[2 * i]; i++) {
        unsigned value;
        CHECK_EQ(sscanf(text + 2 * i, "%2x", &value), 1);
        bytes[i] = (unsigned char)value;
    }
}

/* Section 7.1, tests 1 to 3. */
static const struct {
    const char *seed, *public_key, *message, *signature;
} vectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
     "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
};

TEST(vectors_of_the_rfc)
{
    CHECK(!weir__key_load_library());
    CHECK(!weir__key_load_library());
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        unsigned char seed[32], public_key[32], message[4], signature[64], made[64];
        size_t length = strlen(vectors[i].message) / 2;
        struct weir__key key;
        unhex(seed, vectors[i].seed);
        unhex(public_key, vectors[i].public_key);
        unhex(message, vectors[i].message);
        unhex(signature, vectors[i].signature);
        weir__key_from_seed(&key, seed);
        CHECK_EQ(memcmp(key.public_key, public_key, 32), 0);
        weir__key_sign(&key, message, length, made);
        CHECK_EQ(memcmp(made, signature, 64), 0);
        CHECK(weir__key_verify(public_key, message, length, signature));
        weir__key_fini(&key);
        static const struct weir__key none;
        CHECK_EQ(memcmp(&key, &none, sizeof(key)), 0);
    }
}

TEST(each_bit_counts)
{
    static const char message[] = "what was signed";
    unsigned char signature[64], public_key[32], text[sizeof(message)];
    struct weir__key key = help_key(1), other = help_key(2);
    weir__key_sign(&key, message, sizeof(message), signature);
    memcpy(public_key, key.public_key, 32);
    memcpy(text, message, sizeof(text));
    CHECK(weir__key_verify(public_key, text, sizeof(text), signature));
    CHECK(!weir__key_verify(public_key, text, sizeof(text) - 1, signature));
    CHECK(!weir__key_verify(other.public_key, text, sizeof(text), signature));
    for (unsigned bit = 0; bit < 8 * 64; bit++) {
        signature[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK(!weir__key_verify(public_key, text, sizeof(text), signature));
        signature[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (unsigned bit = 0; bit < 8 * 32; bit++) {
        public_key[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK(!weir__key_verify(public_key, text, sizeof(text), signature));
        public_key[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (unsigned bit = 0; bit < 8 * sizeof(text); bit++) {
        text[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK(!weir__key_verify(public_key, text, sizeof(text), signature));
        text[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

/* With a key of small order, signatures can be made that fit to any message. */
TEST(keys_of_small_order_sign_nothing)
{
    static const char *const weak[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    };
    unsigned char public_key[32], signature[64] = {1};
    CHECK(!weir__key_load_library());
    for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++) {
        unhex(public_key, weak[i]);
        CHECK(!weir__key_verify(public_key, "x", 1, signature));
    }
}

TEST(new_keys_differ)
{
    struct weir__key a, b;
    CHECK(!weir__key_load_library());
    CHECK_EQ(weir__key_new(&a), 0);
    CHECK_EQ(weir__key_new(&b), 0);
    CHECK(memcmp(a.public_key, b.public_key, 32) != 0);
    CHECK(memcmp(&a.id, &b.id, sizeof(a.id)) != 0);
}

/* --- files --- */

static char folder[HELP_PATH], file[HELP_PATH + 16], why[WEIR__SIGN_KEY_WHY];

static void begin(void)
{
    CHECK(!weir__key_load_library());
    help_make_folder(folder);
    snprintf(file, sizeof(file), "%s/key", folder);
}

static void write_file(const char *text, mode_t mode)
{
    unlink(file);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, mode);
    CHECK(fd >= 0);
    CHECK_EQ(fchmod(fd, mode), 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

TEST(a_key_that_was_made_is_read)
{
    struct weir__key made, read;
    struct stat st;
    begin();
    CHECK_EQ(weir__key_make(&made, file, why), 0);
    CHECK_EQ(stat(file, &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    CHECK_EQ(st.st_size, 12 + 64 + 1);
    CHECK_EQ(weir__key_read(&read, file, why), 0);
    CHECK_EQ(memcmp(&made, &read, sizeof(made)), 0);
    /* Nothing else is left in the folder, and what is there is not replaced. */
    CHECK_EQ(weir__key_make(&read, file, why), -WEIR_E_EXISTS);
    CHECK_HAS(why, "not replaced");
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(rmdir(folder), 0);
    CHECK_EQ(weir__key_make(&made, file, why), -WEIR_E_NOT_FOUND);
    CHECK_HAS(why, "there is no such folder");
    CHECK_EQ(weir__key_read(&made, file, why), -WEIR_E_NOT_FOUND);
    CHECK_HAS(why, "weir key make");
}

TEST(paths_that_are_no_file)
{
    struct weir__key key;
    begin();
    snprintf(file, sizeof(file), "%s/", folder);
    CHECK_EQ(weir__key_make(&key, file, why), -WEIR_E_INVALID);
    CHECK_EQ(weir__key_make(&key, "", why), -WEIR_E_INVALID);
    CHECK_EQ(weir__key_read(&key, folder, why), -WEIR_E_INVALID);
    CHECK_HAS(why, "it is not a file");
    snprintf(file, sizeof(file), "%s/pipe", folder);
    CHECK_EQ(mkfifo(file, 0600), 0);
    CHECK_EQ(weir__key_read(&key, file, why), -WEIR_E_INVALID);
    help_remove(folder);
}

#define SEED "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"

TEST(texts_of_files)
{
    struct weir__key key;
    static const char *const bad[] = {"",
                                      SEED "\n",
                                      "weir-key-v1 " SEED,
                                      "weir-key-v1 " SEED " ",
                                      "weir-key-v1 " SEED "\n\n",
                                      "weir-key-v2 " SEED "\n",
                                      "weir-key-v1 g" SEED "\n",
                                      "weir-key-v1  d61b19deffd5a60ba844af492ec2cc44449c5697b326919"
                                      "703bac031cae7f60\n"};
    begin();
    write_file("weir-key-v1 " SEED "\n", 0600);
    CHECK_EQ(weir__key_read(&key, file, why), 0);
    unsigned char public_key[32];
    unhex(public_key, vectors[0].public_key);
    CHECK_EQ(memcmp(key.public_key, public_key, 32), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file(bad[i], 0600);
        CHECK_EQ(weir__key_read(&key, file, why), -WEIR_E_CORRUPT);
        CHECK_HAS(why, "it is not a key");
        CHECK(!strstr(why, "9d61b19d"));
    }
    help_remove(folder);
}

TEST(a_file_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0622, 0610};
    struct weir__key key;
    begin();
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        write_file("weir-key-v1 " SEED "\n", modes[i]);
        CHECK_EQ(weir__key_read(&key, file, why), -WEIR_E_DENIED);
        CHECK_HAS(why, "chmod 600");
    }
    write_file("weir-key-v1 " SEED "\n", 0400);
    CHECK_EQ(weir__key_read(&key, file, why), 0);
    char link[HELP_PATH + 16];
    snprintf(link, sizeof(link), "%s/link", folder);
    CHECK_EQ(symlink(file, link), 0);
    CHECK(weir__key_read(&key, link, why) < 0);
    CHECK_HAS(why, "symlink");
    help_remove(folder);
}

TAP_MAIN()
