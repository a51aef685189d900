/* What becomes of damaged chunks that cannot be repaired, or for which there is no room in line. */
#include "dial.h"
#include "log.h"
#include "store_part.h"

/* A line of one, and a pace that lets two repairs through and then one in a quarter of a minute. */
static const char narrow[] = "listen = [\"127.0.0.1:0\"]\n"
                             "[server]\nmax_conns = 64\nget_workers = 1\nput_workers = 1\n"
                             "[queues]\nrepair = 1\n"
                             "[durability]\nrepair_pacing = \"64KiB/s\"\n"
                             "[amnesia]\nenabled = true\nmax_bytes = \"64MiB\"\n";

#define CHUNKS 20u

static size_t remembered(void)
{
    weir_lock_acquire(&storage->damage_lock);
    size_t count = storage->damaged_count;
    weir_lock_release(&storage->damage_lock);
    return count;
}

/* Of these: in line, or with one of the two who repair. */
static size_t waiting(void)
{
    size_t count = 0;
    weir_lock_acquire(&storage->damage_lock);
    for (size_t i = 0; i < storage->damaged_count; i++)
        count += storage->damaged[i].is_waiting;
    weir_lock_release(&storage->damage_lock);
    return count;
}

static uint64_t skipped(void)
{
    return weir_counter_value(&storage->counts.skipped_full);
}

