#!/bin/bash
# weir copy when things go wrong: few descriptors, a full disk, files that cannot be read, sources
# that change, signals, and sudden death. What is under a final name is whole, what is not finished
# leaves no trace, and the next run completes it.
#
# See copy_lib.sh for the environment. Prints TAP. With WEIR_LONG there are more sudden deaths.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync setpriv python3

RANDOM=$seed
note "seed $seed"
deaths=10
is_long && deaths=200

# Runs weir under probe: $how is "exit N" or "signal N", with "hang" before it if it had to be ended.
probed() { # options of probe, --, arguments of weir copy
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    "$PROBE" "${options[@]}" --limit-s "$limit_s" -o "$work/how" "$WEIR" copy "$@" \
        >"$work/out" 2>"$work/err" </dev/null
    how=$(sed 's/ rss.*//' "$work/how")
}

went() { # how
    [[ $how == "$1" ]] && return
    echo "it was '$how', not '$1'"
    tail -n 20 "$work/err"
    return 1
}

# Files of one letter each: a file that is not whole, or a mixture, shows at once.
letters() { # folder, letter, number of files, size of each
    python3 - "$@" <<'PYTHON'
import os, sys
folder, letter, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for number in range(count):
    place = f"{folder}/{number % 20}"
    os.makedirs(place, exist_ok=True)
    with open(f"{place}/letter-{number}", "wb") as file:
        file.write(letter.encode() * (size + number))
    os.utime(f"{place}/letter-{number}", (1000000000 + number, 1000000000 + number + ord(letter)))
PYTHON
}

# Every file under a final name has the size that it should have and one letter.
all_whole() { # folder, letters that may be, size of each
    python3 - "$@" <<'PYTHON'
import os, re, sys
folder, letters, size = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
bad = 0
for place, _, names in os.walk(folder):
    if ".weir-" in place:
        continue
    for name in names:
        match = re.fullmatch(r"letter-(\d+)", name)
        if not match:
            continue
        with open(os.path.join(place, name), "rb") as file:
            data = file.read()
        wanted = size + int(match.group(1))
        if len(data) != wanted or data[:1] not in [bytes([c]) for c in letters] \
                or data.count(data[:1]) != wanted:
            print(f"{place}/{name}: {len(data)} bytes, {data[:1]!r}")
            bad += 1
sys.exit(bad > 0)
PYTHON
}

# Few descriptors: fewer than are in flight by default, in a tree of every kind.
cd "$(fresh)"
"$TREEGEN" --seed "$seed" --readable src 2>/dev/null
for descriptors in 64 32; do
    (
        ulimit -n $descriptors
        copy -HAXS src/ dst/
        echo "$status" >"$work/status"
    )
    status=$(<"$work/status")
    faithful "$descriptors descriptors" src dst
    remove dst
done
mkdir -p wide && "$TREEGEN" --only wide --wide 3000 wide/src
(
    ulimit -n 64
    copy --max-files-in-flight=1024 wide/src/ wide/dst/
    echo "$status" >"$work/status"
)
status=$(<"$work/status")
point '64 descriptors and 1024 in flight: ends well' ended 0
point '64 descriptors and 1024 in flight: all is there' same wide/src wide/dst
point '64 descriptors and 1024 in flight: a note says so' grep -qiE 'descriptor|open files' "$work/err"
remove src wide

# A full disk: what fits is there and whole, the rest is told, and nothing is left over.
if mount_tmpfs size=6m; then
    full=$mounted
    cd "$(fresh)"
    letters src a 40 300000
    for form in new existing; do
        [[ $form == new ]] || mkdir "$full/dst"
        copy src/ "$full/dst/"
        point "full disk, $form: ends with errors" ended 3
        point "full disk, $form: it says why" grep -qi 'no space left' "$work/err"
        point "full disk, $form: what is there is whole" all_whole "$full" a 300000
        point "full disk, $form: no temporaries" no_leftovers "$full"
        there=$(find "$full" -name 'letter-*' | wc -l)
        told=$(grep -c 'letter-' "$work/err" || true)
        note "$there there, $told told"
        point "full disk, $form: some fit" test "$there" -gt 5
        point "full disk, $form: each that did not is named" test $((there + told)) -ge 40
        remove "$full/dst"
    done
    # A file larger than the disk.
    head -c 20000000 /dev/zero | tr '\0' b >large
    copy large "$full/"
    point 'a file larger than the disk: ends with an error' ended 3
    point 'a file larger than the disk: nothing is left' test -z "$(ls -A "$full")"
    # The old version stays when the new one does not fit.
    head -c 3000000 /dev/zero | tr '\0' o >"$full/large"
    copy large "$full/"
    point 'an update that does not fit: ends with an error' ended 3
    point 'an update that does not fit: the old one is as it was' \
        test "$(stat -c %s "$full/large")" -eq 3000000 -a "$(ls -A "$full")" = large
    cd "$work" && unmount_last
    # No inodes is a full disk, too.
    mount_tmpfs size=6m,nr_inodes=30
    cd "$(fresh)"
    letters src a 40 100
    copy src/ "$mounted/dst/"
    point 'no inodes: ends with errors' ended 3
    point 'no inodes: no temporaries' no_leftovers "$mounted"
    point 'no inodes: what is there is whole' all_whole "$mounted" a 100
    cd "$work" && unmount_last
