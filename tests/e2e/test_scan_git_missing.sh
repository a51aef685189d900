#!/bin/bash
# weir scan on histories of which something is missing: what a ref leads to is told, by every scan until it is
# mended; what a remote has promised is counted; what was pruned is nobody's loss. And what is found by its name.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null XDG_STATE_HOME=$dir/state
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x

begin() { # options of git init; then in the repository, with some history
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main "$@" r
    cd r
    git config gc.auto 0
    local i
    for i in 1 2 3 4 5; do
        mkdir -p src deep/er
        seq "$i" 60 >"src/a$((i % 3)).c"
        seq "$i" 9 >"deep/er/f$i"
        git add .
        git commit -qm "change $i"
    done
}
leak() {
    echo "token = \"$pat\";" >late.c
    git add late.c
    git commit -qm late
}
lose() { # a loose object
    local id
    id=$(git rev-parse "$1")
    lost=$id
    mv ".git/objects/${id:0:2}/${id:2}" "$dir/lost"
}
mend() {
    mv "$dir/lost" ".git/objects/${lost:0:2}/${lost:2}"
}
scan() {
    run "$WEIR" scan --history=only --json "$@" .
}
# name, a pattern for the one gap; options. The same with what is remembered, and without.
tells() {
    local way first
    for way in 'first scan' 'second scan' --no-state; do
        if [[ $way == --no-state ]]; then scan --no-state "${@:3}"; else scan "${@:3}"; fi
        first=$(gaps)
        # shellcheck disable=SC2053 # it is a pattern
        if [[ $status == 3 && $(summary complete) == false && $first == $2 && $(wc -l <<<"$first") == 1 ]]; then
            pass "$1 ($way)"
        else
            fail "$1 ($way)" "$(said)"
        fi
    done
}
complete() { # name; options
    scan "${@:2}"
    is "$1" "$status $(summary complete)" '0 true'
}

# --- what a ref leads to ---

begin
lose HEAD:src/a1.c
tells 'a blob is missing' "*object $lost: it is missing: 'src/a1.c' of commit $(git rev-parse HEAD~1)*"
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
tells 'a tree is missing' "*object $lost: it is missing*"
mend
complete 'the tree is back'
lose 'HEAD^{tree}'
complete 'what was scanned once is not missed'
tells 'the tree of a commit is missing' "*object $lost: it is missing*" --decode-depth=1

begin
lose HEAD~2
tells 'a commit is missing' "*commit $lost: *"
begin
git commit-graph write --reachable 2>/dev/null
lose HEAD~2
tells 'a commit that the commit-graph still knows is missing' "*object $lost: it is missing*"
begin
git branch other "$(git commit-tree -m other 'HEAD^{tree}')"
lose other
tells 'the commit of a ref is missing' "*ref 'refs/heads/other'*$lost*"
begin
git tag -a v1 -m v1 HEAD:src/a1.c
lose HEAD:src/a1.c
git checkout -q --orphan bare
git branch -qD main
git rm -rqf .
rm -rf .git/logs
git -c commit.gpgsign=false commit -qm empty --allow-empty
tells 'what a tag names is missing' "*ref 'refs/tags/v1'*$lost*"

begin
echo x >staged.c
git add staged.c
lose :staged.c
tells 'what is staged is missing' "*object $lost: it is missing*"
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
tells 'a pack without one of its objects' "*object $id: it is missing: 'src/a2.c'*"
tells 'a part of the history' "*object $id: it is missing*" --refs=main
complete 'of which nothing is missing' --range=HEAD~1..HEAD

begin --object-format=sha256
lose HEAD:src/a1.c
tells 'a blob, with SHA-256' "*object $lost: it is missing: 'src/a1.c'*"

# --- what is not missed ---

begin
echo x >pruned.c
git add pruned.c
git commit -qm pruned
lose HEAD:pruned.c
git reset -q --hard HEAD~1
tells 'a log of refs leads to it' "*object $lost: it is missing: 'pruned.c'*"
rm -rf .git/logs .git/ORIG_HEAD
complete 'nothing does'
complete 'nor later'

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
scan
is 'it is in no pack' "$status $(summary complete)" '3 false'
has_gap 'which is told' "*object $id: it is missing*"

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
