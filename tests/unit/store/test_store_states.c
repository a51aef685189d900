/* test_store_states.c - every state in which a loss of power can leave the disk is one in which
 * nothing that was acknowledged is missing.
 *
 * A short history of a store is noted, change by change, with what was asked for and answered in
 * between. After each change the disk may hold: all that was synced; of the writes of a file since
 * then any, whole, torn or as zeros; of the names of a folder since then any. These states are
 * built, as files, and opened.
 *
 * Then the same with a process that dies and another that goes on: what the first did not sync is
 * in the kernel's memory still, and the second must not take it for synced.
 */
#include <pthread.h>

#include "disk.h"
#include "fault.h"
#include "store_help.h"

#define CHUNKS  40
#define FRESH   1000 /* content that no history has */
#define ENDING  100  /* bytes of a path behind the folder's */
#define NAMES   32
#define PENDING 64
#define FILES   64
#define SHOTS   64
#define STATES  (1u << 17)
#define SECTOR  512u

enum kind { CHANGE, ASKED, ANSWERED, SHOT, OPENED };

/* What may be true of a chunk. */
enum { IN = 1, OUT = 2 };

struct event {
    enum kind kind;
    enum weir__disk_change change;
    char folder; /* s: segments, r: the store's, p: above it */
    char name[WEIR__DISK_NAME_MAX], other[WEIR__DISK_NAME_MAX];
    unsigned char *bytes;
    size_t length;
    uint64_t at;
    unsigned chunk;
    int may;       /* be true of the chunk now; SHOT: its number */
    bool is_stuck; /* what was to make it last has failed */
};

#define EVENTS 4096

struct history {
    struct event events[EVENTS];
    size_t count;
};

/* The index, as it was at some moments: LMDB's own writes are not told. */
struct shot {
    unsigned char *bytes;
    size_t length;
};

static struct shot shots[SHOTS];
static int shots_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct history *recording;
static char recorded_folder[HELP_PATH];
static unsigned states_checked, states_twice, opened;
static bool cuts_fail, removals_fail; /* to be made to last */

/* --- noting --- */

static struct event *add_event(enum kind kind)
{
    CHECK(recording->count < EVENTS);
    struct event *event = &recording->events[recording->count++];
    *event = (struct event){.kind = kind};
    return event;
}

static char folder_of(int fd)
{
    char link[64], path[512];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    CHECK(length > 0);
    path[length] = '\0';
    size_t own = strlen(recorded_folder);
    if (strncmp(path, recorded_folder, own) != 0)
        return 'p';
    return strcmp(path + own, "/segments") == 0 ? 's' : 'r';
}

