#!/bin/bash
# The reports of weir scan, judged by the readers of each form: jq, xmllint, and Python's csv, json and html
# parsers (by schemas: test_scan_schemas.sh). Names and lines that are made to break out of a form; secrets
# that must not be seen anywhere unless they were asked for; JSON Lines while the scan goes on; reports
# and ignore files of gitleaks.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 xmllint script mkfifo git gzip

forms=(json jsonl sarif csv junit github gitleaks html human)

# The secrets, and what is left of them when a few letters are cut off, or in base64.
needles() {
    local secret
    for secret in "$pat" "$other"; do
        printf '%s\n%s\n%s\n' "$secret" "${secret:6:30}" "$(printf '%s' "$secret" | base64 -w0 | cut -c9-40)"
    done
}
needles >"$dir/needles"

hides() { # name, files
    local name=$1 found
    shift
    if found=$(grep -aFl -f "$dir/needles" "$@"); then
        fail "$name" "$(grep -aFn -f "$dir/needles" $found | head -c 2000)"
    else
        pass "$name"
    fi
}

until_true() { # a command that becomes true; 60 seconds at most
    local i
    for ((i = 0; i < 600; i++)); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    return 1
}

# --- hostile names and lines ---

nasty=$'a"\'`,;:%0A=<!--]]>&amp;<script>alert(1)</script>[l](http://x){0}\xff\xc2\x9b\xe2\x80\xae\x1b[31m\t\n::error::b'
tree
mkdir dir
printf 'x = "%s"; y = "%s"\n' "$pat" "$other" >'dir/plain.py'
printf '%s %s %s\n' "$nasty" "$pat" "$nasty" >"${nasty//\//_}"
printf 'k %s \x1b]0;title\x07 \x1b[2J <b>%s</b> ]]> \xff\xfe\xc0\n' "$pat" "$other" >'=cmd()'
printf '%s' "the key is $pat and no other" | base64 -w0 >'-b64'
printf '%s' "$other" | python3 -c 'import sys; sys.stdout.buffer.write(b"\xff\xfe" + sys.stdin.read().encode("utf-16le"))' >$'wide\r\n'
printf 'line\n%s\n' "-----BEGIN RSA PRIVATE KEY-----" >open-key
: >unreadable.gz
printf '\x1f\x8b\x08broken' >'broken ]]>.gz'

for form in "${forms[@]}"; do
    run "$WEIR" scan --format=$form --verbose --summary
    cp "$dir/out" "$dir/report.$form"
    is "$form: status 1" "$status" 1
    hides "$form: no secret in the report, nor in what is said" "$dir/out" "$dir/err"
    if [[ $form != jsonl ]]; then
        run "$WEIR" scan --format=$form --output="$dir/written"
        # Seconds differ.
        is "$form: a file of --output has the same" \
            "$(sed -E 's/[0-9]+\.[0-9]+//g' "$dir/written" | cksum)" \
            "$(sed -E 's/[0-9]+\.[0-9]+//g' "$dir/report.$form" | cksum)"
    fi
    run "$WEIR" scan --format=$form --show-secrets
    is "$form: --show-secrets shows" "$(grep -aFc -e "$pat" "$dir/out" | sed 's/^[1-9][0-9]*$/some/')" some
done

if xmllint --noout "$dir/report.junit" >"$dir/said" 2>&1; then
    pass 'junit is well-formed'
else
    fail 'junit is well-formed' <"$dir/said"
fi
for form in json sarif gitleaks; do
    if jq -es 'length == 1' "$dir/report.$form" >/dev/null 2>"$dir/said"; then
        pass "$form is one value"
    else
        fail "$form is one value" <"$dir/said"
    fi
done
is 'jsonl is one value on each line' "$(wc -l <"$dir/report.jsonl")" "$(jq -s length "$dir/report.jsonl")"

# What each form says, read by those who read it.
if python3 - "$dir" >"$dir/said" 2>&1 <<'PY'
import csv, html.parser, json, re, sys, xml.etree.ElementTree as tree
d = sys.argv[1]

def text(form):
    with open(f"{d}/report.{form}", "rb") as file:
        return file.read().decode("utf-8", "strict")

def calm(form, allowed="\n"):
    for c in text(form):
        assert c in allowed or (ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0 and c not in "\u202e\u2028"), \
            (form, hex(ord(c)))

report = json.loads(text("json"))
places = sum(len(f["places"]) for f in report["findings"])
assert len(report["findings"]) >= 2 and places >= 6, (len(report["findings"]), places)
assert report["summary"]["secrets"] == len(report["findings"])
assert report["summary"]["places"] == places
for finding in report["findings"]:
    assert finding["redacted"] is True and "*" * 8 in finding["secret"]

