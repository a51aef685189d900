#!/bin/bash
# weir scan: the limits of archives and repositories by one set of options, what --explain-limits says of them, and
# what can never fit: it runs in a smaller way, or is refused with the number that it needs, which does.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3
here=$(cd "$(dirname "$0")" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TOKEN=$pat
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x

scan() { # options
    run "$WEIR" scan --json --no-state --explain-limits "$@"
}
explained() { # name, a pattern of a whole line
    if grep -Eqx "weir scan: limits: $2" "$dir/err"; then pass "$1"; else fail "$1" "$(cat "$dir/err")"; fi
}
bare() { # a kind of git_packs.py; then in a repository of that
    tree
    git init -q --bare -b main r
    cd r
    "$here/git_packs.py" "$@"
}
# The last number of the gap, and its unit: what is to be set.
needed() {
    gaps | sed -n 's/.*set --[a-z-]*=\([0-9]*[KM]\) or more$/\1/p'
}

# --- presets ---

tree
git init -q -b main r
ring() { # profile, ring, cache, slots
    scan --history=only --profile="$1" r
    explained "$1: the ring" "repositories: scan ring: at most .* of $2 held"
    explained "$1: the cache" "repositories: delta cache: at most .* of $3 held"
    explained "$1: the slots" "repositories: spill slots: at most 0 of $4 held"
    explained "$1: those of archives" "archives: spill slots: at most 0 of $4 held"
}
ring default '256 MiB' '512 MiB' 16
ring ci '100 MiB' '200 MiB' 4
explained 'ci: the ring of archives' 'archives: scan ring: at most 0 B of 100 MiB held'
ring bulk '1.00 GiB' '2.00 GiB' 32
explained 'bulk: the ring of archives' 'archives: scan ring: at most 0 B of 1.00 GiB held'
scan --profile=ci --scan-ring=200M --delta-cache=400M --spill-slots=unlimited r
explained 'one is changed: the ring' 'repositories: scan ring: at most .* of 200 MiB held'
explained 'the cache' 'repositories: delta cache: at most .* of 400 MiB held'
explained 'slots without limit' 'repositories: spill slots: at most 0 held, unlimited'
explained 'for archives as well' 'archives: spill slots: at most 0 held, unlimited'

# --- archives, without a repository ---

tree
mkdir made
noise $((9 * MiB)) >made/noise
printf 'key = %s\n' "$pat" >made/f
for i in 1 2 3; do tar -C made -cf "$i.tar" noise f; done
rm -r made
found='1.tar!f 2.tar!f 3.tar!f '
scan --device-slots=.=1 --spill-slots=2 --scan-ring=140M --threads=4 .
is 'archives in a tree' "$(places | tr '\n' ' ')$(summary complete)" "${found}true"
explained 'how many' 'archives: 3 admitted, 0 refused, at most [12] at once'
explained 'the slots of their disk' \
    'archives: (disk .*|disks that are not known): at most 1 of 1 slots held, [0-9]+ waited, 0 refused'
explained 'their ring' 'archives: scan ring: at most (68.0|136) MiB of 140 MiB held'
explained 'their spill slots' 'archives: spill slots: at most [12] of 2 held'
explained 'and who waited' 'archives: all of these: ([0-9]+ waited, .* s in all|nobody waited), 0 refused'
explained 'what there is none of' 'repositories: histories are not scanned'
printf '1.tar\n2.tar\n3.tar\n' >list
scan --device-slots=.=7 --files-from=list
is 'those of a list' "$(places | tr '\n' ' ')" "$found"
explained 'have the same' 'archives: .*: at most [1-3] of 7 slots held, .*'
stream() { # options
    status=0
    "$WEIR" scan --json --explain-limits "$@" - <1.tar >"$dir/out" 2>"$dir/err" || status=$?
}
stream --device-slots="$TMPDIR=5" --spill-slots=3
is 'one that comes as a stream' "$(places)" '-!f'
explained 'has a spill slot' 'archives: spill slots: at most 1 of 3 held'
explained 'and lies on the disk of its file' 'archives: .*: at most 1 of 5 slots held, 0 waited, 0 refused'
stream --spill-slots=0
has_gap 'without a slot it is told' '-: *it takes a temporary file, and none is allowed: raise --spill-slots'
explained 'as refused' 'archives: 0 admitted, 1 refused, at most 0 at once'
explained 'and that there are none' 'archives: spill slots: there are none'
scan --archive-depth=0 1.tar
explained 'none is opened' 'archives: none is opened, 1 refused: the depth of archives is 0'
for option in --scan-ring=80M --spill-slots=1 --device-slots=.=1 --profile=ci --max-archive-bytes=1G; do
    run "$WEIR" scan "$option" --archive-depth=0 .
    expect "$option: there is nothing to limit" 2 '' '*is about archives and histories of git, and neither is opened*'
done
for option in --max-archive-entries=7 --max-entry-bytes=1G --max-archive-ratio=1000; do # also where it is the default
    run "$WEIR" scan "$option" --archive-depth=0 .
    expect "$option: there is nothing to limit" 2 '' \
        "weir scan: '${option%%=*}' is about archives, and '--archive-depth=0' opens none: leave out one of the two"
    scan "$option" 1.tar
    is "$option: it limits what is opened" "$status $(places)" '1 1.tar!f'
done
# What may stand in every command of a script says whom it is for.
echo nothing >plain
for option in --max-fetch-size=1M --fetch-timeout=1s --no-state; do
    run "$WEIR" scan "$option" --archive-depth=0 plain
    is "$option: it may stand without one" "$status $(cat "$dir/err")" '0 '
done
run "$WEIR" scan --help
is 'and says whom it is for' "$(grep -Ec '(--max-fetch-size=|--fetch-timeout=|--no-state ).* only: ' "$dir/out")" 3

# --- an archive that can never fit ---

for more in '' --max-memory=300M; do
    scan --scan-ring=60M --threads=2 ${more:+"$more"} 1.tar
    has_gap "with a small ring it is told: $more" '1.tar: *takes 68 MiB, and the scan ring has 60: set --scan-ring=68M or more'
    explained 'as refused' 'archives: none is opened, 1 refused: .*'
    scan --scan-ring="$(needed)" --threads=2 ${more:+"$more"} 1.tar
    is 'the cure works' "$(places) $(summary complete)" '1.tar!f true'
done
scan --max-memory=150M 1.tar
has_gap 'with little memory' '1.tar: *: set --max-memory=200M or more'
scan --max-memory="$(needed)" 1.tar
is 'the cure works, too' "$(places) $(summary complete)" '1.tar!f true'
if command -v xz >/dev/null; then
    printf 'key = %s\n' "$pat" >f
    xz --lzma2=dict=192MiB f
    scan --scan-ring=100M --threads=2 f.xz
    has_gap 'a decoder that needs more than the ring' 'f.xz*: its decoder needs * MiB of memory and may have *: set --scan-ring=*M'
    more=$(gaps | sed -n 's/.*--scan-ring=\([0-9]*M\)$/\1/p')
    scan --scan-ring="$more" --threads=2 f.xz
    is 'is told the right number' "$(places) $(summary complete)" 'f.xz!f true'
fi

# --- archives in histories: their limits are not those of the repositories that wait for them ---

tree
noise $((9 * MiB)) >noise
printf 'key = %s\n' "$pat" >f
for i in 1 2 3; do
    git init -q -b main "r$i"
    tar -cf "r$i/a.tar" noise f
    git -C "r$i" add .
    git -C "r$i" commit -qm "$i"
done
for more in '' --max-memory=300M; do
    run timeout 120 "$WEIR" scan --json --no-state --explain-limits --threads=4 --device-slots=.=1 --spill-slots=1 \
        --find-repos=. ${more:+"$more"}
    is "one slot of each for three repositories, and one for their archives: $more" \
        "$(places | tr '\n' ' ')$(summary complete)" 'r1/a.tar!f r2/a.tar!f r3/a.tar!f true'
    explained 'one repository at once' 'repositories: 3 admitted, 0 refused, at most 1 at once by .*'
    explained 'and one archive' 'archives: 3 admitted, 0 refused, at most 1 at once'
done

# --- small repositories beside others ---

tree
noise $((5 * MiB)) >noise
for i in 1 2 3 4 5; do
    git init -q -b main "large$i"
    cp noise "large$i/noise"
    printf '%s\n' "$i" >>"large$i/noise"
    printf 'key = %s\n' "$pat" >"large$i/f"
    git -C "large$i" add .
    git -C "large$i" commit -qm "$i"
    git -C "large$i" repack -adq
done
for i in 1 2 3; do
    git init -q -b main "small$i"
    printf 'key = %s\n' "$pat" >"small$i/f"
    git -C "small$i" add .
    git -C "small$i" commit -qm "$i"
done
scan --find-repos=. --threads=2 --device-slots=.=3
is 'large repositories and small ones' "$(places | wc -l) $(summary complete)" '8 true'
explained 'small ones are told apart' 'repositories: 3 small ones; others, to leave something to such: [0-3] waited, at most [0-3] at once'
explained 'and a slot is left to them' 'repositories: .*: at most [1-3] of 3 slots held, [0-9]+ waited, 0 refused'
scan --find-repos=. --threads=2 --device-slots=.=1
is 'with one slot all wait for it' "$(places | wc -l) $(summary complete)" '8 true'
explained 'one at a time' 'repositories: .*: at most 1 of 1 slots held, [1-9][0-9]* waited, 0 refused'
scan --find-repos=. --threads=2 --delta-cache=100M
explained 'with little memory nobody is small' 'repositories: 0 small ones; others, to leave something to such: 0 waited, at most 0 at once'
is 'and all are scanned' "$(places | wc -l) $(summary complete)" '8 true'
# Thousands of loose objects are no small repository.
git init -q -b main loose
cd loose
seq 4000 | split -l 1 -a 4 - f
git add .
git commit -qm loose
cd ..
rm -rf large? small?
scan --find-repos=. --threads=2
explained 'nor is one with many loose objects' 'repositories: 0 small ones; .*'

# --- a repository that can never fit ---

tree
git init -q --bare -b main r
cd r
for pack in 0 1 2 3; do
    python3 -c 'import sys
pack, token = int(sys.argv[1]), sys.argv[2]
for i in range(5000):
    print("blob\nmark :%d\ndata <<E\nfile %d of %d\nE" % (i + 1, i, pack))
print("blob\nmark :9999\ndata <<E\nkey = %s # %d\nE" % (token, pack))
print("commit refs/heads/b%d\ncommitter C <c@x> 1700000000 +0000\ndata 0" % pack)
print("M 100644 :9999 %d.c" % pack)
for i in range(5000):
    print("M 100644 :%d d%d/f%d" % (i + 1, i % 50, i))' $pack "$pat" | git -c fastimport.unpackLimit=1 fast-import --quiet
done
is 'four packs' "$(find objects -name '*.pack' | wc -l)" 4
all='0.c 1.c 2.c 3.c true'
all_of() { echo "$(places | tr '\n' ' ')$(summary complete)"; }
scan --history=only --threads=4 .
is 'with enough memory' "$(all_of)" "$all"
explained 'all plans are there at once' 'repositories: plans: at most [1-4] packs in work at once, 0 repositories with one at a time'
scan --history=only --threads=4 --delta-cache=300K .
is 'with too little for all plans' "$(all_of)" "$all"
explained 'it is one after the other' 'repositories: plans: at most 1 packs in work at once, 1 repositories with one at a time'
scan --history=only --threads=4 --delta-cache=100K .
is 'with too little for one nothing is scanned' "$status $(summary complete) $(summary objects)" '3 false 0'
has_gap 'and the number is told' '*cannot scan the history of: it takes * KiB at least, and histories have 100: set --delta-cache=*K or more'
explained 'as refused' 'repositories: 0 admitted, 1 refused, at most 0 at once by [0-9]+ leaders'
least=$(needed)
scan --history=only --threads=4 --delta-cache="$least" .
is 'which is enough' "$(all_of)" "$all"
scan --history=only --threads=4 --delta-cache="$((${least%K} - 1))K" .
is 'and less is not' "$status $(needed)" "3 $least"
scan --history=only --threads=4 --max-memory=400M --delta-cache=5M .
has_gap 'with a limit of memory it takes more' '*: it takes * MiB at least, and histories have 5: set --delta-cache=*M or more'
scan --history=only --threads=4 --max-memory=400M --delta-cache="$(needed)" .
is 'and that is enough' "$(all_of)" "$all"
for more in '' --max-memory=400M; do
    scan --history=only --threads=4 --scan-ring=1M ${more:+"$more"} .
    is "a ring for one shard at a time: $more" "$(all_of)" "$all"
    explained 'is all that is held' 'repositories: scan ring: at most 1.00 MiB of 1.00 MiB held'
    run "$WEIR" scan --scan-ring=1023K ${more:+"$more"} .
    is 'less is refused' "$status" 2
done

# --- what no file is made of: messages and trees ---

bare message 40
for options in --delta-cache=8M '--delta-cache=8M --spill-slots=0'; do
    # shellcheck disable=SC2086 # several words
    scan --history=only $options .
    has_gap "a message that is too large: $options" '*: it is a message and takes 524* bytes, more than *: set --delta-cache=*M or more'
    scan --history=only --delta-cache="$(needed)" .
    is 'with what it says it is scanned' "$(summary complete) $(places | grep -c '^commit:')" 'true 1'
done
scan --history=only --max-memory=256M .
has_gap 'within a limit it is told' '*: it is a message and takes 524* bytes, more than *: set --max-memory=*M or more'
scan --history=only --max-memory="$(needed)" .
is 'and the cure works' "$(summary complete) $(places | grep -c '^commit:')" 'true 1'
scan --history=only .
is 'and without it scanned' "$(summary complete) $(places | grep -c '^commit:')" 'true 1'
bare large-tree 100
scan --history=only --threads=16 .
is 'a tree that is too large for a shard, and not for all' "$(summary secrets) $(summary complete)" '1 true'
scan --history=only --delta-cache=4M .
is 'what is too large for all' "$status $(summary complete)" '3 false'
has_gap 'is told' '*: it is a tree and takes 6800068 bytes, more than *: set --delta-cache=*M or more'
scan --history=only --delta-cache="$(needed)" --threads=16 .
is 'and the cure works' "$(summary secrets) $(summary complete)" '1 true'
scan --history=only --max-memory=130M .
has_gap 'within a limit' '*: it is a tree and takes *: set --max-memory=*M or more'
scan --history=only --max-memory="$(needed)" .
is 'the cure works there, too' "$(summary secrets) $(summary complete)" '1 true'

# --- ordinary repositories within a limit of memory ---

origin() { # of the only finding: by a commit, or how it is reached
    jq -r '.findings[0].places[0] | .by // if .commit then "commit" else "none" end' "$dir/out"
}
of_files() { # entries, the file with a secret: a repository of one folder
    tree
    git init -q --bare -b main r
    cd r
    local plain secret top
    plain=$(echo x | git hash-object -w --stdin)
    secret=$(printf 'key = %s\n' "$pat" | git hash-object -w --stdin)
    top=$(python3 -c 'import sys
plain, secret, count, at = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for i in range(count):
    print("100644 blob %s\tfile_number_%06d" % (secret if i == at else plain, i))' "$plain" "$secret" "$1" "$2" | git mktree)
    git update-ref refs/heads/main "$(git commit-tree "$top" -m c)"
}
of_files 100000 77777
for how in loose packed; do
    [[ $how == loose ]] || git repack -adq
    for memory in 256M 4G; do
        scan --history=only --max-memory=$memory .
        is "a folder of 100,000 files, $how, with $memory" "$(places) $(origin) $(summary complete)" \
            'file_number_077777 commit true'
    done
done
of_files 400000 77777
scan --history=only --max-memory=140M .
is 'one that does not fit hides what is in it: nobody calls that unreachable' "$(origin) $(summary complete)" 'unknown false'
is 'and all that is told has a number' "$(gaps | grep -cv 'set --max-memory=[0-9]*M or more$')" 0
scan --history=only --max-memory="$(needed | sort -n | tail -n 1)" .
is 'which is enough' "$(places) $(origin) $(summary complete)" 'file_number_077777 commit true'

tree
git init -q -b main r
cd r
printf 'key = %s\n' "$pat" >f
git add f
git commit -qm c
git rm -q f
git commit -qm gone
head=$(git rev-parse HEAD)
for ((i = 0; i < 10000; i++)); do echo "$head refs/tags/release-candidate-$i"; done >.git/packed-refs
for narrow in '' --reachable; do
    scan --history=only --max-memory=256M ${narrow:+"$narrow"} .
    is "10,000 refs: $narrow" "$(places) $(origin) $(summary complete)" 'f commit true'
done
for ((i = 0; i < 90000; i++)); do echo "$head refs/tags/release-candidate-$i"; done >.git/packed-refs
rm .git/refs/heads/main
rm -r .git/logs
printf '%s\n' 'ref: refs/heads/none' >.git/HEAD
scan --history=only --max-memory=123M .
is 'refs that do not fit: what they lead to is unknown' "$(origin) $(summary complete)" 'unknown false'
has_gap 'they are told with a number' '*: its refs take more than the * KiB there are: set --max-memory=*M or more'
scan --history=only --max-memory=2G .
is 'with more they are read' "$(places) $(origin) $(summary complete)" 'f commit true'

# A log is read in pieces, whatever its size; what is kept of it are ids.
rm .git/packed-refs
git update-ref refs/heads/main "$head"
printf '%s\n' 'ref: refs/heads/main' >.git/HEAD
mkdir -p .git/logs
line=" A <a@x> 1700000000 +0000	$(printf '%02000d' 0)"
for ((i = 0; i < 20000; i++)); do echo "$head $head$line"; done >.git/logs/HEAD
scan --history=only --max-memory=123M .
is 'a log of 40 MB that has one id' "$(places) $(origin) $(summary complete)" 'f commit true'
for ((i = 0; i < 100000; i++)); do printf '%040x %040x A <a@x> 1700000000 +0000\n' $((i + 1)) $((i + 2)); done >.git/logs/HEAD
scan --history=only --max-memory=123M .
has_gap 'one with many is told with a number' '*: its refs take more than the * KiB there are: set --max-memory=*M or more'
scan --history=only --max-memory="$(needed)" .
is 'which is enough' "$(places) $(origin) $(summary complete)" 'f commit true'

bare message 7
for how in loose packed; do
    [[ $how == loose ]] || git repack -adq
    scan --history=only --max-memory=256M .
    is "a message of 7 MB, $how" "$(summary complete) $(places | grep -c '^commit:')" 'true 1'
done

# --- a repository that a limit of memory has no room for ---

tree
git init -q --bare -b main r
cd r
python3 -c 'import sys
write = sys.stdout.write
for i in range(600000):
    write("blob\ndata %d\n%d\n" % (len(str(i)), i))
write("blob\nmark :1\ndata <<E\nkey = %s\nE\n" % sys.argv[1])
write("commit refs/heads/main\ncommitter C <c@x> 1700000000 +0000\ndata 0\nM 100644 :1 f\n")' "$pat" |
    git -c fastimport.unpackLimit=1 fast-import --quiet
scan --history=only --max-memory=123M .
has_gap 'it is told' '*cannot scan the history of: it takes * MiB at least, and histories have 18: set --max-memory=*M or more'
explained 'as refused' 'repositories: 0 admitted, 1 refused, .*'
scan --history=only --max-memory="$(needed)" .
is 'and the cure works' "$(places) $(origin) $(summary complete)" 'f commit true'

# --- a large object within a limit of memory ---

if [[ ${SANITIZED:-none} == none ]]; then
    tree
    git init -q -b main r
    cd r
    python3 -c '
import sys
line = b"some words of a text, which is long %027d\n"
block = b"".join(line % i for i in range(1 << 14))
with open("large", "wb") as file:
    for _ in range(200):
        file.write(block)
    file.write(b"token = \"%s\";\n" % sys.argv[1].encode())' "$pat"
    git -c core.bigFileThreshold=4g add .
    git commit -qm large
    rm large
    for how in loose packed; do
        [[ $how == loose ]] || git -c core.bigFileThreshold=4g repack -adq
        # The peak is that of all memory; what is anonymous is a part of it.
        run python3 -c '
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:], timeout=300)
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)
sys.exit(done.returncode)' "$dir/peak" "$WEIR" scan --history=only --json --no-state --explain-limits --max-memory=256M .
        is "$how: 200 MiB within 256, to the end" "$(spots) $(summary complete)" \
            "large:$((200 * 16384 + 1)):10:$((200 * MiB + 9)) true"
        explained 'through a file' 'repositories: large objects: of 1 repositories, 1 objects \(200 MiB\) in temporary files.*'
        explained 'with its slot from the beginning' 'repositories: spill slots: at most 1 of 16 held'
        check "in $(cat "$dir/peak") KiB" test "$(cat "$dir/peak")" -le $((256 * 1024))
        is 'nothing is left in the folder' "$(ls -A "$TMPDIR")" ''
    done
    scan --history=only --max-memory=256M --spill-slots=0 .
    has_gap 'without a slot it is told' '*: it takes * bytes, more than the * that it may have in memory: allow a temporary file (--spill-slots), or set --max-memory=*M or more'
    scan --history=only --max-memory=256M --delta-cache=16M --spill-slots=0 .
    has_gap 'the smaller limit is named, and both if both are too small' '*: it takes * bytes, more than *: allow a temporary file (--spill-slots), or set --delta-cache=*M and --max-memory=*M or more'
fi
finish
