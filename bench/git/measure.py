"""Runs contenders over a history, one after the other in each round, and keeps what they took."""
import os

from lib.timing import Timer

FIGURES = ("wall_s", "cpu_s", "anon_mb", "peak_mb", "read_mb", "others_s", "share")


class Row:
    """What one contender took; each sample is for one start."""

    def __init__(self, contender, material):
        self.contender = contender
        self.material = material
        self.samples = {name: [] for name in FIGURES}
        self.found = None   # planted tokens in its report; None: it reports none
        self.problem = ""
        self.unfinished = 0     # runs that were ended when their time was up

    def add(self, sample, more):
        for name, value in more.items():
            self.samples.setdefault(name, []).append(value)
        runs = max(1, sample["runs"])
        wall_s = sample["wall_s"] / runs
        cpu_s = (sample["user_s"] + sample["system_s"]) / runs
        self.samples["wall_s"].append(wall_s)
        self.samples["cpu_s"].append(cpu_s)
        self.samples["anon_mb"].append(sample["anon_kib"] * 1024 / 1e6)
        self.samples["peak_mb"].append(sample["sum_kib"] * 1024 / 1e6)
        self.samples["read_mb"].append(sample["read_kib"] * 1024 / 1e6 / runs)
        self.samples["others_s"].append(sample["others_s"] / runs)
        self.samples["share"].append(wall_s / cpu_s if cpu_s > 0 else 0.0)


class Bench:
    def __init__(self, timer, folder, rounds):
        self.timer = Timer(timer, 60)
        self.folder = folder
        self.rounds = rounds
        self.printed = os.path.join(folder, "printed")

    def warm(self, contender, material):
        """What it keeps for itself is made, and the pack is in the page cache."""
        self.timer.seconds_max = contender.seconds_max
        self.timer.run(contender.command(material.root, self.folder), self.folder, self.printed,
                       cwd=self.folder)

    def run_once(self, row, repeat, around):
        """What went wrong, or ""."""
        contender = row.contender
        command = contender.command(row.material.root, self.folder)
        self.timer.seconds_max = contender.seconds_max
        # Looks at memory wake the machine every few milliseconds: not where starts are counted.
        if around:
            around.before()
            command = around.wrap(command)
        sample = self.timer.run(command, self.folder, self.printed, None, self.folder, repeat,
                                repeat == 1)
        if around and sample["timed_out"]:
            row.unfinished += 1
            row.add(sample, around.after())
            return ""
        problem = self.timer.problem_of(sample, self.folder, contender.statuses)
        if problem:
            return problem
        with open(self.printed, "rb") as file:
            problem, found = contender.check(file.read(), row.material)
        if not problem:
            row.found = found
            row.add(sample, around.after() if around else {})
        return problem

    def run(self, name, contenders, material, repeat=1, around=None):
        """One row for each. around: before() of each run, wrap() of its command, and after() it
        further samples; nothing is warmed then, and a run that takes too long is a sample, too."""
        rows = [Row(c, material) for c in contenders]
        for row in rows:
            if row.contender.kind in ("weir", "variant") and not around:
                self.timer.say(f"{name}: first run of {row.contender.name}")
                self.warm(row.contender, material)
        for number in range(self.rounds):
            for i in range(len(rows)):
                row = rows[(i + number) % len(rows)]
                if row.problem:
                    continue
                self.timer.say(f"{name}: round {number + 1} of {self.rounds}: {row.contender.name}")
                row.problem = self.run_once(row, repeat, around)
        self.timer.say("")
        return rows
