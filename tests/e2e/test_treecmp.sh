#!/bin/bash
# The oracle itself: a copy that rsync and cp made is the same as its source, and each property that
# is changed in it, one at a time, is reported by its name and as one line.
#
# TREEGEN and TREECMP are the programs. Prints TAP.
set -euo pipefail
: "${WEIR:=/bin/true}"
# shellcheck source=tests/e2e/copy_lib.sh
source "$(dirname "$0")/copy_lib.sh"
need_tools rsync setfattr setfacl

base=$(fresh)
cd "$base"

# The generator: the same for a seed, another for another, and of every kind.
readable=()
is_root || readable=(--readable)
"$TREEGEN" --seed "$seed" "${readable[@]}" one 2>"$work/notes"
"$TREEGEN" --seed "$seed" "${readable[@]}" again 2>/dev/null
"$TREEGEN" --seed $((seed + 1)) "${readable[@]}" other 2>/dev/null
sed 's/^/# /' "$work/notes"
point 'a seed always makes the same tree' same one again --also atime,exact-holes --no target
point 'with the same symlinks' same one again
point 'another seed makes another' no same one other
kinds=(f d l p s)
is_root && kinds+=(c b)
for kind in "${kinds[@]}"; do
    point "there are entries of type $kind" test -n "$(find one -type "$kind" -print -quit)"
done
point 'there are paths beyond PATH_MAX' \
    test "$(find one/deep -type p -printf '%p\n' | wc -c)" -gt 4096
point 'there are names with line breaks' test -n "$(find one -name $'*\n*' -print -quit)"
point 'there are hard links' test -n "$(find one -type f -links +20 -print -quit)"
point 'there are files with more size than space' \
    test -n "$(find one -type f -size +60M -printf '%b\n' | awk '$1 < 2000')"
point 'there are times before 1970' test -n "$(find one ! -newermt 1969-12-31 -print -quit)"
point 'the count of entries is told' test "$("$TREECMP" --count one again)" -gt 1500

# Copies by those who know. Deep paths they cannot copy; cp writes out reserved space.
"$TREEGEN" --seed "$seed" --without deep "${readable[@]}" shallow 2>/dev/null
if is_root; then
    # By itself rsync leaves times alone that differ by less than a second.
    rsync -aHAXS --modify-window=-1 shallow/ by-rsync/
    point 'a copy by rsync is the same' same shallow by-rsync
else
    skip 'a copy by rsync is the same' 'as an ordinary user it cannot fill read-only directories'
fi
cp -a shallow by-cp
point 'a copy by cp -a is the same but for holes' same shallow by-cp --no holes

# A small tree with one of each, which is then changed in one thing at a time.
mkdir tree
cd tree
mkdir dir dir/below empty
echo content >file
echo more >dir/below/file
echo linked >first && ln first second && ln first dir/third
echo single >single && echo other >other && cp -p single twin
head -c 65536 /dev/zero >zeros
ln -s file symlink
mkfifo fifo
truncate -s 1M holes && printf x | dd of=holes bs=1 seek=500000 conv=notrunc status=none
setfattr -n user.one -v 1 file 2>/dev/null && has_xattrs=true || has_xattrs=false
setfacl -m u:1000:r single twin 2>/dev/null && has_acls=true || has_acls=false
$has_acls && setfacl -d -m u:1000:r dir
if is_root; then
    mknod char c 1 3
    setfattr -n trusted.one -v 1 file
    setfattr -h -n trusted.two -v 2 symlink
fi
touch -d '1969-01-01 00:00:00.000000001' file
touch -h -d '2100-01-01 12:34:56.123456789' symlink
cd ..

# By cp, since rsync -S makes holes of zeros.
copy_small() {
    rm -rf copy
    cp -a tree copy
}

# Changes a fresh copy and looks for one line that begins so; nothing else may be reported.
changed() { # name, what is reported, options of treecmp, a command
    local name=$1 wanted=$2 options
    read -ra options <<<"$3"
    shift 3
    copy_small
    (cd copy && "$@") >/dev/null
    status=0
    "$TREECMP" "${options[@]}" tree copy >"$work/said" || status=$?
    if [[ $status -eq 1 && $(wc -l <"$work/said") -eq 1 && $(<"$work/said") == "$wanted"* ]]; then
        pass "$name"
    else
        fail "$name" < <(echo "status $status, not one line '$wanted...' but:" && cat "$work/said")
    fi
}

