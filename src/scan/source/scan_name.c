/* scan_name.c - secrets in the names of things.
 *
 * The path of whatever is scanned, or told as not scanned, is looked at as a text of its own, by
 * the same rules: once for the directory and once for the name in it, so that the directory need
 * not be looked at again for the next file. What is found there is a finding at line 1, column 1,
 * with is_in_name; and wherever the path is shown, from its first time on, that part of it is
 * hidden.
 *
 * Most names cannot hold one: only what has WORD_MIN letters, digits or one of "_-+=" in a row is
 * given to the engine. A name that could not be looked at shows none of these rows. What a name
 * itself calls a secret (password=...) is hidden whatever the rules say.
 */
#include "scan_part.h"

#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "cover.h"
#include "hash.h"
#include "report/redact.h"
#include "text.h"

#include "banned.h"

#define WORD_MIN 16u

static const char unknown[] = "(a name for which there was no memory)";

static bool is_word_byte(char c)
{
    char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '=';
}

/* The next row that is long enough, from *at on. */
static bool next_word(const char *text, size_t length, size_t *at, size_t *ret_until)
{
    size_t from = *at;
    for (size_t i = from; i <= length; i++) {
        if (i < length && is_word_byte(text[i]))
            continue;
        if (i - from >= WORD_MIN) {
            *at = from;
            *ret_until = i;
            return true;
        }
        from = i + 1;
    }
    return false;
}

static bool has_word(const char *text, size_t length)
{
    size_t at = 0, until;
    return next_word(text, length, &at, &until);
}

/* Nothing is known about it. */
static void hide_words(char *text, size_t length)
{
    for (size_t at = 0, until; next_word(text, length, &at, &until); at = until)
        weir__hide(text, at, until);
}

/* What was found, whatever its place. */
static uint64_t hash_of(const struct weir__finding *finding)
{
    unsigned char digest[WEIR__HASH_SIZE];
    struct weir__hash hash;
    uint64_t first;
    weir__hash_init(&hash);
    weir__hash_update(&hash, finding->rule->id, strlen(finding->rule->id) + 1);
    weir__hash_update(&hash, finding->secret, finding->secret_length);
    weir__hash_final(&hash, digest);
    memcpy(&first, digest, sizeof(first));
    return first;
}

static void take_name(void *arg, const struct weir__finding *finding)
{
    struct weir__scan_worker *w = arg;
    struct weir__scan_named *names = &w->named;
    const struct weir__place *place = &finding->place;
    uint64_t from, until;
    if (!finding->rule->regex)
        return; /* by the path alone: that comes with its content */
    names->found++;
    if (w->is_asking) {
        names->sum += hash_of(finding);
        return;
    }
    if (!names->is_telling) {
        weir__hidden_part(place->length, weir__ends_at_place(finding), &from, &until);
        from += names->from + place->offset;
        until += names->from + place->offset;
        if (!w->run->options->show_secrets && until <= weir__buffer_length(&names->path))
            weir__hide(names->shown, (size_t)from, (size_t)until);
        return;
    }
    if (names->untold > 0 && names->from + place->offset >= names->untold)
        return;
    struct weir__finding told = *finding;
    told.is_in_name = true;
    told.place = (struct weir__place){.line = 1, .column = 1, .end_line = 1, .end_column = 1};
    told.shown_path = told.line = names->shown;
    told.line_length = weir__buffer_length(&names->path);
    told.line_from = names->from + (size_t)place->offset;
    told.line_until = told.line_from + (size_t)place->length;
    told.brought = w->brought;
    w->counts.findings++;
    w->told++;
    w->run->hooks.finding(w->run->hooks.arg, weir__buffer_text(&names->path), &told);
}

/* Looks at a part of the path. */
static int look(struct weir__scan_worker *w, size_t from, size_t until)
{
    struct weir__scan_named *names = &w->named;
    const char *path = weir__buffer_text(&names->path);
    struct weir__object object = {.path = path, .decode_depth = w->run->options->decode_depth};
    struct weir__sink sink = {.finding = take_name, .arg = w};
    struct weir__scan_result scanned = {0};
    if (!has_word(path + from, until - from))
        return 0;
    names->from = from;
    int result =
        names->scanner ? 0 : weir__scanner_new(&names->scanner, w->run->options->engine, &sink);
    if (result == 0)
        result = weir__scanner_begin(names->scanner, &object);
    if (result == 0)
        result = weir__scanner_feed(names->scanner, path + from, until - from);
    if (result == 0)
        result = weir__scanner_end(names->scanner, &scanned);
    return result == 0 && (scanned.gave_up > 0 || scanned.is_judged_early) ? -WEIR_E_INCOMPLETE
                                                                           : result;
}

static size_t dir_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

