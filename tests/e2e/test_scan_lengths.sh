#!/bin/bash
# Values of many lengths in each form that a named one is written in: each is told once, at its place, whole or,
# above 4,096 bytes, by its beginning. Web tokens are told whole up to 8,192 bytes of what they say.
set -euo pipefail
# shellcheck source=tests/e2e/scan_lib.sh
source "$(dirname "$0")/scan_lib.sh"
need_tools jq python3

tree

# Writes a file for each form and length, and to the first argument what is to be told of it. '@' is the value.
cat >"$dir/write.py" <<'END'
import random, string, sys
FORMS = {
    "equal": 'api_key = "@"', "define": '#define API_KEY "@"', "arrow": 'api_key <- "@"',
    "type": 'let apiKey: String? = "@"', "call": 'var jwtKey = []byte("@")', "bracket": 'api_key = ("@")',
    "or": 'const apiKey = options.apiKey || "@"', "env": 'k = process.env.API_KEY || "@"',
    "getenv": 'k = os.getenv("API_KEY") or "@"', "default": "x: ${API_KEY:-@}", "variable": "API_KEY=${X:-@}",
    "xml": "<api_key>@</api_key>", "cdata": "<api_key><![CDATA[@]]></api_key>", "value": '<api-key value="@"/>',
    "entry": '<entry key="api_key">@</entry>', "string": '<string name="api_key">@</string>',
    "add": '<add key="apiKey" value="@"/>', "pair": '{"name": "API_KEY", "value": "@"}',
    "table": "| api_key | @ |", "bearer": "Authorization: Bearer @", "password": 'password = "@"',
    "password-xml": "<password>@</password>", "password-cdata": "<password><![CDATA[@]]></password>",
    "password-value": '<password value="@"/>', "password-table": "| password | @ |",
    "password-bracket": 'password = ["@"]',
}
made = random.Random(4096)
LETTERS = [c for c in string.ascii_letters + string.digits if c not in "aeiouxAEIOUX"]  # no words by chance
def text(length):
    return "".join(made.choice(LETTERS) for _ in range(length))
told = []
def write(name, form, value, length):
    with open(name, "w") as file:
        file.write(form.replace("@", value) + "\n")
    told.append(f"{name} {form.index('@') + 1} {length}")
for name, form in FORMS.items():
    for length in (40, 130, 210, 1500, 2047, 4095, 4096, 4097, 9000):
        write(f"{name}-{length}", form, text(length), min(length, 4096))
HEAD = "eyJ" + "hbGciOiJIUzI1NiJ9"
for length in (100, 3990, 4100, 8192):
    value = f"{HEAD}.eyJ{text(length)}.{text(43)}"
    write(f"payload-{length}", "@", value, len(value))
write("payload-9000", "@", f"{HEAD}.eyJ{text(9000)}.{text(43)}", len(HEAD) + 4 + 8192)
for length in (900, 1500, 4096, 4100, 7900):
    value = f"eyJ{text(length)}.eyJ{text(100)}.{text(43)}"
    write(f"header-{length}", "@", value, len(value))
with open(sys.argv[1], "w") as file:
    file.write("\n".join(sorted(told)) + "\n")
END
python3 "$dir/write.py" "$dir/told"

run "$WEIR" scan --json .
jq -r '.findings[].places[] | "\(.path) \(.column) \(.length)"' "$dir/out" | sed 's,^\./,,' | LC_ALL=C sort >"$dir/found"
LC_ALL=C sort -o "$dir/told" "$dir/told"
if wrong=$(diff "$dir/told" "$dir/found"); then
    pass "every length in every form is told once, at its place"
else
    fail "every length in every form is told once, at its place" "$wrong"
fi
finish
