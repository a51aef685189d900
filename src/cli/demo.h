/* demo.h - what the parts of 'weir demo' share: how they speak, and how they are judged.
 *
 * A part does real work and tells of it once; this turns it into sentences for people or into one
 * JSON object for programs. What belongs to one of the two forms does nothing in the other, so a
 * part never asks which one is wanted.
 *
 * Numbers of promises and objects are bounded by the tables below; a part that has more is a
 * programming error and aborts.
 *
 * Ownership: a demo belongs to the command and outlives the parts, which borrow it; texts are
 * copied.
 */
#ifndef WEIR_CLI_DEMO_H
#define WEIR_CLI_DEMO_H

#include <weir/crew.h>
#include <weir/defs.h>
#include <weir/lock.h>

struct weir__json;
struct weir__out;

#define DEMO_PROMISES_MAX 8
#define DEMO_OBJECTS_MAX  24
#define DEMO_TEXT_MAX     160

/* Something that was checked against what was measured. */
struct demo_promise {
    bool holds;
    char text[DEMO_TEXT_MAX];
};

/* What one object counted. given - returned is what is still held. */
struct demo_object {
    const char *kind;
    char name[WEIR_NAME_MAX];
    uint64_t capacity; /* 0: it has none */
    uint64_t given;
    uint64_t returned;
    uint64_t waited;
    uint64_t refused;
};

struct demo {
    struct weir__out *out;
    struct weir__json *json; /* NULL for people */
    bool color;
    size_t width;
    uint64_t started_ns; /* of the part that runs */
    uint32_t promise_count, promises_in_all, broken;
    uint32_t object_count, objects_before; /* of all parts; before this one */
    struct demo_promise promises[DEMO_PROMISES_MAX];
    struct demo_object objects[DEMO_OBJECTS_MAX];
};

/* ---- the parts: 0, or the error that kept them from showing anything ---- */

int demo_budget(struct demo *demo);
int demo_slots(struct demo *demo);
int demo_pool(struct demo *demo);
int demo_queue(struct demo *demo);
int demo_breaker(struct demo *demo);
int demo_drain(struct demo *demo);

/* The second half of the breaker's part. */
int demo_rate(struct demo *demo);

/* ---- around a part ---- */

void demo_begin(struct demo *demo, unsigned number, const char *name, const char *title);
void demo_end(struct demo *demo, int error);

/* The counts of all objects, for people. */
void demo_table(struct demo *demo);

/* ---- for people alone ---- */

/* Prints the text in lines of at most the width, each indented. The first one begins in the given
 * column, where the caller has printed so far; 0 for the beginning of a line. */
void demo_wrap(struct demo *demo, size_t indent, size_t column, const char *text);

/* A paragraph, wrapped and indented. */
__attribute__((format(printf, 2, 3))) void demo_say(struct demo *demo, const char *format, ...);

/* What a program said, indented further. */
void demo_show(struct demo *demo, const char *text);

/* The same of "name: what the failed call said about itself". */
void demo_quote(struct demo *demo, int error);

/* ---- for programs alone ---- */

void demo_number(struct demo *demo, const char *key, uint64_t value);
void demo_milliseconds(struct demo *demo, const char *key, uint64_t ns);
void demo_text(struct demo *demo, const char *key, const char *text);
/* "key": {"error": name, "message": detail} */
void demo_refusal(struct demo *demo, const char *key, int error);

/* ---- for both ---- */

__attribute__((format(printf, 3, 4))) void demo_promise(struct demo *demo, bool holds,
                                                        const char *format, ...);
void demo_object(struct demo *demo, const struct demo_object *object);

/* Logs "cannot WHAT: detail" and returns the error. */
int demo_failed(const char *what, int error);

/* ---- small things that several parts need ---- */

extern const struct weir_lock_class demo_lock_class;

static inline double demo_ms(uint64_t ns)
{
    return (double)ns / (double)WEIR_NS_PER_MS;
}

/* The next number of a seeded sequence; a seed of 0 is not allowed. */
uint64_t demo_random(uint64_t *state);

/* Waits so long, or until the token fires. */
void demo_pause(uint64_t ns, struct weir_cancel *cancel);

/* A crew with time enough to end: its members obey their stop tokens. */
int demo_crew_new(struct weir_crew **ret_crew, const char *name);

/* Drains and frees it; the WEIR_CLEANUP of a crew. Accepts a pointer to NULL, and leaves one. */
void demo_crew_end(struct weir_crew **crew);

#endif
