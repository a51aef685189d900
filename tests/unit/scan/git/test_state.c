/* test_state.c - what is remembered is what was given, a file that is not right is never used, and
 * the limits hold. */
#include "state_help.h"

#include <dirent.h>

#include "state_part.h"

static const size_t sizes[] = {20, 32};

/* --- saving and loading --- */

TEST(nothing_is_remembered_at_first)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    struct weir__git_id id = help_id(1, 20);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_NOT_FOUND);
    CHECK_HAS(why, "nothing is remembered yet");
    CHECK(!weir__git_state_has(NULL, &id) && !weir__git_state_suspect(NULL, &id));
    weir__git_state_free(NULL);
    weir__git_states_close(&states);
    weir__git_states_close(&states);
    weir__git_states_close(NULL);
}

TEST(all_comes_back)
{
    static const uint64_t counts[] = {0, 1, 2, 17, 1000, 30000};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
            struct weir__git_states states = help_states(0);
            struct weir__git_state_about about = help_about("r", sizes[i]);
            CHECK_EQ(help_save(&states, &about, NULL, counts[k], (size_t)counts[k] / 3), 0);
            struct weir__git_state *state = help_load(&states, &about);
            help_check(state, sizes[i], counts[k], (size_t)counts[k] / 3);
            for (size_t at = 0; at < WEIR__HASH_SIZE; at++)
                CHECK(weir__git_state_digest(state)[at] == 'd' &&
                      weir__git_state_held(state)[at] == 'h');
            weir__git_state_free(state);
            weir__git_states_close(&states);
        }
}

TEST(the_old_and_the_new_are_merged)
{
    for (size_t i = 0; i < 2; i++) {
        struct weir__git_states states = help_states(0);
        struct weir__git_state_about about = help_about("r", sizes[i]);
        struct weir__git_state_ids ids;
        CHECK_EQ(help_save(&states, &about, NULL, 20000, 10), 0);
        struct weir__git_state *state = help_load(&states, &about), *next;
        /* Some that it has, some that it has not, some twice. */
        weir__git_state_ids_init(&ids, sizes[i], 0);
        help_add(&ids, 15000, 40000);
        help_add(&ids, 39000, 39500);
        /* What the suspects point to belongs to the old state. */
        struct weir__git_state_new made = {.old = state, .ids = &ids};
        made.suspects = weir__git_state_suspects(state, &made.suspects_count);
        CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
        weir__git_state_ids_fini(&ids);
        next = help_load(&states, &about);
        help_check(next, sizes[i], 40000, 10);
        /* The one that was replaced is as it was. */
        help_check(state, sizes[i], 20000, 10);
        weir__git_state_free(state);
        /* Nothing new: the same again. */
        made = (struct weir__git_state_new){.old = next};
        CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
        weir__git_state_free(next);
        state = help_load(&states, &about);
        help_check(state, sizes[i], 40000, 0);
        weir__git_state_free(state);
        weir__git_states_close(&states);
    }
}

