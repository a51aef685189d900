#!/bin/bash
# Files of configuration of weir scan: what is wrong in them, pipes in their place, several trees,
# names that gitleaks gives its rules, and Weir's own tree.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/e2e/scan_lib.sh
source "$root/tests/e2e/scan_lib.sh"
need_tools jq

aws=AKIAQ3EGUZ3PV6WDNTBS # weir:allow

paths() { places | xargs; }
rules() { jq -r '[.findings[].rule] | sort | join(" ")' "$dir/out"; }
# A rule that finds its name, a dash and eight digits; and what it requires: a rule, and how near.
dashed() { printf '[[rules]]\nid = "%s"\nregex = "%s-[0-9]{8}"\n' "$1" "$1"; }
requires() { printf '[[rules.required]]\nid = "%s"\n' "$1" && printf '%s\n' "${@:2}"; }

# --- lines of ignore files ---

tree
echo "$pat" | tee a b >c
printf '%s\n' 'bogus' 'a:github-pat:1' '# said' '' 'b:github-pat' >.gitleaksignore
run "$WEIR" scan --json
is 'a bad line does not end the scan, good ones hold' "$status $(paths)" '1 b c'
is 'each is told by file and line' "$(grep -o '.gitleaksignore:[0-9]*: not a fingerprint' "$dir/err" |
    cut -d: -f2 | xargs)" '1 5'
for i in {1..30}; do echo "bad$i"; done >.gitleaksignore
echo 'c:github-pat:1' >>.gitleaksignore
run "$WEIR" scan --json
is 'of many the first are told' "$(grep -c 'not a fingerprint' "$dir/err") $(paths)" '8 a b'
is 'and that there are more' "$(grep -c 'and more such lines from line 9 on' "$dir/err")" 1
mv .gitleaksignore ../ignore
run "$WEIR" scan --json --ignore-file=../ignore
expect 'in a file that an option names it is a mistake' 2 '' '*../ignore:1: not a fingerprint*'

tree
echo "$pat" | tee 'sp # x' '#y' $'nl\nz' 'q"q' >plain
known() { # name of the test, lines of the ignore file, what is left
    printf '%s\n' "$2" >.weirignore
    run "$WEIR" scan --json
    is "$1" "$(jq -r '[.findings[].places[].path | @json] | sort | join(" ")' "$dir/out")" "$3"
}
known 'a name with a blank and #' 'sp # x:github-pat:1' '"#y" "nl\nz" "plain" "q\"q"'
known 'and a comment behind it' 'sp # x:github-pat:1 # see plain:1' '"#y" "nl\nz" "plain" "q\"q"'
known 'a comment that looks like an end' 'plain:github-pat:1 # see x:4' \
    '"#y" "nl\nz" "q\"q" "sp # x"'
known 'quotation marks' '"#y:github-pat:1" # why' '"nl\nz" "plain" "q\"q" "sp # x"'
known 'escapes in them' '"nl\nz:github-pat:1"' '"#y" "plain" "q\"q" "sp # x"'
known 'bytes by their number' '"\x23y:github-pat:1"' '"nl\nz" "plain" "q\"q" "sp # x"'
known 'a mark that is a part of the name' 'q"q:github-pat:1' '"#y" "nl\nz" "plain" "sp # x"'
known 'and one in marks' '"q\"q:github-pat:1"' '"#y" "nl\nz" "plain" "sp # x"'

# --- pipes ---

tree
echo "$pat" >a
mkfifo pipe
printf '[extend]\npath = "pipe"\n' >config.toml
run timeout 20 "$WEIR" scan --config=config.toml
expect 'a pipe that rules extend is refused' 3 '' "*config.toml: \[extend\]: cannot read 'pipe': it is a pipe*"
is 'in one line' "$(wc -l <"$dir/err")" 1
run timeout 20 "$WEIR" rules lint config.toml
expect 'also by weir rules' 3 '' "*cannot read 'pipe': it is a pipe*"
for name in .weir.toml .gitleaks.toml .weirignore .gitleaksignore; do
    mkfifo "$name"
    run timeout 20 "$WEIR" scan
    expect "a pipe that is $name is refused" 3 '' "*cannot read '$name': it is a pipe*"
    rm "$name"
