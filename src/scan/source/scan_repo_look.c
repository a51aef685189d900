/* scan_repo_look.c - one object of a repository: whether there is anything in it, and later what.
 *
 * The first look is made with no path. A text that git has as a delta is scanned by what is known
 * of the one that it was made from (engine/whole.h): the path of objects from the root of a family
 * is always the same thread's, so each thread keeps the traces of the last few depths.
 *
 * The second look is made at each path, and as part of each commit, that the origin says.
 */
#include "scan_repo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "archive_begin.h"
#include "git/message.h"
#include "git/pack_delta.h"
#include "log.h"
#include "sys.h"

#include "banned.h"

/* Depths whose traces are kept; below them a text whose base was overwritten is scanned in full. */
#define TRACES 64u
/* Steps of a delta; beyond them it is hardly like its base. */
#define STEPS_MAX 65536u

/* Bytes of two texts that are compared at once. */
#define COMPARED 64u

/* With a limit of memory a trace that takes more is forgotten: 1.6 MiB are those of all depths. */
#define TRACE_BYTES (26u << 10)

/* An archive that is no larger is a file in memory, one at a time for each thread. */
#define FILE_IN_MEMORY (UINT64_C(1) << 20)

#define SEEN           128u

struct kept_trace {
    struct weir__trace trace;
    uint32_t depth;   /* of the object that it is of: the last one there */
    const char *path; /* that it was scanned with: another one has other rules */
    bool is_unmarked; /* it is a script, and no archive can begin in it */
};

struct weir__scan_hand {
    struct kept_trace traces[TRACES];
    struct weir__copied *copies;
    size_t copies_room;
    struct weir__scan_judged *judged;
    struct weir__scan_mentions *mentions;
    struct weir__archive_marks marks; /* of what may be hidden in a script */
    struct weir__git_id seen[SEEN];   /* objects that were looked at to their end */
    size_t seen_count;
    uint64_t noted; /* of them, since the shard began */
    bool has_links; /* one of them names others */
};

void weir__scan_hand_free(struct weir__scan_hand *hand)
{
    if (!hand)
        return;
    for (size_t i = 0; i < TRACES; i++)
        weir__trace_fini(&hand->traces[i].trace);
    weir__base_free(hand->copies);
    weir__scan_judged_free(hand->judged);
    weir__scan_mentions_free(hand->mentions);
    weir__base_free(hand);
}

static struct weir__scan_hand *hand_of(struct weir__scan_worker *w)
{
    if (w->hand)
        return w->hand;
    w->hand = weir__base_alloc(1, sizeof(*w->hand));
    for (size_t i = 0; w->hand && i < TRACES; i++)
        weir__trace_init(&w->hand->traces[i].trace);
    if (w->hand)
        weir__archive_marks_init(&w->hand->marks, weir__archive_begin_of(WEIR__ARCHIVE_SCRIPT));
    return w->hand;
}

static void flush(struct weir__scan_hand *hand, struct weir__scan_repo *repo)
{
    weir__scan_state_seen(repo, hand->seen, hand->seen_count);
    hand->seen_count = 0;
}

uint64_t weir__scan_hand_flush(struct weir__scan_worker *w, struct weir__scan_repo *repo)
{
    if (!w->hand)
        return 0;
    uint64_t count = w->hand->noted;
    weir__scan_mentions_flush(w, repo, w->hand->mentions);
    weir__scan_judged_flush(w->hand->judged, repo);
    flush(w->hand, repo);
    w->hand->noted = 0;
    if (w->hand->has_links) {
        weir_lock_acquire(&repo->lock);
        repo->has_links = true;
        weir_lock_release(&repo->lock);
    }
    w->hand->has_links = false;
    return count;
}

int weir__scan_hand_begin(struct weir__scan_worker *w, const struct weir__scan_repo *repo,
                          const struct weir__scan_pack *pack,
                          struct weir__git_store *(*store)(void *arg), void *arg)
{
    struct weir__scan_hand *hand = hand_of(w);
    return hand ? weir__scan_mentions_begin(&hand->mentions, repo, pack, store, arg)
                : -WEIR_E_NO_MEMORY;
}

