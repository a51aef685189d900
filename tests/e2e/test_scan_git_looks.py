#!/usr/bin/env python3
"""What is found in histories under rules that ask for paths and commits, against a model.

Random histories in which few blobs lie at many paths, come and go and come back, with secrets in names and in
archives. What the model says is found: of each blob, at the first path, and as part of the first commit, of all
those that rules say the same about. A scan finds that with any number of threads, in full, without what is
remembered, with it, and after it. WEIR_SEED chooses other histories (it is printed). Prints TAP.
"""
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
from tap import Tap  # noqa: E402

WEIR = os.environ["WEIR"]
SEED = int(os.environ.get("WEIR_SEED", "1"))
HISTORIES = 4
COMMITS = 60
FOLDERS = ["", "docs/", "src/", "lib/", "src/docs/", "skip/", "docs/skip/", "a/key_%016d/", "b/key_%016d/"]
NAMES = ["p", "q", "c.txt", "d.env", "e.p12", "key_%016d", "key_%016d.txt"]
WORDS = ["one", "two", "three", "four", "five", "six"]
ENVIRONMENT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
               "PATH": os.environ["PATH"], "TMPDIR": os.environ.get("TMPDIR", "/tmp")}


def git(folder, *words, given=None):
    return subprocess.run(["git", *words], cwd=folder, input=given, check=True, stdout=subprocess.PIPE,
                          env=ENVIRONMENT).stdout


# --- a history ---

def make_text(chance):
    return "".join(f"{word}_{chance.randrange(4):012}\n" for word in WORDS if chance.random() < 0.5)


def make_archive(chance):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("m", "m.env", "n.txt", "docs/o"):
            archive.writestr(zipfile.ZipInfo(name), make_text(chance))
    return made.getvalue()


def make_path(chance, is_archive):
    path = chance.choice(FOLDERS) + ("z%d.zip" % chance.randrange(2) if is_archive else chance.choice(NAMES))
    return re.sub("%016d", lambda _: f"{chance.randrange(4):016}", path)


class History:
    """Commits with their trees: paths and numbers of blobs."""

    def __init__(self, chance, folder):
        self.folder = folder
        self.blobs = [b""] + [(f"{n}\n" + make_text(chance)).encode() for n in range(6)]
        self.archives_from = len(self.blobs)
        self.blobs += [make_archive(chance) for _ in range(2)]
        self.commits = []  # parents, tree
        for number in range(COMMITS):
            parents = chance.sample(range(number), min(number, chance.choice([0, 1, 1, 1, 1, 2])))
            tree = dict(self.commits[parents[0]][1]) if parents else {}
            for path in chance.sample(sorted(tree), min(len(tree), chance.randrange(4))):
                del tree[path]
            for _ in range(chance.randrange(1, 6)):
                blob = chance.randrange(len(self.blobs))
                tree[make_path(chance, blob >= self.archives_from)] = blob
            self.commits.append((parents, tree))
        self.write()

    def write(self):
        os.mkdir(self.folder)
        git(self.folder, "init", "-q", "--bare", "-b", "main")
        out = io.BytesIO()
        for number, blob in enumerate(self.blobs):
            out.write(b"blob\nmark :%d\ndata %d\n" % (number + 1, len(blob)) + blob + b"\n")
        for number, (parents, tree) in enumerate(self.commits):
            out.write(b"commit refs/heads/c%d\nmark :%d\n" % (number, 1000 + number))
            out.write(b"committer C <c@x> %d +0000\ndata 1\nm\n" % (1700000000 + 60 * number))
            for k, parent in enumerate(parents):
                out.write(b"%s :%d\n" % (b"merge" if k else b"from", 1000 + parent))
            out.write(b"deleteall\n")
            for path, blob in sorted(tree.items()):
                out.write(b"M 100644 :%d %s\n" % (blob + 1, path.encode()))
        git(self.folder, "fast-import", "--quiet", "--export-marks=marks", given=out.getvalue())
        with open(self.folder + "/marks", encoding="ascii") as lines:
            marks = dict(line.split() for line in lines)
        self.ids = [marks[f":{1000 + n}"] for n in range(COMMITS)]

    def brought(self):
        """Of each blob the paths and numbers of commits that it was brought to and by."""
        events = {}
        for number, (parents, tree) in enumerate(self.commits):
            for path, blob in tree.items():
                if all(self.commits[parent][1].get(path) != blob for parent in parents):
                    events.setdefault(blob, set()).add((number, path))
        return events


