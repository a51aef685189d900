#!/bin/bash
# weir scan on histories with objects that do not fit into the memory that there is for them: they are scanned
# whole through temporary files, or told with what they need; and families of deltas that do not fit are cut.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3 zip
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TOKEN=$pat
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
most_kib=$((100 * 1024))
large=200
if [[ ${SANITIZED:-none} != none ]]; then
    most_kib=$((4 * 1024 * 1024)) # its shadow counts
    large=140
fi

begin() { # then in an empty repository
    tree
    git init -q -b main r
    cd r
    git config gc.auto 0
    git config core.bigFileThreshold 4g
}
bare() {
    tree
    git init -q --bare -b main r
    cd r
    "$here/git_packs.py" "$@"
}
# The program; its peak goes to a file.
measured() {
    python3 -c '
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], timeout=300)
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)
sys.exit(done.returncode)' "$dir/peak" "$@"
}
scan() { # options
    rm -f "$dir/peak"
    run measured "$WEIR" scan --history=only --json --explain-limits "$@"
}
explained() { # name, a pattern of a line
    if grep -Eq "limits: repositories: $2" "$dir/err"; then pass "$1"; else fail "$1" "$(cat "$dir/err")"; fi
}
is_small() { # name
    if (($(cat "$dir/peak") <= most_kib)); then pass "$1"; else fail "$1" "$(cat "$dir/peak") KiB"; fi
}

# --- one object ---

begin
python3 -c '
import sys
line = b"some words of a text, which is long %027d\n"
block = b"".join(line % i for i in range(1 << 14))
with open("large", "wb") as file:
    for _ in range(int(sys.argv[1])):
        file.write(block)
    file.write(b"token = \"%s\";\n" % sys.argv[2].encode())' $large "$pat"
git add .
git commit -qm large
rm large
wanted="large:$((large * 16384 + 1)):10:$((large * MiB + 9))"
scan --no-state .
is 'a loose object, to its end' "$(spots) $(summary complete)" "$wanted true"
is_small 'which takes little memory'
explained 'which is explained' "large objects: of 1 repositories, 1 objects \($large MiB\) in temporary files"
is 'and is an object, not a file' "$(summary files)" 0
explained 'and counts as one repository' '1 admitted'
explained 'with a slot' 'spill slots: at most 1 of 16 held'
is 'nothing is left in the folder' "$(ls -A "$TMPDIR")" ''
scan --no-state --max-memory=256M .
is 'the same with a limit of memory' "$(spots) $(summary complete) $(summary files)" "$wanted true 0"
explained 'which is explained as well' "large objects: of 1 repositories, 1 objects \($large MiB\) in temporary files"
explained 'as one repository' '1 admitted'
git repack -adq
scan .
is 'the same in a pack' "$(spots) $(summary complete)" "$wanted true"
is_small 'which takes no more'
scan .
is 'told again by the next scan' "$(spots) $(summary complete)" "$wanted true"
scan --no-state --range=main .
is 'as part of a range' "$(spots) $(summary complete)" "$wanted true"

id=$(git rev-parse HEAD:large)
scan --no-state --spill-slots=0 .
is 'without slots it is told' "$status $(summary complete)" '3 false'
has_gap 'with its id, and what it takes' "*object $id: it takes $((large * MiB + 52)) bytes, more than the 134217728 *"
explained 'there are none' 'spill slots: there are none'
scan --no-state --max-archive-bytes=100M .
is 'with too little room it is told' "$status $(summary complete)" '3 false'
has_gap 'with what it takes, and the cure' "*object $id: it takes $((large * MiB + 52)) bytes, *--max-archive-bytes"
scan --no-state --spill-slots=0 --delta-cache=1g .
is 'with enough memory there need be no slot' "$(spots) $(summary complete)" "$wanted true"
TMPDIR=$dir/nowhere scan --no-state .
is 'without a folder for the file it is told' "$status $(summary complete)" '3 false'
has_gap 'with the cure' "*object $id: no temporary file can be made for it: *TMPDIR*"
is 'once' "$(gaps | wc -l)" 1
small_files() (
    ulimit -f $((100 * 1024))
    "$WEIR" scan --history=only --json --no-state .
)
run small_files
is 'without room for it it is told' "$status $(summary complete)" '3 false'
has_gap 'and that' "*object $id: its temporary file has no room: *"
scan .
is 'what is remembered holds' "$(spots) $(summary complete)" "$wanted true"

# --- built from each other ---

