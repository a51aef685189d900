/* The registry: removing against reading, against printing, and turns of scrapes. */
#include <weir/metrics.h>

#include <string.h>

#include "atomic.h"
#include "xp.h"

#define GONE UINT64_C(666666)

static struct {
    struct weir_metrics *metrics;
    struct weir_counter first;
    struct weir_counter second;
    struct weir_cancel never; /* does not fire: a wait under it must be ended by a scrape */
    char text[2][1024];       /* of the first two scrapes */
    unsigned printing;        /* sinks at work at once */
    unsigned texts;
    int results[3];
} s;

static int add(struct weir_counter *counter, const char *value)
{
    struct weir_metrics_label label = {"at", value};
    struct weir_metrics_series series = {"calls_total", "Calls.", &label, 1};
    return weir_metrics_add_counter(s.metrics, counter, &series);
}

static void setup(void)
{
    XP_ASSERT_EQ(weir_metrics_new(&s.metrics, "node", NULL), 0);
    weir_cancel_init(&s.never, NULL);
    s.first._value = 1;
    s.second._value = 2;
    XP_ASSERT_EQ(add(&s.first, "a"), 0);
    XP_ASSERT_EQ(add(&s.second, "b"), 0);
}

static void check(void)
{
    weir_metrics_free(s.metrics);
    weir_cancel_fini(&s.never);
}

static unsigned occurrences(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *p = text; (p = strstr(p, part)); p++)
        count++;
    return count;
}

/* A text is whole, has no series twice, and nothing was read after it was removed. */
static void check_text(const char *text)
{
    XP_ASSERT(!strstr(text, "666666"), "an object was read after remove returned");
    XP_ASSERT(occurrences(text, "{at=\"a\"}") <= 1, "a series is there twice");
    XP_ASSERT(occurrences(text, "{at=\"b\"}") <= 1, "a series is there twice");
    XP_ASSERT(occurrences(text, "# TYPE") <= 1, "a family is there twice");
}

static int sink(void *arg, const char *bytes, size_t size)
{
    char *text = arg;
    XP_ASSERT(s.printing++ == 0, "two scrapes have the turn");
    xp_point();
    s.printing--;
    size_t at = strlen(text);
    XP_ASSERT(at + size < sizeof(s.text[0]), "the text is too long");
    memcpy(text + at, bytes, size);
    return 0;
}

static void scrape_into(char *text)
{
    struct weir_deadline deadline = weir_deadline_until(&s.never);
    XP_ASSERT_EQ(weir_metrics_write(s.metrics, sink, text, &deadline), 0);
    check_text(text);
}

static void scraper(void)
{
    scrape_into(s.text[0]);
}
static void second_scraper(void)
{
    scrape_into(s.text[1]);
}
/* The store stands for the end of the object's life: whoever reads it from here on is wrong. */
static void remover(void)
{
    weir_metrics_remove(s.metrics, &s.first);
    weir__store64(&s.first._value, GONE);
}

static void remove_check(void)
{
    struct weir_metrics_stats stats;
    weir_metrics_read(s.metrics, &stats);
    XP_ASSERT_EQ(stats.sources, 1);
    XP_ASSERT(strstr(s.text[0], "calls_total{at=\"b\"} 2\n"), "what stays is there");
    check();
}
XP_SCENARIO(metrics_remove_vs_read,
            .about = "when remove returns nobody reads the object, and it does return", XP_STATE(s),
            .setup = setup, .threads = {scraper, remover}, .check = remove_check, .bound = 3,
            .tso = true)

/* Two removers of one object: the read under way holds up both. */
XP_SCENARIO(metrics_two_removers, .about = "a second remover waits for the same read", XP_STATE(s),
            .setup = setup, .threads = {scraper, remover, remover}, .check = remove_check,
            .bound = 2)

/* Removed, and the same series added again, while it is scraped. */
static void replacer(void)
{
    remover();
    weir__store64(&s.first._value, 1);
    XP_ASSERT_EQ(add(&s.first, "a"), 0);
}
static void replace_check(void)
{
    struct weir_metrics_stats stats;
    weir_metrics_read(s.metrics, &stats);
    XP_ASSERT_EQ(stats.sources, 2);
    s.text[1][0] = '\0';
    scrape_into(s.text[1]);
    XP_ASSERT(strstr(s.text[1], "calls_total{at=\"a\"} 1\n"), "what was added again is there");
    check();
}
XP_SCENARIO(metrics_remove_vs_scrape,
            .about = "removing and adding while a scrape prints frees nothing that it needs",
            XP_STATE(s), .setup = setup, .threads = {scraper, replacer}, .check = replace_check,
            .bound = 3, .tso = true)
XP_SCENARIO(metrics_two_scrapes_vs_replace,
            .about = "no text of two scrapes has a removed object or a series twice", XP_STATE(s),
            .setup = setup, .threads = {scraper, second_scraper, replacer}, .check = replace_check,
            .bound = 2)

/* Turns: one at a time, none lost when the end of a wait meets the turn. */
static void timed_scraper(void)
{
    char text[1024] = "";
    struct weir_deadline deadline = weir_deadline_in(WEIR_NS_PER_S, NULL);
    int error = weir_metrics_write(s.metrics, sink, text, &deadline);
    XP_ASSERT(error == 0 || error == -WEIR_E_TIMEOUT, "a text or a time-out");
    XP_ASSERT(error || strstr(text, "calls_total{at=\"b\"} 2\n"), "the text is whole");
}
static void turns_check(void)
{
    struct weir_metrics_stats stats;
    weir_metrics_read(s.metrics, &stats);
    XP_ASSERT_EQ(stats.waiting, 0);
    s.text[1][0] = '\0';
    scrape_into(s.text[1]);
    check();
}
XP_SCENARIO(metrics_turns, .about = "one scrape at a time, and no turn is lost on a time-out",
            XP_STATE(s), .setup = setup, .threads = {scraper, timed_scraper, timed_scraper},
            .check = turns_check, .bound = 2)
