"""scan_keys.py - private keys as people write them: kinds of keys, ways to write one, and where another is.

Each case is a text and where its keys begin in it. Keys are made of noise behind the few bytes that their
kind begins with, so that nothing here is one.
"""
import base64
import random
import textwrap
import urllib.parse


def noise(length, which):
    return random.Random(f"{length} {which}").randbytes(length)


def der(length, which, head=b"\x02\x01\x00\x02\x82\x01\x01\x00"):
    """A sequence of so many bytes that begins like a key."""
    if length < 128:
        size = bytes([length])
    elif length < 256:
        size = bytes([0x81, length])
    else:
        size = b"\x82" + length.to_bytes(2, "big")
    return b"0" + size + head + noise(length - len(head), which)


def armour(label, data, width=64, headers=(), behind=(), dashes=5):
    """The lines of a key."""
    rule = "-" * dashes + (" " if dashes == 4 else "")
    tail = rule[::-1]
    return [f"{rule}BEGIN {label}{tail}", *headers, *textwrap.wrap(base64.b64encode(data).decode(), width),
            *behind, f"{rule}END {label}{tail}"]


RSA_OID = bytes.fromhex("020100300d06092a864886f70d0101010500048204a7")
DEK = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC," + noise(16, "iv").hex().upper(), ""]
ENCRYPTED = bytes.fromhex("305706092a864886f70d01050d304a302906")
OPENSSH = b"openssh-key-v1\0\0\0\0\4none\0\0\0\4none\0\0\0\0\0\0\0\1\0\0\0"


def ssh2(length, which):
    return armour("SSH2 ENCRYPTED PRIVATE KEY", bytes.fromhex("3f6ff9eb000002a9") + noise(length, which), 70,
                  ['Comment: "rsa"'], (), 4)


def pgp(length, which):
    return armour("PGP PRIVATE KEY BLOCK", b"\x95\x03\x98\x04" + noise(length, which), 64, [""],
                  ["=" + base64.b64encode(noise(3, which)).decode()])


def usual(which):
    """Keys by the name of their kind, as long as they are mostly; others for another number."""
    private = "PRIVATE KEY"
    ed25519 = bytes.fromhex("020100300506032b657004220420")
    return {
        "rsa": armour("RSA " + private, der(1190, which)),
        "rsa-1024": armour("RSA " + private, der(605, which)),
        "pkcs8": armour(private, der(1214, which, RSA_OID)),
        "ec": armour("EC " + private, der(0x77, which, b"\x02\x01\x01\x04\x20")),
        "dsa": armour("DSA " + private, der(444, which)),
        "ed25519": armour(private, der(0x2e, which, ed25519)),
        "openssh": armour("OPENSSH " + private, OPENSSH + noise(1700, which), 70),
        "openssh-ed25519": armour("OPENSSH " + private, OPENSSH + noise(350, which), 70),
        "rsa-encrypted": armour("RSA " + private, noise(1200, which), 64, DEK),
        "encrypted": armour("ENCRYPTED " + private, der(1320, which, ENCRYPTED)),
        "any": armour("ANY " + private, der(1190, which)),
        "pgp": pgp(2000, which),
        "ssh2": ssh2(700, which),
    }


def putty(which):
    """A file of PuTTY."""
    halves = [base64.b64encode(noise(length, which)).decode() for length in (51, 36)]
    return ["PuTTY-User-Key-File-3: ssh-ed25519", "Encryption: none", "Comment: made up", "Public-Lines: 2",
            *textwrap.wrap(halves[0], 64), "Private-Lines: 1", halves[1],
            "Private-MAC: " + noise(32, which).hex()]


def sized(length, which):
    """One of each label, so many bytes long before it is written."""
    private = "PRIVATE KEY"
    made = {f"{label or 'pkcs8'} of {length}".lower(): armour(f"{label} {private}".strip(), der(length, which))
            for label in ("", "RSA", "EC", "DSA", "ANY")}
    made[f"encrypted of {length}"] = armour("ENCRYPTED " + private, der(length, which, ENCRYPTED))
    made[f"openssh of {length}"] = armour("OPENSSH " + private, OPENSSH + noise(length, which), 70)
    made[f"dek of {length}"] = armour("RSA " + private, noise(length, which), 64, DEK)
    made[f"pgp of {length}"] = pgp(length, which)
    made[f"ssh2 of {length}"] = ssh2(length, which)
    return made


def margin(before, end="\n"):
    return lambda lines: "".join(before + line + end for line in lines)


def joined(before, behind, first="", last=""):
    return lambda lines: first + "\n".join(before + line + behind for line in lines) + last


def escaped(line_end, first="", last=""):
    return lambda lines: first + line_end.join(lines) + last


