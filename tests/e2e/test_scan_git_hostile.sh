#!/bin/bash
# weir scan on repositories that somebody made to harm: memory and time stay within limits, the token that is
# beside the harm is found, and what could not be read is told.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3 zip
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TOKEN=$pat
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
most_kib=$((256 * 1024))
[[ ${SANITIZED:-none} == none ]] || most_kib=$((4 * 1024 * 1024)) # its shadow counts
packs=2000
[[ -z ${WEIR_LONG:-} ]] || packs=10000

begin() { # then in an empty repository without a working tree
    tree
    git init -q --bare -b main r
    cd r
}
# The program, for at most a minute; its peak goes to a file.
measured() {
    python3 -c '
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], timeout=60)
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)
sys.exit(done.returncode)' "$dir/peak" "$@"
}
# name, status, complete or not, places; then options
survives() {
    rm -f "$dir/peak"
    run measured "$WEIR" scan --history=only --no-state --json "${@:5}" .
    local peak lines
    peak=$(cat "$dir/peak" 2>/dev/null || echo 999999999)
    lines=$(wc -l <"$dir/err")
    # shellcheck disable=SC2053 # they are patterns
    if [[ $status == "$2" && $(summary complete) == $3 && $(places) == $4 ]] &&
        ((peak <= most_kib && lines <= 40)); then
        pass "$1"
    else
        fail "$1" "$peak KiB, $lines lines, places $(places | head -3)
status $status
$(head -c 1500 "$dir/out")
$(head -c 3000 "$dir/err")"
    fi
}
make() {
    begin
    "$here/git_packs.py" "$@"
}

make chain 50000
survives 'a chain of 50,000 deltas' 1 true 'blob:*'
survives 'with little memory' 1 true 'blob:*' --delta-cache=2M

make comb 3000
survives 'a chain of 3,000 deltas with two more beside each' 1 true 'blob:*' --max-memory=256M --explain-limits
is 'nobody of it is built twice' "$(grep -o 'families of deltas: [0-9]* objects' <<<"$err")" 'families of deltas: 0 objects'

make fan 200
survives 'many deltas of one text' 1 true 'blob:*'
make cycle 1
survives 'a delta of itself' 1 false 'blob:*'
make cycle 1000
survives 'a ring of deltas' 1 false 'blob:*'
make offsets
survives 'offsets that lead to nothing or to themselves' 1 false 'blob:*'
make sizes
survives 'sizes that are not those' 1 false 'blob:*'
make delta-bomb
survives 'deltas that blow up' 1 false 'blob:*'
for kind in 0 1 2; do
    make lies $kind
    run measured "$WEIR" scan --history=only --no-state --json .
    if [[ $status == [13] && $(summary complete) == false && $(cat "$dir/peak") -le $most_kib ]]; then
        pass "an index that lies ($kind)"
    else
        fail "an index that lies ($kind)" "$(said)"
    fi
done
tree
git init -q -b main r
cd r
for i in 1 2; do
    if ((i == 1)); then echo "key = \"$pat\""; else echo "key = \"$other\""; fi >f$i
    git add .
    git commit -qm $i
    git repack -dq
done
git multi-pack-index write 2>/dev/null
(cd .git && "$here/git_packs.py" midx)
for way in --no-state --full-scan '' ''; do
    run "$WEIR" scan --history=only --json --show-secrets ${way:+"$way"} .
    is "a multi-pack-index that lies ($way)" \
        "$status $(jq -c '[.findings[] | [.secret, .places[].path]] | sort_by(.[1])' <<<"$out")" \
        "1 [[\"$pat\",\"f1\"],[\"$other\",\"f2\"]]"
    is 'is told' "$(summary complete) $(gaps | grep -c 'its multi-pack-index differs')" 'false 1'
