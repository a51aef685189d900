/* test_git_lineage.c - what leads to a blob, by deltas, against reading every tree. */
#include "git_meta_help.h"

#include "lineage.h"
#include "lineage_later.h"

#define FOLDERS  6u
#define VERSIONS 120u /* of the root; of each folder there are fewer */
#define NAMES    24u
#define BLOBS    4000u

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % limit;
}

static struct weir__git_id made_id(uint32_t kind, uint32_t number, size_t id_size)
{
    struct weir__git_id id = {{0}};
    uint64_t word = ((uint64_t)kind << 32 | number) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < id_size; i++) {
        word = word * UINT64_C(6364136223846793005) + 1;
        id.bytes[i] = (uint8_t)(word >> 40);
    }
    return id;
}

/* An entry of a tree, and a tree. */
struct one {
    char name[24];
    bool is_tree;
    uint32_t target; /* a blob, or a tree among the trees */
};

struct tree {
    struct weir__git_id id;
    struct one ones[NAMES + FOLDERS];
    size_t count;
    char bytes[4096];
    size_t length;
    struct weir__git_tree_starts starts;
    uint32_t number;
    bool is_noted;
    bool is_later; /* it waits for that, and the number is its place */
};

static struct tree *trees;
static uint32_t trees_count;
static size_t id_size;
static struct weir__git_later *later; /* NULL: trees are noted at once */

static void write_tree(struct tree *tree)
{
    tree->id = made_id(7, trees_count, id_size);
    tree->length = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const struct one *one = &tree->ones[i];
        struct weir__git_id id =
            one->is_tree ? trees[one->target].id : made_id(3, one->target, id_size);
        tree->length += (size_t)snprintf(tree->bytes + tree->length, 64, "%s %s",
                                         one->is_tree ? "40000" : "100644", one->name) +
                        1;
        memcpy(tree->bytes + tree->length, id.bytes, id_size);
        tree->length += id_size;
    }
}

/* Bytes that both have, wherever: what a delta may copy. Entries mean nothing to it. */
static size_t make_copies(const struct tree *base, const struct tree *own,
                          struct weir__git_tree_part *copies)
{
    size_t count = 0, at = 0;
    while (at + 4 < own->length && count < 200) {
        uint32_t best = 0, from = 0;
        for (uint32_t place = 0; place < base->length; place++) {
            uint32_t length = 0;
            while (place + length < base->length && at + length < own->length &&
                   base->bytes[place + length] == own->bytes[at + length])
                length++;
            if (length > best) {
                best = length;
                from = place;
            }
        }
        uint32_t length = best > 8 && below(4) == 0 ? best - below(8) : best;
        if (length >= 4 && below(12) != 0)
            copies[count++] = (struct weir__git_tree_part){(uint32_t)at, from, length};
        at += length > 0 ? length : 1;
    }
    return count;
}

/* All entries are there: those that are new as they are, the others as the base has them. */
static void check_starts(const struct tree *tree)
{
    struct weir__git_tree all;
    struct weir__git_tree_entry entry;
    char why[WEIR__GIT_FLAW_MAX];
    size_t count = 0, at = 0;
    weir__git_tree_init(&all, tree->bytes, tree->length, id_size);
    while (weir__git_tree_next(&all, &entry, why) > 0) {
        CHECK_EQ(tree->starts.at[count], at);
        at = all._at;
        count++;
    }
    CHECK_EQ(tree->starts.count, count);
    CHECK_EQ(tree->starts.at[count], at);
}

static void note_later(struct weir__git_lineage *lineage)
{
    weir__git_later_note(later, lineage);
    CHECK(weir__git_later_is_empty(later));
    for (uint32_t i = 0; i < trees_count; i++) {
        if (trees[i].is_later)
            trees[i].number = later->numbers[trees[i].number];
        trees[i].is_later = false;
    }
}

/* What the tree is of is gone when it is noted. */
static void add_later(struct weir__git_lineage *lineage, struct tree *tree, const struct tree *base,
                      const struct weir__git_split *split, struct weir__git_lineage_new *added,
                      unsigned count)
{
    struct weir__git_later_tree waits = {.id = tree->id,
                                         .base = base ? base->number : WEIR__GIT_SET_NONE,
                                         .is_base_later = base && base->is_later,
                                         .parts = split->parts,
                                         .parts_count = split->parts_count,
                                         .entries = added,
                                         .entries_count = count};
    char names[sizeof(tree->bytes)];
    memcpy(names, tree->bytes, tree->length);
    for (unsigned i = 0; i < count; i++)
        added[i].name = names + (added[i].name - tree->bytes);
    if (!weir__git_later_add(later, &waits, &tree->number)) {
        note_later(lineage);
        waits.base = base ? base->number : WEIR__GIT_SET_NONE;
        waits.is_base_later = false;
        CHECK(weir__git_later_add(later, &waits, &tree->number));
    }
    tree->is_later = true;
    memset(names, '?', sizeof(names));
}

