#!/bin/bash
# Where a report of weir scan goes, and what is said beside it: what a file that is replaced keeps, what is
# not replaced, standard output that cannot be written; and no secret on standard error, whatever the report
# shows and whoever wrote the names and the files of configuration that messages quote.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 zip

# A piece of a secret is enough to be one too much.
quiet() { # name, a pattern for what is said, files that must not have it besides
    local name=$1 said=$2
    shift 2
    # shellcheck disable=SC2053 # it is a pattern
    if grep -aFq -e "${pat:6:16}" -e "${pat:20:16}" "$dir/err" "$@"; then
        fail "$name" "$(said)"
    elif [[ $(cat "$dir/err") != $said ]]; then
        fail "$name: '$said' is not said" "$(said)"
    else
        pass "$name"
    fi
}
stars='ghp_\*\*\*\*\**'

# --- what is scanned is not replaced ---

tree
echo "key = $pat" >given
ln -s given link
run "$WEIR" scan given -o link
expect 'a file that is scanned is not replaced' 2 '' "*'link' is to be read, and the report would take its place*"
is 'and is still there' "$(cat given)" "key = $pat"
while IFS='|' read -r option content; do
    printf '%b\n' "$content" >known
    run "$WEIR" scan . "--$option=known" -o known
    expect "nor what --$option reads" 2 '' "*'known' is to be read, and the report would take its place*"
done <<'TABLE'
config|[extend]\nuseDefault = true
baseline|[]
ignore-file|# nothing
files-from|given
TABLE
rm known
run "$WEIR" scan . -o given
is 'one that a folder has in it is' "$status $(grep -c 'secret' given)" '1 1'

# --- a reader who does not read ---

tree
python3 -c 'import hashlib
for i in range(3000):
    print("key = ghp_" + hashlib.sha256(b"%d" % i).hexdigest()[:36], file=open("f%d" % i, "w"))'
cat >"$dir/wait_full.py" <<'END'
# Until something was written into the pipe and nothing more is.
import fcntl, os, struct, sys, termios, time
pipe, had, until = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK), 0, time.monotonic() + 50
def written():
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
while (had == 0 or had != written()) and time.monotonic() < until:
    had = written()
    time.sleep(1)
END
for how in '-f human' '-f json' '-f jsonl' '-f json -o /dev/stdout' '-f json 2>&1'; do
    mkfifo "$dir/full"
    sleep 60 <"$dir/full" &
    sleeper=$!
    messages=$dir/err
    [[ $how != *2* ]] || messages=$dir/full
    # shellcheck disable=SC2086 # words
    (exec env --default-signal=TERM "$WEIR" scan --show-secrets ${how% 2*} >"$dir/full" 2>"$messages") &
    pid=$!
    python3 "$dir/wait_full.py" "$dir/full"
    kill -TERM $pid || true
    for _ in $(seq 150); do
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
    if [[ $how == *2* ]]; then
        is "$how: one signal ends it, whoever does not read the messages" "$status" 143
    else
        is "$how: one signal ends it" "$status $(grep -c 'nobody reads it' "$dir/err")" '143 1'
    fi
    kill $sleeper
    wait $sleeper 2>/dev/null || true
    rm "$dir/full"
done

# A terminal, a socket, and messages of every thread into what is full: one signal ends it. It is sent when
# what there was room for has been written.
cat >"$dir/unread.py" <<'END'
import fcntl, os, pty, signal, socket, struct, subprocess, sys, termios, time
kind, stream, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
if kind == "terminal":
    ours, theirs = pty.openpty()
    arguments = [word.replace("TERMINAL", os.ttyname(theirs)) for word in arguments]
elif kind == "socket":
    ours, theirs = (s.detach() for s in socket.socketpair())
else:
    ours, theirs = os.pipe()
to = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
if stream != "none":
    to[stream] = theirs
scan = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, start_new_session=True, **to)
def written():
    return struct.unpack("i", fcntl.ioctl(ours, termios.FIONREAD, bytes(4)))[0]
had = 0
while had == 0 or had != written():
    had = written()
    time.sleep(1)
scan.send_signal(signal.SIGTERM)
try:
    print(scan.wait(20))
except subprocess.TimeoutExpired:
    scan.kill()
    print("it hangs")