TEST(packs_and_places_come_back)
{
    for (size_t i = 0; i < 2; i++) {
        struct weir__git_states states = help_states(0);
        struct weir__git_state_about about = help_about("r", sizes[i]);
        struct weir__git_state_pack packs[3] = {{{1}, true}, {{2}, false}, {{3}, true}};
        struct weir__git_state_place places[2] = {{help_id(1, sizes[i]), 2},
                                                  {help_id(2, sizes[i]), 0}};
        struct weir__git_state_new made = {
            .packs = packs, .packs_count = 3, .places = places, .places_count = 2};
        size_t count;
        memset(made.loose, 'l', sizeof(made.loose));
        CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
        struct weir__git_state *state = help_load(&states, &about);
        const struct weir__git_state_pack *got = weir__git_state_packs(state, &count);
        CHECK_EQ(count, 3);
        for (size_t k = 0; k < 3; k++)
            CHECK(memcmp(got[k].mark, packs[k].mark, sizeof(packs[k].mark)) == 0 &&
                  got[k].is_whole == packs[k].is_whole);
        const struct weir__git_state_place *where = weir__git_state_places(state, &count);
        CHECK_EQ(count, 2);
        for (size_t k = 0; k < 2; k++)
            CHECK(weir__git_id_is_equal(&where[k].id, &places[k].id) &&
                  where[k].pack == places[k].pack);
        for (size_t k = 0; k < WEIR__GIT_STATE_LOOSE_SIZE; k++)
            CHECK_EQ(weir__git_state_loose(state)[k], 'l');
        weir__git_state_free(state);
        /* A pack that was not given cannot have anything. */
        places[1].pack = 3;
        CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
        CHECK_HAS(why, "packs");
        made.packs_count = WEIR__GIT_STATE_PACKS_MAX + 1;
        CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_TOO_LARGE);
        weir__git_states_close(&states);
    }
}

TEST(repositories_are_apart)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about one = help_about("one", 20), other = help_about("other", 20);
    CHECK_EQ(help_save(&states, &one, NULL, 100, 1), 0);
    CHECK_EQ(help_refused(&states, &other), -WEIR_E_NOT_FOUND);
    CHECK_EQ(help_save(&states, &other, NULL, 200, 2), 0);
    struct weir__git_state *state = help_load(&states, &one);
    help_check(state, 20, 100, 1);
    weir__git_state_free(state);
    state = help_load(&states, &other);
    help_check(state, 20, 200, 2);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

/* Ids that nobody hashed: close together, far apart, all but alike. */
static struct weir__git_id made_up(unsigned way, uint64_t number, size_t id_size)
{
    struct weir__git_id id = {{0}};
    uint8_t *to = id.bytes + (way == 0 ? 0 : id_size - 8);
    memset(id.bytes, way == 2 ? 0xff : 0, id_size);
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(number >> (56 - 8 * i));
    if (way == 3 && number % 2)
        id.bytes[0] = 0xff;
    return id;
}

TEST(ids_may_be_made_up)
{
    for (size_t i = 0; i < 2; i++)
        for (unsigned way = 0; way < 4; way++) {
            struct weir__git_states states = help_states(0);
            struct weir__git_state_about about = help_about("r", sizes[i]);
            struct weir__git_state_ids ids;
            weir__git_state_ids_init(&ids, sizes[i], 0);
            /* From the last to the first, and three times. */
            for (uint64_t k = 3 * 5000; k-- > 0;) {
                struct weir__git_id id = made_up(way, k / 3 * 2 * (way < 3 ? 1 : k % 7), sizes[i]);
                CHECK_EQ(weir__git_state_ids_add(&ids, &id, 1), 0);
            }
            struct weir__git_state_new made = {.ids = &ids};
            CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
            struct weir__git_state *state = help_load(&states, &about);
            if (way < 3)
                CHECK_EQ(weir__git_state_count(state), 5000);
            for (uint64_t k = 0; way < 3 && k < 10100; k++) {
                struct weir__git_id id = made_up(way, k, sizes[i]);
                CHECK_EQ(weir__git_state_has(state, &id), k % 2 == 0 && k < 10000);
            }
            for (size_t k = 0; k < ids._count; k++) {
                struct weir__git_id id = weir__git_id_of(ids._bytes + k * sizes[i], sizes[i]);
                CHECK(weir__git_state_has(state, &id));
            }
            weir__git_state_ids_fini(&ids);
            weir__git_state_free(state);
            weir__git_states_close(&states);
        }
}

/* --- what is not used --- */

