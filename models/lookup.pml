/* lookup.pml - lookups, one after the other, that ask a source behind a breaker, and another one.
 *
 * The source under scrutiny has two askers. It answers, fails, hangs until it is canceled, or is
 * deaf: it hears neither its token nor the time, and comes back after the janitor has reported for
 * it. From some moment on it is healed and answers. The other source answers, fails, or is behind an
 * open breaker itself; it is not there once the first is healed, so that the first has to do. A
 * failure opens the breaker, one probe at a time is let through when it has cooled down. The deadline
 * may pass at any moment while the source does not answer. When a lookup is over its attempt is canceled; the janitor reports in the place of one
 * that does not come back.
 *
 * What is claimed:
 * - half open, at most one probe is out, and each ticket is reported at most once: by the asker or
 *   by the janitor;
 * - when a lookup returns, its attempt has ended or its token has fired;
 * - a lookup that may ask nobody starts nothing, and returns at once: with no deadline to help and
 *   no source that hangs (-DPATIENT), lookups still go on;
 * - a breaker does not stick: once the source is healed it closes, whatever became of the probes
 *   before, with the janitor alone (-DNO_OVERDUE) as well as with the deadline of probes.
 *
 * holds: safety
 * holds: safety_janitor_alone -DNO_OVERDUE partial
 * holds: closes ltl=closes
 * holds: closes_janitor_alone -DNO_OVERDUE ltl=closes
 * holds: goes_on -DPATIENT ltl=goes_on
 * fails: REPORTED_TWICE by assertion
 * fails: LOSER_NOT_CANCELED by assertion
 * fails: TWO_PROBES by assertion
 * fails: PROBE_NEVER_REPORTS -DNO_OVERDUE ltl=closes by acceptance
 * fails: CANCELED_KEEPS_PERMIT -DNO_OVERDUE ltl=closes by acceptance
 * fails: STALE_COUNTED by assertion
 * fails: ALL_OPEN_WAITS -DPATIENT ltl=goes_on by acceptance
 */
#define SLOTS 2

mtype = { closed, open, half_open };
mtype = { succeeded, bad, canceled };

typedef slot_state {
    bool is_busy;      /* an attempt has it */
    bool is_started;
    bool is_canceled;  /* its token has fired */
    bool has_ticket;
    bool is_probe;     /* of the ticket */
    bool is_stale;     /* the breaker has moved since, or the permit went to another */
    bool is_reported;
    bool is_late;      /* its lookup is over */
    bool is_stuck;     /* it will not answer */
}

slot_state slot[SLOTS];
mtype state = closed;
bool cooled;
bool probe_out;
byte probes;           /* tickets of probes that are out and count; for the claim */
bool healed;
bool other_open;
bool good, failed;     /* what the attempt of this lookup has reported */
bool asks_nobody;      /* this lookup */
bool over;             /* toggles: a lookup has just ended */

inline move(to)
{
    state = to;
    probe_out = false;
    probes = 0;
    for (k : 0 .. SLOTS - 1) {
        slot[k].is_stale = true
    }
    k = 0;
    cooled = false
}

/* weir_breaker_report(), by whoever has taken the ticket out of the attempt. */
inline report(i, outcome)
{
    assert(!slot[i].is_reported);
    slot[i].is_reported = true;
    if
#ifdef MUTANT_STALE_COUNTED
    :: false
#else
    :: slot[i].is_stale -> skip
#endif
    :: else ->
        assert(!slot[i].is_stale);
        if
        :: state == closed && outcome == bad -> move(open)
        :: state == half_open && outcome == bad -> move(open)
        :: state == half_open && outcome == succeeded -> move(closed)
        :: state == half_open && outcome == canceled ->
#ifndef MUTANT_CANCELED_KEEPS_PERMIT
            probe_out = false;
#endif
            probes--
        :: else -> skip
        fi
    fi
}

/* Takes the ticket out, and reports it. */
inline take_and_report(i, outcome)
{
    if
#ifdef MUTANT_REPORTED_TWICE
    :: true -> report(i, outcome); slot[i].has_ticket = false
#else
    :: slot[i].has_ticket -> slot[i].has_ticket = false; report(i, outcome)
    :: else -> skip
#endif
    fi
}