done
ln -s /dev/null .gitleaksignore
run "$WEIR" scan --json a
is 'nothing at all may be an ignore file' "$status $(paths)" '1 a'
rm .gitleaksignore
run "$WEIR" scan --json --config=<(printf '[[rules]]\nid = "k"\nregex = "ghp_[a-zA-Z0-9]+"\n') a
is 'a pipe that an option names is read: rules' "$(rules)" k
run "$WEIR" scan --json --ignore-file=<(echo a:github-pat:1) a
is 'an ignore file' "$status $(paths)" '0 '
"$WEIR" scan --json a >../known.json || true
run "$WEIR" scan --json --baseline=<(cat ../known.json) a
is 'a baseline' "$status $(paths)" '0 '
run "$WEIR" scan --json --files-from=<(echo a)
is 'a list' "$(paths)" a

# --- several trees ---

tree
mkdir A B
echo "$pat" | tee A/a >B/b
echo 'A/a:github-pat:1' >A/.gitleaksignore
run "$WEIR" scan --json --trust-config A
is 'the files of one tree are used' "$status $(paths)" '0 '
run "$WEIR" scan --json --trust-config A B
expect 'of two trees one with files of its own is refused' 2 '' "*--trust-config: 'A' has files of configuration*"
run "$WEIR" scan --json --trust-config B A
expect 'in any order' 2 '' "*--trust-config: 'A' has*"
run "$WEIR" scan --json A B
is 'without trust they are not used' "$(paths)" 'A/a B/b'
run "$WEIR" scan --json --trust-config --ignore-file=A/.gitleaksignore A B
is 'options can name them' "$(paths)" B/b
cd A
echo 'a:github-pat:1' >.gitleaksignore
run "$WEIR" scan --json --trust-config . ../B
is 'the current directory is not one of several' "$(paths)" ../B/b
ln -s ../B out
ln -s . here
printf '%s\n' out/b:github-pat:1 here/a:github-pat:1 a:github-pat:1 >.gitleaksignore
run "$WEIR" scan --json out/
is 'a link that leads out of it is not in it' "$status $(paths)" '1 out/b'
run "$WEIR" scan --json here/a
is 'one that leads into it is' "$status $(paths)" '0 '
run "$WEIR" scan --json a missing
is 'what is not there is where its name says' "$status $(paths)" '3 '

# --- paths, however they are spelled ---

tree
mkdir -p i/sub other/sub
echo "$pat" | tee i/sub/a.txt i/sub/b.txt >other/sub/a.txt
ln -s i link
names() { jq -r '[.findings[].places[].path | split("/") | last] | sort | join(" ")' "$dir/out"; }
spelled() { # name of the test; b.txt is what is left of i
    local p
    for p in i i/ ./i i// i/. "$PWD/i" i/sub/.. other/../i link "$PWD/link"; do
        run "$WEIR" scan --json --trust-config "$p"
        is "$1: ${p/"$PWD"/PWD}" "$(names)" b.txt
    done
    cd i
    for p in . "$PWD" sub sub/ sub/. sub/../sub .//sub "$PWD/sub" ../i ../link/sub; do
        run "$WEIR" scan --json "$p"
        is "$1, inside: ${p/"$PWD"/PWD}" "$(names)" b.txt
    done
    run "$WEIR" scan --json --files-from=<(printf '%s\n' "$PWD/sub/a.txt" sub/b.txt)
    is "$1, a list" "$(names)" b.txt
    cd ..
}
fingerprint() {
    (cd i && { "$WEIR" scan --json sub/a.txt || true; }) |
        jq -r '.findings[].places[].fingerprint' >print
    mv print i/.weirignore
}
echo 'sub/a.txt:github-pat:1' >i/.gitleaksignore
spelled 'an entry of .gitleaksignore'
run "$WEIR" scan --json i
is 'without trust none holds' "$(paths)" 'i/sub/a.txt i/sub/b.txt'
rm i/.gitleaksignore
fingerprint
spelled 'a fingerprint'
rm i/.weirignore
printf '[extend]\nuseDefault = true\n[[allowlists]]\npaths = ["^sub/a"]\n' >i/.gitleaks.toml
spelled 'a path of an allow list'
printf '[extend]\nuseDefault = true\n[[rules]]\nid = "github-pat"\n[[rules.allowlists]]\npaths = ["^sub/a"]\n' \
    >i/.gitleaks.toml
