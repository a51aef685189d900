#!/bin/bash
# weir scan on histories of which something is missing: what a ref leads to is told, by every scan until it is
# mended; what a remote has promised is counted; what was pruned is nobody's loss. And what is found by its name.
set -euo pipefail
# shellcheck source=tests/e2e/scan_missing_lib.sh
source "$(dirname "$0")/scan_missing_lib.sh"

# --- what a ref leads to ---

begin
lose HEAD:src/a1.c
tells 'a blob is missing' "*object $lost: $lacks: 'src/a1.c' of commit $(git rev-parse HEAD~1)$cure"
mend
complete 'it is back'
complete 'and still there'

begin
leak
lose HEAD:src/a1.c
scan
is 'what is there is found beside it' "$status $(summary complete) $(places)" '1 false late.c'
scan
is 'and again' "$status $(summary complete) $(places)" '1 false late.c'

begin
lose HEAD:deep/er
tells 'a tree is missing' "*object $lost: $lacks$cure"
mend
complete 'the tree is back'
begin
lose 'HEAD^{tree}'
tells 'the tree of a commit is missing' "*object $lost: $lacks$cure"

begin
lose HEAD~2
tells 'a commit is missing' "*object $lost: $lacks$cure"
begin
git commit-graph write --reachable 2>/dev/null
lose HEAD~2
tells 'a commit that the commit-graph still knows is missing' "*object $lost: $lacks$cure"
begin
git branch other "$(git commit-tree -m other 'HEAD^{tree}')"
lose other
tells 'the commit of a ref is missing' "*ref 'refs/heads/other'*$lost: $lacks$cure"
begin
git tag -a v1 -m v1 HEAD:src/a1.c
lose HEAD:src/a1.c
git checkout -q --orphan bare
git branch -qD main
git rm -rqf .
rm -rf .git/logs
git -c commit.gpgsign=false commit -qm empty --allow-empty
tells 'what a tag names is missing' "*ref 'refs/tags/v1'*$lost: $lacks$cure"

begin
git tag -a v1 -m v1
lose v1
tells 'a tag is missing' "*ref 'refs/tags/v1'*$lost: $lacks$cure"
mend
git pack-refs --all
lose v1
tells 'one of which packed-refs knows where it leads' "*object $lost: $lacks$cure"
mend
complete 'the tag is back'

begin
echo x >staged.c
git add staged.c
lose :staged.c
tells 'what is staged is missing' "*object $lost: $lacks$cure"
begin
noise 5000 >.git/index
tells 'an index that is noise' '*index*'

begin
git repack -adq
id=$(git rev-parse HEAD~3:src/a2.c)
git cat-file --batch-all-objects --batch-check='%(objectname)' | grep -v "$id" |
    git pack-objects -q "$dir/pack" >/dev/null
