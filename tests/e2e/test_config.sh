#!/bin/bash
# weir config as people run it: show, check, sample and keys; all sources in their order; what is
# wrong, told in full; and the pages that are made from the same table.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
: "${ROOT:?the source tree}"
need_tools jq
for name in $(compgen -e WEIR_ || true); do unset "$name"; done

cd "$dir"

# --- show ---

run "$WEIR" config show
expect 'the defaults' 0 'listen = \["127.0.0.1:8470"\]*\[server\]*max_inflight = 1024*' ''
cp out shown.toml
run "$WEIR" config show --config shown.toml
is 'what is shown loads to itself' "$(cat out)" "$(cat shown.toml)"

cat >good.toml <<'END'
read_timeout = "2s"
listen = ["127.0.0.1:1"]

[server]
max_inflight = 11
max_rps = 12
END
export WEIR_SERVER_MAX_RPS=22 WEIR_LISTEN='127.0.0.1:2, [::1]:2'
run "$WEIR" config show -c good.toml --origin --set listen=127.0.0.1:3 --set listen=127.0.0.1:4
expect 'flags over environment over file over defaults' 0 \
    '*listen = \["127.0.0.1:3", "127.0.0.1:4"\] # --set*read_timeout = "2s" # good.toml:1*max_inflight = 11 # good.toml:5*max_rps = 22 # WEIR_SERVER_MAX_RPS*max_conns = 10240 # default*' ''
run "$WEIR" config show -c good.toml --json --origin
value() { jq -c --arg key "$1" '.[] | select(.key == $key) | '"$2" out; }
is 'JSON: a list' "$(value listen .value)" '["127.0.0.1:2","[::1]:2"]'
is 'JSON: where it is from' "$(value server.max_inflight '[.value, .from, .origin]')" \
    '[11,"file","good.toml:5"]'
is 'JSON: units' "$(value read_timeout '[.value, .text]')" '[2000000000,"\"2s\""]'
is 'JSON: sizes' "$(value storage.chunk_size '[.value, .text]')" '[65536,"\"64KiB\""]'
is 'JSON: truth' "$(value server.open .value)" false
run "$WEIR" config show --json
is 'no origin unless it is asked for' "$(jq '[.[] | has("origin")] | any' out)" false
unset WEIR_SERVER_MAX_RPS WEIR_LISTEN

run env WEIR_SERVER_MAX_INFLIHGT=5 "$WEIR" config show
expect 'a variable that is nearly a key of a section' 2 '' \
    "*'WEIR_SERVER_MAX_INFLIHGT'; did you mean 'WEIR_SERVER_MAX_INFLIGHT'?"
run env WEIR_READ_TIMEOUTS=5s "$WEIR" config show
expect 'and of none' 0 'listen*' "*'WEIR_READ_TIMEOUTS'; did you mean 'WEIR_READ_TIMEOUT'?"
run env WEIR_LIBEXEC=x WEIR_STORE=y WEIR_SERVER=http://x WEIR_TOKEN=z WEIR_OTHER_THING=z "$WEIR" config show
expect 'variables that are no keys' 0 'listen*' ''
run "$WEIR" config show --set max_inflight=5
expect 'a flag without its section' 2 '' \
    "*--set: unknown key 'max_inflight'; did you mean 'server.max_inflight'?"
run "$WEIR" config show --set server.max_inflight
expect 'a flag without a value' 2 '' "*'server.max_inflight' is not a key with its value, as in server.max_inflight=64"

# --- check ---

run "$WEIR" config check good.toml
expect 'a good file' 0 'good.toml: no problems' ''
cat >odd.toml <<'END'
[server]
max_conns = 10
connection_limit_per_ip = 20
END
run "$WEIR" config check odd.toml
expect 'a limit that is never reached' 0 'odd.toml: no problems' \
    'weir config: warning: odd.toml:3: server.connection_limit_per_ip: 20 is never reached, since server.max_conns is 10'
cat >bad.toml <<'END'
read_timeout = 5
listen = ["localhost:80"]
[server]
max_inflight = 0
max_infligth = 7
[storage]
chunk_size = "2MiB"
END
run "$WEIR" config check bad.toml
is 'a bad file' "$status" 2
is 'every problem is told, and nothing else' "$(wc -l <err)" 5
for line in "bad.toml:1: read_timeout: '5' is not a duration: *, 100ms to 10m" \
    "bad.toml:2: listen: 'localhost:80': expected ADDRESS:PORT, *" \
    "bad.toml:4: server.max_inflight: '0' is out of range: expected 1 to 1048576" \
    "bad.toml:5: unknown key 'server.max_infligth'; did you mean 'server.max_inflight'?" \
    "bad.toml:7: storage.chunk_size: '2MiB' is out of range: expected 16KiB to 1MiB"; do
    # shellcheck disable=SC2053 # a pattern
    check "told: ${line:0:40}" eval '[[ $err == *"weir config: "$line* ]]'
