/* storage_part.h - what the files of the service share; nobody else includes this.
 *
 *   storage.c    the description, and what is opened and closed
 *   posts.c      threads and their lines
 *   route.c      paths, and which way a request goes
 *   job.c        what jobs hold
 *   object.c     GET and HEAD of /o/
 *   upload.c     PUT and POST
 *   file.c       GET and HEAD of /f/: manifests as the files that they stand for
 *   change.c     DELETE, /have, /inventory, /admin/
 *   quota.c      how much was stored with each token
 *   repair.c     what becomes of damaged chunks
 *   numbers.c    metrics
 *   topology.c   what is said of its parts
 *
 * The rest is the daemon's.
 *
 * Ownership: a job belongs to the thread that works on it, and to its request while that waits.
 */
#ifndef WEIR_STORAGE_STORAGE_PART_H
#define WEIR_STORAGE_STORAGE_PART_H

#include "condition.h"
#include "file_reader.h"
#include "quota.h"
#include "range.h"
#include "storage.h"
#include "storage_config.h"
#include "store.h"

#define WEIR__STORAGE_REPAIRERS 2u
/* How long a request may take unless it says otherwise, and what it may say at most. */
#define WEIR__STORAGE_DEADLINE_NS      (10 * WEIR_NS_PER_S)
#define WEIR__STORAGE_DEADLINE_MOST_MS UINT64_C(600000)
/* When the threads have ended: for the store, to write what waits. */
#define WEIR__STORAGE_CLOSE_NS (10 * WEIR_NS_PER_S)
#define WEIR__STORAGE_DAMAGED  1024u  /* damaged chunks that are remembered */
#define WEIR__STORAGE_BEYOND   65536u /* bits for those beyond, by two bytes of the address */

struct weir__file_answer;

enum weir__storage_route {
    WEIR__ROUTE_OBJECT, /* /o/ADDRESS */
    WEIR__ROUTE_OBJECTS,
    WEIR__ROUTE_FILE, /* /f/ADDRESS */
    WEIR__ROUTE_HAVE,
    WEIR__ROUTE_INVENTORY,
    WEIR__ROUTE_SCRUB,
    WEIR__ROUTE_REPAIR,
};

enum weir__storage_line {
    WEIR__LINE_READS,
    WEIR__LINE_WRITES,
    WEIR__LINE_STREAMS, /* pieces of answers that have begun */
    WEIR__LINES
};

enum weir__endpoint {
    WEIR__ENDPOINT_GET,
    WEIR__ENDPOINT_PUT,
    WEIR__ENDPOINT_OTHER,
    WEIR__ENDPOINTS
};

/* The block of each exchange. */
struct weir__ask {
    struct weir__daemon_ask head; /* first */
    struct weir__address address; /* of the path, where it has one */
    struct weir__quota_hold hold; /* of an upload, until its job has it */
    struct weir__chunk chunk;     /* that is being sent */
    struct weir__file_answer *file;
};

struct weir__job {
    struct weir__errand head; /* first */
    struct weir__address address;
    struct weir__chunk chunk; /* lent by the request in a step, as the file */
    struct weir__store_write write;
    bool wants_bytes;               /* verified into memory, not by its place */
    bool is_checked;                /* the address was given and must be that of the bytes */
    bool was_damaged;               /* what is there under it is bad */
    bool fails_there, fails_absent; /* a condition of the request, if the chunk is there or not */
    bool is_unmet;                  /* and so it was */
    struct weir__quota_hold hold;   /* of an upload */
    struct weir__file_answer *file; /* while the job has it */
    int warm_fd;
    uint64_t warm_offset, warm_length;
};

/* Of a member of a pool. */
struct weir__tools {
    struct weir__store_reader reader;
    struct weir__decoder decoder;
};

struct weir__repair {
    struct weir__address address;
    bool is_suspect;    /* it could not be sent: it is to be read first */
    bool is_remembered; /* when it was sent into the line */
};