TEST(another_key_or_repository_is_not_used)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20), other = about;
    CHECK_EQ(help_save(&states, &about, NULL, 100, 5), 0);
    other.key[31] ^= 1;
    CHECK_EQ(help_refused(&states, &other), -WEIR_E_MISMATCH);
    CHECK_HAS(why, "other rules or options");
    other = about;
    other.id_size = 32;
    CHECK_EQ(help_refused(&states, &other), -WEIR_E_MISMATCH);
    CHECK_HAS(why, "another repository");
    /* A file under the name of another one. */
    other = help_about("s", 20);
    char from[100];
    snprintf(from, sizeof(from), "%s", help_file(&about));
    CHECK_EQ(link(from, help_file(&other)), 0);
    CHECK_EQ(help_refused(&states, &other), -WEIR_E_MISMATCH);
    CHECK_HAS(why, "another repository");
    /* And is replaced. */
    CHECK_EQ(help_save(&states, &other, NULL, 50, 5), 0);
    struct weir__git_state *state = help_load(&states, &other);
    help_check(state, 20, 50, 5);
    weir__git_state_free(state);
    state = help_load(&states, &about);
    help_check(state, 20, 100, 5);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

TEST(no_damage_passes)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    size_t length;
    CHECK_EQ(help_save(&states, &about, NULL, 20, 7), 0);
    uint8_t *bytes = help_read(help_file(&about), &length);
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 0x10;
        help_write(help_file(&about), bytes, length);
        int error = help_refused(&states, &about);
        CHECK_EQ(error, i >= 8 && i < 12 ? -WEIR_E_UNSUPPORTED : -WEIR_E_CORRUPT);
        bytes[i] ^= 0x10;
    }
    for (size_t i = 0; i < length; i++) {
        help_write(help_file(&about), bytes, i);
        CHECK_EQ(help_refused(&states, &about), -WEIR_E_CORRUPT);
    }
    bytes[length] = 0;
    help_write(help_file(&about), bytes, length + 1);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_CORRUPT);
    memset(bytes, 0, length);
    help_write(help_file(&about), bytes, length);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_CORRUPT);
    free(bytes);
    CHECK_EQ(help_save(&states, &about, NULL, 20, 7), 0);
    struct weir__git_state *state = help_load(&states, &about);
    help_check(state, 20, 20, 7);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

/* The check after the head was changed: whoever can write the file can do that. */
static void seal(uint8_t *bytes, size_t length)
{
    struct weir__hash hash;
    weir__hash_init(&hash);
    weir__hash_update(&hash, bytes + WEIR__STATE_HEAD_SIZE, length - WEIR__STATE_HEAD_SIZE);
    weir__hash_update(&hash, bytes, WEIR__STATE_AT_CHECK);
    weir__hash_final(&hash, bytes + WEIR__STATE_AT_CHECK);
}

TEST(numbers_that_do_not_fit_are_refused)
{
    static const unsigned places[] = {WEIR__STATE_AT_IDS, WEIR__STATE_AT_SUSPECTS,
                                      WEIR__STATE_AT_TEXTS};
    static const uint64_t numbers[] = {0,    1,          6,          8,
                                       1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 20 + 8};
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    struct weir__git_state *state = NULL;
    size_t length;
    CHECK_EQ(help_save(&states, &about, NULL, 7, 7), 0);
    uint8_t *bytes = help_read(help_file(&about), &length);
    CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), 0);
    help_check(state, 20, 7, 7);
    weir__git_state_free(state);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
            uint64_t was = weir__state_get(bytes + places[i], 8);
            weir__state_put(bytes + places[i], numbers[k], 8);
            seal(bytes, length);
            state = NULL;
            CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), -WEIR_E_CORRUPT);
            CHECK(!state);
            weir__state_put(bytes + places[i], was, 8);
        }
    /* Sealed, but with a byte behind its parts. */
    bytes[length] = 0;
    seal(bytes, length + 1);
    CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length + 1, why), -WEIR_E_CORRUPT);
    CHECK_HAS(why, "its length");
    /* Memory for the texts, and not for what points to them. */
    seal(bytes, length);
    about.memory_max = weir__state_get(bytes + WEIR__STATE_AT_TEXTS, 8) + 100;
    CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), -WEIR_E_TOO_LARGE);
    about.memory_max = 0;
    /* A text that ends before its end, a bit that means nothing, a kind without a commit. */
    uint8_t *text = memmem(bytes, length, "refs/tags/x", 11);
    CHECK(text);
    text[3] = 0;
    seal(bytes, length);
    CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), -WEIR_E_CORRUPT);
    text[3] = 's';
    uint8_t *first = bytes + WEIR__STATE_HEAD_SIZE + 140;
    for (size_t i = 20; i < 24; i++) {
        uint8_t was = first[i];
        first[i] = i == 23 ? first[22] & 1 ? 0 : 1 : 0xf0;
        seal(bytes, length);
        CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), -WEIR_E_CORRUPT);
        first[i] = was;
    }
    /* Suspects out of order, which are found by halves. */
    for (size_t i = 0; i < 20; i++)
        bytes[WEIR__STATE_HEAD_SIZE + 140 + i] = 0xff;
    seal(bytes, length);
    CHECK_EQ(weir__git_state_of_bytes(&state, &about, bytes, length, why), -WEIR_E_CORRUPT);
    CHECK_HAS(why, "suspects");
    free(bytes);
    weir__git_states_close(&states);
}

