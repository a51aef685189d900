#!/usr/bin/env python3
"""Limits of the storage: requests at once and a second, connections, the line of work, bodies in
memory, deadlines. Whoever is refused is told when to come back, and counted; health answers
meanwhile. Prints TAP.
"""
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, bearer, exchange, finish, has, is_envelope, mint, path,  # noqa: E402
                         hold, read_all, read_head, refused as refused_start, same, true, until, weir)

data = path("data")
none = "/o/" + address(b"none")


def service(*settings, **options):
    words = [word for setting in settings for word in ("--set", setting)]
    return Storage(*words, data=data, **options)


def busy(endpoint):
    return storage.metrics()[f'busy_rejections_total{{endpoint="{endpoint}"}}']


def is_busy(answer):
    return (answer.status == 429 and is_envelope(answer, "Busy") and re.match(r"[1-9]\d*$", answer["Retry-After"])
            is not None)


def healthy(what):
    same(f"health answers {what}", [storage.get("/" + name).status for name in ("healthz", "readyz", "version", "metrics")],
         [200] * 4)


# --- requests at once ---

storage = service("server.max_inflight=2")
halves = []
for content in (b"first", b"second"):
    end = storage.socket()
    end.sendall(f"PUT /o/{address(content)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
                "Expect: 100-continue\r\n\r\n".encode())
    has("an upload has begun", read_head(end)[0].decode(), "^HTTP/1.1 100 ")
    halves.append((end, content))
same("who is about to send keeps nobody away", storage.get(none).status, 404)
held = [hold(storage), hold(storage)]
answer = storage.get(none)
true("a third one is refused", is_busy(answer), answer)
answer = storage.put(b"third")
true("an upload, too", is_busy(answer), answer)
same("both are counted", (busy("GET"), busy("PUT")), (1, 1))
healthy("meanwhile")
for end in held:
    end.close()
until(lambda: storage.get(none).status == 404, "room")
for end, content in halves:
    end.sendall(content)
    has("those that were let in are served", read_head(end)[0].decode(), "^HTTP/1.1 201 ")
    end.close()
same("then there is room again", storage.get(none).status, 404)
storage.stop()

# --- requests a second ---

storage = service("server.max_rps=1")
answers = [storage.get(none) for _ in range(5)]
refused = [answer for answer in answers if answer.status == 429]
true("more than a second has room for are refused", refused and all(is_busy(answer) for answer in refused), answers)
same("and counted", busy("GET"), len(refused))
healthy("at any rate")
until(lambda: storage.get(none).status == 404, "room")
storage.stop()

storage = service("ratelimit.rps_per_ip=1", "ratelimit.burst_per_ip=3")
answers = [storage.get(none) for _ in range(6)]
same("an address may send its burst", [answer.status for answer in answers[:3]], [404] * 3)
refused = [answer for answer in answers if answer.status == 429]
true("and is refused then", refused and all(is_busy(answer) for answer in refused), answers)
same("and counted", busy("GET"), len(refused))
healthy("for it, too")
storage.stop()

# --- connections ---


def connections(count):
    """So many, each answered once, so that they are known to be there."""
    ends = []
    for _ in range(count):
        connection = storage.connect()
        assert exchange(connection, "GET", "/healthz").status == 200
        ends.append(connection)
    return ends


def counted(connection, line):
    """What loops count is told with their next turn."""
    true(line, until(lambda: line + "\n" in exchange(connection, "GET", "/metrics").body.decode(), line))


storage = service("server.connection_limit_per_ip=3", "server.max_conns=100")
ends = connections(3)
answer = storage.get(none)
true("a fourth connection of an address is refused", is_busy(answer), answer)
same("on the first ones all goes on", exchange(ends[0], "GET", "/healthz").status, 200)
counted(ends[0], 'http_refused_total{reason="address"} 1')
counted(ends[0], 'busy_rejections_total{endpoint="connection"} 1')
for end in ends:
    end.close()
until(lambda: storage.get(none).status == 404, "room")
storage.stop()

