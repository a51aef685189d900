/* scenarios_scan.c - the jobs of a scan and its read tokens: nothing is lost, nobody waits for
 * himself, the run ends once.
 *
 * The threads do what those of a scan do, without input and output: one hands out paths, the others
 * take jobs, read files with a token and room for its bytes each, and give some of what they have
 * to whoever is idle. Jobs, queue, budgets and locks are the real ones.
 */
#include "xp.h"

#include <weir/error.h>

#include "job_mutants.h"
#include "scan_part.h"

#define FILES_MAX 4
#define PATHS_MAX 3

/* A job is about the files from one letter to another: "ac" is a, b and c. */
static struct {
    struct weir__scan run;
    unsigned done[FILES_MAX]; /* how often each file was read */
    const char *paths[PATHS_MAX];
    unsigned sent, taken, kept; /* by the one who hands out: with the queue, or still his */
    unsigned offered, refused;
    unsigned reading, bytes_out;
    unsigned reads_limit, bytes_limit;
    bool is_sharing, asks_nobody;
} s;

/* ---- files and their tokens ---- */

/* As in weir__scan_file(): first the token, then the bytes. */
static bool admit(struct weir_permit *read, struct weir_permit *bytes)
{
    struct weir_deadline deadline = weir_deadline_until(&s.run.stop);
    bool is_other_way = WEIR__JOB_MUTANT(JOB_TOKENS_IN_ANY_ORDER) && xp_thread_index() == 1;
    struct weir_budget *first = is_other_way ? &s.run.bytes : &s.run.reads;
    struct weir_budget *second = is_other_way ? &s.run.reads : &s.run.bytes;
    int result = weir_budget_acquire(first, 1, is_other_way ? bytes : read, &deadline);
    if (result == 0)
        result = weir_budget_acquire(second, 1, is_other_way ? read : bytes, &deadline);
    XP_ASSERT(result == 0 || (result == -WEIR_E_CANCELED && weir_cancel_is_fired(&s.run.stop)),
              "neither admitted nor stopped");
    return result == 0;
}

static void read_file(unsigned number, struct weir_permit *read, struct weir_permit *bytes)
{
    XP_ASSERT(s.run.open > 0, "somebody works, and no job is open");
    if (admit(read, bytes)) {
        s.reading++;
        s.bytes_out++;
        XP_ASSERT(s.reading <= s.reads_limit, "more files at once than tokens");
        XP_ASSERT(s.bytes_out <= s.bytes_limit, "more bytes than there are");
        xp_point();
        s.done[number]++;
        s.reading--;
        s.bytes_out--;
    }
    if (WEIR__JOB_MUTANT(JOB_TOKENS_KEPT))
        return;
    weir_permit_release(bytes);
    weir_permit_release(read);
}

/* ---- jobs ---- */

static struct weir__job *job_of(const char *range)
{
    return weir__job_new(WEIR__JOB_PATH, range, 2, 0);
}

/* Gives away all but the next one. */
static bool share(char from, char until)
{
    char range[3] = {from, until, '\0'};
    if (!s.is_sharing || (!s.asks_nobody && !weir__job_is_wanted(&s.run)))
        return false;
    struct weir__job *job = job_of(range);
    if (job && weir__job_offer(&s.run, job)) {
        s.offered++;
        return true;
    }
    s.refused++;
    weir__job_free(job);
    return false;
}

static void do_job(const struct weir__job *job)
{
    struct weir_permit read = WEIR_PERMIT_NONE, bytes = WEIR_PERMIT_NONE;
    char until = job->text[1];
    for (char at = job->text[0]; at <= until && !weir_cancel_is_fired(&s.run.stop); at++) {
        read_file((unsigned)(at - 'a'), &read, &bytes);
        if (at < until && share((char)(at + 1), until))
            until = at;
    }
    weir_permit_release(&bytes);
    weir_permit_release(&read);
}

