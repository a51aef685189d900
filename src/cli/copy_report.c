/* copy_report.c - the queue of a copy's events and the thread that prints them. */
#include "copy_report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/queue.h>

#include "alloc.h"
#include "copy_lines.h"
#include "log.h"
#include "term.h"
#include "text.h"

#include "banned.h"

/* Events up to this are bounded by the queue alone; larger ones share the budget of bytes. */
#define SMALL_MAX   4096u
#define LARGE_BYTES (4u << 20)
#define BATCH       64u

/* An event on its way, with its texts behind it. */
struct told {
    struct weir_permit permit;
    struct weir__copy_event event;
    bool is_cut;
    char text[];
};

struct item {
    enum { ITEM_EVENT, ITEM_TICK, ITEM_SAY, ITEM_LOST } kind;
    struct told *told;
    bool was_error; /* of what was lost: it has been logged already */
    const char *text;
    struct weir__progress_sample sample;
};

struct weir__report {
    struct weir__report_options options;
    struct weir_queue queue;
    struct weir_budget large;
    struct weir_cancel token; /* what waits here may wait on; never fires */
    struct weir_crew *crew;
    uint64_t start_ns;
    /* The printing thread's own, until it has ended. */
    struct weir__progress progress;
    struct weir__progress_sample sample; /* the last */
    struct weir__buffer json;
    bool is_shared; /* lines and progress are on the same terminal */
    uint64_t errors;
    uint64_t lost;
};

_Static_assert(4 * WEIR__REPORT_TEXT_MAX + SMALL_MAX <= LARGE_BYTES, "no event is too large");

/* ---- handing over: any thread ---- */

static size_t size_of(const char *text)
{
    return text ? strnlen(text, WEIR__REPORT_TEXT_MAX - 1) + 1 : 0;
}

static const char *keep_text(struct told *told, char **at, const char *text)
{
    if (!text)
        return NULL;
    size_t size = size_of(text);
    char *kept = *at;
    *at += size;
    if (size < WEIR__REPORT_TEXT_MAX || text[size - 1] == '\0') {
        memcpy(kept, text, size - 1);
        kept[size - 1] = '\0';
        return kept;
    }
    told->is_cut = true;
    return weir__text_clip(kept, size, text, SIZE_MAX);
}

static struct told *keep(struct weir__report *report, const struct weir__copy_event *event,
                         const struct weir_deadline *deadline)
{
    size_t size = sizeof(struct told) + size_of(event->path) + size_of(event->target) +
                  size_of(event->what) + size_of(event->detail);
    struct weir_permit permit = WEIR_PERMIT_NONE;
    if (size > SMALL_MAX && weir_budget_acquire(&report->large, size, &permit, deadline) != 0)
        return NULL;
    struct told *told = weir__base_alloc(1, size);
    if (!told) {
        weir_permit_release(&permit);
        return NULL;
    }
    weir_permit_move(&told->permit, &permit);
    told->event = *event;
    char *at = told->text;
    told->event.path = keep_text(told, &at, event->path);
    told->event.target = keep_text(told, &at, event->target);
    told->event.what = keep_text(told, &at, event->what);
    told->event.detail = keep_text(told, &at, event->detail);
    return told;
}

static void let_go(struct told *told)
{
    if (!told)
        return;
    weir_permit_release(&told->permit);
    weir__base_free(told);
}

static bool is_logged(const struct weir__report *report, enum weir__copy_event_kind kind)
{
    return kind == WEIR__EVENT_ERROR || (kind == WEIR__EVENT_NOTE && !report->options.quiet);
}

/* The hook of the run. */
static void hear(void *arg, const struct weir__copy_event *event)
{
    struct weir__report *report = arg;
    struct weir_deadline deadline = weir_deadline_until(&report->token);
    struct item item = {.kind = ITEM_EVENT, .told = keep(report, event, &deadline)};
    if (!item.told) {
        item.kind = ITEM_LOST;
        item.was_error = event->kind == WEIR__EVENT_ERROR;
        if (is_logged(report, event->kind))
            weir__copy_log(event);
    }
    if (weir_queue_send(&report->queue, &item, &deadline) != 0)
        let_go(item.told);
}

void weir__report_say(struct weir__report *report, const char *text)
{
    struct weir_deadline deadline = weir_deadline_until(&report->token);
    struct item item = {.kind = ITEM_SAY, .text = text};
    if (weir_queue_send(&report->queue, &item, &deadline) != 0)
        weir__log(WEIR__LOG_INFO, "%s", text);
}

