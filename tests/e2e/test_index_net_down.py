#!/usr/bin/env python3
"""Every source is down: the answer comes within the budget all the same, and breakers come back."""
import json
import select
import signal
import socket

from index_net import IS_LONG, NEVER, NOTHING, Fake, Keys, Node, Reply, chance, knows_name
from storage_lib import address, finish, is_envelope, same, true, until

BUDGET_MS = 1200
LATE_MS = 50
keys = Keys()
LOGGED = ("log.requests=true", "log.format=json", "providers.probe=false")
asked = 0


def spent_ms(node, answer):
    """By the clock of the server, from the first byte of the request to the last of the answer."""
    def find():
        for line in node.log().splitlines():
            if answer["X-Corr-ID"] in line and '"duration_us"' in line:
                return json.loads(line)["duration_us"] / 1000
        return None
    return until(find, "the line of a request")


def ask_anew(node):
    """For something that nobody has asked for."""
    global asked
    asked += 1
    return node.get("/providers/" + address(f"new {asked}".encode()))


def state_of(node, target):
    numbers = node.metrics()
    return next(state for state in ("closed", "open", "half_open")
                if numbers[f'breaker_state{{state="{state}",target="{target}"}}'] == 1)


def within(node, answer):
    spent = spent_ms(node, answer)
    true(f"within {BUDGET_MS} ms and {LATE_MS}", spent <= BUDGET_MS + LATE_MS, spent)


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


# --- all hang ---
name = keys.name("team/site", 1)
target = "/resolve/" + name
record = keys.named("team/site", 1, 5)
is_up = True
fakes = [Fake(lambda path: (knows_name(record) if path == target else NOTHING) if is_up else NEVER)
         for _ in range(4)]
node = Node(*LOGGED, "cache.ttl=1s", "cache.prefetch=false", "breaker.calls_min=1000000",
            "siblings.nodes=" + ",".join(fake.url for fake in fakes))
answer = node.resolve(name)
true("all is well at first", answer.status == 200 and not answer.json["stale"], answer)
is_up = False
answer = ask_anew(node)
true("all hang, and 504 says so", answer.status == 504 and is_envelope(answer, "Timeout"), answer)
within(node, answer)
stale = until(lambda: (lambda got: got if got.json.get("stale") else None)(node.resolve(name)), "a stale answer")
same("what was known before is told, marked", (stale.status, stale.json["stale"], stale.json["record"]),
     (200, True, record))
true("in its head, too", stale["Warning"].startswith("110 ") and stale["Cache-Control"] == "no-cache", stale)
within(node, stale)
answer = node.resolve(name, X_Deadline_Ms="200")
spent = spent_ms(node, answer)
true("who has less time is told in less", answer.json["stale"] and spent <= 200 + LATE_MS, (spent, answer))
until(lambda: sum(len(fake.left) for fake in fakes) >= 8, "the end of questions")
true("who gave up has closed its connections", True)
is_up = True
answer = until(lambda: (lambda got: got if not got.json["stale"] else None)(node.resolve(name)), "a fresh answer")
true("and is fresh again when they are back", answer.status == 200 and answer["Warning"] == "", answer)
same("it ends well", node.stop(), 0)

# --- all are gone ---
node = Node(*LOGGED, "cache.ttl=1s", "cache.prefetch=false", "cache.serve_stale=false", "breaker.calls_min=1000000",
            f"siblings.nodes=http://127.0.0.1:{free_port()},http://127.0.0.1:{free_port()}")
answer = ask_anew(node)
true("all are gone, and 503 or 504 says so", answer.status in (503, 504) and is_envelope(answer), answer)
within(node, answer)
same("it ends well", node.stop(), 0)

# --- all fail ---
fails = True
broken = [Fake(lambda path: Reply(b"{}", 500) if fails else knows_name(record) if path == target else NOTHING)
          for _ in range(3)]
node = Node(*LOGGED, "cache.ttl=1s", "cache.prefetch=false", "breaker.calls_min=4", "breaker.cooldown_s=2",
            "breaker.half_open_probes=2", "dht.tries=1", "siblings.nodes=" + ",".join(fake.url for fake in broken))
targets = [f"sibling 127.0.0.1:{fake.port}" for fake in broken]
fails = False
same("a name is known", node.resolve(name).status, 200)
fails = True
codes = [ask_anew(node) for _ in range(8)]
true("errors of all are told as such", all(code.status in (500, 502, 503) for code in codes), codes[0])
same("all breakers are open", [state_of(node, one) for one in targets], ["open"] * 3)
before = [len(fake.asked) for fake in broken]
answer = ask_anew(node)
true("then it is told at once", answer.status == 503 and is_envelope(answer, "BreakerOpen"), answer)
same("and nobody is asked", [len(fake.asked) for fake in broken], before)
answer = until(lambda: (lambda got: got if got.json.get("stale") else None)(node.resolve(name)), "a stale answer")
same("what was known before is told, marked, without asking", (answer.status, answer.json["stale"]), (200, True))
ready = node.get("/readyz")
print(f"# readyz while all breakers are open: {ready.status} {ready.body.decode().strip()}")
until(lambda: state_of(node, targets[0]) == "half_open", "the end of the cooldown")
until(lambda: (ask_anew(node), state_of(node, targets[0]) == "open")[1], "probes that fail")
true("probes that fail open it again", True)
fails = False
until(lambda: ask_anew(node).status == 404, "an answer")
until(lambda: (ask_anew(node), [state_of(node, one) for one in targets] == ["closed"] * 3)[1], "closed breakers")
true("probes that succeed close all of them", True)
same("and the name is fresh again", (node.resolve(name).json["stale"]), False)
same("it ends well", node.stop(), 0)

