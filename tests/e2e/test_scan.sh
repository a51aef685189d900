#!/bin/bash
# weir scan and weir rules as people run them: tokens in odd places, exit statuses, forms of reports,
# what cannot be read, lists, standard input, baselines and ignore files, configuration, the cache.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 setpriv

as_root=false
[[ $(id -u) -eq 0 ]] && as_root=true

plain_tree() { # with a file of no interest
    tree
    echo 'nothing to see' >plain.txt
}

# --- exit statuses and places ---

plain_tree
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
is 'paths begin in the current directory' "$(spots)" 'found.txt:2:11:12'
run "$WEIR" scan --json ./found.txt
is 'a file by name' "$(spots)" 'found.txt:2:11:12'
run "$WEIR" scan --json "$dir/tree/"
is 'a directory by its whole name' "$(spots)" "$dir/tree/found.txt:2:11:12"
run "$WEIR" scan no-such-thing
expect 'a path that is not there: status 3' 3 '*not scanned: no-such-thing: cannot find*' ''
run "$WEIR" scan --json no-such-thing found.txt
expect 'findings come before what is missing' 1 '*' "*cannot find 'no-such-thing'*incomplete: 1*"
is 'and the report says both' "$(summary complete)" false
run "$WEIR" scan --no-such-option
expect 'an unknown option: status 2' 2 '' '*unknown option*'
run "$WEIR" scan --max=1
expect 'all that begin so are named' 2 '' "*did you mean one of '--max-archive-entries', *'--max-memory'*"
run "$WEIR" scan --memory=1G
expect 'or have it in them' 2 '' "*did you mean '--max-memory'?"
run "$WEIR" scan --max-memory=1M
expect 'too little memory is refused' 2 '' "*max-memory*"
run "$WEIR" scan ''
expect 'a path that is empty is refused' 2 '' '*a path is empty*'
run "$WEIR" scan - -
expect 'standard input is read once' 2 '' '*once*'

# --- odd places ---

plain_tree
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
is 'the long line' "$(spots | grep long-line)" long-line:1:4194306:4194305
is 'across the edge of a read' "$(spots | grep of-a-read)" edge-of-a-read:1:262122:262121
is 'in a binary' "$(spots | grep binary)" binary.bin:2:1:300001
is 'symlinks are counted' "$(summary symlinks)" 2
is 'special files are counted' "$(summary special)" 1
is 'nothing is missing' "$(summary complete)" true
run "$WEIR" scan --json --decode-depth=0
is 'without decoding the encoded ones are not found' \
    "$(jq -r '.findings[].places[].path' "$dir/out" | grep -c 'base64\|utf16')" 0
run "$WEIR" scan --json link
is 'a link that is named is followed' "$(spots)" link:1:1:0

# Threads and their number make no difference.
for threads in 1 2 7; do
    run "$WEIR" scan --json --threads=$threads --max-files-in-flight=1
    jq -c '.findings' "$dir/out" >"$dir/by-$threads"
done
is 'any number of threads finds the same' \
    "$(cmp "$dir/by-1" "$dir/by-2" && cmp "$dir/by-1" "$dir/by-7" && echo same)" same

# --- holes ---

plain_tree
truncate -s 100G sparse
printf 'one\n' | dd of=sparse conv=notrunc status=none
printf '\n %s\n' "$pat" | dd of=sparse bs=1 seek=53687091200 conv=notrunc status=none
truncate -s 2500000 small-holes
printf '\n%s\n' "$pat" | dd of=small-holes bs=1 seek=2000000 conv=notrunc status=none
run timeout 60 "$WEIR" scan --json
is 'places behind holes' "$(spots)" "$(printf 'small-holes:2:1:2000001\nsparse:3:2:53687091202')"
is 'all of it counts' "$(summary bytes)" $((100 * 1024 * 1024 * 1024 + 2500000 + 15))
is 'and nothing is missing' "$(summary complete)" true

# --- many ---

plain_tree
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

plain_tree
echo "$pat" >a
echo "$pat" >'b c'
ln -s a l
printf 'a\nb c\nl\n' >../names
printf 'a\0b c\0' >../names0
run "$WEIR" scan --json --files-from=../names
is 'names of a list' "$(spots)" "$(printf 'a:1:1:0\nb c:1:1:0')"
is 'a link in a list is not followed' "$(summary symlinks)" 1
run "$WEIR" scan --json -0 --files-from=../names0
is 'names that end with NUL' "$(spots | wc -l)" 2
printf 'a\0\0b c\0\0' >../names0
run "$WEIR" scan --json -0 --files-from=../names0
is 'a name that is empty is told, with its number, and the others are scanned' \
    "$(spots | wc -l) $(summary failed) $(jq -r '.summary.unscanned[].reason' "$dir/out")" \
    '2 1 cannot scan all of: name 2 and 1 more are empty: what prints them has lost some'
