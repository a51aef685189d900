#!/bin/bash
# weir scan on histories that were scanned in full, and of which something is gone since: what a ref leads to is told
# by every later scan until it is back; who has packed anew, or pruned what nothing leads to, hears nothing.
set -euo pipefail
# shellcheck source=tests/e2e/scan_missing_lib.sh
source "$(dirname "$0")/scan_missing_lib.sh"

known() { # what is there is remembered: nothing is left to be looked at
    scan
    scan
    is "$1: all is remembered" "$(summary complete) $(summary objects)" 'true 0'
}
# A loose object is gone after a complete scan, then it is back. name, object, a pattern for the gap.
loses() {
    known "$1"
    lose "$2"
    tells "$1" "${3//LOST/$lost}"
    mend
    complete "$1: it is back"
    known "$1: as before"
}

# --- loose objects ---

begin
loses 'a blob' HEAD:src/a1.c "*object LOST: $lacks: 'src/a1.c' of commit $(git rev-parse HEAD~1)$cure"
loses 'a tree' HEAD:deep/er "*object LOST: $lacks$cure"
loses 'the tree of a commit' 'HEAD~1^{tree}' "*object LOST: $lacks$cure"
loses 'a commit' HEAD~2 "*object LOST: $lacks$cure"
git branch other "$(git commit-tree -m other 'HEAD^{tree}')"
loses 'the commit of a ref' other "*ref 'refs/heads/other'*LOST: $lacks$cure"
git commit-graph write --reachable 2>/dev/null
loses 'a commit that the commit-graph still knows' HEAD~2 "*object LOST: $lacks$cure"
rm -r .git/objects/info/commit-graph*
echo x >staged.c
git add staged.c
loses 'what is staged' :staged.c "*object LOST: $lacks$cure"
git tag -a v1 -m v1 "$(echo tagged | git hash-object -w --stdin)"
loses 'what a tag names' 'v1^{}' "*ref 'refs/tags/v1'*LOST: $lacks$cure"
loses 'a tag' v1 "*ref 'refs/tags/v1'*LOST: $lacks$cure"
git pack-refs --all
loses 'a tag of which packed-refs knows where it leads' v1 "*object LOST: $lacks$cure"

begin
leak
scan
lose HEAD:late.c
for way in first second; do
    scan
    is "a blob with a secret: it is not found ($way scan)" "$status $(summary complete) $(places)" '3 false '
done
has_gap 'and told' "*object $lost: $lacks: 'late.c' of commit *$cure"
mend
for way in first second; do
    scan
    is "it is back, and found ($way scan)" "$status $(summary complete) $(places)" '1 true late.c'
done

begin
leak
scan
lose HEAD:src/a1.c
for way in first second; do
    scan
    is "what is there is found beside it ($way scan)" "$status $(summary complete) $(places)" '1 false late.c'
done

begin --object-format=sha256
loses 'a blob, with SHA-256' HEAD:src/a1.c "*object LOST: $lacks: 'src/a1.c' of commit *$cure"

# --- packs ---

