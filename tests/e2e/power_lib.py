"""Disks whose power fails.

What is tested lies on a file system in an image, which lies on an xfs that can share blocks. While it is being
written, the image is cloned, which xfs does at once: the clone is the disk as it would be if the power had failed
then. It is mounted, so that its journal is replayed, and looked at. A plain copy of a mounted image would be of no
moment at all.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

CUTS = 60 if os.environ.get("WEIR_LONG") else 5
KINDS = ("ext4", "xfs")
INSIDE = "WEIR_POWER_INSIDE"  # mounts are this process's own, and go with it


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def mount_image(kind, image, folder, options=""):
    os.makedirs(folder, exist_ok=True)
    run("mount", "-t", kind, "-o", "loop" + options, image, folder)


def make_image(kind, image, size, folder):
    with open(image, "wb") as file:
        file.truncate(size)
    run(f"mkfs.{kind}", "-q", image)
    mount_image(kind, image, folder)


class Disk:
    """folder is on it."""

    def __init__(self, kind, work):
        self.kind, self.folder, self.clones = kind, os.path.join(work, kind), os.path.join(work, "clone")
        self.image = os.path.join(work, "outer", kind + ".img")
        self.clone = os.path.join(work, "outer", "clone.img")
        make_image(kind, self.image, 700 << 20, self.folder)

    def cut(self):
        """The power fails: from here on there is a clone."""
        run("cp", "--reflink=always", self.image, self.clone)

    @contextlib.contextmanager
    def after(self):
        """The folder as it is when the power is back. What is written there stays there."""
        mount_image(self.kind, self.clone, self.clones, ",nouuid" if self.kind == "xfs" else "")
        try:
            yield self.clones
        finally:
            run("umount", self.clones)
            os.remove(self.clone)

    def close(self):
        run("umount", self.folder)


def main(prefix, try_disk):
    """try_disk(tap, disk) with a disk of each kind; the status to exit with."""
    if os.geteuid() != 0 or not shutil.which("mkfs.xfs"):
        print("1..0 # SKIP needs to mount")
        return 0
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    tap = Tap()
    work = tempfile.mkdtemp(prefix=prefix)
    outer = os.path.join(work, "outer")
    try:
        try:
            make_image("xfs", os.path.join(work, "outer.img"), 4 << 30, outer)
        except OSError as error:
            print(f"1..0 # SKIP cannot mount: {error}")
            return 0
        for kind in KINDS:
            disk = Disk(kind, work)
            try_disk(tap, disk)
            disk.close()
        run("umount", outer)
    finally:
        subprocess.run(["umount", "-l", outer], capture_output=True)
        shutil.rmtree(work, ignore_errors=True)
    return tap.end()
