#!/usr/bin/env python3
"""The rules of copy against rsync, and its .gitignore against git, over one tree of odd names.

NAMES is tests/e2e/filter_names.c. Each set of rules goes to both sides, and the paths that are left
must be the same. Sets are patterns that were thought of, every class with every byte, and random
ones: WEIR_SEED chooses them (it is printed), WEIR_LONG makes ten times as many. Prints TAP.
"""
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SHOWN_MAX = 5
AT_ONCE = 8  # rsync sleeps at its end for longer than it works
SETS = 200
LONG = 10

# Letters that patterns are made of too, so that things match; and names that have a meaning in
# files of rules or as a pattern.
PLAIN = [b"a", b"b", b"ab", b"ba", b"aa", b"abb", b"c", b".a", b"a.b"]
ODD = [b"a*", b"[a]", b"a\\b", b"\\", b"a b", b"a ", b" a", b"!", b"!a", b"#a", b";a", b"- a",
       b"+ a", b"-", b"a?", b"]", b"^", b"\xc3\xa4", b"\xff", b"a\tb", b"a\rb", b"*", b"**", b"a-",
       b"A", b"0"]

# What a pattern is put together from.
PIECES = ["a", "b", "ab", "c", ".", "A", "*", "*", "*", "**", "**", "***", "?", "?", "/", "/", "/",
          "/", "[ab]", "[!a]", "[^b]", "[a-b]", "[b-a]", "[]a]", "[!]a]", "[a-]", "[-a]", "[\\a]",
          "[a\\-b]", "[\\]]", "[*]", "[**]", "[/]", "[a/b]", "[[:alpha:]]", "[^[:alpha:]]",
          "[[:upper:][:digit:]]", "[[:alpha]", "[[:al:]]", "[[:]", "[[::]]", "[", "[a", "]", "\\a",
          "\\*", "\\?", "\\[", "\\/", "\\\\", "\\", "!", "#", " ", "-", "**/", "/**", "/**/", "*/",
          "/*", "a/", "/a", "a/b", "\xe4", "{a}", "^"]

MANUAL = ["*.b", "/a", "a/", "a/*/b", "/a/**/b", "a/**/b", "/a/**", "a/***", "/a/***", "**/a",
          "/**/a", "**a", "a**", "a**b", "**", "***", "/**", "/***", "/*", "*", "*/", "/*/", "a/*",
          "a/b", "/a/b", "ab/b/", "*/*", "*/*/*", "/*/*/", "**/", "***/", "**/*", "a/**/", "/",
          "//", "a//", "//a", "a//b", "/a/", "a\\b", "a\\\\b", "a\\b*", "a\\\\b*", "a*\\", "\\",
          "\\\\", "a\\*", "\\*", "[a]", "\\[a]", "[[]a]", "a[*]", "*[*]", "[**]", "a[/]b", "a\\/b",
          "a\\/*", "a/**b", "a**/b", "?**/b", "*a**/b", "a?**/b", "b/a**/b", "/a**/b", "a/***/b",
          "a/**\\/b", "a***", "*a***", "\\***", "a/\\***", "[a***", "a*b*", "?", "??", "???", "?/?",
          "/?/?", "**?", "**/?/**", "**a**b**", "a*/**/b*", "*b/**", "**/**", "**/**/a",
          "a/**/**/b", "!", "!a", "! a", "\\!", "\\!a", "#a", "\\#a", ";a", "- a", "- - a", "+ a",
          "+", "-", "a ", " a", "a\\ ", "a\\  ", "a b", "\xe4", "\xc3\xa4", "\xc3?", "a?b", "a.b",
          ".*", "*.*", "{a,b}", "[!a]", "[^a]", "[!!]", "[a-b]*", "[b-a]", "[a-a]", "[--a]",
          "[]-a]", "[!]-a]", "[\\]-a]", "[a-\\b]", "[[:alpha:]-z]", "[a-[:alpha:]]", "[a-", "[a-]",
          "[!", "[]", "[]]", "[[:alpha:]", "[[:alpha:]][[:digit:]]", "[^[:alpha:]]", "[[:foo:]]",
          "[[:ALPHA:]]", "[[:]", "[[:]]", "[[::]]", "[:alpha:]", "[[:alpha]", "[[:alpha]]",
          "[[.a.]]", "[[=a=]]", "a/***/", "a**//", "a/**//", "**//"]
