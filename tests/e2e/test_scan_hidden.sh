#!/bin/bash
# weir scan, archives behind other bytes: programs, scripts, pictures and text with one at their end, whole
# and cut off, as files, from a pipe and in other archives; streams of which something is told while they
# come; and what is not opened is told.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 tar gzip zip

made=$dir/made
mkdir "$made"
cd "$made"
# Packed, so that the token is in nobody's plain bytes.
{ seq 2000; printf 'token = %s\n' "$pat"; seq 2000; } >f.txt
seq 3000 >g.txt
zip -q f.zip f.txt g.txt
cp f.zip comment.zip
echo 'what it is' | zip -qz comment.zip >/dev/null
zip -q -fz large.zip f.txt # the large form of all numbers
size=$(stat -c %s f.zip)
head -c $((size - 60)) f.zip >cut.zip
tar -czf f.tgz f.txt
cp "$(readlink -f "$(command -v cat)")" elf
python3 - <<'PY'
import struct
# A program with one section of 512 bytes, behind 512 bytes of headers.
head = bytearray(512)
head[0:2], head[60:64] = b"MZ", struct.pack("<I", 128)
head[128:132] = b"PE\0\0"
head[134:136], head[148:150] = struct.pack("<H", 1), struct.pack("<H", 224)
head[376:416] = b".text\0\0\0" + struct.pack("<IIIIIIHHI", 512, 4096, 512, 512, 0, 0, 0, 0, 0)
open("pe", "wb").write(bytes(head) + b"\x90" * 512)
PY
{ printf 'MZ\220\0'; noise 200000; } >odd
head -c 20000 odd >short
{ printf '#!/bin/sh\nexit\n'; seq 50000; } >script
{ printf 'GIF89a\1\0\1\0'; noise 200000; } >picture
{ printf 'GIF89a\1\0\1\0'; noise 2000000; } >painting
seq 50000 >text
python3 - "$pat" <<'PY'
import struct, sys, zlib
data, name = sys.argv[1].encode() + b"\n", b"f.txt"
crc, size = zlib.crc32(data), len(data)
def new(body, rest=b""):
    body = bytes([len(body)]) + body
    return struct.pack("<I", zlib.crc32(body)) + body + rest
head = bytes([2, 2, size, 4, size, 0]) + struct.pack("<I", crc) + bytes([0, 1, len(name)]) + name
open("f.rar", "wb").write(b"Rar!\x1a\x07\1\0" + new(bytes([1, 0, 0])) + new(head, data) + new(bytes([5, 0, 0])))
PY

# --- by table ---

