/* lookup.c - the life of lookups, and one lookup from its beginning to its end.
 *
 * A lookup runs in its caller's thread, which waits in the hedge; askers, threads of the crew, take
 * attempts from a line and report. Everything that a lookup goes by it borrows at its beginning.
 */
#include "lookup_part.h"

#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "locks.h"

#include "banned.h"

const struct weir_lock_class weir__lookup_rooms_class = {"reply_rooms", WEIR__RANK_ROOMS};

/* --- life --- */

static int make_sources(struct weir__lookup *lookup)
{
    for (size_t i = 0; i < lookup->sources_count; i++) {
        int error = weir_histogram_init(&lookup->counts[i].took_ns, weir_histogram_time_bounds_ns,
                                        WEIR_HISTOGRAM_TIME_COUNT);
        if (!error)
            error = weir_breaker_init(&lookup->breakers[i], lookup->sources[i]->name,
                                      &lookup->options.limits.breaker);
        if (error)
            return error;
    }
    return 0;
}

static int make_rules(struct weir__lookup *lookup)
{
    struct weir__lookup_rules *rules;
    int error = weir__rules_new(&rules, &lookup->options.limits, lookup->sources_count);
    if (error)
        return error;
    error = weir_watch_init_snapshot(&lookup->rules, "lookup", &rules->snapshot);
    if (error)
        weir__rules_unref(rules);
    return error;
}

static int make(struct weir__lookup *lookup)
{
    if (lookup->sources_count == 0 || lookup->options.askers == 0 ||
        lookup->options.askers > WEIR__ASKERS_MAX || !lookup->options.seen || !lookup->options.saw)
        return -WEIR_E_INVALID;
    int error = make_sources(lookup);
    if (!error)
        error = make_rules(lookup);
    if (!error)
        error = weir__line_init(&lookup->line, WEIR__LOOKUP_LINE, weir__ask_run, weir__ask_dropped);
    return error;
}

int weir__lookup_new(struct weir__lookup **ret_lookup, const struct weir__lookup_options *options)
{
    size_t count =
        options->sources_count < WEIR__SOURCES_MAX ? options->sources_count : WEIR__SOURCES_MAX;
    struct weir__lookup *lookup = weir__base_alloc(1, sizeof(*lookup));
    if (!lookup) {
        for (size_t i = 0; i < count; i++)
            weir__source_free(options->sources[i]);
        return -WEIR_E_NO_MEMORY;
    }
    memcpy(lookup->sources, options->sources, sizeof(lookup->sources));
    lookup->sources_count = count;
    lookup->options = *options;
    weir_cancel_init(&lookup->stop, NULL);
    weir_lock_init(&lookup->rooms_lock, &weir__lookup_rooms_class);
    int error = options->sources_count > WEIR__SOURCES_MAX ? -WEIR_E_INVALID : make(lookup);
    if (error) {
        weir__lookup_free(lookup);
        return error;
    }
    *ret_lookup = lookup;
    return 0;
}

void weir__lookup_free(struct weir__lookup *lookup)
{
    if (!lookup)
        return;
    weir__line_fini(&lookup->line);
    weir_watch_fini(&lookup->rules);
    while (lookup->rooms) {
        struct weir__room *room = lookup->rooms;
        lookup->rooms = room->next;
        weir__base_free(room);
    }
    for (size_t i = 0; i < lookup->sources_count; i++) {
        weir_breaker_fini(&lookup->breakers[i]);
        weir__source_free(lookup->sources[i]);
    }
    weir_lock_fini(&lookup->rooms_lock);
    weir_cancel_fini(&lookup->stop);
    weir__base_free(lookup);
}

int weir__lookup_start(struct weir__lookup *lookup, struct weir_crew *crew)
{
    for (uint32_t i = 0; i < lookup->options.askers; i++) {
        int error = weir_crew_start(crew, "ask", weir__line_main, &lookup->line);
        if (error)
            return error;
    }
    return 0;
}

int weir__lookup_update(struct weir__lookup *lookup, const struct weir__lookup_limits *limits)
{
    struct weir__lookup_rules *rules;
    int error = weir__rules_new(&rules, limits, lookup->sources_count);
    if (error)
        return error;
    error = weir_watch_swap(&lookup->rules, &rules->snapshot);
    if (error)
        weir__rules_unref(rules);
    return error;
}

void weir__lookup_stop(struct weir__lookup *lookup)
{
    weir_cancel_fire(&lookup->stop);
    weir__line_stop(&lookup->line);
}

/* --- one lookup --- */

/* A lookup's own token fires with that of its caller, and when all lookups are to end. */
struct own_token {
    struct weir_cancel token;
    struct weir_cancel_hook hook;
};

static void fire(void *arg)
{
    weir_cancel_fire(arg);
}

