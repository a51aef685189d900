"""Measures resolving: from the cache, through the DHT, past slow sources, among many records, as planned."""
import asyncio
import atexit
import http.client
import http.server
import json
import os
import random
import statistics
import subprocess
import threading
import time

from lib import program, servers
from lib.folder import Failed, space_of
from lib.load import (Row, Wrk, call, figure_of, named, ours_of, ratio_of, ratios, run_rounds, say,
                      target)
from lib.report import print_table, rounds_text

NAMES = 1000
PROVIDERS = 3       # of each
DHT_NODES = 8
DHT_S_MAX = 120
SLOW_SOURCES = 6
SLOW_PERCENT = 3
SLOW_S = 1.0
HEDGED_TIMES = 4    # p99 without hedging / with it, at least
HEDGES_MAX = 0.05   # of the lookups
PLAN_RPS = 200
PLAN_HIT = 0.5
PLAN_DELAY_S = 0.02 # of the source, for each of the two questions of a lookup
PLAN_WARM = 20      # names that the cache has
PLAN_USED_MAX = 0.7 + 0.05


def weir_tool(build):
    return program.find_built(build, "bench", "index", "bench-index-fill")


def milliseconds(waits):
    """p50, p99 and the mean of what one client waited for, in seconds."""
    ordered = sorted(waits)
    return {"p50_ms": 1e3 * statistics.median(ordered),
            "p99_ms": 1e3 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
            "mean_ms": 1e3 * statistics.mean(ordered)}


class Client:
    """One connection, kept."""

    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def get(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def post(self, path, body):
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        return answer.status, answer.read()


class Bench:
    """Ends what it has started."""

    def __init__(self, weir, folder):
        self.weir = weir
        self.folder = folder
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.running:
            server.end()

    def add(self, server):
        atexit.register(server.end)    # nobody ends what a failed start leaves
        self.running.append(server)
        return server

    def index(self, name, *settings, processors=None):
        return self.add(servers.start_weir(self.weir, "index", self.folder, name, *settings,
                                           processors=processors))

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))
        return path


# ---- from the cache ----