replace_pack() { # by one without this object
    git cat-file --batch-all-objects --batch-check='%(objectname)' | grep -v "$1" |
        git pack-objects -q "$dir/pack" >/dev/null
    mkdir -p "$dir/before"
    mv .git/objects/pack/* "$dir/before/"
    mv "$dir"/pack-* .git/objects/pack/
}
begin
git repack -adq
known 'a pack'
for object in HEAD~3:src/a2.c HEAD~1:deep; do
    id=$(git rev-parse $object)
    replace_pack "$id"
    tells "a pack without $object" "*object $id: $lacks*$cure"
    rm -f .git/objects/pack/*
    mv "$dir"/before/* .git/objects/pack/
    complete 'the pack of before'
done
known 'the pack of before'

begin
git clone -q --shared . ../borrower
git repack -adq
cd ../borrower
known 'what it borrows'
cd ../r
id=$(git rev-parse HEAD~3:src/a2.c)
replace_pack "$id"
cd ../borrower
tells 'what it borrows is gone' "*object $id: $lacks: 'src/a2.c' of commit *$cure"

begin
git repack -adq
known 'a pack that is cut off later'
pack=$(echo .git/objects/pack/*.pack)
chmod u+w "$pack"
cp "$pack" "$dir/whole"
truncate -s -1 "$pack"
for way in first second; do
    scan
    is "a pack was cut off ($way scan)" "$status $(summary complete)" '3 false'
    has_gap 'which is told' '*it may be cut off*'
done
cat "$dir/whole" >"$pack"
complete 'it is whole again'
rm "$pack"
scan
is 'a pack is gone, and its index is not' "$status $(summary complete)" '3 false'
cp "$dir/whole" "$pack"
complete 'the pack is back'

# --- what is not missed, and what that costs ---

spared() { # name: complete, and not one object was looked at; options
    scan "${@:2}"
    is "$1" "$status $(summary complete) $(summary objects)" '0 true 0'
}
begin
known 'before packing'
git repack -adq
spared 'what was loose is packed'
spared 'and known as a pack'
git repack -adfq --depth=1
spared 'packed otherwise'
echo more | git hash-object -w --stdin >/dev/null
scan
is 'of what is new only that is looked at' "$status $(summary complete) $(summary objects)" '0 true 1'
git gc -q --prune=now
scan
is 'what nothing leads to was pruned: commits are looked at, and no blob' \
    "$status $(summary complete) $(summary objects)" "0 true $(git rev-list --count HEAD)"
spared 'that is done once'
git unpack-objects -q < <(mv .git/objects/pack/pack-*.pack "$dir/unpacked" && cat "$dir/unpacked")
rm -f .git/objects/pack/*
spared 'packed objects are loose again'

begin
echo "token = \"$pat\";" >pruned.c
git add pruned.c
git commit -qm pruned
git reset -q --hard HEAD~1
scan
is 'a secret in a commit that a log leads to' "$status $(summary complete) $(places)" '1 true pruned.c'
pruned=$(git rev-parse ORIG_HEAD:pruned.c)
remembers() { # whether its id is in the state
    cat "$XDG_STATE_HOME"/weir/scan/* | od -An -v -tx1 | tr -d ' \n' | grep -c "$pruned" || true
}
is 'it is remembered' "$(remembers)" 1
git reflog expire --expire=now --all
rm .git/ORIG_HEAD
git prune --expire=now
scan
is 'it was pruned: commits are looked at, and no blob that is left' "$status $(summary complete) $(summary objects)" \
    "0 true $(git rev-list --count HEAD)"
is 'and is remembered no more' "$(remembers)" 0
spared 'nor looked for'
echo "token = \"$pat\";" | git hash-object -w --stdin >/dev/null
scan
is 'it came back' "$status $(summary complete) $(places)" "1 true blob:$pruned"

begin
git checkout -q --detach
echo half >half.c
git add half.c
git commit -qm half
lost=$(git rev-parse HEAD:half.c)
git checkout -q main
rm -rf .git/logs
scan
rm ".git/objects/${lost:0:2}/${lost:2}"
complete 'of what nothing leads to a part was pruned'
complete 'and is not missed later'

# --- what does not fit into memory ---

tree
rm -rf "$XDG_STATE_HOME"
git init -q -b main r
cd r
count=45000
python3 -c 'import sys
count = int(sys.argv[1])
for i in range(count):
    text = f"text {i}\n"
    print(f"blob\nmark :{i + 1}\ndata {len(text)}\n{text}")
print("commit refs/heads/main\ncommitter C <c@x> 1 +0000\ndata 1\nx")
for i in range(count):
    print(f"M 100644 :{i + 1} d{i % 100}/f{i}")' "$count" |
    git -c fastimport.unpackLimit=0 fast-import --quiet
left=$((count + 1))
for way in first second; do
    scan --max-memory=123M --threads=2
    looked=$(summary objects)
    if [[ $status == 0 && $looked -gt 0 && $looked -le $left ]]; then
        pass "a history whose ids do not fit into memory ($way scan)"
    else
        fail "a history whose ids do not fit into memory ($way scan)" "$left were left: $(said)"
    fi
    left=$((looked - 10000)) # so many fit at least
done
complete 'it is remembered bit by bit' --max-memory=123M --threads=2
spared 'until all of it is' --max-memory=123M --threads=2
id=$(git rev-parse main:d7/f7)
replace_pack "$id"
tells 'and missed when it is gone' "*object $id: $lacks: 'd7/f7' of commit *$cure" --max-memory=123M --threads=2

# --- what could not be read was not missed; when it is gone it is ---

begin
id=$(git rev-parse HEAD:src/a1.c)
file=.git/objects/${id:0:2}/${id:2}
chmod u+w "$file"
echo garbage >"$file"
tells 'a loose object is damaged' "*object $id: it is damaged*"
rm "$file"
tells 'the damaged one is gone' "*object $id: $lacks: 'src/a1.c' of commit *$cure"

begin
id=$(git rev-parse HEAD:src/a1.c)
pack=.git/objects/pack/pack-$(git pack-objects -q .git/objects/pack/pack <<<"$id")
git prune-packed
chmod u+w "$pack.idx"
printf '\377' | dd of="$pack.idx" bs=1 seek=10 conv=notrunc status=none
tells 'an index is damaged' '*its index is damaged*'
rm -f "$pack".*
tells 'its pack is gone' "*object $id: $lacks: 'src/a1.c' of commit *$cure"

# --- a multi-pack-index that still has a pack that is gone, whose objects are elsewhere ---

begin
leak
git repack -adq
git multi-pack-index write 2>/dev/null
pack=$(echo .git/objects/pack/*.pack)
mv "$pack" "$dir/whole"
rm -f "${pack%.pack}".*
git unpack-objects -q <"$dir/whole"
for way in --state --no-state --full-scan; do
    scan "$way"
    is "they are loose ($way)" "$status $(summary complete) $(places)" '1 true late.c'
done
git pack-objects -q .git/objects/pack/pack --all </dev/null >/dev/null
git prune-packed
for way in --state --no-state --full-scan; do
    scan "$way"
    is "they are in another pack ($way)" "$status $(summary complete) $(places)" '1 true late.c'
done

finish
