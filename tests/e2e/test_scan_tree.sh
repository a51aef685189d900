#!/bin/bash
# weir scan over trees, lists and git's index: every kind of file, odd names, what cannot be read or
# goes away meanwhile, paths that lie in each other, .gitignore files, what is staged, hooks.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 setpriv git

bad=$(printf 'in\xff\xfevalid')
newline=$'new\nline'
as=()
[[ $(id -u) -ne 0 ]] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# git must see neither the user's configuration nor a repository around us.
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$dir/gitconfig GIT_CEILING_DIRECTORIES=$dir
printf '[user]\n name = n\n email = n@example.org\n[init]\n defaultBranch = main\n' >"$dir/gitconfig"

# A git that says nothing is given up after 30 s: it is asked now, and looked at in the end.
mkdir "$dir/silent"
printf '#!/bin/sh\nsleep 600 &\necho $! >pid\nwait\n' >"$dir/silent/git"
chmod +x "$dir/silent/git"
(
    cd "$dir/silent"
    status=0
    PATH="$dir/silent:$PATH" timeout 300 "$WEIR" scan --json --staged >out 2>err </dev/null || status=$?
    echo "$status" >status
) &
silent=$!

put() { # file: a token in it, and the folders that it needs
    local file
    for file; do
        mkdir -p "$(dirname "$file")"
        printf 'key = %s\n' "$pat" >"$file"
    done
}
paths() { # in which a secret was found, in one line
    places | xargs
}

# --- every type of file ---

tree
mkfifo pipe
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
ln -s file link
ln -s . loop
ln -s loop2 loop2
ln -s nowhere dangling
put file
specials=2
if mknod device c 1 5 2>/dev/null; then specials=3; fi # the device of zeros
: >empty
mkdir emptydir
run "$WEIR" scan --json
is 'types: status and finding' "$status $(paths)" '1 file'
is 'types: special files are counted' "$(summary special)" $specials
is 'types: symlinks are counted' "$(summary symlinks)" 4
is 'types: nothing is missing' "$(summary complete) $(summary files)" 'true 2'
run timeout 20 "$WEIR" scan --json link
is 'a symlink that is given is followed' "$(paths)" link
run timeout 20 "$WEIR" scan --json loop
is 'also one to a directory' "$(paths)" loop/file
run "$WEIR" scan --json loop2 dangling
is 'one that leads nowhere is told' "$status $(gaps | xargs)" \
    '3 dangling: cannot find: no such file or directory loop2: cannot open: too many levels of symbolic links'
run "$WEIR" scan --json socket
is 'a socket that is given is told' "$status $(summary failed) $(summary complete)" '3 1 false'
printf 'pipe\nsocket\nlink\nempty\n' >../list
run timeout 20 "$WEIR" scan --json --files-from=../list
is 'a pipe and a socket of a list are told' "$status $(summary failed) $(summary special) $(summary complete) $(gaps | xargs -d '\n')" \
    "3 2 0 false pipe: cannot scan: it is a pipe: name it on the command line to have it read (name 1 of the list) socket: cannot scan: it is a socket: pipe what comes from it into '-' (name 2 of the list)"
if [ -c device ]; then
    run timeout 20 "$WEIR" scan --json --files-from=<(echo device)
    is 'a device of a list, too' "$status $(summary failed) $(gaps)" \
        '3 1 device: cannot scan: it is a device: name it on the command line to have it read (name 1 of the list)'
else
    skip 'a device of a list, too' 'none can be made here'
fi

# --- what is not opened has a name, and a symlink a target ---

tree
ln -s "https://host/$pat" target
ln -s nowhere "link-$other"
mkfifo "pipe-$other"
mkdir -p "empty-$other" full ignoring
: >full/file
echo '*' >ignoring/.gitignore
ln -s elsewhere key.p12
run "$WEIR" scan --json
is 'secrets in names of what is not opened' \
    "$status $(jq -r '.findings[].places[] | select(.in_name) | .path' "$dir/out" | sed 's/ghp_.*Qe/T/' | sort | xargs)" \
    '1 empty-T link-T pipe-T'
is 'and in the target of a symlink, at its place' \
    "$(jq -r '.findings[].places[] | select(.in_name | not) | "\(.path):\(.line):\(.column)"' "$dir/out")" target:1:14
