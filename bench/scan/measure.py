"""Runs the contenders of a scenario, one after the other in each round, and keeps what they took.

What is scanned was just written, so that it is in the page cache, and every contender has run once
on an empty file before, so that programs and what they keep for themselves are warm. After each run
what it printed is looked at: a contender that found too little, or did not do all of the work, is
out.
"""
import math
import os

from contenders import Output
from lib.timing import Timer

FIRST_SECONDS_MAX = 60


class Row:
    """What one contender took in one scenario; each sample is for one start."""

    def __init__(self, contender, material, title=None, kind=None):
        self.contender = contender
        self.material = material
        self.title = title or contender.name
        self.kind = kind or contender.kind
        self.samples = {"wall_s": [], "cpu_s": [], "rss_mb": [], "others_s": [], "mb_s": []}
        self.found = None   # planted tokens in its report; None: it reports none
        self.problem = ""

    def add(self, sample, is_memory_summed):
        runs = sample["runs"]
        cpu_s = (sample["user_s"] + sample["system_s"]) / runs
        self.samples["wall_s"].append(sample["wall_s"] / runs)
        self.samples["cpu_s"].append(cpu_s)
        kib = sample["sum_kib"] if is_memory_summed else sample["rss_kib"]
        self.samples["rss_mb"].append(kib * 1024 / 1e6)
        self.samples["others_s"].append(sample["others_s"] / runs)
        self.samples["mb_s"].append(self.material.bytes / 1e6 / cpu_s if cpu_s > 0 else 0.0)


class Bench:
    def __init__(self, timer, folder, corpus, is_quick, rounds):
        self.timer = Timer(timer, FIRST_SECONDS_MAX)
        self.folder = folder
        self.corpus = corpus
        self.is_quick = is_quick
        self.rounds = rounds
        self.printed = os.path.join(folder, "printed")
        self._warm = set()

    def rounds_of(self, scenario):
        return min(scenario.rounds or self.rounds, self.rounds)

    def warm(self, contender):
        """Its first run, on nothing."""
        if contender.name in self._warm or not contender.does("paths"):
            return
        self._warm.add(contender.name)
        empty = self.corpus.get("empty").root
        self.timer.run(contender.commands["paths"](empty, False, self.folder), self.folder,
                       self.printed, contender.changes, self.folder)

    def run_once(self, scenario, row):
        """What went wrong, or ""."""
        contender, root = row.contender, row.material.root
        repeat = max(1, math.ceil(scenario.repeat(self.is_quick) * contender.repeat_share))
        command = contender.commands[scenario.task](root, scenario.is_single, self.folder)
        # Not where the benchmark was started: a configuration that lies there would be used.
        place = root if scenario.task == "staged" else self.folder
        sample = self.timer.run(command, self.folder, self.printed, contender.changes, place, repeat,
                                scenario.is_memory_summed)
        problem = self.timer.problem_of(sample, self.folder, contender.statuses)
        if problem:
            return problem
        if sample["runs"] != repeat:
            return f"start {sample['runs'] + 1} ended otherwise than the first: {sample['said']}"
        try:
            problem, found = contender.check(Output(self.printed), row.material)
        except (ValueError, KeyError, IndexError) as error:
            return f"printed what cannot be read: {error}"
        if problem:
            return problem
        row.found = found
        row.add(sample, scenario.is_memory_summed)
        return ""

    def rows_of(self, scenario, contenders, material):
        if not scenario.cases:
            return [Row(c, material) for c in contenders]
        # The first case is what the others are compared with.
        return [Row(contender, material.cases[case], title, "weir" if i == 0 else "variant")
                for contender in contenders for i, (case, title) in enumerate(scenario.cases)]

    def run(self, scenario, contenders):
        """The rows of a scenario. One that fails is out for the rest of it."""
        self.timer.say(f"{scenario.name}: making what is scanned")
        material = self.corpus.get(scenario.material)
        self.timer.seconds_max = FIRST_SECONDS_MAX
        for contender in contenders:
            self.warm(contender)
        self.timer.seconds_max = scenario.seconds_max(self.is_quick)
        rows = self.rows_of(scenario, contenders, material)
        rounds = self.rounds_of(scenario)
        for number in range(rounds):
            for i in range(len(rows)):
                row = rows[(i + number) % len(rows)]
                if row.problem:
                    continue
                self.timer.say(f"{scenario.name}: round {number + 1} of {rounds}: {row.title}")
                row.problem = self.run_once(scenario, row)
        self.timer.say("")
        return rows
