#!/bin/bash
# Scans of a history, once and again: what is told does not depend on what is remembered, by whom it was scanned,
# and where from. Every option either is a part of what a scan is remembered under, or does not matter to it.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git zip
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
clock=1700000000

begin() { # in a new repository, of which nothing is remembered
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main r
    cd r
}
commit() { # all there is, a minute later
    clock=$((clock + 60))
    git add -A
    GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000" git commit -qm m
}
found() { # rule:path:commit, one on a line; options
    run "$WEIR" scan --history=only --json --show-secrets "$@" .
    [[ $status != 1 ]] || jq -r '.findings[] | .rule as $rule | .places[]
        | "\($rule):\(.path):\(.commit[:7])"' "$dir/out" | sort
    [[ $status == 1 ]] || echo "status $status: $(summary complete)"
}
agree() { # name, wanted; options
    is "$1, without a state" "$(found --no-state "${@:3}")" "$2"
    is "$1" "$(found "${@:3}")" "$2"
    is "$1, again" "$(found "${@:3}")" "$2"
    is "$1, in full" "$(found --full-scan --no-state "${@:3}")" "$2"
}
head=
at() { # lines "rule:path", with the last commit
    head=$(git rev-parse HEAD)
    printf '%s\n' "${@/%/:${head:0:7}}"
}
cat >"$dir/rules.toml" <<'END'
[[rules]]
id = 'one'
regex = 'one_[0-9]{12}'
[[rules]]
id = 'two'
regex = 'two_[0-9]{12}'
[[rules.allowlists]]
paths = ['^docs/']
END
one=one_123456789012 two=two_123456789012

# --- paths ---

begin
mkdir docs src
printf '%s\n' $one $two | tee docs/a docs/b >src/a
commit
agree 'a rule for which one of three paths is allowed' "$(at one:docs/a one:src/a two:src/a)" \
    --config="$dir/rules.toml"

begin
mkdir docs src
echo $two >docs/a
commit
cp docs/a src/a
commit
agree 'the commit is the one that brought it to that path' "$(at two:src/a)" --config="$dir/rules.toml"

begin
mkdir docs src
for i in $(seq 10 60); do echo $two >docs/"$i"; done
cp docs/10 src/a
commit
agree 'a path behind many that are allowed' "$(at two:src/a)" --config="$dir/rules.toml"

begin
mkdir docs src
for i in docs src; do
    echo $two >$i/a
    (cd $i && zip -qX ../all.zip a && rm a)
done
cp all.zip docs/a.zip
mv all.zip src/a.zip
commit
agree 'members of an archive at two paths' "$(at two:src/a.zip\!a)" --config="$dir/rules.toml"

begin
mkdir docs src
echo $one >a.txt
zip -qX src/a.zip a.txt
rm a.txt
cp src/a.zip docs/a.zip
cat >"$dir/spans.toml" <<'END'
[[rules]]
id = 'one'
regex = 'one_[0-9]{12}'
[[rules.allowlists]]
paths = ['^docs/.*\.txt$']
END
commit
agree 'an expression for the path of an archive and that of its member' "$(at one:src/a.zip\!a.txt)" \
    --config="$dir/spans.toml"

# Of a set of n expressions each path has another answer: more than there may be.
begin
for i in $(seq 300); do
    mkdir -p "d$i"
    echo $one >"d$i/a"
    printf '[[rules]]\nid = "r%s"\nregex = "never_[0-9]{12}"\npath = "^d%s/"\n' "$i" "$i"
done >"$dir/many.toml"
printf '[[rules]]\nid = "one"\nregex = "one_[0-9]{12}"\n' >>"$dir/many.toml"
commit
for i in first again; do
    run "$WEIR" scan --history=only --json --config="$dir/many.toml" .
    is "too many verdicts are told, $i" "$status $(summary complete)" '1 false'
    has_gap "with their reason, $i" '*lies at too many paths of which rules, or names, say different things*'