# shellcheck disable=SC2034 # by their names, in the table
found='!f.txt ' cut='*no end of a directory*' unseen='*archive not opened (zip): *'
# front, what is behind it; of a file, of a pipe, and in a tar: the place behind the path, and the gaps
while IFS='|' read -r front behind file pipe inside; do
    tree
    cat "$made/$front" "$made/$behind" >x
    run "$WEIR" scan --json x
    matches() { # name, path, what is wanted
        local all wanted=$2${!3:-$3}
        [[ $3 == unseen || $3 == none ]] && wanted=${!3:-}
        [[ $3 == part ]] && wanted="$2!f.txt $cut"
        all="$(places) $(gaps)"
        # shellcheck disable=SC2053 # it is a pattern
        if [[ $all == $wanted ]]; then pass "$1"; else fail "$1" "$(said)"; fi
    }
    matches "$behind behind $front" x "$file"
    # shellcheck disable=SC2002 # it is to be a pipe
    cat x | { "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || true; }
    matches 'from a pipe' - "$pipe"
    is 'which is one file' "$(summary files)" 1
    tar -cf x.tar x
    run "$WEIR" scan --json x.tar
    matches 'in a tar' 'x.tar!x' "$inside"
    tar -czf x.tgz x
    run "$WEIR" scan --json x.tgz
    matches 'in a compressed tar' 'x.tgz!x' "$inside"
done <<'TABLE'
elf|f.zip|found|found|found
elf|comment.zip|found|found|found
elf|large.zip|found|found|found
elf|cut.zip|part|part|part
elf|f.tgz|found|found|found
elf|f.rar|found|found|found
pe|f.zip|found|found|found
pe|cut.zip|part|part|part
pe|f.rar|found|found|found
picture|f.rar|found|found|found
odd|f.rar|found|found|found
odd|cut.zip|part|part|part
script|f.zip|found|found|found
script|large.zip|found|found|found
script|cut.zip|part|part|part
script|f.tgz|found|found|found
picture|comment.zip|found|found|found
picture|cut.zip|part|part|part
painting|f.zip|found|found|unseen
text|f.zip|found|unseen|unseen
text|comment.zip|found|unseen|unseen
TABLE

# --- streams whose archive is not opened ---

tree
for front in elf script picture; do
    for how in --spill-slots=0 --archive-depth=0 --max-memory=120M; do
        status=0
        cat "$made/$front" "$made/f.zip" | "$WEIR" scan --json $how - >"$dir/out" 2>"$dir/err" || status=$?
        # shellcheck disable=SC2053 # it is a pattern
        if [[ "$status $(gaps)" == "3 -: cannot look into: archive not opened (zip): "* ]]; then
            pass "told: a zip behind $front, $how"
        else
            fail "told: a zip behind $front, $how" "$(said)"
        fi
        status=0
        "$WEIR" scan --json $how - <"$made/$front" >"$dir/out" 2>"$dir/err" || status=$?
        is 'and nothing of the same without one' "$status $(gaps)" '0 '
    done
done
status=0
cat "$BASH" "$made/cut.zip" | "$WEIR" scan --json --spill-slots=0 - >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'something behind a program is told even if nobody knows what' '-: *archive not opened (if one is behind*'
status=0
cat "$made/script" "$made/f.tgz" | "$WEIR" scan --json --archive-depth=0 - >"$dir/out" 2>"$dir/err" || status=$?
is 'a gzip behind a script' "$status $(gaps)" \
    '3 -: cannot look into: archive not opened (gzip): the depth of archives is 0'
status=0
{ cat "$made/picture"; head -c $((70 * MiB)) /dev/zero; cat "$made/f.zip"; } |
    "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'behind more than is kept' '-: *not opened (zip): it comes as a stream, behind more than is kept*'
status=0
cat "$made/elf" "$made/f.zip" | TMPDIR=$dir/nowhere "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'without a folder for temporary files' '-: *not opened (zip): no temporary file can be made*'
is 'none is left' "$(ls -A "$TMPDIR")" ''

# --- what is told while it comes ---

wait_for() { # a pattern in the output, for 20 seconds at most
    for _ in $(seq 400); do
        grep -q "$1" "$dir/out" && return
        sleep 0.05
    done
}
mkfifo pipe
printf 'a\0b' >"$made/zero"
printf 'MZ\220\0\\%%&' >"$made/escapes" # which end with their line
head -c 5000 "$made/picture" >"$made/icon"
for front in elf odd short script zero icon escapes; do
    (trap - INT; exec "$WEIR" scan --format=jsonl - <pipe >"$dir/out" 2>"$dir/err") &
    pid=$!
    exec 7>pipe
    { cat "$made/$front"; printf '\ntoken = %s\n' "$pat"; } >&7
    wait_for '"type":"found"'
    is "a token in a stream of $front is told before its end" "$(jq -r .type "$dir/out")" found
    kill -INT $pid
    status=0
    wait $pid || status=$?
    exec 7>&-
    is 'and kept when the scan is stopped' "$status $(jq -c 'select(.type == "finding") | .places_total' "$dir/out")" '130 1'
done

# What was told as it came is not told again for the archive that follows it.
printf 'token = %s\n' "$other" >h.txt
zip -q h.zip h.txt "$made/g.txt"
"$WEIR" scan --format=jsonl - <pipe >"$dir/out" 2>"$dir/err" &
pid=$!
exec 7>pipe
printf '#!/bin/sh\n# %s\n' "$pat" >&7
wait_for '"type":"found"'
cat h.zip >&7
exec 7>&-
wait $pid || true
is 'a slow script with a zip: each place once' \
    "$(jq -r 'select(.type == "finding") | "\(.places_total) \(.places[0].path):\(.places[0].line)"' "$dir/out" | sort)" \
    $'1 -!h.txt:1\n1 -:2'

# Nor is what was told before it was known to be an archive.
mkdir slow
printf 'token = %s\n' "$pat" >slow/f.txt
mv slow/f.txt "slow/$other"$'\n'f.txt
tar -cf slow.tar -C slow "$other"$'\n'f.txt
mv slow/* slow/f.txt
slow() { # a file, after how many bytes it pauses
    "$WEIR" scan --format=jsonl - <pipe >"$dir/out" 2>"$dir/err" &
    pid=$!
    exec 7>pipe
    head -c "$2" "$1" >&7
    wait_for '"type":"found"'
    is "what $1 begins with is told when it pauses" "$(jq -r .place.path "$dir/out")" -
    tail -c +$(($2 + 1)) "$1" >&7
    exec 7>&-
    wait $pid || true
    jq -r 'select(.type == "finding") | .places[] | "\(.path):\(.offset)"' "$dir/out" | sort >paused
    # shellcheck disable=SC2002 # it is to be a pipe
    cat "$1" | { "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || true; }
    is 'and the report is that of the same without a pause' "$(cat paused)" \
        "$(jq -r '.findings[].places[] | "\(.path):\(.offset)"' "$dir/out" | sort)"
    is 'which has both tokens' "$(summary secrets)" 2
}
slow slow.tar 300
if command -v bsdtar >/dev/null; then
    bsdtar --format=iso9660 -cf slow.iso -C slow f.txt
    printf 'token = %s\n' "$other" | dd of=slow.iso bs=1 seek=1000 conv=notrunc status=none
    slow slow.iso 20000
fi

# --- places ---

printf '\na\ntoken = %s\nb\n' "$pat" >token
line=$(($(tr -cd '\n' <"$made/elf" | wc -c) + 3))
for behind in h.zip "$made/f.tgz"; do
    cat "$made/elf" token "$behind" >x
    run "$WEIR" scan --json --rule=github-pat x
    is "the line in front of $(basename "$behind")" "$(spots | grep '^x:')" "x:$line:9:$(($(stat -c %s "$made/elf") + 11))"
    tar -cf x.tar x
    run "$WEIR" scan --json --rule=github-pat x.tar
    is 'the same in a tar' "$(spots | grep '^x.tar!x:')" "x.tar!x:$line:9:$(($(stat -c %s "$made/elf") + 11))"
done

# --- behind other archives ---

# Each cell: the token behind is found, or that something was not opened is told; never neither. Where a
# file is read, and not what passes by in another archive, those of the fronts below are found.
tree
seq 100 >one
printf 'token = %s\n' "$other" >two
cat "$made/g.txt" >>two
fronts=(zip tgz cpio)
zip -q one.zip one
tar -czf one.tgz one
echo one | cpio -o --quiet -H newc >one.cpio 2>/dev/null || fronts=(zip tgz)
behinds=(zip tgz)
zip -q two.zip two
tar -czf two.tgz two
for tool in xz zstd bzip2 lz4; do
    command -v $tool >/dev/null || continue
    $tool -qc two >two.$tool
    $tool -qc one >one.$tool
    behinds+=("$tool")
    fronts+=("$tool")
done
if command -v 7z >/dev/null; then
    7z a -bd two.7z two >/dev/null
    7z a -bd one.7z one >/dev/null
    behinds+=(7z)
    fronts+=(7z)
fi
if command -v bsdtar >/dev/null; then
    bsdtar --format=xar -cf one.xar one
    bsdtar --format=iso9660 -cf one.iso one
    fronts+=(xar iso)
fi
for front in "${fronts[@]}"; do
    for behind in "${behinds[@]}"; do
        cat "one.$front" "two.$behind" >x
        run "$WEIR" scan --json --rule=github-pat x
        is "found: $behind behind $front" "$(places | wc -l)$(gaps)" 1
        tar -czf x.tgz x
        run "$WEIR" scan --json --rule=github-pat x.tgz
        if [[ -n $(places)$(gaps) ]]; then
            pass "found or told in a tar: $behind behind $front"
        else
            fail "found or told in a tar: $behind behind $front" "$(said)"
        fi
    done
done
for behind in "${behinds[@]}"; do
    tar -cf one.tar one
    cat one.tar "two.$behind" >x
    run "$WEIR" scan --json --rule=github-pat x
    if [[ -n $(places)$(gaps) ]]; then
        pass "found or told: $behind behind a tar"
    else
        fail "found or told: $behind behind a tar" "$(said)"
    fi
    has_gap 'and what is too long is not called cut off' 'x: *or something else is behind its end: * bytes are no members'
done
# With something between them: other bytes, zeros, more than is looked at at once. Behind a zip, of which
# the end is looked for in the last 64 KiB only, a file is told as well.
gap() { python3 -c 'import random, sys; random.seed(7); sys.stdout.buffer.write(random.randbytes(int(sys.argv[1])))' "$1"; }
mkdir between
each_gap() { # what is between them
    local front behind one
    rm -f between/*
    for front in "${fronts[@]}"; do
        for behind in "${behinds[@]}"; do
            one=$front.$behind.x
            { cat "one.$front"; "$@"; cat "two.$behind"; } >"between/$one"
            tar -cf "between/$one.tar" -C between "$one"
            tar -czf "between/$one.tgz" -C between "$one"
            printf '%s\n' "$one" "$one.tar" "$one.tgz"
        done
        { cat "one.$front"; "$@"; } >"between/alone.$front"
    done | sort >all
    run "$WEIR" scan --json --rule=github-pat between
    { places; gaps; } | sed 's,^between/,,; s/[!:].*//' | sort -u >seen
    places | sed 's,^between/,,; s/!.*//' | sort -u >found
    is "found or told, in a tar, too: $*" "$(comm -13 seen all)" ''
    is 'and found in files' "$(grep '\.x$' all | grep -v '^zip' | comm -13 found -)" ''
    # Bytes that are no text may be a damaged part of what is compressed, and are told as that.
    local told='' packed='/alone\.\(tgz\|xz\|zstd\|lz4\|bzip2\): '
    [[ $1 != gap ]] || told=$(printf '%s\n' "${fronts[@]}" | grep -xc 'tgz\|xz\|zstd\|lz4\|bzip2')
    is 'behind what is compressed other bytes are told' "$(gaps | grep -c "^between$packed")" "${told:-0}"
    is 'nothing is told where there is no second one' \
        "$(gaps | grep '^between/alone' | grep -v "/alone.zip: \|$packed")" ''
}
each_gap gap 3000
each_gap head -c 70000 /dev/zero
each_gap gap 200000
# The mark of a zip between them, or the half of one: neither swallows what follows.
echo one >few
gap 20000 >much
zip -q half.zip few much
size=$(stat -c %s half.zip)
found_some() { # in what is cut off, too, where it shows
    if [[ -n $(places) ]]; then pass "$1"; else fail "$1" "$(said)"; fi
}
each_stray() { # name, then what is between them
    local name=$1 behind file
    shift
    for behind in "${behinds[@]}"; do
        { cat one.zip; "$@"; cat "two.$behind"; } >x
        tar -cf x.tar x
        rm -f x.zip
        zip -q x.zip x
        tar -czf x.tgz x
        for file in x x.tar x.zip x.tgz; do
            run "$WEIR" scan --json --rule=github-pat $file
            found_some "$name, $behind in $file"
        done
        "$WEIR" scan --json --rule=github-pat - <x >"$dir/out" 2>"$dir/err" || true
        found_some "$name, $behind from a stream"
    done
}
each_stray 'the mark of a zip' printf 'PK\003\004'
for part in 40 90; do
    each_stray "$part % of a zip" head -c $((size * part / 100)) half.zip
    { cat one.zip; head -c $((size * part / 100)) half.zip; } >x
    run "$WEIR" scan --json --rule=github-pat x
    has_gap "which is told: $part %" 'x*: cannot unpack all of: broken: *'
