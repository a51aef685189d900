#!/usr/bin/env python3
"""weir put and weir get against servers that are hostile, and clients that are killed: a root is
never there without what it stands for; tries end; memory is bounded whatever the other side does;
and a server that lies is found out, with nothing left under the name of the file. Prints TAP.
"""
import http.client
import http.server
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from storage_lib import (HANG_S, MIB, WEIR, Storage, address, exchange, finish, folder, has, make_file, make_folder,  # noqa: E402
                         path, same, short, started, tap, true, until)

LONG = bool(os.environ.get("WEIR_LONG"))
SANITIZED = os.environ.get("SANITIZED", "none") != "none"
SEED = int(os.environ.get("WEIR_SEED", 0)) or random.SystemRandom().randrange(1, 1 << 31)
print(f"# WEIR_SEED={SEED}")
dice = random.Random(SEED)
HIGH_KIB = 64 << 10
work = make_folder("work")


# --- one run of the client ---

def peak_kib(pid):
    """What a process has had at most since it is this program: a child's usage, when it is waited
    for, has that of the parent in it, from which it was split off."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
        return int(found.group(1)) if found else 0
    except OSError:
        return 0


class Ran:
    """A client that has ended: status, what it said, its peak of memory in KiB."""

    def __init__(self, *words, server, stdin=subprocess.DEVNULL, stdout=None):
        self.out_name, self.err_name = path("out"), path("err")
        with open(self.out_name, "wb") as out, open(self.err_name, "wb") as err:
            self.process = subprocess.Popen([WEIR, *[str(word) for word in words], "--server", server],
                                            stdin=stdin, stdout=stdout or out, stderr=err, cwd=work)
        started.append(self.process)

    def end(self):
        end, self.high_kib = time.monotonic() + 2 * HANG_S, 0
        while (status := self.process.poll()) is None:
            self.high_kib = max(self.high_kib, peak_kib(self.process.pid))
            if time.monotonic() > end:
                self.process.kill()
                raise TimeoutError("a client that does not end: " + short(self.process.args))
            time.sleep(0.005)
        self.status = status
        with open(self.out_name, "rb") as out, open(self.err_name, "rb") as err:
            self.out, self.err = out.read().decode(), err.read().decode()
        return self

    def __repr__(self):
        return f"{self.status} {self.out!r} {self.err!r} {self.high_kib} KiB"


def put(*words, server, **options):
    return Ran("put", "-q", *words, server=server, **options).end()


def get(*words, server, **options):
    return Ran("get", *words, server=server, **options).end()


def fails(name, ran, text=""):
    """With status 3, in one line, within its memory."""
    is_small = SANITIZED or ran.high_kib < HIGH_KIB
    true(name, ran.status == 3 and ran.out == "" and ran.err.count("\n") == 1 and text in ran.err and is_small, ran)


def left_behind():
    return sorted(name for name in os.listdir(work) if name.startswith("."))


# --- servers ---

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        """As one who pulls the plug."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    def any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self.server.behave(self, body)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    do_GET = do_PUT = do_POST = any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behave):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave = behave
        self.lock = threading.Lock()
        self.requests = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def note(self, what):
        with self.lock:
            self.requests.append(what)
            return len(self.requests)

    def handle_error(self, *_):
        pass

    def close(self):
        self.shutdown()
        self.server_close()


class Memory:
    """A service that keeps chunks in memory, with what it is told to do to some of them."""

    def __init__(self):
        self.chunks = {}

    def serve(self, ask, body):
        name = ask.path.rpartition("/")[2]
        if ask.path == "/have":
            wanted = json.loads(body)["addresses"]
            ask.answer(200, json.dumps({"have": [one in self.chunks for one in wanted]}).encode())
        elif ask.command == "PUT":
            self.chunks[name] = body
            ask.answer(201, b"{}")
        elif name in self.chunks:
            ask.answer(200, self.chunks[name])
        else:
            ask.answer(404, b"{}")


def forward(storage, ask, body):
    """(status, body) of the real service."""
    connection = http.client.HTTPConnection("127.0.0.1", storage.port, timeout=HANG_S)
    try:
        answer = exchange(connection, ask.command, ask.path, body if ask.command != "GET" else None)
        return answer.status, answer.body
    finally:
        connection.close()