storage = service("server.max_conns=3", "server.connection_limit_per_ip=3", "server.trusted_proxies=127.0.0.1")
ends = connections(3)
answer = storage.get(none)
true("a fourth connection of all is refused", answer.status == 429 and answer["Retry-After"], answer)
counted(ends[0], 'http_refused_total{reason="connections"} 1')
counted(ends[0], 'busy_rejections_total{endpoint="connection"} 1')
for end in ends:
    end.close()
until(lambda: storage.get(none).status == 404, "room")
storage.stop()

# --- one address that wants far more than it may have, where descriptors are few ---

MANY, FEW, CAP = 1500, 1024, 256
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if soft < MANY + FEW:
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(MANY + FEW, hard), hard))
# Who is let in says nothing, and is not to be cut for that: another would have its place.
storage = Storage("--set", "read_timeout=600s", "--set", "idle_timeout=600s", data=data,
                  before=("sh", "-c", f'ulimit -n {FEW}; exec "$@"', "sh"))


def reach_from(place):
    end = socket.socket()
    end.settimeout(60)
    end.bind((place, 0))
    end.connect(("127.0.0.1", storage.port))
    return end


def those_told(ends):
    """Which of them are let in is for the listeners to say."""
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    until(lambda: len(poll.poll(0)) >= MANY - CAP, "answers")
    found = {fd for fd, _ in poll.poll(0)}
    return [read_head(end)[0].decode() for end in ends if end.fileno() in found]


seen, names = set(), set()
for turn in range(2):
    ends = []
    for number in range(MANY):
        ends.append(reach_from("127.0.0.2"))
        if number % 25 == 0:
            seen.add(storage.get("/healthz").status)
    told = those_told(ends)
    same(f"{MANY} connections of one address: those above its limit are told",
         sum(text.startswith("HTTP/1.1 429 ") and "\r\nRetry-After: 1\r\n" in text for text in told), MANY - CAP)
    names |= {name for text in told for name in re.findall(r"\r\nX-Corr-ID: ([0-9a-f]{32})\r\n", text)}
    seen.add(storage.get("/readyz").status)
    for end in ends:
        end.close()
    until(lambda: storage.metrics()["http_connections"] == 1, "their end")
same("others are answered all the while", seen, {200})
same("each has a name of its own", len(names), 2 * (MANY - CAP))
numbers = storage.metrics()
same("all are counted, and there were descriptors for all", [
    numbers[f'http_refused_total{{reason="{reason}"}}'] for reason in ("address", "descriptors", "connections")],
    [2 * (MANY - CAP), 0, 0])
same("each of their answers is one", numbers['http_responses_total{class="4xx"}'], 2 * (MANY - CAP))
ends = [reach_from("127.0.0.2") for _ in range(CAP)]
one = reach_from("127.0.0.2")
one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
has("health is told also to who has one too many", read_head(one)[0].decode(), "^HTTP/1.1 200 ")
for end in (*ends, one):
    end.close()
storage.stop()

# --- many addresses that are too many together: who is refused has an eighth of the descriptors ---

FEW, ROOM = 400, 8
storage = Storage("--set", f"server.max_conns={ROOM}", "--set", "read_timeout=600s", data=data,
                  before=("sh", "-c", f'ulimit -n {FEW}; exec "$@"', "sh"))


def descriptors():
    return len(os.listdir(f"/proc/{storage.pid}/fd"))


before = descriptors()
ends = [reach_from(f"127.0.0.{number}") for number in range(2, 22) for _ in range(20)]
waits = select.poll()
for end in ends:
    waits.register(end, select.POLLIN)
