#!/usr/bin/env python3
"""Sources that lie: a quorum outvotes them, and what is forged, foreign, expired or old is never told."""
import signal

from index_net import NOTHING, Fake, Keys, Node, bytes_of, knows_name, knows_providers, sequence_of, url64
from storage_lib import address, finish, make_folder, same, true, until

keys = Keys()
name = keys.name("team/site", 1)
target = "/resolve/" + name
records = {sequence: keys.named("team/site", 1, sequence) for sequence in (3, 5, 6, 7)}
good = bytes_of(records[7])


def says(record):
    return Fake(lambda path: knows_name(record) if record and path == target else NOTHING)


def node_of(fakes, *settings, **options):
    return Node("cache.ttl=1ms", "cache.negative_ttl=1ms", "cache.prefetch=false", "cache.serve_stale=false",
                "providers.probe=false", "dht.tries=1",
                "siblings.nodes=" + ",".join(fake.url for fake in fakes), *settings, **options)


def judged(node, verdict):
    return node.number("index_source_records_total", verdict=verdict)


# --- the highest of the quorum ---
fakes = [says(records[5]), says(records[7]), says(records[6])]
node = node_of(fakes, "dht.quorum=3")
same("of three the highest sequence wins", node.sequence(name), 7)
same("it ends well", node.stop(), 0)

old, new = says(records[3]), [says(records[7]), says(records[7])]
for place in range(3):
    fakes = list(new)
    fakes.insert(place, old)
    node = node_of(fakes, "dht.quorum=2", "dht.alpha=3")
    got = [node.sequence(name) for _ in range(20)]
    same(f"one of three lies old, at place {place}: it is outvoted", set(got), {7})
    true("and was asked", old.count(target) > 0, old.asked[:3])
    same("it ends well", node.stop(), 0)

node = node_of([says(records[7]), says(None), says(None)], "dht.quorum=2")
same("what one of three has is not enough for a quorum of two", node.resolve(name).status in (404, 503), True)
same("it ends well", node.stop(), 0)

# --- what is no good counts for nothing in a quorum ---
forged = url64(good[:40] + bytes([good[40] ^ 1]) + good[41:])
forged_high = url64(good[:36] + b"\xff" * 8 + good[44:])
stolen = keys.named("team/site", 2, 99)
expired = keys.named("team/site", 1, 99, life=-10)
elsewhere = keys.named("team/other", 1, 99)
LIES = {"forged": forged, "forged with the highest sequence": forged_high, "signed by another key": stolen,
        "expired": expired, "of another name": elsewhere, "rubbish": url64(b"rubbish" * 9)}
for what, lie in LIES.items():
    liars = [says(lie), says(lie)]
    node = node_of([*liars, says(records[5])], "dht.quorum=2")
    answer = node.resolve(name)
    true(f"two liars and one honest, quorum of two: {what} is not told", answer.status in (404, 503), answer)
    bad = sum(judged(node, verdict) for verdict in ("forged", "expired", "foreign", "malformed", "unbound"))
    true("and counted", bad >= 1, bad)
    same("it ends well", node.stop(), 0)
    node = node_of([*liars, says(records[5]), says(records[5])], "dht.quorum=2")
    same(f"two liars and two honest: the truth is told beside what is {what}", node.sequence(name), 5)
    same("it ends well", node.stop(), 0)
    node = node_of([liars[0]], "dht.quorum=1")
    true(f"nothing but what is {what}: nothing is told", node.resolve(name).status == 404, node.resolve(name))
    same("it ends well", node.stop(), 0)

# --- a name without a key in it, for which one key is configured ---
bare, other = keys.bare("team/site", 1, 5), keys.bare("team/site", 2, 9)
target = "/resolve/team/site"
node = node_of([says(other), says(bare)], f"names.prefixes=team={keys.id(1)}")
got = []
until(lambda: (got.append(node.sequence("team/site")), judged(node, "unbound") >= 1)[1], "a verdict")
same("who is not configured for a name is counted and not told, who is is", set(got), {5})
same("it ends well", node.stop(), 0)
node = node_of([says(bare), says(other)])
same("without a configuration neither is", node.resolve("team/site").status, 404)
same("it ends well", node.stop(), 0)
target = "/resolve/" + name

# --- nothing older than what was seen, also after sudden ends ---
data = make_folder("seen")
source = says(records[7])
node = node_of([source], data=data)
same("a sequence is seen", node.sequence(name), 7)
source.rule = lambda path: knows_name(records[5]) if path == target else NOTHING
got = [node.sequence(name) for _ in range(20)]
true("an older one is not told any more", 5 not in got and got[-1] == 0, got)
true("and counted as a replay", judged(node, "replayed") >= 1, judged(node, "replayed"))
until(lambda: node.number("index_records", kind="seen") >= 1, "what was seen, on disk")
node.process.kill()
node.wait()
node = node_of([source], data=data)
answer = node.resolve(name)
true("nor after a sudden end and a restart", answer.status == 503 and answer.json["error"] == "NoRoute", answer)
true("which is a replay again", judged(node, "replayed") >= 1, judged(node, "replayed"))
answer = node.put_name(name, records[6])
print(f"# brought by hand, older than what was seen: {answer.status} {answer.body.decode().strip()}")
same("nor does it take an older one by hand", answer.status, 409)
source.rule = lambda path: knows_name(records[7]) if path == target else NOTHING
same("the newest is told as before", node.sequence(name), 7)
same("it ends well", node.stop(), 0)

# --- what others know better than this node ---
data = make_folder("behind")
node = node_of([says(records[7])], "dht.quorum=2", data=data)
same("a node has an old record", node.put_name(name, records[5]).status, 201)
same("with a quorum of two it tells the newer one of another", node.sequence(name), 7)
same("it ends well", node.stop(), 0)
node = node_of([says(records[7])], "dht.quorum=1", data=data)
same("and goes on to, without a quorum, since it has seen it", node.sequence(name), 7)
same("it ends well", node.stop(), 0)

# --- providers ---
thing = address(b"thing")
honest = keys.provided(thing, 1, 4, "http://192.0.2.1/")
lies = [keys.provided(address(b"another"), 2, 1, "http://192.0.2.66/"),
        keys.provided(thing, 3, 1, "http://192.0.2.66/", life=-5),
        url64(bytes_of(honest)[:-1] + bytes([bytes_of(honest)[-1] ^ 1])), url64(b"x" * 599)]
fake = Fake(lambda path: knows_providers(*lies, honest, keys.provided(thing, 1, 3, "http://192.0.2.9/"))
            if path == f"/providers/{thing}" else NOTHING)
node = node_of([fake])
answer = node.get("/providers/" + thing)
same("of providers the good ones are told, the newest of each key",
     [provider["url"] for provider in answer.json["providers"]], ["http://192.0.2.1/"])
same("the others are counted", {verdict: judged(node, verdict) for verdict in ("expired", "foreign", "forged",
                                                                             "malformed")},
     {"expired": 1, "foreign": 1, "forged": 1, "malformed": 1})
same("it ends well", node.stop(signal.SIGINT), 0)
assert sequence_of(honest) == 4
finish()
