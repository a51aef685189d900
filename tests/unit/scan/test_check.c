/* test_check.c - every check knows what is right and what was changed.
 *
 * The secrets below were made for this test from random numbers, or are the published examples of a
 * format. Prefixes stand apart from the rest, so that the file holds nothing that looks live.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "check_part.h"
#include "tap.h"

#include "banned.h"

#define ENTROPY_ERROR_MAX 1e-8

static const struct vector {
    const char *check, *secret;
    bool has_sum; /* a change of any character behind the prefix is noticed */
} vectors[] = {
    {"github",
     "ghp_"
     "J1UinjgrcAMBiinpSeCwyl6u2FXhB91eEOYc",
     true},
    {"github",
     "gho_"
     "5YwVAtWqnjjLLsxn8NTNyeBY2dR0Nx2OhvME",
     true},
    {"github",
     "ghu_"
     "ZJnmKvcMOywpK5lDqn62Qe6SezSzMl06wkab",
     true},
    {"github",
     "ghs_"
     "Ys7Fu77JwdGpdMf01G8JvhIrex9bfi0FtLIJ",
     true},
    {"github",
     "ghr_"
     "9K9eoYYALXN7WqyTNcsIYa7guxzowj2SpKLf",
     true},
    {"github",
     "github_pat_"
     "bOc7q3QSB9DCZsooGmQu1R_y7HvCmP1jhs6Z4ZDxtcFc1G8RSpNRx6APdV1LF7ks1X7VNfEYfdMhV0lyoc",
     false},
    {"npm",
     "npm_"
     "qkJaB6MffYVzZXWqmcoF49yrUxP3wf0LsakP",
     true},
    {"npm",
     "npm_"
     "FQGn0VLm6SGhC3FFHhh5HiMuqJArB515ZAqF",
     true},
    {"gitlab-routable",
     "glpat-"
     "bzoxCnU6MTY0MgHvTSroPY9Kh1i2EBmUU34Q.100el0ene",
     true},
    {"gitlab-routable",
     "glrt-"
     "bzoxCnU6ZGY2uUEB--Oz9HorW1uvBzR_6RA.01.0z1me3vgl",
     true},
    {"gitlab-routable",
     "glpat-"
     "3YTQxUlb9wYrAcLSaL3k",
     false},
    {"grafana",
     "glsa_"
     "yscW25imSKJIuav8zF37RZmnbiDvB05G_fcaaf58a",
     true},
    {"grafana",
     "glsa_"
     "mm3bejLdE9NrTJJ62FYWkZpeTw4SLi4o_5dc5af2a",
     true},
    {"age",
     "AGE-SECRET-KEY-1"
     "NANENV575TVGW20LWAYFTJVD86N0JWUQM749U2UDMVVWC8YFFV2S9VZ8KW",
     true},
    {"age",
     "AGE-SECRET-KEY-1"
     "GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX",
     true},
    {"bitcoin-wif", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", true},
    {"bitcoin-wif", "L3QhJWuZXvqp8NMtXreFM8DriiDCEo18gm2qApwNQViyxVC6mjAe", true},
    {"bitcoin-wif", "cNtmSVv2tDtMVjEiGpirHWnpZDXE5vTBu6ATZjrG9ZXUnLu5zvhZ", true},
    {"pypi",
     "pypi-"
     "AgEIcHlwaS5vcmcCJDRmMWM3YTUyLTZhMGUtNGI2ZS05ZDJiLTZjM2E1ZTFmOGIwNwACnQF7InBlcm1pc3Npb25zIjogI"
     "nVzZXIiLCAidmVyc2lvbiI6IDF9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"
     "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICA"
     "gAAAGILtwFufOO3QMP6vHumKwTSAkOQfO9yYENIjTUCWN4Wzp",
     false},
    {"github",
     "ghr_"
     "GXy9KTUMAFGrM14gENAsIrsD3mbLFecbVjafQ4gGnRfXBkg8QysD4FIS0Xzm41PB2qs3531hxgnq",
     true},
    {"sentry-org",
     "sntrys_"
     "eyJpYXQiOiAxNzAxMjAwMzIzLjUsICJ1cmwiOiAiaHR0cHM6Ly9zZW50cnkuaW8iLCAicmVnaW9uX3VybCI6"
     "ICJodHRwczovL3VzLnNlbnRyeS5pbyIsICJvcmciOiAiYWNtZTIyIn0=_9milpvB1YfjfxWTNMWydqa3bYbR"
     "tgrVzULBKh+SVmvw",
     false},
    {"slack-webhook",
     "TYETJ6W4V/"
     "BLKY984O0/c6YOZq0M7qO60lI5QfecJUyG",
     false},
    {"slack-webhook",
     "TYETJ6W4V/"
     "A04KQ9Z1X2Y/412345678901234567/c6YOZq0M7qO60lI5QfecJUyG",
     false},
    {"slack",
     "xoxb-"
     "778139431184-6625573851237-Qawweojxb9bQg7I5uJ7SVUNF",
     false},
    {"slack",
     "xoxb-"
     "35020167095-fxXANXkM99MzY2twUxkohGqq",
     false},
    {"slack",
     "xoxp-"
     "108217803262-162427104271-248799556763-403fe37c7468e43eb9072753f5118a2e",
     false},
    {"slack",
     "xapp-"
     "1-A8590648727-0679397023459-7a1f14808b3bc1e1e0615cbb2e6547eece8f1155e4d96f4b0db9c5323cfc22be",
     false},
    {"slack",
     "xoxe.xoxp-"
     "1-"
     "C8Ac7ZEl02ZtU5Z9fqJByTdIe5oY9xwuUAV9wUAccjJ3LzQbW9rfk3DUN7e5s7aKX488jcptw76ZwLBBSEBrXMsKBx3lJ"
     "JgQexpxxVSN0ed0HDXpqFTL1UeMkxY6SpCjXTvbA39mse3fJKVLj87CtjptqxZOT74A",
     false},
    {"slack",
     "xoxe-"
     "1-"
     "WPPIwcCweBSaNawPgJaubb347WX42HLat5goubUC7QckKMDbK5h7EXyqUe4baxh6yXywUkFC7La1iZJ31kvMIwHIDfSYi"
     "eeJhlpi3CeMIhfZlNLCl033jokMwFsQ0memrLxjHBVeJlDgKUOI",
     false},
    {"stripe",
     "sk_live_"
     "R1jMcg73QNEC2nmpBp4xFm7b",
     false},
    {"stripe",
     "rk_test_"
     "PBNv3n3qeVFXZyqoe6k2ax5BvsGUALlYM4gVQxObkXv7dFshxHE02Pvh0zly55klAwrQjMFhlqM9i8CfmblEU6Sg7L0OT"
     "HcqRRD",
     false},
    {"stripe",
     "whsec_"
     "WrzYGF4C4YdMmiSZOOvNNOvYQTiFmfns",
     false},
    {"jwt",
     "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9.eyJzdWIiOiAiYVwifWIiLCAibiI6IFsxLCB7IngiOiAyfV19."
     "hxQSkVMqSYkrVBho6H-3aOplR1Gw1CQ2cAo5AUK_Sp3",
     false},
    {"aws-key-id",
     "AKIA"
     "YOSFODNNXIACEWI7",
     false},
    {"aws-key-id",
     "AKIA"
     "IC3CDV4NQDYTTLNE",
     false},
    {"aws-secret", "ORPpzCLbtvgWsMPLspfB/yMc967zz2Y+TChwg6i9", false},
    {"pem",
     "-----BEGIN PRIVATE "
     "KEY-----\nMEb7bu8dt/JfwNxE1+aGo2lVi/45c+RE8FymDIA9uKr+D2P48EJNAKza/"
     "Mm0MN7G\ntDHDQEgQohThuqaOIWiqlzyQnzMJSW6E\n-----END PRIVATE KEY-----",
     false},
    {"pem",
     "-----BEGIN RSA PRIVATE "
     "KEY-----\\nMIGQYD8vb+4jogFObi2f3heXKv6z5Tpp2u1JpFW4GSJBJSlzv3uJTl+"
     "2xhvr9X4v\\ndcQ0VWWoNBBrEOvn0rJVUy8rpgyRgGw7rDYogdMQb5CjZ5jB3Q9JWE8KpG7o5dF6\\nnynYKwOvOoh7aN"
     "s7waNtcSKmvr2j9oPJ7IFqRIKMGCDwBcofaR6iCbvq06gW+CJF\\ndGDP\\n-----END RSA PRIVATE KEY-----\\n",
     false},
    {"pem",
     "-----BEGIN OPENSSH PRIVATE "
     "KEY-----\nb3BlbnNzaC1rZXktdjEARZCQmD9OmPexk5Lxrw+sgFJ7/"
     "+C88Csw+0EqzY1s7FJx\n6mwXtjjT5ytOCnqURFiW9WcME0MxNbX5lGA/"
     "RUDIIusBk8EP2oYVZPLit5b04O4t\nzENdy3fVDKnE\n-----END OPENSSH PRIVATE KEY-----",
     false},
    {"pem",
     "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
     "AES-128-CBC,00FF\n\nz3hx7LqHa6gKxzxY1zz/QvleflOsq+/"
     "zmOcE2PV5KIe1ynRGuQyiAEg133G1jvP4\nvEur7jPJ4S4UICGzVIZHuA4o05LNs/7el9qiowlYQK5a3Ndhpwvod89/"
     "oxBwta9W\n-----END RSA PRIVATE KEY-----",
     false},
    {"atlassian",
     "ATATT3"
     "eZJjLdwWmLK3yiOKhOuvSe3H90X-3LoE3KKkExl-bvrH-au7t2r_Glh3S__kkTGuEpJQ9N3VD9iKXWs3m_"
     "i8chuad57Oeum3iQduqyjZqAG_YmHWYH5Ojt4TlHQpVawf8gbM3n6G29M4soxonMYyDuSNjGdCZMCs9B0tenzyU-"
     "0hMYmwwJJ3=9DDDFA34",
     false},
    {"azure-storage",
     "OVqhS/hoAJwG947RI4itRIQjz/RTiFXelgnqqJIlUHhFAIUYxTaoNup90hjt2jeAYd9jftSkuT5EhNlv6na9HQ==",
     false},
    {"google-api",
     "AIza"
     "AUXDJQ28mQ6mWYebGdYTDZIbdApdFoWODZG",
     false},
    {"discord", "NzEyNjM5NjcyODA1MDMyNTQx.0lVHey.T1TeKH07NqPXAHk3LIKxFhl8_-x9yDqsjI1SAW", false},
    {"telegram", "6764854562:AA3MCSdTuXgiwhmEDd9b6xArpVVeSZzbyLQ", false},
    {"ethereum",
     "0x"
     "7e91376d7e4f46b10ca4e11b7257a60d0e53c3f137f4c1271980b50ca521e3db",
     false},
    {"ethereum", "62478c4404ab906b428f8f7984204ae796b49bce84c1cb05f6a2447e5dadf8f2", false},
    {"uuid", "4f1c7a52-6a0e-4b6e-9d2b-6c3a5e1f8b07", false},
    {"sendgrid",
     "SG."
     "MFaxL_veWSr-lCaPnFzpaE.QOK22Jt8seeSLzCBZlRKggNAUce2LLf4TztcOnFflU9",
     false},
    {"twilio",
     "SK"
     "30e8fbb70fc56e7221482cc337e3b72d",
     false},
    {"twilio",
     "AC"
     "1943cb221f4746bc62124e9ad186a9d4",
     false},
    {"shopify",
     "shpat_"
     "502a72ab5010985c403d3b2cec2358f2",
     false},
    {"digitalocean",
     "dop_v1_"
     "50aab26a1933d7d6324d6a0eaafdcd12370ec217f4fd095a2f141e7a19b93c76",
     false},
    {"dockerhub",
     "dckr_pat_"
     "OGnyOpkhDzlpipzaTnrkQ_cHbNf",
     false},
    {"huggingface",
     "hf_"
     "FSZDqHyzVOyMrkAcagfVTKjKDpJUVQijEY",
     false},
    {"openai",
     "sk-"
     "zx3V7WlskGxHzPxhxhhxT3BlbkFJnjjd3pS3nPz8kK6NEglC",
     false},
    {"openai",
     "sk-proj-"
     "hgoB3quHDcx6UcGTTA8aVbNhIPNrbsJAS8t-UGw6T853V_"
     "oLaU5Nc01NfZPGs7XDZhbs62bsjpT3BlbkFJRLGT9SIZ3FILMRw5qzItZpXtpToH4DTK9NqD6W46nb1vtZsWrGFPswxYY"
     "cx6HeLph6ADd6Ha4F",
     false},
    {"anthropic",
     "sk-ant-"
     "api03-u2AALFUI0gvnKz0k7LxDBg0lovSqngt_"
     "6PWqlr1c6AW7VYmGt6QSfcHa5YmKk9LpTb7pE7cvEdEC3nLtlHYujL2Pykzp5AA",
     false},
    {"planetscale",
     "pscale_tkn_"
     "k0zY5nZuoKnSAGQfOkU6u1FcXSp7AJJfL0RQXSi8PN8",
     false},
    {"databricks",
     "dapi"
     "fcfd2add26547fd58b32c19b9520e63a",
     false},
    {"databricks",
     "dapi"
     "ff313b31d93fc801e8d29502570e8085-3",
     false},
    {"vault",
     "hvs."
     "BdZSQ7J-wcz2HqfX7ni5OBE4s2Q9QNycequ6zqlx8wLUH6LOWQesSmw7LrNaFgR4cPSAf2B0SJPGKcTiSsSeFolAeA",
     false},
    {"basic-auth", "YWRtaW46Y29ycmVjdCBob3JzZQ==", false},
    {"json-gcp",
     "{\"type\": \"service_account\", \"private_key_id\": \"ab\", \"private_key\": \"-----BEGIN "
     "PRIVATE KEY-----\\\\nMII\", \"client_email\": \"a@b\"}",
     false},
    {"not-placeholder", "9XKz0QflGVcS8P6DpHwSSMJaUDHXtMvJ", false},
    {"not-placeholder", "q4m8q4m8z1x7w3p9d5t2b6k0", false},         /* twice is no habit */
    {"not-placeholder", "7(r-1t^c5b*y9h&j3$(gl6p+d)f_s2a8", false}, /* no command */
    {"not-placeholder", "$(8r-1t^c5b*y9h&j3gl6p+d)f_s2a8", false},
    {"not-placeholder", "k9$(q)7x2m", false},
    {"not-placeholder", "test-k8Zq2vT7mXw4", false}, /* more than words */
    {"not-placeholder", "test_918273645546", false},
    {"not-placeholder", "winter-test-2024", false},
    {"random", "9XKz0QflGVcS8P6DpHwSSMJaUDHXtMvJ", false},
    {"random", "k8rcpuqwjd3lz9fnvbt2xgmyh7sdqk0p", false},
    {"random", "abcdeadbeecafe71ededacdebadcea0dfadedbeefacebead", false}, /* hexadecimal */
    {"letters", "GOuWgZYgYXCGYlbQcDnyVVXo", false},
    {"letters", "KqZrWpTxLmNvBcXzJhGfDsQwYtRp", false},
    {"letters", "qzkvwpxrtjmlcbnd", false},
    {"password", "x8Kq2LmZ7pRt", false},
    {"password", "VFomsXGcDI", false},       /* letters of both cases */
    {"password", "ubLHLEDxWgKErOro", false}, /* with pairs of words, but the case changes */
    {"password", "lBsQdMvR@gSa", false},
    {"password", "gz(gv,o\"kl9{Z", false},
    {"password", ")Kq7vZ$2mTxL", false},
    {"password", "$eL#%toC$lu1", false},
    {"password", "E(9;&&HX2C!3B8i(", false},
    {"password", "f4Ct6L5\\sF%\"bPUX", false},
    {"password", "/59yPEvdCr+Vj0kxWcUbPVjO", false},
    {"password", "Summer2024!", false},
    {"password", "ab;7Kq9!z", false},
};

#define VECTORS_COUNT (sizeof(vectors) / sizeof(vectors[0]))

static bool holds(const char *name, const char *secret)
{
    weir__check *check = weir__check_find(name);
    CHECK(check);
    /* A copy without a NUL behind it, so that a sanitizer sees what reads too far. */
    size_t length = strlen(secret);
    char *copy = malloc(length + !length);
    CHECK(copy);
    memcpy(copy, secret, length);
    bool result = check(copy, length);
    free(copy);
    return result;
}

TEST(names_are_found_and_sorted)
{
    size_t count = 0;
    for (const char *name; (name = weir__check_name(count)); count++) {
        CHECK(weir__check_find(name));
        CHECK(count == 0 || strcmp(weir__check_name(count - 1), name) < 0);
    }
    CHECK(count >= 34);
    CHECK(!weir__check_find("") && !weir__check_find("none"));
}

TEST(every_check_has_a_vector_that_holds)
{
    for (size_t n = 0; weir__check_name(n); n++) {
        bool has_one = false;
        for (size_t i = 0; i < VECTORS_COUNT; i++)
            has_one |= strcmp(vectors[i].check, weir__check_name(n)) == 0;
        if (!has_one)
            tap_fail(__FILE__, __LINE__, "no vector for '%s'", weir__check_name(n));
    }
    for (size_t i = 0; i < VECTORS_COUNT; i++) {
        if (!holds(vectors[i].check, vectors[i].secret))
            tap_fail(__FILE__, __LINE__, "%s refuses '%s'", vectors[i].check, vectors[i].secret);
    }
}

TEST(a_part_or_more_of_a_secret_is_none)
{
    for (size_t i = 0; i < VECTORS_COUNT; i++) {
        const char *secret = vectors[i].secret;
        char text[1024];
        if (strcmp(vectors[i].check, "not-placeholder") == 0 ||
            strcmp(vectors[i].check, "random") == 0)
            continue;
        CHECK(strlen(secret) < sizeof(text) - 2);
        CHECK(!holds(vectors[i].check, ""));
        snprintf(text, sizeof(text), "%.3s", secret);
        CHECK(!holds(vectors[i].check, text));
        snprintf(text, sizeof(text), "%s ", secret);
        if (strcmp(vectors[i].check, "pem") != 0)
            CHECK(!holds(vectors[i].check, text));
        snprintf(text, sizeof(text), " %s", secret);
        CHECK(!holds(vectors[i].check, text));
    }
}

TEST(a_sum_notices_every_changed_character)
{
    for (size_t i = 0; i < VECTORS_COUNT; i++) {
        char text[1024];
        size_t length = strlen(vectors[i].secret);
        for (size_t at = 0; at < length && vectors[i].has_sum; at++) {
            memcpy(text, vectors[i].secret, length + 1);
            /* Without its dot a token of GitLab is one of the older form, which has no sum. */
            if (text[at] == '.')
                continue;
            text[at] = text[at] == 'Q' ? 'R' : 'Q';
            if (holds(vectors[i].check, text))
                tap_fail(__FILE__, __LINE__, "%s accepts '%s'", vectors[i].check, text);
        }
    }
}

static const struct vector wrong[] = {
    /* A refresh token with another sum; one character more. */
    {"github",
     "ghr_"
     "GXy9KTUMAFGrM14gENAsIrsD3mbLFecbVjafQ4gGnRfXBkg8QysD4FIS0Xzm41PB2qs3531hxgna",
     false},
    /* No organization; facts that are no JSON; a secret that is too short. */
    {"sentry-org",
     "sntrys_"
     "eyJpYXQiOiAxNzAwMDAwMDAwLjUsICJ1cmwiOiAiaHR0cHM6Ly9zZW50cnkuaW8iLCAibmFtZSI6ICJ4In0="
     "_9milpvB1YfjfxWTNMWydqa3bYbRtgrVzULBKh+SVmvw",
     false},
    {"sentry-org",
     "sntrys_"
     "XyJpYXQiOiAxNzAxMjAwMzIzLjUsICJ1cmwiOiAiaHR0cHM6Ly9zZW50cnkuaW8iLCAicmVnaW9uX3VybCI6"
     "ICJodHRwczovL3VzLnNlbnRyeS5pbyIsICJvcmciOiAiYWNtZTIyIn0=_9milpvB1YfjfxWTNMWydqa3bYbR"
     "tgrVzULBKh+SVmvw",
     false},
    {"sentry-org",
     "sntrys_"
     "eyJpYXQiOiAxNzAxMjAwMzIzLjUsICJ1cmwiOiAiaHR0cHM6Ly9zZW50cnkuaW8iLCAicmVnaW9uX3VybCI6"
     "ICJodHRwczovL3VzLnNlbnRyeS5pbyIsICJvcmciOiAiYWNtZTIyIn0=_9milpvB1YfjfxWTNMWydqa3bYbR"
     "tgrVzULBKh+SVmv",
     false},
    /* Another team letter, another application letter, a secret of 23, no number of a workflow. */
    {"slack-webhook", "XYETJ6W4V/BLKY984O0/c6YOZq0M7qO60lI5QfecJUyG", false},
    {"slack-webhook", "TYETJ6W4V/CLKY984O0/c6YOZq0M7qO60lI5QfecJUyG", false},
    {"slack-webhook", "TYETJ6W4V/BLKY984O0/c6YOZq0M7qO60lI5QfecJUy", false},
    {"slack-webhook", "TYETJ6W4V/A04KQ9Z1X2Y/c6YOZq0M7qO60lI5QfecJUyG", false},
    {"anthropic",
     "sk-ant-"
     "api03-short-AA",
     false},
    {"atlassian",
     "ATATT3"
     "xFfGF0notlongenough=0123ABCD",
     false},
    {"aws-key-id",
     "AKIA"
     "Q018Q018Q018Q018",
     false}, /* 0, 1 and 8 are not base32 */
    {"aws-key-id",
     "AKIA"
     "7777777777777777",
     false}, /* no account has so large a number */
    {"aws-secret", "da39a3ee5e6b4b0d3255bfef95601890afd80709", false},
    {"aws-secret", "abcdefghijklmnopqrstuvwxyzabcdefghijklmn", false},
    {"basic-auth", "YWRtaW4=", false},     /* no password */
    {"basic-auth", "OnBhc3N3b3Jk", false}, /* no user */
    {"discord", "YWJjZGVmZ2hpamtsbW5vcHFy.abcdef.abcdefghijklmnopqrstuvwxyz0", false},
    {"ethereum", "0000000000000000000000000000000000000000000000000000000000000000", false},
    {"ethereum", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", false},
    {"ethereum", "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", false},
    {"json-gcp", "{\"type\": \"service_account\"}", false},
    {"jwt", "eyJ0eXAiOiJKV1QifQ.e30.c2ln", false},           /* without "alg" */
    {"jwt", "eyJhbGciOiJIUzI1NiJ9.bm90IGpzb24.c2ln", false}, /* the payload is no JSON */
    {"openai",
     "sk-"
     "aaaaaaaaaaaaaaaaaaaaT3BlbkFJbbbb",
     false},
    {"pem", "-----BEGIN PRIVATE KEY-----\nMAQAAAAAMAQAAAAA\n-----END PUBLIC KEY-----", false},
    {"pem", "-----BEGIN PRIVATE KEY-----\nMAQAAAAAMAQAAAAA\n-----END PRIVATE KEY-----", false},
    {"pem", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", false},
    {"pypi",
     "pypi-"
     "AgEIcHlwaS5vcmcABCD1234efgh5678ijklmnopqrst",
     false},
    {"sendgrid",
     "SG."
     "short.parts",
     false},
    {"slack",
     "xoxb-"
     "853BAAEE-1B2eDb6A4c75-01bB6Da1CE3E98f6fED5AeC07Dc3E94C",
     false},
    {"telegram", "0123456789:AAabcdefghijklmnopqrstuvwxyz0123456", false},
    {"uuid", "00000000-0000-0000-0000-000000000000", false},
    {"uuid", "4f1c7a52-6a0e-0b6e-9d2b-6c3a5e1f8b07", false}, /* version 0 */
    {"uuid", "4f1c7a52-6a0e-4b6e-1d2b-6c3a5e1f8b07", false}, /* another variant */
    {"vault", "hvs.short", false},
    {"not-placeholder", "aaaaaaaaaaaaaaaa", false},
    {"not-placeholder", "1234567890abcdef", false},
    {"not-placeholder", "abababababababab", false},
    {"not-placeholder", "k7v2k7v2K7V2K7V2k7v2-_", false},
    {"not-placeholder", "x9_q4m8q4m8Q4M8q4m8q4m8", false},
    {"not-placeholder",
     "AKIA"
     "IOSFODNN7EXAMPLE",
     false},
    {"not-placeholder", "k3xXxXq9", false},
    {"not-placeholder", "your-api-key", false},
    {"not-placeholder", "<token>", false},
    {"not-placeholder", "${SECRET}", false},
    {"not-placeholder", "$(openssl", false},
    {"not-placeholder", "$(cat)", false},
    {"not-placeholder", "k7#q2-$(hostname)-9", false},
    {"not-placeholder", "test-db-1234", false},
    {"not-placeholder", "Test_User_7", false},
    {"not-placeholder", "fake.value", false},
    {"not-placeholder", "ChangeMe99", false},
    {"not-placeholder", "qrstuvwxyz42KQ", false},
    {"not-placeholder", "dop_v1_1234567812345678123456781234567812345678", false},
    {"not-placeholder", "", false},
    {"random", "", false},
    {"random", "9XKz0QflGVcSxxxxP6DpHwSSMJaUDHXt", false},
    {"random", "KqZrWpTxLmNvBcXzJhGfDsQwYtRp", false}, /* no digit */
    {"random", "primaryPartitionIdentifier01", false},
    {"random", "TOKEN_TYPE_IDENTIFIER_2", false},
    {"random", "production-frontend-readonly-3", false},
    {"random", "abTestVariantAssignment2024", false},
    {"letters", "GOuWgZYgYXCGYlb", false}, /* too short */
    {"letters", "GOuWgZYgYXCGYlb9cDnyVVXo", false},
    {"letters", "mysecretpassword", false},
    {"letters", "getTokenFromConfigurationFile", false},
    {"letters", "XMLHttpRequestFactoryBean", false},
    {"letters", "KQZRWPTXLMNVBCXZ", false},     /* as names of machines are */
    {"letters", "kqzrwpTxlmnvbcxzjhgf", false}, /* one capital: a name */
    {"letters", "GOuWgZYgYchangemeXCGYlbQ", false},
    {"password", "Kq7v(Z2", false}, /* too short */
    {"password", "", false},
    {"password", "x8changeme", false},
    {"password", "kqzrwptxlm", false},  /* small letters */
    {"password", "getPassword", false}, /* names */
    {"password", "PasswordHash", false},
    {"password", "kqzrwpTxlmnv", false},
    {"password", "correct-horse-2", false}, /* words */
    {"password",
     "Contrase\xc3\xb1"
     "a:1,",
     false},
    {"password", "$DB_PASSWORD_1", false}, /* references */
    {"password", "$name->pass[1]", false},
    {"password", "${PASSWORD1}", false},
    {"password", "%(db_password1)s", false},
    {"password", "%DB_PASS_1%", false},
    {"password", "@DB_PASS_1@", false},
    {"password", "*db_password_1", false},
    {"password", "vault:kq7/v2#x9", false}, /* places */
    {"password", "op://kq7/v2/x9", false},
    {"password", "/srv/kq7/v2.x9", false},
    {"password", "../kq7/v2.x9", false},
    {"password", "x:0:0:r7:/r7:/bin/b4", false},
    {"password", "2024-01-02T10:11:12Z", false}, /* numbers */
    {"password", "v12.34.56-7", false},
    {"password", "12.34.56.78+9", false},
    {"password", "kq7x(v2,x9)", false}, /* code */
    {"password", "kq7x[v2+9];", false},
    {"password", "kq7xv2z9,", false},
    {"password", "kq7->v2z9w", false},
    {"password", "Kq7::v2z9w", false},
    {"password", "k7||q8||z9x", false},
    {"password", "q7&user=k8x9z", false},
    {"password", "^(?=.*[0-9]).{8,20}$", false}, /* patterns, formats */
    {"password", "^[kq7-9]{8,20}$x", false},
    {"password", "^\\d{3}\\w+$k7q", false},
    {"password", "k7q%s:%d@8z9", false},
    {"password", "k7q8\\u00f6z9", false},
};

TEST(what_is_wrong_is_refused)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (holds(wrong[i].check, wrong[i].secret))
            tap_fail(__FILE__, __LINE__, "%s accepts '%s'", wrong[i].check, wrong[i].secret);
    }
}

TEST(only_what_people_wrote_is_dropped_by_a_check)
{
    CHECK(weir__check_is_gate("random") && weir__check_is_gate("not-placeholder"));
    CHECK(weir__check_is_gate("basic-auth"));
    CHECK(!weir__check_is_proof("random") && !weir__check_is_proof("not-placeholder"));
    CHECK(weir__check_is_gate("letters") && !weir__check_is_proof("letters"));
    CHECK(weir__check_is_gate("password") && !weir__check_is_proof("password"));
    CHECK(weir__check_is_proof("basic-auth") && weir__check_is_proof("github"));
    CHECK(!weir__check_is_gate("github") && !weir__check_is_gate("none"));
}

TEST(a_key_ends_with_the_label_that_it_began_with)
{
    CHECK(holds("pem", "-----BEGIN PRIVATE KEY-----\nMAoBAgMEBQYHCAkK\n-----END PRIVATE KEY-----"));
    CHECK(!holds("pem", "-----BEGIN PRIVATE KEY-----\nMAoBAgMEBQYHCAkK\n-----END PUBLIC KEY-----"));
    CHECK(!holds("pem", "-----BEGIN A KEY-----\nMAoBAgMEBQYHCAkK\n-----END PRIVATE KEY-----"));
    CHECK(!holds("pem", "-----BEGIN A KEY-----\nMAsBAgMEBQYHCAkK\n-----END A KEY-----"));
}

TEST(the_account_of_a_key_is_read_where_there_is_one)
{
    CHECK(holds("aws-key-id", "AKIA"
                              "OZW6VBVAZFJHJLQA")); /* older: none is in it */
    CHECK(!holds("aws-key-id", "AKIA"
                               "7ZW6VBVAZFJHJLQA")); /* beyond 12 digits */
}

TEST(a_macaroon_is_whole)
{
    char text[1024];
    for (size_t i = 0; i < VECTORS_COUNT; i++) {
        size_t length = strlen(vectors[i].secret);
        for (size_t cut = 1; cut < length && strcmp(vectors[i].check, "pypi") == 0; cut++) {
            snprintf(text, sizeof(text), "%.*s", (int)(length - cut), vectors[i].secret);
            CHECK(!holds("pypi", text));
        }
        /* By whole groups, so that it is base64 still. */
        snprintf(text, sizeof(text), "%s%.*sAAAA", vectors[i].secret, (int)((5 - length % 4) % 4),
                 "AAA");
        if (strcmp(vectors[i].check, "pypi") == 0)
            CHECK(!holds("pypi", text));
    }
}

TEST(sums_are_those_of_the_standards)
{
    uint8_t digest[32], bytes[8];
    size_t count;
    CHECK_EQ(weir__check_crc32("123456789", 9), 0xcbf43926);
    CHECK_EQ(weir__check_crc32("", 0), 0);
    weir__check_sha256((const uint8_t *)"abc", 3, digest);
    CHECK(digest[0] == 0xba && digest[1] == 0x78 && digest[31] == 0xad);
    weir__check_sha256((const uint8_t *)"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                       56, digest);
    CHECK(digest[0] == 0x24 && digest[1] == 0x8d && digest[31] == 0xc1);
    CHECK(weir__check_base64("Zm9vYmE=", 8, bytes, sizeof(bytes), &count) && count == 5);
    CHECK(memcmp(bytes, "fooba", 5) == 0);
    CHECK(weir__check_base64("Zm9vYg", 6, bytes, 2, &count) && count == 4);
    CHECK(!weir__check_base64("Zm9vY", 5, bytes, sizeof(bytes), &count));
    CHECK(!weir__check_base64("ab-/", 4, bytes, sizeof(bytes), &count));
    CHECK(!weir__check_base64("====", 4, bytes, sizeof(bytes), &count));
}

/* Bit by bit: squaring doubles the logarithm. */
static double slow_log2(double number)
{
    double result = 0;
    for (; number < 1; number *= 2)
        result -= 1;
    for (double bit = 0.5; bit > 1e-16; bit /= 2) {
        number *= number;
        if (number >= 2) {
            number /= 2;
            result += bit;
        }
    }
    return result;
}

TEST(entropy_is_that_of_the_definition)
{
    static char text[70000];
    unsigned seed = 7;
    CHECK(weir__entropy("", 0) == 0);
    CHECK(weir__entropy("aaaa", 4) == 0);
    CHECK(weir__entropy("abab", 4) == 1);
    CHECK(weir__entropy("abcd", 4) == 2);
    for (size_t length = 1; length < sizeof(text); length = length * 3 / 2 + 1) {
        size_t counts[256] = {0};
        double wanted = 0;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245 + 12345;
            text[i] = (char)(seed >> 16 & (length % 2 ? 0x0f : 0xff));
            counts[(uint8_t)text[i]]++;
        }
        for (size_t i = 0; i < 256; i++) {
            double share = (double)counts[i] / (double)length;
            wanted -= share > 0 ? share * slow_log2(share) : 0;
        }
        double error = weir__entropy(text, length) - wanted;
        CHECK(error < ENTROPY_ERROR_MAX && -error < ENTROPY_ERROR_MAX);
    }
    for (size_t i = 0; i < 256; i++)
        text[i] = (char)i;
    CHECK(weir__entropy(text, 256) == 8);
}

TAP_MAIN()
