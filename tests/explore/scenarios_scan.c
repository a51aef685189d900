/* scenarios_scan.c - the jobs of a scan and its read tokens: nothing is lost, nobody waits for
 * himself, the run ends once.
 *
 * The threads are those of a scan (scan_rig.h): one hands out paths, the others take jobs, read
 * with a token and room for the bytes, and give some of what they have to whoever is idle.
 */
#include "scan_rig.h"

#define FILES_MAX 4

/* A path is about the files from one letter to another: "ac" is a, b and c. */
static struct {
    struct scan_rig rig;
    unsigned done[FILES_MAX]; /* how often each file was read */
    unsigned offered, refused;
    unsigned reading;
    unsigned limit; /* of who reads at once */
    bool is_sharing, asks_nobody;
    bool is_in_scanner;
    unsigned settled;
} s;

/* ---- files ---- */

/* Gives away all but the next one. */
static bool share(char from, char until)
{
    char range[3] = {from, until, '\0'};
    struct weir__scan *run = &s.rig.run;
    if (!s.is_sharing || (!s.asks_nobody && !weir__job_is_wanted(run)))
        return false;
    struct weir__job *job = weir__job_new(WEIR__JOB_PATH, range, 2, 0);
    if (job && weir__job_offer(run, job)) {
        s.offered++;
        return true;
    }
    s.refused++;
    weir__job_free(job);
    return false;
}

static void read_file(struct weir__scan_worker *w, char letter)
{
    XP_ASSERT(w->run->open > 0, "somebody works, and no job is open");
    s.reading++;
    XP_ASSERT(s.reading <= s.limit, "more files at once than tokens");
    xp_point();
    s.done[letter - 'a']++;
    s.reading--;
    w->counts.files++;
}

static bool read_range(struct weir__scan_worker *w)
{
    const char *range = weir__buffer_text(&w->path);
    char until = range[1];
    for (char at = range[0]; at <= until; at++) {
        if (weir__scan_is_stopped(w))
            return false;
        read_file(w, at);
        if (at < until && share((char)(at + 1), until))
            until = at;
    }
    return true;
}

/* ---- beginning and end ---- */

static void start(uint64_t reads, uint64_t buffers, uint64_t queue)
{
    const struct rig_limits limits = {.reads = reads, .buffers = buffers, .queue = queue};
    s.limit = (unsigned)(reads < buffers ? reads : buffers);
    s.rig.stream = read_range;
    rig_begin(&s.rig, &limits);
}

static unsigned done_in_all(void)
{
    unsigned all = 0;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        XP_ASSERT(s.done[i] <= 1, "a file is read twice");
        all += s.done[i];
    }
    return all;
}

static void check_end(void)
{
    XP_ASSERT_EQ(s.reading, 0);
    XP_ASSERT_EQ(s.rig.run.counts.files, done_in_all());
    rig_end(&s.rig);
}

static void check_all(unsigned files)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        XP_ASSERT_EQ(s.done[i], i < files);
    XP_ASSERT_EQ(s.rig.gaps, 0);
    XP_ASSERT_EQ(s.rig.run.open, 0);
    check_end();
}

/* ---- the run ends, once, with all done ---- */

static void three_paths(void)
{
    s.rig.paths[0] = "aa";
    s.rig.paths[1] = "bb";
    s.rig.paths[2] = "cc";
    start(2, 2, 1);
}

static void check_three(void)
{
    check_all(3);
}

XP_SCENARIO(scan_all_paths, .about = "all paths are scanned once, and then everybody ends",
            XP_STATE(s), .setup = three_paths, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_three, .bound = 2)

XP_SCENARIO(scan_one_thread, .about = "one worker is enough for any number of paths", XP_STATE(s),
            .setup = three_paths, .threads = {rig_hands_out, rig_works}, .check = check_three,
            .bound = 3, .tso = true, .tso_bound = 2)

/* Whoever sees the end sees all that was counted, and no token out. */
static void works_and_looks(void)
{
    struct weir__scan_stats stats;
    rig_works();
    weir__scan_read(&s.rig.run, &stats);
    XP_ASSERT_EQ(stats.files, 1);
    XP_ASSERT_EQ(stats.in_flight, 0);
}

static void one_path(void)
{
    s.rig.paths[0] = "aa";
    start(1, 1, 1);
}

static void check_one(void)
{
    check_all(1);
}

XP_SCENARIO(scan_counted_at_end, .about = "when the last job is done, all of it was counted",
            XP_STATE(s), .setup = one_path,
            .threads = {rig_hands_out, works_and_looks, works_and_looks}, .check = check_one,
            .bound = 2)

/* ---- offers ---- */

static void one_large(void)
{
    s.is_sharing = true;
    s.rig.paths[0] = "ac";
    start(2, 2, 2);
}

XP_SCENARIO(scan_offers, .about = "what is given to others is done once, before the run ends",
            XP_STATE(s), .setup = one_large, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_three, .bound = 2)

static void nobody_to_take(void)
{
    s.is_sharing = s.asks_nobody = true;
    s.rig.paths[0] = "ab";
    s.rig.paths[1] = "cd";
    start(1, 1, 1);
}

static void check_four(void)
{
    check_all(4);
}

XP_SCENARIO(scan_offers_never_wait, .about = "a full queue refuses offers, and the run goes on",
            XP_STATE(s), .setup = nobody_to_take, .threads = {rig_hands_out, rig_works},
            .check = check_four, .bound = 3, .tso = true, .tso_bound = 2)

/* Is asked only when the other one sleeps or is about to, and then it must come to him. */
static bool has_been_done(void *arg)
{
    (void)arg;
    return s.done[0] > 0;
}

