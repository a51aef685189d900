/* test_index_check.c - an index in which bits turn while it is open, and what it takes of memory.
 */
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "index.h"
#include "store_rig.h"

#define PAGE 4096

static const unsigned char store_id[16] = "0123456789abcdef";

static struct weir__index *open_index(void)
{
    struct weir__index *index = NULL;
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, false), 0);
    return index;
}

static void ignore(void *arg, const struct weir__segment_facts *facts)
{
    (void)arg, (void)facts;
}

static int apply(struct weir__index *index, uint32_t segment, const struct weir__entry *records,
                 size_t count)
{
    struct weir__segment_facts facts = {.id = segment, .size = 1000, .is_sealed = true};
    return weir__index_apply(index, &facts, records, count, ignore, NULL);
}

static int check(struct weir__index *index)
{
    uint32_t at = 0;
    int error;
    do
        error = weir__index_check(index, &at);
    while (!error && at > 0);
    return error;
}

static struct weir__entry record_of(uint32_t segment, uint32_t r, uint64_t n,
                                    enum weir__record_type type)
{
    return (struct weir__entry){.address = rig_address(n),
                                .sequence = (uint64_t)segment << 32 | (r + 1),
                                .place = {segment, 128 + 64 * r},
                                .size = WEIR__RECORD_HEAD,
                                .time_s = segment,
                                .type = type};
}

/* --- bits --- */

#define CHUNKS 3000u

static struct weir__entry some[CHUNKS], gone[CHUNKS];

static bool is_gone(uint32_t n)
{
    return n % 3 == 0;
}

/* Chunks, a third of which are deleted, so that there are entries in each table. */
static void fill(struct weir__index *index)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < CHUNKS; n++) {
        some[n] = record_of(1, n, n, WEIR__RECORD_CHUNK);
        if (is_gone(n)) {
            gone[count] = record_of(2, count, n, WEIR__RECORD_DELETED);
            count++;
        }
    }
    CHECK_EQ(apply(index, 1, some, CHUNKS), 0);
    CHECK_EQ(apply(index, 2, gone, count), 0);
    CHECK_EQ(check(index), 0);
}

static bool is_all_right(struct weir__index *index)
{
    for (uint32_t n = 0; n < CHUNKS; n++) {
        struct weir__entry entry;
        bool has = false;
        if (weir__index_get(index, &some[n].address, &entry) ||
            entry.place.segment != (is_gone(n) ? 2 : 1) ||
            weir__index_has_older(index, &some[n].address, 7, &has) || has != is_gone(n))
            return false;
        if (!is_gone(n) && (entry.place.offset != some[n].place.offset ||
                            entry.sequence != some[n].sequence || entry.size != some[n].size ||
                            entry.time_s != some[n].time_s || entry.type != some[n].type))
            return false;
    }
    return true;
}

