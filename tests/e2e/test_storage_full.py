#!/usr/bin/env python3
"""A storage on a real file system that it has filled, and that recovers by deleting: by itself, after
a restart and a sudden end, and by `weir store compact`. Needs root for mounts. Prints TAP.
"""
import atexit
import os
import random
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, bearer, fill_disk, finish, make_folder, mint, path, run, same,  # noqa: E402
                         tap, true, until)

LARGE, SMALL = 65536, 1024
place = make_folder("small")
chosen = random.Random(7)


def unmount():
    subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL, check=False)


atexit.register(unmount)


def mount_image():
    image = path("image")
    if os.getuid() != 0 or not shutil.which("mkfs.ext4"):
        return False
    with open(image, "wb") as file:
        file.truncate(48 * MIB)
    return run("mkfs.ext4", "-q", "-F", image)[0] == 0 and run("mount", "-o", "loop", image, place)[0] == 0


class Case:
    """A store that is filled, of which much is deleted, and which is filled again."""

    def __init__(self, small):
        self.data = os.path.join(place, "data")
        self.chunks, self.small = {}, small
        self.start()
        self.token = bearer(mint(self.data, "--scope", "delete"))

    def start(self):
        self.storage = Storage("--set", "store.segment_size=4MiB", data=self.data)

    def put_one(self):
        content = os.urandom(SMALL if chosen.randrange(100) < self.small else LARGE)
        answer = self.storage.put(content)
        if answer.status == 201:
            self.chunks[address(content)] = content
        return answer.status

    def fill(self):
        while True:
            status = self.put_one()
            if status == 507:
                return
            assert status == 201, status

    def delete(self, part):
        """Of each hundred so many, wherever they are; those that are refused come again."""
        gone = [name for name in self.chunks if chosen.randrange(100) < part]
        size = 0
        for name in gone:
            until(lambda: self.storage.ask("DELETE", "/o/" + name, headers=self.token).status in (204, 404), "room")
            size += len(self.chunks.pop(name))
        return gone, size

    def use(self, size):
        """So many bytes can be put."""
        done = 0
        while done < size:
            until(lambda: self.put_one() == 201, "room")
            done += len(next(reversed(self.chunks.values())))

    def check(self, what, gone):
        true(what + ": what was not deleted is right",
             all(self.storage.get("/o/" + name).body == content for name, content in self.chunks.items()))
        same(what + ": what was deleted is gone",
             {self.storage.get("/o/" + name).status for name in gone}, {404})

    def end(self, number=signal.SIGTERM):
        self.storage.kill(number)
        return self.storage.wait()


def round_of(what, small, part, between):
    case = Case(small)
    case.fill()
    fill_disk(place)
    true(f"{what}: it is full", case.storage.get("/readyz").json["room"] is False)
    gone, size = case.delete(part)
    between(case)
    case.use(size // 2)
    case.check(what, gone)
    same(f"{what}: the end", case.end(), 0)
    case.start()
    case.check(what + ", once more", gone)
    case.storage.stop()
    shutil.rmtree(case.data)
    os.unlink(os.path.join(place, "rest"))


def restart(case):
    case.end()
    case.start()


def kill(case):
    case.end(signal.SIGKILL)
    case.start()


def by_hand(case):
    case.end()
    code, out = run(os.environ["WEIR"], "store", "compact", case.data)[:2]
    same("by hand: it is compacted", code, 0)
    case.start()


if mount_image():
    round_of("large ones", 0, 60, lambda case: None)
    round_of("small ones", 85, 70, restart)
    round_of("a sudden end", 50, 80, kill)
    round_of("by hand", 30, 75, by_hand)
else:
    tap.skip("a disk that is full", "no mounts")
finish()
