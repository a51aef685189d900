/* Bytes that rot: in a file that lies there, and in one that is open. Nothing wrong is served, and
 * nothing ends the process. */
#include "index_help.h"

#define NAMES 120

static struct weir__key key;
static struct help_records help;
static char folder[HELP_PATH], file[HELP_PATH + 32];
static unsigned char *bytes;
static size_t size;

static void fill(void)
{
    key = help_key(1);
    help_make_folder(folder);
    snprintf(file, sizeof(file), "%s/records/data.mdb", folder);
    help = help_open(folder, 0);
    for (unsigned n = 0; n < NAMES; n++) {
        struct weir__name name = help_name_of(n, &key);
        struct weir__address address = help_address(n % 7);
        struct weir__key own = help_key(n);
        struct weir__record record = help_provider(&address, 1);
        CHECK_EQ(help_put_name(&help, &name, 1, &key), 0);
        CHECK_EQ(help_put(&help, &record, &own, NULL), 0);
    }
}

static void load(void)
{
    struct stat st;
    int fd = open(file, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(fstat(fd, &st), 0);
    size = (size_t)st.st_size;
    bytes = malloc(size);
    CHECK_EQ(read(fd, bytes, size), size);
    close(fd);
}

static void save(void)
{
    int fd = open(file, O_WRONLY | O_TRUNC);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, size), size);
    close(fd);
}

/* Looks at everything: what is given is right, byte by byte. How many names were. */
static unsigned look(void)
{
    static struct weir__record_bytes room[256];
    struct weir__records_cursor cursor = {._length = 0};
    struct weir__record record;
    unsigned good = 0;
    size_t count;
    for (unsigned n = 0; n < NAMES; n++) {
        struct weir__name name = help_name_of(n, &key);
        good += help_get(&help, &name, HELP_NOW) == 1;
    }
    for (unsigned n = 0; n < 7; n++) {
        struct weir__address address = help_address(n);
        if (weir__records_providers(help.records, &address, HELP_NOW, room, 256, &count))
            continue;
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(weir__record_judge(&record, room[i].bytes, room[i].length, NULL, HELP_NOW),
                     WEIR__RECORD_GOOD);
    }
    for (int i = 0; i < 8; i++)
        if (weir__records_walk(help.records, &cursor, HELP_NOW, room, 100, &count) != 1)
            break;
    return good;
}

struct tally {
    unsigned refused, opened, whole;
};

static void write_one(void)
{
    help_start(&help);
    struct weir__name name = help_name_of(7, &key);
    int error = help_put_name(&help, &name, 2, &key);
    CHECK(error == 0 || error == -WEIR_E_CORRUPT || error == -WEIR_E_IO ||
          error == -WEIR_E_CONFLICT || error == -WEIR_E_NO_SPACE);
}

/* With that bit turned: opened and looked at, or refused with a reason. */
static void turn(size_t at, unsigned bit, bool is_written, struct tally *tally)
{
    bytes[at] ^= (unsigned char)(1u << bit);
    save();
    int error = help_try_open(&help, folder, 0);
    if (!error) {
        tally->opened++;
        tally->whole += look() == NAMES;
        if (is_written)
            write_one();
        help_close(&help);
    } else {
        tally->refused++;
        CHECK(strlen(help.why) > 20);
    }
    bytes[at] ^= (unsigned char)(1u << bit);
}

/* One bit here and there, in every page, and those that say what kind of page it is. */
TEST(a_file_that_rotted)
{
    uint64_t dice = 88172645463325252u;
    struct tally tally = {.opened = 0};
    fill();
    help_close(&help);
    load();
    for (size_t at = 0; at < size; at += at < 8192 && at % 4096 < 160 ? 5 : 797) {
        dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
        /* Of what LMDB goes by when it writes nothing may be wrong; values may. */
        turn(at, (unsigned)(dice % 8), at % 4096 > 1024, &tally);
    }
    for (size_t page = 0; page < size; page += 4096)
        for (unsigned bit = 0; bit < 5; bit++)
            turn(page + 10, bit, false, &tally);
    printf("# %u refused, %u opened, %u of them whole\n", tally.refused, tally.opened, tally.whole);
    CHECK(tally.refused > 0 && tally.opened > 100 && tally.whole < tally.opened);
    save();
    help = help_open(folder, 0);
    CHECK_EQ(look(), NAMES);
    help_close(&help);
    free(bytes);
    help_remove(folder);
}