static int open_file(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/data.mdb", rig_folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

static void turn(off_t at, unsigned bit)
{
    unsigned char byte;
    int fd = open_file();
    CHECK_EQ(pread(fd, &byte, 1, at), 1);
    byte ^= (unsigned char)(1u << bit);
    CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* What a page is, as LMDB writes it. */
enum { FLAGS = 10, LOWER = 12, NODES = 16, BRANCH = 1, LEAF = 2 };
enum { NODE_FLAGS = 4, NODE_KEY_SIZE = 6, NODE_KEY = 8 };

static unsigned get16(const unsigned char *at)
{
    return (unsigned)at[0] | (unsigned)at[1] << 8;
}

/* Turns the bit of a byte of the n-th node of each page of that kind, one at a time, and sees that
 * it is found, or harms nobody: pages that are in use no more are still in the file. How many were
 * found. */
static unsigned turn_in_pages(struct weir__index *index, unsigned kind, unsigned node,
                              unsigned byte, unsigned bit)
{
    unsigned char page[PAGE];
    unsigned found = 0;
    int fd = open_file();
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        unsigned count = (get16(page + LOWER) - NODES) / 2;
        if (get16(page + FLAGS) != kind || get16(page + LOWER) < NODES || node >= count)
            continue;
        unsigned where = get16(page + NODES + 2 * node) + byte;
        /* Tables, which have a name as their key, are not entries. */
        if (where >= PAGE || get16(page + where - byte + NODE_KEY_SIZE) < 16)
            continue;
        turn(at + where, bit);
        int error = check(index);
        CHECK(error == 0 || error == -WEIR_E_CORRUPT);
        found += error != 0;
        if (!error && !is_all_right(index))
            tap_fail(__FILE__, __LINE__, "a bit at %lld + %u hides something and is not found",
                     (long long)at, where);
        turn(at + where, bit);
        CHECK_EQ(check(index), 0);
    }
    close(fd);
    return found;
}

/* In a key and in a value, of which there are a node's length, and of each leaf. */
TEST(a_bit_in_an_entry)
{
    rig_make_folder();
    struct weir__index *index = open_index();
    fill(index);
    CHECK(turn_in_pages(index, LEAF, 3, NODE_KEY + 31, 0) > 50);
    CHECK(turn_in_pages(index, LEAF, 0, NODE_KEY, 7) > 50);
    CHECK(turn_in_pages(index, LEAF, 5, NODE_KEY + 9, 3) > 50);
    CHECK(turn_in_pages(index, LEAF, 5, NODE_KEY + WEIR__ADDRESS_SIZE + 5, 4) > 50);
    CHECK(turn_in_pages(index, LEAF, 1, NODE_KEY + WEIR__ADDRESS_SIZE + 11, 0) > 50);
    CHECK(is_all_right(index));
    weir__index_free(index);
    rig_remove_folder();
}

/* In the keys of a page above the leaves, which a walk does not see; and in the number of the page
 * that one of its nodes leads to. */
TEST(a_bit_on_the_way)
{
    unsigned found = 0;
    rig_make_folder();
    struct weir__index *index = open_index();
    fill(index);
    for (unsigned node = 1; node < 40; node++) {
        found += turn_in_pages(index, BRANCH, node, NODE_KEY, node % 8);
        found += turn_in_pages(index, BRANCH, node, NODE_KEY + 1, (node + 3) % 8);
    }
    CHECK(found > 60);
    CHECK(turn_in_pages(index, BRANCH, 2, 0, 0) > 0);
    CHECK(turn_in_pages(index, BRANCH, 7, 1, 3) > 0);
    CHECK(is_all_right(index));
    weir__index_free(index);
    rig_remove_folder();
}

/* LMDB believes what a node says of itself: it ends a look at one, and not the process. */
static void turn_flag(unsigned bit)
{
    unsigned char page[PAGE];
    rig_make_folder();
    struct weir__index *index = open_index();
    fill(index);
    int fd = open_file();
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        unsigned where = get16(page + NODES + 6);
        if (get16(page + FLAGS) == LEAF && get16(page + LOWER) > NODES + 6 && where < PAGE - 64 &&
            get16(page + where + NODE_KEY_SIZE) >= 16)
            turn(at + where + NODE_FLAGS, bit);
    }
    close(fd);
    int error = check(index);
    CHECK(error == -WEIR_E_CORRUPT || error == -WEIR_E_IO);
    weir__index_free(index);
    rig_remove_folder();
}

/* What is left in the middle is lost, so in processes of their own. */
TEST(a_bit_that_says_what_a_node_is)
{
    for (unsigned bit = 0; bit < 3; bit += 2) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            turn_flag(bit);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* What is changed, or taken out, after a bit of it has turned does not make it right again. */
TEST(a_bit_in_what_is_replaced)
{
    rig_make_folder();
    struct weir__index *index = open_index();
    struct weir__entry one = record_of(1, 0, 1, WEIR__RECORD_CHUNK),
                       again = record_of(2, 0, 1, WEIR__RECORD_CHUNK);
    CHECK_EQ(apply(index, 1, &one, 1), 0);
    unsigned char page[PAGE];
    unsigned turned = 0;
    int fd = open_file();
    for (off_t at = 0; pread(fd, page, PAGE, at) == PAGE; at += PAGE)
        for (size_t i = 0; i + 60 <= PAGE; i++)
            if (memcmp(page + i, one.address.bytes, WEIR__ADDRESS_SIZE) == 0) {
                turn(at + (off_t)i + WEIR__ADDRESS_SIZE + 23, 0); /* its sequence */
                turned++;
            }
    close(fd);
    CHECK(turned > 0);
    CHECK_EQ(apply(index, 2, &again, 1), 0);
    CHECK_EQ(check(index), -WEIR_E_CORRUPT);
    weir__index_free(index);
    rig_remove_folder();
}

/* Whatever is written down of the sums is what they are when it is opened again; what was not is
 * not guessed. */
TEST(opened_again)
{
    struct weir__index *index;
    struct weir__entry one = record_of(3, 0, 100000, WEIR__RECORD_CHUNK);
    rig_make_folder();
    index = open_index();
    fill(index);
    weir__index_free(index);
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, false), -WEIR_E_CORRUPT);
    int folder = open(rig_folder, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(weir__index_remove(folder, "."), 0);
    close(folder);
    index = open_index();
    fill(index);
    CHECK_EQ(weir__index_sync(index), 0);
    CHECK_EQ(check(index), 0);
    weir__index_free(index);
    CHECK_EQ(weir__index_open(&index, rig_folder, store_id, true), 0);
    CHECK_EQ(check(index), 0);
    weir__index_free(index);
    index = open_index();
    CHECK_EQ(check(index), 0);
    CHECK_EQ(apply(index, 3, &one, 1), 0);
    CHECK_EQ(check(index), 0);
    weir__index_free(index);
    /* It has more than it had when its sums were written. */
    index = open_index();
    CHECK_EQ(check(index), -WEIR_E_CORRUPT);
    weir__index_free(index);
    rig_remove_folder();
}