lines = [json.loads(line) for line in text("jsonl").splitlines()]
kinds = [line["type"] for line in lines]
count = len(report["findings"])
assert kinds == ["found"] * count + ["finding"] * count + ["summary"], kinds
assert [line["id"] for line in lines[:count]] == list(range(1, count + 1))
told = {line["id"]: line for line in lines[:count]}
for line in lines[count:-1]:
    assert line["rule"] == told[line["id"]]["rule"] and line["secret"] == told[line["id"]]["secret"]
    assert told[line["id"]]["place"]["fingerprint"] in [p["fingerprint"] for p in line["places"]]
    assert "text" not in told[line["id"]]["place"] and "match" not in told[line["id"]]
strip = lambda f: {k: v for k, v in f.items() if k not in ("type", "id")}
assert [strip(line) for line in lines[count:-1]] == report["findings"]

rows = list(csv.reader(text("csv").splitlines(keepends=True), strict=True))
assert len(rows) == 1 + places and {len(row) for row in rows} == {len(rows[0])}, len(rows)
assert not [cell for row in rows for cell in row if cell[:1] in "=+-@" and not cell[1:].isdigit() and cell]
calm("csv", "\r\n")

root = tree.fromstring(text("junit").encode())
assert len(root.findall(".//failure")) == count
calm("junit")

for line in text("github").splitlines():
    assert re.match(r"::(error|warning) [a-z]", line), line
assert text("github").count("::error ") == count
calm("github")

gitleaks = json.loads(text("gitleaks"))
assert len(gitleaks) == places
for one in gitleaks:
    name = one["Fingerprint"]
    if name[0] == '"':  # so that it is one line of an ignore file
        assert "\n" not in name
        name = re.sub(r"\\(x..|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "x" else m[1], name[1:-1])
    assert name == f'{one["File"]}:{one["RuleID"]}:{one["StartLine"]}', one

class Page(html.parser.HTMLParser):
    void = {"meta", "br", "hr", "input", "link", "img", "col", "wbr"}
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.scripts = [], 0
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "srcset", "action"), (tag, name)
            assert name != "href" or not (value or "").lower().startswith("javascript"), value
        self.scripts += tag == "script"
        if tag not in self.void:
            self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)
    def handle_comment(self, data):
        raise AssertionError(data)

page = Page()
page.feed(text("html"))
page.close()
assert not page.open and page.scripts == 1, (page.open, page.scripts)
calm("html")
calm("human")
PY
then pass 'each form says the same to its readers'; else fail 'each form says the same to its readers' <"$dir/said"; fi

# On a terminal the only escapes are our colours.
status=0
script -qec "env TERM=xterm-256color $(printf '%q' "$WEIR") scan --progress=always" "$dir/typescript" >/dev/null </dev/null || status=$?
is 'on a terminal: status 1' "$status" 1
hides 'on a terminal: no secret' "$dir/typescript"
if python3 - "$dir/typescript" >"$dir/said" 2>&1 <<'PY'
import re, sys
data = open(sys.argv[1], "rb").read()
data = b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"Script "))
left = re.sub(rb"\x1b\[[0-9;]*m|\x1b\[[0-9]*K|\r", b"", data)
bad = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae", left)
assert not bad, (bad[:5], data[:400])
assert re.search(rb"\x1b\[[0-9;]+m", data), "no colours"
assert b"\x1b[31m\t" not in data and b"title\x07" not in data and b"\x1b[2J" not in data
PY
then pass 'on a terminal: nothing that was scanned drives it'; else fail 'on a terminal: nothing that was scanned drives it' <"$dir/said"; fi

# --- a secret in the name of its file ---

tree
printf '%s\n' "$pat" >"backup-$pat.txt"
for form in "${forms[@]}"; do
    run "$WEIR" scan --format=$form
    hides "$form: a secret in the name of its file" "$dir/out" "$dir/err"
done

# --- two secrets in one line, one of them known or allowed ---

tree
printf 'a = %s; b = %s\n' "$pat" "$other" >both
printf 'key = %s\n' "$other" >one
run "$WEIR" scan --json one
jq -r '.findings[].places[].fingerprint' "$dir/out" | sed 's/$/ # known/' >"$dir/ignore-one"
run "$WEIR" scan --json
jq -r '.findings[].places[] | select(.path == "both") | .fingerprint' "$dir/out" | head -1 >>"$dir/ignore-one"
for form in "${forms[@]}"; do
    run "$WEIR" scan --format=$form --ignore-file="$dir/ignore-one"
    is "$form: one is told and one is known" "$status" 1
    hides "$form: what is known is hidden in the line of the other" "$dir/out" "$dir/err"
done

# --- while the scan goes on ---

