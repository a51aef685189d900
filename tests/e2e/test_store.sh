#!/bin/bash
# weir store: check, compact and stats on stores that are well, damaged, torn, in use, or none.
set -euo pipefail
: "${STOREGEN:?the path of storegen}"
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"

if [[ -w /dev/shm ]]; then
    stores=$(mktemp -d -p /dev/shm weir-store-XXXXXX)
else
    stores=$(mktemp -d)
fi
trap 'chmod -R u+rwx "$dir" "$stores" || true; rm -rf "$dir" "$stores"' EXIT

got() { # what jq makes of standard output
    jq -r "$1" "$dir/out"
}

# The folder as it is, but for the times of its files.
state_of() {
    (cd "$1" && find . -type f -print0 | sort -z | xargs -0 b3sum)
}

store=$stores/good
"$STOREGEN" fill "$store" 1 1500 4

# --- one that is well ---
before=$(state_of "$store")
run "$WEIR" store check "$store"
expect 'check of a good store' 0 $'segments  *chunks  *1125,*damaged  *0\n*index  *as it was left' ''
run "$WEIR" store check --json "$store"
check 'check in JSON' test "$status" -eq 0
is 'JSON has all keys' "$(got 'keys_unsorted | join(" ")')" \
    'folder damage segments sealed file_bytes records chunks chunk_bytes deletions dead_bytes torn_bytes damaged damaged_dead index_wrong unreadable put_aside was_clean missing_segments unreadable_bytes lost_segments lost_bytes index_rebuilt'
is 'its numbers' "$(got '[.chunks, .deletions, .records, .damaged, .was_clean] | map(tostring) | join(" ")')" \
    '1125 375 1875 0 true'
is 'no damage is an empty list' "$(got '.damage | length')" 0
is 'the folder is named' "$(got .folder)" "$store"
bytes=$(got .chunk_bytes)
dead=$(got .dead_bytes)
run "$WEIR" store stats --json "$store"
is 'stats in JSON' "$(got '[.chunks, .chunk_bytes, .was_clean, .index_rebuilt] | map(tostring) | join(" ")')" \
    "1125 $bytes true null"
is 'stats count what the index does not know yet' "$(got '[.tail_records > 0, .deletions, .dead_bytes] | map(tostring) | join(" ")')" \
    "true 375 $dead"
is 'stats have all keys' "$(got 'keys_unsorted | join(" ")')" \
    'folder segments file_bytes dead_bytes chunks chunk_bytes length_min length_max time_min time_max deletions tail_records index_bytes quarantined scrub_ended was_clean missing_segments unreadable_bytes lost_segments lost_bytes index_rebuilt'
run "$WEIR" store stats "$store"
expect 'stats for people' 0 'segments *closed cleanly   yes*' ''
is 'nothing was changed' "$(state_of "$store")" "$before"

# --- a copy, as docs/storage.md wants it ---
mkdir "$stores/copy"
cp -r "$store/segments" "$store/store" "$stores/copy"
before=$(find "$stores/copy" | sort)
run "$WEIR" store check --json "$stores/copy"
is 'check of a copy that has segments and identity alone' \
    "$status $(got '[.chunks, .chunk_bytes, .damaged] | map(tostring) | join(" ")')" "0 1125 $bytes 0"
run "$WEIR" store stats --json "$stores/copy"
is 'stats of it' "$status $(got '[.chunks, .chunk_bytes] | map(tostring) | join(" ")')" "0 1125 $bytes"
rm "$stores/copy/store"
run "$WEIR" store check "$stores/copy"
expect 'segments alone will do' 0 '*chunks  *1125,*' ''
cp "$store/store" "$stores/copy"
is 'nothing was made in it' "$(find "$stores/copy" | sort)" "$before"
coproc COPY { flock -x "$stores/copy" sh -c 'echo open; read -r line || true'; }
read -r line <&"${COPY[0]}"
run "$WEIR" store check "$stores/copy"
expect 'its folder is its lock' 3 '' '*another process has it open: stop it first'
input=${COPY[1]} holder=$COPY_PID
exec {input}>&-
wait "$holder"
rm -r "$stores/copy/segments"
for action in check stats compact; do
    run "$WEIR" store "$action" "$stores/copy"
    expect "$action of a copy without segments" 3 '' \
        "weir store: cannot open '$stores/copy': its folder 'segments' is missing: restore it from a copy"
done

