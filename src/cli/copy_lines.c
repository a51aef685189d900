/* copy_lines.c - events of a copy to lines and to JSON. */
#include "copy_lines.h"

#include <stdio.h>
#include <string.h>

#include "data.h"
#include "json.h"
#include "log.h"
#include "text.h"

#include "banned.h"

/* In a line of the log, which has 2048 bytes, a name and a detail may take so many, so that the
 * reason behind them is always seen. */
#define NAME_SHOWN_MAX   1200
#define DETAIL_SHOWN_MAX 400

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What would be taken for an escape of ours. */
static bool looks_escaped(const char *text)
{
    return text[0] == '\\' && text[1] == '#' && is_digit(text[2]) && is_digit(text[3]) &&
           is_digit(text[4]);
}

size_t weir__copy_escape(char piece[WEIR__COPY_PIECE_MAX], const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (*p == '\0')
        return 0;
    size_t length = weir__text_utf8_length(p, strnlen(text, 4));
    /* The C1 controls are two bytes; both are escaped, one after the other. */
    bool is_c1 = length == 2 && p[0] == 0xc2 && p[1] < 0xa0;
    bool is_control = (*p < ' ' && *p != '\t') || *p == 0x7f || is_c1;
    if (length == 0 || is_control || looks_escaped(text)) {
        snprintf(piece, WEIR__COPY_PIECE_MAX, "\\#%03o", (unsigned)*p);
        return 1;
    }
    memcpy(piece, text, length);
    piece[length] = '\0';
    return length;
}

static void print_name(struct weir__out *out, const char *name)
{
    char piece[WEIR__COPY_PIECE_MAX];
    for (size_t step; (step = weir__copy_escape(piece, name)) > 0; name += step)
        weir__out_puts(out, piece);
}

/* "dir/", "link -> target", "name => first name", as rsync's %n%L. */
static void print_item(struct weir__out *out, const struct weir__copy_event *event)
{
    print_name(out, event->path);
    if (event->type == 'd')
        weir__out_puts(out, "/");
    if (!event->target)
        return;
    weir__out_puts(out, event->update == 'h' ? " => " : " -> ");
    print_name(out, event->target);
}

/* Small files are always moved in the same way, so a line for each would be noise. */
static void print_method(struct weir__out *out, const struct weir__copy_event *event,
                         enum weir__copy_lines style)
{
    if (event->bytes <= WEIR__DATA_SMALL)
        return;
    const char *method = event->detail ? event->detail : "";
    bool is_itemized = style == WEIR__LINES_ITEMIZED;
    if (is_itemized)
        weir__out_puts(out, "*moved      ");
    else
        weir__out_printf(out, "moved by %s: ", method);
    print_name(out, event->path);
    if (is_itemized)
        weir__out_printf(out, ": %s", method);
    weir__out_puts(out, "\n");
}

static void print_skipped(struct weir__out *out, const struct weir__copy_event *event,
                          enum weir__copy_lines style)
{
    weir__out_puts(out, style == WEIR__LINES_ITEMIZED ? "*skipped    " : "skipping ");
    print_name(out, event->path);
    if (event->detail)
        weir__out_printf(out, ": %s", event->detail);
    weir__out_puts(out, "\n");
}

/* Of directories that stay as they are rsync -vv says nothing. */
static void print_same(struct weir__out *out, const struct weir__copy_event *event)
{
    if (event->type == 'd')
        return;
    print_name(out, event->path);
    weir__out_puts(out, " is uptodate\n");
}

static void print_change(struct weir__out *out, const struct weir__copy_event *event,
                         enum weir__copy_lines style)
{
    if (style == WEIR__LINES_ITEMIZED) {
        char itemized[WEIR__ITEMIZED_SIZE];
        weir__copy_itemize(event, itemized);
        weir__out_printf(out, "%s ", itemized);
    } else if (event->kind == WEIR__EVENT_DELETED) {
        weir__out_puts(out, "deleting ");
    }
    print_item(out, event);
    weir__out_puts(out, "\n");
}

