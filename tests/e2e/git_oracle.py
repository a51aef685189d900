#!/usr/bin/env python3
"""Random histories for git fast-import, and what git says about a repository against what a report says.

    git_oracle.py make SEED COMMITS [FIRST]   a stream: merges, renames, copies, removals, tags, some tokens
    git_oracle.py check REPORT                in the repository; prints each difference, nothing if there is none

Times of commits differ, and no commit is older than its parents: then there is one answer to who was first.
"""
import binascii
import hashlib
import json
import os
import random
import re
import subprocess
import sys

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN = re.compile(rb"ghp_[0-9A-Za-z]{36}")


def token(rng):
    """One that is made up; its last six characters are the sum of the others, as in real ones."""
    body = "".join(rng.choice(DIGITS) for _ in range(30))
    rest, total = "", binascii.crc32(body.encode())
    for _ in range(6):
        rest = DIGITS[total % 62] + rest
        total //= 62
    return "ghp_" + body + rest


def lines(rng, count):
    return ["".join(rng.choice("abcdefgh ") for _ in range(rng.randrange(60))) for _ in range(count)]


def edited(rng, text, tokens):
    text = list(text)
    for _ in range(rng.randrange(1, 4)):
        at, count = rng.randrange(len(text) + 1), rng.randrange(4)
        text[at:at + count] = lines(rng, rng.randrange(4))
    if tokens and rng.random() < 0.08:
        text.insert(rng.randrange(len(text) + 1), f'key = "{rng.choice(tokens)}"')
    elif rng.random() < 0.3:
        text = [line for line in text if "ghp_" not in line]
    return text or ["nothing"]


def data(out, content):
    out.append(f"data {len(content.encode())}\n{content}\n")


