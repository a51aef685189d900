#!/usr/bin/env python3
"""A disk with a bad sector: the storage serves all the rest, says so, and never says of what may lie there that it
is absent. When the sector can be read again, so can everything.

The sector is a real one: a block of a segment is made to be the last one of a file system in an image, and the image
is cut before that block while it is mounted. Needs root for mounts; without, it is skipped. Prints TAP.
"""
import atexit
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (WEIR, Storage, address, finish, has, is_envelope, make_folder, path, run, same, tap,  # noqa: E402
                         true)

BLOCK = 4096
BLOCKS = 16384
BAD_PAGE = 5
image = path("image")
place = make_folder("place")
data = os.path.join(place, "data")
segment = "/data/segments/00000001.seg"


def debugfs(command, is_writing=False):
    words = ["debugfs", *(["-w"] if is_writing else []), "-R", command, image]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode().strip()


def mount():
    return run("mount", "-o", "loop", image, place)[0] == 0


def unmount():
    subprocess.run(["umount", place], stderr=subprocess.DEVNULL, check=False)


def make_disk():
    """Blocks are listed one by one, so that a single one can be changed."""
    with open(image, "wb") as file:
        file.truncate(BLOCKS * BLOCK)
    return run("mkfs.ext4", "-q", "-F", "-b", BLOCK, "-O", "^extents,^metadata_csum,^has_journal,^64bit,^resize_inode",
               image)[0] == 0


def break_page():
    """What the block was before."""
    unmount()
    before = debugfs(f"bmap {segment} {BAD_PAGE}")
    debugfs(f"sif {segment} block[{BAD_PAGE}] {BLOCKS - 1}", True)
    assert mount()
    os.truncate(image, (BLOCKS - 1) * BLOCK)
    return before


def mend_page(before):
    unmount()
    os.truncate(image, BLOCKS * BLOCK)
    debugfs(f"sif {segment} block[{BAD_PAGE}] {before}", True)
    assert mount()


def statuses(names):
    """How often each, and whether all that came was right."""
    found, is_right = {}, True
    for name in names:
        answer = storage.get("/o/" + name)
        found[answer.status] = found.get(answer.status, 0) + 1
        is_right = is_right and (answer.status != 200 or answer.body == pieces[name])
    return found, is_right


def check_serving(what, hidden_least):
    """It serves what it has, and tells what it has not."""
    has(f"{what}: it is said", storage.log(), r"the disk does not give .* 00000001\.seg: chunks may be there")
    ready = storage.get("/readyz")
    same(f"{what}: it is ready, and not whole", (ready.status, ready.json["ready"], ready.json["whole"]),
         (200, True, False))
    same(f"{what}: numbers tell it", storage.metrics()["store_whole"], 0)
    found, is_right = statuses(pieces)
    true(f"{what}: chunks are there, or cannot be read", is_right and set(found) == {200, 500}
         and found[500] >= hidden_least, found)
    answer = storage.get("/o/" + address(b"never stored"))
    same(f"{what}: of nothing it is said that it is absent", (answer.status, is_envelope(answer, "Io")), (500, True))
    lost = next(name for name in pieces if storage.get("/o/" + name).status == 500)
    same(f"{what}: what is put again is there", (storage.put(pieces[lost]).status, storage.get("/o/" + lost).body),
         (201, pieces[lost]))
    fresh = os.urandom(5000)
    pieces[address(fresh)] = fresh
    same(f"{what}: it can be written", (storage.put(fresh).status, storage.get("/o/" + address(fresh)).body),
         (201, fresh))


def check_whole(what):
    ready = storage.get("/readyz").json
    same(f"{what}: it is whole", (ready["whole"], storage.metrics()["store_whole"]), (True, 1))
    same(f"{what}: with all that was put", statuses(pieces), ({200: len(pieces)}, True))
    same(f"{what}: and what is absent is absent", storage.get("/o/" + address(b"never stored")).status, 404)


if os.getuid() != 0 or not shutil.which("debugfs") or not make_disk() or not mount():
    print("1..0 # SKIP needs to mount")
    sys.exit(0)
atexit.register(unmount)

# --- a sector of a segment that has no list of its records ---

pieces = {}
storage = Storage(data=data)
for _ in range(60):
    piece = os.urandom(3000)
    pieces[address(piece)] = piece
    assert storage.put(piece).status == 201
same("a store that is whole", storage.get("/readyz").json["whole"], True)
storage.kill(signal.SIGKILL)
storage.wait()
block = break_page()
storage = Storage(data=data)
check_serving("a bad sector", 1)
same("a bad sector: how much", storage.metrics()["store_unreadable_bytes"], BLOCK)
same("a bad sector: the end", storage.stop(), 0)
status, out, _ = run(WEIR, "store", "check", data)
same("a check ends with 3", status, 3)
has("a check tells which bytes", out.decode(), r"unreadable +00000001\.seg at 20480 .*the disk does not give these bytes")
has("and which chunks, where that is known", out.decode(), r"unreadable +00000001\.seg at \d+ +b3:")
status, out, _ = run(WEIR, "store", "stats", "--json", data)
has("so do its numbers", out.decode(), r'"unreadable_bytes": ?4096')
storage = Storage(data=data)
same("it stays so", storage.get("/readyz").json["whole"], False)
same("the end of that", storage.stop(), 0)
mend_page(block)
storage = Storage(data=data)
check_whole("when it can be read again")

# --- a segment whose file cannot be opened, and an index that has to be made anew ---

storage.kill(signal.SIGKILL)
storage.wait()
unmount()
block = debugfs(f"bmap {segment} 0")
debugfs(f"sif {segment} block[0] 99999999", True)
assert mount()
try:
    with open(os.path.join(data, "segments", "00000001.seg"), "rb"):
        is_shut = False
except OSError:
    is_shut = True
if is_shut:
    storage = Storage(data=data)
    check_serving("a missing segment", 40)
    same("a missing segment: how many", storage.metrics()["store_missing_segments"], 1)
    same("a missing segment: the end", storage.stop(), 0)
else:
    tap.tell(True, "a segment that cannot be opened # SKIP this kernel opens it")
unmount()
debugfs(f"sif {segment} block[0] {block}", True)
assert mount()
storage = Storage(data=data)
check_whole("when it can be opened again")

# --- what a sector has taken is given up, by a copy of the file without it ---

storage.kill(signal.SIGKILL)
storage.wait()
break_page()
run("cp", "-r", data, path("given"))
run("dd", "if=" + place + segment, "of=" + path("given/segments/00000001.seg"), "bs=4096", "conv=noerror,sync")
storage = Storage(data=path("given"))
same("given up: what was lost is told", storage.get("/readyz").json["whole"], False)
true("given up: how much", 0 < storage.metrics()["store_lost_bytes"] <= BLOCK, storage.metrics()["store_lost_bytes"])
found, is_right = statuses(pieces)
true("given up: the rest is there", is_right and set(found) <= {200, 404} and found[200] > len(pieces) - 5, found)
storage.stop()
run(WEIR, "store", "compact", path("given"))
storage = Storage(data=path("given"))
same("given up: a list of what is left makes it whole", storage.get("/readyz").json["whole"], True)
same("the end of all", storage.stop(), 0)
finish()