done
run "$WEIR" config check --json bad.toml good.toml
is 'the same as JSON' "$status $(jq -c '[.file, (.problems | length)]' out | xargs)" \
    '2 [bad.toml,5] [good.toml,0]'
run "$WEIR" config check good.toml bad.toml
expect 'the good one of two' 2 'good.toml: no problems' '*bad.toml:1:*'
printf 'listen = ["0.0.0.0:80"]\n' >open.toml
run "$WEIR" config check open.toml
expect 'open to all without saying so' 2 '' '*open.toml:1: listen: others can reach*'
printf 'listen = ["0.0.0.0:0"]\ntokens.keys = "keys"\n' >plain.toml
run "$WEIR" config check plain.toml
expect 'tokens that everybody could read' 2 '' '*plain.toml:1: listen: others can reach*tls.cert*'
run "$WEIR" storage --config plain.toml --data data
expect 'the service says the same' 2 '' '*plain.toml:1: listen: others can reach*tls.cert*'
for ((i = 0; i < 30; i++)); do echo "qqq$i = 1"; done >many.toml
run "$WEIR" config check many.toml
expect 'thirty problems' 2 '' '*weir config: and 10 more'
printf 'not toml' >broken.toml
run "$WEIR" config check broken.toml
expect 'no TOML' 2 '' '*broken.toml:1: this is not TOML*'
run "$WEIR" config check missing.toml
expect 'no file' 3 '' '*missing.toml: cannot be read: no such file*'
run "$WEIR" config check .
expect 'a folder' 2 '' '*it is not a regular file'
run "$WEIR" config check -
expect 'standard input' 2 '' '*standard input is not read*'
mkfifo pipe
run timeout 10 "$WEIR" config check pipe
expect 'a pipe is not waited for' 2 '' '*it is not a regular file'
run env WEIR_SERVER_MAX_INFLIGHT=bad "$WEIR" config check good.toml
expect 'check looks at the file alone' 0 '*no problems' ''

# --- sample and keys ---

run "$WEIR" config sample
expect 'a sample' 0 '*#max_inflight = 1024*' ''
cp out sample.toml
sed 's/^#\([a-z]\)/\1/' sample.toml >all.toml
is 'it has every key' "$(grep -c '^[a-z]' all.toml)" "$("$WEIR" config keys --json | jq length)"
run "$WEIR" config check sample.toml all.toml
expect 'it loads, as it is and uncommented' 0 'sample.toml: no problems*all.toml: no problems' ''
run "$WEIR" config show --config all.toml
is 'and makes the defaults' "$(cat out)" "$(cat shown.toml)"
run "$WEIR" config keys
expect 'the keys' 0 'KEY*server.max_inflight*1024*1 to 1048576*' ''
run "$WEIR" config keys --json
is 'with their variables' "$(jq -r '.[] | select(.key == "durability.repair_pacing") | .variable' out)" \
    WEIR_DURABILITY_REPAIR_PACING

# --- what was made from the same table ---

run diff "$ROOT/share/weir.toml" sample.toml
expect 'share/weir.toml is what "weir config sample" prints' 0 '' ''
sed -n '/^```toml$/,/^```$/{/^```/!p}' "$ROOT/docs/storage.md" >behind.toml
run "$WEIR" config check behind.toml
expect 'the example of docs/storage.md for a proxy loads' 0 'behind.toml: no problems' ''
run "$WEIR" config show --config behind.toml --json
is 'and asks for tokens' "$(jq -r '.[] | select(.key == "tokens.keys") | .value != ""' out)" true
sed -n '/^<!-- begin: weir config keys --markdown -->$/,/^<!-- end -->$/p' "$ROOT/docs/configuration.md" |
    sed '1d;$d' >documented.md
"$WEIR" config keys --markdown >keys.md
run diff documented.md keys.md
expect 'docs/configuration.md has what "weir config keys --markdown" prints' 0 '' ''

# --- the index ---

