"""Measures what becomes of requests when there are four times as many connections as saturate the
service. The load is tests/tools/crowd.c."""
import json
import os
import re
import signal
import statistics
import subprocess
import time

from lib import servers
from lib.folder import Failed
from lib.load import say
from measure import store

OBJECTS = 64
BYTES = 1 << 20
RANGE = 1 << 10     # of each are asked for, and all of it is hashed: work for the service alone
PUT_BYTES = 64 << 10
PUT_PERCENT = 10
STEPS = (1, 2, 4, 8, 16, 32, 64)
ENOUGH = 0.95       # of the greatest pace: with so many connections it is saturated
TIMES = 4
WAYS = {"at once": 0, "when told to": 1000}     # when who was refused asks again, ms
BAD = ("wrong", "rude", "reset", "cut", "unanswered", "failed_connects")


class Overload:
    def __init__(self, weir, crowd, folder, seconds):
        self.crowd = crowd
        self.folder = folder
        self.seconds = seconds
        self.seed = 0
        self.config = os.path.join(folder, "overload.toml")
        self.write_config(1024)
        # Every read is hashed by the pool, so that reads, too, need more than a loop.
        self.server = servers.start_weir(weir, "storage", folder, "overload", "storage.verify=always",
                                         config=self.config)
        self.objects = self.write("objects", [self.store() for _ in range(OBJECTS)])
        self.health = self.write("health", ["/healthz", "/readyz"])

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in lines))
        return path

    def write_config(self, room):
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f"[server]\nmax_inflight = {room}\nconnection_limit_per_ip = 4096\n")

    def store(self):
        return store(self.server, "POST", "/o", os.urandom(BYTES))

    def limit(self, room):
        """From now on so many requests at once."""
        self.write_config(room)
        before = os.path.getsize(self.server.said)
        self.server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + servers.START_S_MAX
        while time.monotonic() < end:
            with open(self.server.said, encoding="utf-8", errors="replace") as file:
                file.seek(before)
                if "reloaded" in file.read():
                    return
            time.sleep(0.02)
        raise Failed("the service does not take another limit")

    def start(self, connections, seconds, paths, *words):
        return subprocess.Popen([self.crowd, str(self.server.port), str(connections), str(seconds),
                                 paths, *words], stdout=subprocess.PIPE, text=True)

    def end_of(self, process):
        said, _ = process.communicate()
        if process.returncode != 0:
            raise Failed("the load could not run")
        return json.loads(said)

    def load(self, connections, seconds, pause=0):
        """GET and PUT by so many clients; who is refused pauses for so many milliseconds."""
        self.seed += 1
        return self.end_of(self.start(connections, seconds, self.objects, f"put={PUT_PERCENT}",
                                      f"size={PUT_BYTES}", f"range={RANGE}", f"pause={pause}",
                                      f"seed={self.seed}"))

    def one_alone(self):
        return self.end_of(self.start(1, 1, self.objects, "think=2", f"range={RANGE}"))

    def memory_mb(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read()).group(1)) * 1024 / 1e6

    def saturate(self):
        """The pace with each number of connections, and the least number that is enough."""
        paces = {}
        for count in STEPS:
            say(f"overload: {count} connections")
            paces[count] = statistics.median(self.load(count, 1)["per_s"] for _ in range(3))
        most = max(paces.values())
        return paces, next(count for count in STEPS if paces[count] >= ENOUGH * most)

    def calm(self, room):
        """With as many as there is room for. The pace, p99, and what a good one has cost."""
        cpu = self.server.cpu_ns()
        found = self.load(room, self.seconds)
        return found["per_s"], found["p99_ms"], (self.server.cpu_ns() - cpu) / 1e3 / found["good"]

    def one_round(self, room, way):
        """The peak, the crowd and what stands beside it, the peak again; both peaks count."""
        before = self.one_alone()
        first = self.calm(room)
        memory = self.memory_mb()
        cpu = self.server.cpu_ns()
        probe = self.start(2, self.seconds, self.health, "think=10")
        crowded = self.load(TIMES * room, self.seconds, WAYS[way])
        health = self.end_of(probe)
        cpu = self.server.cpu_ns() - cpu
        after = self.one_alone()
        grown = self.memory_mb() - memory
        peak, p99, cost = [(a + b) / 2 for a, b in zip(first, self.calm(room))]
        bad = {name: crowded[name] for name in BAD if crowded[name]}
        if bad or any(health[name] for name in BAD) or health["refused"]:
            raise Failed(f"there were other answers than 2xx and 429: {bad} {health}")
        return {"peak_per_s": peak, "crowd_per_s": crowded["per_s"],
                "ratio": crowded["per_s"] / peak, "peak_us": cost,
                "crowd_us": cpu / 1e3 / crowded["good"], "peak_p99_ms": p99,
                "p99_ms": crowded["p99_ms"], "max_ms": crowded["max_ms"],
                "refused_per_s": crowded["refused"] / self.seconds,
                "memory_mb": memory, "grown_mb": grown,
                "health_p99_ms": health["p99_ms"], "health_max_ms": health["max_ms"],
                "before_ms": before["p99_ms"], "after_ms": after["p99_ms"]}

    def measure(self, rounds):
        """(paces, room, {way: {figure: samples}})"""
        self.load(16, 1)
        paces, room = self.saturate()
        self.limit(room)
        found = {way: {} for way in WAYS}
        for number in range(rounds):
            for way in WAYS:
                say(f"overload, round {number + 1} of {rounds}: who was refused comes back {way}")
                for name, value in self.one_round(room, way).items():
                    found[way].setdefault(name, []).append(value)
        say("")
        return paces, room, found

    def end(self):
        self.server.end()