static void offers_and_waits(void)
{
    struct weir__job *job = weir__job_new(WEIR__JOB_PATH, "aa", 2, 0);
    if (weir__job_is_wanted(&s.rig.run) && weir__job_offer(&s.rig.run, job)) {
        s.offered++;
        xp_await(has_been_done, NULL);
    } else {
        weir__job_free(job);
    }
    weir__job_done(&s.rig.run);
}

static void check_offered(void)
{
    XP_ASSERT_EQ(s.done[0], s.offered);
    check_end();
}

static void no_path(void)
{
    start(1, 1, 1);
}

XP_SCENARIO(scan_offer_wakes, .about = "what is offered while somebody is idle comes to him",
            XP_STATE(s), .setup = no_path, .threads = {offers_and_waits, rig_works},
            .check = check_offered, .bound = 3, .spurious = 1, .tso = true, .tso_bound = 2)

/* ---- tokens ---- */

static void one_token(void)
{
    s.is_sharing = true;
    s.rig.paths[0] = "ab";
    s.rig.paths[1] = "cc";
    start(1, 1, 3);
}

XP_SCENARIO(scan_limit_of_one, .about = "one token and the bytes of one read are enough",
            XP_STATE(s), .setup = one_token, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_three, .bound = 2)

/* Each of the two limits alone: the other one has room for all. */
static void one_read(void)
{
    s.rig.paths[0] = "aa";
    s.rig.paths[1] = "bb";
    start(1, 3, 3);
}

static void one_buffer(void)
{
    s.rig.paths[0] = "aa";
    s.rig.paths[1] = "bb";
    start(3, 1, 3);
}

static void check_two(void)
{
    check_all(2);
}

XP_SCENARIO(scan_limit_of_reads, .about = "nobody reads without a token, however many bytes fit",
            XP_STATE(s), .setup = one_read, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_two, .bound = 2)

XP_SCENARIO(scan_limit_of_bytes, .about = "nobody reads without room, however many may read",
            XP_STATE(s), .setup = one_buffer, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_two, .bound = 2)

/* Tokens alone: two readers are there already, each with a file. */
static void reads_one(void)
{
    static const char *const paths[] = {"aa", "bb"};
    struct weir__scan_worker *w = rig_worker();
    weir__scan_fetched(w, paths[xp_thread_index()]);
    weir__scan_count(w);
}

static void check_read(void)
{
    XP_ASSERT_EQ(done_in_all(), 2);
    s.rig.run.open = 0;
    check_end();
}

XP_SCENARIO(scan_tokens_in_order, .about = "who has a token gets his bytes, whoever else waits",
            XP_STATE(s), .setup = no_path, .threads = {reads_one, reads_one}, .check = check_read,
            .bound = 4, .tso = true, .tso_bound = 3)

static void check_tokens(void)
{
    s.rig.run.open = 0;
    check_end(); /* budgets assert that every token came home */
}

/* So that one of them waits for room while he has leave. */
static void room_for_one(void)
{
    start(2, 1, 1);
}

XP_SCENARIO(scan_tokens_stop, .about = "a stop between the two tokens gives the first one back",
            XP_STATE(s), .setup = room_for_one, .threads = {reads_one, reads_one, rig_stops},
            .check = check_tokens, .bound = 3)

/* ---- stopped at any moment ---- */

static void stopped_run(void)
{
    s.is_sharing = true;
    s.rig.paths[0] = "ab";
    s.rig.paths[1] = "cc";
    s.rig.paths[2] = "dd";
    start(1, 1, 1);
}

XP_SCENARIO(scan_stop, .about = "a stop ends everybody, and every job is somewhere", XP_STATE(s),
            .setup = stopped_run, .threads = {rig_hands_out, rig_works, rig_stops},
            .check = check_end, .bound = 2)

/* ---- without memory ---- */

/* All of it was read, or it was told that something was not. */
static void check_no_memory(void)
{
    unsigned done = done_in_all();
    XP_ASSERT(done == 3 || s.rig.gaps == 1, "something is missing, and nobody says so");
    XP_ASSERT(done < 3 || s.rig.gaps == 0, "nothing is missing, and somebody says so");
    XP_ASSERT_EQ(s.rig.run.open, 0);
    check_end();
}

XP_SCENARIO(scan_no_memory, .about = "a job that cannot be made is told, and the run still ends",
            XP_STATE(s), .setup = one_large, .threads = {rig_hands_out, rig_works, rig_works},
            .check = check_no_memory, .bound = 1, .faults = 1)

/* ---- a stream that pauses ---- */

static void use_scanner(void)
{
    XP_ASSERT(!s.is_in_scanner, "two use one scanner");
    s.is_in_scanner = true;
    xp_point();
    s.is_in_scanner = false;
}

static void settle(void)
{
    use_scanner();
    s.settled++;
}

/* As weir__scan_stream_admitted() does: bytes, a pause, bytes, and the end. */
static void pauses(void)
{
    struct weir__scan_worker *w = rig_worker();
    use_scanner();
    XP_ASSERT(weir__scan_pause_begin(w, true), "nobody stops");
    xp_point();
    XP_ASSERT(weir__scan_pause_end(w), "nobody stops");
    use_scanner();
}

static void looks(void)
{
    xp_advance(WEIR_NS_PER_S);
    weir__scan_pause_look(&s.rig.run);
}

static void no_path_and_a_pause(void)
{
    no_path();
    s.rig.settle = settle;
}

static void check_pause(void)
{
    XP_ASSERT(s.settled <= 1, "a pause is looked after once");
    check_tokens();
}

XP_SCENARIO(scan_pause, .about = "who looks after a pause has the scanner for himself, once",
            XP_STATE(s), .setup = no_path_and_a_pause, .threads = {pauses, looks, looks},
            .check = check_pause, .bound = 3)
