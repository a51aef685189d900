#!/bin/bash
# weir scan in archives: every format by table, with a token in it that is found once and in the right
# place; what cannot be unpacked, limits, hostile ones, streams, and decoders that die.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3 tar gzip zip

child_of() { # process: that of its decoder, when there is one
    local _ child
    for _ in $(seq 200); do
        child=$(pgrep -P "$1" weir-unpack || true)
        [[ -n $child ]] && echo "$child" && return
        sleep 0.02
    done
}

until_busy() { # process: until it has worked for a tenth of a second, so that it is at its member
    local _
    for _ in $(seq 1000); do
        (($(awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 10) < 10)) || return 0
        sleep 0.02
    done
}

# --- every format ---

# Formats for which there is no writer in Debian, by hand: one file, stored.
cat >"$dir/by_hand.py" <<'PY'
import struct, sys, zlib
kind, data, name = sys.argv[1], open("f.txt", "rb").read(), b"f.txt"
crc, size = zlib.crc32(data), len(data)
out = sys.stdout.buffer

def old(body, rest=b""):
    return struct.pack("<H", zlib.crc32(body) & 0xFFFF) + body + rest

def new(body, rest=b""):
    body = bytes([len(body)]) + body
    return struct.pack("<I", zlib.crc32(body)) + body + rest

if kind == "rar4":
    out.write(b"Rar!\x1a\x07\0" + old(struct.pack("<BHH6x", 0x73, 0, 13)))
    head = struct.pack("<BHHIIBIIBBHI", 0x74, 0x8000, 32 + len(name), size, size, 3, crc, 0, 20, 0x30,
                       len(name), 0o100644)
    out.write(old(head + name, data) + old(struct.pack("<BHH", 0x7B, 0x4000, 7)))
else:
    out.write(b"Rar!\x1a\x07\1\0" + new(bytes([1, 0, 0])))
    head = bytes([2, 2, size, 4, size, 0]) + struct.pack("<I", crc) + bytes([0, 1, len(name)]) + name
    out.write(new(head, data) + new(bytes([5, 0, 0])))
PY
control='Package: w\nVersion: 1\nArchitecture: all\nMaintainer: w <w@w>\nDescription: w\n'
spec='Name: w\nVersion: 1\nRelease: 1\nSummary: s\nLicense: none\nBuildArch: noarch\n%description\nd
%install\nmkdir -p %{buildroot}/etc\ncp '$dir'/make/f.txt %{buildroot}/etc/\n%files\n/etc/f.txt\n'
layer() { # puts a layer's digest into $digest; arguments: how tar packs it
    tar "$@" -f layer f.txt
    digest=$(sha256sum layer | cut -d' ' -f1)
}
make_docker() {
    layer -c
    mkdir "$digest"
    mv layer "$digest/layer.tar"
    printf '[{"Config":"c.json","RepoTags":["w:1"],"Layers":["%s/layer.tar"]}]' "$digest" >manifest.json
    echo '{}' >c.json
    tar -cf "$1" manifest.json c.json "$digest"
}
make_podman() {
    layer -c
    mv layer "$digest.tar"
    printf '[{"Config":"c.json","Layers":["%s.tar"]}]' "$digest" >manifest.json
    tar -cf "$1" "$digest.tar" manifest.json
}
make_oci() {
    layer -cz
    mkdir -p blobs/sha256
    mv layer "blobs/sha256/$digest"
    echo '{"imageLayoutVersion":"1.0.0"}' >oci-layout
    echo '{"schemaVersion":2,"manifests":[]}' >index.json
    tar -cf "$1" oci-layout index.json blobs
}
make_deb() {
    mkdir -p p/DEBIAN p/etc
    cp f.txt p/etc
    # shellcheck disable=SC2059 # it is one
    printf "$control" >p/DEBIAN/control
    dpkg-deb -Zxz -b p "$1" >/dev/null
}
make_rpm() {
    # shellcheck disable=SC2059 # it is one
    printf "${spec//%/%%}" >w.spec
    HOME=$PWD rpmbuild --quiet -bb --define "_topdir $PWD/r" w.spec >/dev/null 2>&1
    mv r/RPMS/noarch/w-*.rpm "$1"
}
make_iso() { # name, arguments
    mkdir t
    cp f.txt t
    genisoimage -quiet "${@:2}" -o "$1" t
}

