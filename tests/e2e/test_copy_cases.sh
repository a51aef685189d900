#!/bin/bash
# Small cases of weir copy that went wrong once: what meets what at the destination, which names are
# left alone, what is said, and what stays after a run that died. Where rsync has the same option it
# is the judge: both start from the same state, and what they leave must be the same.
#
# See copy_lib.sh for the environment. Prints TAP.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync setpriv cp setfacl
umask 022
limit_s=30

# Each case is in a folder of its own, with the source s and the destination d.
begin() {
    cd "$(fresh)"
    mkdir s d
    chmod 777 .
}

fill() { # file, size, number of a letter
    local letters=ABCDEFGHIJKLMNOPQRSTUVWXYZ
    head -c "$2" /dev/zero | tr '\0' "${letters:$3:1}" >"$1"
}

holds() { # file, content
    [[ -f $1 && $(<"$1") == "$2" ]] && return
    echo "'$1' is not a file that holds '$2':"
    find "$1" -ls && head -c 1000 "$1"
    return 1
}

is() { # what was got, what was wanted
    [[ $1 == "$2" ]] && return
    printf 'got:    %s\nwanted: %s\n' "$1" "$2"
    return 1
}

names() { # folder: all names in it, in one line
    (cd "$1" && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | paste -sd ' ')
}

modes() { # folder
    (cd "$1" && find . -mindepth 1 -printf '%P %m\n' | LC_ALL=C sort)
}

said() { # text that is in standard error
    grep -qF -- "$1" "$work/err" && return
    echo "'$1' was not said:" && cat "$work/err"
    return 1
}

# rsync compares whole seconds, so that directories of now would be the same to it.
date_back() { # folder
    find "$1" -depth -type d -exec touch -d 2020-05-05 {} +
}

# The same options for both from the same state; also whether they end well. Operands are s/ and d/.
alike() { # name, options of treecmp or '', options of copying
    local name=$1 compare=() theirs=0
    read -ra compare <<<"$2"
    shift 2
    date_back s
    rm -rf r && cp -a d r
    rsync -ai "$@" s/ r/ >"$work/theirs" 2>&1 || theirs=$?
    copy -i "$@" s/ d/
    if [[ $theirs -eq 0 ]]; then
        point "$name: ends well" ended 0
    else
        point "$name: an error, as with rsync ($theirs)" ended 3
    fi
    point "$name: the same as by rsync" same r d --no holes "${compare[@]}"
}

# The name of a folder that is being built; see name.c.
fnv() { # text
    local LC_ALL=C hash=$((0xcbf29ce484222325)) i code
    for ((i = 0; i < ${#1}; i++)); do
        printf -v code %d "'${1:i:1}"
        hash=$(((hash ^ code) * 0x100000001b3))
    done
    echo "$hash"
}
boot_text=$(cat /proc/sys/kernel/random/boot_id && echo x)
boot=$(($(fnv "${boot_text%x}") & 0xffffffff))
folder_name() { # final name
    printf '.weir-dir.%016x.%08x' "$(fnv "$1")" "$boot"
}

## hard links: further names obey the same rules as the first

for kept in a b; do
    for option in -u --ignore-existing --existing; do
        begin
        put s/a 'of the source' && ln s/a s/b
        put d/$kept kept 2021-01-01
        copy -H "$option" s/ d/
        point "-H $option, only $kept is there: ends well" ended 0
        if [[ $option == --existing ]]; then
            point "-H $option, only $kept is there: no other name is made" is "$(names d)" $kept
        else
            point "-H $option, only $kept is there: it is left alone" holds d/$kept kept
        fi
    done
    # rsync takes another first name, so its links are not compared; what it keeps is.
    begin
    put s/a 'of the source' && ln s/a s/b
    put d/a 'here a' 2021-01-01 && put d/b 'here b' 2021-01-01
    rm d/$kept
    alike "-H --existing, without $kept" '--no dir-mtime' -H --existing
done
begin
put s/a 'of the source' && ln s/a s/b
put d/a 'here a' 2021-01-01 && put d/b 'here b' 2021-01-01
alike '-H -u, both are newer' '' -H -u
alike '-H --ignore-existing, both are there' '' -H --ignore-existing

# All names are in what is being built beside the thing that it replaces.
for type in file symlink fifo; do
    begin
    mkdir -p s/dir/sub && put s/dir/x one && ln s/dir/x s/dir/y && ln s/dir/x s/dir/sub/z
    case $type in
    file) put d/dir 'in the way' ;;
    symlink) ln -s nowhere d/dir ;;
    fifo) mkfifo d/dir ;;
    esac
    alike "-H in a directory that replaces a $type" '' -H
    point "-H in a directory that replaces a $type: linked" \
        test d/dir/x -ef d/dir/y -a d/dir/x -ef d/dir/sub/z
done

## the source's own inode

for options in '' -H --inplace '-H --inplace' '--inplace --keep-links' -I; do
    begin
    put s/file one && ln s/file d/file && put s/other two
    before=$(stat -c '%i %h %s %Y %Z' s/file)
    # shellcheck disable=SC2086 # words
    copy -v $options s/ d/
    point "a name of the source's inode ${options:+($options)}: ends well" ended 0
    point "a name of the source's inode ${options:+($options)}: nothing changed" \
        is "$(stat -c '%i %h %s %Y %Z' d/file) $(<d/file)" "$before one"
    point "a name of the source's inode ${options:+($options)}: the others are copied" \
        holds d/other two