# --- damage ---
cp -r "$store" "$stores/bytes"
read -r address segment offset < <("$STOREGEN" damage "$stores/bytes" bytes 100)
run "$WEIR" store check "$stores/bytes"
expect 'changed bytes: status 1, and which chunk it is' 1 \
    "damaged  $segment at $offset  $address: its record is damaged*damaged          1*" ''
run "$WEIR" store check --json "$stores/bytes"
is 'the same in JSON' "$(got '.damage[] | [.address, .segment, .offset, .counts] | map(tostring) | join(" ")')" \
    "$address $segment $offset true"
is 'it is not among the chunks' "$(got .chunks)" 1124
run "$WEIR" store compact "$stores/bytes"
expect 'compaction that comes by it tells it, and the status does' 1 'compacted  *' "*warning: $address: compaction found it damaged*"
run "$WEIR" store check "$stores/bytes"
expect 'it is kept aside then' 0 '*damaged          0*' ''

cp -r "$store" "$stores/head"
read -r address segment offset < <("$STOREGEN" damage "$stores/head" head 7)
run "$WEIR" store check --json "$stores/head"
check 'a changed head: status 1' test "$status" -eq 1
is 'it is known by its segment' "$(got '.damage[] | [.address, .segment, .offset] | map(tostring) | join(" ")')" \
    "$address $segment $offset"

cp -r "$store" "$stores/both"
"$STOREGEN" damage "$stores/both" head 7 >/dev/null
"$STOREGEN" damage "$stores/both" bytes 9 >/dev/null
"$STOREGEN" damage "$stores/both" bytes 500 >/dev/null
run "$WEIR" store check -q "$stores/both"
is 'three of them' "$(grep -c '^damaged  0' "$dir/out")" 3

cp -r "$store" "$stores/footer"
printf 'x' | dd of="$stores/footer/segments/00000001.seg" bs=1 conv=notrunc status=none \
    seek=$(($(stat -c %s "$stores/footer/segments/00000001.seg") - 100))
run "$WEIR" store check --json "$stores/footer"
check 'a changed list of a segment: status 1' test "$status" -eq 1
is 'all chunks are there' "$(got .chunks)" 1125
is 'what is damaged is named' "$(got '.damage[].what')" 'what stands behind its last record is damaged'

cp -r "$store" "$stores/foreign"
head -c 5000 /dev/urandom >"$stores/foreign/segments/000000ff.seg"
run "$WEIR" store check "$stores/foreign"
expect 'a file that is no segment' 1 'damaged  000000ff.seg at 0  -: it is no segment of this store*' ''

cp -r "$store" "$stores/lost"
rm "$stores/lost/segments/00000002.seg"
run "$WEIR" store check --json "$stores/lost"
is 'a segment that is gone: the index is made anew, and its chunks are not there' \
    "$(got '[.chunks < 1125, .index_rebuilt != null] | map(tostring) | join(" ")')" 'true true'

cp -r "$store" "$stores/index"
printf 'x' | dd of="$stores/index/index/data.mdb" bs=1 conv=notrunc seek=9000 status=none
run "$WEIR" store check "$stores/index"
expect 'a changed index is not used' 0 '*chunks  *1125,*made anew in memory: its file is not what it was' ''

# --- a crash ---
"$STOREGEN" crash "$stores/crash" 2 700 0
newest=$(find "$stores/crash/segments" -name '*.seg' | sort | tail -1)
head -c 1000 /dev/urandom >>"$newest"
before=$(state_of "$stores/crash")
run "$WEIR" store check --json "$stores/crash"
is 'after a crash all is well, but torn' \
    "$status $(got '[.chunks, .damaged, .torn_bytes, .was_clean] | map(tostring) | join(" ")')" \
    '0 700 0 1000 false'
is 'and nothing was changed' "$(state_of "$stores/crash")" "$before"
run "$WEIR" store stats "$stores/crash"
expect 'stats say so' 0 '*closed cleanly   no*the store was not closed as it should be' ''

# --- unreadable (not for root, who may read all) ---
if [[ $EUID -ne 0 ]]; then
    cp -r "$store" "$stores/denied"
    chmod 0 "$stores/denied/segments/00000001.seg"
    run "$WEIR" store check "$stores/denied"
    check 'a segment that cannot be read: status 3' test "$status" -eq 3
    chmod 600 "$stores/denied/segments/00000001.seg"
else
    skip 'a segment that cannot be read: status 3' 'root can read all'
