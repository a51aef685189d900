/* Tests of src/daemon/quota.c: limits, holds, many at once, the file, and a table that is full. */
#include "quota.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/crew.h>
#include <weir/error.h>

#include "tap.h"

#define A "00000000000000aa"
#define B "00000000000000bb"

static const struct weir__quota_limits limits = {.bytes = 1000, .objects = 5};

static struct weir__quota *memory(void)
{
    char why[WEIR__QUOTA_WHY];
    struct weir__quota *quota;
    CHECK_EQ(weir__quota_open(&quota, NULL, why), 0);
    return quota;
}

static int reserve(struct weir__quota *quota, const char *id, uint64_t bytes,
                   struct weir__quota_hold *hold)
{
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char why[WEIR__QUOTA_WHY];
    *hold = (struct weir__quota_hold){0};
    int error = weir__quota_reserve(quota, id, &limits, bytes, hold, &reason, why);
    CHECK(error == 0 || error == -WEIR_E_FORBIDDEN);
    CHECK_EQ(error == 0, reason == WEIR__QUOTA_REASONS);
    return error;
}

static void store(struct weir__quota *quota, const char *id, uint64_t bytes)
{
    struct weir__quota_hold hold;
    CHECK_EQ(reserve(quota, id, bytes, &hold), 0);
    weir__quota_keep(&hold, bytes);
}

static void check_usage(struct weir__quota *quota, const char *id, uint64_t bytes, uint64_t objects,
                        uint64_t held_bytes, uint64_t held_objects)
{
    struct weir__quota_usage usage;
    CHECK(weir__quota_read(quota, id, &usage));
    CHECK_EQ(usage.bytes, bytes);
    CHECK_EQ(usage.objects, objects);
    CHECK_EQ(usage.held_bytes, held_bytes);
    CHECK_EQ(usage.held_objects, held_objects);
}

TEST(bytes_end_at_the_limit)
{
    struct weir__quota *quota = memory();
    struct weir__quota_hold hold = {0};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char why[WEIR__QUOTA_WHY] = "";
    store(quota, A, 600);
    CHECK_EQ(weir__quota_reserve(quota, A, &limits, 401, &hold, &reason, why), -WEIR_E_FORBIDDEN);
    CHECK_EQ(reason, WEIR__QUOTA_BYTES);
    CHECK_STR(why,
              "the quota of this token is used up: 600 of 1000 bytes, and the upload may need 401");
    CHECK_EQ(reserve(quota, A, UINT64_MAX, &hold), -WEIR_E_FORBIDDEN);
    store(quota, A, 400);
    CHECK_EQ(reserve(quota, A, 1, &hold), -WEIR_E_FORBIDDEN);
    store(quota, A, 0);
    store(quota, B, 1000);
    check_usage(quota, A, 1000, 3, 0, 0);
    weir__quota_free(quota);
}

TEST(objects_end_at_the_limit)
{
    struct weir__quota *quota = memory();
    struct weir__quota_hold hold = {0};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char why[WEIR__QUOTA_WHY] = "";
    for (int i = 0; i < 5; i++)
        store(quota, A, 1);
    CHECK_EQ(weir__quota_reserve(quota, A, &limits, 1, &hold, &reason, why), -WEIR_E_FORBIDDEN);
    CHECK_EQ(reason, WEIR__QUOTA_OBJECTS);
    CHECK_STR(why, "the quota of this token is used up: 5 of 5 objects");
    weir__quota_free(quota);
}

TEST(what_is_held_counts_until_it_is_given_back)
{
    struct weir__quota *quota = memory();
    struct weir__quota_hold one, two, moved = {0};
    CHECK_EQ(reserve(quota, A, 700, &one), 0);
    check_usage(quota, A, 0, 0, 700, 1);
    CHECK_EQ(reserve(quota, A, 301, &two), -WEIR_E_FORBIDDEN);
    weir__quota_move(&moved, &one);
    weir__quota_give(&one); /* empty: nothing */
    check_usage(quota, A, 0, 0, 700, 1);
    weir__quota_give(&moved);
    weir__quota_give(&moved);
    check_usage(quota, A, 0, 0, 0, 0);
    CHECK_EQ(reserve(quota, A, 1000, &two), 0);
    weir__quota_keep(&two, 10); /* it was packed, or not as long as was said */
    check_usage(quota, A, 10, 1, 0, 0);
    weir__quota_free(quota);
}