until(lambda: len(waits.poll(0)) >= len(ends) - ROOM - FEW // 8, "those who are told at once")
waiting = descriptors() - before
true("those who may wait to be refused are few", ROOM < waiting <= ROOM + FEW // 8, waiting)
for end in ends:
    end.close()
storage.stop()

# --- descriptors ---

def few(count):
    """Python takes the limit that a shell would set (ulimit -n) from itself."""
    return {"before": (sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, "
                       f"({count}, {count})); os.execv(sys.argv[1], sys.argv[1:])")}


result, said = refused_start("--set", "server.max_conns=501", data=data, **few(1000))
same("two descriptors for each connection are not there", result, 2)
most = re.search(r"needs \d+ file descriptors and 1000 are allowed: .*max_conns to (\d+)\n", said)
true("which is said, with what would do", most, said)
storage = service("server.max_conns=" + most.group(1), **few(1000))
same("just enough are", storage.get("/healthz").status, 200)
storage.stop()
storage = service(**few(1000))
has("a number that nobody asked for gives way", storage.log(), most.group(1) + " connections at most, since 1000 ")
storage.stop()
result, said = refused_start(data=data, **few(20))
same("too few for anything", result, 2)
has("are told with what would do", said, r"20 file descriptors are allowed and [1-9]\d+ are needed at least: raise")

# More segments than descriptors: those that nobody reads give way, and nobody who comes is turned away.
FEW = 40
small = ("store.segment_size=4MiB", "server.acceptors=2")
storage = service(*small)
with open(path("large"), "wb") as file:
    file.write(os.urandom(100 * MIB))
large = weir("put", "--server", storage.url, path("large")).split()[0]
segments = [name for name in os.listdir(os.path.join(data, "segments")) if name.endswith(".seg")]
true("there are many segments", len(segments) > 24, segments)
token = mint(data, "--scope", "peer")
listed = storage.ask("GET", "/inventory?limit=10000", headers=bearer(token)).body.decode().splitlines()
names = [json.loads(line)["address"] for line in listed]
storage.stop()
storage = service(*small, **few(FEW))
most = int(re.search(r"(\d+) connections at most, since 40 ", storage.log()).group(1))
ends = connections(most - 2)
statuses = {exchange(ends[0], "GET", "/o/" + name, headers={"Range": "bytes=0-0"}).status for name in names}
same("all are read from by one connection of few", statuses, {206})
same("and by an answer that needs them all", exchange(ends[0], "GET", "/f/" + large).body,
     open(path("large"), "rb").read())
same("others are let in", [storage.get("/readyz").status, storage.get(none).status, storage.put(b"few").status],
     [200, 404, 201])
true("and there are no more descriptors than were allowed", descriptors() <= FEW, descriptors())
before = resource.prlimit(storage.pid, resource.RLIMIT_NOFILE, (3, FEW))
answers = [exchange(ends[0], "GET", "/o/" + name, headers={"Range": "bytes=0-0"}) for name in names]
short = [answer for answer in answers if answer.status != 206]
true("where there is none at all, that is an answer", short and all(
    answer.status == 503 and is_envelope(answer, "NoDescriptors") and answer["Retry-After"] == "1" for answer in short), short)
has("which is told", storage.log(), r"GET /o/b3:\S+ failed: out of file descriptors \(request ")
resource.prlimit(storage.pid, resource.RLIMIT_NOFILE, before)
same("for as long as it is so", exchange(ends[0], "GET", "/f/" + large).status, 200)
for end in ends:
    end.close()
same("the end of few", storage.stop(), 0)

# --- descriptors of a store in memory, which has all of its segments open ---

storage = Storage("--amnesia", "--set", "amnesia.max_bytes=256MiB", "--set", "store.segment_size=4MiB", **few(64))
has("what has no descriptors is not held", storage.log(), r"warning: \d+ MiB in memory at most, since \d+ file descriptors are left")
status = 201
while status == 201:
    status = storage.put(os.urandom(MIB)).status
same("it is full, not without descriptors", status, 507)
ends = [storage.connect() for _ in range(4)]
same("who comes is let in", [exchange(end, "GET", "/healthz").status for end in ends], [200] * 4)
for end in ends:
    end.close()
storage.stop()

# --- the line of work ---

storage = service("queues.work=1", "server.get_workers=1", "server.acceptors=1", "storage.verify=always")
content = os.urandom(MIB)
target = "/o/" + address(content)
same("a chunk", storage.put(content).status, 201)


def crowd():
    """Sixty at once: all asked before one is served."""
    before = busy("GET")
    storage.kill(signal.SIGSTOP)
    ends = [storage.socket() for _ in range(60)]
    for end in ends:
        end.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    storage.kill(signal.SIGCONT)
    answers = []
    for end in ends:
        answers.append(read_all(end))
        end.close()
    return answers, busy("GET") - before


answers, number = until(lambda: (lambda got: got if got[1] else None)(crowd()), "a line that is full")
refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 429 ")]
served = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200 ")]
same("each is served or refused", len(served) + len(refused), 60)
true("some are served, whole", served and all(answer.endswith(content) for answer in served))
true("some refused, with Retry-After", refused and all(b"Retry-After: " in answer for answer in refused))
same("and counted", number, len(refused))
numbers = storage.metrics()
true("as what the line has dropped, too", numbers['queue_dropped_total{queue="work"}'] >= len(refused))
healthy("after a crowd")
same("the line is empty then", storage.metrics()['queue_depth{queue="work"}'], 0)
storage.stop()

# --- memory for bodies ---

storage = service("server.body_memory=2MiB")
pieces = [content[at:at + 50_000] for at in range(0, MIB, 50_000)]
same("with the least memory the largest body can come in chunks", storage.ask("PUT", target, iter(pieces)).status, 200)
begin = (f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB}\r\n"
         "Expect: 100-continue\r\n\r\n").encode()
with storage.socket() as end, storage.socket() as other:
    for one in (end, other):
        one.sendall(begin)
        has("a body may come", read_head(one)[0].decode(), "^HTTP/1.1 100 ")
    same("of which nothing has come yet: it holds little", storage.put(b"little").status, 201)
    for one in (end, other):
        one.sendall(content[:MIB - 1])
    # What comes fast does not give way: after a second it is not slow yet.
    answer = until(lambda: (lambda got: got if got.status == 429 else None)(storage.put(b"small")), "no room")
    true("two that have come take all the memory, and another one is refused", is_busy(answer), answer)
    same("who reads is not", storage.get(target).status, 200)
    true("it is counted", until(lambda: storage.metrics()['http_refused_total{reason="bodies"}'] == 1, "the count"))
    true("as busy, too", sum(value for name, value in storage.metrics().items()
                             if name.startswith("busy_rejections_total")) == 1)
    for one in (end, other):
        one.sendall(content[MIB - 1:])
        has("and the first ones served", read_head(one)[0].decode(), "^HTTP/1.1 200 ")
same("then there is room", storage.put(b"small").status, 201)
storage.stop()

storage = service("server.body_memory=2MiB", "read_timeout=1m")
slow = []
for _ in range(32):  # as many as there is memory for, at 64 KiB each
    end = storage.socket()
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB}\r\n\r\n".encode() + bytes(1000))
    slow.append(end)
