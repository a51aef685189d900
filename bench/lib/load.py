"""Requests to servers: load by wrk or by a program of ours, in rounds, and tables of what came of it."""
import json
import os
import statistics
import subprocess
import sys
import time

from lib import servers
from lib.folder import Failed
from lib.report import format_spread, print_table, rounds_text, spread
from lib.timing import busy_seconds

HERE = os.path.dirname(os.path.realpath(__file__))
CONNECTIONS = 32


def say(text):
    if sys.stderr.isatty():
        print(f"\r{text[:78]:78}", end="" if text else "\r", file=sys.stderr, flush=True)


def call(command, **options):
    """What it printed."""
    answer = subprocess.run(command, text=True, check=False, stdin=subprocess.DEVNULL,
                            capture_output=True, **options)
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).strip().splitlines()
        raise Failed(said[-1] if said else f"'{command[0]}' failed")
    return answer.stdout


class Row:
    def __init__(self, name, kind, run):
        self.name = name
        self.kind = kind    # weir, variant, peer, or limit
        self.run = run      # () -> sample
        self.samples = {}

    def add(self, sample):
        for key, value in sample.items():
            self.samples.setdefault(key, []).append(value)


def run_once(row):
    busy, begin = busy_seconds(), time.monotonic()
    sample = row.run()
    wall = time.monotonic() - begin
    sample["busy_share"] = (busy_seconds() - busy) / (wall * len(os.sched_getaffinity(0)))
    return sample


def run_rounds(title, rows, rounds, turns=1):
    """All of them in each round, in an order that rotates. A round may have several short turns,
    of whose figures it keeps the means: what others do then falls on all contenders alike."""
    for number in range(rounds):
        samples = {row: [] for row in rows}
        for turn in range(turns):
            first = (number * turns + turn) % len(rows)
            for row in rows[first:] + rows[:first]:
                say(f"{title}, round {number + 1} of {rounds}: {row.name}")
                samples[row].append(run_once(row))
        for row in rows:
            row.add({key: statistics.mean(sample[key] for sample in samples[row])
                     for key in samples[row][0]})
    say("")
    return rows


def halves():
    """Processors for the load, and for the servers."""
    all_of_them = sorted(os.sched_getaffinity(0))
    if len(all_of_them) < 2:
        raise Failed("there is one processor: the load cannot have one of its own")
    return all_of_them[:len(all_of_them) // 2], all_of_them[len(all_of_them) // 2:]


class Wrk:
    """The load. Apart: on one half of the processors, and each server on the other."""

    def __init__(self, apart=False):
        load, self.servers_on = halves() if apart else (None, None)
        self.command = ["taskset", "-c", servers.listed(load), "wrk", f"-t{len(load)}"] if apart \
            else ["wrk", "-t2"]

    def run(self, server, paths, *headers):
        """Asks for one second for the paths of a file in turn. headers: "Name: value"."""
        before = server.cpu_ns()
        said = call([*self.command, f"-c{CONNECTIONS}", "-d1s", "-s", os.path.join(HERE, "get.lua"),
                     *[word for header in headers for word in ("-H", header)],
                     f"http://127.0.0.1:{server.port}", "--", paths])
        cpu = server.cpu_ns() - before
        sample = json.loads(said.strip().splitlines()[-1])
        if sample["errors"]:
            raise Failed(f"{sample['errors']} requests failed")
        return {"cpu_us": cpu / 1e3 / sample["requests"],
                "per_s": sample["requests"] / sample["seconds"], "p50_ms": sample["p50_ms"],
                "p99_ms": sample["p99_ms"]}


# ---- tables ----

def ours_of(rows):
    return next(row for row in rows if row.kind == "weir")


def named(rows, name):
    return next((row for row in rows if row.name.startswith(name)), None)


def ratios(above, below, figure):
    pairs = zip(above.samples[figure], below.samples[figure])
    return spread([a / b for a, b in pairs])


def figure_of(row, figure, decimals, factor=1):
    if figure not in row.samples:
        return ""
    return format_spread(spread([value * factor for value in row.samples[figure]]), decimals)


def ratio_of(row, ours, figure):
    if row is ours:
        return "1"
    return format_spread(ratios(row, ours, figure), 2) if figure in row.samples else ""


def print_requests(title, about, rows, rounds):
    ours = ours_of(rows)
    print(f"\n### {title}\n\n{about} {rounds_text(rounds)}; / weir is the median of the ratios in "
          f"each round. The processors were busy for "
          f"{statistics.mean(s for r in rows for s in r.samples['busy_share']):.0%} of the time, "
          "with contender, load and others.\n")
    print_table(["contender", "CPU of the server for each, us", "/ weir", "a second", "/ weir",
                 "p50, ms", "p99, ms", "/ weir"],
                [[row.name, figure_of(row, "cpu_us", 1), ratio_of(row, ours, "cpu_us"),
                  figure_of(row, "per_s", 0), ratio_of(row, ours, "per_s"),
                  figure_of(row, "p50_ms", 2), figure_of(row, "p99_ms", 2),
                  ratio_of(row, ours, "p99_ms")] for row in rows],
                [False] + [True] * 7)


def target(text, value, bound, limit):
    met = value["median"] >= limit if bound == "at least" else value["median"] <= limit
    return {"text": text, "value": value, "bound": bound, "limit": limit,
            "verdict": "reached" if met else "missed"}


def print_targets(targets):
    if targets:
        print("\n### Targets\n")
        print_table(["target", "measured", "to be", ""],
                    [[t["text"], format_spread(t["value"], 2), f"{t['bound']} {t['limit']:g}",
                      t["verdict"]] for t in targets], [False, True, True, False])


def print_json(facts, rounds, tables, targets, notes, figures):
    found = [{"name": name, "rows": [{"contender": row.name, "kind": row.kind, **row.samples}
                                     for row in rows]} for name, rows in tables.items()]
    print(json.dumps({**facts, "rounds": rounds, "notes": notes, "scenarios": found, **figures,
                      "targets": targets}, indent=1))
