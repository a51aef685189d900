#!/bin/bash
# Each option of weir copy against rsync with the same option: both start from the same state, and
# what they leave, and what they say with -i, must be the same.
#
# See copy_lib.sh for the environment. Prints TAP.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync git
umask 022

base=$(fresh)
cd "$base"

# The source: some names for rules, some types, some sizes, links. All times are whole and different.
make_source() {
    mkdir src && cd src
    local second=10 name
    for name in a.txt b.log c.o '[x].txt' 'with space' dir/a.txt dir/b.log dir/deep/a.txt \
        dir/deep/x.o cache/one cache/two/three build/out.o build/keep.txt deep/a.txt foo/bar/deep/x \
        same same-size same-time newer older touched mode type-dir/inside fifo-there; do
        put "$name" "content of $name" "2020-01-01 00:00:$second"
        second=$((second + 1))
    done
    head -c 300000 /dev/zero | tr '\0' x >large && touch -d '2020-02-02 02:02:02' large
    : >empty && touch -d '2020-02-02 02:02:03' empty
    put first linked '2020-03-03 03:03:03' && ln first second && ln first dir/third
    ln -s a.txt symlink && ln -s nowhere dangling && ln -s dir to-dir
    mkfifo fifo
    mkdir void
    chmod 600 a.txt && chmod 755 c.o && chmod 4755 same && chmod 444 b.log && chmod 2775 cache
    chmod 640 mode
    if is_root; then
        mknod null c 1 3
        chown 1:2 b.log && chown -h 3:4 symlink && chown 5:6 dir/deep
        setfattr -n trusted.t -v 1 c.o
    fi
    setfattr -n user.u -v value a.txt 2>/dev/null || true
    setfacl -m u:1000:rw dir/b.log 2>/dev/null || true
    setfacl -d -m u:1000:rx build 2>/dev/null || true
    printf '*.o\n!build/out.o\n/cache/\n' >.gitignore && touch -d '2020-02-02 02:02:04' .gitignore
    find . \( -type l -o -type p -o -type c \) -exec touch -h -d '2020-04-04 04:04:04' {} +
    find . -depth -type d -exec touch -d '2020-05-05 05:05:05' {} +
    cd ..
}

# A destination of some time ago: what is the same, older, newer, of other types, and too much.
make_old() {
    rsync -aHAX --modify-window=-1 src/ old/
    cd old
    put same-size 'CONTENT OF same-size' '2019-01-01 01:01:01'
    printf '%s\n' 'CONTENT OF same-time' >same-time && touch -r ../src/same-time same-time
    put newer 'newer here, and longer' '2021-01-01 01:01:01'
    put older 'old' '2010-01-01 01:01:01'
    touch -d '2019-09-09 09:09:09' touched
    touch -d "$(date -d "$(stat -c %y ../src/dir/a.txt)" '+%F %T') 1 second" dir/a.txt
    chmod 777 mode
    rm -r type-dir && put type-dir 'a file here' '2019-01-01 01:01:02'
    rm fifo-there && mkfifo fifo-there
    rm -r void && ln -s /nonexistent void
    rm symlink && ln -s elsewhere symlink
    rm -r deep a.txt foo first second dir/third
    put first 'not linked' '2019-01-01 01:01:03'
    put extra/file 'too much' '2019-01-01 01:01:04'
    put extra/file.o 'too much' '2019-01-01 01:01:05'
    put dir/extra.log 'too much' '2019-01-01 01:01:06'
    put cache/extra 'too much' '2019-01-01 01:01:07'
    ln -s a extra-link
    touch -h -d '2019-01-01 01:01:08' extra-link symlink void fifo-there
    find . -depth -type d -exec touch -d '2019-05-05 05:05:05' {} +
    cd ..
}

make_source
make_old
printf '# a comment\n; another\n\n*.o\n+ keep.txt\n- /cache/\n' >rules
printf 'a.txt\ndir/deep\nbuild/\ncache/two/three\n/b.log\nno-such\n' >list
printf 'a.txt\ndir/deep\n' >good-list
tr '\n' '\0' <good-list >list0

