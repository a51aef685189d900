"""Runs the contenders of a scenario, one after the other in each round, and keeps what they took.

Around each run, outside of what is timed: the destination of the run before is removed (or kept,
where a removal would be felt: folder.py) and the file system synced, so that nobody pays for another; the source is read once (warm) or all caches are
dropped (cold); afterwards the result is compared with the source, byte by byte.
"""
import json
import os
import subprocess

from lib.folder import Failed, remove
from lib.timing import Timer

RUN_SECONDS_MAX = 600
RUN_SECONDS_MAX_QUICK = 120
DROP = "/proc/sys/vm/drop_caches"
# A result with one of these is not a copy. Other differences are what a program does not keep.
WRONG = ("missing", "extra", "type", "size", "content", "target")


class Row:
    """What one contender took in one scenario."""

    def __init__(self, contender):
        self.contender = contender
        self.samples = {"wall_s": [], "cpu_s": [], "rss_mb": [], "others_s": []}
        self.not_kept = {}
        self.files_mark = ""
        self.problem = ""

    def add(self, sample, found):
        self.samples["wall_s"].append(sample["wall_s"])
        self.samples["cpu_s"].append(sample["user_s"] + sample["system_s"])
        self.samples["rss_mb"].append(sample["rss_kib"] * 1024 / 1e6)
        self.samples["others_s"].append(sample["others_s"])
        self.files_mark = found["files_mark"]
        for name, difference in found["differences"].items():
            self.not_kept[name] = max(self.not_kept.get(name, 0), difference["count"])


def can_drop_caches():
    return os.geteuid() == 0 and os.access(DROP, os.W_OK)


def drop_caches():
    os.sync()
    with open(DROP, "w", encoding="ascii") as file:
        file.write("3\n")


class Bench:
    def __init__(self, tree, timer, is_quick, rounds):
        self.tree = tree            # bench-copy-tree
        self.timer = Timer(timer, RUN_SECONDS_MAX_QUICK if is_quick else RUN_SECONDS_MAX)
        self.say = self.timer.say
        self.is_quick = is_quick
        self.rounds = rounds

    def helper(self, *arguments):
        answer = subprocess.run([self.tree, *map(str, arguments)], text=True, check=False,
                                start_new_session=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        if answer.returncode != 0:
            raise Failed(answer.stderr.strip() or f"'{arguments[0]}' failed")
        return answer.stdout

    def make_source(self, folder, shape):
        if folder.shape is shape:
            return
        self.say(f"making the tree '{shape.name}'")
        folder.discard(folder.source)
        folder.clear()
        self.helper("make", folder.source, *shape.arguments(self.is_quick), 1)
        self.helper("settle", folder.path)
        folder.shape = shape

    def run_once(self, scenario, row, folder, destination):
        """What went wrong, or ""."""
        self.make_ready(scenario, row.contender, folder.source)
        command = row.contender.command(scenario.task, folder.source, destination, folder.path)
        sample = self.timer.run(command, folder.path)
        problem = self.timer.problem_of(sample, folder.path)
        if problem:
            return problem
        if not os.path.isdir(destination):
            return "made no destination"
        found = json.loads(self.helper("compare", folder.source, destination))
        for name, difference in found["differences"].items():
            if name in WRONG or row.contender.is_exact:
                return (f"wrong result: {name} of {difference['count']}, "
                        f"first '{difference['first']}'")
        row.add(sample, found)
        return ""

    def make_ready(self, scenario, contender, source):
        """The caches as the scenario wants them, when all else is done."""
        if not scenario.is_cold:
            self.helper("read", source)
            return
        drop_caches()
        for probe in contender.probes:
            subprocess.run(probe, check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def prepare(self, scenario, folder):
        """A destination as the task wants it, not made yet if it is to be new, and all on the
        disk."""
        destination = folder.new_destination()
        if scenario.task == "into":
            self.helper("skeleton", folder.source, destination)
        self.helper("settle", folder.path)
        return destination

    def fill(self, folder):
        """For runs with nothing to do: an exact copy, and what tells its files from others."""
        destination = folder.new_destination()
        answer = subprocess.run(["cp", "-a", folder.source, destination], check=False,
                                start_new_session=True, stderr=subprocess.PIPE, text=True)
        if answer.returncode != 0:
            raise Failed(answer.stderr.strip())
        self.helper("settle", folder.path)
        return destination, json.loads(
            self.helper("compare", folder.source, destination))["files_mark"]

    def run_new(self, scenario, row, folder):
        destination = self.prepare(scenario, folder)
        row.problem = self.run_once(scenario, row, folder, destination)
        folder.discard(destination)

    def run_again(self, scenario, row, folder, filled):
        """All share one destination, until somebody has written to it."""
        if not filled:
            filled.extend(self.fill(folder))
        destination, mark = filled
        row.problem = self.run_once(scenario, row, folder, destination)
        if not row.problem and row.files_mark != mark:
            row.problem = "wrote files that were up to date"
        if row.problem:
            remove(destination)
            filled.clear()

    def run(self, scenario, contenders, folder):
        """The rows of a scenario. One that fails is out for the rest of it."""
        self.make_source(folder, scenario.shape)
        self.say(f"{scenario.name}: waiting until what was removed is forgotten")
        folder.wait_forgotten()
        rows = [Row(c) for c in contenders]
        filled = []
        for number in range(self.rounds):
            for i in range(len(rows)):
                row = rows[(i + number) % len(rows)]
                if row.problem:
                    continue
                self.say(f"{scenario.name}: round {number + 1} of {self.rounds}: "
                         f"{row.contender.name}")
                if scenario.task == "again":
                    self.run_again(scenario, row, folder, filled)
                else:
                    self.run_new(scenario, row, folder)
                remove(os.path.join(folder.path, "fpsync"))
        for path in filled[:1]:
            remove(path)
        folder.clear()
        self.say("")
        return rows
