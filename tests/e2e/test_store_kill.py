#!/usr/bin/env python3
"""A process that has a store is killed at any moment: what it had acknowledged is there."""
import os
import shutil
import signal
import sys
import tempfile
import time

from store_lib import Model, Writer, check, seeded
from tap import Tap

ROUNDS = 500 if os.environ.get("WEIR_LONG") else 30
LIFE = 30  # of these on one store


def one_round(folder, model, seed, dice, number):
    writer = Writer(folder, seed * 1000 + number, model.next_number())
    # Some die while the store is being opened.
    if number % 5 != 4:
        writer.is_open.wait()
    time.sleep(dice.random() * (0.02 if number % 5 == 4 else 0.25))
    is_clean = number % 10 == 9
    why = writer.end(signal.SIGTERM if is_clean else signal.SIGKILL)
    for line in writer.lines:
        model.take(line)
    if why:
        return False, why
    # Some die again before anybody looks.
    return check(folder, model) if number % 3 else (True, "")


def one_life(tap, folder, seed, dice, first):
    """Rounds on one store. How much was answered."""
    model, last = Model(), min(first + LIFE, ROUNDS)
    for number in range(first, last):
        is_good, why = one_round(folder, model, seed, dice, number)
        if not is_good:
            break
    tap.tell(is_good, f"sudden ends {first + 1} to {last}", f"round {number} of seed {seed}: {why}")
    if is_good:
        is_good, why = check(folder, model)
        tap.tell(is_good, "all is there at the end", why)
    print(f"# {model.answered} answers about {len(model.may)} chunks")
    return model.answered


def main():
    tap = Tap()
    seed, dice = seeded()
    work = tempfile.mkdtemp(prefix="weir-store-kill-", dir="/dev/shm")
    answered = 0
    try:
        for first in range(0, ROUNDS, LIFE):
            folder = os.path.join(work, "store")
            answered += one_life(tap, folder, seed, dice, first)
            shutil.rmtree(folder)
        tap.tell(answered > 20 * ROUNDS, "much was acknowledged", str(answered))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
