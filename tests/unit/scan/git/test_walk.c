/* test_walk.c - walks under pressure: little memory, long chains, cycles, lies, and every
 * kind of damage. What is not damaged is handed out, and what is, is told. */
#include "family_help.h"

#include <pthread.h>

TEST(a_family_with_enough_memory)
{
    make_family();
    walk_family();
    CHECK_EQ(totals.objects, NODES);
    CHECK_EQ(totals.rebuilt, 0);
    CHECK_EQ(totals.made, (uint64_t)NODES * BODY);
    CHECK(totals.alive_max < 64 * BODY);
}

TEST(a_family_with_little_memory)
{
    make_family();
    uint64_t rebuilt = 0;
    for (uint64_t limit = 12 * BODY; limit >= 3 * BODY - 100; limit -= BODY / 2) {
        help_options.delta_bytes = limit;
        walk_family();
        CHECK(totals.alive_max <= limit);
        CHECK(totals.rebuilt >= rebuilt);
        rebuilt = totals.rebuilt;
    }
    CHECK(rebuilt > 50);
    CHECK_EQ(totals.rebuilt_bytes, rebuilt * BODY);
}

TEST(parts_of_a_pack)
{
    struct writer writer;
    make_family();
    writer_start(&writer, 20);
    char text[64];
    for (uint32_t n = 0; n < 200; n++)
        put_whole(&writer, WEIR__GIT_BLOB, text, (size_t)snprintf(text, sizeof(text), "n %u", n));
    for (help_shards = 1; help_shards <= 64; help_shards++) {
        if (help_shards == 1)
            walk_written(&writer);
        struct weir__git_pack pack;
        open_written(&writer, &pack);
        begin_walks();
        CHECK_EQ(walk_pack(&pack), 0);
        settle(&from_us);
        CHECK_EQ(from_us.count, 200);
        CHECK_EQ(totals.objects, 200);
        walk_family();
    }
    /* About the same work in each. */
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    uint32_t bounds[5];
    open_written(&writer, &pack);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    weir__git_plan_cut(&plan, 4, bounds);
    for (int i = 0; i < 4; i++)
        CHECK(bounds[i + 1] - bounds[i] > 40 && bounds[i + 1] - bounds[i] < 60);
    weir__git_plan_fini(&plan);
    writer_free(&writer);
    help_shards = 1;
}

/* --- several threads --- */

struct part {
    const struct weir__git_plan *plan;
    uint32_t from, until;
    uint64_t objects, sum;
    int result;
};

static int sum_up(void *arg, const struct weir__git_object *object)
{
    struct part *part = arg;
    part->objects++;
    for (size_t i = 0; i < object->length; i++)
        part->sum += object->bytes[i] * (i % 251 + 1);
    return 0;
}

static int on_no_trouble(void *arg, const struct weir__git_trouble *trouble)
{
    (void)arg;
    return -trouble->code;
}

static void *walk_part(void *arg)
{
    struct part *part = arg;
    struct weir__git_visitor visitor = {.enter = sum_up, .trouble = on_no_trouble, .arg = part};
    struct weir__git_walk_totals part_totals = {0};
    part->result = weir__git_walk(part->plan, part->from, part->until, &visitor, &help_options,
                                  &part_totals, NULL);
    return NULL;
}

struct working {
    uint64_t bytes, most;
};

static int add_up(void *arg, uint64_t bytes)
{
    struct working *working = arg;
    working->bytes += bytes;
    return working->bytes > working->most ? -WEIR_E_TOO_LARGE : 0;
}

static int enter_any(void *arg, const struct weir__git_object *object)
{
    (void)arg, (void)object;
    return 0;
}

