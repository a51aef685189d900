/* scan_hush.c - a filter of the log, with a scanner of its own. */
#include "scan_hush.h"

#include <stdlib.h>
#include <string.h>

#include <weir/error.h>
#include <weir/lock.h>

#include "cover.h"
#include "engine/rules_pack.h"
#include "log.h"
#include "report/redact.h"
#include "source/cache.h"

#include "banned.h"

/* What has no word of that length in it holds no secret of a kind that machines make. */
#define WORD_MIN 16u

static const struct weir_lock_class hush_class = {"scan-hush", 620};

static struct {
    struct weir_lock lock; /* guards the scanner and the text that it looks at */
    const struct weir__engine *engine;
    unsigned decode_depth;
    struct weir__findings *findings;
    struct weir__scanner *scanner;
    struct weir__rules *builtin_rules;
    struct weir__engine *builtin;
    bool is_tried; /* to have the built-in rules */
    char *text;
    size_t length;
} hush;

static bool is_word_byte(char c)
{
    char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '=';
}

/* The next word that is long enough, from *at on. */
static bool next_word(const char *text, size_t *at, size_t *ret_until)
{
    for (const char *from = text + *at; *from; from++) {
        const char *end = from;
        while (is_word_byte(*end))
            end++;
        if ((size_t)(end - from) >= WORD_MIN) {
            *at = (size_t)(from - text);
            *ret_until = (size_t)(end - text);
            return true;
        }
        from = end;
        if (!*from)
            break;
    }
    return false;
}

/* A token may be of several words with dots between them. */
static size_t begin_of(const char *text, size_t at)
{
    while (at > 0 && (is_word_byte(text[at - 1]) || text[at - 1] == '.'))
        at--;
    return at;
}

/* Nobody can say what is in them: all of them, or those alone that were cut off. */
static void hide_words(char *text, bool is_cut_alone)
{
    for (size_t at = 0, until; next_word(text, &at, &until); at = until) {
        bool is_cut = strncmp(text + until, "...", 3) == 0 || until + 1 >= WEIR__LOG_LINE_MAX;
        if (is_cut || !is_cut_alone)
            weir__hide(text, is_cut ? begin_of(text, at) : at, until);
    }
}

static void take(void *arg, const struct weir__finding *finding)
{
    uint64_t from, until;
    (void)arg;
    if (!finding->rule->regex)
        return;
    weir__hidden_part(finding->place.length, weir__ends_at_place(finding), &from, &until);
    from += finding->place.offset;
    until += finding->place.offset;
    if (until <= hush.length)
        weir__hide(hush.text, (size_t)from, (size_t)until);
}

/* Before there are other rules. Nothing is put into the cache, which would have to be waited for.
 */
static void put_nothing(void *arg, const char *key, const char *bytes, size_t length)
{
    (void)arg;
    (void)key;
    (void)bytes;
    (void)length;
}

static const struct weir__engine *builtin_engine(void)
{
    if (hush.is_tried)
        return hush.builtin;
    struct weir__rules_error error = {.text = ""};
    struct weir__cache cache;
    hush.is_tried = true;
    weir__cache_init(&cache, getenv("XDG_CACHE_HOME"), getenv("HOME"));
    weir__cache_add_installed(&cache, WEIR_RULES_FOLDER);
    struct weir__engine_cache hooks = cache.hooks;
    hooks.put = put_nothing;
    struct weir__engine_options options = {.cache = weir__cache_hooks(&cache) ? &hooks : NULL,
                                           .ignore_allow_comments = true};
    int result = weir__rules_builtin(&hush.builtin_rules);
    if (result == 0)
        result = weir__engine_new(&hush.builtin, hush.builtin_rules, &options, &error);
    weir__cache_fini(&cache);
    return result == 0 ? hush.builtin : NULL;
}

static int look(const struct weir__engine *engine, char *text)
{
    struct weir__sink sink = {.finding = take};
    struct weir__object object = {.path = "", .decode_depth = hush.decode_depth};
    struct weir__scan_result scanned = {0};
    weir_lock_acquire(&hush.lock);
    hush.text = text;
    hush.length = strlen(text);
    /* The scanner has the bytes, so hiding what it finds changes nothing of what it looks at. */
    int result = hush.scanner ? 0 : weir__scanner_new(&hush.scanner, engine, &sink);
    if (result == 0)
        result = weir__scanner_begin(hush.scanner, &object);
    if (result == 0)
        result = weir__scanner_feed(hush.scanner, text, hush.length);
    if (result == 0)
        result = weir__scanner_end(hush.scanner, &scanned);
    weir_lock_release(&hush.lock);
    return result == 0 && (scanned.gave_up > 0 || scanned.is_judged_early) ? -WEIR_E_INCOMPLETE
                                                                           : result;
}

void weir__hush_text(char *text)
{
    size_t at = 0, until;
    weir__cover_line(text);
    if (next_word(text, &at, &until)) {
        const struct weir__engine *engine = hush.engine ? hush.engine : builtin_engine();
        bool is_seen = engine && look(engine, text) == 0;
        hide_words(text, is_seen);
    }
    if (hush.findings)
        weir__findings_hide_said(hush.findings, text);
}

static void forget_scanner(void)
{
    weir__scanner_free(hush.scanner);
    hush.scanner = NULL;
}

void weir__hush_begin(void)
{
    weir_lock_init(&hush.lock, &hush_class);
    hush.decode_depth = WEIR__DECODE_DEPTH_DEFAULT;
    weir__log_filter(weir__hush_text);
}

void weir__hush_use(const struct weir__engine *engine, unsigned decode_depth)
{
    forget_scanner();
    hush.engine = engine;
    hush.decode_depth = decode_depth;
}

void weir__hush_know(struct weir__findings *findings)
{
    hush.findings = findings;
}

void weir__hush_end(void)
{
    weir__log_filter(NULL);
    forget_scanner();
    weir__engine_free(hush.builtin);
    weir__rules_free(hush.builtin_rules);
    weir_lock_fini(&hush.lock);
    hush.engine = hush.builtin = NULL;
    hush.builtin_rules = NULL;
    hush.findings = NULL;
    hush.is_tried = false;
}
