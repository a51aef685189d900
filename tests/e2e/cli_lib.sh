# shellcheck shell=bash
# cli_lib.sh - what the tests of command lines share: a folder of their own, an environment without
# wishes, one command at a time, and what came of it.
#
# WEIR is the program.
set -euo pipefail
: "${WEIR:?the path of weir}"
# shellcheck source=tests/e2e/tap.sh
source "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$dir" || true; rm -rf "$dir"' EXIT
unset NO_COLOR CLICOLOR_FORCE COLUMNS
export LC_ALL=C.UTF-8

# Runs a command: $status, $out and $err are what came of it.
run() {
    status=0
    "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
    out=$(cat "$dir/out")
    err=$(cat "$dir/err")
}

said() {
    printf 'status %s\nstdout: %s\nstderr: %s' "$status" "$out" "$err"
}

# name, wanted status, a pattern for standard output, one for standard error ('' for nothing)
expect() {
    # shellcheck disable=SC2053 # they are patterns
    if [[ $status -eq $2 && $out == $3 && $err == $4 ]]; then
        pass "$1"
    else
        fail "$1" "$(said)"
    fi
}

check() { # name, then a command that must succeed
    local name=$1
    shift
    if "$@"; then pass "$name"; else fail "$name" "$(said)"; fi
}

is() { # name, actual, wanted
    if [[ $2 == "$3" ]]; then
        pass "$1"
    else
        fail "$1" "is:     $2
wanted: $3"
    fi
}

# What bash offers at the end of the words; the last may be empty.
offers() { # file of the completion, current folder, words
    bash --norc -c 'source "$0"; cd "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _${1##*/}; echo "${COMPREPLY[*]}"' "$@" 2>&1
}
