#!/usr/bin/env python3
"""Clients that ask and hang up: what they wanted to know is not looked up when its turn comes, and the
next one of their address does not wait for it. Prints TAP."""
import socket
import struct
import sys

sys.dont_write_bytecode = True
from index_service import Index, Keys, Sibling, took
from storage_lib import finish, read_all, same, true, until

keys = Keys()
owner = keys.id(1)
ASKED = 60
DELAY_S = 0.3


def begin(index, name, headers=""):
    end = socket.create_connection(("127.0.0.1", index.port), 30)
    end.sendall(f"GET /resolve/{name}@{owner} HTTP/1.1\r\nHost: localhost\r\nX-Deadline-Ms: 30000\r\n{headers}\r\n".encode())
    return end


def waiting(index):
    return index.metrics()['queue_depth{queue="turns"}']


def hang_up(end, is_reset):
    if is_reset:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


for kind, is_reset in (("closed", False), ("reset", True)):
    sibling = Sibling(delay=DELAY_S)
    index = Index(f"siblings.nodes={sibling.url}", "index.workers=2", "dht.deadline_ms=30000")
    ends = [begin(index, f"{kind}{number}") for number in range(ASKED)]
    until(lambda: sibling.count() >= 2 and waiting(index) > ASKED / 2, "those who wait")
    for end in ends:
        hang_up(end, is_reset)
    last = begin(index, "last", "Connection: close\r\n")
    answer, seconds = took(lambda: read_all(last))
    same(f"{kind}: the next one is answered", answer[:12], b"HTTP/1.1 404")
    true(f"{kind}: without waiting for those who have gone", seconds < ASKED / 2 * DELAY_S / 3, seconds)
    until(lambda: waiting(index) == 0, "an empty line")
    true(f"{kind}: for whom nobody was asked", sibling.count() < ASKED / 2, sibling.count())
    until(lambda: index.metrics()["http_connections"] == 1, "the end of their connections")
    index.stop()

# --- who closes one side alone ---
sibling = Sibling(delay=DELAY_S)
index = Index(f"siblings.nodes={sibling.url}", "index.workers=2", "dht.deadline_ms=30000")
end = begin(index, "half")
end.shutdown(socket.SHUT_WR)
same("who closes its sending side has its answer", read_all(end)[:12], b"HTTP/1.1 404")
ends = [begin(index, f"half{number}") for number in range(4)]
until(lambda: waiting(index) == 2, "two that wait")
for end in ends:
    end.shutdown(socket.SHUT_WR)
told = sorted(read_all(end)[:12] for end in ends)
same("or is told, if others of its address were first", told, [b"HTTP/1.1 404"] * 2 + [b"HTTP/1.1 503"] * 2)
index.stop()
finish()
