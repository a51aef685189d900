/* test_links.c - who makes an inode, who waits, who is told where it is, in memory and on disk. */
#include "links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/clock.h>

#include "tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static struct weir__links *links;
static struct weir__link_place place; /* what enter answers */
static uint64_t memory_begin;

static uint64_t memory(void)
{
    uint64_t bytes, spilled;
    weir__links_read(links, &bytes, &spilled);
    return bytes;
}

static uint64_t spilled_bytes(void)
{
    uint64_t bytes, spilled;
    weir__links_read(links, &bytes, &spilled);
    return spilled;
}

static void begin(uint64_t bytes_max, const char *dir)
{
    struct weir__links_options options = {bytes_max, dir};
    CHECK_EQ(weir__links_new(&links, &options), 0);
    weir__buffer_fini(&place.path);
    weir__buffer_init(&place.path, WEIR__LINK_PATH_MAX + 1);
    memory_begin = memory();
}

static void end(void)
{
    weir__links_free(links);
    weir__buffer_fini(&place.path);
}

static struct weir__link_key key_of(uint64_t number)
{
    return (struct weir__link_key){number / 1000, number};
}

static int enter(uint64_t number, uint64_t names, struct weir__link_waiter *waiter)
{
    return weir__links_enter(links, key_of(number), names, waiter, &place, NULL);
}

static void fill_place(struct weir__link_place *made, uint64_t number)
{
    *made =
        (struct weir__link_place){.device = number + 1, .inode = number * 3, .root = number % 5};
    weir__buffer_init(&made->path, WEIR__LINK_PATH_MAX + 1);
    CHECK_EQ(weir__buffer_printf(&made->path, "usr/share/doc/package-%llu/copyright",
                                 (unsigned long long)number),
             0);
}

static int done_as(uint64_t number, struct weir__link_waiter **ret_waiters)
{
    struct weir__link_place made;
    fill_place(&made, number);
    int error = 1;
    struct weir__link_waiter *waiters =
        weir__links_done(links, key_of(number), &made, &error, NULL);
    if (ret_waiters)
        *ret_waiters = waiters;
    else
        CHECK(!waiters);
    weir__buffer_fini(&made.path);
    return error;
}

static bool is_place_of(uint64_t number)
{
    struct weir__link_place made;
    fill_place(&made, number);
    bool is = place.device == made.device && place.inode == made.inode && place.root == made.root &&
              strcmp(weir__buffer_text(&place.path), weir__buffer_text(&made.path)) == 0;
    weir__buffer_fini(&made.path);
    return is;
}

TEST(first_makes_and_later_ones_are_told)
{
    begin(1 << 20, NULL);
    CHECK_EQ(enter(1, 3, NULL), WEIR__LINK_FIRST);
    CHECK_EQ(enter(1, 3, NULL), -WEIR_E_BUSY);
    CHECK_EQ(done_as(1, NULL), 0);
    CHECK_EQ(enter(1, 3, NULL), WEIR__LINK_KNOWN);
    CHECK(is_place_of(1));
    CHECK(memory() > memory_begin);
    CHECK_EQ(enter(1, 3, NULL), WEIR__LINK_KNOWN);
    CHECK(is_place_of(1));
    /* All three have come. */
    CHECK_EQ(memory(), memory_begin);
    CHECK_EQ(spilled_bytes(), 0);
    CHECK_EQ(enter(1, 3, NULL), WEIR__LINK_FIRST);
    CHECK(!weir__links_done(links, key_of(1), NULL, NULL, NULL));
    CHECK_EQ(memory(), memory_begin);
    end();
    weir__links_free(NULL);
}

TEST(the_same_inode_of_another_device_is_another)
{
    begin(1 << 20, NULL);
    struct weir__link_key one = {1, 7}, other = {2, 7};
    CHECK_EQ(weir__links_enter(links, one, 2, NULL, &place, NULL), WEIR__LINK_FIRST);
    CHECK_EQ(weir__links_enter(links, other, 2, NULL, &place, NULL), WEIR__LINK_FIRST);
    weir__links_done(links, one, NULL, NULL, NULL);
    weir__links_done(links, other, NULL, NULL, NULL);
    end();
}

TEST(an_inode_with_one_name_is_forgotten_at_once)
{
    begin(1 << 20, NULL);
    for (uint64_t names = 0; names < 2; names++) {
        CHECK_EQ(enter(1, names, NULL), WEIR__LINK_FIRST);
        CHECK_EQ(done_as(1, NULL), 0);
        CHECK_EQ(memory(), memory_begin);
    }
    end();
}

TEST(waiters_are_handed_out_in_the_order_they_came)
{
    struct weir__link_waiter waiters[3], *list;
    begin(1 << 20, NULL);
    CHECK_EQ(enter(1, 5, NULL), WEIR__LINK_FIRST);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(enter(1, 5, &waiters[i]), WEIR__LINK_WAIT);
    CHECK_EQ(done_as(1, &list), 0);
    CHECK(list == &waiters[0] && list->next == &waiters[1] && list->next->next == &waiters[2]);
    CHECK(!waiters[2].next);
    CHECK_EQ(enter(1, 5, &waiters[0]), WEIR__LINK_KNOWN);
    CHECK_EQ(memory(), memory_begin);
    end();
}

