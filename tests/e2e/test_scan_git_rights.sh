#!/bin/bash
# weir scan on repositories of which a part may not be read: that part is named once, with the true reason; all else is
# scanned; the next scan says the same, whatever is remembered; and with the rights given back what was hidden is found.
set -euo pipefail
# shellcheck source=tests/e2e/scan_missing_lib.sh
source "$(dirname "$0")/scan_missing_lib.sh"
need_tools setpriv

as=()
[[ $(id -u) -ne 0 ]] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
chmod 777 "$XDG_CACHE_HOME"
chmod 755 "$dir"

# Tokens in a loose object, in a pack, in both of those of a lender, in what is staged here and in a linked working
# tree, and in a commit that only a log leads to.
leak_in() { # file
    echo "$1 = \"$pat\";" >"$1"
    git add "$1"
}
make() {
    tree
    git init -q -b main lender
    cd lender
    git config gc.auto 0
    leak_in borrowed-packed
    git commit -qm one
    git repack -adq
    leak_in borrowed-loose
    git commit -qm two
    cd ..
    git clone -q --shared lender r
    cd r
    git config gc.auto 0
    leak_in packed
    git commit -qm three
    git repack -adlq
    git multi-pack-index write 2>/dev/null
    git pack-refs --all
    git commit-graph write --reachable 2>/dev/null
    leak_in loose
    git commit -qm four
    leak_in logged
    git commit -qm five
    git reset -q --hard HEAD~1
    git worktree add -q ../linked -b side 2>/dev/null
    (cd ../linked && leak_in staged-there)
    leak_in staged
    cd ..
    mv "$dir/tree" "$dir/made"
}
all='borrowed-loose borrowed-packed logged loose packed staged staged-there'

