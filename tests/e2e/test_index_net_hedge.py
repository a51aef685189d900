#!/usr/bin/env python3
"""Lookups over siblings that are slow, hang or are cut off: who is asked beside them, and how often."""
from index_lib import DelayProxy
from index_net import (IS_LONG, NEVER, NOTHING, Fake, Keys, Node, at_once, chance, knows_name,
                       knows_providers, meaning_of, percentile, timed)
from storage_lib import address, exchange, finish, same, true, until

SLOW_S = 1.0
# Who is not canceled keeps its connection until then, which is longer than anybody here waits.
LONG_AFTER = "dht.deadline_ms=60000"
keys = Keys()


def steps_of(answer, stage="name"):
    return {step["source"]: step for step in answer.json["trace"] if step["stage"] == stage}


def ends_of(node, source):
    """How its tries have ended, when none is under way any more."""
    names = ("answered", "not_found", "failed", "canceled")
    until(lambda: node.number("weir_breaker_allowed_total", target=source) ==
          sum(node.number("index_tries_total", target=source, result=name) for name in names), "the end of tries")
    return {name: node.number("index_tries_total", target=source, result=name) for name in names}


# --- the first ones are dropped in flight ---
name = keys.name("team/site", 1)
record = keys.named("team/site", 1, 5)
target = "/resolve/" + name
meaning = meaning_of(5)
provider = keys.provided(meaning, 1, 1, "http://192.0.2.1/")
honest = [Fake({target: knows_name(record), f"/providers/{meaning}": knows_providers(provider)}.get) for _ in range(3)]
proxy = DelayProxy([f"127.0.0.1:{honest[0].port}"])
first, second, third = [f"sibling 127.0.0.1:{port}" for port in (proxy.ports[0], honest[1].port, honest[2].port)]
node = Node("dht.alpha=1", "dht.beta=1", "dht.hedge_ratio=1", "dht.tries=1", LONG_AFTER,
            f"siblings.nodes=http://127.0.0.1:{proxy.ports[0]},{honest[1].url},{honest[2].url}")
same("by way of the proxy", steps_of(node.get(target + "?trace=1")).keys(), {"local", first})
closed = proxy.stats(0)["closed_by_client"]
proxy.stall(0)
answer = node.get(target + "?trace=1")
steps = steps_of(answer)
true("the first one hangs, and another wins", answer.status == 200 and steps[second]["won"]
     and steps[second]["hedge"], answer)
same("the first one is canceled", steps[first]["result"], "Canceled")
true("nobody was asked whom it did not take", third not in steps, steps)
_, seconds = timed(lambda: until(lambda: proxy.stats(0)["closed_by_client"] > closed, "the end of the connection"))
true("and its connection is closed, long before its time is over", seconds < 30, seconds)
same("since it was canceled, and not since it gave up", ends_of(node, first)["failed"], 0)
true("which is counted", ends_of(node, first)["canceled"] >= 1, ends_of(node, first))
proxy.heal(0)
node.get(target + "?trace=1")
before = node.number("index_hedges_total")
proxy.refuse(0)
answer = node.get(target + "?trace=1")
steps = steps_of(answer)
true("the first one is cut off in flight, and another is asked in its place",
     answer.status == 200 and steps[second]["won"], answer)
same("which is no hedge", (steps[second]["hedge"], node.number("index_hedges_total")),
     (False, before))
proxy.heal(0)
same("it ends well", node.stop(), 0)

# It knows nothing of some names, whose lookups leave their budget to this one: it hedges twice.
hanging = Fake(lambda path: NEVER if path == target or "/providers/" in path else NOTHING)
node = Node("dht.alpha=1", "dht.beta=1", "dht.hedge_ratio=1", LONG_AFTER, f"siblings.nodes={hanging.url},{honest[1].url}")
for number in range(4):
    node.resolve(keys.name(f"team/quick{number}", 1))
same("a sibling takes the question and hangs", node.resolve(name).status, 200)
_, seconds = timed(lambda: until(lambda: hanging.left.count(target), "who went"))
true("its asker was seen to go, long before its time was over", hanging.left.count(target) == 1 and seconds < 30,
     (hanging.left, seconds))