done
noise $((3 * MiB)) >large
git add large
git commit -qm 3
git repack -dq
run "$WEIR" scan --history=only --json --no-state --delta-cache=1M .
is 'also beside a large object' "$status $(summary complete) $(gaps | grep -c 'its multi-pack-index differs')" '1 false 1'
make large 1000
survives 'a blob of 1 GiB in a few MiB' 1 true 'blob:*'
survives 'that may not be written anywhere' 1 false 'blob:*' --spill-slots=0
make large 60
survives 'one of 60 MiB' 1 true 'blob:*' --threads=8
make self-tree
survives 'a tree that has itself in it' 1 '*' '*f'
make wide-tree 12
survives 'a tree of 10^12 paths' 1 '*' '*/f'
make message 40
survives 'a message of 50 MB' 1 true 'commit:*'
make message 300
survives 'a message of 375 MB' 3 false ''
make refs 1000000
survives 'a million of refs' 1 '*' f
make thin 1200
survives 'packs that each need the one before' 1 false 'blob:*'
has_gap 'from a depth on they are told' '*its base, which is not in the pack, is large or leads through many packs*'
make thin 60
survives 'a few of them' 1 true 'blob:*'
make tiny $packs
survives "$packs packs" 1 true 'blob:*'

begin
head -c $((1024 * MiB)) /dev/zero | zip -q - - >"$dir/bomb.zip"
git hash-object -w "$dir/bomb.zip" >/dev/null
"$here/git_packs.py" chain 3
survives 'an archive that blows up' 1 false '*'
rm "$dir/bomb.zip"

# --- folders and files that lead elsewhere ---

normal() { # a repository with a token, as a folder of that name
    git init -q -b main "$1"
    echo "token = \"$pat\";" >"$1/f.c"
    git -C "$1" add f.c
    git -C "$1" commit -qm f
}
tree
normal a
mkdir other
mv a/.git/objects other/
ln -s ../../other/objects a/.git/objects
cd a
survives 'objects that are a link' 1 true f.c

tree
mkdir etc
echo 'gitdir: /etc' >etc/.git
cd etc
run "$WEIR" scan --history=only --no-state --json .
is 'a file .git that leads to no repository' "$status $(summary complete)" '3 false'
is 'one line' "$(gaps | wc -l)" 1
for text in 'gitdir: .git' 'gitdir: ../etc/.git' 'gitdir: ' 'gitdir' ''; do
    printf '%s' "$text" >.git
    run "$WEIR" scan --history=only --no-state --json .
    is "a file .git with '$text'" "$status $(gaps | wc -l)" '3 1'
done
rm .git
ln -s .git .git
run "$WEIR" scan --history=only --no-state --json .
is 'a link to itself' "$status $(gaps | wc -l)" '3 1'
rm .git
mkfifo .git
run timeout 20 "$WEIR" scan --history=only --no-state --json .
is 'a pipe in its place' "$status $(gaps | wc -l)" '3 1'

tree
normal a
cd a
echo 'ref: refs/heads/x' >.git/HEAD
echo 'ref: refs/heads/y' >.git/refs/heads/x
echo 'ref: refs/heads/x' >.git/refs/heads/y
survives 'names that lead to each other' 1 '*' f.c
mkfifo .git/refs/heads/pipe
run timeout 20 "$WEIR" scan --history=only --no-state --json .
is 'a pipe among the names' "$status $(places)" '1 f.c'

tree
normal a
normal b
echo "$PWD/b/.git/objects" >a/.git/objects/info/alternates
echo "$PWD/a/.git/objects" >b/.git/objects/info/alternates
cd a
survives 'two that borrow from each other' 1 '*' f.c
pwd | sed 's,$,/.git/objects,' >.git/objects/info/alternates
survives 'one that borrows from itself' 1 '*' f.c
for ((i = 0; i < 5000; i++)); do echo "/nowhere/$i"; done >.git/objects/info/alternates
survives 'borrows from 5,000 that are not there' 1 false f.c
head -c 3000000 /dev/zero | tr '\0' a >.git/objects/info/alternates
survives 'a name of 3 MB' 1 false f.c
noise 3000000 >.git/objects/info/alternates
survives 'noise' 1 false f.c

tree
normal a
cd a
noise 5000000 >.git/packed-refs
survives 'names that are noise' 1 '*' f.c
rm .git/packed-refs
noise 5000000 >.git/index
survives 'an index that is noise' 1 '*' f.c
noise 5000000 >.git/objects/info/commit-graph
survives 'a commit-graph that is noise' 1 '*' f.c
for i in $(seq 100); do noise 1000 "$i" >.git/objects/pack/pack-$i.pack; noise 2000 "$i" >.git/objects/pack/pack-$i.idx; done
survives 'packs that are noise' 1 false f.c

finish
