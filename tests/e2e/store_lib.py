"""What the tests of sudden ends share: a writer, what it was told, and what must be there then."""
import os
import random
import signal
import subprocess
import threading

WRITER = os.environ["STORE_WRITER"]
IN, OUT = 1, 2
WORDS = {IN: "in", OUT: "out", IN | OUT: "any"}


class Model:
    """What may be true of each chunk."""

    def __init__(self):
        self.may = {}
        self.answered = 0

    def copy(self):
        other = Model()
        other.may = dict(self.may)
        return other

    def asked(self, line):
        """A line of the writer, of which only the question counts."""
        what, number = line.split()
        if what.lower() in "pd":
            bit = IN if what.lower() == "p" else OUT
            self.may[int(number)] = self.may.get(int(number), OUT) | bit

    def take(self, line):
        what, number = line.split()
        if what in "pd":
            self.asked(line)
        elif what in "PD":
            self.may[int(number)] = IN if what == "P" else OUT
            self.answered += 1

    def next_number(self):
        return max(self.may, default=0) + 1


class Writer:
    def __init__(self, folder, seed, first):
        self.lines, self.is_open = [], threading.Event()
        self.process = subprocess.Popen(
            [WRITER, "write", folder, str(seed), str(first)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            # The last one may be cut off.
            if line.endswith("\n"):
                self.lines.append(line)
            if line[0] == "o":
                self.is_open.set()
        self.is_open.set()

    def end(self, number=signal.SIGKILL):
        """All that it said; what it has to complain about is the error."""
        self.process.send_signal(number)
        self.thread.join()
        error = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        self.process.wait()
        return error


def check(folder, model):
    """Whether the store holds what it must, and why not. What may be either way is known then."""
    asked = "".join(f"{number} {WORDS[may]}\n" for number, may in sorted(model.may.items()))
    done = subprocess.run([WRITER, "check", folder], input=asked, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        number, word = line.split()
        model.may[int(number)] = IN if word == "in" else OUT
    is_whole = done.stdout.count("\n") == len(model.may)
    return done.returncode == 0 and is_whole, f"status {done.returncode}\n{done.stderr[:2000]}"


def seeded():
    seed = int(os.environ.get("WEIR_SEED", "1"))
    return seed, random.Random(seed)
