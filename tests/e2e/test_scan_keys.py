#!/usr/bin/env python3
"""Private keys of every kind, written in every way, beside mentions and pieces of others.

Each must be told exactly once, from its own first line on, and to its last where it is whole; what only
speaks of keys is told not at all. Prints TAP, a line for each way to write them.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import scan_keys as keys  # noqa: E402

SHOWN_MAX = 5
BEFORE, BEHIND = "# text before\n", "text behind, which goes on\n"
# Of a key that is wider than a rule can be, the lines behind that are told one by one where each is
# assigned.
NOT_HUGE = ("append",)


class Cases:
    """Texts by name, in groups, and where keys are in each: [(from, to)], to may be None."""

    def __init__(self):
        self.texts, self.groups = {}, {}

    def add(self, group, name, text, places):
        self.groups.setdefault(group, []).append(name := f"{group}/{name}")
        self.texts[name] = (text if isinstance(text, bytes) else text.encode(), places)


def places_of(text, first, last=None, count=1):
    """Where lines are in a text, from the first line of a key to its last."""
    found, at = [], 0
    for _ in range(count):
        at = text.index(first, at)
        found.append((at, text.index(last, at) + len(last) if last else None))
        at += 1
    return found


def piece_of(lines):
    """The lines of a key that was cut off."""
    return lines[: 2 if len(lines) < 6 else max(7, len(lines) // 2)]


def add_forms(cases):
    for name, form in keys.FORMS.items():
        for kind, lines in keys.usual(0).items():
            text = BEFORE + form(lines) + BEHIND
            cases.add(f"whole, {name}", kind, text, places_of(text, lines[0], lines[-1]))
            piece = piece_of(lines)
            text = BEFORE + form(piece) + BEHIND
            cases.add(f"cut, {name}", kind, text, places_of(text, lines[0]))
        for kind, lines in keys.sized(20000, 0).items():
            text = BEFORE + form(lines) + BEHIND
            if name not in NOT_HUGE:
                cases.add(f"wider than a rule, {name}", kind, text, places_of(text, lines[0]))
    for name, form in keys.WHOLE.items():
        for kind, lines in {**keys.usual(0), **keys.sized(20000, 0)}.items():
            cases.add(f"encoded, {name}", kind, form("\n".join(lines) + "\n"), [(None, None)])
    for width in (12, 16, 20, 40, 100):
        for kind, lines in keys.usual(0).items():
            text = BEFORE + "\n".join(keys.narrow(lines, width)) + "\n" + BEHIND
            cases.add("lines of another width", f"{kind}, {width}", text,
                      places_of(text, lines[0], lines[-1]))
    for length in (7000, 9300, 11700):
        for name in ("plain", "crlf", "json"):
            for kind, lines in keys.sized(length, 0).items():
                text = BEFORE + keys.FORMS[name](lines) + BEHIND
                cases.add(f"9 to 16 KiB, {name}", kind, text, places_of(text, lines[0], lines[-1]))


def add_putty(cases):
    """Where these end nothing says; some forms end in the middle of a line that tells how many follow."""
    lines, other = keys.putty(0), keys.putty(1)
    for name, form in keys.FORMS.items():
        text = BEFORE + form(lines) + BEHIND
        cases.add("putty", name, text, places_of(text, lines[0]))
    text = f"a file that begins with {lines[0]} and goes on\n" + "\n".join(other)
    cases.add("putty", "behind a mention", text, [(text.rindex(lines[0]), None)])
    text = "\n".join(lines[:5]) + "\n\n" + "\n".join(other)
    cases.add("putty", "behind the public half", text, [(text.rindex(lines[0]), None)])
    text = "\n".join(lines) + "\n" + "\n".join(other)
    cases.add("putty", "two", text, places_of(text, lines[0], count=2))
    cases.add("putty", "public half", "\n".join(lines[:5]), [])


MENTIONS = {
    "prose": "Look for %s in the file\n\n",
    "code": 'if (strstr(line, "%s")) return 1;\n',
    "line": "%s\n",
    "two": '"%s" and "-----END"\n',
    "placeholder": "# %s\n# <your key here>\n",
    "dots": "`%s`, `...` and\n",
}


def add_positions(cases):
    others = keys.usual(1)
    for name in ("plain", "hash", "json", "percent-0a", "c"):
        form = keys.FORMS[name]
        for kind, lines in keys.usual(0).items():
            piece, other = form(piece_of(lines)), form(others[kind])
            first, last = lines[0], lines[-1]
            text = form(lines) + other
            cases.add(f"two, {name}", kind, text, places_of(text, first, last, 2))
            text = piece + "and\n" + other
            cases.add(f"behind a piece, {name}", kind, text,
                      [(text.index(first), None), (text.rindex(first), text.rindex(last) + len(last))])
            text = other + piece
            cases.add(f"before a piece, {name}", kind, text,
                      [(text.index(first), text.index(last) + len(last)), (text.rindex(first), None)])
            for mention, words in MENTIONS.items():
                text = words % first + other
                at = text.rindex(first)
                cases.add(f"behind a mention, {name}", f"{kind}, {mention}", text,
                          [(at, text.rindex(last) + len(last))])
                text = words % first + piece + words % first + other
                at = [i for i in range(len(text)) if text.startswith(first, i)]
                cases.add(f"between mentions, {name}", f"{kind}, {mention}", text,
                          [(at[1], None), (at[3], text.rindex(last) + len(last))])


def add_innocents(cases):
    certificate = "\n".join(keys.armour("CERTIFICATE", keys.der(900, 7)))
    public = "\n".join(keys.armour("PUBLIC KEY", keys.der(294, 7)))
    for kind, lines in keys.usual(0).items():
        first, last, whole = lines[0], lines[-1], "\n".join(lines)
        texts = {
            "expression": first + r"[\s\S]{32,16200}?" + last,
            "code": f'if (text.startsWith("{first}") && text.trimEnd().endsWith("{last}")) return 1;\n',
            "prose": f"A key begins with {first} and lines of base64 follow, until {last} ends it.\n",
            "dots": f"{first}\n{lines[1][:12]}...\n{last}\n",
            "letters": f"{first}\n" + ("x" * 64 + "\n") * 5 + f"{last}\n",
            "placeholder": f"{first}\n<paste the private key of the service here>\n{last}\n",
            "variable": f"{first}\n${{PRIVATE_KEY_CONTENTS_FROM_VAULT}}\n{last}\n",
            "path": f'"{first}" of /usr/share/doc/packages/keys/README and "{last}"\n',
            "public key": whole.replace("ENCRYPTED PRIVATE", "PUBLIC").replace("PRIVATE", "PUBLIC"),
            "certificate": certificate,
            "mention before a certificate": f"{first}\n{certificate}\n",
            "mention around a public key": f"{first}\n{public}\n{last}\n",
            "encoder": f'pem = "{first}\\n" + base64.encode(key.getEncoded()) + "\\n{last}\\n";\n',
            "decoder": f'key.replace("{first}", "").replace("{last}", "").replaceAll("\\\\s", "")\n',
        }
        texts.update({f"mention, {name}": words % first for name, words in MENTIONS.items()})
        for name, text in texts.items():
            cases.add("innocent", f"{kind}, {name}", text, [])


def scan(weir, cases):
    """What is told of each: [(from, to)]."""
    with tempfile.TemporaryDirectory() as folder:
        names = sorted(cases.texts)
        for number, name in enumerate(names):
            with open(f"{folder}/{number}", "wb") as file:
                file.write(cases.texts[name][0])
        env = {**os.environ, "XDG_CACHE_HOME": folder + "/cache"}
        os.mkdir(folder + "/cache")
        run = subprocess.run([weir, "scan", "--format=json", "--files-from=-"], env=env, cwd=folder,
                             input=b"".join(b"%d\n" % i for i in range(len(names))), capture_output=True)
        report = json.loads(run.stdout)
        told = {name: [] for name in names}
        for finding in report["findings"]:
            for place in finding["places"]:
                told[names[int(place["path"])]].append((place["offset"], place["offset"] + place["length"]))
        return told, run.stderr.decode()


def is_right(told, places):
    return len(told) == len(places) and all(
        begin in (None, at) and end in (None, to)
        for (at, to), (begin, end) in zip(sorted(told), places))


def main():
    cases = Cases()
    add_forms(cases)
    add_putty(cases)
    add_positions(cases)
    add_innocents(cases)
    told, errors = scan(os.environ["WEIR"], cases)
    failed = 0
    for number, (group, names) in enumerate(cases.groups.items(), 1):
        wrong = [name for name in names if not is_right(told[name], cases.texts[name][1])]
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {group}: {len(names)} texts")
        for name in wrong[:SHOWN_MAX]:
            print(f"# {name}: {sorted(told[name])[:SHOWN_MAX]}, not {cases.texts[name][1]}")
    print(f"# {len(cases.texts)} texts; {errors.strip() or 'no warnings'}")
    print(f"1..{len(cases.groups)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
