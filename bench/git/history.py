"""Histories that are made: real source code, and edits that are not.

A tree is taken of what Debian packages install (lib/sources.py). Then files are changed, a few lines
at one to three places of each, by lines of other files. Which files are changed how often is weighted
by a power of their size, such that versions have the mean size that is wanted. Everything is decided
by dice with a seed, so the same packages give the same objects.

git fast-import takes it all, `git repack -f` makes of it the pack that a clone has, and there is a
commit-graph, as after `git gc`.
"""
import json
import os
import subprocess

from lib.folder import Failed
from lib.sources import Dice
from lib.tokens import KINDS

BEGIN = 1_400_000_000
STEP_S = 3600
FILE_MIN, FILE_MAX = 500, 200_000
PLANTED = 12
# A token stays for so many versions of its file.
STAY_MIN, STAY_MAX = 2, 20
SETTINGS = dict(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")


class Shape:
    """How a history is to come out."""

    def __init__(self, name, files, commits, blobs, mean, lines):
        self.name = name
        self.files = files
        self.commits = commits
        self.blobs = blobs      # versions of all files
        self.mean = mean        # bytes of one
        self.lines = lines      # put in at one place, at most


def git(repo, *arguments, **options):
    answer = subprocess.run(["git", "-C", repo, *arguments], check=False, text=True,
                            env=dict(os.environ, **SETTINGS), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)
    if answer.returncode != 0:
        said = answer.stderr.strip().splitlines()
        raise Failed(f"git {arguments[0]}: {said[-1] if said else 'failed'}")
    return answer.stdout


# ---- what happens ----

def weights_of(sizes, mean):
    """Powers of the sizes, such that files drawn by them have that mean size."""
    low, high = -2.0, 4.0
    for _ in range(60):
        power = (low + high) / 2
        weights = [size ** power for size in sizes]
        if sum(w * s for w, s in zip(weights, sizes)) / sum(weights) < mean:
            low = power
        else:
            high = power
    return weights


def versions_of(shape, sizes):
    """How many each file has, in all those that are wanted: its share, one at least."""
    weights = weights_of(sizes, shape.mean)
    left, counts = shape.blobs - shape.files, []
    total = sum(weights)
    for weight in weights:
        share = round(left * weight / total) if total > 0 else 0
        counts.append(1 + share)
        left, total = left - share, total - weight
    return counts


def plan(shape, counts, dice):
    """For each commit the files that it changes; all files are there from the first on. A file whose
    turn comes twice in a commit has it in the next."""
    turns = [i for i, count in enumerate(counts) for _ in range(count - 1)]
    for at in range(len(turns) - 1, 0, -1):
        other = dice.below(at + 1)
        turns[at], turns[other] = turns[other], turns[at]
    commits, waiting = [list(range(len(counts)))], []
    for number in range(shape.commits - 1):
        until = len(turns) * (number + 1) // (shape.commits - 1)
        since = len(turns) * number // (shape.commits - 1)
        mine, later = [], []
        for i in waiting + turns[since:until]:
            (later if i in mine else mine).append(i)
        commits.append(mine)
        waiting = later
    while waiting:
        mine = sorted(set(waiting))
        for i in mine:
            waiting.remove(i)
        commits.append(mine)
    return commits


class File:
    """Its versions, one after the other."""

    def __init__(self, path, text, pool, lines_max, dice):
        self.path = path
        self.lines = text.splitlines(keepends=True)
        if not self.lines[-1].endswith(b"\n"):
            self.lines[-1] += b"\n"
        self._least = max(1, len(self.lines) * 4 // 5)
        self._most = max(2, len(self.lines) * 5 // 4)
        self._pool = pool
        self._lines_max = lines_max
        self._dice = dice
        self._token = None

    def change(self):
        dice, lines = self._dice, self.lines
        for _ in range(1 + dice.below(3)):
            at = dice.below(len(lines))
            out, into = dice.below(self._lines_max), dice.below(self._lines_max)
            if len(lines) - out + into > self._most:
                into = 0
            elif len(lines) - out + into < self._least:
                out = 0
            since = dice.below(len(self._pool) - into)
            lines[at:at + out] = self._pool[since:since + into] or lines[at:at + 1]

    def plant(self, line):
        """The number of the line where it is now."""
        at = self._dice.below(len(self.lines) + 1)
        self.lines.insert(at, line)
        self._token = line
        return at + 1

    def weed(self):
        self.lines = [line for line in self.lines if line != self._token]
        self._token = None


# ---- as git is told of it ----

def write_blob(out, mark, text):
    out.write(b"blob\nmark :%d\ndata %d\n" % (mark, len(text)))
    out.write(text)
    out.write(b"\n")


def write_versions(out, files, counts, chosen, marks):
    """All versions of a file in a row, which is how fast-import finds deltas. chosen: {file: (version
    that brings a token, version that has it no more, token)}. Returns what was planted."""
    planted, mark = [], 0
    for i, file in enumerate(files):
        marks.append(mark + 1)
        since, until, token = chosen.get(i, (-1, -1, ""))
        for version in range(counts[i]):
            if version > 0:
                file.change()
            if version == until:
                file.weed()
            if version == since:
                line = file.plant(f'token = "{token}"\n'.encode())
                planted.append({"path": file.path, "line": line, "token": token, "file": i,
                                "version": version})
            mark += 1
            write_blob(out, mark, b"".join(file.lines))
    return planted


def write_commits(out, files, commits, marks):
    versions = [0] * len(files)
    for number, changed in enumerate(commits):
        message = b"Change %d of the files, for the %dth time\n" % (len(changed), number)
        who = b"Author %d <author%d@localhost> %d +0000" % (number % 23, number % 23,
                                                            BEGIN + number * STEP_S)
        out.write(b"commit refs/heads/main\nauthor %s\ncommitter %s\ndata %d\n%s"
                  % (who, who, len(message), message))
        for i in changed:
            out.write(b"M 100644 :%d %s\n" % (marks[i] + versions[i], files[i].path.encode()))
            versions[i] += 1
        out.write(b"\n")


def choose_tokens(counts, dice):
    often = [i for i, count in enumerate(counts) if count > STAY_MAX + 2]
    chosen = {}
    while len(chosen) < PLANTED and len(chosen) < len(often):
        i = often[dice.below(len(often))]
        since = 1 + dice.below(counts[i] - STAY_MAX - 1)
        until = since + STAY_MIN + dice.below(STAY_MAX - STAY_MIN)
        if i not in chosen:
            chosen[i] = (since, until, KINDS[len(chosen) % len(KINDS)](dice))
    return chosen


# ---- making it ----

def take_files(shape, sources, dice):
    taken, pool, names = [], [], set()
    for path, text in sources.texts():
        if FILE_MIN <= len(text) <= FILE_MAX:
            if len(taken) < shape.files:
                # Projects are less deep than what they are installed to.
                name = "/".join(path.split("/")[-2:])
                if name not in names:
                    names.add(name)
                    taken.append((name, text))
            else:
                pool += text.splitlines(keepends=True)
                if len(pool) > 200_000:
                    break
    if len(taken) < shape.files or not pool:
        raise Failed(f"only {len(taken)} source files are installed for {shape.files}")
    pool = [line for line in pool if line.endswith(b"\n")]
    return [File(path, text, pool, shape.lines, dice) for path, text in taken]


def measure(repo):
    """What git says of the pack: numbers and bytes of blobs, of those that are whole, of deltas."""
    about = {"blobs": 0, "bytes": 0, "whole": 0, "whole_bytes": 0, "delta_bytes": 0, "pack_bytes": 0,
             "trees": 0}
    types = "%(objecttype) %(objectsize) %(deltabase) %(objectname)"
    blobs = set()
    for line in git(repo, "cat-file", "--batch-all-objects", "--unordered",
                    f"--batch-check={types}").splitlines():
        kind, size, base, name = line.split()
        about["trees"] += kind == "tree"
        if kind == "blob":
            blobs.add(name)
            about["blobs"] += 1
            about["bytes"] += int(size)
            if not base.strip("0"):
                about["whole"] += 1
                about["whole_bytes"] += int(size)
    folder = os.path.join(repo, "objects", "pack")
    for pack in sorted(p for p in os.listdir(folder) if p.endswith(".pack")):
        about["pack_bytes"] += os.path.getsize(os.path.join(folder, pack))
        for line in git(repo, "verify-pack", "-v", os.path.join("objects", "pack", pack)).splitlines():
            words = line.split()
            if len(words) == 7 and words[0] in blobs:
                about["delta_bytes"] += int(words[2])
    return about


def make(shape, sources, place):
    """In a new folder: the repository, bare, and about.json."""
    dice = Dice(f"history {shape.name}")
    repo = os.path.join(place, "repo.git")
    os.makedirs(repo)
    git(repo, "init", "-q", "--bare", "-b", "main")
    files = take_files(shape, sources, dice)
    counts = versions_of(shape, [sum(map(len, f.lines)) for f in files])
    commits = plan(shape, counts, dice)
    importer = subprocess.Popen(
        ["git", "-C", repo, "-c", "core.compression=1", "fast-import", "--quiet"],
        stdin=subprocess.PIPE, env=dict(os.environ, **SETTINGS))
    marks = []
    planted = write_versions(importer.stdin, files, counts, choose_tokens(counts, dice), marks)
    write_commits(importer.stdin, files, commits, marks)
    importer.stdin.close()
    if importer.wait() != 0:
        raise Failed("git fast-import failed")
    git(repo, "repack", "-adfq")
    git(repo, "commit-graph", "write", "--reachable")
    about = {**measure(repo), "commits": len(commits), "planted": planted}
    with open(os.path.join(place, "about.json"), "w", encoding="ascii") as file:
        json.dump(about, file, indent=1)
    return about