rm a 'b c'
head -c 100000 /dev/zero >../names0
run "$WEIR" scan -0 --files-from=../names0
expect 'names that are all empty: status 3, one line' 3 \
    '*names0: cannot scan all of it: name 1 and 99999 more are empty*incomplete: 1 could not be scanned' ''
echo "$pat" >a
run "$WEIR" scan --json --files-from=../no-list
expect 'a list that is not there: status 3' 3 '*' "*cannot open '../no-list'*"
status=0
printf 'a line\n%s\n' "$pat" | "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || status=$?
is 'standard input' "$status $(spots)" '1 -:2:1:7'
status=0
printf 'a\n' | "$WEIR" scan --json --files-from=- >"$dir/out" 2>"$dir/err" || status=$?
is 'a list from standard input' "$(spots)" 'a:1:1:0'
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

plain_tree
mkdir closed half
echo "$pat" >half/f
echo "$pat" >unreadable
chmod 0 closed unreadable
chmod 755 "$dir" "$dir/tree" half
as=()
$as_root && as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 777 "$dir/cache"
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan --json
is 'what can be read is scanned' "$(spots)" half/f:1:1:0
is 'what cannot is named' "$(jq -r '.summary.unscanned[] | "\(.path): \(.reason)"' "$dir/out" | sort)" \
    "$(printf 'closed: cannot open: permission denied\nunreadable: cannot open: permission denied')"
is 'and logged' "$(grep -c 'permission denied' "$dir/err")" 2
rm half/f
run env XDG_CACHE_HOME=/nonexistent "${as[@]}" "$WEIR" scan
expect 'and makes the status 3' 3 '*incomplete: 2 could not be scanned*' ''
chmod 755 closed unreadable "$dir/cache"

# --- archives; more of them in test_scan_archives.sh ---

plain_tree
printf '%s' "$pat" | gzip >file.gz
run "$WEIR" scan --summary
expect 'what is in an archive is found' 1 '*file.gz!file*' '*archives: 1, with 1 member*'
run "$WEIR" scan --summary --archive-depth=0
expect 'an archive that is not opened is told' 3 '*file.gz*archive not opened*' '*archives not opened: 1*'

# --- forms ---

plain_tree
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
# What cannot be written once all was scanned: findings come first, and it never looks like success.
seq 500 | sed "s/^/$pat /" >../many-places
run "$WEIR" scan -f json -o /dev/full ../many-places
expect 'a device that is full, with findings' 1 '' \
    "weir scan: cannot write '/dev/full': no space left on device; make room or name a file elsewhere, and scan again: 1 secret is in no report"
run "$WEIR" scan -f json -o /dev/full --exit-zero ../many-places
expect 'also when these do not count' 3 '' "weir scan: cannot write '/dev/full': no space left on device;*"
run "$WEIR" scan -f json -o /dev/full /dev/null
expect 'without findings' 3 '' \
    "weir scan: cannot write '/dev/full': no space left on device; make room or name a file elsewhere, and scan again"
small() { (ulimit -f 4 && exec "$WEIR" scan -f json "$@"); }
run small -o ../small ../many-places
expect 'a limit on files, with findings' 1 '' \
    "weir scan: cannot write '../small': it would be larger than a file may be here; raise that limit (ulimit -f), and scan again: 1 secret is in no report"
run small -o ../small --exit-zero ../many-places
expect 'also when these do not count' 3 '' "*raise that limit (ulimit -f)*"
is 'nothing is left of it' "$(find .. -name 'small*' | wc -l)" 0
echo old >../small
run small -o ../small ../many-places
is 'what was there is left alone' "$status $(cat ../small)" '1 old'
mkfifo ../left
{ read -rn 1; } <../left &
run "$WEIR" scan -f json -o ../left ../many-places
wait $!
expect 'a pipe whose reader leaves' 1 '' \
    "weir scan: cannot write '../left': whoever read it has gone; have it read to its end, and scan again: 1 secret is in no report"
{ read -rn 1; } <../left &
run "$WEIR" scan -f json -o ../left --exit-zero ../many-places
wait $!
expect 'also when these do not count' 3 '' "*whoever read it has gone*"
is 'a reader of standard output may leave, whatever its name' \
    "$( ("$WEIR" scan -f json -o /dev/stdout ../many-places 2>&1 >&3 | cat >&2) 3>&1 2>"$dir/err" | head -c 1; cat "$dir/err")" '{'

