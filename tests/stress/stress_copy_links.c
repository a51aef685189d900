/* The table of hard links under real threads, with so little memory that most of it is in the file:
 * each name of each inode is answered, and told the place of the one that was made. */
#include "stress.h"

#include <sched.h>

#include <weir/cancel.h>
#include <weir/deadline.h>

#include "atomic.h"
#include "links.h"

#define THREADS   6
#define INODES    3000
#define NAMES_MAX 4
#define LIMIT     60000

/* One name of an inode, which may have to wait for another one. */
struct name {
    struct weir__link_waiter waiter; /* first, so that the list finds the rest */
    uint32_t inode;
    uint32_t is_settled;
};

struct shared {
    struct weir__links *links;
    struct weir_cancel cancel;
    struct name names[INODES * NAMES_MAX];
    uint32_t order[INODES * NAMES_MAX];
    uint64_t count;
    uint64_t next;
    uint32_t made[INODES]; /* how often; the place says which time */
    uint32_t retries[INODES];
    bool may_fail;
    uint64_t answers[4];
};

static uint64_t names_of(uint32_t inode)
{
    return 2 + inode % (NAMES_MAX - 1);
}

static void check_place(const struct weir__link_place *place, uint32_t inode)
{
    char path[64];
    snprintf(path, sizeof(path), "dir-%u/file-%llu", inode, (unsigned long long)place->inode);
    CHECK_STR(weir__buffer_text(&place->path), path);
    CHECK_EQ(place->device, inode + 1);
    CHECK_EQ(place->root, inode % 3);
}

static void settle_name(struct name *name)
{
    CHECK_EQ(weir__add32(&name->is_settled, 1), 0);
}

static void enter_name(struct stress_thread *thread, struct name *name,
                       struct weir__link_place *place);

/* Makes the inode, or fails to; then cares for those that waited. */
static void make(struct stress_thread *thread, struct name *name, struct weir__link_place *place)
{
    struct shared *shared = thread->shared;
    uint32_t inode = name->inode;
    struct weir__link_key key = {7, inode};
    struct weir_deadline deadline = weir_deadline_until(&shared->cancel);
    bool fails = shared->may_fail && stress_random(thread) % 8 == 0;
    if (stress_random(thread) % 4 == 0)
        sched_yield();
    *place = (struct weir__link_place){inode + 1, 0, inode % 3, place->path};
    place->inode = fails ? 0 : weir__add32(&shared->made[inode], 1) + 1;
    weir__buffer_truncate(&place->path, 0);
    CHECK_EQ(weir__buffer_printf(&place->path, "dir-%u/file-%llu", inode,
                                 (unsigned long long)place->inode),
             0);
    int error = 1;
    struct weir__link_waiter *list =
        weir__links_done(shared->links, key, fails ? NULL : place, &error, &deadline);
    CHECK_EQ(error, 0);
    settle_name(name);
    while (list) {
        struct name *waiting = (struct name *)list;
        list = list->next;
        CHECK_EQ(waiting->inode, inode);
        if (fails)
            enter_name(thread, waiting, place);
        else
            settle_name(waiting);
    }
    if (fails)
        weir__add32(&shared->retries[inode], 1);
}

static void enter_name(struct stress_thread *thread, struct name *name,
                       struct weir__link_place *place)
{
    struct shared *shared = thread->shared;
    struct weir__link_key key = {7, name->inode};
    uint32_t inode = name->inode;
    int answer;
    do {
        /* Now and then there is no time to wait for the turn. */
        uint64_t wait_ns = stress_random(thread) % 16 == 0 ? 0 : WEIR_NS_PER_S * 1000;
        struct weir_deadline deadline = weir_deadline_in(wait_ns, &shared->cancel);
        answer =
            weir__links_enter(shared->links, key, names_of(inode), &name->waiter, place, &deadline);
    } while (answer == -WEIR_E_TIMEOUT);
    CHECK(answer > 0);
    /* From here on a name that waits is somebody else's. */
    weir__count(&shared->answers[answer], 1);
    if (answer == WEIR__LINK_FIRST) {
        make(thread, name, place);
    } else if (answer == WEIR__LINK_KNOWN) {
        check_place(place, inode);
        settle_name(name);
    }
}

