#!/usr/bin/env python3
"""Clients that are slow, and those that are only there: readers who take a byte at a time, uploads
and heads that come so, connections that say nothing. Each is ended by the limit that is meant for
it, told where it can be, and counted; meanwhile others are served. Prints TAP.
"""
import os
import select
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, MIB, Storage, address, finish, has, make_file, make_folder, path, read_head, same, true, until)  # noqa: E402

data = path("data")
content = os.urandom(MIB)
target = "/o/" + address(content)


def service(*settings):
    return Storage(*[word for setting in settings for word in ("--set", setting)], data=data)


def numbers(*names):
    found = storage.metrics()
    return [found[name] for name in names]


def timeouts(op):
    return numbers(f'io_timeouts_total{{op="{op}"}}')[0]


class Others:
    """Who uses the service meanwhile: GET and PUT, one after the other, until the end."""

    def __enter__(self):
        self.is_over, self.wrong, self.count, self.longest = False, [], 0, 0.0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.is_over:
            begin = time.monotonic()
            answers = [storage.get(target), storage.put(os.urandom(1000)), storage.get("/healthz"), storage.get("/readyz")]
            self.longest = max(self.longest, time.monotonic() - begin)
            self.count += len(answers)
            if [answer.status for answer in answers] != [200, 201, 200, 200] or answers[0].body != content:
                self.wrong.append([answer.status for answer in answers])

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def others_are_served(others, what):
    same(f"{what}: others are served", others.wrong, [])
    true(f"{what}: many of them", others.count > 0)
    print(f"# {what}: {others.count} requests of others, four of them in {1000 * others.longest:.0f} ms at most")


