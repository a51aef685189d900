#!/bin/bash
# weir scan of URLs and stored objects, from real servers that behave well and badly: what is found,
# what is told, what is shown, which exit status, and how fast it lets go.
#
# SERVER is tests/unit/http/server.py.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
: "${SERVER:?the path of server.py}"
need_tools jq python3 b3sum openssl

unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY WEIR_STORE SSL_CERT_FILE
mkdir "$dir/objects"
tree
password=swordfish-1234

# Starts a server; $port is where it is. It ends when its standard input does, with this script.
serve() { # arguments
    local fifo=$dir/fifo-$((servers++))
    mkfifo "$fifo" "$fifo.in"
    python3 -B "$SERVER" "$@" <"$fifo.in" >"$fifo" &
    exec {input}>"$fifo.in"
    read -r port <"$fifo"
}
servers=0

serve --objects "$dir/objects" --token "$pat"
base=http://127.0.0.1:$port

# --- what is there ---

run "$WEIR" scan --json "$base/text/a/TOKEN"
is 'a secret behind a URL' "$status $(spots)" "1 $base/text/a/TOKEN:2:1:2"
is 'the scan is complete' "$(summary complete) $(summary files)" 'true 1'
run "$WEIR" scan "$base/text/nothing"
expect 'nothing: status 0' 0 'no secrets found; 1 file*' ''
echo "$pat" >here
run "$WEIR" scan --json "$base/text/nothing" here "$base/text/TOKEN"
is 'URLs and files together' "$(spots)" "$(printf '%s\n' here:1:1:0 "$base/text/TOKEN:1:1:0" | sort)"
run "$WEIR" scan --json "$base/gzip/x/TOKEN"
is 'what is sent in gzip is decoded' "$(spots)" "$base/gzip/x/TOKEN:2:1:2"
run "$WEIR" scan --json "$base/redirect/3/text/TOKEN"
is 'redirects are followed' "$status $(spots)" "1 $base/redirect/3/text/TOKEN:1:1:0"
run "$WEIR" scan --json "$base/flaky/1/a/TOKEN"
is 'what fails in passing is tried again' "$status $(summary complete)" '1 true'
run "$WEIR" scan --json --threads=1 --max-files-in-flight=1 "$base/text/TOKEN" "$base/text/2/TOKEN" here
is 'with one file in flight' "$(spots | wc -l)" 3
run "$WEIR" scan --json --threads=4 $(seq -f "$base/text/%g/TOKEN" 40)
is 'many at once' "$(spots | wc -l) $(summary files)" '40 40'
run env http_proxy="$base" "$WEIR" scan --json "http://no-such-host.invalid/text/TOKEN"
is 'through a proxy' "$status $(spots)" "1 http://no-such-host.invalid/text/TOKEN:1:1:0"

# --- what is shown ---

run "$WEIR" scan --json --verbose "http://me:$password@127.0.0.1:$port/text/TOKEN?key=$password&x#y"
is 'no user, no values' "$(spots)" "$base/text/TOKEN?key=*******:1:1:0"
run "$WEIR" scan --verbose "http://me:$password@127.0.0.1:$port/status/404?key=$password"
expect 'nor when it fails' 3 "*$base/status/404?key=\*\*\**status 404*" "*404?key=\*\*\*'*"
no_password() { # name
    if grep -q "$password" "$dir/out" "$dir/err"; then fail "$1" "$(said)"; else pass "$1"; fi
}
no_password 'the password is nowhere'
for url in "http://me:$password@/" "http://me:$password/x@127.0.0.1/" "http://me:$password@h:0/"; do
    run "$WEIR" scan "$url"
    expect "not a URL: status 2" 2 '' '*cannot be used: it *'
    no_password 'and its password is nowhere'
done
run "$WEIR" scan --store="http://me:$password@h:x/" "b3:$(printf '0%.0s' {1..64})"
expect 'nor that of a store' 2 '' "*the store 'http://h:\*/' cannot be used*"
run "$WEIR" scan "http://127.0.0.1:$port/a b"
expect 'a space in a URL' 2 '' '*percent-encoded*'

# --- what is not there ---

run "$WEIR" scan --json "$base/status/404?TOKEN"
is 'status 404: status 3' "$status" 3
is 'it is told' "$(gaps)" "$base/status/404?***: cannot fetch: the server answers with status 404"
is 'its page is not scanned' "$(summary secrets) $(summary files)" '0 0'
run "$WEIR" scan "$base/status/404" "$base/text/TOKEN"
expect 'findings come before what is missing' 1 '*github-pat*status 404*' ''
run "$WEIR" scan --json "$base/status/503"
is 'status 503, three times' "$status $(gaps)" \
    "3 $base/status/503: cannot fetch: the server answers with status 503"