# Runs a command and puts the time of an entry back to what the original has.
timeless() { # entry, command
    local entry=$1
    shift
    "$@"
    touch -h -r "$base/tree/$entry" "$entry"
}

copy_small
point 'the small tree, unchanged' same tree copy --also exact-holes
changed 'content' "content 'file': differs from byte 3 on" '' \
    timeless file bash -c 'printf conXent\\n >file'
changed 'size' "size 'file': 8 bytes, then 9" '' timeless file bash -c 'echo >>file'
changed 'content deep below' "content 'dir/below/file'" '' \
    timeless dir/below/file bash -c 'echo mole >dir/below/file'
changed 'content within a hole' "content 'holes'" '--no holes' \
    timeless holes bash -c 'printf y | dd of=holes bs=1 seek=100 conv=notrunc status=none'
changed 'mode' "mode 'file'" '' chmod 600 file
changed 'setuid' "mode 'file': 0644, then 4644" '' chmod u+s file
changed 'sticky of a directory' "mode 'empty'" '' chmod +t empty
changed 'mode of the root' "mode '.'" '' chmod 711 .
changed 'seconds of mtime' "mtime 'file'" '' touch -d '1969-01-01 00:00:01.000000001' file
changed 'a nanosecond of mtime' "mtime 'file'" '' touch -d '1969-01-01 00:00:00.000000002' file
changed 'mtime of a symlink' "link-mtime 'symlink'" '' \
    touch -h -d '2100-01-01 12:34:56.123456788' symlink
changed 'mtime of a directory' "dir-mtime 'empty'" '' touch -d 2001-01-01 empty
changed 'mtime of the root' "dir-mtime '.'" '' touch -d 2001-01-01 .
changed 'mtime of a fifo' "mtime 'fifo'" '' touch -d 2001-01-01 fifo
changed 'target of a symlink' "target 'symlink': of 4 bytes, then of 4" '--no root-xattr' \
    timeless . timeless symlink ln -sfn fill symlink
changed 'a symlink in place of a file' "type 'other': file, then symlink" '' \
    timeless . bash -c 'rm other && ln -s file other'
changed 'a directory in place of a fifo' "type 'fifo': fifo, then directory" '' \
    timeless . bash -c 'rm fifo && mkdir fifo'
changed 'an entry is missing' "missing 'other'" '' timeless . rm other
changed 'a directory is missing' "missing 'dir/below'" '' timeless dir rm -r dir/below
changed 'an entry is too much' "extra '.hidden'" '' timeless . touch .hidden
changed 'an odd name is one line' "extra 'a\\x0ab\\xff'" '' timeless . touch $'a\nb\xff'
changed 'a link is broken' "links 'second': is one with 'first' in the first tree alone" \
    '--no nlink' timeless . bash -c 'cp -p second copy && mv copy second'
changed 'two files become one' "links 'twin': is one with 'single' in the second tree alone" \
    '--no nlink' timeless . ln -f single twin
changed 'a name outside of the tree' "nlink 'single': 1 links, then 2" '' \
    ln single "$work/outside"
changed 'holes are filled' "holes 'holes': data at 0 to" '' \
    timeless . timeless holes bash -c 'cp --sparse=never holes x && cat x >holes && rm x'
changed 'a hole too many, when asked for' "exact-holes 'zeros': data at 0 to 65536 in the first" \
    '--also exact-holes' timeless zeros fallocate --dig-holes zeros
copy_small && fallocate --dig-holes copy/zeros &&
    touch -r tree/zeros copy/zeros
point 'a hole too many is no difference otherwise' same tree copy

"$TREEGEN" --only sizes --readable sizes-a
"$TREEGEN" --only sizes --readable sizes-b
touch -a -d 2001-01-01 sizes-b/sizes/0
"$TREECMP" --also atime sizes-a sizes-b >"$work/out" || true
point 'access time, when asked for' grep -qx "atime 'sizes/0': .*" "$work/out"
point 'and of this entry alone' test "$(wc -l <"$work/out")" -eq 1
point 'an access time is no difference otherwise' same sizes-a sizes-b

