#!/bin/bash
# weir copy -HAXS is faithful: after it rsync finds nothing to do, and treecmp finds nothing that
# differs, over generated trees, as root and as an ordinary user, on several file systems.
#
# See copy_lib.sh for the environment. Prints TAP. With WEIR_LONG there are more seeds.
set -euo pipefail
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync setpriv

seeds=3
is_long && seeds=40

generate() { # folder, options of treegen
    if ! "$TREEGEN" --seed "$seed" "${@:2}" "$1" 2>"$work/notes"; then
        sed 's/^/# /' "$work/notes"
        return 1
    fi
    sed 's/^treegen:/#/' "$work/notes" | sort -u
}

# A run over what has just been copied changes nothing and says nothing.
quiet_again() { # name, source, destination
    copy -HAXS -i "$2/" "$3/"
    point "$1: again, ends well" ended 0
    point "$1: again, nothing to do" test ! -s "$work/out"
    point "$1: again, all is the same" same "$2" "$3"
}

# In the folder given, everything at once; what the file system cannot hold is not in the source.
everything() { # name, folder, options of treegen
    local name=$1 dir=$2
    shift 2
    cd "$dir"
    generate src "${readable[@]}" "$@"
    copy -HAXS src/ dst/
    faithful "$name, to a new directory" src dst
    quiet_again "$name" src dst
    point "$name: nothing else is left" test "$(ls -A)" = $'dst\nsrc'
    # Onto another tree: other types under the same names, and what is not in the source goes away.
    generate old --without deep "${readable[@]}" --seed $((seed + 1000))
    mv old/random/* old/ 2>/dev/null || true
    copy -HAXS --delete src/ old/
    faithful "$name, onto another tree" src old
    cd "$work"
    remove "$dir"/*
}

readable=()
is_root || readable=(--readable)

everything "$(file_system_of "$work")" "$(fresh)"

# Many small trees, in which everything meets.
cd "$(fresh)"
for ((i = 1; i <= seeds; i++)); do
    "$TREEGEN" --only random --entries 600 --seed $((seed * 1000 + i)) "${readable[@]}" src-$i \
        2>/dev/null
    copy -HAXS src-$i/ dst-$i/
    faithful "random tree $((seed * 1000 + i))" src-$i dst-$i
    # What has changed since: the tree of one seed onto that of the one before.
    if [[ $i -gt 1 ]]; then
        copy -HAXS --delete src-$i/ dst-$((i - 1))/
        faithful "random tree $((seed * 1000 + i)) onto another" src-$i dst-$((i - 1))
        remove src-$((i - 1)) dst-$((i - 1))
    fi
done

# Every way of moving data, on files with and without holes, below and above all limits on sizes.
cd "$(fresh)"
generate src --only sizes,sparse --large 70M --sparse 1G "${readable[@]}"
for way in auto range ring plain; do
    copy -S --data-path=$way --reflink=never src/ $way/
    point "data by way of '$way': ends well" ended 0
    point "data by way of '$way': all is the same" same src $way --no links,nlink
    remove $way
done
copy --verify src/ verified/
point 'with --verify: ends well' ended 0
point 'with --verify: all is the same' same src verified --no links,nlink
copy --sparse=make src/ made/
point 'with --sparse=make: ends well' ended 0
point 'with --sparse=make: all is the same' same src made --no links,nlink
point 'with --sparse=make: zeros became a hole' \
    test "$(stat -c %b made/sparse/zeros)" -lt "$(stat -c %b src/sparse/zeros)"
copy --sparse=never src/sparse/comb filled
point 'with --sparse=never: holes are filled' test "$(stat -c %b filled)" -ge 2048
remove src verified made filled

# A file of 1 TiB with a few pages: rsync would read all of it, so treecmp alone judges.
cd "$(fresh)"
if generate src --only sparse --sparse 1T "${readable[@]}"; then
    limit_s=60 copy -HAXS src/ dst/
    point '1 TiB of holes: ends well, and soon' ended 0
    point '1 TiB of holes: all is the same' same src dst
    point '1 TiB of holes: as little space as before' \
        test "$(du -s dst | cut -f1)" -le $(($(du -s src | cut -f1) + 1024))
else
    skip '1 TiB of holes' "'$(file_system_of .)' has no files of that size"
fi

# As many links as ext4 lets a file have.
cd "$(fresh)"
generate src --only links --links 65000 "${readable[@]}"
copy -HAXS src/ dst/
faithful '65,000 links' src dst
note "$(stat -c %h src/links/2/many) links"
copy -HAXS src/ dst/
point '65,000 links: again, ends well' ended 0
point '65,000 links: again, all is the same' same src dst
remove dst
copy -HAXS --table-memory=64k src/ dst/
point '65,000 links and more, in a small table: ends well' ended 0
point '65,000 links and more, in a small table: all is the same' same src dst

# Hard links across the sources that are given, and the forms of sources and destinations.
cd "$(fresh)"
mkdir a b out
echo one >a/file && ln a/file b/link && echo two >b/other && ln b/other single
touch -d 2001-01-01 a/file && touch -d 2002-02-02 b/other
copy -H a b single out
point 'several sources: ends well' ended 0
point 'several sources: links across them' test out/a/file -ef out/b/link
point 'several sources: also to a file' test out/b/other -ef out/single
remove out && mkdir out
copy -H a/ b out
point 'contents and a directory: the names' \
    test "$(cd out && find . | sort | tr '\n' ' ')" = '. ./b ./b/link ./b/other ./file '
copy a/file named
point 'a file onto a new name' cmp a/file named
copy b/other named
point 'a file onto a file' cmp b/other named
copy a/file out/
point 'a file into a directory' cmp a/file out/file
copy a b single nowhere
point 'several sources make a directory' test -f nowhere/single -a -f nowhere/a/file
copy a b single named
point 'several sources onto a file are refused' no ended 0
point 'and the file is still there' cmp b/other named
for inside in a a/ a/new a/new/; do
    copy a $inside
    point "a tree into itself is refused: '$inside'" no ended 0
done
point 'and nothing was made there' test "$(ls -A a)" = file
ln -s a to-a
copy to-a/ by-link/
point 'a symlink with a slash is followed' test -f by-link/file
copy to-a as-link
point 'a symlink without one is copied' test -L as-link
ln -s "$PWD/out" to-out
copy single to-out/
point 'a destination may be a symlink to a directory' test -f out/single

# Names that look like the temporaries of a run are names like any other.
cd "$(fresh)"
mkdir src src/.weir-dir.0123456789abcdef.01234567 src/sub
echo one >src/.weir-tmp.0123456789abcdef.0123456789abcdef
echo two >src/.weir-part.0123456789abcdef
echo three >src/.weir-dir.0123456789abcdef.01234567/inside
cp -a src/.weir* src/sub/
copy -HAXS src/ dst/
faithful 'names like those of temporaries' src dst
copy -HAXS src/ dst/
faithful 'names like those of temporaries, again' src dst

# As an ordinary user, in trees of its own and in those of others.
if is_root; then
    cd "$(fresh)"
    chmod 777 .
    # The parts that need root are not made for others, so the copy is compared in everything.
    as_user "$work/bin/treegen" --seed "$seed" --readable src 2>/dev/null
    user_copy -HAXS src/ dst/
    faithful 'as an ordinary user' src dst
    user_copy -HAXS -i src/ dst/
    point 'as an ordinary user: again, nothing to do' test ! -s "$work/out"
    point 'as an ordinary user: again, all is the same' same src dst
    "$TREEGEN" --seed "$seed" --readable --no-owners --without deep,xattrs,acls,random roots \
        2>/dev/null
    # What only root can read or make is not for this test.
    find roots \( -type b -o -type c \) -delete
    chmod -R a+rX roots
    user_copy -HS roots/ mine/
    point "a tree of root's: ends well" ended 0
    point "a tree of root's: all but the owners is the same" same roots mine \
        --no owner,mode,dir-mtime,root-xattr
    point "a tree of root's: it belongs to the user" test -z "$(find mine ! -uid $user_id)"
else
    skip 'as another ordinary user' 'needs root'
fi

# Other file systems, and from one to another.
if mount_tmpfs size=600m; then
    everything tmpfs "$mounted" --sparse 1G
    cd "$(fresh)"
    generate src --without xattrs,random
    copy -HAXS src/ "$mounted/dst/"
    faithful "from $(file_system_of .) to tmpfs" src "$mounted/dst"
    copy -HAXS "$mounted/dst/" back/
    faithful "and from tmpfs to $(file_system_of .)" src back
    cd "$work" && unmount_last
else
    skip 'tmpfs' 'mounting is not possible here'
fi
for type in xfs btrfs; do
    if ! command -v mkfs.$type >/dev/null; then
        skip "$type" "mkfs.$type is not there"
    elif ! mount_image $type 1G; then
        skip "$type" "it cannot be mounted here"
    else
        everything $type "$mounted"
        cd "$mounted"
        generate src --only sizes,sparse,links --large 70M
        sync -f .
        copy -HS --reflink=always src/ shared/
        point "$type, --reflink=always: ends well" ended 0
        point "$type, --reflink=always: all is the same" same src shared
        if command -v filefrag >/dev/null; then
            point "$type, --reflink=always: blocks are shared" \
                bash -c 'filefrag -v shared/sizes/large | grep -q shared'
        fi
        copy -HS --reflink=never src/ apart/
        point "$type, --reflink=never: ends well" ended 0
        point "$type, --reflink=never: all is the same" same src apart
        cd "$work"
        generate "$work/outside" --without types,xattrs,random
        copy -HAXS outside/ "$mounted/inside/"
        # xfs has no symlinks of more than 1023 bytes: each is named, the rest is there.
        if [[ $type == xfs && $(file_system_of .) != xfs ]]; then
            point "from another to $type: ends with errors" ended 3
            point "from another to $type: they are about the long symlinks" \
                test "$(grep -c "symlinks/length-[14]0" "$work/err")" -eq 3
            point "from another to $type: all else is the same" \
                same outside "$mounted/inside" --no missing,dir-mtime
        else
            faithful "from another to $type" outside "$mounted/inside"
        fi
        remove outside && unmount_last
    fi
done
cd "$(fresh)"
if [[ $(file_system_of .) == ext2/ext3 ]]; then
    echo x >file
    copy --reflink=always file shared
    point 'ext4, --reflink=always is an error' ended 3
    point 'ext4, --reflink=always leaves nothing' test "$(ls -A)" = file
else
    skip '--reflink=always where it cannot be' "'$(file_system_of .)' may be able to"
fi

# Access times, where reading does not change those of the source.
if mount_tmpfs size=100m,noatime; then
    cd "$mounted"
    generate src --only times,sizes,symlinks,modes
    copy -U src/ dst/
    point 'with -U: ends well' ended 0
    point 'with -U: access times are the same' same src dst --also atime
    cd "$work" && unmount_last
else
    skip 'with -U' 'mounting is not possible here'
fi

finish