# Ways to write the lines of a key. All but the last group leave its first line as it is.
FORMS = {
    "plain": margin(""),
    "crlf": margin("", "\r\n"),
    "cr": margin("", "\r"),
    "hash": margin("# "),
    "hash-glued": margin("#"),
    "slashes": margin("// "),
    "slashes-glued": margin("//"),
    "star": margin(" * "),
    "quote": margin("> "),
    "quotes": margin("> > "),
    "plus": margin("+"),
    "minus": margin("-"),
    "minus-blank": margin("- "),
    "semicolon": margin("; "),
    "dashes": margin("-- "),
    "percent-comment": margin("% "),
    "pipe": margin("| "),
    "bang": margin("! "),
    "tab": margin("\t"),
    "rem": margin("REM "),
    "line-numbers": lambda lines: "".join(f"{i + 10:4}: {line}\n" for i, line in enumerate(lines)),
    "log": margin("2026-11-16T11:17:32.123456Z host-7.example.net application[12345]: INFO key is "),
    "grep": lambda lines: "".join(f"etc/key.pem-{line}\n" for i, line in enumerate(lines)),
    "yaml": lambda lines: "key: |\n" + "".join(f"    {line}\n" for line in lines) + "next: 1\n",
    "yaml-folded": lambda lines: "key: >\n" + "".join(f"    {line}\n\n" for line in lines) + "next: 1\n",
    "yaml-list": lambda lines: "".join(f"  - {line}\n" for line in lines),
    "json": escaped("\\n", '{"key": "', '\\n"}\n'),
    "json-crlf": escaped("\\r\\n", '{"key": "', '\\r\\n"}\n'),
    "json-twice": escaped("\\\\n", '"{\\"key\\": \\"', '\\\\n\\"}"\n'),
    "json-array": joined('  "', '",', '{"key": [\n', '\n  ""]}\n'),
    "escape-and-break": escaped("\\n\\\n", "key = '", "\\n'\n"),
    "cdata": escaped("\n", "<key><![CDATA[", "]]></key>\n"),
    "html-13": escaped("&#13;\n", "<key>", "</key>\n"),
    "html-10": escaped("&#10;", '<key v="', '"/>\n'),
    "html-xa": escaped("&#xA;", '<key v="', '"/>\n'),
    "html-13-10": escaped("&#13;&#10;", '<key v="', '"/>\n'),
    "html-br": escaped("<br>", "<p>", "</p>\n"),
    "html-br-blank": escaped("<br />\n", "<p>", "</p>\n"),
    "no-line-ends": escaped("", 'KEY="', '"\n'),
    "blanks": escaped(" ", 'KEY="', '"\n'),
    "percent-0a": escaped("%0A", "key=", "&next=1\n"),
    "percent-0d0a": escaped("%0D%0A", "key=", "&next=1\n"),
    "python": joined("    '", "\\n'", "key = (\n", ")\n"),
    "java": joined('    "', '\\n" +', "String key =\n", '\n"";\n'),
    "java-leading": joined('    + "', '\\n"', 'String key = ""\n', ";\n"),
    "c": joined('    "', '\\n"', "char key[] =\n", ";\n"),
    "c-backslash": joined("", "\\n\\", 'char key[] = "', '\n";\n'),
    "php": joined("    '", "' . PHP_EOL .", "$key =\n", "\n'';\n"),
    "vb": joined('    "', '" & vbCrLf & _', "key = _\n", '\n""\n'),
    "javascript": joined("    '", "',", "const key = [\n", "\n].join('\\n');\n"),
    "shell": joined("echo '", "' >> key.pem", "", "\n"),
    "append": joined('key += "', '\\n";', 'key = "";\n', "\n"),
    "go": joined("`", '` + "\\n" +', "key :=\n", "\n``\n"),
    "empty-lines": escaped("\n\n"),
    "template": escaped("\n", "key = `", "`;\n"),
}


def narrow(lines, width):
    """The same key in lines of another width."""
    first = next(i for i, line in enumerate(lines) if len(line) > 60)
    last = next(i for i in range(first, len(lines)) if not line_of(lines[i]))
    return [*lines[:first], *textwrap.wrap("".join(lines[first:last]), width), *lines[last:]]


def line_of(line):
    return line[:1] not in ("-", "=")


# How the bytes are encoded afterwards.
WHOLE = {
    "utf-16le": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "utf-16be": lambda text: text.encode("utf-16-be"),
    "base64": lambda text: b"KEY=" + base64.b64encode(text.encode()) + b"\n",
    "base64-76": lambda text: base64.encodebytes(text.encode()),
    "base64-64-margin": lambda text: b"".join(
        b"    " + line.encode() + b"\n" for line in textwrap.wrap(base64.b64encode(text.encode()).decode(), 64)),
    "base64-0a": lambda text: b"key=%0A" + b"%0A".join(
        line.encode() for line in textwrap.wrap(base64.b64encode(text.encode()).decode(), 64)) + b"\n",
    "base64-empty-lines": lambda text: b"\n\n".join(
        line.encode() for line in textwrap.wrap(base64.b64encode(text.encode()).decode(), 64)) + b"\n",
    "percent": lambda text: b"key=" + urllib.parse.quote(text, safe="").encode() + b"&next=1\n",
    "form": lambda text: b"key=" + urllib.parse.quote_plus(text).encode() + b"&next=1\n",
    "hex": lambda text: text.encode().hex().encode() + b"\n",
}
