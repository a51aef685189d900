/* family_help.h - packs that are written by hand, and a family of deltas in one; for tests of
 * walks.
 *
 * Ownership: everything is static.
 */
#ifndef WEIR_TESTS_FAMILY_HELP_H
#define WEIR_TESTS_FAMILY_HELP_H

#include "git_help.h"
#include "pack_help.h"

static struct bytes delta;

static inline void open_written(struct writer *writer, struct weir__git_pack *pack)
{
    const char *why = "";
    CHECK_EQ(weir__git_pack_of_bytes(pack, writer->pack.at, writer->pack.length, writer->idx.at,
                                     writer->idx.length, writer->id_size, &why),
             0);
}

static inline void walk_written(struct writer *writer)
{
    struct weir__git_pack pack;
    writer_end(writer, 2);
    open_written(writer, &pack);
    begin_walks();
    CHECK_EQ(walk_pack(&pack), 0);
    weir__git_pack_close(&pack);
    settle(&from_us);
}

static inline bool was_told(uint32_t number, int code, const char *why)
{
    struct weir__git_id id = id_of(number);
    for (size_t i = 0; i < told_count; i++)
        if (weir__git_id_is_equal(&told[i].id, &id) && told[i].code == code &&
            strstr(told[i].why, why))
            return true;
    return false;
}

static inline bool was_seen(uint32_t number, const void *bytes, size_t length)
{
    struct weir__git_id id = id_of(number);
    struct objects one = {0};
    const struct known *found = find_object(&from_us, &id);
    add_object(&one, &id, WEIR__GIT_BLOB, bytes, length);
    bool is_same = found && found->times == 1 &&
                   memcmp(found->digest, one.rows[0].digest, WEIR__HASH_SIZE) == 0;
    free(one.rows);
    return is_same;
}

/* --- a tree of deltas, each node with some children; big enough that little memory matters --- */

#define BODY 20000u

/* The bytes of node n: a pattern with the node's number and its ancestors' in it. */
static inline uint32_t parent_of(uint32_t n)
{
    return n % 3 == 0 ? n - 1 : n / 2; /* chains and forks */
}

static inline void write_family(struct writer *writer, uint32_t nodes, uint8_t **bodies)
{
    for (uint32_t n = 0; n < nodes; n++) {
        bodies[n] = malloc(BODY);
        if (n == 0) {
            for (uint32_t i = 0; i < BODY; i++)
                bodies[0][i] = (uint8_t)(i * 7 + (i >> 8) * 13);
            put_whole(writer, WEIR__GIT_BLOB, bodies[0], BODY);
            continue;
        }
        uint32_t base = parent_of(n), at = (n * 977) % (BODY - 8);
        memcpy(bodies[n], bodies[base], BODY);
        memcpy(bodies[n] + at, &n, sizeof(n));
        delta_start(&delta, BODY, BODY);
        delta_copy(&delta, 0, at);
        delta_insert(&delta, &n, sizeof(n));
        delta_copy(&delta, at + 4, BODY - at - 4);
        if (n % 5 == 0) {
            struct weir__git_id id = id_of(base);
            put_reference_delta(writer, &id, &delta);
        } else {
            put_offset_delta(writer, base, &delta);
        }
    }
}

static inline void check_family(uint32_t nodes, uint8_t **bodies)
{
    CHECK_EQ(told_count, 0);
    CHECK_EQ(large_count, 0);
    CHECK_EQ(from_us.count, nodes);
    for (uint32_t n = 0; n < nodes; n++)
        CHECK(was_seen(n, bodies[n], BODY));
}

#define NODES 300u

static uint8_t *bodies[NODES];
static struct writer family;
static struct weir__git_pack family_pack;

static inline void make_family(void)
{
    weir__git_walk_options_init(&help_options);
    help_shards = 1;
    if (family.count > 0)
        return;
    writer_start(&family, 20);
    write_family(&family, NODES, bodies);
    writer_end(&family, 2);
    open_written(&family, &family_pack);
}

static inline void walk_family(void)
{
    begin_walks();
    CHECK_EQ(walk_pack(&family_pack), 0);
    settle(&from_us);
    check_family(NODES, bodies);
}

#endif
