/* repair.c - what becomes of chunks that were found damaged.
 *
 * Whoever finds one (a reader, the scrubber, compaction) has it quarantined by the store and tells
 * it here. A loop that cannot send one does not know what is wrong: such a suspect waits in the
 * same line and is read as a reader would; if it is damaged, that is when it is found. It waits in
 * the line `repair` (256; skipped and counted beyond). The repairers look for another good record
 * of it in this store, at the pace of durability.repair_pacing, and put it again. Until that is
 * done, or somebody puts or deletes the chunk, it is remembered, WEIR__STORAGE_DAMAGED at most,
 * what waits before what does not, so that nobody is told that we have it. Of those beyond a
 * bit is noted, for good: who asks for a chunk with such a bit has it read first. What was tried in
 * vain or skipped an administrator can have tried again. Nobody else finds it again: what is known
 * to be bad is not read, and not scrubbed. So there is a line in the log for each damage, once.
 *
 * None of this outlives the process. A drain drops what waits, cancels what is under way, and says
 * of how many chunks nobody will think any more: who puts them again heals them.
 */
#include <stdio.h>

#include <weir/error.h>

#include "log.h"
#include "storage_part.h"

#include "banned.h"

/* With the lock held: its place, or the count. */
static size_t place_of(const struct weir__storage *storage, const struct weir__address *address)
{
    size_t i = 0;
    while (i < storage->damaged_count &&
           !weir__address_is_equal(&storage->damaged[i].address, address))
        i++;
    return i;
}

/* With the lock held: the first that nobody is about to repair, or the count. */
static size_t idle_place(const struct weir__storage *storage)
{
    size_t i = 0;
    while (i < storage->damaged_count && storage->damaged[i].is_waiting)
        i++;
    return i;
}

/* A bit of the table, which many addresses have. */
static uint64_t *word_of(struct weir__storage *storage, const struct weir__address *address,
                         uint64_t *ret_bit)
{
    unsigned number = address->bytes[0] | (unsigned)address->bytes[1] << 8;
    *ret_bit = UINT64_C(1) << number % 64;
    return &storage->damaged_beyond[number / 64];
}

/* With the lock held. */
static void note_beyond(struct weir__storage *storage, const struct weir__address *address)
{
    uint64_t bit, *word = word_of(storage, address, &bit);
    *word |= bit;
}

bool weir__repair_may_have(struct weir__storage *storage, const struct weir__address *address)
{
    uint64_t bit, *word = word_of(storage, address, &bit);
    weir_lock_acquire(&storage->damage_lock);
    bool may = (*word & bit) != 0;
    weir_lock_release(&storage->damage_lock);
    return may;
}

/* False: there is no room. What waits in line takes the place of what does not. */
static bool remember(struct weir__storage *storage, const struct weir__address *address,
                     bool is_waiting)
{
    weir_lock_acquire(&storage->damage_lock);
    size_t i = place_of(storage, address);
    bool is_full = i == WEIR__STORAGE_DAMAGED;
    if (is_full && is_waiting)
        i = idle_place(storage);
    bool has_room = i < WEIR__STORAGE_DAMAGED;
    if (is_full)
        note_beyond(storage, has_room ? &storage->damaged[i].address : address);
    if (has_room) {
        storage->damaged_count += i == storage->damaged_count;
        storage->damaged[i] = (struct weir__damaged){*address, is_waiting};
    }
    weir_lock_release(&storage->damage_lock);
    return has_room;
}

void weir__repair_forget(struct weir__storage *storage, const struct weir__address *address)
{
    weir_lock_acquire(&storage->damage_lock);
    size_t i = place_of(storage, address);
    if (i < storage->damaged_count)
        storage->damaged[i] = storage->damaged[--storage->damaged_count];
    weir_lock_release(&storage->damage_lock);
}

bool weir__repair_has(struct weir__storage *storage, const struct weir__address *address)
{
    weir_lock_acquire(&storage->damage_lock);
    bool has_it = place_of(storage, address) < storage->damaged_count;
    weir_lock_release(&storage->damage_lock);
    return has_it;
}

/* False: there is no room in line. */
static bool enqueue(struct weir__storage *storage, const struct weir__address *address)
{
    struct weir__repair item = {.address = *address};
    /* First, so that who repairs it has it forgotten. */
    item.is_remembered = remember(storage, address, true);
    if (weir_queue_try_send(&storage->repairs, &item) == 0)
        return true;
    weir_counter_add(&storage->counts.skipped_full, 1);
    (void)remember(storage, address, false);
    return false;
}

void weir__repair_damage(void *arg, const struct weir__address *address, const char *what)
{
    struct weir__storage *storage = arg;
    struct weir__daemon_event event = {.name = "damage", .result = -WEIR_E_CORRUPT};
    if (address)
        weir__address_print(address, event.about);
    snprintf(event.what, sizeof(event.what), "%s", what);
    weir__daemon_event(&storage->daemon, &event);
    char text[WEIR__ADDRESS_TEXT] = "the store";
    if (address)
        weir__address_print(address, text);
    weir__log(WEIR__LOG_WARNING, "%s: %s", text, what);
    if (address)
        (void)enqueue(storage, address);
}

/* Without room in line the next who asks for it brings it here again. */
void weir__repair_suspect(struct weir__storage *storage, const struct weir__address *address)
{
    const struct weir__repair item = {.address = *address, .is_suspect = true};
    if (weir_queue_try_send(&storage->repairs, &item))
        weir_counter_add(&storage->counts.skipped_full, 1);
}