done
begin
put s/file one
for options in '' --inplace -I; do
    # shellcheck disable=SC2086 # words
    copy $options s/file s/file
    point "a file onto itself $options: an error" test "$status" -eq 2 -o "$status" -eq 3
    point "a file onto itself $options: it is said" said "s/file"
    point "a file onto itself $options: it stays" holds s/file one
done

## what may not be read

begin
mkdir s/shut && put s/shut/in x && put s/open y && chmod 0 s/shut
! is_root || chown -R "$user_id:$user_id" s
user_copy s/ new/
point 'a directory that may not be read: an error' ended 3
point 'a directory that may not be read: one, with its name' is \
    "$(grep '^weir copy: cannot' "$work/err" | sed "s/.*'s/'s/")" "'s/shut': permission denied"
point 'a directory that may not be read: it is made' test -d new/shut
point 'a directory that may not be read: the rest is there' holds new/open y
as_user rsync -a s/ r/ 2>/dev/null || true
chmod u+rx r/shut new/shut
point 'a directory that may not be read: the same names as by rsync' is "$(names new)" "$(names r)"

## --no-perms

begin
mkdir -p s/dir/below && put s/dir/file x && chmod 755 s/dir && chmod 700 s/dir/below
chmod 640 s/dir/file
ours=(--no-perms --no-owner --no-group --no-D)
if setfacl -d -m u::rwx,g::rwx,o:rwx,u:1000:rwx d 2>/dev/null; then
    (umask 077 && cp -a d r && rsync -rlt s/ r/)
    umask 077
    copy "${ours[@]}" s/ d/
    umask 022
    point '--no-perms with a default ACL: ends well' ended 0
    point '--no-perms with a default ACL: the modes of rsync' is "$(modes d)" "$(modes r)"
    point '--no-perms with a default ACL: it is inherited as with rsync' is \
        "$(cd d && getfacl -Rn . 2>/dev/null)" "$(cd r && getfacl -Rn . 2>/dev/null)"
    point '--no-perms with a default ACL: at all' \
        grep -q '^default:user:1000:rwx' <(getfacl -n d/dir/below 2>/dev/null)
else
    skip '--no-perms with a default ACL' 'there are no ACLs here'
fi
rm -rf r d && mkdir d && chmod 2770 d && cp -a d r
rsync -rlt s/ r/
copy "${ours[@]}" s/ d/
point '--no-perms below set-group-ID: the modes of rsync' is "$(modes d)" "$(modes r)"
point '--no-perms below set-group-ID: it is handed down' test -g d/dir -a -g d/dir/below

if is_root; then
    begin
    for mode in 644 755 4755 2755 600 666; do
        put s/new-$mode x && chown 5:5 s/new-$mode && chmod $mode s/new-$mode
        put s/old-$mode longer && chown 5:5 s/old-$mode && chmod $mode s/old-$mode
        put d/old-$mode y && chmod 640 d/old-$mode
    done
    mkdir s/dir && chown 5:5 s/dir && chmod 2775 s/dir
    alike '--no-perms of a foreign owner' '' --no-perms
    point '--no-perms of a foreign owner: the modes of rsync' is "$(modes d)" "$(modes r)"
else
    skip '--no-perms of a foreign owner' 'needs root'
fi

## --files-from

begin
mkdir -p s/dir/sub s/other
put s/dir/one 1 && put s/dir/sub/two 2 && put s/top 3 && put s/other/x 4
try_list() { # name, text, options
    printf '%b' "$2" >list
    rm -rf d && mkdir d
    alike "--files-from, $1" '--skip-root' --files-from=list "${@:3}"
}
try_list 'dir/' 'dir/\n'
point '--files-from, dir/: the direct contents' is "$(names d)" 'dir dir/one dir/sub'
try_list 'dir' 'dir\n'
point '--files-from, dir: itself alone' is "$(names d)" 'dir'
try_list '.' '.\n'
point '--files-from, .: the direct contents' is "$(names d)" 'dir other top'
try_list 'CRLF' 'dir/one\r\ntop\r\n'
point '--files-from, CRLF: both' is "$(names d)" 'dir dir/one top'
try_list '-r' 'dir\n' -r
point '--files-from, -r: all of it' is "$(names d)" 'dir dir/one dir/sub dir/sub/two'
try_list '-r dir/' 'dir/\ntop\n' -r
rm -rf d && mkdir d
printf 'dir/./one\ntop\n' >list
copy --files-from=list s/ d/
point '--files-from, a/./b: refused' ended 3
point '--files-from, a/./b: it is named' said "'dir/./one'"
point '--files-from, a/./b: the rest is copied' is "$(names d)" 'top'

chmod 711 s
! is_root || chown 5:6 s
for text in 'dir/one\n' 'dir/one\n.\n' '.\ndir/one\n'; do
    printf '%b' "$text" >list
    rm -rf d r && mkdir d && chmod 750 d && cp -a d r
    rsync -a --files-from=list s/ r/
    copy --files-from=list s/ d/
    point "--files-from, the root with '${text//\\n/ }': as with rsync" is \
        "$(stat -c '%a %u %g' d)" "$(stat -c '%a %u %g' r)"
