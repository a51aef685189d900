#!/bin/bash
# weir scan and weir rules as people run them: tokens in odd places, exit statuses, forms of reports,
# what cannot be read, lists, standard input, baselines and ignore files, configuration, the cache.
#
# The tokens are made up; they are put together here so that nothing in this file looks like one.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
need_tools jq python3 setpriv

export XDG_CACHE_HOME=$dir/cache
mkdir "$dir/cache"
pat=ghp_M0XvqZjxTW3xvboSRt5Mh3dAwVtRMf3 pat=${pat}LeZiJ
other=ghp_lhbmuaptt0Azn0DNRUQxA71p2Td8VK0 other=${other}CM5Qe
as_root=false
[[ $(id -u) -eq 0 ]] && as_root=true

tree() { # a new folder, with a file of no interest
    rm -rf "$dir/tree"
    mkdir -p "$dir/tree"
    echo 'nothing to see' >"$dir/tree/plain.txt"
    cd "$dir/tree" || exit 1
}

# Where a secret was found: path:line:column:offset, one on a line.
places() {
    jq -r '.findings[].places[] | "\(.path):\(.line):\(.column):\(.offset)"' "$dir/out" | sort
}
summary() { # a key of the summary
    jq -r ".summary.$1" "$dir/out"
}

# --- exit statuses and places ---

tree
run "$WEIR" scan
expect 'clean: status 0' 0 'no secrets found; 1 file*' ''

printf 'x\n  token = %s;\n' "$pat" >found.txt
run "$WEIR" scan
expect 'a finding: status 1, redacted' 1 '*found.txt*2:11*github-pat*' ''
if [[ $out == *"$pat"* ]]; then fail 'the secret is not shown' "$out"; else pass 'the secret is not shown'; fi
run "$WEIR" scan --show-secrets
expect 'it is shown when asked for' 1 "*$pat*" ''
run "$WEIR" scan --exit-zero
expect '--exit-zero: status 0' 0 '*github-pat*' ''
run "$WEIR" scan --json
is 'paths begin in the current directory' "$(places)" 'found.txt:2:11:12'
run "$WEIR" scan --json ./found.txt
is 'a file by name' "$(places)" 'found.txt:2:11:12'
run "$WEIR" scan --json "$dir/tree/"
is 'a directory by its whole name' "$(places)" "$dir/tree/found.txt:2:11:12"
run "$WEIR" scan no-such-thing
expect 'a path that is not there: status 3' 3 '*not scanned: no-such-thing: cannot find*' ''
run "$WEIR" scan --json no-such-thing found.txt
expect 'findings come before what is missing' 1 '*' "*cannot find 'no-such-thing'*incomplete: 1*"
is 'and the report says both' "$(summary complete)" false
run "$WEIR" scan --no-such-option
expect 'an unknown option: status 2' 2 '' '*unknown option*'
run "$WEIR" scan --max-memory=1M
expect 'too little memory is refused' 2 '' "*max-memory*"
run "$WEIR" scan - -
expect 'standard input is read once' 2 '' '*once*'

# --- odd places ---

tree
mkdir -p deep/a/b/c .git/hooks "$(printf 'odd\n\033name')" 'sp ace'
for name in deep/a/b/c/f .hidden .git/hooks/x "$(printf 'odd\n\033name/f')" 'sp ace/-' nonl; do
    printf '%s' "$pat" >"$name"
