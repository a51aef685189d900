/* cmd_demo.c - weir demo: what the library promises, shown at work on this machine.
 *
 * The parts are in demo_*.c; here is what surrounds them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/error.h>

#include "commands.h"
#include "demo.h"
#include "log.h"
#include "print_json.h"
#include "term.h"

#include "banned.h"

COMMAND(demo);

#define JSON_MAX  65536
#define WIDTH_MAX 80
/* Where the texts of what to try next begin. */
#define HINT_COLUMN 24

struct values {
    bool json;
};

struct part {
    const char *name;
    const char *title;
    int (*run)(struct demo *demo);
};

static const struct part parts[] = {
    {"budget", "a limit has a number, and waits are in order", demo_budget},
    {"slots", "a disk takes so many jobs and no more", demo_slots},
    {"pool", "large jobs share memory that has an end", demo_pool},
    {"queue", "full is an answer, and what is lost is counted", demo_queue},
    {"breaker", "who fails is left alone, who is late is passed by", demo_breaker},
    {"drain", "shutting down loses nothing and does not take for ever", demo_drain},
};

#define PARTS_COUNT (sizeof(parts) / sizeof(parts[0]))

static const char *const part_names[] = {"budget",  "slots", "pool", "queue",
                                         "breaker", "drain", NULL};

static const struct weir__option options[] = {
    {WEIR__OPTION_FLAG(struct values, json), .name = "json",
     .help = "print one JSON object for each part",
     .detail = "Each object has the keys part, took_ms, promises (what was checked, and whether it "
               "holds) and objects (what each limit counted), and the measured numbers of its "
               "part."},
    WEIR__OPTIONS_END,
};

static const struct weir__operand operands[] = {
    {.name = "PART", .words = part_names, .help = "show this part; all of them without any"},
    {.name = NULL},
};

static const struct weir__example examples[] = {
    {"weir demo", "show everything, in a few seconds"},
    {"weir demo budget drain", "show two parts alone"},
    {"weir demo --json | jq -r '.part, .promises[].text'", "what was checked, for a program"},
    {NULL, NULL},
};

const struct weir__usage usage_demo = {
    .description =
        "Shows what Weir promises, at work: real threads, real disks and real limits, with the "
        "numbers that were measured just now. Reads the program's own file and changes nothing.\n\n"
        "The parts are budget (a request for everything in a flood of small ones), slots (the disk "
        "below the current directory), pool (jobs under a limit on their memory), queue (queue, "
        "broadcast and watched value at their limits), breaker (a failing target, hedged lookups, "
        "pacing) and drain (a shutdown with one member that will not stop).\n\n"
        "Every promise is checked against what was measured; the exit status is 3 if one does not "
        "hold.",
    .examples = examples,
    .operands = operands,
    .options = options,
    .values_size = sizeof(struct values),
};

static bool is_wanted(const struct weir__call *call, const char *name)
{
    for (int i = 0; i < call->operands_count; i++)
        if (strcmp(call->operands[i], name) == 0)
            return true;
    return call->operands_count == 0;
}

static void print_head(struct demo *demo)
{
    const char *bold = weir__term_style(demo->color, WEIR__STYLE_BOLD);
    const char *reset = weir__term_style(demo->color, WEIR__STYLE_RESET);
    weir__out_puts(demo->out, bold);
    demo_wrap(demo, 0, 0, "Weir: work is admitted before it starts.");
    weir__out_printf(demo->out, "%s\n", reset);
    demo_wrap(demo, 0, 0,
              "It holds a permit while it runs, and gives it back whatever happens. So a limit has "
              "a number, a wait has an order and an end, a refusal has a reason, and a shutdown "
              "loses nothing. What follows happens now, on this machine.");
    weir__out_flush(demo->out);
}

static void print_foot(struct demo *demo)
{
    static const struct weir__example hints[] = {
        {"weir help", "the commands of this program"},
        {"weir demo --json", "the same numbers for a program"},
        {"script/test", "every test, with the proofs of what was shown here"},
        {"script/bench core", "how fast it is, beside what people use today"},
        {NULL, NULL},
    };
    const char *bold = weir__term_style(demo->color, WEIR__STYLE_BOLD);
    const char *reset = weir__term_style(demo->color, WEIR__STYLE_RESET);
    weir__out_printf(demo->out, "\n%sWhat they counted%s\n", bold, reset);
    demo_table(demo);
    char sum[64];
    int length = snprintf(sum, sizeof(sum), "%u of %u promises hold.",
                          demo->promises_in_all - demo->broken, demo->promises_in_all);
    weir__out_printf(demo->out, "\n%s%s%s", bold, sum, reset);
    demo_wrap(demo, 0, (size_t)length, "What to try next:");
    weir__out_puts(demo->out, "\n");
    for (const struct weir__example *h = hints; h->line; h++) {
        weir__out_printf(demo->out, "   %-20s", h->line);
        demo_wrap(demo, HINT_COLUMN, HINT_COLUMN - 1, h->text);
    }
}

/* One part as JSON: its object is printed as soon as it is complete. */
static int run_as_json(struct demo *demo, const struct part *part, unsigned number)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer buffer;
    weir__buffer_init(&buffer, JSON_MAX);
    struct weir__json json;
    weir__json_init(&json, &buffer);
    demo->json = &json;
    demo_begin(demo, number, part->name, part->title);
    int result = part->run(demo);
    demo_end(demo, result);
    int error = weir__print_json(demo->out, &json, &buffer);
    weir__out_flush(demo->out);
    return error < 0 ? error : result;
}

static int run_as_text(struct demo *demo, const struct part *part, unsigned number)
{
    demo_begin(demo, number, part->name, part->title);
    int result = part->run(demo);
    demo_end(demo, result);
    return result;
}

int cmd_demo(const struct weir__call *call)
{
    const struct values *values = call->values;
    size_t width = weir__term_width(STDOUT_FILENO);
    struct demo demo = {.out = call->out,
                        .color = !values->json && weir__term_wants_color(STDOUT_FILENO),
                        .width = width < WIDTH_MAX ? width : WIDTH_MAX};
    if (!values->json)
        print_head(&demo);
    int result = 0;
    for (unsigned i = 0; i < PARTS_COUNT && !weir__out_is_done(call->out); i++) {
        if (!is_wanted(call, parts[i].name))
            continue;
        int error = values->json ? run_as_json(&demo, &parts[i], i + 1)
                                 : run_as_text(&demo, &parts[i], i + 1);
        if (error)
            result = -WEIR_E_INCOMPLETE;
    }
    if (!values->json)
        print_foot(&demo);
    if (demo.broken > 0) {
        weir__log(WEIR__LOG_ERROR, "%u of %u promises are broken", demo.broken,
                  demo.promises_in_all);
        return -WEIR_E_INTERNAL;
    }
    return result;
}
