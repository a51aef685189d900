/* Tests of the stack of names and the references of directories, in one thread. What several do to
 * each other is shown by the explorer and under stress. */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/cancel.h>

#include "tap.h"

static struct weir__tree tree;
static struct weir__node base;

static void start(uint64_t bytes_max)
{
    struct weir__tree_options options = {.threads = 2, .bytes_max = bytes_max};
    CHECK_EQ(weir__tree_init(&tree, &options), 0);
    weir__tree_root(&tree, &base);
}

static void end(void)
{
    CHECK(weir__tree_drop(&tree, &base));
    CHECK(!weir__tree_leave(&tree, &base));
    weir__tree_fini(&tree);
}

static struct weir__segment *names(struct weir__node *node, const char *const *list, size_t count)
{
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += strlen(list[i]) + 3;
    struct weir__segment *segment = weir__segment_new(WEIR__SEGMENT_DIRS, node, room);
    CHECK(segment);
    for (size_t i = 0; i < count; i++)
        CHECK(weir__segment_add(segment, (unsigned char)i, list[i], strlen(list[i])));
    return segment;
}

static void push(struct weir__node *node, const char *one, const char *two)
{
    const char *const list[] = {one, two};
    CHECK_EQ(weir__tree_push(&tree, names(node, list, two ? 2 : 1)), 0);
}

static void take(const char *name)
{
    struct weir__tree_item item;
    CHECK_EQ(weir__tree_try(&tree, &item), 0);
    CHECK(!item.offer);
    CHECK_EQ(item.length, strlen(name));
    CHECK_STR(item.name, name);
}

TEST(a_segment_keeps_names_and_types)
{
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = '\0';
    struct weir__segment *segment = weir__segment_new(WEIR__SEGMENT_DIRS, &base, 300);
    CHECK(segment);
    CHECK(!weir__segment_add(segment, 1, longest, 256));
    CHECK(weir__segment_add(segment, 1, longest, 255));
    CHECK(weir__segment_add(segment, 2, "a\nb", 3));
    CHECK(!weir__segment_add(segment, 3, longest, 255)); /* no room */
    CHECK_EQ(segment->count, 2);
    unsigned char type;
    size_t length;
    const char *name = weir__segment_next(segment, &type, &length);
    CHECK(name && type == 1 && length == 255 && strlen(name) == 255);
    name = weir__segment_next(segment, &type, &length);
    CHECK_STR(name, "a\nb");
    CHECK(type == 2 && length == 3);
    CHECK(!weir__segment_next(segment, &type, &length));
    weir__segment_free(segment);
    weir__segment_free(NULL);
}

TEST(last_in_is_first_out)
{
    start(0);
    push(&base, "a", "b");
    push(&base, "c", NULL);
    take("c");
    take("a");
    push(&base, "d", NULL);
    take("d");
    take("b");
    struct weir__tree_item item;
    CHECK_EQ(weir__tree_try(&tree, &item), -WEIR_E_NOT_FOUND);
    for (int i = 0; i < 4; i++)
        CHECK(!weir__tree_drop(&tree, &base));
    end();
}

TEST(a_directory_is_complete_after_all_in_it)
{
    struct weir__node dir, below;
    start(0);
    push(&base, "dir", NULL);
    take("dir");
    weir__tree_enter(&tree, &dir, &base);
    push(&dir, "below", NULL);
    weir__tree_hold(&tree, &dir); /* a file that is under way */
    CHECK(!weir__tree_drop(&tree, &dir));
    take("below");
    weir__tree_enter(&tree, &below, &dir);
    CHECK(weir__tree_drop(&tree, &below));
    CHECK(weir__tree_leave(&tree, &below) == &dir);
    CHECK(!weir__tree_drop(&tree, &dir)); /* of the one below */
    CHECK(weir__tree_drop(&tree, &dir));  /* of the file */
    CHECK(weir__tree_leave(&tree, &dir) == &base);
    CHECK(!weir__tree_drop(&tree, &base));
    struct weir__tree_item item;
    CHECK_EQ(weir__tree_try(&tree, &item), -WEIR_E_NOT_FOUND);
    end();
}

TEST(when_all_is_complete_it_is_closed)
{
    struct weir__tree_options options = {.threads = 1};
    CHECK_EQ(weir__tree_init(&tree, &options), 0);
    weir__tree_root(&tree, &base);
    CHECK(weir__tree_drop(&tree, &base));
    CHECK(!weir__tree_leave(&tree, &base));
    struct weir__tree_item item;
    CHECK_EQ(weir__tree_try(&tree, &item), -WEIR_E_CLOSED);
    CHECK_EQ(weir__tree_take(&tree, &item, NULL), -WEIR_E_CLOSED);
    weir__tree_fini(&tree);
    memset(&tree, 0, sizeof(tree));
    weir__tree_fini(&tree);
}