/* 40 deltas of a few bytes, each of which builds 4 MiB. */
TEST(work_has_a_limit)
{
    struct writer writer;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    static uint8_t zeros[65536];
    weir__git_walk_options_init(&help_options);
    help_options.delta_bytes = 64 << 20;
    writer_start(&writer, 20);
    uint32_t base = put_whole(&writer, WEIR__GIT_BLOB, zeros, sizeof(zeros));
    delta_start(&delta, sizeof(zeros), 64 * sizeof(zeros));
    for (unsigned i = 0; i < 64; i++)
        delta_copy(&delta, 0, sizeof(zeros));
    for (unsigned i = 0; i < 40; i++)
        put_offset_delta(&writer, base, &delta);
    writer_end(&writer, 2);
    open_written(&writer, &pack);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    struct working working = {.most = UINT64_MAX};
    struct weir__git_visitor visitor = {
        .enter = enter_any, .trouble = on_no_trouble, .work = add_up, .arg = &working};
    struct weir__git_walk_totals all_of_it = {0}, some = {0};
    CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &visitor, &help_options, &all_of_it, NULL), 0);
    CHECK_EQ(all_of_it.objects, 41);
    CHECK(working.bytes >= (UINT64_C(39) * 4 << 20) && working.bytes < (UINT64_C(41) * 4 << 20));
    working = (struct working){.most = 20 << 20};
    CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &visitor, &help_options, &some, NULL),
             -WEIR_E_TOO_LARGE);
    CHECK(some.objects > 4 && some.objects < 9);
    weir__git_plan_fini(&plan);
    writer_free(&writer);
}

static bool is_always_over(void *arg)
{
    (void)arg;
    return true;
}

/* Family by family: each walk ends after one, and the next goes on from there. */
TEST(a_walk_that_others_interrupt)
{
    struct writer writer;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    uint8_t *more[64];
    weir__git_walk_options_init(&help_options);
    writer_start(&writer, 20);
    write_family(&writer, 64, more);
    for (uint32_t n = 0; n < 20; n++)
        put_whole(&writer, WEIR__GIT_BLOB, more[n], BODY - n);
    writer_end(&writer, 2);
    open_written(&writer, &pack);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    struct part alone = {.plan = &plan, .until = plan.count}, often = {.plan = &plan};
    walk_part(&alone);
    struct weir__git_visitor visitor = {
        .enter = sum_up, .trouble = on_no_trouble, .is_over = is_always_over, .arg = &often};
    struct weir__git_walk_totals last;
    unsigned walks = 0;
    do {
        last = (struct weir__git_walk_totals){0};
        CHECK_EQ(
            weir__git_walk(&plan, often.from, plan.count, &visitor, &help_options, &last, NULL), 0);
        often.from = last.next;
    } while (last.is_left && ++walks < 100);
    CHECK_EQ(walks, 20); /* and the last one */
    CHECK(often.objects == alone.objects && often.sum == alone.sum);
    weir__git_plan_fini(&plan);
    writer_free(&writer);
    for (int i = 0; i < 64; i++)
        free(more[i]);
}

