#!/bin/bash
# weir scan on a path that is a repository: files and history are scanned, those of others are files; and
# what histories may take of --max-memory.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org

begin() { # folder: a repository that had a token once
    git init -q -b main "$1"
    echo "token = \"$pat\";" >"$1/once.c"
    git -C "$1" add once.c
    git -C "$1" commit -qm first
    git -C "$1" rm -q once.c
    echo 'all is well' >"$1/now.c"
    git -C "$1" add now.c
    git -C "$1" commit -qm second
}
found() { # name, options and paths; the places, one word each, are the last argument
    local name=$1 wanted=${*: -1}
    run "$WEIR" scan --json "${@:2:$#-2}"
    is "$name" "$(places | tr '\n' ' ')" "$wanted"
}

# --- which paths ---

tree
begin r
found 'a path that is a repository' r 'r/once.c '
is 'is one history' "$(summary repositories)" 1
is 'and complete' "$(summary complete)" true
cd r
found 'the current folder' 'once.c '
found 'its folder .git' .git 'once.c '
found 'files alone' --history=no ''
mkdir sub
echo "token = \"$other\";" >sub/new.c
found 'a folder in it is none' sub 'sub/new.c '
is 'and no history' "$(summary repositories)" 0
found 'what git ignores is left out, and what it knows is not' --respect-gitignore 'once.c sub/new.c '
cd ..
found 'one that lies deeper is files' . 'r/sub/new.c '
found 'unless it is looked for' --history=also . 'r/once.c r/sub/new.c '
printf 'r\0' >list
found 'or listed' --files-from=list -0 'r/sub/new.c '
git clone -q --bare r bare.git
found 'a bare one' bare.git 'bare.git/once.c '
git -C r worktree add -q ../linked HEAD 2>/dev/null
found 'a linked working tree' linked 'linked/once.c '
run "$WEIR" scan --json r linked
is 'both of them are one history' "$(summary repositories)" 1

rm -rf "$XDG_STATE_HOME"
(cd r && "$WEIR" scan --staged >/dev/null)
"$WEIR" scan - <r/now.c >/dev/null
check 'what is staged, and a stream, have no history' test ! -e "$XDG_STATE_HOME/weir/scan"

mkdir broken
echo 'gitdir: nowhere' >broken/.git
echo "token = \"$other\";" >broken/a.c
found 'a repository that is not there: files are scanned' broken 'broken/a.c '
has_gap 'and it is told' 'broken*'
is 'as incomplete' "$status $(summary complete)" '1 false'

# --- one finding, all places ---

tree
begin r
git -C r checkout -q HEAD~1 -- once.c
found 'in the files and in the history' r 'r/once.c r/once.c '
is 'is one finding' "$(jq '.findings | length' "$dir/out")" 1
is 'first where it is now' "$(jq -c '.findings[0].places | map(has("commit"))' "$dir/out")" '[false,true]'
run "$WEIR" scan r
check 'which people are told' grep -q "also r/once.c:1:10 in commit $(git -C r rev-parse --short=12 HEAD~1)" "$dir/out"
check 'with what was scanned' grep -q ', the history of 1 repository scanned in' "$dir/out"
run "$WEIR" scan --summary r
check 'and looked at' grep -q 'histories: 1, ' "$dir/err"

# --- again ---

# So many suspects that they are looked at in a pass over all objects, not one by one.
tree
git init -q -b main r
python3 -c 'import sys
for i in range(100):
    text = "token = \"%s\";\n" % sys.argv[1] + "".join("line %d\n" % n for n in range(i, i + 40))
    print("commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata 0" % (1700000000 + i))
    print("M 100644 inline a.c\ndata %d\n%s" % (len(text), text))' "$pat" | git -C r fast-import --quiet
git -C r repack -adfq --depth=50
again() { # name, number of objects that are looked at, options
    run "$WEIR" scan --json --history=only "${@:3}" r
    is "$1" "$(jq -c '[.summary.objects, .findings[0].places[0].versions]' "$dir/out")" "[$2,100]"
}
again 'a hundred versions' 200
again 'are told again' 0
again 'and with nothing remembered' 200 --no-state --full-scan
again 'and within a limit' 200 --no-state --max-memory=123M
git -C r repack -adfq --depth=10
again 'a pack of the same objects' 0
again 'which is known then' 0
echo "token = \"$other\";" >r/b.c
git -C r add b.c
git -C r commit -qm more
git -C r repack -adfq
run "$WEIR" scan --json --history=only r
is 'a pack with some that are new' "$(jq -c '[.summary.objects, .summary.secrets]' "$dir/out")" '[2,2]'

# --- what contradicts ---

tree
begin r
refused() { # name, a pattern, options
    run "$WEIR" scan "${@:3}"
    expect "$1" 2 '' "$2"
}
refused 'a part of no history' '*contradict*' --history=no --range=HEAD r
refused 'repositories of no history' '*contradict*' --history=no --find-repos=.
git init -q r2
git -C r2 commit -q --allow-empty -m x
refused 'a history of standard input' "*'-' has no history*" --history=only -
refused 'a part of that of a URL' '*has no history*' --range=HEAD https://example.invalid/x
refused 'or of names of files' '*has no history*' --reachable --files-from=/dev/null
echo x >plain
run "$WEIR" scan --range=HEAD plain
expect 'a part of that of a file' 3 'not scanned: plain: *does not name a folder*nothing was scanned;*' ''
mkdir none
refused 'limits of histories where there is none' '*--find-repos=DIR*' --delta-cache=9M none

# --- memory ---

refused 'too little for a history' '*--max-memory=123M or more*--history=no*' --max-memory=122M r
run "$WEIR" scan --json --max-memory=123M r
is 'enough' "$status $(summary complete)" '1 true'
run "$WEIR" scan --json --max-memory=100M none
is 'and without a history less' "$status" 0
run "$WEIR" scan --json --max-memory=256M --delta-cache=7M r
has_gap 'one that can never fit says what it needs' '*it takes 8 MiB at least, and histories have 7: set --delta-cache=*M or more'
run "$WEIR" scan --json --max-memory=256M --delta-cache=8M r
is 'which is enough' "$(summary complete)" true

# So many commits that their ids do not fit: what is found is told without them.
git init -q -b main many
python3 -c 'import sys
print("blob\nmark :1\ndata <<E\ntoken = \"%s\";\nE" % sys.argv[1])
for i in range(30000):
    print("commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata 0" % (1700000000 + i))
    if i in (0, 1): print("M 100644 :1 a.c" if i == 0 else "D a.c")' "$pat" | git -C many fast-import --quiet
run "$WEIR" scan --json --no-state --history=only --max-memory=256M --delta-cache=9M many
is 'without its commits a token is found' "$status $(jq -r '.findings[0].places[0].path[:10]' "$dir/out")" '1 many/blob:'
has_gap 'and that is told' '*which commit brought what is not known: its commits take more than*set --delta-cache=18M or more*'
run "$WEIR" scan --json --no-state --history=only --max-memory=256M many
is 'with more they are found' "$(places) $(summary complete)" 'many/a.c true'

# An object that is larger than all there is. What a sanitizer takes is another matter.
if [[ ${SANITIZED:-none} == none ]]; then
    git init -q -b main large
    python3 -c 'import sys; sys.stdout.write("some text\n" * 13200000)' >large/a.txt
    git -C large add a.txt
    git -C large commit -qm large
    most=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$WEIR" scan --max-memory=123M --threads=1 large)
    check "an object that does not fit takes no more: $most KiB" test "$most" -lt $((123 * 1024))
fi
finish