spelled 'a path of the list of a rule'
printf '[[rules]]\nid = "b"\nregex = "ghp_[a-zA-Z0-9]+"\npath = "^sub/b"\n' >i/.gitleaks.toml
spelled 'the path of a rule'
printf '[[rules]]\nid = "b"\npath = "[.]txt$"\n' >i/.gitleaks.toml
fingerprint
spelled 'the fingerprint of a name'
rm i/.weirignore i/.gitleaks.toml

echo 'sub/a.txt:github-pat:1' >ignore
run "$WEIR" scan --json --trust-config --ignore-file=ignore i
is 'what an option names is about the current directory' "$(paths)" 'i/sub/a.txt i/sub/b.txt'
echo 'i/sub/a.txt:github-pat:1' >ignore
run "$WEIR" scan --json --trust-config --ignore-file=ignore "$PWD/i"
is 'by any spelling' "$(paths)" "$PWD/i/sub/b.txt"
"$WEIR" scan --json i/sub/a.txt >known.json || true
run "$WEIR" scan --json --baseline=known.json "$PWD/i"
is 'a baseline too' "$(paths)" "$PWD/i/sub/b.txt"
cd i
echo 'sub/a.txt:github-pat:1' >.gitleaksignore
run "$WEIR" scan --json ../other
is 'what lies elsewhere is another file' "$(paths)" ../other/sub/a.txt
run "$WEIR" scan --json --trust-config . ../other
is 'also beside the directory' "$(paths)" '../other/sub/a.txt sub/b.txt'
mkdir x
ln -s ../sub/b.txt x/b.txt
echo "$pat" >x/a.txt
run "$WEIR" scan --json "$PWD/x/b.txt" "$PWD/x/a.txt"
is 'a symlink does not make its neighbours another file' "$(names)" 'a.txt b.txt'
many=()
for n in {1..20}; do
    mkdir -p "../up/$n"
    many+=("../up/$n/../../i/sub/a.txt")
done
run "$WEIR" scan --json "${many[@]}"
is 'more spellings than are known are told once' \
    "$(grep -c 'more than 16 different beginnings' "$dir/err")" 1

tree
mkdir sub
echo "$pat" | tee sub/a.txt 'sub\a.txt' >b.txt
printf '%s\n' 'sub\a.txt:github-pat:1' >.gitleaksignore
run "$WEIR" scan --json
is 'a backslash is a slash, or itself' "$(paths)" b.txt
printf '%s\n' '"sub\\a.txt:github-pat:1"' >.gitleaksignore
run "$WEIR" scan --json
is 'in quotation marks only itself' "$(paths)" 'b.txt sub/a.txt'

# --- what is wrong with expressions ---

tree
echo "$pat" >a
wrong() { # name of the test, text of the file, pattern
    echo "$2" >bad.toml
    run "$WEIR" scan --config=bad.toml a
    expect "$1" 2 '' "$3"
}
rule=$'[[rules]]\nid = "p"\nregex = "x"\n'
wrong 'a bad expression is told by file and line' $'\n[[rules]]\nid = "p"\nregex = "(acme"' \
    "*bad.toml:2: rule 'p': cannot use the expression '(acme': *"