static void own_init(struct own_token *own, struct weir__lookup *lookup,
                     struct weir_cancel *callers)
{
    memset(own, 0, sizeof(*own));
    weir_cancel_init(&own->token, &lookup->stop);
    if (callers)
        weir_cancel_on(callers, &own->hook, fire, &own->token);
}

static void own_fini(struct own_token *own)
{
    weir_cancel_off(&own->hook);
    weir_cancel_fini(&own->token);
}

/* What cannot be remembered is not told either: nobody could say later that it was there. */
static int tell_seen(struct weir__lookup *lookup, const struct weir__question *question,
                     const struct weir__found *found)
{
    const struct weir__lookup_options *options = &lookup->options;
    struct weir__record_mark mark = {.sequence = 0};
    options->seen(options->arg, &question->name, &mark);
    int order = weir__record_mark_compare(&found->record, &found->bytes, &mark);
    bool is_known = order < 0 || (order == 0 && mark.has_record);
    return is_known ? 0 : options->saw(options->arg, &found->record, &found->bytes);
}

/* What a name means, and who provides that. */
static int look_up_name(struct weir__lookup *lookup, struct weir__lookup_rules *rules,
                        const struct weir__question *question, uint64_t began_ns,
                        struct weir__trace *trace, struct weir__answer **ret_answer,
                        const struct weir_deadline *deadline)
{
    struct weir__stage name, providers = {0};
    unsigned source;
    weir__stage_run(lookup, rules, &rules->names, question, began_ns, deadline, trace, &name);
    int error = name.result == -WEIR_E_NOT_FOUND ? 0 : name.result;
    const struct weir__found *found = name.result ? NULL : weir__merge_name(&name, &source);
    if (found)
        error = tell_seen(lookup, question, found);
    if (!error && found && !found->record.is_removal && !question->is_for_others) {
        struct weir__question second = {.kind = WEIR__ASK_PROVIDERS,
                                        .address = found->record.address};
        weir__stage_run(lookup, rules, weir__rules_second(rules), &second, began_ns, deadline,
                        trace, &providers);
        if (providers.result == -WEIR_E_CANCELED)
            error = -WEIR_E_CANCELED;
    }
    if (!error)
        error =
            weir__merge_answer(lookup, rules, question, began_ns, &name, &providers, ret_answer);
    weir__stage_fini(&name);
    weir__stage_fini(&providers);
    return error;
}

static int look_up_providers(struct weir__lookup *lookup, struct weir__lookup_rules *rules,
                             const struct weir__question *question, uint64_t began_ns,
                             struct weir__trace *trace, struct weir__answer **ret_answer,
                             const struct weir_deadline *deadline)
{
    struct weir__stage providers;
    weir__stage_run(lookup, rules, &rules->providers, question, began_ns, deadline, trace,
                    &providers);
    int error = providers.result == -WEIR_E_NOT_FOUND ? 0 : providers.result;
    if (!error)
        error = weir__merge_answer(lookup, rules, question, began_ns, NULL, &providers, ret_answer);
    weir__stage_fini(&providers);
    return error;
}

static void count_end(struct weir__lookup *lookup, int error, const struct weir__answer *answer)
{
    struct weir_counter *counter = &lookup->failed;
    if (!error)
        counter = answer->result ? &lookup->not_found : &lookup->answered;
    else if (error == -WEIR_E_TIMEOUT)
        counter = &lookup->timed_out;
    else if (error == -WEIR_E_CANCELED)
        counter = &lookup->canceled;
    else if (error == -WEIR_E_BREAKER_OPEN)
        counter = &lookup->breaker_open;
    weir_counter_add(counter, 1);
}

int weir__lookup_run(struct weir__lookup *lookup, const struct weir__question *question,
                     struct weir__trace *trace, struct weir__answer **ret_answer,
                     const struct weir_deadline *deadline)
{
    struct own_token own;
    struct weir__answer *answer = NULL;
    uint64_t began_ns = weir_now_ns();
    if (trace)
        trace->count = 0;
    if (weir_cancel_is_fired(&lookup->stop))
        return -WEIR_E_DRAINING;
    struct weir__lookup_rules *rules = weir__rules_borrow(&lookup->rules);
    own_init(&own, lookup, deadline ? deadline->cancel : NULL);
    struct weir_deadline until = {weir_time_add(began_ns, rules->limits.deadline_ns), &own.token};
    if (deadline && deadline->at_ns < until.at_ns)
        until.at_ns = deadline->at_ns;
    weir_counter_add(&lookup->lookups, 1);
    int error = question->kind == WEIR__ASK_NAME
                    ? look_up_name(lookup, rules, question, began_ns, trace, &answer, &until)
                    : look_up_providers(lookup, rules, question, began_ns, trace, &answer, &until);
    count_end(lookup, error, answer);
    own_fini(&own);
    weir__rules_unref(rules);
    if (!error)
        *ret_answer = answer;
    return error;
}