done
{ head -c 300000 /dev/zero; printf '\n%s\n' "$pat"; } >binary.bin
{ head -c 262120 /dev/zero | tr '\0' '.'; printf ' %s ' "$pat"; } >edge-of-a-read
{ head -c 1048560 /dev/zero | tr '\0' '.'; printf ' %s ' "$pat"; } >edge-of-a-segment
head -c 4194304 /dev/zero | tr '\0' x >long-line && printf ' %s\n' "$pat" >>long-line
printf 'note: %s\n' "$(printf 'the token is %s, keep it' "$pat" | base64 -w0)" >base64
printf '%s' "$pat" | python3 -c 'import sys; sys.stdout.buffer.write(sys.stdin.read().encode("utf-16le"))' >utf16
printf '%s' "$pat" >noted
ln -s noted link
ln -s /etc to-elsewhere
mkfifo pipe
: >empty
run "$WEIR" scan --json
is 'each place is found' "$(jq -c '[.findings[].places[].path] | sort | .[]' "$dir/out" | xargs)" \
    '.git/hooks/x .hidden base64 binary.bin deep/a/b/c/f edge-of-a-read edge-of-a-segment long-line nonl noted odd\n\u001bname/f sp ace/- utf16'
is 'one secret' "$(summary secrets)" 1
is 'the long line' "$(places | grep long-line)" long-line:1:4194306:4194305
is 'across the edge of a read' "$(places | grep of-a-read)" edge-of-a-read:1:262122:262121
is 'in a binary' "$(places | grep binary)" binary.bin:2:1:300001
is 'symlinks are counted' "$(summary symlinks)" 2
is 'special files are counted' "$(summary special)" 1
is 'nothing is missing' "$(summary complete)" true
run "$WEIR" scan --json --decode-depth=0
is 'without decoding the encoded ones are not found' \
    "$(jq -r '.findings[].places[].path' "$dir/out" | grep -c 'base64\|utf16')" 0
run "$WEIR" scan --json link
is 'a link that is named is followed' "$(places)" link:1:1:0

# Threads and their number make no difference.
for threads in 1 2 7; do
    run "$WEIR" scan --json --threads=$threads --max-files-in-flight=1
    jq -c '.findings' "$dir/out" >"$dir/by-$threads"
done
is 'any number of threads finds the same' \
    "$(cmp "$dir/by-1" "$dir/by-2" && cmp "$dir/by-1" "$dir/by-7" && echo same)" same

# --- holes ---

tree
truncate -s 100G sparse
printf 'one\n' | dd of=sparse conv=notrunc status=none
printf '\n %s\n' "$pat" | dd of=sparse bs=1 seek=53687091200 conv=notrunc status=none
truncate -s 2500000 small-holes
printf '\n%s\n' "$pat" | dd of=small-holes bs=1 seek=2000000 conv=notrunc status=none
run timeout 60 "$WEIR" scan --json
is 'places behind holes' "$(places)" "$(printf 'small-holes:2:1:2000001\nsparse:3:2:53687091202')"
is 'all of it counts' "$(summary bytes)" $((100 * 1024 * 1024 * 1024 + 2500000 + 15))
is 'and nothing is missing' "$(summary complete)" true

# --- many ---

tree
mkdir many
(cd many && seq 1 5000 | xargs touch)
mkdir -p $(seq -f 'wide/%g/x' 1 500)
for i in 1 250 500; do echo "$pat" >"wide/$i/x/f"; done
echo "$pat" >many/2500
python3 - <<'PY'
import os
for i in range(300):
    os.mkdir("d" * 40)
    os.mkdir("sibling")
    os.chdir("d" * 40)
open("end", "w").write(open(os.environ.get("PLAIN", "/dev/null")).read())
PY
run "$WEIR" scan --json
is 'all places of many files' "$(jq '[.findings[].places[]] | length' "$dir/out")" 4
is 'all files are counted' "$(summary files)" 5005
(ulimit -n 40 && "$WEIR" scan --json >"$dir/out" 2>"$dir/err") || true
is 'with few descriptors as well' "$(summary files) $(summary complete)" '5005 true'

# --- lists and streams ---