else
    skip 'full disk' 'mounting is not possible here'
fi

# Files and directories that cannot be read: each is named, the rest is copied.
cd "$(fresh)"
letters src a 40 1000
mkdir src/closed && echo x >src/closed/inside
chmod 0 src/0/letter-0 src/1/letter-1 src/2/letter-2 src/closed
is_root && chown -R "$user_id:$user_id" . && chmod 755 .
user_copy src/ dst/
point 'unreadable: ends with errors' ended 3
for name in 0/letter-0 1/letter-1 2/letter-2 closed; do
    point "unreadable: '$name' is named with the reason" \
        grep -qiE "'[^']*$name/?'.*permission denied" "$work/err"
done
point 'unreadable: the rest is there' test "$(find dst -name 'letter-*' | wc -l)" -eq 37
point 'unreadable: nothing else is named' \
    test "$(grep -ci 'permission denied' "$work/err")" -eq 4
point 'unreadable: no temporaries' no_leftovers .
chmod 700 src/closed dst/closed 2>/dev/null || true

# A destination that cannot be written. That it could be made writable is for its owner to say.
mkdir locked && chmod 555 locked
is_root && chown "$user_id:$user_id" locked
user_copy src/3 locked/
point 'a destination that cannot be written: ends with an error' no ended 0
point 'a destination that cannot be written: it says why' grep -qi 'permission denied' "$work/err"
point 'a destination that cannot be written: its mode stays' test "$(stat -c %a locked)" = 555
chmod 755 locked
if is_root; then
    mkdir roots && chmod 755 roots
    user_copy src/3 roots/
    point 'a destination of another: ends with an error' no ended 0
    point 'a destination of another: it says why' grep -qi 'permission denied' "$work/err"
    point 'a destination of another: nothing is made' test -z "$(ls -A roots)"
fi