same("since it was canceled", ends_of(node, f"sibling 127.0.0.1:{hanging.port}")["failed"], 0)
same("it ends well", node.stop(), 0)

# --- one flight for each question ---
many = 200
slow = [Fake(lambda path: knows_name(record, delay=3.0) if path == target else NOTHING) for _ in range(3)]
node = Node("dht.beta=0", "index.workers=4", LONG_AFTER, "siblings.nodes=" + ",".join(f.url for f in slow))
connections = [node.connect() for _ in range(many)]
for connection in connections:
    connection.connect()
answers = at_once(many, lambda connection: exchange(connection, "GET", target), connections)
same("two hundred ask for one name that nobody knows yet", {answer.status for answer in answers}, {200})
same("each source was asked once", [fake.count(target) for fake in slow], [1, 1, 1])
same("one led, nobody looked it up again", node.number("index_flights_total", part="led"), 1)
for connection in connections:
    connection.close()
same("it ends well", node.stop(), 0)

# --- few are slow: who waits for them? ---
count = 20000 if IS_LONG else 2000
addresses = [address(str(number).encode()) for number in range(count)]
provided = {f"/providers/{one}": keys.provided(one, 1, 1, "http://192.0.2.1/") for one in addresses}
# One in each hundred thirds, so that the share is the same at any time.
slow_ones = {f"/providers/{addresses[block + chance.randrange(33)]}" for block in range(0, count - 33, 33)}


def slow_rule(path):
    if path not in provided:
        return NOTHING
    return knows_providers(provided[path], delay=SLOW_S if path in slow_ones else 0.0)


def quick_rule(path):
    return knows_providers(provided[path]) if path in provided else NOTHING


def run_through(beta):
    """Seconds of each lookup, and how many questions the three first and the others got."""
    asked = [Fake(slow_rule) for _ in range(3)]
    others = [Fake(quick_rule) for _ in range(2)]
    node = Node(f"dht.beta={beta}", "index.workers=8", "providers.probe=false",
                "siblings.nodes=" + ",".join(fake.url for fake in asked + others))
    spent = at_once(4, lambda one: timed(lambda: node.get("/providers/" + one)), addresses)
    assert {answer.status for answer, _ in spent} == {200}, spent[0]
    numbers = (node.number("index_hedges_total"), node.number("index_hedges_denied_total"))
    same("it ends well", node.stop(), 0)
    for fake in asked + others:
        fake.close()
    return [seconds for _, seconds in spent], [len(fake.asked) for fake in asked], \
        sum(len(fake.asked) for fake in others), numbers


plain, plain_first, plain_others, _ = run_through(0)
late_plain = sum(seconds > 0.9 for seconds in plain)
for _ in range(3):  # a machine that stands still for a while makes lookups slow that were not to be
    hedged, hedged_first, hedged_others, (hedges, denied) = run_through(2)
    late_hedged = sum(seconds > 0.9 for seconds in hedged)
    if late_hedged < count / 100:
        break
p99_plain, p99_hedged = percentile(plain, 0.99), percentile(hedged, 0.99)
print(f"# {count} lookups, {len(slow_ones)} of them slow: p99 {p99_plain * 1000:.0f} ms without hedging, "
      f"{p99_hedged * 1000:.0f} ms with; {late_plain} and {late_hedged} took more than 900 ms; "
      f"{hedged_others} questions more, {denied:.0f} lookups over the budget")
true("without hedging all of the slow ones are waited for", late_plain >= len(slow_ones), late_plain)
same("and nobody else is asked", plain_others, 0)
true("with hedging fewer than one in a hundred are", late_hedged < count / 100, late_hedged)
true("p99 is at most a quarter", p99_hedged <= p99_plain / 4, (p99_plain, p99_hedged))
true("for at most 5 % more questions", hedged_others <= count * 5 / 100, (hedged_others, count))
true("and the node counts no fewer, and no more than that", hedged_others <= hedges <= count * 5 / 100,
     (hedged_others, hedges))
true("and the first ones got no more than before", all(few <= count for few in hedged_first), hedged_first)

proxy.close()
finish()
