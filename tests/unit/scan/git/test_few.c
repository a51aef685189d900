/* test_few.c - what spares a plan: a walk for a few objects, packs of which all is known, and what
 * of a state is still there. */
#include "state_help.h"

#include "pack_help.h"
#include "walk.h"

#define NODES 400u
#define BODY  600u

static struct bytes delta;
static uint8_t bodies[NODES][BODY];
static struct writer writer;
static struct weir__git_pack pack;

/* Families of chains and forks; every fifth names its base by id. */
static void write_pack(unsigned version)
{
    const char *text = "";
    writer_start(&writer, WEIR__GIT_SHA1_SIZE);
    for (uint32_t n = 0; n < NODES; n++) {
        if (n % 50 == 0) {
            for (uint32_t i = 0; i < BODY; i++)
                bodies[n][i] = (uint8_t)(i * 7 + n);
            put_whole(&writer, WEIR__GIT_BLOB, bodies[n], BODY);
            continue;
        }
        uint32_t first = n - n % 50, base = n % 3 == 0 ? n - 1 : first + n % 50 / 2;
        uint32_t at = n * 37 % (BODY - 8);
        memcpy(bodies[n], bodies[base], BODY);
        memcpy(bodies[n] + at, &n, sizeof(n));
        delta_start(&delta, BODY, BODY);
        delta_copy(&delta, 0, at);
        delta_insert(&delta, &n, sizeof(n));
        delta_copy(&delta, at + 4, BODY - at - 4);
        struct weir__git_id id = id_of(base);
        if (n % 5 == 0)
            put_reference_delta(&writer, &id, &delta);
        else
            put_offset_delta(&writer, base, &delta);
    }
    writer_end(&writer, version);
    CHECK_EQ(weir__git_pack_of_bytes(&pack, writer.pack.at, writer.pack.length, writer.idx.at,
                                     writer.idx.length, writer.id_size, &text),
             0);
}

static void drop_pack(void)
{
    weir__git_pack_close(&pack);
    writer_free(&writer);
}

/* --- walks --- */

static unsigned entered[NODES], troubles;

static int on_enter(void *arg, const struct weir__git_object *object)
{
    (void)arg;
    for (uint32_t n = 0; n < NODES; n++) {
        struct weir__git_id id = id_of(n);
        if (!weir__git_id_is_equal(&id, &object->id))
            continue;
        entered[n]++;
        CHECK_EQ(object->length, BODY);
        CHECK(memcmp(object->bytes, bodies[n], BODY) == 0);
        return 0;
    }
    tap_fail(__FILE__, __LINE__, "an object that nobody wrote");
}

static int on_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg;
    (void)trouble;
    troubles++;
    return 0;
}

static bool is_even(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    (void)type;
    ++*(unsigned *)arg;
    return id->bytes[7] % 2 == 0;
}

/* Walks for those of the ids that are even, in parts. */
static uint64_t walk_few(const struct weir__git_set *ids, unsigned parts)
{
    const struct weir__git_visitor visitor = {.enter = on_enter, .trouble = on_trouble};
    unsigned asked = 0;
    struct weir__git_wish wish = {
        .types = WEIR__GIT_ALL_TYPES, .is_wanted = is_even, .arg = &asked};
    struct weir__git_walk_options options;
    struct weir__git_walk_totals totals = {0};
    struct weir__git_plan plan;
    uint32_t bounds[8];
    memset(entered, 0, sizeof(entered));
    troubles = 0;
    weir__git_walk_options_init(&options);
    CHECK_EQ(weir__git_plan_init_few(&plan, &pack, ids, &wish), 0);
    CHECK_EQ(asked, weir__git_set_count(ids)); /* and not for each object of the pack */
    weir__git_plan_cut(&plan, parts, bounds);
    for (unsigned i = 0; i < parts; i++)
        CHECK_EQ(weir__git_walk(&plan, bounds[i], bounds[i + 1], &visitor, &options, &totals, NULL),
                 0);
    weir__git_plan_fini(&plan);
    return totals.made;
}

TEST(a_few_objects_and_no_others)
{
    for (unsigned round = 0; round < 40; round++) {
        struct weir__git_set ids;
        bool is_in[NODES] = {false};
        uint32_t number, count = 0;
        write_pack(1 + round % 2);
        weir__git_set_init(&ids, writer.id_size, 0, 0);
        for (unsigned i = 0; i < round; i++) {
            uint32_t n = (i * 7919 + round * 31) % (NODES + 20); /* some are not in the pack */
            struct weir__git_id id = id_of(n);
            CHECK(weir__git_set_add(&ids, &id, &number) >= 0);
            if (n < NODES)
                is_in[n] = n % 2 == 0;
        }
        uint64_t made = walk_few(&ids, 1 + round % 7);
        CHECK_EQ(troubles, 0);
        for (uint32_t n = 0; n < NODES; n++) {
            CHECK_EQ(entered[n], is_in[n]);
            count += is_in[n];
        }
        CHECK(made <= (uint64_t)count * 12 * BODY); /* they and their bases */
        weir__git_set_fini(&ids);
        drop_pack();
    }
}

