/* pool.pml - the one line of the pool: requests for several components at once, first come first
 * served, that may give up at any moment.
 *
 * Three jobs ask again and again for parts of a pool with two components of two units each. Job 0
 * always wants the whole pool; the others want one unit of the first, of the second, or of both.
 * Whatever the code does under the vector's lock is one step here; between two steps anything may
 * happen, a timeout included. A waiting job is woken by its parking place alone, as in the code.
 *
 * What is claimed, after every step:
 * - never more than the capacity is out, and what is out is exactly what the holders hold;
 * - all or nothing: who waits, or has given up, holds nothing;
 * - nobody is granted while somebody who came before still waits;
 * - no wake is lost: the head of the line is one that does not fit.
 * And over time: a request that stays is granted, the one for the whole pool too, although small
 * ones keep coming. Jobs keep their permits for a finite time; nothing else is assumed.
 *
 * holds: safety
 * holds: whole_pool_is_served ltl=whole_pool_is_served
 * holds: small_is_served ltl=small_is_served
 * fails: BARGING by assertion
 * fails: BARGING ltl=whole_pool_is_served -DNO_ASSERT by acceptance
 * fails: FIRST_COMPONENT_ONLY by assertion
 * fails: PARTIAL by assertion
 * fails: GRANT_LOST by assertion
 * fails: HEAD_LEAVES by assertion
 * fails: SERVES_ONE by assertion
 */
#define JOBS     3
#define PARTS    2
#define CAPACITY 2

#ifdef NO_ASSERT
#define claim(x) skip
#else
#define claim(x) assert(x)
#endif

mtype = { idle, in_line, granted };

typedef job_state {
    mtype where;
    bool signaled;       /* the parking place */
    bool patient;        /* this request has no deadline and is not canceled */
    byte want[PARTS];
    byte holds[PARTS];
    bool behind[JOBS];   /* who stood in line when this one came, and still does */
}

job_state job[JOBS];
byte out[PARTS];
chan line = [JOBS] of { byte };

#ifdef MUTANT_FIRST_COMPONENT_ONLY
#define fits(j) (out[0] + job[j].want[0] <= CAPACITY)
#else
#define fits(j)                                                                                    \
    (out[0] + job[j].want[0] <= CAPACITY && out[1] + job[j].want[1] <= CAPACITY)
#endif

#ifdef MUTANT_BARGING
#define nobody_waits true
#else
#define nobody_waits (len(line) == 0)
#endif

/* The first three claims, and the fourth: the head does not fit. */
inline check()
{
    for (p : 0 .. PARTS - 1) {
        claim(out[p] <= CAPACITY);
        claim(out[p] == job[0].holds[p] + job[1].holds[p] + job[2].holds[p]);
        for (k : 0 .. JOBS - 1) {
            claim(job[k].holds[p] == (job[k].where == granted -> job[k].want[p] : 0));
        }
    }
    if
    :: nempty(line) ->
        line?<head>;
        claim(!fits(head));
    :: empty(line) -> skip
    fi;
    p = 0;
    k = 0;
    head = 0
}

/* Everybody who came after j may forget it. */
inline forget(j)
{
    for (k : 0 .. JOBS - 1) {
        job[k].behind[j] = false;
    }
}

inline take(j)
{
    claim(!job[j].behind[0] && !job[j].behind[1] && !job[j].behind[2]);
    for (p : 0 .. PARTS - 1) {
        out[p] = out[p] + job[j].want[p] - job[j].holds[p];
        job[j].holds[p] = job[j].want[p];
    }
    job[j].where = granted;
    forget(j)
}

inline give_back(j)
{
    for (p : 0 .. PARTS - 1) {
        out[p] = out[p] - job[j].holds[p];
        job[j].holds[p] = 0;
    }
    job[j].where = idle
}

/* Serves the line as far as the units go. */
inline serve()
{
    do
    :: nempty(line) ->
        line?<head>;
        if
        :: fits(head) ->
            line?head;
            take(head);
            job[head].signaled = true;
#ifdef MUTANT_SERVES_ONE
            break
#endif
        :: else -> break
        fi
    :: empty(line) -> break
    od
}

/* weir__vector_acquire(), up to the wait. */
inline take_or_join(j)
{
    for (k : 0 .. JOBS - 1) {
        job[j].behind[k] = (job[k].where == in_line);
    }
    job[j].signaled = false;
    if
    :: nobody_waits && fits(j) -> take(j)
    :: else ->
        line!j;
        job[j].where = in_line;
#ifdef MUTANT_PARTIAL
        if
        :: out[0] + job[j].want[0] <= CAPACITY ->
            job[j].holds[0] = job[j].want[0];
            out[0] = out[0] + job[j].want[0]
        :: else -> skip
        fi
#endif
    fi
}

/* The wait ended by time or token: leave, unless a grant was faster, which is then kept. */
inline leave(j)
{
    if
    :: job[j].where == granted ->
#ifdef MUTANT_GRANT_LOST
        job[j].where = idle
#else
        skip
#endif
    :: else ->
        line??eval(j);
        job[j].where = idle;
        forget(j);
#ifndef MUTANT_HEAD_LEAVES
        serve()
#endif
    fi
}

inline choose(j)
{
    if
    :: j == 0 -> job[j].want[0] = CAPACITY; job[j].want[1] = CAPACITY
    :: j != 0 -> job[j].want[0] = 1; job[j].want[1] = 0
    :: j != 0 -> job[j].want[0] = 0; job[j].want[1] = 1
    :: j != 0 -> job[j].want[0] = 1; job[j].want[1] = 1
    fi;
    if
    :: job[j].patient = true
    :: job[j].patient = false
    fi
}

active [JOBS] proctype worker()
{
    byte p, k, head;
    do
    :: atomic { choose(_pid) };
        d_step { take_or_join(_pid); check() };
        if
        :: job[_pid].where == granted && !job[_pid].signaled -> skip
        :: job[_pid].signaled -> skip
        :: job[_pid].where == in_line && !job[_pid].patient ->
            d_step { leave(_pid); check() }
        fi;
        if
        :: job[_pid].where == granted -> d_step { give_back(_pid); serve(); check() }
        :: else -> skip
        fi
    od
}

#define STAYS(j) (job[j].where == in_line && job[j].patient)

ltl whole_pool_is_served { [] (STAYS(0) -> <> !STAYS(0)) }
ltl small_is_served { [] (STAYS(1) -> <> !STAYS(1)) }