void weir__copy_print(struct weir__out *out, const struct weir__copy_event *event,
                      enum weir__copy_lines style)
{
    switch (event->kind) {
    case WEIR__EVENT_ITEM:
        /* rsync -v, too, is silent about new metadata of what stays as it is. */
        if (style != WEIR__LINES_NAMES || event->update != '.' || event->type == 'd')
            print_change(out, event, style);
        break;
    case WEIR__EVENT_DELETED:
        print_change(out, event, style);
        break;
    case WEIR__EVENT_SAME:
        if (style == WEIR__LINES_ITEMIZED)
            print_change(out, event, style);
        else if (style == WEIR__LINES_ALL_NAMES)
            print_same(out, event);
        break;
    case WEIR__EVENT_SKIPPED:
        if (style != WEIR__LINES_NAMES)
            print_skipped(out, event, style);
        break;
    case WEIR__EVENT_METHOD:
        print_method(out, event, style);
        break;
    case WEIR__EVENT_NOTE:
    case WEIR__EVENT_ERROR:
        break;
    }
}

/* A name, escaped, or as much of it as fits with "..." behind it. */
static const char *shown(char *text, size_t size, const char *name)
{
    char piece[WEIR__COPY_PIECE_MAX];
    size_t at = 0;
    for (size_t step; (step = weir__copy_escape(piece, name)) > 0; name += step) {
        size_t length = strlen(piece);
        if (at + length > size - sizeof("...")) {
            memcpy(text + at, "...", sizeof("..."));
            return text;
        }
        memcpy(text + at, piece, length);
        at += length;
    }
    text[at] = '\0';
    return text;
}

void weir__copy_log(const struct weir__copy_event *event)
{
    char name[NAME_SHOWN_MAX], detail[DETAIL_SHOWN_MAX], quoted[NAME_SHOWN_MAX + 8] = "";
    bool is_error = event->kind == WEIR__EVENT_ERROR;
    const char *what = event->what ? event->what : "";
    bool has_path = event->path && event->path[0] != '\0';
    if (has_path)
        snprintf(quoted, sizeof(quoted), "%s'%s'", what[0] != '\0' ? " " : "",
                 shown(name, sizeof(name), event->path));
    bool has_detail = event->detail && event->detail[0] != '\0';
    bool has_subject = what[0] != '\0' || has_path;
    weir__log(is_error ? WEIR__LOG_ERROR : WEIR__LOG_INFO, "%.100s%s%s%s%s%s", what, quoted,
              has_detail && has_subject ? ": " : "",
              has_detail ? shown(detail, sizeof(detail), event->detail) : "",
              event->errno_value != 0 ? ": " : "",
              event->errno_value != 0 ? weir__log_reason(event->errno_value) : "");
}

static bool is_utf8(const char *text)
{
    size_t left = strlen(text), step = 1;
    for (; left > 0 && step > 0; text += step, left -= step)
        step = weir__text_utf8_length((const unsigned char *)text, left);
    return step > 0;
}

static void add_text(struct weir__json *json, const char *key, const char *text)
{
    weir__json_key(json, key);
    weir__json_string(json, text);
}

/* The bytes of a name by twos, in pieces, since the writer wants whole strings it is built aside.
 */
static int add_hex(struct weir__json *json, const char *key, const char *name)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer hex;
    weir__buffer_init(&hex, WEIR__COPY_JSON_MAX);
    int error = weir__buffer_reserve(&hex, 2 * strlen(name));
    for (const char *p = name; *p && !error; p++)
        error = weir__buffer_printf(&hex, "%02x", (unsigned)(unsigned char)*p);
    if (!error)
        add_text(json, key, weir__buffer_text(&hex));
    return error;
}

static int add_name(struct weir__json *json, const char *key, const char *hex_key, const char *name)
{
    if (!name)
        return 0;
    add_text(json, key, name);
    return is_utf8(name) ? 0 : add_hex(json, hex_key, name);
}