# name | tools | how it is made, of f.txt, in $out | where the token is; DIGEST is a layer's
table() {
    cat <<'END'
plain.zip|zip|zip -q $out f.txt|plain.zip!f.txt
stored.zip|zip|zip -q0 $out f.txt|stored.zip!f.txt
lib.jar|zip|mkdir -p META-INF; echo x >META-INF/MANIFEST.MF; zip -q $out META-INF/MANIFEST.MF f.txt|lib.jar!f.txt
text.docx|zip|mkdir word; cp f.txt word/document.xml; zip -qr $out word|text.docx!word/document.xml
a.tar|tar|tar -cf $out f.txt|a.tar!f.txt
a.tar.gz|tar gzip|tar -czf $out f.txt|a.tar.gz!f.txt
a.tar.xz|tar xz|tar -cJf $out f.txt|a.tar.xz!f.txt
a.tar.zst|tar zstd|tar --zstd -cf $out f.txt|a.tar.zst!f.txt
a.tar.bz2|tar bzip2|tar -cjf $out f.txt|a.tar.bz2!f.txt
log.txt.gz|gzip|gzip -c f.txt >$out|log.txt.gz!log.txt
log.txt.xz|xz|xz -c f.txt >$out|log.txt.xz!log.txt
log.txt.zst|zstd|zstd -qc f.txt >$out|log.txt.zst!log.txt
log.txt.bz2|bzip2|bzip2 -c f.txt >$out|log.txt.bz2!log.txt
log.txt.lz4|lz4|lz4 -qc f.txt >$out|log.txt.lz4!log.txt
a.7z|7z|7z a -bd a.7z f.txt >/dev/null; mv a.7z $out|a.7z!f.txt
a4.rar|python3|python3 $dir/by_hand.py rar4 >$out|a4.rar!f.txt
a5.rar|python3|python3 $dir/by_hand.py rar5 >$out|a5.rar!f.txt
a.cpio|cpio|echo f.txt \| cpio -o -H newc --quiet >$out|a.cpio!f.txt
lib.a|ar|ar rc $out f.txt|lib.a!f.txt
w.deb|dpkg-deb|make_deb $out|w.deb!data.tar.xz!./etc/f.txt
w.rpm|rpmbuild|make_rpm $out|w.rpm!./etc/f.txt
disk.iso|genisoimage|make_iso $out -R|disk.iso!f.txt
docker.tar|tar|make_docker $out|docker.tar!layer:DIGEST!f.txt
podman.tar|tar|make_podman $out|podman.tar!sha256:DIGEST!f.txt
oci.tar|tar gzip|make_oci $out|oci.tar!sha256:DIGEST!f.txt
three.zip|zip tar gzip|tar -czf c.tgz f.txt; zip -q b.zip c.tgz; zip -q $out b.zip|three.zip!b.zip!c.tgz!f.txt
in.tar.gz|zip tar gzip|zip -q b.zip f.txt; tar -czf $out b.zip|in.tar.gz!b.zip!f.txt
deep.zip|zip 7z genisoimage|make_iso b.iso -R; 7z a -bd c.7z b.iso >/dev/null; zip -q $out c.7z|deep.zip!c.7z!b.iso!f.txt
picture.png|zip|zip -q a.zip f.txt; mv a.zip $out|picture.png!f.txt
no-ending|tar xz|tar -cJf $out f.txt|no-ending!f.txt
END
}