static void on_change(void *arg, const struct weir__disk_note *note)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    struct event *event = add_event(CHANGE);
    if (cuts_fail && note->change == WEIR__DISK_CUT)
        weir_fault_arm(WEIR_FAULT_IO, 1);
    event->change = note->change;
    event->at = note->at;
    event->length = note->length;
    if (note->name)
        snprintf(event->name, sizeof(event->name), "%s", note->name);
    if (note->other)
        snprintf(event->other, sizeof(event->other), "%s", note->other);
    if (note->change >= WEIR__DISK_CREATE)
        event->folder = folder_of(note->folder);
    event->is_stuck = removals_fail && note->change == WEIR__DISK_REMOVE && event->folder == 's';
    if (event->is_stuck)
        weir_fault_arm(WEIR_FAULT_IO, 1);
    if (note->change == WEIR__DISK_WRITE) {
        event->bytes = malloc(note->length + 1);
        CHECK(event->bytes);
        size_t done = 0;
        for (const struct iovec *part = note->parts; done < note->length; part++) {
            size_t some = part->iov_len < note->length - done ? part->iov_len : note->length - done;
            memcpy(event->bytes + done, part->iov_base, some);
            done += some;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void note_about(enum kind kind, unsigned chunk, int may)
{
    pthread_mutex_lock(&lock);
    struct event *event = add_event(kind);
    event->chunk = chunk;
    event->may = may;
    pthread_mutex_unlock(&lock);
}

static void note_index(void)
{
    char path[HELP_PATH + ENDING];
    snprintf(path, sizeof(path), "%s/index/data.mdb", recorded_folder);
    CHECK(shots_count < SHOTS);
    struct shot *shot = &shots[shots_count];
    if ((shot->bytes = help_read(path, &shot->length)))
        note_about(SHOT, 0, shots_count++);
}

/* --- what the history does --- */

static void put(struct weir__store *store, unsigned n)
{
    note_about(ASKED, n, IN);
    CHECK(help_put(store, n) >= 0);
    note_about(ANSWERED, n, IN);
}

static void delete (struct weir__store *store, unsigned n)
{
    note_about(ASKED, n, OUT);
    int result = help_delete(store, n);
    CHECK(result == 0 || result == -WEIR_E_NOT_FOUND);
    note_about(ANSWERED, n, OUT);
}

/* Several at once, which are made to last together: while the lock is held, the thread that writes
 * waits in its first note, and the others gather. */
struct one {
    struct weir__store_write write;
    struct help_chunk chunk;
    unsigned n;
};

static unsigned under_way;
static pthread_cond_t none_under_way = PTHREAD_COND_INITIALIZER;

static void one_done(struct weir__store_write *write)
{
    struct one *one = write->arg;
    if (write->result >= 0 || write->result == -WEIR_E_NOT_FOUND)
        note_about(ANSWERED, one->n, write->action == WEIR__STORE_PUT ? IN : OUT);
    pthread_mutex_lock(&lock);
    under_way--;
    pthread_cond_signal(&none_under_way);
    pthread_mutex_unlock(&lock);
}

static void change_many(struct weir__store *store, unsigned from, unsigned count, unsigned last,
                        bool is_delete)
{
    static struct one list[16];
    CHECK(count <= 16);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count; i++) {
        struct one *one = &list[i];
        one->n = from + i;
        help_chunk(&one->chunk, one->n);
        one->write = (struct weir__store_write){
            .action = is_delete ? WEIR__STORE_DELETE : WEIR__STORE_PUT,
            .address = one->chunk.address,
            .bytes = one->chunk.bytes,
            .length = is_delete ? 0 : one->chunk.length,
            .done = one_done,
            .arg = one,
        };
        struct event *event = add_event(ASKED);
        event->chunk = one->n;
        event->may = is_delete ? OUT : IN;
        CHECK_EQ(weir__store_submit(store, &one->write), 0);
        under_way++;
    }
    pthread_mutex_unlock(&lock);
    put(store, last);
    pthread_mutex_lock(&lock);
    while (under_way > 0)
        pthread_cond_wait(&none_under_way, &lock);
    pthread_mutex_unlock(&lock);
}

static void live(const char *folder)
{
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < 4; n++)
        put(store, n);
    delete (store, 1);
    CHECK_EQ(help_touch(store, 2), 0);
    change_many(store, 4, 8, 12, false);
    help_seal(store);
    note_index();
    /* A segment that goes first, with a deletion that hides what lies in another. */
    put(store, 26);
    delete (store, 26);
    delete (store, 12);
    help_seal(store);
    CHECK(help_compact(store) > 0);
    put(store, 1);
    change_many(store, 4, 4, 13, true);
    delete (store, 13);
    help_seal(store);
    note_index();
    change_many(store, 14, 5, 19, false);
    CHECK(help_compact(store) > 0);
    note_index();
    delete (store, 14);
    weir__store_close(store);
    note_index();
    store = help_open(folder, NULL);
    put(store, 4);
    help_seal(store);
    delete (store, 4);
    delete (store, 8);
    help_seal(store);
    CHECK(help_compact(store) > 0);
    note_index();
    put(store, 20);
    delete (store, 9);
    weir__store_close(store);
    note_index();
}

