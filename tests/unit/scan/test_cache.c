/* Tests of the cache: what is put is got, and what others could have touched is not. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <weir/error.h>

#include "alloc.h"
#include "cache.h"
#include "tap.h"

static char base[] = "/tmp/weir-cache-XXXXXX";
static struct weir__cache cache;
static char *bytes;
static size_t length;

static const char *in_base(const char *name)
{
    static char paths[2][256]; /* a call may need two */
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_base(void)
{
    nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void start(void)
{
    static bool is_made;
    if (!is_made)
        CHECK(mkdtemp(base) && atexit(remove_base) == 0);
    is_made = true;
    weir__cache_init(&cache, base, NULL);
}

static int get(const char *key)
{
    const struct weir__engine_cache *hooks = weir__cache_hooks(&cache);
    bytes = NULL;
    length = 0;
    return hooks ? hooks->get(hooks->arg, key, &bytes, &length) : -WEIR_E_NOT_FOUND;
}

static void put(const char *key, const char *text)
{
    const struct weir__engine_cache *hooks = weir__cache_hooks(&cache);
    CHECK(hooks != NULL);
    if (hooks)
        hooks->put(hooks->arg, key, text, strlen(text));
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    return lstat(in_base(name), &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST(what_is_put_is_got)
{
    start();
    CHECK_EQ(get("aa"), -WEIR_E_NOT_FOUND);
    put("aa", "hello");
    CHECK_EQ(get("aa"), 0);
    CHECK_EQ(length, 5);
    CHECK(memcmp(bytes, "hello", 5) == 0);
    weir__base_free(bytes);
    CHECK_EQ(mode_of("weir"), 0700);
    CHECK_EQ(mode_of("weir/aa"), 0600);
    put("aa", "again");
    CHECK_EQ(get("aa"), 0);
    CHECK(memcmp(bytes, "again", 5) == 0);
    weir__base_free(bytes);
    weir__cache_fini(&cache);
}

TEST(a_file_that_others_may_write_is_not_used)
{
    static const mode_t modes[] = {0620, 0602, 0666};
    start();
    for (size_t i = 0; i < 3; i++) {
        put("aa", "hello");
        CHECK_EQ(chmod(in_base("weir/aa"), modes[i]), 0);
        CHECK_EQ(get("aa"), -WEIR_E_DENIED);
    }
    CHECK_EQ(chmod(in_base("weir/aa"), 0644), 0); /* to read is harmless */
    CHECK_EQ(get("aa"), 0);
    weir__base_free(bytes);
    weir__cache_fini(&cache);
}

TEST(what_is_no_file_is_not_used)
{
    start();
    put("aa", "hello");
    CHECK_EQ(symlink("aa", in_base("weir/link")), 0);
    CHECK(get("link") < 0);
    CHECK_EQ(mkdir(in_base("weir/folder"), 0700), 0);
    CHECK(get("folder") < 0);
    CHECK_EQ(mkfifo(in_base("weir/pipe"), 0600), 0);
    CHECK_EQ(get("pipe"), -WEIR_E_DENIED);
    FILE *file = fopen(in_base("weir/empty"), "we");
    CHECK(file && fclose(file) == 0);
    CHECK(get("empty") < 0);
    weir__cache_fini(&cache);
}

TEST(a_file_of_another_user_is_not_used)
{
    if (geteuid() != 0) /* only root can give files away */
        return;
    start();
    put("aa", "hello");
    CHECK_EQ(chown(in_base("weir/aa"), 65534, 65534), 0);
    CHECK_EQ(get("aa"), -WEIR_E_DENIED);
    CHECK_EQ(chown(in_base("weir"), 65534, 65534), 0);
    weir__cache_fini(&cache);
    start();
    CHECK(weir__cache_hooks(&cache) == NULL);
    CHECK_EQ(chown(in_base("weir"), 0, 0), 0);
    weir__cache_fini(&cache);
}

TEST(a_folder_that_others_may_write_is_not_used)
{
    start();
    weir__cache_fini(&cache);
    CHECK_EQ(chmod(in_base("weir"), 0770), 0);
    start();
    CHECK(weir__cache_hooks(&cache) == NULL);
    CHECK_EQ(chmod(in_base("weir"), 0755), 0);
    start();
    CHECK(weir__cache_hooks(&cache) != NULL);
    weir__cache_fini(&cache);
    CHECK_EQ(chmod(in_base("weir"), 0700), 0);
    CHECK_EQ(rename(in_base("weir"), in_base("real")), 0);
    CHECK_EQ(symlink("real", in_base("weir")), 0);
    start();
    CHECK(weir__cache_hooks(&cache) == NULL);
    CHECK_EQ(unlink(in_base("weir")), 0);
    CHECK_EQ(rename(in_base("real"), in_base("weir")), 0);
}

TEST(without_a_folder_there_is_none)
{
    weir__cache_init(&cache, NULL, NULL);
    CHECK(weir__cache_hooks(&cache) == NULL);
    weir__cache_init(&cache, "relative", NULL);
    CHECK(weir__cache_hooks(&cache) == NULL);
    weir__cache_init(&cache, "/proc/nonexistent", base);
    CHECK(weir__cache_hooks(&cache) == NULL);
    start();
    weir__cache_fini(&cache);
    weir__cache_init(&cache, NULL, base); /* makes ~/.cache */
    CHECK(weir__cache_hooks(&cache) != NULL);
    CHECK_EQ(mode_of(".cache/weir"), 0700);
    weir__cache_fini(&cache);
    char other[512];
    snprintf(other, sizeof(other), "%s/other", base);
    weir__cache_init(&cache, other, NULL); /* and what the variable names */
    CHECK(weir__cache_hooks(&cache) != NULL);
    CHECK_EQ(mode_of("other/weir"), 0700);
    weir__cache_fini(&cache);
    weir__cache_fini(&cache);
}

TEST(there_are_never_too_many)
{
    char key[16];
    start();
    for (unsigned i = 0; i < 3 * WEIR__CACHE_FILES; i++) {
        snprintf(key, sizeof(key), "key%03u", i);
        put(key, "text");
    }
    unsigned count = 0;
    for (unsigned i = 0; i < 3 * WEIR__CACHE_FILES; i++) {
        snprintf(key, sizeof(key), "key%03u", i);
        if (get(key) == 0) {
            count++;
            weir__base_free(bytes);
        }
    }
    CHECK(count > 0 && count <= WEIR__CACHE_FILES);
    CHECK_EQ(get(key), 0); /* the last one is there */
    weir__base_free(bytes);
    weir__cache_fini(&cache);
}

/* The oldest that was written is the one that was used last; then the second oldest has to go. */
TEST(the_least_recently_used_goes_first)
{
    char key[16], name[32], own[512];
    start();
    weir__cache_fini(&cache);
    snprintf(own, sizeof(own), "%s/lru", base); /* with nothing else in it */
    weir__cache_init(&cache, own, NULL);
    for (unsigned i = 0; i < WEIR__CACHE_FILES; i++) {
        snprintf(key, sizeof(key), "used%03u", i);
        put(key, "text");
        snprintf(name, sizeof(name), "lru/weir/%s", key);
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        CHECK_EQ(utimensat(AT_FDCWD, in_base(name), times, 0), 0);
    }
    CHECK_EQ(get("used000"), 0);
    weir__base_free(bytes);
    put("one-more", "text");
    CHECK_EQ(get("used001"), -WEIR_E_NOT_FOUND);
    CHECK_EQ(get("used000"), 0);
    weir__base_free(bytes);
    CHECK_EQ(get("used002"), 0);
    weir__base_free(bytes);
    weir__cache_fini(&cache);
}

static struct timespec used_at(const char *name)
{
    struct stat st = {0};
    CHECK_EQ(stat(in_base(name), &st), 0);
    return st.st_atim;
}

/* The system itself notes the first use after a change, and no other for a day. */
TEST(every_use_is_noted)
{
    start();
    put("early", "text");
    put("late", "text");
    time_t end = time(NULL) + 10;
    bool is_later = false;
    for (unsigned i = 0; i < 2; i++) { /* the second time is what counts */
        CHECK_EQ(get("early"), 0);
        weir__base_free(bytes);
        CHECK_EQ(get("late"), 0);
        weir__base_free(bytes);
    }
    struct timespec late = used_at("weir/late");
    while (!is_later && time(NULL) < end) {
        CHECK_EQ(get("early"), 0);
        weir__base_free(bytes);
        struct timespec early = used_at("weir/early");
        is_later = early.tv_sec > late.tv_sec ||
                   (early.tv_sec == late.tv_sec && early.tv_nsec > late.tv_nsec);
    }
    CHECK(is_later);
    weir__cache_fini(&cache);
}

TEST(what_was_installed_is_used_when_the_user_has_nothing)
{
    const char *shared = in_base("shared");
    struct stat st;
    start();
    weir__cache_fini(&cache);
    CHECK_EQ(weir__cache_init_shared(&cache, in_base("none/shared")), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__cache_init_shared(&cache, shared), 0);
    put("installed", "theirs");
    weir__cache_fini(&cache);
    CHECK_EQ(stat(shared, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0755);

    start();
    CHECK(get("installed") < 0);
    weir__cache_add_installed(&cache, shared);
    CHECK_EQ(get("installed"), 0);
    CHECK(length == 6 && memcmp(bytes, "theirs", 6) == 0);
    weir__base_free(bytes);
    put("installed", "own");
    CHECK_EQ(get("installed"), 0);
    CHECK(length == 3 && memcmp(bytes, "own", 3) == 0);
    weir__base_free(bytes);
    weir__cache_fini(&cache);

    /* Not from a folder to which others may write. */
    CHECK_EQ(chmod(shared, 0777), 0);
    CHECK_EQ(weir__cache_init_shared(&cache, shared), -WEIR_E_DENIED);
    weir__cache_init(&cache, "/proc/nonexistent", NULL);
    weir__cache_add_installed(&cache, shared);
    CHECK(weir__cache_hooks(&cache) == NULL);
    weir__cache_fini(&cache);
}

TAP_MAIN()