has_line() { # a file with at least one whole line
    [[ $(wc -l <"$1") -gt 0 ]]
}
begin_stream() { # arguments of scan; fd 9 is its standard input
    rm -f "$dir/in"
    mkfifo "$dir/in"
    : >"$dir/stream"
    "$WEIR" scan --format=jsonl "$@" <"$dir/in" >"$dir/stream" 2>"$dir/err" &
    pid=$!
    exec 9>"$dir/in"
}
end_stream() {
    exec 9>&-
    status=0
    wait "$pid" || status=$?
}

tree
begin_stream -
printf 'first line\nkey = %s\n' "$pat" >&9
python3 -c 'import sys; [sys.stdout.write("some words of no use\n" * 1000) for _ in range(150)]' >&9
if until_true has_line "$dir/stream"; then
    pass 'a finding is told while standard input is open'
else
    fail 'a finding is told while standard input is open' <"$dir/err"
fi
kill -0 "$pid" 2>/dev/null && pass 'and the scan goes on' || fail 'and the scan goes on' 'it has ended'
is 'it is the one' "$(head -1 "$dir/stream" | jq -c '[.type, .id, .rule, .place.path, .place.line, .place.column]')" \
    '["found",1,"github-pat","-",2,7]'
hides 'and redacted' "$dir/stream"
printf 'and %s\n' "$other" >&9
end_stream
is 'the rest comes at the end' "$status $(jq -rs '[.[] | .type] | join(" ")' "$dir/stream")" \
    '1 found found finding finding summary'
is 'the summary counts places' "$(tail -1 "$dir/stream" | jq -c '[.secrets, .places, .complete]')" '[2,2,true]'

# Of two paths one does not end.
printf 'key = %s\n' "$pat" >a
begin_stream --threads=2 a -
if until_true has_line "$dir/stream"; then
    pass 'a finding in a file is told while another is read'
else
    fail 'a finding in a file is told while another is read' <"$dir/err"
fi
end_stream
is 'and again at the end, with its number' "$(jq -c 'select(.type == "finding") | [.id, .places_total]' "$dir/stream")" '[1,1]'

# Nobody reads on.
status=0
timeout 120 bash -c '
    python3 -c "import random