static struct weir__progress_sample sample_of(const struct weir__copy_stats *stats)
{
    return (struct weir__progress_sample){
        .now_ns = weir_now_ns(),
        .done = stats->bytes_done,
        /* Until all has been found the total is only what was found so far. */
        .total = stats->is_discovered ? stats->bytes_total : 0,
        .in_flight = stats->in_flight,
        .items_name = "files",
        .items = stats->created + stats->updated + stats->metadata_only + stats->unchanged,
        .items_total = stats->items_total,
    };
}

void weir__report_tick(struct weir__report *report, const struct weir__copy_stats *stats)
{
    if (report->options.progress == WEIR__PROGRESS_QUIET)
        return;
    struct item item = {.kind = ITEM_TICK, .sample = sample_of(stats)};
    /* A printer that is behind has better things to show than how far it was. */
    if (weir_queue_try_send(&report->queue, &item) != 0)
        return;
}

/* ---- printing: one thread ---- */

/* Before lines on standard error. Standard output is written first, so that the order is kept. */
static void begin_log(struct weir__report *report)
{
    weir__out_flush(report->options.out);
    weir__progress_hide(&report->progress, STDERR_FILENO);
}

static void print_json(struct weir__report *report, const struct told *told)
{
    weir__buffer_truncate(&report->json, 0);
    if (weir__copy_json(&report->json, &told->event, told->is_cut) != 0) {
        report->lost++;
        return;
    }
    if (report->is_shared)
        weir__progress_hide(&report->progress, STDERR_FILENO);
    weir__out_write(report->options.out, weir__buffer_text(&report->json),
                    weir__buffer_length(&report->json));
}

static void print_event(struct weir__report *report, const struct told *told)
{
    const struct weir__report_options *options = &report->options;
    const struct weir__copy_event *event = &told->event;
    report->errors += event->kind == WEIR__EVENT_ERROR;
    if (is_logged(report, event->kind)) {
        begin_log(report);
        weir__copy_log(event);
    }
    if (options->json) {
        print_json(report, told);
        return;
    }
    if (event->kind == WEIR__EVENT_ERROR || event->kind == WEIR__EVENT_NOTE)
        return;
    if (report->is_shared)
        weir__progress_hide(&report->progress, STDERR_FILENO);
    weir__copy_print(options->out, event,
                     options->items ? WEIR__LINES_ITEMIZED
                     : options->all ? WEIR__LINES_ALL_NAMES
                                    : WEIR__LINES_NAMES);
}

static void print_one(struct weir__report *report, const struct item *item)
{
    switch (item->kind) {
    case ITEM_EVENT:
        print_event(report, item->told);
        let_go(item->told);
        break;
    case ITEM_TICK:
        /* Lines that are still in the buffer would come out behind the one drawn now. */
        if (report->is_shared)
            weir__out_flush(report->options.out);
        report->sample = item->sample;
        weir__progress_show(&report->progress, &report->sample, STDERR_FILENO);
        break;
    case ITEM_SAY:
        begin_log(report);
        weir__log(WEIR__LOG_INFO, "%s", item->text);
        break;
    case ITEM_LOST:
        report->errors += item->was_error;
        report->lost += !item->was_error || report->options.json;
        break;
    }
}

static int print_all(struct weir_crew_self *self, void *arg)
{
    (void)self; /* it ends when the queue is closed and empty, never before */
    struct weir__report *report = arg;
    struct weir_deadline deadline = weir_deadline_until(&report->token);
    struct item items[BATCH];
    size_t count;
    while (weir_queue_recv_many(&report->queue, items, BATCH, &count, &deadline) == 0) {
        for (size_t i = 0; i < count; i++)
            print_one(report, &items[i]);
        /* While more is there, the buffer decides when to write. */
        if (weir_queue_depth(&report->queue) > 0)
            continue;
        weir__out_flush(report->options.out);
        weir__progress_unhide(&report->progress, &report->sample, STDERR_FILENO);
    }
    return 0;
}

/* ---- life cycle: the main thread ---- */

static unsigned wanted(const struct weir__report_options *options)
{
    unsigned lines = 1u << WEIR__EVENT_ITEM | 1u << WEIR__EVENT_DELETED;
    return (options->names || options->items || options->json ? lines : 0) |
           (options->methods ? 1u << WEIR__EVENT_METHOD : 0) |
           (options->same || options->all ? 1u << WEIR__EVENT_SAME : 0) |
           (options->all ? 1u << WEIR__EVENT_SKIPPED : 0);
}

static void free_report(struct weir__report *report)
{
    weir_crew_free(report->crew);
    weir_cancel_fini(&report->token);
    weir_budget_fini(&report->large);
    weir_queue_fini(&report->queue);
    weir__buffer_fini(&report->json);
    weir__base_free(report);
}

