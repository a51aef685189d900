/* test_segments.c - the list of segments: pins, descriptors, and removal under those who read. */
#include "segments.h"

#include <sys/resource.h>

#include "store_rig.h"

static struct weir__segments list;
static int folder;

static void make_file(uint32_t id)
{
    char name[WEIR__SEGMENT_NAME];
    weir__segment_name(id, name);
    int fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(fd >= 0 && write(fd, name, 8) == 8);
    close(fd);
}

static void begin(size_t open_max, uint32_t count)
{
    const struct weir__segments_limits limits = {open_max, UINT64_MAX};
    rig_make_folder();
    folder = open(rig_folder, O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    weir__segments_init(&list, folder, &limits);
    for (uint32_t id = 1; id <= count; id++) {
        struct weir__segment_facts facts = {.id = id, .size = 128, .bytes = 100, .dead = id};
        make_file(id);
        CHECK_EQ(weir__segments_add(&list, &facts, -1, false), 0);
    }
}

static void end(void)
{
    weir__segments_fini(&list);
    close(folder);
    rig_remove_folder();
}

/* Whether what is pinned can be read, and is what it should be. */
static bool is_readable(const struct weir__segment *segment)
{
    char name[WEIR__SEGMENT_NAME], bytes[8];
    weir__segment_name(segment->id, name);
    return pread(segment->fd, bytes, 8, 0) == 8 && memcmp(bytes, name, 8) == 0;
}

static struct weir__segments_stats stats(void)
{
    struct weir__segments_stats stats;
    weir__segments_read(&list, &stats);
    return stats;
}

TEST(names)
{
    char name[WEIR__SEGMENT_NAME];
    weir__segment_name(0xabc, name);
    CHECK_STR(name, "00000abc.seg");
    CHECK_EQ(weir__segment_id("00000abc.seg"), 0xabc);
    CHECK_EQ(weir__segment_id("7fffffff.seg"), WEIR__SEGMENT_ID_MAX);
    static const char *const none[] = {"",
                                       "80000000.seg",
                                       "ffffffff.seg",
                                       "00000000.seg",
                                       "00000ABC.seg",
                                       "00000abc.seg.bad",
                                       "00000abc",
                                       "0000abc.seg",
                                       "000000abc.seg",
                                       "x0000abc.seg",
                                       "00000abc.sex"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        CHECK_EQ(weir__segment_id(none[i]), 0);
}

TEST(pinned_and_let_go)
{
    struct weir__segment *a, *again, *none = NULL;
    begin(4, 3);
    CHECK_EQ(weir__segments_pin_open(&list, 2, &none), -WEIR_E_BUSY);
    CHECK_EQ(weir__segments_pin_open(&list, 9, &none), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__segments_pin(&list, 9, &none), -WEIR_E_NOT_FOUND);
    CHECK(!none);
    CHECK_EQ(weir__segments_pin(&list, 2, &a), 0);
    CHECK(is_readable(a));
    CHECK_EQ(weir__segments_pin_open(&list, 2, &again), 0);
    CHECK(a == again);
    CHECK_EQ(stats().opened, 1);
    weir__segments_unpin(&list, a);
    weir__segments_unpin(&list, a);
    /* It stays open for the next. */
    CHECK_EQ(stats().open, 1);
    CHECK_EQ(weir__segments_pin_open(&list, 2, &a), 0);
    weir__segments_unpin(&list, a);
    end();
}

TEST(descriptors_have_a_limit)
{
    struct weir__segment *pinned[10], *one;
    begin(3, 10);
    for (uint32_t id = 1; id <= 10; id++) {
        CHECK_EQ(weir__segments_pin(&list, id, &one), 0);
        weir__segments_unpin(&list, one);
        CHECK(stats().open <= 3);
    }
    /* Who was let go of last is open still. */
    for (uint32_t id = 1; id <= 10; id++) {
        int error = weir__segments_pin_open(&list, id, &one);
        CHECK_EQ(error, id > 7 ? 0 : -WEIR_E_BUSY);
        if (!error)
            weir__segments_unpin(&list, one);
    }
    /* Those that are pinned are not closed under who reads; afterwards the limit holds again. */
    for (uint32_t id = 1; id <= 10; id++)
        CHECK_EQ(weir__segments_pin(&list, id, &pinned[id - 1]), 0);
    for (uint32_t id = 1; id <= 10; id++)
        CHECK(is_readable(pinned[id - 1]));
    for (uint32_t id = 1; id <= 10; id++)
        weir__segments_unpin(&list, pinned[id - 1]);
    CHECK_EQ(stats().open, 3);
    end();
}

TEST(those_that_are_pinned_count)
{
    struct weir__segment *pinned[3], *one;
    begin(3, 5);
    for (uint32_t id = 1; id <= 3; id++)
        CHECK_EQ(weir__segments_pin(&list, id, &pinned[id - 1]), 0);
    weir__segments_unpin(&list, pinned[0]);
    CHECK_EQ(stats().open, 3);
    CHECK_EQ(weir__segments_pin(&list, 4, &one), 0);
    CHECK_EQ(stats().open, 3);
    weir__segments_unpin(&list, one);
    weir__segments_unpin(&list, pinned[1]);
    CHECK_EQ(weir__segments_remove(&list, 2), 0);
    CHECK_EQ(weir__segments_remove(&list, 3), 0);
    weir__segments_unpin(&list, pinned[2]);
    CHECK_EQ(stats().open, 1);
    end();
}

/* The descriptors of the process end with this one. */
static void allow_below(int fd, struct rlimit *ret_before)
{
    struct rlimit few;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, ret_before), 0);
    few = (struct rlimit){(rlim_t)fd, ret_before->rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static int next_descriptor(void)
{
    int fd = dup(folder);
    CHECK(fd >= 0);
    close(fd);
    return fd;
}

TEST(without_descriptors_others_give_way)
{
    struct weir__segment *pinned[2], *one;
    struct rlimit before;
    begin(8, 6);
    allow_below(next_descriptor() + 2, &before);
    for (uint32_t id = 1; id <= 6; id++) {
        CHECK_EQ(weir__segments_pin(&list, id, &one), 0);
        CHECK(is_readable(one));
        weir__segments_unpin(&list, one);
    }
    /* The one that was let go of longest ago. */
    CHECK_EQ(weir__segments_pin_open(&list, 4, &one), -WEIR_E_BUSY);
    CHECK_EQ(stats().open, 2);
    for (uint32_t id = 5; id <= 6; id++)
        CHECK_EQ(weir__segments_pin(&list, id, &pinned[id - 5]), 0);
    CHECK_EQ(weir__segments_pin(&list, 1, &one), -WEIR_E_NO_DESCRIPTORS);
    weir__segments_unpin(&list, pinned[0]);
    CHECK_EQ(weir__segments_pin(&list, 1, &one), 0);
    weir__segments_unpin(&list, one);
    weir__segments_unpin(&list, pinned[1]);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    end();
}

TEST(more_than_the_limit_leave_descriptors_to_others)
{
    struct weir__segment *pinned[3], *one;
    begin(2, 6);
    list._limits.fd_max = (uint64_t)next_descriptor() + 3;
    for (uint32_t id = 1; id <= 3; id++)
        CHECK_EQ(weir__segments_pin(&list, id, &pinned[id - 1]), 0);
    CHECK_EQ(weir__segments_pin(&list, 4, &one), -WEIR_E_NO_DESCRIPTORS);
    weir__segments_unpin(&list, pinned[0]);
    CHECK_EQ(weir__segments_pin(&list, 4, &pinned[0]), 0);
    for (size_t i = 0; i < 3; i++)
        weir__segments_unpin(&list, pinned[i]);
    CHECK_EQ(stats().open, 2);
    end();
}

TEST(removed_under_a_pin)
{
    struct weir__segment *a, *none;
    char name[WEIR__SEGMENT_NAME];
    begin(4, 3);
    CHECK_EQ(weir__segments_pin(&list, 2, &a), 0);
    CHECK_EQ(weir__segments_remove(&list, 2), 0);
    CHECK_EQ(weir__segments_remove(&list, 2), -WEIR_E_NOT_FOUND);
    weir__segment_name(2, name);
    CHECK(unlinkat(folder, name, 0) == 0);
    CHECK_EQ(weir__segments_pin(&list, 2, &none), -WEIR_E_NOT_FOUND);
    CHECK(is_readable(a));
    CHECK_EQ(stats().count, 2);
    int fd = a->fd;
    weir__segments_unpin(&list, a);
    CHECK(fcntl(fd, F_GETFD) < 0);
    /* And one that is open and not pinned. */
    CHECK_EQ(weir__segments_pin(&list, 3, &a), 0);
    fd = a->fd;
    weir__segments_unpin(&list, a);
    CHECK_EQ(weir__segments_remove(&list, 3), 0);
    CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK_EQ(weir__segments_pin(&list, 1, &a), 0);
    weir__segments_unpin(&list, a);
    end();
}

/* Of a store in memory: without a name it cannot be opened again, so it is never closed. */
TEST(kept_ones_stay_open)
{
    struct weir__segment *one;
    begin(1, 3);
    struct weir__segment_facts facts = {.id = 7, .size = 128};
    int fd = openat(folder, "00000001.seg", O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(weir__segments_add(&list, &facts, fd, true), 0);
    for (uint32_t id = 1; id <= 3; id++) {
        CHECK_EQ(weir__segments_pin(&list, id, &one), 0);
        weir__segments_unpin(&list, one);
    }
    CHECK_EQ(weir__segments_pin_open(&list, 7, &one), 0);
    CHECK_EQ(one->fd, fd);
    weir__segments_unpin(&list, one);
    end();
}

TEST(facts)
{
    struct weir__segment_facts facts = {.id = 2};
    begin(4, 3);
    CHECK_EQ(weir__segments_add(&list, &facts, -1, false), -WEIR_E_EXISTS);
    facts = (struct weir__segment_facts){.id = 0xffffffff, .bytes = 7};
    CHECK_EQ(weir__segments_add(&list, &facts, -1, false), 0);
    facts = (struct weir__segment_facts){.id = 2, .bytes = 50, .dead = 49};
    weir__segments_update(&list, &facts);
    weir__segments_update(&list, &(struct weir__segment_facts){.id = 99});
    static const uint32_t ids[] = {1, 2, 3, 0xffffffff};
    size_t count = 0;
    for (uint32_t id = 0; weir__segments_next(&list, id, &facts); id = facts.id) {
        CHECK_EQ(facts.id, ids[count++]);
        if (facts.id == 2)
            CHECK(facts.bytes == 50 && facts.dead == 49);
    }
    CHECK_EQ(count, 4);
    CHECK_EQ(stats().bytes, 257);
    CHECK_EQ(stats().dead, 1 + 49 + 3);
    end();
}

TEST(a_file_that_is_gone)
{
    struct weir__segment *none;
    begin(4, 1);
    CHECK(unlinkat(folder, "00000001.seg", 0) == 0);
    CHECK_EQ(weir__segments_pin(&list, 1, &none), -WEIR_E_NOT_FOUND);
    end();
}

static void end_with_a_pin(void *arg)
{
    struct weir__segment *one;
    (void)arg;
    CHECK_EQ(weir__segments_pin(&list, 1, &one), 0);
    weir__segments_fini(&list);
}

TEST(a_pin_outlives_nothing)
{
    begin(4, 1);
    CHECK(tap_dies(end_with_a_pin, NULL, "one is still pinned"));
    end();
}

/* What a file system says of a birth only now and then is no sign of another file. */
TEST(a_file_is_known_again)
{
    struct weir__segment *segment;
    begin(4, 3);
    list._list[0]->_file.born_s = 0;
    list._list[1]->_file.born_s += 1;
    list._list[2]->_file.inode += 1;
    for (uint32_t id = 1; id <= 3; id++) {
        int error = weir__segments_pin(&list, id, &segment);
        bool is_born = list._list[id - 1]->_file.born_s > 1; /* else nobody knows, of none */
        bool is_same = id == 1 || (id == 2 && !is_born);
        CHECK_EQ(error, is_same ? 0 : -WEIR_E_NOT_FOUND);
        CHECK_EQ(weir__segments_has_file(&list, id), is_same);
        if (!error)
            weir__segments_unpin(&list, segment);
    }
    end();
}

TAP_MAIN()
