/* quarantine.c - damaged records: kept for whoever wants to look at them, told, and counted no
 * more.
 *
 * Nothing is repaired here, and nothing rewritten: a record says that the one before is bad, and
 * who puts the chunk again makes it good. The copies are for people; there are
 * WEIR__STORE_QUARANTINE_MAX of them at most.
 *
 * Where no such record can be written, in a store that is only read or on a full disk, each who
 * reads finds the damage again. So the places of those that were told are remembered until there is
 * a verdict, WEIR__STORE_TOLD at most: one damage is counted and told once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "store_part.h"
#include "sys.h"
#include "temporary.h"

#include "banned.h"

static const char folder_name[] = "quarantine";
static const char part_suffix[] = ".part";

#define PIECE         (64u << 10)
#define TEXT_MAX      160u
#define COPY_NAME     160u
#define PART_NAME     (COPY_NAME + 32u)
#define SAME_NAME_MAX 100u /* copies beside the first that would have its name */

struct aside {
    const char *name;
    uint64_t from, to;
};

/* The folder, made if it is not there. */
static int open_folder(struct weir__store *store)
{
    if (weir__sys_mkdirat(store->folder, folder_name, 0700) < 0 && errno != EEXIST)
        return weir_error_from_errno(errno);
    int fd = weir__sys_openat(store->folder, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd < 0 ? weir_error_from_errno(errno) : fd;
}

/* What can be read is copied, up to the first place that cannot be. */
static int copy_range(int from, int to, uint64_t at, uint64_t end, uint64_t *ret_copied)
{
    unsigned char *piece = weir__base_alloc(1, PIECE);
    uint64_t begin = at;
    int error = piece ? 0 : -WEIR_E_NO_MEMORY;
    while (!error && at < end) {
        size_t wanted = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t got = weir__sys_pread(from, piece, wanted, (off_t)at);
        if (got <= 0)
            break;
        error = weir__whole_write(to, piece, (size_t)got);
        at += (uint64_t)got;
    }
    weir__base_free(piece);
    *ret_copied = at - begin;
    return error;
}

/* The file, its name, and that of the folder: what it is a copy of goes next. */
static int make_last(struct weir__store *store, int folder, const char *name)
{
    int error = 0, file = weir__sys_openat(folder, name, O_RDONLY | O_NOFOLLOW, 0);
    if (file < 0 || weir__sys_fdatasync(file) < 0 || weir__sys_fsync(folder) < 0 ||
        weir__sys_fsync(store->folder) < 0)
        error = weir_error_from_errno(errno);
    weir__sys_close(file);
    return error;
}

static void count_one(struct weir__store *store)
{
    weir_counter_add(&store->counts.quarantined, 1);
    weir_counter_add(&store->counts.quarantine_files, 1);
}

/* What has a name already, and what is to be kept under it. */
enum likeness {
    NOTHING_THERE,
    ALL_THERE,
    BEGINNING_THERE, /* of what can be read now */
    OTHER_THERE,
};

/* Compares as far as the segment can be read: by that alone nobody can tell that it is another
 * one. A file that cannot be read is no copy. */
static int compare(int fd, const struct aside *aside, int file, enum likeness *ret_likeness)
{
    uint64_t at = 0, size = aside->to - aside->from;
    ssize_t got = 1, had = 1;
    bool is_same = true;
    unsigned char *piece = weir__base_alloc(2, PIECE);
    if (!piece)
        return -WEIR_E_NO_MEMORY;
    while (is_same && had == got && at < size) {
        size_t wanted = size - at < PIECE ? (size_t)(size - at) : PIECE;
        got = weir__sys_pread(fd, piece, wanted, (off_t)(aside->from + at));
        if (got <= 0)
            break;
        had = weir__sys_pread(file, piece + PIECE, (size_t)got, (off_t)at);
        is_same = had >= 0 && memcmp(piece, piece + PIECE, (size_t)had) == 0;
        at += (uint64_t)got;
    }
    weir__base_free(piece);
    if (got <= 0 && is_same)
        return at > 0 ? -WEIR_E_INCOMPLETE : -WEIR_E_IO;
    *ret_likeness = !is_same ? OTHER_THERE : had < got ? BEGINNING_THERE : ALL_THERE;
    return 0;
}

/* What has the name; also how long that is. */
static int look_at(int folder, const char *name, int fd, const struct aside *aside,
                   enum likeness *ret_likeness, uint64_t *ret_size)
{
    struct stat st;
    int error = 0;
    int file = weir__sys_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    *ret_size = 0;
    *ret_likeness = file < 0 && errno == ENOENT ? NOTHING_THERE : OTHER_THERE;
    if (file < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : weir_error_from_errno(errno);
    if (weir__sys_fstat(file, &st) < 0) {
        error = weir_error_from_errno(errno);
    } else if (S_ISREG(st.st_mode)) {
        *ret_size = (uint64_t)st.st_size;
        error = compare(fd, aside, file, ret_likeness);
    }
    weir__sys_close(file);
    return error;
}

/* Under another name first: what has its name is all that there was, or a later find of more takes
 * its place (had: how much of it is there). Exists: somebody else was faster. */
static int copy_to(struct weir__store *store, int folder, const char *name, int fd,
                   const struct aside *aside, enum likeness likeness, uint64_t had)
{
    char part[PART_NAME];
    uint64_t copied = 0, size = aside->to - aside->from;
    bool is_new = likeness == NOTHING_THERE;
    /* One more or less does not matter: the count is a limit on what piles up. */
    if (is_new && weir_counter_value(&store->counts.quarantine_files) >= WEIR__STORE_QUARANTINE_MAX)
        return -WEIR_E_BUSY;
    /* Two threads may have found the same. */
    snprintf(part, sizeof(part), "%s.%d%s", name, (int)gettid(), part_suffix);
    (void)!weir__sys_unlinkat(folder, part, 0); /* left by somebody who was killed */
    int out = weir__sys_openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (out < 0)
        return weir_error_from_errno(errno);
    int error = copy_range(fd, out, aside->from, aside->to, &copied);
    if (!error && copied <= had && size > 0)
        error = is_new ? -WEIR_E_IO : -WEIR_E_INCOMPLETE;
    if (!error && (is_new ? weir__sys_rename_new(folder, part, name)
                          : weir__sys_renameat2(folder, part, folder, name, 0)) < 0)
        error = weir_error_from_errno(errno);
    if (error)
        (void)!weir__sys_unlinkat(folder, part, 0);
    else if (is_new)
        count_one(store);
    weir__sys_close(out);
    return !error && copied < size ? -WEIR_E_INCOMPLETE : error;
}

/* A segment is written further from where something was cut off, so that a name may come again with
 * other content: that is kept beside it, under the next name that is free. Each name is looked at
 * twice at most, for somebody who is faster. */
static int keep(struct weir__store *store, int folder, int fd, const struct aside *aside,
                char ret_name[COPY_NAME])
{
    unsigned number = 0;
    for (unsigned looks = 0; looks <= 2 * SAME_NAME_MAX && number <= SAME_NAME_MAX; looks++) {
        enum likeness likeness;
        uint64_t had;
        if (number == 0)
            snprintf(ret_name, COPY_NAME, "%s", aside->name);
        else
            snprintf(ret_name, COPY_NAME, "%s.%u", aside->name, number);
        int error = look_at(folder, ret_name, fd, aside, &likeness, &had);
        if (error || likeness == ALL_THERE)
            return error;
        if (likeness == OTHER_THERE) {
            number++;
            continue;
        }
        error = copy_to(store, folder, ret_name, fd, aside, likeness, had);
        if (error != -WEIR_E_EXISTS)
            return error;
    }
    return -WEIR_E_BUSY;
}

struct counting {
    int folder; /* to remove in what was not finished; -1: nothing is removed */
    uint64_t files;
};

static int count_name(void *arg, const char *name)
{
    struct counting *counting = arg;
    size_t length = strlen(name), suffix = sizeof(part_suffix) - 1;
    if (length <= suffix || strcmp(name + length - suffix, part_suffix) != 0)
        counting->files++;
    else if (counting->folder >= 0)
        (void)!weir__sys_unlinkat(counting->folder, name, 0);
    return 0;
}

int weir__store_quarantine_count(struct weir__store *store, uint64_t *ret_files)
{
    int fd = weir__sys_openat(store->folder, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 && errno != ENOENT)
        return weir_error_from_errno(errno);
    struct counting counting = {.folder = store->is_read_only ? -1 : fd};
    int error = fd < 0 ? 0 : weir__disk_each(fd, count_name, &counting);
    weir__sys_close(fd);
    if (!error)
        *ret_files = counting.files;
    return error;
}

void weir__store_quarantine_open(struct weir__store *store)
{
    uint64_t files = 0;
    /* What cannot be counted is no reason not to open: there is nothing to be kept there either. */
    if (store->folder >= 0 && !store->is_read_only &&
        weir__store_quarantine_count(store, &files) == 0)
        weir_counter_add(&store->counts.quarantine_files, files);
}

int weir__store_put_aside(struct weir__store *store, int fd, const char *name, uint64_t from,
                          uint64_t to, bool must_last)
{
    struct aside aside = {name, from, to};
    char kept[COPY_NAME];
    if (store->folder < 0 || store->is_read_only)
        return 0; /* nothing is to touch a disk, and nothing goes */
    int folder = open_folder(store);
    int error = folder < 0 ? folder : keep(store, folder, fd, &aside, kept);
    if (!error && must_last)
        error = make_last(store, folder, kept);
    if (folder >= 0)
        weir__sys_close(folder);
    return error;
}

const char *weir__store_unkept_text(int error)
{
    switch (error) {
    case -WEIR_E_BUSY:
        return "many are";
    case -WEIR_E_NOT_FOUND:
        return "what is called so is no folder";
    case -WEIR_E_INCOMPLETE:
        return "not all of it can be read";
    case -WEIR_E_READ_ONLY:
        return "the store is only read";
    default:
        return weir_error_text(error);
    }
}

/* With the lock held: its place among those that were told, or their count. */
static size_t told_at(const struct weir__store *store, struct weir__place place)
{
    size_t i = 0;
    while (i < store->told_count &&
           (store->told[i].segment != place.segment || store->told[i].offset != place.offset))
        i++;
    return i;
}

enum news { NO_NEWS, NEWS, LAST_NEWS, TOO_MANY };

static enum news note_told(struct weir__store *store, struct weir__place place)
{
    enum news news = NO_NEWS;
    weir_lock_acquire(&store->lock);
    if (told_at(store, place) == store->told_count) {
        news = store->told_count < WEIR__STORE_TOLD ? NEWS : TOO_MANY;
        if (news == NEWS)
            store->told[store->told_count++] = place;
        if (news == NEWS && store->told_count == WEIR__STORE_TOLD)
            news = LAST_NEWS;
    }
    weir_lock_release(&store->lock);
    return news;
}

/* It is not what counts any more, so nobody finds it again. */
static void forget_told(struct weir__store *store, struct weir__place place, int result)
{
    if (result && result != -WEIR_E_NOT_FOUND)
        return;
    weir_lock_acquire(&store->lock);
    size_t i = told_at(store, place);
    if (i < store->told_count)
        store->told[i] = store->told[--store->told_count];
    weir_lock_release(&store->lock);
}

struct verdict {
    struct weir__store_write write;
    struct weir__store *store;
};

static void verdict_done(struct weir__store_write *write)
{
    struct verdict *verdict = write->arg;
    forget_told(verdict->store, write->_from.place, write->result);
    weir__base_free(verdict);
}

/* Without memory or room in the line it is found again by the next who reads it. */
static void say_bad(struct weir__store *store, const struct weir__entry *entry)
{
    struct verdict *verdict = weir__base_alloc(1, sizeof(*verdict));
    if (!verdict)
        return;
    verdict->store = store;
    verdict->write = (struct weir__store_write){
        .address = entry->address,
        .done = verdict_done,
        .arg = verdict,
        ._from = *entry,
        ._kind = WEIR__WRITE_BAD,
    };
    if (weir__store_submit(store, &verdict->write))
        weir__base_free(verdict);
}

static void say(struct weir__store *store, const struct weir__address *address, const char *what)
{
    if (store->damage_fn)
        store->damage_fn(store->damage_arg, address, what);
}

void weir__store_say(struct weir__store *store, const char *what)
{
    say(store, NULL, what);
}

void weir__store_tell(struct weir__store *store, const struct weir__address *address,
                      const char *what)
{
    weir_counter_add(&store->counts.damaged, 1);
    say(store, address, what);
}

/* A copy of the record. */
static int keep_record(struct weir__store *store, const struct weir__entry *entry)
{
    struct weir__segment *segment;
    char name[WEIR__ADDRESS_TEXT + 32], address[WEIR__ADDRESS_TEXT];
    weir__address_print(&entry->address, address);
    snprintf(name, sizeof(name), "%s.%016llx", address + 3, (unsigned long long)entry->sequence);
    int error = weir__segments_pin(&store->segments, entry->place.segment, &segment);
    if (!error) {
        error = weir__store_put_aside(store, segment->fd, name, entry->place.offset,
                                      (uint64_t)entry->place.offset + entry->size, false);
        weir__segments_unpin(&store->segments, segment);
    }
    return error == -WEIR_E_INCOMPLETE ? 0 : error;
}

int weir__store_condemn(struct weir__store *store, const struct weir__entry *entry,
                        const struct weir_deadline *deadline)
{
    struct weir__store_write verdict = {
        .address = entry->address, ._from = *entry, ._kind = WEIR__WRITE_BAD};
    /* That it is not kept was told with the damage. */
    (void)!keep_record(store, entry);
    int result = weir__store_write_and_wait(store, &verdict, deadline);
    forget_told(store, entry->place, result);
    return result;
}

static void quarantine(struct weir__store *store, const struct weir__entry *entry, const char *what,
                       bool is_counted)
{
    char text[TEXT_MAX];
    weir__hot_forget(&store->hot, &entry->address);
    enum news news = note_told(store, entry->place);
    int error = keep_record(store, entry);
    if (error)
        snprintf(text, sizeof(text), "%s; it is not kept in quarantine: %s", what,
                 weir__store_unkept_text(error));
    /* Before it is told, so that who hears of it comes behind the verdict. */
    say_bad(store, entry);
    if (news == NO_NEWS)
        return;
    weir_counter_add(&store->counts.damaged, !is_counted);
    if (news != TOO_MANY)
        say(store, &entry->address, error ? text : what);
    if (news == LAST_NEWS)
        weir__store_say(store, "many damaged chunks have no verdict: others are not told");
}

void weir__store_quarantine(struct weir__store *store, const struct weir__entry *entry,
                            const char *what)
{
    quarantine(store, entry, what, false);
}

/* --- what the opening has found ---
 *
 * Each stays in the list, whatever becomes of it: a chunk that is put again lies at another place.
 * So nobody is told that it is there, also before the verdict is written, or where there is no room
 * for that, or nothing is written at all. The list is that of one segment, WEIR__SEGMENT_COUNT at
 * most, and changes no more once the store is open. */

int weir__store_wrong_add(struct weir__store *store, const struct weir__entry *entry)
{
    if (store->wrong_count == store->wrong_room) {
        size_t room = store->wrong_room ? 2 * store->wrong_room : 64;
        void *wrong = weir__base_realloc(store->wrong, room, sizeof(*store->wrong));
        if (!wrong)
            return -WEIR_E_NO_MEMORY;
        store->wrong = wrong;
        store->wrong_room = room;
    }
    store->wrong[store->wrong_count++] = *entry;
    return 0;
}

void weir__store_wrong_forget(struct weir__store *store)
{
    weir__base_free(store->wrong);
    store->wrong = NULL;
    store->wrong_count = store->wrong_room = 0;
}

/* They were counted when they were found. */
void weir__store_wrong_tell(struct weir__store *store)
{
    for (size_t i = 0; i < store->wrong_count; i++) {
        struct weir__entry known;
        if (weir__store_lookup(store, &store->wrong[i].address, &known, NULL) == 0 &&
            known.type == WEIR__RECORD_CHUNK && weir__store_is_wrong(store, &known))
            quarantine(store, &known, "its bytes are not those of its address", true);
    }
}
