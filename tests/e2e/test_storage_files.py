#!/usr/bin/env python3
"""/f/ADDRESS: manifests that are read as the files that they stand for. Whole, by ranges, with holes,
without some of their chunks, and one that is larger than memory should be. Prints TAP.
"""
import os
import random
import shutil
import socket
import sys

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, bearer, finish, folder, has, is_envelope, make_file,  # noqa: E402
                         make_folder, mint, parts_of, path, read_all, read_head, run, same, true,
                         until)

CHUNKS = os.environ["CHUNKS"]
IS_SANITIZED = os.environ.get("SANITIZED", "none") != "none"
chance = random.Random(11)
data = path("data")
storage = Storage(data=data)


def upload(name, *size):
    """Of a file: its root, and the chunks and nodes in their order of names."""
    there = make_folder(name + ".chunks")
    status, out, err = run(CHUNKS, path(name), there, *size)
    assert status == 0, err
    names = sorted(os.listdir(there))
    for chunk in names:
        with open(os.path.join(there, chunk), "rb") as file:
            answer = storage.put(file.read(), name=chunk)
        assert answer.status in (200, 201), answer
    root, length = out.decode().split()
    assert int(length) == os.path.getsize(path(name))
    return root, names


# --- a file of chunks cut by content ---

content = chance.randbytes(1_500_000)
make_file("file", content)
root, names = upload("file")
true("it has several chunks", len(names) > 5, names)
target = "/f/" + root
answer = storage.get(target)
same("the whole file", (answer.status, answer.body == content), (200, True))
for field, value in {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
                     "ETag": f'"{root}"', "Accept-Ranges": "bytes", "Content-Length": "1500000",
                     "Content-Type": "application/octet-stream", "Vary": "Accept-Encoding"}.items():
    same(f"with {field}", answer[field], value)
has("and a sandbox", answer["Content-Security-Policy"], r"sandbox.*default-src 'none'")
head = storage.ask("HEAD", target)
same("HEAD", (head.status, head.body, head["Content-Length"], head["ETag"]), (200, b"", "1500000", f'"{root}"'))
same("unchanged", storage.get(target, If_None_Match=f'"{root}"').status, 304)
same("not what was wanted", storage.get(target, If_Match='"x"').status, 412)

for _ in range(40):
    first = chance.randrange(1_500_000)
    last = min(first + chance.choice((0, 1, 100, 65536, 400_000)), 1_499_999)
    answer = storage.get(target, Range=f"bytes={first}-{last}")
    if (answer.status, answer["Content-Range"], answer.body) != (
            206, f"bytes {first}-{last}/1500000", content[first:last + 1]):
        break
same("ranges across borders of chunks", (answer.status, answer.body == content[first:last + 1]), (206, True))
for wanted, first, end in (("bytes=-1", 1_499_999, None), ("bytes=1499999-", 1_499_999, None),
                           ("bytes=0-", 0, None), ("bytes=0-0", 0, 1)):
    same(wanted, storage.get(target, Range=wanted).body == content[first:end], True)
for _ in range(10):
    places = sorted(chance.sample(range(0, 1_500_000, 1000), 10))
    pairs = [(places[i], places[i + 1] - 2) for i in range(0, 10, 2)]
    answer = storage.get(target, Range="bytes=" + ", ".join(f"{a}-{b}" for a, b in pairs))
    wanted = [(f"bytes {a}-{b}/1500000", content[a:b + 1]) for a, b in pairs]
    if parts_of(answer) != wanted or int(answer["Content-Length"]) != len(answer.body):
        break
true("five ranges of a file", parts_of(answer) == wanted and answer.status == 206)
answer = storage.get(target, Range="bytes=1500000-")
same("behind the end", (answer.status, answer["Content-Range"], is_envelope(answer, "Range")),
     (416, "bytes */1500000", True))
same("If-Range of another one", storage.get(target, Range="bytes=0-9", If_Range='"x"').status, 200)
answer = storage.ask("HEAD", target, headers={"Range": "bytes=0-9"})
same("HEAD of a range is of the whole", (answer.status, answer["Content-Length"]), (200, "1500000"))
status, out, _ = run("curl", "-sSf", "-r", "70000-1200000", storage.url + target)
same("curl -r", (status, out == content[70000:1200001]), (0, True))
status, out, _ = run("curl", "-sSf", "-OJ", storage.url + target, cwd=folder)
same("curl -OJ", status, 0)

# --- small ones ---

make_file("empty", b"")
root, _ = upload("empty")
answer = storage.get("/f/" + root)
same("an empty file", (answer.status, answer.body, answer["Content-Length"]), (200, b"", "0"))
same("has no first byte", storage.get("/f/" + root, Range="bytes=0-0").status, 416)
make_file("byte", b"x")
root, _ = upload("byte")
same("one byte", storage.get("/f/" + root).body, b"x")

# --- holes ---

with open(path("holes"), "wb") as file:
    file.truncate(3 * MIB)
    for place in (0, MIB, 2 * MIB + 5000):
        file.seek(place)
        file.write(chance.randbytes(100_000))