TEST(a_wait_ends_with_the_stop_or_the_time)
{
    struct weir_cancel stop;
    struct weir__tree_item item;
    start(0);
    weir_cancel_init(&stop, NULL);
    struct weir_deadline deadline = weir_deadline_in(1000, &stop);
    CHECK_EQ(weir__tree_take(&tree, &item, &deadline), -WEIR_E_TIMEOUT);
    weir_cancel_fire(&stop);
    deadline = weir_deadline_until(&stop);
    CHECK_EQ(weir__tree_take(&tree, &item, &deadline), -WEIR_E_CANCELED);
    push(&base, "a", NULL); /* what is there is had, stop or not */
    CHECK_EQ(weir__tree_take(&tree, &item, &deadline), 0);
    CHECK(!weir__tree_drop(&tree, &base));
    CHECK(!weir__tree_is_idle_wanted(&tree));
    weir_cancel_fini(&stop);
    end();
}

TEST(nothing_is_offered_to_nobody)
{
    start(0);
    struct weir__segment *offer = weir__segment_new(WEIR__SEGMENT_FILES, &base, 10);
    CHECK(offer && weir__segment_add(offer, 0, "f", 1));
    CHECK(!weir__tree_is_idle_wanted(&tree));
    CHECK(!weir__tree_offer(&tree, offer));
    weir__tree_hold(&tree, &base);
    weir__tree_offer_anyway(&tree, offer);
    struct weir__tree_item item;
    CHECK_EQ(weir__tree_try(&tree, &item), 0);
    CHECK(item.offer == offer && item.node == &base);
    weir__segment_free(offer);
    CHECK(!weir__tree_drop(&tree, &base));
    end();
}

/* --- more names than memory --- */

TEST(what_does_not_fit_is_spilled_and_comes_back)
{
    enum { COUNT = 200 };
    char text[COUNT][16];
    start(64);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text[i], sizeof(text[i]), "directory-%d", i);
        push(&base, text[i], "two");
    }
    CHECK(tree._spilled_total > COUNT * 10);
    CHECK(tree._bytes <= 64);
    for (int i = COUNT; i-- > 0;) {
        take(text[i]);
        /* What was read back may be more than the limit by one segment. */
        CHECK(tree._bytes <= 64 + 32);
        take("two");
    }
    CHECK_EQ(tree._spill_live, 0);
    CHECK_EQ(tree._spill_end, 0); /* the file is used from its start again */
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(!weir__tree_drop(&tree, &base));
    end();
}

TEST(what_cannot_be_spilled_stays_with_the_caller)
{
    const char *const list[] = {"a", "b"};
    const char *before = getenv("TMPDIR");
    start(1);
    struct weir__segment *segment = names(&base, list, 2);
    /* Folders that cannot be: only the fault sweep can take all of them away, so this shows the
     * other half, that whatever the environment says a place is found. */
    setenv("TMPDIR", "/proc/self/nowhere", 1);
    CHECK_EQ(weir__tree_push(&tree, segment), 0);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    take("a");
    take("b");
    CHECK(!weir__tree_drop(&tree, &base));
    CHECK(!weir__tree_drop(&tree, &base));
    end();
}

#ifdef WEIR_FAULTS
#include "sys.h"

TEST(names_that_are_lost_are_counted)
{
    static const enum weir_fault kinds[] = {WEIR_FAULT_IO, WEIR_FAULT_ALLOC};
    for (size_t i = 0; i < 2; i++) {
        struct weir__tree_item item;
        start(1);
        push(&base, "a", "b");
        weir_fault_arm(kinds[i], 1);
        CHECK_EQ(weir__tree_try(&tree, &item), i == 0 ? -WEIR_E_IO : -WEIR_E_NO_MEMORY);
        CHECK(item.node == &base && item.length == 2);
        for (size_t k = 0; k < item.length; k++)
            CHECK(!weir__tree_drop(&tree, &base));
        CHECK_EQ(tree._spill_live, 0);
        end();
    }
}

TEST(a_push_that_fails_changes_nothing)
{
    const char *const list[] = {"a", "b"};
    for (uint64_t n = 1; n <= 4; n++) {
        start(1);
        struct weir__segment *segment = names(&base, list, 2);
        weir_fault_arm(WEIR_FAULT_IO, n);
        int result = weir__tree_push(&tree, segment);
        weir_fault_arm(WEIR_FAULT_IO, 0);
        if (result == 0) {
            take("a");
            take("b");
            CHECK(!weir__tree_drop(&tree, &base) && !weir__tree_drop(&tree, &base));
        } else {
            CHECK_EQ(result, -WEIR_E_IO);
            unsigned char type;
            size_t length;
            CHECK_STR(weir__segment_next(segment, &type, &length), "a");
            weir__segment_free(segment);
        }
        CHECK_EQ(tree._spill_live, 0);
        end();
    }
}
#endif

/* --- mistakes --- */

static void drops_too_often(void *arg)
{
    (void)arg;
    start(0);
    (void)!weir__tree_drop(&tree, &base);
    (void)!weir__tree_drop(&tree, &base);
}

static void ends_too_early(void *arg)
{
    (void)arg;
    start(0);
    weir__tree_fini(&tree);
}

TEST(mistakes_are_seen)
{
    CHECK(tap_dies(drops_too_often, NULL, "dropped too often"));
    CHECK(tap_dies(ends_too_early, NULL, "something is left to do"));
}

TAP_MAIN()
