/* config_text.c - what is printed from a schema: values as a file, the sample, the documentation.
 *
 * All of them go through the keys in one order: those without a section first, since TOML has no
 * way back out of a section; then the sections as they first appear, each once, with its keys of
 * all tables.
 */
#include <string.h>

#include <weir/error.h>

#include "config_part.h"

#include "banned.h"

#define COLUMNS 98

struct printer {
    struct weir__buffer *buffer;
    const struct weir__config_schema *schema;
    const struct weir__config *config; /* of values; or NULL */
    bool with_origin;
    int (*put_section)(const struct printer *printer, const char *section, size_t length);
    int (*put_key)(const struct printer *printer, size_t index);
};

static bool is_of_section(const struct weir__config_key *key, const char *section, size_t length)
{
    return weir__config_section_length(key->name) == length &&
           strncmp(key->name, section, length) == 0;
}

static int put_all_of(const struct printer *printer, const char *section, size_t length)
{
    const struct weir__config_key *key;
    int result = printer->put_section(printer, section, length);
    for (size_t i = 0; (key = weir__config_key(printer->schema, i)) && result == 0; i++)
        if (is_of_section(key, section, length))
            result = printer->put_key(printer, i);
    return result;
}

static int put_everything(const struct printer *printer)
{
    const struct weir__config_key *key, *before;
    int result = put_all_of(printer, "", 0);
    for (size_t i = 0; (key = weir__config_key(printer->schema, i)) && result == 0; i++) {
        size_t length = weir__config_section_length(key->name);
        bool is_first = length > 0;
        for (size_t j = 0; j < i && (before = weir__config_key(printer->schema, j)); j++)
            is_first = is_first && !is_of_section(before, key->name, length);
        if (is_first)
            result = put_all_of(printer, key->name, length);
    }
    return result;
}

/* The name without its section. */
static const char *last_name(const struct weir__config_key *key)
{
    size_t section = weir__config_section_length(key->name);
    return key->name + (section > 0 ? section + 1 : 0);
}

static int put_head(const struct printer *printer, const char *section, size_t length)
{
    return length > 0 ? weir__buffer_printf(printer->buffer, "%s[%.*s]\n",
                                            weir__buffer_length(printer->buffer) > 0 ? "\n" : "",
                                            (int)length, section)
                      : 0;
}

/* --- show --- */

