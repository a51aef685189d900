/* drain.pml - how a crew stops: Running, Draining, Aborting, Stopped.
 *
 * One producer offers jobs to a bounded queue, two workers take them, and somebody asks for a stop
 * at any moment, perhaps before the crew is ready to listen. Draining closes the queue: what is in
 * it is still handled, what comes later is refused. When the drain deadline passes (which it may do
 * at any moment), the crew aborts: the cancel token fires, and who has not left after the grace
 * time is abandoned and counted. What the code does under the queue's or the crew's lock is one step
 * here. A job may end by itself, or only when it is canceled, or never.
 *
 * What is claimed:
 * - a job is handled by one worker, once; none is handled that was not accepted;
 * - when the crew is Stopped, every worker is joined or counted as abandoned, once; every accepted
 *   job is done, or was canceled or dropped by an abort and counted, or is still in the hands of a
 *   worker that was abandoned;
 * - a drain that needs no abort loses nothing at all, and ends although no deadline helps it
 *   (-DPATIENT: the deadline is far away and every job ends by itself);
 * - the states follow their table; a request to stop is never lost; the crew ends in Stopped.
 *
 * holds: safety
 * holds: stops ltl=stops
 * holds: patient_safety -DPATIENT partial
 * holds: patient_stops -DPATIENT ltl=stops
 * fails: QUEUED_LOST by assertion
 * fails: SENT_AFTER_CLOSE by assertion
 * fails: TAKEN_TWICE by assertion
 * fails: ABANDONED_UNCOUNTED by assertion
 * fails: CLOSE_WAKES_NOBODY -DPATIENT by end
 * fails: CLOSE_WAKES_NOBODY -DPATIENT ltl=stops by acceptance
 * fails: STOP_LOST -DPATIENT by end
 * fails: STOP_LOST ltl=stops by acceptance
 */
#define WORKERS 2
#define JOBS    3
#define ROOM    2

mtype = { running, draining, aborting, stopped };                           /* the crew */
mtype = { offered, refused, queued, in_hand, done, canceled, dropped };     /* a job */
mtype = { gets_job, parks, leaves };                                        /* a worker's turn */

mtype crew = running;
mtype job[JOBS] = offered;
byte holder[JOBS];
chan queue = [ROOM] of { byte };
bool closed, cancel, was_aborted;
bool parked[WORKERS], signaled[WORKERS], gone[WORKERS], is_abandoned[WORKERS];
byte joined, abandoned;

bool stop_asked;     /* stays set, so that it does not matter when somebody looks */
bool is_listening;   /* for the broken variant, where it does */

/* The table of moves. */
inline move(to)
{
    assert((crew == running && to == draining) ||
           (crew == draining && (to == aborting || to == stopped)) ||
           (crew == aborting && to == stopped));
    crew = to
}

inline wake(w)
{
    parked[w] = false;
    signaled[w] = true
}

inline wake_if_parked(w)
{
    if
    :: parked[w] -> wake(w)
    :: else -> skip
    fi
}

inline wake_everybody()
{
    wake_if_parked(0);
    wake_if_parked(1)
}

inline wake_one()
{
    if
    :: parked[0] -> wake(0)
    :: !parked[0] && parked[1] -> wake(1)
    :: else -> skip
    fi
}

/* weir_queue_try_send(): Closed, Busy, or accepted. */
inline send(j)
{
    if
    :: is_closed || len(queue) == ROOM -> job[j] = refused
    :: else ->
        job[j] = queued;
        queue!j;
        wake_one()
    fi
}

active proctype producer()
{
    byte j;
    bool is_closed;
    for (j : 0 .. JOBS - 1) {
#ifdef MUTANT_SENT_AFTER_CLOSE
        is_closed = closed;
        d_step { send(j) }
#else
        d_step { is_closed = closed; send(j) }
#endif
    }
}