struct weir__storage_counts {
    struct weir_counter repairs, repairs_failed, skipped_full;
    struct weir_counter answered_by_loop;
    struct weir_counter quota_refused[WEIR__QUOTA_REASONS];
    struct weir_histogram repair_wait;
};

struct weir__damaged {
    struct weir__address address;
    bool is_waiting; /* in the line of repairs, or at a repairer */
};

struct weir__storage {
    struct weir__daemon daemon; /* first */
    struct weir__store *store;
    struct weir__quota *quota;
    struct weir_queue repairs; /* struct weir__repair */
    struct weir_rate pacing;
    struct weir__storage_counts counts;

    struct weir_lock damage_lock; /* guards what follows */
    struct weir__damaged damaged[WEIR__STORAGE_DAMAGED];
    size_t damaged_count;
    uint64_t damaged_beyond[WEIR__STORAGE_BEYOND / 64]; /* bits that are set stay so */
    uint64_t repairs_left; /* that a drain has dropped or canceled, and nobody remembered */
};

/* Of the rules. */
static inline const struct weir__storage_config *
weir__storage_own(const struct weir__daemon_rules *rules)
{
    return rules->own;
}

/* NULL is none. */
static inline struct weir__job *weir__job_of(struct weir__errand *errand)
{
    return (struct weir__job *)errand;
}

static inline struct weir__storage *weir__job_storage(const struct weir__job *job)
{
    return (struct weir__storage *)job->head.daemon;
}

static inline struct weir__store_reader *weir__reader_of(struct weir__worker *worker)
{
    return &((struct weir__tools *)worker->tools)->reader;
}

static inline struct weir__decoder *weir__decoder_of(struct weir__worker *worker)
{
    return &((struct weir__tools *)worker->tools)->decoder;
}

/* --- storage.c --- */
/* Whether the disk takes writes, as far as is known. */
bool weir__storage_has_disk(const struct weir__store_stats *stats);

/* --- posts.c --- */
extern const struct weir__daemon_line weir__storage_lines[];
extern const struct weir__daemon_post weir__storage_posts[];
WEIR_MUST_USE int weir__storage_init_tools(struct weir__worker *worker);
void weir__storage_fini_tools(struct weir__worker *worker);

/* --- job.c --- */
void weir__job_init(struct weir__errand *errand, const struct weir__daemon_ask *head);
void weir__job_fini(struct weir__errand *errand);
void weir__job_lend(struct weir__errand *errand, struct weir__daemon_ask *head);
void weir__job_take_back(struct weir__errand *errand, struct weir__daemon_ask *head);

/* --- route.c --- */
extern const struct weir__daemon_route weir__storage_routes[];
unsigned weir__storage_endpoint_of(const struct weir__exchange *exchange,
                                   const struct weir__daemon_ask *ask);
const char *weir__storage_reason_of(struct weir__daemon *daemon, int error);
/* As weir__daemon_tell_failure(), of a chunk or NULL. */
bool weir__storage_tell_failure(const struct weir__exchange *exchange, int error,
                                const struct weir__address *chunk);
void weir__storage_init_ask(struct weir__daemon_ask *head);
bool weir__storage_parse(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                         const char *rest);
void weir__storage_begin(struct weir__exchange *exchange, struct weir__daemon_ask *head,
                         const struct weir__daemon_rules *rules);
void weir__storage_whole(struct weir__exchange *exchange, struct weir__daemon_ask *head);
void weir__storage_resume(struct weir__exchange *exchange, struct weir__daemon_ask *head);
int weir__storage_more(struct weir__exchange *exchange, struct weir__daemon_ask *head);
void weir__storage_broke(struct weir__exchange *exchange, int error, int fd, uint64_t offset);
void weir__storage_gone(struct weir__exchange *exchange, struct weir__daemon_ask *head);