class Maker:
    def __init__(self, seed, first):
        self.rng, self.out, self.trees = random.Random(seed), [], []
        self.tokens = [token(self.rng) for _ in range(12)]
        self.first = first

    def path(self):
        return "/".join(self.rng.choice(["a", "b", "lib", "x y", "\u00e4"]) for _ in range(self.rng.randrange(3))) + \
            f"/f{self.rng.randrange(40)}.c"

    def change(self, tree):
        rng, done = self.rng, []
        for _ in range(rng.randrange(1, 5)):
            what, path = rng.random(), self.path().lstrip("/")
            if tree and what < 0.15:
                old = rng.choice(sorted(tree))
                tree[path] = tree[old]
                if what < 0.08 and old != path:
                    del tree[old]
            elif tree and what < 0.22:
                del tree[rng.choice(sorted(tree))]
            elif tree and what < 0.8:
                path = rng.choice(sorted(tree))
                tree[path] = edited(rng, tree[path], self.tokens)
            else:
                tree[path] = edited(rng, lines(rng, rng.randrange(5, 200)), self.tokens)
        # A file where a folder is would be refused: who came later has the place.
        for path in sorted(tree):
            if any(other.startswith(path + "/") for other in tree):
                done.append(path)
        for path in done:
            del tree[path]

    def commit(self, i):
        rng, out, parents = self.rng, self.out, []
        if i > 0:
            parents = [i - 1 - rng.randrange(min(i, 6))]
            if rng.random() < 0.15 and i > 8:
                parents += sorted({rng.randrange(i) for _ in range(rng.randrange(1, 4))} - set(parents))
        tree = dict(self.trees[parents[0]]) if parents else {}
        for parent in parents[1:]:
            tree.update(dict(rng.sample(sorted(self.trees[parent].items()), len(self.trees[parent]) // 2)))
        self.change(tree)
        self.trees.append(tree)
        branch = rng.choice(["main", "side", "old"]) if i else "main"
        out.append(f"commit refs/heads/{branch}{self.first}-{i % 7}\nmark :{i + 1}\n")
        out.append(f"author A <a@x> {1600000000 + i} +0000\ncommitter C <c@x> {1600000000 + self.first + i} +0000\n")
        data(out, f"step {i} {rng.choice(self.tokens) if rng.random() < 0.01 else ''}")
        for word, parent in zip(["from"] + ["merge"] * 9, parents):
            out.append(f"{word} :{parent + 1}\n")
        if not parents:
            out.append("")
        out.append("deleteall\n")
        for path, text in tree.items():
            out.append(f'M 100644 inline "{path}"\n')
            data(out, "\n".join(text) + "\n")
        out.append("\n")
        # Else what a branch was before would be reachable no more.
        out.append(f"reset refs/keep/{self.first}-{i}\nfrom :{i + 1}\n\n")
        if rng.random() < 0.02:
            out.append(f"tag t{self.first}-{i}\nfrom :{i + 1}\ntagger T <t@x> {1600000000 + i} +0000\n")
            data(out, f"release {i} {rng.choice(self.tokens) if rng.random() < 0.3 else ''}")


def make(seed, commits, first):
    maker = Maker(seed, first)
    for i in range(commits):
        maker.commit(i)
    sys.stdout.buffer.write("".join(maker.out).encode())


def git(*words, stdin=None):
    return subprocess.run(["git", *words], input=stdin, stdout=subprocess.PIPE, check=True).stdout


def objects():
    """Of all objects but trees: id, type, size."""
    said = git("cat-file", "--batch-all-objects", "--batch-check").decode().split("\n")
    return [line.split() for line in said if line and " tree " not in line]


def contents(ids):
    said, at, result = git("cat-file", "--batch", stdin="\n".join(ids).encode() + b"\n"), 0, {}
    for name in ids:
        end = said.index(b"\n", at)
        size = int(said[at:end].split()[2])
        result[name] = said[end + 1:end + 1 + size]
        at = end + size + 2
    return result


def trees_of(commits):
    result = {}
    for commit in commits:
        result[commit] = {}
        for entry in git("ls-tree", "-rz", commit).decode().split("\0"):
            if entry:
                about, path = entry.split("\t", 1)
                result[commit][path] = about.split()[2]
    return result


def commits_of(*words):
    """Each with its time and its parents."""
    said = (line.split() for line in git("log", "--format=%H %ct %P", *words).decode().splitlines())
    return [(commit, int(time), parents) for commit, time, *parents in said]


def brought_by(history, trees):
    """The first commit that brought each blob, and its paths there: {blob: (time, commit, [path])}."""
    first = {}
    for commit, time, parents in history:
        for path, blob in trees[commit].items():
            if any(trees[parent].get(path) == blob for parent in parents):
                continue
            if blob not in first or (time, commit) < first[blob][:2]:
                first[blob] = (time, commit, [])
            if first[blob][1] == commit:
                first[blob][2].append(path)
    return first


def first_in_log(blob, starts):
    log = git("log", "-m", "--find-object=" + blob, "--format=%ct %H", *starts).decode().splitlines()
    return min((int(line.split()[0]), line.split()[1]) for line in log if line)[1]


def wanted_places(kinds):
    """What git says: {(secret, path): (time, commit, object)}. It is kept in a file, since it takes time."""
    key = hashlib.sha1(json.dumps(sorted(kinds)).encode() + git("for-each-ref")).hexdigest()
    kept = os.path.join(os.environ.get("TMPDIR", "/tmp"), "said-" + key)
    if not os.path.exists(kept):
        with open(kept, "w", encoding="utf8") as file:
            json.dump([[*key, *value] for key, value in find_places(kinds).items()], file)
    with open(kept, encoding="utf8") as file:
        return {(secret, path): tuple(value) for secret, path, *value in json.load(file)}


def find_places(kinds):
    history = commits_of("--all")
    reached = {commit for commit, _, _ in history}
    # What nothing leads to comes last.
    lost = [name for name, kind in kinds.items() if kind == "commit" and name not in reached]
    strays = commits_of("--no-walk", *lost) if lost else []
    trees = trees_of([commit for commit, _, _ in history + strays])
    first, places = {**brought_by(strays, trees), **brought_by(history, trees)}, {}
    for name, content in contents(list(kinds)).items():
        for secret in set(TOKEN.findall(content)):
            if kinds[name] == "blob":
                time, commit, paths = first.get(name, (0, None, ["blob:" + name]))
                place = (secret.decode(), min(paths))
            elif kinds[name] == "commit":
                time, commit, place = 0, name, (secret.decode(), "commit:" + name)
            else:
                tag = re.search(rb"^tag (.*)$", content, re.M).group(1).decode()
                time, commit, place = 0, None, (secret.decode(), "tag:" + tag)
            places[place] = min(places.get(place, (time, commit, name)), (time, commit, name), key=lambda x: x[0])
    for place, (time, commit, name) in places.items():
        if commit and kinds[name] == "blob":
            starts = ["--all"] if commit in reached else [*lost, "--not", "--all"]
            print_unless(f"git log --find-object of {place}", commit, first_in_log(name, starts))
    return places


def check(report):
    with open(report, encoding="utf8") as file:
        said = json.load(file)
    all_objects, summary = objects(), said["summary"]
    print_unless("objects", summary["objects"], len(all_objects))
    print_unless("bytes", summary["bytes"], sum(int(size) for _, _, size in all_objects))
    print_unless("complete", summary["complete"], True)
    wanted = wanted_places({name: kind for name, kind, _ in all_objects})
    seen = {}
    for finding in said["findings"]:
        for place in finding["places"]:
            seen[(finding["secret"], place["path"])] = place
    for key in sorted(set(wanted) | set(seen)):
        if (key in wanted) != (key in seen):
            print("only git has" if key in wanted else "only the report has", *key)
            continue
        print_unless(f"commit of {key}", seen[key].get("commit"), wanted[key][1])
        print_unless(f"object of {key}", seen[key]["object"], wanted[key][2])


def print_unless(name, is_now, wanted):
    if is_now != wanted:
        print(f"{name}: {is_now} instead of {wanted}")


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]), int((sys.argv[4:] or ["0"])[0]))
else:
    check(sys.argv[2])