# --- one is stopped, dies, comes back: its breaker never sticks ---
port = free_port()
sibling = Node(port=port)
quick = Fake(lambda path: NOTHING)
node = Node(*LOGGED, "breaker.calls_min=2", "breaker.cooldown_s=1", "breaker.error_window_s=5",
            "breaker.half_open_probes=2", "dht.deadline_ms=300", "dht.hedge_ms=50", "dht.tries=1",
            f"siblings.nodes=http://127.0.0.1:{port}")
target = f"sibling 127.0.0.1:{port}"


def until_state(wanted):
    """Somebody asks all the while: that is what moves a breaker."""
    until(lambda: (ask_anew(node), state_of(node, target) == wanted)[1], f"a breaker that is {wanted}")


until_state("closed")
sibling.kill(signal.SIGSTOP)
until_state("open")
true("a source that is stopped is left alone", True)
before = node.number("weir_breaker_probes_started_total", target=target)
until(lambda: (ask_anew(node), node.number("weir_breaker_probes_started_total", target=target) >= before + 3)[1],
      "probes of a source that is stopped")
true("probes that never come back are followed by others", True)
answer = ask_anew(node)
true("all the while its askers are told in time", answer.status in (503, 504) and spent_ms(node, answer) < 300 + LATE_MS,
     answer)
sibling.kill(signal.SIGCONT)
until_state("closed")
true("when it goes on its breaker closes", True)
same("and what it says is told", ask_anew(node).status, 404)
for turn in range(12 if IS_LONG else 3):
    way = chance.choice(("stop", "kill"))
    if way == "stop":
        sibling.kill(signal.SIGSTOP)
    else:
        sibling.process.kill()
        sibling.wait()
    for _ in range(chance.randrange(2, 12)):
        ask_anew(node)
    if chance.random() < 0.5:
        until_state("open")
    if way == "stop":
        sibling.kill(signal.SIGCONT)
    else:
        sibling = Node(port=port)
    until_state("closed")
    true(f"turn {turn}: closed after {way}", True)
same("nobody is left behind", node.number("index_attempts_left_behind"), 0)
same("it ends well", node.stop(), 0)

# --- a probe that always loses ---
node = Node(*LOGGED, "breaker.calls_min=2", "breaker.cooldown_s=1", "breaker.half_open_probes=1", "dht.tries=1",
            "dht.beta=0", "dht.quorum=1", f"siblings.nodes=http://127.0.0.1:{port},{quick.url}")
quick.rule = lambda path: Reply(b"{}", 500)
sibling.process.kill()
sibling.wait()
until_state("open")
sibling = Node(port=port)
sibling.kill(signal.SIGSTOP)
names = [keys.name(f"probe/{number}", 2) for number in range(64)]
known = {"/resolve/" + one: keys.named(f"probe/{number}", 2, 1) for number, one in enumerate(names)}
quick.rule = lambda path: knows_name(known[path]) if path in known else NOTHING
until(lambda: state_of(node, f"sibling 127.0.0.1:{quick.port}") == "half_open", "the end of a cooldown")
for one in names:
    node.get("/resolve/" + one)
probes = node.number("weir_breaker_probes_started_total", target=target)
sibling.kill(signal.SIGCONT)
until_state("closed")
print(f"# {probes:.0f} probes were begun while another one won")
true("a probe whose lookup others won is given back, and the breaker closes", True)
same("it ends well", node.stop(), 0)
sibling.stop()

# --- nodes that ask each other, and a source that is slower than they are ---
turning = keys.name("turning", 3)
shown = [keys.named("turning", 3, 1)]
slow = Fake(lambda path: Reply(knows_name(shown[0]).body, 200, 0.04) if path == "/resolve/" + turning else NOTHING)
ports = [free_port() for _ in range(3)]
nodes = [Node("cache.ttl=500ms", f"siblings.nodes={','.join([f'http://127.0.0.1:{other}' for other in ports if other != own])},{slow.url}",
              port=own) for own in ports]
for _ in range(20):
    sequences = {one.get("/resolve/" + turning).json.get("sequence") for one in nodes}
    select.select([], [], [], 0.05)
same("nodes that ask each other know the name", sequences, {1})
shown[0] = keys.named("turning", 3, 2)
until(lambda: {one.get("/resolve/" + turning).json.get("sequence") for one in nodes} == {2}, "the newer record", 10)
true("and do not keep each other's old answers alive", True)
for one in nodes:
    same("each ends well", one.stop(), 0)
finish()
