#!/usr/bin/env python3
"""Bits that flip on the disk under a storage: whoever finds one (a reader, a file, an upload, the
scrubber) sees to it that the bad bytes are served to nobody, and an upload of the same chunk heals
it. Prints TAP.
"""
import glob
import json
import os
import signal
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (Storage, address, bearer, finish, has, is_envelope, make_file, make_folder, mint,  # noqa: E402
                         path, run, same, true, until, WEIR)

data = path("data")


def flip(content, at):
    """One bit of where these bytes lie, in as many segments as have them. How many that were."""
    count = 0
    for name in sorted(glob.glob(os.path.join(data, "segments", "*.seg"))):
        with open(name, "r+b") as segment:
            whole = segment.read()
            place = whole.find(content)
            while place >= 0:
                segment.seek(place + at)
                segment.write(bytes([content[at] ^ 4]))
                count += 1
                place = whole.find(content, place + 1)
    return count


def kept_aside():
    return len(os.listdir(os.path.join(data, "quarantine"))) if os.path.isdir(os.path.join(data, "quarantine")) else 0


def damaged():
    return storage.metrics()["store_damaged_total"]


def target(content):
    return "/o/" + address(content)


def found_by_a_reader(what, content, at):
    """Nobody has read it since the start."""
    before, aside = damaged(), kept_aside()
    same(f"{what}: a bit flips", flip(content, at), 1)
    answer = storage.get(target(content))
    true(f"{what}: a reader is told, and gets nothing of it",
         answer.status == 500 and is_envelope(answer, "Corrupt") and content[:100] not in answer.body, answer)
    until(lambda: storage.get(target(content)).status == 404, "the quarantine")
    same(f"{what}: then it is not there", storage.ask("HEAD", target(content)).status, 404)
    # Once, or again by those who came before the verdict was written.
    true(f"{what}: which is counted", damaged() > before)
    same(f"{what}: the bytes are kept aside", kept_aside() - aside, 1)
    storage.wait_for_log(f"{address(content)} could not be repaired: there is no other record of it; put it again")
    same(f"{what}: it is put again", storage.put(content).status, 201)
    answer = storage.get(target(content))
    same(f"{what}: and is whole", (answer.status, answer.body == content), (200, True))
    same(f"{what}: and there", storage.put(content).status, 200)
    return content


# --- readers ---

healed = []
first, middle, last, unwanted = (os.urandom(size) for size in (100_000, 300_000, 1 << 20, 50_000))
storage = Storage(data=data)
for one in (first, middle, last, unwanted):
    storage.put(one)
same("the end of the first", storage.stop(), 0)
storage = Storage(data=data)
for what, one, at in (("the first byte", first, 0), ("in the middle", middle, 150_001), ("the last byte", last, (1 << 20) - 1)):
    healed.append(found_by_a_reader(what, one, at))
same("another is damaged", (flip(unwanted, 7), storage.get(target(unwanted)).status), (1, 500))
storage.wait_for_log(f"{address(unwanted)} could not be repaired")
same("and can be deleted", storage.ask("DELETE", target(unwanted), headers=bearer(mint(data, "--scope", "delete"))).status, 204)
same("the end of the second", storage.stop(), 0)
true("none of them is left to be repaired", "were not repaired" not in storage.log(), storage.log())
has("an answer that failed is told", storage.log(), rf"warning: GET {target(first)} failed: .*request [0-9a-f]+")
storage = Storage(data=data)
same("what was healed is there after a restart", [storage.get(target(one)).body == one for one in healed], [True] * 3)
status, out, err = run(WEIR, "store", "check", data)
has("the folder is in use", err, "another process")
same("the end of the third", storage.stop(), 0)

# --- at each read ---

storage = Storage("--set", "storage.verify=always", data=data)
fourth = os.urandom(50_000)
storage.put(fourth)
same("it is read once", storage.get(target(fourth)).body, fourth)
found_by_a_reader("verify = always", fourth, 20_000)
same("the end of the fourth", storage.stop(), 0)

# --- found by a start ---

seventh = os.urandom(40_000)
file = make_file("seventh", seventh)
storage = Storage(data=data)
status, out, err = run(WEIR, "put", file, "--server", storage.url)
same("a file is put", status, 0)
root = out.decode().split()[0]
same("the end of the one before", storage.stop(), 0)
aside = kept_aside()
same("a bit flips in the newest segment", flip(seventh, 999), 1)
storage = Storage(data=data)
same("a start finds it, and nobody is told that it is there",
     storage.ask("POST", "/have", body=json.dumps({"addresses": [address(seventh)]}).encode()).json, {"have": [False]})
