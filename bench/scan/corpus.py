"""What is scanned: trees and files that are the same every time where the same versions of the same
packages are installed, with made-up tokens planted in them.

The text is source code that Debian packages install: C, C++, Perl, Python and Rust. Its files are
taken in the order of a hash of their paths, which mixes the languages.
"""
import base64
import os
import shutil
import subprocess

from lib.folder import Failed
from lib.sources import Dice, Sources
from lib.tokens import KINDS

TREE_FILES, TREE_BYTES = 4449, 18_000_000
# How far the tree may be above its mean size at any file: large files are taken as long as small
# ones make up for them.
TREE_AHEAD_BYTES = 100_000
TEXT_BYTES = 256_000_000
SMALL_DIRS, SMALL_FILES, SMALL_MIN, SMALL_MAX = 1000, 100, 200, 2000
DENSE_BYTES = 16_000_000
SPARSE_FILES, SPARSE_BYTES = 10, 10_000_000_000
MANY_DIRS, MANY_FILES = 1000, 1000
PLANTED = 24
POOL_BYTES = 8_000_000


# ---- tokens ----

def encoded(line):
    return b"blob: " + base64.b64encode(line) + b"\n"


def utf16(line):
    return line.decode("ascii").encode("utf-16-le")


# How a line is written. Only whole files are in UTF-16.
PLAIN = [bytes, bytes, encoded]
WHOLE = [bytes, bytes, encoded, utf16]


class Planted:
    """A token, and where: path is below what is scanned, or "" if that is the file itself."""

    def __init__(self, path, line, token):
        self.path = path
        self.line = line
        self.token = token


class Planter:
    def __init__(self, seed):
        self._dice = Dice(seed)
        self.planted = []

    def token(self, kind=None):
        count = len(self.planted) if kind is None else kind
        return KINDS[count % len(KINDS)](self._dice)

    def line(self, path, number, ways=PLAIN):
        """The line that is to stand there."""
        token = self.token()
        way = ways[len(self.planted) % len(ways)]
        self.planted.append(Planted(path, number, token))
        return way(f"token = {token}\n".encode())

    def file(self, path):
        """The bytes of a small file that has a token in its second line. A file in UTF-16 has one
        line, as what comes before it would have to be in UTF-16 as well."""
        way = WHOLE[len(self.planted) % len(WHOLE)]
        if way is utf16:
            return self.line(path, 1, WHOLE)
        return b"# settings\n" + self.line(path, 2, WHOLE) + b"# end\n"


