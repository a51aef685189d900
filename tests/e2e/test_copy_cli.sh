#!/bin/bash
# The command line of weir copy: what it refuses, what it explains, what it prints.
#
# WEIR is the program. Prints TAP. What a copy does to files is tested elsewhere.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
umask 022

copy() {
    run "$WEIR" copy "$@"
}

# The arguments are wrong: one line says so, and nothing is done.
refuses() { # wanted message, arguments
    local wanted=$1
    shift
    copy "$@" "$dir/src" "$dir/refused"
    expect "refuses $*" 2 '' "weir copy: $wanted"
    [[ ! -e $dir/refused && $(wc -l <"$dir/err") -eq 1 ]] || fail "and does nothing: $*" "$err"
    rm -rf "$dir/refused"
}

mkdir -p "$dir/src/sub"
echo one >"$dir/src/one"
echo two >"$dir/src/sub/two"
ln -s one "$dir/src/link"
ln "$dir/src/one" "$dir/src/zwei"
touch -d '2001-02-03 04:05:06.789' "$dir"/src/* "$dir/src/sub/two" "$dir/src/sub" "$dir/src"

## wrong command lines

copy
expect 'no operands' 2 '' 'weir copy: SOURCE is missing: *'
copy a
expect 'no destination' 2 '' 'weir copy: DESTINATION is missing: *'
refuses "option '--max-files-in-flight': '0' is out of range: expected 1 to 65536" \
    --max-files-in-flight=0
refuses "option '--max-files-in-flight': '65537' is out of range: expected 1 to 65536" \
    --max-files-in-flight 65537
refuses "option '--max-bytes-in-flight': '1k' is out of range: expected 1M to 1T" \
    --max-bytes-in-flight=1k
refuses "option '--max-dirs-in-flight': '0' is out of range*" --max-dirs-in-flight=0
refuses "option '--max-large-in-flight': 'x' is not a number*" --max-large-in-flight=x
refuses "option '--bwlimit': 'fast' is not a rate: expected bytes a second, as in 500k, 50M or 1G/s" \
    --bwlimit=fast
refuses "option '--threads': '0' is out of range: expected 1 to 256" --threads=0
refuses "option '--modify-window': '1' is not a duration*" --modify-window=1
refuses "option '--max-size': '10x' is not a size*" --max-size=10x
refuses "option '--max-delete': '-1' is not a number*" --max-delete=-1
refuses "option '--sparse': 'holes' is not known: expected keep, make or never" --sparse=holes
refuses "option '--reflink': 'sometimes' is not known: expected auto, always or never" \
    --reflink=sometimes
refuses "option '--fsync': 'now' is not known: expected never, end or file" --fsync=now
refuses "option '--data-path': 'uring' is not known: expected auto, range, ring or plain; did you mean 'ring'\\?" \
    --data-path=uring
refuses "option '-S' takes no value: write '--sparse=WORD'" -S=make
refuses "option '--chmod': 'u+q': *" --chmod=u+q
refuses "option '--chmod': *" --chmod=u+w --chmod=9
refuses "option '--chown': *" --chown=no-such-user-here
refuses "'--checksum' compares content and '--size-only' does not: choose one" -c --size-only
refuses "'--checksum' *'--ignore-times'*: choose one" -cI
refuses "'--size-only' and '--ignore-times' contradict each other: choose one" -I --size-only
refuses "'--min-size' is above '--max-size': *" --min-size=2k --max-size=1k
refuses "'--keep-links' is about '--inplace': *" --keep-links
refuses "'--delete' needs '--recursive'" --delete --no-recursive
refuses "'--delete' needs '--recursive'" --delete-excluded --no-r
refuses "'--delete' needs '--recursive'" --delete-before --no-archive
refuses "'--delete-before' and *: choose one" --delete-after --delete-before
refuses "'--max-delete' is about '--delete'*" --max-delete=3
refuses "'--ignore-errors' is about '--delete'*" --ignore-errors
refuses "'--delete' with '--files-from' *: choose one" --delete --files-from=list
refuses "'--files-from' has names in one source: give one" --files-from=list "$dir/src"
refuses "only one of * can read standard input" --files-from=- --exclude-from=-
refuses "only one of * can read standard input" --include-from=- --exclude-from=-
refuses "'--quiet' prints errors alone: *" -q -v
refuses "'--quiet' prints errors alone: *" -qi
refuses "'--quiet' prints errors alone: *" --quiet --json
refuses "'--quiet' and '--progress' *" -q --progress
refuses "unknown option '--delete-befor': did you mean '--delete-before'\\?" --delete-befor
refuses "unknown option '-Y': *" -aY
refuses "unknown option '--no-checksum': *" --no-checksum
# Known from rsync and cp: the reason, and never the nearest name.
while IFS='|' read -r option why; do
    refuses "option '$option' $why" "$option"
    [[ $err != *'did you mean'* ]] || fail "without a nearest name: $option" "$err"
done <<'EOF'
--backup|is not offered*
-b|is not offered*
--backup-dir|is not offered*
--suffix|is not offered*
-R|is not offered*'--files-from'*
--relative|is not offered*'--files-from'*
--parents|is not offered*'--files-from'*
-L|is not offered*symlinks*
--copy-links|is not offered*symlinks*
--copy-unsafe-links|is not offered*symlinks*
--safe-links|is not offered*symlinks*
-k|is not offered*
-K|is not offered*
--link-dest|is not offered*
--copy-dest|is not offered*
--compare-dest|is not offered*
-f|is not offered*'--include' and '--exclude'*
-F|is not offered*'--include' and '--exclude'*
--filter|is not offered*'--include' and '--exclude'*
--remove-source-files|is not offered*
-m|is not offered: *
--prune-empty-dirs|is not offered: *
-E|is not offered: *
--executability|is not offered: *
-T|is not offered*
--temp-dir|is not offered*
--mkpath|is not offered*
--list-only|is not offered: *
--info|is not offered: *
--debug|is not offered: *
--fake-super|is not offered: *
--append|is not offered: *'--partial'*
--ignore-non-existing|is not offered: *'--existing'*
--copy-devices|is not offered: *
--timeout|is not offered: *
--out-format|is not offered: *'-i'*
--interactive|is not offered: *'-n'*
-W|is not needed*
--whole-file|is not needed*
--no-whole-file|is not needed*
--no-W|is not needed*
-z|is not needed*
--compress|is not needed*
--numeric-ids|is not needed*
--del|is not offered*'--delete'*'--delete-before'
--delete-during|is not offered*'--delete'*'--delete-before'
--delete-delay|is not offered*'--delete'*'--delete-before'
--inc-recursive|is not needed*
--no-inc-recursive|is not needed*
--preserve|is not needed*
--no-preserve|is not offered*'--no-perms'*
-d|is not needed*
--no-clobber|is not offered*'--ignore-existing'
-P|is not offered*'--partial --progress'
--human-readable|is not needed*
EOF
refuses "option '--link-dest' is not offered*" --link-dest=../old
refuses "option '-z' is not needed*" -avz
for text in link-dest numeric-ids no-clobber; do
    run bash -c '"$0" copy --help | grep -c -e "--$1"' "$WEIR" "$text"
    is "and help does not offer it: $text" "$out" 0
done
refuses "option '-h' asks for help here, and stands alone; sizes *: leave it out" -avh
refuses "option '-h' asks for help here, and stands alone; *" -hv
long=$(printf '%0300d' 0)
refuses "option '--chown': '${long:0:80}...': *" --chown="${long}x"
copy --exclude-from="$dir/none" "$dir/src" "$dir/refused"
expect 'rules that are not there' 3 '' \
    "weir copy: option '--exclude-from': cannot open '$dir/none': no such file or directory"
copy "$dir/none" "$dir/refused"
expect 'a source that is not there' 3 '' "weir copy: cannot find '$dir/none': no such file or directory*"
copy "$dir/src" "$dir/none/there"
expect 'a destination in nowhere' 3 '' "weir copy: cannot *: no such file or directory"
copy "$dir/src" "$dir/src/sub"
expect 'a tree into itself' 2 '' "weir copy: cannot copy '$dir/src': *"
copy '' "$dir/refused"
expect 'an empty source' 2 '' 'weir copy: cannot copy*'

## names on other machines

far() { # the operand that is refused, operands
    local wanted=$1
    shift
    run env --chdir="$dir" "$weir" copy "$@"
    expect "refuses $*" 2 '' "weir copy: '$wanted' looks like a name on another machine, and copies are local: for a local name write './$wanted'"
}
weir=$(readlink -f "$WEIR")
far host:D src/ host:D
far host:D/sub src/ host:D/sub
far host:/D src/ host:/D
far me@host::mod/x src/ me@host::mod/x
far rsync://host/D src/ rsync://host/D
far host:src host:src D
far rsync://host/src src rsync://host/src D
is 'and nothing was made' "$(cd "$dir" && compgen -G '*[:D]*' || true)" ''
run env --chdir="$dir" "$weir" copy src/ ./host:D
expect 'a local name with a colon' 0 '' ''
run env --chdir="$dir" "$weir" copy src/ host:D
expect 'what is there is local' 0 '' ''
run env --chdir="$dir" "$weir" copy src/one host:D/new
expect 'and what is to be in it' 0 '' ''
run env --chdir="$dir" "$weir" copy host:D/ src/sub/a:b
expect 'a colon behind a slash is nothing special' 0 '' ''
rm -rf "$dir/host:D" "$dir/src/sub/a:b"
touch -d '2001-02-03 04:05:06.789' "$dir/src/sub"

## directories without -r

for option in --no-r --no-recursive --no-archive; do
    copy $option "$dir/src" "$dir/left"
    expect "a directory is not left out without a word: $option" 0 '' \
        "weir copy: 'src': a directory, and left out: give '-r'"
    rm -rf "$dir/left"
done
copy --no-r "$dir/src/" "$dir/left"
expect 'nor are the contents of one' 0 '' "weir copy: '.': a directory, and left out: give '-r'"
rm -rf "$dir/left"
copy -q --no-r "$dir/src" "$dir/left"
expect 'unless quiet' 0 '' ''
rm -rf "$dir/left"
copy --no-r --exclude=zwei "$dir/src/one" "$dir/src/zwei" "$dir/left"
expect 'and other things are, as told' 0 '' ''
rm -rf "$dir/left"

## -A brings -p, and of the two the last wins

modes() { # options
    rm -rf "$dir/moded"
    touch "$dir/moded"
    chmod 600 "$dir/moded"
    copy "$@" "$dir/mode" "$dir/moded"
    stat -c %a "$dir/moded"
}
touch "$dir/mode"
chmod 751 "$dir/mode"
is 'neither' "$(modes --no-archive)" 600
is '-A alone' "$(modes --no-archive -A)" 751
is '-A behind --no-perms' "$(modes --no-perms -A)" 751
is '--no-perms behind it' "$(modes --no-archive -A --no-acls --no-perms)" 600
is '--no-acls says nothing about it' "$(modes --no-acls)" 751

## what goes together

goes() { # arguments
    rm -rf "$dir/dst"
    copy "$@" "$dir/src/" "$dir/dst"
    expect "takes $*" 0 '' ''
}
goes -a
goes -rlptgoD
goes -aHAXSUOJ
goes --inplace --partial
goes --inplace --keep-links
goes --no-o --no-g --no-D --no-sparse --no-reflink --no-fsync --no-progress
goes --ignore-existing --existing
goes --max-delete=0 --delete-after --delete
goes --max-files-in-flight=1 --max-bytes-in-flight=1M --max-dirs-in-flight=1 --max-large-in-flight=1
goes --table-memory=64k --threads=1 --bwlimit=0
goes --chmod=D755,F644 --chmod=u+w --chown="$(id -u):$(id -g)"
goes --sparse=make --fsync=file --data-path=plain --verify
goes --modify-window=2s --max-size=1G --min-size=1 -x --gitignore -u

## the order of rules is that of the command line

names() {
    (cd "$dir/dst" && find . -mindepth 1 | sort | tr '\n' ' ')
}
goes --include=one --exclude='*'
is 'included first' "$(names)" './one '
goes --exclude='*' --include=one
is 'excluded first' "$(names)" ''
printf 'o*\n# no rule\n' >"$dir/rules"
goes --include=one --exclude-from="$dir/rules" --exclude=link --include='*'
is 'before a file of rules' "$(names)" './one ./sub ./sub/two ./zwei '
goes --exclude-from="$dir/rules" --include=one
is 'behind a file of rules' "$(names)" './link ./sub ./sub/two ./zwei '
goes --no-recursive --no-links -rl --no-l
is 'the last of -l and --no-l' "$(names)" './one ./sub ./sub/two ./zwei '
goes --no-l -a
is 'the last of --no-l and -a' "$(names)" './link ./one ./sub ./sub/two ./zwei '

## help

run "$WEIR" copy --help
expect 'help starts with examples' 0 'Examples:*Usage: weir copy *SOURCE... DESTINATION*' ''
for text in 'NVMe does well with 512 to 2048' 'a hard disk with 64 to 256' 'default 1024' \
    'rotational disk 128' '[1 to 65536]' '[1M to 1T] (default: 1G)' '(default: 64)' '(default: 8)' \
    '(default: 16M)' 'not the KiB of rsync' '(default: keep; alone: keep)' 'Options: limits'; do
    # However it is wrapped.
    if [[ $(tr -s ' \n' ' ' <"$dir/out") == *"$text"* ]]; then
        pass "help says: $text"
    else
        fail "help says: $text" "$out"
    fi
done

# Every example works where its names are.
mkdir -p "$dir/play/photos/2001" "$dir/play/src/.git" "$dir/play/data" "$dir/play/disk"
(cd "$dir/play" && touch photos/2001/a.jpg src/a.o src/a.c src/.git/x build.log data/x)
ln -s "$(readlink -f "$WEIR")" "$dir/weir"
examples=$("$WEIR" copy --help | sed '1d;/^$/,$d' | grep '^  [^ ]')
while IFS= read -r example; do
    if [[ $example == *jq* ]] && ! command -v jq >/dev/null; then
        skip "the example works: ${example#  }" 'jq is not installed'
        continue
    fi
    run env PATH="$dir:$PATH" bash -o pipefail -c "cd '$dir/play' && $example"
    is "the example works: ${example#  }" "$status" 0
done <<<"$examples"
is 'and does what it says' "$(cd "$dir/play" && find backup disk | sort | tr '\n' ' ')" \
    'backup backup/2001 backup/2001/a.jpg disk disk/build.log disk/data disk/data/x disk/src disk/src/a.c '

## what is printed

rm -rf "$dir/dst"
copy -n "$dir/src/" "$dir/dst"
expect 'a dry run shows what would be done' 0 '*>f+++++++++ one*' ''
is 'and does nothing' "$(find "$dir" -maxdepth 1 -name dst)" ''
copy -nq "$dir/src/" "$dir/dst"
expect 'a quiet dry run shows nothing' 0 '' ''
copy -n --stats "$dir/src/" "$dir/dst"
expect 'its counts are marked' 0 '*Time: * (dry run)' 'weir copy: * (dry run)'
mkdir "$dir/dst" "$dir/dst/old" "$dir/peer" "$dir/peer/old"
copy -Hi --delete "$dir/src/" "$dir/dst"
# Entries of a directory come in an order of their own, and either name of a file may be the first.
sorted() {
    sed -E 's/^(hf\+* )(one|zwei) => (one|zwei)/\1LINK/; s/^(>f\+* )(one|zwei)$/\1FILE/' | sort
}
if command -v rsync >/dev/null; then
    is 'itemised lines are those of rsync' "$(sorted <<<"$out")" \
        "$(rsync -aHi --delete "$dir/src/" "$dir/peer" | sorted)"
    echo three >"$dir/src/one"
    chmod 600 "$dir/src/sub/two"
    touch "$dir/src/sub"
    copy -i --exclude=zwei "$dir/src/" "$dir/dst"
    is 'also of changes' "$(sorted <<<"$out")" \
        "$(rsync -ai --exclude=zwei "$dir/src/" "$dir/peer" | sorted)"
    touch -d 2020-01-01 "$dir/src/sub/two"
    copy -v --exclude=zwei "$dir/src/" "$dir/dst"
    is 'names are those of rsync -v' "$out" \
        "$(rsync -av --exclude=zwei "$dir/src/" "$dir/peer" | sed '1d;/^$/,$d')"
    copy -vv --exclude=zwei "$dir/src/" "$dir/dst"
    is '-vv tells what is up to date as rsync does' "$(grep ' is uptodate$' <<<"$out" | sort)" \
        "$(rsync -avv --exclude=zwei "$dir/src/" "$dir/peer" | grep ' is uptodate$' | sort)"
    copy -v --exclude=zwei "$dir/src/" "$dir/dst"
else
    for name in 'itemised lines are those of rsync' 'also of changes' 'names are those of rsync -v' \
        '-vv tells what is up to date as rsync does'; do
        skip "$name" 'rsync is not installed'
    done
    copy -Hv "$dir/src/" "$dir/dst"
fi
expect 'and there is a summary' 0 '*' 'weir copy: *moved in*'
copy "$dir/src/" "$dir/dst"
copy "$dir/src/" "$dir/dst"
expect 'nothing is said by default' 0 '' ''
copy -vv --exclude=zwei --max-size=1 --no-l "$dir/src/" "$dir/dst"
is '-vv tells what is left out, and why' "$(sort <<<"$out")" 'skipping link: a symbolic link
skipping one: larger than --max-size
skipping sub/two: larger than --max-size
skipping zwei: excluded'
copy -vvv --exclude=zwei "$dir/src/" "$dir/dst"
is 'a third one adds nothing' "$(sort <<<"$out")" 'link is uptodate
one is uptodate
skipping zwei: excluded
sub/two is uptodate'
copy -vvi --exclude=zwei "$dir/src/" "$dir/dst"
is '-vv and -i itemise all of it' "$(sort <<<"$out")" '*skipped    zwei: excluded
.L          link -> one
.d          ./
.d          sub/
.f          one
.f          sub/two'
copy -v --exclude=zwei "$dir/src/" "$dir/dst"
expect 'which one -v does not tell' 0 '' 'weir copy: *unchanged*'
copy --stats "$dir/src/" "$dir/dst"
expect 'counts' 0 'Entries in the source: 6 (files: 3, directories: 2, symlinks: 1, *Errors: 0*' \
    'weir copy: *unchanged*'

mkdir "$dir/odd"
printf x >"$dir/odd/"$'new\nline'
printf x >"$dir/odd/"$'esc\e[31m'
printf x >"$dir/odd/"$'bad\xff'
printf x >"$dir/odd/back\\#123"
copy -i "$dir/odd/" "$dir/odd2"
is 'odd names are escaped as rsync does' "$(sort <<<"$out" | grep '^>f')" \
    '>f+++++++++ back\#134#123
>f+++++++++ bad\#377
>f+++++++++ esc\#033[31m
>f+++++++++ new\#012line'

## JSON

if command -v jq >/dev/null; then
    rm -rf "$dir/odd2"
    copy --json -v "$dir/odd/" "$dir/odd2"
    is 'every line is an object' "$(jq -s 'all(type == "object" and has("event"))' <<<"$out")" true
    is 'the last one is the summary' "$(tail -n 1 <<<"$out" | jq -r '.event, .result, .files')" \
        'summary
Ok
4'
    is 'there is one of each file' "$(jq -r 'select(.event == "item" and .type == "file").path' \
        <<<"$out" | wc -l)" 5
    is 'names that are not UTF-8 are not lost' "$(jq -r 'select(.path_hex).path_hex' <<<"$out" |
        sort -u | sed 's/../\\x&/g' | xargs -0 printf '%b' | od -An -c | tr -d ' \n')" 'bad377\n'
    copy --json -v "$dir/odd/" "$dir/odd2"
    is 'with -v also what stays as it is' \
        "$(jq -r 'select(.event == "same" and .type == "file").itemized' <<<"$out" | sort -u)" \
        '.f         '
    copy --json -ii "$dir/odd/" "$dir/odd2"
    is 'or with -ii' "$(jq -r .event <<<"$out" | sort -u | tr '\n' ' ')" 'same summary '
    copy --json "$dir/odd/" "$dir/odd2"
    is 'without it only the end' "$(jq -r .event <<<"$out")" summary
    copy --json -n --delete "$dir/sr"c/ "$dir/odd2"
    is 'a dry run is marked' "$(jq -c 'select(.event == "summary").dry_run' <<<"$out")" true
    is 'deletions' "$(jq -r 'select(.event == "deleted").itemized' <<<"$out" | sort -u)" '*deleting  '
    copy --json "$dir/src/" "$dir/none" "$dir/dst"
    is 'errors are events too' "$status $(jq -r 'select(.event == "error") | .what, .errno' \
        <<<"$out" | tr '\n' ' ')" '3 cannot find 2 '
    is 'and the result says so' "$(jq -r 'select(.event == "summary") | .result, .errors' <<<"$out" |
        tr '\n' ' ')" 'Incomplete 1 '
else
    skip 'JSON' 'jq is not installed'
fi

## errors

copy -q "$dir/none" "$dir/src/" "$dir/dst"
expect 'errors are said also when quiet, and counted' 3 '' \
    "weir copy: cannot find '$dir/none': no such file or directory
weir copy: *; 1 error"
if [[ $(id -u) -ne 0 ]]; then
    mkdir -p "$dir/shut/in"
    chmod 0 "$dir/shut/in"
    copy "$dir/shut/" "$dir/shut2"
    expect 'what may not be read' 3 '' "weir copy: cannot open '$dir/shut/in': permission denied*"
else
    skip 'what may not be read' 'root may read everything'
fi
copy --max-delete=0 --delete "$dir/odd/" "$dir/dst"
expect 'deletions over the limit' 3 '' "weir copy: *'--max-delete' kept the rest*"
{
    status=0
    "$WEIR" copy -v "$dir/odd/" "$dir/odd3" 2>"$dir/err" || status=$?
    echo "$status" >"$dir/status"
} | true
is 'a reader that left is no error' "$(cat "$dir/status")" 0
copy -i "$dir/odd/" "$dir/odd4"
status=0 out=
"$WEIR" copy -nI "$dir/odd/" "$dir/odd4" >/dev/full 2>"$dir/err" || status=$?
err=$(cat "$dir/err")
expect 'lines that cannot be written are reported' 3 '' \
    'weir copy: cannot write to standard output: no space left on device'

## progress and signals

copy --progress "$dir/odd/" "$dir/odd5"
expect 'progress brings a summary' 0 '' 'weir copy: 5 created; *'
# Slow enough to be caught.
mkdir "$dir/big"
for i in 1 2 3 4 5 6 7 8 9 10; do
    head -c 2097152 /dev/urandom >"$dir/big/$i"
done
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    terminal() { # options
        script -qec "env TERM=xterm COLUMNS=100 $(printf '%q ' "$WEIR" copy "$@")" /dev/null </dev/null
    }
    said=$(terminal --bwlimit=8M "$dir/big/" "$dir/big2")
    run printf '%s' "$said"
    expect 'progress on a terminal' 0 '* files  * in flight*created; *' ''
    rm -rf "$dir/big2"
    # What a terminal would show: from the last return of the line, and nothing of it erased.
    said=$(terminal -v --bwlimit=8M "$dir/big/" "$dir/big2" |
        sed 's/\r$//; s/.*\r//; s/\x1b\[[0-9]*[Km]//g' |
        sed -E 's/^(moved by [a-z_+]*: )?(10|[1-9])$/name/; s/^weir copy: .*/summary/' | sort | uniq -c)
    is 'names are whole lines beside it' "$(tr -s ' \n' ' ' <<<"$said")" ' 1 ./ 20 name 2 summary '
    rm -rf "$dir/big2"
    said=$(terminal --no-progress "$dir/big/" "$dir/big2")
    is 'or not, when told so' "$said" ''
