/* scan_repo_line.c - the line of repositories that are not small.
 *
 * The lines of the scheduler are first come, first served, and a large repository keeps for long
 * what it was given. If such ones held all slots of a disk, all of the pool or all leaders, or
 * stood in front of these lines, a small one behind them would wait for one of them to end. So
 * those that are not small wait here, and are handed to the scheduler only as far as something is
 * left beside them:
 *
 *     leaders     the scheduler has SMALL_LEADERS more than they may have
 *     slots       one of each disk that has SPARE_SLOTS_FROM or more; at others all wait there
 *     pool        one part of SPARE_PART, of each kind of bytes
 *
 * A small one goes to the scheduler at once, and takes its slot and its part of the pool there as
 * all do; what it finds in front of it are small ones, and some that have what they need.
 *
 * State, under the run's lock: a list for each disk, in the order of arrival; how many are handed
 * over, of each disk and in all, and what they ask for together.
 *
 * Happy path: whoever comes joins the list of his disk; then, and whenever one ends, those go that
 * may: of the heads of lists whose disk has room the one that came first, if all else is there.
 * Nobody goes past it for want of bytes, and who is alone may have all: so each has his turn.
 *
 * Failure modes: the scheduler refuses one, since the run is stopped: it ends there, and the next
 * one is tried. Disks beyond WEIR__SCAN_DEVICES_MAX share the last list.
 */
#include "scan_repo.h"

#include "job_mutants.h"

#include "banned.h"

#define SMALL_LEADERS    2u
#define SPARE_PART       8u
#define SPARE_SLOTS_FROM 3u

uint32_t weir__scan_line_heavy(const struct weir__scan *run)
{
    return run->options->repos_max ? run->options->repos_max : run->threads + 1;
}

uint32_t weir__scan_line_leaders(const struct weir__scan_repos *repos)
{
    return repos->leaders + (repos->has_small ? SMALL_LEADERS : 0);
}

uint64_t weir__scan_line_shards(const struct weir__scan *run)
{
    if (run->options->history == WEIR__SCAN_NO_HISTORY)
        return 0;
    return (uint64_t)run->threads * (weir__scan_line_heavy(run) + SMALL_LEADERS);
}

/* Where nobody can be small nobody waits for that. */
static bool is_heavy(const struct weir__scan_repo *repo)
{
    return repo->run->repos.has_small && !repo->is_small;
}

/* --- who may go; under the run's lock --- */

static struct weir__scan_line *line_of(struct weir__scan_repos *repos, struct weir_device device)
{
    uint32_t i = 0;
    while (i < repos->lines_count &&
           weir_device_raw(repos->lines[i].device) != weir_device_raw(device))
        i++;
    if (i == WEIR__SCAN_DEVICES_MAX)
        return &repos->lines[i - 1];
    if (i == repos->lines_count) {
        uint64_t slots =
            repos->has_slots ? weir_slots_total(&repos->slots, device) : WEIR_BUDGET_MAX;
        repos->lines[repos->lines_count++] = (struct weir__scan_line){
            .device = device,
            .most = slots < SPARE_SLOTS_FROM ? UINT64_MAX : slots - 1,
        };
    }
    return &repos->lines[i];
}

static bool leaves(uint64_t held, uint64_t more, uint64_t all)
{
    return held + more <= all - all / SPARE_PART;
}

static bool fits(const struct weir__scan_repos *repos, const struct weir_pool_request *wish)
{
    const struct weir__scan_heavy *heavy = &repos->heavy;
    if (heavy->now == 0)
        return true;
    return (heavy->now < repos->leaders || WEIR__JOB_MUTANT(LINE_ALL_LEADERS)) &&
           (leaves(heavy->ring_bytes, wish->scan_ring_bytes, repos->config.scan_ring_bytes)) &&
           (leaves(heavy->delta_bytes, wish->delta_cache_bytes, repos->config.delta_cache_bytes) ||
            WEIR__JOB_MUTANT(LINE_ALL_BYTES)) &&
           (!wish->needs_spill_slot || heavy->spills < repos->config.spill_slots);
}

