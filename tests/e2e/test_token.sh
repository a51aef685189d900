#!/bin/bash
# weir token as people run it: mint, narrow, inspect, rotate and keys; text and JSON; what is wrong,
# told in one line that never has a token in it.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
need_tools jq

cd "$dir"
export HOME=$dir/home XDG_DATA_HOME=$dir/share
mkdir data home

# Runs a command with the file on its standard input.
feed() {
    local file=$1
    shift
    status=0
    "$@" >"$dir/out" 2>"$dir/err" <"$file" || status=$?
    out=$(cat "$dir/out")
    err=$(cat "$dir/err")
}

# No message may have more of a token in it than anybody could guess.
is_silent() {
    local part
    part=$(cut -c 40-80 "$1")
    ! grep -qF -e "$part" err
}

# --- mint ---

run "$WEIR" token mint --data data --scope read,write --path /o/ --expires 1d
expect 'a token, and the first key' 0 '[A-Za-z0-9_-]*' "*made the first key in 'data/keys'*"
cp out token
is 'one line' "$(wc -l <token)" 1
is 'the folder of the keys is closed to others' "$(stat -c %a data/keys)" 700
is 'so is the key' "$(stat -c %a data/keys/*)" 600
run "$WEIR" token mint --data data
expect 'the next one is made with the same key' 0 '*' ''
is 'of which there is one' "$(find data/keys -type f | wc -l)" 1
run "$WEIR" token mint --data data --json
is 'by default for an hour, to read' "$(jq -r '.caveats | length, .[1]' out | xargs)" '2 scope in read'
is 'with its id' "$(jq -r '.id | length' out)" 16
run "$WEIR" token mint --data data --json --expires never --scope delete,admin --method DELETE \
    --client '10.0.0.1,2001:db8::/32' --body 64k
is 'all that can be said' "$(jq -r '.caveats | join(";")' out)" \
    'scope in delete,admin;method in DELETE;client in 10.0.0.1/32,2001:db8::/32;body <= 65536'
run "$WEIR" token mint --data data --json --expires 2999-12-01
is 'a day' "$(jq -r '.caveats[0]' out)" 'expires < 2999-12-01T00:00:00Z'
run "$WEIR" token mint --data data --json --expires 2999-12-01T12:30:00Z
is 'a moment' "$(jq -r '.caveats[0]' out)" 'expires < 2999-12-01T12:30:00Z'
run "$WEIR" token mint --data none/such
expect 'a folder that is not there is made, and told' 0 '[A-Za-z0-9_-]*' "*made the first key in 'none/such/keys'*"
is 'for nobody else' "$(stat -c %a none/such)" 700
run "$WEIR" token mint --keys named/keys/
expect 'so is that of the keys' 0 '[A-Za-z0-9_-]*' "*made the first key in 'named/keys/'*"
run "$WEIR" token keys --data nowhere
expect 'who only looks makes none' 3 '' "*'nowhere/keys': there is no such folder*"
check 'not at all' test ! -e nowhere
run "$WEIR" token mint --keys /dev/null
expect 'what is no folder' 2 '' "*'/dev/null': it is not a folder*"
if [[ $(id -u) -eq 0 ]] && command -v setpriv >/dev/null; then
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    mkdir service && chown 65534:65534 service && chmod 711 "$dir" && chmod 700 service
    run "$WEIR" token mint --data service
    expect 'root mints for a service of another user' 0 '[A-Za-z0-9_-]*' '*made the first key*'
    run "${as[@]}" "$WEIR" token keys --data service
    expect 'who can read the key' 0 '*mints and verifies' ''
    run "$WEIR" token rotate --data service
    run "${as[@]}" "$WEIR" token mint --data service
    expect 'also the next' 0 '[A-Za-z0-9_-]*' ''
    run "$WEIR" token mint --data service
    expect 'and root goes on' 0 '[A-Za-z0-9_-]*' ''
    run "${as[@]}" "$WEIR" token mint --data data
    expect 'the other way round there is no way' 3 '' '*run this as its owner, or as root*'
fi

# --- what is wrong with what a token shall allow ---

while IFS='|' read -r name wish said; do
    # shellcheck disable=SC2086 # words
    run "$WEIR" token mint --data data $wish
    expect "$name" 2 '' "weir token: *$said*"
    run "$WEIR" token narrow --from token $wish
    expect "$name, narrowed" 2 '' "weir token: *$said*"
