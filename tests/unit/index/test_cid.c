/* Tests of CIDs: those that the tools of the IPFS make, and those that nobody should. */
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "cid.h"
#include "tap.h"

/* The BLAKE3 of no bytes, and the CID that `ipfs block put --cid-codec raw --mhtype blake3` names
 * it by. */
#define EMPTY     "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
#define EMPTY_CID "bafkr4ifpcne3t5pzugtkaqcn5i3nzskjtpfslsnnyejlpte2spfoihzsmi"

static int parse(const char *text, struct weir__address *ret_address)
{
    return weir__cid_parse(text, strlen(text), ret_address);
}

static struct weir__address known(void)
{
    struct weir__address address;
    CHECK_EQ(weir__address_parse(EMPTY, strlen(EMPTY), &address), 0);
    return address;
}

TEST(printed_is_parsed)
{
    struct weir__address address = known(), back;
    char text[WEIR__CID_TEXT];
    weir__cid_print(&address, text);
    CHECK_EQ(strlen(text), WEIR__CID_TEXT - 1);
    CHECK_STR(text, EMPTY_CID);
    CHECK_EQ(parse(text, &back), 0);
    CHECK(weir__address_is_equal(&address, &back));
}

/* Each is 01 55 1e 20 and the bytes 00 to 1f, as the tools of multiformats write it. */
TEST(one_cid_in_all_bases)
{
    static const char *const texts[] = {
        "f01551e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "F01551E20000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
        "bafkr4iaaaebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4",
        "BAFKR4IAAAEBAGBAFAYDQQCIKBMGA2DQPCAIREEYUCULBOGAZDINRYHI6D4",
        "k2cx9ipmbsbm045wi8f5rhopkx44thaj64dvv2hf7tmnt2eq6zgbpnhb",
        "K2CX9IPMBSBM045WI8F5RHOPKX44THAJ64DVV2HF7TMNT2EQ6ZGBPNHB",
        "zb38S5yJeg8caWexjF6HxWgni1J52bdqY3LygbWdjhuutNPmQ",
        "mAVUeIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
        "uAVUeIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct weir__address address;
        memset(&address, 0xff, sizeof(address));
        CHECK_EQ(parse(texts[i], &address), 0);
        for (unsigned k = 0; k < WEIR__ADDRESS_SIZE; k++)
            CHECK_EQ(address.bytes[k], k);
    }
}

/* Bytes in which the two alphabets differ. */
TEST(the_two_kinds_of_base64)
{
    struct weir__address plain, url, other = {{7}};
    CHECK_EQ(parse("mAVUeIPv//vv//vv//vv//vv//vv//vv//vv//vv//vv//vv/", &plain), 0);
    CHECK_EQ(parse("uAVUeIPv__vv__vv__vv__vv__vv__vv__vv__vv__vv__vv_", &url), 0);
    CHECK(weir__address_is_equal(&plain, &url));
    CHECK_EQ(plain.bytes[0], 0xfb);
    CHECK_EQ(parse("uAVUeIPv//vv//vv//vv//vv//vv//vv//vv//vv//vv//vv/", &other), -WEIR_E_INVALID);
    CHECK_EQ(parse("mAVUeIPv__vv__vv__vv__vv__vv__vv__vv__vv__vv__vv_", &other), -WEIR_E_INVALID);
    CHECK_EQ(other.bytes[0], 7);
}

TEST(the_codec_does_not_matter)
{
    struct weir__address address;
    CHECK_EQ(parse("f01711e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                   &address),
             0);
    CHECK_EQ(address.bytes[31], 31);
}

TEST(other_hashes_are_cids_of_nothing_here)
{
    static const char *const texts[] = {
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n",
        "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
        "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
        "f01551e1000112233445566778899aabbccddeeff", /* blake3, of 16 bytes */
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct weir__address address;
        CHECK_EQ(parse(texts[i], &address), -WEIR_E_NOT_FOUND);
    }
}

TEST(what_is_no_cid)
{
    static const char *const texts[] = {
        "",
        "b",
        "f",
        "x",
        EMPTY,
        "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1",  /* one digit short */
        "Qm0fTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n", /* 0 is no digit of base58 */
        "f01551e20000102",                                /* the hash is cut */
        "f02551e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",   /* version */
        "f01551e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00", /* too long
                                                                                        */
        "f0155009e00", /* a number that is not its shortest */
        "f8101551e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "f01d5001e20000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "f01551e2",
        "f01551e2g",
        "bafkr4iaaaebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d5",  /* bits behind the end */
        "bafkr4iaaaebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4a", /* a digit too many */
        "bAFKR4IAAAEBAGBAFAYDQQCIKBMGA2DQPCAIREEYUCULBOGAZDINRYHI6D4",  /* the wrong case */
        "f01ffffffffffffffffff01",
        "m",
        "u",
        "mAVUeIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f=", /* padding is another base */
        "mAVUeIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fA", /* a digit too many */
        "uAVUeIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4",   /* one too few */
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct weir__address address = {{7}};
        CHECK_EQ(parse(texts[i], &address), -WEIR_E_INVALID);
        CHECK_EQ(address.bytes[0], 7);
    }
}

TEST(too_long_is_none)
{
    char text[600];
    struct weir__address address;
    for (size_t length = 1; length < sizeof(text) - 1; length++) {
        memset(text, 'z', length);
        text[length] = '\0';
        CHECK(parse(text, &address) < 0);
    }
    CHECK_EQ(weir__cid_parse("b\0aaaa", 6, &address), -WEIR_E_INVALID);
}

TEST(ids_of_peers)
{
    unsigned char key[WEIR__PUBLIC_KEY_SIZE];
    char text[WEIR__PEER_TEXT];
    for (unsigned i = 0; i < sizeof(key); i++)
        key[i] = (unsigned char)i;
    weir__peer_print(key, text);
    CHECK_STR(text, "12D3KooW9pP4Seg3kZYhySpuVjn1RPdQBsUFZKiFxGMGQN5MeL6A");
}

TEST(urls_of_providers)
{
    static const struct {
        const char *url, *wanted;
    } rows[] = {
        {"https://store.example", "/dns/store.example/tcp/443/tls/http"},
        {"https://store.example/", "/dns/store.example/tcp/443/tls/http"},
        {"http://10.0.0.7:8470", "/ip4/10.0.0.7/tcp/8470/http"},
        {"http://[2001:db8::1]:80/a/b", "/ip6/2001:db8::1/tcp/80/http/http-path/a%2Fb"},
        {"http://h/x?y", "/dns/h/tcp/80/http/http-path/x%3Fy"},
    };
    char text[WEIR__MULTIADDR_TEXT];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_EQ(weir__multiaddr_print(rows[i].url, text), 0);
        CHECK_STR(text, rows[i].wanted);
    }
    CHECK_EQ(weir__multiaddr_print("ftp://h/", text), -WEIR_E_INVALID);
    CHECK_EQ(weir__multiaddr_print("", text), -WEIR_E_INVALID);
}

TAP_MAIN()