# One row: name | start (none, old, plain, same) | options of treecmp | options | others of rsync | of weir
# Options are words for the shell. What rsync says with -i is compared unless the name ends with ~.
table() {
    cat <<'ROWS'
a new tree | none | | |
onto an old one | old | | |
onto the same | same | | |
-H | none | | -H |
-H onto an old one | old | | -H |
-A | none | | -A |
-A onto an old one | old | | -A |
-X | none | | -X |
-X onto an old one | old | | -X |
-HAX onto an old one | old | | -HAX |
-S | none | | -S |
--checksum | old | | --checksum |
-c onto the same | same | | -c |
--size-only | old | | --size-only |
--ignore-times | old | | --ignore-times |
-I onto the same | same | | -I |
--update | old | | --update |
-u | old | | -u |
--ignore-existing | plain | | --ignore-existing |
--existing | plain | | --existing |
--existing --ignore-existing | plain | | --existing --ignore-existing |
--existing --ignore-existing --delete | plain | | --existing --ignore-existing --delete |
--modify-window | old | | | --modify-window=2 | --modify-window=2s
--delete | old | | --delete |
--delete-before | old | | --delete-before |
--delete-after | old | | --delete-after |
--delete -HAX | old | | --delete -HAX |
--delete with rules | old | --no dir-mtime | --delete --exclude=*.o --exclude=/cache |
--delete-excluded | old | | --delete --delete-excluded --exclude=*.o --exclude=/cache |
--delete-excluded alone | old | | --delete-excluded --exclude=*.o | --delete |
--delete --ignore-existing | plain | | --delete --ignore-existing |
--delete into nothing | none | | --delete |
--max-delete=0 | old | | --delete --max-delete=0 |
--max-delete, enough | old | | --delete --max-delete=100 |
--exclude a suffix | none | | --exclude=*.o |
--exclude a name | none | | --exclude=a.txt |
--exclude at the top | none | | --exclude=/a.txt |
--exclude a directory | none | | --exclude=dir/ |
--exclude a file as a directory | none | | --exclude=a.txt/ |
--exclude the end of a path | none | | --exclude=deep/a.txt |
--exclude by ** | none | | --exclude=dir/** |
--exclude by ** first | none | | --exclude=**/deep |
--exclude by *** | none | | --exclude=dir/*** |
--exclude by ? | none | | --exclude=?.txt |
--exclude by a class | none | | --exclude=[a-b].* |
--exclude by a negated class | none | | --exclude=/[!a-c]*.txt |
--exclude with backslash | none | | --exclude=\[x\].txt |
--exclude literally | none | | --exclude=[x].txt |
--exclude a space | none | | --exclude=with?space |
--exclude all | none | | --exclude=* |
--exclude all below | none | | --exclude=/*/* |
--include before | none | | --include=keep.txt --exclude=*.txt |
--include some alone | none | | --include=*/ --include=*.txt --exclude=* |
--include a path | none | | --include=/dir/ --include=/dir/deep/*** --exclude=* |
--include without the way | none | | --include=/dir/deep/a.txt --exclude=* |
--exclude then include | none | | --exclude=*.txt --include=a.txt |
rules with signs | none | | --exclude=+?keep.txt --exclude=*.txt |
--exclude-from | none | | --exclude-from=rules |
--include-from | none | | --include-from=rules --exclude=*.txt |
--exclude onto an old one | old | | --exclude=/dir --exclude=*.log |
--max-size | none | | --max-size=1k |
--max-size, exactly | none | | --max-size=300000 |
--max-size, one less | none | | --max-size=299999 |
--min-size | none | | --min-size=1 |
--min-size and --max-size | old | | --min-size=1 --max-size=1M |
--max-size --delete | old | | --max-size=1k --delete |
--files-from | none | --skip-root | --files-from=good-list |
--files-from -r | none | --skip-root | -r --files-from=good-list |
--files-from onto an old one | old | --skip-root | --files-from=good-list |
--from0 | none | --skip-root | --from0 --files-from=list0 |
--chmod all | none | | --chmod=u+x,g-w,o= |
--chmod by type | none | | --chmod=D750,F640 |
--chmod symbols | none | | --chmod=Dg+s,ugo=rwX |
--chmod copies bits | none | | --chmod=g=u,o=g |
--chmod twice | none | | --chmod=a-x --chmod=D+x |
--chmod sticky and setuid | none | | --chmod=Du+s,D+t,Fu-s |
--chmod onto an old one | old | | --chmod=go= |
--chmod without -p | old | | --no-perms --chmod=ugo=rwX |
--chown | none | | --chown=7:8 |
--chown user | none | | --chown=daemon |
--chown group | none | | --chown=:9 |
--chown names | none | | --chown=daemon:bin |
--chown onto an old one ~ | old | | --chown=7:8 |
--no-perms | none | | --no-perms |
--no-p onto an old one | old | | --no-p |
--no-owner | old | | --no-owner |
--no-group | old | | --no-group |
--no-o --no-g | none | | --no-o --no-g |
--no-times | none | --no times | --no-times |
--no-t onto an old one | old | --no times | --no-t |
--no-t --checksum | old | --no times | --no-t --checksum |
--no-t --size-only | old | --no times | --no-t --size-only |
--no-links | none | | --no-links |
--no-l --delete | old | | --no-l --delete |
--no-devices | none | | --no-devices |
--no-specials | none | | --no-specials |
--no-D onto an old one | old | | --no-D |
--omit-dir-times | old | --no dir-mtime | --omit-dir-times |
-O | none | --no dir-mtime | -O |
-J | old | --no link-mtime | -J |
--omit-link-times | none | --no link-mtime | --omit-link-times |
--inplace | old | | --inplace |
--inplace -H | old | | --inplace -H |
--inplace --checksum | old | | --inplace --checksum |
--fail-fast onto an old one | old | | | | --fail-fast
--fsync | old | | | | --fsync
--fsync=file | old | | | | --fsync=file
--verify | old | | | | --verify
--max-files-in-flight=1 | old | | -HAX --delete | | --max-files-in-flight=1
--threads=1 | old | | -HAX --delete | | --threads=1
--partial | old | | --partial |
-a after --no-owner | old | | --no-owner -a |
-ii onto the same | same | | -i |
-ii onto an old one | old | | -i --delete |
-ii with rules | old | | -i --exclude=*.o --max-size=1k --existing |
-iii | same | | -i -i |
-vv is itemised as -ii | same | | | -i | -vv
ROWS
}

start() { # state, folder
    case $1 in
    none) ;;
    old) rsync -aHAX old/ "$2/" ;;
    # Without other types under the same names, where rsync stumbles itself.
    plain) rsync -aHAX --exclude=/type-dir --exclude=/void --exclude=/fifo-there old/ "$2/" ;;
    same) rsync -aHAX src/ "$2/" ;;
    esac
    # Whatever was there has the time of then.
    [[ $1 == none ]] || touch -d '2019-05-05 05:05:05' "$2"
}

# Without what rsync says that is not about an item, and without the names of the one group of links:
# with -H any of them may be the one that the others are linked to.
items() { # file
    local links='^........... (first|second|dir/third)( |$)'
    [[ " ${both[*]} " =~ ' '-[AX]*H ]] || links='^$'
    grep -v -e '^created directory ' -e '^skipping ' -e '^cannot delete ' -e '^Deletions stopped' \
        "$1" | grep -vE "$links" | LC_ALL=C sort || true
}

trim() {
    local text=$1
    text=${text#"${text%%[![:space:]]*}"}
    printf '%s' "${text%"${text##*[![:space:]]}"}"
}

try() { # name, start, options of treecmp, options, rsync's own, weir's own
    local name=$1 state=$2 compare=() both=() theirs=() ours=()
    set -f
    # shellcheck disable=SC2206 # words, not patterns
    compare=($3) both=($4) theirs=($5) ours=($6)
    set +f
    # A word cannot have a space; "+?keep.txt" stands for a rule with its sign.
    both=("${both[@]/#--exclude=+?/--exclude=+ }")
    rm -rf by-rsync by-weir
    start "$state" by-rsync
    start "$state" by-weir
    local rsync_status=0
    rsync -a -i "${both[@]}" "${theirs[@]}" src/ by-rsync/ >"$work/theirs" 2>/dev/null ||
        rsync_status=$?
    copy -i "${both[@]}" "${ours[@]}" src/ by-weir/
    if [[ $rsync_status -eq 0 ]]; then
        point "$name: ends well" ended 0
    else
        # 25 is rsync's status for --max-delete.
        point "$name: does not end well, nor does rsync ($rsync_status)" no ended 0
    fi
    point "$name: the same as by rsync" same by-rsync by-weir --no holes "${compare[@]}"
    items "$work/theirs" >"$work/theirs.items"
    items "$work/out" >"$work/ours.items"
    [[ $name == *~ ]] || point "$name: it says the same" diff "$work/theirs.items" "$work/ours.items"
}

while IFS='|' read -r name state compare both theirs ours; do
    name=$(trim "$name")
    if [[ $both == *--chown* ]] && ! is_root; then
        skip "$name" 'needs root'
        continue
    fi
    try "$name" "$(trim "$state")" "$compare" "$both" "${theirs-}" "${ours-}"
done < <(table)

# A limited number of deletions: which ones is not defined, how many is.
rm -rf by-weir && start old by-weir
before=$(find by-weir | wc -l)
copy -i --delete --max-delete=2 src/ by-weir/
point '--max-delete=2: two are deleted' test "$(grep -c '^\*deleting' "$work/out")" -eq 2
point '--max-delete=2: it is said' grep -q 'delet' "$work/err"
rm -rf by-weir && start old by-weir
copy -i --delete --max-delete=0 src/ by-weir/
point '--max-delete=0: what is too much stays' test -f by-weir/extra/file
note "$before entries before"

# The names of links are relative to the destination, as all others are.
rm -rf by-weir
copy -i -H src/ by-weir/
point '-H: one of three is copied and two are links to it' test \
    "$(grep -cE '^hf\+{9} (first|second|dir/third) => (first|second|dir/third)$' "$work/out")" -eq 2

# --dry-run shows what would be done and does nothing.
for state in none old same; do
    rm -rf by-weir expected && start "$state" by-weir && start "$state" expected
    copy -n -i -HAX --delete src/ by-weir/
    point "--dry-run on $state: ends well" ended 0
    cp "$work/out" "$work/dry"
    if [[ $state == none ]]; then
        point "--dry-run on $state: nothing is made" test ! -e by-weir
    else
        point "--dry-run on $state: nothing is changed" same expected by-weir
    fi
    copy -i -HAX --delete src/ by-weir/
    both=(-HAX)
    items "$work/dry" >"$work/dry.items"
    items "$work/out" >"$work/out.items"
    point "--dry-run on $state: it said what is done" diff "$work/dry.items" "$work/out.items"
    point "--dry-run on $state: as many lines" \
        test "$(wc -l <"$work/dry")" -eq "$(wc -l <"$work/out")"
    point "--dry-run on $state: nothing else is left" no compgen -G '.weir-*'
done

# Whatever has the name is left alone, of any type.
rm -rf by-weir && start old by-weir
copy --ignore-existing src/ by-weir/
point '--ignore-existing: also a file where the source has a directory' test -f by-weir/type-dir
point '--ignore-existing: also a fifo where the source has a file' test -p by-weir/fifo-there

# A list with a name that is not there: named, and the rest is copied.
rm -rf by-weir
copy --files-from=list src/ by-weir/
point '--files-from with a missing name: ends with an error' ended 3
point '--files-from with a missing name: it is named' grep -q "'.*no-such'" "$work/err"
point '--files-from with a missing name: the rest is there' \
    test -f by-weir/a.txt -a -f by-weir/cache/two/three -a -f by-weir/b.log
rm -rf by-weir
status=0
"$WEIR" copy --files-from=- src/ by-weir/ <good-list >"$work/out" 2>"$work/err" || status=$?
point '--files-from=-: from standard input' test -f by-weir/a.txt -a -d by-weir/dir/deep

# .gitignore, judged by git.
rm -rf by-weir repository && mkdir repository
rsync -a --exclude=fifo --exclude=null src/ repository/
printf 'a.txt\n' >repository/dir/.gitignore
printf 'deep/\n*.log\n!b.log\n' >>repository/.gitignore
git -C repository init -q .
(cd repository && git -c core.quotepath=off ls-files -co --exclude-standard | LC_ALL=C sort) >wanted
copy --gitignore --exclude=.git repository/ by-weir/
point '--gitignore: ends well' ended 0
(cd by-weir && find . ! -type d -printf '%P\n' | LC_ALL=C sort) >got
point '--gitignore: the files that git would take' diff wanted got

# Hard links at the destination, which --inplace breaks unless told otherwise.
rm -rf by-weir && start old by-weir && ln by-weir/older outside && cp outside before
copy --inplace src/ by-weir/
point '--inplace: a link from outside keeps its content' cmp before outside
point '--inplace: the file has the new one' cmp src/older by-weir/older
rm -rf by-weir outside && start old by-weir && ln by-weir/older outside
copy --inplace --keep-links src/ by-weir/
point '--inplace --keep-links: the link is kept' test by-weir/older -ef outside
point '--inplace --keep-links: and has the new content' cmp src/older outside
rm -f outside
# Without --inplace a file is replaced, never written to.
rm -rf by-weir && start old by-weir && ln by-weir/older outside
copy src/ by-weir/
point 'a file is replaced, not written to' cmp before outside

# Other file systems below the source.
rm -rf by-weir by-rsync && mkdir -p one/mount one/plain && echo x >one/plain/file
if mount_tmpfs size=1m "$base/one/mount"; then
    echo hidden >one/mount/file
    touch -d 2020-01-01 one/mount one/plain one
    rsync -a -x one/ by-rsync/
    copy -x one/ by-weir/
    point '-x: ends well' ended 0
    point '-x: the same as by rsync' same by-rsync by-weir
    copy one/ by-weir/
    point 'without -x: what is mounted is copied' test -f by-weir/mount/file
    unmount_last
else
    skip '-x' 'mounting is not possible here'
fi

# --delete holds back when something of the source could not be read.
rm -rf by-weir partly && start old by-weir && rsync -aHAX src/ partly/
mkdir partly/closed && chmod 0 partly/closed
if is_root; then
    chown -R "$user_id:$user_id" partly by-weir && chmod 755 "$base"
    find partly by-weir -type c -delete
fi
user_copy --delete partly/ by-weir/
point '--delete with errors: ends with them' ended 3
point '--delete with errors: nothing is deleted' test -f by-weir/extra/file
point '--delete with errors: it is said' grep -qi 'delet' "$work/err"
user_copy --delete --ignore-errors partly/ by-weir/
point '--delete --ignore-errors: ends with them' ended 3
point '--delete --ignore-errors: it is deleted' test ! -e by-weir/extra
chmod 700 partly/closed

# Speed limits, and output for programs.
rm -rf by-weir
begin=$(date +%s%N)
copy --bwlimit=200k src/ by-weir/
elapsed_ms=$((($(date +%s%N) - begin) / 1000000))
point '--bwlimit: ends well' ended 0
# 300 kB in all; a burst at the start is allowed. The time is a lower bound, which no load breaks.
point '--bwlimit: it takes its time' test "$elapsed_ms" -gt 300
rm -rf by-weir
copy --json -HAX src/ by-weir/
point '--json: each line is an object' jq -e . "$work/out"
point '--json: a summary comes last' \
    bash -c 'tail -n 1 "$1" | jq -e ".event == \"summary\""' - "$work/out"
point '--json: an item for each entry' \
    test "$(grep -c '"event": *"item"' "$work/out")" -eq "$(find src | wc -l)"
copy --stats src/ by-weir/
point '--stats: there is something to read' test -s "$work/out"

finish
