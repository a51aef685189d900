#!/usr/bin/env python3
"""The power fails: what a store had acknowledged is on the disk.

What had been acknowledged before the clone of the disk was begun has to be in the store there (power_lib.py).
"""
import os
import sys
import time

import power_lib
from power_lib import CUTS
from store_lib import Model, Writer, check, seeded


def model_of(lines, before, after):
    """What must be there, if it was read from the disk after the one line and before the other."""
    model = Model()
    for line in lines[:before]:
        model.take(line)
    answered = model.answered
    for line in lines[before:after]:
        model.asked(line)
    return model, answered


def cut_power(disk, writer, dice):
    """Whether what is on the disk then is right, why not, how much was answered."""
    time.sleep(0.05 + dice.random() * 0.4)
    before = len(writer.lines)
    disk.cut()
    # What was asked for before the clone was there may still be in the pipe.
    time.sleep(0.2)
    model, answered = model_of(writer.lines, before, len(writer.lines))
    with disk.after() as folder:
        is_good, why = check(os.path.join(folder, "store"), model)
    return is_good, why, answered


def try_disk(tap, disk):
    seed, dice = seeded()
    writer = Writer(os.path.join(disk.folder, "store"), seed, 1)
    writer.is_open.wait()
    total = 0
    try:
        for number in range(CUTS):
            is_good, why, answered = cut_power(disk, writer, dice)
            total += answered
            if not is_good:
                break
        tap.tell(is_good, f"{CUTS} times without power on {disk.kind}", f"time {number}: {why}")
    finally:
        said = writer.end()
    tap.tell(not said, f"the writer on {disk.kind} had nothing to complain about", said)
    tap.tell(total > 20 * CUTS, f"much was acknowledged on {disk.kind}", str(total))
    print(f"# {disk.kind}: {total} answers before the power failed")


if __name__ == "__main__":
    sys.exit(power_lib.main("weir-store-power-", try_disk))
