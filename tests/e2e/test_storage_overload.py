#!/usr/bin/env python3
"""Four times as many connections as the storage has room for requests: who is let in is served at
the pace as ever, whoever is not is told 429 and when to come back, nothing else happens to anybody,
memory stays what it was, and health answers throughout. Prints TAP, and figures that are no test.

Paces are compared within one run, and with a bound that a machine which does other things beside
cannot miss; script/bench storage overload is where they are measured.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from storage_lib import (MIB, Storage, finish, make_file, path, same, started, true, until)  # noqa: E402

CROWD = os.environ["CROWD"]
SANITIZED = os.environ.get("SANITIZED", "none") != "none"
LONG = bool(os.environ.get("WEIR_LONG"))
SECONDS = 60 if LONG else 2 if SANITIZED else 5
ROOM = 16       # requests at once
TIMES = 4
SIZE = 64 << 10
RESTS = 5       # that who asks again at once has in a second
FREE = 16       # that a loop tells without one
LEAST = 0.1     # of the pace without the crowd; 0.9 is to be held, but not on a machine that others use

storage = Storage("--set", f"server.max_inflight={ROOM}", "--set", "storage.verify=always", "--set", "queues.work=64",
                  data=path("data"))
paths = [storage.ask("POST", "/o", os.urandom(MIB))["Location"] for _ in range(32)]
objects = make_file("objects", "".join(line + "\n" for line in paths))
health = make_file("health", "/healthz\n/readyz\n")


def crowd(connections, seconds, names, *words):
    process = subprocess.Popen([CROWD, str(storage.port), str(connections), str(seconds), names, *words],
                               stdout=subprocess.PIPE, text=True)
    started.append(process)
    return process


def said(process):
    out, _ = process.communicate(timeout=SECONDS + 120)
    assert process.returncode == 0, process.args
    return json.loads(out)


def load(connections, seconds, *words):
    """Each GET is of little, of which all is hashed: work for the service, not for the crowd."""
    return said(crowd(connections, seconds, objects, "put=10", f"size={SIZE}", "range=1024", *words))


def is_answered(figures):
    """Each with 2xx or a 429 that says when to come back; nobody was cut off or left alone."""
    return {name: figures[name] for name in ("wrong", "rude", "reset", "cut", "unanswered", "failed_connects")} == \
        dict.fromkeys(("wrong", "rude", "reset", "cut", "unanswered", "failed_connects"), 0)


def show(what, figures):
    print(f"# {what}: {figures['per_s']:.0f} a second, p50 {figures['p50_ms']:.1f} ms, p99 {figures['p99_ms']:.1f} ms, "
          f"longest {figures['max_ms']:.1f} ms; {figures['refused']} refused")


load(ROOM, 1, "seed=1")  # warms up
alone = said(crowd(1, 1, objects, "think=5", "range=1024"))
peak = load(ROOM, max(2, SECONDS // 3), "seed=2")
show("as many as there is room for", peak)
true("without a crowd nobody is refused", is_answered(peak) and peak["refused"] == 0, peak)
memory = storage.memory()

for seed, (what, pause) in enumerate((("who comes back when told", 1000), ("who asks again at once", 0)), 3):
    before = sum(value for name, value in storage.metrics().items() if name.startswith("busy_rejections_total"))
    probe = crowd(2, SECONDS, health, "think=10")
    crowded = load(TIMES * ROOM, SECONDS, f"pause={pause}", f"seed={seed}")
    well = said(probe)
    show(f"{TIMES} times as many, {what}", crowded)
    print(f"# goodput {crowded['per_s'] / peak['per_s']:.2f} of that without a crowd; memory "
          f"{(storage.memory() - memory) / MIB:+.1f} MiB; health {well['good']} times, longest {well['max_ms']:.1f} ms")
    true(f"{what}: each is served, or told", is_answered(crowded), crowded)
    true(f"{what}: some are refused", crowded["refused"] > 0, crowded)
    # So that refusing does not keep the service from serving.
    most = (SECONDS + 2) * RESTS * (TIMES * ROOM + FREE * os.cpu_count())
    true(f"{what}: not more often than {RESTS} times a second each", crowded["refused"] <= most, (crowded, most))
    counted = sum(value for name, value in storage.metrics().items() if name.startswith("busy_rejections_total")) - before
    same(f"{what}: and counted, each once", counted, crowded["refused"])
    true(f"{what}: the others go on", crowded["per_s"] >= LEAST * peak["per_s"] or SANITIZED, (crowded, peak))
    true(f"{what}: health answers, and says well", is_answered(well) and well["refused"] == 0 and well["good"] > SECONDS, well)
    true(f"{what}: memory stays", SANITIZED or storage.memory() - memory < 32 * MIB, (memory, storage.memory()))

until(lambda: storage.metrics()["http_connections"] == 1, "the end of the crowd")
after = said(crowd(1, 1, objects, "think=5", "range=1024"))
print(f"# one client: p50 {alone['p50_ms']:.2f} ms and p99 {alone['p99_ms']:.2f} ms before, "
      f"{after['p50_ms']:.2f} and {after['p99_ms']:.2f} within the second after")
true("afterwards everybody is served", is_answered(after) and after["refused"] == 0 and after["good"] > 0, after)
numbers = storage.metrics()
same("no line has anybody in it", [value for name, value in numbers.items() if name.startswith("queue_depth")],
     [0.0] * sum(name.startswith("queue_depth") for name in numbers))
same("nothing went wrong inside", numbers['http_responses_total{class="5xx"}'], 0)
same("the end", storage.stop(), 0)
finish()