until(lambda: storage.metrics()['budget_in_use{budget="http-bodies"}'] >= 2 * MIB, "slow ones everywhere")
body = os.urandom(600_000)
until(lambda: storage.put(body).status == 201, "room for who sends at a good pace")
same("slow uploads do not keep others away", storage.get("/o/" + address(body)).body == body, True)
until(lambda: storage.metrics()['http_refused_total{reason="bodies"}'] >= 1, "the count")
for end in slow:
    end.setblocking(False)
told = 0
for end in slow:
    try:
        told += b" 429 " in end.recv(4096)
    except BlockingIOError:
        pass
    end.close()
true("the slowest gave way, and were told so", 1 <= told < 32, told)
storage.stop()

# --- heads, slow clients ---

storage = service("server.head_max=1KiB", "read_timeout=200ms")
same("a head that is too long", storage.get(none, X_Long="x" * 2000).status, 431)
with storage.socket() as end:
    end.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
    has("a head that does not end is given up", read_all(end).decode(), "^$|^HTTP/1.1 408 ")
with storage.socket() as end:
    end.sendall(f"PUT {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf".encode())
    has("so is a body", read_all(end).decode(), "^$|^HTTP/1.1 408 ")
true("both are counted", until(lambda: storage.metrics()['io_timeouts_total{op="read"}'] >= 2, "the count"))
storage.stop()

# --- deadlines of requests ---