TEST(threads_share_a_plan)
{
    struct writer writer;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    uint32_t bounds[5];
    uint8_t *more[64];
    weir__git_walk_options_init(&help_options);
    help_options.delta_bytes = 4 * BODY;
    writer_start(&writer, 20);
    /* Several families; the first has its numbers for itself. */
    write_family(&writer, 64, more);
    for (uint32_t n = 0; n < 200; n++)
        put_whole(&writer, WEIR__GIT_BLOB, more[n % 64], BODY - n);
    writer_end(&writer, 2);
    open_written(&writer, &pack);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    weir__git_plan_cut(&plan, 4, bounds);
    struct part alone = {.plan = &plan, .until = plan.count}, parts[4];
    walk_part(&alone);
    pthread_t threads[4];
    uint64_t objects = 0, sum = 0;
    for (int i = 0; i < 4; i++) {
        parts[i] = (struct part){.plan = &plan, .from = bounds[i], .until = bounds[i + 1]};
        CHECK_EQ(pthread_create(&threads[i], NULL, walk_part, &parts[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(parts[i].result, 0);
        objects += parts[i].objects;
        sum += parts[i].sum;
    }
    CHECK_EQ(alone.result, 0);
    CHECK_EQ(objects, 264);
    CHECK(objects == alone.objects && sum == alone.sum);
    weir__git_plan_fini(&plan);
    writer_free(&writer);
    for (int i = 0; i < 64; i++)
        free(more[i]);
}

/* --- what is wanted --- */

static uint32_t only;

static bool is_only(void *arg, const struct weir__git_id *id, enum weir__git_type type)
{
    struct weir__git_id wanted = id_of(only);
    (void)arg;
    CHECK(type == WEIR__GIT_BLOB);
    return weir__git_id_is_equal(id, &wanted);
}

TEST(only_what_is_wanted)
{
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = 1u << WEIR__GIT_BLOB, .is_wanted = is_only};
    make_family();
    CHECK_EQ(weir__git_plan_init(&plan, &family_pack), 0);
    for (only = 0; only < NODES; only += 37) {
        uint64_t depth = 0;
        for (uint32_t n = only; n > 0; n = parent_of(n))
            depth++;
        begin_walks();
        CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
        CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &help_visitor, &help_options, &totals, NULL),
                 0);
        settle(&from_us);
        CHECK_EQ(from_us.count, 1);
        CHECK(was_seen(only, bodies[only], BODY));
        /* Its bases and nobody else. */
        CHECK_EQ(totals.made, (depth + 1) * BODY);
    }
    wish.types = 1u << WEIR__GIT_TREE;
    begin_walks();
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &help_visitor, &help_options, &totals, NULL), 0);
    CHECK_EQ(totals.made, 0);
    weir__git_plan_fini(&plan);
}

TEST(a_visitor_may_stop)
{
    make_family();
    begin_walks();
    enter_answer = 42;
    CHECK_EQ(walk_pack(&family_pack), 42);
    enter_answer = 0;
    CHECK_EQ(totals.objects, 1);
    CHECK_EQ(depth_now, 0); /* left */
}

TEST(a_deadline_ends_it)
{
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    struct weir_cancel cancel;
    make_family();
    weir_cancel_init(&cancel, NULL);
    weir_cancel_fire(&cancel);
    struct weir_deadline deadline = weir_deadline_until(&cancel);
    CHECK_EQ(weir__git_plan_init(&plan, &family_pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    begin_walks();
    CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &help_visitor, &help_options, &totals, &deadline),
             -WEIR_E_CANCELED);
    CHECK(totals.objects < NODES);
    CHECK_EQ(depth_now, 0);
    weir__git_plan_fini(&plan);
    weir_cancel_fini(&cancel);
}

/* --- chains --- */

TEST(a_chain_of_50000)
{
    struct writer writer;
    uint32_t count = 50000;
    uint8_t body[100] = {0};
    weir__git_walk_options_init(&help_options);
    writer_start(&writer, 20);
    for (uint32_t n = 0; n < count; n++) {
        memcpy(body, &n, sizeof(n));
        if (n == 0) {
            put_whole(&writer, WEIR__GIT_BLOB, body, sizeof(body));
            continue;
        }
        delta_start(&delta, sizeof(body), sizeof(body));
        delta_insert(&delta, &n, sizeof(n));
        delta_copy(&delta, 4, sizeof(body) - 4);
        put_offset_delta(&writer, n - 1, &delta);
    }
    walk_written(&writer);
    CHECK_EQ(told_count, 0);
    CHECK_EQ(from_us.count, count);
    CHECK(was_seen(count - 1, body, sizeof(body)));
    /* Everybody has one child: only two are alive at once, and the delta. */
    CHECK(totals.alive_max < 4 * 4096);
    /* Beyond the limit it is told. */
    struct weir__git_pack pack;
    help_options.chain_max = 1000;
    open_written(&writer, &pack);
    begin_walks();
    CHECK_EQ(walk_pack(&pack), 0);
    settle(&from_us);
    CHECK_EQ(from_us.count, 1000);
    CHECK_EQ(told_count, count - 1000);
    CHECK(was_told(1000, WEIR_E_TOO_LARGE, "longer than the limit"));
    writer_free(&writer);
}