/* As weir__scan_worker_main(). */
static void worker(void)
{
    struct weir__job *job = NULL;
    int result;
    while ((result = weir__job_take(&s.run, &job)) == 0) {
        s.taken++;
        if (WEIR__JOB_MUTANT(JOB_DONE_BEFORE_WORK))
            weir__job_done(&s.run);
        do_job(job);
        weir__job_free(job);
        if (!WEIR__JOB_MUTANT(JOB_DONE_BEFORE_WORK))
            weir__job_done(&s.run);
    }
    if (result == -WEIR_E_CANCELED)
        XP_ASSERT(weir_cancel_is_fired(&s.run.stop), "canceled, and nobody did");
    else
        XP_ASSERT_EQ(result, -WEIR_E_CLOSED);
    if (result == -WEIR_E_CLOSED)
        XP_ASSERT_EQ(s.run.open, 0);
}

/* As weir__scan_list_main(). */
static void hands_out(void)
{
    for (unsigned i = 0; i < PATHS_MAX && s.paths[i]; i++) {
        struct weir__job *job = job_of(s.paths[i]);
        if (!job || weir__job_send(&s.run, job) < 0) {
            XP_ASSERT(!job || weir_cancel_is_fired(&s.run.stop), "refused, and nobody stops");
            weir__job_free(job);
            s.kept++;
            break;
        }
        s.sent++;
    }
    weir__job_done(&s.run);
}

/* ---- beginning and end ---- */

static const struct weir_lock_class run_class = {"scan-run", 200};

static void start(uint64_t reads, uint64_t bytes, uint64_t capacity)
{
    struct weir_queue_options queue = {.item_size = sizeof(struct weir__job *),
                                       .capacity = capacity};
    s.reads_limit = (unsigned)reads;
    s.bytes_limit = (unsigned)bytes;
    weir_cancel_init(&s.run.stop, NULL);
    weir_lock_init(&s.run.lock, &run_class);
    XP_ASSERT_EQ(weir_budget_init(&s.run.reads, "scan-reads", reads), 0);
    XP_ASSERT_EQ(weir_budget_init(&s.run.bytes, "scan-bytes", bytes), 0);
    XP_ASSERT_EQ(weir_queue_init(&s.run.jobs, "scan-jobs", &queue), 0);
    s.run.open = 1;
}

static void free_left(void *arg, void *item)
{
    ++*(unsigned *)arg;
    weir__job_free(*(struct weir__job **)item);
}

/* What is open is what lies in the queue, and nothing else. */
static void check_end(void)
{
    unsigned left = 0;
    weir_queue_drain(&s.run.jobs, free_left, &left);
    XP_ASSERT_EQ(s.run.open, left);
    XP_ASSERT_EQ(s.run.idle, 0);
    XP_ASSERT_EQ(s.sent + s.offered, s.taken + left);
    XP_ASSERT_EQ(s.reading, 0);
    weir_queue_fini(&s.run.jobs);
    weir_budget_fini(&s.run.reads);
    weir_budget_fini(&s.run.bytes);
    weir_lock_fini(&s.run.lock);
    weir_cancel_fini(&s.run.stop);
}

static void check_all(unsigned files)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        XP_ASSERT_EQ(s.done[i], i < files);
    XP_ASSERT_EQ(s.kept, 0);
    XP_ASSERT_EQ(s.run.open, 0);
    check_end();
}

/* ---- the run ends, once, with all done ---- */

static void three_paths(void)
{
    s.paths[0] = "aa";
    s.paths[1] = "bb";
    s.paths[2] = "cc";
    start(2, 2, 1);
}

static void check_three(void)
{
    check_all(3);
}

XP_SCENARIO(scan_all_paths, .about = "all paths are scanned once, and then everybody ends",
            XP_STATE(s), .setup = three_paths, .threads = {hands_out, worker, worker},
            .check = check_three, .bound = 2)

XP_SCENARIO(scan_one_thread, .about = "one worker is enough for any number of paths", XP_STATE(s),
            .setup = three_paths, .threads = {hands_out, worker}, .check = check_three, .bound = 3,
            .tso = true, .tso_bound = 2)

/* ---- offers ---- */

static void one_large(void)
{
    s.is_sharing = true;
    s.paths[0] = "ac";
    start(2, 2, 2);
}

XP_SCENARIO(scan_offers, .about = "what is given to others is done once, before the run ends",
            XP_STATE(s), .setup = one_large, .threads = {hands_out, worker, worker},
            .check = check_three, .bound = 2)

static void nobody_to_take(void)
{
    s.is_sharing = s.asks_nobody = true;
    s.paths[0] = "ab";
    s.paths[1] = "cd";
    start(1, 1, 1);
}