static void work(struct stress_thread *thread)
{
    struct shared *shared = thread->shared;
    struct weir__link_place place = {0};
    weir__buffer_init(&place.path, 1000);
    uint64_t i;
    while ((i = weir__add64(&shared->next, 1)) < shared->count)
        enter_name(thread, &shared->names[shared->order[i]], &place);
    weir__buffer_fini(&place.path);
}

/* Each inode has all of its names in the list once: at random places, all first names first, side
 * by side, or about as far apart as memory reaches, so that names come while entries move. */
enum order { RANDOM, WORST, NEAR, MOVING, ORDERS };

static void add_name(struct shared *shared, uint32_t inode)
{
    shared->names[shared->count].inode = inode;
    shared->order[shared->count] = (uint32_t)shared->count;
    shared->count++;
}

static void lay_out(struct shared *shared, uint64_t seed, enum order order)
{
    struct stress_thread random = {.random = seed | 1};
    shared->count = shared->next = 0;
    memset(shared->names, 0, sizeof(shared->names));
    memset(shared->made, 0, sizeof(shared->made));
    memset(shared->retries, 0, sizeof(shared->retries));
    uint32_t apart = order == WORST ? INODES : order == NEAR ? 1 : 20 + (uint32_t)(seed % 100);
    for (uint32_t step = 0; step < INODES + apart * NAMES_MAX; step++)
        for (uint32_t name = 0; name < NAMES_MAX && name * apart <= step; name++) {
            uint32_t inode = step - name * apart;
            if (inode < INODES && name < names_of(inode))
                add_name(shared, inode);
        }
    for (uint64_t i = shared->count; order == RANDOM && i-- > 1;) {
        uint64_t other = stress_random(&random) % (i + 1);
        uint32_t swap = shared->order[i];
        shared->order[i] = shared->order[other];
        shared->order[other] = swap;
    }
}

static void run_once(struct shared *shared, uint64_t round)
{
    uint64_t before, after, spilled;
    lay_out(shared, stress_seed() + round, (enum order)(round % ORDERS));
    weir__links_read(shared->links, &before, &spilled);
    stress_run(THREADS, shared, work);
    for (uint64_t i = 0; i < shared->count; i++)
        CHECK_EQ(shared->names[i].is_settled, 1);
    for (uint32_t i = 0; i < INODES; i++)
        CHECK(shared->made[i] == 1 || (shared->made[i] == 0 && shared->retries[i] > 0));
    weir__links_read(shared->links, &after, &spilled);
    if (!shared->may_fail) {
        /* All names came, so all is forgotten. */
        CHECK_EQ(after, before);
        CHECK_EQ(spilled, 0);
    }
}

static void run(bool may_fail, uint64_t bytes_max)
{
    static struct shared shared;
    memset(&shared, 0, sizeof(shared));
    shared.may_fail = may_fail;
    weir_cancel_init(&shared.cancel, NULL);
    struct weir__links_options options = {bytes_max, NULL};
    uint64_t until_ns = weir_now_ns() + stress_seconds() * WEIR_NS_PER_S;
    for (uint64_t round = 0; round < ORDERS || weir_now_ns() < until_ns; round++) {
        if (!shared.links)
            CHECK_EQ(weir__links_new(&shared.links, &options), 0);
        run_once(&shared, round);
        /* What failed leaves counts that are never reached; that is not for the next round. */
        if (may_fail) {
            weir__links_free(shared.links);
            shared.links = NULL;
        }
    }
    CHECK(shared.answers[WEIR__LINK_KNOWN] > INODES);
    printf("# %llu first, %llu known, %llu waited\n",
           (unsigned long long)shared.answers[WEIR__LINK_FIRST],
           (unsigned long long)shared.answers[WEIR__LINK_KNOWN],
           (unsigned long long)shared.answers[WEIR__LINK_WAIT]);
    weir__links_free(shared.links);
    weir_cancel_fini(&shared.cancel);
}

TEST(every_name_gets_its_place)
{
    run(false, LIMIT);
}

TEST(every_name_gets_its_place_in_memory)
{
    run(false, LIMIT * 100);
}

TEST(those_that_cannot_be_made_are_tried_again)
{
    run(true, LIMIT);
}

TAP_MAIN()
