/* scanner.c - an object in segments, and what is encoded in them.
 *
 * Whatever comes is gathered into segments whose edges depend on the object alone, so that it makes
 * no difference how it was fed. Each segment begins with the end of the one before: far enough back
 * that a match across the edge is whole, with the line that it is in. A hit belongs to the segment
 * in which there is a width of bytes behind it; the others come up again in the next.
 *
 * When a segment has been matched, encoded runs in it are decoded into the text of the next level,
 * which is matched in the same way, and so on. A run that goes on behind the edge is kept from its
 * beginning, or, if that is too far back, from a place where decoding can set in again.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/error.h>

#include "alloc.h"
#include "classes.h"
#include "parts.h"

#include "banned.h"

#define MATCH_LIMIT    1000000u /* steps of one match without JIT */
#define DEPTH_LIMIT    10000u
#define STACK_START    (32u << 10)
#define STACK_MAX      (1u << 20)
#define GROUPS_MAX     64u
#define ALL_ENCODINGS  ((1u << WEIR__ENCODINGS) - 1)
#define PATH_BYTES_MAX (1u << 20)

/* --- making --- */

static size_t overlap(const struct weir__engine *engine)
{
    return 2 * ((size_t)engine->width + WEIR__CONTEXT_BYTES + 1);
}

static int allocate(struct weir__scanner *scanner)
{
    const struct weir__engine *engine = scanner->engine;
    scanner->capacity = WEIR__SEGMENT_SIZE + overlap(engine) + WEIR__RUN_BYTES;
    scanner->bytes = scanner->room = weir__base_alloc(1, scanner->capacity);
    scanner->matchers = weir__base_alloc((size_t)engine->count + 1, sizeof(*scanner->matchers));
    scanner->paths = weir__base_alloc((size_t)engine->count + 1, sizeof(*scanner->paths));
    scanner->progress = weir__base_alloc((size_t)engine->count * 2 + 1, sizeof(*scanner->progress));
    scanner->echoes = weir__base_alloc((size_t)engine->count + 1, sizeof(*scanner->echoes));
    scanner->idle = weir__base_alloc((size_t)engine->anchors_count + 1, sizeof(*scanner->idle));
    scanner->rule_state = weir__base_alloc((size_t)engine->count + 1, 1);
    scanner->has_keyword = weir__base_alloc((size_t)engine->keywords_count + 1, sizeof(bool));
    scanner->is_dropped = weir__base_alloc((size_t)engine->count + 1, sizeof(bool));
    scanner->windows =
        weir__base_alloc((size_t)engine->anchors_count + 1, sizeof(*scanner->windows));
    scanner->data = pcre2_match_data_create(GROUPS_MAX, NULL);
    scanner->context = pcre2_match_context_create(NULL);
    scanner->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, NULL);
    if (!scanner->bytes || !scanner->echoes || !scanner->idle || !scanner->matchers ||
        !scanner->paths || !scanner->progress || !scanner->rule_state || !scanner->has_keyword ||
        !scanner->is_dropped || !scanner->windows || !scanner->data || !scanner->context ||
        !scanner->stack)
        return -WEIR_E_NO_MEMORY;
    pcre2_jit_stack_assign(scanner->context, NULL, scanner->stack);
    pcre2_set_match_limit(scanner->context, MATCH_LIMIT);
    pcre2_set_depth_limit(scanner->context, DEPTH_LIMIT);
    for (uint32_t i = 0; i < engine->count; i++) {
        scanner->matchers[i].text = engine->prepared[i].rule->regex;
        scanner->matchers[i].is_rule = true;
        scanner->paths[i].text = engine->prepared[i].rule->path;
    }
    for (unsigned i = 0; i < WEIR__LOOKS; i++)
        if (engine->databases[i] &&
            hs_alloc_scratch(engine->databases[i], &scanner->scratch) != HS_SUCCESS)
            return -WEIR_E_NO_MEMORY;
    int result = weir__flanks_new(scanner);
    if (result == 0)
        result = weir__allow_state_new(&scanner->allows, engine);
    return result < 0 ? result : weir__pending_init(&scanner->pending);
}

int weir__scanner_new(struct weir__scanner **ret_scanner, const struct weir__engine *engine,
                      const struct weir__sink *sink)
{
    struct weir__scanner *scanner = weir__base_alloc(1, sizeof(*scanner));
    if (!scanner)
        return -WEIR_E_NO_MEMORY;
    scanner->engine = engine;
    scanner->sink = *sink;
    weir__buffer_init(&scanner->path, PATH_BYTES_MAX);
    weir__buffer_init(&scanner->inside, PATH_BYTES_MAX);
    for (unsigned i = 0; i <= WEIR__DECODE_DEPTH_MAX; i++) {
        weir__buffer_init(&scanner->levels[i].text, WEIR__LEVEL_BYTES);
        weir__buffer_init(&scanner->levels[i].marks, WEIR__MARKS_BYTES(WEIR__LEVEL_BYTES));
    }
    int result = allocate(scanner);
    if (result < 0) {
        weir__scanner_free(scanner);
        return result;
    }
    *ret_scanner = scanner;
    return 0;
}