TEST(what_others_can_write_is_not_used)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    CHECK_EQ(help_save(&states, &about, NULL, 7, 7), 0);
    const char *file = help_file(&about);
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(chmod(file, modes[i]), 0);
        CHECK_EQ(help_refused(&states, &about), -WEIR_E_DENIED);
        CHECK_HAS(why, "only you");
    }
    CHECK_EQ(chmod(file, 0600), 0);
    if (geteuid() == 0) {
        CHECK_EQ(chown(file, 1, 1), 0);
        CHECK_EQ(help_refused(&states, &about), -WEIR_E_DENIED);
        CHECK_EQ(chown(file, 0, 0), 0);
    }
    CHECK_EQ(rename(file, "elsewhere"), 0);
    CHECK_EQ(symlink("../../elsewhere", file), 0);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_DENIED);
    CHECK(unlink(file) == 0 && mkfifo(file, 0600) == 0);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_DENIED);
    CHECK(unlink(file) == 0 && symlink("../../elsewhere", file) == 0);
    /* The link is replaced, and what it leads to is left alone. */
    CHECK_EQ(help_save(&states, &about, NULL, 9, 1), 0);
    struct weir__git_state *state = help_load(&states, &about);
    help_check(state, 20, 9, 1);
    weir__git_state_free(state);
    CHECK_EQ(rename("elsewhere", file), 0);
    state = help_load(&states, &about);
    help_check(state, 20, 7, 7);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

TEST(the_folder)
{
    struct weir__git_states states;
    struct stat st;
    const char *base = help_fresh();
    char path[400];
    /* Neither says where, or only relative. */
    CHECK_EQ(weir__git_states_open(&states, NULL, NULL, 0, why), -WEIR_E_NOT_FOUND);
    CHECK_EQ(weir__git_states_open(&states, "state", "", 0, why), -WEIR_E_NOT_FOUND);
    CHECK_HAS(why, "state folder");
    /* In the user's own. */
    CHECK_EQ(weir__git_states_open(&states, "state", base, 0, why), 0);
    struct weir__git_state_about about = help_about("r", 20);
    CHECK_EQ(help_save(&states, &about, NULL, 7, 7), 0);
    weir__git_states_close(&states);
    CHECK(stat(".local/state/weir/scan", &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(stat(".local/state/weir", &st) == 0 && (st.st_mode & 0777) == 0700);
    snprintf(path, sizeof(path), ".local/state/%s", help_file(&about));
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    /* The variable goes before. */
    snprintf(path, sizeof(path), "%s/other", base);
    CHECK_EQ(weir__git_states_open(&states, path, base, 0, why), 0);
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_NOT_FOUND);
    weir__git_states_close(&states);
    /* Others may write to it, or it is a link. */
    static const char *const parts[] = {"other/weir", "other/weir/scan"};
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(chmod(parts[i], 0770), 0);
        CHECK_EQ(weir__git_states_open(&states, path, base, 0, why), -WEIR_E_DENIED);
        CHECK_HAS(why, "only you");
        CHECK_EQ(chmod(parts[i], 0755), 0);
        CHECK(rename(parts[i], "moved") == 0);
        CHECK_EQ(symlink(i == 0 ? "../moved" : "../../moved", parts[i]), 0);
        CHECK_EQ(weir__git_states_open(&states, path, base, 0, why), -WEIR_E_DENIED);
        CHECK(unlink(parts[i]) == 0 && rename("moved", parts[i]) == 0);
    }
    CHECK_EQ(weir__git_states_open(&states, path, base, 0, why), 0);
    weir__git_states_close(&states);
}

