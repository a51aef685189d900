/* prefetch.c - what is looked up before somebody asks: the keys of cache.warmup_keys at the start,
 * then answers that are asked for near the end of their time, and whether others have something
 * newer than this node.
 *
 * The record of a name that this node keeps ends a lookup: nobody waits for others then. Somebody
 * may have told them of a newer one. So they are asked behind the client's back, and if they have
 * one it is noted and the answer dropped: whoever asks next is told the newer one. Of one sequence
 * that is the record which counts for more, so that all nodes come to tell the same.
 *
 * One thread of low priority, so that no client waits for it; one lookup at a time. It joins
 * flights as everybody does: if somebody looks the same thing up, that is what it wanted. When its
 * line is full the key is not looked up, which is counted; who asks after its end waits then.
 */
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "index_part.h"
#include "resources.h"

#include "banned.h"

/* The sources have a pace, which is for clients in the first place. */
#define COMPARED_PER_S 50u

void weir__prefetch_ask(struct weir__index *index, const struct weir__question *question)
{
    (void)!weir_queue_try_send(&index->prefetch, question);
}

/* Once for each time that the local records have answered, so once in cache.ttl at most. */
void weir__prefetch_compare(struct weir__index *index, const struct weir__answer *answer)
{
    struct weir__question question = answer->question;
    if (question.kind != WEIR__ASK_NAME || !answer->has_name ||
        strcmp(answer->source, "local") != 0 || weir__lookup_source_count(index->lookup) == 1)
        return;
    question.is_for_others = true;
    weir__prefetch_ask(index, &question);
}

static void compare(struct weir__index *index, const struct weir__question *question,
                    struct weir_cancel *stop)
{
    struct weir__answer *answer = NULL;
    struct weir__question_key key;
    struct weir_deadline deadline = weir_deadline_until(stop);
    struct weir_deadline pause = weir_deadline_in(WEIR_NS_PER_S / COMPARED_PER_S, stop);
    struct weir__record_mark before;
    weir__seen_mark(index->seen, &question->name, &before);
    if (weir__lookup_run(index->lookup, question, NULL, &answer, &deadline) == 0) {
        weir__question_key_of(question, &key);
        if (answer->has_name &&
            weir__record_mark_compare(&answer->name_record, &answer->name_bytes, &before) > 0)
            weir__resolve_forget(index, &key);
        weir__answer_unref(answer);
    }
    weir_counter_add(&index->counts.compared, 1);
    (void)!weir_deadline_sleep(&pause);
}

/* The waiter is freed by who tells it: that may be before join() has returned, so nobody leaves. */
static void told(struct weir__flight_waiter *waiter, int result, struct weir__answer *answer)
{
    (void)result;
    weir__answer_unref(answer);
    weir__base_free(waiter);
}

static void fetch(struct weir__index *index, const struct weir__question *question)
{
    struct weir__flight_waiter *waiter = weir__base_alloc(1, sizeof(*waiter));
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    uint64_t budget_ns = weir__index_own(rules)->dht.deadline_ms * WEIR_NS_PER_MS;
    weir__daemon_rules_give(rules);
    struct weir__question_key key, flight_key;
    struct weir__flight *flight = NULL;
    if (!waiter)
        return;
    waiter->told = told;
    weir__question_key_of(question, &key);
    weir__resolve_flight_key(index, &key, &flight_key);
    int error = weir__flight_join(index->flights, &flight_key,
                                  weir_time_add(weir_now_ns(), budget_ns), waiter, &flight);
    if (flight) {
        weir__resolve_lead(index, question, flight);
        weir_counter_add(&index->counts.prefetched, 1);
    } else if (error)
        weir__base_free(waiter);
}

static void warm_up(struct weir__index *index, struct weir_crew_self *self)
{
    struct weir__daemon_rules *rules = weir__daemon_rules(&index->daemon);
    const struct weir__config_list *keys = &weir__index_own(rules)->cache.warmup_keys;
    for (size_t i = 0; i < keys->count && !weir_cancel_is_fired(self->stop); i++) {
        struct weir__question question;
        if (weir__given_question(&question, keys->items[i], strlen(keys->items[i])) == 0)
            fetch(index, &question);
    }
    weir__daemon_rules_give(rules);
}

int weir__prefetch_main(struct weir_crew_self *self, void *arg)
{
    struct weir__index *index = weir__index_of(arg);
    struct weir_deadline until_stop = weir_deadline_until(self->stop);
    struct weir__question question;
    weir__resources_give_way();
    warm_up(index, self);
    while (weir_queue_recv(&index->prefetch, &question, &until_stop) == 0)
        if (question.is_for_others)
            compare(index, &question, self->stop);
        else
            fetch(index, &question);
    return 0;
}
