#!/usr/bin/env python3
"""docs/seeds.md is true: every row is whole, and what it points at exists.

A reference is a word in backticks in one of the last two columns: `path`, or `path:name` for a
symbol, a test, a scenario, a check of a model or a label inside that file. A name counts where it
stands in code: not in a comment, and of a function in a C file only its definition. What follows
the words "to come" in a cell is a plan and is not looked up. Run by itself, it takes --closed:
nothing may be left to come or without a test.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

from tree import TOKEN, Tree  # noqa: E402

PAGE = "docs/seeds.md"

CAPABILITIES = {"copy", "scan", "scan on git", "storage", "index", "one product"}
SERIES = {"DS": "Device slots", "RP": "Resource pool", "BS": "Bounded semaphore",
          "ST": "Storage service", "IX": "Index service", "C": "Corrections",
          "SD": "Smaller differences"}
INVARIANTS = {"ST": 11, "IX": 14}
CORRECTIONS = 14

ROOMS = {"include", "src", "docs", "man", "tests", "models", "bench", "script", "rules", "web",
         ".ci", "debian"}
ROOT_FILES = {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE",
              "meson.build", "meson_options.txt", ".clang-format", ".editorconfig"}

ROW = re.compile(r"^\| ([A-Z]+)-(\d+) \|")
TICKED = re.compile(r"`([^`]+)`")
REFERENCE = re.compile(r"^([\w.+-]+(?:/[\w.+-]+)*/?)(?::(.+))?$")
TO_COME = re.compile(r"\bto come\b")
TO_COME_WHAT = re.compile(r"\bto come(?: \(([^)]*)\))?")
NO_TEST = re.compile(r"\bno test\b")
# Tests that have names inside, and what else can prove something.
NAMED_TESTS = re.compile(r"tests/(?:unit|explore|stress|fault)/.*\.c")
PROOFS = ("tests/", "models/", "bench/", "script/")
CROSS = re.compile(r"\b((?:%s)-\d+)\b" % "|".join(SERIES))
# Words with which a cell may say that there is nothing to point at.
PLAIN = ("none", "no test", "out of scope", "no equivalent", "this table", "the page",
         "a plain pointer")


class Row:
    def __init__(self, line_number, prefix, number, cells):
        self.line_number, self.prefix, self.number = line_number, prefix, int(number)
        self.id = f"{prefix}-{number}"
        self.cells = cells

    def built(self):
        """The last two cells, each up to where it speaks of what is to come."""
        return [TO_COME.split(cell, maxsplit=1)[0] for cell in self.cells[2:]]

    def references(self):
        for cell in self.built():
            yield from references_in(cell)

    def proof(self):
        """The cell that holds the proof, all of it: that of a correction holds the place too."""
        return self.cells[3]


def references_in(cell):
    for ticked in TICKED.findall(cell):
        reference = as_reference(ticked)
        if reference:
            yield reference


def as_reference(ticked):
    """(path, name or None) if the word in backticks means a place in the tree."""
    match = REFERENCE.match(ticked)
    if not match:
        # A command line: its first word may be a script of ours.
        match = REFERENCE.match(ticked.split()[0])
        if not match or not match[1].startswith("script/"):
            return None
    path, name = match[1], match[2]
    if path in ROOT_FILES or ("/" in path and path.split("/")[0] in ROOMS):
        return path, name
    return None


def split_cells(line):
    """The cells of a table line; a bar inside backticks does not part them."""
    cells, cell, is_ticked = [], "", False
    for char in line.strip().strip("|"):
        if char == "`":
            is_ticked = not is_ticked
        if char == "|" and not is_ticked:
            cells.append(cell.strip())
            cell = ""
        else:
            cell += char
    return cells + [cell.strip()]


def read_rows(text):
    rows = []
    for line_number, line in enumerate(text.splitlines(), 1):
        match = ROW.match(line)
        if match:
            rows.append(Row(line_number, match[1], match[2], split_cells(line)))
    return rows


def check_shape(rows):
    for row in rows:
        if row.prefix not in SERIES:
            yield f"{row.id}: no series '{row.prefix}'"
        if len(row.cells) != 4:
            yield f"{row.id}: {len(row.cells)} cells, not 4"
        elif not all(row.cells):
            yield f"{row.id}: an empty cell"
    for prefix, title in SERIES.items():
        if not any(row.prefix == prefix for row in rows):
            yield f"no row of '{title}' ({prefix}-)"


def check_unique(rows):
    seen = {}
    for row in rows:
        if row.id in seen:
            yield f"{row.id}: on line {seen[row.id]} and on line {row.line_number}"
        seen[row.id] = row.line_number


def check_gapless(rows):
    for prefix in SERIES:
        numbers = {row.number for row in rows if row.prefix == prefix}
        for number in range(1, max(numbers, default=0) + 1):
            if number not in numbers:
                yield f"{prefix}-{number:02d} is missing; rows are kept, not renumbered"
    for row in rows:
        if row.id != f"{row.prefix}-{row.number:02d}":
            yield f"{row.id}: write {row.prefix}-{row.number:02d}"


def check_invariants(rows):
    for prefix, count in INVARIANTS.items():
        said = " ".join(row.cells[1] for row in rows if row.prefix == prefix)
        for number in range(1, count + 1):
            if f"[I-{number}]" not in said:
                yield f"{SERIES[prefix]}: no row for [I-{number}]"
    count = sum(row.prefix == "C" for row in rows)
    if count < CORRECTIONS:
        yield f"{count} corrections, not {CORRECTIONS}"


def check_plain(rows):
    """Each cell points somewhere, names what is to come, or says why it does neither."""
    for row in rows:
        cells = [row.cells[3]] if row.prefix in ("C", "SD") else row.cells[2:]
        for cell in cells:
            has_reference = any(references_in(cell))
            if not has_reference and not TO_COME.search(cell) and not cell.startswith(PLAIN):
                yield f"{row.id}: '{cell}' points at nothing and does not say why"


def check_proofs(rows):
    """A source is no proof of itself."""
    for row in rows:
        cell = row.proof()
        is_proof = any(path.startswith(PROOFS) for path, _ in references_in(cell))
        if not is_proof and not TO_COME.search(cell) and not cell.startswith(PLAIN):
            yield f"{row.id}: '{cell}' has no test; if there is none, it says 'no test'"


def check_exact(rows):
    for row in rows:
        for path, name in row.references():
            if name:
                continue
            if NAMED_TESTS.fullmatch(path):
                yield f"{row.id}: '{path}' without the name of a test in it"
            elif path.startswith(("src/", "include/")) and path.endswith((".c", ".h")):
                yield f"{row.id}: '{path}' without the name of a function, type or macro in it"


def check_capabilities(rows):
    for row in rows:
        for cell in row.cells[2:]:
            for match in TO_COME_WHAT.finditer(cell):
                if match[1] not in CAPABILITIES:
                    yield (f"{row.id}: '{match[0]}' does not name what brings it; one of: "
                           + ", ".join(sorted(CAPABILITIES)))


def check_cross(rows):
    known = {row.id for row in rows}
    for row in rows:
        for other in CROSS.findall(" ".join(row.cells)):
            if other not in known:
                yield f"{row.id}: refers to '{other}', which is not here"


class Places:
    """What there is in the tree to point at."""

    def __init__(self, tree):
        self.tree, self.texts = tree, {}
        self.files = set(tree.names())
        self.folders = {str(folder) for name in self.files for folder in pathlib.Path(name).parents}

    def text(self, path):
        """What is in the file; of C without the comments."""
        if path not in self.texts:
            text = self.tree.text(path)
            self.texts[path] = TOKEN.sub(uncomment, text) if path.endswith((".c", ".h")) else text
        return self.texts[path]

    def has_symbol(self, path, name):
        """A function of a C file is defined there: its name and a bracket on a line that begins at
        the margin, with no semicolon at the end of the parameters."""
        symbol = re.escape(name.removesuffix("()"))
        pattern = rf"(?<!\w){symbol}(?!\w)"
        if name.endswith("()"):
            pattern += r"\s*\("
            if path.endswith(".c"):
                pattern = rf"^\w[^\n;{{}}]*{pattern}[^;{{}}]*\{{"
        elif path.endswith(".pml"):
            pattern = rf"^ \* holds: {symbol}(?!\w)"
        return re.search(pattern, self.text(path), re.M) is not None

    def has_test(self, path, name):
        """TEST(name) or XP_SCENARIO(name, ...) in C; a label in a script."""
        if not path.endswith((".c", ".cc")):
            return self.has_symbol(path, name)
        pattern = rf"\b(?:TEST|XP_SCENARIO)\(\s*{re.escape(name)}\s*[,)]"
        return re.search(pattern, self.text(path)) is not None


def uncomment(match):
    return " " if match[0].startswith("/") else match[0]


def check_paths(rows, places):
    for row in rows:
        for path, name in row.references():
            path = path.rstrip("/")
            if path not in places.files and path not in places.folders:
                yield f"{row.id}: no '{path}'"
            elif name and path not in places.files:
                yield f"{row.id}: '{path}:{name}', but '{path}' is a folder"


def named(rows, places, is_test):
    for row in rows:
        for path, name in row.references():
            if name and path.startswith("tests/") == is_test and path in places.files:
                yield row, path, name


def check_symbols(rows, places):
    for row, path, name in named(rows, places, False):
        if not places.has_symbol(path, name):
            yield f"{row.id}: '{path}' has no '{name}'"


def check_tests(rows, places):
    for row, path, name in named(rows, places, True):
        if not places.has_test(path, name):
            yield f"{row.id}: '{path}' has no test '{name}'"


def check_closed(rows):
    for row in rows:
        if any(TO_COME.search(cell) for cell in row.cells[2:]):
            yield f"{row.id}: still to come"
        if NO_TEST.search(row.proof()):
            yield f"{row.id}: still without a test"


def check(tree, is_closed=False):
    places = Places(tree)
    rows = read_rows(tree.text(PAGE)) if PAGE in places.files else []
    whole = [row for row in rows if len(row.cells) == 4]
    for title, problems in [
            ("every row has four cells and a known series", check_shape(rows)),
            ("ids are unique", check_unique(rows)),
            ("each series of ids is without a gap", check_gapless(rows)),
            ("all invariants and corrections are there", check_invariants(whole)),
            ("every cell points somewhere or says why not", check_plain(whole)),
            ("every proof is a test, or the row says that there is none", check_proofs(whole)),
            ("what is to come names its capability", check_capabilities(whole)),
            ("rows that are referred to exist", check_cross(whole)),
            ("every path exists", check_paths(whole, places)),
            ("places in code and tests are named exactly", check_exact(whole)),
            ("every symbol is in its file", check_symbols(whole, places)),
            ("every test is in its file", check_tests(whole, places))]:
        yield title, [f"{PAGE}: {problem}" for problem in dict.fromkeys(problems)]
    if is_closed:
        yield "nothing is left to come or without a test", [
            f"{PAGE}: {problem}" for problem in check_closed(whole)]


def smallest():
    """The smallest page that is accepted, for the self-test to break."""
    lines = []
    for prefix in SERIES:
        count = CORRECTIONS if prefix == "C" else INVARIANTS.get(prefix, 1)
        lines += [f"| {prefix}-{n:02d} | [I-{n}] | `docs/seeds.md` | none |" if prefix not in "C SD"
                  else f"| {prefix}-{n:02d} | that | this | none |" for n in range(1, count + 1)]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--closed"]):
        print("usage: check_seeds.py [--closed]", file=sys.stderr)
        return 2
    number = failed = 0
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    for title, problems in check(Tree(root), is_closed=bool(sys.argv[1:])):
        number += 1
        failed += bool(problems)
        for problem in problems:
            print("# " + problem)
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