make() { # a table: makes all of it, and writes what is expected into $dir/wanted
    local name tools how wanted out digest tool has
    while IFS= read -r row; do
        row=${row//'\|'/$'\1'}
        IFS='|' read -r name tools how wanted <<<"$row"
        how=${how//$'\1'/|}
        has=true
        for tool in $tools; do command -v "$tool" >/dev/null || has=false; done
        if ! $has; then
            skip "$name" "not all of these are here: $tools"
            continue
        fi
        rm -rf "$dir/make"
        mkdir "$dir/make"
        cd "$dir/make" || exit 1
        printf 'a line\ntoken = %s\n' "$pat" >t.txt
        if [[ $1 == table ]]; then cp t.txt f.txt; else echo 'a line' >f.txt; fi
        # shellcheck disable=SC2034 # it is what the row says
        out=$dir/tree/$name digest=
        eval "$how"
        printf '%s\n' "${wanted/DIGEST/$digest}" >>"$dir/wanted"
    done < <("$1")
    cd "$dir/tree" || exit 1
}
tree
: >"$dir/wanted"
make table
cp -r "$dir/tree" "$dir/formats"
run "$WEIR" scan --json
while IFS= read -r path; do
    is "found once: $path" "$(places | grep -cxF -- "$path")" 1
done <"$dir/wanted"
is 'and nothing else' "$(places)" "$(sort "$dir/wanted")"
is 'nothing is missing' "$status $(gaps)" '1 '
is 'archives are counted' "$(summary archives)" "$(wc -l <"$dir/wanted")"
is 'and so are members' "$(($(summary members) >= $(wc -l <"$dir/wanted")))" 1
is 'lines and columns are those of the member' \
    "$(jq -r '.findings[].places[] | "\(.line):\(.column)"' "$dir/out" | sort -u)" 2:9
jq -c .findings "$dir/out" >"$dir/one"
for threads in 1 4; do
    run timeout 120 "$WEIR" scan --json --threads=$threads --max-memory=250M
    is "$threads threads and little memory find the same" "$(jq -c .findings "$dir/out" | cmp - "$dir/one" && echo same)" same
done
for name in *; do
    status=0
    "$WEIR" scan --json - <"$name" >"$dir/out" 2>"$dir/err" || status=$?
    wanted=$(grep "^$name!" "$dir/wanted" | sed "s/^$name!/-!/; s/-!log.txt$/-!data/")
    is "as a stream: $name" "$status $(places)" "1 $wanted"
done
# A slow one, of which only a few bytes are there at first.
status=0
{ head -c 5 disk.iso; sleep 0.1; tail -c +6 disk.iso | head -c 20000; sleep 0.1; tail -c +20006 disk.iso; } |
    "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || status=$?
is 'a stream that comes in pieces' "$status $(places)" '1 -!f.txt'
is 'no temporary file is left' "$(ls -A "$TMPDIR")" ''
run "$WEIR" scan
expect 'people see archives and members' 1 '*members of * archives scanned*' ''

# --- broken off ---

mkdir ../cut
for name in *; do
    head -c $(($(stat -c %s "$name") / 2)) "$name" >"../cut/$name"
done
cd ../cut || exit 1
for name in *; do
    run "$WEIR" scan --json "$name"
    if [[ $status -eq 1 || ($status -eq 3 && -n $(gaps)) ]]; then
        pass "half of $name is told"
    else
        fail "half of $name is told" "$(said)"
    fi
done

# --- what a container has beside its members ---

# What no tool here puts there, by hand: the kind, and the token.
cat >"$dir/beside.py" <<'PY'
import io, struct, sys, tarfile, zipfile, zlib
kind, token = sys.argv[1], sys.argv[2].encode()
out, text = io.BytesIO(), b"a member that has nothing\n"

def gz(flags, fields):
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = pack.compress(text) + pack.flush()
    return b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + fields + body + \
        struct.pack("<II", zlib.crc32(text), len(text))

def tar(padding=b"", end=b"", **pax):
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax) as t:
        one = tarfile.TarInfo("f.txt")
        one.size = len(text)
        t.addfile(one, io.BytesIO(text))
    data = bytearray(out.getvalue())
    at = data.index(text) + len(text)
    data[at:at + len(padding)] = padding
    data[len(data) - len(end):] = end
    return bytes(data)

def zipped(extra=b"", comment=b""):
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        one = zipfile.ZipInfo("f.txt")
        one.extra, one.comment = extra, comment
        z.writestr(one, text)
    return out.getvalue()

def local_only(data): # not in the directory as well
    at = data.rindex(token)
    return data[:at] + bytes(len(token)) + data[at + len(token):]

def hidden():
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.txt", text)
        z.writestr("gone.txt", b"token = " + token + b"\n")
        z.writestr("f.txt", text)
        del z.NameToInfo["gone.txt"]
        z.filelist = [one for one in z.filelist if one.filename != "gone.txt"]
    return out.getvalue()

def iso_area(path):
    data = bytearray(open(path, "rb").read())
    data[1000:1000 + len(token)] = token
    return bytes(data)

made = {
    "gz-name": lambda: gz(8, b"name-" + token + b"\0"),
    "gz-comment": lambda: gz(16, b"a comment: " + token + b"\0"),
    "gz-extra": lambda: gz(4, struct.pack("<H", 9 + len(token)) + b"WR" + struct.pack("<H", 5 + len(token)) +
                           b"x: =" + token + b" "),
    "tar-padding": lambda: tar(padding=b" token " + token),
    "tar-end": lambda: tar(end=b" token " + token),
    "tar-pax": lambda: tar(comment="a note " + token.decode()),
    "zip-extra": lambda: local_only(zipped(extra=struct.pack("<HH", 0x7777, 1 + len(token)) + token + b" ")),
    "zip-entry": lambda: zipped(comment=b"note " + token + b" "),
    "zip-hidden": hidden,
    "zip-wide": lambda: zipped(comment=(" token " + token.decode() + " ").encode("utf-16-le")),
    "iso-area": lambda: iso_area(sys.argv[3]),
}
sys.stdout.buffer.write(made[kind]())
PY
by_hand() { python3 "$dir/beside.py" "$1" "$pat" "${@:2}"; }
skippable() { printf 'P\x2a\x4d\x18\x40\0\0\0%-64s' "skip $pat"; } # a frame that readers pass over
make_package() { # out, what is added to the spec
    # shellcheck disable=SC2059 # it is one
    printf "${spec//%/%%}$2" >w.spec
    HOME=$PWD rpmbuild --quiet -bb --define "_topdir $PWD/r" w.spec >/dev/null 2>&1
    mv r/RPMS/noarch/w-*.rpm "$1"
}
# The same four columns. The member f.txt has no token here.
table_beside() {
    cat <<'END'
comment.zip|zip|zip -q $out f.txt; echo "note $pat" \| zip -qz $out >/dev/null|comment.zip
entry.zip|python3|by_hand zip-entry >$out|entry.zip
wide.zip|python3|by_hand zip-wide >$out|wide.zip
extra.zip|python3|by_hand zip-extra >$out|extra.zip
hidden.zip|python3|by_hand zip-hidden >$out|hidden.zip!gone.txt
joined.zip|zip|zip -q a.zip f.txt; zip -q b.zip t.txt; cat b.zip a.zip >$out|joined.zip!t.txt
three.zip|zip|zip -q a.zip f.txt; zip -q b.zip t.txt; cat b.zip a.zip a.zip >$out|three.zip!t.txt
behind.zip|zip|zip -q $out f.txt; echo "token $pat" >>$out|behind.zip
behind.7z|7z|7z a -bd a.7z f.txt >/dev/null; cat a.7z t.txt >$out|behind.7z
behind.iso|genisoimage|make_iso a.iso -R; cat a.iso t.txt >$out|behind.iso
link.iso|genisoimage|mkdir l; ln -s /x/$pat/y l/l; genisoimage -quiet -R -o $out l|link.iso
area.iso|genisoimage python3|make_iso a.iso -R; by_hand iso-area a.iso >$out|area.iso
behind.tar|tar|tar -cf $out f.txt; head -c 512 /dev/zero >>$out; cat t.txt >>$out|behind.tar
behind.gz|gzip|gzip -c f.txt >$out; cat t.txt >>$out|behind.gz
behind.xz|xz|xz -c f.txt >$out; head -c 4 /dev/zero >>$out; cat t.txt >>$out|behind.xz
behind.cpio|cpio|echo f.txt \| cpio -o -H newc --quiet >$out; cat t.txt >>$out|behind.cpio
behind.rpm|rpmbuild|make_package $out ''; cat t.txt >>$out|behind.rpm
name.gz|python3|by_hand gz-name >$out|name.gz
comment.gz|python3|by_hand gz-comment >$out|comment.gz
extra.gz|python3|by_hand gz-extra >$out|extra.gz
in.tar|tar|tar -cf b.tar f.txt; tar -cf $out b.tar; head -c 512 /dev/zero >>$out; cat t.txt >>$out|in.tar
padding.tar|python3|by_hand tar-padding >$out|padding.tar
padding.tar.gz|python3 gzip|by_hand tar-padding \| gzip >$out|padding.tar.gz
end.tar.gz|python3 gzip|by_hand tar-end \| gzip >$out|end.tar.gz
pax.tar|python3|by_hand tar-pax >$out|pax.tar
pax.tar.gz|python3 gzip|by_hand tar-pax \| gzip >$out|pax.tar.gz
link.tar|tar|ln -s /x/$pat/y l; tar -cf $out f.txt l|link.tar
link.tar.gz|tar gzip|ln -s /x/$pat/y l; tar -czf $out f.txt l|link.tar.gz
link.cpio.gz|cpio gzip|ln -s /x/$pat/y l; printf 'f.txt\nl\n' \| cpio -o -H newc --quiet \| gzip >$out|link.cpio.gz!l
link.zip|zip|ln -s /x/$pat l; zip -qy $out l f.txt|link.zip!l
links.zip|zip|ln -s /x/$pat l; zip -qy a.zip l; cat f.txt a.zip >$out|links.zip!l
link.cpio|cpio|ln -s /xx/$pat l; printf 'l\nf.txt\n' \| cpio -o -H newc --quiet >$out|link.cpio!l
ends.iso|genisoimage|mkdir u; ln -s x/$pat u/l; genisoimage -quiet -R -o $out u|ends.iso
link.7z|7z|ln -s /x/$pat/y l; 7z a -bd -snl a.7z f.txt l >/dev/null; mv a.7z $out|link.7z!l
xattr.tar.gz|tar gzip setfattr|setfattr -n user.note -v "key $pat" f.txt; tar --xattrs -czf $out f.txt|xattr.tar.gz
skip.zst|zstd|{ skippable; zstd -qc f.txt; } >$out|skip.zst
skipped.zst|zstd|{ zstd -qc f.txt; skippable; zstd -qc f.txt; } >$out|skipped.zst
skip.lz4|lz4|{ lz4 -qc f.txt; skippable; lz4 -qc f.txt; } >$out|skip.lz4
script.rpm|rpmbuild|make_package $out "%%post\ncurl -H 'token $pat' x\n"|script.rpm
changes.rpm|rpmbuild|make_package $out "%%changelog\n* Mon Jan 01 2024 w <w@w> - 1-1\n- token $pat\n"|changes.rpm
text.rpm|rpmbuild|spec=${spec/nd/nkey $pat}; make_package $out ''|text.rpm
END
}
tree
: >"$dir/wanted"
make table_beside
run "$WEIR" scan --json
while IFS= read -r path; do
    is "beside members, once: $path" "$(places | grep -cxF -- "$path")" 1
done <"$dir/wanted"
is 'and nothing else' "$(places)" "$(sort "$dir/wanted")"
is 'each is the same secret, without a byte too many' "$(jq -c '[.findings[].rule]' "$dir/out")" '["github-pat"]'
if [[ -e behind.rpm ]]; then
    at=$(grep -obUaF -- "$pat" behind.rpm | cut -d: -f1)
    line=$(($(head -c "$at" behind.rpm | tr -cd '\n' | wc -c) + 1))
    is 'behind a package: its place in the file' "$(spots | grep '^behind.rpm:' | cut -d: -f1,2,4)" "behind.rpm:$line:$at"
fi
is 'what stands behind the end of a tar or an xz is told as well' \
    "$(gaps | grep -v '^\(behind\|in\|end\)\.\(tar\|xz\)' || true)" ''
# The same within another one: what is read as it passes by, in memory, and in a temporary file.
cp -r "$dir/tree" "$dir/inner"
inner() { # how it is packed, its name
    tree
    bash -c "cd '$dir/inner' && $1"
    run "$WEIR" scan --json
    is "within a $2" "$(places)" "$(sed "s/^/all.$2!/" "$dir/wanted" | sort)"
}
inner "tar -czf ../tree/all.tgz -- *" tgz
inner "zip -q ../tree/all.zip -- *" zip
inner "zip -q0 ../tree/all.zip -- *" zip
run "$WEIR" scan --format=jsonl
is 'and each secret once as lines' "$(jq -r 'select(.type == "found") | .id' "$dir/out")" 1
is 'with all its places' "$(jq -r 'select(.type == "finding") | .places_total' "$dir/out")" "$(wc -l <"$dir/wanted")"

# --- a further part whose first bytes are damaged ---

tree
seq 3000 >f.txt
for packer in gzip xz bzip2 zstd lz4 lzip; do
    command -v "$packer" >/dev/null || continue
    "$packer" -c f.txt >good 2>/dev/null
    for at in 0 1 2 3; do
        python3 -c 'import sys; b = bytearray(open("good", "rb").read()); b[int(sys.argv[1])] ^= 0x21
sys.stdout.buffer.write(b)' "$at" >bad
        cat good bad good >"$at.$packer"
        run "$WEIR" scan --json "$at.$packer"
        is "$packer: byte $at of the second part" "$status $(gaps | cut -d: -f1,3 | sort -u)" "3 $at.$packer: broken"
        tar -cf in.tar "$at.$packer"
        run "$WEIR" scan --json in.tar
        is "and within a tar" "$status $(gaps | cut -d: -f1,3 | sort -u)" "3 in.tar!$at.$packer: broken"
    done
    { cat good && printf 'as written \xc3\xa4\n' && head -c 100 /dev/zero; } >"text.$packer"
    run "$WEIR" scan --json "text.$packer"
    is "$packer: text and zeros behind it" "$status $(gaps)" '0 '
done

# --- encrypted ---

tree
printf '%s\n' "$pat" >f.txt
zip -q -P secret a.zip f.txt
if command -v 7z >/dev/null; then
    7z a -bd -psecret b.7z f.txt >/dev/null
    7z a -bd -psecret -mhe=on c.7z f.txt >/dev/null
    7z a -bd -tzip -mem=AES256 -psecret d.zip f.txt >/dev/null
fi
rm f.txt
for name in *; do
    run "$WEIR" scan --json "$name"
    is "encrypted: $name" "$status $(gaps | sed 's/!f.txt//')" "3 $name: cannot unpack: encrypted"
done
run "$WEIR" scan a.zip
expect 'people are told' 3 '*not scanned: a.zip!f.txt: cannot unpack: encrypted*' ''
printf '%s\n' "$pat" >open.txt
zip -q a.zip open.txt
rm open.txt
run "$WEIR" scan --json a.zip
is 'what is not encrypted is scanned' "$status $(places) $(summary complete)" '1 a.zip!open.txt false'
tree
python3 - "$pat" <<'PY'
import sys, zipfile
with zipfile.ZipFile("bit.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name in "ab":
        z.writestr(name, "\n".join(map(str, range(2000))) + "\n" + sys.argv[1] + "\n")
data = bytearray(open("bit.zip", "rb").read())
first = data.index(b"PK\1\2")
data[first + 8] |= 1 # one bit says that it is encrypted
data[data.index(b"PK\1\2", first + 4) + 2] ^= 9
open("bit.zip", "wb").write(data)
PY
run "$WEIR" scan --json
is 'a broken directory with a bit that says so is not encrypted, but broken' "$(places | tr '\n' ' ')" 'bit.zip!a bit.zip!b '
has_gap 'and told as that' 'bit.zip: cannot unpack all of: broken: *'

# --- limits ---

tree
mkdir d
for i in 1 2 3 4 5 6; do printf 'key%s = %s\n' "$i" "$pat" >"d/$i"; done
tar -cf many.tar -C d 1 2 3 4 5 6
run "$WEIR" scan --json --max-archive-entries=4 many.tar
is '--max-archive-entries' "$(places | wc -l) $(gaps)" \
    '4 many.tar: cannot unpack all of: more than 4 members'
head -c 3000 /dev/zero | tr '\0' ' ' >d/large
printf '%s\n' "$pat" >>d/large
tar -cf large.tar -C d large 1
run "$WEIR" scan --json --max-entry-bytes=2000 large.tar
is '--max-entry-bytes' "$(places) $(gaps)" \
    'large.tar!1 large.tar!large: cannot unpack all of: larger than 2000 bytes'
run "$WEIR" scan --json --max-archive-bytes=3020 large.tar
is '--max-archive-bytes' "$status $(gaps)" \
    '3 large.tar: cannot unpack all of: unpacks to more than 3020 bytes'
head -c 20000000 /dev/zero | gzip -9 >bomb.gz
run "$WEIR" scan --json --max-archive-ratio=100 bomb.gz
is '--max-archive-ratio' "$status $(gaps)" \
    '3 bomb.gz!bomb: cannot unpack all of: unpacks more than 100 times'
run "$WEIR" scan --json --max-archive-ratio=2000 bomb.gz
is 'and can be raised' "$status $(summary bytes)" '0 20000000'
cp d/1 0
for i in 1 2 3 4 5 6 7 8 9 10; do
    zip -q "$i.zip" "$(if ((i == 1)); then echo 0; else echo $((i - 1)).zip; fi)"
done
mkdir nest
mv 10.zip nest
cd nest || exit 1
run "$WEIR" scan --json
has_gap 'nested too deep' '10.zip!9.zip*!2.zip: cannot unpack all of: nested deeper than 8'
run "$WEIR" scan --json --archive-depth=10
is '--archive-depth' "$status $(places)" \
    '1 10.zip!9.zip!8.zip!7.zip!6.zip!5.zip!4.zip!3.zip!2.zip!1.zip!0'
run "$WEIR" scan --json --archive-depth=0
is 'a depth of 0 opens none, and says so' "$status $(summary archives) $(gaps)" \
    '1 0 10.zip: cannot look into: archive not opened (zip): the depth of archives is 0'
run "$WEIR" scan --archive-depth=13
expect 'not deeper than that' 2 '' '*archive-depth*12*'

# Each compression counts, also those that one decoder undoes by itself.
tree
for tool in gzip bzip2 xz; do
    command -v $tool >/dev/null || continue
    { seq 2000; printf 'token = %s\n' "$pat"; seq 2000; } >f.$tool # enough to be packed
    for i in 1 2 3 4 5 6 7 8 9; do
        $tool -qc f.$tool >packed
        mv packed f.$tool
        [[ $i != 8 ]] || cp f.$tool eight.$tool
    done
    run "$WEIR" scan --json eight.$tool
    is "$tool eight times" "$(places | wc -l)$(gaps)" 1
    run "$WEIR" scan --json f.$tool
    # shellcheck disable=SC2053 # it is a pattern
    if [[ "$status $(places)$(gaps)" == "3 f.$tool"*': cannot unpack all of: nested deeper than 8' ]]; then
        pass "$tool nine times is too deep"
    else
        fail "$tool nine times is too deep" "$(said)"
    fi
done

# One that has itself in it would never end.
tree
python3 - <<'PY'
import io, zipfile
inner = b"nothing"
for i in range(60):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("self.zip", inner)
    inner = out.getvalue()
open("self.zip", "wb").write(inner)
PY
run timeout 60 "$WEIR" scan --json
is 'one in one in one ends' "$status $(gaps | grep -c 'nested deeper')" '3 1'

# --- names ---

tree
python3 - "$pat" <<'PY'
import io, sys, tarfile
data = sys.argv[1].encode() + b"\n"
with tarfile.open("a.tar", "w") as t:
    for name in ("../../etc/x", "/absolute/x", "two\nlines", "bang!bang", "\x1b[31mred"):
        one = tarfile.TarInfo(name)
        one.size = len(data)
        t.addfile(one, io.BytesIO(data))
PY
run "$WEIR" scan --json
is 'names that mean harm are only names' "$(jq -c '[.findings[].places[].path] | sort' "$dir/out")" \
    '["a.tar!\u001b[31mred","a.tar!../../etc/x","a.tar!/absolute/x","a.tar!bang!bang","a.tar!two\nlines"]'
is 'nothing was made of them' "$(ls -A . ..)$(ls -d /absolute 2>/dev/null)" "$(ls -A . ..)"
run "$WEIR" scan
if grep -q $'\x1b' "$dir/out"; then fail 'nor are they sent to a terminal' "$out"; else pass 'nor are they sent to a terminal'; fi
mkdir d
printf '%s\n' "$pat" >d/yarn.lock
tar -czf b.tgz -C d yarn.lock
printf '[extend]\nuseDefault = true\n[allowlist]\npaths = ["yarn.lock$"]\n' >../rules.toml
run "$WEIR" scan --json --config=../rules.toml b.tgz
is 'allow lists of paths apply to members' "$status $(summary allowed_paths)" '0 1'

# --- without the decoders' program ---

tree
gzip -c <<<"$pat" >a.gz
run env WEIR_LIBEXEC="$dir/nowhere" "$WEIR" scan
expect 'without weir-unpack it is told, with a cure' 3 \
    "*a.gz*archive not opened (gzip): 'weir-unpack' was not found*WEIR_LIBEXEC*" ''
run env WEIR_LIBEXEC="$dir/nowhere" "$WEIR" scan --summary --quiet
run env WEIR_LIBEXEC="$dir/nowhere" "$WEIR" scan --json
is 'and counted' "$(summary archives) $(summary truncated)" '0 1'
status=0
WEIR_LIBEXEC=$dir/nowhere "$WEIR" scan --json - <a.gz >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'also of a stream' '-: cannot look into: archive not opened*'
mkdir -p ../usr/bin ../usr/libexec/weir
ln "$WEIR" ../usr/bin/weir 2>/dev/null || cp "$WEIR" ../usr/bin/weir
cp "$(dirname "$WEIR")/weir-unpack" ../usr/libexec/weir/
run ../usr/bin/weir scan --json
is 'installed, it is found in libexec' "$status $(places)" '1 a.gz!a'
is 'weir itself does not load libarchive' "$(readelf -dW "$WEIR" | grep -c 'libarchive\|libseccomp')" 0
run "$(dirname "$WEIR")/weir-unpack"
expect 'it does nothing by itself' 2 '' "*started by 'weir scan'*"
status=0
"$WEIR" scan --json --spill-slots=0 - <a.gz >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'without leave to spill a stream is told' '-: *not opened (gzip): it takes a temporary file, and none is allowed: raise --spill-slots'
status=0
TMPDIR=$dir/nowhere "$WEIR" scan --json - <a.gz >"$dir/out" 2>"$dir/err" || status=$?
has_gap 'and without a folder for it' '-: *no temporary file can be made*TMPDIR'
run "$WEIR" scan --max-memory=120M
expect 'nor with too little memory' 3 '*a.gz*set --max-memory=200M or more*' ''

# --- behind something else ---

tree
mkdir "$dir/hide"
cd "$dir/hide"
printf 'token = %s\n' "$pat" >f.txt
zip -q f.zip f.txt
tar -czf f.tgz f.txt
tar -cf f.tar f.txt
# shellcheck disable=SC2016 # of the script
printf '#!/bin/sh\ntail -n +3 "$0" | tar -xz; exit\n' >script
(head -c 300000 /dev/zero | tr '\0' '#' && echo) | cat script - >script.long
printf 'MZ\220\0' >program
noise 300000 >>program
printf 'GIF89a\1\0\1\0' >picture
# name, what is in front, what is behind
while read -r name front behind; do
    cat "$front" "$behind" >"$name"
    cp "$name" "$dir/tree/"
    cd "$dir/tree"
    run "$WEIR" scan --json
    is "$name: $behind behind a $front" "$status $(places) $(gaps)" "1 $name!f.txt "
    # shellcheck disable=SC2002 # it is to be a pipe
    cat "$name" | { "$WEIR" scan --json - >"$dir/out" 2>"$dir/err" || true; }
    is 'from a pipe' "$(places) $(gaps)" '-!f.txt '
    tar -cf a.tar "$name"
    rm "$name"
    run "$WEIR" scan --json
    is 'in another archive' "$(places) $(gaps)" "a.tar!$name!f.txt "
    rm a.tar
    cd "$dir/hide"
done <<'TABLE'
a.jar script f.zip
long.jar script.long f.zip
a.run script f.tgz
plain.run script f.tar
a.exe program f.zip
a.gif picture f.zip
TABLE
cp program script "$dir/tree/"
python3 -m zipapp . -m f:main -p '/usr/bin/env python3' -o "$dir/tree/a.pyz" 2>/dev/null || true
if command -v 7z >/dev/null; then
    7z a -bd f.7z f.txt >/dev/null
    cat program f.7z >"$dir/tree/sfx.exe"
    cat script f.7z >"$dir/tree/sfx.run"
fi
# A program that only knows the signature.
(cat program && printf '7z\274\257\047\034\0\4aaaa' && cat program) >"$dir/tree/knows"
cd "$dir/tree"
run "$WEIR" scan --json a.pyz
is 'an application of python, with a shebang' "$(places | grep -cx 'a.pyz!f.txt')" 1
rm a.pyz
run "$WEIR" scan --json
if command -v 7z >/dev/null; then
    is 'a 7z behind a program or a script' "$(places) $(gaps)" $'sfx.exe!f.txt\nsfx.run!f.txt '
fi
tar -czf nothing.tgz knows
printf '# %s\n' "$pat" | cat script - nothing.tgz >both.run
run "$WEIR" scan --json both.run
is 'what stands in front is scanned as well' "$(places) $(summary archives)" 'both.run 1'
run "$WEIR" scan --json --archive-depth=0 both.run
has_gap 'without leave it is told' 'both.run: *archive not opened (gzip)*'

# --- cut off ---

tree
for i in $(seq 60); do noise 3000 "$i" >"f$i"; done
zip -q0 whole.zip f*
tar -cf whole.tar f1 f2
rm f*
size=$(stat -c %s whole.zip)
head -c $((size / 2)) whole.zip >half.zip
head -c $((size - 40)) whole.zip >directory.zip
head -c 3584 whole.tar >one.tar
run "$WEIR" scan --json half.zip
has_gap 'the rest of a zip that is cut off is told' \
    '*half.zip: cannot unpack all of: broken: it ends, or cannot be read on, behind member *'
run "$WEIR" scan --json directory.zip
has_gap 'so is one that is cut in its directory' 'directory.zip: *no end of a directory*'
run "$WEIR" scan --json one.tar
has_gap 'and a tar without a mark at its end' 'one.tar: *it has no mark at its end, and may be cut off'
run "$WEIR" scan --json whole.tar whole.zip
is 'those that are whole are not' "$(summary complete) $(gaps)" 'true '
tar -cf - whole.tar | gzip >a.tgz
gzip one.tar
run "$WEIR" scan --json a.tgz
is 'nor when it is packed' "$(summary complete) $(gaps)" 'true '
run "$WEIR" scan --json one.tar.gz
has_gap 'the same when it is packed' 'one.tar.gz: *it has no mark at its end, and may be cut off'
if command -v 7z >/dev/null; then
    printf '%s\n' "$pat" >f
    seq 9999 >>f
    7z a -bd -m0=Deflate64 a.7z f >/dev/null
    run "$WEIR" scan --json a.7z
    has_gap 'what has no decoder is not called damaged' 'a.7z!f: *in a way that has no decoder*'
fi

# --- damaged where it is known by ---

# One byte of the first header. The token is packed, so that it is not in anybody's plain bytes.
tree
{ seq 2000; printf 'token = %s\n' "$pat"; seq 2000; } | gzip -n >f.gz
damage() { # file, place: one byte of it
    python3 - "$1" "$2" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 0x90]))