static int show_key(const struct printer *printer, size_t index)
{
    struct weir__buffer *buffer = printer->buffer;
    int result =
        weir__buffer_printf(buffer, "%s = ", last_name(weir__config_key(printer->schema, index)));
    if (result == 0)
        result = weir__config_put_value(buffer, printer->config, index);
    if (result == 0 && printer->with_origin) {
        char origin[WEIR__CONFIG_LINE_MAX / 2];
        weir__config_origin(printer->config, index, origin, sizeof(origin));
        /* The name of a file may have anything in it, a newline as well. */
        for (char *p = origin; *p; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                *p = '?';
        result = weir__buffer_printf(buffer, " # %s", origin);
    }
    return result < 0 ? result : weir__buffer_putc(buffer, '\n');
}

int weir__config_show(struct weir__buffer *buffer, const struct weir__config *config,
                      bool with_origin)
{
    struct printer printer = {buffer, config->schema, config, with_origin, put_head, show_key};
    return put_everything(&printer);
}

/* --- sample --- */

/* Sentences as comments, wrapped. */
static int put_comment(struct weir__buffer *buffer, const char *text)
{
    size_t column = 0;
    int result = 0;
    for (const char *at = text + strspn(text, " "); *at && result == 0; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool is_new = column == 0 || column + 1 + length > COLUMNS;
        result = weir__buffer_printf(buffer, "%s%s%.*s", column > 0 && is_new ? "\n" : "",
                                     is_new ? "# " : " ", (int)length, at);
        column = is_new ? 2 + length : column + 1 + length;
        at += length;
    }
    return result < 0 ? result : weir__buffer_putc(buffer, '\n');
}

/* The line of help as a sentence. */
static int put_help(struct weir__buffer *buffer, const struct weir__config_key *key)
{
    WEIR_CLEANUP(weir__buffer_fini)
    struct weir__buffer text;
    weir__buffer_init(&text, WEIR__CONFIG_PRINTED_MAX);
    char first = key->help[0];
    int result = weir__buffer_printf(
        &text, "%c%s.%s%s", first >= 'a' && first <= 'z' ? first - 'a' + 'A' : first, key->help + 1,
        key->detail ? " " : "", key->detail ? key->detail : "");
    return result < 0 ? result : put_comment(buffer, weir__buffer_text(&text));
}

static int sample_key(const struct printer *printer, size_t index)
{
    struct weir__buffer *buffer = printer->buffer;
    const struct weir__config_key *key = weir__config_key(printer->schema, index);
    char range[WEIR__CONFIG_RANGE_MAX];
    weir__config_range(key, range, sizeof(range));
    int result = weir__buffer_putc(buffer, '\n');
    if (result == 0)
        result = put_help(buffer, key);
    if (result == 0 && range[0] != '\0')
        result = weir__buffer_printf(buffer, "# Allowed: %s.%s\n", range,
                                     key->is_live ? "" : " Needs a restart.");
    else if (result == 0 && !key->is_live)
        result = weir__buffer_puts(buffer, "# Needs a restart.\n");
    if (result == 0)
        result = weir__buffer_printf(buffer, "#%s = ", last_name(key));
    if (result == 0)
        result = weir__config_put_default(buffer, key);
    return result < 0 ? result : weir__buffer_putc(buffer, '\n');
}

int weir__config_sample(struct weir__buffer *buffer, const struct weir__config_schema *schema)
{
    struct printer printer = {buffer, schema, NULL, false, put_head, sample_key};
    int result =
        put_comment(buffer, "Every key with its default. Take the # away from what you change. A "
                            "variable of the environment is above this file: "
                            "WEIR_SERVER_MAX_INFLIGHT is server.max_inflight; a flag is above "
                            "both. 'weir config check FILE' tells what is wrong with a file; a "
                            "reload (SIGHUP) takes it as a whole or not at all.");
    return result < 0 ? result : put_everything(&printer);
}

/* --- Markdown --- */

static int markdown_section(const struct printer *printer, const char *section, size_t length)
{
    return weir__buffer_printf(printer->buffer,
                               "%s### %s%.*s%s\n\n"
                               "| key | kind | default | allowed | reload | used by | meaning |\n"
                               "|---|---|---|---|---|---|---|\n",
                               weir__buffer_length(printer->buffer) > 0 ? "\n" : "",
                               length > 0 ? "`[" : "Without a section", (int)length, section,
                               length > 0 ? "]`" : "");
}

static int markdown_key(const struct printer *printer, size_t index)
{
    struct weir__buffer *buffer = printer->buffer;
    const struct weir__config_key *key = weir__config_key(printer->schema, index);
    char range[WEIR__CONFIG_RANGE_MAX];
    weir__config_range(key, range, sizeof(range));
    int result = weir__buffer_printf(buffer, "| `%s` | %s | `", key->name,
                                     weir__config_kind_name(key->kind));
    if (result == 0)
        result = weir__config_put_default(buffer, key);
    if (result == 0)
        result = weir__buffer_printf(buffer, "` | %s | %s | %s | %s%s%s |\n", range,
                                     key->is_live ? "yes" : "restart",
                                     weir__config_table_of(printer->schema, index)->name, key->help,
                                     key->detail ? ". " : "", key->detail ? key->detail : "");
    return result;
}

int weir__config_markdown(struct weir__buffer *buffer, const struct weir__config_schema *schema)
{
    struct printer printer = {buffer, schema, NULL, false, markdown_section, markdown_key};
    return put_everything(&printer);
}