wrong 'a bad path' "$rule"$'[[rules]]\nid = "q"\npath = "(acme"' \
    "*bad.toml:4: rule 'q': cannot use the path '(acme': *"
wrong 'one in the list of a rule' "$rule"$'[[rules.allowlists]]\nregexes = ["(acme"]' \
    "*bad.toml:4: rule 'p': cannot use the expression of an allow list '(acme': *"
wrong 'one in a list for all' "$rule"$'[[allowlists]]\npaths = ["(acme"]' \
    "*bad.toml:4: cannot use the path of an allow list '(acme': *"
cat >wide.toml <<'END'
[[rules]]
id = "word"
description = "Any word."
regex = "(?i)[a-z]{1,9}"
[[rules]]
id = "acme"
description = "Token of Acme."
regex = "acme_[a-z]{4,9}"
[[rules.allowlists]]
regexes = [".*"]
[[rules.allowlists]]
regexes = ["^acme_example$"]
paths = ["^tests/"]
[[allowlists]]
paths = ["x", ".*"]
[[allowlists]]
condition = "AND"
paths = [".*"]
stopwords = ["example"]
END
run "$WEIR" rules lint wide.toml
is 'what matches nearly everything is told by lint' \
    "$status $(grep 'nearly every' "$dir/out" | cut -d: -f2 | sort -n | xargs)" '1 1 9 14'
is 'and nothing else' "$(grep -c '^wide' "$dir/out")" 3

# --- columns ---

tree
{
    dashed pair
    requires other 'withinColumns = 4'
    dashed near
    requires other 'withinColumns = 4' 'withinLines = 1'
    dashed other
    echo 'skipReport = true'
} >.weir.toml
printf '  pair-12345678\n\n\n other-12345678\n' >any-line
printf 'pair-22345678        other-22345678\n' >too-far
printf '          near-32345678 other-22345678\nother-12345678 other-42345678\n' >too-far-below
printf 'other-11111111\n          near-32345678\nother-12345678 other-42345678\n' >both-sides
printf 'other-11111111\n    near-32345678\n' >line-above
printf '          near-32345678\nother-12345678\n' >to-the-left
printf 'other-12345678\n          near-32345678\n         other-32345678\n' >next-line
printf '  near-42345678\n\n  other-42345678\n' >two-lines
run "$WEIR" scan --json
is 'columns are compared in any line, and lines besides' "$(paths)" 'any-line line-above next-line'

# --- the names that gitleaks gives ---

tree
echo "$aws" >a
printf 'acme_api_key = "q9Xv27LmZp4KtR8sWc3N"\n' >b # weir:allow
run "$WEIR" scan --json
is 'what is found' "$(rules)" 'aws-access-key-id generic-secret'
echo 'a:aws-access-token:1' >.gitleaksignore
run "$WEIR" scan --json
is 'a line of .gitleaksignore' "$(rules)" generic-secret
rm .gitleaksignore
printf '[extend]\nuseDefault = true\ndisabledRules = ["generic-api-key", "aws-access-token"]\n' \
    >.gitleaks.toml
run "$WEIR" scan --json
is 'rules are disabled' "$status $(rules)" '0 '
is 'without a word' "$(cat "$dir/err")" ''
printf '[extend]\nuseDefault = true\n[[rules]]\nid = "aws-access-token"\n[[rules.allowlists]]\npaths = ["^a$"]\n' \
    >.gitleaks.toml
run "$WEIR" scan --json
is 'an allow list is added' "$(rules)" generic-secret
printf '[extend]\nuseDefault = true\n[[allowlists]]\ntargetRules = ["generic-api-key"]\nregexes = ["^q9"]\n' \
    >.gitleaks.toml
run "$WEIR" scan --json
is 'also by a list for several rules' "$(rules)" aws-access-key-id
printf '[extend]\nuseDefault = true\n[[rules]]\nid = "aws-access-token"\nregex = "AKIA[A-Z0-9]{16}"\n' \
    >.gitleaks.toml