TEST(what_is_damaged_is_told)
{
    struct weir__git_set ids;
    uint32_t number;
    write_pack(2);
    weir__git_set_init(&ids, writer.id_size, 0, 0);
    for (uint32_t n = 50; n < 150; n++) {
        struct weir__git_id id = id_of(n);
        CHECK(weir__git_set_add(&ids, &id, &number) >= 0);
    }
    for (uint32_t i = 0; i < writer.count; i++) {
        struct weir__git_id id = id_of(50);
        if (weir__git_id_is_equal(&writer.objects[i].id, &id))
            writer.pack.at[writer.objects[i].offset + 8] ^= 0xff; /* a root */
    }
    walk_few(&ids, 3);
    CHECK_EQ(troubles, 25); /* the wanted half of that family */
    for (uint32_t n = 0; n < NODES; n++)
        CHECK_EQ(entered[n], n >= 100 && n < 150 && n % 2 == 0);
    weir__git_set_fini(&ids);
    drop_pack();
}

/* --- packs that are known --- */

/* The ids [0, NODES) but for one, and so many others. */
static struct weir__git_state *remember(struct weir__git_states *states, uint32_t without,
                                        uint64_t others)
{
    struct weir__git_state_about about = help_about("r", WEIR__GIT_SHA1_SIZE);
    struct weir__git_state_ids ids;
    weir__git_state_ids_init(&ids, about.id_size, 0);
    help_add(&ids, 0, others);
    for (uint32_t n = 0; n < NODES; n++) {
        struct weir__git_id id = id_of(n);
        if (n != without)
            CHECK_EQ(weir__git_state_ids_add(&ids, &id, 1), 0);
    }
    struct weir__git_state_new made = {.ids = &ids};
    CHECK_EQ(weir__git_state_save(states, &about, &made, why), 0);
    weir__git_state_ids_fini(&ids);
    return help_load(states, &about);
}

TEST(a_pack_is_known_if_all_of_it_is)
{
    static const uint64_t others[] = {0, 100, 5000, 20000};
    CHECK(!weir__git_state_has_pack(NULL, &pack));
    for (unsigned version = 1; version <= 2; version++)
        for (size_t i = 0; i < 4; i++)
            for (uint32_t without = 0; without <= NODES; without += 80) {
                struct weir__git_states states = help_states(0);
                struct weir__git_state *state = remember(&states, without, others[i]);
                write_pack(version);
                CHECK_EQ(weir__git_state_has_pack(state, &pack), without == NODES);
                pack.has_doubt = "it may have changed";
                CHECK(!weir__git_state_has_pack(state, &pack));
                drop_pack();
                weir__git_state_free(state);
                weir__git_states_close(&states);
            }
}

/* --- what is still there --- */

/* All of the pack and every third of the others, and nothing else. */
static void check_kept(const struct weir__git_state *state, uint32_t without, uint64_t others)
{
    CHECK_EQ(weir__git_state_count(state), NODES - (without < NODES) + (others + 2) / 3);
    for (uint32_t n = 0; n < NODES; n++) {
        struct weir__git_id id = id_of(n);
        CHECK_EQ(weir__git_state_has(state, &id), n != without);
    }
    for (uint64_t n = 0; n < others; n++) {
        struct weir__git_id id = help_id(n, WEIR__GIT_SHA1_SIZE);
        CHECK_EQ(weir__git_state_has(state, &id), n % 3 == 0);
    }
}

static void check_there(struct weir__git_states *states, uint32_t without, uint64_t others)
{
    struct weir__git_state_about about = help_about("r", WEIR__GIT_SHA1_SIZE);
    struct weir__git_state *state = remember(states, without, others);
    uint64_t known = NODES - (without < NODES);
    struct weir__git_there there;
    CHECK_EQ(weir__git_there_init(&there, state), 0);
    CHECK_EQ(weir__git_there_gone(&there), known + others);
    weir__git_there_add_pack(&there, &pack);
    weir__git_there_add_pack(&there, &pack);
    CHECK_EQ(weir__git_there_gone(&there), others);
    for (uint64_t n = 0; n < others + 300; n += 3) { /* some of which it does not know */
        struct weir__git_id id = help_id(n, WEIR__GIT_SHA1_SIZE);
        CHECK(!weir__git_there_has(&there, &id));
        weir__git_there_add(&there, &id);
        CHECK_EQ(weir__git_there_has(&there, &id), n < others);
    }
    CHECK_EQ(weir__git_there_gone(&there), others - (others + 2) / 3);
    struct weir__git_state_new made = {.old = state, .there = &there};
    CHECK_EQ(weir__git_state_save(states, &about, &made, why), 0);
    weir__git_there_fini(&there);
    weir__git_state_free(state);
    state = help_load(states, &about);
    check_kept(state, without, others);
    weir__git_state_free(state);
}

TEST(what_is_gone_is_not_kept)
{
    static const uint64_t others[] = {0, 1, 100, 5000, 20000}; /* the last: one by one */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        for (uint32_t without = 0; without <= NODES; without += NODES / 2) {
            struct weir__git_states states = help_states(0);
            write_pack(2);
            check_there(&states, without, others[i]);
            drop_pack();
            weir__git_states_close(&states);
        }
}

TAP_MAIN()
