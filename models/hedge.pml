/* hedge.pml - calls that ask several targets: the first good answer wins, the others are canceled.
 *
 * A call has three targets: two are asked at once (alpha), one more when the hedge timer fires and
 * the shared budget has a token (beta), or in the place of one that fails. Calls meet in the budget
 * alone, so two at once are searched with targets that hang (-DTWO_CALLS). A target answers well,
 * answers badly, or hangs until it is canceled. With -DFALTERS one is asked at first, which falters
 * and goes on when another was asked in its place. The deadline may pass at any moment. What the
 * code does under one of its locks is one step here, and what it does between two locks is another;
 * so a report may come between the end of a call and its return.
 *
 * What is claimed:
 * - a call ends once: with one answer, or without any (every target failed, or the deadline);
 * - every good answer goes to one place: one is given to the caller, the others are discarded, each
 *   exactly once, also those that come too late;
 * - when the call returns, every attempt that was started has ended or its token has fired; nothing
 *   is started afterwards; every attempt ends;
 * - the call's memory is freed once, after the caller and the last attempt are done with it, and is
 *   touched by nobody after that;
 * - hedges never exceed the budget, whoever asks at the same time;
 * - every call returns; and when no timer helps it and no target hangs (-DPATIENT), a report still
 *   wakes it, and a failure that comes while others are being started still gets its replacement.
 *
 * holds: safety
 * holds: ends ltl=ends
 * holds: two_safety -DTWO_CALLS partial
 * holds: two_ends -DTWO_CALLS ltl=ends
 * holds: patient_safety -DPATIENT partial
 * holds: patient_ends -DPATIENT ltl=ends
 * holds: falters_safety -DFALTERS partial
 * holds: falters_ends -DFALTERS -DPATIENT ltl=ends
 * fails: LATE_ANSWER_KEPT by assertion
 * fails: LOSERS_NOT_CANCELED by assertion
 * fails: LOSERS_NOT_CANCELED -DNO_ASSERT ltl=ends by acceptance
 * fails: NO_REFERENCE by assertion
 * fails: BUDGET_CHECKED_FIRST -DTWO_CALLS by assertion
 * fails: REPORT_MISSED -DPATIENT by end
 * fails: FAILURE_UNSEEN -DPATIENT by end
 * fails: FALTERS_UNHEARD -DFALTERS -DPATIENT by end
 */
#ifdef TWO_CALLS
#define CALLS   2
#define TARGETS 2
#define ALPHA   1
#else
#define CALLS   1
#define TARGETS 3
#ifdef FALTERS
#define ALPHA   1
#else
#define ALPHA   2
#endif
#endif
#define BETA    1
#define TOKENS  1    /* the hedge budget; two calls would like one each */

#ifdef NO_ASSERT
#define claim(x) skip
#else
#define claim(x) assert(x)
#endif

mtype = { none, won, failed, timed_out };           /* how a call ended */
mtype = { absent, kept, late, given, discarded };   /* where a good answer is */

typedef call_state {
    byte asked;
    byte under_way;
    byte faltering;          /* of these: have failed once, and try again */
    byte news;               /* reports, and attempts that faltered */
    byte good;
    byte references;
    byte first;              /* the target whose good answer came first */
    mtype result;
    bool is_over;
    bool cancel;             /* the token above those of all attempts */
    bool parked;
    bool signaled;
    bool is_freed;
    bool returned;
    bool has_started[TARGETS];
    bool has_ended[TARGETS];
    bool has_faltered[TARGETS];
    mtype answer[TARGETS];
}

call_state call[CALLS];
byte tokens = TOKENS;
byte hedges;

/* The last to go frees the call; then no answer may be left in it. */
inline unref(c)
{
    claim(!call[c].is_freed);
    call[c].references--;
    if
    :: call[c].references == 0 ->
        call[c].is_freed = true;
        for (k : 0 .. TARGETS - 1) {
            claim(call[c].answer[k] != kept && call[c].answer[k] != late);
        }
        k = 0
    :: else -> skip
    fi
}

inline discard(c, i)
{
    claim(call[c].answer[i] == kept || call[c].answer[i] == late);
    call[c].answer[i] = discarded
}

/* The locked part of weir_hedge_report(). */
inline report(c, i, is_good)
{
    claim(!call[c].is_freed);
    call[c].under_way--;
    call[c].news++;
    if
    :: call[c].has_faltered[i] -> call[c].faltering--
    :: else -> skip
    fi;
    if
#ifdef MUTANT_LATE_ANSWER_KEPT
    :: is_good ->
#else
    :: is_good && call[c].is_over -> call[c].answer[i] = late
    :: is_good && !call[c].is_over ->
#endif
        if
        :: call[c].good == 0 -> call[c].first = i
        :: else -> skip
        fi;
        call[c].good++;
        call[c].answer[i] = kept
    :: else -> skip
    fi;
    call[c].signaled = call[c].signaled || call[c].parked
}

/* weir_hedge_falter(): another target stands in for this one. */
inline falter(c, i)
{
    claim(!call[c].is_freed);
    call[c].has_faltered[i] = true;
    call[c].faltering++;
    call[c].news++;
#ifndef MUTANT_FALTERS_UNHEARD
    call[c].signaled = call[c].signaled || call[c].parked
#endif
}

