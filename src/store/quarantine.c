/* quarantine.c - damaged records: kept for whoever wants to look at them, told, and counted no
 * more.
 *
 * Nothing is repaired here, and nothing rewritten: a record says that the one before is bad, and
 * who puts the chunk again makes it good. The copies are for people; there are
 * WEIR__STORE_QUARANTINE_MAX of them at most.
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

#define PIECE    (64u << 10)
#define TEXT_MAX 160u

/* The folder, made if it is not there. */
static int open_folder(struct weir__store *store)
{
    if (weir__sys_mkdirat(store->folder, folder_name, 0700) < 0 && errno != EEXIST)
        return weir_error_from_errno(errno);
    int fd = weir__sys_openat(store->folder, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd < 0 ? weir_error_from_errno(errno) : fd;
}

static int copy_range(int from, int to, uint64_t at, uint64_t end)
{
    unsigned char *piece = weir__base_alloc(1, PIECE);
    int error = piece ? 0 : -WEIR_E_NO_MEMORY;
    while (!error && at < end) {
        size_t wanted = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t got = weir__sys_pread(from, piece, wanted, (off_t)at);
        if (got <= 0)
            break; /* what can be read is kept */
        error = weir__whole_write(to, piece, (size_t)got);
        at += (uint64_t)got;
    }
    weir__base_free(piece);
    return error;
}

static int keep(struct weir__store *store, int folder, int fd, const char *name, uint64_t from,
                uint64_t to)
{
    int out = weir__sys_openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (out < 0)
        return errno == EEXIST ? 0 : weir_error_from_errno(errno);
    int error = copy_range(fd, out, from, to);
    weir__sys_close(out);
    if (error)
        (void)!weir__sys_unlinkat(folder, name, 0);
    else
        weir_counter_add(&store->counts.quarantined, 1);
    return error;
}

int weir__store_put_aside(struct weir__store *store, int fd, const char *name, uint64_t from,
                          uint64_t to)
{
    if (store->folder < 0 || store->is_read_only)
        return 0; /* nothing is to touch a disk, and nothing goes */
    /* One more or less does not matter: the count is a limit on what piles up. */
    if (weir_counter_value(&store->counts.quarantined) >= WEIR__STORE_QUARANTINE_MAX)
        return -WEIR_E_BUSY;
    int folder = open_folder(store);
    int error = folder < 0 ? folder : keep(store, folder, fd, name, from, to);
    if (folder >= 0)
        weir__sys_close(folder);
    return error;
}

static void verdict_done(struct weir__store_write *write)
{
    weir__base_free(write->arg);
}

/* Without memory or room in the line it is found again by the next who reads it. */
static void say_bad(struct weir__store *store, const struct weir__entry *entry)
{
    struct weir__store_write *verdict = weir__base_alloc(1, sizeof(*verdict));
    if (!verdict)
        return;
    *verdict = (struct weir__store_write){
        .address = entry->address,
        .done = verdict_done,
        .arg = verdict,
        ._from = *entry,
        ._kind = WEIR__WRITE_BAD,
    };
    if (weir__store_submit(store, verdict))
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

void weir__store_quarantine(struct weir__store *store, const struct weir__entry *entry,
                            const char *what)
{
    struct weir__segment *segment;
    char name[WEIR__ADDRESS_TEXT + 32], address[WEIR__ADDRESS_TEXT], text[TEXT_MAX];
    weir__hot_forget(&store->hot, &entry->address);
    weir__address_print(&entry->address, address);
    snprintf(name, sizeof(name), "%s.%016llx", address + 3, (unsigned long long)entry->sequence);
    int error = weir__segments_pin(&store->segments, entry->place.segment, &segment);
    if (!error) {
        error = weir__store_put_aside(store, segment->fd, name, entry->place.offset,
                                      (uint64_t)entry->place.offset + entry->size);
        weir__segments_unpin(&store->segments, segment);
    }
    if (error)
        snprintf(text, sizeof(text), "%s; it is not kept in quarantine: %s", what,
                 error == -WEIR_E_BUSY ? "many are" : weir_error_text(error));
    /* Before it is told, so that who hears of it comes behind the verdict. */
    say_bad(store, entry);
    weir__store_tell(store, &entry->address, error ? text : what);
}
