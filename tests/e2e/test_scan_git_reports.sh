#!/bin/bash
# weir scan on histories: what its reports and messages say, and what they must not show.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
export GIT_AUTHOR_DATE='2024-05-01T12:30:00+02:00' GIT_COMMITTER_DATE='2024-05-01T12:30:00+02:00'
formats='human json jsonl sarif csv junit github gitleaks html'

begin() { # in a new repository
    tree
    git init -q -b main r
    cd r
}
commit() {
    git add -A
    git commit -qm "${1:-change}"
}
lose() { # a loose object
    local id
    id=$(git rev-parse "$1")
    rm -f ".git/objects/${id:0:2}/${id:2}"
}
scan() {
    run "$WEIR" scan --no-state --history=only "$@"
}
shows_nothing() { # name, what must not be shown by any format
    local format shown=
    for format in $formats; do
        scan -f "$format" .
        if grep -q -e "$2" "$dir/out" "$dir/err"; then shown+=" $format"; fi
    done
    is "$1" "$shown" ''
}

# --- reasons ---

middle=${pat:8:20}
begin
echo hi >a
commit
mkdir -p .git/logs/refs/heads
echo garbage >".git/refs/heads/garbage-$pat"
echo 1111111111111111111111111111111111111111 >".git/refs/heads/gone-$pat"
echo garbage >".git/logs/refs/heads/log-$pat"
ln -s "/nowhere/$pat" ".git/refs/heads/link-$pat"
echo "ref: refs/heads/..$pat" >.git/refs/heads/symbolic
echo garbage >".git/refs/heads/$(printf 'a%.0s' {1..50})-$pat" # cut in the middle of the token
shows_nothing 'names of refs and logs that cannot be read: no format shows what is in them' "$middle"
scan --json .
is 'and each of them is told' "$(gaps | grep -c "ref 'refs/heads\|log 'logs/refs")" 6
has_gap 'by the ends of what is hidden' "*ref 'refs/heads/garbage-ghp_*${pat: -4}'*"
scan --json --show-secrets .
has_gap 'and in full by --show-secrets' "*ref 'refs/heads/garbage-$pat'*"

begin
mkdir "$pat"
echo one >"cfg-$pat"
echo two >"$pat/two"
echo three >'password=hunter2hunter'
commit
for file in "cfg-$pat" "$pat/two" 'password=hunter2hunter'; do lose "HEAD:$file"; done
shows_nothing 'the path of a file that is missing: no format shows what is in it' "$middle\|hunter2"
scan --json .
has_gap 'and what is missing is told' "*'cfg-ghp_*${pat: -4}' of commit $(git rev-parse HEAD)*"
is 'the name of a file that is missing is a finding' "$status $(jq -r '.findings[] | select(.rule == "github-pat")
    | .places[] | "\(.path) \(.commit) \(.author)"' "$dir/out" | grep -c "^[^ ]*ghp_.* $(git rev-parse HEAD) A$")" '1 2'

# --- nothing ---

tree
mkdir empty
for list in '' '\n\n'; do
    # shellcheck disable=SC2059 # it is a format
    printf "$list" >list
    run "$WEIR" scan --repos-from=list
    is "a list without names ('$list') is told" "$status $(grep -c \
        '^not scanned: list: cannot find a name in it: the list is empty\|^nothing was scanned;' "$dir/out")" '3 2'
done
expect_nothing() { # name; how it is scanned
    run "$WEIR" scan --no-state "${@:2}"
    is "$1: complete, and not called free of secrets" "$status $(grep -c '^nothing was scanned; 0 files' "$dir/out")" '0 1'
}
expect_nothing 'a folder without files' empty
expect_nothing 'a list of files without names' --files-from=list
git init -q -b main r
expect_nothing 'a repository without objects' --history=only r
for _ in 1 2; do
    run "$WEIR" scan --history=only r
    is 'and with what is remembered of it' "$(head -c 19 "$dir/out")" 'nothing was scanned'
done
run "$WEIR" scan -f junit empty
is 'junit says so, too' "$(grep -c 'name="nothing was scanned"/>' "$dir/out")" 1
echo hi >r/a
git -C r add -A
git -C r commit -qm change
expect_nothing 'a part of the history in which there is nothing' --history=only --range=HEAD..HEAD r
for _ in 1 2; do
    run "$WEIR" scan --history=only r
    is 'what was scanned before has no secrets' "$status $(head -c 16 "$dir/out")" '0 no secrets found'
done

# --- one spelling of a path ---