# --fail-fast: one error is enough.
mkdir many && for i in {1..300}; do echo $i >many/f$i; done && chmod 0 many/*
mkdir -p many/zzz && echo x >many/zzz/file
is_root && chown -R "$user_id:$user_id" many
user_copy --fail-fast --max-files-in-flight=1 many/ failed/
point '--fail-fast: ends with an error' ended 3
point '--fail-fast: it stopped soon' test "$(grep -ci 'permission denied' "$work/err")" -lt 50
user_copy many/ failed/
point 'without it: all are named' test "$(grep -c "'[^']*f[0-9]*'" "$work/err")" -eq 300
point 'without it: no temporaries, nor those of the run that stopped' no_leftovers .
chmod -R 700 many

# A source that is not there, and nothing to copy to.
copy nowhere dst
point 'a source that is not there: ends with an error' ended 3
point 'a source that is not there: it is named' grep -q "'nowhere'" "$work/err"
copy nowhere src/3 dst2
point 'a source that is not there beside one that is: the other is copied' test -d dst2/3
copy src/3 nowhere/below/this
point 'a destination without its folder is an error' no ended 0

# A source that changes while it is read: noticed, and told when it does not stop.
cd "$(fresh)"
mkdir src
head -c 8000000 /dev/zero | tr '\0' c >src/file
(while :; do echo more >>src/file; done) 2>/dev/null &
writer=$!
children+=("$writer")
# So slow that it cannot be read between two changes.
copy --bwlimit=4M src/ dst/
kill "$writer" && wait "$writer" 2>/dev/null || true
point 'a source that does not stop changing: ends with an error' ended 3
point 'a source that does not stop changing: it is named' grep -q "'[^']*file'" "$work/err"
point 'a source that does not stop changing: no temporaries' no_leftovers .
copy src/ dst/
point 'once it is still: ends well' ended 0
point 'once it is still: all is the same' same src dst
# Files that come and go belong to no copy; they end nothing.
letters busy a 200 100
(
    i=0
    while :; do
        i=$((i + 1))
        echo $i >"busy/1/new-$i" && rm -f "busy/1/new-$((i - 20))"
        mkdir "busy/2/dir-$i" && rmdir "busy/2/dir-$i"
    done
) 2>/dev/null &
writer=$!
children+=("$writer")
for i in {1..5}; do
    copy busy/ busy-copy-$i/
    point "entries that come and go, $i: it ends" test "$status" -eq 0 -o "$status" -eq 3
    point "entries that come and go, $i: what stayed is whole" \
        test "$(find busy-copy-$i -name 'letter-*' -size +0 | wc -l)" -eq 200
done
kill "$writer" && wait "$writer" 2>/dev/null || true

# Sudden death, at any moment, of a copy to a new directory and of an update: nothing half is under a
# final name, and the next run ends the same as if nothing had happened.
base=$(fresh)
cd "$base"
letters new n 1500 9000
letters old o 1500 9000
head -c 30000000 /dev/zero | tr '\0' n >new/large && cp -p new/large new/large-too
ln new/0/letter-0 new/1/linked && ln -s letter-1 new/1/symlink
"$TREEGEN" --seed "$seed" --only modes,links,types --readable new/odd 2>/dev/null
probed -- -H new/ timed/
took_ms=$(sed 's/.* ms //' "$work/how")
note "a whole run takes $took_ms ms"
remove timed

# Kills a run at a random moment. A run that was faster shows how soon the next has to be killed.
cut_off() { # arguments of weir copy
    at_ms=$((RANDOM * took_ms / 32768))
    probed --signal KILL@$at_ms -- "$@"
    [[ $how != 'signal 9' ]] || return 0
    local ms
    ms=$(sed 's/.* ms //' "$work/how")
    [[ $ms -ge $took_ms ]] || took_ms=$((ms > 20 ? ms : 20))
    return 1
}

killed=0 leftovers=0
for ((i = 1; i <= 5 * deaths && killed < deaths; i++)); do
    mkdir place
    letter=n
    if ((i % 2)); then
        cp -a old place/dst
        letter=on
    fi
    cut_off -H new/ place/dst/ && killed=$((killed + 1))
    no_leftovers place >/dev/null || leftovers=$((leftovers + 1))
    all_whole place $letter 9000 >"$work/half" 2>&1 || break
    # Something of the source is gone by the time of the second run.
    cp -al new changed && rm -r changed/3 changed/large-too
    copy -H --delete changed/ place/dst/
    if ! { ended 0 && same changed place/dst --no nlink && no_leftovers place &&
        [[ $(ls -A place) == dst ]]; } >"$work/second" 2>&1; then
        break
    fi
    remove place changed
done
note "seed $seed: $killed died in $((i - 1)) runs, $leftovers left something behind"
if [[ ! -e place ]]; then
    pass 'sudden death: no half file, and the next run completes it'
else
    fail 'sudden death: no half file, and the next run completes it' \
        < <(echo "round $i, killed after $at_ms ms" && cat "$work/half" "$work/second" 2>/dev/null)
fi
point 'sudden death: some did die' test "$killed" -gt 0
remove place changed

# Without --delete too: a new tree that was cut off has nothing that the source has no more.
for ((i = 1; i <= 20; i++)); do
    remove place && mkdir place
    cut_off -H new/ place/dst/ && [[ -n $(ls -A place) && ! -e place/dst ]] && break
done
if [[ -n $(ls -A place) && ! -e place/dst ]]; then
    note "left: $(ls -A place)"
    cp -al new changed && rm -r changed/3 changed/4 changed/large
    copy -H changed/ place/dst/
    point 'a tree that was cut off is completed: ends well' ended 0
    point 'a tree that was cut off is completed: as the source is now' \
        same changed place/dst --no nlink
    point 'a tree that was cut off is completed: nothing else is left' \
        test "$(ls -A place)" = dst
else
    skip 'a tree that was cut off is completed' 'every run was too fast to be cut off'
fi
remove place changed

# A run that is alive keeps its temporaries while another one works beside it.
mkdir place
"$PROBE" --limit-s "$limit_s" -o "$work/slow-how" "$WEIR" copy --bwlimit=20M new/ place/dst/ \
    >"$work/slow" 2>&1 </dev/null &
slow=$!
children+=("$slow")
for _ in {1..500}; do
    [[ -z $(find place -name '.weir-*' -print -quit 2>/dev/null) ]] || break
    sleep 0.01
done
copy new/0 place/other/
point 'beside a run that is alive: ends well' ended 0
copy new/ place/dst/
point 'the same destination at the same time: it ends' test "$status" -eq 0 -o "$status" -eq 3
wait "$slow" || true
point 'the run that was there first: it ends' grep -qE '^exit (0|3) ' "$work/slow-how"
copy -H new/ place/dst/
point 'after both: ends well' ended 0
point 'after both: all is the same' same new place/dst
point 'after both: no temporaries' no_leftovers place
remove place

# What a dead run has left beside a directory that was made by other means is found as well.
for ((i = 1; i <= 20; i++)); do
    remove place && mkdir place
    cut_off -H new/ place/dst/ && [[ -n $(ls -A place) && ! -e place/dst ]] && break
done
if [[ -n $(ls -A place) && ! -e place/dst ]]; then
    cp -a new place/dst
    copy -H new/ place/dst/
    point 'leftovers beside a directory that exists: ends well' ended 0
    point 'leftovers beside a directory that exists: they are removed' no_leftovers place
    point 'leftovers beside a directory that exists: all is the same' same new place/dst
else
    skip 'leftovers beside a directory that exists' 'every run was too fast to be cut off'
fi
remove place

# Interrupted: what is in flight is finished or removed, and the end is by the signal.
mkdir place
probed --when "$base/place" --signal INT@400 -- --bwlimit=4M new/ place/dst/
point 'SIGINT: ends by it' went 'signal 2'
point 'SIGINT: what is there is whole' all_whole place n 9000
point 'SIGINT: a summary is printed' grep -qi 'interrupted' "$work/err"
remove place && mkdir -p place/dst
probed --signal INT@400 -- --bwlimit=4M new/ place/dst/
point 'SIGINT, into a directory that exists: ends by it' went 'signal 2'
point 'SIGINT, into a directory that exists: what is there is whole' all_whole place n 9000
point 'SIGINT, into a directory that exists: no temporary files' \
    test -z "$(find place -name '.weir-tmp.*')"
copy -H new/ place/dst/
point 'SIGINT: the next run ends well' ended 0
point 'SIGINT: and completes it' same new place/dst
point 'SIGINT: and leaves nothing else' no_leftovers place
remove place && mkdir place
probed --signal INT@400 --signal INT@450 -- --bwlimit=4M new/ place/dst/
point 'SIGINT twice: ends by it' went 'signal 2'
point 'SIGINT twice: at once' test "$(sed 's/.* ms //' "$work/how")" -lt 5000
point 'SIGINT twice: what is there is whole' all_whole place n 9000
copy -H new/ place/dst/
point 'SIGINT twice: the next run completes it' same new place/dst
point 'SIGINT twice: and leaves nothing else' no_leftovers place
remove place && mkdir place
probed --signal TERM@400 -- --bwlimit=4M new/ place/dst/
point 'SIGTERM: ends by it' went 'signal 15'
point 'SIGTERM: what is there is whole' all_whole place n 9000
remove place

# --partial keeps the beginning of a large file; without it nothing stays.
mkdir place from && head -c 80000000 /dev/urandom >from/large
probed --signal INT@700 -- --bwlimit=20M from/large place/
point 'a large file, interrupted: nothing stays' test -z "$(ls -A place)"
probed --signal INT@700 -- --partial --bwlimit=20M from/large place/
point 'a large file with --partial, interrupted: not under its name' test ! -e place/large
copy --partial from/large place/
point 'a large file with --partial: the next run ends well' ended 0
point 'a large file with --partial: and completes it' cmp from/large place/large
point 'a large file with --partial: and leaves nothing else' test "$(ls -A place)" = large
# A beginning that is not that of the source any more is not taken.
remove place && mkdir place
probed --signal INT@700 -- --partial --bwlimit=20M from/large place/
head -c 80000000 /dev/urandom >from/large
copy --partial from/large place/
point 'a large file with --partial that has changed: is copied anew' cmp from/large place/large

finish
