#!/usr/bin/env bash
# weir name, providers, resolve and index plan as people run them. Prints TAP.
# ROOT is the source tree, WEIR the program.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli_lib.sh"
unset WEIR_SERVER WEIR_INDEX WEIR_TOKEN http_proxy https_proxy all_proxy no_proxy
export XDG_CONFIG_HOME=$dir/config

index=
stop_index() {
    [[ -z $index ]] && return
    kill "-${1:-TERM}" "$index" 2>/dev/null || true
    wait "$index" 2>/dev/null || true
    index=
}
trap 'stop_index KILL; rm -rf "$dir"' EXIT
"$WEIR" index --data "$dir/data" --listen 127.0.0.1:0 >"$dir/listens" 2>"$dir/index.err" </dev/null &
index=$!
until WEIR_INDEX=$(sed -n 's/^listening on \(http.*\)/\1/p' "$dir/listens") && [[ -n $WEIR_INDEX ]]; do
    kill -0 "$index" || { cat "$dir/index.err"; exit 1; }
    sleep 0.05
done
export WEIR_INDEX
address=b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262
other=b3:$(printf '%064d' 7)

# --- names ---

run "$WEIR" name put photos "$address"
expect 'without a key nothing is put' 3 '' "weir name: cannot put 'photos': *: make a key by 'weir key make'"
"$WEIR" key make >"$dir/key" 2>"$dir/key.err"
id=$(sed -n 's/^id *//p' "$dir/key")
run "$WEIR" name put photos "$address"
expect 'a label gets the id of the key' 0 "photos@$id" ''
run "$WEIR" resolve "photos@$id"
expect 'and is resolved' 0 "$address" ''
run "$WEIR" name put photos "$other"
expect 'it may mean something else' 0 "photos@$id" ''
run "$WEIR" resolve "photos@$id"
expect 'which is seen at once' 0 "$other" ''
run "$WEIR" name put "notes/2026@$id" "$address" --json
expect 'names may be written out' 0 "{\"name\":\"notes/2026@$id\",\"sequence\":*,\"expires\":*}" ''
run "$WEIR" name list
is 'names are listed' "$(cut -f1,2 <<<"$out")" "notes/2026@$id	$address
photos@$id	$other"
run "$WEIR" name list ph --json
is 'by what they begin with' "$(jq -r .name <<<"$out")" "photos@$id"
run "$WEIR" name delete photos
expect 'a name is deleted' 0 "photos@$id" ''
run "$WEIR" resolve "photos@$id"
expect 'and means nothing' 3 '' "weir resolve: cannot resolve 'photos@$id': the name was removed (status 404)"
run "$WEIR" name delete photos
expect 'once' 3 '' "*there is no such name"
run "$WEIR" name put photos "$address"
expect 'until it is put again' 0 "photos@$id" ''
for words in 'put photos' "put Photos $address" 'put photos b3:x' 'delete' "list --bare" \
    "put photos@mfrggzdfmztwq2lknnwg23tpobyxe43u $address" 'list A'; do
    # shellcheck disable=SC2086 # words
    run "$WEIR" name $words
    expect "refused: $words" 2 '' 'weir name: *'
done

# --- providers ---

run "$WEIR" providers "$address"
expect 'nobody provides it' 3 '' '*nobody is known to provide it (status 404)'
run "$WEIR" providers --announce http://192.0.2.7:8470 --region eu "$address"
expect 'somebody says so' 0 '' ''
run "$WEIR" providers --announce http://192.0.2.8:8470 "$address"
expect 'and again, from elsewhere' 0 '' ''
run "$WEIR" providers "$address"
is 'the later word of a key counts' "$(sed -n '2s/\t.*//p' <<<"$out")" http://192.0.2.8:8470
run "$WEIR" resolve --json "photos@$id"
is 'resolving tells providers, too' "$(jq -r '.manifest, .providers[0].url, .key, .stale' <<<"$out")" "$address
http://192.0.2.8:8470
$id
false"
run "$WEIR" resolve --trace "photos@$id"
expect 'a trace tells who was asked' 0 '*asked at*local*name*Ok*' ''
run "$WEIR" resolve --trace "absent@$id"
expect 'also of what is not there' 3 '*asked at*local*name*NotFound*' \
    "weir resolve: cannot resolve 'absent@$id': there is no such name (status 404)"
run "$WEIR" resolve --trace --json "absent@$id"
is 'for programs, too' "$(jq -c '[.error, .message, .trace[0].source, .trace[0].result]' <<<"$out")" \
    '["NotFound","there is no such name","local","NotFound"]'
