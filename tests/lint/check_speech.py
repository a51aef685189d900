"""The repository speaks of the product: no paths of somebody's machine, no talk about how and by
whom it was made, no notes to oneself."""
import re

EXEMPT = r"LICENSE|tests/lint/check_(speech|selftest)\.py"
BINARY = re.compile("\0")

RULES = [
    ("no path of one machine", r"(?<![\w.~-])/work/|(?<![\w.])/tmp/(b-|bash_)|\.\./shared/"),
    ("no talk of how it was made",
     r"\bsub-?agents?\b|\bhelper agents?\b|\bAI[- ](agent|assistant|generated)|\blanguage model\b"
     r"|\b(this|previous|earlier|last|next|another) session\b|\bsession of the project\b"
     r"|\bClaude\b|\bAnthropic\b|\bChatGPT\b|\bCopilot\b|\bas an AI\b"),
    ("no number of an issue in place of a reason", r"\b[Ii]ssue #?\d+\b|\b(fixes|closes) #\d+"),
    ("no note to oneself without its reason", r"\b(TODO|FIXME|XXX|HACK)\b(?!\s*:?\s*\S.*\bbecause\b)"),
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