static void check_four(void)
{
    check_all(4);
}

XP_SCENARIO(scan_offers_never_wait, .about = "a full queue refuses offers, and the run goes on",
            XP_STATE(s), .setup = nobody_to_take, .threads = {hands_out, worker},
            .check = check_four, .bound = 3, .tso = true, .tso_bound = 2)

/* Is asked only when the other one sleeps or is about to, and then it must come to him. */
static bool are_all_done(void *arg)
{
    (void)arg;
    return s.done[0] + s.done[1] > 0;
}

static void offers_and_waits(void)
{
    struct weir__job *job = job_of("aa");
    if (weir__job_is_wanted(&s.run) && weir__job_offer(&s.run, job)) {
        s.offered++;
        xp_await(are_all_done, NULL);
    } else {
        weir__job_free(job);
    }
    weir__job_done(&s.run);
}

static void check_offered(void)
{
    XP_ASSERT_EQ(s.done[0], s.offered);
    check_end();
}

static void empty(void)
{
    start(1, 1, 1);
}

XP_SCENARIO(scan_offer_wakes, .about = "what is offered while somebody is idle comes to him",
            XP_STATE(s), .setup = empty, .threads = {offers_and_waits, worker},
            .check = check_offered, .bound = 3, .spurious = 1, .tso = true, .tso_bound = 2)

/* ---- tokens ---- */

static void one_token(void)
{
    s.is_sharing = true;
    s.paths[0] = "ab";
    s.paths[1] = "cc";
    start(1, 1, 3);
}

XP_SCENARIO(scan_limit_of_one, .about = "one token and the bytes of one read are enough",
            XP_STATE(s), .setup = one_token, .threads = {hands_out, worker, worker},
            .check = check_three, .bound = 2)

/* Tokens alone: two readers are there already, each with a file. */
static void reads_one(void)
{
    struct weir_permit read = WEIR_PERMIT_NONE, bytes = WEIR_PERMIT_NONE;
    read_file((unsigned)xp_thread_index(), &read, &bytes);
}

static void tokens_alone(void)
{
    start(1, 1, 1);
}

static void check_read(void)
{
    XP_ASSERT_EQ(s.done[0], 1);
    XP_ASSERT_EQ(s.done[1], 1);
    s.run.open = 0;
    check_end();
}

XP_SCENARIO(scan_tokens_in_order, .about = "who has a token gets his bytes, whoever else waits",
            XP_STATE(s), .setup = tokens_alone, .threads = {reads_one, reads_one},
            .check = check_read, .bound = 4, .tso = true, .tso_bound = 3)

static void stops(void)
{
    weir_cancel_fire(&s.run.stop);
}

static void check_tokens(void)
{
    s.run.open = 0;
    check_end(); /* budgets assert that every token came home */
}

XP_SCENARIO(scan_tokens_stop, .about = "a stop between the two tokens gives the first one back",
            XP_STATE(s), .setup = tokens_alone, .threads = {reads_one, reads_one, stops},
            .check = check_tokens, .bound = 3)

/* ---- stopped at any moment ---- */

static void stopped_run(void)
{
    s.is_sharing = true;
    s.paths[0] = "ab";
    s.paths[1] = "cc";
    s.paths[2] = "dd";
    start(1, 1, 1);
}

static void check_stopped(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        XP_ASSERT(s.done[i] <= 1, "a file is read twice");
    XP_ASSERT(s.kept <= 1, "more than one path came back");
    check_end();
}

XP_SCENARIO(scan_stop, .about = "a stop ends everybody, and every job is somewhere", XP_STATE(s),
            .setup = stopped_run, .threads = {hands_out, worker, stops}, .check = check_stopped,
            .bound = 2)

/* ---- without memory ---- */

static void check_no_memory(void)
{
    unsigned done = s.done[0] + s.done[1] + s.done[2];
    XP_ASSERT_EQ(done + 3 * s.kept, 3); /* all of the one path, or nothing */
    XP_ASSERT_EQ(s.run.open, 0);
    check_end();
}

XP_SCENARIO(scan_no_memory, .about = "a job that cannot be made is missed, and the run still ends",
            XP_STATE(s), .setup = one_large, .threads = {hands_out, worker},
            .check = check_no_memory, .bound = 2, .faults = 1)