with open(path("holes"), "rb") as file:
    content = file.read()
root, _ = upload("holes", 65536)
target = "/f/" + root
same("a file with holes", storage.get(target).body == content, True)
for a, b in ((99_000, 101_000), (200_000, 900_000), (500_000, MIB + 50_000), (MIB + 90_000, 2 * MIB + 6000),
             (3 * MIB - 1, 3 * MIB - 1), (2 * MIB, 3 * MIB - 1)):
    same(f"{a}-{b} of it", storage.get(target, Range=f"bytes={a}-{b}").body == content[a:b + 1], True)
answer = storage.get(target, Range="bytes=0-9,300000-400009,1048570-1048600,-10")
same("parts in holes and out", [part for _, part in parts_of(answer)],
     [content[:10], content[300_000:400_010], content[1048570:1048601], content[-10:]])
with open(path("nothing"), "wb") as file:
    file.truncate(MIB)
root, _ = upload("nothing")
same("nothing but a hole", storage.get("/f/" + root).body == bytes(MIB), True)

# --- what is no file ---


def node(*entries, version=1, kind=0, level=0, length=None):
    """A manifest with these (length, content) of 256 to 65535 bytes."""
    total = sum(size for size, _ in entries) if length is None else length
    made = b"\xdaWeir\x85" + bytes((version, kind, level)) + b"\x19" + total.to_bytes(2, "big")
    made += bytes((0x80 + len(entries),))
    for size, held in entries:
        made += b"\x82\x19" + size.to_bytes(2, "big") + b"\x58\x20" + bytes.fromhex(address(held)[3:])
    return made


healthy = chance.randbytes(1000)
right = node((1000, healthy))
storage.put(healthy)
storage.put(right)
same("a manifest that is made by hand", storage.get("/f/" + address(right)).body, healthy)
for made, what in ((b"no manifest", "some text"), (b"", "an empty chunk"), (bytes(1000), "zeros"),
                   (b"\xa3\x01\x02", "something cut"), (b"\xdaWeir", "the tag alone"),
                   (b"\xdaWeirhello", "the tag and some text"), (right[:-1], "a manifest that is cut"),
                   (right + b"x", "one with a byte behind it"), (node((1000, healthy), length=999), "a wrong sum"),
                   (node((1000, right), level=1), "a root that is not needed"),
                   (node((1000, healthy), version=2), "one of version 2"),
                   (node((1000, healthy), kind=1), "that of a directory")):
    storage.put(made)
    answer = storage.get("/f/" + address(made))
    same(f"{what} is no manifest", (answer.status, is_envelope(answer, "Invalid")), (400, True))
true("and nothing is said of it", " failed" not in storage.log(), storage.log())
for made, wrong in ((node((999, healthy)), healthy), (node((1000, right), (999, right), level=1), right),
                    (node((1000, right), (1000, healthy), level=1), right),
                    (node((1000, b"\xdaWeirhello"), (1000, right), level=1), b"\xdaWeirhello")):
    storage.put(made)
    got = storage.raw(f"GET /f/{address(made)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    same("a manifest that is wrong about what it leads to is cut there",
         got.partition(b"\r\n\r\n")[2].removesuffix(b"(reset)"), b"")
    storage.wait_for_log(f"GET /f/{address(made)} failed at {address(wrong)}: the manifest is wrong there")
true("and no chunk is called damaged", "damaged" not in storage.log(), storage.log())
same("nor is one", storage.metrics()["store_damaged_total"], 0)
answer = storage.get("/f/" + address(b"nowhere"))
same("one that is not there", (answer.status, is_envelope(answer, "NotFound")), (404, True))

# --- a chunk is missing in the middle ---

content = chance.randbytes(20 * 65536)
make_file("torn", content)
root, names = upload("torn", 65536)
target = "/f/" + root
middle = address(content[10 * 65536:11 * 65536])
same("a chunk of the middle goes", storage.ask(
    "DELETE", "/o/" + middle, headers=bearer(mint(data, "--scope", "delete"))).status, 204)
got = storage.raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
head, _, body = got.partition(b"\r\n\r\n")
body = body.removesuffix(b"(reset)")
has("the answer begins", head.decode(), f"^HTTP/1.1 200 .*Content-Length: {len(content)}")
true("is cut before what is missing", len(body) <= 10 * 65536, len(body))
true("and has no wrong byte", content.startswith(body), len(body))
status, _, _ = run("curl", "-sS", "-o", path("cut"), storage.url + target)
true("curl knows", status in (18, 56), status)
same("before it, all can be read",
     storage.get(target, Range="bytes=0-655359").body == content[:655360], True)
same("behind it, too", storage.get(target, Range="bytes=720896-").body == content[720896:], True)
true("they are counted", until(lambda: storage.metrics()["http_aborted_total"] >= 2, "the count"))
storage.put(content[10 * 65536:11 * 65536])
same("it comes again, and all is well", storage.get(target).body == content, True)
same("the end", storage.stop(), 0)

# --- the piece in which it is streamed ---


