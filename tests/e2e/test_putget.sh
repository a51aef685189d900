#!/bin/bash
# weir put and weir get as people run them, against a service of their own: round trips of odd sizes,
# holes, streams, ranges; bounded memory; what is there already; and whatever goes wrong, in one line.
set -euo pipefail
# shellcheck source=tests/e2e/storage_lib.sh
source "$(dirname "$0")/storage_lib.sh"
need_tools jq curl cmp python3 openssl

cd "$dir"
export HOME=$dir/home XDG_DATA_HOME=$dir/share
mkdir home work
: "${SANITIZED:=none}"

start_storage --data data --listen 127.0.0.1:0 --listen "unix:$dir/sock"
export WEIR_SERVER=$server

address_of() { # of the file
    "$WEIR" put -q "$1" | sed 's/ .*//'
}

one_line() { # what went wrong was said once
    [[ $(wc -l <"$dir/err") -eq 1 ]]
}

# --- round trips ---

for size in 0 1 65535 65536 65537 1048575 1048576 1048577 20971520; do
    head -c "$size" /dev/urandom >"work/$size"
    run "$WEIR" put "work/$size"
    expect "put $size bytes" 0 "b3:*  work/$size" ''
    address=${out%% *}
    run "$WEIR" get "$address" -o back
    expect "get $size bytes" 0 '' ''
    check "$size bytes are the same" cmp "work/$size" back
    run "$WEIR" put --fixed 64KiB "work/$size"
    fixed=${out%% *}
    "$WEIR" get "$fixed" >back
    check "$size bytes in fixed chunks are the same" cmp "work/$size" back
done
big=work/20971520
address=$(address_of $big)

run "$WEIR" put work/0 work/1 $big
is 'a line for each file' "$(wc -l <out)" 3
"$WEIR" put - <$big >out
is 'standard input has the same address' "$(cat out)" "$address  -"
# shellcheck disable=SC2002 # a pipe is meant
cat $big | "$WEIR" put - >out
is 'so has a pipe' "$(cat out)" "$address  -"
check 'to a pipe' cmp <("$WEIR" get "$address" | cat) $big
check 'by the service itself' cmp <(curl -s "$server/f/$address") $big
check 'through a Unix socket' cmp <("$WEIR" get --server "unix:$dir/sock" "$address") $big
check 'one at a time' cmp <("$WEIR" get -j 1 "$address") $big
status=0
"$WEIR" get "$address" 2>err | head -c 10 >/dev/null || status=${PIPESTATUS[0]}
err=$(cat err) out=
expect 'a reader who has seen enough is no error' 0 '' ''

# --- what is there already is not sent ---

run "$WEIR" put --json $big
is 'nothing is sent twice' "$(jq -r '[.sent, .sent_bytes, .bytes, .address] | join(" ")' out)" \
    "0 0 20971520 $address"
run "$WEIR" put -v $big
expect 'and the summary says so' 0 "$address*" '*sent 0 B in 0 of * chunks'
{ head -c 100000 /dev/urandom && cat $big; } >work/longer
run "$WEIR" put --json work/longer
check 'of a file with something put in, little is sent' \
    test "$(jq .sent_bytes out)" -lt 1500000 -a "$(jq .sent_bytes out)" -ge 100000

# --- ranges, chunks ---

while read -r range from count; do
    check "range $range" cmp <("$WEIR" get "$address" --range "$range") \
        <(tail -c "+$((from + 1))" $big | head -c "$count")
done <<'END'
0-0 0 1
100-299 100 200
65000-2000000 65000 1935001
20971519- 20971519 1
-5 20971515 5
20971500-99999999999 20971500 20
END
run "$WEIR" get "$address" --range 20971520-
expect 'a range behind the end' 3 '' '*it has 20971520 bytes*'
for range in 5-4 -0 - 5 a-b 1-2x 99999999999999999999-; do
    run "$WEIR" get "$address" --range "$range"
    expect "'$range' is no range" 2 '' '*'