class Material:
    """What a scenario scans. It counts what is put in."""

    def __init__(self, root, planter=None):
        self.root = root
        self.planter = planter
        self.files = 0
        self.bytes = 0
        self.cases = {}         # name -> Material, where there are several files to compare
        self.matches = None     # how many a file that is full of them has
        self.is_counted = True  # all of files and bytes is to be scanned

    @property
    def planted(self):
        return self.planter.planted if self.planter else []

    def add(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
        self.files += 1
        self.bytes += len(text)

    def plant(self, name):
        self.add(name, self.planter.file(name))


class Corpus:
    """Makes what the scenarios ask for, each thing once."""

    def __init__(self, folder, is_quick):
        self.folder = folder
        self.is_quick = is_quick
        self.sources = Sources()
        self._made = {}

    def get(self, name):
        if name not in self._made:
            self._made[name] = getattr(self, "make_" + name)(os.path.join(self.folder, name))
        return self._made[name]

    def full(self, number):
        return number // 10 if self.is_quick else number

    def make_tree(self, root):
        material = Material(root, Planter("tree"))
        mean = TREE_BYTES / TREE_FILES
        for path, text in self.sources.texts():
            if material.files == TREE_FILES - PLANTED:
                break
            if material.bytes + len(text) <= mean * (material.files + 1) + TREE_AHEAD_BYTES:
                material.add(path.lstrip("/"), text)
        if material.files < TREE_FILES - PLANTED:
            raise Failed(f"only {material.files} source files in {', '.join(self.sources.packages)}"
                         f"; install also {', '.join(self.sources.missing) or 'others'}")
        for number in range(PLANTED):
            material.plant(f"usr/share/planted/{number}/settings.conf")
        return material

    def make_empty(self, root):
        material = Material(root)
        with open(root, "wb"):
            material.files = 1
        return material

    def make_text(self, root):
        """One file: source files one behind the other, from the first on again until it is long
        enough, with a token between two of them here and there."""
        material = Material(root, Planter("text"))
        limit, lines = self.full(TEXT_BYTES), 1
        material.files = 1
        with open(root, "wb") as file:
            while material.bytes < limit:
                before = material.bytes
                for _, text in self.sources.texts():
                    text += b"" if text.endswith(b"\n") else b"\n"
                    if material.bytes * PLANTED >= limit * len(material.planted):
                        text += material.planter.line("", lines + text.count(b"\n"))
                    file.write(text)
                    material.bytes += len(text)
                    lines += text.count(b"\n")
                    if material.bytes >= limit:
                        break
                if material.bytes == before:
                    raise Failed("the packages have no source text")
        return material

    def pool(self):
        pieces, length = [], 0
        for _, text in self.sources.texts():
            pieces.append(text)
            length += len(text)
            if length >= POOL_BYTES:
                break
        return b"".join(pieces)

    def make_small(self, root):
        material, dice, pool = Material(root, Planter("small")), Dice("small"), self.pool()
        dirs = self.full(SMALL_DIRS)
        every = dirs * SMALL_FILES // PLANTED
        for number in range(dirs * SMALL_FILES):
            name = f"{number // SMALL_FILES:04}/{number % SMALL_FILES:02}.txt"
            if number % every == every // 2 and len(material.planted) < PLANTED:
                material.plant(name)
                continue
            length = SMALL_MIN + dice.below(SMALL_MAX - SMALL_MIN + 1)
            begin = dice.below(len(pool) - length)
            material.add(name, pool[begin:begin + length])
        return material

    def make_dense(self, root):
        """Files of about one size: source text; what begins as a token and is none, in each line;
        one token over and over; a token of its own in each line."""
        length = self.full(DENSE_BYTES)
        material = Material(root)
        pool = self.pool()
        material.cases["none"] = self.one_file(root, "none", (pool * (length // len(pool) + 1))
                                               [:length])
        planter = Planter("dense")
        same = planter.token(0).encode() + b"\n"
        material.cases["same"] = self.one_file(root, "same", same * (length // len(same)))
        lines = [planter.token(0).encode() + b"\n" for _ in range(length // len(same))]
        material.cases["distinct"] = self.one_file(root, "distinct", b"".join(lines))
        # The beginning of a token is there in each line, and the rest in pieces that no rule takes.
        near = [b" ".join(line[i:i + 4] for i in range(0, len(line) - 1, 4)) + b"\n"
                for line in lines]
        material.cases["near"] = self.one_file(root, "near", b"".join(near)[:length])
        for name in ("same", "distinct"):
            material.cases[name].matches = len(lines)
        return material

    def one_file(self, root, name, text):
        material = Material(os.path.join(root, name))
        os.makedirs(root, exist_ok=True)
        with open(material.root, "wb") as file:
            file.write(text)
        material.files, material.bytes = 1, len(text)
        return material

    def make_staged(self, root):
        """The source tree as a repository in which one new file waits to be committed."""
        tree = self.get("tree")
        shutil.copytree(tree.root, root)
        settings = dict(os.environ, GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1",
                        GIT_AUTHOR_NAME="bench", GIT_AUTHOR_EMAIL="bench@localhost",
                        GIT_COMMITTER_NAME="bench", GIT_COMMITTER_EMAIL="bench@localhost")
        def git(*arguments):
            answer = subprocess.run(["git", "-C", root, *arguments], env=settings, check=False,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if answer.returncode != 0:
                raise Failed(f"git {arguments[0]}: {answer.stderr.strip()}")
        git("init", "-q")
        git("add", "-A")
        git("commit", "-q", "-m", "all of it")
        git("gc", "-q")
        material = Material(root, Planter("staged"))
        material.is_counted = False
        material.plant("usr/new/settings.conf")
        git("add", "-A")
        return material

    def make_memory(self, root):
        """Files that are one hole but for a token at the end, and a great many small ones."""
        material = Material(root, Planter("memory"))
        size = self.full(SPARSE_BYTES)
        for number in range(SPARSE_FILES):
            name = f"sparse/{number}"
            material.add(name, b"")
            line = material.planter.line(name, 2, [bytes])
            with open(os.path.join(root, name), "r+b") as file:
                file.seek(size - len(line) - 1)
                file.write(b"\n" + line)
            material.bytes += size
        files = self.full(MANY_FILES)
        text = b"nothing to see in this file, nor in the others like it\n"
        for number in range(MANY_DIRS):
            os.makedirs(os.path.join(root, "many", f"{number:04}"))
            for other in range(files):
                name = f"many/{number:04}/{other:04}"
                if other == 0 and number % (MANY_DIRS // PLANTED) == 0:
                    material.plant(name)
                else:
                    put(os.path.join(root, name), text)
                    material.files += 1
                    material.bytes += len(text)
        return material


def put(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, text)
    os.close(fd)


def needs(names, is_quick):
    """(bytes, inodes) that the materials of these names take, roughly, blocks rounded up."""
    share = 10 if is_quick else 1
    tree = (TREE_BYTES + TREE_FILES * 8192, TREE_FILES * 2)
    table = {
        "tree": tree,
        "staged": (tree[0] * 3, tree[1] * 2),
        "text": (TEXT_BYTES // share, 1),
        "small": (SMALL_DIRS * SMALL_FILES * 4608 // share, SMALL_DIRS * (SMALL_FILES + 1)),
        "dense": (3 * DENSE_BYTES // share, 4),
        "memory": (MANY_DIRS * MANY_FILES * 4608 // share, MANY_DIRS * (MANY_FILES + 1) // share),
    }
    chosen = [table.get(name, (0, 1)) for name in names]
    return sum(c[0] for c in chosen), sum(c[1] for c in chosen)
