#!/usr/bin/env python3
"""Three nodes of the index, each in a network of its own with a node of OpenDHT beside it, and six more of
those: what is put on one is resolved on another, while nodes hang, die, and are cut off from each other.
"""
import base64
import json
import os
import signal
import time

from index_lib import ask, has_dht, spawn
from index_net import IS_LONG, Keys, Network, Node, bytes_of, can_make_networks, chance
from storage_lib import address, finish, make_folder, same, tap, true, until

if not has_dht():
    tap.skip("all of it", "dhtnode is not installed")
    finish()
if not can_make_networks():
    tap.skip("all of it", "this needs root, for network namespaces")
    finish()

DHT_PORT, PROXY_PORT = 4222, 8000
keys = Keys()
network = Network()
hosts = [network.host() for _ in range(4)]
dht = []  # processes; the first three have a proxy


def start_dht(place, port, has_proxy):
    words = [*place.before, "dhtnode", "-p", port, "-s"]
    if dht:
        words += ["-b", f"{hosts[0].ip}:{DHT_PORT}"]
    if has_proxy:
        words += ["--proxyserver", PROXY_PORT]
    dht.append(spawn(words, f"dht-{len(dht)}.log"))


def proxy_of(place):
    return f"http://{place.ip}:{PROXY_PORT}"


def put_by_hand(key, content):
    text = json.dumps({"data": base64.b64encode(content).decode()})
    return ask(proxy_of(hosts[1]), "POST", "/key/" + key, text, timeout=20)[0]


def start_node(place, *settings, **options):
    return Node(f"dht.proxies={proxy_of(place)}", "dht.republish_interval=2s", "cache.ttl=100ms",
                "cache.negative_ttl=100ms", "cache.prefetch=false", "cache.serve_stale=false",
                "breaker.cooldown_s=1", "providers.probe=false", *settings, place=place, **options)


def until_told(nodes, names, sequence, what):
    for name in names:
        for node in nodes:
            until(lambda: node.sequence(name) == sequence, f"{name} on {node.host} {what}")


for place in hosts[:3]:
    start_dht(place, DHT_PORT, True)
for port in (DHT_PORT + 1, DHT_PORT + 2):
    start_dht(hosts[3], port, False)
start_dht(hosts[2], DHT_PORT + 1, False)
for port in (DHT_PORT + 3, DHT_PORT + 4, DHT_PORT + 5):
    start_dht(hosts[3], port, False)
for number, place in enumerate(hosts[:3]):
    until(lambda: ask(proxy_of(place), "POST", f"/key/{number + 1:040x}", '{"data": "YWJj"}', timeout=20)[0] == 200,
          "a proxy of the DHT")
nodes = [start_node(place, data=make_folder(f"node-{number}")) for number, place in enumerate(hosts[:3])]
print(f"# {len(dht)} nodes of the DHT, {len(nodes)} of the index, {len(hosts)} namespaces")


# --- put on one, resolved on another ---
name = keys.name("photos", 1)
same("nobody knows it yet", nodes[2].resolve(name).status, 404)
same("a name is put on one", nodes[0].put_name(name, keys.named("photos", 1, 7)).status, 201)
until_told(nodes, [name], 7, "at first")
true("and resolved on the others", True)
same("which have it from the DHT", json.loads(nodes[2].resolve(name).body)["source"].split()[0], "dht")
thing = address(b"thing")
for seed, node in enumerate(nodes):
    same("a provider is told", node.publish("/providers/" + thing,
                                            keys.provided(thing, seed, 1, f"http://192.0.2.{seed}/")).status, 201)
for node in nodes:
    until(lambda: {one["url"] for one in node.get("/providers/" + thing).json.get("providers", [])} ==
          {f"http://192.0.2.{seed}/" for seed in range(3)}, "all providers on each")
true("providers that were told to three nodes are told by each", True)

# --- what strangers put there ---
lied = keys.name("lied", 1)
key = keys.dht_key(lied)
same("a name that is lied about", nodes[0].put_name(lied, keys.named("lied", 1, 5)).status, 201)
until_told(nodes, [lied], 5, "before the lies")
good = bytes_of(keys.named("lied", 1, 5))
LIES = {"oversized": os.urandom(2000), "forged": good[:61] + b"\xff" * 8 + good[69:], "expired": bytes_of(keys.named("lied", 1, 9, life=-10)),
        "unbound or foreign": bytes_of(keys.named("lied", 2, 99)), "replayed": bytes_of(keys.named("lied", 1, 3)),
        "malformed": os.urandom(300)}