END
mapfile -t absent < <(printf '%s\n' "$dir"/absent-{1..3000}-and-a-name-that-is-long-enough-to-fill-it)
for kind in pipe terminal socket; do
    is "a $kind that nobody reads the report from: one signal ends it" \
        "$(env --default-signal=TERM python3 "$dir/unread.py" $kind stdout "$WEIR" scan -f json)" -15
    is "a $kind of --output that nobody reads: one signal ends it" \
        "$(env --default-signal=TERM python3 "$dir/unread.py" $kind stdout "$WEIR" scan -f json -o /dev/stdout)" -15
    is "a $kind that nobody reads messages from: one signal ends it" \
        "$(env --default-signal=TERM python3 "$dir/unread.py" $kind stderr "$WEIR" scan -f csv --threads=2 "${absent[@]}")" -15
done
is 'a terminal of --output by its name: one signal ends it' \
    "$(env --default-signal=TERM python3 "$dir/unread.py" terminal none "$WEIR" scan -f json -o TERMINAL)" -15

# --- no secret in messages ---

for shown in '' --show-secrets; do
    tree
    seq 1000 >x
    zip -q x.zip x
    head -c 200 x.zip >"b_$pat.zip"
    rm x x.zip
    for form in csv gitleaks json human; do
        run "$WEIR" scan $shown -f $form -v
        quiet "$form $shown: what is broken" "*'b_$stars.zip*"
        run "$WEIR" scan $shown -f $form -v "no_$pat"
        quiet "$form $shown: what is not there" "*'no_$stars*"
    done
    # A secret that is known from elsewhere, where no rule would find it.
    echo "key = $pat" >known
    head -c 100 "b_$pat.zip" >"cache${pat}v2.gz"
    run "$WEIR" scan $shown -f csv -v known "cache${pat}v2.gz" "cache${pat}v3"
    quiet "known from elsewhere $shown" "*'cacheghp_*"
done

# By the rules of the run, once there are any.
tree
printf '[[rules]]\nid = "own"\nregex = "zq[0-9]{20}"\n' >.weir.toml
own=zq01234567890123456789
# More than are kept for the end: the last of them are told at once, before all is known.
seq -f "a_$own.%.0f" 1100 >list
run "$WEIR" scan --show-secrets -f csv --files-from=list
is 'what rules of ones own find' \
    "$status $(grep -c "$own" "$dir/out") $(grep -c 'a_\*' "$dir/err") $(grep -c "${own:4:16}" "$dir/err")" '1 1000 1100 0'

tree
mkdir "d_$pat"
echo x >"d_$pat/f"
echo bogus >"d_$pat/.weirignore"
printf '[extend]\nuseDefault = true\n' >"d_$pat/.weir.toml"
for form in json jsonl html human; do
    run "$WEIR" scan --trust-config -f $form --summary "d_$pat"
    quiet "$form: names of files that are used" "*warning: d_$stars/.weirignore:1: not a fingerprint*used: 'd_$stars/.weir.toml'*" "$dir/out"
done
run "$WEIR" scan --trust-config --json "d_$pat"
is 'the report has them' "$(jq -r '.summary.configs[0]' "$dir/out")" "d_ghp_$(printf '*%.0s' {1..32})${pat: -4}/.weir.toml"
run "$WEIR" scan --show-secrets --trust-config --json "d_$pat"
is 'as they are if that is wanted' "$(jq -r '.summary.configs[0]' "$dir/out")" "d_$pat/.weir.toml"
quiet 'which is not for messages' '*.weirignore:1:*'
for option in -b -c --ignore-file --files-from -o; do
    run "$WEIR" scan -f csv $option "none/$pat" "d_$pat/f"
    quiet "the file of $option" '*none/*\*\*\*\*\**'
done
run "$WEIR" scan --ignore-file="d_$pat/.weirignore" "d_$pat/f"
quiet 'one that has a bad line' "*d_$stars/.weirignore:1: not a fingerprint*"

while IFS="|" read -r name text; do
    printf '%b' "${text//T/$pat}" >"d_$pat/.weir.toml"
    run "$WEIR" scan --trust-config "d_$pat"
    quiet "a configuration with $name" "*ghp_\**.weir.toml:*"
    run "$WEIR" rules list "./d_$pat/.weir.toml"
    quiet "the same for weir rules: $name" '*'