def steps(*settings):
    """How often the streams had to look for more of the torn file."""
    words = [word for setting in settings for word in ("--set", setting)]
    service = Storage(*words, data=data)
    assert service.get(target).body == content
    count = service.metrics()['queue_sent_total{queue="streams"}']
    assert service.stop() == 0
    return count


# 20 chunks of 64 KiB: two looks for each chunk, one for each four, one for all.
small, usual, large = steps("storage.chunk_size=16KiB", "storage.read_ahead=1"), steps(), steps(
    "storage.chunk_size=1MiB", "storage.read_ahead=2")
true("small pieces are many, large ones few", small >= 20 and 5 <= usual < small and large < usual,
     (small, usual, large))

# --- what was verified is what is sent ---

storage = Storage("--set", "storage.verify=always", data=data)
content = chance.randbytes(20 * 65536)
make_file("rot", content)
root, _ = upload("rot", 65536)
target = "/f/" + root
same("always: whole", storage.get(target).body == content, True)
answer = storage.get(target, Range="bytes=70000-300000")
same("always: a range", (answer.status, answer.body == content[70000:300001]), (206, True))
answer = storage.get(target, Range="bytes=0-9,65530-65545,-10")
same("always: parts", [part for _, part in parts_of(answer)], [content[:10], content[65530:65546], content[-10:]])
victim = content[12 * 65536:13 * 65536]
for name in os.listdir(os.path.join(data, "segments")):
    with open(os.path.join(data, "segments", name), "r+b") as segment:
        at = segment.read().find(victim)
        if at >= 0:
            segment.seek(at + 30_000)
            segment.write(bytes([victim[30_000] ^ 1]))
got = storage.raw(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
body = got.partition(b"\r\n\r\n")[2].removesuffix(b"(reset)")
true("always: a bit that turned is not sent", len(body) == 12 * 65536 and content.startswith(body), len(body))
storage.put(victim)
same("always: put again, all is well", storage.get(target).body == content, True)
content = chance.randbytes(16 * MIB)
make_file("turned", content)
root, _ = upload("turned", 65536)
with storage.socket() as end:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head, body = read_head(end)
    stalled = until(lambda: storage.metrics()["http_sent_bytes_total"], "some bytes")
    while (now := storage.metrics()["http_sent_bytes_total"]) > stalled + MIB:
        stalled = now
    for name in os.listdir(os.path.join(data, "segments")):
        with open(os.path.join(data, "segments", name), "r+b") as segment:
            held = segment.read()
            for place in range(0, len(content), 65536):
                at = held.find(content[place:place + 65536])
                if at >= 0:
                    segment.seek(at + 100)
                    segment.write(bytes([content[place + 100] ^ 1]))
    body += read_all(end).removesuffix(b"(reset)")
true("always: nor one that turned after it was verified", len(body) < len(content) and content.startswith(body),
     (len(body), next((i for i, (a, b) in enumerate(zip(body, content)) if a != b), None)))
same("the end of always", storage.stop(), 0)

# --- a client that does not want to wait for all of it ---

with open(path("long"), "wb") as file:
    file.truncate(256 * MIB)
    file.seek(0)
    file.write(chance.randbytes(32 * MIB))
storage = Storage("--set", "write_timeout=2m", "--set", "server.min_rate=0", data=data)
root, _ = upload("long")
with storage.socket() as end:
    end.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\nX-Deadline-Ms: 700\r\n\r\n".encode())
    head, rest = read_head(end)
    has("an answer with an end", head.decode(), "^HTTP/1.1 200 ")
    until(lambda: storage.metrics()['io_timeouts_total{op="write"}'] >= 1, "the end of it")
    got = len(rest) + len(read_all(end))
    true("is cut there", got < 256 * MIB, got)
same("the end of that client", storage.stop(), 0)

# --- 3 GiB ---

size = 3 << 30
with open(path("large"), "wb") as file:
    file.truncate(size)
    places = list(range(0, size, 256 * MIB)) + [size - 70_000]
    for place in places:
        file.seek(place)
        file.write(chance.randbytes(70_000))
storage = Storage(data=data)
root, _ = upload("large")
target = "/f/" + root
same("3 GiB", storage.ask("HEAD", target)["Content-Length"], str(size))
with open(path("large"), "rb") as file:
    for place in places:
        first = max(place - 1000, 0)
        file.seek(first)
        answer = storage.get(target, Range=f"bytes={first}-{place + 69_999}")
        same(f"{place}", answer.body == file.read(place + 70_000 - first), True)
before = storage.memory()
length = 600 * MIB if not IS_SANITIZED else 100 * MIB
with storage.socket() as end:
    end.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nRange: bytes=1000-{length}\r\n"
                "Connection: close\r\n\r\n".encode())
    got, most, room = 0, before, bytearray(4 * MIB)
    while count := end.recv_into(room):
        got += count
        most = max(most, storage.memory())
true("a long range comes whole", length - 999 < got < length + 2000, got)
true("and costs no memory", most - before < 16 * MIB, (before, most))
same("the end of that", storage.stop(), 0)
shutil.rmtree(data)
finish()