PY
}
tar -cf a.tar f.gz
tar --format=pax -cf pax.tar f.gz
if command -v bzip2 >/dev/null; then zcat f.gz | bzip2 >a.bz2; fi
if command -v cpio >/dev/null; then
    for form in newc crc odc; do echo f.gz | cpio -o -H $form --quiet >$form.cpio; done
fi
rm f.gz
for name in *; do
    run "$WEIR" scan --json "$name"
    is "while it is whole: $name" "$(places | wc -l)$(gaps)" 1
    for place in 7 20 50; do
        cp "$name" "$dir/damaged"
        damage "$dir/damaged" $place
        run "$WEIR" scan --json "$dir/damaged"
        if [[ -n $(places)$(gaps) ]]; then
            pass "found or told with byte $place damaged"
        else
            fail "found or told with byte $place damaged: $name" "$(said)"
        fi
    done
done

# --- between the entries of a zip ---

# As the signatures of a package of Android: behind the entries, and before the directory.
tree
python3 - "$pat" <<'PY'
import gzip, io, struct, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("x", b"x" * 200)
a = out.getvalue()
end = a.rindex(b"PK\5\6")
at = struct.unpack("<I", a[end + 16:end + 20])[0]
token = gzip.compress(b"\n".join(b"%d" % i for i in range(2000)) + b"\ntoken = " + sys.argv[1].encode() + b"\n")
for name, block in ("gz.apk", b"\xee" * 3000 + token), ("none.apk", b"\xee" * 3000):
    rest = a[at:end + 16] + struct.pack("<I", at + len(block)) + a[end + 20:]
    open(name, "wb").write(a[:at] + block + rest)