def counted(verdict):
    """What could not be an answer does not get as far as a verdict of its own: it is dropped as malformed."""
    verdicts = {"unbound or foreign": ("malformed",)}.get(verdict, (verdict,))
    return sum(nodes[2].number("index_source_records_total", verdict=one) for one in verdicts)


for verdict, lie in LIES.items():
    before = counted(verdict)
    same(f"what is {verdict} is put", put_by_hand(key, lie), 200)
    until(lambda: (nodes[2].resolve(lied), counted(verdict) > before)[1], f"what is {verdict}")
    true(f"what is {verdict} is dropped and counted", True)
got = [node.sequence(lied) for _ in range(10) for node in nodes if time.sleep(0.03) is None]
same("and never told", set(got), {5})
nowhere = keys.name("nowhere", 1)
for lie in (bytes_of(keys.named("nowhere", 2, 1)), bytes_of(keys.named("lied", 1, 5)), os.urandom(100)):
    put_by_hand(keys.dht_key(nowhere), lie)
same("where there is nothing but lies there is nothing", nodes[2].resolve(nowhere).status, 404)

# --- nodes of the DHT hang and die ---
steady = [keys.name(f"steady/{number}", 1) for number in range(40 if IS_LONG else 8)]
for number, one in enumerate(steady):
    nodes[number % 3].put_name(one, keys.named(f"steady/{number}", 1, 1))
until_told(nodes, steady, 1, "before anything dies")
for process in dht[-2:]:
    os.kill(process.pid, signal.SIGSTOP)
until_told(nodes, steady, 1, "while two of nine hang")
true("two of nine hang, and all is resolved", True)
for process in [dht[3], dht[4], dht[6], dht[7]]:
    process.kill()
    process.wait()
until_told(nodes, steady, 1, "with four of nine dead and one that hangs")
true("four of nine are dead and one hangs, and all is resolved", True)
late = keys.name("late", 1)
same("a name is put nevertheless", nodes[1].put_name(late, keys.named("late", 1, 1)).status, 201)
until_told(nodes, [late], 1, "put while they are dead")
true("and resolved everywhere", True)
os.kill(dht[8].pid, signal.SIGCONT)
for port in (DHT_PORT + 1, DHT_PORT + 2, DHT_PORT + 3, DHT_PORT + 4):
    start_dht(hosts[3], port, False)

# --- a node's own proxy hangs ---
os.kill(dht[1].pid, signal.SIGSTOP)
answer = nodes[1].resolve(keys.name("nobody", 1))
true("a node whose proxy hangs says so in time", answer.status in (503, 504), answer)
same("and tells what it has", nodes[1].sequence(late), 1)
os.kill(dht[1].pid, signal.SIGCONT)
until_told([nodes[1]], steady, 1, "after its proxy went on")
true("it goes on with it", True)

# --- a partition ---
for turn in range(3 if IS_LONG else 1):
    here, there = keys.name(f"here/{turn}", 1), keys.name(f"there/{turn}", 1)
    both = keys.name(f"both/{turn}", 1)
    hosts[2].cut()
    same("a name is put on one side", nodes[0].put_name(here, keys.named(f"here/{turn}", 1, 1)).status, 201)
    same("and one on the other", nodes[2].put_name(there, keys.named(f"there/{turn}", 1, 1)).status, 201)
    same("and one on both, older here", nodes[0].put_name(both, keys.named(f"both/{turn}", 1, 1)).status, 201)
    same("than there", nodes[2].put_name(both, keys.named(f"both/{turn}", 1, 2)).status, 201)
    until_told(nodes[:2], [here], 1, "on its side")
    true("each side tells what it has", nodes[2].sequence(there) == 1)
    answer = nodes[0].resolve(there)
    true("what is on the other side is not told", answer.status in (404, 503, 504), answer)
    hosts[2].heal()
    began = time.monotonic()
    until_told(nodes, [here, there], 1, "after the partition")
    print(f"# both sides knew all {time.monotonic() - began:.1f} s after the partition")
    true("what was put on both sides is resolved everywhere", True)
    until_told([nodes[1]], [both], 2, "the newer of both")
    true("of what was put on both sides the newer one is told", True)
    until_told([nodes[0]], [both], 2, "the newer of both, by who has the older")
    true("also by who had the older one", True)

# --- a node of the index is killed and comes back without its DHT ---
victim = chance.randrange(3)
nodes[victim].process.kill()
nodes[victim].wait()
nodes[victim] = start_node(hosts[victim], data=make_folder(f"node-{victim}"))
for one, sequence in [(one, 1) for one in steady] + [(name, 7), (lied, 5), (late, 1)]:
    until_told([nodes[victim]], [one], sequence, "after a sudden end")
true("a node that was killed tells all again", True)
for node in nodes:
    same("it ends well", node.stop(), 0)
finish()