/* The sync of this change fails, after its bytes were written; or the write itself does. */
static void change_badly(struct weir__store *store, unsigned n, bool is_delete, unsigned call)
{
    note_about(ASKED, n, is_delete ? OUT : IN);
    weir_fault_arm(WEIR_FAULT_IO, call);
    int result = is_delete ? help_delete(store, n) : help_put(store, n);
    CHECK(weir_fault_was_hit(WEIR_FAULT_IO));
    if (!cuts_fail)
        weir_fault_arm(WEIR_FAULT_IO, 0);
    CHECK_EQ(result, -WEIR_E_IO);
    /* The segment was given up, and the index takes it in: no call of that is to fail instead. */
    if (!cuts_fail)
        help_await_index(store);
}

/* What failed may have come to the disk all the same; what is answered later, by what the store
 * holds then, must not be undone by it. */
static void live_badly(const char *folder)
{
    struct weir__store *store = help_open(folder, NULL);
    for (unsigned n = 0; n < 4; n++)
        put(store, n);
    for (unsigned call = 1; call <= 2; call++) {
        change_badly(store, call, true, call);
        put(store, call);
        change_badly(store, 4 + call, false, call);
        delete (store, 4 + call);
        put(store, 6 + call);
    }
    /* What failed cannot even be cut off: nothing is answered until it can. */
    cuts_fail = true;
    change_badly(store, 0, true, 2);
    note_about(ASKED, 0, IN);
    CHECK_EQ(help_put(store, 0), -WEIR_E_IO);
    CHECK_EQ(help_put(store, 21), -WEIR_E_IO);
    cuts_fail = false;
    put(store, 0);
    help_seal(store);
    note_index();
    change_badly(store, 3, true, 2);
    put(store, 3);
    (void)help_compact(store);
    weir__store_close(store);
    note_index();
    store = help_open(folder, NULL);
    put(store, 20);
    weir__store_close(store);
}

static void compact_to_the_end(struct weir__store *store)
{
    struct weir_deadline deadline = help_soon();
    while (weir__store_compact(store, 0, &deadline) != -WEIR_E_NOT_FOUND)
        CHECK_EQ(weir_deadline_check(&deadline), 0);
}

/* Segments that went may be there again, and nothing makes their end last before the store is
 * opened again: what was deleted in them must not come back. */
static void live_without_an_end(const char *folder)
{
    struct weir__store *store = help_open(folder, NULL);
    put(store, 0);
    put(store, 1);
    help_seal(store);
    delete (store, 0);
    put(store, 2);
    delete (store, 2);
    help_seal(store);
    removals_fail = true;
    compact_to_the_end(store);
    delete (store, 1);
    for (unsigned n = 4; n < 8; n++) {
        put(store, n);
        delete (store, n);
        help_seal(store);
        compact_to_the_end(store);
    }
    removals_fail = false;
    struct weir__store_stats stats;
    weir__store_read(store, &stats);
    CHECK(stats.compacted_segments >= 4);
    CHECK(stats.keeps_deletions);
    weir__store_close(store);
    note_index();
    /* From here on they are let go of. */
    note_about(OPENED, 0, 0);
    store = help_open(folder, NULL);
    weir__store_read(store, &stats);
    CHECK(!stats.keeps_deletions);
    put(store, 1);
    delete (store, 1);
    help_seal(store);
    compact_to_the_end(store);
    weir__store_read(store, &stats);
    CHECK_EQ(stats.index_entries + stats.tail_records, 0);
    put(store, 8);
    weir__store_close(store);
    note_index();
}

static uint64_t random_state;

static unsigned below(unsigned limit)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

/* Anything, in any order, of few chunks, so that each has a past. */
static void live_at_random(const char *folder)
{
    struct weir__store *store = help_open(folder, NULL);
    for (int i = 0; i < 40; i++) {
        unsigned n = below(12);
        switch (below(12)) {
        case 0:
            help_seal(store);
            note_index();
            break;
        case 1:
            (void)help_compact(store);
            note_index();
            break;
        case 2:
            weir__store_close(store);
            note_index();
            store = help_open(folder, NULL);
            break;
        case 3:
            change_many(store, n, 1 + below(5), 12 + n, below(2));
            break;
        case 4:
            (void)!help_touch(store, n);
            break;
        case 5:
            /* One that is there, or is not: else nothing would be written. */
            put(store, n);
            change_badly(store, n, true, 1 + below(2));
            break;
        case 6:
            delete (store, n);
            change_badly(store, n, false, 2);
            break;
        case 7:
        case 8:
        case 9:
            delete (store, n);
            break;
        default:
            put(store, n);
        }
    }
    weir__store_close(store);
    note_index();
}

