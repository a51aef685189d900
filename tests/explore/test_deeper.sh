#!/usr/bin/env bash
# WEIR_LONG makes the explorer go one preemption further, for a limited time, and it says how far it
# came. EXPLORE is the explorer. Prints TAP.
set -euo pipefail
: "${EXPLORE:?the path of the explorer}"

small=$("$EXPLORE" --list | awk '$1 ~ /^adapt_/ && !seen++ { print $1 }')
bound=$("$EXPLORE" --list | awk -v name="$small" '$1 == name { print $3 + 0 }')
number=0 failures=0
check() { # name, a pattern that must be in what was said
    number=$((number + 1))
    if grep -Eq -- "$2" <<<"$said"; then
        echo "ok $number - $1"
    else
        failures=$((failures + 1))
        sed 's/^/# said: /' <<<"$said"
        echo "not ok $number - $1"
    fi
}

said=$(env -u WEIR_LONG "$EXPLORE" --scenario "$small")
check 'the short form has one point' '^1\.\.1$'
check 'it exhausts the bound of the scenario' "preemption bound $bound, exhaustive yes"

said=$(WEIR_LONG=1 "$EXPLORE" --scenario "$small")
check 'the long form has a second point' "^ok 2 - $small --deeper\$"
check 'it also exhausts the bound of the scenario' "preemption bound $bound, exhaustive yes"
check 'it goes one preemption further' "preemption bound $((bound + 1)), exhaustive yes"

# A scenario that a second cannot exhaust.
said=$(WEIR_LONG=1 "$EXPLORE" --scenario cancel_timeout_vs_fire --seconds 1)
check 'a search that runs out of time is no failure' '^ok 2 - cancel_timeout_vs_fire --deeper$'
check 'and says that it was not exhausted' 'the bound was NOT exhausted \(allowed\)'
check 'the limit does not touch the own bound' 'preemption bound 3, exhaustive yes'

said=$(WEIR_LONG=1 "$EXPLORE" --scenario "$small" --bound 1)
check 'a given bound is kept' '^1\.\.1$'

echo "1..$number"
exit $((failures > 0))