run "$WEIR" config sample --service index
expect 'a sample for the index' 0 '*#hedge_ms = 150*' ''
cp out index.toml
run diff "$ROOT/share/weir-index.toml" index.toml
expect 'share/weir-index.toml is what "weir config sample --service index" prints' 0 '' ''
sed 's/^#\([a-z]\)/\1/' index.toml >all-index.toml
run "$WEIR" config check --service index index.toml all-index.toml
expect 'it loads, as it is and uncommented' 0 'index.toml: no problems*all-index.toml: no problems' ''
run "$WEIR" config show --service index --json
is 'it listens beside a storage' "$(jq -r '.[] | select(.key == "listen") | .value[0]' out)" 127.0.0.1:8471
printf '[server]\nget_workers = 2\n' >other.toml
run "$WEIR" config check --service index other.toml
expect 'what only a storage has is not known there' 2 '' '*server.get_workers*'
run "$WEIR" config check --service storage other.toml
expect 'and is here' 0 'other.toml: no problems' ''
for words in 'dht.quorum=2' 'dht.hedge_ratio=1.5' 'siblings.nodes=ftp://x' 'siblings.nodes=http://a..b' 'dht.proxies=http://[:::]' 'names.prefixes=team' \
    'providers.networks=10.0.0.0/99' 'cache.warmup_keys=Team' 'etcd.prefix='; do
    run "$WEIR" config show --service index --set "$words"
    expect "refused: $words" 2 '' "*${words%%=*}*"
done
for key in siblings.nodes dht.proxies etcd.endpoints; do
    for pair in http://h:8471,http://h:8471/ http://h:8471,https://h:8471 http://h/a,http://h:80/a/; do
        run "$WEIR" config show --service index --set "$key=$pair"
        expect "the same twice is refused: $key=$pair" 2 '' "*$key: '*' and '*' are the same: name it once"
    done
done
printf '[siblings]\nnodes = ["http://h:1", "http://i:1", "https://h:1"]\n' >twice.toml
run "$WEIR" config check --service index twice.toml
expect 'in a file, too' 2 '' "*twice.toml*siblings.nodes: 'http://h:1' and 'https://h:1' are the same: name it once*"
keys=mfrggzdfmztwq2lknnwg23tpobyxe43u
printf '[names]\nprefixes = ["team=%s+%s"]\n' $keys $keys >twice.toml
run "$WEIR" config check --service index twice.toml
expect 'a key that stands twice in an entry is told with the prefix' 2 '' \
    "weir config: twice.toml:2: names.prefixes: 'team': the same key stands there twice: name it once*"
printf '[names]\nprefixes = ["team=%s", "team/=%s"]\n' $keys nzxw4zjaonxw2zjanfzsayjam52wk43t >twice.toml
run "$WEIR" config check --service index twice.toml
expect 'and so is a prefix' 2 '' '*names.prefixes: a prefix stands there twice: *'
cat >idle.toml <<'EOF'
[dht]
proxies = ["http://127.0.0.1:8000"]
publish = false
publish_rate = 9
[siblings]
ca_file = "/ca"
[etcd]
prefix = "mine/"
[queues]
work = 900
EOF
run "$WEIR" config check --service index idle.toml
expect 'keys of sources that are not there are warned of' 0 '*' \
    '*queues.work: 900 is never reached, since index.resolve_max is 768*siblings.ca_file: *etcd.prefix: *dht.publish_rate: *'
sed -n '/^<!-- begin: weir config keys --service index --markdown -->$/,/^<!-- end -->$/p' \
    "$ROOT/docs/configuration.md" | sed '1d;$d' >documented.md
"$WEIR" config keys --service index --markdown >keys.md
run diff documented.md keys.md
expect 'docs/configuration.md has what "weir config keys --service index --markdown" prints' 0 '' ''

# --- what is not understood ---

for words in 'sample --json' 'check --origin good.toml' 'keys --config good.toml' 'show --markdown' \
    'keys --json --markdown' 'check --set a=b good.toml'; do
    # shellcheck disable=SC2086 # words
    run "$WEIR" config $words
    expect "an option that would do nothing: $words" 2 '' "weir config: '--*' means nothing to '*'*"
done
run "$WEIR" config show good.toml
expect 'a file too many' 2 '' "*name it with '--config'"
run "$WEIR" config check
expect 'no file to check' 2 '' '*which file*'
run "$WEIR" config
expect 'no action' 2 '' '*ACTION*'
run "$WEIR" config shwo
expect 'no such action' 2 '' '*shwo*'
run "$WEIR" config --help
expect 'help' 0 '*weir config sample >weir.toml*' ''

finish