if $has_xattrs; then
    changed 'value of an attribute' "xattr 'file': user.one has another value" '' \
        setfattr -n user.one -v 2 file
    changed 'an attribute is missing' "xattr 'file': user.one is missing" '' \
        setfattr -x user.one file
    changed 'an attribute too much' "xattr 'empty': user.two is too much" '' \
        setfattr -n user.two -v 2 empty
    changed 'an empty attribute is one' "xattr 'empty': user.two is too much" '' \
        setfattr -n user.two empty
else
    skip 'user attributes' "'$(file_system_of .)' has none"
fi
if $has_acls; then
    changed 'another ACL' "acl 'single': system.posix_acl_access has another" '--no mode' \
        setfacl -m u:1001:r single
    changed 'no ACL' "acl 'single': system.posix_acl_access is missing" '--no mode' \
        setfacl -b single
    changed 'an ACL too much' "acl 'other': system.posix_acl_access is too much" '--no mode' \
        setfacl -m u:1000:r other
    changed 'another default ACL' "acl 'dir': system.posix_acl_default has another" '' \
        setfacl -d -m u:1000:rwx dir
else
    skip 'ACLs' "'$(file_system_of .)' has none"
fi
if is_root; then
    changed 'owner' "uid 'file': 0, then 1" '' chown 1 file
    changed 'group' "gid 'file': 0, then 1" '' chgrp 1 file
    changed 'owner of a symlink' "uid 'symlink'" '' chown -h 1 symlink
    changed 'owner of a directory' "uid 'dir/below'" '' chown 1 dir/below
    changed 'device number' "device 'char': 1:3, then 1:5" '' \
        timeless . timeless char bash -c 'rm char && mknod char c 1 5'
    changed 'a block device in place of a character device' "type 'char'" '' \
        timeless . timeless char bash -c 'rm char && mknod char b 1 3'
    changed 'a trusted attribute' "root-xattr 'file': trusted.one has another" '' \
        setfattr -n trusted.one -v 2 file
    changed 'a trusted attribute of a symlink' "root-xattr 'symlink': trusted.two is missing" '' \
        setfattr -h -x trusted.two symlink
    changed 'a capability' "root-xattr 'file': security.capability is too much" '' \
        setcap cap_net_raw+ep file
else
    skip 'owners, devices, trusted attributes' 'needs root'
fi

# Every aspect can be left out.
rm -rf copy && mkdir copy
point 'an aspect can be left out' same tree copy --no missing,mode,times,owner,acl
point 'an unknown aspect is refused' no same tree copy --no misssing
point 'a tree that is not there is refused' no same tree nowhere
copy_small && chmod 700 copy
point 'the root can be left out' same tree copy --skip-root

# Beyond PATH_MAX rsync and cp fail; a difference at the bottom must still be seen.
"$TREEGEN" --only deep --depth 400 --readable deep-a
"$TREEGEN" --only deep --depth 400 --readable deep-b
point 'deep trees that are the same' same deep-a deep-b
(cd deep-b/deep && for _ in {1..400}; do cd -P a-name-of-twenty-one; done &&
    echo changed >file && touch -d 2001-01-01 file)
same deep-a deep-b >"$work/out" || true
point 'a difference at the bottom is told' \
    grep -q "^size 'deep/.*one/file': 10 bytes, then 8$" "$work/out"
# As few descriptors as a shell needs.
point 'with few descriptors' bash -c 'ulimit -n 12 && ! "$@" >/dev/null' - "$TREECMP" deep-a deep-b

# What the ordinary user cannot read is told, not passed over.
mkdir secret-a secret-b && echo x >secret-a/file && cp -p secret-a/file secret-b/file
chmod 0 secret-a/file secret-b/file
touch -d 2001-01-01 secret-a secret-b
is_root && chown -R "$user_id:$user_id" secret-a secret-b
as_user "$work/bin/treecmp" secret-a secret-b >"$work/out" && status=0 || status=$?
: >"$work/err"
point 'what cannot be read is a difference' ended 1
point 'and is named' grep -q "^unreadable 'file': cannot open the first: Permission denied" "$work/out"

finish
