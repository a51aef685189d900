#!/bin/bash
# weir scan with archives that are damaged, decoders that are short of something, and files that have no
# end: all that can be read is scanned, and what cannot be is told in words that say what to do.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 tar gzip zip

flip() { # file, offset (from the end if negative): one bit of it
    python3 - "$1" "$2" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    data = bytearray(f.read())
    data[int(sys.argv[2])] ^= 1
    f.seek(0)
    f.write(data)
PY
}

# --- one bit is wrong ---

spec='Name: w\nVersion: 1\nRelease: 1\nSummary: s\nLicense: none\nBuildArch: noarch\n%description\nd
%install\nmkdir -p %{buildroot}/etc\ncp '$dir'/tree/f.txt %{buildroot}/etc/\n%files\n/etc/f.txt\n'
make_rpm() {
    # shellcheck disable=SC2059 # it is one
    printf "${spec//%/%%}" >w.spec
    HOME=$PWD rpmbuild --quiet -bb --define "_topdir $PWD/r" --define '_binary_payload w6.gzdio' \
        w.spec >/dev/null 2>&1
    mv r/RPMS/noarch/w-*.rpm "$1"
    rm -r r w.spec
}

# name | tools | how it is made, of f.txt | the bit is in this byte | what is still found
table() {
    cat <<'END'
sum.gz|gzip|gzip -c f.txt >sum.gz|-8|sum.gz!sum
length.gz|gzip|gzip -c f.txt >length.gz|-1|length.gz!length
data.gz|gzip|gzip -c f.txt >data.gz|MIDDLE|ANY
first.gz|gzip|gzip -c f.txt >a; s=$(stat -c %s a); cat a a >first.gz; rm a|$s-8|first.gz!first
a.tgz|tar gzip|tar -czf a.tgz f.txt|-7|a.tgz!f.txt
cpio.gz|cpio gzip|echo f.txt \| cpio -o -H newc --quiet \| gzip >cpio.gz|-7|cpio.gz!f.txt
in.tar|tar gzip|gzip -c f.txt >f.gz; tar -cf in.tar f.gz; s=$(stat -c %s f.gz); rm f.gz|512+$s-8|in.tar!f.gz!f
sum.cpio|cpio|echo f.txt \| cpio -o -H crc --quiet >sum.cpio|MIDDLE|sum.cpio!f.txt
w.rpm|rpmbuild|make_rpm w.rpm|-5|w.rpm!./etc/f.txt
a.bz2|bzip2|bzip2 -c f.txt >a.bz2|MIDDLE|ANY
a.xz|xz|xz -c f.txt >a.xz|MIDDLE|ANY
a.zst|zstd|zstd -qc f.txt >a.zst|-1|ANY
a.lz4|lz4|lz4 -qc f.txt >a.lz4|-1|a.lz4!a
stored.zip|zip|zip -q0 stored.zip f.txt|MIDDLE|stored.zip!f.txt
a.zip|zip|zip -q a.zip f.txt|MIDDLE|ANY
stored.7z|7z|7z a -bd -mx=0 stored.7z f.txt >/dev/null|MIDDLE|stored.7z!f.txt
a.7z|7z|7z a -bd a.7z f.txt >/dev/null|MIDDLE|ANY
END
}
tree
printf 'key = %s\n' "$pat" >f.txt
python3 -c 'import random; random.seed(7); print("".join(chr(random.randrange(33, 127)) for _ in range(40000)))' >>f.txt
while IFS= read -r row; do
    row=${row//'\|'/$'\1'}
    IFS='|' read -r name tools how where wanted <<<"$row"
    has=true
    for tool in $tools; do command -v "$tool" >/dev/null || has=false; done
    if ! $has; then
        skip "one wrong bit: $name" "not all of these are here: $tools"
        continue
    fi
    eval "${how//$'\1'/|}"
    cp "$name" good
    run "$WEIR" scan --json good
    is "none in $name" "$status $(gaps)" '1 '
    [[ $where == MIDDLE ]] && where=$(($(stat -c %s "$name") / 2))
    eval "flip $name \$(($where))"
    run "$WEIR" scan --json "$name"
    if [[ $wanted == ANY ]]; then
        has_gap "one wrong bit: $name" "$name*: cannot unpack all of: broken: it*"
    else
        is "one wrong bit: $name" "$status $(places | sort -u) $(summary complete)" "1 $wanted false"
        has_gap "and what it is: $name" '*: cannot unpack all of: broken: *wrong*'
    fi
done < <(table)

if command -v cpio >/dev/null; then
    for i in 1 2 3; do
        cp f.txt $i
        : >"empty$i.file"
    done
    ls 1 ./*.file 2 3 | cpio -o -H crc --quiet >sums
    gzip -c sums >sums.gz
    run "$WEIR" scan --json sums.gz
    is 'the sums of a cpio' "$(places | wc -l) $(gaps)" '3 '
    flip sums 100000
    gzip -c sums >sums.gz
    run "$WEIR" scan --json sums.gz
    is 'one of them is wrong' "$(places | wc -l) $(gaps | grep -c checksum)" '3 1'
fi
gzip -c f.txt >two.gz
gzip -c f.txt >>two.gz
head -c 100 /dev/zero >>two.gz
run "$WEIR" scan --json two.gz
is 'members behind each other are one stream' "$(places | uniq -c | tr -s ' ') $(summary complete)" ' 2 two.gz!two true'
python3 - <<'PY'
import struct, zlib
data = open("f.txt", "rb").read()
deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
body = deflate.compress(data) + deflate.flush()
head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\3" + struct.pack("<H", 60000) + b"x" * 60000
head += b"name\0" + b"c" * 200000 + b"\0"
head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
tail = struct.pack("<II", zlib.crc32(data), len(data))
open("full.gz", "wb").write(head + body + tail)
open("cut.gz", "wb").write(head + body + tail[:5])
open("cut2.gz", "wb").write(head[:70000])
PY
run "$WEIR" scan --json full.gz
is 'every part of the head' "$status $(places) $(gaps)" '1 full.gz!full '
run "$WEIR" scan --json cut.gz
is 'cut off in the checksum' "$(places) $(gaps)" \
    'cut.gz!cut cut.gz!cut: cannot unpack all of: broken: it is cut off before its checksum'
run "$WEIR" scan --json cut2.gz
has_gap 'cut off in the head' 'cut2.gz*: broken: it is cut off'

# --- what is before the damage of an xz, and behind its end ---

tree
if command -v xz >/dev/null; then
    { seq 300; printf 'key = %s\n' "$pat"; seq 300; } | xz >"$dir/good.xz"
    { cat "$dir/good.xz"; echo "junk = $other"; } >junk.xz
    run "$WEIR" scan --json
    is 'an xz with something behind it' "$status $(places | tr '\n' ' ')$(gaps)" '1 junk.xz junk.xz!junk '
    rm junk.xz
    for count in 1 2 3 5; do
        { cat "$dir/good.xz"; head -c $count /dev/zero; } >padded.xz
        run "$WEIR" scan --json
        is "or $count NULs" "$status $(places) $(gaps)" '1 padded.xz!padded '
        cat "$dir/good.xz" >>padded.xz
        run "$WEIR" scan --json
        is "and another one behind $count" "$status $(places | uniq -c | tr -s ' ') $(gaps)" '1  2 padded.xz!padded '
    done
    rm padded.xz
    tar -cf in.tar -C "$dir" good.xz
    run "$WEIR" scan --json
    is 'in another archive' "$status $(places) $(gaps)" '1 in.tar!good.xz!good '
    rm in.tar
    for count in 1 12 30 40; do
        head -c -$count "$dir/good.xz" >cut.xz
        run "$WEIR" scan --json
        is "cut by $count bytes" "$status $(places) $(gaps)" \
            '1 cut.xz!cut cut.xz!cut: cannot unpack all of: broken: it is cut off'
    done
    head -c 5 "$dir/good.xz" | cat "$dir/good.xz" - >cut.xz
    run "$WEIR" scan --json
    is 'the half of a second one' "$status $(places) $(gaps)" \
        '1 cut.xz!cut cut.xz!cut: cannot unpack all of: broken: it is cut off'
else
    skip 'what is before the damage of an xz' 'there is no xz'
fi

# --- holes ---

tree
truncate -s 3G f
printf 'key = %s\n' "$pat" >>f
truncate -s 5G f
printf 'key = %s\n' "$other" >>f
printf 'key = %s\n' "$pat" >g
tar -S --format=gnu -cf gnu.tar f g
tar -S --format=posix -cf posix.tar f g
gzip -c gnu.tar >gnu.tgz
rm f g
for name in gnu.tar posix.tar gnu.tgz; do
    run timeout 60 "$WEIR" scan --json "$name"
    is "holes do not count: $name" "$status $(places | tr '\n' ' ')$(gaps)" "1 $name!f $name!f $name!g "
    is 'and what is behind keeps its place' \
        "$(jq -r '.findings[].places[] | select(.path | endswith("f")) | .offset' "$dir/out" | sort -n | tr '\n' ' ')" \
        "$((3 * 1024 * MiB + 6)) $((5 * 1024 * MiB + 6)) "
done

# --- names of what has no bytes ---

tree
mkdir -p "e/$pat"
for tools in '7z:7z a -bd a.7z e' 'bsdtar:bsdtar -cf a.xar --format=xar e' 'zip:zip -qr a.zip e' 'tar:tar -cf a.tar e'; do
    if ! command -v "${tools%%:*}" >/dev/null; then
        skip "the name of an empty directory: $tools" 'it is not here'
        continue
    fi
    ${tools#*:} >/dev/null
    run "$WEIR" scan --json a.*
    is "the name of an empty directory: ${tools%%:*}" "$status $(summary secrets)" '1 1'
    rm a.*
done

# --- headers of a zip that are damaged ---

# Of six members the header of the third, or its entry in the directory, is damaged in one byte.
tree
python3 - "$pat" <<'PY'
import sys, zipfile
with zipfile.ZipFile("good.zip", "w", zipfile.ZIP_DEFLATED) as made:
    for i in range(6):
        made.writestr("m%d" % i, "key%d = %s\n" % (i, sys.argv[1]) * 3)
    open("at", "w").write("%d %d\n" % (made.infolist()[2].header_offset, made.fp.tell() + 2 * 48))
PY
read -r header entry <at
rm at
while read -r name place gap; do
    cp good.zip a.zip
    flip a.zip "$((place))"
    run "$WEIR" scan --json a.zip
    is "those behind it are scanned: $name" "$(places | grep -v m2 | sort -u | tr '\n' ' ')" \
        'a.zip!m0 a.zip!m1 a.zip!m3 a.zip!m4 a.zip!m5 '
    has_gap "and it is told: $name" "*a.zip$gap*broken: *"
done <<EOF
mark header !m2:
mark,-its-end header+3 !m2:
name-length header+27 !m2
extra-length header+29 !m2:
listed-mark entry :
listed-name-length entry+29 :
listed-place entry+45 !m2:
EOF
for lost in 1 4 31; do
    tail -c +$((lost + 1)) good.zip >a.zip
    run "$WEIR" scan --json a.zip
    is "a zip without its first bytes: $lost" "$(places | sort -u | tr '\n' ' ')" \
        'a.zip!m1 a.zip!m2 a.zip!m3 a.zip!m4 a.zip!m5 '
    has_gap 'of which one is told' '*a.zip!m0: cannot unpack*: broken: its header is damaged*'
done
rm good.zip

# --- headers of a tar that are damaged ---

tree
mkdir d
for i in 1 2 3 4; do
    printf 'key%s = %s\n' "$i" "$pat" >"d/$i"
    noise 3000 "$i" | base64 >>"d/$i"
done
printf 'lost = %s\n' "$other" >>d/2
tar --format=ustar -cf good.tar -C d 1 2 3 4
rm -r d
at=$(python3 -c 'd = open("good.tar", "rb").read()
print([i for i in range(0, len(d), 512) if d[i+257:i+262] == b"ustar"][1])')
for where in name:0 mode:101 size:130 sum:150 magic:257; do
    cp good.tar a.tar
    flip a.tar $((at + ${where#*:}))
    gzip -c a.tar >a.tgz
    for name in a.tar a.tgz; do
        run "$WEIR" scan --json $name
        is "the rest is scanned: $name, ${where%:*}" "$(places | grep '!' | tr '\n' ' ')" "$name!1 $name!3 $name!4 "
        has_gap 'and it is told' "$name: cannot unpack all of: broken: a header is damaged, or something else is behind its end: * bytes are no members"
    done
done
# Blocks that are nothing at all, more of them than anybody counts.
{ head -c "$at" good.tar; noise $((2 * MiB)); tail -c +$((at + 1)) good.tar; } >a.tar
run "$WEIR" scan --json a.tar
is 'behind 2 MiB of nothing' "$(places | grep '!' | sort -u | tr '\n' ' ')" 'a.tar!1 a.tar!2 a.tar!3 a.tar!4 '
if grep -q 'INTERNAL\|archive_read' "$dir/out"; then fail 'no names of functions' "$(gaps)"; else pass 'no names of functions'; fi

# --- memory ---

if [[ ${SANITIZED:-none} != none ]]; then
    skip 'memory' 'a sanitizer takes more'
elif ! command -v xz >/dev/null; then
    skip 'memory' 'there is no xz'
else
    tree
    { noise $MiB; printf 'key = %s\n' "$pat"; } |
        xz --lzma2=preset=0,dict=64MiB -c >wide.xz
    run timeout 100 "$WEIR" scan --json --threads=2 --max-memory=256M
    is 'a decoder that needs more than its share gets it' "$status $(places) $(gaps)" '1 wide.xz!wide '
    cp wide.xz 1.xz
    cp wide.xz 2.xz
    gzip -c <<<"$pat" >3.gz
    tar -cf 4.tar wide.xz 3.gz
    run timeout 200 "$WEIR" scan --json --threads=4 --max-memory=330M
    is 'and so do several, in turn' "$(places | wc -l) $(gaps)" '6 '
    rm ./*
    { noise $((2 * MiB)); printf 'key = %s\n' "$pat"; } |
        xz --lzma2=preset=0,dict=400MiB -c >wide.xz
    run "$WEIR" scan --json --threads=2 --max-memory=256M
    has_gap 'what can never fit is told, with a cure' \
        'wide.xz: *its decoder needs * MiB of memory and may have *: set --max-memory=*M for 2 threads, or less with --threads=1'
    needed=$(gaps | sed 's/.*--max-memory=\([0-9]*M\).*/\1/')
    run "$WEIR" scan --json --threads=2 "--max-memory=$needed"
    is "and that does: $needed" "$status $(places) $(gaps)" '1 wide.xz!wide '
    # By the properties of LZMA in a zip, which libarchive has the same words for as for damage.
    python3 - "$pat" <<'PY'
import struct, sys, zipfile
for name, first, window in (("wide.zip", 0x5D, 64), ("wider.zip", 0x5D, 400), ("bad.zip", 230, 400)):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_LZMA) as z:
        z.writestr("f", "key = " + sys.argv[1] + "\n")
    with open(name, "r+b") as f:
        f.seek(30 + 1 + 4)  # a head, a name, a version and a length
        f.write(struct.pack("<BI", first, window << 20))