/* What the second process does. */
static void live_on(const char *folder)
{
    struct weir__store *store = help_open(folder, NULL);
    put(store, 30);
    delete (store, 0);
    help_seal(store);
    note_index();
    put(store, 31);
    put(store, 1);
    (void)help_compact(store);
    delete (store, 30);
    weir__store_close(store);
    note_index();
}

/* --- the disk --- */

struct file {
    unsigned char *bytes; /* that last */
    size_t length;
    const struct event *pending[PENDING];
    size_t pending_count;
};

struct name {
    char folder;
    char name[WEIR__DISK_NAME_MAX];
    int file;
};

struct names {
    struct name list[NAMES];
    size_t count;
};

struct name_change {
    struct event event;
    int file;
};

struct disk {
    struct file files[FILES];
    int files_count;
    struct names now, lasting;
    struct name_change pending[PENDING];
    size_t pending_count;
    int may[CHUNKS];
    int shot; /* the newest, or -1 */
};

static int names_find(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void names_remove(struct names *names, const char *name)
{
    int at = names_find(names, name);
    if (at >= 0)
        names->list[at] = names->list[--names->count];
}

static void names_change(struct names *names, const struct event *event, int file)
{
    if (event->change == WEIR__DISK_RENAME)
        names_remove(names, event->other);
    names_remove(names, event->name);
    if (event->change == WEIR__DISK_REMOVE)
        return;
    CHECK(names->count < NAMES);
    struct name *name = &names->list[names->count++];
    *name = (struct name){.folder = event->folder, .file = file};
    memcpy(name->name, event->name, sizeof(name->name));
}

/* How a pending change came to the disk. */
struct fate {
    enum { NOT, WHOLE, TORN, SECTORS, ZEROS } how;
    size_t keep;   /* TORN: bytes */
    uint64_t seed; /* SECTORS: which */
};

static void grow(unsigned char **bytes, size_t *length, size_t wanted)
{
    if (*length >= wanted)
        return;
    *bytes = realloc(*bytes, wanted);
    CHECK(*bytes);
    memset(*bytes + *length, 0, wanted - *length);
    *length = wanted;
}

static void apply(unsigned char **bytes, size_t *length, const struct event *event,
                  struct fate fate)
{
    if (fate.how == NOT)
        return;
    if (event->change == WEIR__DISK_CUT) {
        grow(bytes, length, event->at);
        *length = event->at;
        return;
    }
    size_t keep = fate.how == TORN ? fate.keep : event->length;
    grow(bytes, length, event->at + keep);
    if (fate.how == WHOLE || fate.how == TORN)
        memcpy(*bytes + event->at, event->bytes, keep);
    uint64_t first = event->at / SECTOR;
    for (size_t i = 0; fate.how == SECTORS && i < event->length; i++)
        if (fate.seed >> ((event->at + i) / SECTOR - first) % 64 & 1)
            (*bytes)[event->at + i] = event->bytes[i];
}

static void take_name(struct disk *disk, const struct event *event)
{
    int file = -1, at;
    if (event->change == WEIR__DISK_CREATE) {
        CHECK(disk->files_count < FILES);
        file = disk->files_count++;
        disk->files[file] = (struct file){.bytes = NULL};
    } else if (event->change == WEIR__DISK_RENAME) {
        at = names_find(&disk->now, event->other);
        CHECK(at >= 0);
        file = disk->now.list[at].file;
    }
    names_change(&disk->now, event, file);
    CHECK(disk->pending_count < PENDING);
    disk->pending[disk->pending_count++] = (struct name_change){*event, file};
}

static void sync_names(struct disk *disk, char folder)
{
    size_t kept = 0;
    for (size_t i = 0; i < disk->pending_count; i++) {
        struct name_change *change = &disk->pending[i];
        if (change->event.folder == folder && !change->event.is_stuck)
            names_change(&disk->lasting, &change->event, change->file);
        else
            disk->pending[kept++] = *change;
    }
    disk->pending_count = kept;
}

static void take_event(struct disk *disk, const struct event *event)
{
    if (event->kind == SHOT)
        disk->shot = event->may;
    if (event->kind == ASKED)
        disk->may[event->chunk] |= event->may;
    if (event->kind == ANSWERED)
        disk->may[event->chunk] = event->may;
    for (size_t i = 0; event->kind == OPENED && i < disk->pending_count; i++)
        disk->pending[i].event.is_stuck = false;
    if (event->kind != CHANGE)
        return;
    if (event->change == WEIR__DISK_SYNC_NAMES) {
        sync_names(disk, event->folder);
        return;
    }
    if (event->change >= WEIR__DISK_CREATE) {
        take_name(disk, event);
        return;
    }
    int at = names_find(&disk->now, event->name);
    CHECK(at >= 0);
    struct file *file = &disk->files[disk->now.list[at].file];
    if (event->change != WEIR__DISK_SYNC) {
        CHECK(file->pending_count < PENDING);
        file->pending[file->pending_count++] = event;
        return;
    }
    for (size_t i = 0; i < file->pending_count; i++)
        apply(&file->bytes, &file->length, file->pending[i], (struct fate){WHOLE, 0, 0});
    file->pending_count = 0;
}

static void disk_init(struct disk *disk)
{
    memset(disk, 0, sizeof(*disk));
    for (unsigned n = 0; n < CHUNKS; n++)
        disk->may[n] = OUT;
    disk->shot = -1;
}

static void disk_copy(struct disk *to, const struct disk *from)
{
    *to = *from;
    for (int i = 0; i < to->files_count; i++) {
        struct file *file = &to->files[i];
        unsigned char *bytes = malloc(file->length + 1);
        CHECK(bytes);
        if (file->length > 0)
            memcpy(bytes, file->bytes, file->length);
        file->bytes = bytes;
    }
}

static void disk_fini(struct disk *disk)
{
    for (int i = 0; i < disk->files_count; i++)
        free(disk->files[i].bytes);
}

/* --- one state --- */

struct choice {
    struct fate files[FILES][PENDING];
    uint64_t names; /* bits: which changes of names came to the disk */
};

struct state {
    struct {
        char path[ENDING];
        unsigned char *bytes;
        size_t length;
    } files[NAMES];
    size_t count;
    bool has_mark;
};

static void state_build(struct state *state, const struct disk *disk, const struct choice *choice)
{
    static struct names names;
    names = disk->lasting;
    for (size_t i = 0; i < disk->pending_count; i++)
        if (choice->names >> i & 1)
            names_change(&names, &disk->pending[i].event, disk->pending[i].file);
    *state = (struct state){.count = 0};
    for (size_t i = 0; i < names.count; i++) {
        const struct name *name = &names.list[i];
        const struct file *file = &disk->files[name->file];
        unsigned char *bytes = malloc(file->length + 1);
        size_t length = file->length;
        CHECK(bytes);
        if (length > 0)
            memcpy(bytes, file->bytes, length);
        for (size_t k = 0; k < file->pending_count; k++)
            apply(&bytes, &length, file->pending[k], choice->files[name->file][k]);
        snprintf(state->files[i].path, ENDING, "%s%s", name->folder == 's' ? "segments/" : "",
                 name->name);
        state->files[i].bytes = bytes;
        state->files[i].length = length;
        state->has_mark |= strcmp(name->name, "mark") == 0;
        state->count++;
    }
}

static void state_fini(struct state *state)
{
    for (size_t i = 0; i < state->count; i++)
        free(state->files[i].bytes);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 29;
}

/* Whether it was there before, with no more to be kept. */
static bool state_is_known(const struct state *state, const struct disk *disk)
{
    static uint64_t known[2 * STATES];
    uint64_t hash = 14695981039346656037u, sum = 0;
    for (size_t i = 0; i < state->count; i++) {
        hash = mix(1, state->files[i].path, strlen(state->files[i].path));
        sum += mix(hash, state->files[i].bytes, state->files[i].length);
    }
    sum = mix(sum, disk->may, sizeof(disk->may)) | 1;
    size_t at = sum % (2 * STATES);
    while (known[at] && known[at] != sum)
        at = (at + 1) % (2 * STATES);
    bool is_known = known[at] != 0;
    known[at] = sum;
    return is_known;
}

static void state_write(const struct state *state, const char *folder)
{
    char path[HELP_PATH + ENDING];
    CHECK_EQ(mkdir(folder, 0700), 0);
    snprintf(path, sizeof(path), "%s/segments", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    for (size_t i = 0; i < state->count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, state->files[i].path);
        help_write(path, state->files[i].bytes, state->files[i].length);
    }
}

/* The index is not synced but at a clean end: it may be absent, as it was then or later, or
 * anything. */
static void index_write(const struct disk *disk, const char *folder, unsigned which)
{
    char path[HELP_PATH + ENDING];
    if (disk->shot < 0 || which % 4 == 3)
        return;
    snprintf(path, sizeof(path), "%s/index", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/index/data.mdb", folder);
    const struct shot *shot =
        &shots[which % 4 == 1 && disk->shot > 0 ? disk->shot - 1 : disk->shot];
    unsigned char *bytes = malloc(shot->length);
    CHECK(bytes);
    memcpy(bytes, shot->bytes, shot->length);
    for (size_t i = 0; which % 4 == 2 && i < shot->length; i += 4096)
        memset(bytes + i + which % 4000, (int)which, 64);
    help_write(path, bytes, shot->length);
    free(bytes);
}

static const char *where = "";
static size_t where_at;
static uint64_t where_seed;

static void look_at_all(struct weir__store *store, const struct disk *disk, const char *when)
{
    for (unsigned n = 0; n < CHUNKS; n++) {
        int result = help_look(store, n);
        bool is_fine = (result == 0 && disk->may[n] & IN) ||
                       (result == -WEIR_E_NOT_FOUND && disk->may[n] & OUT);
        if (!is_fine)
            tap_fail(__FILE__, __LINE__,
                     "%s, %s, seed %llu, event %zu: chunk %u is %s, may be %s%s", where, when,
                     (unsigned long long)where_seed, where_at, n,
                     result < 0 ? weir_error_name(result)
                     : result   ? "wrong"
                                : "there",
                     disk->may[n] & IN ? "in " : "", disk->may[n] & OUT ? "out" : "");
    }
}

static void check_folder(const char *folder, const struct disk *disk)
{
    struct weir__store *store = NULL;
    struct weir__store_report report;
    int error = help_try_open(&store, folder, &report);
    if (error)
        tap_fail(__FILE__, __LINE__, "%s, event %zu: %s: %s", where, where_at,
                 weir_error_name(error), weir__store_why());
    /* Of what a mark speaks, all is on the disk. */
    if (report.gaps.lost_segments + report.gaps.lost_bytes > 0)
        tap_fail(__FILE__, __LINE__, "%s, event %zu: something is said to be lost", where,
                 where_at);
    look_at_all(store, disk, "first look");
    CHECK_EQ(help_put(store, FRESH), 0);
    CHECK_EQ(help_look(store, FRESH), 0);
    weir__store_close(store);
    /* Now and then: what it was found to hold is what it holds. */
    if (opened++ % 4 != 0)
        return;
    store = help_open(folder, NULL);
    look_at_all(store, disk, "second look");
    CHECK_EQ(help_look(store, FRESH), 0);
    weir__store_close(store);
    states_twice++;
}

static void check_choice(const struct disk *disk, const struct choice *choice)
{
    static unsigned number;
    char folder[HELP_PATH];
    struct state state;
    state_build(&state, disk, choice);
    if (!state_is_known(&state, disk)) {
        CHECK(++states_checked < STATES);
        /* With a mark, the index matters. */
        for (int i = 0; i < (state.has_mark ? 4 : 1); i++) {
            number++;
            snprintf(folder, sizeof(folder), "/dev/shm/weir-state-%d-%u", (int)getpid(), number);
            state_write(&state, folder);
            index_write(disk, folder, number);
            check_folder(folder, disk);
            help_remove(folder);
        }
    }
    state_fini(&state);
}

/* --- all states after an event --- */

struct slot {
    int file;
    size_t at;
    const struct event *event;
};

static size_t pending_of(const struct disk *disk, struct slot *slots)
{
    size_t count = 0;
    for (int i = 0; i < disk->files_count; i++)
        for (size_t k = 0; k < disk->files[i].pending_count; k++) {
            CHECK(count < PENDING);
            slots[count++] = (struct slot){i, k, disk->files[i].pending[k]};
        }
    return count;
}

static void choose_all(struct choice *choice, const struct slot *slots, size_t count,
                       uint64_t which, uint64_t names)
{
    memset(choice, 0, sizeof(*choice));
    choice->names = names;
    for (size_t i = 0; i < count; i++)
        choice->files[slots[i].file][slots[i].at].how = which >> i & 1 ? WHOLE : NOT;
}

/* The write comes to the disk in part, and all before it whole. */
static void tear(const struct disk *disk, struct choice *choice, const struct slot *slot)
{
    struct fate *fate = &choice->files[slot->file][slot->at];
    size_t length = slot->event->length, first = SECTOR - slot->event->at % SECTOR;
    size_t sectors = 1 + (length + SECTOR - 1 - first % SECTOR) / SECTOR;
    static const size_t odd[] = {1, 15, 16, 63, 64, 65, 127, 128, 129, 200};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]) && odd[i] < length; i++) {
        *fate = (struct fate){TORN, odd[i], 0};
        check_choice(disk, choice);
    }
    for (size_t keep = first; keep < length; keep += SECTOR)
        for (size_t more = 0; more < 2; more++) {
            *fate = (struct fate){TORN, keep - more * 7 % keep, 0};
            check_choice(disk, choice);
        }
    for (uint64_t i = 0; i < 64 && (sectors > 6 || i >> sectors == 0); i++) {
        uint64_t seed = sectors > 6 ? (i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 3 : i;
        *fate = (struct fate){SECTORS, 0, seed};
        check_choice(disk, choice);
    }
    *fate = (struct fate){ZEROS, 0, 0};
    check_choice(disk, choice);
    fate->how = WHOLE;
}