tree
echo "$pat" >a
echo "$pat" >'b c'
ln -s a l
printf 'a\nb c\nl\n' >../names
printf 'a\0b c\0' >../names0
run "$WEIR" scan --json --files-from=../names
is 'names of a list' "$(places)" "$(printf 'a:1:1:0\nb c:1:1:0')"
is 'a link in a list is not followed' "$(summary symlinks)" 1
run "$WEIR" scan --json -0 --files-from=../names0
is 'names that end with NUL' "$(places | wc -l)" 2
run "$WEIR" scan --json --files-from=../no-list
expect 'a list that is not there: status 3' 3 '*' "*cannot open '../no-list'*"
status=0
printf 'a line\n%s\n' "$pat" | "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || status=$?
is 'standard input' "$status $(places)" '1 -:2:1:7'
status=0
printf 'a\n' | "$WEIR" scan --json --files-from=- >"$dir/out" 2>"$dir/err" || status=$?
is 'a list from standard input' "$(places)" 'a:1:1:0'
run "$WEIR" scan --json <(echo "$pat")
is 'a pipe that is named' "$status" 1

# A stream that pauses: what has come with its line is told while the other end is open.
mkfifo "$dir/log"
timeout 60 "$WEIR" scan - --format=jsonl <"$dir/log" >"$dir/out" 2>"$dir/err" &
pid=$!
exec 8>"$dir/log"
printf 'a line\nkey = %s\n' "$pat" >&8
for _ in $(seq 200); do
    grep -q '"type":"found"' "$dir/out" && break
    sleep 0.05
done
is 'a stream that pauses is not silent' \
    "$(jq -r '"\(.type) \(.place.line):\(.place.column)"' "$dir/out")" 'found 2:7'
printf 'and more: %s\n' "$other" >&8
exec 8>&-
status=0
wait $pid || status=$?
is 'each is told once' "$status $(jq -r .type "$dir/out" | sort | uniq -c | xargs)" \
    '1 2 finding 2 found 1 summary'
is 'at its place' "$(jq -c '[.id, .places_total]' "$dir/out" | grep -c ',1')" 2

# --- what cannot be read ---

tree
mkdir closed half
echo "$pat" >half/f
echo "$pat" >unreadable
chmod 0 closed unreadable
chmod 755 "$dir" "$dir/tree" half
as=()
$as_root && as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 777 "$dir/cache"
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan --json
is 'what can be read is scanned' "$(places)" half/f:1:1:0
is 'what cannot is named' "$(jq -r '.summary.unscanned[] | "\(.path): \(.reason)"' "$dir/out" | sort)" \
    "$(printf 'closed: cannot open: permission denied\nunreadable: cannot open: permission denied')"
is 'and logged' "$(grep -c 'permission denied' "$dir/err")" 2
rm half/f
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan
expect 'and makes the status 3' 3 '*incomplete: 2 could not be scanned*' ''
chmod 755 closed unreadable "$dir/cache"

# --- archives; more of them in test_scan_archives.sh ---

tree
printf '%s' "$pat" | gzip >file.gz
run "$WEIR" scan --summary
expect 'what is in an archive is found' 1 '*file.gz!file*' '*archives: 1, with 1 member*'
run "$WEIR" scan --summary --archive-depth=0
expect 'an archive that is not opened is told' 3 '*file.gz*archive not opened*' '*archives not opened: 1*'

# --- forms ---

tree
echo "key = '$pat'" >a.py
echo "key = '$other'" >b.py
for form in json jsonl sarif csv junit github gitleaks html human; do
    run "$WEIR" scan --format=$form --output="$dir/report.$form"
    expect "$form: status 1, nothing on standard output" 1 '' '*'
    if grep -q "$pat" "$dir/report.$form"; then fail "$form is redacted" <"$dir/report.$form"; else pass "$form is redacted"; fi