fi
rm -rf "$stores/loop" && cp -r "$store" "$stores/loop"
mv "$stores/loop/segments/00000001.seg" "$stores/loop/away"
ln -s loop "$stores/loop/segments/000000fe.seg"
mv "$stores/loop/away" "$stores/loop/segments/00000001.seg"
run "$WEIR" store check "$stores/loop"
check 'a link in place of a segment: status 3' test "$status" -eq 3

# --- gone since it was closed ---
cp -r "$store" "$stores/gone"
rm "$(find "$stores/gone/segments" -name '*.seg' | sort | tail -1)"
run "$WEIR" store check --json "$stores/gone"
is 'a segment that is gone is told' "$status $(got '[.damaged, .lost_segments, .was_clean] | map(tostring) | join(" ")')" \
    '1 0 1 true'
run "$WEIR" store check "$stores/gone"
expect 'also to people' 1 '*lost segments    1*' ''

cp -r "$stores/gone" "$stores/gone2"
run "$WEIR" store compact "$stores/gone"
expect 'compact tells it as well, and does its work' 1 'compacted  *[1-9]*gained *' \
    '*warning: 1 segments and 0 bytes of others are gone since it was closed*'
run "$WEIR" store compact --json "$stores/gone2"
is 'also in JSON' "$status $(got '[.lost_segments, .compacted > 0] | map(tostring) | join(" ")')" '1 1 true'
run "$WEIR" store compact "$stores/foreign"
expect 'compact tells a file that is no segment' 1 'compacted*' '*1 files that are no segments put aside*'
cp -r "$store" "$stores/mixed"
read -r address segment offset < <("$STOREGEN" damage "$stores/mixed" bytes 100)
ln -s loop "$stores/mixed/segments/000000fe.seg"
run "$WEIR" store check --json "$stores/mixed"
is 'damage wins over what cannot be read' "$status $(got '[.damaged, .unreadable] | map(tostring) | join(" ")')" '1 1 1'
run "$WEIR" store compact --json "$stores/mixed"
is 'of compact as well' "$status $(got '[.damaged, .missing_segments] | map(tostring) | join(" ")')" '1 1 1'
run "$WEIR" store compact "$stores/loop"
expect 'and what cannot be read' 3 'compacted*' '*the disk does not give 1 segments*'

# --- one segment that cannot be compacted ---
cp -r "$store" "$stores/left"
first=$stores/left/segments/00000001.seg
printf 'overwritten' | dd of="$first" bs=1 seek="$(($(stat -c %s "$first") - 11))" conv=notrunc status=none
cp -r "$stores/left" "$stores/left2"
run "$WEIR" store compact "$stores/left"
expect 'it is told, and the others are compacted' 1 $'compacted  *[1-9]\nleft             1\ndamaged          1\n*' \
    "weir store: warning: $stores/left: 00000001.seg is not compacted: it cannot be read whole (the data are damaged)"
run "$WEIR" store compact --json "$stores/left2"
is 'also in JSON' "$status $(got '[.compacted > 0, .left, .damaged] | map(tostring) | join(" ")')" '1 true 1 1'

# --- compact ---
run "$WEIR" store compact --json "$store"
is 'compact gains' "$status $(got '[.compacted > 0, .bytes_after < .bytes_before] | map(tostring) | join(" ")')" \
    '0 true true'
run "$WEIR" store check --json "$store"
is 'nothing is lost by it' "$status $(got '[.chunks, .chunk_bytes, .damaged] | map(tostring) | join(" ")')" \
    "0 1125 $bytes 0"
check 'and less is dead' test "$(got .dead_bytes)" -lt 10000
run "$WEIR" store compact "$store"
expect 'there is no more to gain' 0 $'compacted        0\n*gained           0 B' ''
run "$WEIR" store compact --percent 0 "$store"
expect 'a part has bounds' 2 '' '*percent*'
run "$WEIR" store check --percent 3 "$store"
expect 'which is for compact alone' 2 '' "weir store: option '--percent' is for compact alone"
cp -r "$stores/crash" "$stores/crash2"
run "$WEIR" store compact "$stores/crash2"
check 'compact of one that crashed' test "$status" -eq 0
run "$WEIR" store check --json "$stores/crash2"
is 'it is clean after that' "$status $(got '[.chunks, .torn_bytes, .was_clean] | map(tostring) | join(" ")')" \
    '0 700 0 true'