is 'they are counted as what they are' "$(summary symlinks) $(summary special) $(summary files) $(summary complete)" '3 1 2 true'
find . -type l -print0 -o -type p -print0 >../list
run "$WEIR" scan --json -0 --files-from=../list
is 'those of a list, too' "$(jq '[.findings[].places[]] | length' "$dir/out") $(summary symlinks) $(summary failed)" '3 3 1'
mkdir "full/ignored-$other"
echo 'ignored*' >full/.gitignore
run "$WEIR" scan --json --respect-gitignore full
is 'what git ignores is left out with its name' "$status $(summary ignored_paths)" '0 1'
run "$WEIR" scan --json full
is 'an empty directory in another' "$status $(summary secrets)" '1 1'
for i in {1..300}; do ln -s "/some/where/$i" "l$i"; done
ln -s "/x/$other" l-last
run "$WEIR" scan --json --threads=3
is 'among many links' "$(summary symlinks) $(jq -r '.findings[].places[].path' "$dir/out" | grep -c l-last)" '304 1'

# --- by table: name, how its content is made, where the token is then found (line:column) ---

tree
long=$(printf 'n%.0s' {1..255})
names=() wanted=()
case_of() { # name, place; the content on standard input
    cat >"$1"
    names+=("$1")
    wanted+=("$2")
}
case_of plain 1:7 < <(printf 'key = %s\n' "$pat")
case_of no-newline-at-the-end 1:1 < <(printf '%s' "$pat")
case_of crlf 2:3 < <(printf 'a\r\n  %s\r\n' "$pat")
case_of "$long" 1:1 < <(echo "$pat")
case_of "$newline" 1:1 < <(echo "$pat")
case_of "$bad" 1:1 < <(echo "$pat")
case_of ' ' 1:1 < <(echo "$pat")
case_of '-' 1:1 < <(echo "$pat")
case_of '--help' 1:1 < <(echo "$pat")
case_of $'\001\033[2J' 1:1 < <(echo "$pat")
case_of long-line 1:4194306 < <(head -c 4194304 /dev/zero | tr '\0' x; printf ' %s' "$pat")
case_of binary 1:301 < <(head -c 299 /dev/zero; printf '\001%s\001' "$pat")
case_of edge-of-a-read 1:262129 < <(head -c 262127 /dev/zero | tr '\0' .; printf ' %s ' "$pat")
case_of many-lines 100001:1 < <(seq 100000; echo "$pat")
run "$WEIR" scan --json
is 'table: all are found' "$(jq '[.findings[].places[]] | length' "$dir/out")" ${#names[@]}
is 'table: and nothing is missing' "$status $(summary complete) $(summary files)" "1 true ${#names[@]}"
for i in "${!names[@]}"; do
    path=$(printf '%s' "${names[i]}" | jq -Rs .)
    select='.path == $path'
    [[ ${names[i]} != "$bad" ]] || select='.path | startswith("in")' # shown in another way than it is
    place=$(jq -r --argjson path "$path" ".findings[].places[] | select($select) | \"\\(.line):\\(.column)\"" "$dir/out")
    is "table: $(printf '%q' "${names[i]:0:40}")" "$place" "${wanted[i]}"
done
find . -type f -print0 >../list
run "$WEIR" scan --json --from0 --files-from=../list
is 'the same by a list with NUL' "$(jq '[.findings[].places[]] | length' "$dir/out")" ${#names[@]}
run "$WEIR" scan --json --files-from=../list
expect 'a list with NUL that is not said to be one' 3 '*' '*--from0*'
rm -f "$newline"
find . -type f >../list
run "$WEIR" scan --json --files-from=../list
is 'the same by a list of lines' "$(jq '[.findings[].places[]] | length' "$dir/out")" $((${#names[@]} - 1))
printf 'plain\n\ncrlf' >../list
run "$WEIR" scan --json --files-from=../list
is 'a list with an empty line and no last end' "$(paths)" 'crlf plain'
run "$WEIR" scan --json --files-from=- < /dev/null
is 'an empty list is nothing to do' "$status $(summary files)" '0 0'
head -c 1100000 /dev/zero | tr '\0' y >../list
run "$WEIR" scan --files-from=../list
expect 'a line that is too long' 3 '*longer than 1 MiB*' ''
run "$WEIR" scan --files-from=../no-list
expect 'a list that is not there' 3 '*no-list: cannot open*' ''

# --- what cannot be read ---

tree
put half/f closed/f unreadable listable/f
chmod 0 closed unreadable
chmod 444 listable
chmod 755 "$dir" "$dir/tree" half
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan --json
is 'what can be read is scanned' "$status $(paths)" '1 half/f'
is 'what cannot is named' "$(gaps | xargs -d '\n' printf '%s; ')" \
    'closed: cannot open: permission denied; listable/f: cannot open: permission denied; unreadable: cannot open: permission denied; '
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan --json closed/f
is 'a path behind a closed door' "$status $(gaps)" '3 closed/f: cannot open: permission denied'
chmod -R u+rwx .

# --- files that change while they are read ---

tree
# A writer that never stops: the scan ends with what was there when the file was opened.
printf '%s\n' "$pat" >grows
(exec 7>>grows; while :; do head -c 100000 /dev/zero >&7; done) 2>/dev/null &
writer=$!
run timeout 60 "$WEIR" scan --json grows
kill $writer
wait $writer 2>/dev/null || true
is 'a file that grows comes to an end' "$status $(paths)" '1 grows'
# Cut off, over and over: every scan ends, and one that saw it says so.
rm -f grows
head -c 33554432 /dev/zero | tr '\0' z >cut
(while :; do truncate -s 1000 cut; truncate -s 33554432 cut; head -c 33554432 /dev/zero | tr '\0' z >cut; done) &
writer=$!
ended=true
for _ in 1 2 3; do
    run timeout 60 "$WEIR" scan --json cut
    [[ $status -eq 0 || $status -eq 3 ]] || ended=false
    [[ $status -ne 3 || $(gaps) == 'cut: cannot read all of: it was cut off while it was read' ]] || ended=false
done
kill $writer
wait $writer 2>/dev/null || true
if $ended; then pass 'a file that is cut off ends the read, not the scan'; else fail 'a file that is cut off ends the read, not the scan' "$(said)"; fi
# Names that come and go: what was listed and is not there any more is told.
tree
mkdir d
(while :; do for i in {1..200}; do : >"d/$i"; done; rm -f d/*; done) 2>/dev/null &
writer=$!
put kept/f
ended=true
for _ in 1 2 3 4 5; do
    run timeout 60 "$WEIR" scan --json
    [[ $status -eq 1 && $(paths) == kept/f ]] || ended=false
    [[ -z $(gaps | grep -v ': cannot open: no such file or directory$') ]] || ended=false
done
kill $writer
wait $writer 2>/dev/null || true
if $ended; then pass 'files that vanish are named and do not stop the rest'; else fail 'files that vanish are named and do not stop the rest' "$(said)"; fi

# --- sizes that are not true ---

tree
truncate -s 100G sparse
printf '\n%s\n' "$pat" | dd of=sparse bs=1 seek=53687091200 conv=notrunc status=none
run timeout 100 "$WEIR" scan --json
is 'a sparse file of 100 GiB' "$status $(paths) $(jq '.findings[].places[].offset' "$dir/out")" '1 sparse 53687091201'
is 'and all of it was scanned' "$(summary bytes) $(summary complete)" '107374182400 true'
run timeout 60 "$WEIR" scan --json /proc/self/status /proc/self/cmdline /proc/cpuinfo
is 'files of /proc are read to their end' "$status $(summary files) $(summary complete)" '0 3 true'
run timeout 60 "$WEIR" scan --json /sys/kernel/mm
is 'and those of /sys' "$([[ $status -eq 0 || $status -eq 3 ]] && echo ended)" ended

# --- trees ---

tree
# Deeper than a path may be long.
python3 - "$pat" <<'PY'
import os, sys
for _ in range(1500):
    os.mkdir("deep", 0o755)
    os.chdir("deep")
with open("bottom", "w") as f:
    f.write(sys.argv[1])
PY
for descriptors in 64 1024; do
    for flight in 1 256; do
        run timeout 60 bash -c "ulimit -n $descriptors; exec \"\$@\"" _ "$WEIR" scan --json --max-files-in-flight=$flight
        is "1,500 levels, $descriptors descriptors, $flight in flight" \
            "$status $(jq '.findings[].places[].path | length' "$dir/out") $(summary complete)" '1 7506 true'
    done
done
tree
for i in {1..30}; do mkdir -p "w$i/a/b/c"; done
for d in w*/ w*/a w*/a/b w*/a/b/c; do for i in 1 2 3; do echo "$pat" >"$d/$i"; done; done
for threads in 1 7; do
    for flight in 1 64; do
        run timeout 60 bash -c 'ulimit -n 64; exec "$@"' _ "$WEIR" scan --json --threads=$threads --max-files-in-flight=$flight
        is "a wide tree by $threads threads, $flight in flight, 64 descriptors" \
            "$status $(summary files) $(jq '.findings[].places_total' "$dir/out") $(summary complete)" '1 360 360 true'
    done
done

tree
for i in {1..300}; do echo "$i $pat" >"$i"; done
for flight in 1 5 256; do
    # Out of memory, where the file system can do that: they are asked for ahead of being read.
    python3 -c 'import os
for name in os.listdir("."):
    fd = os.open(name, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)'
    run "$WEIR" scan --json --max-files-in-flight=$flight
    is "cold files, $flight in flight" "$status $(jq '.findings[].places_total' "$dir/out") $(summary complete)" '1 300 true'
done

# --- paths that lie in each other ---

tree
put a.c src/a.c src/b.c src/sub/d.c
ln src/a.c src/sub/hard
ln -s src link
all='a.c src/a.c src/b.c src/sub/d.c src/sub/hard'
while read -r given; do
    read -ra words <<<"$given"
    run "$WEIR" scan --json "${words[@]}"
    is "each file once: $given" "$(paths)" "$all"
    is "and counted once: $given" "$(summary files)" 5
done <<'EOF'
.
. src
src .
. src src/a.c
src/a.c src .
. .
. ./ src/..
. src/sub/d.c src/sub
a.c src
src/a.c src a.c src/sub/hard src/sub
EOF
run "$WEIR" scan --json . "$dir/tree/src" link
is 'also by other ways; the first name counts' "$(paths)" "$(echo "a.c $dir/tree/src/a.c $dir/tree/src/b.c $dir/tree/src/sub/d.c $dir/tree/src/sub/hard" | xargs -n1 | sort | xargs)"
for given in src src/ src// src///; do
    run "$WEIR" scan --json $given
    is "slashes at the end: $given" "$(paths)" 'src/a.c src/b.c src/sub/d.c src/sub/hard'
done
run "$WEIR" scan --json src/sub/hard src/a.c
is 'two names of one inode are two files' "$(paths)" 'src/a.c src/sub/hard'
run "$WEIR" scan --json . src/no-such-file
is 'one that is not there is told' "$(paths)|$(gaps)" "$all|src/no-such-file: cannot find: no such file or directory"

# --- .gitignore ---

tree
printf '*.log\n/build/\n!keep.log\nsub/only\n' >.gitignore
printf '!*.log\n*.tmp\n' >"$dir/nested"
mkdir -p sub build deep/er
cp "$dir/nested" sub/.gitignore
put x.c x.log keep.log build/x deep/build/x sub/a.log sub/a.tmp sub/only deep/er/x.log deep/er/x.tmp .hidden
run "$WEIR" scan --json
is 'without the option all is scanned' "$(jq '[.findings[].places[]] | length' "$dir/out") $(summary ignored_paths)" '11 0'
run "$WEIR" scan --json --respect-gitignore
is 'what is ignored is left out' "$(paths)" '.hidden deep/build/x deep/er/x.tmp keep.log sub/a.log x.c'
is 'and counted' "$status $(summary ignored_paths) $(summary complete)" '1 5 true'
run "$WEIR" scan --respect-gitignore --summary
expect 'in the summary, too' 1 '*' '*ignored by git: 5*'
run "$WEIR" scan --json --respect-gitignore sub
is 'a directory below: rules begin there when there is no repository' "$(paths)" 'sub/a.log sub/only'
git init -q .
run "$WEIR" scan --json --respect-gitignore sub deep/er
is 'in a repository those above apply' "$(paths)" 'deep/er/x.tmp sub/a.log'
run "$WEIR" scan --json --respect-gitignore "$dir/tree/sub"
is 'whatever the path is called' "$(paths)" "$dir/tree/sub/a.log"
cd sub
run "$WEIR" scan --json --respect-gitignore
is 'or when we are in there' "$(paths)" a.log
run "$WEIR" scan --json --respect-gitignore ../deep
is 'or somewhere else' "$(paths)" '../deep/build/x ../deep/er/x.tmp'
cd ..
run "$WEIR" scan --json --respect-gitignore build x.log
is 'a path that is given is scanned' "$(paths)" 'build/x x.log'
run "$WEIR" scan --json --respect-gitignore . build/x
is 'also together with the tree that ignores it' "$(paths)" '.hidden build/x deep/build/x deep/er/x.tmp keep.log sub/a.log x.c'
put .git/secret
run "$WEIR" scan --json --respect-gitignore
is '.git is left out' "$(paths)" '.hidden deep/build/x deep/er/x.tmp keep.log sub/a.log x.c'
run "$WEIR" scan --json
is 'and scanned without the option' "$(paths | tr ' ' '\n' | grep -c '^.git/secret$')" 1
mkdir -p module && git init -q module && put module/x.log module/x.c
run "$WEIR" scan --json --respect-gitignore module
is 'a repository in another has rules of its own' "$(paths)" 'module/x.c module/x.log'
run "$WEIR" scan --json --respect-gitignore
is 'also when the tree is walked' "$(paths)" '.hidden deep/build/x deep/er/x.tmp keep.log module/x.c module/x.log sub/a.log x.c'
# Against git itself, by many threads.
rm -rf module .git/secret
for d in p{1..20}; do put $d/{a,b}.{c,log,tmp} $d/build/x; printf '*.c\n!b.c\n' >$d/.gitignore; done
git ls-files -z --others --exclude-standard | xargs -0 grep -l "$pat" | sort | xargs >"$dir/git-says"
for threads in 1 5; do
    run "$WEIR" scan --json --respect-gitignore --threads=$threads
    is "as git has it, by $threads threads" "$(paths)" "$(cat "$dir/git-says")"
done
# Directories that are handed to other threads take the rules with them.
for i in {1..400}; do mkdir -p wide/$((i % 20))/$i/x; done
for d in wide/*/*/x; do echo "$pat" >"$d/a.log"; echo nothing >"$d/b.c"; done
for _ in 1 2 3; do
    run "$WEIR" scan --json --respect-gitignore --threads=5 wide
    is 'rules go with what is handed on' "$status $(summary files) $(summary ignored_paths)" '0 400 400'
done
rm -rf wide
head -c 1100000 /dev/zero | tr '\0' '\n' >p1/.gitignore
run "$WEIR" scan --json --respect-gitignore p1
is 'a file of rules that is too large is told' "$(summary complete) $(gaps)" \
    'false p1/.gitignore: cannot use the rules in: there are too many rules or too long ones'
rm p1/.gitignore && ln -s ../p2/.gitignore p1/.gitignore
run "$WEIR" scan --json --respect-gitignore p1
is 'a file of rules that is a symlink is none, as for git' "$(paths)" 'p1/a.c p1/a.tmp p1/b.c p1/b.tmp p1/build/x'

# --- what is staged ---

repository() {
    tree
    git init -q .
}
repository
run "$WEIR" scan --staged
expect 'nothing staged, no commit yet' 0 'nothing was scanned; 0 files*' ''
put a.txt 'sub/b c.txt' unstaged.txt
git add a.txt sub
run "$WEIR" scan --json --staged
is 'the first commit' "$status $(paths) $(summary files)" '1 a.txt sub/b c.txt 2'
rm -r sub
echo harmless >a.txt
run "$WEIR" scan --json --staged
is 'what is staged counts, not what lies there' "$(paths)" 'a.txt sub/b c.txt'
blob=$(git rev-parse :a.txt)
git replace "$blob" "$(echo harmless | git hash-object -w --stdin)"
run "$WEIR" scan --json --staged
is 'git replace hides nothing' "$status $(paths)" '1 a.txt sub/b c.txt'
run env GIT_REPLACE_REF_BASE=refs/replace/ "$WEIR" scan --json --staged
is 'wherever it is kept' "$status $(paths)" '1 a.txt sub/b c.txt'
git config core.useReplaceRefs true
run "$WEIR" scan --json --staged
is 'nor where the repository insists' "$status $(paths)" '1 a.txt sub/b c.txt'
git config --unset core.useReplaceRefs
git replace -d "$blob" >/dev/null
run env GIT_INDEX_FILE="$dir/none" "$WEIR" scan --staged
expect 'an index that is not there is told' 3 '*cannot list what is staged in it: there is no such file as GIT_INDEX_FILE names*' ''
git init -q --bare "$dir/bare"
cd "$dir/bare"
run "$WEIR" scan --staged
expect 'and a bare repository' 3 '*cannot list what is staged in it: it is a bare repository*' ''
cd - >/dev/null
git add a.txt && git rm -q --cached 'sub/b c.txt'
printf 'token: %s\n' "$pat" >a.txt
run "$WEIR" scan --json --staged
is 'also when that is worse' "$status $(summary files)" '0 1'
git commit -qm first
run "$WEIR" scan --json --staged
is 'after the commit nothing is staged' "$status $(summary files)" '0 0'
mkdir sub && cd sub
printf '%s' "$pat" >c && git add c
run "$WEIR" scan --json --staged
is 'from below, paths are those of the repository' "$status $(paths)" '1 sub/c'
cd ..
git commit -qm second
git mv sub/c sub/renamed && git commit -qm third
git config diff.renames copies && git config diff.noprefix true && git config diff.relative true && git config color.ui always
git mv sub/renamed sub/again
run "$WEIR" scan --json --staged
is 'a file with another name is a new one' "$(paths)" sub/again
chmod +x sub/again && git add sub/again && git commit -qm fourth
chmod -x sub/again && git add sub/again
run "$WEIR" scan --json --staged
is 'a change of mode is a change' "$(paths)" sub/again
git rm -q --cached sub/again
run "$WEIR" scan --json --staged
is 'what is removed is not scanned' "$status $(summary files)" '0 0'
git reset -q --hard
ln -s "x-$pat-x" link-x && ln -s "/$pat/" link && git add link
{ noise 100000; printf '\n%s\n' "$pat"; } >binary
: >empty
head -c 6000000 /dev/zero | tr '\0' '\n' >large && printf '%s\n' "$pat" >>large
head -c 4194304 /dev/zero | tr '\0' q >exact
printf '%s' "$pat" >"$bad"
printf '%s' "$pat" >"$newline"
git add binary empty large exact "$bad" "$newline"
run "$WEIR" scan --json --staged
is 'binary, empty, large, odd names, the target of a symlink' \
    "$status $(jq -r '.findings[].places[] | "\(.path | gsub("[^a-z]"; "?")):\(.line)"' "$dir/out" | grep -v '^in' | sort | xargs) $(summary files)" \
    '1 binary:'"$(jq -r '.findings[].places[] | select(.path=="binary").line' "$dir/out")"' large:6000001 link:1 new?line:1 7'
is 'and nothing is missing' "$(summary complete)" true
run "$WEIR" scan --json --staged --threads=1 --max-files-in-flight=1
is 'the same by one thread' "$(summary files) $(summary complete)" '7 true'
git reset -q --hard
echo "$pat" | gzip >a.gz
{ noise 6000000; printf '\n%s\n' "$pat"; } | gzip -1 >b.gz
git add a.gz b.gz
run "$WEIR" scan --json --staged
is 'archives are opened, small ones and large ones' "$status $(paths) $(summary complete)" '1 a.gz!a b.gz!b true'
git reset -q --hard
rm -rf "$dir/other" && git init -q "$dir/other" && git -C "$dir/other" commit -q --allow-empty -m x
git -c protocol.file.allow=always submodule --quiet add "$dir/other" module
run "$WEIR" scan --json --staged
is 'a submodule is counted' "$status $(summary submodules) $(summary files)" '0 1 1'
git reset -q --hard 2>/dev/null && rm -rf module
git checkout -q -b branch && printf '%s' "$other" >a.txt && git commit -qam branch
git checkout -q main && printf 'mine' >a.txt && git commit -qam mine
git merge -q branch >/dev/null 2>&1 || true
run "$WEIR" scan --json --staged
is 'a conflict is told' "$status $(gaps)" '3 a.txt: cannot scan: it is in conflict: resolve it and stage it again'
git checkout -q --theirs a.txt && git add a.txt
run "$WEIR" scan --json --staged
is 'until it is resolved' "$status $(paths)" '1 a.txt'
git reset -q --hard
for i in {1..300}; do printf '%s %s' "$i" "$pat" >"many-$i"; done
git add many-*
run "$WEIR" scan --json --staged --threads=3
is 'many files' "$(summary files) $(jq '.findings[].places_total' "$dir/out")" '300 300'
git reset -q --hard
printf '%s # weir:allow\n' "$pat" >allowed && git add allowed
run "$WEIR" scan --staged
expect 'comments allow' 0 '*1 allowed*' ''
put new.txt && git add new.txt
printf '[allowlist]\npaths = ["new"]\n[extend]\nuseDefault = true\n' >.gitleaks.toml
run "$WEIR" scan --json --staged
is 'configuration of the current directory is used' "$status $(summary allowed_paths) $(summary 'configs[0]')" '0 1 .gitleaks.toml'
rm .gitleaks.toml
run "$WEIR" scan --staged a.txt
expect 'paths are refused' 2 '' "*'--staged'*leave out paths*"
run "$WEIR" scan --staged --respect-gitignore
expect 'options about trees, too' 2 '' "*'--staged' reads no tree*"
run env PATH=/nonexistent "$WEIR" scan --staged
expect 'without git' 3 '*cannot list what is staged in it: there is no git on the PATH*' ''
mkdir "$dir/fake"
printf '#!/bin/sh\necho "error: it is raining" >&2\nexit 9\n' >"$dir/fake/git"
chmod +x "$dir/fake/git"
run env PATH="$dir/fake" "$WEIR" scan --staged
expect 'what git complains of is told' 3 '*cannot list what is staged in it: git: it is raining*' ''
printf '#!/bin/sh\nkill -9 $$\n' >"$dir/fake/git"
run env PATH="$dir/fake" "$WEIR" scan --staged
expect 'one that is killed' 3 '*git was ended by signal 9*' ''
printf '#!/bin/sh\necho hello\n' >"$dir/fake/git"
run env PATH="$dir/fake" "$WEIR" scan --staged
expect 'one that says something else' 3 '*git said something that is not understood*' ''
printf '#!/bin/sh\nexec yes\n' >"$dir/fake/git"
run timeout 60 env PATH="$dir/fake:$PATH" "$WEIR" scan --staged
expect 'one that does not stop talking' 3 '*git said something that is not understood*' ''
printf '#!/bin/sh\n%s "$@" | head -c 90\nkill -9 $$\n' "$(command -v git)" >"$dir/fake/git"
run env PATH="$dir/fake:$PATH" "$WEIR" scan --json --staged
is 'one that dies in the middle' "$status $(gaps)" \
    '3 .: cannot list what is staged in: git was ended by signal 9'
is 'is told once' "$(grep -c 'cannot list' "$dir/err")" 1
printf '#!/bin/sh\ncase "$*" in *diff*) exec %s "$@";; esac\nread id\necho $id | %s "$@" | head -c 60\nkill -9 $$\n' \
    "$(command -v git)" "$(command -v git)" >"$dir/fake/git"
run env PATH="$dir/fake:$PATH" "$WEIR" scan --json --staged
is 'or in the middle of a blob' "$status $(gaps | grep new.txt)" \
    '3 new.txt: cannot read: git was ended by signal 9'
printf '#!/bin/sh\ncase "$*" in *diff*) exec %s "$@";; esac\necho "fatal: no objects today" >&2; exit 128\n' "$(command -v git)" >"$dir/fake/git"
run env PATH="$dir/fake:$PATH" "$WEIR" scan --staged
expect 'blobs that cannot be had' 3 '*new.txt: cannot read: git: no objects today*' ''
rm -f .git/objects/"$(git rev-parse :new.txt | sed 's,^..,&/,')"
run "$WEIR" scan --staged
expect 'a blob that is gone' 3 '*new.txt: cannot read: git has no such object*' ''
printf '#!/bin/sh\nexec sleep 600\n' >"$dir/fake/git"
status=0
(exec env --default-signal=TERM PATH="$dir/fake:$PATH" "$WEIR" scan --staged >"$dir/out" 2>"$dir/err") &
pid=$!
for _ in $(seq 200); do
    child=$(pgrep -P $pid 2>/dev/null || true)
    [[ -z $child ]] || break
    sleep 0.05
done
kill -TERM $pid
wait $pid || status=$?
is 'a git that hangs can be stopped' "$status" 143
for _ in $(seq 200); do
    kill -0 "$child" 2>/dev/null || break
    sleep 0.05
done
is 'and does not stay behind' "$(kill -0 "$child" 2>/dev/null && echo alive || echo gone)" gone
cd "$dir" && mkdir -p nothing && cd nothing
run "$WEIR" scan --staged
expect 'outside of a repository' 3 '*cannot list what is staged in it: it is in no repository of git: go into one, or name paths without --staged*' ''

# --- hooks ---

repository
hook=.git/hooks/pre-commit
printf '#!/bin/sh\nexec "%s" scan --staged --quiet\n' "$WEIR" >$hook
chmod +x $hook
echo fine >a.txt && git add a.txt
run git commit -qm one
is 'a commit without secrets passes' "$status $(git log --oneline | wc -l)" '0 1'
put leak.txt && git add leak.txt
run git commit -qm two
is 'one with a secret does not' "$status $(git log --oneline | wc -l)" '1 1'
is 'and is told why' "$(grep -c github-pat "$dir/out" "$dir/err" | grep -c ':[1-9]')" 1
run git commit -qm two a.txt --allow-empty
is 'a commit of other files alone passes' "$status" 0
echo 'fine, too' >leak.txt
run git commit -qam three
is 'after the secret is gone it passes' "$status" 0
put b.txt && git add b.txt && echo more >>a.txt
run git commit -qm four a.txt
is 'the index of the commit counts, not the other one' "$status $(git status --porcelain | xargs)" '0 A b.txt'
run git commit -qam five
is 'with all it does not pass' "$status" 1

root=$(cd "$(dirname "$0")/../.." && pwd)
run python3 - "$root/.pre-commit-hooks.yaml" "$WEIR" <<'PY'
import re, subprocess, sys
try:
    import yaml
    hooks = yaml.safe_load(open(sys.argv[1]))
except ImportError:
    text = open(sys.argv[1]).read()
    hooks = [dict(re.findall(r"^(?:- |  )(\w+): +(.*)$", text, re.M))]
for hook in hooks:
    for key in ("id", "name", "entry", "language"):
        assert hook[key], key
    words = hook["entry"].split()
    assert words[0] == "weir", words
    options = subprocess.run([sys.argv[2], "scan", "--help"], capture_output=True, text=True).stdout
    for word in words[2:]:
        assert word in options, word
    assert "--staged" not in words or str(hook["pass_filenames"]).lower() == "false"
PY
is 'the definition for pre-commit runs what there is' "$status" 0

# The filter for GitLab's report stands in the documents.
sed -n '/^```jq$/,/^```$/p' "$root/docs/scan-hooks.md" | sed '1d;$d' >"$dir/gitlab.jq"
tree
put src/leak.txt
"$WEIR" scan --json --output="$dir/weir.json" 2>/dev/null || true
run jq --arg started 2026-01-01T00:00:00 --arg ended 2026-01-01T00:00:01 --arg commit 0123abcd -f "$dir/gitlab.jq" "$dir/weir.json"
is 'the report for GitLab' "$status $(jq -r '[.version, .scan.type, .scan.status, .scan.analyzer.vendor.name,
    (.vulnerabilities[] | .location.file, .location.start_line, .location.commit.sha, .identifiers[0].value, (.id | length))] | join(" ")' "$dir/out")" \
    '0 15.0.7 secret_detection success Weir src/leak.txt 1 0123abcd github-pat 36'

# --- the git that says nothing ---

wait $silent
cp "$dir/silent/out" "$dir/out"
is 'a git that says nothing is given up' "$(cat "$dir/silent/status") $(gaps)" \
    '3 .: cannot list what is staged in: git does not answer'
is 'after 30 seconds' "$(jq '.summary.seconds >= 30' "$dir/out")" true
left=$(sed -n 's/^State:\t\([^Z]\).*/\1/p' "/proc/$(cat "$dir/silent/pid")/status" 2>/dev/null || true)
is 'and what it started does not stay behind' "$left" ''

# --- progress ---

tree
put a b
run "$WEIR" scan --progress
expect 'a short scan shows none' 1 '*' ''

finish