CLASSES = ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
           "upper", "xdigit"]


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def ok(self, name, problems):
        self.number += 1
        self.failed += bool(problems)
        for problem in problems[:SHOWN_MAX]:
            print("\n".join("# " + line for line in problem.splitlines()))
        if len(problems) > SHOWN_MAX:
            print(f"# and {len(problems) - SHOWN_MAX} more")
        print(f"{'not ok' if problems else 'ok'} {self.number} - {name}", flush=True)


class Tree:
    """Directories that are listed before what is in them, with a slash behind; the rest without."""

    def __init__(self, root):
        self.root = os.fsencode(root)
        os.mkdir(self.root)

    def fill(self, chance, depth, at=b""):
        names = PLAIN[:2 * depth] + (ODD if depth == 4 else chance.sample(ODD, depth - 1))
        for name in names:
            path = os.path.join(self.root, at, name)
            kind = chance.random()
            if depth > 1 and (kind < 0.08 or name in PLAIN[:2]):
                os.mkdir(path)
                self.fill(chance, depth - 1, os.path.join(at, name))
            elif kind < 0.52:
                os.symlink(b"..", path)  # leads to a directory and is none
            else:
                open(path, "wb").close()

    def paths(self, at=b""):
        found = []
        for name in sorted(os.listdir(os.path.join(self.root, at))):
            path = os.path.join(at, name)
            full = os.path.join(self.root, path)
            is_dir = os.path.isdir(full) and not os.path.islink(full)
            found.append(path + (b"/" if is_dir else b""))
            if is_dir:
                found += self.paths(path)
        return found


def run(command, given=None, **more):
    done = subprocess.run(command, input=given, capture_output=True, **more)
    return done.returncode, done.stdout, done.stderr


def lines_of_z(text):
    return set(text.split(b"\0")[:-1])


def describe(what, theirs, ours, whose):
    said = [f"with {what}"]
    for name, paths in ((f"only {whose} takes", theirs - ours), ("only we take", ours - theirs)):
        if paths:
            said.append(f"  {name} " + ", ".join(repr(p)[1:] for p in sorted(paths)[:8]))
    return "\n".join(said)


class Rules:
    """One side is rsync without doing anything, the other filter-names."""

    def __init__(self, names, tree, empty):
        self.names, self.tree, self.empty = names, tree, empty
        self.given = b"".join(p + b"\0" for p in tree.paths())
        self.below = os.path.basename(tree.root) + b"/"
        self.given_below = b"".join(self.below + p + b"\0" for p in [b""] + tree.paths())

    def rsync(self, options, source):
        status, out, said = run(["rsync", "-rln", "--out-format=%n", *options, source,
                                 self.empty + "/"])
        if status:
            return None, said
        paths = (re.sub(rb"\\#(\d{3})", lambda m: bytes([int(m[1], 8)]), line)
                 for line in out.split(b"\n"))
        return set(paths) - {b"", b"./"}, said

    def compare(self, options, with_top=False):
        """None, or the difference. with_top: the directory itself is a part of the transfer."""
        source = self.tree.root if with_top else self.tree.root + b"/"
        theirs, their_words = self.rsync(options, source)
        given = self.given_below if with_top else self.given
        status, out, our_words = run([self.names, "rules", *options], given)
        ours = lines_of_z(out) if status == 0 else None
        if status not in (0, 2):
            return f"with {options!r}: status {status}: {our_words!r}"
        if theirs == ours:
            return None
        if theirs is None or ours is None:
            return f"with {options!r}: rsync says {their_words!r}, we say {our_words!r}"
        return describe(repr(options), theirs, ours, "rsync")


    def differences(self, many_options, with_top=False):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(lambda options: self.compare(options, with_top), many_options)
            return [difference for difference in found if difference]