while True:
    print(\"key = ghp_\" + \"\".join(random.choices(\"abcdefghijkmnpqrstuvwxyzABCDEFGH23456789\", k=36)))" 2>/dev/null |
        { "$0" scan --format=jsonl - 2>"$2"; echo "$?" >"$2.status"; } | head -1 >"$2.out"' \
    "$WEIR" '' "$dir/left" || status=$?
is 'a reader that leaves ends an endless scan' "$status $(jq -r .type "$dir/left.out")" '0 found'
is 'with the status of its findings, in silence' "$(cat "$dir/left.status") $(cat "$dir/left")" '1 '

run "$WEIR" scan --format=jsonl --output="$dir/lines"
is 'a file has the report alone' "$(jq -rs '[.[] | .type] | join(" ")' "$dir/lines")" 'finding summary'
run "$WEIR" scan --format=jsonl
cp "$dir/out" "$dir/lines"
run "$WEIR" scan --baseline="$dir/lines"
expect 'JSON Lines of a stream are a baseline' 0 '*1 known before*' ''
printf '{"format":"weir-scan","format_version":2,"findings":[]}' >"$dir/later"
run "$WEIR" scan --baseline="$dir/later"
expect 'a baseline of a later version is refused' 2 '' "*cannot use the baseline '*later': line 1: a report of another version*"
truncate -s 2G "$dir/huge"
run timeout 20 "$WEIR" scan --baseline="$dir/huge"
expect 'one that is too large is not read' 3 '' '*it is larger than a baseline may be*'
rm "$dir/huge"
run timeout 100 "$WEIR" scan --baseline=<(printf '[ '; head -c 1100M /dev/zero | tr '\0' ' ')
expect 'nor is a pipe that does not end' 3 '' '*it is larger than a baseline may be*'
if [[ ${SANITIZED:-none} == none ]]; then
    python3 -c 'for i in range(600000):
    print(",[" [i == 0] + "{\"RuleID\":\"r\",\"File\":\"f%d\",\"Secret\":\"s%064d\",\"Match\":\"%s\"}" % (i, i, "m" * 200))
print("]")' >"$dir/big.json"
    run python3 -c 'import resource, subprocess, sys
print(subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 131072)' \
        "$WEIR" scan --max-memory=256M --baseline="$dir/big.json"
    expect 'the text of a baseline is not kept' 0 '1 True' ''
    run "$WEIR" scan --max-memory=110M --baseline="$dir/big.json"
    expect 'what is known counts' 2 '' '*takes 32 MiB: set --max-memory=132M or more*'
    rm "$dir/big.json"
fi
head -n -1 "$dir/lines" >"$dir/cut"
run "$WEIR" scan --baseline="$dir/cut"
expect 'unless they were cut off' 2 '' '*cut off*'

# --- what gitleaks writes ---

# --- secrets in names, and where no rule finds them ---

everywhere() { # name, wanted status, arguments: in no form is a secret, nor in what is said
    local name=$1 wanted=$2 form
    shift 2
    for form in "${forms[@]}"; do
        run "$WEIR" scan -v --format="$form" "$@"
        is "$form: $name: status" "$status" "$wanted"
        hides "$form: $name" "$dir/out" "$dir/err"
    done
}
tree
mkdir d
printf 't=%s\n' "$pat" >d/z
seq 1 20000 | gzip | head -c 9000 >"d/$pat.gz"
everywhere 'the name of something that was not scanned' 1 d
rm d/z
everywhere 'such a name alone' 1 d
run "$WEIR" scan --json d
is 'a secret in a name is a finding, once' \
    "$(jq -c '[.findings[] | .rule, .places[0].in_name]' "$dir/out")" '["github-pat",true]'
is 'and the name is among what was not scanned' "$(jq '.summary.unscanned | length > 0' "$dir/out")" true
run "$WEIR" scan --json --show-secrets d
is 'shown on request' "$(jq -r '.findings[0].places[0].path, .summary.unscanned[0].path' "$dir/out" | sed 's/!.*//' | sort -u)" "d/$pat.gz"
run "$WEIR" scan -f csv d
hides 'what was not scanned is said without it' "$dir/err"
like_name='cannot unpack all of *ghp_*eZiJ.gz*'
is 'and is said' "$([[ $err == *$like_name* ]] && echo yes)" yes

printf 'gone-%s\n' "$pat" >"$dir/list"
everywhere 'a name in a list that is not there' 1 --files-from="$dir/list"
tree
git init -q .
git config user.email a@example.org
git config user.name a
blob=$(echo x | git hash-object -w --stdin)
printf '100644 %s 1\t%s\n100644 %s 2\t%s\n' "$blob" "$pat.c" "$blob" "$pat.c" | git update-index --index-info
everywhere 'the name of a path in conflict' 1 --staged

tree
mkdir t
printf 't=%s\n' "$other" >"t/a-$pat.env"
printf 't=%s\n' "$pat" >t/z
everywhere 'the name of another file' 1 t
tree
printf 'hello\n' >"$pat.txt"
mkdir "$other"
printf 'hello\n' >"$other/f"
printf 'hello\n' >"$other/g"
everywhere 'the names of a file and a directory' 1 .
run "$WEIR" scan --json
is 'each name has its place' "$(jq -c '[.findings[].places_total] | sort' "$dir/out")" '[1,2]'
jq . "$dir/out" >"$dir/names.json"
run "$WEIR" scan --baseline="$dir/names.json"
expect 'which a baseline knows' 0 '*3 known before*' ''
tree
printf 'AKIA%s\n' none >"AKIA$(printf 'Z7VRSQ5TJN2XMFLP').txt"
run "$WEIR" scan --json
is 'of a short one nothing is shown' "$(jq -r '.findings[].places[0].path' "$dir/out")" '********************.txt'
tree
mkdir plain
printf 'hello\n' >plain/a-very-long-name-of-a-file-that-is-no-secret-2026.txt
run "$WEIR" scan
expect 'long names are no secrets' 0 'no secrets found*' ''
tree
printf 'hello\n' >"$pat"
zip_of() { python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z: z.writestr(sys.argv[2], "hello")' "$@"; }
zip_of a.zip "dir/$other"
rm "$pat"
everywhere 'the name of a member' 1 a.zip
tree
printf 't=%s\nu=%s cache_%s_v2\n' "$pat" "$other" "$pat" >sf
everywhere 'a part of a longer word, in another line' 1 sf
tree
printf 't=%s\n' "$other" >"cache_${pat}_v2"
printf 't=%s\n' "$pat" >z
for form in "${forms[@]}"; do
    run "$WEIR" scan --format="$form"
    # What is told at once cannot know what is found later.
    grep -av '"type":"found"' "$dir/out" >"$dir/last"
    hides "$form: a part of a longer word, in a name" "$dir/last" "$dir/err"
done

tree
printf 't=%s\n' "$other" >"a-$pat.env"
run "$WEIR" scan -f gitleaks
cp "$dir/out" "$dir/redacted.json"
run "$WEIR" scan --baseline="$dir/redacted.json"
expect 'a redacted report knows a file whose name is hidden' 0 '*2 known before*' ''
tree
printf 't=%s\n' "$other" >"cache_${pat}_v2" # no rule finds it there
printf 't=%s\n' "$pat" >z
run "$WEIR" scan -f gitleaks
cp "$dir/out" "$dir/redacted.json"
is 'a name is hidden for what is found elsewhere' "$(jq -r '.[].File' "$dir/out" | sort | head -1)" \
    'cache_ghp_********************************eZiJ_v2'
run "$WEIR" scan --baseline="$dir/redacted.json"
expect 'and a redacted report knows it, too' 0 '*2 known before*' ''
jq -r '.[].Fingerprint' "$dir/redacted.json" >.gitleaksignore
run "$WEIR" scan
expect 'as an ignore file does' 0 '*2 known before*' ''
rm .gitleaksignore
mv "cache_${pat}_v2" "cache_${pat}_v3"
run "$WEIR" scan --json --baseline="$dir/redacted.json"
is 'but not another' "$status $(jq .summary.secrets "$dir/out")" '1 1'

# --- progress, and narrow terminals ---

tree
mkfifo slow
printf '\t%s \033[2J\033]0;title\007 \xe5\xaf\x86\xe9\x92\xa5\n' "$pat" >f
for columns in 40 100; do
    # A stream that comes when progress has been shown, so that there is something to wait for.
    rm -f "$dir/typescript"
    (until_true grep -qsa $'secret.*\033\\[K' "$dir/typescript" || true; echo plain >slow) &
    script -qfec "stty cols $columns; env TERM=xterm $(printf '%q' "$WEIR") scan f slow" "$dir/typescript" >/dev/null </dev/null || true
    wait $!
    is "$columns columns: progress, and lines that fit" "$(python3 - "$dir/typescript" $columns <<'PY'
import re, sys, unicodedata
text = open(sys.argv[1], encoding="utf-8", newline="").read().split("\n", 1)[1]
drawn = re.findall("\r([^\r\n\x1b]+)\x1b\\[K", text)
report = text[text.rindex("\r\x1b[K") + 4:].split("Script done")[0]
plain = re.sub("\x1b\\[[0-9;]*m", "", report)
cells = lambda line: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
wide = [l for l in drawn if len(l) >= int(sys.argv[2])]
wide += [l for l in plain.split("\r\n") if l.startswith("      ") and "checked" not in l and cells(l) > int(sys.argv[2])]
controls = set(re.findall("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", plain))
print(bool(drawn) and "file" in drawn[0] and "secret" in drawn[-1], "github-pat" in plain, wide, sorted(controls))
PY
)" 'True True [] []'
done
# Narrower than anything is made for, and narrower than COLUMNS has it: what does not fit is left out.
for columns in 8 15; do
    (sleep 1.2; echo plain >slow) &
    script -qec "stty cols $columns; env TERM=xterm COLUMNS=100 $(printf '%q' "$WEIR") scan f slow" "$dir/typescript" >/dev/null </dev/null || true
    wait $!
    is "$columns columns: no line of progress wraps" "$(python3 - "$dir/typescript" $columns <<'PY'
import re, sys
text = open(sys.argv[1], encoding="utf-8", newline="").read().split("\n", 1)[1]
drawn = re.findall("\r([^\r\n\x1b]+)\x1b\\[K", text)
print(len(drawn) > 1, [line for line in drawn if len(line) >= int(sys.argv[2])])
PY
)" 'True []'
done
run "$WEIR" scan f
is 'nothing of it on a pipe' "$err" ''