done
{ cat one.zip; printf 'PK\003\004'; cat two.tgz one.zip; } >x
run "$WEIR" scan --json --rule=github-pat x
is 'before another zip' "$(places | wc -l)" 1
# Entries that are whole are passed over: what is stored in one is found once.
zip -q0 stored.zip two.tgz few
python3 -c 'import sys; all = open("stored.zip", "rb").read(); sys.stdout.buffer.write(all[:all.rindex(b"PK\1\2", 0, all.rindex(b"PK\1\2"))])' >entries
cat one.zip entries >x
run "$WEIR" scan --json --rule=github-pat x
is 'an archive in an entry that no directory lists is found once' "$(places)" 'x!two.tgz!two'
tar -cf x.tar two
head -c 100 /dev/zero >>x.tar
run "$WEIR" scan --json --rule=github-pat x.tar
is 'some more zeros behind a tar are no damage' "$(places)$(gaps)" 'x.tar!two'
if [[ -e one.zstd ]]; then
    for zeros in 1 2 3 4 100; do
        { zstd -qc two; head -c $zeros /dev/zero; } >x
        run "$WEIR" scan --json --rule=github-pat x
        is "zeros behind zstd are no damage: $zeros" "$(places | wc -l)$(gaps)" 1
        for inner in 'tar -cf' 'tar -czf' 'zip -q'; do
            rm -f all
            $inner all x
            mv all.zip all 2>/dev/null || true
            run "$WEIR" scan --json --rule=github-pat all
            is "nor in another archive: $inner" "$(places | wc -l)$(gaps)" 1
        done
    done
    { zstd -qc one; head -c 100 /dev/zero; cat two.zip; } >x
    tar -czf all x
    run "$WEIR" scan --json --rule=github-pat all
    has_gap 'an archive behind the zeros is told' 'all!x: *an archive behind its end was not opened'