TEST(a_file_that_shrinks)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    CHECK_EQ(help_save(&states, &about, NULL, 50000, 3), 0);
    struct weir__git_state *state = help_load(&states, &about);
    help_check(state, 20, 50000, 3);
    CHECK_EQ(truncate(help_file(&about), 0), 0);
    for (uint64_t i = 0; i < 50000; i++) {
        struct weir__git_id id = help_id(i, 20);
        CHECK(!weir__git_state_has(state, &id));
    }
    /* Nothing is made of it. */
    CHECK_EQ(help_save(&states, &about, state, 10, 1), -WEIR_E_IO);
    CHECK_HAS(why, "cannot be read any more");
    struct stat st;
    CHECK(stat(help_file(&about), &st) == 0 && st.st_size == 0);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

/* --- limits --- */

TEST(too_many_ids)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    struct weir__git_state_ids ids;
    CHECK_EQ(help_save(&states, &about, NULL, 50, 0), 0);
    struct weir__git_state *state = help_load(&states, &about);
    weir__git_state_ids_init(&ids, 20, 2000 * 20 + 19);
    help_add(&ids, 50, 2048);
    CHECK(!weir__git_state_ids_is_full(&ids));
    /* Two of three fit. */
    const struct weir__git_id list[] = {help_id(2048, 20), help_id(2049, 20), help_id(2050, 20)};
    CHECK_EQ(weir__git_state_ids_add(&ids, list, 3), -WEIR_E_TOO_LARGE);
    CHECK_EQ(weir__git_state_ids_add(&ids, list + 2, 1), -WEIR_E_TOO_LARGE);
    CHECK(weir__git_state_ids_is_full(&ids));
    struct weir__git_state_new made = {.old = state, .ids = &ids};
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
    weir__git_state_ids_fini(&ids);
    weir__git_state_free(state);
    state = help_load(&states, &about);
    help_check(state, 20, 2050, 0);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

/* A bit for each id is a part of what a loaded one may take. */
TEST(too_many_ids_to_be_asked_for)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    CHECK_EQ(help_save(&states, &about, NULL, 8000, 0), 0);
    about.memory_max = 1000;
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_TOO_LARGE);
    CHECK_HAS(why, "more memory than is allowed");
    about.memory_max = 1001;
    weir__git_state_free(help_load(&states, &about));
    weir__git_states_close(&states);
}