TEST(cycles_and_loops)
{
    struct writer writer;
    struct weir__git_id later = id_of(2), itself = id_of(3), first = id_of(1);
    weir__git_walk_options_init(&help_options);
    writer_start(&writer, 20);
    put_whole(&writer, WEIR__GIT_BLOB, "good", 4);
    delta_start(&delta, 4, 4);
    delta_copy(&delta, 0, 4);
    put_reference_delta(&writer, &later, &delta); /* 1 from 2 */
    put_reference_delta(&writer, &first, &delta); /* 2 from 1 */
    put_reference_delta(&writer, &itself, &delta);
    put_reference_delta(&writer, &first, &delta); /* 4 hangs on the cycle */
    put_offset_delta(&writer, 0, &delta);         /* 5 is good */
    /* 6: its base is 0 bytes before it; 7: in the middle of an object; 8: before the pack. */
    put_head(&writer, 6, delta.length);
    put_distance(&writer, 0);
    put_packed(&writer, delta.at, delta.length);
    put_head(&writer, 6, delta.length);
    put_distance(&writer, 3);
    put_packed(&writer, delta.at, delta.length);
    put_head(&writer, 6, delta.length);
    put_distance(&writer, 1000000);
    put_packed(&writer, delta.at, delta.length);
    put_offset_delta(&writer, 7, &delta); /* 9 from 7, which has no base */
    walk_written(&writer);
    CHECK_EQ(from_us.count, 2);
    CHECK(was_seen(0, "good", 4) && was_seen(5, "good", 4));
    CHECK_EQ(told_count, 8);
    for (uint32_t n = 1; n <= 4; n++)
        CHECK(was_told(n, WEIR_E_CORRUPT, "cycle"));
    CHECK(was_told(6, WEIR_E_CORRUPT, "head is damaged"));
    CHECK(was_told(7, WEIR_E_CORRUPT, "its base is not an object"));
    CHECK(was_told(8, WEIR_E_CORRUPT, "head is damaged"));
    CHECK(was_told(9, WEIR_E_CORRUPT, "what it is built from"));
    writer_free(&writer);
}

/* --- lies --- */

TEST(lying_sizes)
{
    struct writer writer;
    static uint8_t zeros[4096];
    weir__git_walk_options_init(&help_options);
    writer_start(&writer, 20);
    put_head(&writer, WEIR__GIT_BLOB, 10); /* 0: says 10, has 4 */
    put_packed(&writer, "four", 4);
    put_head(&writer, WEIR__GIT_BLOB, 2); /* 1: says 2, has 4 */
    put_packed(&writer, "four", 4);
    put_head(&writer, WEIR__GIT_BLOB, UINT64_C(1) << 50); /* 2: a petabyte */
    put_packed(&writer, "four", 4);
    put_head(&writer, 5, 4); /* 3: a kind that there is not */
    put_packed(&writer, "four", 4);
    put_whole(&writer, WEIR__GIT_BLOB, "base", 4); /* 4 */
    put_lies(&writer, 4, 4);                       /* 5 to 11 */
    put_head(&writer, WEIR__GIT_BLOB, 4);          /* 12: not packed */
    put_bytes(&writer.pack, "what is this", 12);
    put_whole(&writer, WEIR__GIT_BLOB, zeros, sizeof(zeros)); /* 13 */
    walk_written(&writer);
    CHECK_EQ(from_us.count, 2);
    CHECK(was_seen(4, "base", 4) && was_seen(13, zeros, sizeof(zeros)));
    CHECK_EQ(large_count, 1); /* 11 */
    CHECK_EQ(large_bytes, UINT64_C(1) << 60);
    CHECK_EQ(told_count, 11);
    CHECK(was_told(2, WEIR_E_CORRUPT, "so few bytes"));
    CHECK(was_told(5, WEIR_E_CORRUPT, "another size"));
    writer_free(&writer);
}