run "$WEIR" scan --json --fetch-timeout=20s "$base/status/503/3600"
is 'Retry-After beyond the time' "$status $(gaps)" \
    "3 $base/status/503/3600: cannot fetch: it answers with status 503, and the time for another try is not left"
run "$WEIR" scan --json "$base/status/204"
is 'status 204' "$status" 3
run "$WEIR" scan --json "$base/loop"
is 'redirects without an end' "$status $(gaps)" \
    "3 $base/loop: cannot fetch: it is redirected more than 10 times"
run "$WEIR" scan --json "$base/to?file:///etc/passwd"
is 'a redirect to a file' "$status $(summary files)" '3 0'
run "$WEIR" scan --json http://127.0.0.1:1/x
is 'nobody listens' "$status $(gaps | grep -c 'cannot fetch')" '3 1'
run "$WEIR" scan --json "$base/garbage"
is 'not HTTP' "$status $(summary files)" '3 0'

# --- what breaks ---

run "$WEIR" scan --json "$base/short/TOKEN"
is 'cut off: what came is scanned' "$status $(spots)" "1 $base/short/TOKEN:1:1:0"
is 'and the rest is told' "$(summary complete) $(gaps | grep -c 'cannot fetch all of')" 'false 1'
run "$WEIR" scan --json "$base/short/nothing"
is 'without findings: status 3' "$status" 3
run "$WEIR" scan --json "$base/gzip-bad/x"
is 'badly encoded' "$status $(summary complete)" '3 false'
run "$WEIR" scan --json "$base/gzip-short/TOKEN"
is 'gzip that ends early' "$status $(gaps)" \
    "1 $base/gzip-short/TOKEN: cannot fetch all of: its gzip ends early"
run "$WEIR" scan --json --max-fetch-size=1M "$base/endless/TOKEN"
is 'a body without an end' "$status $(spots)" "1 $base/endless/TOKEN:1:1:0"
is 'ends at the limit' "$(summary bytes)" 1048576
is 'which is told' "$(gaps)" \
    "$base/endless/TOKEN: cannot fetch all of: it is larger than 1.00 MiB; see --max-fetch-size"
run "$WEIR" scan --json "$base/long/TOKEN"
is 'a length beyond the limit is not begun' "$status $(summary bytes)" '3 0'
run "$WEIR" scan --json --max-fetch-size=1M "$base/gzip-bomb"
is 'a bomb ends at the limit' "$status $(summary bytes)" '3 1048576'
run "$WEIR" scan --json --fetch-timeout=300ms "$base/silent"
is 'no answer' "$status $(gaps)" \
    "3 $base/silent: cannot fetch: no answer came in time; see --fetch-timeout"
run "$WEIR" scan --json --fetch-timeout=4s "$base/stall/TOKEN"
is 'an answer that stops' "$status $(gaps)" \
    "1 $base/stall/TOKEN: cannot fetch all of: the time was over; see --fetch-timeout"

# --- TLS ---

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/cert" -days 2 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
plain_port=$port
serve --tls "$dir/cert" "$dir/key" --token "$pat"
run "$WEIR" scan --json "https://127.0.0.1:$port/text/TOKEN"
is 'a certificate that nobody knows is refused' "$status $(gaps | grep -ci certificate) $(summary files)" '3 1 0'
run env SSL_CERT_FILE="$dir/cert" "$WEIR" scan --json "https://127.0.0.1:$port/text/TOKEN"
is 'one that is trusted is not' "$status $(spots)" "1 https://127.0.0.1:$port/text/TOKEN:1:1:0"
run env SSL_CERT_FILE="$dir/cert" "$WEIR" scan --json "https://localhost:$port/text/TOKEN"
is 'but for its own host alone' "$status $(summary files)" '3 0'
run env SSL_CERT_FILE="$dir/cert" "$WEIR" scan --json "https://127.0.0.1:$port/to?http://127.0.0.1:$plain_port/text/x"
is 'no redirect from https to http' "$(gaps | grep -c 'from https to http')" 1

# --- objects ---

