#!/bin/bash
# weir copy keeps its limits: with one entry in flight every kind of tree is copied and nothing waits
# for ever; memory does not grow with the size of a directory, the depth of a tree, the number of hard
# links or of deletions; and never more is in flight than was allowed.
#
# See copy_lib.sh for the environment. Prints TAP. With WEIR_LONG: 5 million entries in a directory and
# 50,000 directories in a chain.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync jq

rss_max_kib=65536
wide=200000
depth=5000
linked=60000
if is_long; then
    wide=5000000
    depth=50000
    linked=1000000
fi
readable=()
is_root || readable=(--readable)

# A copy with its peak of memory: $rss_kib and $took_ms besides $status.
measured() { # arguments of weir copy
    "$PROBE" --limit-s "$limit_s" -o "$work/how" "$WEIR" copy "$@" \
        >"$work/out" 2>"$work/err" </dev/null
    read -r kind status _ rss_kib _ took_ms <"$work/how"
    [[ $kind == exit ]] || status=$((128 + 9))
}

small_enough() { # name
    note "$1: $rss_kib KiB at most, $took_ms ms"
    if is_sanitized; then
        skip "$1: memory" 'the memory of a sanitizer is not that of the program'
    else
        point "$1: less than $((rss_max_kib / 1024)) MiB of memory" test "$rss_kib" -lt $rss_max_kib
    fi
}

has_inodes() { # how many
    local free
    free=$(df --output=iavail "$work" | tail -n 1 | tr -d ' ')
    # File systems without a fixed number show none.
    [[ $free == - || $free -eq 0 || $free -gt $1 ]]
}

in_flight_max() {
    tail -n 1 "$work/out" | jq '.in_flight_max'
}

# One entry in flight, on every kind of tree. The time limit is there to end a deadlock.
cd "$(fresh)"
limit_s=60
for part in names types modes times sizes sparse links xattrs acls symlinks deep wide random; do
    "$TREEGEN" --seed "$seed" --only $part --large 70M "${readable[@]}" src 2>/dev/null
    for limits in '--max-files-in-flight=1' \
        '--max-files-in-flight=1 --max-dirs-in-flight=1 --max-large-in-flight=1 --threads=8'; do
        read -ra options <<<"$limits"
        copy -HAXS --json "${options[@]}" src/ dst/
        point "$part, $limits: ends well" ended 0
        point "$part, $limits: all is the same" same src dst
        point "$part, $limits: never more than one" test "$(in_flight_max)" = 1
        remove dst
    done
    remove src
done

# Everything at once, by few and by many, within small limits of every kind.
"$TREEGEN" --seed "$seed" --large 70M "${readable[@]}" src 2>/dev/null
for limits in '--max-files-in-flight=1 --max-bytes-in-flight=1M' '--max-files-in-flight=2' \
    '--max-files-in-flight=3 --threads=16 --max-dirs-in-flight=1' \
    '--max-files-in-flight=65536 --threads=32' '--threads=1'; do
    read -ra options <<<"$limits"
    copy -HAXS --json "${options[@]}" src/ dst/
    point "all, $limits: ends well" ended 0
    point "all, $limits: all is the same" same src dst
    allowed=$(sed -n 's/.*--max-files-in-flight=\([0-9]*\).*/\1/p' <<<"$limits")
    point "all, $limits: never more than allowed" \
        test "$(in_flight_max)" -ge 1 -a "$(in_flight_max)" -le "${allowed:-1024}"
    remove dst
done
# An update with deletions, one at a time.
"$TREEGEN" --seed $((seed + 1)) --without deep "${readable[@]}" dst 2>/dev/null
copy -HAXS --delete --max-files-in-flight=1 src/ dst/
faithful 'all onto another tree, one at a time' src dst
remove src dst
limit_s=300
is_long && limit_s=3600

# A directory with very many entries.
cd "$(fresh)"
if has_inodes $((3 * wide)); then
    "$TREEGEN" --only wide --wide $wide src
    measured -HAXS src/ dst/
    point "$wide entries: ends well" ended 0
    point "$wide entries: all is the same" same src dst
    small_enough "$wide entries"
    measured -HAXS src/ dst/
    point "$wide entries, again: ends well" ended 0
    small_enough "$wide entries, again"
    # All of it is too much: the table of --delete is bounded as well.
    mkdir empty
    measured --delete empty/ dst/
    point "$wide deletions: ends well" ended 0
    point "$wide deletions: all are gone" test -z "$(ls -A dst)"
    small_enough "$wide deletions"
    remove dst
    remove src
else
    skip "$wide entries" 'there are not enough inodes'
fi

# Hard links whose other names are elsewhere: nothing can be forgotten, so the table spills.
cd "$(fresh)"
if has_inodes $((3 * linked)); then
    "$TREEGEN" --only wide --wide $linked src
    cp -al src elsewhere
    measured -H --json src/ dst/
    point "$linked hard links: ends well" ended 0
    point "$linked hard links: all is the same" same src dst --no links,nlink
    small_enough "$linked hard links"
    note "$(tail -n 1 "$work/out" | jq '.spilled_bytes') bytes spilled"
    # And with both names in the sources, in a table that is far too small.
    measured -H --table-memory=64k --json src elsewhere both
    point "$linked hard links, a small table: ends well" ended 0
    mkdir pair && mv src elsewhere pair
    point "$linked hard links, a small table: all is the same" same pair both --skip-root
    small_enough "$linked hard links, a small table"
    is_sanitized || point "$linked hard links, a small table: it spilled" \
        test "$(tail -n 1 "$work/out" | jq '.spilled_bytes')" -gt 0
    remove pair both dst
else
    skip "$linked hard links" 'there are not enough inodes'
fi

# A chain of directories: far beyond PATH_MAX and the limit on descriptors.
cd "$(fresh)"
"$TREEGEN" --only deep --depth $depth src
for form in '' '--max-files-in-flight=1'; do
    read -ra options <<<"$form"
    measured -HAXS "${options[@]}" src/ dst/
    point "$depth deep, '$form': ends well" ended 0
    point "$depth deep, '$form': all is the same" same src dst
    small_enough "$depth deep, '$form'"
    measured -HAXS -i "${options[@]}" src/ dst/
    point "$depth deep, '$form': again, nothing to do" test ! -s "$work/out" -a "$status" -eq 0
    remove dst
done
(
    ulimit -n 64
    measured -HAXS src/ dst/
    echo "$status" >"$work/status"
)
status=$(<"$work/status")
point "$depth deep with 64 descriptors: ends well" ended 0
point "$depth deep with 64 descriptors: all is the same" same src dst
mkdir empty
measured --delete empty/ dst/
point "$depth deep: deleted" test "$status" -eq 0 -a -z "$(ls -A dst)"
small_enough "$depth deep: deleted"
remove src dst

# Large files: memory is that of the buffers.
cd "$(fresh)"
mkdir src
for i in 1 2 3 4; do head -c 150000000 /dev/zero | tr '\0' $i >src/large-$i; done
for way in auto range ring plain; do
    measured --data-path=$way --reflink=never src/ dst/
    point "large files by way of '$way': ends well" ended 0
    point "large files by way of '$way': all is the same" same src dst
    small_enough "large files by way of '$way'"
    remove dst
done

finish