else
    for name in 'progress on a terminal' 'names are whole lines beside it' 'or not, when told so'; do
        skip "$name" 'there is no pseudo-terminal, or no script(1)'
    done
fi

rm -rf "$dir/big2"
# Job control, so that the program in the background does not ignore SIGINT.
interrupted() { # signal
    local status=0
    bash -c 'set -m; "$0" copy --bwlimit=2M --json "$1/big/" "$1/big2" >"$1/out2" 2>"$1/err2" & pid=$!
        for ((i = 0; i < 100; i++)); do compgen -G "$1/.weir-*" >/dev/null && break; sleep 0.05; done
        sleep 0.3; kill -s "$2" $pid; wait $pid' "$WEIR" "$dir" "$1" 2>/dev/null || status=$?
    echo "$status"
}
is 'SIGINT ends it as interrupted' "$(interrupted INT)" 130
run cat "$dir/err2"
expect 'and it says so' 0 'weir copy: interrupted: finishing what is in flight; *
weir copy: interrupted: *' ''
run tail -n 1 "$dir/out2"
expect 'also in JSON' 0 '{"event":"summary","result":"Interrupted",*}' ''
is 'SIGTERM too' "$(interrupted TERM)" 143
copy "$dir/big/" "$dir/big2"
expect 'the next run completes it' 0 '' ''
run diff -r "$dir/big" "$dir/big2"
expect 'and all is there' 0 '' ''
is 'and nothing else' "$(compgen -G "$dir/.weir-*" || true)" ''

## completion

"$WEIR" completion bash >"$dir/weir.bash"
words=("$dir/weir.bash" "$dir" weir copy)
is 'completion: options' "$(offers "${words[@]}" --max-)" \
    '--max-delete --max-size --max-files-in-flight --max-bytes-in-flight --max-dirs-in-flight --max-large-in-flight'
is 'completion: words' "$(offers "${words[@]}" --reflink = a)" 'auto always'
is 'completion: files' "$(offers "${words[@]}" --exclude-from rul)" 'rules'
is 'completion: operands' "$(offers "${words[@]}" -a --sparse odd5)" 'odd5'
is 'completion: opposites' "$(offers "${words[@]}" --no-omit)" '--no-omit-dir-times --no-omit-link-times'

finish
