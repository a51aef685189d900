# shellcheck shell=bash
# scan_lib.sh - what the tests of weir scan share beside cli_lib.sh: a cache, a state and a folder for
# temporary files of their own, tokens, a tree to scan, and what a JSON report says.
#
# The tokens are made up, and put together here so that nothing in these files looks like one.
# shellcheck source=tests/e2e/cli_lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/cli_lib.sh"

export XDG_CACHE_HOME=$dir/cache XDG_STATE_HOME=$dir/state TMPDIR=$dir/temporary
mkdir "$dir/cache" "$dir/temporary"
# shellcheck disable=SC2034 # those who source this use them
pat=ghp_M0XvqZjxTW3xvboSRt5Mh3dAwVtRMf3 pat=${pat}LeZiJ
# shellcheck disable=SC2034
other=ghp_lhbmuaptt0Azn0DNRUQxA71p2Td8VK0 other=${other}CM5Qe
# shellcheck disable=SC2034
MiB=$((1024 * 1024))

# Bytes that look like chance and are the same in every run: what a run finds must not depend on its luck.
# WEIR_SEED has others made.
noise() { # how many, a number for others of the same length
    python3 -c 'import random, sys
length, which, seed = map(int, sys.argv[1:])
made = random.Random(f"{seed} {length} {which}")
while length > 0:
    sys.stdout.buffer.write(made.randbytes(min(length, 1 << 20)))
    length -= 1 << 20' "$1" "${2:-0}" "${WEIR_SEED:-0}"
}

tree() { # a new, empty folder, in which to be
    cd "$dir" || exit 1
    chmod -R u+rwx tree 2>/dev/null || true
    rm -rf tree
    mkdir tree
    cd tree || exit 1
}

# --- of the report that run() kept ---

places() { # paths, one on a line
    jq -r '.findings[].places[].path' "$dir/out" | sort
}
spots() { # path:line:column:offset, one on a line
    jq -r '.findings[].places[] | "\(.path):\(.line):\(.column):\(.offset)"' "$dir/out" | sort
}
gaps() { # path: reason, one on a line
    jq -r '.summary.unscanned[] | "\(.path): \(.reason)"' "$dir/out" | sort
}
summary() { # a key of the summary
    jq -r ".summary.$1" "$dir/out"
}
has_gap() { # name, a pattern for all gaps
    # shellcheck disable=SC2053 # it is a pattern
    if [[ $(gaps) == $2 ]]; then pass "$1"; else fail "$1" "$(said)"; fi
}