static void note_seen(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                      const struct weir__git_id *id)
{
    w->hand->noted++;
    if (repo->is_wary && weir__git_state_has(repo->state, id))
        return; /* it is remembered */
    if (w->hand->seen_count == SEEN)
        flush(w->hand, repo);
    w->hand->seen[w->hand->seen_count++] = *id;
}

/* --- the first look --- */

static bool add_copy(struct weir__scan_hand *hand, size_t count, size_t to, uint64_t from,
                     uint64_t length)
{
    if (count == hand->copies_room) {
        size_t room = count ? 2 * count : 256;
        struct weir__copied *copies =
            count < STEPS_MAX ? weir__base_realloc(hand->copies, room, sizeof(*copies)) : NULL;
        if (!copies)
            return false;
        hand->copies = copies;
        hand->copies_room = room;
    }
    hand->copies[count] = (struct weir__copied){
        .to = (uint32_t)to, .from = (uint32_t)from, .length = (uint32_t)length};
    return true;
}

/* The steps that copy, and whether a NUL is among the other bytes. False: there are too many, or no
 * memory. */
static bool read_copies(struct weir__scan_hand *hand, const struct weir__git_object *object,
                        size_t *ret_count, bool *ret_has_nul)
{
    struct weir__git_delta delta;
    struct weir__git_delta_step step;
    size_t count = 0, at = 0;
    *ret_has_nul = false;
    if (weir__git_delta_init(&delta, object->delta, object->delta_length) < 0)
        return false;
    while (weir__git_delta_next(&delta, &step) > 0) {
        if (!step.is_copy)
            *ret_has_nul = *ret_has_nul || memchr(step.bytes, '\0', step.length);
        else if (!add_copy(hand, count++, at, step.from, step.length))
            return false;
        at += step.length;
    }
    *ret_count = count;
    return true;
}

/* Of one that is like its base, and nobody knows how it was made: what both begin and end with. */
static bool find_copies(struct weir__scan_hand *hand, const struct weir__git_object *object,
                        size_t *ret_count, bool *ret_has_nul)
{
    const uint8_t *one = object->bytes, *other = object->base;
    size_t least = object->length < object->base_length ? object->length : object->base_length;
    size_t begin = 0, end = 0, count = 0;
    while (least - begin >= COMPARED && memcmp(one + begin, other + begin, COMPARED) == 0)
        begin += COMPARED;
    while (begin < least && one[begin] == other[begin])
        begin++;
    one += object->length;
    other += object->base_length;
    least -= begin;
    while (least - end >= COMPARED &&
           memcmp(one - end - COMPARED, other - end - COMPARED, COMPARED) == 0)
        end += COMPARED;
    while (end < least && one[-1 - (ptrdiff_t)end] == other[-1 - (ptrdiff_t)end])
        end++;
    *ret_has_nul = memchr(object->bytes + begin, '\0', object->length - begin - end) != NULL;
    if ((begin > 0 && !add_copy(hand, count++, 0, 0, begin)) ||
        (end > 0 && !add_copy(hand, count++, object->length - end, object->base_length - end, end)))
        return false;
    *ret_count = count;
    return true;
}

/* Nothing is known of what stands at that depth now. */
static struct kept_trace *forget(struct weir__scan_hand *hand, uint32_t depth)
{
    struct kept_trace *kept = &hand->traces[depth % TRACES];
    kept->depth = depth;
    kept->path = NULL;
    kept->is_unmarked = false;
    kept->trace.is_known = false;
    return kept;
}

/* Of a blob that never had a path: its name is its own. */
static const char no_path[] = "";

static bool is_same_path(const char *a, const char *b)
{
    return a != no_path && (a == b || (a && b && strcmp(a, b) == 0));
}

/* How the text was made, if what it was made from was scanned with the same path. That one has no
 * NUL, so this one has one only in what is new. */
