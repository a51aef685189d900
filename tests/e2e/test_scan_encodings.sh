#!/bin/bash
# A token in each encoding that is decoded, by table, at once and inside of each other: it is found,
# with its chain of encodings, where it is in the bytes of the file, and by no other name.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3

tree
export pat

# What each coder makes of bytes. "wide" ones are a whole file, the others stand in a line of text.
cat >"$dir/encode.py" <<'END'
import base64, binascii, os, sys
token = os.environ["pat"].encode()
CODERS = {
    "base64": base64.b64encode,
    "base64-bare": lambda b: base64.b64encode(b).rstrip(b"="),
    "base64url": base64.urlsafe_b64encode,
    "base64url-bare": lambda b: base64.urlsafe_b64encode(b).rstrip(b"="),
    "hex": binascii.hexlify,
    "hex-upper": lambda b: binascii.hexlify(b).upper(),
    "percent": lambda b: b"".join(b"%%%02x" % c for c in b),
    "percent-upper": lambda b: b"".join(b"%%%02X" % c for c in b),
    "percent-some": lambda b: b"".join(b"%%%02X" % c if i % 3 == 0 else bytes([c]) for i, c in enumerate(b)),
    "unicode": lambda b: b"".join(b"\\u%04x" % c for c in b),
    "unicode-upper": lambda b: b"".join(b"\\u%04X" % c for c in b),
    "unicode-some": lambda b: b"".join(b"\\u%04x" % c if i % 3 == 0 else bytes([c]) for i, c in enumerate(b)),
    "percent-u": lambda b: b"".join(b"%%u%04x" % c for c in b),
    "escape-x": lambda b: b"".join(b"\\x%02x" % c for c in b),
    "octal": lambda b: b"".join(b"\\%03o" % c for c in b),
    "entity": lambda b: b"".join(b"&#%d;" % c for c in b),
    "hex-apart": lambda b: b" ".join(b"%02x" % c for c in b),
    "hex-listed": lambda b: b", ".join(b"0x%02x" % c for c in b),
    "wide-le": lambda b: b.decode("latin-1").encode("utf-16-le"),
    "wide-be": lambda b: b.decode("latin-1").encode("utf-16-be"),
    "wide-le-bom": lambda b: b"\xff\xfe" + b.decode("latin-1").encode("utf-16-le"),
    "wide-be-bom": lambda b: b"\xfe\xff" + b.decode("latin-1").encode("utf-16-be"),
}
kinds, out = sys.argv[1].split("+"), sys.argv[2]
# Around it stands what makes the two alphabets of base64 differ, and all remainders of three.
data = b"~~?" + b"k" * int(sys.argv[3]) + b" the token is " + token + b" >>>???"
for i, kind in enumerate(kinds):
    data = CODERS[kind](data)
    if i + 1 < len(kinds) and not kind.startswith("wide"):
        data = b"it reads: " + data + b" and ends"
if not kinds[-1].startswith("wide"):
    data = b"first line\nvalue = '" + data + b"' # done\n"
open(out, "wb").write(data)
END

# How it is encoded, from the inside, and what a report calls that, from the outside.
table='
base64|base64
base64-bare|base64
base64url|base64
base64url-bare|base64
hex|hex
hex-upper|hex
percent|percent
percent-upper|percent
percent-some|percent
unicode|unicode
unicode-upper|unicode
unicode-some|unicode
percent-u|percent
escape-x|unicode
octal|unicode
entity|unicode
hex-apart|hex
hex-listed|hex
wide-le|utf-16le
wide-be|utf-16be
wide-le-bom|utf-16le
wide-be-bom|utf-16be
base64+base64|base64 base64
base64url+hex|hex base64
hex+base64-bare|base64 hex
percent+base64|base64 percent
unicode+hex-upper|hex unicode
base64+percent|percent base64
hex+unicode|unicode hex
base64+wide-le|utf-16le base64
hex+wide-be-bom|utf-16be hex
percent+wide-be|utf-16be percent
unicode+wide-le-bom|utf-16le unicode
wide-le+base64|base64 utf-16le
wide-be+hex|hex utf-16be
base64+base64+base64|base64 base64 base64
hex+base64url-bare+percent|percent base64 hex
unicode+base64+wide-be-bom|utf-16be base64 unicode
'

# path, chain, and the bytes that the place names, decoded by the table's own coders: the token lies
# in them or they in it.
while IFS='|' read -r kinds chain; do
    [[ -n $kinds ]] || continue
    for pad in 0 1 2; do
        rm -f -- *
        python3 "$dir/encode.py" "$kinds" f "$pad"
        run "$WEIR" scan --json f
        got=$(jq -r '[.findings[] | .rule + " " + (.places | map(.encodings | join(" ")) | join(","))] | join(";")' "$dir/out")
        is "$kinds, $pad bytes further: once, with its chain" "$status $got" "1 github-pat $chain"
        inside=$(jq -r --argjson size "$(stat -c %s f)" \
            '.findings[0].places[0] | .offset >= 0 and .length >= 40 and .offset + .length <= $size' "$dir/out")
        is "$kinds, $pad bytes further: its place is in the file" "$inside" true
    done
done <<<"$table"

# --- what stands behind lines of base64 ---