/* Where the seal of a record of that name stands in the file, in all of its copies. */
static void rot_name(const struct weir__name *name, size_t behind)
{
    load();
    int fd = open(file, O_WRONLY);
    unsigned found = 0;
    for (size_t at = 0; at + name->length < size; at++) {
        if (memcmp(bytes + at, name->text, name->length) != 0)
            continue;
        unsigned char byte = bytes[at + name->length + behind] ^ 1u;
        CHECK_EQ(pwrite(fd, &byte, 1, (off_t)(at + name->length + behind)), 1);
        found++;
    }
    CHECK(found >= 2);
    close(fd);
    free(bytes);
}

TEST(a_value_that_rotted_while_it_was_open)
{
    fill();
    struct weir__name name = help_name_of(5, &key), other = help_name_of(6, &key);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 1);
    /* In the seal behind a key, of the names and of the sequences. */
    rot_name(&name, 3);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_CORRUPT);
    CHECK(help_stats(&help).corrupt > 0);
    CHECK_EQ(help_get(&help, &other, HELP_NOW), 1);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), -WEIR_E_CORRUPT);
    CHECK_EQ(help_put_name(&help, &other, 2, &key), 0);
    CHECK(!help_stats(&help).is_failing);
    help_close(&help);
    help_remove(folder);
}

/* The signature of a record: the seal tells. The next record heals it. */
TEST(a_record_that_rotted_is_replaced)
{
    fill();
    struct weir__name name = help_name_of(5, &key);
    load();
    int fd = open(file, O_WRONLY);
    struct weir__record_bytes record;
    struct weir__records_seen seen;
    CHECK_EQ(weir__records_name(help.records, &name, HELP_NOW, &record, &seen), 0);
    /* Behind its key and its seal: what was seen has one byte more before it, and stays whole. */
    size_t before = name.length + 8u;
    for (size_t at = before; at + record.length < size; at++)
        if (memcmp(bytes + at, record.bytes, record.length) == 0 &&
            memcmp(bytes + at - before, name.text, name.length) == 0) {
            unsigned char byte = bytes[at + 200] ^ 4u;
            CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at + 200), 1);
        }
    close(fd);
    free(bytes);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_CORRUPT);
    CHECK_EQ(help_put_name(&help, &name, 1, &key), -WEIR_E_CONFLICT);
    struct weir__record next = help_name_record(&name, 2);
    next.expires_s += 1000;
    CHECK_EQ(help_put(&help, &next, &key, NULL), 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 2);
    /* Its old expiry, which nobody could find, harms nothing. */
    struct weir__records_write write = {.has_previous = false};
    CHECK_EQ(help_simple(&help, WEIR__RECORDS_PURGE, HELP_NOW + HELP_LIFE, &write), 0);
    CHECK_EQ(write.purged, 2 * NAMES - 1);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), 2);
    help_close(&help);
    help_remove(folder);
}

/* Lookups and changes end with an error, not the process. */
TEST(a_file_that_is_cut_while_it_is_open)
{
    for (int how = 0; how < 3; how++) {
        fill();
        struct weir__name name = help_name_of(5, &key);
        CHECK_EQ(truncate(file, how == 0 ? 0 : how == 1 ? 8192 : 5 * 4096), 0);
        unsigned good = look();
        CHECK(good < NAMES);
        int error = help_put_name(&help, &name, 2, &key);
        CHECK(error == -WEIR_E_IO || error == -WEIR_E_CORRUPT);
        CHECK(help_stats(&help).is_failing);
        help_close(&help);
        help_remove(folder);
    }
}

/* Nobody knows what else was lost: all is looked at anew, by who opens it again. */
TEST(a_file_that_was_cut_for_a_while)
{
    fill();
    struct weir__name name = help_name_of(5, &key);
    load();
    CHECK_EQ(truncate(file, 8192), 0);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_IO);
    int fd = open(file, O_WRONLY);
    CHECK_EQ(pwrite(fd, bytes, size, 0), size);
    close(fd);
    free(bytes);
    CHECK_EQ(help_get(&help, &name, HELP_NOW), -WEIR_E_IO);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), -WEIR_E_IO);
    help_close(&help);
    help = help_open(folder, 0);
    CHECK_EQ(look(), NAMES);
    CHECK_EQ(help_put_name(&help, &name, 2, &key), 0);
    help_close(&help);
    help_remove(folder);
}

TEST(a_file_that_is_cut_before_a_write)
{
    fill();
    struct weir__name name = help_name_of(5, &key);
    CHECK_EQ(truncate(file, 8192), 0);
    int error = help_put_name(&help, &name, 2, &key);
    CHECK(error == -WEIR_E_IO || error == -WEIR_E_CORRUPT);
    CHECK(help_get(&help, &name, HELP_NOW) < 0);
    CHECK(help_stats(&help).is_failing);
    help_close(&help);
    help_remove(folder);
}

TAP_MAIN()
