"""Runs one command and says what it took, and what others did to the machine meanwhile."""
import json
import os
import signal
import subprocess
import sys

from lib.folder import Failed


def busy_seconds():
    """How long the processors of the machine have worked, for anybody."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Timer:
    def __init__(self, program, seconds_max):
        self.program = program      # bench-time
        self.seconds_max = seconds_max
        self.timed = None   # the process that times a contender, while there is one

    def say(self, text):
        if sys.stderr.isatty():
            print(f"\r{text[:78]:78}", end="" if text else "\r", file=sys.stderr, flush=True)

    def environment(self, folder, changes):
        """A home of its own, so that nobody's settings count."""
        home = os.path.join(folder, "home")
        os.makedirs(home, exist_ok=True)
        environment = dict(os.environ, LC_ALL="C", HOME=home, TMPDIR=home)
        for name in [n for n in environment if n.startswith("XDG_")]:
            del environment[name]
        environment.update(changes)
        return environment

    def run(self, command, folder, printed=os.devnull, changes=None, cwd=None, repeat=1,
            is_memory_summed=False):
        """What bench-time measured, with what the command said last under "said". Files of its own
        are in the folder; what the command prints goes to a file that may be given."""
        result = os.path.join(folder, "result")
        said = os.path.join(folder, "said")
        options = ["--repeat", str(repeat)] if repeat != 1 else []
        options += ["--sum-memory"] if is_memory_summed else []
        environment = self.environment(folder, changes or {})
        busy = busy_seconds()
        with open(said, "wb") as errors, open(printed, "wb") as output:
            self.timed = subprocess.Popen(
                [self.program, *options, result, str(self.seconds_max), *command],
                env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                start_new_session=True)
            try:
                status = self.timed.wait()
            finally:
                self.end()
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

    def end(self):
        """It ends the contender with all of its processes, and then itself."""
        if self.timed and self.timed.poll() is None:
            self.timed.send_signal(signal.SIGTERM)
            self.timed.wait()
        self.timed = None

    def problem_of(self, sample, folder, statuses=(0,)):
        """What went wrong with a run, or ""."""
        if sample["timed_out"]:
            return f"not done after {self.seconds_max} s"
        if sample["status"] not in statuses:
            number = sample["status"]
            how = f"exit {number}" if number >= 0 else f"signal {sample['signal']}"
            said = f": {sample['said']}" if sample["said"] else ""
            return (how + said).replace(folder + "/", "")
        return ""
