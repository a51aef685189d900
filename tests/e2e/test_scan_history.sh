#!/bin/bash
# weir scan on git: repositories of every kind with one token in each, which is found; and those of which
# something is missing or broken, which is told. What git itself says is the measure where it can be.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git zip python3
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME='Ann Author' GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=C \
    GIT_COMMITTER_EMAIL=c@example.org GIT_AUTHOR_DATE='2024-05-01T12:00:00+0200' \
    GIT_COMMITTER_DATE='2024-05-01T12:00:00+0200'

commit() { # file, content
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
    git add -f "$1"
    git commit -qm "change $1"
}
begin() { # options of git init; then in the repository, with some history
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main "$@" r
    cd r
    for i in 1 2 3 4 5; do commit "src/a$((i % 3)).c" "$(seq $((i * 10)) $((i * 10 + 60)))"; done
}
leak() { # a commit that adds a token, and one that removes it
    commit src/config.c "token = \"$pat\";"
    commit src/config.c 'token = "";'
}
finds() { # name, the place
    run "$WEIR" scan --history=only --json .
    if [[ $status == 1 && $(places) == "$2" && $(summary complete) == true ]]; then
        pass "$1"
    else
        fail "$1" "$(said)"
    fi
}
origin() { # a key of the first place
    jq -r ".findings[0].places[0].$1" "$dir/out"
}
is() { # name, what there is, what is wanted
    if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "'$2' instead of '$3'"; fi
}

# --- where a token may be ---

begin
leak
first=$(git log --format=%H -S"$pat" --reverse -- src/config.c | sed -n 1p)
finds 'a token that was removed later' src/config.c
is 'with the commit that brought it' "$(origin commit)" "$first"
is 'its author' "$(origin author) $(origin email)" 'Ann Author ann@example.org'
is 'its date' "$(origin date)" 2024-05-01T12:00:00+02:00
is 'its subject' "$(origin subject)" 'change src/config.c'
is 'and the blob' "$(origin object)" "$(git rev-parse "$first:src/config.c")"
git gc -q
finds 'the same in a pack' src/config.c
is 'with the same commit' "$(origin commit)" "$first"
git commit-graph write --reachable 2>/dev/null
finds 'with a commit-graph' src/config.c
git repack -adq --depth=50 -f
git multi-pack-index write 2>/dev/null
finds 'with a multi-pack-index' src/config.c

begin
leak
git clone -q --bare . ../bare.git
cd ../bare.git
finds 'a bare repository' src/config.c

begin
leak
cd ..
git clone -q --shared r borrower
cd borrower
finds 'one that borrows its objects' src/config.c

begin --object-format=sha256
leak
git gc -q
finds 'one with SHA-256' src/config.c

begin
leak
git worktree add -q ../linked 2>/dev/null
cd ../linked
finds 'a linked working tree' src/config.c

begin
leak
cd ..
git clone -q --depth 1 "file://$PWD/r" shallow
cd shallow
commit late.c "token = \"$other\";"
run "$WEIR" scan --history=only --json .
if [[ $status == 1 && $(places) == late.c ]]; then
    pass 'a shallow clone has what it has'
else
    fail 'a shallow clone has what it has' "$(said)"
fi

begin
git checkout -qb side
commit b.c 1
git checkout -q main
commit c.c 1
git merge -q --no-commit side
echo "token = \"$pat\";" >merged.c
git add merged.c
git commit -qm merge
git rm -q merged.c
git commit -qm gone
finds 'what only a merge has' merged.c

begin
echo "token = \"$pat\";" >later.c
git add later.c
git stash -q
finds 'a stash' later.c
is 'which is said' "$(origin by)" stash
echo x >x.c
git add x.c
git stash -q
finds 'a stash below another' later.c

