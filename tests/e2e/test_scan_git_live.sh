#!/bin/bash
# weir scan on a repository that is written to, and scans that are killed: whatever is found is there, what is
# missing is told, and nothing is remembered that was not looked at.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TOKEN=$pat
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
scans=20 kills=50
[[ -z ${WEIR_LONG:-} ]] || scans=200 kills=500
seed=${WEIR_SEED:-${WEIR_LONG:+$((SRANDOM % 32768))}}
seed=${seed:-7}
RANDOM=$seed
note "WEIR_SEED=$seed"

# Tokens in blobs that were changed later, in blobs that nothing leads to, in messages.
begin() {
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main r
    cd r
    git config gc.auto 0
    "$here/git_oracle.py" make "$seed" 60 | git fast-import --quiet
    git checkout -q "$(git for-each-ref --format='%(refname:short)' refs/heads | head -1)"
    for i in 1 2 3 4 5 6; do
        echo "lost = \"$other\" # $i" | git hash-object -w --stdin >/dev/null
    done
    git commit -q --allow-empty -m "with $pat"
}
secrets() {
    jq -r '.findings[] | .secret as $s | .places[] | "\($s) \(.path)"' "$dir/out" | sort
}
scan() {
    run "$WEIR" scan --history=only --json --show-secrets "$@" .
}

# --- git gc and commits meanwhile ---

begin
scan --no-state
whole=$(secrets)
is 'there is something to find' "$(($(wc -l <<<"$whole") > 10))" 1
touch "$dir/goes-on"
(
    i=0
    while [[ -e $dir/goes-on ]]; do
        i=$((i + 1))
        echo "$i" >"new$((i % 5)).txt"
        git add . && git commit -qm "$i"
        case $((i % 4)) in
        0) git gc -q --prune=never ;;
        1) git repack -Adfq ;; # what nothing leads to becomes loose
        2) git repack -dq ;;
        3) git prune-packed -q ;;
        esac
        # And back into a pack.
        git cat-file --batch-all-objects --batch-check='%(objectname)' |
            git pack-objects -q .git/objects/pack/pack >/dev/null && git prune-packed -q
    done
) >"$dir/meanwhile" 2>&1 &
writer=$!
silent=0 partial=0 odd=0
for ((i = 0; i < scans; i++)); do
    if ((i % 2)); then scan; else scan --no-state; fi
    [[ $status == [13] ]] || odd=$((odd + 1))
    missing=$(comm -23 <(echo "$whole") <(secrets))
    if [[ $(summary complete) == false ]]; then
        partial=$((partial + 1))
    elif [[ -n $missing ]]; then
        silent=$((silent + 1))
        note "missing: $missing"
    fi
done
rm "$dir/goes-on"
wait $writer || true
note "$partial of $scans scans were not complete"
is 'while git repacks, nothing is left out in silence' $silent 0
is 'and each scan ends as it should' $odd 0
scan
is 'the next scan is complete' "$status $(summary complete)" '1 true'
is 'and finds all, with what is remembered' "$(comm -23 <(echo "$whole") <(secrets))" ''
with=$(secrets)
scan --no-state
is 'as a scan without it does' "$(secrets)" "$with"

# --- scans that are killed ---

begin
git gc -q --prune=never
lost=0 left=0
for ((i = 0; i < kills; i++)); do
    ((i % 3)) || rm -rf "$XDG_STATE_HOME"
    echo "key = \"$other\" $i" >"f$i.txt"
    git add . && git commit -qm "$i"
    "$WEIR" scan --history=only --json . >/dev/null 2>&1 &
    victim=$!
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill -9 $victim 2>/dev/null || true
    wait $victim 2>/dev/null || true
    ((i % 5 == 4)) || continue
    scan
    with=$(secrets)
    scan --no-state
    [[ $with == "$(secrets)" && $with == *" f$i.txt"* && $(summary complete) == true ]] || lost=$((lost + 1))
done
scan
with=$(secrets)
is 'all files of killed scans' "$(grep -c ' f[0-9]*.txt' <<<"$with")" $kills
is "after $kills scans were killed, each next one is right" $lost 0
left=$(find "$XDG_STATE_HOME" "$TMPDIR" -type f | wc -l)
is 'nothing piles up' "$((left <= 4)) " '1 '

# --- SIGTERM ---

tree
git init -q --bare r
cd r
"$here/git_packs.py" fan 6000
rm -rf "$XDG_STATE_HOME"
begun=$(date +%s%N)
"$WEIR" scan --history=only --json --full-scan . >"$dir/out" 2>"$dir/err" &
pid=$!
sleep 1
kill -TERM $pid 2>/dev/null || true
status=0
wait $pid || status=$?
took=$((($(date +%s%N) - begun) / 1000000))
out=$(cat "$dir/out") err=$(cat "$dir/err")
is 'SIGTERM ends a scan' "$((status == 143 || status == 130)) $(summary interrupted) $(summary complete)" '1 true false'
if ((took < 5000)); then pass 'soon'; else fail 'soon' "after $took ms"; fi
scan
is 'the next one finds what is there' "$status $(summary complete) $(places | wc -l)" '1 true 1'

finish