TEST(no_limit_is_no_limit)
{
    struct weir__quota *quota = memory();
    const struct weir__quota_limits none = {0};
    struct weir__quota_hold hold = {0};
    enum weir__quota_reason reason;
    char why[WEIR__QUOTA_WHY];
    store(quota, A, 1000);
    CHECK_EQ(weir__quota_reserve(quota, A, &none, 1u << 30, &hold, &reason, why), 0);
    weir__quota_give(&hold);
    /* A limit that was made smaller than what is there refuses, and nothing else. */
    const struct weir__quota_limits small = {.bytes = 10};
    CHECK_EQ(weir__quota_reserve(quota, A, &small, 0, &hold, &reason, why), -WEIR_E_FORBIDDEN);
    weir__quota_free(quota);
}

/* --- many at once --- */

#define THREADS 4
#define AT_ONCE 8

struct many {
    struct weir__quota *quota;
    struct weir_crew *crew;
};

/* Takes what it can get, some of which it keeps. */
static int many_main(struct weir_crew_self *self, void *arg)
{
    const struct weir__quota_limits wide = {.bytes = 1000};
    struct many *many = arg;
    struct weir__quota_usage usage;
    enum weir__quota_reason reason;
    char why[WEIR__QUOTA_WHY];
    (void)self;
    for (int i = 0; i < 2000; i++) {
        struct weir__quota_hold holds[AT_ONCE] = {{0}};
        for (int k = 0; k < AT_ONCE; k++)
            (void)!weir__quota_reserve(many->quota, A, &wide, 150, &holds[k], &reason, why);
        CHECK(weir__quota_read(many->quota, A, &usage));
        CHECK(usage.bytes + usage.held_bytes <= 1000);
        if (i % 500 == 0)
            weir__quota_keep(&holds[0], 100);
        for (int k = 0; k < AT_ONCE; k++)
            weir__quota_give(&holds[k]);
    }
    return 0;
}

TEST(many_at_once_never_have_more)
{
    struct many many = {.quota = memory()};
    struct weir__quota_usage usage;
    struct weir_deadline deadline = weir_deadline_in(50 * WEIR_NS_PER_S, NULL);
    CHECK_EQ(weir_crew_new(&many.crew, "many", NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(weir_crew_start(many.crew, "many", many_main, &many), 0);
    CHECK_EQ(weir_crew_wait(many.crew, &deadline), 0);
    CHECK_EQ(weir_crew_drain(many.crew, NULL), 0);
    weir_crew_free(many.crew);
    CHECK(weir__quota_read(many.quota, A, &usage));
    CHECK(usage.bytes <= 1000 && usage.bytes == usage.objects * 100);
    CHECK_EQ(usage.held_bytes, 0);
    CHECK_EQ(usage.held_objects, 0);
    weir__quota_free(many.quota);
}

/* --- the file --- */

static char folder[64];

static void new_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/weir-quota-XXXXXX");
    CHECK(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/quotas", folder);
    unlink(path);
    CHECK_EQ(rmdir(folder), 0); /* and nothing else is in it */
}

static int open_folder(struct weir__quota **ret_quota)
{
    char why[WEIR__QUOTA_WHY] = "";
    int error = weir__quota_open(ret_quota, folder, why);
    CHECK(error == 0 || why[0] != '\0');
    return error;
}

static void write_file(const char *text, size_t length)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/quotas", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_EQ(write(fd, text, length), length);
    close(fd);
}

TEST(use_outlives_the_process)
{
    struct weir__quota *quota;
    struct weir__quota_hold hold;
    new_folder();
    CHECK_EQ(open_folder(&quota), 0);
    CHECK_EQ(weir__quota_save(quota), 0);
    store(quota, A, 100);
    store(quota, A, 50);
    store(quota, B, 1);
    CHECK_EQ(reserve(quota, "00000000000000cc", 77, &hold), 0); /* held: not written */
    CHECK_EQ(weir__quota_save(quota), 0);
    weir__quota_give(&hold);
    weir__quota_free(quota);
    CHECK_EQ(open_folder(&quota), 0);
    check_usage(quota, A, 150, 2, 0, 0);
    check_usage(quota, B, 1, 1, 0, 0);
    CHECK_EQ(weir__quota_tokens(quota), 2);
    weir__quota_free(quota);
    remove_folder();
}

TEST(nothing_is_written_when_nothing_has_changed)
{
    struct weir__quota *quota;
    struct weir__quota_hold hold;
    char path[128];
    new_folder();
    snprintf(path, sizeof(path), "%s/quotas", folder);
    CHECK_EQ(open_folder(&quota), 0);
    CHECK_EQ(reserve(quota, A, 1, &hold), 0);
    weir__quota_give(&hold);
    CHECK_EQ(weir__quota_save(quota), 0);
    CHECK(access(path, F_OK) != 0);
    store(quota, A, 1);
    CHECK_EQ(weir__quota_save(quota), 0);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(weir__quota_save(quota), 0);
    CHECK(access(path, F_OK) != 0);
    store(quota, A, 1);
    CHECK_EQ(weir__quota_save(quota), 0);
    CHECK(access(path, F_OK) == 0);
    weir__quota_free(quota);
    remove_folder();
}

TEST(what_is_damaged_is_refused)
{
    static const char *const bad[] = {
        "",
        "weir-quotas 1\n",
        "weir-quotas 2\nend 0\n",
        "weir-quotas 1\nend 1\n",
        "weir-quotas 1\nend 0",
        "weir-quotas 1\nend 0\nx",
        "weir-quotas 1\n" A " 1 1\n",
        "weir-quotas 1\n" A " 1 1\nend 2\n",
        "weir-quotas 1\n" A " 1 1\n" A " 1 1\nend 2\n",
        "weir-quotas 1\n" A " 1\nend 1\n",
        "weir-quotas 1\n" A " 1 1 1\nend 1\n",
        "weir-quotas 1\n" A "  1 1\nend 1\n",
        "weir-quotas 1\n" A " -1 1\nend 1\n",
        "weir-quotas 1\n" A " 99999999999999999999 1\nend 1\n",
        "weir-quotas 1\n0000000000000AAA 1 1\nend 1\n",
        "weir-quotas 1\nabc 1 1\nend 1\n",
    };
    struct weir__quota *quota;
    new_folder();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file(bad[i], strlen(bad[i]));
        CHECK_EQ(open_folder(&quota), -WEIR_E_CORRUPT);
    }
    write_file("weir-quotas 1\nend 0\n", 21); /* with its NUL */
    CHECK_EQ(open_folder(&quota), -WEIR_E_CORRUPT);
    write_file("weir-quotas 1\n" A " 7 1\nend 1\n", 14 + 21 + 6);
    CHECK_EQ(open_folder(&quota), 0);
    check_usage(quota, A, 7, 1, 0, 0);
    weir__quota_free(quota);
    remove_folder();
}

