"""The tables of a page of docs/ are those that a running service prints, the service has no thread,
channel, limit or lock that is not in them, and it starts with every value that is allowed.

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
BLOCK = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->\n", re.S)


class Service:
    """settings: everything that can be switched on, as on a machine with two cores. not_its_own: names of
    the sources that are not the service's. not_alone: keys whose last values need others beside them."""

    def __init__(self, name, settings, rooms, not_its_own, not_alone=()):
        self.not_alone = not_alone
        self.name, self.rooms, self.not_its_own = name, rooms, not_its_own
        self.page = ROOT / f"docs/concurrency-{name}.md"
        self.command = [os.environ["WEIR"], name, "--topology"]
        for setting in settings:
            self.command += ["--set", setting]


def run(command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEIR_")}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment,
                          timeout=60)


def sources(service):
    for room in service.rooms:
        for path in sorted((ROOT / room).glob("*.[ch]")):
            yield path.name, path.read_text()


def rows(block):
    return [line.split(" | ") for line in block.splitlines()[2:]]


def names(block, column):
    return {cells[column].strip("| `") for cells in rows(block)}


def literals(service, pattern):
    """What stands in the sources, by name, with the file that it stands in."""
    found = {}
    for name, text in sources(service):
        for match in re.finditer(pattern, text):
            found.setdefault(match.group(match.lastindex), name)
    return {name: where for name, where in found.items() if name not in service.not_its_own}


def check_sources(tap, service, blocks):
    known = {
        "thread": names(blocks["threads"], 1),
        "channel": names(blocks["channels"], 0),
        "limit": names(blocks["limits"], 0),
        "lock": names(blocks["locks"], 1),
    }
    patterns = {
        "thread": r'(?:weir_crew_start\([^,]+, |\.kind = )"([^"]+)"',
        "channel": r'(?:weir_(?:queue|bus|watch)_init(?:_snapshot)?|make_queue)\(\s*[^,]+, "([^"]+)"'
                   r'|\.name = "([^"]+)", \.capacity = ',
        "limit": r'(?:weir_(?:budget|rate|admit)_init|set_rate)\(\s*[^,]+, "([^"]+)"',
        "lock": r'struct weir_lock_class \w+ = \{"([^"]+)"',
    }
    for kind, pattern in patterns.items():
        found = literals(service, pattern)
        missing = sorted(f"{name} ({where})" for name, where in found.items()
                         if name not in known[kind])
        tap.tell(len(found) > 1 and not missing,
                 f"every {kind} of the sources is in the tables",
                 f"{len(found)} found; not in the tables: {', '.join(missing)}")


def check_ends(tap, service):
    """What the schema allows is what the parts take: the first and the last value of every key."""
    tried, problems = 0, []
    for key in json.loads(run([os.environ["WEIR"], "config", "keys", "--service", service.name, "--json"]).stdout):
        ends = re.search(r"(\S+) to (\S+)$", key["allowed"])
        # Descriptors are the machine's to allow.
        if not ends or key["kind"] == "list" or key["key"] in ("server.max_conns", *service.not_alone):
            continue
        for value in ends.groups():
            tried += 1
            answer = run([os.environ["WEIR"], service.name, "--topology", "--set", f"{key['key']}={value}"])
            if answer.returncode != 0:
                problems.append(f"{key['key']} = {value}: {answer.stderr}")
    tap.tell(tried > 40 and not problems, "a service starts with every value that is allowed",
             f"{tried} tried\n" + "".join(problems))


def main(service):
    answer = run(service.command)
    blocks = dict(BLOCK.findall(answer.stdout))
    page = service.page.read_text()
    if sys.argv[1:] == ["--update"]:
        fresh = BLOCK.sub(lambda m: f"<!-- generated: {m[1]} -->\n{blocks[m[1]]}<!-- end -->\n", page)
        service.page.write_text(fresh)
        return 0
    tap = Tap()
    tap.tell(answer.returncode == 0 and answer.stderr == "", "a service prints its tables",
             f"status {answer.returncode}: {answer.stderr}")
    written = dict(BLOCK.findall(page))
    tap.tell(set(written) == set(blocks), "the page has all of them, and no others",
             f"page: {sorted(written)}, program: {sorted(blocks)}")
    for name in sorted(blocks):
        tap.tell(written.get(name) == blocks[name], f"the page tells the truth: {name}",
                 f"run test_{service.name}_topology.py --update\n{blocks[name]}")
    if blocks:
        check_sources(tap, service, blocks)
    check_ends(tap, service)
    return tap.end()