fi

# Frames that readers skip, before the first that is packed: few bytes, more than are looked at, and many of them.
skipped() { # bytes in each, how many
    python3 -c 'import sys
size, count = int(sys.argv[1]), int(sys.argv[2])
sys.stdout.buffer.write((b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)) * count)' "$1" "$2"
}
for tool in zstd lz4; do
    [[ -e one.$tool ]] || continue
    for frames in '4 1' '40000 1' '300000 1' '0 100000'; do
        # shellcheck disable=SC2086 # they are two
        { skipped $frames; $tool -9 -qc two; } >x
        run "$WEIR" scan --json --rule=github-pat x
        is "$tool behind frames that are skipped: $frames" "$(places)$(gaps)" 'x!data'
        run sh -c '"$0" scan --json --rule=github-pat - <x' "$WEIR"
        is "from a pipe: $frames" "$(places)$(gaps)" '-!data'
        for inner in 'tar -cf' 'tar -czf'; do
            $inner all x
            run "$WEIR" scan --json --rule=github-pat all
            is "in another archive: $inner, $frames" "$(places)$(gaps)" 'all!x!data'
        done
    done
done
# Behind them there may be any other archive, whatever lies between, or text.
tar -cf two.tar two
for frames in '4 1' '300000 1'; do
    while IFS='|' read -r packed member; do
        # shellcheck disable=SC2086 # they are two
        { skipped $frames; eval "$packed"; } >x
        run "$WEIR" scan --json --rule=github-pat x
        is "behind frames that are skipped: $frames, $packed" "$(places)$(gaps)" "x$member"
        tar -czf all x
        run "$WEIR" scan --json --rule=github-pat all
        is "in another archive: $frames, $packed" "$(places)$(gaps)" "all!x$member"
    done <<'END'