# Standard output and input have a name.
run "$WEIR" scan -f json -o - ../many-places
is '-o - is standard output' "$status $(jq .summary.secrets "$dir/out") $([[ -e ./- ]] || echo none)" '1 1 none'
run "$WEIR" scan -f jsonl -o - ../many-places
is 'as if there were no -o' "$(jq -r .type "$dir/out" | xargs)" 'found finding summary'
run "$WEIR" scan -f csv -o ./- ../many-places
is 'a file of that name has a path' "$status $(grep -c github-pat ./-)" '1 500'
rm ./-
run bash -c '"$0" scan --json ../many-places | "$0" scan --baseline=- ../many-places' "$WEIR"
expect 'a baseline from standard input' 0 '*500 known before*' ''
run bash -c "printf '[[rules]]\nid=\"a\"\nregex=\"ghp_\"\n' | \"\$0\" scan -f csv --config=- ../many-places" "$WEIR"
expect 'rules from standard input' 1 '*,"a",*' ''
run "$WEIR" scan --config=- --baseline=-
expect 'but once' 2 '' "weir scan: standard input can be read once: '-' is one too many"

run "$WEIR" scan -f json --show-secrets -o "$dir/private"
is 'a report with secrets is private' "$(stat -c %a "$dir/private")" 600

# --- what is known ---

plain_tree
echo "$pat" >a
run "$WEIR" scan --json -o ../known.json
run "$WEIR" scan -f gitleaks -o ../known.gitleaks
run "$WEIR" scan --baseline=../known.json
expect 'what a baseline has is known' 0 '*1 known before*' ''
run "$WEIR" scan --baseline=../known.gitleaks
expect 'also one of gitleaks' 0 '*1 known before*' ''
echo "$other" >b
run "$WEIR" scan --json --baseline=../known.json
is 'what is new is told' "$status $(spots)" '1 b:1:1:0'
echo garbage >../garbage
run "$WEIR" scan --baseline=../garbage
expect 'a baseline that is none' 2 '' "*baseline '../garbage'*"
jq -r '.findings[].places[].fingerprint' ../known.json >.weirignore
run "$WEIR" scan --json
is '.weirignore is read' "$(spots)" b:1:1:0
is 'and named' "$(summary 'configs[0]')" .weirignore
mv .weirignore ../ignore
echo 'b:github-pat:1' >.gitleaksignore
run "$WEIR" scan --json
is '.gitleaksignore is read' "$(spots)" a:1:1:0
run "$WEIR" scan --json --ignore-file=../ignore
is '--ignore-file is used instead' "$(spots)" b:1:1:0
rm .gitleaksignore
echo "$pat # weir:allow" >a
rm b
run "$WEIR" scan
expect 'a comment allows' 0 '*1 allowed*' ''
run "$WEIR" scan --no-allow-comments
expect 'unless comments are nothing' 1 '*github-pat*' ''

# --- configuration ---

plain_tree
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