static bool find_edit(struct weir__scan_worker *w, const struct weir__git_object *object,
                      const char *path, struct weir__edit *ret_edit, bool *ret_has_nul)
{
    struct weir__scan_hand *hand = w->hand;
    const struct kept_trace *base = &hand->traces[(object->depth + TRACES - 1) % TRACES];
    if (w->run->options->is_full || !object->has_base || base->depth + 1 != object->depth ||
        !base->trace.is_known || !is_same_path(base->path, path) ||
        base->trace.length != object->base_length ||
        !(object->delta ? read_copies : find_copies)(hand, object, &ret_edit->count, ret_has_nul))
        return false;
    ret_edit->base = &base->trace;
    ret_edit->copies = hand->copies;
    return true;
}

static bool has_nul_anywhere(const struct weir__git_object *object)
{
    return memchr(object->bytes, '\0', object->length) != NULL;
}

/* path: in the repository, which outlives the walk; or NULL. edit: or NULL. */
static int look_at_text(struct weir__scan_worker *w, const struct weir__git_object *object,
                        const struct weir__object *what, const char *path,
                        const struct weir__edit *edit, struct weir__scan_result *ret_result)
{
    struct kept_trace *own = forget(w->hand, object->depth);
    struct weir__text text = {.bytes = (const char *)object->bytes,
                              .length = object->length,
                              .edit = edit,
                              .trace = &own->trace};
    own->path = path;
    int result = weir__scanner_text(w->scanner, what, &text, ret_result);
    if (w->run->options->history_bytes > 0 && weir__trace_bytes(&own->trace) > TRACE_BYTES) {
        weir__trace_fini(&own->trace);
        weir__trace_init(&own->trace);
    }
    return result;
}

static bool is_script(const struct weir__git_object *object)
{
    const char *bytes = (const char *)object->bytes;
    return weir__archive_is_run(bytes, object->length) &&
           weir__archive_front(bytes, object->length) == WEIR__ARCHIVE_SCRIPT;
}

/* Whether there is a mark of an archive between two places, or across one of them. */
static bool has_mark(const struct weir__archive_marks *marks, const struct weir__git_object *object,
                     size_t from, size_t until)
{
    size_t beside = marks->longest - 1;
    from = from > beside ? from - beside : 0;
    until = object->length - until > beside ? until + beside : object->length;
    return weir__archive_marks_in(marks, object->bytes + from, until - from);
}

/* Whether no archive can begin in a script, by the marks that all of them have: in one that was
 * made from another that has none, only what is new can have one, or where bytes were put side by
 * side. edit: or NULL, nothing is known. */
static bool is_unmarked(struct weir__scan_hand *hand, const struct weir__git_object *object,
                        const struct weir__edit *edit)
{
    size_t done = 0;
    if (!edit || !hand->traces[(object->depth + TRACES - 1) % TRACES].is_unmarked)
        return !has_mark(&hand->marks, object, 0, object->length);
    for (size_t i = 0; i < edit->count; i++) {
        if (has_mark(&hand->marks, object, done, edit->copies[i].to))
            return false;
        done = (size_t)edit->copies[i].to + edit->copies[i].length;
    }
    return !has_mark(&hand->marks, object, done, object->length);
}

/* Whether it has to be opened as a file is. is_unmarked: of a script. */
static bool is_archive(const struct weir__git_object *object, bool is_binary, bool is_unmarked)
{
    const char *bytes = (const char *)object->bytes;
    const struct weir__archive_source source = {
        .head = bytes, .head_length = object->length, .size = object->length};
    size_t length =
        object->length < WEIR__ARCHIVE_PROBE_ALL ? object->length : WEIR__ARCHIVE_PROBE_ALL;
    uint64_t at;
    if (weir__archive_probe(bytes, length))
        return true;
    if (!is_binary && !weir__archive_is_run(bytes, length))
        return false;
    return is_unmarked ? weir__archive_hidden_zip(&source, &at)
                       : weir__archive_hidden(&source, &at) != NULL;
}

static bool has_doubt(const struct weir__scan_result *result)
{
    return result->is_decode_truncated || result->gave_up > 0 || result->is_judged_early;
}

static int scan_bytes(struct weir__scan_worker *w, const struct weir__object *what,
                      const void *bytes, size_t length, struct weir__scan_result *ret_result)
{
    int result = weir__scanner_begin(w->scanner, what);
    if (result == 0 && length > 0)
        result = weir__scanner_feed(w->scanner, bytes, length);
    return result < 0 ? result : weir__scanner_end(w->scanner, ret_result);
}

