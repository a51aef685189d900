"""Where the trees are while they are measured, gone at the end.

An ext4 without a journal is no place to measure on: there the kernel does not give out an inode
again for some minutes after it was deleted, and looks at each of those before it finds a free one,
so that making files after removing as many takes up to twenty times longer. That hits whoever comes
after a removal, and in a benchmark everybody does. Some virtual machines have such a root. There,

- for warm scenarios, which do not wait for the disk, the trees are on an ext4 with a journal, as
  mkfs.ext4 makes it, in an image file that is mounted through a loop device. The mount is in a name
  space of its own, so that it ends with the benchmark, however that ends;
- for cold ones nothing is removed before a scenario has ended, and the next begins when the kernel
  has forgotten what was. A loop device would make every single read slower, and so favour those who
  read many files at once.
"""
import os
import shutil
import subprocess
import sys
import time

from lib import folder as shared
from lib.folder import call, device_of, remove

PREFIX = "bench-copy."
TOOLS = ("unshare", "losetup", "mount", "umount", "fallocate", "mkfs.ext4")
INSIDE = "WEIR_BENCH_IS_INSIDE"
INODE_RATIO = 16384     # bytes for an inode, as mkfs.ext4 counts
GIB = 1 << 30
FORGET_SECONDS = 65     # the kernel's minute, and some


def can_have_image():
    """Not every root may: one in a container often has no mounts of its own."""
    return os.geteuid() == 0 and all(shutil.which(tool) for tool in TOOLS) and subprocess.run(
        ["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


def enter_name_space():
    """Starts this program again, with mounts that nobody else sees. Returns in the new one."""
    if os.environ.get(INSIDE):
        del os.environ[INSIDE]
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--", sys.executable, *sys.argv])


class Folder(shared.Folder):
    """With the tree that is copied and the names of its copies, in an image file if need be."""

    def __init__(self, parent, image_bytes=0, keeps=False):
        super().__init__(parent, PREFIX)
        self.shape = None       # of the source that is there
        self._destinations = 0
        self._keeps = keeps     # what is removed, until the end of a scenario
        self._kept = []
        self._removed_at = time.monotonic() if self.had_leftovers else None
        try:
            if image_bytes:
                self._mount(image_bytes)
        except BaseException:
            self.close()
            raise

    @property
    def source(self):
        return os.path.join(self.path, "source")

    def new_destination(self):
        """A name that has not been there yet: where it is made may depend on it."""
        self._destinations += 1
        return os.path.join(self.path, f"copy-{self._destinations}")

    def discard(self, path):
        """Removes a tree, now or at the end of the scenario."""
        if self._keeps:
            self._kept.append(path)
        else:
            remove(path)

    def clear(self):
        """The scenario has ended."""
        for path in filter(os.path.lexists, self._kept):
            remove(path)
            self._removed_at = time.monotonic()
        self._kept = []

    def wait_forgotten(self):
        """Before a scenario, where removals would be felt."""
        if self._keeps and self._removed_at is not None:
            os.sync()
            time.sleep(max(0.0, self._removed_at + FORGET_SECONDS - time.monotonic()))
            self._removed_at = None

    def _mount(self, size):
        image = os.path.join(self._base, "image")
        point = os.path.join(self._base, "mounted")
        os.mkdir(point)
        call("fallocate", "-l", str(size), image)
        call("mkfs.ext4", "-q", "-F", "-m", "0", image)
        loop = call("losetup", "--find", "--show", "--direct-io=on", image)
        try:
            copy_readahead(self._base, loop)
            # Inode tables that were never used are not to be zeroed while something is measured.
            call("mount", "-o", "noinit_itable", loop, point)
        finally:
            call("losetup", "-d", loop)     # from now on it goes with the mount
        self.path, self.is_mounted = point, True

    def close(self):
        if self.is_mounted:
            subprocess.run(["umount", self.path], check=False, stderr=subprocess.DEVNULL,
                           start_new_session=True)
        super().close()


def copy_readahead(path, loop):
    """The loop device reads ahead as far as the disk below does, not by a default of its own."""
    name = device_of(path)
    for queue in (f"/sys/class/block/{name}/queue", f"/sys/class/block/{name}/../queue"):
        try:
            with open(f"{queue}/read_ahead_kb", encoding="ascii") as file:
                value = file.read()
            with open(f"/sys/class/block/{os.path.basename(loop)}/queue/read_ahead_kb", "w",
                      encoding="ascii") as file:
                file.write(value)
            return
        except OSError:
            continue


def image_size(needs_bytes, needs_inodes):
    """With a fifth left free, and room for the journal and the inode tables."""
    size = max(needs_bytes, needs_inodes * INODE_RATIO)
    return (size * 5 // 4 + 2 * GIB) // GIB * GIB


def is_tmpfs(path):
    if not os.path.isdir(path):
        return False
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return any(line.split()[4] == path and line.partition(" - ")[2].split()[0] == "tmpfs"
                   for line in file)