for behind in ' ' ' # the key' ' */' ' a word'; do
    rm -f -- *
    printf '%s%s\n' "$(printf 'user=bob pass %s ok' "$pat" | base64 -w48)" "$behind" >f
    run "$WEIR" scan --json f
    is "lines of base64 with '$behind' behind them" \
        "$status $(jq -r '.findings[0].rule' "$dir/out")" '1 github-pat'
done

# --- what stands between lines ---

# What is before the first line, and between each two: the token goes over the break.
while IFS='|' read -r before between; do
    [[ -n $between ]] || continue
    for coder in base64 hex; do
        rm -f -- *
        lines=$(python3 -c 'import base64, os, sys
text = b"fill fill fill fill fill fill fill " + os.environ["pat"].encode()
print((base64.b64encode(text) if sys.argv[1] == "base64" else text.hex().encode()).decode())' "$coder" | fold -w 64)
        printf -v gap '%b' "$between"
        printf '%s%s\n' "$before" "${lines//$'\n'/"$gap"}" >f
        run "$WEIR" scan --json f
        is "lines of $coder with '$between' between them" \
            "$status $(jq -r '[.findings[] | .rule + " " + (.places | length | tostring)] | join(",")' "$dir/out")" \
            '1 github-pat 1'
    done
done <<'END'
| \n
|\t\r\n
|\r
+|\n+
-|\n-
//|\n//
#|\n#
-- |\n--\x20
; |\n;\x20
/// |\n///\x20
>> |\n>>\x20
|<br>
|<br />\n
x = "|";\nx += "
x = "|" & _\n    "
END

# --- a line with a sign before it, behind lines of another text ---

# As in a diff: the sign is one of base64, and with it the line is as wide as the one before, or less.
rm -f -- *
python3 - <<'END'
import base64, os
other = base64.b64encode(b"what was there before is as long as 57 bytes, and ends so.").decode()
for sign in "-", "+", "/", "//", "-+", "+++":
    for lead in range(12):
        text = base64.b64encode(b"a b c d e f "[:lead] + os.environ["pat"].encode() + b" x"[: lead % 3]).decode()
        text = text.rstrip("=") if lead % 2 else text
        for width in 60, 64, 72, 76:
            name = f"{width}-{lead}-{sign.replace('/', 's')}"
            open(name, "w").write((other + other)[:width] + "\n" + sign + text + "\n")
END
run "$WEIR" scan --json .
is 'a line with a sign of base64 before it, behind another text: found in each file' \
    "$(jq -r '.findings | length' "$dir/out") $(places | uniq | wc -l) $(places | wc -l)" '1 288 288'

# --- UTF-16 behind UTF-16 ---

# A text with a mark, a few bytes, and the next text, with a mark or without.
rm -f -- *
python3 - <<'END'
import os
mark = {"le": b"\xff\xfe", "be": b"\xfe\xff"}
for first in mark:
    for second in mark:
        for is_marked in (True, False) if first == second else (True,):
            for between in "\n", "\n\n", " - ", "--part":
                open(f"{first}-{second}-{is_marked}-{len(between)}", "wb").write(
                    mark[first] + "the first text is no secret".encode("utf-16-" + first) + between.encode() +
                    (mark[second] if is_marked else b"") + os.environ["pat"].encode("utf-16-" + second) + b"\n")
END
run "$WEIR" scan --json .
is 'UTF-16 behind UTF-16 with a mark: found in each file' \
    "$(jq -r '.findings | map(.rule) | join(" ")' "$dir/out") $(places | uniq | wc -l) $(places | wc -l)" 'github-pat 24 24'

# Both orders fit, and an escape is in what the one has before it: one secret all the same.
rm -f -- *
python3 -c 'import os, sys
sys.stdout.buffer.write(b"see " + "k &amp; v ".encode("utf-16-le") + b"; " + ("is " + os.environ["pat"]).encode("utf-16-le"))' >f
run "$WEIR" scan --json f
is 'UTF-16 of either order beside an escape: told once' \
    "$(jq -r '[.findings[] | .rule + " " + (.places | length | tostring)] | join(",")' "$dir/out")" 'github-pat 1'

# --- an escape by chance ---

rm -f -- *
key='j2!7l!sy)w#nukh+%78q@p6jc@88=f9#h1eapk^k1lid%qf-dc'
printf "SECRET_KEY = '%s'\n" "$key" >f
run "$WEIR" scan --json --show-secrets f
is 'a value that is not encoded as a whole is told as it is' \
    "$(jq -r '.findings[] | .secret + " " + (.places[0].encodings | join(","))' "$dir/out")" "$key "

# --- the depth ---

rm -f -- *
python3 "$dir/encode.py" base64+base64+base64+base64 four 0
run "$WEIR" scan --json four
is 'four deep is deeper than the default' "$status $(jq '.findings | length' "$dir/out")" '0 0'
run "$WEIR" scan --json --decode-depth=4 four
is 'and found when it is asked for' "$status $(jq -r '.findings[0].places[0].encodings | length' "$dir/out")" '1 4'
python3 "$dir/encode.py" base64 one 0
run "$WEIR" scan --json --decode-depth=0 one
is 'nothing is decoded at depth 0' "$status" 0

finish
