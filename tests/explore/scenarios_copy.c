/* scenarios_copy.c - the walk of a copy: admission, completion of directories, offers, the end.
 *
 * The threads do what those of the copy engine do, without input and output: take a name, acquire a
 * permit, enter, give the permit back, push what is inside, do the files with a permit each, drop.
 * The tree, the budget, the queue and the locks are the real ones.
 */
#include "xp.h"

#include <stdlib.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/cancel.h>

#include "tree.h"
#include "tree_mutants.h"

#define FILES_MAX 4

/* A directory is called by one letter; what is in it is the same each time. */
static const struct shape {
    const char *dirs; /* letters of those in it */
    unsigned files;
} shapes[] = {
    {"bc", 1}, /* a */
    {"d", 1},  /* b */
    {"", 1},   /* c */
    {"", 1},   /* d */
    {"", 4},   /* e: files alone */
    {"g", 0},  /* f: a chain */
    {"", 0},   /* g */
};
#define DIRS (sizeof(shapes) / sizeof(shapes[0]))

struct dir {
    struct weir__node node; /* first */
    char letter;
    unsigned entered, finished;
    unsigned done[FILES_MAX]; /* how often each file */
};

static struct {
    struct weir__tree tree;
    struct weir_budget files;
    struct weir_cancel stop;
    struct dir base;
    struct dir dirs[DIRS];
    unsigned in_flight;
    unsigned errors, failures; /* told, and asked for */
    unsigned accepted, taken;  /* offers */
    bool may_fail, is_sharing;
    unsigned wanted; /* letters that must be finished in the end, as bits */
    unsigned limit;
} s;

static struct dir *dir_of(char letter)
{
    return &s.dirs[letter - 'a'];
}

static const struct shape *shape_of(const struct dir *dir)
{
    return &shapes[dir->letter - 'a'];
}

static struct weir__segment *names(enum weir__segment_kind kind, struct dir *dir, const char *list)
{
    struct weir__segment *segment = weir__segment_new(kind, &dir->node, 4 * strlen(list));
    for (; segment && *list; list++)
        XP_ASSERT(weir__segment_add(segment, 0, list, 1), "no room for what it was made for");
    return segment;
}

/* ---- one thread ---- */

static void finish(struct dir *dir)
{
    XP_ASSERT_EQ(dir->finished++, 0);
    if (dir == &s.base)
        return;
    for (const char *at = shape_of(dir)->dirs; *at; at++)
        XP_ASSERT(dir_of(*at)->finished == dir_of(*at)->entered,
                  "finished before a directory in it");
    for (unsigned i = 0; i < shape_of(dir)->files; i++)
        XP_ASSERT(dir->done[i] == 1 || s.may_fail || weir_cancel_is_fired(&s.stop),
                  "finished before a file in it");
    XP_ASSERT_EQ(((struct dir *)dir->node.parent)->finished, 0);
    xp_point();
}

static void drop(struct dir *dir)
{
    while (dir && weir__tree_drop(&s.tree, &dir->node)) {
        finish(dir);
        dir = (struct dir *)weir__tree_leave(&s.tree, &dir->node);
    }
}

static bool admit(struct weir_permit *permit)
{
    struct weir_deadline deadline = weir_deadline_until(&s.stop);
    int result = weir_budget_acquire(&s.files, 1, permit, &deadline);
    XP_ASSERT(result == 0 || (result == -WEIR_E_CANCELED && weir_cancel_is_fired(&s.stop)),
              "neither admitted nor stopped");
    if (result < 0)
        return false;
    s.in_flight++;
    XP_ASSERT(s.in_flight <= s.limit, "more in flight than the limit");
    return true;
}

static void give_back(struct weir_permit *permit)
{
    if (weir_permit_is_held(permit))
        s.in_flight--;
    weir_permit_release(permit);
}

static bool fails(void)
{
    if (!s.may_fail || xp_choose(2) == 0)
        return false;
    s.failures++;
    s.errors++;
    return true;
}

static void do_file(struct dir *dir, unsigned number)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (!admit(&permit))
        return;
    xp_point();
    if (!fails())
        dir->done[number]++;
    give_back(&permit);
}

static bool share(struct dir *dir, unsigned number)
{
    char name[2] = {(char)('0' + number), '\0'};
    if (!s.is_sharing || !weir__tree_is_idle_wanted(&s.tree))
        return false;
    struct weir__segment *segment = names(WEIR__SEGMENT_FILES, dir, name);
    if (segment && weir__tree_offer(&s.tree, segment)) {
        s.accepted++;
        /* One is on its way to the other thread; and who has just taken one still counts as idle
         * for a moment, so that one more may be accepted. */
        XP_ASSERT(s.accepted <= s.taken + 2, "more was offered than threads are idle");
        return true;
    }
    weir__segment_free(segment);
    return false;
}

static void do_offer(struct weir__segment *offer)
{
    struct dir *dir = (struct dir *)offer->node;
    unsigned char type;
    size_t length;
    const char *name;
    s.taken++;
    while ((name = weir__segment_next(offer, &type, &length)))
        do_file(dir, (unsigned)(name[0] - '0'));
    weir__segment_free(offer);
    drop(dir);
}