done
printf 'dir/one\n' >list
rm -rf d && mkdir d && chmod 750 d
copy --files-from=list s/ d/
point '--files-from: the root is left alone' is "$(stat -c '%a %u' d)" "750 $EUID"

## rules for operands

begin
put s/a.o x && put s/a.c y && mkdir s/dir.o s/dir && put s/dir.o/in z && put s/dir/b.o z
date_back s
cp -a d r
(cd s && rsync -a --exclude='*.o' a.o a.c dir.o dir ../r/)
(cd s && copy --exclude='*.o' a.o a.c dir.o dir ../d/ && echo "$status" >../status)
point '--exclude of operands: ends well' is "$(<status)" 0
point '--exclude of operands: the same as by rsync' same r d --skip-root
point '--exclude of operands: they are left out' is "$(names d)" 'a.c dir'

## what stands in the way

begin
put s/x one && mkdir -p d/x/in && put s/y two
copy -n s/ d/
point '-n, a directory in the way: an error' ended 3
point '-n, a directory in the way: it is named' said "'d/x'"
point '-n, a directory in the way: the rest is shown' grep -q '^>f+++++++++ y$' "$work/out"
point '-n, a directory in the way: nothing is changed' is "$(names d)" 'x x/in'
cp "$work/err" "$work/dry"
alike 'a directory in the way' ''
point 'a directory in the way: -n has said the same' \
    diff <(grep cannot "$work/dry") <(grep cannot "$work/err")
rm -rf d/x && mkdir d/x
alike 'an empty directory in the way' ''

begin
mkdir -p s/x s/new && put s/x/in one && put s/x/more two && put s/new/in x && put s/brand x
put d/x 'a file'
alike '--existing, a directory for a file' '' --existing
point '--existing, a directory for a file: it is one' test -d d/x
point '--existing, a directory for a file: nothing else new' \
    is "$(names d | tr ' ' '\n' | grep -v ^x)" ''

begin
mkdir s/x && put s/x/new one && put d/x precious && put s/y two
copy --ignore-existing s/ d/
point '--ignore-existing, a file where the source has a directory: ends well' ended 0
point '--ignore-existing, a file where the source has a directory: it stays' holds d/x precious
point '--ignore-existing, a file where the source has a directory: the rest' holds d/y two
copy -n --ignore-existing s/ d/
point '--ignore-existing -n: nothing to do' is "$(grep -v '^\.d' "$work/out")" ''

## --delete

begin
put s/x new && mkdir -p d/x/sub && put d/x/keep.o o && put d/x/sub/gone c
alike '--delete, a file for a directory with what is excluded' '--no dir-mtime' \
    --delete --exclude='*.o'
point '--delete, a file for a directory with what is excluded: kept' holds d/x/keep.o o
begin
put s/x new && mkdir d/x && put d/x/1 1 && put d/x/2 2 && put d/x/3 3
alike '--delete --max-delete=0, a file for a directory' '--no dir-mtime' --delete --max-delete=0
point '--delete --max-delete=0, a file for a directory: all is there' \
    is "$(names d)" 'x x/1 x/2 x/3'
point '--delete --max-delete=0, a file for a directory: nothing is said to go' \
    no grep -q '^\*deleting' "$work/out"
copy -i --delete --max-delete=2 s/ d/
point '--delete --max-delete=2, a file for a directory: an error' ended 3
point '--delete --max-delete=2, a file for a directory: two went' is \
    "$(find d/x -type f | wc -l) $(grep -c '^\*deleting' "$work/out")" '1 2'
alike '--delete, a file for a directory' '' --delete
point '--delete, a file for a directory: it is one' holds d/x new

# What is said is gone, what is not said is there; a directory goes after what was in it.
true_lines() { # names before, folder: deletions that were said
    local line gone=() said=()
    mapfile -t gone < <(comm -23 <(tr ' ' '\n' <<<"$1") <(names "$2" | tr ' ' '\n'))
    mapfile -t said < <(sed -n 's/^\*deleting   //p' "$work/out")
    is "$(printf '%s\n' "${said[@]%/}" | LC_ALL=C sort)" "$(printf '%s\n' "${gone[@]}")" || return
    for line in "${said[@]}"; do
        [[ $line != */ ]] || is "$(printf '%s\n' "${said[@]}" | sed "1,/^${line//\//\\/}\$/d" |
            grep "^$line")" '' || return
    done
}
begin
mkdir -p d/gone/deep/er d/all/one/two
touch d/gone/deep/keep.o d/gone/deep/er/x d/gone/b d/all/one/two/y d/all/z d/single
before=$(names d)
for options in --delete --delete-before; do
    rm -rf e && cp -a d e
    copy -i "$options" --exclude='*.o' s/ e/
    point "$options: ends well" ended 0
    point "$options: what is said is gone, directories last" true_lines "$before" e
    point "$options: what is excluded stays" is "$(names e)" 'gone gone/deep gone/deep/keep.o'
done
cp "$work/out" "$work/done"
copy -n --delete --exclude='*.o' s/ d/
point '--delete -n: the same is said' diff <(grep '^\*' "$work/done" | LC_ALL=C sort) \
    <(grep '^\*' "$work/out" | LC_ALL=C sort)