static int look_at_blob(struct weir__scan_worker *w, const struct weir__git_object *object,
                        const struct weir__object *what, struct weir__scan_result *ret_result,
                        bool *ret_is_file)
{
    struct weir__edit edit;
    bool has_new_nul, is_made = find_edit(w, object, NULL, &edit, &has_new_nul);
    bool is_binary = is_made ? has_new_nul : has_nul_anywhere(object);
    bool is_free =
        !is_binary && is_script(object) && is_unmarked(w->hand, object, is_made ? &edit : NULL);
    *ret_is_file = is_archive(object, is_binary, is_free);
    if (*ret_is_file)
        return 0; /* all of it comes later */
    if (!is_binary && object->length <= WEIR__TEXT_MAX) {
        int result = look_at_text(w, object, what, NULL, is_made ? &edit : NULL, ret_result);
        w->hand->traces[object->depth % TRACES].is_unmarked = is_free;
        return result;
    }
    return scan_bytes(w, what, object->bytes, object->length, ret_result);
}

static int look_at_message(struct weir__scan_worker *w, const struct weir__git_object *object,
                           const struct weir__object *what, struct weir__scan_result *ret_sum)
{
    struct weir__git_message message;
    struct weir__git_range part;
    const char *bytes = (const char *)object->bytes;
    int result = 0;
    weir__git_message_init(&message, object->type, bytes, object->length);
    while (result == 0 && (weir__git_message_next(&message, &part) > 0 ||
                           weir__git_message_header(&message, &part) > 0)) {
        struct weir__scan_result one = {0};
        result = scan_bytes(w, what, bytes + part.offset, part.length, &one);
        ret_sum->findings += one.findings;
        ret_sum->allowed += one.allowed;
        ret_sum->gave_up += one.gave_up;
        ret_sum->is_decode_truncated |= one.is_decode_truncated;
        ret_sum->is_judged_early |= one.is_judged_early;
    }
    return result;
}

static int look_at_tree(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                        const struct weir__git_object *object)
{
    struct weir__edit edit = {.copies = NULL};
    bool has_nul; /* of no interest: ids are full of them */
    bool is_known = object->has_base && read_copies(w->hand, object, &edit.count, &has_nul);
    edit.copies = w->hand->copies;
    uint64_t gaps = w->gaps;
    int result = weir__scan_look_at_tree(w, repo, object, &w->hand->judged, w->hand->mentions,
                                         is_known ? &edit : NULL);
    if (result == 0 && w->gaps == gaps)
        note_seen(w, repo, &object->id);
    return result;
}

int weir__scan_look_first(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_object *object)
{
    struct weir__object what = {.path = NULL, .decode_depth = w->run->options->decode_depth};
    struct weir__scan_result result = {0};
    struct weir__scan_hand *hand = hand_of(w);
    uint32_t kind = weir__scan_kind(object->type);
    bool is_file = false;
    uint64_t gaps = w->gaps;
    if (!hand)
        return -WEIR_E_NO_MEMORY;
    forget(hand, object->depth);
    /* That it could be read is all there is to know of it. */
    if (!repo->is_for_trees && weir__scan_state_spares(repo, &object->id, object->type))
        return 0;
    hand->has_links |= object->type == WEIR__GIT_TREE;
    if (object->type == WEIR__GIT_TREE)
        return look_at_tree(w, repo, object);
    if ((repo->wanted && !weir__git_wanted_is(repo->wanted, &object->id, object->type)) ||
        !weir__scan_look_is_first(repo, &object->id))
        return 0;
    hand->has_links |= kind != WEIR__SUSPECT_BLOB;
    bool is_whole =
        kind == WEIR__SUSPECT_BLOB || weir__scan_mention_links(w, repo, hand->mentions, object);
    w->is_asking = true;
    int error = kind == WEIR__SUSPECT_BLOB ? look_at_blob(w, object, &what, &result, &is_file)
                                           : look_at_message(w, object, &what, &result);
    w->is_asking = false;
    w->counts.objects++;
    w->counts.bytes += object->length;
    w->counts.decoded_bytes += result.decoded_bytes;
    if (error < 0)
        weir__scan_repo_tell(w, repo, &object->id, "cannot scan all of the history of",
                             weir_error_text(error));
    else if (is_file || result.findings > 0 || has_doubt(&result))
        weir__scan_suspect(w, repo, &object->id,
                           kind | (is_file ? WEIR__SUSPECT_FILE : WEIR__SUSPECT_FOUND));
    else
        w->counts.allowed += result.allowed; /* of a suspect the second look counts them */
    /* One that could not be noted is to be met again, and one whose parents may come. */
    if (error == 0 && w->gaps == gaps && is_whole)
        note_seen(w, repo, &object->id);
    return 0;
}