PY
run "$WEIR" scan --json
is 'an archive between the entries of a zip and its directory' "$(places | sed 's/!.*//')$(gaps)" gz.apk

# --- what is large ---

tree
mkdir ../large
noise $((40 * MiB)) >../large/r
printf '%s\n' "$pat" >../large/f
(cd ../large && zip -q0 b.zip r f && tar -cf ../tree/a.tar b.zip)
run "$WEIR" scan --json --max-memory=256M
is 'a large zip in a tar' "$(places)" 'a.tar!b.zip!f'
if command -v 7z >/dev/null; then
    (cd ../large && 7z a -bd -mx=0 c.7z r f >/dev/null && tar -cf ../tree/a.tar c.7z)
    run "$WEIR" scan --json --max-memory=256M
    is 'a large 7z in a tar' "$(places) $(gaps)" 'a.tar!c.7z!f '
    run "$WEIR" scan --json --max-memory=256M --spill-slots=0
    has_gap 'is told when it must not be spilled' 'a.tar!c.7z: *too large to look into without a temporary file'
fi
is 'no temporary file is left' "$(ls -A "$TMPDIR")" ''

tree
python3 - "$pat" <<'PY'
import io, sys, tarfile
# Zeros that are no hole for the tar, and one for the disk.
def head(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)
with open("a.tar", "wb") as out:
    out.write(head("zeros", 2 << 30))
    out.seek(2 << 30, io.SEEK_CUR)
    out.write(head("last", 512) + sys.argv[1].encode().ljust(512, b"\n") + bytes(1024))
