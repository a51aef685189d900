#!/usr/bin/env python3
"""The source of the index that asks a DHT, with eight nodes of OpenDHT at its end."""
import base64
import os
import signal
import time

from index_lib import Dht, DelayProxy, Source, has_dht
from storage_lib import address, finish, same, tap, true, until

QUICK_MS = 1100  # what a dead node would cost is more

if not has_dht():
    tap.skip("all of it", "dhtnode is not installed")
    finish()

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
same("the record of another name is told so", got.count("foreign"), 2)
same("forged is told so", got.count("forged"), 1)
true("and what is no record is malformed", got.count("malformed") >= 1, got)
true("what is empty or too long is dropped and counted", got.dropped >= 2, got)

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
