#!/usr/bin/env python3
"""A process that has the records of an index is killed at any moment: what it had acknowledged is there."""
import os
import shutil
import sys
import tempfile
import time

from records_lib import Writer, check, newer, seeded
from tap import Tap

ROUNDS = 500 if os.environ.get("WEIR_LONG") else 30
LIFE = 30  # of these on one folder


def one_round(folder, known, seed, dice, number):
    writer = Writer(folder, seed * 1000 + number)
    # Some die while it is being opened.
    if number % 5 != 4:
        writer.is_open.wait()
    time.sleep(dice.random() * (0.02 if number % 5 == 4 else 0.2))
    said = writer.kill()
    known.update(newer(known, writer.acks))
    if said:
        return 0, False, said
    # Some die again before anybody looks.
    is_good, why = check(folder, known) if number % 3 else (True, "")
    return len(writer.acks), is_good, why


def main():
    tap = Tap()
    seed, dice = seeded()
    work, total = tempfile.mkdtemp(prefix="weir-index-kill-", dir="/dev/shm"), 0
    try:
        for first in range(0, ROUNDS, LIFE):
            folder, known, is_good, why = os.path.join(work, "data"), {}, True, ""
            last = min(first + LIFE, ROUNDS)
            for number in range(first, last):
                _, is_good, why = one_round(folder, known, seed, dice, number)
                if not is_good:
                    break
            tap.tell(is_good, f"sudden ends {first + 1} to {last}", f"round {number} of seed {seed}: {why}")
            is_good, why = check(folder, known)
            tap.tell(is_good, "all is there at the end", why)
            total += sum(known.values())
            shutil.rmtree(folder)
        print(f"# {total} writes were acknowledged")
        tap.tell(total > 20 * ROUNDS, "much was acknowledged", str(total))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