put() { # text; $address is where it is
    address=b3:$(printf '%s' "$1" | b3sum --no-names)
    printf '%s' "${2-$1}" >"$dir/objects/${address/:/-}"
}
put "key: $pat"
run "$WEIR" scan --json --store="$base" "$address"
is 'an object' "$status $(spots) $(summary complete)" "1 $address:1:6:5 true"
run env WEIR_STORE="$base/" "$WEIR" scan --json "$address"
is 'WEIR_STORE' "$status $(spots)" "1 $address:1:6:5"
put 'the truth' "a lie: $pat"
lie=b3:$(printf '%s' "a lie: $pat" | b3sum --no-names)
run "$WEIR" scan --json --store="$base" "$address"
is 'other bytes are told' "$(gaps)" \
    "$address: cannot verify: the store gave other bytes, which were scanned and whose address is $lie"
is 'and what is in them, too' "$status $(spots) $(summary complete)" "1 $address:1:8:7 false"
expect 'on standard error as well' 1 '*' "*cannot verify '$address'*"
put 'the truth' 'a lie'
run "$WEIR" scan --store="$base" "$address"
expect 'without findings: status 3' 3 "*$address*cannot verify*" ''
put '' ''
run "$WEIR" scan --store="$base" "$address"
expect 'an empty object' 0 '*1 file*' ''
run "$WEIR" scan --store="$base" "b3:$(printf '0%.0s' {1..64})"
expect 'an object that is not there' 3 '*the store answers with status 404*' ''
run "$WEIR" scan "$address"
expect 'an object without a store' 2 '' '*--store=URL*WEIR_STORE*'
run "$WEIR" scan --store="$base" b3:abc
expect 'an address that is none' 2 '' "*'b3:abc' is not an address*./b3:abc*"
run "$WEIR" scan --store="$base?x" "$address"
expect 'a store with a query' 2 '' '*has a query*'
run "$WEIR" scan --store=ftp://x "$address"
expect 'a store that is no URL' 2 '' '*http://*'

# --- archives ---

run "$WEIR" scan --json "$base/archive/tar/x/TOKEN"
is 'an archive behind a URL' "$status $(summary complete) $(spots)" \
    "1 true $base/archive/tar/x/TOKEN!inside/file.txt:2:1:2"
run "$WEIR" scan --json "$base/archive/gzip/TOKEN"
is 'a gzip that is no encoding' "$status $(summary complete) $(spots | grep -c TOKEN!)" '1 true 1'
run "$WEIR" scan --json --archive-depth=0 "$base/archive/gzip/nothing"
is 'an archive that is not opened is told' "$status" 3

# --- configuration of the current directory is not about URLs ---

printf '[[rules]]\nid = "acme"\ndescription = "Acme"\nregex = "acme-[0-9]{8}"\n' >.gitleaks.toml
run "$WEIR" scan --json "$base/text/TOKEN"
is 'rules of the current directory are not used' "$(jq -r '.findings[].rule' "$dir/out")" github-pat
run "$WEIR" scan --json --trust-config "$base/text/TOKEN/acme-12345678"
is 'unless they are trusted' "$(jq -r '.findings[].rule' "$dir/out")" acme
rm .gitleaks.toml

# --- what it costs others ---

loads() { # a command: whether libcurl is among what it maps
    LD_DEBUG=files "$@" 2>&1 >/dev/null </dev/null | grep -c 'calling init:.*libcurl' || true
}
is 'a file needs no libcurl' "$(loads "$WEIR" scan here)" 0
is 'a URL does' "$(loads "$WEIR" scan "$base/text/x")" 1

# --- stopping ---

interrupt() { # name, path, signal, status: a fetch under way lets go at once
    env --default-signal=INT "$WEIR" scan "$base$2" >"$dir/out" 2>"$dir/err" &
    local pid=$! before after code=0
    for _ in $(seq 200); do
        [[ $(python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' \
            "$base/count$2") != 0 ]] && break
        sleep 0.05
    done
    before=$(date +%s%N)
    kill "-$3" $pid
    wait $pid || code=$?
    after=$(date +%s%N)
    is "$1: stopped" "$code" "$4"
    # Two seconds are what is promised to people; more than ten are a hang, however slow the machine.
    note "after $(((after - before) / 1000000)) ms"
    if ((after - before < 10000000000)); then pass "$1: at once"; else fail "$1: at once" "$(said)"; fi
}
interrupt 'while no answer comes' /silent/stop INT 130
interrupt 'while a body stops' /stall/stop INT 130
interrupt 'while bytes come without an end' /endless/stop TERM 143

finish