storage = service()
for given in ("0", "-1", "abc", "1.5", "600001", "", "99999999999999999999999", "1 "):
    status = storage.get(none, X_Deadline_Ms=given).status
    same(f"X-Deadline-Ms: '{given}'", status, 404 if given == "1 " else 400)
same("600000 is the most", storage.get(none, X_Deadline_Ms="600000").status, 404)
statuses = set()
for number in range(50):
    body = os.urandom(200_000)
    answer = storage.ask("PUT", "/o/" + address(body), body, {"X-Deadline-Ms": "1"})
    statuses.add(answer.status)
    if answer.status == 504 and not is_envelope(answer, "Timeout"):
        statuses.add(answer)
true("one millisecond is enough, or it is not", statuses <= {201, 504}, statuses)
body = os.urandom(1000)
with storage.socket() as end:
    end.sendall(f"PUT /o/{address(body)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nX-Deadline-Ms: 300\r\n\r\n"
                .encode() + body[:500])
    said = read_all(end).decode()
has("it counts while a body comes, too", said, "^HTTP/1.1 504 ")
has("who is late with a body is told when to come back", said, "\r\nRetry-After: 1\r\n")
same("which is not stored", storage.get("/o/" + address(body)).status, 404)
healthy("all the time")
same("the end", storage.stop(), 0)

# --- no rate, addresses of both kinds, health where there is no room ---

storage = service("server.min_rate=0", "read_timeout=30s")
with storage.socket() as end:
    end.sendall(f"PUT /o/{address(b'slowly')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nslow".encode())
    time.sleep(7)  # beyond the time that a slow one is given
    end.sendall(b"ly")
    has("without a least rate nobody is too slow", read_head(end)[0].decode(), "^HTTP/1.1 201 ")
same("the end of slowness", storage.stop(), 0)
storage = service("ratelimit.rps_per_ip=1", "ratelimit.burst_per_ip=1", "server.trusted_proxies=127.0.0.1")
first = [storage.get(none, X_Forwarded_For="::ffff:192.0.2.1").status for _ in range(3)]
same("an address of IPv4 in that of IPv6 has its rate", first[0] == 404 and 429 in first, True)
same("and another one its own", storage.get(none, X_Forwarded_For="::ffff:192.0.2.2").status, 404)
same("the end of addresses", storage.stop(), 0)
storage = service("ratelimit.rps_per_ip=1", "ratelimit.burst_per_ip=1", "ratelimit.table=256", "server.trusted_proxies=127.0.0.1")
with storage.socket() as end:
    end.sendall("".join(f"GET {none} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.{number // 250}.{number % 250}\r\n"
                        f"{'Connection: close' if number == 269 else 'Accept: */*'}\r\n\r\n" for number in range(270)).encode())
    said = read_all(end).decode()
told = re.findall(r'HTTP/1.1 429 [^{]*\r\nRetry-After: [1-9][^{]*\{"error": "Busy", "message": "([^"]*)"', said)
same("each is answered", said.count("HTTP/1.1 "), 270)
same("where no more addresses are remembered, a new one is told that", set(told),
     {"too many addresses send requests at once: no more of them are remembered"})
same("as often as it is refused", len(told), said.count("HTTP/1.1 429 "))
true("one that is remembered is told that it is its own doing", until(
    lambda: b"this address sends too many requests" in storage.get(none, X_Forwarded_For="192.0.2.7").body, "that"))
same("the end of many addresses", storage.stop(), 0)
storage = service("server.max_conns=3")
ends = connections(3)
same("no room", storage.get(none).status, 429)
same("where there is no room health is told", [storage.get("/" + name).status for name in ("healthz", "readyz")], [200, 200])
with storage.socket() as end:
    has("who says nothing is told, too", read_all(end).decode(), "^HTTP/1.1 429 .*there are too many connections")
counted(ends[0], 'http_refused_total{reason="connections"} 2')
counted(ends[0], 'busy_rejections_total{endpoint="connection"} 2')
counted(ends[0], 'http_responses_total{class="4xx"} 2')
for end in ends:
    end.close()
same("the end of all", storage.stop(), 0)
finish()