TEST(bombs)
{
    struct writer writer;
    static uint8_t zeros[1 << 20];
    weir__git_walk_options_init(&help_options);
    help_options.object_max = 64 << 20;
    help_options.delta_bytes = 256 << 20;
    writer_start(&writer, 20);
    put_whole(&writer, WEIR__GIT_BLOB, zeros, sizeof(zeros));
    /* Each a hundred times its base, of a few hundred bytes. */
    uint32_t base = 0;
    uint64_t size = sizeof(zeros);
    for (int n = 0; n < 3; n++) {
        delta_start(&delta, size, size * 60);
        for (int i = 0; i < 60; i++)
            delta_copy(&delta, 0, (uint32_t)size);
        base = put_offset_delta(&writer, base, &delta);
        size *= 60;
    }
    walk_written(&writer);
    CHECK_EQ(from_us.count, 2);
    CHECK_EQ(told_count, 0);
    CHECK_EQ(large_count, 2);
    CHECK_EQ(large_bytes, UINT64_C(219600) << 20);
    CHECK(totals.alive_max < UINT64_C(160) << 20);
    writer_free(&writer);
    /* The sum of all is limited as well. */
    make_family();
    help_options.work_max = 2 * BODY;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    CHECK_EQ(told_count, 0); /* a delta and an object */
    help_options.work_max = BODY + 10;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    CHECK(was_told(1, WEIR_E_TOO_LARGE, "more work"));
    help_options.work_max = UINT64_C(4) << 30;
    help_options.delta_bytes = 3 * BODY;
    help_options.rebuilt_max = 10 * BODY;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    CHECK(told_count > 0 && told[0].code == WEIR_E_TOO_LARGE);
    CHECK_HAS(told[0].why, "built again");
    CHECK(totals.rebuilt_bytes <= 12 * BODY);
}

TEST(too_large_alone)
{
    make_family();
    help_options.delta_bytes = BODY - 1;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    CHECK_EQ(told_count, 0);
    CHECK_EQ(large_count, NODES); /* what is built from it as well */
    CHECK_EQ(large_bytes, (uint64_t)NODES * BODY);
    CHECK_EQ(totals.too_large, NODES);
    /* The root fits, but not beside what is built from it. */
    help_options.delta_bytes = 2 * BODY - 1;
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    settle(&from_us);
    CHECK(was_seen(0, bodies[0], BODY));
    CHECK_EQ(from_us.count, 1);
    CHECK_EQ(large_count, NODES - 1);
    CHECK_EQ(told_count, 0);
}

/* --- a base that is elsewhere --- */

static int get_elsewhere(void *arg, const struct weir__git_id *id, enum weir__git_type *ret_type,
                         struct weir__buffer *bytes)
{
    struct weir__git_id known = id_of(77);
    if (!weir__git_id_is_equal(id, &known))
        return -WEIR_E_NOT_FOUND;
    weir__buffer_truncate(bytes, 0);
    *ret_type = *(enum weir__git_type *)arg;
    return weir__buffer_puts(bytes, "elsewhere");
}

