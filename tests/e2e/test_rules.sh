#!/bin/bash
# weir rules as people run it: list, show, test and lint; words, ids and files; text and JSON; what
# is wrong, told in one line.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
need_tools jq

cd "$dir"
cat >good.toml <<'END'
[[rules]]
id = "acme"
description = "Token of Acme"
provider = "Acme"
regex = '''acme-[0-9]{8}'''
keywords = ["acme-"]
examples = ["acme-12345678"]
negatives = ["acme-123"]

[[rules]]
id = "other"
description = "Token of somebody else"
regex = '''other-[0-9]{8}'''
END
cat >bad.toml <<'END'
[[rules]]
id = "a"
description = "d"
regex = '''aaa[0-9]{4}'''
keywords = ["aaa", "zzz"]
examples = ["aaa1234", "bbb"]
negatives = ["aaa123", "aaa5555"]
END

# --- list ---

run "$WEIR" rules list
expect 'all rules are listed' 0 '*github-pat *GitHub *Classic*' ''
is 'there are hundreds' "$(("$(wc -l <out)" >= 400))" 1
run "$WEIR" rules list PaGeRdUtY
expect 'a word, in any case' 0 'pagerduty-*PagerDuty*' ''
is 'and nothing but rules that have it' "$(grep -civ pagerduty out || true)" 0
run "$WEIR" rules list github refresh
is 'several words: all of them' "$(cut -d' ' -f1 out)" github-refresh-token
run "$WEIR" rules list github-refresh --json
is 'the same as JSON' "$(jq -r '.[].id' out)" github-refresh-token
run "$WEIR" rules list no-such-word-anywhere
expect 'a word that no rule has' 2 '' "*no rule has 'no-such-word-anywhere'*"
run "$WEIR" rules list good.toml
is 'rules of a file' "$(cut -d' ' -f1 out | xargs)" 'acme other'
run "$WEIR" rules list --config=good.toml somebody
is 'words with rules of a file' "$(cut -d' ' -f1 out)" other
run "$WEIR" rules list ./missing.toml
expect 'a file that is not there' 3 '' "*'./missing.toml'*"
run "$WEIR" rules list good.toml bad.toml
expect 'two files' 2 '' "*one file of rules at a time*'good.toml'*"

# --- show ---

run "$WEIR" rules show github-pat
expect 'one rule' 0 'github-pat*description*provider*GitHub*looked for*ghp_*width*42 bytes*' ''
run "$WEIR" rules show github-pat npm-token --json
is 'two rules as JSON, one on a line' "$(jq -r .id out | xargs)" 'github-pat npm-token'
run "$WEIR" rules show generic-secret
expect 'with allow lists that it shares' 0 '*allow list*What is no value*What is no key*' ''
run "$WEIR" rules show --config=good.toml acme
expect 'a rule of a file' 0 'acme*from*good.toml, line 1*' ''
cat >all.toml <<'END'
[[rules]]
id = "pair"
description = "One of two"
regex = '''(pair)-([0-9]{8})'''
secretGroup = 2
examples = ["pair-12345678 other-12345678"]
negatives = ["pair-12345678"]
[[rules.required]]
id = "other"
withinLines = 3
withinColumns = 80
[[rules]]
id = "other"
description = "The other one"
regex = '''other-[0-9]{8}'''
skipReport = true
[[rules]]
id = "digits"
description = "Without a word"
regex = '''\b[0-9]{2}Q[0-9]{2}\b'''
[[rules]]
id = "file"
description = "A name"
path = '''\.pem$'''
END
run "$WEIR" rules show --config=all.toml pair
expect 'what is required, and which group is meant' 0 '*group 2*required*other, within 3 lines, within 80 columns*' ''
run "$WEIR" rules show --config=all.toml other
expect 'one that serves others' 0 '*serves other rules alone*' ''
run "$WEIR" rules show --config=all.toml digits file
expect 'what is looked for' 0 '*the expression itself*the path alone*' ''
run "$WEIR" rules show --config=all.toml --json digits file
is 'the same in JSON' "$(jq -r '.. | strings | select(. == "expression" or . == "path")' out | xargs)" 'expression path'
run "$WEIR" rules test --config=all.toml
expect 'rules are tested with those that they require' 0 '*' ''
run "$WEIR" rules show aws-access-token
expect 'a name that gitleaks gives' 0 \
    'aws-access-token stands for aws-access-key-id, *aws-access-key-id*also called*aws-access-token*' ''
run "$WEIR" rules show looker-client-id
expect 'a name for which no rule stands alone' 0 'looker-client-id may be found by generic-secret' ''
run "$WEIR" rules show --json aws-access-token
is 'the same as JSON' "$(jq -r 'select(.name) | .stands_for[0]' out) $(jq -r 'select(.id) | .id' out | head -1)" \
    'aws-access-key-id aws-access-key-id'
run "$WEIR" rules list aws-access-token
is 'list knows it' "$(cut -d' ' -f1 out | head -1)" aws-access-key-id
run "$WEIR" rules test aws-access-token
expect 'test knows it' 0 '[2-9] rules, * 0 failed, 0 without examples' ''
run "$WEIR" rules show
expect 'no rule' 2 '' '*which rule*'
run "$WEIR" rules show github-pad
expect 'nearly a rule' 2 '' "*did you mean 'github-pat'*"

# --- test ---

