/* get_run.c - how a file is got.
 *
 *     writer     the root -> which bytes -> starts the others; then weir__stream_out(), whose
 * chunks come from here scout      goes over the manifest by itself, ahead: a fetch for each chunk
 * -> line, order fetchers   line -> gets the bytes -> done
 *
 * The scout and the writer go over the same list, so what the writer asks for is the next in
 * `order`; what is not there (a node of the manifest) it gets by itself. A fetch holds its share of
 * `room` until it was taken, which bounds how far ahead the others are; all three lines have a
 * place for each fetch that can be alive.
 *
 * The writer alone looks at whether a fetch is done, and learns that by receiving it.
 */
#include "get_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <weir/budget.h>
#include <weir/crew.h>
#include <weir/error.h>
#include <weir/lock.h>
#include <weir/queue.h>

#include "alloc.h"
#include "chunker.h"
#include "file_reader.h"
#include "stream_out.h"

#include "banned.h"

#define UNIT_LEAST (16u << 10)
#define AHEAD_MAX  (WEIR__GET_ROOM / UNIT_LEAST)
#define DRAIN_NS   (2 * WEIR_NS_PER_S)

static const struct weir_lock_class get_class = {"get", 643};

struct fetch {
    struct weir__address address;
    size_t size, length;
    struct weir_permit room;
    int error;
    bool is_done; /* the writer's */
    char problem[WEIR__STORAGE_PROBLEM_MAX];
    unsigned char bytes[];
};

struct weir__get {
    struct weir__get_options options;
    struct weir_crew *crew;
    struct weir_cancel stop;
    struct weir_queue line, order, done, results;
    struct weir_budget room;
    bool has_line, has_order, has_done, has_results, has_room;

    /* Set by the writer before the others are started: */
    struct weir__address root;
    unsigned char *root_bytes;
    size_t root_length;
    unsigned char *plain; /* the chunk that is no manifest */
    size_t plain_length;
    struct weir__stream_range range;

    struct weir__get_result result; /* the writer's */
    struct fetch *head;             /* the writer's: taken from order, not yet asked for */

    struct weir_lock lock; /* guards what follows */
    uint64_t written, fetched, fetched_bytes;
};

/* --- chunks --- */

static void count(struct weir__get *get, size_t length)
{
    weir_lock_acquire(&get->lock);
    get->fetched++;
    get->fetched_bytes += length;
    weir_lock_release(&get->lock);
}

/* What is known already, or from the service. */
static int get_bytes(struct weir__get *get, const struct weir__address *address, void *bytes,
                     size_t size, size_t *ret_length, char problem[WEIR__STORAGE_PROBLEM_MAX])
{
    const unsigned char *known = NULL;
    size_t length = 0;
    if (get->root_bytes && weir__address_is_equal(address, &get->root)) {
        known = get->root_bytes;
        length = get->root_length;
    } else if (get->plain && weir__address_is_equal(address, &get->options.address)) {
        known = get->plain;
        length = get->plain_length;
    }
    if (known && length > size)
        return -WEIR_E_TOO_LARGE;
    if (known) {
        memcpy(bytes, known, length);
        *ret_length = length;
        return 0;
    }
    int error = weir__storage_client_get(get->options.client, address, bytes, size, ret_length,
                                         &get->stop, problem);
    if (!error)
        count(get, *ret_length);
    return error;
}

static void fetch_free(struct fetch *fetch)
{
    struct weir_permit room = WEIR_PERMIT_NONE;
    if (!fetch)
        return;
    weir_permit_move(&room, &fetch->room);
    weir__base_free(fetch);
    weir_permit_release(&room);
}

static int fetch_main(struct weir_crew_self *self, void *arg)
{
    struct weir__get *get = arg;
    struct weir_deadline until_abort = weir_deadline_until(self->abort);
    struct fetch *fetch;
    int error;
    while ((error = weir_queue_recv(&get->line, &fetch, &until_abort)) == 0) {
        fetch->error = get_bytes(get, &fetch->address, fetch->bytes, fetch->size, &fetch->length,
                                 fetch->problem);
        /* It is in `order`, too, and is freed from there. */
        (void)!weir_queue_try_send(&get->done, &fetch);
    }
    return error == -WEIR_E_CANCELED ? error : 0;
}