gzip -c two|!data
xz -c two|!data
bzip2 -c two|!data
cat two.tar|!two
cat two.zip|!two
echo between; gzip -c two|!data
cat two|
END
done
skipped 300000 1 >x
run "$WEIR" scan --json x
is 'nothing but such a frame' "$status$(gaps)" 0
skipped 300000 1 | head -c 290000 >x
run "$WEIR" scan --json x
has_gap 'which is cut off' 'x: cannot unpack all of: broken: it is cut off*'

# A zip that has lost its beginning, and so its only member.
zip -q one-only.zip two
for lost in 1 20 40 100; do
    tail -c +$((lost + 1)) one-only.zip >x
    run "$WEIR" scan --json x
    has_gap "a zip without its first bytes: $lost" 'x: cannot unpack all of: broken: *'
done

# One that is hidden does not hide another.
for front in elf script; do
    cat "$made/$front" "$made/f.tgz" two.zip >x
    run "$WEIR" scan --json --rule=github-pat x
    is "both behind $front" "$(places)" $'x!f.txt\nx!two'
    { cat "$made/$front"; head -c 2000 "$made/f.tgz"; cat two.zip; } >x
    run "$WEIR" scan --json --rule=github-pat x
    is "the second, and the first is told, behind $front" "$(places) $(gaps | head -n 1)" \
        'x!two x!f.txt: cannot unpack all of: broken: its packed data are damaged'