class Cached(Bench):
    """Nodes with the same records, one of which wants a capability, and a server with one text."""

    def __init__(self, weir, nginx, build, folder, scenario, apart):
        super().__init__(weir, folder)
        self.wrk = Wrk(apart)
        on = self.wrk.servers_on
        for name in (f"{scenario}-plain", f"{scenario}-token"):
            filled = json.loads(call([weir_tool(build), "store",
                                      os.path.join(folder, f"{name}.data"), str(NAMES),
                                      str(NAMES * PROVIDERS)]))
        paths = [f"/resolve/bench/{i}@{filled['key']}" for i in range(NAMES)]
        self.paths = self.write(f"{scenario} paths", paths)
        long = "cache.ttl=1h"
        plain = self.index(f"{scenario}-plain", long, processors=on)
        asked = self.index(f"{scenario}-token", long, "tokens.required=always", processors=on)
        token = call([weir, "token", "mint", "--data",
                      os.path.join(folder, f"{scenario}-token.data"), "--scope", "read"]).strip()
        self.contenders = [("weir index", "weir", plain, ()),
                           ("weir index, with a capability", "variant", asked,
                            (f"Authorization: Bearer {token}",))]
        body = self.warm(plain, paths, None)
        self.warm(asked, paths, token)
        self.body_bytes = len(body)
        if nginx:
            text = body.decode("ascii").replace("\\", "\\\\").replace("'", "\\'").strip()
            constant = f"location / {{ default_type application/json; return 200 '{text}\\n'; }}"
            self.contenders.append(("nginx, a text", "peer", self.add(
                servers.start_nginx(nginx, folder, f"{scenario}-nginx", folder, constant, on)), ()))

    @staticmethod
    def warm(server, paths, token):
        """Each is asked for once, and has what was published; the last body."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for path in paths:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or len(json.loads(body)["providers"]) != PROVIDERS:
                raise Failed(f"a name was answered with {answer.status}")
        return body

    def measure(self, rounds, turns):
        rows = [Row(title, kind,
                    lambda server=server, headers=headers: self.wrk.run(server, self.paths, *headers))
                for title, kind, server, headers in self.contenders]
        return run_rounds("a name in the cache", rows, rounds, turns)


def cached_targets(rows, scenario):
    ours, nginx, token = ours_of(rows), named(rows, "nginx"), named(rows, "weir index, with")
    more = ", load apart" if scenario == "apart" else ""
    if nginx:
        yield target(f"cached resolve{more}: a second, weir / nginx", ratios(ours, nginx, "per_s"),
                     "at least", 1)
    yield {**target(f"cached resolve{more}: a capability, us", {
        key: statistics.median(token.samples["cpu_us"]) - statistics.median(ours.samples["cpu_us"])
        for key in ("median", "least", "greatest")}, "at most", float("inf")), "verdict": "stated"}


# ---- through the DHT ----

class Dht(Bench):
    """One client, one request after the other, each for a name that was not asked for before."""

    def __init__(self, weir, build, folder, count):
        super().__init__(weir, folder)
        self.count = count
        self.next = 0
        self.start_nodes()
        lines = call([weir_tool(build), "print", str(count * 40)]).splitlines()
        self.records = [line.split() for line in lines]
        self.node = self.index("dht", f"dht.proxies=http://127.0.0.1:{self.proxy}", "dht.publish=false",
                               "cache.ttl=1ms", "cache.serve_stale=false")

    def start_nodes(self):
        first = servers.free_port()
        self.proxy = servers.free_port()
        for i in range(DHT_NODES):
            port = first if i == 0 else servers.free_port()
            command = ["dhtnode", "-s", "-p", str(port)]
            command += ["-b", f"127.0.0.1:{first}"] if i else []
            command += ["--proxyserver", str(self.proxy)] if i == 1 else []
            self.add(Quiet(command, os.path.join(self.folder, f"node{i}.log")))
        self.wait()

    def wait(self):
        """Until the proxy has put something, which it cannot alone, and finds it."""
        end = time.monotonic() + DHT_S_MAX
        while time.monotonic() < end:
            try:
                client, key = Client(self.proxy), "/key/" + "1" * 40
                status, _ = client.post(key, json.dumps({"data": "dGhlcmU="}))
                if status == 200 and client.get(key)[1].strip():
                    return
            except (OSError, ValueError, http.client.HTTPException):
                pass
            time.sleep(0.2)
        raise Failed("the nodes of the DHT did not find each other")

    def publish(self):
        """The next names, into the DHT alone."""
        chosen = self.records[self.next:self.next + self.count]
        self.next += self.count
        if len(chosen) < self.count:
            raise Failed("there are not enough names for so many rounds")
        client = Client(self.proxy)
        for _, key, text in chosen:
            data = text.replace("-", "+").replace("_", "/")
            data += "=" * (-len(data) % 4)
            client.post(f"/key/{key}", json.dumps({"data": data}))
        return chosen

    def ask(self, port, path_of, is_good):
        client, waits = Client(port), []
        for record in self.publish():
            begin = time.monotonic()
            status, body = client.get(path_of(record))
            waits.append(time.monotonic() - begin)
            if status != 200 or not is_good(record, body):
                raise Failed(f"a name of the DHT was answered with {status}")
        return milliseconds(waits)

    def measure(self, rounds):
        def is_named(record, body):
            return json.loads(body)["name"] == record[0]
        rows = [Row("weir index", "weir", lambda: self.ask(
                    self.node.port, lambda record: f"/resolve/{record[0]}", is_named)),
                Row("the proxy itself", "peer", lambda: self.ask(
                    self.proxy, lambda record: f"/key/{record[1]}", lambda _, body: b"data" in body))]
        return run_rounds("through the DHT", rows, rounds)


class Quiet:
    """A program that nobody asks by TCP until it is there."""

    def __init__(self, command, said):
        with open(said, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output, start_new_session=True)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


# ---- slow sources ----

class SlowSibling:
    """A node of the index that now and then takes a second. It says what a real one said."""

    def __init__(self, answers, seed):
        chance, lock = random.Random(seed), threading.Lock()
        asked = [0]

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):    # noqa: N802
                with lock:
                    asked[0] += 1
                    is_slow = chance.randrange(100) < SLOW_PERCENT
                if is_slow:
                    time.sleep(SLOW_S)
                body = answers.get(self.path.partition("?")[0], b"")
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass    # it was canceled

            def log_message(self, *_):
                pass

        class Quietly(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.asked = asked
        self.server = Quietly(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Hedge(Bench):
    def __init__(self, weir, build, folder, count):
        super().__init__(weir, folder)
        self.count = count
        filled = json.loads(call([weir_tool(build), "store", os.path.join(folder, "origin.data"),
                                  str(count), str(count)]))
        self.paths = [f"/resolve/bench/{i}@{filled['key']}" for i in range(count)]
        origin = self.index("origin")
        client = Client(origin.port)
        answers = {path: client.get(path)[1] for path in self.paths}
        self.sources = [self.add(SlowSibling(answers, seed)) for seed in range(SLOW_SOURCES)]
        nodes = "siblings.nodes=" + ",".join(f"http://127.0.0.1:{s.port}" for s in self.sources)
        common = (nodes, "dht.alpha=1", "cache.ttl=1ms", "cache.serve_stale=false",
                  "cache.prefetch=false", "providers.probe=false")
        self.nodes = {"weir index, hedging": self.index("hedged", *common),
                      "without": self.index("plain", *common, "dht.beta=0")}

    def run(self, name):
        client, waits = Client(self.nodes[name].port), []
        before = sum(source.asked[0] for source in self.sources)
        for path in self.paths:
            begin = time.monotonic()
            status, _ = client.get(path)
            waits.append(time.monotonic() - begin)
            if status != 200:
                raise Failed(f"a name was answered with {status}")
        asked = sum(source.asked[0] for source in self.sources) - before
        return {**milliseconds(waits), "extra": (asked - self.count) / self.count}

    def measure(self, rounds):
        rows = [Row(name, kind, lambda name=name: self.run(name))
                for name, kind in zip(self.nodes, ("weir", "variant"))]
        return run_rounds("slow sources", rows, rounds)


def hedge_targets(rows):
    hedged, plain = rows
    yield target("hedging: p99 without / with it", ratios(plain, hedged, "p99_ms"), "at least",
                 HEDGED_TIMES)
    extra = hedged.samples["extra"]
    yield target("hedging: lookups more, of all", {"median": statistics.median(extra),
                                                   "least": min(extra), "greatest": max(extra)},
                 "at most", HEDGES_MAX)


def print_waits(title, about, rows, rounds):
    ours = ours_of(rows)
    print(f"\n### {title}\n\n{about} {rounds_text(rounds)}.\n")
    has_extra = "extra" in ours.samples
    print_table(["", "p50, ms", "/ weir", "p99, ms", "/ weir", "mean, ms"]
                + (["asked more, of all"] if has_extra else []),
                [[row.name, figure_of(row, "p50_ms", 2), ratio_of(row, ours, "p50_ms"),
                  figure_of(row, "p99_ms", 2), ratio_of(row, ours, "p99_ms"),
                  figure_of(row, "mean_ms", 2)]
                 + ([figure_of(row, "extra", 3)] if has_extra else []) for row in rows],
                [False] + [True] * (6 if has_extra else 5))


# ---- many records ----

class Many(Bench):
    def __init__(self, weir, build, folder, names, providers):
        super().__init__(weir, folder)
        self.names = names
        if space_of(folder)[0] < (names + providers) * 2000 + (1 << 30):
            raise Failed(f"needs {(names + providers) * 2000 / 1e9 + 1:.0f} GB in '{folder}'")
        data = os.path.join(folder, "many.data")
        say(f"{names:,} names, {providers:,} providers: filling")
        filled = json.loads(call([weir_tool(build), "store", data, str(names), str(providers)]))
        begin = time.monotonic()
        self.node = self.index("many", "cache.ttl=1ms", "providers.probe=false")
        self.key = filled["key"]
        size = sum(os.path.getsize(os.path.join(place, name))
                   for place, _, found in os.walk(data) for name in found)
        self.facts = {"fill_s": filled["fill_s"], "start_s": time.monotonic() - begin,
                      "disk_mb": size / 1e6}

    def run(self):
        client, waits, chance = Client(self.node.port), [], random.Random(1)
        for _ in range(2000):
            begin = time.monotonic()
            status, _ = client.get(f"/resolve/bench/{chance.randrange(self.names)}@{self.key}")
            waits.append(time.monotonic() - begin)
            if status != 200:
                raise Failed(f"a name was answered with {status}")
        with open(f"/proc/{self.node.pids()[-1]}/smaps_rollup", encoding="ascii") as file:
            sizes = dict(line.split()[:2] for line in file if line.endswith("kB\n"))
        return {**milliseconds(waits), "anon_mb": int(sizes["Anonymous:"]) / 1e3,
                "rss_mb": int(sizes["Rss:"]) / 1e3}

    def measure(self, rounds):
        return run_rounds("many records", [Row("weir index", "weir", self.run)], rounds)


def print_many(counts, facts, rows, rounds):
    print(f"\n### many: {counts[0]:,} names and {counts[1]:,} providers\n\nFilled through the node's own "
          f"line, every one of them durable: {facts['fill_s']:.1f} s, {facts['disk_mb']:.0f} MB on the "
          f"disk. The start took {facts['start_s']:.2f} s. Then 2,000 names at random, from the records "
          f"and not the cache, one after the other. {rounds_text(rounds)}.\n")
    row = rows[0]
    print_table(["p50, ms", "p99, ms", "MB of its own", "MB with pages of files"],
                [[figure_of(row, "p50_ms", 3), figure_of(row, "p99_ms", 3),
                  figure_of(row, "anon_mb", 1), figure_of(row, "rss_mb", 1)]], [True] * 4)


# ---- as planned ----

class SteadySibling:
    """A node of the index that takes the same time for every answer."""

    def __init__(self, answers):
        self.answers = answers
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.accept, "127.0.0.1", 0, backlog=1024))
        self.port = self.server.sockets[0].getsockname()[1]
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def accept(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(PLAN_DELAY_S)
                body = self.answers.get(head.split(b" ", 2)[1].decode())
                writer.write(b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%b"
                             % (200 if body else 404, len(body or b""), body or b""))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


async def ask_once(port, path):
    """(status, seconds)"""
    begin = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    said = await reader.read()
    writer.close()
    return int(said.split(None, 2)[1]), time.monotonic() - begin


async def offer(port, paths, per_s):
    """Each at its time, whatever becomes of those before it."""
    begin, tasks = time.monotonic(), []
    for number, path in enumerate(paths):
        await asyncio.sleep(max(0, begin + number / per_s - time.monotonic()))
        tasks.append(asyncio.create_task(ask_once(port, path)))
    return await asyncio.gather(*tasks)


class Plan(Bench):
    """What 'weir index plan' says of a load, and the load."""

    def __init__(self, weir, build, folder, seconds):
        super().__init__(weir, folder)
        self.count = 0
        misses = int(PLAN_RPS * seconds * (1 - PLAN_HIT))
        lines = call([weir_tool(build), "print", str(PLAN_WARM + misses)]).splitlines()
        names = [line.split() for line in lines]
        answers = {f"/resolve/{name}": json.dumps({"record": text, "providers": []}).encode()
                   for name, _, text in names}
        self.source = self.add(SteadySibling(answers))
        self.warm, self.cold = list(answers)[:PLAN_WARM], list(answers)[PLAN_WARM:]
        self.calibrate()
        self.plan = json.loads(call([
            weir, "index", "plan", "--json", "--rps", str(PLAN_RPS), "--hit", str(PLAN_HIT),
            "--service-ms", f"{self.service_ms:.3f}", "--dht-ms", f"{self.lookup_ms:.3f}"]))

    def node(self, workers, queue):
        self.count += 1
        return self.index(f"plan{self.count}", f"siblings.nodes=http://127.0.0.1:{self.source.port}",
                          "cache.ttl=1h", "providers.probe=false", "server.connection_limit_per_ip=10000",
                          f"index.workers={workers}", f"queues.work={queue}",
                          f"index.resolve_max={max(768, workers + queue)}",
                          f"server.max_inflight={max(1024, workers + queue)}")

    @staticmethod
    def numbers(node):
        """Seconds and count of lookups, and of requests."""
        _, body = Client(node.port).get("/metrics")
        found = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if line[:1] != "#")
        return [float(found[name]) for name in (
            "index_dht_lookup_seconds_sum", "index_dht_lookup_seconds_count",
            'request_duration_seconds_sum{route="resolve"}',
            'request_duration_seconds_count{route="resolve"}')]

    def calibrate(self):
        """S of what the cache has, D of what the source has, one client at a time."""
        node = self.node(8, 512)
        client = Client(node.port)
        for path in self.warm:
            client.get(path)
        seconds, count, before_s, before = self.numbers(node)
        self.lookup_ms = 1e3 * seconds / count
        for path in self.warm * 10:
            client.get(path)
        _, _, after_s, after = self.numbers(node)
        self.service_ms = 1e3 * (after_s - before_s) / (after - before)
        node.end()

    def run(self, workers, queue):
        node = self.node(workers, queue)
        client = Client(node.port)
        for path in self.warm:
            client.get(path)
        paths = [path for pair in zip(self.cold, self.warm * len(self.cold)) for path in pair]
        before, begin = self.numbers(node)[0], time.monotonic()
        answers = asyncio.run(offer(node.port, paths, PLAN_RPS))
        wall = time.monotonic() - begin
        used = (self.numbers(node)[0] - before) / (wall * workers)
        node.end()
        statuses = [status for status, _ in answers]
        return {**milliseconds([seconds for _, seconds in answers]), "workers": workers, "used": used,
                "answered": statuses.count(200) / len(statuses), "busy": statuses.count(429) / len(statuses),
                "per_s": len(statuses) / wall}

    def measure(self, rounds):
        few = max(1, self.plan["workers"] // 4)
        rows = [Row("as planned", "weir", lambda: self.run(self.plan["workers"], self.plan["queue"])),
                Row("a quarter of the workers, a line of 16", "variant", lambda: self.run(few, 16))]
        return run_rounds("as planned", rows, rounds)


def plan_targets(rows):
    planned, few = rows
    for text, row, figure, bound, limit in (
            ("plan: time of the workers that lookups take", planned, "used", "at most", PLAN_USED_MAX),
            ("plan: refused", planned, "busy", "at most", 0),
            ("plan: refused with a quarter of the workers", few, "busy", "at least", 0.01)):
        values = row.samples[figure]
        yield target(text, {"median": statistics.median(values), "least": min(values),
                            "greatest": max(values)}, bound, limit)


def print_plan(bench, rows, rounds):
    plan = bench.plan
    print(f"\n### plan: a node that is as large as 'weir index plan' says\n\nA source that takes "
          f"{PLAN_DELAY_S * 1e3:.0f} ms for each question, two of which are a lookup: S = "
          f"{bench.service_ms:.2f} ms and D = {bench.lookup_ms:.1f} ms were measured with one client. For "
          f"{PLAN_RPS} requests a second, of which the cache answers {PLAN_HIT:.0%}, that is "
          f"{plan['workers']} workers and a line of {plan['queue']}, and {plan['utilisation']:.0%} of the "
          f"workers' time. The requests come at their times, whatever becomes of those before. "
          f"{rounds_text(rounds)}.\n")
    print_table(["", "workers", "of their time in lookups", "a second", "answered", "Busy", "p50, ms", "p99, ms"],
                [[row.name, figure_of(row, "workers", 0), figure_of(row, "used", 2), figure_of(row, "per_s", 0),
                  figure_of(row, "answered", 3), figure_of(row, "busy", 3), figure_of(row, "p50_ms", 1),
                  figure_of(row, "p99_ms", 1)] for row in rows], [False] + [True] * 7)
