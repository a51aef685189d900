#!/bin/bash
# weir key as people run it: make and show, text and JSON, where it looks, what it refuses; and no
# message has a secret in it.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"
need_tools jq b3sum openssl

cd "$dir"
export HOME=$dir/own
unset XDG_CONFIG_HOME
mkdir own

# --- where it is ---

run "$WEIR" key show
expect 'there is none yet, and how to make one' 3 '' "*'*/own/.config/weir/key': there is no such file: make a key by 'weir key make'"
run "$WEIR" key make
expect 'a key of one'"'"'s own' 0 $'id          ????????????????????????????????\npublic key  *' "*made the key '*/own/.config/weir/key': keep a copy*"
is 'that nobody else can read' "$(stat -c %a own/.config/weir/key)" 600
is 'nor its folder' "$(stat -c %a own/.config/weir)" 700
made=$out
run "$WEIR" key show
expect 'it is shown as it was made' 0 "$made" ''
run "$WEIR" key make
expect 'and never replaced' 3 '' '*it is there already: keys are not replaced*'
run "$WEIR" key show
is 'it is the same still' "$out" "$made"
run env XDG_CONFIG_HOME="$dir/config" "$WEIR" key make
expect 'where XDG says' 0 '*' "*'*/config/weir/key'*"
check 'it is there' test -f config/weir/key
run env XDG_CONFIG_HOME=relative "$WEIR" key show
is 'but not where that is no absolute path' "$out" "$made"
run env -u HOME "$WEIR" key show
expect 'without a home' 3 '' '*set HOME, or name its file'

# --- a file that is named ---

run "$WEIR" key make team.key --json
expect 'a file that is named' 0 '{*}' '*'
is 'with its path' "$(jq -r .file out)" team.key
id=$(jq -r .id out)
public=$(jq -r .public_key out)
run "$WEIR" key show team.key --json
is 'the id' "$(jq -r .id out)" "$id"
run "$WEIR" key show team.key
expect 'the same in words' 0 "id          $id"$'\n'"public key  $public" ''
run "$WEIR" key make none/such
expect 'folders are not made for it' 3 '' "*'none/such': there is no such folder: make it, or name another file"

# --- what others say of it ---

bytes() { # of hexadecimal digits
    python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' "$1"
}
digest=$(bytes "$public" | b3sum --no-names)
is 'the id is that of b3sum' "$(bytes "${digest:0:40}" | base32 | tr '[:upper:]' '[:lower:]')" "$id"
seed=$(cut -d' ' -f2 team.key)
# What stands before the 32 bytes of a private key in its usual form.
bytes "302e020100300506032b657004220420$seed" >key.der
openssl pkey -inform DER -in key.der -pubout -outform DER -out public.der 2>/dev/null
is 'the public key is that of openssl' "$(tail -c 32 public.der | od -An -tx1 | tr -d ' \n')" "$public"

# --- what is refused ---

chmod 640 team.key
run "$WEIR" key show team.key
expect 'others can read it' 3 '' '*chmod 600*'
check 'no secret is told' test "${err/$seed/}" = "$err"
chmod 600 team.key
truncate -s 40 team.key
run "$WEIR" key show team.key
expect 'it is cut off' 3 '' '*it is not a key*'
run "$WEIR" key show .
expect 'a folder' 2 '' '*it is not a file*'
run "$WEIR" key
expect 'no action' 2 '' '*ACTION*'
run "$WEIR" key burn
expect 'none such' 2 '' '*burn*'
run "$WEIR" key make a b
expect 'too much' 2 '' '*'
run "$WEIR" key --help
expect 'help with examples' 0 '*weir key make*weir key show --json*' ''

finish