done
# shellcheck disable=SC2016 # of python
if python3 - "$dir" <<'PY'
import csv, json, sys, xml.etree.ElementTree as tree
d = sys.argv[1]
assert len(json.load(open(d + "/report.json"))["findings"]) == 2
assert len([json.loads(l) for l in open(d + "/report.jsonl")]) == 3
assert len(json.load(open(d + "/report.sarif"))["runs"][0]["results"]) == 2
assert len(list(csv.reader(open(d + "/report.csv")))) == 3
assert len(tree.parse(d + "/report.junit").getroot().findall(".//failure")) == 2
assert len(json.load(open(d + "/report.gitleaks"))) == 2
assert open(d + "/report.github").read().count("::error") == 2
assert "</html>" in open(d + "/report.html").read()
PY
then pass 'all forms are what they say'; else fail 'all forms are what they say' 'see above'; fi
is 'nothing is left beside the reports' "$(find "$dir" -name '*.tmp' | wc -l)" 0
run "$WEIR" scan -f json -o /no/such/folder/x
expect 'a report that cannot be written' 3 '' "*cannot write '/no/such/folder/x'*"
run "$WEIR" scan -f json --exit-zero -o /no/such/folder/x
expect 'is a failure' 3 '' "*cannot write*"
run "$WEIR" scan -f json --show-secrets -o "$dir/private"
is 'a report with secrets is private' "$(stat -c %a "$dir/private")" 600

# --- what is known ---

tree
echo "$pat" >a
run "$WEIR" scan --json -o ../known.json
run "$WEIR" scan -f gitleaks -o ../known.gitleaks
run "$WEIR" scan --baseline=../known.json
expect 'what a baseline has is known' 0 '*1 known before*' ''
run "$WEIR" scan --baseline=../known.gitleaks
expect 'also one of gitleaks' 0 '*1 known before*' ''
echo "$other" >b
run "$WEIR" scan --json --baseline=../known.json
is 'what is new is told' "$status $(places)" '1 b:1:1:0'
echo garbage >../garbage
run "$WEIR" scan --baseline=../garbage
expect 'a baseline that is none' 2 '' "*baseline '../garbage'*"
jq -r '.findings[].places[].fingerprint' ../known.json >.weirignore
run "$WEIR" scan --json
is '.weirignore is read' "$(places)" b:1:1:0
is 'and named' "$(summary 'configs[0]')" .weirignore
mv .weirignore ../ignore
echo 'b:github-pat:1' >.gitleaksignore
run "$WEIR" scan --json
is '.gitleaksignore is read' "$(places)" a:1:1:0
run "$WEIR" scan --json --ignore-file=../ignore
is '--ignore-file is used instead' "$(places)" b:1:1:0
rm .gitleaksignore
echo "$pat # weir:allow" >a
rm b
run "$WEIR" scan
expect 'a comment allows' 0 '*1 allowed*' ''
run "$WEIR" scan --no-allow-comments
expect 'unless comments are nothing' 1 '*github-pat*' ''

# --- configuration ---

tree
echo "$pat acme-12345678" >a
printf '[[rules]]\nid = "acme"\ndescription = "Acme"\nregex = "acme-[0-9]{8}"\n' >.gitleaks.toml
run "$WEIR" scan --json
is 'rules of the current directory are used' "$(jq -r '.findings[].rule' "$dir/out")" acme
is 'and named' "$(summary 'configs[0]')" .gitleaks.toml
cd ..
run "$WEIR" scan --json tree
is 'those of another directory are not' "$(jq -r '.findings[].rule' "$dir/out")" github-pat
run "$WEIR" scan --json --trust-config tree
is 'unless they are trusted' "$(jq -r '.findings[].rule' "$dir/out")" acme
run "$WEIR" scan --json --config=tree/.gitleaks.toml tree
is 'or given' "$(jq -r '.findings[].rule' "$dir/out")" acme
cd tree || exit 1
printf '[extend]\nuseDefault = true\n' | cat - .gitleaks.toml >.weir.toml
run "$WEIR" scan --json
is 'built-in rules can be extended' "$(jq -r '.findings[].rule' "$dir/out" | sort | xargs)" 'acme github-pat'
run "$WEIR" scan --json --rule=acme
is 'one rule alone' "$(jq -r '.findings[].rule' "$dir/out")" acme
run "$WEIR" scan --rule=acne
expect 'a rule that is not there' 2 '' "*no rule 'acne': did you mean 'acme'*"
echo 'not toml' >.weir.toml
run "$WEIR" scan
expect 'rules that do not load: status 2' 2 '' '*.weir.toml:1*'