TEST(all_names_may_come_while_it_is_made)
{
    struct weir__link_waiter waiter, *list;
    begin(1 << 20, NULL);
    CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_FIRST);
    CHECK_EQ(enter(1, 2, &waiter), WEIR__LINK_WAIT);
    CHECK_EQ(done_as(1, &list), 0);
    CHECK(list == &waiter);
    CHECK_EQ(memory(), memory_begin);
    end();
}

TEST(one_that_could_not_be_made_has_a_new_first)
{
    struct weir__link_waiter waiters[2], *list;
    int error = 1;
    begin(1 << 20, NULL);
    CHECK_EQ(enter(1, 3, NULL), WEIR__LINK_FIRST);
    CHECK_EQ(enter(1, 3, &waiters[0]), WEIR__LINK_WAIT);
    CHECK_EQ(enter(1, 3, &waiters[1]), WEIR__LINK_WAIT);
    list = weir__links_done(links, key_of(1), NULL, &error, NULL);
    CHECK_EQ(error, 0);
    CHECK(list == &waiters[0] && list->next == &waiters[1]);
    CHECK_EQ(enter(1, 3, &waiters[0]), WEIR__LINK_FIRST);
    CHECK_EQ(enter(1, 3, &waiters[1]), WEIR__LINK_WAIT);
    CHECK_EQ(done_as(1, &list), 0);
    CHECK(list == &waiters[1]);
    end();
}

static void free_with_waiter(void *arg)
{
    struct weir__link_waiter waiter;
    (void)arg;
    begin(1 << 20, NULL);
    if (enter(1, 3, NULL) == WEIR__LINK_FIRST && enter(1, 3, &waiter) == WEIR__LINK_WAIT)
        weir__links_free(links);
}

static void done_without_first(void *arg)
{
    (void)arg;
    begin(1 << 20, NULL);
    done_as(1, NULL);
}

TEST(programming_errors_are_told)
{
    CHECK(tap_dies(free_with_waiter, NULL, "freed while somebody waits"));
    CHECK(tap_dies(done_without_first, NULL, "done without being the first"));
}

/* --- with a file --- */

TEST(the_limit_holds_and_every_name_is_told_the_right_place)
{
    enum { COUNT = 20000, LIMIT = 100000 };
    begin(LIMIT, NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK_EQ(enter(i, 3, NULL), WEIR__LINK_FIRST);
        CHECK_EQ(done_as(i, NULL), 0);
        CHECK(memory() <= LIMIT);
    }
    CHECK(memory() > LIMIT / 2);
    CHECK(spilled_bytes() > COUNT * 64);
    for (int turn = 0; turn < 2; turn++)
        for (uint64_t i = 0; i < COUNT; i++) {
            CHECK_EQ(enter(i, 3, NULL), WEIR__LINK_KNOWN);
            CHECK(is_place_of(i));
        }
    CHECK_EQ(memory(), memory_begin);
    CHECK_EQ(spilled_bytes(), 0);
    end();
}

TEST(without_any_memory_all_goes_through_the_file)
{
    begin(0, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQ(enter(i, 2, NULL), WEIR__LINK_FIRST);
        CHECK_EQ(done_as(i, NULL), 0);
        CHECK_EQ(memory(), memory_begin);
    }
    for (uint64_t i = 1000; i-- > 0;) {
        CHECK_EQ(enter(i, 2, NULL), WEIR__LINK_KNOWN);
        CHECK(is_place_of(i));
    }
    CHECK_EQ(spilled_bytes(), 0);
    end();
}

TEST(those_being_made_stay_in_memory_and_are_counted)
{
    enum { COUNT = 1000 };
    static struct weir__link_waiter waiters[COUNT];
    begin(50000, NULL);
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK_EQ(enter(i, 3, NULL), WEIR__LINK_FIRST);
        CHECK_EQ(enter(i, 3, &waiters[i]), WEIR__LINK_WAIT);
    }
    uint64_t each = (memory() - memory_begin) / COUNT;
    CHECK(each >= 64 && each <= 160);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct weir__link_waiter *list;
        CHECK_EQ(done_as(i, &list), 0);
        CHECK(list == &waiters[i] && !list->next);
        CHECK(memory() <= memory_begin + each * (COUNT - 1 - i) || memory() <= 50000);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK_EQ(enter(i, 3, NULL), WEIR__LINK_KNOWN);
        CHECK(is_place_of(i));
    }
    CHECK_EQ(memory(), memory_begin);
    CHECK_EQ(spilled_bytes(), 0);
    end();
}