done <<'END'
a scope that is none|--scope root|one or more of read, write
a scope twice|--scope read,read|one or more of read, write
a method that is none|--method get|one or more of GET
a path that is none|--path o/|from '/' on
a path that climbs|--path /o/../admin|from '/' on
a host|--client localhost|an address or a network
bits behind the prefix|--client 10.0.0.1/8|an address or a network
a network twice|--client 10.0.0.0/8,10.0.0.0/8|twice
an end that is none|--expires tomorrow|is not a duration
an end that has passed|--expires 2020-01-01|has passed
a day that is none|--expires 2999-02-30|is not a duration
a body that is none|--body many|
END
run "$WEIR" token mint --data data --keys data/keys
expect 'two places for the keys' 2 '' '*leave one out*'
run "$WEIR" token mint --data data sometoken
expect 'mint takes no token' 2 '' '*takes no token*'
run "$WEIR" token keys --data data --scope read
expect 'keys have no scope' 2 '' '*mint and narrow alone*'
run "$WEIR" token
expect 'no action' 2 '' '*ACTION is missing*'
run "$WEIR" token steal
expect 'an action that is none' 2 '' "*'steal' is not known*"

# --- narrow ---

feed token "$WEIR" token narrow - --method GET --client 192.0.2.7
expect 'narrowed from standard input' 0 '[A-Za-z0-9_-]*' ''
cp out narrow
run "$WEIR" token narrow "$(cat token)" --method GET --client 192.0.2.7
is 'and as an operand: the same' "$out" "$(cat narrow)"
run "$WEIR" token narrow --from token --method GET --client 192.0.2.7
is 'and from a file' "$out" "$(cat narrow)"
printf '%s' "$(cat token)" >bare
run "$WEIR" token narrow --from bare --method GET --client 192.0.2.7
is 'without a line end' "$out" "$(cat narrow)"
run env -i "$WEIR" token narrow --from token --method GET --client 192.0.2.7
is 'without keys, home and anything' "$out" "$(cat narrow)"
run "$WEIR" token narrow --from token
expect 'to nothing' 2 '' '*narrow to what*'
run "$WEIR" token narrow --from token --expires never
expect 'to no end' 2 '' '*takes nothing away*'
run "$WEIR" token narrow --from token --method GET --data data
expect 'with keys' 2 '' '*needs no keys*'
run "$WEIR" token narrow --method GET
expect 'which token' 2 '' '*which token*'
run "$WEIR" token narrow - --from token --method GET
expect 'two tokens' 2 '' '*one token at a time*'
cp narrow full
for i in {1..80}; do
    run "$WEIR" token narrow --from full --method GET
    ((status == 0)) || break
    cp out full
done
expect 'until it is full' 2 '' '*64 caveats and 4096 bytes*'
is 'which is at 64' "$("$WEIR" token inspect --json --from full | jq '.caveats | length')" 64

# --- inspect ---

feed narrow "$WEIR" token inspect - --data data
expect 'what it says, and that it is genuine' 0 \
    'token *key *signature  right*caveat     scope in read,write*caveat     path under /o/*caveat     method in GET*caveat     client in 192.0.2.7/32' ''
run "$WEIR" token inspect --from narrow --json --keys data/keys
is 'the same as JSON' "$(jq -c '[.verified, .expired, .caveats_known, (.caveats | length)]' out)" \
    '[true,false,true,5]'
is 'the id stays' "$(jq -r .id out)" "$("$WEIR" token inspect --json --from token | jq -r .id)"
if [[ $(id -u) -ne 0 || ! -e /var/lib/weir/storage ]]; then
    run "$WEIR" token inspect --from narrow
    expect 'without keys it is not known' 0 '*not verified: there are no keys here*' ''
    run "$WEIR" token inspect --from narrow --json
    is 'nor as JSON' "$(jq .verified out)" null
