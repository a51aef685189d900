/* test_store_damage.c - files of a store that are not what they were: a bit flipped anywhere, cut
 * at any byte, an index that is gone, garbage, or changed while it is used.
 *
 * What was not hit is right. What was hit is absent or told to be Corrupt, never wrong, and can be
 * put again. Nothing ends the process.
 */
#include <dirent.h>
#include <sys/wait.h>

#include "segment_load.h"
#include "store_help.h"

#define FILES  16
#define CHUNKS 40
#define FRESH  1000

enum { IN = 1, OUT = 2, DAMAGED = 4 };

struct file {
    char name[64];
    unsigned char *bytes;
    size_t length;
};

/* A store that was closed as it should be. */
static struct file files[FILES];
static size_t files_count;
static int wanted[CHUNKS];
static char folder[HELP_PATH];

static const unsigned small[] = {0, 3, 5, 6, 8, 11, 13, 14, 16, 19, 21, 22, 24, 27, 29};
#define SMALL (sizeof(small) / sizeof(small[0]))

static void load(const char *name)
{
    char path[HELP_PATH + 80];
    CHECK(files_count < FILES);
    struct file *file = &files[files_count];
    snprintf(file->name, sizeof(file->name), "%s", name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if ((file->bytes = help_read(path, &file->length)))
        files_count++;
}

static void forget_all(void)
{
    for (size_t i = 0; i < files_count; i++)
        free(files[i].bytes);
    files_count = 0;
}

/* Two sealed segments and one that is not; chunks, deletions, dead ones, a touch. */
static void make(void)
{
    forget_all();
    help_make_folder(folder);
    for (unsigned n = 0; n < CHUNKS; n++)
        wanted[n] = OUT;
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned i = 0; i < SMALL; i++) {
        CHECK_EQ(help_put(store, small[i]), 0);
        wanted[small[i]] = IN;
        if (i == 5 || i == 10)
            help_seal(store);
        if (i % 4 == 3) {
            CHECK_EQ(help_delete(store, small[i / 2]), 0);
            wanted[small[i / 2]] = OUT;
        }
    }
    CHECK_EQ(help_touch(store, small[0]), 0);
    CHECK_EQ(help_put(store, small[1]), 0);
    wanted[small[1]] = IN;
    weir__store_close(store);
    static const char *const names[] = {"lock",
                                        "store",
                                        "mark",
                                        "segments/00000001.seg",
                                        "segments/00000002.seg",
                                        "segments/00000003.seg",
                                        "index/data.mdb"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        load(names[i]);
    /* As it would be where it has to be on the disk. */
    struct file *locks = &files[files_count++];
    snprintf(locks->name, sizeof(locks->name), "index/lock.mdb");
    locks->length = 8192;
    locks->bytes = calloc(1, locks->length);
    CHECK(locks->bytes);
    CHECK_EQ(files_count, 8);
}

/* The folder as it was, but for what is left out. */
static void restore(bool with_mark, bool with_index)
{
    char path[HELP_PATH + 80];
    help_remove(folder);
    CHECK_EQ(mkdir(folder, 0700), 0);
    snprintf(path, sizeof(path), "%s/segments", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/index", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    for (size_t i = 0; i < files_count; i++) {
        if ((!with_mark && strcmp(files[i].name, "mark") == 0) ||
            (!with_index && strncmp(files[i].name, "index", 5) == 0))
            continue;
        snprintf(path, sizeof(path), "%s/%.63s", folder, files[i].name);
        help_write(path, files[i].bytes, files[i].length);
    }
}

static const char *what = "";
static size_t what_at;
static unsigned absent, corrupt, unreadable;

static void look_at_all(struct weir__store *store, const int *may)
{
    for (unsigned n = 0; n < CHUNKS; n++) {
        int result = help_look(store, n);
        corrupt += result == -WEIR_E_CORRUPT;
        bool is_fine = (result == 0 && may[n] & (IN | DAMAGED)) ||
                       (result == -WEIR_E_NOT_FOUND && may[n] & (OUT | DAMAGED)) ||
                       ((result == -WEIR_E_CORRUPT || result == -WEIR_E_IO) && may[n] & DAMAGED);
        if (!is_fine)
            tap_fail(__FILE__, __LINE__, "%s at %zu: chunk %u is %s, may be %s%s%s", what, what_at,
                     n,
                     result < 0 ? weir_error_name(result)
                     : result   ? "wrong"
                                : "there",
                     may[n] & IN ? "in " : "", may[n] & OUT ? "out " : "",
                     may[n] & DAMAGED ? "damaged" : "");
    }
}

/* Opens it, looks, puts again what is gone, and looks once more, now and after it was closed. */
static void check(const int *may)
{
    struct weir__store *store = NULL;
    int error = help_try_open(&store, folder, NULL), after[CHUNKS];
    if (error)
        tap_fail(__FILE__, __LINE__, "%s at %zu: %s: %s", what, what_at, weir_error_name(error),
                 weir__store_why());
    look_at_all(store, may);
    CHECK_EQ(help_put(store, FRESH), 0);
    memcpy(after, may, sizeof(after));
    for (unsigned n = 0; n < CHUNKS; n++)
        if (may[n] & DAMAGED) {
            int result = help_look(store, n);
            absent += result == -WEIR_E_NOT_FOUND;
            unreadable += result == -WEIR_E_IO;
            if (result != -WEIR_E_IO) {
                CHECK(help_put(store, n) >= 0);
                after[n] = IN;
            }
        }
    look_at_all(store, after);
    weir__store_close(store);
    store = help_open(folder, NULL);
    look_at_all(store, after);
    CHECK_EQ(help_look(store, FRESH), 0);
    weir__store_close(store);
}

/* --- segments --- */

/* 0: not a segment. */
static uint32_t id_of(const char *name)
{
    unsigned id = 0;
    return sscanf(name, "segments/%x.seg", &id) == 1 ? id : 0;
}

struct part {
    uint32_t offset, span;
    unsigned n;
    enum weir__record_type type;
};

static size_t parts_of(const struct file *file, uint32_t id, struct part *parts,
                       bool *ret_is_sealed, uint32_t *ret_end)
{
    struct weir__segment_content content;
    struct weir__identity identity;
    char path[HELP_PATH + 80];
    CHECK_EQ(weir__identity_decode(&identity, files[1].bytes), 0);
    snprintf(path, sizeof(path), "%s/%.63s", folder, file->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(weir__segment_load(&content, fd, id, &identity.key), 0);
    close(fd);
    size_t count = content.count;
    CHECK(count <= CHUNKS);
    for (size_t i = 0; i < count; i++) {
        const struct weir__entry *entry = &content.records[i];
        parts[i] =
            (struct part){entry->place.offset, weir__record_span(entry->size), CHUNKS, entry->type};
        for (unsigned n = 0; n < CHUNKS; n++) {
            struct help_chunk chunk;
            help_chunk(&chunk, n);
            if (weir__address_is_equal(&chunk.address, &entry->address))
                parts[i].n = n;
        }
        CHECK(parts[i].n < CHUNKS);
    }
    *ret_is_sealed = content.is_sealed;
    *ret_end = content.end;
    weir__segment_forget(&content);
    return count;
}

/* What may be, when these bytes of the file are not what they were. */
static void hit(int *may, const struct part *parts, size_t count, bool keeps_deletions, size_t from,
                size_t to)
{
    for (size_t i = 0; i < count; i++) {
        if (from >= parts[i].offset + parts[i].span || to <= parts[i].offset)
            continue;
        if (parts[i].type == WEIR__RECORD_CHUNK && may[parts[i].n] & IN)
            may[parts[i].n] |= DAMAGED;
        if (parts[i].type == WEIR__RECORD_DELETED && !keeps_deletions)
            may[parts[i].n] |= DAMAGED;
    }
}

TEST(a_bit_is_flipped_anywhere)
{
    bool is_long = getenv("WEIR_LONG");
    unsigned tried = 0;
    make();
    for (size_t i = 0; i < files_count; i++) {
        struct file *file = &files[i];
        struct part parts[CHUNKS];
        uint32_t id = id_of(file->name), end = 0;
        bool is_sealed = false;
        restore(true, true);
        size_t count = id ? parts_of(file, id, parts, &is_sealed, &end) : 0;
        bool is_index = strncmp(file->name, "index", 5) == 0;
        size_t step = is_index ? 2003 : is_long ? 1 : 6;
        what = file->name;
        for (int with_index = 0; with_index < 2; with_index++)
            for (size_t at = is_long ? 0 : 3 * (size_t)with_index; at < file->length; at += step) {
                int may[CHUNKS];
                memcpy(may, wanted, sizeof(may));
                hit(may, parts, count, is_sealed, at, at + 1);
                what_at = at;
                file->bytes[at] ^= (unsigned char)(1u << (at * 5 + at / 8) % 8);
                restore(with_index, with_index);
                file->bytes[at] ^= (unsigned char)(1u << (at * 5 + at / 8) % 8);
                check(may);
                tried++;
            }
    }
    help_remove(folder);
    printf("# %u flips: %u absent, %u corrupt, %u unreadable\n", tried, absent, corrupt,
           unreadable);
}

/* With the index and without. */
TEST(a_segment_is_cut_at_any_byte)
{
    unsigned tried = 0;
    make();
    for (size_t i = 3; i < 6; i++) {
        struct file *file = &files[i];
        struct part parts[CHUNKS];
        size_t length = file->length, step = getenv("WEIR_LONG") ? 1 : 16;
        uint32_t end;
        bool is_sealed;
        restore(true, true);
        size_t count = parts_of(file, id_of(file->name), parts, &is_sealed, &end);
        what = file->name;
        size_t from = is_sealed ? end - parts[count - 1].span : 0;
        for (int with_index = 0; with_index < 2; with_index++)
            for (size_t at = from, fine = length - 300; at < length;) {
                int may[CHUNKS];
                memcpy(may, wanted, sizeof(may));
                /* A deletion that is cut off is one that never was. */
                hit(may, parts, count, false, at, length);
                what_at = at;
                file->length = at;
                restore(with_index, with_index);
                file->length = length;
                check(may);
                tried++;
                at += !with_index && at >= fine ? 1 : step;
            }
    }
    help_remove(folder);
    printf("# %u cuts: %u absent, %u corrupt, %u unreadable\n", tried, absent, corrupt, unreadable);
}

/* --- the index --- */

static uint64_t random_state = 88172645463325252u;

static size_t below(size_t limit)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % limit);
}

