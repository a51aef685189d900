#!/usr/bin/env python3
"""The source of the index that keeps records in etcd, with three members at its end."""
import base64
import shutil
import signal
import time

from index_lib import DelayProxy, Etcd, Source, has_etcd, text64
from storage_lib import address, finish, path, same, tap, true, until

if not has_etcd():
    tap.skip("all of it", "etcd is not installed")
    finish()

etcd = Etcd(3)
one = Source("etcd", "weir/", *etcd.urls)
other = Source("etcd", "weir/", *reversed(etcd.urls))

# --- told and asked ---
name = one.name_of("team/site", 1)
same("nobody has told it yet", other.ask(name).error, "NotFound")
error, ms = one.tell("name team/site 1 5 3600")
same("a name is told by one", error, "Ok")
got = other.ask(name)
same("and asked by another", (got.error, got.records), ("Ok", [("good", "5", "")]))
same("the same again is fine", one.tell("name team/site 1 5 3600")[0] in ("Ok", "Conflict"), True)
same("an older one is not", one.tell("name team/site 1 4 3600")[0], "Conflict")
same("a newer one is", other.tell("name team/site 1 6 3600")[0], "Ok")
same("it took its place", one.ask(name).records, [("good", "6", "")])
there = one.say("record name rubbish 1 1 3600")
rubbish = one.name_of("rubbish", 1)
etcd.set(0, "weir/n/" + rubbish, b"this is no record")
same("what is no record is handed out as it is", one.ask(rubbish).count("malformed"), 1)
same("and stands in nobody's way", one.tell("name rubbish 1 1 3600")[0], "Ok")
same("a record is there instead", other.ask(rubbish).records, [("good", "1", "")])
etcd.set(0, "weir/n/" + rubbish, b"\0" * 700)
got = one.ask(rubbish)
same("what is too long is dropped and counted", (got.error, got.dropped), ("NotFound", 1))
forged = bytearray(base64.b64decode(there))
forged[36:44] = b"\xff" * 8
etcd.set(0, "weir/n/" + rubbish, bytes(forged))
same("a forged sequence stops nobody", one.tell("name rubbish 1 2 3600")[0], "Ok")

things = address(b"things")
for seed in range(1, 31):
    one.tell(f"provider {things} {seed} 1 3600 http://192.0.2.1/{seed}")
one.tell(f"provider {things} 1 2 3600 http://192.0.2.2/1")
got = other.ask(things)
same("thirty providers, each once", (got.count("good"), len({r[2] for r in got.records})), (30, 30))
true("the newer of two of one key", any(r[1] == "2" for r in got.records), got)
same("their neighbours are not told", other.ask(address(b"others")).error, "NotFound")

# --- upkeep ---
for number in range(150):
    one.tell(f"provider {address(str(number).encode())} 5 1 {-7000 if number % 3 == 0 else 3600} http://192.0.2.1/")
one.tell(f"provider {address(b'just now')} 5 1 -60 http://192.0.2.1/")
etcd.set(0, f"weir/p/{things[3:]}/rubbish", b"this is no record")
etcd.set(0, "weir/q/next", b"not a provider")
last = address(b"the last second")
etcd.set(0, f"weir/p/{last[3:]}/last", base64.b64decode(one.say(f"record provider {last} 5 1 max http://192.0.2.1/")))
same("upkeep", one.say("tend 5000").split()[0], "Ok")
same("what expired long ago is forgotten", one.stats()["forgotten"], "50")
same("what is good stays, on every page", [other.ask(address(str(n).encode())).error for n in range(150)],
     ["NotFound" if n % 3 == 0 else "Ok" for n in range(150)])
same("and what has just expired", other.ask(address(b"just now")).count("expired"), 1)
same("and what expires in the last second of all", other.ask(last).count("expired"), 1)
same("names stay", other.ask(name).error, "Ok")
true("and what is nobody's business", "kvs" in etcd.call(0, "kv/range", key=text64("weir/q/next")))
one.say("tend 5000")
same("once", one.stats()["forgotten"], "50")
same("what is no record is left alone", other.ask(things).count("malformed"), 1)

# --- news ---
other.say("watch")
until(lambda: other.changes, "the first line of the watch")
same("at first anything may have changed", other.changes, ["*"])
one.tell("name team/site 1 7 3600")
until(lambda: name in other.changes, "news of a name")
one.tell(f"provider {things} 2 9 3600 http://192.0.2.2/2")
until(lambda: things in other.changes, "news of an address")
etcd.set(1, "weir/x/unknown", b"x")
etcd.set(1, "elsewhere/n/a", b"x")
until(lambda: other.stats()["others"] == "1", "a key that is none of ours")
true("what is not ours is counted, what is not below us not even seen", True)

