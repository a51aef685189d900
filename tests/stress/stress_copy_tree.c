/* The walk of a copy under real threads, without files: directories are pushed, offered, entered
 * and completed in post-order, with so little memory that many names lie in the file meanwhile. */
#include "stress.h"

#include <weir/budget.h>
#include <weir/cancel.h>

#include "alloc.h"
#include "atomic.h"
#include "tree.h"

#define THREADS 8
#define DEPTH   5
#define WIDTH   6 /* directories in each */
#define FILES   9 /* names in each, offered in threes */

struct dir {
    struct weir__node node; /* first */
    uint32_t depth;
    uint32_t inside; /* what has been completed in it: guarded by nothing but the tree's promise */
};

struct shared {
    struct weir__tree tree;
    struct weir_budget files;
    struct weir_cancel stop;
    bool may_stop;
    uint64_t dirs, done, finished, lost;
};

static const uint32_t all_inside = WIDTH + FILES;

static void drop(struct shared *shared, struct dir *dir)
{
    while (dir && weir__tree_drop(&shared->tree, &dir->node)) {
        /* Plain reads and writes: ThreadSanitizer sees whether the tree orders them. */
        if (!shared->may_stop && dir->node.parent)
            CHECK_EQ(dir->inside, dir->depth < DEPTH ? all_inside : FILES);
        weir__add64(&shared->finished, 1);
        struct dir *parent = (struct dir *)weir__tree_leave(&shared->tree, &dir->node);
        if (parent && !shared->may_stop)
            __atomic_fetch_add(&parent->inside, 1, __ATOMIC_RELAXED);
        weir__base_free(dir);
        dir = parent;
    }
}

static bool admit(struct shared *shared, struct weir_permit *permit)
{
    struct weir_deadline deadline = weir_deadline_until(&shared->stop);
    return weir_budget_acquire(&shared->files, 1, permit, &deadline) == 0;
}

static void do_files(struct shared *shared, struct dir *dir, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct weir_permit permit = WEIR_PERMIT_NONE;
        if (admit(shared, &permit)) {
            weir__add64(&shared->done, 1);
            __atomic_fetch_add(&dir->inside, 1, __ATOMIC_RELAXED);
        }
        weir_permit_release(&permit);
    }
}

static struct weir__segment *names(enum weir__segment_kind kind, struct dir *dir, unsigned count)
{
    struct weir__segment *segment = weir__segment_new(kind, &dir->node, (size_t)count * 16);
    CHECK(segment);
    for (unsigned i = 0; i < count; i++)
        CHECK(weir__segment_add(segment, 0, "a-longer-name", 12));
    return segment;
}

static void enter(struct shared *shared, struct dir *parent)
{
    struct dir *dir = weir__base_alloc(1, sizeof(*dir));
    CHECK(dir);
    dir->depth = parent->depth + 1;
    weir__tree_enter(&shared->tree, &dir->node, &parent->node);
    weir__add64(&shared->dirs, 1);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    bool is_open = admit(shared, &permit);
    weir_permit_release(&permit);
    if (is_open && dir->depth < DEPTH)
        CHECK_EQ(weir__tree_push(&shared->tree, names(WEIR__SEGMENT_DIRS, dir, WIDTH)), 0);
    for (unsigned i = 0; is_open && i < FILES; i += 3) {
        struct weir__segment *offer =
            weir__tree_is_idle_wanted(&shared->tree) ? names(WEIR__SEGMENT_FILES, dir, 3) : NULL;
        if (!offer || !weir__tree_offer(&shared->tree, offer)) {
            weir__segment_free(offer);
            do_files(shared, dir, 3);
        }
    }
    drop(shared, dir);
}

static void do_item(struct shared *shared, struct weir__tree_item *item)
{
    struct dir *dir = (struct dir *)item->node;
    if (!item->offer) {
        CHECK_STR(item->name, "a-longer-nam");
        enter(shared, dir);
        return;
    }
    do_files(shared, dir, item->offer->count);
    weir__segment_free(item->offer);
    drop(shared, dir);
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    uint64_t stop_at = shared->may_stop && thread->index == 0 ? stress_random(thread) % 3000 : 0;
    for (uint64_t taken = 0;; taken++) {
        if (stop_at && taken == stop_at)
            weir_cancel_fire(&shared->stop);
        struct weir__tree_item item;
        struct weir_deadline deadline = weir_deadline_until(&shared->stop);
        int result = weir_cancel_is_fired(&shared->stop)
                         ? -WEIR_E_CANCELED
                         : weir__tree_take(&shared->tree, &item, &deadline);
        if (result < 0) {
            CHECK(result == -WEIR_E_CLOSED || result == -WEIR_E_CANCELED);
            return;
        }
        do_item(shared, &item);
    }
}

static void drain(struct shared *shared)
{
    struct weir__tree_item item;
    int result;
    while ((result = weir__tree_try(&shared->tree, &item)) == 0) {
        weir__segment_free(item.offer);
        drop(shared, (struct dir *)item.node);
    }
    CHECK(result == -WEIR_E_CLOSED || result == -WEIR_E_NOT_FOUND);
}

static void walk(struct shared *shared, uint64_t limit, uint64_t bytes_max)
{
    struct weir__tree_options options = {.threads = THREADS, .bytes_max = bytes_max};
    CHECK_EQ(weir__tree_init(&shared->tree, &options), 0);
    CHECK_EQ(weir_budget_init(&shared->files, "files", limit), 0);
    weir_cancel_init(&shared->stop, NULL);
    shared->dirs = shared->done = shared->finished = 0;
    struct dir *base = weir__base_alloc(1, sizeof(*base));
    CHECK(base);
    weir__tree_root(&shared->tree, &base->node);
    CHECK_EQ(weir__tree_push(&shared->tree, names(WEIR__SEGMENT_DIRS, base, 1)), 0);
    drop(shared, base);
    stress_run(THREADS, shared, work);
    drain(shared);
    uint64_t dirs = 0, level = 1;
    for (unsigned i = 0; i < DEPTH; i++, level *= WIDTH)
        dirs += level;
    CHECK_EQ(shared->finished, shared->dirs + 1);
    if (!shared->may_stop) {
        CHECK_EQ(shared->dirs, dirs);
        CHECK_EQ(shared->done, dirs * FILES);
    }
    weir__tree_fini(&shared->tree);
    weir_budget_fini(&shared->files);
    weir_cancel_fini(&shared->stop);
}

static void walks(bool may_stop)
{
    static const uint64_t limits[] = {1, 2, 1024};
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.may_stop = may_stop;
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (unsigned round = 0; round < 3 || weir_now_ns() < until_ns; round++)
        walk(&shared, limits[round % 3], round % 2 ? 0 : 500);
}

TEST(every_directory_is_completed_once)
{
    walks(false);
}

TEST(a_stop_ends_all_at_any_moment)
{
    walks(true);
}

TAP_MAIN()