# --- how much of a secret is shown ---

tree
long=Zq8sKw2nPfx7Lr4tVbc9Mh1y
printf 'postgres://u:%s@h/db\n' "$long" >url
printf 'password = "correct-Horse7battery!staple9x"\n' >word
printf '%s\n' "$pat" >token
run "$WEIR" scan --json
is 'of a password nothing' "$(jq -r '.findings[] | select(.places[0].path != "token") | .secret' "$dir/out" | sort -u)" '********'
is 'nor in its line' "$(jq -r '.findings[].places[0].text' "$dir/out" | grep -c 'Zq\|1y@\|corr\|9x"')" 0
is 'of a token what every such token begins with, and its end' \
    "$(jq -r '.findings[] | select(.places[0].path == "token") | .secret' "$dir/out")" "ghp_********************${pat: -4}"

# --- names that are not UTF-8, and names that look as if they were ---

tree
odd=($'a\xff' $'a\xfe' 'a\xff' 'a\\xff' $'b\n' 'b\n' $'c\u202e' 'c\u{202e}' $'d\t' 'd\t' "=e" "'=e" $'f\x1b' 'f\x1b' 'g\h')
for name in "${odd[@]}"; do printf '%s\n' "$pat" >"$name"; done
for form in "${forms[@]}"; do run "$WEIR" scan --format="$form" --output="$dir/odd.$form"; done
for i in "${!odd[@]}"; do # each alone, so that each is a first place
    run "$WEIR" scan "./${odd[i]}"
    head -1 "$dir/out"
    run "$WEIR" scan --format=github "./${odd[i]}"
    sed -n 's/^::error file=\([^,]*\),.*/\1/p' "$dir/out" >>"$dir/odd.github-names"
