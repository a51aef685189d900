#!/usr/bin/env python3
"""The tables of docs/concurrency-storage.md are those that a running service prints, the service has
no thread, channel, limit or lock that is not in them, and it starts with every value that is allowed.

WEIR is the program, ROOT the source tree. With --update the page is brought up to date instead.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import Tap

ROOT = pathlib.Path(os.environ["ROOT"])
PAGE = ROOT / "docs/concurrency-storage.md"
# As on a machine with two cores, with everything that can be switched on.
COMMAND = [os.environ["WEIR"], "storage", "--topology", "--set", "server.acceptors=2",
           "--set", "server.get_workers=4", "--set", "server.put_workers=2",
           "--set", "audit.enabled=true", "--set", "audit.file=/dev/null"]
BLOCK = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->\n", re.S)
ROOMS = ["src/storage", "src/store", "src/http"]
# Of the client, of the page of a scan, of a single call while it waits, or of an index, which can be
# replaced: not the service's.
NOT_ITS_OWN = {"http-client", "http-connections", "serve", "have-touches", "store-moves", "store-write",
               "store-index-turn"}


def run(command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment,
                          timeout=60)


def generated():
    return run(COMMAND)


def sources():
    for room in ROOMS:
        for path in sorted((ROOT / room).glob("*.c")):
            yield path.name, path.read_text()


def rows(block):
    return [line.split(" | ") for line in block.splitlines()[2:]]


def names(block, column):
    return {cells[column].strip("| `") for cells in rows(block)}


def literals(pattern):
    """What stands in the sources, by name, with the file that it stands in."""
    found = {}
    for name, text in sources():
        for match in re.finditer(pattern, text):
            found.setdefault(match.group(match.lastindex), name)
    return {name: where for name, where in found.items() if name not in NOT_ITS_OWN}


def check_sources(tap, blocks):
    known = {
        "thread": names(blocks["threads"], 1),
        "channel": names(blocks["channels"], 0),
        "limit": names(blocks["limits"], 0),
        "lock": names(blocks["locks"], 1),
    }
    patterns = {
        "thread": r'(?:weir_crew_start|start_many)\([^,]+, "([^"]+)"',
        "channel": r'(?:weir_(?:queue|bus|watch)_init(?:_snapshot)?|make_queue)\(\s*[^,]+, "([^"]+)"',
        "limit": r'(?:weir_(?:budget|rate|admit)_init|set_rate)\(\s*[^,]+, "([^"]+)"',
        "lock": r'struct weir_lock_class \w+ = \{"([^"]+)"',
    }
    for kind, pattern in patterns.items():
        found = literals(pattern)
        missing = sorted(f"{name} ({where})" for name, where in found.items()
                         if name not in known[kind])
        tap.tell(len(found) > 1 and not missing,
                 f"every {kind} of the sources is in the tables",
                 f"{len(found)} found; not in the tables: {', '.join(missing)}")


def check_ends(tap):
    """What the schema allows is what the parts take: the first and the last value of every key."""
    tried, problems = 0, []
    for key in json.loads(run([os.environ["WEIR"], "config", "keys", "--json"]).stdout):
        ends = re.search(r"(\S+) to (\S+)$", key["allowed"])
        # Descriptors are the machine's to allow.
        if not ends or key["kind"] == "list" or key["key"] == "server.max_conns":
            continue
        for value in ends.groups():
            tried += 1
            answer = run([os.environ["WEIR"], "storage", "--topology", "--set", f"{key['key']}={value}"])
            if answer.returncode != 0:
                problems.append(f"{key['key']} = {value}: {answer.stderr}")
    tap.tell(tried > 40 and not problems, "a service starts with every value that is allowed",
             f"{tried} tried\n" + "".join(problems))


def main():
    answer = generated()
    blocks = dict(BLOCK.findall(answer.stdout))
    page = PAGE.read_text()
    if sys.argv[1:] == ["--update"]:
        fresh = BLOCK.sub(lambda m: f"<!-- generated: {m[1]} -->\n{blocks[m[1]]}<!-- end -->\n", page)
        PAGE.write_text(fresh)
        return 0
    tap = Tap()
    tap.tell(answer.returncode == 0 and answer.stderr == "", "a service prints its tables",
             f"status {answer.returncode}: {answer.stderr}")
    written = dict(BLOCK.findall(page))
    tap.tell(set(written) == set(blocks), "the page has all of them, and no others",
             f"page: {sorted(written)}, program: {sorted(blocks)}")
    for name in sorted(blocks):
        tap.tell(written.get(name) == blocks[name], f"the page tells the truth: {name}",
                 f"run {os.path.basename(__file__)} --update\n{blocks[name]}")
    if blocks:
        check_sources(tap, blocks)
    check_ends(tap)
    return tap.end()


sys.exit(main())