void weir__scanner_free(struct weir__scanner *scanner)
{
    if (!scanner)
        return;
    for (uint32_t i = 0; i < scanner->engine->count && scanner->matchers && scanner->paths; i++) {
        weir__matcher_fini(&scanner->matchers[i]);
        weir__matcher_fini(&scanner->paths[i]);
    }
    hs_free_scratch(scanner->scratch);
    pcre2_match_data_free(scanner->data);
    pcre2_match_context_free(scanner->context);
    pcre2_jit_stack_free(scanner->stack);
    weir__allow_state_free(scanner->allows);
    weir__flanks_free(scanner);
    weir__pending_fini(&scanner->pending);
    weir__settle_free(scanner->settle);
    for (unsigned i = 0; i <= WEIR__DECODE_DEPTH_MAX; i++) {
        weir__buffer_fini(&scanner->levels[i].text);
        weir__buffer_fini(&scanner->levels[i].marks);
        weir__base_free(scanner->levels[i].runs);
    }
    weir__buffer_fini(&scanner->path);
    weir__buffer_fini(&scanner->inside);
    weir__base_free(scanner->commit);
    weir__base_free(scanner->room);
    weir__look_fini(&scanner->look);
    weir__base_free(scanner->matchers);
    weir__base_free(scanner->paths);
    weir__base_free(scanner->progress);
    weir__base_free(scanner->echoes);
    weir__base_free(scanner->idle);
    weir__base_free(scanner->rule_state);
    weir__base_free(scanner->has_keyword);
    weir__base_free(scanner->is_dropped);
    weir__base_free(scanner->windows);
    weir__base_free(scanner);
}

/* --- levels --- */

/* Makes room for eight times as many runs as before: most objects have a few, some thousands. */
static bool grow(struct weir__scanner *scanner, struct weir__level *level)
{
    size_t more = level->runs_max == 0 ? WEIR__RUNS_LEAST : level->runs_max * 8;
    more = more < WEIR__RUNS_MAX ? more : WEIR__RUNS_MAX;
    weir__base_free(level->runs);
    level->runs_max = 0;
    level->runs = weir__base_alloc(more, sizeof(*level->runs));
    if (!level->runs) {
        scanner->error = -WEIR_E_NO_MEMORY;
        return false;
    }
    level->runs_max = more;
    return true;
}

/* Decodes the runs of a text into the level, within what the object may still have. */
static bool decode(struct weir__scanner *scanner, struct weir__level *level, const char *text,
                   size_t length)
{
    bool is_truncated = false, is_left_touched = false;
    bool is_first = level == &scanner->levels[1];
    const struct weir__look_list *only = is_first ? scanner->only : NULL;
    level->cursor = 0;
    do {
        if ((level->runs_max == 0 || is_truncated) && !grow(scanner, level))
            return false;
        if (is_left_touched)
            only = NULL;
        is_left_touched = false;
        struct weir__decode_options options = {
            .runs_max = level->runs_max,
            .encodings = ALL_ENCODINGS,
            .has_walls = true,
            .parts = only ? &only->encodings : NULL,
            .left = only ? &only->units : NULL,
            .ret_is_left_touched = &is_left_touched,
            .looked = is_first && scanner->trace ? &scanner->trace->units : NULL,
            .marks = &level->marks};
        weir__buffer_truncate(&level->text, 0);
        weir__buffer_truncate(&level->marks, 0);
        level->count =
            weir__decode(text, length, &options, &level->text, level->runs, &is_truncated);
    } while (is_left_touched ||
             (is_truncated && level->count == level->runs_max && level->count < WEIR__RUNS_MAX));
    size_t decoded = weir__buffer_length(&level->text);
    if (decoded > scanner->decode_left) {
        level->count = 0;
        is_truncated = true;
    } else {
        scanner->decode_left -= decoded;
        scanner->result.decoded_bytes += decoded;
    }
    scanner->result.is_decode_truncated |= is_truncated;
    return level->count > 0;
}

/* Generations tell views apart: the object in the upper half, the run in the lower. */
static void next_generation(struct weir__scanner *scanner)
{
    scanner->generation = (scanner->generation | UINT32_MAX) + 1;
}