done >"$dir/odd.human-names"
wanted=${#odd[@]}
is 'human: no two look the same' "$(sort -u "$dir/odd.human-names" | wc -l)" "$wanted"
is 'github: no two look the same' "$(sort -u "$dir/odd.github-names" | wc -l)" "$wanted"
for form in csv junit html sarif json; do
    is "$form: each name can be had back" "$(python3 - "$form" "$dir/odd.$form" . <<'PY'
import csv, html, json, os, re, sys, urllib.parse, xml.etree.ElementTree as tree
form, path, folder = sys.argv[1:]
text = open(path, encoding="utf-8", newline="").read()
def back(name):
    # What our escapes stand for; a name without any is as it is.
    if not re.search(r"\\(\\|[nrt]|x[0-9a-f]{2}|u\{)", name):
        return name.encode()
    out, at = b"", 0
    for m in re.finditer(r"\\(?:(\\)|([nrt])|x([0-9a-f]{2})|u\{([0-9a-f]+)\})", name):
        out += name[at:m.start()].encode()
        out += (b"\\" if m[1] else {"n": b"\n", "r": b"\r", "t": b"\t"}[m[2]] if m[2] else
                bytes([int(m[3], 16)]) if m[3] else chr(int(m[4], 16)).encode())
        at = m.end()
    return out + name[at:].encode()
def json_back(name):
    if not re.search(r"\\x[0-9a-f]{2}", name):
        return name.encode()
    return re.sub(rb"\\(\\|x[0-9a-f]{2})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), name.encode())
if form == "csv":
    names = [back(r[3][1:] if r[3][0] == "'" else r[3]) for r in list(csv.reader(text.splitlines(True)))[1:]]
elif form == "junit":
    body = tree.fromstring(text).find(".//failure").text
    names = [back(n) for n in re.findall(r"^(.*):1:1$", body, re.M)]
elif form == "html":
    names = [back(html.unescape(n)) for n in re.findall(r"<li>(.*):1:1</li>", text)]
elif form == "sarif":
    r = json.loads(text)["runs"][0]["results"][0]
    names = [urllib.parse.unquote_to_bytes(l["physicalLocation"]["artifactLocation"]["uri"])
             for l in r["locations"] + r["relatedLocations"]]
else:
    names = [json_back(p["path"]) for p in json.loads(text)["findings"][0]["places"]]
wanted = sorted(os.listdir(os.fsencode(folder)))
print("same" if sorted(names) == wanted else (sorted(names), wanted))
PY
)" same
done

tree
secret_word=Pa5sWorD
for url in "ftp://bob:$secret_word@h/x" "http:/bob:$secret_word@h/" "http://bob:$secret_word" "ftp://bob:$secret_word" \
    "http://bob:$secret_word/x" "HTTP:/$secret_word@h"; do
    run "$WEIR" scan "$url"
    is "no password of ${url/$secret_word/...}" "$(cat "$dir/out" "$dir/err" | grep -c "$secret_word")" 0
done

# name, a filter of jq on the one finding of its report
gitleaks_report() {
    jq -n --arg secret "$pat" '[{
        RuleID: "github-pat", Description: "Uncovered a GitHub Personal Access Token",
        StartLine: 2, EndLine: 2, StartColumn: 8, EndColumn: 47,
        Match: $secret, Secret: $secret, File: "src/a.py", SymlinkFile: "", Commit: "",
        Link: "https://example.org/a/b/blob/main/src/a.py#L2", Entropy: 4.6, Author: "", Email: "",
        Date: "2026-01-02T03:04:05Z", Message: "", Tags: [],
        Fingerprint: "src/a.py:github-pat:2"}]' | jq "$1" >"$dir/gitleaks.json"
}
tree
mkdir src
printf 'import x\nkey = "%s"\n' "$pat" >src/a.py
printf 'key = "%s"\n' "$other" >b.py
known() { # name, filter of jq, wanted number of what is known
    gitleaks_report "$2"
    run "$WEIR" scan --json --baseline="$dir/gitleaks.json"
    is "$1" "$(jq -c '[.summary.ignored, (.findings | length)]' "$dir/out")" "[$3,$((2 - $3))]"
}
known 'a report of gitleaks is a baseline' . 1
known 'with its secret redacted' '.[0].Secret = "REDACTED" | .[0].Match = "REDACTED"' 1
known 'with a part of it' '.[0].Secret = "ghp_M0Xvq..." | .[0].Match = "ghp_M0Xvq..."' 1
known 'with a commit' '.[0].Commit = "0123456789abcdef0123456789abcdef01234567"' 1
known 'without what newer ones have' 'del(.[0].Link, .[0].Fingerprint, .[0].SymlinkFile)' 1
known 'with tags that are none' '.[0].Tags = null' 1
known 'with a path from here' '.[0].File = "./src/a.py"' 1
known 'the line may be another one' '.[0].StartLine = 99' 1
known 'but not when the secret is redacted' '.[0].StartLine = 99 | .[0].Secret = "REDACTED"' 0
known 'nor another rule' '.[0].RuleID = "gitlab-pat"' 0
known 'nor another file' '.[0].File = "src/b.py"' 0
known 'nothing is known from nothing' '[]' 0
gitleaks_report '.[0]'
run "$WEIR" scan --baseline="$dir/gitleaks.json"
expect 'one finding alone is no report' 2 '' '*gitleaks.json*'