# --- no mark ---
# Something is in the way of the file.
cp -r "$stores/crash" "$stores/nomark"
mkdir -p "$stores/nomark/mark.new/full"
run "$WEIR" store compact "$stores/nomark"
expect 'compact says that it could not mark the store as closed' 0 'compacted*' \
    '*the store could not be marked as closed: nothing that was acknowledged is lost*'
cp -r "$stores/loop" "$stores/nomark2"
run "$WEIR" store compact "$stores/nomark2"
expect 'and does not say so of one that is not whole' 3 'compacted*' \
    '*the store could not be marked as closed, and is not whole: *'
check 'as one line' test "$(grep -c 'marked as closed' "$dir/err")" -eq 1

# --- an identity of another store ---
cp -r "$store" "$stores/other"
cp "$stores/crash/store" "$stores/other/store"
for action in check stats compact; do
    run "$WEIR" store "$action" "$stores/other"
    expect "$action of a store with the identity of another" 3 '' \
        "weir store: cannot open '$stores/other': its file 'store' is of another store than all of its segments: if these are right remove that file, which is made anew from them; if not, restore them from a copy"
done

# --- a file system that cannot be written ---
mkdir "$stores/mounted"
if [[ $EUID -eq 0 ]] && unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # the shell in the namespace reads them
    run unshare -m bash -c 'mount --bind "$2" "$3" && mount -o remount,bind,ro "$3" && exec "$1" store compact "$3"' \
        - "$WEIR" "$store" "$stores/mounted"
    expect 'compact on a file system that is only read' 3 '' \
        "weir store: cannot write to '$stores/mounted': its file system is mounted to be read alone: mount it to be written, *"
else
    skip 'compact on a file system that is only read' 'no mounts'
fi

# --- in use ---
coproc HOLD { "$STOREGEN" hold "$store"; }
read -r line <&"${HOLD[0]}"
is 'somebody has it open' "$line" open
for action in check stats compact; do
    run "$WEIR" store "$action" "$store"
    expect "$action refuses one that is in use" 3 '' \
        "weir store: cannot open '$store': another process has it open: stop it first"
done
# Once it has ended, bash forgets its number.
input=${HOLD[1]} holder=$HOLD_PID
exec {input}>&-
wait "$holder"
run "$WEIR" store check -q "$store"
check 'and goes on when it is closed' test "$status" -eq 0

# --- no store at all ---
mkdir "$stores/empty" && touch "$stores/file"
for action in check stats compact; do
    run "$WEIR" store "$action" "$stores/empty"
    expect "$action of an empty folder" 3 '' \
        "weir store: cannot open '$stores/empty': it holds no store: name the folder of a store"
    run "$WEIR" store "$action" "$stores/none"
    expect "$action of no folder" 3 '' \
        "weir store: cannot open '$stores/none': no such file or directory: name the folder of a store"
    run "$WEIR" store "$action" "$stores/file"
    expect "$action of a file" 3 '' \
        "weir store: cannot open '$stores/file': it is no folder: name the folder of a store"
done
is 'nothing was made' "$(find "$stores/empty" "$stores/none" 2>/dev/null)" "$stores/empty"
run "$WEIR" store
check 'without an action' test "$status" -eq 2
run "$WEIR" store check
check 'without a folder' test "$status" -eq 2
run "$WEIR" store mend "$store"
expect 'an action that there is none of' 2 '' '*mend*'

# --- interrupted ---
status=0
(
    trap - INT
    "$WEIR" store check "$store" >"$dir/out" 2>"$dir/err" &
    pid=$!
    kill -INT "$pid"
    wait "$pid"
) || status=$?
check 'SIGINT ends it at once, or it was done' test "$status" -eq 130 -o "$status" -eq 0
run "$WEIR" store check -q "$store"
check 'and leaves nothing behind' test "$status" -eq 0

# --- help and completion ---
run "$WEIR" store --help
expect 'help has examples' 0 '*weir store check /var/lib/weir/storage*' ''
is 'all of them of the folder that a service has' "$(grep -c 'weir store .*/var/lib/weir' "$dir/out")" \
    "$(grep -c 'weir store .*/var/lib/weir/storage' "$dir/out")"
"$WEIR" completion bash >"$dir/completion"
is 'actions are offered' "$(offers "$dir/completion" "$stores" weir store '')" 'check compact stats'
is 'then folders' "$(offers "$dir/completion" "$stores" weir store check emp)" 'empty'
finish
