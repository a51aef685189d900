/* scan_members.c - one archive in work: what it holds of the pool, and members of it that other
 * threads scan.
 *
 * State, guarded by the lock of the run: a list of members that wait for somebody, `open`, which
 * counts them, those that are being scanned, and the walk itself, and `users`, which counts
 * everybody who knows the archive.
 *
 * Happy path: the thread that walks puts small members into the list as long as the frontier of the
 * archive lets it, and calls for help when somebody has nothing to do. A helper takes members until
 * the list is empty. When the walk is over, the thread that walked takes what is left itself; then
 * `open` counts only members that somebody is at, and with the last of them the permit of the pool
 * goes home.
 *
 * Failure modes: nobody helps, or only when all is done: then the list was emptied by the walk. So
 * nothing that waits in a queue ever holds a part of the pool, and since scanning a member waits
 * for nothing, whoever waits for the pool is served. Without memory or room in the frontier a
 * member is scanned where it is. When the run is stopped, what is in the list is dropped.
 *
 * Members of an archive in a history are not handed over: what is found in them belongs to the
 * object, which is remembered by it, and the threads are at its other objects.
 */
#include "scan_part.h"

#include <string.h>

#include "alloc.h"
#include "job_mutants.h"

#include "banned.h"

_Static_assert(WEIR__SCAN_MEMBERS_BYTES >= 2 * WEIR__SCAN_HANDED_BYTES, "some are handed over");

struct member {
    struct member *next;
    struct weir_frontier_permit permit;
    size_t path_length, length;
    char text[]; /* the path and NUL, then the bytes */
};

struct weir__scan_archive {
    struct weir__scan *run;
    struct weir_pool_permit permit;
    struct weir_frontier members;
    struct weir_frontier_permit own; /* of what is walked */
    struct member *first, **last;
    uint32_t open, users, helpers;
};

/* --- life --- */

static void drop(struct weir__scan_archive *archive)
{
    weir_lock_acquire(&archive->run->lock);
    bool is_last = --archive->users == 0;
    weir_lock_release(&archive->run->lock);
    if (!is_last)
        return;
    if (WEIR__JOB_MUTANT(ARCHIVE_POOL_WITH_LAST_USER))
        weir_pool_permit_release(&archive->permit);
    weir_frontier_fini(&archive->members);
    weir__base_free(archive);
}

/* One member less, or the walk is over. */
static void close_one(struct weir__scan_archive *archive)
{
    weir_lock_acquire(&archive->run->lock);
    bool is_last = --archive->open == 0;
    archive->run->archives.held.now -= is_last;
    weir_lock_release(&archive->run->lock);
    if (is_last && !WEIR__JOB_MUTANT(ARCHIVE_POOL_WITH_LAST_USER))
        weir_pool_permit_release(&archive->permit);
}

int weir__scan_archive_new(struct weir__scan *run, struct weir__scan_archive **ret_archive)
{
    const struct weir_frontier_options limits = {
        .blobs_max = run->archives.members_max,
        .bytes_max = WEIR__SCAN_MEMBERS_BYTES,
    };
    struct weir_pool_request request =
        weir_pool_request_archive(run->archives.bytes, !run->options->has_no_spill);
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    struct weir__scan_archive *archive = weir__base_alloc(1, sizeof(*archive));
    if (!archive)
        return -WEIR_E_NO_MEMORY;
    archive->run = run;
    archive->users = archive->open = 1;
    archive->last = &archive->first;
    int result = weir_frontier_init(&archive->members, "scan-members", &limits);
    if (result == 0)
        result = weir_frontier_try(&archive->members, WEIR__SCAN_HANDED_BYTES, &archive->own);
    if (result == 0)
        result = weir_pool_acquire(&run->archives.pool, &request, &archive->permit, &deadline);
    if (result < 0) {
        if (!WEIR__JOB_MUTANT(ARCHIVE_REFUSED_KEEPS_MEMBER))
            weir_frontier_permit_release(&archive->own);
        weir_frontier_fini(&archive->members);
        weir__base_free(archive);
        return result;
    }
    weir__scan_held_begin(run, &run->archives.held, &run->archives.pool, NULL);
    *ret_archive = archive;
    return 0;
}

static void scan_members(struct weir__scan_worker *w, struct weir__scan_archive *archive);

int weir__scan_archive_grow(struct weir__scan_worker *w, struct weir__scan_archive *archive)
{
    struct weir__scan *run = archive->run;
    struct weir_pool_request request =
        weir_pool_request_archive(run->archives.bytes_most, !run->options->has_no_spill);
    struct weir_deadline deadline = weir_deadline_until(&run->stop);
    /* Of what it has, nothing may be kept while it waits for more: two who do would wait for each
     * other. What others are scanning by now is small and needs nobody. */
    scan_members(w, archive);
    weir_pool_permit_release(&archive->permit);
    int result = weir_pool_acquire(&run->archives.pool, &request, &archive->permit, &deadline);
    if (result == 0)
        weir__scan_held_note(run, &run->archives.held, &run->archives.pool, NULL);
    return result;
}

/* --- members --- */