/* --- the second look --- */

/* False: there is no memory for it, which is told. */
static bool set_path(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                     const struct weir__git_id *id, const char *inside)
{
    weir__buffer_truncate(&w->path, 0);
    int result = weir__buffer_append(&w->path, repo->path, repo->path_length);
    if (result == 0)
        result = weir__buffer_puts(&w->path, inside);
    if (result < 0)
        weir__scan_repo_tell(w, repo, id, "cannot scan all of the history of",
                             weir_error_text(result));
    return result == 0;
}

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t n = weir__sys_write(fd, bytes + at, length - at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* The bytes as a file, which is what archives are read from. */
static void scan_as_file(struct weir__scan_worker *w, const struct weir__git_object *object)
{
    bool is_small = object->length <= FILE_IN_MEMORY;
    const char *why = weir__scan_archive_why_not(w->run, !is_small);
    int fd = why        ? -1
             : is_small ? WEIR__SYS(int, memfd_create("object", MFD_CLOEXEC))
                        : weir__scan_spill_open();
    if (!why && (fd < 0 || !write_all(fd, object->bytes, object->length)))
        why = weir__log_reason(errno);
    if (!why)
        weir__scan_open(w, fd);
    else if (weir__scan_object_begin(w)) {
        weir__scan_archive_unopened(w, NULL, why);
        if (weir__scan_object_feed(w, (const char *)object->bytes, object->length))
            (void)weir__scan_object_end(w);
    }
    weir__sys_close(fd);
}

/* path: in the repository. */
static void scan_text(struct weir__scan_worker *w, const struct weir__git_object *object,
                      const char *path)
{
    struct weir__object what = weir__scan_object_of(w);
    struct weir__scan_result result;
    struct weir__edit edit;
    bool has_nul, is_made = find_edit(w, object, path, &edit, &has_nul);
    int error = look_at_text(w, object, &what, path, is_made ? &edit : NULL, &result);
    if (error < 0)
        weir__scan_tell(w, what.path, "cannot scan", weir_error_text(error));
    else
        weir__scan_object_tell(w, &result);
}

static void scan_blob(struct weir__scan_worker *w, const struct weir__git_object *object,
                      uint32_t flags, const char *path)
{
    forget(w->hand, object->depth);
    if (weir__scanner_skips(w->scanner, weir__buffer_text(&w->path)))
        w->counts.allowed_paths++;
    else if (object->is_file)
        weir__scan_open(w, object->file);
    else if (flags & WEIR__SUSPECT_FILE)
        scan_as_file(w, object);
    else if (object->length <= WEIR__TEXT_MAX && !has_nul_anywhere(object))
        scan_text(w, object, path);
    else if (weir__scan_object_begin(w) &&
             weir__scan_object_feed(w, (const char *)object->bytes, object->length))
        (void)weir__scan_object_end(w);
}

static void scan_message(struct weir__scan_worker *w, const struct weir__git_object *object)
{
    struct weir__git_message message;
    struct weir__git_range part;
    const char *bytes = (const char *)object->bytes;
    weir__git_message_init(&message, object->type, bytes, object->length);
    while (weir__git_message_next(&message, &part) > 0)
        if (weir__scan_object_begin(w) &&
            (part.length == 0 || weir__scan_object_feed(w, bytes + part.offset, part.length)))
            (void)weir__scan_object_end(w);
}

/* As many bytes as there are, with nothing in them but the ends of lines. */
static bool feed_blank(struct weir__scan_worker *w, const char *bytes, size_t length)
{
    char blank[256];
    bool is_fed = true;
    for (size_t at = 0; is_fed && at < length;) {
        size_t part = length - at < sizeof(blank) ? length - at : sizeof(blank);
        for (size_t i = 0; i < part; i++)
            blank[i] = bytes[at + i] == '\n' ? '\n' : ' ';
        is_fed = weir__scan_object_feed(w, blank, part);
        at += part;
    }
    return is_fed;
}

/* Places are those in the commit or tag. */
static void scan_header(struct weir__scan_worker *w, const struct weir__git_object *object)
{
    struct weir__git_message message;
    struct weir__git_range part;
    const char *bytes = (const char *)object->bytes;
    size_t done = 0;
    weir__git_message_init(&message, object->type, bytes, object->length);
    bool is_fed = weir__git_message_header(&message, &part) > 0 && weir__scan_object_begin(w);
    if (!is_fed)
        return;
    do {
        is_fed = feed_blank(w, bytes + done, part.offset - done) &&
                 weir__scan_object_feed(w, bytes + part.offset, part.length);
        done = part.offset + part.length;
    } while (is_fed && weir__git_message_header(&message, &part) > 0);
    if (is_fed)
        (void)weir__scan_object_end(w);
}

static void scan_at_paths(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                          const struct weir__git_object *object,
                          const struct weir__suspect *suspect, uint32_t number)
{
    struct weir__git_attribution where;
    struct weir__scan_origin origin;
    weir__scan_origin_where(repo, number, suspect, &where);
    size_t count = where.looks_count > 0 ? where.looks_count : 1;
    for (size_t i = 0; i < count && !weir__scan_is_stopped(w); i++) {
        weir__scan_origin_of_blob(repo, number, &where, i, &origin);
        w->brought = &origin.brought;
        weir__scan_name_forget(w); /* what is in it is told for each object, whoever scans them */
        if (set_path(w, repo, &object->id, origin.path))
            scan_blob(w, object, suspect->flags,
                      origin.path == origin.name ? no_path : origin.path);
    }
}

int weir__scan_look_second(struct weir__scan_worker *w, struct weir__scan_repo *repo,
                           const struct weir__git_object *object)
{
    struct weir__suspect suspect;
    struct weir__scan_origin origin;
    struct weir__scan_hand *hand = hand_of(w);
    uint32_t number;
    if (!hand)
        return -WEIR_E_NO_MEMORY;
    forget(hand, object->depth);
    uint64_t told = w->told, gaps = w->gaps;
    if (!weir__scan_suspect_take(repo, &object->id, &number, &suspect))
        return 0;
    if (object->type == WEIR__GIT_BLOB) {
        if (suspect.flags & WEIR__SUSPECT_LARGE && !object->is_file &&
            is_archive(object, has_nul_anywhere(object), false))
            suspect.flags |= WEIR__SUSPECT_FILE; /* nobody could ask before */
        scan_at_paths(w, repo, object, &suspect, number);
    } else if (object->is_file) {
        weir__scan_large_message(w, repo, &object->id, object->length);
    } else {
        weir__scan_origin_of_message(repo, object, number, &suspect, &origin);
        w->brought = &origin.brought;
        /* A tag is called as its header says, where that is told. */
        if (object->type == WEIR__GIT_TAG)
            w->named.untold = repo->path_length + strlen("tag:");
        if (set_path(w, repo, &object->id, origin.path))
            scan_message(w, object);
        w->named.untold = 0;
        weir__git_header_name(object->type, &object->id, repo->id_size, origin.name);
        if (set_path(w, repo, &object->id, origin.name))
            scan_header(w, object);
    }
    w->brought = NULL;
    if (suspect.flags & WEIR__SUSPECT_LARGE) { /* this look is its first */
        w->counts.objects++;
        w->counts.bytes += object->is_file ? 0 : object->length; /* as a file, it was counted */
        if (w->gaps == gaps)
            note_seen(w, repo, &object->id);
    }
    if (w->told != told || w->gaps != gaps)
        weir__scan_suspect_mark(repo, &object->id, WEIR__SUSPECT_TOLD);
    return 0;
}
