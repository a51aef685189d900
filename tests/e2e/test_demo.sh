#!/bin/bash
# weir demo: every part by itself, its numbers against its limits, and an output that ends early.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
parts='budget slots pool queue breaker drain'

ended() { # status, lines on standard error
    [[ $status -eq $1 && $(wc -l <"$dir/err") -eq $2 ]]
}

titles() { # the parts that the text has, in its order
    sed -n 's/^[1-6]\. \([a-z]*\): .*/\1/p' "$dir/out" | tr '\n' ' '
}

# True when the expression holds; p is the object of a part, by its name.
holds() {
    python3 -c 'import json, sys
p = {o["part"]: o for o in map(json.loads, open(sys.argv[1]))}
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$1"
}

no() { # a command that must fail
    ! "$@"
}

## all of it

cd "$dir"
run "$WEIR" demo
check 'it ends well and says nothing on standard error' ended 0 0
check 'all parts are there, in order' test "$(titles)" = "$parts "
check 'it fits 80 columns' no grep -qE '^.{81}' out
check 'there is no color without a terminal' no grep -q $'\e' out
check 'no promise is broken' no grep -q BROKEN out
check 'it says how many hold' grep -qE '^([0-9]+) of \1 promises hold\.' out
check 'the refusals have their reason' grep -q "TooLarge: budget 'tickets': 5 asked for" out
check 'it ends with what to try next' grep -q '^   script/test ' out
held=$(sed -n '/^   OBJECT /,/^$/p' out | awk 'NR > 1 && NF { print $(NF - 2) }' | sort -u)
check 'nothing is held at the end' test "$held" = 0

## by name

for part in $parts; do
    run "$WEIR" demo "$part"
    check "$part alone ends well" ended 0 0
    check "$part alone is alone" test "$(titles)" = "$part "
done
run "$WEIR" demo drain slots
check 'two parts keep their order' test "$(titles)" = 'slots drain '

## JSON

run "$WEIR" demo --json
check 'JSON ends well' ended 0 0
check 'every line is JSON' python3 -m json.tool --json-lines out /dev/null
check 'one object for each part' test "$(wc -l <out)" -eq 6
check 'the objects are the parts, in order' holds "' '.join(p) == '$parts'"
check 'every promise holds' holds 'all(q["holds"] for o in p.values() for q in o["promises"])'
check 'every part promises something' holds 'all(o["promises"] for o in p.values())'
check 'everything that was given was returned' \
    holds 'all(x["given"] == x["returned"] for o in p.values() for x in o["objects"])'
check 'it takes less than five seconds' holds 'sum(o["took_ms"] for o in p.values()) < 5000'

check 'budget: in use at most the capacity' \
    holds '0 < p["budget"]["most_in_use"] <= p["budget"]["capacity"]'
check 'budget: the large request is in the middle of the flood' \
    holds 'p["budget"]["served_before"] > 0 and p["budget"]["served_after"] > 0'
check 'budget: and is overtaken by nobody' \
    holds 'p["budget"]["served_while_waiting"] <= p["budget"]["threads"]'
check 'budget: too much is refused' holds 'p["budget"]["too_large"]["error"] == "TooLarge"'
check 'slots: as many as there are' holds 'p["slots"]["taken"] == p["slots"]["slots"]'
check 'slots: then Busy' holds 'p["slots"]["busy"]["error"] == "Busy"'
check 'pool: jobs at once at most the limit' \
    holds '1 < p["pool"]["jobs_at_once_most"] <= p["pool"]["jobs_at_once_limit"]'
check 'pool: bytes at most the limit' \
    holds '0 < p["pool"]["bytes_in_use_most"] <= p["pool"]["pool_bytes"]'
check 'pool: mapping jobs at most the slots' \
    holds '0 < p["pool"]["mapping_most"] <= p["pool"]["slots"]'
check 'pool: reading jobs at most the tokens' \
    holds '0 < p["pool"]["reading_most"] <= p["pool"]["reading_limit"]'
check 'pool: all jobs are done' \
    holds 'p["pool"]["jobs_done"] == p["pool"]["jobs"] and p["pool"]["jobs_failed"] == 0'
check 'queue: accepted is the capacity, and comes back' \
    holds 'p["queue"]["queue_accepted"] == p["queue"]["queue_capacity"] == p["queue"]["queue_drained"]'
check 'queue: received and lost are all that was published' \
    holds 'p["queue"]["bus_slow_received"] + p["queue"]["bus_slow_lost"] == p["queue"]["bus_published"]'
check 'queue: no torn value' holds 'p["queue"]["watch_torn"] == 0'
check 'breaker: it opened' holds 'p["breaker"]["opened"] >= 1'
check 'breaker: every lookup has an answer' \
    holds 'p["breaker"]["answered_by_steady"] + p["breaker"]["answered_by_shaky"] == p["breaker"]["lookups"]'
check 'breaker: the pace is kept' \
    holds 'p["breaker"]["paced_bytes"] <= p["breaker"]["pace_burst_bytes"] + p["breaker"]["pace_bytes_per_s"] * p["breaker"]["paced_took_ms"] / 1000 + 1'
check 'drain: somebody was aborted' holds 'p["drain"]["aborted"] >= 1'
check 'drain: every thread is accounted for' \
    holds 'p["drain"]["threads"] == p["drain"]["ended"] + p["drain"]["abandoned"]'
check 'drain: every item is accounted for' \
    holds 'p["drain"]["accepted"] == p["drain"]["done"] + p["drain"]["taken_back"] + p["drain"]["handed_back"]'

## wrong command lines

run "$WEIR" demo buget
check 'an unknown part is a usage error' ended 2 1
check 'and the nearest one is offered' grep -q "did you mean 'budget'" err
run "$WEIR" demo --jsno
check 'an unknown option is a usage error' ended 2 1
check 'and the right one is offered' grep -q -- "did you mean '--json'" err

## color, and output that goes nowhere

CLICOLOR_FORCE=1 run "$WEIR" demo queue
check 'CLICOLOR_FORCE colors' grep -q $'\e\[1m' out
NO_COLOR=1 CLICOLOR_FORCE=1 run "$WEIR" demo queue
check 'NO_COLOR wins' no grep -q $'\e' out
CLICOLOR_FORCE=1 run "$WEIR" demo --json queue
check 'JSON has no color' no grep -q $'\e' out

for options in '' --json; do
    {
        status=0
        # shellcheck disable=SC2086 # no option at all is one of the cases
        (sleep 0.05; exec "$WEIR" demo $options) 2>"$dir/err" || status=$?
        echo "$status" >"$dir/status"
    } | true
    check "a reader that left is no error: demo $options" \
        test "$(cat "$dir/status" "$dir/err")" = 0
    # shellcheck disable=SC2086
    run bash -c '"$0" demo $1 >/dev/full' "$WEIR" "$options"
    check "a full disk is reported: demo $options" ended 3 1
done

finish