static unsigned note(struct weir__git_lineage *lineage, struct tree *tree, const struct tree *base)
{
    static struct weir__git_tree_part copies[256];
    struct weir__git_split split = {.parts = NULL};
    struct weir__git_lineage_new added[NAMES + FOLDERS];
    struct weir__git_tree_entry entry;
    char why[WEIR__GIT_FLAW_MAX];
    unsigned count = 0;
    uint32_t at;
    int result;
    size_t copied = base ? make_copies(base, tree, copies) : 0;
    weir__git_split_begin(&split, tree->bytes, tree->length, id_size, base ? &base->starts : NULL,
                          copies, copied, &tree->starts);
    while ((result = weir__git_split_next(&split, &entry, &at, why)) > 0)
        added[count++] =
            (struct weir__git_lineage_new){.name = entry.name,
                                           .name_length = (uint32_t)entry.name_length,
                                           .at = at,
                                           .length = weir__git_split_end(&split) - at,
                                           .is_tree = weir__git_mode_is_tree(entry.mode),
                                           .id = entry.id};
    CHECK_EQ(result, 0);
    check_starts(tree);
    if (tree->is_noted && later)
        add_later(lineage, tree, base, &split, added, count);
    else if (tree->is_noted)
        tree->number =
            weir__git_lineage_note(lineage, &tree->id, base ? base->number : WEIR__GIT_SET_NONE,
                                   split.parts, split.parts_count, added, count);
    weir__git_split_fini(&split);
    return count;
}

/* A tree like the one before it, with something changed; -1: a new one. */
static uint32_t make_tree(struct weir__git_lineage *lineage, int before, bool is_noted,
                          unsigned *ret_new)
{
    struct tree *tree = &trees[trees_count];
    *tree = (struct tree){.is_noted = is_noted, .number = WEIR__GIT_SET_NONE};
    if (before >= 0) {
        memcpy(tree->ones, trees[before].ones, sizeof(tree->ones));
        tree->count = trees[before].count;
    } else {
        for (; tree->count < NAMES / 2; tree->count++) {
            struct one *one = &tree->ones[tree->count];
            snprintf(one->name, sizeof(one->name), "f%02zu%s", tree->count * 2,
                     below(3) ? "" : "-of-some-length");
            one->target = below(BLOBS);
        }
    }
    for (unsigned changes = 1 + below(2); changes > 0; changes--) {
        size_t at = below((uint32_t)tree->count);
        unsigned way = below(8);
        if (tree->ones[at].is_tree)
            continue;
        if (way == 0 && tree->count > NAMES / 4) {
            memmove(&tree->ones[at], &tree->ones[at + 1],
                    (tree->count - at - 1) * sizeof(struct one));
            tree->count--;
        } else if (way == 1 && tree->count < NAMES) {
            memmove(&tree->ones[at + 1], &tree->ones[at], (tree->count - at) * sizeof(struct one));
            snprintf(tree->ones[at].name, sizeof(tree->ones[at].name), "n%u", below(100000));
            tree->ones[at].target = below(BLOBS);
            tree->count++;
        } else {
            tree->ones[at].target = below(BLOBS);
        }
    }
    write_tree(tree);
    const struct tree *base =
        before >= 0 && trees[before].is_noted && below(10) ? &trees[before] : NULL;
    unsigned count = note(lineage, tree, base);
    *ret_new += base ? count : 0;
    return trees_count++;
}

/* Roots over folders, each folder a family of its own. */
static void make_all(struct weir__git_lineage *lineage, unsigned holes, unsigned *ret_new)
{
    int folders[FOLDERS], root = -1;
    for (unsigned i = 0; i < FOLDERS; i++)
        folders[i] = (int)make_tree(lineage, -1, true, ret_new);
    for (unsigned version = 0; version < VERSIONS; version++) {
        unsigned which = below(FOLDERS);
        bool is_noted = !holes || below(holes) != 0;
        folders[which] = (int)make_tree(lineage, folders[which], is_noted, ret_new);
        struct tree *tree = &trees[trees_count];
        const struct tree *base = root >= 0 ? &trees[root] : NULL;
        *tree = (struct tree){.is_noted = true, .number = WEIR__GIT_SET_NONE};
        for (; tree->count < FOLDERS; tree->count++) {
            struct one *one = &tree->ones[tree->count];
            snprintf(one->name, sizeof(one->name), "folder%zu", tree->count);
            one->is_tree = true;
            one->target = (uint32_t)folders[tree->count];
        }
        write_tree(tree);
        *ret_new += note(lineage, tree, base);
        root = (int)trees_count++;
    }
}

