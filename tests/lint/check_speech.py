"""The repository speaks of the product: no paths of somebody's machine, no talk about how and by
whom it was made, no notes to oneself. The patterns are put together from pieces, so that this file
is held to them as well."""
import re

EXEMPT = r"LICENSE|tests/fuzz/corpus/.*|rules/.*"  # rules name providers and show made-up secrets
BINARY = re.compile("\0")

# A folder below one of these is on one machine only. A template of mkdtemp() is not a folder yet.
PRIVATE = r"(?<![\w.~/-])/(?:" + "|".join(("home", "root", "tmp")) + r")/(?!\S*X{6})[\w.-]"
WORKPLACE = r"(?<![\w.~/-])/" + r"work\w*\b"
NEIGHBOUR = r"\.\./" + "shared/"
MAKERS = "|".join((
    r"\bsub-?" r"agents?\b", r"\bhelper " r"agents?\b", r"\bAI[- ]" r"(?:agent|assistant|generated)",
    r"\blanguage " r"model\b", r"\b(?:this|previous|earlier|last|next|another) " r"session\b",
    r"\bsession of " r"the project\b", r"\bCla" r"ude\b", r"\bAnth" r"ropic\b",
    r"\bChat" r"GPT\b", r"\bCo" r"pilot\b", r"\bas an " r"AI\b"))
NOTES = "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK"))

RULES = [
    ("no path of one machine", f"{PRIVATE}|{WORKPLACE}|{NEIGHBOUR}"),
    ("no talk of how it was made", MAKERS),
    ("no number of an issue in place of a reason", r"\b[Ii]ssue #?\d+\b|\b(fixes|closes) #\d+"),
    ("no note to oneself without its reason", rf"\b({NOTES})\b(?!\s*:?\s*\S.*\bbecause\b)"),
    ("no conflict left over", r"^(<{7}|>{7}) "),
]


def check(tree):
    texts = {}
    for name in tree.names():
        text = tree.text(name)
        if not re.fullmatch(EXEMPT, name) and not BINARY.search(text):
            texts[name] = text.splitlines()
    for title, pattern in RULES:
        problems = []
        for name, lines in texts.items():
            for number, line in enumerate(lines, 1):
                match = re.search(pattern, line)
                if match:
                    problems.append(f"{name}:{number}: '{match.group(0)}'")
        yield title, problems
    yield "no blank at the end of a line", trailing(texts)


def trailing(texts):
    problems = []
    for name, lines in texts.items():
        if name.endswith(".md"):
            continue
        problems += [f"{name}:{number}: blank at the end" for number, line in enumerate(lines, 1)
                     if re.search(r"[ \t]$", line)]
    return problems
