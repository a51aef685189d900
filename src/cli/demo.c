/* demo.c - how the parts of 'weir demo' speak: sentences for people, one object each for programs.
 */
#include "demo.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <weir/clock.h>

#include "json.h"
#include "log.h"
#include "out.h"
#include "require.h"
#include "term.h"

#include "banned.h"

#define SENTENCE_MAX 1024
#define INDENT       3
#define INDENT_QUOTE 6

const struct weir_lock_class demo_lock_class = {"demo", 10};

/* ---- sentences ---- */

static size_t next_word(const char *text)
{
    return strcspn(text, " ");
}

void demo_wrap(struct demo *demo, size_t indent, size_t column, const char *text)
{
    for (size_t length = next_word(text); *text; length = next_word(text)) {
        if (column > 0 && column + 1 + length > demo->width) {
            weir__out_puts(demo->out, "\n");
            column = 0;
        }
        if (column == 0) {
            weir__out_printf(demo->out, "%*s", (int)indent, "");
            column = indent;
        } else {
            weir__out_puts(demo->out, " ");
            column++;
        }
        weir__out_write(demo->out, text, length);
        column += length;
        text += length + strspn(text + length, " ");
    }
    weir__out_puts(demo->out, "\n");
}

void demo_say(struct demo *demo, const char *format, ...)
{
    if (demo->json)
        return;
    char text[SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    demo_wrap(demo, INDENT, 0, text);
}

void demo_show(struct demo *demo, const char *text)
{
    if (demo->json)
        return;
    weir__out_puts(demo->out, weir__term_style(demo->color, WEIR__STYLE_YELLOW));
    demo_wrap(demo, INDENT_QUOTE, 0, text);
    weir__out_puts(demo->out, weir__term_style(demo->color, WEIR__STYLE_RESET));
}

void demo_quote(struct demo *demo, int error)
{
    char text[SENTENCE_MAX];
    snprintf(text, sizeof(text), "%s: %s", weir_error_name(error), weir_error_detail());
    demo_show(demo, text);
}

/* ---- numbers ---- */

void demo_number(struct demo *demo, const char *key, uint64_t value)
{
    if (!demo->json)
        return;
    weir__json_key(demo->json, key);
    weir__json_u64(demo->json, value);
}

void demo_milliseconds(struct demo *demo, const char *key, uint64_t ns)
{
    if (!demo->json)
        return;
    weir__json_key(demo->json, key);
    weir__json_real(demo->json, demo_ms(ns));
}

void demo_text(struct demo *demo, const char *key, const char *text)
{
    if (!demo->json)
        return;
    weir__json_key(demo->json, key);
    weir__json_string(demo->json, text);
}

void demo_refusal(struct demo *demo, const char *key, int error)
{
    if (!demo->json)
        return;
    weir__json_key(demo->json, key);
    weir__json_object(demo->json);
    demo_text(demo, "error", weir_error_name(error));
    demo_text(demo, "message", weir_error_detail());
    weir__json_end(demo->json);
}

/* ---- promises and objects ---- */

void demo_promise(struct demo *demo, bool holds, const char *format, ...)
{
    WEIR__REQUIRE(demo->promise_count < DEMO_PROMISES_MAX, "demo", format, "too many promises");
    struct demo_promise *promise = &demo->promises[demo->promise_count++];
    promise->holds = holds;
    va_list args;
    va_start(args, format);
    vsnprintf(promise->text, sizeof(promise->text), format, args);
    va_end(args);
    demo->promises_in_all++;
    demo->broken += !holds;
}

void demo_object(struct demo *demo, const struct demo_object *object)
{
    WEIR__REQUIRE(demo->object_count < DEMO_OBJECTS_MAX, "demo", object->name, "too many objects");
    demo->objects[demo->object_count++] = *object;
}

static void print_promises(struct demo *demo)
{
    for (uint32_t i = 0; i < demo->promise_count; i++) {
        const struct demo_promise *promise = &demo->promises[i];
        const char *mark = promise->holds ? "holds:" : "BROKEN:";
        enum weir__style style = promise->holds ? WEIR__STYLE_BOLD : WEIR__STYLE_RED;
        weir__out_printf(demo->out, "%*s%s%s%s", INDENT, "", weir__term_style(demo->color, style),
                         mark, weir__term_style(demo->color, WEIR__STYLE_RESET));
        size_t column = INDENT + strlen(mark);
        demo_wrap(demo, column + 1, column, promise->text);
    }
}

static void add_promises(struct demo *demo)
{
    weir__json_key(demo->json, "promises");
    weir__json_array(demo->json);
    for (uint32_t i = 0; i < demo->promise_count; i++) {
        weir__json_object(demo->json);
        weir__json_key(demo->json, "holds");
        weir__json_bool(demo->json, demo->promises[i].holds);
        demo_text(demo, "text", demo->promises[i].text);
        weir__json_end(demo->json);
    }
    weir__json_end(demo->json);
}

static void add_objects(struct demo *demo)
{
    weir__json_key(demo->json, "objects");
    weir__json_array(demo->json);
    for (uint32_t i = demo->objects_before; i < demo->object_count; i++) {
        const struct demo_object *object = &demo->objects[i];
        weir__json_object(demo->json);
        demo_text(demo, "kind", object->kind);
        demo_text(demo, "name", object->name);
        if (object->capacity > 0)
            demo_number(demo, "capacity", object->capacity);
        demo_number(demo, "given", object->given);
        demo_number(demo, "returned", object->returned);
        demo_number(demo, "waited", object->waited);
        demo_number(demo, "refused", object->refused);
        weir__json_end(demo->json);
    }
    weir__json_end(demo->json);
}

/* ---- around a part ---- */

void demo_begin(struct demo *demo, unsigned number, const char *name, const char *title)
{
    demo->promise_count = 0;
    demo->objects_before = demo->object_count;
    demo->started_ns = weir_now_ns();
    if (demo->json) {
        weir__json_object(demo->json);
        demo_text(demo, "part", name);
        return;
    }
    char head[SENTENCE_MAX];
    snprintf(head, sizeof(head), "%s: %s", name, title);
    weir__out_printf(demo->out, "\n%s%u.", weir__term_style(demo->color, WEIR__STYLE_BOLD), number);
    demo_wrap(demo, INDENT, INDENT - 1, head);
    weir__out_puts(demo->out, weir__term_style(demo->color, WEIR__STYLE_RESET));
    weir__out_flush(demo->out);
}

void demo_end(struct demo *demo, int error)
{
    if (!demo->json) {
        print_promises(demo);
        weir__out_flush(demo->out);
        return;
    }
    if (error)
        demo_refusal(demo, "failed", error);
    demo_milliseconds(demo, "took_ms", weir_now_ns() - demo->started_ns);
    add_promises(demo);
    add_objects(demo);
    weir__json_end(demo->json);
}

#define HEAD "   %-20s  %8s  %8s  %8s  %5s  %7s  %7s\n"
#define ROW  "   %-20s  %8s  %8llu  %8llu  %5llu  %7llu  %7llu\n"

void demo_table(struct demo *demo)
{
    if (demo->json || demo->object_count == 0)
        return;
    weir__out_printf(demo->out, HEAD, "OBJECT", "CAPACITY", "GIVEN", "RETURNED", "HELD", "WAITED",
                     "REFUSED");
    for (uint32_t i = 0; i < demo->object_count; i++) {
        const struct demo_object *object = &demo->objects[i];
        char title[2 * WEIR_NAME_MAX], capacity[24] = "-";
        snprintf(title, sizeof(title), "%s %s", object->kind, object->name);
        if (object->capacity > 0)
            snprintf(capacity, sizeof(capacity), "%llu", (unsigned long long)object->capacity);
        weir__out_printf(demo->out, ROW, title, capacity, (unsigned long long)object->given,
                         (unsigned long long)object->returned,
                         (unsigned long long)(object->given - object->returned),
                         (unsigned long long)object->waited, (unsigned long long)object->refused);
    }
}

/* ---- small things ---- */

int demo_failed(const char *what, int error)
{
    weir__log(WEIR__LOG_ERROR, "cannot %s: %s", what,
              weir_error_detail()[0] ? weir_error_detail() : weir_error_text(error));
    return error;
}

uint64_t demo_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void demo_pause(uint64_t ns, struct weir_cancel *cancel)
{
    struct weir_deadline deadline = weir_deadline_in(ns, cancel);
    weir_deadline_sleep(&deadline);
}

int demo_crew_new(struct weir_crew **ret_crew, const char *name)
{
    const struct weir_crew_options options = {.drain_ns = 10 * WEIR_NS_PER_S,
                                              .grace_ns = 10 * WEIR_NS_PER_S};
    int error = weir_crew_new(ret_crew, name, &options);
    return error ? demo_failed("make a crew", error) : 0;
}

void demo_crew_end(struct weir_crew **crew)
{
    if (!*crew)
        return;
    weir_crew_drain(*crew, NULL);
    weir_crew_free(*crew);
    *crew = NULL;
}