bool weir__scan_name_has(struct weir__scan_worker *w, const char *name)
{
    struct weir__scan_named *names = &w->named;
    size_t length = strlen(name);
    if (!has_word(name, length))
        return false;
    names->has_path = false; /* what was known of the last one is lost */
    weir__buffer_truncate(&names->path, 0);
    names->found = 0;
    w->is_asking = true;
    bool is_sure = weir__buffer_append(&names->path, name, length) == 0 && look(w, 0, length) == 0;
    w->is_asking = false;
    return !is_sure || names->found > 0;
}

int weir__scan_name_sum(struct weir__scan_worker *w, const char *path, uint64_t *ret_sum)
{
    struct weir__scan_named *names = &w->named;
    size_t length = strlen(path), dir = dir_length(path);
    *ret_sum = 0;
    if (!has_word(path, length))
        return 0;
    names->has_path = false;
    names->sum = 0;
    weir__buffer_truncate(&names->path, 0);
    int result = weir__buffer_append(&names->path, path, length);
    w->is_asking = true;
    if (result == 0)
        result = look(w, 0, dir);
    if (result == 0)
        result = look(w, dir, length);
    w->is_asking = false;
    *ret_sum = names->sum;
    return result;
}

void weir__scan_name_forget(struct weir__scan_worker *w)
{
    w->named.has_path = false;
}

static bool make_room(struct weir__scan_named *names, size_t size)
{
    if (size <= names->shown_size)
        return true;
    char *shown = weir__base_realloc(names->shown, 2 * size, 1);
    if (!shown)
        return false;
    names->shown = shown;
    names->shown_size = 2 * size;
    return true;
}

static int look_at_all(struct weir__scan_worker *w, size_t dir, bool is_dir_clean)
{
    struct weir__scan_named *names = &w->named;
    names->found = 0;
    int result = is_dir_clean ? 0 : look(w, 0, dir);
    names->is_dir_clean = result == 0 && names->found == 0;
    if (result == 0)
        result = look(w, dir, weir__buffer_length(&names->path));
    names->is_hidden = names->found > 0;
    return result;
}

static bool is_web(const char *path)
{
    return strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0;
}

/* A URL that was mistyped, or is none of those that are fetched, is taken for the name of a file:
 * hides who asks, with the password, which may look like a port. False: it looks like no URL. */
static bool hide_user(char *path)
{
    size_t at = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    if (at < 2 || path[at] != ':' || path[at + 1] != '/')
        return false;
    /* What was fetched is shown without its user: in its path an '@' is one. */
    size_t from, until;
    at += 1 + strspn(path + at + 1, "/");
    const char *rest = path + at;
    if (is_web(path) ? !weir__text_find_user_before_path(rest, strlen(rest), &from, &until)
                     : !weir__text_find_user(rest, strlen(rest), "/", &from, &until))
        return false;
    weir__hide(path, at + from, at + until);
    return true;
}

const char *weir__scan_name(struct weir__scan_worker *w, const char *path)
{
    struct weir__scan_named *names = &w->named;
    size_t length = strlen(path), dir = dir_length(path);
    const char *before = names->has_path ? weir__buffer_text(&names->path) : "";
    if (w->counting || path == unknown)
        return path;
    if (!names->has_path || strcmp(before, path) != 0) {
        bool is_dir_clean = names->has_path && names->is_dir_clean && dir == dir_length(before) &&
                            memcmp(before, path, dir) == 0;
        weir__buffer_truncate(&names->path, 0);
        names->has_path = false;
        if (weir__buffer_append(&names->path, path, length) < 0 || !make_room(names, length + 1)) {
            weir__scan_tell_partial(w, unknown, "cannot look at",
                                    weir_error_text(-WEIR_E_NO_MEMORY));
            return unknown;
        }
        memcpy(names->shown, path, length + 1);
        names->has_path = true;
        names->is_telling = false;
        int result = look_at_all(w, dir, is_dir_clean);
        bool is_hiding = !w->run->options->show_secrets;
        names->is_named = is_hiding && weir__cover_path(names->shown);
        bool is_url = is_hiding && hide_user(names->shown);
        if (is_url) {
            names->is_hidden = true; /* and what the user typed is no finding */
            names->is_dir_clean = false;
        } else if (names->is_hidden && result == 0) {
            bool was_clean = names->is_dir_clean;
            names->is_telling = true;
            result = look_at_all(w, dir, was_clean);
        }
        if (result < 0) {
            names->is_hidden = true;
            names->is_dir_clean = false;
            hide_words(names->shown, weir__buffer_length(&names->path));
            weir__scan_tell_partial(w, path, "cannot look at the name of", weir_error_text(result));
        }
    }
    return names->is_hidden || names->is_named ? names->shown : path;
}