alike '--delete with what is excluded' '--no dir-mtime' --delete --exclude='*.o'
point '--delete with what is excluded: rsync says the same' diff \
    <(grep '^\*' "$work/theirs" | LC_ALL=C sort) <(grep '^\*' "$work/out" | LC_ALL=C sort)

begin
mkdir s/dir d/dir d/mount d/dir/mount && put s/file x && put d/gone y
if mount_tmpfs size=1m "$PWD/d/mount" && mount_tmpfs size=1m "$PWD/d/dir/mount"; then
    put d/mount/file kept && put d/dir/mount/file kept
    copy -x --delete s/ d/
    point '-x --delete, a mount point of the destination: ends well' ended 0
    point '-x --delete, a mount point of the destination: kept' holds d/mount/file kept
    point '-x --delete, a mount point further down: kept' holds d/dir/mount/file kept
    point '-x --delete, a mount point of the destination: the rest goes' \
        test ! -e d/gone -a -f d/file
    touch d/gone
    theirs=0
    rsync -ax --delete s/ d/ >/dev/null 2>&1 || theirs=$?
    point '-x --delete, a mount point of the destination: as with rsync' is \
        "$theirs $(names d)" '0 dir dir/mount dir/mount/file file mount mount/file'
    unmount_last && unmount_last
else
    skip '-x --delete, a mount point of the destination' 'mounting is not possible here'
fi

## what is said of a change

items() {
    grep -v '^.d' "$1" | LC_ALL=C sort
}
begin
ln -s one s/link && ln -s two d/link
special=(s/link d/link)
if is_root && mknod s/device c 1 3 2>/dev/null && mknod d/device c 1 5; then
    special+=(s/device d/device)