run "$WEIR" rules test good.toml
expect 'a file whose rules do what they say' 0 '2 rules, 2 texts, 0 failed, 1 without examples' ''
run "$WEIR" rules test bad.toml
expect 'failures of both kinds' 1 '*example 2 is not found: bbb*negative 2 is found: aaa5555*' ''
run "$WEIR" rules test --json bad.toml
is 'the same as JSON' "$(jq -r '.failures[] | "\(.rule) \(.kind) \(.number)"' out | xargs)" \
    'a example 2 a negative 2'
is 'with the counts' "$(jq -c '[.rules, .texts, .failed, .without_examples]' out)" '[1,4,2,0]'
run "$WEIR" rules test github-pat npm-token
expect 'built-in rules by their ids' 0 '2 rules, * texts, 0 failed, 0 without examples' ''
run "$WEIR" rules test --config=good.toml acme
expect 'one rule of a file' 0 '1 rule, 2 texts, 0 failed*' ''
run "$WEIR" rules test github-pad
expect 'nearly a rule again' 2 '' "*did you mean 'github-pat'*"

# --- lint ---

run "$WEIR" rules lint
expect 'the built-in rules have no problem' 0 '*rules, 0 problems' ''
run "$WEIR" rules lint bad.toml
expect 'what is wrong with a file' 1 \
    "*bad.toml:1: rule 'a': example 2 has no match*negative 2 has a match*keyword 'zzz'*" ''
run "$WEIR" rules lint --json bad.toml
is 'the same as JSON' "$(jq -r '.problems[].rule' out | sort -u)" a
is 'each with its text' "$(jq '[.problems[].text | test("bad.toml:1:")] | all' out)" true
run "$WEIR" rules lint missing.toml
expect 'no such file' 3 '' "*'missing.toml'*"
printf 'not toml' >broken.toml
run "$WEIR" rules lint broken.toml
expect 'a file that does not load' 2 '' '*broken.toml:1*'

printf '[[rules]]\nid = "wide"\ndescription = "d"\nregex = "STARTQ.*?ENDQ"\n' >wide.toml
run "$WEIR" rules lint wide.toml
expect 'a regex without an end is told' 1 '*may match more than 16384 bytes*' ''
run "$WEIR" rules show wide --config=wide.toml
expect 'and shown' 0 '*16384 bytes at most, though the regex may go on*' ''
printf 'max-width = 300\n' >>wide.toml
run "$WEIR" rules lint wide.toml
expect 'unless its width is given' 0 '*' '*'

# --- odd operands ---

for action in list show test lint compile; do
    run "$WEIR" rules $action ''
    expect "$action: an empty name" 2 '' 'weir rules: a name is empty: leave it out, or say which rule or file is meant'
done
for action in list test lint; do
    run bash -c '"$0" rules $1 - <good.toml' "$WEIR" $action
    is "$action: rules from standard input" "$([[ $out == *acme* || $out == *'2 rules, '* ]] && echo yes)" yes
done
run bash -c '"$0" rules show acme --config=- <good.toml' "$WEIR"
expect 'also by --config' 0 'acme*' ''

# --- compile ---

run "$WEIR" rules compile compiled --config=good.toml
expect 'rules are compiled into a folder that is made' 0 '' ''
is 'which has them then' "$(find compiled -type f | wc -l)" 1
(umask 077 && "$WEIR" rules compile private --config=good.toml)
is 'for all users to read, whatever the umask' "$(find private -printf '%m\n' | tr '\n' ' ')" '755 644 '
mkdir -m 711 kept
(umask 077 && "$WEIR" rules compile kept --config=good.toml)
is 'a folder that was there keeps its mode' "$(find kept -printf '%m\n' | tr '\n' ' ')" '711 644 '
status=0
(ulimit -f 1 && "$WEIR" rules compile small --config=good.toml) 2>"$dir/err" || status=$?
is 'a file that may not grow is an error' "$status $(cat "$dir/err")" \
    "3 weir rules: cannot keep anything in the folder 'small': see that there is room and that you may write there"
is 'and nothing is left of it' "$(find small -type f | wc -l)" 0
run "$WEIR" rules compile compiled --config=good.toml --json
is 'and can tell programs which' "$status $(jq -c '[.folder, (.rules > 0), (.engine | length)]' "$dir/out")" '0 ["compiled",true,32]'
touch file
ln -s compiled link
while IFS='|' read -r folder why; do
    run "$WEIR" rules compile "$folder" --config=good.toml
    expect "not into '$folder'" 3 '' "weir rules: cannot use the folder '$folder': $why"
done <<'EOF'
file|it is not a folder: name one, which is made if it is not there
/dev/null|it is not a folder: name one, which is made if it is not there
file/|a part of its path is not a folder: name another place
file/x|a part of its path is not a folder: name another place
link|it is a symlink: name the folder that it leads to
missing/x|the folder that it is to lie in is not there: make that first
EOF
mkdir writable
chmod 777 writable
run "$WEIR" rules compile writable --config=good.toml
expect 'nor into one that others may write to' 3 '' "*'writable': it must be yours, and nobody else's to write"
run "$WEIR" rules compile
expect 'nor into none' 2 '' '*into which folder*'

run "$WEIR" rules
expect 'no action' 2 '' '*ACTION*'
run "$WEIR" rules dance
expect 'no such action' 2 '' '*dance*'
run "$WEIR" rules --help
expect 'help' 0 '*weir rules list aws*' ''

finish
