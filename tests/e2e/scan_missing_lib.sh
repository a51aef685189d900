# shellcheck shell=bash
# scan_missing_lib.sh - a small history, objects of it that are lost and come back, and what a scan must say of that.
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/scan_lib.sh"
need_tools jq git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null XDG_STATE_HOME=$dir/state
# What is said of an object that nobody has, and what helps; where it should be may stand between.
# shellcheck disable=SC2034 # those who source this use it
lacks='it is missing' cure="; 'git fetch --refetch' brings it if the remote has it"
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x

begin() { # options of git init; then in the repository, with some history
    tree
    rm -rf "$XDG_STATE_HOME"
    git init -q -b main "$@" r
    cd r
    git config gc.auto 0
    local i
    for i in 1 2 3 4 5; do
        mkdir -p src deep/er
        seq "$i" 60 >"src/a$((i % 3)).c"
        seq "$i" 9 >"deep/er/f$i"
        git add .
        git commit -qm "change $i"
    done
}
leak() {
    echo "token = \"$pat\";" >late.c
    git add late.c
    git commit -qm late
}
lose() { # a loose object
    local id
    id=$(git rev-parse "$1")
    lost=$id
    mv ".git/objects/${id:0:2}/${id:2}" "$dir/lost"
}
mend() {
    mv "$dir/lost" ".git/objects/${lost:0:2}/${lost:2}"
}
scan() {
    run "$WEIR" scan --history=only --json "$@" .
}
# name, a pattern for the one gap; options. In the same words with what is remembered, and without.
tells() {
    local way gap first=
    for way in 'first scan' 'second scan' --no-state --full-scan; do
        if [[ $way == --* ]]; then scan "$way" "${@:3}"; else scan "${@:3}"; fi
        gap=$(gaps)
        first=${first:-$gap}
        # shellcheck disable=SC2053 # it is a pattern
        if [[ $status == 3 && $(summary complete) == false && $gap == $2 && $gap == "$first" && $(wc -l <<<"$gap") == 1 ]]; then
            pass "$1 ($way)"
        else
            fail "$1 ($way)" "$(said)"
        fi
    done
}
complete() { # name; options
    scan "${@:2}"
    is "$1" "$status $(summary complete)" '0 true'
}