/* --- what routes do; on the loop's thread --- */
void weir__object_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__object_resume(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__upload_begin(struct weir__exchange *exchange, struct weir__ask *ask,
                        const struct weir__daemon_rules *rules);
void weir__upload_whole(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__upload_resume(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_resume(struct weir__exchange *exchange, struct weir__ask *ask);
int weir__file_more(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__file_gone(struct weir__ask *ask);
/* The chunk that has this place of a file; NULL: none that is being sent. */
const struct weir__address *weir__file_chunk_at(const struct weir__file_answer *file, int fd,
                                                uint64_t offset);
void weir__file_answer_free(struct weir__file_answer *file);
void weir__change_begin(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__change_whole(struct weir__exchange *exchange, struct weir__ask *ask);
void weir__change_resume(struct weir__exchange *exchange, struct weir__ask *ask);

/* The handler's call for what is not in memory. */
void weir__object_warm(struct weir__exchange *exchange, int fd, uint64_t offset, uint64_t length);

/* What the conditions and the range of a GET or HEAD say about content with that tag and size: 1
 * when that is an answer already (304, 412, 416), which was sent; else 0 and the ranges. */
int weir__conditions_answer(struct weir__exchange *exchange, const char *etag, uint64_t size,
                            struct weir__ranges *ret_ranges);
#define WEIR__CONTENT_TYPE "application/octet-stream"
#define WEIR__ETAG_SIZE    (WEIR__ADDRESS_TEXT + 2)
void weir__etag_print(const struct weir__address *address, char etag[WEIR__ETAG_SIZE]);
/* What its conditions say of a request that changes the chunk of that address, for its job. */
void weir__conditions_note(struct weir__exchange *exchange, const struct weir__address *address,
                           struct weir__job *job);
/* Whether the job ended at a condition, which was answered then (412). */
bool weir__conditions_unmet(struct weir__exchange *exchange, const struct weir__job *job);
/* The boundary of several ranges; false: an error was answered. */
bool weir__boundary_make(struct weir__exchange *exchange, char boundary[WEIR__RANGE_BOUNDARY_SIZE]);

/* Headers that an answer with content has. etag: with its quotes. */
void weir__content_headers(struct weir__exchange *exchange, const char *etag, bool is_file);

/* --- repair.c --- */
void weir__repair_damage(void *arg, const struct weir__address *address, const char *what);
/* A chunk of which an answer could not be sent: somebody who may wait for the disk is to read it.
 */
void weir__repair_suspect(struct weir__storage *storage, const struct weir__address *address);
int weir__repair_main(struct weir_crew_self *self, void *arg);
/* Somebody has put it again: it is good. */
void weir__repair_forget(struct weir__storage *storage, const struct weir__address *address);
/* It was found damaged and could not be repaired, and nobody has put it again since: whatever the
 * store says of it, where the verdict had no room. */
bool weir__repair_has(struct weir__storage *storage, const struct weir__address *address);
/* The same is so of it, or of another with its bit: too many were found to remember which. */
bool weir__repair_may_have(struct weir__storage *storage, const struct weir__address *address);
/* What could not be repaired is tried once more. */
void weir__repair_again(struct weir__storage *storage);
/* At the end: nothing waits in line from here on. */
void weir__repair_end(struct weir__storage *storage);
/* When the repairers have ended too: chunks that are damaged, and that nobody will think of. */
uint64_t weir__repair_left(struct weir__storage *storage);

/* --- numbers.c --- */
void weir__storage_sample(struct weir__daemon *daemon, struct weir__daemon_pass *pass);
WEIR_MUST_USE int weir__storage_add_metrics(struct weir__daemon *daemon);
void weir__storage_list_parts(struct weir__daemon *daemon, struct weir__daemon_parts *parts);

/* --- topology.c --- */
extern const struct weir__daemon_said weir__storage_thread_texts[], weir__storage_channel_texts[],
    weir__storage_limit_texts[], weir__storage_lock_texts[], weir__storage_key_texts[];
extern const struct weir__daemon_time weir__storage_times[];

#endif