/* What a worker finds when it looks at the queue: a job, the end, or a place to wait. */
inline look()
{
    if
    :: cancel -> turn = leaves
#ifdef MUTANT_QUEUED_LOST
    :: !cancel && closed -> turn = leaves
    :: !cancel && !closed && len(queue) > 0 ->
#else
    :: !cancel && len(queue) > 0 ->
#endif
#ifdef MUTANT_TAKEN_TWICE
        queue?<j>;
#else
        queue?j;
        assert(job[j] == queued);
        job[j] = in_hand;
        holder[j] = me;
#endif
        turn = gets_job
    :: !cancel && len(queue) == 0 && closed -> turn = leaves
    :: !cancel && len(queue) == 0 && !closed ->
        signaled[me] = false;
        parked[me] = true;
        turn = parks
    fi
}

/* A job that was interrupted ends as canceled, and counts as that. */
inline handle()
{
#ifdef MUTANT_TAKEN_TWICE
    d_step {
        assert(job[j] == queued);
        queue??eval(j);
        job[j] = in_hand;
        holder[j] = me
    };
#endif
    if
    :: job[j] = done
#ifndef PATIENT
    :: cancel -> job[j] = canceled
    :: true -> goto stuck
#endif
    fi
}

proctype worker(byte me)
{
    byte j;
    mtype turn;
    do
    :: d_step { look() };
        if
        :: turn == leaves -> break
        :: turn == parks -> signaled[me]
        :: turn == gets_job -> handle()
        fi
    od;
    gone[me] = true;
    goto end;
#ifndef PATIENT
stuck:
    /* It may come back when it is interrupted, or never. */
end_stuck:
    do
    :: cancel ->
        d_step { job[j] = canceled; gone[me] = true };
        break
    od;
#endif
end:
    skip
}

active proctype asker()
{
#ifdef MUTANT_STOP_LOST
    if
    :: is_listening -> stop_asked = true
    :: else -> skip
    fi
#else
    stop_asked = true
#endif
}

/* What must be true when the crew says that it is Stopped. */
inline check_stopped()
{
    assert(joined + abandoned == WORKERS);
    for (j : 0 .. JOBS - 1) {
        assert(job[j] != queued);
        assert(job[j] != in_hand || is_abandoned[holder[j]]);
        assert(was_aborted || job[j] == done || job[j] == refused || job[j] == offered);
    }
}

/* Waits for the workers one after the other, until the drain deadline. Joining needs a thread that
 * has ended. */
inline join_until_deadline()
{
    do
    :: w < WORKERS ->
        if
        :: gone[w] -> joined++; w++
#ifndef PATIENT
        :: break
#endif
        fi
    :: else -> break
    od
}

/* Goes on with the rest, and abandons those that do not come within the grace time. */
inline join_or_abandon()
{
    do
    :: w < WORKERS ->
        if
        :: gone[w] -> joined++
        :: is_abandoned[w] = true;
#ifndef MUTANT_ABANDONED_UNCOUNTED
            abandoned++
#endif
        fi;
        w++
    :: else -> break
    od
}

active proctype control()
{
    byte w, j;
    atomic {
        run worker(0);
        run worker(1)
    };
#ifdef MUTANT_STOP_LOST
    is_listening = true;
#endif
    stop_asked;
    d_step {
        move(draining);
        closed = true;
#ifndef MUTANT_CLOSE_WAKES_NOBODY
        wake_everybody()
#endif
    };
    join_until_deadline();
    if
    :: w < WORKERS ->
        d_step {
            move(aborting);
            was_aborted = true;
            cancel = true;
            wake_everybody()
        };
        join_or_abandon();
        atomic {
            do
            :: len(queue) > 0 ->
                queue?j;
                job[j] = dropped
            :: else -> break
            od
        }
    :: else -> skip
    fi;
    atomic {
        move(stopped);
        check_stopped()
    }
}

ltl stops { <> (crew == stopped) }