ignored() { # name, wanted paths; the ignore file on standard input
    cat >.gitleaksignore
    run "$WEIR" scan --json
    is "$1" "$(jq -r '[.findings[].places[].path] | sort | join(" ")' "$dir/out") $(jq -r '.summary.configs[0]' "$dir/out")" \
        "$2 .gitleaksignore"
}
ignored 'fingerprints of files' b.py <<<'src/a.py:github-pat:2'
ignored 'fingerprints of commits are for commits' 'b.py src/a.py' \
    <<<'0123456789abcdef0123456789abcdef01234567:src/a.py:github-pat:2'
ignored 'both, with comments, blanks and ends of another system' '' < <(
    printf '# known\r\n\r\nsrc/a.py:github-pat:2\r\n  b.py:github-pat:1  # why\r\n'
    printf '0123456789abcdef:b.py:github-pat:1\n')
ignored 'another line is another finding' 'b.py src/a.py' <<<'src/a.py:github-pat:3'
run "$WEIR" scan --json --ignore-file=/dev/null
jq -r '.findings[].places[].fingerprint' "$dir/out" >"$dir/ours"
ignored 'ours stand beside them' '' < <(head -1 "$dir/ours"; printf 'src/a.py:github-pat:2\nb.py:github-pat:1\n')
run "$WEIR" scan -f gitleaks --ignore-file=/dev/null
jq -r '.[].Fingerprint' "$dir/out" >.gitleaksignore
run "$WEIR" scan
expect 'those of our own gitleaks report' 0 '*2 known before*' ''
echo 'no fingerprint' >.gitleaksignore
run "$WEIR" scan
expect 'what is none is named by its line' 1 '*github-pat*' "*.gitleaksignore:1*"

# --- where --output leads ---

# Links are made here: what is tried on those of the system would damage it.
tree
echo "$pat" >f
mkdir links elsewhere
ln -s /proc/self/fd/1 links/stdout
status=0
"$WEIR" scan -f csv -o links/stdout f >written 2>"$dir/err" || status=$?
is 'a link to standard output is written through' \
    "$status $(readlink links/stdout) $(grep -c github-pat written) $(cat "$dir/err")" '1 /proc/self/fd/1 1 '
echo before >written
{ "$WEIR" scan -f csv -o links/stdout f || true; echo behind; } >>written
is 'in its place among what others write' \
    "$(head -1 written) $(grep -c github-pat written) $(tail -1 written)" 'before 1 behind'
is 'also when it is a pipe' "$("$WEIR" scan -f csv -o links/stdout f | grep -c github-pat)" 1
run bash -c '"$0" scan -f csv -o /proc/self/fd/5 f 5>>written' "$WEIR"
is 'and any other descriptor' "$(head -1 written) $(grep -c github-pat written)" 'before 2'

echo old >elsewhere/file
ln elsewhere/file elsewhere/same
ln -s ../elsewhere/file links/one
ln -s "$PWD/links/one" links/two
run "$WEIR" scan -f csv -o links/two f
is 'a link to a file stays one, and the file is replaced' \
    "$status $(readlink links/two links/one | tr '\n' ' ')$(grep -c github-pat elsewhere/file) $(cat elsewhere/same)" \
    "1 $PWD/links/one ../elsewhere/file 1 old"
ln -s ../elsewhere/new links/new
run "$WEIR" scan -f csv -o links/new f
is 'one that leads to nothing makes the file' "$(readlink links/new) $(grep -c github-pat elsewhere/new)" '../elsewhere/new 1'
is 'nothing is left beside them' "$(echo elsewhere/* links/*)" \
    'elsewhere/file elsewhere/new elsewhere/same links/new links/one links/stdout links/two'
