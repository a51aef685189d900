/* active.c - the segment that is written to: begun, ended with its footer, or abandoned.
 *
 * Only the writer (commit.c) does any of this, so nothing here waits for anybody but the index: at
 * most WEIR__STORE_TAILS tails wait for it, and a segment that ends takes its place in that line
 * first.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include <weir/error.h>

#include "require.h"
#include "store_part.h"
#include "sys.h"

#include "banned.h"

/* How long a full segment waits for the index to take an older one. */
#define INDEX_PATIENCE_NS (10 * WEIR_NS_PER_S)

static int create_file(struct weir__store *store, uint32_t id, struct weir__disk_file *ret_file)
{
    char name[WEIR__SEGMENT_NAME];
    weir__segment_name(id, name);
    if (store->segments_folder >= 0)
        return weir__disk_create(ret_file, store->segments_folder, name);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return weir_error_from_errno(errno);
    *ret_file = (struct weir__disk_file){.fd = fd};
    snprintf(ret_file->name, sizeof(ret_file->name), "%s", name);
    return 0;
}

static int make_last(struct weir__store *store, const struct weir__disk_file *file)
{
    int error = weir__disk_sync(file);
    if (!error && store->segments_folder >= 0)
        error = weir__disk_sync_names(store->segments_folder);
    return error;
}

/* With the segment in the list and pinned, its tail the active one. */
static int show_segment(struct weir__store *store, const struct weir__disk_file *file, uint32_t id,
                        uint32_t end, struct weir__tail *tail)
{
    struct weir__segment_facts facts = {.id = id, .size = end};
    int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    int error = fd < 0 ? weir_error_from_errno(errno) : 0;
    if (!error)
        error = weir__segments_add(&store->segments, &facts, fd, store->segments_folder < 0);
    if (error) {
        weir__sys_close(fd);
        return error;
    }
    error = weir__segments_pin(&store->segments, id, &store->writer.pin);
    if (error)
        return error;
    tail->end = end;
    weir_lock_acquire(&store->lock);
    tail->index_number = store->index_number;
    store->active = tail;
    weir_lock_release(&store->lock);
    return 0;
}

int weir__store_begin_segment(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    struct weir__disk_file file = {.fd = -1};
    struct weir__tail *tail = NULL;
    uint32_t id = writer->next_id, end = 0;
    if (id > WEIR__SEGMENT_ID_MAX)
        return -WEIR_E_NO_SPACE;
    int error = weir__tail_new(&tail, id);
    if (!error && !weir__store_has_folder(store)) {
        errno = ESTALE;
        error = -WEIR_E_IO;
    }
    if (!error)
        error = create_file(store, id, &file);
    if (!error) {
        writer->next_id++;
        error = weir__segment_begin(&file, id, &store->identity, writer->next_sequence, &end);
        if (!error)
            error = make_last(store, &file);
        if (!error)
            error = show_segment(store, &file, id, end, tail);
    }
    if (error) {
        error = weir__store_disk_failed(store, error);
        if (file.fd >= 0 && store->segments_folder >= 0)
            (void)!weir__disk_remove(store->segments_folder, file.name);
        weir__sys_close(file.fd);
        weir__tail_free(tail);
        return error;
    }
    writer->file = file;
    writer->id = id;
    writer->end = end;
    writer->has_leftovers = false;
    weir__store_reserve_measure(store);
    return 0;
}

/* The active tail goes to the index; there is no active segment any more. */
static void retire(struct weir__store *store, bool is_sealed)
{
    struct weir__writer *writer = &store->writer;
    struct weir__tail *tail = store->active;
    weir__sys_close_at(&writer->file.fd);
    tail->is_sealed = is_sealed;
    tail->end = writer->end;
    weir_lock_acquire(&store->lock);
    WEIR__REQUIRE(store->waiting_count < WEIR__STORE_TAILS, "store", "tails", "too many wait");
    store->waiting[store->waiting_count++] = tail;
    store->active = NULL;
    weir_lock_release(&store->lock);
    weir__segments_unpin(&store->segments, writer->pin);
    writer->pin = NULL;
    int error = weir_queue_try_send(&store->tails, &tail);
    WEIR__REQUIRE(!error, "queue", "tails", "it has room for all that may wait");
}

void weir__store_note_disk(struct weir__store *store, bool is_at_disk)
{
    uint64_t now_ns = is_at_disk ? weir_now_ns() : 0;
    weir_lock_acquire(&store->lock);
    store->at_disk_ns = now_ns;
    weir_lock_release(&store->lock);
}

/* A place in the line for the index. Its permit goes home when the index has the tail. */
static int take_turn(struct weir__store *store, struct weir_crew_self *self)
{
    struct weir_permit permit = WEIR_PERMIT_NONE;
    struct weir_deadline deadline = weir_deadline_in(INDEX_PATIENCE_NS, self ? self->abort : NULL);
    weir__store_note_disk(store, false);
    int error = weir_budget_acquire(&store->unindexed, 1, &permit, &deadline);
    weir__store_note_disk(store, self != NULL);
    weir_lock_acquire(&store->lock);
    if (error == -WEIR_E_TIMEOUT)
        error = store->index_error == -WEIR_E_NO_SPACE ? -WEIR_E_NO_SPACE : -WEIR_E_BUSY;
    weir_lock_release(&store->lock);
    if (!error)
        weir_permit_move(&store->active->turn, &permit);
    return error;
}

int weir__store_end_segment(struct weir__store *store, struct weir_crew_self *self)
{
    struct weir__writer *writer = &store->writer;
    if (writer->file.fd < 0)
        return 0;
    int error = take_turn(store, self);
    if (error)
        return error;
    error =
        weir__segment_seal(&writer->file, writer->id, &store->identity.key, store->active->records,
                           store->active->count, writer->end, weir__store_synced(writer));
    /* Without its footer it is scanned when the store is opened: nothing is lost by that. */
    if (error)
        (void)!weir__disk_cut(&writer->file, writer->end);
    retire(store, error == 0);
    return 0;
}

int weir__store_disk_failed(struct weir__store *store, int error)
{
    store->writer.disk_errno = errno;
    return weir__disk_fault(error);
}

static void note_settled(struct weir__store *store, bool is_settled)
{
    weir_lock_acquire(&store->lock);
    store->is_unsettled = !is_settled;
    weir_lock_release(&store->lock);
}

int weir__store_settle(struct weir__store *store)
{
    struct weir__writer *writer = &store->writer;
    if (writer->doubtful.fd < 0)
        return 0;
    int error = weir__disk_cut(&writer->doubtful, writer->doubtful_end);
    if (!error)
        error = weir__disk_sync(&writer->doubtful);
    if (error)
        return weir__store_disk_failed(store, error);
    weir__sys_close_at(&writer->doubtful.fd);
    note_settled(store, true);
    return 0;
}

/* Where the index has no place for another tail, there is no other way than to wait for one. */
void weir__store_abandon(struct weir__store *store, struct weir_crew_self *self)
{
    struct weir__writer *writer = &store->writer;
    writer->doubtful = writer->file;
    writer->doubtful_end = writer->end;
    writer->file.fd = -1;
    note_settled(store, false);
    (void)!weir__store_settle(store); /* if not now, then before anything else */
    while (take_turn(store, self))
        if (weir_cancel_is_fired(self->abort))
            return;
    retire(store, false);
}
