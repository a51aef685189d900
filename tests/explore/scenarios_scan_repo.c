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

#define SHARDS 2

static const struct weir_lock_class repo_class = {"scan-repo", 210};

static struct {
    struct scan_rig rig;
    struct weir__scan_repo *repo;
    struct weir__scan_pack *pack;
    unsigned done[SHARDS];
    unsigned in_work, most;
    bool is_repo_gone, is_pack_gone;
} s;

static void do_shard(struct weir__scan_worker *w, struct weir__scan_shard *shard)
{
    XP_ASSERT(!s.is_repo_gone && !s.is_pack_gone, "what a shard is of has ended before it");
    XP_ASSERT(shard->repo == s.repo && shard->pack == s.pack, "the shard of somebody else");
    s.in_work++;
    XP_ASSERT(s.in_work <= s.most, "more shards in work than the frontier lets in");
    xp_point();
    XP_ASSERT(!s.is_repo_gone && !s.is_pack_gone, "what a shard is of has ended meanwhile");
    s.done[shard->from]++;
    s.in_work--;
    w->counts.objects++;
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
        XP_ASSERT_EQ(done_in_all(), SHARDS);
        XP_ASSERT(s.is_pack_gone, "all shards are done, and the pack is still held");
    } else {
        XP_ASSERT(weir_cancel_is_fired(&s.rig.run.stop), "canceled, and nobody did");
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

XP_SCENARIO(scan_shards_one_thread, .about = "one worker is enough for any number of shards",
            XP_STATE(s), .setup = begin, .threads = {leads, rig_works}, .check = check_all,
            .bound = 3, .tso = true, .tso_bound = 2)

XP_SCENARIO(scan_shards_stop, .about = "a run that is stopped frees all that shards hold, once",
            XP_STATE(s), .setup = begin, .threads = {leads, rig_works, rig_stops},
            .check = check_stopped, .bound = 2)