static void check_after(const struct disk *disk, const struct event *event)
{
    static struct choice choice;
    struct slot slots[PENDING];
    size_t count = pending_of(disk, slots);
    size_t bits = count + disk->pending_count;
    if (event->kind == ASKED || event->kind == SHOT)
        return;
    for (uint64_t i = 0; i < 64 && (bits > 6 || i >> bits == 0); i++) {
        uint64_t which = bits > 6 ? (i + 1) * UINT64_C(0xD1342543DE82EF95) >> 7 : i;
        if (i < 2 && bits > 6)
            which = i ? UINT64_MAX : 0;
        choose_all(&choice, slots, count, which >> disk->pending_count, which);
        check_choice(disk, &choice);
    }
    for (size_t i = 0; i < count; i++) {
        if (slots[i].event->change != WEIR__DISK_WRITE)
            continue;
        choose_all(&choice, slots, count, (UINT64_C(2) << i) - 1, UINT64_MAX);
        tear(disk, &choice, &slots[i]);
    }
}

static void check_history(struct disk *disk, const struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        take_event(disk, &history->events[i]);
        where_at = i;
        check_after(disk, &history->events[i]);
    }
}

static void history_free(struct history *history)
{
    for (size_t i = 0; i < history->count; i++)
        free(history->events[i].bytes);
    history->count = 0;
}

