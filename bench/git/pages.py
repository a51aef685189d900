"""Sixteen repositories on one disk with little memory: what slots of a disk are for.

Packs are mapped. If all of them are read at once, and memory for their pages is short, pages that
will be needed again go for those of others. The memory is that of a cgroup, version 2 or 1: pages
of files are charged to who touches them first, so the packs are dropped from the page cache before
each run.
"""
import os
import shutil

from lib.folder import Failed

REPOS = 16
THREADS = 8
SLOTS = 2
LIMIT_MB = 120


class Group:
    """A cgroup with a memory limit, gone at the end."""

    def __init__(self, limit_bytes):
        self.path = None
        for root, is_second in places():
            path = os.path.join(root, f"weir-bench-{os.getpid()}")
            try:
                os.mkdir(path)
                self.path = path
                name = "memory.max" if is_second else "memory.limit_in_bytes"
                put(os.path.join(path, name), limit_bytes)
                self.version = 2 if is_second else 1
                return
            except OSError:
                self.close()
        raise Failed("pages needs a cgroup with a memory limit, which cannot be made here: be root")

    def wrap(self, command):
        script = 'echo $$ >"$0" && exec "$@"'
        return ["bash", "-euc", script, os.path.join(self.path, "cgroup.procs"), *command]

    def close(self):
        if self.path:
            try:
                os.rmdir(self.path)
            except OSError:
                pass
        self.path = None


def places():
    """(folder of a memory controller, whether it is of version 2)"""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            kind, root = right.split()[0], left.split()[4]
            if kind == "cgroup2":
                with open(os.path.join(root, "cgroup.subtree_control"), encoding="ascii") as control:
                    if "memory" in control.read().split():
                        yield root, True
            elif kind == "cgroup" and "memory" in right.split()[2].split(","):
                yield root, False


def put(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


class Repositories:
    """Copies of one history: files of their own, so that no page is shared."""

    def __init__(self, history, folder):
        self.root = os.path.join(folder, "repositories")
        self.planted = []
        for number in range(REPOS):
            shutil.copytree(history.root, os.path.join(self.root, f"{number:02}.git"))
            self.planted += [{**p, "path": f"{number:02}.git/{p['path']}"}
                             for p in history.planted]
        self.packs = [os.path.join(path, name) for path, _, names in os.walk(self.root)
                      for name in names if path.endswith("/pack")]
        self.bytes = REPOS * history.bytes
        self.pack_bytes = sum(os.path.getsize(path) for path in self.packs)

    def drop(self):
        """From the page cache."""
        for path in self.packs:
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)


def command(weir, root, slots):
    return [weir, "scan", "--json", "--history=only", "--no-state", f"--threads={THREADS}",
            f"--device-slots={root}={slots}", f"--find-repos={root}"]