static void match_levels(struct weir__scanner *scanner)
{
    const char *text = scanner->bytes;
    size_t length = scanner->length;
    uint64_t of_object = scanner->generation;
    /* Not those that runs of an earlier segment had: a rule would take up where it was in them. */
    if (scanner->generation < scanner->generation_last)
        scanner->generation = scanner->generation_last;
    for (unsigned depth = 1; depth <= scanner->decode_depth && scanner->error == 0; depth++) {
        struct weir__level *level = &scanner->levels[depth];
        level->count = 0;
        if (!decode(scanner, level, text, length))
            break;
        text = weir__buffer_text(&level->text);
        length = weir__buffer_length(&level->text);
        scanner->level = depth;
        next_generation(scanner);
        weir__match_text(scanner, text, length);
    }
    /* Later segments of the object go on with its own. */
    scanner->level = 0;
    uint64_t used = scanner->generation;
    scanner->generation = of_object;
    if (used > scanner->generation_last)
        scanner->generation_last = used;
}

/* --- segments --- */

/* A run that goes on at this place: where decoding can set in before it. */
static size_t set_in(struct weir__scanner *scanner, size_t at)
{
    const struct weir__level *level = &scanner->levels[1];
    size_t least = at;
    for (size_t i = 0; i < level->count; i++) {
        const struct weir__decoded *run = &level->runs[i];
        if (run->from >= at || run->until <= at)
            continue;
        size_t from = run->from;
        if (at - from > WEIR__RUN_BYTES) {
            /* Twelve decoded bytes are whole groups in every encoding. */
            size_t out = (run->out_until - run->out_from) * (at - from) / (run->until - from);
            size_t until;
            out -= out % 12;
            weir__decoded_place(scanner->bytes, run, out, out + 1, &from, &until);
            while (from > at && out >= 12) {
                out -= 12;
                weir__decoded_place(scanner->bytes, run, out, out + 1, &from, &until);
            }
            if (at - from > WEIR__RUN_BYTES)
                from = at;
        }
        if (from < least)
            least = from;
    }
    return least;
}

/* So many bytes of the segment are done with. */
static void pass_lines(struct weir__scanner *scanner, size_t length)
{
    scanner->line += weir__classifier()->count_lines(scanner->bytes, length);
    const char *last = memrchr(scanner->bytes, '\n', length);
    if (last)
        scanner->line_start = scanner->offset + (uint64_t)(last + 1 - scanner->bytes);
}

/* Lines are counted anew from the beginning of the segment. */
static void rewind_lines(struct weir__scanner *scanner)
{
    scanner->cursor = 0;
    scanner->cursor_line = scanner->line;
    scanner->cursor_start = scanner->line_start;
}

/* Drops what the next segment does not need. */
static void move_on(struct weir__scanner *scanner)
{
    size_t kept = overlap(scanner->engine);
    size_t at = scanner->length > kept ? scanner->length - kept : 0;
    at = set_in(scanner, at);
    pass_lines(scanner, at);
    memmove(scanner->room, scanner->room + at, scanner->length - at);
    scanner->length -= at;
    scanner->offset += at;
    rewind_lines(scanner);
    weir__settle_move_on(scanner);
}

int weir__scanner_process(struct weir__scanner *scanner, bool is_last)
{
    const struct weir__engine *engine = scanner->engine;
    size_t behind = is_last ? 0 : (size_t)engine->width + WEIR__CONTEXT_BYTES + 1;
    scanner->accept_until = scanner->offset + scanner->length - behind;
    if (is_last)
        scanner->accept_until++; /* what ends behind the last byte: an empty line, the end itself */
    scanner->views[0] = (struct weir__view){
        .bytes = scanner->bytes,
        .length = scanner->length,
        .offset = scanner->offset,
        .is_begin = scanner->offset == 0,
        .is_end = is_last,
    };
    scanner->view = &scanner->views[0];
    scanner->level = 0;
    rewind_lines(scanner);
    if (scanner->only)
        weir__match_places(scanner, scanner->bytes, scanner->length, scanner->only);
    else
        weir__match_text(scanner, scanner->bytes, scanner->length);
    scanner->levels[1].count = 0;
    if (scanner->decode_depth > 0)
        match_levels(scanner);
    scanner->accept_from = scanner->accept_until;
    if (!is_last) {
        weir__pending_settle(scanner);
        move_on(scanner);
    }
    return scanner->error;
}

/* --- objects --- */

bool weir__scanner_skips(struct weir__scanner *scanner, const char *path)
{
    return weir__allow_path(scanner, path);
}

static int copy_commit(struct weir__scanner *scanner, const char *commit)
{
    weir__base_free(scanner->commit);
    scanner->commit = NULL;
    if (!commit)
        return 0;
    size_t size = strlen(commit) + 1;
    scanner->commit = weir__base_alloc(1, size);
    if (!scanner->commit)
        return -WEIR_E_NO_MEMORY;
    memcpy(scanner->commit, commit, size);
    return 0;
}