TEST(suspects_that_are_none)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    struct weir__git_suspect list[2] = {help_suspect(1, 20), help_suspect(1, 20)};
    struct weir__git_state_new made = {.suspects = list, .suspects_count = 2};
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    CHECK_HAS(why, "twice");
    made.suspects_count = 1;
    list[0].type = (enum weir__git_type)0;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    CHECK_HAS(why, "is none");
    list[0].type = WEIR__GIT_BLOB;
    list[0].flags = 128;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    list[0].flags = 1;
    list[0].where.has_commit = true;
    list[0].where.kind = (enum weir__git_start)0;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    list[0] = help_suspect(2, 20);
    struct weir__git_look looks[WEIR__GIT_LOOKS_MAX + 1];
    for (size_t i = 0; i <= WEIR__GIT_LOOKS_MAX; i++)
        looks[i] = (struct weir__git_look){.path = "a"};
    list[0].where.looks = looks;
    list[0].where.looks_count = WEIR__GIT_LOOKS_MAX;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
    list[0].where.looks_count = WEIR__GIT_LOOKS_MAX + 1;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    list[0].where.looks_count = 1;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    list[0].where.looks_count = 2;
    looks[1].has_commit = true; /* and no kind */
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    looks[1] = (struct weir__git_look){.path = NULL};
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_INVALID);
    made.suspects_count = WEIR__GIT_STATE_SUSPECTS_MAX + 1;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_TOO_LARGE);
    weir__git_states_close(&states);
}

TEST(long_texts_and_many_paths)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 32);
    struct weir__git_suspect suspect = help_suspect(1, 32);
    char *text = calloc(WEIR__GIT_STATE_STRING_MAX + 2, 1);
    const char *paths[WEIR__GIT_STATE_PATHS_MAX + 1];
    CHECK(text);
    memset(text, 'x', WEIR__GIT_STATE_STRING_MAX);
    for (size_t i = 0; i <= WEIR__GIT_STATE_PATHS_MAX; i++)
        paths[i] = text;
    suspect.where.path = suspect.where.ref = text;
    suspect.where.paths = paths;
    suspect.where.paths_count = WEIR__GIT_STATE_PATHS_MAX;
    suspect.where.has_more = false;
    struct weir__git_state_new made = {.suspects = &suspect, .suspects_count = 1};
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
    struct weir__git_state *state = help_load(&states, &about);
    help_check_suspect(weir__git_state_suspect(state, &suspect.id), &suspect);
    weir__git_state_free(state);
    /* One path more is told as more. */
    suspect.where.paths_count++;
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), 0);
    suspect.where.paths_count--;
    suspect.where.has_more = true;
    state = help_load(&states, &about);
    help_check_suspect(weir__git_state_suspect(state, &suspect.id), &suspect);
    weir__git_state_free(state);
    /* As much memory as it takes and no more. */
    about.memory_max = 1u << 20;
    CHECK_EQ(help_refused(&states, &about), -WEIR_E_TOO_LARGE);
    CHECK_HAS(why, "memory");
    about.memory_max = 16u << 20;
    state = help_load(&states, &about);
    weir__git_state_free(state);
    text[WEIR__GIT_STATE_STRING_MAX] = 'x';
    CHECK_EQ(weir__git_state_save(&states, &about, &made, why), -WEIR_E_TOO_LARGE);
    CHECK_HAS(why, "too much");
    free(text);
    weir__git_states_close(&states);
}

