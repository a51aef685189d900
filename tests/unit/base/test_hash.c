/* test_hash.c - the official vectors, b3sum as a second opinion, and cuts that must not matter. */
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define HEX_SIZE  (2 * WEIR__HASH_SIZE + 1)
#define INPUT_MAX (1u << 20)

static unsigned char input[INPUT_MAX];

/* The input of the official vectors: 0, 1, ... 250, 0, 1, ... */
static void fill(void)
{
    for (size_t i = 0; i < INPUT_MAX; i++)
        input[i] = (unsigned char)(i % 251);
}

static void to_hex(const unsigned char digest[WEIR__HASH_SIZE], char hex[HEX_SIZE])
{
    for (int i = 0; i < WEIR__HASH_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void hash_hex(const void *bytes, size_t count, char hex[HEX_SIZE])
{
    struct weir__hash hash;
    unsigned char digest[WEIR__HASH_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes, count);
    weir__hash_final(&hash, digest);
    to_hex(digest, hex);
}

TEST(agrees_with_the_official_vectors)
{
    static const struct {
        size_t length;
        const char *hex;
    } vectors[] = {
        {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
        {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
        {63, "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b"},
        {64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98"},
        {65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee"},
        {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
        {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
        {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
        {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
        {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
        {8192, "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63"},
        {31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"},
        {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"},
    };
    fill();
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char hex[HEX_SIZE];
        hash_hex(input, vectors[i].length, hex);
        CHECK_STR(hex, vectors[i].hex);
    }
}

TEST(does_not_depend_on_the_cuts)
{
    fill();
    char whole[HEX_SIZE], cut[HEX_SIZE];
    static const size_t steps[] = {1, 7, 63, 64, 65, 1000, 1024, 4096, 70001};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        size_t length = steps[i] < 100 ? 20011 : INPUT_MAX - 3;
        struct weir__hash hash;
        weir__hash_init(&hash);
        for (size_t at = 0; at < length; at += steps[i]) {
            size_t left = length - at;
            weir__hash_update(&hash, input + at, left < steps[i] ? left : steps[i]);
            weir__hash_update(&hash, NULL, 0);
        }
        unsigned char digest[WEIR__HASH_SIZE];
        weir__hash_final(&hash, digest);
        to_hex(digest, cut);
        hash_hex(input, length, whole);
        CHECK_STR(cut, whole);
    }
}

TEST(goes_on_after_a_digest)
{
    fill();
    struct weir__hash hash;
    unsigned char first[WEIR__HASH_SIZE], second[WEIR__HASH_SIZE];
    weir__hash_init(&hash);
    weir__hash_update(&hash, input, 5000);
    weir__hash_final(&hash, first);
    weir__hash_update(&hash, input + 5000, 5000);
    weir__hash_final(&hash, second);
    char hex[HEX_SIZE], whole[HEX_SIZE];
    to_hex(second, hex);
    hash_hex(input, 10000, whole);
    CHECK_STR(hex, whole);
    to_hex(first, hex);
    hash_hex(input, 5000, whole);
    CHECK_STR(hex, whole);
}

/* What b3sum says about a file; false when it cannot be run. */
static bool ask_b3sum(const char *path, char hex[HEX_SIZE])
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        execlp("b3sum", "b3sum", "--no-names", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t got = 0;
    ssize_t count;
    while (got < HEX_SIZE - 1 && (count = read(ends[0], hex + got, HEX_SIZE - 1 - got)) > 0)
        got += (size_t)count;
    hex[got] = '\0';
    close(ends[0]);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return false;
    CHECK_EQ(status, 0);
    return true;
}

TEST(agrees_with_b3sum)
{
    fill();
    static const size_t lengths[] = {0,    1,    2,    63,    64,    65,     127,    128,
                                     129,  1023, 1024, 1025,  2047,  2048,   2049,   3072,
                                     4096, 8191, 8192, 16385, 65536, 262144, 262145, INPUT_MAX};
    const char *folder = getenv("TMPDIR");
    char path[512], theirs[HEX_SIZE], ours[HEX_SIZE];
    snprintf(path, sizeof(path), "%s/weir-hash-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        bool is_written =
            ftruncate(fd, 0) == 0 && pwrite(fd, input, lengths[i], 0) == (ssize_t)lengths[i];
        bool is_there = is_written && ask_b3sum(path, theirs);
        if (!is_there || i + 1 == sizeof(lengths) / sizeof(lengths[0]))
            unlink(path);
        CHECK(is_written);
        if (!is_there) {
            printf("# no b3sum here: skipped\n");
            break;
        }
        hash_hex(input, lengths[i], ours);
        CHECK_STR(ours, theirs);
    }
    close(fd);
}

TAP_MAIN()
