# shellcheck shell=bash
# copy_lib.sh - what the tests of `weir copy` share: a folder that is cleaned up whatever happens,
# mounts that are undone, an ordinary user, and the oracles.
#
# WEIR, TREEGEN, TREECMP, PROBE and RACER are the programs. SANITIZED is set to something other than
# "none" when they were built with a sanitizer, whose memory is not the program's. WEIR_LONG asks for
# the longer forms, WEIR_SEED for other trees.
set -euo pipefail
: "${WEIR:?the path of weir}" "${TREEGEN:?the path of treegen}" "${TREECMP:?the path of treecmp}"
: "${PROBE:?the path of probe}" "${RACER:?the path of racer}"
# shellcheck source=tests/e2e/tap.sh
source "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

export LC_ALL=C.UTF-8
seed=${WEIR_SEED:-1}
mounts=()
children=()
work=$(mktemp -d "${TMPDIR:-/tmp}/weir-copy-XXXXXX") || exit 1

# Undoes everything, on any way out. A mount that stays busy is detached, so that the folder below it
# is what gets removed and never what is mounted there.
clean_up() {
    local status=$? i
    trap - EXIT
    cd /
    for i in "${children[@]}"; do
        kill -CONT "$i" 2>/dev/null || true
        kill -KILL "$i" 2>/dev/null || true
    done
    for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
        umount "${mounts[i]}" 2>/dev/null || umount -l "${mounts[i]}" 2>/dev/null || true
    done
    chmod -R u+rwx "$work" 2>/dev/null || true
    rm -rf --one-file-system -- "$work" || true
    exit "$status"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

is_root() {
    [[ $EUID -eq 0 ]]
}

is_long() {
    [[ -n ${WEIR_LONG-} ]]
}

is_sanitized() {
    [[ ${SANITIZED:-none} != none ]]
}

# name, then a command that must succeed; what it prints is shown when it does not.
point() {
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        pass "$name"
    else
        fail "$name" < <(echo "failed: $*" && cat "$work/said")
    fi
}

# Removes trees in which directories may be read-only, which stops all but root. A symlink goes itself:
# chmod would follow it.
remove() {
    local tree
    for tree; do
        [[ ! -d $tree || -L $tree ]] || is_root || chmod -R u+rwx -- "$tree"
        rm -rf --one-file-system -- "$tree"
    done
}

put() { # file, content, time
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
    touch -d "${3:-2020-01-01}" "$1"
}

# An empty folder with a name of its own; everybody may pass through it.
fresh() {
    local made
    made=$(mktemp -d "$work/${1:-case}-XXXXXX")
    chmod 755 "$made"
    echo "$made"
}

# Programs where the ordinary user can reach them, whatever the folder of the build permits.
chmod 755 "$work"
mkdir "$work/bin"
for program in WEIR TREEGEN TREECMP PROBE RACER; do
    cp "${!program}" "$work/bin/${program,,}"
done

user_id=65534
as_user() {
    if is_root; then
        setpriv --reuid "$user_id" --regid "$user_id" --clear-groups "$@"
    else
        "$@"
    fi
}

# Runs weir copy with a time limit: $status, and its output in $work/out and $work/err. A time limit
# that is reached is status 124.
limit_s=120
copy() {
    status=0
    timeout -k 5 "$limit_s" "$WEIR" copy "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

user_copy() {
    status=0
    as_user timeout -k 5 "$limit_s" "$work/bin/weir" copy "$@" \
        >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# The last copy ended with this status.
ended() {
    [[ $status -eq $1 ]] && return
    echo "status $status, not $1"
    echo "standard output:" && tail -n 20 "$work/out"
    echo "standard error:" && tail -n 20 "$work/err"
    return 1
}

# No name of what is not finished is in them.
no_leftovers() { # folders
    local found
    found=$(find "$@" -name '.weir-*')
    [[ -z $found ]] && return
    echo "left: $found" | head -n 20
    return 1
}

# rsync finds nothing to do. It cannot go where paths are longer than PATH_MAX.
rsync_agrees() { # source, destination, options
    local said status=0
    # Without the window it would compare whole seconds.
    said=$(rsync -aHAXn --delete --checksum --modify-window=-1 -i "${@:3}" "$1/" "$2/" 2>&1) || status=$?
    [[ $status -eq 0 && -z $said ]] && return
    echo "rsync: status $status"
    printf '%s\n' "$said" | head -n 30
    return 1
}

same() { # source, destination, options of treecmp
    "$TREECMP" --max 30 "${@:3}" "$1" "$2"
}

# Both oracles after a copy that ended well.
faithful() { # name, source, destination, options of treecmp
    point "$1: ends well" ended 0
    point "$1: rsync finds nothing to do" rsync_agrees "$2" "$3" --exclude=/deep
    point "$1: all is the same" same "${@:2}"
}

can_mount=
check_mount() {
    if [[ -z $can_mount ]]; then
        can_mount=false
        if is_root && mkdir "$work/mount-test" && mount -t tmpfs -o size=64k weir-test \
            "$work/mount-test" 2>/dev/null; then
            umount "$work/mount-test" && can_mount=true
        fi
    fi
    $can_mount
}

# Mounts a tmpfs, on a folder of its own or on the one given; it is in $mounted.
mount_tmpfs() { # options, folder
    check_mount || return 1
    mounted=${2:-$(fresh tmpfs)}
    mount -t tmpfs -o "$1" weir-test "$mounted" || return 1
    mounts+=("$mounted")
    chmod 755 "$mounted"
}

# Mounts a new file system from an image in a file; its folder is in $mounted.
mount_image() { # type, size, options of mount
    check_mount || return 1
    local image
    image=$(mktemp "$work/image-XXXXXX")
    truncate -s "$2" "$image"
    "mkfs.$1" -q "$image" >"$work/mkfs" 2>&1 || return 1
    mounted=$(fresh "$1")
    mount -t "$1" -o "loop${3:+,$3}" "$image" "$mounted" 2>"$work/mkfs" || return 1
    mounts+=("$mounted")
    chmod 755 "$mounted"
}

# Undoes the last mount, to have its space back.
unmount_last() {
    local last=$((${#mounts[@]} - 1))
    umount "${mounts[last]}" && unset "mounts[last]"
}

file_system_of() {
    stat -f -c %T "$1"
}
