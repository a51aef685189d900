#!/bin/bash
# weir scan --metrics-listen: what is counted and held while it runs, over HTTP; what cannot be listened
# at; and askers who are slow, silent or strange.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq git python3 promtool
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

# A scan that ends when the pipe 'hold' is closed; $at is where it listens.
begin() { # options and paths
    mkfifo "$dir/hold"
    : >"$dir/said"
    "$WEIR" scan --json --metrics-listen=127.0.0.1:0 "$@" - <"$dir/hold" >"$dir/report" 2>"$dir/said" &
    scan=$!
    exec 7>"$dir/hold"
    until at=$(sed -n 's,.*http://\(.*\)/metrics,\1,p' "$dir/said") && [[ $at ]]; do
        kill -0 "$scan" 2>/dev/null || { cat "$dir/said" && exit 1; }
        sleep 0.02
    done
}
end() {
    exec 7>&-
    status=0
    wait "$scan" || status=$?
    rm "$dir/hold"
}

# Bytes to the server, and what it says until it closes. Python, since it must be able to say nothing.
cat >"$dir/ask.py" <<'P'
import re, socket, sys, time
host, port = sys.argv[1].rsplit(":", 1)
def ask(request, wait=20):
    with socket.create_connection((host, int(port)), timeout=wait) as s:
        s.sendall(request)
        got = b""
        try:
            while piece := s.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got.decode()
def page(method="GET", path="/metrics"):
    return ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
what = sys.argv[2]
if what == "page":
    print(page(*sys.argv[3:]), end="")
elif what == "until":  # a line is there
    for _ in range(600):
        if re.search(sys.argv[3], page(), re.M):
            break
        time.sleep(0.05)
    else:
        sys.exit(page())
elif what == "silent":
    with socket.create_connection((host, int(port))):
        print(page().split("\r\n")[0])
elif what == "waiting":  # until the other side has had enough
    with socket.create_connection((host, int(port)), timeout=20) as s:
        print("there", flush=True)
        s.recv(1)
elif what == "long":
    print(repr(ask(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20000)))
elif what == "pieces":
    with socket.create_connection((host, int(port)), timeout=20) as s:
        for byte in b"GET /metrics?a=b HTTP/1.0\r\n\r\n":
            s.sendall(bytes([byte]))
        print(s.recv(15).decode())
P
ask() { python3 "$dir/ask.py" "$at" "$@"; }
has() { # name, a pattern of a line
    run ask until "$2"
    is "$1" "$status" 0
}

tree
git init -q r
for i in 1 2 3; do echo "$i $pat" >"r/$i"; done
git -C r add .
git -C r -c user.name=x -c user.email=x@example.org commit -qm one
mkdir files
cp r/[123] files
noise $((9 * MiB)) >noise
tar -cf files/a.tar noise
begin --device-slots=.=3 --spill-slots=5 --threads=2 files r
has 'files are counted' '^weir_scan_findings_total [1-9]'
has 'and histories' '^weir_scan_repositories_total 1$'
has 'what they hold' '^weir_pool_acquired_total\{pool="scan-repos"\} 1$'
has 'of which limits' '^weir_pool_delta_cache_capacity_bytes\{pool="scan-repos"\} 536870912$'
has 'at most' '^weir_scan_repositories_most 1$'
has 'and which are small' '^weir_scan_repositories_small 1$'
has 'and who waits for that' '^weir_scan_repositories_waited_most 0$'
# Two shards of each of five, and three jobs more: where the line is full no shard gives way to others.
has 'the line has room for the shards of all that are scanned at once' '^weir_queue_capacity\{queue="scan-jobs"\} 13$'
has 'and of each disk' '^weir_slots_device_capacity\{slots="scan-repo-disks",device="[0-9:a-z]+"\} 3$'
has 'so of archives' '^weir_slots_device_capacity\{slots="scan-disks",device="[0-9:a-z]+"\} 3$'
has 'and who waited for it' '^weir_slots_device_enqueued_total\{slots="scan-disks",device="[0-9:a-z]+"\} 0$'
has 'and was refused' '^weir_slots_device_busy_total\{slots="scan-repo-disks",device="[0-9:a-z]+"\} 0$'
has 'spill slots of archives' '^weir_pool_spill_slots_capacity\{pool="scan-archives"\} 5$'
has 'and of repositories' '^weir_pool_spill_slots_capacity\{pool="scan-repos"\} 5$'
has 'archives at most' '^weir_scan_archives_most 1$'
has 'and what they held' '^weir_scan_archives_spill_slots_most 1$'
has 'files that are being read' '^weir_budget_in_use\{budget="scan-reads"\} 1$'
run ask page
sed '1,/^\r$/d' "$dir/out" >"$dir/page"
promtool check metrics <"$dir/page" >"$dir/out" 2>&1 && status=0 || status=$?
is 'promtool has nothing to say' "$status $(cat "$dir/out")" '0 '
run ask page HEAD
is 'the head alone' "$(wc -l <"$dir/out") $(head -1 "$dir/out" | tr -d '\r')" '5 HTTP/1.1 200 OK'
run ask page GET /other
is 'another page' "$(head -1 "$dir/out" | tr -d '\r')" 'HTTP/1.1 404 Not Found'
run ask page GET /metricsx
is 'one that begins like it' "$(head -1 "$dir/out" | tr -d '\r')" 'HTTP/1.1 404 Not Found'
run ask page DELETE
is 'another method' "$(head -1 "$dir/out" | tr -d '\r')" 'HTTP/1.1 405 Method Not Allowed'
run ask silent
is 'one who says nothing keeps nobody waiting for long' "$out" 'HTTP/1.1 200 OK'
run ask long
is 'one who never ends is let go' "$out" "''"
run ask pieces
is 'one who says it byte by byte is answered' "$out" 'HTTP/1.1 200 OK'

run "$WEIR" scan --metrics-listen="$at" files
expect 'a port that is taken' 2 '' '*somebody listens there already: choose another port'
ask waiting >"$dir/waiting" &
silent=$!
until [[ -s $dir/waiting ]]; do sleep 0.02; done
end
wait "$silent"
is 'the scan ends when it is done' "$status" 1
is 'and has found what there is' "$(jq '.summary.secrets' "$dir/report")" 1
run ask page
check 'after that nobody listens' test "$status" -ne 0

for address in 9400 :9400 127.0.0.1 127.0.0.1: 127.0.0.1:x 127.0.0.1:65536 ::1:9400 '[::1:9400' name:9400; do
    run "$WEIR" scan --metrics-listen="$address" files
    expect "not an address: $address" 2 '' '*give an address of this machine and a port*'
done
run "$WEIR" scan -q --metrics-listen=localhost:0 files
is 'one that has a name' "$status $err" '1 '
finish