done

# --- names ---

begin
touch "$pat" "$other"
commit
agree 'equal files with secrets in their names' "$(at "github-pat:$pat" "github-pat:$other" | sort)"

begin
mkdir "$pat" "$other"
touch "$pat/__init__.py" "$other/__init__.py"
commit
agree 'equal folders with secrets in their names' \
    "$(at "github-pat:$pat/__init__.py" "github-pat:$other/__init__.py" | sort)"

begin
echo "k = \"$pat\"" >a.txt
cp a.txt "z-$other.txt"
commit
agree 'a secret in a file, and another in a second name of it' \
    "$(at github-pat:a.txt "github-pat:z-$other.txt" "github-pat:z-$other.txt")"

begin
echo 0 >"$pat"
commit
wanted=$(at "github-pat:$pat")
for i in 1 2 3 4 5 6; do
    echo $i >"$pat"
    commit
done
agree 'versions of a file with a secret in its name' "$wanted"
is 'each of them counts' "$(jq '.findings[].places[].versions' "$dir/out")" 7

# --- commits ---

begin
echo $two >a
commit
first=$(git rev-parse HEAD)
git rm -q a
commit
echo $two >b
commit
printf '[[rules]]\nid = "two"\nregex = "two_[0-9]{12}"\n[[rules.allowlists]]\ncommits = ["%s"]\n' "$first" \
    >"$dir/commits.toml"
agree 'what an allowed commit brought, and another one brought back' "$(at two:b)" --config="$dir/commits.toml"
git mv b a
commit
git reset -q --soft HEAD~2
commit # as if b had never been
git reflog expire --expire=now --all
git gc -q --prune=now
agree 'the same at the same path' "$(at two:a)" --config="$dir/commits.toml"

# --- archives, by many threads ---

begin
for i in $(seq 40); do echo "k$i = \"$pat\"" >"f$i"; done
zip -qX a.zip f*
rm f*
commit
wanted=$(for i in $(seq 40); do at "github-pat:a.zip!f$i"; done | sort)
for i in $(seq 10); do
    rm -rf "$XDG_STATE_HOME"
    once=$(found --threads=4)
    [[ $once == "$wanted" && $(found --threads=4) == "$wanted" ]] || break
done
is 'members of an archive, by four threads, again and again' "$i $(found --threads=4)" "10 $wanted"

# --- versions of a file, of which what both begin and end with is known ---

begin
for version in {1..24}; do
    first=$((version * 7 % 40)) last=$((200 - version * 11 % 60)) digits=$(printf %012d "$version")
    {
        ((version % 5 == 0)) || printf 'begin one_%012d\n' $((version / 3))
        seq "$first" 90
        ((version % 3 != 0)) || printf 'between two_%s %s' "$digits" ''
        ((version % 4 == 0)) || base64 <<<"two_9${digits:1} in the middle of it"
        seq 91 "$last"
        printf '%.*s' $((version % 18)) "one_7${digits:1}_"
    } >a
    commit
done
wanted=$(found --full-scan --no-state --config="$dir/rules.toml")
is 'versions of a file are many findings' "$(($(wc -l <<<"$wanted") > 24))" 1
agree 'versions of a file' "$wanted" --config="$dir/rules.toml"
git repack -qadf --depth=3
rm -rf "$XDG_STATE_HOME"
agree 'versions of a file, packed' "$wanted" --config="$dir/rules.toml"

# --- what nothing leads to, and what comes and goes ---

same() { # name, wanted; options: as without a state
    is "$1, without a state" "$(found --no-state "${@:3}")" "$2"
    is "$1" "$(found "${@:3}")" "$2"
}
lose() { # all that HEAD does not have
    git reflog expire --expire=now --all
    rm -f .git/ORIG_HEAD
}
begin
echo x >x
commit
mkdir docs
echo $two >docs/a
commit
git reset -q --hard HEAD~1
lose
same 'what a lost commit has at a path that is allowed' 'status 0: true' --config="$dir/rules.toml"
mkdir -p src
echo $two >src/a
commit
wanted=$(at two:src/a)
git reset -q --hard HEAD~1
lose
same 'another one has it elsewhere' "$wanted" --config="$dir/rules.toml"