static void fill(struct dir *dir)
{
    const struct shape *shape = shape_of(dir);
    if (shape->dirs[0]) {
        struct weir__segment *segment = names(WEIR__SEGMENT_DIRS, dir, shape->dirs);
        int result = segment ? weir__tree_push(&s.tree, segment) : -WEIR_E_NO_MEMORY;
        XP_ASSERT(result == 0 || !segment, "a push that cannot spill failed");
        s.errors += result < 0;
    }
    for (unsigned i = 0; i < shape->files; i++)
        if (i == 0 || !share(dir, i))
            do_file(dir, i);
}

static void enter(struct dir *parent, char letter)
{
    struct dir *dir = dir_of(letter);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    XP_ASSERT_EQ(dir->entered++, 0);
    dir->letter = letter;
    weir__tree_enter(&s.tree, &dir->node, &parent->node);
    bool is_open = admit(&permit);
    xp_point();
    is_open = is_open && !fails();
    if (!WEIR__TREE_MUTANT(TREE_PERMIT_KEPT))
        give_back(&permit);
    if (is_open)
        fill(dir);
    give_back(&permit);
    drop(dir);
}

static void do_item(struct weir__tree_item *item)
{
    if (item->offer)
        do_offer(item->offer);
    else
        enter((struct dir *)item->node, item->name[0]);
}

static void worker(void)
{
    for (;;) {
        struct weir__tree_item item;
        struct weir_deadline deadline = weir_deadline_until(&s.stop);
        int result = weir_cancel_is_fired(&s.stop) ? -WEIR_E_CANCELED
                                                   : weir__tree_take(&s.tree, &item, &deadline);
        if (result == -WEIR_E_CANCELED)
            XP_ASSERT(weir_cancel_is_fired(&s.stop), "canceled, and nobody did");
        if (result == -WEIR_E_CLOSED)
            XP_ASSERT_EQ(s.base.finished, 1);
        if (result < 0) {
            XP_ASSERT(result == -WEIR_E_CLOSED || result == -WEIR_E_CANCELED, "no way to end");
            return;
        }
        do_item(&item);
    }
}

/* ---- beginning and end ---- */

/* The base holds one directory, and so on. Those who start the walk let go of it themselves. */
static void start(const char *list, uint64_t limit, uint32_t threads)
{
    struct weir__tree_options options = {.threads = threads};
    XP_ASSERT_EQ(weir__tree_init(&s.tree, &options), 0);
    s.limit = (unsigned)limit;
    XP_ASSERT_EQ(weir_budget_init(&s.files, "files", limit), 0);
    weir_cancel_init(&s.stop, NULL);
    weir__tree_root(&s.tree, &s.base.node);
    XP_ASSERT_EQ(weir__tree_push(&s.tree, names(WEIR__SEGMENT_DIRS, &s.base, list)), 0);
    drop(&s.base);
}

static void check_end(void)
{
    XP_ASSERT_EQ(s.base.finished, 1);
    for (size_t i = 0; i < DIRS; i++)
        XP_ASSERT_EQ(s.dirs[i].entered, s.dirs[i].finished);
    XP_ASSERT_EQ(s.in_flight, 0);
    XP_ASSERT_EQ(s.accepted, s.taken);
    weir__tree_fini(&s.tree);
    weir_budget_fini(&s.files);
    weir_cancel_fini(&s.stop);
}

/* Nothing failed: all that was wanted has been done, once. */
static void check(void)
{
    XP_ASSERT_EQ(s.errors, 0);
    for (size_t i = 0; i < DIRS; i++) {
        XP_ASSERT_EQ(s.dirs[i].finished, s.wanted >> i & 1);
        for (unsigned k = 0; s.dirs[i].finished && k < shapes[i].files; k++)
            XP_ASSERT_EQ(s.dirs[i].done[k], 1);
    }
    check_end();
}

/* ---- the limit, the order, the end ---- */

static void small_tree(void)
{
    s.wanted = 0xf;
    start("a", 1, 2);
}

XP_SCENARIO(copy_limit_of_one, .about = "one permit is enough for a tree of any depth", XP_STATE(s),
            .setup = small_tree, .threads = {worker, worker}, .check = check, .bound = 3,
            .tso = true, .tso_bound = 2)

static void small_tree_for_three(void)
{
    s.wanted = 0xf;
    start("a", 1, 3);
}

XP_SCENARIO(copy_limit_of_one_3, .about = "the same with three threads", XP_STATE(s),
            .setup = small_tree_for_three, .threads = {worker, worker, worker}, .check = check,
            .bound = 2)

static void chain_and_leaf(void)
{
    s.wanted = 1 << 5 | 1 << 6 | 1 << 2;
    start("fc", 2, 2);
}

XP_SCENARIO(copy_post_order,
            .about = "a directory is finished once, after all in it, and then everybody ends",
            XP_STATE(s), .setup = chain_and_leaf, .threads = {worker, worker}, .check = check,
            .bound = 3, .tso = true, .tso_bound = 2)