done
plain=$(curl -s -X POST --data-binary @work/65537 "$server/o" | jq -r .address)
check 'a chunk that is no manifest is given as it is' cmp <("$WEIR" get "$plain") work/65537
check 'a part of it' cmp <("$WEIR" get -r 10-19 "$plain") <(tail -c +11 work/65537 | head -c 10)

# --- holes, and memory ---

truncate -s 10G work/sparse
printf begin | dd of=work/sparse conv=notrunc status=none
head -c 3000000 /dev/urandom | dd of=work/sparse bs=1M seek=5000 conv=notrunc status=none
run /usr/bin/time -f %M "$WEIR" put -q work/sparse
high=$(tail -n 1 err)
sparse=${out%% *}
check '10 GiB with holes are put' test "$status" -eq 0 -a -n "$sparse"
if [[ $SANITIZED == none ]]; then
    check "in less than 64 MiB ($high KiB)" test "$high" -lt 65536
else
    skip 'in less than 64 MiB' 'the sanitizer needs more'
fi
run /usr/bin/time -f %M "$WEIR" get "$sparse" -o back
high=$(tail -n 1 err)
check '10 GiB with holes are got' test "$status" -eq 0
if [[ $SANITIZED == none ]]; then
    check "in less than 64 MiB, too ($high KiB)" test "$high" -lt 65536
else
    skip 'in less than 64 MiB, too' 'the sanitizer needs more'
fi
is 'the length is the same' "$(stat -c %s back)" 10737418240
check 'the holes are holes' test "$(du -k back | cut -f1)" -lt 8192
is 'put again they have the same address' "$(address_of back)" "$sparse"
check 'the data are the same' cmp -i 5242870000 -n 4000000 work/sparse back
"$WEIR" get "$sparse" --range 5242879990-5242880009 >part
check 'around the edge of a hole' cmp part <(tail -c +5242879991 work/sparse | head -c 20)
if [[ $SANITIZED == none ]]; then
    head -c 300M /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >work/large
    run /usr/bin/time -f %M "$WEIR" put -q work/large
    high=$(tail -n 1 err)
    check "300 MiB of data in less than 64 MiB ($high KiB)" test "$status" -eq 0 -a "$high" -lt 65536
    run /usr/bin/time -f %M "$WEIR" get "${out%% *}" -o back
    high=$(tail -n 1 err)
    check "and back ($high KiB)" test "$high" -lt 65536
    check 'the same' cmp work/large back
    rm -f work/large
fi

# --- the file appears when it is whole ---

echo old >kept
chmod 640 kept
run "$WEIR" get "b3:$(printf '0%.0s' {1..64})" -o kept
expect 'what is not there' 3 '' '*there is no such chunk ?status 404?'
is 'leaves what was there' "$(cat kept)" old
run "$WEIR" get "$address" -o kept
check 'is replaced by what is whole' cmp kept $big
is 'and keeps its mode' "$(stat -c %a kept)" 640
ln -s kept link
run "$WEIR" get "$plain" -o link
check 'a link is followed' cmp kept work/65537
check 'and stays' test -L link
run "$WEIR" get "$plain" -o /dev/null
expect 'a device is written to' 0 '' ''
run "$WEIR" get "$plain" -o /dev/stdout
check 'so is standard output by its name' cmp out work/65537
ln -s /dev/null to-device
run "$WEIR" get "$plain" -o to-device
expect 'a link to a device is not followed' 3 '' "*cannot write 'to-device': it is a link to something that is no file*"
check 'in one line' one_line
ln -s nowhere to-nowhere
run "$WEIR" get "$plain" -o to-nowhere
expect 'nor one that leads nowhere' 3 '' "*cannot write 'to-nowhere': no such file or directory"
run "$WEIR" get "$plain" -o none/file
expect 'no such folder' 3 '' "*cannot write 'none/file': no such file or directory"
run "$WEIR" get "$plain" -o work
expect 'a folder' 3 '' "*cannot write 'work': is a directory"
is 'nothing is left behind' "$(find . -name '.weir-tmp*')" ''