PY
    run timeout 100 "$WEIR" scan --json --threads=2 --max-memory=256M wide.zip
    is 'LZMA in a zip' "$status $(places) $(gaps)" '1 wide.zip!f '
    run "$WEIR" scan --json --threads=2 --max-memory=256M wider.zip
    has_gap 'that can never fit' \
        'wider.zip!f: *its decoder needs 408 MiB of memory and may have *: set --max-memory=*M for 2 threads, or less with --threads=1'
    run "$WEIR" scan --json --threads=2 "--max-memory=$(gaps | sed 's/.*--max-memory=\([0-9]*M\).*/\1/')" wider.zip
    is 'and then does' "$status $(places) $(gaps)" '1 wider.zip!f '
    run "$WEIR" scan --json --max-memory=256M bad.zip
    has_gap 'damage is not memory' 'bad.zip!f: cannot unpack all of: broken: *'
    rm ./*.zip
    tar -cf a.tar wide.xz
    echo "$pat" >f
    tar -rf a.tar f
    rm wide.xz f
    run "$WEIR" scan --json --max-memory=256M
    is 'what is behind it is scanned' "$status $(places | grep -c '!f$') $(gaps | wc -l)" '1 1 1'
fi

# --- no room for a stream ---

tree
mkdir d
noise $((4 * MiB)) >d/1
printf 'key = %s\n' "$pat" >d/2
tar -cf "$dir/stream.tar" -C d 1 2
rm -r d
status=0
(
    trap '' XFSZ # the limit is an error of that write, as a full disk is
    ulimit -f 2048
    "$WEIR" scan --json - <"$dir/stream.tar"
) >"$dir/out" 2>"$dir/err" || status=$?
is 'a stream for which there is no room is scanned as it is' "$status $(places)" '1 -'
is 'all of it' "$(summary bytes)" "$(stat -c %s "$dir/stream.tar")"
has_gap 'and told' '-: cannot look into: archive not opened (tar): its temporary file has no room: *TMPDIR'

# --- decoders that do not start ---

tree
gzip -c <<<"$pat" >a.gz
mkdir "$dir/fake"
fake() { # name, pattern, what it does
    printf '#!/bin/sh\n%s\n' "$3" >"$dir/fake/weir-unpack"
    chmod 755 "$dir/fake/weir-unpack"
    run env WEIR_LIBEXEC="$dir/fake" "$WEIR" scan --json
    has_gap "$1" "a.gz: cannot look into: archive not opened (gzip): $2"
    is 'nothing is a fault of ours' "$status $(grep -c 'fault of ours' "$dir/out")" '3 0'
}
# shellcheck disable=SC2016 # for another shell
fake 'killed' "'weir-unpack' was killed as it started (signal 9): *memory*" 'kill -KILL $$'
# shellcheck disable=SC2016 # for another shell
fake 'another signal' "'weir-unpack' died as it started (signal 6)" 'kill -ABRT $$'
fake 'a library is missing' "'weir-unpack' could not be loaded (exit 127): *library*" 'exit 127'
fake 'it ends' "'weir-unpack' ended as it started (exit 3)" 'exit 3'
fake 'of another version' "'weir-unpack' is not of the version of 'weir': *" 'echo hello >&3'
# One that is killed is started again.
libexec=$(dirname "$(readlink -f "$WEIR")")
{
    printf '#!/bin/sh\nfor i in 1 2 3 4; do\n    [ -e "%s/started$i" ] && continue\n' "$dir"
    printf '    : >"%s/started$i"\n    kill -KILL $$\ndone\nexec "%s/weir-unpack" "$@"\n' "$dir" "$libexec"
} >"$dir/fake/weir-unpack"
if [[ -x $libexec/weir-unpack ]]; then
    run env WEIR_LIBEXEC="$dir/fake" "$WEIR" scan --json
    is 'killed four times as it starts' "$status $(places) $(gaps)" '1 a.gz!a '
    # Where memory has fewer decoders than threads, they are passed on.
    printf '#!/bin/sh\necho >>"%s/decoders"\nexec "%s/weir-unpack" "$@"\n' "$dir" "$libexec" >"$dir/fake/weir-unpack"
    for i in {1..100}; do cp a.gz "$i.gz"; done
    run env WEIR_LIBEXEC="$dir/fake" "$WEIR" scan --json --max-memory=256M --threads=2
    is 'one decoder for all' "$status $(places | wc -l) $(gaps)$(wc -l <"$dir/decoders")" '1 101 1'
    rm {1..100}.gz
else
    skip 'killed four times as it starts' 'weir-unpack is elsewhere'
    skip 'one decoder for all' 'weir-unpack is elsewhere'
fi
printf '\0' >"$dir/fake/weir-unpack"
run env WEIR_LIBEXEC="$dir/fake" "$WEIR" scan --json
has_gap 'not a program' "a.gz: *'weir-unpack' cannot be started: it is damaged, or for another machine"

# --- files that the kernel makes up ---

if [[ -r /proc/self/pagemap ]]; then
    run timeout 60 "$WEIR" scan --json /proc/self/pagemap
    is 'a file without end' "$status $(summary bytes) $(gaps)" \
        "3 $((16 * MiB)) /proc/self/pagemap: cannot read all of: the kernel makes it up, and it may have no end: 16 MiB were read"
else
    skip 'a file without end' 'there is none'
fi
status=0
timeout 100 "$WEIR" scan --json /proc/self >"$dir/out" 2>"$dir/err" || status=$?
is '/proc/self ends' "$((status == 3 || status == 1))" 1
status=0
SECRET_TOKEN=$pat timeout 100 "$WEIR" scan --json /proc/self/environ >"$dir/out" 2>"$dir/err" || status=$?
is 'what is named is scanned' "$status $(places) $(gaps)" '1 /proc/self/environ '
tree
mkdir p
echo "$pat" >f
# Each kind by itself, so that none can stop being refused unnoticed: mounted anew, or where it is mounted already.
# shellcheck disable=SC2016 # for another shell
mounted='mount -t "$1" none p 2>/dev/null || mount --bind "$(awk -v t="$1" "\$3 == t { print \$2; exit }" /proc/mounts)" p'
for kind in proc sysfs cgroup cgroup2 debugfs tracefs securityfs bpf binfmt_misc configfs fusectl; do
    if ! unshare -m sh -c "$mounted" sh "$kind" 2>/dev/null; then
        skip "a walk does not go into $kind" 'it cannot be mounted here'
        continue
    fi
    run timeout 100 unshare -m sh -c "{ $mounted; } && exec \"\$0\" scan --json" "$WEIR" "$kind"
    is "a walk does not go into $kind" "$status $(places) $(summary special) $(summary files)" '1 f 1 1'
done

# --- a directory that lies across the windows in which a file is mapped ---

tree
python3 - <<'END'
import random
import zipfile
for shift in range(0, 2000, 125):
    with zipfile.ZipFile(f"{shift}.zip", "w") as archive:
        archive.writestr("blob", random.Random(shift).randbytes(8 * 2**20 - 2994 + shift))
        for i in range(20):
            archive.writestr("d/%s_%05d" % ("n" * 51, i), b"hi")
END
run "$WEIR" scan --json .
is 'zips whose directory lies anywhere are whole' "$status $(summary complete) $(summary members)" '0 true 336'

finish
