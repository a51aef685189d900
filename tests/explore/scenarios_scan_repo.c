/* scenarios_scan_repo.c - a repository and its shards: all are done before the leader goes on, no
 * more than the frontier lets in are in work, and who ends last frees what they share, whenever the
 * run is stopped.
 *
 * The leader is one of the scenario's threads and has the job that is open from the beginning; what
 * is done with a shard is the scenario's, how it is sent, held and waited for is the scan's.
 */
#include "scan_rig.h"

#include "alloc.h"
#include "scan_repo.h"

#define SHARDS  2
#define OBJECTS 2

static const struct weir_lock_class repo_class = {"scan-repo", 210};

static struct {
    struct scan_rig rig;
    struct weir__scan_repo *repo;
    struct weir__scan_pack *pack;
    unsigned done[SHARDS];
    unsigned in_work, most;
    unsigned turns;                           /* that shards have left */
    unsigned first[OBJECTS], second[OBJECTS]; /* looks, at each object */
    bool is_repo_gone, is_pack_gone;
} s;

static bool do_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard)
{
    XP_ASSERT(!s.is_repo_gone && !s.is_pack_gone, "what a shard is of has ended before it");
    XP_ASSERT(shard->repo == s.repo && shard->pack == s.pack, "the shard of somebody else");
    s.in_work++;
    XP_ASSERT(s.in_work <= s.most, "more shards in work than the frontier lets in");
    xp_point();
    XP_ASSERT(!s.is_repo_gone && !s.is_pack_gone, "what a shard is of has ended meanwhile");
    s.in_work--;
    if (s.turns > 0) { /* it was over, and there is more of it */
        s.turns--;
        return true;
    }
    s.done[shard->from]++;
    w->counts.objects++;
    return false;
}

static void end_repo(struct weir__scan_repo *repo)
{
    XP_ASSERT(!s.is_repo_gone, "a repository ends twice");
    XP_ASSERT_EQ(s.in_work, 0);
    s.is_repo_gone = true;
    weir_frontier_fini(&repo->shards);
    weir_lock_fini(&repo->lock);
    weir__base_free(repo);
}

static void end_pack(struct weir__scan_pack *pack)
{
    XP_ASSERT(!s.is_pack_gone, "a pack ends twice");
    s.is_pack_gone = true;
    weir__base_free(pack);
}

static void begin(void)
{
    const struct rig_limits limits = {.reads = 1, .buffers = 1, .queue = 1};
    const struct weir_frontier_options frontier = {.blobs_max = 2, .bytes_max = 2};
    s.most = 2;
    s.rig.shard = do_shard;
    s.rig.repo_ended = end_repo;
    s.rig.pack_ended = end_pack;
    rig_begin(&s.rig, &limits);
    s.repo = weir__base_alloc(1, sizeof(*s.repo) + 1);
    s.pack = weir__base_alloc(1, sizeof(*s.pack));
    XP_ASSERT(s.repo && s.pack, "no memory");
    s.repo->run = &s.rig.run;
    s.repo->users = s.pack->users = 1;
    s.repo->shard_bytes = 1;
    weir_lock_init(&s.repo->lock, &repo_class);
    XP_ASSERT_EQ(weir_frontier_init(&s.repo->shards, "scan-shards", &frontier), 0);
}

static unsigned done_in_all(void)
{
    unsigned all = 0;
    for (unsigned i = 0; i < SHARDS; i++) {
        XP_ASSERT(s.done[i] <= 1, "a shard is done twice");
        all += s.done[i];
    }
    return all;
}

/* As a pass of a repository, and its end. */
static void leads(void)
{
    int result = 0;
    for (unsigned i = 0; i < SHARDS && result == 0; i++)
        result = weir__scan_shard_send(s.repo, s.pack, WEIR__PART_PACK, i, SHARDS);
    weir__scan_pack_drop(&s.rig.run, s.pack);
    int waited = weir__scan_shards_wait(s.repo);
    if (result == 0 && waited == 0) {
        XP_ASSERT_EQ(s.in_work, 0);
        XP_ASSERT_EQ(done_in_all() + s.rig.gaps, SHARDS); /* what was not done is told */
        XP_ASSERT(s.is_pack_gone, "all shards are done, and the pack is still held");
    } else {
        XP_ASSERT(weir_cancel_is_fired(&s.rig.run.stop) || result == -WEIR_E_NO_MEMORY,
                  "canceled, and nobody did");
        XP_ASSERT(waited < 0 || s.in_work == 0, "the leader goes on while shards are in work");
    }
    weir__scan_repo_drop(s.repo);
    weir__job_done(&s.rig.run);
}

static void check_all(void)
{
    XP_ASSERT_EQ(done_in_all(), SHARDS);
    XP_ASSERT_EQ(s.rig.run.counts.objects, SHARDS);
    XP_ASSERT(s.is_repo_gone, "nobody has the repository, and it is still there");
    rig_end(&s.rig);
}