has("and says so, with the address", storage.log(), f"{address(seventh)}: its bytes are not those of its address")
same("the bytes are kept aside", kept_aside() - aside, 1)
same("the file is put again", run(WEIR, "put", file, "--server", storage.url)[0], 0)
status, out, err = run(WEIR, "get", root, "--server", storage.url, "-o", path("seventh.out"))
same("and can be read", status, 0)
same("as it was", open(path("seventh.out"), "rb").read() == seventh, True)
# Once more after a sudden end: what was written later says that it had lasted.
eighth, ninth = os.urandom(40_000), os.urandom(40_000)
same("two more are put", [storage.put(eighth).status, storage.put(ninth).status], [201, 201])
storage.kill(signal.SIGKILL)
storage.wait()
aside = kept_aside()
same("a bit flips in the newest segment, whose end was sudden", flip(eighth, 999), 1)
storage = Storage(data=data)
same("the start finds it as well", storage.ask("POST", "/have", body=json.dumps(
    {"addresses": [address(eighth), address(ninth)]}).encode()).json, {"have": [False, True]})
has("and says so", storage.log(), f"{address(eighth)}: its bytes are not those of its address")
same("its bytes are kept aside, too", kept_aside() - aside, 1)
same("it is put again", storage.put(eighth).status, 201)
same("and is whole", storage.get(target(eighth)).body == eighth, True)
same("the end of this one", storage.stop(), 0)

# --- in the middle of a file ---

content = os.urandom(400_000)
name = make_file("file", content)
pieces = make_folder("pieces")
root = subprocess.run([os.environ["CHUNKS"], name, pieces, "65536"], stdout=subprocess.PIPE,
                      check=True).stdout.decode().split()[0]
storage = Storage(data=data)
for piece in os.listdir(pieces):
    with open(os.path.join(pieces, piece), "rb") as file:
        assert storage.put(file.read()).status == 201
same("a file", storage.get("/f/" + root).body == content, True)
same("the end of the fifth", storage.stop(), 0)
storage = Storage(data=data)
third = content[2 * 65536:3 * 65536]
flip(third, 777)
with storage.socket() as end:
    end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    got = b""
    while piece := end.recv(65536):
        got += piece
head, _, body = got.partition(b"\r\n\r\n")
true("of a file, what is before the damage arrives, and nothing behind it",
     len(body) < len(content) and content.startswith(body), (head, len(body)))
until(lambda: storage.get(target(third)).status == 404, "the quarantine")
same("the chunk is put again", storage.put(third).status, 201)
same("and the file is whole", storage.get("/f/" + root).body == content, True)

# --- an upload of what is damaged ---

fifth = os.urandom(70_000)
storage.put(fifth)
same("read, and remembered as good", storage.get(target(fifth)).body, fifth)
before = damaged()
same("a bit flips behind its back", flip(fifth, 35_000), 1)
same("an upload does not take it for present", storage.put(fifth).status, 201)
same("but heals it", storage.get(target(fifth)).body, fifth)
true("and counts", damaged() > before)

# --- the scrubber ---

# In a segment that is sealed.
sixth = os.urandom(90_000)
storage.put(sixth)
same("the end of the sixth", storage.stop(), 0)
storage = Storage("--set", "store.segment_size=4MiB", data=data)
while len(glob.glob(os.path.join(data, "segments", "*.seg"))) < 3:
    storage.put(os.urandom(1 << 20))
before, aside = damaged(), kept_aside()
flip(sixth, 45_000)
token = mint(data, "--scope", "admin")
same("everything is looked at", storage.ask("POST", "/admin/scrub", headers=bearer(token)).status, 202)


def is_found():
    """What was just sealed may come with the next walk."""
    storage.ask("POST", "/admin/scrub", headers=bearer(token))
    return damaged() > before


until(is_found, "the scrubber")
same("what nobody has asked for is found", (storage.get(target(sixth)).status, kept_aside() - aside), (404, 1))
same("and can be healed", (storage.put(sixth).status, storage.get(target(sixth)).body == sixth), (201, True))
same("the end of all", storage.stop(), 0)
status, out, err = run(WEIR, "store", "check", data)
print("# weir store check:", status, out.decode().strip().splitlines()[-1:] or err.strip())

# --- a folder that somebody removes ---

storage = Storage(data=data)
shutil.rmtree(data)
storage.stop()
has("a store that is gone is not said to be whole at the end", storage.log(),
    "could not be marked as closed, and is not whole: ")
true("nor that nothing is lost", "nothing that was acknowledged is lost" not in storage.log())
storage = Storage(data=data)
storage.put(b"some")
os.makedirs(os.path.join(data, "mark.new", "full"))
storage.stop()
has("one that only cannot be marked loses nothing", storage.log(),
    "could not be marked as closed: nothing that was acknowledged is lost")
finish()
