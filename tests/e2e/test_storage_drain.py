#!/usr/bin/env python3
"""The end of the storage, and its reloads: what is under way is finished or cut, who comes is told;
what is new in the configuration is taken, kept for a restart, or refused. Prints TAP.
"""
import http.client
import os
import re
import signal
import sys
import threading

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, address, finish, has, is_envelope, make_file, make_folder, path,  # noqa: E402
                         hold, read_all, read_head, refused, run, same, true, until)

CHUNKS = os.environ["CHUNKS"]
data = path("data")

# A file that no buffer of a socket holds.
LENGTH = 64 * MIB
with open(path("hole"), "wb") as file:
    file.truncate(LENGTH)
status, out, err = run(CHUNKS, path("hole"), make_folder("chunks"))
assert status == 0, err
root = out.decode().split()[0]


def begin(*words):
    """A service with a download and an upload under way."""
    storage = Storage(*words, data=data)
    for name in os.listdir(path("chunks")):
        with open(os.path.join(path("chunks"), name), "rb") as file:
            storage.put(file.read(), name=name)
    down, up = storage.socket(), storage.socket()
    down.sendall(f"GET /f/{root} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head, rest = read_head(down)
    assert head.startswith(b"HTTP/1.1 200 "), head
    content = os.urandom(1000)
    up.sendall(f"PUT /o/{address(content)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
               "Expect: 100-continue\r\n\r\n".encode())
    assert read_head(up)[0].startswith(b"HTTP/1.1 100 ")
    up.sendall(content[:500])
    return storage, down, len(rest), up, content


for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
    storage, down, got, up, content = begin("--set", "drain_deadline=1m", "--set", "read_timeout=10m")
    storage.kill(number)
    storage.wait_for_log("draining, for " + name)
    answer = until(lambda: (lambda answer: answer if answer.status == 503 else None)(storage.get("/readyz")))
    same(f"{name}: it is not ready", (answer.json["ready"], answer.json["accepting"]), (False, False))
    same(f"{name}: for now", answer["Retry-After"], "1")
    same(f"{name}: but alive", storage.get("/healthz").status, 200)
    for answer in (storage.get("/o/" + root), storage.put(b"new"), storage.get("/f/" + root)):
        true(f"{name}: who comes is told", answer.status == 503 and is_envelope(answer, "Draining")
             and int(answer["Retry-After"]) >= 1 and answer["Connection"] == "close", answer)
    same(f"{name}: and numbers are told", storage.get("/metrics").status, 200)
    up.sendall(content[500:])
    has(f"{name}: the upload is finished", read_all(up).decode(), "^HTTP/1.1 201 .*Connection: close")
    got += len(read_all(down))
    same(f"{name}: and the download, whose connection ends with it", got, LENGTH)
    same(f"{name}: that is a clean end", storage.wait(), 0)
    has(f"{name}: which is said", storage.log(), r"drained in [0-9.]+ s")
    storage = Storage(data=data)
    same(f"{name}: and the upload is there", storage.get("/o/" + address(content)).body, content)
    storage.stop()
    down.close()
    up.close()

# --- under load ---

class Client(threading.Thread):
    """Puts one chunk after the other until it is told to stop, or nobody is there."""

    def __init__(self, number):
        super().__init__()
        self.number, self.kept, self.odd = number, [], []

    def run(self):
        for count in range(1_000_000):
            content = b"%d of %d" % (count, self.number)
            try:
                answer = storage.ask("POST", "/o", content)
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 201:
                self.kept.append((answer.json["address"], content))
            elif answer.status == 503 and is_envelope(answer, "Draining"):
                return
            else:
                self.odd.append(answer)


storage = Storage("--set", "drain_deadline=1m", data=data)
clients = [Client(number) for number in range(16)]
for client in clients:
    client.start()
until(lambda: all(len(client.kept) >= 3 for client in clients), "load")
same("under load: it ends well", storage.stop(), 0)
for client in clients:
    client.join()
same("under load: all are served, told or find nobody", [client.odd for client in clients], [[]] * 16)
storage = Storage(data=data)
lost = [name for client in clients for name, made in client.kept if storage.get("/o/" + name).body != made]
same("under load: what was acknowledged is there", lost, [])
storage.stop()

storage, down, got, up, content = begin("--set", "drain_deadline=1s")
storage.kill(signal.SIGTERM)
same("what does not end is cut, and that is another status", storage.wait(), 3)
has("and said, with numbers", storage.log(), "not all was done in time: 2 connections cut, [0-9]+ requests stopped at "
    "work, 0 in line never begun, 0 threads aborted, 0 of them left behind\n$")
got += len(read_all(down).removesuffix(b"(reset)"))
true("the download was cut", got < LENGTH, got)
true("and the upload", b" 201 " not in read_all(up))
down.close()
up.close()
storage = Storage(data=data)
same("half of an upload is nothing", storage.get("/o/" + address(content)).status, 404)
same("all else is there", storage.get("/o/" + root).status, 200)
idle = storage.socket()
idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
read_head(idle)
same("a connection that is idle keeps nobody", storage.stop(), 0)
has("at all", storage.log(), r"drained in [01]\.")
idle.close()
storage = Storage("--set", "drain_deadline=1m", "--set", "idle_timeout=1h", "--set", "read_timeout=1s", data=data)
idle = storage.socket()
until(lambda: storage.metrics()["http_connections"] >= 2, "a connection that says nothing")
same("one that has said nothing has the time of a request", storage.stop(), 0)
has("and not that of a drain", storage.log(), r"drained in [1-4]?[0-9]\.")
idle.close()
storage = Storage("--set", "drain_deadline=1m", "--set", "read_timeout=10m", "--set", "server.acceptors=1", data=data)
held, fresh = hold(storage), [storage.socket() for _ in range(4)]
until(lambda: storage.metrics()["http_connections"] >= 6, "connections that say nothing yet")
storage.kill(signal.SIGTERM)
until(lambda: storage.get("/o/" + root).status == 503, "the drain")
for end in fresh:
    end.sendall(f"GET /o/{root} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    has("who came just before and asks now is told", read_all(end).decode(), "^HTTP/1.1 503 .*Connection: close.*Draining")
    end.close()
held.close()
same("and that is the end", storage.wait(), 0)
storage = Storage(data=data)
storage.kill(signal.SIGTERM)
storage.kill(signal.SIGTERM)
same("twice is once where nothing is under way", storage.wait(), 0)
for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
    storage, down, got, up, content = begin("--set", "drain_deadline=1m", "--set", "read_timeout=10m",
                                            "--set", "write_timeout=10m", "--set", "server.min_rate=0")
    storage.kill(first)
    storage.wait_for_log("draining, for ")
    until(lambda: storage.get("/readyz").status == 503, "the drain")
    storage.kill(second)
    same("a second signal is the end of the deadline", storage.wait(), 3)
    has("which is said", storage.log(), "not waiting any more, for a second signal\n.*not all was done in time: 2 connections cut")
    down.close()
    up.close()

# --- reloads ---

file = make_file("weir.toml", "[server]\nmax_inflight = 100\n[queues]\nwork = 10\n")
storage = Storage("--config", file, data=data)


def change(text):
    make_file("weir.toml", text)
    return storage.reload()


said = change("[server]\nmax_inflight = 1\n[queues]\nwork = 10\n")
has("a key that can change is told", said, "server.max_inflight is 1 now, and was 100")
has("and how many", said, "reloaded: 1 key")
with hold(storage):
    same("and holds", storage.get("/o/" + root).status, 429)
until(lambda: storage.get("/o/" + root).status == 200, "room")
said = change("[server]\nmax_inflight = 50\n[queues]\nwork = 20\n")
has("one that cannot is told, too", said, "queues.work stays 10 until a restart; the file says 20")
has("and the rest is taken", said, "server.max_inflight is 50 now")
for text, why in (("[server]\nmax_inflight = 0\n", "max_inflight"), ("[server\n", "weir.toml:1"),
                  ("[server]\nmax_inflights = 7\n", "max_inflight")):
    said = change(text)
    has(f"{text!r} is refused", said, why + ".*the configuration stays as it was")
same("and all goes on as it was", storage.get("/o/" + root).status, 200)
has("an empty file is what there is without", change(""), "server.max_inflight is 1024 now, and was 50")
os.remove(file)
has("a file that is gone", storage.reload(), "weir.toml.*stays as it was")
has("hosts", change('[server]\nhosts = ["other.example"]\n'), "reloaded")
same("are new at once", storage.get("/o/" + root, Host="other.example").status, 200)
has("rates", change("[ratelimit]\nrps_per_ip = 1\nburst_per_ip = 1\n"), "reloaded")
true("as well", 429 in [storage.get("/o/" + root).status for _ in range(5)])
has("and off again", change(""), "reloaded")
same("are off", {storage.get("/o/" + root).status for _ in range(5)}, {200})
said = change('[server]\ntrusted_proxies = ["127.0.0.1"]\n[log]\nrequests = true\n')
storage.get("/o/" + root, X_Forwarded_For="192.0.2.77")
line = until(lambda: re.search("GET .*", storage.log()) and storage.log(), "the line of the request")
true("proxies are trusted at once, or told to need a restart",
     ("192.0.2.77" in line) != ("trusted_proxies stays" in said), said + line)
said = change('[audit]\nenabled = true\n')
os.mkfifo(path("pipe"))
status, said = refused("--set", "audit.enabled=true", "--set", "audit.file=" + path("pipe"), data=path("other"))
same("a pipe that nobody reads is no audit log", (status, "pipe" in said), (3, True))
for _ in range(20):
    storage.kill(signal.SIGHUP)
same("many reloads do no harm", storage.get("/o/" + root).status, 200)
same("the end", storage.stop(), 0)
finish()