TEST(what_is_skipped_is_remembered)
{
    weir__log_threshold(WEIR__LOG_ERROR); /* there are hundreds of them */
    start(narrow);
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct weir__address address;
        weir__address_of(&i, sizeof(i), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
    CHECK(skipped() > 0);
    CHECK_EQ(remembered(), CHUNKS);
    AWAIT(waiting() <= 3);
    /* Another try: the line takes what it has room for, and nothing is forgotten. */
    uint64_t before = skipped();
    weir__repair_again(storage);
    CHECK_EQ(skipped(), before + 1);
    CHECK_EQ(remembered(), CHUNKS);
    AWAIT(waiting() <= 3);
    end();
}

static void damage(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        struct weir__address address;
        weir__address_of(&i, sizeof(i), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
}

/* Tried in vain, under way, in line, or without room there: the next start knows of none of them,
 * and the end says so. */
TEST(what_is_left_at_the_end_is_counted)
{
    struct weir__daemon_end counts;
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    for (unsigned i = 0; i < 4; i++) {
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    damage(4, CHUNKS);
    CHECK_EQ(remembered(), CHUNKS);
    CHECK_EQ(weir__daemon_drain(&storage->daemon, &counts), 0);
    CHECK_EQ(counts.left, CHUNKS);
    weir__daemon_free(&storage->daemon);
    weir__config_unref(config);
}

/* One that is damaged again and again is remembered once, and there is an end to it. */
TEST(memory_for_them_is_bounded)
{
    weir__log_threshold(WEIR__LOG_ERROR); /* there are hundreds of them */
    start(narrow);
    for (unsigned i = 0; i < 2 * WEIR__STORAGE_DAMAGED + CHUNKS; i++) {
        unsigned number = i / 2;
        struct weir__address address;
        weir__address_of(&number, sizeof(number), &address);
        weir__repair_damage(storage, &address, "a test says so");
    }
    AWAIT(remembered() == WEIR__STORAGE_DAMAGED);
    end();
}

/* One request on a connection of its own; what was answered. */
static const char *ask(const char *method, const char *place, const char *body)
{
    static char answer[4096];
    char request[1024];
    size_t length = 0;
    ssize_t got;
    int fd = dial();
    int size = snprintf(request, sizeof(request),
                        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        method, place, strlen(body), body);
    CHECK_EQ(write(fd, request, (size_t)size), size);
    while (length + 1 < sizeof(answer) &&
           (got = read(fd, answer + length, sizeof(answer) - 1 - length)) > 0)
        length += (size_t)got;
    answer[length] = '\0';
    close(fd);
    return answer;
}

/* As after a repair that failed, for instance since the disk was full: no verdict is written. */
static void remember_one(const struct weir__address *address)
{
    weir_lock_acquire(&storage->damage_lock);
    storage->damaged[storage->damaged_count++] = (struct weir__damaged){.address = *address};
    weir_lock_release(&storage->damage_lock);
}

static void turn_a_bit(const struct weir__address *address)
{
    struct weir__segment *segment;
    struct weir__entry entry;
    char byte;
    CHECK_EQ(weir__store_lookup(storage->store, address, &entry, NULL), 0);
    CHECK_EQ(weir__segments_pin(&storage->store->segments, entry.place.segment, &segment), 0);
    off_t at = (off_t)entry.place.offset + WEIR__RECORD_HEAD;
    CHECK_EQ(pread(segment->fd, &byte, 1, at), 1);
    byte ^= 1;
    CHECK_EQ(pwrite(segment->fd, &byte, 1, at), 1);
    weir__segments_unpin(&storage->store->segments, segment);
}

/* Who asks whether it is there would not send it. An upload finds out: it heals what is damaged,
 * and what is right after all is there again. */
TEST(what_could_not_be_repaired_is_not_had)
{
    static const char content[] = "a chunk", *const answers[] = {"HTTP/1.1 200", "HTTP/1.1 201"};
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT], place[WEIR__ADDRESS_TEXT + 8], question[200];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(in_memory);
    weir__address_of(content, strlen(content), &address);
    weir__address_print(&address, text);
    snprintf(place, sizeof(place), "/o/%s", text);
    snprintf(question, sizeof(question), "{\"addresses\": [\"%s\"]}", text);
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 201");
    CHECK_HAS(ask("POST", "/have", question), "[true]");
    for (unsigned is_damaged = 0; is_damaged < 2; is_damaged++) {
        if (is_damaged)
            turn_a_bit(&address);
        remember_one(&address);
        CHECK_HAS(ask("POST", "/have", question), "[false]");
        CHECK_HAS(ask("PUT", place, content), answers[is_damaged]);
        /* The upload has found it damaged, and had it repaired as well. */
        AWAIT(remembered() == 0);
        CHECK_HAS(ask("POST", "/have", question), "[true]");
    }
    end();
}

/* Nobody knows yet whether it can be repaired, and who is told yes throws his own copy away. */
TEST(what_waits_for_its_repair_is_not_had)
{
    static const char content[] = "a chunk that waits";
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT], place[WEIR__ADDRESS_TEXT + 8], question[200];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    weir__address_of(content, strlen(content), &address);
    weir__address_print(&address, text);
    snprintf(place, sizeof(place), "/o/%s", text);
    snprintf(question, sizeof(question), "{\"addresses\": [\"%s\"]}", text);
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 201");
    for (unsigned i = 0; i < 4; i++) { /* both repairers wait for the pace then */
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    weir__repair_damage(storage, &address, "a test says so");
    CHECK_EQ(weir_queue_depth(&storage->repairs), 1);
    CHECK_HAS(ask("POST", "/have", question), "[false]");
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 200");
    CHECK_HAS(ask("POST", "/have", question), "[true]");
    end();
}

/* It is in line still, and nothing is wrong with it: the end does not say so. */
TEST(what_was_put_again_is_not_left_at_the_end)
{
    static const char content[] = "a chunk that somebody has";
    struct weir__daemon_end counts;
    struct weir__address address;
    char text[WEIR__ADDRESS_TEXT], place[WEIR__ADDRESS_TEXT + 8];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    weir__address_of(content, strlen(content), &address);
    weir__address_print(&address, text);
    snprintf(place, sizeof(place), "/o/%s", text);
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 201");
    for (unsigned i = 0; i < 4; i++) { /* both repairers wait for the pace then */
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    weir__repair_damage(storage, &address, "a test says so");
    CHECK_EQ(weir_queue_depth(&storage->repairs), 1);
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 200");
    CHECK_EQ(weir__daemon_drain(&storage->daemon, &counts), 0);
    CHECK_EQ(counts.left, 4);
    weir__daemon_free(&storage->daemon);
    weir__config_unref(config);
}

/* Of more than can be remembered those in line are, so that it is known what becomes of them. */
TEST(what_waits_is_remembered_before_what_does_not)
{
    struct weir__address address;
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    for (unsigned i = 0; i < 4; i++) {
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    for (unsigned i = 4; remembered() < WEIR__STORAGE_DAMAGED; i++) {
        weir__address_of(&i, sizeof(i), &address);
        remember_one(&address);
    }
    weir__address_of("new", 3, &address);
    weir__repair_damage(storage, &address, "a test says so");
    CHECK_EQ(weir_queue_depth(&storage->repairs), 1);
    CHECK(weir__repair_has(storage, &address));
    CHECK_EQ(remembered(), WEIR__STORAGE_DAMAGED);
    end();
}

/* As if all but one were in line: that one makes room for the next. */
static void let_all_wait_but(const struct weir__address *address)
{
    weir_lock_acquire(&storage->damage_lock);
    for (size_t i = 0; i < storage->damaged_count; i++)
        storage->damaged[i].is_waiting =
            !weir__address_is_equal(&storage->damaged[i].address, address);
    weir_lock_release(&storage->damage_lock);
}

/* More are damaged than can be remembered: of the others nobody is told that they are there before
 * they were read. */
TEST(what_is_beyond_the_memory_is_not_had)
{
    static const char content[] = "a chunk too many";
    struct weir__address address, other;
    char text[WEIR__ADDRESS_TEXT], place[WEIR__ADDRESS_TEXT + 8], question[200];
    weir__log_threshold(WEIR__LOG_ERROR);
    start(narrow);
    weir__address_of(content, strlen(content), &address);
    weir__address_print(&address, text);
    snprintf(place, sizeof(place), "/o/%s", text);
    snprintf(question, sizeof(question), "{\"addresses\": [\"%s\"]}", text);
    CHECK_HAS(ask("PUT", place, content), "HTTP/1.1 201");
    for (unsigned i = 0; i < 4; i++) { /* both repairers wait for the pace then */
        damage(i, i + 1);
        AWAIT(weir_queue_depth(&storage->repairs) == 0);
    }
    turn_a_bit(&address);
    remember_one(&address);
    for (unsigned i = 4; remembered() < WEIR__STORAGE_DAMAGED; i++) {
        weir__address_of(&i, sizeof(i), &other);
        remember_one(&other);
    }
    let_all_wait_but(&address);
    damage(WEIR__STORAGE_DAMAGED, WEIR__STORAGE_DAMAGED + 1);
    CHECK(!weir__repair_has(storage, &address)); /* it had to make room */
    CHECK_HAS(ask("POST", "/have", question), "[false]");
    turn_a_bit(&address);
    CHECK_HAS(ask("POST", "/have", question), "[true]");
    /* Nor of one that never had a place. */
    turn_a_bit(&address);
    weir_lock_acquire(&storage->damage_lock);
    memset(storage->damaged_beyond, 0, sizeof(storage->damaged_beyond));
    weir_lock_release(&storage->damage_lock);
    CHECK_HAS(ask("POST", "/have", question), "[true]");
    weir__repair_damage(storage, &address, "a test says so");
    CHECK(!weir__repair_has(storage, &address));
    CHECK_HAS(ask("POST", "/have", question), "[false]");
    end();
}

TAP_MAIN()