static int start_thread(struct weir__report *report)
{
    int error = weir_crew_new(&report->crew, "report", NULL);
    if (error)
        return error;
    error = weir_crew_start(report->crew, "print", print_all, report);
    if (error)
        weir_crew_drain(report->crew, NULL);
    return error;
}

int weir__report_start(struct weir__report **ret_report, const struct weir__report_options *options,
                       struct weir__copy_hooks *ret_hooks)
{
    struct weir__report *report = weir__base_alloc(1, sizeof(*report));
    if (!report)
        return -WEIR_E_NO_MEMORY;
    report->options = *options;
    report->start_ns = weir_now_ns();
    report->sample.now_ns = report->start_ns;
    report->is_shared = weir__term_is_terminal(STDOUT_FILENO);
    weir__buffer_init(&report->json, WEIR__COPY_JSON_MAX);
    weir__progress_init(&report->progress, options->progress, WEIR__UNIT_SIZE, report->start_ns);
    weir_cancel_init(&report->token, NULL);
    struct weir_queue_options queue = {.item_size = sizeof(struct item),
                                       .capacity = WEIR__REPORT_QUEUE};
    int error = weir_queue_init(&report->queue, "copy events", &queue);
    if (!error)
        error = weir_budget_init(&report->large, "copy event bytes", LARGE_BYTES);
    if (!error)
        error = start_thread(report);
    if (error) {
        free_report(report);
        return error;
    }
    *ret_hooks = (struct weir__copy_hooks){.event = hear, .arg = report, .wanted = wanted(options)};
    *ret_report = report;
    return 0;
}

/* Nothing is told any more: the thread prints what is left and ends. */
static void end_thread(struct weir__report *report)
{
    struct weir_deadline deadline = weir_deadline_until(&report->token);
    weir_queue_close(&report->queue);
    /* A reader may take its time: this waits for it, and a second signal ends the wait. */
    int error = weir_crew_wait(report->crew, &deadline);
    if (!error)
        weir_crew_drain(report->crew, NULL);
}

static void print_summary_json(struct weir__report *report, const struct weir__copy_ending *ending)
{
    weir__buffer_truncate(&report->json, 0);
    if (weir__copy_summary_json(&report->json, ending) != 0)
        report->lost++;
    else
        weir__out_write(report->options.out, weir__buffer_text(&report->json),
                        weir__buffer_length(&report->json));
}

static void print_ending(struct weir__report *report, const struct weir__copy_ending *ending)
{
    const struct weir__report_options *options = &report->options;
    char text[WEIR__COPY_SUMMARY_MAX];
    if (options->stats && !options->json)
        weir__copy_print_stats(options->out, ending);
    weir__out_flush(options->out);
    bool is_success = ending->result == 0 && !ending->stats->delete_limited;
    if (is_success &&
        (options->quiet || !(options->summary || weir__progress_was_shown(&report->progress))))
        return;
    weir__copy_ways(ending->stats, text);
    if (options->methods && text[0] != '\0')
        weir__log(WEIR__LOG_INFO, "%s", text);
    weir__copy_summary(ending, text);
    bool was_interrupted = ending->result == -WEIR_E_INTERRUPTED;
    weir__log(is_success ? WEIR__LOG_INFO : WEIR__LOG_ERROR, "%s%s",
              was_interrupted ? "interrupted: " : "", text);
}

int weir__report_finish(struct weir__report *report, const struct weir__copy_stats *stats,
                        int result, uint64_t *ret_errors)
{
    end_thread(report);
    if (stats) {
        struct weir__progress_sample sample = sample_of(stats);
        weir__progress_end(&report->progress, &sample, STDERR_FILENO);
    }
    if (report->lost > 0 && result == 0)
        result = -WEIR_E_INCOMPLETE;
    struct weir__copy_stats none = {.errors = report->errors};
    struct weir__copy_ending ending = {
        .stats = stats ? stats : &none,
        .result = result,
        .elapsed_ns = weir_now_ns() - report->start_ns,
        .is_dry_run = report->options.is_dry_run,
    };
    if (report->options.json)
        print_summary_json(report, &ending);
    if (stats)
        print_ending(report, &ending);
    if (report->lost > 0 && result == 0)
        result = -WEIR_E_INCOMPLETE;
    if (report->lost > 0)
        weir__log(WEIR__LOG_ERROR, "%" PRIu64 " lines could not be shown: %s", report->lost,
                  weir_error_text(WEIR_E_NO_MEMORY));
    *ret_errors = report->errors;
    free_report(report);
    return result;
}