static void check_long_path(uint64_t bytes_max, size_t length)
{
    begin(bytes_max, NULL);
    struct weir__link_place made = {.device = 1, .inode = 2, .root = 3};
    weir__buffer_init(&made.path, WEIR__LINK_PATH_MAX + 1);
    for (size_t i = 0; i < length; i++)
        CHECK_EQ(weir__buffer_putc(&made.path, (char)('a' + i % 19)), 0);
    CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_FIRST);
    int error = 1;
    weir__links_done(links, key_of(1), &made, &error, NULL);
    CHECK(memory() <= bytes_max);
    if (length > WEIR__LINK_PATH_MAX) {
        CHECK_EQ(error, -WEIR_E_TOO_LARGE);
        CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_FIRST);
        weir__links_done(links, key_of(1), NULL, NULL, NULL);
    } else {
        CHECK_EQ(error, 0);
        CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_KNOWN);
        CHECK_EQ(weir__buffer_length(&place.path), length);
        CHECK(memcmp(weir__buffer_text(&place.path), weir__buffer_text(&made.path), length) == 0);
    }
    CHECK_EQ(memory(), memory_begin);
    weir__buffer_fini(&made.path);
    end();
}

TEST(paths_of_sixteen_mebibytes_work_and_longer_ones_are_told)
{
    check_long_path(1 << 20, WEIR__LINK_PATH_MAX);
    check_long_path(1 << 28, WEIR__LINK_PATH_MAX);
    check_long_path(1 << 20, WEIR__LINK_PATH_MAX + 1);
    check_long_path(1 << 20, (1 << 17) + 1);
    check_long_path(1 << 20, 0);
}

TEST(a_path_longer_than_the_answer_may_be_is_an_error)
{
    begin(1 << 20, NULL);
    CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_FIRST);
    CHECK_EQ(done_as(1, NULL), 0);
    struct weir__link_place small;
    weir__buffer_init(&small.path, 5);
    CHECK_EQ(weir__links_enter(links, key_of(1), 2, NULL, &small, NULL), -WEIR_E_OVERFLOW);
    /* That did not count as a name. */
    CHECK_EQ(enter(1, 2, NULL), WEIR__LINK_KNOWN);
    CHECK_EQ(memory(), memory_begin);
    weir__buffer_fini(&small.path);
    end();
}

TEST(without_a_file_the_limit_holds_and_what_is_not_remembered_is_told)
{
    enum { COUNT = 2000, LIMIT = 100000 };
    static bool is_known[COUNT];
    int remembered = 0;
    begin(LIMIT, "/nowhere/at/all");
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK_EQ(enter(i, 2, NULL), WEIR__LINK_FIRST);
        int error = done_as(i, NULL);
        CHECK(error == 0 || (error == -WEIR_E_NOT_FOUND && errno == ENOENT));
        is_known[i] = error == 0;
        remembered += is_known[i];
        CHECK(memory() <= LIMIT);
    }
    CHECK(remembered > 100 && remembered < COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        int answer = enter(i, 2, NULL);
        CHECK_EQ(answer, is_known[i] ? WEIR__LINK_KNOWN : WEIR__LINK_FIRST);
        if (is_known[i])
            CHECK(is_place_of(i));
        else
            weir__links_done(links, key_of(i), NULL, NULL, NULL);
    }
    CHECK_EQ(memory(), memory_begin);
    end();
}

static uint64_t resident_bytes(void)
{
    unsigned long long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%llu %llu", &total, &resident) == 2);
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The worst order: first names of all, then second names of all. Beside the limit of 1 MiB there is
 * what the allocator keeps for itself. */
TEST(a_million_inodes_in_one_mebibyte)
{
    const uint64_t count = IS_SANITIZED ? 100000 : 1000000;
    enum { LIMIT = 1 << 20, RESIDENT_MAX = LIMIT + (1 << 20) };
    begin(LIMIT, NULL);
    uint64_t resident = resident_bytes(), resident_max = 0, begin_ns = weir_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        CHECK_EQ(enter(i, 2, NULL), WEIR__LINK_FIRST);
        CHECK_EQ(done_as(i, NULL), 0);
        uint64_t now = i % 10000 == 0 ? resident_bytes() : 0;
        resident_max = now > resident_max ? now : resident_max;
    }
    uint64_t half_ns = weir_now_ns();
    printf(
        "# %llu first names: %.2f s; memory %.2f MiB, resident %+.2f MiB, in the file %.1f MiB\n",
        (unsigned long long)count, (double)(half_ns - begin_ns) / 1e9, (double)memory() / LIMIT,
        ((double)resident_max - (double)resident) / LIMIT, (double)spilled_bytes() / LIMIT);
    CHECK(memory() <= LIMIT);
    CHECK(IS_SANITIZED || resident_max < resident + RESIDENT_MAX);
    for (uint64_t i = 0; i < count; i++) {
        CHECK_EQ(enter(i, 2, NULL), WEIR__LINK_KNOWN);
        CHECK(is_place_of(i));
    }
    printf("# second names: %.2f s\n", (double)(weir_now_ns() - half_ns) / 1e9);
    CHECK_EQ(memory(), memory_begin);
    CHECK_EQ(spilled_bytes(), 0);
    end();
}

TAP_MAIN()