static const char *type_name(char type)
{
    static const char letters[] = "fdLDS";
    static const char *const names[] = {"file", "directory", "symlink", "device", "special"};
    const char *found = type != '\0' ? strchr(letters, type) : NULL;
    return found ? names[found - letters] : "file";
}

static void add_changes(struct weir__json *json, unsigned changes)
{
    static const struct {
        unsigned change;
        const char *name;
    } all[] = {
        {WEIR__CHANGE_CONTENT, "content"}, {WEIR__CHANGE_SIZE, "size"},
        {WEIR__CHANGE_TIME, "time"},       {WEIR__CHANGE_TIME_NOW, "time_now"},
        {WEIR__CHANGE_MODE, "mode"},       {WEIR__CHANGE_OWNER, "owner"},
        {WEIR__CHANGE_GROUP, "group"},     {WEIR__CHANGE_ATIME, "atime"},
        {WEIR__CHANGE_ACL, "acl"},         {WEIR__CHANGE_XATTR, "xattr"},
    };
    weir__json_key(json, "changes");
    weir__json_array(json);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if ((changes & all[i].change) != 0)
            weir__json_string(json, all[i].name);
    weir__json_end(json);
}

static void add_item(struct weir__json *json, const struct weir__copy_event *event)
{
    char itemized[WEIR__ITEMIZED_SIZE];
    weir__copy_itemize(event, itemized);
    add_text(json, "itemized", itemized);
    add_text(json, "type", type_name(event->type));
    if (event->kind != WEIR__EVENT_ITEM)
        return;
    weir__json_key(json, "new");
    weir__json_bool(json, event->is_new);
    if (!event->is_new)
        add_changes(json, event->changes);
    weir__json_key(json, "bytes");
    weir__json_u64(json, event->bytes);
}

static void add_error(struct weir__json *json, const struct weir__copy_event *event)
{
    if (event->what)
        add_text(json, "what", event->what);
    if (event->errno_value == 0)
        return;
    add_text(json, "reason", weir__log_reason(event->errno_value));
    weir__json_key(json, "errno");
    weir__json_i64(json, event->errno_value);
}

static int add_event(struct weir__json *json, const struct weir__copy_event *event)
{
    static const char *const kinds[] = {
        [WEIR__EVENT_ITEM] = "item",       [WEIR__EVENT_SAME] = "same",
        [WEIR__EVENT_SKIPPED] = "skipped", [WEIR__EVENT_DELETED] = "deleted",
        [WEIR__EVENT_METHOD] = "method",   [WEIR__EVENT_NOTE] = "note",
        [WEIR__EVENT_ERROR] = "error",
    };
    add_text(json, "event", kinds[event->kind]);
    int error =
        event->path && event->path[0] != '\0' ? add_name(json, "path", "path_hex", event->path) : 0;
    if (!error)
        error = add_name(json, "target", "target_hex", event->target);
    if (event->kind == WEIR__EVENT_ITEM || event->kind == WEIR__EVENT_SAME ||
        event->kind == WEIR__EVENT_DELETED)
        add_item(json, event);
    if (event->kind == WEIR__EVENT_ERROR)
        add_error(json, event);
    if (!error && event->detail)
        error = add_name(json, event->kind == WEIR__EVENT_METHOD ? "method" : "detail",
                         "detail_hex", event->detail);
    return error;
}

int weir__copy_json(struct weir__buffer *buffer, const struct weir__copy_event *event, bool is_cut)
{
    size_t before = weir__buffer_length(buffer);
    struct weir__json json;
    weir__json_init(&json, buffer);
    weir__json_object(&json);
    int error = add_event(&json, event);
    if (is_cut) {
        weir__json_key(&json, "cut");
        weir__json_bool(&json, true);
    }
    weir__json_end(&json);
    int finished = weir__json_finish(&json);
    error = error ? error : finished;
    /* Half an object is worse than none. */
    if (error)
        weir__buffer_truncate(buffer, before);
    return error;
}