/* by: 1 when it is handed over, -1 when that is over. */
static void count(struct weir__scan_repos *repos, struct weir__scan_repo *repo, int by)
{
    const struct weir_pool_request *wish = &repo->job.pool;
    struct weir__scan_heavy *heavy = &repos->heavy;
    uint64_t sign = (uint64_t)by; /* unsigned sums come out right */
    repo->line->now += sign;
    heavy->now += sign;
    heavy->ring_bytes += sign * wish->scan_ring_bytes;
    heavy->delta_bytes += sign * wish->delta_cache_bytes;
    heavy->spills += sign * wish->needs_spill_slot;
}

/* The next that may go; NULL: nobody. */
static struct weir__scan_repo *pop(struct weir__scan *run)
{
    struct weir__scan_repos *repos = &run->repos;
    struct weir__scan_line *line = NULL;
    struct weir__scan_repo *repo = NULL;
    weir_lock_acquire(&run->lock);
    for (uint32_t i = 0; i < repos->lines_count; i++) {
        struct weir__scan_line *other = &repos->lines[i];
        if (other->first && other->now < other->most &&
            (!line || other->first->number < line->first->number))
            line = other;
    }
    if (line && fits(repos, &line->first->job.pool)) {
        repo = line->first;
        line->first = repo->line_next;
        if (!line->first)
            line->last = NULL;
        repo->line_next = NULL;
        repos->heavy.waiting--;
        count(repos, repo, 1);
    }
    weir_lock_release(&run->lock);
    return repo;
}

/* --- coming and going --- */

/* The scheduler did not take it. True: it was one for its large objects. */
static bool refuse(struct weir__scan_repo *repo, int result)
{
    struct weir__scan *run = repo->run;
    bool is_large = repo->is_large;
    weir_lock_acquire(&run->lock);
    if (is_heavy(repo) && !WEIR__JOB_MUTANT(LINE_REFUSED_COUNTS))
        count(&run->repos, repo, -1);
    if (is_large)
        weir__scan_large_refused(run);
    weir_lock_release(&run->lock);
    weir__scan_repo_over(repo, result);
    return is_large;
}

/* True: one for its large objects was refused, so another of those may come. */
static bool hand_over(struct weir__scan *run)
{
    struct weir__scan_repo *repo;
    bool has_refused = false;
    while ((repo = pop(run))) {
        int result = weir_sched_submit(run->repos.sched, &repo->job);
        if (result < 0)
            has_refused |= refuse(repo, result);
    }
    return has_refused;
}

static void join(struct weir__scan_repo *repo)
{
    struct weir__scan *run = repo->run;
    struct weir__scan_repos *repos = &run->repos;
    weir_lock_acquire(&run->lock);
    struct weir__scan_line *line = line_of(repos, repo->job.device);
    bool waits = line->first || line->now >= line->most || !fits(repos, &repo->job.pool);
    *(line->last ? &line->last->line_next : &line->first) = repo;
    line->last = repo;
    repo->line = line;
    repos->heavy.waiting++;
    repos->heavy.waited += waits;
    if (waits && repos->heavy.waiting_most < repos->heavy.waiting)
        repos->heavy.waiting_most = repos->heavy.waiting;
    weir_lock_release(&run->lock);
}

bool weir__scan_line_add(struct weir__scan_repo *repo)
{
    struct weir__scan *run = repo->run;
    if (!is_heavy(repo)) {
        int result = weir_sched_submit(run->repos.sched, &repo->job);
        return result < 0 && refuse(repo, result);
    }
    join(repo);
    return hand_over(run);
}

void weir__scan_line_leave(struct weir__scan_repo *repo)
{
    struct weir__scan *run = repo->run;
    if (!is_heavy(repo))
        return;
    weir_lock_acquire(&run->lock);
    count(&run->repos, repo, -1);
    weir_lock_release(&run->lock);
    if (WEIR__JOB_MUTANT(LINE_NEXT_STAYS))
        return;
    if (hand_over(run))
        weir__scan_large_next(run);
}