begin
echo x >x
commit
mkdir old
echo "k = \"$pat\"" >old/k
commit
git reset -q --hard HEAD~1
lose
echo "k = \"$pat\"" >new
git add new
same 'what is staged, and lost elsewhere' 'github-pat:new:null'
echo "k = \"$other\"" | git hash-object -w --stdin >/dev/null
is 'whatever else is lost' "$(found --no-state | grep -v blob:)" 'github-pat:new:null'

begin
printf 'k = "%s"\n' "$pat" >a
mkdir sub
cp a sub/k
echo >>sub/k
git add -A
commit
git rm -q --cached sub/k
damaged=$(git rev-parse HEAD:sub)
damaged=.git/objects/${damaged:0:2}/${damaged:2}
cp "$damaged" "$dir/whole"
chmod u+w "$damaged"
echo damaged >"$damaged"
by() { # how what is in sub is reached
    run "$WEIR" scan --history=only --json "$@" .
    jq -r '.findings[].places[] | select(.path | test("^blob:|^sub")) | "\(.path | .[:4]) \(.by)"' "$dir/out"
}
is 'below a tree that cannot be read' "$(by)" 'blob unknown'
is 'the same again' "$(by)" 'blob unknown'
cp "$dir/whole" "$damaged"
is 'and when it can' "$(by)" 'sub/ null'

begin
git config uploadpack.allowFilter true
git config uploadpack.allowAnySHA1InWant true
echo x >"$pat.txt"
commit
blob=$(git rev-parse "HEAD:$pat.txt")
git clone -q --bare --filter=blob:none "file://$PWD" ../partial.git
cd ../partial.git
run "$WEIR" scan --history=only --json .
git cat-file -p "$blob" >/dev/null
same 'a name of what was promised, and is there' "github-pat:$pat.txt:$(git -C ../r rev-parse --short=7 HEAD)"

begin
echo x >x
commit
git repack -adq
found >/dev/null
blob=$(git hash-object -w x)
tree=$(seq -f "100644 blob $blob"$'\t''file_number_%06.0f' 60000 | git mktree)
git update-ref refs/heads/wide "$(git commit-tree -m m "$tree")"
git repack -dq
for i in 1 2 3; do
    is "a tree that is too large for the memory: $i" "$(found --delta-cache=1M)" 'status 3: false'
done
is 'and is looked at when it is not' "$(found)" 'status 0: true'

# --- what is allowed is counted, in each version that has it ---

begin
seq 500 >a
echo "t = \"$pat\" # weir:allow" >>a
commit
for i in 1 2; do
    echo "$i" >>a
    commit
done
git commit -q --allow-empty -m "t = \"$pat\" # weir:allow"
git repack -qad
for options in --no-state '--no-state --full-scan' --threads=2; do
    # shellcheck disable=SC2086 # one, or two
    run "$WEIR" scan --history=only --json $options .
    is "three versions and a message, $options" "$status $(summary allowed)" '0 4'
done
run "$WEIR" scan --history=only --json .
is 'none of what was not looked at again' "$status $(summary allowed)" '0 0'

# --- what cannot be read in one of two places ---

