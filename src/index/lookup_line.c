/* lookup_line.c - the list, its bell, and the loop of an asker.
 *
 * A queue of core cannot give up an item in its middle, and attempts that have lost would fill it
 * while every asker is busy with a slow source. So the items are in a list of ours, which a
 * cancellation may leave at any moment, and the queue carries tokens: one for each item that was
 * pushed. When the bell is full it holds as many tokens as the line has places, so one more is not
 * needed.
 *
 * Happy path: push links the item and rings; an asker gets the token, unlinks the oldest item,
 * takes its hook off, runs it. Failure modes: the item's token fires first, and the hook unlinks
 * it; the asker then finds the list empty and goes on. Both unlink under the lock and look at the
 * place first, so one of them has it.
 */
#include "lookup_line.h"

#include <weir/error.h>

#include "index_mutants.h"
#include "locks.h"
#include "require.h"

#include "banned.h"

const struct weir_lock_class weir__lookup_line_class = {"breaker_table", WEIR__RANK_BREAKERS};

int weir__line_init(struct weir__line *line, uint32_t capacity,
                    void (*run)(struct weir__line_item *item),
                    void (*dropped)(struct weir__line_item *item))
{
    *line = (struct weir__line){.capacity = capacity, .run = run, .dropped = dropped};
    int error = weir_queue_init(&line->bell, "ask",
                                &(struct weir_queue_options){.item_size = 1, .capacity = capacity});
    if (!error)
        weir_lock_init(&line->lock, &weir__lookup_line_class);
    return error;
}

void weir__line_fini(struct weir__line *line)
{
    if (!line->lock._class)
        return;
    WEIR__REQUIRE(!line->first && !line->under_way, "line", "ask", "freed with attempts in it");
    weir_queue_drain(&line->bell, NULL, NULL);
    weir_queue_fini(&line->bell);
    weir_lock_fini(&line->lock);
}

/* --- with the lock held --- */

static void link_last(struct weir__line *line, struct weir__line_item *item)
{
    item->prev = line->last;
    item->next = NULL;
    *(line->last ? &line->last->next : &line->first) = item;
    line->last = item;
    item->place = WEIR__ASK_IN_LINE;
    line->count++;
    if (line->count > line->high_water)
        line->high_water = line->count;
}

static void unlink_item(struct weir__line *line, struct weir__line_item *item)
{
    *(item->prev ? &item->prev->next : &line->first) = item->next;
    *(item->next ? &item->next->prev : &line->last) = item->prev;
    item->prev = item->next = NULL;
    item->place = WEIR__ASK_NOWHERE;
    line->count--;
}

static void link_under_way(struct weir__line *line, struct weir__line_item *item)
{
    item->prev = NULL;
    item->next = line->under_way;
    if (line->under_way)
        line->under_way->prev = item;
    line->under_way = item;
    item->place = WEIR__ASK_UNDER_WAY;
    line->under_way_count++;
}

/* --- without it --- */

/* The hook of an item in line: its token has fired. */
static void leave(void *arg)
{
    struct weir__line_item *item = arg;
    struct weir__line *line = item->line;
    weir_lock_acquire(&line->lock);
    bool was_in_line = item->place == WEIR__ASK_IN_LINE && !WEIR__INDEX_MUTANT(LINE_CANCELED_STAYS);
    if (was_in_line) {
        if (!WEIR__INDEX_MUTANT(LINE_TAKEN_TWICE))
            unlink_item(line, item);
        line->canceled++;
    }
    weir_lock_release(&line->lock);
    if (was_in_line)
        line->dropped(item);
}

int weir__line_push(struct weir__line *line, struct weir__line_item *item,
                    struct weir_cancel *token)
{
    int error = 0;
    item->line = line;
    item->place = WEIR__ASK_NOWHERE;
    if (!weir_cancel_on(token, &item->hook, leave, item))
        return -WEIR_E_CANCELED;
    weir_lock_acquire(&line->lock);
    if (line->is_stopped && !WEIR__INDEX_MUTANT(LINE_STOP_UNHEARD))
        error = -WEIR_E_DRAINING;
    else if (line->count == line->capacity)
        error = -WEIR_E_BUSY;
    if (!error)
        link_last(line, item);
    line->refused += error != 0;
    weir_lock_release(&line->lock);
    if (error) {
        weir_cancel_off(&item->hook);
        return error;
    }
    /* Busy: there are tokens enough. Closed: the stop has seen the item, or taken it. */
    const unsigned char token_byte = 1;
    (void)!weir_queue_try_send(&line->bell, &token_byte);
    return 0;
}

void weir__line_enter(struct weir__line *line, struct weir__line_item *item)
{
    item->line = line;
    weir_lock_acquire(&line->lock);
    link_under_way(line, item);
    weir_lock_release(&line->lock);
}

void weir__line_done(struct weir__line_item *item)
{
    struct weir__line *line = item->line;
    weir_lock_acquire(&line->lock);
    *(item->prev ? &item->prev->next : &line->under_way) = item->next;
    if (item->next)
        item->next->prev = item->prev;
    item->place = WEIR__ASK_NOWHERE;
    line->under_way_count--;
    weir_lock_release(&line->lock);
}

void weir__line_stop(struct weir__line *line)
{
    weir_lock_acquire(&line->lock);
    line->is_stopped = true;
    weir_lock_release(&line->lock);
    weir_queue_close(&line->bell);
    for (;;) {
        weir_lock_acquire(&line->lock);
        struct weir__line_item *item = line->first;
        if (item)
            unlink_item(line, item);
        weir_lock_release(&line->lock);
        if (!item || WEIR__INDEX_MUTANT(LINE_LEFT_AT_STOP))
            return;
        weir_cancel_off(&item->hook);
        line->dropped(item);
    }
}

/* The oldest one, under way from now on; NULL: there is none. */
static struct weir__line_item *take(struct weir__line *line)
{
    weir_lock_acquire(&line->lock);
    struct weir__line_item *item = line->first;
    if (item) {
        unlink_item(line, item);
        link_under_way(line, item);
    }
    weir_lock_release(&line->lock);
    return item;
}

int weir__line_main(struct weir_crew_self *self, void *arg)
{
    struct weir__line *line = arg;
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    unsigned char token;
    int error;
    while ((error = weir_queue_recv(&line->bell, &token, &until_abort)) == 0) {
        struct weir__line_item *item = take(line);
        if (!item)
            continue;
        weir_cancel_off(&item->hook);
        line->run(item);
    }
    return error == -WEIR_E_CLOSED ? 0 : error;
}