begin
echo "token = \"$pat\";" >lost.c
git hash-object -qw lost.c >id 2>/dev/null || git hash-object -w lost.c >id
lost=$(cat id)
finds 'what nothing leads to' "blob:$lost"
is 'which is said' "$(origin by)" unreachable
git tag kept "$lost"
for part in --reachable --refs=kept --since=2000-01-01; do
    run "$WEIR" scan --json "$part" .
    is "a tag leads to it, which is said ($part)" "$status $(origin by)" '1 refs/tags/kept'
done

begin
git commit -q --allow-empty -m "deploy with $pat"
finds 'a commit message' "commit:$(git rev-parse HEAD)"
is 'with its author' "$(origin author)" 'Ann Author'

begin
git tag -a v1 -m "key $pat"
finds 'the message of a tag' tag:v1

# Not in a message, but in what stands before it: with the line and column of the commit or tag.
header_of() { # name, type; a commit or tag as it is to be, on stdin
    local id
    id=$(git hash-object -t "$2" -w --stdin --literally)
    git update-ref "refs/keep/$2" "$id"
    finds "$1" "$2-header:$id"
    line=$(git cat-file "$2" "$id" | grep -bn "$pat")
    is 'with its line' "$(origin line):$(($(origin offset) - $(origin column) + 1))" "$(cut -d: -f1,2 <<<"$line")"
}
tree=$(git rev-parse 'HEAD^{tree}')
for header in "author A $pat <a@x> 1700000000 +0000" "author A <$pat@x> 1700000000 +0000"; do
    begin
    header_of 'a name or mail of an author' commit < <(
        printf 'tree %s\nparent %s\n%s\ncommitter C <c@x> 1700000000 +0000\n\nmessage\n' \
            "$tree" "$(git rev-parse HEAD)" "$header")
done
for header in "encoding $pat" "gpgsig -----BEGIN PGP SIGNATURE-----
 $pat
 -----END PGP SIGNATURE-----" "unheard of
 $pat" "mergetag object $tree
 type tree
 tag v
 tagger T <t@x> 1 +0000
 merged
x-key $pat"; do
    begin
    header_of "a header: ${header%% *}" commit < <(
        printf 'tree %s\nauthor A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\n%s\n\nmessage\n' \
            "$tree" "$header")
done
begin
header_of 'a tagger' tag < <(
    printf 'object %s\ntype commit\ntag v\ntagger T <%s> 1700000000 +0000\n\nmessage\n' "$(git rev-parse HEAD)" "$pat")
begin
commit a.c "token = \"$other\";"
git commit -q --amend --allow-empty --no-edit --author="A $pat <a@x>"
run "$WEIR" scan --history=only --json .
id=$(git rev-parse HEAD) once=$(jq -r '[.findings[].places[] | select(.path | startswith("commit-header:"))][0].fingerprint' "$dir/out")
git commit -q --amend --no-edit --date=2001-01-01
run "$WEIR" scan --history=only --json .
is 'a fingerprint is the same when a commit is made anew' \
    "$(jq -r --arg id "commit-header:$(git rev-parse HEAD)" '[.findings[].places[] | select(.path == $id)][0].fingerprint' "$dir/out")" "$once"
check 'which is another one' test "$id" != "$(git rev-parse HEAD)"

# Below a folder that is none itself: as files, which is said.
begin
leak
cd ..
git clone -q --bare r s.git
git -C r worktree add -q ../linked 2>/dev/null
mkdir -p deep/er
cp -r r deep/er/t
run "$WEIR" scan --json .
is 'histories that are left out are counted' "$(summary histories_left) $(summary repositories)" '3 0'
run "$WEIR" scan .
is 'and said in a line' "$(grep -c "^histories left out: those of 3 repositories, .*'--find-repos=DIR'" "$dir/out")" 1
for option in --history=no --history=also --find-repos=.; do
    paths=(.)
    [[ $option != --find* ]] || paths=()
    run "$WEIR" scan --json $option "${paths[@]}"
    is "not with ${option%.}" "$(summary histories_left)" 0