TEST(thin_packs)
{
    struct writer writer;
    enum weir__git_type type = WEIR__GIT_BLOB;
    struct weir__git_id there = id_of(77), nowhere = id_of(78);
    weir__git_walk_options_init(&help_options);
    help_options.get = get_elsewhere;
    help_options.get_arg = &type;
    writer_start(&writer, 20);
    delta_start(&delta, 9, 6);
    delta_copy(&delta, 0, 4);
    delta_insert(&delta, "!!", 2);
    put_reference_delta(&writer, &there, &delta);
    put_reference_delta(&writer, &nowhere, &delta);
    delta_start(&delta, 6, 3);
    delta_copy(&delta, 0, 3);
    put_offset_delta(&writer, 0, &delta);
    put_offset_delta(&writer, 1, &delta);
    walk_written(&writer);
    CHECK(was_seen(0, "else!!", 6) && was_seen(2, "els", 3));
    CHECK_EQ(from_us.count, 2);
    CHECK(was_told(1, WEIR_E_NOT_FOUND, "its base is missing"));
    CHECK(was_told(3, WEIR_E_NOT_FOUND, "built from"));
    /* A type that nobody asked for. */
    struct weir__git_pack pack;
    type = WEIR__GIT_TREE;
    help_types = 1u << WEIR__GIT_BLOB;
    open_written(&writer, &pack);
    begin_walks();
    CHECK_EQ(walk_pack(&pack), 0);
    CHECK_EQ(totals.objects, 0);
    help_types = WEIR__GIT_ALL_TYPES;
    writer_free(&writer);
}

/* --- damage --- */

static char pack_path[512], idx_path[512];
static struct bytes pack_bytes, idx_bytes;

static void read_whole_file(const char *command, char path[512], struct bytes *bytes)
{
    FILE *pipe = popen(command, "r");
    CHECK(pipe && fgets(path, 512, pipe));
    pclose(pipe);
    path[strcspn(path, "\n")] = '\0';
    FILE *file = fopen(path, "rb");
    char window[4096];
    bytes->length = 0;
    CHECK(file);
    for (size_t count; (count = fread(window, 1, sizeof(window), file)) > 0;)
        put_bytes(bytes, window, count);
    fclose(file);
}

static void make_damaged(void)
{
    help_start();
    weir__git_walk_options_init(&help_options);
    if (pack_bytes.length > 0)
        return;
    CHECK(help_run("git init -q damaged && cd damaged && for i in $(seq 12); do "
                   "seq $i $((300 + i)) >n; echo $i >f$i; git add -A; git commit -qm $i; done; "
                   "git tag -am t t; git repack -adfq --depth=50; chmod u+w .git/objects/pack/*"));
    read_whole_file("ls $PWD/damaged/.git/objects/pack/*.pack", pack_path, &pack_bytes);
    read_whole_file("ls $PWD/damaged/.git/objects/pack/*.idx", idx_path, &idx_bytes);
    ask_git("damaged");
}

/* Nothing that is handed out is wrong, and nothing is lost in silence. */
static void check_damaged(bool is_opened)
{
    if (!is_opened)
        return;
    settle(&from_us);
    for (size_t i = 0; i < from_us.count; i++) {
        const struct known *right = find_object(&from_git, &from_us.rows[i].id);
        CHECK(right);
        CHECK(memcmp(right->digest, from_us.rows[i].digest, WEIR__HASH_SIZE) == 0);
    }
    CHECK_EQ(from_us.count + told_count + large_count, from_git.count);
}

TEST(flipped_bytes_of_a_pack)
{
    size_t step = getenv("WEIR_LONG") ? 7 : 97, unopened = 0, all = 0;
    make_damaged();
    for (size_t at = 0; at < pack_bytes.length; at += at < 32 ? 1 : step)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct weir__git_pack pack;
            const char *why = NULL;
            pack_bytes.at[at] ^= (uint8_t)(1u << bit);
            begin_walks();
            int result = weir__git_pack_of_bytes(&pack, pack_bytes.at, pack_bytes.length,
                                                 idx_bytes.at, idx_bytes.length, 20, &why);
            if (result == 0)
                CHECK_EQ(walk_pack(&pack), 0);
            else
                CHECK(why && why[0]);
            unopened += result < 0;
            check_damaged(result == 0);
            /* One entry, and what is built from it. */
            CHECK(result < 0 || told_count < from_git.count);
            all += told_count;
            pack_bytes.at[at] ^= (uint8_t)(1u << bit);
        }
    CHECK_EQ(unopened, 0);
    CHECK(all > 0);
}