# --- the cache ---

tree
rm -rf "$dir/cache/weir"
run "$WEIR" scan --summary
expect 'compiled once' 0 '*' '*compiled now*'
run "$WEIR" scan --summary
expect 'and found again' 0 '*' '*compiled before*'
is 'the folder is private' "$(stat -c %a "$dir/cache/weir") $(stat -c %a "$dir"/cache/weir/*)" '700 600'
chmod 666 "$dir"/cache/weir/*
run "$WEIR" scan --summary
expect 'what others may write is not used' 0 '*' '*compiled now*'
is 'but replaced' "$(stat -c %a "$dir"/cache/weir/*)" 600
printf 'x' | dd of="$(echo "$dir"/cache/weir/*)" bs=1 seek=100000 conv=notrunc status=none
run "$WEIR" scan --summary
expect 'what was altered is not used' 0 '*' '*compiled now*'
chmod 777 "$dir/cache/weir"
run "$WEIR" scan --summary
expect 'nor a folder that others may write' 0 '*' '*compiled now*'
chmod 700 "$dir/cache/weir"

# --- stopping ---

status=0
mkfifo "$dir/wait"
(trap - INT; exec "$WEIR" scan - <"$dir/wait" >"$dir/out" 2>"$dir/err") &
pid=$!
exec 9>"$dir/wait"
for _ in $(seq 100); do
    [[ $(ls /proc/$pid/task 2>/dev/null | wc -l) -gt 1 ]] && break
    sleep 0.05
done
kill -TERM $pid
wait $pid || status=$?
exec 9>&-
is 'a scan that waits for input can be stopped' "$status" 143

# --- what would be in vain is refused before it ---

tree
echo "$pat" >f
run "$WEIR" scan -o missing/report .
expect 'a report that cannot be written is told' 3 '' "weir scan: cannot write 'missing/report': no such file or directory"
run "$WEIR" scan -o "$dir" .
expect 'nor can a folder be one' 3 '' '*is a directory'
is 'nothing was left by trying' "$(echo *)" 'f plain.txt'
printf '[allowlist]\npaths = ["x"]\n' >../rules.toml
run "$WEIR" scan -c ../rules.toml
expect 'rules that are none are refused' 2 '' '*there are no rules in it*useDefault = true*'
run env XDG_CACHE_HOME="$dir/new" "$WEIR" scan -q
run env XDG_CACHE_HOME="$dir/new" "$WEIR" scan -v
expect 'a cache folder that is not there is made' 1 '*' '*compiled before*'

# --- rules ---

run "$WEIR" rules list
expect 'rules list' 0 'github-pat *GitHub*' ''
run "$WEIR" rules list --json
is 'rules list --json' "$(jq 'length >= 400' "$dir/out")" true
run "$WEIR" rules show github-pat
expect 'rules show' 0 '*looked for*ghp_*width*41 bytes*' ''
run "$WEIR" rules show
expect 'rules show of nothing' 2 '' '*which rule*'
run "$WEIR" rules show github-pad
expect 'rules show of something else' 2 '' "*did you mean 'github-pat'*"
printf '[[rules]]\nid = "a"\ndescription = "d"\nregex = "aaa[0-9]{4}"\nexamples = ["aaa1234", "bbb"]\nnegatives = ["aaa123", "aaa5555"]\n' >../rules.toml
run "$WEIR" rules test ../rules.toml
expect 'rules test tells both kinds of failures' 1 '*example 2 is not found: bbb*negative 2 is found: aaa5555*2 failed*' ''
printf '[[rules]]\nid = "a"\nregex = "("\n' >../rules.toml
run "$WEIR" rules lint ../rules.toml
expect 'rules lint' 1 '*problems' ''
run "$WEIR" rules dance
expect 'an action that there is none of' 2 '' '*dance*'
run "$WEIR" scan -h
expect 'help begins with examples' 0 '*weir scan*' ''

finish