damage() { # an object in the only pack, where its packed bytes begin: the name of it
    local pack=(.git/objects/pack/*.pack)
    local at
    at=$(git verify-pack -v "${pack[0]%.pack}.idx" | awk -v id="$1" '$1 == id { print $5 }')
    chmod u+w "${pack[0]}"
    printf '\377\377\377\377' | dd of="${pack[0]}" bs=1 seek=$((at + 8)) conv=notrunc status=none
}
told() { # the same four times, of which this has to say nothing else than the first; name, a pattern, what mends it
    local wanted i
    run "$WEIR" scan --history=only --no-state --json .
    wanted="$status $(gaps)"
    has_gap "$1" "$2"
    for i in first second third; do
        run "$WEIR" scan --history=only --json .
        is "$1, the $i time with a state" "$status $(gaps)" "$wanted"
    done
    $3
    is "$1, and when it is mended" "$(found)" 'status 0: true'
}
begin
for i in 1 2 3; do seq "$i" "${i}000" >"f$i"; done
commit
git repack -qa # and loose ones stay
damage "$(git rev-parse HEAD:f2)"
told 'a damaged copy in a pack' '*it cannot be unpacked*' 'rm -f .git/objects/pack/*'

begin
for i in 1 2 3; do seq "$i" "${i}000" >"f$i"; done
commit
git repack -qa
damaged=$(git rev-parse HEAD:f2)
damaged=.git/objects/${damaged:0:2}/${damaged:2}
chmod u+w "$damaged"
noise 300 >"$damaged"
told 'a damaged loose copy' '*it is damaged*' "rm -f $damaged"

begin
mkdir d
for i in $(seq 50); do echo "$i" >"d/f$i"; done
commit
git repack -qad
gone=$(echo gone | git hash-object -w --stdin)
is 'all is well, and remembered' "$(found)" 'status 0: true'
damage "$(git rev-parse HEAD:d)"
rm -f ".git/objects/${gone:0:2}/${gone:2}"
run "$WEIR" scan --history=only --json .
has_gap 'a tree that is damaged is met when something else is gone' '*it cannot be unpacked*'
run "$WEIR" scan --history=only --json .
has_gap 'and told again' '*it cannot be unpacked*'

# --- where it is scanned from ---

begin
mkdir docs
echo $two >docs/a
commit
cd ..
sed 's/\^docs/^r\/docs/' "$dir/rules.toml" >"$dir/shown.toml"
for options in '' --no-state; do
    # shellcheck disable=SC2086 # none, or one
    run "$WEIR" scan --history=only --json $options --config="$dir/shown.toml" "$dir/tree/r"
    is "a path that is allowed as the current folder has it $options" "$status" 0
    cd /
    # shellcheck disable=SC2086
    run "$WEIR" scan --history=only --json $options --config="$dir/shown.toml" "$dir/tree/r"
    cd "$dir/tree"
    is "and is not as another one has it $options" "$status" 1
done

# --- options ---

# Each has a value with which something else may be found than without it.
decides=(--rule=github-pat --no-allow-comments --decode-depth=1 --archive-depth=1 --max-archive-entries=5
    --max-entry-bytes=1000 --max-archive-bytes=1000 --max-archive-ratio=2 --spill-slots=0 "--config=$dir/rules.toml"
    --trust-config --max-memory=1G --profile=ci --scan-ring=1M)
# Each has a value with which nothing else may be: what is remembered holds.
passes=(--format=json --json "--output=$dir/report" --show-secrets --summary --no-progress --verbose --quiet
    --exit-zero "--ignore-file=$dir/none" "--baseline=$dir/none.json" --history=only "--repos-from=$dir/list"
    --from0 "--find-repos=$dir/tree" --submodules --respect-gitignore --one-file-system
    --max-fetch-size=1M --fetch-timeout=1s --delta-cache=8M
    --explain-limits --metrics-listen=127.0.0.1:0 "--device-slots=/=1" --threads=1 --max-files-in-flight=1)
# With these nothing is remembered, or no history is scanned as a whole.
apart=(--no-state --full-scan --reachable --refs --range --since --staged --files-from --store --help)

begin
mkdir sub
echo "t = \"$pat\" # gitleaks:allow" >b
printf 'title = "x"\n[[rules]]\nid = "one"\nregex = "one_[0-9]{12}"\n' >.weir.toml
commit
: >"$dir/none"
echo '[]' >"$dir/none.json"
printf '%s\0' "$PWD" >"$dir/list"
cd ..
looked() { # objects that were looked at; options
    local words=("$dir/tree/r")
    case $* in
    --repos-from* | --from0) words=(-0 --repos-from="$dir/list") ;;
    --find-repos*) words=(--find-repos="$dir/tree") ;;
    esac
    rm -f "$dir/report"
    run "$WEIR" scan --history=only --json "${@/#--repos-from*/--from0}" "${words[@]}"
    [[ ! -s $dir/report ]] || cp "$dir/report" "$dir/out"
    jq .summary.objects "$dir/out" || said
}
for option in "${passes[@]}" "${decides[@]}"; do
    rm -rf "$XDG_STATE_HOME"
    looked --threads=2 >/dev/null
    again=$(looked "$option")
    case " ${decides[*]} " in
    *" $option "*) is "another scan is remembered with ${option%%=*}" "$again" 3 ;;
    *) is "what is remembered holds with ${option%%=*}" "$again" 0 ;;
    esac