/* --- the scout --- */

static int scout_get(void *arg, const struct weir__address *address, void *bytes, size_t size,
                     size_t *ret_length)
{
    char problem[WEIR__STORAGE_PROBLEM_MAX];
    return get_bytes(arg, address, bytes, size, ret_length, problem);
}

static int send_out(struct weir__get *get, const struct weir__file_span *span)
{
    struct weir_deadline until_stop = weir_deadline_until(&get->stop);
    struct weir_permit room = WEIR_PERMIT_NONE;
    size_t units = span->chunk_length > UNIT_LEAST ? span->chunk_length : UNIT_LEAST;
    int error = weir_budget_acquire(&get->room, units, &room, &until_stop);
    if (error)
        return error;
    struct fetch *fetch = weir__base_alloc(1, sizeof(*fetch) + span->chunk_length);
    if (!fetch) {
        weir_permit_release(&room);
        return -WEIR_E_NO_MEMORY;
    }
    fetch->address = span->address;
    fetch->size = span->chunk_length;
    weir_permit_move(&fetch->room, &room);
    error = weir_queue_try_send(&get->order, &fetch);
    if (error) {
        fetch_free(fetch);
        return error;
    }
    return weir_queue_try_send(&get->line, &fetch);
}

/* What goes wrong here goes wrong for the writer as well, who tells of it. */
static int scout_main(struct weir_crew_self *self, void *arg)
{
    struct weir__get *get = arg;
    const struct weir__chunk_source source = {.get = scout_get, .arg = get};
    struct weir__file_reader reader;
    struct weir__file_span span;
    (void)self;
    int result = weir__file_reader_open(&reader, &source, &get->root);
    if (result == 0) {
        result = weir__file_reader_seek(&reader, get->range.offset, get->range.length);
        while (result == 0 && (result = weir__file_reader_next(&reader, &span)) > 0)
            result = span.is_hole ? 0 : send_out(get, &span);
        weir__file_reader_close(&reader);
    }
    weir_queue_close(&get->order);
    weir_queue_close(&get->line);
    return 0;
}

/* --- the writer --- */

/* The next fetch, done; NULL: there is none any more. */
static struct fetch *next_fetch(struct weir__get *get)
{
    struct weir_deadline until_stop = weir_deadline_until(&get->stop);
    if (!get->head && weir_queue_recv(&get->order, &get->head, &until_stop))
        get->head = NULL;
    return get->head;
}

/* When stopped, the fetchers bring their fetches to an end all the same. */
static int wait_for(struct weir__get *get, const struct fetch *fetch)
{
    struct weir_deadline until_abort = weir_deadline_until(weir_crew_abort_token(get->crew));
    struct fetch *other;
    int error = 0;
    while (!error && !fetch->is_done) {
        error = weir_queue_recv(&get->done, &other, &until_abort);
        if (!error)
            other->is_done = true;
    }
    return error;
}

static int writer_get(void *arg, const struct weir__address *address, void *bytes, size_t size,
                      size_t *ret_length)
{
    struct weir__get *get = arg;
    char *problem = get->result.problem;
    struct fetch *fetch = next_fetch(get);
    if (!fetch || !weir__address_is_equal(&fetch->address, address) || fetch->size > size)
        return get_bytes(get, address, bytes, size, ret_length, problem);
    int error = wait_for(get, fetch);
    if (error)
        return error;
    get->head = NULL;
    error = fetch->error;
    if (error) {
        snprintf(problem, WEIR__STORAGE_PROBLEM_MAX, "%s", fetch->problem);
    } else {
        memcpy(bytes, fetch->bytes, fetch->length);
        *ret_length = fetch->length;
        weir_lock_acquire(&get->lock);
        get->written += fetch->length;
        weir_lock_release(&get->lock);
    }
    fetch_free(fetch);
    return error;
}

