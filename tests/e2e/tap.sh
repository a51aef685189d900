# shellcheck shell=bash
# tap.sh - points of TAP, counted: what test scripts say about each thing that they look at. Ends with
# finish, or has begun with skip_all.
number=0
failures=0

pass() { # name
    number=$((number + 1))
    echo "ok $number - $1"
}

# name, and what to tell: in words, or on standard input (not by a pipe, whose shell would keep the
# count)
fail() {
    number=$((number + 1))
    failures=$((failures + 1))
    echo "not ok $number - $1"
    if [[ $# -gt 1 ]]; then
        printf '%s\n' "$2"
    else
        head -c 8000
    fi | sed 's/^/# /'
}

skip() { # name, why
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

note() {
    printf '# %s\n' "$*"
}

no() { # a command that must fail
    ! "$@"
}

finish() {
    echo "1..$number"
    [[ $failures -eq 0 ]]
}

skip_all() { # why
    echo "1..0 # SKIP $1"
    exit 0
}

need_tools() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip_all "'$tool' is not there"
    done
}