done

rm -rf "$XDG_STATE_HOME"
looked >/dev/null
is 'a scan in full does not rely on what is remembered' "$(looked --full-scan)" 3
rm -rf "$XDG_STATE_HOME"
is 'and remembers' "$(looked --full-scan) $(looked)" '3 0'

# --- packs that are as they were ---

begin
for i in {1..8}; do
    echo "$i" >a
    commit
    git repack -qd
done
touch -d '1 minute ago' .git/objects/pack
opened() { # files of packs that a scan opens; options
    run strace -f -qq -e trace=open,openat -o "$dir/calls" "$WEIR" scan --history=only "$@" .
    grep -cE 'pack-[0-9a-f]+[.]' "$dir/calls"
}
is 'there are packs' "$(find .git/objects/pack -name '*.pack' | wc -l)" 8
if [[ ${SANITIZED:-none} == none ]] && strace -qq -o /dev/null true 2>/dev/null; then
    check 'a first scan opens them' test "$(opened)" -ge 16
    is 'another one opens none' "$(opened)" 0
else
    skip 'which packs are opened' 'strace cannot be used here'
    "$WEIR" scan --history=only . >/dev/null
fi
pack=$(find .git/objects/pack -name '*.pack' | head -1)
touch -r "$pack" "$dir/time"
chmod u+w "$pack"
printf X | dd of="$pack" bs=1 seek=$(($(stat -c %s "$pack") - 1)) conv=notrunc status=none
touch -r "$dir/time" "$pack"
run "$WEIR" scan --history=only --json .
is 'one that was written to, with its time set back, is' "$status" 3
has_gap 'and is told' '*its end is not what its index says*'

# --- many packs, of which few are of interest ---

# More than are open at once: to find an object all their indexes would be looked at.
begin
for i in {1..40}; do
    echo "$i" >"f$i"
done
echo "key = $pat" >k
commit
git rev-list --objects --all | cut -d' ' -f1 | while read -r id; do
    echo "$id" | git pack-objects -q .git/objects/pack/pack >/dev/null
done
git prune-packed -q
packs() { find .git/objects/pack -name '*.pack' | wc -l; }
settle() { touch -d '1 minute ago' .git/objects/pack; }
another() { # a pack with one more blob
    echo "$1" | git hash-object -w --stdin | git pack-objects -q .git/objects/pack/pack >/dev/null
    git prune-packed -q
    settle
}
settle
is 'there are many packs' "$(packs)" 43
if [[ ${SANITIZED:-none} == none ]] && strace -qq -o /dev/null true 2>/dev/null; then
    check 'a first scan opens them' test "$(opened)" -ge 86
    check 'another one opens those of what it has found' test "$(opened)" -le 9
    is 'which it finds' "$(grep -c github-pat "$dir/out")" 1
    another one
    check 'if there is one more it opens this one as well' test "$(opened)" -le 15
    check 'and not the next time' test "$(opened)" -le 9
    check 'a scan in full opens all' test "$(opened --full-scan)" -ge 86