plain_tree
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
rm "$dir"/cache/weir/*
status=0
(ulimit -f 100 && "$WEIR" scan --summary) >"$dir/out" 2>"$dir/err" || status=$?
is 'what cannot be kept is no matter' "$status $(grep -c 'compiled now' "$dir/err")" '0 1'
is 'and nothing is left of it' "$(find "$dir/cache/weir" -type f | wc -l)" 0
chmod 777 "$dir/cache/weir"
run "$WEIR" scan --summary
expect 'nor a folder that others may write' 0 '*' '*compiled now*'
chmod 700 "$dir/cache/weir"

# --- stopping ---

status=0
mkfifo "$dir/wait"
(exec env --default-signal=INT "$WEIR" scan - <"$dir/wait" >"$dir/out" 2>"$dir/err") &
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

# One signal, whenever it comes, and the report is there; or it came before anything was scanned, which is
# said.
none='weir scan: stopped before anything was scanned: there is no report'
plain_tree
mkdir many
for i in {1..60}; do { seq $((i * 20000)) $((i * 20000 + 20000)); echo "$pat"; } >"many/$i"; done
catches() { # pid, number of a signal
    local mask
    mask=$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status" 2>/dev/null) && [[ -n $mask ]] &&
        (((16#$mask >> ($2 - 1)) & 1))
}
RANDOM=${WEIR_SEED:-$RANDOM}
note "WEIR_SEED=$RANDOM"
lost=() seen_part=0
for i in {1..50}; do
    signal=$((i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 15))
    caches=$dir/cache
    ((i % 10 != 0)) || caches=$dir/cache-$i # nothing is compiled yet, and that takes its time
    mkdir -p "$caches"
    rm -f ../report
    # A job of a script ignores SIGINT unless it says otherwise; who started us may ignore SIGHUP.
    XDG_CACHE_HOME=$caches env --default-signal=INT,HUP "$WEIR" scan --json --output=../report --threads=1 >/dev/null 2>../said &
    pid=$!
    until { [[ $(readlink /proc/$pid/exe) == "$(readlink -f "$WEIR")" ]] && catches $pid $signal; } || ! kill -0 $pid 2>/dev/null; do :; done
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill -$signal $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
    complete=$(jq -r .summary.complete ../report 2>&1) || complete=none
    [[ $status:$complete == 1:true || $status:$complete == $((128 + signal)):@(true|false) ||
        ($status -eq $((128 + signal)) && ! -e ../report && $(cat ../said) == "$none") ]] ||
        lost+=("signal $signal: status $status, complete: $complete, $(cat ../said)")
    [[ $complete != false ]] || seen_part=$((seen_part + 1))
done
is 'after one signal there is a report, or nothing was scanned, 50 times' "${#lost[@]} ${lost[*]}" '0 '
is 'and some of them say that they are not complete' "$((seen_part > 0))" 1
is 'nothing is left beside them' "$(find "$dir" -name 'report.*.tmp' | wc -l)" 0
status=0
mkfifo "$dir/hangup"
(exec env --default-signal=HUP "$WEIR" scan --json - <"$dir/hangup" >"$dir/out" 2>"$dir/err") &
pid=$!
exec 9>"$dir/hangup"
printf 'key = %s\n' "$pat" >&9
for _ in {1..200}; do [[ $(ls /proc/$pid/task 2>/dev/null | wc -l) -le 1 ]] || break; sleep 0.05; done
sleep 0.3
kill -HUP $pid
wait $pid || status=$?
exec 9>&-
is 'a terminal that goes away ends a scan as SIGTERM does' \
    "$status $(summary interrupted) $(summary complete)" '129 true false'

# Rules that take long to compile do not keep anybody: the signal is not waited for.
{
    echo '[[rules]]'
    echo 'id = "slow"'
    printf "regex = '''x(%s)y'''\n" "$(for i in {1..400}; do printf '%s[a-z0-9]{20,60}q|' "$i"; done)z"
} >../slow.toml
for signal in INT TERM HUP; do
    said=$(python3 - "$WEIR" $signal "$dir" <<'PY'
import os, shutil, signal, subprocess, sys
weir, name, folder = sys.argv[1:]
cold = os.path.join(folder, "cold")
shutil.rmtree(cold, ignore_errors=True)
os.mkdir(cold)
number = getattr(signal, "SIG" + name)
run = subprocess.Popen([weir, "scan", "--config=../slow.toml", "--json", "--output=../slow.json"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"XDG_CACHE_HOME": cold},
                       preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
def is_compiling(): # the cache has been opened, and nothing is in it yet
    try:
        return os.listdir(os.path.join(cold, "weir")) == []
    except FileNotFoundError:
        return False
while not is_compiling() and run.poll() is None:
    pass
run.send_signal(number)
out, err = run.communicate()
print(run.returncode == -number, out.decode(), err.decode().strip(), os.listdir(cold + "/weir"), sep=":")
PY
    )
    is "SIG$signal while rules are compiled ends the program" "$said" "True::$none:[]"
done
is 'and nothing is left of the report' "$(find "$dir" -name 'slow.json*' | wc -l)" 0
# Nobody reads the report: that is no failure, and no half file is left.
status=0
"$WEIR" scan --json --show-secrets many 2>"$dir/err" | head -c 1 >/dev/null || status=${PIPESTATUS[0]}
is 'a reader that leaves is no error' "$status $(cat "$dir/err")" '1 '
mkfifo "$dir/reader"
head -c 1 <"$dir/reader" >/dev/null &
run "$WEIR" scan --json --output="$dir/reader" many
wait $!
is 'nor does a pipe that is left become a file' "$status $([[ -p $dir/reader ]] && echo pipe)" '1 pipe'

# Files of options may be pipes that nobody opens: one signal is enough.
stopped_by_one() { # options -> the signal, or late
    python3 -c 'import os, signal, subprocess, sys, time
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
def catches():
    with open("/proc/%d/status" % run.pid) as file:
        mask = [line.split()[1] for line in file if line.startswith("SigCgt")][0]
    return int(mask, 16) >> (signal.SIGINT - 1) & 1
while run.poll() is None and not catches():
    time.sleep(0.05)
time.sleep(0.5) # so that it is mostly at the pipe
run.send_signal(signal.SIGINT)
try:
    # To end a hang: it takes four seconds at most, and three and a half if a thread is given up.
    print(run.wait(float(os.environ.get("LATE_S", 60))))
except subprocess.TimeoutExpired:
    run.kill()
    print("late")' "$WEIR" scan "$@" many/1
}
mkfifo "$dir/nobody"
for option in baseline config ignore-file output; do
    is "a pipe of --$option that nobody opens does not outlive a signal" \
        "$(stopped_by_one "--$option=$dir/nobody")" -2
done
# What is scanned may be one, too, and a list: nobody waits for what does not come.
for from in "$dir/nobody" "--files-from=$dir/nobody"; do
    is "nor is it waited for that: ${from%%/*}" "$(LATE_S=3 stopped_by_one "$from")" -2
done
is 'and stays a pipe' "$([[ -p $dir/nobody ]] && echo pipe)" pipe
(exec 8<"$dir/nobody" && exec sleep 60) >/dev/null 2>&1 & # who reads nothing of a report that does not fit
sleeper=$!
for i in {1..900}; do printf '%s %0200d\n' "$pat" "$i"; done >many/1
is 'nor does one that is full' "$(stopped_by_one --json "--output=$dir/nobody")" -2
kill $sleeper
wait $sleeper 2>/dev/null || true

# --- what would be in vain is refused before it ---

plain_tree
echo "$pat" >f
run "$WEIR" scan -o missing/report .
expect 'a report that cannot be written is told' 3 '' \
    "weir scan: cannot write 'missing/report': no such file or directory; make the folder or name another file"
run "$WEIR" scan -o "$dir" .
expect 'nor can a folder be one' 3 '' '*is a directory; name a file in it'
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
expect 'rules show' 0 '*looked for*ghp_*width*42 bytes*' ''
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
# --- what shells offer ---

for shell in bash zsh fish; do "$WEIR" completion $shell >"$dir/completion.$shell"; done
is 'bash offers rules' "$(offers "$dir/completion.bash" "$dir" "$WEIR" scan --rule github-p)" github-pat
is 'behind = as well' "$(offers "$dir/completion.bash" "$dir" "$WEIR" scan --rule = github-p)" github-pat
is 'to rules show, too' "$(offers "$dir/completion.bash" "$dir" "$WEIR" rules show github-p)" github-pat
is 'and forms' "$(offers "$dir/completion.bash" "$dir" "$WEIR" scan --format '')" \
    'human json jsonl sarif csv junit github gitleaks html'
if command -v fish >/dev/null; then
    run fish --no-config -c "source '$dir/completion.fish'; complete -C '$WEIR scan --rule github-p'"
    expect 'fish offers rules' 0 '*github-pat*' '*'
    run fish --no-config -c "source '$dir/completion.fish'; complete -C '$WEIR scan --format s'"
    expect 'and forms' 0 'sarif*' '*'
else
    skip 'fish offers rules' 'fish is not installed'
    skip 'and forms' 'fish is not installed'
fi
if command -v zsh >/dev/null; then
    run zsh -n "$dir/completion.zsh"
    expect 'zsh reads it' 0 '' ''
    # What compadd would be given.
    run zsh -f -c "source <(sed '/^if .*funcstack/,\$d' '$dir/completion.zsh')
        compadd() { print -l \$printed }; _weir_itself='$WEIR'; _weir_printed rules list"
    is 'zsh offers rules' "$(grep -c '^github-pat$' "$dir/out") $(grep -c ' ' "$dir/out")" '1 0'
else
    skip 'zsh reads it' 'zsh is not installed'
    skip 'zsh offers rules' 'zsh is not installed'
fi

run "$WEIR" scan -h
expect 'help begins with examples' 0 '*weir scan*' ''

finish