/* A target, in a thread of its own. One that is never asked is no deadlock. */
proctype target(byte c, i)
{
    byte k;
end_not_asked:
    call[c].has_started[i];
#ifdef FALTERS
    if
    :: i > 0 -> skip
    :: i == 0 ->
        d_step { falter(c, i) };                   /* and answers when another was asked */
        call[c].asked > ALPHA || call[c].is_over
    fi;
#endif
    if
#ifndef TWO_CALLS
    :: d_step { report(c, i, true) }
    :: d_step { report(c, i, false) }
#endif
#ifndef PATIENT
    :: true ->                                     /* hangs */
        call[c].cancel;
        d_step { report(c, i, false) }
#endif
    fi;
    if
    :: call[c].answer[i] == late -> discard(c, i)
    :: else -> skip
    fi;
    d_step {
        call[c].has_ended[i] = true;
#ifndef MUTANT_NO_REFERENCE
        unref(c)
#endif
    }
}

inline start_next(c)
{
    claim(!call[c].is_over);
    call[c].under_way++;
#ifndef MUTANT_NO_REFERENCE
    call[c].references++;
#endif
    call[c].has_started[call[c].asked] = true;
    call[c].asked++
}

/* How many attempts are missing for so many at once. */
inline count_missing(c, wide)
{
    if
    :: wide > call[c].under_way - call[c].faltering + call[c].good ->
        missing = wide - (call[c].under_way - call[c].faltering) - call[c].good
    :: else -> missing = 0
    fi;
    if
    :: missing > TARGETS - call[c].asked -> missing = TARGETS - call[c].asked
    :: else -> skip
    fi
}

inline fill_up(c)
{
    do
    :: d_step { count_missing(c, width) };
        if
        :: missing > 0 -> d_step { start_next(c) }
        :: missing == 0 -> break
        fi
    od
}

/* One atomic decision over the shared budget. */
inline hedge(c)
{
    hedged = true;
    d_step { count_missing(c, width + BETA) };
    if
#ifdef MUTANT_BUDGET_CHECKED_FIRST
    :: missing > 0 && tokens > 0 ->
        d_step { tokens--; hedges++ };
#else
    :: atomic { missing > 0 && tokens > 0 -> tokens--; hedges++ };
#endif
        claim(hedges <= TOKENS);
        width++;
        d_step { start_next(c) }
    :: missing == 0 || tokens == 0 -> skip
    fi;
    missing = 0
}

/* Parks, unless a report came since the caller looked; woken by a report, a timer, or both. */
inline park(c)
{
    d_step {
        timer = none;
#ifdef MUTANT_REPORT_MISSED
        call[c].parked = true
#else
        call[c].parked = (call[c].news == seen)
#endif
    };
    if
    :: !call[c].parked -> skip
    :: call[c].signaled -> skip
#ifndef PATIENT
    :: call[c].parked && !hedged -> timer = failed        /* the hedge timer */
    :: call[c].parked -> timer = timed_out                /* the deadline */
#endif
    fi;
    d_step {
        if
        :: call[c].signaled -> timer = none
        :: else -> skip
        fi;
        call[c].parked = false;
        call[c].signaled = false
    }
}

/* Enough, hopeless, or neither; and whether somebody failed since the others were started, in which
 * case the caller does not park but starts another first. */
inline look(c)
{
    seen = call[c].news;
    if
    :: call[c].good > 0 -> call[c].result = won
    :: call[c].good + call[c].under_way == 0 && call[c].asked == TARGETS ->
        call[c].result = failed
    :: else -> skip
    fi;
#ifdef MUTANT_FAILURE_UNSEEN
    missing = 0
#else
    count_missing(c, width)
#endif
}

inline ask(c)
{
    do
    :: call[c].result != none -> break
    :: call[c].result == none ->
        fill_up(c);
        atomic {
            look(c)
        };
        if
        :: call[c].result == none && missing == 0 ->
            park(c);
            if
#ifndef PATIENT
            :: timer == failed -> hedge(c)
            :: timer == timed_out -> call[c].result = timed_out
#endif
            :: timer == none -> skip
            fi
        :: else -> skip
        fi
    od
}

/* Nothing more counts: stop what is under way, hand over one answer, discard the rest. */
inline finish(c)
{
    call[c].is_over = true;
#ifndef MUTANT_LOSERS_NOT_CANCELED
    call[c].cancel = true;
#endif
    d_step {
        for (k : 0 .. TARGETS - 1) {
            if
            :: call[c].answer[k] == kept && call[c].result == won && call[c].first == k ->
                call[c].answer[k] = given
            :: call[c].answer[k] == kept && !(call[c].result == won && call[c].first == k) ->
                discard(c, k)
            :: else -> skip
            fi
        }
        k = 0
    }
}

inline check_return(c)
{
    for (k : 0 .. TARGETS - 1) {
        claim(!call[c].has_started[k] || call[c].has_ended[k] || call[c].cancel ||
              call[c].under_way == 0);
        claim((call[c].answer[k] == given) == (call[c].result == won && call[c].first == k));
    }
    k = 0;
    call[c].returned = true
}

proctype caller(byte c)
{
    byte k, missing, seen, width = ALPHA;
    bool hedged;
    mtype timer;
    ask(c);
    finish(c);
    d_step { check_return(c); unref(c) }
}

init {
    byte c, i;
    atomic {
        for (c : 0 .. CALLS - 1) {
            call[c].references = 1;
            call[c].result = none;
            for (i : 0 .. TARGETS - 1) {
                call[c].answer[i] = absent;
                run target(c, i);
            }
            run caller(c);
        }
    }
}

#define DONE(c) (call[c].returned && call[c].is_freed)

#ifdef TWO_CALLS
ltl ends { <> (DONE(0) && DONE(1)) }
#else
ltl ends { <> DONE(0) }
#endif