else
    skip 'which of many packs are opened' 'strace cannot be used here'
    run "$WEIR" scan --history=only .
    another one
    run "$WEIR" scan --history=only .
fi
another "key = $other"
: >"$dir/time"
sleep 0.1
run "$WEIR" scan --history=only --json .
is 'what one more has in it is found' "$status $(jq '.findings | length' "$dir/out") $(jq .summary.objects "$dir/out")" '1 2 1'
# One whose bytes are wrong.
another "$(seq 100)"
name=$(find .git/objects/pack -name '*.pack' -newer "$dir/time")
cp "$name" "$dir/whole"
chmod u+w "$name"
printf XXXX | dd of="$name" bs=1 seek=60 conv=notrunc status=none
for i in 1 2 3; do
    run "$WEIR" scan --history=only --json .
    is "one that is damaged is told by scan $i" "$(summary complete) $(jq '.findings | length' "$dir/out")" 'false 2'
    if ((i == 1)) || [[ ${SANITIZED:-none} != none ]]; then continue; fi
    strace -qq -o /dev/null true 2>/dev/null || continue
    check "and others are not opened by scan $i" test "$(opened)" -le 15
done
cp "$dir/whole" "$name"
run "$WEIR" scan --history=only --json .
is 'until it is mended' "$(summary complete) $(jq '.findings | length' "$dir/out")" 'true 2'
# One that is gone is missed, whatever else has come.
pack=$(git rev-parse HEAD:f7 | git pack-objects -q "$dir/made" | sed "s,.*,$dir/made-&.pack,")
name=.git/objects/pack/pack-${pack##*made-}
check 'it is one of them' cmp -s "$pack" "$name"
rm -f "$name" "${name%.pack}.idx"
another two
run "$WEIR" scan --history=only --json .
is 'one that is gone is missed' "$(summary complete)" false
has_gap 'and is told' "*it is missing: 'f7'*"
cp "$pack" "$name"
cp "${pack%.pack}.idx" "${name%.pack}.idx"
settle
run "$WEIR" scan --history=only --json .
is 'and is scanned when it is back' "$(summary complete) $(summary objects)" 'true 1'
# Loose objects that are gone, beside a pack that came.
echo loose >l
git add l
commit
id=$(git rev-parse HEAD:l)
run "$WEIR" scan --history=only .
rm -f ".git/objects/${id:0:2}/${id:2}"
another three
run "$WEIR" scan --history=only --json .
is 'a loose object that is gone is missed' "$(summary complete)" false

# --- where nothing can be remembered ---

begin
echo well >a
commit
: >"$dir/file"
for option in --quiet --json; do
    run env XDG_STATE_HOME="$dir/file" "$WEIR" scan --history=only $option . .
    is "a state that cannot be written is told once, with $option" "$status $(grep -c 'nothing is remembered' "$dir/err")" '0 1'
done
run env XDG_STATE_HOME="$dir/file" "$WEIR" scan --history=only --no-state .
is 'and not if none is wanted' "$status $(grep -c 'nothing is remembered' "$dir/err")" '0 0'
run env XDG_STATE_HOME="$dir/file" "$WEIR" scan --history=no .
is 'or there is no history' "$(grep -c 'nothing is remembered' "$dir/err")" 0

names() { sed 's/=.*//; s/^--no-/--/' | sort -u; }
is 'each option is one of these' \
    "$("$WEIR" scan --help | grep -oE '^ {2,6}(-., )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | names)" \
    "$(printf '%s\n' "${decides[@]}" "${passes[@]}" "${apart[@]}" | names)"

finish