int weir__scanner_begin(struct weir__scanner *scanner, const struct weir__object *object)
{
    scanner->is_open = false;
    scanner->is_begun = true;
    weir__buffer_truncate(&scanner->path, 0);
    scanner->is_path_known = object->path != NULL;
    if (weir__buffer_puts(&scanner->path, object->path ? object->path : "") < 0 ||
        copy_commit(scanner, object->path ? object->commit : NULL) < 0)
        return -WEIR_E_NO_MEMORY;
    memset(scanner->rule_state, 0, scanner->engine->count);
    memset(scanner->has_keyword, 0, scanner->engine->keywords_count * sizeof(bool));
    memset(scanner->is_dropped, 0, scanner->engine->count * sizeof(bool));
    memset(&scanner->result, 0, sizeof(scanner->result));
    scanner->decode_depth = object->decode_depth < WEIR__DECODE_DEPTH_MAX ? object->decode_depth
                                                                          : WEIR__DECODE_DEPTH_MAX;
    scanner->is_decode_by_size = object->decode_bytes == 0;
    scanner->decode_left = object->decode_bytes ? object->decode_bytes : WEIR__DECODE_BYTES;
    scanner->is_path_allowed = object->path && weir__allow_path(scanner, object->path);
    scanner->bytes = scanner->room;
    scanner->trace = NULL;
    scanner->only = NULL;
    scanner->is_any_enough = scanner->has_any = false;
    scanner->length = 0;
    scanner->offset = scanner->accept_from = 0;
    scanner->line = 1;
    scanner->line_start = 0;
    scanner->error = 0;
    rewind_lines(scanner);
    weir__settle_begin(scanner);
    memset(scanner->uncommented, 0, sizeof(scanner->uncommented));
    weir__echo_begin(scanner);
    weir__pending_begin(&scanner->pending);
    if (scanner->generation < scanner->generation_last)
        scanner->generation = scanner->generation_last;
    next_generation(scanner);
    scanner->is_open = true;
    return 0;
}

/* Edges are where the object has them: a segment behind what was kept. */
static size_t room_of(const struct weir__scanner *scanner)
{
    uint64_t edge = scanner->offset + scanner->length;
    return WEIR__SEGMENT_SIZE - (size_t)(edge % WEIR__SEGMENT_SIZE);
}

char *weir__scanner_room(struct weir__scanner *scanner, size_t *ret_size)
{
    *ret_size = room_of(scanner);
    return scanner->room + scanner->length;
}

int weir__scanner_feed(struct weir__scanner *scanner, const char *bytes, size_t length)
{
    if (!scanner->is_open)
        return -WEIR_E_INVALID;
    scanner->result.bytes += length;
    if (scanner->is_decode_by_size)
        scanner->decode_left += length * WEIR__DECODE_RATIO;
    while (length > 0 && !scanner->is_path_allowed) {
        size_t room = room_of(scanner);
        size_t part = length < room ? length : room;
        if (bytes != scanner->room + scanner->length)
            memcpy(scanner->room + scanner->length, bytes, part);
        scanner->length += part;
        bytes += part;
        length -= part;
        if (part == room && weir__scanner_process(scanner, false) < 0) {
            scanner->is_open = false;
            return scanner->error;
        }
    }
    return 0;
}

int weir__scanner_skip(struct weir__scanner *scanner, uint64_t length)
{
    if (!scanner->is_open)
        return -WEIR_E_INVALID;
    if (length == 0)
        return 0;
    if (!scanner->is_path_allowed && weir__scanner_process(scanner, true) < 0) {
        scanner->is_open = false;
        return scanner->error;
    }
    pass_lines(scanner, scanner->length);
    scanner->offset += scanner->length + length;
    scanner->accept_from = scanner->offset;
    scanner->length = 0;
    rewind_lines(scanner);
    weir__settle_move_on(scanner);
    return 0;
}

void weir__scanner_skipped_lines(struct weir__scanner *scanner, uint64_t lines, uint64_t behind)
{
    if (!scanner->is_open || scanner->length > 0 || lines == 0)
        return;
    scanner->line += lines;
    scanner->line_start = scanner->offset - behind;
    rewind_lines(scanner);
}

int weir__scanner_end(struct weir__scanner *scanner, struct weir__scan_result *ret_result)
{
    if (!scanner->is_open)
        return -WEIR_E_INVALID;
    scanner->is_open = false;
    int result = scanner->is_path_allowed ? 0 : weir__scanner_process(scanner, true);
    if (result == 0 && !scanner->is_path_allowed) {
        weir__confirm_path_rules(scanner);
        weir__pending_flush(scanner);
        weir__pending_end(scanner);
        result = scanner->error;
    }
    if (ret_result)
        *ret_result = scanner->result;
    return result;
}
