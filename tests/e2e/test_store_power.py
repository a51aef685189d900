#!/usr/bin/env python3
"""The power fails: what was acknowledged is on the disk.

The store lies on a file system in an image, which lies on an xfs that can share blocks. While the store is
being written, the image is cloned, which xfs does at once: the clone is the disk as it would be if the power
had failed then. It is mounted, so that its journal is replayed, and what had been acknowledged before the clone
was begun has to be in the store there. A plain copy of a mounted image would be of no moment at all.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from store_lib import Model, Writer, check, seeded
from tap import Tap

SNAPSHOTS = 60 if os.environ.get("WEIR_LONG") else 5
INSIDE = "WEIR_STORE_POWER_INSIDE"  # mounts are this process's own, and go with it


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


def model_of(lines, before, after):
    """What must be there, if it was read from the disk after the one line and before the other."""
    model = Model()
    for line in lines[:before]:
        model.take(line)
    answered = model.answered
    for line in lines[before:after]:
        model.asked(line)
    return model, answered


def cut_power(kind, outer, writer, dice):
    """Clones the disk, and looks at what is on it. Whether it is right, why not, how much was answered."""
    image, clone = os.path.join(outer, kind + ".img"), os.path.join(outer, "clone.img")
    folder = os.path.join(os.path.dirname(outer), "clone")
    time.sleep(0.05 + dice.random() * 0.4)
    before = len(writer.lines)
    run("cp", "--reflink=always", image, clone)
    # What was asked for before the clone was there may still be in the pipe.
    time.sleep(0.2)
    model, answered = model_of(writer.lines, before, len(writer.lines))
    mount_image(kind, clone, folder, ",nouuid" if kind == "xfs" else "")
    try:
        is_good, why = check(os.path.join(folder, "store"), model)
    finally:
        run("umount", folder)
        os.remove(clone)
    return is_good, why, answered


def try_kind(tap, kind, work, outer):
    seed, dice = seeded()
    inner = os.path.join(work, kind)
    make_image(kind, os.path.join(outer, kind + ".img"), 700 << 20, inner)
    writer = Writer(os.path.join(inner, "store"), seed, 1)
    writer.is_open.wait()
    total = 0
    try:
        for number in range(SNAPSHOTS):
            is_good, why, answered = cut_power(kind, outer, writer, dice)
            total += answered
            if not is_good:
                break
        tap.tell(is_good, f"{SNAPSHOTS} times without power on {kind}", f"time {number}: {why}")
    finally:
        said = writer.end()
    tap.tell(not said, f"the writer on {kind} had nothing to complain about", said)
    tap.tell(total > 20 * SNAPSHOTS, f"much was acknowledged on {kind}", str(total))
    print(f"# {kind}: {total} answers before the power failed")
    run("umount", inner)


def main():
    if os.geteuid() != 0 or not shutil.which("mkfs.xfs"):
        print("1..0 # SKIP needs to mount")
        return 0
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    tap = Tap()
    work = tempfile.mkdtemp(prefix="weir-store-power-")
    outer = os.path.join(work, "outer")
    try:
        try:
            make_image("xfs", os.path.join(work, "outer.img"), 4 << 30, outer)
        except OSError as error:
            print(f"1..0 # SKIP cannot mount: {error}")
            return 0
        for kind in ("ext4", "xfs"):
            try_kind(tap, kind, work, outer)
        run("umount", outer)
    finally:
        subprocess.run(["umount", "-l", outer], capture_output=True)
        shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