PY
limits=(--max-entry-bytes=3G --max-archive-ratio=1000000000)
peak=0
"$WEIR" scan --json --max-memory=256M "${limits[@]}" >"$dir/out" 2>"$dir/err" &
pid=$!
while kill -0 $pid 2>/dev/null; do
    now=$(cat /proc/$pid/status "/proc/$(pgrep -P $pid weir-unpack || echo none)/status" 2>/dev/null |
        awk '/^Rss(Anon|Shmem)/ { sum += $2 } END { print sum + 0 }' || true)
    ((now > peak)) && peak=$now
    sleep 0.05
done
wait $pid || true
is 'a member of 2 GB' "$(places) $(summary complete) $(($(summary bytes) >= 2147483648))" 'a.tar!last true 1'
note "memory: $peak kB"
if [[ ${SANITIZED:-none} == none ]]; then
    is 'within the limit of memory' "$((peak > 1000 && peak < 256 * 1024))" 1
else
    skip 'within the limit of memory' 'a sanitizer takes more'
fi

# --- deaths ---

"$WEIR" scan --json "${limits[@]}" >"$dir/out" 2>"$dir/err" &
pid=$!
child=$(child_of $pid)
until_busy "$child"
kill -KILL "$child"
wait $pid || true
is 'a decoder that is killed costs a member' "$(places) $(gaps)" \
    'a.tar!last a.tar!zeros: cannot unpack all of: its decoder died (signal 9)'