done
mkdir r/nested
cp -r deep/er/t r/nested
run "$WEIR" scan --json r
is 'also those in a repository that is scanned' "$(summary histories_left) $(summary repositories)" '1 1'
rm -rf r/nested
for paths in r s.git - linked; do
    run "$WEIR" scan --json $paths </dev/null
    is "none is left of $paths" "$(summary histories_left)" 0
done
mkdir with
git init -q -b main with/super
git -C with/super -c protocol.file.allow=always submodule --quiet add "$PWD/r" sub 2>/dev/null
git -C with/super commit -qm sub
git -C with/super worktree add -q ../linked 2>/dev/null
git -C with/linked -c protocol.file.allow=always submodule --quiet update --init 2>/dev/null
check 'its working trees have repositories of submodules' \
    test -d with/super/.git/modules/sub/objects -a -d with/super/.git/worktrees/linked/modules/sub/objects
run "$WEIR" scan --json with
is 'which go with the one that they belong to' "$(summary histories_left)" 1

begin
git branch "fix/$pat"
hidden=ghp_$(printf '%*s' $((${#pat} - 8)) '' | tr ' ' '*')${pat: -4}
finds 'the name of a ref' "ref:refs/heads/fix/$hidden"
is 'and where it leads' "$(origin object)" "$(git rev-parse HEAD)"
finds 'the same once more' "ref:refs/heads/fix/$hidden"
run "$WEIR" scan --history=only --range=HEAD~0..HEAD --json .
is 'not in a part of the history' "$status" 0

begin
echo "token = \"$pat\";" >staged.c
git add staged.c
rm staged.c
finds 'what is staged' staged.c
is 'which is said' "$(origin by)" staged

begin
git notes add -m "see $pat"
finds 'a note' "$(git ls-tree --name-only refs/notes/commits)"

begin
commit real.c "token = \"$pat\";"
commit fake.c clean
git replace "$(git rev-parse HEAD~1:real.c)" "$(git rev-parse HEAD:fake.c)"
finds 'what a replacement hides' real.c

begin
leak
git repack -adq
for i in $(seq 60); do
    commit "n$i.c" "$i"
    git repack -dq
done
finds 'many packs' src/config.c

begin
commit keys/site.p12 "$(noise 300 | base64)"
git rm -q keys/site.p12
git commit -qm 'away with it'
finds 'a file that is found by its name' keys/site.p12

begin
{ seq 3000; printf 'token = %s\n' "$pat"; } >f.txt
zip -q a.zip f.txt
rm f.txt
git add a.zip
git commit -qm zip
git rm -q a.zip
git commit -qm gone
finds 'an archive in the history' 'a.zip!f.txt'

# Git makes the smaller one of the larger: what has NULs in it is a delta of a text without.
begin
{ seq 3000; printf 'token = %s\n' "$pat"; } >f.txt
zip -q a.zip f.txt
rm f.txt
commit tool "$(seq 20000)"
{ seq 15000; cat a.zip; } >tool
rm a.zip
git add tool
git commit -qm 'with an archive behind it'
git repack -adfq --depth=10 --window=10
base=$(git verify-pack -v .git/objects/pack/*.idx | awk -v id="$(git rev-parse HEAD:tool)" '$1 == id { print $7 }')
is 'a blob with NULs is a delta of a text' "$base" "$(git rev-parse HEAD^:tool)"
finds 'and the archive in it is found' 'tool!f.txt'

# --- files and history ---

begin
leak
echo "token = \"$other\";" >untracked.c
cd ..
run "$WEIR" scan --json --history=also r
is 'files and history together' "$(places | sort -u | tr '\n' ' ')" 'r/src/config.c r/untracked.c '
run "$WEIR" scan --json --history=no r
is 'files alone' "$(places | sort -u | tr '\n' ' ')" 'r/untracked.c '
run "$WEIR" scan --json --history=only r
is 'history alone' "$(places | sort -u | tr '\n' ' ')" 'r/src/config.c '
git clone -q r two
git -C two config user.name x
run "$WEIR" scan --json --history=only r two r
is 'several repositories, each once' "$(places | tr '\n' ' ')" 'r/src/config.c two/src/config.c '
git -C r worktree add -q ../tree2 2>/dev/null
run "$WEIR" scan --json --history=only r tree2
is 'two working trees of one are one' "$(places | tr '\n' ' ')" 'r/src/config.c '

# --- what is remembered ---

begin
leak
finds 'a first scan' src/config.c
all=$(summary bytes)
finds 'a second one finds the same' src/config.c
is 'and scans nothing twice' "$((all > 0)) $(summary bytes)" '1 0'
git gc -q
finds 'after it was packed' src/config.c
is 'likewise' "$(summary bytes)" 0
commit late.c "token = \"$other\";"
run "$WEIR" scan --history=only --json .
is 'what is new is found beside it' "$(places | tr '\n' ' ')" 'late.c src/config.c '
git rm -q late.c
git commit -qm away
git mv src/config.c src/moved.c
git commit -qm moved
run "$WEIR" scan --history=only --json .
is 'paths are those of now' "$(places | tr '\n' ' ')" 'late.c src/config.c '
run "$WEIR" scan --history=only --json --no-state .
is 'the same without what is remembered' "$(places | tr '\n' ' ')" 'late.c src/config.c '
run "$WEIR" scan --history=only --json --decode-depth=1 .
is 'other options look at all of it' "$(($(summary bytes) > all)) $(places | tr '\n' ' ')" \
    '1 late.c src/config.c '
for file in "$XDG_STATE_HOME"/weir/scan/*; do printf x | dd of="$file" bs=1 seek=300 conv=notrunc status=none; done
run "$WEIR" scan --history=only --json .
is 'a damaged memory is not believed' "$(($(summary bytes) > 0)) $(places | tr '\n' ' ')" \
    '1 late.c src/config.c '
echo "token = \"$pat\";" >"$dir/allow.c"
printf '[extend]\nuseDefault = true\n[[allowlists]]\npaths = ["late"]\n' >"$dir/rules.toml"
run "$WEIR" scan --history=only --json --config="$dir/rules.toml" .
is 'other rules, another memory' "$(places | tr '\n' ' ')" 'src/config.c '

# --- a part of it ---

begin
leak
old=$(git rev-parse HEAD)
git tag then
commit late.c "token = \"$other\";"
git checkout -qb side
commit side.c "key = \"$pat\";"
git checkout -q main
part() { # name, the places, options
    run "$WEIR" scan --json --no-state "${@:3}" .
    is "$1" "$(places | tr '\n' ' ')" "$2"
}
part 'a range' 'late.c ' --range="$old..main"
part 'another' 'late.c side.c ' --range=then..side
part 'a ref' 'late.c src/config.c ' --refs=main
part 'a pattern' 'late.c side.c src/config.c ' --refs='s*' --refs=main
part 'since yesterday: nothing' '' --since=yesterday
part 'since before' 'late.c side.c src/config.c ' --since=2024-04-30
git branch -qD side
rm -rf .git/logs
part 'what refs lead to' 'late.c src/config.c ' --reachable
run "$WEIR" scan --range=nothing..main .
is 'a range that is not there is told' "$status" 3
for option in --submodules --full-scan --delta-cache=9M; do
    run "$WEIR" scan "$option" --history=no .
    is "$option without a history is refused" "$status" 2
done
run "$WEIR" scan --staged --history=only
is 'and a history of what is staged' "$status" 2
for empty in --range= --range=.. --range=... --refs= --find-repos=; do
    run "$WEIR" scan $empty .
    expect "$empty: as of a variable that was not set" 2 '' "weir scan: '$empty': give *"
done
run "$WEIR" scan --since=never .
is 'a date that is none is refused' "$status" 2

# --- rules that ask for a path alone ---

begin
printf '[[rules]]\nid = "pem"\ndescription = "x"\npath = '"'\\.pem$'"'\n' >"$dir/pem.toml"
mkdir d
for file in a.pem d/b.pem c.txt; do echo same >$file; done
git add .
git commit -qm names
run "$WEIR" scan --json --history=only --no-state --config="$dir/pem.toml" .
is 'each path of one content is found' "$(places | tr '\n' ' ')" 'a.pem d/b.pem '

# --- many repositories ---

begin
leak
cd ..
for name in a b c/d; do git clone -q r "$name" 2>/dev/null; done
git clone -q --bare r e.git
run "$WEIR" scan --json --find-repos=.
is 'all below a folder' "$(places | tr '\n' ' ')" \
    'a/src/config.c b/src/config.c c/d/src/config.c e.git/src/config.c r/src/config.c '

echo "token = \"$pat\";" >b/new
run "$WEIR" scan --json --find-repos=a b
is 'beside a path, whose files are scanned as ever' "$(places | tr '\n' ' ')" \
    'a/src/config.c b/new b/src/config.c '
run "$WEIR" scan --json --find-repos=a --history=only b
is 'or not, if that is said' "$(places | tr '\n' ' ')" 'a/src/config.c b/src/config.c '
rm b/new
run "$WEIR" scan --find-repos=a/src/config.c
expect 'none below a file' 3 'not scanned: a/src/config.c: *: it is no folder*' ''

printf 'a\0c/d\0' >list
run "$WEIR" scan --json --repos-from=list --from0
is 'those of a list' "$(places | tr '\n' ' ')" 'a/src/config.c c/d/src/config.c '
run "$WEIR" scan --json --find-repos=. --device-slots=.=1 --delta-cache=9M --explain-limits
is 'within narrow limits' "$(places | wc -l)" 5
if grep -Eq 'repositories: disk .*: at most 1 of 1 slots held, [1-9][0-9]* waited, 0 refused' "$dir/err"; then
    pass 'which are explained'
else
    fail 'which are explained' "$(said)"
fi
git init -q -b main super
git -C super -c protocol.file.allow=always submodule --quiet add "$PWD/r" sub 2>/dev/null
git -C super commit -qm sub
run "$WEIR" scan --json --history=only super
is 'a submodule is another repository' "$status" 0
run "$WEIR" scan --json --history=only --submodules super
is 'unless it is asked for' "$(places | wc -l)" 1
# Nobody has it: which the tree of HEAD says where there is no index.
git clone -q --bare super s.git
git clone -q --no-checkout super late
git -C late worktree add -q --no-checkout ../beside 2>/dev/null
for one in s.git late beside; do
    run "$WEIR" scan --json --history=only --submodules $one
    is "a submodule that $one should have is missed" "$status $(gaps | grep -c "a submodule is not initialised.*'sub'")" '3 1'
    run "$WEIR" scan --json --history=only $one
    is "not if nobody asks for it in $one" "$status" 0
done

# --- what is broken ---

begin
leak
object=$(git rev-parse HEAD:src/a1.c)
rm -f ".git/objects/${object:0:2}/${object:2}"
run "$WEIR" scan --history=only --json .
is 'one object is missing: the rest is scanned' "$status $(summary complete) $(places)" '1 false src/config.c'

begin
leak
git repack -adq
pack=$(ls .git/objects/pack/*.pack)
chmod u+w "$pack"
size=$(stat -c %s "$pack")
printf '\377\377\377\377' | dd of="$pack" bs=1 seek=$((size / 2)) conv=notrunc status=none
run "$WEIR" scan --history=only --json .
is 'a damaged pack is told' "$(summary complete)" false
has_gap 'with the object and the pack' '*object *pack-*'

begin
leak
git repack -adq
rm -f .git/objects/pack/*.idx
run "$WEIR" scan --history=only --json .
is 'a pack without its index is told' "$status $(summary complete)" '3 false'

tree
mkdir nothing
run "$WEIR" scan --history=only --json nothing
is 'a folder that is no repository is told' "$status $(summary complete)" '3 false'

tree
git init -q empty
run "$WEIR" scan --history=only --json empty
is 'an empty repository is clean' "$status $(summary complete)" '0 true'

finish
