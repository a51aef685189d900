# shellcheck shell=bash
# storage_lib.sh - a storage service of a test's own: started, waited for, stopped.
#
# After start_storage: $server is its URL, $storage its process.
set -euo pipefail
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli_lib.sh"
unset WEIR_SERVER WEIR_TOKEN http_proxy https_proxy all_proxy no_proxy

storage=
server=
stop_storage() { # signal
    [[ -z $storage ]] && return
    kill "-${1:-TERM}" "$storage" 2>/dev/null || true
    wait "$storage" 2>/dev/null || true
    storage=
}
trap 'stop_storage KILL; chmod -R u+rwx "$dir" || true; rm -rf "$dir"' EXIT

start_storage() { # arguments of weir storage
    : >"$dir/listens"
    "$WEIR" storage "$@" >"$dir/listens" 2>"$dir/storage.err" </dev/null 9>&- &
    storage=$!
    # It prints its address once, at the start: until then, or until it has ended.
    until server=$(sed -n 's/^listening on \(http.*\)/\1/p' "$dir/listens") && [[ -n $server ]]; do
        if ! kill -0 "$storage" 2>/dev/null; then
            cat "$dir/storage.err" >&2
            return 1
        fi
        sleep 0.05
    done
}