done

# Behind a program, whatever it is: an image of a disk begins with zeros, others have next to no magic.
weak=()
if command -v xz >/dev/null; then
    xz --format=lzma -qc two >two.lzma
    weak+=(lzma)
fi
if command -v bsdtar >/dev/null; then
    gzip -kc two >two.gz
    bsdtar --format=iso9660 -cf two.iso two.gz
    bsdtar --format=iso9660 --options='!joliet' -cf two.plain two.gz
    bsdtar -cZf two.Z two
    weak+=(iso plain Z)
fi
for behind in "${weak[@]}"; do
    cat "$made/elf" "two.$behind" >x
    run "$WEIR" scan --json --rule=github-pat x
    is "$behind behind a program" "$(places | wc -l)$(gaps)" 1
    tar -czf x.tgz x
    run "$WEIR" scan --json --rule=github-pat x.tgz
    is 'in a compressed tar' "$(places | wc -l)$(gaps)" 1
done

# Behind a picture, whatever its size is, all that has a magic.
for behind in "${behinds[@]}"; do
    for front in picture painting; do
        cat "$made/$front" "two.$behind" >x
        run "$WEIR" scan --json --rule=github-pat x
        is "$behind behind a $front" "$(places | wc -l)$(gaps)" 1
        tar -cf x.tar x
        run "$WEIR" scan --json --rule=github-pat x.tar
        if [[ -n $(places)$(gaps) ]]; then
            pass 'found or told in a tar'
        else
            fail "found or told in a tar: $behind behind a $front" "$(said)"
        fi
    done
done

# --- holes ---

rm -f x
truncate -s 2M x
cat two.zip >>x
run "$WEIR" scan --json --rule=github-pat x
is 'a zip behind a hole' "$(places)$(gaps)" 'x!two'
if [[ -e one.iso ]]; then
    bsdtar --format=iso9660 -cf two.iso two
    rm -f x
    printf '\353\143\220' >x
    dd if=two.iso of=x bs=32768 skip=1 seek=1 conv=notrunc status=none
    truncate -s 3M x
    run "$WEIR" scan --json --rule=github-pat x
    is 'a disk with a hole behind its boot code' "$(places)$(gaps)" 'x!two'
fi
if command -v genisoimage >/dev/null; then
    mkdir disk
    cp two disk/a
    head -c 700000 /dev/zero >disk/z
    # What stands in the padding behind the last member, or in its place.
    mkdir padded
    cp one two.tgz padded
    genisoimage -quiet -R -o padded.iso padded
    run "$WEIR" scan --json --rule=github-pat padded.iso
    is 'an archive on a disk is found once' "$(places | wc -l)$(gaps)" 1
    rm padded/two.tgz
    genisoimage -quiet -R -o padded.iso padded
    size=$(stat -c %s padded.iso)
    for behind in "${behinds[@]}"; do
        { head -c $((size / 2)) padded.iso; cat "two.$behind"; } >x
        run "$WEIR" scan --json --rule=github-pat x
        is "$behind instead of a half of the padding of a disk" "$(places | wc -l)$(gaps)" 1
        cp padded.iso x
        dd if="two.$behind" of=x bs=1 seek=$((size - 30000)) conv=notrunc status=none
        run "$WEIR" scan --json --rule=github-pat x
        is 'and in it' "$(places | wc -l)$(gaps)" 1
    done
    genisoimage -quiet -R -no-pad -o x disk
    fallocate -d x 2>/dev/null || true
    for packed in -Scf -Sczf; do
        tar $packed x.tar x
        run "$WEIR" scan --json --rule=github-pat x.tar
        is "a disk that ends with a hole is not cut off: $packed" "$(places)$(gaps)" 'x.tar!x!a'
    done
