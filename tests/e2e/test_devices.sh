#!/bin/bash
# weir devices on the real machine: text, JSON, several paths, paths that are not there.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh"

ended() { # status, lines on standard output, lines on standard error
    [[ $status -eq $1 && $(wc -l <"$dir/out") -eq $2 && $(wc -l <"$dir/err") -eq $3 ]]
}

# What the JSON says, by a path of keys and indexes.
field() {
    python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[int(key) if isinstance(value, list) else key]
print(json.dumps(value))' "$dir/out" "$@"
}

is() {
    [[ $(field "${@:2}") == "$1" ]]
}

matches() { # pattern, keys
    [[ $(field "${@:2}") =~ ^$1$ ]]
}

no() { # a command that must fail
    ! "$@"
}

cd "$dir"
run "$WEIR" devices
check 'without a path: the current directory' ended 0 2 0
check 'the table has a head' grep -q '^FILESYSTEM  *DEVICE  *KIND  *SLOTS  *DISKS  *PATH$' out
check 'the row ends with the path' grep -q ' \.$' out

run "$WEIR" devices / "$dir" /proc
check 'one row for each path' ended 0 4 0

run "$WEIR" devices --json / .
check 'JSON ends well' ended 0 "$(wc -l <"$dir/out")" 0
check 'JSON keeps the paths in order' is '"."' 1 path
numbers=$(stat -c '%Hd:%Ld' /)
check 'the file system is the one that stat sees' is "\"$numbers\"" 0 filesystem
check 'the kind is one of six' matches '"(unknown|rotational|solid|virtual|nvme|none)"' 0 kind
check 'the slots are those of the kind' matches '[248]' 0 slots
check 'there is a disk, or what stands for it' matches '".*"' 0 disks 0 name

run "$WEIR" devices /no/such/path .
check 'a path that is not there: status 3, the rest is shown' ended 3 2 1
check 'it says which and why' grep -q "cannot look at '/no/such/path': there is no such path$" err

run "$WEIR" devices ''
check 'nothing to show: no head of a table' ended 3 0 1
check 'an empty path has its own reason' \
    grep -q "cannot look at '': a path is needed to find its device$" err
long=$(printf '%05000d' 0)
run "$WEIR" devices "$long"
check 'a long path: one line on standard error' ended 3 0 1
check 'its cut is marked, and the reason is there' \
    grep -qE "cannot look at '0{200}\.\.\.': the path is too long" err
mkdir $'\e[31m\nrow'
run "$WEIR" devices $'\e[31m\nrow'
check 'a path cannot drive the terminal, nor add a row' ended 0 2 0
check 'it is shown as on standard error' grep -qF '\x1b[31m\nrow' out
check 'and nothing of it is raw' no grep -q $'\e' out

run "$WEIR" devices --json /no/such/path
check 'in JSON too' ended 3 "$(wc -l <"$dir/out")" 1
check 'with the name of the error' is '"NotFound"' 0 error

# More than any buffer would hold; every byte of these names is six in JSON.
mapfile -t many < <(yes $'\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1' | head -75000)
status=0
"$WEIR" devices --json "${many[@]}" . >out 2>/dev/null || status=$?
: >err
check 'JSON has no limit on the number of paths' ended 3 1 0
size=$(wc -c <out)
check 'it is longer than 16 MiB' test "$size" -gt $((16 << 20))
check 'and complete to the last element' is '"."' 75000 path
: >out

run "$WEIR" devices --jsno
check 'a wrong option is a usage error' ended 2 0 "$(wc -l <"$dir/err")"
check 'and the right one is offered' grep -q -- '--json' err

run "$WEIR" devices --help
check 'help begins with examples' grep -q 'weir devices /home /var/lib' out

finish