static bool leads(const struct weir__git_set *wanted, uint32_t number);

static bool is_leading(const struct weir__git_set *wanted, const struct one *one)
{
    struct weir__git_id id = made_id(3, one->target, id_size);
    return one->is_tree ? !trees[one->target].is_noted || leads(wanted, one->target)
                        : weir__git_set_find(wanted, &id) != WEIR__GIT_SET_NONE;
}

static bool leads(const struct weir__git_set *wanted, uint32_t number)
{
    for (size_t i = 0; i < trees[number].count; i++)
        if (is_leading(wanted, &trees[number].ones[i]))
            return true;
    return false;
}

/* Exactly those that lead on, and nothing twice. */
static void check_tree(const struct weir__git_lineage *lineage, const struct weir__git_set *wanted,
                       uint32_t number)
{
    const struct tree *tree = &trees[number];
    struct weir__git_tree_entry entry;
    uint32_t cursor;
    size_t given = 0, right = 0, expected = 0;
    CHECK_EQ(weir__git_lineage_entries(lineage, &tree->id, &cursor), tree->is_noted);
    if (!tree->is_noted)
        return;
    for (; weir__git_lineage_next(lineage, &cursor, &entry); given++)
        for (size_t i = 0; i < tree->count; i++) {
            const struct one *one = &tree->ones[i];
            struct weir__git_id id =
                one->is_tree ? trees[one->target].id : made_id(3, one->target, id_size);
            right += entry.name_length == strlen(one->name) &&
                     memcmp(entry.name, one->name, entry.name_length) == 0 &&
                     weir__git_mode_is_tree(entry.mode) == one->is_tree &&
                     memcmp(&entry.id, &id, sizeof(id)) == 0 && is_leading(wanted, one);
        }
    for (size_t i = 0; i < tree->count; i++)
        expected += is_leading(wanted, &tree->ones[i]);
    CHECK_EQ(given, expected);
    CHECK_EQ(right, expected);
}

static void check_seed(uint64_t seed, unsigned holes, uint32_t blobs)
{
    struct weir__git_lineage lineage;
    struct weir__git_set wanted;
    unsigned added = 0;
    state = seed;
    trees = calloc(FOLDERS + 2 * VERSIONS, sizeof(*trees));
    trees_count = 0;
    weir__git_lineage_init(&lineage, id_size, 1u << 24);
    weir__git_set_init(&wanted, id_size, 0, 0);
    make_all(&lineage, holes, &added);
    if (later)
        note_later(&lineage);
    CHECK(added < 5 * trees_count); /* of the 6 or 12 that a tree has */
    for (uint32_t i = 0; i < blobs; i++) {
        struct weir__git_id id = made_id(3, below(BLOBS), id_size);
        uint32_t number;
        CHECK(weir__git_set_add(&wanted, &id, &number) >= 0);
    }
    CHECK_EQ(weir__git_lineage_find(&lineage, &wanted, NULL), 0);
    for (uint32_t i = 0; i < trees_count; i++)
        check_tree(&lineage, &wanted, i);
    for (uint32_t i = 0; i < trees_count; i++)
        weir__git_tree_starts_fini(&trees[i].starts);
    weir__git_set_fini(&wanted);
    weir__git_lineage_fini(&lineage);
    free(trees);
}

TEST(what_leads_on_is_what_reading_all_trees_says)
{
    for (unsigned i = 0; i < 8; i++) {
        id_size = i % 2 ? WEIR__GIT_SHA256_SIZE : WEIR__GIT_SHA1_SIZE;
        check_seed(100 + i, 0, i % 3 == 0 ? 4 : 400);
    }
}

TEST(trees_that_were_not_noted_are_led_to)
{
    id_size = WEIR__GIT_SHA1_SIZE;
    for (unsigned i = 0; i < 4; i++)
        check_seed(200 + i, 9, 40);
}

TEST(trees_may_be_noted_later)
{
    later = calloc(1, sizeof(*later));
    id_size = WEIR__GIT_SHA1_SIZE;
    for (unsigned i = 0; i < 4; i++)
        check_seed(100 + i, i % 2 ? 9 : 0, 40);
    free(later);
    later = NULL;
}