fi
{ cat "$made/script" two.tgz; } >x
truncate -s 3M x
echo end >>x
tar -Scf x.tar x
run "$WEIR" scan --json --rule=github-pat x.tar
has_gap 'a script with a hole, in a tar' 'x.tar!x: *archive not opened (gzip)*'

# --- too large to be kept, in another archive ---

for front in script elf; do
    { cat "$made/$front" two.tgz; noise $((70 * MiB)); } >x
    tar -cf x.tar x
    run "$WEIR" scan --json --rule=github-pat --spill-slots=0 x.tar
    has_gap "told behind $front" 'x.tar!x: *archive not opened (*'
    run "$WEIR" scan --json --rule=github-pat x.tar
    is 'and found with a temporary file' "$(places)" 'x.tar!x!two'
done
rm -f x x.tar
if [[ -e two.7z ]]; then
    { cat "$made/picture" two.7z; noise $((3 * MiB)); } >x
    tar -czf x.tgz x
    run "$WEIR" scan --json --rule=github-pat x.tgz
    is 'a 7z in a large picture' "$(places)" 'x.tgz!x!two'
    run "$WEIR" scan --json --rule=github-pat --spill-slots=0 x.tgz
    has_gap 'told without a temporary file' 'x.tgz!x: *archive not opened (7z)*'
fi

# --- lists ---

cat "$made/elf" "$made/f.zip" >x
printf '%s\0' x >list
run "$WEIR" scan --json -0 --files-from=list
is 'from a list' "$(places)" 'x!f.txt'

# --- what has no decoder ---

if command -v 7z >/dev/null; then
    for filter in SWAP2 SWAP4; do
        7z a -bd -m0=$filter -m1=LZMA2 $filter.7z "$made/f.txt" >/dev/null
        run "$WEIR" scan --json $filter.7z
        has_gap "$filter is not called damaged" \
            "$filter.7z!f.txt: cannot unpack all of: not supported: it is packed in a way that has no decoder*"
    done
fi

# --- in a history, where a script is scanned by what is known of the one that it was made from ---

# An ar, which has no NUL: so the script is a text. Its mark is in what is new, or only a part of it is, or a seam
# goes through it. None of the numbers has the mark of another archive in it (0707).
if command -v git >/dev/null; then
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@x
    member=$(printf 'token = %s\n' "$pat")
    body=$(printf '%-16s%-12s%-6s%-6s%-8s%-10s`\n%s' f.txt/ 0 0 0 100644 $((${#member} + 1)) "$member")
    for kind in new part seam none; do
        tree
        git init -q .
        case $kind in
        new) before='' after='!<arch>' ;;
        part) before='!<ar' after='!<arch>' ;;
        seam) before='x!<arch> and more' after='!<arch>' ;;
        none) before='' after='!<march>' ;;
        esac
        { printf '#!/bin/sh\nexit\n'; seq 1000 5000; printf '%s' "$before"; seq 5000 9999; } >f.sh
        git add f.sh
        git commit -qm first
        { printf '#!/bin/sh\nexit\n'; seq 1000 5000; printf '%s\n%s\n' "$after" "$body"; } >f.sh
        git commit -qam second
        git repack -qadf
        is "the script with the archive is a delta ($kind)" \
            "$(git verify-pack -v .git/objects/pack/*.idx | awk -v id="$(git rev-parse HEAD:f.sh)" '$1 == id { print $6 }')" 1
        wanted=f.sh\!f.txt
        [[ $kind != none ]] || wanted=f.sh
        for options in '' --full-scan; do
            # shellcheck disable=SC2086 # none, or one
            run "$WEIR" scan --json --history=only --no-state --rule=github-pat $options .
            is "an archive in a version of a script ($kind) $options" "$(places)" "$wanted"
        done
    done
fi

finish