tree
git init -q -b main lib
echo "token = \"$pat\"" >lib/f
git -C lib add -A
git -C lib commit -qm change
git init -q -b main top
for path in sub deep/sub; do git -C top -c protocol.file.allow=always submodule --quiet add ../lib "$path" 2>/dev/null; done
git -C top commit -qm change
same_paths() { # name, paths; how they are scanned
    scan --json "${@:3}"
    is "$1" "$(places | tr '\n' ' ')" "$2"
}
for top in top top/ ./top "$PWD/top"; do
    plain=${top#./} plain=${plain%/}
    same_paths "submodules of '$top'" "$plain/deep/sub/f $plain/sub/f " --submodules "$top"
    same_paths "the same when they are looked for in '$top'" "$plain/deep/sub/f $plain/sub/f " --find-repos="$top"
done
cd top
for top in . ./; do
    same_paths "submodules of '$top'" 'deep/sub/f sub/f ' --submodules "$top"
    same_paths "the same when they are looked for in '$top'" 'deep/sub/f sub/f ' --find-repos="$top"
done
echo ./sub >../list
same_paths 'a repository of a list' 'sub/f ' --repos-from=../list

cd ..
git clone -q top clone
scan --json --submodules clone
is 'submodules that are not initialised: incomplete' "$status $(summary complete)" '3 false'
has_gap 'and named' "*submodules are not initialised, *: 'deep/sub', 'sub'"
scan --json clone
is 'unless nobody asked for them' "$status $(summary complete)" '0 true'
git -C top submodule --quiet deinit -f sub 2>/dev/null
scan --json --submodules top
is 'one that is not checked out any more is scanned' "$status $(summary complete)" '1 true'

# --- all paths, who and when ---

begin
mkdir d
echo "token = \"$pat\"" | tee a b 'd/100%' >/dev/null
commit
echo more >>a
cp a later
GIT_AUTHOR_DATE=2024-05-02T12:30:00+02:00 GIT_COMMITTER_DATE=2024-05-02T12:30:00+02:00 commit second
first=$(git rev-parse HEAD~)
scan --json .
is 'JSON lists all paths, also those of later versions' "$(jq -c '.findings[].places[].paths' "$dir/out")" \
    '["a","b","d/100%","later"]'
cd ..
scan --json r
is 'behind the path of the repository' "$(jq -c '.findings[].places[].paths' "$dir/out")" \
    '["r/a","r/b","r/d/100%","r/later"]'
cd r
scan .
is 'a person sees them' "$(grep -c '^ *also at b, d/100%, later$' "$dir/out")" 1
brought="commit $first by A, 2024-05-01T12:30:00+02:00, also at b, d/100%, later"
for format in junit html; do
    scan -f "$format" .
    is "$format says who brought it, when, and the paths" "$(grep -c "$brought" "$dir/out")" 1
done
scan -f github .
is 'github says who brought it, when, and the paths' "$(grep -c "^::error.*${brought//%/%25} (fing" "$dir/out")" 1
scan -f csv .
is 'csv says who brought it, when, and the paths' \
    "$(head -1 "$dir/out" | tr -d '\r') $(tail -1 "$dir/out" | tr -d '\r' | grep -o ',"A".*')" \
    "$(head -1 "$dir/out" | grep -o '^.*,places'),author,email,date,other_paths,by ,\"A\",\"a@x\",\"2024-05-01T12:30:00+02:00\",\"b | d/100% | later\",\"\""
scan -f sarif .
is 'sarif says who brought it, when, and the paths' "$(jq -c '.runs[].results[].locations[].properties
    | [.commit, .author, .email, .date, .paths]' "$dir/out")" \
    "[\"$first\",\"A\",\"a@x\",\"2024-05-01T12:30:00+02:00\",[\"b\",\"d/100%25\",\"later\"]]"

# --- how it is reached ---

begin
echo "token = \"$pat\"" >staged
git add staged
marks() { # format, how to get it
    scan -f "$1" .
    is "$1 says that it is staged" "$(eval "$2" <"$dir/out")" "${3:-staged}"
}
marks json "jq -r '.findings[].places[].by'"
marks jsonl "jq -r '.places? | arrays | .[].by'"
marks csv "tail -1 | tr -d '\r' | grep -o '\"staged\"\$'" '"staged"'
marks sarif "jq -r '.runs[].results[].locations[].properties.by'"
for format in human junit github html; do marks "$format" "grep -o '(staged)\|, staged\|staged)' | grep -o -m1 staged | head -1"; done

begin
echo "token = \"$pat\"" >a00
for i in {10..40}; do cp a00 "a$i"; done
commit
scan --json .
is 'of many paths the first are listed, and all counted' \
    "$(jq -c '.findings[].places[] | [(.paths | length), .paths_total]' "$dir/out")" '[16,32]'
scan .
is 'a person sees some' "$(grep -c 'also at a10, .*, a17 and 23 more paths$' "$dir/out")" 1

begin
echo "token = \"$pat\"" | tee a "b-$other" 'password=hunter2hunter' >/dev/null
commit
shows_nothing 'other paths show no secret' "${other:8:20}\|hunter2"

# --- limits of one disk ---

begin
mkdir one two
run "$WEIR" scan --no-state --device-slots=one=1 --device-slots=two=7 .
is 'two numbers for one disk are refused' "$status $(grep -c "two=7.*name each disk once" "$dir/err")" '2 1'
run "$WEIR" scan --no-state --device-slots=one=3 --device-slots=two=3 .
is 'the same number twice is none too many' "$status" 0

# --- what is not there, and what is known by a commit ---

begin
echo "token = \"$pat\"" >a
commit
printf '%s\n' not-there . >../list
scan --json --repos-from=../list
is 'a repository of a list that is not there is told so' "$(gaps)" 'not-there: cannot find: no such file or directory'
first=$(git rev-parse HEAD)
ignored() { # a name in an ignore file
    echo "$1" >../ignored
    scan --json --ignore-file=../ignored .
    echo "$status $(summary ignored)"
}
for digits in 40 39 12 7; do
    is "a commit of $digits digits in an ignore file" "$(ignored "${first:0:digits}:a:github-pat:1")" '0 1'
done
is 'six digits are too few' "$(ignored "${first:0:6}:a:github-pat:1")" '1 0'
is 'and those of another commit are another' "$(ignored "$(tr '0-9a-f' '1-9a-f0' <<<"${first:0:12}"):a:github-pat:1")" '1 0'

finish