mkfifo pipe
ln -s ../pipe links/pipe
cat pipe >read &
run "$WEIR" scan -f csv -o links/pipe f
wait $!
is 'a link to a pipe is written through' "$status $([[ -p pipe && -L links/pipe ]] && grep -c github-pat read)" '1 1'
ln -s round links/round
run "$WEIR" scan -o links/round f
expect 'one that leads nowhere is told' 3 '' "weir scan: cannot write 'links/round': too many levels of symbolic links; name the file itself"
run "$WEIR" scan -o links f
expect 'a folder is none' 3 '' "weir scan: cannot write 'links': is a directory; name a file in it"
for option in output baseline config files-from ignore-file; do
    run "$WEIR" scan --$option=f --$option=g
    expect "--$option is given once" 2 '' "weir scan: option '--$option': 'g' is one too many: it may be given once"
done

# --- places beyond those that are listed ---

tree
for i in 1 2 3; do seq 500 | sed "s/^/$pat /" >"$i"; done
for form in gitleaks csv; do
    run "$WEIR" scan -f $form
    expect "$form: what is not listed is told" 1 '*' 'weir scan: warning: places that are not listed: 500'
done
run "$WEIR" scan -f json
is 'json has it itself' "$(jq -c .summary.unlisted_places "$dir/out") $(cat "$dir/err")" '500 '
run "$WEIR" scan -f gitleaks --summary
expect 'so does the summary' 1 '*' $'*\nweir scan: places that are not listed: 500\n*\nweir scan: complete'

# --- secrets beyond those that are listed ---

tree
python3 -c 'import hashlib
for i in range(50000): print("key = ghp_" + hashlib.sha256(b"%d" % i).hexdigest()[:36])' >many
run "$WEIR" scan --json --max-memory=256M many
is '256 MiB are enough for 50,000 secrets' "$(jq -c '[(.findings | length), .summary.unlisted]' "$dir/out")" '[50000,0]'

# --- what a rule is called ---

tree
printf '[[rules]]\nid = "acme"\ndescription = "As %s, or password=%s."\nregex = "acme_[a-z]{4}"\n' "$pat" Kw7vNp2xLq9z >c.toml
echo 'acme_abcd' >f
for form in "${forms[@]}"; do
    run "$WEIR" scan --config=c.toml -f "$form" f
    is "a secret in the description of a rule is hidden: $form" \
        "$status $(grep -c -e "$pat" -e Kw7vNp2xLq9z "$dir/out" "$dir/err" | cut -d: -f2 | xargs)" '1 0 0'
done

# --- a list of which one is found ---

tree
printf 'password = ["%s", null, "%s"] # "%s"\n' Kw7vNp2xLq9z wT4rZm2Qv8xK innocent >f
for form in "${forms[@]}"; do
    run "$WEIR" scan -f "$form" f
    is "the others of a list are hidden: $form" "$status $(grep -c -e wT4rZm2Qv8xK "$dir/out" "$dir/err" | cut -d: -f2 | xargs)" '1 0 0'
done
run "$WEIR" scan f
is 'and no more than these' "$(grep -c '"\*\+", null, "\*\+"\] # "innocent"' "$dir/out")" 1

# --- our own reports ---

tree
printf 'echo "root:%s" | chpasswd\npsexec \\\\10.0.0.4 -u CORP\\admin -p %s cmd\n' LFOB07EBfs HX25LHG69S >script
printf 'asana_key = "%s"\n' 9c1f0e5b7a3d48e2b6c4f81d05a7e93b >>script
run "$WEIR" scan --json script
is 'there is something to hide' "$(jq '.findings | length' "$dir/out")" 3
mkdir reports
for form in "${forms[@]}"; do run "$WEIR" scan -f "$form" -o "reports/$form" script; done
run "$WEIR" scan --json reports
is 'what is hidden in a report is no secret, nor are fingerprints' \
    "$(jq -c '[.findings[] | [.rule, .places[].path]]' "$dir/out")" '[]'

# The same for what each rule finds in its examples: in a report that shows them, they are.
mkdir examples
"$WEIR" rules list --json | jq -r '.[].id' | xargs "$WEIR" rules show --json | jq -c '.examples // []' |
    python3 -c 'import json, sys
for number, line in enumerate(sys.stdin):
    for other, text in enumerate(json.loads(line)):
        open(f"examples/{number}-{other}.txt", "w").write(text)'
for form in "${forms[@]}"; do
    "$WEIR" scan --format="$form" --exit-zero examples >report 2>/dev/null
    run "$WEIR" scan --json report
    is "what each rule hides is no secret in $form" "$(jq -c '[.findings[] | [.rule, .places[0].line]]' "$dir/out")" '[]'
done
"$WEIR" scan --format=csv --show-secrets --exit-zero examples >report 2>/dev/null
run "$WEIR" scan --json report
check 'what is shown there is' test "$(jq '.findings | length' "$dir/out")" -gt 3000

finish
