#!/bin/bash
# A hostile neighbour swaps directories and files with symlinks that lead elsewhere while weir copy
# runs: nothing is written outside of the destination, nothing outside is removed, and nothing from
# outside of the source is read.
#
# See copy_lib.sh for the environment; tests/tools/racer.c is the neighbour. Prints TAP. With
# WEIR_LONG each race takes longer.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"

seconds=3
is_long && seconds=60
limit_s=30

begin_race() { # arguments of racer
    "$RACER" "$@" >"$work/racer" 2>&1 &
    racer=$!
    children+=("$racer")
    until [[ -s $work/racer ]]; do
        kill -0 "$racer" 2>/dev/null || break
        sleep 0.01
    done
}

end_race() {
    kill "$racer" 2>/dev/null || true
    wait "$racer" 2>/dev/null || true
    swaps=$(sed -n 's/ swaps$//p' "$work/racer")
    note "${swaps:-no} swaps, $runs runs, $odd with errors"
}

# Copies again and again while the race is on. Errors are to be expected, crashes and hangs are not.
run_race() { # name, arguments of weir copy
    local name=$1 until
    shift
    until=$(($(date +%s) + seconds))
    runs=0 odd=0 strange=
    while [[ $(date +%s) -lt $until ]]; do
        copy "$@"
        runs=$((runs + 1))
        case $status in
        0) ;;
        3) odd=$((odd + 1)) ;;
        *) strange+=" $status" ;;
        esac
    done
    end_race
    point "$name: every run ends as it should" test -z "$strange"
    point "$name: there was a race" test "${swaps:-0}" -gt 100 -a "$runs" -gt 1
}

untouched() {
    same "$base/pristine" "$base/outside" && return
    rm -rf outside && cp -a pristine outside
    return 1
}

make_source() {
    local dir i
    for dir in d0 d1 d2 d3; do
        mkdir -p src/$dir/sub
        for i in {1..60}; do
            echo "from the source: $dir/$i" >src/$dir/f$i
            echo "from the source: $dir/sub/$i" >src/$dir/sub/f$i
        done
    done
}

base=$(fresh)
cd "$base"
make_source
# What is outside has the same names, so that a wrong step would find something to spoil.
mkdir -p outside/sub
for i in {1..60}; do
    echo "outside $i" >outside/f$i
    echo "outside $i" >outside/sub/f$i
done
echo 'precious' >outside/precious
touch -d 2001-01-01 outside/* outside/sub/* && touch -d 2001-01-01 outside/sub outside
cp -a outside pristine

for form in '-I' '-I --inplace' '-I --delete' '-I -HAX --inplace --delete'; do
    read -ra options <<<"$form"
    rm -rf dst && cp -a src dst
    begin_race dst "$base/outside"
    run_race "directories swapped, $form" "${options[@]}" src/ dst/
    point "directories swapped, $form: nothing happened outside" untouched

    # Files, and the temporary names of files: a symlink that leads to a file outside.
    rm -rf dst && cp -a src dst
    begin_race dst/d0 "$base/outside/precious"
    run_race "files swapped, $form" "${options[@]}" src/ dst/
    point "files swapped, $form: nothing happened outside" untouched
done

# A directory that is new is built under another name first: that one is swapped as well.
mkdir place
begin_race place "$base/outside"
until=$(($(date +%s) + seconds))
runs=0 odd=0 strange=
while [[ $(date +%s) -lt $until ]]; do
    copy src/ place/new-$runs/
    case $status in
    0) ;;
    3) odd=$((odd + 1)) ;;
    *) strange+=" $status" ;;
    esac
    runs=$((runs + 1))
    ((runs % 20)) || find place -mindepth 1 -maxdepth 1 -name 'new-*' -exec rm -rf {} + 2>/dev/null || true
done
end_race
point 'a new directory swapped: every run ends as it should' test -z "$strange"
point 'a new directory swapped: there was a race' test "${swaps:-0}" -gt 100
point 'a new directory swapped: nothing happened outside' untouched
rm -rf place

# What dead runs have left is removed or continued: not where a symlink has taken its place.
mkdir place
"$WEIR" copy --bwlimit=1k src/ place/dst/ >/dev/null 2>&1 </dev/null &
slow=$!
children+=("$slow")
left=
while [[ -z $left ]] && kill -0 "$slow" 2>/dev/null; do
    left=$(find place -maxdepth 1 -name '.weir-*' -printf '%f\n' -quit)
done
kill -KILL "$slow" 2>/dev/null || true
wait "$slow" 2>/dev/null || true
if [[ -n $left ]]; then
    rm -rf "place/$left" && ln -s "$base/outside" "place/$left"
    copy --delete src/ place/dst/
    point 'a symlink under the name of a leftover: it ends, well or with an error' \
        test "$status" -eq 0 -o "$status" -eq 3
    point 'a symlink under the name of a leftover: nothing happened outside' untouched
    point 'a symlink under the name of a leftover: it did not become the copy' test ! -L place/dst
    rm -f "place/$left"
    copy src/ place/dst/
    point 'a symlink under the name of a leftover: without it all is well' same src place/dst
else
    skip 'a symlink under the name of a leftover' 'nothing was left to put it in place of'
fi
rm -rf place

# Symlinks that were there before are replaced and not followed.
for form in '' --inplace --delete '--inplace --keep-links'; do
    read -ra options <<<"$form"
    rm -rf dst && cp -a src dst && rm -rf dst/d0 dst/d1/f1
    ln -s "$base/outside" dst/d0 && ln -s "$base/outside/precious" dst/d1/f1
    ln -s "$base/outside" dst/extra
    copy "${options[@]}" src/ dst/
    point "symlinks in the way, '$form': ends well" ended 0
    point "symlinks in the way, '$form': nothing happened outside" untouched
    point "symlinks in the way, '$form': they are replaced" test ! -L dst/d0 -a ! -L dst/d1/f1
done

# On the other side: what is outside of the source is not read.
echo 'SECRET' >secret-file
mkdir secret && for i in {1..60}; do echo "SECRET $i" >secret/f$i; done
for place in src "src/d0"; do
    target=$base/secret
    [[ $place == src ]] || target=$base/secret-file
    rm -rf dst
    begin_race $place "$target"
    run_race "the source swapped, $place" -I src/ dst/
    rm -f src/.racer src/d0/.racer
    # The symlink itself may have been copied: as a symlink, which grep -r does not follow.
    point "the source swapped, $place: nothing was read outside" no grep -rqs SECRET dst
    rm -rf src && make_source
done

finish
