"""Sixteen repositories on one disk with little memory: what slots of a disk are for.

Packs are mapped, and read by families of deltas, which are scattered over them. If many are read at
once, and memory for their pages is short, pages that will be needed again go for those of others.
The memory is that of a cgroup, version 2 or 1: pages of files are charged to who touches them first,
so the packs are dropped from the page cache before each run. What counts is how much is read of the
disk for each byte of the packs: what else the machine does changes it less than it changes seconds.
"""
import os
import shutil

from lib.folder import Failed, device_of

REPOS = 16
THREADS = 8
SLOTS = (1, 2, 4, REPOS)    # the last is as good as none
LIMITS_MB = (160, 240)
SECONDS_MAX = 60
# A repository asks for 0.4 GiB of it when there is enough, though it touches little of that: with
# less, memory and not the disk would say how many are scanned at once.
DELTA_CACHE = "8G"


class Group:
    """A cgroup with a memory limit, gone at the end."""

    def __init__(self):
        self.path = None
        for root, is_second in places():
            path = os.path.join(root, f"weir-bench-{os.getpid()}")
            try:
                os.mkdir(path)
                self.path = path
                self.version = 2 if is_second else 1
                self.limit(1 << 30)
                return
            except OSError:
                self.close()
        raise Failed("pages needs a cgroup with a memory limit, which cannot be made here: be root")

    def limit(self, limit_bytes):
        name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        put(os.path.join(self.path, name), limit_bytes)

    def wrap(self, command):
        script = 'echo $$ >"$0" && exec "$@"'
        return ["bash", "-euc", script, os.path.join(self.path, "cgroup.procs"), *command]

    def counts(self):
        """Since it was made: bytes that were read once more because they had been pushed out,
        faults that had to wait for the disk, and how often the limit was met."""
        stat = self._table("memory.stat")
        if self.version == 2:
            full = self._table("memory.events")["max"]
        else:
            with open(os.path.join(self.path, "memory.failcnt"), encoding="ascii") as file:
                full = int(file.read())
        refaults = stat["workingset_refault_file"]
        return {"refault_mb": refaults * os.sysconf("SC_PAGE_SIZE") / 1e6,
                "major": stat["pgmajfault"], "full": full}

    def _table(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return {key: int(value) for key, value in map(str.split, file)}

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


class Round:
    """What is around each run: the packs are cold, and what the cgroup counted is kept."""

    def __init__(self, group, repos):
        self._group = group
        self._repos = repos
        self._counts = {}

    def before(self):
        self._repos.drop()
        self._counts = self._group.counts()

    def wrap(self, arguments):
        return self._group.wrap(arguments)

    def after(self):
        return {key: value - self._counts[key] for key, value in self._group.counts().items()}


def ahead_kib(path):
    """How much is read around the page that a fault is for, at most."""
    disk = f"/sys/class/block/{device_of(path)}"
    for queue in (f"{disk}/queue", f"{os.path.realpath(disk)}/../queue"):
        try:
            with open(os.path.join(queue, "read_ahead_kb"), encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            pass    # a partition has no queue of its own
    return "an unknown number of"


def name_of(slots):
    return "no slots" if slots >= REPOS else f"{slots} slot{'s' if slots > 1 else ''}"


def command(weir, root, slots):
    return [weir, "scan", "--json", "--history=only", "--no-state", f"--threads={THREADS}",
            f"--delta-cache={DELTA_CACHE}", f"--device-slots={root}={slots}",
            f"--find-repos={root}"]