/* One that nobody is about to repair. */
static bool find_idle(struct weir__storage *storage, struct weir__address *ret_address)
{
    weir_lock_acquire(&storage->damage_lock);
    size_t i = idle_place(storage);
    bool has_one = i < storage->damaged_count;
    if (has_one)
        *ret_address = storage->damaged[i].address;
    weir_lock_release(&storage->damage_lock);
    return has_one;
}

void weir__repair_again(struct weir__storage *storage)
{
    struct weir__address address;
    bool has_room = true;
    for (size_t i = 0; has_room && i < WEIR__STORAGE_DAMAGED && find_idle(storage, &address); i++)
        has_room = enqueue(storage, &address);
}

/* The end has come before its turn. One that was remembered still is, or is good or gone; one that
 * was not, since the line is longer than the memory, may be. */
static void leave(struct weir__storage *storage, const struct weir__repair *item)
{
    weir_lock_acquire(&storage->damage_lock);
    storage->repairs_left += !item->is_remembered;
    weir_lock_release(&storage->damage_lock);
}

static void drop(void *arg, void *item)
{
    struct weir__storage *storage = arg;
    const struct weir__repair *repair = item;
    struct weir__daemon_event event = {.name = "repair", .result = -WEIR_E_CANCELED};
    if (repair->is_suspect)
        return; /* not known to be damaged: the next start serves it, or finds out */
    leave(storage, repair);
    weir__address_print(&repair->address, event.about);
    weir__daemon_event(&storage->daemon, &event);
}

void weir__repair_end(struct weir__storage *storage)
{
    weir_queue_drain(&storage->repairs, drop, storage);
}

uint64_t weir__repair_left(struct weir__storage *storage)
{
    weir_lock_acquire(&storage->damage_lock);
    uint64_t left = storage->repairs_left + storage->damaged_count;
    weir_lock_release(&storage->damage_lock);
    return left;
}

/* Who puts or deletes it shows that first and has it forgotten then: so it is seen here, or
 * forgotten there. */
static void remember_bad(struct weir__storage *storage, struct weir__store_reader *reader,
                         const struct weir__address *address)
{
    (void)remember(storage, address, false);
    if (weir__store_is_settled(storage->store, reader, address))
        weir__repair_forget(storage, address);
}

static void repair(struct weir__storage *storage, struct weir__store_reader *reader,
                   const struct weir__repair *item, const struct weir_deadline *deadline)
{
    const struct weir__address *address = &item->address;
    struct weir__daemon_event event = {.name = "repair"};
    uint64_t before = weir_now_ns();
    /* A chunk's worth: how long it is, nobody knows who has not found it. */
    int error = weir_rate_acquire(&storage->pacing, WEIR__CHUNK_MAX, WEIR_RATE_HIGH, deadline);
    weir_histogram_observe(&storage->counts.repair_wait, weir_now_ns() - before);
    if (!error)
        error = weir__store_salvage(storage->store, reader, address, deadline);
    if (!error || error == WEIR__STORE_UNWANTED)
        weir__repair_forget(storage, address);
    if (error == WEIR__STORE_UNWANTED)
        return; /* it was deleted */
    if (error == -WEIR_E_CANCELED)
        leave(storage, item);
    else if (error)
        remember_bad(storage, reader, address);
    weir_counter_add(error ? &storage->counts.repairs_failed : &storage->counts.repairs, 1);
    char text[WEIR__ADDRESS_TEXT];
    weir__address_print(address, text);
    event.result = error;
    snprintf(event.about, sizeof(event.about), "%s", text);
    weir__daemon_event(&storage->daemon, &event);
    if (!error)
        weir__log(WEIR__LOG_INFO, "%s is good again", text);
    else if (error != -WEIR_E_CANCELED)
        weir__log(WEIR__LOG_WARNING, "%s could not be repaired: %s", text,
                  error == -WEIR_E_NOT_FOUND ? "there is no other record of it; put it again"
                                             : weir_error_text(error));
}

/* Damage is quarantined by the store, and told: that brings the chunk here once more. */
static void verify(struct weir__storage *storage, struct weir__store_reader *reader,
                   const struct weir__address *address, const struct weir_deadline *deadline)
{
    const unsigned char *bytes;
    char text[WEIR__ADDRESS_TEXT];
    uint32_t length;
    int error = weir_rate_acquire(&storage->pacing, WEIR__CHUNK_MAX, WEIR_RATE_HIGH, deadline);
    if (!error)
        error = weir__store_read_chunk(storage->store, reader, address, &bytes, &length);
    weir__address_print(address, text);
    if (!error)
        weir__log(WEIR__LOG_INFO, "%s could not be sent, and can be read now: it is right", text);
    else if (error == -WEIR_E_IO)
        weir__log(WEIR__LOG_WARNING, "%s cannot be read: %s; put it again", text,
                  weir_error_text(error));
}

int weir__repair_main(struct weir_crew_self *self, void *arg)
{
    struct weir__storage *storage = arg;
    struct weir__store_reader reader;
    struct weir__repair item;
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    int error = weir__store_reader_init(&reader);
    while (!error && weir_queue_recv(&storage->repairs, &item, &until_stop) == 0)
        if (item.is_suspect)
            verify(storage, &reader, &item.address, &until_stop);
        else
            repair(storage, &reader, &item, &until_stop);
    weir__store_reader_fini(&reader);
    return error;
}