/* --- a full table --- */

static const char *number(unsigned n, char id[WEIR__TOKEN_ID_SIZE])
{
    snprintf(id, WEIR__TOKEN_ID_SIZE, "%016x", n);
    return id;
}

TEST(a_full_table_refuses_new_tokens)
{
    struct weir__quota *quota;
    struct weir__quota_hold first, hold = {0};
    enum weir__quota_reason reason = WEIR__QUOTA_REASONS;
    char id[WEIR__TOKEN_ID_SIZE], why[WEIR__QUOTA_WHY] = "";
    new_folder();
    CHECK_EQ(open_folder(&quota), 0);
    CHECK_EQ(reserve(quota, number(0, id), 1, &first), 0);
    for (unsigned i = 1; i < WEIR__QUOTA_TOKENS_MAX; i++)
        store(quota, number(i, id), 1);
    /* The first one holds something, and all others have something. */
    CHECK_EQ(weir__quota_reserve(quota, "ffffffffffffffff", &limits, 1, &hold, &reason, why),
             -WEIR_E_FORBIDDEN);
    CHECK_EQ(reason, WEIR__QUOTA_TOKENS);
    CHECK_HAS(why, "65536 are in use");
    store(quota, number(9, id), 1);
    weir__quota_give(&first);
    CHECK_EQ(weir__quota_save(quota), 0);
    weir__quota_free(quota);
    /* All but the first come back, so that there is room for one. */
    CHECK_EQ(open_folder(&quota), 0);
    CHECK_EQ(weir__quota_tokens(quota), WEIR__QUOTA_TOKENS_MAX - 1);
    check_usage(quota, number(9, id), 2, 2, 0, 0);
    CHECK_EQ(reserve(quota, "ffffffffffffffff", 1, &hold), 0);
    weir__quota_give(&hold);
    /* That one has nothing now, and makes room for another. */
    store(quota, "fffffffffffffff0", 1);
    CHECK_EQ(reserve(quota, "ffffffffffffffff", 1, &hold), -WEIR_E_FORBIDDEN);
    CHECK_EQ(weir__quota_tokens(quota), WEIR__QUOTA_TOKENS_MAX);
    weir__quota_free(quota);
    remove_folder();
}

TAP_MAIN()