TEST(flipped_bytes_of_an_index)
{
    make_damaged();
    for (size_t at = 0; at < idx_bytes.length; at += at < 40 || at > 1032 ? 3 : 41)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            struct weir__git_pack pack;
            const char *why = NULL;
            idx_bytes.at[at] ^= (uint8_t)(1u << bit);
            begin_walks();
            int result = weir__git_pack_of_bytes(&pack, pack_bytes.at, pack_bytes.length,
                                                 idx_bytes.at, idx_bytes.length, 20, &why);
            if (result == 0) {
                CHECK_EQ(walk_pack(&pack), 0);
                /* Ids may be wrong here, which only hashing would show; none is lost. */
                CHECK_EQ(from_us.count + told_count + large_count, from_git.count);
            }
            idx_bytes.at[at] ^= (uint8_t)(1u << bit);
        }
}

TEST(cut_packs)
{
    make_damaged();
    for (size_t length = 0; length < pack_bytes.length; length += 61) {
        struct weir__git_pack pack;
        const char *why = NULL;
        uint8_t *copy = malloc(length ? length : 1);
        memcpy(copy, pack_bytes.at, length);
        begin_walks();
        int result =
            weir__git_pack_of_bytes(&pack, copy, length, idx_bytes.at, idx_bytes.length, 20, &why);
        if (result == 0)
            CHECK_EQ(walk_pack(&pack), 0);
        CHECK(result == 0 || length < 32);
        check_damaged(result == 0);
        CHECK(result < 0 || pack.has_doubt);
        free(copy);
    }
}

/* Cut while it is mapped: an error of what was lost, and not the end of the process. */
TEST(cut_while_it_is_read)
{
    struct weir__git_store *store;
    struct weir__git_pack pack;
    struct weir__git_plan plan;
    struct weir__git_wish wish = {.types = WEIR__GIT_ALL_TYPES};
    make_damaged();
    CHECK(help_run("rm -rf cut && cp -r damaged cut && cd cut && "
                   "for i in 1 2 3 4 5 6; do head -c 30000 /dev/urandom >r$i; done; git add . && "
                   "git commit -qm r && git repack -adfq && chmod u+w .git/objects/pack/*"));
    ask_git("cut");
    store = open_store("cut");
    CHECK_EQ(weir__git_store_pack_open(store, 0, &pack), 0);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), 0);
    CHECK_EQ(weir__git_plan_mark(&plan, &wish), 0);
    CHECK(help_run("cd cut/.git/objects/pack && truncate -s 40000 *.pack"));
    begin_walks();
    CHECK_EQ(weir__git_walk(&plan, 0, plan.count, &help_visitor, &help_options, &totals, NULL), 0);
    settle(&from_us);
    CHECK_EQ(from_us.count + told_count, from_git.count);
    CHECK(told_count > 3 && from_us.count > 3);
    CHECK_EQ(told[told_count - 1].code, WEIR_E_IO);
    /* The same for the index and for a plan. */
    weir__git_plan_fini(&plan);
    CHECK_EQ(weir__git_plan_init(&plan, &pack), -WEIR_E_IO);
    struct weir__buffer bytes;
    size_t good = 0, bad = 0;
    weir__buffer_init(&bytes, (size_t)1 << 24);
    for (size_t i = 0; i < from_git.count; i++) {
        int result = weir__git_store_get(store, &from_git.rows[i].id, NULL, &bytes);
        good += result == 0;
        bad += result == -WEIR_E_IO || result == -WEIR_E_CORRUPT;
        if (result < 0)
            CHECK_HAS(weir__git_store_problem(store), "pack");
    }
    CHECK(good > 3 && bad > 3 && good + bad == from_git.count);
    weir__buffer_fini(&bytes);
    weir__git_pack_close(&pack);
    weir__git_store_close(store);
}

int main(int argc, char **argv)
{
    int status = tap_main(argc, argv);
    free(delta.at);
    help_done();
    return status;
}