static void record(struct history *history, const char *folder, void (*fn)(const char *))
{
    history_free(history);
    recording = history;
    snprintf(recorded_folder, sizeof(recorded_folder), "%s", folder);
    weir__disk_watch(on_change, NULL);
    fn(folder);
    weir__disk_watch(NULL, NULL);
}

static struct history first, second;
static struct disk disk, after;

TEST(power_fails)
{
    char folder[HELP_PATH];
    help_make_folder(folder);
    record(&first, folder, live);
    help_remove(folder);
    disk_init(&disk);
    where = "power";
    check_history(&disk, &first);
    printf("# %zu events, %u states, %u of them opened twice\n", first.count, states_checked,
           states_twice);
    CHECK(states_checked > 500);
    disk_fini(&disk);
}

TEST(power_fails_after_an_error)
{
    unsigned before = states_checked;
    char folder[HELP_PATH];
    help_make_folder(folder);
    record(&second, folder, live_badly);
    help_remove(folder);
    disk_init(&disk);
    where = "error and power";
    check_history(&disk, &second);
    printf("# %zu events, %u states\n", second.count, states_checked - before);
    disk_fini(&disk);
}

TEST(power_fails_after_a_folder_was_not_synced)
{
    unsigned before = states_checked;
    char folder[HELP_PATH];
    help_make_folder(folder);
    record(&second, folder, live_without_an_end);
    help_remove(folder);
    disk_init(&disk);
    where = "folder and power";
    check_history(&disk, &second);
    printf("# %zu events, %u states\n", second.count, states_checked - before);
    CHECK(states_checked - before > 100);
    disk_fini(&disk);
}

