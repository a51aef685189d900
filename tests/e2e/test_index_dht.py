#!/usr/bin/env python3
"""The source of the index that asks a DHT, with eight nodes of OpenDHT at its end."""
import base64
import http.server
import json
import os
import signal
import threading
import time

from index_lib import Dht, DelayProxy, Source, has_dht
from storage_lib import address, finish, same, tap, true, until

QUICK_MS = 1100  # what a dead node would cost is more
PARTS = 16


class Board(http.server.BaseHTTPRequestHandler):
    """A proxy of a DHT whose values come in the order in which they were put: who was first is read first."""
    protocol_version = "HTTP/1.1"
    values = {}
    end_s = 0  # between the last value and the end of the answer

    def do_GET(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for data in self.values.get(self.path[5:], []):
                line = json.dumps({"data": base64.b64encode(data).decode(), "id": "1", "type": 0}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            time.sleep(self.end_s)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.values.setdefault(self.path[5:], []).append(base64.b64decode(said["data"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def strangers():
    """What they put there, in the order of the board, and whether a name is found that is told behind them."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Board)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # who has read enough hangs up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    one = Source("dht", f"http://127.0.0.1:{server.server_port}")

    def is_found(what, fill, end_s=0.0, seeds=range(1, 6)):
        hidden = []
        for seed in seeds:
            Board.values, Board.end_s = {}, 0
            name = one.name_of("app", seed)
            good = base64.b64decode(one.say(f"record name app {seed} 5 3600"))
            part_keys = [one.say(f"key {part} {name}") for part in range(PARTS)]
            Board.values[part_keys[0]] = [os.urandom(100) for _ in range(16)]
            one.tell(f"name app {seed} 1 3600")
            own = [part for part in range(1, PARTS) if part_keys[part] in Board.values][0]
            Board.values = {}
            for part in range(PARTS):
                Board.values[part_keys[part]] = fill(part, (part - own) % (PARTS - 1) if part else -1, good)
            Board.end_s = end_s
            told = one.tell(f"name app {seed} 5 3600")
            got = one.ask(name)
            if told[0] != "Ok" or ("good", "5", "") not in got.records:
                hidden.append((seed, own, told, got.error, len(got.records)))
        same(what, hidden, [])

    def rubbish(count, size=100):
        return [os.urandom(size) for _ in range(count)]

    def forged(good, count):
        return [good[:-4] + os.urandom(4) for _ in range(count)]

    # steps: how far a part is behind that of the key; -1 is the first one
    is_found("few large values in the first part hide nothing",
             lambda part, steps, good: rubbish(12, 60000) if part == 0 else [])
    is_found("nor do three, in front of what is there already",
             lambda part, steps, good: [*rubbish(3, 60000), good] if part == 0 else [])
    is_found("nor one line that is too long", lambda part, steps, good: rubbish(1, 60000) if part == 0 else [])
    is_found("nor do 64 values in that of the key",
             lambda part, steps, good: rubbish(16) if part == 0 else rubbish(64) if steps == 0 else [])
    is_found("nor large ones there",
             lambda part, steps, good: rubbish(16) if part == 0 else rubbish(12, 60000) if steps == 0 else [])
    is_found("nor do the first four parts", lambda part, steps, good: rubbish(64) if part < 4 else [])
    is_found("nor some in each part", lambda part, steps, good: rubbish(64))
    is_found("nor do records of the right form in the first part and four of the key",
             lambda part, steps, good: forged(good, 64) if steps < 4 else [])
    is_found("nor such ones in all parts but the last",
             lambda part, steps, good: forged(good, 20) if steps < 14 else [])
    is_found("nor do copies of what was true",
             lambda part, steps, good: [good[:40] + b"\1" + good[41:]] * 64 if steps < 4 else [])
    for end_s in (0.05, 1):
        is_found(f"nor rubbish in the first part where an answer ends after {end_s} s",
                 lambda part, steps, good: rubbish(16) if part == 0 else [], end_s, range(1, 3))
        is_found(f"nor forged records there, with {end_s} s",
                 lambda part, steps, good: forged(good, 16) if part == 0 else [], end_s, range(1, 3))
    same("the one who asks the board ends well", one.close(), 0)
    server.shutdown()

if not has_dht():
    tap.skip("all of it", "dhtnode is not installed")
    finish()

strangers()
dht = Dht(8)
near = Source("dht", dht.proxies[0])
far = Source("dht", dht.proxies[2])


# --- put on one, get on another ---
name = near.name_of("photos/2024", 1)
same("nobody has put it yet", far.ask(name).error, "NotFound")
same("a name is put on one node", near.tell("name photos/2024 1 7 3600")[0], "Ok")
got = far.ask(name)
same("and found on another", (got.error, got.records), ("Ok", [("good", "7", "")]))
true("quickly", got.ms < QUICK_MS, got)
near.tell("name photos/2024 1 7 3600")
far.tell("name photos/2024 1 7 3600")
key = near.say(f"key 0 {name}")
same("put three times, by two nodes, it is there once", len(dht.get(1, key)), len({v["data"] for v in dht.get(1, key)}))
near.tell("name photos/2024 1 8 3600")
got = far.ask(name)
true("a newer one is beside the older", {r[1] for r in got.records} == {"7", "8"}, got)

# --- what strangers put there ---
expired = base64.b64decode(near.say("record name photos/2024 1 9 -10"))
foreign = base64.b64decode(near.say("record name photos/2025 1 9 3600"))
stolen = base64.b64decode(near.say("record name photos/2024 2 99 3600"))
good = base64.b64decode(near.say("record name photos/2024 1 7 3600"))
forged = good[:40] + bytes([good[40] ^ 1]) + good[41:]
for what in (expired, foreign, stolen, forged, b"rubbish", b"", os.urandom(601), os.urandom(60000)):
    dht.put(1, key, what)
dht.put(1, key, b"x", type=3, user_type="text/plain", seq=1)
got = far.ask(name)
true("the good ones are still found", got.error == "Ok" and got.count("good") == 2, got)
same("what has expired is told so", got.count("expired"), 1)
same("forged is told so", got.count("forged"), 1)
same("what could not be the answer takes no room", (got.count("foreign"), got.count("malformed")), (0, 0))
true("it is dropped and counted, as what is empty or too long", got.dropped >= 5, got)

# --- a large set ---
many = address(b"many providers")
told = [near.tell(f"provider {many} {seed} 1 3600 http://192.0.2.1/{seed}") for seed in range(100, 160)]
same("sixty providers are told", [error for error, _ in told if error != "Ok"], [])
true("most of them in other parts", int(near.stats()["split"]) >= 40, near.stats())
got = far.ask(many)
same("all sixty are found", got.count("good"), 60)
true("within the time of a lookup", got.ms < QUICK_MS, got.ms)
alone = far.ask(address(b"nobody has this"))
true("who asks for nothing reads one part", alone.error == "NotFound", alone)

# --- a key full of rubbish ---
drowned = near.name_of("drowned", 3)
key = near.say(f"key 0 {drowned}")
for _ in range(120):
    dht.put(1, key, os.urandom(900))
same("a record is told in spite of it", near.tell("name drowned 3 1 3600")[0], "Ok")
got = far.ask(drowned)
true("and found", got.error == "Ok" and got.count("good") == 1, got)
true("in time", got.ms < 2000, got)

# --- a key with few values that are large ---
large = near.name_of("large", 5)
key = near.say(f"key 0 {large}")
same("five of 60,000 bytes are put", [dht.put(1, key, os.urandom(60000))[0] for _ in range(5)], [200] * 5)
split = int(near.stats()["split"])
same("a record is told in spite of them", near.tell("name large 5 1 3600")[0], "Ok")
same("in another part", int(near.stats()["split"]), split + 1)
got = far.ask(large)
true("and found", got.error == "Ok" and got.count("good") == 1, got)

# --- nodes that hang and die ---
names = [near.name_of(f"steady/{i}", 4) for i in range(20)]
for i in range(20):
    near.tell(f"name steady/{i} 4 1 3600")
for number in (4, 5, 6):
    dht.signal(number, signal.SIGSTOP)
got = [far.ask(one) for one in names]
same("with three of eight stopped all is found", [g.error for g in got if g.error != "Ok"], [])
true("and nobody waits for them", sorted(g.ms for g in got)[-1] < QUICK_MS, [g.ms for g in got])
true("an answer without its end was taken for whole", int(far.stats()["quiet"]) >= 1, far.stats())
for number in (4, 5, 6):
    dht.signal(number, signal.SIGCONT)
dht.kill(6)
dht.kill(7)
got = [far.ask(one) for one in names]
same("with two killed all is found", [g.error for g in got if g.error != "Ok"], [])

# --- a proxy that hangs, dies and comes back ---
dht.signal(2, signal.SIGSTOP)
began = time.monotonic()
got = far.ask(names[0], ms=300)
took = time.monotonic() - began
true("one that hangs costs its deadline and no more", got.error == "Timeout" and took < 2, (got, took))
dht.signal(2, signal.SIGCONT)
same("and is asked again", far.ask(names[0]).error, "Ok")
dht.kill(2)
got = far.ask(names[0])
true("one that is gone is told at once", got.error == "Transient" and got.ms < 1000, got)
dht.start(2)
until(lambda: far.ask(names[0]).error == "Ok", "the proxy that came back")
true("one that came back is asked", True)

# --- a network that is bad ---
proxy = DelayProxy([f"127.0.0.1:{dht.proxy_ports[0]}"])
bad = Source("dht", f"http://127.0.0.1:{proxy.ports[0]}")
same("by way of the proxy", bad.ask(names[1]).error, "Ok")
proxy.delay(0, 200)
got = bad.ask(names[1])
true("with 200 ms each way it takes as long", got.error == "Ok" and got.ms > 390, got)
proxy.heal(0)
bad.ask(names[1])
before = proxy.stats(0)["closed_by_client"]
proxy.stall(0)
got = bad.ask(names[1], ms=300)
same("nothing passes", got.error, "Timeout")
until(lambda: proxy.stats(0)["closed_by_client"] > before, "the end of the connection")
true("who gives up has closed its connection", True)
proxy.heal(0)
proxy.refuse(0)
same("refused", bad.ask(names[1]).error, "Transient")
proxy.heal(0)
same("healed", bad.ask(names[1]).error, "Ok")

# --- pace ---
began = time.monotonic()
got = [near.ask(address(str(i).encode())).error for i in range(200)]
took = time.monotonic() - began
true("two hundred questions have the pace that is promised", took > (200 - 32) / 150 * 0.95, took)
# That there is nothing is known when the last node was waited for, and two of them are dead.
same("and none is lost to it", [error for error in got if error not in ("NotFound", "Timeout")], [])

# --- the publisher ---
teller = Source("dht", dht.proxies[1])
same("a publisher starts", teller.say("publish 50 100 2000"), "publishing")
until(lambda: int(teller.stats()["rounds"]) >= 1, "the first round")
got = far.ask(address(b"http://10.0.0.1/49"))
same("what it has walked over is there", got.count("good"), 1)
fresh = address(b"fresh")
same("what is new is taken", teller.say(f"offer {fresh} 9 1 3600 http://10.0.0.2/"), "Ok")
until(lambda: far.ask(fresh).error == "Ok", "what is new")
until(lambda: int(teller.stats()["rounds"]) >= 2, "another round")
dht.signal(1, signal.SIGSTOP)
until(lambda: int(teller.stats()["pfailed"]) >= 1, "a failure")
dht.signal(1, signal.SIGCONT)
told = int(teller.stats()["ptold"])
until(lambda: int(teller.stats()["ptold"]) > told + 10, "tells that go on")
true("it goes on when its node does", True)
dht.signal(1, signal.SIGSTOP)
until(lambda: int(teller.stats()["pfailed"]) >= 2, "a tell under way")
began = time.monotonic()
same("it ends while its node hangs", teller.close(), 0)
true("at once", time.monotonic() - began < 2, time.monotonic() - began)
dht.signal(1, signal.SIGCONT)

for one in (near, far, bad):
    same("it ends well", one.close(), 0)
proxy.close()
dht.close()
finish()