/* --- pieces --- */

static int count_one(void *arg, const struct weir__segment_facts *facts)
{
    (void)facts;
    ++*(unsigned *)arg;
    return 0;
}

static int take_facts(void *arg, const struct weir__segment_facts *facts)
{
    struct weir__segment_facts *wanted = arg;
    if (facts->id == wanted->id)
        *wanted = *facts;
    return 0;
}

static struct weir__segment_facts facts_of(struct weir__index *index, uint32_t segment)
{
    struct weir__segment_facts facts = {.id = segment};
    CHECK_EQ(weir__index_segments(index, take_facts, &facts), 0);
    return facts;
}

static bool is_same(const struct weir__segment_facts *one, const struct weir__segment_facts *other)
{
    return one->records == other->records && one->bytes == other->bytes &&
           one->dead == other->dead && one->spent == other->spent &&
           one->sequence_max == other->sequence_max;
}

#define MANY 20000u

static struct weir__entry many[MANY];

/* A file that may not grow ends it after some pieces. What was done is no index that anybody uses,
 * and doing all of it once more makes it what it would have been. */
TEST(a_segment_that_fails_in_the_middle)
{
    struct weir__segment_facts whole[2];
    struct rlimit before, less;
    struct stat st;
    char path[128];
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (int round = 0; round < 2; round++) {
        unsigned segments = 0;
        rig_make_folder();
        struct weir__index *index = open_index();
        fill(index);
        /* New chunks, those that were put again and those that are deleted in the same segment. */
        for (uint32_t r = 0; r < MANY; r++)
            many[r] = record_of(3, r, r % 4 ? r : r / 2,
                                r % 5 ? WEIR__RECORD_CHUNK : WEIR__RECORD_DELETED);
        snprintf(path, sizeof(path), "%s/data.mdb", rig_folder);
        CHECK_EQ(stat(path, &st), 0);
        less = before;
        less.rlim_cur = (rlim_t)st.st_size + 512 * 1024;
        if (round == 1) {
            CHECK_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
            CHECK(apply(index, 3, many, MANY) != 0);
            CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
            CHECK_EQ(weir__index_segments(index, count_one, &segments), -WEIR_E_CORRUPT);
            CHECK_EQ(check(index), 0);
        }
        CHECK_EQ(apply(index, 3, many, MANY), 0);
        CHECK_EQ(check(index), 0);
        for (uint32_t segment = 1; segment <= 3; segment++) {
            struct weir__segment_facts facts = facts_of(index, segment);
            if (segment > 1 && round == 0)
                whole[segment - 2] = facts;
            else if (segment > 1)
                CHECK(is_same(&whole[segment - 2], &facts));
        }
        CHECK(whole[1].dead > 0 && whole[1].records == MANY);
        weir__index_free(index);
        rig_remove_folder();
    }
}

#define FULL     65536u
#define SEGMENTS 8u
#define MIB      ((size_t)1 << 20)

static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Sanitizers have memory of their own, of which nothing is known: there it only has to work. */
TEST(memory_is_that_of_a_piece)
{
    static struct weir__entry records[FULL];
    rig_make_folder();
    struct weir__index *index = open_index();
    size_t begin = memory_in_use();
    for (uint32_t s = 1; s <= SEGMENTS; s++) {
        for (uint32_t r = 0; r < FULL; r++)
            records[r] = record_of(s, r, (uint64_t)s * FULL + r, WEIR__RECORD_CHUNK);
        CHECK_EQ(apply(index, s, records, FULL), 0);
    }
    /* One in eight of each is deleted: an entry changes, and what is dead is somewhere else. */
    for (uint32_t r = 0; r < FULL; r++)
        records[r] = record_of(100, r, FULL + (uint64_t)r * SEGMENTS, WEIR__RECORD_DELETED);
    CHECK_EQ(apply(index, 100, records, FULL), 0);
    for (uint32_t r = 0; r < FULL; r++)
        records[r] = record_of(1, r, FULL + r, WEIR__RECORD_CHUNK);
    CHECK_EQ(weir__index_drop(index, 1, records, FULL, ignore, NULL), 0);
    size_t end = memory_in_use();
    printf("# %zu KiB\n", end > begin ? (end - begin) / 1024 : 0);
    CHECK(end < begin + 16 * MIB);
    CHECK_EQ(check(index), 0);
    weir__index_free(index);
    rig_remove_folder();
}

TAP_MAIN()