/* ---- failures ---- */

static void failing_tree(void)
{
    s.may_fail = true;
    start("b", 1, 2);
}

static void check_failures(void)
{
    XP_ASSERT_EQ(s.errors, s.failures);
    check_end();
}

XP_SCENARIO(copy_errors_are_counted,
            .about = "what fails is counted, lets go of its directory, and stops nobody",
            XP_STATE(s), .setup = failing_tree, .threads = {worker, worker},
            .check = check_failures, .bound = 2)

static void tree_without_memory(void)
{
    s.is_sharing = true;
    start("be", 2, 2);
}

/* The one that failed is an error, or an offer that was not made. */
static void check_memory(void)
{
    XP_ASSERT(s.errors <= 1, "one fault, more than one error");
    XP_ASSERT_EQ(dir_of('b')->finished, 1);
    XP_ASSERT_EQ(dir_of('d')->finished + s.errors, 1);
    check_end();
}

XP_SCENARIO(copy_no_memory,
            .about = "names that cannot be kept are an error, and no more than that", XP_STATE(s),
            .setup = tree_without_memory, .threads = {worker, worker}, .check = check_memory,
            .bound = 2, .faults = 1)

/* ---- stopped at any moment ---- */

static void stopped_tree(void)
{
    s.is_sharing = true;
    start("fe", 1, 2);
}

static void stops(void)
{
    weir_cancel_fire(&s.stop);
}

/* What is left on the stack is let go of by whoever ends the run. */
static void check_stopped(void)
{
    for (;;) {
        struct weir__tree_item item;
        int result = weir__tree_try(&s.tree, &item);
        if (result < 0) {
            XP_ASSERT(result == -WEIR_E_NOT_FOUND || result == -WEIR_E_CLOSED, "cannot be drained");
            break;
        }
        if (item.offer) {
            s.taken++;
            weir__segment_free(item.offer);
        }
        drop((struct dir *)item.node);
    }
    XP_ASSERT_EQ(s.errors, 0);
    check_end();
}

XP_SCENARIO(copy_stop, .about = "a stop ends everybody, and what is left can be let go of",
            XP_STATE(s), .setup = stopped_tree, .threads = {worker, worker, stops},
            .check = check_stopped, .bound = 2, .tso = true, .tso_bound = 2)

/* ---- offers ---- */

static void wide(void)
{
    s.is_sharing = true;
    s.wanted = 1 << 4;
    start("e", 2, 2);
}

XP_SCENARIO(copy_offers, .about = "offers are taken once, none is lost, none piles up", XP_STATE(s),
            .setup = wide, .threads = {worker, worker}, .check = check, .bound = 3, .tso = true,
            .tso_bound = 2)

/* ---- nobody sleeps beside work ---- */

static bool is_taken(void *arg)
{
    (void)arg;
    return s.taken > 0;
}

static void takes_one(void)
{
    struct weir__tree_item item;
    struct weir_deadline deadline = weir_deadline_until(&s.stop);
    XP_ASSERT_EQ(weir__tree_take(&s.tree, &item, &deadline), 0);
    s.taken++;
    weir__segment_free(item.offer);
    drop((struct dir *)item.node);
}

static void empty(void)
{
    struct weir__tree_options options = {.threads = 2};
    XP_ASSERT_EQ(weir__tree_init(&s.tree, &options), 0);
    XP_ASSERT_EQ(weir_budget_init(&s.files, "files", 1), 0);
    weir_cancel_init(&s.stop, NULL);
    weir__tree_root(&s.tree, &s.base.node);
}

/* Goes on when the other one has it: a wake that is lost leaves both waiting. */
static void pushes_one(void)
{
    XP_ASSERT_EQ(weir__tree_push(&s.tree, names(WEIR__SEGMENT_DIRS, &s.base, "g")), 0);
    xp_await(is_taken, NULL);
    drop(&s.base);
}

static void check_taken(void)
{
    s.accepted = s.taken;
    check_end();
}

XP_SCENARIO(copy_push_wakes, .about = "what is pushed while somebody sleeps wakes him", XP_STATE(s),
            .setup = empty, .threads = {pushes_one, takes_one}, .check = check_taken, .bound = 3,
            .spurious = 1, .tso = true, .tso_bound = 3)

/* Is accepted only when the other one is idle, and then it must come to him. */
static void offers_one(void)
{
    struct weir__segment *segment = names(WEIR__SEGMENT_FILES, &s.base, "0");
    if (weir__tree_offer(&s.tree, segment)) {
        xp_await(is_taken, NULL);
    } else {
        weir__segment_free(segment);
        pushes_one();
        return;
    }
    drop(&s.base);
}

XP_SCENARIO(copy_offer_wakes, .about = "what is offered while somebody sleeps wakes him",
            XP_STATE(s), .setup = empty, .threads = {offers_one, takes_one}, .check = check_taken,
            .bound = 3, .spurious = 1, .tso = true, .tso_bound = 3)