/* A chunk that is no manifest becomes one of a file that is this chunk alone. */
static int make_root(struct weir__get *get)
{
    struct weir__manifest_node *node = weir__base_alloc(1, sizeof(*node));
    get->plain = get->root_bytes;
    get->plain_length = get->root_length;
    get->root_bytes = weir__base_alloc(1, WEIR__MANIFEST_SIZE_MAX);
    int error = node && get->root_bytes ? 0 : -WEIR_E_NO_MEMORY;
    if (!error && get->plain_length > 0)
        error = weir__manifest_add(node, get->plain_length, &get->options.address);
    if (!error) {
        get->root_length = weir__manifest_encode(node, get->root_bytes);
        weir__address_of(get->root_bytes, get->root_length, &get->root);
        get->result.is_chunk = true;
    }
    weir__base_free(node);
    return error;
}

static int get_root(struct weir__get *get)
{
    unsigned char *bytes = weir__base_alloc(1, WEIR__CHUNK_MAX);
    struct weir__address found;
    size_t length = 0;
    int error = bytes ? get_bytes(get, &get->options.address, bytes, WEIR__CHUNK_MAX, &length,
                                  get->result.problem)
                      : -WEIR_E_NO_MEMORY;
    if (!error) {
        weir__address_of(bytes, length, &found);
        if (!weir__address_is_equal(&found, &get->options.address))
            error = -WEIR_E_CORRUPT;
    }
    if (error) {
        weir__base_free(bytes);
        return error;
    }
    get->root = get->options.address;
    get->root_bytes = bytes;
    get->root_length = length;
    return weir__manifest_is_one(bytes, length) ? 0 : make_root(get);
}

static int find_range(struct weir__get *get)
{
    const struct weir__get_options *o = &get->options;
    const struct weir__chunk_source source = {.get = scout_get, .arg = get};
    struct weir__file_reader reader;
    int error = weir__file_reader_open(&reader, &source, &get->root);
    if (error == -WEIR_E_UNSUPPORTED)
        snprintf(get->result.problem, WEIR__STORAGE_PROBLEM_MAX,
                 "it is the manifest of a directory, or of a later version");
    if (error)
        return error;
    uint64_t whole = weir__file_reader_length(&reader), first = 0, end = whole;
    weir__file_reader_close(&reader);
    if (o->part == WEIR__GET_FROM || o->part == WEIR__GET_BETWEEN)
        first = o->first;
    if (o->part == WEIR__GET_BETWEEN && o->last < whole)
        end = o->last + 1;
    if (o->part == WEIR__GET_LAST && o->last < whole)
        first = whole - o->last;
    if (o->part != WEIR__GET_ALL && first >= whole) {
        snprintf(get->result.problem, WEIR__STORAGE_PROBLEM_MAX, "it has %llu bytes",
                 (unsigned long long)whole);
        return -WEIR_E_RANGE;
    }
    get->range = (struct weir__stream_range){first, end - first};
    get->result.whole = whole;
    return 0;
}

static int start_others(struct weir__get *get)
{
    int error = 0;
    for (uint32_t i = 0; !error && i < get->options.parallel; i++)
        error = weir_crew_start(get->crew, "fetch", fetch_main, get);
    if (!error)
        error = weir_crew_start(get->crew, "scout", scout_main, get);
    get->result.lacks_threads = error != 0;
    return error;
}

static int write_main(struct weir_crew_self *self, void *arg)
{
    struct weir__get *get = arg;
    const struct weir__chunk_source source = {.get = writer_get, .arg = get};
    const struct weir_deadline until_stop = weir_deadline_until(&get->stop);
    (void)self;
    int error = get_root(get);
    if (!error)
        error = find_range(get);
    if (!error)
        error = start_others(get);
    if (!error)
        error = weir__stream_out(&source, &get->root, &get->range, get->options.fd, &until_stop);
    get->result.has_reader_left = error == -WEIR_E_IO && errno == EPIPE;
    weir_cancel_fire(&get->stop); /* who is ahead need not go on */
    get->result.error = error;
    get->result.bytes = get->range.length;
    if (error && !get->result.problem[0])
        snprintf(get->result.problem, WEIR__STORAGE_PROBLEM_MAX, "%s", weir_error_text(error));
    weir_lock_acquire(&get->lock);
    get->result.chunks = get->fetched;
    get->result.chunk_bytes = get->fetched_bytes;
    weir_lock_release(&get->lock);
    (void)!weir_queue_try_send(&get->results, &get->result);
    return 0;
}