"$WEIR" scan --json "${limits[@]}" >"$dir/out" 2>"$dir/err" &
pid=$!
child=$(child_of $pid)
kill -KILL $pid
wait $pid 2>/dev/null || true
for _ in $(seq 100); do
    kill -0 "$child" 2>/dev/null || break
    sleep 0.05
done
is 'nobody is left behind by a scan that is killed' "$(kill -0 "$child" 2>&1 | grep -c 'No such')" 1

status=0
(exec env --default-signal=INT "$WEIR" scan --json "${limits[@]}" >"$dir/out" 2>"$dir/err") &
pid=$!
child=$(child_of $pid)
kill -INT $pid
wait $pid || status=$?
is 'a scan can be stopped in an archive' "$status $(kill -0 "$child" 2>&1 | grep -c 'No such')" '130 1'

tree
for i in 1 2 3; do noise $((20 * MiB)) "$i" >$i; done
tar -cf a.tar 1 2 3
rm 1 2 3
"$WEIR" scan --json >"$dir/out" 2>"$dir/err" &
pid=$!
child=$(child_of $pid)
kill -STOP "$child"
truncate -s $((2 * MiB)) a.tar
kill -CONT "$child"
wait $pid || true
has_gap 'an archive that shrinks is told' 'a.tar*: cannot unpack all of: broken: *'
is 'itself, not only the member that it was at' "$(gaps | grep -c '^a.tar: .*broken: ')" 1