class Ignore:
    """One side is git, whose own folder is elsewhere, the other filter-names."""

    def __init__(self, names, tree, folder):
        self.names, self.tree, self.plain = names, tree, tree.paths()
        self.where = os.fsencode(os.path.join(folder, "git"))
        self.env = dict(os.environ, GIT_DIR=self.where, GIT_WORK_TREE=tree.root, HOME=folder,
                        GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
        self.git("init", "-q")

    def git(self, *command, given=None):
        status, out, said = run(["git", *command], given, env=self.env, cwd=self.tree.root)
        if status not in (0, 1):
            raise SystemExit(f"git {command[0]}: {said!r}")
        return lines_of_z(out)

    def compare(self, files):
        """None, or the difference. files: directory, content."""
        paths = list(self.plain)
        for directory, content in files:
            path = os.path.join(directory, b".gitignore")
            with open(os.path.join(self.tree.root, path), "wb") as file:
                file.write(content)
            paths.insert(paths.index(directory + b"/") + 1 if directory else 0, path)
        # A name that begins with a colon would be an instruction to git.
        given = b"".join(b"./" + p.rstrip(b"/") + b"\0" for p in paths)
        ignored = self.git("check-ignore", "--no-index", "-z", "--stdin", given=given)
        listed = self.git("ls-files", "-o", "-z", "--exclude-standard")
        status, out, said = run([self.names, "ignore", self.tree.root],
                                b"".join(p + b"\0" for p in paths))
        ours = lines_of_z(out)
        for directory, _ in files:
            os.unlink(os.path.join(self.tree.root, directory, b".gitignore"))
        if status:
            return f"with {files!r}: status {status}: {said!r}"
        theirs = {p for p in paths if b"./" + p.rstrip(b"/") not in ignored}
        if theirs != ours:
            return describe(repr(files), theirs, ours, "check-ignore")
        ours = {p for p in ours if not p.endswith(b"/")}
        return None if listed == ours else describe(repr(files), listed, ours, "ls-files")

    def differences(self, many_files):
        return [difference for files in many_files if (difference := self.compare(files))]


def encoded(text):
    return text.encode("latin-1")


def random_pattern(chance):
    count = chance.choice((1, 1, 2, 2, 3, 3, 4, 5, 7))
    pattern = "".join(chance.choice(PIECES) for _ in range(count))
    if chance.random() < 0.25:
        pattern = "/" + pattern
    if chance.random() < 0.25:
        pattern += chance.choice(("/", "/", "***", "/***", "/**", "**"))
    return encoded(pattern)


def random_rule_file(chance, end):
    lines = []
    for _ in range(chance.randint(1, 6)):
        kind = chance.random()
        pattern = random_pattern(chance)
        lines.append(b"!" if kind < 0.03 else b"" if kind < 0.06 else b"#" + pattern if kind < 0.1
                     else b";" + pattern if kind < 0.14 else b"+ " + pattern if kind < 0.4
                     else b"- " + pattern if kind < 0.5 else pattern)
    if end == b"\0":
        return end.join(lines) + (end if chance.random() < 0.7 else b"")
    text = b"".join(line + chance.choice((end, end, b"\r\n", b"\r")) for line in lines)
    return text if chance.random() < 0.7 else text.rstrip(b"\r\n")


def random_rules(chance, folder):
    """Options for both; the files that they name are put into the folder."""
    os.mkdir(folder)
    end = b"\0" if chance.random() < 0.15 else b"\n"
    options = [b"-0"] if end == b"\0" else []
    for number in range(chance.randint(1, 4)):
        which = chance.choice((b"include", b"exclude", b"exclude"))
        if chance.random() < 0.3:
            path = os.path.join(os.fsencode(folder), b"rules%d" % number)
            pathlib.Path(os.fsdecode(path)).write_bytes(random_rule_file(chance, end))
            options.append(b"--" + which + b"-from=" + path)
            continue
        sign = chance.choice((b"", b"", b"", b"+ ", b"- "))
        pattern = b"!" if chance.random() < 0.04 else random_pattern(chance)
        options.append(b"--" + which + b"=" + sign + pattern)
    if chance.random() < 0.3:
        options.append(b"--exclude=" + chance.choice((b"*", b"/*/*", b"a*", b"*/**")))
    return options


def random_ignore(chance):
    lines = []
    for _ in range(chance.randint(1, 6)):
        line = random_pattern(chance)
        kind = chance.random()
        line = (b"" if kind < 0.05 else b"#" + line if kind < 0.1 else b"!" + line if kind < 0.4
                else line + b" " if kind < 0.5 else line + b"\\ " if kind < 0.55
                else line + b"\0x" if kind < 0.57 else line)
        lines.append(line + chance.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r\r\n")))
    text = b"".join(lines)
    if chance.random() < 0.1:
        text = b"\xef\xbb\xbf" + text
    return text if chance.random() < 0.7 else text.rstrip(b"\n")


def random_ignores(chance, paths):
    directories = [p[:-1] for p in paths if p.endswith(b"/")]
    inner = chance.sample(directories, chance.choice((0, 0, 1, 2, 3)))
    return [(d, random_ignore(chance)) for d in [b""] + inner]


def test_rsync(tap, names, tree, folder, chance, sets):
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    rules = Rules(names, tree, empty)
    tap.ok("rsync: patterns, one by one",
           rules.differences([b"--exclude=" + encoded(p)] for p in MANUAL))
    tap.ok("rsync: patterns that take something back", rules.differences(
        ([b"--include=*/", b"--include=" + encoded(p), b"--exclude=*"] for p in MANUAL[::3]), True))
    made = [random_rules(chance, os.path.join(folder, f"set{i}")) for i in range(sets)]
    tap.ok(f"rsync: {sets} random sets of rules",
           rules.differences(made[sets // 5:]) + rules.differences(made[:sets // 5], True))
    tap.ok("rsync: what is no pattern", rules.differences(
        [b"--exclude=" + p] for p in (b"", b"- ", b"+ ", b"- !", b"!", b"! ")))
    letters = Tree(os.path.join(folder, "letters"))
    for byte in set(range(1, 256)) - {ord("/"), ord(".")}:
        open(letters.root + b"/" + bytes([byte]), "wb").close()
    rules = Rules(names, letters, empty)
    tap.ok("rsync: every class with every byte",
           rules.differences([b"--exclude=[[:%b:]]" % c.encode()] for c in CLASSES))
    return letters


def test_git(tap, names, tree, letters, folder, chance, sets):
    ignore = Ignore(names, tree, folder)
    tap.ok("git: patterns, one by one",
           ignore.differences([(b"", encoded(p) + b"\n")] for p in MANUAL))
    tap.ok("git: patterns that take something back", ignore.differences(
        [(b"", b"*\n!*/\n"), (b"a", b"!" + encoded(p) + b"\n")] for p in MANUAL[::3]))
    tap.ok(f"git: {sets} random sets of files",
           ignore.differences(random_ignores(chance, ignore.plain) for _ in range(sets)))
    ignore = Ignore(names, letters, folder)
    tap.ok("git: every class with every byte",
           ignore.differences([(b"", b"[[:%b:]]\n" % c.encode())] for c in CLASSES))


def main():
    names = os.environ["NAMES"]
    os.environ["LC_ALL"] = "C.UTF-8"
    missing = [tool for tool in ("rsync", "git") if not shutil.which(tool)]
    if missing:
        print(f"1..0 # SKIP {' and '.join(missing)} not installed")
        return 0
    seed = int(os.environ.get("WEIR_SEED", "1"))
    sets = SETS * (LONG if os.environ.get("WEIR_LONG") else 1)
    print(f"# WEIR_SEED={seed}")
    chance, tap = random.Random(seed), Tap()
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(os.path.join(folder, "a"))
        tree.fill(chance, 4)
        print(f"# {len(tree.paths())} paths")
        letters = test_rsync(tap, names, tree, folder, chance, sets)
        test_git(tap, names, tree, letters, folder, chance, sets)
    print(f"1..{tap.number}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