run "$WEIR" providers --trace "$other"
expect 'and of who provides it' 3 '*asked at*local*providers*NotFound*' '*nobody is known to provide it (status 404)'
run "$WEIR" resolve -v "photos@$id"
expect 'more is told when asked' 0 '*' "*signed by $id, until 20*known by 'local'"
for words in 'x' "--announce ftp://x $address" "--announce http://a..b $address" "--announce http://[:::] $address" "--region eu $address"; do
    # shellcheck disable=SC2086 # words
    run "$WEIR" providers $words
    expect "refused: $words" 2 '' 'weir providers: *'
done
run "$WEIR" resolve Photos
expect 'no name, no address' 2 '' '*neither a name nor an address'
run "$WEIR" resolve --server http://127.0.0.1:9 --timeout 1s "photos@$id"
expect 'nobody there' 3 '' '*cannot resolve*'

# --- a service that lies ---

python3 - "$dir/liar" <<'PY' &
import http.server, sys
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"name":"x","manifest":"b3:' + b"0" * 64 + b'","record":"AAAA","providers":[],"stale":false}'
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Liar)
open(sys.argv[1] + ".new", "w").write(str(server.server_address[1]))
__import__("os").rename(sys.argv[1] + ".new", sys.argv[1])
server.handle_request()
PY
until [[ -s $dir/liar ]]; do sleep 0.05; done
run "$WEIR" resolve --server "http://127.0.0.1:$(cat "$dir/liar")" "photos@$id"
expect 'what a service says is not believed' 3 '' '*has sent a record that is malformed'
wait %2 2>/dev/null || true

# --- plan ---

run "$WEIR" index plan --rps 2000 --hit 0.9 --service-ms 5 --dht-ms 40
expect 'a plan' 0 'index.workers = 26*queues.work   = 4200*' ''
run "$WEIR" index plan --rps 100 --hit 1 --json
is 'for programs' "$(jq -c '[.workers, .queue]' <<<"$out")" '[2,512]'
for words in 'plan' 'plan --rps x' 'plan --rps 1 --hit 2' 'plan --rps 1 --amnesia' '--rps 1' 'pln'; do
    # shellcheck disable=SC2086 # words
    run "$WEIR" index $words
    expect "refused: $words" 2 '' 'weir index: *'
done

run "$WEIR" index plan --rps 0
expect 'the bounds are told' 2 '' 'weir index: --rps is out of its bounds: above 0, and at most 10000000'
run "$WEIR" index plan --rps 1 --dht-ms 60001
expect 'by the option' 2 '' 'weir index: --dht-ms is out of its bounds: 0 to 60000'

stop_index
for file in "$dir/nothing" /dev/null; do
    run "$WEIR" index --amnesia --listen 127.0.0.1:0 --set siblings.nodes=http://h:1 --set "siblings.token_file=$file"
    expect "no token: ${file##*/}" 2 '' "weir index: siblings.token_file: *'$file'*leave the key out"
done

# --- nodes whose names begin alike ---

start_index() { # words of weir index; sets WEIR_INDEX
    : >"$dir/listens"
    "$WEIR" index --amnesia --listen 127.0.0.1:0 "$@" >"$dir/listens" 2>"$dir/index.err" </dev/null &
    index=$!
    until WEIR_INDEX=$(sed -n 's/^listening on \(http.*\)/\1/p' "$dir/listens") && [[ -n $WEIR_INDEX ]]; do
        kill -0 "$index" 2>/dev/null || return 1
        sleep 0.05
    done
}
nodes=http://weir-index-node-01.internal:8471,http://weir-index-node-02.internal:8471,http://h:1/a,http://h:1/b
if start_index --set "siblings.nodes=$nodes"; then
    run curl -s "$WEIR_INDEX/metrics"
    is 'nodes whose names begin alike are told apart' \
        "$(grep -o '^breaker_open_total{target="sibling [^"]*' <<<"$out" | sort -u | wc -l)" 4
else
    fail 'nodes whose names begin alike are told apart' "$(cat "$dir/index.err")"
fi
stop_index
run "$WEIR" index --amnesia --listen 127.0.0.1:0 --set siblings.nodes=http://h:1,https://h:1/
expect 'the same node twice is refused' 2 '' "*siblings.nodes: 'http://h:1' and 'https://h:1/' are the same: name it once"
finish