# --- named pipes: who waits for the other end can be stopped ---

until_state() { # a question; for hangs alone it ends after a minute
    for _ in {1..1200}; do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

has_open() { # process, file
    find "/proc/$1/fd" -lname "$dir/$2" 2>/dev/null | grep -q .
}

catches_term() { # process
    local caught
    caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status") && ((16#$caught & 1 << 14))
}

is_over() { # process
    ! kill -0 "$1" 2>/dev/null
}

# shellcheck disable=SC2317 # called by name
stopped() { # process: it ends by one signal
    status=0
    kill -TERM "$1"
    until_state is_over "$1" || kill -KILL "$1"
    wait "$1" || status=$?
    out='' err=''
}

mkfifo pipe
"$WEIR" put pipe >out 2>err &
put=$!
check 'put opens a pipe without a writer' until_state has_open "$put" pipe
stopped "$put"
expect 'and can be stopped' 143 '' ''
"$WEIR" put pipe >out 2>err &
put=$!
until_state has_open "$put" pipe
cat $big >pipe
wait "$put"
is 'a writer who comes later is heard' "$(cat out)" "$address  pipe"
"$WEIR" get "$plain" -o pipe 2>err &
get=$!
until_state catches_term "$get"
stopped "$get"
expect 'get waits for a reader, and can be stopped' 143 '' ''
"$WEIR" get "$address" -o pipe 2>err &
get=$!
until_state catches_term "$get"
cat pipe >back
wait "$get"
check 'a reader who comes later gets it' cmp back $big
check 'the pipe is one still' test -p pipe

# --- a file that changes while it is read ---

reads() { # process: it has begun to
    local bytes
    bytes=$(sed -n 's/^rchar: //p' "/proc/$1/io") && ((bytes > 4 << 20))
}

for change in 'truncate -s 8M' 'truncate -s 40M' 'dd if=/dev/zero bs=1 count=1 conv=notrunc status=none of='; do
    head -c 32M /dev/urandom >work/moving
    kill -STOP "$storage" # half of the file is read, and nothing is taken
    "$WEIR" put work/moving >out 2>err &
    put=$!
    until_state reads "$put"
    if [[ $change == *= ]]; then
        touch -d '2020-01-01' work/moving # the clock of a file is coarse
        ${change}work/moving
    else
        $change work/moving
    fi
    kill -CONT "$storage"
    status=0
    wait "$put" || status=$?
    out=$(cat out) err=$(cat err)
    expect "a file changed by ${change%% *}" 3 '' "*cannot put 'work/moving': it changed while it was read*"
    check 'in one line' one_line
done
run "$WEIR" put work/moving
expect 'is put when it rests' 0 'b3:*  work/moving' ''
rm work/moving

# --- a server that lies, and a chunk that is missing ---

head -c 131072 /dev/urandom >work/two
two=$("$WEIR" put --fixed 64KiB work/two | sed 's/ .*//')
second=$(tail -c 65536 work/two | curl -s -X POST --data-binary @- "$server/o" | jq -r .address)
python3 - "$server" "$second" >liar 2>liar.err 9>&- <<'END' &
import http.server, sys, urllib.request
real, bad = sys.argv[1:]
class Liar(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = urllib.request.urlopen(real + self.path).read()
        if self.path.endswith(bad):
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
END
liar=$!
until [[ -s liar ]]; do sleep 0.05; done
run "$WEIR" get -s "$(cat liar)" "$two" -o lied
expect 'bytes that are not those of the chunk' 3 '' "*cannot get '$two': the data are damaged"
check 'leave nothing' test ! -e lied
run "$WEIR" get -s "$(cat liar)" "$two" -r 0-65535 -o part
expect 'while the rest is given' 0 '' ''
"$WEIR" get -s "$(cat liar)" "$two" >part 2>err || true
check 'and nothing wrong is written' cmp part <(head -c 65536 work/two)
kill "$liar"
wait "$liar" 2>/dev/null || true
"$WEIR" token mint --data data --scope delete >delete 2>/dev/null
run curl -s -o /dev/null -w '%{http_code}' -X DELETE -H "Authorization: Bearer $(cat delete)" "$server/o/$second"
is 'a chunk is deleted' "$out" 204
run "$WEIR" get "$two" -o gone
expect 'a chunk that is missing' 3 '' "*cannot get '$two': there is no such chunk*"
check 'leaves nothing, too' test ! -e gone
run "$WEIR" put --json --fixed 64KiB work/two
is 'a put brings back what is missing' "$(jq -r '.sent, .sent_bytes' out | xargs)" '1 65536'
check 'so that it is whole again' cmp <("$WEIR" get "$two") work/two

# --- what is wrong with what was given ---

run "$WEIR" get nonsense
expect 'no address' 2 '' "*'nonsense' is no address*"
run "$WEIR" get "$address" --json
expect 'two things on standard output' 2 '' '*--json needs --output*'
run "$WEIR" put - -
expect 'standard input twice' 2 '' '*give - once*'
run "$WEIR" put --fixed 1KiB work/1
expect 'chunks too small' 2 '' '*16 KiB to 1 MiB*'
run "$WEIR" put --server ftp://example.org work/1
expect 'a server that is none' 2 '' '*cannot be used*'
run "$WEIR" put --server unix: work/1
expect 'a socket without a path' 2 '' '*has no path*'
run "$WEIR" put --server "unix:$dir/none" work/1
expect 'a socket that is not there' 3 '' \
    "*cannot put 'work/1': cannot connect to the socket '$dir/none': no such file or directory"
run "$WEIR" get --server "unix:$dir/work/1" "$address"
expect 'a file that is no socket' 3 '' "*cannot connect to the socket '$dir/work/1': *"
plain=()
if [[ $(id -u) -eq 0 ]]; then
    plain=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
if [[ $SANITIZED != none ]]; then
    skip 'without threads it says what it has not got' 'the sanitizer needs threads'
    skip 'so does get' 'the sanitizer needs threads'
elif command -v setpriv >/dev/null || ((${#plain[@]} == 0)); then
    cp "$WEIR" weir
    mode=$(stat -c %a "$dir")
    chmod 711 "$dir"
    # shellcheck disable=SC2016
    alone=("${plain[@]}" bash -c 'ulimit -u 1; exec ./weir "$@"' -)
    run "${alone[@]}" put - </dev/null
    expect 'without threads it says what it has not got' 3 '' \
        'weir put: cannot start: the threads for --parallel=8 cannot be had: *; --parallel=1 needs fewest'
    run "${alone[@]}" get -j 1 "$address"
    expect 'so does get' 3 '' 'weir get: cannot start: the threads for --parallel=1 cannot be had: *; raise the limit'
    chmod "$mode" "$dir"
    rm weir
else
    skip 'without threads it says what it has not got' 'setpriv is not installed'
    skip 'so does get' 'setpriv is not installed'
fi
# Between too few addresses to begin with and enough, some of the threads can be had.
if [[ $SANITIZED != none ]]; then
    skip 'get says so of the threads behind its first, too' 'the sanitizer needs addresses'
else
    few=
    for ((mib = 32; mib <= 1024; mib += 4)); do
        run prlimit "--as=$((mib << 20))" "$WEIR" get "$address" -o few
        [[ $status -eq 0 || -e few ]] && break
        few+=$err$'\n'
    done
    check 'until all threads can be had, nothing is left behind' cmp few $big
    check 'before, get says so of the threads behind its first, too' \
        grep -qF 'the threads for --parallel=8 cannot be had: ' <<<"$few"
    check 'and not that it is something else' no grep -qF 'at capacity' <<<"$few"
fi
run "$WEIR" put none work work/1
expect 'a file fails alone' 3 'b3:*  work/1' \
    "*cannot put 'none': no such file or directory*cannot put 'work': is a directory"
run "$WEIR" put --json none
is 'also in JSON' "$(jq -r .error out)" NotFound
run "$WEIR" put --server http://127.0.0.1:1 work/1
expect 'nobody there' 3 '' "*cannot put 'work/1': *"
check 'in one line' one_line

# --- the server goes away ---

mkfifo feed
"$WEIR" put --timeout 2s - <feed >out 2>err &
put=$!
exec 9>feed
head -c 8M /dev/urandom >&9
# Some of it has arrived: the service counts what it stores.
puts() { curl -s "$server/metrics" | awk '/^weir_storage_store_puts_total|^store_puts_total/ {print $2}'; }
before=$(puts)
until head -c 1M /dev/urandom >&9 && [[ $(puts) != "$before" ]]; do sleep 0.05; done
stop_storage KILL
{ head -c 64M /dev/urandom >&9; } 2>/dev/null || true
exec 9>&-
status=0
wait "$put" || status=$?
out=$(cat out) err=$(cat err)
expect 'a server that was killed' 3 '' "weir put: cannot put '-': *"
check 'in one line, too' one_line

# --- a server that comes back is waited for ---

start_storage --data data --listen "${server#http://}"
"$WEIR" put - <feed >out 2>err &
put=$!
exec 9>feed
head -c 4M /dev/urandom >&9
before=$(puts)
until head -c 1M /dev/urandom >&9 && [[ $(puts) != "$before" ]]; do sleep 0.05; done
stop_storage TERM
head -c 2M /dev/urandom >&9
start_storage --data data --listen "${server#http://}"
head -c 2M /dev/urandom >&9
exec 9>&-
status=0
wait "$put" || status=$?
out=$(cat out) err=$(cat err)
expect 'a server that was started anew' 0 'b3:*  -' ''

# --- interrupted ---

"$WEIR" put - <feed >out 2>err &
put=$!
exec 9>feed
head -c 1M /dev/urandom >&9
kill -TERM "$put"
status=0
wait "$put" || status=$?
exec 9>&-
out=$(cat out) err=$(cat err)
is 'an interrupted put dies of the signal' "$status" 143
is 'and prints no address' "$out" ''

# --- tokens ---

stop_storage
"$WEIR" token mint --data data --scope write --expires 1h >write 2>/dev/null
"$WEIR" token mint --data data --scope read --expires 1h >read 2>/dev/null
start_storage --data data --listen 127.0.0.1:0 --set "tokens.keys=$dir/data/keys"
export WEIR_SERVER=$server
run "$WEIR" put work/1
expect 'without a token' 3 '' '*?status 401?'
run "$WEIR" put --token-file read work/1
expect 'with one for reading' 3 '' '*?status 403?'
check 'in one line' one_line
run "$WEIR" put --token-file write work/1
expect 'with one for writing' 0 'b3:*' ''
WEIR_TOKEN=$(cat write) run "$WEIR" put work/1
expect 'from the environment' 0 'b3:*' ''
one=${out%% *}
run "$WEIR" get --token-file read "$one" -o back
expect 'and one for reading' 0 '' ''
run "$WEIR" get --token-file write "$one"
expect 'not the other way round' 3 '' '*?status 403?'
echo 'no token' >bad
run "$WEIR" put --token-file bad work/1
expect 'what is no token' 3 '' '*no token*'
check 'is not shown' no grep -qF 'no token.no' err
run "$WEIR" put --token-file none work/1
expect 'a file that is not there' 3 '' "*cannot open 'none'*"
sed 's/.$/x/' write >broken
run "$WEIR" put --token-file broken work/1
expect 'a token that was changed' 3 '' '*?status 401?'
check 'no message has it' no grep -qF "$(cut -c 40-80 broken)" err

# --- a full server ---

stop_storage
start_storage --amnesia --set amnesia.max_bytes=12MiB --listen 127.0.0.1:0
export WEIR_SERVER=$server
run "$WEIR" put --timeout 3s $big
expect 'a full server' 3 '' "*cannot put '$big': *?status 507?"
check 'is told in one line' one_line
head -c 20971520 /dev/urandom >work/more
run "$WEIR" put work/more
expect 'is told as such when every chunk meets it' 3 '' "*cannot put 'work/more': *?status 507?"

# --- a server that is busy ---

stop_storage
start_storage --amnesia --listen 127.0.0.1:0 --set server.max_inflight=1
export WEIR_SERVER=$server
head -c 1000000 /dev/urandom >work/busy
run "$WEIR" put -j 8 --fixed 64KiB work/busy
expect 'a server that takes one request at a time' 0 'b3:*' ''
busy=${out%% *}
check 'has said that it is busy' test \
    "$(curl -s "$server/metrics" | awk '/^busy_rejections_total/ {n += $2} END {print n}')" -gt 0
check 'and is waited for by get as well' cmp <("$WEIR" get -j 8 "$busy") work/busy

# --- quotas ---

stop_storage
cat >quotas.toml <<END
tokens.keys = "$dir/data/keys"
[quotas]
bytes_per_token = "300000B"
END
start_storage --data data --listen 127.0.0.1:0 --config quotas.toml
export WEIR_SERVER=$server
head -c 200000 /dev/urandom >work/a
head -c 200000 /dev/urandom >work/b
refused() { curl -s "$server/metrics" | awk '/^quota_refused_total.*"bytes"/ {print $2}'; }
run "$WEIR" put --token-file write work/a
expect 'within the quota' 0 'b3:*' ''
run "$WEIR" put --token-file write work/a
expect 'what is there costs nothing' 0 'b3:*' ''
run curl -s -o body -w '%{http_code}' -X POST -H "Authorization: Bearer $(cat write)" --data-binary @work/a "$server/o"
is 'a chunk that would be too much' "$out" 403
is 'is Forbidden' "$(jq -r .error body)" Forbidden
check 'with the numbers' grep -qE 'used up: 20[0-9]{4} of 300000 bytes' body
before=$(refused)
run "$WEIR" put --token-file write work/b
expect 'beyond the quota' 3 '' "*cannot put 'work/b': the quota of this token is used up: * of 300000 bytes, and the upload may need * ?status 403?"
check 'in one line' one_line
check 'which is counted' test "$(refused)" -gt "$before"
"$WEIR" token narrow --from write --method PUT,POST >narrow
run "$WEIR" put --token-file narrow work/b
expect 'what was made of the token has the same quota' 3 '' '*used up*'
"$WEIR" token mint --data data --scope write --expires 1h >other 2>/dev/null
run "$WEIR" put --token-file other work/b
expect 'another token has its own' 0 'b3:*' ''
stop_storage
is 'use is written down' "$(sed -n '1p;$p' data/quotas | xargs)" 'weir-quotas 1 end 2'
start_storage --data data --listen 127.0.0.1:0 --config quotas.toml
export WEIR_SERVER=$server
head -c 200000 /dev/urandom >work/c
run "$WEIR" put --token-file other work/c
expect 'and known after a restart' 3 '' '*used up*'
sed -i 's/300000B/1MiB/' quotas.toml
kill -HUP "$storage"
until grep -q reloaded storage.err; do sleep 0.05; done
run "$WEIR" put --token-file other work/c
expect 'a larger quota holds at once' 0 'b3:*' ''
# Several at once never have more than that.
for i in 1 2 3 4 5 6 7 8 9 10; do head -c 200000 /dev/urandom >"work/many.$i"; done
run "$WEIR" put -j 16 --token-file other work/many.*
check 'many at once are refused at the limit' test "$status" -eq 3
stop_storage
check 'and do not pass it' awk 'NF == 3 && $2 > 1048576 {exit 1}' data/quotas
check 'by much less than a chunk' awk 'NF == 3 && $2 > 700000 {found = 1} END {exit !found}' data/quotas
printf 'weir-quotas 1\nend 7\n' >data/quotas
run "$WEIR" storage --data data --listen 127.0.0.1:0
expect 'a damaged file is not taken for nothing' 3 '' '*is damaged: *remove it to count from zero'
finish