done <<'TABLE'
an unknown key|bogus_T = 1\n
a bad expression|[[rules]]\nid = "x"\nregex = "(T"\n
a bad entry|[extend]\nuseDefault = true\n[allowlist]\nregexes = ["(T"]\n
a bad id|[[rules]]\nid = "T"\nregex = "("\n
no syntax at all|a = T\n
TABLE
rm "d_$pat/.weir.toml"
run "$WEIR" scan --rule="$pat" f
quiet 'a rule that there is none of' "*no rule '\*\*\*\**"
for ((i = 1; i < 8; i++)); do
    run "$WEIR" scan -o "none/$(printf 'n%.0s' {1..20})/$(printf "%$((i * 8))s" '' | tr ' ' p).$pat" f
    quiet "one that is cut in its name, $i" '*cannot write*'
done
run "$WEIR" scan --config=/no-such-folder-here-at-all/a-name-of-many-letters.toml
expect 'names that are none are left alone' 3 '' \
    "weir scan: cannot read '/no-such-folder-here-at-all/a-name-of-many-letters.toml': no such file or directory"

# --- what a replaced file keeps, and what is not replaced ---

tree
echo "$pat" >f
echo old >kept
chmod 600 kept
run "$WEIR" scan --json -o kept f
is 'a private file stays private' "$status $(stat -c %a kept) $(jq -r '.findings | length' kept)" '1 600 1'
chmod 664 kept
run "$WEIR" scan --json -o kept f
is 'and one that others may write stays so' "$(stat -c %a kept)" 664
run "$WEIR" scan --show-secrets --json -o kept f
is 'but not with the secrets themselves' "$(stat -c %a kept) $(grep -c "$pat" kept)" '600 1'
long=$(printf 'n%.0s' {1..255})
run "$WEIR" scan --json -o "$long" f
is 'a name may be as long as names are' "$status $(jq -r '.findings | length' "$long")" '1 1'
is 'nothing is left beside it' "$(find . -mindepth 1 -printf "%f\n" | sort | tr "\n" " ")" "f kept $long "

# A report that is being written has no name yet: whoever is killed leaves nothing. Where the file system
# cannot do that, there is one with a name of ours.
printf '[[rules]]\nid = "tok"\nregex = "tok[0-9]{24}"\n' >rules.toml
seq -f 'tok%024.0f' 20000 >f
probe=$(python3 -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)' 2>&1 || true)
if [[ $probe ]]; then
    skip 'one that is killed leaves nothing' 'no O_TMPFILE here'
else
    left=$(python3 - "$WEIR" <<'PY'
import os, subprocess, sys
before = set(os.listdir("."))
here = os.stat(".").st_dev
scan = subprocess.Popen([sys.argv[1], "scan", "-q", "-c", "rules.toml", "--json", "-o", "report", "f"])
def is_writing():
    fds = f"/proc/{scan.pid}/fd"
    for fd in os.listdir(fds):
        try:
            if ".tmp" in os.readlink(f"{fds}/{fd}") or "(deleted)" in os.readlink(f"{fds}/{fd}"):
                st = os.stat(f"{fds}/{fd}")
                if st.st_dev == here and st.st_size > 0:
                    return True
        except OSError:
            pass
    return False
while scan.poll() is None and not is_writing():
    pass
scan.kill()
print(scan.wait(), *sorted(set(os.listdir(".")) - before))
PY
)
    is 'one that is killed leaves nothing' "$left" -9
fi

nobody() { # the program as somebody else, with a folder of the cache that is not there
    run setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_CACHE_HOME=/nonexistent "$dir/bin/weir" "$@"
}
if [[ $(id -u) != 0 ]] || ! command -v setpriv >/dev/null || ! chmod 711 "$dir"; then
    skip 'files and links of others' 'needs root'