static struct member *pop(struct weir__scan_archive *archive)
{
    weir_lock_acquire(&archive->run->lock);
    struct member *member = archive->first;
    if (member) {
        archive->first = member->next;
        if (!archive->first)
            archive->last = &archive->first;
    }
    weir_lock_release(&archive->run->lock);
    return member;
}

static void push(struct weir__scan_archive *archive, struct member *member)
{
    weir_lock_acquire(&archive->run->lock);
    *archive->last = member;
    archive->last = &member->next;
    if (!WEIR__JOB_MUTANT(MEMBER_NOT_COUNTED))
        archive->open++;
    weir_lock_release(&archive->run->lock);
}

static void free_member(struct weir__scan_archive *archive, struct member *member)
{
    weir_frontier_permit_release(&member->permit);
    weir__base_free(member);
    if (!WEIR__JOB_MUTANT(MEMBER_NOT_COUNTED))
        close_one(archive);
}

/* With the worker's path that of the member. */
static void scan_member(struct weir__scan_worker *w, const struct member *member)
{
    weir__buffer_truncate(&w->path, 0);
    if (weir__buffer_append(&w->path, member->text, member->path_length) < 0) {
        weir__scan_tell(w, member->text, "cannot scan", weir_error_text(WEIR_E_NO_MEMORY));
        return;
    }
    if (!weir__scan_object_begin(w))
        return;
    const char *bytes = member->text + member->path_length + 1;
    if (member->length > 0 && !weir__scan_object_feed(w, bytes, member->length))
        return;
    weir__scan_object_count(w, member->length);
    if (weir__scan_object_end(w))
        w->counts.members++;
}

static void scan_members(struct weir__scan_worker *w, struct weir__scan_archive *archive)
{
    struct member *member;
    while ((member = pop(archive)) != NULL) {
        if (WEIR__JOB_MUTANT(MEMBER_LOST_WHEN_STOPPED) && weir__scan_is_stopped(w))
            return;
        if (!weir__scan_is_stopped(w))
            scan_member(w, member);
        free_member(archive, member);
    }
}

/* --- help --- */

static void release_help(struct weir__job *job)
{
    struct weir__scan_archive *archive = job->archive;
    weir_lock_acquire(&archive->run->lock);
    archive->helpers--;
    weir_lock_release(&archive->run->lock);
    if (!WEIR__JOB_MUTANT(HELP_NOT_HELD))
        drop(archive);
}

static void call_for_help(struct weir__scan_archive *archive)
{
    struct weir__job *job = weir__job_new(WEIR__JOB_HELP, "", 0, 0);
    if (!job)
        return;
    weir_lock_acquire(&archive->run->lock);
    if (!WEIR__JOB_MUTANT(HELP_NOT_HELD))
        archive->users++;
    archive->helpers++;
    weir_lock_release(&archive->run->lock);
    job->archive = archive;
    job->release = release_help;
    if (!weir__job_offer(archive->run, job))
        weir__job_free(job);
}

void weir__scan_help(struct weir__scan_worker *w, const struct weir__job *job)
{
    scan_members(w, job->archive);
}

bool weir__scan_archive_has_help(struct weir__scan_archive *archive)
{
    weir_lock_acquire(&archive->run->lock);
    bool has_help = archive->helpers > 0;
    weir_lock_release(&archive->run->lock);
    return has_help || weir__job_is_wanted(archive->run);
}

bool weir__scan_archive_hand_over(struct weir__scan_archive *archive,
                                  const struct weir__buffer *path, const struct weir__buffer *bytes)
{
    size_t path_length = weir__buffer_length(path), length = weir__buffer_length(bytes);
    struct weir_frontier_permit permit = WEIR_FRONTIER_PERMIT_NONE;
    size_t text_length = path_length + 1 + length;
    if (WEIR__JOB_MUTANT(MEMBER_WAITS_FOR_ROOM)) {
        struct weir_deadline deadline = weir_deadline_until(&archive->run->stop);
        if (weir_frontier_acquire(&archive->members, text_length, &permit, &deadline) < 0)
            return false;
    } else if (weir_frontier_try(&archive->members, text_length, &permit) < 0) {
        return false;
    }
    struct member *member = weir__base_alloc(1, sizeof(*member) + text_length);
    if (!member) {
        weir_frontier_permit_release(&permit);
        return WEIR__JOB_MUTANT(MEMBER_WITHOUT_MEMORY_IS_LOST);
    }
    weir_frontier_permit_move(&member->permit, &permit);
    member->path_length = path_length;
    member->length = length;
    memcpy(member->text, weir__buffer_text(path), path_length);
    memcpy(member->text + path_length + 1, weir__buffer_text(bytes), length);
    push(archive, member);
    if (weir__job_is_wanted(archive->run))
        call_for_help(archive);
    return true;
}

void weir__scan_archive_over(struct weir__scan_worker *w, struct weir__scan_archive *archive)
{
    if (!WEIR__JOB_MUTANT(ARCHIVE_LEFT_TO_HELPERS))
        scan_members(w, archive);
    weir_frontier_permit_release(&archive->own);
    close_one(archive);
    drop(archive);
}
