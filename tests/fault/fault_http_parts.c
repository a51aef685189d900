/* fault_http_parts.c - the parts of src/http that take memory or touch files, with the n-th of
 * these failing: bodies that came packed, rings of keys, and tokens.
 *
 * Whatever fails: the call says so, and what it was given is as it was.
 */
#include <weir/error.h>

#include "capability_help.h"
#include "coding.h"
#include "packed.h"
#include "sweep.h"
#include "tap.h"

static char plain[4000], gzip[8000], zstd[8000];
static size_t gzip_length, zstd_length;

static void unpack(void)
{
    struct weir__decoder decoder;
    struct weir__buffer buffer;
    weir__decoder_init(&decoder);
    weir__buffer_init(&buffer, 1u << 20);
    for (enum weir__coding coding = WEIR__CODING_IDENTITY; coding <= WEIR__CODING_ZSTD; coding++) {
        bool is_gzip = coding == WEIR__CODING_GZIP, is_zstd = coding == WEIR__CODING_ZSTD;
        const char *body = is_gzip ? gzip : is_zstd ? zstd : plain;
        size_t length = is_gzip ? gzip_length : is_zstd ? zstd_length : sizeof(plain);
        size_t before = weir__buffer_length(&buffer);
        int result = weir__unpack(&decoder, coding, body, length, &buffer);
        CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
        CHECK_EQ(weir__buffer_length(&buffer), result == 0 ? sizeof(plain) : before);
        if (result == 0)
            CHECK(memcmp(weir__buffer_text(&buffer), plain, sizeof(plain)) == 0);
    }
    weir__buffer_fini(&buffer);
    weir__decoder_fini(&decoder);
}

TEST(bodies_that_came_packed)
{
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (char)(i * 2654435761u >> 13);
    gzip_length = pack_gzip(plain, sizeof(plain), gzip, sizeof(gzip));
    zstd_length = pack_zstd(plain, sizeof(plain), zstd, sizeof(zstd));
    sweep_cleanly(WEIR_FAULT_ALLOC, unpack, 5);
}

/* --- keys --- */

static char folder[64], keys[80];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/weir-fault-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(keys, sizeof(keys), "%s/keys", folder);
}

/* How many files there are; with is_removed, there are none afterwards. */
static int count_files(bool is_removed)
{
    int count = 0;
    char path[512];
    DIR *dir = opendir(keys);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' && strlen(entry->d_name) < 3)
            continue;
        count++;
        snprintf(path, sizeof(path), "%s/%s", keys, entry->d_name);
        if (is_removed)
            CHECK_EQ(unlink(path), 0);
    }
    if (dir)
        closedir(dir);
    return count;
}

/* A key is there, whole, when the call says so, and else not at all. One thing fails at a time, so
 * what was begun can be removed. */
static void add_and_load(void)
{
    char id[WEIR__KEY_ID_SIZE] = "", why[WEIR__KEY_WHY] = "";
    struct weir__keyring *ring = NULL;
    int added = weir__keyring_add(keys, id, why);
    CHECK(added == 0 ? id[0] != '\0' : id[0] == '\0' && why[0] != '\0');
    CHECK_EQ(count_files(false), added == 0 ? 1 : 0);
    int loaded = weir__keyring_load(&ring, keys, why);
    CHECK((loaded == 0) == (ring != NULL));
    CHECK(loaded < 0 || (added == 0 && weir__keyring_find(ring, id)));
    weir__keyring_free(ring);
    count_files(true);
    rmdir(keys);
}

TEST(keys_are_whole_or_not_there)
{
    make_folder();
    sweep_cleanly(WEIR_FAULT_IO, add_and_load, 15);
    sweep_cleanly(WEIR_FAULT_ALLOC, add_and_load, 2);
    CHECK_EQ(rmdir(folder), 0);
}

/* --- tokens --- */

static void mint(void)
{
    static const char *const caveats[] = {"method in GET"};
    char token[WEIR__TOKEN_SIZE] = "";
    unsigned char key[WEIR__KEY_SIZE] = {1};
    struct weir__keyring *ring = NULL;
    struct weir__token_grant grant;
    struct weir__token_request request = get("/o/x");
    const char *why;
    int result = weir__keyring_new(&ring, KEY_ID, key);
    CHECK(result == 0 || result == -WEIR_E_NO_MEMORY);
    if (result < 0)
        return;
    result = weir__token_mint(token, ring, caveats, 1);
    CHECK(result == 0 ? token[0] != '\0' : token[0] == '\0');
    if (result == 0)
        CHECK_EQ(weir__token_verify(&grant, ring, token, strlen(token), &request, &why), 0);
    weir__keyring_free(ring);
}

TEST(tokens)
{
    CHECK(!weir__token_load());
    sweep_cleanly(WEIR_FAULT_IO, mint, 1);
    sweep_cleanly(WEIR_FAULT_ALLOC, mint, 1);
}

TAP_MAIN()
