"""What the tests of sudden ends share about the records of an index: who writes them, and what must be there."""
import os
import random
import signal
import subprocess
import threading

WRITER = os.environ["RECORDS_WRITER"]
STEP = 48  # of a calm writer


class Writer:
    """A writer that is read all the time, so that it never waits for us, unless it is calm: then it writes
    what step() asks for, and nothing else."""

    def __init__(self, folder, seed, *calm):
        self.child = subprocess.Popen([WRITER, folder, str(seed), *calm], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.acks, self.count, self.is_open = {}, 0, threading.Event()
        self.moved = threading.Condition()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.child.stdout:
            words = line.split()
            # The last line may be cut off.
            if line.endswith("\n") and words[0] == "ack":
                with self.moved:
                    self.acks[words[1]] = max(int(words[2]), self.acks.get(words[1], 0))
                    self.count += 1
                    self.moved.notify_all()
            self.is_open.set()
        self.is_open.set()

    def wait_for(self, count):
        """Until so many more were acknowledged. All that were, then; None: it does not go on."""
        with self.moved:
            wanted = self.count + count
            return dict(self.acks) if self.moved.wait_for(lambda: self.count >= wanted, 60) else None

    def step(self):
        """What a calm one has acknowledged since, all of it; None: it does not go on."""
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return self.wait_for(STEP)

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self.thread.join()
        said = self.child.stderr.read()
        for end in (self.child.stdin, self.child.stdout, self.child.stderr):
            end.close()
        return said


def check(folder, known):
    """Whether each name has a whole record, and none is older than what is known; and why not."""
    lines = "".join(f"{name} {sequence}\n" for name, sequence in known.items())
    done = subprocess.run([WRITER, folder, "--check"], input=lines, capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def newer(one, other):
    """The higher sequence of each name."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def seeded():
    seed = int(os.environ.get("WEIR_SEED", "0")) or random.randrange(1, 1 << 30)
    print(f"# WEIR_SEED={seed}", flush=True)
    return seed, random.Random(seed)