/* --- life cycle --- */

static int make_queue(struct weir_queue *queue, const char *name, size_t size, uint64_t capacity,
                      bool *ret_has)
{
    int error = weir_queue_init(queue, name, &(struct weir_queue_options){size, capacity});
    *ret_has = error == 0;
    return error;
}

static int init(struct weir__get *get)
{
    const struct weir_crew_options crew = {.threads_max = get->options.parallel + 2,
                                           .drain_ns = DRAIN_NS};
    const size_t pointer = sizeof(struct fetch *);
    int error = make_queue(&get->line, "get-line", pointer, AHEAD_MAX, &get->has_line);
    if (!error)
        error = make_queue(&get->order, "get-order", pointer, AHEAD_MAX, &get->has_order);
    if (!error)
        error = make_queue(&get->done, "get-done", pointer, AHEAD_MAX, &get->has_done);
    if (!error)
        error = make_queue(&get->results, "get-results", sizeof(struct weir__get_result), 1,
                           &get->has_results);
    if (!error) {
        error = weir_budget_init(&get->room, "get-room", WEIR__GET_ROOM);
        get->has_room = error == 0;
    }
    if (!error)
        error = weir_crew_new(&get->crew, "get", &crew);
    return error ? error : weir_crew_start(get->crew, "write", write_main, get);
}

int weir__get_start(struct weir__get **ret_get, const struct weir__get_options *options)
{
    struct weir__get *get = weir__base_alloc(1, sizeof(*get));
    if (!get)
        return -WEIR_E_NO_MEMORY;
    get->options = *options;
    weir_cancel_init(&get->stop, NULL);
    weir_lock_init(&get->lock, &get_class);
    int error = init(get);
    if (error) {
        (void)!weir__get_free(get);
        return error;
    }
    *ret_get = get;
    return 0;
}

int weir__get_wait(struct weir__get *get, struct weir__get_result *ret_result,
                   const struct weir_deadline *deadline)
{
    return weir_queue_recv(&get->results, ret_result, deadline);
}

void weir__get_stop(struct weir__get *get)
{
    weir_cancel_fire(&get->stop);
}

void weir__get_read(struct weir__get *get, struct weir__get_progress *ret_progress)
{
    weir_lock_acquire(&get->lock);
    ret_progress->bytes = get->written;
    weir_lock_release(&get->lock);
}

static void drop_fetch(void *arg, void *item)
{
    (void)arg;
    fetch_free(*(struct fetch **)item);
}

static void queues_fini(struct weir__get *get)
{
    if (get->has_line) {
        weir_queue_drain(&get->line, NULL, NULL);
        weir_queue_fini(&get->line);
    }
    if (get->has_done) {
        weir_queue_drain(&get->done, NULL, NULL);
        weir_queue_fini(&get->done);
    }
    if (get->has_order) {
        weir_queue_drain(&get->order, drop_fetch, NULL);
        weir_queue_fini(&get->order);
    }
    if (get->has_results) {
        weir_queue_drain(&get->results, NULL, NULL);
        weir_queue_fini(&get->results);
    }
}

bool weir__get_free(struct weir__get *get)
{
    struct weir_crew_report report = {.kind_count = 0};
    if (!get)
        return true;
    weir_cancel_fire(&get->stop);
    if (get->has_line)
        weir_queue_close(&get->line);
    if (get->crew)
        weir_crew_drain(get->crew, &report);
    for (uint64_t i = 0; i < report.kind_count; i++)
        if (report.kinds[i].abandoned > 0)
            return false;
    weir_crew_free(get->crew);
    fetch_free(get->head);
    queues_fini(get);
    if (get->has_room)
        weir_budget_fini(&get->room);
    weir__base_free(get->root_bytes);
    weir__base_free(get->plain);
    weir_lock_fini(&get->lock);
    weir_cancel_fini(&get->stop);
    weir__base_free(get);
    return true;
}
