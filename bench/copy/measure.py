"""Runs the contenders of a scenario, one after the other in each round, and keeps what they took.

Around each run, outside of what is timed: the destination of the run before is removed (or kept,
where a removal would be felt: folder.py) and the file system synced, so that nobody pays for another; the source is read once (warm) or all caches are
dropped (cold); afterwards the result is compared with the source, byte by byte.
"""
import json
import os
import signal
import subprocess
import sys

from folder import Failed, remove

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


def busy_seconds():
    """How long the processors of the machine have worked, for anybody."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def can_drop_caches():
    return os.geteuid() == 0 and os.access(DROP, os.W_OK)


def drop_caches():
    os.sync()
    with open(DROP, "w", encoding="ascii") as file:
        file.write("3\n")


class Bench:
    def __init__(self, tree, is_quick, rounds):
        self.tree = tree
        self.is_quick = is_quick
        self.rounds = rounds
        self.seconds_max = RUN_SECONDS_MAX_QUICK if is_quick else RUN_SECONDS_MAX
        self.timed = None   # the process that times a contender, while there is one

    def say(self, text):
        if sys.stderr.isatty():
            print(f"\r{text[:78]:78}", end="" if text else "\r", file=sys.stderr, flush=True)

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

    def run_timed(self, command, folder):
        """What bench-copy-tree measured, with what the command said last under "said"."""
        result = os.path.join(folder.path, "result")
        said = os.path.join(folder.path, "said")
        home = os.path.join(folder.path, "home")
        os.makedirs(home, exist_ok=True)
        environment = dict(os.environ, LC_ALL="C", HOME=home, TMPDIR=home)
        busy = busy_seconds()
        with open(said, "wb") as errors:
            self.timed = subprocess.Popen(
                [self.tree, "time", result, str(self.seconds_max), *command], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                start_new_session=True)
            try:
                status = self.timed.wait()
            finally:
                self.end_timed()
        busy_after = busy_seconds()
        with open(said, "rb") as errors:
            lines = errors.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
        if status != 0:
            raise Failed(lines[-1] if lines else "cannot measure")
        with open(result, encoding="ascii") as file:
            sample = json.load(file)
        own = sample["user_s"] + sample["system_s"]
        sample["others_s"] = max(0.0, busy_after - busy - own)
        sample["said"] = lines[-1] if lines else ""
        return sample

    def end_timed(self):
        """It ends the contender with all of its processes, and then itself."""
        if self.timed and self.timed.poll() is None:
            self.timed.send_signal(signal.SIGTERM)
            self.timed.wait()
        self.timed = None

    def run_once(self, scenario, row, folder, destination):
        """What went wrong, or ""."""
        self.make_ready(scenario, row.contender, folder.source)
        command = row.contender.command(scenario.task, folder.source, destination, folder.path)
        sample = self.run_timed(command, folder)
        if sample["timed_out"]:
            return f"not done after {self.seconds_max} s"
        if sample["status"] != 0:
            number = sample["status"]
            how = f"exit {number}" if number > 0 else f"signal {sample['signal']}"
            return f"{how}: {sample['said']}".replace(folder.path + "/", "")
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