static void check_there(const char *const names[], const bool is_there[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir__git_state_about about = help_about(names[i], 20);
        CHECK_EQ(access(help_file(&about), F_OK) == 0, is_there[i]);
    }
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec times[2];
    CHECK_EQ(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(the_oldest_go_first)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct weir__git_states states = help_states(100000);
    struct weir__git_state_about about;
    for (size_t i = 0; i < 4; i++) {
        about = help_about(names[i], 20);
        CHECK_EQ(help_save(&states, &about, NULL, 1000, 0), 0);
        set_age(help_file(&about), (time_t)(400 - 100 * (long)i));
    }
    static const uint8_t large[90000];
    help_write("weir/scan/mine", large, sizeof(large));
    set_age("weir/scan/mine", 10000);
    check_there(names, (const bool[]){1, 1, 1, 1}, 4);
    /* The oldest is used, and so is not the oldest any more. Four have 80,672 bytes; the fifth does
     * not fit, and the room that is made is one sixteenth more than needed. */
    about = help_about("a", 20);
    weir__git_state_free(help_load(&states, &about));
    about = help_about("e", 20);
    CHECK_EQ(help_save(&states, &about, NULL, 1000, 0), 0);
    check_there(names, (const bool[]){1, 0, 1, 1, 1}, 5);
    /* Too large alone: nothing goes for it. */
    CHECK_EQ(help_save(&states, &about, NULL, 6000, 0), -WEIR_E_TOO_LARGE);
    CHECK_HAS(why, "larger than the folder");
    check_there(names, (const bool[]){1, 0, 1, 1, 1}, 5);
    /* Just fits alone: all others go, and what is not ours stays. */
    CHECK_EQ(help_save(&states, &about, NULL, 4980, 0), 0);
    check_there(names, (const bool[]){0, 0, 0, 0, 1}, 5);
    CHECK_EQ(access("weir/scan/mine", F_OK), 0);
    struct weir__git_state *state = help_load(&states, &about);
    help_check(state, 20, 4980, 0);
    weir__git_state_free(state);
    weir__git_states_close(&states);
}

static uint64_t count_bytes(void)
{
    DIR *dir = opendir("weir/scan");
    uint64_t total = 0;
    struct stat st;
    CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            total += (uint64_t)st.st_size;
    closedir(dir);
    return total;
}

/* Saves files of the given number of ids under numbers from on. */
static void save_many(struct weir__git_states *states, unsigned from, unsigned count, uint64_t ids)
{
    for (unsigned i = from; i < from + count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "%u", i);
        struct weir__git_state_about about = help_about(name, 20);
        CHECK_EQ(help_save(states, &about, NULL, ids, 0), 0);
    }
}

TEST(the_limit_holds_for_one)
{
    struct weir__git_states states = help_states(30000);
    for (unsigned i = 0; i < 500; i++) {
        save_many(&states, i, 1, 5);
        CHECK(count_bytes() <= 30000);
    }
    CHECK(count_bytes() > 20000);
    weir__git_states_close(&states);
}

TEST(others_that_fill_the_folder_are_noticed)
{
    const char *base = help_fresh();
    struct weir__git_states one, other;
    CHECK_EQ(weir__git_states_open(&one, base, NULL, 200000, why), 0);
    CHECK_EQ(weir__git_states_open(&other, base, NULL, 0, why), 0);
    save_many(&one, 0, 1, 0);
    save_many(&other, 1000, 20, 1000);
    CHECK(count_bytes() > 400000);
    /* By its own sum this one is far from the limit. */
    save_many(&one, 1, WEIR__GIT_STATE_SAVES_COUNTED - 1, 0);
    CHECK(count_bytes() > 400000);
    save_many(&one, WEIR__GIT_STATE_SAVES_COUNTED, 3, 0);
    CHECK(count_bytes() <= 200000);
    weir__git_states_close(&one);
    weir__git_states_close(&other);
}

TEST(what_writers_left_goes)
{
    struct weir__git_states states = help_states(0);
    struct weir__git_state_about about = help_about("r", 20);
    static const uint8_t some[100];
    help_write("weir/scan/.new-1-2-3", some, sizeof(some));
    help_write("weir/scan/.new-young", some, sizeof(some));
    help_write("weir/scan/.other", some, sizeof(some));
    set_age("weir/scan/.new-1-2-3", 86400 + 60);
    set_age("weir/scan/.new-young", 86400 - 60);
    set_age("weir/scan/.other", 86400 + 60);
    CHECK_EQ(help_save(&states, &about, NULL, 10, 0), 0);
    CHECK(access("weir/scan/.new-1-2-3", F_OK) < 0 && errno == ENOENT);
    CHECK(access("weir/scan/.new-young", F_OK) == 0 && access("weir/scan/.other", F_OK) == 0);
    weir__git_states_close(&states);
}

TAP_MAIN()