static void damage_index(struct file *file, unsigned how)
{
    size_t pages = file->length / 4096, a = below(pages), b = below(pages);
    unsigned char page[4096];
    switch (how % 6) {
    case 0:
        file->length = below(file->length);
        break;
    case 1:
        memset(file->bytes + a * 4096, 0, 4096);
        break;
    case 2:
        memcpy(page, file->bytes + a * 4096, 4096);
        memmove(file->bytes + a * 4096, file->bytes + b * 4096, 4096);
        memcpy(file->bytes + b * 4096, page, 4096);
        break;
    case 3:
        for (int i = 0; i < 20; i++)
            file->bytes[below(file->length)] = (unsigned char)below(256);
        break;
    case 4:
        for (size_t i = 0; i < file->length; i++)
            file->bytes[i] = (unsigned char)below(256);
        break;
    default:
        file->length = 0;
    }
}

TEST(the_index_is_damaged)
{
    make();
    what = "index";
    for (unsigned i = 0; i < 180; i++) {
        struct file *file = &files[6], *lock = &files[7];
        struct file before = *file;
        what_at = i;
        file->bytes = malloc(before.length);
        CHECK(file->bytes);
        memcpy(file->bytes, before.bytes, before.length);
        damage_index(file, i);
        if (i % 5 == 0)
            memset(lock->bytes, (int)i, lock->length);
        restore(i / 6 % 2, true);
        free(file->bytes);
        *file = before;
        check(wanted);
    }
    restore(true, false);
    check(wanted);
    help_remove(folder);
}