# --- rules, for both ---

class Rules:
    def __init__(self, chance, history):
        self.four = set(chance.sample(range(COMMITS), COMMITS // 2))
        self.five = set(chance.sample(range(COMMITS), COMMITS // 2))
        self.ids = history.ids

    def text(self):
        def named(commits):
            return ", ".join(f'"{self.ids[n]}"' for n in sorted(commits))
        more = {"two": "[[rules.allowlists]]\npaths = ['^docs/']\n", "three": "path = '\\.env$'\n",
                "four": f"[[rules.allowlists]]\ncommits = [{named(self.four)}]\n",
                "five": "[[rules.allowlists]]\ncondition = 'AND'\npaths = ['^src/']\n"
                        f"commits = [{named(self.five)}]\n",
                "six": "[[rules.allowlists]]\npaths = ['^docs/.*\\.txt$']\n"}
        return "".join(f"[[rules]]\nid = '{word}'\nregex = '{word}_[0-9]{{12}}'\n{more.get(word, '')}"
                       for word in WORDS) + \
            "[[rules]]\nid = 'key'\nregex = 'key_[0-9]{16}'\n[[rules.allowlists]]\npaths = ['^lib/']\n" \
            "[[rules]]\nid = 'kind'\npath = '\\.p12$'\n[[allowlists]]\npaths = ['(?:^|/)skip/']\n"

    def questions(self, path):
        asked = ["^docs/", r"\.env$", "^src/", r"^docs/.*\.txt$", "^lib/", r"\.p12$", "(?:^|/)skip/"]
        return tuple(bool(re.search(question, path)) for question in asked)

    def in_name(self, path):
        if re.search("(?:^|/)skip/", path) or path.startswith("lib/"):
            return []
        return sorted(("key", secret) for secret in re.findall("key_[0-9]{16}", path))

    def verdict(self, path, commit):
        return self.questions(path), *self.in_name(path), commit in self.four, commit in self.five

    def in_text(self, text, path, commit):
        in_docs, in_env, in_src, in_text, _, in_keys, in_skip = self.questions(path)
        allowed = {"one": False, "two": in_docs, "three": not in_env, "four": commit in self.four,
                   "five": in_src and commit in self.five, "six": in_text}
        found = {(word, secret) for word in WORDS if not allowed[word]
                 for secret in re.findall(word + "_[0-9]{12}", text)}
        found |= {("kind", path)} if in_keys else set()
        return set() if in_skip else found.union(self.in_name(path))

    def in_blob(self, blob, path, commit):
        """Findings, with the path of each."""
        if not path.endswith(".zip"):
            return {(*one, path) for one in self.in_text(blob.decode(), path, commit)}
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            return {(*one, f"{path}!{name}") for name in archive.namelist()
                    for one in self.in_text(archive.read(name).decode(), f"{path}!{name}", commit)
                    if not re.search("(?:^|/)skip/", path)}


def model(history, rules):
    """What is found in files, with the first commit of each place; and in archives, as what has to be found
    of each blob and all that may be."""
    first, wanted, may_be = {}, set(), {}
    for blob, events in history.brought().items():
        looks = {}
        for number, path in sorted(events):
            looks.setdefault(rules.verdict(path, number), (number, path))
            if blob >= history.archives_from:
                for rule, secret, place in rules.in_blob(history.blobs[blob], path, number):
                    wanted.add((blob, rule, secret, place.split("!")[1]))
                    may_be.setdefault((rule, secret, place), set()).add((blob, number))
        for number, path in looks.values() if blob < history.archives_from else []:
            for found in rules.in_blob(history.blobs[blob], path, number):
                first[found] = min(first.get(found, COMMITS), number)
    return {(*found, history.ids[number]) for found, number in first.items()}, wanted, may_be


# --- what the program says ---

def scan(folder, config, state, *words):
    """Places, sorted; None: it is not complete."""
    made = subprocess.run([WEIR, "scan", "--history=only", "--json", "--show-secrets", "--config=" + config,
                           *words, "."], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**ENVIRONMENT, "XDG_STATE_HOME": state, "XDG_CACHE_HOME": state + "-cache"})
    said = json.loads(made.stdout) if made.stdout else {}
    if made.returncode != 1 or not said["summary"]["complete"]:
        return [f"status {made.returncode}: {made.stderr.decode()}"]
    return sorted((one["rule"], one["secret"], place["path"], place.get("commit", ""), place.get("versions", 0))
                  for one in said["findings"] for place in one["places"])


def differ(one, other):
    return "\n".join([f"only here: {line}" for line in sorted(set(one) - set(other))] +
                     [f"only there: {line}" for line in sorted(set(other) - set(one))])


def check_archives(history, said, wanted, may_be):
    """Each may be found there, by that commit, and nothing is left out."""
    flaws, seen = [], set()
    for rule, secret, place, commit in said:
        blobs = {blob for blob, number in may_be.get((rule, secret, place), set())
                 if history.ids[number] == commit}
        if not blobs:
            flaws.append(f"not there: {rule} {secret} {place} {commit}")
    for rule, secret, place, _ in said:
        seen |= {(blob, rule, secret, place.split("!")[1]) for blob, _ in may_be.get((rule, secret, place), set())}
    return "\n".join(flaws + [f"not found: {one}" for one in sorted(wanted - seen)])


def check_history(tap, folder, seed):
    chance = random.Random(seed)
    history = History(chance, folder + "/r")
    rules = Rules(chance, history)
    config, state = folder + "/rules.toml", folder + "/state"
    with open(config, "w", encoding="ascii") as file:
        file.write(rules.text())
    said = scan(history.folder, config, state, "--no-state", "--threads=1")
    plain = [place[:4] for place in said if ".zip" not in place[2]]
    opened = [place[:4] for place in said if ".zip!" in place[2]]
    files, wanted, may_be = model(history, rules)
    tap.tell(files and sorted(files) == sorted(plain), f"history {seed}: files are those of the model",
             differ(plain, files))
    flaws = check_archives(history, opened, wanted, may_be)
    tap.tell(wanted and not flaws, f"history {seed}: archives are those of the model", flaws)
    others = [("four threads", history.folder, ["--no-state", "--threads=4"]),
              ("in full", history.folder, ["--no-state", "--full-scan"]),
              ("with a state, first", history.folder, []), ("with a state, again", history.folder, []),
              ("with a state, with one thread", history.folder, ["--threads=1"])]
    half = folder + "/half"
    os.mkdir(half)
    git(half, "init", "-q", "--bare", "-b", "main")
    git(half, "fetch", "-q", history.folder, *[f"refs/heads/c{n}:refs/heads/c{n}" for n in range(COMMITS // 2)])
    scan(half, config, state)
    git(half, "fetch", "-q", history.folder, "refs/heads/*:refs/heads/*")
    others += [("after half of it", half, []), ("after that", half, [])]
    for name, where, words in others:
        there = scan(where, config, state, *words)
        tap.tell(there == said, f"history {seed}: the same {name}", differ(said, there))


def main():
    tap = Tap()
    folder = tempfile.mkdtemp(prefix="weir-looks-")
    print("# WEIR_SEED=%d" % SEED)
    try:
        for number in range(HISTORIES):
            os.mkdir(f"{folder}/{number}")
            check_history(tap, f"{folder}/{number}", SEED * 1000 + number)
    finally:
        shutil.rmtree(folder)
    return tap.end()


sys.exit(main())