rm -f .git/objects/pack/*
cp "$dir"/pack-* .git/objects/pack/
rm "$dir"/pack-*
tells 'a pack without one of its objects' "*object $id: $lacks: 'src/a2.c' of commit *$cure"
tells 'a part of the history' "*object $id: $lacks*$cure" --refs=main
complete 'of which nothing is missing' --range=HEAD~1..HEAD

begin --object-format=sha256
lose HEAD:src/a1.c
tells 'a blob, with SHA-256' "*object $lost: $lacks: 'src/a1.c' of commit *$cure"

begin
git repack -adq
cp .git/objects/pack/pack-*.pack .git/objects/pack/alone.pack
tells 'a pack has no index' '*pack/alone.pack has no index: git index-pack makes one*'
rm -f .git/objects/pack/alone.pack
complete 'it is gone'

# --- what is not missed ---

begin
echo x >pruned.c
git add pruned.c
git commit -qm pruned
lose HEAD:pruned.c
git reset -q --hard HEAD~1
tells 'a log of refs leads to it' "*object $lost: $lacks: 'pruned.c' of commit *$cure"
rm -rf .git/logs .git/ORIG_HEAD
complete 'nothing does'
complete 'nor later'

begin
git commit-graph write --reachable
git reset -q --hard HEAD~1
git reflog expire --expire=now --all
git prune --expire=now
is 'a commit that was pruned is still in the graph, and in ORIG_HEAD' "$(git cat-file -t ORIG_HEAD 2>&1 | grep -c fatal)" 1
complete 'that is not missed'
complete 'nor later'
rm .git/objects/info/commit-graph
complete 'as without the graph' --no-state

begin
: >empty
git add empty
git commit -qm empty
lose HEAD:empty
complete 'the empty blob need not be there'
echo x >intended.c
git add -N intended.c
complete 'what is only to be added has none'
git checkout -q --orphan none
git rm -rqf .
git commit -qm none --allow-empty
rm -f .git/objects/4b/825dc642cb6eb9a060e54bf8d69288fbee4904
complete 'nor need the empty tree'

begin
git submodule --quiet add ./ sub 2>/dev/null || git update-index --add --cacheinfo "160000,$(printf '%040d' 7),sub"
git commit -qm sub
complete 'commits of submodules are elsewhere'

# --- names and paths in commits that nothing leads to ---

lost() { # what HEAD alone has is lost
    git reset -q --hard HEAD~1
    rm -f .git/ORIG_HEAD
    git reflog expire --expire=now --all
}
where() {
    jq -r '.findings[].places[] | "\(.path) \(.commit[:9]) \(.by)"' "$dir/out" | sort
}
begin
: >reached
git add reached
git commit -qm reached
mkdir d
echo x >"$pat.txt"
touch k.p12
echo "token = \"$other\";" >d/f
git add .
git commit -qm "with $other"
commit=$(git rev-parse HEAD)
lost
wanted=$(printf '%s\n' "commit:$commit ${commit:0:9} unreachable" "d/f ${commit:0:9} unreachable" \
    "${pat:0:4}*${pat: -4}.txt ${commit:0:9} unreachable")
first=
for way in loose again packed --no-state; do
    [[ $way != packed ]] || git repack -adkq
    if [[ $way == --no-state ]]; then scan --no-state; else scan; fi
    is "what a lost commit has ($way)" "$status $(summary complete) $(where | grep -v k.p12 | tr -s '*')" "1 true $wanted"
    is 'a name of a blob that others have too' "$(places | grep -c '^k.p12$')" 1
    first=${first:-$(where)}
    is 'as at first' "$(where)" "$first"
done
lose "$commit:d"
scan --no-state
is 'what is missing of it nobody misses' "$status $(summary complete) $(places | grep -c '^blob:')" '1 true 1'

begin
git checkout -q -b other
cp src/a1.c "$pat.c"
git add .
git commit -qm other
git checkout -q main
scan
is 'a name on a branch' "$status $(places | tr -s '*')" "1 ${pat:0:4}*${pat: -4}.c"
git branch -qD other
git reflog expire --expire=now --all
scan
is 'is there when the branch is gone' "$status $(places | tr -s '*')" "1 ${pat:0:4}*${pat: -4}.c"

begin
echo x >"$pat.txt"
git add .
git write-tree >/dev/null
git rm -q --cached "$pat.txt"
tells 'a tree that no commit has' '*something may be in a name of a tree that no commit has*'

# --- clones that have only a part ---

begin
leak
git config uploadpack.allowFilter true
cd ..
for filter in blob:none tree:0; do
    rm -rf part "$XDG_STATE_HOME"
    git -c protocol.file.allow=always clone -q --no-checkout --filter=$filter "file://$PWD/r" part
    cd part
    git config gc.auto 0
    missing=$(git rev-list --objects --all --missing=print | grep -c '^?')
    tells "a partial clone ($filter)" "*objects that are not here: $missing, in a partial clone*"
    tells 'a part of it' '*objects that are not here: *, in a partial clone*' --refs=main
    cd ..
done
cd part
git config remote.origin.url "file:///nowhere"
echo "token = \"$other\";" | git hash-object -w --stdin >/dev/null
scan
is 'its remote is gone: what is there is found' "$status $(summary complete) $(places | grep -c '^blob:')" '1 false 1'
git config remote.origin.url "file://$dir/tree/r"
git fetch -q --refetch --no-filter 2>/dev/null
scan
is 'all of it was fetched' "$status $(summary complete) $(places | grep -v '^blob:')" '1 true late.c'

begin
cd ..
git clone -q --depth 2 "file://$PWD/r" shallow
cd shallow
scan
is 'a shallow clone is complete' "$status $(summary complete)" '0 true'
is 'and said to be one' "$(summary shallow) $(grep -c 'shallow: 1 of the histories' "$dir/err")" '1 1'
run "$WEIR" scan --history=only .
is 'to people too' "$(grep -c 'shallow: 1 of the histories' "$dir/out")" 1
rm .git/shallow
scan
is 'without its mark it is not' "$status $(summary complete) $(summary shallow)" '3 false 0'

# --- loose objects that are gone when they are read: a link to nothing is listed and cannot be opened ---

begin
id=$(git rev-parse HEAD:src/a1.c)
vanish() {
    rm -f ".git/objects/${id:0:2}/${id:2}"
    mkdir -p ".git/objects/${id:0:2}"
    ln -s /nowhere "$_/${id:2}"
}
git repack -aq
vanish
complete 'a loose object was packed meanwhile'
begin
id=$(echo unreachable | git hash-object -w --stdin)
vanish
complete 'it is in no pack, and nothing leads to it: it may have been pruned'
begin
id=$(git rev-parse HEAD:src/a1.c)
vanish
scan
is 'a branch leads to it' "$status $(summary complete)" '3 false'
has_gap 'which is told' "*object $id: it is missing: 'src/a1.c' of commit *$cure"

# --- names ---

begin
echo one >"x-$pat.txt"
mkdir -p "deep/$other/er"
cp deep/er/f1 "deep/$other/er/f1"
git add .
git commit -qm names
git rm -rq "deep/$other" x-*
git commit -qm gone
for way in first second; do
    run "$WEIR" scan --history=only --json --show-secrets .
    is "secrets in names of files and folders ($way scan)" "$status $(summary complete) $(places | tr '\n' ' ')" \
        "1 true deep/$other/er/f1 x-$pat.txt "
done
run "$WEIR" scan --json --show-secrets --range=HEAD~2..HEAD~1 .
is 'in a part of the history' "$(places | tr '\n' ' ')" "deep/$other/er/f1 x-$pat.txt "
run "$WEIR" scan --json --show-secrets --range=HEAD~1..HEAD .
is 'and not in another' "$(places)" ''
run "$WEIR" scan --history=only --json --show-secrets .
is 'with their commit' \
    "$(jq -r '.findings[].places[] | select(.path | startswith("x-")) | .commit' "$dir/out")" \
    "$(git rev-parse HEAD~1)"

finish