bare huge $large
names=$(for i in 0 1 2 3 4 5; do echo "large$i"; done; echo small)
scan --no-state .
is 'large deltas of large ones' "$(places) $(summary complete)" "$names true"
is 'to their ends' "$(jq '[.findings[].places[].offset] | unique | length' "$dir/out")" 2
is_small 'take little memory'
scan --no-state --max-archive-bytes=$((2 * large))M .
is 'with room for an object and its base' "$(places) $(summary complete)" "$names true"
scan --no-state --max-archive-bytes=$((2 * large - 1))M .
is 'with less the first is scanned' "$(places) $(summary complete)" 'large0 false'
bare huge 100
scan --no-state .
is 'larger than memory together' "$(places) $(summary complete)" "$names true"
scan --no-state --spill-slots=0 .
is 'without slots the first is scanned' "$(places) $(summary complete)" 'large0 false'
bare huge 2
scan --no-state --threads=1 .
is 'small ones need no file' "$(places) $(summary complete)" "$names true"
explained 'none' 'large objects: of 0 repositories, 0 objects'
for memory in 1M 4M 8M 16M; do
    scan --no-state --delta-cache=$memory .
    is "with a cache of $memory" "$(places) $(summary complete)" "$names true"
done

# --- loose, and an archive that memory has room for ---

begin
noise $((large * MiB)) >noise
(cat noise && echo "token = \"$pat\"") >large
git add large
git commit -qm large
TMPDIR=$dir/nowhere scan --no-state .
has_gap 'a loose one without a folder for its file is there' '*: no temporary file can be made for it: *TMPDIR*'
begin
echo "token = \"$pat\"" >small
zip -q small.zip small
git add small.zip
git commit -qm small
scan --no-state --spill-slots=0 .
is 'a small archive takes no file' "$(places) $(summary complete)" 'small.zip!small true'

# --- an archive ---

begin
noise $((12 * MiB)) >noise
echo "token = \"$pat\";" >in.txt
zip -q0 large.zip noise in.txt
git add large.zip
git commit -qm zip
rm ./*
scan --no-state --delta-cache=8M --threads=1 .
is 'an archive in a temporary file is opened' "$(places) $(summary complete)" 'large.zip!in.txt true'

# --- many repositories, one slot ---

bare huge 20
cd ..
for i in 1 2 3; do cp -r r r$i; done
scan --no-state --find-repos=. --delta-cache=16M --spill-slots=1 --threads=4
is 'one slot for all' "$(places | wc -l) $(summary complete)" '28 true'
explained 'of which no more is held' 'spill slots: at most 1 of 1 held'
scan --no-state --find-repos=. --delta-cache=16M --spill-slots=unlimited --threads=1
is 'as many as they like' "$(places | wc -l) $(summary complete)" '28 true'
scan --no-state --find-repos=. --delta-cache=16M --scan-ring=1M --threads=4
is 'a ring for one thread' "$(places | wc -l) $(summary complete)" '28 true'
explained 'of which no more is held' 'scan ring: at most 1.00 MiB of 1.00 MiB held'
run "$WEIR" scan --history=only --scan-ring=1000K .
is 'a ring that is too small for anybody is refused' "$status" 2

# --- families that are cut ---

bare forks 300
scan --no-state --full-scan .
wanted=$(spots)
scan --no-state .
is 'a family in memory' "$(spots) $(summary complete)" "$wanted true"
is 'has tokens in half of its versions' "$(wc -l <<<"$wanted")" 149
explained 'costs nothing more' 'families of deltas: 0 objects'
for memory in 300K 500K 1M; do
    scan --no-state --delta-cache=$memory --threads=1 .
    is "a family in $memory" "$(spots) $(summary complete)" "$wanted true"
done
scan --no-state --delta-cache=300K --threads=1 .
explained 'what it costs is told' 'families of deltas: [1-9][0-9]* objects \([0-9.]+ .*\) built again'

# --- messages that are too large, beside something whose origin is looked for: the cure that is told is one ---

for kind in commit tag; do
    begin
    echo "token = \"$pat\";" >late.c
    git add late.c
    python3 -c 'print("a line of a long message\n" * 2800000)' >"$dir/message"
    if [[ $kind == commit ]]; then
        git commit -qF "$dir/message"
    else
        git commit -qm short
        git tag -a -F "$dir/message" long
    fi
    git repack -adq
    scan --no-state .
    is "a $kind of 70 MB" "$(places) $(summary complete) $(gaps)" 'late.c true '
    for limit in --delta-cache=64M --profile=ci '--delta-cache=64M --spill-slots=0' '--delta-cache=64M --scan-ring=1M' \
        --max-memory=256M; do
        # shellcheck disable=SC2086 # they are words
        scan --no-state $limit .
        is "a $kind of 70 MB with $limit is told once" "$(gaps | wc -l) $(gaps | grep -c 'it is a message')" '1 1'
        cure=$(gaps | grep -o -- '--[a-z-]*=[0-9]*M')
        # shellcheck disable=SC2086
        scan --no-state $limit $cure .
        is "and scanned with $cure" "$(places) $(summary complete) $(gaps)" 'late.c true '
    done
done
finish
