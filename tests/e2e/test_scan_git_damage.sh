#!/bin/bash
# weir scan on histories that were damaged after a scan, or lie under several names: what is told is what a scan in full
# tells that remembers nothing, each damage once, whoever meets it, and however the repository is called.
set -euo pipefail
# shellcheck source=tests/e2e/scan_missing_lib.sh
source "$(dirname "$0")/scan_missing_lib.sh"

flip() { # file, offset: the byte there is another one
    chmod u+w "$1"
    python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte ^ 255]))' "$1" "$2"
}
told() { # all that a scan says
    echo "$status"
    jq -c '.findings[] | [.rule, .places]' "$dir/out" | sort
    gaps
}
# name, a pattern for what is told. With what is remembered, twice, and without.
same() {
    local full
    scan --no-state --full-scan
    full=$(told)
    has_gap "$1: it is told" "$2"
    is "$1: once" "$(gaps | uniq -d)" ''
    for way in first second; do
        scan
        is "$1 ($way scan)" "$(told)" "$full"
    done
}

# --- bytes that were changed in their place ---

for time in 'a new time' 'the old time'; do
    begin
    leak
    git repack -adq
    scan
    pack=$(echo .git/objects/pack/*.pack)
    id=$(git rev-parse HEAD:src/a1.c)
    at=$(git verify-pack -v "${pack%.pack}.idx" | awk -v id="$id" '$1 == id { print $5 }')
    touch -r "$pack" "$dir/time"
    cp "$pack" "$dir/whole"
    flip "$pack" $((at + 8))
    [[ $time == 'a new time' ]] || touch -r "$dir/time" "$pack"
    same "a pack was written to, with $time" "*object $id: *"
    cat "$dir/whole" >"$pack"
    scan
    is "it is mended, with $time" "$status $(summary complete) $(places)" '1 true late.c'
done

begin
leak
git repack -adq
scan
idx=$(echo .git/objects/pack/*.idx)
count=$(git rev-list --objects --all | wc -l)
flip "$idx" $((8 + 1024 + count * 20 + 5)) # a checksum
same 'an index was written to' '*its bytes are not those that the index has the checksum of*'

begin
leak
scan
id=$(git rev-parse HEAD:src/a1.c)
file=.git/objects/${id:0:2}/${id:2}
cp "$file" "$dir/whole"
flip "$file" 9
same 'a loose object was written to' "*object $id: it is damaged*"
chmod u+w "$file"
cat "$dir/whole" >"$file"
scan
is 'it is mended' "$status $(summary complete) $(places)" '1 true late.c'

begin
leak
git repack -adq
scan
git repack -adfq --depth=1
pack=$(echo .git/objects/pack/*.pack)
flip "$pack" $(($(stat -c %s "$pack") - 30))
same 'a pack came that is damaged, all of whose objects are known' '*object *: *'

begin
leak
git repack -adq
scan
touch .git/objects/pack/*
find .git/objects -type f -exec chmod 0644 {} +
scan
is 'what was touched and is as it was is not scanned again' "$status $(summary complete) $(summary objects)" '1 true 0'

# --- a blob with a secret is damaged, and there is another copy of it ---

begin
leak
id=$(git rev-parse HEAD:late.c)
git repack -adkq
git unpack-objects -q < <(cat .git/objects/pack/*.pack) || true
pack=$(echo .git/objects/pack/*.pack)
mv .git/objects/pack "$dir/packs"
mkdir .git/objects/pack
git unpack-objects -q <"$dir/packs/${pack##*/}"
mv "$dir"/packs/* .git/objects/pack/
rmdir "$dir/packs"
scan
flip ".git/objects/${id:0:2}/${id:2}" 9
same 'a copy of what has a secret is damaged' "*object $id: it is damaged*"
is 'and found in the other' "$(places)" late.c

# --- each damage once ---

begin
leak
git tag v1
id=$(git rev-parse HEAD)
flip ".git/objects/${id:0:2}/${id:2}" 9
same 'a commit that several refs lead to is damaged' "*object $id: it is damaged*"
is 'and named once' "$(gaps | grep -c "$id")" 1
rm -f ".git/objects/${id:0:2}/${id:2}"
same 'a commit that several refs lead to is missing' "*object $id: *"
is 'and named once' "$(gaps | grep -c "$id")" 1

begin
leak
git repack -adq
git multi-pack-index write 2>/dev/null
flip "$(echo .git/objects/pack/*.idx)" 10
same 'an index is damaged, beside a multi-pack-index' '*its index is damaged*'
is 'and nothing else is told' "$(gaps | wc -l)" 1

# --- an index that is damaged, among few packs and among many ---

for count in 3 40; do
    begin
    id=$(git rev-parse HEAD:src/a1.c)
    for i in $(seq $count); do
        echo "$i of many" | git hash-object -w --stdin
    done >"$dir/ids"
    while read -r one; do
        echo "$one" | git pack-objects -q .git/objects/pack/pack >/dev/null
    done <"$dir/ids"
    git prune-packed
    rm ".git/objects/${id:0:2}/${id:2}"
    scan
    has_gap "an object is missing beside $count packs" "*object $id: it is missing*"
    flip "$(printf '%s\n' .git/objects/pack/*.idx | head -1)" 10
    same "nobody knows whether it is, when an index of $count is damaged" '*its index is damaged*'
    is "and it is not told" "$(gaps | wc -l)" 1
done

# --- an index whose pack is gone ---

begin
leak
id=$(echo 'nothing leads to this' | git hash-object -w --stdin)
name=$(echo "$id" | git pack-objects -q .git/objects/pack/pack)
pack=.git/objects/pack/pack-$name.pack
cp "$pack" "$dir/whole"
rm -f "$pack"
scan
is 'an index has no pack, and what it lists is loose' "$status $(summary complete)" '1 true'
git prune-packed
rm -f ".git/objects/${id:0:2}/${id:2}"
rm -rf "$XDG_STATE_HOME"
same 'an index has no pack, and what it lists is nowhere' "*: pack/pack-$name.idx has no pack, and object $id that it lists*"
is 'and nothing else is told' "$(gaps | wc -l)" 1
chmod 0 "${pack%.pack}.idx"
[[ $(id -u) == 0 ]] || same 'it cannot be read' "*: pack/pack-$name.idx has no pack, and cannot be read: permission denied"
chmod 444 "${pack%.pack}.idx"
cp "$dir/whole" "$pack"
scan
is 'its pack is back' "$status $(summary complete)" '1 true'
rm -f "$pack" "${pack%.pack}.idx"
scan
is 'both are gone, as by git prune' "$status $(summary complete)" '1 true'

# --- what can be unpacked, and is not what the index says ---

begin
leak
id=$(git rev-parse HEAD:late.c)
name=$(echo "$id" | git pack-objects -q .git/objects/pack/pack)
git prune-packed
scan
pack=.git/objects/pack/pack-$name.pack
chmod u+w "$pack"
truncate -s -1 "$pack"
same 'a pack is cut off at its end, where a blob with a secret is' "*object $id: *"
is 'and the blob is not relied on' "$(places)" ''

# --- what is missing, and named no more ---

file_of() { # id
    echo ".git/objects/${1:0:2}/${1:2}"
}
begin
for i in 1 2; do
    git commit -q --allow-empty -m "empty $i"
done
git commit-graph write --reachable 2>/dev/null
id=$(git rev-parse HEAD~1)
rm -f "$(file_of "$id")"
scan
has_gap 'the parent of a commit is missing' "*object $id: it is missing*"
flip "$(file_of "$(git rev-parse HEAD)")" 12
same 'the commit that names what is missing is damaged' "*object $(git rev-parse HEAD): *"
is 'and what it named is not told' "$(gaps | grep -c "object $id" || true)" 0

begin
for i in 1 2; do
    git commit -q --allow-empty -m "empty $i"
done
git commit-graph write --reachable 2>/dev/null
id=$(git rev-parse HEAD~1)
echo "$id" >.git/ORIG_HEAD
rm -f "$(file_of "$id")" "$(file_of "$(git rev-parse HEAD)")"
scan
has_gap 'what ORIG_HEAD names is missing' "*object $id: it is missing*"
rm .git/ORIG_HEAD
same 'nothing names any more what is missing' "*object $(git rev-parse HEAD): *"
is 'so it is not told' "$(gaps | grep -c "object $id" || true)" 0

# --- a multi-pack-index ---

begin
leak
git repack -adq
git multi-pack-index write 2>/dev/null
scan
flip .git/objects/pack/multi-pack-index $(($(stat -c %s .git/objects/pack/multi-pack-index) - 28))
same 'a multi-pack-index differs from its packs' '*its multi-pack-index differs*'

# --- one repository, however it is called ---

begin
leak
scan
cd ..
ln -s r link
here=$PWD
for path in r r/ ./r "$here/r" link/ r/.git "$here/link"; do
    run "$WEIR" scan --history=only --json "$path"
    want=${path%/}
    want=${want#./}
    want=${want%/.git}
    is "it is known as '$path', and called so" "$(summary objects) $(places)" "0 $want/late.c"
done
cd /
run "$WEIR" scan --history=only --json "${here#/}/r"
is 'and from another folder' "$(summary objects) $(places)" "0 ${here#/}/r/late.c"
is 'by one state' "$(find "$XDG_STATE_HOME/weir/scan" -name '*.git' | wc -l)" 1
cd "$here"
git clone -q --no-local r again
rm -rf r
mv again r
cd r
scan
is 'one that was made anew in its place is known by its objects' "$(summary objects) $(places)" '0 late.c'
rm -rf .git
git init -q .
git commit -q --allow-empty -m other
scan
is 'another one in its place has nothing of it' "$status $(summary complete) $(places)" '0 true '

# --- a pack without an index: what is in it is not missing ---

begin
leak
git repack -adq
idx=$(echo .git/objects/pack/*.idx)
mv "$idx" "$dir/idx"
same 'a pack has no index' '*has no index: git index-pack makes one'
is 'and that is all' "$(gaps | wc -l)" 1
mv "$dir/idx" "$idx"
scan
is 'it has one again' "$status $(summary complete) $(places)" '1 true late.c'

finish