/* A ticket for the slot, if the breaker allows one. */
inline allow(i)
{
    if
    :: state == open && cooled -> move(half_open)
    :: else -> skip
    fi;
    slot[i].has_ticket = false;
    slot[i].is_probe = false;
    if
    :: state == closed -> slot[i].has_ticket = true
    :: state == half_open ->
        if
#ifdef MUTANT_TWO_PROBES
        :: true ->
#else
        :: !probe_out ->
#endif
            slot[i].has_ticket = true;
            slot[i].is_probe = true
        :: else -> skip
        fi
    :: else -> skip
    fi;
    if
    :: slot[i].has_ticket ->
        slot[i].is_stale = false;
        slot[i].is_reported = false;
        if
        :: slot[i].is_probe -> probe_out = true; probes++; assert(probes <= 1)
        :: else -> skip
        fi
    :: else -> skip
    fi
}

/* One asker. An asker that waits, or a deaf source that never comes back, is no deadlock. */
active [SLOTS] proctype asker()
{
    byte i = _pid;
    byte k;
end_waits:
    do
    :: slot[i].is_started ->
        if
        :: d_step { healed -> take_and_report(i, succeeded); good = !slot[i].is_late || good }
        :: d_step { !healed -> take_and_report(i, bad); failed = !slot[i].is_late || failed }
#ifndef PATIENT
        :: d_step { !healed -> slot[i].is_stuck = true } /* hangs */
            slot[i].is_canceled;
            d_step { take_and_report(i, canceled) }
        :: d_step { !healed -> slot[i].is_stuck = true } /* deaf */
end_deaf:
            slot[i].is_reported && slot[i].is_late
        :: slot[i].is_canceled ->
            d_step { take_and_report(i, canceled) }
#endif
        fi;
        d_step {
            slot[i].is_started = false;
            slot[i].is_stuck = false;
            slot[i].is_canceled = false;
            slot[i].is_busy = false
        }
    od
}

/* Who was left behind is reported by the janitor. */
active proctype janitor()
{
    byte k;
end_waits:
    do
#ifndef MUTANT_PROBE_NEVER_REPORTS
    :: d_step { slot[0].is_late && slot[0].has_ticket -> take_and_report(0, bad) }
    :: d_step { slot[1].is_late && slot[1].has_ticket -> take_and_report(1, bad) }
#else
    :: false
#endif
    od
}

/* The clock: breakers cool down, and overdue probes lose their permit. */
active proctype time()
{
    byte k;
end_waits:
    do
    :: d_step { state == open && !cooled -> cooled = true }
#ifndef NO_OVERDUE
    :: d_step { slot[0].is_late && slot[0].has_ticket && slot[0].is_probe && !slot[0].is_stale ->
            slot[0].is_stale = true; probe_out = false; probes-- }
    :: d_step { slot[1].is_late && slot[1].has_ticket && slot[1].is_probe && !slot[1].is_stale ->
            slot[1].is_stale = true; probe_out = false; probes-- }
#endif
    od
}

active proctype world()
{
end_waits:
    do
    :: !healed -> healed = true
    :: !healed -> other_open = !other_open
    od
}

active proctype lookups()
{
    byte i, k;
    bool is_asked, other_asked;
    do
    :: true ->
        d_step {                                         /* begins */
            good = false; failed = false; is_asked = false;
            if
            :: !slot[0].is_busy -> i = 0
            :: slot[0].is_busy && !slot[1].is_busy -> i = 1
            :: else -> i = SLOTS
            fi;
            if
            :: i < SLOTS ->
                slot[i].is_late = false;
                allow(i);
                is_asked = slot[i].has_ticket;
                if
                :: is_asked -> slot[i].is_busy = true; slot[i].is_started = true
                :: else -> skip
                fi
            :: else -> skip
            fi;
            other_asked = !other_open && !healed;
            asks_nobody = !is_asked && !other_asked
        };
        if
#ifndef MUTANT_ALL_OPEN_WAITS
        :: asks_nobody -> assert(!is_asked)              /* BreakerOpen, at once */
#endif
        :: good
        :: failed && !other_asked
        :: other_asked                                   /* it has answered, or both have failed */
#ifndef PATIENT
        :: is_asked && (!healed || slot[i].is_stuck)     /* the deadline */
#endif
        fi;
        d_step {                                         /* ends */
            if
            :: is_asked && slot[i].is_busy ->
                slot[i].is_late = true;
#ifndef MUTANT_LOSER_NOT_CANCELED
                slot[i].is_canceled = true
#endif
            :: else -> skip
            fi;
            assert(!is_asked || !slot[i].is_busy || slot[i].is_canceled);
            is_asked = false;
            over = !over
        }
    od
}

ltl closes { [] (healed -> <> (state == closed)) }
ltl goes_on { ([] <> over) && ([] <> !over) }