static void check_stopped(void)
{
    (void)done_in_all();
    rig_end(&s.rig); /* those in the queue are freed there, and with them what they hold */
    XP_ASSERT(s.is_repo_gone && s.is_pack_gone, "nobody has it, and it is still there");
}

XP_SCENARIO(scan_shards, .about = "a leader goes on when all its shards are done", XP_STATE(s),
            .setup = begin, .threads = {leads, rig_works, rig_works}, .check = check_all,
            .bound = 2)

/* Others wait, and have theirs. */
static void begin_turns(void)
{
    begin();
    s.turns = 2;
}

XP_SCENARIO(scan_shards_turns, .about = "a shard whose turn is over is done to its end, by anybody",
            XP_STATE(s), .setup = begin_turns, .threads = {leads, rig_works, rig_works},
            .check = check_all, .bound = 2)

XP_SCENARIO(scan_shards_turns_stop, .about = "one that waits for its next turn is freed, once",
            XP_STATE(s), .setup = begin_turns, .threads = {leads, rig_works, rig_stops},
            .check = check_stopped, .bound = 2)

/* As in a pass over large objects: each has all of the memory. */
static void begin_alone(void)
{
    begin();
    s.repo->is_alone = true;
    s.repo->at_once = 2;
    s.most = 1;
}

XP_SCENARIO(scan_shards_alone, .about = "a shard that has all of the memory is alone in work",
            XP_STATE(s), .setup = begin_alone, .threads = {leads, rig_works, rig_works},
            .check = check_all, .bound = 2)

XP_SCENARIO(scan_shards_one_thread, .about = "one worker is enough for any number of shards",
            XP_STATE(s), .setup = begin, .threads = {leads, rig_works}, .check = check_all,
            .bound = 3, .tso = true, .tso_bound = 2)

XP_SCENARIO(scan_shards_stop, .about = "a run that is stopped frees all that shards hold, once",
            XP_STATE(s), .setup = begin, .threads = {leads, rig_works, rig_stops},
            .check = check_stopped, .bound = 2)

XP_SCENARIO(scan_shards_no_memory, .about = "a leader without memory waits for those it has sent",
            XP_STATE(s), .setup = begin, .threads = {leads, rig_works}, .check = check_stopped,
            .bound = 2, .faults = 1)

/* ---- what shards share of their objects ---- */

static struct weir__git_id id_of(unsigned number)
{
    return (struct weir__git_id){{(uint8_t)(number + 1)}};
}

/* Each meets all of the objects, in both looks, as shards of two packs with the same ones do. */
static void looks(void)
{
    struct weir__scan_worker *w = rig_worker();
    struct weir__suspect suspect;
    uint32_t number;
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct weir__git_id id = id_of(i);
        if (weir__scan_look_is_first(s.repo, &id)) {
            s.first[i]++;
            weir__scan_suspect(w, s.repo, &id, WEIR__SUSPECT_FOUND);
        }
        weir__scan_suspect(w, s.repo, &id, WEIR__SUSPECT_NAMED);
        if (weir__scan_suspect_take(s.repo, &id, &number, &suspect)) {
            s.second[i]++;
            weir__scan_suspect_mark(s.repo, &id, WEIR__SUSPECT_TOLD);
        }
    }
}

static void begin_looks(void)
{
    begin();
    s.repo->is_repeated = true;
    weir__git_set_init(&s.repo->looked, 20, 0, 0);
    weir__git_set_init(&s.repo->suspects, 20, sizeof(struct weir__suspect), 0);
}

static void check_looks(void)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct weir__git_id id = id_of(i);
        uint32_t number = weir__git_set_find(&s.repo->suspects, &id);
        XP_ASSERT(number != WEIR__GIT_SET_NONE, "a suspect is lost");
        const struct weir__suspect *suspect = weir__git_set_extra(&s.repo->suspects, number);
        XP_ASSERT_EQ(s.first[i], 1);
        XP_ASSERT_EQ(s.second[i], 1);
        XP_ASSERT_EQ(suspect->flags, WEIR__SUSPECT_FOUND | WEIR__SUSPECT_NAMED |
                                         WEIR__SUSPECT_DONE | WEIR__SUSPECT_TOLD);
    }
    weir__git_set_fini(&s.repo->looked);
    weir__git_set_fini(&s.repo->suspects);
    weir__scan_pack_drop(&s.rig.run, s.pack);
    weir__scan_repo_drop(s.repo);
    s.rig.run.open = 0;
    rig_end(&s.rig);
}

XP_SCENARIO(scan_suspects, .about = "whoever meets an object, one looks first and one again",
            XP_STATE(s), .setup = begin_looks, .threads = {looks, looks}, .check = check_looks,
            .bound = 3, .tso = true, .tso_bound = 2)