else
    mkdir -p "$dir/bin" && cp "$WEIR" "$dir/bin/weir" && chmod -R a+rX "$dir/bin" .
    echo "$pat" >f
    mkdir -m 1777 shared
    chmod 1777 shared
    ln -s "$PWD/victim" shared/link
    chown -h 65534 shared/link
    run "$WEIR" scan --json -o shared/link f
    expect "somebody else's link in a folder like /tmp is not followed" 3 '' \
        "weir scan: cannot write 'shared/link': it is somebody else's link in a folder where all may write; name the file itself"
    no test -e victim
    is 'and nothing is made where it leads' "$(ls -A shared)" link
    echo theirs >shared/file
    chown 65534 shared/file
    run "$WEIR" scan --json -o shared/file f
    expect 'nor is their file replaced' 3 '' \
        "weir scan: cannot write 'shared/file': it is somebody else's file in a folder where all may write; name another file"
    is 'which is still theirs' "$(cat shared/file)" theirs
    ln -s "$PWD/mine" shared/own
    run "$WEIR" scan --json -o shared/own f
    is 'a link of ones own is followed' "$status $(jq -r '.findings | length' mine)" '1 1'

    mkdir -m 755 closed
    echo old >closed/open
    chmod 666 closed/open
    inode=$(stat -c %i closed/open)
    if nobody scan --json -o closed/open f; [[ $status == 126 || $status == 127 ]]; then
        skip 'a file in a closed folder' 'the program cannot be run by others here'
    else
        is 'a file in a closed folder is overwritten' \
            "$status $(stat -c %i closed/open) $(jq -r '.findings | length' closed/open)" "1 $inode 1"
        nobody scan --show-secrets --json -o closed/open f
        expect 'but not with the secrets themselves' 1 '' \
            "weir scan: cannot write 'closed/open': others may read it, and it cannot be made private for --show-secrets; name another file, and scan again: 1 secret is in no report"
        nobody scan --json -o closed/new f
        expect 'a new one is refused before the scan' 3 '' \
            "weir scan: cannot write 'closed/new': permission denied; name a file that you may write"
        nobody scan --json -o kept f
        expect 'and so is one that may not be written' 3 '' "weir scan: cannot write 'kept': permission denied; *"
    fi
    mkdir tight
    if mount -t tmpfs -o size=16k,mode=755 tmpfs tight 2>/dev/null; then
        echo old >tight/report
        chmod 666 tight/report
        for i in {1..200}; do echo "password = \"kT9#vLq2$i-xW\""; done >many
        nobody scan --json -o tight/report many
        expect 'one that the disk has no room for is not begun' 1 '' \
            "weir scan: cannot write 'tight/report': no space left on device; *200 secrets are in no report"
        is 'and the old one stays' "$(cat tight/report)" old
        nobody scan --json -o tight/report f
        is 'one that has room takes its place' "$status $(jq -r '.findings | length' tight/report)" '1 1'
        umount tight
    else
        skip 'a report without room' 'cannot mount here'
    fi
    echo old >mounted
    echo old >under
    if mount --bind under mounted 2>/dev/null; then
        run "$WEIR" scan --json -o mounted f
        umount mounted
        is 'a file that is a mount is overwritten' "$status $(jq -r '.findings | length' under) $(cat mounted)" '1 1 old'
    else
        skip 'a file that is a mount is overwritten' 'no leave to mount'
    fi
fi

# --- standard output that cannot be written ---

tree
echo "$pat" >f
for form in human json jsonl; do
    run bash -c '"$0" scan -f "$1" f >/dev/full' "$WEIR" $form
    expect "$form: a full disk is told once, with what is lost" 1 '' \
        'weir scan: cannot write to standard output: no space left on device; name a file by --output, and scan again: 1 secret is in no report'
done
run bash -c '"$0" scan --json f >&-' "$WEIR"
expect 'so is one that is closed' 1 '' \
    'weir scan: cannot write to standard output: it is closed; name a file by --output, and scan again: 1 secret is in no report'
run bash -c '"$0" scan --exit-zero --json f >/dev/full' "$WEIR"
expect 'which is a failure even when findings are none' 3 '' '*1 secret is in no report'
seq -f '%032.0f' 1048577 >many
run "$WEIR" scan --ignore-file=many f
expect 'too many names that are known' 2 '' "weir scan: cannot use 'many': *1,048,576*: take out *"

# --- how many secrets are listed in so much memory ---

tree
python3 -c 'import random, string
made = random.Random(1)
for _ in range(50000):
    print("gh" + "p_" + "".join(made.choices(string.ascii_letters + string.digits, k=36)))' >f
listed() { # secrets in the report, and what is not listed, of a run with these options
    run "$WEIR" scan --json "$@" f
    echo "$status $(jq -r '"\(.findings | length) \(.summary.unlisted) \(.summary.complete)"' "$dir/out")"
}
is 'all of 50,000 without a limit' "$(listed)" '1 50000 0 true'
is 'and in 256 MiB, if no archive is opened' "$(listed --max-memory=256M --archive-depth=0)" '1 50000 0 true'
read -r code most left whole < <(listed --max-memory=256M)
read -r _ fewer more _ < <(listed --max-memory=100M)
if [[ "$code $most $left $whole" == '1 50000 0 true' ]]; then
    pass 'also if archives may be'
else
    fail 'also if archives may be' "$code: $most and $left, $whole"
fi
if ((fewer >= 20000 && fewer < most && fewer + more == 50000)); then
    pass 'fewer in less memory'
else
    fail 'fewer in less memory' "$fewer and $more"
fi

finish