/* Where the index has the chunk, in its file. */
static unsigned char *value_of(struct file *file, unsigned n)
{
    struct help_chunk chunk;
    help_chunk(&chunk, n);
    unsigned char *at = memmem(file->bytes, file->length, &chunk.address, sizeof(chunk.address));
    CHECK(at);
    return at + sizeof(chunk.address);
}

/* A store runs, and its index changes under it: a chunk that is right is not said to be bad. */
TEST(a_wrong_index_kills_no_chunk)
{
    make();
    /* Of the value: segment, offset, size, time, sequence, type. */
    for (size_t at = 0; at < 25; at++)
        for (unsigned bit = 0; bit < 8; bit += 3) {
            char path[HELP_PATH + 80];
            what = "wrong index";
            what_at = at;
            restore(true, true);
            struct weir__store *store = help_open(folder, NULL);
            snprintf(path, sizeof(path), "%s/index/data.mdb", folder);
            int fd = open(path, O_RDWR | O_CLOEXEC);
            struct file now = {.name = ""};
            now.bytes = help_read(path, &now.length);
            CHECK(fd >= 0 && now.bytes);
            /* All copies: LMDB has old pages, too. */
            for (unsigned char *from = now.bytes;;) {
                struct file rest = {.bytes = from,
                                    .length = now.length - (size_t)(from - now.bytes)};
                struct help_chunk chunk;
                help_chunk(&chunk, 5);
                if (!memmem(rest.bytes, rest.length, &chunk.address, sizeof(chunk.address)))
                    break;
                unsigned char *value = value_of(&rest, 5) + at;
                unsigned char wrong = (unsigned char)(*value ^ 1u << bit);
                CHECK_EQ(pwrite(fd, &wrong, 1, value - now.bytes), 1);
                from = value;
            }
            close(fd);
            free(now.bytes);
            int result = help_look(store, 5);
            CHECK(result != 1);
            CHECK(result != -WEIR_E_CORRUPT || at < 4);
            CHECK_EQ(help_put(store, FRESH), 0);
            weir__store_close(store);
            snprintf(path, sizeof(path), "%s/mark", folder);
            unlink(path);
            store = help_open(folder, NULL);
            look_at_all(store, wanted);
            CHECK_EQ(help_look(store, FRESH), 0);
            weir__store_close(store);
        }
    help_remove(folder);
}