fi
run "$WEIR" token inspect --from narrow --data other
expect 'keys that were named must be there' 3 '' "*'other/keys': there is no such folder*"
mkdir strange && "$WEIR" token rotate --data strange >strange.id
run "$WEIR" token inspect --from narrow --data strange
expect 'another ring' 0 '*not verified: its key is not among*' ''
printf '%064d\n' 0 >"strange/keys/$(basename data/keys/*)" && chmod 600 strange/keys/*
run "$WEIR" token inspect --from narrow --data strange
expect 'a key of the same name' 3 '*signature  wrong*' '*the signature is wrong*'
check 'nothing is told' is_silent narrow

{
    cut -c -100 narrow | tr -d '\n'
    echo x
} >cut
printf 'not a token' >words
head -c 9000 /dev/zero | tr '\0' A >long
head -c 100 /dev/urandom >noise
: >empty
for file in cut words long noise empty; do
    run "$WEIR" token inspect --from "$file"
    expect "$file is no token" 3 '' 'weir token: *token*'
    run "$WEIR" token narrow --from "$file" --method GET
    expect "$file cannot be narrowed" 3 '' 'weir token: *token*'
    feed "$file" "$WEIR" token inspect -
    expect "$file on standard input" 3 '' 'weir token: *token*'
done
run "$WEIR" token inspect "$(cat cut)"
expect 'one that is cut, as an operand' 3 '' '*damaged*'
check 'is not repeated' is_silent cut
run "$WEIR" token inspect --from missing
expect 'a file that is not there' 3 '' "*'missing'*"
"$WEIR" token mint --data data --expires 1s >brief
until [[ $("$WEIR" token inspect --json --from brief | jq .expired) == true ]]; do :; done
run "$WEIR" token inspect --from brief --data data
expect 'one that has expired' 0 'token *, expired*signature  right*' ''

# --- keys ---

first=$(basename data/keys/*)
run "$WEIR" token keys --data data
expect 'the key' 0 "$first  mints and verifies" ''
run "$WEIR" token rotate --data data
expect 'a new one, and whom to tell' 0 '????????T??????Z-??????' \
    'weir token: *refuses tokens of the new key until*SIGHUP*'
is 'in one line' "$(wc -l <err)" 1
second=$out
run "$WEIR" token keys --keys data/keys
expect 'both' 0 "$first  verifies
$second  mints and verifies" ''
run "$WEIR" token keys --data data --json
is 'as JSON' "$(jq -r '.[] | select(.mints) | .key' out)" "$second"
is 'the new one mints' "$("$WEIR" token mint --data data --json | jq -r .key)" "$second"
is 'the old one verifies' "$("$WEIR" token inspect --data data --json --from narrow | jq .verified)" true
rm "data/keys/$first"
is 'until it is removed' "$("$WEIR" token inspect --data data --json --from narrow | jq .verified)" null
run "$WEIR" token rotate --data data --json
is 'rotate as JSON' "$(jq -r .key out)" "$(find data/keys -type f -printf '%f\n' | sort | tail -1)"

chmod 640 "data/keys/$second"
run "$WEIR" token mint --data data
expect 'a key that others can read' 3 '' "*'data/keys/$second': others can read it: chmod 600 it*"
chmod 600 "data/keys/$second"
chmod 777 data/keys
run "$WEIR" token mint --data data
expect 'a folder that others can write to' 3 '' "*'data/keys': others can write to it: chmod 700 it*"
chmod 700 data/keys
echo x >data/keys/notes
run "$WEIR" token mint --data data
expect 'what is no key' 3 '' "*'data/keys/notes': its name is not that of a key*"
rm data/keys/notes
: >"data/keys/$second"
run "$WEIR" token keys --data data
expect 'an empty key' 3 '' "*'data/keys/$second': it is not a key*"
run "$WEIR" token keys --data strange/none
expect 'no keys' 3 '' "*'strange/none/keys'*"

# --- where nobody says where ---

# As an ordinary user: root's own folder is not for tests.
plain=()
cp "$WEIR" weir
mkdir share
if [[ $(id -u) -eq 0 ]]; then
    plain=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 711 "$dir"
    chown 65534:65534 home share
fi
if command -v setpriv >/dev/null || ((${#plain[@]} == 0)); then
    run "${plain[@]}" ./weir token mint
    expect 'the folder is made, with those above it' 0 '*' "*made the first key in '*share/weir/storage/keys'*"
    is 'closed to others' "$(stat -c %a share/weir share/weir/storage share/weir/storage/keys | xargs)" '700 700 700'
    run "${plain[@]}" env -u XDG_DATA_HOME ./weir token rotate
    expect 'without that variable, in the home' 0 '????????T??????Z-??????' '*SIGHUP*'
    check 'there it is' test -f "home/.local/share/weir/storage/keys/$out"
    run "${plain[@]}" env -i ./weir token keys
    expect 'without a home' 3 '' '*set HOME, or give --data*'
fi

# --- the program's own help ---

"$WEIR" completion bash >weir.bash
is 'bash offers the actions' "$(offers "$dir/weir.bash" "$dir" weir token '')" \
    "$(offers "$dir/weir.bash" "$dir" weir token '' | grep -o 'mint narrow inspect rotate keys.*')"
is 'and options' "$(offers "$dir/weir.bash" "$dir" weir token mint --sc)" '--scope'
run "$WEIR" token --help
expect 'help has examples' 0 '*weir token narrow -*' ''
run "$WEIR" man token
check 'the manual page is well formed' bash -c "command -v mandoc >/dev/null || exit 0; mandoc -Tlint -Wwarning out"

finish