run "$WEIR" scan --json
is 'a rule takes the place of ours' "$(rules)" 'aws-access-token generic-secret'
rm .gitleaks.toml
run "$WEIR" scan --json --rule=aws-access-token
is '--rule' "$(rules)" aws-access-key-id
cat >../theirs.json <<END
[{"RuleID":"aws-access-token","File":"a","Secret":"$aws","StartLine":1},
 {"RuleID":"generic-api-key","File":"b","Secret":"REDACTED","StartLine":1}]
END
run "$WEIR" scan --json --baseline=../theirs.json
is 'a baseline, with secrets and without' "$status $(rules)" '0 '

tree
{
    dashed pair
    requires either 'withinLines = 1'
    dashed first
    dashed between
    dashed second
    printf '[aliases]\neither = ["first", "second"]\n'
} >.weir.toml
printf 'pair-12345678\nsecond-12345678\n' >a
printf 'pair-87654321\nfirst-87654321\n' >b
printf 'pair-55555555\nbetween-55555555\n' >c
run "$WEIR" scan --json
is 'of rules that are required under one name one is enough' \
    "$(jq -r '[.findings[] | select(.rule == "pair") | .places[].path] | sort | join(" ")' "$dir/out")" 'a b'

# --- the engine that is kept ---

rm -rf "$dir/cache/weir"
run "$WEIR" scan a
kept=$(ls "$dir/cache/weir")
run "$WEIR" scan b
is 'is used again' "$(ls "$dir/cache/weir")" "$kept"
cp .weir.toml ../same.toml
run "$WEIR" scan --config=../same.toml b
is 'also for the same rules in another file' "$(ls "$dir/cache/weir")" "$kept"
is 'and noted as used' "$(find "$dir/cache/weir/$kept" -amin -2 | wc -l)" 1

# --- what cannot be judged is told ---

tree
cat >.weir.toml <<'END'
[[rules]]
id = "slow"
regex = "slow_(?:a+)+(?:a+)+b"
[[rules]]
id = "needs"
regex = "zz[0-9]{6}zz"
keywords = ["later"]
END
{ printf 'slow_'; head -c 4000 /dev/zero | tr '\0' a; echo '!b'; } >gives-up
run "$WEIR" scan --json gives-up
is 'an expression that takes too long is told' "$status $(gaps) $(summary complete)" \
    '3 gives-up: cannot judge all of: matches reached a limit of the matcher false'
{ yes zz123456zz | head -n 210000 || true; echo later; } >early
run "$WEIR" scan --json early
is 'matches that wait in vain are told' "$status $(gaps) $(summary complete)" \
    '1 early: cannot judge all of: too many matches wait for what comes behind them false'
sed -i '$d' early
run "$WEIR" scan --json early
is 'but not if nothing was missed' "$status $(gaps) $(summary complete)" '0  true'

# --- options that do not fit together ---

tree
run "$WEIR" scan --json --format=csv
expect 'two forms of the report' 2 '' "*'--json' and another '--format' contradict each other*"
run "$WEIR" scan --json --format=json
expect 'twice the same is none' 0 '{*' ''
run "$WEIR" scan -0
expect 'names that end with NUL, and no list' 2 '' "*'-0' is about '--files-from'*"

# --- Weir's own tree ---

cd "$root"
run "$WEIR" scan --history=no --json .
is 'there is nothing in it' "$(paths)" ''
is 'its configuration is used' "$(summary=$(jq -r '.summary.configs[0]' "$dir/out") && echo "$summary")" .weir.toml
tree
cp "$root/.weir.toml" .
mkdir -p src tests/unit/scan
echo "$pat" | tee src/a.c >tests/unit/scan/a.c
run "$WEIR" scan --json
is 'which lets pass what tests need and no more' "$(paths)" src/a.c

finish