# --- many at once, and members handed around ---

tree
mkdir d
for i in $(seq 150); do printf 'key = %s # %s\n' "$pat" "$i" >"d/$i"; done
for i in 1 2 3 4 5 6; do tar -czf "$i.tgz" d; done
rm -r d
for how in '--threads=1' '--threads=8' '--threads=8 --max-memory=400M' '--threads=6 --spill-slots=1' \
    '--threads=4 --max-files-in-flight=1'; do
    # shellcheck disable=SC2086 # several words
    run timeout 100 "$WEIR" scan --json $how
    is "each member once: $how" \
        "$(places | wc -l) $(places | sort -u | wc -l) $(summary members)" '900 900 900'
done

# --- known, and without a decoder ---

tree
header() { python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]) + bytes(200))' "$1"; }
while read -r name bytes; do
    header "$bytes" >"$name"
    run "$WEIR" scan --json "$name"
    is "$name is told" "$status $(jq -r '.summary.unscanned[].path' "$dir/out")" "3 $name"
done <<EOF
lzop 894c5a4f000d0a1a0a
lrzip 4c525a4900
squashfs $(printf '68737173%048d04000000' 0)
wim 4d5357494d000000d00000000000010002
EOF
header 4d5357494d000000d00000000000010000 >plain.wim
run "$WEIR" scan --json plain.wim
is 'a wim that is not packed is bytes' "$status $(summary complete)" '0 true'

finish