/* The index is cut while it is mapped. */
static void cut_while_open(size_t length, bool with_writes)
{
    char path[HELP_PATH + 80];
    restore(true, true);
    struct weir__store *store = help_open(folder, NULL);
    snprintf(path, sizeof(path), "%s/index/data.mdb", folder);
    CHECK_EQ(truncate(path, (off_t)length), 0);
    for (unsigned n = 0; n < CHUNKS; n++)
        CHECK(help_look(store, n) != 1);
    if (with_writes) {
        struct weir_deadline deadline = help_soon();
        int result = help_put(store, FRESH);
        (void)!weir__store_seal(store, &deadline);
        (void)!weir__store_compact(store, 0, &deadline);
        CHECK(result == 0 || result == -WEIR_E_IO);
    }
    weir__store_close(store);
    store = help_open(folder, NULL);
    look_at_all(store, wanted);
    weir__store_close(store);
}

TEST(the_index_is_cut_while_it_is_used)
{
    make();
    what = "cut index";
    for (size_t length = 0; length < files[6].length; length += 4096) {
        what_at = length;
        int status;
        fflush(stdout);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            cut_while_open(length, length % 8192 == 0);
            _exit(0);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            tap_fail(__FILE__, __LINE__, "cut to %zu: it ended with %x", length, (unsigned)status);
    }
    help_remove(folder);
}

TAP_MAIN()
