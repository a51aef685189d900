#!/usr/bin/env python3
"""Three nodes of the index that know each other, and two that share a DHT or an etcd: what is put on one
is found on the others, whoever dies. Prints TAP."""
import sys

sys.dont_write_bytecode = True
from index_lib import Dht, Etcd, free_ports, has_dht, has_etcd
from index_service import Index, Keys
from storage_lib import address, finish, path, same, tap, true, until

keys = Keys()
ports = free_ports(3)
urls = [f"http://127.0.0.1:{port}" for port in ports]


def start(number, *settings):
    others = ",".join(url for i, url in enumerate(urls) if i != number)
    return Index(f"siblings.nodes={others}", *settings, data=path(f"node{number}"), listen=(f"127.0.0.1:{ports[number]}",))


nodes = [start(number) for number in range(3)]
name = keys.name("shared", 1)
chunk = address(b"shared")
assert nodes[0].publish("/names/" + name, keys.of_name("shared", 1, 1)).status == 201
assert nodes[1].publish("/providers/" + chunk, keys.of_provider(chunk, 7, 1, "http://192.0.2.7:8470")).status == 201
same("what is put on one node is resolved on the others", [n.resolve(name).json.get("sequence") for n in nodes], [1, 1, 1])
same("and so are providers", [len(n.get("/providers/" + chunk).json["providers"]) for n in nodes], [1, 1, 1])
true("who knew it is told", nodes[2].resolve(name).json["source"].startswith("sibling 127.0.0.1:"), nodes[2].resolve(name))
trace = nodes[2].get("/resolve/" + name + "?trace=1").json["trace"]
true("nobody asks in a circle", all(step["result"] in ("Ok", "NotFound", "Canceled") for step in trace), trace)

# --- the one that has it dies ---
nodes[0].process.kill()
nodes[0].wait()
other = keys.name("other", 1)
assert nodes[1].publish("/names/" + other, keys.of_name("other", 1, 1)).status == 201
same("the others go on without it", nodes[2].resolve(other).json["sequence"], 1)
nodes[0] = start(0)
same("when it is back it has what it had", nodes[0].resolve(name).json["sequence"], 1)
same("and finds what came meanwhile", nodes[0].resolve(other).json["sequence"], 1)

# --- a quorum ---
for node in nodes:
    node.stop()
nodes = [start(number, "dht.quorum=2", "cache.ttl=1ms", "cache.negative_ttl=1ms", "cache.serve_stale=false")
         for number in range(3)]
single = keys.name("single", 1)
assert nodes[0].publish("/names/" + single, keys.of_name("single", 1, 1)).status == 201
true("with a quorum of two a record of one node is not enough", nodes[2].resolve(single).status in (404, 503),
     nodes[2].resolve(single))
assert nodes[1].publish("/names/" + single, keys.of_name("single", 1, 2)).status == 201
answer = until(lambda: (lambda a: a if a.status == 200 else None)(nodes[2].resolve(single)), "a quorum")
same("of two the higher sequence is told", answer.json["sequence"], 2)
for node in nodes:
    same("a clean end", node.stop(), 0)

# --- a DHT ---
if has_dht():
    dht = Dht(8)
    near = Index(f"dht.proxies={dht.proxies[0]}", data=path("near"))
    far = Index(f"dht.proxies={dht.proxies[1]},{dht.proxies[2]}", "cache.negative_ttl=1ms")
    put = keys.name("in-the-dht", 1)
    assert near.publish("/names/" + put, keys.of_name("in-the-dht", 1, 3)).status == 201
    answer = until(lambda: (lambda a: a if a.status == 200 else None)(far.resolve(put)), "the name in the DHT")
    same("what is put on one node is found on another through the DHT", answer.json["sequence"], 3)
    true("by the DHT", answer.json["source"].startswith("dht "), answer)
    for number in range(3, 7):
        dht.kill(number)
    gone = keys.name("later", 1)
    assert near.publish("/names/" + gone, keys.of_name("later", 1, 1)).status == 201
    until(lambda: far.resolve(gone).status == 200, "the name, with half of the DHT")
    true("also when half of the DHT is dead", True)
    near.stop()
    far.stop()
    dht.close()
else:
    tap.skip("through a DHT", "dhtnode is not installed")

# --- etcd ---
if has_etcd():
    etcd = Etcd(3)
    members = ",".join(etcd.urls)
    # What is not told while there is no leader is told with the next round.
    near = Index(f"etcd.endpoints={members}", "dht.republish_interval=1s", data=path("near-etcd"))
    far = Index(f"etcd.endpoints={members}", "cache.ttl=1h", "cache.negative_ttl=1h")
    put = keys.name("in-etcd", 1)
    assert near.publish("/names/" + put, keys.of_name("in-etcd", 1, 3)).status == 201
    answer = until(lambda: (lambda a: a if a.status == 200 else None)(far.resolve(put)), "the name in etcd")
    same("what is put on one node is found on another through etcd", (answer.json["sequence"], answer.json["source"].split()[0]),
         (3, "etcd"))
    assert near.publish("/names/" + put, keys.of_name("in-etcd", 1, 4)).status == 200
    until(lambda: far.resolve(put).json["sequence"] == 4, "news of the change")
    true("a change is heard of, although it would be kept for an hour", True)
    leader = etcd.leader()
    etcd.kill(leader)
    assert near.publish("/names/" + put, keys.of_name("in-etcd", 1, 5)).status == 200
    until(lambda: far.resolve(put).json.get("sequence") == 5, "the change, without the leader")
    true("also when the leader of etcd was killed", True)
    near.stop()
    far.stop()
    etcd.close()
else:
    tap.skip("through etcd", "etcd is not installed")
finish()