begin_rights() { # the same once more, and nothing remembered; then in the folder .git of the borrower
    tree
    cp -a "$dir/made/." .
    # Both paths are as long: a copy is what it was made from, but for these.
    grep -rlI "$dir/made\|$dir/tree" --include=gitdir --include=.git --include=alternates . |
        xargs sed -i "s,^\(gitdir: \|\)$dir/made,\1$dir/tree,"
    rm -rf "$XDG_STATE_HOME"
    mkdir "$XDG_STATE_HOME"
    ((${#as[@]} == 0)) || chown -R 65534:65534 "$dir/tree" "$XDG_STATE_HOME"
    chmod 755 "$dir/tree"
    cd r/.git
}
scan_as() { # options; of $what
    run "${as[@]}" "$WEIR" scan --history=only --json "$@" "$dir/tree/${what:-r}"
}
told() { # all that a scan says
    echo "$status"
    jq -c '.findings[] | [.rule, .places]' "$dir/out" | sort
    gaps
}
found() {
    places | sed 's,.*/,,' | xargs
}
# name, what takes rights away, what gives them back, what is found all the same, a pattern for each line that is told
hides() {
    local full way name=$1 take=$2 give=$3 rest=$4 expected=1
    [[ -n $rest ]] || expected=3
    shift 4
    begin_rights
    eval "$take"
    scan_as --no-state
    full=$(told)
    is "$name: the rest is scanned" "$status $(summary complete) $(found)" "$expected false $rest"
    is "$name: told in as many lines" "$(gaps | wc -l)" $#
    while (($# > 0)); do
        has_gap "$name: it is told why" "$1"
        shift
    done
    for way in first second; do
        scan_as
        is "$name ($way scan)" "$(told)" "$full"
    done
    eval "$give"
    scan_as
    is "$name: with the rights all is found" "$status $(summary complete) $(found)" "1 true $all"
    eval "$take"
    scan_as
    is "$name, after a scan that was complete" "$(told)" "$full"
    eval "$give"
    scan_as
    is "$name: and then again" "$status $(summary complete) $(found)" "1 true $all"
}
without() { # what is not found
    local word
    for word in $all; do
        [[ " $1 " == *" $word "* ]] || echo "$word"
    done | xargs
}
denied='permission denied'

make
begin_rights
scan_as
is 'with all rights' "$status $(summary complete) $(found)" "1 true $all"
loose=$(git rev-parse :loose) packed=$(git rev-parse :packed)
commit=$(git rev-parse HEAD) staged=$(git rev-parse :staged) staged_there=$(git -C ../../linked rev-parse :staged-there)

# --- loose objects ---

hides 'a folder of loose objects' "chmod 0 objects/${loose:0:2}" "chmod 755 objects/${loose:0:2}" \
    "$(without loose)" "*loose objects in its folder '${loose:0:2}' cannot be listed: $denied (*/r/.git/objects)"
hides 'a folder of loose objects that may be listed' "chmod 444 objects/${loose:0:2}" "chmod 755 objects/${loose:0:2}" \
    "$(without loose)" "*object $loose: it cannot be opened: $denied (*/r/.git/objects)"
hides 'a folder with a commit' "chmod 0 objects/${commit:0:2}" "chmod 755 objects/${commit:0:2}" \
    "$all" "*loose objects in its folder '${commit:0:2}' cannot be listed: $denied (*/r/.git/objects)"
hides 'a loose object' "chmod 0 objects/${loose:0:2}/${loose:2}" "chmod 444 objects/${loose:0:2}/${loose:2}" \
    "$(without loose)" "*object $loose: it cannot be opened: $denied (*/r/.git/objects)"

# --- packs ---

hides 'a pack' 'chmod 0 objects/pack/*.pack' 'chmod 444 objects/pack/*.pack' \
    "$(without packed)" "*pack-*.pack': it cannot be opened: $denied"
hides 'the index of a pack' 'chmod 0 objects/pack/*.idx' 'chmod 444 objects/pack/*.idx' \
    "$(without packed)" "*pack-*.pack': its index cannot be opened: $denied"
hides 'both' 'chmod 0 objects/pack/pack-*' 'chmod 444 objects/pack/pack-*' \
    "$(without packed)" "*pack-*.pack': its index cannot be opened: $denied"
hides 'the folder of packs' 'chmod 0 objects/pack' 'chmod 755 objects/pack' \
    "$(without packed)" "*: cannot list '*/r/.git/objects/pack': $denied"
hides 'a folder of packs that may be listed' 'chmod 444 objects/pack' 'chmod 755 objects/pack' \
    "$(without packed)" "*: cannot list '*/r/.git/objects/pack': $denied"
hides 'a folder of packs that may be searched' 'chmod 111 objects/pack' 'chmod 755 objects/pack' \
    "$(without packed)" "*: cannot list '*/r/.git/objects/pack': $denied"
hides "a lender's folder of packs" 'chmod 0 ../../lender/.git/objects/pack' 'chmod 755 ../../lender/.git/objects/pack' \
    "$(without borrowed-packed)" "*: cannot list '*/lender/.git/objects/pack': $denied"

# --- what is borrowed ---

borrowed="$(without 'borrowed-loose borrowed-packed')"
hides 'what is said about borrowing' 'chmod 0 objects/info/alternates' 'chmod 644 objects/info/alternates' \
    "$borrowed" "*: what it borrows is not known: cannot read '*/r/.git/objects/info/alternates': $denied"
hides 'the folder that it is said in' 'chmod 0 objects/info' 'chmod 755 objects/info' \
    "$borrowed" "*: what it borrows is not known: cannot read '*/r/.git/objects/info/alternates': $denied"
hides 'the objects of a lender' 'chmod 0 ../../lender/.git/objects' 'chmod 755 ../../lender/.git/objects' \
    "$borrowed" "*: the folder '*/lender/.git/objects', which it borrows from, cannot be used: $denied"
hides 'a lender' 'chmod 0 ../../lender/.git' 'chmod 755 ../../lender/.git' \
    "$borrowed" "*: the folder '*/lender/.git/objects', which it borrows from, cannot be used: $denied"
hides 'a lender that is gone' 'mv ../../lender ../../moved' 'mv ../../moved ../../lender' \
    "$borrowed" "*: the folder '*/lender/.git/objects', which it borrows from, cannot be used: it is not there"

# --- the repository itself ---

hides 'the folder .git' 'chmod 0 .' 'chmod 755 "$dir/tree/r/.git"' '' "*cannot look into '*/r/.git': $denied"
hides 'a folder .git that may be listed' 'chmod 444 .' 'chmod 755 "$dir/tree/r/.git"' \
    '' "*cannot look into '*/r/.git': $denied"
hides 'the working tree' 'chmod 0 ..' 'chmod 755 "$dir/tree/r"' '' "*cannot look into '*/r': $denied"
hides 'the objects' 'chmod 0 objects' 'chmod 755 objects' '' "*cannot read '*/r/.git/objects': $denied"
hides 'objects that may be listed' 'chmod 444 objects' 'chmod 755 objects' '' "*cannot read '*/r/.git/objects': $denied"
hides 'objects of a lender that may be listed' 'chmod 444 ../../lender/.git/objects' 'chmod 755 ../../lender/.git/objects' \
    "$borrowed" "*: the folder '*/lender/.git/objects', which it borrows from, cannot be used: $denied"
begin_rights
chmod 111 objects ../../lender/.git/objects
scan_as
is 'objects that may be searched are all found' "$status $(summary complete) $(found)" "1 true $all"
what=linked
hides 'what a file .git names' 'chmod 0 worktrees/linked' 'chmod 755 worktrees/linked' \
    '' "*cannot look into '*/r/.git/worktrees/linked': $denied"
hides 'a file .git' 'chmod 0 ../../linked/.git' 'chmod 644 ../../linked/.git' \
    '' "*cannot read '*/linked/.git': $denied"
what=

hides 'the config' 'chmod 0 config' 'chmod 644 config' "$all" \
    "*: what it says of its format is not known: cannot read '*/r/.git/config': $denied"
for is_packed in false true; do
    tree
    git init -q --object-format=sha256 r
    cd r
    leak_in one
    git commit -qm one
    ! $is_packed || git repack -adq
    chmod 0 .git/config
    ((${#as[@]} == 0)) || chown -R 65534:65534 "$dir/tree"
    chmod 755 "$dir/tree"
    scan_as --no-state
    is "the config, with long ids (packed: $is_packed)" "$status $(summary complete) $(found)" '1 false one'
done

# --- names, logs and what is staged: all objects are scanned, and where they come from may be unknown ---

hides 'refs in a file' 'chmod 0 packed-refs' 'chmod 644 packed-refs' "$all" "*: packed-refs: $denied"
hides 'refs' 'chmod 0 refs' 'chmod 755 refs' "$all" "*: folder 'refs': $denied"
hides 'branches' 'chmod 0 refs/heads' 'chmod 755 refs/heads' "$all" "*: folder 'refs/heads': $denied"
hides 'a branch' 'chmod 0 refs/heads/main' 'chmod 644 refs/heads/main' "$all" "*: ref 'refs/heads/main': $denied"
hides 'logs' 'chmod 0 logs' 'chmod 755 logs' "$all" "*: folder 'logs': $denied"
hides 'HEAD' 'chmod 0 HEAD' 'chmod 644 HEAD' "$all" "*: ref 'HEAD': $denied"
hides 'where it ends' 'echo >shallow; chmod 0 shallow' 'rm shallow' "$all" "*: cannot read '*/r/.git/shallow': $denied"
hides 'the index' 'chmod 0 index' 'chmod 644 index' "blob:$staged $(without staged)" \
    "*: the index of '*/r/.git': index: $denied"
for mode in 0 444; do
    hides "a linked working tree ($mode)" "chmod $mode worktrees/linked" 'chmod 755 worktrees/linked' \
        "blob:$staged_there $(without staged-there)" "*: folder 'worktrees/linked': $denied"
done
hides 'linked working trees' 'chmod 0 worktrees' 'chmod 755 worktrees' \
    "blob:$staged_there $(without staged-there)" "*: folder 'worktrees': $denied"
# These only spare time: without them nothing is lost, and nothing is said.
for file in objects/info/commit-graph objects/pack/multi-pack-index; do
    begin_rights
    chmod 0 $file
    scan_as
    is "without $file all is found" "$status $(summary complete) $(found)" "1 true $all"
done
begin_rights
chmod 0 index
scan_as --submodules
is 'an index that submodules are asked of, too, is told once' "$(gaps | wc -l)" 1

# --- a part of a history ---

for take in 'chmod 0 objects/pack' 'chmod 0 ../../lender/.git/objects' 'chmod 0 objects/pack/*.pack'; do
    begin_rights
    eval "$take"
    scan_as --reachable
    has_gap "a part of a history ($take)" "*$denied*"
    is "is not called missing or damaged ($take)" "$(gaps | grep -c 'it is missing\|data are damaged' || true)" 0
done

# --- what was hidden and goes ---

# What was in there is missed when it goes, as by a first scan.
for folder in pack "${loose:0:2}"; do
    begin_rights
    chmod 0 "objects/$folder"
    scan_as
    chmod 755 "objects/$folder"
    rm -rf "objects/$folder"
    scan_as --no-state
    full=$(told)
    id=$packed
    [[ $folder == pack ]] || id=$loose
    has_gap "what was hidden in $folder and is gone is missing" "*object $id: it is missing*"
    scan_as
    is "and missed, with what is remembered, in $folder" "$(told)" "$full"
done
begin_rights
chmod 0 ../../lender/.git/objects
scan_as
chmod 755 ../../lender/.git/objects
rm objects/info/alternates
scan_as --no-state
full=$(told)
has_gap 'what is not borrowed any more is missing' '*: it is missing*'
scan_as
is 'and missed, with what is remembered' "$(told)" "$full"

finish
