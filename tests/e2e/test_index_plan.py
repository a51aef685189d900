#!/usr/bin/env python3
"""weir index plan, and a node that is set up as it says: what it prints is the formula, is a configuration, and
lets a burst in as large as it was asked for. How busy such a node is under load is measured by
bench/index/run, scenario plan. Prints TAP.
"""
import asyncio
import json
import math
import resource
import sys

sys.dont_write_bytecode = True
from index_net import NOTHING, Fake  # noqa: E402
from index_service import Index, Keys  # noqa: E402
from storage_lib import HANG_S, WEIR, finish, make_file, run, same, true, until, weir  # noqa: E402

BURST = 1040  # above what is let in by default: index.resolve_max, server.max_inflight
ADDRESSES = 2
keys = Keys()


def planned(**options):
    words = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]
    return json.loads(weir("index", "plan", "--json", *words))


# --- the formula ---
def formula(rps, hit, service_ms, dht_ms):
    busy = rps * (hit * service_ms + (1 - hit) * (service_ms + dht_ms)) / 1000
    return busy, max(2, math.ceil(round(busy / 0.7, 6)))


wrong = []
for rps in (1, 50, 700, 2000):
    for hit in (0, 0.5, 0.9, 1):
        for service_ms, dht_ms in ((5, 40), (0.2, 3), (12, 0)):
            plan = planned(rps=rps, hit=hit, service_ms=service_ms, dht_ms=dht_ms)
            busy, workers = formula(rps, hit, service_ms, dht_ms)
            if abs(plan["busy"] - busy) > 1e-3 or plan["workers"] != workers or \
                    (workers > 2 and plan["utilisation"] > 0.7 + 1e-6) or plan["at_once"] != workers + plan["queue"]:
                wrong.append((rps, hit, service_ms, dht_ms, plan, workers))
same("workers keep the load at 70 % of them", wrong, [])
same("the line has room for a burst and its hedges, and for 512", [planned(rps=1, burst=b)["queue"] for b in
                                                                    (0, 487, 488, 1000)], [512, 512, 513, 1050])

# --- it is a configuration ---
for rps in (10, 1000, 10 ** 7):
    file = make_file("planned.toml", weir("index", "plan", "--rps", rps))
    status, out, err = run(WEIR, "config", "check", "--service", "index", file)
    same(f"what is planned for {rps} a second can be had, and no limit is in its way", (status, err), (0, ""))
status, _, err = run(WEIR, "index", "plan", "--rps", 10 ** 7)
true("what is too much for one node is told", status == 0 and "share the load out" in err, err)


# --- a burst ---
class Gate(Fake):
    """Answers nobody until it is opened."""

    def __init__(self):
        self.came, self.opened = 0, asyncio.Event()
        super().__init__(lambda path: NOTHING)

    async def answer(self, head, reader, writer):
        self.came += 1
        await self.opened.wait()
        await super().answer(head, reader, writer)

    def open(self):
        self.loop.call_soon_threadsafe(self.opened.set)


class Crowd:
    """Clients at some addresses, none of which may fill the line alone. They ask at once, each for another name."""

    def __init__(self, index, count):
        self.index, self.key = index, keys.id(1)
        self.statuses = []
        self.loop = asyncio.new_event_loop()
        self.tasks = [self.loop.create_task(self.ask(number)) for number in range(count)]

    async def ask(self, number):
        address = f"127.0.0.{2 + number % ADDRESSES}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.index.port, local_addr=(address, 0))
        writer.write(f"GET /resolve/n{number}@{self.key} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        self.statuses.append(int((await reader.read()).split()[1]))
        writer.close()

    def run_until(self, question, what):
        """Lets them go on until it is so."""
        async def wait():
            end = self.loop.time() + HANG_S
            while not await self.loop.run_in_executor(None, question):
                if self.loop.time() > end:
                    raise TimeoutError(f"waited for {what} in vain")
                await asyncio.sleep(0.02)
        self.loop.run_until_complete(wait())

    def end(self):
        self.loop.run_until_complete(asyncio.wait_for(asyncio.gather(*self.tasks), HANG_S))
        self.loop.close()
        return self.statuses


def come_to(file, workers, *settings):
    """A burst comes to a node with this configuration: how many are refused."""
    gate = Gate()
    index = Index(f"siblings.nodes={gate.url}", "dht.deadline_ms=60000", "dht.tries=1", "breaker.calls_min=100000",
                  "server.connection_limit_per_ip=100000", *settings, words=["--config", file])
    crowd = Crowd(index, BURST)

    def numbers():
        found = index.metrics()
        return (found['weir_budget_in_use{budget="resolve"}'],
                sum(value for key, value in found.items() if key.startswith("busy_rejections_total")))

    crowd.run_until(lambda: sum(numbers()) == BURST, "the burst")
    let_in, refused = numbers()
    at_once = ADDRESSES * workers
    crowd.run_until(lambda: gate.came >= at_once, "that every resolver asks the source")
    same("each address has as many lookups at once as there are workers", gate.came, at_once)
    gate.open()
    statuses = crowd.end()
    same("who is let in is answered, who is not is told Busy", (statuses.count(404), statuses.count(429)),
         (let_in, refused))
    index.stop()
    gate.close()
    return refused


limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
load = {"rps": 300, "hit": 0, "dht_ms": 100, "burst": BURST}
text = weir("index", "plan", *[word for name, value in load.items() for word in ("--" + name.replace("_", "-"), value)])
refused = come_to(make_file("planned.toml", text), planned(**load)["workers"])
same("a node that is set up as planned refuses none of a burst", refused, 0)
refused = come_to(make_file("planned.toml", ""), 2, "index.workers=2", "queues.work=100")
true("one with a line that is too short refuses most", refused >= BURST - 2 * ADDRESSES - 100, refused)
finish()
