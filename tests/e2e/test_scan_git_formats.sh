#!/bin/bash
# weir scan on repositories whose files are of every format that git writes, each with one token.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TOKEN=$pat
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
export GIT_AUTHOR_DATE='2024-05-01T12:00:00+0200' GIT_COMMITTER_DATE='2024-05-01T12:00:00+0200'

commit() { # file, content
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
    git add -f "$1"
    git commit -qm "change $1"
}
begin() { # options of git init
    tree
    git init -q -b main "$@" r
    cd r
    git config gc.auto 0
    for i in 1 2 3 4; do commit "src/a$i.c" "$(seq "$i" 60)"; done
    commit src/config.c "token = \"$pat\";"
    first=$(git rev-parse HEAD)
    commit src/config.c 'token = "";'
}
finds() { # name; options
    run "$WEIR" scan --history=only --no-state --json "${@:2}" .
    if [[ $status == 1 && $(places) == src/config.c && $(summary complete) == true &&
        $(jq -r '.findings[0].places[0].commit' "$dir/out") == "$first" ]]; then
        pass "$1"
    else
        fail "$1" "$(said)"
    fi
}
refuses() { # name, a pattern for the reason
    run "$WEIR" scan --history=only --no-state --json .
    # shellcheck disable=SC2053 # it is a pattern
    if [[ $status == 3 && $(summary complete) == false && $(gaps) == $2 && $(gaps | wc -l) == 1 ]]; then
        pass "$1"
    else
        fail "$1" "$(said)"
    fi
}

# --- packs and their indexes ---

for format in sha1 sha256; do
    begin --object-format=$format
    git -c pack.indexVersion=1 repack -adfq
    finds "$format: an index of version 1"
    git -c pack.indexVersion=2 -c pack.writeReverseIndex=true repack -adfq
    is "$format: there is a reverse index" "$(find .git/objects/pack -name '*.rev' | wc -l)" 1
    finds "$format: a reverse index"
    rev=$(find .git/objects/pack -name '*.rev')
    chmod u+w "$rev"
    noise "$(stat -c %s "$rev")" >"$rev"
    finds "$format: a reverse index that is noise is not used"
    rm -f "$rev"
    commit b.c 1
    git repack -dq
    commit b.c 2
    git repack -dq
    git multi-pack-index write 2>/dev/null
    finds "$format: a multi-pack-index"
    touch "$(find .git/objects/pack -name '*.pack' | head -1 | sed 's/pack$/keep/')"
    finds "$format: a pack that is kept"
    commit b.c 3
    git repack -dq
    finds "$format: a pack that is not in the multi-pack-index"
    git repack -adq --write-bitmap-index
    finds "$format: a bitmap"
done

# --- commit-graphs ---

begin
git commit-graph write --reachable --split 2>/dev/null
for i in 1 2 3; do
    commit "c$i.c" "$i"
    git commit-graph write --reachable --split=no-merge 2>/dev/null
done
is 'there is a chain' "$(($(wc -l <.git/objects/info/commit-graphs/commit-graph-chain) > 2))" 1
finds 'a chain of commit-graphs'
commit d.c 1
finds 'a commit that none of them has'
rm -f "$(find .git/objects/info/commit-graphs -name 'graph-*' | sort | head -1)"
finds 'a chain of which a part is gone'
rm -rf .git/objects/info/commit-graphs
git commit-graph write --reachable 2>/dev/null
chmod u+w .git/objects/info/commit-graph
python3 -c 'import sys
path, name = sys.argv[1], bytes.fromhex(sys.argv[2])
data = open(path, "rb").read()
assert data.count(name) == 1
open(path, "wb").write(data.replace(name, name[:15] + bytes([name[15] ^ 4]) + name[16:]))' \
    .git/objects/info/commit-graph "$first"
finds 'a commit-graph that names a commit that nobody has'

# --- what is ignored ---

begin
git replace "$first" "$(git rev-parse "$first~1")"
finds 'a commit that is replaced'
git replace -d "$first" >/dev/null
git replace "$(git rev-parse "$first:src/config.c")" "$(git rev-parse HEAD:src/config.c)"
finds 'a blob that is replaced'
begin
echo "$(git rev-parse HEAD) $(git rev-parse HEAD~3)" >.git/info/grafts
finds 'a graft past the commit'

# --- working trees ---

begin
git worktree add -q --detach ../linked HEAD~2
commit late.c 1
cd ../linked
finds 'a linked working tree, at another commit'
rm -rf ../linked2
git worktree add -q -b side ../linked2 2>/dev/null
cd ../linked2
finds 'another one'

# --- alternates ---

begin
last=$PWD
for i in 1 2 3 4; do
    git clone -q --shared "$last" "../borrower$i" 2>/dev/null
    last=$dir/tree/borrower$i
done
cd "$last"
finds 'one that borrows from one that borrows, and so on'
begin
for i in $(seq 60); do
    git init -q --bare "../empty$i"
    echo "$dir/tree/empty$i/objects"
done >"$dir/list"
git init -q --bare ../many
git push -q ../many main
echo "$PWD/.git/objects" >>"$dir/list"
rm -rf ../many/objects/??
cp "$dir/list" ../many/objects/info/alternates
cd ../many
finds 'one that borrows from 61'
for i in $(seq 61 70); do git init -q --bare "../empty$i"; done
for i in $(seq 61 70); do echo "$dir/tree/empty$i/objects"; done >>objects/info/alternates
run "$WEIR" scan --history=only --no-state --json .
is 'from more than may be: that is told' "$status $(places) $(summary complete)" '1 src/config.c false'
is 'each by its name' "$(gaps | grep -c "'$dir/tree/empty[67].*', which it borrows from, cannot be used: there are more than")" 7

# --- what is not read ---

begin
git config core.repositoryFormatVersion 1
git config extensions.refStorage reftable
refuses 'names in a reftable' '*reftable*'
begin
git config core.repositoryFormatVersion 1
git config extensions.unheardOf true
refuses 'an extension that is not known' '*unheardof*'
begin
git config core.repositoryFormatVersion 7
refuses 'a version that is not known' '*version*7*'

# --- one huge pack, and very many ---

begin
git repack -adq
finds 'only one pack'
begin
git repack -adq
mv .git/objects/pack/*.pack "$dir/one.pack"
rm -f .git/objects/pack/*
git unpack-objects -q <"$dir/one.pack"
finds 'only loose objects'
rm "$dir/one.pack"
begin
git repack -adq
long=$(printf 'a%.0s' {1..240})
for end in idx pack; do mv .git/objects/pack/*.$end ".git/objects/pack/pack-1$long.$end"; done
finds 'a pack of the longest name'
commit src/other.c 'nothing'
git repack -q
for end in idx pack; do mv "$(find .git/objects/pack -name "pack-[0-9a-f]?[!a]*.$end")" ".git/objects/pack/pack-2$long.$end"; done
finds 'and two that end alike'
if [[ -n ${WEIR_LONG:-} ]]; then
    (cd .git && "$here/git_packs.py" tiny 10000)
    run "$WEIR" scan --history=only --no-state --json .
    is '10,000 packs beside it' "$status $(summary complete) $(places | wc -l)" '1 true 2'
fi

finish