fi
touch -h -d 2020-01-01 "${special[@]}"
for options in '' --no-t; do
    # shellcheck disable=SC2086 # words
    rsync -ain $options s/ d/ >"$work/theirs"
    # shellcheck disable=SC2086 # words
    copy -in $options s/ d/
    point "-i $options of another target: as rsync says it" diff <(items "$work/theirs") \
        <(items "$work/out")
    mark=.
    [[ -z $options ]] || mark=T
    point "-i $options of another symlink" grep -qF "cLc.$mark...... link -> one" "$work/out"
    if [[ ${#special[@]} -gt 2 ]]; then
        point "-i $options of another device" grep -qF "cDc.$mark...... device" "$work/out"
    else
        skip "-i $options of another device" 'devices cannot be made here'
    fi
done

## command lines

begin
put s/file x
copy -avh s/ d/
point '-avh: refused' ended 2
copy s/ host:d
point 'host:d: refused' ended 2
point 'host:d: and not made' is "$(names .)" 'd s s/file'
copy --no-r s d/
point '--no-r with a directory: left out, with a note' is "$status $(names d)" '0 '
point '--no-r with a directory: it is said' said "'s'"
rsync -a --existing s r >/dev/null
rsync -a --existing s/ r2 >/dev/null
copy --existing s new
point '--existing into what is not there: as with rsync' is \
    "$(test -d new && names new || echo none)" "$(test -d r && names r || echo none)"
copy --existing s/ new2
point '--existing of contents into what is not there: as with rsync' is \
    "$(test -d new2 && names new2 || echo none)" "$(test -d r2 && names r2 || echo none)"

## runs that died, and runs at the same time

# Kills it as soon as the condition holds; fails when it ended before.
killed_when() { # condition, arguments of weir copy
    local condition=$1 child i
    shift
    "$WEIR" copy "$@" >"$work/out" 2>"$work/err" </dev/null &
    child=$!
    children+=("$child")
    for ((i = 0; i < 1000; i++)); do
        "$condition" && break
        sleep 0.01
    done
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null && return 1
    "$condition"
}

begin
mkdir s/sub s/going
for ((i = 0; i < 24; i++)); do
    fill s/sub/$i 131072 $i
    cp s/sub/$i s/going/$i
done
rmdir d
has_some() {
    local kept=(.weir-dir.*/sub/1?) going=(.weir-dir.*/going/1?)
    [[ -e ${kept[2]-} && -e ${going[2]-} ]]
}
if killed_when has_some --threads=4 --bwlimit=3M s/ d/; then
    point 'a new tree that was cut off: it is not under its name' test ! -e d
    point 'a new tree that was cut off: its name is known' \
        is "$(echo .weir-dir.*)" "$(folder_name d)"
    for name in .weir-dir.*/sub/1?; do
        rm -f "s/sub/${name##*/}"
    done
    rm -r s/going && mkdir s/new && put s/new/file x
    copy -v s/ d/
    point 'a new tree that was cut off and the source lost some: ends well' ended 0
    point 'a new tree that was cut off and the source lost some: as the source' same s d
    point 'a new tree that was cut off and the source lost some: nothing else' no_leftovers .
else
    skip 'a new tree that was cut off' 'the run was too fast to be cut off'
fi
# The same without chance: what a dead run may have left, by its name.
begin
rmdir d
mkdir -p s/sub && put s/sub/file new && mkdir s/as-file
left=$(folder_name d)
mkdir -p "$left/sub" "$left/lost/deep" && put "$left/sub/file" old 2019-01-01
put "$left/as-file" x && put "$left/lost/deep/x" x && put "$left/sub/lost" x
ln -s x "$left/lost-link"
touch "$left/sub/.weir-tmp.0123456789abcdef.0123456789abcdef"
copy s/ d/
point 'what a dead run has left: ends well' ended 0
point 'what a dead run has left: as the source' same s d
point 'what a dead run has left: nothing else' no_leftovers .
rm -rf d && put s/was-dir x && mkdir -p "$left/was-dir/deep"
copy s/ d/
point 'what a dead run has left, now a file in the place of a directory: ends well' ended 0
point 'what a dead run has left, now a file in the place of a directory: as the source' same s d
rm -rf d && cp -a s d && mkdir -p "$left/sub" && put "$left/sub/x" x
copy s/ d/
point 'what a dead run has left beside what was made otherwise: ends well' ended 0
point 'what a dead run has left beside what was made otherwise: it goes' no_leftovers .
point 'what a dead run has left beside what was made otherwise: as the source' same s d

# Names of the source that look like ours are copied, also the very name that would be used.
begin
mkdir -p s/sub/deep s/.weir-dir.0123456789abcdef.01234567
mkdir "s/$(folder_name sub)" "s/sub/$(folder_name deep)"
put s/.weir-tmp.0123456789abcdef.0123456789abcdef one
put s/.weir-part.0123456789abcdef two
put "s/$(folder_name sub)/inside" three && put s/sub/deep/file four
put "s/sub/$(folder_name deep)/inside" five
alike 'names like those of temporaries' ''
point 'names like those of temporaries: as the source' same s d
copy s/ new/
point 'names like those of temporaries, new: ends well' ended 0
point 'names like those of temporaries, new: as the source' same s new
rm -rf d/sub
alike 'names like those of temporaries, a part is missing' ''
alike 'names like those of temporaries, --delete' '' --delete

# Two at once: the second one says so, and the first one is not disturbed.
begin
rmdir d
for ((i = 0; i < 16; i++)); do
    fill s/$i 262144 $i
done
"$WEIR" copy --bwlimit=3M s/ d/ >"$work/first" 2>&1 </dev/null &
first=$!
children+=("$first")
for ((i = 0; i < 1000; i++)); do
    compgen -G '.weir-dir.*/*' >/dev/null && break
    sleep 0.01
done
copy s/ d/
if [[ ! -e d ]]; then
    point 'two runs at once: the second one ends with an error' ended 3
    point 'two runs at once: it says why' said 'another copy is building it'
    point 'two runs at once: the first one goes on' compgen -G '.weir-dir.*/*'
else
    skip 'two runs at once' 'the first one was too fast'
fi
first_status=0
wait "$first" || first_status=$?
point 'two runs at once: the first one ends well' is "$first_status $(<"$work/first")" '0 '
point 'two runs at once: as the source' same s d
point 'two runs at once: nothing else is left' no_leftovers .
well_or_why() { # status and file of what was said, of each run
    local bad=0
    while [[ $# -gt 0 ]]; do
        if [[ $1 -ne 0 ]]; then
            bad=$((bad + 1))
            [[ $1 -eq 3 ]] && grep -qE "another copy is building it|'d': file exists" "$2" || bad=9
        fi
        [[ $bad -lt 2 ]] || { echo "status $1:" && cat "$2"; }
        shift 2
    done
    [[ $bad -lt 2 ]]
}
for ((i = 0; i < 5; i++)); do
    rm -rf d
    "$WEIR" copy s/ d/ >"$work/first" 2>&1 </dev/null &
    first=$!
    children+=("$first")
    copy s/ d/
    first_status=0
    wait "$first" || first_status=$?
    # Whoever looked before the other one was done, and began after, finds the name taken at the
    # end; what it built is left to the next run.
    point "two runs at once, race $i: one ends well, the other one too or says why" \
        well_or_why "$status" "$work/err" "$first_status" "$work/first"
    point "two runs at once, race $i: as the source" same s d
    copy s/ d/
    point "two runs at once, race $i: the next one ends well" ended 0
    point "two runs at once, race $i: and leaves nothing else" no_leftovers .
done

# The same where it is decided: the first one has made the folder and has no lock yet, when the
# second one comes, finds it, and takes the lock.
held() { # where flock waits, milliseconds, then arguments of weir copy
    strace -f -qq -o /dev/null -e trace=flock -e "inject=flock:$1=$2ms:when=1" "$WEIR" copy "${@:3}"
}
lock_race() { # name, then how the second one runs
    rm -rf d
    held delay_enter 600 s/ d/ >"$work/first" 2>&1 </dev/null &
    first=$!
    children+=("$first")
    for ((i = 0; i < 500; i++)); do
        compgen -G '.weir-dir.*' >/dev/null && break
        sleep 0.01
    done
    status=0 first_status=0
    "${@:2}" s/ d/ >"$work/out" 2>"$work/err" </dev/null || status=$?
    wait "$first" || first_status=$?
    point "two runs at once, $1: one ends well, the other one too or says why" \
        well_or_why "$status" "$work/err" "$first_status" "$work/first"
    point "two runs at once, $1: as the source" same s d
    point "two runs at once, $1: nothing else is left" no_leftovers .
}
if ! is_sanitized && strace -qq -o /dev/null -e inject=flock:delay_enter=1ms true 2>/dev/null; then
    lock_race 'the second one is done before the first one locks' "$WEIR" copy
    lock_race 'the second one locks what the first one has made' held delay_exit 1200
else
    skip 'two runs at once, before the lock' 'strace cannot be used here'
fi

# --partial after SIGKILL.
begin
head -c 64M /dev/urandom >s/large
has_part() {
    local part=(d/.weir-part.*)
    [[ -e ${part[0]} && $(stat -c %b "${part[0]}") -gt 32768 ]]
}
if killed_when has_part --partial --threads=1 --bwlimit=32M s/ d/; then
    point '--partial and SIGKILL: not under its name' test ! -e d/large
    copy --partial --json s/ d/
    point '--partial and SIGKILL: ends well' ended 0
    point '--partial and SIGKILL: identical' cmp s/large d/large
    point '--partial and SIGKILL: as the source' same s d
    point '--partial and SIGKILL: nothing else is left' is "$(names d)" large
    moved=$(tail -n 1 "$work/out" | sed -nE 's/.*"bytes_written": ?([0-9]+).*/\1/p')
    point '--partial and SIGKILL: what was there is not moved again' \
        test "${moved:-99999999}" -lt 58720256
else
    skip '--partial and SIGKILL' 'the run was too fast to be cut off'
fi
rm -f s/large d/*

## files of odd sizes

begin
mount_tmpfs size=16m "$PWD/s" || true
mounted=$PWD/s
if truncate -s 4E "$mounted/huge" 2>/dev/null; then
    printf x | dd of="$mounted/huge" bs=1 seek=$((1 << 61)) conv=notrunc status=none
    printf y | dd of="$mounted/huge" bs=1 seek=$(((1 << 62) - 1)) conv=notrunc status=none
    touch -d 2020-01-01 "$mounted/huge"
    limit_s=10
    copy "$mounted/huge" "$mounted/copied"
    point 'a hole of exbibytes: ends well, in time' ended 0
    point 'a hole of exbibytes: size and time' is "$(stat -c '%s %Y' "$mounted/copied")" \
        "$(stat -c '%s %Y' "$mounted/huge")"
    point 'a hole of exbibytes: the blocks' is "$(stat -c %b "$mounted/copied")" \
        "$(stat -c %b "$mounted/huge")"
    point 'a hole of exbibytes: the data' is \
        "$(for at in $((1 << 61)) $(((1 << 62) - 1)); do
            dd if="$mounted/copied" bs=1 count=1 skip="$at" status=none
        done)" xy
    limit_s=30
else
    skip 'a hole of exbibytes' 'the file system has no files of that size'
fi
! mountpoint -q s || unmount_last

begin
kernel=()
for file in /proc/version /proc/filesystems /proc/sys/kernel/ostype /proc/sys/kernel/hostname \
    /sys/kernel/mm/transparent_hugepage/enabled /sys/devices/system/cpu/online /proc/config.gz \
    /proc/kallsyms; do
    [[ ! -r $file ]] || kernel+=("$file")
done
copy "${kernel[@]}" d/
point 'files of the kernel: ends well' ended 0
for file in "${kernel[@]}"; do
    point "files of the kernel: $file" cmp "$file" "d/${file##*/}"
done
copy /proc/sys/kernel/ostype d/one
point 'a file of the kernel, by name' cmp /proc/sys/kernel/ostype d/one

## rules that must not be applied to what a dead run has left

for option in -u --ignore-existing --size-only --modify-window=1d --no-times; do
    begin
    rmdir d
    head -c 40000000 /dev/urandom >s/big
    touch -d 2020-01-01 s/big
    "$WEIR" copy --threads=8 --bwlimit=20M "$option" s/ d >/dev/null 2>&1 &
    victim=$!
    sleep 0.6
    kill -9 "$victim" 2>/dev/null || true
    wait "$victim" 2>/dev/null || true
    copy "$option" s/ d
    point "$option after a sudden death: ends well" ended 0
    point "$option after a sudden death: the whole file" cmp s/big d/big
done

## modes that are only borrowed

begin
mkdir -p s/d d/d && put s/d/f 1 && chmod 1000 d/d
! is_root || chown -R "$user_id:$user_id" s d
user_copy -n s/ d/
point 'a dry run opens nothing up' is "$(stat -c %a d/d)" 1000
user_copy --no-perms s/ d/
point '--no-perms gives a borrowed mode back' is "$(stat -c %a d/d)" 1000

## where the destination may be

begin
mkdir -p s/mnt s/etc
if mount_tmpfs size=1m "$PWD/s/mnt"; then
    mkdir s/mnt/backup
    copy -x s/ s/mnt/backup/
    point '-x into a mount below the source: ends well' ended 0
    point '-x into a mount below the source: all but the mount' is "$(names s/mnt/backup)" 'etc mnt'
    copy s/ s/mnt/backup/
    point 'without -x it is refused' ended 2
    unmount_last
else
    skip '-x into a mount below the source' 'nothing can be mounted'
fi

begin
ln -s nowhere l && put s/f 1
copy s/ l
point 'a link that leads nowhere: refused at once' ended 2
point 'a link that leads nowhere: nothing is made' no_leftovers .

begin
put f 1 && chmod 1733 d && chmod 644 f
user_copy f d/x
point 'a folder that may not be listed: ends well' ended 0
point 'a folder that may not be listed: the file' holds d/x 1

begin
copy --files-from=missing s new
point 'a list that is missing: an error' ended 3
point 'a list that is missing: nothing is made' no test -e new

## what may be deleted

begin
mkdir d/old
echo '*.keep' >s/.gitignore
put d/top.keep 1 && put d/old/x.keep 1 && put d/old/y 1
copy --delete --gitignore s/ d/
point '--delete --gitignore keeps what is ignored' is "$(names d)" '.gitignore old old/x.keep top.keep'

begin
mkdir -p s d/x && put s/x file && put d/x/p 1
copy -n -i --delete s/ d/
point '-n --delete shows what makes way' grep -qF '*deleting   x/p' "$work/out"
put d/x/p.keep 1
copy -n --delete --exclude='*.keep' s/ d/
point '-n --delete sees what is protected' ended 3
copy --delete s/ missing/ d/
point 'a source that is missing holds deletions back' test -e d/x/p

begin
mkdir s/q && put d/q 1
alike '--delete with an excluded directory of the name' '' --delete --exclude=q/

## what a file takes from what it replaces

begin
put s/f 1 && chmod 600 s/f
mkfifo -m 666 d/f
alike '--no-perms over a fifo' '' --no-perms

begin
head -c 4194304 /dev/zero >s/zeros
truncate -s 4194304 s/hole
copy --sparse=make s/zeros d/
point '--sparse=make: no blocks' test "$(stat -c %b d/zeros)" -lt 64
copy --sparse=never s/hole d/
point '--sparse=never: all blocks' test "$(stat -c %b d/hole)" -ge 8192

## leftovers, where a directory looks finished

leftover=.weir-tmp.0123456789abcdef.0123456789abcdef
settled() { # SRC DST: both have the time that a finished copy leaves
    test "$(stat -c %y "$1")" = "$(stat -c %y "$2")"
}

begin
mkdir s/sub && put s/sub/f 1
copy s/ d/
put d/sub/$leftover 1
copy s/ d/
point 'a leftover that moved the time is removed' no test -e d/sub/$leftover
point 'a leftover that moved the time: it is put back' settled s/sub d/sub

begin
mkdir s/sub && put s/sub/f 1
copy s/ d/
put d/sub/$leftover 1 && touch -r s/sub d/sub
put s/sub/f 22
copy s/ d/
point 'a leftover under the right time goes when something changes' no test -e d/sub/$leftover
point 'a leftover under the right time: the time is put back' settled s/sub d/sub
put d/sub/$leftover 1 && touch -r s/sub d/sub
copy --delete s/ d/
point 'a leftover under the right time goes with --delete' no test -e d/sub/$leftover
point 'a leftover under the right time: --delete puts the time back' settled s/sub d/sub
put d/sub/$leftover 1
copy --no-times s/ d/
point 'a leftover goes where times are not kept' no test -e d/sub/$leftover

## what was cut off is gone on with, wherever it lies

cut_off() { # ARGUMENTS...: a copy that is stopped after a second
    timeout -s INT 1 "$WEIR" copy --partial --bwlimit=8M "$@" >"$work/out" 2>"$work/err" || :
}
moved_less() { # BYTES: by the last run, that printed --stats
    local moved
    moved=$(sed -n 's/^Data moved: \([0-9]*\) bytes.*/\1/p' "$work/out")
    test -n "$moved" -a "$moved" -lt "$1"
}

begin
head -c 24000000 /dev/urandom >f
cut_off f g
copy --partial --stats f g
point '--partial beside its source: goes on' moved_less 24000000
point '--partial beside its source: the same' cmp f g
point '--partial beside its source: nothing is left' no_leftovers .
cp f s/f
cut_off s/ new
copy --partial --stats s/ new
point '--partial in a folder being built: goes on' moved_less 24000000
point '--partial in a folder being built: the same' cmp f new/f
point '--partial in a folder being built: nothing is left' no_leftovers .
cut_off f s/ many
copy --partial --stats f s/ many
point '--partial of a file operand in a folder being built: goes on' moved_less 48000000
point '--partial of a file operand in a folder being built: nothing is left' no_leftovers .

## errors while writing

begin
if mount -t tmpfs -o size=1m none d 2>/dev/null; then
    head -c 700000 /dev/urandom >d/old
    head -c 700000 /dev/urandom >s/new
    copy --delete s/ d/
    point '--delete keeps everything when something could not be written' test -e d/old
    point '--delete keeps everything: an error' ended 3
    copy --delete --ignore-errors s/ d/
    point '--delete --ignore-errors deletes all the same' no test -e d/old
    umount d
else
    skip '--delete on a full disk' 'nothing can be mounted'
fi

begin
put s/same data && ln -s same s/link
copy s/link s/same
point 'a symlink onto its own target: refused' ended 3
point 'a symlink onto its own target: it stays' holds s/same data

begin
mkdir s/x && put s/f 1 && chmod 0 s/x && chmod 777 d
for when in --delete --delete-before '--delete-before --ignore-errors'; do
    # shellcheck disable=SC2086
    user_copy $when s/ d/
    point "what cannot be read is told once: $when" is "$(grep -c "cannot open 's/x'" "$work/err")" 1
done
chmod 700 s/x

## modes, holes and parts

begin
setfacl -d -m u:77:rwx,g:88:r d
echo new >s/f && chown 5:6 s/f
echo o >d/f && setfacl -b d/f && chmod 2755 d/f && touch -d 2001-01-01 d/f
copy --no-perms s/ d/
point '--no-perms keeps the mode where an ACL is inherited' is "$(stat -c %a d/f)" 2755

begin
truncate -s 3400 s/hole
copy -S s/ d/
point 'a hole that is a whole small file stays one' is "$(stat -c %b d/hole)" 0
point 'a hole that is a whole small file: its size' is "$(stat -c %s d/hole)" 3400

begin
put s/f 1 && cp -a s/. d/ && chmod 555 s d && touch -r s d && chown -R 65534:65534 s d
user_copy -i s/ d/
point '-i says nothing of a DST that was opened up' is "$(<"$work/out")" ''

begin
if mount -t tmpfs -o size=8m none d 2>/dev/null; then
    mkdir s/sub d/sub && put s/sub/a 1 && head -c 3000000 /dev/urandom >s/sub/big
    head -c 6000000 /dev/zero >d/fill
    copy --partial s/ d/
    point '--partial on a full disk: an error' ended 3
    rm d/fill
    copy --exclude=big s/ d/
    point 'a part goes with the next run that has no --partial' no_leftovers d
    umount d
else
    skip '--partial on a full disk' 'nothing can be mounted'
fi

begin
mkdir s/a && put s/top 1
printf 'a/../top\n' >list
copy --files-from=list s d
point "a list with '..': refused" ended 3
point "a list with '..': nothing is made" is "$(names d)" ''

## two runs at one destination, and times that say little

begin
head -c 60000000 /dev/urandom >s/big && cp s/big d/big
touch -d 2000-01-01 d/big && touch -d 2001-01-01 s
"$WEIR" copy --bwlimit=30M s/ d >"$work/first" 2>&1 &
first=$!
sleep 0.3
"$WEIR" copy --bwlimit=9M s/ d >"$work/second" 2>&1 &
second=$!
sleep 0.5
kill -9 $second || :
wait $second 2>/dev/null || :
wait $first || :
copy s/ d
point 'one of two runs died: the next one ends well' ended 0
point 'one of two runs died: nothing is left' no_leftovers d
point 'one of two runs died: the same' cmp s/big d/big
point 'one of two runs died: the time' settled s d

begin
truncate -s 200M image
mkdir m
if mkfs.ext4 -qF -I 128 image 2>/dev/null && mount -o loop image m 2>/dev/null; then
    mkdir m/s
    head -c 40000000 /dev/urandom >m/s/f && truncate -s 100M m/s/f
    python3 -c 'import time; time.sleep(1 - time.time() % 1 + 0.01)' # the start of a second
    touch m/s/f
    timeout -s KILL 0.3 "$WEIR" copy --bwlimit=20M m/s m/d >/dev/null 2>&1 || :
    copy m/s m/d
    point 'whole seconds, cut off in the same one: ends well' ended 0
    point 'whole seconds, cut off in the same one: the same' cmp m/s/f m/d/s/f
    umount m
else
    skip 'whole seconds, cut off in the same one' 'nothing can be mounted'
fi

begin
put s/f 1
(
    ulimit -n 20
    copy s/ d/
)
point 'too few descriptors: refused, with the number' grep -q 'at least 28 (ulimit -n)' "$work/err"
point 'too few descriptors: nothing is made' is "$(names d)" ''

begin
mkdir s/sub
for n in $(seq 40); do echo $n >s/cold$n; done
put s/a 1 && ln s/a s/sub/b
sync && sysctl -qw vm.drop_caches=3 2>/dev/null || :
{ ls s && printf 'sub/b\nsub/b\nsub/b\n'; } | grep -v '^sub$' >list
copy -H --files-from=list s d
point 'a link that a list has thrice, cold: ends well' ended 0
point 'a link that a list has thrice, cold: a link' is "$(stat -c %h d/a)" 2

## into itself by another mount, a source that is missing, a file that its owner may not write

begin
mkdir s/sub m && put s/f 1
if mount --bind s/sub m 2>/dev/null; then
    timeout -s KILL 60 "$WEIR" copy s m/x >"$work/out" 2>"$work/err" && status=0 || status=$?
    point 'into itself by another mount: told' grep -q 'it is the destination itself' "$work/err"
    point 'into itself by another mount: it ends' is "$status $(find s | wc -l)" '3 7'
    umount m
else
    skip 'into itself by another mount' 'nothing can be mounted'
fi

begin
put s/f 1
copy --fail-fast nope s/ d/x
point 'a missing source and --fail-fast: an error' ended 3
point 'a missing source and --fail-fast: nothing is made' is "$(names d)" ''

begin
put s/f new && put d/f before && chmod 444 s/f d/f
! is_root || chown -R "$user_id:$user_id" s d
as_user "$WEIR" copy --inplace s/ d/ >"$work/out" 2>"$work/err" && status=0 || status=$?
point 'a file without a right to write and --inplace: written' is "$status $(cat d/f)" '0 new'
point 'a file without a right to write and --inplace: its mode' is "$(stat -c %a d/f)" 444

finish
