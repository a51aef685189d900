#!/usr/bin/env python3
"""Ten thousand connections at once that do nothing, or nearly: never used, used once and kept, with
half a head, with half a body. Others are served as ever; one more is told that there are too many;
and when they are gone, nothing of them is left. Prints TAP.
"""
import os
import re
import resource
import socket
import sys
import time

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, exchange, finish, path, read_head, same, tap, true, until)  # noqa: E402

WANTED = 10_000
PER_ADDRESS = 250  # below server.connection_limit_per_ip, which stays as it is
SANITIZED = os.environ.get("SANITIZED", "none") != "none"
SPARE = 600  # descriptors of segments, files and loops
BODIES = 500  # half a body is a request in progress, of which there may be 1024
MOST_KIB = 24  # of a connection, with the exchange that half a request has


def room():
    """How many connections both sides may have; the server wants two descriptors for each."""
    wanted = 2 * (WANTED + 4) + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        except (ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    elif soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(WANTED, (resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE) // 2 - 4)


count = room() if not SANITIZED else min(1000, room())
if count < WANTED and not SANITIZED:
    tap.skip("ten thousand", f"the limit of descriptors allows {count} only")
storage = Storage("--set", f"server.max_conns={count + 4}", "--set", "idle_timeout=10m", "--set", "read_timeout=10m",
                  data=path("data"))
content = os.urandom(MIB)
target = "/o/" + address(content)
same("a chunk", (storage.put(content).status, storage.get(target).status), (201, 200))


def descriptors():
    return len(os.listdir(f"/proc/{storage.pid}/fd"))


def connections():
    return storage.metrics()["http_connections"]


def kind_of(number):
    kinds = ("never used", "kept after an answer", "half a head", "half a body" if number < 4 * BODIES else "half a head")
    return kinds[number % 4]


def open_one(number):
    end = socket.socket()
    end.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
    end.bind((f"127.0.{1 + number // PER_ADDRESS // 250}.{1 + number // PER_ADDRESS % 250}", 0))
    end.settimeout(60)
    end.connect(("127.0.0.1", storage.port))
    kind = kind_of(number)
    if kind == "kept after an answer":
        end.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    elif kind == "half a head":
        end.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
    elif kind == "half a body":
        end.sendall(b"POST /o HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf")
    return end


def at_rest():
    """What the kernel has of a process when nothing moves."""
    return storage.memory(), descriptors()


until(lambda: connections() == 1, "rest")
memory, files = at_rest()
begin = time.monotonic()
ends = [open_one(number) for number in range(count)]
until(lambda: connections() == count + 1, "all of them")
took = time.monotonic() - begin
kept = [end for number, end in enumerate(ends) if kind_of(number) == "kept after an answer"]
true("each that asked was answered", all(read_head(end)[0].startswith(b"HTTP/1.1 200 ") for end in kept))
grown = storage.memory() - memory
print(f"# {count} connections in {took:.1f} s; {grown / MIB:.1f} MiB more, {grown / count:.0f} bytes for each")
true(f"a connection costs at most {MOST_KIB} KiB of memory", SANITIZED or grown / count < MOST_KIB << 10, grown / count)

longest = 0.0
for turn in range(50):
    begin = time.monotonic()
    answers = [storage.get(target), storage.put(os.urandom(5000)), storage.get("/healthz"), storage.get("/readyz")]
    longest = max(longest, time.monotonic() - begin)
    if [answer.status for answer in answers] != [200, 201, 200, 200] or answers[0].body != content:
        break
same(f"{count} connections: others are served", [answer.status for answer in answers], [200, 201, 200, 200])
print(f"# four requests in {1000 * longest:.0f} ms at most")
until(lambda: connections() == count + 1, "the end of those that were answered")
same("all are there still", connections(), count + 1)
same("and can be used", sum(
    (end.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") or read_head(end)[0].startswith(b"HTTP/1.1 200 "))
    for end in kept[::50]), len(kept[::50]))

# --- one more than there may be ---

full = [storage.connect() for _ in range(4)]
for end in full:
    assert exchange(end, "GET", "/healthz").status == 200
answer = storage.get(target)
same("one more is told", (answer.status, answer["Retry-After"]), (429, "1"))
same("those that are there go on", exchange(full[0], "GET", target).body == content, True)


def refused():
    found = re.search(r'http_refused_total\{reason="connections"\} (\d+)', exchange(full[0], "GET", "/metrics").body.decode())
    return int(found.group(1))


true("it is counted", until(lambda: refused() >= 1, "the count"))
before = refused()
many = [socket.create_connection(("127.0.0.1", storage.port), 60) for _ in range(200)]
told = 0
for end in many:
    told += read_head(end)[0].startswith(b"HTTP/1.1 429 ")
    end.close()
same("two hundred more are all told", told, 200)
true("and counted", until(lambda: refused() == before + 200, "the count"))
for end in full:
    end.close()

# --- and when they go ---


def leave():
    for number, end in enumerate(ends):
        if number % 2:  # the hard way
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        end.close()
    until(lambda: connections() == 1, "their end")


leave()
same("when they have gone there is none", connections(), 1)
true("the descriptors are back", until(lambda: descriptors() <= files + 2, "the descriptors"))
once = storage.memory()
ends = [open_one(number) for number in range(count)]
until(lambda: connections() == count + 1, "all of them again")
twice = storage.memory()
leave()
print(f"# {(once - memory) / MIB:+.1f} MiB after they have gone, {(twice - memory) / MIB:+.1f} MiB with as many again, "
      f"{(storage.memory() - memory) / MIB:+.1f} MiB without them")
true("as many again have what the first have left", SANITIZED or twice - memory < grown + 8 * MIB, (memory, grown, twice))
same("it serves", storage.get(target).body == content, True)
same("the end", storage.stop(), 0)
finish()