TEST(more_than_fits_is_not_taken_for_later)
{
    struct weir__git_lineage lineage;
    char name[1000];
    struct weir__git_lineage_new entry = {.name = name, .name_length = sizeof(name), .length = 40};
    struct weir__git_later_tree tree = {.entries = &entry, .entries_count = 1};
    uint32_t place, count = 0;
    memset(name, 'n', sizeof(name));
    later = calloc(1, sizeof(*later));
    trees_count = 0;
    weir__git_lineage_init(&lineage, WEIR__GIT_SHA1_SIZE, 1u << 20);
    for (tree.base = WEIR__GIT_SET_NONE; weir__git_later_add(later, &tree, &place); count++) {
        CHECK_EQ(place, count);
        tree.id = made_id(7, count + 1, WEIR__GIT_SHA1_SIZE);
    }
    CHECK(count > 25 && count < WEIR__GIT_LATER_TREES);
    note_later(&lineage);
    for (uint32_t i = 0; i < count; i++)
        CHECK_EQ(later->numbers[i], i);
    entry.name_length = 10;
    for (count = 0; weir__git_later_add(later, &tree, &place); count++)
        continue;
    CHECK_EQ(count, WEIR__GIT_LATER_TREES);
    note_later(&lineage);
    tree.entries_count = WEIR__GIT_LATER_BYTES / sizeof(entry) + 1;
    struct weir__git_lineage_new *entries = calloc(tree.entries_count, sizeof(*entries));
    tree.entries = entries;
    CHECK(!weir__git_later_add(later, &tree, &place));
    free(entries);
    weir__git_lineage_fini(&lineage);
    free(later);
    later = NULL;
}

/* A copy that begins within an entry of the base gives another entry, which is new. */
TEST(copies_may_lie_across_entries)
{
    struct tree base = {.count = 2, .is_noted = true}, own = {.is_noted = true};
    struct weir__git_lineage lineage;
    struct weir__git_tree_entry entry;
    struct weir__git_split split = {.parts = NULL};
    char why[WEIR__GIT_FLAW_MAX];
    uint32_t at;
    id_size = WEIR__GIT_SHA1_SIZE;
    trees_count = 0;
    snprintf(base.ones[0].name, sizeof(base.ones[0].name), "x100644 key");
    snprintf(base.ones[1].name, sizeof(base.ones[1].name), "z");
    write_tree(&base);
    weir__git_lineage_init(&lineage, id_size, 1u << 20);
    CHECK_EQ(note(&lineage, &base, NULL), 2);
    own.length = base.length - 8;
    memcpy(own.bytes, base.bytes + 8, own.length);
    const struct weir__git_tree_part copy = {0, 8, (uint32_t)own.length};
    weir__git_split_begin(&split, own.bytes, own.length, id_size, &base.starts, &copy, 1,
                          &own.starts);
    CHECK_EQ(weir__git_split_next(&split, &entry, &at, why), 1);
    CHECK_EQ(entry.name_length, 3);
    CHECK_EQ(weir__git_split_next(&split, &entry, &at, why), 0);
    CHECK_EQ(split.parts_count, 1); /* the second one is what it was */
    CHECK_EQ(split.parts[0].from, base.starts.at[1]);
    CHECK_EQ(own.starts.count, 2);
    weir__git_split_fini(&split);
    weir__git_tree_starts_fini(&own.starts);
    weir__git_tree_starts_fini(&base.starts);
    weir__git_lineage_fini(&lineage);
}

TEST(beyond_its_memory_it_knows_nothing)
{
    struct weir__git_lineage lineage;
    struct weir__git_set wanted;
    unsigned added = 0;
    uint32_t cursor;
    id_size = WEIR__GIT_SHA1_SIZE;
    state = 300;
    trees = calloc(FOLDERS + 2 * VERSIONS, sizeof(*trees));
    trees_count = 0;
    weir__git_lineage_init(&lineage, id_size, 60000);
    weir__git_set_init(&wanted, id_size, 0, 0);
    make_all(&lineage, 0, &added);
    CHECK(weir__git_lineage_bytes(&lineage) <= 60000);
    CHECK_EQ(weir__git_lineage_find(&lineage, &wanted, NULL), 0);
    for (uint32_t i = 0; i < trees_count; i++) {
        CHECK(!weir__git_lineage_entries(&lineage, &trees[i].id, &cursor));
        weir__git_tree_starts_fini(&trees[i].starts);
    }
    weir__git_lineage_fini(&lineage);
    weir__git_set_fini(&wanted);
    free(trees);
}

TAP_MAIN()