TEST(power_fails_after_anything)
{
    unsigned before = states_checked;
    const char *seed = getenv("WEIR_SEED");
    uint64_t from = seed ? strtoull(seed, NULL, 10) : 1, count = getenv("WEIR_LONG") ? 40 : 3;
    where = "anything";
    for (uint64_t i = from; i < from + count; i++) {
        char folder[HELP_PATH];
        int shots_before = shots_count;
        random_state = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        where_seed = i;
        help_make_folder(folder);
        record(&second, folder, live_at_random);
        help_remove(folder);
        disk_init(&disk);
        check_history(&disk, &second);
        disk_fini(&disk);
        while (shots_count > shots_before)
            free(shots[--shots_count].bytes);
    }
    where_seed = 0;
    printf("# %u states\n", states_checked - before);
}

/* All that the first process did is there, and what is said to last is what it had synced. */
static void die_and_go_on(const struct disk *before)
{
    static struct choice all;
    struct slot slots[PENDING];
    struct state state;
    char folder[HELP_PATH];
    choose_all(&all, slots, pending_of(before, slots), UINT64_MAX, UINT64_MAX);
    state_build(&state, before, &all);
    snprintf(folder, sizeof(folder), "/dev/shm/weir-state-%d-on", (int)getpid());
    state_write(&state, folder);
    state_fini(&state);
    int shots_before = shots_count;
    record(&second, folder, live_on);
    help_remove(folder);
    disk_copy(&after, before);
    check_history(&after, &second);
    disk_fini(&after);
    while (shots_count > shots_before)
        free(shots[--shots_count].bytes);
    history_free(&second);
}

TEST(a_process_dies_and_then_power_fails)
{
    unsigned before = states_checked, deaths = 0;
    bool is_long = getenv("WEIR_LONG");
    CHECK(first.count > 0);
    disk_init(&disk);
    where = "death and power";
    for (size_t i = 0; i < first.count; i++) {
        const struct event *event = &first.events[i];
        take_event(&disk, event);
        bool is_name = event->kind == CHANGE && event->change >= WEIR__DISK_CREATE;
        /* The first names are those of the store itself. */
        if (event->kind != CHANGE || (!is_long && i % 23 != 0 && (!is_name || i > 20)))
            continue;
        deaths++;
        die_and_go_on(&disk);
    }
    printf("# %u deaths, %u states\n", deaths, states_checked - before);
    disk_fini(&disk);
}

TAP_MAIN()