def reader(room=4096):
    """One who asks for a large answer, and has little room for it."""
    end = socket.socket()
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    end.settimeout(HANG_S)
    end.connect(("127.0.0.1", storage.port))
    end.sendall((f"GET {large} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode())
    return end


kept = []


def left_in_kernel():
    """Sockets of the service that were closed with something in them that nobody has taken."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return sum(row[1].endswith(f":{storage.port:04X}") and row[3] == "04" for row in rows)


def take_slowly(end, some, pause_s, is_over):
    """Until the server says that it is over. How many bytes came, with what lay in the sockets."""
    count, begin = 0, time.monotonic()
    while not is_over():
        count += len(end.recv(some))
        if time.monotonic() - begin > HANG_S:
            raise TimeoutError(f"a slow reader has been served for {HANG_S} s")
        time.sleep(pause_s)
    lasted = time.monotonic() - begin
    kept.append(left_in_kernel())
    end.settimeout(HANG_S)
    try:
        while got := end.recv(MIB):
            count += len(got)
    except ConnectionResetError:
        pass
    end.close()
    return count, lasted


def at_once(*functions):
    """Runs them side by side; what each returned."""
    found = [None] * len(functions)

    def run(number):
        try:
            found[number] = functions[number]()
        except Exception as problem:  # pylint: disable=broad-except
            found[number] = problem
    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# --- a large answer: more than the sockets between us hold ---

storage = service()
pieces = [os.urandom(MIB) for _ in range(24)]
for piece in pieces:
    assert storage.put(piece).status == 201
storage.put(content)
place = make_folder("pieces")
root = subprocess.run([os.environ["CHUNKS"], make_file("file", b"".join(pieces)), place, str(MIB)],
                      stdout=subprocess.PIPE, check=True).stdout.decode().split()[0]
with open(os.path.join(place, root), "rb") as file:
    storage.put(file.read())
large = "/f/" + root
same("a file of 24 MiB", len(storage.get(large).body), 24 * MIB)
same("the end of the first", storage.stop(), 0)

# --- who does not read, or hardly ---

storage = service("write_timeout=500ms", "read_timeout=500ms", "idle_timeout=1s")
ends = [reader() for _ in range(8)]
with Others() as others:
    # They read a byte now and then, which is never enough for the server to go on.
    found = at_once(*[lambda end=end: take_slowly(end, 1, 0.05, lambda: timeouts("write") == 8) for end in ends])
    same("nothing that was meant for them is kept by the kernel", max(kept), 0)
    others_are_served(others, "slow readers")
true("each of eight who take a byte at a time is ended", all(isinstance(one, tuple) and one[0] < 24 * MIB for one in found), found)
same("and counted", timeouts("write"), 8)
true("as answers that did not leave whole", until(lambda: numbers("http_aborted_total")[0] == 8, "the count"))
until(lambda: numbers("http_connections")[0] <= 1, "their end")
print(f"# write_timeout = 500 ms: they lasted {min(s for _, s in found):.1f} to {max(s for _, s in found):.1f} s")
end = reader()
same("one who reads nothing at all, too", until(lambda: timeouts("write") == 9, "its end"), True)
end.close()

same("the end of the second", storage.stop(), 0)

# --- readers who are slow, but steady ---

# The sockets between us take some megabytes at once, and are heard of when a third of them have gone:
# at this pace not before write_timeout.
storage = service("write_timeout=2s")


def is_served(turns=50):
    """128 KiB a second for five seconds. Who is kept from reading for two of them is cut rightly."""
    before, end = timeouts("write"), reader(65536)
    for _ in range(turns):
        if timeouts("write") > before or not end.recv(13107):
            break
        time.sleep(0.1)
    else:
        turns = 0
    end.close()
    return turns == 0


true("who takes 128 KiB a second, far above the least rate, is not cut", until(is_served, "one who is served"))
same("the end of the steady ones", storage.stop(), 0)

storage = service("write_timeout=20s", "server.min_rate=64KiB/s")
end = reader()
with Others() as others:
    # Its deadline would let it stay: bytes go all the time.
    found = take_slowly(end, 4096, 0.2, lambda: timeouts("write") == 1)
    others_are_served(others, "readers below the least rate")
true("who takes 20 KiB a second, below it, is", found[0] < 24 * MIB, found)
print(f"# ended after {found[1]:.1f} s; the grace is 5 s, the looks are 5 s apart")
same("the end of those below it", storage.stop(), 0)

# --- heads and bodies that come a byte at a time ---

storage = service("write_timeout=500ms", "read_timeout=500ms", "idle_timeout=1s")


def send_slowly(text, pause_s):
    """A byte at a time until somebody answers; the answer, and how long that took."""
    begin = time.monotonic()
    with storage.socket() as end:
        for at in range(len(text)):
            try:
                end.send(text[at:at + 1])
            except (BrokenPipeError, ConnectionResetError):
                break
            if select.select([end], [], [], pause_s)[0]:
                break
            if time.monotonic() - begin > HANG_S:
                return "nobody has ended it", HANG_S
        return read_head(end)[0].decode(), time.monotonic() - begin


before = timeouts("read")
long_head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 8000 + b"\r\n\r\n"
half = f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf".encode()
with Others() as others:
    found = at_once(*[lambda: send_slowly(long_head, 0.02)] * 4, *[lambda: send_slowly(half, 0)] * 4)
    others_are_served(others, "slow heads")
has("a head that comes a byte at a time has read_timeout for all of it", " ".join(head for head, _ in found[:4]),
    "^(HTTP/1.1 408 .*){4}$")
has("a body that stops is given up", " ".join(head for head, _ in found[4:]), "^(HTTP/1.1 408 .*){4}$")
same("all are counted", timeouts("read") - before, 8)
same("the end of the second", storage.stop(), 0)

# --- the least rate ---

# A grace of five seconds is the server's own; the pauses are far below the deadlines, so nothing but
# the rate can end them.
storage = service("server.min_rate=64KiB/s", "write_timeout=1m", "read_timeout=1m")
slow_body = (f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB}\r\n\r\n".encode() + content)
chunked = (b"POST /o HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100_000)
with Others() as others:
    found = at_once(lambda: send_slowly(slow_body, 0.01), lambda: send_slowly(chunked, 0.01))
    others_are_served(others, "the least rate")
has("a body that comes a byte at a time is too slow", str(found[0]), "HTTP/1.1 408 ")
has("so is one in chunks of a byte", str(found[1]), "HTTP/1.1 408 ")
same("they are counted", timeouts("read"), 2)
print(f"# ended after {found[0][1]:.1f} and {found[1][1]:.1f} s; the grace is 5 s")
same("the end of the third", storage.stop(), 0)

# --- who says nothing, or half of it ---

def is_ended(end):
    try:
        return bool(select.select([end], [], [], 0)[0]) and end.recv(65536) == b""
    except ConnectionResetError:
        return True


storage = service("idle_timeout=1s", "read_timeout=200ms")
ends = []
for number in range(60):
    end = storage.socket()
    if number % 3 == 1:
        end.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")  # and nothing behind it
    if number % 3 == 2:
        end.sendall(half)
        end.shutdown(socket.SHUT_WR)  # half open: it will never come
    ends.append(end)
with Others() as others:
    true("whoever is silent is ended", until(lambda: all(map(is_ended, ends)), "their end"))
    others_are_served(others, "silence")
until(lambda: numbers("http_connections")[0] <= 1, "their end")
true("and counted as idle", timeouts("idle") >= 40, timeouts("idle"))
for end in ends:
    end.close()
same("the end of all", storage.stop(), 0)
finish()