def take_apart(name, size):
    """(root, all addresses) of a file in chunks of that size, by a tool that is not the client."""
    place = make_folder("chunks-" + os.path.basename(name))
    done = subprocess.run([os.environ["CHUNKS"], name, place, str(size)], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().split()[0], set(os.listdir(place))


def random_file(name, size):
    return make_file("work/" + name, dice.randbytes(size))


def have(storage, names):
    names = sorted(names)
    answer = storage.ask("POST", "/have", json.dumps({"addresses": names}).encode())
    return dict(zip(names, answer.json["have"]))


# --- the root is last ---

storage = Storage(data=path("data"))
PIECE = 16 << 10


def root_is_last():
    """One chunk is held back as long as anything else comes, and for half a second more: a client
    that does not wait for it sends the root meanwhile."""
    name = random_file("held", 1 * MIB)
    root, names = take_apart(name, PIECE)
    held = min(names - {root})
    seen, wakes = [], threading.Event()

    def behave(ask, body):
        chunk = ask.path.rpartition("/")[2]
        if ask.command == "PUT" and chunk == root:
            seen.append(("root", len(done)))
            wakes.set()
        if ask.command == "PUT" and chunk == held:
            wakes.wait(0.5)
        status, said = forward(storage, ask, body)
        if ask.command == "PUT":
            with server.lock:
                done.add(chunk)
        ask.answer(status, said)

    done = set()
    server = Server(behave)
    ran = put("--fixed", "16KiB", name, server=server.url)
    server.close()
    same("a file is put", (ran.status, ran.out.split()[:1]), (0, [root]))
    same("its root is sent once, when all the rest was acknowledged", seen, [("root", len(names) - 1)])


root_is_last()


def kill_at(number, is_forwarded):
    """The client dies when its request of that number has come, which is passed on or not."""
    name = random_file("killed", 1 * MIB)
    root, names = take_apart(name, PIECE)
    count, lock = [0], threading.Lock()

    def behave(ask, body):
        with lock:
            count[0] += 1
            is_last = count[0] == number
            is_late = count[0] > number
        if is_late or (is_last and not is_forwarded):
            if is_last:
                ran.process.kill()
            ask.cut()
            return
        status, said = forward(storage, ask, body)
        if is_last:
            ran.process.kill()
        ask.answer(status, said)

    server = Server(behave)
    ran = Ran("put", "-q", "--fixed", "16KiB", name, server=server.url)
    ran.end()
    server.close()
    there = have(storage, names)
    is_sound = not there[root] or all(there.values())
    again = put("--fixed", "16KiB", name, server=storage.url)
    is_whole = again.out.split()[:1] == [root] and all(have(storage, names).values())
    os.unlink(name)
    return is_sound, is_whole, there[root], ran.status


sound, whole, roots, killed = [], [], 0, 0
rounds = 200 if LONG else 12
for turn in range(rounds):
    # 1 MiB in 16 KiB: two batches are asked for, 64 are sent, then the root is asked for and sent.
    where = 67 if turn == 0 else 68 if turn == 1 else dice.randrange(1, 70)
    is_sound, is_whole, has_root, status = kill_at(where, bool(turn % 2))
    sound.append(is_sound)
    whole.append(is_whole)
    roots += has_root
    killed += status == -signal.SIGKILL
same(f"{rounds} clients were killed: no root without its chunks", sound, [True] * rounds)
same("put again, each file is whole", whole, [True] * rounds)
print(f"# {killed} died, {roots} of the roots were there")
true("some died before their root, not all of them after it", killed > rounds // 2 and roots < rounds, (killed, roots))


def killed_while_getting():
    name = random_file("got", 4 * MIB)
    root = put("--fixed", "64KiB", name, server=storage.url).out.split()[0]
    make_file("work/kept", b"old")
    left = []
    for turn in range(6):
        number, count, lock = dice.randrange(1, 66), [0], threading.Lock()

        def behave(ask, body):
            with lock:
                count[0] += 1
                if count[0] == number:
                    ran.process.kill()
            ask.answer(*forward(storage, ask, body))

        server = Server(behave)
        target = "kept" if turn % 2 else "fresh"
        ran = Ran("get", root, "-o", target, server=server.url)
        ran.end()
        server.close()
        if ran.status != 0:  # it was killed before its end
            left += [name for name in ("fresh",) if os.path.exists(os.path.join(work, name))]
            with open(os.path.join(work, "kept"), "rb") as file:
                left += [] if file.read() == b"old" else ["kept"]
        make_file("work/kept", b"old")
        if os.path.exists(os.path.join(work, "fresh")):
            os.unlink(os.path.join(work, "fresh"))
    same("who is killed while getting leaves the name as it was", left, [])
    same("and nothing else", left_behind(), [])


killed_while_getting()


# --- tries ---

def busy_for_a_while():
    memory, name = Memory(), random_file("busy", 512 << 10)
    busy = {"left": 10}

    def behave(ask, body):
        with server.lock:
            is_busy = busy["left"] > 0 and len(memory.chunks) > 0
            busy["left"] -= is_busy
        if is_busy:
            status = 503 if busy["left"] % 2 else 429
            ask.answer(status, b"{}", [("Retry-After", "1")] if status == 429 else ())
        else:
            memory.serve(ask, body)

    server = Server(behave)
    ran = put("--fixed", "16KiB", name, server=server.url)
    server.close()
    same("a server that is busy for a while gets it all", (ran.status, busy["left"], len(memory.chunks)), (0, 0, 33))


busy_for_a_while()


def busy_for_ever(status, most):
    """One chunk at a time, so that the number of tries is that of one call: three by the client of
    HTTP, four times in two seconds with half a second in between."""
    memory, name = Memory(), random_file("never", 256 << 10)

    def behave(ask, body):
        if ask.command != "PUT" or not memory.chunks:
            memory.serve(ask, body)
        else:
            server.note(ask.path)
            ask.answer(status, b"{}")

    server = Server(behave)
    ran = put("--fixed", "16KiB", "-j", "1", "--timeout", "2s", name, server=server.url)
    server.close()
    fails(f"{status} for ever is an error", ran, f"status {status}")
    print(f"# {len(server.requests)} tries in two seconds")
    true(f"after more than one try, and at most {most}", 1 < len(server.requests) <= most, len(server.requests))
    same("all of the same chunk", len(set(server.requests)), 1)


busy_for_ever(429, 12)
busy_for_ever(503, 12)


def no_use_in_trying(status):
    memory, name = Memory(), random_file("refused", 256 << 10)

    def behave(ask, body):
        if ask.command == "PUT" and memory.chunks:
            server.note(ask.path)
            ask.answer(status, b"{}", [("Location", "/elsewhere")] if status == 302 else ())
        else:
            memory.serve(ask, body)

    server = Server(behave)
    ran = put("--fixed", "16KiB", "-j", "1", name, server=server.url)
    server.close()
    fails(f"{status} ends it", ran, f"status {status}")
    return len(server.requests)


for status in (400, 401, 403, 404, 409, 413, 204):
    same(f"{status} at the first try", no_use_in_trying(status), 1)
no_use_in_trying(507)
same("a redirect is no upload", no_use_in_trying(302), 1)


def torn():
    """A third of all exchanges are cut: before, after, or in the middle of the answer. Not the
    first of a client: one that was never reached is not waited for."""
    name = random_file("torn", 512 << 10)
    root, names = take_apart(name, PIECE)
    chance, cuts, first = random.Random(SEED), [0], [True]

    def behave(ask, body):
        with server.lock:
            fate = 8 if first[0] else chance.randrange(9)
            first[0] = False
            cuts[0] += fate < 3
        if fate == 0:
            ask.cut()
            return
        status, said = forward(storage, ask, body)
        if fate == 1:
            ask.cut()
        elif fate == 2:
            head = f"HTTP/1.1 {status} Fine\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said
            ask.wfile.write(head[:len(head) * 2 // 3])
            ask.cut()
        else:
            ask.answer(status, said)

    server = Server(behave)
    ran = put("--fixed", "16KiB", name, server=server.url)
    same("connections that are cut are made anew", (ran.err, ran.status, ran.out.split()[:1], cuts[0] > 0), ("", 0, [root], True))
    first[0] = True
    true("and all arrives", all(have(storage, names).values()))
    ran = get(root, "-o", "back", server=server.url)
    server.close()
    with open(name, "rb") as one, open(os.path.join(work, "back"), "rb") as other:
        true("and comes back", ran.status == 0 and one.read() == other.read(), ran)
    print(f"# {cuts[0]} exchanges were cut")


torn()

# --- servers that lie to who gets ---

content = dice.randbytes(160 << 10)
name = make_file("work/truth", content)
root, names = take_apart(name, 64 << 10)
truth = Memory()
for one in names:
    with open(os.path.join(path("chunks-truth"), one), "rb") as file:
        truth.chunks[one] = file.read()
victim = "b3:" + address(content[64 << 10:128 << 10])[3:]
assert victim in names


def raw(*pieces):
    """These bytes instead of an answer, then the end."""
    def lie(ask, _):
        for piece in pieces:
            ask.wfile.write(piece)
        ask.close_connection = True
    return lie


def changed(change):
    return lambda ask, right: ask.answer(200, change(right))


def endless(ask, _):
    ask.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        ask.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")


def endless_head(ask, _):
    ask.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        ask.wfile.write(b"X-More: " + b"x" * 4000 + b"\r\n")


def endless_hints(ask, _):
    while True:
        ask.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX-More: " + b"x" * 4000 + b"\r\n\r\n")


def endless_error(ask, _):
    ask.wfile.write(b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        ask.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")


def trickle(ask, right):
    ask.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(right))
    for at in range(len(right)):
        ask.wfile.write(right[at:at + 1])
        time.sleep(0.1)


def silence(ask, _):
    ask.connection.recv(1)


def head_of(length):
    return b"HTTP/1.1 200 OK\r\nContent-Length: " + length + b"\r\n\r\n"


LIES = {
    "one bit": changed(lambda right: right[:-1] + bytes([right[-1] ^ 1])),
    "another chunk": changed(lambda right: truth.chunks[min(names - {victim})]),
    "a byte less": changed(lambda right: right[:-1]),
    "a byte more": changed(lambda right: right + b"x"),
    "nothing": changed(lambda right: b""),
    "zeros": changed(lambda right: bytes(len(right))),
    "half of what it says": lambda ask, right: raw(head_of(b"%d" % len(right)), right[:len(right) // 2])(ask, right),
    "half, in chunks that do not end": lambda ask, right: raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(right), right[:100])(ask, right),
    "half, until the end": lambda ask, right: raw(b"HTTP/1.1 200 OK\r\n\r\n", right[:len(right) // 2])(ask, right),
    "a length beyond all": lambda ask, right: raw(head_of(b"999999999999999"), right)(ask, right),
    "a length that is none": lambda ask, right: raw(head_of(b"18446744073709551617"), right)(ask, right),
    "a part of it": lambda ask, right: ask.answer(206, right[:100], [("Content-Range", f"bytes 0-99/{len(right)}")]),
    "a redirect": lambda ask, right: ask.answer(302, b"", [("Location", "/o/" + root)]),
    "204": lambda ask, right: ask.wfile.write(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "no HTTP": raw(b"220 mail.example ESMTP\r\n"),
    "HTTP/9": raw(b"HTTP/9.9 200 OK\r\n\r\n"),
    "a bomb": lambda ask, right: ask.answer(200, bytes(4 * MIB)),
    "no end": endless,
    "no end of an error": endless_error,
    "no end of its head": endless_head,
    "no end of hints": endless_hints,
}
SLOW_LIES = {"a byte at a time": trickle, "silence": silence}
leaves = []
for what, lie in {**LIES, **SLOW_LIES}.items():
    for where, of in (("chunk", victim), ("root", root)):
        if what == "another chunk" and of == root:
            continue  # another chunk in place of the root is just another file: its hash tells
        def behave(ask, body, of=of, lie=lie):
            chunk = ask.path.rpartition("/")[2]
            server.note(chunk)
            if chunk == of:
                lie(ask, truth.chunks[of])
            else:
                truth.serve(ask, body)
        server = Server(behave)
        wait = ["--timeout", "1s"]
        make_file("work/lied", b"before")
        ran = get(root, "-o", "lied", *wait, server=server.url)
        server.close()
        fails(f"{what} for a {where}", ran)
        with open(os.path.join(work, "lied"), "rb") as file:
            if file.read() != b"before":
                leaves.append(what)
        true("in few tries", len(server.requests) <= 40, len(server.requests))
same("none of them has changed the file", leaves, [])
same("or left another", left_behind(), [])
os.unlink(os.path.join(work, "lied"))

# --- servers that lie to who puts ---


def put_lie(what, lie, path_of):
    def behave(ask, body):
        server.note(ask.path)
        if ask.path.startswith(path_of):
            lie(ask, body)
        else:
            Memory().serve(ask, body)
    server = Server(behave)
    ran = put("--fixed", "16KiB", "--timeout", "1s", name, server=server.url)
    server.close()
    fails(f"put: {what}", ran)
    return ran


for what, said in (("no JSON", b"<html>"), ("too few", b'{"have": []}'), ("no list", b'{"have": true}'),
                   ("numbers", json.dumps({"have": [1] * 10}).encode()),
                   ("too many", json.dumps({"have": [True] * 500}).encode())):
    put_lie(f"what it has is {what}", lambda ask, _, said=said: ask.answer(200, said), "/have")
put_lie("no end of what it has", endless, "/have")
put_lie("silence about what it has", silence, "/have")
put_lie("no HTTP", raw(b"220 mail.example ESMTP\r\n"), "/o/")
put_lie("silence for an upload", silence, "/o/")

# --- memory ---


def much(size):
    """A pipe with so many random bytes in it, which somebody goes on filling."""
    feed = subprocess.Popen(["head", "-c", str(size), "/dev/urandom"], stdout=subprocess.PIPE)
    started.append(feed)
    return feed


def nobody_takes():
    taken, wakes = [], threading.Event()

    def behave(ask, body):
        if ask.command != "PUT":
            Memory().serve(ask, body)
            return
        server.note(len(body))
        wakes.wait(HANG_S)

    server = Server(behave)
    feed = much(256 * MIB)
    ran = Ran("put", "-q", "-j", "64", "--timeout", "3s", "-", server=server.url, stdin=feed.stdout)
    feed.stdout.close()
    ran.end()
    wakes.set()
    server.close()
    feed.kill()
    taken = sum(server.requests)
    true("a server that acknowledges nothing is sent 16 MiB at most", 0 < taken <= 16 * MIB, taken)
    fails("and the client ends, having had less than 64 MiB", ran)
    print(f"# {taken / MIB:.1f} MiB on their way, peak {ran.high_kib / 1024:.1f} MiB")


def nobody_reads():
    size = 48 * MIB
    with open("/dev/urandom", "rb") as source:
        make_file("work/large", source.read(size))
    root = put(os.path.join(work, "large"), server=storage.url).out.split()[0]
    sent = [0]

    def behave(ask, body):
        status, said = forward(storage, ask, body)
        with server.lock:
            sent[0] += len(said)
        ask.answer(status, said)

    server = Server(behave)
    read_end, write_end = os.pipe()
    ran = Ran("get", root, server=server.url, stdout=write_end)
    os.close(write_end)
    state = {"sent": -1, "same": 0}

    def is_still():
        state["same"] = state["same"] + 1 if sent[0] == state["sent"] and sent[0] > 8 * MIB else 0
        state["sent"] = sent[0]
        return state["same"] >= 100
    until(is_still, "the client to be full")
    ahead, high = sent[0], peak_kib(ran.process.pid)
    # The chunks ahead, the two nodes of the manifest, the chunk that is being written.
    true("who does not read is not read ahead of by more than 16 MiB", ahead <= 16 * MIB + 2 * MIB, ahead)
    with open(os.path.join(work, "large"), "rb") as file:
        wanted = file.read()
    got = b""
    with os.fdopen(read_end, "rb") as end:
        got = end.read()
    ran.end()
    server.close()
    true("and gets all of it in the end", ran.status == 0 and got == wanted, ran)
    true("in less than 64 MiB", SANITIZED or 0 < high < HIGH_KIB, high)
    print(f"# {ahead / MIB:.1f} MiB ahead, peak {high / 1024:.1f} MiB")


nobody_takes()
nobody_reads()
same("nothing was left behind", left_behind(), [])
same("the end", storage.stop(), 0)
finish()