# --- who is told has no room for it ---
full = Source("etcd", "weir/", *etcd.urls)
full.say("watch 2")
until(lambda: "*" in full.changes, "a watch that tells again what was not taken")
same("that anything may have changed is told until it is taken", full.changes, ["refused", "refused", "*"])
one.tell("name team/site 1 8 3600")
until(lambda: name in full.changes, "news behind that")
same("and then what changes", full.close(), 0)

# --- the watch in bad company ---
proxy = DelayProxy([url[len("http://"):] for url in etcd.urls])
watcher = Source("etcd", "weir/", *[f"http://127.0.0.1:{port}" for port in proxy.ports])
watcher.say("watch")
until(lambda: watcher.changes == ["*"], "the watch by way of the proxy")
for number in range(3):
    proxy.cut(number)
one.tell("name team/site 1 9 3600")
until(lambda: name in watcher.changes, "news after a cut")
same("nothing was missed", watcher.changes, ["*", name])
for number in range(3):
    proxy.refuse(number)
one.tell("name team/site 1 10 3600")
for number in range(3):
    proxy.heal(number)
until(lambda: watcher.changes == ["*", name, name], "news of what came while nobody listened")
for number in range(3):
    proxy.refuse(number)
one.tell("name team/site 1 11 3600")
one.tell("name team/site 1 12 3600")
revision = etcd.call(0, "kv/range", key=text64("weir/n/" + name))["header"]["revision"]
etcd.call(0, "kv/compaction", revision=revision, physical=True)
for number in range(3):
    proxy.heal(number)
until(lambda: watcher.changes.count("*") == 2, "a compaction")
one.tell("name team/site 1 13 3600")
until(lambda: watcher.changes[-1] == name, "news after a compaction")
same("after a compaction anything may have changed, once", watcher.stats()["compacted"], "1")

# --- a member that hangs ---
hanging = int(etcd.leader() is not None and (etcd.leader() + 1) % 3)
etcd.signal(hanging, signal.SIGSTOP)
got = [source.ask(name) for source in (one, other) for _ in range(3)]
same("one of three hangs: all is answered", [g.error for g in got if g.error != "Ok"], [])
same("and told", one.tell("name team/site 1 14 3600")[0], "Ok")
etcd.signal(hanging, signal.SIGCONT)

# --- the leader is killed ---
until(lambda: etcd.leader() is not None, "a leader")
leader = etcd.leader()
began = time.monotonic()
etcd.kill(leader)
asked = [one.ask(name) for _ in range(3)]
sequence = 15
while one.tell(f"name team/site 1 {sequence} 3600", ms=1000)[0] not in ("Ok", "Conflict"):
    assert time.monotonic() - began < 60
back = time.monotonic() - began
print(f"# writes are back {back:.1f} s after the leader was killed; asks took "
      f"{[round(g.ms) for g in asked]} ms; told in {ms:.1f} ms before")
same("asks are answered all the while", [g.error for g in asked if g.error != "Ok"], [])
true("within the time of a lookup", max(g.ms for g in asked) < 2000, asked)
true("writes come back", back < 30, back)
same("what was told is there", other.ask(name, ms=3000).records, [("good", str(sequence), "")])
until(lambda: watcher.changes.count(name) >= 5, "news without that member")
etcd.start(leader)
etcd.wait()

# --- without a quorum ---
for number in list(etcd.processes)[:2]:
    etcd.kill(number)
got = one.ask(name)
true("one of three has it, and it is signed", got.error == "Ok" and got.count("good") == 1, got)
true("such asks are counted", int(one.stats()["local"]) >= 1, one.stats())
true("nothing can be told", one.tell("name team/site 1 99 3600", ms=1500)[0] in ("Timeout", "Transient"))

# --- everything is put back to an earlier state ---
before = watcher.changes.count("*")
for number in list(etcd.processes):
    etcd.kill(number)
for number in range(3):
    shutil.rmtree(path(f"etcd-{etcd.peers[0]}-{number}"))
    etcd.start(number)
etcd.wait()
until(lambda: watcher.changes.count("*") > before, "a watch that starts over")
watcher.changes.clear()
until(lambda: one.tell("name team/site 1 1 3600")[0] == "Ok", "a tell to what is there now")
until(lambda: name in watcher.changes, "news of lower revisions")
true("who has less than was heard of before is listened to from there", True)

etcd.close()
got = one.ask(name)
true("with none it is told at once", got.error == "Transient" and got.ms < 1100, got)
for source in (one, other, watcher):
    began = time.monotonic()
    same("it ends well", source.close(), 0)
    true("at once", time.monotonic() - began < 2, time.monotonic() - began)
proxy.close()
finish()
